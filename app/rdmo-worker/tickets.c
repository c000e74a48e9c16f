/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdmo.h>

#include "options.h"
#include "say.h"
#include "tickets.h"

int
tickets_folder(const char *path)
{
	int fd;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return say_failed(-errno, "--tickets: cannot create %s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd
		       : say_failed(-errno, "--tickets: cannot open %s: %s", path, strerror(errno));
}

/* All that the ticket's file is to be, under another name. */
static int
ticket_write_to(struct ticket_file *file, int fd, const char *text)
{
	char line[RDMO_TICKET_BYTES + 1];
	const int length = snprintf(line, sizeof(line), "%s\n", text);
	struct stat st;
	ssize_t n;

	/* Whatever the umask takes away. */
	if (fchmod(fd, 0600) != 0 || fstat(fd, &st) != 0)
		return -errno;
	n = write(fd, line, (size_t)length);
	if (n != length)
		return n < 0 ? -errno : -ENOSPC;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	return 0;
}

int
ticket_write(struct ticket_file *file, int folder, const char *name, const char *text)
{
	char other[NAME_BYTES + 24]; /* of this process alone, and no log's */
	int fd, rc;

	snprintf(other, sizeof(other), ".%s.%d", name, (int)getpid());
	fd = openat(folder, other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return say_failed(-errno, "cannot write the ticket %s: %s", name, strerror(errno));
	rc = ticket_write_to(file, fd, text);
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && renameat(folder, other, folder, name) != 0)
		rc = -errno;
	if (rc != 0) {
		unlinkat(folder, other, 0);
		return say_failed(rc, "cannot write the ticket %s: %s", name, strerror(-rc));
	}
	file->folder = folder;
	file->name = name;
	return 0;
}

void
ticket_remove(struct ticket_file *file)
{
	struct stat st;

	if (file->folder < 0)
		return;
	if (fstatat(file->folder, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == file->device && st.st_ino == file->inode)
		unlinkat(file->folder, file->name, 0);
	file->folder = -1;
}
