/* SPDX-License-Identifier: BSD-3-Clause */

#include "command.h"

#include "driver/qp.h"
#include "driver/rmp.h"
#include "driver/roce_addr.h"
#include "driver/xrc_srq.h"
#include "softrnic/base/command.h"
#include "softrnic/base/dma.h"

struct softrnic_poller *command_poller;

void
command_objects_make(struct world *w)
{
	const struct dp_cq_conf conf = { .log_size = 6, .uar = 1 };

	w->dp.q_counter = dp_create_simple(&w->dp, RNIC_CMD_ALLOC_Q_COUNTER);
	must(dp_cq_create(&w->dp, &w->cq, &conf) == 0);
	must(dp_sq_create(&w->dp, &w->sq, &w->cq, 6, 1, DP_SQ_FLUSH) == 0);
	must(dp_rq_create(&w->dp, &w->rq, &w->cq, 6, 5) == 0);
	must(dp_steer_all(&w->rq) == 0);
}

/* The ring, and the record behind it. */
static uint32_t
rmp_make(struct world *w, const uint8_t *page)
{
	const uint64_t iova = dp_iova(&w->dp, page);
	const struct drv_rmp rmp = { .log_size = 3,
				     .log_stride = 6,
				     .pd = w->dp.pd,
				     .dbrec = iova + 2048,
				     .ring = { .iova = iova, .count = 1 } };
	uint32_t rmpn;

	must(drv_rmp_create(&w->dp.drv, &rmp, &rmpn) == 0);
	return rmpn;
}

static uint32_t
qp_make(struct world *w, const uint8_t *page, uint32_t rmp)
{
	struct {
		struct rnic_create_qp_in in;
		struct rnic_be64 page;
	} qp = { .page = rnic_cpu_to_be64(dp_iova(&w->dp, page)) };
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(&qp.in);
	uint32_t qpn;

#define SET(field, value) rnic_qpc_set(qpc, RNIC_QPC_##field, value)
	SET(PD, w->dp.pd);
	SET(UAR_PAGE, w->sq.uar);
	SET(COUNTER_SET_ID, w->dp.q_counter);
	SET(CQN_SND, w->cq.cqn);
	SET(CQN_RCV, w->cq.cqn);
	SET(LOG_RQ_SIZE, 3);
	SET(LOG_SQ_SIZE, 3);
	SET(DBR_ADDR, dp_iova(&w->dp, page) + 2048);
	if (rmp != 0) {
		SET(RQ_TYPE, RNIC_QP_SRQ);
		SET(SRQN_RMPN_XRQN, rmp);
	}
	drv_head(&qp, RNIC_CMD_CREATE_QP, 0);
	must(drv_execute(&w->dp.drv, &qp, sizeof(qp), &qpn) == 0);
	return qpn;
}

/* From RST to RTS. */
static void
qp_connect(struct world *w, uint32_t qpn, uint32_t peer)
{
	static const uint16_t steps[] = { RNIC_CMD_RST2INIT_QP, RNIC_CMD_INIT2RTR_QP,
					  RNIC_CMD_RTR2RTS_QP };
	struct rnic_modify_qp_in in = { 0 };
	struct rnic_qpc *qpc = rnic_modify_qp_in_qpc(&in);
	struct rnic_ads *path = rnic_qpc_primary_address_path(qpc);
	unsigned int i;

	rnic_modify_qp_in_set(&in, RNIC_MODIFY_QP_IN_QPN, qpn);
	SET(COUNTER_SET_ID, w->dp.q_counter);
	SET(REMOTE_QPN, peer);
	SET(MTU, RNIC_QP_MTU_1024);
	SET(RRE, 1);
	SET(RWE, 1);
	SET(RAE, 1);
	SET(ATOMIC_MODE, RNIC_QP_ATOMIC_MODE_IB_SPEC);
	SET(RETRY_COUNT, 7);
	SET(RNR_RETRY, 7);
#undef SET
	rnic_ads_set(path, RNIC_ADS_VHCA_PORT_NUM, 1);
	rnic_ads_set(path, RNIC_ADS_RGID_RIP_1, UINT64_C(0xffff0a000001));
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		must(dp_command(&w->dp, steps[i], 0, &in, sizeof(in), NULL, 0) == 0);
}

/* The same of an XRC domain; and a target of it. */
static void
xrc_make(struct world *w, const uint8_t *page)
{
	const uint64_t iova = dp_iova(&w->dp, page);
	const uint32_t xrcd = dp_create_simple(&w->dp, RNIC_CMD_ALLOC_XRCD);
	const struct drv_xrc_srq srq = { .log_size = 3,
					 .log_stride = 6,
					 .pd = w->dp.pd,
					 .xrcd = xrcd,
					 .cqn = w->cq.cqn,
					 .dbrec = iova + 2048,
					 .ring = { .iova = iova, .count = 1 } };
	const struct drv_qp target = { .st = RNIC_QP_ST_XRC,
				       .pd = w->dp.pd,
				       .send_cqn = w->cq.cqn,
				       .receive_cqn = w->cq.cqn,
				       .counter = w->dp.q_counter,
				       .no_sq = true,
				       .no_rq = true,
				       .xrcd = xrcd };
	uint32_t srqn, qpn;

	must(drv_xrc_srq_create(&w->dp.drv, &srq, &srqn) == 0);
	must(drv_qp_create(&w->dp.drv, &target, &qpn) == 0);
}

/* Two queue pairs, connected; the second one's receive WQEs are a pool's. And one of XRC. */
void
command_qps_make(struct world *w)
{
	uint8_t *pages = dp_alloc(&w->dp, 4 * 4096, 4096);
	const struct drv_roce_addr address = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
	uint32_t first, second;

	must(pages != NULL);
	must(drv_roce_addr_set(&w->dp.drv, &address) == 0);
	first = qp_make(w, pages, 0);
	second = qp_make(w, pages + 4096, rmp_make(w, pages + 8192));
	qp_connect(w, first, second);
	qp_connect(w, second, first);
	xrc_make(w, pages + 12288);
}

/* Memory of the same sizes as bring-up takes, at the same addresses: seeds know them. */
static void
arena_make(struct dp *dp)
{
	must(dp_alloc(dp, 4 * 4096, 4096) != NULL);
	must(dp_alloc(dp, 32 * 4096, 4096) != NULL);
	must(dp_alloc(dp, 512 * sizeof(struct rnic_eqe), 4096) != NULL);
}

void
command_world_open(struct world *w, unsigned int state)
{
	const struct softrnic_conf conf = { .name = "fuzz0", .seed = 1 };
	uint32_t half;
	uint64_t iova;

	memset(w, 0, sizeof(*w));
	must(dp_open_islands(&w->dp, command_poller, &conf, state >= 2) == 0);
	if (state < 2)
		arena_make(&w->dp);
	if (state == 1)
		must(drv_simple(&w->dp.drv, RNIC_CMD_ENABLE_HCA, 0, NULL) == 0);
	if (state == 3)
		command_objects_make(w);
	w->entries = dp_alloc(&w->dp, 4096, 4096);
	w->in = dp_alloc(&w->dp, AREA_BYTES, 4096);
	w->out = dp_alloc(&w->dp, AREA_BYTES, 4096);
	must(w->entries != NULL && w->in != NULL && w->out != NULL);
	/* Behind what seeds know the addresses of. */
	if (state == 3)
		command_qps_make(w);
	iova = dp_iova(&w->dp, w->entries);
	half = RNIC_SWAP32((uint32_t)(iova >> 32));
	softrnic_bar_write(w->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH), &half, 4);
	half = RNIC_SWAP32((uint32_t)iova);
	softrnic_bar_write(w->dp.dev, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW), &half, 4);
}

void
command_world_close(struct world *w)
{
	struct softrnic_stats stats;

	softrnic_reset(w->dp.dev);
	stats = dp_stats(&w->dp);
	must(stats.objects == 0);
	must(stats.pages_held == 0);
	must(w->dp.dev->translation_bytes == 0);
	must(atomic_load(&softrnic_audit_violations) == 0);
	dp_close(&w->dp);
}
