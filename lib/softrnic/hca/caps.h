/* SPDX-License-Identifier: BSD-3-Clause */

/* Capabilities. */
#ifndef SOFTRNIC_CAPS_H
#define SOFTRNIC_CAPS_H

#include "softrnic/base/command.h"

void softrnic_caps_init(struct softrnic *dev);

SOFTRNIC_CMD(query_hca_cap);
SOFTRNIC_CMD(set_hca_cap);

#endif
