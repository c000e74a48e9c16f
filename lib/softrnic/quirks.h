/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Quirks: behaviour of cards and of their firmware that the device has not by itself. Each is asked for by its name
 * (softrnic_conf's quirks), so that a driver meets it without the card. quirks.c has the table.
 *
 * Who has none pays nothing on the data path: commands, registers and events ask for their bits.
 */
#ifndef SOFTRNIC_QUIRKS_H
#define SOFTRNIC_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

struct softrnic;

enum softrnic_quirk {
	SOFTRNIC_QUIRK_UAR_8,
	SOFTRNIC_QUIRK_UAR_16,
	SOFTRNIC_QUIRK_UAR_256,
	SOFTRNIC_QUIRK_TEARDOWN_REFUSED,
	SOFTRNIC_QUIRK_INIT_PAGES_12874,
	SOFTRNIC_QUIRK_INIT_PAGES_60000,
	SOFTRNIC_QUIRK_NO_Q_COUNTERS,
	SOFTRNIC_QUIRK_ROCE_OFF,
	SOFTRNIC_QUIRK_PTYS_400,
	SOFTRNIC_QUIRK_PTYS_800,
	SOFTRNIC_QUIRKS,
};

#define SOFTRNIC_FIRST_UAR_MAX 0x100u

struct softrnic_quirks {
	uint32_t set; /* bit n: enum softrnic_quirk */
};

/* Those of the configuration, beside what is set already; what they change of it. 0 or -EINVAL, logged. */
int softrnic_quirks_init(struct softrnic *dev);

/* The number that the first ALLOC_UAR answers with. */
uint32_t softrnic_quirks_first_uar(const struct softrnic *dev);

/* Of a link that PTYS has only extended protocols for, in Gb/s; else 0. */
uint32_t softrnic_quirks_ptys(const struct softrnic *dev);

/* General capabilities, once they are as without quirks. */
void softrnic_quirks_caps(struct softrnic *dev);
/* RoCE is to be asked for, and nobody has. */
bool softrnic_quirks_roce_off(const struct softrnic *dev);

#endif
