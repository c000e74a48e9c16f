/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames and packets that stay for a while before they are sent. */
#ifndef SOFTRNIC_KEPT_H
#define SOFTRNIC_KEPT_H

#include "softrnic/wire/held.h"

/* The bytes of a packet's payload. */
uint32_t softrnic_kept_payload(const struct roce_pkt *pkt);
/* Keep it; `data` has room for frame->length bytes, or for the payload. */
void softrnic_kept_take(struct softrnic_kept *kept, const struct softrnic_frame *frame,
			uint8_t *data);
void softrnic_kept_take_roce(struct softrnic *dev, struct softrnic_kept *kept,
			     const struct softrnic_roce_frame *frame, uint8_t *data);
/* A packet's route is that of now. */
void softrnic_kept_refresh(struct softrnic *dev, struct softrnic_kept *kept);
/* Into the wire, to where it goes by now. */
void softrnic_kept_send(struct softrnic *dev, struct softrnic_kept *kept);

#endif
