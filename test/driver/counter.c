/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "counter.h"
#include "reg.h"

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

uint64_t
drv_vport_counter(struct drv *drv, enum rnic_vport_counters_field field)
{
	struct rnic_vport_counters counters;

	if (drv_vport_counter_query(drv, false, &counters) != 0)
		return UINT64_MAX;
	return rnic_vport_counters_get(&counters, field);
}

uint64_t
drv_port_counter(struct drv *drv, uint32_t group, uint32_t n, bool clear)
{
	struct rnic_ppcnt_reg reg = { 0 };

	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_LOCAL_PORT, 1);
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, group);
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_CLR, clear);
	if (drv_reg_read(drv, RNIC_REG_PPCNT, &reg, sizeof(reg)) != 0)
		return UINT64_MAX;
	return rnic_field_get(reg.dw, RNIC_FIELD(0x08 + 8 * n, 63, 0));
}
