/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "claim.h"

static TAILQ_HEAD(, rdmo_claim) claims = TAILQ_HEAD_INITIALIZER(claims);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* May there be both? */
static int
claims_check(const struct rdmo_claim *a, const struct rdmo_claim *b)
{
	if (a->va >= b->va + b->len || b->va >= a->va + a->len)
		return 0;
	if (a->is_log || b->is_log)
		return -EBUSY;
	if (strcmp(a->worker, b->worker) == 0)
		return 0;
	if (!a->is_shared || !b->is_shared)
		return -EBUSY;
	if (a->is_by_device && b->is_by_device && a->device != b->device)
		return -ENOTSUP;
	return (a->is_by_cpu && b->is_by_device) || (a->is_by_device && b->is_by_cpu) ? -ENOTSUP
										      : 0;
}

int
rdmo_claim_make(struct rdmo_claim *claim)
{
	const struct rdmo_claim *other;
	int rc = 0;

	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(other, &claims, next) {
		rc = claims_check(claim, other);
		if (rc != 0)
			break;
	}
	if (rc == 0)
		TAILQ_INSERT_TAIL(&claims, claim, next);
	pthread_mutex_unlock(&lock);
	return rc;
}

void
rdmo_claim_drop(struct rdmo_claim *claim)
{
	pthread_mutex_lock(&lock);
	TAILQ_REMOVE(&claims, claim, next);
	pthread_mutex_unlock(&lock);
}
