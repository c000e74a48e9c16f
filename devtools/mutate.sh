#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Does a test notice when a feature is gone? Each feature of doc/features/rnic.ini is taken out of a copy of the sources,
# one at a time, and the test that is named beside it must fail.

set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
me=mutate
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/mutate.sh [--dir FOLDER] [FEATURE...] [-- MESON OPTIONS]

Takes features out of the driver, one at a time, and runs the test of each. A case that is named beside the feature in
doc/features/rnic.ini must fail. All features by default; FEATURE is a row's name there.

Prints the table that doc/features/mutants.md holds; what is wrong goes to stderr.

  --dir FOLDER   the copy of the sources and its build; not below a world-writable folder (build/mutate)

Exit code: 0 each test failed as it should, 1 one did not, or a row has no entry in here, 2 usage.

  devtools/mutate.sh 'RSS hash' 'VLAN filter' -- -Ddpdk_driver_headers=PATH
  devtools/mutate.sh >doc/features/mutants.md
USAGE
}

# Feature, test, file in drivers/net/rnic, what sed does to it.
mutations()
{
	cat <<'ROWS'
Speed capabilities|e2e-control|info.c|/info->speed_capa =/d
Link status|e2e-control|link.c|s/return link_set(eth_dev, up && .*/return link_set(eth_dev, true, speed);/
Link status event|e2e-control|link.c|s/rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_LSC, NULL)/(void)0/
Removal event|unit-port|link.c|s/rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_RMV, NULL)/(void)0/
Rx interrupt|e2e-interrupt|ethdev.c|/\.rx_queue_intr_enable =/d
FW version|e2e-control|ethdev.c|/\.fw_version_get =/d
Registers dump|e2e-control|ethdev.c|/\.get_reg =/d
Basic stats|e2e-control|ethdev.c|/\.stats_get =/d
Extended stats|e2e-control|ethdev.c|/\.xstats_get =/d
Stats per queue|e2e-frames|stats.c|s/stats->q_opackets\[i\] = rnic_counter_get/stats->q_opackets[0] = rnic_counter_get/
Queue start/stop|e2e-queue|ethdev.c|/\.rx_queue_start =/d
MTU update|e2e-control|ethdev.c|/\.mtu_set =/d
Scattered Rx|e2e-frames|rx_offload.c|s/= RTE_ETH_RX_OFFLOAD_SCATTER |/=/
Fast mbuf free|e2e-frames|tx_offload.c|s/ | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE//
Promiscuous mode|e2e-control|ethdev.c|/\.promiscuous_enable =/d
Allmulticast mode|e2e-control|ethdev.c|/\.allmulticast_enable =/d
Unicast MAC filter|e2e-filter|ethdev.c|/\.mac_addr_add =/d
Multicast MAC filter|e2e-filter|ethdev.c|/\.set_mc_addr_list =/d
VLAN filter|e2e-filter|ethdev.c|/\.vlan_filter_set =/d
RSS hash|e2e-rss|rss.c|s/rss->hash\[kind\] = RNIC_HASH_PORTS/rss->hash[kind] = RNIC_HASH_ADDRESSES/
RSS key update|e2e-rss|ethdev.c|/\.rss_hash_update =/d
RSS reta update|e2e-rss|ethdev.c|/\.reta_update =/d
Rx descriptor status|e2e-queue|ethdev.c|/eth_dev->rx_descriptor_status =/d
Tx descriptor status|e2e-queue|ethdev.c|/eth_dev->tx_descriptor_status =/d
VLAN offload|e2e-offload-rx|rx_offload.c|s/offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;/;/
TSO|e2e-offload-tx|tx_offload.c|s/offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO;/;/
L3 checksum offload|e2e-offload-rx|rx_offload.c|s/flags |= IP_FLAGS;/;/
L4 checksum offload|e2e-offload-rx|rx_offload.c|s/flags |= L4_FLAGS;/;/
Timestamp offload|e2e-offload-rx|rx.c|s/mbuf->ol_flags |= rxq->timestamp_flag;//
Packet type parsing|e2e-offload-rx|ethdev.c|/\.dev_supported_ptypes_get =/d
Burst mode info|e2e-control|ethdev.c|/\.rx_burst_mode_get =/d
Free Tx mbuf on demand|e2e-control|ethdev.c|/\.tx_done_cleanup =/d
ROWS
}

dir=$root/build/mutate
wanted=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--dir)
		[ $# -ge 2 ] || usage_error "--dir needs a folder"
		dir=$2
		shift
		;;
	--)
		shift
		break
		;;
	-*) usage_error "unknown option $1" ;;
	*)
		mutations | grep -q "^$1|" || usage_error "no mutation for feature '$1'"
		wanted+=("$1")
		;;
	esac
	shift
done

ini=$root/doc/features/rnic.ini

# The rows that say what a driver can do; platforms are what it runs on, documents are there to be read.
features()
{
	sed -n 's/^\([A-Z][^=]*[^= ]\) *= Y$/\1/p' "$ini" | grep -v -x -e Linux -e x86-64 -e '.* doc'
}

# named FEATURE CASE...: is one of the cases in the comment above the feature?
named()
{
	local feature=$1 comment case
	shift
	comment=$(awk -v feature="$feature" '/^;/ { text = text " " $0; next }
		index($0, feature) == 1 && substr($0, length(feature) + 1) ~ /^ *=/ { print text }
		{ text = "" }' "$ini")
	for case in "$@"; do
		if grep -q -w -e "$case" <<<"$comment"; then
			echo "$case"
			return 0
		fi
	done
	return 1
}

status=0
wrong()
{
	echo "$me: $*" >&2
	status=1
}

while read -r feature; do
	mutations | grep -q "^$feature|" || wrong "row '$feature' has no mutation"
done < <(features)

source=$dir/source
build=$dir/build
plugin=drivers/net/rnic/librte_net_rnic.so
mkdir -p "$source"
(cd "$root" && git ls-files -z --cached | tar --null -T - -c) | tar -x -C "$source"
# What is left out leaves functions behind that nobody calls.
[ -d "$build" ] || meson setup "$build" "$source" -Dfuzz=false -Dwerror=false "$@" >/dev/null

# broken TEST: the cases that fail, one a line.
broken()
{
	ninja -C "$build" "$plugin" "test/${1%%-*}/${1//-/_}" >"$dir/build.log" 2>&1 ||
		fail "no build, see $dir/build.log"
	meson test -C "$build" --no-rebuild "$1" >"$dir/test.log" 2>&1 || true
	sed -n 's/^not ok [0-9]* - //p' "$build/meson-logs/testlog.txt"
}

# check FEATURE TEST FILE CHANGE
check()
{
	local original=$root/drivers/net/rnic/$3 copy=$source/drivers/net/rnic/$3 case
	local -a cases

	sed "$4" "$original" >"$copy"
	if cmp -s "$original" "$copy"; then
		wrong "$1: nothing to take out of $3 any more"
		return 0
	fi
	mapfile -t cases < <(broken "$2" </dev/null)
	if [ ${#cases[@]} -eq 0 ]; then
		wrong "$1: no case of $2 fails without it"
	elif ! case=$(named "$1" "${cases[@]}"); then
		wrong "$1: ${cases[*]} of $2 fail without it, which rnic.ini does not name"
	else
		echo "| $1 | $2: $case |"
	fi
	cp "$original" "$copy"
}

cat <<'HEAD'
# What the rows of rnic.ini are worth

`devtools/mutate.sh` takes each feature out of the driver, alone, and runs the test. This is what fails without it.

| feature | fails without it |
|---|---|
HEAD
while IFS='|' read -r feature name file change; do
	if [ ${#wanted[@]} -eq 0 ] || [[ "|$(IFS='|' && echo "${wanted[*]}")|" == *"|$feature|"* ]]; then
		check "$feature" "$name" "$file" "$change"
	fi
done < <(mutations)
exit $status
