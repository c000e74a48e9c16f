#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything about a change but its tests: form, rules of the house, both compilers. Only the build without the software RNIC,
# which test.sh does not make, is tested here.

set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
me=check
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/check.sh [--help] [CHECK...]

Checks the files that git tracks or would track. Installs nothing. All of these by default:

  format     clang-format on our C
  spdx       the licence line that every source file starts with
  tokens     words that may not stand in libraries and drivers, or anywhere; names of static functions; and, as warnings, words
             that users stumble over in messages and public headers
  includes   who may include whom
  headers    every header compiled alone, by gcc and clang
  shell      shellcheck on the scripts
  features   each feature that the driver claims has a mutant, and that is dead; tests that dpdk-test-rdma-perf's table names exist
  pages      each key and each command of telemetry stands in its manual page, each option of dpdk-test-rdma-perf there and
             in --help
  rows       what the fuzz targets leave out (test/fuzz/unreachable.txt) is in the sources
  foreign    who has had each command of the software RNIC executed stands in doc/design/
  docs       public headers say of each parameter and member what it is, of each call threads and results
             (devtools/docstrings.py), and by section where they are from; a folder's README.md has at most 150 lines and
             names each file; README.md and doc/verified.md have at most 120 columns
  size       files of more than 800 lines, functions of more than 60
  build      warnings are errors, with gcc and with clang, with and without the software RNIC; without, the tests that are
             left pass
  links      who uses whose functions, in the libraries that the build made; circles of objects, of #includes and of folders,
             what goes up, and headers for several files (devtools/circles.py; devtools/floors.ini says where these are
             warnings only)
  api        the API reference has all of lib/rdmapmd's headers, and reads well

And only by name, as it takes minutes:

  analyze    clang's static analyzer on lib, drivers and app; what it is wrong about stands in doc/design/analysis.md

Exit code: 0 clean, 1 something found or a tool is missing, 2 usage.

  devtools/check.sh
  devtools/check.sh format tokens
USAGE
}

all=(format spdx tokens includes headers shell features pages rows foreign docs size build links api)
by_name=(analyze)
checks=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	*)
		case " ${all[*]} ${by_name[*]} " in
		*" $1 "*) checks+=("$1") ;;
		*) usage_error "unknown check $1" ;;
		esac
		;;
	esac
	shift
done
[ ${#checks[@]} -gt 0 ] || checks=("${all[@]}")

cd "$root"
status=0

# found TEXT...: one more thing that is wrong.
found()
{
	echo "  $*" >&2
	status=1
}

# Our files, by git's pathspecs; those that are deleted but not yet committed are gone already.
files()
{
	local f

	git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null | sort -u | while read -r f; do
		[ ! -f "$f" ] || echo "$f"
	done
}

have()
{
	command -v "$1" >/dev/null || {
		found "$1 is missing: apt-get install $2"
		return 1
	}
}

# Print C without comments and string literals, its lines where they were.
bare_c()
{
	perl -0777 -pe '
		s{(/\*.*?\*/)|(//[^\n]*)|("(?:\\.|[^"\\\n])*")|(\x27(?:\\.|[^\x27\\\n])*\x27)}{
			my $t = defined $3 ? "\"\"" : defined $4 ? "0" : $&;
			defined $3 || defined $4 ? $t : "\n" x ($t =~ tr/\n//)
		}gse' "$1"
}

check_format()
{
	local f said

	have clang-format clang-format || return 0
	# All at once; only where that finds something, file by file.
	! files '*.c' '*.h' | xargs -r -n 16 -P "$(nproc)" clang-format --dry-run -Werror >/dev/null 2>&1 || return 0
	for f in $(files '*.c' '*.h'); do
		# Not in a pipe: with pipefail its own failure would hide what grep found.
		if ! said=$(clang-format --dry-run -Werror "$f" 2>&1); then
			grep -m 3 'error:' <<<"$said" >&2 || true
			found "$f: not in the house's form (clang-format -i $f)"
		fi
	done
}

check_spdx()
{
	local f

	for f in $(files '*.c' '*.h' '*.sh' '*.py' '*meson.build' meson_options.txt .ci/run \
		'*.supp' .clang-format); do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' ||
			found "$f: no SPDX-License-Identifier: BSD-3-Clause in its first lines"
	done
}

# forbid WHERE PATTERN WHY: in C without comments and strings.
forbid()
{
	local f hit

	for f in $(files "${1}*.c" "${1}*.h"); do
		while read -r hit; do
			found "$f:$hit: $3"
		done < <(bare_c "$f" | grep -n -P "$2" || true)
	done
}

# The headers that users of a library see.
public_headers()
{
	files 'lib/rdmapmd/rdmapmd*.h' 'lib/rdmo/rdmo*.h' lib/softrnic/softrnic.h lib/vfio_user/{server,client,types,log,peer,proto,version}.h
}

# Words that a user stumbles over, in what users read: messages (strings of several words) and public headers. Warnings.
odd_words='\b(whoever|whom(ever)?|nobody.s|no more(?! than)|any more|to be had|(can|cannot) be had|made anew|is no such|says)\b'

check_words()
{
	local f

	for f in $(files 'lib/*.[ch]' 'drivers/*.[ch]' 'app/*.[ch]' 'examples/*.[ch]'); do
		F=$f ODD=$odd_words perl -0777 -ne 's{(/\*.*?\*/)|(//[^\n]*)|("(?:\\.|[^"\\\n])*")}{defined $3 ? $3 : "\n" x ($& =~ tr/\n//)}gse;
			$n = 0;
			for (split /\n/) {
				$n++;
				print "  warning: $ENV{F}:$n: in a message: $1\n" while /"[^"]*?($ENV{ODD})/gi;
			}' <"$f"
	done
	for f in $(public_headers); do
		F=$f ODD=$odd_words perl -ne 'print "  warning: $ENV{F}:$.: $1\n" while /($ENV{ODD})/gi' <"$f"
	done
}

# A backtrace would not say whose they are.
one_word_statics()
{
	local f hit

	for f in $(files 'lib/*.[ch]' 'drivers/*.[ch]'); do
		while read -r hit; do
			found "$f:$hit: a static function of one word: object and verb"
		done < <(awk '/^[a-z0-9]+\(/ && last ~ /^static/ { print FNR ": " $0 } { last = $0 }' "$f")
	done
}

check_tokens()
{
	local where f hit

	check_words

	for where in lib/ drivers/; do
		forbid $where '(?<![\w.>])(abort|_?exit|assert|rte_panic|rte_exit|RTE_VERIFY)\s*\(' \
			'a library does not end the process'
		forbid $where '(?<![\w.>])(printf|puts|putchar|perror)\s*\(|\bstderr\b|\bstdout\b' \
			'a library logs, it does not print'
		forbid $where '(?<![\w.>])(sprintf|strcpy|strcat|gets)\s*\(' 'unbounded'
	done
	one_word_statics
	# Marks of unfinished work, and the machine that it was written on.
	for f in $(files | grep -v -E '^(devtools/check\.sh|LICENSE)$'); do
		while read -r hit; do
			found "$f:$hit"
		done < <(grep -n -I -E '\b(TODO|FIXME|XXX)\b|(^|[^[:alnum:]_./-])/(root|home|work)/' \
			"$f" || true)
	done
}

# may_not FOLDER PATTERN WHY: what must not stand in an #include below FOLDER.
may_not()
{
	local hit

	while read -r hit; do
		found "$hit: $3"
	done < <(files "$1*.c" "$1*.h" | xargs -r grep -H -n -P "^\s*#\s*include\s+$2" || true)
}

# Folders of tests, and how many of their files include more of the software RNIC than its door. test/device tests its floors one
# by one (transport, steering, keys, wires) and is their only user beside the device; test/fuzz gives them to the fuzzer by themselves;
# test/driver executes commands without a mailbox; test/wire writes down what goes between two devices; test/vfu has its
# random numbers from there. Every other test has softrnic.h. A number that is to go up needs a reason.
declare -A behind_the_door=([test/device]=65 [test/driver]=1 [test/fuzz]=13 [test/vfu]=1 [test/wire]=1)

tests_behind_the_door()
{
	local folder count f
	local -A counts=()

	for f in $(files 'test/*.c' 'test/*.h' | xargs -r grep -l -P '^\s*#\s*include\s+["<](?:\.\./)*(?:lib/)?softrnic/(?!softrnic\.h)'); do
		counts[${f%/*}]=$((${counts[${f%/*}]:-0} + 1))
	done
	for folder in $(printf '%s\n' "${!counts[@]}" "${!behind_the_door[@]}" | sort -u); do
		count=${counts[$folder]:-0}
		[ "$count" -le "${behind_the_door[$folder]:-0}" ] ||
			found "$folder: $count files include headers of lib/softrnic beside softrnic.h, and ${behind_the_door[$folder]:-0} may"
		[ "$count" -ge "${behind_the_door[$folder]:-0}" ] ||
			found "$folder: $count files include headers of lib/softrnic beside softrnic.h: say so in behind_the_door"
	done
}

# The floors of the house. Headers of lib/ are known by their names' prefixes or their folders.
check_includes()
{
	local ours='["<](?:\.\./)*(?:[a-z_]+/)*'

	may_not lib/ '["<][^">]*drivers/' 'a library includes nothing of a driver'
	may_not lib/ "${ours}rnic_" 'a library includes nothing of the driver'
	may_not lib/prm/ "${ours}(softrnic|rdmapmd|vfu|roce|rdmo)[^\">]*\.h" \
		'lib/prm knows nobody'
	may_not lib/prm/ '["<](rte_(?!byteorder|common|config)|ethdev_|bus_)' \
		'lib/prm has layouts only'
	may_not lib/rdmapmd/ "${ours}(softrnic|vfu|roce|rdmo)[^\">]*\.h" 'lib/rdmapmd knows nobody'
	may_not lib/softrnic/ "${ours}(rdmapmd|vfu|rdmo)[^\">]*\.h" \
		'lib/softrnic stands on lib/prm alone'
	may_not lib/softrnic/ '["<][^">]*vfio_user/' 'lib/softrnic stands on lib/prm alone'
	may_not lib/vfio_user/ '["<](?:\.\./|[^">]*(?:prm|softrnic|rdmapmd|rdmo|rnic)/)' \
		'lib/vfio_user knows nobody'
	may_not lib/vfio_user/ "${ours}(softrnic|rdmapmd|rnic_|roce|rdmo)[^\">]*\.h" \
		'lib/vfio_user knows nobody'
	may_not lib/vfio_user/ '["<](rte_|ethdev_|bus_)' 'lib/vfio_user knows no DPDK'
	may_not lib/rdmo/ "${ours}(softrnic|vfu|roce)[^\">]*\.h" 'lib/rdmo stands on lib/rdmapmd alone'
	may_not lib/rdmo/ '["<][^">]*(?:prm|softrnic|vfio_user|rnic)/' 'lib/rdmo stands on lib/rdmapmd alone'
	may_not lib/rdmo/ '["<](?:[^">]*/)?rdmapmd_driver\.h' 'lib/rdmo is no driver'
	may_not lib/rdmo/ "[\"<](?:[^\">]*/)?(?:$(files 'lib/rdmapmd/*_private.h' | sed 's|.*/||; s/\./\\./g' | paste -s -d '|'))" \
		"lib/rdmo has lib/rdmapmd's public headers"
	may_not lib/rdmo/ '["<](ethdev_|bus_|dev_driver)' 'lib/rdmo is no driver'
	may_not drivers/ "${ours}rdmo[^\">]*\.h" 'a driver knows nobody that uses it'
	may_not drivers/ '["<][^">]*vfio_user/(?!client\.h)' \
		'client.h is the only door of lib/vfio_user for a driver'
	may_not app/softrnicd/ '["<][^">]*(?:drivers/|rdmapmd/|net/rnic/)' 'the daemon knows no driver'
	may_not app/softrnicd/ "[\"<](?:\.\./)*(?:lib/)?softrnic/(?!softrnic\.h)" \
		'softrnic.h is the only door of the software RNIC'
	may_not lib/softrnic/ '["<](ethdev_|bus_|dev_driver)' \
		'lib/softrnic is no driver'
	may_not drivers/ "[\"<](?:\.\./)*(?:lib/)?softrnic/(?!softrnic\.h)" \
		'softrnic.h is the only door of the software RNIC'
	may_not drivers/ "${ours}softrnic_[^\">]*\.h" \
		'softrnic.h is the only door of the software RNIC'
	tests_behind_the_door
	# A header of lib/softrnic under another name; the system has some of the same.
	local names
	names=$(files 'lib/softrnic/*.h' | sed 's|.*/||' | grep -v -x -F 'softrnic.h' | sort -u |
		comm -23 - <(files 'drivers/*.h' 'lib/prm/*.h' 'lib/rdmapmd/*.h' |
			sed 's|.*/||' | sort -u) | sed 's/\./\\./g' | paste -s -d '|')
	[ -z "$names" ] || may_not drivers/ "[\"<](?!sys/)(?:[^\">]*/)?(?:$names)[\">]" \
		'softrnic.h is the only door of the software RNIC'
}

# is_built_by COMPILER DIR: whether that folder has been configured for gcc, or for clang
is_built_by()
{
	local command is=gcc

	command=$(sed -n -E '/"command"/ { s/^ *"command": "((ccache )?[^ ]+) .*/\1/p; q }' "$2/compile_commands.json")
	# shellcheck disable=SC2086
	! $command -dM -E -x c /dev/null | grep -q __clang__ || is=clang
	[ $is = "$1" ]
}

# is_whole DIR: whether it builds everything, and fails for a warning
is_whole()
{
	local options name

	options=$(meson introspect --buildoptions "$1") || return 1
	for name in werror tests softrnic; do
		grep -q "\"name\": \"$name\", \"value\": true" <<<"$options" || return 1
	done
}

# The options that our sources are compiled with, from a build of ours. gcc's is the one that ./test.sh tests.
configured_build()
{
	local compiler=$1 dir=$root/build-check-$1

	if [ "$compiler" = gcc ]; then
		if [ ! -f "$root/build/build.ninja" ]; then
			CC=gcc setup_build "$root/build" "$root/build/setup-plain.log" || return 1
		fi
		if is_built_by gcc "$root/build" && is_whole "$root/build"; then
			echo "$root/build"
			return 0
		fi
	fi
	if [ ! -f "$dir/build.ninja" ]; then
		CC=$compiler setup_build "$dir" "$root/build/check-setup-$compiler.log" \
			-Dfuzz=false "${@:2}" || return 1
	fi
	echo "$dir"
}

# header_alone COMPILER DIR FLAGS HEADER LOG: not empty afterwards, if it does not compile.
header_alone()
{
	if (cd "$2" && eval "$1" "$3" -fsyntax-only -x c -Wno-unused-function "'$root/$4'") >"$5" 2>&1; then
		: >"$5"
	else
		echo "  $4: does not compile alone ($1)" >>"$5"
	fi
}

# one_more: when fewer jobs are at work than there are CPUs.
one_more()
{
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || true
	done
}

check_headers()
{
	local compiler dir h logs

	logs=$(mktemp -d)
	for compiler in gcc clang; do
		local -A flags=()

		have $compiler $compiler || continue
		dir=$(configured_build $compiler) || { found "cannot configure"; continue; }
		for h in $(files 'lib/*.h' 'drivers/*.h'); do
			# Its folder's sources say with which options it is read.
			[ -n "${flags[${h%/*}]:-}" ] || flags[${h%/*}]=$(flags_of "$dir" "${h%/*}")
			one_more
			header_alone $compiler "$dir" "${flags[${h%/*}]}" "$h" "$logs/$compiler-${h//\//,}" &
		done
	done
	wait
	for h in "$logs"/*; do
		[ -s "$h" ] || continue
		grep -m 5 -E 'error' "$h" >&2 || true
		tail -n 1 "$h" >&2
		status=1
	done
	rm -r "$logs"
}

# flags_of BUILD FOLDER: the options of a source in FOLDER, else above it, else of a driver source.
flags_of()
{
	/usr/bin/python3 - "$1/compile_commands.json" "$2" <<'PYTHON'
import json, os, shlex, sys

commands = json.load(open(sys.argv[1], encoding="utf-8"))
folder = sys.argv[2]


def flags(command):
    words = shlex.split(command)
    # meson puts ccache before the compiler where it finds it.
    words = words[2:] if os.path.basename(words[0]) == "ccache" else words[1:]
    out, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MQ"):
            skip = True
        elif word not in ("-c", "-MD", "-MMD") and not word.endswith(".c"):
            out.append(word)
    return shlex.join(out)


while folder:
    for c in commands:
        if ("/" + folder + "/") in os.path.normpath(os.path.join(c["directory"], c["file"])):
            print(flags(c["command"]))
            sys.exit(0)
    folder = os.path.dirname(folder)
drivers = [c for c in commands if "/drivers/" in c["file"]]
for c in (drivers + commands)[:1]:
    print(flags(c["command"]))
PYTHON
}

# analyze_one FILE FLAGS LOG: what clang's analyzer has to say of it.
analyze_one()
{
	(cd "$dir" && eval clang --analyze --analyzer-output text "$2" -fno-color-diagnostics -o /dev/null "'$1'") >"$3" 2>&1 ||
		echo "$1:0:0: error: not analyzed" >>"$3"
}

# analyzed LOG...: FILE:LINE:MESSAGE, each once.
analyzed()
{
	sed -n -E 's/^([^: ]+):([0-9]+):[0-9]+: (warning|error): (.*)$/\1:\2:\4/p' "$@" | sort -u
}

# What is known to be no defect stands in doc/design/analysis.md, by file and message, with the reason.
check_analyze()
{
	local dir f line said logs known=doc/design/analysis.md
	local -A flags=()

	have clang clang || return 0
	dir=$(configured_build clang) || { found "cannot configure"; return 0; }
	logs=$(mktemp -d)
	# One that is there is found, or else all that follows says nothing.
	echo 'int planted(int *p); int planted(int *p) { return p == 0 ? *p : 0; }' >"$logs/planted.c"
	analyze_one "$logs/planted.c" "$(flags_of "$dir" lib/softrnic)" "$logs/planted.log"
	[ -n "$(analyzed "$logs/planted.log")" ] || found "the analyzer finds nothing in what is wrong"
	rm "$logs"/planted.*
	for f in $(files 'lib/*.c' 'drivers/*.c' 'app/*.c'); do
		[ -n "${flags[${f%/*}]:-}" ] || flags[${f%/*}]=$(flags_of "$dir" "${f%/*}")
		one_more
		analyze_one "$root/$f" "${flags[${f%/*}]}" "$logs/${f//\//,}" &
	done
	wait
	while IFS=: read -r f line said; do
		f=${f#"$root/"}
		f=${f#../}
		grep -q -s -F "| \`$f\` | $said |" "$known" || found "$f:$line: $said"
	done < <(analyzed "$logs"/*)
	rm -r "$logs"
}

check_shell()
{
	have shellcheck shellcheck || return 0
	# shellcheck disable=SC2046
	shellcheck -x $(files '*.sh' .ci/run) >&2 || found "shellcheck"
}

# mutants_of TABLE OPTION...: what would be changed now, and what was when the table was written.
mutants_of()
{
	local mutants=$1 line
	shift

	devtools/mutate.sh "$@" --list >/dev/null ||
		found "devtools/mutate.sh $* has not all that there is to change, or rows that change nothing"
	while read -r line; do
		found "$mutants: ${line:1}: run devtools/mutate.sh $*"
	done < <(diff <(devtools/mutate.sh "$@" --list 2>/dev/null) \
		<(sed -n '/^|---/,$ { /^|---/! s/^\(| [^|]* | [^|]* |\).*/\1/p }' "$mutants") |
		sed -n 's/^</-is not there: /p; s/^>/-is of no use: /p')
}

# Names behind "SUITE: " in a table's third column, or the second of a table of two, are those of tests.
tests_of()
{
	local page=$1 name

	while read -r name; do
		grep -rqE "(^def test_$name\(|^$name\(void)" test || found "$page: there is no test $name"
	done < <(perl -ne 'next unless /^\|/; my @c = split / \| /; for (split /[;,]/, $c[2] // $c[1] // "") {
			s/^\s*(?:[a-z0-9]+(?:-[a-z0-9]+)+:)?\s+//; print "$1\n" if /^([a-z0-9]+(?:_[a-z0-9]+)+)\b/ }' "$page" | sort -u)
}

check_features()
{
	tests_of doc/features/rdma_perf.md
	mutants_of doc/features/mutants.md
	mutants_of doc/features/rdmo_defects.md --rdmo
}

# documents PAGE WORD...: the words stand there.
documents()
{
	local page=$1 word
	shift

	[ $# -gt 0 ] || found "$page: nothing to look for: has the source changed?"
	for word in "$@"; do
		grep -qE "(^|[^a-z_])$word" "$page" || found "$page: no word of $word"
	done
}

check_pages()
{
	local -a keys commands

	mapfile -t keys < <(sed -n '/^#define VALID_KEYS/,/"$/ s/.*"\(.*\)"$/\1/p' drivers/net/rnic/base/devargs.c | tr ' ' '\n')
	mapfile -t commands < <(grep -o '"/rnic/[a-z]*"' drivers/net/rnic/telemetry.c | tr -d '"')
	documents doc/man/net_rnic.7 "${keys[@]/%/=}" "${commands[@]}"
	mapfile -t keys < <(sed -n 's/^\t{ "\([a-z_]*\)", parse_.*/\1/p' app/softrnicd/options.c)
	documents doc/man/softrnicd.8 "${keys[@]/%/=}"
	# Options, and keys of their values; a page has its hyphens as \-.
	mapfile -t keys < <(sed -n -E 's/^\t\{ "([a-z]+)", required_argument.*/\\\\-\\\\-\1/p; s/^\t\{ "([a-z]+)", (log|load)_.*/\1=/p' app/rdmo-worker/options.c)
	documents doc/man/rdmo-worker.8 "${keys[@]}"
	[ "$(options_of rows | wc -l)" -gt 50 ] || found "app/test-rdma-perf/options.c: no rows of options: has the source changed?"
	diff <(options_of rows) <(options_of help) >&2 || found "app/test-rdma-perf: --help (>) has other options than there are (<)"
	diff <(options_of rows) <(options_of page) >&2 || found "doc/man/dpdk-test-rdma-perf.1 (>) has other options than there are (<)"
}

# options_of WHAT: of dpdk-test-rdma-perf, one a line: its command line's (rows), --help's (help), the manual page's (page).
options_of()
{
	case $1 in
	rows) sed -n -E "s/^\t\{ \"([A-Za-z_-]+)\", ('(.)'|0), .*/--\1 -\3/p" app/test-rdma-perf/options.c ;;
	help) sed -n -E 's/^\t"  (-[A-Za-z],|   ) (--[A-Za-z_-]+).*/\1 \2/p' app/test-rdma-perf/options_help.c ;;
	page) sed -n '/^\.TP$/ { n; s/\\f.//g; s/\\-/-/g; s/^\.[A-Z]* //; /^-/p }' doc/man/dpdk-test-rdma-perf.1 ;;
	esac | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z_-]*' | tr -d ' ,' | sort
}

check_rows()
{
	local row

	while read -r row; do
		found "$row"
	done < <(test/fuzz/coverage.py --rows test/fuzz/unreachable.txt 2>&1)
}

check_foreign()
{
	devtools/trace/exercised.py >&2 || found "doc/design/foreign_drivers.md: see devtools/trace/exercised.py --help"
}

# headers_have_sources HEADER...: each says which specification it is from. Our logging is from none.
headers_have_sources()
{
	local f

	for f in "$@"; do
		[ "$f" = lib/vfio_user/log.h ] || grep -q '^ \* Source: ' "$f" ||
			found "$f: no \"Source:\", a specification by section"
	done
}

# READMEs of folders that have more than 150 lines, and how many. None is to be added: depth belongs into doc/.
declare -A long_readmes=()

readmes_are_short()
{
	local f lines

	for f in $(files '*README.md'); do
		lines=$(wc -l <"$f")
		[ "$lines" -le "${long_readmes[$f]:-150}" ] ||
			found "$f: $lines lines, and ${long_readmes[$f]:-150} are allowed: move depth to doc/"
	done
	for f in "${!long_readmes[@]}"; do
		lines=0
		[ ! -f "$f" ] || lines=$(wc -l <"$f")
		[ "$lines" -gt 150 ] || found "$f: is short, or gone: take it out of long_readmes"
	done
}

# Each source and header of our code is named by the nearest README.md above it: by its object, of which x_private.h and
# rdmapmd_x.h are parts.
readmes_name_files()
{
	local f folder name
	local -A texts=()

	for f in $(files 'lib/*.[ch]' 'drivers/*.[ch]' 'app/*.[ch]' 'test/driver/*.[ch]'); do
		folder=${f%/*}
		while [ ! -f "$folder/README.md" ] && [ "$folder" != "${folder%/*}" ]; do
			folder=${folder%/*}
		done
		[ -f "$folder/README.md" ] || folder=${f%/*}
		[ -n "${texts[$folder]:-}" ] || texts[$folder]=" $(cat "$folder/README.md" 2>/dev/null || true) "
		name=${f##*/}
		name=${name%.[ch]}
		name=${name%_private}
		[[ ${texts[$folder]} =~ [^[:alnum:]_](rdmapmd_)?${name#rdmapmd_}(_private)?[^[:alnum:]_] ]] ||
			found "$f: is not named in $folder/README.md"
	done
}

# What a visitor reads first fits beside other windows.
pages_are_narrow()
{
	local f hit

	for f in README.md doc/verified.md; do
		while read -r hit; do
			found "$f:$hit columns, and 120 are allowed"
		done < <(perl -CSD -lne 'print "$.: " . length if length > 120' "$f")
	done
}

check_docs()
{
	local -a headers

	mapfile -t headers < <(public_headers)
	devtools/docstrings.py "${headers[@]}" >&2 || found "public headers do not say these; see devtools/docstrings.py --help"
	headers_have_sources "${headers[@]}"
	readmes_are_short
	readmes_name_files
	pages_are_narrow
}

check_size()
{
	local f line

	for f in $(files '*.c' '*.h' '*.py' '*.sh'); do
		if [ "$(wc -l <"$f")" -gt 800 ]; then
			found "$f: $(wc -l <"$f") lines; look for the second object in it"
		fi
	done
	for f in $(files '*.c'); do
		while read -r line; do
			found "$f:$line"
		done < <(awk '
			/^\{/ { start = FNR }
			/^\}/ && start {
				if (FNR - start - 1 > 60)
					printf "%d: a function of %d lines\n", start, FNR - start - 1
				start = 0
			}' "$f")
	done
}

# test_metal DIR: what is left of the tests without the software RNIC, which takes seconds.
test_metal()
{
	local log=$root/build/check-test-metal.log counts p f s

	say "tests without the software RNIC"
	rm -f "$1/meson-logs/testlog.json"
	PYTHONUNBUFFERED=1 meson test -C "$1" --no-rebuild --num-processes 2 >"$log" 2>&1 || true
	counts=$(devtools/count-tests.py "$1/meson-logs/testlog.json") || {
		found "no tests were run; the log is $log"
		return 0
	}
	read -r p f s <<<"$counts"
	say "$p passed, $f failed, $s skipped"
	if [ "$f" -gt 0 ] || [ "$p" -eq 0 ]; then
		sed -n -E -e '/^(failed|    )/p' <<<"$counts" | head -n 100 >&2
		found "tests fail with -Dsoftrnic=false; the log is $1/meson-logs/testlog.txt"
	fi
}

check_build()
{
	local compiler dir

	for compiler in gcc clang; do
		have $compiler $compiler || continue
		say "build with $compiler"
		dir=$(configured_build $compiler) || { found "cannot configure"; continue; }
		run_build "$dir" "$root/build/check-build-$compiler.log" ||
			found "the build with $compiler fails"
	done
	say "build without the software RNIC"
	dir=$root/build-check-metal
	setup_build "$dir" "$root/build/check-setup-metal.log" -Dfuzz=false -Dsoftrnic=false || found "cannot configure"
	if run_build "$dir" "$root/build/check-build-metal.log"; then
		test_metal "$dir"
	else
		found "the build with -Dsoftrnic=false fails"
	fi
}

# symbols u|d ARCHIVE: what it needs of others, or what it offers.
symbols()
{
	case $1 in
	u) comm -23 <(nm "$2" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u) <(symbols d "$2") ;;
	d) nm --defined-only "$2" 2>/dev/null | awk 'NF == 3 && $2 ~ /[BCDRTVW]/ { print $3 }' | sort -u ;;
	esac
}

# no_link FROM TO [ALLOWED]: FROM uses nothing of TO but what the file ALLOWED names.
no_link()
{
	local symbol

	for symbol in $(comm -12 <(symbols u "$dir/$1") <(symbols d "$dir/$2")); do
		if [ $# -lt 3 ] || ! grep -q -w "$symbol" "$3"; then
			found "$1 uses $symbol of $2"
		fi
	done
}

check_links()
{
	local dir a b archives=(lib/prm/librnic_prm.a lib/vfio_user/libvfio_user.a
		lib/softrnic/libsoftrnic.a lib/rdmo/librdmo.a drivers/net/rnic/librnic.a)

	dir=$(configured_build gcc) || { found "cannot configure"; return 0; }
	run_build "$dir" "$root/build/check-build-gcc.log" || { found "the build with gcc fails"; return 0; }
	for a in "${archives[@]}"; do
		[ "$(symbols d "$dir/$a" | wc -l)" -gt 3 ] || found "$a: not there, or empty"
	done
	# Nobody else's names can be taken for ours, nor ours for theirs; and calls between our files are direct.
	[ -z "$(nm -D --defined-only "$dir/drivers/net/rnic/librte_net_rnic.so")" ] ||
		found "drivers/net/rnic/librte_net_rnic.so exports symbols"
	# The ground knows nobody.
	for a in lib/prm/librnic_prm.a lib/vfio_user/libvfio_user.a; do
		for b in "${archives[@]}"; do
			[ "$a" = "$b" ] || no_link $a "$b"
		done
	done
	# lib/rdmo has lib/rdmapmd, and nobody has it yet.
	for b in "${archives[@]}"; do
		[ "$b" = lib/rdmo/librdmo.a ] || {
			no_link lib/rdmo/librdmo.a "$b"
			no_link "$b" lib/rdmo/librdmo.a
		}
	done
	# Device and driver share lib/prm, and the device's one door.
	no_link lib/softrnic/libsoftrnic.a drivers/net/rnic/librnic.a
	no_link lib/softrnic/libsoftrnic.a lib/vfio_user/libvfio_user.a
	no_link drivers/net/rnic/librnic.a lib/softrnic/libsoftrnic.a lib/softrnic/softrnic.h
	no_link drivers/net/rnic/librnic.a lib/vfio_user/libvfio_user.a lib/vfio_user/client.h
	devtools/circles.py "$dir" >&2 || found "circles, or calls and includes that go up; see devtools/circles.py --help"
}

check_api()
{
	have doxygen doxygen || return 0
	"$root/doc/api/generate.sh" "$root/build/api" || found "doc/api/generate.sh"
}

for tool in git meson ninja pkg-config perl; do
	command -v "$tool" >/dev/null || fail "$tool is missing; packages: ${packages_build[*]}" \
		"${packages_check[*]}"
done
for check in "${checks[@]}"; do
	say "$check"
	"check_$check"
done
if [ $status -ne 0 ]; then
	fail "not clean"
fi
say "clean"
