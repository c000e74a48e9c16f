#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Usage: grow.sh FUZZER CORPUS SECONDS [FOLDER...]: make a target's kept corpus anew, from what it has, the target's own seeds,
# inputs in other folders, and what SECONDS of fuzzing find. Of inputs that reach the same the smallest stays.

set -euo pipefail

case ${1:-} in
-h | --help | '')
	sed -n 's/^# \{0,1\}//; 3,6p' "$0"
	exit 2
	;;
esac
# shellcheck source=test/fuzz/search.sh
source "$(dirname "$(realpath "$0")")/search.sh"
fuzzer=$(realpath "$1")
corpus=$(realpath "$2")
seconds=$3
shift 3
name=$(basename "$fuzzer")
search "${name#fuzz_}" 512

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds" "$work/new" "$work/kept"
export LLVM_PROFILE_FILE=/dev/null
unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
# A target without seeds would begin to fuzz.
if grep -q FUZZ_SEEDS "$fuzzer"; then
	FUZZ_SEEDS=$work/seeds "$fuzzer" >"$work/log" 2>&1
fi
if [ "$seconds" -gt 0 ]; then
	"$fuzzer" "$work/new" "${search[@]}" -timeout=30 -rss_limit_mb=2048 -artifact_prefix="$PWD/" \
		-max_total_time="$seconds" "$corpus" "$work/seeds" "$@" >"$work/log" 2>&1 ||
		{
			tail -n 60 "$work/log"
			exit 1
		}
fi

# keep OPTION...
keep()
{
	# By edges, not by how often each is passed: a small corpus is what it is for.
	"$fuzzer" "$work/kept" -timeout=30 -use_counters=0 "$@" >"$work/log" 2>&1 || {
		tail -n 60 "$work/log"
		exit 1
	}
}

folders=("$corpus" "$work/seeds" "$work/new" "$@")
keep "${merge[@]}" -set_cover_merge=1 "${folders[@]}"
# And what only longer ones reach.
[ ${#merge[@]} -eq 0 ] || keep -merge=1 "${folders[@]}"
rm -f "$corpus"/*
cp "$work/kept"/* "$corpus/"
printf '%s: %u inputs, %u bytes\n' "$(basename "$corpus")" "$(find "$corpus" -type f | wc -l)" \
	"$(cat "$corpus"/* | wc -c)"
