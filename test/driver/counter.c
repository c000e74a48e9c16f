/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "counter.h"

int
drv_q_counter_query(struct drv *drv, uint32_t set, bool clear,
		    struct rnic_query_q_counter_out *counters)
{
	struct rnic_query_q_counter_in in = { 0 };

	memset(counters, 0, sizeof(*counters));
	drv_head(&in, RNIC_CMD_QUERY_Q_COUNTER, 0);
	rnic_query_q_counter_in_set(&in, RNIC_QUERY_Q_COUNTER_IN_COUNTER_SET_ID, set);
	rnic_query_q_counter_in_set(&in, RNIC_QUERY_Q_COUNTER_IN_CLEAR, clear);
	return drv->execute(drv, &in, sizeof(in), counters, sizeof(*counters));
}

int
drv_vport_counter_query(struct drv *drv, bool clear, struct rnic_vport_counters *counters)
{
	struct rnic_query_vport_counter_in in = { 0 };
	struct rnic_query_vport_counter_out out = { 0 };
	int status;

	drv_head(&in, RNIC_CMD_QUERY_VPORT_COUNTER, 0);
	rnic_query_vport_counter_in_set(&in, RNIC_QUERY_VPORT_COUNTER_IN_CLEAR, clear);
	status = drv->execute(drv, &in, sizeof(in), &out, sizeof(out));
	*counters = *rnic_query_vport_counter_out_vport_counters(&out);
	return status;
}
