/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A long cable: each frame takes the same time, so they arrive in the order in which they were sent. Copies lie one behind
 * the other in a ring of bytes; none is cut where the ring begins anew.
 */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/work.h"
#include "softrnic/wire/delay.h"
#include "softrnic/wire/kept.h"

#define DELAY_ALIGN 64u

struct delay_entry {
	uint64_t due;	/* dev->now of its arrival */
	uint32_t bytes; /* of the ring: to the next one */
	struct softrnic_kept kept;
	uint8_t data[];
};

int
softrnic_delay_init(struct softrnic_delay *delay, uint32_t us)
{
	if (us == 0)
		return 0;
	delay->ns = us * UINT64_C(1000);
	delay->room = aligned_alloc(DELAY_ALIGN, SOFTRNIC_DELAY_ROOM);
	return delay->room != NULL ? 0 : -ENOMEM;
}

void
softrnic_delay_fini(struct softrnic_delay *delay)
{
	free(delay->room);
	delay->room = NULL;
}

/* Behind the newest one, or in front of the oldest one; NULL: there is no room. */
static struct delay_entry *
delay_find_room(struct softrnic_delay *delay, uint32_t bytes)
{
	if (delay->count == 0)
		delay->head = delay->tail = delay->end = 0;
	if (delay->end != 0) {
		if (bytes > delay->head - delay->tail)
			return NULL;
	} else if (bytes > SOFTRNIC_DELAY_ROOM - delay->tail) {
		if (bytes > delay->head)
			return NULL;
		delay->end = delay->tail;
		delay->tail = 0;
	}
	return (struct delay_entry *)(delay->room + delay->tail);
}

static struct delay_entry *
delay_add(struct softrnic *dev, uint32_t data_bytes)
{
	struct softrnic_delay *delay = &dev->faults->delay;
	uint32_t bytes = (uint32_t)sizeof(struct delay_entry) + data_bytes;
	struct delay_entry *entry;

	bytes = (bytes + DELAY_ALIGN - 1) / DELAY_ALIGN * DELAY_ALIGN;
	entry = delay_find_room(delay, bytes);
	if (entry == NULL) {
		dev->stats.wire_dropped++;
		return NULL;
	}
	entry->due = dev->now + delay->ns;
	entry->bytes = bytes;
	delay->tail += bytes;
	delay->count++;
	return entry;
}

void
softrnic_delay_put(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct delay_entry *entry = delay_add(dev, frame->length);

	if (entry != NULL)
		softrnic_kept_take(&entry->kept, frame, entry->data);
}

void
softrnic_delay_put_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct delay_entry *entry = delay_add(dev, softrnic_kept_payload(frame->pkt));

	if (entry != NULL)
		softrnic_kept_take_roce(dev, &entry->kept, frame, entry->data);
}

unsigned int
softrnic_delay_poll(struct softrnic *dev)
{
	struct softrnic_delay *delay = &dev->faults->delay;
	struct delay_entry *entry;
	unsigned int done = 0;
	uint64_t now;

	if (delay->count == 0)
		return 0;
	/* Nothing else may have looked at the clock of late, and time never goes back for who receives. */
	now = softrnic_now_ns();
	dev->now = now - dev->power_on_ns;
	softrnic_share_set_end(dev, now + SOFTRNIC_SHARE_NS);
	while (delay->count > 0 && !dev->wire_busy && !softrnic_share_is_over(dev)) {
		entry = (struct delay_entry *)(delay->room + delay->head);
		if (entry->due > dev->now)
			break;
		softrnic_kept_send(dev, &entry->kept);
		softrnic_spend(dev, 1);
		done++;
		/* What it led to may have taken the link, and all that was under way. */
		if (delay->count == 0)
			break;
		delay->count--;
		delay->head += entry->bytes;
		if (delay->head == delay->end)
			delay->head = delay->end = 0;
	}
	/* The thread that polls must not sleep over the next one. */
	return done + (delay->count > 0);
}
