/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Requests and receives of a run: what message n of a queue pair is made of, posted as, and checked against.
 */
#ifndef PERF_REQUEST_H
#define PERF_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "end.h"
#include "phase.h"

/**
 * Fill in a send request.
 *
 * @param phase The phase.
 * @param queue The queue pair; wr_id becomes its number among those of the worker.
 * @param wr    Out.
 * @param sge   Out: its segment.
 * @param n     Number of the message.
 * @param slot  In which it lies.
 * @param last  Whether it is one of the last lap.
 */
void perf_request_fill(const struct perf_phase *phase, const struct perf_queue *queue,
		       struct rdmapmd_send_wr *wr, struct rdmapmd_sge *sge, uint64_t n,
		       uint32_t slot, bool last);

/**
 * Post receives for messages first, first + 1, ...
 *
 * @return How many were posted; fewer than n: it was said, and the phase has failed.
 */
uint32_t perf_request_receive(struct perf_phase *phase, struct perf_worker *worker,
			      struct perf_queue *queue, uint64_t first, uint32_t n);

/** Where message n is received: its first byte of payload. */
uint8_t *perf_request_in(const struct perf_phase *phase, const struct perf_queue *queue,
			 uint64_t n);

/** Where message n is sent from. */
uint8_t *perf_request_out(const struct perf_phase *phase, const struct perf_queue *queue,
			  uint64_t n);

/** Fill and clear memory, so that what arrives can be told from what was there. */
void perf_request_prepare(const struct perf_phase *phase);

/** In lat: write message n into the slot that it is sent from. */
void perf_request_write(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n);

/**
 * Compare message n with what is in its slot at this end. In bw it is one of the last lap.
 *
 * @return The offset of the first byte that is wrong; -1: none.
 */
int64_t perf_request_compare(const struct perf_phase *phase, const struct perf_queue *queue,
			     uint64_t n);

/**
 * What is in the slot of a message of the last lap is not that message: was it lost? Then there are packets of the lap before, or some of its
 * own, or nothing has ever come there.
 *
 * @return Whether it was; false: there is what nobody has sent.
 */
bool perf_request_was_lost(const struct perf_phase *phase, const struct perf_queue *queue,
			   uint64_t n);

#endif
