/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The one thread: it polls the devices and serves their sockets until a signal ends it.
 */
#ifndef SOFTRNICD_LOOP_H
#define SOFTRNICD_LOOP_H

#include <sys/epoll.h>

#include "device.h"

#define LOOP_EVENTS (DEVICES_MAX + 1)

struct loop {
	struct softrnic_poller *poller;
	struct device *devices;
	unsigned int ndevices;
	int epoll_fd;
	int signal_fd;
	int stopped_by; /* signal, or 0 */
	/* Sockets that have something: those before `next` had their turn. */
	struct epoll_event events[LOOP_EVENTS];
	int nevents, next;
};

/** Signals that end the process are the loop's business alone. @return 0 or -errno, logged. */
int loop_block_signals(void);

/** Watch sockets and signals; the devices exist. @return 0 or -errno, logged. */
int loop_open(struct loop *loop, struct softrnic_poller *poller, struct device *devices,
	      unsigned int ndevices);
void loop_close(struct loop *loop);

/** Until SIGTERM, SIGINT or SIGHUP. */
void loop_run(struct loop *loop);

#endif
