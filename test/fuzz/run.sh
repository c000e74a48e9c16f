#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Usage: run.sh FUZZER CORPUS: replay the kept corpus, then look for more. 60 s, with RDMAPMD_FULL=1 20 minutes;
# RDMAPMD_FUZZ_SECONDS overrides both. What is found lies in the build folder, as fuzz-NAME/.

set -euo pipefail

fuzzer=$(realpath "$1")
corpus=$2
name=$(basename "$fuzzer")
seconds=60
[ "${RDMAPMD_FULL:-}" != 1 ] || seconds=1200
seconds=${RDMAPMD_FUZZ_SECONDS:-$seconds}
work=${RDMAPMD_BUILD:-.}/fuzz-${name#fuzz_}

mkdir -p "$work/new"
echo "1..2"

# go NUMBER WHAT COMMAND...
go()
{
	local number=$1 what=$2
	shift 2
	if "$@" >"$work/$number.log" 2>&1; then
		echo "ok $number $what"
	else
		echo "not ok $number $what: $work/$number.log, artifacts beside it"
		tail -n 40 "$work/$number.log" | sed 's/^/# /'
		exit 1
	fi
}

# Bounded: an input that needs so much memory or time is a finding.
common=(-timeout=10 -rss_limit_mb=2048 "-artifact_prefix=$work/")
go 1 "kept corpus" "$fuzzer" "${common[@]}" -runs=0 "$corpus"
go 2 "$seconds s of new inputs" "$fuzzer" "${common[@]}" -max_total_time="$seconds" -max_len=1024 \
	-print_final_stats=1 "$work/new" "$corpus"
