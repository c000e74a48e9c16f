/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs by their commands: states, attributes, references, what queries tell. What each command refuses is in
 * ctl_refuse_rows.c; what queue pairs do with WQEs and packets is no matter here.
 */
#include "ctl_world.h"
#include "driver/qp.h"
/* Rings and attributes as the device took them, which no query tells: queries give back what was said. */
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/roce.h"

/* ---- Commands, from the world's good inputs ---- */

static uint32_t
create(struct world *w, uint16_t opcode)
{
	uint32_t number;

	world_good(w, opcode);
	assert_int_equal(world_run(w, &number), RNIC_STATUS_OK);
	return number;
}

/* The good input of a change of that QP, to be run; what it says. */
static struct rnic_qpc *
change(struct world *w, uint16_t opcode, uint32_t qpn)
{
	struct rnic_modify_qp_in *in = world_good(w, opcode);

	rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_QPN, qpn);
	return rnic_modify_qp_in_qpc(in);
}

/* Run it, with none of its options but these. */
static int
modify(struct world *w, uint16_t opcode, uint32_t qpn, uint32_t options)
{
	change(w, opcode, qpn);
	rnic_modify_qp_in_set((void *)w->in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, options);
	return world_run(w, NULL);
}

static struct rnic_qpc *
query(struct world *w, uint32_t qpn)
{
	static struct rnic_qpc qpc;

	assert_int_equal(drv_qp_query(&w->hn.drv, qpn, &qpc), RNIC_STATUS_OK);
	return &qpc;
}

static struct softrnic_qp *
qp_of(struct world *w, uint32_t qpn)
{
	struct softrnic_qp *qp = softrnic_object_get(w->hn.dev, SOFTRNIC_QP, qpn);

	assert_non_null(qp);
	return qp;
}

static unsigned int
state_of(struct world *w, uint32_t qpn)
{
	unsigned int state = (unsigned int)rnic_qpc_get(query(w, qpn), RNIC_QPC_STATE);

	return state == RNIC_QP_STATE_SQ_DRAINING ? RNIC_QP_STATE_SQD : state;
}

/* ---- States ---- */

static const struct {
	uint16_t opcode;
	int from; /* -1: any */
	enum rnic_qp_state to;
} changes[] = {
	{ RNIC_CMD_RST2INIT_QP, RNIC_QP_STATE_RST, RNIC_QP_STATE_INIT },
	{ RNIC_CMD_INIT2INIT_QP, RNIC_QP_STATE_INIT, RNIC_QP_STATE_INIT },
	{ RNIC_CMD_INIT2RTR_QP, RNIC_QP_STATE_INIT, RNIC_QP_STATE_RTR },
	{ RNIC_CMD_RTR2RTS_QP, RNIC_QP_STATE_RTR, RNIC_QP_STATE_RTS },
	{ RNIC_CMD_RTS2RTS_QP, RNIC_QP_STATE_RTS, RNIC_QP_STATE_RTS },
	{ RNIC_CMD_SQERR2RTS_QP, RNIC_QP_STATE_SQER, RNIC_QP_STATE_RTS }, /* which RC never is in */
	{ RNIC_CMD_RTS2SQD_QP, RNIC_QP_STATE_RTS, RNIC_QP_STATE_SQD },
	{ RNIC_CMD_SQD2SQD_QP, RNIC_QP_STATE_SQD, RNIC_QP_STATE_SQD },
	{ RNIC_CMD_SQD_RTS_QP, RNIC_QP_STATE_SQD, RNIC_QP_STATE_RTS },
	{ RNIC_CMD_2ERR_QP, -1, RNIC_QP_STATE_ERR },
	{ RNIC_CMD_2RST_QP, -1, RNIC_QP_STATE_RST },
};

static const enum rnic_qp_state states[] = { RNIC_QP_STATE_RST, RNIC_QP_STATE_INIT,
					     RNIC_QP_STATE_RTR, RNIC_QP_STATE_RTS,
					     RNIC_QP_STATE_SQD, RNIC_QP_STATE_ERR };

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A new QP in that state. */
static uint32_t
create_in(struct world *w, enum rnic_qp_state state)
{
	uint32_t qpn = create(w, RNIC_CMD_CREATE_QP);

	if (state == RNIC_QP_STATE_ERR) {
		world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_2ERR_QP, qpn), 0);
	} else {
		world_qp_raise(w, qpn, RNIC_QP_STATE_RST, state);
	}
	assert_int_equal(state_of(w, qpn), state);
	return qpn;
}

static void
every_change_in_every_state(void **state)
{
	struct world *w = *state;

	for (unsigned int s = 0; s < COUNT(states); s++) {
		for (unsigned int c = 0; c < COUNT(changes); c++) {
			const bool legal = changes[c].from < 0 || changes[c].from == (int)states[s];
			uint32_t qpn = create_in(w, states[s]);
			int status;

			change(w, changes[c].opcode, qpn);
			status = world_run(w, NULL);
			if (status != (legal ? RNIC_STATUS_OK : RNIC_STATUS_BAD_QP_STATE) ||
			    state_of(w, qpn) != (legal ? changes[c].to : states[s]))
				fail_msg("0x%x in state %u: status 0x%x, then state %u",
					 changes[c].opcode, states[s], status, state_of(w, qpn));
			assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
		}
	}
}

/* RTS to SQD with nothing under way: drained is told once, by an event. */
static void
a_drained_queue_pair_tells(void **state)
{
	struct world *w = *state;
	struct rnic_eqe eqe;
	uint32_t qpn = create_in(w, RNIC_QP_STATE_RTS);
	struct hn_eq eq;

	ctl_event_queue(&w->hn, &eq, RNIC_EVENT_SQ_DRAINED);
	assert_int_equal(modify(w, RNIC_CMD_RTS2SQD_QP, qpn, 0), RNIC_STATUS_OK);
	ctl_poll(&w->hn, 10);
	assert_true(hn_eq_next(&w->hn, &eq, &eqe));
	assert_int_equal(eqe.type, RNIC_EVENT_SQ_DRAINED);
	assert_int_equal(rnic_qpc_get(query(w, qpn), RNIC_QPC_STATE), RNIC_QP_STATE_SQD);
	assert_int_equal(modify(w, RNIC_CMD_SQD2SQD_QP, qpn, 0), RNIC_STATUS_OK);
	ctl_poll(&w->hn, 10);
	assert_false(hn_eq_next(&w->hn, &eq, &eqe));
}

/* ---- Attributes ---- */

static void
what_create_says_is_what_query_tells(void **state)
{
	struct world *w = *state;
	struct rnic_create_qp_in *in = world_good(w, RNIC_CMD_CREATE_QP);
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(in), given;
	struct softrnic_qp *qp;
	uint32_t qpn;

	rnic_qpc_set(qpc, RNIC_QPC_LOG_RQ_STRIDE, 2);
	rnic_qpc_set(qpc, RNIC_QPC_RLKY, 1);
	given = *qpc;
	assert_int_equal(world_run(w, &qpn), RNIC_STATUS_OK);
	assert_memory_equal(query(w, qpn), &given, sizeof(given));
	qp = qp_of(w, qpn);
	assert_int_equal(qp->rq.log_size, 2);
	assert_int_equal(qp->rq.log_stride, 6);
	assert_int_equal(qp->sq_log_size, 2);
	assert_int_equal(qp->sq_offset, 4 << 6);
	assert_int_equal(qp->ring.bytes, (4 << 6) + 4 * RNIC_WQEBB_BYTES);
	assert_int_equal(qp->user_index, 0xabcde);
	assert_true(qp->rlky);
	assert_ptr_equal(qp->roce.counters, &((struct softrnic_q_counter *)softrnic_object_get(
						      w->hn.dev, SOFTRNIC_Q_COUNTER, w->counter))
						     ->roce);
}

/* One ring, the other, an SRQ's, none. */
static void
rings_that_there_need_not_be(void **state)
{
	static const struct {
		unsigned int rq_type, no_sq;
		uint32_t offset, bytes;
	} rows[] = {
		{ RNIC_QP_RQ, 0, 64, 64 + 256 },     { RNIC_QP_RQ, 1, 64, 64 },
		{ RNIC_QP_ZERO_SIZE_RQ, 0, 0, 256 }, { RNIC_QP_ZERO_SIZE_RQ, 1, 0, 0 },
		{ RNIC_QP_SRQ, 0, 0, 256 },	     { RNIC_QP_SRQ, 1, 0, 0 },
	};
	struct world *w = *state;

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rnic_create_qp_in *in = world_good(w, RNIC_CMD_CREATE_QP);
		struct rnic_qpc *qpc = rnic_create_qp_in_qpc(in);
		struct softrnic_qp *qp;
		uint32_t qpn;

		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, rows[i].rq_type);
		rnic_qpc_set(qpc, RNIC_QPC_NO_SQ, rows[i].no_sq);
		rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, w->rmp);
		if (rows[i].bytes == 0)
			w->in_bytes -= 8;
		assert_int_equal(world_run(w, &qpn), RNIC_STATUS_OK);
		qp = qp_of(w, qpn);
		assert_int_equal(qp->sq_offset, rows[i].offset);
		assert_int_equal(qp->ring.bytes, rows[i].bytes);
		assert_int_equal(qp->no_rq, rows[i].rq_type == RNIC_QP_ZERO_SIZE_RQ);
		assert_int_equal(qp->rmp != NULL, rows[i].rq_type == RNIC_QP_SRQ);
		world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_SQD);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
	}
}

/* What each change takes without being asked for, and nothing more. */
static void
changes_take_what_they_need(void **state)
{
	struct world *w = *state;
	uint32_t qpn = create(w, RNIC_CMD_CREATE_QP);
	struct softrnic_qp *qp = qp_of(w, qpn);
	const struct roce_attr *attr = &qp->roce.attr;
	static const uint8_t dmac[6] = { 0x02, 0x00, 0x00, 0xc0, 0xff, 0xee };
	struct rnic_qpc *qpc;

	assert_int_equal(modify(w, RNIC_CMD_RST2INIT_QP, qpn, 0), RNIC_STATUS_OK);
	assert_int_equal(attr->access, ROCE_REMOTE_READ | ROCE_REMOTE_WRITE | ROCE_REMOTE_ATOMIC);
	qpc = query(w, qpn);
	assert_int_equal(rnic_qpc_get(qpc, RNIC_QPC_MTU), 0);
	assert_int_equal(rnic_qpc_get(qpc, RNIC_QPC_REMOTE_QPN), 0);
	assert_int_equal(rnic_ads_get(rnic_qpc_primary_address_path(qpc), RNIC_ADS_VHCA_PORT_NUM),
			 1);
	assert_int_equal(rnic_ads_get(rnic_qpc_primary_address_path(qpc), RNIC_ADS_HOP_LIMIT), 0);

	assert_int_equal(modify(w, RNIC_CMD_INIT2RTR_QP, qpn, 0), RNIC_STATUS_OK);
	assert_int_equal(attr->mtu, 1024);
	assert_int_equal(attr->dest_qpn, 0x123456);
	assert_int_equal(attr->rq_psn, 0xabcdef);
	assert_int_equal(attr->max_dest_rd_atomic, 4);
	assert_int_equal(attr->min_rnr_timer, 12);
	assert_int_equal(attr->retry_cnt, 0);
	assert_int_equal(qp->source_index, WORLD_GID_INDEX);
	assert_memory_equal(qp->frame.dgid, world_peer_gid, 16);
	assert_memory_equal(qp->frame.dmac, dmac, 6);
	qpc = query(w, qpn);
	assert_int_equal(rnic_qpc_get(qpc, RNIC_QPC_LOG_SRA_MAX), 0);
	assert_int_equal(rnic_ads_get(rnic_qpc_primary_address_path(qpc), RNIC_ADS_ACK_TIMEOUT), 0);
	assert_int_equal(rnic_ads_get(rnic_qpc_primary_address_path(qpc), RNIC_ADS_HOP_LIMIT), 64);

	assert_int_equal(modify(w, RNIC_CMD_RTR2RTS_QP, qpn, 0), RNIC_STATUS_OK);
	assert_int_equal(attr->sq_psn, 0xfedcba);
	assert_int_equal(attr->max_rd_atomic, 8);
	assert_int_equal(attr->timeout, 14);
	assert_int_equal(attr->retry_cnt, 5);
	assert_int_equal(attr->rnr_retry, 6);
	assert_int_equal(attr->ack_req_freq_log, 8);
	qpc = query(w, qpn);
	assert_int_equal(rnic_qpc_get(qpc, RNIC_QPC_NEXT_SEND_PSN), 0xfedcba);
	assert_int_equal(rnic_qpc_get(qpc, RNIC_QPC_NEXT_RCV_PSN), 0xabcdef);
}

/* Each optional field of SQD2SQD, which can change most: with its bit, and without. */
static void
options_are_taken_by_the_mask(void **state)
{
	static const struct {
		uint32_t option;
		uint32_t field; /* in the input */
		uint64_t value;
	} rows[] = {
#define QPC(field)                                                                                \
	RNIC_FIELD(0x18 + RNIC_FIELD_OFFSET(RNIC_QPC_##field), RNIC_FIELD_HIGH(RNIC_QPC_##field), \
		   RNIC_FIELD_LOW(RNIC_QPC_##field))
#define ADS(field)                                                                                \
	RNIC_FIELD(0x30 + RNIC_FIELD_OFFSET(RNIC_ADS_##field), RNIC_FIELD_HIGH(RNIC_ADS_##field), \
		   RNIC_FIELD_LOW(RNIC_ADS_##field))
		{ RNIC_QP_OPT_RRE, QPC(RRE), 0 },
		{ RNIC_QP_OPT_RWE, QPC(RWE), 0 },
		{ RNIC_QP_OPT_RAE, QPC(RAE), 0 },
		{ RNIC_QP_OPT_RAE, QPC(ATOMIC_MODE), 0 },
		{ RNIC_QP_OPT_RNR_TIMEOUT, QPC(MIN_RNR_NAK), 31 },
		{ RNIC_QP_OPT_SRA_MAX, QPC(LOG_SRA_MAX), 4 },
		{ RNIC_QP_OPT_RRA_MAX, QPC(LOG_RRA_MAX), 4 },
		{ RNIC_QP_OPT_RETRY_COUNT, QPC(RETRY_COUNT), 7 },
		{ RNIC_QP_OPT_RNR_RETRY, QPC(RNR_RETRY), 7 },
		{ RNIC_QP_OPT_ACK_TIMEOUT, ADS(ACK_TIMEOUT), 31 },
		{ RNIC_QP_OPT_PRIMARY_ADDR_PATH, ADS(HOP_LIMIT), 1 },
		{ RNIC_QP_OPT_PRIMARY_ADDR_PATH, ADS(RMAC_31_0), 1 },
#undef QPC
#undef ADS
	};
	struct world *w = *state;
	uint32_t qpn = w->qps[RNIC_QP_STATE_SQD];
	struct rnic_qpc before;

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		/* As it stands in an input, so that the row's field serves for both. */
		struct rnic_modify_qp_in is = { 0 };

		before = *query(w, qpn);
		for (unsigned int asked = 0; asked < 2; asked++) {
			struct rnic_modify_qp_in *in = world_good(w, RNIC_CMD_SQD2SQD_QP);

			rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK,
					      asked ? rows[i].option : 0);
			rnic_field_set(in->dw, rows[i].field, rows[i].value);
			assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
			*rnic_modify_qp_in_qpc(&is) = *query(w, qpn);
			if (!asked)
				assert_memory_equal(rnic_modify_qp_in_qpc(&is), &before,
						    sizeof(before));
			else if (rnic_field_get(is.dw, rows[i].field) != rows[i].value)
				fail_msg("option 0x%x was not taken", rows[i].option);
		}
	}
	assert_int_equal(qp_of(w, qpn)->roce.attr.max_rd_atomic, 16);
	assert_int_equal(qp_of(w, qpn)->roce.attr.max_dest_rd_atomic, 16);
	assert_int_equal(qp_of(w, qpn)->roce.attr.timeout, 31);
	assert_int_equal(qp_of(w, qpn)->roce.attr.access, 0);
	assert_int_equal(qp_of(w, qpn)->frame.dmac[5], 1);
}

/* ---- Service types ---- */

static uint32_t
create_type(struct world *w, enum rnic_qp_st st)
{
	uint32_t qpn;

	rnic_qpc_set(rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP)), RNIC_QPC_ST, st);
	assert_int_equal(world_run(w, &qpn), RNIC_STATUS_OK);
	assert_int_equal(rnic_qpc_get(query(w, qpn), RNIC_QPC_ST), st);
	return qpn;
}

/* The inside, since no command leads there; and queue pairs of no type but UD and UC would come there by requests. */
static void
put_in_sqer(struct world *w, uint32_t qpn)
{
	world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
	softrnic_lock(w->hn.poller);
	qp_of(w, qpn)->roce.state = ROCE_SQER;
	softrnic_unlock(w->hn.poller);
}

#define O(name) RNIC_QP_OPT_##name

/* What each type can be asked to take: of Linux's table what is offered, and for SQD what verbs have. */
static void
each_type_takes_its_own_options(void **state)
{
	static const enum rnic_qp_st sts[] = { RNIC_QP_ST_RC, RNIC_QP_ST_UC, RNIC_QP_ST_UD,
					       RNIC_QP_ST_QP1 };
	const uint32_t access = O(RRE) | O(RAE) | O(RWE), place = O(PKEY_INDEX) | O(PRI_PORT);
	const uint32_t init = access | place | O(COUNTER_SET_ID);
	const uint32_t datagram_init = O(Q_KEY) | place | O(COUNTER_SET_ID);
	const uint32_t path = O(PRIMARY_ADDR_PATH) | O(PRI_PORT);
	const uint32_t rc = access | O(RNR_TIMEOUT) | O(PM_STATE), uc = O(RWE) | O(PM_STATE);
	const uint32_t retry = O(ACK_TIMEOUT) | O(RETRY_COUNT) | O(RNR_RETRY) | O(SRA_MAX);
	const struct {
		uint16_t opcode;
		enum rnic_qp_state from;
		uint32_t of[4];
	} rows[] = {
		{ RNIC_CMD_RST2INIT_QP,
		  RNIC_QP_STATE_RST,
		  { init, O(RWE) | place | O(COUNTER_SET_ID), datagram_init, datagram_init } },
		{ RNIC_CMD_INIT2INIT_QP,
		  RNIC_QP_STATE_INIT,
		  { access | place, O(RWE) | place, O(Q_KEY) | place, O(Q_KEY) | place } },
		{ RNIC_CMD_INIT2RTR_QP,
		  RNIC_QP_STATE_INIT,
		  { access | O(PKEY_INDEX) | path | O(RRA_MAX) | O(RNR_TIMEOUT),
		    O(RWE) | O(PKEY_INDEX) | path, O(Q_KEY) | O(PKEY_INDEX),
		    O(Q_KEY) | O(PKEY_INDEX) } },
		{ RNIC_CMD_RTR2RTS_QP, RNIC_QP_STATE_RTR, { rc | retry, uc, O(Q_KEY), O(Q_KEY) } },
		{ RNIC_CMD_RTS2RTS_QP,
		  RNIC_QP_STATE_RTS,
		  { rc | O(COUNTER_SET_ID), uc | O(COUNTER_SET_ID), O(Q_KEY) | O(COUNTER_SET_ID),
		    O(Q_KEY) | O(COUNTER_SET_ID) } },
		{ RNIC_CMD_SQERR2RTS_QP, RNIC_QP_STATE_SQER, { 0, O(RWE), O(Q_KEY), O(Q_KEY) } },
		{ RNIC_CMD_RTS2SQD_QP, RNIC_QP_STATE_RTS, { 0, 0, 0, 0 } },
		{ RNIC_CMD_SQD_RTS_QP, RNIC_QP_STATE_SQD, { rc, uc, O(Q_KEY), O(Q_KEY) } },
		{ RNIC_CMD_SQD2SQD_QP,
		  RNIC_QP_STATE_SQD,
		  { rc | place | retry | path | O(RRA_MAX), uc | place | path, O(Q_KEY) | place,
		    O(Q_KEY) | place } },
	};
	struct world *w = *state;

	for (unsigned int type = 0; type < COUNT(sts); type++) {
		for (unsigned int row = 0; row < COUNT(rows); row++) {
			for (unsigned int bit = 0; bit < 32; bit++) {
				const bool good = (rows[row].of[type] >> bit & 1) != 0;
				uint32_t qpn = create_type(w, sts[type]);
				int status;

				if (rows[row].from == RNIC_QP_STATE_SQER)
					put_in_sqer(w, qpn);
				else
					world_qp_raise(w, qpn, RNIC_QP_STATE_RST, rows[row].from);
				status = modify(w, rows[row].opcode, qpn, 1u << bit);
				if (status != (good ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM))
					fail_msg("0x%x of type %u with option %u: status 0x%x",
						 rows[row].opcode, sts[type], bit, status);
				assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
			}
		}
	}
}

/* Datagrams have a Q_Key and no path: none is looked at, and none is kept. */
static void
datagrams_need_a_key_and_no_path(void **state)
{
	struct world *w = *state;
	uint32_t qpn = create_type(w, RNIC_QP_ST_UD);
	const struct softrnic_qp *qp = qp_of(w, qpn);
	static const uint8_t none[16];
	struct rnic_qpc *qpc;

	assert_int_equal(modify(w, RNIC_CMD_RST2INIT_QP, qpn, 0), RNIC_STATUS_OK);
	assert_int_equal(qp->roce.attr.qkey, 0x11223344);
	assert_int_equal(rnic_qpc_get(query(w, qpn), RNIC_QPC_Q_KEY), 0x11223344);
	qpc = change(w, RNIC_CMD_INIT2RTR_QP, qpn);
	rnic_modify_qp_in_set((void *)w->in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, 0);
	/* As Linux says it, whatever the port's MTU; and a source that there is not. */
	rnic_qpc_set(qpc, RNIC_QPC_MTU, RNIC_QP_MTU_4096);
	rnic_ads_set(rnic_qpc_primary_address_path(qpc), RNIC_ADS_SRC_ADDR_INDEX, 255);
	rnic_ads_set(rnic_qpc_primary_address_path(qpc), RNIC_ADS_VHCA_PORT_NUM, 0);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	assert_int_equal(qp->roce.attr.mtu, 4096);
	assert_int_equal(qp->roce.attr.dest_qpn, 0);
	assert_memory_equal(qp->frame.dgid, none, 16);
	assert_int_equal(modify(w, RNIC_CMD_RTR2RTS_QP, qpn, 0), RNIC_STATUS_OK);
	assert_int_equal(qp->roce.attr.sq_psn, 0xfedcba);
	assert_int_equal(qp->roce.attr.source_qpn, qpn);
	/* An MTU it needs. */
	qpn = create_type(w, RNIC_QP_ST_UD);
	assert_int_equal(modify(w, RNIC_CMD_RST2INIT_QP, qpn, 0), RNIC_STATUS_OK);
	qpc = change(w, RNIC_CMD_INIT2RTR_QP, qpn);
	rnic_modify_qp_in_set((void *)w->in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, 0);
	rnic_qpc_set(qpc, RNIC_QPC_MTU, 0);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_BAD_PARAM);
}

/* Whatever the driver says of QP1's Q_Key and number, it has those that all know. */
static void
qp1_is_known_to_all(void **state)
{
	struct world *w = *state;
	uint32_t qpn = create_type(w, RNIC_QP_ST_QP1);

	world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
	assert_int_equal(qp_of(w, qpn)->roce.attr.qkey, 0x80010000);
	assert_int_equal(qp_of(w, qpn)->roce.attr.source_qpn, 1);
}

/* UC knows its peer, and neither retries nor READs. */
static void
unreliable_connections_have_a_path(void **state)
{
	struct world *w = *state;
	uint32_t qpn = create_type(w, RNIC_QP_ST_UC);
	const struct softrnic_qp *qp = qp_of(w, qpn);

	world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
	assert_int_equal(qp->roce.attr.access, ROCE_REMOTE_WRITE);
	assert_int_equal(qp->roce.attr.mtu, 1024);
	assert_int_equal(qp->roce.attr.dest_qpn, 0x123456);
	assert_int_equal(qp->roce.attr.rq_psn, 0xabcdef);
	assert_int_equal(qp->roce.attr.sq_psn, 0xfedcba);
	assert_int_equal(qp->roce.attr.timeout, 0);
	assert_int_equal(qp->roce.attr.retry_cnt, 0);
	assert_memory_equal(qp->frame.dgid, world_peer_gid, 16);
}

/* Atomics need operands: no atomic_mode, no atomics. */
static void
atomics_need_a_mode(void **state)
{
	struct world *w = *state;
	uint32_t qpn = create(w, RNIC_CMD_CREATE_QP);

	rnic_qpc_set(change(w, RNIC_CMD_RST2INIT_QP, qpn), RNIC_QPC_ATOMIC_MODE,
		     RNIC_QP_ATOMIC_MODE_NONE);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	assert_int_equal(qp_of(w, qpn)->roce.attr.access, ROCE_REMOTE_READ | ROCE_REMOTE_WRITE);
}

static void
reset_forgets_what_changes_said(void **state)
{
	struct world *w = *state;
	uint32_t qpn = create(w, RNIC_CMD_CREATE_QP);
	struct rnic_qpc created = *query(w, qpn);
	static const uint8_t none[16];

	world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_SQD);
	assert_memory_not_equal(query(w, qpn), &created, sizeof(created));
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_2RST_QP, qpn), 0);
	assert_memory_equal(query(w, qpn), &created, sizeof(created));
	assert_memory_equal(qp_of(w, qpn)->frame.dgid, none, 16);
	assert_int_equal(qp_of(w, qpn)->source_index, 0);
	world_qp_raise(w, qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
}

/* A refusal changes nothing, not even what was good of the input. */
static void
a_refused_change_changes_nothing(void **state)
{
	struct world *w = *state;
	struct rnic_modify_qp_in *in;
	struct rnic_qpc before = *query(w, w->qps[RNIC_QP_STATE_SQD]);
	struct roce_attr attr = qp_of(w, w->qps[RNIC_QP_STATE_SQD])->roce.attr;

	in = world_good(w, RNIC_CMD_SQD2SQD_QP);
	rnic_qpc_set(rnic_modify_qp_in_qpc(in), RNIC_QPC_RETRY_COUNT, 1);
	rnic_qpc_set(rnic_modify_qp_in_qpc(in), RNIC_QPC_LOG_SRA_MAX, 7);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_BAD_PARAM);
	assert_memory_equal(query(w, w->qps[RNIC_QP_STATE_SQD]), &before, sizeof(before));
	assert_memory_equal(&qp_of(w, w->qps[RNIC_QP_STATE_SQD])->roce.attr, &attr, sizeof(attr));
}

/* The path's MTU, and all headers around it, must fit what the port and the vport take now. */
static void
path_mtu_follows_the_port(void **state)
{
	static const struct {
		unsigned int port_mtu, code;
		bool fits;
	} rows[] = {
		{ 1500, RNIC_QP_MTU_1024, true },      { 1500, RNIC_QP_MTU_2048, false },
		{ 256 + 96, RNIC_QP_MTU_256, true },   { 256 + 95, RNIC_QP_MTU_256, false },
		{ 512 + 96, RNIC_QP_MTU_512, true },   { 512 + 95, RNIC_QP_MTU_512, false },
		{ 2048 + 96, RNIC_QP_MTU_2048, true }, { 2048 + 95, RNIC_QP_MTU_2048, false },
		{ 4096 + 96, RNIC_QP_MTU_4096, true }, { 4096 + 95, RNIC_QP_MTU_4096, false },
		{ 9978, RNIC_QP_MTU_4096, true },
	};
	struct world *w = *state;

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		uint32_t qpn = create_in(w, RNIC_QP_STATE_INIT);

		assert_int_equal(drv_mtu_set(&w->hn.drv, (uint16_t)(rows[i].port_mtu +
								    SOFTRNIC_FRAME_OVERHEAD)),
				 RNIC_STATUS_OK);
		rnic_qpc_set(change(w, RNIC_CMD_INIT2RTR_QP, qpn), RNIC_QPC_MTU, rows[i].code);
		assert_int_equal(world_run(w, NULL),
				 rows[i].fits ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
	}
}

/* ---- References ---- */

/* A page of registers may go before the CQs that are armed by it, and be somebody else's then; with a queue that rings there it stays. */
static void
a_cq_does_not_hold_its_page(void **state)
{
	struct world *w = *state;
	const uint32_t before = ctl_stats(&w->hn).objects;
	uint32_t cqns[2];

	for (unsigned int i = 0; i < 2; i++) {
		rnic_cqc_set(rnic_create_cq_in_cqc(world_good(w, RNIC_CMD_CREATE_CQ)),
			     RNIC_CQC_UAR_PAGE, w->loose_uar);
		assert_int_equal(world_run(w, &cqns[i]), RNIC_STATUS_OK);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DEALLOC_UAR, w->loose_uar), 0);
		assert_int_equal(hn_alloc_object(&w->hn, RNIC_CMD_ALLOC_UAR), w->loose_uar);
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_CQ, cqns[i]), 0);
	assert_int_equal(ctl_stats(&w->hn).objects, before);
}

static void
what_a_queue_pair_leans_on_is_busy(void **state)
{
	struct world *w = *state;
	struct rnic_create_qp_in *in;
	struct rnic_qpc *qpc;
	uint32_t qpn, recv_cqn = create(w, RNIC_CMD_CREATE_CQ), before = ctl_stats(&w->hn).objects;
	struct {
		uint16_t destroy;
		uint32_t number;
	} needed[] = {
		{ RNIC_CMD_DEALLOC_PD, w->loose_pd },
		{ RNIC_CMD_DEALLOC_UAR, w->loose_uar },
		{ RNIC_CMD_DESTROY_CQ, w->loose_cq.number },
		{ RNIC_CMD_DESTROY_CQ, recv_cqn },
		{ RNIC_CMD_DESTROY_RMP, w->loose_rmp },
		{ RNIC_CMD_DEALLOC_Q_COUNTER, w->loose_counter },
	};

	in = world_good(w, RNIC_CMD_CREATE_QP);
	qpc = rnic_create_qp_in_qpc(in);
	rnic_qpc_set(qpc, RNIC_QPC_PD, w->loose_pd);
	rnic_qpc_set(qpc, RNIC_QPC_UAR_PAGE, w->loose_uar);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_SND, w->loose_cq.number);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, recv_cqn);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, w->loose_counter);
	rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_SRQ);
	rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, w->loose_rmp);
	assert_int_equal(world_run(w, &qpn), RNIC_STATUS_OK);
	for (unsigned int i = 0; i < COUNT(needed); i++)
		assert_int_equal(hn_destroy(&w->hn, needed[i].destroy, needed[i].number),
				 RNIC_STATUS_RES_BUSY);
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
	for (unsigned int i = 0; i < COUNT(needed); i++)
		assert_int_equal(hn_destroy(&w->hn, needed[i].destroy, needed[i].number), 0);
	assert_int_equal(ctl_stats(&w->hn).objects, before - COUNT(needed));
}

/* What a driver stores to a register of the loose UAR page: is it seen? */
static bool
rings(struct world *w, uint32_t value)
{
	struct softrnic *dev = w->hn.dev;
	uint64_t *word = (uint64_t *)(dev->uar_memory +
				      (w->loose_uar - RNIC_FIRST_UAR) * RNIC_UAR_PAGE_BYTES +
				      RNIC_UAR_BLUEFLAME);
	struct softrnic_stats before, after;

	before = ctl_stats(&w->hn);
	__atomic_store_n(word, RNIC_SWAP64((uint64_t)value), __ATOMIC_RELEASE);
	ctl_poll(&w->hn, 100);
	after = ctl_stats(&w->hn);
	return after.doorbells != before.doorbells;
}

static void
pages_are_watched_while_a_queue_pair_rings_there(void **state)
{
	struct world *w = *state;
	uint32_t qpns[2];

	assert_false(rings(w, 1));
	for (unsigned int i = 0; i < 2; i++) {
		struct rnic_create_qp_in *in = world_good(w, RNIC_CMD_CREATE_QP);

		rnic_qpc_set(rnic_create_qp_in_qpc(in), RNIC_QPC_UAR_PAGE, w->loose_uar);
		assert_int_equal(world_run(w, &qpns[i]), RNIC_STATUS_OK);
	}
	assert_true(rings(w, 2));
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpns[0]), 0);
	assert_true(rings(w, 3));
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpns[1]), 0);
	assert_false(rings(w, 4));
}

static void
numbers_are_unlike_those_of_other_queues(void **state)
{
	struct world *w = *state;

	for (unsigned int i = 0; i < COUNT(states); i++) {
		uint32_t qpn = create_in(w, states[i]);

		assert_null(softrnic_object_get(w->hn.dev, SOFTRNIC_SQ, qpn));
		assert_null(softrnic_object_get(w->hn.dev, SOFTRNIC_RQ, qpn));
		assert_null(softrnic_object_get(w->hn.dev, SOFTRNIC_RMP, qpn));
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_SQ, qpn), RNIC_STATUS_BAD_RES);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, w->sq.number),
				 RNIC_STATUS_BAD_RES);
	}
}

/* A counter set is named by CREATE_QP, RST2INIT_QP and, if asked for, RTS2RTS_QP. */
static void
counter_sets_change_hands(void **state)
{
	struct world *w = *state;
	struct rnic_create_qp_in *in = world_good(w, RNIC_CMD_CREATE_QP);
	struct softrnic_qp *qp;
	uint32_t qpn;

	rnic_qpc_set(rnic_create_qp_in_qpc(in), RNIC_QPC_COUNTER_SET_ID, 0);
	assert_int_equal(world_run(w, &qpn), RNIC_STATUS_OK);
	qp = qp_of(w, qpn);
	assert_ptr_equal(qp->roce.counters, &w->hn.dev->roce_counters);
	rnic_qpc_set(change(w, RNIC_CMD_RST2INIT_QP, qpn), RNIC_QPC_COUNTER_SET_ID,
		     w->loose_counter);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	assert_ptr_equal(qp->roce.counters, &qp->counter->roce);
	assert_int_equal(qp->counter->object.number, w->loose_counter);
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DEALLOC_Q_COUNTER, w->loose_counter),
			 RNIC_STATUS_RES_BUSY);
	world_qp_raise(w, qpn, RNIC_QP_STATE_INIT, RNIC_QP_STATE_RTS);
	assert_int_equal(modify(w, RNIC_CMD_RTS2RTS_QP, qpn, RNIC_QP_OPT_COUNTER_SET_ID),
			 RNIC_STATUS_OK);
	assert_int_equal(qp->counter->object.number, w->counter);
	assert_int_equal(rnic_qpc_get(query(w, qpn), RNIC_QPC_COUNTER_SET_ID), w->counter);
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DEALLOC_Q_COUNTER, w->loose_counter), 0);
	/* The set outlives 2RST. */
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_2RST_QP, qpn), 0);
	assert_int_equal(qp->counter->object.number, w->counter);
}

/* ---- Life ---- */

static void
destroyed_in_every_state_nothing_is_left(void **state)
{
	struct world *w = *state;
	uint32_t before = ctl_stats(&w->hn).objects;

	for (unsigned int i = 0; i < COUNT(states); i++) {
		uint32_t qpn = create_in(w, states[i]);

		assert_int_equal(ctl_stats(&w->hn).objects, before + 1);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
		assert_int_equal(ctl_stats(&w->hn).objects, before);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_QUERY_QP, qpn), RNIC_STATUS_BAD_RES);
	}
	softrnic_poll(w->hn.poller);
}

static void
gids_are_empty(struct world *w)
{
	for (unsigned int i = 0; i < SOFTRNIC_ROCE_ADDRS; i++)
		assert_false(w->hn.dev->roce_addrs[i].valid);
}

static void
teardown_and_reset_take_all(void **state)
{
	struct world *w = *state;

	create_in(w, RNIC_QP_STATE_ERR);
	/* The driver is gone, and its memory with it. */
	assert_int_equal(softrnic_dma_unmap(w->hn.dev, w->hn.iova, HN_MEMORY_BYTES), 0);
	softrnic_reset(w->hn.dev);
	assert_int_equal(ctl_stats(&w->hn).objects, 0);
	gids_are_empty(w);
	softrnic_poll(w->hn.poller);

	hn_stop(&w->hn);
	world_make(w, WORLD_READY);
	create_in(w, RNIC_QP_STATE_ERR);
	hn_tear_down(&w->hn);
	assert_int_equal(ctl_stats(&w->hn).objects, 0);
	gids_are_empty(w);
	softrnic_poll(w->hn.poller);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, ctl_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_change_in_every_state),
		TEST(a_drained_queue_pair_tells),
		TEST(what_create_says_is_what_query_tells),
		TEST(rings_that_there_need_not_be),
		TEST(changes_take_what_they_need),
		TEST(options_are_taken_by_the_mask),
		TEST(each_type_takes_its_own_options),
		TEST(datagrams_need_a_key_and_no_path),
		TEST(qp1_is_known_to_all),
		TEST(unreliable_connections_have_a_path),
		TEST(atomics_need_a_mode),
		TEST(reset_forgets_what_changes_said),
		TEST(a_refused_change_changes_nothing),
		TEST(path_mtu_follows_the_port),
		TEST(a_cq_does_not_hold_its_page),
		TEST(what_a_queue_pair_leans_on_is_busy),
		TEST(pages_are_watched_while_a_queue_pair_rings_there),
		TEST(numbers_are_unlike_those_of_other_queues),
		TEST(counter_sets_change_hands),
		TEST(destroyed_in_every_state_nothing_is_left),
		TEST(teardown_and_reset_take_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
