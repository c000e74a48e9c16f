#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Distributions ship DPDK without the headers that an out-of-tree driver needs (their libraries
# export the symbols). This takes those headers from the source package of exactly the version that
# is installed, by a private apt configuration: the user's own is read and never written.

set -euo pipefail

me=driver-headers
# shellcheck source=devtools/source-package.sh
. "$(dirname "$0")/source-package.sh"

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
		echo "$me: $line" >&2
	done
	echo "$me: DPDK's driver headers could not be had; take ethdev_driver.h," \
	     "bus_vdev_driver.h and the rest from a DPDK source tree of the installed version" \
	     "and name their folder with -Ddpdk_driver_headers=DIR" >&2
	exit 1
}

# What our driver includes; what these include themselves is found below.
roots=(ethdev_driver.h ethdev_vdev.h ethdev_pci.h bus_pci_driver.h bus_vdev_driver.h
	dev_driver.h bus_driver.h)

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
source_package_fetch "$package" "$version" "$work" || fail

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
echo "$me: $(find "$dir" -maxdepth 1 -name '*.h' | wc -l) headers of $stamp in $dir"
