/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Work: what a client made long must not make a round long, since others wait for it. The rule, for all of the device:
 *
 * A round of the poller stops between units, and what is left waits for the next round. A unit is a command, a WQE, a
 * frame or packet, an object that is freed. Each has an end of its own (README.md has how long each may take): no way
 * through lists that a client made is longer than that.
 *
 * A device has a share of the round for each of its parts: commands, send queues, queue pairs, the wire. A queue that has
 * its turn there is charged for what it does, in frames, and for the steps of each list that is walked for it, wherever that
 * is: a frame may be steered by the tables of another device, of the same poller. It is the turn under way that is charged,
 * and not the owner of the list: that bounds the round. A share is over when SOFTRNIC_WORK_MAX is charged, or SOFTRNIC_SHARE_NS have gone by,
 * since memory may be slower than anything that is counted; the clock is looked at every SOFTRNIC_LOOK_WORK charges.
 *
 * The last unit of a share may be one that takes milliseconds. So that they do not add up, all shares of a device's round
 * have one end, too: SOFTRNIC_ROUND_SHARES of them, however long each took. What one share overran shortens those that follow;
 * once the time is over, so is the round, and the next one begins with the part whose turn it would have been (poll.c).
 *
 * Looking in vain is no work, but it takes time as well: at most SOFTRNIC_IDLE_LOOKS queues without anything to do
 * are looked at in a round, of each kind, and those that were then go behind the others.
 */
#ifndef SOFTRNIC_WORK_H
#define SOFTRNIC_WORK_H

#include <rte_branch_prediction.h>

#include "softrnic/base/device.h"

/* In frames from one buffer to another, of which each takes some 50 to 100 ns. */
#define SOFTRNIC_WORK_MAX   4096u
#define SOFTRNIC_SHARE_NS   UINT64_C(250000)
#define SOFTRNIC_LOOK_WORK  64u
#define SOFTRNIC_NEVER_NS   ((uint64_t)INT64_MAX) /* the end of a share that the clock does not end */
#define SOFTRNIC_IDLE_LOOKS 256u

/* So long is a round of a device, and the unit that is under way then. */
#define SOFTRNIC_ROUND_SHARES 4u

#define SOFTRNIC_MANY_PIECES 16u

/* Entries of lists of keys, at all depths: of one access, and of a WQE, or a frame's way into receive WQEs. */
#define SOFTRNIC_ENTRIES_ACCESS 4096u
#define SOFTRNIC_ENTRIES_WQE	16384u

/*
 * Pages of rings and the like, and ranges of the map, that are looked up on a frame's ways to many: each of their queues may have
 * the longest rings, and all are to be resolved anew when the map has changed.
 */
#define SOFTRNIC_RANGES_FRAME 16384u

struct softrnic_budget {
	uint32_t spent;		  /* in this share; SOFTRNIC_WORK_MAX and more: it is over */
	uint32_t look;		  /* ... at the clock, when it is that much */
	uint32_t entries;	  /* of lists of keys that were walked through, ever */
	uint32_t ranges;	  /* of maps that were come through, ever */
	unsigned int *qp_packets; /* of the queue pair that has its turn: 0 ends that; else NULL */
	uint64_t end;	      /* of the share, CLOCK_MONOTONIC; 0: so much from the first look on */
	uint64_t first_end;   /* ... of the first one of the round; 0: no look yet */
	struct softrnic *dev; /* whose round it is; NULL: there is none */
	bool cut;	      /* a share was: it may have taken longer than it should */
};

/* Who began one without a look at the clock has come to it. */
static inline void
softrnic_share_set_end(struct softrnic *dev, uint64_t end)
{
	struct softrnic_budget *budget = dev->budget;

	budget->end = end;
	if (budget->first_end == 0)
		budget->first_end = end;
}

/* Each round begins some, so it stores only what it must. end: CLOCK_MONOTONIC, or 0: not read yet. */
static inline void
softrnic_share_begin(struct softrnic *dev, uint64_t end)
{
	struct softrnic_budget *budget = dev->budget;

	budget->spent = 0;
	budget->look = SOFTRNIC_LOOK_WORK;
	softrnic_share_set_end(dev, end);
}

/* The share has come to where the clock is looked at. */
void softrnic_share_look(struct softrnic_budget *budget);

static inline void
softrnic_spend(struct softrnic *dev, uint32_t work)
{
	struct softrnic_budget *budget = dev->budget;

	budget->spent += work;
	if (unlikely(budget->spent >= budget->look))
		softrnic_share_look(budget);
}

/* Steps from one element of a list to the next one, with what is looked at there: 16 of them are like a frame. */
static inline void
softrnic_spend_steps(struct softrnic *dev, uint64_t steps)
{
	softrnic_spend(dev, (uint32_t)(steps / 16));
}

/*
 * Ranges of the DMA map, as steps. Many calls come through a few each, so what is left over counts with the next one's.
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
 * Entries of lists of keys. Where one lies in its list is looked up, and so is its key: two of them are like a frame.
 * What SOFTRNIC_ENTRIES_WQE allows is up to who has a WQE: dev->budget->entries goes on counting.
 */
static inline void
softrnic_spend_entries(struct softrnic *dev, uint32_t entries)
{
	dev->budget->entries += entries;
	softrnic_spend(dev, entries / 2);
}

/* The device has had its time of this round: it costs a look at the clock where a share was cut. */
bool softrnic_round_look(struct softrnic_budget *budget);

static inline bool
softrnic_round_is_over(const struct softrnic *dev)
{
	return unlikely(dev->budget->cut) && softrnic_round_look(dev->budget);
}

/*
 * Before the first share of a device's round; dev: NULL for none. What is charged ahead of that share counts in one that begins
 * here: nothing is left of the device before.
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

/* Has this share been spent? Work that can wait is left for the next round. */
static inline bool
softrnic_share_is_over(const struct softrnic *dev)
{
	return dev->budget->spent >= SOFTRNIC_WORK_MAX;
}

/*
 * Pieces of memory: four of them are like a frame, as most have few. Each may be the first touch of a page or two, and then it
 * takes as long as dozens of frames: where there are many the clock is looked at in any case, best when they were touched.
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

/* Memory that is given back, which the system takes page by page. */
static inline void
softrnic_spend_bytes(struct softrnic *dev, uint64_t bytes)
{
	softrnic_spend(dev, (uint32_t)(bytes >> 9));
}

#endif
