/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory that a kernel registers by WQEs, as Linux' mlx5_ib writes them (IB_WR_REG_MR, and ibv_reg_mr() where the device offers it): the
 * range, the pages and the rights of a key that was made to be filled, its list in the WQE or elsewhere.
 */
#include "qp_umr.h"

#define PAGE   4096u
#define START  UINT64_C(0x7f0000000000)
#define PAGES  64u /* of b's buffer that the tests use */
#define ROOM   PAGES
#define POINTS (RNIC_WQE_UMR_TRANSLATION_OFFSET)
#define REGISTER                                                                    \
	(RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_PAGE_SIZE | RNIC_UMR_MASK_START_ADDR |   \
	 RNIC_UMR_MASK_EN_RINVAL | RNIC_UMR_MASK_MKEY | RNIC_UMR_MASK_LR | RIGHTS | \
	 RNIC_UMR_MASK_SMALL_FENCE | RNIC_UMR_MASK_FREE)

struct fixture {
	struct qw_two *two; /* b is a kernel's: it has fre set, and the reserved key */
	uint32_t physical;
	void *list; /* b's memory, for lists that are elsewhere */
};

static struct qw_qp_conf
kernel_conf(struct qw_two *two)
{
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);

	conf.fre = conf.rlky = true;
	return conf;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct qw_qp_conf conf;
	int rc;

	assert_non_null(f);
	rc = qw_setup(state, &(struct qw_conf){ .pair = true }, NULL);
	f->two = *state;
	conf = kernel_conf(f->two);
	qw_two_replace(f->two, true, &conf);
	f->physical = qw_physical_key(f->two->b.end);
	f->list = dp_alloc(&f->two->b.end->dp, 16 * PAGE, PAGE);
	assert_non_null(f->list);
	*state = f;
	return rc;
}

static uint8_t *
page(const struct fixture *f, uint32_t index)
{
	return f->two->in + (size_t)index * PAGE;
}

/* As a kernel makes it: free, and with room for so many octwords. */
static uint32_t
key_of(const struct fixture *f, enum rnic_mkey_access_mode mode, uint32_t room)
{
	struct dp *dp = &f->two->b.end->dp;
	const struct drv_mkey mkey = { .mode = mode,
				       .log_page_size = mode == RNIC_MKEY_KLM ? 0 : 12,
				       .pd = dp->pd,
				       .free = true,
				       .umr = true,
				       .room = room,
				       .variant = 0x31 };
	uint32_t key;

	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), 0);
	return key;
}

/* Of pages first, first + step, ...: so that neighbours in the region are none in memory. */
static void
put_pages(const struct fixture *f, struct rnic_be64 *mtts, uint32_t first, uint32_t step,
	  uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		mtts[i] = rnic_cpu_to_be64(dp_iova(&f->two->b.end->dp, page(f, first + i * step)) |
					   RNIC_MTT_READ | RNIC_MTT_WRITE);
}

/* The key becomes [start, start + length) with all rights, and its own name; the list is to be added. */
static struct umr
registers(uint32_t key, uint64_t start, uint64_t length)
{
	struct umr umr = { .flags = RNIC_WQE_UMR_CHECK_FREE, .mask = REGISTER, .key = key };
	struct rnic_mkc *mkc = &umr.mkc;

	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, key & 0xff);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_EN_RINVAL, 1);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, start);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, length);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, 1);
	rnic_mkc_set(mkc, RNIC_MKC_RR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_RW, 1);
	rnic_mkc_set(mkc, RNIC_MKC_A, 1);
	return umr;
}

static void
in_the_wqe(struct umr *umr, const void *list, uint32_t octwords)
{
	umr->flags |= RNIC_WQE_UMR_INLINE;
	umr->entries = octwords;
	umr->list = list;
	umr->list_bytes = octwords * 16;
}

static void
elsewhere(const struct fixture *f, struct umr *umr, struct rnic_wqe_data *data, uint32_t octwords)
{
	*data = (struct rnic_wqe_data){
		.byte_count = rnic_cpu_to_be32(octwords * 16),
		.lkey = rnic_cpu_to_be32(f->physical),
		.address = rnic_cpu_to_be64(dp_iova(&f->two->b.end->dp, f->list)),
	};
	umr->flags &= (uint8_t)~RNIC_WQE_UMR_INLINE;
	umr->entries = octwords;
	umr->list = data;
	umr->list_bytes = sizeof(*data);
}

/* IB_WR_LOCAL_INV. */
static struct umr
invalidates(uint32_t key)
{
	struct umr umr = { .flags = RNIC_WQE_UMR_INLINE, .mask = RNIC_UMR_MASK_FREE, .key = key };

	rnic_mkc_set(&umr.mkc, RNIC_MKC_FREE, 1);
	return umr;
}

/* What a's WRITE of a line at the region's address changes is this page of b's, there. */
static void
leads_to(const struct fixture *f, uint32_t key, uint64_t at, const uint8_t *memory)
{
	static uint32_t seed;

	qw_fill(f->two->out, 64, ++seed);
	works_at(f->two, RNIC_WQE_RDMA_WRITE, key, at, 64);
	assert_memory_equal(memory, f->two->out, 64);
	works_at(f->two, RNIC_WQE_RDMA_READ, key, at, 64);
}

static void
is_refused(const struct fixture *f, uint32_t key, uint64_t at)
{
	refused_at(f->two, RNIC_WQE_RDMA_READ, key, at, 64);
}

/* It fails with that, and the key is as it was. */
static void
changes_nothing(const struct fixture *f, const struct umr *umr, uint32_t key, uint8_t syndrome)
{
	fails(f->two, umr, syndrome);
	leads_to(f, key, START + PAGE, page(f, 1));
}

/* ---- What is registered ---- */

static void
test_pages_in_the_wqe(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, ROOM);
	struct umr umr = registers(key, START + 100, 3 * PAGE), gone = invalidates(key);
	struct rnic_be64 mtts[8] = { 0 };

	/* Linux rounds the list up to 64 bytes, with zeros. */
	put_pages(f, mtts, 9, 3, 4);
	in_the_wqe(&umr, mtts, 4);
	done(f->two, &umr);
	leads_to(f, key, START + 100, page(f, 9) + 100);
	leads_to(f, key, START + PAGE, page(f, 12));
	leads_to(f, key, START + 3 * PAGE + 36, page(f, 18) + 36);
	is_refused(f, key, START + 36);
	is_refused(f, key, START + 3 * PAGE + 37);
	done(f->two, &gone);
	is_refused(f, key, START + PAGE);
}

static void
test_pages_elsewhere(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, ROOM / 2);
	struct umr umr = registers(key, START, ROOM * PAGE);
	struct rnic_wqe_data data;

	put_pages(f, f->list, 0, 1, ROOM);
	elsewhere(f, &umr, &data, ROOM / 2);
	done(f->two, &umr);
	/* Ours, from then on. */
	memset(f->list, 0, PAGE);
	for (uint32_t i = 0; i < ROOM; i++)
		leads_to(f, key, START + (uint64_t)i * PAGE, page(f, i));
}

static void
test_pages_by_the_reserved_key(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, ROOM / 2);
	struct umr umr = registers(key, START, 8 * PAGE);
	struct rnic_wqe_data data;

	put_pages(f, f->list, 5, 2, 8);
	elsewhere(f, &umr, &data, 4);
	data.lkey = rnic_cpu_to_be32(drv_reserved_lkey(&f->two->b.end->dp.drv));
	done(f->two, &umr);
	leads_to(f, key, START + 7 * PAGE, page(f, 19));
}

/* ibv_reg_mr(): WQEs with a part of the list each, and at last the one that opens the key. */
static void
test_pages_in_parts(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, ROOM / 2);
	struct umr open = registers(key, START, 24 * PAGE);
	struct umr part = { .flags = POINTS | RNIC_WQE_UMR_CHECK_FREE, .key = key };
	struct rnic_wqe_data data;

	for (uint32_t i = 0; i < 2; i++) {
		put_pages(f, f->list, 40 + i * 8, 1, 8);
		elsewhere(f, &part, &data, 4);
		part.offset = i * 4;
		done(f->two, &part);
	}
	put_pages(f, f->list, 3, 1, 8);
	elsewhere(f, &open, &data, 4);
	open.flags |= POINTS;
	open.offset = 8;
	done(f->two, &open);
	leads_to(f, key, START, page(f, 40));
	leads_to(f, key, START + 15 * PAGE, page(f, 55));
	leads_to(f, key, START + 16 * PAGE, page(f, 3));
	leads_to(f, key, START + 23 * PAGE, page(f, 10));
	/* One of them anew, of a key in use. */
	put_pages(f, f->list, 30, 1, 8);
	part.flags = POINTS;
	part.offset = 4;
	done(f->two, &part);
	leads_to(f, key, START + 7 * PAGE, page(f, 47));
	leads_to(f, key, START + 8 * PAGE, page(f, 30));
	leads_to(f, key, START + 16 * PAGE, page(f, 3));
}

/* Longer, shorter, of larger pages; what the device found out of the region before must not count any more. */
static void
test_registered_again(void **state)
{
	static const struct {
		uint32_t first, step, count;
	} regions[] = { { 0, 2, 2 }, { 1, 2, 24 }, { 7, 1, 8 }, { 3, 3, 16 }, { 0, 1, 2 } };
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, ROOM / 2);

	for (unsigned int i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		const uint32_t count = regions[i].count, step = regions[i].step;
		struct umr umr = registers(key, START + i, (uint64_t)count * PAGE - i);
		struct umr gone = invalidates(key);
		struct rnic_wqe_data data;

		put_pages(f, f->list, regions[i].first, step, count);
		elsewhere(f, &umr, &data, (count + 1) / 2);
		done(f->two, &umr);
		for (uint32_t n = 0; n < count; n++)
			leads_to(f, key, START + n * PAGE + 64,
				 page(f, regions[i].first + n * step) + 64);
		is_refused(f, key, START + (uint64_t)count * PAGE);
		done(f->two, &gone);
		is_refused(f, key, START + 64);
	}
}

static void
test_larger_pages(void **state)
{
	const struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, ROOM / 2);
	struct umr umr = registers(key, START, 32ul * PAGE);
	uint8_t *memory = dp_alloc(dp, 32ul * PAGE, 16ul * PAGE);
	const struct rnic_be64 mtts[] = { rnic_cpu_to_be64(dp_iova(dp, memory + 16ul * PAGE)),
					  rnic_cpu_to_be64(dp_iova(dp, memory)) };

	assert_non_null(memory);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LOG_PAGE_SIZE, 16);
	in_the_wqe(&umr, mtts, 1);
	done(f->two, &umr);
	leads_to(f, key, START + 15ul * PAGE, memory + 31ul * PAGE);
	leads_to(f, key, START + 16ul * PAGE, memory);
	leads_to(f, key, START + 31ul * PAGE, memory + 15ul * PAGE);
}

/* Linux' lists with gaps (IB_MR_TYPE_SG_GAPS), whose entries are of any length. */
static void
test_list_of_keys_elsewhere(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_KLM, ROOM);
	struct umr umr = registers(key, START, ROOM * 128);
	struct dp *dp = &f->two->b.end->dp;
	struct rnic_klm *klms = f->list;
	struct rnic_wqe_data data;

	for (uint32_t i = 0; i < ROOM; i++)
		klms[i] = drv_klm(128, f->physical, dp_iova(dp, page(f, ROOM - 1 - i) + 8 * i));
	elsewhere(f, &umr, &data, ROOM);
	done(f->two, &umr);
	for (uint32_t i = 0; i < ROOM; i++)
		leads_to(f, key, START + i * 128 + 64, page(f, ROOM - 1 - i) + 8 * i + 64);
	/* The second half of it anew. */
	klms[0] = drv_klm((ROOM / 2) * 128, f->physical, dp_iova(dp, page(f, 20)));
	elsewhere(f, &umr, &data, 1);
	umr.flags = POINTS;
	umr.offset = ROOM / 2;
	done(f->two, &umr);
	leads_to(f, key, START + (ROOM / 2 - 1) * 128 + 64,
		 page(f, ROOM / 2) + 8 * (ROOM / 2 - 1) + 64);
	leads_to(f, key, START + (ROOM - 1) * 128 + 64, page(f, 20) + (ROOM / 2 - 1) * 128 + 64);
}

/* CREATE_MKEY brought the pages, and the device knows where they are. */
static void
test_pages_of_a_key_that_has_some(void **state)
{
	const struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				 .access = DRV_LR | DRV_LW | ALL_RR_RW,
				 .log_page_size = 12,
				 .pd = dp->pd,
				 .start = START,
				 .umr = true };
	struct rnic_be64 list[2];
	uint64_t mtts[8];
	struct umr part = { .flags = RNIC_WQE_UMR_INLINE | POINTS, .offset = 2 };

	mkey.mtts = mtts;
	mkey.count = 8;
	mkey.length = 8 * PAGE;
	for (uint32_t i = 0; i < 8; i++)
		mtts[i] = dp_iova(dp, page(f, i));
	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &part.key), 0);
	leads_to(f, part.key, START + 5 * PAGE, page(f, 5));
	put_pages(f, list, 41, 1, 2);
	in_the_wqe(&part, list, 1);
	done(f->two, &part);
	leads_to(f, part.key, START + 3 * PAGE, page(f, 3));
	leads_to(f, part.key, START + 5 * PAGE, page(f, 42));
	leads_to(f, part.key, START + 6 * PAGE, page(f, 6));
}

/* Of a list that is replaced nothing stays. */
static void
test_shorter_list(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, 4);
	struct umr umr = registers(key, START, 8 * PAGE);
	struct rnic_be64 mtts[8];

	put_pages(f, mtts, 0, 1, 8);
	in_the_wqe(&umr, mtts, 4);
	done(f->two, &umr);
	umr.flags = 0;
	in_the_wqe(&umr, mtts, 3);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LEN, 6 * PAGE);
	done(f->two, &umr);
	is_refused(f, key, START + 6 * PAGE);
}

/* Linux' smallest: of two pages, whose WQE brings 64 bytes all the same. */
static void
test_room_is_of_whole_lines(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, 1);
	struct umr umr = registers(key, START, 2 * PAGE);
	struct rnic_be64 mtts[8] = { 0 };

	put_pages(f, mtts, 7, 1, 2);
	in_the_wqe(&umr, mtts, 4);
	done(f->two, &umr);
	leads_to(f, key, START + PAGE, page(f, 8));
}

static void
test_peer_invalidates(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, 4);
	struct umr umr = registers(key, START, PAGE);
	struct rnic_be64 mtts[8] = { 0 };

	put_pages(f, mtts, 6, 0, 1);
	in_the_wqe(&umr, mtts, 4);
	done(f->two, &umr);
	leads_to(f, key, START, page(f, 6));
	qw_recv(&f->two->b, f->two->in, 64);
	qw_wqe(&f->two->a, RNIC_WQE_SEND_INVAL, f->two->out, 64, NULL, 0, RNIC_WQE_CE_ALWAYS)
		->immediate = rnic_cpu_to_be32(key);
	qw_go(f->two);
	forget(f->two);
	is_refused(f, key, START);
	done(f->two, &umr);
	leads_to(f, key, START, page(f, 6));
}

/* ---- What a WQE may not ask ---- */

/* A region of pages 0 and 1; none of the WQEs that come after it changes it. */
static uint32_t
two_pages(const struct fixture *f)
{
	const uint32_t key = key_of(f, RNIC_MKEY_MTT, 8);
	struct umr umr = registers(key, START, 2 * PAGE);
	struct rnic_be64 mtts[2];

	put_pages(f, mtts, 0, 1, 2);
	in_the_wqe(&umr, mtts, 1);
	done(f->two, &umr);
	put_pages(f, f->list, 32, 1, 16);
	return key;
}

static void
test_range_and_list_do_not_fit(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = two_pages(f);
	struct rnic_wqe_data data;
	struct umr umr;

	/* three pages, of which two are there; with a list of four that is too long for the key */
	umr = registers(key, START, 2 * PAGE + 1);
	umr.flags = RNIC_WQE_UMR_INLINE;
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	umr = registers(key, START + 1, 2 * PAGE);
	umr.flags = RNIC_WQE_UMR_INLINE;
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	elsewhere(f, &umr, &data, 9);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	elsewhere(f, &umr, &data, 4);
	umr.flags = POINTS;
	umr.offset = 5;
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	umr.offset = 0x10000;
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	umr.offset = UINT32_MAX;
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	/* pages of no size that there is, and a range that wraps */
	elsewhere(f, &umr, &data, 4);
	umr.flags = umr.offset = 0;
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LOG_PAGE_SIZE, 11);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	umr = registers(key, UINT64_MAX - 1, 8);
	umr.flags = 0;
	elsewhere(f, &umr, &data, 4);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	/* It is not free. */
	umr = registers(key, START, 2 * PAGE);
	elsewhere(f, &umr, &data, 4);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
}

static void
test_list_that_cannot_be_read(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	const uint32_t key = two_pages(f);
	struct umr umr = registers(key, START, 8 * PAGE);
	const struct drv_mkey other = { .mode = RNIC_MKEY_PA,
					.access = DRV_LR,
					.pd = dp_create_simple(dp, RNIC_CMD_ALLOC_PD),
					.length64 = true };
	struct rnic_wqe_data data;
	const struct drv_mkey shorter = { .mode = RNIC_MKEY_PA,
					  .access = DRV_LR,
					  .pd = dp->pd,
					  .start = dp_iova(dp, f->list),
					  .length = 63 };
	const struct drv_mkey pages = { .mode = RNIC_MKEY_MTT,
					.access = DRV_LR,
					.log_page_size = DP_LOG_BYTES,
					.pd = dp->pd,
					.start = DP_IOVA,
					.length = DP_BYTES,
					.pages = { .iova = DP_IOVA, .count = 1 } };
	uint32_t foreign, bounded, listed;

	assert_int_equal(drv_mkey_create(&dp->drv, &other, &foreign), 0);
	assert_int_equal(drv_mkey_create(&dp->drv, &shorter, &bounded), 0);
	assert_int_equal(drv_mkey_create(&dp->drv, &pages, &listed), 0);
	elsewhere(f, &umr, &data, 4);
	umr.flags = 0;
	/* nothing is mapped there; only its end is not */
	data.address = rnic_cpu_to_be64(UINT64_C(0x5000000000));
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	data.address = rnic_cpu_to_be64(DP_IOVA + DP_BYTES - 16);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	data.address = rnic_cpu_to_be64(UINT64_MAX - 15);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	/* no key; another domain's; one with a list, as it could be the one that changes */
	elsewhere(f, &umr, &data, 4);
	umr.flags = 0;
	data.lkey = rnic_cpu_to_be32(f->physical ^ 1);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	data.lkey = rnic_cpu_to_be32(foreign);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	/* one that ends before the list does */
	data.lkey = rnic_cpu_to_be32(bounded);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	data.lkey = rnic_cpu_to_be32(listed);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
}

static void
test_form(void **state)
{
	const struct fixture *f = *state;
	const uint32_t key = two_pages(f);
	struct umr umr = registers(key, START, 8 * PAGE);
	struct rnic_wqe_data data[2];

	elsewhere(f, &umr, data, 4);
	umr.flags = 0;
	/* a segment that is shorter than the list, inline data, two segments, none */
	data->byte_count = rnic_cpu_to_be32(63);
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	data->byte_count = rnic_cpu_to_be32(RNIC_WQE_INLINE | 64);
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	elsewhere(f, &umr, data, 4);
	umr.flags = 0;
	data[1] = data[0];
	umr.list_bytes = sizeof(data);
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	umr.units = 8;
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	/* an offset without its flag: it means signatures */
	umr.units = 9;
	umr.offset = 1;
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	/* another domain is for the queue pair of all of them */
	umr.offset = 0;
	umr.mask |= RNIC_UMR_MASK_PD;
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	/* As it should be: */
	umr.mask &= ~RNIC_UMR_MASK_PD;
	umr.list_bytes = sizeof(data[0]);
	umr.units = 0;
	done(f->two, &umr);
	leads_to(f, key, START + PAGE, page(f, 33));
}

/* Pages are addresses on the bus: a user who said them would have all memory. */
static void
test_a_user_registers_nothing(void **state)
{
	struct fixture *f = *state;
	const uint32_t key = two_pages(f);
	const struct qw_qp_conf conf = qw_two_qp_conf(f->two, true);
	struct umr umr = registers(key, START, 8 * PAGE);
	struct rnic_be64 mtts[8];
	struct rnic_wqe_data data;

	qw_two_replace(f->two, true, &conf);
	umr.flags = 0;
	umr.mask &= ~(RNIC_UMR_MASK_PAGE_SIZE | RNIC_UMR_MASK_SMALL_FENCE);
	put_pages(f, mtts, 8, 1, 8);
	in_the_wqe(&umr, mtts, 4);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	elsewhere(f, &umr, &data, 4);
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	umr.mask = 0;
	in_the_wqe(&umr, mtts, 4);
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	umr.entries = umr.list_bytes = 0;
	umr.mask = RNIC_UMR_MASK_PAGE_SIZE;
	changes_nothing(f, &umr, key, RNIC_SYND_LOCAL_QP_OPERATION);
	umr.mask = RNIC_UMR_MASK_LEN;
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
}

/* A file that he may only read is pinned for reading: the device would write to it. */
static void
test_a_user_gives_himself_no_rights(void **state)
{
	static const uint64_t rights[] = { RNIC_UMR_MASK_LR, RNIC_UMR_MASK_LW, RNIC_UMR_MASK_RR,
					   RNIC_UMR_MASK_RW, RNIC_UMR_MASK_A };
	struct fixture *f = *state;
	const uint32_t key = two_pages(f);
	const struct qw_qp_conf conf = qw_two_qp_conf(f->two, true);
	struct umr umr = registers(key, START, 8 * PAGE);

	qw_two_replace(f->two, true, &conf);
	umr.flags = 0;
	umr.entries = umr.list_bytes = 0;
	for (unsigned int i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		umr.mask = rights[i];
		changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	}
}

/* Without the reserved key, of which others of the kernel's do without, too. */
static void
test_reserved_key_is_not_granted(void **state)
{
	struct fixture *f = *state;
	const uint32_t key = two_pages(f);
	struct qw_qp_conf conf = kernel_conf(f->two);
	struct umr umr = registers(key, START, 8 * PAGE);
	struct rnic_wqe_data data;

	conf.rlky = false;
	qw_two_replace(f->two, true, &conf);
	umr.flags = 0;
	elsewhere(f, &umr, &data, 4);
	data.lkey = rnic_cpu_to_be32(drv_reserved_lkey(&f->two->b.end->dp.drv));
	changes_nothing(f, &umr, key, RNIC_SYND_MW_BIND);
	elsewhere(f, &umr, &data, 4);
	done(f->two, &umr);
}

/* What a key may be filled with is taken when it is made. */
static void
test_room_has_a_limit(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	/* 256 MiB of them: with what is there already, it is too much. */
	struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				 .log_page_size = 12,
				 .pd = dp->pd,
				 .free = true,
				 .umr = true,
				 .room = 1u << 24 };
	uint32_t key;

	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), RNIC_STATUS_LIM);
	mkey.room = UINT32_MAX;
	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), RNIC_STATUS_LIM);
	mkey.umr = false;
	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), 0);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pages_in_the_wqe),
		TEST(test_pages_elsewhere),
		TEST(test_pages_by_the_reserved_key),
		TEST(test_pages_in_parts),
		TEST(test_registered_again),
		TEST(test_larger_pages),
		TEST(test_list_of_keys_elsewhere),
		TEST(test_pages_of_a_key_that_has_some),
		TEST(test_shorter_list),
		TEST(test_room_is_of_whole_lines),
		TEST(test_peer_invalidates),
		TEST(test_range_and_list_do_not_fit),
		TEST(test_list_that_cannot_be_read),
		TEST(test_form),
		TEST(test_a_user_registers_nothing),
		TEST(test_a_user_gives_himself_no_rights),
		TEST(test_reserved_key_is_not_granted),
		TEST(test_room_has_a_limit),
	};

	return cmocka_run_group_tests_name("qp_register", tests, NULL, NULL);
}
