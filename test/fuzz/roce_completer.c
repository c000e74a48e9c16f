/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: the completer of the RC transport, and a peer whose answers are the input.
 *
 *   the QP as owner_open() reads it
 *   then operations, each a u8, its number is the rest of the division by their count; see enum op
 */

#include "roce_owner.h"

enum op {
	/*
	 * u8 opcode; u8 bits 1..0 PSN: the oldest that is unacknowledged, so far behind it as a u8 says, so far before
	 * the newest, a u32; bits 4..2 code of the length; u8 syndrome.
	 */
	OP_ANSWER,
	OP_POST,
	OP_POLL,
	OP_ANSWERS,
	OP_NEARLY, /* u8: the answer that is due, but for one thing */
	OP_AT_ONCE, /* u8: so many packets to come are answered within emit(), by OP_ANSWER's bytes or well */
	OP_TIME,
	OP_REFUSE,
	OP_MODIFY,
	OP_CUTS,
	OP_COUNT,
};

static unsigned int at_once;
static bool at_once_well;

static void
op_answer(struct owner *o)
{
	static const uint8_t opcodes[] = { ROCE_ACKNOWLEDGE,	     ROCE_READ_RESPONSE_ONLY,
					   ROCE_READ_RESPONSE_FIRST, ROCE_READ_RESPONSE_MIDDLE,
					   ROCE_READ_RESPONSE_LAST,  ROCE_ATOMIC_ACKNOWLEDGE };
	const struct roce_requester *req = &o->qp.requester;
	uint8_t opcode = fuzz_u8(o->input), how = fuzz_u8(o->input);
	struct roce_pkt due, pkt = {
		.opcode = (opcode & 0x80) != 0 ? opcode : opcodes[opcode % sizeof(opcodes)],
		.dest_qpn = OWNER_QPN,
		.psn = req->una,
		.syndrome = fuzz_u8(o->input),
		.original = o->cookies,
	};

	switch (how & 3) {
	case 1: pkt.psn = roce_psn_add(req->una, fuzz_u8(o->input)); break;
	case 2: pkt.psn = (req->high - 1 - fuzz_u8(o->input)) & ROCE_PSN_MASK; break;
	case 3: pkt.psn = fuzz_u32(o->input); break;
	default: break;
	}
	if ((how & 0x1c) != 0)
		pkt.length = owner_length(o, how >> 2) % (OWNER_PAYLOAD_MAX + 1);
	else if (owner_next_answer(o, &due))
		pkt.length = due.length;
	owner_receive(o, &pkt);
}

static void
op_nearly(struct owner *o)
{
	uint8_t how = fuzz_u8(o->input);
	struct roce_pkt pkt;

	if (!owner_next_answer(o, &pkt))
		return;
	switch (how & 7) {
	case 0: pkt.length++; break;
	case 1: pkt.length -= pkt.length > 0; break;
	case 2: pkt.psn = roce_psn_add(pkt.psn, 1); break;
	case 3: pkt.psn = roce_psn_add(pkt.psn, ROCE_PSN_MASK); break;
	case 4: pkt.opcode = (uint8_t)(ROCE_READ_RESPONSE_FIRST + (how >> 3) % 6); break;
	case 5: pkt.syndrome = (uint8_t)(how & 0xf8); break;
	case 6: pkt.syndrome = (uint8_t)ROCE_NAK(how >> 3); break;
	default: pkt.syndrome = (uint8_t)ROCE_RNR(how >> 3); break;
	}
	owner_receive(o, &pkt);
}

/* The peer is quick: its answer is there before the packet has left emit(). */
static void
emitted(struct owner *o, const struct roce_pkt *sent)
{
	struct roce_pkt pkt;

	(void)sent;
	if (at_once == 0)
		return;
	at_once--;
	if (!at_once_well)
		op_answer(o);
	else if (owner_next_answer(o, &pkt))
		owner_receive(o, &pkt);
}

static void
op_at_once(struct owner *o)
{
	uint8_t how = fuzz_u8(o->input);

	at_once = how & 0x7f;
	at_once_well = (how & 0x80) != 0;
}

static owner_op *const operations[OP_COUNT] = {
	[OP_ANSWER] = op_answer,       [OP_POST] = owner_op_post,
	[OP_POLL] = owner_op_poll,     [OP_ANSWERS] = owner_op_answers,
	[OP_NEARLY] = op_nearly,       [OP_AT_ONCE] = op_at_once,
	[OP_TIME] = owner_op_time,     [OP_REFUSE] = owner_op_refuse,
	[OP_MODIFY] = owner_op_modify, [OP_CUTS] = owner_op_cuts,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	static struct owner o;

	if (size < OWNER_INPUT_LEAST)
		return 0;
	owner_open(&o, &input, ROCE_RTS, false);
	o.emitted = emitted;
	at_once = 0;
	owner_run(&o, operations, OP_COUNT);
	at_once = 0;
	owner_close(&o);
	return 0;
}

/* ---- Seeds: requests of all kinds, and each kind of answer. ---- */

/* Opcodes as owner_op_post() counts them; the code of the length stands in bits 5..3. */
static void
put_posts(struct fuzz_seed *seed, uint8_t flags)
{
	unsigned int opcode;

	for (opcode = 0; opcode < 8; opcode++)
		PUT(seed, OP_POST, (uint8_t)opcode,
		    (uint8_t)(opcode == 4 || opcode == 5 ? 0 : flags), 3);
}

static void
seed_answers(uint8_t flags, uint8_t how)
{
	static struct fuzz_seed seed;
	const uint32_t psn = 0xfffffa;
	unsigned int i;

	owner_seed(&seed, 7, false, psn, false);
	put_posts(&seed, flags);
	for (i = 0; i < 12; i++) {
		PUT(&seed, OP_POLL, 0x80);
		PUT(&seed, OP_ANSWERS, how);
	}
	put_posts(&seed, flags);
	PUT(&seed, OP_AT_ONCE, 0x8f);
	PUT(&seed, OP_TIME, 0x80);
	fuzz_seed_write(&seed, "answers-%02x-%02x", flags, how);
}

static void
seed_nearly(unsigned int kind)
{
	static struct fuzz_seed seed;
	const uint32_t psn = 0;

	owner_seed(&seed, 0, false, psn, false);
	put_posts(&seed, 5 << 3);
	PUT(&seed, OP_POLL, 0x80);
	PUT(&seed, OP_ANSWERS, 3);
	PUT(&seed, OP_NEARLY, (uint8_t)kind);
	/* Answers come late, when what they answer waits to be asked again. */
	PUT(&seed, (kind & 0x10) != 0 ? OP_ANSWERS : OP_POLL, 0x80);
	PUT(&seed, OP_TIME, 0x80);
	PUT(&seed, OP_ANSWERS, 15);
	PUT(&seed, OP_NEARLY, (uint8_t)kind);
	PUT(&seed, OP_MODIFY, ROCE_SQD);
	fuzz_put(&seed, &psn, sizeof(psn));
	PUT(&seed, OP_ANSWERS, 0x8f);
	fuzz_seed_write(&seed, "nearly-%02x", kind);
}

void
fuzz_seeds_write(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		seed_answers((uint8_t)(i << 3 | (i & 1)), i % 2 == 0 ? 0x8f : 2);
	for (i = 0; i < 16; i++)
		seed_nearly(i | (i & 3) << 4);
}
