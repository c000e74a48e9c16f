/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory that ends, and calls of the device that fail: one of all that librdmo makes, at either end of the bootstrap, for each of them.
 * What was asked for fails with an error, or goes on without; nothing is left behind, and who was there before goes on.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "port.h"
#include "rdmo_world.h"

#define WAIT_S 60 /* with sanitizers on a busy machine */

/* ---- Calls ---- */

static atomic_int before_failure;    /* calls, of any thread; 0: none fails */
static _Atomic(const char *) failed; /* the one that has */
static atomic_int live;		     /* what was made, and is not gone yet */

/* Is it that one's turn? */
static bool
call_fails(const char *name)
{
	int now = atomic_load(&before_failure);

	while (now > 0 && !atomic_compare_exchange_weak(&before_failure, &now, now - 1))
		;
	if (now != 1)
		return false;
	atomic_store(&failed, name);
	return true;
}

static void *
memory_made(void *memory)
{
	atomic_fetch_add(&live, memory != NULL ? 1 : 0);
	return memory;
}

static int
object_made(int rc)
{
	atomic_fetch_add(&live, rc == 0 ? 1 : 0);
	return rc;
}

static int
object_gone(int rc)
{
	atomic_fetch_sub(&live, rc == 0 ? 1 : 0);
	return rc;
}

/* What the linker has the library call: `name` is a function that it knows as __real_name. */
#define MEMORY(name, params, args)                                                 \
	void *__real_##name params;                                                \
	void *__wrap_##name params;                                                \
	void *__wrap_##name params                                                 \
	{                                                                          \
		return call_fails(#name) ? NULL : memory_made(__real_##name args); \
	}
#define OBJECT(name, params, args)                                                    \
	int __real_##name params;                                                     \
	int __wrap_##name params;                                                     \
	int __wrap_##name params                                                      \
	{                                                                             \
		return call_fails(#name) ? -ENOMEM : object_made(__real_##name args); \
	}
#define GONE(name, type)                                   \
	int __real_##name(struct type *object);            \
	int __wrap_##name(struct type *object);            \
	int __wrap_##name(struct type *object)             \
	{                                                  \
		return object_gone(__real_##name(object)); \
	}
#define CALL(name, params, args)                                      \
	int __real_##name params;                                     \
	int __wrap_##name params;                                     \
	int __wrap_##name params                                      \
	{                                                             \
		return call_fails(#name) ? -EIO : __real_##name args; \
	}

MEMORY(rte_zmalloc, (const char *type, size_t size, unsigned int align), (type, size, align))
MEMORY(rte_calloc, (const char *type, size_t count, size_t size, unsigned int align),
       (type, count, size, align))
MEMORY(strdup, (const char *text), (text))
OBJECT(rdmapmd_mr_reg,
       (struct rdmapmd_pd * pd, void *addr, size_t length, unsigned int access,
	struct rdmapmd_mr **mr),
       (pd, addr, length, access, mr))
OBJECT(rdmapmd_cq_create,
       (struct rdmapmd_context * context, const struct rdmapmd_cq_init_attr *attr,
	struct rdmapmd_cq **cq),
       (context, attr, cq))
OBJECT(rdmapmd_qp_create,
       (struct rdmapmd_pd * pd, struct rdmapmd_qp_init_attr *attr, struct rdmapmd_qp **qp),
       (pd, attr, qp))
OBJECT(rdmapmd_srq_create,
       (struct rdmapmd_pd * pd, struct rdmapmd_srq_init_attr *attr, struct rdmapmd_srq **srq),
       (pd, attr, srq))
OBJECT(rdmapmd_td_alloc, (struct rdmapmd_context * context, struct rdmapmd_td **td), (context, td))
OBJECT(rdmapmd_comp_channel_create,
       (struct rdmapmd_context * context, struct rdmapmd_comp_channel **channel),
       (context, channel))
GONE(rdmapmd_mr_dereg, rdmapmd_mr)
GONE(rdmapmd_cq_destroy, rdmapmd_cq)
GONE(rdmapmd_qp_destroy, rdmapmd_qp)
GONE(rdmapmd_srq_destroy, rdmapmd_srq)
GONE(rdmapmd_td_dealloc, rdmapmd_td)
GONE(rdmapmd_comp_channel_destroy, rdmapmd_comp_channel)
CALL(rdmapmd_qp_modify,
     (struct rdmapmd_qp * qp, const struct rdmapmd_qp_attr *attr, unsigned int mask),
     (qp, attr, mask))
CALL(rdmapmd_qp_connect,
     (struct rdmapmd_qp * qp, const struct rdmapmd_qp_peer *peer,
      const struct rdmapmd_qp_connect_opts *opts),
     (qp, peer, opts))
CALL(rdmapmd_port_query,
     (struct rdmapmd_context * context, uint8_t port, struct rdmapmd_port_attr *attr),
     (context, port, attr))
CALL(rdmapmd_gid_query,
     (struct rdmapmd_context * context, uint8_t port, uint32_t index,
      struct rdmapmd_gid_entry *entry),
     (context, port, index, entry))

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* But what the bootstrap's thread sleeps on, whenever it does: it comes again a moment later. */
void *
__wrap_calloc(size_t count, size_t size)
{
	if (size != sizeof(struct pollfd) && call_fails("calloc"))
		return NULL;
	return memory_made(__real_calloc(count, size));
}

void __real_free(void *memory);
void __wrap_free(void *memory);

void
__wrap_free(void *memory)
{
	atomic_fetch_sub(&live, memory != NULL ? 1 : 0);
	__real_free(memory);
}

void __real_rte_free(void *memory);
void __wrap_rte_free(void *memory);

void
__wrap_rte_free(void *memory)
{
	atomic_fetch_sub(&live, memory != NULL ? 1 : 0);
	__real_rte_free(memory);
}

ssize_t __real_getrandom(void *buffer, size_t bytes, unsigned int flags);
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned int flags);

ssize_t
__wrap_getrandom(void *buffer, size_t bytes, unsigned int flags)
{
	if (!call_fails("getrandom"))
		return __real_getrandom(buffer, bytes, flags);
	errno = EIO;
	return -1;
}

/* ---- What is asked for ---- */

static int
worker_try(void)
{
	const struct rdmo_worker_attr attr = {
		.address = "127.0.0.1:0",
		.lcores = 2,
		.receives = 32,
		.max_regions = 16,
	};
	struct rdmo_worker *worker;
	const int rc = rdmo_worker_create(world.pd[0], &attr, &worker);

	if (rc == 0)
		assert_int_equal(rdmo_worker_destroy(worker), 0);
	return rc;
}

/* All that a target may ask for; it is closed. */
static int
target_use(struct rdmo_target *target)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHT_WRITE,
	};
	const struct rdmo_log_attr log_attr = { .capacity = 4096, .producers = 1 };
	uint8_t secret[RDMO_SECRET_BYTES];
	struct rdmo_log *log = NULL;
	uint64_t rq_id, key;
	int rc;

	rc = rdmo_rq_create(target, secret, &rq_id);
	if (rc == 0)
		rc = rdmo_mr_reg(target, &attr, &key);
	if (rc == 0)
		rc = rdmo_log_create(target, &log_attr, &log);
	rdmo_log_destroy(log);
	rdmo_target_close(target);
	return rc;
}

static int
target_here_try(void)
{
	struct rdmo_target *target;
	const int rc = rdmo_target_open(world.worker, 2, &target);

	return rc == 0 ? target_use(target) : rc;
}

static int
target_elsewhere_try(void)
{
	const struct rdmo_target_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.id = 2,
	};
	struct rdmo_target *target;
	const int rc = rdmo_target_connect(world.pd[1], &attr, &target);

	return rc == 0 ? target_use(target) : rc;
}

static int
named_try(void)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.timeout_ms = WAIT_S * 1000,
	};
	struct rdmo_conn *conn;
	struct rdmo_addr addr;
	uint64_t rq_id;
	int rc;

	rc = rdmo_connect_begin(world.pd[1], &attr, &conn, &addr);
	if (rc != 0)
		return rc;
	rc = rdmo_rq_create_for(world.target, &addr, &rq_id);
	if (rc == 0) {
		rc = rdmo_connect_finish(conn);
		assert_int_equal(rdmo_rq_destroy(world.target, rq_id), 0);
	}
	rdmo_disconnect(conn);
	return rc;
}

static int
connection_try(void)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.secret = world.secret,
		.timeout_ms = WAIT_S * 1000,
		.sleeps = true,
	};
	struct rdmo_conn *conn;
	int rc;

	rc = rdmo_connect(world.pd[1], &attr, &conn);
	if (rc != 0)
		return rc;
	rc = rdmo_reconnect(conn, NULL);
	rdmo_disconnect(conn);
	return rc;
}

/* ---- Each of its calls ---- */

/* Sessions end when the bootstrap's thread has seen that. */
static void
expect_live(int count, int n)
{
	const uint64_t end = rte_get_timer_cycles() + WAIT_S * rte_get_timer_hz();

	while (atomic_load(&live) != count) {
		if (rte_get_timer_cycles() > end)
			fail_msg("call %d, %s, has failed: %d are left behind", n,
				 atomic_load(&failed), atomic_load(&live) - count);
		usleep(100);
	}
}

static void
neighbour_goes_on(void)
{
	const struct rdmo_op op = rdmo_append_of(1, "1", 1);

	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, (uintptr_t)world.queue + rdmo_tail_of());
}

/* `attempt` as often as it has calls, each time with another one failing; `least`: so many it has, or they are not counted here. */
static void
each_call_fails(int (*attempt)(void), int least)
{
	const int count = atomic_load(&live);
	int n = 0, rc;

	do {
		atomic_store(&failed, NULL);
		atomic_store(&before_failure, ++n);
		rc = attempt();
		atomic_store(&before_failure, 0);
		if (rc > 0 || rc < -4095 || (rc != 0 && atomic_load(&failed) == NULL))
			fail_msg("call %d, %s, has failed: %d", n, atomic_load(&failed), rc);
		expect_live(count, n);
		if (world.conn != NULL)
			neighbour_goes_on();
	} while (atomic_load(&failed) != NULL);
	if (n < least)
		fail_msg("%d calls alone", n);
}

static void
test_each_call_of_a_worker_fails(void **state)
{
	(void)state;
	each_call_fails(worker_try, 20);
}

static void
test_each_call_for_a_target_here_fails(void **state)
{
	(void)state;
	each_call_fails(target_here_try, 10);
}

static void
test_each_call_for_a_target_elsewhere_fails(void **state)
{
	(void)state;
	each_call_fails(target_elsewhere_try, 20);
}

static void
test_each_call_for_a_connection_fails(void **state)
{
	(void)state;
	each_call_fails(connection_try, 30);
}

static void
test_each_call_for_a_named_initiator_fails(void **state)
{
	(void)state;
	each_call_fails(named_try, 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_world_open, rdmo_world_close)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_call_of_a_worker_fails),
		TEST(test_each_call_for_a_target_here_fails),
		TEST(test_each_call_for_a_target_elsewhere_fails),
		TEST(test_each_call_for_a_connection_fails),
		TEST(test_each_call_for_a_named_initiator_fails),
	};
	int rc;

	rc = rdmo_world_init("rdmo-failing", argc, argv);
	if (rc != 0)
		return rc;
	rc = cmocka_run_group_tests_name("rdmo-failing", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
