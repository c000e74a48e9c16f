/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each part of a device's round may end with a unit that takes milliseconds. They do not add up: a round takes its time and one
 * such unit. What had no turn comes first in the next one.
 *
 * Here each part takes as long as the test says, by the test's clock.
 */
#include "prm/init_seg.h"
#include "qp_world.h"
#include "test_clock.h"
/* Parts of a round that take as long as the test says. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/receive/qp.h"

#define ROUND_NS  UINT64_C(1000000)
#define LOOKS_NS  UINT64_C(100000) /* each look at the clock takes a microsecond */
#define NS_PER_US UINT64_C(1000)

enum part {
	PART_COMMANDS,
	PART_SQS,
	PART_QPS,
	PART_WIRE,
	PARTS,
};

static uint64_t unit_us[PARTS];
static unsigned int turns[PARTS], order[2 * PARTS], count;

unsigned int __wrap_softrnic_cmdq_poll(struct softrnic *dev);
unsigned int __real_softrnic_doorbells_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_doorbells_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_qps_poll(struct softrnic *dev);
unsigned int __real_softrnic_wire_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_wire_poll(struct softrnic *dev);

/* Its last unit, which is charged when it is done. */
static unsigned int
part_ends(struct softrnic *dev, enum part part)
{
	turns[part]++;
	if (count < 2 * PARTS)
		order[count++] = part;
	if (unit_us[part] > 0) {
		test_clock_advance_us(unit_us[part]);
		softrnic_spend(dev, 2 * SOFTRNIC_LOOK_WORK);
	}
	return 1;
}

unsigned int
__wrap_softrnic_cmdq_poll(struct softrnic *dev)
{
	atomic_store(&dev->cmd_doorbell, 0);
	softrnic_share_begin(dev, softrnic_now_ns() + SOFTRNIC_SHARE_NS);
	return part_ends(dev, PART_COMMANDS);
}

unsigned int
__wrap_softrnic_doorbells_poll(struct softrnic *dev)
{
	__real_softrnic_doorbells_poll(dev);
	softrnic_share_begin(dev, softrnic_now_ns() + SOFTRNIC_SHARE_NS);
	return part_ends(dev, PART_SQS);
}

/* A queue pair that has work stays so. */
unsigned int
__wrap_softrnic_qps_poll(struct softrnic *dev)
{
	softrnic_share_begin(dev, softrnic_now_ns() + SOFTRNIC_SHARE_NS);
	return part_ends(dev, PART_QPS);
}

unsigned int
__wrap_softrnic_wire_poll(struct softrnic *dev)
{
	__real_softrnic_wire_poll(dev);
	return part_ends(dev, PART_WIRE);
}

static struct qw_two *
open_busy(void)
{
	const struct qw_conf conf = { .seed = 1, .dup_ppm = 1 };
	const struct qw_attr attr = qw_attr();
	struct qw_two *two;

	memset(unit_us, 0, sizeof(unit_us));
	two = qw_two_open(&conf);
	qw_two_connect(two, &attr);
	softrnic_qp_activate(two->qw.ends[0]->dp.dev, qw_qp_inside(&two->a));
	return two;
}

static int
setup(void **state)
{
	*state = open_busy();
	return 0;
}

static int
teardown(void **state)
{
	memset(unit_us, 0, sizeof(unit_us));
	qw_two_close(*state);
	return 0;
}

/* With a command that waits. @return how long it took. */
static uint64_t
round_ns(struct qw_two *two)
{
	const struct rnic_be32 slot = rnic_cpu_to_be32(1);
	uint64_t start = softrnic_now_ns();

	assert_int_equal(softrnic_bar_write(two->qw.ends[0]->dp.dev,
					    RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &slot,
					    sizeof(slot)),
			 0);
	count = 0;
	softrnic_poll(two->qw.poller);
	return softrnic_now_ns() - start;
}

/* Where nothing takes long, all have their turn in each round. */
static void
test_all_parts_have_their_turn(void **state)
{
	for (unsigned int i = 0; i < 10; i++) {
		assert_true(round_ns(*state) < LOOKS_NS);
		assert_int_equal(count, PARTS);
		for (unsigned int part = 0; part < PARTS; part++)
			assert_int_equal(order[part], part);
	}
}

/* Whichever of them end with a unit that is long, a round has one of those, and each part its turn in a few rounds. */
static void
test_long_units_do_not_add_up(void **state)
{
	enum { UNIT_US = 4000, ROUNDS = 4 * PARTS };

	for (unsigned int mask = 1; mask < 1u << PARTS; mask++) {
		memset(turns, 0, sizeof(turns));
		for (unsigned int part = 0; part < PARTS; part++)
			unit_us[part] = (mask >> part & 1) * UNIT_US;
		for (unsigned int i = 0; i < ROUNDS; i++)
			assert_in_range(round_ns(*state), 1,
					ROUND_NS + UNIT_US * NS_PER_US + LOOKS_NS);
		for (unsigned int part = 0; part < PARTS; part++)
			assert_true(turns[part] >= ROUNDS / (PARTS + 1));
	}
}

/* Some longer than a share, but none as long as a round. */
static void
test_what_a_part_overran_shortens_the_others(void **state)
{
	enum { UNIT_US = 600 };

	for (unsigned int part = 0; part < PARTS; part++)
		unit_us[part] = UNIT_US;
	assert_in_range(round_ns(*state), 1, ROUND_NS + UNIT_US * NS_PER_US + LOOKS_NS);
	assert_int_equal(count, 2);
	assert_int_equal(order[0], PART_COMMANDS);
	assert_int_equal(order[1], PART_SQS);
	/* Who had no turn comes first. */
	round_ns(*state);
	assert_int_equal(count, 2);
	assert_int_equal(order[0], PART_QPS);
	assert_int_equal(order[1], PART_WIRE);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_all_parts_have_their_turn),
		T(test_long_units_do_not_add_up),
		T(test_what_a_part_overran_shortens_the_others),
	};

	return cmocka_run_group_tests_name("qp_round", tests, NULL, NULL);
}
