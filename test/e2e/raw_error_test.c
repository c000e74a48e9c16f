/* SPDX-License-Identifier: BSD-3-Clause */

/* RAW_PACKET queue pairs: their states, what goes wrong with frames, and what comes back then. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "raw.h"

#define A	 (&raw_ends[0])
#define B	 (&raw_ends[1])
#define ANY	 RDMAPMD_VLAN_ANY
#define SIGNALED RDMAPMD_SEND_SIGNALED

static void
send_frame(uint32_t seed, uint32_t length)
{
	raw_frame(A, 0, B->mac, ANY, seed, length);
	raw_send(A, seed, length, SIGNALED);
	rdma_expect(A->send_cq, seed, RDMAPMD_WC_SEND);
}

/* Frames go from A to B and back. */
static void
expect_alive(void)
{
	raw_receive(B, 901, 1);
	send_frame(900, 300);
	raw_expect(B, 901, 0, B->mac, ANY, 900, 300);
}

static void
expect_state(const struct raw_end *end, enum rdmapmd_qp_state state)
{
	struct rdmapmd_qp_attr attr;

	assert_string_equal(rdmapmd_qp_state_str((enum rdmapmd_qp_state)rdmapmd_qp_state(end->qp)),
			    rdmapmd_qp_state_str(state));
	assert_int_equal(rdmapmd_qp_query(end->qp, &attr, NULL), 0);
	assert_int_equal(attr.qp_state, state);
}

static void
bring_up(struct raw_end *end)
{
	raw_to(end, RDMAPMD_QPS_INIT);
	raw_to(end, RDMAPMD_QPS_RTR);
	raw_to(end, RDMAPMD_QPS_RTS);
}

static int
change(struct raw_end *end, enum rdmapmd_qp_state state, unsigned int mask)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return rdmapmd_qp_modify(end->qp, &attr, RDMAPMD_QP_STATE | mask);
}

/* ---- States ---- */

static void
test_what_each_state_takes(void **unused)
{
	const struct raw_conf reset = { .up_to = RDMAPMD_QPS_INIT };
	const struct rdmapmd_sge sge = raw_sge(A, RAW_TX, 60);
	const struct rdmapmd_send_wr send = { .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = RDMAPMD_WR_SEND };
	struct raw_end other = *B;

	(void)unused;
	memcpy(other.mac, "\x02\0\0\0\xaa\x09", 6);
	raw_open_end(&other, &reset);
	raw_to(&other, RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_post_recv(other.qp, &(struct rdmapmd_recv_wr){ 0 }, 1), 0);
	assert_int_equal(other.qp->post_recv_error, -EPERM);
	raw_to(&other, RDMAPMD_QPS_INIT);
	expect_state(&other, RDMAPMD_QPS_INIT);
	/* Receives are taken, and no frame yet. */
	raw_receive(&other, 1, 2);
	raw_frame(A, 0, other.mac, ANY, 1, 60);
	raw_send(A, 1, 60, SIGNALED);
	rdma_expect(A->send_cq, 1, RDMAPMD_WC_SEND);
	rdma_expect_nothing(other.recv_cq);
	assert_int_equal(rdmapmd_post_send(other.qp, &send, 1), 0);
	assert_int_equal(other.qp->post_send_error, -EPERM);
	raw_to(&other, RDMAPMD_QPS_RTR);
	expect_state(&other, RDMAPMD_QPS_RTR);
	raw_frame(A, 0, other.mac, ANY, 2, 61);
	raw_send(A, 2, 61, SIGNALED);
	rdma_expect(A->send_cq, 2, RDMAPMD_WC_SEND);
	raw_expect(&other, 1, 0, other.mac, ANY, 2, 61);
	assert_int_equal(rdmapmd_post_send(other.qp, &send, 1), 0);
	assert_int_equal(other.qp->post_send_error, -EPERM);
	raw_to(&other, RDMAPMD_QPS_RTS);
	raw_to(&other, RDMAPMD_QPS_RTS);
	expect_state(&other, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_post_send(other.qp, &send, 1), 1);
	raw_close_end(&other);
}

static void
test_changes_that_are_not_legal(void **unused)
{
	(void)unused;
	assert_int_equal(change(A, RDMAPMD_QPS_SQD, 0), -EINVAL);
	assert_int_equal(change(A, RDMAPMD_QPS_SQE, 0), -EINVAL);
	assert_int_equal(change(A, RDMAPMD_QPS_INIT, RDMAPMD_QP_PORT), -EINVAL);
	assert_int_equal(change(A, RDMAPMD_QPS_RTS, RDMAPMD_QP_ACCESS_FLAGS), -EINVAL);
	raw_to(A, RDMAPMD_QPS_RESET);
	assert_int_equal(change(A, RDMAPMD_QPS_INIT, 0), -EINVAL);
	assert_int_equal(change(A, RDMAPMD_QPS_INIT, RDMAPMD_QP_PORT | RDMAPMD_QP_PKEY_INDEX),
			 -EINVAL);
	assert_int_equal(change(A, RDMAPMD_QPS_RTR, 0), -EINVAL);
	raw_to(A, RDMAPMD_QPS_INIT);
	assert_int_equal(change(A, RDMAPMD_QPS_RTS, 0), -EINVAL);
	assert_int_equal(change(A, RDMAPMD_QPS_RTR, RDMAPMD_QP_AV), -EINVAL);
	raw_to(A, RDMAPMD_QPS_RTR);
	raw_to(A, RDMAPMD_QPS_RTS);
	expect_alive();
}

static void
test_queue_pairs_that_cannot_be(void **unused)
{
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RAW_PACKET,
		.send_cq = A->send_cq,
		.recv_cq = A->recv_cq,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct rdmapmd_qp *qp = NULL;

	(void)unused;
	assert_int_equal(rdmapmd_srq_create(A->pd, &srq_attr, &attr.srq), 0);
	assert_int_equal(rdmapmd_qp_create(A->pd, &attr, &qp), -ENOTSUP);
	assert_int_equal(rdmapmd_srq_destroy(attr.srq), 0);
	attr.srq = NULL;
	attr.cap.max_send_wr = 0;
	assert_int_equal(rdmapmd_qp_create(A->pd, &attr, &qp), -EINVAL);
	assert_null(qp);
}

static void
test_one_direction_is_enough(void **unused)
{
	static const struct raw_conf sends = { .no_receive = true }, receives = { .no_send = true };

	(void)unused;
	raw_open_end(A, &sends);
	raw_open_end(B, &receives);
	rdma_wait_link(A->context);
	expect_alive();
	assert_int_equal(rdmapmd_post_recv(A->qp, &(struct rdmapmd_recv_wr){ 0 }, 1), 0);
	assert_int_equal(rdmapmd_post_send(B->qp, &(struct rdmapmd_send_wr){ 0 }, 1), 0);
	/* The number is the receive queue's then, and so is that of its errors. */
	raw_receive(B, 1, 2);
	assert_true(rdmapmd_qp_drain(B->qp) >= 2);
	rdma_expect_status(B->recv_cq, 1, RDMAPMD_WC_WR_FLUSH_ERR);
	rdma_expect_status(B->recv_cq, 2, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rdmapmd_qp_drain(B->qp), 0);
	assert_int_equal(rdmapmd_qp_drain(A->qp), 0);
	raw_close();
}

/* Two of them, and one of RC, complete into the same CQ. */
static void
test_one_cq_for_all(void **unused)
{
	static const struct raw_conf one_cq = { .one_cq = true };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = 4, .max_recv_sge = 1 },
	};
	struct rdmapmd_qp *rc;
	unsigned int i;

	(void)unused;
	raw_open_end(A, &one_cq);
	raw_open_end(B, &one_cq);
	rdma_wait_link(A->context);
	attr.send_cq = attr.recv_cq = B->recv_cq;
	assert_int_equal(rdmapmd_qp_create(B->pd, &attr, &rc), 0);
	raw_receive(B, 1, 4);
	for (i = 0; i < 2; i++) {
		send_frame(i, 100 + i);
		raw_expect(B, 1 + i, i, B->mac, ANY, i, 100 + i);
	}
	assert_int_equal(rdmapmd_qp_drain(rc), 0);
	assert_true(rdmapmd_qp_drain(B->qp) >= 2);
	rdma_expect_status(B->recv_cq, 3, RDMAPMD_WC_WR_FLUSH_ERR);
	rdma_expect_status(B->recv_cq, 4, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(rdmapmd_qp_destroy(rc), 0);
	raw_close();
}

/* ---- What goes wrong ---- */

/* What no MTU would allow fails; behind it all is flushed, and the receive side lives on. */
static void
test_a_failed_send_is_sqe(void **unused)
{
	unsigned int i;

	(void)unused;
	raw_frame(A, 0, B->mac, ANY, 1, 60);
	raw_send(A, 1, 60, 0);
	raw_send(A, 2, 20000, 0);
	raw_send(A, 3, 60, 0);
	raw_send(A, 4, 60, SIGNALED);
	rdma_expect_status(A->send_cq, 2, RDMAPMD_WC_LOC_LEN_ERR);
	expect_state(A, RDMAPMD_QPS_SQE);
	/* An answer of the device, which flushes as well: what is posted in SQE comes back. */
	raw_send(A, 5, 60, 0);
	assert_int_equal(change(A, RDMAPMD_QPS_RTS, 0), -EBUSY);
	for (i = 3; i <= 5; i++)
		rdma_expect_status(A->send_cq, i, RDMAPMD_WC_WR_FLUSH_ERR);
	/* It goes on receiving. */
	raw_receive(A, 7, 1);
	raw_frame(B, 0, A->mac, ANY, 7, 99);
	raw_send(B, 6, 99, SIGNALED);
	rdma_expect(B->send_cq, 6, RDMAPMD_WC_SEND);
	raw_expect(A, 7, 0, A->mac, ANY, 7, 99);
	/* Again and again. */
	for (i = 0; i < 3; i++) {
		assert_int_equal(change(A, RDMAPMD_QPS_RTS, 0), 0);
		expect_state(A, RDMAPMD_QPS_RTS);
		expect_alive();
		raw_send(A, 50 + i, 20000, SIGNALED);
		rdma_expect_status(A->send_cq, 50 + i, RDMAPMD_WC_LOC_LEN_ERR);
		expect_state(A, RDMAPMD_QPS_SQE);
	}
}

static void
test_a_key_of_another_pd(void **unused)
{
	struct rdmapmd_sge sge = raw_sge(A, RAW_TX, 60);
	struct rdmapmd_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = RDMAPMD_WR_SEND
	};
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;

	(void)unused;
	assert_int_equal(rdmapmd_pd_alloc(A->context, &pd), 0);
	assert_int_equal(rdmapmd_mr_reg(pd, A->memory, RAW_BYTES, RDMAPMD_ACCESS_LOCAL_WRITE, &mr),
			 0);
	raw_frame(A, 0, B->mac, ANY, 1, 60);
	sge.lkey = mr->lkey;
	rdma_post(A->qp, &wr);
	rdma_expect_status(A->send_cq, 1, RDMAPMD_WC_LOC_PROT_ERR);
	expect_state(A, RDMAPMD_QPS_SQE);
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(pd), 0);
}

/* The port drops it, as it drops the ethdev's. */
static void
test_a_frame_beyond_the_mtu(void **unused)
{
	(void)unused;
	raw_receive(B, 1, 2);
	send_frame(1, 1519);
	send_frame(2, 1518);
	raw_expect(B, 1, 0, B->mac, ANY, 2, 1518);
	expect_state(A, RDMAPMD_QPS_RTS);
}

/* The send side goes on until somebody asks for ERR; draining does. */
static void
test_a_frame_longer_than_its_receive(void **unused)
{
	const struct rdmapmd_sge small = raw_sge(B, RAW_RX, 99);
	struct rdmapmd_wc wc;

	(void)unused;
	rdma_post_recv(B->qp, 1, &small, 1);
	rdma_post_recv(B->qp, 2, &small, 1);
	rdma_post_recv(B->qp, 3, &small, 1);
	memset(B->memory + RAW_RX, RDMA_UNTOUCHED, RAW_PIECE);
	send_frame(1, 99);
	assert_int_equal(rdma_expect(B->recv_cq, 1, RDMAPMD_WC_RECV).byte_len, 99);
	send_frame(2, 100);
	wc = rdma_wait(B->recv_cq);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, RDMAPMD_WC_LOC_LEN_ERR);
	assert_int_equal(wc.qp_num, B->qp->qp_num);
	rdma_expect_status(B->recv_cq, 3, RDMAPMD_WC_WR_FLUSH_ERR);
	assert_int_equal(B->memory[RAW_RX + 99], RDMA_UNTOUCHED);
	expect_state(B, RDMAPMD_QPS_ERR);
	assert_int_equal(rdmapmd_qp_drain(B->qp), 0);
	raw_send(B, 4, 60, 0);
	rdma_expect_status(B->send_cq, 4, RDMAPMD_WC_WR_FLUSH_ERR);
	raw_to(B, RDMAPMD_QPS_RESET);
	bring_up(B);
	expect_alive();
}

/* None is posted: dropped and counted, and nothing is the worse for it. */
static void
test_no_receive_is_posted(void **unused)
{
	uint64_t before[32] = { 0 }, after[32] = { 0 };
	const char *names[32];
	int count, i;

	(void)unused;
	count = rdmapmd_counters_names(B->context, names, RTE_DIM(names));
	assert_true(count > 0 && count <= (int)RTE_DIM(names));
	assert_int_equal(rdmapmd_counters_read(B->context, 1, before, RTE_DIM(before)), count);
	send_frame(1, 60);
	send_frame(2, 60);
	expect_alive();
	assert_int_equal(rdmapmd_counters_read(B->context, 1, after, RTE_DIM(after)), count);
	for (i = 0; i < count; i++)
		if (strcmp(names[i], "out_of_buffer") == 0)
			assert_int_equal(after[i] - before[i], 2);
}

static void
test_draining_flushes_in_order(void **unused)
{
	struct rdmapmd_wc wc;
	unsigned int i;

	(void)unused;
	raw_receive(A, 100, 10);
	/* To nobody: there is no wire for them to wait for, so they may have gone or be flushed. */
	raw_frame(A, 0, (const uint8_t[]){ 2, 0, 0, 0, 0xcc, 1 }, ANY, 1, 60);
	for (i = 0; i < 8; i++)
		raw_send(A, i, 60, 0);
	assert_true(rdmapmd_qp_drain(A->qp) >= 10);
	for (i = 0; i < 10; i++)
		rdma_expect_status(A->recv_cq, 100 + i, RDMAPMD_WC_WR_FLUSH_ERR);
	while (rdmapmd_qp_drain(A->qp) > 0)
		if (rdmapmd_poll_cq(A->send_cq, &wc, 1) == 1)
			assert_int_equal(wc.status, RDMAPMD_WC_WR_FLUSH_ERR);
	expect_state(A, RDMAPMD_QPS_ERR);
	/* In ERR requests are taken, and come back in order. */
	for (i = 0; i < 4; i++)
		raw_send(A, 10 + i, 60, i % 2 ? SIGNALED : 0);
	raw_receive(A, 20, 4);
	for (i = 0; i < 4; i++)
		rdma_expect_status(A->send_cq, 10 + i, RDMAPMD_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++)
		rdma_expect_status(A->recv_cq, 20 + i, RDMAPMD_WC_WR_FLUSH_ERR);
	rdma_expect_nothing(A->recv_cq);
}

/* Whatever state asks for it, and addresses stay. */
static void
test_error_and_reset_from_each_state(void **unused)
{
	enum rdmapmd_qp_state from;

	(void)unused;
	for (from = RDMAPMD_QPS_RESET; from <= RDMAPMD_QPS_RTS; from++) {
		raw_to(B, RDMAPMD_QPS_RESET);
		if (from >= RDMAPMD_QPS_INIT) {
			raw_to(B, RDMAPMD_QPS_INIT);
			raw_receive(B, 1, 2);
		}
		if (from >= RDMAPMD_QPS_RTR)
			raw_to(B, RDMAPMD_QPS_RTR);
		if (from >= RDMAPMD_QPS_RTS)
			raw_to(B, RDMAPMD_QPS_RTS);
		raw_to(B, RDMAPMD_QPS_ERR);
		expect_state(B, RDMAPMD_QPS_ERR);
		if (from >= RDMAPMD_QPS_INIT) {
			rdma_expect_status(B->recv_cq, 1, RDMAPMD_WC_WR_FLUSH_ERR);
			rdma_expect_status(B->recv_cq, 2, RDMAPMD_WC_WR_FLUSH_ERR);
		}
		raw_to(B, RDMAPMD_QPS_ERR);
		raw_send(B, 3, 60, 0);
		rdma_expect_status(B->send_cq, 3, RDMAPMD_WC_WR_FLUSH_ERR);
	}
	raw_to(B, RDMAPMD_QPS_RESET);
	bring_up(B);
	expect_alive();
}

/* What waits in the CQs is of a life before. */
static void
test_reset_forgets(void **unused)
{
	unsigned int i;

	(void)unused;
	raw_receive(B, 1, 3);
	send_frame(1, 60);
	for (i = 0; i < 5; i++)
		raw_send(A, 10 + i, 60, SIGNALED);
	rte_delay_us_sleep(5000);
	raw_to(A, RDMAPMD_QPS_RESET);
	raw_to(B, RDMAPMD_QPS_RESET);
	rdma_expect_nothing(A->send_cq);
	rdma_expect_nothing(B->recv_cq);
	bring_up(A);
	bring_up(B);
	expect_alive();
}

/* A queue that has wrapped, left half full, begins anew. */
static void
test_many_lives(void **unused)
{
	unsigned int life, i;

	(void)unused;
	for (life = 0; life < 20; life++) {
		raw_receive(B, 0, RAW_DEPTH);
		for (i = 0; i < 5 + life % 7; i++) {
			send_frame(i, 60 + life);
			raw_expect(B, i, i, B->mac, ANY, i, 60 + life);
		}
		raw_to(B, RDMAPMD_QPS_RESET);
		raw_to(A, RDMAPMD_QPS_RESET);
		bring_up(A);
		bring_up(B);
	}
	expect_alive();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, raw_setup, raw_teardown)

int
main(int argc, char **argv)
{
	const char *const *vdevs = (const char *const[]){ "net_rnic0,wire=pair:cable",
							  "net_rnic1,wire=pair:cable", NULL };
	const struct CMUnitTest tests[] = {
		TEST(test_what_each_state_takes),
		TEST(test_changes_that_are_not_legal),
		TEST(test_queue_pairs_that_cannot_be),
		cmocka_unit_test(test_one_direction_is_enough),
		cmocka_unit_test(test_one_cq_for_all),
		TEST(test_a_failed_send_is_sqe),
		TEST(test_a_key_of_another_pd),
		TEST(test_a_frame_beyond_the_mtu),
		TEST(test_a_frame_longer_than_its_receive),
		TEST(test_no_receive_is_posted),
		TEST(test_draining_flushes_in_order),
		TEST(test_error_and_reset_from_each_state),
		TEST(test_reset_forgets),
		TEST(test_many_lives),
	};
	int rc;

	if (argc > 1)
		vdevs = (const char *const *)&argv[1];
	if (e2e_init("raw-error", vdevs) != 0)
		return 1;
	/* No ethdev is started: the contexts keep the link up. */
	raw_find_ports();
	rc = cmocka_run_group_tests_name("raw_error", tests, NULL, NULL);
	raw_free();
	e2e_fini();
	return rc;
}
