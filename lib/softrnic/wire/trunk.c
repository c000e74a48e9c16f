/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A lane that is half full makes its senders wait (dev->wire_busy) for as long as the wire allows. What is under way has room
 * still: it is more than any WQE sends. Behind that a frame that finds no room is lost, and its sender's device counts it, as it does
 * what the other end has received and found nobody for, and what the other end's last device leaves behind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/copy.h"
#include "softrnic/base/log.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/lane.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/trunk.h"

/* Of a lane: more than the frames of any WQE, and what a queue pair sends before it looks. */
#define LANE_SPARE  (1u << 20)
#define LANE_RESUME (SOFTRNIC_LANE_BYTES - LANE_SPARE / 2) /* free: nobody waits any more */
/* The other thread may begin before the round is over. */
#define LANE_SHOW (64u << 10)

_Static_assert(SOFTRNIC_SEGMENT_ENDS <= SOFTRNIC_LANE_ENDS,
	       "each end of a segment has a number in its lanes");

struct softrnic_trunk {
	struct softrnic_lane lanes[2]; /* what each side sends */
	struct {
		struct softrnic_poller *poller;
		/* It has a device that is switched on. It is there no more, and has sent its last frame. */
		_Atomic bool up, gone;
	} sides[2];
	atomic_uint refs; /* of segments */
};

/* ---- Trunks ---- */

static void
trunk_put(struct softrnic_trunk *trunk)
{
	if (atomic_fetch_sub_explicit(&trunk->refs, 1, memory_order_acq_rel) > 1)
		return;
	softrnic_lane_end(&trunk->lanes[0]);
	softrnic_lane_end(&trunk->lanes[1]);
	free(trunk);
}

static struct softrnic_trunk *
trunk_create(struct softrnic_poller *here, struct softrnic_poller *there)
{
	struct softrnic_trunk *trunk = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*trunk));

	if (trunk == NULL)
		return NULL;
	memset(trunk, 0, sizeof(*trunk));
	atomic_init(&trunk->refs, 1);
	trunk->sides[0].poller = here;
	trunk->sides[1].poller = there;
	atomic_store(&here->has_trunks, true);
	atomic_store(&there->has_trunks, true);
	return trunk;
}

/* This side has sent its last frame. */
static void
trunk_leave(struct softrnic_trunk *trunk, unsigned int side)
{
	struct softrnic_poller *there = trunk->sides[!side].poller;

	atomic_store(&trunk->sides[side].up, false);
	atomic_store(&trunk->sides[side].gone, true);
	softrnic_poller_wake(there);
	trunk_put(trunk);
}

/* ---- Segments ---- */

/* The first of a set, from `from` on; SOFTRNIC_POLLERS: none. */
static unsigned int
set_next(uint64_t set, unsigned int from)
{
	if (from >= SOFTRNIC_POLLERS || set >> from == 0)
		return SOFTRNIC_POLLERS;
	return from + (unsigned int)__builtin_ctzll(set >> from);
}

static uint64_t
set_of(unsigned int member)
{
	return UINT64_C(1) << member;
}

static struct softrnic_segment *
segment_find(struct softrnic_poller *poller, const struct softrnic_segment_ops *ops,
	     const char *name)
{
	struct softrnic_segment *segment;

	TAILQ_FOREACH(segment, &poller->segments, link) {
		if (segment->ops == ops && strcmp(segment->name, name) == 0)
			return segment;
	}
	return NULL;
}

struct softrnic *
softrnic_segment_payer(const struct softrnic_segment *segment)
{
	unsigned int end = 0;

	while (segment->ends[end] == NULL)
		end++;
	return segment->ends[end];
}

static void
segment_links_update(const struct softrnic_segment *segment)
{
	for (unsigned int end = 0; end < segment->ops->ends_max; end++) {
		if (segment->ends[end] != NULL)
			softrnic_link_update(segment->ends[end]);
	}
}

static void
segment_tell_busy(const struct softrnic_segment *segment, struct softrnic *dev)
{
	dev->wire_busy = segment->waits;
	/* Queue pairs wait then, and look again in each poll (engine/qp_poll.c). */
	if (segment->waits)
		dev->qps_deadline = 0;
	else
		dev->wire_waits_from = 0;
}

static void
segment_set_waits(struct softrnic_segment *segment, bool waits)
{
	segment->waits = waits;
	for (unsigned int end = 0; end < segment->ops->ends_max; end++) {
		if (segment->ends[end] != NULL)
			segment_tell_busy(segment, segment->ends[end]);
	}
}

/* Only while somebody is there to receive, who makes room. */
static bool
segment_trunk_is_busy(struct softrnic_segment_trunk *at)
{
	struct softrnic_lane *lane;

	if (!at->busy)
		return false;
	lane = &at->trunk->lanes[at->side];
	at->busy = at->up && !softrnic_lane_has(lane, LANE_RESUME);
	if (at->busy)
		atomic_store(&lane->wanted, true);
	return at->busy;
}

/* Is there room by now, or has it been waited long enough? */
static void
segment_look_for_room(struct softrnic_segment *segment)
{
	segment->busy = false;
	for (unsigned int k = set_next(segment->used, 0); k < SOFTRNIC_POLLERS;
	     k = set_next(segment->used, k + 1))
		segment->busy = segment_trunk_is_busy(&segment->trunks[k]) || segment->busy;
	if (segment->waits && (!segment->busy || softrnic_now_ns() >= segment->busy_end))
		segment_set_waits(segment, false);
}

static void
segment_take(struct softrnic_segment *segment, unsigned int k, struct softrnic_trunk *trunk,
	     unsigned int side)
{
	segment->trunks[k] = (struct softrnic_segment_trunk){ .trunk = trunk, .side = side };
	segment->used |= set_of(k);
	atomic_store(&trunk->sides[side].up, segment->up);
}

static void
segment_count_lost(struct softrnic_segment *segment, unsigned int end, uint64_t count)
{
	/* Who has left has no statistics either. */
	if (end < SOFTRNIC_SEGMENT_ENDS && segment->ends[end] != NULL)
		segment->ends[end]->stats.wire_no_peer += count;
}

/* What the other end has found nobody for. */
static __attribute__((noinline)) void
segment_take_lost(struct softrnic_segment *segment, struct softrnic_lane *lane)
{
	atomic_store(&lane->has_lost, false);
	for (unsigned int end = 0; end < SOFTRNIC_SEGMENT_ENDS; end++)
		segment_count_lost(segment, end, atomic_exchange(&lane->lost[end], 0));
}

/* What was sent and is still there is lost with who would have received it. */
static void
segment_drop(struct softrnic_segment *segment, unsigned int k)
{
	struct softrnic_segment_trunk *at = &segment->trunks[k];
	struct softrnic_lane *lane = &at->trunk->lanes[at->side];
	const struct softrnic_lane_entry *entry;
	uint64_t position;

	segment_take_lost(segment, lane);
	for (position = atomic_load(&lane->head); position != lane->tail;
	     position += entry->bytes) {
		entry = softrnic_lane_entry(lane, position);
		if (entry->length > 0)
			segment_count_lost(segment, entry->said & SOFTRNIC_TRUNK_FROM, 1);
	}
	trunk_put(at->trunk);
	*at = (struct softrnic_segment_trunk){ 0 };
	segment->used &= ~set_of(k);
	segment->unshown &= ~set_of(k);
	/* Its last frames may have taught something. */
	segment->ops->forget(segment, k);
}

/* Trunks that others have laid. Who lays one anew has left the one before, but what came through that goes first. */
static unsigned int
segment_take_offered(struct softrnic_segment *segment)
{
	unsigned int done = 0;
	const uint64_t offered = atomic_load(&segment->offered_mask) & ~segment->used;

	atomic_fetch_and(&segment->offered_mask, ~offered);
	for (unsigned int k = set_next(offered, 0); k < SOFTRNIC_POLLERS;
	     k = set_next(offered, k + 1)) {
		struct softrnic_trunk *trunk = atomic_exchange(&segment->offered[k], NULL);

		if (trunk == NULL)
			continue;
		segment_take(segment, k, trunk, 1);
		/* Each looks at the other next. */
		softrnic_poller_wake(trunk->sides[0].poller);
		done++;
	}
	return done;
}

/* Under the group's lock: the other one is there. */
static int
segment_offer(struct softrnic_segment *segment, struct softrnic_segment *other)
{
	struct softrnic_trunk *trunk = trunk_create(segment->poller, other->poller), *untaken;

	if (trunk == NULL)
		return -ENOMEM;
	segment_take(segment, other->poller->index, trunk, 0);
	atomic_fetch_add(&trunk->refs, 1);
	untaken = atomic_exchange(&other->offered[segment->poller->index], trunk);
	if (untaken != NULL)
		trunk_put(untaken);
	atomic_fetch_or(&other->offered_mask, set_of(segment->poller->index));
	softrnic_poller_wake(other->poller);
	return 0;
}

static unsigned int
segments_count_ends(struct softrnic_group *group, const struct softrnic_segment_ops *ops,
		    const char *name)
{
	struct softrnic_segment *segment;
	unsigned int count = 0;

	LIST_FOREACH(segment, &group->segments, group_link) {
		if (segment->ops == ops && strcmp(segment->name, name) == 0)
			count += segment->ends_count;
	}
	return count;
}

/* Under the group's lock. */
static int
segment_join_group(struct softrnic_segment *segment, struct softrnic_group *group)
{
	struct softrnic_segment *other;
	int rc = 0;

	LIST_FOREACH(other, &group->segments, group_link) {
		if (rc == 0 && other->ops == segment->ops &&
		    strcmp(other->name, segment->name) == 0)
			rc = segment_offer(segment, other);
	}
	if (rc == 0)
		LIST_INSERT_HEAD(&group->segments, segment, group_link);
	return rc;
}

/* What was laid ends, and what was offered is refused. Nobody else finds the segment any more. */
static void
segment_free(struct softrnic_segment *segment)
{
	for (unsigned int k = set_next(segment->used, 0); k < SOFTRNIC_POLLERS;
	     k = set_next(segment->used, k + 1)) {
		struct softrnic_segment_trunk *at = &segment->trunks[k];

		softrnic_lane_show(&at->trunk->lanes[at->side]);
		trunk_leave(at->trunk, at->side);
	}
	for (unsigned int k = 0; k < SOFTRNIC_POLLERS; k++) {
		struct softrnic_trunk *trunk = atomic_exchange(&segment->offered[k], NULL);

		if (trunk != NULL)
			trunk_leave(trunk, 1);
	}
	free(segment);
}

static int
segment_create(struct softrnic *dev, const struct softrnic_segment_ops *ops, const char *name,
	       struct softrnic_segment **out)
{
	struct softrnic_segment *segment = calloc(1, ops->bytes);
	int rc;

	if (segment == NULL)
		return -ENOMEM;
	segment->ops = ops;
	segment->poller = dev->poller;
	memcpy(segment->name, name, strlen(name) + 1);
	rc = segment_join_group(segment, dev->poller->group);
	if (rc != 0) {
		segment_free(segment);
		return rc;
	}
	TAILQ_INSERT_TAIL(&dev->poller->segments, segment, link);
	*out = segment;
	return 0;
}

static int
segment_check(struct softrnic *dev, const struct softrnic_segment_ops *ops, const char *name)
{
	if (name != NULL && name[0] != '\0' && strlen(name) < SOFTRNIC_SEGMENT_NAME_BYTES)
		return 0;
	SOFTRNIC_LOG(ERR, dev, "wire \"%s\" needs a name of at most %d bytes: %s:NAME", ops->wire,
		     SOFTRNIC_SEGMENT_NAME_BYTES - 1, ops->wire);
	return -EINVAL;
}

int
softrnic_segment_enter(struct softrnic *dev, const struct softrnic_segment_ops *ops,
		       const char *name, struct softrnic_segment **out)
{
	struct softrnic_group *group = dev->poller->group;
	struct softrnic_segment *segment;
	int rc = segment_check(dev, ops, name);

	if (rc != 0)
		return rc;
	segment = segment_find(dev->poller, ops, name);
	pthread_mutex_lock(&group->lock);
	if (segments_count_ends(group, ops, name) == ops->ends_max)
		rc = -EEXIST;
	else if (segment == NULL)
		rc = segment_create(dev, ops, name, &segment);
	if (rc == 0)
		segment->ends_count++;
	pthread_mutex_unlock(&group->lock);
	if (rc == -EEXIST)
		SOFTRNIC_LOG(ERR, dev, "%s \"%s\" already joins %u devices", ops->wire, name,
			     ops->ends_max);
	if (rc != 0)
		return rc;
	segment->ends[softrnic_segment_end(segment, NULL)] = dev;
	segment_tell_busy(segment, dev);
	*out = segment;
	return 0;
}

bool
softrnic_segment_leave(struct softrnic *dev, struct softrnic_segment *segment)
{
	bool last;

	segment->ends[softrnic_segment_end(segment, dev)] = NULL;
	dev->wire_busy = false;
	pthread_mutex_lock(&segment->poller->group->lock);
	last = --segment->ends_count == 0;
	if (last)
		LIST_REMOVE(segment, group_link);
	pthread_mutex_unlock(&segment->poller->group->lock);
	if (!last) {
		softrnic_segment_changed(segment);
		return true;
	}
	TAILQ_REMOVE(&segment->poller->segments, segment, link);
	segment_free(segment);
	return false;
}

unsigned int
softrnic_segment_end(const struct softrnic_segment *segment, const struct softrnic *dev)
{
	unsigned int end = 0;

	while (end < segment->ops->ends_max && segment->ends[end] != dev)
		end++;
	return end;
}

/* ---- The link ---- */

static bool
segment_has_other(const struct softrnic_segment *segment, const struct softrnic *dev)
{
	for (unsigned int end = 0; end < segment->ops->ends_max; end++) {
		if (segment->ends[end] != NULL && segment->ends[end] != dev &&
		    softrnic_port_enabled(segment->ends[end]))
			return true;
	}
	return false;
}

bool
softrnic_segment_is_up(const struct softrnic_segment *segment, const struct softrnic *dev)
{
	return segment_has_other(segment, dev) ||
	       softrnic_trunk_next(segment, 0) < SOFTRNIC_POLLERS;
}

void
softrnic_segment_changed(struct softrnic_segment *segment)
{
	const bool up = segment_has_other(segment, NULL);

	if (up != segment->up) {
		segment->up = up;
		for (unsigned int k = set_next(segment->used, 0); k < SOFTRNIC_POLLERS;
		     k = set_next(segment->used, k + 1)) {
			struct softrnic_segment_trunk *at = &segment->trunks[k];

			/* What was sent before the link goes arrives. */
			softrnic_lane_show(&at->trunk->lanes[at->side]);
			atomic_store(&at->trunk->sides[at->side].up, up);
			softrnic_poller_wake(at->trunk->sides[!at->side].poller);
		}
	}
	segment_links_update(segment);
}

/* ---- Frames out ---- */

unsigned int
softrnic_trunk_next(const struct softrnic_segment *segment, unsigned int from)
{
	unsigned int k = set_next(segment->used, from);

	while (k < SOFTRNIC_POLLERS && !segment->trunks[k].up)
		k = set_next(segment->used, k + 1);
	return k;
}

static __attribute__((noinline)) void
trunk_is_busy(struct softrnic *dev, struct softrnic_segment *segment,
	      struct softrnic_segment_trunk *at)
{
	struct softrnic_lane *lane = &at->trunk->lanes[at->side];

	at->busy = true;
	/* The reader wakes this thread, which may sleep until then. */
	atomic_store(&lane->wanted, true);
	softrnic_lane_show(lane);
	softrnic_poller_wake(at->trunk->sides[!at->side].poller);
	if (segment->busy)
		return;
	segment->busy = true;
	segment->busy_end = softrnic_now_ns() + segment->ops->wait_ns;
	segment_set_waits(segment, true);
	/* Its share ends here, and not because it had more to do than a share allows. */
	dev->budget->spent = SOFTRNIC_WORK_MAX;
	dev->budget->look = UINT32_MAX;
}

/* Behind a frame, or several. */
static inline void
trunk_sent(struct softrnic *dev, struct softrnic_segment *segment, unsigned int trunk)
{
	struct softrnic_segment_trunk *at = &segment->trunks[trunk];
	struct softrnic_lane *lane = &at->trunk->lanes[at->side];

	segment->unshown |= set_of(trunk);
	if (unlikely(lane->tail - lane->shown_at >= LANE_SHOW))
		softrnic_lane_show(lane);
	if (unlikely(!softrnic_lane_has(lane, LANE_SPARE)) && !at->busy)
		trunk_is_busy(dev, segment, at);
}

void
softrnic_trunk_send(struct softrnic *dev, struct softrnic_segment *segment, unsigned int trunk,
		    const struct softrnic_frame *frame, unsigned int how)
{
	const struct softrnic_segment_trunk *at = &segment->trunks[trunk];
	struct softrnic_lane *lane = &at->trunk->lanes[at->side];
	struct softrnic_lane_entry *entry =
		softrnic_lane_next(lane, frame->length, softrnic_segment_end(segment, dev) | how);

	if (unlikely(entry == NULL)) {
		dev->stats.wire_dropped++;
		return;
	}
	softrnic_frame_gather(frame, (uint8_t *)(entry + 1), frame->length);
	softrnic_lane_put(lane, entry);
	trunk_sent(dev, segment, trunk);
}

uint32_t
softrnic_trunk_send_burst(struct softrnic *dev, struct softrnic_segment *segment,
			  unsigned int trunk, const struct softrnic_burst_frame *frames,
			  uint32_t count)
{
	const struct softrnic_segment_trunk *at = &segment->trunks[trunk];
	const unsigned int said = softrnic_segment_end(segment, dev) | SOFTRNIC_TRUNK_ALONE;
	struct softrnic_lane *lane = &at->trunk->lanes[at->side];
	struct softrnic_lane_entry *entry;
	uint32_t i;

	for (i = 0; i < count; i++) {
		entry = softrnic_lane_next(lane, frames[i].length, said);
		if (unlikely(entry == NULL))
			break;
		softrnic_copy(entry + 1, frames[i].bytes, frames[i].length);
		softrnic_lane_put(lane, entry);
	}
	if (likely(i > 0))
		trunk_sent(dev, segment, trunk);
	return i;
}

static void
segment_show(struct softrnic_segment *segment)
{
	for (unsigned int k = set_next(segment->unshown, 0); k < SOFTRNIC_POLLERS;
	     k = set_next(segment->unshown, k + 1)) {
		struct softrnic_segment_trunk *at = &segment->trunks[k];

		softrnic_lane_show(&at->trunk->lanes[at->side]);
		softrnic_poller_wake(at->trunk->sides[!at->side].poller);
	}
	segment->unshown = 0;
}

void
softrnic_trunks_show(struct softrnic_poller *poller)
{
	struct softrnic_segment *segment;

	TAILQ_FOREACH(segment, &poller->segments, link) {
		if (segment->unshown != 0)
			segment_show(segment);
	}
}

/* ---- Frames in ---- */

void
softrnic_trunk_lost(struct softrnic_segment *segment, unsigned int trunk,
		    const struct softrnic_burst_frame *frame)
{
	const struct softrnic_segment_trunk *at = &segment->trunks[trunk];
	struct softrnic_lane *lane = &at->trunk->lanes[!at->side];

	atomic_fetch_add(&lane->lost[(frame->end & SOFTRNIC_TRUNK_FROM) % SOFTRNIC_SEGMENT_ENDS],
			 1);
	atomic_store(&lane->has_lost, true);
}

/* How far the reader is. */
static void
lane_take(struct softrnic_lane *lane, uint64_t position, struct softrnic_poller *writer)
{
	atomic_store(&lane->head, position);
	if (unlikely(atomic_load(&lane->wanted) || atomic_load(&lane->has_lost))) {
		atomic_store(&lane->wanted, false);
		softrnic_poller_wake(writer);
	}
}

static unsigned int
trunk_receive(struct softrnic_segment *segment, unsigned int k, uint64_t shown)
{
	struct softrnic_segment_trunk *at = &segment->trunks[k];
	struct softrnic_lane *lane = &at->trunk->lanes[!at->side];
	uint64_t position = atomic_load_explicit(&lane->head, memory_order_relaxed);
	struct softrnic *payer = softrnic_segment_payer(segment);
	struct softrnic_burst_frame frames[SOFTRNIC_BURST];
	uint64_t behind[SOFTRNIC_BURST];
	unsigned int done = 0;
	uint32_t count, taken;

	while (position != shown && !softrnic_share_is_over(payer)) {
		count = softrnic_lane_gather(lane, position, shown, frames, behind);
		taken = segment->ops->receive(segment, k, frames, count);
		done += taken;
		if (taken < count) {
			position = taken > 0 ? behind[taken - 1] : position;
			break;
		}
		/* Behind the last one there may be an entry without a frame. */
		position = count == 0 ? shown : behind[count - 1];
	}
	lane_take(lane, position, at->trunk->sides[!at->side].poller);
	return done;
}

/*
 * What is said of the other end. Who goes has shown all that it sent before it says so, and the link goes when all of that has
 * come.
 */
static bool
trunk_look(struct softrnic_segment *segment, unsigned int k)
{
	struct softrnic_segment_trunk *at = &segment->trunks[k];
	const bool gone = atomic_load(&at->trunk->sides[!at->side].gone);
	const bool up = atomic_load(&at->trunk->sides[!at->side].up) ||
			(at->up && softrnic_lane_waits(&at->trunk->lanes[!at->side]));
	const bool changed = up != at->up;

	at->up = up;
	if (gone && !at->gone)
		segment->ops->forget(segment, k);
	at->gone = gone;
	if (unlikely(atomic_load(&at->trunk->lanes[at->side].has_lost)))
		segment_take_lost(segment, &at->trunk->lanes[at->side]);
	return changed;
}

static unsigned int
trunk_take(struct softrnic_segment *segment, unsigned int k, bool *changed)
{
	struct softrnic_segment_trunk *at = &segment->trunks[k];
	const struct softrnic_lane *lane = &at->trunk->lanes[!at->side];
	const uint64_t shown = atomic_load(&lane->shown);
	unsigned int done = 0;

	if (shown != atomic_load_explicit(&lane->head, memory_order_relaxed))
		done = trunk_receive(segment, k, shown);
	if (at->gone && shown == atomic_load_explicit(&lane->head, memory_order_relaxed)) {
		*changed = *changed || at->up;
		segment_drop(segment, k);
	}
	return done;
}

/* From the one that is next in turn on. */
static unsigned int
segment_take_frames(struct softrnic_segment *segment, bool *changed)
{
	unsigned int done = 0, k;

	for (k = set_next(segment->used, segment->turn); k < SOFTRNIC_POLLERS;
	     k = set_next(segment->used, k + 1))
		done += trunk_take(segment, k, changed);
	for (k = set_next(segment->used, 0); k < segment->turn; k = set_next(segment->used, k + 1))
		done += trunk_take(segment, k, changed);
	segment->turn = set_next(segment->used, segment->turn + 1);
	if (segment->turn == SOFTRNIC_POLLERS)
		segment->turn = 0;
	return done;
}

static unsigned int
segment_receive(struct softrnic_segment *segment, uint64_t now)
{
	unsigned int done = 0, k;
	bool changed = false;

	for (k = set_next(segment->used, 0); k < SOFTRNIC_POLLERS;
	     k = set_next(segment->used, k + 1))
		changed = trunk_look(segment, k) || changed;
	for (unsigned int end = 0; end < segment->ops->ends_max; end++) {
		if (segment->ends[end] != NULL)
			segment->ends[end]->now = now - segment->ends[end]->power_on_ns;
	}
	done += segment_take_frames(segment, &changed);
	if (unlikely(atomic_load(&segment->offered_mask) != 0))
		done += segment_take_offered(segment);
	if (unlikely(changed))
		segment_links_update(segment);
	if (unlikely(segment->busy))
		segment_look_for_room(segment);
	return done;
}

/* One share for all of them; those that it left out are the first ones in the next round. */
unsigned int
softrnic_trunks_receive(struct softrnic_poller *poller)
{
	struct softrnic_segment *segment = TAILQ_FIRST(&poller->segments);
	struct softrnic_segment *last = TAILQ_LAST(&poller->segments, softrnic_segments);
	unsigned int done = 0;
	uint64_t now;

	if (segment == NULL)
		return 0;
	now = softrnic_now_ns();
	softrnic_round_begin(&poller->budget, NULL);
	softrnic_share_begin(softrnic_segment_payer(segment), now + SOFTRNIC_SHARE_NS);
	do {
		segment = TAILQ_FIRST(&poller->segments);
		done += segment_receive(segment, now);
		TAILQ_REMOVE(&poller->segments, segment, link);
		TAILQ_INSERT_TAIL(&poller->segments, segment, link);
	} while (segment != last && !softrnic_share_is_over(softrnic_segment_payer(segment)));
	softrnic_round_begin(&poller->budget, NULL);
	return done;
}
