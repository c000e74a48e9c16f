/* SPDX-License-Identifier: BSD-3-Clause */

/* Doorbell records: 8 bytes each, one to a cache line, start at zero. */
#ifndef RNIC_CORE_DBREC_H
#define RNIC_CORE_DBREC_H

#include <stdint.h>

struct rnic_dev;

int rnic_dbrec_alloc(struct rnic_dev *dev, void **record, uint64_t *iova);
void rnic_dbrec_free(struct rnic_dev *dev, void *record);

int rnic_dbrecs_create(struct rnic_dev *dev);
void rnic_dbrecs_destroy(struct rnic_dev *dev);

#endif
