/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_MKEY_H
#define TEST_DRIVER_MKEY_H

#include "driver.h"
#include "prm/mkey.h"

/* Rights, each a bit of the context. */
enum drv_access {
	DRV_LR = 0x01,
	DRV_LW = 0x02,
	DRV_RR = 0x04,
	DRV_RW = 0x08,
	DRV_A = 0x10,
};

/* What CREATE_MKEY is told. */
struct drv_mkey {
	enum rnic_mkey_access_mode mode;
	unsigned int access, log_page_size;
	uint32_t pd;
	uint64_t start, length;
	bool length64, free, page_rights;
	/* One of the three, or none: MTTs as they are, KLMs, pages that may be read and written. */
	const uint64_t *mtts;
	const struct rnic_klm *klms;
	struct drv_pages pages;
	uint32_t count; /* of MTTs or KLMs */
	uint8_t variant;
	uint32_t qpn; /* 0: any */
	bool umr, rinval;
	uint32_t room; /* entries that WQEs may fill it with */
	/* Not 0: its pages are this umem's, from so far into it on. */
	uint32_t umem;
	uint64_t umem_at;
};

/* An entry of a list of keys: so many bytes from this address of that key on. */
struct rnic_klm drv_klm(uint32_t bytes, uint32_t key, uint64_t address);

/* Its translations, in octwords, and the bytes of all. */
uint32_t drv_mkey_octwords(const struct drv_mkey *mkey);
size_t drv_mkey_bytes(const struct drv_mkey *mkey);
uint32_t drv_mkey_fill(void *in, const struct drv_mkey *mkey);
/* key: index and variant. */
int drv_mkey_create(struct drv *drv, const struct drv_mkey *mkey, uint32_t *key);
/* The one that stands for all memory by its address on the bus, where a queue may use it; 0 if the device does not tell. */
uint32_t drv_reserved_lkey(struct drv *drv);

#endif
