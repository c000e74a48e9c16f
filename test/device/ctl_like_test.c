/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Personalities (`like=NAME`), row by row of their tables: each capability is shown as its row says; each refusal refuses
 * just what it says, and nothing once one of its conditions does not hold. That a recorded card and the device that is like
 * it show the same is tested by ctl_trace_test.c, that the document has these rows by ctl_like_rows_test.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_log.h>

#include "ctl_world.h"
#include "driver/cap.h"
#include "driver/mkey.h"
#include "driver/vport.h"
#include "prm/layouts.h"
/* The tables, the device's clock, frames that arrive without a wire, and a capability that is changed late. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/hca/like.h"
#include "softrnic/receive/receive.h"

#define OUT_ROOM 0x1010

/* Call fn for each part of any personality, once. */
static void
each_part(void (*fn)(const struct softrnic_like_part *part))
{
	const struct softrnic_like_part *seen[64];
	unsigned int count = 0, i;

	for (unsigned int like = 0; like < softrnic_like_count; like++) {
		for (unsigned int p = 0; softrnic_likes[like].parts[p] != NULL; p++) {
			const struct softrnic_like_part *part = softrnic_likes[like].parts[p];

			for (i = 0; i < count && seen[i] != part; i++)
				;
			if (i < count)
				continue;
			assert_true(count < sizeof(seen) / sizeof(seen[0]));
			seen[count++] = part;
			fn(part);
		}
	}
	assert_true(count > 0);
}

/* ---- Names ---- */

static void
names_are_listed(void **state)
{
	char list[256] = "";

	(void)state;
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		assert_ptr_equal(softrnic_like_find(softrnic_likes[i].name), &softrnic_likes[i]);
		assert_int_equal(softrnic_like_pci_device(softrnic_likes[i].name),
				 softrnic_likes[i].pci_device);
		assert_int_not_equal(softrnic_likes[i].pci_device, 0);
		strcat(list, i == 0 ? "" : ", ");
		strcat(list, softrnic_likes[i].name);
	}
	assert_string_equal(list, SOFTRNIC_LIKE_NAMES);
	/* The first one is nobody but ourselves. */
	assert_ptr_equal(softrnic_like_find(NULL), &softrnic_likes[0]);
	assert_string_equal(softrnic_likes[0].name, "default");
	assert_null(softrnic_likes[0].parts[0]);
}

static void
an_unknown_name_is_refused_with_the_list(void **state)
{
	static const char *const unknown[] = { "", "cx3", "cx4", "CX4LX", "cx4lx ", "cx4lx-pf" };
	struct softrnic_poller *poller;
	struct softrnic *dev;
	char said[1024];
	FILE *stream;
	size_t n;

	(void)state;
	assert_int_equal(softrnic_poller_create(&poller), 0);
	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct softrnic_conf conf = { .name = "d", .like = unknown[i] };

		assert_int_equal(softrnic_like_pci_device(unknown[i]), 0);
		stream = tmpfile();
		assert_non_null(stream);
		rte_openlog_stream(stream);
		assert_int_equal(softrnic_create(poller, &conf, &dev), -EINVAL);
		rte_openlog_stream(NULL);
		rewind(stream);
		n = fread(said, 1, sizeof(said) - 1, stream);
		said[n] = '\0';
		fclose(stream);
		assert_non_null(strstr(said, SOFTRNIC_LIKE_NAMES));
	}
	assert_int_equal(softrnic_poller_destroy(poller), 0);
}

/* ---- What rows say of themselves ---- */

static void
check_known(const struct softrnic_like_part *part, const char *name,
	    const struct softrnic_known *known)
{
	if (name == NULL || name[0] == '\0' || known->where == NULL || known->where[0] == '\0' ||
	    known->from > SOFTRNIC_KNOWN_GUESS)
		fail_msg("a row of %s does not say what it is, or where it is known from: %s",
			 part->name, name != NULL ? name : "");
}

static void
check_part(const struct softrnic_like_part *part)
{
	assert_true(part->cap_count + part->refusal_count + part->behaviour_count > 0);
	for (unsigned int i = 0; i < part->cap_count; i++)
		check_known(part, part->caps[i].name, &part->caps[i].known);
	for (unsigned int i = 0; i < part->refusal_count; i++) {
		check_known(part, part->refusals[i].name, &part->refusals[i].known);
		assert_int_not_equal(part->refusals[i].status, RNIC_STATUS_OK);
	}
	for (unsigned int i = 0; i < part->behaviour_count; i++)
		check_known(part, part->behaviours[i].name, &part->behaviours[i].known);
}

static void
each_row_says_where_it_is_known_from(void **state)
{
	(void)state;
	each_part(check_part);
}

/* ---- Refusals ---- */

/* The field becomes what the condition wants, or something else; returns the bytes that the input has then. */
static uint32_t
condition_set(const struct softrnic_like_when *when, bool holds, uint8_t *in, uint32_t bytes)
{
	const uint32_t end =
		RNIC_FIELD_OFFSET(when->field) + (RNIC_FIELD_HIGH(when->field) > 31 ? 8 : 4);
	uint64_t value = 0;

	switch (when->how) {
	case SOFTRNIC_LIKE_ALWAYS: return bytes;
	case SOFTRNIC_LIKE_IS: value = holds ? when->value : when->value ^ 1; break;
	case SOFTRNIC_LIKE_ABOVE: value = holds ? when->value + 1 : when->value; break;
	case SOFTRNIC_LIKE_SET: value = holds; break;
	case SOFTRNIC_LIKE_ZERO: value = !holds; break;
	}
	rnic_field_set((struct rnic_be32 *)(void *)in, when->field, value);
	return bytes > end ? bytes : end;
}

static uint32_t
spoil(const struct softrnic_like_refusal *row, uint8_t *in, uint32_t bytes)
{
	for (unsigned int k = 0; k < SOFTRNIC_LIKE_WHENS; k++)
		bytes = condition_set(&row->when[k], true, in, bytes);
	return bytes;
}

/* Does the row refuse it? Whatever else may happen to the command. */
static bool
refused(struct world *w, const struct softrnic_like_refusal *row, uint32_t syndrome,
	const uint8_t *in, uint32_t bytes)
{
	static uint8_t out[OUT_ROOM];
	int status = hn_cmd(&w->hn, in, bytes, out, sizeof(out));

	if (status == HN_PENDING || hn_get32(out, 4) != syndrome)
		return false;
	if (status != row->status)
		fail_msg("%s: status 0x%x, its row says 0x%x", row->name, status, row->status);
	return true;
}

/* Current, or not: a driver decides before it has anything of what a world has. */
static void
capability_set(struct world *w, const struct softrnic_like_refusal *row, bool current)
{
	if (row->lifted_by != 0)
		rnic_field_set(w->hn.dev->general_cap[1].dw, row->lifted_by, current);
}

static void
check_refusal(const struct softrnic_like_part *const *alone,
	      const struct softrnic_like_refusal *row, uint32_t syndrome)
{
	static uint8_t in[IN_ROOM];
	struct softrnic_stats before, after;
	const uint8_t *good;
	struct world w;
	uint32_t all;

	world_make_for(&w, row->opcode);
	good = world_good(&w, row->opcode);
	memcpy(in, good, sizeof(in));
	all = spoil(row, in, w.in_bytes);
	capability_set(&w, row, false);

	world_be_like(alone);
	before = ctl_stats(&w.hn);
	if (!refused(&w, row, syndrome, in, all))
		fail_msg("%s: not refused", row->name);
	after = ctl_stats(&w.hn);
	assert_int_equal(after.objects, before.objects);
	assert_int_equal(after.commands_failed, before.commands_failed + 1);

	/* Each condition counts. */
	for (unsigned int k = 0; k < SOFTRNIC_LIKE_WHENS; k++) {
		if (row->when[k].how == SOFTRNIC_LIKE_ALWAYS)
			continue;
		memcpy(in, good, sizeof(in));
		all = condition_set(&row->when[k], false, in, spoil(row, in, w.in_bytes));
		if (refused(&w, row, syndrome, in, all))
			fail_msg("%s: refused without its condition %u", row->name, k);
	}
	memcpy(in, good, sizeof(in));
	all = spoil(row, in, w.in_bytes);
	if (row->lifted_by != 0) {
		capability_set(&w, row, true);
		if (refused(&w, row, syndrome, in, all))
			fail_msg("%s: refused in spite of the capability", row->name);
		capability_set(&w, row, false);
	}
	/* And by nobody else. */
	world_be_like(NULL);
	if (refused(&w, row, syndrome, in, all))
		fail_msg("%s: refused by a device that is like no card", row->name);
	hn_stop(&w.hn);
}

static void
check_refusals(const struct softrnic_like_part *part)
{
	/* Alone: a row before it may refuse the same command for a reason of its own. */
	for (unsigned int i = 0; i < part->refusal_count; i++) {
		const struct softrnic_like_part row = {
			.name = part->name,
			.refusals = &part->refusals[i],
			.refusal_count = 1,
		};
		const struct softrnic_like_part *const alone[] = { &row, NULL };

		check_refusal(alone, row.refusals, SOFTRNIC_LIKE_SYNDROME(row.refusals->opcode, 0));
	}
}

static void
each_row_refuses_what_it_says(void **state)
{
	(void)state;
	each_part(check_refusals);
}

/* Good commands, and nothing without the capability that a ConnectX-4 Lx does not have. */
static void
a_cx4lx_refuses_what_it_has_no_capability_for(void **state)
{
	static const struct {
		uint16_t opcode, op_mod;
		uint32_t field; /* that is set besides; 0: none */
	} cases[] = {
		{ RNIC_CMD_MODIFY_TIS, 0, 0 },
		{ RNIC_CMD_SET_FLOW_TABLE_ROOT, 1, 0 },
		{ RNIC_CMD_CREATE_SQ, 0,
		  (uint32_t)RNIC_SQC_ALLOW_MULTI_PKT_SEND_WQE + (UINT32_C(0x20) << 16) },
	};
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rnic_be32 *in;

		world_make_for(&w, cases[i].opcode);
		in = world_good(&w, cases[i].opcode);
		rnic_field_set(in, RNIC_CMD_IN_OP_MOD, cases[i].op_mod);
		if (cases[i].field != 0)
			rnic_field_set(in, cases[i].field, 1);
		world_be_like(softrnic_like_find("cx4lx")->parts);
		if (world_run(&w, NULL) != RNIC_STATUS_BAD_PARAM)
			fail_msg("opcode 0x%x: not refused", cases[i].opcode);
		world_be_like(NULL);
		assert_int_equal(world_run(&w, NULL), RNIC_STATUS_OK);
		hn_stop(&w.hn);
	}
}

/* ---- Capabilities ---- */

static const uint8_t *
capabilities(struct hn *hn, unsigned int type, bool current)
{
	static uint8_t cap[RNIC_HCA_CAP_BYTES];

	assert_int_equal(drv_cap_query(&hn->drv, type, current, cap, sizeof(cap)), 0);
	return cap;
}

/* A value of the page of general capabilities. */
static uint64_t
general(struct hn *hn, bool current, enum rnic_general_cap_field field)
{
	return rnic_general_cap_get((const void *)capabilities(hn, RNIC_CAP_GENERAL, current),
				    field);
}

/* As drivers do: all that is current is asked for again, and RoCE or not. */
static int
roce_set(struct hn *hn, bool on)
{
	struct rnic_general_cap asked;

	memcpy(&asked, capabilities(hn, RNIC_CAP_GENERAL, true), sizeof(asked));
	rnic_general_cap_set(&asked, RNIC_GENERAL_CAP_ROCE, on);
	return drv_cap_set(&hn->drv, RNIC_CAP_GENERAL, &asked, sizeof(asked));
}

/* Is there a row for the same field behind this one? It wins. */
static bool
overruled(const struct softrnic_like *like, unsigned int part, const struct softrnic_like_cap *row)
{
	while (like->parts[++part] != NULL) {
		for (unsigned int i = 0; i < like->parts[part]->cap_count; i++) {
			if (like->parts[part]->caps[i].type == row->type &&
			    like->parts[part]->caps[i].field == row->field)
				return true;
		}
	}
	return false;
}

static void
check_capability(struct hn *hn, const struct softrnic_like_cap *row)
{
	/* Those of RoCE are told where it is on. */
	const bool asks = row->type == RNIC_CAP_ROCE && !general(hn, true, RNIC_GENERAL_CAP_ROCE);

	if (asks)
		assert_int_equal(roce_set(hn, true), RNIC_STATUS_OK);
	for (int current = 0; current <= 1; current++) {
		uint64_t wanted = current ? row->current : row->max;
		uint64_t shown = rnic_field_get((const void *)capabilities(hn, row->type, current),
						row->field);

		if (row->shown == SOFTRNIC_LIKE_NOT_BUILT)
			wanted = 0;
		if (row->shown != SOFTRNIC_LIKE_OWN && shown != wanted)
			fail_msg("%s %s: 0x%" PRIx64 ", its row says 0x%" PRIx64, row->name,
				 current ? "current" : "maximum", shown, wanted);
	}
	if (asks)
		assert_int_equal(roce_set(hn, false), RNIC_STATUS_OK);
}

static void
each_personality_shows_what_its_rows_say(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		const struct softrnic_like *like = &softrnic_likes[i];
		struct softrnic_conf conf = { .name = "d", .like = like->name };
		struct hn hn;

		hn_start(&hn, NULL, &conf);
		hn_enable(&hn);
		for (unsigned int part = 0; like->parts[part] != NULL; part++) {
			for (unsigned int row = 0; row < like->parts[part]->cap_count; row++) {
				if (!overruled(like, part, &like->parts[part]->caps[row]))
					check_capability(&hn, &like->parts[part]->caps[row]);
			}
		}
		/* What is current may be asked for again. */
		assert_int_equal(roce_set(&hn, general(&hn, true, RNIC_GENERAL_CAP_ROCE)),
				 RNIC_STATUS_OK);
		hn_stop(&hn);
	}
}

/* ---- Virtual functions ---- */

static void
a_vf_has_the_address_that_it_was_given_or_none(void **state)
{
	static const uint8_t given[6] = { 0x02, 0x12, 0x34, 0x56, 0x78, 0x9a };
	struct rnic_nic_vport_context context;
	struct hn hn;

	(void)state;
	for (unsigned int with = 0; with <= 1; with++) {
		struct softrnic_conf conf = { .name = "d", .like = "cx5-vf" };
		uint64_t mac = with ? UINT64_C(0x02123456789a) : 0;

		if (with)
			memcpy(conf.mac, given, sizeof(given));
		hn_start(&hn, NULL, &conf);
		hn_bring_up(&hn);
		assert_int_equal(drv_vport_query(&hn.drv, RNIC_ALLOWED_LIST_UC, &context, NULL), 0);
#define GET(field) rnic_nic_vport_context_get(&context, RNIC_NIC_VPORT_CONTEXT_##field)
		assert_true(drv_vport_mac(&context) == mac);
		assert_true((GET(NODE_GUID) == 0) == !with);
		assert_true((GET(PORT_GUID) == 0) == !with);
		assert_true((GET(SYSTEM_IMAGE_GUID) == 0) == !with);
#undef GET
		hn_stop(&hn);
	}
}

/* A frame for somebody else, and one for a group: does the vport take them? */
static unsigned int
foreign_frames_taken(struct hn *hn)
{
	uint8_t frames[2][60] = { { 0x02, 0x99, 1, 2, 3, 4 }, { 0x01, 0x00, 0x5e, 1, 2, 3 } };
	const struct softrnic_port_counters *counters = &hn->dev->port.counters;
	unsigned int taken = 2;

	for (unsigned int i = 0; i < 2; i++) {
		struct softrnic_frame frame = { .length = sizeof(frames[i]), .count = 1 };

		frame.pieces[0].iov_base = frames[i];
		frame.pieces[0].iov_len = sizeof(frames[i]);
		softrnic_eth_receive(hn->dev, &frame);
	}
	for (unsigned int i = 0; i < 3; i++)
		taken -= (unsigned int)counters->rx_foreign_packets[i];
	return taken;
}

static void
an_untrusted_vf_is_promiscuous_in_name_alone(void **state)
{
	static const struct {
		const char *like;
		unsigned int taken;
	} cases[] = { { "cx5", 2 }, { "cx5-vf", 0 }, { "cx5-vf-trusted", 2 } };
	const struct drv_vport promiscuous = { .select = RNIC_NIC_VPORT_PROMISC,
					       .promisc_uc = true,
					       .promisc_mc = true,
					       .promisc_all = true };
	struct rnic_nic_vport_context context;
	struct hn hn;

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct softrnic_conf conf = { .name = "d", .like = cases[i].like };

		hn_start(&hn, NULL, &conf);
		hn_bring_up(&hn);
		assert_int_equal(drv_vport_modify(&hn.drv, &promiscuous), 0);
		assert_int_equal(drv_vport_query(&hn.drv, RNIC_ALLOWED_LIST_UC, &context, NULL), 0);
		assert_int_equal(
			rnic_nic_vport_context_get(&context, RNIC_NIC_VPORT_CONTEXT_PROMISC_ALL),
			1);
		assert_int_equal(foreign_frames_taken(&hn), cases[i].taken);
		hn_stop(&hn);
	}
}

/* ---- The order of keys ---- */

static int
key_status(struct hn *hn, uint32_t pd, enum rnic_mkc_field order)
{
	const struct drv_mkey mkey = {
		.mode = RNIC_MKEY_PA, .access = DRV_LR, .pd = pd, .length64 = true
	};
	_Alignas(8) uint8_t in[512] = { 0 };
	const uint32_t bytes = drv_mkey_fill(in, &mkey);
	uint32_t number;

	assert_true(bytes <= sizeof(in));
	rnic_mkc_set(rnic_create_mkey_in_mkc((struct rnic_create_mkey_in *)in), order, 1);
	return drv_execute(&hn->drv, in, bytes, &number);
}

static void
a_key_in_another_order_needs_a_device_that_says_so(void **state)
{
	static const char *const likes[] = { NULL, "cx4lx" };
	struct hn hn;
	uint32_t pd;
	int expected;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct softrnic_conf conf = { .name = "d", .like = likes[i] };

		hn_start(&hn, NULL, &conf);
		hn_bring_up(&hn);
		pd = hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD);
		expected = i == 0 ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM;
		assert_int_equal(key_status(&hn, pd, RNIC_MKC_RELAXED_ORDERING_WRITE), expected);
		assert_int_equal(key_status(&hn, pd, RNIC_MKC_RELAXED_ORDERING_READ), expected);
		assert_int_equal(key_status(&hn, pd, RNIC_MKC_LR), RNIC_STATUS_OK);
		hn_stop(&hn);
	}
}

/* ---- The switch between functions ---- */

/* Both pages of a type that is about the switch: there, with nothing in them, or unknown. */
static void
check_switch_pages(struct hn *hn, unsigned int type, bool manages)
{
	static const uint8_t nothing[RNIC_HCA_CAP_BYTES];
	uint8_t cap[RNIC_HCA_CAP_BYTES];

	for (int current = 0; current <= 1; current++) {
		assert_int_equal(drv_cap_query(&hn->drv, type, current, cap, sizeof(cap)),
				 manages ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM);
		if (manages)
			assert_memory_equal(cap, nothing, sizeof(nothing));
	}
}

static int
enter_address(struct hn *hn, uint64_t index)
{
	struct rnic_l2_table_entry_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_SET_L2_TABLE_ENTRY, 0);
	rnic_l2_table_entry_in_set(&in, RNIC_L2_TABLE_ENTRY_IN_TABLE_INDEX, index);
	rnic_l2_table_entry_in_set(&in, RNIC_L2_TABLE_ENTRY_IN_MAC_47_32, 0x0200);
	return hn_cmd(hn, &in, sizeof(in), &out, sizeof(out));
}

/* As Linux's driver asks: pages of two types more, and a table of addresses. */
static void
physical_functions_manage_the_switch(void **state)
{
	static const char *const managers[] = { "cx4lx",    "cx5",   "cx6dx", "cx7",
						"realtime", "oldfw", "busyfw" };
	unsigned int found = 0;

	(void)state;
	for (unsigned int i = 0; i < softrnic_like_count; i++) {
		struct softrnic_conf conf = { .name = "d", .like = softrnic_likes[i].name };
		bool manages = found < sizeof(managers) / sizeof(managers[0]) &&
			       strcmp(conf.like, managers[found]) == 0;
		uint64_t log;
		struct hn hn;

		found += manages;
		hn_start(&hn, NULL, &conf);
		hn_bring_up(&hn);
		assert_int_equal(general(&hn, true, RNIC_GENERAL_CAP_ESWITCH_MANAGER), manages);
		assert_int_equal(general(&hn, true, RNIC_GENERAL_CAP_VPORT_GROUP_MANAGER), manages);
		check_switch_pages(&hn, RNIC_CAP_ESWITCH_FLOW_TABLE, manages);
		check_switch_pages(&hn, RNIC_CAP_ESWITCH, manages);
		log = general(&hn, true, RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE);
		assert_int_equal(general(&hn, false, RNIC_GENERAL_CAP_LOG_MAX_L2_TABLE), log);
		/* Room for the vport's whole list. */
		assert_true(!manages ||
			    log >= general(&hn, true, RNIC_GENERAL_CAP_LOG_MAX_CURRENT_UC_LIST));
		assert_true(manages || log == 0);
		assert_int_equal(enter_address(&hn, (UINT64_C(1) << log) - 1),
				 manages ? RNIC_STATUS_OK : RNIC_STATUS_BAD_OP);
		assert_int_equal(enter_address(&hn, UINT64_C(1) << log),
				 manages ? RNIC_STATUS_BAD_PARAM : RNIC_STATUS_BAD_OP);
		hn_stop(&hn);
	}
	assert_int_equal(found, sizeof(managers) / sizeof(managers[0]));
}

/* ---- Firmware ---- */

static void
roce_of_oldfw_is_for_who_asks_for_it(void **state)
{
	struct softrnic_conf conf = { .name = "d", .like = "oldfw" };
	struct rnic_roce_cap cap;
	struct hn hn;

	(void)state;
	for (int asked = 0; asked <= 1; asked++) {
		hn_start(&hn, NULL, &conf);
		hn_enable(&hn);
		assert_int_equal(general(&hn, true, RNIC_GENERAL_CAP_ROCE), 0);
		assert_int_equal(roce_set(&hn, asked), RNIC_STATUS_OK);
		assert_int_equal(drv_cap_query(&hn.drv, RNIC_CAP_ROCE, true, &cap, sizeof(cap)),
				 asked ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM);
		/* Who comes next is asked again. */
		assert_int_equal(softrnic_reset(hn.dev), 0);
		hn_set_cmdq(&hn);
		hn_enable(&hn);
		assert_int_equal(general(&hn, true, RNIC_GENERAL_CAP_ROCE), 0);
		hn_stop(&hn);
	}
}

/* As mlx5_core does: all that is current, and the bit. */
static int
asks_for_ports(struct hn *hn, bool another)
{
	struct rnic_roce_cap asked;

	memcpy(&asked, capabilities(hn, RNIC_CAP_ROCE, true), sizeof(asked));
	rnic_roce_cap_set(&asked, RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT, 1);
	if (another)
		rnic_roce_cap_set(&asked, RNIC_ROCE_CAP_ROCE_VERSION, 7);
	return drv_cap_set(&hn->drv, RNIC_CAP_ROCE, &asked, sizeof(asked));
}

static uint64_t
has_ports(struct hn *hn)
{
	return rnic_roce_cap_get((const void *)capabilities(hn, RNIC_CAP_ROCE, true),
				 RNIC_ROCE_CAP_SW_R_ROCE_SRC_UDP_PORT);
}

static void
source_ports_are_chosen_by_who_asks_for_it(void **state)
{
	static const char *const names[] = { NULL, "cx4lx", "cx5", "cx6dx-vf", "bluefield-host" };
	static const bool offers[] = { true, false, true, true, true };

	(void)state;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct softrnic_conf conf = { .name = "d", .like = names[i] };
		struct hn hn;

		hn_start(&hn, NULL, &conf);
		hn_enable(&hn);
		assert_int_equal(has_ports(&hn), 0);
		assert_int_equal(asks_for_ports(&hn, true), RNIC_STATUS_BAD_PARAM);
		assert_int_equal(has_ports(&hn), 0);
		assert_int_equal(asks_for_ports(&hn, false),
				 offers[i] ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM);
		assert_int_equal(has_ports(&hn), offers[i]);
		/* Who comes next is asked again. */
		assert_int_equal(softrnic_reset(hn.dev), 0);
		hn_set_cmdq(&hn);
		hn_enable(&hn);
		assert_int_equal(has_ports(&hn), 0);
		hn_stop(&hn);
	}
}

#define SLOTS	4
#define BUSY_NS UINT64_C(10000000) /* that a command takes, as its row says */

static void
commands_of_busyfw_take_their_time_and_turn(void **state)
{
	struct softrnic_conf conf = { .name = "d", .like = "busyfw" };
	struct rnic_object_in in = { 0 };
	uint8_t out[16];
	unsigned int done = 0;
	uint64_t began;
	struct hn hn;

	(void)state;
	hn_start(&hn, NULL, &conf);
	hn_enable(&hn);
	hn_head(&in, RNIC_CMD_NOP, 0);
	for (unsigned int slot = 0; slot < SLOTS; slot++)
		hn_cmd_post(&hn, slot, &in, sizeof(in), sizeof(out));
	began = softrnic_now_ns();
	hn_ring(&hn, (1u << SLOTS) - 1);
	softrnic_poll(hn.poller);
	assert_int_equal(hn_cmd_result(&hn, 0, out, sizeof(out)), HN_PENDING);
	while (done < SLOTS) {
		assert_true(softrnic_now_ns() - began < UINT64_C(60000000000));
		softrnic_poll(hn.poller);
		/* The first that is not done: none behind it is. */
		while (done < SLOTS && hn_cmd_result(&hn, done, out, sizeof(out)) == RNIC_STATUS_OK)
			done++;
		for (unsigned int slot = done + 1; slot < SLOTS; slot++)
			assert_int_equal(hn_cmd_result(&hn, slot, out, sizeof(out)), HN_PENDING);
		assert_true(softrnic_now_ns() - began >= done * BUSY_NS);
	}
	hn_stop(&hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_listed),
		cmocka_unit_test(an_unknown_name_is_refused_with_the_list),
		cmocka_unit_test(each_row_says_where_it_is_known_from),
		cmocka_unit_test(each_row_refuses_what_it_says),
		cmocka_unit_test(a_cx4lx_refuses_what_it_has_no_capability_for),
		cmocka_unit_test(each_personality_shows_what_its_rows_say),
		cmocka_unit_test(a_vf_has_the_address_that_it_was_given_or_none),
		cmocka_unit_test(an_untrusted_vf_is_promiscuous_in_name_alone),
		cmocka_unit_test(physical_functions_manage_the_switch),
		cmocka_unit_test(a_key_in_another_order_needs_a_device_that_says_so),
		cmocka_unit_test(roce_of_oldfw_is_for_who_asks_for_it),
		cmocka_unit_test(source_ports_are_chosen_by_who_asks_for_it),
		cmocka_unit_test(commands_of_busyfw_take_their_time_and_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
