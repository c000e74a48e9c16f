/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Tickets: what a target gives to initiators, as a line of text. rdmo.h includes this; what holds for every call stands there.
 *
 * Source: none; the document leaves it to applications how addresses and keys get to initiators.
 */
#ifndef RDMO_TICKET_H
#define RDMO_TICKET_H

#include <stddef.h>
#include <stdint.h>

#include <rte_compat.h>

#include "rdmo_wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rdmo_target;

/** Bytes of an address at most, with the 0 behind it. */
#define RDMO_ADDRESS_BYTES 128

/** Bytes of a ticket as text at most, with the 0 behind it. */
#define RDMO_TICKET_BYTES 384

/** All that an initiator needs, to use one region of a target: memory to scatter to, or a queue. */
struct rdmo_ticket {
	char address[RDMO_ADDRESS_BYTES];  /**< the worker's, for struct rdmo_connect_attr */
	uint8_t secret[RDMO_SECRET_BYTES]; /**< of the receive queue, likewise */
	uint64_t id;			   /**< of the target: its number at the worker */
	uint64_t key;			   /**< of the region; not 0 */
	uint64_t at;			   /**< the region's first byte, in the target */
	uint64_t bytes;			   /**< of the region, 1 and more */
	uint64_t tail; /**< of a queue: where its tail is in the target, a multiple of 8; else 0 */
	uint64_t tail_key; /**< of a queue: the key for that; else 0 */
};

/**
 * Make a ticket: a line of text, without its end, to be given to initiators by a way that others do not hear.
 *
 * Threads: as rdmo_target_open(). Blocks: never.
 *
 * @param target A target, whose worker's address and whose id the ticket will have.
 * @param ticket The rest; its address and id are not looked at.
 * @param text   Out: the ticket.
 * @param size   Its room: RDMO_TICKET_BYTES are enough.
 * @return 0; -EINVAL there cannot be such a ticket, or the worker's address has spaces in it; -ENOSPC there is no room.
 */
__rte_experimental int rdmo_ticket_get(const struct rdmo_target *target,
				       const struct rdmo_ticket *ticket, char *text, size_t size);

/**
 * Read a ticket. Nothing is believed: what is not just as rdmo_ticket_get() writes it is none. A newline may be behind it.
 *
 * Threads: any. Blocks: never.
 *
 * @param text   The ticket.
 * @param ticket Out: all members; not touched on error.
 * @return 0; -EINVAL it is none.
 */
__rte_experimental int rdmo_ticket_parse(const char *text, struct rdmo_ticket *ticket);

#ifdef __cplusplus
}
#endif

#endif
