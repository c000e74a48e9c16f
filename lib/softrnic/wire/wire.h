/* SPDX-License-Identifier: BSD-3-Clause */

/* Wires: what a device sends its frames into, and the faults that frames may have on their way there. */
#ifndef SOFTRNIC_WIRE_H
#define SOFTRNIC_WIRE_H

#include "softrnic/base/device.h"

/* Find the wire by what it is called in softrnic_conf, and have it prepare itself; no lock is held. 0 or -errno, logged. */
int softrnic_wire_prepare(struct softrnic *dev, const char *spec);
/* Set dev->wire, of the same spec; 0, -EINVAL, -EEXIST (the pair, or the switch, has all its ends), -ENOMEM. */
int softrnic_wire_open(struct softrnic *dev, const char *spec);
void softrnic_wire_close(struct softrnic *dev);
/* Whatever came of the others; no lock is held. */
void softrnic_wire_release(struct softrnic *dev);

/* Frames from outside: the work done. */
unsigned int softrnic_wire_poll(struct softrnic *dev);

#endif
