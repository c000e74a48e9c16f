/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A switch: the first device to name it makes it, others plug in. It learns who is where from the frames that come, as any
 * switch does, and hands them over as a pair does. Packets of queue pairs that stay descriptors teach it nothing: where they
 * go is decided by the tables of addresses, once for all packets of a queue pair.
 *
 * Each poller has a switch of its own, and trunks join it to those of the others. What came from a trunk goes to no other one, but
 * for a frame that the sender's switch has sent there alone, and that is for a station which has moved since: that goes on once.
 */
#include <string.h>

#include "softrnic/base/random.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/receive.h"
#include "softrnic/receive/roce.h"
#include "softrnic/wire/switch.h"
#include "softrnic/wire/trunk.h"

#define SWITCH_ENDS    SOFTRNIC_SEGMENT_ENDS
#define SWITCH_MACS    1024
#define SWITCH_BUCKETS 2048u
/* Where a station is, behind the numbers of the ends: */
#define SWITCH_NOBODY SWITCH_ENDS
#define SWITCH_TRUNKS (SWITCH_NOBODY + 1) /* and the trunk's number */
/* A trunk that is full for longer loses frames: those of the switch's other ends have their rounds to keep. */
#define SWITCH_WAIT_NS UINT64_C(1000000)

struct switch_mac {
	uint64_t mac;
	unsigned int end;
	LIST_ENTRY(switch_mac) bucket;
	TAILQ_ENTRY(switch_mac) age; /* who was not seen for longest is the first */
};

struct wire_switch {
	struct softrnic_segment segment;
	uint64_t spread; /* odd and secret: which bucket a MAC is in */
	LIST_HEAD(, switch_mac) buckets[SWITCH_BUCKETS];
	TAILQ_HEAD(, switch_mac) ages;
	unsigned int macs_used;
	struct switch_mac macs[SWITCH_MACS];
};

/* ---- Who is where ---- */

static uint64_t
switch_mac_of(const uint8_t *bytes)
{
	uint64_t mac = 0;

	memcpy(&mac, bytes, 6);
	return mac;
}

static unsigned int
switch_bucket(const struct wire_switch *sw, uint64_t mac)
{
	return (unsigned int)(mac * sw->spread >> 53) % SWITCH_BUCKETS;
}

static struct switch_mac *
switch_find_mac(struct wire_switch *sw, uint64_t mac)
{
	struct switch_mac *entry;

	LIST_FOREACH(entry, &sw->buckets[switch_bucket(sw, mac)], bucket) {
		if (entry->mac == mac)
			return entry;
	}
	return NULL;
}

/* For a MAC that is new: one that is free, or the oldest. */
static struct switch_mac *
switch_add_mac(struct wire_switch *sw, uint64_t mac)
{
	struct switch_mac *entry;

	if (sw->macs_used < SWITCH_MACS) {
		entry = &sw->macs[sw->macs_used++];
	} else {
		entry = TAILQ_FIRST(&sw->ages);
		TAILQ_REMOVE(&sw->ages, entry, age);
		LIST_REMOVE(entry, bucket);
	}
	entry->mac = mac;
	LIST_INSERT_HEAD(&sw->buckets[switch_bucket(sw, mac)], entry, bucket);
	TAILQ_INSERT_TAIL(&sw->ages, entry, age);
	return entry;
}

static void
switch_learn(struct wire_switch *sw, const uint8_t *smac, unsigned int end)
{
	const uint64_t mac = switch_mac_of(smac);
	struct switch_mac *entry;

	/* No station has a group's address. */
	if ((smac[0] & 1) != 0)
		return;
	entry = switch_find_mac(sw, mac);
	if (entry == NULL) {
		entry = switch_add_mac(sw, mac);
	} else if (TAILQ_NEXT(entry, age) != NULL) {
		TAILQ_REMOVE(&sw->ages, entry, age);
		TAILQ_INSERT_TAIL(&sw->ages, entry, age);
	}
	entry->end = end;
}

/* What was learned of an end that has gone. */
static void
switch_forget(struct wire_switch *sw, unsigned int end)
{
	struct switch_mac *entry;

	TAILQ_FOREACH(entry, &sw->ages, age) {
		if (entry->end == end)
			entry->end = SWITCH_NOBODY;
	}
}

/* ---- The ends ---- */

static struct wire_switch *
switch_of(struct softrnic_segment *segment)
{
	return (struct wire_switch *)segment;
}

static void
switch_forget_trunk(struct softrnic_segment *segment, unsigned int trunk)
{
	switch_forget(switch_of(segment), SWITCH_TRUNKS + trunk);
}

static uint32_t switch_receive(struct softrnic_segment *segment, unsigned int trunk,
			       const struct softrnic_burst_frame *frames, uint32_t count);

static const struct softrnic_segment_ops switch_ops = {
	.wire = "switch",
	.bytes = sizeof(struct wire_switch),
	.ends_max = SWITCH_ENDS,
	.wait_ns = SWITCH_WAIT_NS,
	.receive = switch_receive,
	.forget = switch_forget_trunk,
};

static int
switch_open(struct softrnic *dev, const char *arg)
{
	struct softrnic_segment *segment;
	int rc = softrnic_segment_enter(dev, &switch_ops, arg, &segment);

	if (rc != 0)
		return rc;
	/* It is new. */
	if (switch_of(segment)->spread == 0) {
		switch_of(segment)->spread = softrnic_secret(dev) | 1;
		TAILQ_INIT(&switch_of(segment)->ages);
	}
	dev->wire_data = segment;
	return 0;
}

static void
switch_changed(struct softrnic *dev)
{
	softrnic_segment_changed(dev->wire_data);
}

static void
switch_close(struct softrnic *dev)
{
	struct softrnic_segment *segment = dev->wire_data;
	const unsigned int end = softrnic_segment_end(segment, dev);

	dev->wire_data = NULL;
	switch_forget(switch_of(segment), end);
	softrnic_segment_leave(dev, segment);
}

/* As on a pair: somebody is there to receive a frame. */
static bool
switch_is_up(const struct softrnic *dev)
{
	return softrnic_segment_is_up(dev->wire_data, dev);
}

/* ---- Frames ---- */

/* Its link is up, and its clock shows the sender's moment. */
static bool
switch_reaches(const struct softrnic *dev, struct softrnic *end)
{
	if (end == NULL || end == dev || !end->port.link_up)
		return false;
	end->now = dev->now + dev->power_on_ns - end->power_on_ns;
	return true;
}

/* Into all trunks but that one: how many. */
static unsigned int
switch_flood_trunks(struct softrnic *dev, struct softrnic_segment *segment, unsigned int but,
		    const struct softrnic_frame *frame, unsigned int how)
{
	unsigned int reached = 0, trunk;

	for (trunk = softrnic_trunk_next(segment, 0); trunk < SOFTRNIC_POLLERS;
	     trunk = softrnic_trunk_next(segment, trunk + 1)) {
		if (trunk == but)
			continue;
		softrnic_trunk_send(dev, segment, trunk, frame, how);
		reached++;
	}
	return reached;
}

static void
switch_flood(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_segment *segment = dev->wire_data;
	unsigned int reached = 0;

	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (!switch_reaches(dev, segment->ends[end]))
			continue;
		softrnic_eth_hand_over(segment->ends[end], frame);
		reached++;
	}
	reached += switch_flood_trunks(dev, segment, SOFTRNIC_POLLERS, frame, 0);
	dev->stats.wire_no_peer += reached == 0;
	/* The first one is what a frame costs who sends it on any wire. */
	if (reached > 1)
		softrnic_spend(dev, reached - 1);
}

void
softrnic_wire_switch_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_segment *segment = dev->wire_data;
	struct wire_switch *sw = switch_of(segment);
	const struct switch_mac *entry = NULL;
	uint8_t room[12], macs[12];

	/* Once: memory of others may change. */
	memcpy(macs, softrnic_frame_head(frame, room, sizeof(room)), sizeof(macs));
	switch_learn(sw, macs + 6, softrnic_segment_end(segment, dev));
	if ((macs[0] & 1) == 0)
		entry = switch_find_mac(sw, switch_mac_of(macs));
	if (entry == NULL || entry->end == SWITCH_NOBODY)
		switch_flood(dev, frame);
	else if (entry->end >= SWITCH_TRUNKS && segment->trunks[entry->end - SWITCH_TRUNKS].up)
		softrnic_trunk_send(dev, segment, entry->end - SWITCH_TRUNKS, frame,
				    SOFTRNIC_TRUNK_ALONE);
	else if (entry->end < SWITCH_NOBODY && switch_reaches(dev, segment->ends[entry->end]))
		softrnic_eth_hand_over(segment->ends[entry->end], frame);
	else
		dev->stats.wire_no_peer++;
}

/* To the end that a frame from another poller's switch is for, or to all: how many it reached. */
static unsigned int
switch_deliver(struct softrnic_segment *segment, unsigned int to,
	       const struct softrnic_frame *frame)
{
	unsigned int reached = 0;

	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (segment->ends[end] == NULL || (to != SWITCH_NOBODY && to != end) ||
		    !segment->ends[end]->port.link_up)
			continue;
		softrnic_eth_receive(segment->ends[end], frame);
		reached++;
	}
	return reached;
}

/*
 * A frame that came here alone, to look for a station that is not here: it goes where that is known to be, or to all who have not
 * seen it. Returns whether it goes anywhere.
 */
static unsigned int
switch_forward(struct softrnic *payer, struct softrnic_segment *segment, unsigned int from,
	       const struct switch_mac *entry, const struct softrnic_frame *frame)
{
	unsigned int trunk;

	if (entry == NULL || entry->end == SWITCH_NOBODY)
		return switch_flood_trunks(payer, segment, from, frame, SOFTRNIC_TRUNK_FORWARDED);
	if (entry->end < SWITCH_TRUNKS)
		return 0;
	trunk = entry->end - SWITCH_TRUNKS;
	if (trunk == from || !segment->trunks[trunk].up)
		return 0;
	softrnic_trunk_send(payer, segment, trunk, frame, SOFTRNIC_TRUNK_FORWARDED);
	return 1;
}

/* Returns how many ends and trunks it goes to. */
static unsigned int
switch_take(struct softrnic *payer, struct softrnic_segment *segment, unsigned int trunk,
	    const struct softrnic_burst_frame *from)
{
	struct wire_switch *sw = switch_of(segment);
	const struct switch_mac *entry = NULL;
	struct softrnic_frame frame;
	unsigned int reached = 0;

	/* Who sent it is elsewhere, if it was sent on. */
	if ((from->end & SOFTRNIC_TRUNK_FORWARDED) == 0)
		switch_learn(sw, from->bytes + 6, SWITCH_TRUNKS + trunk);
	if (from->class == SOFTRNIC_ETH_UNICAST)
		entry = switch_find_mac(sw, switch_mac_of(from->bytes));
	softrnic_burst_alone(from, &frame);
	if (entry == NULL || entry->end <= SWITCH_NOBODY)
		reached =
			switch_deliver(segment, entry != NULL ? entry->end : SWITCH_NOBODY, &frame);
	if ((from->end & SOFTRNIC_TRUNK_ALONE) == 0)
		return reached;
	if (entry == NULL || entry->end >= SWITCH_NOBODY)
		reached += switch_forward(payer, segment, trunk, entry, &frame);
	/* Of a frame that goes to several it is no loss that nobody here takes it. */
	if (reached == 0)
		softrnic_trunk_lost(segment, trunk, from);
	return reached;
}

static uint32_t
switch_receive(struct softrnic_segment *segment, unsigned int trunk,
	       const struct softrnic_burst_frame *frames, uint32_t count)
{
	struct softrnic *payer = softrnic_segment_payer(segment);
	uint32_t taken;

	for (taken = 0; taken < count && !softrnic_share_is_over(payer); taken++) {
		unsigned int reached = switch_take(payer, segment, trunk, &frames[taken]);

		softrnic_spend(payer, reached > 1 ? reached : 1);
	}
	return taken;
}

/* ---- Packets of queue pairs ---- */

enum softrnic_roce_route
softrnic_wire_switch_route(struct softrnic *dev, const struct rocev2_frame *head)
{
	const struct softrnic_segment *segment = dev->wire_data;

	/* A group's packets are for all ends that take them. */
	if ((head->dmac[0] & 1) != 0)
		return SOFTRNIC_ROCE_BYTES;
	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (segment->ends[end] != NULL && segment->ends[end] != dev &&
		    softrnic_roce_takes(segment->ends[end], head))
			return (enum softrnic_roce_route)(SOFTRNIC_ROCE_ENDS + end);
	}
	return SOFTRNIC_ROCE_BYTES;
}

struct softrnic *
softrnic_wire_switch_end(struct softrnic *dev, enum softrnic_roce_route route)
{
	const struct softrnic_segment *segment = dev->wire_data;
	struct softrnic *end = segment->ends[route - SOFTRNIC_ROCE_ENDS];

	if (switch_reaches(dev, end))
		return end;
	dev->stats.wire_no_peer++;
	return NULL;
}

const struct softrnic_wire_ops softrnic_wire_switch = {
	.name = "switch",
	.open = switch_open,
	.close = switch_close,
	.is_up = switch_is_up,
	.changed = switch_changed,
};
