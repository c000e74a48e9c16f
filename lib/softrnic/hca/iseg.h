/* SPDX-License-Identifier: BSD-3-Clause */

/* The initialization segment, which BAR0 begins with. */
#ifndef SOFTRNIC_ISEG_H
#define SOFTRNIC_ISEG_H

#include "softrnic/base/device.h"

/* A bit of it for each slot of commands. */
#define SOFTRNIC_ISEG_DOORBELL 0x18

int softrnic_iseg_init(struct softrnic *dev);
void softrnic_iseg_fini(struct softrnic *dev);
/* As after power-on. */
void softrnic_iseg_reset(struct softrnic *dev);
/* Behind a reset that the driver has asked for: no driver has the interface. */
void softrnic_iseg_disable(struct softrnic *dev);
/* The health buffer of a firmware that has met its end; the device stops. */
void softrnic_iseg_fatal(struct softrnic *dev, uint8_t syndrome);
/* A complaint: the health buffer names it, and all goes on. */
void softrnic_iseg_complain(struct softrnic *dev, uint8_t syndrome);
/* At INIT_HCA: the stop of the health counter, and the firmware's end, that the configuration asks for, once. */
void softrnic_iseg_plan_health(struct softrnic *dev);

/* The dword at that offset, in the order of the CPU. */
uint32_t softrnic_iseg_read(struct softrnic *dev, uint64_t offset);
/* True: the driver asks for a reset of the device, which is the caller's to do. */
bool softrnic_iseg_write(struct softrnic *dev, uint64_t offset, uint32_t value);
/* It takes no lock: any thread may ring at any time, and the commands are seen with the bits. */
void softrnic_iseg_ring(struct softrnic *dev, const void *data);

#endif
