/* SPDX-License-Identifier: BSD-3-Clause */

/* Steering: from a frame's headers, through the flow tables, to receive queues. */
#include <stdlib.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/work.h"
#include "softrnic/receive/flow_counter.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/rss.h"
#include "softrnic/receive/steer.h"
#include "softrnic/receive/tir.h"

#define IPV6_FRAGMENT_HEADER 44

/* Fields of one dword, which is zero there: they are added at once. */
#define STEER_BITS(field, value) \
	((uint32_t)(value) << RNIC_FIELD_LOW(RNIC_FTE_MATCH_SET_LYR_2_4_##field))

static inline void
steer_add(struct rnic_fte_match_set_lyr_2_4 *set, uint32_t bits)
{
	struct rnic_be32 *dw =
		&set->dw[RNIC_FIELD_OFFSET(RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION) / 4];

	*dw = rnic_cpu_to_be32(rnic_be32_to_cpu(*dw) | bits);
}

static void
steer_parse_l4(struct rnic_fte_match_set_lyr_2_4 *set, uint8_t proto, const uint8_t *l4,
	       uint32_t bytes)
{
	if (proto == SOFTRNIC_PROTO_UDP && bytes >= 4) {
		rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_UDP_SPORT,
					       softrnic_load16(l4));
		rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_UDP_DPORT,
					       softrnic_load16(l4 + 2));
	} else if (proto == SOFTRNIC_PROTO_TCP && bytes >= 14) {
		rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_SPORT,
					       softrnic_load16(l4));
		rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_DPORT,
					       softrnic_load16(l4 + 2));
		rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_TCP_FLAGS,
					       softrnic_load16(l4 + 12) & 0x1ff);
	}
}

static void
steer_parse_ipv4(struct rnic_fte_match_set_lyr_2_4 *set, const uint8_t *ip, uint32_t bytes)
{
	uint32_t header;
	bool fragment;

	if (bytes < 20 || ip[0] >> 4 != 4)
		return;
	header = (ip[0] & 0xfu) * 4;
	fragment = (softrnic_load16(ip + 6) & 0x3fff) != 0;
	steer_add(set, STEER_BITS(IP_VERSION, 4) | STEER_BITS(IP_PROTOCOL, ip[9]) |
			       STEER_BITS(IP_DSCP, ip[1] >> 2) | STEER_BITS(IP_ECN, ip[1] & 3) |
			       STEER_BITS(FRAG, fragment));
	rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_TTL_HOPLIMIT, ip[8]);
	memcpy((uint8_t *)set + 0x2c, ip + 12, 4);
	memcpy((uint8_t *)set + 0x3c, ip + 16, 4);
	if (header >= 20 && header <= bytes && !fragment)
		steer_parse_l4(set, ip[9], ip + header, bytes - header);
}

/* Extension headers are not followed: the protocol is the first next header, as the card reports it. */
static void
steer_parse_ipv6(struct rnic_fte_match_set_lyr_2_4 *set, const uint8_t *ip, uint32_t bytes)
{
	if (bytes < 40 || ip[0] >> 4 != 6)
		return;
	steer_add(set, STEER_BITS(IP_VERSION, 6) | STEER_BITS(IP_PROTOCOL, ip[6]) |
			       STEER_BITS(IP_DSCP, softrnic_load16(ip) >> 6 & 0x3f) |
			       STEER_BITS(IP_ECN, softrnic_load16(ip) >> 4 & 3) |
			       STEER_BITS(FRAG, ip[6] == IPV6_FRAGMENT_HEADER));
	rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_TTL_HOPLIMIT, ip[7]);
	memcpy((uint8_t *)set + 0x20, ip + 8, 16);
	memcpy((uint8_t *)set + 0x30, ip + 24, 16);
	steer_parse_l4(set, ip[6], ip + 40, bytes - 40);
}

/* The frame's headers as a match set. With VLAN tags the type is the one behind them. */
static void
steer_parse(struct steer_key *key, const uint8_t *head, uint32_t bytes)
{
	struct rnic_fte_match_set_lyr_2_4 *set = (struct rnic_fte_match_set_lyr_2_4 *)key;
	uint16_t type = softrnic_load16(head + 12);
	uint32_t at = SOFTRNIC_ETH_HEADER;

	memset(key, 0, sizeof(*key));
	memcpy((uint8_t *)set + 0x00, head + 6, 6);
	memcpy((uint8_t *)set + 0x08, head, 6);
	if (softrnic_is_vlan(type) && bytes >= at + 4) {
		memcpy((uint8_t *)set + 0x0e, head + at, 2);
		rnic_fte_match_set_lyr_2_4_set(set,
					       type == SOFTRNIC_ETHERTYPE_CVLAN
						       ? RNIC_FTE_MATCH_SET_LYR_2_4_CVLAN_TAG
						       : RNIC_FTE_MATCH_SET_LYR_2_4_SVLAN_TAG,
					       1);
		type = softrnic_load16(head + at + 2);
		at += 4;
		if (softrnic_is_vlan(type) && bytes >= at + 4) {
			type = softrnic_load16(head + at + 2);
			at += 4;
		}
	}
	rnic_fte_match_set_lyr_2_4_set(set, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, type);
	if (type == SOFTRNIC_ETHERTYPE_IPV4)
		steer_parse_ipv4(set, head + at, bytes - at);
	else if (type == SOFTRNIC_ETHERTYPE_IPV6)
		steer_parse_ipv6(set, head + at, bytes - at);
}

uint32_t
softrnic_steer_hash(const struct softrnic_steering *steering, const struct flow_group *group,
		    const struct steer_key *key)
{
	uint64_t sum = steering->secrets[2 * STEER_KEY_WORDS] * group->id, word;
	uint32_t i, w;

	for (i = 0; i < group->word_count; i++) {
		w = group->words[i];
		word = key->words[w] & group->mask.words[w];
		sum += steering->secrets[2 * w] * (uint32_t)word +
		       steering->secrets[2 * w + 1] * (word >> 32);
	}
	/* Sums of neighbours are equally far from each other, and might meet in a few buckets again and again. */
	sum = (sum ^ sum >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(sum >> 32);
}

static const struct flow_entry *
steer_match_group(const struct softrnic_steering *steering, const struct flow_group *group,
		  const struct steer_key *key, uint32_t *steps)
{
	const struct flow_entry *entry;
	uint32_t hash, i, w;

	++*steps;
	if (group->entry_count == 0)
		return NULL;
	hash = softrnic_steer_hash(steering, group, key);
	for (entry = steering->buckets[hash & steering->bucket_mask];
	     entry != NULL && *steps < STEER_STEPS_MAX; entry = entry->next) {
		++*steps;
		if (entry->hash != hash || entry->group != group)
			continue;
		for (i = 0; i < group->word_count; i++) {
			w = group->words[i];
			if ((key->words[w] & group->mask.words[w]) != entry->value.words[w])
				break;
		}
		if (i == group->word_count)
			return entry;
	}
	return NULL;
}

/*
 * Walk from the root. Levels need not rise on the way (entries may ignore them), so the number of steps ends a walk. The
 * driver decides how many it takes, and they are spent.
 */
static void
steer_walk_tables(struct softrnic *dev, const struct steer_key *key, struct steer_result *result)
{
	const struct softrnic_steering *steering = dev->steering;
	const struct softrnic_flow_table *table = steering->root;
	const struct flow_entry *entry;
	const struct flow_group *group;
	uint32_t i, tag = 0, steps = 0;

	result->count = result->counts_count = 0;
	while (table != NULL && ++steps < STEER_STEPS_MAX) {
		entry = NULL;
		TAILQ_FOREACH(group, &table->groups, link) {
			entry = steer_match_group(steering, group, key, &steps);
			if (entry != NULL)
				break;
		}
		if (entry == NULL) {
			table = table->miss;
			continue;
		}
		if (entry->count != NULL && result->counts_count < STEER_COUNTS_MAX)
			result->counts[result->counts_count++] = entry->count;
		if ((entry->action & RNIC_FLOW_ACTION_DROP) != 0)
			break;
		if (entry->tag != 0)
			tag = entry->tag;
		for (i = 0; i < entry->tir_count && result->count < STEER_TIRS_MAX; i++) {
			result->to[result->count].tir = entry->tirs[i];
			result->to[result->count++].tag = tag;
		}
		table = entry->table;
	}
	if (unlikely(steps >= STEER_STEPS_MAX))
		result->count = result->counts_count = 0;
	softrnic_spend_steps(dev, steps);
}

/* Which queue of an indirect TIR: the hash over the header fields that the TIR selects, as far as the frame has them. */
static struct softrnic_rq *
steer_spread(const struct softrnic_tir *tir, const struct steer_key *key,
	     struct softrnic_rx_info *info)
{
	const struct rnic_fte_match_set_lyr_2_4 *set =
		(const struct rnic_fte_match_set_lyr_2_4 *)key;

	if (tir->rqt == NULL || tir->rqt->size == 0)
		return NULL;
	if (tir->rss.is_done &&
	    rnic_fte_match_set_lyr_2_4_get(set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION) != 0)
		info->hash = softrnic_rss_hash(&tir->rss, set, &info->hash_type);
	return tir->rqt->rqs[info->hash & (tir->rqt->size - 1)];
}

/* To one TIR of the verdict. */
static __rte_always_inline void
steer_deliver_to(struct softrnic *dev, const struct softrnic_frame *frame,
		 const struct steer_result *result, uint32_t i, const struct steer_key *key,
		 struct softrnic_rx_info *info)
{
	const struct softrnic_tir *tir = result->to[i].tir;
	struct softrnic_rq *rq = tir->rq;

	info->flow_tag = result->to[i].tag;
	info->hash = 0;
	info->hash_type = 0;
	if (rq == NULL && key != NULL)
		rq = steer_spread(tir, key, info);
	if (unlikely(dev->self_lb != 0) && (dev->self_lb & ~tir->self_lb) != 0)
		rq = NULL;
	if (rq != NULL)
		softrnic_rq_receive(dev, rq, frame, info);
	else
		dev->stats.rx_unmatched++;
}

/*
 * The first one is part of the frame, each of the others is as much again; all of them are one unit, whose way into buffers
 * has an end.
 */
static __attribute__((noinline)) void
steer_deliver_to_many(struct softrnic *dev, const struct softrnic_frame *frame,
		      const struct steer_result *result, const struct steer_key *key,
		      struct softrnic_rx_info *info)
{
	const uint32_t entries = dev->budget->entries, ranges = dev->budget->ranges;
	uint32_t i;

	for (i = 0; i < result->count; i++) {
		softrnic_spend(dev, i > 0);
		if (dev->budget->entries - entries > SOFTRNIC_ENTRIES_ACCESS ||
		    dev->budget->ranges - ranges >= SOFTRNIC_RANGES_FRAME) {
			dev->stats.rx_no_buffer += result->count - i;
			return;
		}
		steer_deliver_to(dev, frame, result, i, key, info);
	}
}

/* Hand the frame to all TIRs of the verdict. key: NULL if the frame was not parsed. */
static __rte_always_inline void
steer_deliver(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head,
	      const struct steer_result *result, const struct steer_key *key)
{
	struct softrnic_rx_info info = { .hds_ip_ext = RNIC_CQE_L2_OK };

	if (result->count == 0) {
		dev->stats.rx_unmatched++;
		return;
	}
	if (softrnic_frame_has_headers(head))
		softrnic_headers_receive(head, frame->length,
					 frame->l4_summed ? &frame->l4_sum : NULL, &info);
	if (unlikely(result->count > 1))
		steer_deliver_to_many(dev, frame, result, key, &info);
	else
		steer_deliver_to(dev, frame, result, 0, key, &info);
}

/* Where a verdict on such frames is kept: by what counts of them for any verdict. */
static struct steer_verdict *
steer_verdict(struct softrnic_steering *steering, const struct steer_key *key, bool *is_there)
{
	uint64_t words[STEER_KEY_WORDS] = { 0 }, sum = 0, differs = 0;
	struct steer_verdict *verdict;
	uint32_t i, w;

	for (i = 0; i < steering->mask_count; i++) {
		w = steering->mask_words[i];
		words[w] = key->words[w] & steering->mask.words[w];
		sum += words[w] * steering->secrets[2 * w];
	}
	verdict = &steering->verdicts[sum >> (64 - STEER_VERDICTS_LOG)];
	for (i = 0; i < steering->mask_count; i++) {
		w = steering->mask_words[i];
		differs |= words[w] ^ verdict->key.words[w];
	}
	*is_there = verdict->is_there && differs == 0;
	if (!*is_there)
		memcpy(verdict->key.words, words, sizeof(words));
	return verdict;
}

/*
 * Whatever the tables look at, frames that have it in common have one verdict. Those of tables that look at addresses and type
 * alone are known without their other headers: softrnic_steer_is_cached().
 */
static const struct steer_result *
steer_judge(struct softrnic *dev, const uint8_t *head, uint32_t length, struct steer_key *key)
{
	struct softrnic_steering *steering = dev->steering;
	struct steer_verdict *verdict;
	bool is_there;

	steer_parse(key, head, length < SOFTRNIC_ETH_HEAD_MAX ? length : SOFTRNIC_ETH_HEAD_MAX);
	verdict = steer_verdict(steering, key, &is_there);
	if (!is_there) {
		steer_walk_tables(dev, key, &verdict->result);
		verdict->is_there = true;
		/* It may have been the last frame's that had to make room. */
		steering->cached = false;
	}
	if (steering->cacheable && !softrnic_is_vlan(softrnic_load16(head + 12))) {
		/* What the verdict is of, not what was read before: the sender may have changed it in between. */
		steering->cache_key[0] = key->words[0] & steering->mask.words[0];
		steering->cache_key[1] = key->words[1] & steering->mask.words[1];
		steering->cache = &verdict->result;
		steering->cached = true;
	}
	return &verdict->result;
}

static __attribute__((noinline)) void
steer_walk(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head)
{
	struct steer_key key;
	const struct steer_result *result = steer_judge(dev, head, frame->length, &key);

	for (uint32_t i = 0; i < result->counts_count; i++) {
		result->counts[i]->packets++;
		result->counts[i]->octets += frame->length;
	}
	steer_deliver(dev, frame, head, result, &key);
}

bool
softrnic_steer_route(struct softrnic *dev, const uint8_t *head, uint32_t length,
		     struct softrnic_route *route)
{
	struct softrnic_rx_info info = { 0 };
	const struct steer_result *result;
	const struct softrnic_tir *tir;
	struct steer_key key;

	result = steer_judge(dev, head, length, &key);
	/* What counts goes the way of single frames. */
	if (result->count != 1 || result->counts_count > 0)
		return false;
	tir = result->to[0].tir;
	route->rq = tir->rq != NULL ? tir->rq : steer_spread(tir, &key, &info);
	route->tag = result->to[0].tag;
	route->hash = info.hash;
	route->hash_type = info.hash_type;
	return route->rq != NULL;
}

void
softrnic_steer(struct softrnic *dev, const struct softrnic_frame *frame, const uint8_t *head)
{
	struct softrnic_steering *steering = dev->steering;

	if (softrnic_steer_is_cached(steering, head))
		steer_deliver(dev, frame, head, steering->cache, NULL);
	else
		steer_walk(dev, frame, head);
}

enum softrnic_eth_room
softrnic_steer_room(struct softrnic *dev, const uint8_t *head, uint32_t head_bytes)
{
	enum softrnic_eth_room room = SOFTRNIC_ETH_NOBODY;
	const uint32_t ranges = dev->budget->ranges;
	struct softrnic_rx_info info = { 0 };
	struct steer_result result;
	struct softrnic_rq *rq;
	struct steer_key key;
	uint32_t i;

	steer_parse(&key, head, head_bytes);
	steer_walk_tables(dev, &key, &result);
	for (i = 0; i < result.count; i++) {
		rq = result.to[i].tir->rq;
		if (rq == NULL)
			rq = steer_spread(result.to[i].tir, &key, &info);
		/* One that does not receive drops the frame, and may do so for ever. */
		if (rq == NULL || rq->state != RNIC_WQ_STATE_RDY)
			continue;
		/* The others are for the next round. */
		if (dev->budget->ranges - ranges >= SOFTRNIC_RANGES_FRAME ||
		    !softrnic_rq_has_wqe(dev, rq))
			return SOFTRNIC_ETH_FULL;
		room = SOFTRNIC_ETH_ROOM;
	}
	return room;
}

void
softrnic_steering_changed(struct softrnic *dev)
{
	struct softrnic_steering *steering = dev->steering;
	uint32_t i;

	for (i = 0; i < STEER_VERDICTS; i++)
		steering->verdicts[i].is_there = false;
	steering->mask_count = 0;
	for (i = 0; i < STEER_KEY_WORDS; i++) {
		if (steering->mask.words[i] != 0)
			steering->mask_words[steering->mask_count++] = (uint8_t)i;
	}
	steering->cached = false;
	/* Indirect TIRs look at each frame's addresses, counters at each frame. */
	steering->cacheable = steering->uncacheable_groups == 0 &&
			      steering->indirect_entries == 0 && steering->counting_entries == 0;
}
