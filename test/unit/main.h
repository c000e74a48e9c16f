/* SPDX-License-Identifier: BSD-3-Clause */

/* The main() of a program whose tests are one group, and that needs nothing before them. */
#ifndef UNIT_MAIN_H
#define UNIT_MAIN_H

#define PLAIN_MAIN(name, tests)                                              \
	int main(void)                                                       \
	{                                                                    \
		return cmocka_run_group_tests_name(name, tests, NULL, NULL); \
	}

#endif
