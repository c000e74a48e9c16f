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
Usage: devtools/driver-headers.sh [--help] [--tree TREE] DIR

Puts DPDK's driver headers (ethdev_driver.h, bus_vdev_driver.h, ...) of the installed
libdpdk-dev into DIR. Does nothing when DIR already holds those of that version.
Needs: libdpdk-dev and dpkg-dev installed, and package sources that can be reached.

  --tree TREE    take them from this source tree of DPDK, whose release must be the installed one's

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
	echo "$me: DPDK's driver headers could not be had; with a DPDK source tree of the installed release:" \
	     "devtools/driver-headers.sh --tree TREE DIR, then meson setup -Ddpdk_driver_headers=DIR;" \
	     "quickstart.sh and test.sh find it in \$RDMAPMD_DPDK_TREE" >&2
	exit 1
}

# What our driver includes; what these include themselves is found below.
roots=(ethdev_driver.h ethdev_vdev.h ethdev_pci.h bus_pci_driver.h bus_vdev_driver.h
	dev_driver.h bus_driver.h)

# A release is a year and a month: its driver headers and structs stay as they are in what is mended later.
check_release()
{
	local named installed

	named=$(cut -d . -f 1,2 "$tree/VERSION" 2>/dev/null) || fail "$tree has no file VERSION"
	installed=$(pkg-config --modversion libdpdk | cut -d . -f 1,2)
	[ "$named" = "$installed" ] || fail "$tree is DPDK $named, and $installed is installed"
}

# Find the name of the folder which has header $1 below the source tree $2. Other systems' have names of libc's.
find_header()
{
	find "$2/lib" "$2/drivers/bus" -name "$1" -type f -not -path '*/windows/*' -not -path '*/freebsd/*' |
		sort | head -n 1
}

source_package_arguments "$@"
source_package_open libdpdk-dev pkg-config
if [ "$tree" != "$work/tree" ]; then
	check_release
fi

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
	path=$(find_header "$header" "$tree")
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
