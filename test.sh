#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Install what is missing, build, run the tests, count the cases.

set -euo pipefail

root=$(cd "$(dirname "$0")" && pwd)
me="test"
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

all_suites=(layout unit device wire e2e guest-smoke guest fuzz perf)
default_suites=(layout unit device e2e guest-smoke fuzz asan tsan)
sanitized_suites=(layout unit device e2e)

usage()
{
	cat <<'USAGE'
Usage: ./test.sh [--full] [--no-install] [--no-skip] [--list] [--help] [SUITE...]

Installs what is missing (and says so first), builds into build/, runs the test suites.
By default: layout unit device e2e guest-smoke fuzz, then the first four under sanitizers (asan, tsan).

  layout   bytes in memory: the manual's layouts, dumps, the recorded trace
  unit     objects of the driver and the libraries in isolation
  device   the software RNIC's command processor and data path in isolation
  wire     packets as others see them
  e2e      stock dpdk-testpmd and programs over the whole column
  guest    foreign drivers, and ours behind an IOMMU, in a virtual machine
  guest-smoke  of these, one for each driver
  fuzz     malformed everything: libFuzzer, 60 s each target (with --full 20 minutes)
  perf     ratios against peers
  asan     layout unit device e2e with AddressSanitizer and UBSan, in build-asan/
  tsan     the same with ThreadSanitizer, in build-tsan/
           (asan:SUITE or tsan:SUITE for one suite)

  --full         every repetition that was asked for, hours rather than minutes
  --no-install   install nothing; name what is missing
  --no-skip      a skipped test is a failure
  --list         print the suites and, once built, their tests; run nothing

As root it reserves the hugepages that it needs and gives them back at its end.
Logs: build/test-SUITE.log. The last line is "N passed, N failed[, N skipped]".
Exit code: 0 all passed, 1 something failed, 2 usage.

  ./test.sh
  ./test.sh unit
  ./test.sh --full e2e asan:device
USAGE
}

full=no
install=yes
skip=yes
list=no
suites=()
while [ $# -gt 0 ]; do
	case $1 in
	--full) full=yes ;;
	--no-install) install=no ;;
	--no-skip) skip=no ;;
	--list) list=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	-*) usage_error "unknown option $1" ;;
	*)
		case " ${all_suites[*]} asan tsan " in
		*" ${1#[at]san:} "*) suites+=("$1") ;;
		*) usage_error "unknown suite $1" ;;
		esac
		;;
	esac
	shift
done
[ ${#suites[@]} -gt 0 ] || suites=("${default_suites[@]}")

# has_suite BUILD SUITE: does the build have tests of that suite?
has_suite()
{
	meson introspect --tests "$1" | grep -q "\"rdmapmd:$2\""
}

list_suites()
{
	local suite

	for suite in "${suites[@]}"; do
		echo "$suite"
		case $suite in
		asan | tsan) printf '  %s\n' "${sanitized_suites[@]/#/$suite:}" ;;
		[at]san:*) ;;
		*)
			if [ -f "$root/build/build.ninja" ]; then
				meson test -C "$root/build" --list --suite "$suite" 2>/dev/null |
					sed -n 's|^rdmapmd:[^/]* / |  |p' || true
			fi
			;;
		esac
	done
}

if [ $list = yes ]; then
	list_suites
	exit 0
fi

logs=$root/build
mkdir -p "$logs"
passed=0
failed=0
skipped=0
notes=()

fail_one()
{
	failed=$((failed + 1))
	notes+=("failed $1")
}

pool=""
mounted=no
made=no
clean_up()
{
	if [ $mounted = yes ]; then
		umount /dev/hugepages || true
	fi
	if [ $made = yes ]; then
		rmdir /dev/hugepages || true
	fi
	if [ -n "$pool" ]; then
		# shellcheck disable=SC2086
		hugepages_give_back $pool
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Tests that need hugepages find them, or skip and say so.
prepare_hugepages()
{
	if ! pool=$(hugepages_reserve 512); then
		say "no hugepages to be had: tests that need them will be skipped"
		return 0
	fi
	if [ "$(id -u)" -eq 0 ] && ! mountpoint -q /dev/hugepages; then
		if [ ! -d /dev/hugepages ] && mkdir /dev/hugepages; then
			made=yes
		fi
		if mount -t hugetlbfs -o pagesize=2M none /dev/hugepages 2>/dev/null; then
			mounted=yes
		fi
	fi
}

# build KIND: configure and compile, once.
declare -A built=()
build()
{
	local kind=$1 dir=$root/build
	local -a args=()

	[ -z "${built[$kind]:-}" ] || return "${built[$kind]}"
	# Sanitizers make gcc warn about what is not so; warnings are for the plain build.
	case $kind in
	asan) args=("-Db_sanitize=address,undefined") ;;
	tsan) args=(-Db_sanitize=thread) ;;
	esac
	if [ "$kind" != plain ]; then
		dir=$root/build-$kind
		args+=(-Db_lundef=false -Doptimization=1 -Dwerror=false)
	fi
	say "building into ${dir#"$root"/}/"
	built[$kind]=1
	setup_build "$dir" "$logs/setup-$kind.log" "${args[@]}" || return 1
	# quickstart.sh builds without tests where their libraries are missing.
	if meson introspect --buildoptions "$dir" | grep -q '"name": "tests", "value": false'; then
		meson configure "$dir" -Dtests=true || return 1
	fi
	run_build "$dir" "$logs/build-$kind.log" || return 1
	built[$kind]=0
}

# run_suite KIND SUITE NAME
run_suite()
{
	local kind=$1 suite=$2 name=$3 dir=$root/build jobs=2 counts p f s
	local log=$logs/test-${name/:/-}.log
	local -a args=()

	[ "$kind" = plain ] || dir=$root/build-$kind
	if ! has_suite "$dir" "$suite"; then
		say "$name: no tests yet"
		return 0
	fi
	case $suite in
	wire | e2e | guest* | perf) jobs=1 ;;
	esac
	[ "$kind" = plain ] || args+=(--timeout-multiplier 5)
	[ $full = no ] || args+=(--timeout-multiplier 20)

	say "$name"
	rm -f "$dir/meson-logs/testlog.txt" "$dir/meson-logs/testlog.json"
	PYTHONUNBUFFERED=1 RDMAPMD_FULL=$([ $full = yes ] && echo 1 || true) \
		meson test -C "$dir" --no-rebuild --suite "$suite" --num-processes $jobs \
		"${args[@]}" 2>&1 |
		sed -n -u -E 's/^ *([0-9]+\/[0-9]+) rdmapmd:[^ ]* \/ /  \1 /p' || true
	cp "$dir/meson-logs/testlog.txt" "$log" || return 1
	cp "$dir/meson-logs/testlog.json" "${log%.log}.json" || return 1
	counts=$("$root/devtools/count-tests.py" "${log%.log}.json") || return 1
	read -r p f s <<<"$counts"
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	mapfile -t -O ${#notes[@]} notes < \
		<(sed -n -E "s/^(failed|skipped) /\\1 $name: /p" <<<"$counts")
	if [ "$f" -gt 0 ]; then
		sed -n -E -e '/^(failed|    )/p' <<<"$counts" | head -n 100
		say "$name: $f failed; the log is ${log#"$root"/}"
	fi
}

run()
{
	local name=$1 kind=plain suite
	local -a which=("$1")

	case $name in
	asan | tsan)
		kind=$name
		which=("${sanitized_suites[@]}")
		;;
	[at]san:*)
		kind=${name%%:*}
		which=("${name#*:}")
		;;
	esac
	if ! build "$kind"; then
		fail_one "$name: the build"
		return 0
	fi
	for suite in "${which[@]}"; do
		if [ "$kind" = plain ]; then
			run_suite "$kind" "$suite" "$suite"
		else
			run_suite "$kind" "$suite" "$kind:$suite"
		fi || fail_one "$name: the count"
	done
}

packages=("${packages_build[@]}" "${packages_run[@]}" "${packages_test[@]}")
case " ${suites[*]}" in
*" guest"*) packages+=("${packages_guest[@]}") ;;
esac
need_packages $install "$logs/install.log" "${packages[@]}"
prepare_hugepages
for name in "${suites[@]}"; do
	run "$name"
done

if [ ${#notes[@]} -gt 0 ]; then
	printf '  %s\n' "${notes[@]}"
fi
if [ $((passed + failed + skipped)) -eq 0 ]; then
	say "nothing was run"
	failed=1
fi
if [ $skipped -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ $failed -eq 0 ] && { [ $skip = yes ] || [ $skipped -eq 0 ]; }
