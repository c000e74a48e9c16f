/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A bad cable: frames get lost, doubled, swapped with the next one, or damaged, each with a chance in parts per
 * million. The seed of the device decides: the same seed and frames meet the same fate. RoCE packets fare as Ethernet
 * frames do, whether they go as bytes or not; damaged, they fail their ICRC.
 */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/random.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/faults.h"
#include "softrnic/wire/held.h"
#include "softrnic/wire/roce.h"
#include "softrnic/wire/send.h"

#define FAULT_MILLION 1000000

#define FAULT_HOLD_POLLS 64 /* then the frame goes on without being overtaken */

static bool
faults_strike(struct softrnic_faults *faults, uint32_t ppm)
{
	return ppm > 0 && softrnic_splitmix64(&faults->random) % FAULT_MILLION < ppm;
}

int
softrnic_faults_init(struct softrnic *dev)
{
	const struct softrnic_conf *conf = &dev->conf;
	struct softrnic_faults *faults;

	dev->faults = NULL;
	if (conf->drop_ppm == 0 && conf->dup_ppm == 0 && conf->reorder_ppm == 0 &&
	    conf->corrupt_ppm == 0)
		return 0;
	if (conf->drop_ppm > FAULT_MILLION || conf->dup_ppm > FAULT_MILLION ||
	    conf->reorder_ppm > FAULT_MILLION || conf->corrupt_ppm > FAULT_MILLION) {
		SOFTRNIC_LOG(ERR, dev, "faults are parts per million: at most %d", FAULT_MILLION);
		return -EINVAL;
	}
	faults = calloc(1, sizeof(*faults));
	if (faults == NULL)
		return -ENOMEM;
	faults->random = faults->place = conf->seed != 0 ? conf->seed : softrnic_random(dev);
	dev->faults = faults;
	softrnic_eth_changed(dev);
	return 0;
}

void
softrnic_faults_fini(struct softrnic *dev)
{
	softrnic_faults_link_down(dev);
	free(dev->faults);
	dev->faults = NULL;
	softrnic_eth_changed(dev);
}

static void
faults_release(struct softrnic *dev, struct softrnic_faults *faults)
{
	struct softrnic_frame frame = { .length = faults->held_bytes, .count = 1 };

	frame.pieces[0].iov_base = faults->held;
	frame.pieces[0].iov_len = faults->held_bytes;
	faults->held_bytes = 0;
	if (faults->held_roce)
		softrnic_roce_wire_send(dev, &faults->roce);
	else
		softrnic_wire_send(dev, &frame);
}

/* One bit flips; the copy is sent. */
static void
faults_corrupt(struct softrnic *dev, struct softrnic_faults *faults,
	       const struct softrnic_frame *frame)
{
	struct softrnic_frame copy = { .length = frame->length, .count = 1 };
	uint64_t bit = softrnic_splitmix64(&faults->random) % (frame->length * UINT64_C(8));

	softrnic_frame_gather(frame, faults->damaged, frame->length);
	faults->damaged[bit / 8] ^= (uint8_t)(1u << bit % 8);
	copy.pieces[0].iov_base = faults->damaged;
	copy.pieces[0].iov_len = frame->length;
	softrnic_wire_send(dev, &copy);
}

enum fate {
	FATE_PASS,
	FATE_DROP,
	FATE_HOLD,
	FATE_CORRUPT,
};

/* What becomes of the next frame, counted. A copy of one that passes is faults_again()'s to decide. */
static enum fate
faults_fate(struct softrnic *dev, struct softrnic_faults *faults)
{
	const struct softrnic_conf *conf = &dev->conf;

	if (faults_strike(faults, conf->drop_ppm)) {
		dev->stats.wire_dropped++;
		return FATE_DROP;
	}
	if (faults->held_bytes == 0 && faults_strike(faults, conf->reorder_ppm)) {
		faults->held_polls = 0;
		dev->stats.wire_reordered++;
		return FATE_HOLD;
	}
	if (!faults_strike(faults, conf->corrupt_ppm))
		return FATE_PASS;
	dev->stats.wire_corrupted++;
	return FATE_CORRUPT;
}

static bool
faults_again(struct softrnic *dev, struct softrnic_faults *faults)
{
	if (!faults_strike(faults, dev->conf.dup_ppm))
		return false;
	dev->stats.wire_duplicated++;
	return true;
}

void
softrnic_faults_send(struct softrnic *dev, const struct softrnic_frame *frame)
{
	struct softrnic_faults *faults = dev->faults;
	bool late = faults->held_bytes > 0;
	enum fate fate = faults_fate(dev, faults);

	if (fate == FATE_DROP)
		return;
	if (fate == FATE_HOLD) {
		softrnic_frame_gather(frame, faults->held, frame->length);
		faults->held_bytes = frame->length;
		faults->held_roce = false;
		return;
	}
	if (fate == FATE_CORRUPT)
		faults_corrupt(dev, faults, frame);
	else
		softrnic_wire_send(dev, frame);
	if (faults_again(dev, faults))
		softrnic_wire_send(dev, frame);
	if (late)
		faults_release(dev, faults);
}

/* The packet points at its sender's memory, which will have changed: the payload is copied. */
static void
faults_hold_roce(struct softrnic_faults *faults, const struct softrnic_roce_frame *frame)
{
	const struct roce_pkt *pkt = frame->pkt;
	uint32_t at = 0;

	for (uint32_t i = 0; i < pkt->count; at += (uint32_t)pkt->pieces[i++].iov_len)
		memcpy(faults->held + at, pkt->pieces[i].iov_base, pkt->pieces[i].iov_len);
	faults->roce = *frame;
	faults->roce_pkt = *pkt;
	faults->roce_piece = (struct iovec){ faults->held, at };
	faults->roce_head = *frame->head;
	faults->roce.head = &faults->roce_head;
	faults->roce.pkt = &faults->roce_pkt;
	faults->roce_pkt.pieces = &faults->roce_piece;
	faults->roce_pkt.count = at > 0;
	faults->held_bytes = frame->bytes;
	faults->held_roce = true;
}

void
softrnic_faults_send_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic_faults *faults = dev->faults;
	bool late = faults->held_bytes > 0;
	enum fate fate = faults_fate(dev, faults);
	struct softrnic_roce_frame first;

	if (fate == FATE_DROP)
		return;
	if (fate == FATE_HOLD) {
		faults_hold_roce(faults, frame);
		return;
	}
	first = *frame;
	first.corrupt = fate == FATE_CORRUPT;
	softrnic_roce_wire_send(dev, &first);
	if (faults_again(dev, faults))
		softrnic_roce_wire_send(dev, frame);
	if (late)
		faults_release(dev, faults);
}

unsigned int
softrnic_faults_poll(struct softrnic *dev)
{
	struct softrnic_faults *faults = dev->faults;

	if (faults->held_bytes == 0 || ++faults->held_polls < FAULT_HOLD_POLLS)
		return 0;
	/* Nothing else may have looked at the clock of late, and time never goes back for who receives. */
	dev->now = softrnic_now_ns() - dev->power_on_ns;
	faults_release(dev, faults);
	return 1;
}
