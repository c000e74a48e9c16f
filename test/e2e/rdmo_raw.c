/* SPDX-License-Identifier: BSD-3-Clause */

#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "rdmo/control.h"
#include "rdmo/end.h"
#include "rdmo/socket.h"
#include "rdmo_raw.h"

struct rdmo_raw rdmo_raw;

static void
receive_post(uint32_t i)
{
	const struct rdmapmd_sge sge = { (uintptr_t)rdmo_raw.memory + i * RDMO_RAW_BYTES,
					 RDMO_RAW_BYTES, rdmo_raw.mr->lkey };
	const struct rdmapmd_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(rdmapmd_post_recv(rdmo_raw.qp, &wr, 1), 1);
}

/* All but whom it is connected to, and how it is to be reached. */
static void
raw_create(uint32_t receives, struct rdmo_addr *own)
{
	const struct rdmapmd_cq_init_attr cq = { .cqe = 128 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = RDMO_RAW_RECEIVES, .max_send_sge = 1 },
	};

	rdmo_raw.memory = rte_zmalloc("raw", (RDMO_RAW_RECEIVES + 1) * RDMO_RAW_BYTES, 4096);
	assert_non_null(rdmo_raw.memory);
	assert_int_equal(rdmapmd_mr_reg(world.pd[1], rdmo_raw.memory,
					(RDMO_RAW_RECEIVES + 1) * RDMO_RAW_BYTES,
					RDMAPMD_ACCESS_LOCAL_WRITE, &rdmo_raw.mr),
			 0);
	assert_int_equal(rdmapmd_cq_create(world.context[1], &cq, &rdmo_raw.cq), 0);
	assert_int_equal(rdmapmd_cq_create(world.context[1], &cq, &rdmo_raw.send_cq), 0);
	attr.send_cq = rdmo_raw.send_cq;
	attr.recv_cq = rdmo_raw.cq;
	assert_int_equal(rdmapmd_qp_create(world.pd[1], &attr, &rdmo_raw.qp), 0);
	assert_int_equal(rdmo_end_prepare(rdmo_raw.qp), 0);
	for (uint32_t i = 0; i < receives; i++)
		receive_post(i);
	assert_int_equal(rdmo_end_tell(world.context[1], 0, rdmo_raw.qp->qp_num, RDMO_RAW_RECEIVES,
				       RDMO_RAW_BYTES, own),
			 0);
	rdmo_raw.fd = -1;
}

static void
raw_open(uint32_t receives)
{
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_hello hello = { .producer = RTE_LE32(RDMO_NO_PRODUCER) };
	struct rdmo_notification told;
	struct rdmo_stream stream;
	struct rdmo_addr own;

	raw_create(receives, &own);
	memcpy(hello.secret, world.secret, sizeof(hello.secret));
	rdmo_raw.fd = rdmo_socket_connect(rdmo_worker_address(world.worker), RDMO_RAW_WAIT_MS);
	assert_true(rdmo_raw.fd >= 0);
	assert_int_equal(rdmo_socket_ask(rdmo_raw.fd, cmd, rdmo_hello_write(cmd, 1, &hello, &own),
					 &stream, &told, RDMO_RAW_WAIT_MS),
			 0);
	assert_int_equal(told.status, RDMO_STATUS_OK);
	rdmo_raw.session = told.number;
	rdmo_raw.credits = rte_le_to_cpu_32(told.addr->credits);
	assert_int_equal(rdmo_end_connect(rdmo_raw.qp, 0, &own, told.addr, 0), 0);
}

void
rdmo_raw_open(void)
{
	raw_open(RDMO_RAW_RECEIVES);
}

void
rdmo_raw_open_deaf(void)
{
	raw_open(0);
}

void
rdmo_raw_open_to_itself(void)
{
	struct rdmo_addr own;

	raw_create(0, &own);
	assert_int_equal(rdmo_end_connect(rdmo_raw.qp, 0, &own, &own, 0), 0);
}

void
rdmo_raw_close(void)
{
	assert_int_equal(rdmapmd_qp_destroy(rdmo_raw.qp), 0);
	assert_int_equal(rdmapmd_cq_destroy(rdmo_raw.send_cq), 0);
	assert_int_equal(rdmapmd_cq_destroy(rdmo_raw.cq), 0);
	assert_int_equal(rdmapmd_mr_dereg(rdmo_raw.mr), 0);
	rte_free(rdmo_raw.memory);
	if (rdmo_raw.fd >= 0)
		close(rdmo_raw.fd);
}

uint8_t *
rdmo_raw_message(void)
{
	return rdmo_raw.memory + RDMO_RAW_RECEIVES * RDMO_RAW_BYTES;
}

static struct rdmapmd_wc
completion_of(struct rdmapmd_cq *cq)
{
	const uint64_t end = rte_get_timer_cycles() + RDMO_RAW_WAIT_MS / 1000 * rte_get_timer_hz();
	struct rdmapmd_wc wc;

	while (rdmapmd_poll_cq(cq, &wc, 1) == 0) {
		if (rte_get_timer_cycles() > end)
			fail_msg("nothing comes");
		usleep(10);
	}
	assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
	return wc;
}

/* The worker's device has it then. */
void
rdmo_raw_send(uint32_t bytes)
{
	const struct rdmapmd_sge sge = { (uintptr_t)rdmo_raw_message(), bytes, rdmo_raw.mr->lkey };
	const struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	assert_int_equal(rdmapmd_post_send(rdmo_raw.qp, &wr, 1), 1);
	completion_of(rdmo_raw.send_cq);
}

void
rdmo_raw_turn(void)
{
	const struct rdmapmd_send_wr wr = {
		.opcode = RDMAPMD_WR_SEND,
		.send_flags = RDMAPMD_SEND_SIGNALED,
	};

	receive_post(0);
	assert_int_equal(rdmapmd_post_send(rdmo_raw.qp, &wr, 1), 1);
	completion_of(rdmo_raw.send_cq);
	completion_of(rdmo_raw.cq);
}

/* The next message that comes: where it is, and its bytes. */
const uint8_t *
rdmo_raw_wait(uint32_t *bytes)
{
	const struct rdmapmd_wc wc = completion_of(rdmo_raw.cq);

	*bytes = wc.byte_len;
	return rdmo_raw.memory + wc.wr_id * RDMO_RAW_BYTES;
}

/* An append of 8 bytes to the target's queue: a message that is good. */
uint32_t
rdmo_raw_append(uint64_t seq)
{
	const struct rdmo_append_hdr append = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)&world.tail),
		.ptr_rkey = rte_cpu_to_le_64(world.ptr_key),
		.data_rkey = rte_cpu_to_le_64(world.data_key),
	};
	struct rdmo_writer w;

	rdmo_writer_begin(&w, rdmo_raw_message(), RDMO_RAW_BYTES, RDMO_MSG_REQUESTS,
			  rdmo_raw.session, seq);
	assert_true(rdmo_writer_append(&w, RDMO_ID, 0, &append, "12345678", 8));
	return rdmo_writer_end(&w, RDMO_RAW_RECEIVES);
}

/* The next message that comes: the first answer in it. */
struct rdmo_answer
rdmo_raw_answer(struct rdmo_reader *reader)
{
	struct rdmo_answer answer;
	const uint8_t *message;
	uint32_t bytes;

	message = rdmo_raw_wait(&bytes);
	assert_int_equal(rdmo_answers_open(reader, message, bytes, rdmo_raw.session),
			 RDMO_REASON_NONE);
	assert_true(rdmo_answers_next(reader, &answer));
	return answer;
}

void
rdmo_raw_expect_close(enum rdmo_reason reason)
{
	struct rdmo_reader reader;
	const uint8_t *message;
	uint32_t bytes;

	do {
		message = rdmo_raw_wait(&bytes);
		assert_int_equal(rdmo_answers_open(&reader, message, bytes, rdmo_raw.session),
				 RDMO_REASON_NONE);
	} while (reader.closed_by == RDMO_REASON_NONE);
	if (reader.closed_by != (uint32_t)reason)
		fail_msg("closed: %s, not: %s", rdmo_reason_str(reader.closed_by),
			 rdmo_reason_str(reason));
}
