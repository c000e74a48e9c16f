/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection domains, and the mempools that are registered with them. */

#include <errno.h>

#include "context_private.h"
#include "log_private.h"
#include "mempool_private.h"
#include "object_private.h"
#include "pd_private.h"

static struct rdmapmd_pd_object *
pd_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_pd_object *)object;
}

static int
pd_is_busy(struct rdmapmd_object *object)
{
	if (!rdmapmd_pools_any(pd_of(object)))
		return 0;
	RDMAPMD_LOG(ERR, object->context->device,
		    "cannot free a protection domain: mempools are registered with it");
	return -EBUSY;
}

static int
pd_destroy(struct rdmapmd_object *object)
{
	int rc = rdmapmd_pools_remove(pd_of(object)),
	    dealloc_rc = object->context->ops->pd_dealloc(rdmapmd_object_head(object));

	return rc != 0 ? rc : dealloc_rc;
}

static void
pd_free_pools(struct rdmapmd_object *object)
{
	rdmapmd_pools_fini(pd_of(object));
}

const struct rdmapmd_object_class rdmapmd_pd_class = {
	.type = RDMAPMD_OBJECT_PD,
	.name = "protection domain",
	.size = sizeof(struct rdmapmd_pd_object),
	.busy = pd_is_busy,
	.destroy = pd_destroy,
	.unlocked_release = pd_free_pools,
};

int
rdmapmd_pd_alloc(struct rdmapmd_context *head, struct rdmapmd_pd **result)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_object *parent, *object;
	struct rdmapmd_pd *pd;
	int rc = result == NULL ? -EINVAL
				: rdmapmd_object_enter(&rdmapmd_context_class, head, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	rc = -ENOMEM;
	object = rdmapmd_object_new(&rdmapmd_pd_class, context, context->ops->pd_size);
	if (object == NULL)
		goto no_object;
	rdmapmd_pools_init(pd_of(object));
	pd = rdmapmd_object_head(object);
	pd->context = head;
	rc = context->ops->pd_alloc(pd);
	if (rc != 0)
		goto not_allocated;
	rc = rdmapmd_object_publish(object, 0);
	if (rc != 0)
		goto not_published;
	*result = pd;
	rdmapmd_object_leave(parent);
	return 0;

not_published:
	context->ops->pd_dealloc(pd);
not_allocated:
	pd_free_pools(object);
	rdmapmd_object_free(object);
no_object:
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_pd_dealloc(struct rdmapmd_pd *pd)
{
	return rdmapmd_object_destroy(&rdmapmd_pd_class, pd);
}

/* ---- Mempools ---- */

/* As enter, for a PD that listens: EAL's lock is taken before any of ours. */
static int
pd_enter_listening(struct rdmapmd_pd *pd, struct rdmapmd_object **object)
{
	struct rdmapmd_object *held;
	int rc = rdmapmd_object_hold(&rdmapmd_pd_class, pd, &held);

	if (rc != 0)
		return rc;
	rc = rdmapmd_pools_listen(pd_of(held));
	if (rc == 0)
		rc = rdmapmd_object_enter(&rdmapmd_pd_class, pd, object);
	rdmapmd_object_drop(held);
	return rc;
}

int
rdmapmd_mempool_register(struct rdmapmd_pd *pd, struct rte_mempool *mempool, unsigned int access)
{
	struct rdmapmd_object *object;
	int rc = mempool == NULL || (access & RDMAPMD_ACCESS_ZERO_BASED)
			 ? -EINVAL
			 : pd_enter_listening(pd, &object);

	if (rc != 0)
		return rc;
	rc = rdmapmd_pools_register(pd_of(object), mempool, access);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_mempool_unregister(struct rdmapmd_pd *pd, struct rte_mempool *mempool)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_enter(&rdmapmd_pd_class, pd, &object);

	if (rc != 0)
		return rc;
	rc = rdmapmd_pools_unregister(pd_of(object), mempool);
	rdmapmd_object_leave(object);
	return rc;
}
