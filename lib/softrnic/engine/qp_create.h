/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs: create, query, destroy. */
#ifndef SOFTRNIC_QP_CREATE_H
#define SOFTRNIC_QP_CREATE_H

#include "softrnic/base/command.h"

/* See softrnic_object_drop(). */
void softrnic_qp_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_qp);
SOFTRNIC_CMD(destroy_qp);
SOFTRNIC_CMD(query_qp);

#endif
