/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames of a multi-packet WQE, which go together where they can. */
#ifndef SOFTRNIC_ENGINE_BURST_H
#define SOFTRNIC_ENGINE_BURST_H

#include <stdint.h>

struct softrnic;

/*
 * Send the frames whose segments stand at bytes [*at, end) of the WQE, a private copy, up to the first that is not one piece of
 * memory, or that fails: who looks at it alone knows what to do. Or until the share is over. pd: the queue's domain. *at moves behind those
 * that were sent; how many.
 */
uint32_t softrnic_burst_send(struct softrnic *dev, uint32_t pd, const uint8_t *wqe, uint32_t *at,
			     uint32_t end);

#endif
