/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The other half of a round, operate.c: what each operation does. Checks against the regions of its target, then copies, reservations,
 * changes of numbers in memory of this process; for other memory what its round is to write, read, fetch or change.
 *
 * Threads: as the round's.
 */
#ifndef RDMO_ROUND_PRIVATE_H
#define RDMO_ROUND_PRIVATE_H

#include "round.h"

/*
 * Execute an operation, as rdmo_round_execute(), whose result is begun. `round->elsewhere` other than RDMO_HERE: nothing was done, and the
 * status means nothing.
 */
enum rdmo_status rdmo_operate(struct rdmo_round *round, const struct rdmo_map *regions,
			      const struct rdmo_request *request, struct rdmo_result *result);

/* At the tail of a remote queue that others move as well, which is `tail` as far as is known: what is reserved by the round's atomic. */
enum rdmo_status rdmo_share_ask(struct rdmo_round *round, uint64_t tail);

/* It is reserved from there on: the payload follows. */
void rdmo_share_fill(struct rdmo_round *round, uint64_t to);

#endif
