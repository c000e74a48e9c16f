/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "tpt_key.h"

int
key_create(struct hn *hn, const struct key_spec *spec, uint32_t *key)
{
	uint32_t octwords = spec->klms != NULL ? spec->count : (spec->count + 1) / 2;
	uint32_t bytes = sizeof(struct rnic_create_mkey_in) + octwords * 16;
	struct rnic_create_mkey_in *in = calloc(1, bytes);
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(in);
	struct rnic_be64 *list = (struct rnic_be64 *)(in + 1);
	struct rnic_object_out out;
	int status;

	hn_head(in, RNIC_CMD_CREATE_MKEY, 0);
	rnic_mkc_set(mkc, RNIC_MKC_FREE, spec->free);
	rnic_mkc_set(mkc, RNIC_MKC_LR, (spec->access & SOFTRNIC_LOCAL_READ) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_LW, (spec->access & SOFTRNIC_LOCAL_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RR, (spec->access & SOFTRNIC_REMOTE_READ) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RW, (spec->access & SOFTRNIC_REMOTE_WRITE) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_A, (spec->access & SOFTRNIC_REMOTE_ATOMIC) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, spec->mode);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_4_2, spec->mode >> 2);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, spec->qpn != 0 ? spec->qpn : RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, spec->variant);
	rnic_mkc_set(mkc, RNIC_MKC_LENGTH64, spec->length64);
	rnic_mkc_set(mkc, RNIC_MKC_PD, spec->pd);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, spec->start);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, spec->length);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, spec->log_page_size);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, octwords);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_PG_ACCESS, spec->page_rights);
	for (uint32_t i = 0; i < spec->count; i++) {
		if (spec->klms != NULL)
			((struct rnic_klm *)list)[i] = spec->klms[i];
		else
			list[i] = rnic_cpu_to_be64(spec->mtts[i]);
	}
	status = hn_cmd(hn, in, bytes, &out, sizeof(out));
	*key = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER) << 8 | spec->variant;
	free(in);
	return status;
}

uint32_t
key_create_ok(struct hn *hn, const struct key_spec *spec)
{
	uint32_t key;

	assert_int_equal(key_create(hn, spec, &key), RNIC_STATUS_OK);
	return key;
}

struct rnic_klm
key_klm(uint32_t bytes, uint32_t key, uint64_t address)
{
	return (struct rnic_klm){ rnic_cpu_to_be32(bytes), rnic_cpu_to_be32(key),
				  rnic_cpu_to_be64(address) };
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
