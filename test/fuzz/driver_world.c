/* SPDX-License-Identifier: BSD-3-Clause */

#include "driver_world.h"

#include <rte_common.h>
#include <rte_malloc.h>

#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "driver_calls.h"
#include "ethdev/recovery.h"
#include "ethdev/tx.h"
#include "forge.h"
#include "object/cq.h"
#include "prm/caps.h"
#include "prm/init_seg.h"
#include "prm/wqe.h"
#include "rdma/flush.h"
#include "rdma/gid.h"
#include "rdma/poll.h"
#include "rdma/rdma.h"
#include "rdma/vector.h"
#include "steering/steer.h"

#define INPUTS_MAX 20000 /* of a device: then what it has taken must come back */
#define ALL_ACCESS                                                                               \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define CQ_ENTRIES 63
#define GIDS	   8 /* addresses of the port */
#define POLL_MAX   64

struct world world;
static size_t heap_before;
static uint32_t inputs;

/* ---- Open and close ---- */

static const uint8_t port_flags[PORT_QUEUES] = { PORT_FAST_FREE,
						 PORT_SMALL | PORT_OFFLOADS | PORT_TIMES };

/* As if the device wanted the headers of frames inline, which it does not mind: of one transmit queue, and of QP_RAW. */
static void
want_headers(bool inlined)
{
	world.dev->min_inline_mode = inlined ? RNIC_INLINE_MODE_L2 : 0;
}

static void
start_tx(unsigned int i)
{
	want_headers(i == 1);
	port_tx_start(&world.q[i]);
	want_headers(false);
}

static void
open_port(void)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	unsigned int i;

	port_open(world.dev);
	for (i = 0; i < PORT_QUEUES; i++) {
		must(port_setup(&world.q[i], world.dev, (uint16_t)i, port_flags[i]));
		port_rx_start(&world.q[i]);
		start_tx(i);
		must(world.q[i].rx_up && world.q[i].tx_up);
	}
	must(rnic_steering_create(world.dev, &world.q[0].rxq->rq.rqn, NULL, &port.steering) == 0);
	must(rnic_steering_set(world.dev, &port.steering, mac, true, true) == 0);
}

static void
close_port(void)
{
	unsigned int i;

	rnic_steering_destroy(world.dev, &port.steering);
	for (i = 0; i < PORT_QUEUES; i++)
		port_release(&world.q[i]);
}

static void
make_srq(void)
{
	struct rdmapmd_srq_init_attr attr = { .attr = { .max_wr = WORLD_DEPTH - 1, .max_sge = 3 } };

	must(rdmapmd_srq_create(world.pd, &attr, &world.srq) == 0);
}

static void
make_qp(unsigned int which)
{
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = which == QP_RAW ? RDMAPMD_QPT_RAW_PACKET : RDMAPMD_QPT_RC,
		.sq_sig_all = which == QP_ASKS_NONE,
		.srq = which == QP_SHARED ? world.srq : NULL,
		.cap = { .max_send_wr = WORLD_DEPTH,
			 .max_recv_wr = which == QP_SHARED ? 0 : WORLD_DEPTH,
			 .max_send_sge = WORLD_SGES,
			 .max_recv_sge = which == QP_SHARED ? 0 : WORLD_SGES,
			 .max_inline_data = WORLD_INLINE },
	};

	attr.send_cq = world.cq[which == QP_SHARED ? CQ_SENDS
				: which == QP_RAW  ? CQ_RAW
						   : CQ_PLAIN];
	attr.recv_cq = which == QP_SHARED ? world.cq[CQ_RECEIVES] : attr.send_cq;
	want_headers(which == QP_RAW);
	must(rdmapmd_qp_create(world.pd, &attr, &world.qp[which]) == 0);
	want_headers(false);
}

static void
open_rdma(void)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = CQ_ENTRIES };
	unsigned int i;

	must(rdmapmd_device_open(world.dev->device, &world.context) == 0);
	must(rdmapmd_pd_alloc(world.context, &world.pd) == 0);
	world.memory = rte_zmalloc(NULL, WORLD_MEMORY, 4096);
	must(world.memory != NULL);
	must(rdmapmd_mr_reg(world.pd, world.memory, WORLD_MEMORY, ALL_ACCESS, &world.mr) == 0);
	must(rdmapmd_comp_channel_create(world.context, &world.channel) == 0);
	for (i = 0; i < WORLD_CQS; i++) {
		attr.channel = i == CQ_SENDS ? NULL : world.channel;
		must(rdmapmd_cq_create(world.context, &attr, &world.cq[i]) == 0);
	}
	world.poll = world.cq[0]->poll_cq;
	make_srq();
	for (i = 0; i < WORLD_QPS; i++)
		make_qp(i);
}

static uint32_t
objects(void)
{
	struct softrnic_stats stats;

	softrnic_stats_get(fake.device, &stats);
	return stats.objects;
}

static void connect_all(void);

static void
world_open(void)
{
	memset(&world, 0, sizeof(world));
	heap_before = port_heap_bytes();
	fake_reset_lies();
	must(rnic_dev_open("net_rnic0", "bf=1", 0, &world.dev) == 0);
	must(rnic_eq_create(world.dev, 4, 0, 0, rnic_event_handle, &world.eq) == 0);
	fake_driver = world.dev;
	/* Soon full. */
	rnic_roce_cap_set(&world.dev->caps.roce, RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE, GIDS);
	open_port();
	open_rdma();
	connect_all();
	world.objects = objects();
	inputs = 0;
}

static void
world_close(void)
{
	fake_be_honest();
	/* Whatever the device says to it, all goes. */
	rdmapmd_context_close(world.context);
	close_port();
	rnic_eq_destroy(world.dev, world.eq);
	rte_free(world.memory);
	fake_alarms_run();
	rnic_dev_close(world.dev);
	fake_driver = NULL;
	world.dev = NULL;
	must(port_heap_bytes() == heap_before);
	must(port_mbufs_are_back());
}

/* ---- Queue pairs ---- */

static const unsigned int masks[] = {
	[RDMAPMD_QPS_RESET] = RDMAPMD_QP_STATE,
	[RDMAPMD_QPS_INIT] = RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
			     RDMAPMD_QP_ACCESS_FLAGS,
	[RDMAPMD_QPS_RTR] = RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU |
			    RDMAPMD_QP_DEST_QPN | RDMAPMD_QP_RQ_PSN |
			    RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER,
	[RDMAPMD_QPS_RTS] = RDMAPMD_QP_STATE | RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
			    RDMAPMD_QP_RNR_RETRY | RDMAPMD_QP_SQ_PSN | RDMAPMD_QP_MAX_QP_RD_ATOMIC,
	[RDMAPMD_QPS_SQD] = RDMAPMD_QP_STATE | RDMAPMD_QP_EN_SQD_ASYNC_NOTIFY,
	[RDMAPMD_QPS_SQE] = RDMAPMD_QP_STATE,
	[RDMAPMD_QPS_ERR] = RDMAPMD_QP_STATE,
};

int
world_modify(unsigned int which, enum rdmapmd_qp_state to)
{
	static const unsigned int peers[WORLD_QPS] = { QP_SHARED, QP_PLAIN, QP_RAW, QP_ASKS_NONE };
	struct rdmapmd_qp_attr attr = {
		.qp_state = to,
		.port_num = 1,
		.qp_access_flags = ALL_ACCESS & ~RDMAPMD_ACCESS_LOCAL_WRITE,
		.path_mtu = RDMAPMD_MTU_1024,
		.dest_qp_num = world.qp[peers[which]]->qp_num,
		.rq_psn = 0xfffffe,
		.sq_psn = 0xfffffe,
		.max_rd_atomic = which == QP_ASKS_NONE ? 0 : 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 1,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.en_sqd_async_notify = 1,
		.ah_attr = { .hop_limit = 64, .port_num = 1 },
	};
	unsigned int mask = which == QP_RAW ? RDMAPMD_QP_STATE : masks[to];

	if (which == QP_RAW && to == RDMAPMD_QPS_INIT)
		mask |= RDMAPMD_QP_PORT;
	/* Out of SQD nothing but the state. */
	if (to == RDMAPMD_QPS_RTS && rdmapmd_qp_state(world.qp[which]) >= RDMAPMD_QPS_RTS)
		mask = RDMAPMD_QP_STATE;
	attr.ah_attr.dgid =
		(union rdmapmd_gid){ { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, world.dev->mac[0] ^ 2,
				       world.dev->mac[1], world.dev->mac[2], 0xff, 0xfe,
				       world.dev->mac[3], world.dev->mac[4], world.dev->mac[5] } };
	world.qp_used[which] = true;
	return rdmapmd_qp_modify(world.qp[which], &attr, mask);
}

static bool
reconnect(unsigned int which)
{
	return world_modify(which, RDMAPMD_QPS_RESET) == 0 &&
	       world_modify(which, RDMAPMD_QPS_INIT) == 0 &&
	       world_modify(which, RDMAPMD_QPS_RTR) == 0 &&
	       world_modify(which, RDMAPMD_QPS_RTS) == 0;
}

static void
connect_all(void)
{
	unsigned int i;

	for (i = 0; i < WORLD_QPS; i++) {
		must(reconnect(i));
		world.qp_used[i] = false;
	}
}

/* ---- Completions and events ---- */

static void
check_completion(unsigned int cq, const struct rdmapmd_wc *wc)
{
	const uint32_t who = wc->wr_id >> 33 & 7, number = (uint32_t)wc->wr_id;
	const bool received = (wc->wr_id >> 32 & 1) != 0;
	const struct world_posted *posted;

	must(wc->wr_id >> 36 == 0 && who <= (received ? WORLD_SRQ : WORLD_QPS - 1));
	posted = received ? &world.receives[who] : &world.sends[who];
	must(posted->count - number - 1 < WORLD_REQUESTS);
	if (who == WORLD_SRQ)
		must(cq == CQ_RECEIVES);
	else
		must(world.cq[cq] == (received ? world.qp[who]->recv_cq : world.qp[who]->send_cq));
	if (wc->status != RDMAPMD_WC_SUCCESS)
		return;
	/* Who trusts the length reads no further than the buffer. */
	if (received ? wc->opcode == RDMAPMD_WC_RECV : wc->opcode == RDMAPMD_WC_RDMA_READ)
		must(wc->byte_len <= posted->length[number % WORLD_REQUESTS]);
	must(received == (wc->opcode >= RDMAPMD_WC_RECV));
}

/* Kinds of polls that the library's caller cannot choose between, and whether times are filled in; of a lost device there is one. */
static uint16_t
poll_somehow(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n, bool timed)
{
	const rdmapmd_poll_cq_t *polls = rnic_rdma_polls[timed];

	if (cq->poll_cq == rnic_rdma_poll_cq_lost)
		return rdmapmd_poll_cq(cq, wc, n % (POLL_MAX + 1));
	if ((n & 0x80) != 0)
		return polls[RNIC_RDMA_POLL_DUMP](cq, wc, n % 32);
	if ((n & 0x40) != 0 && n != POLL_MAX)
		return polls[RNIC_RDMA_POLL_FENCED](cq, wc, n % 32);
	return polls[RNIC_RDMA_POLL_PLAIN](cq, wc, n % (POLL_MAX + 1));
}

uint16_t
world_poll_cq(unsigned int cq, uint16_t n)
{
	const bool timed = (n & 0x20) != 0;
	struct rdmapmd_wc wc[POLL_MAX];
	uint16_t count = poll_somehow(world.cq[cq], wc, n, timed), i;

	must(count <= n);
	for (i = 0; i < count; i++) {
		check_completion(cq, &wc[i]);
		must(!timed || wc[i].status == RDMAPMD_WC_SUCCESS || wc[i].completion_ts == 0);
	}
	return count;
}

void
world_take_events(void)
{
	struct rdmapmd_async_event event;
	struct rdmapmd_cq *cq;

	while (rdmapmd_async_event_get(world.context, &event) == 0)
		must(rdmapmd_async_event_ack(world.context, &event) == 0);
	while (rdmapmd_cq_event_get(world.channel, &cq) == 0)
		must(rdmapmd_cq_events_ack(cq, 1) == 0);
}

/* ---- From one input to the next ---- */

void
world_begin(void)
{
	if (world.dev == NULL)
		world_open();
	inputs++;
}

/* Who was told that the device is lost, though it is not. */
static void
find_device(void)
{
	unsigned int i;

	if (atomic_load(&world.dev->dead) &&
	    rnic_register_read(world.dev, RNIC_ISEG_HEALTH_SYNDROME) == 0)
		atomic_store(&world.dev->quiesced, false);
	atomic_store(&world.dev->dead, false);
	for (i = 0; i < WORLD_CQS; i++)
		world.cq[i]->poll_cq = world.poll;
}

/* As it was started: the device has said nothing about it. */
static bool
rx_is_new(const struct port_queues *q)
{
	return q->rxq->state == RNIC_QUEUE_RUNNING && q->rxq->consumer == 0 &&
	       forge_cq_is_at(fake.device, q->rxq->cq.cqn, q->rxq->cq.consumer);
}

static bool
renew_rx(struct port_queues *q)
{
	if (rx_is_new(q))
		return true;
	return forge_cq_works(fake.device, q->rxq->cq.cqn) && port_rx_halt(q) == 0 &&
	       port_rx_resume(q) == 0;
}

static bool
tx_is_new(const struct port_queues *q)
{
	return q->tx_up && q->txq->state == RNIC_QUEUE_RUNNING && q->txq->sq.producer == 0 &&
	       forge_cq_is_at(fake.device, q->txq->cq.cqn, q->txq->cq.consumer);
}

/* As after an error, so that nothing is made anew. */
static bool
recover_tx(struct port_queues *q)
{
	if (!q->tx_up || !forge_cq_works(fake.device, q->txq->cq.cqn))
		return false;
	rnic_recovery_failed(&q->txq->recovery);
	fake_alarms_run();
	rnic_tx_restart(q->txq);
	return q->txq->state == RNIC_QUEUE_RUNNING;
}

static bool
renew_tx(struct port_queues *q)
{
	if (tx_is_new(q) || recover_tx(q))
		return true;
	port_tx_stop(q);
	start_tx(q->index);
	return q->tx_up;
}

static bool
renew_port(void)
{
	bool good = true;
	unsigned int i;

	fake_alarms_run();
	for (i = 0; i < PORT_QUEUES && good; i++) {
		good = (!world.rx_used[i] || renew_rx(&world.q[i])) &&
		       (!world.tx_used[i] || renew_tx(&world.q[i]));
		world.rx_used[i] = world.tx_used[i] = false;
	}
	return good;
}

/* A list that its queue pair, too, would have to give back: both are made anew. */
static bool
renew_srq(void)
{
	if (rdmapmd_qp_destroy(world.qp[QP_SHARED]) != 0 || rdmapmd_srq_destroy(world.srq) != 0)
		return false;
	make_srq();
	make_qp(QP_SHARED);
	world.srq_used = false;
	/* Its peer has its number. */
	world.qp_used[QP_SHARED] = world.qp_used[QP_PLAIN] = true;
	return true;
}

static bool
renew_gids(void)
{
	uint32_t i;

	for (i = 1; i < rnic_gid_count(world.dev); i++)
		rdmapmd_gid_del(world.context, 1, i);
	world.gids_used = false;
	return true;
}

static const struct rnic_cq *
ring_of(unsigned int cq)
{
	return &((const struct rnic_rdma_cq *)world.cq[cq])->ring;
}

static bool
drain_cqs(void)
{
	unsigned int i, rounds;

	for (i = 0; i < WORLD_CQS; i++) {
		if (!forge_cq_works(fake.device, world.cq[i]->cqn))
			return false;
		for (rounds = 0; rounds < 4 * CQ_ENTRIES && world_poll_cq(i, 64) > 0; rounds++)
			continue;
		if (ring_of(i)->mask != CQ_ENTRIES &&
		    rdmapmd_cq_resize(world.cq[i], CQ_ENTRIES) != 0)
			return false;
	}
	return true;
}

static bool
renew_rdma(void)
{
	unsigned int i;

	if (!drain_cqs() || (world.srq_used && !renew_srq()))
		return false;
	for (i = 0; i < WORLD_QPS; i++) {
		if (world.qp_used[i] && !reconnect(i))
			return false;
		world.qp_used[i] = false;
	}
	return !world.gids_used || renew_gids();
}

void
world_end(void)
{
	unsigned int i;
	bool good;

	fake_be_honest();
	find_device();
	port_give_back();
	for (i = 0; i < 64 && softrnic_poll(fake_poller) > 0; i++)
		continue;
	good = !atomic_load(&world.dev->quiesced) && calls_end() && renew_port() && renew_rdma();
	rnic_eq_poll(world.dev, world.dev->async_eq);
	rnic_rdma_poll(world.dev);
	rnic_control_answer(world.dev);
	world_take_events();
	if (!good || atomic_load(&world.dev->dead) || rnic_cmdq_busy_slots(world.dev) != 0 ||
	    objects() != world.objects || inputs >= INPUTS_MAX)
		world_close();
}
