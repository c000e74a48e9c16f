/* SPDX-License-Identifier: BSD-3-Clause */

/* What the commands of queue pairs share. */
#ifndef SOFTRNIC_QP_COMMAND_H
#define SOFTRNIC_QP_COMMAND_H

#include "commands.h"
#include "prm/cmd_table.h"
#include "qp.h"

/* BAD_PARAM, and why. */
static inline int
softrnic_refuse(const struct softrnic *dev, const struct softrnic_cmd *cmd, const char *why)
{
	SOFTRNIC_LOG(NOTICE, dev, "%s: %s", rnic_cmd_name(cmd->opcode), why);
	return RNIC_STATUS_BAD_PARAM;
}

/* modify.c: what the commands that change a QP have set is gone, as in RST. */
void softrnic_qp_forget(struct softrnic_qp *qp);

#endif
