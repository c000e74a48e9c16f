/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues (PRM: "Completion Queues"): 64-byte CQEs, polled. */

#include <errno.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/eq.h"
#include "core/mem.h"
#include "core/uar.h"
#include "object/cq.h"
#include "object/ring.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/queue.h"
#include "prm/wqe.h"

static int
cq_create_command(struct rnic_dev *dev, const struct rnic_eq *eq, struct rnic_cq *cq)
{
	struct rnic_create_cq_in in = { 0 };
	struct rnic_cqc *cqc = rnic_create_cq_in_cqc(&in);

	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, cq->log_size);
	rnic_cqc_set(cqc, RNIC_CQC_UAR_PAGE, rnic_uars_cq_page(dev));
	rnic_cqc_set(cqc, RNIC_CQC_C_EQN, rnic_eq_number(eq));
	rnic_cqc_set(cqc, RNIC_CQC_DBR_ADDR, cq->memory.dbrec_iova);
	if (cq->compressed) {
		rnic_cqc_set(cqc, RNIC_CQC_CQE_COMP_EN, 1);
		rnic_cqc_set(cqc, RNIC_CQC_MINI_CQE_RES_FORMAT, RNIC_MINI_CQE_HASH);
	}
	return rnic_cmd_create(dev, RNIC_CMD_CREATE_CQ, &in, sizeof(in), &cq->memory.mem, &cq->cqn);
}

static int
cq_check_size(struct rnic_dev *dev, unsigned int log_size)
{
	const unsigned int max =
		(unsigned int)rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ);

	if (log_size > max) {
		RNIC_LOG(ERR, dev, "a CQ of 2^%u entries is too large; the device has at most 2^%u",
			 log_size, max);
		return -EINVAL;
	}
	return 0;
}

/* They are the device's. */
static void
cq_entries_init(struct rnic_cqe *entries, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		__atomic_store_n(&entries[i].op_own, RNIC_CQE_OP_OWN(RNIC_CQE_INVALID, 1),
				 __ATOMIC_RELAXED);
}

static void
cq_free(struct rnic_dev *dev, struct rnic_cq *cq)
{
	rnic_ring_free(dev, &cq->memory, cq->dbrec);
	*cq = (struct rnic_cq){ 0 };
}

static int
cq_create(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq, bool compressed,
	  struct rnic_cq *cq)
{
	void *dbrec;
	int rc = cq_check_size(dev, log_size);

	*cq = (struct rnic_cq){ .compressed = compressed };
	if (rc == 0)
		rc = rnic_ring_alloc(dev, "a completion queue", sizeof(struct rnic_cqe) << log_size,
				     RNIC_ACCESS_READ | RNIC_ACCESS_WRITE, &cq->memory, &dbrec);
	if (rc != 0)
		return rc;
	cq->ring = cq->memory.mem.address;
	cq->dbrec = dbrec;
	cq->log_size = (uint8_t)log_size;
	cq->mask = (1u << log_size) - 1;
	cq_entries_init(cq->ring, cq->mask + 1);
	rc = cq_create_command(dev, eq, cq);
	if (rc != 0)
		cq_free(dev, cq);
	return rc;
}

int
rnic_cq_create(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq,
	       struct rnic_cq *cq)
{
	return cq_create(dev, log_size, eq, false, cq);
}

int
rnic_cq_create_compressed(struct rnic_dev *dev, unsigned int log_size, const struct rnic_eq *eq,
			  struct rnic_cq *cq)
{
	return cq_create(dev, log_size, eq, true, cq);
}

int
rnic_cq_destroy(struct rnic_dev *dev, struct rnic_cq *cq)
{
	int rc;

	if (cq->ring == NULL)
		return 0;
	rc = rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_CQ, cq->cqn);
	/* What the device refuses to let go of loses its memory all the same: it is unmapped first. */
	cq_free(dev, cq);
	return rc;
}

/* What an entry that is ready counts for. */
static uint32_t
cq_completions(const struct rnic_cq *cq, const struct rnic_cqe *cqe)
{
	if (!cq->compressed || (cqe->op_own & RNIC_CQE_FORMAT) != RNIC_CQE_COMPRESSED)
		return 1;
	return RNIC_SWAP32(__atomic_load_n(&cqe->byte_count.raw, __ATOMIC_RELAXED));
}

uint32_t
rnic_cq_waiting(const struct rnic_cq *cq, uint32_t most)
{
	uint32_t count = cq->session, index, more;

	while (count < most) {
		index = cq->consumer + count;
		if (!rnic_cqe_ready(&cq->ring[index & cq->mask], index, cq->log_size))
			return count;
		more = cq_completions(cq, &cq->ring[index & cq->mask]);
		/* None, or more than the ring has: the device's mistake, which the burst finds. */
		if (more - 1 > cq->mask)
			return count;
		count += more;
	}
	return most;
}

void
rnic_cq_drop(struct rnic_cq *cq)
{
	/* A ring of entries at most: a device that always writes one more does not keep the caller here. */
	cq->consumer += rnic_cq_waiting(cq, cq->mask + 1);
	cq->session = 0;
	/* The device leaves slots behind a title unwritten: a later poll must not take their old contents for entries. */
	if (cq->compressed)
		cq_entries_init(cq->ring, cq->mask + 1);
	rnic_cq_dbrec_publish(cq->dbrec, cq->consumer);
}

/* ---- Another size (PRM: "Resize CQ") ---- */

/*
 * The entries of a CQ that wait in its ring, up to the one that says that the device has gone on in another: they take the
 * slots after theirs in that ring, since that one has a number, too.
 */
static void
cq_move(const struct rnic_cq *cq, struct rnic_cqe *to, uint8_t log_size)
{
	const uint32_t mask = (1u << log_size) - 1;
	uint32_t count, index;
	struct rnic_cqe *entry;
	uint8_t opcode;

	for (count = 0; count <= cq->mask && count < mask; count++) {
		const struct rnic_cqe *from = &cq->ring[(cq->consumer + count) & cq->mask];

		if (!rnic_cqe_ready(from, cq->consumer + count, cq->log_size))
			break;
		opcode = RNIC_CQE_OPCODE(from->op_own);
		if (opcode == RNIC_CQE_RESIZE)
			break;
		index = cq->consumer + count + 1;
		entry = &to[index & mask];
		*entry = *from;
		entry->op_own =
			(uint8_t)((from->op_own & ~RNIC_CQE_OWNER) | (index >> log_size & 1));
	}
}

static int
cq_resize_command(struct rnic_dev *dev, const struct rnic_cq *cq, const struct rnic_mem *mem,
		  unsigned int log_size)
{
	struct rnic_modify_cq_in in = { 0 };
	struct rnic_cqc *cqc = rnic_modify_cq_in_cqc(&in);

	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_CQN, cq->cqn);
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_RESIZE_CQ_RING);
	rnic_cqc_set(cqc, RNIC_CQC_CQE_SZ, RNIC_CQE_SIZE_64);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, log_size);
	return rnic_cmd_exec_pages(dev, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_RESIZE, &in, sizeof(in),
				   mem);
}

int
rnic_cq_resize(struct rnic_dev *dev, struct rnic_cq *cq, unsigned int log_size)
{
	struct rnic_mem mem;
	int rc;

	/* One slot is the device's, for the entry that ends the old ring. */
	if (rnic_cq_waiting(cq, cq->mask + 1) >= 1u << log_size)
		return -EINVAL;
	rc = cq_check_size(dev, log_size);
	if (rc == 0)
		rc = rnic_mem_alloc(dev, "a completion queue", sizeof(struct rnic_cqe) << log_size,
				    RNIC_PAGE_BYTES, RNIC_ACCESS_READ | RNIC_ACCESS_WRITE, &mem);
	if (rc != 0)
		return rc;
	cq_entries_init(mem.address, 1u << log_size);
	rc = cq_resize_command(dev, cq, &mem, log_size);
	if (rc != 0) {
		rnic_mem_free(dev, &mem);
		return rc;
	}
	cq_move(cq, mem.address, (uint8_t)log_size);
	rnic_mem_free(dev, &cq->memory.mem);
	cq->memory.mem = mem;
	cq->ring = mem.address;
	cq->log_size = (uint8_t)log_size;
	cq->mask = (1u << log_size) - 1;
	cq->consumer++;
	rnic_cq_dbrec_publish(cq->dbrec, cq->consumer);
	return 0;
}
