/* SPDX-License-Identifier: BSD-3-Clause */

/* The function as a whole: enable, initialize, tear down, disable; and what a driver asks on the way. */
#include <string.h>

#include "softrnic/base/object.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/umem.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/qp_create.h"
#include "softrnic/engine/sq.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/eq.h"
#include "softrnic/hca/audit.h"
#include "softrnic/hca/caps.h"
#include "softrnic/hca/hca.h"
#include "softrnic/hca/iseg.h"
#include "softrnic/hca/pages.h"
#include "softrnic/hca/pd_uar_counter.h"
#include "softrnic/hca/roce_addr.h"
#include "softrnic/memory/mkey.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/flow.h"
#include "softrnic/receive/flow_counter.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/rqt.h"
#include "softrnic/receive/xrc_srq.h"
#include "softrnic/wire/link.h"

#define ISSI_SUPPORTED 0x2 /* bit n: interface step n; a ConnectX-4 Lx names 1 alone, too */

#define IEEE_VENDOR_ID 0x0002c9
#define PSID	       "SOFTRNIC00000001"

_Static_assert(sizeof(PSID) - 1 == RNIC_QUERY_ADAPTER_PSID_BYTES, "PSID");

/* ---- The end of all objects ---- */

/*
 * Those that lean on others go first; flow tables before all of them. `again`: the next one made gets the first number,
 * as after power-on; numbers of the others go on, so that a stale one is noticed.
 */
static const struct {
	enum softrnic_object_type type;
	void (*drop)(struct softrnic *dev, struct softrnic_object *object);
	bool again;
} drops[] = {
	{ SOFTRNIC_TIR, softrnic_object_drop, true },
	{ SOFTRNIC_RQT, softrnic_rqt_drop, true },
	{ SOFTRNIC_RQ, softrnic_rq_drop, false },
	{ SOFTRNIC_SQ, softrnic_sq_drop, false },
	{ SOFTRNIC_QP, softrnic_qp_drop, false },
	{ SOFTRNIC_RMP, softrnic_rmp_drop, false },
	{ SOFTRNIC_TIS, softrnic_object_drop, true },
	{ SOFTRNIC_CQ, softrnic_cq_drop, false },
	{ SOFTRNIC_EQ, softrnic_eq_drop, false },
	{ SOFTRNIC_MKEY, softrnic_mkey_drop, false },
	{ SOFTRNIC_UAR, softrnic_uar_drop, true },
	{ SOFTRNIC_PD, softrnic_object_drop, true },
	{ SOFTRNIC_TD, softrnic_object_drop, true },
	{ SOFTRNIC_XRCD, softrnic_object_drop, true },
	{ SOFTRNIC_Q_COUNTER, softrnic_object_drop, true },
	{ SOFTRNIC_FLOW_COUNTER, softrnic_flow_counter_drop, true },
	{ SOFTRNIC_UMEM, softrnic_umem_drop, false },
	{ SOFTRNIC_UCTX, softrnic_object_drop, true },
};

#define DROP_WORK 8 /* beside the memory that goes with it: each lies somewhere else */

/* As far as the share goes; true: none is left. */
static bool
hca_drop(struct softrnic *dev)
{
	const unsigned int steps = sizeof(drops) / sizeof(drops[0]);
	struct softrnic_object *object;

	if (!softrnic_steering_drop(dev))
		return false;
	for (; dev->leave.step < steps; dev->leave.step++, dev->leave.number = 0) {
		const enum softrnic_object_type type = drops[dev->leave.step].type;

		while (dev->tables[type].used > 0) {
			if (softrnic_share_is_over(dev))
				return false;
			object = softrnic_object_next(dev, type, &dev->leave.number);
			softrnic_spend(dev, DROP_WORK);
			drops[dev->leave.step].drop(dev, object);
		}
		if (drops[dev->leave.step].again)
			dev->tables[type].next = 0;
	}
	return true;
}

bool
softrnic_hca_gone(struct softrnic *dev)
{
	/* Never by the clock: how far a reset comes at once must not depend on what else the machine runs. */
	softrnic_share_begin(dev, SOFTRNIC_NEVER_NS);
	dev->leaving = !hca_drop(dev);
	if (dev->leaving)
		return false;
	softrnic_audit_unresolved(dev);
	return true;
}

bool
softrnic_hca_leave(struct softrnic *dev)
{
	softrnic_steering_forget(dev);
	dev->self_lb_tirs = 0;
	softrnic_eth_changed(dev);
	softrnic_roce_addrs_reset(dev);
	dev->leave.step = 0;
	dev->leave.number = 0;
	return softrnic_hca_gone(dev);
}

SOFTRNIC_CMD(enable_hca)
{
	const struct rnic_function_in *in = cmd->in;

	if (dev->state != SOFTRNIC_HCA_OFF)
		return RNIC_STATUS_BAD_SYS_STATE;
	/* There is one function, and no other that it may manage. */
	if (rnic_function_in_get(in, RNIC_FUNCTION_IN_FUNCTION_ID) != 0)
		return RNIC_STATUS_BAD_PARAM;
	dev->state = SOFTRNIC_HCA_ENABLED;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(disable_hca)
{
	const struct rnic_function_in *in = cmd->in;

	if (dev->state != SOFTRNIC_HCA_ENABLED)
		return RNIC_STATUS_BAD_SYS_STATE;
	if (rnic_function_in_get(in, RNIC_FUNCTION_IN_FUNCTION_ID) != 0)
		return RNIC_STATUS_BAD_PARAM;
	/* A function that is off has forgotten its pages, and works in none; but for this one. */
	if (!softrnic_has_quirk(dev, SOFTRNIC_QUIRK_PAGES_NEVER))
		softrnic_pages_reset(dev);
	softrnic_caps_init(dev);
	dev->issi = 0;
	dev->state = SOFTRNIC_HCA_OFF;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(init_hca)
{
	(void)cmd;
	if (dev->state != SOFTRNIC_HCA_ENABLED)
		return RNIC_STATUS_BAD_SYS_STATE;
	if (!softrnic_pages_initialized(dev))
		return RNIC_STATUS_NO_RES;
	dev->state = SOFTRNIC_HCA_READY;
	softrnic_iseg_plan_health(dev);
	softrnic_quirks_init_hca(dev);
	softrnic_wire_changed(dev);
	return RNIC_STATUS_OK;
}

/* Profile 0 waits for what is under way (nothing ever is, here); the others need capabilities that we lack. */
SOFTRNIC_CMD(teardown_hca)
{
	const struct rnic_teardown_hca_in *in = cmd->in;

	if (dev->state != SOFTRNIC_HCA_READY)
		return RNIC_STATUS_BAD_SYS_STATE;
	if (rnic_teardown_hca_in_get(in, RNIC_TEARDOWN_HCA_IN_PROFILE) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if (softrnic_has_quirk(dev, SOFTRNIC_QUIRK_TEARDOWN_REFUSED))
		return RNIC_STATUS_INTERNAL_ERR;
	/* With many objects it is done in a later round, and answered then. */
	dev->state = SOFTRNIC_HCA_ENABLED;
	softrnic_hca_leave(dev);
	softrnic_wire_changed(dev);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_issi)
{
	struct rnic_query_issi_out *out = cmd->out;

	rnic_query_issi_out_set(out, RNIC_QUERY_ISSI_OUT_CURRENT_ISSI, dev->issi);
	rnic_query_issi_out_set(out, RNIC_QUERY_ISSI_OUT_SUPPORTED_ISSI_DW0, ISSI_SUPPORTED);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(set_issi)
{
	const struct rnic_set_issi_in *in = cmd->in;
	uint32_t issi = rnic_set_issi_in_get(in, RNIC_SET_ISSI_IN_CURRENT_ISSI);

	if (dev->state != SOFTRNIC_HCA_ENABLED)
		return RNIC_STATUS_BAD_SYS_STATE;
	if (issi >= 32 || (ISSI_SUPPORTED >> issi & 1) == 0)
		return RNIC_STATUS_BAD_PARAM;
	dev->issi = issi;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_adapter)
{
	struct rnic_query_adapter_out *out = cmd->out;

	(void)dev;
	rnic_query_adapter_out_set(out, RNIC_QUERY_ADAPTER_OUT_IEEE_VENDOR_ID, IEEE_VENDOR_ID);
	memcpy((uint8_t *)out + RNIC_QUERY_ADAPTER_PSID, PSID, RNIC_QUERY_ADAPTER_PSID_BYTES);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_special_contexts)
{
	struct rnic_query_special_contexts_out *out = cmd->out;

	(void)dev;
	rnic_query_special_contexts_out_set(out, RNIC_QUERY_SPECIAL_CONTEXTS_OUT_RESD_LKEY,
					    SOFTRNIC_RESERVED_LKEY);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(nop)
{
	(void)dev;
	(void)cmd;
	return RNIC_STATUS_OK;
}
