/* SPDX-License-Identifier: BSD-3-Clause */

#include "rdmo_round_world.h"

struct rdmo_round_world world;

static void
offer(uint32_t i, void *at, uint64_t len, uint32_t rights, uint64_t client, uint64_t rq_id)
{
	world.table[i] = (struct rdmo_region){
		.key = PTR_KEY + i,
		.client = client,
		.rq_id = rq_id,
		.va = (uintptr_t)at,
		.len = len,
		.rights = rights,
	};
	assert_int_equal(rdmo_map_put(&world.regions, world.table[i].key, &world.table[i]), 0);
}

static void
begin_message(void)
{
	rdmo_writer_begin(&world.writer, world.message, sizeof(world.message), RDMO_MSG_REQUESTS, 1,
			  world.next_seq);
}

int
round_set_up(void **state)
{
	(void)state;
	memset(&world.target, 0xa5, sizeof(world.target));
	world.target.tail = world.target.other_tail =
		rte_cpu_to_le_64((uintptr_t)world.target.queue);
	assert_int_equal(rdmo_map_open(&world.regions, RTE_DIM(world.table)), 0);
	offer(0, &world.target.tail, 16, RDMO_RIGHT_APPEND, CLIENT, 0);
	offer(1, world.target.queue, QUEUE, RDMO_RIGHT_APPEND, CLIENT, RQ);
	offer(2, world.target.memory, QUEUE, RDMO_RIGHT_WRITE, CLIENT, 0);
	offer(3, world.target.memory, QUEUE, RDMO_RIGHT_READ, CLIENT, 0);
	offer(4, world.target.memory, QUEUE, ALL, CLIENT + 1, 0);
	offer(5, world.target.memory, QUEUE, ALL, CLIENT, RQ + 1);
	offer(6, world.target.memory, QUEUE, ALL, CLIENT, RQ);
	rdmo_flow_begin(&world.flow, ID, CLIENT, RQ);
	world.round.writes = NULL;
	world.round.fetches = NULL;
	rdmo_round_begin(&world.round);
	world.round.lane = 0;
	world.next_seq = 1;
	begin_message();
	return 0;
}

int
round_tear_down(void **state)
{
	(void)state;
	rdmo_map_close(&world.regions);
	return 0;
}

/* Execute what was written, in one round that is not settled; those that are alike one by one, or at once. */
void
round_run_by(bool at_once)
{
	struct rdmo_reader reader;
	struct rdmo_request request;
	const uint32_t bytes = rdmo_writer_end(&world.writer, 0);

	assert_int_equal(rdmo_requests_open(&reader, world.message, bytes, 1), RDMO_REASON_NONE);
	while (rdmo_requests_next(&reader, &request)) {
		assert_int_equal(request.seq, world.next_seq);
		world.is_done =
			rdmo_round_execute(&world.round, &world.regions, &world.flow, &request);
		if (at_once)
			rdmo_round_go_on(&world.round, &request, &reader,
					 RDMO_ROUND - world.round.count);
		world.next_seq = reader.seq;
	}
	begin_message();
}

void
round_run(void)
{
	round_run_by(false);
}

bool
round_append_by(struct rdmo_round *round)
{
	const struct rdmo_append_hdr hdr = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)&world.target.tail),
		.ptr_rkey = RTE_LE64(PTR_KEY),
		.data_rkey = RTE_LE64(DATA_KEY),
	};
	const struct rdmo_request request = {
		.id = ID,
		.op_id = RDMO_OP_APPEND,
		.append = &hdr,
		.payload = (const uint8_t *)"x",
		.bytes = 1,
	};

	return rdmo_round_execute(round, &world.regions, &world.flow, &request);
}

void
round_add_append(uint64_t id, uint32_t flags, const void *word, uint64_t ptr_key, uint64_t data_key,
		 const void *payload, uint32_t bytes)
{
	const struct rdmo_append_hdr hdr = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)word),
		.ptr_rkey = rte_cpu_to_le_64(ptr_key),
		.data_rkey = rte_cpu_to_le_64(data_key),
	};

	assert_true(rdmo_writer_append(&world.writer, id, flags, &hdr, payload, bytes));
}

void
round_append_text(const char *text)
{
	round_add_append(ID, 0, &world.target.tail, PTR_KEY, DATA_KEY, text,
			 (uint32_t)strlen(text));
}

void
round_add_flush(uint32_t flags, uint64_t key)
{
	const struct rdmo_flush_hdr hdr = {
		.flush_id = rte_cpu_to_le_64(77),
		.key = rte_cpu_to_le_64(key),
	};

	assert_true(rdmo_writer_flush(&world.writer, ID, flags, &hdr));
}

uint64_t
round_tail_at(void)
{
	return rte_le_to_cpu_64(world.target.tail) - (uintptr_t)world.target.queue;
}

void
round_expect(uint32_t i, enum rdmo_status status, uint64_t value)
{
	if (world.round.results[i].status != status || world.round.results[i].value != value)
		fail_msg("result %u: status %u, value %#lx", i, world.round.results[i].status,
			 (unsigned long)world.round.results[i].value);
}

struct rdmo_scatter_iov
round_piece(const void *at, uint64_t key, uint32_t len)
{
	return (struct rdmo_scatter_iov){
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.len = rte_cpu_to_le_32(len),
	};
}

void
round_add_atomic(uint32_t op_id, const void *at, uint64_t key, uint64_t operand, uint64_t swap)
{
	const struct rdmo_atomic_hdr hdr = {
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.operand = rte_cpu_to_le_64(operand),
		.swap = rte_cpu_to_le_64(swap),
	};

	assert_true(rdmo_writer_atomic(&world.writer, ID, op_id, 0, &hdr));
}

void
round_add_scatter(const struct rdmo_scatter_iov *iovs, const void *const *data, uint32_t count)
{
	assert_true(rdmo_writer_scatter(&world.writer, ID, 0, iovs, data, count));
}

void
round_add_put(const void *at, uint64_t key, const void *number, uint64_t number_key, uint32_t kind,
	      uint64_t value, const char *payload)
{
	const struct rdmo_put_hdr hdr = {
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.signal_addr = rte_cpu_to_le_64((uintptr_t)number),
		.signal_rkey = rte_cpu_to_le_64(number_key),
		.value = rte_cpu_to_le_64(value),
		.kind = rte_cpu_to_le_32(kind),
	};

	assert_true(
		rdmo_writer_put(&world.writer, ID, 0, &hdr, payload, (uint32_t)strlen(payload)));
}
