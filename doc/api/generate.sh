#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The API reference of lib/rdmapmd and lib/rdmo, from the comments of its public headers.

set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
me=api
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: doc/api/generate.sh [--help] [FOLDER]

Writes the API reference of lib/rdmapmd and lib/rdmo to FOLDER/html/index.html (default build/api). Fails if doxygen has
anything to say of it, or if a public header or a function that is exported is not in it.

Exit code: 0 done, 1 something is wrong or doxygen is missing (apt-get install doxygen), 2 usage.
USAGE
}

case ${1:-} in
-h | --help)
	usage
	exit 0
	;;
-*) usage_error "unknown option $1" ;;
esac
[ $# -le 1 ] || usage_error "one folder at most"
output=$(realpath -m "${1:-$root/build/api}")
libraries=("$root/lib/rdmapmd" "$root/lib/rdmo")

command -v doxygen >/dev/null || fail "doxygen is missing (apt-get install doxygen)"
headers=()
for header in "$root"/lib/rdmapmd/rdmapmd*.h "$root"/lib/rdmo/rdmo*.h; do
	headers+=("$header")
	grep -q -F "'${header##*/}'," "${header%/*}/meson.build" || fail "${header##*/} is public and not installed"
done

rm -rf "$output/html"
mkdir -p "$output"
sed -e "s|@VERSION@|$(cat "$root/VERSION")|" -e "s|@OUTPUT@|$output|" -e "s|@FOLDERS@|${libraries[*]}|" \
	-e "s|@ROOT@|$root|" -e "s|@HEADERS@|${headers[*]}|" "$root/doc/api/Doxyfile.in" >"$output/Doxyfile"
doxygen "$output/Doxyfile" || fail "doxygen failed"

# To doxygen a comment on `int a, b;` is a's alone. That each has one is seen by devtools/docstrings.py.
if grep -v -E 'Member .* \(variable\) of (struct|union) \w+ is not documented\.$' "$output/warnings" >&2; then
	fail "the comments above do not read well"
fi
for header in "${headers[@]}"; do
	grep -q -F "<name>${header##*/}</name>" "$output/rdmapmd.tag" || fail "${header##*/} is not in the reference"
done
# What is exported, and the bursts, which are inline.
for function in $(grep -h -o -P '^\t\t(rdmapmd|rdmo)_\w+(?=;)' "${libraries[@]/%//version.map}") \
	$(grep -h -o -P '^(rdmapmd|rdmo)_\w+(?=\()' "${headers[@]}"); do
	grep -q -F "<name>$function</name>" "$output/rdmapmd.tag" || fail "$function() is not in the reference"
done
say "$output/html/index.html"
