/* SPDX-License-Identifier: BSD-3-Clause */

/* Refusals as data: a good input, one field changed, one status. */
#ifndef TEST_DEVICE_CTL_REFUSE_H
#define TEST_DEVICE_CTL_REFUSE_H

#include "ctl_world.h"

struct refusal {
	uint16_t opcode;
	int status;
	uint32_t field; /* of the input */
	uint64_t value;
	size_t from;	/* the value stands in the world, not here */
	int32_t length; /* bytes to cut off instead of a field to change */
	const char *what;
};
extern const struct refusal refusals[];
extern const unsigned int refusal_count;

#endif
