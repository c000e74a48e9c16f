/* SPDX-License-Identifier: BSD-3-Clause */

/* The command queue. */
#ifndef SOFTRNIC_CMDQ_H
#define SOFTRNIC_CMDQ_H

#include "softrnic/base/device.h"

int softrnic_cmdq_init(struct softrnic *dev);
/* Forget the command under way. */
void softrnic_cmdq_reset(struct softrnic *dev);
void softrnic_cmdq_fini(struct softrnic *dev);

/* Commands that were rung: the work done. */
unsigned int softrnic_cmdq_poll(struct softrnic *dev);

#endif
