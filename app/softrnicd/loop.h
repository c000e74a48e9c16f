/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A thread: it polls its devices and serves their sockets until a signal ends the process.
 */
#ifndef SOFTRNICD_LOOP_H
#define SOFTRNICD_LOOP_H

#include <stdatomic.h>
#include <sys/epoll.h>

#include "device.h"

#define LOOP_EVENTS (DEVICES_MAX + 2) /* sockets, signals, other threads */

struct loop {
	struct softrnic_poller *poller;
	struct device *devices[DEVICES_MAX];
	unsigned int ndevices;
	unsigned int thread;
	int epoll_fd;
	int signal_fd; /* the first thread's; else -1 */
	int wake_fd;
	int stopped_by; /* signal, or 0 */
	/* Sockets that have something: those before `next` had their turn. */
	struct epoll_event events[LOOP_EVENTS];
	int nevents, next;
	/* others write: */
	atomic_bool sleeping; /* or about to: write wake_fd */
	atomic_bool stop;
	/* the thread itself writes: it runs; it touches nothing any more */
	atomic_bool begun, ended;
};

/** Signals that end the process are the first thread's business alone. @return 0 or -errno, logged. */
int loop_block_signals(void);

/** A loop without devices, of that thread, 0 being the first one. @return 0 or -errno, logged. */
int loop_open(struct loop *loop, unsigned int thread, struct softrnic_poller *poller);
/** Watch the device's socket; before loop_run(). @return 0 or -errno, logged. */
int loop_add(struct loop *loop, struct device *device);
void loop_close(struct loop *loop);

/** Until loop_stop(), or in the first thread until SIGTERM, SIGINT or SIGHUP. */
void loop_run(struct loop *loop);

/** Have it wake up: as softrnic_poller_set_wake() wants it, with a struct loop. */
void loop_wake(void *loop);
/** Another thread's: returns when it has ended. */
void loop_stop(struct loop *loop);

#endif
