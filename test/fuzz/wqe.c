/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: queues of a driver that is the input. Rings, records and doorbells get its bytes; the memory that the
 * device may reach is in islands of exact length, everything between them is poisoned.
 *
 *   byte 0    bits 0..2: the SQ's flags; 3: 128-byte CQEs; 4: a collapsed CQ; 5: ignores overruns; 6: a pair wire, not
 *             a loop; 7: the wire has faults
 *   byte 1    bit 7: flow tables that look at all headers, and a hash over queues; 6: memory is foreign; bits 0..2: the RQ's stride, 16 to 512 bytes; 3..5: log of the CQ's size
 *   then operations, each: u8 enum op, its operands
 */

#include "data_path.h"
#include "fuzz.h"
#include "prm/list.h"

extern int softrnic_logtype;

enum op {
	OP_SEND, /* a WQE: u8 opcode, u8 inline bytes, u8 segments, then each segment; ce is always */
	OP_POST,      /* a receive WQE: u8 segments, then each */
	OP_SQ_BYTES,  /* u8 WQEBB, u8 offset, u8 bytes, the bytes */
	OP_RQ_BYTES,  /* u8 WQE, u8 offset, u8 bytes, the bytes */
	OP_SQ_RECORD, /* u16: the counter as it is written, and a doorbell */
	OP_RQ_RECORD, /* u16 */
	OP_CQ_RECORD, /* u8 which, u32 consumer index, u32 arm word */
	OP_RING,      /* the SQ, as a good driver does it */
	OP_POLL,      /* u8 times */
	OP_REAP,      /* take all completions */
	OP_BAR,	      /* u16 offset in the UAR pages, u8 bytes, 8 bytes */
	OP_SQ_STATE,  /* u8: from, to */
	OP_RQ_STATE,
	OP_UNMAP, /* u8 which island goes; what went before comes back */
	OP_DESTROY_KEY,
	OP_MTU,	 /* u16: the port's */
	OP_FILL, /* u8 island, u8 offset, u8 bytes, the bytes: what frames are made of */
	/*
	 * Of the last WQE: u8 bit 0: a large send, bit 1: the RQ strips tags from now on; u8 cs_flags; u16 mss; u16 the
	 * inline header's size, or what is inserted, 0: as it is
	 */
	OP_OFFLOADS,
	OP_VPORT, /* u8 bits 0..2: what it takes without a look at addresses; 4..3: which list has the frames' addresses */
	OP_LAST,
};

#define ISLANDS 8
static const uint32_t island_bytes[ISLANDS] = { 64, 1, 1514, 9000, 4096, 8192, 300, 60 };

enum key {
	KEY_WHOLE,    /* MTT over everything, in pieces */
	KEY_FLAT,     /* MTT over one island */
	KEY_READ,     /* the same, read only */
	KEY_KLM,      /* of others */
	KEY_PA,	      /* the IOVAs themselves */
	KEY_NESTED,   /* KLM of KLM */
	KEY_RESERVED, /* the reserved lkey */
	KEYS,
};

struct world {
	struct dp dp, other; /* other: the far end of a pair */
	bool pair;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *islands[ISLANDS];
	uint32_t keys[KEYS];
	uint64_t gone_iova;
	uint32_t gone_bytes;
	uint8_t *gone;
};

static struct softrnic_poller *poller;

static uint32_t
key_create(struct dp *dp, unsigned int mode, const void *start, uint64_t length, bool write,
	   const uint32_t *keys, unsigned int count)
{
	struct {
		struct rnic_create_mkey_in in;
		struct rnic_klm klms[4];
	} in = { 0 };
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&in.in);
	struct rnic_be64 *mtts = (struct rnic_be64 *)in.klms;
	struct rnic_object_out out[2];
	unsigned int i, octwords = mode == RNIC_MKEY_MTT ? 2 : count;

	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, mode);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, write);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, 0x33);
	rnic_mkc_set(mkc, RNIC_MKC_PD, dp->pd);
	rnic_mkc_set(mkc, RNIC_MKC_LENGTH64, mode == RNIC_MKEY_PA);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, (uintptr_t)start);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, length);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_create_mkey_in_set(&in.in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE,
				octwords);
	for (i = 0; i < octwords; i++) {
		if (mode == RNIC_MKEY_MTT) {
			uint64_t page = dp_iova(dp, (const uint8_t *)start) & ~UINT64_C(4095);

			mtts[2 * i] = rnic_cpu_to_be64((page + i * 8192) | 3);
			mtts[2 * i + 1] = rnic_cpu_to_be64((page + i * 8192 + 4096) | 3);
		} else {
			in.klms[i].byte_count = rnic_cpu_to_be32(1000 + i);
			in.klms[i].mkey = rnic_cpu_to_be32(keys[i]);
			in.klms[i].address = rnic_cpu_to_be64((uintptr_t)start);
		}
	}
	must(dp_command(dp, RNIC_CMD_CREATE_MKEY, 0, &in, sizeof(in), out, sizeof(out)) == 0);
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER) << 8 | 0x33;
}

static void
keys_create(struct world *w, struct dp *dp)
{
	uint8_t *flat = w->islands[5];
	uint32_t list[4];

	w->keys[KEY_WHOLE] = dp->lkey;
	w->keys[KEY_FLAT] = key_create(dp, RNIC_MKEY_MTT, flat, 8192, true, NULL, 0);
	w->keys[KEY_READ] = key_create(dp, RNIC_MKEY_MTT, flat, 8192, false, NULL, 0);
	list[0] = list[2] = w->keys[KEY_FLAT];
	list[1] = list[3] = w->keys[KEY_WHOLE];
	w->keys[KEY_KLM] = key_create(dp, RNIC_MKEY_KLM, flat, 4000, true, list, 4);
	w->keys[KEY_PA] = key_create(dp, RNIC_MKEY_PA, NULL, 0, true, NULL, 0);
	list[0] = list[1] = w->keys[KEY_KLM];
	w->keys[KEY_NESTED] = key_create(dp, RNIC_MKEY_KLM, flat, 2000, true, list, 2);
	w->keys[KEY_RESERVED] = SOFTRNIC_RESERVED_LKEY;
}

/* Every frame is hashed to one of four queues, which all are the one. */
static uint32_t
hashing_tir(const struct dp_rq *rq)
{
	struct {
		struct rnic_create_rqt_in in;
		struct rnic_rqn_entry entries[4];
	} rqt = { 0 };
	struct rnic_create_tir_in tir = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&tir);
	struct rnic_rqtc *rqtc = rnic_create_rqt_in_rqtc(&rqt.in);
	struct rnic_object_out out[0x20];
	unsigned int i;

	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_MAX_SIZE, 4);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, 4);
	for (i = 0; i < 4; i++)
		rnic_rqn_entry_set(&rqt.entries[i], RNIC_RQN_ENTRY_RQN, rq->rqn);
	must(dp_command(rq->dp, RNIC_CMD_CREATE_RQT, 0, &rqt, sizeof(rqt), out, sizeof(out)) == 0);
	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, RNIC_TIR_INDIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INDIRECT_TABLE,
		      rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER));
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, rq->dp->td);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, RNIC_RX_HASH_TOEPLITZ);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_0, UINT64_C(0x6d5a56da255b0ec2));
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS, 0xf);
	must(dp_command(rq->dp, RNIC_CMD_CREATE_TIR, 0, &tir, sizeof(tir), out, sizeof(out)) == 0);
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
}

/* Two tables: the first looks at types and ports, the second at addresses; what they have not goes on. */
static void
steer_deep(struct dp_rq *rq)
{
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 }, value = { 0 };
	struct rnic_flow_destination to[2] = { 0 };
	struct dp *dp = rq->dp;
	uint32_t second, group;
	int status;

	rnic_flow_destination_set(&to[0], RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TIR);
	rnic_flow_destination_set(&to[0], RNIC_FLOW_DESTINATION_ID, hashing_tir(rq));
	second = dp_table_create(dp, 1, 4, 0);
	dp->root = dp_table_create(dp, 0, 4, second);
	rnic_flow_destination_set(&to[1], RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TABLE);
	rnic_flow_destination_set(&to[1], RNIC_FLOW_DESTINATION_ID, second);

	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0xffff);
	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_UDP_DPORT, 0xffff);
	group = dp_group_create(dp, dp->root, 0, 3, &mask, &status);
	must(status == 0);
	rnic_fte_match_set_lyr_2_4_set(&value, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0x0800);
	rnic_fte_match_set_lyr_2_4_set(&value, RNIC_FTE_MATCH_SET_LYR_2_4_UDP_DPORT, 4791);
	must(dp_flow_set(dp, dp->root, group, 0, &value, RNIC_FLOW_ACTION_DROP, 0, NULL, 0) == 0);
	rnic_fte_match_set_lyr_2_4_set(&value, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0x86dd);
	must(dp_flow_set(dp, dp->root, group, 1, &value, RNIC_FLOW_ACTION_FWD_DEST, 7, to, 2) == 0);

	memset(&mask, 0, sizeof(mask));
	group = dp_group_create(dp, second, 0, 0, NULL, &status);
	must(status == 0);
	must(dp_flow_set(dp, second, group, 0, NULL, RNIC_FLOW_ACTION_FWD_DEST, 1, to, 1) == 0);
	must(dp_root_set(dp, dp->root) == 0);
}

static void
world_open(struct world *w, uint8_t flags, uint8_t sizes)
{
	struct softrnic_conf conf = { .name = "fuzz0", .seed = 1 };
	struct dp_cq_conf cq_conf = { .log_size = 3u + (sizes >> 3 & 7) % 5, .uar = 1 };
	struct dp *receiver = &w->dp;
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->pair = (flags & 0x40) != 0;
	conf.foreign_memory = (sizes & 0x40) != 0;
	if (w->pair)
		conf.wire = "pair:fuzz";
	if (flags & 0x80)
		conf.drop_ppm = conf.dup_ppm = conf.reorder_ppm = conf.corrupt_ppm = 200000;
	must(dp_open_islands(&w->dp, poller, &conf, true) == 0);
	if (w->pair) {
		conf.name = "fuzz1";
		receiver = &w->other;
		must(dp_open_islands(receiver, poller, &conf, true) == 0);
	}
	/* The same offsets in both memories, so that one set of addresses serves. */
	for (i = 0; i < ISLANDS; i++) {
		w->islands[i] = dp_alloc(receiver, island_bytes[i], i >= 4 && i <= 5 ? 4096 : 64);
		if (w->pair)
			w->islands[i] =
				dp_alloc(&w->dp, island_bytes[i], i >= 4 && i <= 5 ? 4096 : 64);
		must(w->islands[i] != NULL);
	}
	cq_conf.big = (flags & 0x08) != 0;
	cq_conf.collapsed = (flags & 0x10) != 0;
	cq_conf.ignore_overrun = (flags & 0x20) != 0;
	must(dp_cq_create(&w->dp, &w->tx_cq, &cq_conf) == 0);
	must(dp_cq_create(receiver, &w->rx_cq, &cq_conf) == 0);
	must(dp_sq_create(&w->dp, &w->sq, &w->tx_cq, 4, 1, flags & 7) == 0);
	must(dp_rq_create(receiver, &w->rq, &w->rx_cq, 3, 4u + sizes % 6) == 0);
	if (sizes & 0x80)
		steer_deep(&w->rq);
	else
		must(dp_steer_all(&w->rq) == 0);
	keys_create(w, &w->dp);
}

static void
world_close(struct world *w)
{
	struct softrnic_stats stats;

	softrnic_reset(w->dp.dev);
	stats = dp_stats(&w->dp);
	must(stats.objects == 0);
	must(atomic_load(&softrnic_audit_violations) == 0);
	if (w->pair)
		dp_close(&w->other);
	dp_close(&w->dp);
}

/* A segment: u8 island (bits 2..0) and key (6..4), u16 offset, u16 bytes. Bit 7: inline, bit 3: an address as it is. */
static uint32_t
segment(struct world *w, struct fuzz_input *input, struct rnic_wqe_data *seg)
{
	uint8_t what = fuzz_u8(input), *island = w->islands[what & 7];
	uint16_t offset = fuzz_u16(input), bytes = fuzz_u16(input);
	uint32_t key = w->keys[(what >> 4 & 7) % KEYS];
	uint64_t address = (uintptr_t)island + offset;

	if ((what >> 4 & 7) == KEY_PA || (what >> 4 & 7) == KEY_RESERVED)
		address = dp_iova(&w->dp, island) + offset;
	if ((what & 8) != 0)
		address = -(uint64_t)offset;
	if (w->pair && seg >= (struct rnic_wqe_data *)w->rq.ring &&
	    seg < (struct rnic_wqe_data *)(w->rq.ring +
					   ((size_t)1 << (w->rq.log_size + w->rq.log_stride)))) {
		/* The far end has one key. */
		address = (uintptr_t)w->other.memory + (size_t)(island - w->dp.memory) + offset;
		key = w->other.lkey;
	}
	seg->byte_count = rnic_cpu_to_be32((what & 0x80 ? RNIC_WQE_INLINE : 0) | bytes);
	seg->lkey = rnic_cpu_to_be32(key);
	seg->address = rnic_cpu_to_be64(address);
	return bytes;
}

static void
send_wqe(struct world *w, struct fuzz_input *input)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_ENHANCED_MPSW, RNIC_WQE_NOP };
	uint8_t opcode = fuzz_u8(input), inline_bytes = fuzz_u8(input), count = fuzz_u8(input) % 62;
	uint32_t ds = 2, i;
	struct rnic_wqe_eth *eth;

	if (opcode < 64)
		opcode = opcodes[opcode % 3];
	if (inline_bytes > 2)
		ds += (inline_bytes - 2u + 15) / 16;
	if (ds + count > RNIC_WQE_DS_MAX)
		count = 0;
	if (ds > RNIC_WQE_DS_MAX)
		ds = 2;
	dp_wqe(&w->sq, opcode, ds + count, RNIC_WQE_CE_ALWAYS);
	eth = dp_wqe_at(&w->sq, 1);
	eth->inline_header_size = rnic_cpu_to_be16(inline_bytes);
	for (i = 0; i < count; i++)
		segment(w, input, dp_wqe_at(&w->sq, ds + i));
}

static void
strip_tags(struct world *w)
{
	struct rnic_modify_rq_in in = { 0 };

	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, w->rq.rqn);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, RNIC_WQ_STATE_RDY);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_BITMASK, RNIC_MODIFY_RQ_VSD);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, RNIC_WQ_STATE_RDY);
	dp_command(&w->dp, RNIC_CMD_MODIFY_RQ, 0, &in, sizeof(in), NULL, 0);
}

static void
offloads(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), cs_flags = fuzz_u8(input);
	uint16_t mss = fuzz_u16(input), size = fuzz_u16(input);
	struct rnic_wqe_eth *eth;
	uint32_t first;

	if ((what & 2) != 0)
		strip_tags(w);
	if (w->sq.last == NULL)
		return;
	eth = dp_wqe_at(&w->sq, 1);
	eth->cs_flags = cs_flags;
	eth->mss = rnic_cpu_to_be16(mss);
	if (size != 0)
		eth->inline_header_size = rnic_cpu_to_be16(size);
	first = rnic_be32_to_cpu(w->sq.last->opmod_idx_opcode);
	if ((what & 1) != 0)
		w->sq.last->opmod_idx_opcode = rnic_cpu_to_be32((first & ~0xffu) | RNIC_WQE_LSO);
}

static void
post_wqe(struct world *w, struct fuzz_input *input)
{
	uint32_t slot = w->rq.producer & ((1u << w->rq.log_size) - 1), i;
	uint32_t segments = 1u << (w->rq.log_stride - 4), count = fuzz_u8(input) % 9;
	struct rnic_wqe_data *seg =
		(struct rnic_wqe_data *)(w->rq.ring + ((size_t)slot << w->rq.log_stride));

	for (i = 0; i < segments && i < count; i++)
		segment(w, input, &seg[i]);
	if (i < segments) {
		seg[i].byte_count = rnic_cpu_to_be32(0);
		seg[i].lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
	}
	w->rq.producer++;
	dp_rq_record(&w->rq);
}

/* Bytes of the input somewhere in a ring. */
static void
ring_bytes(struct fuzz_input *input, uint8_t *ring, size_t stride, size_t entries)
{
	size_t at = fuzz_u8(input) % entries * stride, total = entries * stride, i;
	uint8_t count;

	at += fuzz_u8(input) * 4u;
	count = fuzz_u8(input);
	for (i = 0; i < count && input->left > 0; i++)
		ring[(at + i) % total] = fuzz_u8(input);
}

static void
reap(struct dp_cq *cq, bool collapsed)
{
	const struct rnic_cqe *cqe;

	if (collapsed)
		return;
	while ((cqe = dp_cq_next(cq)) != NULL)
		must(RNIC_CQE_OPCODE(cqe->op_own) != RNIC_CQE_INVALID);
}

static void
unmap(struct world *w, unsigned int which)
{
	if (w->gone != NULL)
		softrnic_dma_map(w->dp.dev, w->gone_iova, w->gone_bytes, w->gone,
				 SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	w->gone = NULL;
	switch (which) {
	case ISLANDS:
		w->gone = w->sq.ring;
		w->gone_bytes = RNIC_WQEBB_BYTES << w->sq.log_size;
		break;
	case ISLANDS + 1:
		w->gone = w->tx_cq.ring;
		w->gone_bytes = w->tx_cq.bytes << w->tx_cq.log_size;
		break;
	case ISLANDS + 2:
		w->gone = (uint8_t *)w->dp.eqes;
		w->gone_bytes = w->dp.eq_entries * sizeof(struct rnic_eqe);
		break;
	case ISLANDS + 3:
		w->gone = (uint8_t *)w->sq.dbrec;
		w->gone_bytes = sizeof(*w->sq.dbrec);
		break;
	case ISLANDS + 4:
		if (w->pair)
			return;
		w->gone = w->rq.ring;
		w->gone_bytes = 1u << (w->rq.log_size + w->rq.log_stride);
		break;
	default:
		if (which >= ISLANDS)
			return;
		w->gone = w->islands[which];
		w->gone_bytes = island_bytes[which];
	}
	w->gone_iova = dp_iova(&w->dp, w->gone);
	must(softrnic_dma_unmap(w->dp.dev, w->gone_iova, w->gone_bytes) == 0);
}

static void
cq_record(struct world *w, struct fuzz_input *input)
{
	struct dp_cq *cq = fuzz_u8(input) & 1 ? &w->rx_cq : &w->tx_cq;

	cq->dbrec->consumer_index.raw = fuzz_u32(input);
	cq->dbrec->arm.raw = fuzz_u32(input);
}

static void
bar(struct world *w, struct fuzz_input *input)
{
	uint64_t offset = (uint64_t)RNIC_FIRST_UAR * RNIC_UAR_PAGE_BYTES + fuzz_u16(input);
	uint8_t bytes = fuzz_u8(input), data[8];

	fuzz_bytes(input, data, sizeof(data));
	softrnic_bar_write(w->dp.dev, offset, data, bytes & 0xf);
}

static void
mtu(struct world *w, uint16_t value)
{
	softrnic_lock(poller);
	if (value >= 64 && value <= w->dp.dev->port.max_mtu)
		w->dp.dev->port.admin_mtu = w->dp.dev->port.vport_mtu = value;
	softrnic_unlock(poller);
}

/* Addresses of headers that seeds know. */
static void
vport(struct world *w, uint8_t what)
{
	const struct dp_vport vport = {
		.promisc_uc = (what & 1) != 0,
		.promisc_mc = (what & 2) != 0,
		.promisc_all = (what & 4) != 0,
		.list = what >> 3 & 3,
		.count = 2,
		.macs = { what & 0x20 ? UINT64_C(0x010000000001) : UINT64_C(0x020000000001), 7 },
	};

	dp_vport_modify(w->rq.dp, &vport);
}

static void
fill(struct world *w, struct fuzz_input *input)
{
	unsigned int island = fuzz_u8(input) % ISLANDS;
	uint8_t offset = fuzz_u8(input), bytes = fuzz_u8(input);
	uint32_t at;

	for (at = offset; bytes > 0 && at < island_bytes[island]; bytes--)
		w->islands[island][at++] = fuzz_u8(input);
}

static void
operation(struct world *w, struct fuzz_input *input, uint8_t flags)
{
	uint8_t op = fuzz_u8(input) % OP_LAST, n;

	switch (op) {
	case OP_SEND: send_wqe(w, input); break;
	case OP_POST: post_wqe(w, input); break;
	case OP_SQ_BYTES:
		ring_bytes(input, w->sq.ring, RNIC_WQEBB_BYTES, (size_t)1 << w->sq.log_size);
		break;
	case OP_RQ_BYTES:
		ring_bytes(input, w->rq.ring, (size_t)1 << w->rq.log_stride,
			   (size_t)1 << w->rq.log_size);
		break;
	case OP_SQ_RECORD:
		w->sq.producer = fuzz_u16(input);
		w->sq.last = (struct rnic_wqe_ctrl *)w->sq.ring;
		dp_sq_ring(&w->sq);
		break;
	case OP_RQ_RECORD:
		w->rq.producer = fuzz_u16(input);
		dp_rq_record(&w->rq);
		break;
	case OP_CQ_RECORD: cq_record(w, input); break;
	case OP_RING:
		if (w->sq.last != NULL)
			dp_sq_ring(&w->sq);
		break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(poller);
		break;
	case OP_REAP:
		reap(&w->tx_cq, (flags & 0x10) != 0);
		reap(&w->rx_cq, (flags & 0x10) != 0);
		break;
	case OP_BAR: bar(w, input); break;
	case OP_SQ_STATE:
		n = fuzz_u8(input);
		if (dp_sq_modify(&w->sq, n & 3, n >> 2 & 3) == 0 &&
		    (n >> 2 & 3) == RNIC_WQ_STATE_RST)
			w->sq.producer = 0;
		break;
	case OP_RQ_STATE:
		n = fuzz_u8(input);
		if (dp_rq_modify(&w->rq, n & 3, n >> 2 & 3) == 0 &&
		    (n >> 2 & 3) == RNIC_WQ_STATE_RST)
			w->rq.producer = 0;
		break;
	case OP_UNMAP: unmap(w, fuzz_u8(input) % (ISLANDS + 6)); break;
	case OP_DESTROY_KEY:
		dp_destroy(&w->dp, RNIC_CMD_DESTROY_MKEY, w->keys[fuzz_u8(input) % KEYS] >> 8);
		break;
	case OP_MTU: mtu(w, fuzz_u16(input)); break;
	case OP_FILL: fill(w, input); break;
	case OP_OFFLOADS: offloads(w, input); break;
	case OP_VPORT: vport(w, fuzz_u8(input)); break;
	default: break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned int budget = 256;
	struct world w;
	uint8_t flags;

	if (size < 3)
		return 0;
	flags = fuzz_u8(&input);
	world_open(&w, flags, fuzz_u8(&input));
	while (input.left > 0 && budget-- > 0)
		operation(&w, &input, flags);
	for (budget = 0; budget < 16; budget++)
		softrnic_poll(poller);
	world_close(&w);
	return 0;
}

/* ---- Seeds: traffic, in each shape of world ---- */

static void
put_segment(struct fuzz_seed *seed, unsigned int island, enum key key, uint16_t offset,
	    uint16_t bytes)
{
	fuzz_put_u8(seed, (uint8_t)(island | (unsigned int)key << 4));
	fuzz_put_u16(seed, offset);
	fuzz_put_u16(seed, bytes);
}

static void
put_op(struct fuzz_seed *seed, enum op op, uint8_t operand)
{
	fuzz_put_u8(seed, (uint8_t)op);
	if (op != OP_RING && op != OP_REAP)
		fuzz_put_u8(seed, operand);
}

static void
seed_traffic(const char *folder, uint8_t flags, uint8_t sizes, enum key key)
{
	static struct fuzz_seed seed;
	char name[64];
	unsigned int i;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	fuzz_put_u8(&seed, sizes);
	for (i = 0; i < 3; i++) {
		put_op(&seed, OP_POST, 2);
		put_segment(&seed, 5, key, 0, 64);
		put_segment(&seed, 3, KEY_WHOLE, 100, 8000);
	}
	put_op(&seed, OP_SEND, 0);
	fuzz_put_u8(&seed, 14);
	fuzz_put_u8(&seed, 2);
	put_segment(&seed, 5, key, 0, 700);
	put_segment(&seed, 2, KEY_WHOLE, 14, 200);
	put_op(&seed, OP_SEND, 1);
	fuzz_put_u8(&seed, 0);
	fuzz_put_u8(&seed, 2);
	put_segment(&seed, 7, KEY_WHOLE, 0, 60);
	put_segment(&seed, 5, key, 5, 90);
	put_op(&seed, OP_RING, 0);
	put_op(&seed, OP_POLL, 4);
	put_op(&seed, OP_REAP, 0);
	put_op(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RDY | RNIC_WQ_STATE_ERR << 2);
	put_op(&seed, OP_SQ_STATE, RNIC_WQ_STATE_ERR | RNIC_WQ_STATE_RST << 2);
	put_op(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RST | RNIC_WQ_STATE_RDY << 2);
	put_op(&seed, OP_UNMAP, 5);
	put_op(&seed, OP_POLL, 2);
	snprintf(name, sizeof(name), "traffic-%02x-%02x-%u", flags, sizes, (unsigned int)key);
	fuzz_seed_write(folder, name, &seed);
}

/* A ring that goes away under its queue, which then is flushed. */
static void
seed_gone(const char *folder, unsigned int island)
{
	static struct fuzz_seed seed;
	char name[64];

	seed.used = 0;
	fuzz_put_u8(&seed, DP_SQ_FLUSH | DP_SQ_MULTI_PACKET);
	fuzz_put_u8(&seed, 1);
	put_op(&seed, OP_POST, 1);
	put_segment(&seed, 5, KEY_FLAT, 0, 8000);
	put_op(&seed, OP_SEND, 2);
	fuzz_put_u8(&seed, 0);
	fuzz_put_u8(&seed, 0);
	put_op(&seed, OP_UNMAP, (uint8_t)island);
	put_op(&seed, OP_RING, 0);
	put_op(&seed, OP_POLL, 15);
	put_op(&seed, OP_SQ_STATE, RNIC_WQ_STATE_ERR | RNIC_WQ_STATE_RST << 2);
	put_op(&seed, OP_SQ_STATE, RNIC_WQ_STATE_RST | RNIC_WQ_STATE_RDY << 2);
	/* The receiver has met an error by now, if it is its ring that is gone. */
	put_op(&seed, OP_SEND, 0);
	fuzz_put_u8(&seed, 0);
	fuzz_put_u8(&seed, 1);
	put_segment(&seed, 5, KEY_FLAT, 0, 100);
	put_op(&seed, OP_RING, 0);
	put_op(&seed, OP_POLL, 15);
	put_op(&seed, OP_RQ_STATE, RNIC_WQ_STATE_ERR | RNIC_WQ_STATE_RST << 2);
	put_op(&seed, OP_RQ_STATE, RNIC_WQ_STATE_RST | RNIC_WQ_STATE_RDY << 2);
	put_op(&seed, OP_POST, 1);
	put_segment(&seed, 5, KEY_FLAT, 0, 8000);
	put_op(&seed, OP_SEND, 0);
	fuzz_put_u8(&seed, 0);
	fuzz_put_u8(&seed, 1);
	put_segment(&seed, 5, KEY_FLAT, 0, 100);
	put_op(&seed, OP_RING, 0);
	put_op(&seed, OP_POLL, 15);
	snprintf(name, sizeof(name), "gone-%u", island);
	fuzz_seed_write(folder, name, &seed);
}

/* Frames with headers of every kind, whole and cut short. */
static void
seed_headers(const char *folder)
{
	static const uint8_t
		headers[][64] = {
			{ 2,  0,    0, 0, 0,  1, 2, 0, 0,    0,	   0,	 2,   0x08,
			  0,  0x45, 0, 0, 40, 0, 0, 0, 0,    64,   17,	 0,   0,
			  10, 0,    0, 1, 10, 0, 0, 2, 0x12, 0xb7, 0x12, 0xb7 },
			{ 2, 0, 0,  0, 0, 1, 2,	 0, 0, 0, 0,  2, 0x08, 0, 0x46, 0, 0, 40, 0, 0,
			  0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0,    2, 1,	1, 1, 1,  0, 80 },
			{ 2,	0,    0,    0, 0, 1, 2, 0,  0,	0,  0,	 2,
			  0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 17, 64, 0xfe },
			{ 1,	0, 0, 0, 0,    1, 2,	0, 0, 0,  0, 2, 0x88, 0xa8, 0,	1,
			  0x81, 0, 0, 2, 0x08, 0, 0x45, 0, 0, 40, 0, 0, 0x20, 1,    64, 6 },
			{ 255, 255, 255,  255,	255,  255, 2, 0, 0, 0,	0, 2,  0x81, 0,
			  0,   1,   0x86, 0xdd, 0x60, 0,   0, 0, 0, 40, 6, 64, 0xfe },
		};
	static const uint16_t lengths[] = { 1, 13, 14, 15, 18, 33, 34, 53, 54, 57, 58, 64 };
	static struct fuzz_seed seed;
	char name[64];
	unsigned int i, j;

	for (i = 0; i < 2 * sizeof(headers) / sizeof(headers[0]); i++) {
		seed.used = 0;
		fuzz_put_u8(&seed, 0);
		/* Each also from memory that may change meanwhile, to a vport that looks at addresses. */
		fuzz_put_u8(&seed, i & 1 ? 0xc2 : 0x82);
		if (i & 1)
			put_op(&seed, OP_VPORT, (uint8_t)(i << 3));
		fuzz_put(&seed, (uint8_t[]){ OP_FILL, 0, 0, 64 }, 4);
		fuzz_put(&seed, headers[i / 2], 64);
		for (j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			put_op(&seed, OP_POST, 1);
			put_segment(&seed, 5, KEY_WHOLE, 0, 8000);
			put_op(&seed, OP_SEND, 0);
			fuzz_put_u8(&seed, 0);
			fuzz_put_u8(&seed, lengths[j] > 20 ? 2 : 1);
			if (lengths[j] > 20)
				put_segment(&seed, 0, KEY_WHOLE, 0, 20);
			put_segment(&seed, 0, KEY_WHOLE, lengths[j] > 20 ? 20 : 0,
				    lengths[j] > 20 ? lengths[j] - 20 : lengths[j]);
			put_op(&seed, OP_RING, 0);
			put_op(&seed, OP_POLL, 1);
		}
		snprintf(name, sizeof(name), "headers-%u", i);
		fuzz_seed_write(folder, name, &seed);
	}
}

static void
put_offloads(struct fuzz_seed *seed, uint8_t what, uint8_t cs_flags, uint16_t mss, uint16_t size)
{
	put_op(seed, OP_OFFLOADS, what);
	fuzz_put_u8(seed, cs_flags);
	fuzz_put_u16(seed, mss);
	fuzz_put_u16(seed, size);
	put_op(seed, OP_RING, 0);
	put_op(seed, OP_POLL, 2);
}

/* A tag and checksums for the frame of an island, then a large send whose headers are the same. */
static void
seed_offloads(const char *folder)
{
	static const uint8_t headers[][64] = {
		{ 2, 0,	 0, 0,	0, 1, 2,  0, 0, 0, 0,  2, 0x08, 0, 0x45, 0,
		  0, 50, 0, 1,	0, 0, 64, 6, 0, 0, 10, 0, 0,	1, 10,	 0,
		  0, 2,	 0, 80, 0, 9, 0,  0, 0, 7, 0,  0, 0,	1, 0x50, 0x19 },
		{ 2, 0,	 0,  0, 0, 1,  2, 0, 0, 0,  0, 2, 0x08, 0, 0x45, 0, 0, 50, 0,  1, 0,
		  0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,	0, 80,	 0, 9, 0,  30, 1, 1 },
		{ 2, 0, 0, 0,	 0,    1,    2, 0, 0, 0, 0, 2,	0x81,
		  0, 0, 7, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 17, 64 },
	};
	static struct fuzz_seed seed;
	char name[64];
	unsigned int i;

	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		seed.used = 0;
		fuzz_put_u8(&seed, DP_SQ_FLUSH);
		fuzz_put_u8(&seed, 0x02);
		fuzz_put(&seed, (uint8_t[]){ OP_FILL, 0, 0, 64 }, 4);
		fuzz_put(&seed, headers[i], 64);
		for (unsigned int post = 0; post < 6; post++) {
			put_op(&seed, OP_POST, 1);
			put_segment(&seed, 5, KEY_WHOLE, 0, 8000);
		}
		for (unsigned int tag = 0; tag < 2; tag++) {
			put_op(&seed, OP_SEND, 0);
			fuzz_put_u8(&seed, 0);
			fuzz_put_u8(&seed, 1);
			put_segment(&seed, 0, KEY_WHOLE, 0, 64);
			put_offloads(&seed, 2, RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM, 0,
				     (uint16_t)(RNIC_WQE_ETH_INSERT_VLAN | tag));
		}
		/* Behind the two of one WQEBB each: size and header stand at byte 28 of the third. */
		put_op(&seed, OP_SEND, 0);
		fuzz_put_u8(&seed, 54);
		fuzz_put_u8(&seed, 1);
		put_segment(&seed, 5, KEY_WHOLE, 0, 3000);
		fuzz_put(&seed, (uint8_t[]){ OP_SQ_BYTES, 2, 7, 56, 0, 54 }, 6);
		fuzz_put(&seed, headers[i], 54);
		put_offloads(&seed, 1, RNIC_WQE_ETH_L3_CSUM, 1000, 0);
		snprintf(name, sizeof(name), "offloads-%u", i);
		fuzz_seed_write(folder, name, &seed);
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *folder = getenv("FUZZ_SEEDS");
	unsigned int i;

	(void)argc;
	(void)argv;
	rte_log_set_level((uint32_t)softrnic_logtype,
			  getenv("FUZZ_LOG") != NULL ? RTE_LOG_DEBUG : RTE_LOG_EMERG);
	must(softrnic_poller_create(&poller) == 0);
	if (folder == NULL)
		return 0;
	for (i = 0; i < 8; i++)
		seed_traffic(folder, (uint8_t)(1u << i | DP_SQ_MULTI_PACKET | DP_SQ_RLKY),
			     (uint8_t)(2 | i << 3), (enum key)(i % KEYS));
	for (i = 0; i < ISLANDS + 5; i++)
		seed_gone(folder, i);
	seed_headers(folder);
	seed_offloads(folder);
	exit(0);
}
