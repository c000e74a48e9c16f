/* SPDX-License-Identifier: BSD-3-Clause */

#include "qp_mix.h"
#include "test_clock.h"

#define POLLS_MAX 100000u
#define POLLS_END 300u /* a frame that is held goes on after less */
#define WAIT_US	  20u  /* that a poll takes which finds nothing, so that timers end */

uint32_t
qm_below(struct qm *qm, uint32_t limit)
{
	qm->random ^= qm->random >> 12;
	qm->random ^= qm->random << 25;
	qm->random ^= qm->random >> 27;
	return (uint32_t)((qm->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % limit;
}

void
qm_seed(struct qm *qm, uint64_t seed)
{
	qm->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

uint8_t *
qm_memory(const struct qm *qm, unsigned int end)
{
	return end == 0 ? qm->two->out : qm->two->in;
}

static struct qw_qp *
qp_of(const struct qm *qm, unsigned int end)
{
	return end == 0 ? &qm->two->a : &qm->two->b;
}

static void
receive(struct qm *qm, unsigned int end)
{
	if (qm->received[end] < QM_MESSAGES)
		qw_recv(qp_of(qm, end),
			qm_memory(qm, end) + (QM_MESSAGES + qm->received[end]++) * QM_SLOT,
			QM_SLOT);
}

static void
post(struct qm *qm, unsigned int end)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND,	RNIC_WQE_SEND_IMM,
					   RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_WRITE_IMM,
					   RNIC_WQE_RDMA_READ,	RNIC_WQE_ATOMIC_FA,
					   RNIC_WQE_ATOMIC_CS };
	struct qw_qp *qp = qp_of(qm, end);
	const uint8_t opcode = opcodes[qm_below(qm, sizeof(opcodes))];
	const bool atomic = opcode == RNIC_WQE_ATOMIC_FA || opcode == RNIC_WQE_ATOMIC_CS;
	const uint32_t most = qm_below(qm, 3) == 0 ? QM_SLOT : 600;
	const uint32_t bytes = atomic ? 8 : qm_below(qm, most);
	uint8_t *own = qm_memory(qm, end) + qm->posted[end] * QM_SLOT;
	uint8_t *there = qm_memory(qm, !end) + (QM_MESSAGES + qm->posted[end]) * QM_SLOT;
	const bool bad = qm_below(qm, 1000) < qm->bad_keys;
	const uint8_t solicited = qm_below(qm, 2) ? RNIC_WQE_SE : 0;
	struct rnic_wqe_atomic *operands;
	struct rnic_wqe_ctrl *ctrl;

	ctrl = qw_wqe(qp, opcode, own, bytes, atomic ? qm_memory(qm, !end) + QM_WORD : there,
		      bad ? 0x5a : qp_of(qm, !end)->end->key, RNIC_WQE_CE_ALWAYS | solicited);
	ctrl->immediate = rnic_cpu_to_be32(qm->posted[end] * 0x01010101u);
	if (atomic) {
		operands = dp_wqe_at(&qp->sq, 2);
		operands->swap_add = rnic_cpu_to_be64(qm_below(qm, 1000) + 1);
		operands->compare = rnic_cpu_to_be64(qm_below(qm, 3));
	}
	dp_sq_ring(&qp->sq);
	qm->posted[end]++;
}

static void
note(struct qm *qm, uint8_t queue, const struct rnic_cqe *cqe)
{
	struct qm_seen *seen = &qm->seen[qm->count];

	assert_true(qm->count < QM_ROOM);
	qm->count++;
	*seen = (struct qm_seen){ .poll = qm->polls,
				  .queue = queue,
				  .opcode = RNIC_CQE_OPCODE(cqe->op_own),
				  .counter = rnic_be16_to_cpu(cqe->wqe_counter) };
	if (seen->opcode == RNIC_CQE_REQUESTER_ERROR || seen->opcode == RNIC_CQE_RESPONDER_ERROR) {
		seen->syndrome = ((const struct rnic_error_cqe *)cqe)->syndrome;
		return;
	}
	seen->solicited = (cqe->op_own & 2) != 0;
	seen->bytes = rnic_be32_to_cpu(cqe->byte_count);
	seen->immediate = rnic_be32_to_cpu(cqe->immediate);
}

static void
poll_once(struct qm *qm)
{
	struct dp_cq *const queues[] = { &qm->two->a_send, &qm->two->a_recv, &qm->two->b_send,
					 &qm->two->b_recv };
	const struct rnic_cqe *cqe;

	qm->polls++;
	if (qm->each_poll != NULL)
		qm->each_poll(qm);
	if (softrnic_poll(qm->two->qw.poller) == 0)
		test_clock_advance_us(WAIT_US);
	for (uint8_t i = 0; i < 4; i++) {
		while ((cqe = dp_cq_next(queues[i])) != NULL) {
			note(qm, i, cqe);
			qm->done[i / 2] += i % 2 == 0;
		}
	}
}

void
qm_run(struct qm *qm)
{
	while (qm->punctual && qm->received[0] < QM_MESSAGES) {
		receive(qm, 0);
		receive(qm, 1);
	}
	for (uint32_t i = 0; i < QM_MESSAGES; i++) {
		for (unsigned int end = 0; end < 2; end++) {
			if (qm_below(qm, 8) != 0)
				receive(qm, end);
			post(qm, end);
		}
		for (uint32_t polls = qm_below(qm, 6); polls > 0; polls--)
			poll_once(qm);
	}
	/* Receives that come late: what waited for them goes on. */
	while (qm->received[0] < QM_MESSAGES || qm->received[1] < QM_MESSAGES) {
		receive(qm, 0);
		receive(qm, 1);
		poll_once(qm);
	}
	while ((qm->done[0] < QM_MESSAGES || qm->done[1] < QM_MESSAGES) && qm->polls < POLLS_MAX)
		poll_once(qm);
	assert_int_equal(qm->done[0] + qm->done[1], 2 * QM_MESSAGES);
	for (uint32_t i = 0; i < POLLS_END; i++)
		poll_once(qm);
}
