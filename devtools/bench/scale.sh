#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Packet rates of stock dpdk-testpmd over one softrnicd with more and more threads.

set -euo pipefail

me=scale
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/scale.sh [OPTION...]

Runs stock dpdk-testpmd in io forwarding over softrnicd with 1, 2, 4 ... threads, in turn: with N threads there are N pairs of
devices, each on a thread of its own, and N forwarding lcores; then one pair whose ends have a thread each. Prints the median
rates, and `ratio NAME=VALUE` lines (a row's by that of one thread). N threads want 2 N CPUs that do nothing else.

  --quick          one repetition of 1 s: does it work? not for figures
  --threads N,...  numbers of threads (default: 1, 2, 4 ... as far as the CPUs go)
  --share          also where there are too few CPUs, which threads and lcores then share: does it work?
  --repeat N       repetitions, interleaved; the medians are printed (default 5)
  --seconds S      length of one measurement (default 2)
  --sizes N,...    frame bytes without FCS (default 64,1514)
  --rows NAME,...  of: threads1 threads2 ... split (default all)
  --plugin FILE    librte_net_rnic.so to measure (default: that of build/, built first)
  --softrnicd FILE the daemon to measure (default: that of build/)
  --cpus A,B,...   the CPUs: softrnicd's first (default: all that there are)
  --bursts N       bursts of 32 packets that each port sends first (default 8)
  --patience N     measure again, up to N times, when other work used the CPUs (default 2); in all
                   at most half as often as there are measurements
USAGE
	usage_common
	cat <<'USAGE'

Hugepages are reserved if there are too few (as root) and given back.
Exit code: 0 all rows measured, 1 one was not or something failed, 2 usage.

  devtools/bench/scale.sh
  devtools/bench/scale.sh --threads 1,2,4 --json build/scale.json --plot build/scale.svg
  devtools/bench/scale.sh --quick --share --threads 1,2
USAGE
}

threads=$(($(nproc) / 2))
while [ $# -gt 0 ]; do
	taken=1
	case $1 in
	--quick) args+=(--repeat 1 --seconds 1 --patience 0) ;;
	--share) args+=(--share) ;;
	--threads)
		take '[1-9][0-9]?(,[1-9][0-9]?)*' "numbers" "$@"
		threads=$(tr , '\n' <<<"$2" | sort -n | tail -n 1)
		;;
	--plugin | --softrnicd) measured_option "$@" ;;
	--bursts) take '[1-9][0-9]{0,3}' "a number" "$@" ;;
	--sizes) take '[0-9]+(,[0-9]+)*' "numbers" "$@" ;;
	--cpus) take '[0-9]+(,[0-9]+)*' "numbers" "$@" ;;
	*) timed_option "$@" ;;
	esac
	shift $taken
done

need_tool dpdk-testpmd dpdk-dev
need_tool python3 python3
need_measured
[ -n "$softrnicd" ] || usage_error "--plugin wants --softrnicd, too"
build_crossing
# 2 MiB pages: 16,384 mbufs and rings for each pair.
measure $((100 + 60 * threads)) "$here/scale.py" --root "$root"
