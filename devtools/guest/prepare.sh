#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# QEMU, kernels and RDMA's user space for guests, unpacked into a cache: nothing is installed, and root is not needed.
# Packages come by a private apt configuration: the user's own is read and never written.

set -euo pipefail

me=prepare-guest
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/source-package.sh
. "$here/../source-package.sh"

# Where depmod is, and a user's PATH often does not lead.
PATH=$PATH:/usr/sbin:/sbin
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
all=(qemu 6.1 6.1-cloud 6.12 verbs)
# Of the thing verbs: what is wanted, and what that is linked with.
verbs=(libibverbs1 ibverbs-providers ibverbs-utils librdmacm1 rdmacm-utils perftest iproute2
	libbpf1 libbsd0 libc6 libcap2 libelf1 libgcc-s1 libibumad3 libmd0 libmnl0 libnl-3-200
	libnl-route-3-200 libpci3 libudev1 zlib1g)

usage()
{
	cat <<'USAGE'
Usage: devtools/guest/prepare.sh [--update] [--help] [THING...]

Has QEMU (with vfio-user-pci), Debian's kernels and the programs of RDMA's user space (rdma-core, perftest, iproute2)
for guests in the cache, and prints a line for each: its name, version and folder. THING is qemu, 6.1, 6.1-cloud, 6.12
or verbs; all of them by default. What is there already is not looked for again, unless --update is given; newer
versions get folders of their own.

The cache is $XDG_CACHE_HOME/rdmapmd/guest (~/.cache/rdmapmd/guest), about 1 GB.
Needs: apt with a Debian mirror in its sources that can be reached, dpkg-deb, depmod, python3, zstd.

Exit code: 0 done, 1 failed, 2 usage.
USAGE
}

fail()
{
	echo "$me: $*" >&2
	exit 1
}

update=no
things=()
while [ $# -gt 0 ]; do
	case $1 in
	--update) update=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	qemu | 6.1 | 6.1-cloud | 6.12 | verbs) things+=("$1") ;;
	*)
		usage >&2
		exit 2
		;;
	esac
	shift
done
[ ${#things[@]} -gt 0 ] || things=("${all[@]}")

cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdmapmd/guest
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

# A link with the thing's name leads to its version's folder, once that is whole.
all_there()
{
	local thing

	for thing in "${things[@]}"; do
		[ -e "$cache/$thing/version" ] || return 1
	done
}

show()
{
	local thing

	for thing in "${things[@]}"; do
		echo "$thing $(cat "$cache/$thing/version") $(readlink -f "$cache/$thing")"
	done
}

work=""
clean_up()
{
	[ -z "$work" ] || rm -rf "$work"
}

# ---- Packages ----

apt_options=()

# run_apt COMMAND ARGUMENT...: apt-get or apt-cache, with the private configuration
run_apt()
{
	local command=$1

	shift
	"$command" -q "${apt_options[@]}" "$@"
}

# The mirror that the user's own sources name, with the releases that have what we want.
prepare_apt()
{
	local etc mirror

	mkdir -p "$work"/{etc,lists/partial,cache/archives/partial}
	: >"$work/status"
	etc=/$(apt-config dump 2>/dev/null | sed -n 's/^Dir::Etc "\(.*\)";$/\1/p')
	private_sources "${etc/#\/\//\/}" "$work/etc"
	find "$work/etc" -name 'private.*' -exec sed -i -E 's/^(Types: )?deb-src/\1deb/' {} +
	# The sandbox user of apt could not enter our folder; downloads are verified all the same.
	apt_options=(-o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work/etc"
		-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
		-o "Dir::State::status=$work/status" -o "APT::Sandbox::User=$(id -un)"
		-o "Debug::NoLocking=true" -o "Acquire::Retries=2" -o "Acquire::Languages=none"
		-o "Acquire::http::Timeout=20" -o "Acquire::https::Timeout=20")
	run_apt apt-get update >"$work/update.log" 2>&1 || true
	# shellcheck disable=SC2016
	run_apt apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' | sed -n -E 's/^Debian ([a-z-]+) (.*)$/\2 \1/p' >"$work/suites"
	mirror=$(awk '$2 !~ /-/ { print $1; exit }' "$work/suites")
	if [ -z "$mirror" ]; then
		tail -n 3 "$work/update.log" >&2
		fail "no Debian mirror that can be reached among apt's sources"
	fi
	rm -f "$work"/etc/private.*
	printf '%s\n' "$mirror "{bookworm,trixie,forky} | sort -u - "$work/suites" |
		sed "s|.*|deb [signed-by=$keyring] & main|" >"$work/etc/debian.list"
	if ! run_apt apt-get update >"$work/update.log" 2>&1; then
		grep -E '^(E|Err)' "$work/update.log" >&2 || true
	fi
}

# unpack FOLDER PACKAGE.deb...
unpack()
{
	local folder=$1 package

	shift
	mkdir -p "$folder"
	for package in "$@"; do
		dpkg-deb -x "$package" "$folder" || fail "cannot unpack ${package##*/}"
	done
	rm -rf "$folder"/usr/share/{doc,man,locale,bug,lintian}
}

# put THING VERSION FOLDER: the folder gets its name; the link changes in one step.
put()
{
	local thing=$1 version=$2 folder=$3 name

	name=$thing-${version//[^0-9A-Za-z.+~-]/_}
	echo "$version" >"$folder/version"
	rm -rf "${cache:?}/$name"
	mv "$folder" "$cache/$name"
	ln -s "$name" "$work/link"
	mv -T "$work/link" "$cache/$thing"
}

# is_put THING VERSION: has the link that version already?
is_put()
{
	[ "$(cat "$cache/$1/version" 2>/dev/null)" = "$2" ]
}

# version_of PACKAGE PREFIX: the newest of its versions that begin so
version_of()
{
	run_apt apt-cache madison "$1" | awk -F ' *\\| *' -v prefix="$2" \
		'index($2, prefix) == 1 { print $2 }' | sort -V | tail -n 1
}

get_qemu()
{
	local version

	# The first with the vfio-user-pci device is 10.1.
	version=$(version_of qemu-system-x86 1:)
	[ -n "$version" ] || fail "no qemu-system-x86 on this mirror"
	! is_put qemu "$version" || return 0
	echo "$me: fetching QEMU $version"
	if ! run_apt apt-get install -y --download-only --no-install-recommends -t forky \
		"qemu-system-x86=$version" >"$work/qemu.log" 2>&1; then
		tail -n 5 "$work/qemu.log" >&2
		fail "QEMU $version is not available"
	fi
	unpack "$work/qemu" "$work"/cache/archives/*.deb
	rm -f "$work"/cache/archives/*.deb
	put qemu "$version" "$work/qemu"
}

# get_kernel THING PACKAGE SERIES
get_kernel()
{
	local thing=$1 meta=$2 series=$3 folder=$work/$1 version package release

	version=$(version_of "$meta" "$series.")
	[ -n "$version" ] || fail "no $meta $series on this mirror"
	! is_put "$thing" "$version" || return 0
	package=$(run_apt apt-cache show "$meta=$version" |
		sed -n -E 's/^Depends: *(linux-image-[^ ,]+).*/\1/p' | head -n 1)
	echo "$me: fetching $package $version"
	mkdir -p "$work/$thing.deb"
	if ! (cd "$work/$thing.deb" && run_apt apt-get download "$package=$version") \
		>"$work/$thing.log" 2>&1; then
		tail -n 5 "$work/$thing.log" >&2
		fail "$package $version is not available"
	fi
	unpack "$folder" "$work/$thing.deb"/*.deb
	# Newer packages have merged /usr.
	if [ ! -e "$folder/lib" ]; then
		ln -s usr/lib "$folder/lib"
	fi
	release=$(cd "$folder/lib/modules" && echo *)
	depmod -b "$folder" "$release" || fail "no list of dependencies for the modules of $release"
	# A quarter of the time to boot, as nothing is to be decompressed under emulation.
	python3 "$here/vmlinux.py" "$folder/boot/vmlinuz-$release" "$folder/vmlinux" ||
		fail "the kernel $release does not unpack"
	rm -rf "${folder:?}/boot"
	echo "$release" >"$folder/release"
	put "$thing" "$version" "$folder"
}

# Debian 12's, with the C library that they are made for: a root folder of their own.
get_verbs()
{
	local version

	version=$(version_of libibverbs1 44.)
	[ -n "$version" ] || fail "no libibverbs1 44 on this mirror"
	mkdir -p "$work/verbs.deb"
	# Each line has an address, a file's name, which says its version, and more.
	if ! run_apt apt-get download -t bookworm --print-uris "${verbs[@]}" \
		>"$work/verbs.uris" 2>"$work/verbs.log"; then
		tail -n 5 "$work/verbs.log" >&2
		fail "verbs' programs are not available"
	fi
	awk '/^\047/ { print $2 }' "$work/verbs.uris" | sort >"$work/verbs.packages"
	! is_put verbs "$version" || ! cmp -s "$work/verbs.packages" "$cache/verbs/packages" ||
		return 0
	echo "$me: fetching rdma-core $version, with what goes with it"
	if ! (cd "$work/verbs.deb" && run_apt apt-get download -t bookworm "${verbs[@]}") \
		>"$work/verbs.log" 2>&1; then
		tail -n 5 "$work/verbs.log" >&2
		fail "rdma-core $version is not available"
	fi
	unpack "$work/verbs" "$work/verbs.deb"/*.deb
	rm -rf "$work"/verbs/usr/lib/*/gconv
	mv "$work/verbs.packages" "$work/verbs/packages"
	put verbs "$version" "$work/verbs"
}

# ---- The order of things ----

if [ $update = no ] && all_there; then
	show
	exit 0
fi
for tool in apt-get dpkg-deb depmod python3 zstd; do
	command -v "$tool" >/dev/null || fail "$tool is missing"
done
exec 9>"$cache/lock"
flock 9
if [ $update = no ] && all_there; then
	show
	exit 0
fi
# Of those that were interrupted: whoever works has the lock.
rm -rf "$cache"/work.*
work=$(mktemp -d "$cache/work.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

prepare_apt
for thing in "${things[@]}"; do
	case $thing in
	qemu) get_qemu ;;
	6.1 | 6.12) get_kernel "$thing" linux-image-amd64 "$thing" ;;
	6.1-cloud) get_kernel "$thing" linux-image-cloud-amd64 6.1 ;;
	verbs) get_verbs ;;
	esac
done
show
