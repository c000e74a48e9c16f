/* SPDX-License-Identifier: BSD-3-Clause */

/* Seeds of fuzz-command: what a good driver sends, as the fixture sends it, and more. */
#include "command.h"
#include "softrnic/base/command.h"
#include "softrnic/hca/cmd_table.h"
#include "prm/reg.h"

static struct fuzz_seed *recording;

static void
seed_command(struct fuzz_seed *seed, uint16_t opcode, uint16_t op_mod, const void *in,
	     uint32_t in_bytes, uint32_t out_bytes)
{
	const uint8_t *bytes = in;
	uint32_t at = 8, end, skip;

	PUT(seed, (uint8_t)(opcode >> 8), (uint8_t)opcode, (uint8_t)op_mod);
	fuzz_put_u16(seed, 0); /* both chains are good */
	fuzz_put_u16(seed, (uint16_t)in_bytes);
	fuzz_put_u8(seed, out_bytes > 254 * 16 ? OUT_A_LOT : (uint8_t)((out_bytes + 15) / 16));
	for (;;) {
		static const uint8_t zero[4];

		for (skip = 0; at < in_bytes && skip < 255 && memcmp(bytes + at, zero, 4) == 0;
		     skip++)
			at += 4;
		for (end = at; end + 4 <= in_bytes && end - at < 4 * 200 &&
			       memcmp(bytes + end, zero, 4) != 0;)
			end += 4;
		fuzz_put_u8(seed, (uint8_t)skip);
		if (end == at && skip == 255) {
			/* A run of nothing would be the end. */
			fuzz_put_u8(seed, 1);
			fuzz_put(seed, zero, 4);
			at += 4;
			continue;
		}
		fuzz_put_u8(seed, (uint8_t)((end - at) / 4));
		if (end == at)
			return;
		fuzz_put(seed, bytes + at, end - at);
		at = end;
	}
}

int __real_softrnic_cmd_execute(struct softrnic *dev, struct softrnic_cmd *cmd);
int __wrap_softrnic_cmd_execute(struct softrnic *dev, struct softrnic_cmd *cmd);

/* What the fixture sends goes through here; what the command queue executes does not. */
int
__wrap_softrnic_cmd_execute(struct softrnic *dev, struct softrnic_cmd *cmd)
{
	if (recording != NULL)
		seed_command(recording, cmd->opcode, cmd->op_mod, cmd->in, cmd->in_bytes,
			     cmd->out_bytes);
	return __real_softrnic_cmd_execute(dev, cmd);
}

/* ---- What the fixture does not send ---- */

#define REF(type, which) ((uint32_t)REF_MARK << REF_AT | (uint32_t)(type) << 8 | (which))

/* Each command of the table, with one dword at 8 that names an object of a type. */
static void
seed_rows(void)
{
	static struct fuzz_seed seed;
	unsigned int row, type;

	for (row = 0; row < softrnic_cmd_table_size; row++) {
		const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[row];

		memset(&seed, 0, sizeof(seed));
		fuzz_put_u8(&seed, 3);
		for (type = 0; type < SOFTRNIC_OBJECT_TYPES; type++) {
			struct rnic_be32 in[0x400] = { { 0 } };

			in[2] = rnic_cpu_to_be32(REF(type, 0));
			seed_command(&seed, desc->opcode, 0, in,
				     desc->in_bytes < 16 ? 16 : desc->in_bytes, 0x800);
		}
		fuzz_seed_write(&seed, "each-%s", desc->name);
	}
}

/* An input of test/driver; it is zeroed for the next one. */
static void
seed_input(struct fuzz_seed *seed, void *in, uint32_t bytes)
{
	seed_command(seed, (uint16_t)rnic_cmd_in_get(in, RNIC_CMD_IN_OPCODE), 0, in, bytes, 16);
	memset(in, 0, bytes);
}

static void
seed_more(void)
{
	const struct rnic_klm klm = { rnic_cpu_to_be32(1024), rnic_cpu_to_be32(0x15d), { 0 } };
	const struct rnic_klm klms[] = { klm, klm, klm, klm };
	const uint32_t rq = REF(SOFTRNIC_RQ, 0), rqns[] = { rq, rq, rq, rq };
	const struct drv_mkey mkey = { .mode = RNIC_MKEY_KLM,
				       .access = DRV_LR,
				       .pd = REF(SOFTRNIC_PD, 0),
				       .length = 4096,
				       .klms = klms,
				       .count = 4 };
	const struct drv_tir tir = { .td = REF(SOFTRNIC_TD, 0),
				     .rqtn = REF(SOFTRNIC_RQT, 0),
				     .hash = RNIC_RX_HASH_TOEPLITZ };
	struct rnic_object_in object = { 0 };
	static struct rnic_be64 in[0x100];
	static struct fuzz_seed seed;

	fuzz_put_u8(&seed, 3);
	seed_input(&seed, in, drv_mkey_fill(in, &mkey));
	rnic_object_in_set(&object, RNIC_OBJECT_IN_NUMBER, REF(SOFTRNIC_MKEY, 1));
	seed_command(&seed, RNIC_CMD_DESTROY_MKEY, 0, &object, sizeof(object), 16);
	seed_input(&seed, in, drv_rqt_fill(in, rqns, 4));
	seed_input(&seed, in, drv_tir_fill(in, &tir));
	fuzz_seed_write(&seed, "more");
}

/* Registers, read and written. */
static void
seed_registers(void)
{
	static const uint16_t ids[] = { RNIC_REG_PMTU,	    RNIC_REG_PTYS,	     RNIC_REG_PAOS,
					RNIC_REG_PFCC,	    RNIC_REG_PPCNT,	     RNIC_REG_PCMR,
					RNIC_REG_NODE_DESC, RNIC_REG_HOST_ENDIANNESS };
	static struct fuzz_seed seed;
	unsigned int i, word, write;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		memset(&seed, 0, sizeof(seed));
		fuzz_put_u8(&seed, 3);
		for (write = 0; write < 2; write++) {
			for (word = 0; word < 4; word++) {
				struct rnic_be32 in[0x50] = { { 0 } };

				rnic_access_reg_in_set((struct rnic_access_reg_in *)in,
						       RNIC_ACCESS_REG_IN_REGISTER_ID, ids[i]);
				/* Port 1; and something in one more word. */
				in[4] = rnic_cpu_to_be32(0x00010000);
				in[4 + word].raw |= rnic_cpu_to_be32(0x00010004).raw;
				seed_command(&seed, RNIC_CMD_ACCESS_REG, (uint16_t)!write, in,
					     sizeof(in), sizeof(in));
			}
		}
		fuzz_seed_write(&seed, "register-%x", ids[i]);
	}
}

/* Each group of the port's counters, read and set to zero. */
static void
seed_counters(void)
{
	static struct fuzz_seed seed;
	uint32_t group;

	fuzz_put_u8(&seed, 3);
	for (group = 0; group < 0x20; group++) {
		struct rnic_be32 in[0x50] = { { 0 } };

		rnic_access_reg_in_set((struct rnic_access_reg_in *)in,
				       RNIC_ACCESS_REG_IN_REGISTER_ID, RNIC_REG_PPCNT);
		in[4] = rnic_cpu_to_be32(0x00010000 | group);
		in[5] = rnic_cpu_to_be32(group % 3 == 2 ? 0x80000000 : 0);
		seed_command(&seed, RNIC_CMD_ACCESS_REG, 1, in, sizeof(in), sizeof(in));
	}
	fuzz_seed_write(&seed, "counters");
}

/* Tables that forward to each other, entries that are changed, read and taken out. */
static void
seed_flows(struct world *w)
{
	static struct fuzz_seed seed;
	struct drv *drv = &w->dp.drv;
	struct rnic_flow_destination to[2] = { drv_to_tir(w->rq.tirn) };
	struct drv_fte chain = { .to = to, .count = 2, .tag = 1, .table = w->dp.root, .index = 1 };
	struct rnic_query_fte_out out;
	uint32_t table, group, i;

	fuzz_put_u8(&seed, 3);
	recording = &seed;
	drv_table_create(drv, &(struct drv_table){ 1, 6, 0 }, &table);
	drv_group_create(drv,
			 &(struct drv_group){ table, 0, 40, .match = { DRV_IS(ETHERTYPE, 0) } },
			 &group);
	for (i = 0; i < 20; i++)
		drv_fte_set(drv, &(struct drv_fte){ { DRV_IS(ETHERTYPE, i + 1) },
						    to,
						    1,
						    .tag = i,
						    .table = table,
						    .group = group,
						    .index = 2 * i % 40 });
	drv_group_create(drv, &(struct drv_group){ w->dp.root, 1, 3 }, &chain.group);
	to[1] = drv_to_table(table);
	drv_fte_set(drv, &chain);
	chain = (struct drv_fte){ .modify = RNIC_SET_FTE_MODIFY_FLOW_TAG,
				  .table = w->dp.root,
				  .group = chain.group,
				  .index = 1 };
	drv_fte_set(drv, &chain);
	drv_fte_query(drv, w->dp.root, 1, &out, sizeof(out));
	drv_fte_delete(&w->dp.drv, w->dp.root, 1);
	recording = NULL;
	fuzz_seed_write(&seed, "flows");
}

static void
destroy_table(struct world *w, uint32_t table)
{
	struct rnic_flow_table_in in = { 0 };

	rnic_flow_table_in_set(&in, RNIC_FLOW_TABLE_IN_TABLE_ID, table);
	dp_command(&w->dp, RNIC_CMD_DESTROY_FLOW_TABLE, 0, &in, sizeof(in), NULL, 0);
}

/* Tables and groups from their creation to their end, and what is refused in between. */
static void
seed_tables(struct world *w)
{
	static struct fuzz_seed seed;
	static const struct rnic_fte_match_set_lyr_2_4 nothing;
	struct drv *drv = &w->dp.drv;
	struct rnic_flow_destination to = drv_to_tir(w->rq.tirn);
	struct rnic_flow_group_in query = { 0 };
	uint32_t last, table, groups[3], i;

	fuzz_put_u8(&seed, 3);
	recording = &seed;
	drv_table_create(drv, &(struct drv_table){ 3, 7, 0 }, &last);
	drv_table_create(drv, &(struct drv_table){ 2, 7, last }, &table);
#define TYPES(start, end) \
	(&(struct drv_group){ table, start, end, .match = { DRV_IS(ETHERTYPE, 0) } })
	drv_group_create(drv, &(struct drv_group){ table, 0, 90, &nothing }, &groups[0]);
	drv_group_create(drv, TYPES(120, 127), &groups[2]);
	drv_group_create(drv, TYPES(100, 110), &groups[1]);
	drv_group_create(drv, TYPES(105, 115), NULL);
#undef TYPES
	/* So many that they are found by another, larger table; some alike. */
	for (i = 0; i < 80; i++)
		drv_fte_set(drv, &(struct drv_fte){ { DRV_IS(ETHERTYPE, i / 2) },
						    &to,
						    1,
						    .tag = i,
						    .table = table,
						    .group = groups[0],
						    .index = i });
	drv_fte_set(drv, &(struct drv_fte){ { DRV_IS(ETHERTYPE, 39) },
					    .tag = 1,
					    .table = table,
					    .group = groups[1],
					    .index = 101 });
	rnic_flow_group_in_set(&query, RNIC_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_flow_group_in_set(&query, RNIC_FLOW_GROUP_IN_GROUP_ID, groups[0]);
	dp_command(&w->dp, RNIC_CMD_QUERY_FLOW_GROUP, 0, &query, sizeof(query), NULL, 0);
	for (i = 0; i < 80; i += 3)
		drv_fte_delete(&w->dp.drv, table, i);
	drv_group_destroy(&w->dp.drv, table, groups[2]);
	drv_group_destroy(&w->dp.drv, table, groups[1]);
	drv_fte_delete(&w->dp.drv, table, 101);
	drv_group_destroy(&w->dp.drv, table, groups[1]);
	drv_root_set(&w->dp.drv, table);
	destroy_table(w, last);
	drv_root_set(&w->dp.drv, last);
	destroy_table(w, table);
	destroy_table(w, table);
	recording = NULL;
	fuzz_seed_write(&seed, "tables");
}

static void
put_register(struct fuzz_seed *seed, uint8_t op, uint32_t offset, uint8_t bytes, uint32_t value)
{
	const uint32_t data[2] = { RNIC_SWAP32(value), 0 };

	fuzz_put_u8(seed, op);
	fuzz_put(seed, &offset, sizeof(offset));
	fuzz_put_u8(seed, bytes);
	if (op == OP_BAR_WRITE)
		fuzz_put(seed, data, bytes);
}

/* Every register of the BAR's beginning, and of a UAR page; doorbells of the event queue, faults, and what follows. */
static void
seed_bar(const struct world *w)
{
	const uint32_t page = w->dp.uars[0] * RNIC_UAR_PAGE_BYTES;
	static struct fuzz_seed seed;
	uint32_t i;

	fuzz_put_u8(&seed, 3);
	for (i = 0; i < 0x1400; i += i < 0x40 ? 4 : 0x10)
		put_register(&seed, OP_BAR_READ, i, i % 3 == 0 ? 8 : 4, 0);
	put_register(&seed, OP_BAR_READ, page + 0x40, 4, 0);
	put_register(&seed, OP_BAR_READ, page + 0x44, 8, 0);
	fuzz_seed_write(&seed, "bar");
	seed.used = 1;
	for (i = 0; i < 8; i++) {
		put_register(&seed, OP_BAR_WRITE, page + RNIC_UAR_EQ_ARM, 4,
			     w->dp.eqn << 24 | i % 2);
		put_register(&seed, OP_BAR_WRITE, page + RNIC_UAR_EQ_UPDATE, 4,
			     w->dp.eqn << 24 | i << 8);
		put_register(&seed, OP_BAR_WRITE, page + RNIC_UAR_EQ_ARM, 4, (w->dp.eqn + i) << 24);
		fuzz_put_u8(&seed, OP_FAULT);
		fuzz_put_u8(&seed, (uint8_t)i);
		fuzz_put_u16(&seed, 1);
		fuzz_put_u8(&seed, OP_POLL);
		fuzz_put_u8(&seed, 3);
		put_register(&seed, OP_BAR_READ, RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER), 4, 0);
		put_register(&seed, OP_BAR_READ, RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING), 4, 0);
	}
	/* All that the driver does not read. */
	fuzz_put_u8(&seed, OP_UNMAP);
	fuzz_put_u8(&seed, 2);
	for (i = 0; i < 4; i++) {
		fuzz_put_u8(&seed, OP_FAULT);
		fuzz_put_u8(&seed, SOFTRNIC_FAULT_PAGE_REQUEST);
		fuzz_put_u16(&seed, 1);
	}
	fuzz_seed_write(&seed, "doorbells");
}

void
fuzz_seeds_write(void)
{
	static struct fuzz_seed off, ready, pairs;
	struct world w;

	/* Bring-up, on a device that is off: as the fixture does it, which opens one of its own for that. */
	fuzz_put_u8(&off, 0);
	recording = &off;
	command_world_open(&w, 2);
	recording = NULL;
	command_world_close(&w);
	fuzz_seed_write(&off, "bring-up");

	fuzz_put_u8(&ready, 3);
	command_world_open(&w, 2);
	recording = &ready;
	command_objects_make(&w);
	recording = NULL;
	command_world_close(&w);
	fuzz_seed_write(&ready, "objects");
	fuzz_put_u8(&pairs, 3);
	command_world_open(&w, 2);
	command_objects_make(&w);
	recording = &pairs;
	command_qps_make(&w);
	recording = NULL;
	command_world_close(&w);
	fuzz_seed_write(&pairs, "queue-pairs");
	command_world_open(&w, 3);
	seed_flows(&w);
	command_world_close(&w);
	command_world_open(&w, 3);
	seed_tables(&w);
	seed_bar(&w);
	command_world_close(&w);
	seed_rows();
	seed_registers();
	seed_counters();
	seed_more();
}
