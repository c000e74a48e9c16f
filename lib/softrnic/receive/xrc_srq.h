/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues of XRC domains: which of them a request is for, the request says. */
#ifndef SOFTRNIC_XRC_SRQ_H
#define SOFTRNIC_XRC_SRQ_H

#include "softrnic/receive/rmp.h"

/* Of pools of both kinds: see softrnic_object_drop(). */
void softrnic_rmp_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_xrc_srq);
SOFTRNIC_CMD(destroy_xrc_srq);
SOFTRNIC_CMD(query_xrc_srq);
SOFTRNIC_CMD(arm_xrc_srq);

#endif
