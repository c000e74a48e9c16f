/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Another ethdev of the process as the cable: net_af_packet, net_tap, net_memif, a NIC; one queue each way.
 *
 * The polling thread moves frames, under the poller's lock, and tells the device of its link: that writes an event to
 * client memory, which no other thread of a daemon may touch. Everything else is port_look()'s, in EAL's interrupt thread:
 * it takes the ethdev when it is there, starts it, follows its link, tells it the MTU. It calls ethdev without the
 * poller's lock: EAL's locks are taken there, and who holds those may wait for the poller's (memory that an application
 * frees is unmapped from the device).
 *
 * The ethdev may come before or after the device, go, and come again. A new one is only known by number while it is
 * announced, so that the event just has port_look() called.
 */
#ifndef SOFTRNIC_PORT_PRIVATE_H
#define SOFTRNIC_PORT_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "softrnic/base/device.h"

struct softrnic_poller;

#define PORT_BURST 32

enum port_stage {
	PORT_ABSENT,  /* there is no such ethdev */
	PORT_STARTS,  /* port_look() is at it */
	PORT_LIVE,    /* frames may be moved */
	PORT_UNFIT,   /* it could not be started: nothing more until it goes */
	PORT_REMOVED, /* the ethdev said that its device has gone */
};

struct port_wire {
	struct softrnic *dev;
	char name[RTE_ETH_NAME_MAX_LEN];
	uint64_t owner;
	bool told; /* events come, and calls of port_look() */
	/*
	 * EAL's interrupt thread and the threads that tell of events get the wire by this (port_lock()), and the interrupt
	 * thread gives it back by the other one (port_unlisten()): release and acquire, as EAL's own locks on the way
	 * are not ours to build on.
	 */
	_Atomic(struct softrnic_poller *) poller;
	atomic_uint looks;
	atomic_uint news; /* ethdevs that have appeared */

	/* Under the poller's lock. */
	enum port_stage stage;
	uint16_t id; /* of the ethdev, unless it is absent */
	bool up;
	bool idle;		  /* not live, or no bursts were called in the last poll */
	bool changed;		  /* stage or up: the polling thread has not told the device yet */
	struct rte_mempool *pool; /* changes only while no frames are moved */
	/* On their way: what the ethdev does not take now it is asked again. */
	struct rte_mbuf *tx[PORT_BURST];
	unsigned int tx_count;
	struct rte_mbuf *spare[PORT_BURST];
	unsigned int spare_count;
	/* Received in a burst, from rx_at on not yet looked at. */
	struct rte_mbuf *rx[PORT_BURST];
	unsigned int rx_count, rx_at;

	/* Of port_look(), for as long as it may be in a call of the ethdev's; taken before the poller's lock. */
	pthread_mutex_t looking;
	/* who holds it: what the ethdev tells of in that thread comes from within */
	atomic_uintptr_t looker;
	pthread_mutex_t alarming; /* held while an alarm is set */
	uint16_t mtu;		  /* as the ethdev was told last */
};

/* ---- port_frames.c, under the poller's lock ---- */

/* While dev->wire_full is not set there is an mbuf for the next frame, and a place to put it. */
void softrnic_wire_port_make_room(struct port_wire *wire);
/* Hands off the ethdev. The pool stays: it may still have mbufs. */
void softrnic_wire_port_let_go(struct port_wire *wire, enum port_stage stage);
unsigned int softrnic_wire_port_poll(struct softrnic *dev);

#endif
