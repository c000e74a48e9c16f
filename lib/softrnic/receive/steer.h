/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Flow tables as the device walks them (steer.c) and as commands build them (flow.c).
 *
 * A frame's headers become one key in the layout of the PRM's match set; a group is a mask over such keys, and its
 * entries are found by a hash of the masked key. Masks and keys stay in wire order: nothing here computes with them.
 *
 * The driver decides how long all of this is. So the device has limits for all tables together, one hash with a secret key for all
 * entries, and a frame or command spends what it walks from the budget of the poll.
 */
#ifndef SOFTRNIC_STEER_H
#define SOFTRNIC_STEER_H

#include <string.h>

#include <rte_branch_prediction.h>

#include "prm/flow.h"
#include "softrnic/base/device.h"
#include "softrnic/base/sizes.h"
#include "softrnic/port/frame.h"

struct softrnic_flow_count;
struct softrnic_flow_counter;
struct softrnic_rq;
struct softrnic_tir;

/* What would become of a frame that came now? For wires that can wait. */
enum softrnic_eth_room {
	SOFTRNIC_ETH_NOBODY, /* no queue wants it */
	SOFTRNIC_ETH_FULL,   /* a queue that wants it has no WQE */
	SOFTRNIC_ETH_ROOM,   /* it is received, or is an error */
};

#define STEER_KEY_WORDS	 8 /* of 64 bits: struct rnic_fte_match_set_lyr_2_4 */
#define STEER_TIRS_MAX	 64
#define STEER_COUNTS_MAX 64   /* of the entries that a frame meets, the first ones count */
#define STEER_GROUPS_MAX 1024 /* of a table */
/* Of all tables: a frame may meet each of them. */
#define STEER_DEVICE_GROUPS_MAX 2048
/* Chains of entries by their flow index; there are no more entries than that. */
#define STEER_INDEX_LOG SOFTRNIC_LOG_MAX_FLOW

/* Of one frame, from table to table, group to group and entry to entry. One that takes more goes nowhere. */
#define STEER_STEPS_MAX 16384

struct steer_key {
	uint64_t words[STEER_KEY_WORDS];
};
_Static_assert(sizeof(struct steer_key) == sizeof(struct rnic_fte_match_set_lyr_2_4), "key size");

struct flow_entry {
	struct flow_entry *next;	/* same bucket, lower flow index first */
	const struct flow_group *group; /* whose it is */
	struct flow_entry *same;	/* next in the chain of its index */
	LIST_ENTRY(flow_entry) link;	/* of the group, in no order */
	struct steer_key value;		/* masked by the group */
	uint32_t hash, index, tag;	/* index: flow index in the table */
	uint16_t action;
	bool indirect;			   /* some TIR is */
	bool any_level;			   /* `table` need not be of a higher one */
	struct softrnic_flow_table *table; /* forward destination, or NULL */
	struct softrnic_tir **tirs;
	uint32_t tir_count;
	struct softrnic_flow_count *count;     /* where it counts, or NULL */
	struct softrnic_flow_counter *counter; /* whose that is */
	struct rnic_flow_context context;      /* as set, for queries */
};

struct flow_group {
	TAILQ_ENTRY(flow_group) link; /* of the table, by start */
	LIST_ENTRY(flow_group) all;   /* of the device */
	uint32_t id, start, end;
	uint8_t criteria; /* match_criteria_enable */
	bool cacheable;	  /* looks no further than the cache does */
	struct steer_key mask;
	uint8_t words[STEER_KEY_WORDS]; /* which words of the mask are not zero */
	uint32_t word_count, entry_count;
	LIST_HEAD(, flow_entry) entries;
	struct rnic_fte_match_param match;
};

struct softrnic_flow_table {
	struct softrnic_object object;
	uint8_t level, log_size, type;
	TAILQ_HEAD(, flow_group) groups;
	uint32_t group_count;
	struct softrnic_flow_table *miss;
	struct rnic_flow_table_context context;
};

/* What the tables decided about a frame. */
struct steer_result {
	uint32_t counts_count;
	struct softrnic_flow_count *counts[STEER_COUNTS_MAX];
	uint32_t count;
	struct {
		struct softrnic_tir *tir;
		uint32_t tag;
	} to[STEER_TIRS_MAX];
};

/* The verdict on frames that have in common what counts. */
#define STEER_VERDICTS_LOG 4
#define STEER_VERDICTS	   (1u << STEER_VERDICTS_LOG)
struct steer_verdict {
	struct steer_key key; /* of them, masked */
	bool is_there;
	struct steer_result result;
};

struct softrnic_steering {
	struct softrnic_flow_table *root;
	uint32_t next_group_id; /* from softrnic_tunables.flow_groups on */
	/* of all tables: bounded by STEER_DEVICE_GROUPS_MAX, and by log_max_flow */
	uint32_t group_count, entry_count;
	LIST_HEAD(, flow_group) groups;
	struct flow_entry **buckets;  /* by softrnic_steer_hash(), bucket_mask + 1 of them */
	struct flow_entry **by_index; /* 2^STEER_INDEX_LOG chains */
	uint32_t bucket_mask;
	/* of the hash: for the two halves of each word, and for the group */
	uint64_t secrets[2 * STEER_KEY_WORDS + 1];
	/* What of a frame's headers counts for some group, and the type; and the words of it that are not zero. */
	struct steer_key mask;
	uint8_t mask_words[STEER_KEY_WORDS];
	uint32_t mask_count;
	/* Verdicts that were come to, dropped by every change of tables. */
	struct steer_verdict verdicts[STEER_VERDICTS];
	/*
	 * The one on the last frame, for as long as frames look alike: valid when no group looks beyond addresses
	 * and type (the first two words) and no TIR does.
	 */
	bool cacheable, cached;
	uint32_t uncacheable_groups, indirect_entries, counting_entries; /* none: cacheable */
	uint64_t cache_key[2];
	const struct steer_result *cache;
};

/* Send the frame through the flow tables. head: its first bytes, SOFTRNIC_ETH_HEAD_MAX or all of them. */
void softrnic_steer(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head);
/* Where the only queue for a frame is, and what its completion says of that. */
struct softrnic_route {
	struct softrnic_rq *rq;
	uint32_t tag, hash;
	uint8_t hash_type;
};
/* Of a frame of so many bytes, as softrnic_steer() would; false: it is for none, or for several. */
bool softrnic_steer_route(struct softrnic *dev, const uint8_t *head, uint32_t length,
			  struct softrnic_route *route);

/* Is the verdict that is kept the one on this frame, too? At least SOFTRNIC_ETH_HEADER bytes are there. */
static inline bool
softrnic_steer_is_cached(const struct softrnic_steering *steering, const uint8_t *head)
{
	uint64_t words[2];

	/*
	 * Source address and type stand in the frame as in the key's first word, the destination as in its second
	 * one. A tagged frame has another type there: it is looked at in full.
	 */
	memcpy(&words[0], head + 6, 8);
	memcpy(&words[1], head, 8);
	return likely(steering->cached) &&
	       (words[0] & steering->mask.words[0]) == steering->cache_key[0] &&
	       (words[1] & steering->mask.words[1]) == steering->cache_key[1];
}
/* Where would softrnic_steer() send it, and is there room? */
enum softrnic_eth_room softrnic_steer_room(struct softrnic *dev, const uint8_t *head,
					   uint32_t head_bytes);

/* Tables, groups or entries changed: the cached verdict is dropped, and whether verdicts can be cached is decided anew. */
void softrnic_steering_changed(struct softrnic *dev);

/*
 * The hash of a masked key in a group: over the group's words only. A multilinear sum under the device's secrets:
 * two different keys, even if an attacker chose them, are as likely to have the same as two random ones; then mixed.
 */
uint32_t softrnic_steer_hash(const struct softrnic_steering *steering,
			     const struct flow_group *group, const struct steer_key *key);

#endif
