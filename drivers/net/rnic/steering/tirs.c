/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Spreading over receive queues (PRM: "RQT Context", "TIR Context", "Receive Side Scaling"): a table that tells kinds of
 * packets apart, a TIR for each hash, and tables of queues that TIRs choose from.
 *
 *	index      group                         matches
 *	0 .. 3     type, protocol, no fragment   TCP and UDP of IPv4 and IPv6
 *	8, 9       type, fragment                fragments of IPv4 and IPv6
 *	12, 13     type                          the rest of IPv4 and IPv6
 *	16         everything
 *
 * Each kind has its entry always, which leads to the TIR of the hash that is wanted of it. What is not hashed goes to the
 * first entry of the table of queues: a TIR without a hash must have a table of one.
 *
 * Behind each group there is room for another one like it: when a hash changes, all of its entries are written again there, or
 * in front again, and then the old ones go. An entry is never changed where it is, which not every card can do
 * (flow_modify_en), nor is there a value twice in a group.
 *
 * Everything but the TIRs' keys changes by one command each, so that a frame meets the old steering or the new.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "prm/cmd.h"
#include "prm/list.h"
#include "prm/queue.h"
#include "steering/flow.h"
#include "steering/tirs.h"

#define LEVEL	       4 /* behind the tables of VLANs and addresses */
#define LOG_TABLE_SIZE 5
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define PROTOCOL_TCP   6
#define PROTOCOL_UDP   17
#define ADDRESSES      (RNIC_RX_HASH_SRC_IP | RNIC_RX_HASH_DST_IP)
#define PORTS	       (ADDRESSES | RNIC_RX_HASH_L4_SPORT | RNIC_RX_HASH_L4_DPORT)

enum tir_kind {
	TIR_FIRST, /* no hash */
	TIR_IPV4,
	TIR_IPV6,
	TIR_IPV4_TCP,
	TIR_IPV4_UDP,
	TIR_IPV6_TCP,
	TIR_IPV6_UDP,
};
_Static_assert(TIR_IPV6_UDP + 1 == RNIC_TIRS_MAX, "their number");

static const struct {
	enum rnic_rx_hash_l3 l3;
	enum rnic_rx_hash_l4 l4;
	uint32_t fields;
} hashes[RNIC_TIRS_MAX] = {
	[TIR_IPV4] = { .l3 = RNIC_RX_HASH_L3_IPV4, .fields = ADDRESSES },
	[TIR_IPV6] = { .l3 = RNIC_RX_HASH_L3_IPV6, .fields = ADDRESSES },
	[TIR_IPV4_TCP] = { RNIC_RX_HASH_L3_IPV4, RNIC_RX_HASH_L4_TCP, PORTS },
	[TIR_IPV4_UDP] = { RNIC_RX_HASH_L3_IPV4, RNIC_RX_HASH_L4_UDP, PORTS },
	[TIR_IPV6_TCP] = { RNIC_RX_HASH_L3_IPV6, RNIC_RX_HASH_L4_TCP, PORTS },
	[TIR_IPV6_UDP] = { RNIC_RX_HASH_L3_IPV6, RNIC_RX_HASH_L4_UDP, PORTS },
};

static const struct {
	struct rnic_flow_match match;
	uint32_t group;
	enum tir_kind addresses, ports; /* the TIR for this hash of it */
} kinds[RNIC_TRAFFICS] = {
	[RNIC_TRAFFIC_IPV4_TCP] = { { .ethertype = ETHERTYPE_IPV4, .ip_protocol = PROTOCOL_TCP },
				    0,
				    TIR_IPV4,
				    TIR_IPV4_TCP },
	[RNIC_TRAFFIC_IPV4_UDP] = { { .ethertype = ETHERTYPE_IPV4, .ip_protocol = PROTOCOL_UDP },
				    0,
				    TIR_IPV4,
				    TIR_IPV4_UDP },
	[RNIC_TRAFFIC_IPV6_TCP] = { { .ethertype = ETHERTYPE_IPV6, .ip_protocol = PROTOCOL_TCP },
				    0,
				    TIR_IPV6,
				    TIR_IPV6_TCP },
	[RNIC_TRAFFIC_IPV6_UDP] = { { .ethertype = ETHERTYPE_IPV6, .ip_protocol = PROTOCOL_UDP },
				    0,
				    TIR_IPV6,
				    TIR_IPV6_UDP },
	[RNIC_TRAFFIC_IPV4_FRAGMENT] = { { .ethertype = ETHERTYPE_IPV4, .fragment = true },
					 1,
					 TIR_IPV4,
					 TIR_IPV4 },
	[RNIC_TRAFFIC_IPV6_FRAGMENT] = { { .ethertype = ETHERTYPE_IPV6, .fragment = true },
					 1,
					 TIR_IPV6,
					 TIR_IPV6 },
	[RNIC_TRAFFIC_IPV4] = { { .ethertype = ETHERTYPE_IPV4 }, 2, TIR_IPV4, TIR_IPV4 },
	[RNIC_TRAFFIC_IPV6] = { { .ethertype = ETHERTYPE_IPV6 }, 2, TIR_IPV6, TIR_IPV6 },
	[RNIC_TRAFFIC_OTHER] = { .group = 3 },
};

/* Kinds that are in a group, and where its first entry is: of one of its two slots. */
static const struct {
	struct rnic_flow_match mask;
	uint32_t first, last, index;
} groups[RNIC_TIRS_GROUPS] = {
	{ { .ethertype = 0xffff, .ip_protocol = 0xff, .fragment = true },
	  RNIC_TRAFFIC_IPV4_TCP,
	  RNIC_TRAFFIC_IPV6_UDP,
	  0 },
	{ { .ethertype = 0xffff, .fragment = true },
	  RNIC_TRAFFIC_IPV4_FRAGMENT,
	  RNIC_TRAFFIC_IPV6_FRAGMENT,
	  8 },
	{ { .ethertype = 0xffff }, RNIC_TRAFFIC_IPV4, RNIC_TRAFFIC_IPV6, 12 },
	{ .first = RNIC_TRAFFIC_OTHER, .last = RNIC_TRAFFIC_OTHER, .index = 16 },
};

/* ---- Tables of queues ---- */

struct rqt_create {
	struct rnic_create_rqt_in in;
	struct rnic_rqn_entry queues[RNIC_RETA_SIZE];
};
struct rqt_modify {
	struct rnic_modify_rqt_in in;
	struct rnic_rqn_entry queues[RNIC_RETA_SIZE];
};

static uint32_t
list_queues(struct rnic_rqn_entry *queues, const uint32_t *rqns, const struct rnic_rss *rss,
	    uint32_t size)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		rnic_rqn_entry_set(&queues[i], RNIC_RQN_ENTRY_RQN, rqns[rss->reta[i]]);
	return size * (uint32_t)sizeof(*queues);
}

static int
rqt_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss, uint32_t size,
	   uint32_t *rqt)
{
	struct rqt_create create = { 0 };
	struct rnic_rqtc *context = rnic_create_rqt_in_rqtc(&create.in);
	uint32_t bytes;

	rnic_rqtc_set(context, RNIC_RQTC_RQT_MAX_SIZE, size);
	rnic_rqtc_set(context, RNIC_RQTC_RQT_ACTUAL_SIZE, size);
	bytes = (uint32_t)sizeof(create.in) + list_queues(create.queues, rqns, rss, size);
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_RQT, &create, bytes, NULL, rqt);
}

static int
rqt_modify(struct rnic_dev *dev, uint32_t rqt, const uint32_t *rqns, const struct rnic_rss *rss,
	   uint32_t size)
{
	struct rqt_modify modify = { 0 };
	uint32_t bytes;

	rnic_modify_rqt_in_set(&modify.in, RNIC_MODIFY_RQT_IN_RQTN, rqt);
	rnic_modify_rqt_in_set(&modify.in, RNIC_MODIFY_RQT_IN_BITMASK, RNIC_MODIFY_RQT_RQN_LIST);
	rnic_rqtc_set(rnic_modify_rqt_in_rqtc(&modify.in), RNIC_RQTC_RQT_ACTUAL_SIZE, size);
	bytes = (uint32_t)sizeof(modify.in) + list_queues(modify.queues, rqns, rss, size);
	return rnic_cmd_exec_in(dev, RNIC_CMD_MODIFY_RQT, 0, &modify, bytes);
}

/* ---- TIRs ---- */

static void
set_hash(struct rnic_tirc *tirc, enum tir_kind which, const uint8_t key[RNIC_RSS_KEY_BYTES])
{
	static const enum rnic_tirc_field parts[] = {
		RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_0, RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_1,
		RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_2, RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_3,
		RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_4,
	};
	uint64_t part;
	size_t i;

	if (which == TIR_FIRST) {
		rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, RNIC_RX_HASH_INVERTED_XOR8);
		return;
	}
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, RNIC_RX_HASH_TOEPLITZ);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_L3_PROT_TYPE, hashes[which].l3);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_L4_PROT_TYPE, hashes[which].l4);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS, hashes[which].fields);
	for (i = 0; i < RTE_DIM(parts); i++) {
		memcpy(&part, key + i * sizeof(part), sizeof(part));
		rnic_tirc_set(tirc, parts[i], rte_be_to_cpu_64(part));
	}
}

static int
tir_create(struct rnic_dev *dev, const struct rnic_tirs *tirs, enum tir_kind which,
	   const struct rnic_rss *rss, uint32_t *tir)
{
	struct rnic_create_tir_in in = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&in);

	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, RNIC_TIR_INDIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INDIRECT_TABLE,
		      which == TIR_FIRST ? tirs->first_rqt : tirs->rqt);
	set_hash(tirc, which, rss->key);
	return rnic_tir_create_for(dev, &in, tir);
}

static int
tir_set_key(struct rnic_dev *dev, const struct rnic_tirs *tirs, enum tir_kind which,
	    const uint8_t key[RNIC_RSS_KEY_BYTES])
{
	struct rnic_modify_tir_in in = { 0 };

	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_TIRN, tirs->numbers[which]);
	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_BITMASK, RNIC_MODIFY_TIR_HASH);
	set_hash(rnic_modify_tir_in_tirc(&in), which, key);
	return rnic_cmd_exec_in(dev, RNIC_CMD_MODIFY_TIR, 0, &in, sizeof(in));
}

/* ---- Kinds of packets ---- */

static uint32_t
group_size(uint32_t group)
{
	return groups[group].last - groups[group].first + 1;
}

static int
set_kind(struct rnic_dev *dev, const struct rnic_tirs *tirs, enum rnic_traffic kind, uint8_t hash,
	 const struct rnic_tirs_group *at)
{
	struct rnic_flow_entry entry = {
		.table = tirs->table,
		.group = at->number,
		.index = at->index + kind - groups[kinds[kind].group].first,
		.match = kinds[kind].match,
		.to_tir = true,
		.tir = tirs->numbers[TIR_FIRST],
	};

	if (hash == RNIC_HASH_ADDRESSES)
		entry.tir = tirs->numbers[kinds[kind].addresses];
	else if (hash == RNIC_HASH_PORTS)
		entry.tir = tirs->numbers[kinds[kind].ports];
	return rnic_flow_entry_set(dev, &entry);
}

/* The entries that it has not yet. */
static int
group_fill(struct rnic_dev *dev, const struct rnic_tirs *tirs, uint32_t group,
	   const uint8_t hash[RNIC_TRAFFICS], struct rnic_tirs_group *at)
{
	uint32_t kind = groups[group].first + at->count;
	int rc = 0;

	for (; kind <= groups[group].last && rc == 0; kind++) {
		rc = set_kind(dev, tirs, (enum rnic_traffic)kind, hash[kind], at);
		at->count += rc == 0;
	}
	return rc;
}

/* What there is of it, the last first, up to what the device does not let go. */
static int
group_down(struct rnic_dev *dev, const struct rnic_tirs *tirs, struct rnic_tirs_group *at)
{
	int rc = 0;

	while (at->count > 0 && rc == 0) {
		rc = rnic_flow_entry_delete(dev, tirs->table, at->index + at->count - 1);
		at->count -= rc == 0;
	}
	if (at->up && rc == 0) {
		rc = rnic_flow_group_destroy(dev, tirs->table, at->number);
		at->up = rc != 0;
	}
	return rc;
}

/* With entries for these hashes, in a slot that has none; no part of it alone. */
static int
group_up(struct rnic_dev *dev, const struct rnic_tirs *tirs, uint32_t group,
	 const uint8_t hash[RNIC_TRAFFICS], struct rnic_tirs_group *at)
{
	const uint32_t size = group_size(group);
	int rc;

	at->index = groups[group].index + (at == &tirs->groups[group][0] ? 0 : size);
	rc = rnic_flow_group_create(dev, tirs->table, at->index, at->index + size - 1,
				    &groups[group].mask, &at->number);
	if (rc != 0)
		return rc;
	at->up = true;
	rc = group_fill(dev, tirs, group, hash, at);
	if (rc != 0)
		(void)group_down(dev, tirs, at);
	return rc;
}

/* ---- All of it ---- */

/* What there is of it, the last first. */
static int
take_down(struct rnic_dev *dev, struct rnic_tirs *tirs)
{
	int rc = 0, first_rc = 0;
	uint32_t group, slot;

#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	for (group = RNIC_TIRS_GROUPS; group > 0; group--)
		for (slot = 0; slot < 2; slot++)
			KEEP_FIRST(group_down(dev, tirs, &tirs->groups[group - 1][slot]));
	KEEP_FIRST(rnic_flow_table_destroy(dev, tirs->table));
	while (tirs->tir_count > 0)
		KEEP_FIRST(rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_TIR,
					    tirs->numbers[--tirs->tir_count]));
	KEEP_FIRST(rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_RQT, tirs->first_rqt));
	KEEP_FIRST(rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_RQT, tirs->rqt));
#undef KEEP_FIRST
	*tirs = (struct rnic_tirs){ 0 };
	return first_rc;
}

int
rnic_tirs_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
		 struct rnic_tirs *tirs)
{
	uint32_t *n, group;
	int rc;

	*tirs = (struct rnic_tirs){ .rss = *rss };
	rc = rqt_create(dev, rqns, rss, RNIC_RETA_SIZE, &tirs->rqt);
	if (rc != 0)
		return rc;
	rc = rqt_create(dev, rqns, rss, 1, &tirs->first_rqt);
	if (rc != 0)
		goto no_first_rqt;
	rc = rnic_flow_table_create(dev, LEVEL, LOG_TABLE_SIZE, &tirs->table);
	if (rc != 0)
		goto no_table;
	for (n = &tirs->tir_count; *n < RNIC_TIRS_MAX && rc == 0; *n += rc == 0)
		rc = tir_create(dev, tirs, (enum tir_kind) * n, rss, &tirs->numbers[*n]);
	for (group = 0; group < RNIC_TIRS_GROUPS && rc == 0; group++)
		rc = group_up(dev, tirs, group, rss->hash, &tirs->groups[group][0]);
	if (rc != 0)
		take_down(dev, tirs);
	return rc;

no_table:
	rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_RQT, tirs->first_rqt);
no_first_rqt:
	rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_RQT, tirs->rqt);
	*tirs = (struct rnic_tirs){ 0 };
	return rc;
}

int
rnic_tirs_destroy(struct rnic_dev *dev, struct rnic_tirs *tirs)
{
	return take_down(dev, tirs);
}

static int
set_reta(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
	 struct rnic_tirs *tirs)
{
	int rc;

	if (memcmp(rss->reta, tirs->rss.reta, sizeof(rss->reta)) == 0)
		return 0;
	rc = rqt_modify(dev, tirs->rqt, rqns, rss, RNIC_RETA_SIZE);
	if (rc == 0 && rss->reta[0] != tirs->rss.reta[0]) {
		rc = rqt_modify(dev, tirs->first_rqt, rqns, rss, 1);
		if (rc != 0)
			rqt_modify(dev, tirs->rqt, rqns, &tirs->rss, RNIC_RETA_SIZE);
	}
	if (rc == 0)
		memcpy(tirs->rss.reta, rss->reta, sizeof(rss->reta));
	return rc;
}

static int
set_key(struct rnic_dev *dev, const struct rnic_rss *rss, struct rnic_tirs *tirs)
{
	uint32_t which;
	int rc = 0;

	if (memcmp(rss->key, tirs->rss.key, sizeof(rss->key)) == 0)
		return 0;
	for (which = TIR_IPV4; which < RNIC_TIRS_MAX && rc == 0; which++)
		rc = tir_set_key(dev, tirs, (enum tir_kind)which, rss->key);
	if (rc == 0) {
		memcpy(tirs->rss.key, rss->key, sizeof(rss->key));
		return 0;
	}
	/* The last one was refused, and has the old one. */
	for (which--; which > TIR_IPV4; which--)
		tir_set_key(dev, tirs, (enum tir_kind)(which - 1), tirs->rss.key);
	return rc;
}

/* A group's entries are written again beside the old ones, which are then removed: a frame meets one of the two. */
static int
set_group(struct rnic_dev *dev, const struct rnic_rss *rss, struct rnic_tirs *tirs, uint32_t group)
{
	const uint32_t first = groups[group].first, size = group_size(group);
	struct rnic_tirs_group *now = &tirs->groups[group][tirs->in_use[group]];
	struct rnic_tirs_group *next = &tirs->groups[group][tirs->in_use[group] ^ 1];
	int rc;

	if (memcmp(&rss->hash[first], &tirs->rss.hash[first], size) == 0)
		return 0;
	/* One that the device did not let go of when it should have. */
	rc = group_down(dev, tirs, next);
	if (rc == 0)
		rc = group_up(dev, tirs, group, rss->hash, next);
	if (rc != 0)
		return rc;
	rc = group_down(dev, tirs, now);
	if (rc != 0) {
		/* The old ones stay, alone. */
		(void)group_fill(dev, tirs, group, tirs->rss.hash, now);
		(void)group_down(dev, tirs, next);
		return rc;
	}
	tirs->in_use[group] ^= 1;
	memcpy(&tirs->rss.hash[first], &rss->hash[first], size);
	return 0;
}

static int
set_kinds(struct rnic_dev *dev, const struct rnic_rss *rss, struct rnic_tirs *tirs)
{
	uint32_t group;
	int rc = 0;

	for (group = 0; group < RNIC_TIRS_GROUPS && rc == 0; group++)
		rc = set_group(dev, rss, tirs, group);
	return rc;
}

int
rnic_tirs_set(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
	      struct rnic_tirs *tirs)
{
	int rc = set_reta(dev, rqns, rss, tirs);

	if (rc == 0)
		rc = set_key(dev, rss, tirs);
	if (rc == 0)
		rc = set_kinds(dev, rss, tirs);
	return rc;
}
