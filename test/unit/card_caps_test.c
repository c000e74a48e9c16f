/* SPDX-License-Identifier: BSD-3-Clause */

/* Devices with less than the embedded one: capabilities that they have not, refuse or let be set, and what the driver makes of it. */

#include "card.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "core/dev.h"
#include "core/mem.h"
#include "object/mkey.h"
#include "object/port.h"
#include "object/q_counter.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/reg.h"
#include "prm/vport.h"
#include "rdmapmd.h"

/* ---- Capabilities ---- */

/* What QUERY_HCA_CAP answers to one question, or NULL: it is another one. */
static struct rnic_general_cap *
general_cap(const struct card_command *c, bool current)
{
	if (c->opcode != RNIC_CMD_QUERY_HCA_CAP ||
	    c->op_mod != RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, current))
		return NULL;
	return (struct rnic_general_cap *)(void *)((uint8_t *)c->out + RNIC_HCA_CAP_OFFSET);
}

/* What SET_HCA_CAP has for the device, or NULL. It must not have what the software RNIC has not. */
static struct rnic_general_cap *
general_cap_to_set(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_SET_HCA_CAP ||
	    c->op_mod != RNIC_HCA_CAP_OP_MOD(RNIC_CAP_GENERAL, 0))
		return NULL;
	return (struct rnic_general_cap *)(void *)((uint8_t *)c->in + RNIC_HCA_CAP_OFFSET);
}

/* Of GENERAL, current: what the card has not, and what it then has no capabilities of. */
static const struct lack {
	enum rnic_general_cap_field field;
	uint32_t refused; /* types, a bit for each */
	const char *says;
} lacks[] = {
	{ RNIC_GENERAL_CAP_PORT_TYPE, 1u << RNIC_CAP_ETHERNET_OFFLOADS | 1u << RNIC_CAP_FLOW_TABLE,
	  "this one is InfiniBand: change the port's link type" },
	{ RNIC_GENERAL_CAP_ETH_NET_OFFLOADS, 1u << RNIC_CAP_ETHERNET_OFFLOADS, "Ethernet queues" },
	{ RNIC_GENERAL_CAP_NIC_FLOW_TABLE, 1u << RNIC_CAP_FLOW_TABLE,
	  "flow tables for received frames" },
};
static const struct lack *lack;

static void
lacks_one(const struct card_command *c)
{
	struct rnic_general_cap *cap = general_cap(c, true);

	if (cap != NULL)
		rnic_general_cap_set(cap, lack->field, 0);
}

static int
refuses_the_types_that_it_lacks(const struct card_command *c)
{
	return c->opcode == RNIC_CMD_QUERY_HCA_CAP && lack->refused >> (c->op_mod >> 1) & 1
		       ? -EINVAL
		       : CARD_SENDS;
}

static void
test_a_card_without_an_ethernet_port_says_so(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(lacks); i++) {
		lack = &lacks[i];
		card.after = lacks_one;
		card.before = refuses_the_types_that_it_lacks;
		card_open_in_vain(-ENOTSUP, lack->says);
		card_reset();
	}
}

/* ---- RoCE ---- */

static struct {
	bool has, may_set;   /* the capabilities */
	bool asked, refuses; /* by SET_HCA_CAP; it changed nothing */
} roce;

static int
notes_roce(const struct card_command *c)
{
	struct rnic_general_cap *cap = general_cap_to_set(c);

	if (cap == NULL)
		return CARD_SENDS;
	roce.asked = rnic_general_cap_get(cap, RNIC_GENERAL_CAP_ROCE) != 0;
	rnic_general_cap_set(cap, RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED, 0);
	return CARD_SENDS;
}

static void
has_roce_switched_off(const struct card_command *c)
{
	struct rnic_general_cap *current = general_cap(c, true);
	struct rnic_general_cap *max = general_cap(c, false);

	if (max != NULL)
		rnic_general_cap_set(max, RNIC_GENERAL_CAP_ROCE, roce.has);
	if (current == NULL)
		return;
	rnic_general_cap_set(current, RNIC_GENERAL_CAP_ROCE_RW_SUPPORTED, roce.may_set);
	if (!roce.asked || roce.refuses)
		rnic_general_cap_set(current, RNIC_GENERAL_CAP_ROCE, 0);
}

static void
test_roce_is_asked_for_where_it_may_be(void **state)
{
	static const struct {
		bool has, may_set, refuses;
		const char *says; /* NULL: there is RDMA */
	} cases[] = {
		{ true, true, false, NULL },
		{ true, true, true, "it is off although it was asked for" },
		{ true, false, false, "lets no driver of this function switch it on" },
		{ false, true, false, "the device does not have it" },
	};
	struct rnic_dev *dev;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(cases); i++) {
		memset(&roce, 0, sizeof(roce));
		roce.has = cases[i].has;
		roce.may_set = cases[i].may_set;
		roce.refuses = cases[i].refuses;
		card.before = notes_roce;
		card.after = has_roce_switched_off;
		dev = card_opened();
		assert_int_equal(dev->rdma != NULL, cases[i].says == NULL);
		if (unit_said(cases[i].says != NULL ? cases[i].says : "no RDMA") !=
		    (cases[i].says != NULL))
			fail_msg("case %zu", i);
		card_close(dev);
		card_reset();
	}
}

static bool takes_ports;
static unsigned int ports_asked;

static struct rnic_roce_cap *
roce_cap(const struct card_command *c)
{
	return c->opcode == RNIC_CMD_QUERY_HCA_CAP && c->op_mod >> 1 == RNIC_CAP_ROCE
		       ? (struct rnic_roce_cap *)(void *)((uint8_t *)c->out + RNIC_HCA_CAP_OFFSET)
		       : NULL;
}

static int
is_asked_for_ports(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_SET_HCA_CAP || c->op_mod >> 1 != RNIC_CAP_ROCE)
		return CARD_SENDS;
	ports_asked++;
	return takes_ports ? CARD_DONE : -EINVAL;
}

static void
may_choose_ports(const struct card_command *c)
{
	struct rnic_roce_cap *cap = roce_cap(c);

	if (cap != NULL)
		rnic_roce_cap_set(cap, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT,
				  !(c->op_mod & 1) || (takes_ports && ports_asked > 0));
}

/* Which source port a packet has is a wish: the device goes on choosing it. */
static void
test_a_card_that_keeps_its_source_ports(void **state)
{
	struct rnic_dev *dev;
	int i;

	(void)state;
	card.before = is_asked_for_ports;
	card.after = may_choose_ports;
	for (i = 0; i < 2; i++) {
		takes_ports = i == 1;
		ports_asked = 0;
		dev = card_opened();
		assert_int_equal(ports_asked, 1);
		assert_non_null(dev->rdma);
		assert_int_equal(
			rnic_roce_cap_get(&dev->caps.roce, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT),
			takes_ports);
		card_close(dev);
		assert_int_equal(unit_said("UDP source ports"), 1);
	}
	card_reset();
	assert_int_equal(card_open("like=cx5", &dev), 0);
	assert_int_equal(rnic_roce_cap_get(&dev->caps.roce, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT),
			 1);
	card_close(dev);
}

/* What is refused of it, once there are capabilities. */
static bool roce_of_the_vport;

static int
refuses_roce(const struct card_command *c)
{
	if (roce_of_the_vport)
		return card_vport_select(c) == RNIC_NIC_VPORT_ROCE_EN ? -EINVAL : CARD_SENDS;
	return c->opcode == RNIC_CMD_SET_ROCE_ADDRESS ? -EPERM : CARD_SENDS;
}

/* As mlx5_ib, which then has no device, beside mlx5e, which has one. */
static void
test_a_function_that_is_refused_roce_is_a_port(void **state)
{
	struct rdmapmd_context *context;
	struct rnic_dev *dev;
	unsigned int said = 0;
	int i;

	(void)state;
	card.before = refuses_roce;
	for (i = 0; i < 2; i++) {
		roce_of_the_vport = i == 0;
		dev = card_opened();
		assert_int_equal(unit_said("no RDMA: the device refuses RoCE"), ++said);
		assert_int_equal(rdmapmd_device_open(dev->device, &context), -ENOTSUP);
		assert_int_equal(rnic_port_set_mac(dev, (const uint8_t[6]){ 2, 0, 0, 0, 0, 9 }), 0);
		card_close(dev);
		/* Who has asked for it is told. */
		assert_int_equal(card_open("ip=192.0.2.1", &dev), i == 0 ? -EINVAL : -EPERM);
	}
}

/* A function may have few event queues: the one that it needs, and some more. */
static unsigned int event_queues;

static int
has_few_event_queues(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_CREATE_EQ)
		return CARD_SENDS;
	if (event_queues == 0)
		return -ENOSPC;
	event_queues--;
	return CARD_SENDS;
}

static void
test_a_function_with_few_event_queues_is_a_port(void **state)
{
	struct rdmapmd_context *context;
	struct rnic_dev *dev;
	unsigned int of;

	(void)state;
	card.before = has_few_event_queues;
	/* What commands need, and the one of completions. */
	for (of = 1; of <= 2; of++) {
		event_queues = of;
		dev = card_opened();
		assert_int_equal(unit_said("no RDMA: the device refuses event queues"), of);
		assert_int_equal(rdmapmd_device_open(dev->device, &context), -ENOTSUP);
		assert_int_equal(rnic_port_set_mac(dev, (const uint8_t[6]){ 2, 0, 0, 0, 0, 9 }), 0);
		card_close(dev);
		/* Who has asked for it is told. */
		event_queues = of;
		assert_int_equal(card_open("ip=192.0.2.1", &dev), -ENOSPC);
	}
	assert_int_equal(unit_said("no RDMA: "), 2);
	event_queues = 3;
	dev = card_opened();
	assert_int_equal(rdmapmd_device_open(dev->device, &context), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	card_close(dev);
}

/* ---- How many queue pairs ---- */

static uint32_t log_max_qp_set;

static int
notes_how_many(const struct card_command *c)
{
	const struct rnic_general_cap *cap = general_cap_to_set(c);

	if (cap != NULL)
		log_max_qp_set = (uint32_t)rnic_general_cap_get(cap, RNIC_GENERAL_CAP_LOG_MAX_QP);
	return CARD_SENDS;
}

static void
has_many_queue_pairs(const struct card_command *c)
{
	struct rnic_general_cap *cap = general_cap(c, false);

	if (cap != NULL)
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_LOG_MAX_QP, 12);
}

/* As few as one likes, and not more than it has. */
static void
test_queue_pairs_are_as_many_as_asked_for(void **state)
{
	static const struct {
		const char *devargs;
		uint32_t set;
	} cases[] = { { "", 12 }, { "log_max_qp=8", 8 }, { "log_max_qp=18", 12 } };
	struct rnic_dev *dev;
	size_t i;

	(void)state;
	card.before = notes_how_many;
	card.after = has_many_queue_pairs;
	for (i = 0; i < RTE_DIM(cases); i++) {
		log_max_qp_set = 0;
		assert_int_equal(card_open(cases[i].devargs, &dev), 0);
		assert_int_equal(log_max_qp_set, cases[i].set);
		assert_true(rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_QP) <= cases[i].set);
		card_close(dev);
	}
}

/* ---- Counters of queues ---- */

static unsigned int counters_asked, counters_there;

static int
has_few_counters(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_ALLOC_Q_COUNTER)
		return CARD_SENDS;
	return counters_asked++ < counters_there ? CARD_SENDS : -ENOSPC;
}

static void
says_that_it_has_none(const struct card_command *c)
{
	struct rnic_general_cap *cap = general_cap(c, true);

	if (cap != NULL)
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_MAX_QP_CNT, 0);
}

static void
expect_counters(unsigned int sets)
{
	static const uint64_t none[RNIC_Q_COUNTERS];
	uint64_t values[RNIC_Q_COUNTERS];
	struct rnic_dev *dev;
	uint32_t missed = 1;

	dev = card_opened();
	memset(values, 0xff, sizeof(values));
	assert_int_equal(rnic_q_counters_read(dev, values), 0);
	assert_memory_equal(values, none, sizeof(values));
	assert_int_equal(rnic_q_counter_out_of_buffer(dev, &missed), 0);
	assert_int_equal(missed, 0);
	assert_int_equal(dev->qp_counters->has + dev->has_q_counter, sets);
	card_close(dev);
	assert_int_equal(unit_said("counters for"), 2 - sets);
	/* What it did not give is not given back. */
	assert_int_equal(unit_said("DEALLOC_Q_COUNTER"), 0);
}

static void
test_a_device_with_few_counters_or_none(void **state)
{
	(void)state;
	for (counters_there = 0; counters_there <= 2; counters_there++) {
		counters_asked = 0;
		card.before = has_few_counters;
		expect_counters(counters_there);
		assert_int_equal(counters_asked, 2);
		card_reset();
	}
	counters_asked = counters_there = 0;
	card.before = has_few_counters;
	card.after = says_that_it_has_none;
	expect_counters(0);
	assert_int_equal(counters_asked, 0);
}

/* ---- Registers of the port ---- */

static unsigned int endianness_asked;

static int
keeps_its_byte_order(const struct card_command *c)
{
	if (c->opcode != RNIC_CMD_ACCESS_REG ||
	    rnic_access_reg_in_get(c->in, RNIC_ACCESS_REG_IN_REGISTER_ID) !=
		    RNIC_REG_HOST_ENDIANNESS)
		return CARD_SENDS;
	endianness_asked++;
	return -EOPNOTSUPP;
}

/* As a VF may: Linux writes it for PFs alone. */
static void
test_a_device_that_keeps_its_byte_order(void **state)
{
	(void)state;
	endianness_asked = 0;
	card.before = keeps_its_byte_order;
	card_close(card_opened());
	assert_int_equal(endianness_asked, 1);
	assert_int_equal(unit_said("ACCESS_REG"), 0);
}

/* ---- Rights of pages ---- */

static bool pages_have_rights;
static unsigned int keys_made;

static int
takes_rights_of_pages_or_none(const struct card_command *c)
{
	const struct rnic_create_mkey_in *create = c->in;
	const struct rnic_be64 *mtt = (const struct rnic_be64 *)(const void *)(create + 1);
	struct rnic_general_cap *cap = general_cap_to_set(c);
	uint64_t i, count;

	if (cap != NULL)
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_PG, 0);
	if (c->opcode != RNIC_CMD_CREATE_MKEY)
		return CARD_SENDS;
	count = 2 * rnic_create_mkey_in_get(create,
					    RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE);
	if (rnic_create_mkey_in_get(create, RNIC_CREATE_MKEY_IN_PG_ACCESS) != pages_have_rights)
		return -EINVAL;
	/* The last one may be there to fill the list up. */
	for (i = 0; i < count && (i == 0 || mtt[i].raw != 0); i++)
		if (((rnic_be64_to_cpu(mtt[i]) & (RNIC_PAGE_BYTES - 1)) != 0) != pages_have_rights)
			return -EINVAL;
	keys_made++;
	return CARD_SENDS;
}

static void
has_paging_or_not(const struct card_command *c)
{
	struct rnic_general_cap *cap = general_cap(c, true);

	if (cap != NULL)
		rnic_general_cap_set(cap, RNIC_GENERAL_CAP_PG, pages_have_rights);
}

/* As the recorded ConnectX-4 Lx, whose `pg` is 0; and as cards with paging on demand. */
static void
test_keys_of_a_device_without_paging(void **state)
{
	struct rnic_mem mem;
	struct rnic_dev *dev;
	uint32_t key;
	int i, rights;

	(void)state;
	card.before = takes_rights_of_pages_or_none;
	card.after = has_paging_or_not;
	for (i = 0; i < 2; i++) {
		pages_have_rights = i == 1;
		keys_made = 0;
		dev = card_opened();
		assert_int_equal(rnic_mem_alloc(dev, "a test", 3 * RNIC_PAGE_BYTES, RNIC_PAGE_BYTES,
						RNIC_ACCESS_READ, &mem),
				 0);
		for (rights = RNIC_ACCESS_READ; rights <= (RNIC_ACCESS_READ | RNIC_ACCESS_WRITE);
		     rights += RNIC_ACCESS_WRITE) {
			const struct rnic_mkey_attr attr = rnic_mkey_attr_own(
				dev, (uintptr_t)mem.address, mem.length, (unsigned int)rights);

			assert_int_equal(rnic_mkey_create(dev, &attr, &key), 0);
			assert_int_equal(rnic_mkey_destroy(dev, key), 0);
		}
		assert_int_equal(keys_made, 2);
		rnic_mem_free(dev, &mem);
		card_close(dev);
	}
}

static const struct CMUnitTest tests[] = {
	CARD_TEST(test_a_card_without_an_ethernet_port_says_so),
	CARD_TEST(test_roce_is_asked_for_where_it_may_be),
	CARD_TEST(test_a_card_that_keeps_its_source_ports),
	CARD_TEST(test_a_function_that_is_refused_roce_is_a_port),
	CARD_TEST(test_a_function_with_few_event_queues_is_a_port),
	CARD_TEST(test_queue_pairs_are_as_many_as_asked_for),
	CARD_TEST(test_a_device_with_few_counters_or_none),
	CARD_TEST(test_a_device_that_keeps_its_byte_order),
	CARD_TEST(test_keys_of_a_device_without_paging),
};

UNIT_MAIN("card_caps", tests)
