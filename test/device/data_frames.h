/* SPDX-License-Identifier: BSD-3-Clause */

/* A device on a loop wire that frames of frame_spec.h go through. */
#ifndef TEST_DATA_FRAMES_H
#define TEST_DATA_FRAMES_H

#include "data_expect.h"
#include "frame_spec.h"

#define DF_ROOM	    16384u	   /* of a buffer */
#define DF_OUT	    (17 * DF_ROOM) /* more than a large send may be */
#define DF_RQ_LOG   7
#define DF_MTU_9000 9022 /* as registers count: with header, tag and FCS */

/* out: DF_OUT bytes; in: DF_ROOM for each receive WQE */
#define df_world dp_side

/* cmocka setups: *state is a struct df_world with all receive WQEs posted. */
int df_setup(void **state);
/* On a device that is like a card, with queues that ask for that format of timestamps. */
int df_setup_like(void **state, const char *like, uint32_t ts_format);
int df_setup_inline_l2(void **state);
/* On a wire that damages each frame. */
int df_setup_corrupt(void **state);
#define df_teardown dp_side_teardown

/* Write a SEND of `bytes` bytes at out, in so many data segments, and leave it to be rung. */
struct rnic_wqe_eth *df_wqe(struct df_world *w, uint32_t bytes, uint32_t segments);
/* The next received frame, or NULL; its completion is copied. The buffer stays valid until two rounds of the ring. */
const uint8_t *df_receive(struct df_world *w, struct rnic_cqe *cqe);
/* The next received frame is exactly these bytes. */
void df_expect(struct df_world *w, const uint8_t *frame, uint32_t length);
/* Ring what was written, run, and take a good completion of it. */
void df_ring(struct df_world *w);
/* Ring what was written: it fails. The queue is put right again. */
void df_ring_fails(struct df_world *w, uint8_t syndrome);

#endif
