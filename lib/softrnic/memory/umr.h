/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs that change memory keys (UMR): windows are bound and invalidated by them, and a kernel registers memory. */
#ifndef SOFTRNIC_UMR_H
#define SOFTRNIC_UMR_H

#include "prm/mkey.h"
#include "prm/wqe.h"
#include "softrnic/base/device.h"

/* What a WQE asks, in a private copy. */
struct softrnic_umr {
	uint32_t qpn, pd; /* of its queue pair */
	bool of_all_pds;  /* it is of REG_UMR: keys of all domains, which it may change */
	bool registers;	  /* a kernel's (fre): keys of memory, too, whose pages it says */
	bool rlky;	  /* the reserved key may name where the list is */
	uint32_t key;	  /* as it is now */
	const struct rnic_wqe_umr *control;
	const struct rnic_mkc *context;
	const void *
		list; /* INLINE: translations, as many as control says; else a data segment, which says where they are */
};

/*
 * Is it one that this device executes? What is asked, and of which key, is another question: this is the WQE's form. `bytes` are
 * those of control, context and list.
 */
bool softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes);
/* Change the key. 0; -EACCES: the key may not be changed so, and nothing was. */
int softrnic_umr_execute(struct softrnic *dev, const struct softrnic_umr *umr);

#endif
