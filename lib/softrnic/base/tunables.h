/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where counters of the device's own making begin: generations, numbers, indices that run free. All of them come round one
 * day, or would; tests have them begin near their end, and run as ever. What a manual has begin at 0 for the driver is not
 * here: tests drive that there.
 *
 * They are read when a device, a poller or an object is made, never afterwards, and only tests write to them.
 */
#ifndef SOFTRNIC_TUNABLES_H
#define SOFTRNIC_TUNABLES_H

#include <stdint.h>

struct softrnic_tunables {
	uint64_t dma_generation; /* changes of the DMA map; not 0 */
	uint64_t age_ns;	 /* that a device has been on for, when it is made or reset */
	uint32_t quiet_polls;	 /* polls without work, and those between two looks at doorbells */
	uint32_t
		entries; /* of lists of keys, and ranges of maps, that a poller's devices were led through */
	uint32_t numbers; /* of each kind of object that are left before they come round; 0: all */
	uint32_t flow_groups; /* their ids, of 24 bits */
	uint32_t queue_index; /* of CQs and EQs: a multiple of 2^24, as drivers see the rest */
	uint32_t ring_index;  /* of requests, READs and atomics under way */
};

extern struct softrnic_tunables softrnic_tunables;

#endif
