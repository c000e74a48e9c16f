/* SPDX-License-Identifier: BSD-3-Clause */

/* Keys that WQEs and peers change: windows, bound and invalidated. */
#ifndef SOFTRNIC_WINDOW_H
#define SOFTRNIC_WINDOW_H

#include "prm/mkey.h"
#include "prm/wqe.h"
#include "softrnic/base/device.h"

/* What a WQE asks, in a private copy. */
struct softrnic_umr {
	uint32_t qpn, pd; /* of its queue pair */
	bool of_all_pds;  /* it is of REG_UMR: keys of all domains, which it may change */
	uint32_t key;	  /* as it is now */
	const struct rnic_wqe_umr *control;
	const struct rnic_mkc *context;
	const struct rnic_klm *entries; /* as many as control says */
};

/*
 * Is it one that this device executes? What is asked, and of which key, is another question: this is the WQE's form. `bytes` are
 * those of control, context and entries.
 */
bool softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes);
/* Change the key. 0; -EACCES: the key may not be changed so, and nothing was. */
int softrnic_umr_execute(struct softrnic *dev, const struct softrnic_umr *umr);

/*
 * A peer's SEND invalidates the key: only one that says so itself, of the queue pair's domain, and bound to it or to none. 0; else
 * -EACCES, and nothing was changed.
 */
int softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd, uint32_t key);

#endif
