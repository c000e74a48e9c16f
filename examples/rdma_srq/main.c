/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One pool of receive buffers for 64 queue pairs. With receive queues of their own each would need as many buffers as its
 * client may ever send at once; from a shared receive queue the busy ones take what the others leave.
 *
 * 64 clients send to a server, in this process, some much more than others. The server returns buffers to the pool when the
 * device tells that few are left, which is the queue's limit.
 *
 *   rdma_srq -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [MESSAGES [PEER]]]
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#define CLIENTS 64
#define AT_ONCE 16  /* messages of a client under way */
#define BUFFERS 256 /* of all: a quarter of what 64 receive queues of 16 would have */
#define LIMIT	64  /* fewer left: return what is free */
#define BATCH	32  /* completions in a burst */
#define NUMBERS 256 /* a hash table of the queue pairs' numbers, at most a quarter full */
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

struct message {
	uint64_t client, number;
};

/* One end of all connections. */
struct side {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq; /* of all queue pairs */
	struct rdmapmd_qp *qps[CLIENTS];
	/* The server's pool. The clients send what is in their requests and need no memory. */
	struct rdmapmd_srq *srq;
	struct rdmapmd_mr *mr;
	struct message *buffers;
};

static struct side clients, server;
/* Of each client: messages sent, those that were acknowledged, those that the server has got. */
static uint64_t sent[CLIENTS], acknowledged[CLIENTS], received[CLIENTS];
static struct {
	uint32_t qp_num, client;
} numbers[NUMBERS];
static uint32_t free_buffers[BUFFERS], free_count, refills;
static volatile sig_atomic_t stopped;

/* ---- The server: its pool, and the clients' messages ---- */

/* All free buffers to the pool, in one burst. */
static void
refill(void)
{
	struct rdmapmd_recv_wr wrs[BUFFERS];
	struct rdmapmd_sge sges[BUFFERS];
	uint32_t i;

	for (i = 0; i < free_count; i++) {
		struct message *buffer = &server.buffers[free_buffers[i]];

		sges[i] =
			(struct rdmapmd_sge){ (uintptr_t)buffer, sizeof(*buffer), server.mr->lkey };
		wrs[i] = (struct rdmapmd_recv_wr){ .wr_id = free_buffers[i],
						   .sg_list = &sges[i],
						   .num_sge = 1 };
	}
	if (rdmapmd_post_srq_recv(server.srq, wrs, (uint16_t)free_count) != free_count)
		TRY(server.srq->post_error);
	free_count = 0;
}

/* One event, once: then the limit is to be set again. If fewer are left already, the next event comes at once. */
static void
arm_limit(void)
{
	const struct rdmapmd_srq_attr limit = { .srq_limit = LIMIT };

	TRY(rdmapmd_srq_modify(server.srq, &limit, RDMAPMD_SRQ_LIMIT));
}

/* The next event of the server's context: 0 after the limit of the pool, 1 after the last WQE of a queue pair, -EAGAIN. */
static int
take_event(void)
{
	struct rdmapmd_async_event event;
	int rc = rdmapmd_async_event_get(server.context, &event);

	if (rc != 0)
		return rc;
	TRY(rdmapmd_async_event_ack(server.context, &event));
	switch (event.event_type) {
	case RDMAPMD_EVENT_SRQ_LIMIT_REACHED: return 0;
	case RDMAPMD_EVENT_QP_LAST_WQE_REACHED: return 1;
	case RDMAPMD_EVENT_PORT_ACTIVE:
	case RDMAPMD_EVENT_PORT_ERR:
	case RDMAPMD_EVENT_GID_CHANGE: return take_event(); /* nothing to do */
	default: rte_exit(EXIT_FAILURE, "event: %s\n", rdmapmd_event_type_str(event.event_type));
	}
}

/* A completion says by its number which queue pair has received. */
static uint32_t *
client_of(uint32_t qp_num)
{
	uint32_t at = qp_num % NUMBERS;

	while (numbers[at].qp_num != qp_num && numbers[at].qp_num != 0)
		at = (at + 1) % NUMBERS;
	numbers[at].qp_num = qp_num;
	return &numbers[at].client;
}

static void
receive(void)
{
	struct rdmapmd_wc wcs[BATCH];
	uint16_t n = rdmapmd_poll_cq(server.cq, wcs, BATCH), i;

	for (i = 0; i < n; i++) {
		const struct message *message = &server.buffers[wcs[i].wr_id];
		uint32_t client = *client_of(wcs[i].qp_num);

		if (wcs[i].status != RDMAPMD_WC_SUCCESS)
			rte_exit(EXIT_FAILURE, "receive: %s\n",
				 rdmapmd_wc_status_str(wcs[i].status));
		/* Buffers of the pool complete in any order; the messages of each queue pair come in theirs. */
		if (message->client != client || message->number != received[client]++)
			rte_exit(EXIT_FAILURE, "another message has arrived\n");
		free_buffers[free_count++] = (uint32_t)wcs[i].wr_id;
	}
	if (take_event() == 0) {
		refill();
		arm_limit();
		refills++;
	}
}

/* ---- The clients ---- */

/* The payload goes into the request itself: its buffer may be used again at once. */
static void
send_message(uint32_t client)
{
	const struct message message = { client, sent[client] };
	const struct rdmapmd_sge sge = { (uintptr_t)&message, sizeof(message), 0 };
	const struct rdmapmd_send_wr wr = {
		.wr_id = client,
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_SIGNALED | RDMAPMD_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (rdmapmd_post_send(clients.qps[client], &wr, 1) != 1)
		TRY(clients.qps[client]->post_send_error);
	sent[client]++;
}

static void
reap(void)
{
	struct rdmapmd_wc wcs[BATCH];
	uint16_t n = rdmapmd_poll_cq(clients.cq, wcs, BATCH), i;

	for (i = 0; i < n; i++) {
		if (wcs[i].status != RDMAPMD_WC_SUCCESS)
			rte_exit(EXIT_FAILURE, "send: %s\n", rdmapmd_wc_status_str(wcs[i].status));
		acknowledged[wcs[i].wr_id]++;
	}
}

/* Clients are as busy as chance has it, each twice as busy as the one behind the next eight. */
static uint32_t
any_client(void)
{
	uint32_t octave = (uint32_t)__builtin_ctz((uint32_t)rand() | 1u << 7);

	return octave * 8 + (uint32_t)rand() % 8;
}

static uint64_t
total(const uint64_t *counts)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < CLIENTS; i++)
		sum += counts[i];
	return sum;
}

static void
run(uint64_t messages)
{
	uint64_t posted = 0;
	uint32_t client;

	while (posted < messages && !stopped) {
		client = any_client();
		if (sent[client] - acknowledged[client] < AT_ONCE) {
			send_message(client);
			posted++;
		}
		reap();
		receive();
	}
	while (total(received) < posted || total(acknowledged) < posted) {
		reap();
		receive();
	}
}

/* ---- Life cycle ---- */

static void
make_side(const char *device, struct side *side)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = RTE_MAX(BUFFERS, CLIENTS * AT_ONCE) };

	if (device != NULL)
		TRY(rdmapmd_device_open_by_name(device, &side->context));
	else
		TRY(rdmapmd_device_open_by_port(0, &side->context));
	TRY(rdmapmd_pd_alloc(side->context, &side->pd));
	TRY(rdmapmd_cq_create(side->context, &cq, &side->cq));
}

static void
make_pool(void)
{
	struct rdmapmd_srq_init_attr attr = { .attr = { .max_wr = BUFFERS, .max_sge = 1 } };

	server.buffers = rte_calloc("rdma_srq", BUFFERS, sizeof(*server.buffers), 4096);
	if (server.buffers == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(server.pd, server.buffers, BUFFERS * sizeof(*server.buffers),
			   RDMAPMD_ACCESS_LOCAL_WRITE, &server.mr));
	TRY(rdmapmd_srq_create(server.pd, &attr, &server.srq));
	for (free_count = 0; free_count < BUFFERS; free_count++)
		free_buffers[free_count] = free_count;
	refill();
	arm_limit();
}

/* Those of the server have no receive queue but the pool, those of the clients send alone. */
static void
make_queue_pairs(struct side *side)
{
	uint32_t i;

	for (i = 0; i < CLIENTS; i++) {
		struct rdmapmd_qp_init_attr qp = { .qp_type = RDMAPMD_QPT_RC,
						   .send_cq = side->cq,
						   .recv_cq = side->cq,
						   .srq = side->srq };

		if (side->srq == NULL)
			qp.cap = (struct rdmapmd_qp_cap){
				.max_send_wr = AT_ONCE,
				.max_inline_data = sizeof(struct message),
			};
		TRY(rdmapmd_qp_create(side->pd, &qp, &side->qps[i]));
		if (side->srq != NULL)
			*client_of(side->qps[i]->qp_num) = i;
	}
}

static void
connect_all(struct side *side, const struct side *other)
{
	struct rdmapmd_gid_entry address;
	uint32_t i;

	TRY(rdmapmd_gid_query(other->context, 1, 0, &address));
	for (i = 0; i < CLIENTS; i++) {
		const struct rdmapmd_qp_peer peer = { .gid = address.gid,
						      .qp_num = other->qps[i]->qp_num };

		TRY(rdmapmd_qp_connect(side->qps[i], &peer, NULL));
	}
}

/*
 * A queue pair takes buffers from the pool ahead of their messages. Only the event of its last one says that no completion of
 * it is to come; destroyed before that, it takes buffers with it.
 */
static void
retire(void)
{
	const struct rdmapmd_qp_attr error = { .qp_state = RDMAPMD_QPS_ERR };
	uint32_t i, last;

	for (i = 0; i < CLIENTS; i++)
		TRY(rdmapmd_qp_modify(server.qps[i], &error, RDMAPMD_QP_STATE));
	for (last = 0; last < CLIENTS;)
		last += take_event() == 1;
}

static void
free_side(struct side *side)
{
	uint32_t i;

	for (i = 0; i < CLIENTS; i++)
		TRY(rdmapmd_qp_destroy(side->qps[i]));
	if (side->srq != NULL) {
		TRY(rdmapmd_srq_destroy(side->srq));
		TRY(rdmapmd_mr_dereg(side->mr));
		rte_free(side->buffers);
	}
	TRY(rdmapmd_cq_destroy(side->cq));
	TRY(rdmapmd_pd_dealloc(side->pd));
	TRY(rdmapmd_context_close(side->context));
}

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

int
main(int argc, char **argv)
{
	const char *device, *peer;
	uint64_t messages;
	uint32_t busiest = 0, i;
	int used;

	signal(SIGINT, stop);
	used = rte_eal_init(argc, argv);
	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	device = argc - used > 1 ? argv[used + 1] : NULL;
	messages = argc - used > 2 ? strtoull(argv[used + 2], NULL, 10) : 10000;
	peer = argc - used > 3 ? argv[used + 3] : device;

	make_side(device, &clients);
	make_side(peer, &server);
	make_pool();
	make_queue_pairs(&clients);
	make_queue_pairs(&server);
	connect_all(&server, &clients);
	connect_all(&clients, &server);

	run(messages);
	for (i = 0; i < CLIENTS; i++)
		if (received[i] > received[busiest])
			busiest = i;
	printf("%" PRIu64 " messages of %d clients, %" PRIu64 " of the busiest; "
	       "%d buffers, returned %" PRIu32 " times\n",
	       total(received), CLIENTS, received[busiest], BUFFERS, refills);
	retire();
	free_side(&clients);
	free_side(&server);
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
