/* SPDX-License-Identifier: BSD-3-Clause */

/* What the commands of queue pairs share. */
#ifndef SOFTRNIC_QP_COMMAND_H
#define SOFTRNIC_QP_COMMAND_H

#include "commands.h"
#include "qp.h"

/* modify.c: what the commands that change a QP have set is gone, as in RST. */
void softrnic_qp_forget(struct softrnic_qp *qp);

#endif
