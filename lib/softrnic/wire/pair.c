/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A cable between two devices. Of one poller, frames are handed over as they are, so that the payload is copied once, from the
 * sender's memory to the receiver's buffer; of two, they go through a trunk.
 */
#include <rte_branch_prediction.h>

#include "softrnic/base/work.h"
#include "softrnic/receive/burst.h"
#include "softrnic/receive/receive.h"
#include "softrnic/wire/pair.h"
#include "softrnic/wire/trunk.h"

/* One that does not go with others has its own way. */
static void
pair_receive_alone(struct softrnic *dev, const struct softrnic_burst_frame *from)
{
	struct softrnic_frame frame;

	softrnic_burst_alone(from, &frame);
	softrnic_eth_receive(dev, &frame);
}

/* What came is for the end that was there; with two of them here, for nobody any more. */
static uint32_t
pair_receive(struct softrnic_segment *segment, unsigned int trunk,
	     const struct softrnic_burst_frame *frames, uint32_t count)
{
	struct softrnic *dev = segment->ends[segment->ends[0] == NULL];
	uint32_t taken = 0, together;

	while (taken < count && !softrnic_share_is_over(dev)) {
		if (unlikely(!dev->port.link_up || dev->peer != NULL)) {
			softrnic_trunk_lost(segment, trunk, &frames[taken]);
			together = 1;
		} else {
			together = softrnic_eth_receive_burst(dev, frames + taken, count - taken);
			if (together == 0) {
				pair_receive_alone(dev, &frames[taken]);
				together = 1;
			}
		}
		softrnic_spend(dev, together);
		taken += together;
	}
	return taken;
}

static void
pair_forget(struct softrnic_segment *segment, unsigned int trunk)
{
	(void)segment;
	(void)trunk;
}

static const struct softrnic_segment_ops pair_ops = {
	.wire = "pair",
	.bytes = sizeof(struct softrnic_segment),
	.ends_max = 2,
	.wait_ns = SOFTRNIC_NEVER_NS, /* nobody else does */
	.receive = pair_receive,
	.forget = pair_forget,
};

static int
pair_open(struct softrnic *dev, const char *arg)
{
	struct softrnic_segment *segment;
	int rc = softrnic_segment_enter(dev, &pair_ops, arg, &segment);

	if (rc != 0)
		return rc;
	dev->peer = segment->ends[segment->ends[0] == dev];
	if (dev->peer != NULL)
		dev->peer->peer = dev;
	dev->wire_data = segment;
	return 0;
}

static void
pair_close(struct softrnic *dev)
{
	struct softrnic_segment *segment = dev->wire_data;

	if (dev->peer != NULL)
		dev->peer->peer = NULL;
	dev->peer = NULL;
	dev->wire_data = NULL;
	softrnic_segment_leave(dev, segment);
}

static bool
pair_is_up(const struct softrnic *dev)
{
	return softrnic_segment_is_up(dev->wire_data, dev);
}

static void
pair_changed(struct softrnic *dev)
{
	softrnic_segment_changed(dev->wire_data);
}

void
softrnic_wire_pair_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_segment *segment = dev->wire_data;
	const unsigned int trunk = softrnic_trunk_next(segment, 0);

	if (likely(trunk < SOFTRNIC_POLLERS))
		softrnic_trunk_send(dev, segment, trunk, frame, SOFTRNIC_TRUNK_ALONE);
	else
		dev->stats.wire_no_peer++;
}

uint32_t
softrnic_wire_pair_send_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
			      uint32_t count)
{
	struct softrnic_segment *segment = dev->wire_data;
	const unsigned int trunk = softrnic_trunk_next(segment, 0);

	return likely(trunk < SOFTRNIC_POLLERS)
		       ? softrnic_trunk_send_burst(dev, segment, trunk, frames, count)
		       : 0;
}

const struct softrnic_wire_ops softrnic_wire_pair = {
	.name = "pair",
	.open = pair_open,
	.close = pair_close,
	.is_up = pair_is_up,
	.changed = pair_changed,
};
