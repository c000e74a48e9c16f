#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Does a test notice when a feature is gone? Each feature of doc/features/rnic.ini is taken out of a copy of the sources,
# one at a time, and the test that is named beside it must fail. So it is with what other implementations of remote direct memory
# operations do wrong, which is put into ours.

set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
me=mutate
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: devtools/mutate.sh [--rdmo] [--dir FOLDER] [FEATURE...] [-- MESON OPTIONS]
       devtools/mutate.sh [--rdmo] --list

Takes features out of the driver, a part at a time, and runs the test of each. A case that is named beside the feature in
doc/features/rnic.ini must fail. All features by default; FEATURE is a row's name there.

With --rdmo it is lib/rdmo that is changed, and FEATURE a case of e2e-rdmo-defects, or of the test that has it; it must fail.

Prints the table that doc/features/mutants.md holds, with --rdmo doc/features/rdmo_defects.md; what is wrong goes to stderr.

  --dir FOLDER   the copy of the sources and its build; not below a world-writable folder (build/mutate)
  --rdmo         defects in lib/rdmo, instead of features of the driver
  --list         only say what would be taken out, as the table's first two columns, and which rows take nothing out

Exit code: 0 each test failed as it should, 1 one did not, or a row has no entry in here, 2 usage.

  devtools/mutate.sh 'RSS hash' 'VLAN filter' -- -Ddpdk_driver_headers=PATH
  devtools/mutate.sh >doc/features/mutants.md
  devtools/mutate.sh --rdmo >doc/features/rdmo_defects.md
USAGE
}

# Case, what is put in, test, file in lib/rdmo, what sed does to it.
defects()
{
	cat <<'ROWS'
an_append_is_answered|an append is not answered|e2e-rdmo-defects|peer.c|s/if (result->is_flushed || result->is_silent)/if (result->is_flushed || result->op_id == RDMO_OP_APPEND)/
an_unknown_client_is_told|an unknown client has success|e2e-rdmo-defects|operate.c|s/return RDMO_STATUS_CLIENT;/return RDMO_STATUS_OK;/
an_unknown_key_is_told_by_the_flush_too|a FLUSH behind an unknown key has success|e2e-rdmo-defects|round.c|s/^\t\tresult_fail(round, result);/\t\t;/
an_unknown_operation_is_told|an unknown operation has success|e2e-rdmo-defects|message.c|s/return RDMO_STATUS_OP;/return flush_check(request, own, 16);/
flushes_go_on_behind_what_is_out_of_bounds|what is out of bounds is never done with|e2e-rdmo-defects|peer.c|s/if (result->is_flushed || result->is_silent)/if (result->is_flushed || result->is_silent || result->status == RDMO_STATUS_BOUNDS)/
no_receive_is_lost_by_what_is_refused|a message that is refused keeps its receive|e2e-rdmo-defects|peer.c|/^rdmo_peer_received/,/^}/s/^\trdmo_lane_give_back(lane, receive);/\t;/
connections_get_places_of_their_own|two connections get one place|e2e-rdmo-defects|tail.c|/^rdmo_queue_reserve/,/^}/s/tail->reserved += bytes;/tail->reserved += bytes == 16 ? 0 : bytes;/
a_tail_that_the_target_moves_is_seen|a foreign move of the tail is not seen|e2e-rdmo-defects|tail.c|s/if (found != move->compare) {/if (false) {/
the_target_sees_the_tail_without_a_flush|a tail is published by FLUSH alone|e2e-rdmo-defects|round.c|/^rdmo_round_settle/,/^}/s/i < round->due; i++/i < round->due \&\& round->results[0].op_id == RDMO_OP_FLUSH; i++/
nothing_is_written_behind_a_queue|a queue has no end|e2e-rdmo-defects|tail.c|s/return bytes <= queue->end - tail ? RDMO_STATUS_OK : RDMO_STATUS_FULL;/return RDMO_STATUS_OK;/
a_key_is_no_pointer|a key is a pointer|e2e-rdmo-defects|session.c|s/rdmo_random_number(&key) != 0/(key = (uintptr_t)entry) == 0/
a_key_is_its_receive_queue_s|a key is good for each receive queue|e2e-rdmo-defects|operate.c|s/(region->rq_id != 0 && region->rq_id != flow->rq_id)/false/
a_count_that_lies_is_refused|a count that is too small is believed|e2e-rdmo-defects|message.c|s/return left == 0 ? RDMO_STATUS_OK : RDMO_STATUS_LENGTH;/return RDMO_STATUS_OK;/
pieces_are_checked_before_the_first_byte|pieces are not checked|e2e-rdmo-defects|operate.c|/^scatter/,/^}/s/if (!rdmo_region_has(region, piece.addr, piece.len))/if (false)/
a_wrong_operation_is_refused_alone|sums wrap|unit-rdmo-message|message.c|s/return rte_le_to_cpu_64(addr) > UINT64_MAX - bytes;/return false;/
a_flush_of_a_key_is_about_that_key|a FLUSH is about all keys|e2e-rdmo-defects|flow.c|s/if (key != 0 && failure->key != key)/if (false)/
a_remote_queue_is_one_round_s|two rounds append to a remote queue|unit-rdmo-remote|operate.c|s/^\t\tregion->held_by = round;/\t\t;/
a_flush_tells_of_each_key_that_a_refused_operation_names|a failure is of one key alone|e2e-rdmo-defects|operate.c|s/^\t\tnames_add(round, request, result);/\t\t;/
the_target_is_told|a reader that sleeps is not woken|e2e-rdmo-defects|peer.c|s/^\treaders_wake(round);/\t;/
small_operations_share_a_message|operations go one by one|e2e-rdmo-defects|conn.c|s/ops + taken, n - taken);/ops + taken, 1);/;s/^\t\tif (taken == n)$/\t\tif (taken > 0)/
taking_memory_back_drops_no_tail|a tail that is cached is dropped with the memory|e2e-rdmo-defects|round.c|/^rdmo_round_settle/,/^}/s/i < round->due; i++/i < round->due \&\& round->results[0].op_id == RDMO_OP_FLUSH; i++/
memory_is_taken_back_without_any|another region is taken back|e2e-rdmo-defects|session.c|/^mr_dereg/,/^}/s/region_end(house, session, entry);/region_end(house, session, TAILQ_FIRST(\&session->regions));/
a_refused_append_moves_no_tail|a refused append moves the tail|e2e-rdmo-defects|tail.c|/^rdmo_queue_reserve/,/^}/s/^\tif (status != RDMO_STATUS_OK)/\ttail->reserved += status == RDMO_STATUS_FULL ? 8 : 0;\n&/
each_command_is_answered|a refused command is not answered|e2e-rdmo-defects|session.c|s/rdmo_refused_write(/0 * rdmo_refused_write(/
initiators_of_a_receive_queue_go_with_it|initiators stay when their receive queue goes|e2e-rdmo-defects|session.c|/^rq_destroy/,/^}/s/rdmo_session_end(house, other);/;/
a_remote_target_whose_memory_is_not_there|WRITEs that failed are done|e2e-rdmo-hostile|remote_round.c|s/^\t\trdmo_round_lose(&remote->round);/\t\tresults_take(remote);/
ROWS
}

# Feature, what of it is taken out, test, file in drivers/net/rnic, what sed does to it. The call is there still and returns
# success: it is the effect that is gone, one half at a time.
features_out()
{
	cat <<'ROWS'
Speed capabilities|the speeds|e2e-control|ethdev/info.c|/info->speed_capa =/d
Link status|down|e2e-control|ethdev/link.c|/return link_set(eth_dev, up && /,/;/c return link_set(eth_dev, true, speed);
Link status|the speed|e2e-control|ethdev/link.c|s/link.link_speed = speed.*/link.link_speed = 0;/
Link status|switching off|e2e-control|ethdev/link.c|/^rnic_link_set_down/,/^}/s/int rc = .*/int rc = 0;/
Link status|switching on|e2e-control|ethdev/link.c|/^rnic_link_set_up/,/^}/s/int rc = .*/int rc = 0;/
Link status event|the call|e2e-control|ethdev/link.c|s/rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_LSC, NULL)/(void)0/
Removal event|the call|unit-port|ethdev/link.c|s/rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_RMV, NULL)/(void)0/
Rx interrupt|arming|e2e-interrupt|ethdev/rx_intr.c|s/^\t\tintr_arm(rxq);/\t\t;/
Rx interrupt|reading the eventfd|e2e-interrupt|ethdev/rx_intr.c|/^rnic_rx_intr_disable/,/^}/s/rnic_eventfd_drain(.*);/;/
Rx interrupt|a queue without mbufs|e2e-interrupt|ethdev/rx_intr.c|s/needs_burst = rxq->rq.producer == rxq->consumer ||/needs_burst =/
Rx interrupt|a vector for each queue|e2e-interrupt|ethdev/rx_intr.c|s/LOG_EQ_SIZE, 0, RNIC_VECTOR_RX + i,/LOG_EQ_SIZE, 0, RNIC_VECTOR_RX,/
Rx interrupt|a lost device|unit-port|ethdev/link.c|s/rnic_rx_intr_wake(dev);/;/
FW version|the version|e2e-control|ethdev/info.c|s/rnic_ethdev_get(eth_dev)->fw_version);/"?");/
FW version|how long it is|e2e-control|ethdev/info.c|s/return length + 1 <= (int)size ? 0 : length + 1;/return 0;/
Registers dump|the values|e2e-control|ethdev/regs.c|s/values\[i\] = rnic_be32_to_cpu(/(void)(/
Registers dump|where to begin|e2e-control|ethdev/regs.c|s/(uint64_t)(info->offset + (uint32_t)i)/(uint64_t)i/
Basic stats|packets received|e2e-statistics|ethdev/stats.c|/stats->ipackets += /d
Basic stats|bytes received|e2e-statistics|ethdev/stats.c|/stats->ibytes += /d
Basic stats|packets sent|e2e-statistics|ethdev/stats.c|/stats->opackets += /d
Basic stats|bytes sent|e2e-statistics|ethdev/stats.c|/stats->obytes += /d
Basic stats|packets missed|e2e-statistics|ethdev/stats.c|/\.imissed = /d
Basic stats|errors of receiving, by the port|e2e-statistics|ethdev/stats.c|s/rnic_counter_get(&port->port_ierrors)/0/
Basic stats|errors of receiving, by a queue|unit-port|ethdev/stats.c|/stats->ierrors += /d
Basic stats|errors of sending, by the port|e2e-statistics|ethdev/stats.c|s/rnic_counter_get(&port->port_oerrors)/0/
Basic stats|errors of sending, by a queue|e2e-offload-tx|ethdev/stats.c|/stats->oerrors += /d
Basic stats|failed allocations|e2e-frames|ethdev/stats.c|/stats->rx_nombuf += /d
Basic stats|queues that are gone|e2e-statistics|ethdev/stats.c|/rnic_counter_add(&sum->packets/d
Basic stats|reset|e2e-statistics|ethdev/stats.c|/stats_collect(eth_dev, &port->offset)/d
Extended stats|the values|e2e-statistics|ethdev/xstats.c|s/\.value = port->xstats\[i\] - port->xstats_offset\[i\]/.value = 0/
Extended stats|devices that are gone|e2e-statistics|ethdev/xstats.c|s/= port->xstats\[i\] - values\[i\];/= 0;/
Extended stats|reset|e2e-statistics|ethdev/xstats.c|/memcpy(port->xstats_offset,/d
Stats per queue|packets received|e2e-rss|ethdev/stats.c|s/stats->q_ipackets\[i\] -= .*/stats->q_ipackets[i] = 0;/
Stats per queue|bytes received|e2e-rss|ethdev/stats.c|s/stats->q_ibytes\[i\] -= .*/stats->q_ibytes[i] = 0;/
Stats per queue|errors of receiving|unit-port|ethdev/stats.c|s/stats->q_errors\[i\] -= .*/stats->q_errors[i] = 0;/
Stats per queue|packets sent|e2e-queue|ethdev/stats.c|s/stats->q_opackets\[i\] -= .*/stats->q_opackets[i] = 0;/
Stats per queue|bytes sent|e2e-queue|ethdev/stats.c|s/stats->q_obytes\[i\] -= .*/stats->q_obytes[i] = 0;/
Queue start/stop|Rx start|e2e-queue|ethdev/rxq.c|/^rnic_rxq_queue_start/,/^}/s/int rc = .*/int rc = 0;/
Queue start/stop|Rx stop|e2e-queue|ethdev/rxq.c|/^rnic_rxq_queue_stop/,/^}/s/int rc = .*/int rc = 0;/
Queue start/stop|Tx start|e2e-queue|ethdev/txq.c|s/int rc = rnic_txq_start(/int rc = eth_dev->data->dev_started ? 0 : rnic_txq_start(/
Queue start/stop|Tx stop|e2e-queue|ethdev/txq.c|/^rnic_txq_queue_stop/,/^}/s/int rc = .*/int rc = 0;/
Queue start/stop|deferred Rx start|e2e-queue|ethdev/rxq.c|s/rxq->deferred_start = conf->rx_deferred_start;/rxq->deferred_start = false;/
Queue start/stop|deferred Tx start|e2e-queue|ethdev/txq.c|s/txq->deferred_start = conf->tx_deferred_start;/txq->deferred_start = false;/
MTU update|the port's, while it runs|e2e-control|ethdev/ethdev.c|s/rc = rnic_port_set_mtu(port->dev, mtu);/rc = 0;/
MTU update|the port's, at its start|e2e-control|ethdev/ethdev.c|s/rc = rnic_port_request_mtu(port->dev, data->mtu);/rc = 0;/
MTU update|the senders'|e2e-frames|ethdev/ethdev.c|s/rnic_txq_set_mtu(eth_dev->data->tx_queues\[i\], mtu);/(void)mtu;/
MTU update|refusing what the queues do not take|e2e-control|ethdev/ethdev.c|s/if (!rnic_rxq_fits(rxq, mtu)) {/if (false) {/
Scattered Rx|more mbufs than one|e2e-control|ethdev/rxq.c|s/segs = (frame + room - 1) \/ room;/segs = 1;/
Fast mbuf free|taking the promise|e2e-queue|ethdev/txq.c|s/txq->fast_free = (.*/txq->fast_free = false;/
Promiscuous mode|on|e2e-control|ethdev/filter.c|s/return set_modes(eth_dev, true, eth_dev->data->all_multicast);/return 0;/
Promiscuous mode|off|e2e-control|ethdev/filter.c|s/return set_modes(eth_dev, false, eth_dev->data->all_multicast);/return 0;/
Allmulticast mode|on|e2e-control|ethdev/filter.c|s/return set_modes(eth_dev, eth_dev->data->promiscuous, true);/return 0;/
Allmulticast mode|off|e2e-control|ethdev/filter.c|s/return set_modes(eth_dev, eth_dev->data->promiscuous, false);/return 0;/
Unicast MAC filter|adding|e2e-filter|ethdev/filter.c|/^rnic_filter_mac_add/,/^}/s/return set_macs(.*/return 0;/
Unicast MAC filter|removing|e2e-filter|ethdev/filter.c|/(void)set_macs(eth_dev, index, &none/d
Unicast MAC filter|the port's own|e2e-control|ethdev/filter.c|s/rc = follow_mac(eth_dev, mac, true);/rc = 0;/
Multicast MAC filter|the list|e2e-filter|ethdev/filter.c|s/rc = set_macs(eth_dev, 0, NULL, macs, count);/rc = 0;/
Multicast MAC filter|its end|e2e-filter|ethdev/filter.c|s/port->mc_count = count;/port->mc_count = RTE_MAX(count, port->mc_count);/
VLAN filter|one VLAN|e2e-filter|ethdev/filter.c|s/return rnic_steering_set_vlans(port->dev, &port->steering, vlans);/return 0;/
VLAN filter|switching it|e2e-filter|ethdev/filter.c|/^rnic_filter_vlan_offload_set/,/^}/s/? follow_vlans(eth_dev) : 0/? 0 : 0/
VLAN filter|kept over a restart|e2e-filter|ethdev/filter.c|/^rnic_filter_start/,/^}/s/rc = follow_vlans(eth_dev);/rc = 0;/
RSS hash|of ports|e2e-rss|ethdev/rss.c|s/rss->hash\[kind\] = RNIC_HASH_PORTS/rss->hash[kind] = RNIC_HASH_ADDRESSES/
RSS hash|of addresses|e2e-rss|ethdev/rss.c|s/rss->hash\[kind\] = RNIC_HASH_ADDRESSES/rss->hash[kind] = RNIC_HASH_NONE/
RSS hash|to mbufs|e2e-offload-rx|ethdev/rx_offload.c|s/? RTE_MBUF_F_RX_RSS_HASH/? 0/
RSS key update|the call|e2e-rss|ethdev/rss.c|s/return rc == 0 ? rss_follow(eth_dev, &rss, conf->rss_hf) : rc;/return rc;/
RSS key update|the key|e2e-rss|ethdev/rss.c|/memcpy(rss->key, conf->rss_key,/s/.*/\t\t;/
RSS key update|the device|e2e-rss|ethdev/rss.c|/^rss_follow/,/^}/s/if (port->steering.up) {/if (false) {/
RSS key update|reading it|e2e-rss|ethdev/rss.c|/memcpy(conf->rss_key, copy->rss.key,/s/.*/\t\t;/
RSS reta update|the call|e2e-rss|ethdev/rss.c|s/return rss_follow(eth_dev, &rss, port->rss_hf);/return 0;/
RSS reta update|the mask|e2e-rss|ethdev/rss.c|/^rnic_rss_reta_update/,/^}/s/ & 1))/ \& 0))/
RSS reta update|reading it|e2e-rss|ethdev/rss.c|s/^\t\t\t\tcopy->rss.reta\[i\];/\t\t\t\t0;/
Rx descriptor status|done|e2e-queue|ethdev/rxq.c|s/? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL/? RTE_ETH_RX_DESC_AVAIL : RTE_ETH_RX_DESC_AVAIL/
Rx descriptor status|available|e2e-queue|ethdev/rxq.c|s/? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL/? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_DONE/
Rx descriptor status|unavailable|e2e-queue|ethdev/rxq.c|s/offset < (uint16_t)(rxq->rq.producer - rxq->consumer))/true)/
Rx descriptor status|how many are used|e2e-queue|ethdev/rxq.c|/^rnic_rxq_count/,/^}/s/return count;/return 0;/
Tx descriptor status|full|unit-port-tx|ethdev/txq.c|s/? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL;/? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_DONE;/
Tx descriptor status|done|e2e-queue|ethdev/txq.c|/^rnic_txq_descriptor_status/,/^}/s/rnic_tx_reap(txq, RNIC_TX_REAP_ALL)) {/true) {/
Tx descriptor status|the last ones|e2e-queue|ethdev/txq.c|/^rnic_txq_descriptor_status/,/^}/s/txq_ask_completion(txq);/;/
Tx descriptor status|unavailable|e2e-queue|ethdev/txq.c|s/int status = RTE_ETH_TX_DESC_UNAVAIL;/int status = RTE_ETH_TX_DESC_DONE;/
VLAN offload|taking tags out|e2e-offload-rx|ethdev/rxq.c|s/if (rc == 0 && rxq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP)/if (false)/
VLAN offload|telling of them|e2e-offload-rx|ethdev/rx_offload.c|s/flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;/;/
VLAN offload|switching it|e2e-offload-rx|ethdev/rx_offload.c|s/rc = rnic_rq_set_vlan_strip(port->dev, &rxq->rq, strip);/rc = 0;/
VLAN offload|putting tags in|e2e-offload-tx|ethdev/tx_offload.c|s/^\t\tplan_tag(txq, packet, plan);/\t\t;/
VLAN offload|putting them into headers|e2e-offload-tx|ethdev/tx.c|s/header_bytes = tx_insert_tag(/(void)tx_insert_tag(/
TSO|cutting|e2e-offload-tx|ethdev/tx_offload.c|s/plan->opcode = RNIC_WQE_LSO;/;/
TSO|the size|e2e-offload-tx|ethdev/tx_offload.c|s/rnic_cpu_to_be16((uint16_t)mss);/rnic_cpu_to_be16(1460);/
TSO|refusing what cannot be cut|e2e-offload-tx|ethdev/tx.c|s/!rnic_tx_large_fits(packet, header, header_bytes)/false/
L3 checksum offload|telling|e2e-offload-rx|ethdev/rx_offload.c|s/flags |= IP_FLAGS;/;/
L3 checksum offload|that it is bad|e2e-offload-rx|ethdev/rx_offload.c|s/OTHER_FLAGS | RTE_MBUF_F_RX_IP_CKSUM_BAD;/OTHER_FLAGS | RTE_MBUF_F_RX_IP_CKSUM_GOOD;/
L3 checksum offload|making|e2e-offload-tx|ethdev/tx_offload.c|s/cs_flags |= RNIC_WQE_ETH_L3_CSUM;/;/
L4 checksum offload|telling|e2e-offload-rx|ethdev/rx_offload.c|s/flags |= L4_FLAGS;/;/
L4 checksum offload|that it is bad|e2e-offload-rx|ethdev/rx_offload.c|s/: RTE_MBUF_F_RX_L4_CKSUM_BAD);/: RTE_MBUF_F_RX_L4_CKSUM_GOOD);/
L4 checksum offload|making|e2e-offload-tx|ethdev/tx_offload.c|s/cs_flags |= RNIC_WQE_ETH_L4_CSUM;/;/
Timestamp offload|the flag|e2e-offload-rx|ethdev/rx.c|s/mbuf->ol_flags |= rxq->timestamp_flag;//
Timestamp offload|the time|e2e-offload-rx|ethdev/rx.c|s/rnic_be64_to_cpu(cqe->timestamp);/0;/
Packet type parsing|the types|e2e-offload-rx|ethdev/rx_offload.c|s/\.ptype = packet_type((uint8_t)i) & ptype_mask;/.ptype = 0;/
Packet type parsing|leaving some out|e2e-offload-rx|ethdev/rx_offload.c|/port->ptype_mask = ptype_mask;/d
Packet type parsing|which there are|e2e-offload-rx|ethdev/rx_offload.c|s/RTE_PTYPE_L2_ETHER, .*RTE_PTYPE_L3_IPV4,/RTE_PTYPE_UNKNOWN,/
Burst mode info|Rx|e2e-control|ethdev/info.c|/^rnic_info_rx_burst_mode/,/^}/s/"%s"/"%.0s"/
Burst mode info|Tx|e2e-control|ethdev/info.c|/^rnic_info_tx_burst_mode/,/^}/s/"%s"/"%.0s"/
Free Tx mbuf on demand|all of it|e2e-control|ethdev/txq.c|/^rnic_txq_done_cleanup/,/^}/s/if (atomic_load_explicit.*/if (false) {/
Free Tx mbuf on demand|the last ones|e2e-control|ethdev/txq.c|/^rnic_txq_done_cleanup/,/^}/s/txq_ask_completion(txq);/;/
Free Tx mbuf on demand|how many were freed|e2e-control|ethdev/txq.c|/^rnic_txq_done_cleanup/,/^}/s/return packets;/return 0;/
Free Tx mbuf on demand|how many at most|e2e-control|ethdev/txq.c|s/enough = count != 0 ? count : /enough = count != 0 ? RNIC_TX_REAP_ALL : /
Free Tx mbuf on demand|its place in the ring|unit-port-tx|ethdev/txq.c|s/^\ttxq->slots--;/\t;/
BlueFlame|the last 8 bytes of a WQE's copy|e2e-frames-blueflame|core/doorbell.h|s/i < bytes \/ sizeof(value); i++/i < bytes \/ sizeof(value) - 1; i++/
BlueFlame|the same of a queue pair's|e2e-rdma-blueflame|core/doorbell.h|s/i < bytes \/ sizeof(value); i++/i < bytes \/ sizeof(value) - 1; i++/
ROWS
}

mutations()
{
	if $rdmo; then defects; else features_out; fi
}

dir=$root/build/mutate
list=false
rdmo=false
folder=drivers/net/rnic
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
	--list) list=true ;;
	--rdmo)
		rdmo=true
		folder=lib/rdmo
		;;
	--)
		shift
		break
		;;
	-*) usage_error "unknown option $1" ;;
	*) wanted+=("$1") ;;
	esac
	shift
done
for feature in "${wanted[@]}"; do
	mutations | grep -q "^$feature|" || usage_error "no mutation for feature '$feature'"
done

ini=$root/doc/features/rnic.ini

# The rows that say what a driver can do; platforms are what it runs on, documents are there to be read.
features()
{
	sed -n 's/^\([A-Z][^=]*[^= ]\) *= Y$/\1/p' "$ini" | grep -v -x -e Linux -e x86-64 -e '.* doc'
}

# named FEATURE CASE...: is one of the cases in the comment above the feature, or above the line that says it has no row? Of a defect the
# case itself is to be among them.
named()
{
	local feature=$1 comment case
	shift
	if $rdmo; then
		printf '%s\n' "$@" | grep -x -e "test_$feature"
		return
	fi
	comment=$(awk -v feature="$feature" '
		/^; \(no row\) / { if ($0 == "; (no row) " feature) print text; text = ""; next }
		/^;/ { text = text " " $0; next }
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
	$rdmo || mutations | grep -q "^$feature|" || wrong "row '$feature' has no mutation"
done < <(features)
# A row whose file has moved, or whose lines are no longer there, takes nothing out.
while IFS='|' read -r feature part _ file change; do
	if [ ! -f "$root/$folder/$file" ]; then
		wrong "$feature, $part: there is no $file"
	elif cmp -s <(sed "$change" "$root/$folder/$file") "$root/$folder/$file"; then
		wrong "$feature, $part: $file has nothing to take out"
	fi
done < <(mutations)
if $list; then
	mutations | sed 's/^\([^|]*\)|\([^|]*\)|.*/| \1 | \2 |/'
	exit $status
fi

source=$dir/source
build=$dir/build
plugin=drivers/net/rnic/librte_net_rnic.so
mkdir -p "$source"
(cd "$root" && git ls-files -z --cached | tar --null -T - -c) | tar -x -C "$source"
# What is left out leaves functions behind that nobody calls.
[ -d "$build" ] || meson setup "$build" "$source" -Dfuzz=false -Dwerror=false "$@" >/dev/null

# targets_of TEST: what it runs, its program last. Variants are tests of one program.
targets_of()
{
	local program=$1 loads=$plugin
	case $1 in
	e2e-*-blueflame)
		program=${1%-blueflame} loads=test/e2e/librte_net_rnic_audit.so
		program=${program/%-rdma/-rdma-doorbells}
		;;
	esac
	echo "$loads test/${1%%-*}/${program//-/_}"
}

# broken TEST FEATURE: the cases that fail, one a line. Of a defect no other is run: many wait for what does not come then.
broken()
{
	local -a targets only=()

	[ "$1" != e2e-rdmo-defects ] || only=(--test-args "test_$2")
	read -r -a targets <<<"$(targets_of "$1")"
	ninja -C "$build" "${targets[@]}" >"$dir/build.log" 2>&1 ||
		fail "no build, see $dir/build.log"
	meson test -C "$build" --no-rebuild "$1" "${only[@]}" >"$dir/test.log" 2>&1 || true
	sed -n 's/^not ok [0-9]* - //p' "$build/meson-logs/testlog.txt"
}

# check FEATURE PART TEST FILE CHANGE
check()
{
	local original=$dir/original copy=$source/$folder/$4 case
	local -a cases

	cp "$copy" "$original"
	sed "$5" "$original" >"$copy"
	if cmp -s "$original" "$copy"; then
		wrong "$1, $2: $4 has nothing to take out"
		return 0
	fi
	mapfile -t cases < <(broken "$3" "$1" </dev/null)
	if [ ${#cases[@]} -eq 0 ]; then
		wrong "$1, $2: no case of $3 fails without it"
	elif ! case=$(named "$1" "${cases[@]}"); then
		wrong "$1, $2: ${cases[*]} of $3 fail, which are not named"
	else
		echo "| $1 | $2 | $3: $case |"
	fi
	cp "$original" "$copy"
}

# What is before the table.
head_of_features()
{
	cat <<'HEAD'
# What the rows of rnic.ini are worth

`devtools/mutate.sh` takes the effect of each feature out of the driver, a part at a time, and runs the test: calls are still
there, and return success. This is what fails without it. One feature of a port like this is not in the list: `Tx queue count`,
for which DPDK 22.11 has neither a row nor a call.

| feature | without | fails |
|---|---|---|
HEAD
}

head_of_defects()
{
	cat <<'HEAD'
# What others do wrong, and the tests that would notice it here

`devtools/mutate.sh --rdmo` puts defects into lib/rdmo, one at a time, and runs the case: those of the document's own implementation, and
others that its users would meet. This is what fails then.

| case | with | fails |
|---|---|---|
HEAD
}

if $rdmo; then head_of_defects; else head_of_features; fi
while IFS='|' read -r feature part name file change; do
	if [ ${#wanted[@]} -eq 0 ] || [[ "|$(IFS='|' && echo "${wanted[*]}")|" == *"|$feature|"* ]]; then
		check "$feature" "$part" "$name" "$file" "$change"
	fi
done < <(mutations)
exit $status
