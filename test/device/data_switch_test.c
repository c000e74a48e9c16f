/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames through a switch: whom it reaches, and what it learns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "data_expect.h"
#include "driver/vport.h"
#include "test_clock.h"

#define SIDES	3
#define MACS	1024 /* that it knows */
#define BUFFERS 2048u
#define ENDS	64

/* Of a test: pollers beside each other, three devices on them in turn that are not open yet, and where frames came. */
struct fixture {
	struct softrnic_poller *pollers[SIDES];
	unsigned int poller_count;
	struct dp_side sides[SIDES];
	uint32_t sent;
};

static const char *const names[SIDES] = { "a", "b", "c" };

/* What goes from one poller to another takes a round of each. */
static void
run(struct fixture *f)
{
	unsigned int idle = 0;

	while (idle < 4) {
		unsigned int done = 0;

		for (unsigned int i = 0; i < f->poller_count; i++)
			done += softrnic_poll(f->pollers[i]);
		idle = done == 0 ? idle + 1 : 0;
	}
}

/* Without a round of the others. */
static void
plug_beside(struct fixture *f, unsigned int side)
{
	const struct dp_cq_conf cq = { .log_size = 12, .uar = 1, .ignore_overrun = true };
	const struct dp_side_conf conf = {
		.device = { .name = names[side],
			    .wire = "switch:hub",
			    .mac = { 2, 0, 0, 0, 0, (uint8_t)(side + 1) } },
		.tx_cq = cq,
		.rx_cq = cq,
		.sq_log_size = 10,
		.sq_uar = 1,
		.rq_log_size = 11,
		.rq_log_stride = 4,
		.out_bytes = 2048,
		.in_bytes = 2048,
	};
	struct dp_side *at = &f->sides[side];

	assert_int_equal(dp_side_open(at, f->pollers[side % f->poller_count], &conf), 0);
	for (uint32_t i = 0; i < BUFFERS; i++)
		dp_post(&at->rq, at->in, 2048);
	dp_rq_record(&at->rq);
}

static void
plug(struct fixture *f, unsigned int side)
{
	plug_beside(f, side);
	run(f);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return -1;
	f->poller_count = (unsigned int)(uintptr_t)*state;
	rc = softrnic_poller_create(&f->pollers[0]);
	for (unsigned int i = 1; i < f->poller_count && rc == 0; i++)
		rc = softrnic_poller_create_beside(f->pollers[0], &f->pollers[i]);
	*state = f;
	return rc;
}

static int
setup_all(void **state)
{
	if (setup(state) != 0)
		return -1;
	for (unsigned int side = 0; side < SIDES; side++)
		plug(*state, side);
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	int rc = 0;

	for (unsigned int side = 0; side < SIDES; side++)
		dp_side_close(&f->sides[side]);
	for (unsigned int i = 0; i < f->poller_count; i++)
		rc |= softrnic_poller_destroy(f->pollers[i]);
	free(f);
	return rc;
}

static bool
is_up(struct fixture *f, unsigned int side)
{
	run(f);
	return drv_link_is_up(&f->sides[side].dp.drv);
}

/* A station's address; numbers below 256 are those of the devices, from 1 on. */
static void
mac_set(uint8_t *mac, uint32_t number)
{
	static const uint8_t zero[6] = { 2 };

	memcpy(mac, zero, 6);
	mac[4] = (uint8_t)(number >> 8);
	mac[5] = (uint8_t)number;
}

/* Where frames came since the last look: a bit for each device, each of which got one at most. */
static unsigned int
came(struct fixture *f)
{
	unsigned int where = 0;

	for (unsigned int side = 0; side < SIDES; side++) {
		const struct rnic_cqe *cqe;

		if (f->sides[side].dp.dev == NULL)
			continue;
		cqe = dp_cq_next(&f->sides[side].rx_cq);
		if (cqe == NULL)
			continue;
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), 60 + f->sent % 1000);
		assert_null(dp_cq_next(&f->sides[side].rx_cq));
		where |= 1u << side;
	}
	return where;
}

/* The frames that all devices count as lost. */
static uint64_t
lost(struct fixture *f)
{
	uint64_t count = 0;

	for (unsigned int side = 0; side < SIDES; side++) {
		if (f->sides[side].dp.dev != NULL)
			count += dp_stats(&f->sides[side].dp).wire_no_peer;
	}
	return count;
}

#define A 1u
#define B 2u
#define C 4u

/* From a device, with whatever source: where it came. */
static unsigned int
send_macs(struct fixture *f, unsigned int side, const uint8_t *dmac, const uint8_t *smac)
{
	struct dp_side *from = &f->sides[side];

	f->sent++;
	memcpy(from->out, dmac, 6);
	memcpy(from->out + 6, smac, 6);
	dp_send(&from->sq, from->out, 60 + f->sent % 1000);
	while (dp_cq_next(&from->tx_cq) == NULL)
		softrnic_poll(from->dp.poller);
	run(f);
	return came(f);
}

static unsigned int
send_to(struct fixture *f, unsigned int side, uint32_t to, uint32_t as)
{
	uint8_t dmac[6], smac[6];

	mac_set(dmac, to);
	mac_set(smac, as);
	return send_macs(f, side, dmac, smac);
}

/* As a pair's: up while there is somebody at another end. */
static void
test_the_link_is_up_while_another_end_is(void **state)
{
	struct fixture *f = *state;

	plug(f, 0);
	assert_false(is_up(f, 0));
	plug(f, 1);
	assert_true(is_up(f, 0) && is_up(f, 1));
	plug(f, 2);
	assert_true(is_up(f, 0) && is_up(f, 1) && is_up(f, 2));
	/* Who switches itself off is alone in that. */
	assert_int_equal(drv_link_switch(&f->sides[2].dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_true(is_up(f, 0) && is_up(f, 1) && !is_up(f, 2));
	assert_int_equal(drv_link_switch(&f->sides[1].dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_true(!is_up(f, 0) && !is_up(f, 1));
	assert_int_equal(drv_link_switch(&f->sides[2].dp.drv, RNIC_VPORT_STATE_FOLLOW), 0);
	assert_true(is_up(f, 0) && !is_up(f, 1) && is_up(f, 2));
	dp_side_close(&f->sides[2]);
	assert_false(is_up(f, 0));
	plug(f, 2);
	assert_true(is_up(f, 0) && is_up(f, 2));
}

static void
test_unknown_addresses_reach_all_and_known_ones_one(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(send_to(f, 0, 2, 1), B | C);
	/* The answer teaches it, and it has learned whom that is for. */
	assert_int_equal(send_to(f, 1, 1, 2), A);
	assert_int_equal(send_to(f, 0, 2, 1), B);
	assert_int_equal(send_to(f, 2, 2, 3), B);
	assert_int_equal(send_to(f, 1, 3, 2), C);
	/* Nobody has it. */
	assert_int_equal(send_to(f, 1, 77, 2), A | C);
	assert_int_equal(lost(f), 0);
	/* Not back: it is where the frame came from. */
	assert_int_equal(send_to(f, 0, 1, 1), 0);
	assert_int_equal(lost(f), 1);
}

static void
test_groups_reach_all_but_who_sends(void **state)
{
	static const uint8_t group[6] = { 0x33, 0x33, 0, 0, 0, 1 },
			     all[6] = { 255, 255, 255, 255, 255, 255 };
	struct fixture *f = *state;
	uint8_t mac[6];

	mac_set(mac, 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(send_macs(f, 0, group, mac), B | C);
		assert_int_equal(send_macs(f, 0, all, mac), B | C);
		assert_int_equal(send_macs(f, 1, all, mac), A | C);
		/* A group is nobody's address, whoever says so. */
		assert_int_equal(send_macs(f, 1, group, all), A | C);
		assert_int_equal(send_macs(f, 2, all, group), A | B);
	}
}

static void
test_a_station_that_moves_is_found(void **state)
{
	struct fixture *f = *state;

	send_to(f, 0, 300, 77);
	assert_int_equal(send_to(f, 2, 77, 3), A);
	send_to(f, 1, 300, 77);
	assert_int_equal(send_to(f, 2, 77, 3), B);
}

/* ... also by those who have not heard from it since. */
static void
test_a_station_that_moved_unseen_is_found(void **state)
{
	struct fixture *f = *state;

	send_to(f, 0, 300, 77);
	send_to(f, 0, 300, 1);
	assert_int_equal(send_to(f, 1, 77, 2), A);
	/* Only the first one's switch learns of it. */
	assert_int_equal(send_to(f, 2, 1, 77), A);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(send_to(f, 1, 77, 2), C);
	assert_int_equal(lost(f), 0);
}

/*
 * The second one's thread is late: frames for it fill what there is between them, and the others wait for it a moment, not longer.
 * A device that comes meanwhile waits along, and not for ever.
 */
static void
test_nobody_waits_long_for_a_thread_that_is_late(void **state)
{
	struct fixture *f = *state;
	struct dp_side *from = &f->sides[0];
	uint32_t sent;

	plug(f, 0);
	plug(f, 1);
	send_to(f, 0, 500, 1);
	send_to(f, 1, 1, 2);
	mac_set(from->out, 2);
	mac_set(from->out + 6, 1);
	/* 1 MiB, after which there is a wait, and more than the other one, after which frames are lost. */
	for (sent = 0; sent < 1700; sent++) {
		dp_send(&from->sq, from->out, 1400);
		while (dp_cq_next(&from->tx_cq) == NULL) {
			softrnic_poll(f->pollers[0]);
			test_clock_advance_us(100);
		}
	}
	plug_beside(f, 2);
	assert_int_equal(dp_stats(&from->dp).tx_packets, 1 + sent);
	assert_true(dp_stats(&from->dp).wire_dropped > 0);
	run(f);
	while (dp_cq_next(&f->sides[1].rx_cq) != NULL)
		;
	assert_int_equal(dp_stats(&f->sides[1].dp).rx_packets + dp_stats(&from->dp).wire_dropped,
			 1 + sent);
	/* All is as before. */
	f->sent = 0;
	assert_int_equal(send_to(f, 2, 1, 3), A);
	assert_int_equal(send_to(f, 0, 2, 1), B);
	assert_int_equal(send_to(f, 1, 3, 2), C);
}

static void
test_the_address_that_was_not_seen_for_longest_goes(void **state)
{
	struct fixture *f = *state;
	uint32_t first = 1000;

	/* The one that asks is known, too, and is seen again with each question. */
	send_to(f, 2, 500, 3);
	for (uint32_t i = 0; i < MACS - 1; i++)
		send_to(f, 0, 500, first + i);
	assert_int_equal(send_to(f, 2, first, 3), A);
	assert_int_equal(send_to(f, 2, first + MACS - 2, 3), A);
	/* One more: the first one would go, but it is seen again. */
	send_to(f, 0, 500, first);
	send_to(f, 0, 500, first + MACS);
	assert_int_equal(send_to(f, 2, first, 3), A);
	assert_int_equal(send_to(f, 2, first + 1, 3), A | B);
	assert_int_equal(send_to(f, 2, first + 2, 3), A);
	assert_int_equal(send_to(f, 2, first + MACS, 3), A);
	/* All of them are others now. */
	for (uint32_t i = 0; i < MACS - 1; i++)
		send_to(f, 1, 500, 5000 + i);
	assert_int_equal(send_to(f, 2, first, 3), A | B);
	assert_int_equal(send_to(f, 2, 5000, 3), B);
}

/* What was at an end that left is anywhere. */
static void
test_an_end_that_leaves_is_forgotten(void **state)
{
	struct fixture *f = *state;

	send_to(f, 1, 500, 2);
	assert_int_equal(send_to(f, 0, 2, 1), B);
	dp_side_close(&f->sides[1]);
	memset(&f->sides[1], 0, sizeof(f->sides[1]));
	assert_int_equal(send_to(f, 0, 2, 1), C);
	/* It comes back, where another one might be by now. */
	plug(f, 1);
	assert_int_equal(send_to(f, 0, 2, 1), B | C);
	send_to(f, 1, 500, 2);
	assert_int_equal(send_to(f, 0, 2, 1), B);
}

/* A port that is switched off gets nothing, and what is for it goes nowhere else. */
static void
test_an_end_without_a_link_is_not_reached(void **state)
{
	struct fixture *f = *state;

	send_to(f, 1, 500, 2);
	assert_int_equal(drv_link_switch(&f->sides[1].dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_int_equal(send_to(f, 0, 2, 1), 0);
	assert_int_equal(lost(f), 1);
	assert_int_equal(send_to(f, 0, 500, 1), C);
}

static void
test_there_are_64_ends_and_names_are_checked(void **state)
{
	struct fixture *f = *state;
	struct softrnic_conf conf = { .wire = "switch:hub" };
	struct softrnic_poller *poller = f->pollers[f->poller_count - 1];
	struct softrnic *devs[ENDS], *more;
	char name[16];

	conf.name = name;
	for (unsigned int i = 0; i < ENDS; i++) {
		snprintf(name, sizeof(name), "end%u", i);
		assert_int_equal(softrnic_create(f->pollers[i % f->poller_count], &conf, &devs[i]),
				 0);
	}
	snprintf(name, sizeof(name), "more");
	assert_int_equal(softrnic_create(poller, &conf, &more), -EEXIST);
	/* Another switch has its own. */
	conf.wire = "switch:hub2";
	assert_int_equal(softrnic_create(poller, &conf, &more), 0);
	softrnic_destroy(more);
	softrnic_destroy(devs[10]);
	conf.wire = "switch:hub";
	assert_int_equal(softrnic_create(poller, &conf, &devs[10]), 0);
	for (unsigned int i = 0; i < ENDS; i++)
		softrnic_destroy(devs[i]);
	conf.wire = "switch:";
	assert_int_equal(softrnic_create(poller, &conf, &more), -EINVAL);
	conf.wire = "switch";
	assert_int_equal(softrnic_create(poller, &conf, &more), -EINVAL);
	conf.wire = "switch:0123456789012345678901234567890123456789012345678901234567890123";
	assert_int_equal(softrnic_create(poller, &conf, &more), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define ON(name, setup, pollers) \
	{ #name "_" #pollers, name, setup, teardown, (void *)(uintptr_t)(pollers) }
#define ALL(name, setup) ON(name, setup, 1), ON(name, setup, 2), ON(name, setup, 3)
		ALL(test_the_link_is_up_while_another_end_is, setup),
		ALL(test_unknown_addresses_reach_all_and_known_ones_one, setup_all),
		ALL(test_groups_reach_all_but_who_sends, setup_all),
		ALL(test_a_station_that_moves_is_found, setup_all),
		ALL(test_a_station_that_moved_unseen_is_found, setup_all),
		ON(test_nobody_waits_long_for_a_thread_that_is_late, setup, 2),
		/* Each poller's switch has its own addresses, and sees what comes to it. */
		ON(test_the_address_that_was_not_seen_for_longest_goes, setup_all, 1),
		ALL(test_an_end_that_leaves_is_forgotten, setup_all),
		ALL(test_an_end_without_a_link_is_not_reached, setup_all),
		ALL(test_there_are_64_ends_and_names_are_checked, setup),
	};

	return cmocka_run_group_tests_name("data_switch", tests, NULL, NULL);
}
