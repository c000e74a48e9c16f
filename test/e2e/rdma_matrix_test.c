/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every operation, size and flag that connections and datagrams allow, with its data; and everything else, with the error
 * that it is refused with. Over one device, two devices of one process, and two processes.
 */

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "port.h"
#include "rdma_matrix.h"

#define MTU	  1024u
#define IMMEDIATE RTE_BE32(0x01020304)
#define LARGE	  (1u << 20)
#define FLAGS	  (RDMAPMD_SEND_INLINE << 1)

static struct rdma_end own, there;
static struct rdma_peer peer;
static const char *devargs_of_peer;
static uint64_t seed;
static unsigned int attempts;
static enum rdmapmd_qp_type type = RDMAPMD_QPT_RC; /* that is tried */

static struct rdma_answer
ask(struct rdma_order order)
{
	return rdma_peer_do(&peer, &order);
}

static void
meet(const struct rdma_conf *own_conf, const struct rdma_conf *peer_conf)
{
	struct rdma_conf conf = *own_conf;

	conf.type = type;
	rdma_meet(&own, &peer, &conf, peer_conf);
}

static bool
takes_receive(uint8_t opcode)
{
	return rdma_operations[opcode].peer_as != RDMAPMD_WC_NOP;
}

static bool
has_data(uint8_t opcode)
{
	return opcode != RDMAPMD_WR_NOP && opcode != RDMAPMD_WR_BIND_MW &&
	       opcode != RDMAPMD_WR_LOCAL_INV;
}

/* What an attempt needs of windows: one of its own side, bound if that is possible, or the peer's. RC alone binds. */
static void
attempt_windows(struct rdma_attempt *attempt, bool ready)
{
	switch (attempt->wr.opcode) {
	case RDMAPMD_WR_BIND_MW:
		rdma_end_window(&own, RDMA_WINDOW_FREE);
		attempt->wr = rdma_end_bind(&own);
		break;
	case RDMAPMD_WR_LOCAL_INV:
		attempt->wr.invalidate_rkey =
			rdma_end_window(&own, ready && type == RDMAPMD_QPT_RC ? RDMA_WINDOW_TYPE_2
									      : RDMA_WINDOW_FREE);
		break;
	case RDMAPMD_WR_SEND_WITH_INV:
		attempt->wr.invalidate_rkey =
			ask((struct rdma_order){ .kind = RDMA_ORDER_WINDOW,
						 .window = type == RDMAPMD_QPT_RC
								   ? RDMA_WINDOW_TYPE_2
								   : RDMA_WINDOW_FREE })
				.window;
		break;
	default: break;
	}
}

/* Signaled, from the source to the target, in one segment. */
static void
attempt_begin(struct rdma_attempt *attempt, uint8_t opcode, uint32_t length, unsigned int pieces)
{
	const bool read = opcode == RDMAPMD_WR_RDMA_READ;
	const bool message = rdma_operations[opcode].message;

	*attempt = (struct rdma_attempt){ .own = &own, .peer = &peer };
	attempt->there = ask((struct rdma_order){ .kind = RDMA_ORDER_HELLO });
	attempt->wr = (struct rdmapmd_send_wr){
		.wr_id = 1,
		.opcode = opcode,
		.send_flags = RDMAPMD_SEND_SIGNALED,
		.sg_list = attempt->sges,
		.num_sge = has_data(opcode) ? (uint16_t)pieces : 0,
		.imm_data = IMMEDIATE,
	};
	/* What comes back goes to the target, too. */
	rdma_end_pieces(&own, read || !message ? RDMA_TO : RDMA_FROM, length, pieces,
			attempt->sges);
	if (rdma_is_datagram(type) && (rdma_operations_of(type) >> opcode & 1)) {
		attempt->wr.wr.ud.ah = own.ah;
		attempt->wr.wr.ud.remote_qpn = attempt->there.qpn;
		attempt->wr.wr.ud.remote_qkey = RDMA_QKEY;
	} else if (message) {
		attempt->wr.wr.rdma.remote_addr =
			attempt->there.address + (read ? RDMA_FROM : RDMA_TO);
		attempt->wr.wr.rdma.rkey = attempt->there.keys[RDMA_REGION_ALL];
	} else {
		attempt->wr.wr.atomic.remote_addr = attempt->there.address + RDMA_FROM;
		attempt->wr.wr.atomic.rkey = attempt->there.keys[RDMA_REGION_ALL];
	}
	attempts++;
}

static void
expect_peer_quiet(void)
{
	if (!ask((struct rdma_order){ .kind = RDMA_ORDER_QUIET }).yes)
		fail_msg("the peer has something");
}

/* A row of one of the lists, of a type. */
struct trial {
	char name[128];
	enum rdmapmd_qp_type type;
	unsigned int row;
};

/* ---- What is legal ---- */

/* Post it; completed in any case: an unsignaled one when a NOP behind it is, and nothing is said of it. */
static struct rdmapmd_wc
carry_out(struct rdma_attempt *attempt)
{
	const struct rdmapmd_send_wr nop = { .wr_id = 2,
					     .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };

	rdma_post(own.qp, &attempt->wr);
	if (attempt->wr.send_flags & RDMAPMD_SEND_SIGNALED)
		return rdma_expect(own.cq, 1, rdma_operations[attempt->wr.opcode].completes_as);
	rdma_post(own.qp, &nop);
	return rdma_expect(own.cq, 2, RDMAPMD_WC_NOP);
}

/* Fetch the peer's message into the source first: what has a FENCE sends that, not what was there. */
static void
post_read_before(const struct rdma_attempt *attempt)
{
	struct rdmapmd_send_wr wr = attempt->wr;

	wr.opcode = RDMAPMD_WR_RDMA_READ;
	wr.send_flags = 0;
	wr.wr.rdma.remote_addr = attempt->there.address + RDMA_FROM;
	rdma_post(own.qp, &wr);
}

/* The receive's completion at the peer, and the event for who waits for solicited ones alone. */
static void
check_receive(const struct rdmapmd_send_wr *wr, uint32_t length)
{
	const bool solicited = (wr->send_flags & RDMAPMD_SEND_SOLICITED) != 0;
	const bool invalidates = wr->opcode == RDMAPMD_WR_SEND_WITH_INV;
	const bool immediate = wr->opcode != RDMAPMD_WR_SEND && !invalidates;
	const struct rdma_answer got =
		ask((struct rdma_order){ .kind = RDMA_ORDER_POLL, .event = solicited });

	assert_int_equal(got.wc.status, RDMAPMD_WC_SUCCESS);
	assert_int_equal(got.wc.opcode, rdma_operations[wr->opcode].peer_as);
	if (rdma_is_datagram(type)) {
		length += RDMAPMD_GRH_BYTES;
		assert_int_equal(got.wc.wc_flags & RDMAPMD_WC_GRH, RDMAPMD_WC_GRH);
		assert_int_equal(got.wc.src_qp, type == RDMAPMD_QPT_GSI ? 1 : own.qp->qp_num);
	}
	assert_int_equal(got.wc.byte_len, length);
	assert_int_equal(got.wc.wc_flags & RDMAPMD_WC_WITH_IMM,
			 immediate ? RDMAPMD_WC_WITH_IMM : 0);
	assert_int_equal(got.wc.wc_flags & RDMAPMD_WC_WITH_INV,
			 invalidates ? RDMAPMD_WC_WITH_INV : 0);
	if (immediate)
		assert_int_equal(got.wc.imm_data, IMMEDIATE);
	if (invalidates)
		assert_int_equal(got.wc.invalidated_rkey, wr->invalidate_rkey);
	assert_int_equal(got.yes, solicited);
}

/* What the peer expects when all that was sent has come. */
static uint32_t
next_psn(void)
{
	struct rdmapmd_qp_attr attr;

	assert_int_equal(rdmapmd_qp_query(own.qp, &attr, NULL), 0);
	return attr.sq_psn;
}

static void
try_message(uint8_t opcode, uint32_t length, uint8_t flags, unsigned int pieces)
{
	const bool read = opcode == RDMAPMD_WR_RDMA_READ;
	const bool fetched = type == RDMAPMD_QPT_RC && !read && (flags & RDMAPMD_SEND_FENCE) &&
			     !(flags & RDMAPMD_SEND_INLINE);
	/* A receive has its own segments; memory that is written to by its address has one. */
	const bool scattered = rdma_operations[opcode].peer_as == RDMAPMD_WC_RECV;
	struct rdma_order order = { .kind = RDMA_ORDER_PREPARE,
				    .seed = seed + 1,
				    .length = length,
				    .pieces = scattered ? pieces : 1,
				    .receives = takes_receive(opcode) };
	struct rdma_attempt attempt;
	struct rdmapmd_wc wc;
	unsigned int i;

	attempt_begin(&attempt, opcode, length, pieces);
	attempt_windows(&attempt, true);
	ask(order);
	rdma_end_blank(&own, RDMA_TO, length, pieces);
	rdma_end_put(&own, RDMA_FROM, length, pieces, seed);
	attempt.wr.send_flags = flags;
	if (fetched)
		post_read_before(&attempt);
	for (i = 0; (flags & RDMAPMD_SEND_INLINE) && i < pieces; i++)
		attempt.sges[i].lkey = 0; /* nobody looks */
	wc = carry_out(&attempt);
	if (takes_receive(opcode))
		check_receive(&attempt.wr, length);
	if (read) {
		if (flags & RDMAPMD_SEND_SIGNALED)
			assert_int_equal(wc.byte_len, length);
		assert_true(rdma_end_has(&own, RDMA_TO, length, pieces, seed + 1));
	} else {
		order.kind = RDMA_ORDER_HAS;
		order.seed = fetched ? seed + 1 : seed;
		order.psn = next_psn();
		assert_true(ask(order).yes);
	}
	seed += 2;
}

/* The longest packet. */
static uint32_t
packet_bytes(void)
{
	return type == RDMAPMD_QPT_GSI ? RDMA_MAD : MTU;
}

/*
 * Large messages: no flag, each of them, all; all of them in all ways is what takes its time. None where nothing is sent again:
 * a wire may be too short for it; and a datagram is a packet.
 */
static bool
worth_it(uint32_t length, uint8_t flags)
{
	if (type != RDMAPMD_QPT_RC && length >= LARGE - 1)
		return false;
	if (rdma_is_datagram(type) && length > packet_bytes())
		return false;
	return length < LARGE - 1 || full_run() || (flags & (flags - 1)) == 0 ||
	       flags == FLAGS - 1 || flags == (FLAGS - 1 - RDMAPMD_SEND_INLINE);
}

static void
all_sizes(uint8_t opcode)
{
	const uint32_t packet = packet_bytes();
	const uint32_t sizes[] = { 0,	       1,      63,	   64,	      65,
				   packet - 1, packet, packet + 1, LARGE - 1, RDMA_MESSAGE };
	unsigned int i, flags, several;

	meet(&(struct rdma_conf){ 0 }, &(struct rdma_conf){ 0 });
	for (i = 0; i < RTE_DIM(sizes); i++)
		for (flags = 0; flags < FLAGS; flags++) {
			if ((flags & RDMAPMD_SEND_INLINE) && (!rdma_operations[opcode].may_inline ||
							      sizes[i] > own.cap.max_inline_data))
				continue;
			for (several = 0; several < 2; several++)
				if (worth_it(sizes[i], (uint8_t)flags))
					try_message(opcode, sizes[i], (uint8_t)flags,
						    several ? RDMA_PIECES : 1);
		}
	expect_peer_quiet();
}

static void
try_atomic(uint8_t opcode, uint8_t flags, bool equal)
{
	const uint64_t before = 0x1122334455667788 + seed++, operand = 0x99aabbccddeeff00;
	const bool swap = opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP;
	const uint64_t after = !swap ? before + operand : equal ? operand : before;
	struct rdma_attempt attempt;
	struct rdma_answer answer;
	uint64_t old;

	attempt_begin(&attempt, opcode, sizeof(old), 1);
	ask((struct rdma_order){
		.kind = RDMA_ORDER_PREPARE, .length = sizeof(old), .pieces = 1, .value = before });
	rdma_end_blank(&own, RDMA_TO, sizeof(old), 1);
	attempt.wr.send_flags = flags;
	attempt.wr.wr.atomic.compare_add = !swap ? operand : equal ? before : before - 1;
	attempt.wr.wr.atomic.swap = operand;
	carry_out(&attempt);
	memcpy(&old, own.memory + RDMA_TO, sizeof(old));
	assert_true(old == before);
	answer = ask((struct rdma_order){ .kind = RDMA_ORDER_HAS, .pieces = 1 });
	assert_true(answer.value == after);
}

static void
all_flags(uint8_t opcode)
{
	struct rdma_attempt attempt;
	unsigned int flags, equal;

	meet(&(struct rdma_conf){ 0 }, &(struct rdma_conf){ 0 });
	for (flags = 0; flags < RDMAPMD_SEND_INLINE; flags++) {
		for (equal = 0; has_data(opcode) && equal < 2; equal++)
			try_atomic(opcode, (uint8_t)flags, equal);
		if (!has_data(opcode)) {
			attempt_begin(&attempt, opcode, 0, 1);
			attempt_windows(&attempt, true);
			attempt.wr.send_flags = (uint8_t)flags;
			carry_out(&attempt);
		}
	}
	expect_peer_quiet();
}

static void
test_legal(void **state)
{
	const struct trial *trial = *state;
	const struct rdma_operation *operation = &rdma_operations[trial->row];
	const uint8_t opcode = (uint8_t)trial->row;

	type = trial->type;
	if (operation->message)
		all_sizes(opcode);
	else
		all_flags(opcode);
}

/* Nobody looks at the key of what nothing is written to or read from. */
static void
test_no_bytes_need_no_key(void **unused)
{
	static const uint8_t opcodes[] = { RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WR_RDMA_READ };
	struct rdma_attempt attempt;
	unsigned int i;

	(void)unused;
	type = RDMAPMD_QPT_RC;
	meet(&(struct rdma_conf){ 0 }, &(struct rdma_conf){ 0 });
	for (i = 0; i < RTE_DIM(opcodes); i++) {
		attempt_begin(&attempt, opcodes[i], 0, 1);
		attempt.sges[0].lkey ^= 0x5a;
		attempt.wr.wr.rdma.rkey ^= 0x5a;
		carry_out(&attempt);
	}
}

/* By the key of a window, and by addresses of its memory, or by those that begin with 0 at its first byte. */
static void
use_window(enum rdma_window kind, uint8_t opcode)
{
	struct rdma_order order = {
		.kind = RDMA_ORDER_PREPARE, .seed = seed + 1, .length = MTU + 1, .pieces = 1
	};
	const bool read = opcode == RDMAPMD_WR_RDMA_READ;
	struct rdma_attempt attempt;

	attempt_begin(&attempt, opcode, MTU + 1, 1);
	attempt.wr.wr.rdma.rkey =
		ask((struct rdma_order){ .kind = RDMA_ORDER_WINDOW, .window = kind }).window;
	if (kind == RDMA_WINDOW_ZERO_BASED)
		attempt.wr.wr.rdma.remote_addr -= attempt.there.address + RDMA_FROM;
	ask(order);
	rdma_end_blank(&own, RDMA_TO, MTU + 1, 1);
	rdma_end_put(&own, RDMA_FROM, MTU + 1, 1, seed);
	carry_out(&attempt);
	order.kind = RDMA_ORDER_HAS;
	order.seed = seed;
	assert_true(read ? rdma_end_has(&own, RDMA_TO, MTU + 1, 1, seed + 1) : ask(order).yes);
	seed += 2;
}

static void
test_windows(void **unused)
{
	static const enum rdma_window kinds[] = { RDMA_WINDOW_TYPE_1, RDMA_WINDOW_TYPE_2,
						  RDMA_WINDOW_ZERO_BASED };
	unsigned int i;

	(void)unused;
	type = RDMAPMD_QPT_RC;
	meet(&(struct rdma_conf){ 0 }, &(struct rdma_conf){ 0 });
	for (i = 0; i < RTE_DIM(kinds); i++) {
		use_window(kinds[i], RDMAPMD_WR_RDMA_WRITE);
		use_window(kinds[i], RDMAPMD_WR_RDMA_READ);
	}
	expect_peer_quiet();
}

/* ---- What is not ---- */

static void
expect_refused(struct rdma_attempt *attempt, const struct rdma_illegal *row)
{
	int ret;

	if (row->post != NULL)
		ret = row->post(attempt);
	else
		ret = rdmapmd_post_send(own.qp, &attempt->wr, 1) == 1 ? 0 : own.qp->post_send_error;
	if (ret != row->refused)
		fail_msg("%s: %s, not %s", rdma_operations[attempt->wr.opcode].name, strerror(-ret),
			 strerror(-row->refused));
}

/* It completes, and nobody tells what came of it. */
static void
expect_sent(struct rdma_attempt *attempt)
{
	rdma_post(own.qp, &attempt->wr);
	rdma_expect(own.cq, 1, rdma_operations[attempt->wr.opcode].completes_as);
	assert_int_equal(rdmapmd_qp_state(own.qp), RDMAPMD_QPS_RTS);
}

/* Out of SQE it sends again. */
static void
send_again(void)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_RTS };
	const struct rdmapmd_send_wr nop = { .wr_id = 3,
					     .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };

	assert_int_equal(rdmapmd_qp_state(own.qp), RDMAPMD_QPS_SQE);
	assert_int_equal(rdmapmd_qp_modify(own.qp, &attr, RDMAPMD_QP_STATE), 0);
	rdma_post(own.qp, &nop);
	rdma_expect(own.cq, 3, RDMAPMD_WC_NOP);
}

/* It fails, what is behind it is flushed, and the queue pair is in ERR; of what is unreliable sends alone are stopped. */
static void
expect_failed(struct rdma_attempt *attempt, const struct rdma_illegal *row)
{
	struct rdmapmd_send_wr next = { .wr_id = 2, .opcode = RDMAPMD_WR_NOP };

	rdma_post(own.qp, &attempt->wr);
	rdma_post(own.qp, &next);
	rdma_expect_status(own.cq, 1, row->status);
	rdma_expect_status(own.cq, 2, RDMAPMD_WC_WR_FLUSH_ERR);
	if (type == RDMAPMD_QPT_RC || row->status == RDMAPMD_WC_WR_FLUSH_ERR)
		assert_int_equal(rdmapmd_qp_state(own.qp), RDMAPMD_QPS_ERR);
	else
		send_again();
}

static void
expect_peer_status(enum rdmapmd_wc_status status)
{
	const struct rdma_answer got = ask((struct rdma_order){ .kind = RDMA_ORDER_POLL });

	assert_string_equal(rdmapmd_wc_status_str(got.wc.status), rdmapmd_wc_status_str(status));
}

/* Two receives: the one in use, if it has a status of its own, and what an error flushes. */
static void
check_peer(const struct rdma_illegal *row, uint8_t opcode)
{
	const bool own_status = opcode == RDMAPMD_WR_RDMA_WRITE_WITH_IMM &&
				row->peer_imm_status != RDMAPMD_WC_SUCCESS;
	const enum rdmapmd_wc_status status = own_status ? row->peer_imm_status : row->peer_status;
	struct rdma_answer got;

	if (status != RDMAPMD_WC_SUCCESS) {
		expect_peer_status(status);
	} else if (row->peer_event != RDMA_NO_EVENT) {
		got = ask((struct rdma_order){ .kind = RDMA_ORDER_EVENT });
		assert_string_equal(rdmapmd_event_type_str(got.type),
				    rdmapmd_event_type_str(row->peer_event));
		expect_peer_status(RDMAPMD_WC_WR_FLUSH_ERR);
	}
	if (row->peer_event != RDMA_NO_EVENT || status != RDMAPMD_WC_SUCCESS)
		expect_peer_status(RDMAPMD_WC_WR_FLUSH_ERR);
	expect_peer_quiet();
}

static void
try_illegal(const struct rdma_illegal *row, uint8_t opcode)
{
	const uint32_t length = row->length != 0 ? row->length : 8;
	const uint32_t receives = row->no_receive ? 0 : 2;
	struct rdma_attempt attempt;

	meet(&row->own_conf, &row->peer_conf);
	attempt_begin(&attempt, opcode >= RDMA_RECV ? RDMAPMD_WR_NOP : opcode, length, 1);
	attempt_windows(&attempt, rdmapmd_qp_state(own.qp) == RDMAPMD_QPS_RTS);
	ask((struct rdma_order){ .kind = RDMA_ORDER_PREPARE,
				 .seed = seed++,
				 .length = length,
				 .pieces = 1,
				 .receives = receives,
				 .receive = row->receive });
	if (row->spoil != NULL)
		row->spoil(&attempt);
	if (row->refused != 0)
		expect_refused(&attempt, row);
	else if ((row->lost | row->there) >> type & 1)
		expect_sent(&attempt);
	else
		expect_failed(&attempt, row);
	if (row->lost >> type & 1)
		expect_peer_quiet();
	else
		check_peer(row, opcode);
	if (attempt.foreign_ah != NULL)
		assert_int_equal(rdmapmd_ah_destroy(attempt.foreign_ah), 0);
}

static void
test_illegal(void **state)
{
	const struct trial *trial = *state;
	const struct rdma_illegal *row = &rdma_illegal[trial->row];
	uint8_t opcode;

	type = trial->type;
	for (opcode = 0; opcode < RDMA_OPS; opcode++)
		if (rdma_illegal_operations(row, type) >> opcode & 1)
			try_illegal(row, opcode);
	/* Nothing of it stays. */
	meet(&(struct rdma_conf){ 0 }, &(struct rdma_conf){ 0 });
	if (rdma_is_datagram(type))
		try_message(RDMAPMD_WR_SEND, packet_bytes(), RDMAPMD_SEND_SIGNALED, 1);
	else
		try_message(RDMAPMD_WR_RDMA_WRITE, MTU + 1, RDMAPMD_SEND_SIGNALED, 1);
}

/* ---- Every status ---- */

/* Those that a reliable connection of this device never gives. */
static bool
never(enum rdmapmd_wc_status status)
{
	switch (status) {
	case RDMAPMD_WC_LOC_EEC_OP_ERR: /* reliable datagrams */
	case RDMAPMD_WC_LOC_RDD_VIOL_ERR:
	case RDMAPMD_WC_REM_INV_RD_REQ_ERR:
	case RDMAPMD_WC_INV_EECN_ERR:
	case RDMAPMD_WC_INV_EEC_STATE_ERR:
	case RDMAPMD_WC_LOC_QP_OP_ERR: /* the driver builds no such WQE */
	case RDMAPMD_WC_REM_ABORT_ERR:
	case RDMAPMD_WC_RESP_TIMEOUT_ERR:
	case RDMAPMD_WC_FATAL_ERR: /* a lost device flushes */
	case RDMAPMD_WC_GENERAL_ERR: /* syndromes that nobody knows */ return true;
	default: return false;
	}
}

/* The list above has each of the others, and each row of it was run. */
static void
test_every_status_is_in_the_list(void **unused)
{
	unsigned int status, i;

	(void)unused;
	for (status = RDMAPMD_WC_SUCCESS + 1; status <= RDMAPMD_WC_GENERAL_ERR; status++) {
		for (i = 0; i < rdma_illegal_count; i++)
			if (rdma_illegal[i].status == status ||
			    rdma_illegal[i].peer_status == status ||
			    rdma_illegal[i].peer_imm_status == status)
				break;
		if ((i < rdma_illegal_count) == never(status))
			fail_msg("%s", rdmapmd_wc_status_str(status));
	}
	printf("# %u requests tried\n", attempts);
}

/* ---- Where it runs ---- */

/* One device; two; one here, one in a process of its own. */
static int
open_ends(void **unused)
{
	static const struct rdma_conf conf = { 0 };
	const char *of_peer = devargs_of_peer;

	(void)unused;
	if (of_peer != NULL && strncmp(of_peer, "peer:", 5) == 0) {
		rdma_peer_start(&peer, of_peer + 5);
	} else {
		rdma_end_open(&there, e2e_port_name(of_peer != NULL ? 1 : 0), &conf);
		peer.end = &there;
	}
	rdma_end_open(&own, e2e_port_name(0), &conf);
	return 0;
}

static int
close_ends(void **unused)
{
	(void)unused;
	rdma_end_close(&own);
	if (peer.end != NULL)
		rdma_end_close(&there);
	else
		rdma_peer_stop(&peer);
	return 0;
}

#define TRIALS 256 /* more than there are */
static struct trial trials[TRIALS];

static struct CMUnitTest
try(struct trial *trial, enum rdmapmd_qp_type of_type, unsigned int row, const char *what,
    CMUnitTestFunction test)
{
	*trial = (struct trial){ .type = of_type, .row = row };
	snprintf(trial->name, sizeof(trial->name), "%s: %s", rdma_type_name(of_type), what);
	return (struct CMUnitTest){ trial->name, test, NULL, NULL, trial };
}

static int
run(void)
{
	static const enum rdmapmd_qp_type types[] = { RDMAPMD_QPT_RC, RDMAPMD_QPT_UC,
						      RDMAPMD_QPT_UD, RDMAPMD_QPT_GSI };
	struct CMUnitTest tests[TRIALS + 3], *test = tests;
	struct trial *trial = trials;
	unsigned int t, i;

	for (t = 0; t < RTE_DIM(types); t++) {
		for (i = 0; i < RDMA_RECV; i++)
			if (rdma_operations_of(types[t]) >> i & 1)
				*test++ = try(trial++, types[t], i, rdma_operations[i].name,
					      test_legal);
		for (i = 0; i < rdma_illegal_count; i++)
			if (rdma_illegal_operations(&rdma_illegal[i], types[t]) != 0)
				*test++ = try(trial++, types[t], i, rdma_illegal[i].what,
					      test_illegal);
	}
	*test++ = (struct CMUnitTest)cmocka_unit_test(test_no_bytes_need_no_key);
	*test++ = (struct CMUnitTest)cmocka_unit_test(test_windows);
	*test++ = (struct CMUnitTest)cmocka_unit_test(test_every_status_is_in_the_list);
	return _cmocka_run_group_tests("rdma_matrix", tests, (size_t)(test - tests), open_ends,
				       close_ends);
}

/* --list; else devargs of one device, or of two, or PCI functions; those of a peer in another process begin with "peer:". */
int
main(int argc, char **argv)
{
	char vdev[2][256];
	const char *vdevs[] = { vdev[0], NULL, NULL };
	int rc;

	if (argc == 4 && strcmp(argv[1], RDMA_PEER_ARGUMENT) == 0)
		return rdma_peer_main(argv);
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		rdma_matrix_print();
		return 0;
	}
	e2e_port_spec(vdev[0], sizeof(vdev[0]), 0, argc > 1 ? argv[1] : "wire=loop");
	if (argc > 2 && strncmp(argv[2], "peer:", 5) != 0) {
		e2e_port_spec(vdev[1], sizeof(vdev[1]), 1, argv[2]);
		vdevs[1] = vdev[1];
	}
	if (e2e_init("rdma-matrix", vdevs) != 0)
		return 1;
	devargs_of_peer = argc > 2 ? argv[2] : NULL;
	rc = run();
	e2e_fini();
	return rc;
}
