/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What dpdk-telemetry is told of workers, connections and logs. Its calls are the test's own, and write a line; the handlers are called as
 * its thread does.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#include "rdmo/telemetry.h"
#include "rdmo_log_world.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

static char told[4096];

static void
tell(const char *format, const char *name, const char *text, uint64_t value)
{
	const size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, format, name, text, value);
}

/* ---- Telemetry's: containers are written as they are filled ---- */

struct rte_tel_data *
rte_tel_data_alloc(void)
{
	return (struct rte_tel_data *)told;
}

void
rte_tel_data_free(struct rte_tel_data *data)
{
	(void)data;
}

int
rte_tel_data_start_array(struct rte_tel_data *data, enum rte_tel_value_type type)
{
	(void)data;
	(void)type;
	return 0;
}

int
rte_tel_data_start_dict(struct rte_tel_data *data)
{
	(void)data;
	return 0;
}

int
rte_tel_data_add_array_string(struct rte_tel_data *data, const char *text)
{
	(void)data;
	tell("[%s]%s", text, "", 0);
	return 0;
}

int
rte_tel_data_add_dict_string(struct rte_tel_data *data, const char *name, const char *text)
{
	(void)data;
	tell("[%s=%s]", name, text, 0);
	return 0;
}

int
rte_tel_data_add_dict_uint(struct rte_tel_data *data, const char *name, uint64_t value)
{
	(void)data;
	tell("[%s=%s%lu]", name, "", value);
	return 0;
}

int
rte_tel_data_add_dict_container(struct rte_tel_data *data, const char *name,
				struct rte_tel_data *value, int keep)
{
	(void)data;
	(void)value;
	assert_int_equal(keep, 0);
	tell("<%s%s>", name, "", 0);
	return 0;
}

int
rte_tel_data_add_array_container(struct rte_tel_data *data, struct rte_tel_data *value, int keep)
{
	(void)data;
	(void)value;
	assert_int_equal(keep, 0);
	tell("<%s%s>", "", "", 0);
	return 0;
}

/* ---- Tests ---- */

static void
assert_told(const char *what)
{
	if (strstr(told, what) == NULL)
		fail_msg("'%s' is not in '%s'", what, told);
}

static int
ask_worker(const char *params)
{
	told[0] = '\0';
	return rdmo_telemetry_worker("/rdmo/worker", params, NULL);
}

static int
ask_connections(const char *params)
{
	told[0] = '\0';
	return rdmo_telemetry_connections("/rdmo/connections", params, NULL);
}

static int
ask_log(const char *params)
{
	told[0] = '\0';
	return rdmo_telemetry_log("/rdmo/log", params, NULL);
}

static void
test_a_worker_is_shown_while_it_is_there(void **state)
{
	static const struct rdmo_worker_attr plain = { .receives = 64 };
	char line[160], address[128];

	(void)state;
	assert_int_equal(ask_worker(NULL), 0);
	assert_string_equal(told, "");
	rdmo_worker_start(&plain);
	snprintf(address, sizeof(address), "%s", rdmo_worker_address(world.worker));
	snprintf(line, sizeof(line), "[%s]", address);
	assert_int_equal(ask_worker(NULL), 0);
	assert_string_equal(told, line);
	assert_int_equal(ask_connections(""), 0);
	assert_string_equal(told, line);
	assert_int_equal(ask_worker("127.0.0.1:1"), -ENOENT);
	assert_int_equal(ask_connections("127.0.0.1:1"), -ENOENT);
	assert_int_equal(ask_connections(address), 0);
	assert_string_equal(told, "");
	rdmo_worker_end();
	assert_int_equal(ask_worker(address), -ENOENT);
}

/* It answers when it has done with connections that went before: they are not shown any more. */
static void
wait_for_the_bootstrap(void)
{
	assert_int_equal(rdmo_rq_destroy(world.target, UINT64_MAX), -ENOENT);
}

static int
far_open(void **state)
{
	world.is_far = true;
	return rdmo_world_open(state);
}

/* The first connection has made one operation at lcore 0 and gone; world.conn is at lcore 1, and its appends are done at 0. */
static void
test_what_is_counted(void **state)
{
	const char *address = rdmo_worker_address(world.worker);
	const struct rdmo_op op = rdmo_append_of(1, "hello", 5);
	struct rdmo_op wrong = op;
	char line[160];

	(void)state;
	wrong.append.data_key = 1;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, (uintptr_t)world.queue);
	rdmo_expect(world.conn, &wrong, RDMO_STATUS_KEY, 0);
	assert_int_equal(ask_worker(address), 0);
	assert_told("[connections=1][messages=3][operations=3][refused=1][answers=3][closed=0]"
		    "[handed_over=1]"
		    "[connections=0][messages=1][operations=2][refused=0][answers=1][closed=0]"
		    "[handed_over=0]<lcore_0>"
		    "[connections=1][messages=2][operations=1][refused=1][answers=2][closed=0]"
		    "[handed_over=1]<lcore_1>");
	wait_for_the_bootstrap();
	assert_int_equal(ask_connections(address), 0);
	snprintf(line, sizeof(line),
		 "[lcore=1][receive_queue=%lu][messages=2][answers=2][has_ended=0]<>",
		 (unsigned long)world.rq_id);
	assert_told("[session=0x");
	assert_told(line);
	assert_ptr_equal(strstr(told, "<>"), told + strlen(told) - 2);
	rdmo_disconnect(world.conn);
	world.conn = NULL;
	rdmo_wait_connections(0);
	wait_for_the_bootstrap();
	assert_int_equal(ask_connections(address), 0);
	assert_string_equal(told, "");
}

static void
test_a_log_is_shown_while_it_is_there(void **state)
{
	const struct rdmo_log_attr attr = { .capacity = 4096, .producers = 2 };
	struct rdmo_op op = rdmo_append_of(1, "hello", 5);
	char name[24], line[32];
	struct rdmo_log_record record;
	struct rdmo_log_info info;
	struct rdmo_conn *conn;
	struct rdmo_log *log;

	(void)state;
	assert_int_equal(ask_log(""), 0);
	assert_string_equal(told, "");
	assert_int_equal(rdmo_log_create(world.target, &attr, &log), 0);
	assert_int_equal(rdmo_log_query(log, &info), 0);
	snprintf(name, sizeof(name), "0x%lx", (unsigned long)info.addr);
	snprintf(line, sizeof(line), "[%s]", name);
	assert_int_equal(ask_log(NULL), 0);
	assert_string_equal(told, line);
	assert_int_equal(rdmo_producer_try(world.secret, 0, &conn), 0);
	op.append.ptr_addr = info.addr;
	op.append.ptr_key = op.append.data_key = info.key;
	for (unsigned int i = 0; i < 2; i++)
		rdmo_expect(conn, &op, RDMO_STATUS_OK, 64 * i);
	assert_int_equal(rdmo_log_read(log, &record, 1), 1);
	assert_int_equal(rdmo_log_release(log, record.next), 0);
	assert_int_equal(ask_log(name), 0);
	assert_string_equal(told, "[capacity=4096][producers=2][epoch=1][head=64][tail=128]");
	assert_int_equal(ask_log("0x1"), -ENOENT);
	rdmo_disconnect(conn);
	rdmo_log_destroy(log);
	assert_int_equal(ask_log(name), -ENOENT);
	assert_int_equal(ask_log(NULL), 0);
	assert_string_equal(told, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_worker_is_shown_while_it_is_there,
					  rdmo_world_close),
		cmocka_unit_test_setup_teardown(test_what_is_counted, far_open, rdmo_world_close),
		cmocka_unit_test_setup_teardown(test_a_log_is_shown_while_it_is_there,
						rdmo_world_open, rdmo_world_close),
	};
	int rc;

	if (rdmo_world_init("rdmo_telemetry", 1, NULL) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo_telemetry", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
