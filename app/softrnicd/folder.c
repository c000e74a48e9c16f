/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A user who may make a symbolic link on the way could lead us, and root most of all, to a folder of his choice. So the way
 * is walked part by part, by descriptors that nobody can turn, and links are followed only if they are root's or our own;
 * what lies at the end is judged by its descriptor and used by it from then on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

#define FOLDER_LINKS	 40 /* on one way, as the kernel has it */
#define FOLDER_WAY_BYTES (sizeof("/proc/self/fd/99/") - 1)

static int
folder_default(struct options *options)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int n;

	if (runtime != NULL && runtime[0] == '/')
		n = snprintf(options->dir, sizeof(options->dir), "%s/softrnic", runtime);
	else
		n = snprintf(options->dir, sizeof(options->dir), "/run/softrnic");
	if (n < 0 || (size_t)n >= sizeof(options->dir)) {
		log_error("$XDG_RUNTIME_DIR is too long for the path of a socket: use --dir");
		return -ENAMETOOLONG;
	}
	return 0;
}

/* ---- The way ---- */

struct way {
	const char *path; /* as it was given, for messages */
	int fd;		  /* how far we have come */
	unsigned int links;
	bool said; /* what is wrong */
	char rest[PATH_MAX];
};

static bool
is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Go on from there; the way has the descriptor. */
static int
way_step(struct way *way, int fd)
{
	if (fd < 0)
		return -errno;
	close(way->fd);
	way->fd = fd;
	return 0;
}

/* rest begins with slashes: from the root. */
static int
way_from_root(struct way *way)
{
	return way->rest[0] != '/' ? 0 : way_step(way, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int
way_follow(struct way *way, int link, const struct stat *st)
{
	char path[PATH_MAX];
	ssize_t n;
	int m;

	if (!is_trusted(st)) {
		log_error("a symbolic link on the way to %s belongs to user %u, who could lead it "
			  "anywhere: name another folder with --dir",
			  way->path, (unsigned int)st->st_uid);
		way->said = true;
		return -EPERM;
	}
	n = readlinkat(link, "", path, sizeof(path));
	if (n < 0)
		return -errno;
	if (++way->links > FOLDER_LINKS)
		return -ELOOP;
	if ((size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	m = snprintf(path + n, sizeof(path) - n, "/%s", way->rest);
	if (m < 0 || (size_t)m >= sizeof(path) - n)
		return -ENAMETOOLONG;
	memcpy(way->rest, path, n + m + 1);
	return way_from_root(way);
}

/* Through one part of the way that is not the last. */
static int
way_through(struct way *way, const char *part)
{
	int fd = openat(way->fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode))
		return way_step(way, fd);
	rc = way_follow(way, fd, &st);
	close(fd);
	return rc;
}

/* To the folder that holds the last part of the path, which is then all of the rest. */
static int
way_walk(struct way *way)
{
	char part[NAME_MAX + 1];
	size_t skip, length;
	int rc = way_from_root(way);

	while (rc == 0) {
		skip = strspn(way->rest, "/");
		length = strcspn(way->rest + skip, "/");
		if (way->rest[skip + length + strspn(way->rest + skip + length, "/")] == '\0') {
			/* Slashes behind it would say: follow. And the root is a folder of itself. */
			way->rest[skip + length] = '\0';
			memmove(way->rest, way->rest + skip, length + 1);
			if (length == 0)
				snprintf(way->rest, sizeof(way->rest), ".");
			return 0;
		}
		if (length >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, way->rest + skip, length);
		part[length] = '\0';
		memmove(way->rest, way->rest + skip + length,
			strlen(way->rest + skip + length) + 1);
		rc = way_through(way, part);
	}
	return rc;
}

/* ---- Its end ---- */

/* A folder that others may write to is refused, sticky or not: they could put their own sockets and links there. */
static int
folder_judge(const char *dir, int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!is_trusted(&st)) {
		log_error("%s belongs to user %u: name a folder of your own with --dir", dir,
			  (unsigned int)st.st_uid);
		return -EPERM;
	}
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		log_error("others can put files into %s: name a private folder with --dir", dir);
		return -EPERM;
	}
	return 0;
}

/* Ours alone if we make it. */
static int
folder_make(struct way *way)
{
	return mkdirat(way->fd, way->rest, 0700) != 0 && errno != EEXIST ? -errno : 0;
}

/* Into the last part, which is no link: either we were told to use it as it is, or it is to be our own. */
static int
folder_enter(struct way *way, bool ours)
{
	int rc = ours ? folder_make(way) : 0;

	if (rc == 0)
		rc = way_step(way, openat(way->fd, way->rest,
					  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (rc == 0 && ours) {
		rc = folder_judge(way->path, way->fd);
		way->said = rc != 0;
	}
	return rc;
}

/*
 * ours: made if it is missing, and no link itself; else the way to a socket, on which all is before the last part.
 * @return a descriptor or -errno, logged.
 */
static int
folder_open(const char *path, size_t length, bool ours)
{
	struct way way = { .path = path, .fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	int rc = way.fd < 0 ? -errno : 0;

	snprintf(way.rest, sizeof(way.rest), "%.*s%s", (int)length, path, ours ? "" : ".");
	if (rc == 0)
		rc = way_walk(&way);
	if (rc == 0)
		rc = folder_enter(&way, ours);
	if (rc == 0)
		return way.fd;
	if (!way.said)
		log_error("cannot use the folder %s%s: %s; name one with --dir", ours ? "" : "of ",
			  path,
			  rc == -ENOTDIR ? "it is no folder, or a link to one" : strerror(-rc));
	if (way.fd >= 0)
		close(way.fd);
	return rc;
}

/* ---- What lies in it ---- */

/* DIR/NAME.sock, or DIR/ and what was given without a slash. */
static int
socket_in_dir(struct options *options, struct device_options *device)
{
	char path[SOCKET_PATH_BYTES];
	const char *name = device->socket[0] != '\0' ? device->socket : device->name;
	int n, rc;

	if (options->dir[0] == '\0' && (rc = folder_default(options)) != 0)
		return rc;
	if (options->dir_fd < 0) {
		rc = folder_open(options->dir, strlen(options->dir), true);
		if (rc < 0)
			return rc;
		options->dir_fd = rc;
	}
	n = snprintf(path, sizeof(path), "%s/%s%s", options->dir, name,
		     device->socket[0] != '\0' ? "" : ".sock");
	if (n < 0 || (size_t)n >= sizeof(path)) {
		log_error("%s: the path of a socket has at most %zu bytes, and %s/%s is longer: "
			  "choose a shorter --dir or name",
			  device->name, sizeof(path) - 1, options->dir, name);
		return -ENAMETOOLONG;
	}
	memcpy(device->socket, path, n + 1);
	device->folder_fd = options->dir_fd;
	return 0;
}

static int
socket_elsewhere(struct device_options *device)
{
	size_t length = strrchr(device->socket, '/') + 1 - device->socket;
	int fd = folder_open(device->socket, length, false);

	device->folder_fd = fd;
	return fd < 0 ? fd : 0;
}

int
folder_prepare(struct options *options)
{
	struct device_options *device;
	unsigned int i;
	int n, rc;

	options->dir_fd = -1;
	for (i = 0; i < options->ndevices; i++) {
		device = &options->devices[i];
		rc = strchr(device->socket, '/') != NULL ? socket_elsewhere(device)
							 : socket_in_dir(options, device);
		if (rc != 0)
			return rc;
		n = snprintf(device->bind_path, sizeof(device->bind_path), "/proc/self/fd/%d%s",
			     device->folder_fd, strrchr(device->socket, '/'));
		if (n < 0 || (size_t)n >= sizeof(device->bind_path)) {
			log_error(
				"%s: the name of a socket has at most %zu bytes: choose a shorter "
				"one than %s",
				device->name, sizeof(device->bind_path) - 1 - FOLDER_WAY_BYTES,
				strrchr(device->socket, '/') + 1);
			return -ENAMETOOLONG;
		}
	}
	return 0;
}
