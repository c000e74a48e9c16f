/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What rdmo_bench and rdmo_instr share: initiators on one device; on another a worker, and a target with a queue and a log. The thread that
 * calls these is the one that polls the worker; what would wait for that is done by another thread meanwhile.
 */
#ifndef RDMO_PAIR_H
#define RDMO_PAIR_H

#include "rdma_pair.h"
#include "rdmo.h"

#define RDMO_PAIR_ID 42 /* the target's */

struct rdmo_pair_attr {
	unsigned int qps;	  /* of the pair of devices below, besides the connections' */
	unsigned int receives;	  /* that each of these has room for */
	unsigned int connections; /* 1 .. 2,048 */
	size_t queue_bytes;	  /* a power of two */
	size_t log_bytes; /* of its ring, likewise; 0: there is no log. Connections are its producers */
};

struct rdmo_pair {
	/* End 0 is the initiator's, end 1 the worker's: tail and queue are in its memory. */
	struct rdma_pair rdma;
	size_t queue_bytes, log_bytes;
	struct rdmo_worker *worker;
	struct rdmo_target *target;
	struct rdmo_conn **conns;
	unsigned int connections;
	rte_le64_t *tail;
	uint8_t *queue;
	uint64_t ptr_key, data_key;
	struct rdmo_log *log;
	struct rdmo_log_info log_info; /* as it began */
	uint8_t secret[RDMO_SECRET_BYTES];
};

/* 0, or -errno with a line on stderr. */
int rdmo_pair_open(struct rdmo_pair *pair, const char *const names[2],
		   const struct rdmo_pair_attr *attr);
/* The queue is empty again, under new keys. No operation may be under way. */
int rdmo_pair_renew(struct rdmo_pair *pair);
int rdmo_pair_close(struct rdmo_pair *pair);

/*
 * An APPEND to the queue, whose payload the worker may fetch if it lies in the memory of end 0; and one to the log.
 */
struct rdmo_op rdmo_pair_append(const struct rdmo_pair *pair, const void *payload, uint32_t length);
struct rdmo_op rdmo_pair_record(const struct rdmo_pair *pair, const void *payload, uint32_t length);

/* All that is in the log is released, without a look at it. 0, or -errno. */
int rdmo_pair_release(const struct rdmo_pair *pair);

#endif
