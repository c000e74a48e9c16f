/* SPDX-License-Identifier: BSD-3-Clause */

/* Every row of every layout, and every row of the command table. */
#include "layout_test.h"

#include "cmd_table.h"

#define LAYOUT_BYTES_MAX 0x4000

/* Pairs of fields that share bits because the PRM overlays them. None so far. */
static const struct {
	const char *one;
	const char *other;
} unions[] = {
	{ "", "" },
};

static uint32_t
field_bytes(const struct rnic_field_desc *field)
{
	return field->high > 31 ? 8 : 4;
}

/* The field's bits as they lie in memory: mask[] has the layout's bytes. */
static void
field_bits(const struct rnic_field_desc *field, uint8_t *mask)
{
	for (uint32_t bit = field->low; bit <= field->high; bit++)
		mask[field->offset + field_bytes(field) - 1 - bit / 8] |= (uint8_t)(1u << bit % 8);
}

static void
row_inside(const struct rnic_layout_desc *layout, const struct rnic_field_desc *field)
{
	if (field->offset % 4 != 0 || field->high < field->low || field->high > 63 ||
	    field->low > (field->high > 31 ? 63 : 31) ||
	    field->offset + field_bytes(field) > layout->size)
		fail_msg("%s is not inside %s", field->name, layout->name);
	assert_memory_equal(field->name, "RNIC_", 5);
}

static void
rows_inside(void **state)
{
	const struct rnic_layout_desc *layout = *state;

	assert_true(layout->size % 4 == 0 && layout->size <= LAYOUT_BYTES_MAX);
	for (uint32_t i = 0; i < layout->field_count; i++) {
		row_inside(layout, &layout->fields[i]);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(layout->fields[i].name, layout->fields[j].name);
	}
}

static int
may_overlap(const struct rnic_field_desc *a, const struct rnic_field_desc *b)
{
	for (size_t i = 0; i < sizeof(unions) / sizeof(unions[0]); i++) {
		if (strcmp(unions[i].one, a->name) == 0 && strcmp(unions[i].other, b->name) == 0)
			return 1;
	}
	return 0;
}

/* No bit has two names, and none belongs to a field and to an inner layout. */
static void
rows_apart(void **state)
{
	const struct rnic_layout_desc *layout = *state;
	uint8_t a[LAYOUT_BYTES_MAX], b[LAYOUT_BYTES_MAX];

	for (uint32_t i = 0; i < layout->field_count; i++) {
		const struct rnic_field_desc *field = &layout->fields[i];

		memset(a, 0, sizeof(a));
		field_bits(field, a);
		for (uint32_t j = 0; j < i; j++) {
			memset(b, 0, sizeof(b));
			field_bits(&layout->fields[j], b);
			for (uint32_t k = 0; k < layout->size; k++) {
				if ((a[k] & b[k]) && !may_overlap(field, &layout->fields[j]))
					fail_msg("%s overlaps %s", field->name,
						 layout->fields[j].name);
			}
		}
		for (uint32_t j = 0; j < rnic_inner_count; j++) {
			const struct rnic_inner_desc *inner = &rnic_inners[j];

			for (uint32_t k = 0; inner->outer == layout && k < inner->inner->size;
			     k++) {
				if (a[inner->offset + k] != 0)
					fail_msg("%s overlaps %s", field->name, inner->member);
			}
		}
	}
}

static void
round_trip(const struct rnic_layout_desc *layout, const struct rnic_field_desc *field,
	   uint64_t value, uint8_t fill)
{
	uint32_t width = field->high - field->low + 1u;
	uint64_t got = ~value, low = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
	uint8_t mask[LAYOUT_BYTES_MAX] = { 0 };
	uint8_t *bytes = malloc(layout->size), expected;

	memset(bytes, fill, layout->size);
	field_bits(field, mask);
	assert_true(rnic_desc_set(bytes, layout->size, 0, field, value));
	assert_true(rnic_desc_get(bytes, layout->size, 0, field, &got));
	if (got != (value & low))
		fail_msg("%s: set 0x%llx, got 0x%llx", field->name, (unsigned long long)value,
			 (unsigned long long)got);
	for (uint32_t i = 0; i < layout->size; i++) {
		expected = fill;
		for (int bit = 0; bit < 8; bit++) {
			uint32_t place =
				(field->offset + field_bytes(field) - 1 - i) * 8 + (uint32_t)bit;

			if (!(mask[i] >> bit & 1))
				continue;
			expected = (uint8_t)(expected & ~(1u << bit));
			expected |= (uint8_t)((value >> (place - field->low) & 1) << bit);
		}
		if (bytes[i] != expected)
			fail_msg("%s: byte 0x%x is 0x%02x, not 0x%02x", field->name, i, bytes[i],
				 expected);
	}
	free(bytes);
}

/*
 * What is set is got back, lies at the PRM's bits, and nothing else changes; too large values are
 * cut.
 */
static void
rows_round_trip(void **state)
{
	static const uint64_t values[] = { 0, ~UINT64_C(0), 1, UINT64_C(0xa5a5a5a5a5a5a5a5),
					   UINT64_C(0x123456789abcdef0) };
	const struct rnic_layout_desc *layout = *state;

	for (uint32_t i = 0; i < layout->field_count; i++) {
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			round_trip(layout, &layout->fields[i], values[j], 0x00);
			round_trip(layout, &layout->fields[i], values[j], 0xff);
		}
	}
}

/*
 * Whoever is given fewer bytes than the layout has: fields past the end are refused, and nothing is
 * touched.
 */
static void
rows_past_the_end(void **state)
{
	const struct rnic_layout_desc *layout = *state;
	const struct rnic_field_desc *field;
	uint64_t value;
	uint8_t *bytes;

	for (uint32_t i = 0; i < layout->field_count; i++) {
		field = &layout->fields[i];
		uint32_t end = field->offset + field_bytes(field);

		bytes = calloc(1, end - 1);
		assert_false(rnic_desc_get(bytes, end - 1, 0, field, &value));
		assert_false(rnic_desc_set(bytes, end - 1, 0, field, 1));
		assert_false(rnic_desc_get(bytes, end - 1, SIZE_MAX, field, &value));
		assert_false(rnic_desc_set(bytes, end - 1, end, field, 1));
		free(bytes);
		bytes = calloc(1, end + 3);
		assert_true(rnic_desc_set(bytes, end + 3, 3, field, ~UINT64_C(0)));
		assert_true(rnic_desc_get(bytes, end + 3, 3, field, &value) && value != 0);
		free(bytes);
	}
}

/* The accessors that drivers use reach the same bytes as the table that dumps use. */
static void
inner_offsets(void **state)
{
	static uint32_t room[LAYOUT_BYTES_MAX / 4];
	uint32_t n = 0;

	(void)state;
#define CHECK(outer_, inner_, member_, offset_)                                   \
	assert_ptr_equal(rnic_##outer_##_##member_((struct rnic_##outer_ *)room), \
			 (uint8_t *)room + rnic_inners[n].offset);                \
	assert_ptr_equal(rnic_inners[n].outer, &rnic_##outer_##_desc);            \
	assert_int_equal(rnic_inners[n].offset, offset_);                         \
	n++;
	RNIC_INNERS(CHECK)
	assert_int_equal(n, rnic_inner_count);
}

/* The common header has the first eight bytes for itself. */
static void
behind_header(const struct rnic_layout_desc *layout)
{
	for (uint32_t i = 0; layout != NULL && i < layout->field_count; i++) {
		if (layout->fields[i].offset < 8)
			fail_msg("%s lies in the common header", layout->fields[i].name);
	}
}

static void
command_rows(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < rnic_cmd_count; i++) {
		const struct rnic_cmd_desc *cmd = &rnic_cmds[i];

		if (i > 0 && rnic_cmds[i - 1].opcode >= cmd->opcode)
			fail_msg("%s is not in order", cmd->name);
		assert_ptr_equal(rnic_cmd_find(cmd->opcode), cmd);
		assert_string_equal(rnic_cmd_name(cmd->opcode), cmd->name);
		behind_header(cmd->in);
		behind_header(cmd->out);
		if (cmd->in_list.element != NULL && cmd->in != NULL)
			assert_true(cmd->in_list.offset >= 0x10 &&
				    cmd->in_list.offset <= cmd->in->size);
	}
	assert_null(rnic_cmd_find(0xffff));
	assert_string_equal(rnic_cmd_name(0xffff), "unknown");
	assert_string_equal(rnic_cmd_name(RNIC_CMD_CREATE_EQ), "CREATE_EQ");
}

static void
names_are_never_null(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 0x10000; i++) {
		assert_non_null(rnic_cmd_name(i));
		assert_non_null(rnic_cmd_status_name(i));
		assert_non_null(rnic_delivery_status_name(i));
		assert_non_null(rnic_cap_type_name(i));
		assert_non_null(rnic_reg_name(i));
		assert_non_null(rnic_event_name(i));
		assert_non_null(rnic_wqe_opcode_name(i));
		assert_non_null(rnic_cqe_opcode_name(i));
		assert_non_null(rnic_cqe_syndrome_name(i));
	}
	assert_string_equal(rnic_cmd_status_name(RNIC_STATUS_BAD_INP_LEN), "bad input length");
	assert_string_equal(rnic_reg_name(RNIC_REG_PMTU), "PMTU");
}

static void
short_names(void **state)
{
	(void)state;
	assert_string_equal(rnic_field_short_name(&rnic_eqc_desc, &rnic_eqc_desc.fields[0]),
			    "STATUS");
	/* Rows whose prefix is not the layout's name keep theirs. */
	assert_string_equal(
		rnic_field_short_name(&rnic_init_seg_desc, &rnic_init_seg_desc.fields[0]),
		"ISEG_FW_REV_MINOR");
}

int
main(void)
{
	struct test_list list = { 0 };
	char name[128];

	for (uint32_t i = 0; i < rnic_layout_count; i++) {
		const struct rnic_layout_desc *layout = rnic_layouts[i];
		void *state = (void *)(uintptr_t)layout;

		if (layout->field_count == 0)
			continue;
		snprintf(name, sizeof(name), "%s: rows are inside", layout->name);
		test_list_add(&list, name, rows_inside, state);
		snprintf(name, sizeof(name), "%s: rows do not overlap", layout->name);
		test_list_add(&list, name, rows_apart, state);
		snprintf(name, sizeof(name), "%s: set, get, and nothing else", layout->name);
		test_list_add(&list, name, rows_round_trip, state);
		snprintf(name, sizeof(name), "%s: cut short", layout->name);
		test_list_add(&list, name, rows_past_the_end, state);
	}
	test_list_add(&list, "inner layouts: accessors and table agree", inner_offsets, NULL);
	test_list_add(&list, "commands: rows in order, behind the header", command_rows, NULL);
	test_list_add(&list, "names are never NULL", names_are_never_null, NULL);
	test_list_add(&list, "names of fields without the layout's", short_names, NULL);
	return test_list_run("layout rows", &list);
}
