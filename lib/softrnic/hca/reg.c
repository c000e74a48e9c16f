/* SPDX-License-Identifier: BSD-3-Clause */

/* ACCESS_REG: the registers of the port, one function each. */
#include <string.h>

#include <rte_common.h>

#include "softrnic/base/quirks.h"
#include "softrnic/hca/reg.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/link.h"

#define PORT_NUMBER 1
#define FCS_BYTES   4

/* Groups of PPCNT; a card has the others too: here they stay 0. */
#define PPCNT_IEEE_802_3 0x00
#define PPCNT_RFC_2863	 0x01
#define PPCNT_RFC_2819	 0x02
#define PPCNT_RFC_3635	 0x03
#define PPCNT_EXTENDED	 0x05
#define PPCNT_PRIORITY	 0x10
#define PPCNT_CLASS	 0x11
#define PPCNT_PHYSICAL	 0x12
#define PPCNT_INFINIBAND 0x20

/* Read, or write and then read, a register; `reg` is a private copy of what the driver sent and becomes the output. */
typedef int (*reg_fn)(struct softrnic *dev, void *reg, bool write);

static bool
reg_port_valid(uint64_t local_port)
{
	return local_port <= PORT_NUMBER;
}

static int
reg_host_endianness(struct softrnic *dev, void *reg, bool write)
{
	(void)dev;
	(void)write;
	/* Contexts are big-endian whatever the host is: nothing to remember but that it is little. */
	if (rnic_host_endianness_reg_get(reg, RNIC_HOST_ENDIANNESS_REG_HE))
		return RNIC_STATUS_BAD_PARAM;
	return RNIC_STATUS_OK;
}

static int
reg_pmtu(struct softrnic *dev, void *reg, bool write)
{
	uint64_t mtu = rnic_pmtu_reg_get(reg, RNIC_PMTU_REG_ADMIN_MTU);

	if (!reg_port_valid(rnic_pmtu_reg_get(reg, RNIC_PMTU_REG_LOCAL_PORT)))
		return RNIC_STATUS_BAD_PARAM;
	if (write) {
		if (mtu <= SOFTRNIC_FRAME_OVERHEAD || mtu > dev->port.max_mtu)
			return RNIC_STATUS_BAD_PARAM;
		dev->port.admin_mtu = mtu;
	}
	rnic_pmtu_reg_set(reg, RNIC_PMTU_REG_MAX_MTU, dev->port.max_mtu);
	rnic_pmtu_reg_set(reg, RNIC_PMTU_REG_ADMIN_MTU, dev->port.admin_mtu);
	rnic_pmtu_reg_set(reg, RNIC_PMTU_REG_OPER_MTU, dev->port.admin_mtu);
	return RNIC_STATUS_OK;
}

/* Speeds that the legacy fields have no bits for: these are 0. */
static int
reg_ptys_extended(const struct softrnic *dev, struct rnic_ptys_reg *reg, bool write)
{
	const bool fastest = softrnic_quirks_ptys(dev) == 800;
	const uint32_t oper = fastest ? RNIC_PTYS_EXT_800GAUI_4 : RNIC_PTYS_EXT_400GAUI_2;
	const uint32_t speeds = RNIC_PTYS_EXT_200GAUI_1 | RNIC_PTYS_EXT_400GAUI_2 |
				(fastest ? RNIC_PTYS_EXT_800GAUI_8 | RNIC_PTYS_EXT_800GAUI_4 : 0);
	const uint64_t admin = rnic_ptys_reg_get(reg, RNIC_PTYS_REG_EXT_ETH_PROTO_ADMIN);

	if (write && ((admin != 0 && (admin & oper) == 0) ||
		      rnic_ptys_reg_get(reg, RNIC_PTYS_REG_ETH_PROTO_ADMIN) != 0))
		return RNIC_STATUS_BAD_PARAM;
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_EXT_ETH_PROTO_CAPABILITY, speeds);
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_EXT_ETH_PROTO_ADMIN, speeds);
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_EXT_ETH_PROTO_OPER, dev->port.link_up ? oper : 0);
	return RNIC_STATUS_OK;
}

static int
reg_ptys(struct softrnic *dev, void *reg, bool write)
{
	const uint32_t speeds = RNIC_PTYS_ETH_100GBASE_CR4 | RNIC_PTYS_ETH_100GBASE_SR4;
	uint64_t admin = rnic_ptys_reg_get(reg, RNIC_PTYS_REG_ETH_PROTO_ADMIN);

	if (!reg_port_valid(rnic_ptys_reg_get(reg, RNIC_PTYS_REG_LOCAL_PORT)) ||
	    rnic_ptys_reg_get(reg, RNIC_PTYS_REG_PROTO_MASK) != RNIC_PTYS_PROTO_ETH)
		return RNIC_STATUS_BAD_PARAM;
	if (softrnic_quirks_ptys(dev) != 0)
		return reg_ptys_extended(dev, reg, write);
	/* The speed is as it is: a choice that excludes it is refused. */
	if (write && admin != 0 && (admin & RNIC_PTYS_ETH_100GBASE_CR4) == 0)
		return RNIC_STATUS_BAD_PARAM;
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_ETH_PROTO_CAPABILITY, speeds);
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_ETH_PROTO_ADMIN, speeds);
	rnic_ptys_reg_set(reg, RNIC_PTYS_REG_ETH_PROTO_OPER,
			  dev->port.link_up ? RNIC_PTYS_ETH_100GBASE_CR4 : 0);
	return RNIC_STATUS_OK;
}

static int
reg_paos(struct softrnic *dev, void *reg, bool write)
{
	uint64_t admin = rnic_paos_reg_get(reg, RNIC_PAOS_REG_ADMIN_STATUS);

	if (!reg_port_valid(rnic_paos_reg_get(reg, RNIC_PAOS_REG_LOCAL_PORT)))
		return RNIC_STATUS_BAD_PARAM;
	/* ase: the write is meant to change the admin status. */
	if (write && rnic_paos_reg_get(reg, RNIC_PAOS_REG_ASE)) {
		if (admin != RNIC_PORT_UP && admin != RNIC_PORT_DOWN)
			return RNIC_STATUS_BAD_PARAM;
		dev->port.admin_status = admin;
		softrnic_wire_changed(dev);
	}
	rnic_paos_reg_set(reg, RNIC_PAOS_REG_ADMIN_STATUS, dev->port.admin_status);
	rnic_paos_reg_set(reg, RNIC_PAOS_REG_OPER_STATUS,
			  dev->port.link_up ? RNIC_PORT_UP : RNIC_PORT_DOWN);
	return RNIC_STATUS_OK;
}

static int
reg_pfcc(struct softrnic *dev, void *reg, bool write)
{
	if (!reg_port_valid(rnic_pfcc_reg_get(reg, RNIC_PFCC_REG_LOCAL_PORT)))
		return RNIC_STATUS_BAD_PARAM;
	/* Remembered; no wire here carries PAUSE. Priority flow control is not offered. */
	if (write) {
		if (rnic_pfcc_reg_get(reg, RNIC_PFCC_REG_PFCTX) != 0 ||
		    rnic_pfcc_reg_get(reg, RNIC_PFCC_REG_PFCRX) != 0)
			return RNIC_STATUS_BAD_PARAM;
		dev->port.pause_tx = rnic_pfcc_reg_get(reg, RNIC_PFCC_REG_PPTX);
		dev->port.pause_rx = rnic_pfcc_reg_get(reg, RNIC_PFCC_REG_PPRX);
	}
	rnic_pfcc_reg_set(reg, RNIC_PFCC_REG_PPTX, dev->port.pause_tx);
	rnic_pfcc_reg_set(reg, RNIC_PFCC_REG_PPRX, dev->port.pause_rx);
	return RNIC_STATUS_OK;
}

static int
reg_pcmr(struct softrnic *dev, void *reg, bool write)
{
	(void)dev;
	(void)write;
	if (!reg_port_valid(rnic_pcmr_reg_get(reg, RNIC_PCMR_REG_LOCAL_PORT)))
		return RNIC_STATUS_BAD_PARAM;
	/* Frames come without FCS: there is nothing to check, and nothing to switch. */
	rnic_pcmr_reg_set(reg, RNIC_PCMR_REG_FCS_CAP, 0);
	rnic_pcmr_reg_set(reg, RNIC_PCMR_REG_FCS_CHK, 0);
	return RNIC_STATUS_OK;
}

static int
reg_node_desc(struct softrnic *dev, void *reg, bool write)
{
	if (write)
		memcpy(dev->port.node_desc, reg, sizeof(dev->port.node_desc));
	memcpy(reg, dev->port.node_desc, sizeof(dev->port.node_desc));
	return RNIC_STATUS_OK;
}

/* Counters since they were last cleared; on the cable packets of queue pairs are frames like others. */
static struct softrnic_port_counters
reg_port_counters(const struct softrnic *dev)
{
	const struct softrnic_port_counters *base = &dev->port.port_base;
	struct softrnic_port_counters now = dev->port.counters;

	for (unsigned int i = 0; i < 3; i++) {
		now.rx_packets[i] += now.rx_rdma_packets[i];
		now.rx_packets[i] -= base->rx_packets[i] + base->rx_rdma_packets[i];
		now.rx_bytes[i] += now.rx_rdma_bytes[i];
		now.rx_bytes[i] -= base->rx_bytes[i] + base->rx_rdma_bytes[i];
		now.tx_packets[i] += now.tx_rdma_packets[i];
		now.tx_packets[i] -= base->tx_packets[i] + base->tx_rdma_packets[i];
		now.tx_bytes[i] += now.tx_rdma_bytes[i];
		now.tx_bytes[i] -= base->tx_bytes[i] + base->tx_rdma_bytes[i];
	}
	now.rx_errors -= base->rx_errors;
	now.tx_errors -= base->tx_errors;
	return now;
}

/* The port counts octets as they are on the cable, FCS included. */
static uint64_t
reg_octets(const uint64_t bytes[3], const uint64_t packets[3])
{
	uint64_t frames = packets[0] + packets[1] + packets[2];

	return bytes[0] + bytes[1] + bytes[2] + frames * FCS_BYTES;
}

static void
reg_ppcnt_802_3(struct rnic_ppcnt_reg *reg, const struct softrnic_port_counters *c)
{
#define SET(field, value) rnic_ppcnt_reg_set(reg, RNIC_PPCNT_REG_A_##field, value)
	SET(FRAMES_TRANSMITTED_OK, c->tx_packets[0] + c->tx_packets[1] + c->tx_packets[2]);
	SET(FRAMES_RECEIVED_OK, c->rx_packets[0] + c->rx_packets[1] + c->rx_packets[2]);
	SET(OCTETS_TRANSMITTED_OK, reg_octets(c->tx_bytes, c->tx_packets));
	SET(OCTETS_RECEIVED_OK, reg_octets(c->rx_bytes, c->rx_packets));
	SET(MULTICAST_FRAMES_XMITTED_OK, c->tx_packets[1]);
	SET(BROADCAST_FRAMES_XMITTED_OK, c->tx_packets[2]);
	SET(MULTICAST_FRAMES_RECEIVED_OK, c->rx_packets[1]);
	SET(BROADCAST_FRAMES_RECEIVED_OK, c->rx_packets[2]);
#undef SET
}

/* Counters of 64 bits from 0x08 on, in the order of the RFC's groups as the PRM prints them. */
static void
reg_ppcnt_rfc_2863(struct rnic_ppcnt_reg *reg, const struct softrnic_port_counters *c)
{
	const uint64_t counters[] = {
		reg_octets(c->rx_bytes, c->rx_packets), /* if_in_octets */
		c->rx_packets[0],			/* if_in_ucast_pkts */
		0,					/* if_in_discards */
		c->rx_errors,				/* if_in_errors */
		0,					/* if_in_unknown_protos */
		reg_octets(c->tx_bytes, c->tx_packets), /* if_out_octets */
		c->tx_packets[0],			/* if_out_ucast_pkts */
		0,					/* if_out_discards */
		c->tx_errors,				/* if_out_errors */
		c->rx_packets[1],			/* if_in_multicast_pkts */
		c->rx_packets[2],			/* if_in_broadcast_pkts */
		c->tx_packets[1],			/* if_out_multicast_pkts */
		c->tx_packets[2],			/* if_out_broadcast_pkts */
	};

	for (unsigned int i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		rnic_field_set(reg->dw, RNIC_FIELD(0x08 + 8 * i, 63, 0), counters[i]);
}

/* Received frames by the classes of RFC 2819, the too short ones first, since power on. */
static void
reg_length_classes(const struct softrnic_port *port, uint64_t classes[SOFTRNIC_LENGTH_CLASSES])
{
	static const uint16_t last[SOFTRNIC_LENGTH_CLASSES] = {
		63, 64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191, 10239,
	};
	uint32_t i, length = 0;

	for (i = 0; i < SOFTRNIC_LENGTH_CLASSES; i++) {
		classes[i] = 0;
		for (; length + FCS_BYTES <= last[i]; length++)
			classes[i] += port->rx_lengths[length];
	}
}

/* Of received frames, all of them without errors: others are dropped before anybody counts their length. */
static void
reg_ppcnt_rfc_2819(struct rnic_ppcnt_reg *reg, const struct softrnic_port *port,
		   const struct softrnic_port_counters *c)
{
	uint64_t counters[21] = { 0 }, classes[SOFTRNIC_LENGTH_CLASSES];
	unsigned int i;

	reg_length_classes(port, classes);
	for (i = 0; i < SOFTRNIC_LENGTH_CLASSES; i++)
		classes[i] -= port->class_base[i];
	/* ether_stats_: octets, pkts, broadcast_pkts, multicast_pkts, undersize_pkts, pkts64octets and the next nine */
	counters[1] = reg_octets(c->rx_bytes, c->rx_packets);
	counters[2] = c->rx_packets[0] + c->rx_packets[1] + c->rx_packets[2];
	counters[3] = c->rx_packets[2];
	counters[4] = c->rx_packets[1];
	counters[6] = classes[0];
	for (i = 1; i < SOFTRNIC_LENGTH_CLASSES; i++)
		counters[10 + i] = classes[i];
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		rnic_field_set(reg->dw, RNIC_FIELD(0x08 + 8 * i, 63, 0), counters[i]);
}

/*
 * Linux reads InfiniBand's counters of every port that has RDMA. Of those that a port like this one could count, each stays where it can
 * count no further.
 */
static void
reg_ppcnt_infiniband(struct rnic_ppcnt_reg *reg, const struct softrnic_port_counters *c)
{
	const uint32_t port_rcv_errors = RNIC_FIELD(0x0c, 31, 16);
	const uint32_t port_xmit_discards = RNIC_FIELD(0x10, 15, 0);

	rnic_field_set(reg->dw, port_rcv_errors, RTE_MIN(c->rx_errors, (uint64_t)UINT16_MAX));
	rnic_field_set(reg->dw, port_xmit_discards, RTE_MIN(c->tx_errors, (uint64_t)UINT16_MAX));
}

static void
reg_port_clear(struct softrnic_port *port)
{
	port->port_base = port->counters;
	reg_length_classes(port, port->class_base);
}

static int
reg_ppcnt(struct softrnic *dev, void *data, bool write)
{
	struct rnic_ppcnt_reg *reg = data;
	struct softrnic_port_counters counters = reg_port_counters(dev);
	bool clear = rnic_ppcnt_reg_get(reg, RNIC_PPCNT_REG_CLR);

	(void)write; /* a write that clears, and a read that does, are the same */
	if (!reg_port_valid(rnic_ppcnt_reg_get(reg, RNIC_PPCNT_REG_LOCAL_PORT)))
		return RNIC_STATUS_BAD_PARAM;
	memset(&reg->dw[2], 0, sizeof(*reg) - 2 * sizeof(reg->dw[0]));
	switch (rnic_ppcnt_reg_get(reg, RNIC_PPCNT_REG_GRP)) {
	case PPCNT_IEEE_802_3: reg_ppcnt_802_3(reg, &counters); break;
	case PPCNT_RFC_2863: reg_ppcnt_rfc_2863(reg, &counters); break;
	case PPCNT_RFC_2819: reg_ppcnt_rfc_2819(reg, &dev->port, &counters); break;
	case PPCNT_INFINIBAND: reg_ppcnt_infiniband(reg, &counters); break;
	case PPCNT_RFC_3635:
	case PPCNT_EXTENDED:
	case PPCNT_PRIORITY:
	case PPCNT_CLASS:
	case PPCNT_PHYSICAL: break;
	default: return RNIC_STATUS_BAD_PARAM;
	}
	if (clear)
		reg_port_clear(&dev->port);
	return RNIC_STATUS_OK;
}

static const struct {
	uint16_t id;
	uint16_t bytes;
	reg_fn fn;
} registers[] = {
	{ RNIC_REG_PMTU, sizeof(struct rnic_pmtu_reg), reg_pmtu },
	{ RNIC_REG_PTYS, sizeof(struct rnic_ptys_reg), reg_ptys },
	{ RNIC_REG_PAOS, sizeof(struct rnic_paos_reg), reg_paos },
	{ RNIC_REG_PFCC, sizeof(struct rnic_pfcc_reg), reg_pfcc },
	{ RNIC_REG_PPCNT, sizeof(struct rnic_ppcnt_reg), reg_ppcnt },
	{ RNIC_REG_PCMR, sizeof(struct rnic_pcmr_reg), reg_pcmr },
	{ RNIC_REG_NODE_DESC, sizeof(struct rnic_node_desc_reg), reg_node_desc },
	{ RNIC_REG_HOST_ENDIANNESS, sizeof(struct rnic_host_endianness_reg), reg_host_endianness },
};

SOFTRNIC_CMD(access_reg)
{
	const struct rnic_access_reg_in *in = cmd->in;
	uint32_t id = rnic_access_reg_in_get(in, RNIC_ACCESS_REG_IN_REGISTER_ID);
	size_t given = cmd->in_bytes - sizeof(*in);
	struct rnic_access_reg_out *out = cmd->out;
	void *reg = out + 1;
	bool write = cmd->op_mod == RNIC_ACCESS_REG_WRITE;

	if (cmd->op_mod > RNIC_ACCESS_REG_READ)
		return RNIC_STATUS_BAD_PARAM;
	for (unsigned int i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (registers[i].id != id)
			continue;
		if (given > registers[i].bytes)
			given = registers[i].bytes;
		/* A read may send less: what is not there selects nothing. */
		if (write && given < registers[i].bytes)
			return RNIC_STATUS_BAD_INP_LEN;
		memcpy(reg, in + 1, given);
		return registers[i].fn(dev, reg, write);
	}
	return RNIC_STATUS_BAD_PARAM;
}
