/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames that come in together. */
#ifndef SOFTRNIC_RECEIVE_BURST_H
#define SOFTRNIC_RECEIVE_BURST_H

#include "softrnic/port/frame.h"

struct softrnic;

/*
 * Receive the first of so many frames, as many as need nothing that softrnic_eth_receive() alone knows: how many. All is done with
 * each of them that it does with one, so that nobody can tell which way a frame came.
 */
uint32_t softrnic_eth_receive_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
				    uint32_t count);

#endif
