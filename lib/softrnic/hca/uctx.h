/* SPDX-License-Identifier: BSD-3-Clause */

/* User contexts. */
#ifndef SOFTRNIC_UCTX_H
#define SOFTRNIC_UCTX_H

#include "softrnic/base/command.h"

SOFTRNIC_CMD(create_uctx);
SOFTRNIC_CMD(destroy_uctx);

#endif
