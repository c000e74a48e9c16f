/* SPDX-License-Identifier: BSD-3-Clause */

/* A long cable. */
#ifndef SOFTRNIC_DELAY_H
#define SOFTRNIC_DELAY_H

#include "softrnic/wire/held.h"

#define SOFTRNIC_DELAY_US_MAX 10000000
/* For frames on their way: each takes its bytes, or its payload's, and some 300 more. */
#define SOFTRNIC_DELAY_ROOM (4u << 20)

/* -ENOMEM */
int softrnic_delay_init(struct softrnic_delay *delay, uint32_t us);
void softrnic_delay_fini(struct softrnic_delay *delay);
static inline bool
softrnic_delay_is_on(const struct softrnic_delay *delay)
{
	return delay->room != NULL;
}
/* It is on its way from dev->now on. What there is no room for is lost, and counted. */
void softrnic_delay_put(struct softrnic *dev, const struct softrnic_frame *frame);
void softrnic_delay_put_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame);
/* Send what has arrived; the work done, or 1 if there is more to come. */
unsigned int softrnic_delay_poll(struct softrnic *dev);

#endif
