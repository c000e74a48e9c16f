/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each field of each command, spoilt: at 0, 1, its largest value and random ones, alone and several at once, in the good input of
 * a function that has some of everything. Whatever comes of it is an answer, a refusal leaves nothing behind, and a reset takes
 * all. Beside it, on the same switch and the same poller, two other functions go on with traffic that is looked at byte by byte.
 */
#include <stdlib.h>

#include "../counts.h"
#include "ctl_world.h"
#include "prm/cmd_table.h"
#include "qp_world.h"
/* Commands are taken from the device's table, so that none is left out; what it has of our memory is said by no command. */
#include "softrnic/base/device.h"
#include "softrnic/base/random.h"
#include "softrnic/hca/cmd_table.h"

#define PLACES_MAX 1024u
#define BYTES	   4096u
/* So many commands, and the neighbours are looked at; so many random ones, and the function begins anew. */
#define LOOK  16u
#define ROUND 256u

/* A field of an input. */
struct place {
	const struct rnic_layout_desc *layout;
	const struct rnic_field_desc *field;
	uint32_t offset; /* of the layout */
};

struct fixture {
	struct qw_two *two; /* first, see qw_fixture_teardown(): the neighbours */
	struct rnic_mkc keys[2];
	struct world w; /* the function whose commands these are */
	struct place places[PLACES_MAX];
	uint32_t count;
	uint32_t commands, executed;
	uint64_t memory; /* of ours, that the device has when it is off */
	uint64_t random;
	uint32_t seed; /* of what the neighbours exchange */
};

static uint32_t
below(struct fixture *f, uint32_t limit)
{
	return (uint32_t)(softrnic_splitmix64(&f->random) % limit);
}

/* ---- The neighbours ---- */

/* One request, to its completion: whatever queues the other function has, there are turns for it. */
static void
request(struct fixture *f, uint8_t opcode, const void *local, uint32_t bytes, const void *remote)
{
	struct qw_two *two = f->two;
	const struct rnic_cqe *cqe = NULL;

	qw_post(&two->a, &two->b, opcode, local, bytes, remote);
	for (unsigned int polls = 0; cqe == NULL && polls < 20000; polls++) {
		qw_poll(&two->qw, 1);
		cqe = dp_cq_next(&two->a_send);
	}
	assert_non_null(cqe);
	assert_int_equal(cqe->op_own >> 4, RNIC_CQE_REQUESTER);
}

/* What goes there comes back, and nothing else has changed. */
static void
neighbours_are_well(struct fixture *f)
{
	struct qw_two *two = f->two;
	struct rnic_mkc key;
	uint8_t *back = two->out + BYTES;

	qw_fill(two->out, BYTES, ++f->seed);
	request(f, RNIC_WQE_RDMA_WRITE, two->out, BYTES, two->in);
	assert_memory_equal(two->in, two->out, BYTES);
	qw_recv(&two->b, two->in + BYTES, BYTES);
	request(f, RNIC_WQE_SEND, two->out, BYTES, NULL);
	assert_non_null(dp_cq_next(&two->b_recv));
	assert_memory_equal(two->in + BYTES, two->out, BYTES);
	request(f, RNIC_WQE_RDMA_READ, back, BYTES, two->in);
	assert_memory_equal(back, two->out, BYTES);
	for (unsigned int i = 0; i < 2; i++) {
		key = qw_key_query(two->qw.ends[i], two->qw.ends[i]->key);
		assert_memory_equal(&key, &f->keys[i], sizeof(key));
		assert_int_equal(qw_event(two->qw.ends[i], NULL), 0);
	}
}

/* ---- The function ---- */

/* Its rings and records are random bytes. */
static void
world_begin(struct fixture *f, uint16_t opcode)
{
	uint64_t *memory;

	world_make_beside(&f->w, opcode, f->two->qw.poller, "switch:qw");
	if (f->w.memory == 0)
		return;
	memory = hn_va(&f->w.hn, f->w.memory);
	for (unsigned int i = 0; i < 65536 / sizeof(*memory); i++)
		memory[i] = softrnic_splitmix64(&f->random);
}

static void
world_end(struct fixture *f)
{
	const struct softrnic *dev = f->w.hn.dev;

	softrnic_reset(f->w.hn.dev);
	/* What is large goes in several rounds. */
	for (unsigned int polls = 0; ctl_stats(&f->w.hn).objects > 0 && polls < 1000; polls++)
		softrnic_poll(f->w.hn.poller);
	assert_int_equal(ctl_stats(&f->w.hn).objects, 0);
	assert_int_equal(ctl_stats(&f->w.hn).pages_held, 0);
	assert_int_equal(dev->memory, f->memory);
	assert_int_equal(dev->rings_memory + dev->qps_memory + dev->umems_memory, 0);
	hn_stop(&f->w.hn);
}

static int
setup(void **state)
{
	static const struct qw_conf conf = { .pair = true, .through_switch = true };
	const struct qw_attr attr = qw_attr();
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->two = qw_two_open(&conf);
	qw_two_connect(f->two, &attr);
	for (unsigned int i = 0; i < 2; i++)
		f->keys[i] = qw_key_query(f->two->qw.ends[i], f->two->qw.ends[i]->key);
	f->random = 1;
	world_begin(f, RNIC_CMD_ENABLE_HCA);
	f->memory = f->w.hn.dev->memory;
	world_end(f);
	*state = f;
	return 0;
}

/* Execute the world's input: its status. */
static int
command(struct fixture *f)
{
	struct world *w = &f->w;
	const struct softrnic_stats before = ctl_stats(&w->hn);
	const int status = world_run(w, NULL);
	const struct softrnic_stats after = ctl_stats(&w->hn);

	/* It is executed, and says how that went. */
	assert_in_range(status, 0, 0xff);
	f->commands++;
	if (status == RNIC_STATUS_OK) {
		f->executed++;
	} else {
		assert_int_equal(after.objects, before.objects);
		assert_int_equal(after.commands_failed, before.commands_failed + 1);
	}
	if (f->commands % LOOK == 0)
		neighbours_are_well(f);
	return status;
}

/* ---- Fields ---- */

static void
place_note(void *arg, const struct rnic_cmd_part *part)
{
	struct fixture *f = arg;

	for (uint32_t i = 0; i < part->layout->field_count; i++) {
		const struct rnic_field_desc *field = &part->layout->fields[i];

		/* It would be another command. */
		if (part->offset + field->offset == 0 && field->high > 15)
			continue;
		assert_true(f->count < PLACES_MAX);
		f->places[f->count++] = (struct place){ part->layout, field, part->offset };
	}
}

/* Those of the world's input. */
static void
places_find(struct fixture *f)
{
	const struct rnic_cmd_part head = { &rnic_cmd_in_desc, 0, "", -1, NULL };

	f->count = 0;
	place_note(f, &head);
	rnic_cmd_walk_in(f->w.in, f->w.in_bytes, place_note, f);
}

/* False: the input ends before the field. */
static bool
place_set(struct fixture *f, const struct place *place, uint64_t value)
{
	const unsigned int bits = place->field->high - place->field->low + 1u;

	return rnic_desc_set(f->w.in, f->w.in_bytes, place->offset, place->field,
			     value & (UINT64_MAX >> (64 - bits)));
}

/* One of the numbers that mean something, or none of them. */
static uint64_t
value_of(struct fixture *f)
{
	const struct world *w = &f->w;
	const uint64_t numbers[] = { 0,
				     1,
				     UINT64_MAX,
				     w->pd,
				     w->td,
				     w->uar,
				     w->mkey,
				     w->mkey >> 8,
				     w->counter,
				     w->table,
				     w->group,
				     w->eq.number,
				     w->cq.number,
				     w->tis,
				     w->rqt,
				     w->tir,
				     w->sq.number,
				     w->rq.number,
				     w->qps[0],
				     w->rmp,
				     w->xrcd,
				     w->xrc_srq,
				     w->umem,
				     w->uctx,
				     w->users_pd,
				     w->memory,
				     w->datagram,
				     w->loose_cq.number,
				     w->loose_umem,
				     w->loose_xrcd,
				     w->loose_uctx,
				     w->flow_counter };
	const uint32_t count = sizeof(numbers) / sizeof(numbers[0]);

	switch (below(f, 4)) {
	case 0: return UINT64_C(1) << below(f, 64);
	case 1: return softrnic_splitmix64(&f->random);
	default: return numbers[below(f, count)];
	}
}

/* ---- Tests ---- */

/* One field after the other, each in a good input; begin anew behind what has changed something. */
static void
test_each_field(void **state)
{
	struct fixture *f = *state;
	const uint32_t times = 3 + (sanitized_run() || default_run() ? 2 : 8);

	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		const uint16_t opcode = softrnic_cmd_table[i].opcode;
		bool as_it_was = true;

		world_begin(f, opcode);
		world_good(&f->w, opcode);
		places_find(f);
		for (uint32_t n = 0; n < f->count * times; n++) {
			const uint64_t values[] = { 0, 1, UINT64_MAX };
			const uint32_t which = n % times;

			if (!as_it_was) {
				world_end(f);
				world_begin(f, opcode);
			}
			world_good(&f->w, opcode);
			if (!place_set(f, &f->places[n / times],
				       which < 3 ? values[which] : value_of(f)))
				continue;
			as_it_was = command(f) != RNIC_STATUS_OK;
		}
		world_end(f);
	}
	neighbours_are_well(f);
}

/* Any command after the other, several of its fields spoilt. */
static void
test_several_at_once(void **state)
{
	struct fixture *f = *state;
	const uint32_t count = full_run() ? 10000000 : sanitized_run() ? 10000 : 100000;
	uint32_t left = ROUND;

	world_begin(f, RNIC_CMD_ALLOC_PD);
	for (uint32_t n = 0; n < count; n++, left--) {
		const uint16_t opcode =
			softrnic_cmd_table[below(f, softrnic_cmd_table_size)].opcode;

		if (left == 0) {
			world_end(f);
			world_begin(f, RNIC_CMD_ALLOC_PD);
			left = ROUND;
		}
		world_good(&f->w, opcode);
		places_find(f);
		for (uint32_t change = below(f, 4); change > 0; change--)
			place_set(f, &f->places[below(f, f->count)], value_of(f));
		/* Behind that one there is nothing left. */
		if (command(f) == RNIC_STATUS_OK && opcode == RNIC_CMD_TEARDOWN_HCA)
			left = 1;
	}
	world_end(f);
	neighbours_are_well(f);
	/* Else they were not worth the time. */
	assert_in_range(f->executed, count / 10, count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_field),
		TEST(test_several_at_once),
	};

	return cmocka_run_group_tests_name("ctl_fields", tests, NULL, NULL);
}
