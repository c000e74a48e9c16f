/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>

#include <rdmapmd.h>

#include "fetch.h"
#include "peer.h"

void
rdmo_fetch_post(struct rdmo_lane *home, struct rdmo_peer *peer)
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
		rdmo_fetch_post(home, peer);
}
