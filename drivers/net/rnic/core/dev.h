/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's device: one PCI function (or an embedded software one), from bring-up to its objects. A file that needs an
 * object includes its own header; this one has the struct alone, which points to what the objects keep to themselves.
 *
 * Threads: control calls on a port are its application's, one at a time, as ethdev has it; those of the library, the control
 * thread's and those on memory come from any thread beside them. There is no lock of the whole device: each object that
 * several of them share has one of its own (README.md has their order), and commands have a slot each. The data path
 * takes none but the two that README.md names.
 */
#ifndef RNIC_CORE_DEV_H
#define RNIC_CORE_DEV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "access/access.h"
#include "base/devargs.h"
#include "base/tunables.h"
#include "prm/caps.h"
#include "prm/init_seg.h"

struct rdmapmd_device;
struct rnic_control;
struct rnic_control_source;
struct rnic_eqe;
struct rnic_rxq;

struct rnic_cmdq;
struct rnic_pages;
struct rnic_eq;
struct rnic_uars;
struct rnic_dbrecs;
struct rnic_mkeys;
struct rnic_mkey_pools;
struct rnic_rdma;
struct rnic_mpfs;
struct rnic_neigh;
struct rnic_q_counters;
struct rnic_port_mac;
struct rnic_qp_rule;

/* Whose event queues the control thread serves (core/control.h), in this order; one source each. */
enum rnic_control_slot {
	RNIC_CONTROL_RDMA,
	RNIC_CONTROL_RX_INTR,
	RNIC_CONTROL_NEIGH,
	RNIC_CONTROL_SLOTS,
};

struct rnic_event_listeners {
	void *event_arg, *port_arg;
	bool (*_Atomic on_event)(void *arg, const struct rnic_eqe *eqe);
	void (*_Atomic on_port_change)(void *arg);
	atomic_bool port_changed; /* on_port_change is to be called */
};

/* Who is told that the device is lost (core/health.h), in this order; one listener each. */
enum rnic_lost {
	RNIC_LOST_RDMA,
	RNIC_LOST_ETHDEV,
	RNIC_LOST_SLOTS,
};
struct rnic_lost_listener {
	void *arg;
	void (*_Atomic fn)(void *arg);
};

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
	struct rnic_rdma *rdma;		  /* NULL: the device has none */
	struct rnic_neigh *_Atomic neigh; /* NULL: nor has it addresses */
	uint32_t eq_uar;		  /* the UAR page that EQs ring */
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

	pthread_mutex_t quiesce_lock;
	atomic_bool quiesced; /* lost, and reset since; changes under the lock */
	atomic_ullong end_us; /* it is being closed, until then; 0: it is not */

	uint8_t port_status_found;  /* enum rnic_port_status before bring-up; 0 unknown */
	atomic_uint port_status;    /* ... as we have set it last; 0: not yet */
	pthread_mutex_t port_lock;  /* of the next three */
	struct rnic_port_mac *macs; /* of queue pairs */
	uint32_t mac_count;
	struct rnic_mpfs *mpfs;			 /* NULL: the function has none to enter */
	int (*follow_mac)(struct rnic_dev *dev); /* object/port.c */
	atomic_uint port_refused; /* what the function may not do, as far as it was said */

	/* steering/qp_rules.c: frames of queue pairs */
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
		bool one_destination; /* the card says that an entry may lead to two, and takes none */
	} qp_steering;

	/* steering/neigh_rules.c: frames of neighbours, in front of all others */
#define RNIC_NEIGH_RULES 5
	struct rnic_neigh_rules {
		pthread_mutex_t lock;
		struct rnic_neigh_rules_table {
			uint32_t number, groups[RNIC_NEIGH_RULES];
			uint8_t has_groups, entries; /* a bit for each that is there */
		} table;
		bool up, has_next;
		uint32_t tir, next;
	} neigh_rules;

	/* ethdev/rx_intr.c: event queues of Rx interrupts, by receive queue; the queues themselves are their threads' */
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
	atomic_bool dead;	 /* commands no longer reach it */
	struct rnic_lost_listener on_lost[RNIC_LOST_SLOTS];
	struct rnic_event_listeners events;

	struct rnic_control *control;
	const struct rnic_control_source *_Atomic sources[RNIC_CONTROL_SLOTS];
	struct rdmapmd_device *device; /* in the process's list of devices */

	struct rnic_tunables tunables; /* as it was opened with */
};

/* Registers of the initialization segment. */
static inline uint32_t
rnic_register_read(struct rnic_dev *dev, enum rnic_init_seg_field field)
{
	uint32_t value =
		rnic_be32_to_cpu(dev->access->ops->read32(dev->access, RNIC_FIELD_OFFSET(field)));

	return value >> RNIC_FIELD_LOW(field) & (uint32_t)rnic_field_mask(field);
}
static inline uint64_t
rnic_general_cap(const struct rnic_dev *dev, enum rnic_general_cap_field field)
{
	return rnic_general_cap_get(&dev->caps.general, field);
}
/* By rnic_now_us(): no command waits longer, and none begins then. */
static inline uint64_t
rnic_dev_end_us(struct rnic_dev *dev)
{
	const uint64_t end = atomic_load(&dev->end_us);

	return end != 0 ? end : UINT64_MAX;
}

#endif
