/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the requester of the RC transport. Alone, it is answered by what its own record says is due; connected to
 * itself, it talks through a network that loses, doubles and delays packets as the input says.
 *
 *   the QP as owner_open() reads it, byte 3 bit 6: connected to itself
 *   then operations, each a u8, its number is the rest of the division by their count; see enum op
 */

#include "roce_owner.h"

enum op {
	OP_POST,
	OP_POLL,
	OP_ANSWERS,
	OP_NAK, /* u8: the syndrome, with the oldest PSN */
	OP_TIME,
	OP_RECV,
	OP_NETWORK, /* u32: the fate of the next 16 packets, two bits each, again and again; see enum fate */
	OP_REFUSE,
	OP_MODIFY,
	OP_CUTS,
	OP_COUNT,
};

enum fate { FATE_PASS, FATE_LOST, FATE_TWICE, FATE_LATE };

/* The network between the QP and itself. */
static bool connected;
static uint32_t fates;
static struct roce_pkt late;
static bool late_waits;

static void
emitted(struct owner *o, const struct roce_pkt *sent)
{
	enum fate fate = fates & 3;
	struct roce_pkt pkt = *sent, waited = late;
	bool overtaken = late_waits;

	fates = fates >> 2 | fates << 30;
	late_waits = false;
	if (fate == FATE_LATE) {
		late = pkt;
		late_waits = true;
	}
	/* Payload is handed out anew on arrival: contents are not what this is about. */
	if (fate == FATE_PASS || fate == FATE_TWICE)
		owner_receive(o, &pkt);
	if (fate == FATE_TWICE)
		owner_receive(o, &pkt);
	if (overtaken)
		owner_receive(o, &waited);
}

static void
op_nak(struct owner *o)
{
	const struct roce_requester *req = &o->qp.requester;
	struct roce_pkt pkt = {
		.opcode = ROCE_ACKNOWLEDGE,
		.psn = req->una,
		.syndrome = fuzz_u8(o->input),
	};

	o->honest = false;
	owner_receive(o, &pkt);
}

static void
op_answers(struct owner *o)
{
	o->honest = false;
	owner_op_answers(o);
}

static void
op_network(struct owner *o)
{
	fates = fuzz_u32(o->input);
}

static owner_op *const operations[OP_COUNT] = {
	[OP_POST] = owner_op_post, [OP_POLL] = owner_op_poll,	  [OP_ANSWERS] = op_answers,
	[OP_NAK] = op_nak,	   [OP_TIME] = owner_op_time,	  [OP_RECV] = owner_op_recv,
	[OP_NETWORK] = op_network, [OP_REFUSE] = owner_op_refuse, [OP_MODIFY] = owner_op_modify,
	[OP_CUTS] = owner_op_cuts,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	static struct owner o;

	if (size < OWNER_INPUT_LEAST)
		return 0;
	connected = (data[3] & 0x40) != 0;
	owner_open(&o, &input, ROCE_RTS, connected);
	if (connected) {
		o.emitted = emitted;
		o.honest = o.attr.access == 7 && o.attr.max_rd_atomic <= o.attr.max_dest_rd_atomic;
	}
	fates = 0;
	late_waits = false;
	owner_run(&o, operations, OP_COUNT);
	owner_close(&o);
	return 0;
}

/* ---- Seeds ---- */

/* Messages of all kinds through a network; time passes whenever nothing moves. */
static void
seed_network(uint32_t network, uint8_t window, uint8_t flags)
{
	static struct fuzz_seed seed;
	unsigned int i, opcode;

	owner_seed(&seed, window, false, 0xfffffa, true);
	seed.bytes[3] |= 0x40;
	fuzz_put_u8(&seed, OP_NETWORK);
	fuzz_put(&seed, &network, sizeof(network));
	for (i = 0; i < 10; i++)
		PUT(&seed, OP_RECV, 0);
	for (i = 0; i < 2; i++)
		for (opcode = 0; opcode < 8; opcode++)
			PUT(&seed, OP_POST, (uint8_t)opcode,
			    (uint8_t)(opcode == 4 || opcode == 5 ? flags & 3 : flags), 3);
	for (i = 0; i < 20; i++)
		PUT(&seed, OP_TIME, 0x80);
	fuzz_seed_write(&seed, "network-%08x-%02x-%02x", network, window, flags);
}

static void
seed_alone(uint8_t nak, uint8_t flags)
{
	static struct fuzz_seed seed;
	const uint32_t psn = 0x7ffffa;
	unsigned int i;

	owner_seed(&seed, 3, false, psn, false);
	for (i = 0; i < 12; i++) {
		PUT(&seed, OP_POST, (uint8_t)i, flags, 3);
		PUT(&seed, OP_POLL, (uint8_t)i);
		if (i % 3 == 2)
			PUT(&seed, OP_ANSWERS, 0x85);
		if (i % 4 == 3)
			PUT(&seed, OP_NAK, nak);
	}
	PUT(&seed, OP_MODIFY, ROCE_SQD);
	fuzz_put(&seed, &psn, sizeof(psn));
	PUT(&seed, OP_ANSWERS, 0x8f);
	PUT(&seed, OP_MODIFY, ROCE_RTS);
	fuzz_put(&seed, &psn, sizeof(psn));
	PUT(&seed, OP_REFUSE, OWNER_GATHER);
	PUT(&seed, OP_TIME, 0x80);
	fuzz_seed_write(&seed, "alone-%02x-%02x", nak, flags);
}

void
fuzz_seeds_write(void)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		seed_network(i * 0x9e3779b9u & (i % 3 == 0 ? 0xc30c30c3 : 0x0c0300c0),
			     (uint8_t)(i * 3), (uint8_t)(5 << 3 | (i & 3)));
	for (i = 0; i < 8; i++)
		seed_alone((uint8_t)(i < 4 ? ROCE_NAK(i) : ROCE_RNR(i)), (uint8_t)(i << 3));
}
