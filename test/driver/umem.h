/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_UMEM_H
#define TEST_DRIVER_UMEM_H

#include "driver.h"

struct drv_umem {
	uint32_t log_page_size; /* 12 or more */
	uint32_t offset;	/* of its first byte in the first page */
	struct drv_pages pages; /* with rights in the lower bits */
};

uint32_t drv_umem_fill(void *in, const struct drv_umem *umem);
int drv_umem_create(struct drv *drv, const struct drv_umem *umem, uint32_t *number);

/*
 * Of an input that creates a queue at addresses: those are in the umem, whose first byte is at `begin`, and the pages that it lists,
 * which are neighbours, are left out. Other inputs stay as they are. @return the bytes of the input
 */
uint32_t drv_umem_move(void *in, uint32_t in_bytes, uint32_t umem, uint64_t begin);

#endif
