/* SPDX-License-Identifier: BSD-3-Clause */

/* Operations of inputs that the targets of the RC transport have in common. */
#include "roce_owner.h"

void
owner_run(struct owner *o, owner_op *const *operations, unsigned int count)
{
	while (o->input->left > 0)
		operations[fuzz_u8(o->input) % count](o);
}

uint32_t
owner_length(struct owner *o, unsigned int code)
{
	switch (code & 7) {
	case 0: return 0;
	case 1: return 8;
	case 2: return fuzz_u8(o->input);
	case 3: return owner_mtu(o);
	case 4: return owner_mtu(o) - 1;
	case 5: return 3 * owner_mtu(o) + 1;
	case 6: return fuzz_u16(o->input);
	default: return fuzz_u32(o->input);
	}
}

/* u8 opcode, u8: fence, solicited, unfit, code of the length, u8 address. */
void
owner_op_post(struct owner *o)
{
	static const uint8_t opcodes[] = {
		RNIC_WQE_SEND,	   RNIC_WQE_RDMA_WRITE,	    RNIC_WQE_RDMA_READ,
		RNIC_WQE_SEND_IMM, RNIC_WQE_ATOMIC_CS,	    RNIC_WQE_ATOMIC_FA,
		RNIC_WQE_NOP,	   RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_SEND_INVAL,
		RNIC_WQE_LSO,
	};
	struct roce_request *request = roce_qp_claim(&o->qp);
	uint8_t opcode = opcodes[fuzz_u8(o->input) % sizeof(opcodes)], flags = fuzz_u8(o->input);
	uint32_t length = owner_length(o, flags >> 3), slot = o->posted & o->qp.requester.mask;
	bool full = o->posted - o->completed == o->qp.requester.mask + 1;

	must((request == NULL) == (full || o->qp.state == ROCE_RST));
	if (request == NULL)
		return;
	must(request == &o->qp.requester.ring[slot]);
	*request = (struct roce_request){
		.cookie = ++o->cookies,
		.opcode = opcode,
		.fence = (flags & 1) != 0,
		.solicited = (flags & 2) != 0,
		.syndrome = (flags & 4) != 0 ? RNIC_SYND_LOCAL_PROTECTION : 0,
		.length = length,
		.immediate = (uint32_t)o->cookies * 0x01000193,
		.rkey = OWNER_KEY,
		.va = OWNER_VA + fuzz_u8(o->input) * 8,
		.swap_add = o->cookies << 32,
		.compare = ~o->cookies,
	};
	/* An atomic without a length is one of eight bytes: of the others few are worth a try. */
	if (length == 0 && (opcode == RNIC_WQE_ATOMIC_CS || opcode == RNIC_WQE_ATOMIC_FA))
		request->length = 8;
	o->requests[slot] = (struct owner_request){ .posted = *request };
	roce_qp_post(&o->qp);
	o->posted++;
}

/* u8 which capacity. */
void
owner_op_recv(struct owner *o)
{
	static const uint32_t capacities[] = {
		ROCE_MESSAGE_MAX, 0, 1, 255, 256, 4096, 65536, 1024
	};
	uint32_t capacity = capacities[fuzz_u8(o->input) % 8];

	if (o->qp.state == ROCE_RST || o->recv_head - o->recv_tail >= OWNER_RECVS - 1)
		return;
	o->recvs[o->recv_head++ % OWNER_RECVS] = capacity;
	if (capacity != ROCE_MESSAGE_MAX)
		o->honest = false;
}

/* u8: bit 7 until nothing is left, else once, bits 3..0 the budget. */
void
owner_op_poll(struct owner *o)
{
	uint8_t how = fuzz_u8(o->input);

	if ((how & 0x80) != 0)
		owner_settle(o);
	else
		owner_poll(o, 1 + (how & 15));
}

/* u8: bit 7 to the deadline, else 2^n nanoseconds; then polls. */
void
owner_op_time(struct owner *o)
{
	uint8_t how = fuzz_u8(o->input);
	uint64_t deadline = roce_qp_deadline(&o->qp);

	if ((how & 0x80) == 0)
		o->now += 1ull << how % 44;
	else if (deadline != UINT64_MAX && deadline > o->now)
		o->now = deadline;
	owner_settle(o);
}

/* u8: bits 2..0 what, 5..3 after how many that go well, 7..6 which syndrome. */
void
owner_op_refuse(struct owner *o)
{
	static const uint8_t local[] = { RNIC_SYND_LOCAL_PROTECTION, RNIC_SYND_LOCAL_LENGTH,
					 RNIC_SYND_LOCAL_ACCESS, RNIC_SYND_LOCAL_QP_OPERATION };
	uint8_t how = fuzz_u8(o->input);

	o->refuse = how & 7;
	o->refuse_after = how >> 3 & 7;
	o->refuse_syndrome = o->refuse < OWNER_REMOTE_CHECK ? local[how >> 6]
			     : (how & 0x40) != 0	    ? RNIC_SYND_REMOTE_OPERATION
							    : RNIC_SYND_REMOTE_ACCESS;
	o->honest = false;
}

/* u8: bit 7 all the way up to RTS, else bits 2..0 to where, 6..3 which attribute is changed; u32 to what. */
void
owner_op_modify(struct owner *o)
{
	uint8_t how = fuzz_u8(o->input);
	uint32_t value = fuzz_u32(o->input);
	struct roce_attr attr = o->attr;

	o->honest = false;
	if ((how & 0x80) != 0) {
		owner_bring_up(o, ROCE_RTS);
		return;
	}
	switch (how >> 3 & 15) {
	case 1: attr.mtu = (uint16_t)value; break;
	case 2: attr.rq_psn = value; break;
	case 3: attr.sq_psn = value; break;
	case 4: attr.max_dest_rd_atomic = (uint8_t)value; break;
	case 5: attr.max_rd_atomic = (uint8_t)value; break;
	case 6: attr.timeout = (uint8_t)value; break;
	case 7: attr.retry_cnt = (uint8_t)value; break;
	case 8: attr.rnr_retry = (uint8_t)value; break;
	case 9: attr.ack_req_freq_log = (uint8_t)value; break;
	case 10: attr.min_rnr_timer = (uint8_t)value; break;
	case 11: attr.access = (uint8_t)value; break;
	case 12: attr.max_rd_atomic = 0; break;
	case 13: attr.access = 0; break;
	default: break;
	}
	/* 7 is no state: to where it is already. */
	owner_change(o, (how & 7) == 7 ? o->qp.state : (enum roce_state)(how & 7), &attr);
}

/* u8 in how many pieces memory is handed out. */
void
owner_op_cuts(struct owner *o)
{
	o->cuts = 1 + fuzz_u8(o->input) % ROCE_PKT_PIECES;
}

/* The request that holds the oldest unacknowledged PSN, which is under way. */
static const struct roce_request *
oldest_request(const struct owner *o)
{
	const struct roce_requester *req = &o->qp.requester;
	const struct roce_request *request;
	uint32_t i;

	if ((o->qp.state != ROCE_RTS && o->qp.state != ROCE_SQD) || req->una == req->high)
		return NULL;
	for (i = req->tail; i != req->fresh; i++) {
		request = &req->ring[i & req->mask];
		if (((req->una - request->psn) & ROCE_PSN_MASK) < request->packets)
			return request;
	}
	must(!"the oldest PSN belongs to a request");
	return NULL;
}

bool
owner_next_answer(struct owner *o, struct roce_pkt *pkt)
{
	const struct roce_requester *req = &o->qp.requester;
	const struct roce_request *request = oldest_request(o);
	uint32_t number;

	if (request == NULL)
		return false;
	*pkt = (struct roce_pkt){ .psn = req->una, .syndrome = ROCE_ACK_UNLIMITED };
	number = (req->una - request->psn) & ROCE_PSN_MASK;
	switch (request->opcode) {
	case RNIC_WQE_ATOMIC_CS:
	case RNIC_WQE_ATOMIC_FA:
		pkt->opcode = ROCE_ATOMIC_ACKNOWLEDGE;
		pkt->original = o->cookies;
		break;
	case RNIC_WQE_RDMA_READ:
		pkt->length = number + 1 == request->packets
				      ? request->length - number * owner_mtu(o)
				      : owner_mtu(o);
		pkt->opcode = request->packets == 1	       ? ROCE_READ_RESPONSE_ONLY
			      : number == 0		       ? ROCE_READ_RESPONSE_FIRST
			      : number + 1 == request->packets ? ROCE_READ_RESPONSE_LAST
							       : ROCE_READ_RESPONSE_MIDDLE;
		break;
	default:
		/* For all of the request, as far as it is out. */
		pkt->opcode = ROCE_ACKNOWLEDGE;
		pkt->psn = roce_psn_add(request->psn, request->packets - 1);
		if (roce_psn_diff(pkt->psn, req->high) >= 0)
			pkt->psn = roce_psn_add(req->high, ROCE_PSN_MASK);
	}
	return true;
}

/* u8: bits 3..0 how many; bit 7: with a poll between them. */
void
owner_op_answers(struct owner *o)
{
	uint8_t how = fuzz_u8(o->input);
	struct roce_pkt pkt;
	unsigned int n;

	for (n = 0; n <= (how & 15) && owner_next_answer(o, &pkt); n++) {
		owner_receive(o, &pkt);
		if ((how & 0x80) != 0)
			owner_poll(o, 4);
	}
}

void
owner_seed(struct fuzz_seed *seed, uint8_t window, bool srq, uint32_t psn, bool equal_psns)
{
	seed->used = 0;
	fuzz_put_u8(seed, 4); /* 16 requests */
	fuzz_put_u8(seed, 4); /* READs and atomics that are answered at a time */
	fuzz_put_u8(seed, window);
	/* MTU 256, every right */
	fuzz_put_u8(seed, 7 << 3 | (srq ? 0x80 : 0));
	fuzz_put_u8(seed, 4);	       /* READs and atomics under way */
	fuzz_put_u8(seed, 5);	       /* time-out */
	fuzz_put_u8(seed, 1);	       /* RNR timer */
	fuzz_put_u8(seed, 3 | 7 << 3); /* retries */
	fuzz_put_u8(seed, 2);	       /* AckReq every fourth packet */
	fuzz_put(seed, &psn, sizeof(psn));
	if (!equal_psns)
		fuzz_put(seed, &psn, sizeof(psn));
}
