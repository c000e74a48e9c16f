/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_malloc.h>
#include <rte_random.h>

#include "serve.h"

#define PEERS	16 /* at a port; one more takes the place of the oldest */
#define BUFFERS 32 /* for requests */

/* A peer that was let in: what it has said, and the queue pair that is for it. */
struct peer {
	struct request request;
	struct answer answer;
	struct rdmapmd_qp *qp;
};

/* A port, as peers come to it. */
struct door {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *counters, *table, *requests;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq; /* of queue pair 1 */
	struct rdmapmd_qp *qp1;
	struct rdmapmd_cq *unused; /* of the peers' queue pairs, which neither send nor receive */
	struct peer peers[PEERS];
	unsigned int next; /* peer to be replaced */
};

static struct door doors[PORTS];
static pthread_t thread;
static int stop_event;

/* ---- Requests and answers ---- */

static void
post_buffer(struct door *door, uint64_t index)
{
	const struct rdmapmd_sge sge = { door->requests->iova + index * DATAGRAM, DATAGRAM,
					 door->requests->lkey };
	const struct rdmapmd_recv_wr wr = { .wr_id = index, .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(door->qp1, &wr, 1) != 1)
		TRY(door->qp1->post_recv_error);
}

/* The peer's queue pair, connected. A request that comes again, as its answer was lost, gets the same one. */
static const struct answer *
let_in(struct door *door, const struct request *request)
{
	const struct rdmapmd_qp_peer end = { .gid = request->gid,
					     .qp_num = request->qp_num,
					     .psn = request->psn };
	struct rdmapmd_qp_connect_opts opts = { .qp_access_flags = RDMAPMD_ACCESS_REMOTE_READ |
								   RDMAPMD_ACCESS_REMOTE_WRITE };
	const struct rdmapmd_qp_attr reset = { .qp_state = RDMAPMD_QPS_RESET };
	struct peer *peer;
	unsigned int i;
	int rc;

	for (i = 0; i < PEERS; i++)
		if (memcmp(&door->peers[i].request, request, sizeof(*request)) == 0)
			return &door->peers[i].answer;
	peer = &door->peers[door->next++ % PEERS];
	memset(&peer->request, 0, sizeof(peer->request));
	opts.psn = (uint32_t)rte_rand() & 0xffffff;
	TRY(rdmapmd_qp_modify(peer->qp, &reset, RDMAPMD_QP_STATE));
	rc = rdmapmd_qp_connect(peer->qp, &end, &opts);
	if (rc != 0) {
		printf("a peer is not let in: %s\n", strerror(-rc));
		return NULL;
	}
	peer->request = *request;
	peer->answer = (struct answer){
		.magic = MAGIC,
		.asked = request->qp_num,
		.qp_num = peer->qp->qp_num,
		.psn = opts.psn,
		.counters = door->counters->iova,
		.counters_rkey = door->counters->rkey,
		.table = door->table->iova,
		.table_rkey = door->table->rkey,
	};
	return &peer->answer;
}

/* Back on the way that the request has come. */
static void
send_answer(struct door *door, const struct rdmapmd_wc *wc, const void *header,
	    const struct answer *answer)
{
	const struct rdmapmd_sge sge = { (uintptr_t)answer, sizeof(*answer), 0 };
	struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_INLINE | RDMAPMD_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .remote_qpn = wc->src_qp, .remote_qkey = RDMAPMD_QP1_QKEY },
	};
	struct rdmapmd_ah *ah;

	if (rdmapmd_ah_from_wc(door->pd, 1, wc, header, &ah) != 0)
		return;
	wr.wr.ud.ah = ah;
	/* If there is no room for it, the peer asks again. */
	rdmapmd_post_send(door->qp1, &wr, 1);
	TRY(rdmapmd_ah_destroy(ah));
}

/* Anybody can send a datagram here: what is not a request is not answered. */
static void
serve_request(struct door *door, const struct rdmapmd_wc *wc)
{
	const uint8_t *buffer = (const uint8_t *)door->requests->addr + wc->wr_id * DATAGRAM;
	const struct answer *answer;
	struct request request;

	if (wc->byte_len == RDMAPMD_GRH_BYTES + sizeof(request)) {
		memcpy(&request, buffer + RDMAPMD_GRH_BYTES, sizeof(request));
		answer = request.magic == MAGIC ? let_in(door, &request) : NULL;
		if (answer != NULL)
			send_answer(door, wc, buffer, answer);
	}
	post_buffer(door, wc->wr_id);
}

static void
serve_requests(struct door *door)
{
	struct rdmapmd_cq *cq;
	struct rdmapmd_wc wc;

	while (rdmapmd_cq_event_get(door->channel, &cq) == 0)
		TRY(rdmapmd_cq_events_ack(cq, 1));
	TRY(rdmapmd_req_notify_cq(door->cq, false));
	while (rdmapmd_poll_cq(door->cq, &wc, 1) == 1) {
		if (wc.status != RDMAPMD_WC_SUCCESS)
			rte_exit(EXIT_FAILURE, "queue pair 1: %s\n",
				 rdmapmd_wc_status_str(wc.status));
		if (wc.opcode & RDMAPMD_WC_RECV)
			serve_request(door, &wc);
	}
}

/* A peer that does what it may not loses its queue pair; the other peers lose nothing. */
static void
look_at_events(struct door *door)
{
	struct rdmapmd_async_event event;

	while (rdmapmd_async_event_get(door->context, &event) == 0) {
		printf("event: %s\n", rdmapmd_event_type_str(event.event_type));
		if (event.event_type == RDMAPMD_EVENT_DEVICE_FATAL)
			rte_exit(EXIT_FAILURE, "the device is lost\n");
		TRY(rdmapmd_async_event_ack(door->context, &event));
	}
}

static void *
serve(void *unused)
{
	struct pollfd fds[2 * PORTS + 1];
	unsigned int i;

	(void)unused;
	for (i = 0; i < PORTS; i++) {
		fds[2 * i] = (struct pollfd){ .fd = doors[i].channel->fd, .events = POLLIN };
		fds[2 * i + 1] = (struct pollfd){ .fd = rdmapmd_async_event_fd(doors[i].context),
						  .events = POLLIN };
	}
	fds[2 * PORTS] = (struct pollfd){ .fd = stop_event, .events = POLLIN };
	while (fds[2 * PORTS].revents == 0) {
		if (poll(fds, RTE_DIM(fds), -1) < 0 && errno != EINTR)
			rte_exit(EXIT_FAILURE, "poll: %s\n", strerror(errno));
		for (i = 0; i < PORTS; i++) {
			if (fds[2 * i].revents != 0)
				serve_requests(&doors[i]);
			if (fds[2 * i + 1].revents != 0)
				look_at_events(&doors[i]);
		}
	}
	return NULL;
}

/* ---- Life cycle ---- */

/* Peers may read the counters, and read and write the table; they reach nothing else of this process. */
static void
register_memory(struct door *door, struct shared *shared)
{
	void *requests = rte_zmalloc("requests", BUFFERS * DATAGRAM, 4096);

	if (requests == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(door->pd, requests, BUFFERS * DATAGRAM, RDMAPMD_ACCESS_LOCAL_WRITE,
			   &door->requests));
	TRY(rdmapmd_mr_reg(door->pd, shared->counters, sizeof(shared->counters),
			   RDMAPMD_ACCESS_REMOTE_READ, &door->counters));
	TRY(rdmapmd_mr_reg(door->pd, shared->table, sizeof(shared->table),
			   RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_READ |
				   RDMAPMD_ACCESS_REMOTE_WRITE,
			   &door->table));
}

/* The port's queue pair 1, which every port has at that number: the one that peers need not be told. */
static void
make_queue_pair_1(struct door *door)
{
	struct rdmapmd_qp_init_attr init = {
		.send_cq = door->cq,
		.recv_cq = door->cq,
		.qp_type = RDMAPMD_QPT_GSI,
		.port_num = 1,
		.cap = { .max_send_wr = BUFFERS,
			 .max_recv_wr = BUFFERS,
			 .max_inline_data = sizeof(struct answer) },
	};
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT, .qkey = RDMAPMD_QP1_QKEY };
	uint64_t i;

	TRY(rdmapmd_qp_create(door->pd, &init, &door->qp1));
	TRY(rdmapmd_qp_modify(door->qp1, &attr,
			      RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY));
	for (i = 0; i < BUFFERS; i++)
		post_buffer(door, i);
	attr.qp_state = RDMAPMD_QPS_RTR;
	TRY(rdmapmd_qp_modify(door->qp1, &attr, RDMAPMD_QP_STATE));
	attr.qp_state = RDMAPMD_QPS_RTS;
	TRY(rdmapmd_qp_modify(door->qp1, &attr, RDMAPMD_QP_STATE | RDMAPMD_QP_SQ_PSN));
}

static void
open_door(uint16_t port, struct door *door, struct shared *shared)
{
	struct rdmapmd_cq_init_attr cq = { .cqe = 2 * BUFFERS };
	struct rdmapmd_qp_init_attr init = { .qp_type = RDMAPMD_QPT_RC };
	struct rdmapmd_gid_entry address;
	char text[INET6_ADDRSTRLEN];
	unsigned int i;

	TRY(rdmapmd_device_open_by_port(port, &door->context));
	TRY(rdmapmd_pd_alloc(door->context, &door->pd));
	register_memory(door, shared);
	TRY(rdmapmd_comp_channel_create(door->context, &door->channel));
	cq.channel = door->channel;
	TRY(rdmapmd_cq_create(door->context, &cq, &door->cq));
	make_queue_pair_1(door);
	TRY(rdmapmd_req_notify_cq(door->cq, false));
	cq = (struct rdmapmd_cq_init_attr){ .cqe = 1 };
	TRY(rdmapmd_cq_create(door->context, &cq, &door->unused));
	init.send_cq = init.recv_cq = door->unused;
	for (i = 0; i < PEERS; i++)
		TRY(rdmapmd_qp_create(door->pd, &init, &door->peers[i].qp));
	TRY(rdmapmd_gid_query(door->context, 1, 0, &address));
	inet_ntop(AF_INET6, address.gid.raw, text, sizeof(text));
	printf("port %u serves at %s\n", port, text);
}

static void
close_door(struct door *door)
{
	void *requests = door->requests->addr;
	unsigned int i;

	for (i = 0; i < PEERS; i++)
		TRY(rdmapmd_qp_destroy(door->peers[i].qp));
	TRY(rdmapmd_qp_destroy(door->qp1));
	TRY(rdmapmd_cq_destroy(door->unused));
	TRY(rdmapmd_cq_destroy(door->cq));
	TRY(rdmapmd_comp_channel_destroy(door->channel));
	TRY(rdmapmd_mr_dereg(door->table));
	TRY(rdmapmd_mr_dereg(door->counters));
	TRY(rdmapmd_mr_dereg(door->requests));
	rte_free(requests);
	TRY(rdmapmd_pd_dealloc(door->pd));
	TRY(rdmapmd_context_close(door->context));
}

void
serve_start(struct shared *shared, const cpu_set_t *cpus)
{
	pthread_attr_t attr;
	uint16_t port;

	for (port = 0; port < PORTS; port++)
		open_door(port, &doors[port], shared);
	stop_event = eventfd(0, EFD_CLOEXEC);
	if (stop_event < 0)
		rte_exit(EXIT_FAILURE, "eventfd: %s\n", strerror(errno));
	TRY(pthread_attr_init(&attr));
	TRY(pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus));
	TRY(pthread_create(&thread, &attr, serve, NULL));
	pthread_attr_destroy(&attr);
}

void
serve_stop(void)
{
	const uint64_t one = 1;
	unsigned int i;

	if (write(stop_event, &one, sizeof(one)) != sizeof(one))
		rte_exit(EXIT_FAILURE, "eventfd: %s\n", strerror(errno));
	TRY(pthread_join(thread, NULL));
	close(stop_event);
	for (i = 0; i < PORTS; i++)
		close_door(&doors[i]);
}
