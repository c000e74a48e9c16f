/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data_path.h"
#include "driver/vport.h"
#include "prm/init_seg.h"
#include "prm/list.h"

#define NS_PER_S UINT64_C(1000000000)

/* The door of test/driver. */
static int
execute(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	struct dp *dp = (struct dp *)(void *)((uint8_t *)drv - offsetof(struct dp, drv));
	int status = dp->hn.drv.execute(&dp->hn.drv, in, in_bytes, out, out_bytes);

	dp->syndrome = (uint32_t)rnic_cmd_out_get(out, RNIC_CMD_OUT_SYNDROME);
	return status;
}

int
dp_command(struct dp *dp, uint16_t opcode, uint16_t op_mod, void *in, size_t in_bytes, void *out,
	   size_t out_bytes)
{
	struct rnic_object_out nothing;

	drv_head(in, opcode, op_mod);
	return dp->drv.execute(&dp->drv, in, (uint32_t)in_bytes, out != NULL ? out : &nothing,
			       out != NULL ? (uint32_t)out_bytes : sizeof(nothing));
}

int
dp_destroy(struct dp *dp, uint16_t opcode, uint32_t number)
{
	return drv_destroy(&dp->drv, opcode, number);
}

uint32_t
dp_create_simple(struct dp *dp, uint16_t opcode)
{
	uint32_t number;

	return drv_simple(&dp->drv, opcode, 0, &number) == 0 ? number : UINT32_MAX;
}

void *
dp_alloc(struct dp *dp, size_t bytes, size_t align)
{
	return hn_memory(&dp->hn, bytes, align);
}

uint64_t
dp_iova(const struct dp *dp, const void *memory)
{
	return hn_iova(&dp->hn, memory);
}

/* One key over all of the memory, by its virtual address. */
static int
create_key(struct dp *dp)
{
	return drv_mkey_create(&dp->drv,
			       &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
						   .access = DRV_LR | DRV_LW,
						   .log_page_size = DP_LOG_BYTES,
						   .pd = dp->pd,
						   .start = (uintptr_t)dp->memory,
						   .length = DP_BYTES,
						   .pages = { .iova = DP_IOVA, .count = 1 },
						   .variant = 0x5d },
			       &dp->lkey);
}

static int
create_eq(struct dp *dp)
{
	struct drv_eq eq = { .log_size = DP_EQ_LOG_SIZE,
			     .uar = dp->uars[0],
			     .events = UINT64_C(1) << RNIC_EVENT_CQ_ERROR |
				       UINT64_C(1) << RNIC_EVENT_PORT_CHANGE |
				       UINT64_C(1) << RNIC_EVENT_COMM_ESTABLISHED |
				       UINT64_C(1) << RNIC_EVENT_SQ_DRAINED |
				       UINT64_C(1) << RNIC_EVENT_WQ_INVALID_REQUEST |
				       UINT64_C(1) << RNIC_EVENT_SRQ_CATASTROPHIC |
				       UINT64_C(1) << RNIC_EVENT_SRQ_LAST_WQE |
				       UINT64_C(1) << RNIC_EVENT_SRQ_LIMIT |
				       UINT64_C(1) << RNIC_EVENT_WQ_CATASTROPHIC |
				       UINT64_C(1) << RNIC_EVENT_WQ_ACCESS_ERROR };

	int status = hn_eq_open(&dp->hn, &eq, &dp->eqn);

	dp->eqes = hn_at(&dp->hn, eq.ring.iova);
	dp->eq_entries = 1u << DP_EQ_LOG_SIZE;
	return status;
}

static int
bring_up(struct dp *dp)
{
	int status = hn_try_enable(&dp->hn), i;

	if (status == 0)
		status = hn_try_init(&dp->hn);
	if (status != 0)
		return status;
	for (i = 0; i < DP_UARS; i++)
		dp->uars[i] = dp_create_simple(dp, RNIC_CMD_ALLOC_UAR);
	dp->pd = dp_create_simple(dp, RNIC_CMD_ALLOC_PD);
	dp->td = dp_create_simple(dp, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	status = create_eq(dp);
	if (status == 0)
		status = drv_tis_create(&dp->drv, dp->td, &dp->tis);
	if (status == 0)
		status = create_key(dp);
	if (status == 0)
		status = drv_vport_promisc_set(&dp->drv, true);
	return status;
}

/* How commands go there. */
enum door {
	MAILBOXES,
	QUICK,
};

static int
dp_start(struct dp *dp, const struct hn_conf *conf, enum door door)
{
	size_t bytes;
	void *bar;
	int rc;

	memset(dp, 0, sizeof(*dp));
	dp->drv.execute = execute;
	rc = hn_open(&dp->hn, conf);
	dp->poller = dp->hn.poller;
	dp->dev = dp->hn.dev;
	dp->memory = dp->hn.memory;
	if (rc == 0)
		rc = softrnic_bar_mmap(dp->dev, &dp->bar_offset, &bytes, &bar, NULL);
	if (rc != 0)
		return rc;
	dp->bar = bar;
	if (door == MAILBOXES)
		return hn_open_cmdq(&dp->hn);
	hn_quick(&dp->hn);
	return 0;
}

static int
dp_start_ready(struct dp *dp, const struct hn_conf *conf, enum door door)
{
	int rc = dp_start(dp, conf, door);

	return rc == 0 ? bring_up(dp) : rc;
}

#define CONF(...)                              \
	(&(struct hn_conf){ .bytes = DP_BYTES, \
			    .iova = DP_IOVA,   \
			    .poller = poller,  \
			    .device = conf,    \
			    __VA_ARGS__ })

int
dp_open(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf)
{
	return dp_start_ready(dp, CONF(), MAILBOXES);
}

int
dp_open_quick(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf)
{
	return dp_start_ready(dp, CONF(), QUICK);
}

int
dp_open_islands(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf,
		bool ready)
{
	int rc = dp_start(dp, CONF(.islands = true), QUICK);

	return rc == 0 && ready ? bring_up(dp) : rc;
}

int
dp_restart(struct dp *dp)
{
	dp->hn.used = 0;
	dp->eq_consumer = 0;
	dp->root = 0;
	return bring_up(dp);
}

int
dp_close(struct dp *dp)
{
	dp->dev = NULL;
	return hn_close(&dp->hn);
}

int
dp_teardown(void **state)
{
	struct {
		struct softrnic_poller *poller;
		struct dp dp;
	} *fixture = *state;
	int rc;

	dp_close(&fixture->dp);
	rc = softrnic_poller_destroy(fixture->poller);
	free(fixture);
	return rc;
}

int
dp_cq_create(struct dp *dp, struct dp_cq *cq, const struct dp_cq_conf *conf)
{
	struct drv_cq drv = { .log_size = conf->log_size,
			      .uar = dp->uars[conf->uar],
			      .eqn = dp->eqn,
			      .big = conf->big,
			      .collapsed = conf->collapsed,
			      .ignore_overrun = conf->ignore_overrun,
			      .max_count = conf->max_count,
			      .period_us = conf->period_us,
			      .compressed = conf->compressed,
			      .format = conf->format };
	uint32_t cqn;
	int status = hn_cq_open(&dp->hn, &drv, &cqn);

	*cq = (struct dp_cq){ .dp = dp,
			      .cqn = cqn,
			      .uar = drv.uar,
			      .log_size = conf->log_size,
			      .bytes = conf->big ? 128 : 64,
			      .ring = hn_at(&dp->hn, drv.ring.iova),
			      .dbrec = hn_at(&dp->hn, drv.dbrec),
			      .session = { .format = conf->format } };
	return status;
}

int
dp_sq_modify(struct dp_sq *sq, uint32_t from, uint32_t to)
{
	return drv_sq_modify(&sq->dp->drv, sq->sqn, from, to);
}

int
dp_rq_modify(struct dp_rq *rq, uint32_t from, uint32_t to)
{
	return drv_rq_modify(&rq->dp->drv, rq->rqn, from, to);
}

int
dp_sq_restart(struct dp_sq *sq, uint32_t from)
{
	int status = dp_sq_modify(sq, from, RNIC_WQ_STATE_RST);

	sq->producer = 0;
	dp_sq_record(sq);
	return status != 0 ? status : dp_sq_modify(sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_rq_restart(struct dp_rq *rq, uint32_t from)
{
	int status = dp_rq_modify(rq, from, RNIC_WQ_STATE_RST);

	rq->producer = 0;
	dp_rq_record(rq);
	return status != 0 ? status : dp_rq_modify(rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

uint32_t
dp_sq_state(struct dp_sq *sq)
{
	struct rnic_sqc sqc;

	if (drv_sq_query(&sq->dp->drv, sq->sqn, &sqc) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_sqc_get(&sqc, RNIC_SQC_STATE);
}

uint32_t
dp_rq_state(struct dp_rq *rq)
{
	struct rnic_rqc rqc;

	if (drv_rq_query(&rq->dp->drv, rq->rqn, &rqc) != 0)
		return UINT32_MAX;
	return (uint32_t)rnic_rqc_get(&rqc, RNIC_RQC_STATE);
}

static uint32_t
iseg(const struct dp *dp, uint64_t offset)
{
	uint32_t dword = 0;

	softrnic_bar_read(dp->dev, offset, &dword, sizeof(dword));
	return RNIC_SWAP32(dword);
}

uint64_t
dp_clock(const struct dp *dp, bool utc)
{
	struct timespec now;
	uint32_t high, low;

	if (utc) {
		clock_gettime(CLOCK_REALTIME, &now);
		return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	}
	/* The low half may wrap between the two. */
	do {
		high = iseg(dp, RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_HIGH));
		low = iseg(dp, RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_LOW));
	} while (high != iseg(dp, RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_HIGH)));
	return (uint64_t)high << 32 | low;
}

uint64_t
dp_cqe_time(const struct rnic_cqe *cqe, bool utc)
{
	const uint64_t time = rnic_be64_to_cpu(cqe->timestamp);

	if (!utc)
		return time;
	if ((uint32_t)time >= NS_PER_S)
		return UINT64_MAX;
	return (time >> 32) * NS_PER_S + (uint32_t)time;
}

int
dp_sq_create(struct dp *dp, struct dp_sq *sq, struct dp_cq *cq, uint32_t log_size, uint32_t uar,
	     unsigned int flags)
{
	struct drv_sq conf = { .log_size = log_size,
			       .pd = dp->pd,
			       .uar = dp->uars[uar],
			       .cqn = cq->cqn,
			       .tisn = dp->tis,
			       .user_index = DP_SQ_USER_INDEX,
			       .ts_format = dp->ts_format,
			       .multi_packet = (flags & DP_SQ_MULTI_PACKET) != 0,
			       .flush = (flags & DP_SQ_FLUSH) != 0,
			       .rlky = (flags & DP_SQ_RLKY) != 0 };
	uint32_t sqn;
	int status = hn_sq_open(&dp->hn, &conf, &sqn);

	*sq = (struct dp_sq){ .dp = dp,
			      .cq = cq,
			      .sqn = sqn,
			      .uar = conf.uar,
			      .log_size = log_size,
			      .ring = hn_at(&dp->hn, conf.ring.iova),
			      .dbrec = hn_at(&dp->hn, conf.dbrec) };
	return status != 0 ? status : dp_sq_modify(sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_rq_create(struct dp *dp, struct dp_rq *rq, struct dp_cq *cq, uint32_t log_size,
	     uint32_t log_stride)
{
	struct drv_rq conf = { .log_size = log_size,
			       .log_stride = log_stride,
			       .pd = dp->pd,
			       .cqn = cq->cqn,
			       .counter = dp->q_counter,
			       .ts_format = dp->ts_format,
			       .vsd = true,
			       .flush = true };
	uint32_t rqn;
	int status = hn_rq_open(&dp->hn, &conf, &rqn);

	*rq = (struct dp_rq){ .dp = dp,
			      .cq = cq,
			      .rqn = rqn,
			      .log_size = log_size,
			      .log_stride = log_stride,
			      .ring = hn_at(&dp->hn, conf.ring.iova),
			      .dbrec = hn_at(&dp->hn, conf.dbrec) };
	return status != 0 ? status : dp_rq_modify(rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY);
}

int
dp_key_create(struct dp *dp, uint32_t pages, uint32_t log_page, uint64_t iova, uint64_t step,
	      uint32_t *number)
{
	uint32_t key;
	int status = drv_mkey_create(&dp->drv,
				     &(struct drv_mkey){ .mode = RNIC_MKEY_MTT,
							 .access = DRV_LR,
							 .log_page_size = log_page,
							 .pd = dp->pd,
							 .length = (uint64_t)pages << log_page,
							 .pages = { iova, step, pages } },
				     &key);

	if (status == 0)
		*number = key >> 8;
	return status;
}

int
dp_tir_create(struct dp_rq *rq)
{
	return drv_tir_create(&rq->dp->drv, &(struct drv_tir){ .td = rq->dp->td, .rqn = rq->rqn },
			      &rq->tirn);
}

/* ---- One queue each way ---- */

static int
side_queues(struct dp_side *side, const struct dp_side_conf *conf)
{
	struct dp *dp = &side->dp;
	int status = 0;

	dp->ts_format = conf->ts_format;
	if (conf->counted)
		dp->q_counter = dp_create_simple(dp, RNIC_CMD_ALLOC_Q_COUNTER);
	if (conf->mtu != 0)
		status = drv_mtu_set(&dp->drv, conf->mtu);
	if (status == 0)
		status = dp_cq_create(dp, &side->tx_cq, &conf->tx_cq);
	if (status == 0)
		status = dp_cq_create(dp, &side->rx_cq, &conf->rx_cq);
	if (status == 0)
		status = dp_sq_create(dp, &side->sq, &side->tx_cq, conf->sq_log_size, conf->sq_uar,
				      conf->sq_flags);
	if (status == 0)
		status = dp_rq_create(dp, &side->rq, &side->rx_cq, conf->rq_log_size,
				      conf->rq_log_stride);
	return status == 0 ? dp_steer_all(&side->rq) : status;
}

int
dp_side_open(struct dp_side *side, struct softrnic_poller *poller, const struct dp_side_conf *conf)
{
	int status;

	memset(side, 0, sizeof(*side));
	status = conf->islands ? dp_open_islands(&side->dp, poller, &conf->device, true)
			       : dp_open(&side->dp, poller, &conf->device);
	if (status == 0)
		status = side_queues(side, conf);
	if (status != 0)
		return status;
	side->poller = side->dp.poller;
	side->out = hn_need(&side->dp.hn, conf->out_bytes, 64);
	side->in = hn_need(&side->dp.hn, conf->in_bytes, 64);
	return 0;
}

int
dp_side_close(struct dp_side *side)
{
	return dp_close(&side->dp);
}

int
dp_side_setup(void **state, const struct dp_side_conf *conf)
{
	struct dp_side *side = drv_in(sizeof(*side));

	*state = side;
	return dp_side_open(side, NULL, conf);
}

int
dp_side_teardown(void **state)
{
	int rc = dp_side_close(*state);

	free(*state);
	return rc;
}
