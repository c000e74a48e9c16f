/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a queue of either direction does once an error completion was seen: it stands still, is repaired by EAL's alarm
 * thread, and runs again with its next burst.
 *
 *	RUNNING    -> ERROR       a burst: rnic_recovery_failed() sets the alarm
 *	ERROR      -> RECOVERED   the alarm: repair(), or the queue stays in ERROR until it is stopped
 *	RECOVERED  -> RUNNING     a burst: rnic_recovery_retry() says that it is to clean up
 */
#ifndef RNIC_RECOVERY_H
#define RNIC_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;

/* An error completion stops a queue until a control thread has recovered it. */
enum rnic_queue_state {
	RNIC_QUEUE_STOPPED, /* not made yet, or torn down */
	RNIC_QUEUE_RUNNING,
	RNIC_QUEUE_ERROR,     /* bursts do nothing; the recovery is under way */
	RNIC_QUEUE_RECOVERED, /* the next burst cleans up and runs again */
	RNIC_QUEUE_HALTED,    /* made, and empty: the application has stopped it */
};

struct rnic_recovery {
	_Atomic enum rnic_queue_state *state; /* the queue's: among what its bursts look at */
	struct rnic_dev *dev;
	const char *direction; /* "Rx", "Tx" */
	uint16_t queue_id;
	/* From the alarm thread, to which the queue belongs meanwhile: the device can go on. 0, or -errno: it cannot. */
	int (*repair)(void *queue);
	void *queue;
	/* Once it is done: wakes a thread that sleeps on the queue, so that it makes a burst. NULL: no thread sleeps. */
	void (*wake)(struct rnic_dev *dev, uint16_t queue);

	/* Of the error completion. */
	uint8_t syndrome, vendor_syndrome;
	const uint16_t *wqe; /* its WQE, the queue's; NULL: it is not said */

	bool unasked; /* no alarm could be set; the burst's own */
	bool unsaid;  /* no line yet of the error completion */
	/* At most a line a second, the rest is counted. */
	uint64_t quiet_until; /* timer cycles */
	uint32_t left_out;
};

/* From a burst, last of all: an error completion was seen. From here on the queue is the recovery's. */
void rnic_recovery_failed(struct rnic_recovery *recovery);
/*
 * From a burst, in any state but running. Is the queue repaired, so that the burst is to make it run again? Where no alarm
 * could be set, that is tried once more.
 */
bool rnic_recovery_retry(struct rnic_recovery *recovery);
/* From who stops the queue: no recovery runs after it, and what was left out is said. */
void rnic_recovery_settle(struct rnic_recovery *recovery);

#endif
