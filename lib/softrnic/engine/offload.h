/* SPDX-License-Identifier: BSD-3-Clause */

/* Offloads of sending. */
#ifndef SOFTRNIC_OFFLOAD_H
#define SOFTRNIC_OFFLOAD_H

#include "softrnic/base/device.h"
#include "softrnic/port/frame.h"

/* How far a large send is that did not end in its queue's turn. */
struct softrnic_lso {
	uint32_t at;	/* bytes of the payload that were sent */
	uint32_t index; /* of the next frame */
};

/*
 * Send the frame with a VLAN tag inserted (type and TCI; 0: none), then with the checksums that cs_flags ask for. The
 * sender's memory stays as it is.
 */
void softrnic_offload_send(struct softrnic *dev, const struct softrnic_frame *frame, uint32_t tag,
			   uint8_t cs_flags);

/*
 * Large send: the payload in frames of mss bytes each, behind a copy of the header that is right for it, with all its
 * checksums. At most *frames of them, from where `lso` is; both say afterwards how far it came. 0, or
 * enum rnic_cqe_syndrome: then nothing was sent.
 */
int softrnic_offload_lso(struct softrnic *dev, const uint8_t *header, uint32_t header_bytes,
			 uint32_t mss, const struct softrnic_frame *payload,
			 struct softrnic_lso *lso, unsigned int *frames);

#endif
