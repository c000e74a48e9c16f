/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "say.h"
#include "watch.h"

static void
signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

int
watch_block_signals(void)
{
	sigset_t set;

	signals(&set);
	/* Who reads what is printed may have gone. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return say_failed(-errno, "cannot wait for signals: %s", strerror(errno));
	return 0;
}

static void
watch_device(struct watch *watch, const struct device *device)
{
	watch->devices[watch->count++] = device;
	watch->fds[watch->count] = (struct pollfd){
		.fd = rdmapmd_async_event_fd(device->events),
		.events = POLLIN,
	};
}

int
watch_open(struct watch *watch, const struct devices *devices, const struct loads *loads)
{
	sigset_t set;
	int fd;

	signals(&set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return say_failed(-errno, "cannot wait for signals: %s", strerror(errno));
	watch->fds[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	watch->count = 0;
	for (uint32_t i = 0; i < devices->count; i++)
		watch_device(watch, &devices->served[i].device);
	for (uint32_t i = 0; i < loads->count; i++)
		watch_device(watch, &loads->loads[i].device);
	return 0;
}

/* A link that goes and comes, an address: nothing to do. */
static void
device_look(struct watch *watch, const struct device *device)
{
	struct rdmapmd_async_event event;

	while (rdmapmd_async_event_get(device->events, &event) == 0) {
		if (event.event_type == RDMAPMD_EVENT_DEVICE_FATAL && !watch->is_lost)
			say("the device %s is lost", device->name);
		watch->is_lost |= event.event_type == RDMAPMD_EVENT_DEVICE_FATAL;
		rdmapmd_async_event_ack(device->events, &event);
	}
}

int
watch_look(struct watch *watch, int timeout_ms)
{
	struct signalfd_siginfo info;

	if (poll(watch->fds, watch->count + 1, timeout_ms) <= 0)
		return 0;
	for (uint32_t i = 0; i < watch->count; i++)
		if (watch->fds[i + 1].revents != 0)
			device_look(watch, watch->devices[i]);
	if (watch->fds[0].revents != 0 &&
	    read(watch->fds[0].fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return (int)info.ssi_signo;
	return 0;
}

void
watch_close(struct watch *watch)
{
	close(watch->fds[0].fd);
}
