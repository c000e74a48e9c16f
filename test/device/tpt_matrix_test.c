/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation and protection as a whole. Every combination of operation, protection domain, key and right is held
 * against a table from the manuals; random addresses and lengths, most of them around borders, against arithmetic in 128
 * bits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_fixture.h"
#include "softrnic/memory/tpt.h"
#include "tpt_key.h"
#include "../counts.h"

#define ALL                                                                  \
	(SOFTRNIC_LOCAL_READ | SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_READ | \
	 SOFTRNIC_REMOTE_WRITE | SOFTRNIC_REMOTE_ATOMIC)
#define PIECES	64
#define VARIANT 0x5a
#define PAGE	4096u
#define ARENA	(1u << 20)

struct world {
	struct hn hn;
	uint32_t pds[2], no_pd;
	uint64_t arena; /* ARENA bytes */
	uint32_t inner; /* a key over them */
};

static int
setup(void **state)
{
	static struct world w;

	hn_start(&w.hn, NULL, NULL);
	hn_bring_up(&w.hn);
	w.pds[0] = hn_alloc_object(&w.hn, RNIC_CMD_ALLOC_PD);
	w.pds[1] = hn_alloc_object(&w.hn, RNIC_CMD_ALLOC_PD);
	w.no_pd = w.pds[1] + 1;
	w.arena = hn_alloc(&w.hn, ARENA, 1 << 16);
	w.inner = hn_create_mkey(&w.hn, w.pds[0], w.arena, ARENA, true);
	*state = &w;
	return 0;
}

static void
destroy(struct world *w, uint32_t key)
{
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
}

/* ---- The matrix ---- */

/*
 * What an operation needs of a key (PRM, "Memory Key Context": lr, lw, rr, rw, a; IBTA vol. 1, "Memory Access Control":
 * the domain is that of the queue pair, no right stands for another), and of an MTT entry where these count (PRM, "MTT
 * Entry": rd_en, wr_en). An atomic reads and writes.
 */
static const struct operation {
	const char *name;
	unsigned int access;
	bool lr, lw, rr, rw, a;
	bool rd_en, wr_en;
} operations[] = {
	{ "gather", SOFTRNIC_LOCAL_READ, .lr = true, .rd_en = true },
	{ "scatter", SOFTRNIC_LOCAL_WRITE, .lw = true, .wr_en = true },
	{ "remote READ", SOFTRNIC_REMOTE_READ, .rr = true, .rd_en = true },
	{ "remote WRITE", SOFTRNIC_REMOTE_WRITE, .rw = true, .wr_en = true },
	{ "remote atomic", SOFTRNIC_REMOTE_ATOMIC, .a = true, .rd_en = true, .wr_en = true },
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static bool
granted(const struct operation *op, unsigned int rights)
{
	return (!op->lr || (rights & SOFTRNIC_LOCAL_READ) != 0) &&
	       (!op->lw || (rights & SOFTRNIC_LOCAL_WRITE) != 0) &&
	       (!op->rr || (rights & SOFTRNIC_REMOTE_READ) != 0) &&
	       (!op->rw || (rights & SOFTRNIC_REMOTE_WRITE) != 0) &&
	       (!op->a || (rights & SOFTRNIC_REMOTE_ATOMIC) != 0);
}

/* Eight bytes at the key's start, which are in one piece: allowed or not, on both ways through the device. */
static void
check_access(struct world *w, uint32_t key, uint32_t pd, uint64_t va, const struct operation *op,
	     bool allowed, bool flat)
{
	const uint64_t before = ctl_stats(&w->hn).tpt_faults;
	struct iovec iov[PIECES];
	uint64_t faults;
	uint8_t *at;
	int rc;

	rc = softrnic_tpt_translate(w->hn.dev, key, pd, va, 8, op->access, iov, PIECES);
	faults = ctl_stats(&w->hn).tpt_faults - before;
	at = softrnic_tpt_flat(w->hn.dev, key, pd, va, 8, op->access);
	if (rc != (allowed ? 1 : -EACCES))
		fail_msg("%s with key 0x%x, PD 0x%x: %d", op->name, key, pd, rc);
	if (faults != (allowed ? 0 : 1))
		fail_msg("%s with key 0x%x, PD 0x%x: not counted once", op->name, key, pd);
	if ((at != NULL) != (allowed && flat) || (at != NULL && at != iov[0].iov_base))
		fail_msg("%s with key 0x%x, PD 0x%x: short cut", op->name, key, pd);
}

/* One key that is as the spec says, with every operation, PD of a queue pair and variant. */
static void
check_key(struct world *w, const struct drv_mkey *spec, unsigned int rights, bool flat)
{
	const uint32_t pds[] = { w->pds[0], w->pds[1], w->no_pd, 0 };
	uint32_t key = key_create_ok(&w->hn, spec), other;
	unsigned int i, p, v;

	for (i = 0; i < OPERATIONS; i++)
		for (p = 0; p < 4; p++)
			for (v = 0; v <= 8; v++) {
				/* The right variant, and each that differs in one bit. */
				other = v == 0 ? key : key ^ 1u << (v - 1);
				check_access(w, other, pds[p], spec->start, &operations[i],
					     granted(&operations[i], rights) &&
						     pds[p] == spec->pd && v == 0 && !spec->free,
					     flat);
			}
	destroy(w, key);
	for (i = 0; i < OPERATIONS; i++)
		check_access(w, key, spec->pd, spec->start, &operations[i], false, flat);
}

/* For each set of rights, domain, and state of a key. */
static void
check_all(struct world *w, struct drv_mkey *spec, bool flat)
{
	unsigned int rights, which;

	spec->variant = VARIANT;
	for (rights = 0; rights <= ALL; rights++)
		for (which = 0; which < 4; which++) {
			spec->access = rights;
			spec->pd = w->pds[which & 1];
			spec->free = (which & 2) != 0;
			check_key(w, spec, rights, flat);
		}
}

static void
matrix_of_keys_over_one_piece(void **state)
{
	struct world *w = *state;

	check_all(w,
		  &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
				      .log_page_size = 12,
				      .pages = { w->arena, PAGE, 2 },
				      .start = 0x7000000000000100,
				      .length = PAGE },
		  true);
}

static void
matrix_of_keys_over_scattered_pages(void **state)
{
	struct world *w = *state;

	check_all(w,
		  &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
				      .log_page_size = 12,
				      .pages = { w->arena + 3 * PAGE, UINT64_C(0) - 3 * PAGE, 2 },
				      .length = 2 * PAGE },
		  true);
}

static void
matrix_of_keys_without_translation(void **state)
{
	struct world *w = *state;

	check_all(w,
		  &(struct drv_mkey){ .mode = RNIC_MKEY_PA, .length64 = true, .start = w->arena },
		  false);
}

/* What a key of keys grants to a peer, those that it names must grant to their own side, not to the peer. */
static unsigned int
granted_by_inner(unsigned int rights)
{
	const bool reads = (rights & SOFTRNIC_LOCAL_READ) != 0;
	const bool writes = (rights & SOFTRNIC_LOCAL_WRITE) != 0;

	return (reads ? SOFTRNIC_LOCAL_READ | SOFTRNIC_REMOTE_READ : 0) |
	       (writes ? SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_WRITE : 0) |
	       (reads && writes ? SOFTRNIC_REMOTE_ATOMIC : 0);
}

static void
matrix_of_keys_of_keys(void **state)
{
	struct world *w = *state;
	unsigned int rights, mode;

	for (mode = RNIC_MKEY_KLM; mode <= RNIC_MKEY_KSM; mode++)
		for (rights = 0; rights <= ALL; rights++) {
			struct drv_mkey inner = { .mode = RNIC_MKEY_MTT,
						  .access = rights,
						  .log_page_size = 12,
						  .pages = { w->arena, PAGE, 1 },
						  .pd = w->pds[0],
						  .length = PAGE };
			uint32_t key = key_create_ok(&w->hn, &inner);
			const struct rnic_klm list = drv_klm(PAGE, key, 0);
			struct drv_mkey outer = { .mode = mode,
						  .access = ALL,
						  .log_page_size = mode == RNIC_MKEY_KSM ? 12 : 0,
						  .count = 1,
						  .klms = &list,
						  .pd = w->pds[0],
						  .start = 0x5000,
						  .length = PAGE,
						  .variant = VARIANT };

			check_key(w, &outer, granted_by_inner(rights), false);
			/* The domain of the inner key counts as well. */
			outer.pd = w->pds[1];
			check_key(w, &outer, 0, false);
			destroy(w, key);
		}
}

/* ... and what the key of keys lacks, those that it names cannot give. */
static void
matrix_of_keys_above_a_writable_one(void **state)
{
	struct world *w = *state;
	const struct rnic_klm list = drv_klm(PAGE, w->inner, w->arena);
	unsigned int rights;

	for (rights = 0; rights <= ALL; rights++)
		check_key(w,
			  &(struct drv_mkey){ .mode = RNIC_MKEY_KLM,
					      .access = rights,
					      .count = 1,
					      .klms = &list,
					      .pd = w->pds[0],
					      .length = PAGE },
			  rights, false);
}

#define WRITES (SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_WRITE | SOFTRNIC_REMOTE_ATOMIC)

/* Rights of the pages, where the key says that they count, beside those of the key. */
static void
matrix_of_page_rights(void **state)
{
	struct world *w = *state;
	unsigned int i, rights, entry, counts;

	for (rights = 0; rights <= ALL; rights++)
		for (entry = 0; entry < 4; entry++)
			for (counts = 0; counts < 2; counts++) {
				uint64_t mtt = w->arena | ((entry & 1) != 0 ? RNIC_MTT_READ : 0) |
					       ((entry & 2) != 0 ? RNIC_MTT_WRITE : 0);
				uint32_t key = key_create_ok(
					&w->hn, &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
								    .access = rights,
								    .log_page_size = 12,
								    .count = 1,
								    .mtts = &mtt,
								    .pd = w->pds[0],
								    .length = PAGE,
								    .page_rights = counts != 0 });

				for (i = 0; i < OPERATIONS; i++) {
					const struct operation *op = &operations[i];
					bool page =
						counts == 0 || ((!op->rd_en || (entry & 1) != 0) &&
								(!op->wr_en || (entry & 2) != 0));

					/* The short cut is for pages with all rights that the key could use. */
					check_access(
						w, key, w->pds[0], 0, op,
						granted(op, rights) && page,
						counts == 0 || entry == 3 ||
							(entry == 1 && (rights & WRITES) == 0));
				}
				destroy(w, key);
			}
}

/* ---- Random addresses and lengths ---- */

/* What a key should translate to, byte by byte: a list of stretches of host memory, in 128 bits. */
struct oracle {
	uint64_t start, length; /* of the key; PA: of what is mapped */
	bool everywhere;	/* PA: no bounds of its own */
	struct {
		unsigned __int128 from, to;
		uint8_t *host;
	} parts[PIECES];
	unsigned int count;
	uint64_t covered; /* bytes of the parts */
};

static void
oracle_add(struct oracle *oracle, uint64_t bytes, uint8_t *host)
{
	unsigned __int128 from = (unsigned __int128)oracle->start + oracle->covered;

	assert_true(oracle->count < PIECES);
	oracle->parts[oracle->count].from = from;
	oracle->parts[oracle->count].to = from + bytes;
	oracle->parts[oracle->count++].host = host;
	oracle->covered += bytes;
}

static uint8_t *
oracle_byte(const struct oracle *oracle, unsigned __int128 va)
{
	unsigned int i;

	for (i = 0; i < oracle->count; i++)
		if (va >= oracle->parts[i].from && va < oracle->parts[i].to)
			return oracle->parts[i].host + (uint64_t)(va - oracle->parts[i].from);
	return NULL;
}

/* Around what could go wrong: ends of the key, of its parts, of the address space and of smaller integers. */
static void
pick(const struct oracle *oracle, uint64_t *va, uint32_t *length)
{
	const uint64_t part = (uint64_t)oracle->parts[key_random(oracle->count)].to;
	const uint64_t end = oracle->start + oracle->length;
	const uint64_t points[] = { oracle->start,
				    end,
				    part,
				    oracle->start + key_random(oracle->length),
				    0,
				    UINT64_MAX,
				    UINT64_C(1) << 32,
				    UINT64_C(1) << 63 };

	*va = points[key_random(8)] + key_random(5) - 2;
	switch (key_random(7)) {
	case 0: *length = (uint32_t)key_random(4); break;
	case 1: *length = (uint32_t)(end - *va + key_random(3) - 1); break;
	case 2: *length = (uint32_t)(part - *va + key_random(3) - 1); break;
	case 3: *length = (uint32_t)key_random(oracle->length + 1); break;
	case 4: *length = (uint32_t)(0 - *va + key_random(3) - 1); break; /* to where it wraps */
	case 5: *length = (1u << 31) - 1 + (uint32_t)key_random(3); break;
	default: *length = UINT32_MAX - (uint32_t)key_random(3); break;
	}
}

/* One pair; true: it lies inside. */
static bool
check_pair(struct world *w, const struct oracle *oracle, uint32_t key, uint64_t va, uint32_t length)
{
	const unsigned __int128 first = va, end = first + length;
	const unsigned __int128 start = oracle->start, limit = start + oracle->length;
	bool inside = oracle->everywhere ? length == 0 || (first >= start && end <= limit)
					 : first >= start && end <= limit;
	struct iovec iov[PIECES];
	uint64_t at;
	uint8_t *flat;
	int count, i;

	/* A list that is shorter than its key ends where it ends. */
	if (inside && length > 0 && end > start + oracle->covered)
		inside = false;
	count = softrnic_tpt_translate(w->hn.dev, key, w->pds[0], va, length, SOFTRNIC_LOCAL_WRITE,
				       iov, PIECES);
	flat = softrnic_tpt_flat(w->hn.dev, key, w->pds[0], va, length, SOFTRNIC_LOCAL_WRITE);
	if (!inside && count != -EFAULT)
		fail_msg("0x%lx + 0x%x is outside: %d", va, length, count);
	if (inside && (count < (length > 0) || piece_total(iov, count) != length))
		fail_msg("0x%lx + 0x%x is inside: %d", va, length, count);
	/* Of no bytes, it may find those behind a key that ends where addresses end. */
	if (flat != NULL && length > 0 && (!inside || flat != oracle_byte(oracle, first)))
		fail_msg("0x%lx + 0x%x: short cut", va, length);
	for (i = 0; i < 4 && inside && length > 0; i++) {
		at = i == 0 ? 0 : i == 1 ? length - 1 : key_random(length);
		if (piece_byte(iov, count, at) != oracle_byte(oracle, first + at))
			fail_msg("0x%lx + 0x%x: byte 0x%lx is elsewhere", va, length, at);
	}
	return inside;
}

#define PAIRS_PER_KEY 500u
#define KINDS	      3u /* of keys: 10^7 pairs in all, of each with the full counts */

/* Make the next key and what it should do. */
typedef uint32_t (*key_maker)(struct world *w, struct oracle *oracle);

static void
check_random(struct world *w, key_maker make)
{
	const unsigned int pairs = full_run() ? 10000000 : 10000000 / KINDS;
	unsigned int n, inside = 0;
	struct oracle oracle;
	uint32_t key = 0, length;
	uint64_t va;

	for (n = 0; n < pairs; n++) {
		if (n % PAIRS_PER_KEY == 0) {
			if (n > 0)
				destroy(w, key);
			memset(&oracle, 0, sizeof(oracle));
			key = make(w, &oracle);
		}
		pick(&oracle, &va, &length);
		inside += check_pair(w, &oracle, key, va, length);
	}
	destroy(w, key);
	/* Only one kind of address would prove nothing. */
	assert_in_range(inside, pairs / 20, pairs / 20 * 19);
}

/* Anywhere, the ends of the address space included, so that `bytes` fit. */
static uint64_t
random_start(uint64_t page, uint64_t skip, uint64_t bytes)
{
	switch (key_random(4)) {
	case 0: return skip;
	case 1: return 0 - bytes + skip;
	case 2: return (UINT64_C(1) << 32) - (bytes / 2 & ~(page - 1)) + skip;
	default: return key_random((UINT64_MAX - bytes) / page) * page + skip;
	}
}

static uint32_t
make_mtt(struct world *w, struct oracle *oracle)
{
	const unsigned int log = 12 + (unsigned int)key_random(5), pages = 1 + key_random(8);
	const uint64_t page = UINT64_C(1) << log, skip = key_random(2) * key_random(page);
	/* Behind each other, now and then: that is one piece. */
	const bool straight = key_random(4) == 0;
	struct drv_mkey spec = { .mode = RNIC_MKEY_MTT,
				 .access = ALL,
				 .log_page_size = log,
				 .pd = w->pds[0],
				 .count = pages,
				 .variant = (uint8_t)key_random(256) };
	uint64_t mtts[8], i, from;

	spec.mtts = mtts;
	spec.start = oracle->start = random_start(page, skip, pages * page);
	spec.length = pages * page - skip;
	if (key_random(2) == 0)
		spec.length = 1 + key_random(spec.length);
	oracle->length = spec.length;
	for (i = 0; i < pages; i++) {
		mtts[i] = w->arena + (straight ? i : key_random(ARENA / page)) * page;
		from = i == 0 ? skip : 0;
		oracle_add(oracle, page - from, hn_va(&w->hn, mtts[i] + from));
		mtts[i] |= RNIC_MTT_READ | RNIC_MTT_WRITE;
	}
	return key_create_ok(&w->hn, &spec);
}

static uint32_t
make_pa(struct world *w, struct oracle *oracle)
{
	oracle->start = w->hn.iova;
	oracle->length = HN_MEMORY_BYTES;
	oracle->everywhere = true;
	oracle_add(oracle, HN_MEMORY_BYTES, w->hn.memory);
	return key_create_ok(&w->hn, &(struct drv_mkey){ .mode = RNIC_MKEY_PA,
							 .access = ALL,
							 .pd = w->pds[0],
							 .length64 = true });
}

/* Stretches of another key. */
static uint32_t
make_klm(struct world *w, struct oracle *oracle)
{
	const unsigned int count = 1 + (unsigned int)key_random(8);
	struct rnic_klm list[8];
	struct drv_mkey spec = { .mode = RNIC_MKEY_KLM,
				 .access = ALL,
				 .pd = w->pds[0],
				 .count = count,
				 .klms = list,
				 .variant = (uint8_t)key_random(256) };
	uint64_t bytes, at, total = 0;
	unsigned int i;

	for (i = 0; i < count; i++) {
		bytes = 1 + key_random(key_random(2) == 0 ? 16 : 3 * PAGE);
		at = key_random(ARENA - bytes + 1);
		list[i] = drv_klm((uint32_t)bytes, w->inner, w->arena + at);
		total += bytes;
	}
	spec.start = oracle->start = random_start(PAGE, key_random(PAGE), 64 * PAGE);
	/* Too long for its list, now and then. */
	spec.length = oracle->length =
		key_random(4) == 0 ? total + 1 + key_random(100) : 1 + key_random(total);
	for (i = 0; i < count; i++) {
		at = rnic_be64_to_cpu(list[i].address);
		oracle_add(oracle, rnic_be32_to_cpu(list[i].byte_count), hn_va(&w->hn, at));
	}
	return key_create_ok(&w->hn, &spec);
}

static void
mtt_against_128_bits(void **state)
{
	check_random(*state, make_mtt);
}

static void
pa_against_128_bits(void **state)
{
	check_random(*state, make_pa);
}

static void
klm_against_128_bits(void **state)
{
	check_random(*state, make_klm);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, ctl_teardown)
	const struct CMUnitTest tests[] = {
		T(matrix_of_keys_over_one_piece),
		T(matrix_of_keys_over_scattered_pages),
		T(matrix_of_keys_without_translation),
		T(matrix_of_keys_of_keys),
		T(matrix_of_keys_above_a_writable_one),
		T(matrix_of_page_rights),
		T(mtt_against_128_bits),
		T(pa_against_128_bits),
		T(klm_against_128_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
