/* SPDX-License-Identifier: BSD-3-Clause */

/* Thread domains. */

#include <errno.h>

#include "context_private.h"
#include "object_private.h"
#include "td_private.h"

static int
td_destroy(struct rdmapmd_object *object)
{
	return object->context->ops->td_dealloc(rdmapmd_object_head(object));
}

const struct rdmapmd_object_class rdmapmd_td_class = {
	.type = RDMAPMD_OBJECT_TD,
	.name = "thread domain",
	.size = sizeof(struct rdmapmd_object),
	.destroy = td_destroy,
};

static int
td_create(struct rdmapmd_context_object *context, struct rdmapmd_context *head,
	  struct rdmapmd_td **result)
{
	struct rdmapmd_object *object =
		rdmapmd_object_new(&rdmapmd_td_class, context, context->ops->td_size);
	struct rdmapmd_td *td;
	int rc;

	if (object == NULL)
		return -ENOMEM;
	td = rdmapmd_object_head(object);
	td->context = head;
	rc = context->ops->td_alloc(td);
	rc = rdmapmd_object_publish_or_undo(object, rc, 0);
	if (rc == 0)
		*result = td;
	return rc;
}

int
rdmapmd_td_alloc(struct rdmapmd_context *head, struct rdmapmd_td **result)
{
	struct rdmapmd_object *parent;
	int rc = result == NULL ? -EINVAL
				: rdmapmd_object_enter(&rdmapmd_context_class, head, &parent);

	if (rc != 0)
		return rc;
	rc = parent->context->ops->td_alloc != NULL ? td_create(parent->context, head, result)
						    : -ENOTSUP;
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_td_dealloc(struct rdmapmd_td *td)
{
	return rdmapmd_object_destroy(&rdmapmd_td_class, td);
}
