#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Install what is missing, build, run the tests, count the cases.

set -euo pipefail

root=$(cd "$(dirname "$0")" && pwd)
me="test"
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

all_suites=(layout unit device wire e2e guest-smoke guest fuzz)
default_suites=(layout unit device wire e2e guest-smoke fuzz asan tsan)
# --all and --full: guest has guest-smoke in it
whole_suites=(layout unit device wire e2e guest fuzz asan tsan)
# What the sanitizers run over: all of these suites; by default these suites and tests. Of those that --all runs three times, what is
# marked long is the same once more, many times or with other arguments: the sanitizers have it with --full.
sanitized_suites=(layout unit device wire e2e)
sanitized_short=(wire e2e)
default_asan=(device vfu-hostile vfu-talk)
default_tsan=(planted unit-control unit-listener unit-cmd unit-refill unit-deaf unit-uar unit-rdma-event unit-rdma-object
	unit-rdma-commands unit-rdma-shared vfu-client ctl_threads data_batch data_trunk data_wire e2e-rdma daemon-session
	daemon-session-threads)

usage()
{
	cat <<'USAGE'
Usage: ./test.sh [--all | --full] [--repeat N] [--times] [--no-install] [--no-skip] [--list] [--help] [SUITE|TEST...]

Installs what is missing (and says so first), builds into build/, runs the test suites.
By default, in a quarter of an hour on two cores: layout unit device wire e2e guest-smoke fuzz, without the tests that are
marked long, then the sanitizers (asan, tsan) over a part of that. doc/design/tests.md says which, and why.

  layout   bytes in memory: the manual's layouts, dumps, the recorded trace
  unit     objects of the driver and the libraries in isolation
  device   the software RNIC's command processor and data path in isolation
  wire     RDMA that leaves the process, over cables of Linux
  e2e      stock dpdk-testpmd and programs over the whole column
  guest    foreign drivers, and ours behind an IOMMU, in a virtual machine
  guest-smoke  of these, one for each driver
  fuzz     malformed everything: libFuzzer, the kept corpus, then 3 s each target (--all: 60 s, --full: 20 min)
  asan     AddressSanitizer and UBSan, in build-asan/, over what a day's work breaks (--all: layout unit device wire e2e)
  tsan     ThreadSanitizer, in build-tsan/, over what has threads (--all: layout unit device wire e2e; of
           wire and e2e what is not marked long, by either sanitizer)
           (asan:SUITE or tsan:SUITE for one suite)
  e2e-rdma, asan:unit-cmd ...: one test, by the name that --list prints

  --all          every suite and test, both sanitizers over everything: about two hours on two cores
  --full         the same with every repetition that was asked for: hours
  --repeat N     each test N times, to find what fails rarely; nothing is ever tried again until it passes
  --times        print the slowest twenty tests at the end
  --no-install   install nothing; name what is missing
  --no-skip      a skipped test is a failure
  --list         print the suites and, once built, their tests; run nothing

As root it reserves the hugepages that it needs and gives them back at its end.
Logs: build/test-SUITE.log. At the end stand the seconds that each part took; the last line is
"N passed, N failed[, N skipped]".
Exit code: 0 all passed, 1 something failed, 2 usage.

  ./test.sh
  ./test.sh unit
  ./test.sh --all e2e asan:device
  ./test.sh --repeat 50 unit device
USAGE
}

size=default
repeat=1
times=no
install=yes
skip=yes
list=no
suites=()
while [ $# -gt 0 ]; do
	case $1 in
	--all) [ $size = full ] || size=all ;;
	--full) size=full ;;
	--repeat)
		[[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] || usage_error "--repeat needs a number from 1 up"
		repeat=$2
		shift
		;;
	--times) times=yes ;;
	--no-install) install=no ;;
	--no-skip) skip=no ;;
	--list) list=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	-*) usage_error "unknown option $1" ;;
	*)
		case " ${all_suites[*]} ${sanitized_suites[*]/#/asan:} ${sanitized_suites[*]/#/tsan:} asan tsan " in
		*" $1 "*) suites+=("$1") ;;
		*)
			# A single test: whether there is one is known when it is built.
			[[ $1 =~ ^([at]san:)?[a-z0-9]+[-_][a-z0-9_-]+$ ]] || usage_error "unknown suite $1"
			suites+=("$1")
			;;
		esac
		;;
	esac
	shift
done
if [ ${#suites[@]} -eq 0 ]; then
	suites=("${default_suites[@]}")
	[ $size = default ] || suites=("${whole_suites[@]}")
fi
short=()
[ $size != default ] || short=(--short)

# parts NAME: what a suite's name stands for in this run, a line each: its name for logs, then suites and tests.
parts()
{
	local suite

	case $1 in
	asan | tsan)
		if [ $size = default ]; then
			case $1 in
			asan) echo "asan ${default_asan[*]}" ;;
			tsan) echo "tsan ${default_tsan[*]}" ;;
			esac
		else
			for suite in "${sanitized_suites[@]}"; do
				echo "$1:$suite $suite"
			done
		fi
		;;
	*) echo "$1 ${1#[at]san:}" ;;
	esac
}

# build_of NAME: plain, asan or tsan
build_of()
{
	case $1 in
	asan* | tsan*) echo "${1%%:*}" ;;
	*) echo plain ;;
	esac
}

folder_of()
{
	if [ "$1" = plain ]; then
		echo "$root/build"
	else
		echo "$root/build-$1"
	fi
}

list_suites()
{
	local suite name words dir

	for suite in "${suites[@]}"; do
		dir=$(folder_of "$(build_of "$suite")")
		while read -r name words; do
			echo "$name"
			if [ -f "$dir/build.ninja" ]; then
				# shellcheck disable=SC2086
				"$root/devtools/select-tests.py" "${short[@]}" "$dir" $words | sed 's/^/  /' || true
			fi
		done < <(parts "$suite")
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
		hugepages_give_back $pool || say "hugepages were changed by somebody else; left as they are"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Tests that need hugepages find them, or skip and say so.
prepare_hugepages()
{
	if ! pool=$(hugepages_reserve 768); then
		say "this machine gives no hugepages: tests that need them will be skipped"
		return 0
	fi
	if [ "$(id -u)" -eq 0 ] && ! grep -q " hugetlbfs " /proc/mounts; then
		if [ ! -d /dev/hugepages ] && mkdir /dev/hugepages; then
			made=yes
		fi
		if mount -t hugetlbfs -o pagesize=2M none /dev/hugepages 2>/dev/null; then
			mounted=yes
		fi
	fi
}

# Seconds of each part, a line each, and when the last one ended.
seconds=()
since=$SECONDS
took()
{
	seconds+=("$(printf '%6d  %s' $((SECONDS - since)) "$1")")
	since=$SECONDS
}

# build KIND: configure and compile, once. Of a sanitized build, by default, only what its tests need.
declare -A built=()
build()
{
	local kind=$1 dir names
	local -a args=() targets=()

	[ -z "${built[$kind]:-}" ] || return "${built[$kind]}"
	dir=$(folder_of "$kind")
	# Sanitizers make gcc warn about what is not so; warnings are for the plain build. Of debug information they need
	# lines and functions.
	case $kind in
	asan) args=("-Db_sanitize=address,undefined") ;;
	tsan) args=(-Db_sanitize=thread) ;;
	esac
	if [ "$kind" != plain ]; then
		args+=(-Db_lundef=false -Db_pch=true -Doptimization=1 -Dwerror=false -Dc_args=-g1)
	fi
	say "building into ${dir#"$root"/}/"
	built[$kind]=1
	setup_build "$dir" "$logs/setup-$kind.log" "${args[@]}" || return 1
	# quickstart.sh builds without tests where their libraries are missing.
	if grep -q '"name": "tests", "value": false' < <(meson introspect --buildoptions "$dir" 2>/dev/null); then
		meson configure "$dir" -Dtests=true || return 1
	fi
	if [ "$kind" != plain ] && [ $size = default ]; then
		# A folder of an earlier run may not know of the newest tests.
		ninja -C "$dir" build.ninja >>"$logs/setup-$kind.log" 2>&1 || return 1
		names=$(needed_by_default "$kind" "$dir") || return 1
		mapfile -t targets < <(sort -u <<<"$names")
	fi
	run_build "$dir" "$logs/build-$kind.log" "${targets[@]}" || return 1
	built[$kind]=0
	took "build $kind"
}

# needed_by_default KIND DIR: what ninja has to build for this run's suites of that kind.
needed_by_default()
{
	local suite words

	for suite in "${suites[@]}"; do
		if [ "$(build_of "$suite")" = "$1" ]; then
			read -r _ words < <(parts "$suite")
			# shellcheck disable=SC2086
			"$root/devtools/select-tests.py" --short --targets "$2" $words || return 1
		fi
	done
}

# run_part KIND NAME SUITE-OR-TEST...
run_part()
{
	local kind=$1 name=$2 dir names counts p f s round were beside=3
	local log=$logs/test-${name/:/-}.log
	local part_size=$size
	local -a args=() part_short=("${short[@]}") tests
	shift 2

	dir=$(folder_of "$kind")
	if [ "$kind" != plain ] && [ $size = all ] && [[ " ${sanitized_short[*]} " = *" $* "* ]]; then
		part_size=default
		part_short=(--short)
	fi
	names=$("$root/devtools/select-tests.py" "${part_short[@]}" "$dir" "$@") || return 1
	# Without a name meson would run all that there are.
	if [ -z "$names" ]; then
		fail_one "$name: left to --all"
		return 0
	fi
	mapfile -t tests <<<"$names"
	[ "$kind" = plain ] || args+=(--timeout-multiplier 5)
	[ $size != full ] || args+=(--timeout-multiplier 20)

	say "$name"
	rm -f "$log" "${log%.log}.json"
	# Tests wait a third of their time, but for emulators, fuzzers and sanitizers. Those that measure time run alone:
	# they say is_parallel: false.
	case $name in
	guest* | fuzz | asan* | tsan*) beside=2 ;;
	esac
	# meson's own --repeat ends with the first failure.
	for ((round = 0; round < repeat; round++)); do
		rm -f "$dir/meson-logs/testlog.txt" "$dir/meson-logs/testlog.json"
		PYTHONUNBUFFERED=1 RDMAPMD_SIZE=$part_size \
			meson test -C "$dir" --no-rebuild --num-processes "$beside" "${args[@]}" "${tests[@]}" 2>&1 </dev/null |
			sed -n -u -E 's/^ *([0-9]+\/[0-9]+) rdmapmd:[^ ]* \/ /  \1 /p' || true
		cat "$dir/meson-logs/testlog.txt" >>"$log" || return 1
		cat "$dir/meson-logs/testlog.json" >>"${log%.log}.json" || return 1
	done
	were=$(wc -l <"${log%.log}.json")
	if [ "$were" -ne $((repeat * ${#tests[@]})) ]; then
		fail_one "$name: $were of $((repeat * ${#tests[@]})) tests were run"
	fi
	counts=$("$root/devtools/count-tests.py" "${log%.log}.json") || return 1
	ran+=("${log%.log}.json")
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
	took "$name"
}

# run SUITE: all that the name stands for
ran=()
run()
{
	local kind name words

	kind=$(build_of "$1")
	if ! build "$kind"; then
		fail_one "$1: the build"
		return 0
	fi
	while read -r name words; do
		# shellcheck disable=SC2086
		run_part "$kind" "$name" $words || fail_one "$name: what was run is not known"
	done < <(parts "$1")
}

packages=("${packages_build[@]}" "${packages_run[@]}" "${packages_test[@]}")
case " ${suites[*]}" in
*" guest"*) packages+=("${packages_guest[@]}") ;;
esac
need_packages $install "$logs/install.log" "${packages[@]}"
prepare_hugepages
took "packages, hugepages"
for name in "${suites[@]}"; do
	run "$name"
done

if [ $times = yes ] && [ ${#ran[@]} -gt 0 ]; then
	say "the slowest tests, in seconds"
	"$root/devtools/slowest-tests.py" "${ran[@]}"
fi
say "seconds: $SECONDS"
printf '%s\n' "${seconds[@]}"
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
