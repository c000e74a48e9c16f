/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "rdmo_world.h"

#define WAIT_S 60 /* with sanitizers on a busy machine */

struct rdmo_world world;
struct rdmo_own rdmo_own;

/* ---- Devices ---- */

int
rdmo_world_init(const char *name, int argc, char **argv)
{
	char specs[2][256];
	const char *vdevs[3] = { specs[0], argc > 2 ? specs[1] : NULL, NULL };

	e2e_port_spec(specs[0], sizeof(specs[0]), 0, argc > 1 ? argv[1] : "wire=loop");
	if (argc > 2)
		e2e_port_spec(specs[1], sizeof(specs[1]), 1, argv[2]);
	if (e2e_init(name, vdevs) != 0)
		return 1;
	for (unsigned int i = 0; i < 2; i++) {
		if (rdmapmd_device_open_by_name(e2e_port_name(argc > 2 ? i : 0),
						&world.context[i]) != 0 ||
		    rdmapmd_pd_alloc(world.context[i], &world.pd[i]) != 0)
			return 1;
	}
	return 0;
}

void
rdmo_world_fini(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rdmapmd_pd_dealloc(world.pd[i]), 0);
		assert_int_equal(rdmapmd_context_close(world.context[i]), 0);
	}
	e2e_fini();
}

/* ---- Worker and target ---- */

static void *
poll_worker(void *lcore)
{
	while (!atomic_load(&world.is_stopped))
		if (rdmo_worker_poll(world.worker, (uint32_t)(uintptr_t)lcore) == 0)
			usleep(1); /* two cores for all */
	return NULL;
}

void
rdmo_pollers_start(void)
{
	atomic_store(&world.is_stopped, false);
	for (uint32_t i = 0; i < world.lcores; i++)
		assert_int_equal(
			pthread_create(&world.pollers[i], NULL, poll_worker, (void *)(uintptr_t)i),
			0);
}

void
rdmo_pollers_stop(void)
{
	if (atomic_exchange(&world.is_stopped, true))
		return;
	for (uint32_t i = 0; i < world.lcores; i++)
		assert_int_equal(pthread_join(world.pollers[i], NULL), 0);
}

void
rdmo_worker_start(const struct rdmo_worker_attr *attr)
{
	struct rdmo_worker_attr some = *attr;

	if (some.address == NULL)
		some.address = "127.0.0.1:0";
	assert_int_equal(rdmo_worker_create(world.pd[0], &some, &world.worker), 0);
	world.lcores = some.lcores == 0 ? 1 : some.lcores;
	rdmo_pollers_start();
}

void
rdmo_worker_end(void)
{
	if (world.worker == NULL)
		return;
	rdmo_pollers_stop();
	assert_int_equal(rdmo_worker_destroy(world.worker), 0);
	world.worker = NULL;
}

static uint64_t
offer(void *at, uint64_t length, uint32_t rights)
{
	const struct rdmo_mr_attr attr = { .addr = at, .length = length, .rights = rights };
	uint64_t key;

	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	return key;
}

void
rdmo_remote_start(uint64_t id, struct rdmo_target **target)
{
	const struct rdmo_target_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.id = id,
	};

	assert_int_equal(rdmo_target_connect(world.pd[1], &attr, target), 0);
}

void
rdmo_target_make(void)
{
	if (world.is_remote)
		rdmo_remote_start(RDMO_ID, &world.target);
	else
		assert_int_equal(rdmo_target_open(world.worker, RDMO_ID, &world.target), 0);
}

void
rdmo_target_start(void)
{
	memset(world.queue, 0xa5, sizeof(world.queue));
	memset(world.area, 0xa5, sizeof(world.area));
	world.tail = rte_cpu_to_le_64((uintptr_t)world.queue);
	rdmo_target_make();
	assert_int_equal(rdmo_rq_create(world.target, world.secret, &world.rq_id), 0);
	world.ptr_key = offer(&world.tail, sizeof(world.tail), RDMO_RIGHT_APPEND);
	world.data_key = offer(world.queue, sizeof(world.queue), RDMO_RIGHT_APPEND);
	world.area_key = offer(world.area, sizeof(world.area), RDMO_RIGHT_WRITE);
	world.read_key = offer(world.area, sizeof(world.area), RDMO_RIGHT_READ);
}

struct rdmo_conn *
rdmo_conn_to(const uint8_t *secret)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.secret = secret,
		.timeout_ms = WAIT_S * 1000,
	};
	struct rdmo_conn *conn;

	assert_int_equal(rdmo_connect(world.pd[1], &attr, &conn), 0);
	return conn;
}

int
rdmo_world_open(void **state)
{
	const struct rdmo_worker_attr plain = {
		.lcores = world.is_far ? 2 : 1,
		.receives = world.is_far ? 32 : 64,
		.max_regions = 16,
	};
	struct rdmo_conn *first;
	struct rdmo_op nothing;

	(void)state;
	rdmo_worker_start(&plain);
	rdmo_target_start();
	if (!world.is_far) {
		world.conn = rdmo_conn_to(world.secret);
		return 0;
	}
	/* Who appends first has the queue at its own lcore. */
	first = rdmo_conn_to(world.secret);
	nothing = rdmo_append_of(0, "", 0);
	rdmo_expect(first, &nothing, RDMO_STATUS_OK, (uintptr_t)world.queue);
	world.conn = rdmo_conn_to(world.secret);
	rdmo_disconnect(first);
	rdmo_wait_connections(1);
	return 0;
}

int
rdmo_world_close(void **state)
{
	(void)state;
	if (world.worker != NULL && atomic_load(&world.is_stopped))
		rdmo_pollers_start(); /* of a test that failed in between */
	rdmo_disconnect(world.conn);
	world.conn = NULL;
	rdmo_target_close(world.target);
	world.target = NULL;
	rdmo_worker_end();
	return 0;
}

void
rdmo_own_start(void)
{
	uint64_t random = 7;

	for (uint32_t i = 0; i < sizeof(rdmo_own.bytes); i++)
		rdmo_own.bytes[i] = (uint8_t)e2e_random(&random);
	assert_int_equal(rdmapmd_mr_reg(world.pd[1], rdmo_own.bytes, sizeof(rdmo_own.bytes),
					RDMAPMD_ACCESS_REMOTE_READ, &rdmo_own.mr),
			 0);
}

void
rdmo_own_end(void)
{
	assert_int_equal(rdmapmd_mr_dereg(rdmo_own.mr), 0);
}

/* ---- Operations ---- */

struct rdmo_op
rdmo_owned(struct rdmo_op op)
{
	op.rkey = rdmo_own.mr->rkey;
	return op;
}

struct rdmo_op
rdmo_append_of(uint64_t user_data, const void *payload, uint32_t length)
{
	return (struct rdmo_op){
		.user_data = user_data,
		.id = RDMO_ID,
		.op_id = RDMO_OP_APPEND,
		.length = length,
		.append = { .ptr_addr = (uintptr_t)&world.tail,
			    .ptr_key = world.ptr_key,
			    .data_key = world.data_key,
			    .payload = payload },
	};
}

struct rdmo_op
rdmo_flush_of(uint64_t user_data, uint64_t key)
{
	return (struct rdmo_op){
		.user_data = user_data,
		.id = RDMO_ID,
		.op_id = RDMO_OP_FLUSH,
		.flags = RDMO_FLAG_FENCE,
		.flush = { .flush_id = 99, .key = key },
	};
}

struct rdmo_scatter_iov
rdmo_piece_of(const void *at, uint64_t key, uint32_t len)
{
	return (struct rdmo_scatter_iov){
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.len = rte_cpu_to_le_32(len),
	};
}

struct rdmo_op
rdmo_scatter_of(uint64_t user_data, const struct rdmo_scatter_iov *iovs, const void *const *data,
		uint32_t count)
{
	return (struct rdmo_op){
		.user_data = user_data,
		.id = RDMO_ID,
		.op_id = RDMO_OP_SCATTER,
		.length = count,
		.scatter = { .iovs = iovs, .data = data },
	};
}

static uint64_t
deadline(void)
{
	return rte_get_timer_cycles() + WAIT_S * rte_get_timer_hz();
}

void
rdmo_post_all(struct rdmo_conn *conn, const struct rdmo_op *ops, uint32_t n)
{
	const uint64_t end = deadline();
	uint32_t taken = 0;

	while (taken < n) {
		taken += rdmo_post(conn, ops + taken, n - taken);
		if (taken < n && rdmo_conn_error(conn) != -EAGAIN)
			fail_msg("operation %u: error %d", taken, rdmo_conn_error(conn));
		if (rte_get_timer_cycles() > end)
			fail_msg("%u of %u operations were taken", taken, n);
	}
}

void
rdmo_wait(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	const uint64_t end = deadline();
	uint32_t count = 0;

	while (count < n) {
		const uint32_t some = rdmo_poll(conn, done + count, n - count);

		count += some;
		if (some == 0)
			usleep(1);
		if (rte_get_timer_cycles() > end)
			fail_msg("%u of %u operations completed", count, n);
	}
}

struct rdmo_completion
rdmo_do(struct rdmo_conn *conn, const struct rdmo_op *op)
{
	struct rdmo_completion done;

	rdmo_post_all(conn, op, 1);
	rdmo_wait(conn, &done, 1);
	assert_int_equal(done.user_data, op->user_data);
	return done;
}

void
rdmo_expect(struct rdmo_conn *conn, const struct rdmo_op *op, enum rdmo_status status,
	    uint64_t value)
{
	const struct rdmo_completion done = rdmo_do(conn, op);

	if (done.status != status || done.value != value)
		fail_msg("operation %u: \"%s\", value %#lx, not \"%s\", value %#lx",
			 (unsigned int)op->user_data, rdmo_status_str(done.status),
			 (unsigned long)done.value, rdmo_status_str(status), (unsigned long)value);
}

uint64_t
rdmo_tail_of(void)
{
	return rte_le_to_cpu_64(__atomic_load_n(&world.tail, __ATOMIC_ACQUIRE)) -
	       (uintptr_t)world.queue;
}

void
rdmo_wait_connections(uint64_t count)
{
	const uint64_t end = deadline();
	struct rdmo_worker_stats stats;

	do {
		usleep(100);
		assert_int_equal(rdmo_worker_stats(world.worker, &stats), 0);
		if (rte_get_timer_cycles() > end)
			fail_msg("%lu connections, not %lu", (unsigned long)stats.connections,
				 (unsigned long)count);
	} while (stats.connections != count);
}
