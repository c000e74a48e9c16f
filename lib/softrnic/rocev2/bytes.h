/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers as frames have them: big-endian, at any address. */
#ifndef ROCEV2_BYTES_H
#define ROCEV2_BYTES_H

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

static inline uint16_t
rocev2_get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_16(value);
}

static inline uint32_t
rocev2_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_32(value);
}

static inline uint64_t
rocev2_get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_64(value);
}

static inline void
rocev2_put16(uint8_t *at, uint16_t value)
{
	value = rte_cpu_to_be_16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void
rocev2_put32(uint8_t *at, uint32_t value)
{
	value = rte_cpu_to_be_32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void
rocev2_put64(uint8_t *at, uint64_t value)
{
	value = rte_cpu_to_be_64(value);
	memcpy(at, &value, sizeof(value));
}

#endif
