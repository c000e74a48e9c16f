/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The budget of a poll: lists that a client made long must not make a round long, since others wait for it. The rule, for all
 * of the device:
 *
 * A round of the poller stops between units, and the remaining work waits for the next round. A unit is a command, a WQE, a frame
 * or packet, an object that is freed. Each unit has a limit of its own (README.md lists them), however long a client's lists are.
 *
 * A device has a share of the round for each of its parts: commands, send queues, queue pairs, the wire. All work of a share is
 * spent from one budget, in frames, including the steps of each list that is walked, also in another device of the same poller
 * whose tables steer a frame. The share that causes the work pays, not the owner of the list: that bounds the round. A share is
 * over when SOFTRNIC_WORK_MAX is spent, or after SOFTRNIC_SHARE_NS, since memory may be slower than any count expects; the clock
 * is read each time SOFTRNIC_LOOK_WORK is spent.
 *
 * The last unit of a share may take milliseconds. So that these do not add up, all shares of a device's round together have an
 * end, too: that of SOFTRNIC_ROUND_SHARES. A share that overruns shortens the following ones; when the time is over, the round
 * ends, and the next one begins with the part that would have been next (poll.c).
 *
 * Finding a queue idle is no work, but takes time, too: in a round at most SOFTRNIC_IDLE_LOOKS idle queues of each kind are
 * looked at, which then go behind the others.
 */
#ifndef SOFTRNIC_WORK_H
#define SOFTRNIC_WORK_H

#include <rte_branch_prediction.h>

#include "softrnic/base/device.h"

/* In frames that are copied from one buffer to another, some 50 to 100 ns each. */
#define SOFTRNIC_WORK_MAX   4096u
#define SOFTRNIC_SHARE_NS   UINT64_C(250000)
#define SOFTRNIC_LOOK_WORK  64u
#define SOFTRNIC_NEVER_NS   ((uint64_t)INT64_MAX) /* the end of a share that the clock does not end */
#define SOFTRNIC_IDLE_LOOKS 256u

/* The length of a device's round, beside the unit that is under way at its end. */
#define SOFTRNIC_ROUND_SHARES 4u

#define SOFTRNIC_MANY_PIECES 16u

/* Limits for entries of lists of keys, at all depths: in one access; in a WQE, or for a frame in its receive WQEs. */
#define SOFTRNIC_ENTRIES_ACCESS 4096u
#define SOFTRNIC_ENTRIES_WQE	16384u

/*
 * Limit for pages of rings and the like, and ranges of the map, that a frame to many destinations looks up: each of their queues
 * may have the longest rings, and all must be resolved again when the map has changed.
 */
#define SOFTRNIC_RANGES_FRAME 16384u

struct softrnic_budget {
	uint32_t spent;		  /* in this share; from SOFTRNIC_WORK_MAX on it is over */
	uint32_t look;		  /* the clock is read when that much is spent */
	uint32_t entries;	  /* of lists of keys that were walked, ever */
	uint32_t ranges;	  /* of DMA maps that were walked, ever */
	unsigned int *qp_packets; /* of the queue pair that is polled: 0 ends its poll; else NULL */
	uint64_t end;		  /* of the share, CLOCK_MONOTONIC; 0: set by the first look */
	uint64_t first_end;	  /* ... of the first share of the round; 0: no look yet */
	struct softrnic *dev;	  /* of this round; NULL: there is none */
	bool cut;		  /* a share was cut: it may have taken too long */
};

/* A share that began without a look at the clock gets its end. */
static inline void
softrnic_share_set_end(struct softrnic *dev, uint64_t end)
{
	struct softrnic_budget *budget = dev->budget;

	budget->end = end;
	if (budget->first_end == 0)
		budget->first_end = end;
}

/* Each round begins several, so it stores only what it must. end: CLOCK_MONOTONIC, or 0: the clock was not read yet. */
static inline void
softrnic_share_begin(struct softrnic *dev, uint64_t end)
{
	struct softrnic_budget *budget = dev->budget;

	budget->spent = 0;
	budget->look = SOFTRNIC_LOOK_WORK;
	softrnic_share_set_end(dev, end);
}

/* Read the clock; the share may be over then. */
void softrnic_share_look(struct softrnic_budget *budget);

static inline void
softrnic_spend(struct softrnic *dev, uint32_t work)
{
	struct softrnic_budget *budget = dev->budget;

	budget->spent += work;
	if (unlikely(budget->spent >= budget->look))
		softrnic_share_look(budget);
}

/* Steps from one element of a list to the next, with what is read there: 16 of them cost as much as a frame. */
static inline void
softrnic_spend_steps(struct softrnic *dev, uint64_t steps)
{
	softrnic_spend(dev, (uint32_t)(steps / 16));
}

/*
 * Ranges of the DMA map, as steps. Many calls walk a few each, so the remainder counts with the next call's.
 */
static inline void
softrnic_spend_ranges(struct softrnic *dev, uint32_t ranges)
{
	const uint32_t due = (dev->budget->ranges % 16 + ranges) / 16;

	dev->budget->ranges += ranges;
	if (due > 0)
		softrnic_spend(dev, due);
}

/*
 * Entries of lists of keys. The entry and its key are both looked up: two of them cost as much as a frame. The callers check
 * SOFTRNIC_ENTRIES_WQE: dev->budget->entries goes on counting.
 */
static inline void
softrnic_spend_entries(struct softrnic *dev, uint32_t entries)
{
	dev->budget->entries += entries;
	softrnic_spend(dev, entries / 2);
}

/* Whether the device has used up its time in this round; reads the clock if a share was cut. */
bool softrnic_round_look(struct softrnic_budget *budget);

static inline bool
softrnic_round_is_over(const struct softrnic *dev)
{
	return unlikely(dev->budget->cut) && softrnic_round_look(dev->budget);
}

/*
 * Before the first share of a device's round; dev: NULL for none. What is spent before that share counts in one that begins here,
 * and not in one of the previous device.
 */
static inline void
softrnic_round_begin(struct softrnic_budget *budget, struct softrnic *dev)
{
	budget->dev = dev;
	budget->spent = 0;
	budget->look = SOFTRNIC_LOOK_WORK;
	budget->end = 0;
	budget->first_end = 0;
	budget->cut = false;
}

/* Whether this share is spent. Work that can wait is then left for the next round. */
static inline bool
softrnic_share_is_over(const struct softrnic *dev)
{
	return dev->budget->spent >= SOFTRNIC_WORK_MAX;
}

/*
 * Pieces of memory: four of them cost as much as a frame, and most frames have few. Each may be the first touch of a page or two,
 * which takes as long as dozens of frames: if there are many, the clock is read in any case. Best called after they were touched.
 */
static inline void
softrnic_spend_pieces(struct softrnic *dev, uint32_t pieces)
{
	struct softrnic_budget *budget = dev->budget;

	if (likely(pieces <= 4))
		return;
	if (pieces > SOFTRNIC_MANY_PIECES && budget->spent < budget->look &&
	    !softrnic_share_is_over(dev))
		budget->look = budget->spent;
	softrnic_spend(dev, pieces / 4);
}

/* Memory that is freed, which the system takes back page by page. */
static inline void
softrnic_spend_bytes(struct softrnic *dev, uint64_t bytes)
{
	softrnic_spend(dev, (uint32_t)(bytes >> 9));
}

#endif
