/* SPDX-License-Identifier: BSD-3-Clause */

/* The world of rdmo_world.h with a log: what producers append, and what its reader finds. */
#ifndef E2E_RDMO_LOG_WORLD_H
#define E2E_RDMO_LOG_WORLD_H

#include "rdmo_world.h"

#define RDMO_CAPACITY  (1u << 16)
#define RDMO_PRODUCERS 3u

struct rdmo_log_world {
	struct rdmo_log *log;
	void *memory;
	struct rdmo_log_info info;
};

extern struct rdmo_log_world rdmo_the;

/* The target's log, in the memory that there is. */
void rdmo_log_start(uint64_t capacity);

/* Setup and teardown of cmocka. */
int rdmo_log_world_open(void **state);
int rdmo_log_world_close(void **state);

/* As rdmo_connect(). */
int rdmo_producer_try(const uint8_t *secret, uint32_t producer, struct rdmo_conn **conn);
struct rdmo_conn *rdmo_producer_of(uint32_t producer);

/* An APPEND to the log. */
struct rdmo_op rdmo_record_of(uint64_t user_data, const void *payload, uint32_t length);

/* The next record, of which there is one. */
struct rdmo_log_record rdmo_read_one(void);
void rdmo_expect_record(uint32_t producer, uint64_t seq, const char *payload);

#endif
