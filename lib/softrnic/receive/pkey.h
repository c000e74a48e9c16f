/* SPDX-License-Identifier: BSD-3-Clause */

/* The partition that we are in. */
#ifndef SOFTRNIC_PKEY_H
#define SOFTRNIC_PKEY_H

#include <stdbool.h>
#include <stdint.h>

#define SOFTRNIC_PKEY 0xffff /* the whole of the P_Key table */

/* Members of one partition, of which one at least is a full one (IBTA vol. 1, 10.9.3). */
static inline bool
softrnic_roce_pkey_fits(uint16_t pkey)
{
	return ((pkey ^ SOFTRNIC_PKEY) & 0x7fff) == 0 && ((pkey | SOFTRNIC_PKEY) & 0x8000) != 0;
}

#endif
