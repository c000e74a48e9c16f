/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A private listening socket, which replaces that of a dead server, but never that of a living one. Inside of the library.
 *
 * Beside PATH there is PATH.lock. The server of PATH holds its flock; the file names the server and its client:
 *
 *     server 1234 softrnicd
 *     client 1240 dpdk-testpmd
 */
#ifndef VFU_LISTEN_H
#define VFU_LISTEN_H

#include <stddef.h>
#include <sys/un.h>

#include "log.h"
#include "peer.h"

struct vfu_listener {
	int fd;
	int lock_fd;
	struct sockaddr_un address;
	char lock_path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
	struct vfu_peer self;
};

/**
 * Listen on path with mode 0600; bind_path as in struct vfu_server_conf.
 *
 * @return -EADDRINUSE a living process serves it (logged), -EEXIST the file there is no socket, -ENAMETOOLONG, or the error of a
 *         system call.
 */
int vfu_listener_open(struct vfu_listener *listener, const char *path, const char *bind_path,
		      const struct vfu_log *log);

/** Remove the socket and its lock as far as the process still may. */
void vfu_listener_close(struct vfu_listener *listener);

/** Record the client that is served; NULL: none. */
void vfu_listener_served(struct vfu_listener *listener, const struct vfu_peer *client);

/** Look up the "server" or "client" of a path in its lock file. @return -ENOENT it names none. */
int vfu_listener_look_up(const char *path, const char *role, struct vfu_peer *peer);

#endif
