/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * As the device thread of an embedded device does: poll while there is work, spin a little when there is none (the next
 * doorbell of a busy driver is near), then give the time slice away, then sleep. Doorbells in shared pages wake nobody,
 * so while there is a client the sleep has a limit, which bounds how late they are seen, as it does for deadlines of
 * queue pairs; messages and other threads wake at once. Without a client there is nothing that a device could do, and the sleep has
 * none.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define LOOP_SPINS	  64
#define LOOP_YIELD_NS	  200000 /* behind the spins */
#define LOOP_SLEEP_MIN_NS 50000
#define LOOP_SLEEP_MAX_NS 500000 /* doubled from sleep to sleep up to this */
/* Between two looks at the sockets, but for sleeps: so many polls, and no more than one beyond that time. */
#define LOOP_SOCKETS	32
#define LOOP_SOCKETS_NS 1000000

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static int
loop_watch(struct loop *loop, int fd, void *whose)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = whose };

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

static void
loop_signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

int
loop_block_signals(void)
{
	sigset_t set;
	int rc = 0;

	loop_signal_set(&set);
	/* A reader of our messages that has gone is no reason to end. */
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
		rc = -errno;
		log_error("cannot block signals: %s", strerror(-rc));
	}
	return rc;
}

static int
loop_signals(struct loop *loop)
{
	sigset_t set;

	loop_signal_set(&set);
	loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return loop->signal_fd < 0 ? -errno : loop_watch(loop, loop->signal_fd, NULL);
}

/* Other threads, for which the loop itself stands. */
static int
loop_wakes(struct loop *loop)
{
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return loop->wake_fd < 0 ? -errno : loop_watch(loop, loop->wake_fd, loop);
}

int
loop_open(struct loop *loop, unsigned int thread, struct softrnic_poller *poller)
{
	int rc;

	*loop = (struct loop){
		.poller = poller,
		.thread = thread,
		.signal_fd = -1,
		.wake_fd = -1,
	};
	/* The kernel may put a timer off by 50 us otherwise. Threads that start later have it from this one. */
	prctl(PR_SET_TIMERSLACK, 1000UL);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = loop->epoll_fd < 0 ? -errno : loop_wakes(loop);
	if (rc == 0 && thread == 0)
		rc = loop_signals(loop);
	if (rc != 0) {
		log_error("cannot watch signals and threads: %s", strerror(-rc));
		loop_close(loop);
	}
	return rc;
}

int
loop_add(struct loop *loop, struct device *device)
{
	int rc = loop_watch(loop, vfu_server_fd(device->server), device);

	if (rc != 0)
		log_error("%s: cannot watch its socket: %s", device->options->name, strerror(-rc));
	else
		loop->devices[loop->ndevices++] = device;
	return rc;
}

static void
loop_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
loop_close(struct loop *loop)
{
	loop_close_fd(&loop->signal_fd);
	loop_close_fd(&loop->wake_fd);
	loop_close_fd(&loop->epoll_fd);
}

void
loop_wake(void *arg)
{
	struct loop *loop = arg;

	/* Pairs with the store in loop_sleep(): one of the two sides sees the other. */
	if (atomic_load(&loop->sleeping) && atomic_exchange(&loop->sleeping, false))
		eventfd_write(loop->wake_fd, 1);
}

/* The jail knows none of the calls that pthread_join() waits by. */
void
loop_stop(struct loop *loop)
{
	const struct timespec moment = { .tv_nsec = LOOP_SLEEP_MIN_NS };

	atomic_store(&loop->stop, true);
	eventfd_write(loop->wake_fd, 1);
	while (!atomic_load(&loop->ended))
		ppoll(NULL, 0, &moment, NULL);
}

static void
loop_take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->signal_fd, &info, sizeof(info)) == sizeof(info))
		loop->stopped_by = (int)info.ssi_signo;
}

static void
loop_take_wake(const struct loop *loop)
{
	eventfd_t value;

	eventfd_read(loop->wake_fd, &value);
}

/*
 * Serve the sockets that have something, for as long as a look may take. What one device does may be long and cannot be cut
 * (the end of a session is): then the others are first at the next look, and devices are polled before.
 *
 * @return what was done: messages, a signal, a call from another thread.
 */
static unsigned int
loop_sockets(struct loop *loop)
{
	uint64_t end = now_ns() + VFU_LOOK_NS;
	unsigned int done = 0;

	if (loop->next >= loop->nevents) {
		loop->nevents = epoll_wait(loop->epoll_fd, loop->events, LOOP_EVENTS, 0);
		loop->next = 0;
	}
	while (loop->next < loop->nevents) {
		void *whose = loop->events[loop->next++].data.ptr;
		struct device *device = whose;

		if (whose == NULL || whose == loop) {
			if (whose == NULL)
				loop_take_signal(loop);
			else
				loop_take_wake(loop);
			done++;
			continue;
		}
		done += vfu_server_process_share(device->server, (unsigned int)loop->nevents);
		device_check_memory(device);
		if (now_ns() >= end)
			break;
	}
	return done;
}

static bool
loop_served(const struct loop *loop)
{
	unsigned int i;

	for (i = 0; i < loop->ndevices; i++) {
		if (device_served(loop->devices[i]))
			return true;
	}
	return false;
}

static unsigned int
loop_devices(struct loop *loop)
{
	unsigned int i, done = softrnic_poll(loop->poller);

	/* A frame over a pair wire reaches into the memory of two clients. */
	for (i = 0; i < loop->ndevices; i++)
		device_check_memory(loop->devices[i]);
	return done;
}

/* Unless there is work after all: @return how much. */
static unsigned int
loop_sleep(struct loop *loop, bool served, uint64_t ns)
{
	struct pollfd fd = { .fd = loop->epoll_fd, .events = POLLIN };
	struct timespec timeout = { .tv_nsec = (long)ns };
	unsigned int done;

	atomic_store(&loop->sleeping, true);
	done = loop_devices(loop);
	if (done == 0)
		ppoll(&fd, 1, served ? &timeout : NULL, NULL);
	atomic_store(&loop->sleeping, false);
	return done;
}

static bool
loop_goes_on(const struct loop *loop)
{
	return loop->stopped_by == 0 && !atomic_load_explicit(&loop->stop, memory_order_relaxed);
}

void
loop_run(struct loop *loop)
{
	uint64_t last_spin = now_ns(), last_look = last_spin, sleep_ns = LOOP_SLEEP_MIN_NS;
	unsigned int idle = 0, polls = 0;

	guard_enter_thread(loop->thread);
	while (loop_goes_on(loop)) {
		bool served = loop_served(loop);

		idle = served && loop_devices(loop) > 0 ? 0 : idle + 1;
		/* A look at the sockets costs as much as dozens of frames. */
		if (served && idle < LOOP_SPINS && ++polls % LOOP_SOCKETS != 0 &&
		    now_ns() - last_look < LOOP_SOCKETS_NS)
			continue;
		last_look = now_ns();
		if (loop_sockets(loop) > 0)
			idle = 0;
		if (idle == 0) {
			sleep_ns = LOOP_SLEEP_MIN_NS;
			continue;
		}
		if (served && idle <= LOOP_SPINS) {
			last_spin = now_ns();
			continue;
		}
		if (served && now_ns() - last_spin < LOOP_YIELD_NS) {
			sched_yield();
			continue;
		}
		if (loop_sleep(loop, served, sleep_ns) > 0)
			idle = 0;
		sleep_ns *= 2;
		if (sleep_ns > LOOP_SLEEP_MAX_NS)
			sleep_ns = LOOP_SLEEP_MAX_NS;
	}
	atomic_store(&loop->ended, true);
}
