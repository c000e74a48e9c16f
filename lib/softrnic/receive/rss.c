/* SPDX-License-Identifier: BSD-3-Clause */

/* The Toeplitz hash: the tables of it by DPDK's rte_thash. */
#include <string.h>

#include <rte_thash.h>

#include "prm/cqe.h"
#include "softrnic/port/headers.h"
#include "softrnic/receive/rss.h"

/* Bits of rx_hash_field_select. */
#define RSS_SRC_IP   0x1
#define RSS_DST_IP   0x2
#define RSS_L4_SPORT 0x4
#define RSS_L4_DPORT 0x8

#define RSS_KEY_AT 0x28 /* in the context */
#define RSS_KEY	   40	/* bytes */

/* Where fields are in a match set: those of IPv4 are the last bytes of IPv6's; UDP's ports are not TCP's. */
#define RSS_IPV4_AT   0x2c
#define RSS_IPV6_AT   0x20
#define RSS_DST_IP_AT 0x10 /* behind the source */
#define RSS_TCP_AT    0x14
#define RSS_UDP_AT    0x1c

/* What four bits come to, at this place, if all others are zero. */
static void
rss_fill(uint32_t entries[16], uint32_t place, const uint8_t *key)
{
	uint32_t words[SOFTRNIC_RSS_INPUT / 4] = { 0 }, value;

	entries[0] = 0;
	for (value = 1; value < 16; value++) {
		words[place / 8] = value << (28 - place % 8 * 4);
		if ((value & (value - 1)) == 0)
			entries[value] = rte_softrss(words, SOFTRNIC_RSS_INPUT / 4, key);
		else
			entries[value] = entries[value & (value - 1)] ^ entries[value & -value];
	}
}

void
softrnic_rss_init(struct softrnic_rss *rss, const struct rnic_tirc *tirc)
{
	uint32_t key[RSS_KEY / 4], place;

	rss->is_done = rnic_tirc_get(tirc, RNIC_TIRC_DISP_TYPE) == RNIC_TIR_INDIRECT &&
		       rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_FN) == RNIC_RX_HASH_TOEPLITZ;
	if (!rss->is_done)
		return;
	rss->symmetric = rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_SYMMETRIC) != 0;
	rss->selected = (uint8_t)rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS);
	memcpy(key, (const uint8_t *)tirc + RSS_KEY_AT, sizeof(key));
	for (place = 0; place < 2 * SOFTRNIC_RSS_INPUT; place++)
		rss_fill(rss->table[place], place, (const uint8_t *)key);
}

/* Of the input that begins at byte *at of all; *at moves behind it. */
static inline uint32_t
rss_bytes(const struct softrnic_rss *rss, const uint8_t *bytes, uint32_t count, uint32_t *at)
{
	const uint32_t(*table)[16] = rss->table + 2 * *at;
	uint32_t hash = 0;

	for (uint32_t i = 0; i < count; i++)
		hash ^= table[2 * i][bytes[i] >> 4] ^ table[2 * i + 1][bytes[i] & 15];
	*at += count;
	return hash;
}

/*
 * Source and destination, what is selected of them. Symmetric, where both are: OR and XOR stand for them.
 */
static inline uint32_t
rss_pair(const struct softrnic_rss *rss, const uint8_t *src, const uint8_t *dst, uint32_t bytes,
	 uint8_t selected, uint32_t *at)
{
	uint8_t either[16], differs[16];
	uint32_t hash = 0;

	if (rss->symmetric && (selected & 3) == 3) {
		for (uint32_t i = 0; i < bytes; i++) {
			either[i] = src[i] | dst[i];
			differs[i] = src[i] ^ dst[i];
		}
		src = either;
		dst = differs;
	}
	if ((selected & 1) != 0)
		hash ^= rss_bytes(rss, src, bytes, at);
	if ((selected & 2) != 0)
		hash ^= rss_bytes(rss, dst, bytes, at);
	return hash;
}

static uint8_t
rss_type(uint8_t selected, uint64_t version, uint64_t proto, bool has_l4)
{
	uint8_t type = 0;

	if ((selected & RSS_SRC_IP) != 0)
		type |= version == 4 ? RNIC_CQE_HASH_SRC_IPV4 : RNIC_CQE_HASH_SRC_IPV6;
	if ((selected & RSS_DST_IP) != 0)
		type |= version == 4 ? RNIC_CQE_HASH_DST_IPV4 : RNIC_CQE_HASH_DST_IPV6;
	if (!has_l4)
		return type;
	if ((selected & RSS_L4_SPORT) != 0)
		type |= proto == SOFTRNIC_PROTO_TCP ? RNIC_CQE_HASH_TCP_SPORT
						    : RNIC_CQE_HASH_UDP_SPORT;
	if ((selected & RSS_L4_DPORT) != 0)
		type |= proto == SOFTRNIC_PROTO_TCP ? RNIC_CQE_HASH_TCP_DPORT
						    : RNIC_CQE_HASH_UDP_DPORT;
	return type;
}

uint32_t
softrnic_rss_hash(const struct softrnic_rss *rss, const struct rnic_fte_match_set_lyr_2_4 *set,
		  uint8_t *type)
{
	const uint64_t version =
		rnic_fte_match_set_lyr_2_4_get(set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION);
	const uint64_t proto =
		rnic_fte_match_set_lyr_2_4_get(set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_PROTOCOL);
	const bool has_l4 =
		(proto == SOFTRNIC_PROTO_TCP || proto == SOFTRNIC_PROTO_UDP) &&
		rnic_fte_match_set_lyr_2_4_get(set, RNIC_FTE_MATCH_SET_LYR_2_4_FRAG) == 0;
	const uint8_t *bytes = (const uint8_t *)set;
	const uint8_t *ports = bytes + (proto == SOFTRNIC_PROTO_UDP ? RSS_UDP_AT : RSS_TCP_AT);
	uint32_t hash, at = 0;

	if (version == 4)
		hash = rss_pair(rss, bytes + RSS_IPV4_AT, bytes + RSS_IPV4_AT + RSS_DST_IP_AT, 4,
				rss->selected, &at);
	else
		hash = rss_pair(rss, bytes + RSS_IPV6_AT, bytes + RSS_IPV6_AT + RSS_DST_IP_AT, 16,
				rss->selected, &at);
	if (has_l4)
		hash ^= rss_pair(rss, ports, ports + 2, 2, rss->selected >> 2, &at);
	*type = rss_type(rss->selected, version, proto, has_l4);
	return hash;
}
