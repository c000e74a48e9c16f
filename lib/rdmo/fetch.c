/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>
#include <rte_cycles.h>

#include <rdmapmd.h>

#include "fetch.h"
#include "log.h"
#include "peer.h"

static void
reads_post(struct rdmo_lane *home, struct rdmo_peer *peer)
{
	struct rdmo_fetching *fetching = peer->fetching;
	struct rdmapmd_send_wr wr[RDMO_READS];
	struct rdmapmd_sge sge[RDMO_READS];
	const uint32_t n =
		RTE_MIN(fetching->count - fetching->posted, RDMO_READS - fetching->under_way);
	uint32_t taken;

	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct rdmo_fetch *fetch = &fetching->all[fetching->posted + i];

		sge[i] = (struct rdmapmd_sge){
			.addr = fetch->to,
			.length = fetch->bytes,
			.lkey = fetch->to_key,
		};
		wr[i] = (struct rdmapmd_send_wr){
			.wr_id = rdmo_fetch_number(peer->slot),
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = RDMAPMD_WR_RDMA_READ,
			.send_flags = RDMAPMD_SEND_SIGNALED,
			.wr.rdma.remote_addr = fetch->from,
			.wr.rdma.rkey = fetch->from_key,
		};
	}
	taken = rdmapmd_post_send(peer->qp, wr, (uint16_t)n);
	fetching->posted += taken;
	fetching->under_way += taken;
	if (taken < n) {
		fetching->has_failed = true;
		rdmo_peer_lost(home, peer);
	}
}

void
rdmo_fetch_completed(struct rdmo_lane *home, struct rdmo_peer *peer, bool is_done)
{
	struct rdmo_fetching *fetching = peer->fetching;

	fetching->under_way--;
	fetching->has_failed |= !is_done;
	if (!fetching->has_failed && fetching->posted < fetching->count)
		reads_post(home, peer);
}

void
rdmo_fetch_allow(struct rdmo_peer *peer, const struct rdmo_fetch *all, uint32_t count)
{
	const uint64_t hz = rte_get_timer_hz();
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += all[i].bytes;
	/* Whatever they are, it does not wrap; and they may be the same ones again and again. */
	peer->fetch_left =
		RTE_MIN(RDMO_FETCH_S * hz + ((bytes >> 10) * hz >> 14), RDMO_FETCH_MAX_S * hz);
}

void
rdmo_fetch_begin(struct rdmo_lane *home, struct rdmo_peer *peer)
{
	const uint64_t now = rte_get_timer_cycles();

	if (TAILQ_EMPTY(&home->fetching))
		home->fetches_seen = now;
	peer->fetch_until = now + peer->fetch_left;
	TAILQ_INSERT_TAIL(&home->fetching, peer, next_fetching);
	reads_post(home, peer);
}

void
rdmo_fetch_end(struct rdmo_lane *home, struct rdmo_peer *peer)
{
	const uint64_t now = rte_get_timer_cycles();

	peer->fetch_left = peer->fetch_until > now ? peer->fetch_until - now : 0;
	TAILQ_REMOVE(&home->fetching, peer, next_fetching);
}

void
rdmo_fetches_look(struct rdmo_lane *home)
{
	struct rdmo_peer *peer;
	uint64_t now, gap, hurry;

	if (TAILQ_EMPTY(&home->fetching))
		return;
	now = rte_get_timer_cycles();
	gap = now - home->fetches_seen;
	home->fetches_seen = now;
	hurry = RDMO_HURRY_S * rte_get_timer_hz();
	/* Nobody has looked for so long what has come: that is not theirs to answer for. */
	if (gap < rte_get_timer_hz() / 10)
		gap = 0;
	TAILQ_FOREACH(peer, &home->fetching, next_fetching) {
		peer->fetch_until += gap;
		if (atomic_load_explicit(&peer->fetching->is_hurried, memory_order_relaxed))
			peer->fetch_until = RTE_MIN(peer->fetch_until, now + hurry);
		if (peer->fetch_until >= now || peer->state == RDMO_PEER_ENDED)
			continue;
		RDMO_LOG(NOTICE, "connection %#lx is lost: its payload was not fetched in time",
			 (unsigned long)peer->session);
		peer->fetching->has_failed = true;
		rdmo_peer_lost(home, peer);
	}
}
