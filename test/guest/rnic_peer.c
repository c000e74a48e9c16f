/* SPDX-License-Identifier: BSD-3-Clause */

/* An end on lib/rdmapmd: rnic_peer EAL-OPTION... The device is the first port's. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#include "peer.h"

#define PORT	 1
#define ETHDEV	 0
#define COUNTERS 128
#define LINK_MS	 300000 /* until an emulated machine has booted */
#define WR_ID	 7
#define REMOTE \
	(RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define ACCESS (RDMAPMD_ACCESS_LOCAL_WRITE | REMOTE | RDMAPMD_ACCESS_MW_BIND)

static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static struct rdmapmd_mr *mr, *read_only_mr;
static struct rdmapmd_cq *cq;
static struct rdmapmd_srq *srq;
static struct rdmapmd_qp *qp;
static struct rdmapmd_ah *ah;
static struct rdmapmd_mw *mw;
static union rdmapmd_gid ah_gid;

static void
must(int rc, const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(-rc));
	peer_must(rc == 0, text);
}

const char *
peer_status(int status)
{
	return rdmapmd_wc_status_str((enum rdmapmd_wc_status)status);
}

/* ---- Open, close ---- */

/* The other end, or what its cable is, may come later. */
static void
wait_for_link(void)
{
	struct rdmapmd_port_attr attr = { 0 };
	unsigned int i;

	for (i = 0; i < LINK_MS && attr.state != RDMAPMD_PORT_ACTIVE; i++) {
		must(rdmapmd_port_query(context, PORT, &attr), "query port");
		rte_delay_us_sleep(1000);
	}
	peer_must(attr.state == RDMAPMD_PORT_ACTIVE, "no link");
}

static void
open_all(void)
{
	const struct rdmapmd_cq_init_attr cq_attr = { .cqe = 4 * PEER_DEPTH };
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = PEER_DEPTH, .max_sge = 1 } };

	must(rdmapmd_device_open_by_port(ETHDEV, &context), "open");
	must(rdmapmd_pd_alloc(context, &pd), "PD");
	peer_memory.bytes = rte_zmalloc(NULL, PEER_BYTES, 4096);
	peer_must(peer_memory.bytes != NULL, "memory");
	must(rdmapmd_mr_reg(pd, peer_memory.bytes, PEER_BYTES, ACCESS, &mr), "MR");
	must(rdmapmd_mr_reg(pd, peer_memory.bytes, PEER_BYTES, RDMAPMD_ACCESS_REMOTE_READ,
			    &read_only_mr),
	     "MR");
	peer_memory.rkey = mr->rkey;
	peer_memory.read_only_rkey = read_only_mr->rkey;
	must(rdmapmd_cq_create(context, &cq_attr, &cq), "CQ");
	must(rdmapmd_srq_create(pd, &srq_attr, &srq), "SRQ");
	wait_for_link();
}

static void
destroy_qp(void)
{
	if (ah != NULL)
		must(rdmapmd_ah_destroy(ah), "destroy AH");
	if (qp != NULL)
		must(rdmapmd_qp_destroy(qp), "destroy QP");
	if (mw != NULL)
		must(rdmapmd_mw_free(mw), "free window");
	ah = NULL;
	qp = NULL;
	mw = NULL;
}

static void
close_all(void)
{
	destroy_qp();
	must(rdmapmd_srq_destroy(srq), "destroy SRQ");
	must(rdmapmd_cq_destroy(cq), "destroy CQ");
	must(rdmapmd_mr_dereg(mr), "deregister");
	must(rdmapmd_mr_dereg(read_only_mr), "deregister");
	must(rdmapmd_pd_dealloc(pd), "free PD");
	must(rdmapmd_context_close(context), "close");
	rte_free(peer_memory.bytes);
}

/* ---- Queue pairs ---- */

/* What the one before had not polled. */
static void
forget_completions(void)
{
	struct rdmapmd_wc wc;

	while (rdmapmd_poll_cq(cq, &wc, 1) > 0)
		;
}

uint32_t
peer_create(enum peer_type type, bool with_srq)
{
	static const enum rdmapmd_qp_type types[] = { RDMAPMD_QPT_RC, RDMAPMD_QPT_UC,
						      RDMAPMD_QPT_UD };
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = with_srq ? srq : NULL,
		.qp_type = types[type],
		.cap = { .max_send_wr = PEER_DEPTH,
			 .max_recv_wr = with_srq ? 0 : PEER_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct rdmapmd_qp_attr init = {
		.qp_state = RDMAPMD_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = type == PEER_UC ? RDMAPMD_ACCESS_REMOTE_WRITE : REMOTE,
	};

	destroy_qp();
	forget_completions();
	must(rdmapmd_qp_create(pd, &attr, &qp), "create QP");
	/* A datagram's Q_Key comes with the peer. */
	must(rdmapmd_qp_modify(
		     qp, &init,
		     RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
			     (type == PEER_UD ? RDMAPMD_QP_QKEY : RDMAPMD_QP_ACCESS_FLAGS)),
	     "INIT");
	return qp->qp_num;
}

/* Our address of the same protocol, which is not a link's own. */
static uint8_t
source_for(const union rdmapmd_gid *gid)
{
	struct rdmapmd_gid_entry own;
	uint8_t i;

	for (i = 1; rdmapmd_gid_query(context, PORT, i, &own) == 0; i++)
		if (rdmapmd_gid_is_ipv4(&own.gid) == rdmapmd_gid_is_ipv4(gid))
			return i;
	peer_must(false, "no address of that protocol");
	return 0;
}

static struct rdmapmd_ah_attr
ah_attr_of(const uint8_t gid[16])
{
	struct rdmapmd_ah_attr attr = { .hop_limit = 64, .port_num = PORT };

	memcpy(attr.dgid.raw, gid, 16);
	attr.sgid_index = source_for(&attr.dgid);
	return attr;
}

static enum rdmapmd_mtu
mtu_of(uint32_t bytes)
{
	int mtu = RDMAPMD_MTU_256;

	for (; bytes > 256; bytes /= 2)
		mtu++;
	return (enum rdmapmd_mtu)mtu;
}

static void
connect_ud(const struct peer_path *path)
{
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_RTR, .qkey = path->qkey };

	must(rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE | RDMAPMD_QP_QKEY), "RTR");
	attr = (struct rdmapmd_qp_attr){ .qp_state = RDMAPMD_QPS_RTS, .sq_psn = path->own_psn };
	must(rdmapmd_qp_modify(qp, &attr, RDMAPMD_QP_STATE | RDMAPMD_QP_SQ_PSN), "RTS");
}

void
peer_connect(const struct peer_path *path)
{
	const bool rc = qp->qp_type == RDMAPMD_QPT_RC;
	struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_RTR,
					.path_mtu = mtu_of(path->mtu),
					.dest_qp_num = path->qpn,
					.rq_psn = path->psn,
					.max_dest_rd_atomic = 4,
					.min_rnr_timer = 12 };

	if (qp->qp_type == RDMAPMD_QPT_UD) {
		connect_ud(path);
		return;
	}
	attr.ah_attr = ah_attr_of(path->gid);
	must(rdmapmd_qp_modify(
		     qp, &attr,
		     RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN |
			     RDMAPMD_QP_RQ_PSN |
			     (rc ? RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER : 0)),
	     "RTR");
	attr = (struct rdmapmd_qp_attr){ .qp_state = RDMAPMD_QPS_RTS,
					 .sq_psn = path->own_psn,
					 .timeout = path->timeout,
					 .retry_cnt = path->retry,
					 .rnr_retry = path->rnr,
					 .max_rd_atomic = 4 };
	must(rdmapmd_qp_modify(qp, &attr,
			       RDMAPMD_QP_STATE | RDMAPMD_QP_SQ_PSN |
				       (rc ? RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
							RDMAPMD_QP_RNR_RETRY |
							RDMAPMD_QP_MAX_QP_RD_ATOMIC
					   : 0)),
	     "RTS");
}

const char *
peer_state(void)
{
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr;

	must(rdmapmd_qp_query(qp, &attr, &init), "query");
	return rdmapmd_qp_state_str(attr.qp_state);
}

/* ---- Requests ---- */

void
peer_receive(uint32_t at, uint32_t length)
{
	const struct rdmapmd_sge sge = { (uintptr_t)peer_memory.bytes + at, length, mr->lkey };
	const struct rdmapmd_recv_wr wr = { .wr_id = WR_ID, .sg_list = &sge, .num_sge = 1 };

	peer_must((qp->srq != NULL ? rdmapmd_post_srq_recv(srq, &wr, 1)
				   : rdmapmd_post_recv(qp, &wr, 1)) == 1,
		  "receive");
}

/* To that address; the one before is kept as long as it is asked for. */
static struct rdmapmd_ah *
ah_to(const uint8_t gid[16])
{
	const struct rdmapmd_ah_attr attr = ah_attr_of(gid);

	if (ah != NULL && memcmp(ah_gid.raw, gid, 16) == 0)
		return ah;
	if (ah != NULL)
		must(rdmapmd_ah_destroy(ah), "destroy AH");
	must(rdmapmd_ah_create(pd, &attr, &ah), "AH");
	ah_gid = attr.dgid;
	return ah;
}

static void
post_wr(const struct rdmapmd_send_wr *wr)
{
	if (rdmapmd_post_send(qp, wr, 1) != 1)
		must(qp->post_send_error, "post");
}

void
peer_post(const struct peer_request *request)
{
	static const enum rdmapmd_wr_opcode ops[] = {
		[PEER_WRITE] = RDMAPMD_WR_RDMA_WRITE,
		[PEER_WRITE_IMM] = RDMAPMD_WR_RDMA_WRITE_WITH_IMM,
		[PEER_SEND] = RDMAPMD_WR_SEND,
		[PEER_SEND_IMM] = RDMAPMD_WR_SEND_WITH_IMM,
		[PEER_READ] = RDMAPMD_WR_RDMA_READ,
		[PEER_SWAP] = RDMAPMD_WR_ATOMIC_CMP_AND_SWP,
		[PEER_ADD] = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD,
		[PEER_SEND_INV] = RDMAPMD_WR_SEND_WITH_INV,
		[PEER_LOCAL_INV] = RDMAPMD_WR_LOCAL_INV,
	};
	const bool inv = request->op == PEER_SEND_INV || request->op == PEER_LOCAL_INV;
	const bool atomic = request->op == PEER_SWAP || request->op == PEER_ADD;
	struct rdmapmd_sge sge = { (uintptr_t)peer_memory.bytes + PEER_FROM, request->length,
				   mr->lkey };
	struct rdmapmd_send_wr wr = { .wr_id = WR_ID,
				      .sg_list = &sge,
				      .num_sge = request->op == PEER_LOCAL_INV ? 0 : 1,
				      .opcode = ops[request->op],
				      .send_flags = RDMAPMD_SEND_SIGNALED };

	if (request->op == PEER_READ)
		sge.addr = (uintptr_t)peer_memory.bytes + PEER_TO;
	if (inv)
		wr.invalidate_rkey = request->key;
	else
		wr.imm_data = rte_cpu_to_be_32(request->imm);
	if (qp->qp_type == RDMAPMD_QPT_UD) {
		wr.wr.ud.ah = ah_to(request->gid);
		wr.wr.ud.remote_qpn = request->qpn;
		wr.wr.ud.remote_qkey = request->qkey;
	} else if (atomic) {
		wr.wr.atomic.remote_addr = request->address;
		wr.wr.atomic.compare_add = request->add;
		wr.wr.atomic.swap = request->swap;
		wr.wr.atomic.rkey = request->rkey;
	} else {
		wr.wr.rdma.remote_addr = request->address;
		wr.wr.rdma.rkey = request->rkey;
	}
	post_wr(&wr);
}

bool
peer_poll(struct peer_completion *completion)
{
	struct rdmapmd_wc wc;

	if (rdmapmd_poll_cq(cq, &wc, 1) == 0)
		return false;
	*completion = (struct peer_completion){
		.status = wc.status,
		/* Ours has NOP before those of windows. */
		.opcode = wc.opcode == RDMAPMD_WC_BIND_MW || wc.opcode == RDMAPMD_WC_LOCAL_INV
				  ? wc.opcode - 1
				  : wc.opcode,
		.length = wc.byte_len,
		.has_imm =
			wc.status == RDMAPMD_WC_SUCCESS && (wc.wc_flags & RDMAPMD_WC_WITH_IMM) != 0,
		.has_key =
			wc.status == RDMAPMD_WC_SUCCESS && (wc.wc_flags & RDMAPMD_WC_WITH_INV) != 0,
		.imm = rte_be_to_cpu_32(wc.imm_data),
		.key = wc.invalidated_rkey,
		.src = qp->qp_type == RDMAPMD_QPT_UD ? wc.src_qp : 0,
	};
	return true;
}

/* ---- Windows ---- */

static void
bound(void)
{
	struct rdmapmd_wc wc;

	while (rdmapmd_poll_cq(cq, &wc, 1) == 0)
		;
	peer_must(wc.status == RDMAPMD_WC_SUCCESS, "bind");
}

uint32_t
peer_bind(unsigned int type)
{
	const struct rdmapmd_mw_bind_attr attr = { .wr_id = WR_ID,
						   .mr = mr,
						   .addr = (uintptr_t)peer_memory.bytes,
						   .length = PEER_BYTES,
						   .access = REMOTE,
						   .send_flags = RDMAPMD_SEND_SIGNALED };
	struct rdmapmd_send_wr wr = { .wr_id = WR_ID,
				      .opcode = RDMAPMD_WR_BIND_MW,
				      .send_flags = RDMAPMD_SEND_SIGNALED };

	if (mw != NULL)
		must(rdmapmd_mw_free(mw), "free window");
	must(rdmapmd_mw_alloc(pd, type == 1 ? RDMAPMD_MW_TYPE_1 : RDMAPMD_MW_TYPE_2, &mw),
	     "window");
	if (type == 1) {
		must(rdmapmd_mw_bind(qp, mw, &attr), "bind");
	} else {
		wr.wr.bind_mw.mw = mw;
		wr.wr.bind_mw.mr = mr;
		wr.wr.bind_mw.addr = attr.addr;
		wr.wr.bind_mw.length = attr.length;
		wr.wr.bind_mw.rkey = rdmapmd_mw_next_rkey(mw);
		wr.wr.bind_mw.access = attr.access;
		post_wr(&wr);
	}
	bound();
	return mw->rkey;
}

void
peer_unbind(void)
{
	const struct rdmapmd_mw_bind_attr attr = { .wr_id = WR_ID,
						   .send_flags = RDMAPMD_SEND_SIGNALED };

	must(rdmapmd_mw_bind(qp, mw, &attr), "unbind");
	bound();
}

void
peer_rereg(bool may_write)
{
	const unsigned int access = RDMAPMD_ACCESS_REMOTE_READ | (may_write ? ACCESS : 0);

	must(rdmapmd_mr_rereg(read_only_mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access),
	     "rereg");
	peer_memory.read_only_rkey = read_only_mr->rkey;
}

void
peer_group(const uint8_t gid[16], bool join)
{
	union rdmapmd_gid group;

	memcpy(group.raw, gid, 16);
	must(join ? rdmapmd_mcast_attach(qp, &group) : rdmapmd_mcast_detach(qp, &group), "group");
}

/* ---- Counters ---- */

/* The extended statistics of the port: those of the vport, and of queue pairs; and what it counts beside, as verbs_peer says it. */
void
peer_counters(void)
{
	static struct rte_eth_xstat_name names[COUNTERS];
	struct rte_eth_xstat values[COUNTERS];
	int i, count = rte_eth_xstats_get_names(ETHDEV, names, COUNTERS);
	struct rdmapmd_port_attr port;

	peer_must(count > 0 && count <= COUNTERS, "names of the counters");
	peer_must(rte_eth_xstats_get(ETHDEV, values, COUNTERS) == count, "counters");
	for (i = 0; i < count; i++)
		if (strchr(names[i].name, ' ') == NULL && values[i].value != 0)
			peer_say("%s=%" PRIu64 " ", names[i].name, values[i].value);
	peer_must(rdmapmd_port_query(context, PORT, &port) == 0, "query port");
	peer_say("qkey_viol_cntr=%u", port.qkey_viol_cntr);
}

int
main(int argc, char **argv)
{
	if (rte_eal_init(argc, argv) < 0)
		return 1;
	open_all();
	peer_obey();
	close_all();
	rte_eal_cleanup();
	return 0;
}
