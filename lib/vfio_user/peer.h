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

/**
 * Look up the name of a process whose number is known. It is "?" if /proc cannot be read.
 *
 * Threads: any. Blocks: never.
 *
 * @param peer In: pid; out: name.
 */
void vfu_peer_name(struct vfu_peer *peer);

/**
 * Make a name fit for a terminal: a process chooses it by itself.
 *
 * Threads: any. Blocks: never.
 *
 * @param peer Its name; what is not printable ASCII becomes "?".
 */
void vfu_peer_name_clean(struct vfu_peer *peer);

#endif
