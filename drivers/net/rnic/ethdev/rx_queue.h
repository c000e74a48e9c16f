/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A receive queue: a cyclic receive queue, its completion queue, and the mbufs that stand in it.
 *
 * A frame takes exactly one WQE, in order, so completions need no lookup. A WQE has 2^log_segs slots for mbufs in `elts`,
 * of which `segs` are used; a frame that needs fewer leaves the rest in place.
 */
#ifndef RNIC_ETHDEV_RX_QUEUE_H
#define RNIC_ETHDEV_RX_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ethdev/port.h"
#include "ethdev/recovery.h"
#include "object/cq.h"
#include "object/mempool.h"
#include "object/rq.h"

struct rnic_dev;
struct rnic_eq;
struct rte_mbuf;
struct rte_mempool;

#define RNIC_RX_REFILL	 32 /* WQEs refilled at once, at most half of the smallest ring */
#define RNIC_RX_SEGS_MAX 16
#define RNIC_RX_WQES_MIN 16

struct rnic_rxq {
	/* hot: every burst */
	struct rnic_cq cq;
	struct rnic_rq rq;
	_Atomic enum rnic_queue_state state;
	uint16_t consumer; /* WQEs, free running */
	uint8_t log_segs, segs;
	uint32_t segment_bytes; /* room for data in one mbuf, behind the headroom */
	uint32_t frame_bytes;	/* the largest frame that a WQE takes */
	struct rte_mbuf **elts;
	struct rte_mempool *pool;
	uint64_t rearm; /* rearm_data of a fresh mbuf */
	struct rnic_queue_stats stats;
	struct rnic_mkey_cache mkeys;

	/* rx.c: of a title whose completions were not all taken (cq.session); what all of them have, and the list under way */
	struct rnic_rx_session {
		uint32_t first, at; /* the title's index; frames taken */
		uint64_t ol_flags;
		_Alignas(16) uint8_t fields[16]; /* the mbuf's, with nothing where the list tells */
		uint64_t minis[8];
	} session;

	/* rx_offload.c: what the bytes of a completion mean, flags as those of mbufs; only if the port tells */
	uint64_t timestamp_flag; /* 0: no timestamps */
	int timestamp_offset;
#define RNIC_RX_BYTES 256
	struct rnic_rx_type {
		uint32_t ptype, flags;
	} types[RNIC_RX_BYTES];		  /* l4_l3_hdr_type */
	uint32_t verified[RNIC_RX_BYTES]; /* hds_ip_ext; of `flags` those that hold */
	uint32_t hashed[RNIC_RX_BYTES];	  /* rx_hash_type */

	/* cold */
	struct rnic_dev *dev;
	struct rte_mempool *registered; /* the pool, while it is registered for this queue */
	uint64_t offloads;
	bool ptypes;	/* any are wanted */
	uint32_t slots; /* in elts */
	unsigned int socket;
	uint16_t nb_desc, queue_id, port_id;
	struct rnic_recovery recovery;
	bool deferred_start;

	/* rx_intr.c: while the port runs with Rx interrupts */
	struct rnic_eq *eq;
	uint32_t arm_sequence; /* of the next arming */
	atomic_bool armed;     /* once, since the port runs */
};

/* What the burst functions of a port tell of a frame: */
#define RNIC_RX_TELLS	   0x1 /* all but when it came */
#define RNIC_RX_TELLS_TIME 0x2 /* that, too */
#define RNIC_RX_COMPRESSED 0x4 /* completions of its queues are compressed */

#endif
