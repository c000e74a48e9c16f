/* SPDX-License-Identifier: BSD-3-Clause */

/* UAR pages, and the doorbell (BlueFlame) registers in them: who has which. */
#ifndef RNIC_CORE_UAR_H
#define RNIC_CORE_UAR_H

#include <stddef.h>
#include <stdint.h>

struct rnic_bfreg;
struct rnic_dev;

/*
 * One of these kinds (a mask), low-latency before dynamic; where there is none, a shared one: it never fails. Threads: any.
 * May execute a command.
 */
struct rnic_bfreg *rnic_bfreg_alloc(struct rnic_dev *dev, unsigned int kinds);
/* Another user of one that the caller knows to be in use. It is given back as often as it was had. */
struct rnic_bfreg *rnic_bfreg_share(struct rnic_dev *dev, struct rnic_bfreg *reg);
/* A thread domain's, as another user of it, if there is one; else one of these kinds. */
static inline struct rnic_bfreg *
rnic_bfreg_take(struct rnic_dev *dev, struct rnic_bfreg *domain, unsigned int kinds)
{
	return domain != NULL ? rnic_bfreg_share(dev, domain) : rnic_bfreg_alloc(dev, kinds);
}
/* The device's answer when a page without users is freed; else 0. NULL is allowed. */
int rnic_bfreg_free(struct rnic_dev *dev, struct rnic_bfreg *reg);

#define RNIC_BF_DYNAMIC_REGS 1024 /* beside them, at most */
int rnic_uars_create(struct rnic_dev *dev);
void rnic_uars_destroy(struct rnic_dev *dev);
/* The page that CQs name for their arm doorbell, and the register in it. */
uint32_t rnic_uars_cq_page(struct rnic_dev *dev);
volatile void *rnic_uars_cq_register(struct rnic_dev *dev);
/* Registers that are in use, of each kind; shared ones by how many. */
struct rnic_uars_usage {
	uint32_t low_latency, dynamic, dynamic_pages, shared_users;
};
void rnic_uars_usage(struct rnic_dev *dev, struct rnic_uars_usage *usage);

#endif
