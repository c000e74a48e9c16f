#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Instructions per packet of our Tx and Rx bursts, beside those of net_mlx5's own.

set -euo pipefail

me=instr
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/instr.sh [OPTION...]

Counts by callgrind the instructions per packet of net_rnic's burst functions on the embedded
device, which is polled by hand between the calls and counted apart, of net_memif, and of net_mlx5's
own burst functions (the distribution's library) on queues made by hand. Prints tables and
`ratio NAME=VALUE` lines (ours by the peer's: below 1 we need fewer). Takes about a minute behind
the build. The counts are exact and the same on a busy machine; the cycles beside them are not.

  --quick          bursts of 32, 64-byte frames, fewer calls
  --bursts N,...   burst sizes, at most 64 (default 1,4,8,16,32,64)
  --sizes N,...    frame bytes (default 64,1500)
  --calls N        calls counted for each figure (default 3200)
  --peer-only      net_mlx5 alone
  --build DIR      build to use (default build-bench/); one that exists must have -Dbench=true
USAGE
	usage_common
	cat <<'USAGE'

Needs valgrind; the peer needs libibverbs-dev and package sources from which the DPDK source
package can be had (see mlx5_headers.sh).
Exit code: 0 done, 1 something failed, 2 usage.

  devtools/bench/instr.sh
  devtools/bench/instr.sh --quick
  devtools/bench/instr.sh --bursts 4,32 --json build/instr.json
USAGE
}

peer_only=no
while [ $# -gt 0 ]; do
	taken=1
	case $1 in
	--quick) args+=(--bursts 32 --sizes 64 --calls 640) ;;
	--peer-only) peer_only=yes ;;
	--bursts | --sizes | --calls) take '[0-9]+(,[0-9]+)*' "numbers" "$@" ;;
	--build) build_option "$@" ;;
	*) common_option "$@" ;;
	esac
	shift $taken
done

need_tool python3 python3
need_tool valgrind valgrind
try_packages libibverbs-dev
setup_bench
[ $peer_only = yes ] || add_program --ours burst_bench
add_peer --peer mlx5_bench net_mlx5 || [ $peer_only = no ] || fail "${absent[0]}"
build_programs
measure 0 "$here/instr.py" --root "$root"
