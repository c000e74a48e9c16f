/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a driver that is the input talks to the device's command queue.
 *
 *   byte 0    bits 1..0: the device is off, enabled, ready, or ready with objects of every kind
 *   then operations, each
 *     u8      which: a row of the command table, or one of OP_x
 *     command:
 *     u8      op_mod
 *     u8      low half: what is wrong with the input's chain, high half: with the output's; see enum shape
 *     u8      with which block of it
 *     u16     bytes of input that the entry claims
 *     u8      bytes of output, in units of 16; 255: a lot
 *     runs    of dwords in the input: u8 how many to skip, u8 how many follow (0: end), the dwords. One whose bits
 *             23..16 are 0xfb stands for a number: bits 15..8 the type of the object, 7..0 which of those that there are
 */

#include "commands.h"
#include "data_path.h"
#include "fuzz.h"
#include "prm/cmdq.h"
#include "prm/list.h"
#include "prm/reg.h"

extern int softrnic_logtype;

#define BLOCKS	   24
#define AREA_BYTES ((BLOCKS - 1) * RNIC_CMDQ_BLOCK_ALIGN + sizeof(struct rnic_cmdq_block))
#define REF_MARK   0xfb
#define REF_AT	   16
#define OUT_A_LOT  255

enum op {
	OP_RAW_OPCODE =
		0xf0, /* a command that the table may not have: u16 opcode, then as every command */
	OP_BAR_WRITE, /* u32 offset, u8 bytes, the bytes */
	OP_BAR_READ,
	OP_UNMAP, /* u8: which map goes; it comes back with the next one of these */
	OP_RESET, /* function level reset */
	OP_FAULT, /* u8 fault, u16 value */
	OP_POLL,  /* u8 times */
	OP_ENTRY, /* u8 offset, u8 value: the next entry has this byte */
	OP_FIRST = OP_RAW_OPCODE,
};

enum shape {
	SHAPE_GOOD,
	SHAPE_LOOP,	 /* the block's next is itself */
	SHAPE_FIRST,	 /* ... is the first one */
	SHAPE_OUTSIDE,	 /* ... is not mapped */
	SHAPE_UNALIGNED, /* ... is not on 1 KiB */
	SHAPE_END,	 /* ... is 0 */
	SHAPE_HALF,	 /* ... is mapped in part */
	SHAPE_TOKEN,
	SHAPE_NUMBER,
	SHAPE_OTHER_CHAIN,
	SHAPES,
};

struct world {
	struct dp dp;
	struct dp_cq cq;
	struct dp_sq sq;
	struct dp_rq rq;
	struct rnic_cmdq_entry *entries;
	uint8_t *in, *out; /* chains of blocks */
	uint64_t gone_iova, gone_bytes;
	void *gone;
	uint8_t patch_at, patch;
	bool patched;
};

static struct softrnic_poller *poller;

/* ---- Seeds: what a good driver sends. ---- */

static struct fuzz_seed *recording;

static void
seed_command(struct fuzz_seed *seed, uint16_t opcode, uint16_t op_mod, const void *in,
	     uint32_t in_bytes, uint32_t out_bytes)
{
	const uint8_t *bytes = in;
	uint32_t at = 8, end, skip;
	unsigned int row = 0;

	while (row < softrnic_cmd_table_size && softrnic_cmd_table[row].opcode != opcode)
		row++;
	must(row < softrnic_cmd_table_size);
	fuzz_put_u8(seed, (uint8_t)row);
	fuzz_put_u8(seed, (uint8_t)op_mod);
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

/* ---- The world of an input. ---- */

static void
objects_make(struct world *w)
{
	const struct dp_cq_conf conf = { .log_size = 6, .uar = 1 };

	w->dp.q_counter = dp_create_simple(&w->dp, RNIC_CMD_ALLOC_Q_COUNTER);
	must(dp_cq_create(&w->dp, &w->cq, &conf) == 0);
	must(dp_sq_create(&w->dp, &w->sq, &w->cq, 6, 1, DP_SQ_FLUSH) == 0);
	must(dp_rq_create(&w->dp, &w->rq, &w->cq, 6, 5) == 0);
	must(dp_steer_all(&w->rq) == 0);
}

static uint32_t
create(struct world *w, uint16_t opcode, void *in, size_t bytes)
{
	struct rnic_object_out out = { 0 };

	must(dp_command(&w->dp, opcode, 0, in, bytes, &out, sizeof(out)) == 0);
	return (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
}

/* Rings, or the pool's, and the record. */
static uint32_t
rmp_make(struct world *w, const uint8_t *page)
{
	struct {
		struct rnic_create_rmp_in in;
		struct rnic_be64 page;
	} rmp = { .page = rnic_cpu_to_be64(dp_iova(&w->dp, page)) };
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(&rmp.in);
	struct rnic_wq *wq = rnic_rmpc_wq(rmpc);

	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_wq_set(wq, RNIC_WQ_PD, w->dp.pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, dp_iova(&w->dp, page) + 2048);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, 6);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, 3);
	return create(w, RNIC_CMD_CREATE_RMP, &rmp, sizeof(rmp));
}

static uint32_t
qp_make(struct world *w, const uint8_t *page, uint32_t rmp)
{
	struct {
		struct rnic_create_qp_in in;
		struct rnic_be64 page;
	} qp = { .page = rnic_cpu_to_be64(dp_iova(&w->dp, page)) };
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(&qp.in);

#define SET(field, value) rnic_qpc_set(qpc, RNIC_QPC_##field, value)
	SET(PD, w->dp.pd);
	SET(UAR_PAGE, w->sq.uar);
	SET(COUNTER_SET_ID, w->dp.q_counter);
	SET(CQN_SND, w->cq.cqn);
	SET(CQN_RCV, w->cq.cqn);
	SET(LOG_RQ_SIZE, 3);
	SET(LOG_SQ_SIZE, 3);
	SET(DBR_ADDR, dp_iova(&w->dp, page) + 2048);
	if (rmp != 0) {
		SET(RQ_TYPE, RNIC_QP_SRQ);
		SET(SRQN_RMPN_XRQN, rmp);
	}
	return create(w, RNIC_CMD_CREATE_QP, &qp, sizeof(qp));
}

/* From RST to RTS. */
static void
qp_connect(struct world *w, uint32_t qpn, uint32_t peer)
{
	static const uint16_t steps[] = { RNIC_CMD_RST2INIT_QP, RNIC_CMD_INIT2RTR_QP,
					  RNIC_CMD_RTR2RTS_QP };
	struct rnic_modify_qp_in in = { 0 };
	struct rnic_qpc *qpc = rnic_modify_qp_in_qpc(&in);
	struct rnic_ads *path = rnic_qpc_primary_address_path(qpc);
	unsigned int i;

	rnic_modify_qp_in_set(&in, RNIC_MODIFY_QP_IN_QPN, qpn);
	SET(COUNTER_SET_ID, w->dp.q_counter);
	SET(REMOTE_QPN, peer);
	SET(MTU, RNIC_QP_MTU_1024);
	SET(RRE, 1);
	SET(RWE, 1);
	SET(RAE, 1);
	SET(ATOMIC_MODE, RNIC_QP_ATOMIC_MODE_IB_SPEC);
	SET(RETRY_COUNT, 7);
	SET(RNR_RETRY, 7);
#undef SET
	rnic_ads_set(path, RNIC_ADS_VHCA_PORT_NUM, 1);
	rnic_ads_set(path, RNIC_ADS_RGID_RIP_1, UINT64_C(0xffff0a000001));
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		must(dp_command(&w->dp, steps[i], 0, &in, sizeof(in), NULL, 0) == 0);
}

/* Two queue pairs, connected; the second one's receive WQEs are a pool's. */
static void
qps_make(struct world *w)
{
	uint8_t *pages = dp_alloc(&w->dp, 3 * 4096, 4096);
	struct rnic_set_roce_address_in gid = { 0 };
	struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(&gid);
	uint32_t first, second;

	must(pages != NULL);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_SOURCE_L3_ADDRESS_1, UINT64_C(0xffff0a000001));
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_VERSION, RNIC_ROCE_VERSION_2);
	must(dp_command(&w->dp, RNIC_CMD_SET_ROCE_ADDRESS, 0, &gid, sizeof(gid), NULL, 0) == 0);
	first = qp_make(w, pages, 0);
	second = qp_make(w, pages + 4096, rmp_make(w, pages + 8192));
	qp_connect(w, first, second);
	qp_connect(w, second, first);
}

/* Memory of the same sizes as bring-up takes, at the same addresses: seeds know them. */
static void
arena_make(struct dp *dp)
{
	must(dp_alloc(dp, 4 * 4096, 4096) != NULL);
	must(dp_alloc(dp, 32 * 4096, 4096) != NULL);
	must(dp_alloc(dp, 512 * sizeof(struct rnic_eqe), 4096) != NULL);
}

static void
world_open(struct world *w, unsigned int state)
{
	const struct softrnic_conf conf = { .name = "fuzz0", .seed = 1 };
	struct rnic_function_in function = { 0 };
	uint32_t half;
	uint64_t iova;

	memset(w, 0, sizeof(*w));
	must(dp_open_islands(&w->dp, poller, &conf, state >= 2) == 0);
	if (state < 2)
		arena_make(&w->dp);
	if (state == 1)
		must(dp_command(&w->dp, RNIC_CMD_ENABLE_HCA, 0, &function, sizeof(function), NULL,
				0) == 0);
	if (state == 3)
		objects_make(w);
	w->entries = dp_alloc(&w->dp, 4096, 4096);
	w->in = dp_alloc(&w->dp, AREA_BYTES, 4096);
	w->out = dp_alloc(&w->dp, AREA_BYTES, 4096);
	must(w->entries != NULL && w->in != NULL && w->out != NULL);
	/* Behind what seeds know the addresses of. */
	if (state == 3)
		qps_make(w);
	iova = dp_iova(&w->dp, w->entries);
	half = RNIC_SWAP32((uint32_t)(iova >> 32));
	softrnic_bar_write(w->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH), &half, 4);
	half = RNIC_SWAP32((uint32_t)iova);
	softrnic_bar_write(w->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW), &half, 4);
}

static void
world_close(struct world *w)
{
	struct softrnic_stats stats;

	softrnic_reset(w->dp.dev);
	stats = dp_stats(&w->dp);
	must(stats.objects == 0);
	must(stats.pages_held == 0);
	must(w->dp.dev->translation_bytes == 0);
	must(atomic_load(&softrnic_audit_violations) == 0);
	dp_close(&w->dp);
}

/* ---- Commands ---- */

static uint32_t
resolve_ref(struct softrnic *dev, uint32_t value)
{
	enum softrnic_object_type type = (value >> 8 & 0xff) % SOFTRNIC_OBJECT_TYPES;
	const struct softrnic_object *object = NULL, *next;
	uint32_t number = 0, which = value & 0xff;

	/* The last one, if there are not so many. */
	while ((next = softrnic_object_next(dev, type, &number)) != NULL) {
		object = next;
		if (which-- == 0)
			break;
	}
	return (value & 0xff000000) | (object == NULL ? 0 : object->number);
}

static void
chain_make(struct world *w, uint8_t *area, enum shape shape, unsigned int which, uint8_t token)
{
	uint64_t first = dp_iova(&w->dp, area);
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		struct rnic_cmdq_block *block =
			(struct rnic_cmdq_block *)(area + i * RNIC_CMDQ_BLOCK_ALIGN);
		uint64_t next = i + 1 < BLOCKS ? first + (i + 1) * RNIC_CMDQ_BLOCK_ALIGN : 0;

		memset(block, 0, sizeof(*block));
		block->token = token;
		block->block_number = rnic_cpu_to_be32(i);
		if (i == which % BLOCKS) {
			switch (shape) {
			case SHAPE_LOOP: next = first + i * RNIC_CMDQ_BLOCK_ALIGN; break;
			case SHAPE_FIRST: next = first; break;
			case SHAPE_OUTSIDE: next = UINT64_MAX - 1023; break;
			case SHAPE_UNALIGNED: next += 64; break;
			case SHAPE_END: next = 0; break;
			case SHAPE_HALF: next = first + BLOCKS * RNIC_CMDQ_BLOCK_ALIGN; break;
			case SHAPE_TOKEN: block->token ^= 1; break;
			case SHAPE_NUMBER: block->block_number.raw ^= 1; break;
			case SHAPE_OTHER_CHAIN:
				next = dp_iova(&w->dp, area == w->in ? w->out : w->in);
				break;
			default: break;
			}
		}
		block->next = rnic_cpu_to_be64(next);
	}
}

static void
put_input(struct world *w, struct rnic_cmdq_entry *entry, uint32_t at, uint32_t value)
{
	struct rnic_cmdq_block *block;
	struct rnic_be32 dword;

	if ((value >> REF_AT & 0xff) == REF_MARK)
		value = resolve_ref(w->dp.dev, value);
	dword = rnic_cpu_to_be32(value);
	if (at < RNIC_CMDQ_INLINE_BYTES) {
		memcpy(entry->input + at, &dword, sizeof(dword));
		return;
	}
	at -= RNIC_CMDQ_INLINE_BYTES;
	if (at / RNIC_CMDQ_BLOCK_BYTES >= BLOCKS)
		return;
	block = (struct rnic_cmdq_block *)(w->in +
					   at / RNIC_CMDQ_BLOCK_BYTES * RNIC_CMDQ_BLOCK_ALIGN);
	memcpy(block->data + at % RNIC_CMDQ_BLOCK_BYTES, &dword, sizeof(dword));
}

static void
command(struct world *w, struct fuzz_input *input, uint16_t opcode)
{
	struct rnic_cmdq_entry entry = { .type = RNIC_CMDQ_ENTRY_TYPE, .token = 0x77 };
	uint16_t op_mod = fuzz_u8(input);
	uint8_t shapes = fuzz_u8(input), which = fuzz_u8(input);
	uint32_t in_bytes = fuzz_u16(input), out_bytes = fuzz_u8(input), at = 8, count;
	uint32_t bell = RNIC_SWAP32(1u);

	chain_make(w, w->in, (shapes & 0xf) % SHAPES, which, entry.token);
	chain_make(w, w->out, (shapes >> 4) % SHAPES, which, entry.token);
	rnic_cmd_in_set((struct rnic_cmd_in *)entry.input, RNIC_CMD_IN_OPCODE, opcode);
	rnic_cmd_in_set((struct rnic_cmd_in *)entry.input, RNIC_CMD_IN_OP_MOD, op_mod);
	for (;;) {
		at += fuzz_u8(input) * 4u;
		count = fuzz_u8(input);
		if (count == 0)
			break;
		for (; count > 0; count--, at += 4)
			put_input(w, &entry, at, RNIC_SWAP32(fuzz_u32(input)));
	}
	out_bytes = out_bytes == OUT_A_LOT ? 0x2010 : out_bytes * 16;
	entry.input_length = rnic_cpu_to_be32(in_bytes);
	entry.output_length = rnic_cpu_to_be32(out_bytes);
	entry.input_mailbox = rnic_cpu_to_be64(dp_iova(&w->dp, w->in));
	entry.output_mailbox = rnic_cpu_to_be64(dp_iova(&w->dp, w->out));
	entry.status_own = RNIC_CMDQ_STATUS_OWN_HW;
	if (w->patched)
		((uint8_t *)&entry)[w->patch_at % sizeof(entry)] = w->patch;
	w->patched = false;
	w->entries[0] = entry;
	softrnic_bar_write(w->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &bell, 4);
	softrnic_poll(poller);
}

/* ---- Everything else ---- */

static void
unmap(struct world *w, unsigned int which)
{
	/* Boundaries as arena_make() and bring-up have them; what matches no map is refused. */
	static const struct {
		uint32_t at, bytes;
	} maps[] = {
		{ 0, 4 * 4096 },
		{ 5 * 4096, 32 * 4096 },
		{ 38 * 4096, 512 * sizeof(struct rnic_eqe) },
	};
	uint64_t iova, bytes;

	if (w->gone != NULL) {
		softrnic_dma_map(w->dp.dev, w->gone_iova, w->gone_bytes, w->gone,
				 SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
		w->gone = NULL;
	}
	if (which < 3) {
		iova = DP_IOVA + maps[which].at;
		bytes = maps[which].bytes;
	} else if (which == 3 && w->sq.ring != NULL) {
		iova = dp_iova(&w->dp, w->sq.ring);
		bytes = RNIC_WQEBB_BYTES << w->sq.log_size;
	} else if (which == 4 && w->cq.ring != NULL) {
		iova = dp_iova(&w->dp, w->cq.ring);
		bytes = sizeof(struct rnic_cqe) << w->cq.log_size;
	} else {
		return;
	}
	if (softrnic_dma_unmap(w->dp.dev, iova, bytes) != 0)
		return;
	w->gone_iova = iova;
	w->gone_bytes = bytes;
	w->gone = w->dp.memory + (iova - DP_IOVA);
}

static void
registers(struct world *w, struct fuzz_input *input, bool write)
{
	uint32_t offset = fuzz_u32(input) & 0x1fffff;
	uint8_t bytes = fuzz_u8(input), data[16] = { 0 };

	if (write) {
		fuzz_bytes(input, data, bytes & 0xf);
		softrnic_bar_write(w->dp.dev, offset, data, bytes & 0xf);
	} else {
		softrnic_bar_read(w->dp.dev, offset, data, bytes & 0xf);
	}
}

static void
operation(struct world *w, struct fuzz_input *input)
{
	uint8_t op = fuzz_u8(input);
	unsigned int n;

	if (op < OP_FIRST) {
		command(w, input, softrnic_cmd_table[op % softrnic_cmd_table_size].opcode);
		return;
	}
	switch (op) {
	case OP_RAW_OPCODE: command(w, input, fuzz_u16(input)); break;
	case OP_BAR_WRITE: registers(w, input, true); break;
	case OP_BAR_READ: registers(w, input, false); break;
	case OP_UNMAP: unmap(w, fuzz_u8(input) % 6); break;
	case OP_RESET: softrnic_reset(w->dp.dev); break;
	case OP_FAULT:
		n = fuzz_u8(input) % 7;
		softrnic_fault(w->dp.dev, (enum softrnic_fault)n,
			       (uint64_t)(int16_t)fuzz_u16(input));
		break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(poller);
		break;
	case OP_ENTRY:
		w->patch_at = fuzz_u8(input);
		w->patch = fuzz_u8(input);
		w->patched = true;
		break;
	default: break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct world w;

	if (size < 2)
		return 0;
	world_open(&w, fuzz_u8(&input) % 4);
	while (input.left > 0)
		operation(&w, &input);
	softrnic_poll(poller);
	world_close(&w);
	return 0;
}

/* ---- Seeds that the fixture does not send ---- */

#define REF(type, which) ((uint32_t)REF_MARK << REF_AT | (uint32_t)(type) << 8 | (which))

/* Each command of the table, with one dword at 8 that names an object of a type. */
static void
seed_rows(const char *folder)
{
	static struct fuzz_seed seed;
	unsigned int row, type;
	char name[64];

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
		snprintf(name, sizeof(name), "each-%s", desc->name);
		fuzz_seed_write(folder, name, &seed);
	}
}

static void
seed_more(const char *folder)
{
	struct {
		struct rnic_create_mkey_in in;
		struct rnic_klm klms[4];
	} mkey = { 0 };
	struct {
		struct rnic_create_rqt_in in;
		struct rnic_rqn_entry entries[4];
	} rqt = { 0 };
	static struct fuzz_seed seed;
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&mkey.in);
	struct rnic_rqtc *rqtc = rnic_create_rqt_in_rqtc(&rqt.in);
	struct rnic_create_tir_in tir = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&tir);
	struct rnic_object_in object = { 0 };
	unsigned int i;

	memset(&seed, 0, sizeof(seed));
	fuzz_put_u8(&seed, 3);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_KLM);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_PD, REF(SOFTRNIC_PD, 0));
	rnic_mkc_set(mkc, RNIC_MKC_LEN, 4096);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, 4);
	rnic_create_mkey_in_set(&mkey.in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, 4);
	for (i = 0; i < 4; i++) {
		mkey.klms[i].byte_count = rnic_cpu_to_be32(1024);
		mkey.klms[i].mkey = rnic_cpu_to_be32(0x15d);
	}
	seed_command(&seed, RNIC_CMD_CREATE_MKEY, 0, &mkey, sizeof(mkey), 16);
	rnic_object_in_set(&object, RNIC_OBJECT_IN_NUMBER, REF(SOFTRNIC_MKEY, 1));
	seed_command(&seed, RNIC_CMD_DESTROY_MKEY, 0, &object, sizeof(object), 16);

	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_MAX_SIZE, 4);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, 4);
	for (i = 0; i < 4; i++)
		rnic_rqn_entry_set(&rqt.entries[i], RNIC_RQN_ENTRY_RQN, REF(SOFTRNIC_RQ, 0));
	seed_command(&seed, RNIC_CMD_CREATE_RQT, 0, &rqt, sizeof(rqt), 16);
	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, 1);
	rnic_tirc_set(tirc, RNIC_TIRC_INDIRECT_TABLE, REF(SOFTRNIC_RQT, 0));
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, 2);
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, REF(SOFTRNIC_TD, 0));
	seed_command(&seed, RNIC_CMD_CREATE_TIR, 0, &tir, sizeof(tir), 16);
	fuzz_seed_write(folder, "more", &seed);
}

/* Registers, read and written. */
static void
seed_registers(const char *folder)
{
	static const uint16_t ids[] = { RNIC_REG_PMTU,	    RNIC_REG_PTYS,	     RNIC_REG_PAOS,
					RNIC_REG_PFCC,	    RNIC_REG_PPCNT,	     RNIC_REG_PCMR,
					RNIC_REG_NODE_DESC, RNIC_REG_HOST_ENDIANNESS };
	static struct fuzz_seed seed;
	unsigned int i, word, write;
	char name[64];

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
		snprintf(name, sizeof(name), "register-%x", ids[i]);
		fuzz_seed_write(folder, name, &seed);
	}
}

/* Each group of the port's counters, read and set to zero. */
static void
seed_counters(const char *folder)
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
	fuzz_seed_write(folder, "counters", &seed);
}

/* Tables that forward to each other, entries that are changed, read and taken out. */
static void
seed_flows(const char *folder, struct world *w)
{
	static struct fuzz_seed seed;
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 }, value = { 0 };
	struct rnic_flow_destination to[2] = { 0 };
	struct rnic_set_fte_in modify = { 0 };
	struct rnic_fte_in entry = { 0 };
	uint32_t table, group, i;
	int status;

	fuzz_put_u8(&seed, 3);
	recording = &seed;
	table = dp_table_create(&w->dp, 1, 6, 0);
	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0xffff);
	group = dp_group_create(&w->dp, table, 0, 40, &mask, &status);
	rnic_flow_destination_set(&to[0], RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TIR);
	rnic_flow_destination_set(&to[0], RNIC_FLOW_DESTINATION_ID, w->rq.tirn);
	for (i = 0; i < 20; i++) {
		rnic_fte_match_set_lyr_2_4_set(&value, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, i + 1);
		dp_flow_set(&w->dp, table, group, 2 * i % 40, &value, RNIC_FLOW_ACTION_FWD_DEST, i,
			    to, 1);
	}
	group = dp_group_create(&w->dp, w->dp.root, 1, 3, NULL, &status);
	rnic_flow_destination_set(&to[1], RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TABLE);
	rnic_flow_destination_set(&to[1], RNIC_FLOW_DESTINATION_ID, table);
	dp_flow_set(&w->dp, w->dp.root, group, 1, NULL, RNIC_FLOW_ACTION_FWD_DEST, 1, to, 2);
	rnic_set_fte_in_set(&modify, RNIC_SET_FTE_IN_TABLE_ID, w->dp.root);
	rnic_set_fte_in_set(&modify, RNIC_SET_FTE_IN_FLOW_INDEX, 1);
	rnic_set_fte_in_set(&modify, RNIC_SET_FTE_IN_MODIFY_ENABLE_MASK, 2);
	rnic_flow_context_set(rnic_set_fte_in_flow_context(&modify), RNIC_FLOW_CONTEXT_GROUP_ID,
			      group);
	dp_command(&w->dp, RNIC_CMD_SET_FLOW_TABLE_ENTRY, 1, &modify, sizeof(modify), NULL, 0);
	rnic_fte_in_set(&entry, RNIC_FTE_IN_TABLE_ID, w->dp.root);
	rnic_fte_in_set(&entry, RNIC_FTE_IN_FLOW_INDEX, 1);
	dp_command(&w->dp, RNIC_CMD_QUERY_FLOW_TABLE_ENTRY, 0, &entry, sizeof(entry), NULL, 0);
	dp_command(&w->dp, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, 0, &entry, sizeof(entry), NULL, 0);
	recording = NULL;
	fuzz_seed_write(folder, "flows", &seed);
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
seed_tables(const char *folder, struct world *w)
{
	static struct fuzz_seed seed;
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 }, value = { 0 };
	struct rnic_flow_destination to = { 0 };
	struct rnic_flow_group_in query = { 0 };
	uint32_t last, table, groups[3], i;
	int status;

	fuzz_put_u8(&seed, 3);
	recording = &seed;
	last = dp_table_create(&w->dp, 3, 7, 0);
	table = dp_table_create(&w->dp, 2, 7, last);
	groups[0] = dp_group_create(&w->dp, table, 0, 90, &mask, &status);
	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0xffff);
	groups[2] = dp_group_create(&w->dp, table, 120, 127, &mask, &status);
	groups[1] = dp_group_create(&w->dp, table, 100, 110, &mask, &status);
	dp_group_create(&w->dp, table, 105, 115, &mask, &status);
	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TIR);
	rnic_flow_destination_set(&to, RNIC_FLOW_DESTINATION_ID, w->rq.tirn);
	/* So many that they are found by another, larger table; some alike. */
	for (i = 0; i < 80; i++) {
		rnic_fte_match_set_lyr_2_4_set(&value, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, i / 2);
		dp_flow_set(&w->dp, table, groups[0], i, &value, RNIC_FLOW_ACTION_FWD_DEST, i, &to,
			    1);
	}
	dp_flow_set(&w->dp, table, groups[1], 101, &value, RNIC_FLOW_ACTION_DROP, 1, NULL, 0);
	rnic_flow_group_in_set(&query, RNIC_FLOW_GROUP_IN_TABLE_ID, table);
	rnic_flow_group_in_set(&query, RNIC_FLOW_GROUP_IN_GROUP_ID, groups[0]);
	dp_command(&w->dp, RNIC_CMD_QUERY_FLOW_GROUP, 0, &query, sizeof(query), NULL, 0);
	for (i = 0; i < 80; i += 3)
		dp_flow_delete(&w->dp, table, i);
	dp_group_destroy(&w->dp, table, groups[2]);
	dp_group_destroy(&w->dp, table, groups[1]);
	dp_flow_delete(&w->dp, table, 101);
	dp_group_destroy(&w->dp, table, groups[1]);
	dp_root_set(&w->dp, table);
	destroy_table(w, last);
	dp_root_set(&w->dp, last);
	destroy_table(w, table);
	destroy_table(w, table);
	recording = NULL;
	fuzz_seed_write(folder, "tables", &seed);
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
seed_bar(const char *folder, const struct world *w)
{
	const uint32_t page = w->dp.uars[0] * RNIC_UAR_PAGE_BYTES;
	static struct fuzz_seed seed;
	uint32_t i;

	fuzz_put_u8(&seed, 3);
	for (i = 0; i < 0x1400; i += i < 0x40 ? 4 : 0x10)
		put_register(&seed, OP_BAR_READ, i, i % 3 == 0 ? 8 : 4, 0);
	put_register(&seed, OP_BAR_READ, page + 0x40, 4, 0);
	put_register(&seed, OP_BAR_READ, page + 0x44, 8, 0);
	fuzz_seed_write(folder, "bar", &seed);
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
	fuzz_seed_write(folder, "doorbells", &seed);
}

static void
seeds_write(const char *folder)
{
	static struct fuzz_seed off, ready, pairs;
	struct world w;

	/* Bring-up, on a device that is off: as the fixture does it, which opens one of its own for that. */
	fuzz_put_u8(&off, 0);
	recording = &off;
	world_open(&w, 2);
	recording = NULL;
	world_close(&w);
	fuzz_seed_write(folder, "bring-up", &off);

	fuzz_put_u8(&ready, 3);
	world_open(&w, 2);
	recording = &ready;
	objects_make(&w);
	recording = NULL;
	world_close(&w);
	fuzz_seed_write(folder, "objects", &ready);
	fuzz_put_u8(&pairs, 3);
	world_open(&w, 2);
	objects_make(&w);
	recording = &pairs;
	qps_make(&w);
	recording = NULL;
	world_close(&w);
	fuzz_seed_write(folder, "queue-pairs", &pairs);
	world_open(&w, 3);
	seed_flows(folder, &w);
	world_close(&w);
	world_open(&w, 3);
	seed_tables(folder, &w);
	seed_bar(folder, &w);
	world_close(&w);
	seed_rows(folder);
	seed_registers(folder);
	seed_counters(folder);
	seed_more(folder);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	rte_log_set_level((uint32_t)softrnic_logtype,
			  getenv("FUZZ_LOG") != NULL ? RTE_LOG_DEBUG : RTE_LOG_EMERG);
	must(softrnic_poller_create(&poller) == 0);
	if (getenv("FUZZ_SEEDS") != NULL) {
		seeds_write(getenv("FUZZ_SEEDS"));
		exit(0);
	}
	return 0;
}
