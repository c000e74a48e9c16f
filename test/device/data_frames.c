/* SPDX-License-Identifier: BSD-3-Clause */

#include "data_frames.h"

#define SQ_LOG 7
#define FRAMES .name = "frames", .wire = "loop", .seed = 1

/* ---- The device ---- */

static int
setup(void **state, const struct softrnic_conf *device, uint32_t ts_format)
{
	const struct dp_cq_conf cq = { .log_size = 8, .uar = 1 };
	const struct dp_side_conf conf = { .device = *device,
					   .mtu = DF_MTU_9000,
					   .ts_format = ts_format,
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = SQ_LOG,
					   .sq_uar = 1,
					   .sq_flags = DP_SQ_MULTI_PACKET | DP_SQ_FLUSH,
					   .rq_log_size = DF_RQ_LOG,
					   .rq_log_stride = 4,
					   .out_bytes = DF_OUT,
					   .in_bytes = (size_t)DF_ROOM << DF_RQ_LOG };
	struct df_world *w;
	uint32_t i;

	assert_int_equal(dp_side_setup(state, &conf), 0);
	w = *state;
	for (i = 0; i < 1u << DF_RQ_LOG; i++)
		dp_post(&w->rq, w->in + (size_t)i * DF_ROOM, DF_ROOM);
	dp_rq_record(&w->rq);
	return 0;
}

int
df_setup(void **state)
{
	return df_setup_like(state, NULL, 0);
}

int
df_setup_like(void **state, const char *like, uint32_t ts_format)
{
	return setup(state, &(struct softrnic_conf){ FRAMES, .like = like }, ts_format);
}

int
df_setup_inline_l2(void **state)
{
	return setup(state, &(struct softrnic_conf){ FRAMES, .inline_l2 = true }, 0);
}

int
df_setup_corrupt(void **state)
{
	return setup(state, &(struct softrnic_conf){ FRAMES, .corrupt_ppm = 1000000 }, 0);
}

struct rnic_wqe_eth *
df_wqe(struct df_world *w, uint32_t bytes, uint32_t segments)
{
	uint32_t at = 0, part, i;

	dp_wqe(&w->sq, RNIC_WQE_SEND, 2 + segments, RNIC_WQE_CE_ALWAYS);
	for (i = 0; i < segments; i++) {
		part = i == segments - 1 ? bytes - at : bytes / segments;
		dp_wqe_data(&w->sq, 2 + i, w->out + at, part);
		at += part;
	}
	return dp_wqe_at(&w->sq, 1);
}

const uint8_t *
df_receive(struct df_world *w, struct rnic_cqe *cqe)
{
	const struct rnic_cqe *next = dp_cq_next(&w->rx_cq);
	uint8_t *buffer;

	if (next == NULL)
		return NULL;
	*cqe = *next;
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND);
	buffer = w->in + (size_t)(w->taken++ & ((1u << DF_RQ_LOG) - 1)) * DF_ROOM;
	dp_post(&w->rq, buffer, DF_ROOM);
	dp_rq_record(&w->rq);
	return buffer;
}

void
df_expect(struct df_world *w, const uint8_t *frame, uint32_t length)
{
	struct rnic_cqe cqe;
	const uint8_t *buffer = df_receive(w, &cqe);

	assert_non_null(buffer);
	assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), length);
	assert_memory_equal(buffer, frame, length);
}

void
df_ring(struct df_world *w)
{
	const struct rnic_cqe *cqe;

	dp_sq_ring(&w->sq);
	dp_run(&w->dp);
	cqe = dp_cq_next(&w->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_REQUESTER);
	assert_null(dp_cq_next(&w->tx_cq));
}

void
df_ring_fails(struct df_world *w, uint8_t syndrome)
{
	const struct rnic_error_cqe *cqe;

	dp_sq_ring(&w->sq);
	dp_run(&w->dp);
	cqe = (const struct rnic_error_cqe *)dp_cq_next(&w->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_REQUESTER_ERROR);
	assert_int_equal(cqe->syndrome, syndrome);
	assert_null(dp_cq_next(&w->rx_cq));
	assert_int_equal(dp_sq_state(&w->sq), RNIC_WQ_STATE_ERR);
	assert_int_equal(dp_sq_restart(&w->sq, RNIC_WQ_STATE_ERR), 0);
}
