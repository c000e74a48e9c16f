/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: create, query, destroy. What they are is in tpt.h. */
#ifndef SOFTRNIC_MKEY_H
#define SOFTRNIC_MKEY_H

#include "softrnic/base/command.h"

/* See softrnic_object_drop(). */
void softrnic_mkey_drop(struct softrnic *dev, struct softrnic_object *object);

/*
 * The key is what the context says, but for its translations: RNIC_STATUS_OK; else why no key can be so, and it is not to be used.
 */
struct rnic_mkc;
struct softrnic_mkey;
int softrnic_mkey_context(struct softrnic_mkey *mkey, const struct rnic_mkc *mkc);

SOFTRNIC_CMD(create_mkey);
SOFTRNIC_CMD(query_mkey);
SOFTRNIC_CMD(destroy_mkey);

#endif
