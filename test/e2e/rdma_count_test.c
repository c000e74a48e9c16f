/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers that are large, or come to their end: many queue pairs, PSNs and counters that wrap. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "rdma.h"

static struct rdma_pair pair;
static const struct rdma_conf plain = { 0 };

static int
open_plain(void **unused)
{
	(void)unused;
	rdma_open(&pair, &plain);
	return 0;
}

static int
close_pair(void **unused)
{
	(void)unused;
	rdma_close(&pair);
	return 0;
}

/* ---- Many ---- */

#define PAIRS	512
#define LIMIT_S 5

struct many {
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *qps[PAIRS][2];
};

static void
create_many(struct many *many)
{
	const struct rdmapmd_cq_init_attr cq_attr = { .cqe = 4 * PAIRS };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	unsigned int i, k;

	assert_int_equal(rdmapmd_cq_create(pair.context, &cq_attr, &many->cq), 0);
	attr.send_cq = attr.recv_cq = many->cq;
	for (i = 0; i < PAIRS; i++) {
		for (k = 0; k < 2; k++)
			assert_int_equal(rdmapmd_qp_create(pair.pd, &attr, &many->qps[i][k]), 0);
		for (k = 0; k < 2; k++)
			rdma_connect(many->qps[i][k], many->qps[i][!k], &plain);
	}
}

/* Each of them sends one message, all of them at once. Its number says whose it is. */
static void
use_many(struct many *many)
{
	const struct rdmapmd_sge sge = rdma_sge(&pair, 0, 64);
	struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 0, &sge);
	const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF, 64);
	static bool seen[2][2 * PAIRS];
	struct rdmapmd_wc wc;
	unsigned int i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < 2 * PAIRS; i++)
		rdma_post_recv(many->qps[i / 2][i % 2], i, &to, 1);
	for (i = 0; i < 2 * PAIRS; i++) {
		wr.wr_id = i;
		rdma_post(many->qps[i / 2][i % 2], &wr);
	}
	for (i = 0; i < 4 * PAIRS; i++) {
		wc = rdma_wait(many->cq);
		assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
		assert_in_range(wc.wr_id, 0, 2 * PAIRS - 1);
		assert_int_equal(wc.qp_num, many->qps[wc.wr_id / 2][wc.wr_id % 2]->qp_num);
		assert_false(seen[wc.opcode == RDMAPMD_WC_RECV][wc.wr_id]);
		seen[wc.opcode == RDMAPMD_WC_RECV][wc.wr_id] = true;
	}
}

static void
destroy_many(struct many *many)
{
	unsigned int i, k;

	for (i = 0; i < PAIRS; i++)
		for (k = 0; k < 2; k++)
			assert_int_equal(rdmapmd_qp_destroy(many->qps[i][k]), 0);
	assert_int_equal(rdmapmd_cq_destroy(many->cq), 0);
}

static void
test_1024_queue_pairs(void **unused)
{
	static struct many many;
	const uint64_t start = rte_get_timer_cycles();
	double seconds;

	(void)unused;
	create_many(&many);
	use_many(&many);
	destroy_many(&many);
	seconds = (double)(rte_get_timer_cycles() - start) / (double)rte_get_timer_hz();
	printf("# %u queue pairs created, connected, used, destroyed: %.2f s\n", 2 * PAIRS,
	       seconds);
	/* On a machine that has nothing else to do. */
	if (full_run() && !e2e_sanitized())
		assert_true(seconds < LIMIT_S);
}

/* ---- PSNs ---- */

/* Messages of 65 packets and of one, of each kind, over the number given. */
static void
over_psn(uint32_t psn)
{
	static const enum rdmapmd_wr_opcode opcodes[] = { RDMAPMD_WR_RDMA_WRITE,
							  RDMAPMD_WR_RDMA_READ };
	const struct rdma_conf conf = { .psn = psn };
	const struct rdmapmd_sge eight = rdma_sge(&pair, RDMA_HALF + RDMA_GUARD, 8);
	struct rdmapmd_send_wr add;
	unsigned int i;

	rdma_to(pair.qp[0], RDMAPMD_QPS_RESET);
	rdma_to(pair.qp[1], RDMAPMD_QPS_RESET);
	rdma_connect(pair.qp[0], pair.qp[1], &conf);
	rdma_connect(pair.qp[1], pair.qp[0], &conf);
	for (i = 0; i < 4; i++) {
		const bool read = opcodes[i % 2] == RDMAPMD_WR_RDMA_READ;
		const uint32_t length = i < 2 ? 65537 : 1000;
		const struct rdmapmd_sge sge =
			rdma_sge(&pair, read ? RDMA_HALF + RDMA_GUARD : 0, length);
		const struct rdmapmd_send_wr wr = rdma_request(&pair, opcodes[i % 2], i, &sge);

		rdma_fill(&pair, length);
		rdma_post(pair.qp[0], &wr);
		rdma_expect(pair.cq[0], i, read ? RDMAPMD_WC_RDMA_READ : RDMAPMD_WC_RDMA_WRITE);
		rdma_check(&pair, 0, RDMA_GUARD, length);
	}
	*(uint64_t *)pair.memory = 0;
	add = rdma_request(&pair, RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, 4, &eight);
	add.wr.atomic.compare_add = 1;
	for (i = 0; i < 40; i++) {
		rdma_post(pair.qp[0], &add);
		rdma_expect(pair.cq[0], 4, RDMAPMD_WC_FETCH_ADD);
	}
	assert_int_equal(*(uint64_t *)pair.memory, 40);
}

static void
test_packet_sequence_numbers_wrap(void **unused)
{
	/* Each queue pair adds up to 15: within the first WRITE, the READ, the atomics; 0; half of the range. */
	static const uint32_t starts[] = { 0xffffe0,  0xffffa0, 0xffff60, 0xfffff0,
					   0x1000000, 0x7fffe0, 0x7fffa0, 0x800000 };
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(starts); i++)
		over_psn(starts[i]);
}

/* ---- WQE counters, CQ indices ---- */

#define SLOTS 256u /* more than can be under way */
#define SLOT  64u

/* Message n is its number, at a slot of its own, by one of three kinds of WQEs: of one WQEBB, of two, inline. */
static bool
post_number(uint32_t n, uint32_t total)
{
	const uint32_t from = n % SLOTS * SLOT, to = RDMA_HALF + n % SLOTS * SLOT;
	struct rdmapmd_sge sges[4];
	struct rdmapmd_send_wr wr = {
		.wr_id = n,
		.send_flags = n % 4 == 3 || n == total - 1 ? RDMAPMD_SEND_SIGNALED : 0,
		.sg_list = sges,
		.num_sge = 4,
		.imm_data = n,
	};
	uint32_t i;

	memcpy(pair.memory + from, &n, sizeof(n));
	for (i = 0; i < RTE_DIM(sges); i++)
		sges[i] = rdma_sge(&pair, from + i, 1);
	if (n % 3 == 0) {
		wr.opcode = RDMAPMD_WR_RDMA_WRITE_WITH_IMM;
		wr.wr.rdma.remote_addr = (uintptr_t)pair.memory + to;
		wr.wr.rdma.rkey = pair.mr->rkey;
		sges[0].length = sizeof(n);
		wr.num_sge = 1;
	} else {
		wr.opcode = RDMAPMD_WR_SEND_WITH_IMM;
		wr.send_flags |= n % 3 == 1 ? RDMAPMD_SEND_INLINE : 0;
	}
	return rdmapmd_post_send(pair.qp[0], &wr, 1) == 1;
}

static bool
post_receive(uint32_t n)
{
	const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF + n % SLOTS * SLOT, sizeof(n));
	const struct rdmapmd_recv_wr wr = { .wr_id = n, .sg_list = &to, .num_sge = 1 };

	return rdmapmd_post_recv(pair.qp[1], &wr, 1) == 1;
}

/* How many completions of both CQs are good, in turn: those of all receives, of every fourth send. */
static void
take_completions(uint32_t *sent, uint32_t *received, uint32_t total)
{
	struct rdmapmd_wc wc[16];
	uint32_t value;
	uint16_t i, n;

	n = rdmapmd_poll_cq(pair.cq[0], wc, RTE_DIM(wc));
	for (i = 0; i < n; i++) {
		*sent = RTE_MIN(*sent + 4, total);
		assert_int_equal(wc[i].status, RDMAPMD_WC_SUCCESS);
		assert_int_equal(wc[i].wr_id, *sent - 1);
	}
	n = rdmapmd_poll_cq(pair.cq[1], wc, RTE_DIM(wc));
	for (i = 0; i < n; i++, ++*received) {
		assert_int_equal(wc[i].status, RDMAPMD_WC_SUCCESS);
		assert_int_equal(wc[i].wr_id, *received);
		assert_int_equal(wc[i].imm_data, *received);
		assert_int_equal(wc[i].byte_len, sizeof(value));
		memcpy(&value, pair.memory + RDMA_HALF + *received % SLOTS * SLOT, sizeof(value));
		assert_int_equal(value, *received);
	}
}

static void
test_counters_wrap(void **unused)
{
	/* WQE counters have 16 bits, CQ indices 24. */
	const uint32_t total = full_run() && !e2e_sanitized() ? (1u << 24) + 5000 : 70000;
	uint32_t posted = 0, wanted = 0, sent = 0, received = 0;

	(void)unused;
	while (sent < total || received < total) {
		while (wanted < total && post_receive(wanted))
			wanted++;
		while (posted < wanted && post_number(posted, total))
			posted++;
		take_completions(&sent, &received, total);
	}
	rdma_expect_nothing(pair.cq[0]);
	rdma_expect_nothing(pair.cq[1]);
}

/* ---- The largest messages ---- */

#define MESSAGE (1u << 30)
#define BLOCK	(2u << 20)
#define LAST	(MESSAGE - BLOCK)

/*
 * A block for many places: a huge page where there is one to be had, as an IOMMU and a vfio-user server map page by page and
 * have room for some 65,000.
 */
static int
create_block(void)
{
	static const unsigned int flags[] = { MFD_HUGETLB, 0 };
	void *there = MAP_FAILED;
	unsigned int i;
	int fd = -1;

	for (i = 0; i < RTE_DIM(flags) && there == MAP_FAILED; i++) {
		if (fd >= 0)
			close(fd);
		fd = memfd_create("block", flags[i]);
		if (fd >= 0 && ftruncate(fd, BLOCK) == 0)
			there = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	assert_true(there != MAP_FAILED);
	munmap(there, BLOCK);
	return fd;
}

/* As many bytes, of which all blocks are the same memory, but for the last one. */
static uint8_t *
map_message(void)
{
	const int fd = create_block();
	uint8_t *room = mmap(NULL, MESSAGE + BLOCK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *memory = RTE_PTR_ALIGN_CEIL(room, BLOCK);
	uint32_t at;

	assert_true(room != MAP_FAILED);
	if (memory != room)
		munmap(room, memory - room);
	munmap(memory + MESSAGE, room + BLOCK - memory);
	for (at = 0; at < LAST; at += BLOCK)
		assert_true(mmap(memory + at, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				 fd, 0) == memory + at);
	close(fd);
	return memory;
}

static void
fill_message(uint8_t *memory, uint32_t seed)
{
	uint32_t i, *first = (uint32_t *)memory, *last = (uint32_t *)(memory + LAST);

	for (i = 0; i < BLOCK / sizeof(*first); i++) {
		first[i] = seed == 0 ? 0 : seed + i * 2654435761u;
		last[i] = ~first[i];
	}
}

static struct rdmapmd_mr *
register_message(uint8_t *memory)
{
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_reg(pair.pd, memory, MESSAGE,
					RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE |
						RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_MW_BIND,
					&mr),
			 0);
	return mr;
}

/* A window of the receiver's, which SEND_WITH_INV invalidates. */
static struct rdmapmd_mw *
bind_window(const struct rdmapmd_mr *mr)
{
	struct rdmapmd_send_wr wr = { .wr_id = 3,
				      .opcode = RDMAPMD_WR_BIND_MW,
				      .send_flags = RDMAPMD_SEND_SIGNALED };
	struct rdmapmd_mw *mw;

	assert_int_equal(rdmapmd_mw_alloc(pair.pd, RDMAPMD_MW_TYPE_2, &mw), 0);
	wr.wr.bind_mw.mw = mw;
	wr.wr.bind_mw.mr = mr;
	wr.wr.bind_mw.addr = mr->iova;
	wr.wr.bind_mw.length = BLOCK;
	wr.wr.bind_mw.rkey = rdmapmd_mw_next_rkey(mw);
	wr.wr.bind_mw.access = RDMAPMD_ACCESS_REMOTE_READ;
	rdma_post(pair.qp[1], &wr);
	rdma_expect(pair.cq[1], 3, RDMAPMD_WC_BIND_MW);
	return mw;
}

static const struct carried {
	uint8_t opcode, done;
	bool is_send, is_received;
} carried[] = {
	{ RDMAPMD_WR_SEND, RDMAPMD_WC_SEND, true, true },
	{ RDMAPMD_WR_SEND_WITH_IMM, RDMAPMD_WC_SEND, true, true },
	{ RDMAPMD_WR_SEND_WITH_INV, RDMAPMD_WC_SEND, true, true },
	{ RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WC_RDMA_WRITE, false, false },
	{ RDMAPMD_WR_RDMA_WRITE_WITH_IMM, RDMAPMD_WC_RDMA_WRITE, false, true },
	{ RDMAPMD_WR_RDMA_READ, RDMAPMD_WC_RDMA_READ, false, false },
};

/* The second end's receive has the whole message. */
static void
expect_message(const struct carried *how, const struct rdmapmd_mw *mw)
{
	const struct rdmapmd_wc wc = rdma_expect(
		pair.cq[1], 2, how->is_send ? RDMAPMD_WC_RECV : RDMAPMD_WC_RECV_RDMA_WITH_IMM);

	assert_int_equal(wc.byte_len, MESSAGE);
	if (mw != NULL) {
		assert_true(wc.wc_flags & RDMAPMD_WC_WITH_INV);
		assert_int_equal(wc.invalidated_rkey, mw->rkey);
	}
}

/* From one to the other, whoever asks for it. */
static void
carry_message(const struct carried *how, const struct rdmapmd_mr *from, const struct rdmapmd_mr *to)
{
	const bool read = how->opcode == RDMAPMD_WR_RDMA_READ;
	const struct rdmapmd_mr *own = read ? to : from, *peer = read ? from : to;
	struct rdmapmd_sge sge = { own->iova, MESSAGE, own->lkey };
	const struct rdmapmd_sge receive = { to->iova, MESSAGE, to->lkey };
	struct rdmapmd_send_wr wr = rdma_request(&pair, how->opcode, 1, &sge);
	struct rdmapmd_mw *mw = how->opcode == RDMAPMD_WR_SEND_WITH_INV ? bind_window(to) : NULL;
	struct rdmapmd_wc wc;

	wr.wr.rdma.remote_addr = peer->iova;
	wr.wr.rdma.rkey = peer->rkey;
	if (mw != NULL)
		wr.invalidate_rkey = mw->rkey;
	fill_message(from->addr, how->opcode + 1);
	fill_message(to->addr, 0);
	if (how->is_received)
		rdma_post_recv(pair.qp[1], 2, &receive, how->is_send);
	rdma_post(pair.qp[0], &wr);
	wc = rdma_expect(pair.cq[0], 1, how->done);
	if (read)
		assert_int_equal(wc.byte_len, MESSAGE);
	if (how->is_received)
		expect_message(how, mw);
	assert_memory_equal(to->addr, from->addr, BLOCK);
	assert_memory_equal((uint8_t *)to->addr + LAST, (uint8_t *)from->addr + LAST, BLOCK);
	sge.length++;
	assert_int_equal(rdmapmd_post_send(pair.qp[0], &wr, 1), 0);
	assert_int_equal(pair.qp[0]->post_send_error, -EINVAL);
	if (mw != NULL)
		assert_int_equal(rdmapmd_mw_free(mw), 0);
}

static void
test_messages_of_2_to_the_30_bytes(void **unused)
{
	uint8_t *memory[2] = { map_message(), map_message() };
	struct rdmapmd_mr *from = register_message(memory[0]), *to = register_message(memory[1]);
	struct rdmapmd_port_attr port;
	unsigned int i;

	(void)unused;
	assert_int_equal(rdmapmd_port_query(pair.context, 1, &port), 0);
	assert_int_equal(port.max_msg_sz, MESSAGE);
	for (i = 0; i < RTE_DIM(carried); i++)
		carry_message(&carried[i], from, to);
	assert_int_equal(rdmapmd_mr_dereg(from), 0);
	assert_int_equal(rdmapmd_mr_dereg(to), 0);
	for (i = 0; i < RTE_DIM(memory); i++)
		munmap(memory[i], MESSAGE);
}

/* In as few packets as can be. */
static int
open_with_large_packets(void **unused)
{
	(void)unused;
	assert_int_equal(e2e_port_setup(0, &(struct e2e_conf){ .mtu = 4192 }), 0);
	rdma_open(&pair, &(struct rdma_conf){ .mtu = RDMAPMD_MTU_4096 });
	return 0;
}

static int
close_with_large_packets(void **unused)
{
	close_pair(unused);
	return e2e_port_stop(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_plain, close_pair)

int
main(int argc, char **argv)
{
	const char *const vdevs[] = { "net_rnic0,wire=loop", NULL };
	const struct CMUnitTest tests[] = {
		TEST(test_1024_queue_pairs),
		TEST(test_packet_sequence_numbers_wrap),
		TEST(test_counters_wrap),
		cmocka_unit_test_setup_teardown(test_messages_of_2_to_the_30_bytes,
						open_with_large_packets, close_with_large_packets),
	};
	int rc;

	if (e2e_init("rdma-count", e2e_ports(argc, argv, vdevs)) != 0)
		return 1;
	rdma_device = e2e_port_name(0);
	rc = cmocka_run_group_tests_name("rdma_count", tests, NULL, NULL);
	rdma_free(&pair);
	e2e_fini();
	return rc;
}
