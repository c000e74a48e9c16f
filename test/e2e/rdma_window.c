/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory windows of one end. */

#include "rdma_end.h"

#define BYTES (RDMA_HALF - 2 * RDMA_GUARD)
#define RIGHTS \
	(RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_ATOMIC)

void
rdma_end_window_free(struct rdma_end *end)
{
	if (end->window != NULL)
		assert_int_equal(rdmapmd_mw_free(end->window), 0);
	end->window = NULL;
}

struct rdmapmd_send_wr
rdma_end_bind(struct rdma_end *end)
{
	return (struct rdmapmd_send_wr){
		.wr_id = 1,
		.opcode = RDMAPMD_WR_BIND_MW,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.wr.bind_mw = { .mw = end->window,
				.mr = end->mr[RDMA_REGION_ALL],
				/* From the source to the end of the target. */
				.addr = (uintptr_t)end->memory + RDMA_FROM,
				.length = RDMA_HALF + BYTES,
				.rkey = rdmapmd_mw_next_rkey(end->window),
				.access = RIGHTS },
	};
}

static void
bind_1(struct rdma_end *end, uint64_t length)
{
	const struct rdmapmd_mw_bind_attr attr = { .wr_id = 1,
						   .mr = end->mr[RDMA_REGION_ALL],
						   .addr = (uintptr_t)end->memory + RDMA_FROM,
						   .length = length,
						   .access = RIGHTS,
						   .send_flags = RDMAPMD_SEND_SIGNALED };

	assert_int_equal(rdmapmd_mw_bind(end->qp, end->window, &attr), 0);
	rdma_expect(end->cq, 1, RDMAPMD_WC_BIND_MW);
}

static void
bind_2(struct rdma_end *end, struct rdmapmd_qp *qp, unsigned int access)
{
	struct rdmapmd_send_wr wr = rdma_end_bind(end);

	wr.wr.bind_mw.access = access;
	rdma_post(qp, &wr);
	rdma_expect(end->cq, 1, RDMAPMD_WC_BIND_MW);
	assert_int_equal(end->window->rkey, wr.wr.bind_mw.rkey);
}

static struct rdmapmd_qp *
other_qp(struct rdma_end *end)
{
	if (end->other == NULL)
		end->other = rdma_to_itself(end->pd, end->cq);
	return end->other;
}

void
rdma_end_window_invalidate(struct rdma_end *end)
{
	const struct rdmapmd_send_wr wr = { .wr_id = 1,
					    .opcode = RDMAPMD_WR_LOCAL_INV,
					    .send_flags = RDMAPMD_SEND_SIGNALED,
					    .invalidate_rkey = end->window->rkey };

	rdma_post(end->qp, &wr);
	rdma_expect(end->cq, 1, RDMAPMD_WC_LOCAL_INV);
}

uint32_t
rdma_end_window(struct rdma_end *end, enum rdma_window kind)
{
	const bool type_1 = kind == RDMA_WINDOW_TYPE_1 || kind == RDMA_WINDOW_UNBOUND;
	uint32_t key;

	rdma_end_window_free(end);
	assert_int_equal(rdmapmd_mw_alloc(end->pd, type_1 ? RDMAPMD_MW_TYPE_1 : RDMAPMD_MW_TYPE_2,
					  &end->window),
			 0);
	if (type_1)
		bind_1(end, RDMA_HALF + BYTES);
	else if (kind != RDMA_WINDOW_FREE)
		bind_2(end, kind == RDMA_WINDOW_OTHER_QP ? other_qp(end) : end->qp,
		       kind == RDMA_WINDOW_NO_RIGHTS	? 0
		       : kind == RDMA_WINDOW_ZERO_BASED ? RIGHTS | RDMAPMD_ACCESS_ZERO_BASED
							: RIGHTS);
	key = end->window->rkey;
	if (kind == RDMA_WINDOW_UNBOUND)
		bind_1(end, 0);
	else if (kind == RDMA_WINDOW_INVALIDATED)
		rdma_end_window_invalidate(end);
	else if (kind == RDMA_WINDOW_FREED)
		rdma_end_window_free(end);
	return key;
}
