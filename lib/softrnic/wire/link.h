/* SPDX-License-Identifier: BSD-3-Clause */

/* The link. */
#ifndef SOFTRNIC_LINK_H
#define SOFTRNIC_LINK_H

#include "softrnic/base/device.h"

/*
 * The admin state or presence of this end changed, or what its wire's is_up() says: recompute the link here and at the
 * other end.
 */
void softrnic_wire_changed(struct softrnic *dev);
/* ... here alone. */
void softrnic_link_update(struct softrnic *dev);

#endif
