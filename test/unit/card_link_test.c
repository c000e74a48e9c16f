/* SPDX-License-Identifier: BSD-3-Clause */

/* Links of cards, what they tell of modules and temperatures, and the clock that frames and reads are of. */

#include "card_port.h"

#include <string.h>
#include <time.h>

#include <rte_bus.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_mbuf_dyn.h>

#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "eqs.h"
#include "ethdev/rx_queue.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/reg.h"

/* ---- The link ---- */

static const struct rnic_paos_reg *
paos_of(const void *data)
{
	/* Behind the command's header, in as well as out. */
	return (const struct rnic_paos_reg *)((const uint8_t *)data + 0x10);
}

static struct {
	uint32_t extended, legacy, rate;
} link_answer;

static void
answer_link(const struct card_command *c)
{
	struct rnic_ptys_reg *ptys = (struct rnic_ptys_reg *)((uint8_t *)c->out + 0x10);

	if (card_register(c) != RNIC_REG_PTYS)
		return;
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_EXT_ETH_PROTO_OPER, link_answer.extended);
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_ETH_PROTO_OPER, link_answer.legacy);
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_DATA_RATE_OPER, link_answer.rate);
}

static void
test_speeds_of_newer_links(void **state)
{
	static const struct {
		uint32_t extended, legacy, rate, speed;
		uint8_t lanes;
	} links[] = {
		{ 1u << 12, 0, 0, 200000, 4 },	  { 1u << 14, 0, 0, 200000, 1 },
		{ 1u << 16, 0, 0, 400000, 4 },	  { 1u << 17, 0, 0, 400000, 2 },
		{ 1u << 19, 0, 0, 800000, 8 },	  { 1u << 20, 0, 0, 800000, 4 },
		{ 0, 1u << 20, 0, 100000, 4 },	  { 0, 1u << 27, 0, 25000, 1 },
		{ 0, 1u << 30, 0, 50000, 2 },	  { 1u << 23, 0, 16000, 1600000, 0 },
		{ 1u << 17, 0, 4000, 400000, 2 }, { 0, 0, 0, 0, 0 },
	};
	struct rnic_dev *dev = card_opened();
	struct rnic_port_info port;
	uint32_t speed;
	unsigned int i;
	bool up;

	(void)state;
	unit_wait_for_link(dev, true);
	card.after = answer_link;
	for (i = 0; i < RTE_DIM(links); i++) {
		link_answer.extended = links[i].extended;
		link_answer.legacy = links[i].legacy;
		link_answer.rate = links[i].rate;
		assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
		assert_int_equal(speed, links[i].speed);
		assert_int_equal(rnic_port_query(dev, &port), 0);
		assert_int_equal(port.protocol.speed, links[i].speed);
		assert_int_equal(port.protocol.lanes, links[i].lanes);
	}
	card_close(dev);
}

static unsigned int went_up, went_down;

static int
count_states(const struct card_command *c)
{
	uint64_t status;

	if (card_register(c) != RNIC_REG_PAOS || c->op_mod != RNIC_ACCESS_REG_WRITE)
		return CARD_SENDS;
	status = rnic_paos_reg_get(paos_of(c->in), RNIC_PAOS_REG_ADMIN_STATUS);
	went_up += status == RNIC_PORT_UP;
	went_down += status == RNIC_PORT_DOWN;
	return CARD_SENDS;
}

static void
test_a_stop_leaves_the_link(void **state)
{
	struct rnic_dev *dev;
	unsigned int i;

	(void)state;
	card.before = count_states;
	went_down = 0;
	dev = card_port_plug(0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_dev_start(card_port.id), 0);
		unit_wait_for_link(dev, true);
		assert_int_equal(rte_eth_dev_stop(card_port.id), 0);
	}
	assert_int_equal(went_down, 0);
	unit_wait_for_link(dev, true);
	/* Who wants it down says so; a start is as good as the opposite. */
	assert_int_equal(rte_eth_dev_set_link_down(card_port.id), 0);
	assert_int_equal(went_down, 1);
	unit_wait_for_link(dev, false);
	assert_int_equal(rte_eth_dev_start(card_port.id), 0);
	unit_wait_for_link(dev, true);
}

static void
answer_down(const struct card_command *c)
{
	if (card_register(c) == RNIC_REG_PAOS && c->op_mod == RNIC_ACCESS_REG_READ)
		rnic_paos_reg_set((struct rnic_paos_reg *)((uint8_t *)c->out + 0x10),
				  RNIC_PAOS_REG_ADMIN_STATUS, RNIC_PORT_DOWN);
}

static void
test_a_port_is_left_as_it_was_found(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.before = count_states;
	went_up = went_down = 0;
	card_close(card_opened());
	assert_int_equal(went_down, 0);
	/* An application's wish ends with it. */
	dev = card_opened();
	assert_int_equal(rnic_port_set_admin(dev, false), 0);
	assert_int_equal(went_down, 1);
	went_up = 0;
	card_close(dev);
	assert_int_equal(went_down, 1);
	assert_int_equal(went_up, 1);
	/* One that was down: up while it is in use. */
	card.after = answer_down;
	went_down = 0;
	dev = card_opened();
	assert_int_equal(went_up, 2);
	assert_int_equal(went_down, 0);
	card_close(dev);
	assert_int_equal(went_down, 1);
}

/* ---- What the card says of itself ---- */

#define MODULE	    (UINT64_C(1) << 0x16)
#define TEMPERATURE (UINT64_C(1) << 0x17)

static uint64_t asked_events;

static int
note_events(const struct card_command *c)
{
	if (c->opcode == RNIC_CMD_CREATE_EQ)
		asked_events |= rnic_create_eq_in_get(c->in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0);
	return CARD_SENDS;
}

static void
caps_of_events(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_PORT_MODULE_EVENT, 1);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_TEMP_WARN_EVENT, 1);
}

/* An event as the device would have written it into a queue that nobody else walks. */
static void
raise_event(struct rnic_dev *dev, uint8_t type, const uint32_t data[4])
{
	struct rnic_eq *eq;
	struct rnic_eqe *eqe;
	unsigned int i;

	assert_int_equal(rnic_eq_create(dev, 4, 0, 0, rnic_event_handle, &eq), 0);
	eqe = unit_eqs.last.address;
	eqe->type = type;
	for (i = 0; i < 4; i++)
		eqe->data[i] = rnic_cpu_to_be32(data[i]);
	__atomic_store_n(&eqe->owner, 0, __ATOMIC_RELEASE);
	assert_int_equal(rnic_eq_poll(dev, eq), 1);
	rnic_eq_destroy(dev, eq);
}

static void
test_modules_and_temperatures_are_told_of(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	card.before = note_events;
	asked_events = 0;
	card_close(card_opened());
	assert_int_equal(asked_events & (MODULE | TEMPERATURE), 0);
	card.caps = caps_of_events;
	dev = card_opened();
	assert_int_equal(asked_events & MODULE, MODULE);
	assert_int_equal(asked_events & TEMPERATURE, TEMPERATURE);
	raise_event(dev, 0x16, (const uint32_t[4]){ 1 << 16 | 2 });
	assert_int_equal(unit_said("module 1: unplugged"), 1);
	raise_event(dev, 0x16, (const uint32_t[4]){ 3, 7 << 8 });
	assert_int_equal(unit_said("module 0: bad or shorted cable"), 1);
	raise_event(dev, 0x17, (const uint32_t[4]){ 0, 0, 0, 5 });
	assert_int_equal(unit_said("too warm (sensors 0x00000000000000000000000000000005)"), 1);
	card_close(dev);
}

/* ---- The clock ---- */

static unsigned int clocks; /* RQ_TS_FORMAT: 0 free running, 1 real time, 2 both */

static void
caps_of_clocks(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_RQ_TS_FORMAT, clocks);
}

static uint32_t asked_format;

static int
note_format(const struct card_command *c)
{
	if (c->opcode == RNIC_CMD_CREATE_RQ)
		asked_format =
			rnic_be32_to_cpu(((const struct rnic_be32 *)c->in)[0x20 / 4]) >> 4 & 3;
	return CARD_SENDS;
}

/* The time of a frame whose completion has these two dwords. */
static uint64_t
time_told(uint32_t high, uint32_t low, int offset)
{
	struct rnic_rxq *rxq = rte_eth_devices[card_port.id].data->rx_queues[0];
	struct rte_mbuf *frame = rte_pktmbuf_alloc(card_port.pool);
	struct rnic_cqe *cqe;
	uint64_t told;

	assert_non_null(frame);
	memset(rte_pktmbuf_append(frame, 60), 0xff, 60);
	assert_int_equal(rte_eth_tx_burst(card_port.id, 0, &frame, 1), 1);
	assert_true(UNIT_COMES(rte_eth_rx_queue_count(card_port.id, 0) != 0));
	cqe = &rxq->cq.ring[rxq->cq.consumer & rxq->cq.mask];
	cqe->timestamp = rnic_cpu_to_be64((uint64_t)high << 32 | low);
	assert_int_equal(rte_eth_rx_burst(card_port.id, 0, &frame, 1), 1);
	told = *RTE_MBUF_DYNFIELD(frame, offset, rte_mbuf_timestamp_t *);
	rte_pktmbuf_free(frame);
	return told;
}

static uint64_t
utc_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Both in nanoseconds of UTC, or both in the free running clock's. */
static void
test_frames_and_reads_are_of_one_clock(void **state)
{
	uint64_t before, clock, after;
	int offset;

	(void)state;
	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&offset, NULL), 0);
	card.caps = caps_of_clocks;
	card.before = note_format;
	for (clocks = 0; clocks < 3; clocks++) {
		if (clocks > 0)
			assert_int_equal(rte_eal_hotplug_remove("vdev", UNIT_DEVICE), 0);
		unit_wait_for_link(card_port_plug(RTE_ETH_RX_OFFLOAD_TIMESTAMP), true);
		assert_int_equal(rte_eth_dev_start(card_port.id), 0);
		/* Where there are two the driver says which. */
		assert_int_equal(asked_format, clocks);
		before = utc_ns();
		assert_int_equal(rte_eth_read_clock(card_port.id, &clock), 0);
		after = utc_ns();
		if (clocks == 0) {
			assert_true(time_told(7, 5, offset) == (UINT64_C(7) << 32 | 5));
			assert_true(clock < before);
		} else {
			assert_true(time_told(1700000000, 999999999, offset) ==
				    UINT64_C(1700000000999999999));
			assert_true(before <= clock && clock <= after);
		}
		assert_int_equal(rte_eth_dev_stop(card_port.id), 0);
	}
}

static const struct CMUnitTest tests[] = {
	CARD_TEST(test_speeds_of_newer_links),
	CARD_PORT_TEST(test_a_stop_leaves_the_link),
	CARD_TEST(test_a_port_is_left_as_it_was_found),
	CARD_TEST(test_modules_and_temperatures_are_told_of),
	CARD_PORT_TEST(test_frames_and_reads_are_of_one_clock),
};

UNIT_MAIN("card_link", tests)
