/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include <rte_malloc.h>

#include <rdmapmd.h>

#include "end.h"
#include "log.h"
#include "remote.h"

/* Numbers of requests beside those of rounds: what is moved for who made it. */
#define IO RDMO_REMOTE_ROUNDS

/* Requests that are under way at once. */
#define DEPTH (RDMO_REMOTE_ROUNDS * RDMO_REMOTE_DEPTH + 1)

/* ---- Open and close ---- */

static int
queues_open(struct rdmo_remote *remote, struct rdmapmd_pd *pd)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = DEPTH };
	struct rdmapmd_qp_init_attr qp = {
		.td = remote->lane->td,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = RDMO_REMOTE_SGES },
	};
	int rc;

	rc = rdmapmd_cq_create(pd->context, &cq, &remote->cq);
	qp.send_cq = qp.recv_cq = remote->cq;
	return rc == 0 ? rdmapmd_qp_create(pd, &qp, &remote->qp) : rc;
}

static int
rounds_open(struct rdmo_remote *remote, struct rdmapmd_pd *pd)
{
	int rc = 0;

	for (uint32_t i = 0; i < RDMO_REMOTE_ROUNDS && rc == 0; i++)
		rc = rdmo_remote_round_open(&remote->rounds[i], remote->lane, remote->qp, pd, i,
					    i == RDMO_REMOTE_PULLED);
	return rc;
}

int
rdmo_remote_open(struct rdmo_lane *lane, struct rdmapmd_pd *pd, uint32_t gid_index,
		 const struct rdmo_addr *theirs, struct rdmo_addr *own, struct rdmo_remote **remote)
{
	struct rdmo_remote *made;
	int rc;

	if (theirs->qpn == 0)
		return -EINVAL;
	made = rte_zmalloc("rdmo", sizeof(*made), RTE_CACHE_LINE_SIZE);
	if (made == NULL)
		return -ENOMEM;
	made->lane = lane;
	TAILQ_INIT(&made->active);
	TAILQ_INIT(&made->pulling);
	rc = queues_open(made, pd);
	if (rc == 0)
		rc = rounds_open(made, pd);
	if (rc == 0)
		rc = rdmo_end_tell(pd->context, gid_index, made->qp->qp_num, 0, 0, own);
	if (rc == 0)
		rc = rdmo_end_connect(made->qp, gid_index, own, theirs, 0);
	if (rc != 0) {
		rdmo_remote_close(made);
		return rc;
	}
	*remote = made;
	return 0;
}

void
rdmo_remote_cut(struct rdmo_remote *remote)
{
	rdmo_end_break(remote->qp);
}

void
rdmo_remote_close(struct rdmo_remote *remote)
{
	if (remote->qp != NULL)
		rdmapmd_qp_destroy(remote->qp);
	if (remote->cq != NULL)
		rdmapmd_cq_destroy(remote->cq);
	for (uint32_t i = 0; i < RDMO_REMOTE_ROUNDS; i++)
		rdmo_remote_round_close(&remote->rounds[i]);
	rte_free(remote);
}

/* ---- Connections ---- */

/* Those that wait for a payload to be fetched go home, where they may be ended, or come again. */
static void
pulling_dismiss(struct rdmo_remote *remote)
{
	struct rdmo_peer *peer;

	while ((peer = TAILQ_FIRST(&remote->pulling)) != NULL) {
		TAILQ_REMOVE(&remote->pulling, peer, next);
		rdmo_peer_ran(remote->lane, peer);
	}
}

void
rdmo_remote_add(struct rdmo_lane *lane, struct rdmo_remote *remote)
{
	TAILQ_INSERT_TAIL(&lane->remotes, remote, next);
}

void
rdmo_remote_drop(struct rdmo_lane *lane, struct rdmo_remote *remote)
{
	for (uint32_t i = 0; i < lane->peer_count; i++) {
		struct rdmo_peer *peer = &lane->peers[i];

		if (peer->turn == &remote->active)
			peer->turn = &lane->active;
	}
	TAILQ_CONCAT(&lane->active, &remote->active, next);
	pulling_dismiss(remote);
	TAILQ_REMOVE(&lane->remotes, remote, next);
}

bool
rdmo_remote_is_busy(struct rdmo_remote *remote, const struct rdmo_lane *lane,
		    const struct rdmo_region *region)
{
	struct rdmo_remote_round *pulled = &remote->rounds[RDMO_REMOTE_PULLED];

	if (remote->lane != lane)
		return false;
	if (remote->rounds[RDMO_REMOTE_DIRECT].is_running)
		return true;
	if (!pulled->is_running || !pulled->is_fetching)
		return pulled->is_running;
	/* It waits for an initiator, however slow that is: only who cannot do without waits with it. */
	if (region != NULL && !rdmo_round_uses(&pulled->round, region))
		return false;
	rdmo_fetching_hurry(&pulled->fetching);
	return true;
}

/* ---- Ends of what was posted ---- */

static void
io_end(struct rdmo_remote *remote, int rc)
{
	if (remote->io != NULL)
		remote->io->rc = rc;
	remote->io = NULL;
}

static void
remote_broken(struct rdmo_remote *remote, const char *why)
{
	if (remote->is_broken)
		return;
	RDMO_LOG(NOTICE, "a remote target is lost: %s", why);
	remote->is_broken = true;
	io_end(remote, -EIO);
	for (uint32_t i = 0; i < RDMO_REMOTE_ROUNDS; i++)
		rdmo_remote_round_lose(&remote->rounds[i]);
	atomic_store_explicit(&remote->has_broken, true, memory_order_release);
	rdmo_lane_tell_ended(remote->lane);
}

/* What has completed: one for all that a round had posted, or the first of those that have failed, which is all others' end as well. */
static void
completions_take(struct rdmo_remote *remote)
{
	struct rdmapmd_wc wc[RDMO_REMOTE_ROUNDS + 1];
	const uint16_t n = rdmapmd_poll_cq(remote->cq, wc, RTE_DIM(wc));

	for (uint16_t i = 0; i < n && !remote->is_broken; i++)
		if (wc[i].status != RDMAPMD_WC_SUCCESS)
			remote_broken(remote, rdmapmd_wc_status_str(wc[i].status));
		else if (wc[i].wr_id == IO)
			io_end(remote, 0);
		else
			rdmo_remote_round_completed(&remote->rounds[wc[i].wr_id]);
}

/* Go on with a round that was begun, and see whether it is over. */
static void
round_go_on(struct rdmo_remote *remote, struct rdmo_remote_round *round)
{
	if (round->is_lost)
		remote_broken(remote, "its queue pair takes no request");
	if (rdmo_remote_round_is_over(round))
		rdmo_remote_round_end(round);
}

void
rdmo_remotes_collect(struct rdmo_lane *lane)
{
	struct rdmo_remote *remote;

	TAILQ_FOREACH(remote, &lane->remotes, next) {
		struct rdmo_remote_round *direct = &remote->rounds[RDMO_REMOTE_DIRECT];
		struct rdmo_remote_round *pulled = &remote->rounds[RDMO_REMOTE_PULLED];

		if (direct->is_under_way || pulled->is_under_way || remote->io != NULL)
			completions_take(remote);
		rdmo_remote_round_look(pulled);
		round_go_on(remote, direct);
		round_go_on(remote, pulled);
	}
}

/* ---- Beside rounds ---- */

void
rdmo_remote_io_begin(struct rdmo_remote_io *io)
{
	struct rdmo_remote *remote = io->remote;
	const struct rdmapmd_sge sge = {
		.addr = (uintptr_t)io->at,
		.length = io->bytes,
		.lkey = io->lkey,
	};
	const struct rdmapmd_send_wr wr = {
		.wr_id = IO,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = io->is_write ? RDMAPMD_WR_RDMA_WRITE : RDMAPMD_WR_RDMA_READ,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.wr.rdma.remote_addr = io->addr,
		.wr.rdma.rkey = io->rkey,
	};

	io->rc = -EIO;
	if (remote->is_broken)
		return;
	remote->io = io;
	if (rdmapmd_post_send(remote->qp, &wr, 1) != 1)
		remote_broken(remote, "its queue pair takes no request");
}

/* ---- Rounds ---- */

static void
direct_run(struct rdmo_remote *remote)
{
	struct rdmo_remote_round *direct = &remote->rounds[RDMO_REMOTE_DIRECT];
	const struct rdmo_round *round = &direct->round;
	struct rdmo_peer *peer;

	rdmo_remote_round_begin(direct);
	while (round->count < RDMO_ROUND && round->look.queue == NULL &&
	       (peer = rdmo_peer_pick(remote->lane, &remote->active)) != NULL) {
		rdmo_remote_round_execute(direct, peer);
		if (peer->is_next)
			break;
		if (peer->elsewhere != RDMO_PULLED)
			continue;
		/* Its payload is to be fetched: nothing of it is in the round, which takes such an operation only to say so. */
		TAILQ_REMOVE(&direct->ran, peer, next);
		TAILQ_INSERT_TAIL(&remote->pulling, peer, next);
	}
	rdmo_remote_round_post(direct);
	round_go_on(remote, direct);
}

/* Of one connection: the first one, which stays that as long as the other round appends to its queue. */
static void
pulled_run(struct rdmo_remote *remote)
{
	struct rdmo_remote_round *pulled = &remote->rounds[RDMO_REMOTE_PULLED];
	struct rdmo_peer *peer = TAILQ_FIRST(&remote->pulling);

	TAILQ_REMOVE(&remote->pulling, peer, next);
	rdmo_remote_round_begin(pulled);
	rdmo_remote_round_execute(pulled, peer);
	if (pulled->round.count == 0 && peer->elsewhere == RDMO_BUSY) {
		TAILQ_REMOVE(&pulled->ran, peer, next);
		TAILQ_INSERT_HEAD(&remote->pulling, peer, next);
		pulled->is_running = false;
		return;
	}
	rdmo_remote_round_post(pulled);
	round_go_on(remote, pulled);
}

uint32_t
rdmo_remotes_run(struct rdmo_lane *lane)
{
	const bool is_asked = atomic_load_explicit(&lane->asked, memory_order_relaxed) != NULL;
	struct rdmo_remote *remote;
	uint32_t done = 0;

	TAILQ_FOREACH(remote, &lane->remotes, next) {
		struct rdmo_remote_round *direct = &remote->rounds[RDMO_REMOTE_DIRECT];
		struct rdmo_remote_round *pulled = &remote->rounds[RDMO_REMOTE_PULLED];

		if (is_asked)
			pulling_dismiss(remote);
		/* First: else the other one, which is begun again and again, might leave it no queue. */
		if (!pulled->is_running && !TAILQ_EMPTY(&remote->pulling)) {
			pulled_run(remote);
			done += pulled->round.count;
		}
		if (!direct->is_running && !TAILQ_EMPTY(&remote->active)) {
			direct_run(remote);
			done += direct->round.count;
		}
	}
	return done;
}

void
rdmo_remotes_dismiss(struct rdmo_lane *lane)
{
	struct rdmo_remote *remote;

	TAILQ_FOREACH(remote, &lane->remotes, next)
		pulling_dismiss(remote);
}
