/* SPDX-License-Identifier: BSD-3-Clause */

/* The device's state. All code that uses it runs under the poller's lock. */
#ifndef SOFTRNIC_DEVICE_H
#define SOFTRNIC_DEVICE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "prm/caps.h"
#include "softrnic/base/parts.h"
#include "softrnic/roce/roce.h"
#include "softrnic/softrnic.h"

/* What state the function must be in for a command (a lower one: BAD_SYS_STATE). */
enum softrnic_hca_state {
	SOFTRNIC_HCA_OFF,     /* after reset: ENABLE_HCA only */
	SOFTRNIC_HCA_ENABLED, /* pages, ISSI, capabilities, INIT_HCA */
	SOFTRNIC_HCA_READY,   /* after INIT_HCA: everything else */
};

/* The parts of a device's round, in their order (poll.c). */
enum softrnic_part {
	SOFTRNIC_PART_COMMANDS,
	SOFTRNIC_PART_SQS,
	SOFTRNIC_PART_QPS,
	SOFTRNIC_PART_WIRE,
	SOFTRNIC_PART_EVENTS,
	SOFTRNIC_PARTS,
};

/* Beside the 32 command slots: quirks are to be polled in each round. As a bit of the doorbell this costs other devices nothing. */
#define SOFTRNIC_BELL_QUIRKS (UINT64_C(1) << 32)

struct softrnic {
	char name[SOFTRNIC_NAME_BYTES];
	struct softrnic_poller *poller;
	struct softrnic_budget *budget; /* the poller's: see work.h */
	TAILQ_ENTRY(softrnic) link;	/* of the poller */
	TAILQ_ENTRY(softrnic) group_link;

	/* hot: read by every poll */
	atomic_ullong cmd_doorbell; /* slots rung, set by bar writes, and SOFTRNIC_BELL_QUIRKS */
	enum softrnic_hca_state state;
	bool dump_queues; /* see dump.h */
	/* TIRs that want what this function sends to itself; on its way to them, enum rnic_tir_self_lb */
	uint32_t self_lb_tirs;
	uint8_t self_lb;
	bool send_aside;   /* faults, or such TIRs: frames that are sent are looked at again */
	bool dead;	   /* fatal fault: executes nothing */
	bool leaving;	   /* objects are being dropped, and nothing else is done */
	bool round_cut;	   /* the last round ended before all parts had their turn: see poll.c */
	uint8_t next_part; /* ... and the next one begins here: enum softrnic_part */
	uint64_t dma_generation;
	uint32_t quiet_polls; /* since the last one with work */
	uint32_t open_rqs;    /* receive queues that have left RST */
	uint32_t ready_rqs;   /* ... of which so many are RDY */
	uint32_t open_qps;    /* queue pairs that commands have brought to RTR, or further */
	struct softrnic_object_table tables[SOFTRNIC_OBJECT_TYPES];
	TAILQ_HEAD(softrnic_sq_list, softrnic_sq) active_sqs;
	struct softrnic_sq_list swept_sqs; /* all that have left RST */
	TAILQ_HEAD(, softrnic_rq) flushing_rqs;
	TAILQ_HEAD(softrnic_cq_list, softrnic_cq) swept_cqs;
	STAILQ_HEAD(softrnic_cq_pending, softrnic_cq) pending_cqs;
	LIST_HEAD(, softrnic_cq) latched_cqs;		     /* that hold entries back */
	TAILQ_HEAD(softrnic_held_cqs, softrnic_cq) held_cqs; /* whose event waits, by moderation */
	/* queue pairs: with work, all that have left RST, with a deadline (receive/qp.h) */
	TAILQ_HEAD(softrnic_qp_list, softrnic_qp) active_qps;
	struct softrnic_qp_list swept_qps, timed_qps;
	struct softrnic_qp_watch qp_watch;
	/*
	 * no deadline of theirs is before this one, but for those of the timed_left that are still to be looked at; 0 while the
	 * wire is full
	 */
	uint64_t qps_deadline;
	uint32_t timed_count, timed_left; /* of timed_qps, which begins with those */
	uint64_t qps_memory;		  /* bytes: see SOFTRNIC_QP_MEMORY */
	uint64_t rings_memory;		  /* bytes: see SOFTRNIC_RING_MEMORY */
	uint64_t memory;		  /* bytes: see softrnic_alloc() */
	bool memory_refused;		  /* since the command under way began */
	uint32_t flow_counters;		  /* of all blocks: SOFTRNIC_MAX_FLOW_COUNTERS */
	uint64_t umems_memory;		  /* SOFTRNIC_UMEM_MEMORY */
	uint16_t uid;			  /* on whose behalf that is; 0 behind it */
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
	uint64_t fatal_at_ns;	    /* when the firmware meets its end; 0: not planned */
	struct softrnic_quirks quirks;

	/* Ethernet and the wire */
	struct softrnic_port port;
	/* The port's: to an EQ whose last PORT_CHANGE has been read, where the link has changed since */
	void (*port_tell)(struct softrnic *dev, uint32_t eqn);
	struct softrnic_steering *steering;    /* receive/steer.h: root tables */
	struct softrnic_roce_addr *roce_addrs; /* SOFTRNIC_ROCE_ADDRS of them: GIDs */
	uint32_t roce_addr_last;	       /* of them: that a packet came to */
	struct softrnic_mcgs *mcgs;	       /* receive/mcg.c's own: groups of queue pairs */
	uint32_t mcg_count;		       /* of them that there are */
	uint8_t *roce_room;		       /* for a frame that is made of a packet */
	struct softrnic_roce_seen *roce_seen;  /* receive/roce.h */
	uint64_t
		roce_generation; /* of addresses and wires, ours and those of others: see softrnic_roce_changed() */
	struct roce_counters roce_counters; /* of queue pairs without a counter set */
	struct softrnic_qp *qp1;	    /* the one of type QP1, or NULL */
	const struct softrnic_wire_ops *wire, *wire_prepared; /* wire/ops.h */
	void *wire_data;
	/* The device at the other end of the wire, where that is one of ours: itself for a loop; NULL: none */
	struct softrnic *peer;
	bool wire_full; /* it takes no frame now: one that is sent is an error of the port */
	bool wire_busy; /* it has room for what is under way, and no more: queues wait */
	/* dev->now when queue pairs began to wait for it, see engine/qp_poll.c; 0: they do not */
	uint64_t wire_waits_from;
	struct softrnic_faults *faults; /* wire/held.h */

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

#endif
