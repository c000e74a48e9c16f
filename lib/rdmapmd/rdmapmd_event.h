/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Asynchronous events of a device, its ports and its objects.
 *
 * Source: IBTA vol. 1, chapter 11, "Asynchronous Events". PRM: "EQE Format".
 */
#ifndef RDMAPMD_EVENT_H
#define RDMAPMD_EVENT_H

#include <stdint.h>

#include <rte_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_context;
struct rdmapmd_cq;
struct rdmapmd_qp;
struct rdmapmd_srq;

/** What has happened. The names are those of enum ibv_event_type, which has no RDMAPMD_EVENT_RESOLVED. */
enum rdmapmd_event_type {
	/* of a completion queue */
	RDMAPMD_EVENT_CQ_ERR, /**< an overrun: see rdmapmd_cq_status() */
	/* of a queue pair */
	RDMAPMD_EVENT_QP_FATAL,
	RDMAPMD_EVENT_QP_REQ_ERR,
	RDMAPMD_EVENT_QP_ACCESS_ERR,
	RDMAPMD_EVENT_COMM_EST, /**< a packet arrived in RTR */
	RDMAPMD_EVENT_SQ_DRAINED,
	RDMAPMD_EVENT_PATH_MIG,
	RDMAPMD_EVENT_PATH_MIG_ERR,
	RDMAPMD_EVENT_QP_LAST_WQE_REACHED, /**< in ERR: it has taken its last request from the SRQ */
	/* of a shared receive queue */
	RDMAPMD_EVENT_SRQ_ERR,
	RDMAPMD_EVENT_SRQ_LIMIT_REACHED,
	/* of a port */
	RDMAPMD_EVENT_PORT_ACTIVE,
	RDMAPMD_EVENT_PORT_ERR,
	RDMAPMD_EVENT_GID_CHANGE,
	RDMAPMD_EVENT_RESOLVED, /**< the MAC of an address that was looked for without waiting: rdmapmd_resolve() */
	/* of the device */
	RDMAPMD_EVENT_DEVICE_FATAL, /**< nothing works: close the context */
	RDMAPMD_EVENT_COUNT	    /**< how many there are */
};

/**
 * An event in words, for messages.
 *
 * Threads: any. Blocks: never.
 *
 * @param type Any value, also an invalid one.
 * @return E.g. "last WQE reached"; never NULL, never freed.
 */
__rte_experimental const char *rdmapmd_event_type_str(enum rdmapmd_event_type type);

/** An asynchronous event. */
struct rdmapmd_async_event {
	/** What it concerns; the type selects the member. */
	union {
		struct rdmapmd_cq *cq;	 /**< RDMAPMD_EVENT_CQ_ERR */
		struct rdmapmd_qp *qp;	 /**< events of queue pairs */
		struct rdmapmd_srq *srq; /**< events of SRQs */
		uint8_t port_num;	 /**< events of ports: from 1 */
	} element;
	enum rdmapmd_event_type event_type; /**< what has happened */
};

/**
 * The descriptor that is readable while a context has events.
 *
 * Threads: any. Blocks: never.
 * Owner:   the context. Use it in poll(), epoll, rte_epoll (POLLIN, level or edge triggered); do not read or close it.
 *
 * @param context An open device.
 * @return The descriptor, or -errno.
 */
__rte_experimental int rdmapmd_async_event_fd(struct rdmapmd_context *context);

/**
 * Get the next event, oldest first. An event that is raised again before it was got is queued once, at the time of its last
 * occurrence. With an edge-triggered wait, get events until -EAGAIN.
 *
 * Threads: any. Blocks: never; to wait, poll the descriptor.
 * Owner:   an object cannot be destroyed until its events are acknowledged: rdmapmd_async_event_ack(). Events that still
 *          wait are dropped with their object.
 *
 * @param context An open device.
 * @param event   Out: the event, if 0 is returned.
 * @return 0; -EAGAIN there is none.
 */
__rte_experimental int rdmapmd_async_event_get(struct rdmapmd_context *context,
					       struct rdmapmd_async_event *event);

/**
 * Acknowledge an event.
 *
 * Threads: any. Blocks: never.
 *
 * @param context An open device.
 * @param event   As rdmapmd_async_event_get() gave it; each once.
 * @return 0; -EINVAL no event of that object is unacknowledged.
 */
__rte_experimental int rdmapmd_async_event_ack(struct rdmapmd_context *context,
					       const struct rdmapmd_async_event *event);

#ifdef __cplusplus
}
#endif

#endif
