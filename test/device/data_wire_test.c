/* SPDX-License-Identifier: BSD-3-Clause */

/* Wires, faults, counters, doorbells in all their ways, and the device thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "data_expect.h"
#include "driver/counter.h"
#include "softrnic/base/clock.h"

#define FRAMES 400

/* Of a test: a poller, and room for the devices on it, which are closed behind it. */
struct fixture {
	struct softrnic_poller *poller;
	struct dp_side a, b;
};

static void
side_open(struct dp_side *side, struct softrnic_poller *poller, const struct softrnic_conf *device)
{
	const struct dp_cq_conf cq = { .log_size = 11, .uar = 1, .ignore_overrun = true };
	const struct dp_side_conf conf = { .device = *device,
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = 10,
					   .sq_uar = 1,
					   .rq_log_size = 11,
					   .rq_log_stride = 4,
					   .out_bytes = 2048,
					   .in_bytes = 2048 * 2048 };

	assert_int_equal(dp_side_open(side, poller, &conf), 0);
	side->out[0] = 2;
	for (uint32_t i = 0; i < 2048; i++)
		dp_post(&side->rq, side->in + (size_t)i * 2048, 2048);
	dp_rq_record(&side->rq);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	return f != NULL ? softrnic_poller_create(&f->poller) : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	int rc;

	dp_side_close(&f->a);
	dp_side_close(&f->b);
	rc = softrnic_poller_destroy(f->poller);
	free(f);
	return rc;
}

/* The first device, on a loop wire with these members of struct softrnic_conf. */
#define LOOP(f, ...)                    \
	side_open(&(f)->a, (f)->poller, \
		  &(struct softrnic_conf){ .name = "a", .wire = "loop", ##__VA_ARGS__ })

static bool
is_up(struct dp_side *side)
{
	return drv_link_is_up(&side->dp.drv);
}

static uint32_t
count_received(struct dp_side *side)
{
	uint32_t count = 0;

	while (dp_cq_next(&side->rx_cq) != NULL)
		count++;
	return count;
}

/* The last PORT_CHANGE among the events; 0: none. */
static unsigned int
port_event(struct dp_side *side)
{
	const struct rnic_eqe *eqe;
	unsigned int last = 0;

	dp_run(&side->dp);
	while ((eqe = dp_eq_next(&side->dp)) != NULL) {
		if (eqe->type == RNIC_EVENT_PORT_CHANGE)
			last = eqe->sub_type;
		dp_eq_seen(&side->dp);
	}
	return last;
}

static void
test_pair_link(void **state)
{
	struct fixture *f = *state;
	struct dp_side *a = &f->a, *b = &f->b;
	struct softrnic_conf a_conf = { .name = "a", .wire = "pair:cable" };
	struct softrnic_conf b_conf = { .name = "b", .wire = "pair:cable" };
	struct softrnic_conf c_conf = { .name = "c", .wire = "pair:cable" };
	struct softrnic *c = NULL;

	side_open(a, f->poller, &a_conf);
	port_event(a);
	assert_false(is_up(a));
	dp_send(&a->sq, a->out, 64);
	dp_run(&a->dp);
	assert_int_equal(dp_stats(&a->dp).tx_packets, 0);
	side_open(b, f->poller, &b_conf);
	assert_true(is_up(a));
	assert_true(is_up(b));
	assert_int_equal(port_event(a), RNIC_PORT_CHANGE_ACTIVE);
	assert_int_equal(softrnic_create(f->poller, &c_conf, &c), -EEXIST);
	c_conf.wire = "pair:";
	assert_int_equal(softrnic_create(f->poller, &c_conf, &c), -EINVAL);
	c_conf.wire = "string";
	assert_int_equal(softrnic_create(f->poller, &c_conf, &c), -EINVAL);
	c_conf.wire = "loop:x";
	assert_int_equal(softrnic_create(f->poller, &c_conf, &c), -EINVAL);
	/* Both ways, not back. */
	dp_send(&a->sq, a->out, 100);
	dp_send(&b->sq, b->out, 200);
	dp_run(&a->dp);
	assert_int_equal(rnic_be32_to_cpu(dp_cq_next(&a->rx_cq)->byte_count), 200);
	assert_int_equal(rnic_be32_to_cpu(dp_cq_next(&b->rx_cq)->byte_count), 100);
	assert_null(dp_cq_next(&a->rx_cq));
	assert_null(dp_cq_next(&b->rx_cq));
	/* Pulled out, and plugged in again. */
	dp_close(&b->dp);
	assert_int_equal(port_event(a), RNIC_PORT_CHANGE_DOWN);
	assert_false(is_up(a));
	dp_send(&a->sq, a->out, 64);
	dp_run(&a->dp);
	side_open(b, f->poller, &b_conf);
	assert_int_equal(port_event(a), RNIC_PORT_CHANGE_ACTIVE);
	dp_send(&a->sq, a->out, 64);
	dp_run(&a->dp);
	assert_int_equal(count_received(b), 1);
	dp_close(&a->dp);
	assert_false(is_up(b));
}

static void
self_lb_set(struct dp_side *side, uint64_t self_lb)
{
	struct rnic_modify_tir_in in = { 0 };
	uint32_t out[4];

	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_TIRN, side->rq.tirn);
	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_BITMASK, 0x10);
	rnic_tirc_set(rnic_modify_tir_in_tirc(&in), RNIC_TIRC_SELF_LB_BLOCK, self_lb);
	assert_int_equal(
		dp_command(&side->dp, RNIC_CMD_MODIFY_TIR, 0, &in, sizeof(in), out, sizeof(out)),
		0);
}

/* A frame of `a`: where it comes out. */
static void
expect_where(struct dp_side *a, struct dp_side *b, const uint8_t *dmac, uint32_t at_a,
	     uint32_t at_b)
{
	memcpy(a->out, dmac, 6);
	dp_send(&a->sq, a->out, 100);
	dp_run(&a->dp);
	assert_int_equal(count_received(a), at_a);
	assert_int_equal(count_received(b), at_b);
}

/* Past the wire, where the TIR asks for it: what is for the own address and not for the peer, and all multicast. */
static void
test_what_is_sent_to_oneself(void **state)
{
	static const uint8_t group[6] = { 0x33, 0x33, 0, 0, 0, 1 },
			     all[6] = { 255, 255, 255, 255, 255, 255 };
	static const struct softrnic_conf a_conf = { .name = "a",
						     .wire = "pair:self",
						     .mac = { 2, 0, 0, 0, 0, 1 } },
					  b_conf = { .name = "b",
						     .wire = "pair:self",
						     .mac = { 2, 0, 0, 0, 0, 2 } };
	const uint8_t *own = a_conf.mac, *other = b_conf.mac;
	struct fixture *f = *state;
	struct dp_side *a = &f->a, *b = &f->b;

	side_open(a, f->poller, &a_conf);
	side_open(b, f->poller, &b_conf);
	expect_where(a, b, own, 0, 1);
	expect_where(a, b, group, 0, 1);
	self_lb_set(a, RNIC_TIR_SELF_LB_UNICAST);
	expect_where(a, b, own, 1, 0);
	expect_where(a, b, other, 0, 1);
	expect_where(a, b, group, 0, 1);
	self_lb_set(a, RNIC_TIR_SELF_LB_MULTICAST);
	expect_where(a, b, own, 0, 0);
	expect_where(a, b, group, 1, 1);
	expect_where(a, b, all, 1, 1);
	self_lb_set(a, RNIC_TIR_SELF_LB_UNICAST | RNIC_TIR_SELF_LB_MULTICAST);
	expect_where(a, b, own, 1, 0);
	expect_where(a, b, group, 1, 1);
	/* What the peer sends is not from oneself. */
	self_lb_set(a, 0);
	expect_where(b, a, own, 0, 1);
	expect_where(a, b, own, 0, 1);
}

static void
expect_counted(struct dp_side *side, enum rnic_vport_counters_field packets,
	       enum rnic_vport_counters_field octets, uint32_t count, uint32_t bytes)
{
	assert_int_equal(drv_vport_counter(&side->dp.drv, packets), count);
	assert_int_equal(drv_vport_counter(&side->dp.drv, octets), bytes);
}

static void
test_counters(void **state)
{
#define COUNTERS(way, kind)                               \
	RNIC_VPORT_COUNTERS_##way##_ETH_##kind##_PACKETS, \
		RNIC_VPORT_COUNTERS_##way##_ETH_##kind##_OCTETS
	static const struct {
		uint8_t first; /* byte of the destination */
		enum rnic_vport_counters_field sent, sent_bytes, received, received_bytes;
	} kinds[] = {
		{ 0x02, COUNTERS(TRANSMITTED, UNICAST), COUNTERS(RECEIVED, UNICAST) },
		{ 0x01, COUNTERS(TRANSMITTED, MULTICAST), COUNTERS(RECEIVED, MULTICAST) },
		{ 0xff, COUNTERS(TRANSMITTED, BROADCAST), COUNTERS(RECEIVED, BROADCAST) },
	};
	struct fixture *f = *state;
	struct dp_side *side = &f->a;
	uint32_t i, count, bytes[3] = { 0 };

	LOOP(f);
	for (i = 0; i < FRAMES; i++) {
		/* The device reads the frame when it runs: one at a time. */
		memset(side->out, kinds[i % 3].first, 6);
		dp_send(&side->sq, side->out, 60 + i);
		dp_run(&side->dp);
		bytes[i % 3] += 60 + i;
	}
	/* Less than a header: gone, and counted. */
	dp_send(&side->sq, side->out, 13);
	dp_run(&side->dp);
	for (i = 0; i < 3; i++) {
		count = FRAMES / 3 + (i < FRAMES % 3);
		expect_counted(side, kinds[i].sent, kinds[i].sent_bytes, count, bytes[i]);
		expect_counted(side, kinds[i].received, kinds[i].received_bytes, count, bytes[i]);
	}
	assert_int_equal(
		drv_vport_counter(&side->dp.drv, RNIC_VPORT_COUNTERS_TRANSMIT_ERRORS_PACKETS), 1);
	assert_int_equal(dp_stats(&side->dp).wqes, FRAMES + 1);
	assert_int_equal(dp_stats(&side->dp).tx_bytes, bytes[0] + bytes[1] + bytes[2]);
	assert_int_equal(count_received(side), FRAMES);
}

/* What a seeded bad cable lets through, as a hash of lengths and contents in order. */
static uint64_t
bad_cable(struct softrnic_poller *poller, const struct softrnic_conf *conf,
	  struct softrnic_stats *stats)
{
	uint64_t hash = 1469598103934665603u;
	const struct rnic_cqe *cqe;
	struct dp_side side;
	uint32_t i, k, slot, length;

	side_open(&side, poller, conf);
	for (i = 0; i < FRAMES; i++) {
		memcpy(side.out + 14, &i, sizeof(i));
		dp_send(&side.sq, side.out, 64 + i % 50);
		softrnic_poll(poller);
		softrnic_poll(poller);
	}
	dp_run(&side.dp);
	while ((cqe = dp_cq_next(&side.rx_cq)) != NULL) {
		slot = rnic_be16_to_cpu(cqe->wqe_counter);
		length = rnic_be32_to_cpu(cqe->byte_count);
		for (k = 0; k < length; k++)
			hash = (hash ^ side.in[(size_t)slot * 2048 + k]) * 1099511628211u;
		hash = (hash ^ length) * 1099511628211u;
	}
	*stats = dp_stats(&side.dp);
	dp_close(&side.dp);
	return hash;
}

static void
test_faults(void **state)
{
	struct softrnic_conf conf = { .name = "bad",
				      .wire = "loop",
				      .seed = 42,
				      .drop_ppm = 100000,
				      .dup_ppm = 100000,
				      .reorder_ppm = 100000,
				      .corrupt_ppm = 100000 };
	struct softrnic_stats one, two, three;
	struct fixture *f = *state;
	uint64_t hash = bad_cable(f->poller, &conf, &one);

	assert_true(one.wire_dropped > 10 && one.wire_duplicated > 10 && one.wire_reordered > 10 &&
		    one.wire_corrupted > 10);
	assert_int_equal(one.rx_packets, one.tx_packets - one.wire_dropped + one.wire_duplicated);
	assert_int_equal(bad_cable(f->poller, &conf, &two), hash);
	assert_int_equal(two.wire_dropped, one.wire_dropped);
	assert_int_equal(two.wire_reordered, one.wire_reordered);
	conf.seed = 43;
	assert_int_not_equal(bad_cable(f->poller, &conf, &three), hash);
	conf.drop_ppm = 1000000;
	bad_cable(f->poller, &conf, &three);
	assert_int_equal(three.wire_dropped, FRAMES);
	assert_int_equal(three.rx_packets, 0);
}

/* Send one frame that waits to be overtaken. */
static void
hold_one(struct dp_side *side, struct softrnic_poller *poller, uint64_t held)
{
	dp_send(&side->sq, side->out, 64);
	for (uint32_t i = 0; i < 20 && dp_stats(&side->dp).wire_reordered < held; i++)
		softrnic_poll(poller);
	assert_int_equal(dp_stats(&side->dp).wire_reordered, held);
}

/* A frame that waits to be overtaken when the link goes is lost and counted, and never sent later. */
static void
test_held_frame_dies_with_the_link(void **state)
{
	struct fixture *f = *state;
	struct dp_side *side = &f->a;

	LOOP(f, .reorder_ppm = 1000000);
	dp_run(&side->dp);
	hold_one(side, f->poller, 1);
	assert_int_equal(drv_link_switch(&side->dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_int_equal(dp_stats(&side->dp).wire_dropped, 1);
	dp_run(&side->dp);
	assert_int_equal(drv_link_switch(&side->dp.drv, RNIC_VPORT_STATE_UP), 0);
	dp_run(&side->dp);
	assert_int_equal(dp_stats(&side->dp).rx_packets, 0);
	assert_int_equal(count_received(side), 0);
	/* With the link up it goes on when nothing overtakes it. */
	hold_one(side, f->poller, 2);
	dp_run(&side->dp);
	assert_int_equal(count_received(side), 1);
	hold_one(side, f->poller, 3);
	assert_int_equal(drv_simple(&side->dp.drv, RNIC_CMD_TEARDOWN_HCA, 0, NULL), 0);
	assert_int_equal(dp_stats(&side->dp).wire_dropped, 2);
}

/* The first queue's buffers lie across what is sent from in + 1; the second one has a buffer of its own, which is returned. */
static uint8_t *
open_two_receivers(struct fixture *f)
{
	struct dp_side *side = &f->a;
	struct dp_rq other;
	uint32_t tirns[2];
	uint8_t *buffer;

	LOOP(f, .foreign_memory = true);
	assert_int_equal(dp_rq_create(&side->dp, &other, &side->rx_cq, 4, 4), 0);
	assert_int_equal(dp_tir_create(&other), 0);
	/* Each frame goes to both. */
	tirns[0] = side->rq.tirn;
	tirns[1] = other.tirn;
	assert_int_equal(drv_root_to_tirs(&side->dp.drv, tirns, 2, NULL), 0);
	buffer = dp_alloc(&side->dp, 2048, 64);
	dp_post(&other, buffer, 2048);
	dp_rq_record(&other);
	return buffer;
}

/* Its sender changes it while it is handled: the first receive buffer lies across it. */
static void
test_headers_out_of_foreign_memory_are_read_once(void **state)
{
	struct fixture *f = *state;
	struct dp_side *side = &f->a;
	uint8_t frame[100], *buffer = open_two_receivers(f);

	for (uint32_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7 + 2);
	memcpy(side->in + 1, frame, sizeof(frame));
	dp_send(&side->sq, side->in + 1, sizeof(frame));
	dp_run(&side->dp);
	assert_int_equal(count_received(side), 2);
	assert_memory_equal(side->in, frame, sizeof(frame));
	assert_memory_equal(buffer, frame, sizeof(frame));
}

/* Checksums too: the sender had the device make one, and its payload changes between the two queues. */
static void
test_checksums_are_of_what_arrives_out_of_foreign_memory(void **state)
{
	static const uint8_t headers[42] = { 2,	   0, 0,  0,  0, 1, 2, 0, 0,  0,  0, 2,	 8,  0,
					     0x45, 0, 1,  30, 0, 0, 0, 0, 64, 17, 0, 0,	 10, 0,
					     0,	   1, 10, 0,  0, 2, 1, 1, 1,  1,  1, 10, 0,  0 };
	struct fixture *f = *state;
	struct dp_side *side = &f->a;
	const struct rnic_cqe *cqe;
	uint8_t frame[300], *buffer = open_two_receivers(f);

	memcpy(frame, headers, sizeof(headers));
	for (uint32_t i = sizeof(headers); i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7 + 2);
	memcpy(side->in + 1, frame, sizeof(frame));
	dp_wqe(&side->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	((struct rnic_wqe_eth *)dp_wqe_at(&side->sq, 1))->cs_flags =
		RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM;
	dp_wqe_data(&side->sq, 2, side->in + 1, sizeof(frame));
	dp_sq_ring(&side->sq);
	dp_run(&side->dp);
	cqe = dp_cq_next(&side->rx_cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->hds_ip_ext & 7, 7);
	assert_memory_equal(side->in + 42, frame + 42, sizeof(frame) - 42);
	cqe = dp_cq_next(&side->rx_cq);
	assert_non_null(cqe);
	assert_memory_not_equal(buffer + 42, frame + 42, sizeof(frame) - 42);
	assert_int_equal(cqe->hds_ip_ext & 7, 3);
}

/* A doorbell that another one of the same page overwrote before the device looked. */
static void
test_lost_doorbell(void **state)
{
	struct fixture *f = *state;
	struct dp_side *side = &f->a;
	struct dp_sq other; /* on the same page */
	uint64_t missed;
	uint32_t i;

	LOOP(f);
	assert_int_equal(dp_sq_create(&side->dp, &other, &side->tx_cq, 10, 1, 0), 0);
	dp_run(&side->dp);
	for (i = 0; i < 2000; i++)
		softrnic_poll(f->poller);
	missed = dp_stats(&side->dp).doorbells_missed;
	dp_wqe(&side->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&side->sq, 2, side->out, 64);
	dp_sq_record(&side->sq); /* the register never tells */
	dp_send(&other, side->out, 65);
	dp_run(&side->dp);
	assert_int_equal(count_received(side), 2);
	assert_int_equal(dp_stats(&side->dp).doorbells_missed, missed + 1);
}

/* Doorbells as messages through the BAR: 8 bytes, two halves of 4, BlueFlame's 64 bytes. */
static void
test_bar_doorbells(void **state)
{
	struct fixture *f = *state;
	struct dp_side *side = &f->a;
	uint64_t at, bell;
	uint32_t i, way;

	LOOP(f);
	for (i = 0; i < 2000; i++)
		softrnic_poll(f->poller);
	for (i = 0; i < 300; i++) {
		way = i % 3;
		dp_wqe(&side->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
		dp_wqe_data(&side->sq, 2, side->out, 64);
		dp_sq_record(&side->sq);
		at = (uint64_t)side->sq.uar * RNIC_UAR_PAGE_BYTES + RNIC_UAR_BLUEFLAME +
		     (i & 1) * RNIC_BF_HALF_BYTES;
		memcpy(&bell, side->sq.last, 8);
		if (way == 0) {
			assert_int_equal(softrnic_bar_write(side->dp.dev, at, &bell, 8), 0);
		} else if (way == 1) {
			assert_int_equal(softrnic_bar_write(side->dp.dev, at, &bell, 4), 0);
			assert_int_equal(
				softrnic_bar_write(side->dp.dev, at + 4, (uint8_t *)&bell + 4, 4),
				0);
		} else {
			for (uint32_t k = 0; k < 64; k += 8)
				assert_int_equal(softrnic_bar_write(side->dp.dev, at + k,
								    (uint8_t *)side->sq.last + k,
								    8),
						 0);
		}
		assert_true(softrnic_poll(f->poller) > 0);
		assert_int_equal(count_received(side), 1);
	}
	assert_int_equal(softrnic_bar_write(side->dp.dev, at, &bell, 2), -EINVAL);
	assert_int_equal(softrnic_bar_write(side->dp.dev, at + 4, &bell, 8), -EINVAL);
	/* A CQ armed in two halves, with an entry there. */
	while (dp_eq_next(&side->dp) != NULL)
		;
	dp_send(&side->sq, side->out, 64);
	dp_run(&side->dp);
	side->rx_cq.dbrec->arm = rnic_cpu_to_be32(side->rx_cq.consumer);
	at = (uint64_t)side->rx_cq.uar * RNIC_UAR_PAGE_BYTES + RNIC_UAR_CQ_ARM;
	bell = RNIC_SWAP64((uint64_t)side->rx_cq.consumer << 32 | side->rx_cq.cqn);
	assert_int_equal(softrnic_bar_write(side->dp.dev, at, &bell, 4), 0);
	assert_int_equal(softrnic_bar_write(side->dp.dev, at + 4, (uint8_t *)&bell + 4, 4), 0);
	dp_run(&side->dp);
	assert_non_null(dp_eq_next(&side->dp));
	assert_null(dp_eq_next(&side->dp));
}

static double
process_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Wait for the device thread to deliver; false after many naps, of some 10 s in all if nobody disturbs them. */
static bool
wait_received(struct dp_side *side)
{
	for (uint32_t naps = 0; naps < 100000; naps++) {
		if (dp_cq_next(&side->rx_cq) != NULL)
			return true;
		usleep(20);
	}
	return false;
}

/*
 * Idle costs next to nothing: a good deal is left for sanitizers. A machine that is busy otherwise may charge a thread for
 * more than it did, so one window of many will do.
 */
static bool
idles(void)
{
	for (uint32_t i = 0; i < 50; i++) {
		uint64_t start = softrnic_now_ns();
		double before = process_cpu(), share;

		usleep(200000);
		share = (process_cpu() - before) * 1e9 / (double)(softrnic_now_ns() - start);
		if (share < 0.15)
			return true;
	}
	return false;
}

static void
test_host_thread(void **state)
{
	struct softrnic_conf conf = { .name = "hosted", .wire = "loop" };
	struct softrnic_poller *poller, *pinned, *again;
	struct dp_side side;
	uint32_t i;

	(void)state;
	assert_int_equal(softrnic_host_get(-1, &poller), 0);
	assert_int_equal(softrnic_host_get(-1, &again), 0);
	assert_ptr_equal(poller, again);
	/* A CPU has a thread of its own, and those who name it share that. */
	assert_int_equal(softrnic_host_get(0, &pinned), 0);
	assert_ptr_not_equal(poller, pinned);
	assert_int_equal(softrnic_host_get(0, &again), 0);
	assert_ptr_equal(pinned, again);
	assert_int_equal(softrnic_host_get(-1, &again), 0);
	assert_ptr_equal(poller, again);
	assert_int_equal(softrnic_host_get(1 << 20, &again), -EINVAL);
	side_open(&side, poller, &conf);
	for (i = 0; i < 200; i++) {
		dp_send(&side.sq, side.out, 64);
		assert_true(wait_received(&side));
		if (i % 50 == 0)
			usleep(20000); /* asleep: the next doorbell wakes it by its timeout */
	}
	assert_true(idles());
	dp_close(&side.dp);
	for (i = 0; i < 5; i++)
		softrnic_host_put();
	softrnic_host_put(); /* one too many does no harm */
	/* And once more from the start, on a core. */
	assert_int_equal(softrnic_host_get(0, &poller), 0);
	assert_int_equal(softrnic_host_get(-1, &again), 0);
	softrnic_host_put();
	softrnic_host_put();
}

static void
test_host_exit(void **state)
{
	struct softrnic_poller *poller;
	int status, i;
	pid_t pid;

	(void)state;
	/* A process that exits without giving the thread back, and a child that has the parent's host, but no thread. */
	for (i = 0; i < 2; i++) {
		if (i == 1)
			assert_int_equal(softrnic_host_get(-1, &poller), 0);
		pid = fork();
		if (pid == 0) {
			if (i == 1)
				softrnic_host_put();
#ifdef __SANITIZE_THREAD__
			if (i == 1) /* it forbids threads in such a child */
				exit(0);
#endif
			exit(softrnic_host_get(-1, &poller) == 0 ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		if (i == 1)
			softrnic_host_put();
	}
}

static void
test_what_goes_nowhere_counts_as_sent(void **state)
{
	struct fixture *f = *state;
	struct softrnic_conf conf = { .name = "a", .wire = "null" };
	struct softrnic *dev;

	side_open(&f->a, f->poller, &conf);
	assert_true(is_up(&f->a));
	for (uint32_t i = 0; i < FRAMES; i++)
		dp_send(&f->a.sq, f->a.out, 64);
	dp_run(&f->a.dp);
	assert_int_equal(dp_stats(&f->a.dp).tx_packets, FRAMES);
	assert_int_equal(dp_stats(&f->a.dp).tx_bytes, FRAMES * 64);
	assert_int_equal(dp_stats(&f->a.dp).tx_errors, 0);
	assert_int_equal(dp_stats(&f->a.dp).wire_no_peer, 0);
	assert_int_equal(count_received(&f->a), 0);
	conf.name = "b";
	conf.wire = "null:x";
	assert_int_equal(softrnic_create(f->poller, &conf, &dev), -EINVAL);
}

/* As many as there are buffers, and then no more: none is lost. */
static void
test_a_source_fills_all_buffers(void **state)
{
	static const uint32_t lengths[] = { 60, 64, 1000, 1514 };
	static const char *const wrong[] = { "source:59", "source:99999", "source:",
					     "source",	  "source:6x",	  "source:-64" };
	struct softrnic_conf conf = { .name = "a" };
	struct fixture *f = *state;
	struct softrnic *dev;
	char wire[32];

	for (unsigned int n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
		const struct rnic_cqe *cqe;

		snprintf(wire, sizeof(wire), "source:%u", lengths[n]);
		conf.wire = wire;
		side_open(&f->a, f->poller, &conf);
		dp_run(&f->a.dp);
		for (uint32_t i = 0; i < 2048; i++) {
			cqe = dp_cq_next(&f->a.rx_cq);
			assert_non_null(cqe);
			assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), lengths[n]);
			/* Its sums are right, for all that the device knows. */
			assert_true((cqe->hds_ip_ext & RNIC_CQE_L3_OK) != 0);
		}
		assert_null(dp_cq_next(&f->a.rx_cq));
		assert_int_equal(dp_stats(&f->a.dp).rx_packets, 2048);
		assert_int_equal(dp_stats(&f->a.dp).rx_no_buffer, 0);
		/* What is sent is gone. */
		dp_send(&f->a.sq, f->a.out, 64);
		dp_post(&f->a.rq, f->a.in, 2048);
		dp_rq_record(&f->a.rq);
		dp_run(&f->a.dp);
		assert_int_equal(dp_stats(&f->a.dp).tx_packets, 1);
		assert_int_equal(dp_stats(&f->a.dp).rx_packets, 2049);
		dp_close(&f->a.dp);
	}
	for (unsigned int n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
		conf.wire = wrong[n];
		assert_int_equal(softrnic_create(f->poller, &conf, &dev), -EINVAL);
	}
}

/* Longer than the port takes: it waits for another MTU, and is no error. */
static void
test_a_source_of_frames_that_are_too_long_waits(void **state)
{
	struct fixture *f = *state;

	side_open(&f->a, f->poller, &(struct softrnic_conf){ .name = "a", .wire = "source:4000" });
	dp_run(&f->a.dp);
	assert_int_equal(dp_stats(&f->a.dp).rx_packets, 0);
	assert_int_equal(dp_stats(&f->a.dp).rx_errors, 0);
}

/* Calls from other threads get their turn while the device thread is busy. */
static void
test_calls_not_starved(void **state)
{
	struct softrnic_conf conf = { .name = "busy", .wire = "loop" };
	struct softrnic_poller *poller;
	struct dp_side side;
	double before;
	uint32_t i, value;

	(void)state;
	assert_int_equal(softrnic_host_get(-1, &poller), 0);
	side_open(&side, poller, &conf);
	before = process_cpu();
	for (i = 0; i < 2000; i++) {
		dp_send(&side.sq, side.out, 64);
		assert_int_equal(softrnic_bar_read(side.dp.dev, 0, &value, 4), 0);
		if (i % 100 == 99) {
			while (count_received(&side) > 0)
				usleep(100);
		}
	}
	/* The device thread would poll for minutes if each of 2000 calls had to wait for luck. */
	assert_true(process_cpu() - before < 30);
	dp_close(&side.dp);
	softrnic_host_put();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_pair_link),
		T(test_what_is_sent_to_oneself),
		T(test_counters),
		T(test_faults),
		T(test_held_frame_dies_with_the_link),
		T(test_headers_out_of_foreign_memory_are_read_once),
		T(test_checksums_are_of_what_arrives_out_of_foreign_memory),
		T(test_lost_doorbell),
		T(test_what_goes_nowhere_counts_as_sent),
		T(test_a_source_fills_all_buffers),
		T(test_a_source_of_frames_that_are_too_long_waits),
		T(test_bar_doorbells),
		cmocka_unit_test(test_host_thread),
		cmocka_unit_test(test_host_exit),
		cmocka_unit_test(test_calls_not_starved),
	};

	return cmocka_run_group_tests_name("data_wire", tests, NULL, NULL);
}
