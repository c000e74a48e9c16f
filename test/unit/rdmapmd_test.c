/* SPDX-License-Identifier: BSD-3-Clause */

/* The public library: the list of devices, tables of numbers, and that a second copy of it is refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdmapmd_driver.h"

static const char *library; /* the file of the shared library */

static void
test_list_of_devices(void **state)
{
	struct rdmapmd_device *one, *two, *three, *found, *at;
	int priv = 7;

	(void)state;
	assert_null(rdmapmd_device_find("one"));
	assert_int_equal(rdmapmd_device_register("one", "driver", &priv, &one), 0);
	assert_int_equal(rdmapmd_device_register("two", "driver", NULL, &two), 0);
	assert_int_equal(rdmapmd_device_register("three", "other", NULL, &three), 0);
	assert_int_equal(rdmapmd_device_register("two", "driver", NULL, &found), -EEXIST);
	found = rdmapmd_device_find("one");
	assert_ptr_equal(found, one);
	assert_string_equal(rdmapmd_device_driver(found), "driver");
	assert_ptr_equal(rdmapmd_device_priv(found), &priv);

	/* The walk survives that the device it stands on goes away. */
	at = rdmapmd_device_next(NULL);
	assert_ptr_equal(at, one);
	at = rdmapmd_device_next(at);
	assert_ptr_equal(at, two);
	rdmapmd_device_unregister(two);
	assert_null(rdmapmd_device_find("two"));
	assert_string_equal(rdmapmd_device_name(at), "two");
	at = rdmapmd_device_next(at);
	assert_ptr_equal(at, three);
	assert_null(rdmapmd_device_next(at));

	/* A reference outlives the device. */
	rdmapmd_device_unregister(one);
	assert_string_equal(rdmapmd_device_name(found), "one");
	assert_null(rdmapmd_device_priv(found));
	rdmapmd_device_put(found);
	rdmapmd_device_put(NULL);
	rdmapmd_device_unregister(three);
	assert_null(rdmapmd_device_next(NULL));
	assert_string_equal(rdmapmd_version(), RDMAPMD_VERSION);
}

struct object {
	struct rdmapmd_handle handle;
	uint32_t value;
};

static void
test_table(void **state)
{
	static struct object objects[1000];
	struct rdmapmd_table *table;
	struct rdmapmd_handle *handle;
	uint32_t i;

	(void)state;
	assert_int_equal(rdmapmd_table_create(&table), 0);
	/* Numbers far apart and close together. */
	for (i = 0; i < 1000; i++)
		assert_int_equal(
			rdmapmd_table_insert(table, i % 2 ? i : i << 20, &objects[i].handle), 0);
	assert_int_equal(rdmapmd_table_count(table), 1000);
	assert_int_equal(rdmapmd_table_insert(table, 1, &(struct rdmapmd_handle){ 0 }), -EEXIST);
	for (i = 0; i < 1000; i++) {
		handle = rdmapmd_table_get(table, i % 2 ? i : i << 20);
		assert_ptr_equal(handle, &objects[i].handle);
		rdmapmd_table_put(table, handle);
	}
	assert_null(rdmapmd_table_get(table, 2));
	assert_int_equal(rdmapmd_table_destroy(table), -EBUSY);
	handle = rdmapmd_table_get(table, 3);
	assert_int_equal(rdmapmd_table_remove(table, 3, NULL), -EBUSY);
	rdmapmd_table_put(table, handle);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(rdmapmd_table_remove(table, i % 2 ? i : i << 20, &handle), 0);
		assert_ptr_equal(handle, &objects[i].handle);
	}
	assert_int_equal(rdmapmd_table_remove(table, 3, NULL), -ENOENT);
	assert_int_equal(rdmapmd_table_destroy(table), 0);
}

#define THREADS 4
static struct rdmapmd_table *shared;

static void *
insert_and_remove(void *arg)
{
	static struct object objects[THREADS][64];
	const uint32_t thread = (uint32_t)(uintptr_t)arg;
	uintptr_t errors = 0;
	uint32_t i, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 64; i++)
			errors += rdmapmd_table_insert(shared, i * THREADS + thread,
						       &objects[thread][i].handle) != 0;
		for (i = 0; i < 64; i++)
			errors += rdmapmd_table_remove(shared, i * THREADS + thread, NULL) != 0;
	}
	return (void *)errors;
}

static void
test_table_from_many_threads(void **state)
{
	pthread_t threads[THREADS];
	void *errors;
	uintptr_t i;

	(void)state;
	assert_int_equal(rdmapmd_table_create(&shared), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, insert_and_remove, (void *)i),
				 0);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &errors);
		assert_null(errors);
	}
	assert_int_equal(rdmapmd_table_destroy(shared), 0);
}

static void
copy_file(const char *from, int to)
{
	FILE *f = fopen(from, "r");
	char buffer[65536];
	size_t n;

	assert_non_null(f);
	while ((n = fread(buffer, 1, sizeof(buffer), f)) > 0)
		assert_int_equal(write(to, buffer, n), n);
	fclose(f);
}

static void
test_a_second_copy_is_refused(void **state)
{
	char name[] = "/tmp/rdmapmd-copy-XXXXXX";
	struct rdmapmd_device *device = NULL;
	int (*other_register)(const char *, const char *, void *, struct rdmapmd_device **);
	int fd = mkstemp(name);
	void *copy;

	(void)state;
	assert_true(fd >= 0);
	copy_file(library, fd);
	close(fd);
	copy = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	unlink(name);
	if (copy == NULL)
		fail_msg("%s", dlerror());
	*(void **)&other_register = dlsym(copy, "rdmapmd_device_register");
	assert_non_null(other_register);
	assert_true(other_register != rdmapmd_device_register);
	/* Both say no: nobody can tell which one the application talks to. */
	assert_int_equal(rdmapmd_device_register("one", "driver", NULL, &device), -EEXIST);
	assert_int_equal(other_register("one", "driver", NULL, &device), -EEXIST);
	dlclose(copy);
	assert_int_equal(rdmapmd_device_register("one", "driver", NULL, &device), 0);
	rdmapmd_device_unregister(device);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_of_devices),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_from_many_threads),
		cmocka_unit_test(test_a_second_copy_is_refused),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s LIBRDMAPMD.SO\n", argv[0]);
		return 2;
	}
	library = argv[1];
	return cmocka_run_group_tests_name("rdmapmd", tests, NULL, NULL);
}
