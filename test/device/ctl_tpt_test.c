/* SPDX-License-Identifier: BSD-3-Clause */

/* Translation and protection: every access mode against an oracle that counts in 128 bits, and every refusal. */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"
#include "softrnic/device.h"
#include "softrnic/tpt.h"

#define READ  SOFTRNIC_LOCAL_READ
#define WRITE SOFTRNIC_LOCAL_WRITE
#define MAX   512

static int
setup(void **state)
{
	static struct hn hn;

	hn_start(&hn, NULL, NULL);
	hn_bring_up(&hn);
	*state = &hn;
	return 0;
}

static int
teardown(void **state)
{
	hn_stop(*state);
	return 0;
}

/* What CREATE_MKEY is told. */
struct key_spec {
	unsigned int mode, access, log_page_size;
	uint32_t pd, count; /* of MTTs or KLMs */
	uint64_t start, length;
	bool length64, free, page_rights;
	const uint64_t *mtts;
	const struct rnic_klm *klms;
	uint8_t variant;
	uint32_t qpn;
};

static int
create(struct hn *hn, const struct key_spec *spec, uint32_t *key)
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
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, (spec->access & WRITE) != 0);
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

static uint32_t
create_ok(struct hn *hn, const struct key_spec *spec)
{
	uint32_t key;

	assert_int_equal(create(hn, spec, &key), RNIC_STATUS_OK);
	return key;
}

static int
translate(struct hn *hn, uint32_t key, uint32_t pd, uint64_t va, uint32_t length,
	  unsigned int access, struct iovec *iov, int max)
{
	uint8_t *quick = softrnic_tpt_flat(hn->dev, key, pd, va, length, access);
	int count = softrnic_tpt_translate(hn->dev, key, pd, va, length, access, iov, max);

	/* The quick way knows less, and nothing else. */
	if (quick != NULL && length > 0) {
		assert_int_equal(count, 1);
		assert_ptr_equal(quick, iov[0].iov_base);
		assert_int_equal(iov[0].iov_len, length);
	}
	return count;
}

/* Where byte `at` of the pieces is. */
static uint8_t *
byte_of(const struct iovec *iov, int count, uint64_t at)
{
	for (int i = 0; i < count; i++) {
		if (at < iov[i].iov_len)
			return (uint8_t *)iov[i].iov_base + at;
		at -= iov[i].iov_len;
	}
	fail_msg("pieces are too short");
	return NULL;
}

static uint64_t
total(const struct iovec *iov, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

static uint64_t seed = 88172645463325252u;

static uint64_t
rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* ---- Against the oracle ---- */

/* A key of scattered pages; start and end may be the ends of the address space. */
static void
scattered_spec(struct hn *hn, struct key_spec *spec, uint64_t *mtts, uint32_t pd)
{
	unsigned int log = 12 + rnd(4);
	uint64_t page = UINT64_C(1) << log, arena = hn_alloc(hn, 8 * page, page);
	uint32_t pages = 1 + rnd(6);
	uint64_t skip = rnd(page);

	for (uint32_t i = 0; i < pages; i++)
		mtts[i] = (arena + rnd(8) * page) | RNIC_MTT_READ | RNIC_MTT_WRITE;
	*spec = (struct key_spec){
		.mode = RNIC_MKEY_MTT,
		.access = WRITE,
		.log_page_size = log,
		.pd = pd,
		.count = pages,
		.mtts = mtts,
		.variant = rnd(256),
	};
	switch (rnd(3)) {
	case 0: spec->start = skip; break;
	case 1: spec->start = 0 - pages * page + skip; break;
	default: spec->start = rnd(UINT64_MAX / page - 16) * page + skip; break;
	}
	spec->length = 1 + rnd(pages * page - skip);
	if (rnd(2) == 0)
		spec->length = pages * page - skip;
}

/* An address and a length near the region's edges, inside and outside. */
static void
near_edges(const struct key_spec *spec, uint64_t *va, uint32_t *length)
{
	const uint64_t points[] = { spec->start, spec->start + spec->length,
				    spec->start + rnd(spec->length), 0, UINT64_MAX };

	*va = points[rnd(5)] + rnd(5) - 2;
	switch (rnd(4)) {
	case 0: *length = rnd(4); break;
	case 1: *length = spec->start + spec->length - *va + rnd(3) - 1; break;
	case 2: *length = rnd(spec->length + 1); break;
	default: *length = UINT32_MAX - rnd(3); break;
	}
}

static void
mtt_against_128_bits(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	unsigned int inside = 0, outside = 0;

	for (unsigned int k = 0; k < 60; k++) {
		struct key_spec spec;
		uint64_t mtts[8];
		uint32_t key;

		scattered_spec(hn, &spec, mtts, pd);
		key = create_ok(hn, &spec);
		for (unsigned int i = 0; i < 400; i++) {
			unsigned __int128 first, end, limit;
			struct iovec iov[MAX];
			uint32_t length;
			uint64_t va;
			int count;

			near_edges(&spec, &va, &length);
			first = va;
			end = first + length;
			limit = (unsigned __int128)spec.start + spec.length;
			count = translate(hn, key, pd, va, length, WRITE, iov, MAX);
			if (first < spec.start || end > limit) {
				assert_int_equal(count, -EFAULT);
				outside++;
				continue;
			}
			assert_true(count >= (length > 0));
			assert_true(total(iov, count) == length);
			inside++;
			for (unsigned int n = 0; n < 6 && length > 0; n++) {
				uint64_t at = n == 0 ? 0 : n == 1 ? length - 1 : rnd(length);
				unsigned __int128 page = first + at;
				uint64_t iova;

				page = (page >> spec.log_page_size) -
				       (spec.start >> spec.log_page_size);
				iova = (mtts[page] & RNIC_MTT_ADDRESS_MASK) +
				       ((va + at) & ((UINT64_C(1) << spec.log_page_size) - 1));
				assert_ptr_equal(byte_of(iov, count, at), hn_va(hn, iova));
			}
		}
		assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
	}
	/* A test that saw only one kind of address proves nothing. */
	assert_true(inside > 2000 && outside > 2000);
}

static void
pa_is_the_dma_map(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint32_t key = create_ok(
		hn, &(struct key_spec){
			    .mode = RNIC_MKEY_PA, .access = WRITE, .pd = pd, .length64 = true });
	uint64_t end = hn->iova + HN_MEMORY_BYTES;
	struct iovec iov[4];

	assert_int_equal(translate(hn, key, pd, hn->iova + 5, 1000, WRITE, iov, 4), 1);
	assert_ptr_equal(iov[0].iov_base, hn->memory + 5);
	assert_int_equal(iov[0].iov_len, 1000);
	assert_int_equal(translate(hn, key, pd, end - 10, 10, WRITE, iov, 4), 1);
	assert_int_equal(translate(hn, key, pd, end - 10, 11, WRITE, iov, 4), -EFAULT);
	assert_int_equal(translate(hn, key, pd, hn->iova - 1, 2, READ, iov, 4), -EFAULT);
	assert_int_equal(translate(hn, key, pd, UINT64_MAX, 2, READ, iov, 4), -EFAULT);
	assert_int_equal(translate(hn, key, pd, UINT64_MAX, 1, READ, iov, 4), -EFAULT);
	/* And the reserved key, for queues that may use it. */
	assert_int_equal(translate(hn, SOFTRNIC_RESERVED_LKEY, 0, end - 10, 10, WRITE, iov, 4), 1);
	assert_int_equal(translate(hn, SOFTRNIC_RESERVED_LKEY, 0, end - 10, 11, WRITE, iov, 4),
			 -EFAULT);
}

static struct rnic_klm
klm(uint32_t bytes, uint32_t key, uint64_t address)
{
	return (struct rnic_klm){ rnic_cpu_to_be32(bytes), rnic_cpu_to_be32(key),
				  rnic_cpu_to_be64(address) };
}

static void
klm_chains_other_keys(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t a = hn_alloc(hn, 8192, 4096), b = hn_alloc(hn, 3 * 4096, 4096) + 4096;
	uint32_t key_a = hn_create_mkey(hn, pd, a, 8192, true);
	uint32_t key_b = hn_create_mkey(hn, pd, b, 8192, true);
	const struct rnic_klm list[] = { klm(100, key_a, a + 50), klm(4000, key_b, b),
					 klm(1000, key_a, a + 4000) };
	struct key_spec spec = { .mode = RNIC_MKEY_KLM,
				 .access = WRITE,
				 .pd = pd,
				 .count = 3,
				 .klms = list,
				 .start = 0 - UINT64_C(5100),
				 .length = 5100 };
	uint32_t key = create_ok(hn, &spec), nested;
	const struct rnic_klm around[] = { klm(5000, key, spec.start + 100) };
	struct key_spec outer = { .mode = RNIC_MKEY_KLM,
				  .access = WRITE,
				  .pd = pd,
				  .count = 1,
				  .klms = around,
				  .start = 7,
				  .length = 5000 };
	struct iovec iov[8];

	assert_int_equal(translate(hn, key, pd, spec.start, 5100, WRITE, iov, 8), 3);
	assert_ptr_equal(byte_of(iov, 3, 0), hn_va(hn, a + 50));
	assert_ptr_equal(byte_of(iov, 3, 100), hn_va(hn, b));
	assert_ptr_equal(byte_of(iov, 3, 4099), hn_va(hn, b + 3999));
	assert_ptr_equal(byte_of(iov, 3, 5099), hn_va(hn, a + 4999));
	assert_int_equal(translate(hn, key, pd, spec.start + 4100, 1000, WRITE, iov, 8), 1);
	assert_ptr_equal(iov[0].iov_base, hn_va(hn, a + 4000));
	assert_int_equal(translate(hn, key, pd, spec.start, 5100, WRITE, iov, 2), -E2BIG);
	assert_int_equal(translate(hn, key, pd, spec.start + 1, 5100, WRITE, iov, 8), -EFAULT);
	/* Keys of keys. */
	nested = create_ok(hn, &outer);
	assert_int_equal(translate(hn, nested, pd, 7, 5000, WRITE, iov, 8), 2);
	assert_ptr_equal(byte_of(iov, 2, 0), hn_va(hn, b));
	/* The inner key goes: an access refused, not a crash. */
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key_b >> 8), 0);
	assert_int_equal(translate(hn, nested, pd, 7, 5000, WRITE, iov, 8), -EACCES);
	assert_int_equal(translate(hn, nested, pd, 7 + 4000, 1000, WRITE, iov, 8), 1);
}

static void
ksm_chains_equal_pieces(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t memory = hn_alloc(hn, 16 * 4096, 4096);
	uint32_t inner = hn_create_mkey(hn, pd, memory, 16 * 4096, true);
	const struct rnic_klm list[] = { klm(0, inner, memory + 3 * 4096), klm(0, inner, memory),
					 klm(0, inner, memory + 7 * 4096) };
	struct key_spec spec = { .mode = RNIC_MKEY_KSM,
				 .access = WRITE,
				 .pd = pd,
				 .count = 3,
				 .klms = list,
				 .log_page_size = 12,
				 .start = 0x1000 - 96,
				 .length = 2 * 4096 + 96 };
	uint32_t key = create_ok(hn, &spec);
	struct iovec iov[8];

	assert_int_equal(translate(hn, key, pd, spec.start, spec.length, WRITE, iov, 8), 3);
	assert_ptr_equal(byte_of(iov, 3, 0), hn_va(hn, memory + 4 * 4096 - 96));
	assert_ptr_equal(byte_of(iov, 3, 96), hn_va(hn, memory));
	assert_ptr_equal(byte_of(iov, 3, 96 + 4096), hn_va(hn, memory + 7 * 4096));
}

static void
keys_that_chain_themselves_end(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), key = 0, next;
	struct iovec iov[8];

	/* The number of the next key is known, so a key may name itself. */
	key = create_ok(hn, &(struct key_spec){ .mode = RNIC_MKEY_PA, .pd = pd, .length64 = true });
	next = ((key >> 8) + 1) << 8;
	key = create_ok(hn,
			&(struct key_spec){ .mode = RNIC_MKEY_KLM,
					    .access = WRITE,
					    .pd = pd,
					    .count = 1,
					    .klms = (const struct rnic_klm[]){ klm(4096, next, 0) },
					    .length = 4096 });
	assert_int_equal(key, next);
	assert_int_equal(translate(hn, key, pd, 0, 100, WRITE, iov, 8), -EACCES);
}

/* ---- Refusals ---- */

static void
wrong_key_pd_or_access(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint32_t other = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t memory = hn_alloc(hn, 8192, 4096);
	uint32_t key = hn_create_mkey(hn, pd, memory, 8192, false);
	struct softrnic_stats before, after;
	struct iovec iov[4];

	assert_int_equal(translate(hn, key, pd, memory, 8192, READ, iov, 4), 1);
	softrnic_stats_get(hn->dev, &before);
	assert_int_equal(translate(hn, key ^ 1, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, key ^ 0x80, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, key + 0x100, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, 0, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, UINT32_MAX, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, key, other, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, key, pd, memory, 1, WRITE, iov, 4), -EACCES);
	assert_int_equal(translate(hn, key, pd, memory, 1, SOFTRNIC_REMOTE_READ, iov, 4), -EACCES);
	/* Of no bytes, the key is still checked. */
	assert_int_equal(translate(hn, key ^ 1, pd, memory, 0, READ, iov, 4), -EACCES);
	assert_int_equal(translate(hn, key, pd, memory, 0, READ, iov, 4), 0);
	softrnic_stats_get(hn->dev, &after);
	assert_int_equal(after.tpt_faults - before.tpt_faults, 9);
	/* Gone is gone; and its PD was held all the time. */
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, pd), RNIC_STATUS_RES_BUSY);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
	assert_int_equal(translate(hn, key, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, pd), 0);
}

static void
each_access_needs_its_bit(void **state)
{
	static const unsigned int bits[] = { SOFTRNIC_LOCAL_WRITE, SOFTRNIC_REMOTE_READ,
					     SOFTRNIC_REMOTE_WRITE, SOFTRNIC_REMOTE_ATOMIC };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t mtt = hn_alloc(hn, 4096, 4096);
	struct iovec iov[1];

	for (unsigned int granted = 0; granted < 16; granted++) {
		struct key_spec spec = { .mode = RNIC_MKEY_MTT,
					 .pd = pd,
					 .count = 1,
					 .mtts = &mtt,
					 .log_page_size = 12,
					 .length = 4096 };
		uint32_t key;

		for (unsigned int i = 0; i < 4; i++)
			spec.access |= (granted >> i & 1) != 0 ? bits[i] : 0;
		key = create_ok(hn, &spec);
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(translate(hn, key, pd, 0, 8, bits[i], iov, 1),
					 (granted >> i & 1) != 0 ? 1 : -EACCES);
		assert_int_equal(translate(hn, key, pd, 0, 8, READ, iov, 1), 1);
	}
}

static void
rights_of_pages_count_when_asked_for(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t page = hn_alloc(hn, 8192, 4096);
	const uint64_t mtts[] = { page | RNIC_MTT_READ, (page + 4096) | RNIC_MTT_WRITE };
	struct key_spec spec = { .mode = RNIC_MKEY_MTT,
				 .access = WRITE,
				 .pd = pd,
				 .count = 2,
				 .mtts = mtts,
				 .log_page_size = 12,
				 .length = 8192,
				 .page_rights = true };
	uint32_t key = create_ok(hn, &spec);
	struct iovec iov[2];

	assert_int_equal(translate(hn, key, pd, 0, 4096, READ, iov, 2), 1);
	assert_int_equal(translate(hn, key, pd, 0, 4096, WRITE, iov, 2), -EACCES);
	assert_int_equal(translate(hn, key, pd, 4096, 4096, WRITE, iov, 2), 1);
	assert_int_equal(translate(hn, key, pd, 4095, 2, READ, iov, 2), -EACCES);
}

static void
the_dma_map_has_the_last_word(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	const uint64_t iova = 0x40000;
	void *memory = NULL;
	struct iovec iov[2];
	uint32_t key;

	assert_int_equal(posix_memalign(&memory, 4096, 8192), 0);
	/* A key may be made before its memory is mapped. */
	key = hn_create_mkey(hn, pd, iova, 8192, true);
	assert_int_equal(translate(hn, key, pd, iova, 8, READ, iov, 2), -EFAULT);
	assert_int_equal(softrnic_dma_map(hn->dev, iova, 8192, memory, SOFTRNIC_DMA_READ), 0);
	assert_int_equal(translate(hn, key, pd, iova, 8192, READ, iov, 2), 1);
	assert_ptr_equal(iov[0].iov_base, memory);
	assert_int_equal(translate(hn, key, pd, iova, 8, WRITE, iov, 2), -EFAULT);
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova, 8192), 0);
	assert_int_equal(translate(hn, key, pd, iova, 8, READ, iov, 2), -EFAULT);
	/* Now as two maps, the second one elsewhere. */
	assert_int_equal(softrnic_dma_map(hn->dev, iova, 4096, (uint8_t *)memory + 4096, 3), 0);
	assert_int_equal(softrnic_dma_map(hn->dev, iova + 4096, 4096, memory, 3), 0);
	assert_int_equal(translate(hn, key, pd, iova, 8192, WRITE, iov, 2), 2);
	assert_ptr_equal(iov[1].iov_base, memory);
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova, 4096), 0);
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova + 4096, 4096), 0);
	/* As two that are one piece. */
	assert_int_equal(softrnic_dma_map(hn->dev, iova + 4096, 4096, (uint8_t *)memory + 4096, 3),
			 0);
	assert_int_equal(softrnic_dma_map(hn->dev, iova, 4096, memory, 3), 0);
	assert_int_equal(translate(hn, key, pd, iova, 8192, WRITE, iov, 2), 1);
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova, 4096), 0);
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova + 4096, 4096), 0);
	free(memory);
}

static void
keys_that_cannot_be(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), key;
	uint64_t mtts[2] = { hn_alloc(hn, 8192, 8192), 0 };
	const struct key_spec good = { .mode = RNIC_MKEY_MTT,
				       .access = WRITE,
				       .pd = pd,
				       .count = 2,
				       .mtts = mtts,
				       .log_page_size = 12,
				       .start = 0x123000,
				       .length = 8192 };
	struct key_spec spec;
	struct iovec iov[1];

	mtts[1] = mtts[0] + 4096;
	assert_int_equal(create(hn, &good, &key), RNIC_STATUS_OK);
#define REFUSED(change, status)                                    \
	do {                                                       \
		spec = good;                                       \
		change;                                            \
		assert_int_equal(create(hn, &spec, &key), status); \
	} while (0)
	REFUSED(spec.mode = 4, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.pd = 0, RNIC_STATUS_BAD_RES);
	REFUSED(spec.pd = pd + 1, RNIC_STATUS_BAD_RES);
	REFUSED(spec.qpn = 5, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.length64 = true, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.log_page_size = 11, RNIC_STATUS_BAD_PARAM);
	/* The end wraps, by one byte. */
	REFUSED(spec.start = UINT64_MAX - 8190, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.length = UINT64_MAX, RNIC_STATUS_BAD_PARAM);
	/* More than the pages there are; a start within a page needs one more. */
	REFUSED(spec.length = 8193, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.start++, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.count = 0, RNIC_STATUS_BAD_PARAM);
	/* Pages that are not on their size. */
	REFUSED(spec.log_page_size = 14, RNIC_STATUS_BAD_PARAM);
#undef REFUSED
	/* In the free state it is fine, and gives nothing. */
	spec = good;
	spec.free = true;
	key = create_ok(hn, &spec);
	assert_int_equal(translate(hn, key, pd, spec.start, 1, READ, iov, 1), -EACCES);
}

static void
a_key_is_queried_as_it_was_made(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t memory = hn_alloc(hn, 4096, 4096);
	uint32_t key = hn_create_mkey(hn, pd, memory, 4096, true);
	struct rnic_object_in in = { 0 };
	struct rnic_query_mkey_out out = { 0 };
	const struct rnic_mkc *mkc = rnic_query_mkey_out_mkc(&out);

	hn_head(&in, RNIC_CMD_QUERY_MKEY, 0);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, key >> 8);
	hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_PD), pd);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_START_ADDR), memory);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_LEN), 4096);
	assert_int_equal(rnic_mkc_get(mkc, RNIC_MKC_MKEY_7_0), key & 0xff);
}

/* Sixty megabytes in small pages: 250 mailbox blocks in one command, and the flat path behind it. */
static void
a_large_region_in_one_command(void **state)
{
	enum { PAGES = 16000 };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t at = hn->iova;
	struct iovec iov[1];
	uint32_t key;

	key = hn_create_mkey(hn, pd, at, PAGES * 4096ul, true);
	assert_int_equal(translate(hn, key, pd, at, PAGES * 4096u, WRITE, iov, 1), 1);
	assert_ptr_equal(iov[0].iov_base, hn->memory);
	assert_int_equal(translate(hn, key, pd, at, PAGES * 4096u + 1, WRITE, iov, 1), -EFAULT);
}

/* What EAL does without --single-file-segments: a file for each hugepage, and memory in no order. */
static void
a_region_of_files_is_found_at_once(void **state)
{
	enum { FILE_BYTES = 1 << 21, FILES = 4, REGION = FILES * FILE_BYTES - 4096 };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	const uint64_t iova = 0x40000000, start = iova + 4096;
	uint64_t mtts[FILES];
	const struct key_spec spec = { .mode = RNIC_MKEY_MTT,
				       .access = SOFTRNIC_LOCAL_WRITE,
				       .pd = pd,
				       .count = FILES,
				       .mtts = mtts,
				       .log_page_size = 21,
				       .start = start,
				       .length = REGION };
	struct softrnic *dev = hn->dev;
	struct iovec iov[FILES];
	uint8_t *memory = NULL;
	uint32_t key, i;

	assert_int_equal(posix_memalign((void **)&memory, FILE_BYTES, FILES * FILE_BYTES), 0);
	for (i = 0; i < FILES; i++) {
		mtts[i] = (iova + i * FILE_BYTES) | RNIC_MTT_READ | RNIC_MTT_WRITE;
		assert_int_equal(softrnic_dma_map(dev, iova + i * FILE_BYTES, FILE_BYTES,
						  memory + (FILES - 1 - i) * FILE_BYTES, 3),
				 0);
	}
	key = create_ok(hn, &spec);
	assert_ptr_equal(softrnic_tpt_flat(dev, key, pd, start, 4096, WRITE),
			 memory + (FILES - 1) * FILE_BYTES + 4096);
	assert_ptr_equal(softrnic_tpt_flat(dev, key, pd, iova + 2 * FILE_BYTES + 5, 64, WRITE),
			 memory + (FILES - 3) * FILE_BYTES + 5);
	assert_ptr_equal(softrnic_tpt_flat(dev, key, pd, start + REGION - 1, 1, WRITE),
			 memory + FILE_BYTES - 1);
	/* Over a border, outside, and without the right: not this way. */
	assert_null(softrnic_tpt_flat(dev, key, pd, iova + FILE_BYTES - 1, 2, WRITE));
	assert_null(softrnic_tpt_flat(dev, key, pd, start - 1, 1, WRITE));
	assert_null(softrnic_tpt_flat(dev, key, pd, start + REGION - 1, 2, WRITE));
	assert_null(softrnic_tpt_flat(dev, key, pd, start, 1, SOFTRNIC_REMOTE_READ));
	assert_int_equal(translate(hn, key, pd, start, REGION, WRITE, iov, FILES), FILES);
	/* A hole in the map is a hole here, and nowhere else. */
	assert_int_equal(softrnic_dma_unmap(dev, iova + FILE_BYTES, FILE_BYTES), 0);
	assert_null(softrnic_tpt_flat(dev, key, pd, start, 1, WRITE));
	assert_int_equal(translate(hn, key, pd, start, 1, WRITE, iov, 1), 1);
	assert_ptr_equal(softrnic_tpt_flat(dev, key, pd, start, 1, WRITE), iov[0].iov_base);
	assert_null(softrnic_tpt_flat(dev, key, pd, iova + FILE_BYTES, 1, WRITE));
	assert_int_equal(translate(hn, key, pd, iova + FILE_BYTES, 1, WRITE, iov, 1), -EFAULT);
	for (i = 0; i < FILES; i++) {
		if (i != 1)
			assert_int_equal(softrnic_dma_unmap(dev, iova + i * FILE_BYTES, FILE_BYTES),
					 0);
	}
	free(memory);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(mtt_against_128_bits),
		T(pa_is_the_dma_map),
		T(klm_chains_other_keys),
		T(ksm_chains_equal_pieces),
		T(keys_that_chain_themselves_end),
		T(wrong_key_pd_or_access),
		T(each_access_needs_its_bit),
		T(rights_of_pages_count_when_asked_for),
		T(the_dma_map_has_the_last_word),
		T(keys_that_cannot_be),
		T(a_key_is_queried_as_it_was_made),
		T(a_large_region_in_one_command),
		T(a_region_of_files_is_found_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
