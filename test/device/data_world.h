/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A device on a loop wire with a send queue, and receive queues that each have buffers and a TIR. Which frames go to
 * which of them is for the test to say: there is no flow table yet.
 */
#ifndef TEST_DATA_WORLD_H
#define TEST_DATA_WORLD_H

#include "data_path.h"

#define DW_QUEUES 4
#define DW_RQ_LOG 12

struct dw {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq[DW_QUEUES];
	struct dp_sq sq;
	struct dp_rq rq[DW_QUEUES];
	struct rnic_flow_destination to[DW_QUEUES]; /* them */
	uint8_t *out, *in; /* pages: 16 KiB to send from; all that is received comes to `in` */
};

/* *state: a struct dw, for dp_teardown(). quick: commands are no polls, for tests that count what a poll does. */
int dw_setup(void **state);
int dw_setup_quick(void **state);
/* Its queues, once there is a device. */
void dw_open(struct dw *w);

/* Write a SEND of the first `bytes` at w->out and ring it. */
void dw_send(struct dw *w, uint32_t bytes);
/* Run: which queues got a frame, as bits. *cqe: the last completion, zeros if there is none; may be NULL. */
unsigned int dw_arrived(struct dw *w, struct rnic_cqe *cqe);
/* Both. */
unsigned int dw_arrives(struct dw *w, uint32_t bytes, struct rnic_cqe *cqe);

/* Calls of driver/flow that must succeed. */
uint32_t dw_table(struct dw *w, uint32_t level, uint32_t log_size, uint32_t miss_table);
uint32_t dw_group(struct dw *w, const struct drv_group *group);
/* A table of these entries, which are set. */
uint32_t dw_table_of(struct dw *w, uint32_t level, uint32_t miss_table, struct drv_fte *entries,
		     uint32_t count);
void dw_root(struct dw *w, uint32_t table);
/* A root whose one entry sends all to the first queue. */
uint32_t dw_root_to_first(struct dw *w);

#endif
