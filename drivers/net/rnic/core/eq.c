/* SPDX-License-Identifier: BSD-3-Clause */

/* Event queues (PRM: "Event Queues"): rings that a thread walks, and what becomes of one that takes no more events. */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/eq.h"
#include "core/mem.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/queue.h"
#include "prm/uar.h"

#define DEAD_MAX 8 /* of one queue: a device that has lost so many loses the next one, too */

struct rnic_eq {
	rnic_eq_handler *handler;
	struct rnic_mem mem;
	struct rnic_eqe *ring;
	uint32_t consumer; /* free running; atomic for a thread that only looks */
	uint32_t foreseen; /* so many from there on were looked through for page requests */
	uint32_t mask;
	uint8_t log_size;
	uint8_t vector;
	uint64_t events;	  /* that come here by nature */
	_Atomic uint32_t eqn;	  /* changes when the queue is replaced */
	atomic_ullong suspect_us; /* since when an event of it is awaited; 0: none is */
	uint32_t seen;		  /* consumer, when the control thread looked last */
	/* Queues that took no more events, and that CQs still name: they go with this one. */
	struct rnic_eq *dead;
	unsigned int dead_count;
};

static void
eq_doorbell(struct rnic_dev *dev, struct rnic_eq *eq, uint32_t which)
{
	/* The page that EQs ring is not for mapped writes: its registers have no record in memory. */
	dev->access->ops->write32(dev->access, (uint64_t)dev->eq_uar * RNIC_UAR_PAGE_BYTES + which,
				  rnic_cpu_to_be32(RNIC_EQ_DOORBELL(eq->eqn, eq->consumer)));
}

static bool
eqe_waits(const struct rnic_eq *eq, uint32_t consumer)
{
	return rnic_eqe_ready(&eq->ring[consumer & eq->mask], consumer, eq->log_size);
}

unsigned int
rnic_eq_poll(struct rnic_dev *dev, struct rnic_eq *eq)
{
	unsigned int count = 0;

	/* At most a ring of them: a device that always writes one more does not keep the thread here. */
	while (count <= eq->mask) {
		const struct rnic_eqe *slot = &eq->ring[eq->consumer & eq->mask];
		struct rnic_eqe eqe;

		if (!eqe_waits(eq, eq->consumer))
			break;
		/* Copied once: a device that still writes there must not change what has been looked at. */
		eqe = *slot;
		rte_compiler_barrier();
		/* Those that were foreseen were noted then. */
		if (eq->foreseen == 0 || eqe.type != RNIC_EVENT_PAGE_REQUEST)
			eq->handler(dev, &eqe);
		eq->consumer++;
		if (eq->foreseen > 0)
			eq->foreseen--;
		/* Long before the device takes the ring for full. */
		if (++count % ((eq->mask + 1) / 4) == 0)
			eq_doorbell(dev, eq, RNIC_UAR_EQ_UPDATE);
	}
	/* A queue that tells of something is alive. */
	if (count > 0)
		rnic_eq_trust(eq);
	/* Arming with an entry already there raises the interrupt at once: nothing is missed. */
	rnic_eq_arm(dev, eq);
	return count;
}

void
rnic_eq_foresee(struct rnic_dev *dev, struct rnic_eq *eq)
{
	for (; eq->foreseen <= eq->mask; eq->foreseen++) {
		const uint32_t index = eq->consumer + eq->foreseen;
		struct rnic_eqe eqe;

		if (!eqe_waits(eq, index))
			break;
		/* Copied once, as in the walk. */
		eqe = eq->ring[index & eq->mask];
		rte_compiler_barrier();
		if (eqe.type == RNIC_EVENT_PAGE_REQUEST)
			eq->handler(dev, &eqe);
	}
}

unsigned int
rnic_eq_take_completions(struct rnic_dev *dev, struct rnic_eq *eq)
{
	const uint32_t end = eq->consumer + eq->mask + 1;
	uint32_t consumer = eq->consumer;
	unsigned int count = 0;

	for (; consumer != end && eqe_waits(eq, consumer); consumer++)
		count += eq->ring[consumer & eq->mask].type == RNIC_EVENT_COMPLETION;
	__atomic_store_n(&eq->consumer, consumer, __ATOMIC_RELAXED);
	rnic_eq_arm(dev, eq);
	return count;
}

void
rnic_eq_arm(struct rnic_dev *dev, struct rnic_eq *eq)
{
	eq_doorbell(dev, eq, RNIC_UAR_EQ_ARM);
}

uint32_t
rnic_eq_number(const struct rnic_eq *eq)
{
	return atomic_load_explicit(&eq->eqn, memory_order_relaxed);
}

static int
eq_create_command(struct rnic_dev *dev, struct rnic_eq *eq, bool *refused)
{
	struct rnic_create_eq_in in = { 0 };
	struct rnic_eqc *eqc = rnic_create_eq_in_eqc(&in);
	uint32_t number = 0;
	int rc;

	rnic_eqc_set(eqc, RNIC_EQC_LOG_EQ_SIZE, eq->log_size);
	rnic_eqc_set(eqc, RNIC_EQC_UAR_PAGE, dev->eq_uar);
	rnic_eqc_set(eqc, RNIC_EQC_INTR, eq->vector);
	rnic_create_eq_in_set(&in, RNIC_CREATE_EQ_IN_EVENT_BITMASK_0, eq->events);
	if (refused == NULL)
		rc = rnic_cmd_create(dev, RNIC_CMD_CREATE_EQ, &in, sizeof(in), &eq->mem, &number);
	else
		rc = rnic_cmd_try_create(dev, RNIC_CMD_CREATE_EQ, &in, sizeof(in), &eq->mem,
					 &number);
	if (refused != NULL)
		*refused = rnic_cmd_refused(rc);
	eq->eqn = number & 0xff;
	return rc;
}

static int
eq_create(struct rnic_dev *dev, unsigned int log_size, uint64_t events, unsigned int vector,
	  rnic_eq_handler *handler, bool *refused, struct rnic_eq **result)
{
	struct rnic_eq *eq = calloc(1, sizeof(*eq));
	uint32_t i;
	int rc;

	if (eq == NULL)
		return -ENOMEM;
	eq->log_size = (uint8_t)log_size;
	eq->mask = (1u << log_size) - 1;
	eq->vector = (uint8_t)vector;
	eq->events = events;
	eq->handler = handler;
	rc = rnic_mem_alloc(dev, "an event queue", sizeof(struct rnic_eqe) << log_size,
			    RNIC_PAGE_BYTES, RNIC_ACCESS_READ | RNIC_ACCESS_WRITE, &eq->mem);
	if (rc != 0) {
		free(eq);
		return rc;
	}
	eq->ring = eq->mem.address;
	/* The device's first pass writes owner 0. */
	for (i = 0; i <= eq->mask; i++)
		eq->ring[i].owner = 1;
	rc = eq_create_command(dev, eq, refused);
	if (rc != 0) {
		rnic_mem_free(dev, &eq->mem);
		free(eq);
		return rc;
	}
	*result = eq;
	return 0;
}

int
rnic_eq_create(struct rnic_dev *dev, unsigned int log_size, uint64_t events, unsigned int vector,
	       rnic_eq_handler *handler, struct rnic_eq **eq)
{
	return eq_create(dev, log_size, events, vector, handler, NULL, eq);
}

int
rnic_eq_try(struct rnic_dev *dev, unsigned int log_size, uint64_t events, unsigned int vector,
	    rnic_eq_handler *handler, bool *refused, struct rnic_eq **eq)
{
	*refused = false;
	return eq_create(dev, log_size, events, vector, handler, refused, eq);
}

void
rnic_eq_destroy(struct rnic_dev *dev, struct rnic_eq *eq)
{
	struct rnic_eq *dead;

	for (; eq != NULL; eq = dead) {
		dead = eq->dead;
		rnic_cmd_destroy(dev, RNIC_CMD_DESTROY_EQ, eq->eqn);
		rnic_mem_free(dev, &eq->mem);
		free(eq);
	}
}

/* ---- One that takes no more events ---- */

void
rnic_eq_suspect(struct rnic_eq *eq)
{
	unsigned long long none = 0;

	atomic_compare_exchange_strong(&eq->suspect_us, &none, rnic_now_us());
}

void
rnic_eq_trust(struct rnic_eq *eq)
{
	atomic_store(&eq->suspect_us, 0);
}

void
rnic_eq_owes(struct rnic_eq *eq, bool owes)
{
	const uint32_t consumer = __atomic_load_n(&eq->consumer, __ATOMIC_RELAXED);

	if (owes && consumer == eq->seen && !eqe_waits(eq, consumer))
		rnic_eq_suspect(eq);
	else
		rnic_eq_trust(eq);
	eq->seen = consumer;
}

bool
rnic_eq_silent(const struct rnic_dev *dev, const struct rnic_eq *eq)
{
	const uint64_t since = atomic_load(&eq->suspect_us);

	return since != 0 && since + (uint64_t)dev->tunables.silence_ms * 1000 <= rnic_now_us();
}

bool
rnic_eq_failed(struct rnic_dev *dev, uint32_t eqn)
{
	struct rnic_query_eq_out out;

	return rnic_cmd_try_query(dev, RNIC_CMD_QUERY_EQ, eqn, &out, sizeof(out)) == 0 &&
	       rnic_eqc_get(rnic_query_eq_out_eqc(&out), RNIC_EQC_STATUS) != 0;
}

/* Both stay where they are: others know them by their addresses. */
static void
exchange_queues(struct rnic_eq *a, struct rnic_eq *b)
{
	const struct rnic_mem mem = a->mem;
	const uint32_t consumer = a->consumer, foreseen = a->foreseen, eqn = a->eqn;

	a->mem = b->mem;
	a->ring = b->ring;
	a->consumer = b->consumer;
	a->foreseen = b->foreseen;
	atomic_store_explicit(&a->eqn, b->eqn, memory_order_relaxed);
	b->mem = mem;
	b->ring = mem.address;
	b->consumer = consumer;
	b->foreseen = foreseen;
	b->eqn = eqn;
}

/* The queue that has failed, or what is left of it. */
static void
eq_bury(struct rnic_dev *dev, struct rnic_eq *eq, struct rnic_eq *failed)
{
	struct rnic_object_in in = { 0 };

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, failed->eqn);
	if (rnic_cmd_try_in(dev, RNIC_CMD_DESTROY_EQ, 0, &in, sizeof(in)) == 0) {
		rnic_mem_free(dev, &failed->mem);
		free(failed);
	} else {
		failed->dead = eq->dead;
		eq->dead = failed;
		eq->dead_count++;
	}
}

int
rnic_eq_remake(struct rnic_dev *dev, struct rnic_eq *eq)
{
	struct rnic_eq *other;
	int rc;

	if (eq->dead_count == DEAD_MAX)
		return -ENOSPC;
	rc = rnic_eq_create(dev, eq->log_size, eq->events, eq->vector, eq->handler, &other);
	if (rc != 0)
		return rc;
	exchange_queues(eq, other);
	eq_bury(dev, eq, other);
	rnic_eq_arm(dev, eq);
	return 0;
}
