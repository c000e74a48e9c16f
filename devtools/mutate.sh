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

Takes features out of the driver, one at a time, and runs the test of each, which must fail. All features by default;
FEATURE is a row's name in doc/features/rnic.ini.

  --dir FOLDER   the copy of the sources and its build; not below a world-writable folder (build/mutate)

Exit code: 0 each test failed as it should, 1 one did not, or a row has no entry in here, 2 usage.

  devtools/mutate.sh 'RSS hash' 'VLAN filter' -- -Ddpdk_driver_headers=PATH
USAGE
}

# Feature, test, file in drivers/net/rnic, what sed does to it.
mutations()
{
	cat <<'ROWS'
Link status|e2e-control|link.c|s/return link_set(eth_dev, up && .*/return link_set(eth_dev, true, speed);/
Link status event|e2e-control|link.c|s/rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_LSC, NULL)/(void)0/
Removal event|unit-port|link.c|s/rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_RMV, NULL)/(void)0/
Rx interrupt|e2e-queue|ethdev.c|/\.rx_queue_intr_enable =/d
FW version|e2e-control|ethdev.c|/\.fw_version_get =/d
Registers dump|e2e-control|ethdev.c|/\.get_reg =/d
Basic stats|e2e-control|ethdev.c|/\.stats_get =/d
Extended stats|e2e-control|ethdev.c|/\.xstats_get =/d
Stats per queue|e2e-frames|stats.c|s/stats->q_opackets\[i\] = rnic_counter_get/stats->q_opackets[0] = rnic_counter_get/
Queue start/stop|e2e-queue|ethdev.c|/\.rx_queue_start =/d
MTU update|e2e-control|ethdev.c|/\.mtu_set =/d
Scattered Rx|e2e-frames|info.c|s/= RTE_ETH_RX_OFFLOAD_SCATTER/= 0/
Fast mbuf free|e2e-frames|info.c|s/ | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE//
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

# The rows that say what a driver can do; platforms are what it runs on.
features()
{
	sed -n 's/^\([A-Z][^=]*[^= ]\) *= Y$/\1/p' "$root/doc/features/rnic.ini" |
		grep -v -x -e Linux -e x86-64
}

status=0
while read -r feature; do
	if ! mutations | grep -q "^$feature|"; then
		say "row '$feature' has no mutation"
		status=1
	fi
done < <(features)

target()
{
	echo "test/${1%%-*}/${1//-/_}"
}

source=$dir/source
build=$dir/build
plugin=drivers/net/rnic/librte_net_rnic.so
mkdir -p "$source"
(cd "$root" && git ls-files -z --cached | tar --null -T - -c) | tar -x -C "$source"
# What is left out leaves functions behind that nobody calls.
[ -d "$build" ] || meson setup "$build" "$source" -Dfuzz=false -Dwerror=false "$@" >/dev/null

# run TEST: 0 it passed.
run()
{
	ninja -C "$build" "$plugin" "$(target "$1")" >"$dir/build.log" 2>&1 ||
		fail "no build, see $dir/build.log"
	meson test -C "$build" --no-rebuild "$1" >"$dir/test.log" 2>&1
}

while IFS='|' read -r feature name file change; do
	if [ ${#wanted[@]} -gt 0 ] && [[ "|$(IFS='|' && echo "${wanted[*]}")|" != *"|$feature|"* ]]; then
		continue
	fi
	original=$root/drivers/net/rnic/$file
	copy=$source/drivers/net/rnic/$file
	sed "$change" "$original" >"$copy"
	if cmp -s "$original" "$copy"; then
		say "$feature: nothing to take out of $file any more"
		status=1
	elif run "$name" </dev/null; then
		say "$feature: $name passes without it"
		status=1
	else
		say "$feature: $name fails without it: $(grep -o '^not ok [0-9]* - .*' "$build/meson-logs/testlog.txt" | head -n 1)"
	fi
	cp "$original" "$copy"
done < <(mutations)
exit $status
