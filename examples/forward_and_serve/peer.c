/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The other side of forward_and_serve, on the two wires of its ports: it sends frames in at one, gets them back at the other,
 * and READs the forwarder's counters meanwhile. Then it WRITEs an entry into the forwarding table, and looks at what becomes of
 * its frames.
 *
 *   forward_peer -d librte_net_rnic.so --vdev net_rnic0,wire=... --vdev net_rnic1,wire=... -- ADDRESS [FRAMES]
 *
 * ADDRESS: at which the forwarder serves on the first wire, as it says.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_random.h>

#include <rdmapmd.h>

#include "protocol.h"

#define FRAME	60 /* bytes, the shortest there is */
#define AT_ONCE 32 /* frames under way */
#define BUFFER	2048
#define SECONDS 10 /* longer than anything takes */
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

/* A port, with a queue pair for frames. */
struct wire {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr; /* a frame to send, then the buffers of those that come */
	uint8_t *memory;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *frames;
	uint64_t sent, received;
};

/* What is with the forwarder, on the first wire: two queue pairs, and memory for what they bring. */
static struct {
	struct rdmapmd_cq *cq1, *cq;
	struct rdmapmd_qp *qp1, *qp; /* queue pair 1, and the one that is connected */
	struct rdmapmd_mr *mr;
	struct {
		uint8_t datagram[DATAGRAM];
		struct counter counter;
		uint64_t entry;
	} * memory;
	struct answer answer; /* where its memory is */
	uint64_t reads;
} forwarder;

/* Where the frames go. Only the queue pairs that it is attached to have this address. */
static const struct rte_ether_addr destination = { { 0x02, 0, 0, 0, 0, 0xaa } };
static struct wire wires[2];
static volatile sig_atomic_t stopped;

/* Between two looks at something that is to come. Ctrl-C ends the program here, and waiting in vain does. */
static void
wait_a_little(uint64_t since, const char *what)
{
	if (stopped)
		rte_exit(EXIT_FAILURE, "interrupted while waiting for %s\n", what);
	if (rte_get_timer_cycles() - since > SECONDS * rte_get_timer_hz())
		rte_exit(EXIT_FAILURE, "%s: nothing for %d s\n", what, SECONDS);
	rte_delay_us_sleep(50);
}

/* ---- Frames ---- */

static void
modify(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state, unsigned int mask)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state,
					      .port_num = 1,
					      .qkey = RDMAPMD_QP1_QKEY };

	TRY(rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE | mask));
}

static void
post_buffer(struct wire *wire, uint64_t index)
{
	const struct rdmapmd_sge sge = { wire->mr->iova + index * BUFFER, BUFFER, wire->mr->lkey };
	const struct rdmapmd_recv_wr wr = { .wr_id = index, .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(wire->frames, &wr, 1) != 1)
		TRY(wire->frames->post_recv_error);
}

static void
open_wire(uint16_t port, struct wire *wire)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 4 * AT_ONCE };
	struct rdmapmd_qp_init_attr init = {
		.qp_type = RDMAPMD_QPT_RAW_PACKET,
		.cap = { .max_send_wr = AT_ONCE, .max_recv_wr = AT_ONCE },
	};
	struct rte_ether_hdr *header;
	uint64_t i;

	TRY(rdmapmd_device_open_by_port(port, &wire->context));
	TRY(rdmapmd_pd_alloc(wire->context, &wire->pd));
	wire->memory = rte_zmalloc("frames", (AT_ONCE + 1) * BUFFER, 4096);
	if (wire->memory == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(wire->pd, wire->memory, (AT_ONCE + 1) * BUFFER,
			   RDMAPMD_ACCESS_LOCAL_WRITE, &wire->mr));
	header = (struct rte_ether_hdr *)wire->memory;
	header->dst_addr = destination;
	header->src_addr = (struct rte_ether_addr){ { 0x02, 0, 0, 0, 0, (uint8_t)port } };
	header->ether_type = rte_cpu_to_be_16(0x88b5); /* for experiments */
	TRY(rdmapmd_cq_create(wire->context, &cq, &wire->cq));
	init.send_cq = init.recv_cq = wire->cq;
	TRY(rdmapmd_qp_create(wire->pd, &init, &wire->frames));
	modify(wire->frames, RDMAPMD_QPS_INIT, RDMAPMD_QP_PORT);
	for (i = 1; i <= AT_ONCE; i++)
		post_buffer(wire, i);
	TRY(rdmapmd_qp_attach_mac(wire->frames, destination.addr_bytes, RDMAPMD_VLAN_ANY));
	modify(wire->frames, RDMAPMD_QPS_RTR, 0);
	modify(wire->frames, RDMAPMD_QPS_RTS, 0);
}

static void
send_frames(struct wire *wire, uint16_t n)
{
	const struct rdmapmd_sge sge = { wire->mr->iova, FRAME, wire->mr->lkey };
	struct rdmapmd_send_wr wrs[AT_ONCE];
	uint16_t i;

	for (i = 0; i < n; i++)
		wrs[i] = (struct rdmapmd_send_wr){ .opcode = RDMAPMD_WR_SEND,
						   .send_flags = RDMAPMD_SEND_SIGNALED,
						   .sg_list = &sge,
						   .num_sge = 1 };
	if (rdmapmd_post_send(wire->frames, wrs, n) != n)
		TRY(wire->frames->post_send_error);
}

static void
look_at_frames(struct wire *wire)
{
	struct rdmapmd_wc wc;

	while (rdmapmd_poll_cq(wire->cq, &wc, 1) == 1) {
		if (wc.status != RDMAPMD_WC_SUCCESS)
			rte_exit(EXIT_FAILURE, "frame: %s\n", rdmapmd_wc_status_str(wc.status));
		if (wc.opcode & RDMAPMD_WC_RECV) {
			wire->received++;
			post_buffer(wire, wc.wr_id);
		} else {
			wire->sent++;
		}
	}
}

/* ---- The forwarder's memory ---- */

/* One READ or WRITE of RC, and its completion. A WRITE that has completed is in the forwarder's memory. */
static void
execute(enum rdmapmd_wr_opcode opcode, void *local, uint32_t bytes, uint64_t remote, uint32_t rkey)
{
	const struct rdmapmd_sge sge = { (uintptr_t)local, bytes, forwarder.mr->lkey };
	const struct rdmapmd_send_wr wr = {
		.opcode = (uint8_t)opcode,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { remote, rkey },
	};
	const uint64_t start = rte_get_timer_cycles();
	struct rdmapmd_wc wc;

	if (rdmapmd_post_send(forwarder.qp, &wr, 1) != 1)
		TRY(forwarder.qp->post_send_error);
	while (rdmapmd_poll_cq(forwarder.cq, &wc, 1) == 0)
		wait_a_little(start, "the forwarder's memory");
	if (wc.status != RDMAPMD_WC_SUCCESS)
		rte_exit(EXIT_FAILURE, "the forwarder's memory: %s\n",
			 rdmapmd_wc_status_str(wc.status));
}

static uint64_t
read_counter(void)
{
	struct counter *counter = &forwarder.memory->counter;

	execute(RDMAPMD_WR_RDMA_READ, counter, sizeof(*counter),
		forwarder.answer.counters + index_of(&destination) * sizeof(*counter),
		forwarder.answer.counters_rkey);
	forwarder.reads++;
	return counter->packets;
}

static void
write_entry(enum action action)
{
	forwarder.memory->entry = entry_of(&destination, action);
	execute(RDMAPMD_WR_RDMA_WRITE, &forwarder.memory->entry, sizeof(uint64_t),
		forwarder.answer.table + index_of(&destination) * sizeof(uint64_t),
		forwarder.answer.table_rkey);
}

/* ---- Being let in ---- */

static void
post_datagram_buffer(void)
{
	const struct rdmapmd_sge sge = { (uintptr_t)forwarder.memory->datagram, DATAGRAM,
					 forwarder.mr->lkey };
	const struct rdmapmd_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(forwarder.qp1, &wr, 1) != 1)
		TRY(forwarder.qp1->post_recv_error);
}

static void
make_queue_pairs(const struct wire *wire)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 16 };
	struct rdmapmd_qp_init_attr init = {
		.qp_type = RDMAPMD_QPT_GSI,
		.port_num = 1,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 1,
			 .max_inline_data = sizeof(struct request) },
	};

	forwarder.memory = rte_zmalloc("forwarder", sizeof(*forwarder.memory), 4096);
	if (forwarder.memory == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	TRY(rdmapmd_mr_reg(wire->pd, forwarder.memory, sizeof(*forwarder.memory),
			   RDMAPMD_ACCESS_LOCAL_WRITE, &forwarder.mr));
	TRY(rdmapmd_cq_create(wire->context, &cq, &forwarder.cq1));
	TRY(rdmapmd_cq_create(wire->context, &cq, &forwarder.cq));
	init.send_cq = init.recv_cq = forwarder.cq1;
	TRY(rdmapmd_qp_create(wire->pd, &init, &forwarder.qp1));
	modify(forwarder.qp1, RDMAPMD_QPS_INIT, RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_QKEY);
	post_datagram_buffer();
	modify(forwarder.qp1, RDMAPMD_QPS_RTR, 0);
	modify(forwarder.qp1, RDMAPMD_QPS_RTS, RDMAPMD_QP_SQ_PSN);
	init.qp_type = RDMAPMD_QPT_RC;
	init.send_cq = init.recv_cq = forwarder.cq;
	init.cap = (struct rdmapmd_qp_cap){ .max_send_wr = 1 };
	TRY(rdmapmd_qp_create(wire->pd, &init, &forwarder.qp));
}

/* Whether the answer has come. Other datagrams may come, too, and completions of requests. */
static bool
is_answered(void)
{
	struct answer *answer = &forwarder.answer;
	struct rdmapmd_wc wc;

	while (rdmapmd_poll_cq(forwarder.cq1, &wc, 1) == 1) {
		if (wc.status != RDMAPMD_WC_SUCCESS)
			rte_exit(EXIT_FAILURE, "queue pair 1: %s\n",
				 rdmapmd_wc_status_str(wc.status));
		if (!(wc.opcode & RDMAPMD_WC_RECV))
			continue;
		memcpy(answer, forwarder.memory->datagram + RDMAPMD_GRH_BYTES, sizeof(*answer));
		post_datagram_buffer();
		if (wc.byte_len == DATAGRAM && answer->magic == MAGIC &&
		    answer->asked == forwarder.qp->qp_num)
			return true;
	}
	return false;
}

/* Asks queue pair 1 of that address, up to ten times a second: a datagram may be lost. */
static void
ask(const struct wire *wire, const struct request *request, const union rdmapmd_gid *address)
{
	const struct rdmapmd_ah_attr path = { .dgid = *address, .hop_limit = 1, .port_num = 1 };
	const struct rdmapmd_sge sge = { (uintptr_t)request, sizeof(*request), 0 };
	struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_INLINE | RDMAPMD_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .remote_qpn = 1, .remote_qkey = RDMAPMD_QP1_QKEY },
	};
	const uint64_t start = rte_get_timer_cycles();
	struct rdmapmd_ah *ah;
	unsigned int i;

	TRY(rdmapmd_ah_create(wire->pd, &path, &ah));
	wr.wr.ud.ah = ah;
	for (i = 0; !is_answered(); i++) {
		if (i % 2000 == 0)
			rdmapmd_post_send(forwarder.qp1, &wr, 1);
		wait_a_little(start, "the forwarder's answer");
	}
	TRY(rdmapmd_ah_destroy(ah));
}

static void
be_let_in(const struct wire *wire, const char *text)
{
	struct request request = { .magic = MAGIC,
				   .qp_num = forwarder.qp->qp_num,
				   .psn = (uint32_t)rte_rand() & 0xffffff };
	const struct rdmapmd_qp_connect_opts opts = { .psn = request.psn };
	struct rdmapmd_qp_peer peer = { .qp_num = 0 };
	struct rdmapmd_gid_entry own;

	if (inet_pton(AF_INET6, text, peer.gid.raw) != 1)
		rte_exit(EXIT_FAILURE, "%s: not an address of IPv6\n", text);
	TRY(rdmapmd_gid_query(wire->context, 1, 0, &own));
	request.gid = own.gid;
	ask(wire, &request, &peer.gid);
	peer.qp_num = forwarder.answer.qp_num;
	peer.psn = forwarder.answer.psn;
	TRY(rdmapmd_qp_connect(forwarder.qp, &peer, &opts));
}

/* ---- Frames, with the forwarder's counter and table ---- */

/*
 * So many frames in at the first wire: each of them is counted, and comes out of `to`, or of none (NULL). The counter is read all
 * the time.
 */
static void
try_frames(const char *what, uint64_t frames, const struct wire *to)
{
	const uint64_t before[] = { wires[0].received, wires[1].received };
	const uint64_t counted = read_counter(), reads = forwarder.reads, sent = wires[0].sent;
	uint64_t done = 0, start = rte_get_timer_cycles();
	uint16_t n;

	while (done < frames) {
		n = (uint16_t)RTE_MIN(frames - done, (uint64_t)AT_ONCE);
		send_frames(&wires[0], n);
		done += n;
		while (read_counter() - counted < done || wires[0].sent - sent < done ||
		       (to != NULL && to->received - before[to - wires] < done)) {
			look_at_frames(&wires[0]);
			look_at_frames(&wires[1]);
			wait_a_little(start, what);
		}
		start = rte_get_timer_cycles();
	}
	look_at_frames(&wires[0]);
	look_at_frames(&wires[1]);
	printf("%s: %" PRIu64 " sent, %" PRIu64 " counted, %" PRIu64 " came back, %" PRIu64
	       " came out of the other port\n",
	       what, done, read_counter() - counted, wires[0].received - before[0],
	       wires[1].received - before[1]);
	if (forwarder.reads - reads < frames / AT_ONCE)
		rte_exit(EXIT_FAILURE, "nobody has read meanwhile\n");
}

/* ---- Life cycle ---- */

static void
close_wire(struct wire *wire)
{
	TRY(rdmapmd_qp_destroy(wire->frames));
	TRY(rdmapmd_cq_destroy(wire->cq));
	TRY(rdmapmd_mr_dereg(wire->mr));
	rte_free(wire->memory);
	TRY(rdmapmd_pd_dealloc(wire->pd));
	TRY(rdmapmd_context_close(wire->context));
}

static void
leave_forwarder(void)
{
	TRY(rdmapmd_qp_destroy(forwarder.qp));
	TRY(rdmapmd_qp_destroy(forwarder.qp1));
	TRY(rdmapmd_cq_destroy(forwarder.cq1));
	TRY(rdmapmd_cq_destroy(forwarder.cq));
	TRY(rdmapmd_mr_dereg(forwarder.mr));
	rte_free(forwarder.memory);
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
	uint64_t frames;
	int used;

	setlinebuf(stdout);
	signal(SIGINT, stop);
	used = rte_eal_init(argc, argv);
	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	if (argc - used < 2)
		rte_exit(EXIT_FAILURE, "usage: %s [EAL options] -- ADDRESS [FRAMES]\n", argv[0]);
	frames = argc - used > 2 ? strtoull(argv[used + 2], NULL, 10) : 1000;
	open_wire(0, &wires[0]);
	open_wire(1, &wires[1]);
	make_queue_pairs(&wires[0]);
	be_let_in(&wires[0], argv[used + 1]);

	write_entry(ACTION_OTHER);
	try_frames("forwarded", frames, &wires[1]);
	write_entry(ACTION_DROP);
	try_frames("dropped", frames, NULL);
	write_entry(ACTION_BACK);
	try_frames("sent back", frames, &wires[0]);
	printf("the counter was read %" PRIu64 " times\n", forwarder.reads);

	leave_forwarder();
	close_wire(&wires[0]);
	close_wire(&wires[1]);
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
