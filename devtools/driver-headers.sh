#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Distributions ship DPDK without the headers that an out-of-tree driver needs (their libraries
# export the symbols). This takes those headers from the source package of exactly the version that
# is installed, by a private apt configuration: the user's own is read and never written.

set -euo pipefail

usage()
{
	cat <<'USAGE'
Usage: devtools/driver-headers.sh [--help] DIR

Puts DPDK's driver headers (ethdev_driver.h, bus_vdev_driver.h, ...) of the installed
libdpdk-dev into DIR. Does nothing when DIR already holds those of that version.
Needs: libdpdk-dev and dpkg-dev installed, and package sources that can be reached.

  devtools/driver-headers.sh build/driver-headers
  meson setup build -Ddpdk_driver_headers=$PWD/build/driver-headers

Exit code: 0 done, 1 failed, 2 usage.
USAGE
}

fail()
{
	local line
	for line in "$@"; do
		echo "driver-headers: $line" >&2
	done
	echo "driver-headers: DPDK's driver headers could not be had; take ethdev_driver.h," \
	     "bus_vdev_driver.h and the rest from a DPDK source tree of the installed version" \
	     "and name their folder with -Ddpdk_driver_headers=DIR" >&2
	exit 1
}

# What our driver includes; what these include themselves is found below.
roots=(ethdev_driver.h ethdev_vdev.h ethdev_pci.h bus_pci_driver.h bus_vdev_driver.h
	dev_driver.h bus_driver.h)

# Print the system's apt sources as one list of deb-src entries, in FILE.sources and FILE.list.
private_sources()
{
	local etc=$1 out=$2 f
	local -a deb822=() oneline=()

	[ -f "$etc/sources.list" ] && oneline+=("$etc/sources.list")
	for f in "$etc"/sources.list.d/*; do
		case $f in
		*.sources) deb822+=("$f") ;;
		*.list) oneline+=("$f") ;;
		esac
	done

	if [ ${#deb822[@]} -gt 0 ]; then
		# A stanza each; comments go, disabled stanzas go, Types becomes deb-src.
		for f in "${deb822[@]}"; do
			grep -v '^#' "$f" | awk '
				BEGIN { RS = ""; FS = "\n" }
				tolower($0) ~ /(^|\n)enabled:[ \t]*(no|false|off|0)/ { next }
				{
					for (i = 1; i <= NF; i++)
						print (tolower($i) ~ /^types:/) ? "Types: deb-src" : $i
					print ""
				}' || true
		done >"$out/private.sources"
	fi
	if [ ${#oneline[@]} -gt 0 ]; then
		sed -n -E 's/^[[:space:]]*deb(-src)?[[:space:]]+/deb-src /p' "${oneline[@]}" |
			sort -u >"$out/private.list"
	fi
}

# Find the name of the folder which has header $1 below the source tree $2.
find_header()
{
	find "$2/lib" "$2/drivers/bus" -name "$1" -type f | sort | head -n 1
}

case ${1:-} in
-h | --help)
	usage
	exit 0
	;;
esac
if [ $# -ne 1 ] || [[ $1 == -* ]]; then
	usage >&2
	exit 2
fi
dir=$1

for tool in dpkg-query apt-get; do
	command -v "$tool" >/dev/null || fail "no $tool here: not a Debian-like system"
done
read -r package version < <(dpkg-query -W -f '${source:Package} ${source:Version}\n' \
	libdpdk-dev 2>/dev/null) || fail "libdpdk-dev is not installed (apt-get install libdpdk-dev)"
stamp="$package $version"

if [ "$(cat "$dir/version" 2>/dev/null)" = "$stamp" ]; then
	exit 0
fi
command -v dpkg-source >/dev/null ||
	fail "dpkg-source is missing (apt-get install dpkg-dev)"

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
work=$(mktemp -d "$dir/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/etc" "$work/lists/partial" "$work/cache/archives/partial" "$work/src"

etc=/$(apt-config dump 2>/dev/null | sed -n 's/^Dir::Etc "\(.*\)";$/\1/p')
private_sources "${etc/#\/\//\/}" "$work/etc"

# The sandbox user of apt could not enter our folder; downloads are verified all the same.
apt=(apt-get -q -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work/etc"
	-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
	-o "APT::Sandbox::User=$(id -un)" -o "Acquire::Retries=3")

echo "driver-headers: fetching the source of $stamp"
# A third party's source without deb-src makes update fail; what counts is whether ours is there.
"${apt[@]}" update >"$work/update.log" 2>&1 || true
if ! (cd "$work/src" && "${apt[@]}" source --download-only "$package=$version") \
	>"$work/source.log" 2>&1; then
	tail -n 5 "$work/update.log" "$work/source.log" >&2
	fail "no package source has the source of $stamp" \
	     "(if the installed version is an older one: apt-get update, then upgrade libdpdk-dev)"
fi
dpkg-source --no-check -x "$work"/src/*.dsc "$work/tree" >"$work/extract.log" 2>&1 ||
	fail "the source of $stamp does not unpack: $(tail -n 1 "$work/extract.log")"

# Headers which the package installs need no copy, so that both always agree.
read -r -a installed < <(pkg-config --cflags-only-I libdpdk | sed 's/-I//g')
queue=("${roots[@]}")
declare -A seen=()
mkdir -p "$work/out"
while [ ${#queue[@]} -gt 0 ]; do
	header=${queue[0]}
	queue=("${queue[@]:1}")
	[ -z "${seen[$header]:-}" ] || continue
	seen[$header]=1
	for i in "${installed[@]}"; do
		[ ! -f "$i/$header" ] || continue 2
	done
	path=$(find_header "$header" "$work/tree")
	# Not DPDK's: a header of libc or of another library.
	[ -n "$path" ] || continue
	cp "$path" "$work/out/"
	while read -r header; do
		queue+=("$header")
	done < <(sed -n -E 's/^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\/]+)[>"].*/\1/p' "$path")
done
for header in "${roots[@]}"; do
	[ -f "$work/out/$header" ] || [ -n "$(find "${installed[@]}" -maxdepth 1 -name "$header")" ] ||
		fail "the source of $stamp has no $header"
done

rm -f "$dir"/*.h
mv "$work"/out/*.h "$dir/"
echo "$stamp" >"$dir/version"
echo "driver-headers: $(find "$dir" -maxdepth 1 -name '*.h' | wc -l) headers of $stamp in $dir"
