/* SPDX-License-Identifier: BSD-3-Clause */

/* What work queues of all kinds have in common. */
#ifndef SOFTRNIC_WQ_H
#define SOFTRNIC_WQ_H

#include "device.h"

/*
 * May MODIFY_SQ, MODIFY_RQ go from this state to that one? RST to RDY, RDY to ERR, anything to RST, and staying. Not ERR
 * to RDY (what was flushed would be lost between), not RST to ERR (there is nothing to flush).
 */
static inline bool
softrnic_wq_state_allowed(uint64_t from, uint64_t to)
{
	switch (to) {
	case RNIC_WQ_STATE_RST: return true;
	case RNIC_WQ_STATE_RDY: return from != RNIC_WQ_STATE_ERR;
	case RNIC_WQ_STATE_ERR: return from != RNIC_WQ_STATE_RST;
	default: return false;
	}
}

#endif
