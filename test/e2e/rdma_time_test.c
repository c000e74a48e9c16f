/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion timestamps: of every kind of queue pair, in both directions, against the device's clock. With "none" behind the
 * devargs: of a device that has none.
 */

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "rdma.h"

#define ROUNDS	16
#define MESSAGE 100u
#define SEND	1 /* wr_id */
#define RECEIVE 2

static struct rdma_pair pair;
static const struct rdma_conf plain = { 0 };
static const struct rdma_conf timed = { .wc_flags = RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP };

static int
open_plain(void **unused)
{
	(void)unused;
	rdma_open(&pair, &plain);
	return 0;
}

static int
open_timed(void **unused)
{
	(void)unused;
	rdma_open(&pair, &timed);
	return 0;
}

static int
close_pair(void **unused)
{
	(void)unused;
	rdma_close(&pair);
	return 0;
}

static uint64_t
clock_now(void)
{
	uint64_t clock;

	assert_int_equal(rdmapmd_device_clock_read(pair.context, &clock), 0);
	return clock;
}

static struct rdmapmd_device_attr
device(void)
{
	struct rdmapmd_device_attr attr;

	assert_int_equal(rdmapmd_device_query(pair.context, &attr), 0);
	return attr;
}

/* ---- Of requests that succeed ---- */

/* The times of one CQ, one after the other. */
struct times {
	uint64_t first, last;
	unsigned int count, fresh;
};

/* Of a request that was posted at `before` or later. */
static void
note(struct times *times, const struct rdmapmd_wc *wc, uint64_t before)
{
	assert_true(wc->completion_ts >= times->last);
	assert_true(wc->completion_ts <= clock_now());
	if (times->count++ == 0)
		times->first = wc->completion_ts;
	times->last = wc->completion_ts;
	/* Of the poll in which the device did it, which had not begun much before: 100 ms. */
	times->fresh += wc->completion_ts + 100 * (uint64_t)device().hca_core_clock > before;
}

static void
assert_plausible(const struct times *times)
{
	assert_true(times->count >= ROUNDS);
	assert_true(times->last > times->first);
	/* A device thread may lose its CPU in a poll, but not in each of them. */
	assert_true(times->fresh > times->count / 2);
}

static void
carry_out(struct times *sends, struct times *receives, struct rdmapmd_qp *from,
	  struct rdmapmd_qp *to, const struct rdmapmd_send_wr *wr, enum rdmapmd_wc_opcode opcode)
{
	const struct rdmapmd_sge room = rdma_sge(&pair, RDMA_HALF, 4096);
	struct rdmapmd_wc wc;
	uint64_t before;

	if (to != NULL)
		rdma_post_recv(to, RECEIVE, &room, 1);
	before = clock_now();
	rdma_post(from, wr);
	wc = rdma_expect(pair.cq[0], SEND, opcode);
	note(sends, &wc, before);
	if (to == NULL)
		return;
	wc = rdma_wait(pair.cq[1]);
	assert_int_equal(wc.wr_id, RECEIVE);
	assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
	note(receives, &wc, before);
}

static void
test_requests_and_what_arrives(void **unused)
{
	static const struct {
		enum rdmapmd_wr_opcode posted;
		enum rdmapmd_wc_opcode completed;
		bool arrives, atomic;
	} kinds[] = {
		{ RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WC_RDMA_WRITE, false, false },
		{ RDMAPMD_WR_RDMA_WRITE_WITH_IMM, RDMAPMD_WC_RDMA_WRITE, true, false },
		{ RDMAPMD_WR_SEND, RDMAPMD_WC_SEND, true, false },
		{ RDMAPMD_WR_SEND_WITH_IMM, RDMAPMD_WC_SEND, true, false },
		{ RDMAPMD_WR_RDMA_READ, RDMAPMD_WC_RDMA_READ, false, false },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, RDMAPMD_WC_FETCH_ADD, false, true },
		{ RDMAPMD_WR_NOP, RDMAPMD_WC_NOP, false, false },
	};
	const struct rdmapmd_sge sge = rdma_sge(&pair, 0, 8);
	struct times sends = { 0 }, receives = { 0 };
	unsigned int i, round;

	(void)unused;
	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < RTE_DIM(kinds); i++) {
			const struct rdmapmd_send_wr wr =
				rdma_request(&pair, kinds[i].posted, SEND,
					     kinds[i].posted == RDMAPMD_WR_NOP ? NULL : &sge);

			if (kinds[i].atomic && !rdma_has_atomics(pair.context))
				continue;
			carry_out(&sends, &receives, pair.qp[0],
				  kinds[i].arrives ? pair.qp[1] : NULL, &wr, kinds[i].completed);
		}
	assert_plausible(&sends);
	assert_plausible(&receives);
}

static struct rdmapmd_qp *
make_qp(enum rdmapmd_qp_type type)
{
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = pair.cq[0],
		.recv_cq = pair.cq[1],
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct rdmapmd_qp *qp;

	assert_int_equal(rdmapmd_qp_create(pair.pd, &attr, &qp), 0);
	return qp;
}

static void
test_datagrams(void **unused)
{
	struct rdmapmd_qp *qp = make_qp(RDMAPMD_QPT_UD);
	const struct rdmapmd_sge sge = rdma_sge(&pair, 0, MESSAGE);
	struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, SEND, &sge);
	struct rdmapmd_ah_attr path = { .hop_limit = 64, .port_num = 1 };
	struct times sends = { 0 }, receives = { 0 };
	struct rdmapmd_gid_entry own;
	struct rdmapmd_ah *ah;
	unsigned int round;

	(void)unused;
	assert_int_equal(rdmapmd_gid_query(pair.context, 1, 0, &own), 0);
	path.dgid = own.gid;
	memcpy(path.dmac, own.mac, sizeof(path.dmac));
	assert_int_equal(rdmapmd_ah_create(pair.pd, &path, &ah), 0);
	rdma_connect_to(qp, 0, &own.gid, &plain);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = RDMA_QKEY;
	for (round = 0; round < ROUNDS; round++)
		carry_out(&sends, &receives, qp, qp, &wr, RDMAPMD_WC_SEND);
	assert_plausible(&sends);
	assert_plausible(&receives);
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
}

/* Of a device with two clocks the ethdev's receive queues have the other one. */
static void
test_frames(void **unused)
{
	static const uint8_t mine[6] = { 2, 0, 0, 0, 0xaa, 1 };
	struct rdmapmd_qp *qp = make_qp(RDMAPMD_QPT_RAW_PACKET);
	const struct rdmapmd_sge sge = rdma_sge(&pair, 0, MESSAGE);
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, SEND, &sge);
	const struct rdmapmd_qp_attr init = { .qp_state = RDMAPMD_QPS_INIT, .port_num = 1 };
	struct times sends = { 0 }, receives = { 0 };
	unsigned int round;

	(void)unused;
	assert_int_equal(rdmapmd_qp_modify(qp, &init, RDMAPMD_QP_STATE | RDMAPMD_QP_PORT), 0);
	rdma_to(qp, RDMAPMD_QPS_RTR);
	rdma_to(qp, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_qp_attach_mac(qp, mine, RDMAPMD_VLAN_ANY), 0);
	memset(pair.memory, 0xff, MESSAGE);
	memcpy(pair.memory, mine, sizeof(mine));
	for (round = 0; round < ROUNDS; round++)
		carry_out(&sends, &receives, qp, qp, &wr, RDMAPMD_WC_SEND);
	assert_plausible(&sends);
	assert_plausible(&receives);
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
}

/* ---- Of others ---- */

static void
expect_failure(struct rdmapmd_cq *cq, uint64_t wr_id, enum rdmapmd_wc_status status)
{
	const struct rdmapmd_wc wc = rdma_wait(cq);

	assert_int_equal(wc.wr_id, wr_id);
	assert_string_equal(rdmapmd_wc_status_str((enum rdmapmd_wc_status)wc.status),
			    rdmapmd_wc_status_str(status));
	assert_true(wc.completion_ts == 0);
}

static void
test_failures_have_no_time(void **unused)
{
	const struct rdmapmd_sge from = rdma_sge(&pair, 0, 200);
	const struct rdmapmd_sge to = rdma_sge(&pair, RDMA_HALF, 199);
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_SEND, SEND, &from);
	const struct rdmapmd_send_wr next = rdma_request(&pair, RDMAPMD_WR_NOP, SEND + 1, NULL);

	(void)unused;
	rdma_post_recv(pair.qp[1], RECEIVE, &to, 1);
	rdma_post_recv(pair.qp[1], RECEIVE + 1, &to, 1);
	rdma_post(pair.qp[0], &wr);
	rdma_post(pair.qp[0], &next);
	expect_failure(pair.cq[0], SEND, RDMAPMD_WC_REM_INV_REQ_ERR);
	expect_failure(pair.cq[0], SEND + 1, RDMAPMD_WC_WR_FLUSH_ERR);
	expect_failure(pair.cq[1], RECEIVE, RDMAPMD_WC_LOC_LEN_ERR);
	expect_failure(pair.cq[1], RECEIVE + 1, RDMAPMD_WC_WR_FLUSH_ERR);
}

static void
test_queues_that_were_not_asked_for_it(void **unused)
{
	const struct rdmapmd_send_wr wr = rdma_request(&pair, RDMAPMD_WR_NOP, SEND, NULL);

	(void)unused;
	rdma_post(pair.qp[0], &wr);
	assert_true(rdma_expect(pair.cq[0], SEND, RDMAPMD_WC_NOP).completion_ts == 0);
}

/* ---- The clock ---- */

static uint64_t
system_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
test_the_clock_is_as_fast_as_the_device_says(void **unused)
{
	uint64_t outer = system_ns(), clock = clock_now(), inner = system_ns(), ns;

	(void)unused;
	rte_delay_us_sleep(20000);
	inner = system_ns() - inner;
	clock = (clock_now() - clock) & device().completion_timestamp_mask;
	outer = system_ns() - outer;
	ns = clock * 1000000 / device().hca_core_clock;
	/* Two clocks need not agree to the last digit. */
	assert_in_range(ns, inner - inner / 100, outer + outer / 100);
}

/* ---- Devices without ---- */

static void
test_a_device_that_has_none(void **unused)
{
	const struct rdmapmd_cq_init_attr attr = {
		.cqe = 1, .wc_flags = RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP
	};
	struct rdmapmd_cq *cq;

	(void)unused;
	assert_true(device().completion_timestamp_mask == 0);
	assert_int_equal(rdmapmd_cq_create(pair.context, &attr, &cq), -ENOTSUP);
	/* All else goes on. */
	test_queues_that_were_not_asked_for_it(NULL);
}

#define TEST(name)	 cmocka_unit_test_setup_teardown(name, open_timed, close_pair)
#define PLAIN_TEST(name) cmocka_unit_test_setup_teardown(name, open_plain, close_pair)

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_requests_and_what_arrives),
		TEST(test_datagrams),
		TEST(test_frames),
		TEST(test_failures_have_no_time),
		PLAIN_TEST(test_queues_that_were_not_asked_for_it),
		PLAIN_TEST(test_the_clock_is_as_fast_as_the_device_says),
	};
	static const struct CMUnitTest none[] = { PLAIN_TEST(test_a_device_that_has_none) };
	char vdev[256];
	const char *const vdevs[] = { vdev, NULL };
	int rc;

	e2e_port_spec(vdev, sizeof(vdev), 0, argc > 1 ? argv[1] : "wire=loop");
	if (e2e_init("rdma-time", vdevs) != 0)
		return 1;
	rdma_device = e2e_port_name(0);
	if (argc > 2 && strcmp(argv[2], "none") == 0)
		rc = cmocka_run_group_tests_name("rdma_time", none, NULL, NULL);
	else
		rc = cmocka_run_group_tests_name("rdma_time", tests, NULL, NULL);
	rdma_free(&pair);
	e2e_fini();
	return rc;
}
