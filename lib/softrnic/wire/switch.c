/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A switch: the first device to name it makes it, others plug in. It learns who is where from the frames that come, as any
 * switch does, and hands them over as a pair does. Packets of queue pairs that stay descriptors teach it nothing: where they
 * go is decided by the tables of addresses, once for all packets of a queue pair.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/random.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/receive.h"
#include "softrnic/receive/roce.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/switch.h"

#define SWITCH_NAME_BYTES 64
#define SWITCH_ENDS	  64
#define SWITCH_MACS	  1024
#define SWITCH_BUCKETS	  2048u
#define SWITCH_NOBODY	  SWITCH_ENDS

struct switch_mac {
	uint64_t mac;
	unsigned int end;
	LIST_ENTRY(switch_mac) bucket;
	TAILQ_ENTRY(switch_mac) age; /* who was not seen for longest is the first */
};

struct wire_switch {
	char name[SWITCH_NAME_BYTES];
	struct softrnic *ends[SWITCH_ENDS]; /* NULL: free */
	unsigned int ends_count;
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
switch_of(const struct softrnic *dev)
{
	return dev->wire == &softrnic_wire_switch ? dev->wire_data : NULL;
}

static unsigned int
switch_number(const struct wire_switch *sw, const struct softrnic *dev)
{
	unsigned int end = 0;

	while (end < SWITCH_ENDS && sw->ends[end] != dev)
		end++;
	return end;
}

static struct wire_switch *
switch_find(struct softrnic *dev, const char *name)
{
	struct softrnic *other;
	struct wire_switch *sw;

	for (other = softrnic_poller_first(dev->poller); other != NULL;
	     other = softrnic_poller_next(other)) {
		sw = other == dev ? NULL : switch_of(other);
		if (sw != NULL && strcmp(sw->name, name) == 0)
			return sw;
	}
	return NULL;
}

static struct wire_switch *
switch_create(struct softrnic *dev, const char *name)
{
	struct wire_switch *sw = calloc(1, sizeof(*sw));

	if (sw == NULL)
		return NULL;
	memcpy(sw->name, name, strlen(name) + 1);
	sw->spread = softrnic_secret(dev) | 1;
	TAILQ_INIT(&sw->ages);
	return sw;
}

static int
switch_open(struct softrnic *dev, const char *arg)
{
	struct wire_switch *sw;

	if (arg == NULL || arg[0] == '\0' || strlen(arg) >= SWITCH_NAME_BYTES) {
		SOFTRNIC_LOG(ERR, dev,
			     "wire \"switch\" needs a name of at most %d bytes: switch:NAME",
			     SWITCH_NAME_BYTES - 1);
		return -EINVAL;
	}
	sw = switch_find(dev, arg);
	if (sw == NULL)
		sw = switch_create(dev, arg);
	if (sw == NULL)
		return -ENOMEM;
	if (sw->ends_count == SWITCH_ENDS) {
		SOFTRNIC_LOG(ERR, dev, "switch \"%s\" already has %d ends", arg, SWITCH_ENDS);
		return -EEXIST;
	}
	sw->ends[switch_number(sw, NULL)] = dev;
	sw->ends_count++;
	dev->wire_data = sw;
	return 0;
}

/* The link of each of the others may be another one now. */
static void
switch_changed(struct softrnic *dev)
{
	struct wire_switch *sw = dev->wire_data;

	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (sw->ends[end] != NULL && sw->ends[end] != dev)
			softrnic_link_update(sw->ends[end]);
	}
}

static void
switch_close(struct softrnic *dev)
{
	struct wire_switch *sw = dev->wire_data;
	const unsigned int number = switch_number(sw, dev);

	sw->ends[number] = NULL;
	switch_forget(sw, number);
	if (--sw->ends_count == 0)
		free(sw);
	else
		switch_changed(dev);
	dev->wire_data = NULL;
}

/* As on a pair: somebody is there to receive a frame. */
static bool
switch_is_up(const struct softrnic *dev)
{
	const struct wire_switch *sw = dev->wire_data;

	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (sw->ends[end] != NULL && sw->ends[end] != dev &&
		    softrnic_port_enabled(sw->ends[end]))
			return true;
	}
	return false;
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

static void
switch_flood(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct wire_switch *sw = dev->wire_data;
	unsigned int reached = 0;

	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (!switch_reaches(dev, sw->ends[end]))
			continue;
		softrnic_eth_hand_over(sw->ends[end], frame);
		reached++;
	}
	dev->stats.wire_no_peer += reached == 0;
	/* The first one is what a frame costs who sends it on any wire. */
	if (reached > 1)
		softrnic_spend(dev, reached - 1);
}

void
softrnic_wire_switch_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct wire_switch *sw = dev->wire_data;
	const struct switch_mac *entry = NULL;
	uint8_t room[12], macs[12];

	/* Once: memory of others may change. */
	memcpy(macs, softrnic_frame_head(frame, room, sizeof(room)), sizeof(macs));
	switch_learn(sw, macs + 6, switch_number(sw, dev));
	if ((macs[0] & 1) == 0)
		entry = switch_find_mac(sw, switch_mac_of(macs));
	if (entry == NULL || entry->end == SWITCH_NOBODY)
		switch_flood(dev, frame);
	else if (switch_reaches(dev, sw->ends[entry->end]))
		softrnic_eth_hand_over(sw->ends[entry->end], frame);
	else
		dev->stats.wire_no_peer++;
}

/* ---- Packets of queue pairs ---- */

enum softrnic_roce_route
softrnic_wire_switch_route(struct softrnic *dev, const struct rocev2_frame *head)
{
	struct wire_switch *sw = dev->wire_data;

	/* A group's packets are for all ends that take them. */
	if ((head->dmac[0] & 1) != 0)
		return SOFTRNIC_ROCE_BYTES;
	for (unsigned int end = 0; end < SWITCH_ENDS; end++) {
		if (sw->ends[end] != NULL && sw->ends[end] != dev &&
		    softrnic_roce_takes(sw->ends[end], head))
			return (enum softrnic_roce_route)(SOFTRNIC_ROCE_ENDS + end);
	}
	return SOFTRNIC_ROCE_BYTES;
}

struct softrnic *
softrnic_wire_switch_end(struct softrnic *dev, enum softrnic_roce_route route)
{
	struct wire_switch *sw = dev->wire_data;
	struct softrnic *end = sw->ends[route - SOFTRNIC_ROCE_ENDS];

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
