/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: memory windows, and all that changes keys in the order of a queue. Two connected pairs of queue pairs on one device;
 * what becomes of each WQE and of each packet that names a key is compared with a model of the keys (roce_umr_model.c).
 *
 *   byte 0    bit 0: packets go as bytes; 1: the wire has faults; 2: the second pair is of UC; 3: it is a kernel's
 *   then operations, each: u8 enum umr_op, its operands. A queue pair is a u8: bit 0 which end, bit 1 which pair. A key is a u8:
 *   bits 0..4 which; 5 and 6: its name as a driver knows it, as the device has it, another byte, the byte before
 */

#include "driver/qp.h"
#include "qp_world.h"
#include "fuzz_device.h"
#include "roce_umr.h"
#include "softrnic/base/poller.h"
#include "softrnic/memory/tpt.h"

#define QPS	   4
#define LOG_SQ	   6
#define LOG_RQ	   4
#define LOG_STRIDE 4
#define WQEBBS_MAX 16 /* of a WQE */
#define RUN_POLLS  20000
#define LOCAL	   UMR_PAGE
#define MESSAGE	   1500u

/* Where those keys begin that are not at their memory's address. */
#define CHUNKS_START UINT64_C(0x700000000064)
#define CHUNKS_BYTES (4 * UMR_PAGE - 200)

struct world {
	struct qw qw;
	struct qw_end *end;
	struct dp_cq cqs[2]; /* of sends, of receives */
	struct qw_qp qps[QPS];
	uint16_t done[QPS]; /* WQEBBs that cannot be under way any more */
	struct qw_attr attr;
	uint32_t other_pd;
	uint8_t *source, *sink, *list;
	uint32_t names[KEYS]; /* as the driver knows them */
	bool has_kernel;
	/* Ever: UMRs and invalidations that were told of as done. */
	uint32_t executed, invalidated;
};

/* ---- Keys ---- */

struct key_conf {
	enum rnic_mkey_access_mode mode;
	uint8_t access, room;
	bool free, umr, rinval, other_pd;
};

#define REGION(rights) .mode = RNIC_MKEY_MTT, .access = (rights)
#define WINDOW(entries) \
	.mode = RNIC_MKEY_KLM, .access = DRV_LR, .room = (entries), .free = true, .umr = true
#define ALL (DRV_LR | DRV_LW | DRV_RR | DRV_RW | DRV_A)

static const struct key_conf key_confs[KEYS] = {
	[KEY_TYPE1] = { WINDOW(4) },
	[KEY_TYPE2] = { WINDOW(4), .rinval = true },
	[KEY_TYPE2_MORE] = { WINDOW(4), .rinval = true },
	[KEY_WIDE] = { WINDOW(UMR_ENTRIES), .rinval = true },
	[KEY_FLAT] = { REGION(DRV_LR | DRV_LW) },
	[KEY_OPEN] = { REGION(ALL) },
	[KEY_READ] = { REGION(DRV_LR | DRV_RR) },
	[KEY_CHUNKS] = { REGION(DRV_LR | DRV_LW | DRV_RW), .umr = true },
	[KEY_PAGES] = { REGION(ALL) },
	[KEY_OF_QP] = { REGION(ALL) },
	[KEY_FREE] = { REGION(ALL), .free = true, .umr = true },
	[KEY_LIST] = { .mode = RNIC_MKEY_KLM, .access = ALL, .umr = true },
	[KEY_PAGED] = { .mode = RNIC_MKEY_KSM, .access = ALL, .umr = true, .rinval = true },
	[KEY_OTHER] = { REGION(DRV_LR | DRV_LW), .other_pd = true },
	[KEY_OTHER_2] = { WINDOW(4), .rinval = true, .other_pd = true },
	[KEY_SOURCE] = { REGION(DRV_LR) },
	[KEY_SINK] = { REGION(DRV_LR | DRV_LW) },
};

/* What the model says of a key that is to be made, but its translations. */
static struct umr_key
key_begin(const struct world *w, enum umr_which which)
{
	const struct key_conf *conf = &key_confs[which];

	return (struct umr_key){
		.free = conf->free,
		.umr = conf->umr,
		.rinval = conf->rinval,
		.page_rights = which == KEY_PAGES,
		.variant = (uint8_t)(0x31 + which),
		.access = conf->access,
		.mode = conf->mode,
		.pd = conf->other_pd ? w->other_pd : w->end->dp.pd,
		.qpn = which == KEY_OF_QP ? w->qps[0].qpn : RNIC_MKEY_ANY_QPN,
		.room = conf->room,
	};
}

/* As it stands in a list. */
static uint64_t
page_of(const struct world *w, const uint8_t *at)
{
	return dp_iova(&w->end->dp, at) | RNIC_MTT_READ | RNIC_MTT_WRITE;
}

static void
key_memory(const struct world *w, enum umr_which which, struct umr_key *key)
{
	const struct umr_ward *wards = umr_model.wards;
	uint8_t *at = which == KEY_SOURCE ? w->source
		      : which == KEY_SINK ? w->sink
					  : wards[which == KEY_OTHER].at;

	key->log_page_size = 12;
	if (which == KEY_CHUNKS || which == KEY_PAGES) {
		key->start = CHUNKS_START;
		key->length = CHUNKS_BYTES;
		key->pages[0] = page_of(w, wards[1].at + UMR_PAGE);
		key->pages[1] = page_of(w, wards[0].at) & ~(uint64_t)RNIC_MTT_WRITE;
		key->pages[2] = page_of(w, wards[0].at + UMR_PAGE);
		key->pages[3] = page_of(w, wards[1].at);
		key->count = 4;
	} else {
		key->start = (uintptr_t)at;
		key->length = which == KEY_SOURCE || which == KEY_SINK ? LOCAL : UMR_WARD;
		key->count = 2;
		for (uint32_t i = 0; i * UMR_PAGE < key->length; i++)
			key->pages[i] = page_of(w, at + (size_t)i * UMR_PAGE);
	}
	key->room = key->count / 2;
}

static void
key_list(const struct world *w, enum umr_which which, struct umr_key *key)
{
	const uint64_t ward = (uintptr_t)umr_model.wards[0].at;

	if (which == KEY_LIST) {
		key->entries[0] = (struct umr_entry){ w->names[KEY_FLAT], ward + 100, 700 };
		key->entries[1] =
			(struct umr_entry){ w->names[KEY_CHUNKS], CHUNKS_START + 3000, 5000 };
		key->length = 5700;
	} else if (which == KEY_PAGED) {
		key->entries[0] =
			(struct umr_entry){ w->names[KEY_CHUNKS], CHUNKS_START + 50, UMR_PAGE };
		key->entries[1] = (struct umr_entry){ w->names[KEY_FLAT], ward, UMR_PAGE };
		key->start = UMR_PAGE + 8;
		key->length = 2 * UMR_PAGE - 16;
	}
	key->log_page_size = key->mode == RNIC_MKEY_KSM ? 12 : 0;
	key->count = key->length > 0 ? 2 : 0;
	if (key->count > 0)
		key->room = key->count;
}

static void
key_make(struct world *w, enum umr_which which)
{
	struct umr_key *key = &umr_model.keys[which];
	struct dp *dp = &w->end->dp;
	struct rnic_klm klms[2];
	struct drv_mkey told;

	*key = key_begin(w, which);
	/* Zeros, which stand for that many. */
	for (unsigned int i = 0; i < UMR_ENTRIES; i++)
		key->entries[i].bytes = UINT64_C(1) << 31;
	if (key->mode == RNIC_MKEY_MTT)
		key_memory(w, which, key);
	else
		key_list(w, which, key);
	told = (struct drv_mkey){
		.mode = key->mode,
		.access = key->access,
		.log_page_size = key->log_page_size,
		.pd = key->pd,
		.start = key->start,
		.length = key->length,
		.free = key->free,
		.page_rights = key->page_rights,
		.variant = key->variant,
		.qpn = key->qpn,
		.umr = key->umr,
		.rinval = key->rinval,
		.room = key->room,
	};
	for (unsigned int i = 0; i < key->count && key->mode != RNIC_MKEY_MTT; i++)
		klms[i] = drv_klm((uint32_t)key->entries[i].bytes, key->entries[i].key,
				  key->entries[i].va);
	told.count = key->count;
	if (key->mode == RNIC_MKEY_MTT)
		told.mtts = key->pages;
	else if (key->count > 0)
		told.klms = klms;
	must(drv_mkey_create(&dp->drv, &told, &w->names[which]) == 0);
	key->index = w->names[which] >> 8;
	key->exists = true;
}

static void
key_toggle(struct world *w, enum umr_which which)
{
	if (!umr_model.keys[which].exists) {
		key_make(w, which);
		return;
	}
	must(dp_destroy(&w->end->dp, RNIC_CMD_DESTROY_MKEY, umr_model.keys[which].index) == 0);
	umr_model.keys[which].exists = false;
}

/* ---- The world ---- */

static void
pair_connect(struct world *w, unsigned int pair)
{
	struct qw_qp *a = &w->qps[2 * pair], *b = a + 1;

	for (unsigned int i = 0; i < 2; i++) {
		a[i].sq.producer = a[i].rq.producer = w->done[2 * pair + i] = 0;
		dp_sq_record(&a[i].sq);
		dp_rq_record(&a[i].rq);
		must(qw_qp_modify(&a[i], RNIC_CMD_2RST_QP, NULL, &w->attr) == 0);
	}
	qw_connect(a, b, &w->attr);
}

static void
memory_name(const struct world *w, unsigned int index, uint8_t *at, uint32_t bytes)
{
	umr_model.memories[index] = (struct umr_memory){ dp_iova(&w->end->dp, at), at, bytes };
}

static void
memory_open(struct world *w)
{
	struct dp *dp = &w->end->dp;

	memset(&umr_model, 0, sizeof(umr_model));
	for (unsigned int i = 0; i < UMR_WARDS; i++) {
		umr_model.wards[i].at = dp_alloc(dp, UMR_WARD, UMR_PAGE);
		must(umr_model.wards[i].at != NULL);
		qw_fill(umr_model.wards[i].at, UMR_WARD, i);
		memcpy(umr_model.wards[i].bytes, umr_model.wards[i].at, UMR_WARD);
	}
	w->source = dp_alloc(dp, LOCAL, UMR_PAGE);
	w->sink = dp_alloc(dp, LOCAL, UMR_PAGE);
	w->list = dp_alloc(dp, LOCAL, UMR_PAGE);
	must(w->source != NULL && w->sink != NULL && w->list != NULL);
	for (unsigned int i = 0; i < UMR_WARDS; i++)
		memory_name(w, i, umr_model.wards[i].at, UMR_WARD);
	memory_name(w, UMR_WARDS, w->source, LOCAL);
	memory_name(w, UMR_WARDS + 1, w->sink, LOCAL);
	memory_name(w, UMR_WARDS + 2, w->list, LOCAL);
	qw_fill(w->source, LOCAL, 7);
	/* Keys of all memory would be found. */
	must(dp_destroy(dp, RNIC_CMD_DESTROY_MKEY, w->end->key >> 8) == 0);
	must(dp_destroy(dp, RNIC_CMD_DESTROY_MKEY, dp->lkey >> 8) == 0);
	w->other_pd = dp_create_simple(dp, RNIC_CMD_ALLOC_PD);
	/* Lists name those of memory. */
	for (unsigned int which = KEYS; which-- > 0;)
		if (key_confs[which].mode == RNIC_MKEY_MTT)
			key_make(w, which);
	for (unsigned int which = 0; which < KEYS; which++)
		if (key_confs[which].mode != RNIC_MKEY_MTT)
			key_make(w, which);
	w->end->key = w->names[KEY_SOURCE];
	dp->lkey = w->names[KEY_SINK];
}

static void
world_open(struct world *w, uint8_t flags)
{
	struct qw_conf conf = { .islands = true, .bytes = (flags & 0x01) != 0, .seed = 1 };
	const struct dp_cq_conf cq = { .log_size = 7, .uar = 1 };
	struct qw_qp_conf qp = { .send_cq = &w->cqs[0],
				 .recv_cq = &w->cqs[1],
				 .log_sq = LOG_SQ,
				 .log_rq = LOG_RQ,
				 .log_stride = LOG_STRIDE,
				 .uar = 1 };

	memset(w, 0, sizeof(*w));
	w->has_kernel = (flags & 0x08) != 0;
	if ((flags & 0x02) != 0)
		conf.drop_ppm = conf.dup_ppm = conf.reorder_ppm = 100000;
	qw_open(&w->qw, &conf);
	w->end = w->qw.ends[0];
	must(dp_cq_create(&w->end->dp, &w->cqs[0], &cq) == 0);
	must(dp_cq_create(&w->end->dp, &w->cqs[1], &cq) == 0);
	w->attr = qw_attr();
	w->attr.mtu = RNIC_QP_MTU_256;
	w->attr.timeout = 4; /* 65 us */
	w->attr.rnr_retry = 1;
	w->attr.min_rnr_timer = 1;
	for (unsigned int i = 0; i < QPS; i++) {
		qp.st = i >= 2 && (flags & 0x04) != 0 ? RNIC_QP_ST_UC : RNIC_QP_ST_RC;
		qp.fre = qp.rlky = i >= 2 && (flags & 0x08) != 0;
		must(qw_qp_create(w->end, &w->qps[i], &qp) == 0);
	}
	pair_connect(w, 0);
	pair_connect(w, 1);
	memory_open(w);
	umr_model_compare(w->end->dp.dev);
}

static void
world_close(struct world *w)
{
	umr_model_compare(w->end->dp.dev);
	umr_wards_compare();
	softrnic_reset(w->end->dp.dev);
	must(dp_stats(&w->end->dp).objects == 0);
	qw_close(&w->qw);
}

/* ---- What is posted ---- */

static uint32_t
next_of(uint32_t name)
{
	return (name & ~0xffu) | ((name + 1) & 0xff);
}

static enum umr_which
which_of(uint8_t byte)
{
	return (enum umr_which)((byte & 0x1f) % KEYS);
}

static uint32_t
name_of(const struct world *w, uint8_t byte)
{
	const enum umr_which which = which_of(byte);
	const struct umr_key *key = &umr_model.keys[which];

	switch (byte >> 5 & 3) {
	case 0: return w->names[which];
	case 1: return key->index << 8 | key->variant;
	case 2: return w->names[which] ^ 1;
	default: return (w->names[which] & ~0xffu) | ((w->names[which] - 1) & 0xff);
	}
}

/* Where a region begins, or a window would that is not zero-based. */
static uint64_t
start_of(enum umr_which which)
{
	const struct umr_key *key = &umr_model.keys[which];

	return key->mode == RNIC_MKEY_KLM && key->free ? (uintptr_t)umr_model.wards[0].at
						       : key->start;
}

static void run(struct world *w, uint8_t polls);

static struct qw_qp *
qp_of(struct world *w, uint8_t byte)
{
	const unsigned int index = byte % QPS;
	struct qw_qp *qp = &w->qps[index];

	/* No WQE is written over one that is under way. */
	if ((uint16_t)(qp->sq.producer - w->done[index]) + WQEBBS_MAX > 1u << LOG_SQ)
		run(w, 0);
	return qp;
}

struct umr {
	uint8_t flags;
	uint64_t mask;
	uint32_t name, count, at;
	struct rnic_mkc context;
	struct rnic_klm entries[UMR_ENTRIES];
	const struct rnic_wqe_data *elsewhere; /* NULL: the entries are in the WQE */
};

static void
umr_put(struct qw_qp *qp, const struct umr *umr)
{
	const struct rnic_wqe_umr control = {
		.flags = umr->flags,
		.translations_octwords = rnic_cpu_to_be16((uint16_t)umr->count),
		.translations_offset = rnic_cpu_to_be16((uint16_t)umr->at),
		.mkey_mask = rnic_cpu_to_be64(umr->mask),
	};
	const void *list = umr->elsewhere != NULL ? (const void *)umr->elsewhere : umr->entries;
	const uint32_t units = umr->elsewhere != NULL ? 1 : umr->count;
	struct rnic_wqe_ctrl *ctrl = dp_wqe(&qp->sq, RNIC_WQE_UMR, 8 + units, RNIC_WQE_CE_ALWAYS);

	ctrl->immediate = rnic_cpu_to_be32(umr->name);
	for (uint32_t i = 0; i < 3; i++)
		memcpy(dp_wqe_at(&qp->sq, 1 + i), (const uint8_t *)&control + i * 16ul, 16);
	for (uint32_t i = 0; i < 4; i++)
		memcpy(dp_wqe_at(&qp->sq, 4 + i), (const uint8_t *)&umr->context + i * 16ul, 16);
	for (uint32_t i = 0; i < units; i++)
		memcpy(dp_wqe_at(&qp->sq, 8 + i), (const uint8_t *)list + i * 16ul, 16);
}

static void
context_rights(struct rnic_mkc *context, uint8_t rights)
{
	rnic_mkc_set(context, RNIC_MKC_LR, rights & 1);
	rnic_mkc_set(context, RNIC_MKC_LW, rights >> 1 & 1);
	rnic_mkc_set(context, RNIC_MKC_RR, rights >> 2 & 1);
	rnic_mkc_set(context, RNIC_MKC_RW, rights >> 3 & 1);
	rnic_mkc_set(context, RNIC_MKC_A, rights >> 4 & 1);
}

#define MASK_RIGHTS (RNIC_UMR_MASK_LW | RNIC_UMR_MASK_RR | RNIC_UMR_MASK_RW | RNIC_UMR_MASK_A)

/* As libraries do it. */
static void
bind(struct world *w, struct fuzz_input *input)
{
	struct qw_qp *qp = qp_of(w, fuzz_u8(input));
	const uint8_t window = fuzz_u8(input), region = fuzz_u8(input);
	const uint64_t at = start_of(which_of(region)) + fuzz_u16(input);
	const uint16_t bytes = fuzz_u16(input);
	const uint8_t what = fuzz_u8(input);
	const bool type2 = (what & 0x20) != 0;
	struct umr umr = { .flags = RNIC_WQE_UMR_INLINE | (type2 ? RNIC_WQE_UMR_CHECK_FREE : 0),
			   .mask = RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY | RNIC_UMR_MASK_LEN |
				   RNIC_UMR_MASK_START_ADDR | MASK_RIGHTS,
			   .name = name_of(w, window),
			   .count = 1 };

	umr.entries[0] = drv_klm(bytes, name_of(w, region), at);
	umr.mask |= type2 ? RNIC_UMR_MASK_QPN : 0;
	rnic_mkc_set(&umr.context, RNIC_MKC_MKEY_7_0, next_of(umr.name) & 0xff);
	rnic_mkc_set(&umr.context, RNIC_MKC_QPN, qp->qpn);
	rnic_mkc_set(&umr.context, RNIC_MKC_START_ADDR, (what & 0x40) != 0 ? 0 : at);
	rnic_mkc_set(&umr.context, RNIC_MKC_LEN, bytes);
	context_rights(&umr.context, what & 0x1f);
	umr_put(qp, &umr);
	w->names[which_of(window)] = next_of(umr.name);
}

static void
unbind(struct world *w, struct fuzz_input *input)
{
	struct qw_qp *qp = qp_of(w, fuzz_u8(input));
	const uint8_t key = fuzz_u8(input);
	const bool type2 = key_confs[which_of(key)].rinval;
	struct umr umr = { .flags = RNIC_WQE_UMR_INLINE | (type2 ? RNIC_WQE_UMR_CHECK_QPN : 0),
			   .mask = RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY |
				   (type2 ? RNIC_UMR_MASK_QPN : 0),
			   .name = name_of(w, key) };

	rnic_mkc_set(&umr.context, RNIC_MKC_FREE, 1);
	rnic_mkc_set(&umr.context, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(&umr.context, RNIC_MKC_MKEY_7_0, type2 ? 0 : next_of(umr.name) & 0xff);
	umr_put(qp, &umr);
	if (!type2)
		w->names[which_of(key)] = next_of(umr.name);
}

/* Any of what may be asked, and a bit of the mask that may not. */
static void
change(struct world *w, struct fuzz_input *input)
{
	static const uint8_t bits[16] = {
		0, 6, 8, 13, 14, 17, 18, 19, 20, 21, 29, 1, 7, 30, 63, 3
	};
	struct qw_qp *qp = qp_of(w, fuzz_u8(input));
	const uint8_t key = fuzz_u8(input);
	struct umr umr = { .name = name_of(w, key), .flags = fuzz_u8(input) };
	const uint16_t mask = fuzz_u16(input);
	const uint8_t rights = fuzz_u8(input), what = fuzz_u8(input);
	uint8_t region;

	for (unsigned int i = 0; i < 16; i++)
		umr.mask |= (uint64_t)(mask >> i & 1) << bits[i];
	context_rights(&umr.context, rights);
	rnic_mkc_set(&umr.context, RNIC_MKC_FREE, rights >> 5 & 1);
	rnic_mkc_set(&umr.context, RNIC_MKC_EN_RINVAL, rights >> 6 & 1);
	rnic_mkc_set(&umr.context, RNIC_MKC_QPN,
		     (what & 4) != 0 ? RNIC_MKEY_ANY_QPN : w->qps[what % QPS].qpn);
	rnic_mkc_set(&umr.context, RNIC_MKC_MKEY_7_0, what >> 3);
	rnic_mkc_set(&umr.context, RNIC_MKC_START_ADDR,
		     (rights & 0x80) != 0 ? -(uint64_t)fuzz_u16(input) : fuzz_u16(input));
	rnic_mkc_set(&umr.context, RNIC_MKC_LEN, fuzz_u16(input));
	umr.count = fuzz_u8(input) % (UMR_ENTRIES + 1);
	for (uint32_t i = 0; i < umr.count; i++) {
		region = fuzz_u8(input);
		umr.entries[i].mkey = rnic_cpu_to_be32(name_of(w, region));
		umr.entries[i].address =
			rnic_cpu_to_be64(start_of(which_of(region)) + fuzz_u16(input));
		umr.entries[i].byte_count = rnic_cpu_to_be32(fuzz_u16(input));
	}
	umr_put(qp, &umr);
}

/* A page of the wards, or, beside them, none. */
static uint64_t
any_page(const struct world *w, uint8_t which)
{
	const struct umr_ward *ward = &umr_model.wards[which & 1];

	if ((which & 0x80) != 0)
		return UINT64_C(0x123450000) + which;
	return page_of(w, ward->at + (which >> 1 & 1) * UMR_PAGE) ^ (which >> 2 & 3);
}

/* A kernel's: range, pages and rights, all at once or in parts. */
static void
enroll(struct world *w, struct fuzz_input *input)
{
	const uint8_t to = fuzz_u8(input), key = fuzz_u8(input), flags = fuzz_u8(input);
	const uint8_t what = fuzz_u8(input);
	struct qw_qp *qp = qp_of(w, to);
	struct umr umr = { .name = name_of(w, key), .flags = flags };
	struct rnic_be64 *pages = (struct rnic_be64 *)umr.entries;
	struct rnic_wqe_data data;
	unsigned int count;

	/* Only they have the lists of pages that the model can follow. */
	if (key_confs[which_of(key)].mode == RNIC_MKEY_MTT && (what & 8) == 0)
		umr.mask = RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR | RNIC_UMR_MASK_PAGE_SIZE |
			   RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY | RNIC_UMR_MASK_LR |
			   RNIC_UMR_MASK_SMALL_FENCE | MASK_RIGHTS;
	context_rights(&umr.context, ALL);
	rnic_mkc_set(&umr.context, RNIC_MKC_FREE, what >> 4 & 1);
	rnic_mkc_set(&umr.context, RNIC_MKC_MKEY_7_0, umr.name & 0xff);
	rnic_mkc_set(&umr.context, RNIC_MKC_LOG_PAGE_SIZE, 12 + (what >> 2 & 1));
	rnic_mkc_set(&umr.context, RNIC_MKC_START_ADDR, CHUNKS_START + fuzz_u16(input));
	rnic_mkc_set(&umr.context, RNIC_MKC_LEN, fuzz_u16(input));
	umr.at = fuzz_u8(input) % 8;
	count = fuzz_u8(input) % 12;
	umr.count = (count + 1) / 2;
	for (unsigned int i = 0; i < count; i++)
		pages[i] = rnic_cpu_to_be64(any_page(w, fuzz_u8(input)));
	if ((flags & RNIC_WQE_UMR_INLINE) == 0 && count > 0) {
		memcpy(w->list, pages, umr.count * 16ul);
		data = (struct rnic_wqe_data){
			.byte_count = rnic_cpu_to_be32(umr.count * 16),
			.lkey = rnic_cpu_to_be32((what & 2) != 0 ? name_of(w, what)
								 : SOFTRNIC_RESERVED_LKEY),
			.address = rnic_cpu_to_be64((what & 1) != 0 ? dp_iova(&w->end->dp, w->list)
								    : 0x1234),
		};
		umr.elsewhere = &data;
	}
	umr_put(qp, &umr);
}

static void
send_inval(struct world *w, struct fuzz_input *input)
{
	struct qw_qp *qp = qp_of(w, fuzz_u8(input));

	qw_wqe(qp, RNIC_WQE_SEND_INVAL, w->source, 300, NULL, 0, RNIC_WQE_CE_ALWAYS)->immediate =
		rnic_cpu_to_be32(name_of(w, fuzz_u8(input)));
}

static void
remote(struct world *w, struct fuzz_input *input)
{
	static const uint8_t opcodes[8] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					    RNIC_WQE_ATOMIC_CS,	 RNIC_WQE_ATOMIC_FA,
					    RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					    RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_WRITE_IMM };
	struct qw_qp *qp = qp_of(w, fuzz_u8(input));
	const uint8_t opcode = opcodes[fuzz_u8(input) % 8], key = fuzz_u8(input);
	const uint64_t at = umr_model.keys[which_of(key)].start + (int16_t)fuzz_u16(input);
	const bool atomic = opcode == RNIC_WQE_ATOMIC_CS || opcode == RNIC_WQE_ATOMIC_FA;
	const bool answer = atomic || opcode == RNIC_WQE_RDMA_READ;
	uint32_t bytes = fuzz_u16(input) % MESSAGE;
	struct rnic_wqe_atomic *operands;

	bytes = atomic ? sizeof(uint64_t) : bytes;
	w->end->key = w->names[answer ? KEY_SINK : KEY_SOURCE];
	qw_wqe(qp, opcode, answer ? w->sink : w->source, bytes, (void *)(uintptr_t)at,
	       name_of(w, key), RNIC_WQE_CE_ALWAYS);
	w->end->key = w->names[KEY_SOURCE];
	if (!atomic)
		return;
	operands = dp_wqe_at(&qp->sq, 2);
	operands->swap_add = rnic_cpu_to_be64(0x0102030405060708);
	/* Every second one swaps, if that is what is there. */
	memcpy(&operands->compare, umr_model.wards[0].at, sizeof(operands->compare));
}

static void
send(struct world *w, struct fuzz_input *input)
{
	struct qw_qp *qp = qp_of(w, fuzz_u8(input));
	const uint8_t key = fuzz_u8(input);
	const uint64_t at = umr_model.keys[which_of(key)].start + fuzz_u16(input);

	w->end->key = name_of(w, key);
	qw_wqe(qp, RNIC_WQE_SEND, (void *)(uintptr_t)at, fuzz_u16(input) % MESSAGE, NULL, 0,
	       RNIC_WQE_CE_ALWAYS);
	w->end->key = w->names[KEY_SOURCE];
}

static void
other_bits(struct world *w, struct fuzz_input *input)
{
	/* A user's: a kernel may name any memory, and would write where rings are. */
	const struct qw_qp *qp = &w->qps[fuzz_u8(input) % (w->has_kernel ? QPS / 2 : QPS)];
	const uint16_t offset = fuzz_u16(input) % 1024;
	const uint8_t bits = fuzz_u8(input);

	if (qp->sq.last != NULL)
		((uint8_t *)dp_wqe_at((struct dp_sq *)&qp->sq, offset / 16))[offset % 16] ^= bits;
}

/* ---- What happens ---- */

/* What completions tell of was done before. */
static void
reap(struct world *w)
{
	const struct rnic_cqe *cqe;

	while ((cqe = dp_cq_next(&w->cqs[0])) != NULL)
		w->executed += RNIC_CQE_OPCODE(cqe->op_own) == RNIC_CQE_REQUESTER &&
			       rnic_be32_to_cpu(cqe->sop_drop_qpn) >> 24 == RNIC_WQE_UMR;
	while ((cqe = dp_cq_next(&w->cqs[1])) != NULL)
		w->invalidated += RNIC_CQE_OPCODE(cqe->op_own) == RNIC_CQE_RESPONDER_SEND_INVAL;
	must(w->executed <= umr_model.executed);
	must(w->invalidated <= umr_model.invalidated);
	while (qw_event(w->end, NULL) != 0)
		;
}

/* It ends: nobody tries for ever. */
static void
run(struct world *w, uint8_t polls)
{
	unsigned int idle = 0, count = polls != 0 ? polls : RUN_POLLS;

	for (unsigned int i = 0; i < QPS; i++)
		if (w->qps[i].sq.producer != w->done[i])
			dp_sq_ring(&w->qps[i].sq);
	for (; count > 0 && idle < 16; count--)
		idle = softrnic_poll(w->qw.poller) == 0 ? idle + 1 : 0;
	umr_wards_compare();
	reap(w);
	if (polls != 0)
		return;
	must(idle == 16);
	for (unsigned int i = 0; i < QPS; i++) {
		w->done[i] = w->qps[i].sq.producer;
		if (qw_qp_state(&w->qps[i]) != RNIC_QP_STATE_RTS)
			pair_connect(w, i / 2);
	}
}

static void
unmap(struct world *w, uint8_t which)
{
	struct umr_ward *ward = &umr_model.wards[which % UMR_WARDS];

	if (ward->gone)
		qw_map(w->end, ward->at, UMR_WARD);
	else
		qw_unmap(w->end, ward->at, UMR_WARD);
	ward->gone = !ward->gone;
}

static void
operation(struct world *w, struct fuzz_input *input)
{
	switch (fuzz_u8(input) % OP_LAST) {
	case OP_BIND: bind(w, input); break;
	case OP_INVALIDATE: unbind(w, input); break;
	case OP_UMR: change(w, input); break;
	case OP_REGISTER: enroll(w, input); break;
	case OP_SEND_INVAL: send_inval(w, input); break;
	case OP_REMOTE: remote(w, input); break;
	case OP_SEND: send(w, input); break;
	case OP_RECV: qw_recv(&w->qps[fuzz_u8(input) % QPS], w->sink, MESSAGE); break;
	case OP_BYTES: other_bits(w, input); break;
	case OP_RUN: run(w, fuzz_u8(input)); break;
	case OP_KEY: key_toggle(w, which_of(fuzz_u8(input))); break;
	case OP_UNMAP: unmap(w, fuzz_u8(input)); break;
	case OP_CONNECT: pair_connect(w, fuzz_u8(input) % 2); break;
	default: break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned int budget = 128;
	struct world w;

	if (size < 3)
		return 0;
	world_open(&w, fuzz_u8(&input));
	while (input.left > 0 && budget-- > 0)
		operation(&w, &input);
	run(&w, 0);
	world_close(&w);
	return 0;
}

void
fuzz_begin(void)
{
	fuzz_device_quiet();
}
