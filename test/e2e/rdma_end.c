/* SPDX-License-Identifier: BSD-3-Clause */

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include "rdma_end.h"

#define PORT		     1
#define BYTES		     (2 * RDMA_HALF)
#define WAIT_MS		     60000
#define QUIET_MS	     2
#define COUNTERS	     64
#define OR(value, otherwise) ((value) != 0 ? (value) : (otherwise))

/* ---- Open, close ---- */

static void
register_regions(struct rdma_end *end)
{
	static const unsigned int rights[] = {
		[RDMA_REGION_ALL] = RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE |
				    RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_REMOTE_ATOMIC |
				    RDMAPMD_ACCESS_MW_BIND,
		[RDMA_REGION_READ] = RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_MW_BIND,
		[RDMA_REGION_WRITE] = RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE,
	};
	unsigned int i;

	for (i = 0; i < RDMA_REGIONS; i++) {
		const unsigned int access =
			i <= RDMA_REGION_WRITE ? rights[i] : rights[RDMA_REGION_ALL];

		assert_int_equal(rdmapmd_mr_reg(i == RDMA_REGION_FOREIGN ? end->other_pd : end->pd,
						end->memory, BYTES, access, &end->mr[i]),
				 0);
		end->keys[i] = end->mr[i]->lkey;
	}
	assert_int_equal(rdmapmd_mr_dereg(end->mr[RDMA_REGION_GONE]), 0);
}

static uint32_t
depth_of(const struct rdma_conf *conf)
{
	return OR(conf->depth, 16);
}

void
rdma_end_use(struct rdma_end *end, enum rdmapmd_qp_type type)
{
	const uint32_t sges = OR(end->conf.sges, RDMA_PIECES);
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = type,
		.port_num = PORT,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = depth_of(&end->conf),
			 .max_recv_wr = depth_of(&end->conf),
			 .max_send_sge = sges,
			 /* The header of a datagram has one of its own. */
			 .max_recv_sge = type == RDMAPMD_QPT_UD ? sges + 1 : sges,
			 .max_inline_data = OR(end->conf.inline_bytes, 65) },
	};

	if (end->qps[type] == NULL) {
		assert_int_equal(rdmapmd_qp_create(end->pd, &attr, &end->qps[type]), 0);
		end->caps[type] = attr.cap;
	}
	end->qp = end->qps[type];
	end->cap = end->caps[type];
}

void
rdma_end_open(struct rdma_end *end, const char *device, const struct rdma_conf *conf)
{
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 4 * depth_of(conf) };
	struct rdmapmd_gid_entry own;

	*end = (struct rdma_end){ .conf = *conf };
	assert_int_equal(rdmapmd_device_open_by_name(device, &end->context), 0);
	assert_int_equal(rdmapmd_pd_alloc(end->context, &end->pd), 0);
	assert_int_equal(rdmapmd_pd_alloc(end->context, &end->other_pd), 0);
	end->memory = rte_zmalloc(NULL, BYTES, 4096);
	assert_non_null(end->memory);
	register_regions(end);
	assert_int_equal(rdmapmd_comp_channel_create(end->context, &end->channel), 0);
	cq_attr.channel = end->channel;
	assert_int_equal(rdmapmd_cq_create(end->context, &cq_attr, &end->cq), 0);
	rdma_end_use(end, RDMAPMD_QPT_RC);
	assert_int_equal(rdmapmd_gid_query(end->context, PORT, 0, &own), 0);
	end->gid = own.gid;
	memcpy(end->mac, own.mac, sizeof(end->mac));
}

void
rdma_end_close(struct rdma_end *end)
{
	unsigned int i;

	rdma_end_window_free(end);
	if (end->ah != NULL)
		assert_int_equal(rdmapmd_ah_destroy(end->ah), 0);
	if (end->other != NULL)
		assert_int_equal(rdmapmd_qp_destroy(end->other), 0);
	for (i = 0; i < RTE_DIM(end->qps); i++)
		if (end->qps[i] != NULL)
			assert_int_equal(rdmapmd_qp_destroy(end->qps[i]), 0);
	assert_int_equal(rdmapmd_cq_destroy(end->cq), 0);
	assert_int_equal(rdmapmd_comp_channel_destroy(end->channel), 0);
	for (i = 0; i < RDMA_REGION_GONE; i++)
		assert_int_equal(rdmapmd_mr_dereg(end->mr[i]), 0);
	assert_int_equal(rdmapmd_pd_dealloc(end->other_pd), 0);
	assert_int_equal(rdmapmd_pd_dealloc(end->pd), 0);
	assert_int_equal(rdmapmd_context_close(end->context), 0);
	rte_free(end->memory);
}

/* ---- Messages ---- */

void
rdma_end_pieces(const struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count,
		struct rdmapmd_sge *sges)
{
	/* One that is empty is among them. */
	const uint32_t several[RDMA_PIECES] = { length / 7, 0, length / 3,
						length - length / 7 - length / 3 };
	unsigned int i;

	for (i = 0; i < count; i++) {
		sges[i] = (struct rdmapmd_sge){ (uintptr_t)end->memory + at,
						count == 1 ? length : several[i],
						end->keys[RDMA_REGION_ALL] };
		at += sges[i].length + RDMA_GUARD;
	}
}

/* The last one that was made stays: most are asked for several times. */
static const uint8_t *
message(uint64_t seed, uint32_t length)
{
	static uint64_t words[RDMA_MESSAGE / sizeof(uint64_t) + 1];
	static uint64_t made_seed;
	static uint32_t made;
	uint64_t i;

	if (seed != made_seed || length > made)
		for (i = 0; i <= length / sizeof(*words); i++)
			words[i] = (seed * UINT64_C(0x9e3779b97f4a7c15) + i + 1) *
				   UINT64_C(0xd1342543de82ef95);
	made_seed = seed;
	made = length;
	return (const uint8_t *)words;
}

void
rdma_end_put(struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count, uint64_t seed)
{
	const uint8_t *from = message(seed, length);
	struct rdmapmd_sge sges[RDMA_PIECES];
	unsigned int i;

	rdma_end_pieces(end, at, length, count, sges);
	for (i = 0; i < count; from += sges[i++].length)
		memcpy((void *)(uintptr_t)sges[i].addr, from, sges[i].length);
}

void
rdma_end_blank(struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count)
{
	memset(end->memory + at - RDMA_GUARD, RDMA_UNTOUCHED, length + (count + 1) * RDMA_GUARD);
}

static bool
untouched(const uint8_t *from)
{
	unsigned int i;

	for (i = 0; i < RDMA_GUARD; i++)
		if (from[i] != RDMA_UNTOUCHED)
			return false;
	return true;
}

bool
rdma_end_has(const struct rdma_end *end, uint32_t at, uint32_t length, unsigned int count,
	     uint64_t seed)
{
	const uint8_t *from = message(seed, length), *there;
	struct rdmapmd_sge sges[RDMA_PIECES];
	unsigned int i;

	rdma_end_pieces(end, at, length, count, sges);
	for (i = 0; i < count; from += sges[i++].length) {
		there = (const uint8_t *)(uintptr_t)sges[i].addr;
		if (memcmp(there, from, sges[i].length) != 0 || !untouched(there - RDMA_GUARD) ||
		    !untouched(there + sges[i].length))
			return false;
	}
	return true;
}

/* ---- Orders ---- */

static void
forget_events(struct rdma_end *end)
{
	struct rdmapmd_async_event event;

	while (rdmapmd_async_event_get(end->context, &event) == 0)
		assert_int_equal(rdmapmd_async_event_ack(end->context, &event), 0);
}

/* The events of a CQ: did one come within the time? */
static bool
cq_event(struct rdma_end *end, int ms)
{
	struct pollfd wait = { .fd = end->channel->fd, .events = POLLIN };
	struct rdmapmd_cq *cq;

	if (poll(&wait, 1, ms) != 1)
		return false;
	assert_int_equal(rdmapmd_cq_event_get(end->channel, &cq), 0);
	assert_int_equal(rdmapmd_cq_events_ack(cq, 1), 0);
	return true;
}

/*
 * The first PSN that has not come. Also what orders the device and this thread: to memory that a peer reads and writes, the
 * order is the peer's, in another process, which ThreadSanitizer does not see; a command and its answer it does see.
 */
static uint32_t
expected_psn(struct rdma_end *end)
{
	struct rdmapmd_qp_attr attr;

	assert_int_equal(rdmapmd_qp_query(end->qp, &attr, NULL), 0);
	return attr.rq_psn;
}

static void
prepare(struct rdma_end *end, const struct rdma_order *order)
{
	const bool datagram = end->qp->qp_type == RDMAPMD_QPT_UD;
	struct rdmapmd_sge sges[RDMA_PIECES + 1] = {
		{ (uintptr_t)end->memory + RDMA_GRH, RDMAPMD_GRH_BYTES, end->keys[RDMA_REGION_ALL] }
	};
	struct rdmapmd_sge *first = &sges[datagram], *last = &first[order->pieces - 1];
	uint32_t i;

	expected_psn(end);
	rdma_end_put(end, RDMA_FROM + order->slot, order->length, 1, order->seed);
	if (order->value != 0)
		memcpy(end->memory + RDMA_FROM + order->slot, &order->value, sizeof(order->value));
	rdma_end_blank(end, RDMA_TO + order->slot, order->length, order->pieces);
	rdma_end_pieces(end, RDMA_TO + order->slot, order->length, order->pieces, first);
	if (order->receive == RDMA_RECEIVE_SHORT)
		last->length--;
	else if (order->receive == RDMA_RECEIVE_BAD_KEY)
		last->lkey ^= 0x5a;
	else if (order->receive == RDMA_RECEIVE_READ_ONLY)
		last->lkey = end->keys[RDMA_REGION_READ];
	for (i = 0; i < order->receives; i++)
		rdma_post_recv(end->qp, i, sges, (uint16_t)(order->pieces + datagram));
	assert_int_equal(rdmapmd_req_notify_cq(end->cq, true), 0);
	expected_psn(end);
}

static bool
quiet(struct rdma_end *end)
{
	struct rdmapmd_async_event event;
	struct rdmapmd_wc wc;

	rte_delay_us_sleep(QUIET_MS * 1000);
	if (rdmapmd_poll_cq(end->cq, &wc, 1) != 0)
		return false;
	while (rdmapmd_async_event_get(end->context, &event) == 0) {
		assert_int_equal(rdmapmd_async_event_ack(end->context, &event), 0);
		/* The link of a cable of Linux may come up after the first test has begun. */
		if (event.event_type != RDMAPMD_EVENT_COMM_EST &&
		    event.event_type != RDMAPMD_EVENT_PORT_ACTIVE)
			return false;
	}
	return true;
}

/* Of a connection that acknowledges nothing, it may be on its way still: memory is looked at when all packets have come. */
static bool
arrives(struct rdma_end *end, const struct rdma_order *order)
{
	unsigned int ms = end->qp->qp_type == RDMAPMD_QPT_UC ? WAIT_MS : 0;
	bool has;

	while (expected_psn(end) != order->psn && ms-- > 0)
		rte_delay_us_sleep(1000);
	has = rdma_end_has(end, RDMA_TO + order->slot, order->length, order->pieces, order->seed);
	/*
	 * The next WRITE there comes after this look: its sender waits for our answer. ThreadSanitizer cannot see that order. It does
	 * see that the device executes a command after this thread has given it.
	 */
	expected_psn(end);
	return has;
}

static enum rdmapmd_event_type
async_event(struct rdma_end *end)
{
	struct pollfd wait = { .fd = rdmapmd_async_event_fd(end->context), .events = POLLIN };
	struct rdmapmd_async_event event;

	do {
		if (poll(&wait, 1, WAIT_MS) != 1)
			return RDMAPMD_EVENT_COUNT;
		assert_int_equal(rdmapmd_async_event_get(end->context, &event), 0);
		assert_int_equal(rdmapmd_async_event_ack(end->context, &event), 0);
	} while (event.event_type == RDMAPMD_EVENT_COMM_EST);
	return event.event_type;
}

static void
say_hello(struct rdma_end *end, uint32_t gid_index, struct rdma_answer *answer)
{
	struct rdmapmd_gid_entry entry = { .gid = end->gid };

	if (gid_index != 0)
		assert_int_equal(rdmapmd_gid_query(end->context, PORT, gid_index, &entry), 0);
	answer->qpn = end->qp->qp_num;
	answer->gid = entry.gid;
	memcpy(answer->mac, end->mac, sizeof(answer->mac));
	answer->address = (uintptr_t)end->memory;
	memcpy(answer->keys, end->keys, sizeof(answer->keys));
}

uint64_t
rdma_end_counter(struct rdma_end *end, const char *name)
{
	const char *names[COUNTERS];
	uint64_t values[COUNTERS];
	int count = rdmapmd_counters_names(end->context, names, COUNTERS), i;

	assert_in_range(count, 1, COUNTERS);
	assert_int_equal(rdmapmd_counters_read(end->context, PORT, values, COUNTERS), count);
	for (i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return values[i];
	fail_msg("no counter %s", name);
	return 0;
}

void
rdma_end_address(struct rdma_end *end, const union rdmapmd_gid *gid, uint16_t vlan)
{
	uint32_t index;

	assert_int_equal(rdmapmd_gid_add_vlan(end->context, PORT, gid, vlan, &index), 0);
}

void
rdma_end_obey(struct rdma_end *end, const struct rdma_order *order, struct rdma_answer *answer)
{
	switch (order->kind) {
	case RDMA_ORDER_HELLO: say_hello(end, order->conf.sgid_index, answer); break;
	case RDMA_ORDER_CONNECT:
		rdma_connect_to(end->qp, order->qpn, &order->gid, &order->conf);
		break;
	case RDMA_ORDER_RESET:
		rdma_to(end->qp, RDMAPMD_QPS_RESET);
		rdma_end_use(end, OR(order->conf.type, RDMAPMD_QPT_RC));
		forget_events(end);
		while (cq_event(end, 0))
			;
		break;
	case RDMA_ORDER_WINDOW: answer->window = rdma_end_window(end, order->window); break;
	case RDMA_ORDER_LOCAL_INV: rdma_end_window_invalidate(end); break;
	case RDMA_ORDER_PREPARE: prepare(end, order); break;
	case RDMA_ORDER_POLL:
		answer->wc = rdma_wait(end->cq);
		answer->yes = cq_event(end, order->event ? WAIT_MS : 0);
		break;
	case RDMA_ORDER_HAS:
		answer->yes = arrives(end, order);
		memcpy(&answer->value, end->memory + RDMA_FROM + order->slot,
		       sizeof(answer->value));
		break;
	case RDMA_ORDER_EVENT: answer->type = async_event(end); break;
	case RDMA_ORDER_QUIET: answer->yes = quiet(end); break;
	case RDMA_ORDER_COUNTER: answer->value = rdma_end_counter(end, order->counter); break;
	case RDMA_ORDER_ADDRESS: rdma_end_address(end, &order->gid, order->vlan); break;
	case RDMA_ORDER_JOIN:
		assert_int_equal(rdmapmd_mcast_attach(end->qp, &order->gid), 0);
		break;
	case RDMA_ORDER_LEAVE:
		assert_int_equal(rdmapmd_mcast_detach(end->qp, &order->gid), 0);
		break;
	}
}

/* ---- Both ---- */

static struct rdma_answer
ask(struct rdma_peer *peer, struct rdma_order order)
{
	return rdma_peer_do(peer, &order);
}

/* Where its datagrams go. */
static void
find_peer(struct rdma_end *own, const struct rdma_answer *there)
{
	const struct rdmapmd_ah_attr attr = { .dgid = there->gid,
					      .hop_limit = 64,
					      .port_num = PORT };

	if (own->ah != NULL)
		assert_int_equal(rdmapmd_ah_destroy(own->ah), 0);
	assert_int_equal(rdmapmd_ah_create(own->pd, &attr, &own->ah), 0);
}

void
rdma_meet(struct rdma_end *own, struct rdma_peer *peer, const struct rdma_conf *own_conf,
	  const struct rdma_conf *peer_conf)
{
	const enum rdmapmd_qp_type type = OR(own_conf->type, RDMAPMD_QPT_RC);
	/* A port has one queue pair 1, and both ends may be on one port. */
	const enum rdmapmd_qp_type peer_type = type == RDMAPMD_QPT_GSI ? RDMAPMD_QPT_UD : type;
	struct rdma_order connect = { .kind = RDMA_ORDER_CONNECT, .conf = *peer_conf };
	struct rdma_answer hello;

	rdma_to(own->qp, RDMAPMD_QPS_RESET);
	rdma_end_use(own, type);
	forget_events(own);
	ask(peer, (struct rdma_order){ .kind = RDMA_ORDER_RESET, .conf = { .type = peer_type } });
	hello = ask(peer, (struct rdma_order){ .kind = RDMA_ORDER_HELLO });
	connect.qpn = own->qp->qp_num;
	connect.gid = own->gid;
	ask(peer, connect);
	rdma_connect_to(own->qp, hello.qpn, &hello.gid, own_conf);
	if (peer_type == RDMAPMD_QPT_UD)
		find_peer(own, &hello);
}
