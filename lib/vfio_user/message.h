/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The codec: messages with descriptors over a non-blocking UNIX stream socket, for both sides.
 *
 * Receiving assembles one message at a time, exactly its bytes, so that descriptors stay with their message. Sending writes what the
 * socket accepts and queues the rest.
 *
 * Threads: one at a time per channel.
 */
#ifndef VFU_MESSAGE_H
#define VFU_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "close_thread.h"
#include "proto.h"
#include "version.h"

#define VFU_PAYLOAD_EXTRA_BYTES 64 /**< fixed parts around the data of a transfer */

/** A received message. Its descriptors belong to the channel until a command takes them (and replaces them by -1). */
struct vfu_message {
	struct vfu_header header;
	uint8_t *payload;
	size_t length; /**< of the payload */
	int fds[VFU_MAX_FDS];
	unsigned int nfds;
	bool surplus_fds; /**< more came than fit, or than were agreed on; those are closed */
};

struct vfu_outgoing;

struct vfu_channel {
	int fd;
	/** closes received descriptors that no command took; NULL: the channel does */
	struct vfu_close_thread *close_thread;
	bool unwanted_fds;  /**< it sent descriptors that the close thread has to close */
	size_t max_payload; /**< that a peer may send; what is longer breaks the connection */
	unsigned int max_fds;
	/* Receiving */
	struct vfu_message message;
	size_t received; /**< bytes of the message at hand, header included */
	size_t payload_room;
	bool complete; /**< the message is whole and has been handed out */
	/* Sending */
	STAILQ_HEAD(, vfu_outgoing) outgoing;
	size_t outgoing_bytes;
	unsigned int outgoing_count;
};

/**
 * The channel owns fd from here on, makes it non-blocking, and accepts what may come before the negotiation. close_thread may
 * be NULL: then a peer can make the caller wait.
 */
int vfu_channel_init(struct vfu_channel *channel, int fd, struct vfu_close_thread *close_thread);

/** Close the socket and everything that was received and not taken, or queued and not sent. */
void vfu_channel_close(struct vfu_channel *channel);

/** Set the negotiated limits: bytes of a transfer, descriptors of a message. */
void vfu_channel_limits(struct vfu_channel *channel, size_t max_data_xfer_bytes,
			unsigned int max_fds);

/**
 * Go on receiving. The message is valid until the next call, which also closes its remaining descriptors.
 *
 * Blocks: never.
 * @return 1 channel->message is complete; 0 not yet; -ENOTCONN the peer is gone; -EPROTO it sent an impossible size, so that the
 *         stream has no next message; -ENOMEM; -EMFILE too many received descriptors cannot be closed.
 */
int vfu_channel_receive(struct vfu_channel *channel);

/** Close the message's descriptors that no command took, before the next message. Blocks: without a close thread. */
void vfu_channel_drop_fds(struct vfu_channel *channel);

/**
 * Send a message, or queue what the socket does not accept. header.size is filled in.
 *
 * Blocks: never. Owner: buffers and descriptors stay the caller's.
 * @return 0, -ENOTCONN the peer is gone, -ENOMEM, -EMFILE.
 */
int vfu_channel_send(struct vfu_channel *channel, struct vfu_header header,
		     const struct iovec *payload, unsigned int npayload, const int *fds,
		     unsigned int nfds);

/** Send more of the queue. @return 1 the queue is empty, 0 not yet, -ENOTCONN. */
int vfu_channel_flush(struct vfu_channel *channel);

/** Close descriptors and forget them. Entries of -1 are skipped. */
void vfu_close_fds(int *fds, unsigned int nfds);

/** Close a socket that may contain untrusted descriptors: see close_thread.h. close_thread may be NULL. */
void vfu_close_socket(struct vfu_close_thread *close_thread, int fd);

/** Nanoseconds, milliseconds of the monotonic clock. */
uint64_t vfu_now_ns(void);
uint64_t vfu_now_ms(void);

/** Name of a command, for messages. */
const char *vfu_command_name(unsigned int command);

#endif
