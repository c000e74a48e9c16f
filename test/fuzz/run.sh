#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Usage: run.sh FUZZER CORPUS SUBJECT...: replay the kept corpus, then look for more: 60 s, 10 s with
# RDMAPMD_SIZE=default, 20 minutes with full; RDMAPMD_FUZZ_SECONDS overrides them. What is found lies in the build folder, as
# fuzz-NAME/; a table says how many inputs were tried and which lines of the subjects, files or folders, they reached.
#
# FUZZ_SEEDS=FOLDER FUZZER writes the target's own seeds; `FUZZER -merge=1 CORPUS FOLDER...` keeps what adds to a corpus.

set -euo pipefail

if ! command -v clang >/dev/null; then
	echo "1..0 # SKIP clang is not installed: apt-get install clang libclang-rt-dev llvm"
	exit 0
fi

fuzzer=$(realpath "$1")
corpus=$2
shift 2
subjects=("$@")
name=$(basename "$fuzzer")
name=${name#fuzz_}
case ${RDMAPMD_SIZE:-all} in
default) seconds=10 ;;
full) seconds=1200 ;;
*) seconds=60 ;;
esac
seconds=${RDMAPMD_FUZZ_SECONDS:-$seconds}
work=${RDMAPMD_BUILD:-.}/fuzz-$name

mkdir -p "$work/new"
echo "1..2"

# go NUMBER WHAT COMMAND...
go()
{
	local number=$1 what=$2
	shift 2
	if "$@" >"$work/$number.log" 2>&1; then
		echo "ok $number - $what"
	else
		echo "not ok $number - $what: $work/$number.log, artifacts beside it"
		tail -n 40 "$work/$number.log" | sed 's/^/# /'
		exit 1
	fi
}

# Lines that the run reached, by file.
coverage()
{
	command -v llvm-profdata >/dev/null && command -v llvm-cov >/dev/null || return 0
	llvm-profdata merge -o "$work/coverage.profdata" "$work/coverage.profraw" || return 0
	llvm-cov export -summary-only "$fuzzer" -instr-profile "$work/coverage.profdata" 2>/dev/null |
		python3 "$(dirname "$0")/coverage.py" "${subjects[@]}"
}

# What the fuzzer finds, it finds without the environment of the other tests.
unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
# Bounded: an input that needs so much memory or time is a finding. The time is the wall clock's: all of them together take
# a fraction of a second of it, and a machine that is busy otherwise may make a hundred of that.
common=(-timeout=30 -rss_limit_mb=2048 "-artifact_prefix=$work/")
export LLVM_PROFILE_FILE=/dev/null
go 1 "$name: kept corpus" "$fuzzer" "${common[@]}" -runs=0 "$corpus"
export LLVM_PROFILE_FILE=$work/coverage.profraw
go 2 "$name: $seconds s of new inputs" "$fuzzer" "${common[@]}" -max_total_time="$seconds" \
	-max_len=2048 -len_control=20 -print_final_stats=1 "$work/new" "$corpus"
sed -n -E 's/^stat::(number_of_executed_units|average_exec_per_sec): *([0-9]+)/# \1 \2/p' "$work/2.log"
coverage || true
