/* SPDX-License-Identifier: BSD-3-Clause */

/* The port, as those ask it who send and receive. */
#ifndef SOFTRNIC_ETH_PORT_H
#define SOFTRNIC_ETH_PORT_H

#include <rte_branch_prediction.h>

#include "prm/qp.h"
#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"

/* Ethernet header, VLAN tag and FCS: what PMTU counts beside the payload. */
#define SOFTRNIC_FRAME_OVERHEAD 22

/*
 * Longest frame that is sent or taken, without FCS: the port and the vport on it have an MTU each, and both count all
 * bytes on the wire.
 */
static inline uint32_t
softrnic_eth_frame_max(const struct softrnic *dev)
{
	const struct softrnic_port *port = &dev->port;

	return (port->vport_mtu < port->admin_mtu ? port->vport_mtu : port->admin_mtu) -
	       SOFTRNIC_ETH_FCS;
}

/* Do packets with so long a payload go through the port, by the MTUs that there are for it? */
static inline bool
softrnic_roce_mtu_fits(const struct softrnic *dev, uint32_t mtu)
{
	return mtu + RNIC_ROCE_MTU_OVERHEAD <=
	       softrnic_eth_frame_max(dev) + SOFTRNIC_ETH_FCS - SOFTRNIC_FRAME_OVERHEAD;
}

/* The same of a datagram, which has no MTU but the first that holds it. */
static inline bool
softrnic_roce_datagram_fits(const struct softrnic *dev, uint32_t length)
{
	uint32_t mtu = RNIC_QP_MTU_BYTES(RNIC_QP_MTU_256);

	while (mtu < length)
		mtu *= 2;
	return softrnic_roce_mtu_fits(dev, mtu);
}

/* Longest frame that the port could ever be set to take. */
static inline uint32_t
softrnic_eth_frame_limit(const struct softrnic *dev)
{
	return dev->port.max_mtu - SOFTRNIC_ETH_FCS;
}

static inline bool
softrnic_mac_list_has(const struct softrnic_mac_list *list, const uint8_t *mac)
{
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		if (memcmp(list->macs[i], mac, sizeof(list->macs[i])) == 0)
			return true;
	}
	return false;
}

/* Is it a unicast address of the vport, its own or one of its list? */
static inline bool
softrnic_eth_own_address(const struct softrnic_port *port, const uint8_t *mac)
{
	return memcmp(mac, port->mac, sizeof(port->mac)) == 0 ||
	       softrnic_mac_list_has(&port->uc, mac);
}

static inline void
softrnic_port_count_lengths(struct softrnic_port *port, uint32_t length, uint64_t frames)
{
	if (likely(length < SOFTRNIC_LENGTHS))
		port->rx_lengths[length] += frames;
}

static inline void
softrnic_port_count_length(struct softrnic_port *port, uint32_t length)
{
	softrnic_port_count_lengths(port, length, 1);
}

int softrnic_port_init(struct softrnic *dev);
void softrnic_port_reset(struct softrnic *dev);
/* The port sends: its own side of a link is up. */
bool softrnic_port_enabled(const struct softrnic *dev);
/*
 * The wire is up, as said; or the port's own state has changed. Posts PORT_CHANGE if the link changed by that. True: it went
 * down.
 */
bool softrnic_port_update(struct softrnic *dev, bool wire_up);
/* dev->faults or dev->self_lb_tirs has changed. */
void softrnic_eth_changed(struct softrnic *dev);

#endif
