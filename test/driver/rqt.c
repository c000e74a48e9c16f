/* SPDX-License-Identifier: BSD-3-Clause */

#include "rqt.h"
#include "prm/list.h"
#include "prm/queue.h"

static void
put_list(void *list, const uint32_t *rqns, uint32_t count)
{
	struct rnic_rqn_entry *entries = list;

	for (uint32_t i = 0; i < count; i++)
		rnic_rqn_entry_set(&entries[i], RNIC_RQN_ENTRY_RQN, rqns[i]);
}

size_t
drv_rqt_bytes(uint32_t count)
{
	return sizeof(struct rnic_create_rqt_in) + count * sizeof(struct rnic_rqn_entry);
}

uint32_t
drv_rqt_fill(void *in, const uint32_t *rqns, uint32_t count)
{
	struct rnic_rqtc *rqtc = rnic_create_rqt_in_rqtc(in);

	drv_head(in, RNIC_CMD_CREATE_RQT, 0);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_MAX_SIZE, count);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, count);
	put_list((struct rnic_create_rqt_in *)in + 1, rqns, count);
	return (uint32_t)drv_rqt_bytes(count);
}

int
drv_rqt_create(struct drv *drv, const uint32_t *rqns, uint32_t count, uint32_t *rqtn)
{
	void *in = drv_in(drv_rqt_bytes(count));

	return drv_create(drv, in, drv_rqt_fill(in, rqns, count), rqtn);
}

int
drv_rqt_modify(struct drv *drv, uint32_t rqtn, const uint32_t *rqns, uint32_t count)
{
	const size_t bytes =
		sizeof(struct rnic_modify_rqt_in) + count * sizeof(struct rnic_rqn_entry);
	struct rnic_modify_rqt_in *in = drv_in(bytes);

	drv_head(in, RNIC_CMD_MODIFY_RQT, 0);
	rnic_modify_rqt_in_set(in, RNIC_MODIFY_RQT_IN_RQTN, rqtn);
	rnic_modify_rqt_in_set(in, RNIC_MODIFY_RQT_IN_BITMASK, RNIC_MODIFY_RQT_RQN_LIST);
	rnic_rqtc_set(rnic_modify_rqt_in_rqtc(in), RNIC_RQTC_RQT_ACTUAL_SIZE, count);
	put_list(in + 1, rqns, count);
	return drv_create(drv, in, (uint32_t)bytes, NULL);
}
