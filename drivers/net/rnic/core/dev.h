/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's device: one PCI function (or an embedded software one), from bring-up to its objects. Whoever needs an
 * object includes its own header; this one holds what all of them share.
 *
 * Threads: control calls on a port are its application's, one at a time, as ethdev has it; those of the library, the control
 * thread's and those on memory come from any thread beside them. There is no lock of the whole device: each object that
 * several of them share has one of its own (README.md has their order), and commands have a slot each. The data path
 * takes none.
 */
#ifndef RNIC_H
#define RNIC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_log.h>
#include <rte_spinlock.h>

#include "access/access.h"
#include "core/control.h"
#include "core/event.h"
#include "core/health.h"
#include "prm/caps.h"
#include "prm/queue.h"

extern int rnic_logtype, rnic_logtype_dump; /* pmd.net.rnic.driver, pmd.net.rnic.dump */
/* "net_rnic: NAME: message" */
#define RNIC_LOG_NAMED(level, name, fmt, ...) \
	rte_log(RTE_LOG_##level, rnic_logtype, "net_rnic: %s: " fmt "\n", name, ##__VA_ARGS__)
#define RNIC_LOG(level, dev, fmt, ...) RNIC_LOG_NAMED(level, (dev)->name, fmt, ##__VA_ARGS__)

#define RNIC_NAME_BYTES	    64
#define RNIC_PCI_NAME_BYTES 20 /* domain:bus:device.function, a domain of up to 32 bits */
#define RNIC_IPS_MAX	    8
#define RNIC_LOG_MAX_QP	    18 /* more cost firmware memory for nothing, as Linux finds */
#define RNIC_PORT_COUNTERS  12 /* of the vport's frames, as in `ethtool -S` */

/* The devargs, parsed and checked (devargs.c). Unknown or repeated keys are errors that list the valid ones. */
#define RNIC_PATH_BYTES 256
#define RNIC_LIKE_BYTES 32
struct rnic_devargs {
	char socket[108]; /* socket=: of a vfio-user server */
	bool peer_any;	  /* peer=any: whoever's that server is */
	char pci[RNIC_PCI_NAME_BYTES]; /* pci=: of a function on vfio-pci, as sysfs names it; both empty: the embedded device */
	char wire[64]; /* "loop", "pair:NAME", "port:ETHDEV", "pcap" */
	/* of wire=pcap; empty: not given */
	char rx_pcap[RNIC_PATH_BYTES], tx_pcap[RNIC_PATH_BYTES], iface[RNIC_PATH_BYTES];
	uint32_t drop, dup, reorder, corrupt; /* parts per million */
	uint64_t seed;
	int poll_core; /* -1: not pinned */
	bool bf;
	/* log_max_qp=: of queue pairs, if the device has as many */
	uint8_t log_max_qp;
	bool inline_l2;		      /* the embedded device demands L2 headers inline */
	char like[RNIC_LIKE_BYTES];   /* like=: of the embedded device; empty: not given */
	char quirks[RNIC_PATH_BYTES]; /* names, which the embedded device knows; empty: none */
	uint8_t mac[6];		      /* mac=: all zero if not given */
	unsigned int ip_count;
	uint8_t ip[RNIC_IPS_MAX][16]; /* ip=: as GIDs */
};
int rnic_devargs_parse(const char *device, const char *text, struct rnic_devargs *args);

struct rnic_cmdq;	/* cmd.c */
struct rnic_pages;	/* pages.c */
struct rnic_eq;		/* eq.c */
struct rnic_uars;	/* uar.c */
struct rnic_dbrecs;	/* dbrec.c */
struct rnic_mkeys;	/* mkey.h */
struct rnic_mkey_pools; /* mkey_pool.c */
struct rnic_rdma;	/* rdma.h */
struct rnic_mpfs;	/* mpfs.c */
struct rnic_q_counters; /* q_counter.h */
struct rnic_port_mac;
struct rnic_qp_rule;

/* What the device says that it can do; read once at bring-up. */
struct rnic_caps {
	struct rnic_general_cap general, general_max;
	struct rnic_ethernet_cap ethernet;
	struct rnic_flow_table_cap flow_table;
	struct rnic_roce_cap roce; /* only of a device that has it */
	struct rnic_atomic_cap atomic;
};

struct rnic_dev {
	char name[RNIC_NAME_BYTES];
	struct rnic_access *access;
	struct rnic_devargs args;
	struct rnic_caps caps;
	int socket_id;

	/* bring-up: the stages from 0 to stages_up - 1 are up */
	unsigned int stages_up;
	char fw_version[32];
	char board_id[20];

	struct rnic_cmdq *cmdq;
	uint32_t cmdq_address_low; /* as the device says that it has it; 0: it says nothing */
	struct rnic_pages *pages;
	struct rnic_uars *uars;
	struct rnic_dbrecs *dbrecs;
	struct rnic_mkeys *mkeys;
	struct rnic_mkey_pools *mkey_pools;
	struct rnic_eq *async_eq;
	struct rnic_rdma *rdma; /* rdma_context.c; NULL: the device has none */
	uint32_t eq_uar;	/* the UAR page that EQs ring */
	uint32_t pd, td, tis;
	/* Without one frames that found no buffer are not counted. */
	bool has_q_counter;
	uint32_t q_counter;
	struct rnic_q_counters *qp_counters;   /* NULL: the device has no RDMA */
	uint8_t mac[6];			       /* as the vport has it */
	uint16_t max_mtu;		       /* largest L3 MTU that the port takes */
	uint16_t mtu_found;		       /* the one before bring-up, as far as anybody says */
	uint64_t node_guid, system_image_guid; /* the latter 0: of a VF that was given none */
	uint32_t vendor_id;

	pthread_mutex_t silence_lock;
	atomic_bool silenced; /* lost, and reset since; changes under the lock */
	atomic_ullong end_us; /* it is being closed, until then; 0: it is not */

	uint8_t port_status_found;  /* port.c: enum rnic_port_status before bring-up; 0 unknown */
	atomic_uint port_status;    /* ... as we have set it last; 0: not yet */
	pthread_mutex_t port_lock;  /* of the next three */
	struct rnic_port_mac *macs; /* port.c: of queue pairs */
	uint32_t mac_count;
	struct rnic_mpfs *mpfs;			 /* NULL: the function has none to enter */
	int (*follow_mac)(struct rnic_dev *dev); /* port.c */
	atomic_uint port_refused; /* port.c: what the function may not do, as far as it was said */

	/* steer_qp.c: frames of queue pairs */
	struct rnic_qp_steering {
		pthread_mutex_t lock;
		struct rnic_qp_rule *rules;
		struct rnic_qp_table {
			uint32_t number, group_vlan, group_mac, group_rest;
			uint64_t entries[4]; /* a bit for each that is set */
			bool has_vlans;	     /* the group for them is there */
		} table;
		bool up; /* it is there */
		bool has_port;
		uint32_t port_table;
		bool one_place; /* the card says that an entry may lead to two, and takes none */
	} qp_steering;

	/* rx_intr.c: event queues of Rx interrupts, by receive queue; the queues themselves are their threads' */
	struct rnic_rx_events {
		pthread_mutex_t lock;
		struct rnic_rx_event {
			const struct rnic_rxq *rxq; /* its CQ, from its first arming on */
			uint32_t eqn;
			bool deaf; /* it takes no more events */
		} * queues;
		uint16_t count, deaf;
	} rx_events;

	/* Enough for an Ethernet header with one VLAN tag. */
#define RNIC_INLINE_L2_BYTES 18
	uint8_t min_inline_mode; /* of send WQEs, from the vport: 0 nothing, 1 the L2 header, ... */
	atomic_bool dead;	 /* no command reaches it any more */
	struct rnic_lost_listener on_lost[RNIC_LOST_SLOTS];
	struct rnic_event_listeners events;

	struct rnic_control *control; /* control.c */
	const struct rnic_control_source *_Atomic sources[RNIC_CONTROL_SLOTS];
	struct rdmapmd_device *device; /* in the process's list of devices */
};

/* Open: access, then every bring-up stage in turn. On failure all is undone, one message says which stage and why. */
int rnic_dev_open(const char *name, const char *devargs, int socket_id, struct rnic_dev **dev);
/*
 * Walks the stages back; the function is left as it was found, all pages and maps given back. A device that does not answer has
 * ten seconds for all of it; then it is lost, and memory that it may still reach with it.
 */
void rnic_dev_close(struct rnic_dev *dev);

/* ---- Memory that the device reaches (mem.c): hugepage memory of its own pages, zeroed, mapped with given rights. ---- */
struct rnic_mem {
	void *address;
	uint64_t iova;
	size_t length; /* a multiple of 4 KiB */
	bool apart;    /* not EAL's */
};
int rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
		   unsigned int rights, struct rnic_mem *mem);
/* The same of ordinary memory of the system's, where the device can be given any: for what it has for itself. */
int rnic_mem_alloc_apart(struct rnic_dev *dev, const char *what, size_t length, unsigned int rights,
			 struct rnic_mem *mem);
void rnic_mem_free(struct rnic_dev *dev, struct rnic_mem *mem);

/*
 * ---- Commands (cmd.c). ----
 * Write opcode and op_mod into `in`, execute, check the status. Several may be in flight. Polled before the async EQ
 * exists, by event afterwards. One error report: opcode name, op_mod, status, syndrome, time.
 * Returns 0, -ETIMEDOUT, -ECANCELED (not sent: the control thread is to end), -EIO (delivery, device gone), or the status as errno: -EINVAL BAD_PARAM/INDEX/RES/QP_STATE/LEN,
 * -EBUSY RES_BUSY, -ENOSPC LIM/NO_RES, -EOPNOTSUPP BAD_OP, -EPERM BAD_SYS_STATE, -EREMOTEIO INTERNAL_ERR.
 */
int rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		  uint32_t in_bytes, void *out, uint32_t out_bytes);
/* DESTROY_x / DEALLOC_x of an object's number. The device is lost where that does not complete: it may go on using the object. */
int rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number);
/* ALLOC_x: no input but the header. */
int rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number);

/* ---- Doorbell records (dbrec.c): 8 bytes each, one to a cache line, start at zero. ---- */
int rnic_dbrec_alloc(struct rnic_dev *dev, void **record, uint64_t *iova);
void rnic_dbrec_free(struct rnic_dev *dev, void *record);

/* ---- UAR and BlueFlame registers (uar.c). ---- */
struct rnic_uar_page;
enum rnic_bfreg_kind {
	/* Of several queues, under its lock. */
	RNIC_BFREG_SHARED = 0,
	/* Of one owner, that is, rung by one thread at a time: the few that are always there ... */
	RNIC_BFREG_LOW_LATENCY = 1 << 0,
	/* ... and those whose pages come and go. */
	RNIC_BFREG_DYNAMIC = 1 << 1,
};
/* `address` belongs to who rings: the owner, or who has the lock. The rest stays as it is while the register has users. */
struct rnic_bfreg {
	volatile void *address; /* in the mapped page: of the half whose turn it is */
	uint32_t half;		/* 256: distance of the two halves that are used in turn */
	enum rnic_bfreg_kind kind;
	bool blueflame;	     /* whole WQEs may be written; only if owned and asked for (bf=1) */
	rte_spinlock_t lock; /* of a shared one */
	uint32_t uar;	     /* page index, for queue contexts */
	uint32_t users;	     /* this and the next are the allocator's */
	struct rnic_uar_page *page;
} __rte_cache_aligned;
/*
 * One of these kinds (a mask), low-latency before dynamic; where there is none, a shared one: it never fails. Threads: any.
 * May execute a command.
 */
struct rnic_bfreg *rnic_bfreg_alloc(struct rnic_dev *dev, unsigned int kinds);
/* Another user of one that the caller knows to be in use. It is given back as often as it was had. */
struct rnic_bfreg *rnic_bfreg_share(struct rnic_dev *dev, struct rnic_bfreg *reg);
/* A thread domain's, as another user of it, if there is one; else one of these kinds. */
static inline struct rnic_bfreg *
rnic_bfreg_take(struct rnic_dev *dev, struct rnic_bfreg *domain, unsigned int kinds)
{
	return domain != NULL ? rnic_bfreg_share(dev, domain) : rnic_bfreg_alloc(dev, kinds);
}
/* What the device says to the end of a page that has no more users; else 0. NULL is allowed. */
int rnic_bfreg_free(struct rnic_dev *dev, struct rnic_bfreg *reg);

/* ---- Memory keys (mkey.c). ---- */
/* Reading from here is always allowed. */
enum rnic_mkey_access {
	RNIC_MKEY_LOCAL_WRITE = 1 << 0,
	RNIC_MKEY_REMOTE_WRITE = 1 << 1,
	RNIC_MKEY_REMOTE_READ = 1 << 2,
	RNIC_MKEY_REMOTE_ATOMIC = 1 << 3,
};
struct rnic_mkey_attr {
	void *memory;
	size_t length;
	/* What work requests call it by; its offset in a page of 4 KiB is that of `memory`. */
	uint64_t address;
	uint32_t pd;
	unsigned int access; /* enum rnic_mkey_access */
};
/* Map the memory, in whole pages, and make a key for it, in host order. */
int rnic_mkey_create(struct rnic_dev *dev, const struct rnic_mkey_attr *attr, uint32_t *key);
int rnic_mkey_destroy(struct rnic_dev *dev, uint32_t key);

/* ---- Memory whose keys the data path finds by its address (mkey_pool.c). ---- */
/* Register all memory of a mempool (chunks merged where neighbours); idempotent, counted. */
struct rte_mempool;
struct rte_mbuf;
int rnic_mkey_register_pool(struct rnic_dev *dev, struct rte_mempool *pool);
void rnic_mkey_unregister_pool(struct rnic_dev *dev, struct rte_mempool *pool);

/* The same for memory of the application's own, found by its address. -EEXIST: it has a key, in part or whole. */
int rnic_mkey_map(struct rnic_dev *dev, void *address, size_t length);
/* What was mapped, whole. -ENOENT. */
int rnic_mkey_unmap(struct rnic_dev *dev, void *address, size_t length);

/*
 * Address -> lkey for the data path: each queue has a small cache in front of the device's sorted table. A hit costs two
 * compares; a miss is a function call (rnic_mkey_lookup_slow) that registers the pool of the mbuf when it is met for the
 * first time, which takes the lock, allocates and executes commands. A pool that got no key is not tried again until
 * somebody registers or removes one: its packets cost no lock.
 * Keys are in wire order, ready for a data segment. Removal of a range bumps `generation` of the device, which empties
 * the caches at their next look.
 */
struct rnic_mkey_range {
	uintptr_t start, end;
	struct rnic_be32 lkey;
};
#define RNIC_MKEY_CACHE 4
struct rnic_mkey_cache {
	struct rnic_mkey_range last;
	struct rnic_mkey_range ranges[RNIC_MKEY_CACHE];
	/* Pools without a key: whatever may help them (a registration, a removal) bumps `registrations`. */
	const struct rte_mempool *refused[RNIC_MKEY_CACHE];
	uint64_t refused_at; /* value of it */
	/* 64 bits: a queue may stand still for as long as it likes, and shall not take an old number for the one of now. */
	const atomic_ullong *device_generation;
	uint64_t generation;
	uint32_t next;
	uint32_t next_refused;
	struct rnic_dev *dev;
};
void rnic_mkey_cache_init(struct rnic_dev *dev, struct rnic_mkey_cache *cache);
/* False: no key covers the address, and none can be had (counted by the caller as an error). */
bool rnic_mkey_lookup_slow(struct rnic_mkey_cache *cache, const struct rte_mbuf *mbuf,
			   uintptr_t address, struct rnic_be32 *lkey);
static inline bool
rnic_mkey_lookup(struct rnic_mkey_cache *cache, const struct rte_mbuf *mbuf, uintptr_t address,
		 struct rnic_be32 *lkey)
{
	if (__builtin_expect(
		    address >= cache->last.start && address < cache->last.end &&
			    atomic_load_explicit(cache->device_generation, memory_order_relaxed) ==
				    cache->generation,
		    1)) {
		*lkey = cache->last.lkey;
		return true;
	}
	return rnic_mkey_lookup_slow(cache, mbuf, address, lkey);
}

/*
 * ---- The clock of received frames, and of rte_eth_read_clock(). ----
 * UTC where the device can tell of it, as with Linux's driver, else the free running one. CQEs and registers have either in two
 * dwords: seconds and nanoseconds, or the halves of a number.
 */
static inline bool
rnic_clock_is_real(const struct rnic_dev *dev)
{
	return rnic_general_cap_get(&dev->caps.general, RNIC_GENERAL_CAP_RQ_TS_FORMAT) !=
	       RNIC_TS_CAP_FREE_RUNNING;
}
static inline uint64_t
rnic_clock_utc(uint32_t seconds, uint32_t nanoseconds)
{
	return (uint64_t)seconds * 1000000000 + nanoseconds;
}

/* ---- Queues: what commands make; the burst functions use the members directly (cq.c sq.c rq.c). ---- */
struct rnic_cqe;
struct rnic_cq_dbrec;
struct rnic_wq_dbrec;

/*
 * The sequence number of a CQ's first arming; each event uses one up. Not 0: the word of an empty CQ would be what its record
 * has had all along, and a doorbell that got lost on the page that all CQs ring would not be found there.
 */
#define RNIC_CQ_ARM_SEQUENCE_FIRST 1

struct rnic_cq {
	struct rnic_cqe *ring;
	struct rnic_cq_dbrec *dbrec;
	uint32_t consumer; /* free running; 24 bits in the record */
	uint32_t mask;
	uint8_t log_size;
	uint32_t cqn;
	struct rnic_mem mem;
};
/* Its completion events, if it is armed, and its errors go to `eq`. */
int rnic_cq_create(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq,
		   struct rnic_cq *cq);
int rnic_cq_destroy(struct rnic_dev *dev, struct rnic_cq *cq);
/* It holds nothing any more that a later poll could take for its own. */
void rnic_cq_drop(struct rnic_cq *cq);
/* Nobody polls meanwhile; entries that wait stay. -EINVAL: there are more than would fit. */
int rnic_cq_resize(struct rnic_dev *dev, struct rnic_cq *cq, unsigned int log_size);

struct rnic_sq {
	uint8_t *ring; /* of WQEBBs */
	struct rnic_wq_dbrec *dbrec;
	struct rnic_bfreg *bf;
	uint16_t producer; /* WQEBBs, free running */
	uint16_t mask;
	uint8_t log_size;
	uint32_t sqn;
	struct rnic_mem mem;
};

/* Whose a queue is: the port's, or a queue pair's. */
struct rnic_wq_owner {
	uint32_t pd;
	/* Of receive queues: what it counts in, what its entries bear. */
	uint32_t q_counter, user_index;
	/* Of send queues: the register of a thread domain, or NULL and which kinds are wanted beside a shared one. */
	struct rnic_bfreg *domain;
	unsigned int registers; /* enum rnic_bfreg_kind */
};

/* Created for the port, and moved to RDY. */
int rnic_sq_create(struct rnic_dev *dev, unsigned int log_wqebbs, const struct rnic_cq *cq,
		   struct rnic_sq *sq);
/* Created for whomever, in RST. */
int rnic_sq_create_for(struct rnic_dev *dev, const struct rnic_wq_owner *owner,
		       unsigned int log_wqebbs, const struct rnic_cq *cq, struct rnic_sq *sq);
int rnic_sq_destroy(struct rnic_dev *dev, struct rnic_sq *sq);
int rnic_sq_state(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state *state);
/* By whichever way leads there. */
int rnic_sq_set_state(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state to);
/* ERR -> RST -> RDY after an error completion; producer and records start again at zero. */
int rnic_sq_recover(struct rnic_dev *dev, struct rnic_sq *sq);

struct rnic_rq {
	uint8_t *ring; /* of (1 << log_stride)-byte WQEs */
	struct rnic_wq_dbrec *dbrec;
	uint16_t producer; /* WQEs, free running */
	uint16_t mask;
	uint8_t log_size, log_stride;
	uint32_t rqn;
	struct rnic_mem mem;
};
int rnic_rq_create(struct rnic_dev *dev, unsigned int log_wqes, unsigned int log_stride,
		   const struct rnic_cq *cq, struct rnic_rq *rq);
int rnic_rq_create_for(struct rnic_dev *dev, const struct rnic_wq_owner *owner,
		       unsigned int log_wqes, unsigned int log_stride, const struct rnic_cq *cq,
		       struct rnic_rq *rq);
int rnic_rq_destroy(struct rnic_dev *dev, struct rnic_rq *rq);
int rnic_rq_state(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state *state);
int rnic_rq_set_state(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state to);
int rnic_rq_recover(struct rnic_dev *dev, struct rnic_rq *rq);
/* Of a queue that was created tags stay in frames; in whatever state it is. */
int rnic_rq_set_vlan_strip(struct rnic_dev *dev, const struct rnic_rq *rq, bool strip);
/* To RST, where it stays; producer and record are zero. */
int rnic_rq_reset(struct rnic_dev *dev, struct rnic_rq *rq);

/* ---- Spreading over receive queues (spread.c): a hash of headers chooses from a table of them. ---- */
#define RNIC_RETA_SIZE	   128
#define RNIC_RSS_KEY_BYTES 40

/* Kinds of packets, each with a hash of its own. Those with ports are whole, no fragments. */
enum rnic_traffic {
	RNIC_TRAFFIC_IPV4_TCP,
	RNIC_TRAFFIC_IPV4_UDP,
	RNIC_TRAFFIC_IPV6_TCP,
	RNIC_TRAFFIC_IPV6_UDP,
	RNIC_TRAFFIC_IPV4_FRAGMENT,
	RNIC_TRAFFIC_IPV6_FRAGMENT,
	RNIC_TRAFFIC_IPV4, /* the rest of it */
	RNIC_TRAFFIC_IPV6,
	RNIC_TRAFFIC_OTHER,
	RNIC_TRAFFICS,
};
enum rnic_hash {
	RNIC_HASH_NONE, /* the first place of the table */
	RNIC_HASH_ADDRESSES,
	RNIC_HASH_PORTS, /* and addresses */
};
struct rnic_rss {
	uint8_t key[RNIC_RSS_KEY_BYTES];
	uint8_t hash[RNIC_TRAFFICS];   /* enum rnic_hash */
	uint16_t reta[RNIC_RETA_SIZE]; /* queues */
};

#define RNIC_SPREAD_TIRS   7
#define RNIC_SPREAD_GROUPS 4
struct rnic_spread {
	uint32_t rqt, first_rqt; /* all of the table, and its first place */
	uint32_t tirs[RNIC_SPREAD_TIRS];
	uint32_t table;
	struct rnic_spread_group {
		uint32_t number, index, count; /* its first entry, and how many there are */
		bool up;
	} groups[RNIC_SPREAD_GROUPS][2];
	uint8_t places[RNIC_SPREAD_GROUPS]; /* which of the two is in use */
	uint32_t tir_count;		    /* how many there are */
	struct rnic_rss rss;		    /* as the device has it */
};
/* `rqns`: the numbers of the queues that the table names. */
int rnic_spread_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
		       struct rnic_spread *spread);
int rnic_spread_destroy(struct rnic_dev *dev, struct rnic_spread *spread);
/* While frames arrive. If the device refuses a part, what it has is in spread->rss. */
int rnic_spread_set(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
		    struct rnic_spread *spread);

/* ---- Steering (steer.c): which frames reach the ethdev, and which queues. ---- */
#define RNIC_STEERING_MACS_LOG 8
#define RNIC_STEERING_MACS     (1u << RNIC_STEERING_MACS_LOG)
#define RNIC_VLAN_WORDS	       64 /* a bit for each of 4,096 */

struct rnic_mac {
	uint8_t address[6];
};

struct rnic_steering {
	uint32_t tir, table, group_mac, group_multicast, group_all;
	uint32_t entries;  /* bitmap of entries set, of the first ones */
	uint8_t mac[6];	   /* of the entry that is set */
	uint8_t own_place; /* of its two, the one where it is, or will be */
	bool up;
	bool spreads; /* over several queues: there is no tir, but this */
	struct rnic_spread spread;

	/* Further addresses: all zero where there is none. */
	bool has_macs;
	uint32_t group_more_macs;
	struct rnic_mac macs[RNIC_STEERING_MACS];

	/* While VLANs are filtered. */
	bool has_vlans;
	uint32_t vlan_table, group_untagged, group_vlan;
	bool untagged;
	uint64_t vlans[RNIC_VLAN_WORDS];
};
/* All frames go to the first queue, or are spread if `rss` is not NULL. */
int rnic_steering_create(struct rnic_dev *dev, const uint32_t *rqns, const struct rnic_rss *rss,
			 struct rnic_steering *steering);
int rnic_steering_destroy(struct rnic_dev *dev, struct rnic_steering *steering);
/* Own MAC and broadcast always; all frames / all multicast on request. */
int rnic_steering_set(struct rnic_dev *dev, struct rnic_steering *steering, const uint8_t mac[6],
		      bool promiscuous, bool allmulticast);
/*
 * Addresses beside the own one and broadcast: these and no others, unicast or multicast, each once. The vport is told of
 * them. -ENOSPC: too many; those that were there before are still there.
 */
int rnic_steering_set_macs(struct rnic_dev *dev, struct rnic_steering *steering,
			   const struct rnic_mac *macs, uint32_t count);
/* Of frames with an 802.1Q tag those of these VLANs alone; NULL: all. Those without a tag are not touched. */
int rnic_steering_set_vlans(struct rnic_dev *dev, struct rnic_steering *steering,
			    const uint64_t *vlans);

/* May another flow table take the root's place? Where it may not, Linux sets no root at all, and no VLANs are filtered. */
bool rnic_flow_root_moves(struct rnic_dev *dev);

/* ---- The port (port.c). ---- */
/* A function that may not change it has a warning, if what the port has is enough, else -EPERM. */
int rnic_port_set_mtu(struct rnic_dev *dev, uint16_t mtu);
/* The same of who starts: it goes on with what the port has. */
int rnic_port_ask_mtu(struct rnic_dev *dev, uint16_t mtu);
/* The L3 MTU as it is now. */
int rnic_port_mtu(struct rnic_dev *dev, uint16_t *mtu);
/* A refusal is not reported. */
int rnic_port_set_roce(struct rnic_dev *dev, bool on);
int rnic_port_set_admin(struct rnic_dev *dev, bool up);
/* Somebody needs the port up, which an application may have switched off; nobody but an application does. Threads: any. */
int rnic_port_use(struct rnic_dev *dev);
/* Link state and speed in Mb/s (0 unknown). */
int rnic_port_link(struct rnic_dev *dev, bool *up, uint32_t *speed);
/* The speeds that it can have, in Mb/s; 0 where there is none. */
#define RNIC_PORT_SPEEDS 64
int rnic_port_speeds(struct rnic_dev *dev, uint32_t speeds[RNIC_PORT_SPEEDS]);
int rnic_port_set_mac(struct rnic_dev *dev, const uint8_t mac[6]);
/* Who has made something of the port's address, set and taken back (NULL) by bring-up; there is one. Returns 0 or -errno. */
void rnic_port_on_mac(struct rnic_dev *dev, int (*follow)(struct rnic_dev *dev));
/* The address is another one: what was made of it is made again. What the follower says; 0 if there is none. */
int rnic_port_follow_mac(struct rnic_dev *dev);
/* How many unicast addresses the vport takes, its own included. */
uint32_t rnic_port_macs_max(struct rnic_dev *dev);
/* A vport that refuses it takes what it took: a warning, no error. Steering is another matter. */
int rnic_port_set_promiscuous(struct rnic_dev *dev, bool on, bool allmulticast);
/* Frames that the vport refused: beyond its MTU, runts, no link. Since whenever; zeros where a device does not count. */
struct rnic_port_errors {
	uint64_t received, transmit;
};
int rnic_port_errors(struct rnic_dev *dev, struct rnic_port_errors *errors);
/* What it took and sent, by kind of destination; in the order of the names. Likewise. */
extern const char *const rnic_port_counter_names[RNIC_PORT_COUNTERS];
int rnic_port_counters(struct rnic_dev *dev, uint64_t values[RNIC_PORT_COUNTERS]);

#endif
