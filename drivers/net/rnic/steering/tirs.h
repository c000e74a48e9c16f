/* SPDX-License-Identifier: BSD-3-Clause */

/* Spreading over receive queues: a hash of headers chooses from a table of them. */
#ifndef RNIC_STEERING_TIRS_H
#define RNIC_STEERING_TIRS_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;

#define RNIC_RETA_SIZE	   128
#define RNIC_RSS_KEY_BYTES 40

/* Kinds of packets, each with a hash of its own. Those with ports are whole, no fragments. */
enum rnic_traffic {
	RNIC_TRAFFIC_IPV4_TCP,
	RNIC_TRAFFIC_IPV4_UDP,
	RNIC_TRAFFIC_IPV6_TCP,
	RNIC_TRAFFIC_IPV6_UDP,
	RNIC_TRAFFIC_IPV4_FRAGMENT,
	RNIC_TRAFFIC_IPV6_FRAGMENT,
	RNIC_TRAFFIC_IPV4, /* the rest of it */
	RNIC_TRAFFIC_IPV6,
	RNIC_TRAFFIC_OTHER,
	RNIC_TRAFFICS,
};
enum rnic_hash {
	RNIC_HASH_NONE, /* the first entry of the table */
	RNIC_HASH_ADDRESSES,
	RNIC_HASH_PORTS, /* and addresses */
};
struct rnic_rss {
	uint8_t key[RNIC_RSS_KEY_BYTES];
	uint8_t hash[RNIC_TRAFFICS];   /* enum rnic_hash */
	uint16_t reta[RNIC_RETA_SIZE]; /* queues */
};

#define RNIC_TIRS_MAX	 7
#define RNIC_TIRS_GROUPS 4
struct rnic_tirs {
	uint32_t rqt, first_rqt; /* all of the table, and its first entry */
	uint32_t numbers[RNIC_TIRS_MAX];
	uint32_t table;
	struct rnic_tirs_group {
		uint32_t number, index, count; /* its first entry, and how many there are */
		bool up;
	} groups[RNIC_TIRS_GROUPS][2];
	uint8_t in_use[RNIC_TIRS_GROUPS]; /* which of the two */
	uint32_t tir_count;		  /* how many there are */
	struct rnic_rss rss;		  /* as the device has it */
};
/* `rqns`: the numbers of the queues that the table names. */
int rnic_tirs_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
		     struct rnic_tirs *tirs);
int rnic_tirs_destroy(struct rnic_dev *dev, struct rnic_tirs *tirs);
/* While frames arrive. If the device refuses a part, what it has is in tirs->rss. */
int rnic_tirs_set(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
		  struct rnic_tirs *tirs);

#endif
