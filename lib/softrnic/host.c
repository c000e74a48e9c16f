/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device threads of a process: one for each CPU that somebody asked for.
 *
 * A thread polls while there is work. Idle, it first spins briefly (the next doorbell of a busy driver is near), then yields, then sleeps
 * on an eventfd. Doorbells in mapped memory wake no thread, so the timeout limits the delay of doorbells and of queue pairs'
 * deadlines. Calls through softrnic.h, commands among them, wake it at once.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_pause.h>
#include <rte_thread.h>
#include <rte_version.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"

#define SOFTRNIC_HOST_SPINS	   64
#define SOFTRNIC_HOST_YIELD_NS	   200000 /* from the last work on */
#define SOFTRNIC_HOST_SLEEP_MIN_NS 50000
#define SOFTRNIC_HOST_SLEEP_MAX_NS 500000 /* doubled from sleep to sleep up to this */

struct host_thread {
	int core;
	struct softrnic_poller *poller;
	pthread_t thread;
	int wake_fd;
	atomic_bool sleeping; /* or about to: write wake_fd */
	atomic_bool stop;
};

static struct {
	pthread_mutex_t lock; /* of users and what comes and goes with the first and last of them */
	unsigned int users, count;
	pid_t pid;					   /* a child of fork() has no threads */
	struct host_thread *threads[SOFTRNIC_POLLERS];	   /* in the order in which they started */
	struct host_thread *left_behind[SOFTRNIC_POLLERS]; /* of the parent */
} host = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
host_wake(void *arg)
{
	struct host_thread *h = arg;

	/* Pairs with the exchange in host_sleep(): one of the two sides sees the other. */
	if (atomic_load(&h->sleeping) && atomic_exchange(&h->sleeping, false))
		eventfd_write(h->wake_fd, 1);
}

/* Sleep until woken or the time is over, unless there is work after all. Returns the work found. */
static unsigned int
host_sleep(struct host_thread *h, long ns)
{
	struct pollfd fd = { .fd = h->wake_fd, .events = POLLIN };
	struct timespec timeout = { .tv_nsec = ns };
	unsigned int done;
	eventfd_t value;

	atomic_store(&h->sleeping, true);
	done = softrnic_poll(h->poller);
	if (done == 0 && !atomic_load(&h->stop) && ppoll(&fd, 1, &timeout, NULL) == 1)
		eventfd_read(h->wake_fd, &value);
	atomic_store(&h->sleeping, false);
	return done;
}

static void *
host_main(void *arg)
{
	struct host_thread *h = arg;
	uint64_t last_work = softrnic_now_ns();
	long sleep_ns = SOFTRNIC_HOST_SLEEP_MIN_NS;
	unsigned int idle = 0, done;

	/* The kernel may put a timer off by 50 us otherwise. */
	prctl(PR_SET_TIMERSLACK, 1000UL);
	while (!atomic_load_explicit(&h->stop, memory_order_relaxed)) {
		done = softrnic_poll(h->poller);
		if (done == 0 && ++idle <= SOFTRNIC_HOST_SPINS) {
			if (idle == 1)
				last_work = softrnic_now_ns();
			rte_pause();
			continue;
		}
		if (done == 0 && softrnic_now_ns() - last_work < SOFTRNIC_HOST_YIELD_NS) {
			sched_yield();
			continue;
		}
		if (done == 0) {
			done = host_sleep(h, sleep_ns);
			sleep_ns *= 2;
			if (sleep_ns > SOFTRNIC_HOST_SLEEP_MAX_NS)
				sleep_ns = SOFTRNIC_HOST_SLEEP_MAX_NS;
		}
		if (done > 0) {
			idle = 0;
			sleep_ns = SOFTRNIC_HOST_SLEEP_MIN_NS;
		}
	}
	return NULL;
}

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
static uint32_t
host_control_main(void *arg)
{
	host_main(arg);
	return 0;
}
#endif

/* A thread of EAL's own kind: it runs on the CPUs that no lcore has, if there are any. */
static int
host_thread_create_control(struct host_thread *h)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	rte_thread_t thread;
	int rc = rte_thread_create_control(&thread, "softrnic", host_control_main, h);

	h->thread = (pthread_t)thread.opaque_id;
	return -rc;
#else
	return -abs(rte_ctrl_thread_create(&h->thread, "softrnic", NULL, host_main, h));
#endif
}

/* On the core that was asked for, or in a process without EAL. */
static int
host_thread_create(struct host_thread *h)
{
	pthread_attr_t attr;
	cpu_set_t cpus;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc != 0)
		return -rc;
	if (h->core >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(h->core, &cpus);
		rc = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	}
	if (rc == 0)
		rc = pthread_create(&h->thread, &attr, host_main, h);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		pthread_setname_np(h->thread, "softrnic");
	return -rc;
}

/*
 * Where every CPU is an lcore's, EAL has control threads share the main lcore's. An application that polls there would
 * wait for its device a time slice each time, so the kernel may choose among the CPUs of all lcores.
 */
static void
host_thread_spread(struct host_thread *h)
{
	cpu_set_t mine, main_lcore = rte_lcore_cpuset(rte_get_main_lcore()), all, common;
	unsigned int lcore;

	if (pthread_getaffinity_np(h->thread, sizeof(mine), &mine) != 0)
		return;
	CPU_AND(&common, &mine, &main_lcore);
	if (!CPU_EQUAL(&common, &mine))
		return;
	CPU_ZERO(&all);
	RTE_LCORE_FOREACH(lcore) {
		cpu_set_t cpus = rte_lcore_cpuset(lcore);

		CPU_OR(&all, &all, &cpus);
	}
	/* If refused, the thread stays where it is, and is only slower. */
	(void)pthread_setaffinity_np(h->thread, sizeof(all), &all);
}

/* Signals are the application's: the thread takes none. */
static int
host_thread_start(struct host_thread *h)
{
	bool eal = rte_lcore_count() > 0;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = eal && h->core < 0 ? host_thread_create_control(h) : host_thread_create(h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0 && eal && h->core < 0)
		host_thread_spread(h);
	return rc;
}

static int
host_poller_create(struct host_thread *h)
{
	return host.count == 0 ? softrnic_poller_create(&h->poller)
			       : softrnic_poller_create_beside(host.threads[0]->poller, &h->poller);
}

static int
host_start(int core)
{
	struct host_thread *h = calloc(1, sizeof(*h));
	int rc;

	if (h == NULL)
		return -ENOMEM;
	h->core = core;
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = h->wake_fd < 0 ? -errno : host_poller_create(h);
	if (rc != 0)
		goto close_fd;
	softrnic_poller_set_wake(h->poller, host_wake, h);
	rc = host_thread_start(h);
	if (rc == 0) {
		host.pid = getpid();
		host.threads[host.count++] = h;
		return 0;
	}
	softrnic_poller_destroy(h->poller);
close_fd:
	if (h->wake_fd >= 0)
		close(h->wake_fd);
	free(h);
	return rc;
}

/* All of them, before any poller goes: who sends wakes others. */
static void
host_join(void)
{
	for (unsigned int i = 0; i < host.count; i++) {
		atomic_store(&host.threads[i]->stop, true);
		eventfd_write(host.threads[i]->wake_fd, 1);
	}
	for (unsigned int i = 0; i < host.count; i++)
		pthread_join(host.threads[i]->thread, NULL);
}

static void
host_stop(void)
{
	bool busy = false;

	host_join();
	for (unsigned int i = 0; i < host.count; i++)
		softrnic_poller_set_wake(host.threads[i]->poller, NULL, NULL);
	while (host.count > 0) {
		struct host_thread *h = host.threads[--host.count];

		busy = softrnic_poller_destroy(h->poller) != 0 || busy;
		close(h->wake_fd);
		host.threads[host.count] = NULL;
		free(h);
	}
	if (busy)
		rte_log(RTE_LOG_ERR, softrnic_logtype,
			"softrnic: the device threads ended before their last device: destroy "
			"devices first\n");
}

/*
 * In a child of fork(): the parent's threads, and what they may have held, stay behind. Pollers are neither used nor
 * freed, as their locks may be taken for ever and devices point at them.
 */
static void
host_forget(void)
{
	for (unsigned int i = 0; i < host.count; i++) {
		close(host.threads[i]->wake_fd);
		host.left_behind[i] = host.threads[i];
		host.threads[i] = NULL;
	}
	host.count = 0;
	host.users = 0;
}

/* NULL: none runs there. */
static struct host_thread *
host_find(int core)
{
	if (core < 0)
		return host.threads[0];
	for (unsigned int i = 0; i < host.count; i++) {
		if (host.threads[i]->core == core)
			return host.threads[i];
	}
	return NULL;
}

int
softrnic_host_get(int core, struct softrnic_poller **poller)
{
	int rc = 0;

	if (core >= CPU_SETSIZE)
		return -EINVAL;
	pthread_mutex_lock(&host.lock);
	if (host.users > 0 && host.pid != getpid())
		host_forget();
	if (host_find(core) == NULL)
		rc = host.count < SOFTRNIC_POLLERS ? host_start(core) : -ENOSPC;
	if (rc == 0) {
		host.users++;
		*poller = host_find(core)->poller;
	} else {
		rte_log(RTE_LOG_ERR, softrnic_logtype,
			"softrnic: device thread on core %d (-1: any): %s\n", core, strerror(-rc));
	}
	pthread_mutex_unlock(&host.lock);
	return rc;
}

void
softrnic_host_put(void)
{
	pthread_mutex_lock(&host.lock);
	if (host.users > 0 && host.pid != getpid())
		host_forget();
	else if (host.users > 0 && --host.users == 0)
		host_stop();
	pthread_mutex_unlock(&host.lock);
}

/* exit() and dlclose() without softrnic_host_put(): the threads must not outlive code and data. */
__attribute__((destructor)) static void
host_exit(void)
{
	if (host.users == 0 || host.pid != getpid())
		return;
	for (unsigned int i = 0; i < host.count; i++) {
		if (pthread_equal(pthread_self(), host.threads[i]->thread))
			return;
	}
	host_join();
	host.users = 0;
}
