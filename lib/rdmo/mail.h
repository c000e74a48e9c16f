/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A lane's mail: connections that others hand to it. It has room for all that there are, so nothing is ever refused. What the sender
 * has stored before is seen by who takes it.
 *
 * Threads: any may put; one takes.
 */
#ifndef RDMO_MAIL_H
#define RDMO_MAIL_H

#include <stdint.h>

struct rte_ring;

/* `max`: what can be in it at most. Returns 0, -ENOMEM, -EINVAL. */
int rdmo_mail_open(struct rte_ring **mail, uint32_t max);
/* NULL is allowed. */
void rdmo_mail_close(struct rte_ring *mail);

void rdmo_mail_put(struct rte_ring *mail, void *object);

/* Returns how many were taken, up to `max`. */
uint32_t rdmo_mail_take(struct rte_ring *mail, void **objects, uint32_t max);

#endif
