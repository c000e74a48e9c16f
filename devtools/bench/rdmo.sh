#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Appends by RDMO over net_rnic, beside what they cost without a worker and by UCX, in one run.

set -euo pipefail

me=rdmo
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/rdmo.sh [OPTION...]

Measures appends of 64 bytes to a remote queue or log, and larger ones: by RDMO, whose initiators and worker are one thread, between two
net_rnic devices joined by a pair wire, in bursts of 32 (rate, latency; 1,000 connections; each in a message of its
own, beside a SEND and one back; what a worker does with a message when it has come); by FETCH_AND_ADD, then WRITE,
16 under way over 1, 4 and 8 queue pairs; and by UCX over tcp and over shared memory, in turn. Some with packets as
bytes, over softrnicd, and on a wire that takes 10 us.
Counts packets, and the instructions of initiator and worker. Prints median figures and `ratio NAME=VALUE` lines
(RDMO's by the other's). Takes 8 to 20 minutes behind the build.
The machine must be quiet: two CPUs for this alone.

USAGE
	usage_rdma '  --rows NAME,...  of: rnic delay10 rnic_bytes softrnicd tcp_put tcp_am shm_put shm_am (default all)
  --tests NAME,... of: queue64 queue64_lat queue64_one echo64 handler64 queue64_1000 log64 queue64k queue1m
                   fw1_1 fw1_4 fw1_8 fw1_lat fw1_32 packed64 add8 write64k write1m write64'
	cat <<'USAGE'

Needs libucx-dev for the peer, and valgrind for the instructions. Hugepages are reserved if there are too few (as
root) and given back.
Exit code: 0 all rows measured, 1 one was not or something failed, 2 usage, 3 FETCH_AND_ADD and WRITE together are
slower than each of them allows: ratios to them mean nothing.

  devtools/bench/rdmo.sh
  devtools/bench/rdmo.sh --quick --rows rnic,delay10 --no-instr
  devtools/bench/rdmo.sh --repeat 9 --json build/rdmo.json --markdown
USAGE
}

# 2 MiB pages: queues and memory; most are those of 1,000 connections.
pages=320
while [ $# -gt 0 ]; do
	rdma_option "$@"
	shift $taken
done

need_tool python3 python3
! wants_ucx || try_packages libucx-dev
[ $count = no ] || need_tool valgrind valgrind
setup_bench
rdma_programs
add_program --rdmo rdmo_bench
[ $count = no ] || add_program --instr rdmo_instr
! wants_ucx || add_peer --ucx rdmo_ucx UCX || true
build_programs
build_crossing
measure $pages "$here/rdmo.py" --root "$root"
