/* SPDX-License-Identifier: BSD-3-Clause */

/* RQTs: tables of queues that a hash picks from. */
#ifndef SOFTRNIC_RQT_H
#define SOFTRNIC_RQT_H

#include "softrnic/base/command.h"

/* See softrnic_object_drop(). */
void softrnic_rqt_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_rqt);
SOFTRNIC_CMD(modify_rqt);
SOFTRNIC_CMD(destroy_rqt);
SOFTRNIC_CMD(query_rqt);

#endif
