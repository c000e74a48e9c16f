/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Regions of memory for any owner: an application that registers one, or a mempool. What may be registered, what is
 * kept out of forked children, and what the driver is asked.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_memory.h>

#include "fork_private.h"
#include "log_private.h"
#include "object_private.h"
#include "region_private.h"

#define REMOTE_WRITERS (RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define ALL_ACCESS                                                                  \
	(RDMAPMD_ACCESS_LOCAL_WRITE | REMOTE_WRITERS | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_MW_BIND | RDMAPMD_ACCESS_ZERO_BASED | RDMAPMD_ACCESS_OPTIONAL_RANGE)
#define PAGE_BYTES 4096u
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

const struct rdmapmd_object_class rdmapmd_region_class = {
	.type = RDMAPMD_OBJECT_MR,
	.name = "memory region",
	.size = sizeof(struct rdmapmd_mr_object),
};

/* Memory that EAL did not allocate. */
static bool
is_foreign(uintptr_t address)
{
	const struct rte_memseg_list *list = rte_mem_virt2memseg_list((const void *)address);

	return list == NULL || list->external;
}

static const char *
region_complaint(const struct rdmapmd_context_object *context, const struct rdmapmd_mr_attr *attr)
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
rdmapmd_region_check(const struct rdmapmd_context_object *context,
		     const struct rdmapmd_mr_attr *attr)
{
	const char *why = region_complaint(context, attr);

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
region_populate(uintptr_t start, uintptr_t end, bool writable)
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
region_keep_from_children(const struct rdmapmd_context_object *context,
			  const struct rdmapmd_mr_attr *attr, uintptr_t *start, uintptr_t *end)
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
	rc = region_populate(*start, *end, (attr->access & RDMAPMD_ACCESS_LOCAL_WRITE) != 0);
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
region_set_head(struct rdmapmd_mr *mr, const struct rdmapmd_mr_attr *attr)
{
	mr->pd = attr->pd;
	mr->addr = attr->addr;
	mr->length = attr->length;
	mr->iova = attr->iova;
	mr->access = attr->access;
}

static void
region_let_children_have(uintptr_t start, uintptr_t end)
{
	if (end != 0)
		rdmapmd_fork_release(start, end);
}

int
rdmapmd_region_start(struct rdmapmd_mr_object *object, const struct rdmapmd_mr_attr *attr)
{
	struct rdmapmd_context_object *context = object->object.context;
	struct rdmapmd_mr *mr = rdmapmd_object_head(&object->object);
	int rc = region_keep_from_children(context, attr, &object->kept_start, &object->kept_end);

	if (rc != 0)
		return rc;
	mr->context = rdmapmd_object_head(&context->object);
	rc = context->ops->mr_reg(mr, attr);
	if (rc != 0)
		region_let_children_have(object->kept_start, object->kept_end);
	else
		region_set_head(mr, attr);
	return rc;
}

int
rdmapmd_region_stop(struct rdmapmd_mr_object *object)
{
	int rc = object->object.context->ops->mr_dereg(rdmapmd_object_head(&object->object));

	region_let_children_have(object->kept_start, object->kept_end);
	object->kept_start = object->kept_end = 0;
	return rc;
}

int
rdmapmd_region_change(struct rdmapmd_mr_object *object, const struct rdmapmd_mr_attr *attr)
{
	struct rdmapmd_context_object *context = object->object.context;
	struct rdmapmd_mr *mr = rdmapmd_object_head(&object->object);
	uintptr_t start, end;
	int rc = region_keep_from_children(context, attr, &start, &end);

	if (rc != 0)
		return rc;
	rc = context->ops->mr_rereg(mr, attr);
	if (rc != 0) {
		region_let_children_have(start, end);
		return rc;
	}
	region_let_children_have(object->kept_start, object->kept_end);
	object->kept_start = start;
	object->kept_end = end;
	region_set_head(mr, attr);
	return 0;
}
