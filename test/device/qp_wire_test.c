/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs over wires that lose, double, swap and damage packets, all of their data checked; and packets that are not
 * for them.
 */
#include <stdlib.h>

#include "../counts.h"
#include "driver/vport.h"
#include "qp_world.h"
/* Packets that no sender of ours sends, counters of the port, and when the device was switched on. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

/* ---- Bad wires ---- */

#define SLOT	(16u << 10) /* of a message, at either end */
#define BATCH	16u
#define ATOMICS (QW_BUFFER - 64) /* offset of the word that all atomics add to */

struct traffic {
	struct qw_two *two;
	uint64_t random;
	uint8_t opcodes[BATCH];
	uint32_t bytes[BATCH];
	uint32_t done;
	uint64_t added, seen; /* to the word, and what the last atomic found */
	uint16_t counters[BATCH], receives;
};

static uint32_t
below(struct traffic *t, uint32_t limit)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (uint32_t)((t->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % limit;
}

/* The one data segment, at `ds`, into three: repeated packets begin in any of them. */
static void
split(struct qw_two *two, uint32_t ds, const uint8_t *out, uint32_t bytes)
{
	const uint32_t first = bytes / 3, second = bytes / 2 - first;

	two->a.sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(two->a.qpn, ds + 3));
	qw_segment(&two->a, ds, two->a.end->key, out, first);
	qw_segment(&two->a, ds + 1, two->a.end->key, out + first, second);
	qw_segment(&two->a, ds + 2, two->a.end->key, out + first + second, bytes - first - second);
	/* Up to five units: a second block. */
	two->a.sq.producer += ds + 3 > 4 ? 1 : 0;
}

static void
post(struct traffic *t, uint32_t slot, uint32_t seed)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_SEND, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_FA, RNIC_WQE_RDMA_WRITE_IMM };
	struct qw_two *two = t->two;
	uint8_t *out = two->out + slot * SLOT, *in = two->in + slot * SLOT;
	uint8_t opcode = opcodes[below(t, 5)];
	uint32_t bytes = below(t, 4) == 0 ? below(t, SLOT) : below(t, 600);
	struct rnic_wqe_atomic *operands;

	t->counters[slot] = two->a.sq.producer;
	t->opcodes[slot] = opcode;
	t->bytes[slot] = bytes;
	if (opcode == RNIC_WQE_ATOMIC_FA) {
		qw_wqe(&two->a, opcode, out, 8, two->in + ATOMICS, two->b.end->key,
		       RNIC_WQE_CE_ALWAYS);
		operands = dp_wqe_at(&two->a.sq, 2);
		operands->swap_add = rnic_cpu_to_be64(slot + 1);
		return;
	}
	qw_fill(opcode == RNIC_WQE_RDMA_READ ? in : out, bytes, seed);
	memset(opcode == RNIC_WQE_RDMA_READ ? out : in, 0, bytes);
	if (opcode == RNIC_WQE_SEND || opcode == RNIC_WQE_RDMA_WRITE_IMM)
		qw_recv(&two->b, in, SLOT);
	qw_wqe(&two->a, opcode, out, bytes, in, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	if (bytes >= 6)
		split(two, opcode == RNIC_WQE_SEND ? 1 : 2, out, bytes);
}

static bool
batch_done(void *arg)
{
	struct traffic *t = arg;

	while (t->done < BATCH && dp_cq_peek(&t->two->a_send) != NULL) {
		const struct rnic_cqe *cqe = dp_cq_next(&t->two->a_send);

		assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_REQUESTER);
		assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), t->counters[t->done]);
		assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) >> 24, t->opcodes[t->done]);
		t->done++;
	}
	return t->done == BATCH;
}

static void
check(struct traffic *t, uint32_t slot)
{
	const uint8_t *out = t->two->out + slot * SLOT, *in = t->two->in + slot * SLOT;
	uint8_t opcode = t->opcodes[slot];
	const struct rnic_cqe *cqe;
	uint64_t original;

	if (opcode == RNIC_WQE_ATOMIC_FA) {
		memcpy(&original, out, sizeof(original));
		assert_true(original == t->added);
		t->added += slot + 1;
		return;
	}
	assert_memory_equal(in, out, t->bytes[slot]);
	if (opcode != RNIC_WQE_SEND && opcode != RNIC_WQE_RDMA_WRITE_IMM)
		return;
	cqe = qw_expect(&t->two->b_recv,
			opcode == RNIC_WQE_SEND ? RNIC_CQE_RESPONDER_SEND
						: RNIC_CQE_RESPONDER_WRITE_IMM,
			t->receives++, t->two->b.qpn);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), t->bytes[slot]);
}

/* What both devices count fits together. Nothing is under way any more. */
static void
check_counts(const struct qw_two *two, const struct qw_conf *conf)
{
	struct softrnic_stats sum = { 0 };

	for (unsigned int i = 0; i < (conf->pair ? 2 : 1); i++) {
		struct softrnic_stats s = dp_stats(&two->qw.ends[i]->dp);

		sum.tx_packets += s.tx_packets;
		sum.rx_packets += s.rx_packets;
		sum.wire_dropped += s.wire_dropped;
		sum.wire_duplicated += s.wire_duplicated;
		sum.wire_reordered += s.wire_reordered;
		sum.wire_corrupted += s.wire_corrupted;
		sum.roce_icrc_errors += s.roce_icrc_errors;
		assert_int_equal(s.tx_errors + s.rx_errors + s.wire_no_peer, 0);
		sum.roce_icrc_errors += s.roce_malformed;
		assert_int_equal(s.roce_dropped + s.roce_unknown_qp + s.roce_source_errors, 0);
	}
	assert_int_equal(sum.rx_packets, sum.tx_packets + sum.wire_duplicated - sum.wire_dropped);
	assert_int_equal(sum.roce_icrc_errors, sum.wire_corrupted);
	assert_int_equal(sum.wire_dropped > 0, conf->drop_ppm > 0);
	assert_int_equal(sum.wire_duplicated > 0, conf->dup_ppm > 0);
	assert_int_equal(sum.wire_reordered > 0, conf->reorder_ppm > 0);
	assert_int_equal(sum.wire_corrupted > 0, conf->corrupt_ppm > 0);
}

static void
traffic(const struct qw_conf *conf, uint32_t messages)
{
	struct traffic t = { .two = qw_two_open(conf), .random = conf->seed };
	struct qw_attr attr = qw_attr();

	attr.mtu = RNIC_QP_MTU_512;
	attr.timeout = 5; /* 131 us */
	attr.psn = 0xffff80;
	qw_two_connect(t.two, &attr);
	for (uint32_t n = 0; n < messages; n += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++)
			post(&t, i, n + i);
		dp_sq_ring(&t.two->a.sq);
		t.done = 0;
		assert_true(qw_run_until(&t.two->qw, batch_done, &t));
		for (uint32_t i = 0; i < BATCH; i++)
			check(&t, i);
	}
	memcpy(&t.seen, t.two->in + ATOMICS, sizeof(t.seen));
	assert_true(t.seen == t.added);
	qw_expect_nothing(&t.two->b_recv);
	/* A frame that is held goes on after a while. */
	qw_run(&t.two->qw);
	check_counts(t.two, conf);
	qw_two_close(t.two);
}

static uint32_t
messages(void)
{
	return full_run() ? 320000 : 16000;
}

#define FAULT(name, ...)                                               \
	static void test_##name(void **state)                          \
	{                                                              \
		struct qw_conf conf = { .seed = 0x5eed, __VA_ARGS__ }; \
                                                                       \
		(void)state;                                           \
		traffic(&conf, messages());                            \
		conf.pair = true;                                      \
		traffic(&conf, messages());                            \
		conf.bytes = true;                                     \
		traffic(&conf, messages());                            \
		conf.pair = false;                                     \
		traffic(&conf, messages() / 4);                        \
	}

FAULT(good_wire, )
FAULT(loss, .drop_ppm = 20000)
FAULT(duplicates, .dup_ppm = 50000)
FAULT(reordering, .reorder_ppm = 50000)
FAULT(corruption, .corrupt_ppm = 20000)
FAULT(everything, .drop_ppm = 10000, .dup_ppm = 10000, .reorder_ppm = 20000, .corrupt_ppm = 10000)

/* The packet that is held goes on right behind the one that overtakes it. */
static void
test_overtaken(void **state)
{
	const struct qw_conf conf = { .pair = true, .seed = 1, .reorder_ppm = 1000000 };
	struct qw_two *two = qw_two_open(&conf);
	struct qw_attr attr = qw_attr();

	(void)state;
	qw_two_connect(two, &attr);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	softrnic_poll(two->qw.poller);
	assert_int_equal(dp_stats(&two->b.end->dp).rx_packets, 2);
	assert_int_equal(two->b.end->dp.dev->roce_counters.out_of_sequence, 1);
	qw_two_close(two);
}

/* ---- Packets that are not for us ---- */

static int
setup(void **state)
{
	struct qw_attr attr = qw_attr();

	attr.timeout = 0; /* what is lost stays lost */
	return qw_setup(state, &(struct qw_conf){ .pair = true }, &attr);
}

/* A WRITE goes out and leaves no trace but that. */
static void
write_one(struct qw_two *two)
{
	two->out[0] = 1;
	two->in[0] = 0;
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 1, two->in);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(two->in[0], 0);
}

/* The queue pair from the start, its path leading to the peer's number at that end. */
static void
lead_to(struct qw_qp *qp, const struct qw_qp *peer, struct qw_end *end)
{
	struct qw_attr attr = qw_attr();
	struct qw_qp there = *peer;

	attr.timeout = 0;
	there.end = end;
	qw_qp_to(qp, RNIC_CMD_2RST_QP);
	qw_qp_to(qp, RNIC_CMD_RST2INIT_QP);
	assert_int_equal(qw_qp_modify(qp, RNIC_CMD_INIT2RTR_QP, &there, &attr), 0);
	assert_int_equal(qw_qp_modify(qp, RNIC_CMD_RTR2RTS_QP, NULL, &attr), 0);
}

/* What is not for a function's RoCE are frames like others, for its flow tables, of which there are none. */
static void
assert_frames(const struct qw_two *two, uint64_t count)
{
	const struct softrnic_stats stats = dp_stats(&two->b.end->dp);

	assert_int_equal(stats.rx_packets, count);
	assert_int_equal(stats.rx_unmatched, count);
	assert_int_equal(two->b.end->dp.dev->port.counters.rx_packets[0], count);
	assert_int_equal(two->b.end->dp.dev->port.counters.rx_rdma_packets[0], 0);
}

static void
test_address_of_another(void **state)
{
	struct qw_two *two = *state;
	struct qw_end another = *two->b.end;

	another.gid[15] ^= 0x80;
	lead_to(&two->a, &two->b, &another);
	write_one(two);
	assert_frames(two, 1);
}

static void
test_address_that_has_gone(void **state)
{
	struct rnic_set_roce_address_in in = { 0 };
	struct qw_two *two = *state;

	drv_head(&in, RNIC_CMD_SET_ROCE_ADDRESS, 0);
	assert_int_equal(drv_execute(&two->b.end->dp.drv, &in, sizeof(in), NULL), 0);
	write_one(two);
	assert_frames(two, 1);
	/* What the table holds in its place is no address. */
	memset(qw_qp_inside(&two->a)->frame.dgid, 0, 16);
	softrnic_roce_changed(two->a.end->dp.dev);
	write_one(two);
	assert_frames(two, 2);
	/* It cannot send by it either. */
	qw_post(&two->b, &two->a, RNIC_WQE_RDMA_WRITE, two->in, 1, two->out);
	qw_run(&two->qw);
	assert_int_equal(dp_stats(&two->b.end->dp).tx_errors, 1);
	assert_int_equal(dp_stats(&two->a.end->dp).rx_packets, 0);
}

static void
test_source_that_is_not_the_peer(void **state)
{
	struct qw_two *two = *state;
	struct qw_end another = *two->a.end;

	another.gid[15] ^= 0x80;
	lead_to(&two->b, &two->a, &another);
	write_one(two);
	assert_int_equal(dp_stats(&two->b.end->dp).roce_source_errors, 1);
}

static void
test_mac_of_another(void **state)
{
	struct qw_two *two = *state;
	struct softrnic_port *port = &two->b.end->dp.dev->port;
	struct qw_end another = *two->b.end;
	uint64_t counted = 0;

	/* promisc_all is on: it is for other eyes, not for queue pairs */
	assert_true(port->promisc_all);
	another.mac[5] ^= 0x80;
	lead_to(&two->a, &two->b, &another);
	write_one(two);
	assert_frames(two, 1);
	/* The port has seen it: it has a length as well. */
	for (uint32_t i = 0; i < SOFTRNIC_LENGTHS; i++)
		counted += port->rx_lengths[i];
	assert_int_equal(counted, dp_stats(&two->b.end->dp).rx_packets);
}

/* An address of the vport's list is as good as its own. */
static void
test_mac_of_the_list(void **state)
{
	struct qw_two *two = *state;
	const uint64_t mac = UINT64_C(0x020000000082);
	const struct drv_vport vport = { .select = RNIC_NIC_VPORT_ADDRESSES_LIST,
					 .list = RNIC_ALLOWED_LIST_UC,
					 .count = 1,
					 .entries = &mac };
	struct qw_end another = *two->b.end;

	another.mac[5] ^= 0x80;
	lead_to(&two->a, &two->b, &another);
	assert_int_equal(drv_vport_modify(&two->b.end->dp.drv, &vport), 0);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 1, two->in);
	qw_done(two, 0);
	assert_int_equal(dp_stats(&two->b.end->dp).roce_dropped, 0);
}

static void
test_number_of_nobody(void **state)
{
	struct qw_two *two = *state;

	assert_int_equal(qw_qp_destroy(&two->b), 0);
	write_one(two);
	assert_int_equal(dp_stats(&two->b.end->dp).roce_unknown_qp, 1);
}

/* A queue pair in RST is not woken. */
static void
test_number_of_one_in_reset(void **state)
{
	struct qw_two *two = *state;

	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	write_one(two);
	assert_false(qw_qp_inside(&two->b)->active);
	assert_int_equal(dp_stats(&two->b.end->dp).roce_dropped, 1);
}

/* One in INIT or in ERR takes nothing either; it is counted in each of them. */
static void
test_number_of_one_that_does_not_receive(void **state)
{
	struct qw_two *two = *state;

	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_RST2INIT_QP);
	write_one(two);
	assert_int_equal(dp_stats(&two->b.end->dp).roce_dropped, 1);
	qw_qp_to(&two->b, RNIC_CMD_2ERR_QP);
	write_one(two);
	assert_int_equal(dp_stats(&two->b.end->dp).roce_dropped, 2);
}

static void
test_roce_is_off(void **state)
{
	struct qw_two *two = *state;

	assert_int_equal(drv_vport_roce_set(&two->b.end->dp.drv, false), 0);
	write_one(two);
	assert_frames(two, 1);
	assert_int_equal(drv_vport_roce_set(&two->a.end->dp.drv, false), 0);
	write_one(two);
	assert_int_equal(dp_stats(&two->a.end->dp).tx_errors, 1);
	assert_int_equal(dp_stats(&two->b.end->dp).rx_packets, 1);
}

static void
test_link_is_down(void **state)
{
	struct qw_two *two = *state;
	struct rnic_modify_vport_state_in in = { 0 };

	rnic_modify_vport_state_in_set(&in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE,
				       RNIC_VPORT_STATE_DOWN);
	assert_int_equal(dp_command(&two->b.end->dp, RNIC_CMD_MODIFY_VPORT_STATE, 0, &in,
				    sizeof(in), NULL, 0),
			 0);
	write_one(two);
	assert_int_equal(dp_stats(&two->a.end->dp).tx_errors, 1);
	assert_int_equal(dp_stats(&two->b.end->dp).rx_packets, 0);
}

static void
in_a_vlan(bool bytes)
{
	const struct qw_conf conf = { .pair = true, .bytes = bytes };
	struct qw_two *two = qw_two_open(&conf);
	struct softrnic_stats stats;
	struct qw_attr attr = qw_attr();

	attr.timeout = 0;
	qw_two_connect(two, &attr);
	qw_set_vlan(two->a.end, 5);
	qw_set_vlan(two->b.end, 5);
	qw_fill(two->out, 100, 1);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 100, two->in);
	qw_expect(&two->a_send, RNIC_CQE_REQUESTER, 0, two->a.qpn);
	assert_memory_equal(two->in, two->out, 100);
	/* A tag of four bytes each way. */
	stats = dp_stats(&two->a.end->dp);
	assert_int_equal(stats.tx_bytes, 14 + 4 + 20 + 8 + 12 + 16 + 100 + 4);
	assert_int_equal(stats.rx_bytes, 14 + 4 + 20 + 8 + 12 + 4 + 4);
	/* The address of another VLAN is not the address. */
	qw_set_vlan(two->b.end, 6);
	write_one(two);
	assert_int_equal(dp_stats(&two->b.end->dp).rx_unmatched, 1);
	qw_set_vlan(two->b.end, 0);
	write_one(two);
	assert_int_equal(dp_stats(&two->b.end->dp).rx_unmatched, 2);
	qw_two_close(two);
}

static void
test_address_of_a_vlan(void **state)
{
	(void)state;
	in_a_vlan(false);
	in_a_vlan(true);
}

/* A packet to the function's own address comes back to it, whatever the wire. */
static void
test_own_address_on_a_wire_that_leaves(void **state)
{
	const struct qw_conf conf = { .outside = true };
	struct qw_two *two = qw_two_open(&conf);
	struct qw_attr attr = qw_attr();

	(void)state;
	qw_two_connect(two, &attr);
	qw_fill(two->out, 100, 1);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 100, two->in);
	qw_expect(&two->a_send, RNIC_CQE_REQUESTER, 0, two->a.qpn);
	assert_memory_equal(two->in, two->out, 100);
	qw_two_close(two);
}

/* To another one it leaves, as a frame; here nothing answers. */
static void
test_another_address_on_a_wire_that_leaves(void **state)
{
	const struct qw_conf conf = { .outside = true };
	struct qw_two *two = qw_two_open(&conf);
	struct qw_end another;
	struct softrnic_stats stats;
	struct qw_attr attr = qw_attr();

	(void)state;
	attr.timeout = 0;
	qw_two_connect(two, &attr);
	another = *two->b.end;
	another.gid[15] ^= 0x80;
	another.mac[5] ^= 0x80;
	lead_to(&two->a, &two->b, &another);
	write_one(two);
	stats = dp_stats(&two->a.end->dp);
	assert_int_equal(stats.tx_errors, 0);
	assert_int_equal(stats.tx_packets, 1);
	assert_int_equal(stats.rx_packets, 0);
	qw_two_close(two);
}

static void
test_port_mtu_too_small(void **state)
{
	struct qw_two *two = *state;

	assert_int_equal(drv_vport_mtu_set(&two->a.end->dp.drv, 600 + SOFTRNIC_FRAME_OVERHEAD), 0);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 1024, two->in);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(dp_stats(&two->a.end->dp).tx_errors, 1);
	assert_int_equal(two->a.end->dp.dev->port.counters.tx_errors, 1);
}

/* Who has done nothing for a while learns the time from the packet that comes. */
static void
test_time_of_arrival(void **state)
{
	struct qw_two *two = *state;
	const struct softrnic *dev = two->b.end->dp.dev;
	const struct rnic_cqe *cqe;
	uint64_t before, time;

	/* Its last packet lies back two milliseconds and many polls. */
	qw_run_us(&two->qw, 2000);
	qw_poll(&two->qw, 1000);
	assert_false(qw_qp_inside(&two->b)->active);
	before = softrnic_now_ns();
	qw_recv(&two->b, two->in, 64);
	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL);
	cqe = qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
	time = rnic_be64_to_cpu(cqe->timestamp) + dev->power_on_ns;
	assert_true(time >= before && time <= softrnic_now_ns());
}

/* By hand: what our own sender never sends. */
static void
test_pkey_and_icrc(void **state)
{
	struct qw_two *two = *state;
	const struct roce_pkt pkt = {
		.opcode = ROCE_WRITE_ONLY,
		.dest_qpn = two->b.qpn,
		.psn = qw_attr().psn,
		.ack_request = true,
		.rkey = two->b.end->key,
		.va = (uintptr_t)two->in,
		.dma_length = 1,
		.length = 1,
		.count = 1,
		.pieces = &(struct iovec){ two->out, 1 },
	};
	struct rocev2_frame head = { .pkey = 0x1234, .mig_req = true };
	struct softrnic_roce_frame frame = { .pkt = &pkt, .head = &head };
	struct softrnic *dev = two->b.end->dp.dev;

	two->out[0] = 1;
	memcpy(head.smac, two->a.end->mac, 6);
	memcpy(head.dmac, two->b.end->mac, 6);
	memcpy(head.sgid, two->a.end->gid, 16);
	memcpy(head.dgid, two->b.end->gid, 16);
	frame.bytes = rocev2_frame_bytes(&head, &pkt);
	softrnic_lock(two->qw.poller);
	softrnic_roce_receive(dev, &frame);
	assert_int_equal(dev->stats.roce_pkey_errors, 1);
	/* A limited member, to a full one. */
	head.pkey = 0x7fff;
	frame.corrupt = true;
	softrnic_roce_receive(dev, &frame);
	assert_int_equal(dev->stats.roce_icrc_errors, 1);
	assert_int_equal(two->in[0], 0);
	/* and the same without a fault */
	frame.corrupt = false;
	softrnic_roce_receive(dev, &frame);
	assert_int_equal(two->in[0], 1);
	softrnic_unlock(two->qw.poller);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_wire),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_reordering),
		cmocka_unit_test(test_corruption),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_overtaken),
		T(test_address_of_another),
		T(test_address_that_has_gone),
		T(test_source_that_is_not_the_peer),
		T(test_mac_of_another),
		T(test_mac_of_the_list),
		T(test_number_of_nobody),
		T(test_number_of_one_in_reset),
		T(test_number_of_one_that_does_not_receive),
		T(test_roce_is_off),
		T(test_link_is_down),
		cmocka_unit_test(test_address_of_a_vlan),
		cmocka_unit_test(test_own_address_on_a_wire_that_leaves),
		cmocka_unit_test(test_another_address_on_a_wire_that_leaves),
		T(test_port_mtu_too_small),
		T(test_time_of_arrival),
		T(test_pkey_and_icrc),
	};

	return cmocka_run_group_tests_name("qp_wire", tests, NULL, NULL);
}
