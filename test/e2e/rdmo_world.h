/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker that threads poll, one for each of its lcores, a target with a queue and other memory, and a connection to it: on one device
 * whose frames come back to it, or on two.
 */
#ifndef E2E_RDMO_WORLD_H
#define E2E_RDMO_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include <rdmapmd.h>

#include "rdmo/rdmo.h"

#define RDMO_ID	   UINT64_C(0xa1b2c3d4e5f60718)
#define RDMO_QUEUE (1u << 18)
#define RDMO_AREA  8192u

#define RDMO_WORLD_LCORES 3 /* at most */

struct rdmo_world {
	struct rdmapmd_context
		*context[2]; /* the worker's, the initiator's; the same of one device */
	struct rdmapmd_pd *pd[2];
	bool is_far;	/* two lcores: the connection is at one, the queue belongs to the other */
	bool is_remote; /* the target is at the initiator's device, as if it were in another process */
	struct rdmo_worker *worker;
	uint32_t lcores;
	pthread_t pollers[RDMO_WORLD_LCORES];
	atomic_bool is_stopped;
	struct rdmo_target *target;
	uint8_t secret[RDMO_SECRET_BYTES];
	uint64_t rq_id;
	struct rdmo_conn *conn;
	/* The target's memory, and its keys. */
	rte_le64_t tail __attribute__((aligned(64)));
	uint64_t ptr_key, data_key, area_key, read_key;
	uint8_t queue[RDMO_QUEUE];
	uint8_t area[RDMO_AREA];
};

extern struct rdmo_world world;

/* Devices, for all tests: the arguments are devargs of one or of two. 0, or what main() returns. */
int rdmo_world_init(const char *name, int argc, char **argv);
void rdmo_world_fini(void);

/* A worker with these attributes (its address is any that is free), polled; without it: not polled any more. */
void rdmo_worker_start(const struct rdmo_worker_attr *attr);
void rdmo_worker_end(void);

/* Its threads, between that. */
void rdmo_pollers_start(void);
void rdmo_pollers_stop(void);

/* Worker, target, connection, with what is usual; and all that there is gone. Setup and teardown of cmocka. */
int rdmo_world_open(void **state);
int rdmo_world_close(void **state);

/* A target with a receive queue and its memory, which is all 0xa5. */
void rdmo_target_start(void);
/* It alone: in this process, or as if in another one. */
void rdmo_target_make(void);
/* A target by a queue pair. */
void rdmo_remote_start(uint64_t id, struct rdmo_target **target);
struct rdmo_conn *rdmo_conn_to(const uint8_t *secret);

/* An APPEND to the queue. */
struct rdmo_op rdmo_append_of(uint64_t user_data, const void *payload, uint32_t length);
struct rdmo_op rdmo_flush_of(uint64_t user_data, uint64_t key);

/* A piece of a SCATTER, and one of so many. */
struct rdmo_scatter_iov rdmo_piece_of(const void *at, uint64_t key, uint32_t len);
struct rdmo_op rdmo_scatter_of(uint64_t user_data, const struct rdmo_scatter_iov *iovs,
			       const void *const *data, uint32_t count);

/* All of them, by as many calls as it takes. */
void rdmo_post_all(struct rdmo_conn *conn, const struct rdmo_op *ops, uint32_t n);
/* So many completions, or a test that fails after a minute. */
void rdmo_wait(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n);
/* One operation, and how it ended. */
struct rdmo_completion rdmo_do(struct rdmo_conn *conn, const struct rdmo_op *op);
/* Likewise, and it is this status and value. */
void rdmo_expect(struct rdmo_conn *conn, const struct rdmo_op *op, enum rdmo_status status,
		 uint64_t value);

/* Memory of the initiator's, registered for the worker to fetch from: any bytes. */
struct rdmo_own {
	uint8_t bytes[200000] __attribute__((aligned(64)));
	struct rdmapmd_mr *mr;
};

extern struct rdmo_own rdmo_own;

void rdmo_own_start(void);
void rdmo_own_end(void);

/* The operation, whose payload lies there. */
struct rdmo_op rdmo_owned(struct rdmo_op op);

/* Bytes behind the queue's beginning, of the tail as the target sees it. */
uint64_t rdmo_tail_of(void);

/* Wait until the worker has so many connections. */
void rdmo_wait_connections(uint64_t count);

#endif
