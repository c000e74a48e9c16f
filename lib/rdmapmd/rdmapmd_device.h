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

/**
 * What a device, with this driver, does beyond what all do: bits of device_cap_flags. The values are those of enum
 * ibv_device_cap_flags.
 */
enum rdmapmd_device_cap_flags {
	/** it counts packets with a wrong P_Key; nothing here reads that counter */
	RDMAPMD_DEVICE_BAD_PKEY_CNTR = 1 << 1,
	/** it counts datagrams with a wrong Q_Key: qkey_viol_cntr of its ports */
	RDMAPMD_DEVICE_BAD_QKEY_CNTR = 1 << 2,
	/** RDMAPMD_QP_CUR_STATE may say which state a change begins in */
	RDMAPMD_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	/** RDMAPMD_EVENT_PORT_ACTIVE is raised */
	RDMAPMD_DEVICE_PORT_ACTIVE_EVENT = 1 << 10,
	/** sys_image_guid is set */
	RDMAPMD_DEVICE_SYS_IMAGE_GUID = 1 << 11,
	/** an RC queue pair tells its peer when it has no receive */
	RDMAPMD_DEVICE_RC_RNR_NAK_GEN = 1 << 12,
	/** SRQs can be resized */
	RDMAPMD_DEVICE_SRQ_RESIZE = 1 << 13,
	/** windows of type 1 */
	RDMAPMD_DEVICE_MEM_WINDOW = 1 << 17,
	/** RDMAPMD_QP_BLOCK_SELF_MCAST_LB */
	RDMAPMD_DEVICE_BLOCK_MULTICAST_LOOPBACK = 1 << 22,
	/** windows of type 2, each of one queue pair */
	RDMAPMD_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24,
};

/**
 * What RAW_PACKET queue pairs can have done to frames: bits of raw_packet_caps. The values are those of enum ibv_raw_packet_caps.
 * Those of this version cannot ask for any of it (rdmapmd_qp.h), so that no device reports one, whatever its queues can do.
 */
enum rdmapmd_raw_packet_caps {
	RDMAPMD_RAW_PACKET_CAP_CVLAN_STRIPPING = 1 << 0, /**< take VLAN tags out */
	RDMAPMD_RAW_PACKET_CAP_SCATTER_FCS = 1 << 1,	 /**< deliver the FCS */
	/** compute and check IP's, TCP's, UDP's checksums */
	RDMAPMD_RAW_PACKET_CAP_IP_CSUM = 1 << 2,
};

/** What a device can do. The names are those of struct ibv_device_attr and struct ibv_device_attr_ex. */
struct rdmapmd_device_attr {
	char fw_ver[64];	 /**< firmware version, e.g. "22.36.1010"; ends with NUL */
	uint64_t node_guid;	 /**< in host byte order */
	uint64_t sys_image_guid; /**< in host byte order; devices of one card share it */
	uint64_t max_mr_size;	 /**< bytes in one memory region */
	uint64_t page_size_cap;	 /**< bit n: pages of 2^n bytes */
	/**
	 * The bits that count of completion_ts and of rdmapmd_device_clock_read(), the lowest ones. 0: completions have no
	 * timestamps, as the device does not say how fast its clock is, or has UTC in them and nothing else
	 */
	uint64_t completion_timestamp_mask;
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
	uint32_t device_cap_flags; /**< enum rdmapmd_device_cap_flags */
	uint32_t raw_packet_caps;  /**< enum rdmapmd_raw_packet_caps: 0 in this version */
	uint32_t max_res_rd_atom;  /**< outstanding READs and atomics of all QPs, as responder */
	uint32_t max_mw;	   /**< memory windows; 0: not supported */
	/** address handles; each takes memory of the process alone. 0: no datagrams */
	uint32_t max_ah;
	uint32_t max_mcast_grp;	      /**< groups that datagrams are sent to; 0: not supported */
	uint32_t max_mcast_qp_attach; /**< queue pairs in one group */
	uint32_t max_total_mcast_qp_attach; /**< queue pairs in all groups together */
	uint32_t
		max_cq_count; /**< completions that rdmapmd_cq_moderate() takes; 0: it takes none */
	uint32_t max_cq_period; /**< microseconds that it takes */
	/** kHz of the device's clock, that is ticks in a millisecond; 0: unknown */
	uint32_t hca_core_clock;
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

/** What a port's link does. The values are those of verbs, which has more of them. */
enum rdmapmd_phys_state {
	RDMAPMD_PHYS_STATE_POLLING = 2,	 /**< there is no link, or none yet */
	RDMAPMD_PHYS_STATE_DISABLED = 3, /**< it was told to have none */
	RDMAPMD_PHYS_STATE_LINK_UP = 5,	 /**< there is one */
};

/** What a port's network is. */
enum rdmapmd_link_layer {
	RDMAPMD_LINK_LAYER_UNSPECIFIED,
	RDMAPMD_LINK_LAYER_INFINIBAND,
	RDMAPMD_LINK_LAYER_ETHERNET,
};

/** Bits of a port's flags. */
enum rdmapmd_port_flags {
	RDMAPMD_PORT_GRH_REQUIRED = 1 << 0, /**< every path has GIDs, as all of RoCE have */
};

/** Bits of a port's port_cap_flags. The values are those of verbs. */
enum rdmapmd_port_cap_flags {
	RDMAPMD_PORT_CAP_IP_BASED_GIDS = 1 << 26, /**< its GIDs are IP addresses */
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
	enum rdmapmd_phys_state phys_state; /**< what its link does */
	enum rdmapmd_link_layer link_layer; /**< what its network is */
	/** Mb/s of all lanes together, as of no link 0; 0 also: unknown. Verbs have a code of one lane's speed here. */
	uint32_t active_speed;
	uint32_t max_msg_sz;	 /**< bytes in one message */
	uint32_t gid_tbl_len;	 /**< entries in its GID table */
	uint32_t port_cap_flags; /**< enum rdmapmd_port_cap_flags */
	/** Datagrams dropped for their Q_Key, 65,535 at most; counts where the device has RDMAPMD_DEVICE_BAD_QKEY_CNTR. */
	uint16_t qkey_viol_cntr;
	uint16_t pkey_tbl_len; /**< entries in its P_Key table */
	/** Lanes of its link, 1, 2, 4 or 8; 0 unknown, or no link. Verbs have a code here, of which 1, 2 and 4 lanes are 1, 16, 2. */
	uint8_t active_width;
	uint8_t flags;	/**< enum rdmapmd_port_flags */
	uint8_t mac[6]; /**< its Ethernet address, in the order of the wire */
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

/**
 * Make an address of an IPv4 one.
 *
 * Threads: any. Blocks: never.
 *
 * @param gid     Out: the IPv4-mapped address, RFC 4291 2.5.5.2.
 * @param address a.b.c.d, 4 bytes in the order of the wire.
 */
static inline void
rdmapmd_gid_set_ipv4(union rdmapmd_gid *gid, const uint8_t *address)
{
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, address, 4);
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
	uint16_t vlan_id; /**< of the tag in its packets, 1 .. 4094; 0: they have none */
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
 * Add an address to a port, in a VLAN: packets from it have a tag of 802.1Q with that identifier and the path's sl as its priority,
 * and those to it are taken with that identifier alone. The same address may be in several VLANs, and in none. Neighbours of its
 * paths are asked in the VLAN, where all are on the link: gateways are of addresses without one. Otherwise as rdmapmd_gid_add().
 *
 * Threads: any. Blocks: for commands.
 * Order:   as rdmapmd_gid_add().
 *
 * @param context  An open device.
 * @param port_num 1 .. phys_port_cnt.
 * @param gid      IPv6, or an IPv4 address mapped to it.
 * @param vlan_id  1 .. 4094.
 * @param index    Out: its index, for struct rdmapmd_ah_attr's sgid_index.
 * @return As rdmapmd_gid_add(); -EINVAL also: no such VLAN; -EEXIST the port has it in that VLAN.
 */
__rte_experimental int rdmapmd_gid_add_vlan(struct rdmapmd_context *context, uint8_t port_num,
					    const union rdmapmd_gid *gid, uint16_t vlan_id,
					    uint32_t *index);

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
 * Read the device's clock, of which completion timestamps are: a counter that runs from the device's reset on, hca_core_clock ticks
 * in a millisecond. In verbs it is the raw_clock of ibv_query_rt_values_ex(). It is read from the device's registers, which takes
 * far longer than to read a CPU's clock. Who wants times of day reads it now and then between two looks at the system's clock.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param context An open device.
 * @param clock   Out: ticks.
 * @return 0; -ENOTSUP the driver cannot; -EIO the device is lost.
 */
__rte_experimental int rdmapmd_device_clock_read(struct rdmapmd_context *context, uint64_t *clock);

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
