/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The clock of a device that its test polls: a microsecond goes by each time that somebody looks at it, and what the
 * test says. However slowly the test runs, or whenever it is held up, no deadline passes that it did not wait for.
 *
 * Tests have it by test_clock_dep (meson.build), for the two clocks that the device asks. Others, of CPU time, are real.
 */
#ifndef TEST_DEVICE_TEST_CLOCK_H
#define TEST_DEVICE_TEST_CLOCK_H

#include <stdint.h>

void test_clock_advance_us(uint64_t us);

#endif
