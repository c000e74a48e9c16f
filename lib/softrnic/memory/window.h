/* SPDX-License-Identifier: BSD-3-Clause */

/* Keys that a peer invalidates. */
#ifndef SOFTRNIC_WINDOW_H
#define SOFTRNIC_WINDOW_H

#include "softrnic/base/device.h"

/*
 * A peer's SEND invalidates the key: only one that says so itself, of the queue pair's domain, and bound to it or to none. 0; else
 * -EACCES, and nothing was changed.
 */
int softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd, uint32_t key);

#endif
