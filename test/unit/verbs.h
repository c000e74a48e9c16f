/* SPDX-License-Identifier: BSD-3-Clause */

/* The embedded device as the library opens it, and the queues of the driver below. */
#ifndef UNIT_VERBS_H
#define UNIT_VERBS_H

#include "unit.h"

#include "object/cq.h"
#include "object/rq.h"
#include "object/sq.h"
#include "rdmapmd.h"
#include "steering/tirs.h"

/* An open device, a context on it, a PD of that. */
struct unit_verbs {
	struct rnic_dev *dev;
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	uint32_t objects, maps, keys; /* that there were before the context */
};
void unit_verbs_open(struct unit_verbs *verbs);
/* All of the context goes, and all that its objects had was given back. */
void unit_verbs_close(struct unit_verbs *verbs);
/* The same for a test's setup and teardown, in *state. */
#define UNIT_VERBS_TEST(name) \
	cmocka_unit_test_setup_teardown(name, unit_verbs_setup, unit_verbs_teardown)
int unit_verbs_setup(void **state);
int unit_verbs_teardown(void **state);
/* Of a device that is lost: nothing can be given back to it. */
void unit_verbs_close_lost(struct unit_verbs *verbs);

/* A NOP that completes into the queue's CQ: for RDMA an entry of nobody's, but an entry. */
void unit_post_nop(struct rnic_sq *sq);

/* Receive queues, each with a CQ of its own, and how frames are spread over them: by ports, in turn. */
#define UNIT_RECEIVERS 2
struct unit_receivers {
	struct rnic_cq cq[UNIT_RECEIVERS];
	struct rnic_rq rq[UNIT_RECEIVERS];
	uint32_t rqns[UNIT_RECEIVERS];
	struct rnic_rss rss;
};
void unit_receivers_create(struct rnic_dev *dev, struct unit_receivers *receivers);
void unit_receivers_destroy(struct rnic_dev *dev, struct unit_receivers *receivers);

#endif
