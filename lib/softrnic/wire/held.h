/* SPDX-License-Identifier: BSD-3-Clause */

/* What a bad cable remembers, among it the frames that it holds back. */
#ifndef SOFTRNIC_HELD_H
#define SOFTRNIC_HELD_H

#include "softrnic/receive/roce.h"

/* A frame or packet that stays for a while, with all that it pointed at. */
struct softrnic_kept {
	uint8_t *data;	/* the frame; of a RoCE packet the payload */
	uint32_t bytes; /* of them */
	bool is_roce;
	uint64_t generation; /* of the packet's route: see softrnic_roce_changed() */
	struct softrnic_roce_frame roce;
	struct rocev2_frame head;
	struct roce_pkt pkt;
	struct iovec piece;
};

/* A rule: what becomes of packets that fit, or of the nth of them. */
struct softrnic_rule {
	bool corrupt; /* else it is lost */
	/* given: enum rule_field, as bits */
	uint32_t given, opcode, qpn, psn, bit;
	uint64_t nth, seen;
};
#define SOFTRNIC_RULES_MAX 16

/* Frames that take their time, in order: entries from `head` on, each followed by its bytes (delay.c). */
struct softrnic_delay {
	uint8_t *room;
	uint32_t count;	     /* frames */
	uint32_t head, tail; /* offsets: of the oldest, and behind the newest */
	uint32_t end; /* the newer ones are in front of the older ones, which end here; else 0 */
	uint64_t ns;
};

struct softrnic_faults {
	uint64_t random; /* its own stream: nothing else moves it */
	uint64_t place;	 /* another one: which bit of a RoCE packet's bytes is damaged */
	/* A frame that waits to be overtaken. */
	bool holds;
	uint32_t held_polls;
	struct softrnic_kept kept;
	struct softrnic_delay delay; /* no room: there is none */
	uint32_t rule_count;
	struct softrnic_rule rules[SOFTRNIC_RULES_MAX];
	uint8_t held[SOFTRNIC_FRAME_BYTES_MAX];
	uint8_t damaged[SOFTRNIC_FRAME_BYTES_MAX];
};

/* The link went: frames that waited are lost, and counted. dev->faults may be NULL. */
static inline void
softrnic_faults_link_down(struct softrnic *dev)
{
	struct softrnic_faults *faults = dev->faults;

	if (faults == NULL)
		return;
	dev->stats.wire_dropped += faults->delay.count + faults->holds;
	faults->holds = false;
	faults->delay.count = faults->delay.head = faults->delay.tail = faults->delay.end = 0;
}

#endif
