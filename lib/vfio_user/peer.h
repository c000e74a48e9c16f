/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The process at the other end of a socket.
 *
 * Source: QEMU's docs/interop/vfio-user.rst, "Authentication", leaves that to the system: unix(7), SO_PEERCRED; proc(5), comm.
 */
#ifndef VFU_PEER_H
#define VFU_PEER_H

#include <sys/types.h>

/** A process at the other end, as the kernel knows it. */
struct vfu_peer {
	pid_t pid;     /**< 0: unknown */
	uid_t uid;     /**< its user when it called connect() or listen(); (uid_t)-1: unknown */
	char name[32]; /**< its program, as in /proc/PID/comm; ends with NUL */
};

/**
 * Find the process at the other end of a socket, by SO_PEERCRED. Its name is "?" if /proc cannot be read.
 *
 * Threads: any. Blocks: never.
 *
 * @param fd   A connected UNIX socket.
 * @param peer Out: all members.
 */
void vfu_peer_of(int fd, struct vfu_peer *peer);

#endif
