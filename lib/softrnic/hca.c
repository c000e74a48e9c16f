/* SPDX-License-Identifier: BSD-3-Clause */

/* The function as a whole: enable, initialize, tear down, disable; and what a driver asks on the way. */
#include <string.h>

#include "commands.h"
#include "tpt.h"
#include "wire/wire.h"

#define ISSI_SUPPORTED 0x2 /* bit n: interface step n; a ConnectX-4 Lx names 1 alone, too */

#define IEEE_VENDOR_ID 0x0002c9
#define PSID	       "SOFTRNIC00000001"

_Static_assert(sizeof(PSID) - 1 == RNIC_QUERY_ADAPTER_PSID_BYTES, "PSID");

/* Objects that lean on others go first. */
void
softrnic_hca_teardown(struct softrnic *dev)
{
	softrnic_steering_reset(dev);
	softrnic_objects_reset(dev, SOFTRNIC_TIR);
	dev->self_lb_tirs = 0;
	softrnic_eth_changed(dev);
	softrnic_rqts_reset(dev);
	softrnic_rqs_reset(dev);
	softrnic_sqs_reset(dev);
	softrnic_qps_reset(dev);
	softrnic_rmps_reset(dev);
	softrnic_roce_addrs_reset(dev);
	softrnic_objects_reset(dev, SOFTRNIC_TIS);
	softrnic_cqs_reset(dev);
	softrnic_eqs_reset(dev);
	softrnic_mkeys_reset(dev);
	softrnic_uars_reset(dev);
	softrnic_objects_reset(dev, SOFTRNIC_PD);
	softrnic_objects_reset(dev, SOFTRNIC_TD);
	softrnic_objects_reset(dev, SOFTRNIC_Q_COUNTER);
	softrnic_audit_unresolved(dev);
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
	softrnic_bar_plan_health(dev);
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
	softrnic_hca_teardown(dev);
	dev->state = SOFTRNIC_HCA_ENABLED;
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
