/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A listening socket that is private, and replaces what a dead server left behind but nothing that lives. Inside of
 * the library.
 *
 * Beside PATH stands PATH.lock. Who serves PATH holds its flock, and it says who serves and who is served:
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
 * @return -EADDRINUSE somebody serves it (who is logged), -EEXIST something that is no socket stands there,
 *         -ENAMETOOLONG, or what the system said.
 */
int vfu_listener_open(struct vfu_listener *listener, const char *path, const char *bind_path,
		      const struct vfu_log *log);

/** Remove the socket and its lock as far as the process still may. */
void vfu_listener_close(struct vfu_listener *listener);

/** Write down who is served; NULL: nobody. */
void vfu_listener_served(struct vfu_listener *listener, const struct vfu_peer *client);

/** Who serves or is served ("server", "client") at path, by its lock file. @return -ENOENT it does not say. */
int vfu_listener_look_up(const char *path, const char *role, struct vfu_peer *peer);

#endif
