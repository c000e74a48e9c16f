/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps: the lines of mlx5_core's log and of rdma-core's debug print, decoded lines, and hostile
 * bytes.
 */
#include "layout_test.h"

#include "cmd_table.h"
#include "cmdq.h"
#include "cqe.h"
#include "dump.h"
#include "wqe.h"

#define TEXT_BYTES 65536

static const char *data_folder;

/* What a dump wrote, a newline after each line. */
struct text {
	char bytes[TEXT_BYTES];
	size_t length;
	size_t lines;
};

static struct text text;

static void
collect(void *arg, const char *line)
{
	struct text *t = arg;
	size_t n = strlen(line);

	assert_true(t->length + n + 2 < sizeof(t->bytes));
	assert_null(strchr(line, '\n'));
	memcpy(t->bytes + t->length, line, n);
	t->length += n;
	t->bytes[t->length++] = '\n';
	t->bytes[t->length] = '\0';
	t->lines++;
}

static void
discard(void *arg, const char *line)
{
	size_t *total = arg;

	*total += strlen(line);
}

static void
restart(void)
{
	memset(&text, 0, sizeof(text));
}

static void
has(const char *wanted)
{
	if (strstr(text.bytes, wanted) == NULL)
		fail_msg("no \"%s\" in:\n%s", wanted, text.bytes);
}

static void
has_not(const char *unwanted)
{
	if (strstr(text.bytes, unwanted) != NULL)
		fail_msg("\"%s\" in:\n%s", unwanted, text.bytes);
}

/* A dump's bytes, read from its rows. */
struct log_dump {
	uint8_t bytes[0x40 + 4 * 0x240];
	size_t length;
	int output;
};

/* The file's dumps, each printed by us from its bytes alone, must give the file's text. */
static void
print_again(const struct log_dump *dump)
{
	const void *blocks[4];
	size_t count = 0;

	for (size_t at = 0x40; at < dump->length; at += 0x240)
		blocks[count++] = dump->bytes + at;
	rnic_dump_cmd(dump->bytes, blocks, count, dump->output, collect, &text);
}

static void
log_again(const char *name)
{
	static struct log_dump dump;
	static char wanted[TEXT_BYTES];
	char path[512], line[256];
	size_t offset;
	uint32_t dw[4];
	FILE *file;

	restart();
	memset(&dump, 0, sizeof(dump));
	wanted[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", data_folder, name);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		strcat(wanted, line);
		if (strstr(line, " INPUT") != NULL || strstr(line, " OUTPUT") != NULL) {
			if (dump.length != 0)
				print_again(&dump);
			dump.length = 0;
			dump.output = strstr(line, " OUTPUT") != NULL;
		} else if (sscanf(line, "%zx: %x %x %x %x", &offset, &dw[0], &dw[1], &dw[2],
				  &dw[3]) == 5) {
			assert_int_equal(offset, dump.length);
			for (int i = 0; i < 16; i++)
				dump.bytes[dump.length++] =
					(uint8_t)(dw[i / 4] >> (24 - i % 4 * 8));
		}
	}
	fclose(file);
	print_again(&dump);
	/* The file ends without the last empty line. */
	strcat(wanted, "\n");
	assert_string_equal(text.bytes, wanted);
}

static void
short_command_as_in_the_log(void **state)
{
	(void)state;
	log_again("alloc_uar.dump");
}

static void
command_with_mailboxes_as_in_the_log(void **state)
{
	(void)state;
	log_again("create_eq.dump");
}

static void
offsets_go_on_from_block_to_block(void **state)
{
	struct rnic_cmdq_entry entry = { .input = { 0x12, 0x34 } };
	struct rnic_cmdq_block one = { .data = { 0x11 } }, two = { .data = { 0x22 } };
	const void *blocks[] = { &one, &two };

	(void)state;
	restart();
	rnic_dump_cmd(&entry, blocks, 2, false, collect, &text);
	has("dump command unknown command opcode(0x1234) INPUT\n");
	has("\n\ncommand block:\n040: 11000000 ");
	has("\n270: 00000000 00000000 00000000 00000000\n\ncommand block:\n280: 22000000 ");
	assert_int_equal(text.lines, 1 + 4 + 1 + 2 * (1 + 36 + 1));
}

static void
command_data(void **state)
{
	const uint8_t in[] = { 0x03, 0x01, 0, 0, 0, 0, 0, 1, 0xaa, 0xbb, 0xcc };

	(void)state;
	restart();
	rnic_dump_cmd_data(RNIC_CMD_CREATE_EQ, in, sizeof(in), false, collect, &text);
	assert_string_equal(text.bytes, "dump command data CREATE_EQ(0x301) INPUT\n"
					"000: 03010000 00000001 aabbcc00 00000000\n");
}

static void
decoded_input(void **state)
{
	struct {
		struct rnic_create_sq_in in;
		struct rnic_page_entry pages[20];
	} cmd = { 0 };
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(&cmd.in);

	(void)state;
	restart();
	rnic_cmd_in_set((struct rnic_cmd_in *)&cmd.in, RNIC_CMD_IN_OPCODE, RNIC_CMD_CREATE_SQ);
	rnic_sqc_set(sqc, RNIC_SQC_CQN, 0x4c2);
	rnic_wq_set(rnic_sqc_wq(sqc), RNIC_WQ_LOG_WQ_SZ, 9);
	for (int i = 0; i < 20; i++)
		rnic_page_entry_set(&cmd.pages[i], RNIC_PAGE_ENTRY_ADDRESS, 0x1234500u + i);
	cmd.in.dw[3] = RNIC_BE32(0x80);
	rnic_decode_cmd_in(&cmd, sizeof(cmd), collect, &text);
	has("CREATE_SQ(0x904) input, 432 bytes\n");
	has("  000[31:16] opcode = 0x904\n");
	has("  028[23: 0] sqc.cqn = 0x4c2\n");
	has("  070[ 4: 0] sqc.wq.log_wq_sz = 0x9\n");
	has("  110[63:12] pas[0].address = 0x1234500000\n");
	has("pas[15].address = 0x123450f000\n");
	has_not("pas[16]");
	has("  4 more of pas\n");
	has("  00c no name for 0x00000080\n");
	has_not("user_index");
}

static void
decoded_output(void **state)
{
	const uint8_t in[] = { 0x08, 0x05, 0, 0, 0, 0, 0, 1, 0, 0, 0x50, 0x03, 0, 0, 0, 0 };
	struct {
		struct rnic_access_reg_out out;
		struct rnic_pmtu_reg pmtu;
	} out = { 0 };

	(void)state;
	restart();
	rnic_pmtu_reg_set(&out.pmtu, RNIC_PMTU_REG_MAX_MTU, 9978);
	rnic_decode_cmd_out(in, sizeof(in), &out, sizeof(out), collect, &text);
	has("ACCESS_REG(0x805) output, 32 bytes: ok(0x0), syndrome 0x0\n");
	has("  014[31:16] register_data.max_mtu = 0x26fa\n");

	restart();
	rnic_cmd_out_set((struct rnic_cmd_out *)&out.out, RNIC_CMD_OUT_STATUS,
			 RNIC_STATUS_BAD_PARAM);
	rnic_cmd_out_set((struct rnic_cmd_out *)&out.out, RNIC_CMD_OUT_SYNDROME, 0xabcdef);
	rnic_decode_cmd_out(in, sizeof(in), &out, 16, collect, &text);
	has("ACCESS_REG(0x805) output, 16 bytes: bad parameter(0x3), syndrome 0xabcdef\n");
	has_not("max_mtu");
}

static void
decoded_variants(void **state)
{
	struct {
		struct rnic_create_mkey_in in;
		struct rnic_klm_entry klm;
	} mkey = { 0 };
	struct rnic_set_hca_cap_in caps = { 0 };

	(void)state;
	restart();
	rnic_cmd_in_set((struct rnic_cmd_in *)&mkey.in, RNIC_CMD_IN_OPCODE, RNIC_CMD_CREATE_MKEY);
	rnic_mkc_set(rnic_create_mkey_in_mkc(&mkey.in), RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_KLM);
	rnic_klm_entry_set(&mkey.klm, RNIC_KLM_ENTRY_MKEY, 0xdd5d);
	rnic_decode_cmd_in(&mkey, sizeof(mkey), collect, &text);
	has("klm[0].mkey = 0xdd5d\n");

	restart();
	rnic_cmd_in_set((struct rnic_cmd_in *)&caps, RNIC_CMD_IN_OPCODE, RNIC_CMD_SET_HCA_CAP);
	rnic_cmd_in_set((struct rnic_cmd_in *)&caps, RNIC_CMD_IN_OP_MOD,
			RNIC_HCA_CAP_OP_MOD(RNIC_CAP_ROCE, 0));
	caps.dw[(0x10 + 0x14) / 4] = RNIC_BE32(4791);
	rnic_decode_cmd_in(&caps, sizeof(caps), collect, &text);
	has("  024[15: 0] capability.r_roce_dest_udp_port = 0x12b7\n");
}

/* A context in a command, a path in the context, pages behind it. */
static void
decoded_queue_pairs(void **state)
{
	struct {
		struct rnic_create_qp_in in;
		struct rnic_be64 page;
	} create = { .page = RNIC_BE64(0x12345000) };
	struct rnic_modify_qp_in modify = { 0 };
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(&create.in);

	(void)state;
	restart();
	rnic_cmd_in_set((struct rnic_cmd_in *)&create.in, RNIC_CMD_IN_OPCODE, RNIC_CMD_CREATE_QP);
	rnic_qpc_set(qpc, RNIC_QPC_LOG_SQ_SIZE, 5);
	rnic_decode_cmd_in(&create, sizeof(create), collect, &text);
	has("CREATE_QP(0x500) input, 280 bytes");
	has("  020[14:11] qpc.log_sq_size = 0x5\n");
	has("pas[0].address = 0x12345000\n");

	restart();
	qpc = rnic_modify_qp_in_qpc(&modify);
	rnic_cmd_in_set((struct rnic_cmd_in *)&modify, RNIC_CMD_IN_OPCODE, RNIC_CMD_INIT2RTR_QP);
	rnic_ads_set(rnic_qpc_primary_address_path(qpc), RNIC_ADS_SRC_ADDR_INDEX, 3);
	rnic_decode_cmd_in(&modify, sizeof(modify), collect, &text);
	has("INIT2RTR_QP(0x503) input, 272 bytes");
	has("  038[23:16] qpc.primary_address_path.src_addr_index = 0x3\n");
}

static const uint32_t send_wqe[] = {
	0x0000000a, 0x00115003, 0x00000008, 0,		0,	    0xc0000000,
	0,	    0,		0x0000022a, 0x00008a0b, 0x00007fc5, 0x9a5b2000,
};

static void
wqe_as_rdma_core_prints_it(void **state)
{
	struct rnic_be32 wqe[16] = { 0 };

	(void)state;
	restart();
	for (int i = 0; i < 12; i++)
		wqe[i] = rnic_cpu_to_be32(send_wqe[i]);
	rnic_dump_wqe(0x7fc59b357000, wqe, sizeof(wqe), collect, &text);
	assert_string_equal(text.bytes, "dump wqe at 0x7fc59b357000\n"
					"0000000a 00115003 00000008 00000000\n"
					"00000000 c0000000 00000000 00000000\n"
					"0000022a 00008a0b 00007fc5 9a5b2000\n");
	restart();
	rnic_decode_wqe(wqe, sizeof(wqe), RNIC_WQE_OF_FRAMES, collect, &text);
	has("  ctrl: SEND(0x0a) opmod 0x0 index 0x0 qpn 0x1150 ds 3 fm_ce_se 0x08 ");
	has("  eth: cs_flags 0xc0 mss 0 ");
	has("  data: byte_count 0x22a lkey 0x8a0b address 0x7fc59a5b2000\n");
	assert_int_equal(text.lines, 3);
	/* The same bytes on a queue without Ethernet segments. */
	restart();
	rnic_decode_wqe(wqe, sizeof(wqe), RNIC_WQE_OF_MESSAGES, collect, &text);
	has_not("eth:");
}

/* What a request does at its peer stands before the data. */
static void
test_wqe_of_a_datagram_is_decoded(void **state)
{
	struct {
		struct rnic_wqe_ctrl ctrl;
		struct rnic_wqe_av av;
		struct rnic_wqe_data data;
	} wqe = {
		.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 1, RNIC_WQE_SEND)),
		.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, 5)),
		.av = { .qkey = RNIC_BE32(0x1234),
			.dqp = RNIC_BE32(RNIC_WQE_AV_EXTENDED | 0xabcdef),
			.stat_rate_sl = 0x26,
			.udp_sport = RNIC_BE16(0xc001),
			.rmac = { 2, 0, 0, 0, 0, 9 },
			.tclass = 0x68,
			.hop_limit = 64,
			.grh_gid_fl =
				RNIC_BE32(RNIC_WQE_AV_GRH | 7 << RNIC_WQE_AV_GID_SHIFT | 0x54321),
			.rgid = { 0xfe, 0x80, [15] = 9 } },
		.data.byte_count = RNIC_BE32(8),
		.data.lkey = RNIC_BE32(0x77),
		.data.address = RNIC_BE64(0x9000),
	};

	(void)state;
	restart();
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_DATAGRAMS, collect, &text);
	has("  av: dqp 0xabcdef qkey 0x1234 stat_rate 2 sl 6 udp_sport 0xc001 tclass 0x68 hop_limit 64\n"
	    "  av: rmac 02:00:00:00:00:09 grh 1 sgid_index 7 flow_label 0x54321 rgid fe800000 00000000 00000000 "
	    "00000009\n"
	    "  data: byte_count 0x8 lkey 0x77 address 0x9000\n");
	assert_int_equal(text.lines, 4);
	restart();
	wqe.av.qkey = RNIC_BE32(RNIC_WQE_AV_OWN_QKEY);
	wqe.av.dqp = RNIC_BE32(0xabcdef);
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_DATAGRAMS, collect, &text);
	has("  av: dqp 0xabcdef not extended qkey 0x80000000 (the queue pair's) ");
	/* A NOP has none. */
	restart();
	wqe.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 1, RNIC_WQE_NOP));
	wqe.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, 1));
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_DATAGRAMS, collect, &text);
	assert_int_equal(text.lines, 1);
	restart();
	wqe.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 1, RNIC_WQE_SEND));
	wqe.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, 3));
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_DATAGRAMS, collect, &text);
	has("  av: cut short, 32 bytes\n");
}

static void
wqe_of_rdma(void **state)
{
	struct {
		struct rnic_wqe_ctrl ctrl;
		struct rnic_wqe_raddr remote;
		struct rnic_wqe_atomic atomic;
		struct rnic_wqe_data data;
	} wqe = {
		.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 1, RNIC_WQE_ATOMIC_CS)),
		.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, 4)),
		.remote.address = RNIC_BE64(0x7f0012345678),
		.remote.rkey = RNIC_BE32(0xabcd12),
		.atomic.swap_add = RNIC_BE64(3),
		.atomic.compare = RNIC_BE64(4),
		.data.byte_count = RNIC_BE32(8),
		.data.lkey = RNIC_BE32(0x77),
		.data.address = RNIC_BE64(0x9000),
	};

	(void)state;
	restart();
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_MESSAGES, collect, &text);
	has("  ctrl: ATOMIC_CS(0x11) ");
	has("  raddr: address 0x7f0012345678 rkey 0xabcd12\n"
	    "  atomic: swap_add 0x3 compare 0x4\n"
	    "  data: byte_count 0x8 lkey 0x77 address 0x9000\n");
	assert_int_equal(text.lines, 4);
	restart();
	wqe.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 1, RNIC_WQE_RDMA_WRITE));
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_MESSAGES, collect, &text);
	has("  raddr: address 0x7f0012345678 rkey 0xabcd12\n  data: ");
	restart();
	wqe.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, 1));
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_MESSAGES, collect, &text);
	assert_int_equal(text.lines, 1);
	restart();
	wqe.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, 2));
	rnic_decode_wqe(&wqe, 24, RNIC_WQE_OF_MESSAGES, collect, &text);
	has("  raddr: cut short, 8 bytes\n");
}

/* Inline headers push what follows by whole units; inline data says its length. */
static void
wqe_inline(void **state)
{
	struct {
		struct rnic_wqe_ctrl ctrl;
		struct rnic_wqe_eth eth;
		uint8_t header[16];
		struct rnic_wqe_inline data[2];
		struct rnic_wqe_data last;
	} wqe = {
		.ctrl.opmod_idx_opcode = RNIC_BE32(RNIC_WQE_CTRL_DW0(0, 7, RNIC_WQE_SEND)),
		.ctrl.qpn_ds = RNIC_BE32(RNIC_WQE_CTRL_DW1(5, sizeof(wqe) / RNIC_WQE_DS_BYTES)),
		.eth.inline_header_size = RNIC_BE16(18),
		.data[0].byte_count = RNIC_BE32(RNIC_WQE_INLINE | 20),
		.last.byte_count = RNIC_BE32(60),
	};

	(void)state;
	restart();
	rnic_decode_wqe(&wqe, sizeof(wqe), RNIC_WQE_OF_FRAMES, collect, &text);
	has(" inline_header_size 18 ");
	has("  inline: byte_count 0x14\n  data: byte_count 0x3c ");
	assert_int_equal(text.lines, 4);
}

static void
wqe_cut_short(void **state)
{
	struct rnic_be32 wqe[16] = { RNIC_BE32(0x0a), RNIC_BE32(0x115000 | RNIC_WQE_DS_MAX) };

	(void)state;
	restart();
	rnic_decode_wqe(wqe, sizeof(wqe), RNIC_WQE_OF_FRAMES, collect, &text);
	has("  64 of its 1008 bytes follow\n");
	restart();
	rnic_decode_wqe(wqe, 15, RNIC_WQE_OF_FRAMES, collect, &text);
	has("  ctrl: cut short, 15 bytes\n");
}

static void
cqe_as_rdma_core_prints_it(void **state)
{
	struct rnic_cqe cqe = {
		.timestamp = RNIC_BE64(0x48632a39b102),
		.sop_drop_qpn = RNIC_BE32(0x0a001150),
		.signature = 0x3f,
	};

	(void)state;
	restart();
	rnic_dump_cqe(0x4c2, &cqe, sizeof(cqe), collect, &text);
	assert_string_equal(text.bytes, "dump cqe for cqn 0x4c2:\n"
					"00000000 00000000 00000000 00000000\n"
					"00000000 00000000 00000000 00000000\n"
					"00000000 00000000 00000000 00000000\n"
					"00004863 2a39b102 0a001150 00003f00\n");
	restart();
	rnic_decode_cqe(&cqe, sizeof(cqe), collect, &text);
	has("  requester(0x0) owner 0: qpn 0x1150 send opcode 0x0a wqe_counter 0x0 ");
}

static void
error_cqe(void **state)
{
	struct rnic_error_cqe cqe = {
		.vendor_error_syndrome = 0x51,
		.syndrome = RNIC_SYND_LOCAL_PROTECTION,
		.sop_qpn = RNIC_BE32(0x0a001150),
		.wqe_counter = RNIC_BE16(0x1234),
		.op_own = RNIC_CQE_OP_OWN(RNIC_CQE_REQUESTER_ERROR, 1),
	};

	(void)state;
	restart();
	rnic_decode_cqe(&cqe, sizeof(cqe), collect, &text);
	has("  requester error(0xd) owner 1: local protection error(0x04) "
	    "vendor_error_syndrome 0x51 qpn 0x1150 send opcode 0x0a wqe_counter 0x1234 ");
}

static void
eqe(void **state)
{
	struct rnic_eqe eqe = { .type = RNIC_EVENT_PAGE_REQUEST };

	(void)state;
	restart();
	eqe.data[0] = RNIC_BE32(1);
	eqe.data[1] = RNIC_BE32((uint32_t)-3);
	rnic_decode_eqe(&eqe, sizeof(eqe), collect, &text);
	has("  page request(0x0b) sub_type 0x00 owner 0\n  function 0x1 pages -3\n");
	restart();
	rnic_dump_eqe(0x10, &eqe, sizeof(eqe), collect, &text);
	has("dump eqe for eqn 0x10:\n000b0000 ");
	assert_int_equal(text.lines, 5);
}

/* Any bytes of any length: nothing outside of them is read. The sanitizers are the judges. */
static size_t pieces; /* that put() got */

static void
put(const char *piece)
{
	size_t n = strlen(piece);

	pieces++;
	assert_true(n > 0 && piece[n - 1] == '\n');
	assert_true(text.length + n < sizeof(text.bytes));
	memcpy(text.bytes + text.length, piece, n + 1);
	text.length += n;
}

static void
gathered_into_one_piece(void **state)
{
	struct rnic_dump_text gathered = { .put = put };
	struct rnic_cqe cqe = { 0 };
	static struct text single;

	(void)state;
	restart();
	rnic_dump_cqe(0x404, &cqe, sizeof(cqe), collect, &text);
	single = text;
	restart();
	pieces = 0;
	rnic_dump_cqe(0x404, &cqe, sizeof(cqe), rnic_dump_text_line, &gathered);
	assert_int_equal(pieces, 0);
	rnic_dump_text_end(&gathered);
	assert_int_equal(pieces, 1);
	assert_string_equal(text.bytes, single.bytes);
	rnic_dump_text_end(&gathered);
	assert_int_equal(pieces, 1);
}

/* Lines of all lengths that are met before, at and behind the end of the text; the longest is cut. */
static void
gathered_into_more_pieces(void **state)
{
	struct rnic_dump_text gathered = { .put = put };
	static char line[RNIC_DUMP_TEXT_BYTES + 8];

	(void)state;
	for (size_t n = RNIC_DUMP_TEXT_BYTES - 16; n < sizeof(line); n++) {
		size_t kept = n < RNIC_DUMP_TEXT_BYTES - 2 ? n : RNIC_DUMP_TEXT_BYTES - 2;

		restart();
		pieces = 0;
		memset(line, 'x', n);
		line[n] = '\0';
		rnic_dump_text_line(&gathered, "first");
		rnic_dump_text_line(&gathered, line);
		rnic_dump_text_line(&gathered, "");
		rnic_dump_text_end(&gathered);
		assert_int_equal(text.length, strlen("first\n") + kept + 1 + 1);
		assert_in_range(pieces, text.length < RNIC_DUMP_TEXT_BYTES ? 1 : 2,
				kept < RNIC_DUMP_TEXT_BYTES - 2 ? 2 : 3);
	}
}

static void
hostile_bytes(void **state)
{
	size_t total = 0;
	uint8_t *a, *b;

	(void)state;
	srand(1);
	for (int round = 0; round < 4000; round++) {
		size_t n = (size_t)rand() % 320, m = (size_t)rand() % 320;

		a = malloc(n);
		b = malloc(m);
		for (size_t i = 0; i < n; i++)
			a[i] = (uint8_t)rand();
		for (size_t i = 0; i < m; i++)
			b[i] = (uint8_t)rand();
		if (n >= 2 && round % 8 != 0) {
			uint16_t opcode = rnic_cmds[(uint32_t)rand() % rnic_cmd_count].opcode;

			a[0] = (uint8_t)(opcode >> 8);
			a[1] = (uint8_t)opcode;
		}
		rnic_dump_cmd_data((uint32_t)rand(), a, n, round & 1, discard, &total);
		rnic_decode_cmd_in(a, n, discard, &total);
		rnic_decode_cmd_out(a, n, b, m, discard, &total);
		if (m >= 4 && round & 1)
			b[3] = RNIC_WQE_SEND;
		rnic_dump_wqe(0, b, m, discard, &total);
		rnic_decode_wqe(b, m, (enum rnic_wqe_kind)(round / 2 % 3), discard, &total);
		rnic_dump_cqe(0, b, m, discard, &total);
		rnic_decode_cqe(b, m, discard, &total);
		rnic_dump_eqe(0, b, m, discard, &total);
		rnic_decode_eqe(b, m, discard, &total);
		free(a);
		free(b);
	}
	assert_true(total > 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_command_as_in_the_log),
		cmocka_unit_test(command_with_mailboxes_as_in_the_log),
		cmocka_unit_test(offsets_go_on_from_block_to_block),
		cmocka_unit_test(command_data),
		cmocka_unit_test(decoded_input),
		cmocka_unit_test(decoded_output),
		cmocka_unit_test(decoded_variants),
		cmocka_unit_test(decoded_queue_pairs),
		cmocka_unit_test(wqe_as_rdma_core_prints_it),
		cmocka_unit_test(wqe_of_rdma),
		cmocka_unit_test(wqe_inline),
		cmocka_unit_test(wqe_cut_short),
		cmocka_unit_test(cqe_as_rdma_core_prints_it),
		cmocka_unit_test(error_cqe),
		cmocka_unit_test(eqe),
		cmocka_unit_test(gathered_into_one_piece),
		cmocka_unit_test(gathered_into_more_pieces),
		cmocka_unit_test(test_wqe_of_a_datagram_is_decoded),
		cmocka_unit_test(hostile_bytes),
	};

	if (argc != 2)
		return 1;
	data_folder = argv[1];
	return cmocka_run_group_tests_name("layout dump", tests, NULL, NULL);
}
