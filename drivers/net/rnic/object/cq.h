/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues. The burst functions use the members directly. */
#ifndef RNIC_OBJECT_CQ_H
#define RNIC_OBJECT_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "object/ring.h"

struct rnic_cq_dbrec;
struct rnic_cqe;
struct rnic_dev;
struct rnic_eq;

/*
 * The sequence number of a CQ's first arming; each event uses one up. Not 0: the word of an empty CQ would be what its record
 * has had all along, and a doorbell that got lost on the page that all CQs ring would not be found there.
 */
#define RNIC_CQ_ARM_SEQUENCE_FIRST 1

struct rnic_cq {
	struct rnic_cqe *ring;
	struct rnic_cq_dbrec *dbrec;
	uint32_t consumer; /* free running; 24 bits in the record */
	uint32_t mask;
	uint8_t log_size;
	bool compressed; /* titles and lists may come (prm/cqe.h) */
	bool lost;	 /* a title was so wrong that nobody knows where the device goes on */
	/* Of a title's completions, those that were not taken yet: their slots have no entries. */
	uint32_t session;
	uint32_t cqn;
	struct rnic_ring memory;
};
/* Its completion events, if it is armed, and its errors go to `eq`. */
int rnic_cq_create(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq,
		   struct rnic_cq *cq);
/* The same with compressed completions, of frames, with their hashes. */
int rnic_cq_create_compressed(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq,
			      struct rnic_cq *cq);
int rnic_cq_destroy(struct rnic_dev *dev, struct rnic_cq *cq);
/* How many completions wait, if they are fewer than `most`. */
uint32_t rnic_cq_waiting(const struct rnic_cq *cq, uint32_t most);
/* Remove whatever a later poll could take for its own. */
void rnic_cq_drop(struct rnic_cq *cq);
/* Nobody polls meanwhile; entries that wait stay. -EINVAL: there are more than would fit. */
int rnic_cq_resize(struct rnic_dev *dev, struct rnic_cq *cq, unsigned int log_size);

#endif
