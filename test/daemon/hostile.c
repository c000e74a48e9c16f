/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

#define HOSTILE_MEMORY_BYTES (64u << 20)
#define HOSTILE_ROOM	     (HOSTILE_LONGEST + 4096)
#define HOSTILE_WAIT_MS	     60000

static char payload[HOSTILE_ROOM]; /* of the last answer */

void
hostile_open(struct hostile *h, const char *path)
{
	static const char version[] = "\0\0\1\0{\"capabilities\":{\"max_data_xfer_size\":1048576,"
				      "\"max_msg_fds\":16,\"write_multiple\":true}}";
	static const char name[] = "\"max_data_xfer_size\":";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *longest;

	memset(h, 0, sizeof(*h));
	h->fd = -1;
	h->bytes = malloc(HOSTILE_ROOM);
	h->memory = memfd_create("hostile", MFD_CLOEXEC);
	assert_true(h->memory >= 0 && ftruncate(h->memory, HOSTILE_MEMORY_BYTES) == 0);
	h->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(h->socket, (struct sockaddr *)&address, sizeof(address)), 0);
	hostile_say(h, VFU_VERSION, true, version, sizeof(version), NULL, 0);
	hostile_finish(h, 1);
	assert_int_equal(h->refusals, 0);
	h->answers = 0;
	longest = strstr(payload + sizeof(struct vfu_version), name);
	assert_non_null(longest);
	h->longest = strtoul(longest + strlen(name), NULL, 10);
	assert_in_range(h->longest, 4096, HOSTILE_LONGEST);
}

/* The pages are made by one mapping, and seen by all: it is for each of them that a punch takes its time. */
static void
punch_on(int fd, size_t bytes, unsigned int maps, atomic_uint *punches)
{
	uint8_t *all = mmap(NULL, maps * bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return;
	for (unsigned int i = 0; i < maps; i++) {
		if (mmap(all + i * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			return;
	}
	while (madvise(all, bytes, MADV_POPULATE_WRITE) == 0 &&
	       madvise(all, maps * bytes, MADV_POPULATE_READ) == 0 &&
	       fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0)
		atomic_fetch_add(punches, 1);
}

void
hostile_punch(struct hostile *h, size_t bytes, unsigned int maps)
{
	assert_true(bytes <= HOSTILE_MEMORY_BYTES);
	h->punches = mmap(NULL, sizeof(*h->punches), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(h->punches != MAP_FAILED);
	h->puncher = fork();
	assert_true(h->puncher >= 0);
	if (h->puncher > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	punch_on(h->memory, bytes, maps, h->punches);
	_exit(1);
}

void
hostile_close(struct hostile *h)
{
	if (h->puncher > 0) {
		/* It has not ended by itself. */
		assert_int_equal(waitpid(h->puncher, NULL, WNOHANG), 0);
		kill(h->puncher, SIGKILL);
		waitpid(h->puncher, NULL, 0);
		munmap(h->punches, sizeof(*h->punches));
	}
	close(h->socket);
	close(h->memory);
	free(h->bytes);
}

void
hostile_say(struct hostile *h, uint16_t command, bool answered, const void *fixed,
	    size_t fixed_bytes, const void *data, size_t data_bytes)
{
	const struct vfu_header header = {
		.command = command,
		.size = (uint32_t)(sizeof(header) + fixed_bytes + data_bytes),
		.flags = answered ? 0 : VFU_FLAG_NO_REPLY,
	};

	if (h->sent == h->length)
		h->sent = h->length = 0;
	assert_true(h->length + header.size <= HOSTILE_ROOM);
	memcpy(h->bytes + h->length, &header, sizeof(header));
	memcpy(h->bytes + h->length + sizeof(header), fixed, fixed_bytes);
	if (data != NULL)
		memcpy(h->bytes + h->length + sizeof(header) + fixed_bytes, data, data_bytes);
	else
		memset(h->bytes + h->length + sizeof(header) + fixed_bytes, 0, data_bytes);
	h->length += header.size;
}

void
hostile_map(struct hostile *h, uint64_t iova, uint64_t bytes, uint64_t offset)
{
	const struct vfu_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE,
		.offset = offset,
		.iova = iova,
		.size = bytes,
	};

	h->fd = h->memory;
	hostile_say(h, VFU_DMA_MAP, true, &map, sizeof(map), NULL, 0);
}

bool
hostile_push(struct hostile *h)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { h->bytes + h->sent, h->length - h->sent };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t n;

	if (iov.iov_len == 0)
		return true;
	if (h->fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &h->fd, sizeof(int));
	}
	n = sendmsg(h->socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN)
		fail_msg("hung up on: %s", strerror(errno));
	if (n > 0) {
		h->sent += (size_t)n;
		h->fd = -1;
	}
	return h->sent == h->length;
}

void
hostile_take(struct hostile *h)
{
	const size_t head = sizeof(h->answer);
	ssize_t n;

	for (;;) {
		if (h->received < head)
			n = recv(h->socket, (uint8_t *)&h->answer + h->received, head - h->received,
				 MSG_DONTWAIT);
		else
			n = recv(h->socket, payload + h->received - head,
				 h->answer.size - h->received, MSG_DONTWAIT);
		if (n <= 0)
			break;
		h->received += (size_t)n;
		if (h->received < head || h->received < h->answer.size)
			continue;
		h->answers++;
		h->refusals += (h->answer.flags & VFU_FLAG_ERROR) != 0;
		h->received = 0;
	}
	assert_true(n < 0 && errno == EAGAIN);
}

void
hostile_finish(struct hostile *h, uint64_t answers)
{
	struct pollfd ready = { .fd = h->socket };

	for (;;) {
		ready.events = hostile_push(h) ? POLLIN : POLLIN | POLLOUT;
		hostile_take(h);
		if (h->answers >= answers && h->sent == h->length)
			return;
		if (poll(&ready, 1, HOSTILE_WAIT_MS) != 1)
			fail_msg("no answer within a minute");
	}
}
