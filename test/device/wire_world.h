/* SPDX-License-Identifier: BSD-3-Clause */

/* A device with one queue each way on a wire that has an outside, and frames of known content. */
#ifndef TEST_WIRE_WORLD_H
#define TEST_WIRE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"

#define WW_FRAMES      1024 /* receive buffers, each of */
#define WW_FRAME_BYTES 2048

struct ww {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *out, *in;
};

/* The queues are ready and all frames are steered to the one; no buffer is posted. */
void ww_open(struct ww *ww, const struct softrnic_conf *conf);
void ww_close(struct ww *ww);

/* Frame `number`: a unicast address, and bytes that no other number has. */
void ww_frame(uint8_t *frame, uint32_t bytes, uint32_t number);

void ww_post(struct ww *ww, uint32_t count);
/* The next frame that was received, NULL: none. time: the entry's */
const uint8_t *ww_next(struct ww *ww, uint32_t *bytes, uint64_t *time);
/* The next one is frame `number` of that length. */
void ww_expect(struct ww *ww, uint32_t bytes, uint32_t number);
void ww_expect_none(struct ww *ww);

/* Send frame `number`, and poll until it is out. */
void ww_send(struct ww *ww, uint32_t bytes, uint32_t number);

/* How often the link went up (RNIC_PORT_CHANGE_ACTIVE) or down among the events since the last call. */
unsigned int ww_link_events(struct ww *ww, uint8_t what);

#endif
