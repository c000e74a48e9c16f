/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * User access region pages: doorbell registers of CQs, EQs and send queues (PRM: "UAR Page
 * Format").
 */
#ifndef RNIC_PRM_UAR_H
#define RNIC_PRM_UAR_H

#include "field.h"

#define RNIC_UAR_PAGE_BYTES 4096 /* with log_uar_page_sz 0 */

#define RNIC_UAR_CQ_ARM	   0x20 /* 64 bit: the CQ's arm word, then its number */
#define RNIC_UAR_EQ_ARM	   0x40 /* 32 bit: eqn[31:24] consumer index[23:0]; arms */
#define RNIC_UAR_EQ_UPDATE 0x48 /* the same without arming */
#define RNIC_UAR_BLUEFLAME 0x800

/*
 * BlueFlame registers with log_bf_reg_size 9: two halves each, used in turn; the last two are the
 * fast path's.
 */
#define RNIC_BF_REG_BYTES		   512
#define RNIC_BF_HALF_BYTES		   256
#define RNIC_BF_REGS_PER_UAR		   4
#define RNIC_BF_NON_FAST_PATH_REGS_PER_UAR 2

#define RNIC_EQ_DOORBELL(eqn, index) ((uint32_t)(eqn) << 24 | ((uint32_t)(index)&0xffffff))

#endif
