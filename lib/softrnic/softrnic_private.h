/* SPDX-License-Identifier: BSD-3-Clause */

/* The whole device, for its own files. */
#ifndef SOFTRNIC_SOFTRNIC_PRIVATE_H
#define SOFTRNIC_SOFTRNIC_PRIVATE_H

struct softrnic;

/* Power-on state; with the lock held. */
void softrnic_device_reset(struct softrnic *dev);

#endif
