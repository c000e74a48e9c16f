/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA's control half alone: the test stands in the place of the command interface, of memory, records and registers. It
 * sees the bytes of each command, at the offsets that the PRM has for them, and may refuse one.
 */
#ifndef RDMA_COMMANDS_H
#define RDMA_COMMANDS_H

#include "rdma_rings.h"

#include "core/dev.h"
#include "object/q_counter.h"
#include "prm/cmd.h"
#include "rdma/rdma.h"

#define COMMANDS_NUMBER	     0x000123 /* of whatever is created: RINGS_QPN */
#define COMMANDS_MEMORY_IOVA 0x123456000
#define COMMANDS_RECORD_IOVA 0x654321040
#define COMMANDS_EQN	     0x000055
#define COMMANDS_UAR	     0x000077

struct command {
	uint16_t opcode, op_mod;
	uint8_t in[0x200];
	uint32_t bytes;
};
extern struct command commands[64];
extern unsigned int commands_count, commands_refused_at; /* from 1; 0: none is */
extern uint8_t commands_answer[0x200];
/* What the device does while it executes a command; may be NULL. */
extern void (*commands_during)(const struct command *command);
/* Memory, records and registers that are in use; the memory that was given out last. */
unsigned int commands_resources(void);
extern void *commands_memory;
extern uint64_t commands_record;
/* Addresses that the port lets in, and the one that came or went last; its MTU. */
extern unsigned int commands_macs;
extern uint8_t commands_mac[6];
extern uint16_t commands_mtu;
/* Events of the port. */
extern unsigned int commands_gid_changes;
/* Addresses for which neighbours are asked and answered. */
extern unsigned int commands_neighbours;
/* What neighbours were told last: the address that is there, the one that is not, how often the MAC is another. */
extern uint8_t commands_own[16], commands_not_own[16];
extern unsigned int commands_mac_changes;

/* A command that was executed: what it was, how long; its bytes. */
const uint8_t *commands_expect(unsigned int index, enum rnic_cmd_opcode opcode, uint32_t bytes);

/* A device, a PD, a CQ. */
struct world {
	struct rnic_dev dev;
	struct rnic_rdma rdma;
	struct rnic_q_counters counters;
	struct rdmapmd_context context;
	struct rdmapmd_pd pd;
	struct rings *rings; /* whose CQ it is */
	struct rnic_rdma_qp qp;
	struct rnic_rdma_srq srq;
};
extern const struct rdmapmd_qp_sizing commands_sizing;

/* Setup and teardown of a test; bare: the port has no addresses. Else it has four. */
int commands_setup_bare(void **state);
int commands_setup(void **state);
/* Nothing must be in use any more. */
int commands_teardown(void **state);
void commands_create_qp(struct world *world);

#endif
