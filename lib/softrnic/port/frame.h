/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames, for all code that passes them on. */
#ifndef SOFTRNIC_FRAME_H
#define SOFTRNIC_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include <rte_branch_prediction.h>

/* A frame between queues and wires: pieces that point at the sender's memory, valid until the call returns. */
#define SOFTRNIC_FRAME_PIECES 64
#define SOFTRNIC_FRAME_SPARE  2 /* more, where a header takes the place of bytes within a piece */
struct softrnic_frame {
	uint32_t length; /* bytes, without FCS */
	uint32_t count;
	/* Sum over what is behind the IP header, where who sent it made the checksum of TCP or UDP. */
	uint16_t l4_sum;
	bool l4_summed;
	struct iovec pieces[SOFTRNIC_FRAME_PIECES + SOFTRNIC_FRAME_SPARE];
};

#define SOFTRNIC_ETH_HEADER	 14 /* addresses and type */
#define SOFTRNIC_ETH_FCS	 4
#define SOFTRNIC_ETH_HEAD_MAX	 128 /* as far as steering looks: two tags, IPv6, TCP */
#define SOFTRNIC_FRAME_BYTES_MAX (1u << 16)
/*
 * What is copied of a frame out of foreign memory before anybody looks at it: all that steering and checksums read of its
 * headers, and no less than any piece of headers that an offload makes, so that the copy takes the place of that.
 */
#define SOFTRNIC_ETH_PRIVATE 144

/*
 * The first min(bytes, frame->length) bytes of the frame in one piece: where they are, or gathered in `room`.
 */
const uint8_t *softrnic_frame_gather(const struct softrnic_frame *frame, uint8_t *room,
				     uint32_t bytes);

static inline const uint8_t *
softrnic_frame_head(const struct softrnic_frame *frame, uint8_t *room, uint32_t bytes)
{
	if (likely(frame->pieces[0].iov_len >= bytes || frame->pieces[0].iov_len == frame->length))
		return frame->pieces[0].iov_base;
	return softrnic_frame_gather(frame, room, bytes);
}

/* Behind what is in `to`: the other frame without its first `skip` bytes. There must be room for its pieces. */
void softrnic_frame_append(struct softrnic_frame *to, const struct softrnic_frame *from,
			   uint32_t skip);

/* Index into packet counters by destination: unicast, multicast, broadcast. */
enum softrnic_eth_class {
	SOFTRNIC_ETH_UNICAST,
	SOFTRNIC_ETH_MULTICAST,
	SOFTRNIC_ETH_BROADCAST,
};

static inline enum softrnic_eth_class
softrnic_eth_class(const uint8_t *head)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (likely((head[0] & 1) == 0))
		return SOFTRNIC_ETH_UNICAST;
	return memcmp(head, broadcast, sizeof(broadcast)) == 0 ? SOFTRNIC_ETH_BROADCAST
							       : SOFTRNIC_ETH_MULTICAST;
}

/*
 * A frame that may go with others of its sender, in a burst: one piece of a length that the sender's port takes, and nothing is left to
 * be done to it. Who takes a burst takes as many as are plain to it, too, from the first one on, and says how many. Valid as a
 * frame is.
 */
struct softrnic_burst_frame {
	const uint8_t *bytes;
	uint32_t length;
	uint16_t end; /* of its segment in the sender's WQE */
	uint8_t class;
};
#define SOFTRNIC_BURST 64 /* more than the packets of any WQE */

/* One of them, as it goes without the others. */
static inline void
softrnic_burst_alone(const struct softrnic_burst_frame *from, struct softrnic_frame *frame)
{
	frame->length = from->length;
	frame->count = 1;
	frame->l4_summed = false;
	frame->pieces[0].iov_base = (void *)(uintptr_t)from->bytes;
	frame->pieces[0].iov_len = from->length;
}

/*
 * Behind the last one that counts as the first does: neighbours are mostly of one class and one length, and are counted together.
 * There is one before `end`.
 */
static inline const struct softrnic_burst_frame *
softrnic_burst_alike(const struct softrnic_burst_frame *first,
		     const struct softrnic_burst_frame *end)
{
	const struct softrnic_burst_frame *frame = first + 1;

	while (frame < end && frame->length == first->length && frame->class == first->class)
		frame++;
	return frame;
}

#endif
