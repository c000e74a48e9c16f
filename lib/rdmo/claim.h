/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which worker appends to which memory of this process. A tail that one worker moves alone is not another one's: both would keep it,
 * and stop each other at the first publication.
 *
 * Threads: any.
 */
#ifndef RDMO_CLAIM_H
#define RDMO_CLAIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct rdmo_claim {
	TAILQ_ENTRY(rdmo_claim) next;
	uint64_t va, len;   /* the end does not wrap */
	const char *worker; /* its address, which lives as long as the claim */
	bool is_shared;	    /* other workers may do so as well */
	bool is_log;	    /* nobody else may, by whatever connection */
	/* Of one that is shared: the worker's CPU changes it, or a device whose atomics others do not respect; which one. */
	bool is_by_cpu, is_by_device;
	const void *device;
};

/*
 * Make one that is filled in.
 *
 * @return 0; -EBUSY: it is another worker's memory, or part of it is, unless both share; or a log's; -ENOTSUP: both share, but by two
 *         devices, or one by its CPU and the other one by a device, which do not see each other
 */
int rdmo_claim_make(struct rdmo_claim *claim);

/* It was made. */
void rdmo_claim_drop(struct rdmo_claim *claim);

#endif
