/* SPDX-License-Identifier: BSD-3-Clause */

/* What the device says that it can do: asked, and set, at bring-up. */
#ifndef RNIC_CORE_CAPS_H
#define RNIC_CORE_CAPS_H

struct rnic_dev;

int rnic_caps_setup(struct rnic_dev *dev);

#endif
