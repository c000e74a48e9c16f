/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What devtools/trace/personality.py makes of the recorded commands of a ConnectX-4 Lx is what cx4lx says of that card: the
 * same values in the same bits, and of each the same is shown. The build has made it (recorded_personality.h).
 */
#include "driver/cap.h"
#include "harness.h"
#include "prm/layouts.h"
#include "softrnic/hca/like.h"

#include "recorded_personality.h"

#define DWORDS (RNIC_HCA_CAP_BYTES / 4)

static const unsigned int types[] = { RNIC_CAP_GENERAL, RNIC_CAP_ETHERNET_OFFLOADS,
				      RNIC_CAP_ODP,	RNIC_CAP_ATOMIC,
				      RNIC_CAP_ROCE,	RNIC_CAP_FLOW_TABLE };
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Bits of one type that rows are about: which, their maximum and current values, and how they are shown. */
struct bits {
	struct rnic_be32 about[DWORDS], max[DWORDS], current[DWORDS], shown[3][DWORDS];
};
static struct bits cx4lx[TYPES], made[TYPES];

static void
add_rows(struct bits *bits, const struct softrnic_like_part *part)
{
	for (unsigned int i = 0; i < part->cap_count; i++) {
		const struct softrnic_like_cap *row = &part->caps[i];
		unsigned int type = 0;

		while (type < TYPES && types[type] != row->type)
			type++;
		assert_true(type < TYPES);
		if (rnic_field_get(bits[type].about, row->field) != 0)
			fail_msg("%s: a second row of %s", part->name, row->name);
		rnic_field_set(bits[type].about, row->field, UINT64_MAX);
		rnic_field_set(bits[type].max, row->field, row->max);
		rnic_field_set(bits[type].current, row->field, row->current);
		rnic_field_set(bits[type].shown[row->shown], row->field, UINT64_MAX);
		assert_true((row->why == NULL) == (row->shown == SOFTRNIC_LIKE_AS_CARD));
	}
}

static const struct softrnic_like_part *
part_of(const char *name)
{
	const struct softrnic_like *like = softrnic_like_find(name);

	assert_non_null(like);
	for (unsigned int i = 0; like->parts[i] != NULL; i++) {
		if (strcmp(like->parts[i]->name, name) == 0)
			return like->parts[i];
	}
	fail_msg("no part is named %s", name);
	return NULL;
}

static int
make_bits(void **state)
{
	(void)state;
	add_rows(cx4lx, part_of("cx4lx"));
	add_rows(made, &part_recorded);
	return 0;
}

/* In one dword of both; cx4lx has a row about neighbours where some of them are as ours, too. */
static void
compare(unsigned int type, unsigned int dword, const char *what, const struct rnic_be32 *theirs,
	const struct rnic_be32 *ours)
{
	const uint32_t about = made[type].about[dword].raw;

	if ((theirs[dword].raw ^ ours[dword].raw) & about)
		fail_msg("type %u, at 0x%x: %s: cx4lx has 0x%08x, the recording 0x%08x, of 0x%08x",
			 types[type], 4 * dword, what, rnic_be32_to_cpu(theirs[dword]),
			 rnic_be32_to_cpu(ours[dword]), RNIC_SWAP32(about));
}

static void
rows_of_the_recording_are_those_of_cx4lx(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < TYPES; i++) {
		for (unsigned int dword = 0; dword < DWORDS; dword++) {
			compare(i, dword, "rows", cx4lx[i].about, made[i].about);
			compare(i, dword, "maximum", cx4lx[i].max, made[i].max);
			compare(i, dword, "current", cx4lx[i].current, made[i].current);
			for (unsigned int shown = 0; shown < 3; shown++)
				compare(i, dword, "shown", cx4lx[i].shown[shown],
					made[i].shown[shown]);
		}
	}
}

/* Where something else is shown than the card has, the device alone does not tell that a row is missing. */
static void
no_row_of_cx4lx_is_missing(void **state)
{
	const struct softrnic_like_part *part = part_of("cx4lx");

	(void)state;
	for (unsigned int i = 0; i < part->cap_count; i++) {
		const struct softrnic_like_cap *row = &part->caps[i];
		unsigned int type = 0;

		while (types[type] != row->type)
			type++;
		if (row->shown != SOFTRNIC_LIKE_AS_CARD &&
		    rnic_field_get(made[type].about, row->field) == 0)
			fail_msg("%s: no row is made of it", row->name);
	}
}

/* What a device of that name shows of a type. */
static void
read_page(const char *like, unsigned int type, bool current, struct rnic_be32 *page)
{
	struct softrnic_conf conf = { .name = "personality", .like = like };
	struct hn hn;

	hn_start(&hn, NULL, &conf);
	hn_enable(&hn);
	assert_int_equal(drv_cap_query(&hn.drv, type, current, page, RNIC_HCA_CAP_BYTES), 0);
	hn_stop(&hn);
}

/* As a device does it. */
static void
show_rows(unsigned int type, bool current, struct rnic_be32 *page)
{
	for (unsigned int i = 0; i < part_recorded.cap_count; i++) {
		const struct softrnic_like_cap *row = &part_recorded.caps[i];

		if (row->type == type && row->shown == SOFTRNIC_LIKE_AS_CARD)
			rnic_field_set(page, row->field, current ? row->current : row->max);
		else if (row->type == type && row->shown == SOFTRNIC_LIKE_NOT_BUILT)
			rnic_field_set(page, row->field, 0);
	}
}

static void
a_device_by_them_is_as_cx4lx_bit_by_bit(void **state)
{
	static struct rnic_be32 page[DWORDS], like[DWORDS];

	(void)state;
	for (unsigned int i = 0; i < TYPES * 2; i++) {
		read_page("default", types[i / 2], i % 2, page);
		show_rows(types[i / 2], i % 2, page);
		read_page("cx4lx", types[i / 2], i % 2, like);
		for (unsigned int dword = 0; dword < DWORDS; dword++) {
			if (page[dword].raw != like[dword].raw)
				fail_msg(
					"type %u, %s, at 0x%x: cx4lx shows 0x%08x, the rows 0x%08x",
					types[i / 2], i % 2 ? "current" : "maximum", 4 * dword,
					rnic_be32_to_cpu(like[dword]),
					rnic_be32_to_cpu(page[dword]));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_by_them_is_as_cx4lx_bit_by_bit),
		cmocka_unit_test(no_row_of_cx4lx_is_missing),
		cmocka_unit_test(rows_of_the_recording_are_those_of_cx4lx),
	};

	return cmocka_run_group_tests(tests, make_bits, NULL);
}
