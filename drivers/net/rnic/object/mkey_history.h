/* SPDX-License-Identifier: BSD-3-Clause */

/* Which memory keys were in use lately. Called with the lock of the keys held. */
#ifndef RNIC_OBJECT_MKEY_HISTORY_H
#define RNIC_OBJECT_MKEY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_mkey_history;

int rnic_mkey_history_create(struct rnic_mkey_history **history);
void rnic_mkey_history_destroy(struct rnic_mkey_history *history);
/* Was this key, index << 8 | variant, handed out lately? */
bool rnic_mkey_history_has(struct rnic_mkey_history *history, uint32_t key);
/* It is now. -ENOMEM. */
int rnic_mkey_history_add(struct rnic_mkey_history *history, uint32_t key);

#endif
