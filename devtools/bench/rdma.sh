#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Rates, latencies and instructions of RDMA over net_rnic, beside UCX, in one run.

set -euo pipefail

me=rdma
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/rdma.sh [OPTION...]

Measures RDMA between two net_rnic devices joined by a pair wire, embedded and over softrnicd, from
one application thread: WRITE of 8 bytes (rate, latency), fetch-add (rate, latency), WRITE of 64 bytes,
64 KiB and 1 MiB, SENDs and datagrams, and 1,024 queue pairs of which one or all are used; some of them
with packets as bytes, too; and UCX over tcp and over shared memory, in turn. Counts the instructions of post and poll, and of libmlx5's. Prints median figures and
`ratio NAME=VALUE` lines (ours by the peer's). Takes 6 to 15 minutes behind the build.
The machine must be quiet: two CPUs for this alone.

USAGE
	usage_rdma '  --rows NAME,...  of: rnic rnic_bytes softrnicd tcp_put tcp_am shm_am (default all)
  --tests NAME,... of: write8 write8_lat add8 add8_lat write64k write1m write1m_jumbo
                   write64 send64 ud64 one_of_1024 all_1024'
	cat <<'USAGE'

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
while [ $# -gt 0 ]; do
	rdma_option "$@"
	shift $taken
done

need_tool python3 python3
if wants_ucx; then
	command -v ucx_perftest >/dev/null || try_packages ucx-utils
	command -v ucx_perftest >/dev/null ||
		without UCX "ucx_perftest is missing (apt-get install ucx-utils)"
fi
if [ $count = yes ]; then
	need_tool valgrind valgrind
	try_packages libibverbs-dev
fi
setup_bench
rdma_programs
if [ $count = yes ]; then
	add_program --instr rdma_instr
	add_peer --instr-peer libmlx5_instr libmlx5 || true
fi
build_programs
build_crossing
measure $pages "$here/rdma.py" --root "$root"
