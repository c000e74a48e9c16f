/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow tables and groups, as commands build them. */
#ifndef SOFTRNIC_FLOW_H
#define SOFTRNIC_FLOW_H

#include "softrnic/base/command.h"

int softrnic_steering_init(struct softrnic *dev);
void softrnic_steering_fini(struct softrnic *dev); /* frees dev->steering; NULL is fine */
/* Which header fields steering matches on: its row in the flow table capabilities. */
void softrnic_steering_fields(struct rnic_flow_table_fields *fields);
/* Frames find no entry from now on. Then all tables go, as far as the share does; false: some are left. */
void softrnic_steering_forget(struct softrnic *dev);
bool softrnic_steering_drop(struct softrnic *dev);

SOFTRNIC_CMD(set_flow_table_root);
SOFTRNIC_CMD(create_flow_table);
SOFTRNIC_CMD(destroy_flow_table);
SOFTRNIC_CMD(query_flow_table);
SOFTRNIC_CMD(modify_flow_table);
SOFTRNIC_CMD(create_flow_group);
SOFTRNIC_CMD(destroy_flow_group);
SOFTRNIC_CMD(query_flow_group);

#endif
