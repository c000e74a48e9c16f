/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * User contexts: on whose behalf the kernel sends commands that a user has written (DevX). What such a command creates is that user's, and
 * it names only what is his own or shared (softrnic_object_find()), so that the kernel need not know what it means.
 */
#include "prm/caps.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/hca/uctx.h"

SOFTRNIC_CMD(create_uctx)
{
	const struct rnic_general_cap *cap = &dev->general_cap[1];
	const struct rnic_create_uctx_in *in = cmd->in;
	const uint32_t offered = (uint32_t)rnic_general_cap_get(cap, RNIC_GENERAL_CAP_UCTX_CAP);
	struct softrnic_uctx *uctx;
	uint32_t rights;
	int status;

	if (rnic_general_cap_get(cap, RNIC_GENERAL_CAP_LOG_MAX_UCTX) == 0)
		return RNIC_STATUS_BAD_OP;
	rights = (uint32_t)rnic_create_uctx_in_get(in, RNIC_CREATE_UCTX_IN_CAP);
	if ((rights & ~offered) != 0)
		return softrnic_refuse(dev, cmd, "no such right is offered");
	uctx = softrnic_alloc(dev, 1, sizeof(*uctx));
	if (uctx == NULL)
		return RNIC_STATUS_NO_RES;
	uctx->rights = rights;
	status = softrnic_object_add(dev, SOFTRNIC_UCTX, &uctx->object);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, uctx);
		return status;
	}
	rnic_uctx_set(cmd->out, RNIC_UCTX_UID, uctx->object.number);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_uctx)
{
	struct softrnic_object *uctx = softrnic_object_find(
		dev, SOFTRNIC_UCTX, (uint32_t)rnic_uctx_get(cmd->in, RNIC_UCTX_UID));

	if (uctx == NULL)
		return RNIC_STATUS_BAD_RES;
	if (uctx->refs > 0)
		return RNIC_STATUS_RES_BUSY;
	softrnic_object_remove(dev, uctx);
	softrnic_free(dev, uctx);
	return RNIC_STATUS_OK;
}
