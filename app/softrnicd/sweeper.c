/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All that it listens to is one byte from the daemon: remove them. It has the descriptors of the folders, the names that
 * were given on the command line, no capabilities, and four system calls.
 *
 * Without that byte it removes nothing: the daemon was killed, another one may be about to start in the same place, and
 * that one replaces what was left behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "landlock.h"
#include "sweeper.h"

#define SWEEPER_FDS 64 /* more than the folders, standard streams, log and pair */

static int sweeper_fd = -1;

/* ---- The other process ---- */

static void
sweeper_remove(const struct device_options *device)
{
	char name[SOCKET_PATH_BYTES + sizeof(".lock")];

	snprintf(name, sizeof(name), "%s.lock", strrchr(device->bind_path, '/') + 1);
	unlinkat(device->folder_fd, strrchr(device->bind_path, '/') + 1, 0);
	unlinkat(device->folder_fd, name, 0);
}

static bool
sweeper_needs(const struct options *options, int fd)
{
	unsigned int i;

	for (i = 0; i < options->ndevices; i++) {
		if (options->devices[i].folder_fd == fd)
			return true;
	}
	return false;
}

static void
sweeper_close_others(const struct options *options, int end)
{
	int fd;

	for (fd = 0; fd < SWEEPER_FDS; fd++) {
		if (fd != end && !sweeper_needs(options, fd))
			close(fd);
	}
	close_range(SWEEPER_FDS, ~0u, 0);
}

static int
sweeper_restrict_files(const struct options *options)
{
	int ruleset = landlock_open(), rc = 0;
	unsigned int i;

	if (ruleset == -ENOSYS || ruleset == -EOPNOTSUPP)
		return 0;
	if (ruleset < 0)
		return ruleset;
	for (i = 0; i < options->ndevices && rc == 0; i++)
		rc = landlock_permit_removal(ruleset, options->devices[i].folder_fd);
	if (rc == 0)
		rc = landlock_enter(&ruleset);
	close(ruleset);
	return rc;
}

static int
sweeper_restrict_calls(void)
{
	static const int calls[] = { SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(unlinkat),
				     SCMP_SYS(exit_group) };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	unsigned int i;
	int rc = filter == NULL ? -ENOMEM : 0;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]) && rc == 0; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

__attribute__((noreturn)) static void
sweeper_run(const struct options *options, int end)
{
	char word = 0;
	sigset_t all;
	unsigned int i;
	int rc;

	/* What a terminal or a service manager sends to all of us is for the daemon. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "softrnicd-sweep");
	sweeper_close_others(options, end);
	rc = chdir("/") != 0 ? -errno : jail_drop_capabilities(0);
	if (rc == 0 && !jail_is_open())
		rc = sweeper_restrict_files(options);
	if (rc == 0 && !jail_is_open())
		rc = sweeper_restrict_calls();
	if (write(end, &rc, sizeof(rc)) == sizeof(rc) && rc == 0 &&
	    read(end, &word, sizeof(word)) == sizeof(word)) {
		for (i = 0; i < options->ndevices; i++)
			sweeper_remove(&options->devices[i]);
	}
	/* Bare: what else the C library, or a sanitizer, does at an end is not for this copy. */
	for (;;)
		syscall(SYS_exit_group, rc != 0);
}

/* ---- The daemon ---- */

int
sweeper_start(const struct options *options)
{
	int ends[2], rc = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
		rc = -errno;
	} else {
		pid = fork();
		if (pid == 0)
			sweeper_run(options, ends[1]);
		if (pid < 0)
			rc = -errno;
		close(ends[1]);
		sweeper_fd = ends[0];
	}
	if (rc == 0 && read(sweeper_fd, &rc, sizeof(rc)) != sizeof(rc))
		rc = -EPERM;
	if (rc != 0)
		log_error("cannot start the process that removes the sockets at the end: %s",
			  strerror(-rc));
	return rc;
}

void
sweeper_sweep(void)
{
	char word = 0;

	if (write(sweeper_fd, &word, sizeof(word)) != sizeof(word))
		return;
	while (read(sweeper_fd, &word, sizeof(word)) > 0)
		;
}
