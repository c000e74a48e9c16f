/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Who is at the other end of a socket.
 */
#ifndef VFU_PEER_H
#define VFU_PEER_H

#include <sys/types.h>

struct vfu_peer {
	pid_t pid; /**< 0: not known */
	uid_t uid; /**< as it was when the peer called connect(), or listen(); (uid_t)-1: not known */
	char name[32];
};

/** By SO_PEERCRED; the name if /proc may be read, else "?". */
void vfu_peer_of(int fd, struct vfu_peer *peer);

#endif
