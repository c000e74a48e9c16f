/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the checking programs share: EAL with the plugin, pairs of ports, and frames whose every byte follows from a
 * sequence number. A program is one lcore; the device thread of the process is the other busy one.
 */
#ifndef E2E_PORT_H
#define E2E_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../counts.h"

#define E2E_HEADROOM 16 /* of the generated part: Ethernet header, then 2 bytes zero */

struct e2e_conf {
	uint16_t mtu;
	uint16_t rx_desc, tx_desc;
	uint16_t tx_queues, rx_queues;
	uint64_t rx_deferred, tx_deferred; /* queues that wait, by bit */
	bool no_fast_free;
	bool promiscuous;
	bool rss; /* with these types and this key, NULL for the default */
	uint64_t rss_hf;
	uint8_t *rss_key;
	uint64_t rx_offloads, tx_offloads;
	bool rx_interrupts;
	bool link_polled;	     /* the device is asked; else what it last told of is known */
	struct rte_mempool *rx_pool; /* default: e2e_pool */
};

extern struct rte_mempool *e2e_pool;
bool e2e_sanitized(void);
/*
 * Of a plugin whose device compares copies of WQEs in BlueFlame registers with what it executed: so many at least were
 * compared, and all were right. False: what was wrong is said.
 */
bool e2e_blueflame_right(unsigned long long least);
/* Does the argument, if there is one, ask for BlueFlame? */
bool e2e_blueflame(int argc, char *const *argv);

/*
 * A program's ports are vdevs, or PCI functions, each "pci:ADDRESS[,KEY=VALUE,...]". Those of the arguments if the first one
 * names a function, as all then do; else the given ones, with the devargs of an argument added. NULL ended.
 */
bool e2e_on_pci(int argc, char *const *argv);
const char *const *e2e_ports(int argc, char **argv, const char *const *vdevs);
/* Port `index` with these devargs, or on the function that they are. */
void e2e_port_spec(char *spec, size_t room, unsigned int index, const char *devargs);

/*
 * EAL with options for a quiet process and the ports given (NULL ended), and a pool. Functions have hugepages, which must be
 * there; vdevs need none. With E2E_MTU set, ports are started with that MTU. 0, or -1 with a message.
 */
int e2e_init(const char *name, const char *const *ports);
/* The device behind such a port, by its place in that list. */
const char *e2e_port_name(unsigned int index);
void e2e_fini(void);

/* Configure and start; members that are 0 have defaults (1500, 512, 512, 1). */
int e2e_port_setup(uint16_t port, const struct e2e_conf *conf);
int e2e_port_stop(uint16_t port);
/* Wait for the link of a port; false: not so within a minute. */
bool e2e_wait_link(uint16_t port, bool up);
/* Wait until a member of its statistics (by its offset) has come to a value; false: not so within a minute. */
bool e2e_wait_counted(uint16_t port, size_t member, uint64_t value);
/* Ports 0 and 1, which a wire joins, until their links are up. False: what was wrong is said. */
bool e2e_pair_start(const struct e2e_conf *conf0, const struct e2e_conf *conf1);
/* As they were configured: stopped, or running. */
bool e2e_pair_resume(void);
bool e2e_pair_restart(void);
/* No mbuf of the pool stays behind, either. */
bool e2e_pair_stop(void);
/* For a test that failed half way: a teardown of cmocka. */
int e2e_pair_give_up(void **unused);
/* mbufs that are not in the pool (in queues, or lost). */
unsigned int e2e_pool_used(struct rte_mempool *pool);

/* A frame to a port's address, in `segs` segments of about equal length; NULL: no mbufs. */
struct rte_mbuf *e2e_frame(struct rte_mempool *pool, uint16_t to, uint64_t sequence,
			   uint32_t length, unsigned int segs);
/* Is it that frame, to the last byte? Says where not. */
bool e2e_check(const struct rte_mbuf *mbuf, uint16_t to, uint64_t sequence, uint32_t length);

/* Send all of them, or say how many were. */
uint16_t e2e_send(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t count);
/* Receive `count` packets; fewer if nothing comes for a minute. */
uint16_t e2e_receive(uint16_t port, struct rte_mbuf **pkts, uint16_t count);
/* Nothing comes for a while? What does is freed. */
bool e2e_silent(uint16_t port);

/*
 * Is a frame to that address, with that VLAN's tag, delivered to port 1? One to the port's own address behind it tells: 1
 * yes, 0 no, -1 not even that one came.
 */
#define E2E_UNTAGGED 0xffff
int e2e_delivered(const struct rte_ether_addr *to, uint16_t vlan_id);

/* `count` (at most 64) frames from one port to the other, all checked. */
bool e2e_exchange(uint16_t from, uint16_t to, uint64_t sequence, uint32_t length, unsigned int segs,
		  unsigned int count);

/* `count` (at most 64) frames of 64 bytes from port 0 to the other one. */
bool e2e_send_frames(unsigned int count);
/*
 * 8 frames of a length from port 0, their statistics and those of port 1 once a port has counted them, by that member. They
 * begin at zero.
 */
bool e2e_send_eight(uint32_t length, uint16_t port, size_t member, struct rte_eth_stats *tx,
		    struct rte_eth_stats *rx);

/* A generator of its own, so that runs can be repeated. */
static inline uint64_t
e2e_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
