/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>

#include "softrnic/base/log.h"

int softrnic_logtype;

RTE_INIT(softrnic_log_init)
{
	softrnic_logtype = rte_log_register_type_and_pick_level("softrnic", RTE_LOG_WARNING);
}
