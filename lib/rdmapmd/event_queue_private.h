/* SPDX-License-Identifier: BSD-3-Clause */

/* Events that wait to be taken. All under the device's lock. */
#ifndef RDMAPMD_EVENT_QUEUE_PRIVATE_H
#define RDMAPMD_EVENT_QUEUE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct rdmapmd_object;

/* One event of one object; it waits at most once. */
struct rdmapmd_event_node {
	TAILQ_ENTRY(rdmapmd_event_node) next;
	struct rdmapmd_object *object;
	uint8_t type; /* enum rdmapmd_event_type */
	uint8_t port_num;
	bool waits;
};

/* Events that wait, and a descriptor that is readable as long as there are some. */
struct rdmapmd_event_queue {
	TAILQ_HEAD(, rdmapmd_event_node) nodes;
	int fd;
};

int rdmapmd_event_queue_open(struct rdmapmd_event_queue *queue);
void rdmapmd_event_queue_close(struct rdmapmd_event_queue *queue);
void rdmapmd_event_queue_put(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node);
struct rdmapmd_event_node *rdmapmd_event_queue_take(struct rdmapmd_event_queue *queue);
void rdmapmd_event_queue_drop(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node);

#endif
