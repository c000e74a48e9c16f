/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "version.h"

/* Header, fixed part, data. */
#define VFU_MAX_PARTS 4

/* The kernel's SCM_MAX_FD. What did not fit into the buffer it would drop at once, and wait where close() waits. */
#define VFU_MOST_FDS 253

/* What the socket did not take at once. */
struct vfu_outgoing {
	STAILQ_ENTRY(vfu_outgoing) next;
	size_t length;
	size_t sent;
	unsigned int nfds;
	int fds[VFU_MAX_FDS]; /* our own duplicates; go with the first byte */
	uint8_t bytes[];
};

union vfu_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * VFU_MOST_FDS)];
};

uint64_t
vfu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t
vfu_now_ms(void)
{
	return vfu_now_ns() / 1000000;
}

const char *
vfu_command_name(unsigned int command)
{
	static const char *const names[] = {
		[VFU_VERSION] = "VERSION",
		[VFU_DMA_MAP] = "DMA_MAP",
		[VFU_DMA_UNMAP] = "DMA_UNMAP",
		[VFU_DEVICE_GET_INFO] = "DEVICE_GET_INFO",
		[VFU_DEVICE_GET_REGION_INFO] = "DEVICE_GET_REGION_INFO",
		[VFU_DEVICE_GET_REGION_IO_FDS] = "DEVICE_GET_REGION_IO_FDS",
		[VFU_DEVICE_GET_IRQ_INFO] = "DEVICE_GET_IRQ_INFO",
		[VFU_DEVICE_SET_IRQS] = "DEVICE_SET_IRQS",
		[VFU_REGION_READ] = "REGION_READ",
		[VFU_REGION_WRITE] = "REGION_WRITE",
		[VFU_DMA_READ] = "DMA_READ",
		[VFU_DMA_WRITE] = "DMA_WRITE",
		[VFU_DEVICE_RESET] = "DEVICE_RESET",
		[VFU_DIRTY_PAGES] = "DIRTY_PAGES",
		[VFU_REGION_WRITE_MULTI] = "REGION_WRITE_MULTI",
		[VFU_DEVICE_FEATURE] = "DEVICE_FEATURE",
		[VFU_MIG_DATA_READ] = "MIG_DATA_READ",
		[VFU_MIG_DATA_WRITE] = "MIG_DATA_WRITE",
	};

	if (command >= sizeof(names) / sizeof(names[0]) || names[command] == NULL)
		return "unknown command";
	return names[command];
}

void
vfu_close_fds(int *fds, unsigned int nfds)
{
	unsigned int i;

	for (i = 0; i < nfds; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int
vfu_channel_init(struct vfu_channel *channel, int fd, struct vfu_close_thread *close_thread)
{
	int flags = fcntl(fd, F_GETFL);

	memset(channel, 0, sizeof(*channel));
	channel->fd = fd;
	channel->close_thread = close_thread;
	STAILQ_INIT(&channel->outgoing);
	channel->max_payload = sizeof(struct vfu_version) + VFU_VERSION_MAX_BYTES;
	channel->max_fds = VFU_MAX_FDS;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

void
vfu_channel_limits(struct vfu_channel *channel, size_t max_data_xfer_bytes, unsigned int max_fds)
{
	channel->max_payload = max_data_xfer_bytes + VFU_PAYLOAD_EXTRA_BYTES;
	channel->max_fds = max_fds;
}

/*
 * With the last reference to a socket go the descriptors that are still in it, and the thread that drops them waits. Who
 * is shut down can send no more, so an empty socket stays empty and can be closed here.
 */
void
vfu_close_socket(struct vfu_close_thread *close_thread, int fd)
{
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (close_thread != NULL && shutdown(fd, SHUT_RDWR) == 0 &&
	    recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT) > 0)
		vfu_close_thread_close(close_thread, fd);
	else
		close(fd);
}

void
vfu_channel_drop_fds(struct vfu_channel *channel)
{
	struct vfu_message *message = &channel->message;
	unsigned int i;

	for (i = 0; i < message->nfds; i++) {
		if (message->fds[i] >= 0 &&
		    vfu_close_thread_close(channel->close_thread, message->fds[i]))
			channel->unwanted_fds = true;
		message->fds[i] = -1;
	}
	message->nfds = 0;
}

static void
vfu_channel_drop_outgoing(struct vfu_channel *channel, struct vfu_outgoing *outgoing)
{
	STAILQ_REMOVE_HEAD(&channel->outgoing, next);
	channel->outgoing_bytes -= outgoing->length;
	channel->outgoing_count--;
	vfu_close_fds(outgoing->fds, outgoing->nfds);
	free(outgoing);
}

void
vfu_channel_close(struct vfu_channel *channel)
{
	struct vfu_outgoing *outgoing;

	while ((outgoing = STAILQ_FIRST(&channel->outgoing)) != NULL)
		vfu_channel_drop_outgoing(channel, outgoing);
	vfu_channel_drop_fds(channel);
	free(channel->message.payload);
	channel->message.payload = NULL;
	channel->payload_room = 0;
	if (channel->fd >= 0)
		vfu_close_socket(channel->close_thread, channel->fd);
	channel->fd = -1;
}

/* Keep the descriptors that came with some bytes of the message; close what is too many. */
static void
vfu_channel_take_fds(struct vfu_channel *channel, struct msghdr *msg)
{
	struct vfu_message *message = &channel->message;
	struct cmsghdr *cmsg;
	size_t i, count;
	int fd;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
		    cmsg->cmsg_len < CMSG_LEN(0))
			continue;
		count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (message->nfds < channel->max_fds) {
				message->fds[message->nfds++] = fd;
			} else {
				if (vfu_close_thread_close(channel->close_thread, fd))
					channel->unwanted_fds = true;
				message->surplus_fds = true;
			}
		}
	}
	/* The kernel has dropped those for which there was no room or no number. */
	if (msg->msg_flags & MSG_CTRUNC)
		message->surplus_fds = true;
}

/* @return bytes received, 0 none there now, -ENOTCONN, -EMFILE. */
static ssize_t
vfu_channel_read(struct vfu_channel *channel, void *bytes, size_t length)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = length };
	union vfu_control control;
	struct msghdr msg;
	ssize_t n;

	do {
		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		n = recvmsg(channel->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -ENOTCONN;
	vfu_channel_take_fds(channel, &msg);
	if (channel->unwanted_fds && vfu_close_thread_full(channel->close_thread))
		return -EMFILE;
	return n == 0 ? -ENOTCONN : n;
}

/* The header is whole: believe its size only within the limits, and have room for the payload. */
static int
vfu_channel_header_received(struct vfu_channel *channel)
{
	struct vfu_message *message = &channel->message;
	uint8_t *payload;

	if (message->header.size < sizeof(struct vfu_header) ||
	    message->header.size - sizeof(struct vfu_header) > channel->max_payload)
		return -EPROTO;
	message->length = message->header.size - sizeof(struct vfu_header);
	if (message->length > channel->payload_room) {
		payload = realloc(message->payload, message->length);
		if (payload == NULL)
			return -ENOMEM;
		message->payload = payload;
		channel->payload_room = message->length;
	}
	return 0;
}

int
vfu_channel_receive(struct vfu_channel *channel)
{
	struct vfu_message *message = &channel->message;
	ssize_t n;
	int rc;

	if (channel->complete) {
		vfu_channel_drop_fds(channel);
		message->surplus_fds = false;
		message->length = 0;
		channel->received = 0;
		channel->complete = false;
	}
	while (channel->received < sizeof(struct vfu_header)) {
		n = vfu_channel_read(channel, (uint8_t *)&message->header + channel->received,
				     sizeof(struct vfu_header) - channel->received);
		if (n <= 0)
			return n;
		channel->received += n;
		if (channel->received == sizeof(struct vfu_header)) {
			rc = vfu_channel_header_received(channel);
			if (rc != 0) {
				channel->received = 0;
				return rc;
			}
		}
	}
	while (channel->received < message->header.size) {
		size_t at = channel->received - sizeof(struct vfu_header);

		n = vfu_channel_read(channel, message->payload + at, message->length - at);
		if (n <= 0)
			return n;
		channel->received += n;
	}
	channel->complete = true;
	return 1;
}

/* @return bytes taken by the socket, 0 it takes none now, -ENOTCONN. */
static ssize_t
vfu_channel_write(struct vfu_channel *channel, struct iovec *parts, unsigned int nparts,
		  const int *fds, unsigned int nfds)
{
	union vfu_control control;
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = nparts };
	struct cmsghdr *cmsg;
	ssize_t n;

	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nfds);
	}
	do {
		n = sendmsg(channel->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	switch (errno) {
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
	case ETOOMANYREFS: return 0;
	case EBADF: return -EBADF; /* a descriptor of the caller's */
	default: return -ENOTCONN;
	}
}

int
vfu_channel_flush(struct vfu_channel *channel)
{
	struct vfu_outgoing *outgoing;
	struct iovec part;
	ssize_t n;

	while ((outgoing = STAILQ_FIRST(&channel->outgoing)) != NULL) {
		part.iov_base = outgoing->bytes + outgoing->sent;
		part.iov_len = outgoing->length - outgoing->sent;
		n = vfu_channel_write(channel, &part, 1, outgoing->fds, outgoing->nfds);
		if (n < 0)
			return -ENOTCONN;
		if (n == 0)
			return 0;
		/* The descriptors went with the first byte. */
		vfu_close_fds(outgoing->fds, outgoing->nfds);
		outgoing->nfds = 0;
		outgoing->sent += n;
		if (outgoing->sent == outgoing->length)
			vfu_channel_drop_outgoing(channel, outgoing);
	}
	return 1;
}

static int
vfu_channel_queue(struct vfu_channel *channel, const struct iovec *parts, unsigned int nparts,
		  size_t length, size_t sent, const int *fds, unsigned int nfds)
{
	struct vfu_outgoing *outgoing = malloc(sizeof(*outgoing) + length);
	size_t at = 0;
	unsigned int i;

	if (outgoing == NULL)
		return -ENOMEM;
	outgoing->length = length;
	outgoing->sent = sent;
	for (i = 0; i < nparts; i++) {
		if (parts[i].iov_len > 0)
			memcpy(outgoing->bytes + at, parts[i].iov_base, parts[i].iov_len);
		at += parts[i].iov_len;
	}
	outgoing->nfds = 0;
	if (sent > 0)
		nfds = 0;
	for (i = 0; i < nfds; i++) {
		outgoing->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (outgoing->fds[i] < 0) {
			int rc = -errno;

			vfu_close_fds(outgoing->fds, i);
			free(outgoing);
			return rc;
		}
		outgoing->nfds++;
	}
	STAILQ_INSERT_TAIL(&channel->outgoing, outgoing, next);
	channel->outgoing_bytes += length;
	channel->outgoing_count++;
	return 0;
}

int
vfu_channel_send(struct vfu_channel *channel, struct vfu_header header, const struct iovec *payload,
		 unsigned int npayload, const int *fds, unsigned int nfds)
{
	struct iovec parts[VFU_MAX_PARTS];
	size_t length = sizeof(header);
	ssize_t n = 0;
	unsigned int i;
	int rc;

	if (npayload + 1 > VFU_MAX_PARTS || nfds > VFU_MAX_FDS)
		return -EINVAL;
	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	for (i = 0; i < npayload; i++) {
		parts[i + 1] = payload[i];
		length += payload[i].iov_len;
	}
	if (length > UINT32_MAX)
		return -EMSGSIZE;
	header.size = length;
	if (STAILQ_EMPTY(&channel->outgoing)) {
		n = vfu_channel_write(channel, parts, npayload + 1, fds, nfds);
		if (n < 0)
			return n;
		if ((size_t)n == length)
			return 0;
	}
	rc = vfu_channel_queue(channel, parts, npayload + 1, length, n, fds, nfds);
	/* Half a message cannot be taken back. */
	return rc != 0 && n > 0 ? -ENOTCONN : rc;
}
