/* SPDX-License-Identifier: BSD-3-Clause */

/* A target with a queue and memory, its regions, a connection's operations, and a round that executes them. */
#ifndef UNIT_RDMO_ROUND_WORLD_H
#define UNIT_RDMO_ROUND_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "main.h"
#include "rdmo/round.h"

#define ID     UINT64_C(0xa1)
#define CLIENT UINT64_C(5)
#define RQ     UINT64_C(9)
#define QUEUE  1024
#define ALL    RDMO_RIGHTS_ALL

enum { PTR_KEY = 100, DATA_KEY, WRITE_KEY, READ_KEY, FOREIGN_KEY, OTHER_RQ_KEY, HERE_KEY };

struct rdmo_round_world {
	struct {
		rte_le64_t tail, other_tail;
		uint8_t queue[QUEUE], memory[QUEUE];
	} target;
	struct rdmo_map regions;
	struct rdmo_region table[7];
	struct rdmo_flow flow;
	struct rdmo_round round;
	_Alignas(8) uint8_t message[8192];
	struct rdmo_writer writer;
	uint64_t next_seq;
	bool is_done; /* the last operation that was run */
};

extern struct rdmo_round_world world;

/* Of cmocka. */
int round_set_up(void **state);
int round_tear_down(void **state);

/* Add to the message. */
void round_add_append(uint64_t id, uint32_t flags, const void *word, uint64_t ptr_key,
		      uint64_t data_key, const void *payload, uint32_t bytes);
void round_append_text(const char *text);
void round_add_flush(uint32_t flags, uint64_t key);
void round_add_atomic(uint32_t op_id, const void *at, uint64_t key, uint64_t operand,
		      uint64_t swap);
void round_add_scatter(const struct rdmo_scatter_iov *iovs, const void *const *data,
		       uint32_t count);
void round_add_put(const void *at, uint64_t key, const void *number, uint64_t number_key,
		   uint32_t kind, uint64_t value, const char *payload);
struct rdmo_scatter_iov round_piece(const void *at, uint64_t key, uint32_t len);

/* Execute what was written, in one round that is not settled; those that are alike one by one, or at once. */
void round_run_by(bool at_once);
void round_run(void);

/* An append of one byte, by another round. False: it did not execute it. */
bool round_append_by(struct rdmo_round *round);

/* Bytes behind the queue's beginning, of its tail. */
uint64_t round_tail_at(void);

/* What an operation has come to. */
void round_expect(uint32_t i, enum rdmo_status status, uint64_t value);

#endif
