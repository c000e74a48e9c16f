#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The headers of net_mlx5 and common/mlx5, so that its burst functions can be called from outside.

set -euo pipefail

me=mlx5_headers
# shellcheck source=devtools/source-package.sh
. "$(dirname "$0")/../source-package.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/bench/mlx5_headers.sh [--help] DIR

Puts the inner headers of DPDK's net_mlx5 of exactly the installed version into DIR, and beside
them mlx5_autoconf.h, which says what the installed rdma-core offers. They come from the
distribution's source package, by a private apt configuration. mlx5_bench is compiled against them;
nothing of them is ever committed. Does nothing when DIR already holds those of that version.
Needs: libdpdk-dev, libibverbs-dev, dpkg-dev, meson, and package sources that can be reached.

  devtools/bench/mlx5_headers.sh build/devtools/bench/mlx5-headers

Exit code: 0 done, 1 failed, 2 usage.
USAGE
}

fail()
{
	[ $# -eq 0 ] || echo "$me: $*" >&2
	exit 1
}

# make_autoconf TREE WORK: DPDK's questions to the compiler, asked without configuring all of it.
make_autoconf()
{
	local tree=$1 work=$2

	mkdir -p "$work/autoconf"
	{
		cat <<'MESON'
project('autoconf', 'c')
cc = meson.get_compiler('c')
libs = [dependency('libmlx5'), dependency('libibverbs')]
libmtcr_ul_found = false
mlx5_config = configuration_data()
MESON
		sed -n '/^has_member_args = /,/^# Build Glue Library/p' \
			"$tree/drivers/common/mlx5/linux/meson.build"
		echo "configure_file(output: 'mlx5_autoconf.h', configuration: mlx5_config)"
	} >"$work/autoconf/meson.build"
	if ! meson setup "$work/autoconf/build" "$work/autoconf" >"$work/autoconf.log" 2>&1; then
		tail -n 5 "$work/autoconf.log" >&2
		fail "mlx5_autoconf.h cannot be made (apt-get install libibverbs-dev)"
	fi
	# Without these the table was not what was expected, and structs would not match the library.
	grep -q '^#define HAVE_IBV_DEVX_OBJ' "$work/autoconf/build/mlx5_autoconf.h" ||
		fail "mlx5_autoconf.h lacks what net_mlx5 of Debian was built with"
}

source_package_arguments "$@"
source_package_open libdpdk-dev meson pkg-config
make_autoconf "$tree" "$work"

rm -rf "$dir"/*.h "$dir/hws"
mkdir "$dir/hws"
cp "$tree"/drivers/{common,net}/mlx5/{,linux/}*.h "$tree"/drivers/bus/auxiliary/*.h \
	"$tree/lib/eal/linux/include/rte_os_shim.h" "$work/autoconf/build/mlx5_autoconf.h" "$dir/"
cp "$tree"/drivers/net/mlx5/hws/*.h "$dir/hws/"
echo "$stamp" >"$dir/version"
count=$(find "$dir" -name '*.h' -not -path "$work/*" | wc -l)
echo "$me: $count headers of $stamp in $dir"
