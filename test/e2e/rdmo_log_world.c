/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "rdmo_log_world.h"

struct rdmo_log_world rdmo_the;

void
rdmo_log_start(uint64_t capacity)
{
	const struct rdmo_log_attr attr = {
		.capacity = capacity,
		.producers = RDMO_PRODUCERS,
		.memory = rdmo_the.memory,
	};

	assert_int_equal(rdmo_log_create(world.target, &attr, &rdmo_the.log), 0);
	assert_int_equal(rdmo_log_query(rdmo_the.log, &rdmo_the.info), 0);
}

int
rdmo_log_world_open(void **state)
{
	rdmo_world_open(state);
	rdmo_the.memory = aligned_alloc(64, rdmo_log_bytes(RDMO_CAPACITY, RDMO_PRODUCERS));
	assert_non_null(rdmo_the.memory);
	memset(rdmo_the.memory, 0, rdmo_log_bytes(RDMO_CAPACITY, RDMO_PRODUCERS));
	rdmo_log_start(RDMO_CAPACITY);
	return 0;
}

int
rdmo_log_world_close(void **state)
{
	if (world.target != NULL)
		rdmo_log_destroy(rdmo_the.log);
	rdmo_the.log = NULL;
	rdmo_world_close(state);
	free(rdmo_the.memory);
	return 0;
}

int
rdmo_producer_try(const uint8_t *secret, uint32_t producer, struct rdmo_conn **conn)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.secret = secret,
		.timeout_ms = 60000,
		.is_producer = true,
		.producer = producer,
	};

	return rdmo_connect(world.pd[1], &attr, conn);
}

struct rdmo_conn *
rdmo_producer_of(uint32_t producer)
{
	struct rdmo_conn *conn;

	assert_int_equal(rdmo_producer_try(world.secret, producer, &conn), 0);
	return conn;
}

struct rdmo_op
rdmo_record_of(uint64_t user_data, const void *payload, uint32_t length)
{
	return (struct rdmo_op){
		.user_data = user_data,
		.id = RDMO_ID,
		.op_id = RDMO_OP_APPEND,
		.length = length,
		.append = { .ptr_addr = rdmo_the.info.addr,
			    .ptr_key = rdmo_the.info.key,
			    .data_key = rdmo_the.info.key,
			    .payload = payload },
	};
}

/* The next record, of which there is one. */
struct rdmo_log_record
rdmo_read_one(void)
{
	struct rdmo_log_record record;

	assert_int_equal(rdmo_log_read(rdmo_the.log, &record, 1), 1);
	return record;
}

void
rdmo_expect_record(uint32_t producer, uint64_t seq, const char *payload)
{
	const struct rdmo_log_record record = rdmo_read_one();

	assert_int_equal(record.producer, producer);
	assert_int_equal(record.seq, seq);
	assert_int_equal(record.length, strlen(payload));
	assert_memory_equal(record.payload, payload, record.length);
}
