/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets out, for the transport. */
#ifndef SOFTRNIC_QP_EMIT_H
#define SOFTRNIC_QP_EMIT_H

#include "softrnic/roce/roce.h"

void softrnic_qp_emit(struct roce_qp *roce, const struct roce_pkt *pkt);

#endif
