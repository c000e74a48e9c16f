/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include <rte_cycles.h>

#include "say.h"
#include "watch.h"

#define PORT 1

static int
take(struct perf_end *end, enum rdmapmd_event_type type)
{
	switch (type) {
	case RDMAPMD_EVENT_PORT_ERR:
		if (end->link_lost == 0)
			end->link_lost = rte_get_timer_cycles();
		return 0;
	case RDMAPMD_EVENT_PORT_ACTIVE: end->link_lost = 0; return 0;
	case RDMAPMD_EVENT_DEVICE_FATAL:
		return perf_fail(-ENODEV, "%s: the device has gone, or has failed", end->device);
	default: return 0;
	}
}

/* As it is now: an event may be older than the link. */
static bool
has_link(struct perf_end *end)
{
	return rdmapmd_port_query(end->context, PORT, &end->port) == 0 &&
	       end->port.state == RDMAPMD_PORT_ACTIVE;
}

int
perf_watch_look(struct perf_end *end, unsigned int grace_ms)
{
	struct rdmapmd_async_event event;
	int rc = 0;

	while (rc == 0 && rdmapmd_async_event_get(end->context, &event) == 0) {
		rc = take(end, event.event_type);
		rdmapmd_async_event_ack(end->context, &event);
	}
	if (rc != 0 || end->link_lost == 0 ||
	    rte_get_timer_cycles() - end->link_lost < grace_ms * rte_get_timer_hz() / 1000)
		return rc;
	if (has_link(end)) {
		end->link_lost = 0;
		return 0;
	}
	return perf_fail(-ENOLINK,
			 "%s: the port's link has gone: see to its cable, or to the wire that its "
			 "device was given",
			 end->device);
}
