/* SPDX-License-Identifier: BSD-3-Clause */

/* What the driver's unit tests share: EAL, an open device, and the account of what it must give back. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "core/dev.h"
#include "softrnic/softrnic.h"

#define UNIT_DEVICE	 "net_rnic0"
#define UNIT_PATIENCE_MS 60000 /* until something is taken not to come */

/* Does it come to be so, within that time? */
#define UNIT_COMES(condition)                                                      \
	__extension__({                                                            \
		unsigned int unit_ms = 0;                                          \
		bool unit_came;                                                    \
		while (!(unit_came = (condition)) && unit_ms++ < UNIT_PATIENCE_MS) \
			rte_delay_us_sleep(1000);                                  \
		unit_came;                                                         \
	})

/* EAL without hugepages, or with the program's own arguments if it has some. Without hugepages: a skip. */
int unit_main(int argc, char **argv, int (*run)(void));
/* The main() of a program whose tests are one group, without more ado. */
#define UNIT_MAIN(name, tests)                                               \
	static int unit_run(void)                                            \
	{                                                                    \
		return cmocka_run_group_tests_name(name, tests, NULL, NULL); \
	}                                                                    \
	int main(int argc, char **argv)                                      \
	{                                                                    \
		return unit_main(argc, argv, unit_run);                      \
	}

/* The process's resources: rte_malloc's heaps and open descriptors. */
struct unit_account {
	uint64_t heap_bytes, heap_blocks;
	unsigned int fds;
};
void unit_account_take(struct unit_account *account);
void unit_account_assert_same(const struct unit_account *before);

/*
 * What devices are opened with from now on (base/tunables.h), with more patience than the driver's own; one that is open has
 * its own, dev->tunables. What main() sets before unit_main() is for all tests, what a test sets until its teardown.
 */
struct rnic_tunables *unit_tunables(void);
/*
 * Teardown of every test, of itself or with another one: unit_tunables() are as for all, and no stage of a bring-up has a
 * hook.
 */
#define UNIT_TEST(name) cmocka_unit_test_teardown(name, unit_restore)
int unit_restore(void **state);

/* Setup and teardown of a test that wants an open device in *state. */
#define UNIT_OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, unit_open, unit_close)
int unit_open(void **state);
int unit_close(void **state);

/* The device half of a driver's device, and how many objects it has. */
struct softrnic *unit_softrnic(struct rnic_dev *dev);
uint32_t unit_objects(struct rnic_dev *dev);
/* It answers this command with that status from now on; as ever again. */
void unit_refuse(struct rnic_dev *dev, uint16_t opcode, uint8_t status);
void unit_refuse_nothing(struct rnic_dev *dev);
void unit_wait_for_link(struct rnic_dev *dev, bool up);
/* How often it was told to be lost since it is watched for that, as an ethdev watches. */
void unit_watch_for_loss(struct rnic_dev *dev);
extern atomic_uint unit_losses;

/* What the driver says from that level (RTE_LOG_*) on, until nobody listens; how often it has said it. */
void unit_listen(uint32_t level);
unsigned int unit_said(const char *what);
void unit_listen_no_more(void);

/*
 * Open with a hook that watches the device. After every close or failed open the counts tell what the device still held
 * when access to it was about to end.
 */
struct unit_watch {
	const char *fail_at; /* stage that the hook makes fail */
	/* Called when the command queue is about to come up: for faults. */
	void (*prepare)(struct softrnic *device);
	/* Filled in at the end. */
	struct softrnic_stats stats;
	uint32_t maps;
	bool ended;
};
extern struct unit_watch unit_watch;
/* Set the hook; the open is the caller's. */
void unit_watch_begin(void);
int unit_watched_open(struct rnic_dev **dev);
/* Nothing was left behind. */
void unit_watch_assert_clean(void);
/* The same as setup and teardown: in *state an open device that is watched, and at its end must leave nothing. */
#define UNIT_WATCHED_TEST(name) \
	cmocka_unit_test_setup_teardown(name, unit_watched_setup, unit_watched_close)
int unit_watched_setup(void **state);
int unit_watched_close(void **state);

/*
 * Set a hook that puts registers of the test's own in front of the device's, before there is a second thread; NULL: the
 * device's are good enough, and are unit_registers.
 */
void unit_plant(struct rnic_be32 (*read32)(struct rnic_access *access, uint64_t offset),
		void (*write32)(struct rnic_access *access, uint64_t offset,
				struct rnic_be32 value));
extern const struct rnic_access_ops *unit_registers;

/* Both halves must come to count the same; the driver counts a page before the device has it. */
void unit_wait_for_pages(struct rnic_dev *dev, uint32_t expected);

#endif
