/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * WQEs of random bytes that change memory keys (UMR), and sound ones with some of their bytes damaged: of a user's queue pair, of a
 * kernel's, and of the one that changes keys of all domains. Whatever comes of them is said in one completion each, and no key that
 * is another's changes.
 */
#include "../counts.h"
#include "qp_umr.h"

#define PAGE  4096u
#define PAGES 8u
#define ROOM  PAGES
/* So many WQEs, and then the others' keys are looked at. */
#define ROUND 50u
#define START UINT64_C(0x7f0000000000)

/* A key of each kind: windows and regions, free and in use; one of all memory; one that no WQE may change. */
enum kind { FREE_WINDOW, WINDOW, FREE_REGION, REGION, ALL_MEMORY, FIXED_REGION, KINDS };

/* One that must stay as it is. */
struct kept {
	struct qw_end *end;
	struct qw_qp *peer; /* who uses it */
	uint8_t *memory;    /* that it leads to */
	uint32_t key;
	enum kind kind;
	struct rnic_mkc context;
};

struct fixture {
	struct qw_two *two; /* b's are the WQEs */
	struct qw_qp a, b;  /* of the same domains, and not disturbed */
	struct qw_qp a_far, b_far;
	uint64_t random;
	uint32_t pd; /* of b_far */
	uint32_t physical;
	uint8_t *there[2]; /* at a's end, at b's */
	uint32_t own[KINDS];
	struct kept kept[2 * KINDS + 1];
	uint32_t count;
	uint32_t done;
	uint32_t seed; /* of what is written */
};

static uint32_t
below(struct fixture *f, uint32_t limit)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (uint32_t)((f->random >> 11) % limit);
}

/* ---- Keys ---- */

static void
keys_of(struct qw_end *end, uint32_t pd, uint8_t *memory, uint32_t *keys)
{
	struct dp *dp = &end->dp;
	const struct drv_mkey mkey = {
		.access = DRV_LR | DRV_LW | ALL_RR_RW, .pd = pd, .umr = true, .variant = 0x31
	};
	struct drv_mkey kinds[KINDS];
	uint64_t mtts[PAGES];
	struct rnic_klm klm;

	for (uint32_t i = 0; i < PAGES; i++)
		mtts[i] = dp_iova(dp, memory + (size_t)i * PAGE);
	for (uint32_t i = 0; i < KINDS; i++)
		kinds[i] = mkey;
	kinds[ALL_MEMORY].mode = RNIC_MKEY_PA;
	kinds[ALL_MEMORY].length64 = true;
	kinds[FREE_WINDOW].mode = kinds[WINDOW].mode = RNIC_MKEY_KLM;
	kinds[FREE_WINDOW].free = kinds[FREE_WINDOW].rinval = true;
	kinds[FREE_WINDOW].room = kinds[FREE_REGION].room = ROOM;
	kinds[WINDOW].klms = &klm;
	kinds[WINDOW].count = 1;
	kinds[WINDOW].length = 64;
	kinds[REGION].mode = RNIC_MKEY_MTT;
	kinds[REGION].log_page_size = 12;
	kinds[REGION].start = START;
	kinds[REGION].length = PAGES * PAGE;
	kinds[FREE_REGION] = kinds[FIXED_REGION] = kinds[REGION];
	kinds[FREE_REGION].free = true;
	kinds[FREE_REGION].room = ROOM;
	kinds[REGION].mtts = kinds[FIXED_REGION].mtts = mtts;
	kinds[REGION].count = kinds[FIXED_REGION].count = PAGES;
	kinds[FIXED_REGION].umr = false;
	assert_int_equal(drv_mkey_create(&dp->drv, &kinds[ALL_MEMORY], &keys[ALL_MEMORY]), 0);
	klm = drv_klm(64, keys[ALL_MEMORY], mtts[0]);
	for (uint32_t i = 0; i < KINDS; i++)
		if (i != ALL_MEMORY)
			assert_int_equal(drv_mkey_create(&dp->drv, &kinds[i], &keys[i]), 0);
}

static void
keep(struct fixture *f, enum kind kind, uint32_t key, struct qw_qp *peer, bool b)
{
	struct qw_end *end = f->two->qw.ends[b];

	f->kept[f->count++] = (struct kept){ .end = end,
					     .peer = peer,
					     .memory = f->there[b],
					     .key = key,
					     .kind = kind,
					     .context = qw_key_query(end, key) };
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a_conf, b_conf;
	uint32_t keys[KINDS];
	int rc;

	assert_non_null(f);
	rc = qw_setup(state, &(struct qw_conf){ .pair = true }, NULL);
	f->two = *state;
	f->random = 0x9e3779b97f4a7c15;
	f->pd = dp_create_simple(&f->two->b.end->dp, RNIC_CMD_ALLOC_PD);
	f->physical = qw_physical_key(f->two->b.end);
	a_conf = qw_two_qp_conf(f->two, false);
	b_conf = qw_two_qp_conf(f->two, true);
	qw_two_more(f->two, &f->a, &a_conf, &f->b, &b_conf, &attr);
	b_conf.pd = f->pd;
	qw_two_more(f->two, &f->a_far, &a_conf, &f->b_far, &b_conf, &attr);
	for (uint32_t i = 0; i < 2; i++) {
		f->there[i] = dp_alloc(&f->two->qw.ends[i]->dp, PAGES * PAGE, PAGE);
		assert_non_null(f->there[i]);
	}
	keys_of(f->two->b.end, f->pd, f->there[1], keys);
	for (uint32_t i = 0; i < KINDS; i++)
		keep(f, i, keys[i], &f->a_far, true);
	keys_of(f->two->a.end, f->two->a.end->dp.pd, f->there[0], keys);
	for (uint32_t i = 0; i < KINDS; i++)
		keep(f, i, keys[i], &f->b, false);
	keys_of(f->two->b.end, f->two->b.end->dp.pd, f->there[1], f->own);
	keep(f, FIXED_REGION, f->own[FIXED_REGION], &f->a, true);
	*state = f;
	return rc;
}

static void
nothing_has_changed(const struct fixture *f, uint32_t from)
{
	for (uint32_t i = from; i < f->count; i++) {
		const struct rnic_mkc context = qw_key_query(f->kept[i].end, f->kept[i].key);

		assert_memory_equal(&context, &f->kept[i].context, sizeof(context));
	}
}

/* The peer's WRITE by it is where it always was. */
static void
leads_to_its_memory(struct fixture *f, const struct kept *kept)
{
	const uint32_t first = kept->kind == REGION || kept->kind == FIXED_REGION ? 3 * PAGE : 0;
	const uint64_t at = kept->kind == ALL_MEMORY ? dp_iova(&kept->end->dp, kept->memory)
			    : first != 0	     ? START + first
						     : 0;
	const bool from_a = kept->peer->end == f->two->a.end;
	uint8_t *local = from_a ? f->two->out : f->two->in;
	const uint16_t counter = kept->peer->sq.producer;

	if (kept->kind == FREE_WINDOW || kept->kind == FREE_REGION)
		return;
	qw_fill(local, 64, ++f->seed);
	qw_wqe(kept->peer, RNIC_WQE_RDMA_WRITE, local, 64, (void *)(uintptr_t)at, kept->key,
	       RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&kept->peer->sq);
	qw_run(&f->two->qw);
	qw_expect(from_a ? &f->two->a_send : &f->two->b_send, RNIC_CQE_REQUESTER, counter,
		  kept->peer->qpn);
	assert_memory_equal(kept->memory + first, local, 64);
}

/* ---- WQEs ---- */

/* Half of the WQEs name a key of their own domain, by its present byte; three in eight another's, the rest a random number. */
static uint32_t
any_key(struct fixture *f)
{
	const uint32_t choice = below(f, 8);
	struct rnic_mkc mkc;
	uint32_t index;

	if (choice == 7)
		return (uint32_t)f->random;
	if (choice > 3)
		return f->kept[below(f, f->count)].key;
	index = below(f, KINDS);
	mkc = qw_key_query(f->two->b.end, f->own[index]);
	return (f->own[index] & ~0xffu) | (uint32_t)rnic_mkc_get(&mkc, RNIC_MKC_MKEY_7_0);
}

static struct umr
registers(struct fixture *f, uint32_t key, void *list)
{
	struct umr umr = { .key = key, .entries = 1 + below(f, ROOM / 2), .list = list };
	const uint64_t at = DP_IOVA + (uint64_t)below(f, 64) * PAGE;

	umr.mask = RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR | RNIC_UMR_MASK_MKEY |
		   RNIC_UMR_MASK_LR | RNIC_UMR_MASK_FREE | RIGHTS;
	rnic_mkc_set(&umr.mkc, RNIC_MKC_MKEY_7_0, key & 0xff);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_START_ADDR, START);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LEN, 2ul * umr.entries * PAGE);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RW, 1);
	if (below(f, 2) == 0) {
		umr.flags = RNIC_WQE_UMR_INLINE;
		umr.list_bytes = umr.entries * 16;
		for (uint32_t i = 0; i < 2 * umr.entries; i++)
			((struct rnic_be64 *)list)[i] = rnic_cpu_to_be64(at + i * (uint64_t)PAGE);
	} else {
		umr.list_bytes = sizeof(struct rnic_wqe_data);
		*(struct rnic_wqe_data *)list = (struct rnic_wqe_data){
			.byte_count = rnic_cpu_to_be32(umr.entries * 16),
			.lkey = rnic_cpu_to_be32(f->physical),
			.address = rnic_cpu_to_be64(at),
		};
	}
	return umr;
}

/* Another domain and other rights. */
static struct umr
moves(struct fixture *f, uint32_t key)
{
	struct umr umr = { .key = key, .mask = RNIC_UMR_MASK_PD | RNIC_UMR_MASK_RW };

	rnic_mkc_set(&umr.mkc, RNIC_MKC_PD, below(f, 2) ? f->pd : f->two->b.end->dp.pd);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RW, below(f, 2));
	return umr;
}

static struct umr
sound(struct fixture *f, uint32_t key, void *list)
{
	switch (below(f, 4)) {
	case 0:
		return bind(&f->two->b, below(f, 2) == 0, key, f->two->b.end->key,
			    (uintptr_t)f->two->in, LENGTH, ALL_RR_RW);
	case 1: return unbind(below(f, 2) == 0, key);
	case 2: return moves(f, key);
	default: return registers(f, key, list);
	}
}

static void
post(struct fixture *f, struct qw_qp *qp)
{
	uint8_t bytes[RNIC_WQE_DS_MAX * 16] = { 0 };
	_Alignas(16) uint8_t list[ROOM * 16] = { 0 };
	const uint32_t key = any_key(f);
	uint32_t units, damages = below(f, 4);

	if (below(f, 8) == 0) {
		units = 1 + below(f, RNIC_WQE_DS_MAX);
		for (uint32_t i = 0; i < units * 16; i++)
			bytes[i] = (uint8_t)below(f, 256);
	} else {
		const struct umr umr = sound(f, key, list);

		units = umr_fill(&umr, bytes);
		while (damages-- > 0)
			bytes[below(f, units * 16)] = (uint8_t)below(f, 256);
	}
	put_bytes(qp, key, bytes, units, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&qp->sq);
}

/* One completion; what was refused leaves the queue pair in ERR, and it begins anew. */
static void
one(struct fixture *f, struct qw_qp *qp, const uint16_t changes[3])
{
	struct qw_attr attr = qw_attr();
	const struct rnic_cqe *cqe = NULL;

	post(f, qp);
	for (unsigned int polls = 0; cqe == NULL && polls < 100; polls++) {
		qw_poll(&f->two->qw, 1);
		cqe = dp_cq_next(&f->two->b_send);
	}
	assert_non_null(cqe);
	if (cqe->op_own >> 4 == RNIC_CQE_REQUESTER) {
		f->done++;
		return;
	}
	assert_int_equal(cqe->op_own >> 4, RNIC_CQE_REQUESTER_ERROR);
	qw_qp_to(qp, RNIC_CMD_2RST_QP);
	qp->sq.producer = 0;
	dp_sq_record(&qp->sq);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(qw_qp_modify(qp, changes[i], &f->two->a, &attr), 0);
}

/* `from`: what comes before it in the list may be changed. */
static void
random_wqes(struct fixture *f, struct qw_qp *qp, uint32_t from)
{
	static const uint16_t changes[] = { RNIC_CMD_RST2INIT_QP, RNIC_CMD_INIT2RTR_QP,
					    RNIC_CMD_RTR2RTS_QP };
	const uint32_t count = full_run() ? 1000000 : sanitized_run() ? 10000 : 100000;

	for (uint32_t i = 0; i < count; i += ROUND) {
		for (uint32_t n = 0; n < ROUND; n++)
			one(f, qp, changes);
		nothing_has_changed(f, from);
	}
	assert_int_equal(qw_event(f->two->b.end, NULL), 0);
	for (uint32_t i = from; i < f->count; i++)
		leads_to_its_memory(f, &f->kept[i]);
	/* Else they were not worth the time. */
	assert_in_range(f->done, count / 50, count);
}

static void
test_of_a_user(void **state)
{
	struct fixture *f = *state;

	random_wqes(f, &f->two->b, 0);
}

static void
test_of_a_kernel(void **state)
{
	struct fixture *f = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(f->two, true);

	conf.fre = conf.rlky = true;
	qw_two_replace(f->two, true, &conf);
	random_wqes(f, &f->two->b, 0);
}

/* It may change those of each domain of its function, if they are for that. */
static void
test_of_all_domains(void **state)
{
	struct fixture *f = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(f->two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp umr;

	conf.st = RNIC_QP_ST_REG_UMR;
	conf.no_rq = true;
	assert_int_equal(qw_qp_create(f->two->b.end, &umr, &conf), 0);
	assert_int_equal(qw_qp_modify(&umr, RNIC_CMD_RST2INIT_QP, NULL, &attr), 0);
	assert_int_equal(qw_qp_modify(&umr, RNIC_CMD_INIT2RTR_QP, NULL, &attr), 0);
	assert_int_equal(qw_qp_modify(&umr, RNIC_CMD_RTR2RTS_QP, NULL, &attr), 0);
	random_wqes(f, &umr, FIXED_REGION);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_of_a_user),
		TEST(test_of_a_kernel),
		TEST(test_of_all_domains),
	};

	return cmocka_run_group_tests_name("qp_umr_random", tests, NULL, NULL);
}
