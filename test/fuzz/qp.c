/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: queue pairs of drivers that are the input. Two connected ones, on a loop wire or a pair wire; rings, records,
 * keys, maps and states get its bytes. The memory that the devices may reach is in islands, everything between them is
 * poisoned, and each access of the devices is audited.
 *
 *   byte 0    bit 0: a pair wire, not a loop; 1: the wire has faults; 2: the far end takes from a pool; 3: the reserved key is
 *             allowed; 4: IPv6; 6: packets go as bytes; bits 5..7: service type and MTU. XRC's far end always takes from a pool
 *   then operations, each: u8 enum op, its operands
 */

#include "driver/qp.h"
#include "driver/rmp.h"
#include "driver/xrc_srq.h"
#include "qp_world.h"
#include "fuzz_device.h"
#include "softrnic/base/poller.h"
#include "softrnic/event/eq.h"
#include "softrnic/memory/tpt.h"

enum op {
	/*
	 * u8 what, u8 fm_ce_se, u8 segments, then each; a remote segment and operands where the opcode has them, of XRC
	 * in front of them u8: 0 names a pool that is none. Datagrams, if
	 * what is less than 0xf0: once more what and fm_ce_se, which byte of the vector is another, and segments
	 */
	OP_SEND,
	OP_RECV,	/* u8 segments, then each: a receive WQE of the far end */
	OP_SQ_BYTES,	/* u8 WQEBB, u8 offset, u8 bytes, the bytes */
	OP_RQ_BYTES,	/* the same, of the far end's receive ring, or its pool */
	OP_SQ_RECORD,	/* u16: the counter as it is written, and a doorbell */
	OP_RQ_RECORD,	/* u16 */
	OP_RING,	/* the send queue, as a good driver does it */
	OP_POLL,	/* u8 times */
	OP_REAP,	/* take all completions and events */
	OP_STATE,	/* u8 which end and which change */
	OP_CONNECT,	/* both anew, from RST */
	OP_UNMAP,	/* u8 which island goes; what went before comes back */
	OP_DESTROY_KEY, /* u8 */
	OP_MODERATE,	/* u8: moderate or unmoderate the CQ of the near end */
	OP_QUERY,	/* u8 which end: what has become of its queue pair */
	OP_LIMIT, /* u8: receives of the pool below which it tells of them; of XRC 255: another pool in its place */
	OP_LAST,
};

#define ISLANDS 6
static const uint32_t island_bytes[ISLANDS] = { 64, 8, 1024, 9000, 4096, 300 };

#define LOG_SQ	   4
#define LOG_RQ	   3
#define LOG_STRIDE 6
#define POOLS_MAX  16  /* each has memory of its own, of which a host has so much */
#define WQE_MAX	   63u /* units of 16 bytes */

static const uint8_t group[16] = { 0xff, 0x15, [15] = 9 };
static const uint8_t group_mac[6] = { 0x33, 0x33, 0, 0, 0, 9 };

enum key {
	KEY_WHOLE,
	KEY_READ, /* may not be written by */
	KEY_PART, /* of one island */
	KEY_OTHER_PD,
	KEY_RESERVED,
	KEY_NONE,
	KEYS,
};

struct world {
	struct qw qw;
	struct dp_cq cqs[4]; /* of a: send, receive; of b */
	struct qw_qp a, b;
	struct qw_srq srq;
	bool pool, datagrams, xrc;
	uint32_t xrcd, pools; /* pools: that came in the place of another */
	struct qw_attr attr;
	uint8_t *islands[2][ISLANDS]; /* of a's end, of b's */
	uint32_t keys[2][KEYS];
	struct fuzz_gone gone;
};

static void
end_open(struct world *w, unsigned int index)
{
	struct qw_end *end = w->qw.ends[index];
	struct qw_key_conf conf = { .access = SOFTRNIC_REMOTE_READ };
	uint32_t *keys = w->keys[index];

	for (unsigned int i = 0; i < ISLANDS; i++) {
		w->islands[index][i] =
			dp_alloc(&end->dp, island_bytes[i], island_bytes[i] >= 4096 ? 4096 : 64);
		must(w->islands[index][i] != NULL);
		memset(w->islands[index][i], (int)i, island_bytes[i]);
	}
	keys[KEY_WHOLE] = end->key;
	keys[KEY_READ] = qw_key(end, &conf);
	conf.access |= SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_WRITE | SOFTRNIC_REMOTE_ATOMIC;
	conf.pd = dp_create_simple(&end->dp, RNIC_CMD_ALLOC_PD);
	keys[KEY_OTHER_PD] = qw_key(end, &conf);
	conf.pd = 0;
	conf.start = w->islands[index][4];
	conf.length = island_bytes[4];
	keys[KEY_PART] = qw_key(end, &conf);
	keys[KEY_RESERVED] = SOFTRNIC_RESERVED_LKEY;
	keys[KEY_NONE] = 0xbad00;
}

static void
world_connect(struct world *w)
{
	w->a.sq.producer = w->b.sq.producer = w->a.rq.producer = w->b.rq.producer = 0;
	dp_sq_record(&w->a.sq);
	dp_sq_record(&w->b.sq);
	dp_rq_record(&w->b.rq);
	must(qw_qp_modify(&w->a, RNIC_CMD_2RST_QP, NULL, &w->attr) == 0);
	must(qw_qp_modify(&w->b, RNIC_CMD_2RST_QP, NULL, &w->attr) == 0);
	qw_connect(&w->a, &w->b, &w->attr);
}

static void
xrc_pool_make(struct world *w)
{
	const struct qw_xrc_conf conf = { .xrcd = w->xrcd,
					  .log_size = LOG_RQ,
					  .log_stride = LOG_STRIDE,
					  .limit = 2,
					  .cq = &w->cqs[3] };

	must(qw_xrc_srq_try(w->qw.ends[1], &w->srq, &conf) == 0);
}

/* Where the far end's receive WQEs are, if not in a ring of its own. */
static void
pool_open(struct world *w, struct qw_qp_conf *far)
{
	if (w->xrc) {
		w->xrcd = dp_create_simple(&w->qw.ends[1]->dp, RNIC_CMD_ALLOC_XRCD);
		far->xrcd = w->xrcd;
		far->no_sq = far->no_rq = far->bare = true;
		xrc_pool_make(w);
	} else if (w->pool) {
		qw_srq_create(w->qw.ends[1], &w->srq, LOG_RQ, LOG_STRIDE, 2);
		far->srq = &w->srq;
	}
}

static void
world_open(struct world *w, uint8_t flags)
{
	const struct dp_cq_conf cq = { .log_size = 6, .uar = 1 };
	struct qw_conf conf = { .pair = (flags & 0x01) != 0,
				.islands = true,
				.ipv6 = (flags & 0x10) != 0,
				.bytes = (flags & 0x40) != 0,
				.seed = 1 };
	/* The type, and how long packets are: RC has most lengths, the others the largest. */
	static const struct {
		enum rnic_qp_st st;
		enum rnic_qp_mtu mtu;
	} kinds[8] = {
		{ RNIC_QP_ST_RC, RNIC_QP_MTU_256 },  { RNIC_QP_ST_RC, RNIC_QP_MTU_512 },
		{ RNIC_QP_ST_RC, RNIC_QP_MTU_1024 }, { RNIC_QP_ST_RC, RNIC_QP_MTU_4096 },
		{ RNIC_QP_ST_UC, RNIC_QP_MTU_256 },  { RNIC_QP_ST_UD, RNIC_QP_MTU_1024 },
		{ RNIC_QP_ST_UD, RNIC_QP_MTU_4096 }, { RNIC_QP_ST_XRC, RNIC_QP_MTU_1024 },
	};
	struct qw_qp_conf qp = { .st = kinds[flags >> 5].st,
				 .log_sq = LOG_SQ,
				 .log_rq = LOG_RQ,
				 .log_stride = LOG_STRIDE,
				 .rlky = (flags & 0x08) != 0,
				 .uar = 1 };

	memset(w, 0, sizeof(*w));
	if ((flags & 0x02) != 0)
		conf.drop_ppm = conf.dup_ppm = conf.reorder_ppm = conf.corrupt_ppm = 100000;
	qw_open(&w->qw, &conf);
	for (unsigned int i = 0; i < 4; i++)
		must(dp_cq_create(&w->qw.ends[i / 2]->dp, &w->cqs[i], &cq) == 0);
	end_open(w, 0);
	end_open(w, 1);
	w->xrc = qp.st == RNIC_QP_ST_XRC;
	qp.send_cq = &w->cqs[0];
	qp.recv_cq = &w->cqs[1];
	qp.no_rq = w->xrc;
	must(qw_qp_create(w->qw.ends[0], &w->a, &qp) == 0);
	qp.send_cq = &w->cqs[2];
	qp.recv_cq = &w->cqs[3];
	w->pool = w->xrc || (flags & 0x04) != 0;
	pool_open(w, &qp);
	must(qw_qp_create(w->qw.ends[1], &w->b, &qp) == 0);
	w->attr = qw_attr();
	w->attr.mtu = kinds[flags >> 5].mtu;
	w->attr.psn = 0xfffff0;
	w->attr.timeout = 4; /* 65 us */
	w->attr.min_rnr_timer = 1;
	world_connect(w);
	w->datagrams = qp.st == RNIC_QP_ST_UD;
	if (w->datagrams)
		must(drv_mcg(&w->qw.ends[1]->dp.drv, RNIC_CMD_ATTACH_TO_MCG, w->b.qpn, group) == 0);
}

static void
world_close(struct world *w)
{
	softrnic_reset(w->qw.ends[0]->dp.dev);
	must(dp_stats(&w->qw.ends[0]->dp).objects == 0);
	must(w->qw.ends[0]->dp.dev->qps_memory == 0);
	/* It looks at what was audited. */
	qw_close(&w->qw);
}

/* A place in an island, which may lie over its end. */
static uint64_t
address(struct world *w, struct fuzz_input *input, unsigned int end, uint32_t *key)
{
	uint8_t what = fuzz_u8(input);
	uint16_t offset = fuzz_u16(input);
	uint64_t at = (uintptr_t)w->islands[end][(what & 7) % ISLANDS] + offset;

	*key = w->keys[end][(what >> 4 & 7) % KEYS];
	if (*key == SOFTRNIC_RESERVED_LKEY)
		at = dp_iova(&w->qw.ends[end]->dp, (void *)(uintptr_t)at);
	return (what & 8) != 0 ? -(uint64_t)offset : at;
}

/* A segment: its place and key; u16 bytes, of which bit 15 makes it inline. */
static void
segment(struct world *w, struct fuzz_input *input, unsigned int end, struct rnic_wqe_data *seg)
{
	uint32_t key;
	uint64_t at = address(w, input, end, &key);
	uint16_t bytes = fuzz_u16(input);

	seg->byte_count =
		rnic_cpu_to_be32((bytes & 0x8000 ? RNIC_WQE_INLINE : 0) | (bytes & 0x7fff));
	seg->lkey = rnic_cpu_to_be32(key);
	seg->address = rnic_cpu_to_be64(at);
}

/* To b, or to the group that it is in; one byte of the vector may be another. */
static void
datagram_wqe(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), fm_ce_se = fuzz_u8(input), count = what & 7, at;
	struct rnic_wqe_av av = qw_av(w->qw.ends[1], w->b.qpn, QW_QKEY);

	if ((what & 0x10) != 0) {
		av.dqp = rnic_cpu_to_be32(RNIC_WQE_AV_EXTENDED | 0xffffff);
		memcpy(av.rgid, group, sizeof(av.rgid));
		memcpy(av.rmac, group_mac, sizeof(av.rmac));
	}
	if ((what & 0x20) != 0) {
		at = fuzz_u8(input) % sizeof(av);
		((uint8_t *)&av)[at] ^= fuzz_u8(input);
	}
	dp_wqe(&w->a.sq, (what & 8) != 0 ? RNIC_WQE_SEND_IMM : RNIC_WQE_SEND, 4 + count, fm_ce_se);
	memcpy(dp_wqe_at(&w->a.sq, 1), &av, sizeof(av));
	for (uint32_t i = 0; i < count; i++)
		segment(w, input, 0, dp_wqe_at(&w->a.sq, 4 + i));
}

static void
send_wqe(struct world *w, struct fuzz_input *input)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND,	RNIC_WQE_SEND_IMM,
					   RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_WRITE_IMM,
					   RNIC_WQE_RDMA_READ,	RNIC_WQE_ATOMIC_CS,
					   RNIC_WQE_ATOMIC_FA,	RNIC_WQE_NOP };
	uint8_t opcode = fuzz_u8(input), fm_ce_se = fuzz_u8(input), count = fuzz_u8(input) % 62;
	struct rnic_wqe_atomic *operands;
	struct rnic_wqe_raddr *raddr;
	const uint32_t more = w->xrc ? 1 : 0;
	uint32_t ds = 1, key;

	if (w->datagrams && opcode < 0xf0) {
		datagram_wqe(w, input);
		return;
	}
	if (opcode < 0xf8)
		opcode = opcodes[opcode % sizeof(opcodes)];
	if (opcode >= RNIC_WQE_RDMA_WRITE && opcode != RNIC_WQE_SEND && opcode != RNIC_WQE_SEND_IMM)
		ds = opcode == RNIC_WQE_ATOMIC_CS || opcode == RNIC_WQE_ATOMIC_FA ? 3 : 2;
	ds += more;
	if (ds + count > WQE_MAX)
		count = 1;
	dp_wqe(&w->a.sq, opcode, ds + count, fm_ce_se);
	if (w->xrc)
		((struct rnic_wqe_xrc *)dp_wqe_at(&w->a.sq, 1))->srqn =
			rnic_cpu_to_be32(fuzz_u8(input) != 0 ? w->srq.rmpn : 0);
	if (ds - more > 1) {
		raddr = dp_wqe_at(&w->a.sq, 1 + more);
		raddr->address = rnic_cpu_to_be64(address(w, input, 1, &key));
		raddr->rkey = rnic_cpu_to_be32(key);
	}
	if (ds - more > 2) {
		operands = dp_wqe_at(&w->a.sq, 2 + more);
		operands->swap_add = rnic_cpu_to_be64(fuzz_u16(input));
		operands->compare = rnic_cpu_to_be64(fuzz_u16(input));
	}
	for (uint32_t i = 0; i < count; i++)
		segment(w, input, 0, dp_wqe_at(&w->a.sq, ds + i));
}

static uint8_t *
recv_ring(struct world *w)
{
	return w->pool ? w->srq.ring : w->b.rq.ring;
}

static void
recv_wqe(struct world *w, struct fuzz_input *input)
{
	uint32_t slot = (w->pool ? w->srq.producer : w->b.rq.producer) & ((1u << LOG_RQ) - 1);
	uint32_t at = w->pool ? sizeof(struct rnic_wqe_next) : 0, count = fuzz_u8(input) % 5;
	uint8_t *wqe = recv_ring(w) + ((size_t)slot << LOG_STRIDE);
	struct rnic_wqe_data *seg;

	if (w->pool)
		((struct rnic_wqe_next *)wqe)->next_wqe_index =
			rnic_cpu_to_be16((slot + 1) & ((1u << LOG_RQ) - 1));
	for (; at < 1u << LOG_STRIDE; at += RNIC_WQE_DS_BYTES) {
		seg = (struct rnic_wqe_data *)(wqe + at);
		if (count == 0) {
			seg->byte_count = rnic_cpu_to_be32(0);
			seg->lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
			break;
		}
		segment(w, input, 1, seg);
		count--;
	}
	if (w->pool) {
		qw_srq_post(&w->srq, 1);
		return;
	}
	w->b.rq.producer++;
	dp_rq_record(&w->b.rq);
}

static void
ring_bytes(struct fuzz_input *input, uint8_t *ring, size_t stride, size_t count)
{
	size_t at = fuzz_u8(input) % count * stride + fuzz_u8(input), total = count * stride;

	for (uint8_t bytes = fuzz_u8(input); bytes > 0 && input->left > 0; bytes--, at++)
		ring[at % total] = fuzz_u8(input);
}

static void
recv_record(struct world *w, uint16_t counter)
{
	if (w->pool) {
		w->srq.producer = counter;
		qw_srq_post(&w->srq, 0);
		return;
	}
	w->b.rq.producer = counter;
	dp_rq_record(&w->b.rq);
}

static void
reap(struct world *w)
{
	const struct rnic_cqe *cqe;

	for (unsigned int i = 0; i < 4; i++) {
		while ((cqe = dp_cq_next(&w->cqs[i])) != NULL)
			must(RNIC_CQE_OPCODE(cqe->op_own) != RNIC_CQE_INVALID);
	}
	for (unsigned int i = 0; i < 2; i++) {
		struct dp *dp = &w->qw.ends[i]->dp;

		while (qw_event(w->qw.ends[i], NULL) != 0)
			;
		softrnic_lock(w->qw.poller);
		softrnic_eq_doorbell(dp->dev, dp->eqn << 24 | (dp->eq_consumer & 0xffffff), false);
		softrnic_unlock(w->qw.poller);
	}
}

static void
change_state(struct world *w, uint8_t what)
{
	static const uint16_t changes[] = { RNIC_CMD_2ERR_QP,	  RNIC_CMD_RTS2SQD_QP,
					    RNIC_CMD_SQD_RTS_QP,  RNIC_CMD_2RST_QP,
					    RNIC_CMD_RTS2RTS_QP,  RNIC_CMD_SQD2SQD_QP,
					    RNIC_CMD_SQERR2RTS_QP };

	/* Refused, if it is not in the state for it. */
	qw_qp_modify((what & 0x80) != 0 ? &w->b : &w->a, changes[what % 7], NULL, &w->attr);
}

static void
unmap(struct world *w, uint8_t what)
{
	const unsigned int end = what >> 7, which = (what & 0x7f) % (ISLANDS + 3);
	struct dp *dp = &w->qw.ends[end]->dp, *far = &w->qw.ends[1]->dp;
	struct qw_qp *qp = end != 0 ? &w->b : &w->a;

	if (which < ISLANDS)
		must(fuzz_unmap(&w->gone, dp, w->islands[end][which], island_bytes[which]));
	else if (which == ISLANDS)
		must(fuzz_unmap(&w->gone, dp, qp->sq.dbrec, sizeof(*qp->sq.dbrec)));
	else if (which == ISLANDS + 1 && w->pool)
		must(fuzz_unmap(&w->gone, far, w->srq.dbrec, sizeof(*w->srq.dbrec)));
	else
		fuzz_unmap(&w->gone, dp, NULL, 0);
}

static void
moderate(struct world *w, uint8_t what)
{
	struct rnic_modify_cq_in in = { 0 };

	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_CQN, w->cqs[0].cqn);
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_FIELD_SELECT,
			      RNIC_MODIFY_CQ_PERIOD | RNIC_MODIFY_CQ_MAX_COUNT);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_CQ_PERIOD, what & 0xf);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_CQ_MAX_COUNT, what >> 4);
	must(dp_command(w->cqs[0].dp, RNIC_CMD_MODIFY_CQ, 0, &in, sizeof(in), NULL, 0) == 0);
	dp_cq_arm(&w->cqs[0], what, (what & 1) != 0);
}

static void
query(struct world *w, uint8_t what)
{
	static uint8_t out[sizeof(struct rnic_query_qp_out) + 64 * sizeof(uint64_t)];
	const struct qw_qp *qp = (what & 0x80) != 0 ? &w->b : &w->a;

	must(drv_query(&qp->end->dp.drv, RNIC_CMD_QUERY_QP, qp->qpn, out, sizeof(out)) == 0);
}

/* Refused, if the pool is in error, or has not so many. */
static void
limit(struct world *w, uint8_t receives)
{
	struct drv *drv = &w->qw.ends[1]->dp.drv;

	if (w->xrc && receives == UINT8_MAX) {
		if (++w->pools > POOLS_MAX)
			return;
		must(drv_destroy(drv, RNIC_CMD_DESTROY_XRC_SRQ, w->srq.rmpn) == 0);
		xrc_pool_make(w);
	} else if (w->xrc) {
		drv_xrc_srq_arm(drv, w->srq.rmpn, receives);
	} else if (w->pool) {
		drv_rmp_limit_set(drv, w->srq.rmpn, receives);
	}
}

static void
operation(struct world *w, struct fuzz_input *input)
{
	uint8_t op = fuzz_u8(input) % OP_LAST, n;

	switch (op) {
	case OP_SEND: send_wqe(w, input); break;
	case OP_RECV: recv_wqe(w, input); break;
	case OP_SQ_BYTES: ring_bytes(input, w->a.sq.ring, RNIC_WQEBB_BYTES, 1u << LOG_SQ); break;
	case OP_RQ_BYTES: ring_bytes(input, recv_ring(w), 1u << LOG_STRIDE, 1u << LOG_RQ); break;
	case OP_SQ_RECORD:
		w->a.sq.producer = fuzz_u16(input);
		w->a.sq.last = (struct rnic_wqe_ctrl *)w->a.sq.ring;
		dp_sq_ring(&w->a.sq);
		break;
	case OP_RQ_RECORD: recv_record(w, fuzz_u16(input)); break;
	case OP_RING:
		if (w->a.sq.last != NULL)
			dp_sq_ring(&w->a.sq);
		break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 32; n > 0; n--)
			softrnic_poll(w->qw.poller);
		break;
	case OP_REAP: reap(w); break;
	case OP_STATE: change_state(w, fuzz_u8(input)); break;
	case OP_CONNECT: world_connect(w); break;
	case OP_UNMAP: unmap(w, fuzz_u8(input)); break;
	case OP_DESTROY_KEY:
		n = fuzz_u8(input);
		dp_destroy(&w->qw.ends[n >> 7]->dp, RNIC_CMD_DESTROY_MKEY,
			   w->keys[n >> 7][(n & 0x7f) % KEYS] >> 8);
		break;
	case OP_MODERATE: moderate(w, fuzz_u8(input)); break;
	case OP_QUERY: query(w, fuzz_u8(input)); break;
	case OP_LIMIT: limit(w, fuzz_u8(input)); break;
	default: break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned int budget = 256;
	struct world w;

	if (size < 2)
		return 0;
	world_open(&w, fuzz_u8(&input));
	while (input.left > 0 && budget-- > 0)
		operation(&w, &input);
	for (budget = 0; budget < 32; budget++)
		softrnic_poll(w.qw.poller);
	world_close(&w);
	return 0;
}

/* ---- Seeds: each operation, in each shape of world; then errors, and all of it anew ---- */

static void
put_place(struct fuzz_seed *seed, unsigned int island, enum key key, uint16_t offset)
{
	fuzz_put_u8(seed, (uint8_t)(island | (unsigned int)key << 4));
	fuzz_put_u16(seed, offset);
}

static void
seed_traffic(uint8_t flags)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	PUT(&seed, OP_LIMIT, 4);
	for (uint8_t i = 0; i < 4; i++) {
		PUT(&seed, OP_RECV, 2);
		put_place(&seed, 2, KEY_WHOLE, 0);
		fuzz_put_u16(&seed, 700);
		put_place(&seed, 3, KEY_WHOLE, 100);
		fuzz_put_u16(&seed, 8000);
	}
	for (uint8_t opcode = 0; opcode < 8; opcode++) {
		PUT(&seed, OP_SEND, opcode, RNIC_WQE_CE_ALWAYS, opcode == 7 ? 0 : 1);
		if (opcode >= 2 && opcode < 7)
			put_place(&seed, 4, KEY_PART, 0);
		if (opcode == 5 || opcode == 6) {
			fuzz_put_u16(&seed, 3);
			fuzz_put_u16(&seed, 4);
		}
		if (opcode == 7)
			continue;
		put_place(&seed, 3, KEY_WHOLE, 0);
		fuzz_put_u16(&seed, opcode == 5 || opcode == 6 ? 8 : 3000);
	}
	PUT(&seed, OP_RING, OP_POLL, 31, OP_QUERY, 0, OP_QUERY, 0x80, OP_REAP, OP_MODERATE, 0x44);
	/* Inline, and a key that may not. */
	PUT(&seed, OP_SEND, 0, RNIC_WQE_CE_ALWAYS | RNIC_WQE_SE, 1);
	put_place(&seed, 0, KEY_NONE, 0);
	fuzz_put_u16(&seed, 0x8000 | 12);
	PUT(&seed, OP_RING, OP_POLL, 31, OP_STATE, 1, OP_STATE, 2, OP_SEND, 2, 0, 1);
	put_place(&seed, 4, KEY_READ, 0);
	put_place(&seed, 0, KEY_WHOLE, 0);
	fuzz_put_u16(&seed, 64);
	PUT(&seed, OP_RING, OP_POLL, 31, OP_REAP, OP_CONNECT, OP_UNMAP, 3, OP_POLL, 3);
	fuzz_seed_write(&seed, "traffic-%02x", flags);
}

/* To the peer, to a group, and one that leads nowhere; then on from SQER. */
static void
seed_datagrams(uint8_t flags)
{
	static struct fuzz_seed seed;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	for (uint8_t i = 0; i < 6; i++) {
		PUT(&seed, OP_RECV, 1);
		put_place(&seed, 3, KEY_WHOLE, 0);
		fuzz_put_u16(&seed, i == 0 ? 60 : 8000);
	}
	for (uint8_t what = 0; what < 0x20; what += 8) {
		PUT(&seed, OP_SEND, 0, 0, 0, what | 1, RNIC_WQE_CE_ALWAYS);
		put_place(&seed, 3, KEY_WHOLE, 0);
		fuzz_put_u16(&seed, 200);
	}
	PUT(&seed, OP_SEND, 0, 0, 0, 0, RNIC_WQE_CE_ALWAYS, OP_RING, OP_POLL, 31, OP_REAP);
	/* Another Q_Key; no header; a length that is too much. */
	PUT(&seed, OP_SEND, 0, 0, 0, 0x20, RNIC_WQE_CE_ALWAYS, 3, 1, OP_RING, OP_POLL, 31);
	PUT(&seed, OP_SEND, 0, 0, 0, 0x20, RNIC_WQE_CE_ALWAYS, 28, 0x40, OP_RING, OP_POLL, 31);
	PUT(&seed, OP_SEND, 0, 0, 0, 0, RNIC_WQE_CE_ALWAYS, OP_RING, OP_POLL, 31, OP_STATE, 6);
	PUT(&seed, OP_SEND, 0, 0, 0, 1, RNIC_WQE_CE_ALWAYS);
	put_place(&seed, 3, KEY_WHOLE, 0);
	fuzz_put_u16(&seed, 8000);
	PUT(&seed, OP_RING, OP_POLL, 31, OP_REAP, OP_CONNECT, OP_POLL, 3);
	fuzz_seed_write(&seed, "datagrams-%02x", flags);
}

void
fuzz_seeds_write(void)
{
	for (unsigned int i = 0; i < 32; i++)
		seed_traffic((uint8_t)(i | (i % 8) << 5));
	for (unsigned int i = 0; i < 32; i++)
		seed_datagrams((uint8_t)(i | (5 + i % 2) << 5));
}

void
fuzz_begin(void)
{
	fuzz_device_quiet();
}
