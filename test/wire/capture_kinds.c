/* SPDX-License-Identifier: BSD-3-Clause */

#include "capture_kinds.h"
#include "qp_umr.h"

#define MTU	 CAPTURE_MTU
#define SLOT	 4096u
#define UNMAPPED ((void *)(uintptr_t)0x1000)
#define GRH	 40u /* before the payload of a datagram */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Each number of padding bytes, and ONLY, FIRST and LAST, FIRST, MIDDLE and LAST. */
static const uint32_t lengths[] = {
	0, 1, 2, 3, 64, MTU, MTU + 1, 2 * MTU + 2, 2 * MTU + 3, 3 * MTU
};

static void
drop_completions(struct qw_two *two)
{
	struct dp_cq *const queues[] = { &two->a_send, &two->a_recv, &two->b_send, &two->b_recv };

	for (unsigned int i = 0; i < COUNT(queues); i++)
		while (dp_cq_next(queues[i]) != NULL)
			;
}

static bool
completed(void *arg)
{
	struct qw_two *two = arg;

	return dp_cq_peek(&two->a_send) != NULL;
}

/* The request that was posted ends so. */
static void
expect(struct qw_two *two, uint8_t syndrome)
{
	const struct rnic_cqe *cqe;

	assert_true(qw_run_until(&two->qw, completed, two));
	cqe = dp_cq_next(&two->a_send);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own),
			 syndrome == 0 ? RNIC_CQE_REQUESTER : RNIC_CQE_REQUESTER_ERROR);
	if (syndrome != 0)
		assert_int_equal(((const struct rnic_error_cqe *)cqe)->syndrome, syndrome);
	qw_run(&two->qw);
	drop_completions(two);
}

/* word: the immediate, or the key that a SEND invalidates. */
static void
message(struct qw_two *two, uint8_t opcode, uint32_t bytes, uint32_t word)
{
	struct rnic_wqe_ctrl *ctrl;

	if (opcode != RNIC_WQE_RDMA_WRITE && opcode != RNIC_WQE_RDMA_READ)
		qw_recv(&two->b, two->in, SLOT);
	ctrl = qw_wqe(&two->a, opcode, two->out, bytes, two->in, two->b.end->key,
		      RNIC_WQE_CE_ALWAYS | RNIC_WQE_SE);
	ctrl->immediate = rnic_cpu_to_be32(word);
	dp_sq_ring(&two->a.sq);
	expect(two, 0);
}

static void
messages(struct qw_two *two, const uint8_t *opcodes, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int k = 0; k < COUNT(lengths); k++)
			message(two, opcodes[i], lengths[k], 0x01020304);
}

/* ---- Reliable connections ---- */

/* Each SEND invalidates a window of its own. */
static void
invalidations(struct qw_two *two)
{
	const uint32_t mr = region(two, DRV_LW);

	for (unsigned int k = 0; k < COUNT(lengths); k++)
		message(two, RNIC_WQE_SEND_INVAL, lengths[k], bound(two, true, mr, DRV_RW));
}

static void
atomic(struct qw_two *two, uint8_t opcode)
{
	struct rnic_wqe_atomic *operands;

	qw_wqe(&two->a, opcode, two->out, 8, two->in, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	operands = dp_wqe_at(&two->a.sq, 2);
	operands->swap_add = rnic_cpu_to_be64(1);
	operands->compare = rnic_cpu_to_be64(2);
	dp_sq_ring(&two->a.sq);
	expect(two, 0);
}

/* NAKs: of a gap, of no receive, and the three that end a connection, which is made anew. */
static void
refusals(struct qw_two *two, const struct qw_attr *attr, uint32_t *lose)
{
	*lose = 1;
	message(two, RNIC_WQE_RDMA_WRITE, 3 * MTU, 0);
	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_poll(&two->qw, 8);
	qw_recv(&two->b, two->in, 64);
	expect(two, 0);
	qw_post(&two->a, &two->b, RNIC_WQE_ATOMIC_FA, two->out, 8, two->in + 4);
	expect(two, RNIC_SYND_REMOTE_INVALID_REQUEST);
	qw_two_reconnect(two, attr);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in, two->b.end->key ^ 0x5a,
	       RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->a.sq);
	expect(two, RNIC_SYND_REMOTE_ACCESS);
	qw_two_reconnect(two, attr);
	qw_recv(&two->b, UNMAPPED, 64);
	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 64, NULL);
	expect(two, RNIC_SYND_REMOTE_OPERATION);
}

/* ---- Without acknowledgements ---- */

/* Both queue pairs anew, of that type. */
static void
renew(struct qw_two *two, enum rnic_qp_st st, const struct qw_attr *attr)
{
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);

	assert_int_equal(qw_qp_destroy(&two->a), 0);
	assert_int_equal(qw_qp_destroy(&two->b), 0);
	a.st = b.st = st;
	qw_two_more(two, &two->a, &a, &two->b, &b, attr);
}

static void
datagrams(struct qw_two *two)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM };
	const struct rnic_wqe_av av = qw_av(two->b.end, two->b.qpn, QW_QKEY);
	const struct rnic_cqe *cqe;

	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		for (unsigned int k = 0; lengths[k] <= MTU; k++) {
			qw_recv(&two->b, two->in, SLOT);
			qw_datagram(&two->a, opcodes[i], &av, two->out, lengths[k])->immediate =
				rnic_cpu_to_be32(0x01020304);
			dp_sq_ring(&two->a.sq);
			qw_run(&two->qw);
			cqe = dp_cq_next(&two->b_recv);
			assert_non_null(cqe);
			assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), GRH + lengths[k]);
			drop_completions(two);
		}
	}
}

/* ---- All of them ---- */

void
capture_kinds(struct qw_two *two, const struct qw_attr *attr, uint32_t *lose)
{
	static const uint8_t reliable[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM, RNIC_WQE_RDMA_WRITE,
					    RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_RDMA_READ };
	static const uint8_t unreliable[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM, RNIC_WQE_RDMA_WRITE,
					      RNIC_WQE_RDMA_WRITE_IMM };

	messages(two, reliable, COUNT(reliable));
	atomic(two, RNIC_WQE_ATOMIC_CS);
	atomic(two, RNIC_WQE_ATOMIC_FA);
	invalidations(two);
	refusals(two, attr, lose);
	renew(two, RNIC_QP_ST_UC, attr);
	messages(two, unreliable, COUNT(unreliable));
	renew(two, RNIC_QP_ST_UD, attr);
	datagrams(two);
}
