/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: create, query, destroy. What they are is in tpt.h. */
#ifndef SOFTRNIC_MKEY_H
#define SOFTRNIC_MKEY_H

#include "softrnic/base/command.h"

/* See softrnic_object_drop(). */
void softrnic_mkey_drop(struct softrnic *dev, struct softrnic_object *object);

/* The list of keys is this one from now on; there is room for `count` of them (klm_room). */
struct rnic_klm;
struct softrnic_mkey;
void softrnic_mkey_klms_set(struct softrnic_mkey *mkey, const struct rnic_klm *list,
			    uint32_t count);

SOFTRNIC_CMD(create_mkey);
SOFTRNIC_CMD(query_mkey);
SOFTRNIC_CMD(destroy_mkey);

#endif
