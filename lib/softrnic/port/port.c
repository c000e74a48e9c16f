/* SPDX-License-Identifier: BSD-3-Clause */

/* The Ethernet port and the vport on it: link and addresses. What commands make of them is vport.c's and reg.c's. */
#include <string.h>
#include <unistd.h>

#include "softrnic/event/eq.h"
#include "softrnic/port/port.h"

#define DEFAULT_MTU (1500 + SOFTRNIC_FRAME_OVERHEAD)
#define PORT_NUMBER 1

static const uint8_t no_mac[6];

/* Locally administered, and another one for each name and process (FNV-1a). */
static void
port_invent_mac(const char *name, uint8_t mac[6])
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)getpid();

	for (; *name != '\0'; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	hash ^= hash >> 29;
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = hash >> 8 * i;
	mac[0] = (mac[0] & 0xfc) | 0x02;
}

/* What an event says of the link. */
static const uint32_t port_data[7] = { 0, 0, PORT_NUMBER << 28 };

static uint8_t
port_change(const struct softrnic *dev)
{
	return dev->port.link_up ? RNIC_PORT_CHANGE_ACTIVE : RNIC_PORT_CHANGE_DOWN;
}

/* To an EQ whose last PORT_CHANGE has been read: the link has changed since, and is what it is now. */
static void
port_tell(struct softrnic *dev, uint32_t eqn)
{
	softrnic_eq_post(dev, eqn, RNIC_EVENT_PORT_CHANGE, port_change(dev), port_data);
}

int
softrnic_port_init(struct softrnic *dev)
{
	if (memcmp(dev->conf.mac, no_mac, sizeof(no_mac)) == 0 && !dev->no_mac)
		port_invent_mac(dev->name, dev->conf.mac);
	dev->port_tell = port_tell;
	softrnic_port_reset(dev);
	return 0;
}

/* The link itself stays as it is: softrnic_port_update() tells of changes. */
void
softrnic_port_reset(struct softrnic *dev)
{
	bool link_up = dev->port.link_up, wire_up = dev->port.wire_up;
	struct softrnic_port *port = &dev->port;

	memset(port, 0, sizeof(*port));
	port->link_up = link_up;
	port->wire_up = wire_up;
	memcpy(port->mac, dev->conf.mac, sizeof(port->mac));
	port->max_mtu = dev->conf.max_mtu + SOFTRNIC_FRAME_OVERHEAD;
	port->admin_mtu = port->max_mtu < DEFAULT_MTU ? port->max_mtu : DEFAULT_MTU;
	port->vport_mtu = port->admin_mtu;
	port->admin_status = RNIC_PORT_UP;
	port->vport_admin_state = RNIC_VPORT_STATE_FOLLOW;
	strncpy((char *)port->node_desc, "softrnic", sizeof(port->node_desc));
}

bool
softrnic_port_enabled(const struct softrnic *dev)
{
	return dev->state == SOFTRNIC_HCA_READY && !dev->dead &&
	       dev->port.admin_status == RNIC_PORT_UP &&
	       dev->port.vport_admin_state != RNIC_VPORT_STATE_DOWN;
}

bool
softrnic_port_update(struct softrnic *dev, bool wire_up)
{
	struct softrnic_port *port = &dev->port;
	const bool up = wire_up && softrnic_port_enabled(dev);

	port->wire_up = wire_up;
	if (up == port->link_up)
		return false;
	port->link_up = up;
	SOFTRNIC_LOG(INFO, dev, "link %s", up ? "up" : "down");
	softrnic_event(dev, RNIC_EVENT_PORT_CHANGE, port_change(dev), port_data);
	return !up;
}

void
softrnic_eth_changed(struct softrnic *dev)
{
	dev->send_aside = dev->faults != NULL || dev->self_lb_tirs != 0;
}
