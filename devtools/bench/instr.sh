#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Instructions per packet of our Tx and Rx bursts, beside those of net_mlx5's own.

set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
me=instr
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/instr.sh [OPTION...]

Counts by callgrind the instructions per packet of net_rnic's burst functions on the embedded
device, which is polled by hand between the calls and not counted, and of net_mlx5's own burst
functions (the distribution's library) on queues made by hand. Prints tables and
`ratio NAME=VALUE` lines (ours by the peer's: below 1 we need fewer). Takes about a minute behind
the build. The counts are exact and the same on a busy machine; the cycles beside them are not.

  --quick          bursts of 32, 64-byte frames, fewer calls
  --bursts N,...   burst sizes, at most 64 (default 1,4,8,16,32,64)
  --sizes N,...    frame bytes (default 64,1500)
  --calls N        calls counted for each figure (default 3200)
  --peer-only      net_mlx5 alone
  --build DIR      build to use (default build-bench/); one that exists must have -Dbench=true
  --json FILE      all figures, for scripts
  --markdown       tables for doc/performance.md instead of text
  --plot FILE      curves as PNG or SVG (needs python3-matplotlib)

Needs valgrind; the peer needs libibverbs-dev and package sources from which the DPDK source
package can be had (see mlx5_headers.sh).
Exit code: 0 done, 1 something failed, 2 usage.

  devtools/bench/instr.sh
  devtools/bench/instr.sh --quick
  devtools/bench/instr.sh --bursts 4,32 --json build/instr.json
USAGE
}

build=$root/build-bench
peer_only=no
args=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--quick) args+=(--bursts 32 --sizes 64 --calls 640) ;;
	--peer-only) peer_only=yes ;;
	--markdown) args+=("$1") ;;
	--bursts | --sizes | --calls)
		[[ ${2:-} =~ ^[0-9]+(,[0-9]+)*$ ]] || usage_error "$1 needs numbers"
		args+=("$1" "$2")
		shift
		;;
	--json | --plot)
		[ -n "${2:-}" ] || usage_error "$1 needs a file"
		args+=("$1" "$2")
		shift
		;;
	--build)
		[ -n "${2:-}" ] || usage_error "--build needs a folder"
		build=$(realpath -m "$2")
		shift
		;;
	*) usage_error "unknown argument $1" ;;
	esac
	shift
done

for tool in valgrind python3; do
	command -v "$tool" >/dev/null || fail "$tool is missing (apt-get install $tool)"
done
how=(-Dbench=true)
if [ "$build" = "$root/build-bench" ]; then
	how+=(-Dtests=false)
elif [ -f "$build/build.ninja" ] &&
	! meson introspect --buildoptions "$build" | grep -q '"name": "bench", "value": true'; then
	fail "$build is without -Dbench=true; name a new folder, or: meson configure -Dbench=true $build"
fi
setup_build "$build" "$root/build/bench-setup.log" "${how[@]}" || exit 1
programs=(devtools/bench/burst_bench)
[ $peer_only = no ] || programs=()
if ninja -C "$build" -t query devtools/bench/mlx5_bench >/dev/null 2>&1; then
	programs+=(devtools/bench/mlx5_bench)
	args+=(--peer "$build/devtools/bench/mlx5_bench")
else
	say "without net_mlx5: $(sed -n 's/.*mlx5_bench, the peer, is not built: //p' \
		"$build/meson-logs/meson-log.txt" | tail -n 1)" >&2
	[ $peer_only = no ] || exit 1
fi
if ! ninja -C "$build" "${programs[@]}" >"$root/build/bench-build.log" 2>&1; then
	grep -E -A 12 'FAILED|error:' "$root/build/bench-build.log" | head -n 40 >&2
	fail "the build in $build failed; the log is $root/build/bench-build.log"
fi
if [ $peer_only = no ]; then
	args+=(--ours "$build/devtools/bench/burst_bench")
fi
"$here/instr.py" --root "$root" "${args[@]}"
