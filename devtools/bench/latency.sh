#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How long one frame is on its way out of a net_rnic port and back, beside its peers, in one run.

set -euo pipefail

me=latency
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/latency.sh [OPTION...]

Sends one frame of 64 or 1514 bytes after the other out of a port and waits until it is back: over net_rnic with wire=loop, on the
embedded device and over softrnicd; over net_memif and net_virtio_user, whose other end is a dpdk-testpmd in io forwarding; in
turn. Prints median and 99th percentile, how long the first frame takes from EAL's start, and `ratio NAME=VALUE` lines (ours by the
peer's: below 1 we are faster). Takes 7 minutes behind the build. The machine must be quiet: two CPUs for this alone.

  --quick          one repetition of 0.5 s: does it work? not for figures
  --repeat N       repetitions, interleaved; the medians are printed (default 5)
  --seconds S      length of one measurement (default 2)
  --sizes N,...    frame bytes without FCS (default 64,1514)
  --rows NAME,...  of: rnic softrnicd memif_zc memif_copy virtio_packed (default all)
  --cpus A,B       A: device thread, softrnicd, the other end; B: the lcore that waits
  --patience N     measure again, up to N times, when other work used the CPUs (default 2); in all
                   at most half as often as there are measurements
  --build DIR      build to use (default build-bench/); one that exists must have -Dbench=true
USAGE
	usage_common
	cat <<'USAGE'

Hugepages are reserved if there are too few (as root) and given back.
Exit code: 0 all rows measured, 1 one was not or something failed, 2 usage.

  devtools/bench/latency.sh
  devtools/bench/latency.sh --quick --rows rnic,memif_zc
  devtools/bench/latency.sh --repeat 9 --json build/latency.json --markdown
USAGE
}

# 2 MiB pages: two processes, one of them with testpmd's mbufs.
pages=224
while [ $# -gt 0 ]; do
	taken=1
	case $1 in
	--quick) args+=(--repeat 1 --seconds 0.5 --patience 0) ;;
	--sizes) take '[0-9]+(,[0-9]+)*' "numbers" "$@" ;;
	--build) build_option "$@" ;;
	--plot) usage_error "unknown argument $1" ;;
	*) timed_option "$@" ;;
	esac
	shift $taken
done

need_tool dpdk-testpmd dpdk-dev
need_tool python3 python3
setup_bench
add_program --program eth_latency
measured_of_build
build_programs
build_crossing
measure $pages "$here/latency.py" --root "$root"
