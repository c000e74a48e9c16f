/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Events that wait: in the queue of a context or of a completion channel. Each event that can be has its node in its
 * object, so that none is lost for want of memory, and none comes after its object has gone.
 */

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event_queue_private.h"

int
rdmapmd_event_queue_open(struct rdmapmd_event_queue *queue)
{
	TAILQ_INIT(&queue->nodes);
	queue->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return queue->fd < 0 ? -errno : 0;
}

void
rdmapmd_event_queue_close(struct rdmapmd_event_queue *queue)
{
	if (queue->fd >= 0)
		close(queue->fd);
}

/* The descriptor is readable exactly as long as something waits. */
static void
queue_set_readable(struct rdmapmd_event_queue *queue, bool readable)
{
	uint64_t count = 1;
	ssize_t n = readable ? write(queue->fd, &count, sizeof(count))
			     : read(queue->fd, &count, sizeof(count));

	/* Neither can fail: the counter is 0 or 1. */
	(void)n;
}

static void
queue_take_out(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node)
{
	TAILQ_REMOVE(&queue->nodes, node, next);
	node->waits = false;
}

void
rdmapmd_event_queue_put(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node)
{
	const bool empty = TAILQ_EMPTY(&queue->nodes);

	/* Once more: it counts from now, behind what has come meanwhile. */
	if (node->waits)
		queue_take_out(queue, node);
	TAILQ_INSERT_TAIL(&queue->nodes, node, next);
	node->waits = true;
	if (empty)
		queue_set_readable(queue, true);
}

void
rdmapmd_event_queue_drop(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node)
{
	if (!node->waits)
		return;
	queue_take_out(queue, node);
	if (TAILQ_EMPTY(&queue->nodes))
		queue_set_readable(queue, false);
}

struct rdmapmd_event_node *
rdmapmd_event_queue_take(struct rdmapmd_event_queue *queue)
{
	struct rdmapmd_event_node *node = TAILQ_FIRST(&queue->nodes);

	if (node != NULL)
		rdmapmd_event_queue_drop(queue, node);
	return node;
}
