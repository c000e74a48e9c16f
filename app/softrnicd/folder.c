/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

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

/* Ours alone if we make it. One that is there and open for others to write to would let them put sockets of theirs. */
static int
folder_make(const char *dir)
{
	struct stat st;
	int rc;

	if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
		rc = -errno;
		log_error("cannot make the folder %s: %s; name one with --dir", dir, strerror(-rc));
		return rc;
	}
	if (stat(dir, &st) != 0) {
		rc = -errno;
		log_error("%s: %s", dir, strerror(-rc));
		return rc;
	}
	if (!S_ISDIR(st.st_mode)) {
		log_error("%s is no folder: name one with --dir", dir);
		return -ENOTDIR;
	}
	if ((st.st_uid != geteuid() && st.st_uid != 0) ||
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)) {
		log_error("others can put files into %s: name a private folder with --dir", dir);
		return -EPERM;
	}
	return 0;
}

int
folder_prepare(struct options *options)
{
	struct device_options *device;
	char path[SOCKET_PATH_BYTES];
	const char *name;
	bool made = false;
	unsigned int i;
	int n, rc;

	for (i = 0; i < options->ndevices; i++) {
		device = &options->devices[i];
		if (strchr(device->socket, '/') != NULL)
			continue;
		if (options->dir[0] == '\0' && (rc = folder_default(options)) != 0)
			return rc;
		if (!made && (rc = folder_make(options->dir)) != 0)
			return rc;
		made = true;
		name = device->socket[0] != '\0' ? device->socket : device->name;
		n = snprintf(path, sizeof(path), "%s/%s%s", options->dir, name,
			     device->socket[0] != '\0' ? "" : ".sock");
		if (n < 0 || (size_t)n >= sizeof(path)) {
			log_error("%s: the path of a socket has at most %zu bytes, and %s/%s is "
				  "longer: choose a shorter --dir or name",
				  device->name, sizeof(path) - 1, options->dir, name);
			return -ENAMETOOLONG;
		}
		memcpy(device->socket, path, n + 1);
	}
	return 0;
}
