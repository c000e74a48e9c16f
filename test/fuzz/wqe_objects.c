/* SPDX-License-Identifier: BSD-3-Clause */

/* The queues and keys of fuzz-wqe beside those that it begins with, and such that are refused. */
#include "driver/rmp.h"
#include "wqe.h"

/* ---- Keys ---- */

#define KEY_VARIANT 0x33
#define ENTRIES	    4

/* Up to four pages, one behind the other. */
static uint32_t
pages_of(const struct dp *dp, const struct wqe_key_conf *conf, uint64_t *mtts)
{
	const uint64_t first = dp_iova(dp, conf->start) & ~UINT64_C(4095);

	for (unsigned int i = 0; i < ENTRIES; i++)
		mtts[i] = (first + i * 4096) | (conf->rights == 0 ? RNIC_MTT_READ | RNIC_MTT_WRITE
								  : conf->rights >> 2 * i & 3);
	return ENTRIES;
}

/* As many other keys, each with some of the bytes. */
static uint32_t
entries_of(const struct wqe_key_conf *conf, struct rnic_klm *klms)
{
	for (unsigned int i = 0; i < conf->count; i++)
		klms[i] = (struct rnic_klm){ rnic_cpu_to_be32(1000 + i),
					     rnic_cpu_to_be32(conf->keys[i]),
					     rnic_cpu_to_be64((uintptr_t)conf->start) };
	return conf->count;
}

uint32_t
wqe_key_create(struct dp *dp, const struct wqe_key_conf *conf)
{
	struct drv_mkey mkey = { .mode = conf->mode,
				 .access = DRV_LR | (conf->write ? DRV_LW : 0),
				 .log_page_size = 12,
				 .pd = dp->pd,
				 .start = (uintptr_t)conf->start,
				 .length = conf->length,
				 .length64 = conf->mode == RNIC_MKEY_PA,
				 .page_rights = conf->rights != 0,
				 .variant = KEY_VARIANT };
	struct rnic_klm klms[ENTRIES];
	uint64_t mtts[ENTRIES];
	uint32_t key;

	if (conf->mode == RNIC_MKEY_MTT) {
		mkey.mtts = mtts;
		mkey.count = pages_of(dp, conf, mtts);
	} else {
		mkey.klms = klms;
		mkey.count = entries_of(conf, klms);
	}
	return drv_mkey_create(&dp->drv, &mkey, &key) == 0 ? key : 0;
}

void
wqe_key_change(struct world *w, struct fuzz_input *input)
{
	uint8_t which = fuzz_u8(input) % KEY_RESERVED, what = fuzz_u8(input);
	struct wqe_key_conf conf = {
		.mode = what & 3, .start = w->islands[5], .write = true, .count = 4
	};
	uint32_t key, other;

	/* The first one has all of them. */
	if ((what & 0xfc) != 0)
		conf.rights = what | 3;
	conf.length = fuzz_u16(input) % 8193;
	other = w->keys[fuzz_u8(input) % KEYS];
	for (unsigned int i = 0; i < conf.count; i++)
		conf.keys[i] = other;
	key = wqe_key_create(&w->dp, &conf);
	if (key != 0)
		w->keys[which] = key;
}

/* ---- Where frames go ---- */

uint32_t
wqe_tir_create(const struct dp_rq *rq, bool symmetric, unsigned int self_lb)
{
	static const uint8_t key[DRV_TOEPLITZ_BYTES] = { 0x6d, 0x5a, 0x56, 0xda,
							 0x25, 0x5b, 0x0e, 0xc2 };
	const uint32_t rqns[] = { rq->rqn, rq->rqn, rq->rqn, rq->rqn };
	struct drv_tir tir = { .td = rq->dp->td,
			       .hash = RNIC_RX_HASH_TOEPLITZ,
			       .symmetric = symmetric,
			       .fields = 0xf,
			       .key = key,
			       .self_lb_block = self_lb };
	uint32_t tirn;

	must(drv_rqt_create(&rq->dp->drv, rqns, sizeof(rqns) / sizeof(rqns[0]), &tir.rqtn) == 0);
	must(drv_tir_create(&rq->dp->drv, &tir, &tirn) == 0);
	return tirn;
}

/* ---- Queues that share their WQEs ---- */

static uint32_t
rmp_create(const struct dp_rq *rq, bool cyclic)
{
	const struct drv_rmp rmp = { .log_size = rq->log_size,
				     .log_stride = rq->log_stride,
				     .pd = rq->dp->pd,
				     .cyclic = cyclic,
				     .dbrec = dp_iova(rq->dp, rq->dbrec),
				     .ring = { .iova = dp_iova(rq->dp, rq->ring), .count = 1 } };
	uint32_t rmpn;

	must(drv_rmp_create(&rq->dp->drv, &rmp, &rmpn) == 0);
	return rmpn;
}

static uint32_t
pooled_rq_create(const struct dp_rq *rq, uint32_t rmpn)
{
	const struct drv_rq conf = { .cqn = rq->cq->cqn,
				     .ts_format = rq->dp->ts_format,
				     .vsd = true,
				     .flush = true,
				     .rmpn = rmpn };
	uint32_t rqn;

	must(drv_rq_create(&rq->dp->drv, &conf, &rqn) == 0);
	return rqn;
}

/* A root with a group that has nothing in it, and one that matches all. */
static void
steer_to(struct world *w, const uint32_t *tirs, uint32_t count)
{
	struct rnic_flow_destination to[2] = { drv_to_tir(tirs[0]), drv_to_tir(tirs[count - 1]) };
	struct drv_fte entries[] = { { { DRV_IS(ETHERTYPE, 0) } }, { .to = to, .count = count } };
	struct drv *drv = &w->rq.dp->drv;
	uint32_t table;

	must(drv_table_of(drv, 0, 0, entries, 2, &table) == 0);
	must(drv_fte_set(drv, &entries[1]) == 0);
	must(drv_root_set(drv, table) == 0);
}

void
wqe_pool_create(struct world *w, uint8_t what)
{
	struct dp_rq *rq = &w->pool.rq;
	uint32_t tirs[2];

	if (rq->ring != NULL)
		return;
	*rq = (struct dp_rq){
		.dp = w->rq.dp, .cq = &w->rx_cq, .log_size = 2, .log_stride = 5 + (what & 3)
	};
	w->pool.cyclic = (what & 4) != 0;
	rq->ring = dp_alloc(rq->dp, (size_t)1 << (rq->log_size + rq->log_stride), 4096);
	rq->dbrec = dp_alloc(rq->dp, sizeof(*rq->dbrec), 64);
	must(rq->ring != NULL && rq->dbrec != NULL);
	rq->rqn = pooled_rq_create(rq, rmp_create(rq, w->pool.cyclic));
	must(dp_rq_modify(rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY) == 0);
	tirs[0] = wqe_tir_create(rq, (what & 0x40) != 0, what >> 4 & 3);
	must(dp_tir_create(&w->rq) == 0);
	tirs[1] = w->rq.tirn;
	steer_to(w, tirs, (what & 8) != 0 ? 2 : 1);
}

/* ---- Queues that are asked for, and what they are asked ---- */

#define CONTEXT_DWORDS (sizeof(struct rnic_rqc) / sizeof(uint32_t))

static void
flip(void *context, uint8_t dword, uint32_t bits)
{
	struct rnic_be32 *at = (struct rnic_be32 *)context + dword % CONTEXT_DWORDS;

	*at = rnic_cpu_to_be32(rnic_be32_to_cpu(*at) ^ bits);
}

/* Ring and record are those of the first one. */
static void
another_rq(struct world *w, uint8_t what, uint32_t bits)
{
	struct {
		struct rnic_create_rq_in in;
		struct rnic_be64 page;
	} in = { .page = rnic_cpu_to_be64(dp_iova(w->rq.dp, w->rq.ring)) };
	struct rnic_rqc *rqc = rnic_create_rq_in_rqc(&in.in);
	struct drv *drv = &w->rq.dp->drv;
	uint32_t number;

	drv_rq_query(drv, w->rq.rqn, rqc);
	rnic_rqc_set(rqc, RNIC_RQC_STATE, RNIC_WQ_STATE_RST);
	flip(rqc, what & 0x3f, bits);
	drv_head(&in, RNIC_CMD_CREATE_RQ, 0);
	drv_execute(drv, &in, sizeof(in), &number);
	if ((what & 0x40) == 0)
		drv_destroy(drv, RNIC_CMD_DESTROY_RQ, number);
}

static void
another_sq(struct world *w, uint8_t what, uint32_t bits)
{
	struct {
		struct rnic_create_sq_in in;
		struct rnic_be64 page;
	} in = { .page = rnic_cpu_to_be64(dp_iova(&w->dp, w->sq.ring)) };
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(&in.in);
	struct drv *drv = &w->dp.drv;
	uint32_t number;

	drv_sq_query(drv, w->sq.sqn, sqc);
	rnic_sqc_set(sqc, RNIC_SQC_STATE, RNIC_WQ_STATE_RST);
	flip(sqc, what & 0x3f, bits);
	drv_head(&in, RNIC_CMD_CREATE_SQ, 0);
	drv_execute(drv, &in, sizeof(in), &number);
	if ((what & 0x40) != 0)
		drv_sq_modify(drv, number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	else
		drv_destroy(drv, RNIC_CMD_DESTROY_SQ, number);
}

void
wqe_queue_create(struct world *w, struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input);
	uint32_t bits = fuzz_u32(input);

	if ((what & 0x80) != 0)
		another_rq(w, what, bits);
	else
		another_sq(w, what, bits);
}

void
wqe_queue_destroy(struct world *w, struct fuzz_input *input)
{
	if ((fuzz_u8(input) & 1) != 0)
		dp_destroy(w->rq.dp, RNIC_CMD_DESTROY_RQ, w->rq.rqn);
	else
		dp_destroy(&w->dp, RNIC_CMD_DESTROY_SQ, w->sq.sqn);
}

static void
sq_modify(struct world *w, uint8_t mask)
{
	struct rnic_modify_sq_in in = { 0 };

	drv_sq_modify_fill(&in, w->sq.sqn, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RDY);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_BITMASK, mask);
	drv_execute(&w->dp.drv, &in, sizeof(in), NULL);
}

void
wqe_rq_modify(struct world *w, uint8_t mask, uint32_t counter, bool strips_tags)
{
	struct rnic_modify_rq_in in = { 0 };
	struct rnic_rqc *rqc = rnic_modify_rq_in_rqc(&in);

	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, w->rq.rqn);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, RNIC_WQ_STATE_RDY);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_BITMASK, mask);
	rnic_rqc_set(rqc, RNIC_RQC_STATE, RNIC_WQ_STATE_RDY);
	rnic_rqc_set(rqc, RNIC_RQC_COUNTER_SET_ID, counter);
	rnic_rqc_set(rqc, RNIC_RQC_VSD, !strips_tags);
	dp_command(w->rq.dp, RNIC_CMD_MODIFY_RQ, 0, &in, sizeof(in), NULL, 0);
}

void
wqe_queue_modify(struct world *w, struct fuzz_input *input)
{
	uint8_t which = fuzz_u8(input), mask = fuzz_u8(input);
	uint32_t counter = fuzz_u8(input);
	bool strips_tags = (fuzz_u8(input) & 1) != 0;

	if ((which & 1) == 0) {
		sq_modify(w, mask);
		return;
	}
	if ((counter & 0x80) != 0)
		counter = dp_create_simple(w->rq.dp, RNIC_CMD_ALLOC_Q_COUNTER);
	wqe_rq_modify(w, mask, counter, strips_tags);
}
