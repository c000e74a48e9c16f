/* SPDX-License-Identifier: BSD-3-Clause */

/* TIRs: where a flow ends, at a queue or a table of them. */
#ifndef SOFTRNIC_TIR_H
#define SOFTRNIC_TIR_H

#include "softrnic/base/command.h"
#include "softrnic/receive/rss.h"

struct softrnic_rq;

/* A table of queues, which is made in rqt.c. */
struct softrnic_rqt {
	struct softrnic_object object;
	uint32_t max_size, size; /* size is a power of two */
	struct softrnic_rq **rqs;
};

struct softrnic_tir {
	struct softrnic_object object;
	uint8_t disp_type;
	struct softrnic_rq *rq;	  /* direct */
	struct softrnic_rqt *rqt; /* indirect */
	struct softrnic_object *td;
	uint8_t self_lb; /* enum rnic_tir_self_lb */
	struct rnic_tirc context;
	struct softrnic_rss rss;
};

/* May the table have that many queues, by all TIRs that choose from it? */
bool softrnic_tirs_take_size(struct softrnic *dev, const struct softrnic_rqt *rqt, uint32_t size);

SOFTRNIC_CMD(create_tir);
SOFTRNIC_CMD(modify_tir);
SOFTRNIC_CMD(destroy_tir);
SOFTRNIC_CMD(query_tir);

#endif
