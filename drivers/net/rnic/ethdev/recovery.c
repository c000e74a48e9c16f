/* SPDX-License-Identifier: BSD-3-Clause */

#include "ethdev/recovery.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include "base/log.h"
#include "base/owner.h"
#include "core/dev.h"

/* ---- A queue that fails over and over must not fill the disk ---- */

static void
recovery_report_left_out(struct rnic_recovery *recovery)
{
	if (recovery->left_out > 0)
		RNIC_LOG(ERR, recovery->dev,
			 "%s queue %u: %u more error completions since the last report",
			 recovery->direction, recovery->queue_id, recovery->left_out);
	recovery->left_out = 0;
}

/* Is this completion's line to be said? If not, it is counted. */
static bool
recovery_may_report(struct rnic_recovery *recovery)
{
	const uint64_t now = rte_get_timer_cycles();

	if (now < recovery->quiet_until) {
		recovery->left_out++;
		return false;
	}
	recovery->quiet_until = now + rte_get_timer_hz();
	recovery_report_left_out(recovery);
	return true;
}

/* Of each error completion once, by the recovery or by a stop that comes before it. */
static void
recovery_report_error(struct rnic_recovery *recovery)
{
	char wqe[sizeof(" of WQE 65535")] = "";

	if (!recovery->unsaid)
		return;
	recovery->unsaid = false;
	if (recovery->wqe != NULL)
		snprintf(wqe, sizeof(wqe), " of WQE %u", *recovery->wqe);
	if (recovery_may_report(recovery))
		RNIC_LOG(ERR, recovery->dev,
			 "%s queue %u: error completion%s, syndrome 0x%02x, vendor's 0x%02x",
			 recovery->direction, recovery->queue_id, wqe, recovery->syndrome,
			 recovery->vendor_syndrome);
}

/* ---- The recovery ---- */

/* From the alarm, in the interrupt thread. The data path leaves the queue alone meanwhile. */
static void
recovery_run(void *arg)
{
	struct rnic_recovery *recovery = arg;
	/* Once it is recovered, the queue is not ours to look at. */
	void (*wake)(struct rnic_dev * dev, uint16_t queue);
	struct rnic_dev *dev;
	uint16_t queue_id;
	int rc;

	rnic_owner_enter(recovery);
	if (atomic_load_explicit(recovery->state, memory_order_acquire) != RNIC_QUEUE_ERROR)
		return;
	wake = recovery->wake;
	dev = recovery->dev;
	queue_id = recovery->queue_id;
	recovery_report_error(recovery);
	rc = recovery->repair(recovery->queue);
	if (rc != 0) {
		RNIC_LOG(
			ERR, dev,
			"%s queue %u: not recovered: %s; it stays down until the port is restarted",
			recovery->direction, queue_id, strerror(-rc));
		/* What was written here is seen by the thread that stops the queue. */
		atomic_store_explicit(recovery->state, RNIC_QUEUE_ERROR, memory_order_release);
		return;
	}
	/* The alarm is freed next: by EAL, under a lock that ThreadSanitizer does not see. */
	rnic_owner_enter(recovery->queue);
	atomic_store_explicit(recovery->state, RNIC_QUEUE_RECOVERED, memory_order_release);
	if (wake != NULL)
		wake(dev, queue_id);
}

/* Without its alarm nobody repairs the queue: said once, and tried again by later bursts. */
static void
recovery_request(struct rnic_recovery *recovery)
{
	int rc;

	/* EAL's lock orders this thread and the alarm's; ThreadSanitizer does not see that lock. */
	rnic_owner_leave(recovery);
	rc = rte_eal_alarm_set(1, recovery_run, recovery);
	if (rc != 0 && !recovery->unasked)
		RNIC_LOG(ERR, recovery->dev,
			 "%s queue %u: no alarm for its recovery: %s; tried again with each burst",
			 recovery->direction, recovery->queue_id, strerror(-rc));
	recovery->unasked = rc != 0;
}

void
rnic_recovery_failed(struct rnic_recovery *recovery)
{
	recovery->unsaid = true;
	recovery->unasked = false;
	atomic_store_explicit(recovery->state, RNIC_QUEUE_ERROR, memory_order_release);
	recovery_request(recovery);
}

bool
rnic_recovery_retry(struct rnic_recovery *recovery)
{
	const enum rnic_queue_state state =
		atomic_load_explicit(recovery->state, memory_order_acquire);

	if (state == RNIC_QUEUE_ERROR && recovery->unasked)
		recovery_request(recovery);
	return state == RNIC_QUEUE_RECOVERED;
}

void
rnic_recovery_settle(struct rnic_recovery *recovery)
{
	/* Waits for one that has begun: from here on the queue is this thread's alone, with what that one has written last. */
	rte_eal_alarm_cancel(recovery_run, recovery);
	(void)atomic_load_explicit(recovery->state, memory_order_acquire);
	recovery_report_error(recovery);
	recovery_report_left_out(recovery);
}
