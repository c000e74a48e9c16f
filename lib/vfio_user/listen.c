/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listen.h"

#define VFU_BACKLOG	 8
#define VFU_LOCK_BYTES	 256
#define VFU_LOCK_RETRIES 16

static int
vfu_lock_path(const char *path, char *lock_path, size_t room)
{
	int n = snprintf(lock_path, room, "%s.lock", path);

	return n < 0 || (size_t)n >= room ? -ENAMETOOLONG : 0;
}

/* In a folder that is open to all, a stranger can put a lock where a server has none yet. Root looks after others. */
static bool
vfu_lock_is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_uid == geteuid() || geteuid() == 0);
}

static int
vfu_lock_read(int fd, const char *role, struct vfu_peer *peer)
{
	char text[VFU_LOCK_BYTES], *line, *save = NULL;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	int pid;

	if (n <= 0)
		return -ENOENT;
	text[n] = '\0';
	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		size_t length = strlen(role);

		if (strncmp(line, role, length) != 0 || line[length] != ' ')
			continue;
		if (sscanf(line + length, " %d %31[^\n]", &pid, peer->name) == 2) {
			peer->pid = pid;
			vfu_peer_name_clean(peer);
			return 0;
		}
	}
	return -ENOENT;
}

int
vfu_listener_look_up(const char *path, const char *role, struct vfu_peer *peer)
{
	char lock_path[sizeof(((struct vfu_listener *)NULL)->lock_path)];
	int fd, rc;

	if (vfu_lock_path(path, lock_path, sizeof(lock_path)) != 0)
		return -ENOENT;
	fd = open(lock_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	rc = vfu_lock_is_ours(fd) ? vfu_lock_read(fd, role, peer) : -ENOENT;
	close(fd);
	/* A server in a sandbox could not look at it. */
	if (rc == 0 && strcmp(peer->name, "?") == 0)
		vfu_peer_name(peer);
	return rc;
}

void
vfu_listener_served(struct vfu_listener *listener, const struct vfu_peer *client)
{
	char text[VFU_LOCK_BYTES];
	int n;

	if (listener->lock_fd < 0)
		return;
	n = snprintf(text, sizeof(text), "server %d %s\n", (int)listener->self.pid,
		     listener->self.name);
	if (client != NULL)
		n += snprintf(text + n, sizeof(text) - n, "client %d %s\n", (int)client->pid,
			      client->name);
	/* It is information for people: a full file system is no reason to fail. */
	if (ftruncate(listener->lock_fd, 0) != 0 || pwrite(listener->lock_fd, text, n, 0) != n)
		return;
}

/* Hold the lock of the path, and be sure that the file held is the one that stands there. */
static int
vfu_listener_lock(struct vfu_listener *listener, const char *path, const struct vfu_log *log)
{
	struct vfu_peer peer = { .name = "?" };
	struct stat held, there;
	int i, fd, rc;

	for (i = 0; i < VFU_LOCK_RETRIES; i++) {
		fd = open(listener->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0) {
			rc = -errno;
			vfu_log(log, VFU_LOG_ERROR, "cannot open %s.lock: %s", path, strerror(-rc));
			return rc;
		}
		/* What has a second name may be somebody's way to have a file of ours cut to nothing. */
		if (fstat(fd, &held) != 0 || held.st_uid != geteuid() || held.st_nlink > 1) {
			close(fd);
			vfu_log(log, VFU_LOG_ERROR,
				"%s.lock belongs to another user%s: remove it, or choose another "
				"path",
				path, held.st_uid == geteuid() ? " or has two names" : "");
			return -EPERM;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
			vfu_lock_read(fd, "server", &peer);
			close(fd);
			vfu_log(log, VFU_LOG_ERROR,
				"%s is served by process %d (%s): stop it, or choose another path",
				path, (int)peer.pid, peer.name);
			return -EADDRINUSE;
		}
		if (fstat(fd, &held) == 0 && stat(listener->lock_path, &there) == 0 &&
		    held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
			listener->lock_fd = fd;
			return 0;
		}
		close(fd); /* its holder was just removing it */
	}
	return -EAGAIN;
}

/* Nobody holds our lock, yet a server of other make may live on the socket. */
static int
vfu_listener_replace(struct vfu_listener *listener, const char *path, const struct vfu_log *log)
{
	const char *bind_path = listener->address.sun_path;
	struct vfu_peer peer;
	struct stat st;
	int fd, rc;

	if (lstat(bind_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode)) {
		vfu_log(log, VFU_LOG_ERROR, "%s exists and is no socket: choose another path",
			path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = connect(fd, (struct sockaddr *)&listener->address, sizeof(listener->address));
	if (rc != 0 && errno == ECONNREFUSED) {
		close(fd);
		vfu_log(log, VFU_LOG_INFO, "%s was left behind by a dead server: replaced", path);
		return unlink(bind_path) != 0 && errno != ENOENT ? -errno : 0;
	}
	vfu_peer_of(fd, &peer);
	close(fd);
	vfu_log(log, VFU_LOG_ERROR,
		"%s is served by process %d (%s): stop it, or choose another path", path,
		(int)peer.pid, peer.name);
	return -EADDRINUSE;
}

static int
vfu_listener_bind(struct vfu_listener *listener, const char *path, const struct vfu_log *log)
{
	int rc;

	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode of the socket's inode is what bind() makes the file with: never, not even shortly, open to others. */
	if (listener->fd < 0 || fchmod(listener->fd, 0600) != 0 ||
	    bind(listener->fd, (struct sockaddr *)&listener->address, sizeof(listener->address)) !=
		    0) {
		rc = -errno;
		vfu_log(log, VFU_LOG_ERROR, "cannot make the socket %s: %s", path, strerror(-rc));
		return rc;
	}
	if (listen(listener->fd, VFU_BACKLOG) != 0) {
		rc = -errno;
		vfu_log(log, VFU_LOG_ERROR, "cannot listen on %s: %s", path, strerror(-rc));
		unlink(listener->address.sun_path);
		return rc;
	}
	return 0;
}

int
vfu_listener_open(struct vfu_listener *listener, const char *path, const char *bind_path,
		  const struct vfu_log *log)
{
	int rc;

	if (bind_path == NULL)
		bind_path = path;
	memset(listener, 0, sizeof(*listener));
	listener->fd = -1;
	listener->lock_fd = -1;
	listener->self.pid = getpid();
	vfu_peer_name(&listener->self);
	listener->address.sun_family = AF_UNIX;
	if (path[0] == '\0' || strlen(path) >= sizeof(listener->address.sun_path) ||
	    strlen(bind_path) >= sizeof(listener->address.sun_path) ||
	    vfu_lock_path(bind_path, listener->lock_path, sizeof(listener->lock_path)) != 0) {
		vfu_log(log, VFU_LOG_ERROR, "the path of a socket has 1 to %zu bytes: %s",
			sizeof(listener->address.sun_path) - 1, path);
		return -ENAMETOOLONG;
	}
	memcpy(listener->address.sun_path, bind_path, strlen(bind_path));
	rc = vfu_listener_lock(listener, path, log);
	if (rc != 0)
		return rc;
	rc = vfu_listener_replace(listener, path, log);
	if (rc == 0)
		rc = vfu_listener_bind(listener, path, log);
	if (rc != 0) {
		if (listener->fd >= 0)
			close(listener->fd);
		listener->fd = -1;
		/* The socket there is somebody else's; the lock is ours. */
		unlink(listener->lock_path);
		close(listener->lock_fd);
		listener->lock_fd = -1;
		return rc;
	}
	vfu_listener_served(listener, NULL);
	return 0;
}

void
vfu_listener_close(struct vfu_listener *listener)
{
	if (listener->fd < 0)
		return;
	unlink(listener->address.sun_path);
	close(listener->fd);
	listener->fd = -1;
	/* Unlinked while held: who opens it now sees that it is gone. */
	unlink(listener->lock_path);
	close(listener->lock_fd);
	listener->lock_fd = -1;
}
