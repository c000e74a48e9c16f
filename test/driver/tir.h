/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_TIR_H
#define TEST_DRIVER_TIR_H

#include "driver.h"
#include "prm/queue.h"

#define DRV_TOEPLITZ_BYTES 40

struct drv_tir {
	uint32_t td;
	uint32_t rqn;  /* direct, or */
	uint32_t rqtn; /* indirect if it is not 0, and all that follows is of such */
	uint32_t hash; /* RNIC_RX_HASH_... */
	bool symmetric;
	uint32_t fields;    /* that are hashed, of the outer headers */
	const uint8_t *key; /* of DRV_TOEPLITZ_BYTES; NULL: zeros */
	uint32_t self_lb_block;
};

/* Of MODIFY_TIR: what changes. */
#define DRV_TIR_TABLE 0x2
#define DRV_TIR_HASH  RNIC_MODIFY_TIR_HASH

uint32_t drv_tir_fill(void *in, const struct drv_tir *tir);
int drv_tir_create(struct drv *drv, const struct drv_tir *tir, uint32_t *tirn);
int drv_tir_modify(struct drv *drv, uint32_t tirn, uint64_t what, const struct drv_tir *tir);

#endif
