/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <isa-l/crc.h>

#include "softrnic/rocev2/fold.h"
#include "softrnic/rocev2/frame.h"
#include "softrnic/rocev2/icrc.h"

/* A local route header, which RoCEv2 has not, stands before the rest as ones. */
#define ROUTE_BYTES 8

#define IPV4_TOS       1
#define IPV4_TTL       8
#define IPV4_CHECKSUM  10
#define IPV6_CLASS     0 /* from its second half byte on, and the flow label: to byte 3 */
#define IPV6_HOP_LIMIT 7
#define UDP_CHECKSUM   6
#define BTH_ECN	       4

uint32_t
rocev2_icrc_add(uint32_t crc, const void *bytes, size_t length)
{
	if (length == sizeof(uint32_t) && rocev2_fold_is_there)
		return rocev2_fold_word(crc, bytes);
	return crc32_gzip_refl(crc, bytes, length);
}

uint32_t
rocev2_icrc_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t length)
{
	const size_t folded = rocev2_fold_is_there ? length - length % ROCEV2_FOLD_BYTES : 0;

	if (folded > 0)
		crc = rocev2_fold(crc, to, from, folded);
	if (length == folded)
		return crc;
	memcpy(to + folded, from + folded, length - folded);
	return rocev2_icrc_add(crc, to + folded, length - folded);
}

uint32_t
rocev2_icrc_begin(const uint8_t *ip, uint32_t ip_bytes)
{
	uint8_t masked[ROUTE_BYTES + ROCEV2_IPV6_BYTES + ROCEV2_UDP_BYTES + ROCEV2_BTH_SHARED];
	uint8_t *own = masked + ROUTE_BYTES, *udp = own + ip_bytes;
	uint32_t bytes = ip_bytes + ROCEV2_UDP_BYTES + ROCEV2_BTH_SHARED;

	memset(masked, 0xff, ROUTE_BYTES);
	memcpy(own, ip, bytes);
	/* Where routers may change them, there are ones. */
	if (ip_bytes == ROCEV2_IPV4_BYTES) {
		own[IPV4_TOS] = 0xff;
		own[IPV4_TTL] = 0xff;
		memset(own + IPV4_CHECKSUM, 0xff, 2);
	} else {
		own[IPV6_CLASS] |= 0x0f;
		memset(own + IPV6_CLASS + 1, 0xff, 3);
		own[IPV6_HOP_LIMIT] = 0xff;
	}
	memset(udp + UDP_CHECKSUM, 0xff, 2);
	udp[ROCEV2_UDP_BYTES + BTH_ECN] = 0xff;
	return rocev2_icrc_add(0, masked, ROUTE_BYTES + bytes);
}
