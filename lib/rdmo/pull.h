/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Operations whose payload is still the initiator's (RDMO_FLAG_PULL), for targets in this process: it is READ to where it belongs. That
 * takes a while, in which the lane serves others. So each connection that pulls has a round of its own, and is away so long.
 *
 *     lane of the queue:  round: checks, reservations ---.                       .--> publish, answers
 *     home:                                                `--> READ, READ, ... --'
 *
 * Both lanes may be one; else the connection goes there and back by mail. A queue or log with bytes under way takes nobody else's
 * appends: if a READ fails, which ends the connection, what was reserved for it is free again.
 *
 * Threads: the lane's lcore.
 */
#ifndef RDMO_PULL_H
#define RDMO_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "fetch.h"
#include "peer.h"
#include "round.h"

/* Rounds of a lane that are under way at once. */
#define RDMO_PULL_ROUNDS 4

struct rdmo_pull_round {
	struct rdmo_peer *peer; /* NULL: it is free */
	struct rdmo_round round;
	struct rdmo_fetches fetches;
	struct rdmo_fetching fetching;
};

/* The lane's, all of them free. Returns 0, -ENOMEM. */
int rdmo_pulls_open(struct rdmo_lane *lane);
void rdmo_pulls_close(struct rdmo_lane *lane);

/* One of the READs of a connection that is at home here has completed. */
void rdmo_pull_completed(struct rdmo_lane *lane, struct rdmo_peer *peer, bool is_done);

/*
 * Go on with what is fetched, post what other lanes want fetched, begin further rounds. None is begun while a task waits for the end of
 * those that there are. Returns how many operations were executed.
 */
uint32_t rdmo_pulls_run(struct rdmo_lane *lane);

/* Nothing will be begun any more: go on with what is under way, and send the others home. */
void rdmo_pulls_dismiss(struct rdmo_lane *lane);

/* Are there any under way that have to do with this region? Those do not take longer than RDMO_HURRY_S from now on. */
bool rdmo_pulls_use(struct rdmo_lane *lane, const struct rdmo_region *region);

#endif
