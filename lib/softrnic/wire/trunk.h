/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A cable or a switch that several pollers have ends of. Each of them has a segment of it, and between any two segments there
 * is a trunk: two lanes, one for each direction, into which the sender's thread copies frames, and out of which the
 * receiver's thread takes them. Nothing else is shared, and nobody waits for another poller's lock.
 */
#ifndef SOFTRNIC_WIRE_TRUNK_H
#define SOFTRNIC_WIRE_TRUNK_H

#include <stdatomic.h>

#include "softrnic/base/poller.h"
#include "softrnic/port/frame.h"

#define SOFTRNIC_SEGMENT_NAME_BYTES 64
#define SOFTRNIC_SEGMENT_ENDS	    64

struct softrnic_segment;
struct softrnic_trunk;

/* What is said of a frame in a trunk: as struct softrnic_burst_frame's `end`, which is of use on no wire. */
#define SOFTRNIC_TRUNK_FROM  0x00ffu /* the sender's end */
#define SOFTRNIC_TRUNK_ALONE 0x0100u /* it goes to no other trunk */
#define SOFTRNIC_TRUNK_FORWARDED \
	0x0200u /* by a segment between: the sender is behind another trunk, and it goes no further */

/* What a wire is that has segments. */
struct softrnic_segment_ops {
	const char *wire; /* "pair" */
	size_t bytes;	  /* of its struct, which begins with a struct softrnic_segment */
	unsigned int ends_max;
	/* For how long who sends waits for room in a trunk; then frames are lost in it, and counted, until there is room. */
	uint64_t wait_ns;
	/*
	 * Frames came from that trunk: as many of the first ones as the share of who pays allows are received, and it says how
	 * many. They are whole, and valid until it returns.
	 */
	uint32_t (*receive)(struct softrnic_segment *segment, unsigned int trunk,
			    const struct softrnic_burst_frame *frames, uint32_t count);
	/* That trunk's other end is there no more: nothing that was learned of it holds. */
	void (*forget)(struct softrnic_segment *segment, unsigned int trunk);
};

/* A trunk, as one of its segments sees it: by the index of the poller at its other end. */
struct softrnic_segment_trunk {
	struct softrnic_trunk *trunk; /* NULL: there is none */
	unsigned int side;	      /* of it, that is ours */
	bool up;		      /* at the last look somebody was there to receive */
	bool gone;		      /* ... and all had left */
	bool busy;		      /* there is room for what is under way, and no more */
};

/* A part of a wire's struct. All is its poller's, but what is said to be others'. */
struct softrnic_segment {
	const struct softrnic_segment_ops *ops;
	char name[SOFTRNIC_SEGMENT_NAME_BYTES];
	struct softrnic_poller *poller;
	TAILQ_ENTRY(softrnic_segment) link; /* of the poller */
	LIST_ENTRY(softrnic_segment)
	group_link; /* the group's, under its lock, as is `ends_count` */
	unsigned int ends_count;
	struct softrnic *ends[SOFTRNIC_SEGMENT_ENDS]; /* devices; NULL: free */
	bool up;				      /* one of them is switched on */
	bool busy, waits;  /* a trunk is; who sends waits for it still, until */
	uint64_t busy_end; /* that moment, CLOCK_MONOTONIC */
	unsigned int turn; /* the trunk that is received from first */
	uint64_t used;	   /* trunks that there are: bits */
	uint64_t unshown;  /* ... that have frames which the other end does not know of yet */
	struct softrnic_segment_trunk trunks[SOFTRNIC_POLLERS];
	/* Trunks that others have laid, and that are not taken up yet. */
	_Atomic uint64_t offered_mask;
	_Atomic(struct softrnic_trunk *) offered[SOFTRNIC_POLLERS];
};

/*
 * A device plugs in: to the segment of that name that its poller has, or to a new one. -EINVAL: the name is none; -EEXIST: no end
 * is left, here or elsewhere (both logged); -ENOMEM.
 */
int softrnic_segment_enter(struct softrnic *dev, const struct softrnic_segment_ops *ops,
			   const char *name, struct softrnic_segment **segment);
/* ... and leaves; the segment goes with its last device. Returns whether it is still there. */
bool softrnic_segment_leave(struct softrnic *dev, struct softrnic_segment *segment);
/* A device of it: who pays for what arrives. */
struct softrnic *softrnic_segment_payer(const struct softrnic_segment *segment);
/* The device's end of it. */
unsigned int softrnic_segment_end(const struct softrnic_segment *segment,
				  const struct softrnic *dev);

/* A device of the segment was switched on or off: tell the others, and recompute the links here. */
void softrnic_segment_changed(struct softrnic_segment *segment);
/* Is somebody there to receive, besides the device? */
bool softrnic_segment_is_up(const struct softrnic_segment *segment, const struct softrnic *dev);

/*
 * The device sends a frame into a trunk: it is copied. What finds no room is lost, and counted. how: SOFTRNIC_TRUNK_ALONE or
 * _FORWARDED, or 0.
 */
void softrnic_trunk_send(struct softrnic *dev, struct softrnic_segment *segment, unsigned int trunk,
			 const struct softrnic_frame *frame, unsigned int how);
/* The first of a burst, each of them alone, as many as there is room for: how many. */
uint32_t softrnic_trunk_send_burst(struct softrnic *dev, struct softrnic_segment *segment,
				   unsigned int trunk, const struct softrnic_burst_frame *frames,
				   uint32_t count);
/* A frame that came from that trunk has found nobody: who sent it will count it. */
void softrnic_trunk_lost(struct softrnic_segment *segment, unsigned int trunk,
			 const struct softrnic_burst_frame *frame);
/* The first trunk from `from` on that has somebody to receive at its other end; SOFTRNIC_POLLERS: none. */
unsigned int softrnic_trunk_next(const struct softrnic_segment *segment, unsigned int from);

/* A round begins: what came from other pollers. Returns how many frames. */
unsigned int softrnic_trunks_receive(struct softrnic_poller *poller);
/* ... and ends: what was sent to them is theirs. */
void softrnic_trunks_show(struct softrnic_poller *poller);

#endif
