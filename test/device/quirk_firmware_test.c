/* SPDX-License-Identifier: BSD-3-Clause */

/* Quirks of a firmware that is slow, or refuses, or tells of what nobody knows. Time is the test's own. */
#include <stdio.h>

#include "prm/cmd_table.h"
#include "quirk.h"
#include "test_clock.h"

/* ---- The end ---- */

/* All goes on: a reset alone ends it. */
static void
teardown_is_refused(void **state)
{
	struct hn hn;

	(void)state;
	start(&hn, "teardown-refused");
	hn_bring_up(&hn);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL),
			 RNIC_STATUS_INTERNAL_ERR);
	hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD);
	assert_int_equal(hn_take_pages(&hn, 16), 0);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_DISABLE_HCA, 0, 0, NULL),
			 RNIC_STATUS_BAD_SYS_STATE);
	assert_int_equal(softrnic_reset(hn.dev), 0);
	assert_int_equal(stats(&hn).pages_held, 0);
	hn_set_cmdq(&hn);
	hn_bring_up(&hn);
	hn_stop(&hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(teardown_is_refused),
	};

	return cmocka_run_group_tests_name("quirk_firmware", tests, NULL, NULL);
}
