# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# What quickstart.sh, test.sh and the scripts in here share: packages, builds, hugepages.
# Source it with $root set to the root of the sources and $me to the name for messages.

# Packages by what needs them, Debian 12's names. The one list: the README and CI point here.
packages_build=(gcc libc6-dev meson ninja-build pkg-config dpkg-dev
	libdpdk-dev libpcap-dev libjansson-dev libisal-dev libseccomp-dev)
packages_run=(dpdk-dev libhugetlbfs-bin)
# libsystemd-dev: static DPDK programs link with it, by libpcap's and dbus' lists, which do not depend on it.
packages_test=(libcmocka-dev python3-pytest python3-scapy clang libclang-rt-dev lld llvm make
	libsystemd-dev iproute2 tshark)
# For virtual machines (devtools/guest/); QEMU and their kernels are unpacked into a cache, not installed. libibverbs-dev: for
# programs of guests that talk with us by Linux' verbs; nothing else is linked with it. ibverbs-utils: ibv_*_pingpong.
packages_guest=(busybox-static kmod zstd ethtool libibverbs-dev ibverbs-utils)
packages_check=(git clang clang-format doxygen shellcheck)

hugepages=/proc/sys/vm/nr_hugepages
hugepages_more=/proc/sys/vm/nr_overcommit_hugepages # that the kernel would add to them

say()
{
	echo "$me: $*"
}

# Say what is wrong, and exit 1.
fail()
{
	echo "$me: $*" >&2
	exit 1
}

# Say what is wrong with the command line, and exit 2.
usage_error()
{
	echo "$me: $* (see --help)" >&2
	exit 2
}

missing_packages()
{
	local package
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || echo "$package"
	done
}

# need_packages YES|NO LOG PACKAGE...: install what is missing, or only name it.
need_packages()
{
	local install=$1 log=$2 command
	local -a missing
	shift 2

	command -v dpkg-query >/dev/null ||
		fail "not a Debian-like system: install the equivalents of: $*; then use --no-install"
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	command="apt-get install -y --no-install-recommends ${missing[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		command="sudo $command"
	fi
	if [ "$install" = no ]; then
		fail "missing packages; install them with: $command"
	fi
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		fail "missing packages, and neither root nor sudo here; as root: ${command#sudo }"
	fi
	say "installing what is missing: $command"
	local -a as_root=(env DEBIAN_FRONTEND=noninteractive)
	if [ "$(id -u)" -ne 0 ]; then
		as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
	fi
	mkdir -p "$(dirname "$log")"
	if ! { "${as_root[@]}" apt-get -q update &&
		"${as_root[@]}" apt-get -q install -y --no-install-recommends "${missing[@]}"; } \
		>"$log" 2>&1; then
		tail -n 15 "$log" >&2
		fail "the installation failed; the whole log is $log"
	fi
}

# The folder with DPDK's driver headers that build/ was configured with; nothing if it has its own.
named_headers()
{
	[ -f "$root/build/build.ninja" ] || return 0
	meson introspect --buildoptions "$root/build" |
		sed -n 's/.*"name": "dpdk_driver_headers", "value": "\([^"]*\)".*/\1/p'
}

# setup_build DIR LOG [MESON ARGUMENT...]: configure once, and again when DPDK was upgraded.
setup_build()
{
	local dir=$1 log=$2 headers=""
	local -a how=()
	shift 2

	mkdir -p "$(dirname "$log")"
	if [ -n "${RDMAPMD_DPDK_TREE:-}" ]; then
		"$root/devtools/driver-headers.sh" --tree "$RDMAPMD_DPDK_TREE" "$root/build/driver-headers" || exit 1
	fi
	# One fetch of the driver headers serves all builds.
	if [ "$dir" != "$root/build" ]; then
		headers=$(named_headers)
		if [ -z "$headers" ] && [ -f "$root/build/driver-headers/version" ]; then
			headers=$root/build/driver-headers
		fi
	fi
	if [ -f "$root/build/driver-headers/version" ]; then
		"$root/devtools/driver-headers.sh" "$root/build/driver-headers" || exit 1
	fi
	if [ -f "$dir/build.ninja" ]; then
		if [ "$(pkg-config --modversion libdpdk)" = "$(cat "$dir/dpdk-version" 2>/dev/null)" ]
		then
			return 0
		fi
		how=(--wipe)
	fi
	if ! meson setup "${how[@]}" "$dir" "$root" \
		${headers:+-Ddpdk_driver_headers="$headers"} "$@" >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "$me: configuring $dir failed; the log is $log" >&2
		return 1
	fi
	pkg-config --modversion libdpdk >"$dir/dpdk-version"
}

# run_build DIR LOG [TARGET...]: compile these, or everything.
run_build()
{
	local dir=$1 log=$2
	shift 2

	if ! ninja -C "$dir" "$@" >"$log" 2>&1; then
		grep -E -A 12 'FAILED|error:' "$log" | head -n 60 >&2
		echo "$me: the build in $dir failed; the log is $log" >&2
		return 1
	fi
}

hugepages_free()
{
	sed -n 's/^HugePages_Free: *//p' /proc/meminfo
}

hugepages_are_2mib()
{
	grep -q '^Hugepagesize: *2048 kB' /proc/meminfo
}

# The pool: pages, and how many more the kernel would add.
hugepages_pool()
{
	echo "$(cat "$hugepages") $(cat "$hugepages_more")"
}

# hugepages_write PAGES MORE: more may already be what it is to be, where it cannot be written.
hugepages_write()
{
	echo "$1" >"$hugepages" 2>/dev/null || return 1
	[ "$(cat "$hugepages_more")" = "$2" ] || echo "$2" >"$hugepages_more"
}

# A container's root has not the pool to himself. rdmapmd-setup looks for the same.
container_marks=(/.dockerenv /run/.containerenv /run/systemd/container)
is_container()
{
	local mark

	for mark in "${container_marks[@]}"; do
		[ ! -e "$mark" ] || return 0
	done
	return 1
}

# hugepages_add COUNT: by hugeadm, where it is and can; what that has not added when it fails, by hand. It ends well with too few, too: what
# came is for the caller to read.
hugepages_add()
{
	local wanted=$(($(cat "$hugepages") + $1))

	if [ "$(id -u)" -eq 0 ] && command -v hugeadm >/dev/null && ! is_container &&
		hugeadm --pool-pages-min "2MB:+$1" >/dev/null 2>&1; then
		return 0
	fi
	[ "$(cat "$hugepages")" -ge "$wanted" ] || echo "$wanted" 2>/dev/null >"$hugepages" || true
}

# hugepages_reserve COUNT: have so many free 2 MiB pages. Prints the pool as it was and as it is, "OLD MORE NEW MORE", when it
# changed it. Fails, without a word, where that cannot be had.
hugepages_reserve()
{
	local want=$1 free old

	hugepages_are_2mib || return 1
	free=$(hugepages_free)
	[ "$free" -lt "$want" ] || return 0
	[ -w "$hugepages" ] || return 1
	old=$(hugepages_pool)
	hugepages_add $((want - free))
	if [ "$(hugepages_free)" -lt "$want" ]; then
		# shellcheck disable=SC2086
		hugepages_write $old
		return 1
	fi
	echo "$old $(hugepages_pool)"
}

# hugepages_record FILE: what hugepages_reserve() has printed. That of an earlier version has pages alone: OLD NEW.
hugepages_record()
{
	local -a had

	read -r -a had <"$1"
	if [ ${#had[@]} -eq 2 ]; then
		had=("${had[0]}" "$(cat "$hugepages_more")" "${had[1]}" "$(cat "$hugepages_more")")
	fi
	echo "${had[*]}"
}

# hugepages_give_back OLD MORE NEW MORE: unless somebody else has changed the pool since.
hugepages_give_back()
{
	[ "$(hugepages_pool)" = "$3 $4" ] && [ -w "$hugepages" ] && hugepages_write "$1" "$2"
}
