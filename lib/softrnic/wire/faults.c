/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A bad cable: frames get lost, doubled, swapped with the next one, or damaged, each with a chance in parts per
 * million. The seed of the device decides: the same seed and frames meet the same fate. RoCE packets fare as Ethernet
 * frames do, whether they go as bytes or not; damaged, they fail their ICRC. Before that, rules have their say about RoCE
 * packets; behind it, what is sent may be on its way for a time (delay.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/random.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/delay.h"
#include "softrnic/wire/faults.h"
#include "softrnic/wire/held.h"
#include "softrnic/wire/kept.h"
#include "softrnic/wire/roce.h"
#include "softrnic/wire/rules.h"
#include "softrnic/wire/send.h"

#define FAULT_MILLION 1000000

#define FAULT_HOLD_POLLS 64 /* then the frame goes on without being overtaken */

static bool
faults_strike(struct softrnic_faults *faults, uint32_t ppm)
{
	return ppm > 0 && softrnic_splitmix64(&faults->random) % FAULT_MILLION < ppm;
}

/* Is there any fault at all? -EINVAL: one of them is none, which is logged. */
static int
faults_wanted(const struct softrnic *dev)
{
	const struct softrnic_conf *conf = &dev->conf;

	if (conf->drop_ppm > FAULT_MILLION || conf->dup_ppm > FAULT_MILLION ||
	    conf->reorder_ppm > FAULT_MILLION || conf->corrupt_ppm > FAULT_MILLION) {
		SOFTRNIC_LOG(ERR, dev, "faults are parts per million: at most %d", FAULT_MILLION);
		return -EINVAL;
	}
	if (conf->delay_us > SOFTRNIC_DELAY_US_MAX) {
		SOFTRNIC_LOG(ERR, dev, "a delay of %u microseconds: at most %d", conf->delay_us,
			     SOFTRNIC_DELAY_US_MAX);
		return -EINVAL;
	}
	if (conf->rules != NULL && !softrnic_rules_valid(conf->rules)) {
		SOFTRNIC_LOG(ERR, dev, "rule=%s: expected %s", conf->rules,
			     softrnic_rules_wanted());
		return -EINVAL;
	}
	return conf->drop_ppm != 0 || conf->dup_ppm != 0 || conf->reorder_ppm != 0 ||
	       conf->corrupt_ppm != 0 || conf->delay_us != 0 || conf->rules != NULL;
}

int
softrnic_faults_init(struct softrnic *dev)
{
	const struct softrnic_conf *conf = &dev->conf;
	struct softrnic_faults *faults;
	int rc;

	dev->faults = NULL;
	rc = faults_wanted(dev);
	if (rc <= 0)
		return rc;
	faults = calloc(1, sizeof(*faults));
	if (faults == NULL)
		return -ENOMEM;
	if (softrnic_delay_init(&faults->delay, conf->delay_us) != 0) {
		free(faults);
		return -ENOMEM;
	}
	faults->rule_count = (uint32_t)softrnic_rules_parse(conf->rules, faults->rules);
	faults->random = faults->place = conf->seed != 0 ? conf->seed : softrnic_random(dev);
	dev->faults = faults;
	softrnic_eth_changed(dev);
	return 0;
}

void
softrnic_faults_fini(struct softrnic *dev)
{
	softrnic_faults_link_down(dev);
	if (dev->faults != NULL)
		softrnic_delay_fini(&dev->faults->delay);
	free(dev->faults);
	dev->faults = NULL;
	softrnic_eth_changed(dev);
}

/* ---- Onto the cable, however long it is ---- */

static void
faults_put(struct softrnic *dev, const struct softrnic_frame *frame)
{
	if (softrnic_delay_is_on(&dev->faults->delay))
		softrnic_delay_put(dev, frame);
	else
		softrnic_wire_send(dev, frame);
}

static void
faults_put_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	if (softrnic_delay_is_on(&dev->faults->delay))
		softrnic_delay_put_roce(dev, frame);
	else
		softrnic_roce_wire_send(dev, frame);
}

static void
faults_release(struct softrnic *dev, struct softrnic_faults *faults)
{
	struct softrnic_frame frame = { .length = faults->kept.bytes, .count = 1 };

	faults->holds = false;
	softrnic_kept_refresh(dev, &faults->kept);
	if (!softrnic_delay_is_on(&faults->delay)) {
		softrnic_kept_send(dev, &faults->kept);
	} else if (faults->kept.is_roce) {
		softrnic_delay_put_roce(dev, &faults->kept.roce);
	} else {
		frame.pieces[0].iov_base = faults->held;
		frame.pieces[0].iov_len = faults->kept.bytes;
		softrnic_delay_put(dev, &frame);
	}
}

/* One bit flips; the copy is sent. */
static void
faults_flip(struct softrnic *dev, const struct softrnic_frame *frame, uint64_t bit)
{
	struct softrnic_faults *faults = dev->faults;
	struct softrnic_frame copy = { .length = frame->length, .count = 1 };

	softrnic_frame_gather(frame, faults->damaged, frame->length);
	faults->damaged[bit / 8] ^= (uint8_t)(1u << bit % 8);
	copy.pieces[0].iov_base = faults->damaged;
	copy.pieces[0].iov_len = frame->length;
	faults_put(dev, &copy);
}

static void
faults_corrupt(struct softrnic *dev, struct softrnic_faults *faults,
	       const struct softrnic_frame *frame)
{
	faults_flip(dev, frame,
		    softrnic_splitmix64(&faults->random) % (frame->length * UINT64_C(8)));
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
	if (!faults->holds && faults_strike(faults, conf->reorder_ppm)) {
		faults->holds = true;
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
	bool late = faults->holds;
	enum fate fate = faults_fate(dev, faults);

	if (fate == FATE_DROP)
		return;
	if (fate == FATE_HOLD) {
		softrnic_kept_take(&faults->kept, frame, faults->held);
		return;
	}
	if (fate == FATE_CORRUPT)
		faults_corrupt(dev, faults, frame);
	else
		faults_put(dev, frame);
	if (faults_again(dev, faults))
		faults_put(dev, frame);
	if (late)
		faults_release(dev, faults);
}

/*
 * What a rule does to a packet; true: that was all. A bit that it names may be any of the frame, also one that no ICRC covers:
 * what follows from it is seen where it arrives, so it goes as bytes.
 */
static bool
faults_rule(struct softrnic *dev, struct softrnic_roce_frame *frame)
{
	const struct softrnic_rule *rule = softrnic_rules_meet(dev->faults, frame);
	struct softrnic_frame bytes;

	if (rule == NULL)
		return false;
	if (!rule->corrupt) {
		dev->stats.wire_dropped++;
		return true;
	}
	dev->stats.wire_corrupted++;
	if (softrnic_rule_has_bit(rule)) {
		softrnic_roce_bytes(dev, frame, &bytes);
		faults_flip(dev, &bytes, rule->bit);
	} else {
		frame->corrupt = true;
		faults_put_roce(dev, frame);
	}
	return true;
}

void
softrnic_faults_send_roce(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic_faults *faults = dev->faults;
	struct softrnic_roce_frame first = *frame;
	bool late = faults->holds;
	enum fate fate;

	if (faults->rule_count > 0 && faults_rule(dev, &first))
		return;
	fate = faults_fate(dev, faults);
	if (fate == FATE_DROP)
		return;
	if (fate == FATE_HOLD) {
		softrnic_kept_take_roce(dev, &faults->kept, frame, faults->held);
		return;
	}
	first.corrupt = fate == FATE_CORRUPT;
	faults_put_roce(dev, &first);
	if (faults_again(dev, faults))
		faults_put_roce(dev, frame);
	if (late)
		faults_release(dev, faults);
}

unsigned int
softrnic_faults_poll(struct softrnic *dev)
{
	struct softrnic_faults *faults = dev->faults;
	unsigned int done = softrnic_delay_poll(dev);

	if (!faults->holds || ++faults->held_polls < FAULT_HOLD_POLLS || dev->wire_busy)
		return done;
	/* Nothing else may have looked at the clock of late, and time never goes back for who receives. */
	dev->now = softrnic_now_ns() - dev->power_on_ns;
	faults_release(dev, faults);
	return done + 1;
}
