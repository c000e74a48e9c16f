/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs that change memory keys: windows are bound and invalidated by them. */
#ifndef SOFTRNIC_QP_UMR_H
#define SOFTRNIC_QP_UMR_H

#include "softrnic/receive/qp.h"

/* Of a private copy of so many bytes: can it be executed at all? */
bool softrnic_qp_umr_is_sound(const struct softrnic_qp *qp, const uint8_t *wqe, uint32_t length);
/* Execute one that can: 0, or minus an enum rnic_cqe_syndrome. */
int softrnic_qp_umr(struct softrnic_qp *qp, const uint8_t *wqe);

#endif
