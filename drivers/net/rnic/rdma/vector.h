/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion vectors: each has an event queue of its own, made at its first use, which stays as long as the device; and the
 * event queue of queue pairs and SRQs.
 */
#ifndef RNIC_RDMA_VECTOR_H
#define RNIC_RDMA_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/control.h"

struct rnic_dev;
struct rnic_eq;

/* What the control thread does for these event queues. */
extern const struct rnic_control_source rnic_rdma_source;

/* Bring-up: the first vector's queue, and that of queue pairs. `refused`: it is the device that refused one. */
int rnic_rdma_vectors_setup(struct rnic_dev *dev, bool *refused);
/* When the control thread has ended, and no CQ is left. */
void rnic_rdma_vectors_teardown(struct rnic_dev *dev);
/*
 * The event queue of a vector, which is made if there is none yet: by one thread, others wait. -EINVAL: no such vector. Any
 * thread but the control thread. Executes commands.
 */
int rnic_rdma_vector_eq(struct rnic_dev *dev, uint32_t vector, struct rnic_eq **eq);
/* Of all event queues: hand on what came, and want to be told of more. By the thread that walks them. */
void rnic_rdma_poll(struct rnic_dev *dev);

#endif
