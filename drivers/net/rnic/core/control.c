/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The control thread of a device: walks the asynchronous event queue when its interrupt comes, answers page requests,
 * watches the device's health. Asleep otherwise.
 *
 * It is a thread of the device's own, not EAL's interrupt thread: that one serves the whole process, and must not stand
 * still while a sick device lets a command wait. It stays off the cores that EAL's lcores poll on, where there are
 * others.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/health.h"
#include "core/pages.h"
#include "prm/init_seg.h"

#define STILL_SAID 3  /* looks at a health counter that does not move: a warning, as Linux's */
#define STILL_LOST 10 /* and the device is lost */

struct rnic_control {
	struct rnic_dev *dev;
	struct rnic_thread thread;
	pthread_t pthread;
	int kick_fd; /* wakes the thread */
	atomic_bool watching;
	atomic_bool look; /* at the event queues, now */

	/* Who waits until all events so far are handled. */
	pthread_mutex_t sync_lock;
	pthread_cond_t sync_done;
	uint64_t sync_wanted, sync_reached; /* under the lock */

	/* The thread's own. */
	uint64_t next_check_us;
	uint32_t counter, syndrome;
	unsigned int still;
	bool checked; /* counter holds something */
};

/* ---- Health ---- */

/* What the firmware complains of without an end: said once. */
static void
note_syndrome(struct rnic_control *control)
{
	uint32_t syndrome = rnic_register_read(control->dev, RNIC_ISEG_HEALTH_SYNDROME);

	if (rnic_thread_stopping(control->dev))
		return;
	if (syndrome != 0 && syndrome != control->syndrome)
		RNIC_LOG(WARNING, control->dev,
			 "health syndrome 0x%02x (extended 0x%04x), not fatal: the port goes on",
			 syndrome, rnic_register_read(control->dev, RNIC_ISEG_HEALTH_EXT_SYNDROME));
	if (syndrome != control->syndrome)
		rnic_control_suspect(control->dev);
	control->syndrome = syndrome;
}

/*
 * A firmware that is busy (an update, a reset of many VFs, a link that is being tuned) may have no time for its counter and
 * goes on: what is lost is one that has none for long, or that does not complete commands either.
 */
static const char *
judge_counter(struct rnic_control *control, uint32_t counter)
{
	struct rnic_dev *dev = control->dev;

	if (!control->checked || counter != control->counter) {
		if (control->still >= STILL_SAID)
			RNIC_LOG_REPEATED(NOTICE, dev, "health counter is moving again");
		control->still = 0;
		control->counter = counter;
		control->checked = true;
		return NULL;
	}
	control->still++;
	if (control->still >= STILL_LOST)
		return "its health counter stands still";
	if (control->still >= STILL_SAID &&
	    rnic_cmdq_stuck(dev, (uint64_t)dev->tunables.health_period_ms * 1000 * STILL_LOST))
		return "its health counter stands still, and a command does not complete";
	if (control->still == STILL_SAID)
		RNIC_LOG_REPEATED(
			WARNING, dev,
			"its health counter has not moved for %u ms; after %u ms the device is "
			"lost",
			dev->tunables.health_period_ms * STILL_SAID,
			dev->tunables.health_period_ms * STILL_LOST);
	return NULL;
}

static void
check_health(struct rnic_control *control)
{
	struct rnic_dev *dev = control->dev;
	const char *why = rnic_device_dead(dev);
	uint32_t counter = rnic_register_read(dev, RNIC_ISEG_HEALTH_COUNTER);

	/* It may not have waited for the answer. */
	if (rnic_thread_stopping(dev))
		return;
	if (why == NULL)
		why = judge_counter(control, counter);
	if (why != NULL)
		rnic_dev_fatal(dev, why);
	else
		note_syndrome(control);
	if (rnic_cmdq_owed(dev))
		rnic_eq_suspect(dev->async_eq);
}

static void
hung_up(struct rnic_dev *dev)
{
	const char *why = rnic_device_dead(dev);

	rnic_dev_fatal(dev, why != NULL ? why : dev->access->hangup_reason);
}

/* ---- What it serves beside the asynchronous queue ---- */

void
rnic_control_add(struct rnic_dev *dev, enum rnic_control_slot slot,
		 const struct rnic_control_source *source)
{
	atomic_store(&dev->sources[slot], source);
}

void
rnic_control_remove(struct rnic_dev *dev, enum rnic_control_slot slot)
{
	atomic_store(&dev->sources[slot], NULL);
}

static const struct rnic_control_source *
source_at(struct rnic_dev *dev, int slot)
{
	static const struct rnic_control_source none;
	const struct rnic_control_source *source = atomic_load(&dev->sources[slot]);

	return source != NULL ? source : &none;
}

static void
arm_sources(struct rnic_dev *dev)
{
	const struct rnic_control_source *source;
	int i;

	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->arm != NULL)
			source->arm(dev);
	}
}

static void
poll_sources(struct rnic_dev *dev)
{
	const struct rnic_control_source *source;
	int i;

	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->poll != NULL)
			source->poll(dev);
	}
}

/* ---- Event queues that take no more events ---- */

void
rnic_control_suspect(struct rnic_dev *dev)
{
	const struct rnic_control_source *source;
	int i;

	if (dev->control == NULL)
		return;
	rnic_eq_suspect(dev->async_eq);
	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->suspect != NULL)
			source->suspect(dev);
	}
}

void
rnic_control_wake(struct rnic_dev *dev)
{
	if (dev->control != NULL)
		rnic_eventfd_signal(dev->control->kick_fd);
}

void
rnic_control_look(struct rnic_dev *dev)
{
	atomic_store(&dev->control->look, true);
	rnic_eventfd_signal(dev->control->kick_fd);
}

bool
rnic_control_mend_eq(struct rnic_dev *dev, struct rnic_eq *eq)
{
	int rc;

	rnic_eq_trust(eq);
	if (!rnic_eq_failed(dev, rnic_eq_number(eq)))
		return false;
	/* What it still holds; nothing comes after that. */
	rnic_eq_poll(dev, eq);
	rc = rnic_eq_remake(dev, eq);
	if (rc == 0)
		RNIC_LOG_REPEATED(WARNING, dev,
				  "an event queue ran over and was re-created: what it missed is "
				  "asked for");
	else if (rc == -ENOSPC)
		rnic_dev_fatal(dev, "an event queue ran over, and there is no room for another");
	else
		rnic_eq_suspect(eq); /* once more, later */
	return rc == 0;
}

/* All that an event would have told of. */
static void
query_the_missed(struct rnic_dev *dev)
{
	const struct rnic_control_source *source;
	int i;

	rnic_cmdq_forgive(dev);
	/* First what was heard of, so that it is not counted twice. */
	rnic_pages_answer(dev);
	rnic_pages_query(dev);
	rnic_event_note_port(dev);
	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->ask != NULL)
			source->ask(dev);
	}
	rnic_control_answer(dev);
}

/* All of them, or those that have been silent for too long. */
static void
look_at_queues(struct rnic_dev *dev, bool all)
{
	const struct rnic_control_source *source;
	bool mended;
	int i;

	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->check != NULL)
			source->check(dev);
	}
	mended = (all || rnic_eq_silent(dev, dev->async_eq)) &&
		 rnic_control_mend_eq(dev, dev->async_eq);
	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->mend != NULL)
			mended |= source->mend(dev, all);
	}
	if (mended)
		query_the_missed(dev);
}

/* Milliseconds until the next check is due; -1: none. */
static int
health_timeout(struct rnic_control *control)
{
	const uint64_t now = rnic_now_us(),
		       period = (uint64_t)control->dev->tunables.health_period_ms * 1000;
	bool all, due;

	if (!atomic_load(&control->watching) || atomic_load(&control->dev->dead))
		return -1;
	due = now >= control->next_check_us;
	if (due) {
		check_health(control);
		control->next_check_us = now + period;
	}
	all = atomic_exchange(&control->look, false);
	if (all || due)
		look_at_queues(control->dev, all);
	if (atomic_load(&control->dev->dead))
		return -1;
	return (int)((control->next_check_us - now + 999) / 1000);
}

/* The same; sooner while threads sleep on queues whose events no longer come. */
static int
next_look(struct rnic_control *control)
{
	const int ms = health_timeout(control);
	const struct rnic_control_source *source;
	struct rnic_dev *dev = control->dev;
	bool looked = false;
	int i;

	if (atomic_load(&dev->dead))
		return ms;
	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		if (source->is_deaf != NULL && source->is_deaf(dev)) {
			source->look(dev);
			looked = true;
		}
	}
	if (!looked)
		return ms;
	return ms < 0 ? RNIC_DEAF_LOOK_MS : RTE_MIN(ms, RNIC_DEAF_LOOK_MS);
}

void
rnic_control_watch(struct rnic_dev *dev, bool on)
{
	atomic_store(&dev->control->watching, on);
	rnic_eventfd_signal(dev->control->kick_fd);
}

/* ---- The thread ---- */

void
rnic_control_answer(struct rnic_dev *dev)
{
	/* Pages first: the device may need them to go on. */
	rnic_pages_answer(dev);
	/* Listeners ask the device, and would get no answer. */
	if (!rnic_thread_stopping(dev))
		rnic_event_tell_port(dev);
}

void
rnic_control_serve_pages(struct rnic_dev *dev)
{
	if (dev->async_eq == NULL || (dev->control != NULL && !rnic_thread_serves(dev)))
		return;
	rnic_eq_foresee(dev, dev->async_eq);
	rnic_pages_answer(dev);
}

/* ---- All events so far ---- */

static void
answer_sync(struct rnic_control *control)
{
	struct rnic_dev *dev = control->dev;
	uint64_t wanted;
	bool news;

	pthread_mutex_lock(&control->sync_lock);
	wanted = control->sync_wanted;
	news = wanted != control->sync_reached;
	pthread_mutex_unlock(&control->sync_lock);
	if (!news)
		return;
	rnic_eq_poll(dev, dev->async_eq);
	poll_sources(dev);
	pthread_mutex_lock(&control->sync_lock);
	control->sync_reached = wanted;
	pthread_cond_broadcast(&control->sync_done);
	pthread_mutex_unlock(&control->sync_lock);
	/* What the walk has met is not left for an interrupt. */
	rnic_control_answer(dev);
}

void
rnic_control_sync(struct rnic_dev *dev)
{
	struct rnic_control *control = dev->control;
	struct timespec end;
	uint64_t wanted;
	int rc = 0;

	if (control == NULL || rnic_thread_serves(dev))
		return;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += dev->tunables.sync_patience_s;
	pthread_mutex_lock(&control->sync_lock);
	wanted = ++control->sync_wanted;
	rnic_eventfd_signal(control->kick_fd);
	while (control->sync_reached < wanted && rc == 0)
		rc = pthread_cond_timedwait(&control->sync_done, &control->sync_lock, &end);
	pthread_mutex_unlock(&control->sync_lock);
	if (rc != 0)
		RNIC_LOG(WARNING, dev, "events are not handled within %u s: late ones may follow",
			 dev->tunables.sync_patience_s);
}

enum {
	FD_ASYNC,
	FD_KICK,
	FD_HANGUP,
	FD_SOURCES,
	FDS = FD_SOURCES + RNIC_CONTROL_SLOTS,
};

static void
set_fds(struct rnic_control *control, struct pollfd fds[FDS])
{
	struct rnic_dev *dev = control->dev;
	const struct rnic_control_source *source;
	int i;

	fds[FD_ASYNC].fd = dev->access->ops->irq_fd(dev->access, 0);
	fds[FD_KICK].fd = control->kick_fd;
	fds[FD_HANGUP].fd = dev->access->ops->hangup_fd(dev->access);
	/* poll() passes over those without one. */
	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		fds[FD_SOURCES + i].fd = source->irq_fd != NULL ? source->irq_fd(dev) : -1;
	}
	for (i = 0; i < FDS; i++)
		fds[i].events = POLLIN;
	fds[FD_HANGUP].events = dev->access->hangup_events;
}

/* Those whose own descriptor is readable; or those without one, with the asynchronous queue. */
static void
hear_sources(struct rnic_dev *dev, const struct pollfd fds[FDS], bool own)
{
	const struct rnic_control_source *source;
	const struct pollfd *fd;
	int i;

	for (i = 0; i < RNIC_CONTROL_SLOTS; i++) {
		source = source_at(dev, i);
		fd = &fds[FD_SOURCES + i];
		if (source->poll == NULL || (fd->fd >= 0) != own || (own && !fd->revents))
			continue;
		if (own && source->hear != NULL) {
			source->hear(dev);
			continue;
		}
		if (own)
			rnic_eventfd_drain(fd->fd);
		source->poll(dev);
	}
}

static void *
control_run(void *arg)
{
	struct rnic_control *control = arg;
	struct rnic_dev *dev = control->dev;
	struct pollfd fds[FDS];

	set_fds(control, fds);
	rnic_thread_begin(&control->thread);
	/* By the thread that walks them. An event that is there already comes as an interrupt. */
	rnic_eq_arm(dev, dev->async_eq);
	arm_sources(dev);
	while (!atomic_load(&control->thread.stop)) {
		if (poll(fds, RTE_DIM(fds), next_look(control)) <= 0)
			continue;
		if (fds[FD_HANGUP].revents) {
			hung_up(dev);
			fds[FD_HANGUP].fd = -1;
		}
		if (fds[FD_KICK].revents) {
			rnic_eventfd_drain(control->kick_fd);
			answer_sync(control);
		}
		hear_sources(dev, fds, true);
		if (fds[FD_ASYNC].revents) {
			/* Before the walk: what is written after it makes the descriptor readable again. */
			rnic_eventfd_drain(fds[FD_ASYNC].fd);
			rnic_eq_poll(dev, dev->async_eq);
			hear_sources(dev, fds, false);
			/* Commands; not in the walk, which their completions may need. */
			rnic_control_answer(dev);
		}
	}
	rnic_thread_end(&control->thread);
	return NULL;
}

/* CPUs that no lcore polls on, if there are any; else all, not just those of the thread that starts it. */
static void
set_affinity(pthread_attr_t *attr)
{
	cpu_set_t all, idle;
	unsigned int lcore;
	long cpu;

	CPU_ZERO(&all);
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && cpu < CPU_SETSIZE; cpu++)
		CPU_SET((size_t)cpu, &all);
	idle = all;
	RTE_LCORE_FOREACH(lcore) {
		rte_cpuset_t polled = rte_lcore_cpuset(lcore);

		/* One that may run anywhere leaves room everywhere. */
		if (CPU_COUNT(&polled) == 1) {
			CPU_AND(&polled, &polled, &idle);
			CPU_XOR(&idle, &idle, &polled);
		}
	}
	pthread_attr_setaffinity_np(attr, sizeof(all), CPU_COUNT(&idle) > 0 ? &idle : &all);
}

static int
start_thread(struct rnic_control *control)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int rc;

	/* Signals are the application's. */
	sigfillset(&all);
	pthread_attr_init(&attr);
	set_affinity(&attr);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&control->pthread, &attr, control_run, control);
	if (rc == EINVAL) /* a container may forbid those CPUs */
		rc = pthread_create(&control->pthread, NULL, control_run, control);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		pthread_setname_np(control->pthread, "rnic-control");
	return -rc;
}

/* Whatever the clock is set to meanwhile. */
static void
init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void
free_control(struct rnic_control *control)
{
	if (control->kick_fd >= 0)
		close(control->kick_fd);
	if (control->thread.stop_fd >= 0)
		close(control->thread.stop_fd);
	pthread_cond_destroy(&control->sync_done);
	pthread_mutex_destroy(&control->sync_lock);
	free(control);
}

int
rnic_control_start(struct rnic_dev *dev)
{
	struct rnic_control *control = calloc(1, sizeof(*control));
	int rc;

	if (control == NULL)
		return -ENOMEM;
	control->dev = dev;
	control->thread.dev = dev;
	control->thread.name = dev->name;
	control->kick_fd = control->thread.stop_fd = -1;
	pthread_mutex_init(&control->sync_lock, NULL);
	init_monotonic(&control->sync_done);
	rc = rnic_eventfd_open(dev->name, &control->kick_fd);
	if (rc == 0)
		rc = rnic_eventfd_open(dev->name, &control->thread.stop_fd);
	dev->control = control;
	if (rc == 0)
		rc = start_thread(control);
	if (rc != 0) {
		RNIC_LOG(ERR, dev, "no control thread: %s", strerror(-rc));
		dev->control = NULL;
		free_control(control);
		return rc;
	}
	return 0;
}

void
rnic_control_stop(struct rnic_dev *dev)
{
	struct rnic_control *control = dev->control;

	if (control == NULL)
		return;
	rnic_thread_stop(&control->thread, dev->tunables.last_ms);
	rnic_eventfd_signal(control->kick_fd);
	pthread_join(control->pthread, NULL);
	dev->control = NULL;
	free_control(control);
}
