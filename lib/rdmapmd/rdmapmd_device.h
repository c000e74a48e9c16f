/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Contexts: a device as one user has opened it. All objects belong to a context; closing it destroys them. Also the queries
 * of devices, ports, GID and P_Key tables, and counters.
 *
 * Source: IBTA vol. 1, chapter 11, "Query HCA"; annex A17 (RoCEv2) for GIDs that are IP addresses. PRM: "HCA Capabilities", "RoCE
 * Address", "Q Counters".
 */
#ifndef RDMAPMD_DEVICE_H
#define RDMAPMD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device; opaque. Valid as long as a reference is held, even after the device was removed. */
struct rdmapmd_device;

/** An open device; opaque. */
struct rdmapmd_context;
struct rdmapmd_ah_attr;

/** What the atomic operations of a device are atomic against. */
enum rdmapmd_atomic_cap {
	RDMAPMD_ATOMIC_NONE,
	RDMAPMD_ATOMIC_HCA, /**< among the queue pairs of this device */
	RDMAPMD_ATOMIC_GLOB /**< also against the CPU */
};

/** What a device can do. The names are those of struct ibv_device_attr. */
struct rdmapmd_device_attr {
	char fw_ver[64];	      /**< firmware version, e.g. "22.36.1010"; ends with NUL */
	uint64_t node_guid;	      /**< in host byte order */
	uint64_t sys_image_guid;      /**< in host byte order; devices of one card share it */
	uint64_t max_mr_size;	      /**< bytes in one memory region */
	uint64_t page_size_cap;	      /**< bit n: pages of 2^n bytes */
	uint32_t vendor_id;	      /**< the vendor's IEEE OUI, 24 bits */
	uint32_t vendor_part_id;      /**< the PCI device ID, 16 bits, e.g. 0x1017 */
	uint32_t hw_ver;	      /**< the PCI revision ID, 8 bits; 0 on many cards */
	uint32_t max_pd;	      /**< protection domains */
	uint32_t max_mr;	      /**< memory regions */
	uint32_t max_cq;	      /**< completion queues */
	uint32_t max_cqe;	      /**< entries in one completion queue */
	uint32_t max_qp;	      /**< queue pairs */
	uint32_t max_qp_wr;	      /**< requests in one queue of a queue pair */
	uint32_t max_send_sge;	      /**< segments in a send request */
	uint32_t max_recv_sge;	      /**< segments in a receive request */
	uint32_t max_sge_rd;	      /**< segments in an RDMA READ */
	uint32_t max_qp_rd_atom;      /**< outstanding READs and atomics per QP, as responder */
	uint32_t max_qp_init_rd_atom; /**< ... as requester */
	uint32_t max_srq;	      /**< shared receive queues; 0: not supported */
	uint32_t max_srq_wr;	      /**< requests in one SRQ */
	uint32_t max_srq_sge;	      /**< segments in a request of an SRQ */
	uint32_t max_send_wqebb;      /**< blocks of 64 bytes (WQEBB) in one send queue */
	uint32_t max_sq_desc_sz;      /**< bytes in one send WQE */
	uint32_t max_rq_desc_sz;      /**< bytes in one receive WQE */
	/** completion vectors, one interrupt each, at least 1; comp_vector of a CQ is below it */
	uint32_t num_comp_vectors;
	enum rdmapmd_atomic_cap atomic_cap; /**< what its atomics are atomic against */
	uint16_t max_pkeys;		    /**< entries in a port's P_Key table */
	/** 4.096 us << this: the longest time until it acknowledges a packet */
	uint8_t local_ca_ack_delay;
	uint8_t phys_port_cnt; /**< ports; numbered from 1 */
};

/** Logical state of a port. */
enum rdmapmd_port_state {
	RDMAPMD_PORT_NOP,
	RDMAPMD_PORT_DOWN,
	RDMAPMD_PORT_INIT,
	RDMAPMD_PORT_ARMED,
	RDMAPMD_PORT_ACTIVE,
};

/** Path MTU: bytes of payload in one packet. The values are those of the field in the queue pair's context. */
enum rdmapmd_mtu {
	RDMAPMD_MTU_256 = 1,
	RDMAPMD_MTU_512,
	RDMAPMD_MTU_1024,
	RDMAPMD_MTU_2048,
	RDMAPMD_MTU_4096,
};

/**
 * A path MTU in bytes.
 *
 * Threads: any. Blocks: never.
 *
 * @param mtu Any value, also an invalid one.
 * @return Bytes of payload, 256 .. 4096; 0 if `mtu` is invalid.
 */
static inline uint32_t
rdmapmd_mtu_bytes(enum rdmapmd_mtu mtu)
{
	return mtu >= RDMAPMD_MTU_256 && mtu <= RDMAPMD_MTU_4096 ? 128u << mtu : 0;
}

/** A port. Ports are numbered from 1. */
struct rdmapmd_port_attr {
	enum rdmapmd_port_state state; /**< ACTIVE: packets pass */
	enum rdmapmd_mtu max_mtu;      /**< largest path MTU that the port supports */
	/** largest path MTU that fits into frames of the port's present MTU */
	enum rdmapmd_mtu active_mtu;
	uint32_t active_speed; /**< Mb/s; 0 unknown */
	uint32_t max_msg_sz;   /**< bytes in one message */
	uint32_t gid_tbl_len;  /**< entries in its GID table */
	uint16_t pkey_tbl_len; /**< entries in its P_Key table */
	uint8_t mac[6];	       /**< its Ethernet address, in the order of the wire */
};

/** An address, in network byte order; IPv4 addresses are mapped: 80 zero bits, 16 ones, the address. */
union rdmapmd_gid {
	uint8_t raw[16]; /**< in the order of the wire */
};

/**
 * Whether an address is an IPv4 one.
 *
 * Threads: any. Blocks: never.
 *
 * @param gid Any address, also an empty one.
 * @return Whether it is an IPv4 address; else IPv6, or empty.
 */
static inline bool
rdmapmd_gid_is_ipv4(const union rdmapmd_gid *gid)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

/** The packet format of an entry in the GID table. */
enum rdmapmd_gid_type {
	RDMAPMD_GID_TYPE_IB,	  /**< InfiniBand; not used here */
	RDMAPMD_GID_TYPE_ROCE_V1, /**< Ethertype 0x8915 */
	RDMAPMD_GID_TYPE_ROCE_V2, /**< UDP port 4791 */
};

/** An entry of the GID table. An empty one has a GID of zeros. */
struct rdmapmd_gid_entry {
	union rdmapmd_gid gid;		/**< the address */
	enum rdmapmd_gid_type gid_type; /**< its packet format */
	uint8_t mac[6];			/**< source MAC of its packets, in the order of the wire */
};

/**
 * Open a device.
 *
 * Threads: any. Blocks: for commands.
 * Owner:   the context is the caller's until rdmapmd_context_close(). It holds a reference on the device.
 *
 * @param device  A device on which the caller holds a reference.
 * @param context Out: the open device.
 * @return 0; -ENOTSUP the driver offers no RDMA, or this is a DPDK secondary process (logged once); -ENODEV the
 *         device was removed; -EMFILE no descriptor for its events; -ENOMEM; the driver's error.
 */
__rte_experimental int rdmapmd_device_open(struct rdmapmd_device *device,
					   struct rdmapmd_context **context);

/**
 * Open a device by its name. As rdmapmd_device_open().
 *
 * Threads: any. Blocks: for commands.
 *
 * @param name    As rdmapmd_device_name() has it; not NULL.
 * @param context Out: the open device.
 * @return As rdmapmd_device_open(); -ENODEV also: no device has that name.
 */
__rte_experimental int rdmapmd_device_open_by_name(const char *name,
						   struct rdmapmd_context **context);

/**
 * Open the device of an ethdev port. As rdmapmd_device_open().
 *
 * Threads: any. Blocks: for commands.
 *
 * @param port_id Number of an ethdev port.
 * @param context Out: the open device.
 * @return As rdmapmd_device_open(); -ENODEV also: no such port, or a port of another driver.
 */
__rte_experimental int rdmapmd_device_open_by_port(uint16_t port_id,
						   struct rdmapmd_context **context);

/**
 * Close a context and destroy all its objects, dependants first, even those with unacknowledged events.
 *
 * Threads: no other call may use the context, its objects or their events. Blocks: for commands.
 *
 * @param context An open device; closed afterwards, unless -EBUSY is returned.
 * @return 0; -EBUSY another thread is inside a call on it (nothing was closed); else the first error of the device:
 *         everything is closed nevertheless.
 */
__rte_experimental int rdmapmd_context_close(struct rdmapmd_context *context);

/**
 * The device that a context was opened on.
 *
 * Threads: any. Blocks: never.
 *
 * @param context An open device.
 * @return The device; lives as long as the context.
 */
__rte_experimental struct rdmapmd_device *
rdmapmd_context_device(const struct rdmapmd_context *context);

/**
 * What the device can do, as it was when the context was opened.
 *
 * Threads: any. Blocks: never.
 *
 * @param context An open device.
 * @param attr    Out: all members.
 * @return 0; the errors of every call.
 */
__rte_experimental int rdmapmd_device_query(struct rdmapmd_context *context,
					    struct rdmapmd_device_attr *attr);

/**
 * The present state of a port.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context  An open device.
 * @param port_num From 1.
 * @param attr     Out: all members.
 * @return 0; -EINVAL no such port.
 */
__rte_experimental int rdmapmd_port_query(struct rdmapmd_context *context, uint8_t port_num,
					  struct rdmapmd_port_attr *attr);

/**
 * An entry of a port's GID table.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context  An open device.
 * @param port_num 1 .. phys_port_cnt.
 * @param index    From 0, below gid_tbl_len of rdmapmd_port_query().
 * @param entry    Out: all members.
 * @return 0; -ENODATA the entry is empty; -EINVAL no such port or entry.
 */
__rte_experimental int rdmapmd_gid_query(struct rdmapmd_context *context, uint8_t port_num,
					 uint32_t index, struct rdmapmd_gid_entry *entry);

/**
 * Add an address to a port: an entry of its GID table, RoCE v2, with the port's MAC. From the start a port has its link-local
 * address, derived from the MAC. Addresses belong to the port, not to the context: they stay when it is closed.
 *
 * Threads: any. Blocks: for commands.
 * Order:   every context of the device gets RDMAPMD_EVENT_GID_CHANGE.
 *
 * @param context  An open device.
 * @param port_num 1 .. phys_port_cnt.
 * @param gid      IPv6, or an IPv4 address mapped to it.
 * @param index    Out: its index, for struct rdmapmd_ah_attr's sgid_index.
 * @return 0; -EINVAL no such port, or not a unicast address; -EEXIST the port has it; -ENOSPC the table is full;
 *         -ENOTSUP.
 */
__rte_experimental int rdmapmd_gid_add(struct rdmapmd_context *context, uint8_t port_num,
				       const union rdmapmd_gid *gid, uint32_t *index);

/**
 * Remove an address from a port.
 *
 * Threads: any. Blocks: for commands.
 * Order:   as rdmapmd_gid_add().
 *
 * @param context  An open device.
 * @param port_num 1 .. phys_port_cnt.
 * @param index    From 0, below gid_tbl_len of rdmapmd_port_query().
 * @return 0; -EINVAL no such port or entry; -ENODATA the entry is empty; -EPERM it is the port's link-local address;
 *         -EBUSY it is the source address of a queue pair's path, in any context; -ENOTSUP.
 */
__rte_experimental int rdmapmd_gid_del(struct rdmapmd_context *context, uint8_t port_num,
				       uint32_t index);

/** As long as the driver asks: three times, a second apart. */
#define RDMAPMD_RESOLVE_WAIT UINT32_MAX

/**
 * Find out which MAC packets to an address are sent to: the peer's, or that of the gateway to it. Changing a queue pair to RTR does
 * the same where the path has no MAC; who has many peers, or must not wait, finds them out before.
 *
 * Without waiting (timeout_ms 0) the answer is -EINPROGRESS while the driver asks. When a look-up of that kind has come to an end, well or not,
 * RDMAPMD_EVENT_RESOLVED is raised; the call is then repeated for each address that was in progress. There is one event for all of
 * them: as all asynchronous events it has a fixed place in the context, so that it needs no memory of its own, cannot get lost, and
 * comes in the thread that the application chooses.
 *
 * Threads: any. Blocks: for timeout_ms at most, and for commands.
 *
 * @param context    An open device.
 * @param ah         In: dgid, port_num, and sgid_index, the address that asks; out: dmac, if 0 is returned.
 * @param timeout_ms How long to wait, in milliseconds; 0: not at all; RDMAPMD_RESOLVE_WAIT: as long as it may take, 3.5 s at most.
 * @return 0; -EINPROGRESS it has not waited, and the driver asks; -ETIMEDOUT it has waited, and the driver still asks; -EHOSTUNREACH
 *         nobody answered (remembered for a second), there is no link, or the driver cannot ask on this card; -ENOSPC too many
 *         addresses are asked for; -EINVAL no such port, or the address is empty; -EIO the device is lost.
 */
__rte_experimental int rdmapmd_resolve(struct rdmapmd_context *context, struct rdmapmd_ah_attr *ah,
				       uint32_t timeout_ms);

/**
 * An entry of a port's P_Key table.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context  An open device.
 * @param port_num 1 .. phys_port_cnt.
 * @param index    From 0, below pkey_tbl_len of rdmapmd_port_query().
 * @param pkey     Out: the key in host byte order; 0xffff on RoCE.
 * @return 0; -EINVAL no such port or entry.
 */
__rte_experimental int rdmapmd_pkey_query(struct rdmapmd_context *context, uint8_t port_num,
					  uint16_t index, uint16_t *pkey);

/**
 * The names of the counters, as in `rdma statistic`: rx_write_requests, out_of_sequence, ...
 *
 * Threads: any. Blocks: never.
 * Owner:   the strings live as long as the device.
 *
 * @param context An open device.
 * @param names   Out: room for `n`; NULL: only count them.
 * @param n       Room in `names`, in entries.
 * @return How many there are, in the order of rdmapmd_counters_read(); 0 if the driver has none; -errno.
 */
__rte_experimental int rdmapmd_counters_names(struct rdmapmd_context *context, const char **names,
					      unsigned int n);

/**
 * Read the counters of a port. They count from the last reset of the device.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context  An open device.
 * @param port_num 1 .. phys_port_cnt.
 * @param values   Out: room for `n`; further counters are left out.
 * @param n        Room in `values`, in entries.
 * @return How many there are, as rdmapmd_counters_names(); -EINVAL no such port; -errno.
 */
__rte_experimental int rdmapmd_counters_read(struct rdmapmd_context *context, uint8_t port_num,
					     uint64_t *values, unsigned int n);

#ifdef __cplusplus
}
#endif

#endif
