/* SPDX-License-Identifier: BSD-3-Clause */

/* Entries of flow tables, as commands build them. */
#ifndef SOFTRNIC_FTE_H
#define SOFTRNIC_FTE_H

#include "softrnic/base/command.h"
#include "softrnic/receive/steer.h"

/* Free an entry that is in no group; what it forwarded to may be destroyed then. */
void softrnic_flow_entry_free(struct softrnic *dev, struct flow_entry *entry);

SOFTRNIC_CMD(set_flow_table_entry);
SOFTRNIC_CMD(query_flow_table_entry);
SOFTRNIC_CMD(delete_flow_table_entry);

#endif
