/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection domains and memory regions. */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_memory.h>

#include "internal.h"

#define REMOTE_WRITERS (RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define ALL_ACCESS                                                                  \
	(RDMAPMD_ACCESS_LOCAL_WRITE | REMOTE_WRITERS | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_ZERO_BASED)
#define ALL_REREG                                                           \
	(RDMAPMD_REREG_MR_CHANGE_TRANSLATION | RDMAPMD_REREG_MR_CHANGE_PD | \
	 RDMAPMD_REREG_MR_CHANGE_ACCESS)
#define PAGE_BYTES 4096u
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* ---- Protection domains ---- */

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
		    "mempools are registered with a protection domain: it cannot go");
	return -EBUSY;
}

static int
destroy_pd(struct rdmapmd_object *object)
{
	int rc = rdmapmd_pools_remove(pd_of(object)),
	    dealloc_rc = object->context->ops->pd_dealloc(rdmapmd_object_head(object));

	return rc != 0 ? rc : dealloc_rc;
}

static void
free_pd_parts(struct rdmapmd_object *object)
{
	struct rdmapmd_pd_object *pd = pd_of(object);

	rdmapmd_pools_listen_no_more(pd);
	rdmapmd_pools_free(pd);
	pthread_mutex_destroy(&pd->pools_lock);
	pthread_mutex_destroy(&pd->listen_lock);
}

const struct rdmapmd_object_class rdmapmd_pd_class = {
	.type = RDMAPMD_OBJECT_PD,
	.name = "protection domain",
	.size = sizeof(struct rdmapmd_pd_object),
	.busy = pd_is_busy,
	.destroy = destroy_pd,
	.unlocked_release = free_pd_parts,
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
	pthread_mutex_init(&pd_of(object)->pools_lock, NULL);
	pthread_mutex_init(&pd_of(object)->listen_lock, NULL);
	pd = rdmapmd_object_head(object);
	pd->context = head;
	pd->keys = &rdmapmd_no_keys;
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
	free_pd_parts(object);
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

/* ---- Regions, whoever they are for ---- */

static struct rdmapmd_mr_object *
mr_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_mr_object *)object;
}

/* Memory that EAL did not allocate. */
static bool
is_foreign(uintptr_t address)
{
	const struct rte_memseg_list *list = rte_mem_virt2memseg_list((const void *)address);

	return list == NULL || list->external;
}

static const char *
complaint(const struct rdmapmd_context_object *context, const struct rdmapmd_mr_attr *attr)
{
	const uintptr_t start = (uintptr_t)attr->addr;

	if (attr->length == 0)
		return "it has no length";
	if (attr->length > context->attr.max_mr_size)
		return "it is larger than the device takes";
	/* The last byte's address may be the highest there is. */
	if (start + (attr->length - 1) < start || attr->iova + (attr->length - 1) < attr->iova)
		return "its addresses wrap";
	/* What translates is pages; a zero-based region calls the first byte of one 0. */
	if ((start ^ attr->iova) % PAGE_BYTES != 0)
		return attr->access & RDMAPMD_ACCESS_ZERO_BASED
			       ? "a zero-based region begins with a page of 4 KiB"
			       : "its offset in a page of 4 KiB is not that of its iova";
	if (attr->access & ~(unsigned int)ALL_ACCESS)
		return "unknown access flags";
	if ((attr->access & REMOTE_WRITERS) && !(attr->access & RDMAPMD_ACCESS_LOCAL_WRITE))
		return "remote write and atomic access need local write access";
	return NULL;
}

int
rdmapmd_mr_check(const struct rdmapmd_context_object *context, const struct rdmapmd_mr_attr *attr)
{
	const char *why = complaint(context, attr);

	if (why == NULL)
		return 0;
	RDMAPMD_LOG(ERR, context->device, "cannot register %zu bytes at %p, access 0x%x: %s",
		    attr->length, attr->addr, attr->access, why);
	return -EINVAL;
}

/*
 * Touch all of it, as a kernel does that pins it. The embedded device would be killed by memory that is not there, or that
 * it may not write to, and this process with it; one behind an IOMMU would write where this process does not look.
 */
static int
populate(uintptr_t start, uintptr_t end, bool writable)
{
	static char known; /* good memory */
	const uintptr_t page = RTE_ALIGN_FLOOR((uintptr_t)&known, (uintptr_t)PAGE_BYTES);
	int error;

	if (madvise((void *)start, end - start,
		    writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 0;
	error = errno;
	/* Kernels before 5.14 know no such advice. */
	if (error == EINVAL && madvise((void *)page, PAGE_BYTES, MADV_POPULATE_WRITE) != 0)
		return 0;
	return error == ENOMEM ? -ENOMEM : -EFAULT;
}

/* Memory that EAL did not make is looked at, and kept out of children. Nothing to keep: *end is 0. */
static int
keep_from_children(const struct rdmapmd_context_object *context, const struct rdmapmd_mr_attr *attr,
		   uintptr_t *start, uintptr_t *end)
{
	const uintptr_t first = (uintptr_t)attr->addr, last = first + (attr->length - 1);
	int rc;

	*start = *end = 0;
	if (!is_foreign(first) && !is_foreign(last))
		return 0;
	rc = last == UINTPTR_MAX ? -ENOMEM : rdmapmd_fork_keep(first, last + 1, start, end);
	if (rc != 0) {
		*start = *end = 0;
		RDMAPMD_LOG(
			ERR, context->device,
			"cannot keep %zu bytes at %p from forked children: %s. Is all of it mapped?",
			attr->length, attr->addr, strerror(-rc));
		return -EFAULT;
	}
	rc = populate(*start, *end, (attr->access & RDMAPMD_ACCESS_LOCAL_WRITE) != 0);
	if (rc != 0) {
		RDMAPMD_LOG(ERR, context->device,
			    "%zu bytes at %p cannot be %s: %s. What is mapped there?", attr->length,
			    attr->addr,
			    attr->access & RDMAPMD_ACCESS_LOCAL_WRITE ? "written to" : "read",
			    strerror(-rc));
		rdmapmd_fork_release(*start, *end);
		*start = *end = 0;
	}
	return rc;
}

static void
set_head(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr)
{
	mr->pd = attr->pd;
	mr->addr = attr->addr;
	mr->length = attr->length;
	mr->iova = attr->iova;
	mr->access = attr->access;
}

static void
let_children_have(uintptr_t start, uintptr_t end)
{
	if (end != 0)
		rdmapmd_fork_release(start, end);
}

int
rdmapmd_mr_start(struct rdmapmd_mr_object *object, const struct rdmapmd_mr_attr *attr)
{
	struct rdmapmd_context_object *context = object->object.context;
	struct rdmapmd_mr *mr = rdmapmd_object_head(&object->object);
	int rc = keep_from_children(context, attr, &object->kept_start, &object->kept_end);

	if (rc != 0)
		return rc;
	mr->context = rdmapmd_object_head(&context->object);
	rc = context->ops->mr_reg(mr, attr);
	if (rc != 0)
		let_children_have(object->kept_start, object->kept_end);
	else
		set_head(mr, attr);
	return rc;
}

int
rdmapmd_mr_stop(struct rdmapmd_mr_object *object)
{
	int rc = object->object.context->ops->mr_dereg(rdmapmd_object_head(&object->object));

	let_children_have(object->kept_start, object->kept_end);
	object->kept_start = object->kept_end = 0;
	return rc;
}

/* ---- Regions as objects ---- */

static int
destroy_mr(struct rdmapmd_object *object)
{
	return rdmapmd_mr_stop(mr_of(object));
}

static void
release_mr(struct rdmapmd_object *object)
{
	const struct rdmapmd_mr *mr = rdmapmd_object_head(object);

	rdmapmd_object_undepend(&rdmapmd_pd_class, mr->pd);
}

const struct rdmapmd_object_class rdmapmd_mr_class = {
	.type = RDMAPMD_OBJECT_MR,
	.name = "memory region",
	.size = sizeof(struct rdmapmd_mr_object),
	.destroy = destroy_mr,
	.release = release_mr,
};

static int
reg(const struct rdmapmd_mr_attr *attr, struct rdmapmd_mr **result)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_object *parent, *object;
	int rc = result == NULL ? -EINVAL
				: rdmapmd_object_enter(&rdmapmd_pd_class, attr->pd, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	rc = rdmapmd_mr_check(context, attr);
	if (rc == 0)
		rc = rdmapmd_object_depend(&rdmapmd_pd_class, attr->pd, context);
	if (rc != 0)
		goto not_allowed;
	rc = -ENOMEM;
	object = rdmapmd_object_new(&rdmapmd_mr_class, context, context->ops->mr_size);
	if (object == NULL)
		goto no_object;
	rc = rdmapmd_mr_start(mr_of(object), attr);
	if (rc != 0)
		goto not_registered;
	rc = rdmapmd_object_publish(object, 0);
	if (rc != 0)
		goto not_published;
	*result = rdmapmd_object_head(object);
	rdmapmd_object_leave(parent);
	return 0;

not_published:
	rdmapmd_mr_stop(mr_of(object));
not_registered:
	rdmapmd_object_free(object);
no_object:
	rdmapmd_object_undepend(&rdmapmd_pd_class, attr->pd);
not_allowed:
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_mr_reg(struct rdmapmd_pd *pd, void *addr, size_t length, unsigned int access,
	       struct rdmapmd_mr **mr)
{
	const struct rdmapmd_mr_attr attr = {
		.pd = pd,
		.addr = addr,
		.length = length,
		.iova = access & RDMAPMD_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr,
		.access = access,
	};

	return reg(&attr, mr);
}

int
rdmapmd_mr_reg_iova(struct rdmapmd_pd *pd, void *addr, size_t length, uint64_t iova,
		    unsigned int access, struct rdmapmd_mr **mr)
{
	const struct rdmapmd_mr_attr attr = {
		.pd = pd, .addr = addr, .length = length, .iova = iova, .access = access
	};

	if (access & RDMAPMD_ACCESS_ZERO_BASED)
		return -EINVAL;
	return reg(&attr, mr);
}

/* What the region is to be. */
static struct rdmapmd_mr_attr
changed(const struct rdmapmd_mr *mr, unsigned int flags, struct rdmapmd_pd *pd, void *addr,
	size_t length, unsigned int access)
{
	struct rdmapmd_mr_attr attr = { .pd = mr->pd,
					.addr = mr->addr,
					.length = mr->length,
					.iova = mr->iova,
					.access = mr->access };
	const bool was_zero_based = mr->access & RDMAPMD_ACCESS_ZERO_BASED;

	if (flags & RDMAPMD_REREG_MR_CHANGE_PD)
		attr.pd = pd;
	if (flags & RDMAPMD_REREG_MR_CHANGE_ACCESS)
		attr.access = access;
	if (flags & RDMAPMD_REREG_MR_CHANGE_TRANSLATION) {
		attr.addr = addr;
		attr.length = length;
	}
	if (attr.access & RDMAPMD_ACCESS_ZERO_BASED)
		attr.iova = 0;
	else if (was_zero_based || (flags & RDMAPMD_REREG_MR_CHANGE_TRANSLATION))
		attr.iova = (uintptr_t)attr.addr;
	return attr;
}

/* Called with the region's lock held, and a reference on the new PD. */
static int
rereg(struct rdmapmd_mr_object *object, const struct rdmapmd_mr_attr *attr)
{
	struct rdmapmd_context_object *context = object->object.context;
	struct rdmapmd_mr *mr = rdmapmd_object_head(&object->object);
	uintptr_t start, end;
	int rc = keep_from_children(context, attr, &start, &end);

	if (rc != 0)
		return rc;
	rc = context->ops->mr_rereg(mr, attr);
	if (rc != 0) {
		let_children_have(start, end);
		return rc;
	}
	let_children_have(object->kept_start, object->kept_end);
	object->kept_start = start;
	object->kept_end = end;
	rdmapmd_object_undepend(&rdmapmd_pd_class, mr->pd);
	set_head(mr, attr);
	return 0;
}

int
rdmapmd_mr_rereg(struct rdmapmd_mr *mr, unsigned int flags, struct rdmapmd_pd *pd, void *addr,
		 size_t length, unsigned int access)
{
	struct rdmapmd_mr_attr attr;
	struct rdmapmd_object *object;
	int rc = flags == 0 || (flags & ~(unsigned int)ALL_REREG)
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_mr_class, mr, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	attr = changed(mr, flags, pd, addr, length, access);
	rc = rdmapmd_mr_check(object->context, &attr);
	if (rc == 0)
		rc = rdmapmd_object_depend(&rdmapmd_pd_class, attr.pd, object->context);
	if (rc == 0) {
		rc = rereg(mr_of(object), &attr);
		if (rc != 0)
			rdmapmd_object_undepend(&rdmapmd_pd_class, attr.pd);
	}
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_mr_dereg(struct rdmapmd_mr *mr)
{
	return rdmapmd_object_destroy(&rdmapmd_mr_class, mr);
}
