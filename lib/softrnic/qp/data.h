/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the data path of queue pairs know of each other. */
#ifndef SOFTRNIC_QP_DATA_H
#define SOFTRNIC_QP_DATA_H

#include "qp.h"

/*
 * What a request's cookie says, so that nothing is parsed twice: where its WQE is, where in it the data segments begin
 * and end (units of 16 bytes), and how it completes.
 */
#define QP_COOKIE(counter, data, ds, fm_ce_se)                             \
	((uint64_t)(uint16_t)(counter) | (uint64_t)(uint8_t)(data) << 16 | \
	 (uint64_t)(uint8_t)(ds) << 24 | (uint64_t)(uint8_t)(fm_ce_se) << 32)
#define QP_COOKIE_COUNTER(cookie)  ((uint16_t)(cookie))
#define QP_COOKIE_DATA(cookie)	   ((uint8_t)((cookie) >> 16))
#define QP_COOKIE_DS(cookie)	   ((uint8_t)((cookie) >> 24))
#define QP_COOKIE_FM_CE_SE(cookie) ((uint8_t)((cookie) >> 32))

/* The vendor syndromes of our error CQEs tell the places apart. */
enum qp_vendor_syndrome {
	QP_VENDOR_REQUESTER = 0x81,
	QP_VENDOR_RESPONDER = 0x82,
	QP_VENDOR_FLUSHED = 0x83,
};

static inline struct softrnic_qp *
softrnic_qp_of(struct roce_qp *roce)
{
	return (struct softrnic_qp *)((uint8_t *)roce - offsetof(struct softrnic_qp, roce));
}

/* ---- qp.c ---- */

/* There may be something to do. */
static inline void
softrnic_qp_activate(struct softrnic *dev, struct softrnic_qp *qp)
{
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&dev->active_qps, qp, active_link);
}

/* It must go to ERR, for a reason that no completion tells: an event does. The next poll changes the state. */
void softrnic_qp_break(struct softrnic_qp *qp, enum rnic_event what, const char *why);

/* ---- watch.c ---- */

/* There is a place for one QP more, or one less. RNIC_STATUS_OK or NO_RES. */
int softrnic_qp_watch_open(struct softrnic *dev);
void softrnic_qp_watch_close(struct softrnic *dev);
/* Its record has just been read: look at it in each poll, and give it a turn when it says more than it did now. */
void softrnic_qp_watch(struct softrnic *dev, struct softrnic_qp *qp);
void softrnic_qp_unwatch(struct softrnic *dev, struct softrnic_qp *qp);
void softrnic_qp_watch_poll(struct softrnic *dev);

/* ---- send.c ---- */

/* Post what the driver has put into the send ring, at most `budget` WQEs; how many. */
unsigned int softrnic_qp_fetch(struct softrnic *dev, struct softrnic_qp *qp, unsigned int budget);
int softrnic_qp_gather(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
		       uint32_t length, struct iovec *pieces);
int softrnic_qp_scatter(struct roce_qp *roce, const struct roce_request *req, uint32_t offset,
			const struct roce_pkt *pkt);
int softrnic_qp_scatter_atomic(struct roce_qp *roce, const struct roce_request *req,
			       uint64_t original);
void softrnic_qp_complete(struct roce_qp *roce, const struct roce_request *req, uint8_t syndrome);

/* ---- receive.c ---- */

bool softrnic_qp_recv_take(struct roce_qp *roce, struct roce_recv *recv);
int softrnic_qp_recv_scatter(struct roce_qp *roce, const struct roce_recv *recv, uint32_t offset,
			     const struct roce_pkt *pkt);
void softrnic_qp_recv_complete(struct roce_qp *roce, const struct roce_recv *recv,
			       uint8_t syndrome);
/* The receive ring of its own holds WQEs that it has not taken. */
bool softrnic_qp_recv_waits(struct softrnic *dev, struct softrnic_qp *qp);

/* ---- remote.c ---- */

int softrnic_qp_remote_check(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			     enum roce_access access);
int softrnic_qp_remote_write(struct roce_qp *roce, uint32_t rkey, uint64_t va,
			     const struct roce_pkt *pkt);
int softrnic_qp_remote_read(struct roce_qp *roce, uint32_t rkey, uint64_t va, uint32_t length,
			    struct iovec *pieces);
int softrnic_qp_remote_atomic(struct roce_qp *roce, const struct roce_pkt *pkt, uint64_t *original);

/* ---- qp_emit.c ---- */

void softrnic_qp_emit(struct roce_qp *roce, const struct roce_pkt *pkt);

#endif
