/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a worker keeps of a log in another process: its header and its producers' slots, read when it begins to serve the log. Slots are
 * changed here and written there; records are never here. Where there is room is the header's head, which is read when it is needed.
 *
 * Threads: opened and closed by the one that makes regions; in between its remote target's lane has it, and rdmo_region_next_seq() is for
 * any.
 */
#ifndef RDMO_SHADOW_H
#define RDMO_SHADOW_H

#include "crew.h"
#include "remote.h"

struct rdmo_shadow {
	void *memory; /* NULL: there is none */
	struct rdmapmd_mr *mr;
};

/*
 * Read a log and begin to serve it: `region` has its address, length, keys and remote target. Blocks for the target's device.
 *
 * @return RDMO_STATUS_OK; as rdmo_region_begin_log(); FULL: no memory; TARGET_LOST: it cannot be read
 */
enum rdmo_status rdmo_shadow_open(struct rdmo_shadow *shadow, struct rdmo_crew *crew,
				  struct rdmapmd_pd *pd, struct rdmo_region *region);
void rdmo_shadow_close(struct rdmo_shadow *shadow);

#endif
