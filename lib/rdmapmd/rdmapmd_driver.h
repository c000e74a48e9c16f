/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The interface for drivers: registration of devices, tables from numbers to objects, and the operations behind the objects
 * of rdmapmd.h.
 *
 * Objects. The library allocates them, zeroed and aligned to a cache line, in the size that the driver gives
 * (rdmapmd_driver_ops: qp_size, ...). The public head is the first member of the driver's struct:
 *
 *     struct rnic_rdma_qp { struct rdmapmd_qp qp; ... };
 *     struct rnic_rdma_qp *rnic_qp = container_of(qp, struct rnic_rdma_qp, qp);
 *
 * The library's own part of an object (references, events, state) lies before the head and is private to it. In the head, the
 * library sets sizes, the application's own pointer and the pointers to other objects; the driver's create function sets the
 * device's number, keys and burst functions. Until then the burst functions post and find nothing.
 *
 * Locks. The library serialises the operations on one object: no two of them run at a time, and create has returned before
 * any other begins. Operations on different objects, also of one context, run in parallel: the driver locks what they share in
 * it. What an object depends on (the PD of an MR, the CQs of a QP) is alive from before its create until after its destroy. No
 * operation may call a control function of rdmapmd.h: the library holds a shared lock of the device. It holds no lock that the
 * functions at the end of this file take, so that a thread which completes commands can raise events. It calls burst functions
 * without any lock.
 *
 * Failure. An operation that fails has changed nothing; a create that fails leaves nothing behind. destroy, dealloc, dereg and
 * close are called once, and the object is gone when they return, whatever they return: the device no longer reaches its memory,
 * and the application gets the error. They may not refuse because something depends on the object: the library has checked that.
 *
 * Before each call the library has checked pointers, references and contexts, flags, masks and ranges of values against struct
 * rdmapmd_device_attr, sizes (it computes them), and state changes.
 *
 * Source: the interface is this library's own. IBTA vol. 1, chapter 11, has the verb behind each operation; the headers of the
 * objects name it. Bursts: DPDK Programmer's Guide, "Poll Mode Driver", "Design Principles".
 */
#ifndef RDMAPMD_DRIVER_H
#define RDMAPMD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Register a device. Both strings are copied.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param name   Unique, e.g. the name of the ethdev port.
 * @param driver E.g. "net_rnic".
 * @param priv   The driver's own, for rdmapmd_device_priv().
 * @param device Out: the device, with a reference that rdmapmd_device_unregister() ends.
 * @return 0; -EEXIST the name is taken, or the process has a second copy of this library (logged with the file names of
 *         both); -ENOMEM.
 */
__rte_internal int rdmapmd_device_register(const char *name, const char *driver, void *priv,
					   struct rdmapmd_device **device);

/**
 * Unregister a device: it can no longer be found. Holders of a reference can still read the name, and get NULL from
 * rdmapmd_device_priv().
 *
 * If contexts are open, the call waits for control calls inside the driver, then destroys the driver's part of every object,
 * dependants first, contexts last. Applications keep empty shells: every control call on them returns -ENODEV, bursts post and
 * find nothing, and destroying or closing them works without the driver. Each context gets RDMAPMD_EVENT_DEVICE_FATAL, each
 * completion channel an event of its CQs.
 *
 * Threads: any but one that is needed to complete commands of the device; no burst call may run on its objects. Blocks: for
 *          commands. After it has returned, the library calls no operation of the driver.
 *
 * @param device As rdmapmd_device_register() gave it; NULL is allowed.
 */
__rte_internal void rdmapmd_device_unregister(struct rdmapmd_device *device);

/**
 * The driver's private pointer of a device.
 *
 * Threads: any. Blocks: never.
 *
 * @param device A device of which the caller holds a reference.
 * @return The pointer given at registration; NULL once the device is unregistered.
 */
__rte_internal void *rdmapmd_device_priv(struct rdmapmd_device *device);

struct rdmapmd_context;

/**
 * Keep a device registered while the driver itself queries it, as telemetry does: by operations of its own table, on a context
 * that no application has opened and in which nothing can be created.
 *
 * Threads: as rdmapmd_device_unregister(), which waits for rdmapmd_device_leave(). Blocks: while that runs.
 *
 * @param device  A device of which the caller holds a reference.
 * @param context Out: a context's head, valid until rdmapmd_device_leave().
 * @return 0; -ENODEV the device is unregistered; -ENOTSUP RDMA is not offered on it.
 */
__rte_internal int rdmapmd_device_enter(struct rdmapmd_device *device,
					struct rdmapmd_context *context);

/**
 * End what a successful rdmapmd_device_enter() began. The caller keeps its reference on the device.
 *
 * Threads: any. Blocks: never.
 *
 * @param device As it was entered.
 */
__rte_internal void rdmapmd_device_leave(struct rdmapmd_device *device);

/**
 * A table from a device's numbers to reference-counted objects. The handle is a member of the object.
 *
 * Threads: any, all calls; the table has a lock. Not for the data path.
 */
struct rdmapmd_table;

/** A member of each object in a table. Private to the library; rdmapmd_table_insert() sets it. */
struct rdmapmd_handle {
	uint64_t number;	     /**< the object's key in the table */
	uint32_t references;	     /**< taken by rdmapmd_table_get() */
	struct rdmapmd_handle *next; /**< in the same bucket */
};

/**
 * Create an empty table.
 *
 * Threads: any. Blocks: never.
 *
 * @param table Out: the table.
 * @return 0; -ENOMEM.
 */
__rte_internal int rdmapmd_table_create(struct rdmapmd_table **table);

/**
 * Free an empty table.
 *
 * Threads: any. Blocks: never.
 *
 * @param table As rdmapmd_table_create() gave it; NULL is allowed.
 * @return 0; -EBUSY while objects are in it.
 */
__rte_internal int rdmapmd_table_destroy(struct rdmapmd_table *table);

/**
 * Insert an object by its number.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param number Any value; unique in the table.
 * @param handle A member of the object, which must not move until it is removed.
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
 * @return The object, with a reference; NULL if there is none.
 */
__rte_internal struct rdmapmd_handle *rdmapmd_table_get(struct rdmapmd_table *table,
							uint64_t number);

/**
 * Drop a reference.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param handle As rdmapmd_table_get() gave it.
 */
__rte_internal void rdmapmd_table_put(struct rdmapmd_table *table, struct rdmapmd_handle *handle);

/**
 * Remove an object.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param table  As rdmapmd_table_create() gave it.
 * @param number As it was inserted.
 * @param handle Out: the removed object, for the caller to free. May be NULL.
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

/** The head of a driver's context. The driver may keep state of its own behind it. */
struct rdmapmd_context {
	struct rdmapmd_device *device; /**< it was opened on */
	void *device_priv;	       /**< as given to rdmapmd_device_register() */
};

/** How to register memory: the argument of the driver's mr_reg and mr_rereg. */
struct rdmapmd_mr_attr {
	struct rdmapmd_pd *pd; /**< its protection domain */
	void *addr;	       /**< its first byte, in this process */
	size_t length;	       /**< bytes, at least 1 */
	uint64_t iova;	       /**< the first byte's address in work requests */
	uint32_t access;       /**< enum rdmapmd_access_flags; iova reflects ZERO_BASED */
};

/** How to create a completion queue. */
struct rdmapmd_cq_layout {
	uint8_t log_size;     /**< log2 of the entries in the ring */
	uint32_t comp_vector; /**< below num_comp_vectors */
	bool timestamps; /**< polls fill completion_ts; only if completion_timestamp_mask is not 0 */
};

/** How to create an SRQ: a linked list of WQEs, each with a next segment and max_gs data segments. */
struct rdmapmd_srq_sizing {
	uint32_t wqe_size;  /**< bytes, 32 << n */
	uint32_t wqe_count; /**< WQEs in the ring, a power of two; one of them is always free */
	uint32_t max_post;  /**< requests that fit */
	uint32_t max_gs;    /**< segments in a request */
};

/**
 * The operations of a driver. Those marked optional may be NULL: the call that needs them returns -ENOTSUP. All may block for
 * commands, except where noted.
 */
struct rdmapmd_driver_ops {
	/** Sizes of the driver's structs in bytes, including the heads of rdmapmd.h and struct rdmapmd_context. */
	size_t context_size, pd_size, mr_size, cq_size, qp_size, srq_size, td_size, ah_size,
		mw_size;

	/** A context is opened: set up the driver's part. */
	int (*context_open)(struct rdmapmd_context *context);
	/** All of its objects are gone. */
	int (*context_close)(struct rdmapmd_context *context);

	/** Called once, right after context_open; the library keeps the answer and computes sizes from it. */
	int (*device_query)(struct rdmapmd_context *context, struct rdmapmd_device_attr *attr);
	/** The present state of a port, port_num 1 .. phys_port_cnt. */
	int (*port_query)(struct rdmapmd_context *context, uint8_t port_num,
			  struct rdmapmd_port_attr *attr);
	/** -EINVAL beyond the table; an empty entry has a GID of zeros. */
	int (*gid_query)(struct rdmapmd_context *context, uint8_t port_num, uint32_t index,
			 struct rdmapmd_gid_entry *entry);
	/** Optional: use any free entry; vlan_id 0: no VLAN. -EEXIST, -ENOSPC. The driver raises RDMAPMD_EVENT_GID_CHANGE. */
	int (*gid_add)(struct rdmapmd_context *context, uint8_t port_num,
		       const union rdmapmd_gid *gid, uint16_t vlan_id, uint32_t *index);
	/** Optional. -EINVAL, -ENODATA, -EPERM, -EBUSY: see rdmapmd_gid_del(). */
	int (*gid_del)(struct rdmapmd_context *context, uint8_t port_num, uint32_t index);
	/** An entry of a port's P_Key table, in host byte order. -EINVAL beyond the table. */
	int (*pkey_query)(struct rdmapmd_context *context, uint8_t port_num, uint16_t index,
			  uint16_t *pkey);
	/**
	 * Optional: resolve ah->dgid to a MAC in ah->dmac, for packets that begin with ah->sgid_index. The errors of
	 * rdmapmd_resolve(), and its timeout; the driver raises RDMAPMD_EVENT_RESOLVED.
	 */
	int (*resolve)(struct rdmapmd_context *context, struct rdmapmd_ah_attr *ah,
		       uint32_t timeout_ms);
	/** Optional: the clock of completion_ts. Never blocks for long. -EIO. */
	int (*clock_read)(struct rdmapmd_context *context, uint64_t *clock);
	/** Optional: the names of a port's counters, NULL terminated. */
	const char *const *counters;
	/** Optional, with counters: their values, in the same order. */
	int (*counters_read)(struct rdmapmd_context *context, uint8_t port_num, uint64_t *values);

	/** Sets pdn. */
	int (*pd_alloc)(struct rdmapmd_pd *pd);
	int (*pd_dealloc)(struct rdmapmd_pd *pd); /**< It is empty. */

	/** Sets lkey and rkey. On success the library sets the other members of the head. */
	int (*mr_reg)(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
	/** Sets new lkey and rkey; the old ones are invalid when it returns. On error they stay as they were. */
	int (*mr_rereg)(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
	/** When it returns, the keys no longer reach memory. */
	int (*mr_dereg)(struct rdmapmd_mr *mr);

	/** Optional, all four or none. Sets rkey: a key that is not bound. The type is known. -ENOTSUP the device has no windows. */
	int (*mw_alloc)(struct rdmapmd_mw *mw);
	int (*mw_free)(struct rdmapmd_mw *mw); /**< When it returns, its key leads nowhere. */
	/**
	 * Post a bind of a window of type 1, or, with length 0, its end; as rdmapmd_post_send() posts one request. Asks
	 * rdmapmd_mw_may_bind(), as that does for windows of type 2. Both set the window's rkey, and its mr unless the length is
	 * 0. -EINVAL, -ENOMEM, -EPERM.
	 */
	int (*mw_bind)(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr);
	/** It was bound, and no completion was polled that tells of its end. Never blocks. The device's lock is held. */
	bool (*mw_bound)(const struct rdmapmd_mw *mw);

	/** Sets cqn, poll_cq and, with cq->channel, req_notify_cq. */
	int (*cq_create)(struct rdmapmd_cq *cq, const struct rdmapmd_cq_layout *layout);
	/** Optional. No thread polls meanwhile. -EINVAL more completions wait than fit. */
	int (*cq_resize)(struct rdmapmd_cq *cq, uint8_t log_size);
	/**
	 * Optional. An event after `count` completions or `period_us` microseconds; 0: at once. -EINVAL a value does not fit
	 * into the device's fields.
	 */
	int (*cq_moderate)(struct rdmapmd_cq *cq, uint16_t count, uint16_t period_us);
	int (*cq_destroy)(struct rdmapmd_cq *cq); /**< Nothing uses it. */

	/**
	 * Creates it in RESET. Sets qp_num, post_send if sizing->sq.wqe_count is not 0, and post_recv if sizing->rq.wqe_count is
	 * not 0. attr->cap has the actual capacities. -ENOTSUP a transport or a flag that the device does not have; -EBUSY (GSI)
	 * the port has one. Those whose driver has no ah_create are never UD or GSI.
	 */
	int (*qp_create)(struct rdmapmd_qp *qp, const struct rdmapmd_qp_init_attr *attr,
			 const struct rdmapmd_qp_sizing *sizing);
	/**
	 * A legal change with legal attributes; mask always contains the state, and the MAC in ah_attr is known. A RAW_PACKET
	 * queue pair may refuse to leave SQE with -EBUSY as long as send requests were not polled.
	 */
	int (*qp_modify)(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
			 unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to);
	/** Update attr, which has the values set last, from the device, including the state; the library sets cap. */
	int (*qp_query)(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr);
	/** Drops its completions that wait in its CQs: no poll finds them. */
	int (*qp_destroy)(struct rdmapmd_qp *qp);
	/**
	 * Optional, both or none: RAW_PACKET queue pairs. Frames with that destination address and VLAN tag
	 * (RDMAPMD_VLAN_ANY: any tag, or none) go to its receive queue, from RTR on. -EEXIST, -ENOSPC. Destroying the queue
	 * pair detaches all its addresses.
	 */
	int (*qp_attach_mac)(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
	/** Optional: undoes qp_attach_mac. -ENOENT. */
	int (*qp_detach_mac)(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
	/** Requests posted to its own queues and not polled yet. Never blocks; the thread that posts and polls calls it. */
	uint32_t (*qp_outstanding)(struct rdmapmd_qp *qp);

	/** Optional, all five or none. Sets srqn and post_srq_recv. */
	int (*srq_create)(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing);
	/** Arm the limit. */
	int (*srq_arm)(struct rdmapmd_srq *srq, uint32_t limit);
	/** Optional, even if the others are there: another size. */
	int (*srq_resize)(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing);
	/** The limit that is armed now. */
	int (*srq_query)(struct rdmapmd_srq *srq, uint32_t *limit);
	int (*srq_destroy)(struct rdmapmd_srq *srq); /**< No queue pair uses it. */

	/** Optional, both or none: paths of datagrams. The path is complete: its MAC is known. */
	int (*ah_create)(struct rdmapmd_ah *ah, const struct rdmapmd_ah_attr *attr);
	int (*ah_destroy)(struct rdmapmd_ah *ah); /**< No request that names it is being posted. */
	/**
	 * Optional, both or none: a UD queue pair joins a group that it is not in. -ENOSPC, -ENOTSUP. The library detaches it
	 * before it is destroyed.
	 */
	int (*mcast_attach)(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);
	/** Optional: undoes mcast_attach. */
	int (*mcast_detach)(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);

	/** Optional, both or none. Sets dedicated. Queue pairs of a domain have it in qp->td before qp_create. */
	int (*td_alloc)(struct rdmapmd_td *td);
	int (*td_dealloc)(struct rdmapmd_td *td); /**< No queue pair is in it. */
};

/**
 * Offer RDMA on a device: from now on applications can open it.
 *
 * Threads: any. Blocks: never for long.
 * Owner:   the table must not change until rdmapmd_device_unregister() has returned.
 *
 * @param device As rdmapmd_device_register() gave it.
 * @param ops    The driver's operations.
 * @return 0; -EINVAL an operation is missing, or a struct is smaller than its head (named in the log); -EEXIST RDMA is
 *         already offered.
 */
__rte_internal int rdmapmd_device_offer(struct rdmapmd_device *device,
					const struct rdmapmd_driver_ops *ops);

/**
 * Raise an event of an object, by the number that the device gave it. Unknown numbers are ignored: an object may be destroyed
 * while its event is on the way. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR also move the queue pair to ERR, CQ_ERR marks the CQ.
 *
 * Threads: any; takes leaf locks of the library for a moment. Blocks: never, allocates nothing.
 *
 * @param device As rdmapmd_device_register() gave it.
 * @param type   An event of a CQ, a queue pair or an SRQ.
 * @param number The object's cqn, qp_num or srqn.
 */
__rte_internal void rdmapmd_device_object_event(struct rdmapmd_device *device,
						enum rdmapmd_event_type type, uint32_t number);

/**
 * Raise an event of a port, or of the device. As rdmapmd_device_object_event().
 *
 * Threads: any; takes leaf locks of the library for a moment. Blocks: never, allocates nothing.
 *
 * @param device   As rdmapmd_device_register() gave it.
 * @param type     An event of a port or of the device.
 * @param port_num From 1; ignored for events of the device.
 */
__rte_internal void rdmapmd_device_event(struct rdmapmd_device *device,
					 enum rdmapmd_event_type type, uint8_t port_num);

/**
 * Raise a completion event of a CQ. As rdmapmd_device_object_event().
 *
 * Threads: any; takes leaf locks of the library for a moment. Blocks: never, allocates nothing.
 *
 * @param device As rdmapmd_device_register() gave it.
 * @param cqn    The device's number of the CQ.
 */
__rte_internal void rdmapmd_device_completion_event(struct rdmapmd_device *device, uint32_t cqn);

/**
 * A poll has found an error completion: the device has moved the queue pair to ERR.
 *
 * Threads: any, also the data path: one atomic store. Blocks: never.
 *
 * @param qp The queue pair of the completion.
 */
__rte_internal void rdmapmd_qp_in_error(struct rdmapmd_qp *qp);

/**
 * The same for a send request: a queue pair of RC is in ERR, others in RTS or SQD move to SQE and go on receiving.
 *
 * Threads: as rdmapmd_qp_in_error(). Blocks: never.
 *
 * @param qp The queue pair of the completion.
 */
__rte_internal void rdmapmd_qp_send_in_error(struct rdmapmd_qp *qp);

/**
 * May a window be bound so? By all that the library knows of window, region and queue pair; there is no limit on how many are.
 *
 * Threads: any, also the data path. Blocks: never.
 *
 * @param qp   The queue pair that the request is posted to.
 * @param wr   Its opcode is RDMAPMD_WR_BIND_MW.
 * @param type The window's: 2 of a request that was posted, 1 of mw_bind.
 * @return Whether it may.
 */
__rte_internal bool rdmapmd_mw_may_bind(const struct rdmapmd_qp *qp,
					const struct rdmapmd_send_wr *wr,
					enum rdmapmd_mw_type type);

/**
 * @name Burst functions of objects that have none: they post and find nothing. Also for a driver's dead objects.
 * @{
 */
/**
 * Posts nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp Its post_send_error becomes -EINVAL.
 * @param wr Ignored.
 * @param n  Ignored.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_post_send_none(struct rdmapmd_qp *qp,
					       const struct rdmapmd_send_wr *wr, uint16_t n);
/**
 * Posts nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param qp Its post_recv_error becomes -EINVAL.
 * @param wr Ignored.
 * @param n  Ignored.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_post_recv_none(struct rdmapmd_qp *qp,
					       const struct rdmapmd_recv_wr *wr, uint16_t n);
/**
 * Posts nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param srq Its post_error becomes -EINVAL.
 * @param wr  Ignored.
 * @param n   Ignored.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_post_srq_recv_none(struct rdmapmd_srq *srq,
						   const struct rdmapmd_recv_wr *wr, uint16_t n);
/**
 * Finds nothing.
 *
 * Threads: any. Blocks: never.
 *
 * @param cq Ignored.
 * @param wc Not written.
 * @param n  Ignored.
 * @return 0.
 */
__rte_internal uint16_t rdmapmd_poll_cq_none(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc,
					     uint16_t n);
/**
 * Arms nothing: -EINVAL.
 *
 * Threads: any. Blocks: never.
 *
 * @param cq             Ignored.
 * @param solicited_only Ignored.
 * @return -EINVAL.
 */
__rte_internal int rdmapmd_req_notify_cq_none(struct rdmapmd_cq *cq, bool solicited_only);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
