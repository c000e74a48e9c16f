/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs: the whole matrix of state changes with their attributes, values, paths, drain. */

#include "rdma_fake.h"

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

/* ---- State changes ---- */

#define STATES	  7
#define MASK_BITS 21

/*
 * The table as the manual pages of verbs users have it: from, to, what must be given, what may be. It is written down
 * here once more, bit by bit, so that it can contradict the library's.
 */
struct rule {
	enum rdmapmd_qp_state from, to;
	const char *needs, *allows;
};

static const struct rule of_rc[] = {
	{ RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT, "PKEY PORT ACCESS", "" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT, "", "PKEY PORT ACCESS" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, "AV MTU DQPN RQPSN DESTRD MINRNR", "PKEY ACCESS ALT" },
	{ RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS, "TIMEOUT RETRY RNR SQPSN RD",
	  "CUR ACCESS MINRNR ALT MIG" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, "", "CUR ACCESS MINRNR ALT MIG" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, "", "NOTIFY" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, "", "CUR ACCESS MINRNR ALT MIG" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD, "",
	  "PKEY PORT ACCESS AV TIMEOUT RETRY RNR RD DESTRD MINRNR ALT MIG" },
	{ 0 }, /* RESET to RESET */
};

static const struct rule of_uc[] = {
	{ RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT, "PKEY PORT ACCESS", "" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT, "", "PKEY PORT ACCESS" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, "AV MTU DQPN RQPSN", "PKEY ACCESS ALT" },
	{ RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS, "SQPSN", "CUR ACCESS ALT MIG" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, "", "CUR ACCESS ALT MIG" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, "", "NOTIFY" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, "", "CUR ACCESS ALT MIG" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD, "", "PKEY ACCESS AV ALT MIG" },
	{ RDMAPMD_QPS_SQE, RDMAPMD_QPS_RTS, "", "CUR ACCESS" },
	{ 0 },
};

static const struct rule of_ud[] = {
	{ RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT, "PKEY PORT QKEY", "" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT, "", "PKEY PORT QKEY" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, "", "PKEY QKEY" },
	{ RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS, "SQPSN", "CUR QKEY" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, "", "CUR QKEY" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, "", "NOTIFY" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, "", "CUR QKEY" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD, "", "PKEY QKEY" },
	{ RDMAPMD_QPS_SQE, RDMAPMD_QPS_RTS, "", "CUR QKEY" },
	{ 0 },
};

static const struct rule of_gsi[] = {
	{ RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT, "PKEY QKEY", "" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT, "", "PKEY QKEY" },
	{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR, "", "PKEY QKEY" },
	{ RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS, "SQPSN", "CUR QKEY" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, "", "CUR QKEY" },
	{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, "", "NOTIFY" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, "", "CUR QKEY" },
	{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD, "", "PKEY QKEY" },
	{ RDMAPMD_QPS_SQE, RDMAPMD_QPS_RTS, "", "CUR QKEY" },
	{ 0 },
};

static const struct rule *rules; /* of the type that is tested */
static enum rdmapmd_qp_type type;

static const struct {
	const char *name;
	unsigned int bit;
} words[] = {
	{ "CUR", 1u << 1 },    { "NOTIFY", 1u << 2 },  { "ACCESS", 1u << 3 },
	{ "PKEY", 1u << 4 },   { "PORT", 1u << 5 },    { "QKEY", 1u << 6 },
	{ "AV", 1u << 7 },     { "MTU", 1u << 8 },     { "TIMEOUT", 1u << 9 },
	{ "RETRY", 1u << 10 }, { "RNR", 1u << 11 },    { "RQPSN", 1u << 12 },
	{ "RD", 1u << 13 },    { "ALT", 1u << 14 },    { "MINRNR", 1u << 15 },
	{ "SQPSN", 1u << 16 }, { "DESTRD", 1u << 17 }, { "MIG", 1u << 18 },
	{ "DQPN", 1u << 20 },
};

static unsigned int
mask_of(const char *text)
{
	char copy[128], *word, *rest;
	unsigned int mask = 0, i;

	snprintf(copy, sizeof(copy), "%s", text);
	for (word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		for (i = 0; i < RTE_DIM(words) && strcmp(words[i].name, word) != 0; i++)
			;
		assert_true(i < RTE_DIM(words));
		mask |= words[i].bit;
	}
	return mask;
}

static bool
find_rule(enum rdmapmd_qp_state from, enum rdmapmd_qp_state to, unsigned int *needs,
	  unsigned int *allows)
{
	unsigned int i;

	*needs = *allows = 0;
	if (to == RDMAPMD_QPS_RESET || to == RDMAPMD_QPS_ERR)
		return true;
	for (i = 0; rules[i].needs != NULL; i++)
		if (rules[i].from == from && rules[i].to == to) {
			*needs = mask_of(rules[i].needs);
			*allows = mask_of(rules[i].allows);
			return true;
		}
	return false;
}

static struct rdmapmd_qp_attr
good_attr(enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	return (struct rdmapmd_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = RDMAPMD_MTU_1024,
		.rq_psn = 0xffffff,
		.sq_psn = 0xffffff,
		.dest_qp_num = 0xffffff,
		.qkey = RDMAPMD_QP1_QKEY,
		.qp_access_flags = RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE |
				   RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC,
		.ah_attr = { .dgid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
			     .dmac = { 2, 0, 0, 0, 0, 1 },
			     .sgid_index = 1,
			     .hop_limit = 64,
			     .sl = 7,
			     .flow_label = 0xfffff,
			     .port_num = 1 },
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 31,
		.port_num = 2,
		.timeout = 31,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

static struct rdmapmd_qp *
new_qp(const struct fake_set *set)
{
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);
	struct rdmapmd_qp *qp;

	attr.qp_type = type;
	attr.port_num = 1;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	return qp;
}

static int
change(struct rdmapmd_qp *qp, enum rdmapmd_qp_state to, unsigned int mask)
{
	const struct rdmapmd_qp_attr attr =
		good_attr((enum rdmapmd_qp_state)rdmapmd_qp_state(qp), to);

	return rdmapmd_qp_modify(qp, &attr, mask | RDMAPMD_QP_STATE);
}

/* To a state, by the shortest way. */
static void
bring_to(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state)
{
	static const enum rdmapmd_qp_state way[] = { RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR,
						     RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD };
	unsigned int needs, allows, i;

	assert_int_equal(change(qp, RDMAPMD_QPS_RESET, 0), 0);
	for (i = 0; rdmapmd_qp_state(qp) != (int)state; i++) {
		if (state == RDMAPMD_QPS_ERR) {
			assert_int_equal(change(qp, RDMAPMD_QPS_ERR, 0), 0);
			break;
		}
		if (state == RDMAPMD_QPS_SQE && i == 3) {
			rdmapmd_qp_send_in_error(qp);
			break;
		}
		assert_true(i < RTE_DIM(way));
		find_rule((enum rdmapmd_qp_state)rdmapmd_qp_state(qp), way[i], &needs, &allows);
		assert_int_equal(change(qp, way[i], needs), 0);
	}
}

static const enum rdmapmd_qp_state reachable[] = { RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT,
						   RDMAPMD_QPS_RTR,   RDMAPMD_QPS_RTS,
						   RDMAPMD_QPS_SQD,   RDMAPMD_QPS_ERR,
						   RDMAPMD_QPS_SQE }; /* the last one not by RC */

/* Queue pairs without an SRQ. */
static int
setup_type(void **state, enum rdmapmd_qp_type qp_type, const struct rule *of_type)
{
	struct fake_set *set;

	type = qp_type;
	rules = of_type;
	fake_setup(state);
	set = *state;
	set->srq = NULL;
	set->own = new_qp(set);
	return 0;
}

static int
setup(void **state)
{
	return setup_type(state, RDMAPMD_QPT_RC, of_rc);
}

static int
setup_uc(void **state)
{
	return setup_type(state, RDMAPMD_QPT_UC, of_uc);
}

static int
setup_ud(void **state)
{
	return setup_type(state, RDMAPMD_QPT_UD, of_ud);
}

static int
setup_gsi(void **state)
{
	return setup_type(state, RDMAPMD_QPT_GSI, of_gsi);
}

/* What a mask is answered with, by the rules. */
static int
expected(enum rdmapmd_qp_state from, enum rdmapmd_qp_state to, unsigned int mask)
{
	unsigned int needs, allows;

	if (!find_rule(from, to, &needs, &allows) || (mask & needs) != needs ||
	    (mask & ~(needs | allows)))
		return -EINVAL;
	return mask & mask_of("ALT MIG") ? -ENOTSUP : 0;
}

static void
check(struct fake_set *set, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to, unsigned int mask)
{
	const int rc = expected(from, to, mask);

	set->fake->call_count = 0;
	if (change(set->own, to, mask) != rc)
		fail_msg("%s to %s with 0x%x: expected %d", rdmapmd_qp_state_str(from),
			 rdmapmd_qp_state_str(to), mask, rc);
	assert_int_equal(fake_count(set->fake, "qp_modify"), rc == 0);
	assert_int_equal(rdmapmd_qp_state(set->own), rc == 0 ? to : from);
	if (rc == 0) {
		assert_int_equal(set->fake->qp_from, from);
		assert_int_equal(set->fake->qp_to, to);
		assert_int_equal(set->fake->qp_mask, mask | RDMAPMD_QP_STATE);
		if (to != from)
			bring_to(set->own, from);
	}
}

/* Each pair of states, with what is needed, with all that is allowed, with each bit more and each bit less. */
static void
test_every_state_change(void **state)
{
	struct fake_set *set = *state;
	unsigned int from, to, bit, needs, allows;

	for (from = 0; from < RTE_DIM(reachable) - (type == RDMAPMD_QPT_RC); from++) {
		bring_to(set->own, reachable[from]);
		assert_int_equal(rdmapmd_qp_state(set->own), reachable[from]);
		for (to = 0; to < STATES; to++) {
			const enum rdmapmd_qp_state a = reachable[from];
			const enum rdmapmd_qp_state b = (enum rdmapmd_qp_state)to;

			find_rule(a, b, &needs, &allows);
			check(set, a, b, needs);
			check(set, a, b, (needs | allows) & ~mask_of("ALT MIG"));
			for (bit = 1; bit < MASK_BITS + 3; bit++) {
				check(set, a, b, needs | 1u << bit);
				if (needs & 1u << bit)
					check(set, a, b, needs & ~(1u << bit));
			}
		}
	}
}

static void
test_states_that_are_none(void **state)
{
	struct fake_set *set = *state;

	assert_int_equal(change(set->own, (enum rdmapmd_qp_state)7, 0), -EINVAL);
	assert_int_equal(change(set->own, (enum rdmapmd_qp_state) - 1, 0), -EINVAL);
	assert_string_equal(rdmapmd_qp_state_str((enum rdmapmd_qp_state)7), "unknown");
	assert_string_equal(rdmapmd_qp_state_str(RDMAPMD_QPS_SQD), "SQD");
}

static void
test_attributes_without_a_state_leave_it(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_attr attr = good_attr(RDMAPMD_QPS_RTS, RDMAPMD_QPS_ERR);

	bring_to(set->own, RDMAPMD_QPS_RTS);
	attr.min_rnr_timer = 5;
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, RDMAPMD_QP_MIN_RNR_TIMER), 0);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_RTS);
	assert_int_equal(set->fake->qp_to, RDMAPMD_QPS_RTS);
	/* In RESET there is nothing to change. */
	bring_to(set->own, RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, RDMAPMD_QP_MIN_RNR_TIMER), -EINVAL);
}

static void
test_the_current_state_must_be_right(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_attr attr = good_attr(RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS);
	const unsigned int mask = RDMAPMD_QP_STATE | RDMAPMD_QP_CUR_STATE;

	bring_to(set->own, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), -EINVAL);
	attr.cur_qp_state = RDMAPMD_QPS_RTS;
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), 0);
}

static void
test_a_change_that_the_device_refuses(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_attr got;

	bring_to(set->own, RDMAPMD_QPS_INIT);
	set->fake->fail = "qp_modify";
	set->fake->error = -EREMOTEIO;
	assert_int_equal(
		change(set->own, RDMAPMD_QPS_RTR, mask_of("AV MTU DQPN RQPSN DESTRD MINRNR")),
		-EREMOTEIO);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_INIT);
	set->fake->fail = NULL;
	assert_int_equal(rdmapmd_qp_query(set->own, &got, NULL), 0);
	assert_int_equal(got.dest_qp_num, 0); /* nothing was kept */
}

/* An error that the device meets while a change is under way is not forgotten. */
static void
meet_error(void *arg)
{
	struct fake_set *set = arg;

	rdmapmd_qp_in_error(set->own);
}

static void
test_an_error_during_a_change_stays(void **state)
{
	struct fake_set *set = *state;

	bring_to(set->own, RDMAPMD_QPS_RTR);
	set->fake->at = "qp_modify";
	set->fake->during = meet_error;
	set->fake->arg = set;
	assert_int_equal(change(set->own, RDMAPMD_QPS_RTS, mask_of("TIMEOUT RETRY RNR SQPSN RD")),
			 0);
	set->fake->at = NULL;
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
	assert_int_equal(change(set->own, RDMAPMD_QPS_RTS, 0), -EINVAL);
	assert_int_equal(change(set->own, RDMAPMD_QPS_RESET, 0), 0);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_RESET);
}

/* Of RC it stops all; of the others sends alone, also those that were to be finished before a pause. */
static void
test_a_send_that_fails(void **state)
{
	static const enum rdmapmd_qp_state from[] = { RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD };
	struct fake_set *set = *state;
	unsigned int i;

	for (i = 0; i < RTE_DIM(from); i++) {
		bring_to(set->own, from[i]);
		rdmapmd_qp_send_in_error(set->own);
		assert_int_equal(rdmapmd_qp_state(set->own),
				 type == RDMAPMD_QPT_RC ? RDMAPMD_QPS_ERR : RDMAPMD_QPS_SQE);
		/* What is flushed then tells nothing new, nor does what was flushed before. */
		rdmapmd_qp_send_in_error(set->own);
		rdmapmd_qp_in_error(set->own);
		rdmapmd_qp_send_in_error(set->own);
		assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
	}
}

static void
test_an_error_during_a_query_stays(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_attr attr;

	bring_to(set->own, RDMAPMD_QPS_RTS);
	set->fake->at = "qp_query";
	set->fake->during = meet_error;
	set->fake->arg = set;
	/* The device answers before it meets the error. */
	assert_int_equal(rdmapmd_qp_query(set->own, &attr, NULL), 0);
	set->fake->at = NULL;
	assert_int_equal(attr.qp_state, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
}

/* ---- Values ---- */

#define VALUE(mask_, from_, to_, member_, value_)                                                 \
	do {                                                                                      \
		struct rdmapmd_qp_attr attr_ = good_attr(RDMAPMD_QPS_##from_, RDMAPMD_QPS_##to_); \
		unsigned int needs_, allows_;                                                     \
		bring_to(set->own, RDMAPMD_QPS_##from_);                                          \
		find_rule(RDMAPMD_QPS_##from_, RDMAPMD_QPS_##to_, &needs_, &allows_);             \
		needs_ |= mask_of(mask_) | RDMAPMD_QP_STATE;                                      \
		set->fake->call_count = 0;                                                        \
		attr_.member_ = value_;                                                           \
		assert_int_equal(rdmapmd_qp_modify(set->own, &attr_, needs_), -EINVAL);           \
		assert_int_equal(fake_count(set->fake, "qp_modify"), 0);                          \
	} while (0)

static void
test_values_out_of_range(void **state)
{
	struct fake_set *set = *state;

	VALUE("PKEY", RESET, INIT, pkey_index, 1);
	VALUE("PORT", RESET, INIT, port_num, 0);
	VALUE("PORT", RESET, INIT, port_num, 3);
	VALUE("ACCESS", RESET, INIT, qp_access_flags, RDMAPMD_ACCESS_ZERO_BASED);
	VALUE("ACCESS", RESET, INIT, qp_access_flags, 1u << 31);
	VALUE("MTU", INIT, RTR, path_mtu, 0);
	VALUE("MTU", INIT, RTR, path_mtu, 6);
	VALUE("MTU", INIT, RTR, path_mtu, RDMAPMD_MTU_2048); /* the port has 1024 */
	VALUE("DQPN", INIT, RTR, dest_qp_num, 0x1000000);
	VALUE("RQPSN", INIT, RTR, rq_psn, 0x1000000);
	VALUE("DESTRD", INIT, RTR, max_dest_rd_atomic, 17);
	VALUE("MINRNR", INIT, RTR, min_rnr_timer, 32);
	VALUE("AV", INIT, RTR, ah_attr.flow_label, 0x100000);
	VALUE("AV", INIT, RTR, ah_attr.sl, 8);
	VALUE("AV", INIT, RTR, ah_attr.port_num, 0);
	VALUE("AV", INIT, RTR, ah_attr.port_num, 3);
	VALUE("AV", INIT, RTR, ah_attr.sgid_index, 2); /* empty */
	VALUE("AV", INIT, RTR, ah_attr.sgid_index, 4); /* not there */
	VALUE("AV", INIT, RTR, ah_attr.dgid, (union rdmapmd_gid){ 0 });
	VALUE("AV", INIT, RTR, ah_attr.dgid.raw[12], 224); /* a group */
	VALUE("TIMEOUT", RTR, RTS, timeout, 32);
	VALUE("RETRY", RTR, RTS, retry_cnt, 8);
	VALUE("RNR", RTR, RTS, rnr_retry, 8);
	VALUE("SQPSN", RTR, RTS, sq_psn, 0x1000000);
	VALUE("RD", RTR, RTS, max_rd_atomic, 17);
}

static void
test_remote_atomics_need_a_device_that_has_some(void **state)
{
	struct fake *fake = fake_register("fake1");
	struct fake_set set;
	struct rdmapmd_qp *qp;

	(void)state;
	fake->attr.atomic_cap = RDMAPMD_ATOMIC_NONE;
	fake_open_all(fake, &set);
	qp = new_qp(&set);
	assert_int_equal(change(qp, RDMAPMD_QPS_INIT, mask_of("PKEY PORT ACCESS")), -ENOTSUP);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_the_way_to_the_peer(void **state)
{
	static const uint8_t link_local[16] = { 0xfe, 0x80, 0,	  0,	0,    0, 0, 0,
						0x00, 0x02, 0xc9, 0xff, 0xfe, 1, 2, 3 };
	static const uint8_t mac[6] = { 0x02, 0x02, 0xc9, 1, 2, 3 };
	struct fake_set *set = *state;
	struct rdmapmd_qp_attr attr = good_attr(RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR);
	const unsigned int mask = mask_of("AV MTU DQPN RQPSN DESTRD MINRNR") | RDMAPMD_QP_STATE;

	/* A MAC that is given is taken. */
	bring_to(set->own, RDMAPMD_QPS_INIT);
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), 0);
	assert_memory_equal(set->fake->qp_attr.ah_attr.dmac, attr.ah_attr.dmac, 6);
	assert_int_equal(fake_count(set->fake, "resolve"), 0);
	/* One that is not is asked for. */
	memset(attr.ah_attr.dmac, 0, 6);
	bring_to(set->own, RDMAPMD_QPS_INIT);
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), 0);
	assert_int_equal(set->fake->qp_attr.ah_attr.dmac[5], 0x99);
	/* Nobody knows it. */
	bring_to(set->own, RDMAPMD_QPS_INIT);
	set->fake->fail = "resolve";
	set->fake->error = -EHOSTUNREACH;
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), -EHOSTUNREACH);
	set->fake->ops.resolve = NULL;
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), -EHOSTUNREACH);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_INIT);
	/* A link-local address has it inside. Its path begins with an IPv6 address. */
	memcpy(attr.ah_attr.dgid.raw, link_local, 16);
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), -EINVAL);
	memcpy(set->fake->gids[2].gid.raw, link_local, 16);
	attr.ah_attr.sgid_index = 2;
	assert_int_equal(rdmapmd_qp_modify(set->own, &attr, mask), 0);
	assert_memory_equal(set->fake->qp_attr.ah_attr.dmac, mac, 6);
}

/* ---- Query ---- */

static void
test_query(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr;

	bring_to(set->own, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_qp_query(set->own, &attr, &init), 0);
	assert_int_equal(attr.qp_state, RDMAPMD_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, RDMAPMD_QPS_RTS);
	assert_int_equal(attr.path_mtu, RDMAPMD_MTU_1024);
	assert_int_equal(attr.dest_qp_num, 0xffffff);
	assert_int_equal(attr.timeout, 31);
	assert_int_equal(attr.port_num, 2);
	assert_int_equal(attr.ah_attr.dgid.raw[15], 2);
	assert_int_equal(attr.cap.max_send_wr, 16);
	assert_ptr_equal(init.send_cq, set->cq);
	assert_null(init.srq);
	assert_ptr_equal(init.td, set->td);
	assert_int_equal(init.qp_type, RDMAPMD_QPT_RC);
	/* What the device knows counts. */
	container_of(set->own, struct fake_qp, qp)->state = RDMAPMD_QPS_ERR;
	assert_int_equal(rdmapmd_qp_query(set->own, &attr, NULL), 0);
	assert_int_equal(attr.qp_state, RDMAPMD_QPS_ERR);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
	/* RESET forgets. */
	bring_to(set->own, RDMAPMD_QPS_RESET);
	assert_int_equal(rdmapmd_qp_query(set->own, &attr, NULL), 0);
	assert_int_equal(attr.dest_qp_num, 0);
	set->fake->fail = "qp_query";
	set->fake->error = -EIO;
	assert_int_equal(rdmapmd_qp_query(set->own, &attr, NULL), -EIO);
}

/* ---- Create ---- */

static void
test_what_an_application_sees_of_its_queue_pair(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr = fake_qp_attr(set);
	struct rdmapmd_qp *qp;

	attr.sq_sig_all = true;
	attr.qp_context = &attr;
	assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
	assert_ptr_equal(qp->context, set->context);
	assert_ptr_equal(qp->pd, set->pd);
	assert_ptr_equal(qp->send_cq, set->cq);
	assert_ptr_equal(qp->qp_context, &attr);
	assert_int_equal(qp->sq_sig_all, 1);
	assert_int_equal(qp->qp_type, RDMAPMD_QPT_RC);
	assert_int_equal(rdmapmd_qp_state(qp), RDMAPMD_QPS_RESET);
}

/* ---- Drain ---- */

static void
test_drain(void **state)
{
	struct fake_set *set = *state;
	struct fake_qp *fake_qp = container_of(set->own, struct fake_qp, qp);

	/* Nothing was posted in RESET, and it stays there. */
	assert_int_equal(rdmapmd_qp_drain(set->own), 0);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_RESET);
	bring_to(set->own, RDMAPMD_QPS_RTS);
	fake_qp->outstanding = 3;
	set->fake->call_count = 0;
	assert_int_equal(rdmapmd_qp_drain(set->own), 3);
	assert_int_equal(rdmapmd_qp_state(set->own), RDMAPMD_QPS_ERR);
	fake_qp->outstanding = 1;
	assert_int_equal(rdmapmd_qp_drain(set->own), 1);
	fake_qp->outstanding = 0;
	assert_int_equal(rdmapmd_qp_drain(set->own), 0);
	assert_int_equal(fake_count(set->fake, "qp_modify"), 1);
	/* The device does not take it. */
	bring_to(set->own, RDMAPMD_QPS_RTS);
	set->fake->fail = "qp_modify";
	set->fake->error = -EIO;
	assert_int_equal(rdmapmd_qp_drain(set->own), -EIO);
}

/* To SQD tells of itself if it was asked to. */
static void
test_who_wants_to_know_that_a_queue_is_drained(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_SQD };
	struct rdmapmd_async_event event;
	unsigned int mask, notify, events = 0;

	for (mask = 0; mask < 2; mask++)
		for (notify = 0; notify < 2; notify++) {
			bring_to(set->own, RDMAPMD_QPS_RTS);
			attr.en_sqd_async_notify = (uint8_t)notify;
			assert_int_equal(
				rdmapmd_qp_modify(
					set->own, &attr,
					RDMAPMD_QP_STATE |
						(mask ? RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY : 0)),
				0);
			rdmapmd_device_object_event(set->fake->device, RDMAPMD_EVENT_SQ_DRAINED,
						    set->own->qp_num);
			if (rdmapmd_async_event_get(set->context, &event) != 0)
				continue;
			assert_int_equal(event.event_type, RDMAPMD_EVENT_SQ_DRAINED);
			assert_true(mask && notify);
			assert_int_equal(rdmapmd_async_event_ack(set->context, &event), 0);
			events++;
		}
	assert_int_equal(events, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_every_state_change),
	TEST(test_a_send_that_fails),
	{ "test_a_send_of_uc_that_fails", test_a_send_that_fails, setup_uc, fake_teardown, NULL },
	{ "test_a_send_of_ud_that_fails", test_a_send_that_fails, setup_ud, fake_teardown, NULL },
	{ "test_every_state_change_of_uc", test_every_state_change, setup_uc, fake_teardown, NULL },
	{ "test_every_state_change_of_ud", test_every_state_change, setup_ud, fake_teardown, NULL },
	{ "test_every_state_change_of_gsi", test_every_state_change, setup_gsi, fake_teardown,
	  NULL },
	TEST(test_states_that_are_none),
	TEST(test_attributes_without_a_state_leave_it),
	TEST(test_the_current_state_must_be_right),
	TEST(test_a_change_that_the_device_refuses),
	TEST(test_an_error_during_a_change_stays),
	TEST(test_an_error_during_a_query_stays),
	TEST(test_values_out_of_range),
	TEST(test_remote_atomics_need_a_device_that_has_some),
	TEST(test_the_way_to_the_peer),
	TEST(test_query),
	TEST(test_what_an_application_sees_of_its_queue_pair),
	TEST(test_drain),
	TEST(test_who_wants_to_know_that_a_queue_is_drained),
};

FAKE_MAIN("rdma_qp", tests)
