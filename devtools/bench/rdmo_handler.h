/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a worker does with a message when it has come: reads its operations, executes them, publishes the tail, writes the answers. In
 * memory alone, without a device, a queue pair or a poll: what the others are measured against.
 */
#ifndef RDMO_HANDLER_H
#define RDMO_HANDLER_H

#include <stdint.h>

struct rdmo_handler;

/*
 * A message of `count` APPENDs of `bytes` each, to a queue of its own; it is to fit into 4 KiB.
 *
 * @return 0; -EINVAL it does not; -ENOMEM
 */
int rdmo_handler_open(uint32_t count, uint32_t bytes, struct rdmo_handler **handler);
void rdmo_handler_close(struct rdmo_handler *handler); /* NULL is allowed */

/* Handle it once more. Returns how many operations, or -1: one has failed. */
int64_t rdmo_handler_handle(struct rdmo_handler *handler);

#endif
