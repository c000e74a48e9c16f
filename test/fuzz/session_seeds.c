/* SPDX-License-Identifier: BSD-3-Clause */

/* Seeds of fuzz-session: two clients that work with each other, and what may come between. */
#include "session.h"
#include "fuzz.h"
#include "softrnic/hca/cmd_table.h"

#define OTHER 0x80

static struct fuzz_seed seed;

/* Both clients have queues of all kinds, and what they send each other arrives. Then `what` happens, and all goes on. */
static void
seed_session(uint8_t flags, const char *name, const uint8_t *what, size_t bytes)
{
	unsigned int other;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	for (other = 0; other <= OTHER; other += OTHER) {
		PUT(&seed, (uint8_t)(OP_CQ | other), 6, (uint8_t)(OP_CQ | other), 6,
		    (uint8_t)(OP_SQ | other), 0, 0x29, (uint8_t)(OP_RQ | other), 1, 0x14);
		PUT(&seed, (uint8_t)(OP_STEER | other), 0, (uint8_t)(OP_QP | other), 0x10, 0x13,
		    (uint8_t)(OP_KEY | other), 3, 15);
		PUT(&seed, (uint8_t)(OP_SRQ | other), 2, (uint8_t)(OP_QP | other), 0, 0x83);
	}
	for (other = 0; other <= OTHER; other += OTHER)
		PUT(&seed, (uint8_t)(OP_CONNECT | other), 0, 0, (uint8_t)(OP_CONNECT | other), 1,
		    1);
	for (unsigned int round = 0; round < 2; round++) {
		for (other = 0; other <= OTHER; other += OTHER) {
			PUT(&seed, (uint8_t)(OP_POST | other), 0, 5, 0, 8, 0,
			    (uint8_t)(OP_POST | other), 0x80, 5, 0, 8, 0);
			PUT(&seed, (uint8_t)(OP_POST | other), 0xc0, 5, 0, 8, 0,
			    (uint8_t)(OP_ARM | other), 0, (uint8_t)(OP_ARM | other), 1);
		}
		for (other = 0; other <= OTHER; other += OTHER) {
			PUT(&seed, (uint8_t)(OP_SEND | other), 0, 0, 1, 5, 100, 0, 0,
			    (uint8_t)(OP_RING | other), 0);
			for (uint8_t opcode = 0; opcode < 6; opcode++)
				PUT(&seed, (uint8_t)(OP_SEND | other), 0x80, opcode, 1, 5, 8, 0, 0);
			PUT(&seed, (uint8_t)(OP_RING | other), 0x80, (uint8_t)(OP_SEND | other),
			    0x81, 0, 1, 5, 16, 1, 0, (uint8_t)(OP_RING | other), 0x81);
		}
		PUT(&seed, OP_POLL, 15, OP_REAP, 0, OP_REAP, 1, OP_REAP | OTHER, 0, OP_REAP | OTHER,
		    1);
		if (round == 0)
			fuzz_put(&seed, what, bytes);
	}
	fuzz_seed_write(&seed, "%s-%02x", name, flags);
}

#define SESSION(flags, name, ...)                                   \
	seed_session(flags, name, (const uint8_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Each command, after three others, without a mailbox. */
static void
seed_commands(void)
{
	char name[32];

	for (unsigned int row = 0; row < softrnic_cmd_table_size; row += 4) {
		uint8_t opcodes[4][2];

		for (unsigned int i = 0; i < 4; i++) {
			uint16_t opcode =
				softrnic_cmd_table[(row + i) % softrnic_cmd_table_size].opcode;

			opcodes[i][0] = (uint8_t)opcode;
			opcodes[i][1] = (uint8_t)(opcode >> 8);
		}
		snprintf(name, sizeof(name), "command-%u", row);
		SESSION(0, name, OP_COMMAND, opcodes[0][0], opcodes[0][1], 16, 0, OP_COMMAND,
			opcodes[1][0], opcodes[1][1], 0, 1, OP_COMMAND, opcodes[2][0],
			opcodes[2][1], 0, 2, OP_UNMAP, 5, OP_COMMAND, opcodes[3][0], opcodes[3][1],
			0, 1);
	}
}

void
fuzz_seeds_write(void)
{
	char name[32];
	uint8_t i;

	for (i = 0; i < 16; i++)
		SESSION(i, "traffic", OP_POLL, 1);
	for (i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "unmap-%u", i);
		SESSION(0, name, OP_UNMAP, i, OP_POLL, 4, OP_MAP, i, i);
		snprintf(name, sizeof(name), "between-%u", i);
		SESSION(4, name, OP_SEND | OTHER, 0x80, 1, 1, 5, 100, 1, 0, OP_RING | OTHER, 0x80,
			OP_UNMAP, i, OP_POLL, 4, OP_BUS, 0, OP_POLL, 2, OP_BUS, 1, OP_MAP, i, 0);
	}
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "destroy-%u", i);
		SESSION(1, name, OP_DESTROY, i, 0, OP_POLL, 3, OP_STATE, (uint8_t)(i << 5), 9,
			OP_STATE | OTHER, (uint8_t)(i << 5), 4);
	}
	for (i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "change-%u", i);
		SESSION(0, name, OP_CHANGE, i & 1, (uint8_t)(i * 16 + 1), OP_CHANGE, i & 1,
			(uint8_t)(i << 2 | 2), OP_CHANGE, 0, 0);
	}
	seed_commands();
	SESSION(0, "many", OP_MANY, 200, OP_MANY, 255, OP_MANY, 3, OP_MANY, 70, OP_MANY, 0);
	SESSION(0, "reset", OP_RESET, OP_POLL, 3, OP_SESSION | OTHER, 0);
	SESSION(0, "session", OP_SESSION, 0, OP_CQ, 4, OP_QP, 0, 0x13, OP_CONNECT, 0, 0, OP_SESSION,
		1);
	SESSION(0, "vanish", OP_VANISH, OP_POLL, 3, OP_SESSION, 1);
	SESSION(0, "bytes", OP_BYTES, 6, 0, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
		15, 16, OP_POLL, 4);
}
