/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

void
vfu_peer_name_clean(struct vfu_peer *peer)
{
	char *c;

	for (c = peer->name; *c != '\0'; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

void
vfu_peer_name(struct vfu_peer *peer)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(peer->name, sizeof(peer->name), "?");
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)peer->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, peer->name, sizeof(peer->name) - 1);
	close(fd);
	if (n <= 0)
		return;
	peer->name[n] = '\0';
	peer->name[strcspn(peer->name, "\n")] = '\0';
	vfu_peer_name_clean(peer);
}

void
vfu_peer_of(int fd, struct vfu_peer *peer)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	peer->pid = 0;
	peer->uid = (uid_t)-1;
	snprintf(peer->name, sizeof(peer->name), "?");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
		return;
	peer->uid = cred.uid;
	if (cred.pid > 0) {
		peer->pid = cred.pid;
		vfu_peer_name(peer);
	}
}
