/* SPDX-License-Identifier: BSD-3-Clause */

/* Seeds of fuzz-driver: each operation in each of its kinds, and what a device may lie about it. */
#include <rte_common.h>

#include "driver.h"
#include "driver_world.h"
#include "prm/cqe.h"
#include "rdma/rdma.h"

static struct fuzz_seed seed;

static void
seed_end(const char *name, unsigned int number)
{
	fuzz_seed_write(&seed, "%s-%u", name, number);
	seed.used = 0;
	fuzz_put_u8(&seed, 0); /* no lies in the next one */
}

/* No lies, or one about the command of that number. */
static void
put_lies(bool one, unsigned int command, uint8_t status)
{
	seed.used = 0;
	fuzz_put_u8(&seed, one);
	if (one)
		PUT(&seed, (uint8_t)command, status);
}

/* An entry as OP_FORGE has it, of the oldest request or what follows it. */
static void
put_entry(unsigned int where, unsigned int what, uint16_t counter, uint32_t bytes, uint8_t syndrome)
{
	PUT(&seed, OP_FORGE, (uint8_t)(0x80 | where), (uint8_t)what);
	fuzz_put_u16(&seed, counter);
	fuzz_put(&seed, &bytes, sizeof(bytes));
	fuzz_put_u8(&seed, syndrome);
}

/* Each operation of lib/rdmapmd from each queue pair, which another one has receives for, until all is polled. */
static void
seed_requests(void)
{
	unsigned int qp, opcode, flags;
	uint8_t to;

	for (qp = 0; qp < WORLD_QPS; qp++) {
		to = (uint8_t)(qp == QP_PLAIN ? WORLD_SRQ : qp == QP_SHARED ? QP_PLAIN : qp);
		for (opcode = 0; opcode < RNIC_RDMA_OPCODES; opcode++) {
			for (flags = 0; flags < RNIC_RDMA_FLAGS; flags += 3) {
				PUT(&seed, OP_ARM, (uint8_t)(flags & 1 ? 0x80 : 0), OP_ARM, 2);
				PUT(&seed, OP_RECV, to, 2, 2, 100, 0, 1, 0, 1);
				PUT(&seed, OP_SEND, (uint8_t)(qp | (flags == 9 ? 0x80 : 0)), 2,
				    (uint8_t)opcode, (uint8_t)flags, 1, 8, 0, (uint8_t)opcode,
				    (uint8_t)(flags | 2), 2, 16, 0);
				PUT(&seed, OP_DEVICE, 15, OP_DEVICE, 15, OP_EVENTS, 0);
				PUT(&seed, OP_CQ, 0, 4, OP_CQ, 1, 9, OP_CQ, 2, 9, OP_CQ, 3, 9);
				PUT(&seed, OP_DRAIN, (uint8_t)qp, OP_DEVICE, 15, OP_CQ, 0, 9);
			}
			seed_end("request", qp * RNIC_RDMA_OPCODES + opcode);
		}
	}
}

/* What a request may not be: too many segments, too long, none at all, more than fit. */
static void
seed_refused(void)
{
	static const uint8_t segments[] = { 5, 0x80 | 1, 0x60 | 2, 0x40 | 1, 0, 0x80 | 4 };
	unsigned int i, qp;

	for (i = 0; i < RTE_DIM(segments); i++) {
		for (qp = 0; qp < WORLD_QPS; qp++) {
			PUT(&seed, OP_SEND, (uint8_t)qp, 1, RDMAPMD_WR_SEND, 2, segments[i], 30, 0);
			PUT(&seed, OP_SEND, (uint8_t)qp, 1, RDMAPMD_WR_SEND, 10, segments[i], 200,
			    0);
			PUT(&seed, OP_SEND, (uint8_t)qp, 1, RDMAPMD_WR_RDMA_READ, 2, segments[i],
			    30, 0);
			PUT(&seed, OP_RECV, (uint8_t)qp, 1, segments[i], 30, 0);
		}
		PUT(&seed, OP_RECV, WORLD_SRQ, 1, segments[i], 30, 0, OP_DEVICE, 15);
		PUT(&seed, OP_CQ, 0, 9, OP_CQ, 1, 9, OP_CQ, 2, 9, OP_CQ, 3, 9);
		seed_end("refused", i);
	}
	for (qp = 0; qp < WORLD_QPS; qp++) {
		for (i = 0; i < 4; i++) {
			PUT(&seed, OP_SEND, (uint8_t)qp, 8);
			for (unsigned int j = 0; j < 8; j++)
				PUT(&seed, RDMAPMD_WR_SEND, 0, 1, 60, 0);
			PUT(&seed, OP_RECV, (uint8_t)qp, 8);
			for (unsigned int j = 0; j < 8; j++)
				PUT(&seed, 1, 60, 0);
			PUT(&seed, OP_RECV, WORLD_SRQ, 8);
			for (unsigned int j = 0; j < 8; j++)
				PUT(&seed, 1, 60, 0);
		}
		PUT(&seed, OP_LOST, OP_ARM, 0, OP_ARM, 1, OP_CQ, 0, 5, OP_CQ, 1, 5, OP_CQ, 3, 5,
		    OP_CQ, 0, 60);
		seed_end("full", qp);
	}
}

/* Entries of each opcode in each CQ, of a queue that has requests, and of others. */
static void
seed_entries(void)
{
	unsigned int cq, opcode, queue;

	for (cq = 0; cq < 8; cq++) {
		for (opcode = 0; opcode < 16; opcode++) {
			for (queue = 0; queue < 8; queue++) {
				PUT(&seed, OP_RECV, (uint8_t)(queue & 3), 1, 2, 16, 0);
				PUT(&seed, OP_SEND, (uint8_t)(queue & 3), 1, RDMAPMD_WR_RDMA_READ,
				    2, 2, 16, 0);
				if (queue == 0)
					PUT(&seed, OP_TX, (uint8_t)(cq & 1), 4, 2, 60, 0);
				put_entry(queue << 3 | cq, opcode | (queue & 1) << 5, 0, 0xff,
					  (uint8_t)opcode);
				PUT(&seed, OP_RX, (uint8_t)(cq & 1), 4, OP_CQ, (uint8_t)(cq & 3),
				    4);
				PUT(&seed, OP_TX, (uint8_t)(cq & 1), 1, 1, 60, 0);
			}
			PUT(&seed, OP_ALARMS, OP_RX, (uint8_t)(cq & 1), 4, OP_TX, (uint8_t)(cq & 1),
			    1, 1, 60, 0);
			seed_end("entry", cq * 16 + opcode);
		}
	}
	for (opcode = 0; opcode < 32; opcode++) {
		PUT(&seed, OP_SEND, 0, 1, 2, 2, 1, 16, 0);
		put_entry(4, RNIC_CQE_REQUESTER_ERROR, 0, 0, (uint8_t)opcode);
		PUT(&seed, OP_CQ, 0, 4);
	}
	seed_end("syndromes", 0);
}

static void
seed_events(void)
{
	unsigned int type, queue;

	for (type = 0; type < 32; type++) {
		for (queue = 0; queue < 8; queue++) {
			PUT(&seed, OP_EVENT, (uint8_t)(queue << 5 | 4 << 2 | queue % 4),
			    (uint8_t)type, (uint8_t)(type & 4 ? 4 : 1), (uint8_t)(queue & 3), 0, 0,
			    0);
			PUT(&seed, OP_EVENT, (uint8_t)(queue << 5 | queue % 3), (uint8_t)type, 4, 1,
			    1, 0, 0x80);
		}
		PUT(&seed, OP_EVENTS, (uint8_t)type);
		seed_end("event", type);
	}
}

/* The calls, and the same with one of their commands refused, or answered wrongly. */
static void
seed_calls(void)
{
	unsigned int lie, call;

	for (call = 0; call < 8; call++) {
		for (lie = 0; lie < 6; lie++) {
			put_lies(lie > 0, lie < 5 ? lie - 1 : 0, lie < 5 ? 3 : LIE_CHANGED);
			if (lie == 5)
				PUT(&seed, 8, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
			PUT(&seed, OP_GID, (uint8_t)call, 1, OP_GID, 0, 7, OP_GID, 0x10, 7, OP_GID,
			    0, 7);
			PUT(&seed, OP_GID, (uint8_t)call, 1, OP_GID, 3, 7, OP_GID, 3, 9, OP_GID,
			    (uint8_t)call, 0xff);
			PUT(&seed, OP_SRQ, (uint8_t)call, 3, OP_SRQ, 0, 3, OP_RESIZE, (uint8_t)call,
			    100);
			PUT(&seed, OP_QUEUE, (uint8_t)lie, (uint8_t)(0x80 | call), OP_QUEUE,
			    (uint8_t)lie, 5);
			PUT(&seed, OP_MODIFY, (uint8_t)lie, (uint8_t)call, OP_MODIFY, (uint8_t)lie,
			    6, OP_ASK);
			PUT(&seed, OP_MODIFY, (uint8_t)lie, 0, OP_ASK, OP_EVENTS, 0);
			seed_end("call", call * 8 + lie);
		}
	}
}

/* What else there is, each with and without a refusal of one of its commands. */
static void
seed_others(void)
{
	unsigned int kind, what, lie;

	for (kind = 0; kind < 5; kind++) {
		for (lie = 0; lie < 8; lie++) {
			put_lies(lie > 0, lie - 1, lie == 7 ? 8 : 3);
			for (what = 0; what < 16; what++) {
				PUT(&seed, OP_CALL, (uint8_t)kind, (uint8_t)what, 3);
				PUT(&seed, OP_CALL, (uint8_t)kind, (uint8_t)(what * 9),
				    (uint8_t)(what * 17));
				PUT(&seed, OP_CALL, (uint8_t)kind, (uint8_t)(what | 16),
				    (uint8_t)(252 + lie % 4));
			}
			seed_end("other", kind * 8 + lie);
			put_lies(lie > 0, lie - 1, lie == 7 ? 8 : 3);
			for (what = 0; what < 2; what++)
				PUT(&seed, OP_CALL, (uint8_t)kind, (uint8_t)(what + 2 * (lie % 4)),
				    3, OP_CALL, (uint8_t)kind, (uint8_t)(what + 2 * (lie % 4) + 8),
				    0xff);
			seed_end("one", kind * 8 + lie);
		}
	}
}

/* Queues of nobody, made and destroyed; and the same where one of their commands is refused. */
static void
seed_queues(void)
{
	unsigned int what;

	for (what = 0; what < 16; what++)
		PUT(&seed, OP_CALL, 4, (uint8_t)(0x10 | (what & 0xc)), (uint8_t)(what << 4 | 3),
		    OP_CALL, 4, (uint8_t)(what & 0xc), (uint8_t)(what << 4 | 4));
	seed_end("queues", 0);
	for (what = 0; what < 8; what++) {
		put_lies(true, what, 3);
		PUT(&seed, OP_CALL, 4, 0x10, 3, OP_CALL, 4, 0, 3, OP_CALL, 4, 8, 0x23);
		PUT(&seed, OP_QUEUE, 0, 4, OP_QUEUE, 0, 5, OP_QUEUE, 1, 0x87, OP_QUEUE, 1, 6);
		seed_end("refused-queue", what);
	}
}

/* A whole ring, and more; with and without mbufs to fill it again. */
static void
seed_rings(void)
{
	unsigned int what;
	uint8_t which;

	for (which = 0; which < 2; which++) {
		for (what = 0; what < 30; what++) {
			put_entry(0, RNIC_CQE_RESPONDER_SEND, 0, 88, 0);
			put_entry(0, RNIC_CQE_RESPONDER_SEND, 1, 88, 0);
			PUT(&seed, OP_RX, 0, 16);
		}
		PUT(&seed, OP_HOLD, which, OP_RX, 0, 16);
		for (what = 0; what < 9; what++) {
			put_entry(0, RNIC_CQE_RESPONDER_SEND, 0, 88, 0);
			PUT(&seed, OP_RX, 0, 16);
		}
		seed_end("ring", which);
	}
	for (which = 0; which < 2; which++) {
		PUT(&seed, OP_HOLD, which);
		for (what = 0; what < 5; what++) {
			put_entry(which, RNIC_CQE_RESPONDER_SEND, 0, 88 | 2 << 8, 0);
			PUT(&seed, OP_RX, which, 16);
		}
		PUT(&seed, OP_HOLD, which);
		for (what = 0; what < 9; what++) {
			put_entry(which, RNIC_CQE_RESPONDER_SEND | 0x20, 0, 88 | 2 << 8, 0);
			PUT(&seed, OP_RX, which, 16);
		}
		seed_end("hold", which);
	}
}

static void
seed_frames(void)
{
	unsigned int i, round;

	for (i = 0; i < 2; i++) {
		for (round = 0; round < 9; round++) {
			PUT(&seed, OP_TX, (uint8_t)i, (uint8_t)(2 * round), (uint8_t)(round % 4),
			    (uint8_t)(60 * round), (uint8_t)(round / 2));
			/* As much as the packets may ask of. */
			for (unsigned int j = 0; i == 1 && j < 2 * round; j++)
				PUT(&seed, (uint8_t)(j * 37), (uint8_t)(j * 91), (uint8_t)j, 0, 20,
				    0, 14);
			PUT(&seed, OP_DEVICE, 15, OP_RX, (uint8_t)i, 16, OP_QUEUE, (uint8_t)i,
			    (uint8_t)round, OP_DAMAGE, 0, 0, 44, 4, 0, 0, (uint8_t)round, 0);
		}
		seed_end("frames", i);
	}
}

void
fuzz_seeds_write(void)
{
	fuzz_put_u8(&seed, 0);
	seed_requests();
	seed_refused();
	seed_entries();
	seed_events();
	seed_calls();
	seed_others();
	seed_queues();
	seed_rings();
	seed_frames();
}
