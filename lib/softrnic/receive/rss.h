/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive-side scaling: the hash that selects a queue. */
#ifndef SOFTRNIC_RSS_H
#define SOFTRNIC_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "prm/flow.h"
#include "prm/queue.h"

/*
 * The Toeplitz hash of a TIR, over the fields that it selects. It is linear: what each value of each four bits of the input comes to is
 * in a table, and the hash is the sum of those.
 */
#define SOFTRNIC_RSS_INPUT 36 /* bytes: two addresses of IPv6, two ports */
struct softrnic_rss {
	bool is_done;	  /* else there is no such hash */
	bool symmetric;	  /* both directions of a flow have one hash */
	uint8_t selected; /* rx_hash_field_select */
	/* What completions say of the hash: of IPv4, of IPv6; without ports, of TCP, of UDP. */
	uint8_t types[2][3];
	uint32_t table[2 * SOFTRNIC_RSS_INPUT][16];
};

/* As the context of a TIR says. */
void softrnic_rss_init(struct softrnic_rss *rss, const struct rnic_tirc *tirc);

/* The hash of an IP packet's fields, as far as it has them; and of which ones, in *type, as a completion says it. */
uint32_t softrnic_rss_hash(const struct softrnic_rss *rss,
			   const struct rnic_fte_match_set_lyr_2_4 *set, uint8_t *type);

#endif
