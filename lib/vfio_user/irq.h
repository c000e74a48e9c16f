/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The server's interrupt vectors: the client's eventfds, masks, and interrupts raised while masked. Inside of the library.
 *
 * Threads: any; there is a lock. The device's thread signals the eventfds.
 */
#ifndef VFU_IRQ_H
#define VFU_IRQ_H

#include <pthread.h>
#include <stdbool.h>

#include "eventfd.h"
#include "pace.h"
#include "types.h"

struct vfu_irq_vector {
	int fd; /* -1: the client has given none */
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

/** The client's pause is over: deliver the interrupts of that time. There may be another pause at once. */
void vfu_irq_table_go_on(struct vfu_irq_table *table);

/** Unmasking delivers an interrupt that was raised meanwhile. */
void vfu_irq_mask(struct vfu_irq_table *table, unsigned int type, unsigned int vector, bool mask);

/** @return 0 signalled, or kept until unmasked or the pause ends, -ENOENT there is no eventfd, -EINVAL no such vector. */
int vfu_irq_trigger(struct vfu_irq_table *table, unsigned int type, unsigned int vector);

#endif
