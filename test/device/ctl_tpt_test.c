/* SPDX-License-Identifier: BSD-3-Clause */

/* Translation and protection: what each mode of a key means, and every refusal. tpt_matrix_test.c has the combinations. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ctl_fixture.h"
#include "tpt_key.h"
/* Translations as the data path asks for them, without a queue around them. */
#include "softrnic/base/device.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/tpt.h"

#define READ  SOFTRNIC_LOCAL_READ
#define WRITE SOFTRNIC_LOCAL_WRITE

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

/* A list of other keys, to be read and written. */
static uint32_t
list_key(struct hn *hn, uint32_t pd, const struct rnic_klm *list, uint32_t count, uint64_t start,
	 uint64_t length)
{
	return key_create_ok(hn, &(struct drv_mkey){ .mode = RNIC_MKEY_KLM,
						     .access = READ | WRITE,
						     .pd = pd,
						     .count = count,
						     .klms = list,
						     .start = start,
						     .length = length });
}

static void
map(struct hn *hn, uint64_t iova, size_t bytes, void *memory)
{
	assert_int_equal(softrnic_dma_map(hn->dev, iova, bytes, memory,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
}

static void
unmap(struct hn *hn, uint64_t iova, size_t bytes)
{
	assert_int_equal(softrnic_dma_unmap(hn->dev, iova, bytes), 0);
}

static void
pa_is_the_dma_map(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint32_t key = key_create_ok(hn, &(struct drv_mkey){ .mode = RNIC_MKEY_PA,
							     .access = READ | WRITE,
							     .pd = pd,
							     .length64 = true });
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

static void
klm_chains_other_keys(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t a = hn_alloc(hn, 8192, 4096), b = hn_alloc(hn, 3 * 4096, 4096) + 4096;
	uint32_t key_a = hn_create_mkey(hn, pd, a, 8192, true);
	uint32_t key_b = hn_create_mkey(hn, pd, b, 8192, true);
	const struct rnic_klm list[] = { drv_klm(100, key_a, a + 50), drv_klm(4000, key_b, b),
					 drv_klm(1000, key_a, a + 4000) };
	const uint64_t start = 0 - UINT64_C(5100);
	uint32_t key = list_key(hn, pd, list, 3, start, 5100), nested;
	const struct rnic_klm around = drv_klm(5000, key, start + 100);
	struct iovec iov[8];

	assert_int_equal(translate(hn, key, pd, start, 5100, WRITE, iov, 8), 3);
	assert_ptr_equal(piece_byte(iov, 3, 0), hn_va(hn, a + 50));
	assert_ptr_equal(piece_byte(iov, 3, 100), hn_va(hn, b));
	assert_ptr_equal(piece_byte(iov, 3, 4099), hn_va(hn, b + 3999));
	assert_ptr_equal(piece_byte(iov, 3, 5099), hn_va(hn, a + 4999));
	assert_int_equal(translate(hn, key, pd, start + 4100, 1000, WRITE, iov, 8), 1);
	assert_ptr_equal(iov[0].iov_base, hn_va(hn, a + 4000));
	assert_int_equal(translate(hn, key, pd, start, 5100, WRITE, iov, 2), -E2BIG);
	assert_int_equal(translate(hn, key, pd, start + 1, 5100, WRITE, iov, 8), -EFAULT);
	/* Keys of keys. */
	nested = list_key(hn, pd, &around, 1, 7, 5000);
	assert_int_equal(translate(hn, nested, pd, 7, 5000, WRITE, iov, 8), 2);
	assert_ptr_equal(piece_byte(iov, 2, 0), hn_va(hn, b));
	/* The inner key goes: an access refused, not a crash. */
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key_b >> 8), 0);
	assert_int_equal(translate(hn, nested, pd, 7, 5000, WRITE, iov, 8), -EACCES);
	assert_int_equal(translate(hn, nested, pd, 7 + 4000, 1000, WRITE, iov, 8), 1);
}

/* Entry i is so many bytes of the i-th stretch of memory; where each byte is, and where there is none. */
static void
check_list(struct hn *hn, uint32_t pd, uint32_t count)
{
	enum { STRETCH = 8, LONGEST = 7 };
	const uint64_t memory = hn->iova, start = 0x1234567;
	struct rnic_klm *list = calloc(count + 1, sizeof(*list));
	uint32_t inner = hn_create_mkey(hn, pd, memory, (count + 1) * STRETCH, true), key;
	uint8_t *lengths = calloc(count, 1);
	struct iovec iov[1];
	uint64_t va = start;

	assert_true(list != NULL && lengths != NULL);
	for (uint32_t i = 0; i < count; i++) {
		lengths[i] = (uint8_t)(1 + key_random(LONGEST));
		list[i] = drv_klm(lengths[i], inner, memory + i * STRETCH);
	}
	/* The last one is of 2 GiB. */
	list[count] = drv_klm(0, inner, memory + count * STRETCH);
	key = list_key(hn, pd, list, count + 1, start, UINT64_C(1) << 40);
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t byte = 0; byte < lengths[i]; byte++, va++) {
			assert_int_equal(translate(hn, key, pd, va, 1, READ, iov, 1), 1);
			assert_ptr_equal(iov[0].iov_base, hn->memory + i * STRETCH + byte);
		}
	}
	assert_int_equal(translate(hn, key, pd, va + STRETCH - 1, 1, READ, iov, 1), 1);
	assert_ptr_equal(iov[0].iov_base, hn->memory + count * STRETCH + STRETCH - 1);
	/* Behind the bounds of the key that the list names. */
	assert_int_equal(translate(hn, key, pd, va + STRETCH, 1, READ, iov, 1), -EACCES);
	assert_int_equal(translate(hn, key, pd, va + (UINT64_C(1) << 31), 1, READ, iov, 1),
			 -EFAULT);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, inner >> 8), 0);
	free(lengths);
	free(list);
}

/* With 1 to 4 levels of ends, whole leaves and parts of them. */
static void
each_byte_of_a_list_is_found(void **state)
{
	static const uint32_t counts[] = { 0,  1,   2,	 14,   15,   16,   30,	 31,
					   32, 127, 128, 1000, 1023, 2048, 8192, 16500 };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		check_list(hn, pd, counts[i]);
}

/*
 * Entries that lead to memory at once stand between those that lead through up to three lists more: each byte of them is
 * where it belongs.
 */
static void
what_lies_behind_lists_comes_in_order(void **state)
{
	enum { COUNT = 150, LONGEST = 9, STRETCH = 16, DEPTHS = 4 };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), total = 0, at = 0;
	uint32_t keys[DEPTHS] = { hn_create_mkey(hn, pd, hn->iova, HN_MEMORY_BYTES, true) };
	struct rnic_klm list[COUNT];
	uint8_t lengths[COUNT];
	struct iovec iov[1];

	/* Byte i of each of these is where byte i of memory is. */
	for (uint32_t depth = 1; depth < DEPTHS; depth++) {
		for (uint32_t i = 0; i < COUNT; i++)
			list[i] = drv_klm(STRETCH, keys[depth - 1],
					  (depth == 1 ? hn->iova : 0) + i * STRETCH);
		keys[depth] = list_key(hn, pd, list, COUNT, 0, COUNT * STRETCH);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		const uint64_t depth = key_random(DEPTHS);

		lengths[i] = (uint8_t)(1 + key_random(LONGEST));
		list[i] = drv_klm(lengths[i], keys[depth], (depth == 0 ? hn->iova : 0) + total);
		total += lengths[i];
	}
	keys[0] = list_key(hn, pd, list, COUNT, 0, total);
	for (uint32_t i = 0; i < COUNT; at += lengths[i++]) {
		struct iovec pieces[2 * COUNT];
		int n = translate(hn, keys[0], pd, at, total - at, READ, pieces, 2 * COUNT);

		assert_in_range(n, 1, 2 * COUNT);
		assert_int_equal(piece_total(pieces, n), total - at);
		for (uint32_t byte = 0; byte < total - at; byte++)
			assert_ptr_equal(piece_byte(pieces, n, byte), hn->memory + at + byte);
		assert_int_equal(translate(hn, keys[0], pd, at, 1, READ, iov, 1), 1);
	}
	assert_int_equal(translate(hn, keys[0], pd, 0, total + 1, READ, iov, 1), -EFAULT);
}

/* To look where a key's memory is takes longer than an entry that leads there: an access does so for no more than a share's. */
static void
a_way_to_many_keys_resolves_a_share_of_them(void **state)
{
	enum { KEYS = 4000, PAGES = 4, SHARE = SOFTRNIC_WORK_MAX / 4 + 1 };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), all, before = 0;
	uint64_t memory = hn_alloc(hn, 2 * PAGES * 4096, 4096);
	struct rnic_klm *list = calloc(KEYS, sizeof(*list));
	uint64_t mtts[PAGES];
	struct iovec iov[1];
	uint8_t other;

	assert_non_null(list);
	for (uint32_t i = 0; i < PAGES; i++)
		mtts[i] = memory + 2 * i * 4096;
	for (uint32_t i = 0; i < KEYS; i++)
		list[i] = drv_klm(1,
				  key_create_ok(hn, &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
									.access = READ,
									.pd = pd,
									.count = PAGES,
									.mtts = mtts,
									.log_page_size = 12,
									.length = PAGES * 4096 }),
				  i);
	all = list_key(hn, pd, list, KEYS, 0, KEYS);
	map(hn, UINT64_C(1) << 60, 1, &other);
	unmap(hn, UINT64_C(1) << 60, 1);
	for (unsigned int i = 0; before < KEYS; i++) {
		uint32_t now;

		assert_true(i < KEYS);
		/* However long this machine takes for it. */
		softrnic_share_begin(hn->dev, SOFTRNIC_NEVER_NS);
		assert_int_equal(translate(hn, all, pd, 0, KEYS, READ, iov, 1), 1);
		assert_ptr_equal(iov[0].iov_base, hn_va(hn, memory));
		assert_int_equal(iov[0].iov_len, KEYS);
		now = hn->dev->resolved_mkeys.count;
		assert_in_range(now, before + 1, before + SHARE);
		before = now;
	}
	free(list);
}

static void
ksm_chains_equal_pieces(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t memory = hn_alloc(hn, 16 * 4096, 4096);
	uint32_t inner = hn_create_mkey(hn, pd, memory, 16 * 4096, true);
	const struct rnic_klm list[] = { drv_klm(0, inner, memory + 3 * 4096),
					 drv_klm(0, inner, memory),
					 drv_klm(0, inner, memory + 7 * 4096) };
	struct drv_mkey spec = { .mode = RNIC_MKEY_KSM,
				 .access = READ | WRITE,
				 .pd = pd,
				 .count = 3,
				 .klms = list,
				 .log_page_size = 12,
				 .start = 0x1000 - 96,
				 .length = 2 * 4096 + 96 };
	uint32_t key = key_create_ok(hn, &spec);
	struct iovec iov[8];

	assert_int_equal(translate(hn, key, pd, spec.start, spec.length, WRITE, iov, 8), 3);
	assert_ptr_equal(piece_byte(iov, 3, 0), hn_va(hn, memory + 4 * 4096 - 96));
	assert_ptr_equal(piece_byte(iov, 3, 96), hn_va(hn, memory));
	assert_ptr_equal(piece_byte(iov, 3, 96 + 4096), hn_va(hn, memory + 7 * 4096));
}

/* With a seed numbers come in the same order each time, so that a key may know its own. */
static void
keys_that_chain_themselves_end(void **state)
{
	const struct softrnic_conf conf = { .name = "seeded0", .seed = 7 };
	struct hn *hn = *state;
	uint32_t key = 0, named, round;
	struct iovec iov[8];

	for (round = 0; round < 2; round++) {
		const struct rnic_klm list = drv_klm(4096, key, 0);
		struct drv_mkey spec = { .mode = RNIC_MKEY_KLM,
					 .access = READ | WRITE,
					 .count = 1,
					 .klms = &list,
					 .length = 4096 };

		hn_stop(hn);
		hn_start(hn, NULL, &conf);
		hn_bring_up(hn);
		spec.pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
		named = key;
		key = key_create_ok(hn, &spec);
		assert_int_equal(translate(hn, key, spec.pd, 0, 100, WRITE, iov, 8), -EACCES);
	}
	assert_int_equal(key, named);
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
	before = ctl_stats(hn);
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
	after = ctl_stats(hn);
	assert_int_equal(after.tpt_faults - before.tpt_faults, 9);
	/* Gone is gone; and its PD was held all the time. */
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, pd), RNIC_STATUS_RES_BUSY);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
	assert_int_equal(translate(hn, key, pd, memory, 1, READ, iov, 4), -EACCES);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, pd), 0);
}

static void
rights_of_pages_count_when_asked_for(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t page = hn_alloc(hn, 8192, 4096);
	const uint64_t mtts[] = { page | RNIC_MTT_READ, (page + 4096) | RNIC_MTT_WRITE };
	struct drv_mkey spec = { .mode = RNIC_MKEY_MTT,
				 .access = READ | WRITE,
				 .pd = pd,
				 .count = 2,
				 .mtts = mtts,
				 .log_page_size = 12,
				 .length = 8192,
				 .page_rights = true };
	uint32_t key = key_create_ok(hn, &spec);
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
	unmap(hn, iova, 8192);
	assert_int_equal(translate(hn, key, pd, iova, 8, READ, iov, 2), -EFAULT);
	/* Now as two maps, the second one elsewhere. */
	map(hn, iova, 4096, (uint8_t *)memory + 4096);
	map(hn, iova + 4096, 4096, memory);
	assert_int_equal(translate(hn, key, pd, iova, 8192, WRITE, iov, 2), 2);
	assert_ptr_equal(iov[1].iov_base, memory);
	unmap(hn, iova, 4096);
	unmap(hn, iova + 4096, 4096);
	/* As two that are one piece. */
	map(hn, iova + 4096, 4096, (uint8_t *)memory + 4096);
	map(hn, iova, 4096, memory);
	assert_int_equal(translate(hn, key, pd, iova, 8192, WRITE, iov, 2), 1);
	unmap(hn, iova, 4096);
	unmap(hn, iova + 4096, 4096);
	free(memory);
}

static void
keys_that_cannot_be(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), key;
	uint64_t mtts[2] = { hn_alloc(hn, 8192, 8192), 0 };
	const struct drv_mkey good = { .mode = RNIC_MKEY_MTT,
				       .access = READ | WRITE,
				       .pd = pd,
				       .count = 2,
				       .mtts = mtts,
				       .log_page_size = 12,
				       .start = 0x123000,
				       .length = 8192 };
	struct drv_mkey spec;
	struct iovec iov[1];

	mtts[1] = mtts[0] + 4096;
	assert_int_equal(key_create(hn, &good, &key), RNIC_STATUS_OK);
#define REFUSED(change, status)                                        \
	do {                                                           \
		spec = good;                                           \
		change;                                                \
		assert_int_equal(key_create(hn, &spec, &key), status); \
	} while (0)
	REFUSED(spec.mode = 4, RNIC_STATUS_BAD_PARAM);
	REFUSED(spec.pd = 0, RNIC_STATUS_BAD_RES);
	REFUSED(spec.pd = pd + 1, RNIC_STATUS_BAD_RES);
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
	key = key_create_ok(hn, &spec);
	assert_int_equal(translate(hn, key, pd, spec.start, 1, READ, iov, 1), -EACCES);
}

/*
 * Of a long list only the first pages are looked at when the key is made: a million of them at once would keep others waiting.
 * Here all pages are neighbours in host memory, and the last one is not on its size.
 */
static void
a_page_that_cannot_be_is_met_where_it_is_used(void **state)
{
	enum { PAGE = 8192, LAST = 16384, BYTES = LAST * PAGE };
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD), key;
	const uint64_t iova = 0x40000000, last = 0x80000000 + PAGE / 2;
	uint64_t *mtts = calloc(LAST + 1, sizeof(*mtts));
	const struct drv_mkey spec = { .mode = RNIC_MKEY_MTT,
				       .access = READ | WRITE,
				       .pd = pd,
				       .count = LAST + 1,
				       .mtts = mtts,
				       .log_page_size = 13,
				       .length = BYTES + PAGE };
	uint8_t *memory = mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct iovec iov[2];

	assert_non_null(mtts);
	assert_ptr_not_equal(memory, MAP_FAILED);
	map(hn, iova, BYTES, memory);
	map(hn, last, PAGE, memory + BYTES);
	for (uint64_t i = 0; i < LAST; i++)
		mtts[i] = (iova + i * PAGE) | RNIC_MTT_READ | RNIC_MTT_WRITE;
	mtts[LAST] = last | RNIC_MTT_READ | RNIC_MTT_WRITE;
	key = key_create_ok(hn, &spec);
	for (unsigned int again = 0; again < 3; again++) {
		assert_int_equal(translate(hn, key, pd, BYTES - 8, 8, WRITE, iov, 2), 1);
		assert_ptr_equal(iov[0].iov_base, memory + BYTES - 8);
		assert_int_equal(translate(hn, key, pd, BYTES, 8, WRITE, iov, 2), -EFAULT);
		assert_int_equal(translate(hn, key, pd, BYTES - 8, 16, WRITE, iov, 2), -EFAULT);
	}
	/* One of the first ones is heard of at once. */
	mtts[LAST - 1] += PAGE / 2;
	assert_int_equal(key_create(hn, &spec, &key), RNIC_STATUS_BAD_PARAM);
	unmap(hn, last, PAGE);
	unmap(hn, iova, BYTES);
	munmap(memory, BYTES + PAGE);
	free(mtts);
}

/*
 * The input of a command becomes a key's list of pages as it lies there, in a buffer that may have been made for a longer
 * command: all of it counts while the key is there, and is charged when it goes.
 */
static void
a_key_counts_for_all_that_it_keeps(void **state)
{
	enum { LONG = 6 << 17, SHORT = (1 << 17) + 64, KEYS = 3, ROOM = LONG * 8 };
	struct hn *hn = *state;
	struct softrnic *dev = hn->dev;
	uint64_t *mtts = calloc(LONG, sizeof(*mtts)), bytes, memory;
	struct drv_mkey spec = { .mode = RNIC_MKEY_MTT,
				 .pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD),
				 .mtts = mtts,
				 .log_page_size = 12 };
	unsigned int rounds = 0;
	uint32_t key;

	assert_non_null(mtts);
	for (unsigned int i = 0; i < KEYS; i++) {
		/* Of a page too few: refused, and its buffer stays for the next command. */
		spec.count = LONG;
		spec.length = (LONG + 1) * UINT64_C(4096);
		assert_int_equal(key_create(hn, &spec, &key), RNIC_STATUS_BAD_PARAM);
		spec.count = SHORT;
		spec.length = SHORT * UINT64_C(4096);
		bytes = dev->translation_bytes;
		memory = dev->memory;
		key_create_ok(hn, &spec);
		assert_in_range(dev->translation_bytes - bytes, dev->memory - memory - 4096,
				dev->memory - memory);
	}
	/* A share of a round is 2 MiB, and the last one of them may be more than that. */
	memory = dev->memory;
	softrnic_reset(hn->dev);
	for (;; rounds++) {
		assert_in_range(memory - dev->memory, 0, ROOM + (2 << 20));
		if (!dev->leaving)
			break;
		memory = dev->memory;
		softrnic_poll(hn->poller);
	}
	assert_int_equal(dev->translation_bytes, 0);
	assert_in_range(rounds, KEYS - 1, KEYS + 2);
	free(mtts);
}

static void
a_key_is_queried_as_it_was_made(void **state)
{
	struct hn *hn = *state;
	uint32_t pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uint64_t memory = hn_alloc(hn, 4096, 4096);
	uint32_t key = hn_create_mkey(hn, pd, memory, 4096, true);
	struct rnic_query_mkey_out out;
	const struct rnic_mkc *mkc = rnic_query_mkey_out_mkc(&out);

	assert_int_equal(drv_query(&hn->drv, RNIC_CMD_QUERY_MKEY, key >> 8, &out, sizeof(out)), 0);
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
	const struct drv_mkey spec = { .mode = RNIC_MKEY_MTT,
				       .access = READ | WRITE,
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
		map(hn, iova + i * FILE_BYTES, FILE_BYTES, memory + (FILES - 1 - i) * FILE_BYTES);
	}
	key = key_create_ok(hn, &spec);
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
	unmap(hn, iova + FILE_BYTES, FILE_BYTES);
	assert_null(softrnic_tpt_flat(dev, key, pd, start, 1, WRITE));
	assert_int_equal(translate(hn, key, pd, start, 1, WRITE, iov, 1), 1);
	assert_ptr_equal(softrnic_tpt_flat(dev, key, pd, start, 1, WRITE), iov[0].iov_base);
	assert_null(softrnic_tpt_flat(dev, key, pd, iova + FILE_BYTES, 1, WRITE));
	assert_int_equal(translate(hn, key, pd, iova + FILE_BYTES, 1, WRITE, iov, 1), -EFAULT);
	for (i = 0; i < FILES; i++) {
		if (i != 1)
			unmap(hn, iova + i * FILE_BYTES, FILE_BYTES);
	}
	free(memory);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, ctl_setup_ready, ctl_teardown)
	const struct CMUnitTest tests[] = {
		T(pa_is_the_dma_map),
		T(klm_chains_other_keys),
		T(each_byte_of_a_list_is_found),
		T(what_lies_behind_lists_comes_in_order),
		T(a_way_to_many_keys_resolves_a_share_of_them),
		T(ksm_chains_equal_pieces),
		T(keys_that_chain_themselves_end),
		T(wrong_key_pd_or_access),
		T(rights_of_pages_count_when_asked_for),
		T(the_dma_map_has_the_last_word),
		T(keys_that_cannot_be),
		T(a_page_that_cannot_be_is_met_where_it_is_used),
		T(a_key_counts_for_all_that_it_keeps),
		T(a_key_is_queried_as_it_was_made),
		T(a_large_region_in_one_command),
		T(a_region_of_files_is_found_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
