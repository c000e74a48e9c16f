/* SPDX-License-Identifier: BSD-3-Clause */

#include "ctl_world.h"
#include "driver/qp.h"
#include "driver/umem.h"
/* The state in which each command works, personalities, and a request that failed: none can be asked of a device. */
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/hca/cmd_table.h"
#include "softrnic/hca/like.h"
#include "softrnic/receive/qp.h"

#define OUT_ROOM 0x1010

/* ---- What its device is like ---- */

#define LOG_L2_TABLE 2

#define SHOWN(cap, value)                                                                       \
	{                                                                                       \
		.name = #cap, .type = RNIC_CAP_GENERAL, .shown = SOFTRNIC_LIKE_AS_CARD,         \
		.field = RNIC_GENERAL_CAP_##cap, .max = (value), .current = (value), .known = { \
			SOFTRNIC_KNOWN_GUESS,                                                   \
			"tests"                                                                 \
		}                                                                               \
	}

/* No device has this by itself; commands that need it are tested with the others. */
static const struct softrnic_like_cap switch_caps[] = {
	SHOWN(ESWITCH_MANAGER, 1),
	SHOWN(LOG_MAX_L2_TABLE, LOG_L2_TABLE),
};
static const struct softrnic_like_part part_switch = { .name = "switch",
						       .caps = switch_caps,
						       .cap_count = 2 };
static struct softrnic_like world_like = { .name = "world", .parts = { &part_switch } };

/* The linker has softrnic_create() ask here (--wrap): the tests' own personality is one that a device may have. */
const struct softrnic_like *__real_softrnic_like_find(const char *name);
const struct softrnic_like *__wrap_softrnic_like_find(const char *name);

const struct softrnic_like *
__wrap_softrnic_like_find(const char *name)
{
	if (name != NULL && strcmp(name, world_like.name) == 0)
		return &world_like;
	return __real_softrnic_like_find(name);
}

void
world_be_like(const struct softrnic_like_part *const *parts)
{
	unsigned int count = 1;

	for (; parts != NULL && *parts != NULL; parts++)
		world_like.parts[count++] = *parts;
	world_like.parts[count] = NULL;
}

/* ---- The world ---- */

void *
world_good(struct world *w, uint16_t opcode)
{
	memset(w->in, 0, sizeof(w->in));
	w->in_bytes = world_good_input(w, opcode, w->in);
	return w->in;
}

int
world_run(struct world *w, uint32_t *number)
{
	static uint8_t out[OUT_ROOM];
	int status = hn_cmd(&w->hn, w->in, w->in_bytes, out, sizeof(out));

	if (number != NULL)
		*number = (uint32_t)rnic_object_out_get((void *)out, RNIC_OBJECT_OUT_NUMBER);
	return status;
}

static void
populate_flows(struct world *w)
{
	const struct drv_table table = { .log_size = 6 };
	uint32_t *groups[] = { &w->group, &w->loose_group };
	struct rnic_flow_destination to;
	struct drv_fte fte = { .to = &to, .count = 1 };

	assert_int_equal(drv_table_create(&w->hn.drv, &table, &w->table), RNIC_STATUS_OK);
	assert_int_equal(drv_table_create(&w->hn.drv, &table, &w->loose_table), RNIC_STATUS_OK);
	for (unsigned int i = 0; i < 2; i++) {
		struct rnic_create_flow_group_in *in = world_good(w, RNIC_CMD_CREATE_FLOW_GROUP);

		rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_START_FLOW_INDEX,
					      16 * i);
		rnic_create_flow_group_in_set(in, RNIC_CREATE_FLOW_GROUP_IN_END_FLOW_INDEX,
					      16 * i + 15);
		assert_int_equal(world_run(w, groups[i]), RNIC_STATUS_OK);
	}
	w->flow_counter = hn_alloc_object(&w->hn, RNIC_CMD_ALLOC_FLOW_COUNTER);
	w->loose_flow_counter = hn_alloc_object(&w->hn, RNIC_CMD_ALLOC_FLOW_COUNTER);
	to = drv_to_tir(w->tir);
	fte.counter = w->flow_counter;
	fte.table = w->table;
	fte.group = w->group;
	assert_int_equal(drv_fte_set(&w->hn.drv, &fte), RNIC_STATUS_OK);
}

void
world_qp_raise(struct world *w, uint32_t qpn, enum rnic_qp_state from, enum rnic_qp_state to)
{
	static const struct {
		enum rnic_qp_state from, to;
		uint16_t opcode;
	} steps[] = {
		{ RNIC_QP_STATE_RST, RNIC_QP_STATE_INIT, RNIC_CMD_RST2INIT_QP },
		{ RNIC_QP_STATE_INIT, RNIC_QP_STATE_RTR, RNIC_CMD_INIT2RTR_QP },
		{ RNIC_QP_STATE_RTR, RNIC_QP_STATE_RTS, RNIC_CMD_RTR2RTS_QP },
		{ RNIC_QP_STATE_RTS, RNIC_QP_STATE_SQD, RNIC_CMD_RTS2SQD_QP },
	};
	struct rnic_modify_qp_in *in;

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].from < from || steps[i].to > to || to == RNIC_QP_STATE_RST)
			continue;
		in = world_good(w, steps[i].opcode);
		rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_QPN, qpn);
		/* Options that another service type would not have. */
		rnic_modify_qp_in_set(in, RNIC_MODIFY_QP_IN_OPT_PARAM_MASK, 0);
		assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	}
}

/* Two of datagrams; of one a request has failed, where no command brings it. */
static void
populate_datagrams(struct world *w)
{
	uint32_t *qpn = &w->qps[RNIC_QP_STATE_SQER];
	struct softrnic_qp *qp;

	rnic_qpc_set(rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP)), RNIC_QPC_ST,
		     RNIC_QP_ST_UD);
	assert_int_equal(world_run(w, qpn), RNIC_STATUS_OK);
	assert_int_equal(world_run(w, &w->datagram), RNIC_STATUS_OK);
	world_qp_raise(w, *qpn, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
	world_qp_raise(w, w->datagram, RNIC_QP_STATE_RST, RNIC_QP_STATE_RTS);
	assert_int_equal(drv_mcg(&w->hn.drv, RNIC_CMD_ATTACH_TO_MCG, w->datagram, world_group_gid),
			 0);
	qp = softrnic_object_get(w->hn.dev, SOFTRNIC_QP, *qpn);
	assert_non_null(qp);
	softrnic_lock(w->hn.poller);
	qp->roce.state = ROCE_SQER;
	softrnic_unlock(w->hn.poller);
}

static void
populate_qps(struct world *w)
{
	static const enum rnic_qp_state states[] = { RNIC_QP_STATE_RST, RNIC_QP_STATE_INIT,
						     RNIC_QP_STATE_RTR, RNIC_QP_STATE_RTS,
						     RNIC_QP_STATE_SQD };

	world_good(w, RNIC_CMD_CREATE_RMP);
	assert_int_equal(world_run(w, &w->rmp), RNIC_STATUS_OK);
	assert_int_equal(world_run(w, &w->loose_rmp), RNIC_STATUS_OK);
	world_good(w, RNIC_CMD_CREATE_XRC_SRQ);
	assert_int_equal(world_run(w, &w->xrc_srq), RNIC_STATUS_OK);
	world_good(w, RNIC_CMD_SET_ROCE_ADDRESS);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	for (unsigned int i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		uint32_t *qpn = &w->qps[states[i]];
		struct rnic_qpc *qpc = rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP));

		if (states[i] == RNIC_QP_STATE_RST) {
			rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_SRQ);
			rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, w->rmp);
		}
		assert_int_equal(world_run(w, qpn), RNIC_STATUS_OK);
		world_qp_raise(w, *qpn, RNIC_QP_STATE_RST, states[i]);
	}
	populate_datagrams(w);
}

static void
populate_uctx(struct world *w)
{
	world_good(w, RNIC_CMD_CREATE_UCTX);
	assert_int_equal(world_run(w, &w->uctx), RNIC_STATUS_OK);
	assert_int_equal(world_run(w, &w->loose_uctx), RNIC_STATUS_OK);
	rnic_cmd_in_set(world_good(w, RNIC_CMD_ALLOC_PD), RNIC_CMD_IN_UID, w->uctx);
	assert_int_equal(world_run(w, &w->users_pd), RNIC_STATUS_OK);
}

static void
populate_umem(struct world *w)
{
	struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT, .log_page_size = 12, .length = 8192 };

	world_good(w, RNIC_CMD_CREATE_UMEM);
	assert_int_equal(world_run(w, &w->umem), RNIC_STATUS_OK);
	assert_int_equal(world_run(w, &w->loose_umem), RNIC_STATUS_OK);
	mkey.pd = w->pd;
	mkey.umem = w->umem;
	assert_int_equal(drv_mkey_create(&w->hn.drv, &mkey, &w->umem_key), RNIC_STATUS_OK);
}

void
world_populate(struct world *w)
{
	struct hn *hn = &w->hn;

	w->memory = hn_alloc(hn, 65536, 65536);
	w->pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	w->loose_pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	w->td = hn_alloc_object(hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	w->loose_td = hn_alloc_object(hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	w->xrcd = hn_alloc_object(hn, RNIC_CMD_ALLOC_XRCD);
	w->loose_xrcd = hn_alloc_object(hn, RNIC_CMD_ALLOC_XRCD);
	w->uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	w->loose_uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	w->counter = hn_alloc_object(hn, RNIC_CMD_ALLOC_Q_COUNTER);
	w->loose_counter = hn_alloc_object(hn, RNIC_CMD_ALLOC_Q_COUNTER);
	hn_create_eq(hn, &w->eq, w->uar, 4, 0, 0);
	hn_create_eq(hn, &w->loose_eq, w->uar, 4, 0, 0);
	hn_create_cq(hn, &w->cq, w->uar, w->eq.number, 4);
	hn_create_cq(hn, &w->loose_cq, w->uar, w->eq.number, 4);
	w->mkey = hn_create_mkey(hn, w->pd, w->memory, 65536, true);
	w->tis = hn_create_tis(hn, w->td);
	w->loose_tis = hn_create_tis(hn, w->td);
	hn_create_sq(hn, &w->sq, w->pd, w->uar, w->cq.number, w->tis, 4);
	world_good(w, RNIC_CMD_CREATE_RQ);
	assert_int_equal(world_run(w, &w->rq.number), RNIC_STATUS_OK);
	hn_create_rq(hn, &w->loose_rq, w->pd, w->cq.number, 4, 4);
	w->rqt = hn_create_rqt(hn, &w->rq.number, 1);
	w->loose_rqt = hn_create_rqt(hn, &w->rq.number, 1);
	w->tir = hn_create_tir(hn, w->td, w->rq.number);
	w->loose_tir = hn_create_tir(hn, w->td, w->rq.number);
	world_good(w, RNIC_CMD_CREATE_TIR);
	assert_int_equal(world_run(w, &w->indirect_tir), RNIC_STATUS_OK);
	populate_flows(w);
	populate_qps(w);
	populate_uctx(w);
	populate_umem(w);
	/* That of index 0 is the one that is deleted. */
	world_good(w, RNIC_CMD_DELETE_L2_TABLE_ENTRY);
	hn_head(w->in, RNIC_CMD_SET_L2_TABLE_ENTRY, 0);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
}

static void
make(struct world *w, enum world_state state, bool init_pages, struct softrnic_poller *poller,
     const char *wire)
{
	const struct softrnic_conf conf = { .like = world_like.name, .wire = wire };
	int32_t count;

	memset(w, 0, sizeof(*w));
	world_be_like(NULL);
	hn_start(&w->hn, poller, &conf);
	if (state == WORLD_OFF)
		return;
	hn_enable(&w->hn);
	if (state == WORLD_READY || init_pages) {
		assert_int_equal(hn_query_pages(&w->hn, RNIC_PAGES_INIT, &count), 0);
		assert_int_equal(hn_give_pages(&w->hn, count), 0);
	}
	if (state == WORLD_ENABLED)
		return;
	assert_int_equal(hn_simple(&w->hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), 0);
	world_populate(w);
}

void
world_make(struct world *w, enum world_state state)
{
	make(w, state, false, NULL, NULL);
}

_Static_assert(WORLD_OFF == (int)SOFTRNIC_HCA_OFF && WORLD_ENABLED == (int)SOFTRNIC_HCA_ENABLED &&
		       WORLD_READY == (int)SOFTRNIC_HCA_READY,
	       "states as the device's table has them");

void
world_make_beside(struct world *w, uint16_t opcode, struct softrnic_poller *poller,
		  const char *wire)
{
	enum world_state state = WORLD_READY;

	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		/* What TEARDOWN_HCA takes down is there. */
		if (softrnic_cmd_table[i].opcode == opcode && opcode != RNIC_CMD_TEARDOWN_HCA)
			state = (enum world_state)softrnic_cmd_table[i].state;
	}
	make(w, state, opcode == RNIC_CMD_INIT_HCA, poller, wire);
}

void
world_make_for(struct world *w, uint16_t opcode)
{
	world_make_beside(w, opcode, NULL, NULL);
}

bool
world_is_of_function(uint16_t opcode)
{
	const struct softrnic_cmd_desc *desc = softrnic_cmd_table;

	while (desc->opcode != opcode)
		desc++;
	return desc->of_function;
}

int
world_setup(void **state)
{
	static struct world w;

	world_make(&w, WORLD_READY);
	*state = &w;
	return 0;
}
