/* SPDX-License-Identifier: BSD-3-Clause */

/* The port as commands see it. */
#ifndef SOFTRNIC_VPORT_H
#define SOFTRNIC_VPORT_H

#include "softrnic/base/command.h"

SOFTRNIC_CMD(query_vport_state);
SOFTRNIC_CMD(modify_vport_state);
SOFTRNIC_CMD(query_nic_vport_context);
SOFTRNIC_CMD(modify_nic_vport_context);
SOFTRNIC_CMD(query_hca_vport_pkey);
SOFTRNIC_CMD(query_vport_counter);

#endif
