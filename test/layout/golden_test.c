/* SPDX-License-Identifier: BSD-3-Clause */

/* Bytes and values that others printed: our structs make the same, and read the same from them. */
#include "layout_test.h"

#include "cmd_table.h"
#include "cmdq.h"
#include "cqe.h"
#include "uar.h"
#include "wqe.h"

static void
dwords(const uint32_t *values, size_t count, void *bytes)
{
	for (size_t i = 0; i < count; i++)
		((struct rnic_be32 *)bytes)[i] = rnic_cpu_to_be32(values[i]);
}

/* A raw packet SEND of 0x22a bytes with checksum offload: all of it as published, a debug print of rdma-core's. */
static const uint32_t send_wqe[] = {
	0x0000000a, 0x00115003, 0x00000008, 0x00000000, /* control */
	0x00000000, 0xc0000000, 0x00000000, 0x00000000, /* Ethernet */
	0x0000022a, 0x00008a0b, 0x00007fc5, 0x9a5b2000, /* data */
};

struct send {
	struct rnic_wqe_ctrl ctrl;
	struct rnic_wqe_eth eth;
	struct rnic_wqe_data data;
};

static void
wqe_encoded(void **state)
{
	struct rnic_be32 golden[12];
	struct send wqe = {
		.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 0, RNIC_WQE_SEND)),
		.ctrl.qpn_ds =
			RNIC_BE32(RNIC_WQE_CTRL_DW1(0x1150, sizeof(wqe) / RNIC_WQE_DS_BYTES)),
		.ctrl.fm_ce_se = RNIC_WQE_CE_ALWAYS,
		.eth.cs_flags = RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM,
		.data.byte_count = RNIC_BE32(0x22a),
		.data.lkey = RNIC_BE32(0x8a0b),
		.data.address = RNIC_BE64(0x7fc59a5b2000),
	};

	(void)state;
	dwords(send_wqe, 12, golden);
	assert_int_equal(sizeof(wqe), sizeof(golden));
	assert_memory_equal(&wqe, golden, sizeof(golden));
}

static void
wqe_decoded(void **state)
{
	struct send wqe;
	uint32_t dw0, dw1;

	(void)state;
	dwords(send_wqe, 12, &wqe);
	dw0 = rnic_be32_to_cpu(wqe.ctrl.opmod_idx_opcode);
	dw1 = rnic_be32_to_cpu(wqe.ctrl.qpn_ds);
	assert_int_equal(dw0 & 0xff, RNIC_WQE_SEND);
	assert_int_equal(dw0 >> 8, 0);
	assert_int_equal(dw1 >> 8, 0x1150);
	assert_int_equal(dw1 & RNIC_WQE_DS_MAX, 3);
	assert_int_equal(wqe.ctrl.fm_ce_se & RNIC_WQE_CE_MASK, RNIC_WQE_CE_ALWAYS);
	assert_int_equal(wqe.eth.cs_flags, RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM);
	assert_int_equal(rnic_be16_to_cpu(wqe.eth.inline_header_size), 0);
	assert_int_equal(rnic_be32_to_cpu(wqe.data.byte_count), 0x22a);
	assert_int_equal(rnic_be32_to_cpu(wqe.data.lkey), 0x8a0b);
	assert_int_equal(rnic_be64_to_cpu(wqe.data.address), 0x7fc59a5b2000);
}

/* Its completion, on CQ 0x4c2, of the same print: all 64 bytes. */
static const uint32_t send_cqe[16] = {
	[12] = 0x00004863,
	[13] = 0x2a39b102,
	[14] = 0x0a001150,
	[15] = 0x00003f00,
};

static void
cqe_encoded(void **state)
{
	struct rnic_be32 golden[16];
	struct rnic_cqe cqe = {
		.timestamp = RNIC_BE64(0x48632a39b102),
		.sop_drop_qpn = RNIC_BE32(RNIC_WQE_SEND << 24 | 0x1150),
		.wqe_counter = RNIC_BE16(0),
		.signature = 0x3f,
		.op_own = RNIC_CQE_OP_OWN(RNIC_CQE_REQUESTER, 0),
	};

	(void)state;
	dwords(send_cqe, 16, golden);
	assert_memory_equal(&cqe, golden, sizeof(golden));
}

static void
cqe_decoded(void **state)
{
	struct rnic_cqe cqe;

	(void)state;
	dwords(send_cqe, 16, &cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe.op_own), RNIC_CQE_REQUESTER);
	assert_int_equal(cqe.op_own & RNIC_CQE_OWNER, 0);
	assert_int_equal(rnic_be16_to_cpu(cqe.wqe_counter), 0);
	assert_int_equal(cqe.signature, 0x3f);
	assert_int_equal(rnic_be32_to_cpu(cqe.sop_drop_qpn) & 0xffffff, 0x1150);
	assert_int_equal(rnic_be32_to_cpu(cqe.sop_drop_qpn) >> 24, RNIC_WQE_SEND);
	assert_int_equal(rnic_be64_to_cpu(cqe.timestamp), 0x48632a39b102);
}

/*
 * The key of a registration. What a kernel printed of it is published: mkey 0xdd5d (index 0xdd, variant 0x5d), start
 * 0xdb1000, length 0x2000, access flags 0x100007 (local write, remote write, remote read; relaxed ordering), pages of
 * 1 << 12 bytes, and the two entries of its pages, 0x3e07a92003 and 0x3e106a6003, whose low bits say read and write. The
 * command's bytes are not: those below were put together by hand from these values and the manual, as were PD, QP number
 * and octwords.
 */
#define MKEY_MTTS 2
struct create_mkey {
	struct rnic_create_mkey_in in;
	struct rnic_mtt_entry mtt[MKEY_MTTS];
};

static void
mkey_golden(struct create_mkey *cmd)
{
	static const struct {
		uint32_t offset;
		uint32_t value;
	} rows[] = {
		{ 0x000, 0x02000000 }, /* CREATE_MKEY */
		{ 0x010, 0x00043d00 }, /* relaxed write; rw rr lw lr; MTTs */
		{ 0x014, 0xffffff5d }, /* any QP, variant */
		{ 0x01c, 0x00000011 }, /* PD */
		{ 0x024, 0x00db1000 }, { 0x02c, 0x00002000 },
		{ 0x044, 0x00000001 }, /* octwords of translations */
		{ 0x048, 0x0000004c }, /* relaxed read; pages of 4 KiB */
		{ 0x060, 0x00000001 }, { 0x110, 0x0000003e },
		{ 0x114, 0x07a92003 }, { 0x118, 0x0000003e },
		{ 0x11c, 0x106a6003 },
	};
	struct rnic_be32 *dw = (struct rnic_be32 *)cmd;

	memset(cmd, 0, sizeof(*cmd));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		dw[rows[i].offset / 4] = rnic_cpu_to_be32(rows[i].value);
}

static void
mkey_encoded(void **state)
{
	static const uint64_t pages[MKEY_MTTS] = { 0x3e07a92000, 0x3e106a6000 };
	struct create_mkey golden, cmd = { 0 };
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&cmd.in);
	struct rnic_cmd_in *header = (struct rnic_cmd_in *)&cmd.in;

	(void)state;
	mkey_golden(&golden);
	rnic_cmd_in_set(header, RNIC_CMD_IN_OPCODE, RNIC_CMD_CREATE_MKEY);
	rnic_mkc_set(mkc, RNIC_MKC_RELAXED_ORDERING_WRITE, 1);
	rnic_mkc_set(mkc, RNIC_MKC_RELAXED_ORDERING_READ, 1);
	rnic_mkc_set(mkc, RNIC_MKC_RW, 1);
	rnic_mkc_set(mkc, RNIC_MKC_RR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_MTT);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, 0xdd5d & 0xff);
	rnic_mkc_set(mkc, RNIC_MKC_PD, 0x11);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, 0xdb1000);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, 0x2000);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, MKEY_MTTS * 8 / 16);
	rnic_create_mkey_in_set(&cmd.in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE,
				MKEY_MTTS * 8 / 16);
	for (int i = 0; i < MKEY_MTTS; i++) {
		rnic_mtt_entry_set(&cmd.mtt[i], RNIC_MTT_ENTRY_ADDRESS, pages[i] >> 3);
		rnic_mtt_entry_set(&cmd.mtt[i], RNIC_MTT_ENTRY_READ, 1);
		rnic_mtt_entry_set(&cmd.mtt[i], RNIC_MTT_ENTRY_WRITE, 1);
	}
	assert_memory_equal(&cmd, &golden, sizeof(golden));
}

static void
mkey_decoded(void **state)
{
	struct create_mkey cmd;
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&cmd.in);
	uint64_t mtt;

	(void)state;
	mkey_golden(&cmd);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_MKEY_7_0), 0x5d);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_START_ADDR), 0xdb1000);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_LEN), 0x2000);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_ACCESS_MODE_1_0), RNIC_MKEY_MTT);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_RW), 1);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_A), 0);
	mtt = (uint64_t)rnic_be32_to_cpu(cmd.mtt[1].dw[0]) << 32 |
	      rnic_be32_to_cpu(cmd.mtt[1].dw[1]);
	assert_int_equal(mtt & RNIC_MTT_ADDRESS_MASK, 0x3e106a6000);
	assert_int_equal(mtt & ~RNIC_MTT_ADDRESS_MASK, RNIC_MTT_READ | RNIC_MTT_WRITE);
}

/* Doorbells of a process with 16 BlueFlame registers of 512 bytes, on pages of 4 KiB. */
static void
uar_figures(void **state)
{
	const int registers = 16;
	int pages = registers / RNIC_BF_NON_FAST_PATH_REGS_PER_UAR;

	(void)state;
	assert_int_equal(RNIC_UAR_PAGE_BYTES, 4096);
	assert_int_equal(RNIC_BF_REG_BYTES, 512);
	assert_int_equal(RNIC_BF_HALF_BYTES * 2, RNIC_BF_REG_BYTES);
	assert_int_equal(RNIC_BF_REGS_PER_UAR, 4);
	assert_int_equal(RNIC_BF_NON_FAST_PATH_REGS_PER_UAR, 2);
	assert_int_equal(pages, 8);
	assert_int_equal(pages * RNIC_BF_REGS_PER_UAR, 32);
	/* All four fit behind the other registers of the page, and end where it ends. */
	assert_int_equal(RNIC_UAR_BLUEFLAME + RNIC_BF_REGS_PER_UAR * RNIC_BF_REG_BYTES,
			 RNIC_UAR_PAGE_BYTES);
	assert_true(RNIC_UAR_EQ_UPDATE + 4 <= RNIC_UAR_BLUEFLAME);
	/* Physical address 0x1bffc020800 is the first BlueFlame register of a page of BAR0. */
	assert_int_equal(UINT64_C(0x1bffc020800) % RNIC_UAR_PAGE_BYTES, RNIC_UAR_BLUEFLAME);
}

static void
eq_doorbell(void **state)
{
	(void)state;
	assert_int_equal(RNIC_EQ_DOORBELL(0x10, 0x1000002), 0x10000002);
}

/* An entry of the command queue as the trace has it, and the block it points to. */
static void
command_entry(void **state)
{
	static const uint32_t golden_dwords[16] = {
		0x07000000, 0x00000118,	       0x00000007,	  0xab0e8800,
		0x03010000, [14] = 0x00000010, [15] = 0x1cc40001,
	};
	struct rnic_be32 golden[16];
	struct rnic_cmdq_entry entry = {
		.type = RNIC_CMDQ_ENTRY_TYPE,
		.input_length = RNIC_BE32(0x118),
		.input_mailbox = RNIC_BE64(0x7ab0e8800),
		.input = { 0x03, 0x01 },
		.output_length = RNIC_BE32(0x10),
		.token = 0x1c,
		.signature = 0xc4,
		.status_own = RNIC_CMDQ_STATUS_OWN_HW,
	};

	(void)state;
	dwords(golden_dwords, 16, golden);
	assert_memory_equal(&entry, golden, sizeof(golden));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wqe_encoded),	 cmocka_unit_test(wqe_decoded),
		cmocka_unit_test(cqe_encoded),	 cmocka_unit_test(cqe_decoded),
		cmocka_unit_test(mkey_encoded),	 cmocka_unit_test(mkey_decoded),
		cmocka_unit_test(uar_figures),	 cmocka_unit_test(eq_doorbell),
		cmocka_unit_test(command_entry),
	};

	return cmocka_run_group_tests_name("layout golden", tests, NULL, NULL);
}
