/* SPDX-License-Identifier: BSD-3-Clause */

#include "wire_world.h"

void
ww_open(struct ww *ww, const struct softrnic_conf *conf)
{
	struct dp_cq_conf cq = { .log_size = 11, .uar = 1, .ignore_overrun = true };

	memset(ww, 0, sizeof(*ww));
	assert_int_equal(softrnic_poller_create(&ww->poller), 0);
	assert_int_equal(dp_open(&ww->dp, ww->poller, conf), 0);
	assert_int_equal(dp_cq_create(&ww->dp, &ww->tx_cq, &cq), 0);
	assert_int_equal(dp_cq_create(&ww->dp, &ww->rx_cq, &cq), 0);
	assert_int_equal(dp_sq_create(&ww->dp, &ww->sq, &ww->tx_cq, 10, 1, 0), 0);
	assert_int_equal(dp_rq_create(&ww->dp, &ww->rq, &ww->rx_cq, 10, 4), 0);
	assert_int_equal(dp_steer_all(&ww->rq), 0);
	ww->out = dp_alloc(&ww->dp, 16384, 64);
	ww->in = dp_alloc(&ww->dp, (size_t)WW_FRAMES * WW_FRAME_BYTES, 64);
}

void
ww_close(struct ww *ww)
{
	dp_close(&ww->dp);
	assert_int_equal(softrnic_poller_destroy(ww->poller), 0);
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
ww_post(struct ww *ww, uint32_t count)
{
	while (count-- > 0)
		dp_post(&ww->rq, ww->in + (size_t)(ww->rq.producer % WW_FRAMES) * WW_FRAME_BYTES,
			WW_FRAME_BYTES);
	dp_rq_record(&ww->rq);
}

const uint8_t *
ww_next(struct ww *ww, uint32_t *bytes, uint64_t *time)
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
ww_expect(struct ww *ww, uint32_t bytes, uint32_t number)
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
ww_expect_none(struct ww *ww)
{
	uint64_t time;
	uint32_t bytes;

	assert_null(ww_next(ww, &bytes, &time));
}

void
ww_send(struct ww *ww, uint32_t bytes, uint32_t number)
{
	ww_frame(ww->out, bytes, number);
	dp_send(&ww->sq, ww->out, bytes);
	dp_run(&ww->dp);
	assert_non_null(dp_cq_next(&ww->tx_cq));
}

unsigned int
ww_link_events(struct ww *ww, uint8_t what)
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
