# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# The source package of what is installed, by a private apt configuration: the user's own is read and
# never written. Source it with $me set to the name for messages.

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
