/* SPDX-License-Identifier: BSD-3-Clause */

/* The burst functions of objects that have none, or no longer have one: they take and find nothing. */

#include <errno.h>

#include "rdmapmd_driver.h"

uint16_t
rdmapmd_post_send_none(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n)
{
	(void)wr;
	(void)n;
	qp->post_send_error = -EINVAL;
	return 0;
}

uint16_t
rdmapmd_post_recv_none(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	(void)wr;
	(void)n;
	qp->post_recv_error = -EINVAL;
	return 0;
}

uint16_t
rdmapmd_post_srq_recv_none(struct rdmapmd_srq *srq, const struct rdmapmd_recv_wr *wr, uint16_t n)
{
	(void)wr;
	(void)n;
	srq->post_error = -EINVAL;
	return 0;
}

uint16_t
rdmapmd_poll_cq_none(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n)
{
	(void)cq;
	(void)wc;
	(void)n;
	return 0;
}

int
rdmapmd_req_notify_cq_none(struct rdmapmd_cq *cq, bool solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return -EINVAL;
}
