/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "times.h"

struct softrnic;
struct softrnic_poller;
struct vfu_look;

unsigned int __real_softrnic_poll(struct softrnic_poller *poller);
unsigned int __wrap_softrnic_poll(struct softrnic_poller *poller);
unsigned int __real_softrnic_cmdq_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_cmdq_poll(struct softrnic *dev);
unsigned int __real_softrnic_doorbells_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_doorbells_poll(struct softrnic *dev);
unsigned int __real_softrnic_qps_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_qps_poll(struct softrnic *dev);
unsigned int __real_softrnic_wire_poll(struct softrnic *dev);
unsigned int __wrap_softrnic_wire_poll(struct softrnic *dev);
bool __real_softrnic_hca_gone(struct softrnic *dev);
bool __wrap_softrnic_hca_gone(struct softrnic *dev);
int __real_seccomp_load(scmp_filter_ctx filter);
int __wrap_seccomp_load(scmp_filter_ctx filter);
void __real_vfu_look_begin(struct vfu_look *look, unsigned int looks);
void __wrap_vfu_look_begin(struct vfu_look *look, unsigned int looks);
void __real_vfu_look_spend(struct vfu_look *look, uint32_t steps);
void __wrap_vfu_look_spend(struct vfu_look *look, uint32_t steps);

/*
 * To ask for the processor's time is a system call, which would be most of what an idle daemon does. So what takes less
 * than that by the clock on the wall is left to be counted with what comes next, which it makes so much longer at most.
 */
#define SHORT_NS 50000

struct mark {
	uint64_t wall_ns, cpu_ns; /* the thread's, without what its faults cost more than usually */
};

static struct times *times;
static struct mark stretch, unit;
static const struct softrnic *polled;

/* Before the jail, and before descriptors that came with us are closed. */
static __attribute__((constructor)) void
times_open(void)
{
	static struct times unseen;
	const char *fd = getenv(TIMES_ENV);
	void *shared;

	times = &unseen;
	if (fd == NULL)
		return;
	shared = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
	if (shared == MAP_FAILED)
		_exit(97);
	times = shared;
}

/* The jail has no call that counts faults. */
int
__wrap_seccomp_load(scmp_filter_ctx filter)
{
	int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(getrusage), 0);

	return rc != 0 ? rc : __real_seccomp_load(filter);
}

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
mark_set(struct mark *mark)
{
	struct rusage usage = { .ru_minflt = 0 };

	mark->wall_ns = clock_ns(CLOCK_MONOTONIC);
	mark->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (times->fault_ns == 0)
		return;
	if (getrusage(RUSAGE_THREAD, &usage) != 0)
		_exit(98);
	mark->cpu_ns -= (uint64_t)usage.ru_minflt * times->fault_ns;
}

/* Something of that kind ends here. */
static void
times_end(enum times_of kind, struct mark *mark)
{
	uint64_t before = mark->cpu_ns;
	int64_t took;

	atomic_fetch_add_explicit(&times->of[kind].count, 1, memory_order_relaxed);
	if (clock_ns(CLOCK_MONOTONIC) - mark->wall_ns < SHORT_NS)
		return;
	mark_set(mark);
	/* Faults that were cheaper than most make it less than nothing. */
	took = (int64_t)(mark->cpu_ns - before);
	if (before != 0 && took > (int64_t)atomic_load(&times->of[kind].longest_ns))
		atomic_store(&times->of[kind].longest_ns, (uint64_t)took);
}

unsigned int
__wrap_softrnic_poll(struct softrnic_poller *poller)
{
	unsigned int done;

	times_end(TIMES_LOOK, &stretch);
	polled = NULL;
	done = __real_softrnic_poll(poller);
	times_end(TIMES_ROUND, &stretch);
	unit = (struct mark){ 0 };
	return done;
}

/* Which device is polled now: what a round asks it first ends another one's part. */
static void
part_begin(const struct softrnic *dev)
{
	if (dev != polled)
		times_end(TIMES_ROUND, &stretch);
	polled = dev;
}

unsigned int
__wrap_softrnic_cmdq_poll(struct softrnic *dev)
{
	part_begin(dev);
	return __real_softrnic_cmdq_poll(dev);
}

unsigned int
__wrap_softrnic_doorbells_poll(struct softrnic *dev)
{
	part_begin(dev);
	return __real_softrnic_doorbells_poll(dev);
}

/* Where the round before ended too early for these they are the first. */
unsigned int
__wrap_softrnic_qps_poll(struct softrnic *dev)
{
	part_begin(dev);
	return __real_softrnic_qps_poll(dev);
}

unsigned int
__wrap_softrnic_wire_poll(struct softrnic *dev)
{
	part_begin(dev);
	return __real_softrnic_wire_poll(dev);
}

/* ... while its objects go. */
bool
__wrap_softrnic_hca_gone(struct softrnic *dev)
{
	part_begin(dev);
	return __real_softrnic_hca_gone(dev);
}

void
__wrap_vfu_look_begin(struct vfu_look *look, unsigned int looks)
{
	__real_vfu_look_begin(look, looks);
	mark_set(&unit);
}

void
__wrap_vfu_look_spend(struct vfu_look *look, uint32_t steps)
{
	times_end(TIMES_UNIT, &unit);
	__real_vfu_look_spend(look, steps);
}
