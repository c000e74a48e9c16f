/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "softrnic/memory/tpt.h"
#include "tpt_key.h"

_Static_assert((int)DRV_LR == SOFTRNIC_LOCAL_READ && (int)DRV_LW == SOFTRNIC_LOCAL_WRITE &&
		       (int)DRV_RR == SOFTRNIC_REMOTE_READ &&
		       (int)DRV_RW == SOFTRNIC_REMOTE_WRITE && (int)DRV_A == SOFTRNIC_REMOTE_ATOMIC,
	       "rights are given in the device's bits, too");

int
key_create(struct hn *hn, const struct drv_mkey *spec, uint32_t *key)
{
	return drv_mkey_create(&hn->drv, spec, key);
}

uint32_t
key_create_ok(struct hn *hn, const struct drv_mkey *spec)
{
	uint32_t key;

	assert_int_equal(key_create(hn, spec, &key), RNIC_STATUS_OK);
	return key;
}

uint8_t *
piece_byte(const struct iovec *iov, int count, uint64_t at)
{
	for (int i = 0; i < count; i++) {
		if (at < iov[i].iov_len)
			return (uint8_t *)iov[i].iov_base + at;
		at -= iov[i].iov_len;
	}
	fail_msg("pieces are too short");
	return NULL;
}

uint64_t
piece_total(const struct iovec *iov, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

static uint64_t seed = 88172645463325252u;

uint64_t
key_random(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}
