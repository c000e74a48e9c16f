/* SPDX-License-Identifier: BSD-3-Clause */

/* What tests of the control plane begin and end with: one device, under a driver of the harness. */
#ifndef TEST_DEVICE_CTL_FIXTURE_H
#define TEST_DEVICE_CTL_FIXTURE_H

#include "harness.h"

/* For cmocka, whose state is the struct hn: a device after power-on, or brought up. */
int ctl_setup(void **state);
int ctl_setup_ready(void **state);
int ctl_teardown(void **state);

/* A queue for events of this one type, with a UAR page of its own. */
void ctl_event_queue(struct hn *hn, struct hn_eq *eq, enum rnic_event type);
void ctl_poll(struct hn *hn, unsigned int polls);
struct softrnic_stats ctl_stats(struct hn *hn);

#endif
