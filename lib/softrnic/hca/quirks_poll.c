/* SPDX-License-Identifier: BSD-3-Clause */

/* What quirks do with time: events, work in pages, and commands that wait or are answered late. */
#include <rte_common.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/quirks.h"
#include "softrnic/event/eq.h"
#include "softrnic/hca/pages.h"
#include "softrnic/hca/quirks_poll.h"

#define NS_PER_MS     UINT64_C(1000000)
#define PAGES_EARLY   5
#define PORT_EVENT_NS (100 * NS_PER_MS)
/* A firmware works in the pages that it keeps: otherwise their loss would go unnoticed. */
#define PAGES_USE_NS NS_PER_MS
#define PAGES_IN_USE                                                                            \
	(UINT32_C(1) << SOFTRNIC_QUIRK_PAGES_LATE | UINT32_C(1) << SOFTRNIC_QUIRK_PAGES_NEVER | \
	 UINT32_C(1) << SOFTRNIC_QUIRK_TEARDOWN_REFUSED)

/* The link stays as it is. */
static const struct {
	uint8_t type, sub_type;
	uint32_t data[7];
} port_events[] = {
	{ RNIC_EVENT_PORT_CHANGE, RNIC_PORT_CHANGE_INITIALIZED, { 0, 0, 1u << 28 } },
	{ RNIC_EVENT_PORT_MODULE, 0, { RNIC_MODULE_UNPLUGGED } },
	{ RNIC_EVENT_PORT_MODULE, 0, { RNIC_MODULE_ERROR, RNIC_MODULE_HIGH_TEMPERATURE << 8 } },
	{ RNIC_EVENT_PORT_MODULE, 0, { RNIC_MODULE_PLUGGED } },
	{ RNIC_EVENT_TEMP_WARN, 0, { 0, 0, 0, 1u << 0 } },
};

static bool
quirks_tell_of_the_port(struct softrnic *dev, uint64_t now)
{
	struct softrnic_quirks *q = &dev->quirks;
	const unsigned int next = q->port_events;

	if (!softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PORT_MODULE) ||
	    dev->state != SOFTRNIC_HCA_READY || next == RTE_DIM(port_events) ||
	    (!softrnic_event_wanted(dev, RNIC_EVENT_PORT_MODULE) &&
	     !softrnic_event_wanted(dev, RNIC_EVENT_TEMP_WARN)))
		return false;
	if (q->port_event_at == 0)
		q->port_event_at = now + PORT_EVENT_NS;
	if (now < q->port_event_at)
		return true;
	softrnic_event(dev, port_events[next].type, port_events[next].sub_type,
		       port_events[next].data);
	q->port_events++;
	q->port_event_at = now + PORT_EVENT_NS;
	return q->port_events < RTE_DIM(port_events);
}

/* ---- What comes with time ---- */

bool
softrnic_quirks_poll(struct softrnic *dev)
{
	struct softrnic_quirks *q = &dev->quirks;
	const uint64_t now = softrnic_now_ns();
	bool more = quirks_tell_of_the_port(dev, now);

	if ((q->set & PAGES_IN_USE) != 0) {
		if (now >= q->pages_use) {
			q->pages_use = now + PAGES_USE_NS;
			softrnic_pages_use(dev);
		}
		more |= dev->stats.pages_held > 0;
	}
	return more;
}

/* ---- Commands ---- */

bool
softrnic_quirks_command_waits(struct softrnic *dev, uint16_t opcode)
{
	struct softrnic_quirks *q = &dev->quirks;

	if (!softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PAGE_REQUEST_EARLY) ||
	    dev->state != SOFTRNIC_HCA_READY || opcode == RNIC_CMD_QUERY_PAGES ||
	    opcode == RNIC_CMD_MANAGE_PAGES)
		return false;
	if (!q->pages_requested && softrnic_event_wanted(dev, RNIC_EVENT_PAGE_REQUEST)) {
		q->pages_requested = true;
		q->pages_missing = softrnic_pages_request(dev, PAGES_EARLY) == 0;
	}
	/* They came, or will not; a later request makes no command wait. */
	if (q->pages_missing && !softrnic_pages_missing(dev))
		q->pages_missing = false;
	return q->pages_missing;
}

uint64_t
softrnic_quirks_answer_delay(struct softrnic *dev)
{
	static const uint8_t delays_ms[] = { 6, 3, 1 };

	if (!softrnic_has_quirk(dev, SOFTRNIC_QUIRK_COMMANDS_LATE))
		return 0;
	return delays_ms[dev->quirks.answers++ % sizeof(delays_ms)] * NS_PER_MS;
}
