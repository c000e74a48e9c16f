/* SPDX-License-Identifier: BSD-3-Clause */

/* Keys of memory windows. */
#ifndef RNIC_MKEY_WINDOW_H
#define RNIC_MKEY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;

/* A key that WQEs bind to others, free until then; rinval: peers may invalidate it. */
int rnic_mkey_window_create(struct rnic_dev *dev, uint32_t pd, bool rinval, uint32_t *key);
/* key: as it is now. */
int rnic_mkey_window_destroy(struct rnic_dev *dev, uint32_t key);

#endif
