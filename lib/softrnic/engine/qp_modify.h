/* SPDX-License-Identifier: BSD-3-Clause */

/* State changes of queue pairs. */
#ifndef SOFTRNIC_QP_MODIFY_H
#define SOFTRNIC_QP_MODIFY_H

#include "softrnic/base/command.h"
#include "softrnic/receive/qp.h"

/* What the commands that change a QP have set is gone, as in RST. */
void softrnic_qp_forget(struct softrnic_qp *qp);

SOFTRNIC_CMD(modify_qp); /* RST2INIT_QP, INIT2RTR_QP, ...: the opcode says which */
SOFTRNIC_CMD(2err_qp);
SOFTRNIC_CMD(2rst_qp);

#endif
