/* SPDX-License-Identifier: BSD-3-Clause */

/* cmocka and what it needs, and tests that are made at run time. */
#ifndef LAYOUT_TEST_H
#define LAYOUT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A list of tests that grows; names are copied. The process ends with it. */
struct test_list {
	struct CMUnitTest *tests;
	size_t count;
};

static inline void
test_list_add(struct test_list *list, const char *name, CMUnitTestFunction function, void *state)
{
	struct CMUnitTest test = { strdup(name), function, NULL, NULL, state };

	list->tests = realloc(list->tests, (list->count + 1) * sizeof(test));
	list->tests[list->count++] = test;
}

static inline int
test_list_run(const char *group, struct test_list *list)
{
	int failed = _cmocka_run_group_tests(group, list->tests, list->count, NULL, NULL);

	for (size_t i = 0; i < list->count; i++)
		free((void *)(uintptr_t)list->tests[i].name);
	free(list->tests);
	return failed;
}

#endif
