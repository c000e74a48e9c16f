/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of the card's switch between functions. */
#ifndef SOFTRNIC_L2_H
#define SOFTRNIC_L2_H

#include "softrnic/base/command.h"

/* The function manages the card's switch of functions, as physical ones do that no embedded CPU does it for. */
bool softrnic_manages_eswitch(const struct softrnic *dev);

SOFTRNIC_CMD(set_l2_table_entry);
SOFTRNIC_CMD(delete_l2_table_entry);

#endif
