/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "wire_world.h"

void
ww_open(struct dp_side *ww, const struct softrnic_conf *device)
{
	const struct dp_cq_conf cq = { .log_size = 11, .uar = 1, .ignore_overrun = true };
	const struct dp_side_conf conf = { .device = *device,
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = 10,
					   .sq_uar = 1,
					   .rq_log_size = 10,
					   .rq_log_stride = 4,
					   .out_bytes = 16384,
					   .in_bytes = (size_t)WW_FRAMES * WW_FRAME_BYTES };

	assert_int_equal(dp_side_open(ww, NULL, &conf), 0);
}

void
ww_close(struct dp_side *ww)
{
	assert_int_equal(dp_side_close(ww), 0);
}

int
ww_setup(void **state)
{
	*state = calloc(1, sizeof(struct dp_side));
	return *state != NULL ? 0 : -1;
}

void
ww_frame(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	for (uint32_t i = 0; i < bytes; i++)
		frame[i] = (uint8_t)(i * 7 + (i >> 8) + number * 31 + (number >> 5));
	if (bytes > 0)
		frame[0] &= 0xfe;
}

void
ww_post(struct dp_side *ww, uint32_t count)
{
	while (count-- > 0)
		dp_post(&ww->rq, ww->in + (size_t)(ww->rq.producer % WW_FRAMES) * WW_FRAME_BYTES,
			WW_FRAME_BYTES);
	dp_rq_record(&ww->rq);
}

const uint8_t *
ww_next(struct dp_side *ww, uint32_t *bytes, uint64_t *time)
{
	const struct rnic_cqe *cqe = dp_cq_next(&ww->rx_cq);

	if (cqe == NULL)
		return NULL;
	assert_int_equal(cqe->op_own >> 4, RNIC_CQE_RESPONDER_SEND);
	*bytes = rnic_be32_to_cpu(cqe->byte_count);
	*time = rnic_be64_to_cpu(cqe->timestamp);
	return ww->in + (size_t)(rnic_be16_to_cpu(cqe->wqe_counter) % WW_FRAMES) * WW_FRAME_BYTES;
}

void
ww_expect(struct dp_side *ww, uint32_t bytes, uint32_t number)
{
	uint8_t wanted[WW_FRAME_BYTES];
	const uint8_t *frame;
	uint64_t time;
	uint32_t got;

	frame = ww_next(ww, &got, &time);
	if (frame == NULL)
		fail_msg("frame %u is not there", number);
	assert_int_equal(got, bytes);
	ww_frame(wanted, bytes, number);
	if (memcmp(frame, wanted, bytes) != 0)
		fail_msg("not the bytes of frame %u", number);
}

void
ww_expect_none(struct dp_side *ww)
{
	uint64_t time;
	uint32_t bytes;

	assert_null(ww_next(ww, &bytes, &time));
}

void
ww_send(struct dp_side *ww, uint32_t bytes, uint32_t number)
{
	ww_frame(ww->out, bytes, number);
	dp_send(&ww->sq, ww->out, bytes);
	dp_run(&ww->dp);
	assert_non_null(dp_cq_next(&ww->tx_cq));
}

unsigned int
ww_link_events(struct dp_side *ww, uint8_t what)
{
	const struct rnic_eqe *eqe;
	unsigned int count = 0;

	dp_run(&ww->dp);
	while ((eqe = dp_eq_next(&ww->dp)) != NULL) {
		count += eqe->type == RNIC_EVENT_PORT_CHANGE && eqe->sub_type == what;
		dp_eq_seen(&ww->dp);
	}
	return count;
}
