/* SPDX-License-Identifier: BSD-3-Clause */

/* The protocols of a link, as the register of port type and speed has a bit for each (PRM: "PTYS"). */
#ifndef RNIC_OBJECT_PROTOCOL_H
#define RNIC_OBJECT_PROTOCOL_H

#include <stdint.h>

#include "prm/reg.h"

struct rnic_protocol {
	uint32_t speed; /* Mb/s; 0 unknown */
	uint8_t lanes;	/* 0 unknown */
};

/* The fastest of those that the link has. */
struct rnic_protocol rnic_protocol_now(const struct rnic_ptys_reg *ptys);
/* The speeds of those that it can have, in Mb/s; 0 where there is none. */
#define RNIC_PROTOCOLS 64
void rnic_protocol_speeds(const struct rnic_ptys_reg *ptys, uint32_t speeds[RNIC_PROTOCOLS]);

#endif
