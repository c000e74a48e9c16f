/* SPDX-License-Identifier: BSD-3-Clause */

/* A phase of dpdk-test-rdma-perf without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "phase.h"
#include "request.h"
#include "verify.h"

static unsigned int
patience(struct perf_options options)
{
	struct perf_end end = { .options = &options };
	const struct perf_phase phase = { .end = &end, .layout = { .size = options.size } };

	return perf_phase_patience_s(&phase);
}

static unsigned int
silence(struct perf_options options)
{
	struct perf_end end = { .options = &options };
	const struct perf_phase phase = { .end = &end, .layout = { .size = options.size } };

	return perf_phase_silence_s(&phase);
}

/* Three seconds where nothing takes long; never less than a queue pair's retries, or than what one completion tells of. */
static void
silence_is_as_long_as_what_may_take_its_time(void **state)
{
	struct perf_options o = {
		.transport = RDMAPMD_QPT_UD, .size = 64, .cq_mod = 100, .qps = 16, .timeout = 31
	};

	(void)state;
	assert_int_equal(patience(o), 3);
	o.transport = RDMAPMD_QPT_RC;
	o.timeout = 14;
	assert_int_equal(patience(o), 3);
	/* Eight times 4.096 us << 18, four times as long. */
	o.timeout = 18;
	assert_in_range(patience(o), 34, 36);
	o.timeout = 31;
	assert_true(patience(o) > 131 * 2000);
	o.timeout = 0;
	assert_int_equal(patience(o), 30);
	o.transport = RDMAPMD_QPT_UC;
	o.size = 1 << 23;
	o.qps = 1;
	assert_int_equal(patience(o), 3 + 800 / 16);
	/* What comes is told of one by one. */
	assert_int_equal(silence(o), 3);
	o.cq_mod = 1;
	assert_int_equal(patience(o), 3);
}

/* ---- Two ends, of which one sends as the loop of bw does, and requests are copies ---- */

#define MTU	1024
#define ROOM	(1u << 20)
#define ALL	UINT64_MAX /* messages */
#define NOTHING 0xa5	   /* what is there before any comes */

struct side {
	struct perf_end end;
	struct perf_queue queue;
	struct perf_worker worker;
	struct perf_phase phase;
	struct rdmapmd_mr mr;
	uint8_t *memory;
};

static struct perf_options options;
static struct rdmapmd_qp qp;
static struct side client, server;

static void
side_begin(struct side *side, bool is_client, uint64_t iters)
{
	const struct perf_layout layout = perf_layout_of(&options, options.size);
	const size_t part = perf_layout_part(&options);

	*side = (struct side){ .memory = calloc(1, ROOM) };
	assert_non_null(side->memory);
	assert_true(perf_layout_parts(&options) * part <= ROOM);
	side->queue = (struct perf_queue){ .qp = &qp,
					   .out = side->memory,
					   .in = side->memory + part,
					   .last = side->memory + 2 * part };
	side->worker =
		(struct perf_worker){ .end = &side->end, .queues = &side->queue, .nqueues = 1 };
	side->end = (struct perf_end){ .options = &options,
				       .client = is_client,
				       .requests = is_client,
				       .device = "device",
				       .mtu = MTU,
				       .mr = &side->mr,
				       .queues = &side->queue,
				       .workers = &side->worker };
	assert_int_equal(perf_phase_open(&side->phase, &side->end, NULL, &layout, iters, false), 0);
}

static void
side_end(struct side *side)
{
	perf_phase_close(&side->phase);
	free(side->memory);
}

static void
meet(struct side *side, struct side *peer)
{
	side->queue.peer_out = (uintptr_t)peer->queue.out;
	side->queue.peer_in = (uintptr_t)peer->queue.in;
	side->queue.peer_last = (uintptr_t)peer->queue.last;
	perf_request_prepare(&side->phase);
}

static void
begin(uint64_t iters)
{
	side_begin(&client, true, iters);
	side_begin(&server, false, iters);
	meet(&client, &server);
	meet(&server, &client);
}

static void
end(void)
{
	side_end(&client);
	side_end(&server);
}

/* What a request does, of its bytes the first ones. */
static void
execute(uint64_t n, uint32_t bytes)
{
	const struct perf_layout *layout = &client.phase.layout;
	const uint64_t iters = client.phase.iters;
	struct rdmapmd_send_wr wr;
	struct rdmapmd_sge sge;
	void *from, *to;

	perf_request_fill(&client.phase, &client.queue, &wr, &sge, n, (uint32_t)(n % layout->slots),
			  n + layout->slots >= iters);
	from = (void *)(uintptr_t)(options.op == PERF_READ ? wr.wr.rdma.remote_addr : sge.addr);
	to = (void *)(uintptr_t)(options.op == PERF_READ ? sge.addr : wr.wr.rdma.remote_addr);
	memcpy(to, from, bytes);
}

/* All messages but one, of which only the first bytes come. @return What --verify finds wrong at the end where they arrive. */
static uint64_t
wrong_of(uint64_t iters, uint64_t lost, uint32_t bytes)
{
	struct side *arrive = options.op == PERF_READ ? &client : &server;
	uint64_t n;

	for (n = 0; n < iters; n++)
		execute(n, n == lost ? bytes : options.size);
	client.phase.sent[0] = iters;
	server.phase.peer_sent[0] = iters;
	return perf_verify_phase(&arrive->phase);
}

static uint64_t
wrong(uint64_t iters, uint64_t lost, uint32_t bytes)
{
	uint64_t found;

	begin(iters);
	found = wrong_of(iters, lost, bytes);
	end();
	return found;
}

static void
set_options(enum perf_op op, enum rdmapmd_qp_type transport, uint32_t size)
{
	options = (struct perf_options){ .op = op,
					 .mode = PERF_BW,
					 .transport = transport,
					 .size = size,
					 .qps = 1,
					 .lcores = 1,
					 .inline_size = PERF_INLINE_AUTO,
					 .damage = -1,
					 .verify = true };
}

/* Whatever was there before: the first lap's, or nothing. */
static void
a_message_of_the_last_lap_that_is_missing_is_found(void **state)
{
	static const uint32_t sizes[] = { 1, 8, 1000, 20000, 65536, 100000 };
	static const uint64_t iters[] = { 1, 5, 300, 1025 };
	const enum perf_op ops[] = { PERF_WRITE, PERF_READ };
	unsigned int op, i, k;

	(void)state;
	for (op = 0; op < 2; op++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (k = 0; k < sizeof(iters) / sizeof(iters[0]); k++) {
				set_options(ops[op], RDMAPMD_QPT_RC, sizes[i]);
				assert_int_equal(wrong(iters[k], ALL, 0), 0);
				assert_int_equal(wrong(iters[k], iters[k] - 1, 0), 1);
				assert_int_equal(wrong(iters[k], iters[k] - 1, sizes[i] - 1), 1);
			}
}

static void
each_message_of_the_last_lap_is_looked_at(void **state)
{
	uint64_t n;

	(void)state;
	set_options(PERF_WRITE, RDMAPMD_QPT_RC, 10000);
	/* Six slots. */
	for (n = 50 - 6; n < 50; n++)
		assert_int_equal(wrong(50, n, 0), 1);
	/* The one before has another one on it. */
	assert_int_equal(wrong(50, 50 - 7, 0), 0);
}

static void
a_byte_that_is_sent_wrong_is_found(void **state)
{
	const enum perf_op ops[] = { PERF_WRITE, PERF_READ };
	unsigned int op;

	(void)state;
	for (op = 0; op < 2; op++) {
		set_options(ops[op], op == 0 ? RDMAPMD_QPT_UC : RDMAPMD_QPT_RC, 3000);
		options.damage = 2999;
		assert_int_equal(wrong(100, ALL, 0), 1);
		/* Messages are not so long. */
		options.damage = 3000;
		assert_int_equal(wrong(100, ALL, 0), 0);
	}
}

/* Of UC's WRITEs nobody else counts them: whole ones, and of one the first packets. */
static void
what_uc_has_lost_is_not_wrong(void **state)
{
	const struct perf_outcome *outcome = &server.phase.outcomes[0];

	(void)state;
	set_options(PERF_WRITE, RDMAPMD_QPT_UC, 3000);
	begin(100);
	assert_int_equal(wrong_of(100, 99, 0), 0);
	assert_int_equal(outcome->lost, 1);
	assert_int_equal(outcome->received, server.phase.layout.slots - 1);
	end();
	begin(100);
	assert_int_equal(wrong_of(100, 99, MTU), 0);
	assert_int_equal(outcome->lost, 1);
	end();
	/* A packet comes whole or not at all. */
	begin(100);
	assert_int_equal(wrong_of(100, 99, MTU + 1), 1);
	assert_int_equal(outcome->lost, 0);
	end();
	begin(100);
	assert_int_equal(wrong_of(100, ALL, 0), 0);
	assert_int_equal(outcome->lost, 0);
	memset(server.queue.in, NOTHING, perf_layout_part(&options));
	assert_int_equal(perf_verify_phase(&server.phase), 0);
	assert_int_equal(outcome->lost, server.phase.layout.slots);
	end();
	/* The way was cut before the last lap: what came in time is none of it. */
	begin(100);
	memcpy(server.queue.in, client.queue.out, perf_layout_part(&options));
	server.phase.peer_sent[0] = 100;
	assert_int_equal(perf_verify_phase(&server.phase), 0);
	assert_int_equal(outcome->lost, server.phase.layout.slots);
	assert_int_equal(outcome->received, 0);
	end();
}

static void
each_layout_fits_into_its_part(void **state)
{
	const uint32_t sizes[] = { 2, 700, 1024, 3000, 5000, 10000, 25000, 40000, 65536, 65537 };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(sizes); i++)
		for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
			struct perf_layout layout;

			set_options(PERF_SEND, RDMAPMD_QPT_UD, sizes[i]);
			layout = perf_layout_of(&options, RTE_MIN(sizes[i], mtu));
			assert_true(layout.stride * layout.slots <= perf_layout_part(&options));
		}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_message_of_the_last_lap_that_is_missing_is_found),
	cmocka_unit_test(each_message_of_the_last_lap_is_looked_at),
	cmocka_unit_test(a_byte_that_is_sent_wrong_is_found),
	cmocka_unit_test(what_uc_has_lost_is_not_wrong),
	cmocka_unit_test(each_layout_fits_into_its_part),
	cmocka_unit_test(silence_is_as_long_as_what_may_take_its_time),
};

PLAIN_MAIN("perf-phase", tests)
