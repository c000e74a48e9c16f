# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# Headers out of the source package of what is installed, which is had by a private apt configuration: the user's
# own is read and never written. Source it with $me set to the name for messages, and with functions usage and fail.

# source_package_arguments [--tree TREE] DIR: sets $dir, and $tree if a source was named.
source_package_arguments()
{
	tree=""
	case ${1:-} in
	-h | --help)
		usage
		exit 0
		;;
	--tree)
		tree=${2:-}
		shift $(($# < 2 ? $# : 2))
		if [ ! -d "$tree/lib" ]; then
			echo "$me: --tree needs a source tree of DPDK" >&2
			exit 2
		fi
		tree=$(cd "$tree" && pwd)
		;;
	esac
	if [ $# -ne 1 ] || [[ $1 == -* ]]; then
		usage >&2
		exit 2
	fi
	dir=$1
}

# source_package_open PACKAGE TOOL...: the source of an installed package in $tree, room for work in $work, what it is
# in $stamp. Ends the script where $dir has the same already.
source_package_open()
{
	local binary=$1 tool
	shift

	[ -n "$tree" ] || set -- "$@" apt-get dpkg-source
	for tool in dpkg-query "$@"; do
		command -v "$tool" >/dev/null || fail "$tool is missing (apt-get install dpkg-dev, on a Debian-like system)"
	done
	stamp=$(dpkg-query -W -f '${source:Package} ${source:Version}' "$binary" 2>/dev/null) ||
		fail "$binary is not installed (apt-get install $binary)"
	if [ "$(cat "$dir/version" 2>/dev/null)" = "$stamp" ]; then
		exit 0
	fi
	mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)
	work=$(mktemp -d "$dir/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	if [ -z "$tree" ]; then
		source_package_fetch "${stamp% *}" "${stamp#* }" "$work" || fail
		tree=$work/tree
	fi
}

# private_sources ETC OUT: the apt sources of ETC as deb-src entries, in OUT, in both of apt's formats.
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

# source_package_fetch PACKAGE VERSION WORK: unpack it into WORK/tree; 1 if it cannot be had, and why
# on standard error.
source_package_fetch()
{
	local package=$1 version=$2 work=$3 etc
	local -a apt

	mkdir -p "$work"/{etc,src,lists/partial,cache/archives/partial}
	etc=/$(apt-config dump 2>/dev/null | sed -n 's/^Dir::Etc "\(.*\)";$/\1/p')
	private_sources "${etc/#\/\//\/}" "$work/etc"
	# The sandbox user of apt could not enter our folder; downloads are verified all the same.
	apt=(apt-get -q -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work/etc"
		-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
		-o "APT::Sandbox::User=$(id -un)" -o "Acquire::Retries=3")
	echo "$me: fetching the source of $package $version"
	# A third party's source without deb-src makes update fail; what counts is whether ours is there.
	"${apt[@]}" update >"$work/update.log" 2>&1 || true
	if ! (cd "$work/src" && "${apt[@]}" source --download-only "$package=$version") \
		>"$work/source.log" 2>&1; then
		tail -n 5 "$work/update.log" "$work/source.log" >&2
		echo "$me: no package source has the source of $package $version (if the installed" \
		     "version is an older one: apt-get update, then upgrade libdpdk-dev)" >&2
		return 1
	fi
	if ! dpkg-source --no-check -x "$work"/src/*.dsc "$work/tree" >"$work/extract.log" 2>&1; then
		echo "$me: the source of $package $version does not unpack:" \
		     "$(tail -n 1 "$work/extract.log")" >&2
		return 1
	fi
}
