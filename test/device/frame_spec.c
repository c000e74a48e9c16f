/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "frame_spec.h"

static void
put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void
put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

uint8_t
df_byte(uint32_t at)
{
	return (uint8_t)(at * 31 + (at >> 8) * 7 + 5);
}

uint32_t
df_l3(const struct df_spec *spec)
{
	return 14 + 4 * spec->tags;
}

uint32_t
df_l4(const struct df_spec *spec)
{
	return df_l3(spec) + (spec->version == 4   ? 20 + spec->ip_options
			      : spec->version == 6 ? 40 + spec->ip_options
						   : 0);
}

uint32_t
df_payload(const struct df_spec *spec)
{
	return df_l4(spec) + (spec->proto == DF_TCP   ? 20 + spec->tcp_options
			      : spec->proto == DF_UDP ? 8
						      : 0);
}

uint32_t
df_length(const struct df_spec *spec)
{
	return df_payload(spec) + spec->payload + spec->padding;
}

uint32_t
df_l4_checksum_at(const struct df_spec *spec)
{
	return df_l4(spec) + (spec->proto == DF_TCP ? 16 : 6);
}

uint32_t
df_sum(const uint8_t *bytes, uint32_t length)
{
	uint32_t sum = 0, i;

	for (i = 0; i < length; i++)
		sum += (i & 1) != 0 ? bytes[i] : (uint32_t)bytes[i] << 8;
	return sum;
}

uint16_t
df_fold(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* A header of IPv6 options: padding. */
static void
build_options(uint8_t *at, uint32_t bytes, uint8_t next)
{
	memset(at, 0, bytes);
	at[0] = next;
	at[1] = (uint8_t)(bytes / 8 - 1);
	at[2] = 1; /* PadN */
	at[3] = (uint8_t)(bytes - 4);
}

static void
build_ip(uint8_t *ip, const struct df_spec *spec)
{
	uint32_t header = df_l4(spec) - df_l3(spec);
	uint32_t bytes = df_payload(spec) - df_l3(spec) + spec->payload, i;

	if (spec->version == 6) {
		put32(ip, 0x6a512345);
		put16(ip + 4, bytes - 40);
		ip[6] = spec->proto;
		ip[7] = 64;
		for (i = 0; i < 32; i++)
			ip[8 + i] = (uint8_t)(0x20 + i * 5);
		if (header > 40) {
			ip[6] = 0; /* to each hop */
			build_options(ip + 40, 8, header > 48 ? 60 : spec->proto);
		}
		if (header > 48)
			build_options(ip + 48, header - 48, spec->proto);
		return;
	}
	put16(ip, 0x4028 | header / 4 << 8);
	put16(ip + 2, bytes);
	put16(ip + 4, spec->ip_id);
	put16(ip + 6, spec->fragment);
	put16(ip + 8, 0x4000 | spec->proto);
	put16(ip + 10, 0);
	put32(ip + 12, 0xc0a80117);
	put32(ip + 16, 0x0a0b0c0d);
	memset(ip + 20, 1, header - 20); /* no operation */
	put16(ip + 10, (uint16_t)~df_fold(df_sum(ip, header)));
}

/* Header and payload must be there. */
static void
build_l4_checksum(uint8_t *frame, const struct df_spec *spec)
{
	const uint32_t address_bytes = spec->version == 4 ? 8 : 32;
	const uint8_t *addresses = frame + df_l3(spec) + (spec->version == 4 ? 12 : 8);
	uint32_t l4 = df_l4(spec), bytes = df_payload(spec) - l4 + spec->payload, sum;
	uint16_t checksum;

	sum = df_sum(addresses, address_bytes) + spec->proto + bytes + df_sum(frame + l4, bytes);
	checksum = (uint16_t)~df_fold(sum);
	if (spec->proto == DF_UDP && checksum == 0)
		checksum = 0xffff;
	put16(frame + df_l4_checksum_at(spec), checksum);
}

uint32_t
df_build(uint8_t *frame, const struct df_spec *spec, uint32_t at)
{
	uint8_t *l4 = frame + df_l4(spec);
	uint32_t i;

	memcpy(frame, "\x02\x11\x22\x33\x44\x55\x02\x66\x77\x88\x99\xaa", 12);
	for (i = 0; i < spec->tags; i++) {
		put16(frame + 12 + 4 * i, spec->types[i]);
		put16(frame + 14 + 4 * i, spec->tcis[i]);
	}
	put16(frame + 12 + 4 * i, spec->version == 4   ? 0x0800
				  : spec->version == 6 ? 0x86dd
						       : 0x88b5);
	if (spec->version != 0)
		build_ip(frame + df_l3(spec), spec);
	if (spec->proto == DF_TCP) {
		put16(l4, 0x1234);
		put16(l4 + 2, 443);
		put32(l4 + 4, spec->seq);
		put32(l4 + 8, 0x01020304);
		put16(l4 + 12, (20 + spec->tcp_options) / 4 << 12 | spec->tcp_flags);
		put16(l4 + 14, 0x2000);
		put32(l4 + 16, 0);
		memset(l4 + 20, 1, spec->tcp_options);
	} else if (spec->proto == DF_UDP) {
		put16(l4, 5353);
		put16(l4 + 2, 4000);
		put16(l4 + 4, 8 + spec->payload);
		put16(l4 + 6, 0);
	}
	for (i = 0; i < spec->payload; i++)
		frame[df_payload(spec) + i] = df_byte(at + i);
	memset(frame + df_payload(spec) + spec->payload, 0x5a, spec->padding);
	if (spec->version != 0 && (spec->proto == DF_TCP || spec->proto == DF_UDP))
		build_l4_checksum(frame, spec);
	return df_length(spec);
}
