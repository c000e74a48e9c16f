/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A thread that serves a device and can be told to end, as what it calls sees it: which thread is this, for how long may it
 * still wait, may it say this line? Of a thread that serves no device, such as the application's: none, as long as it
 * likes, yes.
 */
#ifndef RNIC_THREAD_H
#define RNIC_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

struct rnic_dev;

struct rnic_thread {
	const struct rnic_dev *dev;
	const char *name; /* of the device, for the log */
	int stop_fd;	  /* readable from when it is to end */
	atomic_bool stop;
	atomic_ullong last_us; /* once stop is set: until when it waits, by rnic_now_us() */

	/* The thread's own. */
	uint64_t quiet_until_us;
	unsigned int said, unsaid; /* lines until then */
};

/* From the thread itself: from now on it is this one. */
void rnic_thread_begin(struct rnic_thread *thread);
/* ... and no longer: how many lines were left out is said. */
void rnic_thread_end(struct rnic_thread *thread);
/* From another thread: it is to end, and waits for nothing longer than so many ms from now on. */
void rnic_thread_stop(struct rnic_thread *thread, unsigned int last_ms);

/* The caller serves this device: it must not wait for events, which it hands on itself. */
bool rnic_thread_serves(const struct rnic_dev *dev);
/*
 * It does, and somebody waits for its end: it begins nothing, and gives what it waits for a little more. A command that is
 * given up keeps its slot and its memory, as after a timeout.
 */
bool rnic_thread_stopping(const struct rnic_dev *dev);
/* Of a thread that is to end: until when it waits, by rnic_now_us(). */
uint64_t rnic_thread_last_us(void);
/*
 * For how many ms may this thread still wait? -1: it is none that is to end; *fd is readable when it is, and untouched if it
 * never is.
 */
int rnic_thread_patience_ms(int *fd);
/* Of a lock that is held while somebody waits for a device. False: this thread is to end, and does not have it. */
bool rnic_thread_lock(pthread_mutex_t *lock);
/*
 * May a line be said that a device can make this thread say as often as it likes? A few each second, the others are
 * counted. In threads that do not serve the device always: there an application has asked for something.
 */
bool rnic_thread_may_log(const struct rnic_dev *dev);
#define RNIC_LOG_REPEATED(level, dev, ...)                 \
	do {                                               \
		if (rnic_thread_may_log(dev))              \
			RNIC_LOG(level, dev, __VA_ARGS__); \
	} while (0)

#endif
