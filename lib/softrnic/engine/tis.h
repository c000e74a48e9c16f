/* SPDX-License-Identifier: BSD-3-Clause */

/* TISs: what send queues have in common. */
#ifndef SOFTRNIC_TIS_H
#define SOFTRNIC_TIS_H

#include "softrnic/base/command.h"

SOFTRNIC_CMD(create_tis);
SOFTRNIC_CMD(modify_tis);
SOFTRNIC_CMD(destroy_tis);
SOFTRNIC_CMD(query_tis);

#endif
