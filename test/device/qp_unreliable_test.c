/* SPDX-License-Identifier: BSD-3-Clause */

/* Unreliable connections through a device. */
#include "qp_world.h"
/* Counters are of the inside. */
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

static struct qw_two *
open_two(const struct qw_conf *conf)
{
	struct qw_two *two = qw_two_open(conf);
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);

	a.st = b.st = RNIC_QP_ST_UC;
	qw_two_more(two, &two->a, &a, &two->b, &b, &attr);
	qw_fill(two->out, 65536, 1);
	return two;
}

static int
setup(void **state)
{
	*state = open_two(&(struct qw_conf){ .pair = true });
	return 0;
}

static const struct softrnic_stats *
stats_of_b(const struct qw_two *two)
{
	return &two->b.end->dp.dev->stats;
}

/* The next completion of b's receives: so many bytes, from the peer's number, at `in`. */
static const struct rnic_cqe *
check_received(struct qw_two *two, enum rnic_cqe_opcode opcode, uint16_t counter, uint32_t bytes)
{
	const struct rnic_cqe *cqe = qw_expect(&two->b_recv, opcode, counter, two->b.qpn);

	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), bytes);
	assert_int_equal(rnic_be32_to_cpu(cqe->flags_rqpn), two->a.qpn);
	return cqe;
}

/* Over each wire, elided or as bytes. */
static void
test_each_wire(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 64, 1023, 1024, 1025, 65536 };

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		const struct qw_conf conf = { .pair = (i & 1) != 0,
					      .bytes = (i & 2) != 0,
					      .ipv6 = (i & 4) != 0 };
		struct qw_two *two = open_two(&conf);
		uint16_t sent = 0, received = 0;

		for (unsigned int n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
			const uint32_t bytes = lengths[n];

			memset(two->in, 0, 65536 + 1);
			qw_recv(&two->b, two->in, 65536);
			qw_execute(two, RNIC_WQE_SEND, two->out, bytes, NULL);
			qw_done(two, sent++);
			check_received(two, RNIC_CQE_RESPONDER_SEND, received++, bytes);
			assert_memory_equal(two->in, two->out, bytes);

			memset(two->in, 0, 65536 + 1);
			qw_recv(&two->b, two->out + 70000, 8);
			qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE_IMM, two->out, bytes, two->in,
			       two->b.end->key, RNIC_WQE_CE_ALWAYS)
				->immediate = rnic_cpu_to_be32(0x12345678);
			qw_go(two);
			qw_done(two, sent++);
			assert_int_equal(
				rnic_be32_to_cpu(check_received(two, RNIC_CQE_RESPONDER_WRITE_IMM,
								received++, bytes)
							 ->immediate),
				0x12345678);
			assert_memory_equal(two->in, two->out, bytes);
			assert_int_equal(two->in[bytes], 0);
		}
		/* Not one packet goes back. */
		if (conf.pair)
			assert_int_equal(dp_stats(&two->b.end->dp).tx_packets, 0);
		qw_two_close(two);
	}
}

static void
test_plain_write_tells_nobody(void **state)
{
	struct qw_two *two = *state;

	qw_recv(&two->b, two->in + 4096, 64);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 2000, two->in);
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, 2000);
	qw_expect_nothing(&two->b_recv);
}

/* With packets lost and overtaken: what completes is whole. */
static void
test_bad_wire(void **state)
{
	uint32_t whole = 0;

	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		struct qw_two *two = open_two(&(struct qw_conf){ .pair = true,
								 .bytes = bytes != 0,
								 .seed = 77,
								 .drop_ppm = 100000,
								 .corrupt_ppm = 50000,
								 .reorder_ppm = 50000 });
		uint16_t received = 0;
		const struct rnic_cqe *cqe;

		qw_recv(&two->b, two->in, 8192);
		for (uint16_t i = 0; i < 400; i++) {
			qw_fill(two->out, 5000, i);
			qw_execute(two, RNIC_WQE_SEND, two->out, 5000, NULL);
			qw_done(two, i);
			cqe = dp_cq_next(&two->b_recv);
			if (cqe == NULL)
				continue;
			assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND);
			assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), received++);
			assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), 5000);
			assert_memory_equal(two->in, two->out, 5000);
			qw_recv(&two->b, two->in, 8192);
		}
		assert_true(received > 50 && received < 400);
		whole += bytes == 0 ? received : (uint32_t)-received;
		assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_RTS);
		qw_two_close(two);
	}
	/* Descriptors and frames meet the same fate. */
	assert_int_equal(whole, 0);
}

/* What the type has not; the queue pair goes on receiving. */
static void
test_requests_that_are_none(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_READ, RNIC_WQE_ATOMIC_FA,
					   RNIC_WQE_SEND_INVAL };

	(void)state;
	for (unsigned int i = 0; i < sizeof(opcodes); i++) {
		struct qw_two *two = open_two(&(struct qw_conf){ .pair = true });

		qw_execute(two, opcodes[i], two->out, 8, two->in);
		qw_failed(two, 0, RNIC_SYND_LOCAL_QP_OPERATION);
		assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_SQER);
		qw_recv(&two->a, two->out + 4096, 64);
		qw_post(&two->b, &two->a, RNIC_WQE_SEND, two->in, 8, NULL);
		qw_run(&two->qw);
		qw_expect(&two->a_recv, RNIC_CQE_RESPONDER_SEND, 0, two->a.qpn);
		qw_qp_to(&two->a, RNIC_CMD_SQERR2RTS_QP);
		qw_recv(&two->b, two->in, 64);
		qw_execute(two, RNIC_WQE_SEND, two->out, 8, NULL);
		check_received(two, RNIC_CQE_RESPONDER_SEND, 0, 8);
		qw_two_close(two);
	}
}

/* A SEND that is too long, a WRITE by a key that there is not: dropped, and counted. */
static void
test_what_may_not_be(void **state)
{
	struct qw_two *two = *state;
	const struct roce_counters *counters = &two->b.end->dp.dev->roce_counters;

	qw_recv(&two->b, two->in, 63);
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	assert_int_equal(counters->resp_local_length_error, 1);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE_IMM, two->out, 8, two->in, two->b.end->key ^ 1,
	       RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	assert_int_equal(counters->resp_remote_access_errors, 1);
	qw_expect_nothing(&two->b_recv);
	qw_execute(two, RNIC_WQE_SEND, two->out, 63, NULL);
	check_received(two, RNIC_CQE_RESPONDER_SEND, 0, 63);
	qw_execute(two, RNIC_WQE_SEND, two->out, 63, NULL);
	assert_int_equal(counters->out_of_buffer, 1);
	for (uint16_t i = 0; i < 4; i++)
		qw_done(two, i);
	assert_int_equal(qw_event(two->b.end, NULL), 0);
}

/* By its path alone, and by its own transport. */
static void
test_strangers(void **state)
{
	struct qw_two *two = *state;
	struct roce_pkt pkt = { .opcode = ROCE_OPCODE(ROCE_TRANSPORT_UC, ROCE_SEND_ONLY),
				.dest_qpn = two->b.qpn,
				.psn = qw_attr().psn };
	struct rocev2_frame head = { .pkey = 0xffff, .mig_req = true };
	struct softrnic_roce_frame frame = { .pkt = &pkt, .head = &head };
	struct softrnic *dev = two->b.end->dp.dev;

	qw_recv(&two->b, two->in, 64);
	memcpy(head.smac, two->a.end->mac, 6);
	memcpy(head.dmac, two->b.end->mac, 6);
	memcpy(head.sgid, two->a.end->gid, 16);
	memcpy(head.dgid, two->b.end->gid, 16);
	frame.bytes = rocev2_frame_bytes(&head, &pkt);
	softrnic_lock(two->qw.poller);
	head.sgid[15] ^= 0x80;
	softrnic_roce_receive(dev, &frame);
	head.sgid[15] ^= 0x80;
	pkt.opcode = ROCE_SEND_ONLY;
	softrnic_roce_receive(dev, &frame);
	pkt.opcode = ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY);
	softrnic_roce_receive(dev, &frame);
	softrnic_unlock(two->qw.poller);
	assert_int_equal(stats_of_b(two)->roce_source_errors, 1);
	assert_int_equal(stats_of_b(two)->roce_dropped, 2);
	qw_expect_nothing(&two->b_recv);
	softrnic_lock(two->qw.poller);
	pkt.opcode = ROCE_OPCODE(ROCE_TRANSPORT_UC, ROCE_SEND_ONLY);
	softrnic_roce_receive(dev, &frame);
	softrnic_unlock(two->qw.poller);
	check_received(two, RNIC_CQE_RESPONDER_SEND, 0, 0);
}

/* Posted before the queue pair goes to SQD: it ends what has begun, and tells. */
static void
test_drained(void **state)
{
	struct qw_two *two = *state;

	qw_qp_to(&two->a, RNIC_CMD_RTS2SQD_QP);
	qw_run(&two->qw);
	qw_expect_event(two->a.end, RNIC_EVENT_SQ_DRAINED, two->a.qpn);
	qw_recv(&two->b, two->in, 64);
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	qw_expect_nothing(&two->b_recv);
	qw_qp_to(&two->a, RNIC_CMD_SQD_RTS_QP);
	qw_run(&two->qw);
	check_received(two, RNIC_CQE_RESPONDER_SEND, 0, 64);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_wire),
		T(test_plain_write_tells_nobody),
		cmocka_unit_test(test_bad_wire),
		cmocka_unit_test(test_requests_that_are_none),
		T(test_what_may_not_be),
		T(test_strangers),
		T(test_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
