/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands of the vport: its state, context and traffic counters. */
#include <string.h>

#include "prm/list.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/quirks.h"
#include "softrnic/hca/vport.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/pkey.h"
#include "softrnic/wire/link.h"

#define TX_SPEED       100 /* Gb/s */
#define TX_SPEED_UNITS 10  /* max_tx_speed has 100 Mb/s */
#define OP_MOD_VNIC    0
#define MAC_LIST_MAX   (1u << SOFTRNIC_MAC_LIST_LOG)
#define PORT_NUMBER    1

#define QKEY_VIOLATIONS_MAX UINT16_MAX /* where it stays */

/* ---- State ---- */

SOFTRNIC_CMD(query_vport_state)
{
	const struct rnic_vport_in *in = cmd->in;
	struct rnic_query_vport_state_out *out = cmd->out;
	const uint32_t speed = softrnic_quirks_ptys(dev);

	if (cmd->op_mod != OP_MOD_VNIC || rnic_vport_in_get(in, RNIC_VPORT_IN_OTHER_VPORT))
		return RNIC_STATUS_BAD_PARAM;
	rnic_query_vport_state_out_set(out, RNIC_QUERY_VPORT_STATE_OUT_MAX_TX_SPEED,
				       (speed != 0 ? speed : TX_SPEED) * TX_SPEED_UNITS);
	rnic_query_vport_state_out_set(out, RNIC_QUERY_VPORT_STATE_OUT_ADMIN_STATE,
				       dev->port.vport_admin_state);
	rnic_query_vport_state_out_set(out, RNIC_QUERY_VPORT_STATE_OUT_STATE,
				       dev->port.link_up ? RNIC_VPORT_STATE_UP
							 : RNIC_VPORT_STATE_DOWN);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(modify_vport_state)
{
	const struct rnic_modify_vport_state_in *in = cmd->in;
	uint32_t state = rnic_modify_vport_state_in_get(in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE);

	if (cmd->op_mod != OP_MOD_VNIC || state > RNIC_VPORT_STATE_FOLLOW ||
	    rnic_modify_vport_state_in_get(in, RNIC_MODIFY_VPORT_STATE_IN_OTHER_VPORT))
		return RNIC_STATUS_BAD_PARAM;
	dev->port.vport_admin_state = state;
	softrnic_wire_changed(dev);
	return RNIC_STATUS_OK;
}

/* ---- Context ---- */

static uint64_t
vport_mac_number(const uint8_t mac[6])
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	return number;
}

static void
vport_mac_bytes(uint64_t number, uint8_t mac[6])
{
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = number >> 8 * (5 - i);
}

static struct softrnic_mac_list *
vport_mac_list(struct softrnic *dev, uint32_t type)
{
	switch (type) {
	case RNIC_ALLOWED_LIST_UC: return &dev->port.uc;
	case RNIC_ALLOWED_LIST_MC: return &dev->port.mc;
	case RNIC_ALLOWED_LIST_VLAN: return &dev->port.vlans;
	default: return NULL;
	}
}

SOFTRNIC_CMD(query_nic_vport_context)
{
	const struct rnic_query_nic_vport_context_in *in = cmd->in;
	struct rnic_query_nic_vport_context_out *out = cmd->out;
	struct rnic_nic_vport_context *context =
		rnic_query_nic_vport_context_out_nic_vport_context(out);
	struct rnic_mac_entry *entries = (struct rnic_mac_entry *)(out + 1);
	const struct softrnic_port *port = &dev->port;
	uint64_t mac = vport_mac_number(port->mac);
	/* An EUI-64 of the address, as cards have them. */
	uint64_t guid = (mac >> 24) << 40 | UINT64_C(0xfffe000000) | (mac & 0xffffff);
	const uint64_t violations = dev->stats.roce_qkey_errors;
	const struct softrnic_mac_list *list;
	uint32_t type;

	type = rnic_query_nic_vport_context_in_get(
		in, RNIC_QUERY_NIC_VPORT_CONTEXT_IN_ALLOWED_LIST_TYPE);
	list = vport_mac_list(dev, type);
	if (rnic_query_nic_vport_context_in_get(in, RNIC_QUERY_NIC_VPORT_CONTEXT_IN_OTHER_VPORT) ||
	    type > RNIC_ALLOWED_LIST_VLAN)
		return RNIC_STATUS_BAD_PARAM;
	if (mac == 0 && dev->no_mac)
		guid = 0;
	*context = port->context;
#define SET(field, value) rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_##field, value)
	SET(MIN_WQE_INLINE_MODE, dev->conf.inline_l2 ? RNIC_INLINE_MODE_L2 : RNIC_INLINE_MODE_NONE);
	SET(ROCE_EN, port->roce_enabled);
	SET(MTU, port->vport_mtu);
	SET(QKEY_VIOLATION_COUNTER,
	    violations < QKEY_VIOLATIONS_MAX ? violations : QKEY_VIOLATIONS_MAX);
	SET(PROMISC_UC, port->asked_uc);
	SET(PROMISC_MC, port->asked_mc);
	SET(PROMISC_ALL, port->asked_all);
	SET(PERMANENT_ADDRESS_47_32, mac >> 32);
	SET(PERMANENT_ADDRESS_31_0, mac);
	SET(SYSTEM_IMAGE_GUID, guid);
	SET(PORT_GUID, guid);
	SET(NODE_GUID, guid);
	SET(ALLOWED_LIST_TYPE, type);
	SET(ALLOWED_LIST_SIZE, list != NULL ? list->count : 0);
#undef SET
	for (uint32_t i = 0; list != NULL && i < list->count; i++) {
		uint64_t entry = vport_mac_number(list->macs[i]);

		rnic_mac_entry_set(&entries[i], RNIC_MAC_ENTRY_ADDRESS_47_32, entry >> 32);
		rnic_mac_entry_set(&entries[i], RNIC_MAC_ENTRY_ADDRESS_31_0, entry);
	}
	return RNIC_STATUS_OK;
}

/* Refuse all before changing anything. */
static int
vport_context_check(struct softrnic *dev, const struct softrnic_cmd *cmd,
		    const struct rnic_nic_vport_context *context, uint32_t select)
{
	const uint32_t known = RNIC_NIC_VPORT_ROCE_EN | RNIC_NIC_VPORT_ADDRESSES_LIST |
			       RNIC_NIC_VPORT_PERMANENT_ADDRESS | RNIC_NIC_VPORT_PROMISC |
			       RNIC_NIC_VPORT_CHANGE_EVENT | RNIC_NIC_VPORT_MTU;
	uint32_t count =
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE);
	uint32_t mtu = rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_MTU);

	if ((select & ~known) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if ((select & RNIC_NIC_VPORT_ROCE_EN) != 0 && softrnic_quirks_roce_off(dev) &&
	    rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ROCE_EN))
		return RNIC_STATUS_BAD_PARAM;
	if ((select & RNIC_NIC_VPORT_MTU) != 0 &&
	    (mtu <= SOFTRNIC_FRAME_OVERHEAD || mtu > dev->port.max_mtu))
		return RNIC_STATUS_BAD_PARAM;
	if ((select & RNIC_NIC_VPORT_PERMANENT_ADDRESS) != 0 &&
	    (rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_47_32) >>
		     8 &
	     1) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if ((select & RNIC_NIC_VPORT_ADDRESSES_LIST) != 0) {
		if (vport_mac_list(dev,
				   rnic_nic_vport_context_get(
					   context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE)) ==
			    NULL ||
		    count > MAC_LIST_MAX)
			return RNIC_STATUS_BAD_PARAM;
		if ((cmd->in_bytes - sizeof(struct rnic_modify_nic_vport_context_in)) /
			    sizeof(struct rnic_mac_entry) <
		    count)
			return RNIC_STATUS_BAD_INP_LEN;
	}
	return RNIC_STATUS_OK;
}

static void
vport_list_set(struct softrnic *dev, const struct rnic_nic_vport_context *context,
	       const struct rnic_mac_entry *entries)
{
	struct softrnic_mac_list *list = vport_mac_list(
		dev, rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE));

	list->count = rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE);
	for (uint32_t i = 0; i < list->count; i++)
		vport_mac_bytes(
			rnic_mac_entry_get(&entries[i], RNIC_MAC_ENTRY_ADDRESS_47_32) << 32 |
				rnic_mac_entry_get(&entries[i], RNIC_MAC_ENTRY_ADDRESS_31_0),
			list->macs[i]);
}

SOFTRNIC_CMD(modify_nic_vport_context)
{
	struct rnic_modify_nic_vport_context_in in =
		*(const struct rnic_modify_nic_vport_context_in *)cmd->in;
	const struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(&in);
	uint32_t select = rnic_modify_nic_vport_context_in_get(
		&in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT);
	struct softrnic_port *port = &dev->port;
	int status;

	if (rnic_modify_nic_vport_context_in_get(&in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_OTHER_VPORT))
		return RNIC_STATUS_BAD_PARAM;
	status = vport_context_check(dev, cmd, context, select);
	if (status != RNIC_STATUS_OK)
		return status;
#define GET(field) rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_##field)
	if ((select & RNIC_NIC_VPORT_ROCE_EN) != 0)
		port->roce_enabled = GET(ROCE_EN);
	if ((select & RNIC_NIC_VPORT_MTU) != 0)
		port->vport_mtu = GET(MTU);
	if ((select & RNIC_NIC_VPORT_PERMANENT_ADDRESS) != 0)
		vport_mac_bytes(GET(PERMANENT_ADDRESS_47_32) << 32 | GET(PERMANENT_ADDRESS_31_0),
				port->mac);
	if ((select & RNIC_NIC_VPORT_PROMISC) != 0) {
		port->asked_uc = GET(PROMISC_UC);
		port->asked_mc = GET(PROMISC_MC);
		port->asked_all = GET(PROMISC_ALL);
		port->promisc_uc = port->asked_uc && !dev->untrusted;
		port->promisc_mc = port->asked_mc && !dev->untrusted;
		port->promisc_all = port->asked_all && !dev->untrusted;
	}
	if ((select & RNIC_NIC_VPORT_CHANGE_EVENT) != 0)
		port->context.dw[1] = context->dw[1];
#undef GET
	if ((select & RNIC_NIC_VPORT_ADDRESSES_LIST) != 0)
		vport_list_set(
			dev, context,
			(const struct rnic_mac_entry *)((const uint8_t *)cmd->in + sizeof(in)));
	softrnic_roce_changed(dev);
	return RNIC_STATUS_OK;
}

/* ---- Partitions ---- */

/* The command is of InfiniBand's ports, but Linux' cache of P_Keys asks every port. */
SOFTRNIC_CMD(query_hca_vport_pkey)
{
	const struct rnic_query_hca_vport_pkey_in *in = cmd->in;
	const uint64_t index =
		rnic_query_hca_vport_pkey_in_get(in, RNIC_QUERY_HCA_VPORT_PKEY_IN_PKEY_INDEX);
	struct rnic_pkey_entry *entry =
		(struct rnic_pkey_entry *)((uint8_t *)cmd->out + RNIC_QUERY_HCA_VPORT_PKEY_OUT);

	(void)dev;
	if (rnic_query_hca_vport_pkey_in_get(in, RNIC_QUERY_HCA_VPORT_PKEY_IN_OTHER_VPORT) ||
	    rnic_query_hca_vport_pkey_in_get(in, RNIC_QUERY_HCA_VPORT_PKEY_IN_PORT_NUM) >
		    PORT_NUMBER)
		return RNIC_STATUS_BAD_PARAM;
	if (index != 0 && index != RNIC_PKEY_INDEX_ALL)
		return RNIC_STATUS_BAD_INDEX;
	rnic_pkey_entry_set(entry, RNIC_PKEY_ENTRY_PKEY, SOFTRNIC_PKEY);
	return RNIC_STATUS_OK;
}

/* ---- Counters ---- */

SOFTRNIC_CMD(query_vport_counter)
{
	const struct rnic_query_vport_counter_in *in = cmd->in;
	struct rnic_query_vport_counter_out *out = cmd->out;
	struct rnic_vport_counters *counters = rnic_query_vport_counter_out_vport_counters(out);
	const struct softrnic_port_counters *now = &dev->port.counters;
	const struct softrnic_port_counters *base = &dev->port.vport_base;

	if (rnic_query_vport_counter_in_get(in, RNIC_QUERY_VPORT_COUNTER_IN_OTHER_VPORT) ||
	    rnic_query_vport_counter_in_get(in, RNIC_QUERY_VPORT_COUNTER_IN_PORT_NUM) > PORT_NUMBER)
		return RNIC_STATUS_BAD_PARAM;
#define SET(field, member) \
	rnic_vport_counters_set(counters, RNIC_VPORT_COUNTERS_##field, now->member - base->member)
/* What the port saw without the frames that were not for the vport. */
#define RECEIVED(field, member)                                                     \
	rnic_vport_counters_set(counters, RNIC_VPORT_COUNTERS_RECEIVED_ETH_##field, \
				now->rx_##member - base->rx_##member -              \
					(now->rx_foreign_##member - base->rx_foreign_##member))
	SET(RECEIVED_ERRORS_PACKETS, rx_errors);
	SET(TRANSMIT_ERRORS_PACKETS, tx_errors);
	RECEIVED(UNICAST_PACKETS, packets[0]);
	RECEIVED(UNICAST_OCTETS, bytes[0]);
	RECEIVED(MULTICAST_PACKETS, packets[1]);
	RECEIVED(MULTICAST_OCTETS, bytes[1]);
	RECEIVED(BROADCAST_PACKETS, packets[2]);
	RECEIVED(BROADCAST_OCTETS, bytes[2]);
	SET(TRANSMITTED_ETH_UNICAST_PACKETS, tx_packets[0]);
	SET(TRANSMITTED_ETH_UNICAST_OCTETS, tx_bytes[0]);
	SET(TRANSMITTED_ETH_MULTICAST_PACKETS, tx_packets[1]);
	SET(TRANSMITTED_ETH_MULTICAST_OCTETS, tx_bytes[1]);
	SET(TRANSMITTED_ETH_BROADCAST_PACKETS, tx_packets[2]);
	SET(TRANSMITTED_ETH_BROADCAST_OCTETS, tx_bytes[2]);
	SET(RECEIVED_IB_UNICAST_PACKETS, rx_rdma_packets[0]);
	SET(RECEIVED_IB_UNICAST_OCTETS, rx_rdma_bytes[0]);
	SET(RECEIVED_IB_MULTICAST_PACKETS, rx_rdma_packets[1]);
	SET(RECEIVED_IB_MULTICAST_OCTETS, rx_rdma_bytes[1]);
	SET(TRANSMITTED_IB_UNICAST_PACKETS, tx_rdma_packets[0]);
	SET(TRANSMITTED_IB_UNICAST_OCTETS, tx_rdma_bytes[0]);
	SET(TRANSMITTED_IB_MULTICAST_PACKETS, tx_rdma_packets[1]);
	SET(TRANSMITTED_IB_MULTICAST_OCTETS, tx_rdma_bytes[1]);
#undef RECEIVED
#undef SET
	if (rnic_query_vport_counter_in_get(in, RNIC_QUERY_VPORT_COUNTER_IN_CLEAR))
		dev->port.vport_base = dev->port.counters;
	return RNIC_STATUS_OK;
}
