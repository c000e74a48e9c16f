/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "rdma_matrix.h"

#define PORT	 1
#define MANY	 "0 .. 2^30"
#define SEGMENTS "0 .. max_send_sge"

const struct rdma_operation rdma_operations[RDMA_OPS] = {
	[RDMAPMD_WR_SEND] = { "SEND", RDMAPMD_WC_SEND, RDMAPMD_WC_RECV, true, true, MANY,
			      SEGMENTS },
	[RDMAPMD_WR_SEND_WITH_IMM] = { "SEND_WITH_IMM", RDMAPMD_WC_SEND, RDMAPMD_WC_RECV, true,
				       true, MANY, SEGMENTS },
	[RDMAPMD_WR_RDMA_WRITE] = { "RDMA_WRITE", RDMAPMD_WC_RDMA_WRITE, RDMAPMD_WC_NOP, true, true,
				    MANY, SEGMENTS },
	[RDMAPMD_WR_RDMA_WRITE_WITH_IMM] = { "RDMA_WRITE_WITH_IMM", RDMAPMD_WC_RDMA_WRITE,
					     RDMAPMD_WC_RECV_RDMA_WITH_IMM, true, true, MANY,
					     SEGMENTS },
	[RDMAPMD_WR_RDMA_READ] = { "RDMA_READ", RDMAPMD_WC_RDMA_READ, RDMAPMD_WC_NOP, true, false,
				   MANY, SEGMENTS },
	[RDMAPMD_WR_ATOMIC_CMP_AND_SWP] = { "ATOMIC_CMP_AND_SWP", RDMAPMD_WC_COMP_SWAP,
					    RDMAPMD_WC_NOP, false, false, "8", "1" },
	[RDMAPMD_WR_ATOMIC_FETCH_AND_ADD] = { "ATOMIC_FETCH_AND_ADD", RDMAPMD_WC_FETCH_ADD,
					      RDMAPMD_WC_NOP, false, false, "8", "1" },
	[RDMAPMD_WR_NOP] = { "NOP", RDMAPMD_WC_NOP, RDMAPMD_WC_NOP, false, false, "0", "0" },
	[RDMAPMD_WR_LOCAL_INV] = { "LOCAL_INV", RDMAPMD_WC_LOCAL_INV, RDMAPMD_WC_NOP, false, false,
				   "0", "0" },
	[RDMAPMD_WR_BIND_MW] = { "BIND_MW", RDMAPMD_WC_BIND_MW, RDMAPMD_WC_NOP, false, false, "0",
				 "0" },
	[RDMAPMD_WR_SEND_WITH_INV] = { "SEND_WITH_INV", RDMAPMD_WC_SEND, RDMAPMD_WC_RECV, true,
				       true, MANY, SEGMENTS },
	[RDMA_RECV] = { "receive", RDMAPMD_WC_RECV, RDMAPMD_WC_NOP, false, false, NULL, NULL },
	[RDMA_MW_BIND] = { "rdmapmd_mw_bind()", RDMAPMD_WC_BIND_MW, RDMAPMD_WC_NOP, false, false,
			   NULL, NULL },
	[RDMA_DEREG] = { "rdmapmd_mr_dereg()", RDMAPMD_WC_NOP, RDMAPMD_WC_NOP, false, false, NULL,
			 NULL },
};

/* ---- What is wrong with a send request ---- */

static void
opcode_unknown(struct rdma_attempt *attempt)
{
	attempt->wr.opcode = RDMAPMD_WR_SEND_WITH_INV + 1;
}

static void
flags_unknown(struct rdma_attempt *attempt)
{
	attempt->wr.send_flags |= RDMAPMD_SEND_INLINE << 1;
}

static void
in_line(struct rdma_attempt *attempt)
{
	attempt->wr.send_flags |= RDMAPMD_SEND_INLINE;
}

static void
in_line_too_long(struct rdma_attempt *attempt)
{
	in_line(attempt);
	attempt->sges[0].length = attempt->own->cap.max_inline_data + 1;
}

static void
segments_too_many(struct rdma_attempt *attempt)
{
	unsigned int i;

	attempt->wr.num_sge = (uint16_t)(attempt->own->cap.max_send_sge + 1);
	assert_true(attempt->wr.num_sge <= RDMA_SGES_MAX);
	for (i = 0; i < attempt->wr.num_sge; i++)
		attempt->sges[i] = attempt->sges[0];
}

static void
segments_none(struct rdma_attempt *attempt)
{
	attempt->wr.num_sge = 0;
}

static void
segments_two(struct rdma_attempt *attempt)
{
	attempt->sges[0].length /= 2;
	attempt->sges[1] = attempt->sges[0];
	attempt->wr.num_sge = 2;
}

static void
segments_one(struct rdma_attempt *attempt)
{
	attempt->wr.num_sge = 1;
}

static void
length_halved(struct rdma_attempt *attempt)
{
	attempt->sges[0].length /= 2;
}

static void
length_doubled(struct rdma_attempt *attempt)
{
	attempt->sges[0].length *= 2;
}

static void
length_huge(struct rdma_attempt *attempt)
{
	attempt->sges[0].length = (1u << 30) + 1;
}

static void
lkey_wrong(struct rdma_attempt *attempt)
{
	attempt->sges[0].lkey ^= 0x5a;
}

static void
lkey_foreign(struct rdma_attempt *attempt)
{
	attempt->sges[0].lkey = attempt->own->keys[RDMA_REGION_FOREIGN];
}

static void
lkey_read_only(struct rdma_attempt *attempt)
{
	attempt->sges[0].lkey = attempt->own->keys[RDMA_REGION_READ];
}

static void
local_outside(struct rdma_attempt *attempt)
{
	attempt->sges[0].addr = (uintptr_t)attempt->own->memory + 2 * RDMA_HALF - 7;
}

void
rdma_set_rkey(struct rdma_attempt *attempt, uint32_t rkey)
{
	if (attempt->wr.opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP ||
	    attempt->wr.opcode == RDMAPMD_WR_ATOMIC_FETCH_AND_ADD)
		attempt->wr.wr.atomic.rkey = rkey;
	else
		attempt->wr.wr.rdma.rkey = rkey;
}

static void
rkey_wrong(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, attempt->there.keys[RDMA_REGION_ALL] ^ 0x5a);
}

static void
rkey_foreign(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, attempt->there.keys[RDMA_REGION_FOREIGN]);
}

static void
rkey_gone(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, attempt->there.keys[RDMA_REGION_GONE]);
}

/* Both kinds of memory have less than all rights, and never the one that the operation needs. */
static void
rkey_without_right(struct rdma_attempt *attempt)
{
	const bool write = attempt->wr.opcode == RDMAPMD_WR_RDMA_WRITE ||
			   attempt->wr.opcode == RDMAPMD_WR_RDMA_WRITE_WITH_IMM;

	rdma_set_rkey(attempt, attempt->there.keys[write ? RDMA_REGION_READ : RDMA_REGION_WRITE]);
}

/* The address stands in the same place for all operations. */
static void
remote_outside(struct rdma_attempt *attempt)
{
	attempt->wr.wr.rdma.remote_addr = attempt->there.address + 2 * RDMA_HALF;
}

static void
remote_end(struct rdma_attempt *attempt)
{
	attempt->wr.wr.rdma.remote_addr = attempt->there.address + 2 * RDMA_HALF - 7;
}

static void
remote_wraps(struct rdma_attempt *attempt)
{
	attempt->wr.wr.rdma.remote_addr = UINT64_MAX - 3;
}

static void
unaligned(struct rdma_attempt *attempt)
{
	attempt->wr.wr.atomic.remote_addr += 4;
}

static void
handle_none(struct rdma_attempt *attempt)
{
	attempt->wr.wr.ud.ah = NULL;
}

static void
handle_foreign(struct rdma_attempt *attempt)
{
	const struct rdmapmd_ah_attr attr = { .dgid = attempt->there.gid,
					      .hop_limit = 64,
					      .port_num = PORT };

	assert_int_equal(rdmapmd_ah_create(attempt->own->other_pd, &attr, &attempt->foreign_ah), 0);
	attempt->wr.wr.ud.ah = attempt->foreign_ah;
}

static void
number_of_25_bits(struct rdma_attempt *attempt)
{
	attempt->wr.wr.ud.remote_qpn |= 1u << 24;
}

/* Nobody has it. */
static void
number_wrong(struct rdma_attempt *attempt)
{
	attempt->wr.wr.ud.remote_qpn ^= 0x800000;
}

static void
qkey_wrong(struct rdma_attempt *attempt)
{
	attempt->wr.wr.ud.remote_qkey ^= 1;
}

static void
longer_than_a_packet(struct rdma_attempt *attempt)
{
	struct rdmapmd_port_attr port;

	assert_int_equal(rdmapmd_port_query(attempt->own->context, PORT, &port), 0);
	attempt->sges[0].length = rdmapmd_mtu_bytes(port.active_mtu) + 1;
}

static void
longer_than_a_mad(struct rdma_attempt *attempt)
{
	attempt->sges[0].length = RDMA_MAD + 1;
}

static void
in_reset(struct rdma_attempt *attempt)
{
	rdma_to(attempt->own->qp, RDMAPMD_QPS_RESET);
}

static void
in_error(struct rdma_attempt *attempt)
{
	rdma_to(attempt->own->qp, RDMAPMD_QPS_ERR);
}

static void
ring_full(struct rdma_attempt *attempt)
{
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP };
	uint32_t i;

	for (i = 0; i < attempt->own->cap.max_send_wr; i++)
		rdma_post(attempt->own->qp, &nop);
}

static void
peer_gone(struct rdma_attempt *attempt)
{
	rdma_peer_do(attempt->peer, &(struct rdma_order){ .kind = RDMA_ORDER_RESET });
}

/* ---- What is wrong with a receive request ---- */

static int
post_receive(struct rdma_attempt *attempt, uint16_t count)
{
	const struct rdmapmd_recv_wr wr = { .sg_list = attempt->sges, .num_sge = count };

	return rdmapmd_post_recv(attempt->own->qp, &wr, 1) == 1 ? 0
								: attempt->own->qp->post_recv_error;
}

static int
receive_segments_too_many(struct rdma_attempt *attempt)
{
	return post_receive(attempt, (uint16_t)(attempt->own->cap.max_recv_sge + 1));
}

static int
receive_too_long(struct rdma_attempt *attempt)
{
	attempt->sges[0].length = 1u << 31;
	return post_receive(attempt, 1);
}

static int
receive_in_reset(struct rdma_attempt *attempt)
{
	in_reset(attempt);
	return post_receive(attempt, 1);
}

static int
receive_ring_full(struct rdma_attempt *attempt)
{
	uint32_t i;

	for (i = 0; i < attempt->own->cap.max_recv_wr; i++)
		assert_int_equal(post_receive(attempt, 1), 0);
	return post_receive(attempt, 1);
}

static int
receive_beside_srq(struct rdma_attempt *attempt)
{
	struct rdma_end *own = attempt->own;
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.send_cq = own->cq,
		.recv_cq = own->cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	const struct rdmapmd_recv_wr wr = { 0 };
	const struct rdma_conf conf = { .up_to = RDMAPMD_QPS_INIT };
	struct rdmapmd_qp *qp;
	int ret;

	assert_int_equal(rdmapmd_srq_create(own->pd, &srq_attr, &attr.srq), 0);
	assert_int_equal(rdmapmd_qp_create(own->pd, &attr, &qp), 0);
	rdma_connect_to(qp, 0, &own->gid, &conf);
	ret = rdmapmd_post_recv(qp, &wr, 1) == 1 ? 0 : qp->post_recv_error;
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(attr.srq), 0);
	return ret;
}

/* ---- The list ---- */

#define OP(name)    (1u << RDMAPMD_WR_##name)
#define PLAIN_SENDS (OP(SEND) | OP(SEND_WITH_IMM))
#define SENDS	    (PLAIN_SENDS | OP(SEND_WITH_INV))
#define WRITES	    (OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM))
#define READ	    OP(RDMA_READ)
#define ATOMICS	    (OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD))
#define REMOTE	    (WRITES | READ | ATOMICS)
#define MESSAGES    (SENDS | WRITES | READ)
#define WINDOWS	    (OP(BIND_MW) | OP(LOCAL_INV))
#define ALL	    (MESSAGES | ATOMICS | OP(NOP) | WINDOWS)
#define RECEIVE	    (1u << RDMA_RECV)
#define CALL	    (1u << RDMA_MW_BIND)

#define LOCAL_WRITE RDMAPMD_ACCESS_LOCAL_WRITE /* of queue pairs: no right of the peer's */
#define NO_ATOMIC   (LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_WRITE)

#define ACCESS_EVENT                                                                    \
	.status = RDMAPMD_WC_REM_ACCESS_ERR, .peer_event = RDMAPMD_EVENT_QP_ACCESS_ERR, \
	.peer_imm_status = RDMAPMD_WC_LOC_ACCESS_ERR
#define REQUEST_EVENT .status = RDMAPMD_WC_REM_INV_REQ_ERR, .peer_event = RDMAPMD_EVENT_QP_REQ_ERR
#define NOT_INVALIDATED \
	.status = RDMAPMD_WC_REM_ACCESS_ERR, .peer_status = RDMAPMD_WC_LOC_ACCESS_ERR
#define DATAGRAMS  (RDMA_UD | RDMA_GSI)
#define UNRELIABLE (RDMA_UC | DATAGRAMS)
#define IMPATIENT  .own_conf = { .timeout = 8, .retry_cnt = 1, .rnr_retry = RDMA_NONE }

const struct rdma_illegal rdma_illegal[] = {
	{ "opcode that is none", OP(SEND), -EINVAL, .spoil = opcode_unknown, .same = UNRELIABLE },
	{ "flags that are none", OP(SEND) | OP(NOP) | WINDOWS | OP(SEND_WITH_INV), -EINVAL,
	  .spoil = flags_unknown, .same = UNRELIABLE },
	{ "INLINE on what has nothing to send", READ | ATOMICS | OP(NOP) | WINDOWS, -EINVAL,
	  .spoil = in_line, .same = UNRELIABLE },
	{ "INLINE, more than max_inline_data", SENDS | WRITES, -EINVAL, .spoil = in_line_too_long,
	  .same = UNRELIABLE },
	{ "more than max_send_sge segments", MESSAGES, -EINVAL, .spoil = segments_too_many,
	  .same = UNRELIABLE },
	{ "more than 2^30 bytes", MESSAGES, -EINVAL, .spoil = length_huge, .same = RDMA_UC },
	{ "atomic with no segment", ATOMICS, -EINVAL, .spoil = segments_none },
	{ "atomic with two segments", ATOMICS, -EINVAL, .spoil = segments_two },
	{ "atomic of 4 bytes", ATOMICS, -EINVAL, .spoil = length_halved },
	{ "atomic of 16 bytes", ATOMICS, -EINVAL, .spoil = length_doubled },
	{ "segment of what has no data", OP(NOP) | WINDOWS, -EINVAL, .spoil = segments_one,
	  .same = UNRELIABLE },
	{ "window that ends behind its region", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_outside },
	{ "window that begins before its region", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_before },
	{ "window of more than 2^31 bytes", OP(BIND_MW), -EINVAL, .spoil = rdma_window_too_long },
	{ "window of 0 bytes of type 2", OP(BIND_MW), -EINVAL, .spoil = rdma_window_empty },
	{ "window on a region without MW_BIND", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_not_bindable },
	{ "right to write on a region without LOCAL_WRITE", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_read_only },
	{ "right of a window that is not a peer's", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_local_right },
	{ "window on a zero-based region", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_of_zero_based },
	{ "window on a region of another PD", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_foreign_region },
	{ "window of another PD", OP(BIND_MW), -EINVAL, .spoil = rdma_window_foreign },
	{ "window on a window", OP(BIND_MW), -EINVAL, .spoil = rdma_window_on_window },
	{ "window of type 1 by a request", OP(BIND_MW), -EINVAL, .spoil = rdma_window_type_1 },
	{ "key that the window has", OP(BIND_MW), -EINVAL, .spoil = rdma_window_present_key },
	{ "key of another number than the window's", OP(BIND_MW), -EINVAL,
	  .spoil = rdma_window_other_key },
	{ "window of type 2 by a call", CALL, -EINVAL, .post = rdma_call_type_2 },
	{ "flag of a call that no request has", CALL, -EINVAL, .post = rdma_call_flag },
	{ "zero-based window of type 1", CALL, -EINVAL, .post = rdma_call_zero_based },
	{ "window of type 1 that ends behind its region", CALL, -EINVAL,
	  .post = rdma_call_outside },
	{ "region with a window", 1u << RDMA_DEREG, -EBUSY, .post = rdma_dereg_bound },
	{ "max_rd_atomic 0", READ | ATOMICS, -EINVAL, .own_conf = { .rd_atomic = RDMA_NONE } },
	{ "send queue full", ALL, -ENOMEM, .spoil = ring_full, .same = UNRELIABLE },
	{ "queue pair in RESET", ALL, -EPERM, .spoil = in_reset, .same = UNRELIABLE },
	{ "queue pair in INIT", ALL, -EPERM, .own_conf = { .up_to = RDMAPMD_QPS_INIT },
	  .same = UNRELIABLE },
	{ "queue pair in RTR", ALL, -EPERM, .own_conf = { .up_to = RDMAPMD_QPS_RTR },
	  .same = UNRELIABLE },
	{ "more than max_recv_sge segments", RECEIVE, -EINVAL, .post = receive_segments_too_many },
	{ "segment of more than 2^31 - 1 bytes", RECEIVE, -EINVAL, .post = receive_too_long },
	{ "queue pair that has an SRQ", RECEIVE, -EINVAL, .post = receive_beside_srq },
	{ "receive queue full", RECEIVE, -ENOMEM, .post = receive_ring_full },
	{ "receive of a queue pair in RESET", RECEIVE, -EPERM, .post = receive_in_reset },

	{ "queue pair in ERR", ALL, .status = RDMAPMD_WC_WR_FLUSH_ERR, .spoil = in_error,
	  .same = UNRELIABLE },
	{ "lkey that is none", MESSAGES | ATOMICS, .status = RDMAPMD_WC_LOC_PROT_ERR,
	  .spoil = lkey_wrong, .same = UNRELIABLE },
	{ "lkey of another PD", MESSAGES | ATOMICS, .status = RDMAPMD_WC_LOC_PROT_ERR,
	  .spoil = lkey_foreign, .same = UNRELIABLE },
	{ "segment out of its MR", MESSAGES | ATOMICS, .status = RDMAPMD_WC_LOC_PROT_ERR,
	  .spoil = local_outside, .same = UNRELIABLE },
	{ "result into an MR without LOCAL_WRITE", READ | ATOMICS,
	  .status = RDMAPMD_WC_LOC_PROT_ERR, .spoil = lkey_read_only },
	{ "window that is bound", OP(BIND_MW), .status = RDMAPMD_WC_MW_BIND_ERR,
	  .spoil = rdma_window_bound },
	{ "invalidation of a region", OP(LOCAL_INV), .status = RDMAPMD_WC_MW_BIND_ERR,
	  .spoil = rdma_inval_region },
	{ "invalidation of a region of another PD", OP(LOCAL_INV), .status = RDMAPMD_WC_MW_BIND_ERR,
	  .spoil = rdma_inval_foreign },
	{ "invalidation of a window of type 1", OP(LOCAL_INV), .status = RDMAPMD_WC_MW_BIND_ERR,
	  .spoil = rdma_inval_type_1 },
	{ "invalidation of a window of another queue pair", OP(LOCAL_INV),
	  .status = RDMAPMD_WC_MW_BIND_ERR, .spoil = rdma_inval_other_qp },
	{ "invalidation by a key that the window has not", OP(LOCAL_INV),
	  .status = RDMAPMD_WC_MW_BIND_ERR, .spoil = rdma_inval_stale },
	{ "peer with a smaller path MTU", READ, .status = RDMAPMD_WC_BAD_RESP_ERR, .length = 1024,
	  .peer_conf = { .mtu = RDMAPMD_MTU_256 } },
	{ "peer gone", MESSAGES | ATOMICS, .status = RDMAPMD_WC_RETRY_EXC_ERR, IMPATIENT,
	  .spoil = peer_gone, .lost = UNRELIABLE },
	{ "no receive, rnr_retry 0", SENDS | OP(RDMA_WRITE_WITH_IMM),
	  .status = RDMAPMD_WC_RNR_RETRY_EXC_ERR, IMPATIENT, .no_receive = true,
	  .lost = UNRELIABLE },
	{ "rkey that is none", REMOTE, ACCESS_EVENT, .spoil = rkey_wrong, .lost = RDMA_UC },
	{ "window of type 2 of another queue pair", REMOTE, ACCESS_EVENT,
	  .spoil = rdma_use_other_qp },
	{ "window of type 1 that was unbound", REMOTE, ACCESS_EVENT, .spoil = rdma_use_unbound },
	{ "window of type 2 that was invalidated", REMOTE, ACCESS_EVENT,
	  .spoil = rdma_use_invalidated },
	{ "window that was freed", REMOTE, ACCESS_EVENT, .spoil = rdma_use_freed },
	{ "window that lacks the right", REMOTE, ACCESS_EVENT, .spoil = rdma_use_without_right },
	{ "remote address before its window", REMOTE, ACCESS_EVENT, .spoil = rdma_use_outside },
	{ "rkey of another PD", REMOTE, ACCESS_EVENT, .spoil = rkey_foreign, .lost = RDMA_UC },
	{ "rkey that was deregistered", REMOTE, ACCESS_EVENT, .spoil = rkey_gone, .lost = RDMA_UC },
	{ "rkey whose MR lacks the right", REMOTE, ACCESS_EVENT, .spoil = rkey_without_right,
	  .lost = RDMA_UC },
	{ "remote address behind its MR", REMOTE, ACCESS_EVENT, .spoil = remote_outside,
	  .lost = RDMA_UC },
	{ "remote end behind its MR", WRITES | READ, ACCESS_EVENT, .spoil = remote_end,
	  .lost = RDMA_UC },
	{ "remote addresses that wrap", WRITES | READ, ACCESS_EVENT, .spoil = remote_wraps,
	  .lost = RDMA_UC },
	{ "right that the peer's queue pair lacks", WRITES | READ | ATOMICS, REQUEST_EVENT,
	  .peer_conf = { .access = LOCAL_WRITE }, .lost = RDMA_UC },
	{ "atomics that the peer's queue pair refuses", ATOMICS, REQUEST_EVENT,
	  .peer_conf = { .access = NO_ATOMIC } },
	{ "atomic at no multiple of 8", ATOMICS, REQUEST_EVENT, .spoil = unaligned },
	{ "more READs or atomics than max_dest_rd_atomic", READ | ATOMICS, REQUEST_EVENT,
	  .peer_conf = { .rd_atomic = RDMA_NONE } },
	{ "packets longer than the peer's path MTU", SENDS | WRITES, REQUEST_EVENT, .length = 1024,
	  .peer_conf = { .mtu = RDMAPMD_MTU_256 }, .lost = RDMA_UC },
	{ "invalidation of a region of the peer's", OP(SEND_WITH_INV), NOT_INVALIDATED,
	  .spoil = rdma_inval_peer_region },
	{ "invalidation of a region of another PD of the peer's", OP(SEND_WITH_INV),
	  NOT_INVALIDATED, .spoil = rdma_inval_peer_foreign },
	{ "invalidation of a window of type 1 of the peer's", OP(SEND_WITH_INV), NOT_INVALIDATED,
	  .spoil = rdma_inval_peer_type_1 },
	{ "invalidation of a window of another queue pair of the peer's", OP(SEND_WITH_INV),
	  NOT_INVALIDATED, .spoil = rdma_inval_peer_other_qp },
	{ "invalidation of a window that was invalidated", OP(SEND_WITH_INV), NOT_INVALIDATED,
	  .spoil = rdma_inval_peer_again },
	{ "invalidation of a window that was never bound", OP(SEND_WITH_INV), NOT_INVALIDATED,
	  .spoil = rdma_inval_peer_free },
	{ "SEND longer than the receive", SENDS, .status = RDMAPMD_WC_REM_INV_REQ_ERR,
	  .peer_status = RDMAPMD_WC_LOC_LEN_ERR, .receive = RDMA_RECEIVE_SHORT,
	  .lost = UNRELIABLE },
	{ "receive with an lkey that is none", SENDS, .status = RDMAPMD_WC_REM_OP_ERR,
	  .peer_status = RDMAPMD_WC_LOC_PROT_ERR, .receive = RDMA_RECEIVE_BAD_KEY,
	  .there = UNRELIABLE },
	{ "receive into an MR without LOCAL_WRITE", SENDS, .status = RDMAPMD_WC_REM_OP_ERR,
	  .peer_status = RDMAPMD_WC_LOC_PROT_ERR, .receive = RDMA_RECEIVE_READ_ONLY,
	  .there = UNRELIABLE },

	{ "operation of reliable connections", READ | ATOMICS | WINDOWS | OP(SEND_WITH_INV),
	  -EINVAL, .only = RDMA_UC },
	{ "operation of connections", REMOTE | WINDOWS | OP(SEND_WITH_INV), -EINVAL,
	  .only = DATAGRAMS },
	{ "more than the port's MTU", PLAIN_SENDS, -EINVAL, .spoil = longer_than_a_packet,
	  .only = RDMA_UD },
	{ "more than 256 bytes", PLAIN_SENDS, -EINVAL, .spoil = longer_than_a_mad,
	  .only = RDMA_GSI },
	{ "no address handle", PLAIN_SENDS, -EINVAL, .spoil = handle_none, .only = DATAGRAMS },
	{ "address handle of another PD", PLAIN_SENDS, -EINVAL, .spoil = handle_foreign,
	  .only = DATAGRAMS },
	{ "remote_qpn of more than 24 bits", PLAIN_SENDS, -EINVAL, .spoil = number_of_25_bits,
	  .only = DATAGRAMS },
	{ "remote_qpn that nobody has", PLAIN_SENDS, .spoil = number_wrong, .only = DATAGRAMS,
	  .lost = DATAGRAMS },
	{ "Q_Key that is not the peer's", PLAIN_SENDS, .spoil = qkey_wrong, .only = DATAGRAMS,
	  .lost = DATAGRAMS },
};
const unsigned int rdma_illegal_count = RTE_DIM(rdma_illegal);

static const char *
opcode_name(enum rdmapmd_wc_opcode opcode)
{
	switch (opcode) {
	case RDMAPMD_WC_SEND: return "SEND";
	case RDMAPMD_WC_RDMA_WRITE: return "RDMA_WRITE";
	case RDMAPMD_WC_RDMA_READ: return "RDMA_READ";
	case RDMAPMD_WC_COMP_SWAP: return "COMP_SWAP";
	case RDMAPMD_WC_FETCH_ADD: return "FETCH_ADD";
	case RDMAPMD_WC_NOP: return "NOP";
	case RDMAPMD_WC_BIND_MW: return "BIND_MW";
	case RDMAPMD_WC_LOCAL_INV: return "LOCAL_INV";
	case RDMAPMD_WC_RECV: return "RECV";
	case RDMAPMD_WC_RECV_RDMA_WITH_IMM: return "RECV_RDMA_WITH_IMM";
	}
	return "unknown";
}

/* ---- Types ---- */

uint32_t
rdma_operations_of(enum rdmapmd_qp_type type)
{
	switch (type) {
	case RDMAPMD_QPT_UC: return PLAIN_SENDS | WRITES | OP(NOP);
	case RDMAPMD_QPT_GSI:
	case RDMAPMD_QPT_UD: return PLAIN_SENDS | OP(NOP);
	default: return ALL | RECEIVE | CALL | 1u << RDMA_DEREG;
	}
}

const char *
rdma_type_name(enum rdmapmd_qp_type type)
{
	switch (type) {
	case RDMAPMD_QPT_GSI: return "GSI";
	case RDMAPMD_QPT_UC: return "UC";
	case RDMAPMD_QPT_UD: return "UD";
	default: return "RC";
	}
}

bool
rdma_is_datagram(enum rdmapmd_qp_type type)
{
	return type == RDMAPMD_QPT_UD || type == RDMAPMD_QPT_GSI;
}

uint32_t
rdma_illegal_operations(const struct rdma_illegal *row, enum rdmapmd_qp_type type)
{
	const unsigned int bit = 1u << type;

	if (row->only != 0)
		return row->only & bit ? row->operations : 0;
	if (type != RDMAPMD_QPT_RC && !((row->same | row->lost | row->there) & bit))
		return 0;
	return row->operations & rdma_operations_of(type);
}

/* ---- The document ---- */

/* How long it may be. */
static const char *
length_text(const struct rdma_operation *op, enum rdmapmd_qp_type type)
{
	if (!op->message || !rdma_is_datagram(type))
		return op->bytes;
	return type == RDMAPMD_QPT_GSI ? "0 .. 256" : "0 .. the port's MTU";
}

static void
print_legal(enum rdmapmd_qp_type type)
{
	unsigned int i;

	printf("| operation | bytes | segments | INLINE | completes as | at the peer |\n"
	       "|---|---|---|---|---|---|\n");
	for (i = 0; i < RDMA_RECV; i++) {
		const struct rdma_operation *op = &rdma_operations[i];

		if (rdma_operations_of(type) >> i & 1)
			printf("| %s | %s | %s | %s | %s | %s |\n", op->name, length_text(op, type),
			       op->segments, op->may_inline ? "to max_inline_data" : "no",
			       opcode_name(op->completes_as),
			       op->peer_as == RDMAPMD_WC_NOP ? "" : opcode_name(op->peer_as));
	}
}

static const char *
refusal_name(int refused)
{
	switch (refused) {
	case -EINVAL: return "-EINVAL";
	case -ENOMEM: return "-ENOMEM";
	case -EBUSY: return "-EBUSY";
	default: return "-EPERM";
	}
}

static void
print_peer(const struct rdma_illegal *row)
{
	if (row->peer_status != RDMAPMD_WC_SUCCESS)
		printf("receive: %s", rdmapmd_wc_status_str(row->peer_status));
	else if (row->peer_event != RDMA_NO_EVENT)
		printf("event: %s", rdmapmd_event_type_str(row->peer_event));
	if (row->peer_imm_status != RDMAPMD_WC_SUCCESS)
		printf("; immediate's receive: %s", rdmapmd_wc_status_str(row->peer_imm_status));
}

static void
print_illegal(const struct rdma_illegal *row, enum rdmapmd_qp_type type)
{
	const uint32_t operations = rdma_illegal_operations(row, type);
	const bool all = operations == (rdma_operations_of(type) & ALL);
	unsigned int i, names = 0;

	if (operations == 0)
		return;
	printf("| %s | %s", row->what, all ? "all sends" : "");
	for (i = 0; i < RDMA_OPS && !all; i++)
		if (operations >> i & 1)
			printf("%s%s", names++ > 0 ? ", " : "", rdma_operations[i].name);
	if (row->refused != 0) {
		printf(" | %s | | |\n", refusal_name(row->refused));
		return;
	}
	if (row->lost >> type & 1) {
		printf(" | | success | dropped |\n");
		return;
	}
	printf(" | | %s | ",
	       rdmapmd_wc_status_str(row->there >> type & 1 ? RDMAPMD_WC_SUCCESS : row->status));
	print_peer(row);
	printf(" |\n");
}

static void
print_all_illegal(enum rdmapmd_qp_type type)
{
	unsigned int i;

	printf("\n| what | operations | when posted | completes as | at the peer |\n"
	       "|---|---|---|---|---|\n");
	for (i = 0; i < rdma_illegal_count; i++)
		print_illegal(&rdma_illegal[i], type);
}

static void
print_type(enum rdmapmd_qp_type type)
{
	print_legal(type);
	print_all_illegal(type);
}

void
rdma_matrix_print(void)
{
	print_type(RDMAPMD_QPT_RC);
	printf("\n");
	print_type(RDMAPMD_QPT_UC);
	printf("\n");
	print_type(RDMAPMD_QPT_UD);
	printf("\n");
	print_type(RDMAPMD_QPT_GSI);
}
