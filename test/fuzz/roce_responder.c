/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the responder of the RC transport, and a peer whose requests are the input.
 *
 *   the QP as owner_open() reads it, byte 3 bit 6: it stays in RTR
 *   then operations, each a u8, its number is the rest of the division by their count; see enum op
 */

#include "roce_owner.h"

enum op {
	/*
	 * u8 opcode; u8 bits 1..0 PSN: expected, expected, as far from there as a signed byte says, a u32; bit 2
	 * AckReq, 3 solicited, 4 other address: u16, u8 (high bits), u8 key; u8 bits 2..0 code of the length, 5..3 of
	 * the announced one.
	 */
	OP_REQUEST,
	OP_RECV,
	OP_POLL,
	OP_MESSAGE, /* u8 kind and packets, u8 bytes of the last: a good message, from the packet that is expected */
	OP_REPEAT, /* u8 which of the remembered READs and atomics, u8 from which packet, u8 what is wrong */
	OP_TIME,
	OP_REFUSE,
	OP_MODIFY,
	OP_CUTS,
	OP_COUNT,
};

/* Address and key of the packets, until the input wants others. */
static uint64_t target_va;
static uint32_t target_key;

static uint32_t
payload_length(struct owner *o, unsigned int code)
{
	switch (code & 7) {
	case 0: return 0;
	case 1: return owner_mtu(o);
	case 2: return o->qp.responder.left % (OWNER_PAYLOAD_MAX + 1);
	case 3: return fuzz_u8(o->input);
	case 4: return owner_mtu(o) - 1;
	case 5: return owner_mtu(o) + 1;
	case 6: return fuzz_u16(o->input) % (OWNER_PAYLOAD_MAX + 1);
	default: return 5;
	}
}

static uint32_t
announced_length(struct owner *o, unsigned int code, uint32_t length)
{
	switch (code & 7) {
	case 0: return length;
	case 1: return length + owner_mtu(o);
	case 2: return 2 * owner_mtu(o) + 5;
	case 3: return fuzz_u32(o->input);
	case 4: return 0;
	case 5: return ROCE_MESSAGE_MAX;
	case 6: return ROCE_MESSAGE_MAX + 1;
	default: return owner_mtu(o);
	}
}

static void
op_request(struct owner *o)
{
	uint8_t opcode = fuzz_u8(o->input), how = fuzz_u8(o->input), lengths = fuzz_u8(o->input);
	struct roce_pkt pkt = {
		.opcode = (opcode & 0x80) != 0 ? opcode : opcode % (ROCE_FETCH_ADD + 1),
		.ack_request = (how & 4) != 0,
		.solicited = (how & 8) != 0,
		.dest_qpn = OWNER_QPN,
		.psn = o->qp.responder.psn,
		.immediate = 0xabcd0000 + lengths,
	};

	if ((how & 3) == 2)
		pkt.psn = roce_psn_add(pkt.psn, (uint32_t)(int8_t)fuzz_u8(o->input));
	else if ((how & 3) == 3)
		pkt.psn = fuzz_u32(o->input);
	if ((how & 0x10) != 0) {
		target_va = OWNER_VA + fuzz_u16(o->input);
		target_va |= (uint64_t)fuzz_u8(o->input) << 56;
		target_key = OWNER_KEY + fuzz_u8(o->input);
	}
	pkt.va = target_va;
	pkt.rkey = target_key;
	pkt.length = payload_length(o, lengths);
	pkt.dma_length = announced_length(o, lengths >> 3, pkt.length);
	pkt.swap_add = o->cookies;
	owner_receive(o, &pkt);
}

static void
op_message(struct owner *o)
{
	static const uint8_t firsts[] = { ROCE_SEND_FIRST, ROCE_WRITE_FIRST, ROCE_READ_REQUEST,
					  ROCE_COMPARE_SWAP, ROCE_FETCH_ADD };
	uint8_t how = fuzz_u8(o->input), rest = fuzz_u8(o->input);
	uint8_t first = firsts[(how & 7) % sizeof(firsts)];
	uint32_t i, packets = 1 + (how >> 4), mtu = owner_mtu(o);
	bool immediate = (how & 8) != 0;

	for (i = 0; i < packets; i++) {
		bool last = i + 1 == packets;
		struct roce_pkt pkt = {
			.opcode = first,
			.ack_request = last,
			.dest_qpn = OWNER_QPN,
			.psn = o->qp.responder.psn,
			.va = target_va & ~7ull,
			.rkey = target_key,
			.dma_length = (packets - 1) * mtu + rest,
			.immediate = rest,
			.swap_add = rest,
		};

		if (first == ROCE_SEND_FIRST || first == ROCE_WRITE_FIRST) {
			pkt.length = last ? rest : mtu;
			if (last)
				pkt.opcode += (i == 0 ? ROCE_SEND_ONLY : ROCE_SEND_LAST) +
					      (immediate ? 1 : 0);
			else if (i > 0)
				pkt.opcode += ROCE_SEND_MIDDLE;
		} else {
			packets = 1;
		}
		owner_receive(o, &pkt);
	}
}

/* A READ or an atomic again, or the rest of a READ, as it was or not quite. */
static void
op_repeat(struct owner *o)
{
	const struct roce_responder *resp = &o->qp.responder;
	uint8_t which = fuzz_u8(o->input), from = fuzz_u8(o->input), wrong = fuzz_u8(o->input);
	const struct roce_resource *resource;
	struct roce_pkt pkt;
	uint32_t number;

	if (resp->head == resp->oldest)
		return;
	resource = &resp->ring[(resp->oldest + which % (resp->head - resp->oldest)) & resp->mask];
	number = from % resource->packets;
	pkt = (struct roce_pkt){
		.opcode = resource->opcode,
		.psn = roce_psn_add(resource->psn, number),
		.dest_qpn = OWNER_QPN,
		.va = resource->va + (uint64_t)number * owner_mtu(o),
		.rkey = resource->rkey,
		.swap_add = resource->swap_add,
		.compare = resource->compare,
	};
	if (resource->opcode == ROCE_READ_REQUEST)
		pkt.dma_length = resource->length - number * owner_mtu(o);
	switch (wrong & 15) {
	case 1: pkt.va += wrong >> 4; break;
	case 2: pkt.va -= wrong >> 4; break;
	case 3: pkt.dma_length += wrong >> 4; break;
	case 4: pkt.dma_length = wrong >> 4; break;
	case 5: pkt.rkey ^= wrong >> 4; break;
	case 6: pkt.psn = roce_psn_add(pkt.psn, wrong >> 4); break;
	case 7: pkt.swap_add ^= wrong >> 4; break;
	case 8: pkt.compare ^= wrong >> 4; break;
	case 9: pkt.length = wrong >> 4; break;
	case 10: pkt.dma_length = UINT32_MAX - (wrong >> 4); break;
	case 11: pkt.opcode = ROCE_READ_REQUEST + (wrong >> 4); break;
	default: break;
	}
	owner_receive(o, &pkt);
}

static owner_op *const operations[OP_COUNT] = {
	[OP_REQUEST] = op_request,     [OP_RECV] = owner_op_recv,     [OP_POLL] = owner_op_poll,
	[OP_MESSAGE] = op_message,     [OP_REPEAT] = op_repeat,	      [OP_TIME] = owner_op_time,
	[OP_REFUSE] = owner_op_refuse, [OP_MODIFY] = owner_op_modify, [OP_CUTS] = owner_op_cuts,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	static struct owner o;

	if (size < OWNER_INPUT_LEAST)
		return 0;
	target_va = OWNER_VA;
	target_key = OWNER_KEY;
	owner_open(&o, &input, (data[3] & 0x40) != 0 ? ROCE_RTR : ROCE_RTS, false);
	owner_run(&o, operations, OP_COUNT);
	owner_close(&o);
	return 0;
}

/* ---- Seeds: good messages of every kind, each repeated; then one thing that is wrong. ---- */

static void
put_message(struct fuzz_seed *seed, unsigned int kind, bool immediate, unsigned int packets,
	    uint8_t rest)
{
	PUT(seed, OP_MESSAGE, (uint8_t)(kind | (immediate ? 8 : 0) | (packets - 1) << 4), rest);
}

static void
seed_good(bool srq, bool immediate)
{
	static struct fuzz_seed seed;
	const uint32_t psn = 0xfffffa;
	unsigned int kind, i;

	owner_seed(&seed, 0, srq, psn, false);
	for (i = 0; i < 6; i++)
		PUT(&seed, OP_RECV, 0);
	for (kind = 0; kind < 5; kind++) {
		put_message(&seed, kind, immediate, 1, 9);
		put_message(&seed, kind, immediate, 3, 255);
		PUT(&seed, OP_POLL, 0x80);
		PUT(&seed, OP_REPEAT, 0, 1, 0);
		/* An old packet, and one too far ahead. */
		for (i = 0; i < 2; i++)
			PUT(&seed, OP_REQUEST, ROCE_SEND_ONLY, 2, 0, (uint8_t)(i == 0 ? 0xfe : 1));
		PUT(&seed, OP_POLL, 0x80);
	}
	fuzz_seed_write(&seed, "good-%u-%u", srq, immediate);
}

static void
seed_refused(unsigned int what)
{
	static struct fuzz_seed seed;
	const uint32_t psn = 100;
	unsigned int kind;

	owner_seed(&seed, 0, false, psn, false);
	PUT(&seed, OP_RECV, 0);
	PUT(&seed, OP_RECV, 0);
	PUT(&seed, OP_CUTS, 6);
	for (kind = 0; kind < 5; kind++) {
		put_message(&seed, kind, kind == 1, 2, 17);
		PUT(&seed, OP_POLL, 1);
	}
	PUT(&seed, OP_REFUSE, (uint8_t)(what | 1 << 3));
	for (kind = 5; kind-- > 0;)
		put_message(&seed, kind, false, 3, 17);
	PUT(&seed, OP_POLL, 0x80);
	PUT(&seed, OP_MODIFY, ROCE_RST);
	fuzz_put(&seed, &psn, sizeof(psn));
	PUT(&seed, OP_MODIFY, 0x80);
	fuzz_put(&seed, &psn, sizeof(psn));
	put_message(&seed, 0, false, 3, 17);
	PUT(&seed, OP_TIME, 20);
	fuzz_seed_write(&seed, "refused-%u", what);
}

void
fuzz_seeds_write(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		seed_good((i & 1) != 0, (i & 2) != 0);
	for (i = OWNER_RECV_SCATTER; i < OWNER_REFUSALS; i++)
		seed_refused(i);
}
