/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program that sleeps. Its one thread waits in epoll_wait() for four things: completions (a completion channel), what else
 * happens to its devices (their asynchronous events), the time to send again (a timer), and Ctrl-C.
 *
 * A client sends messages to a server, both in this process. At the end the client writes where it may not: it gets an error
 * completion, and the server, whose queue pair is broken with it, an asynchronous event.
 *
 *   rdma_events -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [MESSAGES [PEER]]]
 *
 * MESSAGES 0: until Ctrl-C.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#define MESSAGE	  64
#define PERIOD_NS 10000000 /* between two messages */
#define FORBIDDEN 1	   /* wr_id of the WRITE at the end */
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)
/* The same for calls of the C library. */
#define TRY_ERRNO(call)                                                          \
	do {                                                                     \
		if ((call) < 0)                                                  \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(errno)); \
	} while (0)

struct side {
	const char *name;
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	struct rdmapmd_mr *mr; /* one message */
};

struct watch {
	void (*ready)(struct side *side);
	struct side *side;
};

static struct {
	struct side client, server;
	struct watch watches[6];
	unsigned int watched;
	int epoll, timer, signals;
	uint64_t messages, sent, acknowledged, received, wakeups;
	bool refused, told; /* the WRITE at the end: its completion, the server's event */
	bool stopped, lost; /* by Ctrl-C; the device is no more */
} program;

/* What is waited for: a descriptor, and what to do when it is readable. */
static void
watch(int fd, void (*ready)(struct side *side), struct side *side)
{
	struct watch *watch = &program.watches[program.watched++];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	*watch = (struct watch){ ready, side };
	TRY_ERRNO(fd);
	TRY_ERRNO(epoll_ctl(program.epoll, EPOLL_CTL_ADD, fd, &event));
}

/* ---- Requests ---- */

static void
post_recv(struct side *side)
{
	const struct rdmapmd_sge sge = { side->mr->iova, MESSAGE, side->mr->lkey };
	const struct rdmapmd_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(side->qp, &wr, 1) != 1)
		TRY(side->qp->post_recv_error);
}

static void
post_send(struct side *side, struct rdmapmd_send_wr *wr)
{
	const struct rdmapmd_sge sge = { side->mr->iova, MESSAGE, side->mr->lkey };

	wr->send_flags = RDMAPMD_SEND_SIGNALED;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	if (rdmapmd_post_send(side->qp, wr, 1) != 1)
		TRY(side->qp->post_send_error);
}

/* Once: it is set again when the buffers are ours again. */
static void
set_timer(void)
{
	const struct itimerspec once = { .it_value.tv_nsec = PERIOD_NS };

	TRY_ERRNO(timerfd_settime(program.timer, 0, &once, NULL));
}

/* The time has come: the next message, or behind the last one what the server does not allow. */
static void
timer_ready(struct side *side)
{
	struct rdmapmd_send_wr send = { .opcode = RDMAPMD_WR_SEND };
	struct rdmapmd_send_wr forbidden = {
		.wr_id = FORBIDDEN,
		.opcode = RDMAPMD_WR_RDMA_WRITE,
		.wr.rdma = { program.server.mr->iova, program.server.mr->rkey },
	};
	uint64_t expirations;

	TRY_ERRNO(read(program.timer, &expirations, sizeof(expirations)));
	if (program.messages != 0 && program.sent == program.messages) {
		post_send(side, &forbidden);
		return;
	}
	snprintf(side->mr->addr, MESSAGE, "message %" PRIu64, program.sent);
	post_send(side, &send);
	program.sent++;
}

/* ---- Completions ---- */

static void
completed(struct side *side, const struct rdmapmd_wc *wc)
{
	char expected[MESSAGE];

	/* Of a request that has failed wr_id, status and qp_num are known, and not even its opcode. */
	if (wc->status == RDMAPMD_WC_WR_FLUSH_ERR)
		return; /* it was posted to a queue pair that an earlier error has broken */
	if (wc->status != RDMAPMD_WC_SUCCESS) {
		printf("%s: completion: %s\n", side->name, rdmapmd_wc_status_str(wc->status));
		if (wc->wr_id != FORBIDDEN || wc->status != RDMAPMD_WC_REM_ACCESS_ERR)
			rte_exit(EXIT_FAILURE, "a message was not delivered\n");
		program.refused = true;
		return;
	}
	if (wc->opcode & RDMAPMD_WC_RECV) {
		snprintf(expected, sizeof(expected), "message %" PRIu64, program.received);
		if (strcmp(side->mr->addr, expected) != 0)
			rte_exit(EXIT_FAILURE, "another message has arrived\n");
		program.received++;
		post_recv(side);
	} else {
		program.acknowledged++;
	}
	if (program.acknowledged == program.sent && program.received == program.sent)
		set_timer();
}

static void
poll_all(struct side *side)
{
	struct rdmapmd_wc wc[8];
	uint16_t n, i;

	while ((n = rdmapmd_poll_cq(side->cq, wc, RTE_DIM(wc))) != 0)
		for (i = 0; i < n; i++)
			completed(side, &wc[i]);
}

/*
 * An event says that a queue which was armed has completions, not how many. Poll until nothing is left, arm, poll once more:
 * for what came between the last poll and arming there would be another event at once, and a needless turn.
 */
static void
channel_ready(struct side *side)
{
	struct rdmapmd_cq *cq;
	int rc;

	while ((rc = rdmapmd_cq_event_get(side->channel, &cq)) == 0) {
		TRY(rdmapmd_cq_events_ack(cq, 1)); /* else it could never be destroyed */
		poll_all(side);
		TRY(rdmapmd_req_notify_cq(cq, false));
		poll_all(side);
	}
	if (rc != -EAGAIN)
		TRY(rc);
}

/* ---- Asynchronous events ---- */

static void
events_ready(struct side *side)
{
	struct rdmapmd_async_event event;
	int rc;

	while ((rc = rdmapmd_async_event_get(side->context, &event)) == 0) {
		printf("%s: event: %s\n", side->name, rdmapmd_event_type_str(event.event_type));
		switch (event.event_type) {
		case RDMAPMD_EVENT_QP_ACCESS_ERR:
			program.told = event.element.qp == program.server.qp;
			break;
		case RDMAPMD_EVENT_DEVICE_FATAL: program.lost = true; break;
		default: break; /* a link that goes and comes, an address: nothing to do */
		}
		TRY(rdmapmd_async_event_ack(side->context, &event));
	}
	if (rc != -EAGAIN)
		TRY(rc);
}

static void
signal_ready(struct side *side)
{
	(void)side;
	program.stopped = true;
}

/* ---- Life cycle ---- */

static void
make_side(const char *name, const char *device, struct side *side)
{
	struct rdmapmd_cq_init_attr cq = { .cqe = 16 };
	struct rdmapmd_qp_init_attr qp = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	void *memory = rte_zmalloc("rdma_events", MESSAGE, 4096);

	if (memory == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	side->name = name;
	if (device != NULL)
		TRY(rdmapmd_device_open_by_name(device, &side->context));
	else
		TRY(rdmapmd_device_open_by_port(0, &side->context));
	TRY(rdmapmd_pd_alloc(side->context, &side->pd));
	/* We receive into it; no peer may write to it. */
	TRY(rdmapmd_mr_reg(side->pd, memory, MESSAGE, RDMAPMD_ACCESS_LOCAL_WRITE, &side->mr));
	TRY(rdmapmd_comp_channel_create(side->context, &side->channel));
	cq.channel = side->channel;
	TRY(rdmapmd_cq_create(side->context, &cq, &side->cq));
	qp.send_cq = qp.recv_cq = side->cq;
	TRY(rdmapmd_qp_create(side->pd, &qp, &side->qp));
	TRY(rdmapmd_req_notify_cq(side->cq, false));
	watch(side->channel->fd, channel_ready, side);
	watch(rdmapmd_async_event_fd(side->context), events_ready, side);
}

static void
connect_to(struct side *side, const struct side *other)
{
	/* The server may be written to, as far as its memory allows it: not at all. */
	const struct rdmapmd_qp_connect_opts opts = { .qp_access_flags =
							      RDMAPMD_ACCESS_REMOTE_WRITE };
	struct rdmapmd_qp_peer peer = { .qp_num = other->qp->qp_num };
	struct rdmapmd_gid_entry address;

	TRY(rdmapmd_gid_query(other->context, 1, 0, &address));
	peer.gid = address.gid;
	TRY(rdmapmd_qp_connect(side->qp, &peer, &opts));
}

static void
free_side(struct side *side)
{
	void *memory = side->mr->addr;

	/* Dependants first; until then -EBUSY is the answer. Of a device that is lost, closing the context takes them all. */
	if (program.lost) {
		rdmapmd_context_close(side->context);
		rte_free(memory);
		return;
	}
	TRY(rdmapmd_qp_destroy(side->qp));
	TRY(rdmapmd_cq_destroy(side->cq));
	TRY(rdmapmd_comp_channel_destroy(side->channel));
	TRY(rdmapmd_mr_dereg(side->mr));
	rte_free(memory);
	TRY(rdmapmd_pd_dealloc(side->pd));
	TRY(rdmapmd_context_close(side->context));
}

static void
sleep_and_serve(void)
{
	struct epoll_event events[8];
	int n, i;

	while (!program.stopped && !program.lost && !(program.refused && program.told)) {
		n = epoll_wait(program.epoll, events, RTE_DIM(events), -1);
		if (n < 0 && errno != EINTR)
			rte_exit(EXIT_FAILURE, "epoll_wait: %s\n", strerror(errno));
		program.wakeups++;
		for (i = 0; i < n; i++) {
			const struct watch *watch = events[i].data.ptr;

			watch->ready(watch->side);
		}
	}
}

/* Blocked in this thread before EAL starts others, so that none of them is interrupted instead. */
static int
block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	TRY(pthread_sigmask(SIG_BLOCK, &set, NULL));
	return signalfd(-1, &set, SFD_CLOEXEC);
}

int
main(int argc, char **argv)
{
	const char *device, *peer;
	int used;

	setlinebuf(stdout);
	program.signals = block_signals();
	used = rte_eal_init(argc, argv);
	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	device = argc - used > 1 ? argv[used + 1] : NULL;
	program.messages = argc - used > 2 ? strtoull(argv[used + 2], NULL, 10) : 100;
	peer = argc - used > 3 ? argv[used + 3] : device;

	TRY_ERRNO(program.epoll = epoll_create1(EPOLL_CLOEXEC));
	make_side("client", device, &program.client);
	make_side("server", peer, &program.server);
	connect_to(&program.server, &program.client);
	post_recv(&program.server);
	connect_to(&program.client, &program.server);
	watch(program.signals, signal_ready, NULL);
	TRY_ERRNO(program.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	watch(program.timer, timer_ready, &program.client);
	set_timer();

	printf("waiting for events; Ctrl-C ends it\n");
	sleep_and_serve();
	printf("%" PRIu64 " messages received; woken %" PRIu64 " times\n", program.received,
	       program.wakeups);
	free_side(&program.client);
	free_side(&program.server);
	close(program.timer);
	close(program.signals);
	close(program.epoll);
	if (program.lost)
		rte_exit(EXIT_FAILURE, "the device is lost\n");
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
