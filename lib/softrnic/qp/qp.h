/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs: what their commands and their data path know of each other.
 *
 * A QP is the owner of a struct roce_qp (roce/roce.h): it fetches WQEs, writes CQEs, checks keys, and hands packets to
 * the wire. All of it runs under the poller's lock.
 */
#ifndef SOFTRNIC_QP_H
#define SOFTRNIC_QP_H

#include <string.h>

#include "device.h"
#include "prm/qp.h"
#include "qp/segments.h"
#include "roce/roce.h"

/* Send WQEs are at most so long (max_wqe_sz_sq). */
#define SOFTRNIC_QP_WQE_BYTES_MAX 1024u
/* What the QPs of a device may keep of the device's own memory: copies of WQEs, requests, saved READs. */
#define SOFTRNIC_QP_MEMORY (UINT64_C(256) << 20)

/*
 * A receive memory pool, for many QPs and RQs: receive WQEs in a linked list, which is what an SRQ is, or one behind the
 * other.
 */
struct softrnic_rmp {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec; /* counter 0: WQEs posted */
	struct softrnic_object *pd_object;
	uint32_t pd;
	uint16_t producer; /* as last read from the record */
	uint16_t consumer; /* WQEs taken */
	uint16_t next;	   /* index of the WQE that is taken next */
	uint16_t limit;	   /* fewer left than this: SRQ_LIMIT once, then 0 */
	uint8_t log_size, log_stride;
	uint8_t state; /* enum rnic_wq_state: RDY, ERR */
	bool cyclic;
	struct rnic_rmpc context;
};

/* Where the data segments of its WQEs begin. */
static inline uint32_t
softrnic_rmp_first(const struct softrnic_rmp *rmp)
{
	return rmp->cyclic ? 0 : sizeof(struct rnic_wqe_next);
}

/* An entry of the RoCE address table: a GID. */
struct softrnic_roce_addr {
	bool valid;
	struct rnic_roce_addr context;
	uint8_t gid[16];
	uint8_t mac[6];
};
#define SOFTRNIC_ROCE_ADDRS 128

/* An IPv4 address as a GID: ::ffff:a.b.c.d. */
static inline bool
softrnic_gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

/* A receive ring of the QP's own; `rmp` of the QP stands for it when that is not NULL. */
struct softrnic_qp_rq {
	uint16_t consumer, producer;
	uint8_t log_size, log_stride; /* stride in bytes, log2 */
};

struct softrnic_qp {
	struct softrnic_object object;
	struct roce_qp roce; /* its state is the QP's */

	/* The control plane's (create.c, modify.c): set at CREATE, or by a modify. */
	struct softrnic_ring ring; /* both rings: receive WQEs first, then send WQEBBs */
	struct softrnic_dbrec dbrec;
	struct softrnic_cq *send_cq, *recv_cq;
	struct softrnic_rmp *rmp;	    /* may be NULL */
	struct softrnic_q_counter *counter; /* may be NULL */
	struct softrnic_object *pd_object, *uar_object;
	uint32_t pd, uar, user_index;
	uint32_t sq_offset;  /* of the send ring, bytes */
	uint8_t sq_log_size; /* WQEBBs */
	bool no_sq, no_rq, rlky;
	bool utc; /* the times of its completions are */
	struct softrnic_qp_rq rq;
	/* The path: the address of ours that is the source, the peer's. */
	uint8_t source_index;
	uint8_t dgid[16];
	uint8_t dmac[6];

	/* The data path's (data.h). */
	struct softrnic *dev;
	uint16_t sq_consumer;	   /* WQEBBs fetched */
	uint16_t sq_producer;	   /* as last read from the record */
	bool sq_failed, rq_failed; /* that ring cannot be read any more */
	bool broken;		   /* an event told why it must go to ERR, or why it did */
	bool error_told;	   /* an error CQE of a send WQE was written since RST */
	bool active;		   /* on the list of those with work */
	bool suspect;		   /* the sweep saw work that no doorbell has told of yet */
	bool timed;		   /* on the list of those with a deadline */
	uint32_t watched; /* its place among those that watch.c looks at, from 1 on; 0: none */
	/* Private copies of the send WQEs that are not done, at the offsets that they have in the ring. */
	uint8_t *wqes;
	/* Private copy of the receive WQE in use: its data segments. */
	uint8_t *recv_wqe;
	uint32_t recv_bytes;
	/* Where the last packet's data was found: of what is sent, of a READ's answer, of what is received. */
	struct softrnic_qp_cursor gather_at, scatter_at, recv_at;
	uint64_t deadline;
	uint64_t memory; /* bytes that count in the device's budget */
	TAILQ_ENTRY(softrnic_qp) active_link;
	TAILQ_ENTRY(softrnic_qp) sweep_link;
	TAILQ_ENTRY(softrnic_qp) timed_link;

	/* Cold: the control plane's, as created and modified, for QUERY_QP. */
	struct rnic_qpc context;
};

/* ---- What the data path offers the commands. ---- */

/*
 * The last step of CREATE_QP, with everything above filled and no number yet: memory for requests and copies of WQEs,
 * state RST. RNIC_STATUS_OK, or NO_RES (the device's budget for such memory, or none to be had).
 */
int softrnic_qp_open(struct softrnic *dev, struct softrnic_qp *qp);
/* Off all lists, memory given back; no host memory is touched, nothing completes. */
void softrnic_qp_close(struct softrnic *dev, struct softrnic_qp *qp);
/*
 * Change the state; attr as in roce_qp_modify(). What must be flushed or drained is, by the polls that follow. To RST:
 * counters of the rings are 0 again. RNIC_STATUS_OK; BAD_RES_STATE: no such change; BAD_PARAM: a value.
 */
int softrnic_qp_change(struct softrnic *dev, struct softrnic_qp *qp, enum roce_state to,
		       const struct roce_attr *attr);
/* What QUERY_QP reports of a QP beyond its context: state (SQ_DRAINING included), counters, PSNs. */
void softrnic_qp_report(const struct softrnic_qp *qp, struct rnic_qpc *qpc);
/* ---- Of memory pools (rmp.c). ---- */

/* MODIFY_RMP armed a limit: is it reached already? */
void softrnic_rmp_limit(struct softrnic *dev, struct softrnic_rmp *rmp);
/* Has it no WQE now? One in error is not empty: its error is for who comes for a WQE. */
bool softrnic_rmp_empty(struct softrnic *dev, struct softrnic_rmp *rmp);
/*
 * Copy the next WQE into `wqe`, 2^log_stride bytes. *counter: how completions name it, by its place in the list, or by
 * its count. 1; 0: there is none; < 0: the pool is in error, which its event has told.
 */
int softrnic_rmp_take(struct softrnic *dev, struct softrnic_rmp *rmp, uint8_t *wqe,
		      uint16_t *counter);

/* ---- What the device calls. ---- */

/* Kick: look at the queue pair of this number (a doorbell named it). */
void softrnic_qp_doorbell(struct softrnic *dev, uint32_t qpn);
/* Look at the records of the next so many QPs: repairs doorbells that were lost on a shared page. */
void softrnic_qp_sweep(struct softrnic *dev, unsigned int count);
/* Execute WQEs, send what is due, look at timers: the work done. Direct call from softrnic_poll(), behind the SQs. */
unsigned int softrnic_qps_poll(struct softrnic *dev);
/* Is there anything that it could look at? */
static inline bool
softrnic_qps_wait(const struct softrnic *dev)
{
	return dev->qp_watch.count > 0 || !TAILQ_EMPTY(&dev->active_qps) ||
	       !TAILQ_EMPTY(&dev->timed_qps);
}

#endif
