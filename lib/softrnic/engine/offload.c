/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a send queue does to frames on their way: VLAN tags, checksums, segmentation (PRM: "Ethernet Segment", "LSO").
 *
 * Headers are changed in copies of our own, payload stays where the sender has it. None of it is on the way of a frame
 * that asks for nothing.
 */
#include "softrnic/base/copy.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/offload.h"
#include "softrnic/engine/send.h"
#include "softrnic/port/headers.h"
#include "softrnic/port/port.h"

#define LSO_BYTES_MAX (1u << SOFTRNIC_LOG_MAX_LSO)
/* Ethernet with two tags, IP and TCP with all options. */
#define LSO_HEADER_MAX (SOFTRNIC_ETH_HEADER + 2 * SOFTRNIC_VLAN_TAG + 60 + 60)

_Static_assert(LSO_HEADER_MAX <= SOFTRNIC_ETH_PRIVATE, "a frame would need one piece more");
_Static_assert(SOFTRNIC_VLAN_TAG + SOFTRNIC_ETH_HEAD_MAX <= SOFTRNIC_ETH_PRIVATE,
	       "a frame would need one piece more");

#define ADDRESSES	12
#define IPV4_LENGTH	2
#define IPV4_ID		4
#define IPV6_LENGTH	4
#define IPV6_BYTES	40
#define TCP_SEQ		4
#define TCP_DATA_OFFSET 12
#define TCP_FLAGS	13
#define TCP_FIN		0x01
#define TCP_PSH		0x08
#define TCP_CWR		0x80
#define UDP_LENGTH	4
#define UDP_BYTES	8

static void
offload_store16(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static uint32_t
offload_load32(const uint8_t *bytes)
{
	return (uint32_t)softrnic_load16(bytes) << 16 | softrnic_load16(bytes + 2);
}

static void
offload_store32(uint8_t *bytes, uint32_t value)
{
	offload_store16(bytes, value >> 16);
	offload_store16(bytes + 2, value);
}

void
softrnic_offload_send(struct softrnic *dev, const struct softrnic_frame *frame, uint32_t tag,
		      uint8_t cs_flags)
{
	uint32_t bytes =
		frame->length < SOFTRNIC_ETH_HEAD_MAX ? frame->length : SOFTRNIC_ETH_HEAD_MAX;
	uint8_t room[SOFTRNIC_VLAN_TAG + SOFTRNIC_ETH_HEAD_MAX];
	uint8_t *head = room + SOFTRNIC_VLAN_TAG;
	struct softrnic_headers headers;
	struct softrnic_frame out;
	bool summed = false;

	/* A runt is the port's to drop. */
	if (frame->length < SOFTRNIC_ETH_HEADER) {
		softrnic_eth_transmit(dev, frame);
		return;
	}
	softrnic_frame_gather(frame, head, bytes);
	SOFTRNIC_PRIVATE(room);
	out.length = 0;
	out.count = 1;
	out.l4_summed = false;
	if (tag != 0) {
		memmove(room, head, ADDRESSES);
		offload_store32(room + ADDRESSES, tag);
		head = room;
		out.length = SOFTRNIC_VLAN_TAG;
	}
	out.length += bytes;
	out.pieces[0].iov_base = head;
	out.pieces[0].iov_len = out.length;
	softrnic_frame_append(&out, frame, bytes);
	if (cs_flags != 0 &&
	    softrnic_headers_parse(head, (uint32_t)out.pieces[0].iov_len, &headers))
		summed = softrnic_checksums_insert(&out, head, &headers, cs_flags);
	if (!softrnic_eth_transmit(dev, &out))
		return;
	dev->stats.tx_vlans += tag != 0;
	dev->stats.tx_checksums += summed;
}

/* A walk over the payload. */
struct lso_cursor {
	const struct softrnic_frame *payload;
	uint32_t piece;
	size_t at; /* in it */
};

/* Over the first `bytes` bytes, or all that there are: the driver may have changed its WQE since they were sent. */
static void
lso_skip(struct lso_cursor *cursor, uint32_t bytes)
{
	const struct softrnic_frame *payload = cursor->payload;

	while (cursor->piece < payload->count && bytes >= payload->pieces[cursor->piece].iov_len)
		bytes -= (uint32_t)payload->pieces[cursor->piece++].iov_len;
	cursor->at = bytes;
}

/* The next `bytes` bytes go behind what the frame has; they are there. */
static void
lso_take(struct lso_cursor *cursor, struct softrnic_frame *frame, uint32_t bytes)
{
	const struct iovec *from;
	struct iovec *to;

	frame->length += bytes;
	while (bytes > 0) {
		from = &cursor->payload->pieces[cursor->piece];
		to = &frame->pieces[frame->count++];
		to->iov_base = (uint8_t *)from->iov_base + cursor->at;
		to->iov_len = from->iov_len - cursor->at;
		if (to->iov_len > bytes) {
			to->iov_len = bytes;
			cursor->at += bytes;
		} else {
			cursor->piece++;
			cursor->at = 0;
		}
		bytes -= (uint32_t)to->iov_len;
	}
}

/* The header of the frame that carries the payload's bytes [at, at + bytes), the index'th one. */
static void
lso_header(uint8_t *head, struct softrnic_headers *headers, uint32_t header_bytes, uint32_t index,
	   uint32_t at, uint32_t bytes, bool last)
{
	uint8_t *ip = head + headers->l3, *l4 = head + headers->l4;

	headers->ip_bytes = header_bytes - headers->l3 + bytes;
	if (headers->version == 4) {
		offload_store16(ip + IPV4_LENGTH, headers->ip_bytes);
		offload_store16(ip + IPV4_ID, softrnic_load16(ip + IPV4_ID) + index);
	} else {
		offload_store16(ip + IPV6_LENGTH, headers->ip_bytes - IPV6_BYTES);
	}
	if (headers->proto == SOFTRNIC_PROTO_UDP) {
		offload_store16(l4 + UDP_LENGTH, UDP_BYTES + bytes);
		return;
	}
	offload_store32(l4 + TCP_SEQ, offload_load32(l4 + TCP_SEQ) + at);
	/* What ends the data stands at its end; a smaller window is told once. */
	if (!last)
		l4[TCP_FLAGS] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (index > 0)
		l4[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
}

/* TCP or UDP over IP, and nothing behind its header; lengths and checksums are ours to fill in. */
static bool
lso_header_fits(const uint8_t *header, uint32_t bytes, struct softrnic_headers *headers)
{
	if (bytes < SOFTRNIC_ETH_HEADER || bytes > LSO_HEADER_MAX ||
	    !softrnic_headers_parse(header, bytes, headers) || headers->proto == 0)
		return false;
	if (headers->proto == SOFTRNIC_PROTO_UDP)
		return headers->l4 + UDP_BYTES == bytes;
	return headers->l4 + (header[headers->l4 + TCP_DATA_OFFSET] >> 4) * 4u == bytes;
}

int
softrnic_offload_lso(struct softrnic *dev, const uint8_t *header, uint32_t header_bytes,
		     uint32_t mss, const struct softrnic_frame *payload, struct softrnic_lso *lso,
		     unsigned int *frames)
{
	struct lso_cursor cursor = { .payload = payload };
	unsigned int left = *frames, sent = 0;
	struct softrnic_headers headers;
	uint8_t head[LSO_HEADER_MAX];
	struct softrnic_frame frame;
	uint32_t n;

	if (mss == 0 || !lso_header_fits(header, header_bytes, &headers))
		return RNIC_SYND_LOCAL_QP_OPERATION;
	n = payload->length < mss ? payload->length : mss;
	if (n == 0 || payload->length > LSO_BYTES_MAX ||
	    header_bytes + n > softrnic_eth_frame_limit(dev))
		return RNIC_SYND_LOCAL_LENGTH;
	lso_skip(&cursor, lso->at);
	/* One at least: the way to the payload may be as long as a share. */
	for (; left > 0 && lso->at < payload->length &&
	       (left == *frames || !softrnic_share_is_over(dev));
	     left--, lso->at += n, lso->index++) {
		n = payload->length - lso->at < mss ? payload->length - lso->at : mss;
		memcpy(head, header, header_bytes);
		lso_header(head, &headers, header_bytes, lso->index, lso->at, n,
			   lso->at + n == payload->length);
		frame.length = header_bytes;
		frame.count = 1;
		frame.l4_summed = false;
		frame.pieces[0].iov_base = head;
		frame.pieces[0].iov_len = header_bytes;
		lso_take(&cursor, &frame, n);
		/* A segment with the checksums of the whole is of no use. */
		softrnic_checksums_insert(&frame, head, &headers,
					  RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM);
		sent += softrnic_eth_transmit(dev, &frame);
	}
	dev->stats.tx_lso += lso->at >= payload->length;
	dev->stats.tx_lso_frames += sent;
	dev->stats.tx_checksums += sent;
	*frames -= left;
	return 0;
}
