/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <time.h>

#include "near_end.h"
#include "qp_world.h"
#include "driver/qp.h"
#include "driver/roce_addr.h"
#include "driver/vport.h"
/* What the audit has seen, and the queue pair inside. */
#include "softrnic/base/dma.h"
#include "softrnic/base/object.h"

#define PAGE	    4096u
#define RUN_POLLS   20000
#define KEY_VARIANT 0x77
#define ALL_RIGHTS  (DRV_LR | DRV_LW | DRV_RR | DRV_RW | DRV_A)

/* ---- Devices ---- */

static uint64_t
mac_of(const struct qw_end *end)
{
	uint64_t mac = 0;

	for (unsigned int i = 0; i < sizeof(end->mac); i++)
		mac = mac << 8 | end->mac[i];
	return mac;
}

void
qw_set_vlan(struct qw_end *end, uint32_t vlan)
{
	struct drv_roce_addr address = { .mac = mac_of(end), .vlan = vlan };

	memcpy(address.gid, end->gid, sizeof(end->gid));
	assert_int_equal(drv_roce_addr_set(&end->dp.drv, &address), 0);
}

static void
set_address(struct qw_end *end, bool ipv6, uint8_t host, uint32_t vlan)
{
	memset(end->gid, 0, sizeof(end->gid));
	if (ipv6)
		memcpy(end->gid, "\xfd\x00\x00\x01", 4);
	else
		memcpy(end->gid + 10, "\xff\xff\x0a", 3);
	end->gid[15] = host;
	qw_set_vlan(end, vlan);
}

static void
end_start(struct qw_end *end, bool ipv6, uint8_t host, uint32_t vlan)
{
	const struct qw_key_conf all = { .access = ALL_RIGHTS };

	assert_int_equal(drv_mtu_set(&end->dp.drv, QW_PORT_MTU), 0);
	assert_int_equal(drv_vport_roce_set(&end->dp.drv, true), 0);
	set_address(end, ipv6, host, vlan);
	end->key = qw_key(end, &all);
	assert_int_not_equal(end->key, 0);
}

static void
end_open(struct qw *qw, unsigned int index, const struct qw_conf *conf)
{
	static const char *const names[] = { "one", "two" };
	struct qw_end *end = &qw->memory[index];
	struct softrnic_conf device = {
		.name = names[index],
		.wire = conf->wires[index] != NULL ? conf->wires[index]
			: conf->through_switch	   ? "switch:qw"
			: conf->pair		   ? "pair:qw"
			: conf->outside		   ? "pcap"
						   : "loop",
		.rx_pcap = conf->rx_pcap[index],
		.tx_pcap = conf->outside ? "/dev/null" : conf->tx_pcap[index],
		.mac = { 2, 0, 0, 0, 0, (uint8_t)(index + 1) },
		.seed = conf->seed != 0 ? conf->seed + index : 0,
		.drop_ppm = conf->drop_ppm,
		.dup_ppm = conf->dup_ppm,
		.reorder_ppm = conf->reorder_ppm,
		.corrupt_ppm = conf->corrupt_ppm,
		.delay_us = conf->delay_us,
		.rules = index == 0 ? conf->rules : conf->second_rules,
		.bytes = conf->bytes,
		.foreign_memory = conf->foreign_memory,
		.like = conf->like,
	};

	struct softrnic_poller *poller = index == 0 ? qw->poller : qw->second;

	assert_int_equal(conf->islands ? dp_open_islands(&end->dp, poller, &device, true)
				       : dp_open_quick(&end->dp, poller, &device),
			 0);
	end->dp.ts_format = conf->ts_format;
	memcpy(end->mac, device.mac, sizeof(end->mac));
	end_start(end, conf->ipv6, (uint8_t)(index + 1), conf->vlan);
}

void
qw_end_restart(struct qw_end *end, bool ipv6, uint8_t host)
{
	assert_int_equal(dp_restart(&end->dp), 0);
	end_start(end, ipv6, host, 0);
}

void
qw_open(struct qw *qw, const struct qw_conf *conf)
{
	memset(qw, 0, sizeof(*qw));
	assert_int_equal(softrnic_poller_create(&qw->poller), 0);
	qw->second = qw->poller;
	if (conf->beside)
		assert_int_equal(softrnic_poller_create_beside(qw->poller, &qw->second), 0);
	end_open(qw, 0, conf);
	qw->ends[0] = qw->ends[1] = &qw->memory[0];
	if (conf->pair) {
		end_open(qw, 1, conf);
		qw->ends[1] = &qw->memory[1];
	}
	/* The links have come up. */
	qw_run(qw);
	while (qw_event(qw->ends[0], NULL) != 0 || qw_event(qw->ends[1], NULL) != 0)
		;
}

void
qw_close(struct qw *qw)
{
	if (qw->ends[1] != qw->ends[0])
		dp_close(&qw->ends[1]->dp);
	dp_close(&qw->ends[0]->dp);
#ifdef SOFTRNIC_DMA_AUDIT
	assert_true(atomic_load(&softrnic_audit_accesses) > 0);
	assert_int_equal(atomic_load(&softrnic_audit_violations), 0);
#endif
	if (qw->second != qw->poller)
		assert_int_equal(softrnic_poller_destroy(qw->second), 0);
	assert_int_equal(softrnic_poller_destroy(qw->poller), 0);
}

/* A round. */
static unsigned int
qw_poll_once(struct qw *qw)
{
	unsigned int done = softrnic_poll(qw->poller);

	return qw->second == qw->poller ? done : done + softrnic_poll(qw->second);
}

void
qw_run(struct qw *qw)
{
	unsigned int idle = 0;

	/* Who waits for a receive WQE tries again for ever, and may do so before as many polls have found nothing. */
	for (unsigned int polls = 0; polls < RUN_POLLS && idle < 100; polls++)
		idle = qw_poll_once(qw) == 0 ? idle + 1 : 0;
}

static uint64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

bool
qw_run_until(struct qw *qw, bool (*done)(void *arg), void *arg)
{
	const uint64_t end = now_us() + 10000000;

	while (!done(arg)) {
		if (now_us() > end)
			return false;
		qw_poll_once(qw);
	}
	return true;
}

void
qw_run_us(struct qw *qw, uint64_t us)
{
	const uint64_t end = now_us() + us;

	while (now_us() < end)
		qw_poll_once(qw);
}

void
qw_poll(struct qw *qw, unsigned int polls)
{
	while (polls-- > 0)
		qw_poll_once(qw);
}

void
qw_map(struct qw_end *end, void *memory, size_t bytes)
{
	assert_int_equal(softrnic_dma_map(end->dp.dev, dp_iova(&end->dp, memory), bytes, memory,
					  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
			 0);
}

void
qw_unmap(struct qw_end *end, const void *memory, size_t bytes)
{
	assert_int_equal(softrnic_dma_unmap(end->dp.dev, dp_iova(&end->dp, memory), bytes), 0);
}

/* ---- Keys ---- */

/* Its key, or 0. */
static uint32_t
key_create(struct qw_end *end, const struct drv_mkey *conf)
{
	uint32_t key;

	return drv_mkey_create(&end->dp.drv, conf, &key) == 0 ? key : 0;
}

uint32_t
qw_key(struct qw_end *end, const struct qw_key_conf *conf)
{
	uint8_t *start = conf->start != NULL ? conf->start : end->dp.memory;
	uint64_t length = conf->start != NULL ? conf->length : DP_BYTES;
	uint32_t count = (uint32_t)((length + PAGE - 1) / PAGE), key;
	struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				 .access = conf->access | DRV_LR,
				 .log_page_size = DP_LOG_BYTES,
				 .pd = conf->pd != 0 ? conf->pd : end->dp.pd,
				 .start = (uintptr_t)start,
				 .length = length,
				 .pages = { .iova = DP_IOVA, .count = 1 },
				 .variant = KEY_VARIANT };
	uint64_t *mtts;

	if (conf->pages == NULL)
		return key_create(end, &mkey);
	mtts = calloc(count, sizeof(*mtts));
	for (uint32_t i = 0; i < count; i++)
		mtts[i] = dp_iova(&end->dp, conf->pages[i]) | RNIC_MTT_READ | RNIC_MTT_WRITE;
	mkey.log_page_size = 12;
	mkey.mtts = mtts;
	mkey.count = count;
	key = key_create(end, &mkey);
	free(mtts);
	return key;
}

struct rnic_mkc
qw_key_query(struct qw_end *end, uint32_t key)
{
	struct rnic_query_mkey_out out;

	assert_int_equal(drv_query(&end->dp.drv, RNIC_CMD_QUERY_MKEY, key >> 8, &out, sizeof(out)),
			 0);
	return *rnic_query_mkey_out_mkc(&out);
}

struct rnic_klm
qw_entry(uint32_t key, uint64_t address, uint32_t bytes)
{
	return (struct rnic_klm){ rnic_cpu_to_be32(bytes), rnic_cpu_to_be32(key),
				  rnic_cpu_to_be64(address) };
}

uint32_t
qw_list_key(struct qw_end *end, const struct rnic_klm *entries, uint32_t count)
{
	struct drv_mkey mkey = { .mode = RNIC_MKEY_KLM,
				 .access = ALL_RIGHTS,
				 .pd = end->dp.pd,
				 .klms = entries,
				 .count = count,
				 .variant = KEY_VARIANT };
	uint32_t key;

	for (uint32_t i = 0; i < count; i++)
		mkey.length += rnic_be32_to_cpu(entries[i].byte_count);
	key = key_create(end, &mkey);
	assert_int_not_equal(key, 0);
	return key;
}

uint32_t
qw_physical_key(struct qw_end *end)
{
	uint32_t key = key_create(end, &(struct drv_mkey){ .mode = RNIC_MKEY_PA,
							   .access = ALL_RIGHTS,
							   .pd = end->dp.pd,
							   .length64 = true,
							   .variant = KEY_VARIANT });

	assert_int_not_equal(key, 0);
	return key;
}

/* ---- Queue pairs ---- */

/* Whole pages, for a ring. */
static uint8_t *
alloc_pages(struct qw_end *end, size_t bytes)
{
	return dp_alloc(&end->dp, (bytes + PAGE - 1) / PAGE * PAGE, PAGE);
}

int
qw_qp_create(struct qw_end *end, struct qw_qp *qp, const struct qw_qp_conf *conf)
{
	bool has_rq = !conf->no_rq && conf->srq == NULL;
	size_t rq_bytes = has_rq ? (size_t)1 << (conf->log_rq + conf->log_stride) : 0;
	size_t sq_bytes = conf->no_sq ? 0 : (size_t)RNIC_WQEBB_BYTES << conf->log_sq;
	uint8_t *ring = rq_bytes + sq_bytes > 0 ? alloc_pages(end, rq_bytes + sq_bytes) : NULL;
	struct rnic_wq_dbrec *dbrec = dp_alloc(&end->dp, sizeof(*dbrec), 64);
	const struct drv_qp told = {
		.st = conf->st,
		.block_lb_mc = conf->block_lb_mc,
		.pd = conf->pd != 0 ? conf->pd : end->dp.pd,
		.uar = conf->bare ? 0 : end->dp.uars[conf->uar != 0 ? conf->uar : 1],
		.send_cqn = conf->send_cq->cqn,
		.receive_cqn = conf->recv_cq->cqn,
		.counter = conf->counter,
		.user_index = QW_USER_INDEX,
		.ts_format = end->dp.ts_format,
		.log_sq = conf->log_sq,
		.log_rq = conf->log_rq,
		.log_stride = conf->log_stride,
		.no_sq = conf->no_sq,
		.no_rq = conf->no_rq,
		.rlky = conf->rlky,
		.fre = conf->fre,
		.rmpn = conf->srq != NULL ? conf->srq->rmpn : 0,
		.xrcd = conf->xrcd,
		.dbrec = conf->bare ? 0 : dp_iova(&end->dp, dbrec),
		.ring = drv_pages_of(ring != NULL ? dp_iova(&end->dp, ring) : 0,
				     rq_bytes + sq_bytes),
	};
	int status = drv_qp_create(&end->dp.drv, &told, &qp->qpn);

	qp->end = end;
	qp->sq = (struct dp_sq){
		.dp = &end->dp,
		.cq = conf->send_cq,
		.sqn = qp->qpn,
		.uar = told.uar,
		.log_size = conf->log_sq,
		.ring = ring != NULL ? ring + rq_bytes : NULL,
		.dbrec = dbrec,
	};
	qp->rq = (struct dp_rq){
		.dp = &end->dp,
		.cq = conf->recv_cq,
		.log_size = conf->log_rq,
		.log_stride = conf->log_stride,
		.ring = ring,
		.dbrec = dbrec,
	};
	return status;
}

int
qw_qp_destroy(struct qw_qp *qp)
{
	return dp_destroy(&qp->end->dp, RNIC_CMD_DESTROY_QP, qp->qpn);
}

struct qw_attr
qw_attr(void)
{
	return (struct qw_attr){
		.mtu = RNIC_QP_MTU_1024,
		.psn = near_end() ? 0xfffffe : 0x123456,
		.log_rd_atomic = 2,
		.timeout = 14, /* 67 ms */
		.retry_count = 7,
		.rnr_retry = 7,
		/* 10 ms: much longer than qw_run() takes to find that nothing happens, sanitized or not. */
		.min_rnr_timer = 20,
		.qkey = QW_QKEY,
		.hop_limit = 64,
		.udp_sport = 0xc000,
	};
}

int
qw_qp_modify(struct qw_qp *qp, uint16_t opcode, const struct qw_qp *peer,
	     const struct qw_attr *attr)
{
	struct drv *drv = &qp->end->dp.drv;
	struct drv_qp_attr told = { 0 };

	if (opcode == RNIC_CMD_2ERR_QP || opcode == RNIC_CMD_2RST_QP)
		return drv_qp_modify(drv, opcode, qp->qpn, 0, NULL);
	told = (struct drv_qp_attr){ .mtu = attr->mtu,
				     .send_psn = attr->psn,
				     .receive_psn = attr->psn,
				     .log_sra_max = attr->log_rd_atomic,
				     .log_rra_max = attr->log_rd_atomic,
				     .ack_timeout = attr->timeout,
				     .retry_count = attr->retry_count,
				     .rnr_retry = attr->rnr_retry,
				     .min_rnr_timer = attr->min_rnr_timer,
				     .read = !attr->no_read,
				     .write = !attr->no_write,
				     .atomic = !attr->no_atomic,
				     .qkey = attr->qkey };
	if (peer != NULL) {
		told.remote_qpn = peer->qpn;
		told.path = (struct drv_path){ .hop_limit = attr->hop_limit,
					       .udp_sport = attr->udp_sport,
					       .traffic_class = attr->traffic_class,
					       .flow_label = attr->flow_label,
					       .priority = attr->priority,
					       .mac = mac_of(peer->end) };
		memcpy(told.path.gid, peer->end->gid, sizeof(peer->end->gid));
	}
	return drv_qp_modify(drv, opcode, qp->qpn, 0, &told);
}

void
qw_qp_to(struct qw_qp *qp, uint16_t opcode)
{
	const struct qw_attr attr = qw_attr();

	assert_int_equal(qw_qp_modify(qp, opcode, NULL, &attr), 0);
}

void
qw_connect(struct qw_qp *a, struct qw_qp *b, const struct qw_attr *attr)
{
	struct qw_qp *qps[2] = { a, b };

	for (unsigned int i = 0; i < (a == b ? 1 : 2); i++) {
		assert_int_equal(qw_qp_modify(qps[i], RNIC_CMD_RST2INIT_QP, NULL, attr), 0);
		assert_int_equal(qw_qp_modify(qps[i], RNIC_CMD_INIT2RTR_QP, qps[1 - i], attr), 0);
		assert_int_equal(qw_qp_modify(qps[i], RNIC_CMD_RTR2RTS_QP, NULL, attr), 0);
	}
}

enum rnic_qp_state
qw_qp_state(struct qw_qp *qp)
{
	struct rnic_qpc qpc;

	assert_int_equal(drv_qp_query(&qp->end->dp.drv, qp->qpn, &qpc), 0);
	return (enum rnic_qp_state)rnic_qpc_get(&qpc, RNIC_QPC_STATE);
}

struct softrnic_qp *
qw_qp_inside(struct qw_qp *qp)
{
	return softrnic_object_get(qp->end->dp.dev, SOFTRNIC_QP, qp->qpn);
}

/* ---- WQEs ---- */

void
qw_segment(struct qw_qp *qp, uint32_t ds, uint32_t key, const void *data, uint32_t bytes)
{
	struct rnic_wqe_data *segment = dp_wqe_at(&qp->sq, ds);

	segment->byte_count = rnic_cpu_to_be32(bytes);
	segment->lkey = rnic_cpu_to_be32(key);
	segment->address = rnic_cpu_to_be64((uintptr_t)data);
}

/* `more`: segments between the control segment and the remote address. */
static struct rnic_wqe_ctrl *
wqe(struct qw_qp *qp, uint8_t opcode, uint32_t more, const void *local, uint32_t bytes,
    const void *remote, uint32_t rkey, uint8_t fm_ce_se)
{
	bool atomic = opcode == RNIC_WQE_ATOMIC_CS || opcode == RNIC_WQE_ATOMIC_FA;
	bool data = opcode == RNIC_WQE_RDMA_WRITE || opcode == RNIC_WQE_RDMA_WRITE_IMM ||
		    opcode == RNIC_WQE_RDMA_READ || atomic;
	uint32_t ds = more + (atomic ? 3 : data ? 2 : 1);
	struct rnic_wqe_ctrl *ctrl = dp_wqe(&qp->sq, opcode, ds + (bytes > 0 ? 1 : 0), fm_ce_se);
	struct rnic_wqe_raddr *raddr;

	if (data) {
		raddr = dp_wqe_at(&qp->sq, 1 + more);
		raddr->address = rnic_cpu_to_be64((uintptr_t)remote);
		raddr->rkey = rnic_cpu_to_be32(rkey);
	}
	if (bytes > 0)
		qw_segment(qp, ds, qp->end->key, local, bytes);
	return ctrl;
}

struct rnic_wqe_ctrl *
qw_wqe(struct qw_qp *qp, uint8_t opcode, const void *local, uint32_t bytes, const void *remote,
       uint32_t rkey, uint8_t fm_ce_se)
{
	return wqe(qp, opcode, 0, local, bytes, remote, rkey, fm_ce_se);
}

struct rnic_wqe_ctrl *
qw_xrc_wqe(struct qw_qp *qp, uint8_t opcode, uint32_t srqn, const void *local, uint32_t bytes,
	   const void *remote, uint32_t rkey)
{
	struct rnic_wqe_ctrl *ctrl =
		wqe(qp, opcode, 1, local, bytes, remote, rkey, RNIC_WQE_CE_ALWAYS);

	*(struct rnic_wqe_xrc *)dp_wqe_at(&qp->sq, 1) =
		(struct rnic_wqe_xrc){ .srqn = rnic_cpu_to_be32(srqn) };
	return ctrl;
}

struct rnic_wqe_av
qw_av(const struct qw_end *to, uint32_t qpn, uint32_t qkey)
{
	struct rnic_wqe_av av = {
		.qkey = rnic_cpu_to_be32(qkey),
		.dqp = rnic_cpu_to_be32(RNIC_WQE_AV_EXTENDED | qpn),
		.udp_sport = rnic_cpu_to_be16(0xc123),
		.hop_limit = 64,
		.grh_gid_fl = rnic_cpu_to_be32(RNIC_WQE_AV_GRH),
	};

	memcpy(av.rmac, to->mac, sizeof(av.rmac));
	memcpy(av.rgid, to->gid, sizeof(av.rgid));
	return av;
}

struct rnic_wqe_ctrl *
qw_datagram(struct qw_qp *qp, uint8_t opcode, const struct rnic_wqe_av *av, const void *local,
	    uint32_t bytes)
{
	struct rnic_wqe_ctrl *ctrl = dp_wqe(&qp->sq, opcode, bytes > 0 ? 5 : 4, RNIC_WQE_CE_ALWAYS);

	memcpy(dp_wqe_at(&qp->sq, 1), av, sizeof(*av));
	if (bytes > 0)
		qw_segment(qp, 4, qp->end->key, local, bytes);
	return ctrl;
}

void
qw_post(struct qw_qp *qp, const struct qw_qp *peer, uint8_t opcode, const void *local,
	uint32_t bytes, const void *remote)
{
	qw_wqe(qp, opcode, local, bytes, remote, peer->end->key, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&qp->sq);
}

void
qw_recv(struct qw_qp *qp, void *data, uint32_t bytes)
{
	dp_post(&qp->rq, data, bytes);
	dp_rq_record(&qp->rq);
}

/* ---- What comes back ---- */

const struct rnic_cqe *
qw_expect(struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter, uint32_t qpn)
{
	const struct rnic_cqe *cqe = dp_cq_next(cq);

	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), opcode);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), counter);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff, qpn);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), QW_USER_INDEX);
	return cqe;
}

const struct rnic_error_cqe *
qw_expect_error(struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter, uint8_t syndrome,
		uint32_t qpn)
{
	const struct rnic_error_cqe *cqe = (const struct rnic_error_cqe *)dp_cq_next(cq);

	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), opcode);
	assert_int_equal(cqe->syndrome, syndrome);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), counter);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_qpn) & 0xffffff, qpn);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn), QW_USER_INDEX);
	return cqe;
}

void
qw_expect_nothing(struct dp_cq *cq)
{
	assert_null(dp_cq_peek(cq));
}

uint8_t
qw_event(struct qw_end *end, uint32_t *number)
{
	const struct rnic_eqe *eqe;

	do {
		eqe = dp_eq_next(&end->dp);
	} while (eqe != NULL && eqe->type == RNIC_EVENT_COMPLETION);
	if (eqe == NULL)
		return 0;
	if (number != NULL)
		*number = rnic_be32_to_cpu(eqe->data[6]) & 0xffffff;
	return eqe->type;
}

void
qw_expect_event(struct qw_end *end, uint8_t type, uint32_t number)
{
	uint32_t n = 0;

	assert_int_equal(qw_event(end, &n), type);
	assert_int_equal(n, number);
	assert_int_equal(qw_event(end, NULL), 0);
}

/* ---- Two of them ---- */

struct qw_two *
qw_two_open(const struct qw_conf *conf)
{
	const struct dp_cq_conf cq = { .log_size = 8, .uar = 1 };
	struct qw_two *two = calloc(1, sizeof(*two));
	struct qw_end *a, *b;

	assert_non_null(two);
	qw_open(&two->qw, conf);
	a = two->qw.ends[0];
	b = two->qw.ends[1];
	assert_int_equal(dp_cq_create(&a->dp, &two->a_send, &cq), 0);
	assert_int_equal(dp_cq_create(&a->dp, &two->a_recv, &cq), 0);
	assert_int_equal(dp_cq_create(&b->dp, &two->b_send, &cq), 0);
	assert_int_equal(dp_cq_create(&b->dp, &two->b_recv, &cq), 0);
	two->out = dp_alloc(&a->dp, QW_BUFFER + PAGE, PAGE);
	two->in = dp_alloc(&b->dp, QW_BUFFER + PAGE, PAGE);
	assert_non_null(two->out);
	assert_non_null(two->in);
	return two;
}

struct qw_qp_conf
qw_two_qp_conf(struct qw_two *two, bool b)
{
	return (struct qw_qp_conf){
		.send_cq = b ? &two->b_send : &two->a_send,
		.recv_cq = b ? &two->b_recv : &two->a_recv,
		.log_sq = QW_LOG_SQ,
		.log_rq = QW_LOG_RQ,
		.log_stride = 6,
		.uar = b ? 2 : 1,
	};
}

void
qw_two_more(struct qw_two *two, struct qw_qp *a, const struct qw_qp_conf *a_conf, struct qw_qp *b,
	    const struct qw_qp_conf *b_conf, const struct qw_attr *attr)
{
	assert_int_equal(qw_qp_create(two->qw.ends[0], a, a_conf), 0);
	assert_int_equal(qw_qp_create(two->qw.ends[1], b, b_conf), 0);
	qw_connect(a, b, attr);
}

void
qw_two_connect(struct qw_two *two, const struct qw_attr *attr)
{
	const struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);

	qw_two_more(two, &two->a, &a, &two->b, &b, attr);
}

void
qw_two_reconnect(struct qw_two *two, const struct qw_attr *attr)
{
	assert_int_equal(qw_qp_destroy(&two->a), 0);
	assert_int_equal(qw_qp_destroy(&two->b), 0);
	qw_two_connect(two, attr);
}

void
qw_two_replace(struct qw_two *two, bool b, const struct qw_qp_conf *conf)
{
	struct qw_qp *qp = b ? &two->b : &two->a;
	const struct qw_attr attr = qw_attr();

	assert_int_equal(qw_qp_destroy(qp), 0);
	assert_int_equal(qw_qp_create(two->qw.ends[b], qp, conf), 0);
	qw_qp_to(b ? &two->a : &two->b, RNIC_CMD_2RST_QP);
	qw_connect(&two->a, &two->b, &attr);
}

void
qw_two_close(struct qw_two *two)
{
	qw_close(&two->qw);
	free(two);
}

void
qw_write(struct qw_two *two, uint8_t ce)
{
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in, two->b.end->key, ce);
}

void
qw_execute(struct qw_two *two, uint8_t opcode, const void *local, uint32_t bytes,
	   const void *remote)
{
	qw_post(&two->a, &two->b, opcode, local, bytes, remote);
	qw_run(&two->qw);
}

void
qw_go(struct qw_two *two)
{
	dp_sq_ring(&two->a.sq);
	qw_run(&two->qw);
}

const struct rnic_cqe *
qw_done(struct qw_two *two, uint16_t counter)
{
	return qw_expect(&two->a_send, RNIC_CQE_REQUESTER, counter, two->a.qpn);
}

void
qw_requests(struct qw_two *two)
{
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 1, two->in);
	qw_done(two, 0);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 8192, two->in);
	qw_done(two, 1);
	assert_memory_equal(two->in, two->out, 8192);
	qw_recv(&two->b, two->in + 8192, 100);
	qw_execute(two, RNIC_WQE_SEND, two->out + 1, 100, NULL);
	qw_done(two, 2);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
	assert_memory_equal(two->in + 8192, two->out + 1, 100);
	qw_fill(two->in, 5000, 9);
	qw_execute(two, RNIC_WQE_RDMA_READ, two->out, 5000, two->in);
	qw_done(two, 3);
	assert_memory_equal(two->in, two->out, 5000);
}

void
qw_failed(struct qw_two *two, uint16_t counter, uint8_t syndrome)
{
	qw_expect_error(&two->a_send, RNIC_CQE_REQUESTER_ERROR, counter, syndrome, two->a.qpn);
}

/* ---- For cmocka ---- */

int
qw_setup(void **state, const struct qw_conf *conf, const struct qw_attr *attr)
{
	const struct qw_attr usual = qw_attr();
	struct qw_two *two = qw_two_open(conf);

	qw_two_connect(two, attr != NULL ? attr : &usual);
	qw_fill(two->out, 8192, 1);
	*state = two;
	return 0;
}

int
qw_setup_pair(void **state)
{
	return qw_setup(state, &(struct qw_conf){ .pair = true }, NULL);
}

int
qw_setup_islands(void **state)
{
	return qw_setup(state, &(struct qw_conf){ .pair = true, .islands = true }, NULL);
}

int
qw_teardown(void **state)
{
	qw_two_close(*state);
	return 0;
}

int
qw_fixture_teardown(void **state)
{
	struct qw_two **two = *state;

	qw_two_close(*two);
	free(two);
	return 0;
}

void
qw_fill(void *data, size_t bytes, uint32_t seed)
{
	uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)((i * 7 + (i >> 8) * 13 + (i >> 16) * 31 + seed * 29) | 1);
}
