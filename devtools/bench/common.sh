# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# What agree.sh, eth.sh, instr.sh, latency.sh, rdma.sh, rdmo.sh and scale.sh share: options, the build, peers, hugepages. Source it with
# $me set to the name for messages and with a function usage; it sets $here and $root, and sources lib.sh.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

build=$root/build-bench
programs=() # what to build there
args=()     # for the Python program
absent=()   # peers that are not measured, and why
install=yes
strict=no
pool=""
pid=""

usage_common()
{
	cat <<'USAGE'
  --json FILE      all figures, for scripts
  --markdown       tables for doc/performance.md instead of text
  --plot FILE      as PNG or SVG (needs python3-matplotlib)
  --no-install     install nothing; root installs the peers that are missing otherwise
  --strict         fail if a peer is not there; without this it is only said, at the end
USAGE
}

# take PATTERN WHAT OPTION VALUE: an option with a value that the Python program gets.
take()
{
	[[ ${4:-} =~ ^($1)$ ]] || usage_error "$3 needs $2"
	args+=("$3" "$4")
	taken=2
}

# common_option ARGUMENT...: an option that all have. Sets $taken to how many words it was.
common_option()
{
	taken=1
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--markdown) args+=("$1") ;;
	--no-install) install=no ;;
	--strict) strict=yes ;;
	--json | --plot) take '.+' "a file" "$@" ;;
	*) usage_error "unknown argument $1" ;;
	esac
}

# timed_option ARGUMENT...: one of those that measure rates.
timed_option()
{
	case $1 in
	--repeat) take '[1-9][0-9]{0,3}' "a number" "$@" ;;
	--patience) take '0|[1-9][0-9]{0,3}' "a number" "$@" ;;
	--seconds) take '[0-9]{1,4}(\.[0-9]+)?' "a number" "$@" ;;
	--cpus) take '[0-9]+,[0-9]+' "two numbers" "$@" ;;
	--rows) take '.+' "names" "$@" ;;
	*) common_option "$@" ;;
	esac
}

# What eth.sh and scale.sh run stock testpmd on.
plugin=""
softrnicd=""

# measured_option --plugin FILE | --softrnicd FILE
measured_option()
{
	case $1 in
	--plugin)
		[ -f "${2:-}" ] || usage_error "--plugin needs a file"
		plugin=$(realpath "$2")
		;;
	--softrnicd)
		[ -x "${2:-}" ] || usage_error "--softrnicd needs a program"
		softrnicd=$(realpath "$2")
		;;
	esac
	taken=2
}

# A build with a sanitizer works, and its figures mean nothing.
refuse_sanitizer()
{
	if meson introspect --buildoptions "$1" | grep -q '"name": "b_sanitize", "value": "[^n]'; then
		fail "$1 is built with a sanitizer: meson configure -Db_sanitize=none $1"
	fi
}

# need_measured: those that were given, or those of build/, built first.
need_measured()
{
	if [ -z "$plugin" ]; then
		plugin=$root/build/drivers/net/rnic/librte_net_rnic.so
		softrnicd=${softrnicd:-$root/build/app/softrnicd/softrnicd}
		setup_build "$root/build" "$root/build/bench-setup.log" || exit 1
		refuse_sanitizer "$root/build"
		run_build "$root/build" "$root/build/bench-build.log" || exit 1
		[ -f "$plugin" ] || fail "the build has no $plugin"
		[ -x "$softrnicd" ] || fail "the build has no $softrnicd"
	fi
	args+=(--plugin "$plugin")
	if [ -n "$softrnicd" ]; then
		args+=(--softrnicd "$softrnicd")
	else
		say "no row softrnicd: --plugin without --softrnicd" >&2
	fi
}

# build_option --build DIR
build_option()
{
	[ -n "${2:-}" ] || usage_error "--build needs a folder"
	build=$(realpath -m "$2")
	taken=2
}

# What rdma.sh and rdmo.sh have besides.
count=yes # instructions
rows=""   # those that were asked for

# usage_rdma TEXT: their options; TEXT says what rows and tests there are.
usage_rdma()
{
	cat <<USAGE
  --quick          one repetition of 0.5 s: does it work? not for figures
  --repeat N       repetitions, interleaved; the medians are printed (default 5)
  --seconds S      length of one measurement (default 2)
$1
  --no-instr       do not count instructions
  --cpus A,B       A: device thread, softrnicd, UCX's server; B: the application's thread
  --patience N     measure again, up to N times, when other work used the CPUs (default 2); in all
                   at most half as often as there are measurements
  --build DIR      build to use (default build-bench/); one that exists must have -Dbench=true
USAGE
	usage_common
}

# rdma_option ARGUMENT...: one of theirs.
rdma_option()
{
	taken=1
	case $1 in
	--quick) args+=(--repeat 1 --seconds 0.5 --patience 0) ;;
	--no-instr) count=no ;;
	--tests) take '.+' "names" "$@" ;;
	--build) build_option "$@" ;;
	*)
		[ "$1" != --rows ] || rows=${2:-}
		timed_option "$@"
		;;
	esac
}

# Unless only rows of ours were asked for.
wants_ucx()
{
	[[ ! $rows || $rows =~ (tcp|shm)_ ]]
}

# What our programs run on, of the same build.
measured_of_build()
{
	programs+=(drivers/net/rnic/librte_net_rnic.so app/softrnicd/softrnicd)
	args+=(--plugin "$build/drivers/net/rnic/librte_net_rnic.so" --softrnicd "$build/app/softrnicd/softrnicd")
}

# rdma_programs: rdma_bench, and what it runs on.
rdma_programs()
{
	add_program --program rdma_bench
	measured_of_build
}

# try_packages PACKAGE...: what can be installed is; what is missing then is seen where it is used.
try_packages()
{
	local missing

	[ $install = yes ] && [ "$(id -u)" -eq 0 ] && command -v dpkg-query >/dev/null || return 0
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	# Too late for what a build found out.
	rm -f "$build/dpdk-version"
	(need_packages yes "$root/build/bench-packages.log" "$@") || true
}

# need_tool TOOL PACKAGE
need_tool()
{
	command -v "$1" >/dev/null || try_packages "$2"
	command -v "$1" >/dev/null || fail "$1 is missing (apt-get install $2)"
}

# without PEER REASON
without()
{
	absent+=("$1: $2")
	args+=(--without "$1")
}

setup_bench()
{
	local -a how=(-Dbench=true)

	if [ "$build" = "$root/build-bench" ]; then
		how+=(-Dtests=false)
	elif [ -f "$build/build.ninja" ] &&
		! meson introspect --buildoptions "$build" | grep -q '"name": "bench", "value": true'; then
		fail "$build is without -Dbench=true; name a new folder, or: meson configure -Dbench=true $build"
	fi
	setup_build "$build" "$root/build/bench-setup.log" "${how[@]}" || exit 1
}

# add_program OPTION NAME: to the build, and to what the Python program gets.
add_program()
{
	programs+=("devtools/bench/$2")
	args+=("$1" "$build/devtools/bench/$2")
}

# add_peer OPTION NAME PEER: the same, if the build has it.
add_peer()
{
	if ninja -C "$build" -t query "devtools/bench/$2" >/dev/null 2>&1; then
		add_program "$1" "$2"
		return 0
	fi
	without "$3" "$(sed -n "s/.*$2, the peer, is not built: //p" "$build/meson-logs/meson-log.txt" |
		tail -n 1)"
	return 1
}

build_programs()
{
	run_build "$build" "$root/build/bench-build.log" "${programs[@]}" || exit 1
}

# build_crossing: the program that looks at the machine meanwhile. It is one file, so that eth.sh needs no build of its own for it.
build_crossing()
{
	local program=$root/build/bench-crossing

	mkdir -p "$root/build"
	"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -pthread -o "$program" "$here/crossing.c" ||
		fail "$here/crossing.c: not built"
	args+=(--crossing "$program")
}

clean_up()
{
	if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then
		wait "$pid" 2>/dev/null || true
	fi
	if [ -n "$pool" ]; then
		# shellcheck disable=SC2086
		hugepages_give_back $pool || say "hugepages were changed by somebody else; left as they are"
	fi
}

# measure PAGES COMMAND...: with so many free hugepages, which are given back. Says what was left out, and ends
# the script.
measure()
{
	local pages=$1 status=0 what
	shift

	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ "$pages" -gt 0 ]; then
		pool=$(hugepages_reserve "$pages") ||
			fail "$pages free hugepages of 2 MiB are needed; as root: echo $pages >$hugepages"
	fi
	"$@" "${args[@]}" &
	pid=$!
	wait "$pid" || status=$?
	pid=""
	for what in "${absent[@]}"; do
		say "without $what" >&2
	done
	[ "$status" -eq 0 ] || exit "$status"
	[ ${#absent[@]} -eq 0 ] || [ $strict = no ] || exit 1
	exit 0
}
