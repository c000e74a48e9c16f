/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Where messages lie. Each queue pair has parts of memory, `out`, `in` and maybe `last`, that are cut into slots of one message each:
 * message n lies in slot n modulo how many there are. Both ends compute the same, so that a queue pair's memory is known by the region's
 * address.
 *
 *     queue pair 0: out | in | last    queue pair 1: out | in | last    ...
 *
 * A lap is as many messages as there are slots. Where all are compared at the end of a size, those of the last lap are other ones, and come
 * from `last` instead of `out`: one that is missing has left the slot as the lap before has.
 *
 *     write, send    from the requester's out into the other end's in
 *     read           from the other end's out into the requester's in
 *     atomics        on the first 8 bytes of the other end's in; what was there goes to the requester's out
 */
#ifndef PERF_LAYOUT_H
#define PERF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/** Of one size of message. */
struct perf_layout {
	uint32_t size;	/**< bytes of a message */
	uint32_t head;	/**< bytes before it where it is received: those of a datagram */
	size_t stride;	/**< bytes from slot to slot */
	uint32_t slots; /**< how many; 256 at most, so that a mark tells which */
	bool has_last;	/**< the last lap comes from a part of its own */
};

/** @return The layout for messages of `size` bytes. */
struct perf_layout perf_layout_of(const struct perf_options *options, uint32_t size);

/** @return Bytes of a part: room for all sizes of the run. */
size_t perf_layout_part(const struct perf_options *options);

/** @return How many parts a queue pair has. */
uint32_t perf_layout_parts(const struct perf_options *options);

/** The first size of a run. */
uint32_t perf_layout_first(const struct perf_options *options);

#endif
