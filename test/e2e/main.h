/* SPDX-License-Identifier: BSD-3-Clause */

/* Programs whose tests are one group, on ports 0 and 1 with a wire between them. */
#ifndef E2E_MAIN_H
#define E2E_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port.h"

/* A test that starts the pair, and stops it unless it fails. */
#define E2E_PAIR_TEST(name) cmocka_unit_test_teardown(name, e2e_pair_give_up)

#define E2E_PAIR_MAIN(name, tests)                                                        \
	int main(int argc, char **argv)                                                   \
	{                                                                                 \
		static const char *const vdevs[] = { "net_rnic0,wire=pair:" name,         \
						     "net_rnic1,wire=pair:" name, NULL }; \
		int failed;                                                               \
                                                                                          \
		if (e2e_init(name, e2e_ports(argc, argv, vdevs)) < 0)                     \
			return 1;                                                         \
		failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);            \
		e2e_fini();                                                               \
		return failed;                                                            \
	}

#endif
