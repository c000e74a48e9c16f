/* SPDX-License-Identifier: BSD-3-Clause */

/* Counter sets, as `rdma stat` names what they count. */
#ifndef SOFTRNIC_Q_COUNTER_H
#define SOFTRNIC_Q_COUNTER_H

#include "softrnic/base/device.h"

struct softrnic_q_counter {
	struct softrnic_object object;
	struct roce_counters roce; /* out_of_buffer counts frames of RQs as well */
};

/* The set of that number; 0: none, *counter is NULL. RNIC_STATUS_OK or BAD_RES. */
int softrnic_q_counter_find(struct softrnic *dev, uint32_t number,
			    struct softrnic_q_counter **counter);

#endif
