/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_EQ_H
#define TEST_DRIVER_EQ_H

#include "driver.h"
#include "prm/cqe.h"

struct drv_eq {
	uint32_t log_size, uar, vector, log_page_size; /* log_page_size: above 4 KiB */
	uint64_t events;			       /* bit n for those of type n */
	struct drv_pages ring;
};

uint32_t drv_eq_fill(void *in, const struct drv_eq *eq);
int drv_eq_create(struct drv *drv, const struct drv_eq *eq, uint32_t *eqn);

/* The event at `consumer`; NULL if there is none yet. */
const struct rnic_eqe *drv_eqe_next(const void *ring, uint32_t log_size, uint32_t consumer);

#endif
