/* SPDX-License-Identifier: BSD-3-Clause */

/* A round of a poller: polls each device, and each of its parts. */
#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/poller.h"
#include "softrnic/engine/doorbell.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/event/cq.h"
#include "softrnic/hca/cmdq.h"
#include "softrnic/hca/hca.h"
#include "softrnic/wire/ops.h"
#include "softrnic/wire/trunk.h"
#include "softrnic/wire/wire.h"

static bool
poll_commands_wait(struct softrnic *dev)
{
	return atomic_load_explicit(&dev->cmd_doorbell, memory_order_relaxed) != 0;
}

static bool
poll_wire_is_polled(const struct softrnic *dev)
{
	return dev->wire->poll != NULL || dev->faults != NULL;
}

/* Events of CQs that got entries, and held events that are due. */
static void
poll_events(struct softrnic *dev)
{
	if (!STAILQ_EMPTY(&dev->pending_cqs))
		softrnic_cq_flush(dev);
	if (unlikely(!TAILQ_EMPTY(&dev->held_cqs)))
		softrnic_cq_release(dev);
}

/* A device that is not READY only executes commands, after leaving objects are gone. */
static __attribute__((noinline)) unsigned int
poll_commands(struct softrnic *dev)
{
	dev->round_cut = false;
	if (dev->leaving) {
		softrnic_hca_gone(dev);
		return 1;
	}
	return poll_commands_wait(dev) ? softrnic_cmdq_poll(dev) : 0;
}

/*
 * The parts of a device's round. Each may end with a unit that takes milliseconds, so the time of a round may be over before all
 * parts were polled (work.h). The next round then begins with the parts that were left out; the device is busy, so its host does
 * not sleep before that.
 */
static __attribute__((noinline)) unsigned int
poll_round_ends(struct softrnic *dev, enum softrnic_part next, unsigned int done)
{
	dev->round_cut = true;
	dev->next_part = (uint8_t)next;
	dev->quiet_polls = 0;
	return done + 1;
}

/* The parts but commands and events. Most rounds find work of one kind, or none: then this only checks. */
static __rte_always_inline unsigned int
poll_queues(struct softrnic *dev)
{
	unsigned int done = softrnic_doorbells_poll(dev);

	if (softrnic_round_is_over(dev))
		return poll_round_ends(dev, SOFTRNIC_PART_QPS, done);
	if (softrnic_qps_wait(dev)) {
		done += softrnic_qps_poll(dev);
		if (softrnic_round_is_over(dev))
			return poll_round_ends(dev, SOFTRNIC_PART_WIRE, done);
	}
	if (poll_wire_is_polled(dev)) {
		done += softrnic_wire_poll(dev);
		if (softrnic_round_is_over(dev))
			return poll_round_ends(dev, SOFTRNIC_PART_EVENTS, done);
	}
	if (done > 0)
		dev->quiet_polls = 0;
	return done;
}

static unsigned int
poll_part(struct softrnic *dev, enum softrnic_part part)
{
	switch (part) {
	case SOFTRNIC_PART_COMMANDS: return poll_commands_wait(dev) ? softrnic_cmdq_poll(dev) : 0;
	case SOFTRNIC_PART_SQS: return softrnic_doorbells_poll(dev);
	case SOFTRNIC_PART_QPS: return softrnic_qps_wait(dev) ? softrnic_qps_poll(dev) : 0;
	case SOFTRNIC_PART_WIRE: return poll_wire_is_polled(dev) ? softrnic_wire_poll(dev) : 0;
	case SOFTRNIC_PART_EVENTS:
		softrnic_share_begin(dev, 0);
		poll_events(dev);
		return 0;
	default: return 0;
	}
}

/* Commands wait, which may change the device's state, or parts were left out. */
static __attribute__((noinline)) unsigned int
poll_all(struct softrnic *dev)
{
	const unsigned int first = dev->round_cut ? dev->next_part : SOFTRNIC_PART_COMMANDS;
	unsigned int done = 0;

	dev->round_cut = false;
	/* The first reading of the clock, for parts that do not read it. */
	if (first != SOFTRNIC_PART_COMMANDS)
		softrnic_share_begin(dev, softrnic_now_ns() + SOFTRNIC_SHARE_NS);
	for (unsigned int i = first; i < first + SOFTRNIC_PARTS && !dev->dead; i++) {
		/* Events of this round follow when all devices were polled. */
		if (dev->state != SOFTRNIC_HCA_READY ||
		    (first == SOFTRNIC_PART_COMMANDS && i == SOFTRNIC_PART_EVENTS))
			break;
		done += poll_part(dev, (enum softrnic_part)(i % SOFTRNIC_PARTS));
		if (softrnic_round_is_over(dev))
			return poll_round_ends(dev, (enum softrnic_part)((i + 1) % SOFTRNIC_PARTS),
					       done);
	}
	if (done > 0)
		dev->quiet_polls = 0;
	return done;
}

static unsigned int
poll_device(struct softrnic *dev)
{
	dev->quiet_polls++;
	if (unlikely(dev->state != SOFTRNIC_HCA_READY))
		return poll_commands(dev);
	if (unlikely(poll_commands_wait(dev) || dev->round_cut))
		return poll_all(dev);
	return dev->dead ? 0 : poll_queues(dev);
}

unsigned int
softrnic_poll(struct softrnic_poller *poller)
{
	const bool trunks = atomic_load(&poller->has_trunks);
	struct softrnic *dev;
	unsigned int done = 0;

	softrnic_poller_enter(poller);
	if (unlikely(trunks))
		done = softrnic_trunks_receive(poller);
	TAILQ_FOREACH(dev, &poller->devices, link) {
		softrnic_round_begin(&poller->budget, dev);
		done += poll_device(dev);
	}
	softrnic_round_begin(&poller->budget, NULL);
	if (unlikely(trunks))
		softrnic_trunks_show(poller);
	/*
	 * A frame may have reached a device that was polled before its sender, so events come last. Entries show in any case: none
	 * is held back from one round to the next.
	 */
	TAILQ_FOREACH(dev, &poller->devices, link) {
		if (unlikely(dev->round_cut))
			softrnic_cqs_show(dev);
		else
			poll_events(dev);
	}
	softrnic_poller_leave(poller);
	return done;
}
