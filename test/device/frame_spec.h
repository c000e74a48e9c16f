/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames to test offloads with: built from what they are, checksums included, by code that shares nothing with the
 * device's or the driver's (RFC 791, 768, 793, 1071, 8200).
 */
#ifndef TEST_FRAME_SPEC_H
#define TEST_FRAME_SPEC_H

#include <stdint.h>

#define DF_TCP	6
#define DF_UDP	17
#define DF_TAGS 2

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

/* Members of it: kinds of packets, and tags in front of one. */
#define DF_TCP4		  .version = 4, .proto = DF_TCP
#define DF_UDP4		  .version = 4, .proto = DF_UDP
#define DF_TCP6		  .version = 6, .proto = DF_TCP
#define DF_UDP6		  .version = 6, .proto = DF_UDP
#define DF_TAG(type, tci) .tags = 1, .types = { type }, .tcis = { tci }
#define DF_TAGS_OF(outer, outer_tci, inner, inner_tci) \
	.tags = 2, .types = { outer, inner }, .tcis = { outer_tci, inner_tci }

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

#endif
