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

#endif
