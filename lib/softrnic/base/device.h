/* SPDX-License-Identifier: BSD-3-Clause */

/* The inside of the device: its state, and the seams between its parts. Everything here runs under the poller's lock. */
#ifndef SOFTRNIC_DEVICE_H
#define SOFTRNIC_DEVICE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "softrnic/base/log.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cmdq.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "softrnic/base/quirks.h"
#include "softrnic/roce/roce.h"
#include "softrnic/softrnic.h"
#include "prm/uar.h"
#include "prm/wqe.h"

/* ---- Objects (object.c): everything that a command creates and names by a number. ---- */

enum softrnic_object_type {
	SOFTRNIC_PD,
	SOFTRNIC_TD,
	SOFTRNIC_UAR,
	SOFTRNIC_MKEY,
	SOFTRNIC_EQ,
	SOFTRNIC_CQ,
	SOFTRNIC_TIS,
	SOFTRNIC_TIR,
	SOFTRNIC_RQT,
	SOFTRNIC_SQ,
	SOFTRNIC_RQ,
	SOFTRNIC_Q_COUNTER,
	SOFTRNIC_FLOW_TABLE,
	SOFTRNIC_QP,
	SOFTRNIC_RMP,
	SOFTRNIC_OBJECT_TYPES,
};

/* First member of every object. An object with references cannot be destroyed (RES_BUSY). */
struct softrnic_object {
	uint32_t number;
	uint32_t refs;
	enum softrnic_object_type type;
};

struct softrnic_object_table {
	struct softrnic_object **slots; /* by number - first */
	uint32_t first, size, used;
	uint32_t next; /* where the search for a free number starts */
	/*
	 * Of shuffled ones: the slot at each place, and the place of each slot, both as its distance from there (xor), so
	 * that what nobody has touched costs no memory.
	 */
	uint32_t *order, *place;
	uint32_t fresh; /* those at the first places */
};

/* Give the object a number; RNIC_STATUS_OK or RNIC_STATUS_LIM. */
int softrnic_object_add(struct softrnic *dev, enum softrnic_object_type type,
			struct softrnic_object *object);
/* NULL if there is no such object: the caller answers RNIC_STATUS_BAD_RES. */
void *softrnic_object_get(struct softrnic *dev, enum softrnic_object_type type, uint32_t number);
/* Take it out of its table (refs must be 0); the caller frees it. */
void softrnic_object_remove(struct softrnic *dev, struct softrnic_object *object);
/* The next object of a type at or after *number, for loops; NULL at the end. *number: where to go on. */
void *softrnic_object_next(struct softrnic *dev, enum softrnic_object_type type, uint32_t *number);
/* How many there can be: what capabilities report. */
uint32_t softrnic_object_limit(enum softrnic_object_type type);

/* What capabilities promise of sizes; handlers hold drivers to it. */
#define SOFTRNIC_LOG_MAX_CQ_SIZE  22
#define SOFTRNIC_LOG_MAX_EQ_SIZE  16
#define SOFTRNIC_LOG_MAX_WQ_SIZE  15
#define SOFTRNIC_LOG_MAX_RQ_WQE	  9  /* bytes of a receive WQE */
#define SOFTRNIC_LOG_MAX_QP_SIZE  15 /* receive WQEs, send WQEBBs */
#define SOFTRNIC_LOG_MAX_RMP_SIZE 15
#define SOFTRNIC_LOG_MAX_MESSAGE  30
#define SOFTRNIC_LOG_MAX_RQT_SIZE 9
#define SOFTRNIC_LOG_MAX_LSO	  18 /* bytes of payload of a large send */
#define SOFTRNIC_LOG_MAX_FT_SIZE  16
#define SOFTRNIC_LOG_MAX_FLOW	  16 /* entries of all flow tables */
#define SOFTRNIC_MAX_INDIRECTION  4  /* keys of keys of keys */
#define SOFTRNIC_LOG_MAX_KLMS	  16
#define SOFTRNIC_MAX_KLMS	  (1u << SOFTRNIC_LOG_MAX_KLMS)

/* READs and atomics of a queue pair that wait for an answer; of its peer that are remembered. */
#define SOFTRNIC_LOG_MAX_RD_ATOMIC 4

/* What state the function must be in for a command (a lower one: BAD_SYS_STATE). */
enum softrnic_hca_state {
	SOFTRNIC_HCA_OFF,     /* after reset: ENABLE_HCA only */
	SOFTRNIC_HCA_ENABLED, /* pages, ISSI, capabilities, INIT_HCA */
	SOFTRNIC_HCA_READY,   /* after INIT_HCA: everything else */
};

/* ---- Memory (memory.c): what a driver's objects, rings and lists take of ours. ---- */

/*
 * calloc(), within what the device may have (softrnic_conf's memory_max); NULL: beyond that too, which is logged, and the
 * command under way then says LIM.
 */
void *softrnic_alloc(struct softrnic *dev, size_t count, size_t bytes);
void softrnic_free(struct softrnic *dev, void *memory);
/* The same for memory that others allocate. */
bool softrnic_memory_take(struct softrnic *dev, uint64_t bytes);
void softrnic_memory_give(struct softrnic *dev, uint64_t bytes);

/* ---- DMA (dma.c): what the host has mapped. ---- */

uint32_t softrnic_dma_count(const struct softrnic *dev);
/* Host address of [iova, iova + length) if maps cover it as one piece of host memory with that permission, else NULL. */
void *softrnic_dma_ptr(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot);
/* Copy, across neighbouring maps too. 0 or -EFAULT (counted in tpt_faults); then nothing was copied. */
int softrnic_dma_read(struct softrnic *dev, uint64_t iova, void *data, size_t length);
int softrnic_dma_write(struct softrnic *dev, uint64_t iova, const void *data, size_t length);
/* There is a bus master: what is mapped can be reached. */
bool softrnic_dma_on(const struct softrnic *dev);
/* All of it is mapped with that permission, in however many maps. */
bool softrnic_dma_reachable(struct softrnic *dev, uint64_t iova, size_t length, unsigned int prot);
/*
 * Host pieces of [iova, iova + length), behind the `count` that are there: how many there are now, or -EFAULT, -E2BIG.
 * Neighbours become one. Not counted in tpt_faults.
 */
int softrnic_dma_pieces(struct softrnic *dev, uint64_t iova, uint64_t length, unsigned int prot,
			struct iovec *iov, int count, int max);

/*
 * What is resolved (resolved.h): keys, rings and records that hold host addresses stand in lists, and each unmap empties
 * these before anybody gives memory back. `generation` alone would not do: a number comes round, a client can count.
 */
struct softrnic_resolved {
	uint32_t place; /* in its list, from 1 on; 0: in none */
};

struct softrnic_resolved_list {
	struct softrnic_resolved **of;
	uint32_t count;
};

/*
 * A ring in host memory (ring.c): the page list that a CREATE command carried, resolved to host addresses at create time and
 * again whenever the DMA map has changed (dev->dma_generation).
 */
struct softrnic_ring {
	uint64_t *pages; /* iovas */
	void **host;	 /* their host addresses; NULL: not resolved */
	uint32_t page_count;
	uint8_t page_shift;
	uint32_t offset; /* of the ring in its first page, bytes */
	uint32_t bytes;
	uint64_t generation;
	unsigned int prot;
	void *flat; /* start of the ring if its pages are neighbours in host memory, else NULL */
	/* whose memory its lists take (SOFTRNIC_RING_MEMORY); NULL: there are none */
	struct softrnic *dev;
	void **host_list; /* the room of `host` */
	struct softrnic_resolved resolved;
};
/*
 * Bytes of our memory that page lists of all rings of a device may take: a list may name one page a million times, so
 * what the driver has is no measure.
 */
#define SOFTRNIC_RING_MEMORY (UINT64_C(128) << 20)
/*
 * From a page list (big-endian addresses); RNIC_STATUS_OK, BAD_PARAM (not reachable, bad sizes), BAD_INP_LEN or NO_RES.
 */
int softrnic_ring_init(struct softrnic *dev, struct softrnic_ring *ring,
		       const struct rnic_be64 *pas, size_t pas_bytes, unsigned int page_shift,
		       uint32_t offset, uint32_t bytes, unsigned int prot);
void softrnic_ring_fini(struct softrnic_ring *ring);
/* `to`, which has been given back, becomes what `from` is; `from` is nothing any more. */
void softrnic_ring_move(struct softrnic_ring *to, struct softrnic_ring *from);
/* Resolve again after a change of the DMA map; false: some page cannot be reached any more. */
bool softrnic_ring_refresh(struct softrnic *dev, struct softrnic_ring *ring);
/* Where [at, at + bytes) of it, which do not cross a page, are now, whatever is resolved; NULL if not reachable. */
void *softrnic_ring_find(struct softrnic *dev, const struct softrnic_ring *ring, uint32_t at,
			 uint32_t bytes);
/* Address of byte `at` of the ring, for an access that does not cross a page; NULL if not reachable. */
static inline void *
softrnic_ring_at(const struct softrnic_ring *ring, uint32_t at)
{
	if (ring->flat != NULL)
		return (uint8_t *)ring->flat + at;
	at += ring->offset;
	uint8_t *page = ring->host[at >> ring->page_shift];
	return page == NULL ? NULL : page + (at & ((1u << ring->page_shift) - 1));
}

/* A doorbell record (ring.c): 8 bytes in host memory, followed across changes of the DMA map like a ring. */
struct softrnic_dbrec {
	uint64_t iova;
	void *host; /* NULL: not reachable */
	uint64_t generation;
	struct softrnic_resolved resolved;
};
/* RNIC_STATUS_OK, or BAD_PARAM: not on 8 bytes, or not reachable. */
int softrnic_dbrec_init(struct softrnic *dev, struct softrnic_dbrec *dbrec, uint64_t iova);
bool softrnic_dbrec_refresh(struct softrnic *dev, struct softrnic_dbrec *dbrec);
/* Counter 0 or 1 of the record, host order, read with acquire; false: not reachable (any more). */
static inline bool softrnic_dbrec_read(struct softrnic *dev, struct softrnic_dbrec *dbrec,
				       unsigned int which, uint32_t *value);

/* All of a kind, called before memory is taken away from the device (its `holders`). */
void softrnic_mkeys_forget(struct softrnic *dev);
void softrnic_rings_forget(struct softrnic *dev);
void softrnic_dbrecs_forget(struct softrnic *dev);
/* One of them, also before it is freed. All zero is fine. */
void softrnic_ring_forget(struct softrnic_ring *ring);
void softrnic_dbrec_forget(struct softrnic *dev, struct softrnic_dbrec *dbrec);
struct softrnic_mkey;
void softrnic_mkey_forget(struct softrnic *dev, struct softrnic_mkey *mkey);
/* For those three. There is room for all objects that there can be. */
void softrnic_resolved_add(struct softrnic_resolved_list *list, struct softrnic_resolved *who);
void softrnic_resolved_remove(struct softrnic_resolved_list *list, struct softrnic_resolved *who);

/*
 * A test build checks each access to host memory once more, where it is done: is it inside the map as it stands? It
 * counts, and says the first one that is not. Everywhere else this is nothing.
 */
#ifdef SOFTRNIC_DMA_AUDIT
void softrnic_audit(struct softrnic *dev, const void *host, size_t length, unsigned int prot);
extern atomic_ullong softrnic_audit_accesses, softrnic_audit_violations;
/* audit.c, at each unmap and at a session's end: whatever the lists say, does any object hold a host address? That counts, too. */
void softrnic_audit_unresolved(struct softrnic *dev);
extern bool
	softrnic_audit_objects; /* who unmaps thousands of times a second does without that look */
/* Of tens of thousands of comparisons for each unmap a fuzzer need not know: to tell it of them takes longer than all else. */
#ifdef __clang__
#define SOFTRNIC_NOT_TRACED __attribute__((no_sanitize("coverage")))
#else
#define SOFTRNIC_NOT_TRACED
#endif
#else
#define softrnic_audit(dev, host, length, prot) ((void)0)
#define softrnic_audit_unresolved(dev)		((void)0)
#endif

/* ---- Event queues (eq.c). ---- */

/* Write an event to one EQ, raise its vector if armed. */
void softrnic_eq_post(struct softrnic *dev, uint32_t eqn, uint8_t type, uint8_t sub_type,
		      const uint32_t data[7]);
/* Write an asynchronous event to the EQs whose mask has the type. */
void softrnic_event(struct softrnic *dev, uint8_t type, uint8_t sub_type, const uint32_t data[7]);
bool softrnic_event_wanted(const struct softrnic *dev, uint8_t type);
/* A write to RNIC_UAR_EQ_ARM or RNIC_UAR_EQ_UPDATE of any UAR page. */
void softrnic_eq_doorbell(struct softrnic *dev, uint32_t value, bool arm);

/* ---- Completion queues (cq.c). ---- */

struct softrnic_cq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec; /* consumer index, arm word */
	uint32_t producer;	     /* free running, 24 bits on the wire */
	uint32_t consumer;	     /* as last read from the record */
	uint32_t solicited;	     /* producer behind the last solicited entry */
	uint32_t arm;		     /* the arm word as last seen, in the record or a doorbell */
	uint64_t fired;		     /* the arm word whose event was raised; ~0: none yet */
	uint8_t log_size;
	uint8_t cqe_bytes_log2; /* 6 or 7 */
	bool collapsed;		/* cc: every entry goes to slot 0 */
	bool ignore_overrun;	/* oi */
	bool error;		/* overrun or unreachable: takes no more entries */
	bool armed;
	bool pending; /* on the list of CQs that got entries in this poll */
	/*
	 * The first entry of a batch that is held back (softrnic_cq_publish_soon()), and where it goes; NULL: there is no
	 * batch. next: where the entry goes that first is claimed as.
	 */
	struct rnic_cqe first, *latch, *next;
	uint8_t latched, batch; /* entries: held back, and as many as may be; 1: none ever is */
	LIST_ENTRY(softrnic_cq) latch_link;
	/* Moderation: an event waits for so many entries, or so long after the first of them; either 0: it does not. */
	uint16_t max_count;
	bool held; /* an event waits, on the list of those */
	uint64_t period_ns;
	uint64_t held_to; /* ns since power-on */
	TAILQ_ENTRY(softrnic_cq) held_link;
	uint32_t eqn, uar;
	STAILQ_ENTRY(softrnic_cq) pending_link;
	TAILQ_ENTRY(softrnic_cq) sweep_link;
	struct softrnic_object *eq, *uar_object;
	struct rnic_cqc context;
};
/* End a round: show all entries, and raise the events of CQs that got some since the last call. */
void softrnic_cq_flush(struct softrnic *dev);
/* Raise the events that have waited long enough. */
void softrnic_cq_release(struct softrnic *dev);
/* Look at one arm record: repairs a doorbell that was lost on a shared page. */
void softrnic_cq_sweep(struct softrnic *dev);
/* The 64-bit write to RNIC_UAR_CQ_ARM (host order words). */
void softrnic_cq_arm_doorbell(struct softrnic *dev, uint32_t arm, uint32_t cqn);

/* ---- Send queues (sq.c), receive queues (rq.c). ---- */

/* How far a large send is that did not end in its queue's turn. */
struct softrnic_lso {
	uint32_t at;	/* bytes of the payload that were sent */
	uint32_t index; /* of the next frame */
};

/* ... a multi-packet WQE: where its next packet stands, and what those before it took of SOFTRNIC_ENTRIES_WQE. */
struct softrnic_multi {
	uint32_t at, entries;
};

struct softrnic_sq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec;
	struct softrnic_cq *cq;
	struct softrnic_object *pd_object, *uar_object, *tis_object;
	uint32_t pd, uar, tis, user_index;
	uint16_t consumer; /* WQEBB counter */
	uint16_t producer; /* as last read from the record */
	uint8_t log_size;  /* of WQEBBs */
	uint8_t state;	   /* enum rnic_wq_state */
	bool rlky, flush_in_error;
	bool utc;		 /* the times of its completions are */
	bool stale;		 /* the record is from before RST: `producer` until a doorbell */
	bool active;		 /* on the device's list of queues with work */
	bool failed;		 /* an error CQE was written since RST */
	bool suspect;		 /* the sweep saw work that no doorbell has told of yet */
	uint32_t idle;		 /* polls without work */
	struct softrnic_lso lso; /* of the WQE at the consumer, as is the next */
	struct softrnic_multi multi;
	TAILQ_ENTRY(softrnic_sq) active_link;
	TAILQ_ENTRY(softrnic_sq) sweep_link;
	struct rnic_sqc context;
};

struct softrnic_rq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec;
	struct softrnic_cq *cq;
	struct softrnic_q_counter *counter; /* may be NULL */
	struct softrnic_rmp *rmp;	    /* whose WQEs it takes; NULL: its own ring's */
	struct softrnic_object *pd_object;  /* NULL with rmp, whose domain counts */
	uint32_t pd, user_index;
	uint16_t consumer; /* WQEs used */
	uint16_t producer; /* as last read from the record */
	uint8_t log_size, log_stride;
	uint8_t state;
	bool rlky, vsd, flush_in_error;
	bool flushing; /* in ERR, and can be read: what is posted is flushed */
	bool utc;      /* the times of its frames are */
	bool plain;    /* RDY, and frames have nothing more to ask for than others */
	TAILQ_ENTRY(softrnic_rq) flush_link;
	struct rnic_rqc context;
};

struct softrnic_q_counter {
	struct softrnic_object object;
	struct roce_counters roce; /* out_of_buffer counts frames of RQs as well */
};

/* q_counter.c: the set of that number; 0: none, *counter is NULL. RNIC_STATUS_OK or BAD_RES. */
int softrnic_q_counter_find(struct softrnic *dev, uint32_t number,
			    struct softrnic_q_counter **counter);

/* Kick: look at the queue of this number (a doorbell named it). */
void softrnic_sq_doorbell(struct softrnic *dev, uint32_t sqn);
/*
 * The queue's turn, in a share that is not over: execute its WQEs, so many packets of them (and other work that they make:
 * work.h) and what remains of a WQE; returns how many.
 */
unsigned int softrnic_sq_poll(struct softrnic *dev, struct softrnic_sq *sq);

/* A frame between queues and wires: pieces that point at the sender's memory, valid until the call returns. */
#define SOFTRNIC_FRAME_PIECES 64
#define SOFTRNIC_FRAME_SPARE  2 /* more, where a header takes the place of bytes within a piece */
struct softrnic_frame {
	uint32_t length; /* bytes, without FCS */
	uint32_t count;
	/* Sum over what is behind the IP header, where who sent it made the checksum of TCP or UDP. */
	uint16_t l4_sum;
	bool l4_summed;
	struct iovec pieces[SOFTRNIC_FRAME_PIECES + SOFTRNIC_FRAME_SPARE];
};

/* What steering found out about a frame, for its CQE. */
struct softrnic_rx_info {
	uint32_t flow_tag;
	uint32_t hash;
	/*
	 * Not side by side as in the CQE: compilers load two such bytes as one word, which then waits for both stores, and
	 * for all stores before them.
	 */
	uint8_t l4_l3_hdr_type, hash_type;
	uint8_t hds_ip_ext; /* but for L4_OK: l4_ok */
	bool tagged;	    /* opens with a VLAN tag that queues may strip */
	uint16_t vlan_info; /* the tag, once it is stripped */
	uint16_t checksum;  /* of the IP packet, as its bytes stand in memory */
	uint8_t l4_ok;	    /* RNIC_CQE_L4_OK or 0 */
	bool good, bad;	    /* its checksums, as they are counted */
	/* What each queue adds up as it copies the frame, to know checksum, l4_ok, good and bad (softrnic_rx_sum()). */
	struct {
		uint32_t bytes; /* behind the IP header; 0: all is known */
		uint32_t tail;	/* of the frame, behind those */
		bool verify;
		uint64_t header, pseudo; /* sums */
	} sum;
};

/* Flush what was posted to a few queues in ERR since: no doorbell tells of it. */
void softrnic_rq_sweep(struct softrnic *dev, unsigned int count);
/* Has the queue a WQE for a frame that came now? */
bool softrnic_rq_has_wqe(struct softrnic *dev, struct softrnic_rq *rq);
/* Deliver a frame to an RQ: one WQE, one CQE. */
void softrnic_rq_receive(struct softrnic *dev, struct softrnic_rq *rq,
			 const struct softrnic_frame *frame, struct softrnic_rx_info *info);

/* ---- Ethernet (eth/steer.c: flow tables; eth/port.c: the port; eth/vport.c: its commands). ---- */

struct softrnic_tir {
	struct softrnic_object object;
	uint8_t disp_type;
	struct softrnic_rq *rq;	  /* direct */
	struct softrnic_rqt *rqt; /* indirect */
	struct softrnic_object *td;
	uint8_t self_lb; /* enum rnic_tir_self_lb */
	struct rnic_tirc context;
};

struct softrnic_rqt {
	struct softrnic_object object;
	uint32_t max_size, size; /* size is a power of two */
	struct softrnic_rq **rqs;
};

/* May the table have that many queues, by all TIRs that choose from it? */
bool softrnic_tirs_take_size(struct softrnic *dev, const struct softrnic_rqt *rqt, uint32_t size);

/* A frame from the wire: counters, steering, queues. */
void softrnic_eth_receive(struct softrnic *dev, const struct softrnic_frame *frame);
/* What would become of a frame that came now? For wires that can wait. */
enum softrnic_eth_room {
	SOFTRNIC_ETH_NOBODY, /* no queue wants it */
	SOFTRNIC_ETH_FULL,   /* a queue that wants it has no WQE */
	SOFTRNIC_ETH_ROOM,   /* it is received, or is an error */
};
enum softrnic_eth_room softrnic_eth_room(struct softrnic *dev, const struct softrnic_frame *frame);
/* dev->faults or dev->self_lb_tirs has changed. */
void softrnic_eth_changed(struct softrnic *dev);
/* A frame from an SQ to the wire: checks, counters, faults. False: the port dropped it. */
bool softrnic_eth_transmit(struct softrnic *dev, const struct softrnic_frame *frame);
/*
 * The wire is up, and carries packets of queue pairs, or does so no more; or the port's own state has changed. Posts
 * PORT_CHANGE if the link changed by that. True: it went down.
 */
bool softrnic_port_update(struct softrnic *dev, bool wire_up, bool rdma);

/* Ethernet header, VLAN tag and FCS: what PMTU counts beside the payload. */
#define SOFTRNIC_FRAME_OVERHEAD 22

/* The port sends: its own side of a link is up. */
bool softrnic_port_enabled(const struct softrnic *dev);
/* The function manages the card's switch of functions, as physical ones do that no embedded CPU does it for. */
bool softrnic_manages_eswitch(const struct softrnic *dev);
int softrnic_port_init(struct softrnic *dev);
void softrnic_port_reset(struct softrnic *dev);

/* Traffic counters of the vport and the port; exact. */
struct softrnic_port_counters {
	uint64_t rx_packets[3], rx_bytes[3]; /* unicast, multicast, broadcast */
	uint64_t tx_packets[3], tx_bytes[3];
	/* Packets of queue pairs, as the frames that they are: the port counts them with the others, the vport apart. */
	uint64_t rx_rdma_packets[3], rx_rdma_bytes[3];
	uint64_t tx_rdma_packets[3], tx_rdma_bytes[3];
	uint64_t rx_errors, tx_errors;
	/* of rx_packets: the port saw them, the vport has no such address */
	uint64_t rx_foreign_packets[3], rx_foreign_bytes[3];
};

/* Addresses that the driver asked the vport to take (MODIFY_NIC_VPORT_CONTEXT). */
#define SOFTRNIC_MAC_LIST_LOG 7
struct softrnic_mac_list {
	uint16_t count;
	uint8_t macs[1 << SOFTRNIC_MAC_LIST_LOG][6];
};

/* The switch between a card's functions: unicast addresses that are ours, by the driver's index. */
#define SOFTRNIC_L2_TABLE_LOG 16
#define SOFTRNIC_L2_WORDS     (1u << (SOFTRNIC_L2_TABLE_LOG - 6))

#define SOFTRNIC_LENGTHS	10240 /* more than the longest frame of any MTU */
#define SOFTRNIC_LENGTH_CLASSES 11    /* too short, then ten */
struct softrnic_port {
	uint8_t mac[6]; /* the vport's permanent address */
	/* MTUs as registers have them: SOFTRNIC_FRAME_OVERHEAD more than a frame's payload */
	uint16_t max_mtu, admin_mtu;
	uint16_t vport_mtu;
	uint8_t admin_status; /* enum rnic_port_status */
	uint8_t vport_admin_state;
	bool link_up, wire_up;
	bool rdma_up; /* the link, and it carries packets of queue pairs */
	bool promisc_uc, promisc_mc, promisc_all, roce_enabled;
	bool asked_uc, asked_mc, asked_all; /* promisc_*, as the driver wants them */
	struct softrnic_port_counters counters;
	struct softrnic_port_counters vport_base, port_base; /* counters when last cleared */
	struct softrnic_mac_list uc, mc;
	struct softrnic_mac_list vlans; /* VLAN IDs, where addresses begin: kept, not asked */
	bool pause_tx, pause_rx;
	uint8_t node_desc[64];
	struct rnic_nic_vport_context context; /* the rest, as last modified */
	/* Received frames by their length, and what those of RFC 2819's classes were when last cleared. */
	uint64_t rx_lengths[SOFTRNIC_LENGTHS];
	uint64_t class_base[SOFTRNIC_LENGTH_CLASSES];
	/* A bit for each index of the switch's table that is in use; nobody asks for the address. */
	uint64_t l2_used[SOFTRNIC_L2_WORDS];
};

static inline void
softrnic_port_count_length(struct softrnic_port *port, uint32_t length)
{
	if (__builtin_expect(length < SOFTRNIC_LENGTHS, 1))
		port->rx_lengths[length]++;
}

/* ---- The device. ---- */

struct softrnic_irq {
	void (*fn)(void *arg, unsigned int vector);
	void *arg;
};

/* Queue pairs whose doorbell records each poll looks at (qp/watch.c). */
struct softrnic_qp_watch {
	struct softrnic_qp_watched *of; /* `size` of them: one for each open QP, `count` in use */
	uint32_t count, size, users;
	uint32_t next; /* the look goes on in front of this one */
	/* of the DMA map that their pointers are from, but for those of the first `old` ones */
	uint64_t generation;
	uint32_t old;
};
#ifdef SOFTRNIC_DMA_AUDIT
const struct softrnic_ring *softrnic_eq_ring(const struct softrnic_object *eq);
#endif

/* Beside the 32 slots of commands: quirks want a turn in each round, which so costs others nothing. */
#define SOFTRNIC_BELL_TURN (UINT64_C(1) << 32)

struct softrnic {
	char name[SOFTRNIC_NAME_BYTES];
	struct softrnic_poller *poller;
	struct softrnic_turn *turn; /* the poller's: see work.h */
	TAILQ_ENTRY(softrnic) link; /* of the poller */

	/* hot: read by every poll */
	atomic_ullong cmd_doorbell; /* slots rung, set by bar writes, and SOFTRNIC_BELL_TURN */
	enum softrnic_hca_state state;
	bool dump_queues; /* see dump.h */
	/* TIRs that want what this function sends to itself; on its way to them, enum rnic_tir_self_lb */
	uint32_t self_lb_tirs;
	uint8_t self_lb;
	bool send_aside;   /* faults, or such TIRs: frames that are sent are looked at again */
	bool dead;	   /* fatal fault: executes nothing */
	bool leaving;	   /* objects are being dropped, and nothing else is done */
	bool round_cut;	   /* the last round ended before all parts had their turn: see poll.c */
	uint8_t next_part; /* ... and the next one begins here */
	uint64_t dma_generation;
	uint32_t quiet_polls; /* since the last one with work */
	uint32_t open_rqs;    /* receive queues that have left RST */
	uint32_t ready_rqs;   /* ... of which so many are RDY */
	struct softrnic_object_table tables[SOFTRNIC_OBJECT_TYPES];
	TAILQ_HEAD(softrnic_sq_list, softrnic_sq) active_sqs;
	struct softrnic_sq_list swept_sqs; /* all that have left RST */
	TAILQ_HEAD(, softrnic_rq) flushing_rqs;
	TAILQ_HEAD(softrnic_cq_list, softrnic_cq) swept_cqs;
	STAILQ_HEAD(softrnic_cq_pending, softrnic_cq) pending_cqs;
	LIST_HEAD(, softrnic_cq) latched_cqs;		     /* that hold entries back */
	TAILQ_HEAD(softrnic_held_cqs, softrnic_cq) held_cqs; /* whose event waits, by moderation */
	/* queue pairs: with work, all that have left RST, with a deadline (qp/qp.h) */
	TAILQ_HEAD(softrnic_qp_list, softrnic_qp) active_qps;
	struct softrnic_qp_list swept_qps, timed_qps;
	struct softrnic_qp_watch qp_watch;
	/* no deadline of theirs is before this one, but for those of the timed_left that are still to be looked at */
	uint64_t qps_deadline;
	uint32_t timed_count, timed_left; /* of timed_qps, which begins with those */
	uint64_t qps_memory;		  /* bytes: see SOFTRNIC_QP_MEMORY */
	uint64_t rings_memory;		  /* bytes: see SOFTRNIC_RING_MEMORY */
	uint64_t memory;		  /* bytes: see softrnic_alloc() */
	bool memory_refused;		  /* since the command under way began */
	uint32_t qps_work; /* of this poll: packets and bytes, in the poll's own unit */
	uint64_t now;	   /* nanoseconds since power-on, of this poll: the time in CQEs */
	/* Of a frame that has a time of its own, as in a capture: that much after `now` (mod 2^64). Else 0 */
	uint64_t rx_ahead;

	/* registers (iseg.c) and UAR pages (uar.c) */
	struct rnic_init_seg *iseg;
	/* SOFTRNIC_UAR_PAGES pages; the first is private, the rest is uar_fd */
	uint8_t *uar_memory;
	int uar_fd; /* memfd, with the offsets of the BAR; the second page and those behind it; or -1 */
	uint8_t nic_interface;
	uint32_t cmdq_iova_high;	      /* written first, takes effect with the low half */
	struct softrnic_cmdq *cmdq;	      /* cmdq.c's own: buffers */
	struct softrnic_uar_watch *uar_watch; /* uar.h: last seen words */
	uint64_t cmdq_iova;
	uint64_t power_on_ns;

	/* control plane */
	struct {
		unsigned int step;
		uint32_t number;
	} leave; /* how far softrnic_hca_gone() is: kinds of objects, and of this kind the next number */
	/* [0] max, [1] current: as QUERY_HCA_CAP's op_mod bit */
	struct rnic_general_cap general_cap[2];
	bool roce_ports_chosen; /* by the driver: the current sw_r_roce_src_udp_port, where there is one */
	uint8_t qp_ts_format; /* enum rnic_ts_cap of queue pairs: what RoCE's capabilities show */
	struct softrnic_pages *pages; /* pages.c's own */
	struct softrnic_dma *dma;     /* dma.c's own */
	/* Who holds host addresses, and gives them up at an unmap; up to NULL. */
	void (*const *holders)(struct softrnic *dev);
	struct softrnic_resolved_list resolved_mkeys, resolved_rings, resolved_dbrecs;
	struct softrnic_irq irqs[SOFTRNIC_MSIX_VECTORS];
	uint32_t issi;
	uint64_t translation_bytes; /* see SOFTRNIC_TRANSLATION_MEMORY */
	uint64_t fault_command;	    /* see enum softrnic_fault */
	uint32_t fault_stuck;
	bool fault_health, fault_initializing;
	uint64_t health_stopped_ns; /* the counter's last moment, which may be to come */
	struct softrnic_quirks quirks;

	/* Ethernet and the wire */
	struct softrnic_port port;
	/* The port's: to an EQ whose last PORT_CHANGE has been read, where the link has changed since */
	void (*port_tell)(struct softrnic *dev, uint32_t eqn);
	struct softrnic_steering *steering;    /* eth/steer.c's own: root tables */
	struct softrnic_roce_addr *roce_addrs; /* SOFTRNIC_ROCE_ADDRS of them: GIDs */
	struct roce_counters roce_counters;    /* of queue pairs without a counter set */
	const struct softrnic_wire_ops *wire, *wire_prepared; /* wire/wire.h */
	void *wire_data;
	/* The device at the other end of the wire, where that is one of ours: itself for a loop; NULL: nobody is there */
	struct softrnic *peer;
	bool wire_full; /* it takes no frame now: one that is sent is an error of the port */
	struct softrnic_faults *faults; /* wire/faults.h */

	const struct softrnic_like *like; /* and what follows from it (like.h) */
	bool no_mac, untrusted;
	uint64_t command_ns; /* that each command takes */

	struct softrnic_conf conf;
	struct softrnic_stats stats;
	uint64_t random; /* state of softrnic_random() */
	struct {
		uint64_t key[2], count;
	} secret;
};

static inline bool
softrnic_has_quirk(const struct softrnic *dev, enum softrnic_quirk quirk)
{
	return (dev->quirks.set >> quirk & 1) != 0;
}

/* Of UAR pages: numbers, and pages of the BAR. */
static inline uint32_t
softrnic_first_uar(const struct softrnic *dev)
{
	return dev->tables[SOFTRNIC_UAR].first;
}

/* CLOCK_MONOTONIC (clock.c). */
uint64_t softrnic_now_ns(void);

/* ---- The poller (poller.c). ---- */

void softrnic_lock(struct softrnic_poller *poller);
void softrnic_unlock(struct softrnic_poller *poller);
/* Both with the lock held. -EEXIST: there is a device of that name. */
int softrnic_poller_add(struct softrnic_poller *poller, struct softrnic *dev);
void softrnic_poller_remove(struct softrnic_poller *poller, struct softrnic *dev);
/* The devices of a poller, with the lock held: the first one, and the one behind dev; NULL: no more. */
struct softrnic *softrnic_poller_first(struct softrnic_poller *poller);
struct softrnic *softrnic_poller_next(struct softrnic *dev);
/* Called whenever the lock is given back: wakes a host that sleeps. */
void softrnic_poller_set_wake(struct softrnic_poller *poller, void (*wake)(void *arg), void *arg);

/* The turn under way (work.h), for dev->turn. */
struct softrnic_turn *softrnic_poller_turn(struct softrnic_poller *poller);

/* ---- Registers, pages, memory keys. ---- */

int softrnic_cmdq_init(struct softrnic *dev);
/* No command is under way any more. */
void softrnic_cmdq_reset(struct softrnic *dev);
void softrnic_cmdq_fini(struct softrnic *dev);
int softrnic_dma_init(struct softrnic *dev);
void softrnic_dma_fini(struct softrnic *dev);
int softrnic_resolved_init(struct softrnic *dev);
void softrnic_resolved_fini(struct softrnic *dev);
int softrnic_objects_init(struct softrnic *dev);
void softrnic_objects_fini(struct softrnic *dev);
int softrnic_pages_init(struct softrnic *dev);
void softrnic_pages_reset(struct softrnic *dev);
void softrnic_pages_fini(struct softrnic *dev);
/* What QUERY_PAGES(boot) asked for was given. */
bool softrnic_pages_booted(const struct softrnic *dev);
bool softrnic_pages_initialized(const struct softrnic *dev);
/* It runs, and the driver owes it some. */
bool softrnic_pages_missing(const struct softrnic *dev);
/* As a firmware does: write to some of them, the next ones each time. */
void softrnic_pages_use(struct softrnic *dev);
/* Ask for pages at run time (n > 0) or offer them back (n < 0): a PAGE_REQUEST event. */
int softrnic_pages_request(struct softrnic *dev, int32_t n);
void softrnic_caps_init(struct softrnic *dev);
/*
 * Everything below the function's state: all objects go, without touching host memory. The state must say that nobody may
 * use them any more. With many of them it takes several rounds (dev->leaving), in which commands wait. True: all have gone.
 */
bool softrnic_hca_leave(struct softrnic *dev);
/* Go on with it. */
bool softrnic_hca_gone(struct softrnic *dev);
/* Power-on state; with the lock held. */
void softrnic_device_reset(struct softrnic *dev);
/*
 * Free an object, whatever leans on it: those have gone already. Nobody looks at what it refers to for more than taking
 * back the reference. The first is for objects that are one malloc each.
 */
void softrnic_object_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_rqt_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_rq_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_sq_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_qp_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_rmp_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_cq_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_eq_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_mkey_drop(struct softrnic *dev, struct softrnic_object *object);
void softrnic_uar_drop(struct softrnic *dev, struct softrnic_object *object);

/* Power-on and reset: each part sets up and clears its own state. */
int softrnic_steering_init(struct softrnic *dev);
void softrnic_steering_fini(struct softrnic *dev); /* frees dev->steering; NULL is fine */
/* Which header fields steering matches on: its row in the flow table capabilities. */
void softrnic_steering_fields(struct rnic_flow_table_fields *fields);
/* No frame finds an entry any more; then all tables go, as far as the share does: false, there are more. */
void softrnic_steering_forget(struct softrnic *dev);
bool softrnic_steering_drop(struct softrnic *dev);
/* The table of GIDs (qp/address.c). */
int softrnic_roce_addrs_init(struct softrnic *dev);
void softrnic_roce_addrs_reset(struct softrnic *dev);
void softrnic_roce_addrs_fini(struct softrnic *dev);

/* Parts that softrnic_poll() calls for each device, in the order that poll.c tells; each returns the work done. */
unsigned int softrnic_cmdq_poll(struct softrnic *dev); /* cmdq.c */
unsigned int softrnic_wire_poll(struct softrnic *dev); /* wire/wire.c */

/* ---- UAR pages (uar.c). ---- */

/* Makes uar_memory and uar_fd. */
int softrnic_uar_init(struct softrnic *dev);
/* See softrnic_bar_renew(). */
int softrnic_uar_renew(struct softrnic *dev);
void softrnic_uar_fini(struct softrnic *dev);
/*
 * A page was allocated or freed: it is clean for the next owner as for the first. Page number n, as ALLOC_UAR returns it, of
 * the SOFTRNIC_UAR_PAGES from softrnic_first_uar() on, stands at uar_memory + (n - the first one) * 4096.
 */
void softrnic_uar_clear(struct softrnic *dev, uint32_t uar);
/* An SQ, QP or CQ rings on this page (+1), or does so no more (-1): pages without queues cost nothing. */
void softrnic_uar_user(struct softrnic *dev, uint32_t uar, int change);
/* The queue's doorbells so far are forgotten: one with the same words is a new one. */
void softrnic_uar_forget(struct softrnic *dev, uint32_t uar, uint32_t number);

static inline bool
softrnic_dbrec_read(struct softrnic *dev, struct softrnic_dbrec *dbrec, unsigned int which,
		    uint32_t *value)
{
	if (dbrec->generation != dev->dma_generation && !softrnic_dbrec_refresh(dev, dbrec))
		return false;
	if (dbrec->host == NULL)
		return false;
	softrnic_audit(dev, dbrec->host, sizeof(struct rnic_wq_dbrec), SOFTRNIC_DMA_READ);
	/* Pairs with the driver's store of the counter behind its WQEs or index. */
	*value = RNIC_SWAP32(
		__atomic_load_n((const uint32_t *)dbrec->host + which, __ATOMIC_ACQUIRE));
	return true;
}

#endif
