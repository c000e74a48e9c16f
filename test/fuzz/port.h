/* SPDX-License-Identifier: BSD-3-Clause */

/* An ethdev port of the driver without ethdev: its queues, and packets for them. */
#ifndef TEST_FUZZ_PORT_H
#define TEST_FUZZ_PORT_H

#include "liar.h"

#include "core/dev.h"
#include "ethdev/port.h"
#include "ethdev/rx_queue.h"
#include "ethdev/tx_queue.h"

#define PORT_QUEUES 2
#define PORT_MTU    1500
#define PORT_BURST  16

struct port_queues {
	uint16_t index;
	struct rnic_dev *dev;
	struct rnic_rxq *rxq;
	struct rnic_txq *txq;
	struct rte_mempool *pool;
	bool rx_up, tx_up, small;
	unsigned int tells; /* RNIC_RX_TELLS... */
};

enum port_flag {
	PORT_SMALL = 1 << 0,	 /* mbufs, so that frames take several */
	PORT_FAST_FREE = 1 << 1, /* promised */
	PORT_OFFLOADS = 1 << 3,
	PORT_TIMES = 1 << 4, /* when a frame came */
};

extern struct rnic_ethdev port;
/* Of each queue; before it is set up. */
extern uint16_t port_descriptors;

/* What devices are opened with from port_init() on. */
extern struct rnic_tunables port_tunables;
/* Once per process: EAL, mempools, a driver without patience, and what liar.h needs. */
void port_init(void);
/* For this device, from now on. */
void port_open(struct rnic_dev *dev);
/* A receive and a transmit queue, not started. */
bool port_setup(struct port_queues *q, struct rnic_dev *dev, uint16_t index, uint8_t flags);
void port_release(struct port_queues *q);
void port_rx_start(struct port_queues *q);
void port_rx_stop(struct port_queues *q);
/* While it is started: it takes no frames; and again. */
int port_rx_halt(const struct port_queues *q);
int port_rx_resume(const struct port_queues *q);
void port_tx_start(struct port_queues *q);
void port_tx_stop(struct port_queues *q);
/* u8 packets, u8 segments, u16 bytes of each; with offloads, of each packet what it asks for */
void port_transmit(struct port_queues *q, struct fuzz_input *input);
/* u8 how many at most. What an application may count on is checked. */
void port_receive(struct port_queues *q, struct fuzz_input *input);
/* What ethdev asks of queues. */
void port_ask(const struct port_queues *q);
/* The application takes all mbufs of the pool that the queues have, or gives them back. */
void port_hold(const struct port_queues *q);
void port_give_back(void);
/* No mbuf is with anybody. */
bool port_mbufs_are_back(void);
/* What the process has of EAL's memory. */
size_t port_heap_bytes(void);

#endif
