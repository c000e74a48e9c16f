/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where counters of the driver's own begin. Those that the manual has begin at 0 are not among them: WQE counters, consumer
 * indices. Read when something is made, never on a data path. All zero, but in tests that want to see them come round.
 *
 * And what the driver keeps for somebody, in tests that want to see it used up.
 */
#ifndef RNIC_TUNABLES_H
#define RNIC_TUNABLES_H

#include <stdint.h>

struct rnic_tunables {
	uint8_t token;	     /* of commands */
	uint16_t message;    /* of vfio-user, their numbers */
	uint16_t elts;	     /* of a transmit queue, segments */
	uint32_t heard;	     /* commands whose events have come */
	uint64_t generation; /* of what caches of memory keys hold */
	uint64_t sends;	     /* of a queue pair, requests */
	uint32_t receives;   /* the same; their low 16 bits are a WQE counter, and 0 */
	uint32_t armings;    /* of a CQ; a multiple of 4: the device sees the low 2 bits */
	uint8_t rx_vectors;  /* kept for receive queues; 0: as many as there can be queues */
};

extern struct rnic_tunables rnic_tunables;

/* Between two looks at the health of a device. Tests shorten it; RNIC_HEALTH_PERIOD_MS of the environment in builds with tests. */
extern unsigned int rnic_health_period_ms;

#endif
