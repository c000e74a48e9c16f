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

#include "devx.h"
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

#define WAIT_S 20
#define PSN    0x123456u

/* ---- The door ---- */

void
must(bool good, const char *format, ...)
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

struct object *
object_find(struct user *user, uint16_t destroys, uint32_t number)
{
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (user->objects[i].of != NULL && user->objects[i].destroys == destroys &&
		    number - user->objects[i].number < user->objects[i].count)
			return &user->objects[i];
	return NULL;
}

/* Commands about one kind of object, by the order that the manual has them in: the first one makes it. */
static const struct family {
	uint16_t creates, last, destroys;
} families[] = {
	{ RNIC_CMD_CREATE_MKEY, RNIC_CMD_DESTROY_MKEY, RNIC_CMD_DESTROY_MKEY },
	{ RNIC_CMD_CREATE_CQ, RNIC_CMD_MODIFY_CQ, RNIC_CMD_DESTROY_CQ },
	{ RNIC_CMD_CREATE_QP, RNIC_CMD_SQD2SQD_QP, RNIC_CMD_DESTROY_QP },
	{ RNIC_CMD_ALLOC_PD, RNIC_CMD_DEALLOC_PD, RNIC_CMD_DEALLOC_PD },
	{ RNIC_CMD_ALLOC_XRCD, RNIC_CMD_DEALLOC_XRCD, RNIC_CMD_DEALLOC_XRCD },
	{ RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN,
	  RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN },
	{ RNIC_CMD_CREATE_TIR, RNIC_CMD_QUERY_TIR, RNIC_CMD_DESTROY_TIR },
	{ RNIC_CMD_CREATE_SQ, RNIC_CMD_QUERY_SQ, RNIC_CMD_DESTROY_SQ },
	{ RNIC_CMD_CREATE_RQ, RNIC_CMD_QUERY_RQ, RNIC_CMD_DESTROY_RQ },
	{ RNIC_CMD_CREATE_RMP, RNIC_CMD_QUERY_RMP, RNIC_CMD_DESTROY_RMP },
	{ RNIC_CMD_CREATE_TIS, RNIC_CMD_QUERY_TIS, RNIC_CMD_DESTROY_TIS },
	{ RNIC_CMD_CREATE_RQT, RNIC_CMD_QUERY_RQT, RNIC_CMD_DESTROY_RQT },
	{ RNIC_CMD_CREATE_FLOW_TABLE, RNIC_CMD_QUERY_FLOW_TABLE, RNIC_CMD_DESTROY_FLOW_TABLE },
	{ RNIC_CMD_CREATE_FLOW_GROUP, RNIC_CMD_QUERY_FLOW_GROUP, RNIC_CMD_DESTROY_FLOW_GROUP },
	{ RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_CMD_DELETE_FLOW_TABLE_ENTRY,
	  RNIC_CMD_DELETE_FLOW_TABLE_ENTRY },
	{ RNIC_CMD_ALLOC_FLOW_COUNTER, RNIC_CMD_QUERY_FLOW_COUNTER, RNIC_CMD_DEALLOC_FLOW_COUNTER },
};

/* Of no kind that is known here: zeros. */
static struct family
family_of(uint16_t opcode)
{
	for (unsigned int i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (opcode >= families[i].creates && opcode <= families[i].last)
			return families[i];
	return (struct family){ 0 };
}

/* What a command has made; an entry of a flow table has the number that it was told. */
static void
object_name(struct object *object, uint16_t opcode, const void *in, const void *out)
{
	object->destroys = family_of(opcode).destroys;
	object->number = (uint32_t)(opcode == RNIC_CMD_SET_FLOW_TABLE_ENTRY
					    ? rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_FLOW_INDEX)
					    : rnic_object_out_get(out, RNIC_OBJECT_OUT_NUMBER));
	object->count = opcode == RNIC_CMD_ALLOC_FLOW_COUNTER &&
					rnic_alloc_flow_counter_in_get(
						in, RNIC_ALLOC_FLOW_COUNTER_IN_FLOW_COUNTER_BULK)
				? RNIC_FLOW_COUNTER_BULK
				: 1;
}

/* A number, or what Linux says in its place. */
static int
create(struct user *user, uint16_t opcode, void *in, uint32_t in_bytes, void *out,
       uint32_t out_bytes)
{
	struct object *object = user->objects;

	while (object < user->objects + OBJECTS && object->of != NULL)
		object++;
	if (object == user->objects + OBJECTS) {
		errno = ENOSPC;
		return errno;
	}
	object->of = mlx5dv_devx_obj_create(user->context, in, in_bytes, out, out_bytes);
	if (object->of == NULL)
		return errno;
	object_name(object, opcode, in, out);
	return 0;
}

static bool
is_query(uint16_t opcode)
{
	static const uint16_t queries[] = {
		RNIC_CMD_QUERY_MKEY,	    RNIC_CMD_QUERY_CQ,
		RNIC_CMD_QUERY_QP,	    RNIC_CMD_QUERY_TIR,
		RNIC_CMD_QUERY_SQ,	    RNIC_CMD_QUERY_RQ,
		RNIC_CMD_QUERY_RMP,	    RNIC_CMD_QUERY_TIS,
		RNIC_CMD_QUERY_RQT,	    RNIC_CMD_QUERY_FLOW_TABLE,
		RNIC_CMD_QUERY_FLOW_GROUP,  RNIC_CMD_QUERY_FLOW_TABLE_ENTRY,
		RNIC_CMD_QUERY_FLOW_COUNTER
	};

	for (unsigned int i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (queries[i] == opcode)
			return true;
	return false;
}

/* An entry of a flow table is changed by the command that makes it. */
static bool
is_create(const void *in, uint16_t opcode)
{
	return opcode == family_of(opcode).creates &&
	       (opcode != RNIC_CMD_SET_FLOW_TABLE_ENTRY ||
		rnic_cmd_in_get(in, RNIC_CMD_IN_OP_MOD) == RNIC_SET_FTE_NEW);
}

/* What it is about: mostly at the same place. */
static uint32_t
number_in(const void *in, uint16_t opcode)
{
	switch (opcode) {
	case RNIC_CMD_QUERY_FLOW_COUNTER:
		return (uint32_t)rnic_query_flow_counter_in_get(
			in, RNIC_QUERY_FLOW_COUNTER_IN_FLOW_COUNTER_ID);
	case RNIC_CMD_DESTROY_FLOW_TABLE:
	case RNIC_CMD_QUERY_FLOW_TABLE:
		return (uint32_t)rnic_flow_table_in_get(in, RNIC_FLOW_TABLE_IN_TABLE_ID);
	case RNIC_CMD_DESTROY_FLOW_GROUP:
	case RNIC_CMD_QUERY_FLOW_GROUP:
		return (uint32_t)rnic_flow_group_in_get(in, RNIC_FLOW_GROUP_IN_GROUP_ID);
	case RNIC_CMD_SET_FLOW_TABLE_ENTRY:
		return (uint32_t)rnic_set_fte_in_get(in, RNIC_SET_FTE_IN_FLOW_INDEX);
	case RNIC_CMD_DELETE_FLOW_TABLE_ENTRY:
	case RNIC_CMD_QUERY_FLOW_TABLE_ENTRY:
		return (uint32_t)rnic_fte_in_get(in, RNIC_FTE_IN_FLOW_INDEX);
	default: return (uint32_t)rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER);
	}
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
	if (is_create(in, opcode)) {
		in_bytes = drv_umem_move(in, in_bytes, user->umem->umem_id, 0);
		rc = create(user, opcode, in, in_bytes, out, out_bytes);
	} else {
		object = object_find(user, family_of(opcode).destroys, number_in(in, opcode));
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

uint32_t
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

int
cq_create(struct user *user, struct cq *cq)
{
	struct drv_cq conf = { .log_size = LOG_SIZE, .uar = user->uar->page_id, .eqn = user->eqn };

	cq->user = user;
	cq->log_size = LOG_SIZE;
	cq->consumer = 0;
	cq->at = take(user, ENTRIES * 64);
	for (unsigned int i = 0; i < ENTRIES; i++)
		user->memory[cq->at + 64 * i + 63] = 0xf1; /* invalid, and the device's */
	conf.ring = drv_pages_of(cq->at, ENTRIES * 64);
	conf.dbrec = take(user, 8);
	cq->dbrec = (void *)(user->memory + conf.dbrec);
	return drv_cq_create(&user->drv, &conf, &cq->cqn);
}

int
cq_next(struct cq *cq)
{
	const struct rnic_cqe *cqe;
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += WAIT_S;
	do {
		cqe = drv_cqe_next(cq->user->memory + cq->at, cq->log_size, 64, cq->consumer);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (cqe == NULL && now.tv_sec < end.tv_sec);
	if (cqe == NULL)
		return -1;
	cq->user_index = rnic_be32_to_cpu(cqe->srqn_user_index);
	cq->consumer++;
	cq->dbrec->consumer_index = rnic_cpu_to_be32(cq->consumer & 0xffffff);
	return RNIC_CQE_OPCODE(cqe->op_own);
}

/* Memory for a ring, whose entries have 64 bytes, and for a record: where that is. */
static uint32_t
wq_take(struct user *user, struct wq *wq, struct drv_pages *ring)
{
	const uint32_t dbrec = take(user, 8);

	*wq = (struct wq){ .user = user, .ring = take(user, ENTRIES * 64) };
	wq->dbrec = (void *)(user->memory + dbrec);
	*ring = drv_pages_of(wq->ring, ENTRIES * 64);
	return dbrec;
}

int
sq_create(struct user *user, struct wq *sq, const struct cq *cq, uint32_t tisn)
{
	struct drv_sq conf = { .log_size = LOG_SIZE,
			       .pd = user->pd,
			       .uar = user->uar->page_id,
			       .cqn = cq->cqn,
			       .tisn = tisn };

	conf.dbrec = wq_take(user, sq, &conf.ring);
	return drv_sq_create(&user->drv, &conf, &sq->number);
}

int
rq_create(struct user *user, struct wq *rq, const struct cq *cq, const struct wq *of,
	  uint32_t user_index)
{
	struct drv_rq conf = { .log_size = LOG_SIZE,
			       .log_stride = 6,
			       .pd = user->pd,
			       .cqn = cq->cqn,
			       .rmpn = of != NULL ? of->number : 0,
			       .user_index = user_index };

	conf.dbrec = wq_take(user, rq, &conf.ring);
	return drv_rq_create(&user->drv, &conf, &rq->number);
}

int
pool_create(struct user *user, struct wq *rmp)
{
	struct drv_rmp conf = { .log_size = LOG_SIZE, .log_stride = 6, .pd = user->pd };

	conf.dbrec = wq_take(user, rmp, &conf.ring);
	rmp->linked = true;
	return drv_rmp_create(&user->drv, &conf, &rmp->number);
}

/* In a list, each names the next one first. */
static void
wq_receive(struct wq *wq, uint32_t at, uint32_t bytes)
{
	uint8_t *wqe = wq->user->memory + wq->ring + 64ul * (wq->posted++ % ENTRIES);
	struct rnic_wqe_next *next = (void *)wqe;
	struct rnic_wqe_data *segments = (void *)(wqe + (wq->linked ? sizeof(*next) : 0));

	if (wq->linked)
		*next = (struct rnic_wqe_next){ .next_wqe_index =
							rnic_cpu_to_be16(wq->posted % ENTRIES) };
	segments[0] = (struct rnic_wqe_data){
		.byte_count = rnic_cpu_to_be32(bytes),
		.lkey = rnic_cpu_to_be32(wq->user->key),
		.address = rnic_cpu_to_be64((uintptr_t)wq->user->memory + at),
	};
	segments[1] = (struct rnic_wqe_data){ .lkey = rnic_cpu_to_be32(RNIC_WQE_INVALID_LKEY) };
	__atomic_store_n(&wq->dbrec->receive_counter.raw, rnic_cpu_to_be32(wq->posted).raw,
			 __ATOMIC_RELEASE);
}

/* Receive WQEs of 64 bytes, if they are its own, then as many send WQEBBs. */
int
qp_create(struct user *user, struct qp *qp, const struct cq *send, const struct cq *receive,
	  uint32_t pd, struct wq *of)
{
	const uint32_t half = ENTRIES * 64, bytes = of != NULL ? half : 2 * half;
	struct drv_qp conf = { .st = RNIC_QP_ST_RC,
			       .pd = pd,
			       .uar = user->uar->page_id,
			       .send_cqn = send->cqn,
			       .receive_cqn = receive->cqn,
			       .log_sq = LOG_SIZE,
			       .log_rq = LOG_SIZE,
			       .log_stride = 6,
			       .rmpn = of != NULL ? of->number : 0 };

	*qp = (struct qp){ .user = user, .own = { .user = user, .ring = take(user, bytes) } };
	qp->receives = of != NULL ? of : &qp->own;
	qp->sends = qp->own.ring + bytes - half;
	conf.ring = drv_pages_of(qp->own.ring, bytes);
	conf.dbrec = take(user, 8);
	qp->dbrec = qp->own.dbrec = (void *)(user->memory + conf.dbrec);
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

/* One WQEBB: control, remote address if the opcode has one, data. */
static void
qp_post(struct qp *qp, uint8_t opcode, uint32_t from, uint32_t bytes, uint32_t to)
{
	uint8_t *wqe = qp->user->memory + qp->sends + 64ul * (qp->sent % ENTRIES);
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

struct user owner, third, other;
struct cq send_cq, receive_cq;
struct wq pool;
struct qp qps[2];
static uint32_t from, to;

static void
fill(uint32_t at, uint32_t bytes, uint8_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		owner.memory[at + i] = (uint8_t)(seed + i * 7);
}

static bool
same(uint32_t bytes)
{
	return memcmp(owner.memory + from, owner.memory + to, bytes) == 0;
}

/* Over the ends of all rings. */
static void
traffic(struct qp *sender, struct qp *receiver)
{
	for (uint8_t i = 0; i < 3 * ENTRIES; i++) {
		fill(from, 2000, i);
		wq_receive(receiver->receives, to, 2000);
		qp_post(sender, RNIC_WQE_SEND, from, 2000, 0);
		if (cq_next(&receive_cq) != RNIC_CQE_RESPONDER_SEND ||
		    cq_next(&send_cq) != RNIC_CQE_REQUESTER || !same(2000))
			must(false, "SEND %u", i);
	}
	must(true, "SENDs to receives of %s", receiver->receives->linked ? "an RMP" : "its own");
	fill(from, 3000, 0x55);
	qp_post(sender, RNIC_WQE_RDMA_WRITE, from, 3000, to);
	must(cq_next(&send_cq) == RNIC_CQE_REQUESTER && same(3000), "a WRITE");
	fill(to, 3000, 0x77);
	qp_post(sender, RNIC_WQE_RDMA_READ, from, 3000, to);
	must(cq_next(&send_cq) == RNIC_CQE_REQUESTER && same(3000), "a READ");
}

/* The device has taken all that was posted to the RMP. */
static void
pool_taken(uint16_t count)
{
	struct rnic_rmpc rmpc;

	must(drv_rmp_query(&owner.drv, pool.number, &rmpc) == 0 && pool.posted == count &&
		     rnic_wq_get(rnic_rmpc_wq(&rmpc), RNIC_WQ_HW_COUNTER) == count &&
		     rnic_wq_get(rnic_rmpc_wq(&rmpc), RNIC_WQ_SW_COUNTER) == count,
	     "%u receives of an RMP are taken", count);
}

/* SQ, RQs, TIS, TIRs and RQT: made, queried, changed. */
#define RQ_INDEX     0x11u
#define POOLED_INDEX 0x22u

struct ethernet ethernet;

static void
rq_open(struct wq *rq, const struct wq *of, uint32_t user_index)
{
	must(rq_create(&owner, rq, &receive_cq, of, user_index) == 0, "an RQ");
	must(drv_rq_modify(&owner.drv, rq->number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY) == 0,
	     "an RQ that is ready");
}

static void
ethernet_objects(void)
{
	struct drv_tir tir = { .td = owner.td };
	struct rnic_sqc sqc;

	must(drv_tis_create(&owner.drv, owner.td, &ethernet.tisn) == 0, "a TIS");
	must(sq_create(&owner, &ethernet.sq, &send_cq, ethernet.tisn) == 0, "an SQ");
	must(drv_sq_modify(&owner.drv, ethernet.sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY) ==
		     0,
	     "an SQ that is ready");
	must(drv_sq_query(&owner.drv, ethernet.sq.number, &sqc) == 0 &&
		     rnic_sqc_get(&sqc, RNIC_SQC_STATE) == RNIC_WQ_STATE_RDY,
	     "an SQ's state");
	rq_open(&ethernet.rq, NULL, RQ_INDEX);
	rq_open(&ethernet.pooled_rq, &pool, POOLED_INDEX);
	tir.rqn = ethernet.rq.number;
	must(drv_tir_create(&owner.drv, &tir, &ethernet.direct_tirn) == 0, "a TIR of an RQ");
	must(drv_rqt_create(&owner.drv, &ethernet.rq.number, 1, &ethernet.rqtn) == 0, "an RQT");
	tir.rqtn = ethernet.rqtn;
	must(drv_tir_create(&owner.drv, &tir, &ethernet.tirn) == 0, "a TIR of an RQT");
}

/* Frames of the peer's SQ, which a flow counts and sends to our RQs. */
#define FRAMES 40u
#define LENGTH 200u

static struct cq peer_cq;
static struct wq peer_sq;
static uint32_t peer_frame;

static void
peer_open(const uint8_t to_mac[6])
{
	uint8_t *frame;
	uint32_t tisn;

	must(cq_create(&other, &peer_cq) == 0, "the peer's CQ");
	must(drv_tis_create(&other.drv, other.td, &tisn) == 0, "the peer's TIS");
	must(sq_create(&other, &peer_sq, &peer_cq, tisn) == 0 &&
		     drv_sq_modify(&other.drv, peer_sq.number, RNIC_WQ_STATE_RST,
				   RNIC_WQ_STATE_RDY) == 0,
	     "the peer's SQ");
	peer_frame = take(&other, LENGTH);
	frame = other.memory + peer_frame;
	memset(frame, 0x5a, LENGTH);
	memcpy(frame, to_mac, 6);
	memcpy(frame + 6, "\x02\x00\x00\x00\x01\x02", 6);
	frame[12] = FRAME_TYPE >> 8;
	frame[13] = FRAME_TYPE & 0xff;
}

/* A WQEBB: control, Ethernet with 18 bytes of the header in it, the rest of the frame. */
static void
peer_send(void)
{
	uint8_t *wqe = other.memory + peer_sq.ring + 64ul * (peer_sq.posted % ENTRIES);
	struct rnic_wqe_ctrl *ctrl = (void *)wqe;
	struct rnic_wqe_eth *eth = (void *)(ctrl + 1);
	struct rnic_wqe_data *data = (void *)(wqe + 48);
	uint64_t head;

	other.memory[peer_frame + 100] = (uint8_t)peer_sq.posted;
	memset(wqe, 0, 64);
	*ctrl = (struct rnic_wqe_ctrl){
		.opmod_idx_opcode =
			rnic_cpu_to_be32(RNIC_WQE_CTRL_DW0(0, peer_sq.posted, RNIC_WQE_SEND)),
		.qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(peer_sq.number, 4)),
		.fm_ce_se = RNIC_WQE_CE_ALWAYS,
	};
	eth->inline_header_size = rnic_cpu_to_be16(18);
	memcpy((uint8_t *)eth + 14, other.memory + peer_frame, 18);
	*data = (struct rnic_wqe_data){
		.byte_count = rnic_cpu_to_be32(LENGTH - 18),
		.lkey = rnic_cpu_to_be32(other.key),
		.address = rnic_cpu_to_be64((uintptr_t)other.memory + peer_frame + 18),
	};
	peer_sq.posted++;
	__atomic_store_n(&peer_sq.dbrec->send_counter.raw, rnic_cpu_to_be32(peer_sq.posted).raw,
			 __ATOMIC_RELEASE);
	memcpy(&head, wqe, sizeof(head));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)other.uar->reg_addr = head;
}

/* To the RQ of that index, which takes receives from there. */
static void
frames(uint32_t user_index, struct wq *receives)
{
	for (unsigned int i = 0; i < FRAMES; i++) {
		wq_receive(receives, to, PAGE);
		peer_send();
		if (cq_next(&peer_cq) != RNIC_CQE_REQUESTER ||
		    cq_next(&receive_cq) != RNIC_CQE_RESPONDER_SEND ||
		    receive_cq.user_index != user_index ||
		    memcmp(owner.memory + to, other.memory + peer_frame, LENGTH) != 0)
			must(false, "frame %u", i);
	}
	must(true, "frames to RQ 0x%x", user_index);
}

void
counted(uint32_t counter, uint64_t frames)
{
	struct drv_flow_count count;

	must(drv_flow_counter_query(&owner.drv, counter, 0, false, &count) == 0,
	     "a flow counter is read");
	must(count.packets == frames && count.octets == frames * LENGTH,
	     "%lu frames of %lu bytes are counted", count.packets, count.octets);
}

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

/* To a TIR or a flow table; with a counter, or without. */
static void
flow_open(struct mlx5dv_devx_obj *leads_to, struct mlx5dv_devx_obj *counts_in)
{
	struct mlx5dv_flow_matcher_attr attr = { .type = IBV_FLOW_ATTR_NORMAL,
						 .match_criteria_enable = RNIC_MATCH_OUTER_HEADERS,
						 .match_mask = match_of(0xffff) };
	struct mlx5dv_flow_match_parameters *value = match_of(FRAME_TYPE);
	struct mlx5dv_flow_action_attr actions[2] = {
		{ .type = MLX5DV_FLOW_ACTION_DEST_DEVX, .obj = leads_to },
		{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX, .obj = counts_in },
	};

	matcher = mlx5dv_create_flow_matcher(owner.context, &attr);
	must(matcher != NULL, "a matcher");
	flow = mlx5dv_create_flow(matcher, value, counts_in != NULL ? 2 : 1, actions);
	must(flow != NULL, "a flow");
	free(attr.match_mask);
	free(value);
}

static void
flow_close(void)
{
	must(ibv_destroy_flow(flow) == 0 && mlx5dv_destroy_flow_matcher(matcher) == 0,
	     "a flow goes");
}

/* A flow counts and leads to a TIR of an RQT, and that first to one RQ, then to another. */
static void
frames_by_flow(void)
{
	uint32_t counter;

	must(drv_flow_counter_alloc(&owner.drv, 0, &counter) == 0, "a flow counter");
	flow_open(object_find(&owner, RNIC_CMD_DESTROY_TIR, ethernet.tirn)->of,
		  object_find(&owner, RNIC_CMD_DEALLOC_FLOW_COUNTER, counter)->of);
	frames(RQ_INDEX, &ethernet.rq);
	counted(counter, FRAMES);
	must(drv_rqt_modify(&owner.drv, ethernet.rqtn, &ethernet.pooled_rq.number, 1) == 0,
	     "another RQ for an RQT");
	frames(POOLED_INDEX, &pool);
	counted(counter, 2 * FRAMES);
	pool_taken(3 * ENTRIES + FRAMES);
	stays(RNIC_CMD_DESTROY_TIR, ethernet.tirn, "a TIR of a flow");
	stays(RNIC_CMD_DEALLOC_FLOW_COUNTER, counter, "a counter of a flow");
	flow_close();
	goes(RNIC_CMD_DEALLOC_FLOW_COUNTER, counter, "a counter");
}

/* A flow leads to a table of our own, where an entry counts and leads to a TIR. */
static void
frames_by_table(void)
{
	const uint32_t table = table_open();

	flow_open(object_find(&owner, RNIC_CMD_DESTROY_FLOW_TABLE, table)->of, NULL);
	frames(RQ_INDEX, &ethernet.rq);
	table_counted(FRAMES);
	table_empty();
	must(drv_table_destroy(&owner.drv, table) == (REFUSED | EBUSY), "a table of a flow stays");
	flow_close();
	table_close();
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
	user_open(&owner, device);
	user_open(&third, device);
	user_open(&other, peer);
	must(ibv_query_gid(owner.context, 1, 0, &gid) == 0, "a GID");
	must(cq_create(&owner, &send_cq) == 0 && cq_create(&owner, &receive_cq) == 0, "CQs");
	must(pool_create(&owner, &pool) == 0, "an RMP");
	for (unsigned int i = 0; i < 2; i++)
		must(qp_create(&owner, &qps[i], &send_cq, &receive_cq, owner.pd,
			       i == 1 ? &pool : NULL) == 0,
		     "a queue pair");
	for (unsigned int i = 0; i < 2; i++)
		qp_connect(&qps[i], &qps[1 - i], gid.raw, mac_of(gid.raw));
	from = take(&owner, PAGE);
	to = take(&owner, PAGE);
	traffic(&qps[0], &qps[1]);
	pool_taken(3 * ENTRIES);
	stays(RNIC_CMD_DESTROY_RMP, pool.number, "an RMP of a queue pair");
	cq_resize(&send_cq, LOG_SIZE - 1);
	cq_resize(&receive_cq, LOG_SIZE + 1);
	traffic(&qps[1], &qps[0]);
	ethernet_objects();
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(mac_of(gid.raw) >> (40 - 8 * i));
	peer_open(mac);
	frames_by_flow();
	frames_by_table();
	domain_of_xrc();
	refusals();
	not_there();
	destroys_in_order();
	ibv_close_device(owner.context);
	/* The others leave everything to Linux. */
	must(true, "the end");
	return 0;
}
