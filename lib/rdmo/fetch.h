/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bytes that are still the initiator's: READ by its connection's own queue pair, some at a time. If one READ fails, the queue pair is
 * broken, and the connection is lost. So it is if they take too long: an initiator's device may answer each request in time, and none
 * soon, and others wait for the memory that the bytes go to.
 *
 * Threads: the lcore of the connection's home.
 */
#ifndef RDMO_FETCH_H
#define RDMO_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rdmo_fetch;
struct rdmo_lane;
struct rdmo_peer;

/* READs of one connection that are under way at once, at most. */
#define RDMO_READS 8

/* Seconds that a fetch may take, beside those for its bytes; and all together. */
#define RDMO_FETCH_S	 5
#define RDMO_FETCH_MAX_S 60

/* And that it may still take when others have begun to wait for its end: whose memory it is, who takes that back. */
#define RDMO_HURRY_S 2

struct rdmo_fetching {
	const struct rdmo_fetch *all;
	uint32_t count;
	uint32_t posted;    /* of them */
	uint32_t under_way; /* of those posted */
	bool has_failed;
	atomic_bool is_hurried;
};

/* It has RDMO_HURRY_S more, from when its home sees this. Threads: any. */
static inline void
rdmo_fetching_hurry(struct rdmo_fetching *fetching)
{
	atomic_store_explicit(&fetching->is_hurried, true, memory_order_relaxed);
}

/* Nothing of it is under way any more: all was READ, or it has failed. */
static inline bool
rdmo_fetching_is_over(const struct rdmo_fetching *fetching)
{
	return fetching->under_way == 0 &&
	       (fetching->has_failed || fetching->posted == fetching->count);
}

/* It is going to fetch all of these: RDMO_FETCH_S, and a second more for each 16 MiB of them, RDMO_FETCH_MAX_S at most. Threads: of who asks for them. */
void rdmo_fetch_allow(struct rdmo_peer *peer, const struct rdmo_fetch *all, uint32_t count);

/*
 * Begin with `peer->fetching`: as many READs as may be under way are posted. It may be over at once, if the queue pair takes nothing. Its
 * time passes until rdmo_fetch_end().
 */
void rdmo_fetch_begin(struct rdmo_lane *home, struct rdmo_peer *peer);

/* One of its READs has completed; the next ones are posted. */
void rdmo_fetch_completed(struct rdmo_lane *home, struct rdmo_peer *peer, bool is_done);

/* It is over. */
void rdmo_fetch_end(struct rdmo_lane *home, struct rdmo_peer *peer);

/* Connections whose time has passed are lost. */
void rdmo_fetches_look(struct rdmo_lane *home);

#endif
