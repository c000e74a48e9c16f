/* SPDX-License-Identifier: BSD-3-Clause */

/* A poller: its lock and its list of devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/poller.h"
#include "softrnic/base/tunables.h"

/* A group is what its pollers are: it is made with the first one, and goes with the last one. */
static struct softrnic_group *
group_create(void)
{
	struct softrnic_group *group = calloc(1, sizeof(*group));

	if (group == NULL)
		return NULL;
	if (pthread_mutex_init(&group->lock, NULL) != 0) {
		free(group);
		return NULL;
	}
	TAILQ_INIT(&group->devices);
	LIST_INIT(&group->segments);
	return group;
}

static int
group_enter(struct softrnic_group *group, struct softrnic_poller *poller)
{
	int rc = -ENOSPC;

	pthread_mutex_lock(&group->lock);
	for (unsigned int i = 0; i < SOFTRNIC_POLLERS && rc != 0; i++) {
		if (group->pollers[i] != NULL)
			continue;
		group->pollers[i] = poller;
		poller->group = group;
		poller->index = i;
		rc = 0;
	}
	pthread_mutex_unlock(&group->lock);
	return rc;
}

/* While there are devices, those of one poller may wake another one's thread, unless that never had any. */
static int
group_leave(struct softrnic_poller *poller)
{
	struct softrnic_group *group = poller->group;
	bool busy, last = true;

	pthread_mutex_lock(&group->lock);
	busy = poller->used && !TAILQ_EMPTY(&group->devices);
	if (!busy)
		group->pollers[poller->index] = NULL;
	for (unsigned int i = 0; i < SOFTRNIC_POLLERS; i++)
		last = last && group->pollers[i] == NULL;
	pthread_mutex_unlock(&group->lock);
	if (busy)
		return -EBUSY;
	if (last) {
		pthread_mutex_destroy(&group->lock);
		free(group);
	}
	return 0;
}

static int
poller_create(struct softrnic_group *group, struct softrnic_poller **out)
{
	struct softrnic_poller *poller = calloc(1, sizeof(*poller));
	int rc;

	if (poller == NULL)
		return -ENOMEM;
	rc = -pthread_mutex_init(&poller->lock, NULL);
	if (rc != 0) {
		free(poller);
		return rc;
	}
	TAILQ_INIT(&poller->devices);
	TAILQ_INIT(&poller->segments);
	poller->budget.entries = poller->budget.ranges = softrnic_tunables.entries;
	rc = group_enter(group, poller);
	if (rc != 0) {
		pthread_mutex_destroy(&poller->lock);
		free(poller);
		return rc;
	}
	*out = poller;
	return 0;
}

int
softrnic_poller_create(struct softrnic_poller **out)
{
	struct softrnic_group *group = group_create();
	int rc;

	if (group == NULL)
		return -ENOMEM;
	rc = poller_create(group, out);
	if (rc != 0) {
		pthread_mutex_destroy(&group->lock);
		free(group);
	}
	return rc;
}

int
softrnic_poller_create_beside(struct softrnic_poller *other, struct softrnic_poller **out)
{
	return poller_create(other->group, out);
}

int
softrnic_poller_destroy(struct softrnic_poller *poller)
{
	int rc;

	if (poller == NULL)
		return 0;
	rc = group_leave(poller);
	if (rc != 0)
		return rc;
	pthread_mutex_destroy(&poller->lock);
	free(poller);
	return 0;
}

struct softrnic_budget *
softrnic_poller_budget(struct softrnic_poller *poller)
{
	return &poller->budget;
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
softrnic_poller_wake(struct softrnic_poller *poller)
{
	if (poller->wake != NULL)
		poller->wake(poller->wake_arg);
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
	struct softrnic_group *group = poller->group;
	struct softrnic *other;
	int rc = 0;

	pthread_mutex_lock(&group->lock);
	TAILQ_FOREACH(other, &group->devices, group_link) {
		if (strcmp(other->name, dev->name) == 0)
			rc = -EEXIST;
	}
	if (rc == 0)
		TAILQ_INSERT_TAIL(&group->devices, dev, group_link);
	pthread_mutex_unlock(&group->lock);
	if (rc != 0)
		return rc;
	dev->poller = poller;
	poller->used = true;
	TAILQ_INSERT_TAIL(&poller->devices, dev, link);
	return 0;
}

void
softrnic_poller_remove(struct softrnic_poller *poller, struct softrnic *dev)
{
	TAILQ_REMOVE(&poller->devices, dev, link);
	pthread_mutex_lock(&poller->group->lock);
	TAILQ_REMOVE(&poller->group->devices, dev, group_link);
	pthread_mutex_unlock(&poller->group->lock);
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
