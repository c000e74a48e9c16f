/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The invariant CRC of RoCEv2 (IBTA A17): CRC-32 of Ethernet over 8 bytes of ones, the headers from IP on with ones where
 * routers may change them, and the rest as it is on the wire. It stands behind the packet, least significant byte first.
 */
#ifndef ROCEV2_ICRC_H
#define ROCEV2_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "softrnic/rocev2/frame.h"

/*
 * Over IP, UDP and the first ROCEV2_BTH_SHARED bytes of the BTH, with which all ends that routers may change. They stand in one
 * piece from `ip` on; `ip_bytes` of them are IP's: 20 or 40.
 */
uint32_t rocev2_icrc_begin(const uint8_t *ip, uint32_t ip_bytes);
/* And over what follows, in pieces of any length. */
uint32_t rocev2_icrc_add(uint32_t crc, const void *bytes, size_t length);
/* Likewise; and it is copied, which does not overlap. Each byte is read once, and what was read is what is summed. */
uint32_t rocev2_icrc_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t length);

#endif
