/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What a driver uses and implements: the list of devices from its side, tables from numbers to objects, and the
 * operations behind the objects of rdmapmd.h.
 *
 * Objects. The library allocates them, zeroed and aligned to a cache line, with as much room as the driver asks for
 * (rdmapmd_driver_ops: qp_size, ...). The public head is the first member of the driver's struct:
 *
 *     struct rnic_rdma_qp { struct rdmapmd_qp qp; ... };
 *     struct rnic_rdma_qp *rnic_qp = container_of(qp, struct rnic_rdma_qp, qp);
 *
 * What the library keeps of an object (references, events, state) stands before the head and is nobody else's. Of a head
 * the library sets the pointers to other objects, sizes and the application's own; the driver's create function sets the
 * device's number, keys and burst functions. Until then those functions are ones that take and find nothing.
 *
 * Who locks what. The library serialises the operations on one object: no two of them run at a time, and create has
 * returned before any other begins. Operations on different objects, of one context too, run side by side: what they
 * share in the driver, the driver locks. What an object depends on (the PD of an MR, the CQs of a QP) is alive from before
 * its create until after its destroy. No operation may call a control function of rdmapmd.h; the library holds a shared
 * lock of the device. It holds no lock that the functions at the end of this file take, so that a thread which completes
 * commands can raise events. Burst functions are called with no lock at all.
 *
 * Failure. An operation that fails has changed nothing; a create that fails leaves nothing behind. destroy, dealloc, dereg
 * and close are called once, and the object is gone when they return, whatever they return: the device no longer reaches
 * its memory, the application is told the error. Neither may they refuse because something depends on the object, which
 * the library has checked.
 *
 * What the library has checked before it calls: pointers, references and contexts, flags, masks and ranges of values
 * against struct rdmapmd_device_attr, sizes (it computes them), state changes.
 */
#ifndef RDMAPMD_DRIVER_H
#define RDMAPMD_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Take a device into the list. Both strings are copied.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param name   Unique, e.g. the ethdev port's.
 * @param driver E.g. "net_rnic".
 * @param priv   The driver's own, for rdmapmd_device_priv().
 * @param device Out: the device, with a reference that rdmapmd_device_unregister() ends.
 * @return 0; -EEXIST the name is taken, or the process has a second copy of this library, which is logged with the
 *         file names of both; -ENOMEM.
 */
__rte_internal int rdmapmd_device_register(const char *name, const char *driver, void *priv,
					   struct rdmapmd_device **device);

/**
 * Take a device out of the list: it is no longer found. Those who hold a reference keep the name, and get NULL from
 * rdmapmd_device_priv(). NULL is allowed.
 *
 * With contexts open: control calls that are inside the driver are waited for, then every object is destroyed as far as
 * the driver is concerned, dependants first, contexts last. Applications keep empty shells, in which every control call
 * gives -ENODEV and bursts take and find nothing; destroying and closing those works as ever and asks no driver. Each
 * context gets RDMAPMD_EVENT_DEVICE_FATAL, each completion channel an event of its CQs.
 *
 * Threads: any but one that commands of the device need to complete; no burst call may run on its objects. Blocks: for
 *          commands. No operation of the driver is called after it has returned.
 *
 * @param device As rdmapmd_device_register() gave it; NULL is allowed.
 */
__rte_internal void rdmapmd_device_unregister(struct rdmapmd_device *device);

/**
 * The driver's own pointer of a device.
 *
 * Threads: any. Blocks: never.
 *
 * @param device A device of which the caller holds a reference.
 * @return What was given at registration, or NULL once the device is unregistered.
 */
__rte_internal void *rdmapmd_device_priv(struct rdmapmd_device *device);

struct rdmapmd_context;

/**
 * Have a device stay while the driver asks it something on its own, as telemetry does: with operations of the table that
 * it offered, and a context that no application has opened: nothing can be made in it.
 *
 * Threads: as rdmapmd_device_unregister(), which waits for rdmapmd_device_leave(). Blocks: while that runs.
 *
 * @param device  A device of which the caller holds a reference.
 * @param context Out: filled in, a head alone, as long as the device stays.
 * @return 0; -ENODEV the device is unregistered, -ENOTSUP RDMA is not offered on it.
 */
__rte_internal int rdmapmd_device_enter(struct rdmapmd_device *device,
					struct rdmapmd_context *context);

/**
 * The end of a rdmapmd_device_enter() that was successful. The reference on the device is still the caller's.
 *
 * Threads: any. Blocks: never.
 *
 * @param device As it was entered.
 */
__rte_internal void rdmapmd_device_leave(struct rdmapmd_device *device);

/**
 * A table from numbers, as a device hands them out, to objects with a reference count. The handle is a member of the
 * object.
 *
 * Threads: any, all calls; the table has a lock. Not for the data path.
 */
struct rdmapmd_table;

/** A member of each object that is in a table. The library's; set by rdmapmd_table_insert(). */
struct rdmapmd_handle {
	uint64_t number;	     /**< by which it is found */
	uint32_t references;	     /**< of rdmapmd_table_get(), not yet put */
	struct rdmapmd_handle *next; /**< of the same bucket */
};

/**
 * Make an empty table.
 *
 * Threads: any. Blocks: never.
 *
 * @param table Out: the table.
 * @return 0; -ENOMEM.
 */
__rte_internal int rdmapmd_table_create(struct rdmapmd_table **table);

/**
 * Free a table that is empty.
 *
 * Threads: any. Blocks: never.
 *
 * @param table As rdmapmd_table_create() gave it; NULL is allowed.
 * @return 0; -EBUSY while objects are in it.
 */
__rte_internal int rdmapmd_table_destroy(struct rdmapmd_table *table);

/**
 * Put an object into a table, by its number.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param number Any; of this object alone.
 * @param handle A member of the object, which stays where it is until it is removed.
 * @return 0; -EEXIST the number is in use; -ENOMEM.
 */
__rte_internal int rdmapmd_table_insert(struct rdmapmd_table *table, uint64_t number,
					struct rdmapmd_handle *handle);

/**
 * Find an object by its number, and take a reference.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param number As it was inserted.
 * @return The object of a number, with a reference; NULL if there is none.
 */
__rte_internal struct rdmapmd_handle *rdmapmd_table_get(struct rdmapmd_table *table,
							uint64_t number);

/**
 * Give a reference back.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param handle As rdmapmd_table_get() gave it.
 */
__rte_internal void rdmapmd_table_put(struct rdmapmd_table *table, struct rdmapmd_handle *handle);

/**
 * Take an object out.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param number As it was inserted.
 * @param handle Out: what was removed, to be freed by the caller. May be NULL.
 * @return 0; -ENOENT no such number; -EBUSY while references are held.
 */
__rte_internal int rdmapmd_table_remove(struct rdmapmd_table *table, uint64_t number,
					struct rdmapmd_handle **handle);

/**
 * How many objects are in a table.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table As rdmapmd_table_create() gave it.
 * @return 0 or more.
 */
__rte_internal uint32_t rdmapmd_table_count(struct rdmapmd_table *table);

/** The head of a driver's context. The driver may have state of its own behind it. */
struct rdmapmd_context {
	struct rdmapmd_device *device; /**< that it was opened on */
	void *device_priv;	       /**< as given to rdmapmd_device_register() */
};

/** How memory is registered: what the driver's mr_reg and mr_rereg get. */
struct rdmapmd_mr_attr {
	struct rdmapmd_pd *pd; /**< its protection domain */
	void *addr;	       /**< its first byte, of this process */
	size_t length;	       /**< bytes, at least 1 */
	uint64_t iova;	       /**< the address that work requests call the first byte by */
	uint32_t access;       /**< enum rdmapmd_access_flags; ZERO_BASED is in iova already */
};

/** How a completion queue is made. */
struct rdmapmd_cq_layout {
	uint8_t log_size;     /**< log2 of the entries in the ring */
	uint32_t comp_vector; /**< below num_comp_vectors */
};

/** How an SRQ is made: a linked list of WQEs, each with a next segment and max_gs data segments. */
struct rdmapmd_srq_sizing {
	uint32_t wqe_size;  /**< bytes, 32 << n */
	uint32_t wqe_count; /**< WQEs in the ring, a power of two; one of them is always free */
	uint32_t max_post;  /**< requests that fit */
	uint32_t max_gs;    /**< segments of a request */
};

/**
 * What a driver can do. Operations are mandatory but for those marked optional, which may be NULL: the call that needs
 * them gives -ENOTSUP. All may block for commands, except where noted.
 */
struct rdmapmd_driver_ops {
	/** Bytes of the driver's structs, the heads of rdmapmd.h and struct rdmapmd_context included. */
	size_t context_size, pd_size, mr_size, cq_size, qp_size, srq_size, td_size;

	/** A context is opened: what the driver keeps for it. */
	int (*context_open)(struct rdmapmd_context *context);
	/** All of its objects are gone. */
	int (*context_close)(struct rdmapmd_context *context);

	/** Asked once, right after context_open; the library keeps the answer and computes sizes with it. */
	int (*device_query)(struct rdmapmd_context *context, struct rdmapmd_device_attr *attr);
	/** The state of a port now, port_num 1 .. phys_port_cnt. */
	int (*port_query)(struct rdmapmd_context *context, uint8_t port_num,
			  struct rdmapmd_port_attr *attr);
	/** -EINVAL beyond the table; an empty entry is a GID of zeros. */
	int (*gid_query)(struct rdmapmd_context *context, uint8_t port_num, uint32_t index,
			 struct rdmapmd_gid_entry *entry);
	/** Optional: where there is room. -EEXIST, -ENOSPC. The driver raises RDMAPMD_EVENT_GID_CHANGE. */
	int (*gid_add)(struct rdmapmd_context *context, uint8_t port_num,
		       const union rdmapmd_gid *gid, uint32_t *index);
	/** Optional. -EINVAL, -ENODATA, -EPERM, -EBUSY: see rdmapmd_gid_del(). */
	int (*gid_del)(struct rdmapmd_context *context, uint8_t port_num, uint32_t index);
	/** An entry of a port's P_Key table, in host byte order. -EINVAL beyond the table. */
	int (*pkey_query)(struct rdmapmd_context *context, uint8_t port_num, uint16_t index,
			  uint16_t *pkey);
	/** Optional: the MAC of ah->dgid, into ah->dmac. -EHOSTUNREACH if it cannot be found out. */
	int (*resolve)(struct rdmapmd_context *context, struct rdmapmd_ah_attr *ah);
	/** Optional: names, NULL terminated, and as many values of a port. */
	const char *const *counters;
	/** Optional, with counters: their values, in that order. */
	int (*counters_read)(struct rdmapmd_context *context, uint8_t port_num, uint64_t *values);

	/** Sets pdn. */
	int (*pd_alloc)(struct rdmapmd_pd *pd);
	int (*pd_dealloc)(struct rdmapmd_pd *pd); /**< Nothing is left in it. */

	/** Sets lkey and rkey. The library sets the other members of the head once it has succeeded. */
	int (*mr_reg)(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
	/** Sets lkey and rkey to new ones; the old ones are dead when it returns. On error they are as they were. */
	int (*mr_rereg)(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
	/** When it returns, its keys no longer reach memory. */
	int (*mr_dereg)(struct rdmapmd_mr *mr);

	/** Sets cqn, poll_cq and, with cq->channel, req_notify_cq. */
	int (*cq_create)(struct rdmapmd_cq *cq, const struct rdmapmd_cq_layout *layout);
	/** Optional. Nobody polls meanwhile. -EINVAL more completions wait than fit. */
	int (*cq_resize)(struct rdmapmd_cq *cq, uint8_t log_size);
	/**
	 * Optional. An event after `count` completions, or `period_us` microseconds; 0: at once. -EINVAL more than
	 * fits.
	 */
	int (*cq_moderate)(struct rdmapmd_cq *cq, uint16_t count, uint16_t period_us);
	int (*cq_destroy)(struct rdmapmd_cq *cq); /**< Nothing uses it. */

	/**
	 * Sets qp_num, post_send if sizing->sq.wqe_count is not 0, and post_recv if sizing->rq.wqe_count is not 0. In RESET.
	 * Of attr, cap is what the sizes give.
	 */
	int (*qp_create)(struct rdmapmd_qp *qp, const struct rdmapmd_qp_init_attr *attr,
			 const struct rdmapmd_qp_sizing *sizing);
	/**
	 * A legal change with legal attributes; the MAC in ah_attr is known, the state in mask always. A RAW_PACKET queue
	 * pair may refuse to leave SQE with -EBUSY as long as send requests have not been polled.
	 */
	int (*qp_modify)(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
			 unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to);
	/** What the device knows, state included. attr holds what was set last; cap is the library's. */
	int (*qp_query)(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr);
	/** Completions of it that wait in its CQs are dropped: no poll finds them. */
	int (*qp_destroy)(struct rdmapmd_qp *qp);
	/**
	 * Optional, both or none: RAW_PACKET queue pairs. Frames with that destination address and VLAN tag
	 * (RDMAPMD_VLAN_ANY: whatever tag) go to its receive queue from its RTR on, or no longer. -EEXIST, -ENOENT, -ENOSPC.
	 * Those that are left go with the queue pair.
	 */
	int (*qp_attach_mac)(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
	/** Optional: the other end of qp_attach_mac. */
	int (*qp_detach_mac)(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
	/** Posted to its own queues and not polled yet. Never blocks; the thread that posts and polls calls it. */
	uint32_t (*qp_outstanding)(struct rdmapmd_qp *qp);

	/** Optional, all five or none. Sets srqn and post_srq_recv. */
	int (*srq_create)(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing);
	/** Arm the limit. */
	int (*srq_arm)(struct rdmapmd_srq *srq, uint32_t limit);
	/** Optional even so: another size. */
	int (*srq_resize)(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing);
	/** The limit as it is armed now. */
	int (*srq_query)(struct rdmapmd_srq *srq, uint32_t *limit);
	int (*srq_destroy)(struct rdmapmd_srq *srq); /**< No queue pair uses it. */

	/** Optional, both or none. Sets dedicated. Queue pairs of a domain have it in qp->td before qp_create. */
	int (*td_alloc)(struct rdmapmd_td *td);
	int (*td_dealloc)(struct rdmapmd_td *td); /**< No queue pair is in it. */
};

/**
 * Offer RDMA on a device: from now on it can be opened.
 *
 * Threads: any. Blocks: never for long.
 * Owner:   the table must stay as it is until rdmapmd_device_unregister() has returned.
 *
 * @param device As rdmapmd_device_register() gave it.
 * @param ops    The driver's operations.
 * @return 0; -EINVAL an operation is missing, or a struct is smaller than its head (named in the log); -EEXIST
 *         offered before.
 */
__rte_internal int rdmapmd_device_offer(struct rdmapmd_device *device,
					const struct rdmapmd_driver_ops *ops);

/**
 * An event of an object, by the number that the device gave it. Numbers that stand for nothing are passed over:
 * an object may be destroyed while its event is under way. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR also move the queue pair
 * to ERR, CQ_ERR marks the CQ.
 *
 * Threads: any; takes leaf locks of the library for a moment. Blocks: never, allocates nothing.
 *
 * @param device As rdmapmd_device_register() gave it.
 * @param type   Of a CQ, a queue pair or an SRQ.
 * @param number The device's, of that object: cqn, qp_num, srqn.
 */
__rte_internal void rdmapmd_device_object_event(struct rdmapmd_device *device,
						enum rdmapmd_event_type type, uint32_t number);

/**
 * An event of a port, or of the device. As rdmapmd_device_object_event().
 *
 * Threads: any; takes leaf locks of the library for a moment. Blocks: never, allocates nothing.
 *
 * @param device   As rdmapmd_device_register() gave it.
 * @param type     Of a port or of the device.
 * @param port_num From 1; not looked at for the device's.
 */
__rte_internal void rdmapmd_device_event(struct rdmapmd_device *device,
					 enum rdmapmd_event_type type, uint8_t port_num);

/**
 * A completion event of a CQ. As rdmapmd_device_object_event().
 *
 * Threads: any; takes leaf locks of the library for a moment. Blocks: never, allocates nothing.
 *
 * @param device As rdmapmd_device_register() gave it.
 * @param cqn    The device's number of the CQ.
 */
__rte_internal void rdmapmd_device_completion_event(struct rdmapmd_device *device, uint32_t cqn);

/**
 * A poll has met an error completion: the device has moved the queue pair to ERR.
 *
 * Threads: any, the data path too: one atomic store. Blocks: never.
 *
 * @param qp Whose completion it was.
 */
__rte_internal void rdmapmd_qp_in_error(struct rdmapmd_qp *qp);

/**
 * The same of a send request: a RAW_PACKET queue pair in RTS goes to SQE and goes on receiving, others are in ERR.
 *
 * Threads: as rdmapmd_qp_in_error(). Blocks: never.
 *
 * @param qp Whose completion it was.
 */
__rte_internal void rdmapmd_qp_send_in_error(struct rdmapmd_qp *qp);

/**
 * @name The burst functions of heads that have none: they take and find nothing. Also for a driver's dead objects.
 * @{
 */
/**
 * Takes nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp Whose post_send_error becomes -EINVAL.
 * @param wr Not looked at.
 * @param n  Not looked at.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_post_send_none(struct rdmapmd_qp *qp,
					       const struct rdmapmd_send_wr *wr, uint16_t n);
/**
 * Takes nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp Whose post_recv_error becomes -EINVAL.
 * @param wr Not looked at.
 * @param n  Not looked at.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_post_recv_none(struct rdmapmd_qp *qp,
					       const struct rdmapmd_recv_wr *wr, uint16_t n);
/**
 * Takes nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param srq Whose post_error becomes -EINVAL.
 * @param wr  Not looked at.
 * @param n   Not looked at.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_post_srq_recv_none(struct rdmapmd_srq *srq,
						   const struct rdmapmd_recv_wr *wr, uint16_t n);
/**
 * Finds nothing.
 *
 * Threads: any. Blocks: never.
 *
 * @param cq Not looked at.
 * @param wc Not written.
 * @param n  Not looked at.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_poll_cq_none(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc,
					     uint16_t n);
/**
 * Arms nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param cq             Not looked at.
 * @param solicited_only Not looked at.
 * @return -EINVAL.
 */
__rte_internal int rdmapmd_req_notify_cq_none(struct rdmapmd_cq *cq, bool solicited_only);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
