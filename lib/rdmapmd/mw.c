/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory windows, and what they may be bound to. */

#include <errno.h>
#include <sys/random.h>

#include "object_private.h"
#include "pd_private.h"
#include "qp_private.h"

#define REMOTE_WRITERS (RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define REMOTE	       (REMOTE_WRITERS | RDMAPMD_ACCESS_REMOTE_READ)

static int
mw_destroy(struct rdmapmd_object *object)
{
	return object->context->ops->mw_free(rdmapmd_object_head(object));
}

static void
mw_release(struct rdmapmd_object *object)
{
	const struct rdmapmd_mw *mw = rdmapmd_object_head(object);

	rdmapmd_object_undepend(&rdmapmd_pd_class, mw->pd);
}

static const struct rdmapmd_object_class mw_class = {
	.type = RDMAPMD_OBJECT_MW,
	.name = "memory window",
	.size = sizeof(struct rdmapmd_object),
	.destroy = mw_destroy,
	.release = mw_release,
};

/* With a reference on the PD. */
static int
mw_create(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd, enum rdmapmd_mw_type type,
	  struct rdmapmd_mw **result)
{
	struct rdmapmd_object *object =
		rdmapmd_object_new(&mw_class, context, context->ops->mw_size);
	struct rdmapmd_mw *mw;
	int rc;

	if (object == NULL)
		return -ENOMEM;
	mw = rdmapmd_object_head(object);
	mw->context = pd->context;
	mw->pd = pd;
	mw->type = type;
	rc = context->ops->mw_alloc(mw);
	rc = rdmapmd_object_publish_or_undo(object, rc, 0);
	if (rc == 0)
		*result = mw;
	return rc;
}

int
rdmapmd_mw_alloc(struct rdmapmd_pd *pd, enum rdmapmd_mw_type type, struct rdmapmd_mw **result)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_object *parent;
	int rc = result == NULL || (type != RDMAPMD_MW_TYPE_1 && type != RDMAPMD_MW_TYPE_2)
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_pd_class, pd, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	rc = context->ops->mw_alloc == NULL ? -ENOTSUP
					    : rdmapmd_object_depend(&rdmapmd_pd_class, pd, context);
	if (rc == 0) {
		rc = mw_create(context, pd, type, result);
		if (rc != 0)
			rdmapmd_object_undepend(&rdmapmd_pd_class, pd);
	}
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_mw_free(struct rdmapmd_mw *mw)
{
	return rdmapmd_object_destroy(&mw_class, mw);
}

uint32_t
rdmapmd_mw_next_rkey(const struct rdmapmd_mw *mw)
{
	const uint32_t rkey = __atomic_load_n(&mw->rkey, __ATOMIC_RELAXED);
	uint8_t byte;

	do {
		if (getrandom(&byte, sizeof(byte), 0) != sizeof(byte))
			byte = (uint8_t)(rkey + 1);
	} while (byte == (uint8_t)rkey);
	return (rkey & ~UINT32_C(0xff)) | byte;
}

/* ---- What it is bound to ---- */

static bool
mw_range_fits(const struct rdmapmd_mr *mr, uint64_t addr, uint64_t length)
{
	return length <= RDMAPMD_MW_MAX_LENGTH && addr >= mr->iova && length <= mr->length &&
	       addr - mr->iova <= mr->length - length;
}

static bool
mw_rights_fit(const struct rdmapmd_mr *mr, unsigned int access, unsigned int allowed)
{
	return (access & ~allowed) == 0 && (mr->access & RDMAPMD_ACCESS_MW_BIND) &&
	       !(mr->access & RDMAPMD_ACCESS_ZERO_BASED) &&
	       (!(access & REMOTE_WRITERS) || (mr->access & RDMAPMD_ACCESS_LOCAL_WRITE));
}

bool
rdmapmd_mw_may_bind(const struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
		    enum rdmapmd_mw_type type)
{
	const struct rdmapmd_mw *mw = wr->wr.bind_mw.mw;
	const struct rdmapmd_mr *mr = wr->wr.bind_mw.mr;
	const unsigned int allowed =
		REMOTE | (type == RDMAPMD_MW_TYPE_2 ? RDMAPMD_ACCESS_ZERO_BASED : 0);

	if (mw == NULL || mw->type != type || mw->pd != qp->pd || wr->num_sge != 0 ||
	    (wr->send_flags & RDMAPMD_SEND_INLINE) ||
	    /* The number stays, its byte does not. */
	    (mw->rkey ^ wr->wr.bind_mw.rkey) - 1 >= 0xff)
		return false;
	if (wr->wr.bind_mw.length == 0)
		return type == RDMAPMD_MW_TYPE_1;
	return mr != NULL && mr->pd == qp->pd &&
	       mw_range_fits(mr, wr->wr.bind_mw.addr, wr->wr.bind_mw.length) &&
	       mw_rights_fit(mr, wr->wr.bind_mw.access, allowed);
}

/* With the queue pair entered. */
static int
mw_bind(struct rdmapmd_context_object *context, struct rdmapmd_qp *qp, struct rdmapmd_mw *mw,
	const struct rdmapmd_mw_bind_attr *attr)
{
	const struct rdmapmd_send_wr wr = {
		.wr_id = attr->wr_id,
		.opcode = RDMAPMD_WR_BIND_MW,
		.send_flags = (uint8_t)attr->send_flags,
		.wr.bind_mw = { .mw = mw,
				.mr = attr->length == 0 ? NULL : attr->mr,
				.addr = attr->addr,
				.length = attr->length,
				.rkey = rdmapmd_mw_next_rkey(mw),
				.access = attr->access },
	};

	return attr->send_flags > UINT8_MAX ? -EINVAL : context->ops->mw_bind(qp, &wr);
}

int
rdmapmd_mw_bind(struct rdmapmd_qp *qp, struct rdmapmd_mw *mw,
		const struct rdmapmd_mw_bind_attr *attr)
{
	struct rdmapmd_object *object, *window;
	int rc = attr == NULL ? -EINVAL : rdmapmd_object_enter(&rdmapmd_qp_class, qp, &object);

	if (rc != 0)
		return rc;
	rc = rdmapmd_object_hold(&mw_class, mw, &window);
	if (rc == 0) {
		rc = window->context != object->context ? -EINVAL
							: mw_bind(object->context, qp, mw, attr);
		rdmapmd_object_drop(window);
	}
	rdmapmd_object_leave(object);
	return rc;
}
