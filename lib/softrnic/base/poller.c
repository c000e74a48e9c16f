/* SPDX-License-Identifier: BSD-3-Clause */

/* A poller: its lock and its list of devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/poller.h"
#include "softrnic/base/tunables.h"

int
softrnic_poller_create(struct softrnic_poller **out)
{
	struct softrnic_poller *poller = calloc(1, sizeof(*poller));
	int rc;

	if (poller == NULL)
		return -ENOMEM;
	rc = pthread_mutex_init(&poller->lock, NULL);
	if (rc != 0) {
		free(poller);
		return -rc;
	}
	TAILQ_INIT(&poller->devices);
	poller->budget.entries = poller->budget.ranges = softrnic_tunables.entries;
	*out = poller;
	return 0;
}

struct softrnic_budget *
softrnic_poller_budget(struct softrnic_poller *poller)
{
	return &poller->budget;
}

int
softrnic_poller_destroy(struct softrnic_poller *poller)
{
	bool busy;

	if (poller == NULL)
		return 0;
	softrnic_lock(poller);
	busy = !TAILQ_EMPTY(&poller->devices);
	softrnic_unlock(poller);
	if (busy)
		return -EBUSY;
	pthread_mutex_destroy(&poller->lock);
	free(poller);
	return 0;
}

void
softrnic_lock(struct softrnic_poller *poller)
{
	atomic_fetch_add_explicit(&poller->waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&poller->lock);
	atomic_fetch_sub_explicit(&poller->waiting, 1, memory_order_relaxed);
}

void
softrnic_unlock(struct softrnic_poller *poller)
{
	void (*wake)(void *arg) = poller->wake;
	void *arg = poller->wake_arg;

	pthread_mutex_unlock(&poller->lock);
	if (wake != NULL)
		wake(arg);
}

void
softrnic_poller_set_wake(struct softrnic_poller *poller, void (*wake)(void *arg), void *arg)
{
	pthread_mutex_lock(&poller->lock);
	poller->wake = wake;
	poller->wake_arg = arg;
	pthread_mutex_unlock(&poller->lock);
}

int
softrnic_poller_add(struct softrnic_poller *poller, struct softrnic *dev)
{
	struct softrnic *other;

	TAILQ_FOREACH(other, &poller->devices, link) {
		if (strcmp(other->name, dev->name) == 0)
			return -EEXIST;
	}
	dev->poller = poller;
	TAILQ_INSERT_TAIL(&poller->devices, dev, link);
	return 0;
}

void
softrnic_poller_remove(struct softrnic_poller *poller, struct softrnic *dev)
{
	TAILQ_REMOVE(&poller->devices, dev, link);
}

struct softrnic *
softrnic_poller_first(struct softrnic_poller *poller)
{
	return TAILQ_FIRST(&poller->devices);
}

struct softrnic *
softrnic_poller_next(struct softrnic *dev)
{
	return TAILQ_NEXT(dev, link);
}

void
softrnic_roce_changed(struct softrnic *dev)
{
	struct softrnic *other;

	TAILQ_FOREACH(other, &dev->poller->devices, link)
		other->roce_generation++;
}
