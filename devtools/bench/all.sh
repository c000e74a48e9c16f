#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All benchmarks, one behind the other, and what their figures are by the bars of bars.ini.

set -euo pipefail

me=all
# shellcheck source=devtools/bench/common.sh
. "$(dirname "$0")/common.sh"

rows_with_bars=rnic,softrnicd,memif_zc,memif_copy,virtio_packed
parts=(eth txonly rxonly latency instr rdma rdmo agree)

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/all.sh [OPTION...]

Runs eth.sh (64, 256, 512 and 1514 bytes; then one direction alone), latency.sh, instr.sh, rdma.sh, rdmo.sh and agree.sh, and compares
what they find with devtools/bench/bars.ini: a line for each bar, PASS, FAIL, MISSING (not measured) or NO VERDICT (others used more
than 3 % of the machine, or its state changed). Takes about an hour; the machine must be quiet.

  --quick          each with its own --quick: does it work? The verdicts mean nothing
  --repeat N       repetitions of all that measure rates (default: each script's)
  --only NAME,...  of: eth txonly rxonly latency instr rdma rdmo agree (default all)
  --dir FOLDER     keep each script's JSON and text there (default: a temporary one)
  --judge          measure nothing: judge what is in --dir
  --bars FILE      instead of devtools/bench/bars.ini
  --json FILE      all bars, and all figures, for scripts
  --plot FOLDER    each script's plot, rates by size, instructions by burst (needs python3-matplotlib)
  --no-install     install nothing; root installs the peers that are missing otherwise

Exit code: 0 all bars hold, 1 one does not or was not measured, 2 usage, 3 no verdict.

  devtools/bench/all.sh --dir build/bench --plot build/bench
  devtools/bench/all.sh --only eth,instr
  devtools/bench/all.sh --judge --dir build/bench
USAGE
}

# part_command PART: sets $command.
part_command()
{
	case $1 in
	eth) command=("$here/eth.sh" --sizes "64,256,512,1514" --rows "$rows_with_bars") ;;
	txonly | rxonly) command=("$here/eth.sh" --mode "$1" --sizes 64 --rows "$rows_with_bars") ;;
	*) command=("$here/$1.sh") ;;
	esac
}

folder=""
bars=$here/bars.ini
judge=no
only=$(IFS=, && echo "${parts[*]}")
plot=""
more=()
verdict=()
while [ $# -gt 0 ]; do
	taken=1
	case $1 in
	--quick) more+=(--quick) ;;
	--repeat)
		[[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || usage_error "--repeat needs a number"
		repeat=$2
		taken=2
		;;
	--only)
		[[ ${2:-} =~ ^[a-z]+(,[a-z]+)*$ ]] || usage_error "--only needs names"
		for name in ${2//,/ }; do
			[[ " ${parts[*]} " = *" $name "* ]] || usage_error "no part $name; there are ${parts[*]}"
		done
		only=$2
		taken=2
		;;
	--dir | --plot)
		[ -n "${2:-}" ] || usage_error "$1 needs a folder"
		mkdir -p "$2"
		[ "$1" = --dir ] && folder=$(realpath "$2") || plot=$(realpath "$2")
		taken=2
		;;
	--bars)
		[ -f "${2:-}" ] || usage_error "--bars needs a file"
		bars=$(realpath "$2")
		taken=2
		;;
	--json)
		[ -n "${2:-}" ] || usage_error "--json needs a file"
		verdict+=(--json "$2")
		taken=2
		;;
	--judge) judge=yes ;;
	--no-install) more+=("$1") ;;
	-h | --help)
		usage
		exit 0
		;;
	*) usage_error "unknown argument $1" ;;
	esac
	shift $taken
done
[ $judge = no ] || [ -n "$folder" ] || usage_error "--judge needs --dir"

if [ -z "$folder" ]; then
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
fi
for part in ${only//,/ }; do
	[ $judge = no ] || break
	part_command "$part"
	command+=("${more[@]}" --json "$folder/$part.json")
	[ -z "${repeat:-}" ] || [ "$part" = instr ] || command+=(--repeat "$repeat")
	[ -z "$plot" ] || [[ "$part" =~ ^(agree|latency)$ ]] || command+=(--plot "$plot/$part.svg")
	say "$part: ${command[*]#"$root"/}"
	rm -f "$folder/$part.json"
	# What it has found is judged; what it could not find is missing.
	"${command[@]}" >"$folder/$part.txt" || say "$part: exit code $?, see $folder/$part.txt" >&2
done
[ -z "$plot" ] || verdict+=(--plot "$plot")
status=0
python3 "$here/bars.py" --bars "$bars" --dir "$folder" --only "$only" "${verdict[@]}" || status=$?
exit $status
