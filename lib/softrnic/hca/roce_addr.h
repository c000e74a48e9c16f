/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of RoCE addresses: GIDs. */
#ifndef SOFTRNIC_ROCE_ADDR_H
#define SOFTRNIC_ROCE_ADDR_H

#include "softrnic/base/command.h"

int softrnic_roce_addrs_init(struct softrnic *dev);
void softrnic_roce_addrs_reset(struct softrnic *dev);
void softrnic_roce_addrs_fini(struct softrnic *dev);

SOFTRNIC_CMD(query_roce_address);
SOFTRNIC_CMD(set_roce_address);

#endif
