#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Whether dpdk-test-rdma-perf agrees with rdma_bench, the program that rdma.sh measures with.

set -euo pipefail

me=agree
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/agree.sh [OPTION...]

Has dpdk-test-rdma-perf and rdma_bench do the same on two net_rnic devices joined by a pair wire, embedded, in turn: WRITEs
of 8 bytes, 64 bytes, 64 KiB and 1 MiB, fetch-adds (rate, latency). Prints median figures, `ratio NAME=VALUE` lines
(dpdk-test-rdma-perf's by rdma_bench's), and whether each of them is within 10 % of 1. Takes 3 minutes behind the build.
The machine must be quiet: two CPUs for this alone. There is no verdict when others used more than 3 % of it, or when
the time that a cache line takes from one CPU to the other changed during a measurement; where it has two such states,
the ratios of each count.

  --quick          one repetition of 1 s, and no verdict: does it work?
  --repeat N       repetitions, interleaved; the medians are compared (default 5)
  --seconds S      length of one measurement, whole seconds (default 2)
  --tests NAME,... of: write8 write64 write64k write1m add8 add8_lat
  --cpus A,B       A: device thread; B: the application's thread
  --patience N     measure again, up to N times, when other work used the CPUs (default 2); in all
                   at most half as often as there are measurements
  --build DIR      build to use (default build-bench/); one that exists must have -Dbench=true
  --json FILE      all figures and the verdict, for scripts
  --markdown       tables for doc/performance.md instead of text
  --no-install     install nothing

Hugepages are reserved if there are too few (as root) and given back.
Exit code: 0 all agree, 1 one does not, was not measured, or something failed, 2 usage, 3 no verdict: others used the
machine, or it changed.

  devtools/bench/agree.sh
  devtools/bench/agree.sh --repeat 9 --json build/agree.json
USAGE
}

# 2 MiB pages: the application's queues and memory.
pages=160
while [ $# -gt 0 ]; do
	taken=1
	case $1 in
	--quick) args+=(--repeat 1 --seconds 1 --patience 0 --no-verdict) ;;
	--seconds) take '[1-9][0-9]{0,3}' "a number of whole seconds" "$@" ;;
	--tests) take '.+' "names" "$@" ;;
	--build) build_option "$@" ;;
	--rows | --plot) usage_error "unknown argument $1" ;;
	*) timed_option "$@" ;;
	esac
	shift $taken
done

need_tool python3 python3
setup_bench
programs=(devtools/bench/rdma_bench drivers/net/rnic/librte_net_rnic.so app/test-rdma-perf/dpdk-test-rdma-perf)
build_programs
build_crossing
measure $pages "$here/agree.py" --root "$root" --program "$build/devtools/bench/rdma_bench" \
	--perf "$build/app/test-rdma-perf/dpdk-test-rdma-perf" \
	--plugin "$build/drivers/net/rnic/librte_net_rnic.so"
