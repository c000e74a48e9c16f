/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The queue is a pipe of descriptor numbers: its thread sleeps in read(), needs no lock, and a sandbox that permits
 * read() and close() can hold it. It may never come back from a close(), so nobody ever waits for it, and the last of the
 * two who use the object frees it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "closer.h"
#include "message.h"

#define VFU_CLOSER_STACK_BYTES (256 << 10)

struct vfu_closer {
	atomic_uint pending; /* given and not closed */
	atomic_uint users;   /* the thread, and who made it */
	atomic_bool running;
	int in;
	int out;
};

static void
vfu_closer_put(struct vfu_closer *closer)
{
	if (atomic_fetch_sub(&closer->users, 1) > 1)
		return;
	close(closer->out);
	free(closer);
}

static void *
vfu_closer_run(void *arg)
{
	struct vfu_closer *closer = arg;
	ssize_t n;
	int fd;

	atomic_store(&closer->running, true);
	do {
		n = read(closer->out, &fd, sizeof(fd));
		/* The server is done with it: pairs with vfu_closer_close(). The pipe orders it for all but tools. */
		if (n == sizeof(fd) && atomic_load(&closer->pending) > 0) {
			close(fd);
			atomic_fetch_sub(&closer->pending, 1);
		}
	} while (n == sizeof(fd) || (n < 0 && errno == EINTR));
	vfu_closer_put(closer);
	return NULL;
}

static int
vfu_closer_start(struct vfu_closer *closer)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, VFU_CLOSER_STACK_BYTES);
	/* Signals are the host's, in threads of its own. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = -pthread_create(&thread, &attributes, vfu_closer_run, closer);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	/* What a thread does at its start, a sandbox that the host enters next may deny. */
	while (rc == 0 && !atomic_load(&closer->running))
		sched_yield();
	return rc;
}

int
vfu_closer_create(struct vfu_closer **out)
{
	struct vfu_closer *closer = calloc(1, sizeof(*closer));
	int ends[2], rc;

	if (closer == NULL)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		rc = -errno;
		free(closer);
		return rc;
	}
	closer->out = ends[0];
	closer->in = ends[1];
	atomic_init(&closer->users, 2);
	rc = fcntl(closer->in, F_SETFL, O_NONBLOCK) != 0 ? -errno : vfu_closer_start(closer);
	if (rc != 0) {
		close(closer->in);
		close(closer->out);
		free(closer);
		return rc;
	}
	*out = closer;
	return 0;
}

void
vfu_closer_destroy(struct vfu_closer *closer)
{
	if (closer == NULL)
		return;
	close(closer->in);
	vfu_closer_put(closer);
}

bool
vfu_closer_close(struct vfu_closer *closer, int fd)
{
	if (closer == NULL || vfu_is_memory_file(fd)) {
		close(fd);
		return false;
	}
	atomic_fetch_add(&closer->pending, 1);
	/* The pipe has room for more than the limit; what it would not take stays open and counted. */
	return write(closer->in, &fd, sizeof(fd)) != 0;
}

bool
vfu_closer_full(const struct vfu_closer *closer)
{
	return closer != NULL && atomic_load(&closer->pending) >= VFU_CLOSER_LIMIT;
}
