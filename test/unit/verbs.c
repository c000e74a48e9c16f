/* SPDX-License-Identifier: BSD-3-Clause */

#include "verbs.h"

#include <string.h>

#include "core/doorbell.h"
#include "object/mkey.h"
#include "prm/wqe.h"

void
unit_verbs_open(struct unit_verbs *verbs)
{
	void *dev;

	assert_int_equal(unit_open(&dev), 0);
	*verbs = (struct unit_verbs){ .dev = dev };
	verbs->objects = unit_objects(verbs->dev);
	verbs->maps = verbs->dev->access->maps;
	verbs->keys = rnic_mkeys_count(verbs->dev);
	assert_int_equal(rdmapmd_device_open(verbs->dev->device, &verbs->context), 0);
	assert_int_equal(rdmapmd_pd_alloc(verbs->context, &verbs->pd), 0);
}

void
unit_verbs_close(struct unit_verbs *verbs)
{
	void *dev = verbs->dev;

	assert_int_equal(rdmapmd_context_close(verbs->context), 0);
	assert_int_equal(unit_objects(verbs->dev), verbs->objects);
	assert_int_equal(verbs->dev->access->maps, verbs->maps);
	assert_int_equal(rnic_mkeys_count(verbs->dev), verbs->keys);
	assert_int_equal(unit_close(&dev), 0);
}

int
unit_verbs_setup(void **state)
{
	static struct unit_verbs verbs;

	unit_verbs_open(&verbs);
	*state = &verbs;
	return 0;
}

int
unit_verbs_teardown(void **state)
{
	unit_verbs_close(*state);
	return 0;
}

void
unit_verbs_close_lost(struct unit_verbs *verbs)
{
	void *dev = verbs->dev;

	rdmapmd_context_close(verbs->context);
	assert_int_equal(unit_close(&dev), 0);
}

void
unit_post_nop(struct rnic_sq *sq)
{
	struct rnic_wqe_ctrl *ctrl =
		(struct rnic_wqe_ctrl *)(sq->ring +
					 (size_t)(sq->producer & sq->mask) * RNIC_WQEBB_BYTES);

	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode =
			rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, sq->producer, RNIC_WQE_NOP)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq->sqn, 1)),
		.fm_ce_se = RNIC_WQE_CE_ALWAYS,
	};
	sq->producer++;
	rnic_sq_dbrec_publish(sq->dbrec, sq->producer);
	rnic_doorbell_ring(sq->bf, ctrl);
}

void
unit_receivers_create(struct rnic_dev *dev, struct unit_receivers *receivers)
{
	unsigned int i;

	memset(receivers, 0, sizeof(*receivers));
	for (i = 0; i < UNIT_RECEIVERS; i++) {
		assert_int_equal(rnic_cq_create(dev, 6, dev->async_eq, &receivers->cq[i]), 0);
		assert_int_equal(rnic_rq_create(dev, 6, 4, &receivers->cq[i], &receivers->rq[i]),
				 0);
		receivers->rqns[i] = receivers->rq[i].rqn;
	}
	for (i = 0; i < RNIC_RETA_SIZE; i++)
		receivers->rss.reta[i] = i % UNIT_RECEIVERS;
	memset(receivers->rss.hash, RNIC_HASH_PORTS, RNIC_TRAFFIC_OTHER);
	memset(receivers->rss.key, 0x5a, sizeof(receivers->rss.key));
}

void
unit_receivers_destroy(struct rnic_dev *dev, struct unit_receivers *receivers)
{
	unsigned int i;

	for (i = 0; i < UNIT_RECEIVERS; i++) {
		assert_int_equal(rnic_rq_destroy(dev, &receivers->rq[i]), 0);
		assert_int_equal(rnic_cq_destroy(dev, &receivers->cq[i]), 0);
	}
}
