#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What somebody on a fresh machine sees: a minimal Debian, HEAD cloned into it, and the two
# commands. Everything runs in namespaces of its own, so that nothing of it outlives this script.

set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
me=fresh
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

release=bookworm

usage()
{
	cat <<'USAGE'
Usage: devtools/fresh.sh [--suite NAME] [--tree TREE] [--no-hugepages] [--keep] [--cache DIR] [--help] [-- TEST-ARGUMENT...]

Makes a minimal Debian folder with debootstrap from this system's package sources, clones HEAD
into it and runs ./quickstart.sh and ./test.sh there. Fails if DPDK or a package of ours was there
before, if a port's Rx-pps or Tx-pps is zero, or if test.sh does not end with "N passed, 0 failed".
Needs root, debootstrap, git, unshare, and about 4 GB on a disk.

  --suite NAME  Debian's release: bookworm (12, the default), trixie (13)
  --tree TREE   a DPDK source tree of the release's DPDK, for the driver headers; without it they come
                from Debian's source package
  --no-hugepages  leave this system's hugepages alone: what wants some goes without, or uses what is free
  --keep        leave the folder for a look
  --cache DIR   keep the minimal system in DIR, as a tar file, and take it from there
  --            what follows goes to ./test.sh

The folder is made in $RDMAPMD_FRESH_DIR, else in build/fresh. Logs: build/fresh-*.log.
Exit code: 0 all as it should be, 1 not so, 2 usage.

  devtools/fresh.sh
  devtools/fresh.sh --cache /var/cache/rdmapmd -- layout unit
  devtools/fresh.sh --suite trixie -- e2e-frames e2e-rdma
USAGE
}

keep=no
cache=""
tree=""
hugepages_too=yes
test_args=()
while [ $# -gt 0 ]; do
	case $1 in
	--keep) keep=yes ;;
	--no-hugepages) hugepages_too=no ;;
	--suite)
		[[ ${2:-} =~ ^[a-z]+$ ]] || usage_error "--suite needs a release's name"
		release=$2
		shift
		;;
	--tree)
		[ -d "${2:-}/lib" ] || usage_error "--tree needs a source tree of DPDK"
		tree=$(realpath "$2")
		shift
		;;
	--cache)
		[ -n "${2:-}" ] || usage_error "--cache needs a folder"
		cache=$2
		shift
		;;
	-h | --help)
		usage
		exit 0
		;;
	--)
		shift
		test_args=("$@")
		break
		;;
	*) usage_error "unknown argument $1" ;;
	esac
	shift
done

[ "$(id -u)" -eq 0 ] || fail "needs root"
for tool in debootstrap git unshare chroot; do
	command -v $tool >/dev/null || fail "$tool is missing: apt-get install $tool"
done

logs=$root/build
base=${RDMAPMD_FRESH_DIR:-$root/build/fresh}
mkdir -p "$logs" "$base"
case $(stat -f -c %T "$base") in
tmpfs | ramfs) fail "$base is in memory: set RDMAPMD_FRESH_DIR to a folder on a disk" ;;
esac
folder=$(mktemp -d "$base/debian.XXXXXX")
chmod 755 "$folder"

clean_up()
{
	# The namespace took its mounts with it; what is mounted here would be somebody else's.
	if grep -q " $folder" /proc/mounts; then
		say "something is mounted below $folder: left as it is"
	elif [ $keep = yes ]; then
		say "left for a look: $folder"
	else
		rm -rf --one-file-system "$folder"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# This system's apt sources, for the release that we want. Prints "FORMAT<TAB>FILE".
sources()
{
	local f

	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		/etc/apt/sources.list.d/*.sources; do
		if [ -s "$f" ] && grep -q debian "$f"; then
			echo "$f"
		fi
	done
}

# The mirror that has the release itself, neither its updates nor its security fixes.
mirror()
{
	local host=$1 f

	for f in $(sources); do
		case $f in
		*.sources)
			grep -v '^#' "$f" | awk -v suite="$host" '
				BEGIN { RS = ""; FS = "\n" }
				{
					uri = ""
					has = 0
					for (i = 1; i <= NF; i++) {
						n = split($i, w, /[ \t]+/)
						if (tolower(w[1]) == "uris:")
							uri = w[2]
						if (tolower(w[1]) == "suites:")
							for (j = 2; j <= n; j++)
								has += w[j] == suite
					}
					if (has)
						print uri
				}'
			;;
		*)
			sed -n -E "s/^deb +(\[[^]]*\] +)?([^ ]+) +$host +.*/\2/p" "$f"
			;;
		esac
	done | head -n 1
}

make_system()
{
	local from host archive=${cache:+$cache/$release-minbase.tar}

	# shellcheck disable=SC1091
	host=$(. /etc/os-release && echo "$VERSION_CODENAME")
	if [ -n "$archive" ] && [ -f "$archive" ]; then
		say "the minimal Debian ($release) comes from $archive"
		tar -C "$folder" -xpf "$archive"
	else
		from=$(mirror "$host")
		[ -n "$from" ] || fail "no package source of $host found in /etc/apt"
		say "making a minimal Debian ($release) in $folder"
		debootstrap --variant=minbase "$release" "$folder" "$from" \
			>"$logs/fresh-debootstrap.log" 2>&1 || {
			tail -n 10 "$logs/fresh-debootstrap.log" >&2
			fail "debootstrap failed; the log is $logs/fresh-debootstrap.log"
		}
		if [ -n "$archive" ]; then
			mkdir -p "$cache"
			tar -C "$folder" -cpf "$archive.new" .
			mv "$archive.new" "$archive"
		fi
	fi

	# Packages come from where this system has them.
	local f
	: >"$folder/etc/apt/sources.list"
	for f in $(sources); do
		sed "s/\b$host\b/$release/g" "$f" >"$folder${f/sources.list.d\//sources.list.d/host-}"
	done
	if [ -d /etc/apt/keyrings ]; then
		cp -r /etc/apt/keyrings "$folder/etc/apt/"
	fi
	if compgen -G '/usr/share/keyrings/*' >/dev/null; then
		cp -n /usr/share/keyrings/* "$folder/usr/share/keyrings/"
	fi
	if compgen -G '/etc/apt/trusted.gpg.d/*' >/dev/null; then
		cp -n /etc/apt/trusted.gpg.d/* "$folder/etc/apt/trusted.gpg.d/"
	fi
	# How to reach them: proxies, retries; no other habit of this system.
	apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|Check-|ForceIPv)' \
		>"$folder/etc/apt/apt.conf.d/99host" || true
	cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
}

# A fresh machine has nothing of ours: else the test would not see what we forgot to install.
check_fresh()
{
	local found

	# shellcheck disable=SC2016
	found=$(chroot "$folder" dpkg-query -W -f '${Package}\n' |
		grep -x -E -e 'dpdk.*|libdpdk.*|librte-.*' \
			-e "$(printf '%s|' "${packages_build[@]}" "${packages_run[@]}" \
				"${packages_test[@]}" "${packages_guest[@]}" | sed 's/|$//; s/[.+]/\\&/g')" | tr '\n' ' ' || true)
	[ -z "$found" ] || fail "not a fresh system, it has: $found"
	say "no DPDK and none of our packages there yet"
}

# inside COMMAND...: in the folder, with mounts and processes that end with it.
inside()
{
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child --propagation private /bin/bash -c '
		set -euo pipefail
		cd "$1"
		if [ "$2" = no ]; then
			pool=proc/sys/vm/nr_hugepages
		fi
		shift 2
		mount -t proc proc proc
		if [ -n "${pool:-}" ]; then
			mount --bind $pool $pool
			mount -o remount,bind,ro $pool
		fi
		mount -t sysfs sysfs sys
		mount -t tmpfs -o mode=755 dev dev
		mkdir dev/net
		for node in null zero full random urandom tty fuse net/tun; do
			[ -e /dev/$node ] || continue
			touch dev/$node
			mount --bind /dev/$node dev/$node
		done
		ln -s /proc/self/fd dev/fd
		ln -s /proc/self/fd/0 dev/stdin
		ln -s /proc/self/fd/1 dev/stdout
		ln -s /proc/self/fd/2 dev/stderr
		mkdir dev/shm dev/pts
		mount -t tmpfs -o mode=1777 shm dev/shm
		mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
		ln -s pts/ptmx dev/ptmx
		exec chroot . /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb ${RDMAPMD_DPDK_TREE:+RDMAPMD_DPDK_TREE=/opt/dpdk} \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			/bin/bash -c "cd /opt/rdmapmd && exec \"\$@\"" bash "$@"
	' bash "$folder" "$hugepages_too" "$@"
}

make_system
check_fresh
git clone -q --no-hardlinks "$root" "$folder/opt/rdmapmd"
unset RDMAPMD_DPDK_TREE
if [ -n "$tree" ]; then
	export RDMAPMD_DPDK_TREE=$tree
	mkdir -p "$folder/opt/dpdk/drivers"
	cp -r "$tree/VERSION" "$tree/lib" "$folder/opt/dpdk/"
	cp -r "$tree/drivers/bus" "$folder/opt/dpdk/drivers/"
fi
say "HEAD is $(git -C "$root" log -1 --format='%h %s')"

say "./quickstart.sh"
inside ./quickstart.sh 2>&1 | tee "$logs/fresh-quickstart.log" || fail "quickstart.sh failed"
awk '/ port [01] / { n++; if ($4 == 0 || $6 == 0) zero = 1 } END { exit zero || n != 2 }' \
	"$logs/fresh-quickstart.log" || fail "quickstart.sh: a rate is zero, or not two ports"
inside ./quickstart.sh --undo

say "./test.sh ${test_args[*]}"
status=0
inside ./test.sh "${test_args[@]}" 2>&1 | tee "$logs/fresh-test.log" || status=1
last=$(tail -n 1 "$logs/fresh-test.log")
if [ $status -ne 0 ] || ! [[ $last =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]]; then
	keep=yes
	fail "test.sh ended with: $last"
fi
say "a fresh Debian ($release) shows what it should: $last"
