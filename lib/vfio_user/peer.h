/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Who is at the other end of a socket.
 */
#ifndef VFU_PEER_H
#define VFU_PEER_H

#include <sys/types.h>

/** A process at the other end, as the kernel knows it. */
struct vfu_peer {
	pid_t pid; /**< 0: not known */
	uid_t uid; /**< as it was when the peer called connect(), or listen(); (uid_t)-1: not known */
	char name[32]; /**< of its program, as in /proc/PID/comm; ends with NUL */
};

/**
 * Ask who is at the other end of a socket, by SO_PEERCRED; the name if /proc may be read, else "?".
 *
 * Threads: any. Blocks: never.
 *
 * @param fd   A connected UNIX socket.
 * @param peer Out: all members.
 */
void vfu_peer_of(int fd, struct vfu_peer *peer);

#endif
