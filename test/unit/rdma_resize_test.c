/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion queues of another size, moderated events, and counters: commands byte for byte, and entries that are in the
 * old ring while the device goes on in the new one.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "object/q_counter.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "rdma/cq.h"
#include "rdma/qps.h"
#include "rdma/rdma.h"
#include "rdma_commands.h"

#define LOG_SIZE 3

/* The CQ of a test, the number of entries that the device has written, and what it does during a change of the size. */
static struct rnic_rdma_cq *cq;
static struct rnic_cqe *old_ring;
static uint32_t produced, late;
static uint8_t new_log_size;

static void
write_entry(struct rnic_cqe *ring, uint8_t log_size, enum rnic_cqe_opcode opcode, uint16_t counter)
{
	const uint32_t index = produced++;

	ring[index & ((1u << log_size) - 1)] = (struct rnic_cqe){
		.sop_drop_qpn = rnic_cpu_to_be32(RINGS_QPN),
		.wqe_counter = rnic_cpu_to_be16(counter),
		.op_own = RNIC_CQE_OP_OWN(opcode, index >> log_size & 1),
	};
}

/* As the manual has it: an entry that ends the old ring, then on in the new one, with the next number. */
static void
resize_in_device(const struct command *command)
{
	uint32_t i;

	if (command->opcode != RNIC_CMD_MODIFY_CQ)
		return;
	write_entry(old_ring, LOG_SIZE, RNIC_CQE_RESIZE, 0);
	for (i = 0; i < late; i++)
		write_entry(commands_memory, new_log_size, RNIC_CQE_REQUESTER, (uint16_t)(3 + i));
}

static int
setup(void **state)
{
	const struct rdmapmd_cq_layout layout = { .log_size = LOG_SIZE };
	struct world *world;

	assert_int_equal(commands_setup_bare(state), 0);
	world = *state;
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_CQ_RESIZE, 1);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_CQ_MODERATION, 1);
	cq = calloc(1, sizeof(*cq));
	assert_non_null(cq);
	cq->cq.context = &world->context;
	assert_int_equal(rnic_rdma_cq_create(&cq->cq, &layout), 0);
	assert_int_equal(rnic_rdma_qps_add(cq, &world->rings->qp), 0);
	world->rings->qp.qp.send_cq = &cq->cq;
	old_ring = cq->ring.ring;
	produced = late = 0;
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(rnic_rdma_cq_destroy(&cq->cq), 0);
	free(cq);
	return commands_teardown(state);
}

static void
post(struct world *world, uint64_t wr_id)
{
	const struct rdmapmd_send_wr nop = { .wr_id = wr_id,
					     .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };

	assert_int_equal(rings_post(world->rings, &nop, 1), 1);
}

static int
poll_one(void)
{
	struct rdmapmd_wc wc;

	return rdmapmd_poll_cq(&cq->cq, &wc, 1) == 1 ? (int)wc.wr_id : -1;
}

/* ---- Another size ---- */

/* From `start` on: three requests completed, one of them polled, then the change, then `late` more. */
static void
resize(struct world *world, uint32_t start, uint8_t log_size)
{
	uint32_t i;

	rings_start_at(world->rings, 0, 0);
	cq->ring.consumer = produced = start;
	for (i = 0; i <= cq->ring.mask; i++)
		cq->ring.ring[i].op_own = RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1);
	for (i = 0; i < 3; i++)
		post(world, 100 + i);
	for (i = 0; i < 3; i++)
		write_entry(cq->ring.ring, cq->ring.log_size, RNIC_CQE_REQUESTER, (uint16_t)i);
	assert_int_equal(poll_one(), 100);
	old_ring = cq->ring.ring;
	new_log_size = log_size;
	commands_during = resize_in_device;
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, log_size), 0);
	commands_during = NULL;
	for (i = 0; i < late; i++)
		post(world, 103 + i);
}

static void
test_entries_survive_another_size(void **state)
{
	static const uint32_t starts[] = { 0, 5, 6, 7, 8, 0xfffffd, UINT32_MAX - 2 };
	struct world *world = *state;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(starts); i++) {
		late = i % 3;
		resize(world, starts[i], LOG_SIZE + 2);
		assert_int_equal(cq->ring.mask, (8 << 2) - 1);
		for (k = 1; k < 3 + late; k++)
			assert_int_equal(poll_one(), 100 + k);
		assert_int_equal(poll_one(), -1);
		assert_int_equal(cq->ring.consumer, produced);
		/* Back again, for the next round. */
		commands_during = NULL;
		assert_int_equal(rnic_rdma_cq_resize(&cq->cq, LOG_SIZE), 0);
	}
	assert_int_equal(cq->unmatched, 0);
}

static void
test_a_smaller_ring(void **state)
{
	struct world *world = *state;

	late = 1;
	resize(world, 6, 2);
	assert_int_equal(poll_one(), 101);
	assert_int_equal(poll_one(), 102);
	assert_int_equal(poll_one(), 103);
	assert_int_equal(poll_one(), -1);
}

static void
test_the_command_of_another_size(void **state)
{
	const uint8_t *in;

	(void)state;
	commands_count = 0;
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, 7), 0);
	/* 8 KiB of ring; log_cq_size, log_page_size and page_offset are what changes. */
	in = commands_expect(0, RNIC_CMD_MODIFY_CQ, 0x110 + 2 * 8);
	assert_int_equal(commands[0].op_mod, 1);
	rings_assert_bytes(in + 8, "00000123 00000007");
	rings_assert_bytes(in + 0x1c, "07000000");
	rings_assert_bytes(in + 0x110, "00000001 23456000 00000001 23457000");
}

static void
test_more_wait_than_would_fit(void **state)
{
	struct world *world = *state;
	unsigned int i;

	for (i = 0; i < 4; i++)
		post(world, i);
	for (i = 0; i < 4; i++)
		write_entry(cq->ring.ring, LOG_SIZE, RNIC_CQE_REQUESTER, (uint16_t)i);
	commands_count = 0;
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, 2), -EINVAL);
	assert_int_equal(commands_count, 0);
	assert_int_equal(poll_one(), 0);
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, 2), 0);
}

static void
test_a_refused_size_changes_nothing(void **state)
{
	struct world *world = *state;
	const unsigned int before = commands_resources();

	post(world, 42);
	write_entry(cq->ring.ring, LOG_SIZE, RNIC_CQE_REQUESTER, 0);
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, 5), -EINVAL);
	assert_int_equal(commands_resources(), before);
	assert_int_equal(poll_one(), 42);
	/* More than the device has, and a device that cannot. */
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, 11), -EINVAL);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_CQ_RESIZE, 0);
	assert_int_equal(rnic_rdma_cq_resize(&cq->cq, 5), -ENOTSUP);
}

/* ---- Moderation ---- */

static void
test_moderation(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	commands_count = 0;
	assert_int_equal(rnic_rdma_cq_moderate(&cq->cq, 0x4567, 0x123), 0);
	in = commands_expect(0, RNIC_CMD_MODIFY_CQ, 0x110);
	assert_int_equal(commands[0].op_mod, 0);
	rings_assert_bytes(in + 8, "00000123 00000003");
	rings_assert_bytes(in + 0x20, "01234567");
	/* The period has 12 bits. */
	assert_int_equal(rnic_rdma_cq_moderate(&cq->cq, 1, 0x1000), -EINVAL);
	assert_int_equal(rnic_rdma_cq_moderate(&cq->cq, 0, 0xfff), 0);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_CQ_MODERATION, 0);
	assert_int_equal(rnic_rdma_cq_moderate(&cq->cq, 1, 1), -ENOTSUP);
	assert_int_equal(commands_count, 2);
}

/* ---- Counters ---- */

static unsigned int
counter_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < RNIC_Q_COUNTERS; i++)
		if (strcmp(rnic_q_counter_names[i], name) == 0)
			return i;
	fail_msg("no counter %s", name);
	return 0;
}

static void
test_counters_have_the_names_of_rdma_statistic(void **state)
{
	static const struct {
		const char *name;
		unsigned int offset;
	} counters[] = {
		{ "rx_write_requests", 0x10 },
		{ "rx_read_requests", 0x18 },
		{ "rx_atomic_requests", 0x20 },
		{ "rx_dct_connect", 0x28 },
		{ "out_of_buffer", 0x30 },
		{ "out_of_sequence", 0x38 },
		{ "duplicate_request", 0x40 },
		{ "rnr_nak_retry_err", 0x48 },
		{ "packet_seq_err", 0x50 },
		{ "implied_nak_seq_err", 0x58 },
		{ "local_ack_timeout_err", 0x60 },
		{ "resp_local_length_error", 0x78 },
		{ "resp_cqe_error", 0x90 },
		{ "req_cqe_error", 0x94 },
		{ "req_remote_invalid_request", 0xa0 },
		{ "req_remote_access_errors", 0xa8 },
		{ "resp_remote_access_errors", 0xac },
		{ "resp_cqe_flush_error", 0xbc },
		{ "req_cqe_flush_error", 0xc0 },
	};
	struct world *world = *state;
	uint64_t values[RNIC_Q_COUNTERS];
	unsigned int i;

	memset(commands_answer, 0, sizeof(commands_answer));
	commands_answer[0x0b] = 0x5b;
	assert_int_equal(rnic_q_counters_setup(&world->dev), 0);
	for (i = 0; i < RTE_DIM(counters); i++)
		commands_answer[counters[i].offset + 3] = (uint8_t)(1 + i);
	commands_count = 0;
	assert_int_equal(rnic_q_counters_read(&world->dev, values), 0);
	rings_assert_bytes(commands_expect(0, RNIC_CMD_QUERY_Q_COUNTER, 0x20) + 0x18,
			   "00000000 0000005b");
	for (i = 0; i < RTE_DIM(counters); i++)
		assert_int_equal(values[counter_of(counters[i].name)], 1 + i);
	assert_null(rnic_q_counter_names[RTE_DIM(counters)]);
	rnic_q_counters_teardown(&world->dev);
	rings_assert_bytes(commands_expect(1, RNIC_CMD_DEALLOC_Q_COUNTER, 0x10) + 8, "0000005b");
}

static void
test_counters_wrap_at_32_bits_and_go_on(void **state)
{
	const unsigned int i = counter_of("out_of_sequence");
	struct world *world = *state;
	uint64_t values[RNIC_Q_COUNTERS];

	assert_int_equal(rnic_q_counters_setup(&world->dev), 0);
	memset(commands_answer + 0x38, 0xff, 4);
	assert_int_equal(rnic_q_counters_read(&world->dev, values), 0);
	assert_int_equal(values[i], UINT32_MAX);
	memset(commands_answer + 0x38, 0, 4);
	assert_int_equal(rnic_q_counters_read(&world->dev, values), 0);
	assert_true(values[i] == UINT64_C(1) << 32);
	/* One that cannot be read is as it was. */
	commands_refused_at = commands_count + 1;
	assert_int_equal(rnic_q_counters_read(&world->dev, values), -EINVAL);
	assert_int_equal(rnic_q_counters_read(&world->dev, values), 0);
	assert_true(values[i] == UINT64_C(1) << 32);
	rnic_q_counters_teardown(&world->dev);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_entries_survive_another_size),
	TEST(test_a_smaller_ring),
	TEST(test_the_command_of_another_size),
	TEST(test_more_wait_than_would_fit),
	TEST(test_a_refused_size_changes_nothing),
	TEST(test_moderation),
	TEST(test_counters_have_the_names_of_rdma_statistic),
	TEST(test_counters_wrap_at_32_bits_and_go_on),
};

PLAIN_MAIN("rdma_resize", tests)
