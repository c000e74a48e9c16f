/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of neighbours: found by a hash; in order of use, so that the one that was not used for longest makes room. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "neigh/packet.h"
#include "neigh/table.h"

#define BUCKETS 1024u /* a power of two */

enum state {
	STATE_FREE,
	STATE_ASKED,
	STATE_KNOWN,
	STATE_CHECKED,
	STATE_FAILED,
};

struct entry {
	uint8_t gid[16];
	uint8_t own[16]; /* who asks for it */
	uint8_t mac[6];
	uint16_t vlan;
	uint8_t state, tries;
	bool tell;
	uint64_t
		at_us; /* ASKED, CHECKED: of the next try. KNOWN: of the last answer. FAILED: until then */
	LIST_ENTRY(entry) next;	      /* of its bucket; of those that are free */
	TAILQ_ENTRY(entry) next_used; /* the one not used for longest is the first */
	TAILQ_ENTRY(entry) next_due;  /* ASKED, CHECKED: the next one to try is the first */
};
LIST_HEAD(entry_list, entry);
TAILQ_HEAD(entry_queue, entry);

struct rnic_neigh_table {
	struct entry entries[RNIC_NEIGH_ENTRIES];
	struct entry_list buckets[BUCKETS], free;
	struct entry_queue used, due;
	uint32_t count;
};

struct rnic_neigh_table *
rnic_neigh_table_new(void)
{
	struct rnic_neigh_table *table = calloc(1, sizeof(*table));
	uint32_t i;

	if (table == NULL)
		return NULL;
	TAILQ_INIT(&table->used);
	TAILQ_INIT(&table->due);
	for (i = 0; i < RNIC_NEIGH_ENTRIES; i++)
		LIST_INSERT_HEAD(&table->free, &table->entries[i], next);
	return table;
}

void
rnic_neigh_table_free(struct rnic_neigh_table *table)
{
	free(table);
}

/* ---- Entries ---- */

/* Who chooses addresses for look-ups is the application: no hash of secrets is needed. */
static struct entry_list *
bucket_of(struct rnic_neigh_table *table, const uint8_t gid[16])
{
	uint64_t low, high;

	memcpy(&high, gid, sizeof(high));
	memcpy(&low, gid + 8, sizeof(low));
	return &table->buckets[(low ^ high * 31) * UINT64_C(0x9e3779b97f4a7c15) >> 54 &
			       (BUCKETS - 1)];
}

static struct entry *
entry_find(struct rnic_neigh_table *table, const uint8_t gid[16], uint16_t vlan)
{
	struct entry *entry;

	LIST_FOREACH(entry, bucket_of(table, gid), next)
		if (entry->vlan == vlan && memcmp(entry->gid, gid, sizeof(entry->gid)) == 0)
			return entry;
	return NULL;
}

static bool
is_due(const struct entry *entry)
{
	return entry->state == STATE_ASKED || entry->state == STATE_CHECKED;
}

/* Into another state: only those that are tried again are in the queue. */
static void
entry_become(struct rnic_neigh_table *table, struct entry *entry, enum state state, uint64_t at_us)
{
	if (is_due(entry))
		TAILQ_REMOVE(&table->due, entry, next_due);
	entry->state = (uint8_t)state;
	entry->at_us = at_us;
	/* All tries are as far apart: the last one that is tried is the last one to be tried again. */
	if (is_due(entry))
		TAILQ_INSERT_TAIL(&table->due, entry, next_due);
}

static void
entry_drop(struct rnic_neigh_table *table, struct entry *entry)
{
	entry_become(table, entry, STATE_FREE, 0);
	TAILQ_REMOVE(&table->used, entry, next_used);
	LIST_REMOVE(entry, next);
	LIST_INSERT_HEAD(&table->free, entry, next);
	table->count--;
}

/* A free one; or the one that was not used for longest, unless somebody waits for it. */
static struct entry *
entry_take(struct rnic_neigh_table *table)
{
	struct entry *entry;

	if (LIST_EMPTY(&table->free)) {
		TAILQ_FOREACH(entry, &table->used, next_used)
			if (entry->state != STATE_ASKED)
				break;
		if (entry != NULL)
			entry_drop(table, entry);
	}
	entry = LIST_FIRST(&table->free);
	if (entry != NULL)
		LIST_REMOVE(entry, next);
	return entry;
}

static struct entry *
entry_new(struct rnic_neigh_table *table, const uint8_t gid[16], uint16_t vlan)
{
	struct entry *entry = entry_take(table);

	if (entry == NULL)
		return NULL;
	*entry = (struct entry){ .state = STATE_FREE, .vlan = vlan };
	memcpy(entry->gid, gid, sizeof(entry->gid));
	LIST_INSERT_HEAD(bucket_of(table, gid), entry, next);
	TAILQ_INSERT_TAIL(&table->used, entry, next_used);
	table->count++;
	return entry;
}

/* It is used now. */
static void
entry_touch(struct rnic_neigh_table *table, struct entry *entry)
{
	TAILQ_REMOVE(&table->used, entry, next_used);
	TAILQ_INSERT_TAIL(&table->used, entry, next_used);
}

/* ---- Look-ups ---- */

/* One more try. */
static void
entry_ask(struct rnic_neigh_table *table, struct entry *entry, enum state state, uint64_t now_us,
	  struct rnic_neigh_ask *ask)
{
	entry->tries++;
	entry_become(table, entry, state, now_us + RNIC_NEIGH_TRY_US);
	*ask = (struct rnic_neigh_ask){ .vlan = entry->vlan, .alone = state == STATE_CHECKED };
	memcpy(ask->target, entry->gid, sizeof(ask->target));
	memcpy(ask->own, entry->own, sizeof(ask->own));
	memcpy(ask->mac, entry->mac, sizeof(ask->mac));
}

static bool
is_asked_now(const struct entry *entry, uint64_t now_us)
{
	switch (entry->state) {
	case STATE_FREE: return true;
	case STATE_KNOWN: return now_us - entry->at_us >= RNIC_NEIGH_KNOWN_US;
	case STATE_FAILED: return now_us >= entry->at_us;
	default: return false;
	}
}

static int
entry_answer(const struct entry *entry, uint8_t mac[6])
{
	if (entry->state == STATE_ASKED)
		return -EINPROGRESS;
	if (entry->state == STATE_FAILED)
		return -EHOSTUNREACH;
	memcpy(mac, entry->mac, sizeof(entry->mac));
	return 0;
}

int
rnic_neigh_table_find(struct rnic_neigh_table *table, const uint8_t gid[16], uint16_t vlan,
		      const uint8_t own[16], uint64_t now_us, bool tell, uint8_t mac[6],
		      struct rnic_neigh_ask *ask, bool *asks)
{
	struct entry *entry = entry_find(table, gid, vlan);

	*asks = false;
	if (entry == NULL)
		entry = entry_new(table, gid, vlan);
	if (entry == NULL)
		return -ENOSPC;
	entry_touch(table, entry);
	*asks = is_asked_now(entry, now_us);
	if (*asks) {
		entry->tries = 0;
		memcpy(entry->own, own, sizeof(entry->own));
		entry_ask(table, entry, entry->state == STATE_KNOWN ? STATE_CHECKED : STATE_ASKED,
			  now_us, ask);
	}
	if (entry->state == STATE_ASKED)
		entry->tell |= tell;
	return entry_answer(entry, mac);
}

/* ---- What others say ---- */

/* Who waits for an entry has something to hear. */
static unsigned int
news_of(struct entry *entry, unsigned int was)
{
	const bool tell = entry->tell;

	if (was != STATE_ASKED)
		return 0;
	entry->tell = false;
	return RNIC_NEIGH_WAITERS | (tell ? RNIC_NEIGH_EVENT : 0u);
}

/* Of a MAC that is known already: the same one, or another in its place. */
static void
entry_hear(struct rnic_neigh_table *table, struct entry *entry,
	   const struct rnic_neigh_message *message, uint64_t now_us)
{
	const bool same =
		!message->has_mac || memcmp(entry->mac, message->mac, sizeof(entry->mac)) == 0;

	if (same && message->answers && message->solicited)
		entry_become(table, entry, STATE_KNOWN, now_us);
	if (same || !message->override)
		return;
	memcpy(entry->mac, message->mac, sizeof(entry->mac));
	/* It was not asked: the next look-up asks it. */
	entry_become(table, entry, STATE_KNOWN,
		     message->answers && message->solicited ? now_us
							    : now_us - RNIC_NEIGH_KNOWN_US);
}

unsigned int
rnic_neigh_table_hear(struct rnic_neigh_table *table, const struct rnic_neigh_message *message,
		      uint64_t now_us)
{
	struct entry *entry =
		message->has_gid ? entry_find(table, message->gid, message->vlan) : NULL;
	const unsigned int was = entry != NULL ? entry->state : (unsigned int)STATE_FREE;

	if (was == STATE_KNOWN || was == STATE_CHECKED) {
		entry_hear(table, entry, message, now_us);
		return 0;
	}
	if (entry == NULL || !message->has_mac)
		return 0;
	memcpy(entry->mac, message->mac, sizeof(entry->mac));
	entry_become(table, entry, STATE_KNOWN, now_us);
	return news_of(entry, was);
}

/* ---- Time ---- */

bool
rnic_neigh_table_due(struct rnic_neigh_table *table, uint64_t now_us, struct rnic_neigh_ask *ask,
		     unsigned int *news)
{
	struct entry *entry;

	*news = 0;
	while ((entry = TAILQ_FIRST(&table->due)) != NULL && now_us >= entry->at_us) {
		if (entry->tries < RNIC_NEIGH_TRIES) {
			entry_ask(table, entry, (enum state)entry->state, now_us, ask);
			return true;
		}
		if (entry->state == STATE_CHECKED) {
			entry_drop(table, entry);
			continue;
		}
		entry_become(table, entry, STATE_FAILED, now_us + RNIC_NEIGH_FAILED_US);
		*news |= news_of(entry, STATE_ASKED);
	}
	return false;
}

unsigned int
rnic_neigh_table_fail(struct rnic_neigh_table *table, uint64_t now_us)
{
	struct entry *entry, *next;
	unsigned int news = 0;

	for (entry = TAILQ_FIRST(&table->due); entry != NULL; entry = next) {
		next = TAILQ_NEXT(entry, next_due);
		if (entry->state != STATE_ASKED)
			continue;
		entry_become(table, entry, STATE_FAILED, now_us + RNIC_NEIGH_FAILED_US);
		news |= news_of(entry, STATE_ASKED);
	}
	return news;
}

bool
rnic_neigh_table_busy(const struct rnic_neigh_table *table)
{
	return !TAILQ_EMPTY(&table->due);
}

uint32_t
rnic_neigh_table_count(const struct rnic_neigh_table *table)
{
	return table->count;
}
