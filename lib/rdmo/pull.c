/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include "mail.h"
#include "pull.h"

int
rdmo_pulls_open(struct rdmo_lane *lane)
{
	lane->pulls = calloc(RDMO_PULL_ROUNDS, sizeof(*lane->pulls));
	if (lane->pulls == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < RDMO_PULL_ROUNDS; i++) {
		struct rdmo_pull_round *pull = &lane->pulls[i];

		pull->round.lane = lane->round.lane;
		pull->round.fetches = &pull->fetches;
		pull->fetching.all = pull->fetches.all;
	}
	return 0;
}

void
rdmo_pulls_close(struct rdmo_lane *lane)
{
	free(lane->pulls);
	lane->pulls = NULL;
}

/* The first one whose connection is this; NULL: a free one. */
static struct rdmo_pull_round *
pull_find(const struct rdmo_lane *lane, const struct rdmo_peer *peer)
{
	for (uint32_t i = 0; i < RDMO_PULL_ROUNDS; i++)
		if (lane->pulls[i].peer == peer)
			return &lane->pulls[i];
	return NULL;
}

bool
rdmo_pulls_use(struct rdmo_lane *lane, const struct rdmo_region *region)
{
	bool is_used = false;

	for (uint32_t i = 0; i < RDMO_PULL_ROUNDS; i++) {
		struct rdmo_pull_round *pull = &lane->pulls[i];

		if (pull->peer == NULL || !rdmo_round_uses(&pull->round, region))
			continue;
		rdmo_fetching_hurry(&pull->fetching);
		is_used = true;
	}
	return is_used;
}

static void
peer_home(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	if (peer->home == lane)
		rdmo_peer_ran(lane, peer);
	else
		rdmo_mail_put(peer->home->mail, peer);
}

/* ---- A round ---- */

/* Nothing of it is under way any more. */
static void
pull_end(struct rdmo_lane *lane, struct rdmo_pull_round *pull)
{
	struct rdmo_peer *peer = pull->peer;

	if (pull->fetching.has_failed)
		rdmo_round_abandon(&pull->round);
	else
		rdmo_round_fetched(&pull->round);
	rdmo_lane_round_end(lane, &pull->round);
	peer->fetching = NULL;
	peer->puller = NULL;
	pull->peer = NULL;
	peer_home(lane, peer);
}

/* At home: on to the lane whose round it is. */
static void
fetch_over(struct rdmo_lane *home, struct rdmo_peer *peer)
{
	struct rdmo_lane *lane = peer->puller;

	rdmo_fetch_end(home, peer);
	if (lane == home)
		pull_end(lane, pull_find(lane, peer));
	else
		rdmo_mail_put(lane->mail, peer);
}

static void
fetch_begin(struct rdmo_lane *home, struct rdmo_peer *peer)
{
	rdmo_fetch_begin(home, peer);
	if (rdmo_fetching_is_over(peer->fetching))
		fetch_over(home, peer);
}

void
rdmo_pull_completed(struct rdmo_lane *lane, struct rdmo_peer *peer, bool is_done)
{
	rdmo_fetch_completed(lane, peer, is_done);
	/* That of a remote target looks by itself. */
	if (peer->puller != NULL && rdmo_fetching_is_over(peer->fetching))
		fetch_over(lane, peer);
}

static uint32_t
pull_begin(struct rdmo_lane *lane, struct rdmo_pull_round *pull, struct rdmo_peer *peer)
{
	uint32_t count;

	pull->peer = peer;
	rdmo_round_begin(&pull->round);
	rdmo_peer_execute(peer, &pull->round, &lane->regions);
	count = pull->round.count;
	pull->fetching = (struct rdmo_fetching){
		.all = pull->fetches.all,
		.count = pull->fetches.count,
	};
	peer->fetching = &pull->fetching;
	peer->puller = lane;
	rdmo_fetch_allow(peer, pull->fetches.all, pull->fetches.count);
	if (pull->fetches.count == 0)
		pull_end(lane, pull);
	else if (peer->home == lane)
		fetch_begin(lane, peer);
	else
		rdmo_mail_put(peer->home->mail, peer);
	return count;
}

/* ---- All of a lane ---- */

static struct rdmo_peer *
peer_take(struct rdmo_peers *peers)
{
	struct rdmo_peer *peer = TAILQ_FIRST(peers);

	if (peer != NULL)
		TAILQ_REMOVE(peers, peer, next);
	return peer;
}

/* What has come by mail. */
static void
pulls_go_on(struct rdmo_lane *lane)
{
	struct rdmo_peer *peer;

	while ((peer = peer_take(&lane->travelling)) != NULL)
		if (peer->home == lane)
			fetch_begin(lane, peer);
		else
			pull_end(lane, pull_find(lane, peer));
}

/* Those that wait go home, where they may be ended, or come again. */
static void
waiting_dismiss(struct rdmo_lane *lane)
{
	struct rdmo_peer *peer;

	while ((peer = peer_take(&lane->pulling)) != NULL)
		peer_home(lane, peer);
}

uint32_t
rdmo_pulls_run(struct rdmo_lane *lane)
{
	struct rdmo_pull_round *pull;
	uint32_t done = 0;

	pulls_go_on(lane);
	if (atomic_load_explicit(&lane->asked, memory_order_relaxed) != NULL)
		waiting_dismiss(lane);
	while (!TAILQ_EMPTY(&lane->pulling) && (pull = pull_find(lane, NULL)) != NULL)
		done += pull_begin(lane, pull, peer_take(&lane->pulling));
	return done;
}

void
rdmo_pulls_dismiss(struct rdmo_lane *lane)
{
	pulls_go_on(lane);
	waiting_dismiss(lane);
}
