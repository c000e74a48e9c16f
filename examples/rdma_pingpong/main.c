/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two queue pairs throw a message back and forth: SEND on one side, a posted receive on the other, completions polled.
 *
 *   rdma_pingpong -d librte_net_rnic.so --vdev net_rnic0 -- [DEVICE [ROUNDS [PEER]]]
 *
 * has both in this process, on one device whose wire is a loop, or on two that a wire joins. With each side in a process of its
 * own, on one host or on two, they tell each other of their queue pairs over TCP (exchange.h):
 *
 *   rdma_pingpong ... -- -s [-p PORT] [-g GID_INDEX] [DEVICE [ROUNDS]]
 *   rdma_pingpong ... -- -c HOST [-p PORT] [-g GID_INDEX] [DEVICE [ROUNDS]]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_random.h>

#include <rdmapmd.h>

#include "exchange.h"

#define MESSAGE 64
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

struct side {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qp;
	struct rdmapmd_mr *mr;
	uint8_t *out, *in;	 /* a message each, in mr */
	uint64_t sent, received; /* completions that were polled */
};

static struct {
	bool server;		   /* -s */
	const char *host, *port;   /* -c, -p */
	uint8_t gid_index;	   /* -g */
	const char *device, *peer; /* NULL: the first port */
	uint64_t rounds;
} options = { .port = "18515", .rounds = 10000 };
static volatile sig_atomic_t stopped;

/* name: NULL for the first port. */
static void
make_side(const char *name, struct side *side)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 16 };
	struct rdmapmd_qp_init_attr qp = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (name != NULL)
		TRY(rdmapmd_device_open_by_name(name, &side->context));
	else
		TRY(rdmapmd_device_open_by_port(0, &side->context));
	TRY(rdmapmd_pd_alloc(side->context, &side->pd));
	side->out = rte_zmalloc("pingpong", 2 * MESSAGE, 4096);
	if (side->out == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	side->in = side->out + MESSAGE;
	TRY(rdmapmd_mr_reg(side->pd, side->out, 2 * MESSAGE, RDMAPMD_ACCESS_LOCAL_WRITE,
			   &side->mr));
	TRY(rdmapmd_cq_create(side->context, &cq, &side->cq));
	qp.send_cq = qp.recv_cq = side->cq;
	TRY(rdmapmd_qp_create(side->pd, &qp, &side->qp));
}

/* What this side's queue pair is to the other one. */
static struct exchange_end
tell(const struct side *side)
{
	struct exchange_end end = { .qp_num = side->qp->qp_num,
				    .psn = (uint32_t)rte_rand() & 0xffffff };
	struct rdmapmd_gid_entry address;

	TRY(rdmapmd_gid_query(side->context, 1, options.gid_index, &address));
	end.gid = address.gid;
	return end;
}

/* own: as it was told to the peer. */
static void
connect_to(struct side *side, const struct exchange_end *own, const struct exchange_end *end)
{
	/* The texts tell nothing of the path MTU: ibv_rc_pingpong has this one. */
	const struct rdmapmd_qp_peer peer = {
		.gid = end->gid, .qp_num = end->qp_num, .psn = end->psn, .mtu = RDMAPMD_MTU_1024
	};
	const struct rdmapmd_qp_connect_opts opts = { .path.sgid_index = options.gid_index,
						      .psn = own->psn };

	TRY(rdmapmd_qp_connect(side->qp, &peer, &opts));
}

static void
post_recv(struct side *side)
{
	const struct rdmapmd_sge sge = { (uintptr_t)side->in, MESSAGE, side->mr->lkey };
	const struct rdmapmd_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(side->qp, &wr, 1) != 1)
		TRY(side->qp->post_recv_error);
}

static void
post_send(struct side *side)
{
	const struct rdmapmd_sge sge = { (uintptr_t)side->out, MESSAGE, side->mr->lkey };
	const struct rdmapmd_send_wr wr = { .opcode = RDMAPMD_WR_SEND,
					    .send_flags = RDMAPMD_SEND_SIGNALED,
					    .sg_list = &sge,
					    .num_sge = 1 };

	if (rdmapmd_post_send(side->qp, &wr, 1) != 1)
		TRY(side->qp->post_send_error);
}

/* Until so many of its sends and receives have completed, all of them well. False: Ctrl-C came first. */
static bool
wait_for(struct side *side, uint64_t sent, uint64_t received)
{
	const uint64_t end = rte_get_timer_cycles() + 10 * rte_get_timer_hz();
	struct rdmapmd_wc wc;

	while (side->sent < sent || side->received < received) {
		if (rdmapmd_poll_cq(side->cq, &wc, 1) == 0) {
			if (stopped)
				return false;
			if (rte_get_timer_cycles() > end)
				rte_exit(EXIT_FAILURE, "no completion for 10 s\n");
			continue;
		}
		if (wc.status != RDMAPMD_WC_SUCCESS)
			rte_exit(EXIT_FAILURE, "completion: %s\n",
				 rdmapmd_wc_status_str(wc.status));
		if (wc.opcode & RDMAPMD_WC_RECV)
			side->received++;
		else
			side->sent++;
	}
	return true;
}

static void throw(struct side * side, const char *what, uint64_t round)
{
	snprintf((char *)side->out, MESSAGE, "%s %" PRIu64, what, round);
	post_send(side);
}

static void
report(const struct side *side, uint64_t rounds, uint64_t start)
{
	const double us =
		(double)(rte_get_timer_cycles() - start) * 1e6 / (double)rte_get_timer_hz();

	printf("%" PRIu64 " round trips of %d bytes, %.2f us each; the last message: %.*s\n",
	       rounds, MESSAGE, us / (double)(rounds > 0 ? rounds : 1), MESSAGE, side->in);
}

static void
free_side(struct side *side)
{
	TRY(rdmapmd_qp_destroy(side->qp));
	TRY(rdmapmd_cq_destroy(side->cq));
	TRY(rdmapmd_mr_dereg(side->mr));
	rte_free(side->out);
	TRY(rdmapmd_pd_dealloc(side->pd));
	TRY(rdmapmd_context_close(side->context));
}

/* ---- Both sides in this process ---- */

/* From one side to the other, with a receive that waits for it. */
static bool
pass(struct side *from, struct side *to, const char *what, uint64_t round)
{
	post_recv(to);
	throw(from, what, round);
	if (!wait_for(to, to->sent, to->received + 1) ||
	    !wait_for(from, from->sent + 1, from->received))
		return false;
	if (memcmp(from->out, to->in, MESSAGE) != 0)
		rte_exit(EXIT_FAILURE, "another message has arrived\n");
	return true;
}

static void
play_both(void)
{
	struct side left = { 0 }, right = { 0 };
	struct exchange_end left_end, right_end;
	uint64_t round, start;

	make_side(options.device, &left);
	make_side(options.peer, &right);
	left_end = tell(&left);
	right_end = tell(&right);
	connect_to(&left, &left_end, &right_end);
	connect_to(&right, &right_end, &left_end);

	start = rte_get_timer_cycles();
	for (round = 0; round < options.rounds; round++)
		if (!pass(&left, &right, "ping", round) || !pass(&right, &left, "pong", round))
			break;
	report(&left, round, start);
	free_side(&left);
	free_side(&right);
}

/* ---- A side in each of two processes ---- */

/* False: Ctrl-C came before the other side. */
static bool
connect_over_tcp(struct side *side)
{
	const struct exchange_end own = tell(side);
	struct exchange_end peer;
	int connection = exchange_open(options.host, options.port, &stopped);

	if (connection < 0)
		return false;
	if (!options.server)
		exchange_tell(connection, &own);
	exchange_hear(connection, &peer);
	connect_to(side, &own, &peer);
	post_recv(side); /* the other side's first message may come at once */
	if (options.server) {
		exchange_tell(connection, &own);
		exchange_wait(connection);
	} else {
		exchange_done(connection);
	}
	close(connection);
	return true;
}

/* The client throws first. Each side has a receive posted before the other one can answer. */
static void
play_one(void)
{
	struct side side = { 0 };
	uint64_t round = 0, start;

	make_side(options.device, &side);
	if (connect_over_tcp(&side)) {
		start = rte_get_timer_cycles();
		for (round = 0; round < options.rounds; round++) {
			if (!options.server)
				throw(&side, "ping", round);
			if (!wait_for(&side, options.server ? round : round + 1, round + 1))
				break;
			if (round + 1 < options.rounds)
				post_recv(&side);
			if (options.server)
				throw(&side, "pong", round);
		}
		if (!stopped)
			wait_for(&side, round, round);
		report(&side, round, start);
	}
	free_side(&side);
}

/* ---- The command line ---- */

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

static void
parse(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "sc:p:g:")) != -1) {
		switch (option) {
		case 's': options.server = true; break;
		case 'c': options.host = optarg; break;
		case 'p': options.port = optarg; break;
		case 'g': options.gid_index = (uint8_t)atoi(optarg); break;
		default: rte_exit(EXIT_FAILURE, "options: -s or -c HOST, -p PORT, -g GID_INDEX\n");
		}
	}
	if (options.server && options.host != NULL)
		rte_exit(EXIT_FAILURE, "-s waits for the process that has -c\n");
	argc -= optind;
	argv += optind;
	options.device = options.peer = argc > 0 ? argv[0] : NULL;
	if (argc > 1)
		options.rounds = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		options.peer = argv[2];
}

int
main(int argc, char **argv)
{
	int used;

	signal(SIGINT, stop);
	used = rte_eal_init(argc, argv);
	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	parse(argc - used, argv + used);
	if (options.server || options.host != NULL)
		play_one();
	else
		play_both();
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
