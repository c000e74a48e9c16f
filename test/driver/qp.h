/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DRIVER_QP_H
#define TEST_DRIVER_QP_H

#include "driver.h"
#include "prm/qp.h"

/* Of service type 0: a reliable connection. */
struct drv_qp {
	enum rnic_qp_st st;
	uint32_t pd, uar, send_cqn, receive_cqn, counter, user_index;
	enum rnic_ts_format ts_format;
	uint32_t log_sq, log_rq, log_stride; /* WQEBBs; WQEs, and bytes of one */
	bool no_sq, no_rq, rlky, fre, block_lb_mc;
	uint32_t rmpn; /* not 0: its receive WQEs are the RMP's, and there is no ring of its own */
	uint32_t xrcd; /* of an XRC target */
	uint64_t dbrec;
	struct drv_pages ring; /* of the receive WQEs, then of the send WQEs */
};

/* In state RST. */
uint32_t drv_qp_fill(void *in, const struct drv_qp *qp);
int drv_qp_create(struct drv *drv, const struct drv_qp *qp, uint32_t *qpn);

/* The way to the peer. */
struct drv_path {
	uint32_t source, hop_limit, udp_sport; /* source: index of a GID of ours */
	uint32_t traffic_class, flow_label, priority;
	uint8_t gid[16];
	uint64_t mac;
};

/* What all changes are told, of which each takes what it needs; the rest by its options. */
struct drv_qp_attr {
	uint32_t counter, remote_qpn;
	enum rnic_qp_mtu mtu;
	uint32_t send_psn, receive_psn;
	uint32_t log_sra_max, log_rra_max; /* READs and atomics under way: ours, the peer's */
	uint32_t ack_timeout, retry_count, rnr_retry, min_rnr_timer, log_ack_req_freq;
	bool read, write, atomic; /* what the peer may do */
	uint32_t qkey;
	struct drv_path path;
};

/* opcode: RST2INIT_QP, INIT2RTR_QP, ...; options: RNIC_QP_OPT_... */
uint32_t drv_qp_modify_fill(void *in, uint16_t opcode, uint32_t qpn, uint32_t options,
			    const struct drv_qp_attr *attr);
/* attr NULL: 2ERR_QP and 2RST_QP, which are told nothing. */
int drv_qp_modify(struct drv *drv, uint16_t opcode, uint32_t qpn, uint32_t options,
		  const struct drv_qp_attr *attr);
/* opcode: ATTACH_TO_MCG, DETACH_FROM_MCG. */
uint32_t drv_mcg_fill(void *in, uint16_t opcode, uint32_t qpn, const uint8_t gid[16]);
int drv_mcg(struct drv *drv, uint16_t opcode, uint32_t qpn, const uint8_t gid[16]);
int drv_qp_query(struct drv *drv, uint32_t qpn, struct rnic_qpc *qpc);

#endif
