/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames to test offloads with: built from what they are, checksums included, by code that shares nothing with the
 * device's (RFC 791, 768, 793, 1071, 8200). And a device on a loop wire that they go through.
 */
#ifndef TEST_DATA_FRAMES_H
#define TEST_DATA_FRAMES_H

#include "data_path.h"

#define DF_TCP	    6
#define DF_UDP	    17
#define DF_TAGS	    2
#define DF_ROOM	    16384u /* of a buffer */
#define DF_RQ_LOG   7
#define DF_MTU_9000 9022 /* as registers count: with header, tag and FCS */

struct df_spec {
	uint32_t tags;
	uint16_t types[DF_TAGS], tcis[DF_TAGS]; /* of the tags, the outer one first */
	uint32_t version;			/* 4, 6, or 0: no IP */
	uint8_t proto;
	uint32_t ip_options,
		tcp_options;	  /* bytes: multiples of 4; of IPv6 of 8, one header or two */
	uint16_t ip_id, fragment; /* of IPv4: as they stand in the header */
	uint32_t seq;
	uint8_t tcp_flags;
	uint32_t payload;
	uint32_t padding; /* bytes behind the packet */
};

/* Where headers begin; of a frame of that kind, with whatever payload. */
uint32_t df_l3(const struct df_spec *spec);
uint32_t df_l4(const struct df_spec *spec);
uint32_t df_payload(const struct df_spec *spec);
uint32_t df_length(const struct df_spec *spec);
/* Where the checksum of TCP or UDP stands. */
uint32_t df_l4_checksum_at(const struct df_spec *spec);

/* Byte `at` of payloads. */
uint8_t df_byte(uint32_t at);
/* Write the frame, its payload beginning with byte `at` of payloads. Returns its length. */
uint32_t df_build(uint8_t *frame, const struct df_spec *spec, uint32_t at);
/* The sum of big-endian words, an odd byte at the end as if a zero followed; not complemented. */
uint32_t df_sum(const uint8_t *bytes, uint32_t length);
uint16_t df_fold(uint32_t sum);

struct df_world {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *out, *in; /* DF_ROOM bytes to send from; as many for each receive WQE */
	uint32_t taken;
};

/* cmocka setups: *state is a struct df_world with all receive WQEs posted. */
int df_setup(void **state);
int df_setup_inline_l2(void **state);
/* On a wire that damages each frame. */
int df_setup_corrupt(void **state);
int df_teardown(void **state);

/* Write a SEND of `bytes` bytes at out, in so many data segments, and leave it to be rung. */
struct rnic_wqe_eth *df_wqe(struct df_world *w, uint32_t bytes, uint32_t segments);
/* The next received frame, or NULL; its completion is copied. The buffer stays valid until two rounds of the ring. */
const uint8_t *df_receive(struct df_world *w, struct rnic_cqe *cqe);
/* The next received frame is exactly these bytes. */
void df_expect(struct df_world *w, const uint8_t *frame, uint32_t length);
/* Ring what was written, run, and take a good completion of it. */
void df_ring(struct df_world *w);
/* Ring what was written: it fails. The queue is put right again. */
void df_ring_fails(struct df_world *w, uint8_t syndrome);

#endif
