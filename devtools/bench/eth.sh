#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Packet rates of stock dpdk-testpmd on two net_rnic ports, beside its peers, in one run.

set -euo pipefail

me=eth
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/eth.sh [OPTION...]

Runs stock dpdk-testpmd in io forwarding with frames of 64 and 1514 bytes over two net_rnic ports
joined by a pair wire, on the embedded device and over softrnicd, and over net_memif and net_vhost
with net_virtio_user, in turn. Prints the median rates, what each row copies, and
`ratio NAME=VALUE` lines (ours by the peer's: above 1 we are faster). Takes 6 to 10 minutes.
The machine must be quiet: two CPUs for this alone.

  --quick          one repetition of 1 s: does it work? not for figures
  --repeat N       repetitions, interleaved; the medians are printed (default 5)
  --seconds S      length of one measurement (default 2)
  --sizes N,...    frame bytes without FCS (default 64,1514)
  --rows NAME,...  of: rnic softrnicd memif_zc memif_copy memif_single virtio_split
                   virtio_split_vec virtio_packed null_copy ring (default all)
  --peers-only     without net_rnic, which then need not be built
  --plugin FILE    librte_net_rnic.so to measure (default: that of build/, built first)
  --softrnicd FILE the daemon to measure (default: that of build/; with --plugin: none, no such row)
  --cpus A,B       A: device thread, softrnicd, first of two testpmd; B: forwarding lcore, second
  --device-cpu N   pin the device thread, by the driver's poll=, and softrnicd to another CPU than A
  --mode MODE      io (default); txonly: into our device, which drops all (wire=null), or a peer's other
                   end in rxonly; rxonly: out of our device, which makes them (wire=source), or a
                   peer's other end in txonly
  --bursts N       bursts of 32 packets that each port or process sends first (default 8)
  --patience N     measure again, up to N times, when other work used the CPUs (default 2); in all
                   at most half as often as there are measurements
USAGE
	usage_common
	cat <<'USAGE'

Hugepages are reserved if there are too few (as root) and given back.
Exit code: 0 all rows measured, 1 one was not or something failed, 2 usage.

  devtools/bench/eth.sh
  devtools/bench/eth.sh --quick --rows softrnicd,memif_zc
  devtools/bench/eth.sh --mode txonly --sizes 64
  devtools/bench/eth.sh --repeat 9 --json build/eth.json --markdown
USAGE
}

# 2 MiB pages: two processes with 16,384 mbufs each.
pages=224
peers_only=no
while [ $# -gt 0 ]; do
	taken=1
	case $1 in
	--quick) args+=(--repeat 1 --seconds 1 --patience 0) ;;
	--peers-only) peers_only=yes ;;
	--plugin | --softrnicd) measured_option "$@" ;;
	--mode) take 'io|txonly|rxonly' "io, txonly or rxonly" "$@" ;;
	--bursts) take '[1-9][0-9]{0,3}' "a number" "$@" ;;
	--sizes) take '[0-9]+(,[0-9]+)*' "numbers" "$@" ;;
	--device-cpu) take '[0-9]+' "a number" "$@" ;;
	*) timed_option "$@" ;;
	esac
	shift $taken
done

need_tool dpdk-testpmd dpdk-dev
need_tool python3 python3
[ $peers_only = yes ] || need_measured

build_crossing
measure $pages "$here/eth.py" --root "$root"
