/* SPDX-License-Identifier: BSD-3-Clause */

/* The tables of objects: a number, an owner, and how many others lean on it. */
#include <errno.h>
#include <stdlib.h>

#include "prm/cmd.h"
#include "prm/init_seg.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/random.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/tunables.h"

/*
 * First number and greatest count of each type. First numbers differ where nothing else prescribes them, so that a
 * driver that mixes two up is told so. UARs and EQs start where a ConnectX-4 Lx starts; the numbers of EQs and counter
 * sets have 8 bits. Quirks may have UARs begin elsewhere.
 */
static const struct {
	uint32_t first, size;
} limits[SOFTRNIC_OBJECT_TYPES] = {
	[SOFTRNIC_PD] = { 0x20, 1 << 12 },
	[SOFTRNIC_TD] = { 0x40, 1 << 8 },
	[SOFTRNIC_UAR] = { RNIC_FIRST_UAR, SOFTRNIC_UAR_PAGES },
	[SOFTRNIC_MKEY] = { 0x100, 1 << 16 },
	[SOFTRNIC_EQ] = { 0x10, 1 << 7 },
	[SOFTRNIC_CQ] = { 0x400, 1 << 14 },
	[SOFTRNIC_TIS] = { 0x60, 1 << 10 },
	[SOFTRNIC_TIR] = { 0x80, 1 << 12 },
	[SOFTRNIC_RQT] = { 0xc0, 1 << 10 },
	[SOFTRNIC_SQ] = { 0x1000, 1 << 13 },
	[SOFTRNIC_RQ] = { 0x8000, 1 << 13 },
	[SOFTRNIC_Q_COUNTER] = { 0x08, 1 << 6 },
	[SOFTRNIC_FLOW_TABLE] = { 0x01, 1 << 9 },
	[SOFTRNIC_QP] = { 0x4000, 1 << 13 },
	[SOFTRNIC_RMP] = { 0x6000, 1 << 12 },
	[SOFTRNIC_XRCD] = { 0xe0, 1 << 10 },
	[SOFTRNIC_UCTX] = { 0x01, 1 << 8 },
	[SOFTRNIC_UMEM] = { 0x200, 1 << 14 },
	[SOFTRNIC_FLOW_COUNTER] = { 0x01, SOFTRNIC_MAX_FLOW_COUNTERS },
};

/* Numbers of these are given again at once; those of the rest go round, so that a stale one is noticed. */
static bool
object_lowest_first(enum softrnic_object_type type)
{
	return type == SOFTRNIC_UAR || type == SOFTRNIC_EQ;
}

/*
 * Part of what keeps a peer out: a memory key must be unlikely to be hit. All numbers come once, in an order that no peer
 * knows, before any comes again.
 */
static bool
object_shuffled(enum softrnic_object_type type)
{
	return type == SOFTRNIC_MKEY;
}

uint32_t
softrnic_object_limit(enum softrnic_object_type type)
{
	return limits[type].size;
}

int
softrnic_objects_init(struct softrnic *dev)
{
	const uint32_t left = softrnic_tunables.numbers;

	for (unsigned int type = 0; type < SOFTRNIC_OBJECT_TYPES; type++) {
		struct softrnic_object_table *table = &dev->tables[type];

		table->first =
			type == SOFTRNIC_UAR ? softrnic_quirks_first_uar(dev) : limits[type].first;
		table->size = limits[type].size;
		table->next = left == 0 ? 0 : table->size - left;
		table->slots = calloc(table->size, sizeof(*table->slots));
		if (table->slots == NULL)
			return -ENOMEM;
		if (!object_shuffled(type))
			continue;
		table->order = calloc(table->size, sizeof(*table->order));
		table->position = calloc(table->size, sizeof(*table->position));
		if (table->order == NULL || table->position == NULL)
			return -ENOMEM;
		table->fresh = left == 0 ? table->size : left;
	}
	return 0;
}

void
softrnic_objects_fini(struct softrnic *dev)
{
	for (unsigned int type = 0; type < SOFTRNIC_OBJECT_TYPES; type++) {
		free(dev->tables[type].slots);
		free(dev->tables[type].order);
		free(dev->tables[type].position);
		dev->tables[type].slots = NULL;
		dev->tables[type].order = dev->tables[type].position = NULL;
	}
}

/* The slots at two positions swap. */
static void
object_swap(struct softrnic_object_table *table, uint32_t a, uint32_t b)
{
	uint32_t slot_a = table->order[a] ^ a, slot_b = table->order[b] ^ b;

	table->order[a] = slot_b ^ a;
	table->order[b] = slot_a ^ b;
	table->position[slot_a] = b ^ slot_a;
	table->position[slot_b] = a ^ slot_b;
}

/*
 * Shuffled slots stand in this order: the `fresh` ones, free and not drawn since all of them were; free ones that have been
 * used since; those in use. So a draw takes one step (of Fisher's and Yates's shuffle), however few are free.
 */
static uint32_t
object_draw(struct softrnic *dev, struct softrnic_object_table *table)
{
	uint32_t free = table->size - table->used;

	if (table->fresh == 0)
		table->fresh = free;
	table->fresh--;
	object_swap(table, (uint32_t)(softrnic_secret(dev) % (table->fresh + 1)), table->fresh);
	object_swap(table, table->fresh, free - 1);
	return table->order[free - 1] ^ (free - 1);
}

/* Behind the other free ones; it counts among those in use still. */
static void
object_give_back(struct softrnic_object_table *table, uint32_t slot)
{
	object_swap(table, table->position[slot] ^ slot, table->size - table->used);
}

/* A user context has references from all that was created on its behalf. */
static void
object_belongs(struct softrnic *dev, const struct softrnic_object *object, int change)
{
	struct softrnic_object *owner = softrnic_object_get(dev, SOFTRNIC_UCTX, object->uid);

	if (owner != NULL)
		owner->refs += (uint32_t)change;
}

int
softrnic_object_add(struct softrnic *dev, enum softrnic_object_type type,
		    struct softrnic_object *object)
{
	struct softrnic_object_table *table = &dev->tables[type];
	uint32_t at = object_lowest_first(type) ? 0 : table->next;

	if (table->used == table->size)
		return RNIC_STATUS_LIM;
	if (object_shuffled(type)) {
		at = object_draw(dev, table);
	} else {
		while (table->slots[at] != NULL)
			at = (at + 1) % table->size;
		table->next = (at + 1) % table->size;
	}
	table->slots[at] = object;
	table->used++;
	object->number = table->first + at;
	object->type = type;
	object->refs = 0;
	object->uid = dev->uid;
	object_belongs(dev, object, 1);
	return RNIC_STATUS_OK;
}

void *
softrnic_object_get(struct softrnic *dev, enum softrnic_object_type type, uint32_t number)
{
	const struct softrnic_object_table *table = &dev->tables[type];

	/* A number below the first wraps to a large one. */
	number -= table->first;
	return number < table->size ? table->slots[number] : NULL;
}

void *
softrnic_object_find(struct softrnic *dev, enum softrnic_object_type type, uint32_t number)
{
	struct softrnic_object *object = softrnic_object_get(dev, type, number);

	if (object == NULL || !softrnic_is_users(dev) || object->uid == dev->uid ||
	    object->uid == RNIC_UID_SHARED)
		return object;
	return NULL;
}

void *
softrnic_object_next(struct softrnic *dev, enum softrnic_object_type type, uint32_t *number)
{
	const struct softrnic_object_table *table = &dev->tables[type];
	uint32_t at = *number < table->first ? 0 : *number - table->first;

	for (; table->used > 0 && at < table->size; at++) {
		if (table->slots[at] != NULL) {
			*number = table->first + at + 1;
			return table->slots[at];
		}
	}
	return NULL;
}

void
softrnic_object_remove(struct softrnic *dev, struct softrnic_object *object)
{
	struct softrnic_object_table *table = &dev->tables[object->type];

	if (object_shuffled(object->type))
		object_give_back(table, object->number - table->first);
	table->slots[object->number - table->first] = NULL;
	table->used--;
	object_belongs(dev, object, -1);
}

void
softrnic_object_drop(struct softrnic *dev, struct softrnic_object *object)
{
	softrnic_object_remove(dev, object);
	softrnic_free(dev, object);
}
