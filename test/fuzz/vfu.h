/* SPDX-License-Identifier: BSD-3-Clause */

/* What the targets of vfio-user share, whose input is one side of a socket. */
#ifndef TEST_FUZZ_VFU_H
#define TEST_FUZZ_VFU_H

#include <sys/socket.h>

#include "fuzz.h"
#include "vfio_user/log.h"

#define FUZZ_VFU_FDS 75 /* of a message, at most */

/* Bytes and descriptors; what the socket does not take is lost. */
static inline void
fuzz_vfu_send(int fd, const void *bytes, size_t length, const int *fds, unsigned int nfds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FUZZ_VFU_FDS)];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (nfds > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nfds);
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static inline void
fuzz_log(void *arg, enum vfu_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	must(strlen(message) < 512);
}

#endif
