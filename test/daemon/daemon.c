/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"

#define DAEMON_MORE  32
#define DEVICE_BYTES 256
#define WAIT_STEP_US 10000
#define WAIT_STEPS   6000

const char *daemon_program;
const char *const *daemon_more;
static unsigned int daemon_threads;

int
daemon_arguments(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[2]) : 0;

	if (argc < 2 || argc > 3 || threads < 0) {
		fprintf(stderr, "usage: %s SOFTRNICD [THREADS]\n", argv[0]);
		return 2;
	}
	daemon_program = argv[1];
	daemon_threads = (unsigned int)threads;
	return 0;
}

/* One behind the other, to the threads in turn. */
static unsigned int
daemon_add_devices(const char **argv, unsigned int n, const char *const *devices)
{
	static char placed[DAEMON_DEVICES][DEVICE_BYTES], threads[16];

	for (unsigned int i = 0; devices[i] != NULL; i++) {
		argv[n++] = "--device";
		argv[n++] = devices[i];
		if (daemon_threads == 0)
			continue;
		snprintf(placed[i], sizeof(placed[i]), "%s,thread=%u", devices[i],
			 i % daemon_threads);
		argv[n - 1] = placed[i];
	}
	if (daemon_threads > 0) {
		snprintf(threads, sizeof(threads), "%u", daemon_threads);
		argv[n++] = "--threads";
		argv[n++] = threads;
	}
	return n;
}

static void
daemon_run(struct daemon *d, const char *const *devices, int out)
{
	const char *argv[8 + 2 * DAEMON_DEVICES + DAEMON_MORE] = { daemon_program, "--dir",
								   d->folder };
	unsigned int i, n = 3;
	int log;

	/* Tests set its limits, and for another user's process that takes a capability that root may lack in a container. */
	if (geteuid() == 0) {
		argv[n++] = "--user";
		argv[n++] = "root";
	}
	n = daemon_add_devices(argv, n, devices);
	for (i = 0; daemon_more != NULL && daemon_more[i] != NULL && i < DAEMON_MORE; i++)
		argv[n++] = daemon_more[i];
	log = open(d->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (log < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(99);
	/* A test that dies takes its daemon along. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(daemon_program, (char *const *)argv);
	_exit(98);
}

void
daemon_restart(struct daemon *d, const char *const *devices)
{
	char line[160];
	int out[2];
	FILE *ready;

	d->ndevices = 0;
	while (devices[d->ndevices] != NULL)
		d->ndevices++;
	assert_true(d->ndevices <= DAEMON_DEVICES);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	d->pid = fork();
	assert_true(d->pid >= 0);
	if (d->pid == 0)
		daemon_run(d, devices, out[1]);
	close(out[1]);
	ready = fdopen(out[0], "r");
	assert_non_null(ready);
	for (unsigned int i = 0; i < d->ndevices; i++) {
		assert_non_null(fgets(line, sizeof(line), ready));
		assert_int_equal(sscanf(line, "ready %95s", d->sockets[i]), 1);
	}
	fclose(ready);
}

void
daemon_start(struct daemon *d, const char *const *devices)
{
	memset(d, 0, sizeof(*d));
	snprintf(d->folder, sizeof(d->folder), "/tmp/softrnicd-test-XXXXXX");
	assert_non_null(mkdtemp(d->folder));
	snprintf(d->log, sizeof(d->log), "%s/log", d->folder);
	daemon_restart(d, devices);
}

static int
daemon_wait(struct daemon *d)
{
	int status = -1;

	while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
		;
	d->pid = 0;
	return status;
}

void
daemon_stop(struct daemon *d)
{
	int status;

	assert_int_equal(kill(d->pid, SIGTERM), 0);
	status = daemon_wait(d);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		daemon_logged(d, "\n");
		fail_msg("softrnicd ended with status 0x%x; its log is %s", status, d->log);
	}
	for (unsigned int i = 0; i < d->ndevices; i++) {
		if (access(d->sockets[i], F_OK) == 0)
			fail_msg("%s stayed behind", d->sockets[i]);
	}
}

void
daemon_kill(struct daemon *d)
{
	assert_int_equal(kill(d->pid, SIGKILL), 0);
	daemon_wait(d);
}

void
daemon_clean(struct daemon *d)
{
	char path[200];

	for (unsigned int i = 0; i < d->ndevices; i++) {
		unlink(d->sockets[i]);
		snprintf(path, sizeof(path), "%s.lock", d->sockets[i]);
		unlink(path);
	}
	unlink(d->log);
	assert_int_equal(rmdir(d->folder), 0);
}

/* @return the log of now, until the next call. */
static char *
daemon_log(const struct daemon *d)
{
	static char log[1 << 20];
	int fd = open(d->log, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, log, sizeof(log) - 1);

	if (fd >= 0)
		close(fd);
	log[n < 0 ? 0 : n] = '\0';
	return log;
}

bool
daemon_has_logged(const struct daemon *d, const char *text)
{
	return strstr(daemon_log(d), text) != NULL;
}

bool
daemon_logged(const struct daemon *d, const char *text)
{
	char *line;

	for (unsigned int i = 0; i < WAIT_STEPS; i++) {
		if (daemon_has_logged(d, text))
			return true;
		usleep(WAIT_STEP_US);
	}
	printf("# log without \"%s\":\n", text);
	for (line = strtok(daemon_log(d), "\n"); line != NULL; line = strtok(NULL, "\n"))
		printf("# %s\n", line);
	return false;
}

unsigned int
daemon_fds(const struct daemon *d)
{
	unsigned int count = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)d->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

unsigned int
daemon_maps(const struct daemon *d)
{
	unsigned int count = 0;
	char path[64];
	FILE *maps;
	int c;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)d->pid);
	maps = fopen(path, "r");
	assert_non_null(maps);
	while ((c = fgetc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

size_t
daemon_address_space(const struct daemon *d)
{
	unsigned long pages = 0;
	char path[64];
	FILE *statm;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)d->pid);
	statm = fopen(path, "r");
	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

bool
daemon_has_fds(const struct daemon *d, unsigned int fds)
{
	for (unsigned int i = 0; i < WAIT_STEPS; i++) {
		if (daemon_fds(d) <= fds)
			return true;
		usleep(WAIT_STEP_US);
	}
	return false;
}
