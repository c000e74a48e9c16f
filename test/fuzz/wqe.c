/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: queues of a driver that is the input. Rings, records and doorbells get its bytes; the memory that the
 * device may reach is in islands of exact length, everything between them is poisoned.
 *
 *   byte 0    bits 0..2: the SQ's flags; 3: 128-byte CQEs; 4: a collapsed CQ; 5: ignores overruns; 6: a pair wire, not
 *             a loop; 7: the wire has faults
 *   byte 1    bit 7: flow tables that look at all headers, and a hash over queues; 6: memory is foreign; bits 0..2: the
 *             RQ's stride, 16 to 512 bytes; 6 and 7: as 0 and 1, and the times of frames are UTC; 3..5: log of the CQ's size,
 *             of which the last three stand for compressed completions, of sums where the CQ ignores overruns
 *   then operations, each: u8 enum wqe_op, its operands
 */

#include "driver/vport.h"
#include "wqe.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"
#include "softrnic/memory/tpt.h"
#include "prm/init_seg.h"

const uint32_t island_bytes[ISLANDS] = { 64, 1, 1514, 9000, 4096, 8192, 300, 60 };

#define OTHERS 6 /* that can be unmapped beside the islands */

static struct softrnic_poller *poller;

static uint32_t
key_create(struct dp *dp, const struct wqe_key_conf *conf)
{
	uint32_t key = wqe_key_create(dp, conf);

	must(key != 0);
	return key;
}

static void
keys_create(struct world *w, struct dp *dp)
{
	struct wqe_key_conf flat = {
		.mode = RNIC_MKEY_MTT, .start = w->islands[5], .length = 8192, .write = true
	};
	struct wqe_key_conf list = {
		.mode = RNIC_MKEY_KLM, .start = w->islands[5], .length = 4000, .write = true
	};
	const struct wqe_key_conf all = { .mode = RNIC_MKEY_PA, .write = true };

	w->keys[KEY_WHOLE] = dp->lkey;
	w->keys[KEY_FLAT] = key_create(dp, &flat);
	flat.write = false;
	w->keys[KEY_READ] = key_create(dp, &flat);
	list.count = 4;
	list.keys[0] = list.keys[2] = w->keys[KEY_FLAT];
	list.keys[1] = list.keys[3] = w->keys[KEY_WHOLE];
	w->keys[KEY_KLM] = key_create(dp, &list);
	w->keys[KEY_PA] = key_create(dp, &all);
	list.length = 2000;
	list.count = 2;
	list.keys[0] = list.keys[1] = w->keys[KEY_KLM];
	w->keys[KEY_NESTED] = key_create(dp, &list);
	w->keys[KEY_RESERVED] = SOFTRNIC_RESERVED_LKEY;
}

/* Two tables: the first looks at types and ports, the second at addresses; what they have not goes on. */
static void
steer_deep(struct dp_rq *rq)
{
	struct dp *dp = rq->dp;
	struct rnic_flow_destination to[2] = { drv_to_tir(wqe_tir_create(rq, false, 0)) };
	struct drv_fte types[] = {
		{ { DRV_IS(ETHERTYPE, 0x0800), DRV_IS(UDP_DPORT, 4791) } },
		{ { DRV_IS(ETHERTYPE, 0x86dd), DRV_IS(UDP_DPORT, 4791) }, to, 2, .tag = 7 },
	};
	struct drv_fte rest = { .to = to, .count = 1, .tag = 1 };
	uint32_t second;

	must(drv_table_of(&dp->drv, 1, 0, &rest, 1, &second) == 0);
	must(drv_table_of(&dp->drv, 0, second, types, 2, &dp->root) == 0);
	to[1] = drv_to_table(second);
	must(drv_ftes_set(&dp->drv, types, 2) == 0);
	must(drv_fte_set(&dp->drv, &rest) == 0);
	must(drv_root_set(&dp->drv, dp->root) == 0);
}

static void
world_open(struct world *w, uint8_t flags, uint8_t sizes)
{
	struct softrnic_conf conf = { .name = "fuzz0", .seed = 1 };
	struct dp_cq_conf cq_conf = { .log_size = 3u + (sizes >> 3 & 7) % 5, .uar = 1 };
	const bool utc = (sizes & 7) > 5;
	struct dp *receiver = &w->dp;
	unsigned int i;

	memset(w, 0, sizeof(*w));
	conf.like = utc ? "realtime" : NULL;
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
	w->dp.ts_format = receiver->ts_format = utc ? RNIC_TS_FORMAT_REAL_TIME : 0;
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
	cq_conf.compressed = !cq_conf.collapsed && (sizes >> 3 & 7) > 4;
	cq_conf.format = cq_conf.ignore_overrun ? RNIC_MINI_CQE_CHECKSUM : RNIC_MINI_CQE_HASH;
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

/*
 * A segment: u8 island (bits 2..0) and key (6..4), u16 offset, u16 bytes. Bit 7: inline, bit 3: an address as it is.
 * far: of the receiver, who has one key when it is the far end.
 */
static void
segment(struct world *w, struct fuzz_input *input, struct rnic_wqe_data *seg, bool far)
{
	uint8_t what = fuzz_u8(input), *island = w->islands[what & 7];
	uint16_t offset = fuzz_u16(input), bytes = fuzz_u16(input);
	uint32_t key = w->keys[(what >> 4 & 7) % KEYS];
	uint64_t address = (uintptr_t)island + offset;

	if ((what >> 4 & 7) == KEY_PA || (what >> 4 & 7) == KEY_RESERVED)
		address = dp_iova(&w->dp, island) + offset;
	if ((what & 8) != 0)
		address = -(uint64_t)offset;
	if (w->pair && far) {
		address = (uintptr_t)w->other.memory + (size_t)(island - w->dp.memory) + offset;
		key = w->other.lkey;
	}
	seg->byte_count = rnic_cpu_to_be32((what & 0x80 ? RNIC_WQE_INLINE : 0) | bytes);
	seg->lkey = rnic_cpu_to_be32(key);
	seg->address = rnic_cpu_to_be64(address);
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
		segment(w, input, dp_wqe_at(&w->sq, ds + i), false);
}

static void
offloads(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), cs_flags = fuzz_u8(input);
	uint16_t mss = fuzz_u16(input), size = fuzz_u16(input);
	struct rnic_wqe_eth *eth;
	uint32_t first;

	if ((what & 2) != 0)
		wqe_rq_modify(w, RNIC_MODIFY_RQ_VSD, 0, true);
	if (w->sq.last == NULL)
		return;
	eth = dp_wqe_at(&w->sq, 1);
	eth->cs_flags = cs_flags;
	eth->mss = rnic_cpu_to_be16(mss);
	if (size != 0)
		eth->inline_header_size = rnic_cpu_to_be16(size);
	if ((what & 4) != 0)
		w->sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(w->sq.sqn, 1));
	if ((what & 8) != 0)
		w->sq.last->fm_ce_se = RNIC_WQE_CE_ON_ERROR;
	first = rnic_be32_to_cpu(w->sq.last->opmod_idx_opcode);
	if ((what & 1) != 0)
		w->sq.last->opmod_idx_opcode = rnic_cpu_to_be32((first & ~0xffu) | RNIC_WQE_LSO);
}

/* Data segments, at most `room` of them. */
static void
post_segments(struct world *w, struct fuzz_input *input, struct rnic_wqe_data *seg, uint32_t room)
{
	uint32_t count = fuzz_u8(input) % 9, i;

	for (i = 0; i < room && i < count; i++)
		segment(w, input, &seg[i], true);
	if (i < room) {
		seg[i].byte_count = rnic_cpu_to_be32(0);
		seg[i].lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
	}
}

static void
post_wqe(struct world *w, struct fuzz_input *input)
{
	uint32_t slot = w->rq.producer & ((1u << w->rq.log_size) - 1);

	post_segments(w, input,
		      (struct rnic_wqe_data *)(w->rq.ring + ((size_t)slot << w->rq.log_stride)),
		      1u << (w->rq.log_stride - 4));
	w->rq.producer++;
	dp_rq_record(&w->rq);
}

static void
post_pooled(struct world *w, struct fuzz_input *input)
{
	struct dp_rq *rq = &w->pool.rq;
	uint32_t mask = (1u << rq->log_size) - 1, slot = rq->producer & mask;
	struct rnic_wqe_next *next;
	uint8_t *wqe;

	if (rq->ring == NULL)
		return;
	wqe = rq->ring + ((size_t)slot << rq->log_stride);
	if (!w->pool.cyclic) {
		next = (struct rnic_wqe_next *)wqe;
		next->next_wqe_index = rnic_cpu_to_be16((uint16_t)((slot + 1) & mask));
	}
	post_segments(w, input, (struct rnic_wqe_data *)wqe + !w->pool.cyclic,
		      (1u << (rq->log_stride - 4)) - !w->pool.cyclic);
	rq->producer++;
	dp_rq_record(rq);
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

/* Behind the islands: rings and records, of which those of the far end of a pair stay. */
static void
unmap(struct world *w, unsigned int which)
{
	const struct dp_rq *rq = &w->rq, *pool = &w->pool.rq;
	const struct {
		void *at;
		uint32_t bytes;
	} others[OTHERS] = {
		{ w->sq.ring, RNIC_WQEBB_BYTES << w->sq.log_size },
		{ w->tx_cq.ring, w->tx_cq.bytes << w->tx_cq.log_size },
		{ w->dp.eqes, w->dp.eq_entries * sizeof(struct rnic_eqe) },
		{ w->sq.dbrec, sizeof(*w->sq.dbrec) },
		{ w->pair ? NULL : rq->ring, 1u << (rq->log_size + rq->log_stride) },
		{ w->pair ? NULL : pool->ring, 1u << (pool->log_size + pool->log_stride) },
	};

	if (which < ISLANDS)
		must(fuzz_unmap(&w->gone, &w->dp, w->islands[which], island_bytes[which]));
	else
		must(fuzz_unmap(&w->gone, &w->dp, others[which - ISLANDS].at,
				others[which - ISLANDS].bytes));
}

static void
sq_record(struct world *w, uint16_t counter)
{
	w->sq.producer = counter;
	w->sq.last = (struct rnic_wqe_ctrl *)w->sq.ring;
	dp_sq_ring(&w->sq);
}

static void
cq_record(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input);
	struct dp_cq *cq = what & 1 ? &w->rx_cq : &w->tx_cq;

	cq->dbrec->consumer_index.raw = fuzz_u32(input);
	cq->dbrec->arm.raw = fuzz_u32(input);
	if ((what & 2) != 0)
		dp_cq_arm(cq, what >> 2, (what & 0x80) != 0);
}

static void
bar(struct world *w, struct fuzz_input *input)
{
	uint64_t offset = (uint64_t)RNIC_FIRST_UAR * RNIC_UAR_PAGE_BYTES + fuzz_u16(input);
	uint8_t bytes = fuzz_u8(input), data[8];

	fuzz_bytes(input, data, sizeof(data));
	softrnic_bar_write(w->dp.dev, offset, data, bytes & 0xf);
}

/* Addresses of headers that seeds know. */
static void
vport(struct world *w, uint8_t what)
{
	const uint64_t macs[] = { what & 0x20 ? UINT64_C(0x010000000001) : UINT64_C(0x020000000001),
				  7 };

	drv_vport_modify(&w->rq.dp->drv, &(struct drv_vport){ .select = DRV_VPORT_FILTER,
							      .promisc_uc = (what & 1) != 0,
							      .promisc_mc = (what & 2) != 0,
							      .promisc_all = (what & 4) != 0,
							      .list = what >> 3 & 3,
							      .count = 2,
							      .entries = macs });
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
headers(struct world *w, bool inlined)
{
	softrnic_lock(poller);
	w->dp.dev->conf.inline_l2 = inlined;
	softrnic_unlock(poller);
}

/* The queue's state, to bits 3..2: reset, it begins anew. */
static void
changed(uint16_t *producer, uint8_t states)
{
	if ((states >> 2 & 3) == RNIC_WQ_STATE_RST)
		*producer = 0;
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
	case OP_SQ_RECORD: sq_record(w, fuzz_u16(input)); break;
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
		if (dp_sq_modify(&w->sq, n & 3, n >> 2 & 3) == 0)
			changed(&w->sq.producer, n);
		break;
	case OP_RQ_STATE:
		n = fuzz_u8(input);
		if (dp_rq_modify(&w->rq, n & 3, n >> 2 & 3) == 0)
			changed(&w->rq.producer, n);
		break;
	case OP_UNMAP: unmap(w, fuzz_u8(input) % (ISLANDS + OTHERS)); break;
	case OP_DESTROY_KEY:
		dp_destroy(&w->dp, RNIC_CMD_DESTROY_MKEY, w->keys[fuzz_u8(input) % KEYS] >> 8);
		break;
	/* Refused, if the port cannot have it. */
	case OP_MTU: drv_mtu_set(&w->rq.dp->drv, fuzz_u16(input)); break;
	case OP_FILL: fill(w, input); break;
	case OP_OFFLOADS: offloads(w, input); break;
	case OP_VPORT: vport(w, fuzz_u8(input)); break;
	case OP_POOL: wqe_pool_create(w, fuzz_u8(input)); break;
	case OP_POOL_POST: post_pooled(w, input); break;
	case OP_CREATE: wqe_queue_create(w, input); break;
	case OP_DESTROY: wqe_queue_destroy(w, input); break;
	case OP_MODIFY: wqe_queue_modify(w, input); break;
	case OP_KEY: wqe_key_change(w, input); break;
	case OP_HEADERS: headers(w, (fuzz_u8(input) & 1) != 0); break;
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

void
fuzz_begin(void)
{
	fuzz_device_quiet();
	must(softrnic_poller_create(&poller) == 0);
}
