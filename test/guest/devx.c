/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A user of Linux' DevX: devx DEVICE PEER, whose cable is the device's. Its commands are those of test/driver, which go through libmlx5 and the kernel; its rings, records and
 * memory lie in one umem. Each step prints a line, and the first one that is not as it should be ends the program.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "driver/cq.h"
#include "driver/flow.h"
#include "driver/mkey.h"
#include "driver/qp.h"
#include "driver/rmp.h"
#include "driver/rq.h"
#include "driver/rqt.h"
#include "driver/sq.h"
#include "driver/tir.h"
#include "driver/tis.h"
#include "driver/umem.h"
#include "prm/wqe.h"

#define PAGE	 4096u
#define BYTES	 (64u * PAGE)
#define OBJECTS	 64
#define LOG_SIZE 4
#define ENTRIES	 (1u << LOG_SIZE)
#define WAIT_S	 20
#define PSN	 0x123456u
#define REFUSED	 0x1000 /* by Linux or by libmlx5, with an errno and no status of the device's */

/* ---- The door ---- */

struct user {
	struct drv drv; /* first */
	struct ibv_context *context;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	uint8_t *memory; /* the umem's */
	uint32_t used;	 /* of it */
	uint32_t eqn, pd, td, key;
	struct object {
		uint16_t destroys; /* with which command it goes */
		uint32_t number;
		struct mlx5dv_devx_obj *of;
	} objects[OBJECTS];
};

static void __attribute__((format(printf, 2, 3))) must(bool good, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("%s ", good ? "good" : "bad");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
	fflush(stdout);
	if (!good)
		exit(1);
}

static struct object *
object_find(struct user *user, uint16_t destroys, uint32_t number)
{
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (user->objects[i].of != NULL && user->objects[i].destroys == destroys &&
		    user->objects[i].number == number)
			return &user->objects[i];
	return NULL;
}

/* Which command destroys what this one is about, by the order that the manual has them in; 0: none does. */
static uint16_t
destroys(uint16_t opcode)
{
	static const struct {
		uint16_t first, last, destroys;
	} ranges[] = {
		{ RNIC_CMD_CREATE_MKEY, RNIC_CMD_DESTROY_MKEY, RNIC_CMD_DESTROY_MKEY },
		{ RNIC_CMD_CREATE_CQ, RNIC_CMD_MODIFY_CQ, RNIC_CMD_DESTROY_CQ },
		{ RNIC_CMD_CREATE_QP, RNIC_CMD_SQD2SQD_QP, RNIC_CMD_DESTROY_QP },
		{ RNIC_CMD_ALLOC_PD, RNIC_CMD_DEALLOC_PD, RNIC_CMD_DEALLOC_PD },
		{ RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN,
		  RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN },
		{ RNIC_CMD_CREATE_TIR, RNIC_CMD_QUERY_TIR, RNIC_CMD_DESTROY_TIR },
		{ RNIC_CMD_CREATE_SQ, RNIC_CMD_QUERY_SQ, RNIC_CMD_DESTROY_SQ },
		{ RNIC_CMD_CREATE_RQ, RNIC_CMD_QUERY_RQ, RNIC_CMD_DESTROY_RQ },
		{ RNIC_CMD_CREATE_RMP, RNIC_CMD_QUERY_RMP, RNIC_CMD_DESTROY_RMP },
		{ RNIC_CMD_CREATE_TIS, RNIC_CMD_QUERY_TIS, RNIC_CMD_DESTROY_TIS },
		{ RNIC_CMD_CREATE_RQT, RNIC_CMD_QUERY_RQT, RNIC_CMD_DESTROY_RQT },
		{ RNIC_CMD_ALLOC_FLOW_COUNTER, RNIC_CMD_QUERY_FLOW_COUNTER,
		  RNIC_CMD_DEALLOC_FLOW_COUNTER },
	};

	for (unsigned int i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (opcode >= ranges[i].first && opcode <= ranges[i].last)
			return ranges[i].destroys;
	return 0;
}

/* A number, or what Linux says in its place. */
static int
create(struct user *user, uint16_t opcode, void *in, uint32_t in_bytes, void *out,
       uint32_t out_bytes)
{
	struct object *object = user->objects;

	while (object->of != NULL)
		object++;
	if (object == user->objects + OBJECTS)
		return REFUSED | ENOSPC;
	object->of = mlx5dv_devx_obj_create(user->context, in, in_bytes, out, out_bytes);
	if (object->of == NULL)
		return errno;
	object->destroys = destroys(opcode);
	object->number = (uint32_t)rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER);
	return 0;
}

static bool
is_query(uint16_t opcode)
{
	static const uint16_t queries[] = { RNIC_CMD_QUERY_MKEY, RNIC_CMD_QUERY_CQ,
					    RNIC_CMD_QUERY_QP,	 RNIC_CMD_QUERY_TIR,
					    RNIC_CMD_QUERY_SQ,	 RNIC_CMD_QUERY_RQ,
					    RNIC_CMD_QUERY_RMP,	 RNIC_CMD_QUERY_TIS,
					    RNIC_CMD_QUERY_RQT,	 RNIC_CMD_QUERY_FLOW_COUNTER };

	for (unsigned int i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (queries[i] == opcode)
			return true;
	return false;
}

static bool
is_create(uint16_t opcode)
{
	static const uint16_t creates[] = { RNIC_CMD_CREATE_MKEY,
					    RNIC_CMD_CREATE_CQ,
					    RNIC_CMD_CREATE_QP,
					    RNIC_CMD_ALLOC_PD,
					    RNIC_CMD_ALLOC_TRANSPORT_DOMAIN,
					    RNIC_CMD_CREATE_TIR,
					    RNIC_CMD_CREATE_SQ,
					    RNIC_CMD_CREATE_RQ,
					    RNIC_CMD_CREATE_RMP,
					    RNIC_CMD_CREATE_TIS,
					    RNIC_CMD_CREATE_RQT,
					    RNIC_CMD_ALLOC_FLOW_COUNTER };

	for (unsigned int i = 0; i < sizeof(creates) / sizeof(creates[0]); i++)
		if (creates[i] == opcode)
			return true;
	return false;
}

/* What it is about: mostly at the same place. */
static uint32_t
number_in(const void *in, uint16_t opcode)
{
	return (uint32_t)(opcode == RNIC_CMD_QUERY_FLOW_COUNTER
				  ? rnic_query_flow_counter_in_get(
					    in, RNIC_QUERY_FLOW_COUNTER_IN_FLOW_COUNTER_ID)
				  : rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));
}

/* Of a command that the device has refused, Linux hands its answer on. */
static int
execute(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	struct user *user = (struct user *)drv;
	const uint16_t opcode = (uint16_t)rnic_cmd_in_get(in, RNIC_CMD_IN_OPCODE);
	struct object *object;
	int rc;

	memset(out, 0, out_bytes);
	if (is_create(opcode)) {
		in_bytes = drv_umem_move(in, in_bytes, user->umem->umem_id, 0);
		rc = create(user, opcode, in, in_bytes, out, out_bytes);
	} else {
		object = object_find(user, destroys(opcode), number_in(in, opcode));
		if (object == NULL)
			rc = mlx5dv_devx_general_cmd(user->context, in, in_bytes, out, out_bytes);
		else if (opcode == object->destroys)
			rc = mlx5dv_devx_obj_destroy(object->of);
		else if (is_query(opcode))
			rc = mlx5dv_devx_obj_query(object->of, in, in_bytes, out, out_bytes);
		else
			rc = mlx5dv_devx_obj_modify(object->of, in, in_bytes, out, out_bytes);
		if (rc == 0 && object != NULL && opcode == object->destroys)
			object->of = NULL;
	}
	if (rc == 0)
		return 0;
	rc = (int)rnic_cmd_out_get(out, RNIC_CMD_OUT_STATUS);
	return rc != 0 ? rc : REFUSED | errno;
}

/* Memory of the umem: where it is there. */
static uint32_t
take(struct user *user, uint32_t bytes)
{
	const uint32_t at = user->used;

	user->used += (bytes + PAGE - 1) / PAGE * PAGE;
	must(user->used <= BYTES, "memory for %u bytes", bytes);
	return at;
}

static void
user_open(struct user *user, struct ibv_device *device)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct drv_mkey key = { .mode = RNIC_MKEY_MTT,
				.access = DRV_LR | DRV_LW | DRV_RR | DRV_RW,
				.log_page_size = 12,
				.length = BYTES };

	memset(user, 0, sizeof(*user));
	user->drv.execute = execute;
	user->context = mlx5dv_open_device(device, &attr);
	must(user->context != NULL, "a context with DevX");
	must(posix_memalign((void **)&user->memory, PAGE, BYTES) == 0, "memory");
	memset(user->memory, 0, BYTES);
	user->umem = mlx5dv_devx_umem_reg(user->context, user->memory, BYTES,
					  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						  IBV_ACCESS_REMOTE_READ);
	must(user->umem != NULL, "a umem");
	user->uar = mlx5dv_devx_alloc_uar(user->context, MLX5DV_UAR_ALLOC_TYPE_NC);
	must(user->uar != NULL, "a UAR page");
	must(mlx5dv_devx_query_eqn(user->context, 0, &user->eqn) == 0, "an EQ's number");
	must(drv_simple(&user->drv, RNIC_CMD_ALLOC_PD, 0, &user->pd) == 0, "a PD");
	must(drv_simple(&user->drv, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, 0, &user->td) == 0, "a TD");
	key.pd = user->pd;
	key.start = (uintptr_t)user->memory;
	key.umem = user->umem->umem_id;
	must(drv_mkey_create(&user->drv, &key, &user->key) == 0, "a memory key");
}

/* ---- Queues ---- */

struct cq {
	struct user *user;
	uint32_t cqn, at, consumer;
	struct rnic_cq_dbrec *dbrec;
};

struct qp {
	struct user *user;
	uint32_t qpn, ring, rmp_ring;
	uint16_t sent, received;
	struct rnic_wq_dbrec *dbrec, *rmp_dbrec;
};

static int
cq_create(struct user *user, struct cq *cq)
{
	struct drv_cq conf = { .log_size = LOG_SIZE, .uar = user->uar->page_id, .eqn = user->eqn };

	cq->user = user;
	cq->consumer = 0;
	cq->at = take(user, ENTRIES * 64);
	for (unsigned int i = 0; i < ENTRIES; i++)
		user->memory[cq->at + 64 * i + 63] = 0xf1; /* invalid, and the device's */
	conf.ring = drv_pages_of(cq->at, ENTRIES * 64);
	conf.dbrec = take(user, 8);
	cq->dbrec = (void *)(user->memory + conf.dbrec);
	return drv_cq_create(&user->drv, &conf, &cq->cqn);
}

/* The next completion: its opcode; -1: none comes. */
static int
cq_next(struct cq *cq)
{
	const struct rnic_cqe *cqe;
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += WAIT_S;
	do {
		cqe = drv_cqe_next(cq->user->memory + cq->at, LOG_SIZE, 64, cq->consumer);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (cqe == NULL && now.tv_sec < end.tv_sec);
	if (cqe == NULL)
		return -1;
	cq->consumer++;
	cq->dbrec->consumer_index = rnic_cpu_to_be32(cq->consumer & 0xffffff);
	return RNIC_CQE_OPCODE(cqe->op_own);
}

/* Receive WQEs of 64 bytes, then as many send WQEBBs. */
static int
qp_create(struct user *user, struct qp *qp, const struct cq *send, const struct cq *receive,
	  uint32_t pd, uint32_t rmpn)
{
	struct drv_qp conf = { .st = RNIC_QP_ST_RC,
			       .pd = pd,
			       .uar = user->uar->page_id,
			       .send_cqn = send->cqn,
			       .receive_cqn = receive->cqn,
			       .log_sq = LOG_SIZE,
			       .log_rq = LOG_SIZE,
			       .log_stride = 6,
			       .rmpn = rmpn };

	*qp = (struct qp){ .user = user, .ring = take(user, 2 * ENTRIES * 64) };
	conf.ring = drv_pages_of(qp->ring, 2 * ENTRIES * 64);
	conf.dbrec = take(user, 8);
	qp->dbrec = (void *)(user->memory + conf.dbrec);
	return drv_qp_create(&user->drv, &conf, &qp->qpn);
}

static void
qp_connect(struct qp *qp, const struct qp *peer, const uint8_t gid[16], uint64_t mac)
{
	static const uint16_t steps[] = { RNIC_CMD_RST2INIT_QP, RNIC_CMD_INIT2RTR_QP,
					  RNIC_CMD_RTR2RTS_QP };
	struct drv_qp_attr attr = { .remote_qpn = peer->qpn,
				    .mtu = RNIC_QP_MTU_1024,
				    .send_psn = PSN,
				    .receive_psn = PSN,
				    .log_sra_max = 2,
				    .log_rra_max = 2,
				    .ack_timeout = 14,
				    .retry_count = 7,
				    .rnr_retry = 7,
				    .min_rnr_timer = 12,
				    .read = true,
				    .write = true,
				    .path = { .hop_limit = 64, .udp_sport = 0xc000, .mac = mac } };

	memcpy(attr.path.gid, gid, sizeof(attr.path.gid));
	for (unsigned int i = 0; i < 3; i++)
		must(drv_qp_modify(&qp->user->drv, steps[i], qp->qpn, 0, &attr) == 0,
		     "queue pair, change 0x%x", steps[i]);
}

static void
qp_receive(struct qp *qp, uint32_t at, uint32_t bytes)
{
	struct rnic_wqe_data *segments =
		(void *)(qp->user->memory + qp->ring + 64ul * (qp->received % ENTRIES));

	segments[0] = (struct rnic_wqe_data){
		.byte_count = rnic_cpu_to_be32(bytes),
		.lkey = rnic_cpu_to_be32(qp->user->key),
		.address = rnic_cpu_to_be64((uintptr_t)qp->user->memory + at),
	};
	segments[1] = (struct rnic_wqe_data){ .lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY) };
	qp->received++;
	__atomic_store_n(&qp->dbrec->receive_counter.raw, rnic_cpu_to_be32(qp->received).raw,
			 __ATOMIC_RELEASE);
}

/* One WQEBB: control, remote address if the opcode has one, data. */
static void
qp_post(struct qp *qp, uint8_t opcode, uint32_t from, uint32_t bytes, uint32_t to)
{
	uint8_t *wqe = qp->user->memory + qp->ring + 64ul * (ENTRIES + qp->sent % ENTRIES);
	const bool has_remote = opcode != RNIC_WQE_SEND;
	struct rnic_wqe_ctrl *ctrl = (void *)wqe;
	struct rnic_wqe_raddr *remote = (void *)(ctrl + 1);
	struct rnic_wqe_data *data = (void *)(wqe + (has_remote ? 32 : 16));
	uint64_t head;

	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, qp->sent, opcode)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(qp->qpn, has_remote ? 3 : 2)),
		.fm_ce_se = RNIC_WQE_CE_ALWAYS,
	};
	if (has_remote)
		*remote = (struct rnic_wqe_raddr){
			.address = rnic_cpu_to_be64((uintptr_t)qp->user->memory + to),
			.rkey = rnic_cpu_to_be32(qp->user->key),
		};
	*data = (struct rnic_wqe_data){
		.byte_count = rnic_cpu_to_be32(bytes),
		.lkey = rnic_cpu_to_be32(qp->user->key),
		.address = rnic_cpu_to_be64((uintptr_t)qp->user->memory + from),
	};
	qp->sent++;
	__atomic_store_n(&qp->dbrec->send_counter.raw, rnic_cpu_to_be32(qp->sent).raw,
			 __ATOMIC_RELEASE);
	memcpy(&head, wqe, sizeof(head));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)qp->user->uar->reg_addr = head;
}

/* ---- What is tried ---- */

static struct user user, third, other; /* two of the device, one of its peer */
static struct cq send_cq, receive_cq;
static struct qp qps[2];
static uint32_t from, to;

static void
fill(uint32_t at, uint32_t bytes, uint8_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		user.memory[at + i] = (uint8_t)(seed + i * 7);
}

static bool
same(uint32_t bytes)
{
	return memcmp(user.memory + from, user.memory + to, bytes) == 0;
}

/* Over the ends of all rings. */
static void
traffic(void)
{
	for (uint8_t i = 0; i < 3 * ENTRIES; i++) {
		fill(from, 2000, i);
		qp_receive(&qps[1], to, 2000);
		qp_post(&qps[0], RNIC_WQE_SEND, from, 2000, 0);
		if (cq_next(&receive_cq) != RNIC_CQE_RESPONDER_SEND ||
		    cq_next(&send_cq) != RNIC_CQE_REQUESTER || !same(2000))
			must(false, "SEND %u", i);
	}
	must(true, "SENDs");
	fill(from, 3000, 0x55);
	qp_post(&qps[0], RNIC_WQE_RDMA_WRITE, from, 3000, to);
	must(cq_next(&send_cq) == RNIC_CQE_REQUESTER && same(3000), "a WRITE");
	fill(to, 3000, 0x77);
	qp_post(&qps[0], RNIC_WQE_RDMA_READ, from, 3000, to);
	must(cq_next(&send_cq) == RNIC_CQE_REQUESTER && same(3000), "a READ");
}

/* SQ, RQ, RMP, TIS, TIR and RQT: made, queried, changed. */
static uint32_t ethernet[6]; /* numbers, in the order of the words before */
static uint32_t rq_ring;
static struct rnic_wq_dbrec *rq_dbrec;

static void
ethernet_objects(void)
{
	struct drv_sq sq = {
		.log_size = LOG_SIZE, .pd = user.pd, .uar = user.uar->page_id, .cqn = send_cq.cqn
	};
	struct drv_rq rq = {
		.log_size = LOG_SIZE, .log_stride = 6, .pd = user.pd, .cqn = receive_cq.cqn
	};
	struct drv_rmp rmp = { .log_size = LOG_SIZE, .log_stride = 6, .pd = user.pd };
	struct drv_tir tir = { .td = user.td };
	struct rnic_sqc sqc;

	must(drv_tis_create(&user.drv, user.td, &ethernet[3]) == 0, "a TIS");
	sq.tisn = ethernet[3];
	sq.ring = drv_pages_of(take(&user, ENTRIES * 64), ENTRIES * 64);
	sq.dbrec = take(&user, 8);
	must(drv_sq_create(&user.drv, &sq, &ethernet[0]) == 0, "an SQ");
	must(drv_sq_modify(&user.drv, ethernet[0], RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY) == 0,
	     "an SQ that is ready");
	must(drv_sq_query(&user.drv, ethernet[0], &sqc) == 0 &&
		     rnic_sqc_get(&sqc, RNIC_SQC_STATE) == RNIC_WQ_STATE_RDY,
	     "an SQ's state");
	rq_ring = take(&user, ENTRIES * 64);
	rq.ring = drv_pages_of(rq_ring, ENTRIES * 64);
	rq.dbrec = take(&user, 8);
	rq_dbrec = (void *)(user.memory + rq.dbrec);
	must(drv_rq_create(&user.drv, &rq, &ethernet[1]) == 0, "an RQ");
	must(drv_rq_modify(&user.drv, ethernet[1], RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY) == 0,
	     "an RQ that is ready");
	rmp.ring = drv_pages_of(take(&user, ENTRIES * 64), ENTRIES * 64);
	rmp.dbrec = take(&user, 8);
	must(drv_rmp_create(&user.drv, &rmp, &ethernet[2]) == 0, "an RMP");
	tir.rqn = ethernet[1];
	must(drv_tir_create(&user.drv, &tir, &ethernet[4]) == 0, "a TIR");
	must(drv_rqt_create(&user.drv, &ethernet[1], 1, &ethernet[5]) == 0, "an RQT");
}

/* Frames of the peer's SQ, which a flow counts and sends to our RQ. */
#define FRAMES 40u
#define LENGTH 200u
#define TYPE   "\x88\xb5" /* of Ethernet: a local one */

static struct cq peer_cq;
static uint32_t peer_sqn, peer_ring, peer_frame;
static struct rnic_wq_dbrec *peer_dbrec;

static void
peer_open(void)
{
	struct drv_sq sq = { .log_size = LOG_SIZE, .pd = other.pd, .uar = other.uar->page_id };

	must(cq_create(&other, &peer_cq) == 0, "the peer's CQ");
	must(drv_tis_create(&other.drv, other.td, &sq.tisn) == 0, "the peer's TIS");
	peer_ring = take(&other, ENTRIES * 64);
	sq.ring = drv_pages_of(peer_ring, ENTRIES * 64);
	sq.dbrec = take(&other, 8);
	sq.cqn = peer_cq.cqn;
	peer_dbrec = (void *)(other.memory + sq.dbrec);
	peer_frame = take(&other, LENGTH);
	must(drv_sq_create(&other.drv, &sq, &peer_sqn) == 0 &&
		     drv_sq_modify(&other.drv, peer_sqn, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY) == 0,
	     "the peer's SQ");
}

/* A WQEBB: control, Ethernet with 18 bytes of the header in it, the rest of the frame. */
static void
peer_send(uint16_t index)
{
	uint8_t *wqe = other.memory + peer_ring + 64ul * (index % ENTRIES);
	struct rnic_wqe_ctrl *ctrl = (void *)wqe;
	struct rnic_wqe_eth *eth = (void *)(ctrl + 1);
	struct rnic_wqe_data *data = (void *)(wqe + 48);
	uint64_t head;

	memset(wqe, 0, 64);
	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, index, RNIC_WQE_SEND)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(peer_sqn, 4)),
		.fm_ce_se = RNIC_WQE_CE_ALWAYS,
	};
	eth->inline_header_size = rnic_cpu_to_be16(18);
	memcpy((uint8_t *)eth + 14, other.memory + peer_frame, 18);
	*data = (struct rnic_wqe_data){
		.byte_count = rnic_cpu_to_be32(LENGTH - 18),
		.lkey = rnic_cpu_to_be32(other.key),
		.address = rnic_cpu_to_be64((uintptr_t)other.memory + peer_frame + 18),
	};
	__atomic_store_n(&peer_dbrec->send_counter.raw, rnic_cpu_to_be32((uint16_t)(index + 1)).raw,
			 __ATOMIC_RELEASE);
	memcpy(&head, wqe, sizeof(head));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)other.uar->reg_addr = head;
}

static uint32_t flow_counter;
static struct mlx5dv_flow_matcher *matcher;
static struct ibv_flow *flow;

static struct mlx5dv_flow_match_parameters *
match_of(uint16_t type)
{
	struct mlx5dv_flow_match_parameters *match =
		calloc(1, sizeof(*match) + sizeof(struct rnic_fte_match_param));

	must(match != NULL, "memory");
	match->match_sz = sizeof(struct rnic_fte_match_param);
	rnic_fte_match_set_lyr_2_4_set(rnic_fte_match_param_outer((void *)match->match_buf),
				       RNIC_FTE_MATCH_SET_LYR_2_4_ETHERTYPE, type);
	return match;
}

static void
flow_open(void)
{
	struct mlx5dv_flow_matcher_attr attr = { .type = IBV_FLOW_ATTR_NORMAL,
						 .match_criteria_enable = RNIC_MATCH_OUTER_HEADERS,
						 .match_mask = match_of(0xffff) };
	struct mlx5dv_flow_match_parameters *value = match_of(0x88b5);
	struct mlx5dv_flow_action_attr actions[2] = {
		{ .type = MLX5DV_FLOW_ACTION_DEST_DEVX },
		{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX },
	};

	must(drv_flow_counter_alloc(&user.drv, 0, &flow_counter) == 0, "a flow counter");
	actions[0].obj = object_find(&user, RNIC_CMD_DESTROY_TIR, ethernet[4])->of;
	actions[1].obj = object_find(&user, RNIC_CMD_DEALLOC_FLOW_COUNTER, flow_counter)->of;
	matcher = mlx5dv_create_flow_matcher(user.context, &attr);
	must(matcher != NULL, "a matcher");
	flow = mlx5dv_create_flow(matcher, value, 2, actions);
	must(flow != NULL, "a flow to a TIR and a counter of ours");
	free(attr.match_mask);
	free(value);
}

static void
frames(const uint8_t to_mac[6])
{
	struct drv_flow_count count;

	peer_open();
	flow_open();
	memset(other.memory + peer_frame, 0x5a, LENGTH);
	memcpy(other.memory + peer_frame, to_mac, 6);
	memcpy(other.memory + peer_frame + 6, "\x02\x00\x00\x00\x01\x02" TYPE, 8);
	for (uint16_t i = 0; i < FRAMES; i++) {
		struct rnic_wqe_data *segment =
			(void *)(user.memory + rq_ring + 64ul * (i % ENTRIES));

		segment[0] = (struct rnic_wqe_data){
			.byte_count = rnic_cpu_to_be32(PAGE),
			.lkey = rnic_cpu_to_be32(user.key),
			.address = rnic_cpu_to_be64((uintptr_t)user.memory + to),
		};
		segment[1].lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY);
		__atomic_store_n(&rq_dbrec->receive_counter.raw,
				 rnic_cpu_to_be32((uint16_t)(i + 1)).raw, __ATOMIC_RELEASE);
		other.memory[peer_frame + 100] = (uint8_t)i;
		peer_send(i);
		if (cq_next(&peer_cq) != RNIC_CQE_REQUESTER ||
		    cq_next(&receive_cq) != RNIC_CQE_RESPONDER_SEND ||
		    memcmp(user.memory + to, other.memory + peer_frame, LENGTH) != 0)
			must(false, "frame %u", i);
	}
	must(true, "frames");
	must(drv_flow_counter_query(&user.drv, flow_counter, 0, false, &count) == 0,
	     "a flow counter is read");
	must(count.packets == FRAMES && count.octets == FRAMES * LENGTH,
	     "%lu frames of %lu bytes are counted", count.packets, count.octets);
	must(drv_flow_counter_dealloc(&user.drv, flow_counter) != 0, "a counter in use stays");
	must(ibv_destroy_flow(flow) == 0 && mlx5dv_destroy_flow_matcher(matcher) == 0,
	     "a flow goes");
	must(drv_flow_counter_dealloc(&user.drv, flow_counter) == 0, "a counter goes");
}

/* What is another user's, or the kernel's, is not there. */
static void
refusals(void)
{
	struct qp qp;

	must(qp_create(&user, &qp, &send_cq, &receive_cq, third.pd, 0) == RNIC_STATUS_BAD_RES,
	     "another user's PD is refused");
	must(qp_create(&third, &qp, &send_cq, &receive_cq, third.pd, 0) == RNIC_STATUS_BAD_RES,
	     "another user's CQs are refused");
	must(qp_create(&user, &qp, &send_cq, &receive_cq, 0xfffff, 0) == RNIC_STATUS_BAD_RES,
	     "a PD that is none is refused");
}

/* Commands of cards that this one does not know, as Linux hands its answer on. doc/design/foreign_drivers.md has each. */
static void
not_there(void)
{
	static const struct {
		uint16_t opcode;
		const char *name;
	} commands[] = {
		{ 0x782, "CREATE_SCHEDULING_ELEMENT" },
		{ 0x700, "CREATE_SRQ" },
		{ 0x710, "CREATE_DCT" },
		{ 0x717, "CREATE_XRQ" },
		{ 0x600, "CREATE_PSV" },
		{ 0x93d, "ALLOC_PACKET_REFORMAT_CONTEXT" },
		{ 0x940, "ALLOC_MODIFY_HEADER_CONTEXT" },
		{ 0xa00, "CREATE_GENERAL_OBJECT" },
	};
	/* Of PSVs, one is asked for: Linux forwards no other number. */
	union {
		struct rnic_cmd_in head;
		uint8_t bytes[512];
	} in = { .bytes = { [8] = 0x10 } };
	struct rnic_cmd_out out;

	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		rnic_cmd_in_set(&in.head, RNIC_CMD_IN_OPCODE, commands[i].opcode);
		memset(&out, 0, sizeof(out));
		must(mlx5dv_devx_obj_create(user.context, &in, sizeof(in), &out, sizeof(out)) ==
				     NULL &&
			     rnic_cmd_out_get(&out, RNIC_CMD_OUT_STATUS) == RNIC_STATUS_BAD_OP,
		     "%s: bad operation", commands[i].name);
	}
}

static int
destroy(uint16_t opcode, uint32_t number)
{
	return drv_destroy(&user.drv, opcode, number);
}

/* Each pair in the wrong order first. */
static void
destroys_in_order(void)
{
	must(destroy(RNIC_CMD_DEALLOC_PD, user.pd) != 0, "a PD in use stays");
	must(destroy(RNIC_CMD_DESTROY_CQ, send_cq.cqn) != 0, "a CQ in use stays");
	must(destroy(RNIC_CMD_DESTROY_TIS, ethernet[3]) != 0, "a TIS in use stays");
	must(destroy(RNIC_CMD_DESTROY_RQ, ethernet[1]) != 0, "an RQ in use stays");
	must(destroy(RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, user.td) != 0, "a TD in use stays");
	must(mlx5dv_devx_umem_dereg(user.umem) != 0, "a umem in use stays");
	must(destroy(RNIC_CMD_DESTROY_RQT, ethernet[5]) == 0, "an RQT goes");
	must(destroy(RNIC_CMD_DESTROY_TIR, ethernet[4]) == 0, "a TIR goes");
	must(destroy(RNIC_CMD_DESTROY_RQ, ethernet[1]) == 0, "an RQ goes");
	must(destroy(RNIC_CMD_DESTROY_RMP, ethernet[2]) == 0, "an RMP goes");
	must(destroy(RNIC_CMD_DESTROY_SQ, ethernet[0]) == 0, "an SQ goes");
	must(destroy(RNIC_CMD_DESTROY_TIS, ethernet[3]) == 0, "a TIS goes");
	must(destroy(RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, user.td) == 0, "a TD goes");
	for (unsigned int i = 0; i < 2; i++)
		must(destroy(RNIC_CMD_DESTROY_QP, qps[i].qpn) == 0, "a queue pair goes");
	must(destroy(RNIC_CMD_DESTROY_CQ, send_cq.cqn) == 0 &&
		     destroy(RNIC_CMD_DESTROY_CQ, receive_cq.cqn) == 0,
	     "CQs go");
	must(mlx5dv_devx_umem_dereg(user.umem) != 0, "a umem of a memory key stays");
	must(destroy(RNIC_CMD_DESTROY_MKEY, user.key >> 8) == 0, "a memory key goes");
	must(destroy(RNIC_CMD_DEALLOC_PD, user.pd) == 0, "a PD goes");
	must(mlx5dv_devx_umem_dereg(user.umem) == 0, "a umem goes");
}

static struct ibv_device *
device_of(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list != NULL && *list != NULL; list++)
		if (strcmp(ibv_get_device_name(*list), name) == 0)
			return *list;
	return NULL;
}

/* The link-local address has the MAC address in it. */
static uint64_t
mac_of(const uint8_t gid[16])
{
	return (uint64_t)(gid[8] ^ 2) << 40 | (uint64_t)gid[9] << 32 | (uint64_t)gid[10] << 24 |
	       (uint64_t)gid[13] << 16 | (uint64_t)gid[14] << 8 | gid[15];
}

int
main(int argc, char **argv)
{
	struct ibv_device *device = argc == 3 ? device_of(argv[1]) : NULL;
	struct ibv_device *peer = argc == 3 ? device_of(argv[2]) : NULL;
	uint8_t mac[6];
	union ibv_gid gid;

	must(device != NULL && peer != NULL, "the devices");
	user_open(&user, device);
	user_open(&third, device);
	user_open(&other, peer);
	must(ibv_query_gid(user.context, 1, 0, &gid) == 0, "a GID");
	must(cq_create(&user, &send_cq) == 0 && cq_create(&user, &receive_cq) == 0, "CQs");
	for (unsigned int i = 0; i < 2; i++)
		must(qp_create(&user, &qps[i], &send_cq, &receive_cq, user.pd, 0) == 0,
		     "a queue pair");
	for (unsigned int i = 0; i < 2; i++)
		qp_connect(&qps[i], &qps[1 - i], gid.raw, mac_of(gid.raw));
	from = take(&user, PAGE);
	to = take(&user, PAGE);
	traffic();
	ethernet_objects();
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(mac_of(gid.raw) >> (40 - 8 * i));
	frames(mac);
	refusals();
	not_there();
	destroys_in_order();
	ibv_close_device(user.context);
	/* The others leave everything to Linux. */
	must(true, "the end");
	return 0;
}
