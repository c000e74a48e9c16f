/* SPDX-License-Identifier: BSD-3-Clause */

/* Doorbells: registers that drivers write to UAR pages. */
#ifndef SOFTRNIC_DOORBELL_H
#define SOFTRNIC_DOORBELL_H

#include "softrnic/base/device.h"

/* Doorbells -> active queues -> WQEs. The work done. */
unsigned int softrnic_doorbells_poll(struct softrnic *dev);
/* A BlueFlame, CQ-arm or EQ register was written through the BAR. The offset counts from uar_memory, not from BAR0. */
int softrnic_doorbell_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length);

#endif
