/* SPDX-License-Identifier: BSD-3-Clause */

/* The function: its states, and what it says of itself. */
#ifndef SOFTRNIC_HCA_H
#define SOFTRNIC_HCA_H

#include "softrnic/base/command.h"

/*
 * Everything below the function's state: all objects go, without touching host memory. The state must already
 * forbid their use. With many of them it takes several rounds (dev->leaving), in which commands wait. True: all are gone.
 */
bool softrnic_hca_leave(struct softrnic *dev);
/* Go on with it. */
bool softrnic_hca_gone(struct softrnic *dev);

SOFTRNIC_CMD(query_adapter);
SOFTRNIC_CMD(init_hca);
SOFTRNIC_CMD(teardown_hca);
SOFTRNIC_CMD(enable_hca);
SOFTRNIC_CMD(disable_hca);
SOFTRNIC_CMD(query_issi);
SOFTRNIC_CMD(set_issi);
SOFTRNIC_CMD(nop);
SOFTRNIC_CMD(query_special_contexts);

#endif
