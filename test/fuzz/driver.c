/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the queues of a driver whose device lies: those of an ethdev port and those of lib/rdmapmd. The device is
 * opened once (driver_world.h), and the software RNIC behind it does its work; beside that it writes entries to CQs and EQs,
 * changes what it has written, and refuses commands, as the input says.
 *
 *   u8 lies about commands, each
 *     u8      which command since the start of the input
 *     u8      bits 5..0: with which status it is refused; 63: it is executed, and the bytes of its output are others,
 *             u8 where, u8 bytes, the bytes
 *   then operations, each: u8 enum op, its operands
 */

#include <rte_common.h>

#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "driver.h"
#include "driver_calls.h"
#include "driver_world.h"
#include "ethdev/rxq.h"
#include "ethdev/txq.h"
#include "forge.h"
#include "object/cq.h"
#include "prm/cqe.h"
#include "rdma/event.h"
#include "rdma/gid.h"
#include "rdma/post.h"
#include "rdma/rdma.h"
#include "rdma/vector.h"

/* What a compiler calls at each comparison: meson.build says why nothing is made of it. */
#define UNCOMPARED(name)          \
	void __wrap_##name(void); \
	void __wrap_##name(void)  \
	{                         \
	}
UNCOMPARED(__sanitizer_cov_trace_cmp1)
UNCOMPARED(__sanitizer_cov_trace_cmp2)
UNCOMPARED(__sanitizer_cov_trace_cmp4)
UNCOMPARED(__sanitizer_cov_trace_cmp8)
UNCOMPARED(__sanitizer_cov_trace_const_cmp1)
UNCOMPARED(__sanitizer_cov_trace_const_cmp2)
UNCOMPARED(__sanitizer_cov_trace_const_cmp4)
UNCOMPARED(__sanitizer_cov_trace_const_cmp8)

#define LIES_MAX 4
#define SEND_MAX 8

/* ---- The device ---- */

static const struct rnic_cq *
cq_of(uint8_t which)
{
	const struct port_queues *q = &world.q[which & 1];

	switch (which >> 1 & 3) {
	case 0: return &q->rxq->cq;
	case 1: return &q->txq->cq;
	case 2: return &((struct rnic_rdma_cq *)world.cq[which & 1])->ring;
	default: return &((struct rnic_rdma_cq *)world.cq[2 | (which & 1)])->ring;
	}
}

/* A queue's number, as entries name it: a queue pair's, that of a part of one, or one that is not in use. */
static uint32_t
queue_number(uint8_t which)
{
	const struct rnic_rdma_qp *raw = (const struct rnic_rdma_qp *)world.qp[QP_RAW];

	switch (which & 7) {
	case 4: return raw->rq.wq.rqn;
	case 5: return RNIC_RDMA_NO_QPN;
	case 6: return world.srq->srqn;
	case 7: return 0x123456;
	default: return world.qp[which & 3]->qp_num;
	}
}

/* Where the oldest request of a queue is. */
static uint16_t
oldest(uint8_t cq, uint8_t which, bool receive)
{
	const struct rnic_rdma_qp *qp = (const struct rnic_rdma_qp *)world.qp[which & 3];
	const struct port_queues *q = &world.q[cq & 1];
	uint32_t i;

	if ((cq >> 1 & 3) == 0)
		return q->rxq->consumer;
	if ((cq >> 1 & 3) == 1)
		return q->txq->sq_tail;
	if (receive)
		return (uint16_t)qp->rq.tail;
	for (i = 0; i < qp->sq.wq.mask; i++)
		if (qp->sq.wqes[i].head == qp->sq.tail)
			break;
	return (uint16_t)i;
}

/*
 * u8   bits 2..0 the CQ, 5..3 which queue it names, bit 7: the counter is from the oldest request on
 * u8   bits 3..0 the opcode, bit 4: solicited, bit 5: the bytes in the middle are all ones
 */
static void
forge(struct fuzz_input *input)
{
	uint8_t where = fuzz_u8(input), what = fuzz_u8(input), syndrome;
	uint16_t counter = fuzz_u16(input);
	uint32_t bytes = fuzz_u32(input), user_index = world.qp[QP_RAW]->qp_num;
	struct rnic_cqe cqe = { 0 };
	struct rnic_error_cqe *error = (struct rnic_error_cqe *)&cqe;
	bool receive =
		(what & 0xf) != RNIC_CQE_REQUESTER && (what & 0xf) != RNIC_CQE_REQUESTER_ERROR;

	syndrome = fuzz_u8(input);
	if ((what & 0x20) != 0)
		memset((uint8_t *)&cqe + 8, 0xff, 24);
	cqe.byte_count = rnic_cpu_to_be32(bytes);
	cqe.srqn_user_index = rnic_cpu_to_be32(user_index);
	if ((what & 0xf) == RNIC_CQE_REQUESTER_ERROR || (what & 0xf) == RNIC_CQE_RESPONDER_ERROR) {
		error->syndrome = syndrome;
		error->vendor_error_syndrome = (uint8_t)bytes;
	}
	if ((where & 0x80) != 0)
		counter += oldest(where, where >> 3, receive);
	cqe.sop_drop_qpn = rnic_cpu_to_be32(queue_number(where >> 3));
	cqe.wqe_counter = rnic_cpu_to_be16(counter);
	cqe.op_own = (uint8_t)(what << 4 | (what & 0x10 ? 2 : 0));
	/* One that has overrun is of no use any more, and so is the device. */
	if (forge_cq_has_room(fake.device, cq_of(where)->cqn))
		forge_completion(fake.device, cq_of(where)->cqn, &cqe);
}

/* All of an entry but the bit that says whose it is. */
static void
damage(struct fuzz_input *input)
{
	const struct rnic_cq *cq = cq_of(fuzz_u8(input));
	uint8_t behind = fuzz_u8(input), offset = fuzz_u8(input), bytes = fuzz_u8(input) % 64, i,
		at;
	uint8_t *cqe, data[64];

	fuzz_bytes(input, data, bytes);
	if (cq->ring == NULL)
		return;
	cqe = (uint8_t *)&cq->ring[(cq->consumer + behind) & cq->mask];
	for (i = 0; i < bytes; i++) {
		at = (offset + i) % sizeof(struct rnic_cqe);
		if (at == offsetof(struct rnic_cqe, op_own))
			data[i] =
				(uint8_t)((data[i] & ~RNIC_CQE_OWNER) | (cqe[at] & RNIC_CQE_OWNER));
		cqe[at] = data[i];
	}
}

/* u8: bits 1..0 the EQ, 4..2 a CQ, 7..5 a queue */
static void
event(struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), type = fuzz_u8(input), sub_type = fuzz_u8(input);
	uint32_t value = fuzz_u32(input), data[7] = { 0 };
	const struct rnic_eq *eq = world.dev->async_eq;

	/* What it asks for it would get, and keep; bringup.c knows how that ends. */
	if (type == RNIC_EVENT_PAGE_REQUEST || type == RNIC_EVENT_COMMAND)
		return;
	if ((what & 3) == 1)
		eq = world.dev->rdma->vectors[0].eq;
	if ((what & 3) == 2)
		eq = world.dev->rdma->event_eq;
	if ((what & 3) == 3)
		eq = world.eq;
	data[0] = cq_of(what >> 2 & 7)->cqn;
	data[2] = value >> 8 & 0xff;
	data[5] = value << 24;
	data[6] = type == RNIC_EVENT_COMPLETION ? data[0] : queue_number(what >> 5);
	if ((value & 0x80000000) != 0)
		data[0] = data[6] = value & 0xffffff;
	forge_event(fake.device, rnic_eq_number(eq), type, sub_type, data);
}

static void
events(uint8_t what)
{
	rnic_eq_poll(world.dev, world.dev->async_eq);
	if ((what & 1) == 0)
		rnic_rdma_poll(world.dev);
	rnic_control_answer(world.dev);
	if ((what & 2) == 0)
		world_take_events();
	must(rnic_eq_take_completions(world.dev, world.eq) <= WORLD_EQ_ENTRIES);
}

/* ---- The library's calls ---- */

/* Memory of the application's, and at times not all of it. */
static void
segments_read(struct fuzz_input *input, struct rdmapmd_sge *sge, uint16_t *count, uint64_t *length)
{
	uint8_t n = fuzz_u8(input), i;
	uint16_t bytes = fuzz_u16(input);

	*length = 0;
	*count = n % (WORLD_SGES + 2);
	for (i = 0; i < *count; i++) {
		sge[i] = (struct rdmapmd_sge){ .addr = (uintptr_t)world.memory + i * 4096u,
					       .length = n & 0x80 && i == 0 ? 0 : bytes % 4096,
					       .lkey = world.mr->lkey };
		if (n & 0x40)
			sge[i].lkey ^= 1;
		/* More than any message has; nothing of it is read, but for a device that reads it. */
		if (n & 0x20 && (n & 0x40))
			sge[i].length = UINT32_C(1) << 30;
		*length += sge[i].length;
	}
}

static uint64_t
posted(struct world_posted *to, unsigned int who, bool received, uint64_t length)
{
	to->length[to->count % WORLD_REQUESTS] = length;
	return (uint64_t)who << 33 | (uint64_t)received << 32 | to->count++;
}

static void
set_peer(struct rdmapmd_send_wr *wr)
{
	const uint64_t remote = (uintptr_t)world.memory + WORLD_MEMORY / 2;

	if (wr->opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP ||
	    wr->opcode == RDMAPMD_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = world.mr->rkey;
		return;
	}
	wr->wr.rdma.remote_addr = remote;
	wr->wr.rdma.rkey = world.mr->rkey;
}

static void
post_sends(struct fuzz_input *input)
{
	uint8_t which = fuzz_u8(input), count = fuzz_u8(input) % (SEND_MAX + 1), i, who = which & 3;
	struct rdmapmd_sge sge[SEND_MAX][WORLD_SGES + 2];
	struct rdmapmd_send_wr wr[SEND_MAX] = { 0 };
	struct rdmapmd_qp *qp = world.qp[who];
	uint32_t first = world.sends[who].count;
	uint64_t length;
	uint16_t taken;

	for (i = 0; i < count; i++) {
		wr[i].opcode = fuzz_u8(input) % RNIC_RDMA_OPCODES;
		wr[i].send_flags = fuzz_u8(input) % RNIC_RDMA_FLAGS;
		wr[i].sg_list = sge[i];
		segments_read(input, sge[i], &wr[i].num_sge, &length);
		wr[i].wr_id = posted(&world.sends[who], who, false, length);
		wr[i].imm_data = i;
		set_peer(&wr[i]);
	}
	world.qp_used[who] = true;
	taken = which & 0x80 ? rnic_rdma_post_send_dump(qp, wr, count)
			     : rdmapmd_post_send(qp, wr, count);
	must(taken <= count);
	world.sends[who].count = first + taken;
}

static void
post_receives(struct fuzz_input *input)
{
	uint8_t who = fuzz_u8(input) % (WORLD_QPS + 1), count = fuzz_u8(input) % (SEND_MAX + 1), i;
	struct rdmapmd_sge sge[SEND_MAX][WORLD_SGES + 2];
	struct rdmapmd_recv_wr wr[SEND_MAX] = { 0 };
	uint32_t first = world.receives[who].count;
	uint64_t length;
	uint16_t taken;

	for (i = 0; i < count; i++) {
		wr[i].sg_list = sge[i];
		segments_read(input, sge[i], &wr[i].num_sge, &length);
		wr[i].wr_id = posted(&world.receives[who], who, true, length);
	}
	if (who == WORLD_SRQ) {
		world.srq_used = true;
		taken = rdmapmd_post_srq_recv(world.srq, wr, count);
	} else {
		world.qp_used[who] = true;
		taken = rdmapmd_post_recv(world.qp[who], wr, count);
	}
	must(taken <= count);
	world.receives[who].count = first + taken;
}

static void
srq_call(uint8_t what, uint8_t limit)
{
	struct rdmapmd_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = limit % 4 + 1u } };
	struct rdmapmd_srq_attr attr = { .srq_limit = limit % WORLD_DEPTH };
	struct rdmapmd_srq *srq;

	switch (what % 3) {
	case 0:
		world.srq_used = true;
		rdmapmd_srq_modify(world.srq, &attr, RDMAPMD_SRQ_LIMIT);
		break;
	case 1: rdmapmd_srq_query(world.srq, &attr); break;
	default:
		if (rdmapmd_srq_create(world.pd, &init, &srq) == 0)
			rdmapmd_srq_destroy(srq);
	}
}

static void
gid_call(uint8_t what, uint8_t value)
{
	union rdmapmd_gid gid = { .raw = { 0x20, 1, 0xd, 0xb8, [15] = value } };
	struct rdmapmd_ah_attr ah = { .port_num = 1 };
	struct rdmapmd_gid_entry entry;
	uint32_t index;

	if ((what & 0x10) != 0)
		gid = (union rdmapmd_gid){ .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, value } };
	world.gids_used = true;
	switch (what & 7) {
	case 0: rdmapmd_gid_add(world.context, 1, &gid, &index); break;
	case 1: rdmapmd_gid_del(world.context, 1, value); break;
	case 2: rdmapmd_gid_query(world.context, 1, value, &entry); break;
	case 3:
		ah.dgid = gid;
		rnic_gid_resolve(world.dev, &ah, RDMAPMD_RESOLVE_WAIT);
		break;
	case 4: rnic_gids_follow_mac(world.dev); break;
	case 5:
		if (rnic_gid_hold(world.dev, value) == 0) {
			rdmapmd_gid_del(world.context, 1, value);
			rnic_gid_drop(world.dev, value);
		}
		break;
	case 6: rnic_gid_query(world.dev, value, &entry); break;
	default:
		for (index = 0; index < rnic_gid_count(world.dev); index++) {
			gid.raw[14] = (uint8_t)index;
			rdmapmd_gid_add(world.context, 1, &gid, &(uint32_t){ 0 });
		}
	}
}

/* ---- The port's ---- */

static void
queue_call(uint8_t which, uint8_t what)
{
	struct port_queues *q = &world.q[which & 1];

	switch (what & 7) {
	case 0: must(rnic_rxq_count(q->rxq) <= 1024); break;
	case 1: rnic_rxq_descriptor_status(q->rxq, what >> 2); break;
	case 2:
		world.tx_used[which & 1] = true;
		rnic_txq_done_cleanup(q->txq, what >> 3);
		break;
	case 3:
		world.tx_used[which & 1] = true;
		rnic_txq_descriptor_status(q->txq, what >> 2);
		break;
	case 4:
		world.rx_used[which & 1] = true;
		port_rx_halt(q);
		break;
	case 5: port_rx_resume(q); break;
	case 6: port_ask(q); break;
	default:
		if (what & 0x80 && !atomic_load(&world.dev->dead)) {
			world.tx_used[which & 1] = true;
			port_tx_stop(q);
			port_tx_start(q);
		}
	}
}

static void
other_call(uint8_t kind, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input), value = fuzz_u8(input);

	/* A device that is not lost is needed to get back what was had. */
	if (atomic_load(&world.dev->dead))
		return;
	switch (kind % 5) {
	case 0: calls_port(what, value); break;
	case 1: calls_steering(what, value); break;
	case 2: calls_key(what, value); break;
	case 3: calls_register(what); break;
	default: calls_object(what, value);
	}
}

/* ---- An input ---- */

/* Of lib/rdmapmd. */
static void
library_operation(uint8_t op, struct fuzz_input *input)
{
	uint8_t n = fuzz_u8(input);

	switch (op) {
	case OP_CQ:
		n %= WORLD_CQS;
		world_poll_cq(n, fuzz_u8(input));
		break;
	case OP_ARM: rdmapmd_req_notify_cq(world.cq[n % WORLD_CQS], (n & 0x80) != 0); break;
	case OP_MODIFY:
		n %= WORLD_QPS;
		world_modify(n, fuzz_u8(input) % (RDMAPMD_QPS_ERR + 1));
		break;
	case OP_DRAIN:
		n %= WORLD_QPS;
		world.qp_used[n] = true;
		rnic_rdma_qp_outstanding(world.qp[n]);
		break;
	case OP_SRQ: srq_call(n, fuzz_u8(input)); break;
	case OP_GID: gid_call(n, fuzz_u8(input)); break;
	default: n %= WORLD_CQS; rdmapmd_cq_resize(world.cq[n], fuzz_u8(input) % 128 + 1u);
	}
}

static void
operation(struct fuzz_input *input)
{
	uint8_t op = fuzz_u8(input) % OP_LAST, n;

	switch (op) {
	case OP_TX:
		n = fuzz_u8(input) & 1;
		world.tx_used[n] = world.rx_used[0] = true;
		port_transmit(&world.q[n], input);
		break;
	case OP_RX:
		n = fuzz_u8(input) & 1;
		world.rx_used[n] = true;
		port_receive(&world.q[n], input);
		break;
	case OP_DEVICE:
		for (n = fuzz_u8(input) % 16; n > 0; n--)
			softrnic_poll(fake_poller);
		break;
	case OP_FORGE: forge(input); break;
	case OP_DAMAGE: damage(input); break;
	case OP_EVENT: event(input); break;
	case OP_EVENTS: events(fuzz_u8(input)); break;
	case OP_ALARMS: fake_alarms_run(); break;
	case OP_SEND: post_sends(input); break;
	case OP_RECV: post_receives(input); break;
	case OP_QUEUE:
		n = fuzz_u8(input);
		queue_call(n, fuzz_u8(input));
		break;
	case OP_ASK: rnic_rdma_ask(world.dev); break;
	case OP_LOST:
		/* Nothing of it was reset: nobody must. */
		atomic_store(&world.dev->dead, true);
		atomic_store(&world.dev->quiesced, true);
		rnic_rdma_lost(world.dev);
		break;
	case OP_CALL:
		n = fuzz_u8(input);
		other_call(n, input);
		break;
	case OP_HOLD: port_hold(&world.q[fuzz_u8(input) & 1]); break;
	default: library_operation(op, input);
	}
}

static void
lies_read(struct fuzz_input *input)
{
	unsigned int i;

	fake_be_honest();
	fake.change_count = fuzz_u8(input) % (LIES_MAX + 1);
	for (i = 0; i < fake.change_count; i++) {
		struct change *change = &fake.changes[i];
		uint8_t what;

		*change = (struct change){ .command = fuzz_u8(input) };
		what = fuzz_u8(input) & 63;
		change->lie = what == LIE_CHANGED ? LIE_OUTPUT : LIE_REFUSED;
		change->offset = what;
		if (what != LIE_CHANGED)
			continue;
		change->offset = fuzz_u8(input);
		change->bytes = fuzz_u8(input) % sizeof(change->data);
		fuzz_bytes(input, change->data, change->bytes);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned int budget = 128;

	if (size < 2)
		return 0;
	world_begin();
	lies_read(&input);
	while (input.left > 0 && budget-- > 0)
		operation(&input);
	world_end();
	return 0;
}

/* Memory that was freed within the last thousands of inputs is enough to be watched, and who allocated it to be told briefly. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "quarantine_size_mb=32:malloc_context_size=8";
}

void
fuzz_begin(void)
{
	port_init();
	fake_lets_go = fake_stays = true;
	port_descriptors = 32;
}
