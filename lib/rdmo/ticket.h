/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tickets as text:
 *
 *     rdmo/1 ADDRESS id=16 secret=32 key=16 at=16 bytes=16 tail=16 tail-key=16
 *
 * where the numbers are how many hexadecimal digits there are, lower-case, the highest first, and fields are parted by one space: so
 * no part of a ticket is one.
 */
#ifndef RDMO_TICKET_PRIVATE_H
#define RDMO_TICKET_PRIVATE_H

#include <stddef.h>

struct rdmo_ticket;

/* Write one, of room for `size` bytes. Returns 0; -EINVAL it is none; -ENOSPC. */
int rdmo_ticket_write(const struct rdmo_ticket *ticket, char *text, size_t size);

#endif
