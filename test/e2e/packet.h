/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets for the tests of offloads: frames by test/device/frame_spec.h, to and from a pair of ports. */
#ifndef E2E_PACKET_H
#define E2E_PACKET_H

#include <rte_mbuf.h>

#include "frame_spec.h"
#include "port.h"

#define PACKET_ROOM 66000u

/* EAL, and ports 0 and 1 as a pair: PCI functions, or vdevs with an argument added to their devargs. 0 or -1. */
int packet_init(const char *name, int argc, char **argv);
/* Start both ports so. */
void packet_start(const struct e2e_conf *sender, const struct e2e_conf *receiver);
/* Stop them: every mbuf has come back. */
void packet_stop(void);
/* A cmocka teardown, after a test that failed half way. */
int packet_teardown(void **state);

/* The frame, to port 1. Returns its length. */
uint32_t packet_build(uint8_t *frame, const struct df_spec *spec, uint32_t at);
/* An mbuf of these bytes in `segs` segments, with the lengths of its headers. */
struct rte_mbuf *packet_mbuf(const uint8_t *frame, uint32_t bytes, unsigned int segs,
			     const struct df_spec *spec);
/* Send from port 0: all of it is taken. */
void packet_send(uint16_t queue, struct rte_mbuf **pkts, uint16_t count);
/* The next packet at port 1 is exactly this; it is freed. */
void packet_expect(const uint8_t *frame, uint32_t bytes);
void packet_expect_spec(const struct df_spec *spec, uint32_t at);
/* The same, and the caller's. */
struct rte_mbuf *packet_receive(const uint8_t *frame, uint32_t bytes);
uint64_t packet_errors(void); /* of port 0 */
/* The hash of RSS, by the addresses and perhaps the ports that the frame has. */
uint32_t packet_hash(const uint8_t *frame, const struct df_spec *spec, bool ports,
		     const uint8_t *key);

/* IP's, where it has one, and TCP's or UDP's: the flags of an mbuf that asks for them. */
uint64_t packet_checksums(const struct df_spec *spec);
/* The packet with nonsense where the flags ask for checksums. */
struct rte_mbuf *packet_make(const struct df_spec *spec, uint64_t ol_flags, unsigned int segs,
			     uint32_t at);
/* What a tag in front of its own makes of the packet. */
struct df_spec packet_tagged(const struct df_spec *spec, uint16_t tci);
/* To be cut into segments, each with a tag. */
void packet_send_large(const struct df_spec *spec, uint32_t mss, unsigned int segs, bool tag);
/* They come as RFC 793 and the rules of segmentation have them, in order. */
void packet_expect_large(const struct df_spec *spec, uint32_t mss, bool tag);

#endif
