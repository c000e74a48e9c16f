/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A device on the wire through another ethdev: a net_ring, whose other ends the test holds. What comes out of the device is
 * in `cable_out`, what goes into it through `cable_in`.
 */
#ifndef TEST_WIRE_CABLE_H
#define TEST_WIRE_CABLE_H

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "wire_world.h"

#define CABLE_ETHDEV "net_ring_cable"
#define CABLE_RING   64 /* one frame fewer fits */

extern struct rte_ring *cable_in, *cable_out;
extern struct rte_mempool *cable_pool;

/* Make the ethdev; its number. And remove it. */
uint16_t cable_make(void);
uint16_t cable_id(void);
void cable_end(void);
/* How many pools of mbufs wires have now. */
unsigned int cable_pools(void);

/* Frame `number`, and frames on the ethdev's side. */
struct rte_mbuf *cable_mbuf(uint32_t bytes, uint32_t number);
void cable_put(struct rte_mbuf *mbuf);
/* The next frame that came out is that one. */
void cable_take(uint32_t bytes, uint32_t number);
void cable_take_none(void);

/*
 * Something that EAL's interrupt thread is about to do. Naps are counted, not seconds: who was held up for long has not
 * waited for long.
 */
void cable_nap(unsigned int *naps, const char *what);

/* A device whose wire the ethdev is. */
void cable_open(struct dp_side *ww);
void cable_wait_for_link(struct dp_side *ww, bool up);
void cable_pass_both_ways(struct dp_side *ww);
/* The ethdev is made, and the device that was without has it: it works. */
void cable_comes(struct dp_side *ww);

/* Of each test: there is the ethdev, and the device if wanted; at their end all mbufs are back. */
int cable_setup(void **state);
int cable_setup_open(void **state);
int cable_teardown(void **state);

/* EAL, and the tests in it: what main() returns. */
int cable_main(const char *name, int (*run)(void));

#endif
