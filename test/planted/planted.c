/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two errors made on purpose, to prove that the sanitizer builds see what they are there for:
 *
 *   planted overrun   a store right behind the end of a queue's ring (hugepage memory, which has no red zones by itself)
 *   planted race      a WQE rewritten after it was handed to the device thread
 *
 * planted.py expects this program to be ended by the sanitizer. `planted none` does the same without the error.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_memory.h>

#include "bringup.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "object/cq.h"
#include "object/sq.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

static struct rnic_cq cq;
static struct rnic_sq sq;

static void
overrun(void)
{
	volatile uint8_t *end = (volatile uint8_t *)&cq.ring[cq.mask + 1];

	*end = 0xff;
}

/* A NOP that asks for a completion, handed over as the driver does it. */
static struct rnic_wqe_ctrl *
post_nop(void)
{
	struct rnic_wqe_ctrl *ctrl =
		(struct rnic_wqe_ctrl *)(sq.ring +
					 (size_t)(sq.producer & sq.mask) * RNIC_WQEBB_BYTES);

	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode =
			rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, sq.producer, RNIC_WQE_NOP)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq.sqn, 1)),
		.fm_ce_se = RNIC_WQE_CE_ALWAYS,
	};
	sq.producer++;
	rnic_sq_dbrec_publish(sq.dbrec, sq.producer);
	rnic_doorbell_ring(sq.bf, ctrl);
	return ctrl;
}

static void
race(void)
{
	struct rnic_wqe_ctrl *ctrl = post_nop();

	usleep(20000); /* orders nothing, but the device has read the WQE by now */
	ctrl->immediate = rnic_cpu_to_be32(1);
}

static bool
wait_completion(void)
{
	int i;

	for (i = 0; i < 5000; i++) {
		if (rnic_cqe_ready(&cq.ring[cq.consumer & cq.mask], cq.consumer, cq.log_size))
			return true;
		usleep(1000);
	}
	fprintf(stderr, "no completion\n");
	return false;
}

int
main(int argc, char **argv)
{
	/* EAL wants its arguments writable. */
	char options[][24] = { "planted",	  "--no-huge",	    "-m64",
			       "--no-pci",	  "--no-telemetry", "--no-shconf",
			       "--lcores=0@(0-1)" };
	char *eal[RTE_DIM(options) + 1] = { NULL };
	size_t i;
	const char *what = argc == 2 ? argv[1] : "";
	struct rnic_dev *dev;
	bool good = true;

	for (i = 0; i < RTE_DIM(options); i++)
		eal[i] = options[i];
	if (rte_eal_init(RTE_DIM(options), eal) < 0 ||
	    rnic_dev_open("planted0", "wire=loop", SOCKET_ID_ANY, &dev) != 0)
		return 1;
	if (rnic_cq_create(dev, 6, dev->async_eq, &cq) != 0 ||
	    rnic_sq_create(dev, 6, &cq, &sq) != 0)
		return 1;
	if (strcmp(what, "overrun") == 0) {
		overrun();
	} else if (strcmp(what, "race") == 0) {
		race();
	} else {
		post_nop();
		good = wait_completion();
	}
	rnic_sq_destroy(dev, &sq);
	rnic_cq_destroy(dev, &cq);
	rnic_dev_close(dev);
	rte_eal_cleanup();
	return good ? 0 : 1;
}
