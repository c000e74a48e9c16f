/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: create, query, destroy. What they are is in tpt.h. */
#ifndef SOFTRNIC_MKEY_H
#define SOFTRNIC_MKEY_H

#include "softrnic/base/command.h"

/* See softrnic_object_drop(). */
void softrnic_mkey_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_mkey);
SOFTRNIC_CMD(query_mkey);
SOFTRNIC_CMD(destroy_mkey);

#endif
