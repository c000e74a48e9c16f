/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/bfreg.h"
#include "core/dump.h"
#include "object/cq.h"
#include "object/mkey.h"
#include "object/mkey_window.h"
#include "object/entry_dump.h"
#include "object/sq.h"
#include "prm/cqe.h"
#include "rdma/event.h"
#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/post_build.h"
#include "rdma/reset.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"
#include "rdma_rings.h"

int rnic_logtype, rnic_logtype_dump;
unsigned int rings_in_error, rings_sends_in_error, rings_woken;
atomic_bool rings_lost;

/* Of the library: what the burst functions call. */
void
rdmapmd_qp_in_error(struct rdmapmd_qp *qp)
{
	assert_int_equal(qp->qp_num, RINGS_QPN);
	rings_in_error++;
}

void
rdmapmd_qp_send_in_error(struct rdmapmd_qp *qp)
{
	rdmapmd_qp_in_error(qp);
	rings_sends_in_error++;
}

bool rings_may_bind = true;
uint32_t rings_window_key, rings_window_freed;

bool
rdmapmd_mw_may_bind(const struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
		    enum rdmapmd_mw_type type)
{
	assert_int_equal(qp->qp_num, RINGS_QPN);
	assert_int_equal(wr->opcode, RDMAPMD_WR_BIND_MW);
	return rings_may_bind && wr->wr.bind_mw.mw->type == type;
}

uint16_t
rdmapmd_post_send_none(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	RTE_SET_USED(wr);
	RTE_SET_USED(n);
	qp->post_send_error = -EINVAL;
	return 0;
}

/* Of the driver: keys of windows, by commands. */
int
rnic_mkey_window_create(struct rnic_dev *dev, uint32_t pd, bool rinval, uint32_t *key)
{
	RTE_SET_USED(dev);
	RTE_SET_USED(pd);
	RTE_SET_USED(rinval);
	*key = rings_window_key;
	return 0;
}

int
rnic_mkey_window_destroy(struct rnic_dev *dev, uint32_t key)
{
	RTE_SET_USED(dev);
	rings_window_freed = key;
	return 0;
}

/* Of the driver: events of a lost device, counted. */
void
rnic_rdma_wake(const struct rnic_rdma_cq *cq)
{
	assert_int_equal(cq->ring.cqn, RINGS_CQN);
	rings_woken++;
}

/* Dumps, of which the numbers are kept. */
unsigned int rings_dumped[RINGS_DUMPS], rings_dump_count;
enum rnic_wqe_kind rings_dumped_kind;
void (*rings_in_poll)(void);

bool
rnic_dump_wanted(void)
{
	return false;
}

void
rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index, enum rnic_wqe_kind kind)
{
	assert_int_equal(sq->sqn, RINGS_QPN);
	/* A data segment must not be taken for another. */
	rings_dumped_kind = kind;
	rings_dumped[rings_dump_count++ % RINGS_DUMPS] = index;
}

void
rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe)
{
	rings_dumped[rings_dump_count++ % RINGS_DUMPS] = (unsigned int)(cqe - cq->ring);
	if (rings_in_poll != NULL)
		rings_in_poll();
}

void
rings_start_at(struct rings *rings, uint32_t wqe, uint32_t cqe)
{
	struct rnic_rdma_qp *qp = &rings->qp;
	uint32_t i;

	rnic_rdma_queues_reset(qp);
	qp->sq.wq.producer = (uint16_t)wqe;
	qp->sq.head = qp->sq.tail = qp->sq.signaled = wqe;
	qp->rq.head = qp->rq.tail = wqe;
	qp->rq.wq.producer = (uint16_t)wqe;
	for (i = 0; i < RTE_DIM(rings->wqes); i++)
		rings->wqes[i].head = wqe - 1;
	rings->cq.ring.consumer = rings->produced = cqe;
	/* Entries of the pass before: not ready. */
	for (i = cqe; i != cqe + (1 << RINGS_LOG_CQ); i++)
		rings->cqes[i & ((1 << RINGS_LOG_CQ) - 1)].op_own =
			RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, ~(i >> RINGS_LOG_CQ) & 1);
}

static void
make_qp(struct rings *rings)
{
	/* It has no windows. */
	static struct rnic_rdma rdma;
	static struct rnic_dev dev = { .rdma = &rdma };
	struct rnic_rdma_qp *qp = &rings->qp;

	dev.tunables = rnic_tunables_default;
	qp->dev = &dev;
	qp->qp.qp_num = RINGS_QPN;
	qp->qp.qp_type = RDMAPMD_QPT_RC;
	qp->qp.send_cq = qp->qp.recv_cq = &rings->cq.cq;
	rings->bf_register = (struct rnic_bfreg){ .address = rings->bf,
						  .half = RINGS_BF_HALF,
						  .kind = RNIC_BFREG_LOW_LATENCY };
	qp->sq = (struct rnic_rdma_send){
		.wq = { .ring = rings->sq[0],
			.dbrec = &rings->dbrec,
			.bf = &rings->bf_register,
			.mask = (1 << RINGS_LOG_SQ) - 1,
			.log_size = RINGS_LOG_SQ,
			.sqn = RINGS_QPN },
		.wqes = rings->wqes,
		.max_post = RINGS_MAX_POST,
		.max_gs = RINGS_MAX_GS,
		.max_inline = RINGS_MAX_INLINE,
		.wqebbs = (1 << RINGS_LOG_SQ) / RINGS_MAX_POST,
		.open = 1,
		.kinds = rings->kinds,
	};
	rnic_rdma_kinds_init(rings->kinds, 0);
	qp->rq = (struct rnic_rdma_receive){
		.wq = { .ring = rings->rq[0],
			.dbrec = &rings->dbrec,
			.mask = (1 << RINGS_LOG_RQ) - 1,
			.log_size = RINGS_LOG_RQ,
			.log_stride = 6 },
		.wr_ids = rings->rq_wr_ids,
		.max_post = 1 << RINGS_LOG_RQ,
		.max_gs = 4,
		.open = 1,
	};
}

int
rings_setup(void **state)
{
	struct rings *rings = aligned_alloc(512, RTE_ALIGN_CEIL(sizeof(*rings), (size_t)512));

	assert_non_null(rings);
	memset(rings, 0, sizeof(*rings));
	memset(rings->sq, 0xa5, sizeof(rings->sq));
	memset(rings->rq, 0xa5, sizeof(rings->rq));
	make_qp(rings);
	rings->cq.ring = (struct rnic_cq){ .ring = rings->cqes,
					   .dbrec = &rings->cq_dbrec,
					   .mask = (1 << RINGS_LOG_CQ) - 1,
					   .log_size = RINGS_LOG_CQ,
					   .cqn = RINGS_CQN };
	rings->cq.arm_register = &rings->arm_register;
	rings->cq.lost = &rings_lost;
	rings->cq.cq.poll_cq = rnic_rdma_polls[false][RNIC_RDMA_POLL_PLAIN];
	rings->srq = (struct rnic_rdma_srq){
		.ring = rings->srq_ring[0],
		.dbrec = &rings->srq_dbrec,
		.wr_ids = rings->srq_wr_ids,
		.next = rings->srq_next,
		.mask = (1 << RINGS_LOG_RQ) - 1,
		.max_gs = 3,
		.log_stride = 6,
	};
	rnic_rdma_srq_reset(&rings->srq);
	assert_int_equal(rnic_rdma_qps_init(&rings->cq), 0);
	assert_int_equal(rnic_rdma_qps_add(&rings->cq, &rings->qp), 0);
	rings_start_at(rings, 0, 0);
	rings_in_error = rings_sends_in_error = rings_dump_count = rings_woken = 0;
	rings_in_poll = NULL;
	atomic_store(&rings_lost, false);
	*state = rings;
	return 0;
}

int
rings_teardown(void **state)
{
	struct rings *rings = *state;

	rnic_rdma_qps_fini(&rings->cq);
	free(rings);
	return 0;
}

struct rnic_cqe *
rings_complete(struct rings *rings, enum rnic_cqe_opcode opcode, uint32_t qpn, uint16_t counter)
{
	const uint32_t index = rings->produced++;
	struct rnic_cqe *cqe = &rings->cqes[index & ((1 << RINGS_LOG_CQ) - 1)];

	*cqe = (struct rnic_cqe){
		.sop_drop_qpn = rnic_cpu_to_be32(qpn),
		.wqe_counter = rnic_cpu_to_be16(counter),
		.op_own = RNIC_CQE_OP_OWN(opcode, index >> RINGS_LOG_CQ & 1),
	};
	return cqe;
}

void
rings_complete_send(struct rings *rings, uint16_t counter)
{
	rings_complete(rings, RNIC_CQE_REQUESTER, RINGS_QPN, counter);
}

void
rings_fail(struct rings *rings, enum rnic_cqe_opcode opcode, uint16_t counter, uint8_t syndrome,
	   uint8_t vendor)
{
	struct rnic_error_cqe *error =
		(struct rnic_error_cqe *)rings_complete(rings, opcode, RINGS_QPN, counter);

	error->syndrome = syndrome;
	error->vendor_error_syndrome = vendor;
}

uint16_t
rings_post(struct rings *rings, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	return rnic_rdma_post_send(&rings->qp.qp, wr, n);
}

int
rings_poll(struct rings *rings, struct rdmapmd_wc *wc)
{
	memset(wc, 0xa5, sizeof(*wc));
	return rdmapmd_poll_cq(&rings->cq.cq, wc, 1) == 1 ? (int)wc->wr_id : -1;
}

void
rings_assert_bytes(const void *bytes, const char *hex)
{
	const uint8_t *byte = bytes;
	unsigned int value, at = 0;

	for (; *hex != '\0'; hex++) {
		if (isspace((unsigned char)*hex))
			continue;
		assert_int_equal(sscanf(hex, "%2x", &value), 1);
		if (byte[at] != value)
			fail_msg("byte 0x%02x is 0x%02x, not 0x%02x", at, byte[at], value);
		at++;
		hex++;
	}
}
