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

static uint8_t
rss_type(uint8_t selected, bool ipv6, uint32_t l4)
{
	static const uint8_t ports[][2] = {
		{ 0, 0 },
		{ RNIC_CQE_HASH_TCP_SPORT, RNIC_CQE_HASH_TCP_DPORT },
		{ RNIC_CQE_HASH_UDP_SPORT, RNIC_CQE_HASH_UDP_DPORT },
	};
	uint8_t type = 0;

	if ((selected & RSS_SRC_IP) != 0)
		type |= ipv6 ? RNIC_CQE_HASH_SRC_IPV6 : RNIC_CQE_HASH_SRC_IPV4;
	if ((selected & RSS_DST_IP) != 0)
		type |= ipv6 ? RNIC_CQE_HASH_DST_IPV6 : RNIC_CQE_HASH_DST_IPV4;
	if ((selected & RSS_L4_SPORT) != 0)
		type |= ports[l4][0];
	if ((selected & RSS_L4_DPORT) != 0)
		type |= ports[l4][1];
	return type;
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
	for (uint32_t i = 0; i < 6; i++)
		rss->types[i / 3][i % 3] = rss_type(rss->selected, i / 3 != 0, i % 3);
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

uint32_t
softrnic_rss_hash(const struct softrnic_rss *rss, const struct rnic_fte_match_set_lyr_2_4 *set,
		  uint8_t *type)
{
	const uint32_t version = (uint32_t)rnic_fte_match_set_lyr_2_4_get(
		set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_VERSION);
	const uint32_t proto = (uint32_t)rnic_fte_match_set_lyr_2_4_get(
		set, RNIC_FTE_MATCH_SET_LYR_2_4_IP_PROTOCOL);
	const uint8_t *bytes = (const uint8_t *)set;
	uint32_t hash, at = 0, l4 = 0;

	if (version == 4)
		hash = rss_pair(rss, bytes + RSS_IPV4_AT, bytes + RSS_IPV4_AT + RSS_DST_IP_AT, 4,
				rss->selected, &at);
	else
		hash = rss_pair(rss, bytes + RSS_IPV6_AT, bytes + RSS_IPV6_AT + RSS_DST_IP_AT, 16,
				rss->selected, &at);
	if (rnic_fte_match_set_lyr_2_4_get(set, RNIC_FTE_MATCH_SET_LYR_2_4_FRAG) == 0)
		l4 = proto == SOFTRNIC_PROTO_TCP ? 1 : proto == SOFTRNIC_PROTO_UDP ? 2 : 0;
	if (l4 != 0) {
		bytes += l4 == 1 ? RSS_TCP_AT : RSS_UDP_AT;
		hash ^= rss_pair(rss, bytes, bytes + 2, 2, rss->selected >> 2, &at);
	}
	*type = rss->types[version != 4][l4];
	return hash;
}
