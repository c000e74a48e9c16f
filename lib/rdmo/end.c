/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <rdmapmd.h>

#include "end.h"

/* Credits are promised for receives that are posted: who has none there is waited for a moment, not for ever. */
#define RNR_RETRIES 6
#define PORT	    1

#define GIDS	    256
#define CREDITS_MIN 4
#define CREDITS_MAX 256
#define MESSAGE_MAX 65536

bool
rdmo_end_may_be(uint32_t gid_index, uint32_t credits, uint32_t receive_bytes)
{
	return gid_index < GIDS && credits >= CREDITS_MIN && credits <= CREDITS_MAX &&
	       receive_bytes >= RDMO_RECEIVE_MIN_BYTES && receive_bytes <= MESSAGE_MAX &&
	       receive_bytes % 8 == 0;
}

int
rdmo_random(void *buffer, size_t bytes)
{
	/* So few come at once, or not at all. */
	const ssize_t n = getrandom(buffer, bytes, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EIO;
}

int
rdmo_random_number(uint64_t *number)
{
	int rc;

	do
		rc = rdmo_random(number, sizeof(*number));
	while (rc == 0 && *number == 0);
	return rc;
}

int
rdmo_end_tell(struct rdmapmd_context *context, uint32_t gid_index, uint32_t qpn, uint32_t credits,
	      uint32_t receive_bytes, struct rdmo_addr *addr)
{
	struct rdmapmd_gid_entry entry;
	struct rdmapmd_port_attr port;
	uint32_t psn = 0;
	int rc;

	rc = rdmapmd_port_query(context, PORT, &port);
	if (rc == 0)
		rc = rdmapmd_gid_query(context, PORT, gid_index, &entry);
	if (rc == 0)
		rc = rdmo_random(&psn, sizeof(psn));
	if (rc != 0)
		return rc;
	*addr = (struct rdmo_addr){
		.mtu = rte_cpu_to_le_16((uint16_t)rdmapmd_mtu_bytes(port.active_mtu)),
		.qpn = rte_cpu_to_le_32(qpn),
		.psn = rte_cpu_to_le_32(psn & 0xffffff),
		.credits = rte_cpu_to_le_32(credits),
		.receive_bytes = rte_cpu_to_le_32(receive_bytes),
	};
	memcpy(addr->gid, entry.gid.raw, sizeof(addr->gid));
	memcpy(addr->mac, port.mac, sizeof(addr->mac));
	return 0;
}

int
rdmo_end_prepare(struct rdmapmd_qp *qp)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT, .port_num = PORT };

	return rdmapmd_qp_modify(qp, &attr,
				 RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
					 RDMAPMD_QP_ACCESS_FLAGS);
}

/* Of a number of bytes that was checked. */
static enum rdmapmd_mtu
mtu_of(uint32_t bytes)
{
	enum rdmapmd_mtu mtu = RDMAPMD_MTU_256;

	while (mtu < RDMAPMD_MTU_4096 && rdmapmd_mtu_bytes(mtu) < bytes)
		mtu++;
	return mtu;
}

int
rdmo_end_connect(struct rdmapmd_qp *qp, uint32_t gid_index, const struct rdmo_addr *own,
		 const struct rdmo_addr *peer, uint32_t access)
{
	struct rdmapmd_qp_peer to = {
		.qp_num = rte_le_to_cpu_32(peer->qpn),
		.psn = rte_le_to_cpu_32(peer->psn),
		.mtu = mtu_of(rte_le_to_cpu_16(peer->mtu)),
	};
	struct rdmapmd_qp_connect_opts opts = {
		.path = { .sgid_index = (uint8_t)gid_index },
		.psn = rte_le_to_cpu_32(own->psn),
		.qp_access_flags = access,
		.rnr_retry = RNR_RETRIES,
	};

	memcpy(to.gid.raw, peer->gid, sizeof(to.gid.raw));
	memcpy(opts.path.dmac, peer->mac, sizeof(opts.path.dmac));
	return rdmapmd_qp_connect(qp, &to, &opts);
}

void
rdmo_end_break(struct rdmapmd_qp *qp)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_ERR };

	rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE);
}
