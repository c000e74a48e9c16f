/* SPDX-License-Identifier: BSD-3-Clause */

#include "eq.h"

uint32_t
drv_eq_fill(void *in, const struct drv_eq *eq)
{
	struct rnic_eqc *eqc = rnic_create_eq_in_eqc(in);

	drv_head(in, RNIC_CMD_CREATE_EQ, 0);
	rnic_eqc_set(eqc, RNIC_EQC_LOG_EQ_SIZE, eq->log_size);
	rnic_eqc_set(eqc, RNIC_EQC_UAR_PAGE, eq->uar);
	rnic_eqc_set(eqc, RNIC_EQC_INTR, eq->vector);
	rnic_eqc_set(eqc, RNIC_EQC_LOG_PAGE_SIZE, eq->log_page_size);
	rnic_create_eq_in_set(in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0, eq->events);
	return drv_pages_put(in, sizeof(struct rnic_create_eq_in), &eq->ring);
}

int
drv_eq_create(struct drv *drv, const struct drv_eq *eq, uint32_t *eqn)
{
	void *in = drv_in(sizeof(struct rnic_create_eq_in) + eq->ring.count * 8ul);

	return drv_create(drv, in, drv_eq_fill(in, eq), eqn);
}

const struct rnic_eqe *
drv_eqe_next(const void *ring, uint32_t log_size, uint32_t consumer)
{
	const struct rnic_eqe *eqe =
		(const struct rnic_eqe *)ring + (consumer & ((1u << log_size) - 1));
	const uint8_t owner = __atomic_load_n(&eqe->owner, __ATOMIC_ACQUIRE);

	return (owner & 1) == (consumer >> log_size & 1) ? eqe : NULL;
}
