/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Quirks: behaviour of cards and of their firmware that the device has not by itself. Each is asked for by its name
 * (softrnic_conf's quirks), so that a driver meets it without the card. quirks.c has the table, and what follows from a bit alone;
 * quirks_poll.c what needs other parts of the device.
 *
 * Who has none pays nothing on the data path: commands, registers and events ask for their bits, and what comes with time
 * has its turn among the commands (SOFTRNIC_BELL_QUIRKS).
 */
#ifndef SOFTRNIC_QUIRKS_H
#define SOFTRNIC_QUIRKS_H

#include "softrnic/base/device.h"

#define SOFTRNIC_FIRST_UAR_MAX 0x100u

static inline bool
softrnic_has_quirk(const struct softrnic *dev, enum softrnic_quirk quirk)
{
	return (dev->quirks.set >> quirk & 1) != 0;
}

/* Those of the configuration, beside what is set already; what they change of it. 0 or -EINVAL, logged. */
int softrnic_quirks_init(struct softrnic *dev);

/* Power-on state. */
void softrnic_quirks_reset(struct softrnic *dev);

/* The command queue's address was written. */
void softrnic_quirks_address_written(struct softrnic *dev);
/* The function is initializing once more, and hears no doorbell of commands. Threads: any, without the lock. */
bool softrnic_quirks_initializing(struct softrnic *dev);

/* INIT_HCA was executed. */
void softrnic_quirks_init_hca(struct softrnic *dev);
/* The time that the health counter is at. */
uint64_t softrnic_quirks_health_time(const struct softrnic *dev, uint64_t now);

/* The number that the first ALLOC_UAR answers with. */
uint32_t softrnic_quirks_first_uar(const struct softrnic *dev);

/* Of a link that PTYS has only extended protocols for, in Gb/s; else 0. */
uint32_t softrnic_quirks_ptys(const struct softrnic *dev);

/* `count` of `spare` pages are asked back: how many come now. */
uint32_t softrnic_quirks_pages_back(struct softrnic *dev, uint32_t count, uint32_t spare);

/* A type of event that no driver knows. */
uint8_t softrnic_quirks_unknown_event(struct softrnic *dev);

/* General capabilities, once they are as without quirks. */
void softrnic_quirks_caps(struct softrnic *dev);
/* RoCE has to be asked for, and was not. */
bool softrnic_quirks_roce_off(const struct softrnic *dev);

#endif
