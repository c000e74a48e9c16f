/* SPDX-License-Identifier: BSD-3-Clause */

/* Counter sets, which RQs and QPs name by their number. */
#include "prm/cmd.h"
#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"

int
softrnic_q_counter_find(struct softrnic *dev, uint32_t number, struct softrnic_q_counter **counter)
{
	*counter = NULL;
	if (number == 0)
		return RNIC_STATUS_OK;
	*counter = softrnic_object_find(dev, SOFTRNIC_Q_COUNTER, number);
	return *counter != NULL ? RNIC_STATUS_OK : RNIC_STATUS_BAD_RES;
}
