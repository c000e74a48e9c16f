/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory of the firmware's: pages that the device asks for and gives back. */
#ifndef RNIC_CORE_PAGES_H
#define RNIC_CORE_PAGES_H

#include <stdint.h>

struct rnic_dev;

int rnic_pages_create(struct rnic_dev *dev);
void rnic_pages_destroy(struct rnic_dev *dev);
/* Give what the device asks for at this stage (enum rnic_query_pages_op_mod). */
int rnic_pages_give(struct rnic_dev *dev, unsigned int stage);
/* Take all pages back, until the device holds none. Else it must be reset before rnic_pages_destroy() unmaps them. */
int rnic_pages_reclaim(struct rnic_dev *dev);
/* A page request event: count pages wanted, or offered back if negative. Only noted. */
void rnic_pages_request(struct rnic_dev *dev, uint16_t function, int32_t count);
/* Ask what its requests would have been, should they have got lost. Only noted. */
void rnic_pages_query(struct rnic_dev *dev);
/* Do what was asked since. */
void rnic_pages_answer(struct rnic_dev *dev);
uint32_t rnic_pages_held(struct rnic_dev *dev);

#endif
