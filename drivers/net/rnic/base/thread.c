/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/log.h"

#define LINES_A_SECOND 10
#define LOCK_NAP_NS    1000000

/*
 * The thread that this is. With a place in every thread from its start: a plugin's would be allocated at a thread's first
 * look, and the dynamic linker ends the process where there is no memory for that.
 */
static _Thread_local struct rnic_thread *self __attribute__((tls_model("initial-exec")));

static void
report_left_out(struct rnic_thread *thread)
{
	if (thread->unsaid > 0)
		RNIC_LOG_NAMED(ERR, thread->name, "%u more lines like these were left out",
			       thread->unsaid);
	thread->unsaid = 0;
}

void
rnic_thread_begin(struct rnic_thread *thread)
{
	self = thread;
}

void
rnic_thread_end(struct rnic_thread *thread)
{
	report_left_out(thread);
	self = NULL;
}

void
rnic_thread_stop(struct rnic_thread *thread, unsigned int last_ms)
{
	atomic_store(&thread->last_us, rnic_now_us() + (uint64_t)last_ms * 1000);
	atomic_store(&thread->stop, true);
	rnic_eventfd_signal(thread->stop_fd);
}

bool
rnic_thread_serves(const struct rnic_dev *dev)
{
	return self != NULL && self->dev == dev;
}

bool
rnic_thread_stopping(const struct rnic_dev *dev)
{
	return rnic_thread_serves(dev) && atomic_load(&self->stop);
}

uint64_t
rnic_thread_last_us(void)
{
	return atomic_load(&self->last_us);
}

int
rnic_thread_patience_ms(int *fd)
{
	uint64_t now, last;

	if (self == NULL)
		return -1;
	*fd = self->stop_fd;
	if (!atomic_load(&self->stop))
		return -1;
	now = rnic_now_us();
	last = atomic_load(&self->last_us);
	return now < last ? (int)((last - now + 999) / 1000) : 0;
}

bool
rnic_thread_lock(pthread_mutex_t *lock)
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	int fd;

	if (self == NULL) {
		pthread_mutex_lock(lock);
		return true;
	}
	while (pthread_mutex_trylock(lock) != 0) {
		if (rnic_thread_patience_ms(&fd) == 0)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

bool
rnic_thread_may_log(const struct rnic_dev *dev)
{
	uint64_t now;

	if (!rnic_thread_serves(dev))
		return true;
	now = rnic_now_us();
	if (now >= self->quiet_until_us) {
		report_left_out(self);
		self->said = 0;
		self->quiet_until_us = now + 1000000;
	}
	if (self->said == LINES_A_SECOND) {
		self->unsaid++;
		return false;
	}
	self->said++;
	return true;
}
