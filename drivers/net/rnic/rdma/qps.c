/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which queue pairs complete into a CQ: by number, for the poll. A table is filled while it is read; one that is too small
 * is replaced by a larger one, and stays until somebody removes a queue pair.
 *
 * Taking a queue pair out, or its entries, is for a CQ that is stopped: a thread that polls it is waited for, and finds nothing
 * meanwhile. So that a poll needs neither lock nor fence, who stops has all CPUs of the process fenced (membarrier(2)).
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "rdma/qps.h"
#include "rdma/rdma.h"

#define SLOTS_MIN 16

/* ---- Stopping ---- */

static bool fenced;

static long
sys_membarrier(int command)
{
	return syscall(__NR_membarrier, command, 0, 0);
}

static void
query_kernel(void)
{
	fenced = sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
}

bool
rnic_rdma_polls_fenced(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, query_kernel);
	return fenced;
}

/* What any thread has stored before its next instruction can be seen when this returns. */
static void
fence_all(void)
{
	const struct timespec nap = { .tv_nsec = 10000000 };

	if (rnic_rdma_polls_fenced() || sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return;
	/* It is forbidden since, or this is a child: no store stays in a CPU for as long as that. */
	nanosleep(&nap, NULL);
}

static void
cq_stop(struct rnic_rdma_cq *cq)
{
	pthread_mutex_lock(&cq->lock);
	atomic_store_explicit(&cq->stopped, 1, memory_order_seq_cst);
	fence_all();
	while (atomic_load_explicit(&cq->polling, memory_order_seq_cst) != 0)
		sched_yield();
}

static void
cq_go(struct rnic_rdma_cq *cq)
{
	/* Partner: the load-acquire of a poll that begins. */
	atomic_store_explicit(&cq->stopped, 0, memory_order_release);
	pthread_mutex_unlock(&cq->lock);
}

/* Two that stop the same two begin with the same one. */
void
rnic_rdma_cqs_stop(struct rnic_rdma_qp *qp)
{
	struct rnic_rdma_cq *first = (struct rnic_rdma_cq *)qp->qp.send_cq;
	struct rnic_rdma_cq *second = (struct rnic_rdma_cq *)qp->qp.recv_cq;

	if ((uintptr_t)second < (uintptr_t)first) {
		cq_stop(second);
		cq_stop(first);
	} else {
		cq_stop(first);
		if (second != first)
			cq_stop(second);
	}
}

void
rnic_rdma_cqs_go(struct rnic_rdma_qp *qp)
{
	cq_go((struct rnic_rdma_cq *)qp->qp.send_cq);
	if (qp->qp.recv_cq != qp->qp.send_cq)
		cq_go((struct rnic_rdma_cq *)qp->qp.recv_cq);
}

/* ---- The table ---- */

/* What a CQ met last before it has met anything: no entry bears its number. */
static struct rnic_rdma_qp nobody = { .qp = { .qp_num = UINT32_MAX } };

static void
meet_nobody(struct rnic_rdma_cq *cq)
{
	cq->last = &nobody;
	cq->last_sends = cq->last_receives = RNIC_RDMA_NO_KIND;
}

static struct rnic_rdma_qps *
new_table(uint32_t slots)
{
	struct rnic_rdma_qps *table = calloc(1, sizeof(*table) + slots * sizeof(table->slots[0]));

	if (table != NULL)
		table->mask = slots - 1;
	return table;
}

static void
table_put(struct rnic_rdma_qps *table, struct rnic_rdma_qp *qp)
{
	uint32_t i = qp->qp.qp_num & table->mask;

	while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != NULL)
		i = (i + 1) & table->mask;
	table->count++;
	/* Partner: the load-acquire in rnic_rdma_qps_find(). */
	atomic_store_explicit(&table->slots[i], qp, memory_order_release);
}

struct rnic_rdma_qp *
rnic_rdma_qps_find(const struct rnic_rdma_cq *cq, uint32_t qp_num)
{
	/* Partner: the store-release in rnic_rdma_qps_add(). */
	const struct rnic_rdma_qps *table = atomic_load_explicit(&cq->qps, memory_order_acquire);
	uint32_t i = qp_num & table->mask;
	struct rnic_rdma_qp *qp;

	/* At most half of the slots are in use. */
	while ((qp = atomic_load_explicit(&table->slots[i], memory_order_acquire)) != NULL &&
	       qp->qp.qp_num != qp_num)
		i = (i + 1) & table->mask;
	return qp;
}

int
rnic_rdma_qps_init(struct rnic_rdma_cq *cq)
{
	struct rnic_rdma_qps *table = new_table(SLOTS_MIN);

	if (table == NULL)
		return -ENOMEM;
	pthread_mutex_init(&cq->lock, NULL);
	atomic_store(&cq->qps, table);
	meet_nobody(cq);
	return 0;
}

static void
free_tables(struct rnic_rdma_qps *table)
{
	struct rnic_rdma_qps *older;

	for (; table != NULL; table = older) {
		older = table->older;
		free(table);
	}
}

void
rnic_rdma_qps_fini(struct rnic_rdma_cq *cq)
{
	free_tables(atomic_load(&cq->qps));
	atomic_store(&cq->qps, NULL);
	pthread_mutex_destroy(&cq->lock);
}

/* Called with the lock held: a larger table, with the old ones behind it. */
static int
cq_grow(struct rnic_rdma_cq *cq, uint32_t slots)
{
	struct rnic_rdma_qps *table = atomic_load(&cq->qps), *fresh = new_table(slots);
	struct rnic_rdma_qp *qp;
	uint32_t i;

	if (fresh == NULL)
		return -ENOMEM;
	for (i = 0; i <= table->mask; i++) {
		qp = atomic_load(&table->slots[i]);
		if (qp != NULL)
			table_put(fresh, qp);
	}
	fresh->older = table;
	atomic_store_explicit(&cq->qps, fresh, memory_order_release);
	return 0;
}

int
rnic_rdma_qps_add(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp)
{
	struct rnic_rdma_qps *table;
	struct rnic_rdma_qp *known;
	int rc = 0;

	pthread_mutex_lock(&cq->lock);
	known = rnic_rdma_qps_find(cq, qp->qp.qp_num);
	table = atomic_load(&cq->qps);
	if (known != NULL) /* both queues may complete into the same CQ */
		rc = known == qp ? 0 : -EEXIST;
	else if (2 * (table->count + 1) > table->mask + 1)
		rc = cq_grow(cq, 2 * (table->mask + 1));
	if (known == NULL && rc == 0)
		table_put(atomic_load(&cq->qps), qp);
	pthread_mutex_unlock(&cq->lock);
	return rc;
}

/* Take a slot out of its run, so that those behind it are still found. */
static void
take_out(struct rnic_rdma_qps *table, uint32_t hole)
{
	uint32_t i = hole, home;
	struct rnic_rdma_qp *qp;

	for (;;) {
		i = (i + 1) & table->mask;
		qp = atomic_load(&table->slots[i]);
		if (qp == NULL)
			break;
		home = qp->qp.qp_num & table->mask;
		/* It may stay only where its way from home does not lead over the hole. */
		if (((i - home) & table->mask) < ((i - hole) & table->mask))
			continue;
		atomic_store(&table->slots[hole], qp);
		hole = i;
	}
	atomic_store(&table->slots[hole], NULL);
	table->count--;
}

void
rnic_rdma_qps_remove(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp)
{
	struct rnic_rdma_qps *table = atomic_load(&cq->qps);
	uint32_t i;

	for (i = qp->qp.qp_num & table->mask; atomic_load(&table->slots[i]) != NULL;
	     i = (i + 1) & table->mask) {
		if (atomic_load(&table->slots[i]) != qp)
			continue;
		take_out(table, i);
		break;
	}
	free_tables(table->older);
	table->older = NULL;
	if (cq->last == qp)
		meet_nobody(cq);
}
