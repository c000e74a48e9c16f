/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a forwarder and its peers know of each other. Both have the same byte order.
 *
 * A peer sends a request to queue pair 1 of the forwarder, and gets an answer from there; then it READs the counters and WRITEs
 * the table, and the forwarder's CPU has no part in it. Datagrams may be lost: a peer asks until it is answered.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdint.h>

#include <rte_ether.h>

#include <rdmapmd.h>

#define MAGIC	0x72776631u
#define ENTRIES 256

/* Where a frame goes. */
enum action {
	ACTION_OTHER, /* out of the other port, as those that no entry is for */
	ACTION_BACK,  /* out of the port that it came in at */
	ACTION_DROP,
};

/* Of the frames to the address of an entry, or (behind the last one) of all others. */
struct counter {
	uint64_t packets, bytes;
};

struct request {
	uint32_t magic;
	uint32_t qp_num, psn; /* of the peer's queue pair of RC */
	union rdmapmd_gid gid;
};

struct answer {
	uint32_t magic;
	uint32_t asked;	      /* the request's qp_num: which one this is the answer to */
	uint32_t qp_num, psn; /* of the forwarder's queue pair for it */
	uint32_t counters_rkey, table_rkey;
	uint64_t counters, table; /* struct counter [ENTRIES + 1], uint64_t [ENTRIES] */
};

/* A datagram's buffer: the header that every one comes with, and either of these. */
#define DATAGRAM (RDMAPMD_GRH_BYTES + sizeof(struct answer))

/*
 * An entry is a word of 8 bytes at a multiple of 8, so that it is changed as a whole: an address, and what becomes of its frames.
 * Its place is the last byte of the address.
 */
static inline uint64_t
entry_of(const struct rte_ether_addr *address, enum action action)
{
	uint64_t word = 0;
	unsigned int i;

	for (i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		word = word << 8 | address->addr_bytes[i];
	return word << 16 | (uint64_t)action;
}

static inline unsigned int
index_of(const struct rte_ether_addr *address)
{
	return address->addr_bytes[5];
}

#endif
