/* SPDX-License-Identifier: BSD-3-Clause */

/* What the device's struct holds by value. The functions that belong to it are in the headers of its files. */
#ifndef SOFTRNIC_PARTS_H
#define SOFTRNIC_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "prm/vport.h"

/* ---- Objects (object.h). ---- */

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
	SOFTRNIC_XRCD,
	SOFTRNIC_UCTX,
	SOFTRNIC_UMEM,
	SOFTRNIC_FLOW_COUNTER,
	SOFTRNIC_OBJECT_TYPES,
};

/* First member of every object. An object with references cannot be destroyed (RES_BUSY). */
struct softrnic_object {
	uint32_t number;
	uint32_t refs;
	enum softrnic_object_type type;
	uint16_t uid; /* on whose behalf it was created */
};

struct softrnic_object_table {
	struct softrnic_object **slots; /* by number - first */
	uint32_t first, size, used;
	uint32_t next; /* where the search for a free number starts */
	/*
	 * Of shuffled ones: the slot at each position, and the position of each slot, both as its distance from there (xor), so
	 * that what was never touched costs no memory.
	 */
	uint32_t *order, *position;
	uint32_t fresh; /* those at the first positions */
};

/* ---- Who holds an address of host memory (resolved.h). ---- */

struct softrnic_resolved {
	uint32_t slot; /* in its list, from 1 on; 0: in none */
};

struct softrnic_resolved_list {
	struct softrnic_resolved **of;
	uint32_t count;
};

/* ---- Quirks (quirks.h). ---- */

enum softrnic_quirk {
	SOFTRNIC_QUIRK_INITIALIZING_AGAIN,
	SOFTRNIC_QUIRK_UAR_8,
	SOFTRNIC_QUIRK_UAR_16,
	SOFTRNIC_QUIRK_UAR_256,
	SOFTRNIC_QUIRK_TEARDOWN_REFUSED,
	SOFTRNIC_QUIRK_PAGES_LATE,
	SOFTRNIC_QUIRK_PAGES_SMALL,
	SOFTRNIC_QUIRK_PAGES_NEVER,
	SOFTRNIC_QUIRK_PAGE_REQUEST_EARLY,
	SOFTRNIC_QUIRK_INIT_PAGES_12874,
	SOFTRNIC_QUIRK_INIT_PAGES_60000,
	SOFTRNIC_QUIRK_NO_Q_COUNTERS,
	SOFTRNIC_QUIRK_ROCE_OFF,
	SOFTRNIC_QUIRK_HEALTH_STILL,
	SOFTRNIC_QUIRK_EVENTS_UNKNOWN,
	SOFTRNIC_QUIRK_COMMANDS_LATE,
	SOFTRNIC_QUIRK_PTYS_400,
	SOFTRNIC_QUIRK_PTYS_800,
	SOFTRNIC_QUIRK_PORT_MODULE,
	SOFTRNIC_QUIRKS,
};

struct softrnic_quirks {
	uint32_t set; /* bit n: enum softrnic_quirk */
	/* All times are CLOCK_MONOTONIC, ns. */
	atomic_ullong initializing_to; /* who rings commands looks at it without the lock */
	uint64_t still_from;	       /* of the health counter; 0: not planned */
	bool still_planned;	       /* once, ever */
	uint64_t pages_asked;	       /* when they were asked back; 0: they are not */
	uint64_t pages_use;	       /* when the device works in some again */
	bool pages_requested;	       /* since INIT_HCA, by page-request-early */
	bool pages_missing;	       /* and they are not there yet */
	unsigned int answers;	       /* late ones, ever */
	unsigned int unknown;	       /* events, ever */
	unsigned int port_events;      /* of port-module, since INIT_HCA */
	uint64_t port_event_at;	       /* the next one; 0: none was asked for */
};

/* ---- The port (port/port.h). ---- */

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
	/* A bit for each index of the switch's table that is in use; the address itself is not needed. */
	uint64_t l2_used[SOFTRNIC_L2_WORDS];
};

/* ---- Queue pairs whose doorbell records each poll looks at (engine/qp_watch.h). ---- */

struct softrnic_qp_watch {
	struct softrnic_qp_watched *of; /* `size` of them: one for each open QP, `count` in use */
	uint32_t count, size, users;
	uint32_t next; /* the look goes on in front of this one */
	/* of the DMA map that their pointers are from, but for those of the first `old` ones */
	uint64_t generation;
	uint32_t old;
};

/* ---- Interrupts. ---- */

struct softrnic_irq {
	void (*fn)(void *arg, unsigned int vector);
	void *arg;
};

#endif
