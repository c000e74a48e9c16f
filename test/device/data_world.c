/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_world.h"

#define OK(status) assert_int_equal(status, RNIC_STATUS_OK)

static void
open_queue(struct dw *w, unsigned int i, const struct dp_cq_conf *cq)
{
	struct dp_rq *rq = &w->rq[i];

	OK(dp_cq_create(&w->dp, &w->rx_cq[i], cq));
	OK(dp_rq_create(&w->dp, rq, &w->rx_cq[i], DW_RQ_LOG, 4));
	OK(dp_tir_create(rq));
	w->to[i] = drv_to_tir(rq->tirn);
	for (unsigned int k = 0; k < 1u << DW_RQ_LOG; k++)
		dp_post(rq, w->in, 2048);
	dp_rq_record(rq);
}

void
dw_open(struct dw *w)
{
	const struct dp_cq_conf cq = { .log_size = 13, .uar = 1, .ignore_overrun = true };

	OK(dp_cq_create(&w->dp, &w->tx_cq, &cq));
	OK(dp_sq_create(&w->dp, &w->sq, &w->tx_cq, 8, 2, 0));
	w->out = dp_alloc(&w->dp, 16384, 4096);
	memcpy(w->out + 12, "\x88\xb5", 2); /* a local Ethernet type */
	w->in = dp_alloc(&w->dp, 4096, 4096);
	for (unsigned int i = 0; i < DW_QUEUES; i++)
		open_queue(w, i, &cq);
}

static int
setup(void **state, bool quick)
{
	const struct softrnic_conf conf = { .name = "data",
					    .wire = "loop",
					    .mac = { 0x02, 0x00, 0x00, 0xaa, 0xbb, 0xcc } };
	struct dw *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	OK(softrnic_poller_create(&w->poller));
	OK((quick ? dp_open_quick : dp_open)(&w->dp, w->poller, &conf));
	dw_open(w);
	*state = w;
	return 0;
}

int
dw_setup(void **state)
{
	return setup(state, false);
}

int
dw_setup_quick(void **state)
{
	return setup(state, true);
}

void
dw_send(struct dw *w, uint32_t bytes)
{
	dp_wqe(&w->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&w->sq, 2, w->out, bytes);
	dp_sq_ring(&w->sq);
}

unsigned int
dw_arrived(struct dw *w, struct rnic_cqe *cqe)
{
	const struct rnic_cqe *next;
	unsigned int queues = 0;

	if (cqe != NULL)
		memset(cqe, 0, sizeof(*cqe));
	dp_run(&w->dp);
	for (unsigned int i = 0; i < DW_QUEUES; i++)
		while ((next = dp_cq_next(&w->rx_cq[i])) != NULL) {
			assert_int_equal(queues & 1u << i, 0); /* each at most once */
			queues |= 1u << i;
			if (cqe != NULL)
				*cqe = *next;
		}
	return queues;
}

unsigned int
dw_arrives(struct dw *w, uint32_t bytes, struct rnic_cqe *cqe)
{
	dw_send(w, bytes);
	return dw_arrived(w, cqe);
}

uint32_t
dw_table(struct dw *w, uint32_t level, uint32_t log_size, uint32_t miss_table)
{
	const struct drv_table table = { level, log_size, miss_table };
	uint32_t number;

	OK(drv_table_create(&w->dp.drv, &table, &number));
	return number;
}

uint32_t
dw_group(struct dw *w, const struct drv_group *group)
{
	uint32_t number;

	OK(drv_group_create(&w->dp.drv, group, &number));
	return number;
}

uint32_t
dw_table_of(struct dw *w, uint32_t level, uint32_t miss_table, struct drv_fte *entries,
	    uint32_t count)
{
	uint32_t table;

	OK(drv_table_of(&w->dp.drv, level, miss_table, entries, count, &table));
	OK(drv_ftes_set(&w->dp.drv, entries, count));
	return table;
}

void
dw_root(struct dw *w, uint32_t table)
{
	OK(drv_root_set(&w->dp.drv, table));
}

uint32_t
dw_root_to_first(struct dw *w)
{
	uint32_t table;

	OK(drv_root_to_tirs(&w->dp.drv, &w->rq[0].tirn, 1, &table));
	return table;
}
