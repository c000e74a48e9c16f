/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA through the public API, both ends in this process, on a device whose frames come back to it: every operation with its
 * data, what goes wrong under its name, events, shared receives.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "rdma.h"

/* Around everything that changes: nothing, a byte, cache lines, packets, the inline limit, a MiB. */
static const uint32_t sizes[] = { 0,	  1,	8,    63,   64,	   65,	    1023,
				  1024,	  1025, 2049, 4096, 65537, 1 << 20, (1 << 20) - 1,
				  8 << 20 };

static struct rdma_pair pair;
static bool in_another_process; /* the device */
static bool is_like_a_card;	/* it refuses what one refuses */
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

/* ---- Every operation, with its data ---- */

static void
test_sends(void **unused)
{
	unsigned int i, imm;

	(void)unused;
	for (i = 0; i < RTE_DIM(sizes); i++)
		for (imm = 0; imm < 2; imm++) {
			const struct rdmapmd_sge from = rdma_sge(&pair, 0, sizes[i]);
			const struct rdmapmd_sge to =
				rdma_sge(&pair, RDMA_HALF + RDMA_GUARD, sizes[i] + RDMA_GUARD);
			struct rdmapmd_send_wr wr = rdma_request(
				&pair, imm ? RDMAPMD_WR_SEND_WITH_IMM : RDMAPMD_WR_SEND, i, &from);
			struct rdmapmd_wc wc;

			wr.imm_data = RTE_BE32(0x01020304);
			rdma_fill(&pair, sizes[i]);
			rdma_post_recv(pair.qp[1], 100 + i, &to, 1);
			rdma_post(pair.qp[0], &wr);
			rdma_expect(pair.cq[0], i, RDMAPMD_WC_SEND);
			wc = rdma_expect(pair.cq[1], 100 + i, RDMAPMD_WC_RECV);
			assert_int_equal(wc.byte_len, sizes[i]);
			assert_int_equal(wc.wc_flags & RDMAPMD_WC_WITH_IMM,
					 imm ? RDMAPMD_WC_WITH_IMM : 0);
			if (imm)
				assert_int_equal(wc.imm_data, RTE_BE32(0x01020304));
			assert_int_equal(wc.qp_num, pair.qp[1]->qp_num);
			rdma_check(&pair, 0, RDMA_GUARD, sizes[i]);
		}
}

static void
test_writes(void **unused)
{
	unsigned int i, imm;

	(void)unused;
	for (i = 0; i < RTE_DIM(sizes); i++)
		for (imm = 0; imm < 2; imm++) {
			const struct rdmapmd_sge from = rdma_sge(&pair, 0, sizes[i]);
			struct rdmapmd_send_wr wr = rdma_request(
				&pair, imm ? RDMAPMD_WR_RDMA_WRITE_WITH_IMM : RDMAPMD_WR_RDMA_WRITE,
				i, &from);
			struct rdmapmd_wc wc;

			wr.imm_data = RTE_BE32(i);
			rdma_fill(&pair, sizes[i]);
			if (imm)
				rdma_post_recv(pair.qp[1], 100 + i, NULL, 0);
			rdma_post(pair.qp[0], &wr);
			rdma_expect(pair.cq[0], i, RDMAPMD_WC_RDMA_WRITE);
			if (imm) {
				wc = rdma_expect(pair.cq[1], 100 + i,
						 RDMAPMD_WC_RECV_RDMA_WITH_IMM);
				assert_int_equal(wc.imm_data, RTE_BE32(i));
				assert_int_equal(wc.byte_len, sizes[i]);
			}
			rdma_check(&pair, 0, RDMA_GUARD, sizes[i]);
		}
	rdma_expect_nothing(pair.cq[1]);
}

static void
test_reads(void **unused)
{
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(sizes); i++) {
		const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF + RDMA_GUARD, sizes[i]);
		const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_RDMA_READ, i, &to);

		rdma_fill(&pair, sizes[i]);
		rdma_post(pair.qp[0], &wr);
		assert_int_equal(rdma_expect(pair.cq[0], i, RDMAPMD_WC_RDMA_READ).byte_len,
				 sizes[i]);
		rdma_check(&pair, 0, RDMA_GUARD, sizes[i]);
	}
	rdma_expect_nothing(pair.cq[1]);
}

static void
test_atomics(void **unused)
{
	uint64_t *there = (uint64_t *)pair.memory, *old = (uint64_t *)(pair.memory + RDMA_HALF);
	const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF, sizeof(*old));
	struct rdmapmd_send_wr swap = rdma_request(&pair, RDMAPMD_WR_ATOMIC_CMP_AND_SWP, 1, &to);
	struct rdmapmd_send_wr add = rdma_request(&pair, RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, 2, &to);

	(void)unused;
	if (!rdma_has_atomics(pair.context))
		return; /* cmocka would say "not ok" */
	*there = 0x1122334455667788;
	swap.wr.atomic.compare_add = 0x1122334455667788;
	swap.wr.atomic.swap = 0xaabbccddeeff0011;
	rdma_post(pair.qp[0], &swap);
	assert_int_equal(rdma_expect(pair.cq[0], 1, RDMAPMD_WC_COMP_SWAP).byte_len, 8);
	assert_true(*old == 0x1122334455667788 && *there == 0xaabbccddeeff0011);
	/* It does not compare: as it was. */
	rdma_post(pair.qp[0], &swap);
	rdma_expect(pair.cq[0], 1, RDMAPMD_WC_COMP_SWAP);
	assert_true(*old == 0xaabbccddeeff0011 && *there == 0xaabbccddeeff0011);
	add.wr.atomic.compare_add = 0x100;
	rdma_post(pair.qp[0], &add);
	assert_int_equal(rdma_expect(pair.cq[0], 2, RDMAPMD_WC_FETCH_ADD).byte_len, 8);
	assert_true(*old == 0xaabbccddeeff0011 && *there == 0xaabbccddeeff0111);
}

static void
test_inline_and_several_segments(void **unused)
{
	struct rdmapmd_sge from[4] = { 0 }, to[4];
	struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 7, from);
	unsigned int in_line, i;

	(void)unused;
	wr.num_sge = RTE_DIM(from);
	for (in_line = 0; in_line < 2; in_line++) {
		/* 3, 0, 21 and 40 bytes; into 1, 2, 5 and the rest. */
		from[0] = rdma_sge(&pair, 0, 3);
		from[1] = rdma_sge(&pair, 0, 0);
		from[2] = rdma_sge(&pair, 3, 21);
		from[3] = rdma_sge(&pair, 24, 40);
		to[0] = rdma_sge(&pair, RDMA_HALF + RDMA_GUARD, 1);
		to[1] = rdma_sge(&pair, RDMA_HALF + RDMA_GUARD + 1, 2);
		to[2] = rdma_sge(&pair, RDMA_HALF + RDMA_GUARD + 3, 5);
		to[3] = rdma_sge(&pair, RDMA_HALF + RDMA_GUARD + 8, 500);
		for (i = 0; in_line && i < RTE_DIM(from); i++)
			from[i].lkey = 0; /* nobody looks */
		wr.send_flags = RDMAPMD_SEND_SIGNALED | (in_line ? RDMAPMD_SEND_INLINE : 0);
		rdma_fill(&pair, 64);
		rdma_post_recv(pair.qp[1], 8, to, RTE_DIM(to));
		rdma_post(pair.qp[0], &wr);
		rdma_expect(pair.cq[0], 7, RDMAPMD_WC_SEND);
		assert_int_equal(rdma_expect(pair.cq[1], 8, RDMAPMD_WC_RECV).byte_len, 64);
		rdma_check(&pair, 0, RDMA_GUARD, 64);
	}
}

/* Both ways at once, queues that are full all the time, every fourth request signaled. */
static void
test_many_in_both_directions(void **unused)
{
	const uint32_t total = full_run() ? 1000000 : 20000;
	uint32_t posted[2] = { 0 }, sent[2] = { 0 }, received[2] = { 0 }, wanted[2] = { 0 };
	struct rdmapmd_wc wc[16];
	unsigned int i, n, k;

	(void)unused;
	while (received[0] < total || received[1] < total)
		for (i = 0; i < 2; i++) {
			const struct rdmapmd_sge from = rdma_sge(&pair, 64 * i, 64);
			const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF + 64 * i, 64);
			struct rdmapmd_recv_wr recv = { .sg_list = &to, .num_sge = 1 };
			struct rdmapmd_send_wr wr =
				rdma_request(&pair, RDMAPMD_WR_SEND, posted[i], &from);

			while (wanted[i] < total) {
				recv.wr_id = wanted[i];
				if (rdmapmd_post_recv(pair.qp[i], &recv, 1) == 0)
					break;
				wanted[i]++;
			}
			while (posted[i] < total) {
				wr.wr_id = posted[i];
				wr.send_flags = posted[i] % 4 == 3 || posted[i] == total - 1
							? RDMAPMD_SEND_SIGNALED
							: 0;
				if (rdmapmd_post_send(pair.qp[i], &wr, 1) == 0)
					break;
				posted[i]++;
			}
			n = rdmapmd_poll_cq(pair.cq[i], wc, RTE_DIM(wc));
			for (k = 0; k < n; k++) {
				assert_int_equal(wc[k].status, RDMAPMD_WC_SUCCESS);
				if (wc[k].opcode & RDMAPMD_WC_RECV) {
					assert_int_equal(wc[k].wr_id, received[i]);
					received[i]++;
				} else {
					assert_int_equal(wc[k].wr_id,
							 RTE_MIN(sent[i] + 3, total - 1));
					sent[i] += 4;
				}
			}
		}
	assert_int_equal(rdmapmd_qp_state(pair.qp[0]), RDMAPMD_QPS_RTS);
}

/* ---- What goes wrong ---- */

struct failure {
	enum rdmapmd_wr_opcode opcode;
	enum rdmapmd_wc_status status; /* at the requester */
	void (*spoil)(struct rdmapmd_send_wr *wr);
};

static void
spoil_rkey(struct rdmapmd_send_wr *wr)
{
	wr->wr.rdma.rkey ^= 0x5a;
}

static void
spoil_address(struct rdmapmd_send_wr *wr)
{
	wr->wr.rdma.remote_addr = (uintptr_t)pair.memory + 2 * RDMA_HALF - 7;
}

static void
spoil_lkey(struct rdmapmd_send_wr *wr)
{
	((struct rdmapmd_sge *)(uintptr_t)wr->sg_list)->lkey ^= 0x5a;
}

static void
spoil_alignment(struct rdmapmd_send_wr *wr)
{
	wr->wr.atomic.remote_addr += 4;
}

static void
test_failures_have_names(void **unused)
{
	static const struct failure failures[] = {
		{ RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WC_REM_ACCESS_ERR, spoil_rkey },
		{ RDMAPMD_WR_RDMA_READ, RDMAPMD_WC_REM_ACCESS_ERR, spoil_rkey },
		{ RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WC_REM_ACCESS_ERR, spoil_address },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, RDMAPMD_WC_REM_INV_REQ_ERR, spoil_alignment },
		{ RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WC_LOC_PROT_ERR, spoil_lkey },
		{ RDMAPMD_WR_SEND, RDMAPMD_WC_LOC_PROT_ERR, spoil_lkey },
	};
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(failures); i++) {
		struct rdmapmd_sge sge = rdma_sge(&pair, 0, 8);
		struct rdmapmd_send_wr wr = rdma_request(&pair, failures[i].opcode, 1, &sge);
		const struct rdmapmd_send_wr next = rdma_request(&pair, RDMAPMD_WR_NOP, 2, NULL);

		if (failures[i].opcode == RDMAPMD_WR_ATOMIC_FETCH_AND_ADD &&
		    !rdma_has_atomics(pair.context))
			continue;
		failures[i].spoil(&wr);
		rdma_post(pair.qp[0], &wr);
		rdma_post(pair.qp[0], &next);
		rdma_expect_status(pair.cq[0], 1, failures[i].status);
		rdma_expect_status(pair.cq[0], 2, RDMAPMD_WC_WR_FLUSH_ERR);
		assert_int_equal(rdmapmd_qp_state(pair.qp[0]), RDMAPMD_QPS_ERR);
		rdma_to(pair.qp[0], RDMAPMD_QPS_RESET);
		rdma_to(pair.qp[1], RDMAPMD_QPS_RESET);
		rdma_connect(pair.qp[0], pair.qp[1], &plain);
		rdma_connect(pair.qp[1], pair.qp[0], &plain);
	}
}

static void
test_a_message_that_is_too_long(void **unused)
{
	const struct rdmapmd_sge from = rdma_sge(&pair, 0, 2000);
	const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF, 1999);
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 1, &from);

	(void)unused;
	rdma_post_recv(pair.qp[1], 2, &to, 1);
	rdma_post_recv(pair.qp[1], 3, &to, 1);
	rdma_post(pair.qp[0], &wr);
	rdma_expect_status(pair.cq[0], 1, RDMAPMD_WC_REM_INV_REQ_ERR);
	rdma_expect_status(pair.cq[1], 2, RDMAPMD_WC_LOC_LEN_ERR);
	rdma_expect_status(pair.cq[1], 3, RDMAPMD_WC_WR_FLUSH_ERR);
}

static void
test_no_receive_is_posted(void **unused)
{
	static const struct rdma_conf impatient = { .rnr_retry = RDMA_NONE };
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 1, NULL);

	(void)unused;
	/* Patience: one that comes later is enough. */
	rdma_post(pair.qp[0], &wr);
	rdma_expect_nothing(pair.cq[0]);
	rdma_post_recv(pair.qp[1], 2, NULL, 0);
	rdma_expect(pair.cq[0], 1, RDMAPMD_WC_SEND);
	rdma_expect(pair.cq[1], 2, RDMAPMD_WC_RECV);
	rdma_to(pair.qp[0], RDMAPMD_QPS_RESET);
	rdma_to(pair.qp[1], RDMAPMD_QPS_RESET);
	rdma_connect(pair.qp[0], pair.qp[1], &impatient);
	rdma_connect(pair.qp[1], pair.qp[0], &impatient);
	rdma_post(pair.qp[0], &wr);
	rdma_expect_status(pair.cq[0], 1, RDMAPMD_WC_RNR_RETRY_EXC_ERR);
}

static void
test_a_peer_that_does_not_answer(void **unused)
{
	static const struct rdma_conf impatient = { .timeout = 8, .retry_cnt = 1 };
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_RDMA_WRITE, 1, NULL);

	(void)unused;
	rdma_to(pair.qp[1], RDMAPMD_QPS_RESET);
	rdma_to(pair.qp[0], RDMAPMD_QPS_RESET);
	rdma_connect(pair.qp[0], pair.qp[1], &impatient);
	rdma_post(pair.qp[0], &wr);
	rdma_expect_status(pair.cq[0], 1, RDMAPMD_WC_RETRY_EXC_ERR);
}

static void
test_draining_flushes_in_order(void **unused)
{
	struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 0, NULL);
	struct rdmapmd_wc wc;
	unsigned int i;
	int left;

	(void)unused;
	/* Nobody receives: all of them wait. */
	for (i = 0; i < 10; i++) {
		wr.wr_id = i;
		wr.send_flags = i % 2 ? RDMAPMD_SEND_SIGNALED : 0;
		rdma_post(pair.qp[0], &wr);
		rdma_post_recv(pair.qp[0], 100 + i, NULL, 0);
	}
	left = rdmapmd_qp_drain(pair.qp[0]);
	assert_true(left >= 20);
	for (i = 0; i < 10; i++)
		rdma_expect_status(pair.cq[0], i, RDMAPMD_WC_WR_FLUSH_ERR);
	for (i = 0; i < 10; i++)
		rdma_expect_status(pair.cq[0], 100 + i, RDMAPMD_WC_WR_FLUSH_ERR);
	while ((left = rdmapmd_qp_drain(pair.qp[0])) > 0)
		assert_int_equal(rdmapmd_poll_cq(pair.cq[0], &wc, 1), 0);
	assert_int_equal(left, 0);
	/* In ERR requests are taken, and come back. */
	rdma_post(pair.qp[0], &wr);
	rdma_expect_status(pair.cq[0], 9, RDMAPMD_WC_WR_FLUSH_ERR);
}

/* The event, and whose it is. Those of the port come when they come: its link follows contexts. */
static void
expect_async(enum rdmapmd_event_type type, const void *element)
{
	struct pollfd wait = { .fd = rdmapmd_async_event_fd(pair.context), .events = POLLIN };
	struct rdmapmd_async_event event;

	do {
		if (poll(&wait, 1, 5000) != 1)
			fail_msg("no event '%s'", rdmapmd_event_type_str(type));
		assert_int_equal(rdmapmd_async_event_get(pair.context, &event), 0);
		assert_int_equal(rdmapmd_async_event_ack(pair.context, &event), 0);
	} while (event.event_type == RDMAPMD_EVENT_PORT_ACTIVE ||
		 event.event_type == RDMAPMD_EVENT_PORT_ERR);
	assert_string_equal(rdmapmd_event_type_str(event.event_type), rdmapmd_event_type_str(type));
	assert_ptr_equal(event.element.qp, element);
}

static void
test_send_queue_drained(void **unused)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_SQD,
					      .en_sqd_async_notify = 1 };
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 1, NULL);
	struct rdmapmd_qp_attr now;

	(void)unused;
	/* Cards' firmware may not know the state: then the queue pair goes on as it was. */
	if (is_like_a_card && rdmapmd_qp_modify(pair.qp[0], &attr, RDMAPMD_QP_STATE) == -ENOTSUP) {
		assert_int_equal(rdmapmd_qp_state(pair.qp[0]), RDMAPMD_QPS_RTS);
		rdma_post(pair.qp[0], &wr);
		rdma_post_recv(pair.qp[1], 2, NULL, 0);
		rdma_expect(pair.cq[0], 1, RDMAPMD_WC_SEND);
		return;
	}
	/* One under way that waits for its receive, one behind the change of state. */
	rdma_post_under_way(&pair, &wr);
	assert_int_equal(rdmapmd_qp_modify(pair.qp[0], &attr,
					   RDMAPMD_QP_STATE | RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	rdma_post_recv(pair.qp[1], 2, NULL, 0);
	rdma_expect(pair.cq[0], 1, RDMAPMD_WC_SEND);
	expect_async(RDMAPMD_EVENT_SQ_DRAINED, pair.qp[0]);
	assert_int_equal(rdmapmd_qp_query(pair.qp[0], &now, NULL), 0);
	assert_int_equal(now.qp_state, RDMAPMD_QPS_SQD);
	assert_int_equal(now.sq_draining, 0);
	/* What is posted now waits for RTS. */
	rdma_post(pair.qp[0], &wr);
	rdma_post_recv(pair.qp[1], 3, NULL, 0);
	rdma_expect(pair.cq[1], 2, RDMAPMD_WC_RECV);
	rdma_expect_nothing(pair.cq[1]);
	rdma_to(pair.qp[0], RDMAPMD_QPS_RTS);
	rdma_expect(pair.cq[1], 3, RDMAPMD_WC_RECV);
}

/* ---- Addresses, counters ---- */

static void
test_paths_over_ip(void **unused)
{
	union rdmapmd_gid added = { { [10] = 0xff, [11] = 0xff, 198, 51, 100, 7 } };
	struct rdmapmd_gid_entry entry;
	struct rdma_conf conf = { 0 };
	uint32_t index;

	(void)unused;
	/* Those of ip=: IPv4, IPv6. Then one more. */
	for (index = 1; index <= 3; index++) {
		const struct rdmapmd_sge from = rdma_sge(&pair, 0, 5000);
		const struct rdmapmd_send_wr wr =
			rdma_request(&pair, RDMAPMD_WR_RDMA_WRITE, index, &from);

		if (index == 3)
			assert_int_equal(rdmapmd_gid_add(pair.context, 1, &added, &index), 0);
		assert_int_equal(rdmapmd_gid_query(pair.context, 1, index, &entry), 0);
		assert_int_equal(entry.gid_type, RDMAPMD_GID_TYPE_ROCE_V2);
		conf.sgid_index = index;
		rdma_to(pair.qp[0], RDMAPMD_QPS_RESET);
		rdma_to(pair.qp[1], RDMAPMD_QPS_RESET);
		rdma_connect(pair.qp[0], pair.qp[1], &conf);
		rdma_connect(pair.qp[1], pair.qp[0], &conf);
		rdma_fill(&pair, 5000);
		rdma_post(pair.qp[0], &wr);
		rdma_expect(pair.cq[0], index, RDMAPMD_WC_RDMA_WRITE);
		rdma_check(&pair, 0, RDMA_GUARD, 5000);
	}
	assert_int_equal(rdmapmd_gid_del(pair.context, 1, 3), -EBUSY);
	rdma_to(pair.qp[0], RDMAPMD_QPS_RESET);
	rdma_to(pair.qp[1], RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_gid_del(pair.context, 1, 3), 0);
}

static uint64_t
counter(const char *name)
{
	const char *names[64];
	uint64_t values[64];
	int i, count = rdmapmd_counters_names(pair.context, names, RTE_DIM(names));

	assert_in_range(count, 1, RTE_DIM(names));
	assert_int_equal(rdmapmd_counters_read(pair.context, 1, values, RTE_DIM(values)), count);
	for (i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return values[i];
	fail_msg("no counter %s", name);
	return 0;
}

static uint64_t
xstat(const char *name)
{
	uint64_t id, value;

	assert_int_equal(rte_eth_xstats_get_id_by_name(0, name, &id), 0);
	assert_int_equal(rte_eth_xstats_get_by_id(0, &id, &value, 1), 1);
	return value;
}

/* The vport's own: three packets of a WRITE, and their acknowledgement, go out and come in. */
static void
test_packets_are_extended_statistics(void **unused)
{
	const struct rdmapmd_sge sge = rdma_sge(&pair, 0, 3000);
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_RDMA_WRITE, 1, &sge);
	const uint64_t sent = xstat("tx_vport_rdma_unicast_packets"),
		       received = xstat("rx_vport_rdma_unicast_packets"),
		       bytes = xstat("tx_vport_rdma_unicast_bytes");

	(void)unused;
	rdma_post(pair.qp[0], &wr);
	rdma_expect(pair.cq[0], 1, RDMAPMD_WC_RDMA_WRITE);
	assert_int_equal(xstat("tx_vport_rdma_unicast_packets") - sent, 4);
	assert_int_equal(xstat("rx_vport_rdma_unicast_packets") - received, 4);
	assert_in_range(xstat("tx_vport_rdma_unicast_bytes") - bytes, 3000 + 4 * 58, 3000 + 4 * 90);
	assert_int_equal(xstat("tx_vport_rdma_multicast_packets"), 0);
}

static void
test_counters(void **unused)
{
	static const struct {
		const char *name;
		enum rdmapmd_wr_opcode opcode;
	} kinds[] = {
		{ "rx_write_requests", RDMAPMD_WR_RDMA_WRITE },
		{ "rx_read_requests", RDMAPMD_WR_RDMA_READ },
		{ "rx_atomic_requests", RDMAPMD_WR_ATOMIC_FETCH_AND_ADD },
	};
	const struct rdmapmd_sge sge = rdma_sge(&pair, RDMA_HALF, 8);
	struct rte_eth_stats stats;
	uint64_t before, missed;
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(kinds); i++) {
		const struct rdmapmd_send_wr wr = rdma_request(&pair, kinds[i].opcode, 1, &sge);

		if (kinds[i].opcode == RDMAPMD_WR_ATOMIC_FETCH_AND_ADD &&
		    !rdma_has_atomics(pair.context))
			continue;
		before = counter(kinds[i].name);
		assert_int_equal(rte_eth_xstats_reset(0), 0);
		assert_int_equal(xstat(kinds[i].name), 0);
		rdma_post(pair.qp[0], &wr);
		assert_int_equal(rdma_wait(pair.cq[0]).status, RDMAPMD_WC_SUCCESS);
		assert_int_equal(counter(kinds[i].name), before + 1);
		assert_int_equal(xstat(kinds[i].name), 1);
	}
	/* What a queue pair has no receive for is not what the port missed. */
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	missed = stats.imissed;
	test_no_receive_is_posted(NULL);
	assert_true(xstat("out_of_buffer") > 0);
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.imissed, missed);
}

/* ---- Events, shared receives ---- */

static int
open_shared(void **unused)
{
	static const struct rdma_conf shared = { .srq = true, .channel = true };

	(void)unused;
	rdma_open(&pair, &shared);
	return 0;
}

static void
test_completion_events(void **unused)
{
	struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, 1, NULL);
	unsigned int i;

	(void)unused;
	for (i = 0; i < 5; i++) {
		rdma_post_recv(pair.qp[1], 2, NULL, 0);
		assert_int_equal(rdmapmd_req_notify_cq(pair.cq[1], false), 0);
		assert_null(rdma_wait_channel(&pair, 10));
		rdma_post(pair.qp[0], &wr);
		assert_ptr_equal(rdma_wait_channel(&pair, 60000), pair.cq[1]);
		rdma_expect(pair.cq[1], 2, RDMAPMD_WC_RECV);
		rdma_expect(pair.cq[0], 1, RDMAPMD_WC_SEND);
	}
	/* Only what the sender asked for. */
	assert_int_equal(rdmapmd_req_notify_cq(pair.cq[1], true), 0);
	for (i = 0; i < 2; i++) {
		wr.send_flags = RDMAPMD_SEND_SIGNALED | (i ? RDMAPMD_SEND_SOLICITED : 0);
		rdma_post_recv(pair.qp[1], 2, NULL, 0);
		rdma_post(pair.qp[0], &wr);
		assert_ptr_equal(rdma_wait_channel(&pair, i ? 60000 : 20), i ? pair.cq[1] : NULL);
	}
	for (i = 0; i < 2; i++)
		rdma_expect(pair.cq[1], 2, RDMAPMD_WC_RECV);
}

static void
test_no_completion_is_slept_through(void **unused)
{
	(void)unused;
	rdma_sleep_for_each(&pair, full_run() ? 100000 : 2000);
}

static void
test_moderated_events(void **unused)
{
	(void)unused;
	rdma_moderate(&pair);
}

static void
test_shared_receives(void **unused)
{
	const struct rdmapmd_srq_attr limit = { .srq_limit = 5 };
	struct rdmapmd_srq_attr attr;
	unsigned int i, round;

	(void)unused;
	assert_int_equal(rdmapmd_srq_query(pair.srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	/* More than the ring holds, so that WQEs come back to it. */
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 10; i++) {
			const struct rdmapmd_sge to =
				rdma_sge(&pair, RDMA_HALF + RDMA_GUARD + 200 * i, 200);

			rdma_post_recv(pair.qp[1], 100 + i, &to, 1);
		}
		assert_int_equal(rdmapmd_srq_modify(pair.srq, &limit, RDMAPMD_SRQ_LIMIT), 0);
		for (i = 0; i < 10; i++) {
			const struct rdmapmd_sge from = rdma_sge(&pair, 200 * i, 200);
			const struct rdmapmd_send_wr wr =
				rdma_request(&pair, RDMAPMD_WR_SEND, i, &from);

			if (i == 0)
				rdma_fill(&pair, 2000);
			rdma_post(pair.qp[0], &wr);
			rdma_expect(pair.cq[0], i, RDMAPMD_WC_SEND);
			assert_int_equal(rdma_expect(pair.cq[1], 100 + i, RDMAPMD_WC_RECV).byte_len,
					 200);
		}
		rdma_check(&pair, 0, RDMA_GUARD, 2000);
		expect_async(RDMAPMD_EVENT_SRQ_LIMIT_REACHED, pair.srq);
	}
	assert_int_equal(rdmapmd_srq_query(pair.srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	/* In ERR it takes no more from there, and says so; what is posted stays. */
	rdma_post_recv(pair.qp[1], 1, NULL, 0);
	rdma_to(pair.qp[1], RDMAPMD_QPS_ERR);
	expect_async(RDMAPMD_EVENT_QP_LAST_WQE_REACHED, pair.qp[1]);
	rdma_expect_nothing(pair.cq[1]);
}

/* ---- Another size ---- */

/* While completions come, and wait: larger, smaller, back, with the ring anywhere in its pass. */
static void
test_a_cq_of_another_size(void **unused)
{
	static const uint32_t sizes_of_cq[] = { 1000, 40, 4000, 300 };
	struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_NOP, 0, NULL);
	uint32_t posted = 0, polled = 0, i, k;

	(void)unused;
	for (i = 0; i < 200; i++) {
		for (k = 0; k < 30; k++) {
			wr.wr_id = posted++;
			rdma_post(pair.qp[0], &wr);
		}
		/* Some of them are polled, some wait, some are still to come. */
		for (k = 0; k < 1 + i % 7; k++)
			rdma_expect(pair.cq[0], polled++, RDMAPMD_WC_NOP);
		assert_int_equal(rdmapmd_cq_resize(pair.cq[0], sizes_of_cq[i % 4]), 0);
		while (polled != posted)
			rdma_expect(pair.cq[0], polled++, RDMAPMD_WC_NOP);
	}
	rdma_expect_nothing(pair.cq[0]);
	/* More wait than would fit. */
	for (k = 0; k < 30; k++) {
		wr.wr_id = posted++;
		rdma_post(pair.qp[0], &wr);
	}
	rte_delay_us_sleep(200000);
	assert_int_equal(rdmapmd_cq_resize(pair.cq[0], 15), -EINVAL);
	while (polled != posted)
		rdma_expect(pair.cq[0], polled++, RDMAPMD_WC_NOP);
	assert_int_equal(rdmapmd_cq_status(pair.cq[0]), 0);
}

/* ---- The process around ---- */

static void
test_a_fork_between_post_and_completion(void **unused)
{
	(void)unused;
	rdma_fork_between(&pair, in_another_process);
}

/* ---- Threads ---- */

/* A context of its own, traffic in it, and all of it made and taken down beside the others. */
static void *
work(void *arg)
{
	const uint32_t rounds = full_run() ? 200 : 10;
	struct rdma_pair *mine = arg;
	uint32_t round, i;

	for (round = 0; round < rounds; round++) {
		rdma_open(mine, &plain);
		for (i = 0; i < 50; i++) {
			const struct rdmapmd_sge from = rdma_sge(mine, 0, 3000 + i);
			const struct rdmapmd_send_wr wr =
				rdma_request(mine, RDMAPMD_WR_RDMA_WRITE, i, &from);

			rdma_fill(mine, 3000 + i);
			rdma_post(mine->qp[i & 1], &wr);
			rdma_expect(mine->cq[i & 1], i, RDMAPMD_WC_RDMA_WRITE);
			rdma_check(mine, 0, RDMA_GUARD, 3000 + i);
		}
		rdma_close(mine);
	}
	return NULL;
}

static void
test_threads_with_contexts_of_their_own(void **unused)
{
	static struct rdma_pair pairs[3];
	pthread_t threads[RTE_DIM(pairs)];
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(pairs); i++)
		rdma_alloc(&pairs[i]);
	for (i = 0; i < RTE_DIM(pairs); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &pairs[i]), 0);
	for (i = 0; i < RTE_DIM(pairs); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (i = 0; i < RTE_DIM(pairs); i++)
		rdma_free(&pairs[i]);
}

#define TEST(name)	  cmocka_unit_test_setup_teardown(name, open_plain, close_pair)
#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, open_shared, close_pair)

/* One argument: devargs of the device, "wire=loop" otherwise. Frames must come back. */
int
main(int argc, char **argv)
{
	char vdev[256], devargs[224];
	const char *const vdevs[] = { vdev, NULL };
	const struct CMUnitTest tests[] = {
		TEST(test_sends),
		TEST(test_writes),
		TEST(test_reads),
		TEST(test_atomics),
		TEST(test_inline_and_several_segments),
		TEST(test_many_in_both_directions),
		TEST(test_failures_have_names),
		TEST(test_a_message_that_is_too_long),
		TEST(test_no_receive_is_posted),
		TEST(test_a_peer_that_does_not_answer),
		TEST(test_draining_flushes_in_order),
		TEST(test_send_queue_drained),
		TEST(test_paths_over_ip),
		TEST(test_counters),
		TEST(test_packets_are_extended_statistics),
		TEST(test_a_cq_of_another_size),
		TEST(test_a_fork_between_post_and_completion),
		cmocka_unit_test(test_threads_with_contexts_of_their_own),
		SHARED_TEST(test_completion_events),
		SHARED_TEST(test_no_completion_is_slept_through),
		SHARED_TEST(test_moderated_events),
		SHARED_TEST(test_shared_receives),
	};
	int rc;

	is_like_a_card = argc > 1 && strstr(argv[1], "like=") != NULL;
	in_another_process = argc > 1 && strncmp(argv[1], "socket=", 7) == 0;
	snprintf(devargs, sizeof(devargs), "%s,ip=192.0.2.1+2001:db8::1",
		 argc > 1 ? argv[1] : "wire=loop");
	e2e_port_spec(vdev, sizeof(vdev), 0, devargs);
	if (e2e_init("rdma", vdevs) != 0)
		return 1;
	rdma_device = e2e_port_name(0);
	rc = cmocka_run_group_tests_name("rdma", tests, NULL, NULL);
	rdma_free(&pair);
	e2e_fini();
	return rc;
}
