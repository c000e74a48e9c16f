/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A driver of the device for tests, as little of one as there can be: an input per object, made of the manual's fields, and
 * its execution by whatever door the test has. Nothing of our driver is in here, and of the device what quick.c has.
 */
#ifndef TEST_DRIVER_DRIVER_H
#define TEST_DRIVER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prm/cmd.h"

/* The door: a test's world has one, and hands it to all calls that execute a command. */
struct drv {
	/*
	 * Execute an input whose header is complete. `out` has `out_bytes`, which are the answer's.
	 * @return RNIC_STATUS_..., or another number if the command was not delivered or is not complete
	 */
	int (*execute)(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes);
};

/* The header of an input. */
void drv_head(void *in, uint16_t opcode, uint16_t op_mod);
/* Execute an input whose answer is a header and a number; number may be NULL. @return see execute() */
int drv_execute(struct drv *drv, void *in, uint32_t in_bytes, uint32_t *number);
/* Commands of 16 bytes both ways; `number` stands at 0x8. */
int drv_simple(struct drv *drv, uint16_t opcode, uint32_t number, uint32_t *result);
int drv_destroy(struct drv *drv, uint16_t opcode, uint32_t number);
/* The same 16 bytes, with an answer of `out_bytes`, zeros where there is none. */
int drv_query(struct drv *drv, uint16_t opcode, uint32_t number, void *out, uint32_t out_bytes);

/*
 * Every object has two calls. drv_x_fill() writes a CREATE_x into zeroed memory, its header included, and returns how many
 * bytes it has, for tests that change it or post it themselves; drv_x_create() executes one.
 */

/* Zeroed memory for an input, of `bytes`; ends the program where there is none. */
void *drv_in(size_t bytes);
/* drv_execute() of an input of drv_in(), which it frees. */
int drv_create(struct drv *drv, void *in, uint32_t in_bytes, uint32_t *number);

/* The pages of a ring, of 4 KiB or of 2^log_page_size bytes: each `step` behind the one before, 0 for one page all over. */
struct drv_pages {
	uint64_t iova;
	uint64_t step;
	uint32_t count;
};
/* Those of `bytes` of memory, 4 KiB each. */
struct drv_pages drv_pages_of(uint64_t iova, size_t bytes);
/* The list behind an input's fixed part of `fixed` bytes; returns the bytes of both. */
uint32_t drv_pages_put(void *in, size_t fixed, const struct drv_pages *pages);

#endif
