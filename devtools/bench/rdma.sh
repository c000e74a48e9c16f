#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Rates, latencies and instructions of RDMA over net_rnic, beside UCX, in one run.

set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
me=rdma
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/rdma.sh [OPTION...]

Measures RDMA between two net_rnic devices joined by a pair wire, embedded and over softrnicd, from
one application thread: WRITE of 8 bytes (rate, latency), fetch-add (rate, latency), WRITE of 64 KiB
and 1 MiB, and 1,024 queue pairs of which one or all are used; and UCX over tcp and over shared
memory, in turn. Counts the instructions of post and poll, and of libmlx5's. Prints median figures and
`ratio NAME=VALUE` lines (ours by the peer's). Takes 4 to 10 minutes behind the build.
The machine must be quiet: two CPUs for this alone.

  --quick          one repetition of 0.5 s: does it work? not for figures
  --repeat N       repetitions, interleaved; the medians are printed (default 5)
  --seconds S      length of one measurement (default 2)
  --rows NAME,...  of: rnic softrnicd tcp_put tcp_am shm_am (default all)
  --tests NAME,... of: write8 write8_lat add8 add8_lat write64k write1m one_of_1024 all_1024
  --no-instr       do not count instructions
  --cpus A,B       A: device thread, softrnicd, UCX's server; B: the application's thread
  --patience N     measure again, up to N times, when other work used the CPUs (default 2); in all
                   at most half as often as there are measurements
  --build DIR      build to use (default build-bench/); one that exists must have -Dbench=true
  --json FILE      all figures, for scripts
  --markdown       tables for doc/performance.md instead of text
  --plot FILE      bars as PNG or SVG (needs python3-matplotlib)

Needs ucx_perftest (ucx-utils) and libibverbs-dev for the peers, and valgrind for the instructions. Hugepages are
reserved if there are too few (as root) and given back.
Exit code: 0 all rows measured, 1 one was not or something failed, 2 usage.

  devtools/bench/rdma.sh
  devtools/bench/rdma.sh --quick --rows rnic,tcp_put
  devtools/bench/rdma.sh --repeat 9 --json build/rdma.json --markdown
USAGE
}

# 2 MiB pages: the application's queues and memory; softrnicd maps the same.
pages=160
build=$root/build-bench
count=yes
args=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--quick) args+=(--repeat 1 --seconds 0.5 --patience 0) ;;
	--markdown) args+=("$1") ;;
	--no-instr) count=no ;;
	--repeat | --patience)
		[[ ${2:-} =~ ^[1-9][0-9]{0,3}$ || ${2:-} == 0 && $1 == --patience ]] ||
			usage_error "$1 needs a number"
		args+=("$1" "$2")
		shift
		;;
	--seconds)
		[[ ${2:-} =~ ^[0-9]{1,4}(\.[0-9]+)?$ ]] || usage_error "--seconds needs a number"
		args+=("$1" "$2")
		shift
		;;
	--cpus)
		[[ ${2:-} =~ ^[0-9]+,[0-9]+$ ]] || usage_error "$1 needs two numbers"
		args+=("$1" "$2")
		shift
		;;
	--build)
		[ -n "${2:-}" ] || usage_error "--build needs a folder"
		build=$(realpath -m "$2")
		shift
		;;
	--rows | --tests | --json | --plot)
		[ -n "${2:-}" ] || usage_error "$1 needs a value"
		args+=("$1" "$2")
		shift
		;;
	*) usage_error "unknown argument $1" ;;
	esac
	shift
done

command -v python3 >/dev/null || fail "python3 is missing (apt-get install python3)"
if [ $count = yes ]; then
	command -v valgrind >/dev/null ||
		fail "valgrind is missing (apt-get install valgrind), or use --no-instr"
fi
command -v ucx_perftest >/dev/null ||
	say "without UCX: ucx_perftest is missing (apt-get install ucx-utils)" >&2
how=(-Dbench=true)
if [ "$build" = "$root/build-bench" ]; then
	how+=(-Dtests=false)
elif [ -f "$build/build.ninja" ] &&
	! meson introspect --buildoptions "$build" | grep -q '"name": "bench", "value": true'; then
	fail "$build is without -Dbench=true; name a new folder, or: meson configure -Dbench=true $build"
fi
mkdir -p "$root/build"
setup_build "$build" "$root/build/bench-setup.log" "${how[@]}" || exit 1
programs=(devtools/bench/rdma_bench drivers/net/rnic/librte_net_rnic.so app/softrnicd/softrnicd)
if [ $count = yes ]; then
	programs+=(devtools/bench/rdma_instr)
	args+=(--instr "$build/devtools/bench/rdma_instr")
	if ninja -C "$build" -t query devtools/bench/libmlx5_instr >/dev/null 2>&1; then
		programs+=(devtools/bench/libmlx5_instr)
		args+=(--instr-peer "$build/devtools/bench/libmlx5_instr")
	else
		say "without libmlx5: $(sed -n 's/.*libmlx5_instr, the peer, is not built: //p' \
			"$build/meson-logs/meson-log.txt" | tail -n 1)" >&2
	fi
fi
if ! ninja -C "$build" "${programs[@]}" >"$root/build/bench-build.log" 2>&1; then
	grep -E -A 12 'FAILED|error:' "$root/build/bench-build.log" | head -n 40 >&2
	fail "the build in $build failed; the log is $root/build/bench-build.log"
fi

pool=""
pid=""
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
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

pool=$(hugepages_reserve $pages) ||
	fail "$pages free hugepages of 2 MiB are needed; as root: echo $pages >$hugepages"
status=0
"$here/rdma.py" --root "$root" --program "$build/devtools/bench/rdma_bench" \
	--plugin "$build/drivers/net/rnic/librte_net_rnic.so" \
	--softrnicd "$build/app/softrnicd/softrnicd" "${args[@]}" &
pid=$!
wait "$pid" || status=$?
pid=""
[ "$status" -eq 0 ] || exit "$status"
