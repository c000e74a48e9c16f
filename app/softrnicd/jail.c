/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Code that takes over this process through a socket or the memory behind it finds no capabilities, no way to get any, a user
 * who is not root, few system calls, none of which opens, makes or removes anything, and no file.
 *
 * A sanitizer's runtime needs what the jail denies (it opens files, and its leak check traces the process), and so does that
 * of coverage (it writes its files at the end), so such builds give up their privileges but stay who they are, and go
 * without the list of calls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eal.h"
#include "jail.h"
#include "landlock.h"
#include "user.h"

/* JAIL_COVERAGE is the build's: compilers do not say. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(JAIL_COVERAGE)
#define JAIL_OPEN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define JAIL_OPEN 1
#endif
#endif
#ifndef JAIL_OPEN
#define JAIL_OPEN 0
#endif

/* What it takes to become another user. */
#define JAIL_USER_CAPABILITIES (1u << CAP_SETUID | 1u << CAP_SETGID)

/*
 * Per device: an eventfd per vector, the server's own, those of a message under way, some who wait, those that wait to be
 * mapped or closed.
 */
#define JAIL_DEVICE_FDS (SOFTRNIC_MSIX_VECTORS + 512)
#define JAIL_BASE_FDS	64
#define JAIL_EAL_FDS	512 /* memory, ethdevs */

#define ARGUMENT_MAX	  5 /* permitted values of one argument */
#define JAIL_DRIVER_CALLS 3

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct jail_call {
	int number;
	const char *name;
	/* How one argument is restricted. With none: any. */
	enum { ANY, ONE_OF, WITHOUT } rule;
	unsigned int argument;
	unsigned int count;
	uint64_t values[ARGUMENT_MAX]; /* WITHOUT: bits that must not be set */
};

#define CALL(name) SCMP_SYS(name), #name

/* What serves clients, what lib/vfio_user says that it needs, and what the C library does for these. */
static const struct jail_call jail_calls[] = {
	/* clients */
	{ CALL(accept4) },
	{ CALL(recvmsg) },
	{ CALL(sendmsg) },
	{ CALL(getsockopt) },
	{ CALL(shutdown) },
/* waiting; who is stopped and goes on ends or begins each of these anew, without restart_syscall */
#ifdef __NR_epoll_wait
	{ CALL(epoll_wait) },
#else
	{ CALL(epoll_pwait) }, /* how the C library spells it there */
#endif
	{ CALL(epoll_ctl) },
	{ CALL(ppoll) },
	{ CALL(timerfd_settime) },
	{ CALL(clock_gettime) },
	{ CALL(sched_yield) },
	/* eventfds of clients, which it signals and never blocks */
	{ CALL(io_submit) },
	/* timers, messages to people, the lock files' text, captures */
	{ CALL(read) },
	{ CALL(write) },
	{ CALL(pwrite64) },
	{ CALL(ftruncate) },
	{ CALL(close) },
	/* descriptors that came with messages */
	{ CALL(fcntl),
	  ONE_OF,
	  1,
	  5,
	  { F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GET_SEALS, F_ADD_SEALS } },
	{ CALL(fstat) },
	{ CALL(newfstatat),
	  ONE_OF,
	  3,
	  1,
	  { AT_EMPTY_PATH } }, /* how the C library spells fstat() */
	/* memory */
	{ CALL(mmap), WITHOUT, 2, 1, { PROT_EXEC } },
	{ CALL(munmap) },
	{ CALL(mremap) },
	{ CALL(madvise), ONE_OF, 2, 3, { MADV_DONTFORK, MADV_POPULATE_READ, MADV_POPULATE_WRITE } },
	{ CALL(brk) },
	/* UAR pages for the next client */
	{ CALL(memfd_create), ONE_OF, 1, 1, { MFD_CLOEXEC | MFD_ALLOW_SEALING } },
	/* the threads that close descriptors and map memory, and the C library's locks when there are threads */
	{ CALL(futex), ONE_OF, 1, 2, { FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE } },
	{ CALL(exit) },
	/* the end */
	{ CALL(rt_sigreturn) }, /* of the handler in guard.c */
	{ CALL(exit_group) },
};

/* Only with captures to receive, which each client has from the start. */
static const struct jail_call jail_lseek = { CALL(lseek) };

/* Only with EAL: its interrupt thread makes its epoll set anew whenever there is a new source. */
static const struct jail_call jail_eal_calls[] = {
#ifdef __NR_epoll_create
	{ CALL(epoll_create) },
#endif
	{ CALL(epoll_create1) },
};

/*
 * Only with an ethdev of that driver: what its bursts and its link are made of. net_af_packet waits for a full ring by
 * poll(), which is not permitted: so that it returns, and no device has to wait.
 */
static const struct jail_driver {
	const char *name;
	struct jail_call calls[JAIL_DRIVER_CALLS];
} jail_drivers[] = {
	{ "net_af_packet", { { CALL(sendto) }, { CALL(ioctl), ONE_OF, 1, 1, { SIOCGIFFLAGS } } } },
	{ "net_tap",
	  { { CALL(readv) }, { CALL(writev) }, { CALL(ioctl), ONE_OF, 1, 1, { SIOCGIFFLAGS } } } },
	{ "net_pcap", { { 0 } } },
	{ "net_ring", { { 0 } } },
	{ "net_null", { { 0 } } },
};

void
jail_limits(const struct options *options)
{
	unsigned int ndevices = options->ndevices;
	rlim_t want = JAIL_BASE_FDS + (rlim_t)ndevices * JAIL_DEVICE_FDS +
		      (eal_wanted(options) ? JAIL_EAL_FDS : 0);
	struct rlimit none = { 0, 0 }, files;

	setrlimit(RLIMIT_CORE, &none);
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	if (want > files.rlim_max)
		log_warning(
			"a limit of %llu open files is few for %u devices: raise it (ulimit -n)",
			(unsigned long long)files.rlim_max, ndevices);
	files.rlim_cur = want < files.rlim_max ? want : files.rlim_max;
	files.rlim_max = files.rlim_cur;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* ---- Privileges ---- */

bool
jail_is_open(void)
{
	return JAIL_OPEN;
}

/* Of a thread, 0: ours. @return -ESRCH there is none of that number. */
static int
jail_capabilities(int thread, struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3,
						   .pid = thread };

	memset(data, 0, sizeof(*data) * _LINUX_CAPABILITY_U32S_3);
	return syscall(SYS_capget, &header, data) != 0 ? -errno : 0;
}

int
jail_drop_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3];
	struct __user_cap_data_struct then[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	int capability, rc = jail_capabilities(0, now);

	if (rc != 0)
		return rc;
	then[0].permitted = now[0].permitted & kept;
	then[0].effective = then[0].permitted;
	/* Without the privilege to drop them from the bounding set, there are none to gain either. */
	for (capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
		prctl(PR_CAPBSET_DROP, capability);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, then) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return 0;
}

static int
jail_drop_in_thread(void *kept)
{
	return jail_drop_capabilities(*(const uint32_t *)kept);
}

/* Has the thread any, or may it gain any? */
static bool
jail_has_capabilities(int thread)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	int rc = jail_capabilities(thread, data);
	bool has = rc != 0 && rc != -ESRCH;
	unsigned int i;

	for (i = 0; i < COUNT(data); i++)
		has = has || (data[i].permitted | data[i].effective | data[i].inheritable) != 0;
	return has;
}

/* Each thread has its own capabilities, and a driver may have made some that we do not know. */
static int
jail_check_threads(DIR *threads)
{
	const struct dirent *thread;

	while ((thread = readdir(threads)) != NULL) {
		if (thread->d_name[0] == '.' || !jail_has_capabilities(atoi(thread->d_name)))
			continue;
		log_error("thread %s, of an ethdev's driver, keeps its privileges: such an ethdev "
			  "belongs to a process of its own (net_rnic with wire=port:)",
			  thread->d_name);
		return -EPERM;
	}
	return 0;
}

/* ---- Files ---- */

static int
jail_restrict_files(const struct options *options)
{
	int ruleset = landlock_open(), rc;

	if (ruleset == -ENOSYS || ruleset == -EOPNOTSUPP) {
		log_info("this kernel has no Landlock: that files are out of reach is left to the "
			 "list of system calls alone");
		return 0;
	}
	rc = ruleset < 0 ? ruleset : eal_in_threads(options, landlock_enter, &ruleset);
	if (ruleset >= 0)
		close(ruleset);
	if (rc != 0)
		log_error("cannot restrict access to files by Landlock: %s", strerror(-rc));
	return rc;
}

/* ---- System calls ---- */

static int
jail_permit(scmp_filter_ctx filter, const struct jail_call *call)
{
	unsigned int i;
	int rc = 0;

	switch (call->rule) {
	case ANY: return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call->number, 0);
	case WITHOUT:
		return seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, call->number, 1,
			SCMP_CMP(call->argument, SCMP_CMP_MASKED_EQ, call->values[0], 0));
	case ONE_OF:
		for (i = 0; i < call->count && rc == 0; i++)
			rc = seccomp_rule_add(
				filter, SCMP_ACT_ALLOW, call->number, 1,
				SCMP_CMP(call->argument, SCMP_CMP_EQ, call->values[i]));
		return rc;
	default: return -EINVAL;
	}
}

static int
jail_permit_all(scmp_filter_ctx filter, const struct jail_call *calls, unsigned int count,
		unsigned int *permitted)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < count && calls[i].name != NULL && rc == 0; i++) {
		if (calls[i].number < 0)
			continue; /* this architecture has another one for it */
		rc = jail_permit(filter, &calls[i]);
		(*permitted)++;
	}
	return rc;
}

static bool
jail_has_driver(const struct options *options, const char *name)
{
	const char *driver;
	unsigned int i;

	for (i = 0; i < options->ndevices; i++) {
		driver = eal_driver(&options->devices[i]);
		if (driver != NULL && strcmp(driver, name) == 0)
			return true;
	}
	return false;
}

static void
jail_warn_of_driver(const char *device, const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(jail_drivers); i++) {
		if (strcmp(jail_drivers[i].name, name) == 0)
			return;
	}
	log_warning("%s: nobody has tried what an ethdev of driver %s needs in the jail: system "
		    "calls that it makes may fail",
		    device, name);
}

/* What devices' wires need beside the list. */
static int
jail_permit_wires(scmp_filter_ctx filter, const struct options *options, unsigned int *permitted)
{
	bool may_lseek = false;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < options->ndevices; i++) {
		const struct device_options *device = &options->devices[i];

		may_lseek = may_lseek || device->conf.rx_pcap != NULL;
		if (eal_driver(device) != NULL)
			jail_warn_of_driver(device->name, eal_driver(device));
	}
	if (may_lseek)
		rc = jail_permit_all(filter, &jail_lseek, 1, permitted);
	if (rc == 0 && eal_wanted(options))
		rc = jail_permit_all(filter, jail_eal_calls, COUNT(jail_eal_calls), permitted);
	for (i = 0; i < COUNT(jail_drivers) && rc == 0; i++) {
		if (jail_has_driver(options, jail_drivers[i].name))
			rc = jail_permit_all(filter, jail_drivers[i].calls, JAIL_DRIVER_CALLS,
					     permitted);
	}
	return rc;
}

/* A call that is not on the list fails with EPERM: the C library copes, and so does who calls it. */
static int
jail_restrict_calls(const struct options *options)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	unsigned int count = 0, user = geteuid();
	int rc;

	if (filter == NULL)
		return -ENOMEM;
	rc = jail_permit_all(filter, jail_calls, COUNT(jail_calls), &count);
	if (rc == 0)
		rc = jail_permit_wires(filter, options, &count);
	/* For all threads there are. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	if (rc == 0)
		log_info("jailed: user %u, no capabilities, no files, %u system calls allowed",
			 user, count);
	else
		log_error("cannot restrict system calls by seccomp: %s", strerror(-rc));
	return rc;
}

/* ---- All of it ---- */

static int
jail_drop_in_threads(const struct options *options)
{
	uint32_t kept = options->changes_user && !JAIL_OPEN ? JAIL_USER_CAPABILITIES : 0;
	int rc = eal_in_threads(options, jail_drop_in_thread, &kept);

	if (rc != 0)
		log_error("cannot drop privileges: %s", strerror(-rc));
	return rc;
}

int
jail_enter(const struct options *options, int (*start_threads)(void))
{
	/* Opened now: Landlock will not let us. */
	DIR *threads = opendir("/proc/self/task");
	int rc = 0;

	if (threads == NULL) {
		rc = -errno;
		log_error("/proc/self/task: %s", strerror(-rc));
		return rc;
	}
	rc = jail_drop_in_threads(options);
	if (rc == 0 && JAIL_OPEN)
		log_warning("built with a sanitizer or for coverage, whose runtime needs more "
			    "system calls than the jail allows: no jail, and still user %u",
			    (unsigned int)geteuid());
	if (rc == 0 && !JAIL_OPEN)
		rc = jail_restrict_files(options);
	if (rc == 0)
		rc = start_threads();
	if (rc == 0 && !JAIL_OPEN)
		rc = user_become(options);
	/* A sanitizer has a thread of its own, which nobody can ask. */
	if (rc == 0 && !JAIL_OPEN)
		rc = jail_check_threads(threads);
	closedir(threads);
	return rc == 0 && !JAIL_OPEN ? jail_restrict_calls(options) : rc;
}
