/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys of every kind by CREATE_MKEY, and what a translation gave. */
#ifndef TEST_DEVICE_TPT_KEY_H
#define TEST_DEVICE_TPT_KEY_H

#include <sys/uio.h>

#include "harness.h"

int key_create(struct hn *hn, const struct drv_mkey *spec, uint32_t *key);
uint32_t key_create_ok(struct hn *hn, const struct drv_mkey *spec);

/* Where byte `at` of the pieces is; fails the test if they are too short. */
uint8_t *piece_byte(const struct iovec *iov, int count, uint64_t at);
uint64_t piece_total(const struct iovec *iov, int count);

/* 0 .. below - 1, the same in each run. */
uint64_t key_random(uint64_t below);

#endif
