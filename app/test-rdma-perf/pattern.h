/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What messages consist of. The end that receives one can tell whether it is whole: each byte follows from its offset and the
 * message's number. The last byte is the number's low byte: it tells when a message has come where nothing else does.
 */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/** Write message `number` of the stream `key` into a buffer. */
void perf_pattern_fill(void *buffer, size_t bytes, uint64_t key, uint64_t number);

/** @return The offset of the first byte that is wrong; -1: none. */
int64_t perf_pattern_check(const void *buffer, size_t bytes, uint64_t key, uint64_t number);

/** The last byte of message `number`. */
static inline uint8_t
perf_pattern_mark(uint64_t number)
{
	return (uint8_t)number;
}

#endif
