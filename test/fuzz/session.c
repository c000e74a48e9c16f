/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: whole sessions of two clients, whose devices share a wire. Maps, objects, requests, rings, records, unmaps,
 * resets and new sessions, in any order. Memory that is not mapped for the device is poisoned, each access of the devices is
 * audited, and so is, at each unmap, whether anything remembers where memory was.
 *
 *   u8        bit 0: IPv6; 1: the wire has faults; 2: memory is foreign
 *   then operations, each: u8 bits 5..0 enum session_op, bit 7 the second client; its operands
 */

#include <sanitizer/asan_interface.h>

#include "softrnic/base/command.h"
#include "softrnic/base/dma.h"
#include "softrnic/hca/audit.h"
#include "softrnic/memory/tpt.h"
#include "fuzz_device.h"
#include "prm/cmdq.h"
#include "prm/init_seg.h"
#include "qp_world.h"
#include "session.h"

#define MAPS_MAX   128
#define CQS_MAX	   4
#define QUEUES_MAX 3 /* of each kind */
#define KEYS_MAX   6
#define ROOM	   (64u << 10) /* that a call may take of the client's memory, at most */
#define PAYLOADS   3

struct map {
	uint64_t iova;
	uint8_t *host;
	size_t length;
	bool gone;
};

struct client {
	struct qw_end *end;
	struct map maps[MAPS_MAX];
	unsigned int map_count;
	struct dp_cq cqs[CQS_MAX];
	struct dp_sq sqs[QUEUES_MAX];
	struct dp_rq rqs[QUEUES_MAX];
	struct qw_qp qps[QUEUES_MAX];
	struct qw_srq srq;
	uint32_t keys[KEYS_MAX];
	unsigned int cq_count, sq_count, rq_count, qp_count, key_count;
	bool has_srq, steered;
};

static struct client clients[2];
static struct qw qw;
static bool ipv6;

/* ---- Memory ---- */

int __real_softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
			    unsigned int prot);
int __wrap_softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
			    unsigned int prot);

static struct client *
client_of(const struct softrnic *dev)
{
	const uint8_t *mac = dev->conf.mac;

	return &clients[mac[5] == 2];
}

/* What the fixture maps is known here. */
int
__wrap_softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
			unsigned int prot)
{
	struct client *c = client_of(dev);
	int rc = __real_softrnic_dma_map(dev, iova, length, address, prot);

	if (rc == 0) {
		must(c->map_count < MAPS_MAX);
		c->maps[c->map_count++] = (struct map){ iova, address, length, false };
	}
	return rc;
}

static void
map_again(struct client *c, uint8_t which, uint8_t rights)
{
	static const unsigned int prots[] = { SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE,
					      SOFTRNIC_DMA_READ, SOFTRNIC_DMA_WRITE, 0 };
	struct map *map = &c->maps[which % c->map_count];

	if (!map->gone)
		return;
	if (__real_softrnic_dma_map(c->end->dp.dev, map->iova, map->length, map->host,
				    prots[rights % 4]) != 0)
		return;
	map->gone = false;
	__asan_unpoison_memory_region(map->host, map->length);
}

static void
unmap(struct client *c, struct map *map)
{
	if (map->gone)
		return;
	must(softrnic_dma_unmap(c->end->dp.dev, map->iova, map->length) == 0);
	map->gone = true;
	__asan_poison_memory_region(map->host, map->length);
}

/* A client writes to memory that it has. */
static bool
there(const struct client *c, const void *at)
{
	unsigned int i;

	for (i = 0; i < c->map_count; i++)
		if ((const uint8_t *)at >= c->maps[i].host &&
		    (const uint8_t *)at < c->maps[i].host + c->maps[i].length)
			return !c->maps[i].gone;
	return false;
}

static bool
has_room(const struct client *c)
{
	return c->end->dp.hn.used + ROOM < DP_BYTES && c->map_count + 8 < MAPS_MAX;
}

static void
scribble(struct client *c, struct fuzz_input *input)
{
	struct map *map = &c->maps[fuzz_u8(input) % c->map_count];
	uint16_t at = fuzz_u16(input);
	uint8_t count = fuzz_u8(input);

	for (; count > 0 && input->left > 0; count--, at++) {
		uint8_t byte = fuzz_u8(input);

		if (!map->gone)
			map->host[at % map->length] = byte;
	}
}

#define MANY_IOVA  UINT64_C(0x10000000)
#define MANY_BYTES 64

static void
many_maps(struct client *c, uint8_t count)
{
	static uint8_t memory[UINT8_MAX * MANY_BYTES];
	struct softrnic *dev = c->end->dp.dev;
	unsigned int i, at;

	for (i = 0; i < count; i++)
		must(__real_softrnic_dma_map(dev, MANY_IOVA + i * MANY_BYTES, MANY_BYTES,
					     memory + i * MANY_BYTES, SOFTRNIC_DMA_READ) == 0);
	/* What overlaps is refused, what is not there, too. */
	if (count > 0)
		must(__real_softrnic_dma_map(dev, MANY_IOVA - 1, 2, memory, SOFTRNIC_DMA_READ) < 0);
	must(softrnic_dma_unmap(dev, MANY_IOVA + count * MANY_BYTES, MANY_BYTES) < 0);
	for (i = 0; i < count; i++) {
		at = i * 7 % count;
		if (count % 7 == 0)
			at = i;
		must(softrnic_dma_unmap(dev, MANY_IOVA + at * MANY_BYTES, MANY_BYTES) == 0);
	}
}

/* Entry and mailboxes are what stands in the payload, but for what makes a command of it. */
static void
command(struct client *c, uint16_t opcode, uint16_t bytes)
{
	const struct map *at = &c->maps[3], *boxes = &c->maps[5];
	struct rnic_cmdq_entry *entry = (struct rnic_cmdq_entry *)at->host;
	uint32_t words[2] = { RNIC_SWAP32((uint32_t)(at->iova >> 32)),
			      RNIC_SWAP32((uint32_t)at->iova) };
	uint32_t bell = RNIC_SWAP32(1u);

	if (at->gone)
		return;
	memset(entry, 0, sizeof(*entry));
	entry->type = RNIC_CMDQ_ENTRY_TYPE;
	entry->input_length = rnic_cpu_to_be32(bytes);
	entry->output_length = rnic_cpu_to_be32(bytes);
	entry->input_mailbox = rnic_cpu_to_be64(boxes->iova);
	entry->output_mailbox = rnic_cpu_to_be64(boxes->iova + 1024);
	rnic_cmd_in_set((struct rnic_cmd_in *)entry->input, RNIC_CMD_IN_OPCODE, opcode);
	if (!boxes->gone)
		memset(boxes->host, 0, 2048);
	entry->status_own = RNIC_CMDQ_STATUS_OWN_HW;
	softrnic_bar_write(c->end->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH), &words[0],
			   4);
	softrnic_bar_write(c->end->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW), &words[1],
			   4);
	softrnic_bar_write(c->end->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &bell, 4);
	softrnic_poll(qw.poller);
}

/* ---- Sessions ---- */

/* The memory that payload is in. */
static void
payloads_make(struct client *c)
{
	static const uint32_t bytes[PAYLOADS] = { 4096, 300, 9000 };

	for (unsigned int i = 0; i < PAYLOADS; i++)
		must(dp_alloc(&c->end->dp, bytes[i], 4096) != NULL);
}

static void
reset(struct client *c)
{
	must(softrnic_reset(c->end->dp.dev) == 0);
	must(dp_stats(&c->end->dp).objects == 0);
	must(c->end->dp.dev->qps_memory == 0);
	must(c->end->dp.dev->rings_memory == 0);
	must(c->end->dp.dev->translation_bytes == 0);
	softrnic_audit_unresolved(c->end->dp.dev);
}

static void
leave(struct client *c, bool reset_first)
{
	unsigned int i;

	if (reset_first)
		reset(c);
	for (i = c->map_count; i-- > 0;)
		unmap(c, &c->maps[i]);
	if (!reset_first)
		reset(c);
	must(dp_stats(&c->end->dp).dma_maps == 0);
}

static void
next_session(struct client *c, bool reset_first)
{
	struct qw_end *end = c->end;

	leave(c, reset_first);
	softrnic_bus_master(end->dp.dev, true);
	memset(c, 0, sizeof(*c));
	c->end = end;
	qw_end_restart(end, ipv6, (uint8_t)(c - clients + 1));
	payloads_make(c);
}

/* ---- Objects ---- */

static void
cq_make(struct client *c, uint8_t what)
{
	const struct dp_cq_conf conf = { .log_size = what % 7,
					 .uar = 1 + (what >> 3 & 1),
					 .big = (what & 0x10) != 0,
					 .collapsed = (what & 0x20) != 0,
					 .ignore_overrun = (what & 0x40) != 0,
					 .compressed = (what & 0x80) != 0 };

	if (c->cq_count < CQS_MAX && has_room(c) &&
	    dp_cq_create(&c->end->dp, &c->cqs[c->cq_count], &conf) == 0)
		c->cq_count++;
}

static struct dp_cq *
cq_at(struct client *c, uint8_t which)
{
	return c->cq_count > 0 ? &c->cqs[which % c->cq_count] : NULL;
}

static void
sq_make(struct client *c, uint8_t which, uint8_t what)
{
	struct dp_cq *cq = cq_at(c, which);

	if (cq != NULL && c->sq_count < QUEUES_MAX && has_room(c) &&
	    dp_sq_create(&c->end->dp, &c->sqs[c->sq_count], cq, what % 7, 1 + (what >> 3 & 1),
			 what >> 4) == 0)
		c->sq_count++;
}

static void
rq_make(struct client *c, uint8_t which, uint8_t what)
{
	struct dp_cq *cq = cq_at(c, which);

	if (cq != NULL && c->rq_count < QUEUES_MAX && has_room(c) &&
	    dp_rq_create(&c->end->dp, &c->rqs[c->rq_count], cq, what % 6, 4 + (what >> 4) % 4) == 0)
		c->rq_count++;
}

static void
qp_make(struct client *c, uint8_t which, uint8_t what)
{
	struct qw_qp_conf conf = { .send_cq = cq_at(c, which),
				   .recv_cq = cq_at(c, which >> 4),
				   .srq = c->has_srq && (what & 0x80) != 0 ? &c->srq : NULL,
				   .log_sq = what & 0x20 ? 0 : what % 5,
				   .log_rq = what >> 3 & 3,
				   .log_stride = 6,
				   .no_sq = (what & 0x20) != 0,
				   .no_rq = (what & 0x40) != 0,
				   .rlky = true };

	struct qw_qp *qp = &c->qps[c->qp_count];

	if (conf.send_cq == NULL || c->qp_count == QUEUES_MAX || !has_room(c) ||
	    qw_qp_create(c->end, qp, &conf) != 0)
		return;
	if (conf.no_rq || conf.srq != NULL)
		qp->rq.ring = NULL;
	c->qp_count++;
}

static void
srq_make(struct client *c, uint8_t what)
{
	if (!c->has_srq && has_room(c))
		c->has_srq = qw_srq_try(c->end, &c->srq, what % 4, 6, what >> 4) == 0;
}

/* Over all pages of an island, so many as it has. */
static void
key_make(struct client *c, uint8_t which, uint8_t access)
{
	const struct map *map = &c->maps[which % c->map_count];
	void *pages[8];
	struct qw_key_conf conf = {
		.start = map->host, .length = map->length, .access = access, .pages = pages
	};

	if (c->key_count == KEYS_MAX || map->length > sizeof(pages) / sizeof(pages[0]) * 4096)
		return;
	for (size_t i = 0; i * 4096 < map->length; i++)
		pages[i] = map->host + i * 4096;
	if ((uintptr_t)map->host % 4096 != 0)
		conf.pages = NULL;
	c->keys[c->key_count] = qw_key(c->end, &conf);
	if (c->keys[c->key_count] != 0)
		c->key_count++;
}

static uint32_t
key_at(const struct client *c, uint8_t which)
{
	if (which < 0x40)
		return c->end->key;
	if (which >= 0xf0)
		return SOFTRNIC_RESERVED_LKEY;
	return c->key_count > 0 ? c->keys[which % c->key_count] : 0xbad00;
}

static void
connect_pair(struct client *c, uint8_t which, struct client *other, uint8_t whom)
{
	struct qw_attr attr = qw_attr();
	struct qw_qp *a, *b;

	if (c->qp_count == 0 || other->qp_count == 0)
		return;
	a = &c->qps[which % c->qp_count];
	b = &other->qps[whom % other->qp_count];
	attr.timeout = 4;
	attr.min_rnr_timer = 1;
	attr.psn = 0xfffff0;
	qw_qp_modify(a, RNIC_CMD_RST2INIT_QP, NULL, &attr);
	qw_qp_modify(a, RNIC_CMD_INIT2RTR_QP, b, &attr);
	qw_qp_modify(a, RNIC_CMD_RTR2RTS_QP, NULL, &attr);
}

/* Another ring, other fields; or how it is. */
static void
cq_change(struct client *c, uint8_t which, uint8_t what)
{
	struct {
		struct rnic_modify_cq_in in;
		struct rnic_be64 pages[4];
	} in = { 0 };
	struct rnic_cqc *cqc = rnic_modify_cq_in_cqc(&in.in);
	struct dp_cq *cq = cq_at(c, which);
	uint32_t log_size = what >> 2 & 7, pages;
	uint8_t *ring;

	if (cq == NULL || !has_room(c))
		return;
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_CQN, cq->cqn);
	if ((what & 3) == 0) {
		dp_destroy(&c->end->dp, RNIC_CMD_QUERY_CQ, cq->cqn);
		return;
	}
	if ((what & 3) == 1) {
		rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_FIELD_SELECT,
				      RNIC_MODIFY_CQ_OVERRUN | RNIC_MODIFY_CQ_PERIOD |
					      RNIC_MODIFY_CQ_MAX_COUNT);
		rnic_cqc_set(cqc, RNIC_CQC_OI, what >> 7);
		rnic_cqc_set(cqc, RNIC_CQC_CQ_PERIOD, what >> 4 & 3);
		rnic_cqc_set(cqc, RNIC_CQC_CQ_MAX_COUNT, what >> 2 & 3);
		dp_command(&c->end->dp, RNIC_CMD_MODIFY_CQ, 0, &in, sizeof(in.in), NULL, 0);
		return;
	}
	pages = ((cq->bytes << log_size) + 4095) / 4096;
	ring = dp_alloc(&c->end->dp, cq->bytes << log_size, 4096);
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_RESIZE_CQ_RING);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, cq->bytes == 128 ? RNIC_CQE_SIZE_128 : RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, log_size);
	for (uint32_t i = 0; i < pages; i++)
		in.pages[i] = rnic_cpu_to_be64(dp_iova(&c->end->dp, ring) + i * 4096);
	if (dp_command(&c->end->dp, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_RESIZE, &in, sizeof(in),
		       NULL, 0) != 0)
		return;
	/* What the old one had is not of interest. */
	cq->ring = ring;
	cq->log_size = log_size;
	cq->consumer++;
}

static void
destroy(struct client *c, uint8_t kind, uint8_t which)
{
	struct dp *dp = &c->end->dp;

	switch (kind % 7) {
	case 0:
		if (c->cq_count > 0)
			dp_destroy(dp, RNIC_CMD_DESTROY_CQ, c->cqs[which % c->cq_count].cqn);
		break;
	case 1:
		if (c->sq_count > 0)
			dp_destroy(dp, RNIC_CMD_DESTROY_SQ, c->sqs[which % c->sq_count].sqn);
		break;
	case 2:
		if (c->rq_count > 0)
			dp_destroy(dp, RNIC_CMD_DESTROY_RQ, c->rqs[which % c->rq_count].rqn);
		break;
	case 3:
		if (c->qp_count > 0)
			dp_destroy(dp, RNIC_CMD_DESTROY_QP, c->qps[which % c->qp_count].qpn);
		break;
	case 4:
		if (c->key_count > 0)
			dp_destroy(dp, RNIC_CMD_DESTROY_MKEY, c->keys[which % c->key_count] >> 8);
		break;
	case 5: dp_destroy(dp, RNIC_CMD_DESTROY_MKEY, c->end->key >> 8); break;
	default: dp_destroy(dp, RNIC_CMD_TEARDOWN_HCA, 0);
	}
}

static void
state(struct client *c, uint8_t which, uint8_t what)
{
	struct qw_attr attr = qw_attr();

	switch (which >> 6) {
	case 0:
		if (c->sq_count > 0)
			dp_sq_modify(&c->sqs[which % c->sq_count], what & 3, what >> 2 & 3);
		break;
	case 1:
		if (c->rq_count > 0)
			dp_rq_modify(&c->rqs[which % c->rq_count], what & 3, what >> 2 & 3);
		break;
	default:
		if (c->qp_count > 0)
			qw_qp_modify(&c->qps[which % c->qp_count],
				     what & 1 ? RNIC_CMD_2ERR_QP : RNIC_CMD_2RST_QP, NULL, &attr);
	}
}

/* ---- Requests ---- */

/* A send queue, or that of a queue pair; NULL: there is none, or its ring is not there. */
static struct dp_sq *
sq_at(struct client *c, uint8_t which)
{
	struct dp_sq *sq = NULL;

	if ((which & 0x80) != 0 && c->qp_count > 0)
		sq = &c->qps[which % c->qp_count].sq;
	else if (c->sq_count > 0)
		sq = &c->sqs[which % c->sq_count];
	return sq != NULL && sq->log_size > 0 && there(c, sq->ring) && there(c, sq->dbrec) ? sq
											   : NULL;
}

static void
segment(struct client *c, struct fuzz_input *input, struct rnic_wqe_data *seg)
{
	struct rnic_wqe_data fields = { 0 };
	const struct map *map = &c->maps[fuzz_u8(input) % c->map_count];
	uint32_t bytes = fuzz_u16(input), key = key_at(c, fuzz_u8(input));
	uint64_t at = (uintptr_t)map->host;

	if (key == SOFTRNIC_RESERVED_LKEY)
		at = map->iova;
	fields.byte_count = rnic_cpu_to_be32(bytes);
	fields.lkey = rnic_cpu_to_be32(key);
	fields.address = rnic_cpu_to_be64(at);
	if (seg != NULL)
		*seg = fields;
}

static void
send_request(struct client *c, struct client *other, struct fuzz_input *input)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND,      RNIC_WQE_RDMA_WRITE,
					   RNIC_WQE_RDMA_READ, RNIC_WQE_ATOMIC_FA,
					   RNIC_WQE_NOP,       RNIC_WQE_SEND_IMM };
	uint8_t which = fuzz_u8(input), opcode = opcodes[fuzz_u8(input) % sizeof(opcodes)];
	uint8_t count = fuzz_u8(input) % 4, i;
	struct dp_sq *sq = sq_at(c, which);
	bool qp = (which & 0x80) != 0 && c->qp_count > 0;
	bool remote = qp && opcode >= RNIC_WQE_RDMA_WRITE && opcode != RNIC_WQE_SEND &&
		      opcode != RNIC_WQE_SEND_IMM;
	uint32_t ds = qp ? 1u + remote + (opcode == RNIC_WQE_ATOMIC_FA) : 2u;
	struct rnic_wqe_raddr *raddr;

	if (sq != NULL)
		dp_wqe(sq,
		       qp			? opcode
		       : opcode == RNIC_WQE_NOP ? RNIC_WQE_NOP
						: RNIC_WQE_SEND,
		       ds + count, RNIC_WQE_CE_ALWAYS);
	if (sq != NULL && remote) {
		raddr = dp_wqe_at(sq, 1);
		raddr->address = rnic_cpu_to_be64(
			(uintptr_t)other->maps[(which & 0x3f) % other->map_count].host);
		raddr->rkey = rnic_cpu_to_be32(key_at(other, which));
	}
	for (i = 0; i < count; i++)
		segment(c, input, sq != NULL ? dp_wqe_at(sq, ds + i) : NULL);
}

static void
post_request(struct client *c, struct fuzz_input *input)
{
	uint8_t which = fuzz_u8(input);
	struct dp_rq *rq = NULL;
	struct rnic_wqe_data seg[2] = { 0 };
	uint32_t at = 0;

	segment(c, input, &seg[0]);
	seg[1].lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
	if (which >= 0xc0 && c->has_srq && there(c, c->srq.ring) && there(c, c->srq.dbrec)) {
		at = (c->srq.producer & ((1u << c->srq.log_size) - 1)) << c->srq.log_stride;
		memset(c->srq.ring + at, 0, sizeof(struct rnic_wqe_next));
		((struct rnic_wqe_next *)(c->srq.ring + at))->next_wqe_index = rnic_cpu_to_be16(
			(uint16_t)((c->srq.producer + 1) & ((1u << c->srq.log_size) - 1)));
		memcpy(c->srq.ring + at + sizeof(struct rnic_wqe_next), seg, sizeof(seg));
		qw_srq_post(&c->srq, 1);
		return;
	}
	if ((which & 0x80) != 0 && c->qp_count > 0)
		rq = &c->qps[which % c->qp_count].rq;
	else if (c->rq_count > 0)
		rq = &c->rqs[which % c->rq_count];
	if (rq == NULL || rq->ring == NULL || !there(c, rq->ring) || !there(c, rq->dbrec))
		return;
	at = (rq->producer & ((1u << rq->log_size) - 1)) << rq->log_stride;
	memcpy(rq->ring + at, seg, rq->log_stride == 4 ? 16 : sizeof(seg));
	rq->producer++;
	dp_rq_record(rq);
}

static void
reap(struct client *c, uint8_t which)
{
	struct dp_cq *cq = cq_at(c, which);

	if (cq != NULL && there(c, cq->ring) && there(c, cq->dbrec))
		for (unsigned int n = 0; n < 64 && dp_cq_next(cq) != NULL; n++)
			continue;
	if (there(c, c->end->dp.eqes)) {
		while (dp_eq_next(&c->end->dp) != NULL)
			continue;
		dp_eq_seen(&c->end->dp);
	}
}

/* ---- An input ---- */

static void
object_operation(struct client *c, uint8_t op, struct fuzz_input *input)
{
	uint8_t first = fuzz_u8(input);

	switch (op) {
	case OP_CQ: cq_make(c, first); break;
	case OP_SQ: sq_make(c, first, fuzz_u8(input)); break;
	case OP_RQ: rq_make(c, first, fuzz_u8(input)); break;
	case OP_STEER:
		if (c->rq_count > 0 && !c->steered)
			c->steered = dp_steer_all(&c->rqs[first % c->rq_count]) == 0;
		break;
	case OP_QP: qp_make(c, first, fuzz_u8(input)); break;
	case OP_SRQ: srq_make(c, first); break;
	case OP_KEY: key_make(c, first, fuzz_u8(input)); break;
	case OP_CONNECT: connect_pair(c, first, &clients[c == clients], fuzz_u8(input)); break;
	case OP_STATE: state(c, first, fuzz_u8(input)); break;
	case OP_CHANGE: cq_change(c, first, fuzz_u8(input)); break;
	default: {
		uint8_t which = fuzz_u8(input);

		destroy(c, first, which);
	}
	}
}

static void
operation(struct client *c, uint8_t op, struct fuzz_input *input)
{
	struct dp_sq *sq;
	struct dp_cq *cq;
	uint16_t opcode;
	uint8_t n;

	switch (op) {
	case OP_MAP:
		n = fuzz_u8(input);
		map_again(c, n, fuzz_u8(input));
		break;
	case OP_UNMAP: unmap(c, &c->maps[fuzz_u8(input) % c->map_count]); break;
	case OP_RESET: reset(c); break;
	case OP_SESSION: next_session(c, (fuzz_u8(input) & 1) != 0); break;
	case OP_BUS: softrnic_bus_master(c->end->dp.dev, (fuzz_u8(input) & 1) != 0); break;
	case OP_SEND: send_request(c, &clients[c == clients], input); break;
	case OP_POST: post_request(c, input); break;
	case OP_RING:
		sq = sq_at(c, fuzz_u8(input));
		if (sq != NULL && sq->last != NULL)
			dp_sq_ring(sq);
		break;
	case OP_ARM:
		n = fuzz_u8(input);
		cq = cq_at(c, n);
		if (cq != NULL && there(c, cq->dbrec))
			dp_cq_arm(cq, n >> 2, (n & 0x80) != 0);
		break;
	case OP_REAP: reap(c, fuzz_u8(input)); break;
	case OP_BYTES: scribble(c, input); break;
	case OP_POLL:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(qw.poller);
		break;
	case OP_MANY: many_maps(c, fuzz_u8(input)); break;
	case OP_COMMAND:
		opcode = fuzz_u16(input);
		command(c, opcode, fuzz_u16(input) % 1024);
		break;
	case OP_VANISH: softrnic_dma_vanished(c->end->dp.dev); break;
	default: object_operation(c, op, input);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct qw_conf conf = { .pair = true, .islands = true, .seed = 1 };
	unsigned int budget = 96, i;
	uint8_t flags, op;

	if (size < 2)
		return 0;
	memset(clients, 0, sizeof(clients));
	flags = fuzz_u8(&input);
	conf.ipv6 = ipv6 = (flags & 1) != 0;
	conf.foreign_memory = (flags & 4) != 0;
	if ((flags & 2) != 0)
		conf.drop_ppm = conf.dup_ppm = conf.reorder_ppm = conf.corrupt_ppm = 100000;
	qw_open(&qw, &conf);
	for (i = 0; i < 2; i++) {
		clients[i].end = qw.ends[i];
		payloads_make(&clients[i]);
	}
	while (input.left > 0 && budget-- > 0) {
		op = fuzz_u8(&input);
		operation(&clients[op >> 7], (op & 0x3f) % OP_LAST, &input);
		must(atomic_load(&softrnic_audit_violations) == 0);
	}
	for (i = 0; i < 8; i++)
		softrnic_poll(qw.poller);
	for (i = 0; i < 2; i++)
		leave(&clients[i], (flags & 8) != 0);
	qw_close(&qw);
	return 0;
}

void
fuzz_begin(void)
{
	fuzz_device_quiet();
}
