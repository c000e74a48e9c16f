/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "port.h"
#include "rdma.h"

#define WAIT_MS	  60000 /* on a busy machine */
#define SILENT_MS 20
#define ALL_ACCESS                                                                               \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define PORT 1

#define OR(value, otherwise) ((value) != 0 ? (value) : (otherwise))

const char *rdma_device = "net_rnic0";

/* ---- Open, connect, close ---- */

void
rdma_to(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state };

	assert_int_equal(rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE), 0);
}

static uint8_t
or_none(uint8_t value, uint8_t otherwise)
{
	return value == RDMA_NONE ? 0 : OR(value, otherwise);
}

uint8_t
rdma_timeout(void)
{
	return e2e_sanitized() ? 16 : 14;
}

bool
rdma_has_atomics(struct rdmapmd_context *context)
{
	struct rdmapmd_device_attr attr;

	assert_int_equal(rdmapmd_device_query(context, &attr), 0);
	return attr.atomic_cap != RDMAPMD_ATOMIC_NONE;
}

/* What peers may do by default: all that the device can. */
static uint32_t
all_access(struct rdmapmd_context *context)
{
	return rdma_has_atomics(context) ? ALL_ACCESS : ALL_ACCESS & ~RDMAPMD_ACCESS_REMOTE_ATOMIC;
}

/* Next to the wrap, and not the same for all. */
static uint32_t
first_psn(uint32_t qpn, const struct rdma_conf *conf)
{
	return (OR(conf->psn, 0xfffff0) + (qpn & 0xf)) & 0xffffff;
}

/* Of the attributes of a change those that the type of queue pair needs; UD and GSI have neither a peer nor answers. */
static unsigned int
needed(const struct rdmapmd_qp *qp, unsigned int mask)
{
	const unsigned int answers = RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER |
				     RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
				     RDMAPMD_QP_RNR_RETRY | RDMAPMD_QP_MAX_QP_RD_ATOMIC;
	const unsigned int peer = RDMAPMD_QP_ACCESS_FLAGS | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU |
				  RDMAPMD_QP_DEST_QPN | RDMAPMD_QP_RQ_PSN;

	switch (qp->qp_type) {
	case RDMAPMD_QPT_UC: return mask & ~(answers | RDMAPMD_QP_QKEY);
	case RDMAPMD_QPT_UD: return mask & ~(answers | peer);
	case RDMAPMD_QPT_GSI: return mask & ~(answers | peer | RDMAPMD_QP_PORT);
	default: return mask & ~(unsigned int)RDMAPMD_QP_QKEY;
	}
}

static void
change(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr, unsigned int mask)
{
	assert_int_equal(rdmapmd_qp_modify(qp, attr, RDMAPMD_QP_STATE | needed(qp, mask)), 0);
}

void
rdma_connect_to(struct rdmapmd_qp *qp, uint32_t qpn, const union rdmapmd_gid *gid,
		const struct rdma_conf *conf)
{
	struct rdmapmd_qp_attr attr = {
		.qp_state = RDMAPMD_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = OR(conf->access, all_access(qp->context)),
		.qkey = qp->qp_type == RDMAPMD_QPT_GSI ? RDMAPMD_QP1_QKEY : RDMA_QKEY,
	};

	change(qp, &attr,
	       RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS | RDMAPMD_QP_QKEY);
	if (conf->up_to == RDMAPMD_QPS_INIT)
		return;
	attr = (struct rdmapmd_qp_attr){
		.qp_state = RDMAPMD_QPS_RTR,
		.path_mtu = OR(conf->mtu, RDMAPMD_MTU_1024),
		.dest_qp_num = qpn,
		.rq_psn = first_psn(qpn, conf),
		.max_dest_rd_atomic = or_none(conf->rd_atomic, 16),
		.min_rnr_timer = or_none(conf->min_rnr_timer, 1),
		.ah_attr = { .dgid = *gid,
			     .sgid_index = (uint8_t)conf->sgid_index,
			     .hop_limit = 64,
			     .traffic_class = conf->traffic_class,
			     .port_num = PORT },
	};
	memcpy(attr.ah_attr.dmac, conf->dmac, sizeof(attr.ah_attr.dmac));
	change(qp, &attr,
	       RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN | RDMAPMD_QP_RQ_PSN |
		       RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER);
	if (conf->up_to == RDMAPMD_QPS_RTR)
		return;
	attr = (struct rdmapmd_qp_attr){
		.qp_state = RDMAPMD_QPS_RTS,
		.timeout = or_none(conf->timeout, rdma_timeout()),
		.retry_cnt = or_none(conf->retry_cnt, 7),
		.rnr_retry = or_none(conf->rnr_retry, 7),
		.sq_psn = first_psn(qp->qp_num, conf),
		.max_rd_atomic = or_none(conf->rd_atomic, 16),
	};
	change(qp, &attr,
	       RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY |
		       RDMAPMD_QP_SQ_PSN | RDMAPMD_QP_MAX_QP_RD_ATOMIC);
}

void
rdma_connect(struct rdmapmd_qp *qp, const struct rdmapmd_qp *to, const struct rdma_conf *conf)
{
	struct rdmapmd_gid_entry own;

	assert_int_equal(rdmapmd_gid_query(qp->context, PORT, conf->sgid_index, &own), 0);
	rdma_connect_to(qp, to->qp_num, &own.gid, conf);
}

struct rdmapmd_qp *
rdma_to_itself(struct rdmapmd_pd *pd, struct rdmapmd_cq *cq)
{
	static const struct rdma_conf conf = { 0 };
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = RDMAPMD_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct rdmapmd_qp *qp;

	assert_int_equal(rdmapmd_qp_create(pd, &attr, &qp), 0);
	rdma_connect(qp, qp, &conf);
	return qp;
}

static void
make_queues(struct rdma_pair *pair, const struct rdma_conf *conf)
{
	const uint32_t depth = OR(conf->depth, 64);
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 4 * depth, .wc_flags = conf->wc_flags };
	struct rdmapmd_srq_init_attr srq_attr = {
		.attr = { .max_wr = depth, .max_sge = OR(conf->sges, 4) },
	};
	unsigned int i;

	if (conf->channel)
		assert_int_equal(rdmapmd_comp_channel_create(pair->context, &pair->channel), 0);
	cq_attr.channel = pair->channel;
	if (conf->srq)
		assert_int_equal(rdmapmd_srq_create(pair->pd, &srq_attr, &pair->srq), 0);
	if (conf->td)
		assert_int_equal(rdmapmd_td_alloc(pair->context, &pair->td), 0);
	for (i = 0; i < 2; i++) {
		struct rdmapmd_qp_init_attr attr = {
			.qp_type = OR(conf->type, RDMAPMD_QPT_RC),
			.sq_sig_all = conf->sq_sig_all,
			.srq = i == 1 ? pair->srq : NULL,
			.td = i == 0 ? pair->td : NULL,
			.cap = { .max_send_wr = depth,
				 .max_recv_wr = depth,
				 .max_send_sge = OR(conf->sges, 4),
				 .max_recv_sge = OR(conf->sges, 4),
				 .max_inline_data = OR(conf->inline_bytes, 64) },
		};

		assert_int_equal(rdmapmd_cq_create(pair->context, &cq_attr, &pair->cq[i]), 0);
		attr.send_cq = attr.recv_cq = pair->cq[i];
		assert_int_equal(rdmapmd_qp_create(pair->pd, &attr, &pair->qp[i]), 0);
	}
}

void
rdma_alloc(struct rdma_pair *pair)
{
	if (pair->memory == NULL)
		pair->memory = rte_malloc(NULL, 2 * RDMA_HALF, 4096);
	assert_non_null(pair->memory);
}

void
rdma_free(struct rdma_pair *pair)
{
	rte_free(pair->memory);
	pair->memory = NULL;
}

void
rdma_open(struct rdma_pair *pair, const struct rdma_conf *conf)
{
	uint8_t *memory = pair->memory;

	*pair = (struct rdma_pair){ .memory = memory };
	assert_int_equal(rdmapmd_device_open_by_name(rdma_device, &pair->context), 0);
	assert_int_equal(rdmapmd_pd_alloc(pair->context, &pair->pd), 0);
	rdma_alloc(pair);
	assert_int_equal(
		rdmapmd_mr_reg(pair->pd, pair->memory, 2 * RDMA_HALF, ALL_ACCESS, &pair->mr), 0);
	make_queues(pair, conf);
	rdma_connect(pair->qp[0], pair->qp[1], conf);
	rdma_connect(pair->qp[1], pair->qp[0], conf);
}

void
rdma_close(struct rdma_pair *pair)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(rdmapmd_qp_destroy(pair->qp[i]), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(rdmapmd_cq_destroy(pair->cq[i]), 0);
	if (pair->srq != NULL)
		assert_int_equal(rdmapmd_srq_destroy(pair->srq), 0);
	if (pair->td != NULL)
		assert_int_equal(rdmapmd_td_dealloc(pair->td), 0);
	if (pair->channel != NULL)
		assert_int_equal(rdmapmd_comp_channel_destroy(pair->channel), 0);
	assert_int_equal(rdmapmd_mr_dereg(pair->mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(pair->pd), 0);
	assert_int_equal(rdmapmd_context_close(pair->context), 0);
}

void
rdma_post_under_way(struct rdma_pair *pair, const struct rdmapmd_send_wr *wr)
{
	struct rdmapmd_qp_attr now;
	uint32_t first;

	assert_int_equal(rdmapmd_qp_query(pair->qp[0], &now, NULL), 0);
	first = now.sq_psn;
	rdma_post(pair->qp[0], wr);
	while (now.sq_psn == first) {
		rte_delay_us_sleep(100);
		assert_int_equal(rdmapmd_qp_query(pair->qp[0], &now, NULL), 0);
	}
}

/* ---- Links ---- */

void
rdma_wait_link(struct rdmapmd_context *context)
{
	struct rdmapmd_port_attr attr;
	unsigned int ms;

	for (ms = 0; ms < 60000; ms++) {
		assert_int_equal(rdmapmd_port_query(context, 1, &attr), 0);
		if (attr.state == RDMAPMD_PORT_ACTIVE)
			return;
		rte_delay_us_sleep(1000);
	}
	fail_msg("no link");
}

/* ---- Completions ---- */

struct rdmapmd_wc
rdma_wait_ms(struct rdmapmd_cq *cq, uint64_t ms)
{
	/* ThreadSanitizer needs four bytes of its own for each of a message of 2^30, whose pages first have to come. */
	const uint64_t most = e2e_sanitized() ? 5 * ms : ms;
	const uint64_t end = rte_get_timer_cycles() + most * rte_get_timer_hz() / 1000;
	struct rdmapmd_wc wc = { 0 };

	while (rdmapmd_poll_cq(cq, &wc, 1) == 0) {
		if (rte_get_timer_cycles() > end)
			fail_msg("CQ 0x%x: no completion within %u ms", cq->cqn,
				 (unsigned int)most);
		rte_delay_us_sleep(1);
	}
	return wc;
}

struct rdmapmd_wc
rdma_wait(struct rdmapmd_cq *cq)
{
	return rdma_wait_ms(cq, WAIT_MS);
}

void
rdma_expect_status(struct rdmapmd_cq *cq, uint64_t wr_id, enum rdmapmd_wc_status status)
{
	const struct rdmapmd_wc wc = rdma_wait(cq);

	if (wc.wr_id != wr_id || wc.status != status)
		fail_msg("request %u: %s (vendor's 0x%x), not request %u: %s",
			 (unsigned int)wc.wr_id, rdmapmd_wc_status_str(wc.status), wc.vendor_err,
			 (unsigned int)wr_id, rdmapmd_wc_status_str(status));
}

struct rdmapmd_wc
rdma_expect(struct rdmapmd_cq *cq, uint64_t wr_id, enum rdmapmd_wc_opcode opcode)
{
	const struct rdmapmd_wc wc = rdma_wait(cq);

	if (wc.wr_id != wr_id || wc.status != RDMAPMD_WC_SUCCESS)
		fail_msg("request %u: %s (vendor's 0x%x), not a good one of request %u",
			 (unsigned int)wc.wr_id, rdmapmd_wc_status_str(wc.status), wc.vendor_err,
			 (unsigned int)wr_id);
	assert_int_equal(wc.opcode, opcode);
	return wc;
}

void
rdma_expect_nothing(struct rdmapmd_cq *cq)
{
	struct rdmapmd_wc wc;

	rte_delay_us_sleep(SILENT_MS * 1000);
	assert_int_equal(rdmapmd_poll_cq(cq, &wc, 1), 0);
}

/* ---- Requests ---- */

struct rdmapmd_send_wr
rdma_request(const struct rdma_pair *pair, enum rdmapmd_wr_opcode opcode, uint64_t wr_id,
	     const struct rdmapmd_sge *sge)
{
	struct rdmapmd_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = sge != NULL,
	};

	/* The peer's memory is what of ours it is; READ takes from the first half. */
	if (opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP || opcode == RDMAPMD_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)pair->memory;
		wr.wr.atomic.rkey = pair->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr =
			(uintptr_t)pair->memory +
			(opcode == RDMAPMD_WR_RDMA_READ ? 0 : RDMA_HALF + RDMA_GUARD);
		wr.wr.rdma.rkey = pair->mr->rkey;
	}
	return wr;
}

void
rdma_post(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr)
{
	if (rdmapmd_post_send(qp, wr, 1) != 1)
		fail_msg("request %u is not taken: %s", (unsigned int)wr->wr_id,
			 strerror(-qp->post_send_error));
}

void
rdma_post_recv(struct rdmapmd_qp *qp, uint64_t wr_id, const struct rdmapmd_sge *sge, uint16_t count)
{
	const struct rdmapmd_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = count };

	if (qp->srq != NULL)
		assert_int_equal(rdmapmd_post_srq_recv(qp->srq, &wr, 1), 1);
	else
		assert_int_equal(rdmapmd_post_recv(qp, &wr, 1), 1);
}

/* ---- Memory ---- */

void
rdma_fill(struct rdma_pair *pair, uint32_t length)
{
	uint32_t i, value = 0x12345678 + length;

	assert_true(length <= RDMA_HALF - 2 * RDMA_GUARD);
	for (i = 0; i < length; i++) {
		value = value * 1664525 + 1013904223;
		pair->memory[i] = (uint8_t)(value >> 24);
	}
	memset(pair->memory + RDMA_HALF, RDMA_UNTOUCHED, length + 2 * RDMA_GUARD);
}

void
rdma_check(const struct rdma_pair *pair, uint32_t from, uint32_t to, uint32_t length)
{
	const uint8_t *there = pair->memory + RDMA_HALF + to;
	uint32_t i;

	assert_true(to >= RDMA_GUARD);
	assert_memory_equal(there, pair->memory + from, length);
	for (i = 0; i < RDMA_GUARD; i++) {
		assert_int_equal(there[-(int)i - 1], RDMA_UNTOUCHED);
		assert_int_equal(there[length + i], RDMA_UNTOUCHED);
	}
}
