/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's half of the objects of lib/rdmapmd: each struct begins with the library's head, and is made of the same
 * queues that the ethdev port uses.
 *
 * Who writes what on the data path: a send queue belongs to the thread that posts to it, a receive queue likewise, a CQ to
 * the thread that polls it. Of a queue pair that thread writes the tails alone, which those who post read.
 */
#ifndef RNIC_RDMA_H
#define RNIC_RDMA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>

#include "prm/cqe.h"
#include "object/q_counter.h"
#include "rdmapmd_driver.h"
#include "core/dev.h"

struct rnic_rdma_kind;
struct rnic_rdma_qp;
struct rnic_rdma_srq;
struct rnic_gid; /* gid.c */

/* ---- The device ---- */

/* Kinds of queue pairs, by bits. */
#define RNIC_RDMA_QP_SIGNALS_ALL 1u /* sq_sig_all */
#define RNIC_RDMA_QP_ASKS_NONE	 2u /* max_rd_atomic 0: no READs, no atomics */
#define RNIC_RDMA_QP_RAW	 4u /* RAW_PACKET */
#define RNIC_RDMA_QP_KINDS	 8u

struct rnic_rdma {
	struct rnic_eq *comp_eq;   /* completion events */
	struct rnic_eq *event_eq;  /* events of queue pairs and SRQs, but for errors */
	struct rdmapmd_table *cqs; /* that have events: number -> struct rnic_rdma_cq */
	/* How many they are: each may have one entry in the event queue. */
	uint32_t event_cqs;
	LIST_HEAD(, rnic_rdma_cq) event_cq_list;
	LIST_HEAD(, rnic_rdma_qp) raw_qps; /* RAW_PACKET */
	LIST_HEAD(, rnic_rdma_cq) all_cqs;
	LIST_HEAD(, rnic_rdma_qp) all_qps;
	LIST_HEAD(, rnic_rdma_srq) all_srqs;
	/* Of event_cq_list, those that name an event queue that takes no more events. */
	uint32_t deaf_cqs;
	/* Of the seven above, and of device: an event is handed on, or it is gone. */
	pthread_mutex_t lock;
	struct rdmapmd_device *device;			  /* whom events are for; NULL: nobody */
	struct rnic_rdma_kind *kinds[RNIC_RDMA_QP_KINDS]; /* of each kind of queue pair */

	/* gid.c: what is in the table. The lock is held for its commands. */
	pthread_mutex_t gids_lock;
	struct rnic_gid *gids; /* NULL: no table */
	bool refused;	       /* RoCE, to this function: RDMA is offered to nobody */
};

/* rdma_context.c */
extern const struct rdmapmd_driver_ops rnic_rdma_ops;
/* Does the device say that it can? */
bool rnic_rdma_supported(const struct rnic_dev *dev);
/* Bring-up: what RDMA needs of its own. Nothing, for a device without it. */
int rnic_rdma_setup(struct rnic_dev *dev);
void rnic_rdma_teardown(struct rnic_dev *dev);
/* Of its event queues: hand on what came, and want to be told of more. By the thread that walks them. */
void rnic_rdma_poll(struct rnic_dev *dev);
static inline struct rnic_dev *
rnic_rdma_dev(const struct rdmapmd_context *context)
{
	return context->device_priv;
}

/* rdma_event.c: from the control thread. */
/* Entries in the completion event queue: CQs with events, at most. */
#define RNIC_RDMA_EVENTS_MAX 4096
/* From now on events are for this device of the library's; NULL: for nobody. */
void rnic_rdma_events_to(struct rnic_dev *dev, struct rdmapmd_device *device);
struct rnic_eqe;
/* An entry of any event queue: is it an error of a queue of RDMA's? `arg` is the device. */
bool rnic_rdma_on_event(void *arg, const struct rnic_eqe *eqe);
/* The port, or the whole device. */
void rnic_rdma_port_event(struct rnic_dev *dev, enum rdmapmd_event_type type);
/* Events may have got lost: the link, and the states of queue pairs and CQs, are asked for and told. */
void rnic_rdma_ask(struct rnic_dev *dev);
/*
 * The queue of completion events is another one now. CQs that name the old one raise no event any more, and no command moves
 * them that every device has: as long as there are such, they are looked at this often, and their events raised here.
 */
void rnic_rdma_find_deaf(struct rnic_dev *dev);
bool rnic_rdma_has_deaf(struct rnic_dev *dev);
void rnic_rdma_look(struct rnic_dev *dev);
/* Does the queue of completion events owe one to a CQ that is armed, and has an entry? It is under suspicion then. */
void rnic_rdma_check_events(struct rnic_dev *dev);
/* The device is lost: whoever waits for it is told, with events of all CQs too. From any thread. `arg` is the device. */
void rnic_rdma_lost(void *arg);
/* A completion event of a CQ that has some, though the device raised none. From any thread. */
struct rnic_rdma_cq;
void rnic_rdma_wake(const struct rnic_rdma_cq *cq);

/* gid.c: the port's table of addresses. -EINVAL beyond it; an empty entry is zeros. */
#define RNIC_GID_LINK_LOCAL 0 /* where the port's own stands */
uint32_t rnic_gid_count(const struct rnic_dev *dev);
int rnic_gid_query(struct rnic_dev *dev, uint32_t index, struct rdmapmd_gid_entry *entry);
int rnic_gid_set(struct rnic_dev *dev, uint32_t index, const struct rdmapmd_gid_entry *entry);
/* Another address, where there is room. -EEXIST, -ENOSPC. Threads: any. */
int rnic_gid_add(struct rnic_dev *dev, const union rdmapmd_gid *gid, uint32_t *index);
/* -ENODATA it is empty, -EPERM the port's own, -EBUSY paths begin there. Threads: any. */
int rnic_gid_del(struct rnic_dev *dev, uint32_t index);
/* A path begins there, and no more. -EINVAL: there is no address. */
int rnic_gid_hold(struct rnic_dev *dev, uint32_t index);
void rnic_gid_drop(struct rnic_dev *dev, uint32_t index);
/* The MAC of an address of the port's own. -EHOSTUNREACH: it is another's. */
int rnic_gid_resolve(struct rnic_dev *dev, struct rdmapmd_ah_attr *ah);
/* The port's MAC has changed: so have its addresses. */
int rnic_gids_follow_mac(struct rnic_dev *dev);
/* Bring-up: RoCE is on, the table holds the port's link-local address, then those of devarg ip=. */
int rnic_gids_setup(struct rnic_dev *dev);
void rnic_gids_down(struct rnic_dev *dev);

/* rdma_mr.c */
int rnic_rdma_pd_alloc(struct rdmapmd_pd *pd);
int rnic_rdma_pd_dealloc(struct rdmapmd_pd *pd);
int rnic_rdma_mr_reg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
int rnic_rdma_mr_rereg(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr);
int rnic_rdma_mr_dereg(struct rdmapmd_mr *mr);

/* ---- Completion queues ---- */

/* The queue pairs of a CQ by number: a hash table of pointers, at most half full, NULL: free. */
struct rnic_rdma_qps {
	struct rnic_rdma_qps *older; /* a poll may still read it; freed when the CQ is stopped */
	uint32_t mask, count;
	struct rnic_rdma_qp *_Atomic slots[];
};

struct rnic_rdma_cq {
	struct rdmapmd_cq cq;

	/* hot: whoever polls */
	struct rnic_cq ring;
	struct rnic_rdma_qp *last; /* whose entry was the last one; never NULL */
	/* Its number with the kind of entry that its requests have, and the first kind that arrivals have: rdma_poll.c. */
	uint64_t last_sends, last_receives;
	struct rnic_rdma_qps *_Atomic qps;
	const atomic_bool *lost; /* the device is, and writes to no buffer any more */
	/* Entries of no queue pair of ours, or of no request that was posted. */
	uint64_t strange;
	uint8_t polling, stopped; /* atomic: a poll looks at queue pairs; none may */

	/* arming */
	volatile void *arm_register;
	atomic_uint arm_sequence; /* of the next arming */

	/* cold */
	struct rnic_dev *dev;
	pthread_mutex_t lock;	      /* of changes of qps, of the ring's size and place */
	struct rdmapmd_handle number; /* in the device's table of CQs with events */
	LIST_ENTRY(rnic_rdma_cq) next_event_cq, next_cq;
	uint32_t eqn; /* of the event queue that it names */
	bool has_events, deaf;
};

/* No queue pair has this number: 24 bits that stand for multicast. */
#define RNIC_RDMA_NO_QPN  0xffffffu
#define RNIC_RDMA_NO_KIND (UINT64_C(1) << 63) /* and no entry is of that, or next to it */

/* rdma_cq.c */
int rnic_rdma_cq_create(struct rdmapmd_cq *cq, const struct rdmapmd_cq_layout *layout);
int rnic_rdma_cq_resize(struct rdmapmd_cq *cq, uint8_t log_size);
int rnic_rdma_cq_moderate(struct rdmapmd_cq *cq, uint16_t count, uint16_t period_us);
int rnic_rdma_cq_destroy(struct rdmapmd_cq *cq);

/* rdma_poll.c */
uint16_t rnic_rdma_poll_cq(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/* The same, and every entry is dumped. */
uint16_t rnic_rdma_poll_cq_dump(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/* The same where the kernel has no fence for all CPUs: each poll that finds something has one of its own. */
uint16_t rnic_rdma_poll_cq_fenced(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
int rnic_rdma_req_notify_cq(struct rdmapmd_cq *cq, bool solicited_only);

/* rdma_flush.c */
/* In the place of the poll once the device is lost: what was posted comes back, flushed. */
uint16_t rnic_rdma_poll_cq_lost(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/* Is there something that a poll would flush? */
bool rnic_rdma_cq_waits(struct rnic_rdma_cq *cq);

/* rdma_qps.c: which queue pairs a CQ has. */
int rnic_rdma_qps_init(struct rnic_rdma_cq *cq);
void rnic_rdma_qps_fini(struct rnic_rdma_cq *cq);
/* Threads: any, beside one that polls. -ENOMEM, -EEXIST: the device gave a number twice. */
int rnic_rdma_qps_add(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);
/* Of a CQ that is stopped; nothing if it is not there. */
void rnic_rdma_qps_remove(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);
struct rnic_rdma_qp *rnic_rdma_qps_find(const struct rnic_rdma_cq *cq, uint32_t qp_num);
/* Entries of a queue pair that wait in a CQ that is stopped are no longer anybody's. */
void rnic_rdma_cq_clean(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);

/*
 * Stop the CQs of a queue pair: a poll that is under way ends first, and those that begin before they go on find nothing and
 * return at once. Threads: any, beside those that poll. Not within a poll.
 */
void rnic_rdma_cqs_stop(struct rnic_rdma_qp *qp);
void rnic_rdma_cqs_go(struct rnic_rdma_qp *qp);
/* Must polls have a fence of their own? Asks the kernel once. */
bool rnic_rdma_polls_fenced(void);

static __rte_always_inline void
rnic_rdma_poll_ends(struct rnic_rdma_cq *cq)
{
	/* Partner: the load-acquire of whoever stops the CQ. */
	__atomic_store_n(&cq->polling, 0, __ATOMIC_RELEASE);
}

/*
 * A poll says that it begins, then looks whether it may; who stops the CQ says so, then looks whether there is one. Either
 * sees the other if no store is late: one of the two must have a fence, and who stops lets the kernel fence all CPUs.
 */
static __rte_always_inline bool
rnic_rdma_poll_begins(struct rnic_rdma_cq *cq, const bool fenced)
{
	if (fenced)
		__atomic_exchange_n(&cq->polling, 1, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&cq->polling, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(!__atomic_load_n(&cq->stopped, fenced ? __ATOMIC_SEQ_CST : __ATOMIC_ACQUIRE)))
		return true;
	rnic_rdma_poll_ends(cq);
	return false;
}

/* ---- Queue pairs ---- */

/* A send request under way, at the WQEBB where its WQE starts. */
struct rnic_rdma_wqe {
	uint64_t wr_id;
	uint64_t head;	 /* how many requests were posted before it */
	uint32_t length; /* of a READ or an atomic: bytes that it brings */
	uint16_t what;	 /* enum rdmapmd_wc_opcode; [15:8] enum rnic_rdma_quiet */
};

/* Requests whose completion is not the application's to see. */
enum rnic_rdma_quiet {
	RNIC_RDMA_REPORTED = 0,
	RNIC_RDMA_QUIET_SUCCESS = 1, /* unsignaled, but the driver wants to know when it is done */
	RNIC_RDMA_QUIET = 2,	     /* the driver's own */
};

/* What an opcode with a combination of send_flags leads to. */
struct rnic_rdma_kind {
	uint8_t wqe_opcode, fm_ce_se; /* of the control segment */
	uint8_t wc_opcode;	      /* enum rdmapmd_wc_opcode */
	uint8_t parts;		      /* of the WQE: rdma_post.c */
};
#define RNIC_RDMA_OPCODES (RDMAPMD_WR_NOP + 1)
#define RNIC_RDMA_FLAGS	  16
#define RNIC_RDMA_KINDS	  (RNIC_RDMA_OPCODES * RNIC_RDMA_FLAGS)

struct rnic_rdma_send {
	struct rnic_sq wq;
	struct rnic_rdma_wqe *wqes;
	/*
	 * Nobody lives to see these come round. Where no WQE has started for long, wqes[] has a request of long ago, which must
	 * not pass for one that is under way.
	 */
	uint64_t head;	   /* requests posted, free running */
	uint64_t tail;	   /* atomic: requests completed; who polls writes it */
	uint64_t signaled; /* requests posted up to the last one that asks for a completion */
	uint64_t max_post;
	uint32_t max_gs, max_inline;
	uint8_t open;	      /* atomic: the state takes requests */
	uint8_t header_bytes; /* of a frame that go into its WQE: 0 or RNIC_INLINE_L2_BYTES */
	const struct rnic_rdma_kind *kinds;
};

struct rnic_rdma_receive {
	struct rnic_rq wq;
	uint64_t *wr_ids;
	uint32_t head; /* atomic */
	uint32_t tail; /* atomic: who polls writes it */
	uint32_t max_post, max_gs;
	/* atomic: the length of the shortest request so far. What is said of no more bytes than that needs no look at one. */
	uint32_t least;
	uint8_t open; /* atomic */
};

struct rnic_rdma_qp {
	struct rdmapmd_qp qp;
	struct rnic_rdma_send sq;
	struct rnic_rdma_receive rq;
	struct rnic_rdma_srq *srq; /* NULL: rq is in use */

	/* cold */
	struct rnic_dev *dev;
	struct rnic_mem mem; /* both rings, the receive ring first */
	void *dbrec;
	/* What stands in the place of a send queue that there is not. */
	struct rnic_rdma_wqe no_wqe;
	uint32_t access;	    /* of peers: enum rdmapmd_access_flags, as set last */
	uint8_t max_dest_rd_atomic; /* as set last */
	uint8_t state;		    /* atomic: enum rdmapmd_qp_state, as set last */
	uint32_t rq_psn;	    /* atomic: of the first packet, as set last */
	uint8_t source;		    /* the index of the address that its path begins with */
	bool has_path;

	/* of RAW_PACKET: where frames are steered to */
	bool has_tir;
	uint32_t tir;
	LIST_ENTRY(rnic_rdma_qp) next_raw_qp;

	LIST_ENTRY(rnic_rdma_qp) next_qp;
};

/* rdma_qp.c */
int rnic_rdma_qp_create(struct rdmapmd_qp *qp, const struct rdmapmd_qp_init_attr *attr,
			const struct rdmapmd_qp_sizing *sizing);
int rnic_rdma_qp_destroy(struct rdmapmd_qp *qp);

/* rdma_modify.c */
int rnic_rdma_qp_modify(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
			unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to);
int rnic_rdma_qp_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr);
/* To RESET: nothing is posted or completed any more, whatever the device answers. Nobody posts meanwhile. */
int rnic_rdma_qp_reset(struct rnic_rdma_qp *qp);

/* rdma_raw.c: what is different of RAW_PACKET. */
/* Both queues in RST; sets qp_num. */
int rnic_rdma_raw_create(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing);
int rnic_rdma_raw_destroy(struct rnic_rdma_qp *qp);
int rnic_rdma_raw_set_state(struct rnic_rdma_qp *qp, enum rnic_wq_state state);
/* Any change but to RESET and ERR. -EBUSY: send requests are not polled. */
int rnic_rdma_raw_start(struct rnic_rdma_qp *qp, enum rdmapmd_qp_state from,
			enum rdmapmd_qp_state to);
int rnic_rdma_raw_query(struct rnic_rdma_qp *qp, struct rdmapmd_qp_attr *attr);
int rnic_rdma_raw_attach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
int rnic_rdma_raw_detach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
/* Called with the lock of events held: whose an SQ or RQ is. RNIC_RDMA_NO_QPN: none of ours. */
uint32_t rnic_rdma_raw_number(const struct rnic_rdma *rdma, enum rnic_event_queue type,
			      uint32_t number);
static inline bool
rnic_rdma_is_raw(const struct rnic_rdma_qp *qp)
{
	return qp->qp.qp_type == RDMAPMD_QPT_RAW_PACKET;
}

/* rdma_post.c */
#define RNIC_RDMA_MAX_MESSAGE (UINT32_C(1) << 30)
uint16_t rnic_rdma_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n);
/* The same, and every WQE is dumped. */
uint16_t rnic_rdma_post_send_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
				  uint16_t n);
uint16_t rnic_rdma_post_recv(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr, uint16_t n);
/* Fill a table of RNIC_RDMA_KINDS, for that kind of queue pair. */
void rnic_rdma_kinds_init(struct rnic_rdma_kind *kinds, unsigned int qp_kind);
/*
 * Requests that have not been polled. Without a completion in sight for the last of them a NOP is posted behind it, whose
 * completion nobody sees, so that polling leads to 0.
 */
uint32_t rnic_rdma_qp_outstanding(struct rdmapmd_qp *qp);
/* As after creation: nothing is posted. Nobody posts meanwhile, and its CQs are stopped. */
void rnic_rdma_queues_reset(struct rnic_rdma_qp *qp);

/* ---- Thread domains ---- */

struct rnic_rdma_td {
	struct rdmapmd_td td;
	struct rnic_bfreg *bf; /* of all its queue pairs */
};

/* The register of a queue pair's thread domain; NULL: it is in none. */
static inline struct rnic_bfreg *
rnic_rdma_domain(const struct rnic_rdma_qp *qp)
{
	return qp->qp.td != NULL ? ((const struct rnic_rdma_td *)qp->qp.td)->bf : NULL;
}

/* rdma_td.c */
int rnic_rdma_td_alloc(struct rdmapmd_td *td);
int rnic_rdma_td_dealloc(struct rdmapmd_td *td);

/* ---- Shared receive queues ---- */

/*
 * Free WQEs are a list from `head` to `tail`; the last one stays free. Whoever posts takes from the head. Polls of several
 * CQs give back at the tail, each with one exchange of it, and then links what was the tail to its own: a WQE that is not
 * linked yet looks like the last one.
 */
struct rnic_rdma_srq {
	struct rdmapmd_srq srq;
	uint8_t *ring;
	struct rnic_be32 *dbrec;
	uint64_t *wr_ids;
	uint32_t *next; /* atomic: of each WQE the next free one, or one of the below */
	uint32_t head;
	uint32_t tail; /* atomic */
	uint32_t mask, max_gs;
	uint32_t least; /* atomic: as that of a receive queue */
	uint8_t log_stride;
	uint16_t posted; /* free running */

	/* cold */
	struct rnic_dev *dev;
	struct rnic_mem mem;
	atomic_bool armed; /* with a limit that was not reached, as far as events tell */
	LIST_ENTRY(rnic_rdma_srq) next_srq;
};
#define RNIC_RDMA_SRQ_LAST   UINT32_MAX
#define RNIC_RDMA_SRQ_POSTED (UINT32_MAX - 1)

/* rdma_srq.c */
int rnic_rdma_srq_create(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing);
int rnic_rdma_srq_arm(struct rdmapmd_srq *srq, uint32_t limit);
int rnic_rdma_srq_query(struct rdmapmd_srq *srq, uint32_t *limit);
int rnic_rdma_srq_destroy(struct rdmapmd_srq *srq);

/* rdma_post.c */
/* How many bytes a receive request has room for, by the segments in its WQE. */
uint32_t rnic_rdma_room(const void *segments, uint32_t max_gs);
uint16_t rnic_rdma_post_srq_recv(struct rdmapmd_srq *srq, const struct rdmapmd_recv_wr *wr,
				 uint16_t n);
/* All WQEs are free. */
void rnic_rdma_srq_reset(struct rnic_rdma_srq *srq);
/* A WQE has completed: its request's wr_id. False: it was not posted. */
static inline bool
rnic_rdma_srq_complete(struct rnic_rdma_srq *srq, uint16_t counter, uint64_t *wr_id)
{
	const uint32_t index = counter & srq->mask;
	uint32_t state = RNIC_RDMA_SRQ_POSTED, before;

	/*
	 * In one step: a device that lies may name it in two CQs, which two threads poll. Partner: the store-release of POSTED
	 * in rnic_rdma_post_srq_recv(), behind the wr_id. One that lies names it at any time, so its entry orders nothing.
	 */
	if (unlikely(!__atomic_compare_exchange_n(&srq->next[index], &state, RNIC_RDMA_SRQ_LAST,
						  false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return false;
	*wr_id = srq->wr_ids[index];
	before = __atomic_exchange_n(&srq->tail, index, __ATOMIC_ACQ_REL);
	/* Partner: the load-acquire in rnic_rdma_post_srq_recv(), before it writes the WQE anew. */
	__atomic_store_n(&srq->next[before], index, __ATOMIC_RELEASE);
	return true;
}

#endif
