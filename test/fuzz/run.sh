#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Usage: run.sh FUZZER CORPUS SUBJECT...: replay the kept corpus, then look for more: 60 s, 3 s with
# RDMAPMD_SIZE=default (1 s of targets that only read bytes), 20 minutes with full; RDMAPMD_FUZZ_SECONDS overrides
# them. What is found lies in the build folder, as fuzz-NAME/; a table says how many inputs were tried, and which
# lines of the subjects (files or folders) the kept corpus reaches. With full it must reach 90 % of those that an
# input can reach: coverage.py, unreachable.txt.
#
# FUZZ_SEEDS=FOLDER FUZZER writes the target's own seeds; grow.sh makes a corpus of them and of what is found.

set -euo pipefail

if ! command -v clang >/dev/null; then
	echo "1..0 # SKIP clang is not installed: apt-get install clang libclang-rt-dev llvm"
	exit 0
fi

here=$(dirname "$(realpath "$0")")
# shellcheck source=test/fuzz/search.sh
source "$here/search.sh"
fuzzer=$(realpath "$1")
corpus=$2
shift 2
subjects=("$@")
name=$(basename "$fuzzer")
name=${name#fuzz_}
least=0
case ${RDMAPMD_SIZE:-all} in
default)
	case $name in
	rdmo_*) seconds=1 ;;
	*) seconds=3 ;;
	esac
	;;
full) seconds=1200 least=90 ;;
*) seconds=60 ;;
esac
seconds=${RDMAPMD_FUZZ_SECONDS:-$seconds}
search "$name" 2048
work=${RDMAPMD_BUILD:-.}/fuzz-$name

mkdir -p "$work/new"
echo "1..3"

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

# Of each file the lines that the replay reached.
coverage()
{
	llvm-profdata merge -o "$work/coverage.profdata" "$work/coverage.profraw"
	llvm-cov export -format=lcov "$fuzzer" -instr-profile "$work/coverage.profdata" >"$work/coverage.lcov"
	python3 "$here/coverage.py" --least "$least" --list "$work/uncovered" "$name" "$here/unreachable.txt" \
		"${subjects[@]}" <"$work/coverage.lcov"
}

# What the fuzzer finds, it finds without the environment of the other tests.
unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
# Bounded: an input that needs so much memory or time is a finding. The time is the wall clock's: all of them together take
# a fraction of a second of it, and a machine that is busy otherwise may make a hundred of that.
common=(-timeout=30 -rss_limit_mb=2048 "-artifact_prefix=$work/")
export LLVM_PROFILE_FILE=$work/coverage.profraw
go 1 "$name: kept corpus" "$fuzzer" "${common[@]}" -runs=0 "$corpus"
if command -v llvm-profdata >/dev/null && command -v llvm-cov >/dev/null; then
	go 2 "$name: what the kept corpus reaches" coverage
	grep '^#' "$work/2.log" || true
else
	echo "ok 2 - $name: what the kept corpus reaches # SKIP llvm is not installed"
fi
export LLVM_PROFILE_FILE=/dev/null
go 3 "$name: $seconds s of new inputs" "$fuzzer" "${common[@]}" -max_total_time="$seconds" \
	"${search[@]}" -print_final_stats=1 "$work/new" "$corpus"
sed -n -E 's/^stat::(number_of_executed_units|average_exec_per_sec): *([0-9]+)/# \1 \2/p' "$work/3.log"
