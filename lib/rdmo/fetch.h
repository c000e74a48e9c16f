/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bytes that are still the initiator's: READ by its connection's own queue pair, some at a time. If one READ fails, the queue pair is
 * broken, and the connection is lost.
 *
 * Threads: the lcore of the connection's home.
 */
#ifndef RDMO_FETCH_H
#define RDMO_FETCH_H

#include <stdbool.h>
#include <stdint.h>

struct rdmo_fetch;
struct rdmo_lane;
struct rdmo_peer;

/* READs of one connection that are under way at once, at most. */
#define RDMO_READS 8

struct rdmo_fetching {
	const struct rdmo_fetch *all;
	uint32_t count;
	uint32_t posted;    /* of them */
	uint32_t under_way; /* of those posted */
	bool has_failed;
};

/* Nothing of it is under way any more: all was READ, or it has failed. */
static inline bool
rdmo_fetching_is_over(const struct rdmo_fetching *fetching)
{
	return fetching->under_way == 0 &&
	       (fetching->has_failed || fetching->posted == fetching->count);
}

/* Post as many READs of `peer->fetching` as may be under way. It may be over at once, if the queue pair takes nothing. */
void rdmo_fetch_post(struct rdmo_lane *home, struct rdmo_peer *peer);

/* One of its READs has completed; the next ones are posted. */
void rdmo_fetch_completed(struct rdmo_lane *home, struct rdmo_peer *peer, bool is_done);

#endif
