/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The server's interrupt vectors: eventfds that the client sent, masks, and what came while masked. Inside of the library.
 *
 * Threads: any; a lock. The eventfds are signalled from whatever thread the device runs in.
 */
#ifndef VFU_IRQ_H
#define VFU_IRQ_H

#include <pthread.h>
#include <stdbool.h>

#include "eventfd.h"
#include "pace.h"
#include "types.h"

struct vfu_irq_vector {
	int fd; /* -1: nobody is to be told */
	bool masked;
	bool pending; /* triggered while masked, or in a pause */
};

struct vfu_irq_table {
	pthread_mutex_t lock;
	struct vfu_irq_vector *vectors; /* of all types, one after the other */
	unsigned int first[VFU_MAX_IRQ_TYPES + 1];
	unsigned int ntypes;
	struct vfu_eventfd_signaller signaller;
	int unsignalled;       /* 0, or why eventfds cannot be signalled */
	struct vfu_pace *pace; /* of the client, whose eventfds they are */
};

int vfu_irq_table_init(struct vfu_irq_table *table, const struct vfu_irq_type *types,
		       unsigned int ntypes, struct vfu_pace *pace);
void vfu_irq_table_fini(struct vfu_irq_table *table);

/** All vectors of all types as at the start: eventfds closed, nothing masked. */
void vfu_irq_table_clear(struct vfu_irq_table *table);

/** The table owns fd (-1: deassign) from here on. */
void vfu_irq_assign(struct vfu_irq_table *table, unsigned int type, unsigned int vector, int fd);

/** The client's pause is over: deliver what came in it. There may be another one at once. */
void vfu_irq_table_go_on(struct vfu_irq_table *table);

/** Unmasking delivers what came in between. */
void vfu_irq_mask(struct vfu_irq_table *table, unsigned int type, unsigned int vector, bool mask);

/** @return 0 told, or kept for the unmasking or the end of a pause, -ENOENT nobody to tell, -EINVAL no such vector. */
int vfu_irq_trigger(struct vfu_irq_table *table, unsigned int type, unsigned int vector);

#endif
