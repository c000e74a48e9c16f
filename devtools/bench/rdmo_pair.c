/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pthread.h>

#include <rte_common.h>

#include "rdmo_pair.h"

#define TAIL_ROOM    4096 /* before the queue: the tail alone */
#define CREDITS	     16u  /* of each connection, as a worker's default is; and its receives */
#define RECEIVES_MIN 512u

/* Something that waits for the worker. */
struct errand {
	struct rdmo_pair *pair;
	int (*run)(struct rdmo_pair *pair);
	atomic_bool is_done;
	int rc;
};

static void *
errand_run(void *arg)
{
	struct errand *errand = arg;

	errand->rc = errand->run(errand->pair);
	atomic_store(&errand->is_done, true);
	return NULL;
}

/* Poll the worker while another thread does this. */
static int
served(struct rdmo_pair *pair, int (*run)(struct rdmo_pair *), const char *what)
{
	struct errand errand = { .pair = pair, .run = run };
	pthread_t thread;
	int rc;

	rc = -pthread_create(&thread, NULL, errand_run, &errand);
	if (rc == 0) {
		while (!atomic_load(&errand.is_done))
			if (rdmo_worker_poll(pair->worker, 0) == 0)
				usleep(10); /* valgrind runs one thread at a time */
		pthread_join(thread, NULL);
		rc = errand.rc;
	}
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", what, strerror(-rc));
	return rc;
}

static int
offer(struct rdmo_pair *pair, void *at, size_t bytes, uint64_t *key)
{
	const struct rdmo_mr_attr attr = { .addr = at,
					   .length = bytes,
					   .rights = RDMO_RIGHT_APPEND };

	return rdmo_mr_reg(pair->target, &attr, key);
}

/* The queue's keys. */
static int
queue_offer(struct rdmo_pair *pair)
{
	int rc;

	__atomic_store_n(pair->tail, rte_cpu_to_le_64((uintptr_t)pair->queue), __ATOMIC_RELEASE);
	rc = offer(pair, pair->tail, sizeof(*pair->tail), &pair->ptr_key);
	return rc != 0 ? rc : offer(pair, pair->queue, pair->queue_bytes, &pair->data_key);
}

static int
queue_renew(struct rdmo_pair *pair)
{
	int rc = rdmo_mr_dereg(pair->target, pair->ptr_key);

	if (rc == 0)
		rc = rdmo_mr_dereg(pair->target, pair->data_key);
	return rc != 0 ? rc : queue_offer(pair);
}

/* In DPDK's memory. */
static int
log_open(struct rdmo_pair *pair)
{
	const struct rdmo_log_attr attr = {
		.capacity = pair->log_bytes,
		.producers = pair->connections,
	};
	int rc = rdmo_log_create(pair->target, &attr, &pair->log);

	return rc != 0 ? rc : rdmo_log_query(pair->log, &pair->log_info);
}

static int
begin(struct rdmo_pair *pair)
{
	struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(pair->worker),
		.secret = pair->secret,
		.timeout_ms = 60000, /* under valgrind */
		.is_producer = pair->log_bytes > 0,
	};
	uint64_t rq_id;
	int rc;

	rc = rdmo_target_open(pair->worker, RDMO_PAIR_ID, &pair->target);
	if (rc == 0)
		rc = rdmo_rq_create(pair->target, pair->secret, &rq_id);
	if (rc == 0)
		rc = queue_offer(pair);
	if (rc == 0 && pair->log_bytes > 0)
		rc = log_open(pair);
	for (unsigned int i = 0; i < pair->connections && rc == 0; i++) {
		attr.producer = i;
		rc = rdmo_connect(pair->rdma.ends[0].pd, &attr, &pair->conns[i]);
	}
	return rc;
}

int
rdmo_pair_open(struct rdmo_pair *pair, const char *const names[2],
	       const struct rdmo_pair_attr *attr)
{
	const struct rdma_pair_attr rdma = { .type = RDMAPMD_QPT_RC,
					     .qps = attr->qps,
					     .receives = attr->receives,
					     .bytes = TAIL_ROOM + attr->queue_bytes };
	const struct rdmo_worker_attr worker = {
		.address = "127.0.0.1:0",
		.credits = CREDITS,
		.receives = RTE_MAX(attr->connections * CREDITS, RECEIVES_MIN),
	};
	int rc;

	*pair = (struct rdmo_pair){ .queue_bytes = attr->queue_bytes,
				    .log_bytes = attr->log_bytes,
				    .connections = attr->connections };
	pair->conns = calloc(attr->connections, sizeof(*pair->conns));
	if (pair->conns == NULL)
		return -ENOMEM;
	rc = rdma_pair_open(&pair->rdma, names, &rdma);
	if (rc != 0)
		return rc;
	pair->tail = (rte_le64_t *)pair->rdma.ends[1].memory;
	pair->queue = pair->rdma.ends[1].memory + TAIL_ROOM;
	rc = rdmo_worker_create(pair->rdma.ends[1].pd, &worker, &pair->worker);
	if (rc != 0) {
		fprintf(stderr, "worker: %s\n", strerror(-rc));
		return rc;
	}
	return served(pair, begin, "target and connection");
}

int
rdmo_pair_renew(struct rdmo_pair *pair)
{
	return served(pair, queue_renew, "queue");
}

static int
end(struct rdmo_pair *pair)
{
	for (unsigned int i = 0; i < pair->connections; i++)
		rdmo_disconnect(pair->conns[i]);
	rdmo_log_destroy(pair->log);
	rdmo_target_close(pair->target);
	return 0;
}

int
rdmo_pair_close(struct rdmo_pair *pair)
{
	int rc = served(pair, end, "end");

	free(pair->conns);
	if (rc == 0)
		rc = rdmo_worker_destroy(pair->worker);
	return rc != 0 ? rc : rdma_pair_close(&pair->rdma);
}

struct rdmo_op
rdmo_pair_append(const struct rdmo_pair *pair, const void *payload, uint32_t length)
{
	return (struct rdmo_op){
		.id = RDMO_PAIR_ID,
		.op_id = RDMO_OP_APPEND,
		.length = length,
		.append = { .ptr_addr = (uintptr_t)pair->tail,
			    .ptr_key = pair->ptr_key,
			    .data_key = pair->data_key,
			    .payload = payload },
		.rkey = pair->rdma.ends[0].mr->rkey,
	};
}

struct rdmo_op
rdmo_pair_record(const struct rdmo_pair *pair, const void *payload, uint32_t length)
{
	return (struct rdmo_op){
		.id = RDMO_PAIR_ID,
		.op_id = RDMO_OP_APPEND,
		.length = length,
		.append = { .ptr_addr = pair->log_info.addr,
			    .ptr_key = pair->log_info.key,
			    .data_key = pair->log_info.key,
			    .payload = payload },
	};
}

int
rdmo_pair_release(const struct rdmo_pair *pair)
{
	struct rdmo_log_record none;
	struct rdmo_log_info now;
	int rc = rdmo_log_query(pair->log, &now);

	/* What may be released is known by a look. */
	(void)rdmo_log_read(pair->log, &none, 0);
	return rc != 0 || now.head == now.tail ? rc : rdmo_log_release(pair->log, now.tail);
}
