/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbells: finding the queues that rang.
 *
 * Drivers store doorbells to mapped memory, so the device must poll them. It reads the words of pages with queues; the second dword
 * of a changed word names its queue, which joins the active list. There an SQ is polled through its doorbell record, without its
 * register, until it has been idle for a while; a queue pair without work leaves at once, and its record is watched for a while
 * (qp_watch.c). Threads of drivers that share a page overwrite each other's words; a sweep of a few doorbell records per poll finds
 * lost doorbells.
 */
#include <errno.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/uar.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/doorbell.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/engine/sq.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/eq.h"
#include "softrnic/receive/rq.h"

#define DOORBELL_IDLE_POLLS 512 /* until an SQ leaves the active list */
#define DOORBELL_LOOK_EVERY 8	/* polls, while some queue is active */
#define DOORBELL_QUIET	    32	/* polls without work, from when on each of them looks */
#define DOORBELL_SWEEP	    2	/* records per look */
#define DOORBELL_PAGES	    64	/* pages per look, of 9 lines each */

static void
doorbell_ring(struct softrnic *dev, uint64_t bell)
{
	dev->stats.doorbells++;
	/* Their numbers have ranges of their own. */
	softrnic_sq_doorbell(dev, (uint32_t)bell >> 8);
	softrnic_qp_doorbell(dev, (uint32_t)bell >> 8);
}

static void
doorbell_look(struct softrnic *dev, uint32_t index)
{
	struct softrnic_uar_watch *watch = dev->uar_watch;
	struct softrnic_uar_page *page = &watch->pages[index];
	uint64_t word;
	uint32_t i;

	for (i = 0; i < SOFTRNIC_UAR_BELLS; i++) {
		word = softrnic_uar_load(dev, index, RNIC_UAR_BLUEFLAME + i * RNIC_BF_HALF_BYTES);
		if (word != page->bells[i]) {
			page->bells[i] = word;
			doorbell_ring(dev, word);
		}
	}
	word = softrnic_uar_load(dev, index, RNIC_UAR_CQ_ARM);
	if (word != page->arm) {
		page->arm = word;
		dev->stats.doorbells++;
		page->arms += softrnic_cq_arm_doorbell(dev, (uint32_t)(word >> 32), (uint32_t)word);
	}
}

/* Of many pages some, and the others in the next looks. */
static void
doorbell_look_around(struct softrnic *dev)
{
	struct softrnic_uar_watch *watch = dev->uar_watch;
	uint32_t count = watch->used_count < DOORBELL_PAGES ? watch->used_count : DOORBELL_PAGES;

	for (; count > 0; count--) {
		if (watch->next >= watch->used_count)
			watch->next = 0;
		doorbell_look(dev, watch->used[watch->next++]);
	}
}

/*
 * A record that is ahead of its queue at two visits in a row, without a doorbell in between, lost its doorbell: one
 * visit alone may have come between the driver's two stores.
 */
static void
doorbell_sweep_sq(struct softrnic *dev)
{
	struct softrnic_sq *sq = TAILQ_FIRST(&dev->swept_sqs);
	uint32_t producer;

	if (sq == NULL)
		return;
	if (TAILQ_NEXT(sq, sweep_link) != NULL) {
		TAILQ_REMOVE(&dev->swept_sqs, sq, sweep_link);
		TAILQ_INSERT_TAIL(&dev->swept_sqs, sq, sweep_link);
	}
	if (sq->active || !softrnic_dbrec_read(dev, &sq->dbrec, 1, &producer) ||
	    (uint16_t)producer == sq->consumer || (uint16_t)producer == sq->producer) {
		sq->suspect = false;
		return;
	}
	if (!sq->suspect) {
		sq->suspect = true;
		return;
	}
	sq->suspect = false;
	dev->stats.doorbells_missed++;
	softrnic_sq_doorbell(dev, sq->object.number);
}

/*
 * Each active SQ has its turn, as far as the device's budget for a poll goes: thousands of queues, each with large sends,
 * would have those who wait for the poller wait for seconds. Those that had their turn then go behind the others.
 */
static unsigned int
doorbell_poll_sqs(struct softrnic *dev)
{
	const uint64_t now = softrnic_now_ns();
	struct softrnic_sq *sq, *next, *first;
	unsigned int done = 0, looks = 0, n;

	dev->now = now - dev->power_on_ns;
	softrnic_share_begin(dev, now + SOFTRNIC_SHARE_NS);
	for (sq = TAILQ_FIRST(&dev->active_sqs);
	     sq != NULL && looks < SOFTRNIC_IDLE_LOOKS && !softrnic_share_is_over(dev); sq = next) {
		next = TAILQ_NEXT(sq, active_link);
		n = softrnic_sq_poll(dev, sq);
		done += n;
		looks += n == 0;
		if (n > 0) {
			sq->idle = 0;
		} else if (++sq->idle >= DOORBELL_IDLE_POLLS) {
			sq->active = false;
			TAILQ_REMOVE(&dev->active_sqs, sq, active_link);
		}
	}
	while (sq != NULL && (first = TAILQ_FIRST(&dev->active_sqs)) != sq) {
		TAILQ_REMOVE(&dev->active_sqs, first, active_link);
		TAILQ_INSERT_TAIL(&dev->active_sqs, first, active_link);
	}
	return done;
}

unsigned int
softrnic_doorbells_poll(struct softrnic *dev)
{
	struct softrnic_uar_watch *watch = dev->uar_watch;
	bool busy = !TAILQ_EMPTY(&dev->active_sqs) || !TAILQ_EMPTY(&dev->active_qps) ||
		    dev->qp_watch.count > 0;
	uint32_t i;

	/* Who polls a quiet device may be about to sleep between two polls. */
	if (!busy || dev->quiet_polls > DOORBELL_QUIET ||
	    ++watch->tick % DOORBELL_LOOK_EVERY == 0) {
		doorbell_look_around(dev);
		softrnic_share_begin(dev, 0);
		for (i = 0; i < DOORBELL_SWEEP; i++)
			doorbell_sweep_sq(dev);
		softrnic_qp_sweep(dev, DOORBELL_SWEEP);
		softrnic_rq_sweep(dev, DOORBELL_SWEEP);
		softrnic_cq_sweep(dev);
		/* SQs have the next turn: there is no sweep then, as the device is busy. */
		if (softrnic_round_is_over(dev))
			return 1;
	}
	if (TAILQ_EMPTY(&dev->active_sqs))
		return 0;
	/* Who makes room is another thread, and wakes this one. */
	return unlikely(dev->wire_busy) ? 0 : doorbell_poll_sqs(dev);
}

/* What a store to [offset, offset + 8) of a page means, once its second half is there. */
static void
doorbell_written(struct softrnic *dev, uint32_t index, uint32_t offset, uint64_t word)
{
	struct softrnic_uar_watch *watch = dev->uar_watch;
	struct softrnic_uar_page *page = &watch->pages[index];

	if (offset == RNIC_UAR_CQ_ARM) {
		page->arm = word;
		dev->stats.doorbells++;
		softrnic_cq_arm_doorbell(dev, (uint32_t)(word >> 32), (uint32_t)word);
	} else if (offset >= RNIC_UAR_BLUEFLAME && offset % RNIC_BF_HALF_BYTES == 0) {
		page->bells[(offset - RNIC_UAR_BLUEFLAME) / RNIC_BF_HALF_BYTES] = word;
		doorbell_ring(dev, word);
	}
}

int
softrnic_doorbell_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length)
{
	uint32_t page = (uint32_t)(offset / RNIC_UAR_PAGE_BYTES);
	uint32_t at = offset % RNIC_UAR_PAGE_BYTES;
	uint32_t half;
	uint64_t whole;

	if ((length != 4 && length != 8) || offset % length != 0 || offset >= SOFTRNIC_UAR_BYTES)
		return -EINVAL;
	/* Queues that are being dropped ignore doorbells. */
	if (dev->leaving)
		return 0;
	if (length == 8) {
		memcpy(&whole, data, 8);
		__atomic_store_n(softrnic_uar_word(dev, page, at), whole, __ATOMIC_RELEASE);
	} else {
		memcpy(&half, data, 4);
		__atomic_store_n((uint32_t *)softrnic_uar_word(dev, page, at & ~7u) + (at >> 2 & 1),
				 half, __ATOMIC_RELEASE);
	}
	if (at == RNIC_UAR_EQ_ARM || at == RNIC_UAR_EQ_UPDATE) {
		memcpy(&half, data, 4);
		dev->stats.doorbells++;
		softrnic_eq_doorbell(dev, RNIC_SWAP32(half), at == RNIC_UAR_EQ_ARM);
	} else if (length == 8) {
		/* Not loaded again: a store to a mapping may have come in between, and is found by the next look. */
		doorbell_written(dev, page, at, RNIC_SWAP64(whole));
	} else if (at % 8 == 4) {
		doorbell_written(dev, page, at & ~7u, softrnic_uar_load(dev, page, at & ~7u));
	}
	return 0;
}
