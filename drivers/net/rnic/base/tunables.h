/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tests set: how long the driver waits, where counters of its own begin, and what it keeps for somebody. Bring-up copies
 * them into the device (dev->tunables), and all that asks later asks the device: one that is open has what it was opened with.
 * Never read on a data path.
 */
#ifndef RNIC_TUNABLES_H
#define RNIC_TUNABLES_H

#include <stdint.h>

struct rnic_tunables {
	/* How long: 0 is at once, not without end. */
	unsigned int initializing_timeout_ms; /* a function may initialize; no command meanwhile */
	unsigned int cmd_timeout_ms;	      /* a command may take */
	unsigned int cmd_dead_timeout_ms;     /* ... from when the device looks dead */
	unsigned int vfio_user_timeout_ms;    /* an answer of a vfio-user server may take */
	unsigned int pages_patience_ms; /* a device may give no page back, since the last one */
	unsigned int health_period_ms;	/* from one look at a device's health to the next */
	unsigned int silence_ms;	/* a queue is suspected until its state is asked for */
	unsigned int sync_patience_s;	/* until what the device raised is handled */
	unsigned int last_ms;		/* the control thread's last wait, once it is to end */
	unsigned int close_ms;		/* all that undoes a bring-up has, together */

	/*
	 * Where counters begin. Those that the manual has begin at 0 and are not among them: WQE counters, consumer indices.
	 * All zero, but in tests that want to see them come round.
	 */
	uint8_t token;	     /* of commands */
	uint16_t message;    /* of vfio-user, their numbers */
	uint16_t elts;	     /* of a transmit queue, segments */
	uint32_t heard;	     /* commands whose events have come */
	uint64_t generation; /* of what caches of memory keys hold */
	uint64_t sends;	     /* of a queue pair, requests */
	uint32_t receives;   /* the same; their low 16 bits are a WQE counter, and 0 */
	uint32_t armings;    /* of a CQ; a multiple of 4: the device sees the low 2 bits */

	/* What is kept for somebody, in tests that want to see it used up. */
	uint8_t rx_vectors; /* for receive queues; 0: as many as there can be queues */
};

/* What a device is opened with, but in tests. */
extern const struct rnic_tunables rnic_tunables_default;

/*
 * For tests, before a device is opened: devices are opened with these from now on, as they are then; NULL: with the default
 * again. They stay the caller's, and must outlive their use.
 */
void rnic_tunables_use(const struct rnic_tunables *tunables);
/*
 * Those that the next device is opened with: the default. Builds with tests begin with what the environment changes of it:
 * RNIC_COUNTERS=end, RNIC_HEALTH_PERIOD_MS.
 */
const struct rnic_tunables *rnic_tunables_in_use(void);

#endif
