/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets out of frames, of which anybody may have sent any bytes. */
#ifndef ROCEV2_DECODE_H
#define ROCEV2_DECODE_H

#include <string.h>

#include "softrnic/roce/pkt.h"
#include "softrnic/rocev2/frame.h"

enum rocev2_reason {
	ROCEV2_GOOD,
	ROCEV2_IP_LENGTH,   /* IP has more bytes than the frame */
	ROCEV2_UDP_LENGTH,  /* not the rest of IP's */
	ROCEV2_IP_CHECKSUM, /* of IPv4's header */
	ROCEV2_SHORT,	    /* less than its headers, padding and ICRC */
	ROCEV2_VERSION,	    /* of the transport header: 0 is the only one */
	ROCEV2_OPCODE,	    /* none that there is */
	ROCEV2_PADDING,	    /* where none may be, or what is not a multiple of 4 bytes */
	ROCEV2_ICRC,	    /* does not fit the rest */
	ROCEV2_REASONS,
};

/*
 * Does the frame carry RoCEv2: IPv4 without options, a whole datagram, or IPv6 without further headers, one VLAN tag at most,
 * UDP to port 4791, no address that is IPv4's (::ffff:)? Its addresses tell whose it is. Nothing else of it has been looked at.
 *
 * @param head   its first min(bytes, ROCEV2_HEAD_MAX) bytes or more, in one piece
 * @param bytes  of the frame, without FCS
 * @param frame  all but what the BTH has is set if it returns true
 */
bool rocev2_recognize(const uint8_t *head, uint32_t bytes, struct rocev2_frame *frame);

/*
 * Check such a frame and take it apart.
 *
 * @param head    as above; must not change during the call
 * @param pieces  the frame, which begins as `head` does; behind IP's end there may be more (padding of Ethernet). Must not
 *                change before the payload has been taken, or the ICRC speaks of other bytes
 * @param bytes   of the frame: the sum of the pieces
 * @param frame   as rocev2_recognize() has set it; the BTH's fields are added
 * @param pkt     set: headers, length of the payload; its pieces are payload[]
 * @param payload room for as many pieces as the frame has; they point into it
 * @return why it is no packet, or ROCEV2_GOOD; if not, frame and pkt are undefined
 */
enum rocev2_reason rocev2_decode(const uint8_t *head, const struct iovec *pieces, uint32_t bytes,
				 struct rocev2_frame *frame, struct roce_pkt *pkt,
				 struct iovec *payload);

/*
 * A frame that was good, for those that begin as it did and are as long: the packets of a connection, which differ behind that.
 * Most of the above has been found out then. All zeros fit none.
 */
struct rocev2_model {
	uint32_t bytes;	 /* of the frame */
	uint32_t ip;	 /* where IP begins */
	uint32_t shared; /* bytes that are compared: up to the BTH's second half */
	uint8_t head[ROCEV2_SHARED_MAX];
	struct rocev2_frame frame;
	struct roce_pkt pkt;
};

/* Make it of a frame that rocev2_decode() has found good. */
void rocev2_model_make(struct rocev2_model *model, const uint8_t *head, uint32_t bytes,
		       const struct rocev2_frame *frame, const struct roce_pkt *pkt);

/* Of a frame of so many bytes; `head` as above. */
static inline bool
rocev2_model_fits(const struct rocev2_model *model, const uint8_t *head, uint32_t bytes)
{
	return model->bytes == bytes && memcmp(model->head, head, model->shared) == 0;
}

/*
 * What rocev2_decode() would say of a frame that fits, with the same conditions; frame and packet are the model's own until the next
 * call.
 */
enum rocev2_reason rocev2_model_decode(struct rocev2_model *model, const uint8_t *head,
				       const struct iovec *pieces, struct iovec *payload);

#endif
