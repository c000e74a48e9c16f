/* SPDX-License-Identifier: BSD-3-Clause */

/* A device with one queue each way on a wire that has an outside, and frames of known content. */
#ifndef TEST_WIRE_WORLD_H
#define TEST_WIRE_WORLD_H

#include "data_expect.h"

#define WW_FRAMES      1024 /* receive buffers, each of */
#define WW_FRAME_BYTES 2048

/*
 * Queues that are ready, and all frames steered to the one; no buffer is posted. cmocka's setup has room for a world, which
 * the test opens, and the teardown closes it if the test did not.
 */
void ww_open(struct dp_side *ww, const struct softrnic_conf *conf);
void ww_close(struct dp_side *ww);
int ww_setup(void **state);

/* Frame `number`: a unicast address, and bytes that no other number has. */
void ww_frame(uint8_t *frame, uint32_t bytes, uint32_t number);

void ww_post(struct dp_side *ww, uint32_t count);
/* The next frame that was received, NULL: none. time: the entry's */
const uint8_t *ww_next(struct dp_side *ww, uint32_t *bytes, uint64_t *time);
/* The next one is frame `number` of that length. */
void ww_expect(struct dp_side *ww, uint32_t bytes, uint32_t number);
void ww_expect_none(struct dp_side *ww);

/* Send frame `number`, and poll until it is out. */
void ww_send(struct dp_side *ww, uint32_t bytes, uint32_t number);

/* How often the link went up (RNIC_PORT_CHANGE_ACTIVE) or down among the events since the last call. */
unsigned int ww_link_events(struct dp_side *ww, uint8_t what);

#endif
