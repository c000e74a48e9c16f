/* SPDX-License-Identifier: BSD-3-Clause */

/* The queues and keys of fuzz-wqe beside those that it begins with, and such that are refused. */
#include "prm/list.h"
#include "wqe.h"

/* ---- Keys ---- */

#define KEY_VARIANT 0x33

/* Of a key of pages up to four, one behind the other; else as many other keys, each with some of the bytes. */
static unsigned int
key_entries(const struct dp *dp, const struct wqe_key_conf *conf, struct rnic_klm *klms)
{
	struct rnic_be64 *mtts = (struct rnic_be64 *)klms;
	unsigned int i, rights;
	uint64_t page;

	if (conf->mode == RNIC_MKEY_MTT) {
		page = dp_iova(dp, conf->start) & ~UINT64_C(4095);
		for (i = 0; i < 4; i++) {
			rights = conf->rights == 0 ? RNIC_MTT_READ | RNIC_MTT_WRITE
						   : conf->rights >> 2 * i & 3;
			mtts[i] = rnic_cpu_to_be64((page + i * 4096) | rights);
		}
		return 2;
	}
	for (i = 0; i < conf->count; i++) {
		klms[i].byte_count = rnic_cpu_to_be32(1000 + i);
		klms[i].mkey = rnic_cpu_to_be32(conf->keys[i]);
		klms[i].address = rnic_cpu_to_be64((uintptr_t)conf->start);
	}
	return conf->count;
}

uint32_t
wqe_key_create(struct dp *dp, const struct wqe_key_conf *conf)
{
	struct {
		struct rnic_create_mkey_in in;
		struct rnic_klm klms[4];
	} in = { 0 };
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(&in.in);
	struct rnic_object_out out[2];
	unsigned int octwords = key_entries(dp, conf, in.klms);

	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, conf->mode);
	rnic_mkc_set(mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(mkc, RNIC_MKC_LW, conf->write);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, KEY_VARIANT);
	rnic_mkc_set(mkc, RNIC_MKC_PD, dp->pd);
	rnic_mkc_set(mkc, RNIC_MKC_LENGTH64, conf->mode == RNIC_MKEY_PA);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, (uintptr_t)conf->start);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, conf->length);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, octwords);
	rnic_create_mkey_in_set(&in.in, RNIC_CREATE_MKEY_IN_PG_ACCESS, conf->rights != 0);
	rnic_create_mkey_in_set(&in.in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE,
				octwords);
	if (dp_command(dp, RNIC_CMD_CREATE_MKEY, 0, &in, sizeof(in), out, sizeof(out)) != 0)
		return 0;
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER) << 8 | KEY_VARIANT;
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
	struct {
		struct rnic_create_rqt_in in;
		struct rnic_rqn_entry entries[4];
	} rqt = { 0 };
	struct rnic_create_tir_in tir = { 0 };
	struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&tir);
	struct rnic_rqtc *rqtc = rnic_create_rqt_in_rqtc(&rqt.in);
	struct rnic_object_out out[0x20];
	unsigned int i;

	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_MAX_SIZE, 4);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, 4);
	for (i = 0; i < 4; i++)
		rnic_rqn_entry_set(&rqt.entries[i], RNIC_RQN_ENTRY_RQN, rq->rqn);
	must(dp_command(rq->dp, RNIC_CMD_CREATE_RQT, 0, &rqt, sizeof(rqt), out, sizeof(out)) == 0);
	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE, RNIC_TIR_INDIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INDIRECT_TABLE,
		      rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER));
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, rq->dp->td);
	rnic_tirc_set(tirc, RNIC_TIRC_SELF_LB_BLOCK, self_lb);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, RNIC_RX_HASH_TOEPLITZ);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_SYMMETRIC, symmetric);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_0, UINT64_C(0x6d5a56da255b0ec2));
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS, 0xf);
	must(dp_command(rq->dp, RNIC_CMD_CREATE_TIR, 0, &tir, sizeof(tir), out, sizeof(out)) == 0);
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
}

/* ---- Queues that share their WQEs ---- */

static uint32_t
rmp_create(const struct dp_rq *rq, bool cyclic)
{
	struct {
		struct rnic_create_rmp_in in;
		struct rnic_be64 page;
	} rmp = { .page = rnic_cpu_to_be64(dp_iova(rq->dp, rq->ring)) };
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(&rmp.in);
	struct rnic_wq *wq = rnic_rmpc_wq(rmpc);
	struct rnic_object_out out[2];

	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_rmpc_set(rmpc, RNIC_RMPC_BASIC_CYCLIC_RCV_WQE, cyclic);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, cyclic ? RNIC_WQ_CYCLIC : RNIC_WQ_LINKED_LIST);
	rnic_wq_set(wq, RNIC_WQ_PD, rq->dp->pd);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, dp_iova(rq->dp, rq->dbrec));
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, rq->log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, rq->log_size);
	must(dp_command(rq->dp, RNIC_CMD_CREATE_RMP, 0, &rmp, sizeof(rmp), out, sizeof(out)) == 0);
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
}

static uint32_t
pooled_rq_create(const struct dp_rq *rq, uint32_t rmpn)
{
	struct rnic_create_rq_in in = { 0 };
	struct rnic_rqc *rqc = rnic_create_rq_in_rqc(&in);
	struct rnic_object_out out[2];

	rnic_rqc_set(rqc, RNIC_RQC_VSD, 1);
	rnic_rqc_set(rqc, RNIC_RQC_FLUSH_IN_ERROR_EN, 1);
	rnic_rqc_set(rqc, RNIC_RQC_MEM_RQ_TYPE, RNIC_RQ_MEM_RMP);
	rnic_rqc_set(rqc, RNIC_RQC_RMPN, rmpn);
	rnic_rqc_set(rqc, RNIC_RQC_CQN, rq->cq->cqn);
	rnic_rqc_set(rqc, RNIC_RQC_TS_FORMAT, rq->dp->ts_format);
	must(dp_command(rq->dp, RNIC_CMD_CREATE_RQ, 0, &in, sizeof(in), out, sizeof(out)) == 0);
	return (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
}

/* A root with a group that has nothing in it, and one that matches all. */
static void
steer_to(struct world *w, const uint32_t *tirs, uint32_t count)
{
	struct rnic_fte_match_set_lyr_2_4 mask = { 0 };
	struct rnic_flow_destination to[2] = { 0 };
	struct dp *dp = w->rq.dp;
	uint32_t table = dp_table_create(dp, 0, 4, 0), group, i;
	int status;

	rnic_fte_match_set_lyr_2_4_set(&mask, RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, 0xffff);
	dp_group_create(dp, table, 0, 0, &mask, &status);
	must(status == 0);
	group = dp_group_create(dp, table, 1, 1, NULL, &status);
	must(status == 0);
	for (i = 0; i < count; i++) {
		to[i] = drv_to_tir(tirs[i]);
	}
	must(dp_flow_set(dp, table, group, 1, NULL, RNIC_FLOW_ACTION_FWD_DEST, 0, to, count) == 0);
	must(drv_root_set(&dp->drv, table) == 0);
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
	struct rnic_query_rq_out known;
	struct rnic_object_in query = { 0 };
	struct rnic_object_out out[2];
	uint32_t number;

	rnic_object_in_set(&query, RNIC_OBJECT_IN_NUMBER, w->rq.rqn);
	dp_command(w->rq.dp, RNIC_CMD_QUERY_RQ, 0, &query, sizeof(query), &known, sizeof(known));
	*rqc = *rnic_query_rq_out_rqc(&known);
	rnic_rqc_set(rqc, RNIC_RQC_STATE, RNIC_WQ_STATE_RST);
	flip(rqc, what & 0x3f, bits);
	dp_command(w->rq.dp, RNIC_CMD_CREATE_RQ, 0, &in, sizeof(in), out, sizeof(out));
	number = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	if ((what & 0x40) == 0)
		dp_destroy(w->rq.dp, RNIC_CMD_DESTROY_RQ, number);
}

static void
another_sq(struct world *w, uint8_t what, uint32_t bits)
{
	struct {
		struct rnic_create_sq_in in;
		struct rnic_be64 page;
	} in = { .page = rnic_cpu_to_be64(dp_iova(&w->dp, w->sq.ring)) };
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(&in.in);
	struct rnic_query_sq_out known;
	struct rnic_object_in query = { 0 };
	struct rnic_object_out out[2];
	struct dp_sq sq = w->sq;

	rnic_object_in_set(&query, RNIC_OBJECT_IN_NUMBER, w->sq.sqn);
	dp_command(&w->dp, RNIC_CMD_QUERY_SQ, 0, &query, sizeof(query), &known, sizeof(known));
	*sqc = *rnic_query_sq_out_sqc(&known);
	rnic_sqc_set(sqc, RNIC_SQC_STATE, RNIC_WQ_STATE_RST);
	flip(sqc, what & 0x3f, bits);
	dp_command(&w->dp, RNIC_CMD_CREATE_SQ, 0, &in, sizeof(in), out, sizeof(out));
	sq.sqn = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	if ((what & 0x40) != 0)
		dp_sq_modify(&sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
	else
		dp_destroy(&w->dp, RNIC_CMD_DESTROY_SQ, sq.sqn);
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

	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQN, w->sq.sqn);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_SQ_STATE, RNIC_WQ_STATE_RDY);
	rnic_modify_sq_in_set(&in, RNIC_MODIFY_SQ_IN_BITMASK, mask);
	rnic_sqc_set(rnic_modify_sq_in_sqc(&in), RNIC_SQC_STATE, RNIC_WQ_STATE_RDY);
	dp_command(&w->dp, RNIC_CMD_MODIFY_SQ, 0, &in, sizeof(in), NULL, 0);
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
