/* SPDX-License-Identifier: BSD-3-Clause */

/* Sets of counters of queues: the port's receive queues have one, all queue pairs another. */
#ifndef RNIC_Q_COUNTER_H
#define RNIC_Q_COUNTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;

#define RNIC_Q_COUNTERS 19 /* of queue pairs, as in `rdma statistic` */

/* Of all queue pairs, and of nobody else. */
struct rnic_q_counters {
	bool has;
	uint32_t number;
	pthread_mutex_t lock; /* of the below */
	uint64_t counters[RNIC_Q_COUNTERS];
	uint32_t before[RNIC_Q_COUNTERS]; /* as last read from the device */
};

/*
 * A set of counters for queues, which devices may have few or none of: then *has is false, the number is the device's own set
 * (0), and what it would count reads 0. `whose` is for the message.
 */
int rnic_q_counter_alloc(struct rnic_dev *dev, const char *whose, uint32_t *number, bool *has);
/* Of the port's: frames that found no receive WQE. */
int rnic_q_counter_out_of_buffer(struct rnic_dev *dev, uint32_t *count);

/* Of queue pairs, made and read as long as the device has RDMA. */
extern const char *const rnic_q_counter_names[]; /* NULL terminated */
int rnic_q_counters_setup(struct rnic_dev *dev);
void rnic_q_counters_teardown(struct rnic_dev *dev);
int rnic_q_counters_read(struct rnic_dev *dev, uint64_t values[RNIC_Q_COUNTERS]);

#endif
