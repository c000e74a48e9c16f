/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams through a device: address vectors in WQEs, headers before payloads, what completions tell; QP1. */
#include "driver/port.h"
#include "driver/qp.h"
#include "qp_world.h"
/* Counters and the frame are of the inside. */
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/port/sum.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

#define GRH  ROCEV2_GRH_BYTES
#define ROOM 2048u /* of each receive WQE: headers, payload, and bytes that stay as they are */
#define MTU  1024u

/* Both of datagrams, in RTS. */
static struct qw_two *
open_datagrams(const struct qw_conf *conf, const struct qw_attr *attr)
{
	struct qw_two *two = qw_two_open(conf);
	const struct qw_attr usual = qw_attr();
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);

	a.st = b.st = RNIC_QP_ST_UD;
	qw_two_more(two, &two->a, &a, &two->b, &b, attr != NULL ? attr : &usual);
	qw_fill(two->out, 8192, 1);
	return two;
}

static int
setup(void **state)
{
	*state = open_datagrams(&(struct qw_conf){ .pair = true }, NULL);
	return 0;
}

static struct rnic_wqe_av
av_to_b(const struct qw_two *two)
{
	return qw_av(two->b.end, two->b.qpn, QW_QKEY);
}

/* One receive WQE of b, and a datagram from a to it. */
static void
send_one(struct qw_two *two, const struct rnic_wqe_av *av, uint32_t bytes)
{
	qw_datagram(&two->a, RNIC_WQE_SEND, av, two->out, bytes);
	qw_go(two);
}

static const struct softrnic_stats *
stats_of_b(const struct qw_two *two)
{
	return &two->b.end->dp.dev->stats;
}

/* What stands before the payload, written down here once more. */
static void
check_headers(const uint8_t *grh, const struct qw_two *two, bool ipv6, uint32_t bytes)
{
	const uint32_t udp = 8 + 12 + 8 + ((bytes + 3) & ~3u) + 4;
	static const uint8_t zeros[20];
	const uint8_t *ip = grh + 20;

	if (ipv6) {
		assert_int_equal(grh[0], 0x60);
		assert_int_equal(grh[4] << 8 | grh[5], udp);
		assert_int_equal(grh[6], 17);
		assert_int_equal(grh[7], 64);
		assert_memory_equal(grh + 8, two->a.end->gid, 16);
		assert_memory_equal(grh + 24, two->b.end->gid, 16);
		return;
	}
	assert_memory_equal(grh, zeros, 20);
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[2] << 8 | ip[3], 20 + udp);
	assert_int_equal(ip[8], 64);
	assert_int_equal(ip[9], 17);
	assert_memory_equal(ip + 12, two->a.end->gid + 12, 4);
	assert_memory_equal(ip + 16, two->b.end->gid + 12, 4);
	assert_true(softrnic_sum_good(softrnic_sum_bytes(ip, 20)));
}

/* WQE `counter` of b has it, and its completion tells. */
static const struct rnic_cqe *
check_received(struct qw_two *two, uint16_t counter, uint32_t bytes, bool ipv6)
{
	const struct rnic_cqe *cqe =
		qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, counter, two->b.qpn);
	const uint8_t *room = two->in + counter * ROOM;
	const uint32_t kind = ipv6 ? RNIC_CQE_ROCE_IPV6 : RNIC_CQE_ROCE_IPV4;

	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), GRH + bytes);
	assert_int_equal(rnic_be32_to_cpu(cqe->flags_rqpn),
			 RNIC_CQE_GRH | kind << RNIC_CQE_ROCE_SHIFT | two->a.qpn);
	check_headers(room, two, ipv6, bytes);
	assert_memory_equal(room + GRH, two->out, bytes);
	assert_int_equal(room[GRH + bytes], 0);
	return cqe;
}

/* Over each wire, elided or as bytes, what arrives is the same. */
static void
test_each_wire(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 2, 3, 64, MTU - 1, MTU };
	const uint16_t count = sizeof(lengths) / sizeof(lengths[0]);

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		const struct qw_conf conf = { .pair = (i & 1) != 0,
					      .bytes = (i & 2) != 0,
					      .ipv6 = (i & 4) != 0 };
		struct qw_two *two = open_datagrams(&conf, NULL);
		const struct rnic_wqe_av av = av_to_b(two);

		for (uint16_t n = 0; n < count; n++) {
			qw_recv(&two->b, two->in + n * ROOM, ROOM);
			qw_datagram(&two->a, RNIC_WQE_SEND, &av, two->out, lengths[n]);
		}
		qw_go(two);
		for (uint16_t n = 0; n < count; n++)
			check_received(two, n, lengths[n], conf.ipv6);
		for (uint16_t n = 0, wqe = 0; n < count; n++) {
			qw_done(two, wqe);
			wqe = (uint16_t)(wqe + (lengths[n] > 0 ? 2 : 1));
		}
		assert_int_equal(stats_of_b(two)->roce_dropped, 0);
		qw_two_close(two);
	}
}

static void
test_immediate(void **state)
{
	struct qw_two *two = *state;
	const struct rnic_wqe_av av = av_to_b(two);
	const struct rnic_cqe *cqe;

	qw_recv(&two->b, two->in, ROOM);
	qw_datagram(&two->a, RNIC_WQE_SEND_IMM, &av, two->out, 8)->immediate =
		rnic_cpu_to_be32(0x87654321);
	qw_go(two);
	cqe = qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND_IMM, 0, two->b.qpn);
	assert_int_equal(rnic_be32_to_cpu(cqe->immediate), 0x87654321);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), GRH + 8);
}

/* Without one, the partition stands in its place; no tag was there. */
static void
test_partition(void **state)
{
	struct qw_two *two = *state;
	const struct rnic_wqe_av av = av_to_b(two);
	const struct rnic_cqe *cqe;

	qw_recv(&two->b, two->in, ROOM);
	send_one(two, &av, 8);
	cqe = check_received(two, 0, 8, false);
	assert_int_equal(rnic_be32_to_cpu(cqe->immediate), 0xffff);
	assert_int_equal(cqe->l4_l3_hdr_type & RNIC_CQE_VLAN_STRIPPED, 0);
}

static void
test_vlan(void **state)
{
	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		struct qw_two *two = open_datagrams(
			&(struct qw_conf){ .pair = true, .bytes = bytes != 0 }, NULL);
		struct rnic_wqe_av av = av_to_b(two);
		const struct rnic_cqe *cqe;

		qw_set_vlan(two->a.end, 5);
		qw_set_vlan(two->b.end, 5);
		av.stat_rate_sl = 3 << 1;
		qw_recv(&two->b, two->in, ROOM);
		send_one(two, &av, 8);
		cqe = check_received(two, 0, 8, false);
		assert_int_equal(cqe->l4_l3_hdr_type & RNIC_CQE_VLAN_STRIPPED, 1);
		assert_int_equal(rnic_be16_to_cpu(cqe->vlan_info), 3 << 13 | 5);
		qw_two_close(two);
	}
}

/* Traffic class, hop limit and flow label are those of the vector, not of the one before, and the receiver sees them. */
static void
test_headers_are_the_vectors(void **state)
{
	static const struct {
		uint8_t tclass, hop_limit;
		uint32_t flow_label;
	} rows[] = { { 0xa5, 7, 0xbcdef }, { 0x20, 7, 0xbcdef }, { 0x20, 8, 0x12345 } };
	struct qw_two *two = open_datagrams(
		&(struct qw_conf){ .pair = true, .ipv6 = true, .bytes = true }, NULL);
	struct rnic_wqe_av av = av_to_b(two);

	(void)state;
	for (uint16_t i = 0; i < 3; i++) {
		const uint8_t *grh = two->in + i * ROOM;

		av.tclass = rows[i].tclass;
		av.hop_limit = rows[i].hop_limit;
		av.grh_gid_fl = rnic_cpu_to_be32(RNIC_WQE_AV_GRH | rows[i].flow_label);
		qw_recv(&two->b, two->in + i * ROOM, ROOM);
		send_one(two, &av, 8);
		qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, i, two->b.qpn);
		assert_int_equal((uint32_t)grh[0] << 24 | grh[1] << 16 | grh[2] << 8 | grh[3],
				 6u << 28 | (uint32_t)rows[i].tclass << 20 | rows[i].flow_label);
		assert_int_equal(grh[7], rows[i].hop_limit);
	}
	qw_two_close(two);
}

/* The source port is said, or follows from both ends, whatever the flow label is: drivers that want it to follow say so. */
static void
test_source_port(void **state)
{
	struct qw_two *two = *state;
	struct softrnic_qp *inside = qw_qp_inside(&two->a);
	struct rnic_wqe_av av = av_to_b(two);

	send_one(two, &av, 8);
	assert_int_equal(inside->frame.source_port, 0xc123);
	av.udp_sport = rnic_cpu_to_be16(0);
	for (unsigned int i = 0; i < 2; i++) {
		av.grh_gid_fl = rnic_cpu_to_be32(RNIC_WQE_AV_GRH | (i == 0 ? 0xfc001 : 0));
		send_one(two, &av, 8);
		assert_int_equal(inside->frame.source_port,
				 rocev2_source_port(&inside->frame, two->a.qpn, two->b.qpn));
		assert_true(inside->frame.source_port >= 0xc000);
	}
}

/* One queue pair, many peers in turn: a vector is remembered only as long as it is the last one. */
static void
test_to_many(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	const struct rnic_wqe_av to_b = av_to_b(two);
	const struct qw_attr attr = qw_attr();
	struct rnic_wqe_av to_self;
	struct qw_qp self;

	/* One of the sender's own device, beside it. */
	conf.st = RNIC_QP_ST_UD;
	assert_int_equal(qw_qp_create(two->a.end, &self, &conf), 0);
	qw_connect(&self, &self, &attr);
	to_self = qw_av(two->a.end, self.qpn, QW_QKEY);
	for (uint16_t i = 0; i < 6; i++) {
		qw_recv(&self, two->out + 10000 + i * ROOM, ROOM);
		qw_recv(&two->b, two->in + i * ROOM, ROOM);
		qw_datagram(&two->a, RNIC_WQE_SEND, &to_b, two->out, 10);
		qw_datagram(&two->a, RNIC_WQE_SEND, &to_self, two->out + 100, 10);
	}
	qw_go(two);
	for (uint16_t i = 0; i < 6; i++) {
		check_received(two, i, 10, false);
		qw_expect(&two->a_recv, RNIC_CQE_RESPONDER_SEND, i, self.qpn);
		assert_memory_equal(two->out + 10000 + i * ROOM + GRH, two->out + 100, 10);
	}
}

/* ---- Keys ---- */

static void
test_another_key(void **state)
{
	struct qw_two *two = *state;
	struct rnic_wqe_av av = av_to_b(two);

	qw_recv(&two->b, two->in, ROOM);
	av.qkey = rnic_cpu_to_be32(QW_QKEY ^ 1);
	send_one(two, &av, 8);
	qw_expect_nothing(&two->b_recv);
	assert_int_equal(stats_of_b(two)->roce_qkey_errors, 1);
	qw_done(two, 0);
	/* The sender's own, which is the right one. */
	av.qkey = rnic_cpu_to_be32(RNIC_WQE_AV_OWN_QKEY);
	send_one(two, &av, 8);
	check_received(two, 0, 8, false);
}

/* RTS2RTS changes it, if it is asked to. */
static void
test_key_is_changed(void **state)
{
	struct qw_two *two = *state;
	struct rnic_wqe_av av = av_to_b(two);
	const struct drv_qp_attr attr = { .qkey = 77 };
	struct drv *drv = &two->b.end->dp.drv;

	qw_recv(&two->b, two->in, ROOM);
	assert_int_equal(drv_qp_modify(drv, RNIC_CMD_RTS2RTS_QP, two->b.qpn, 0, &attr), 0);
	send_one(two, &av, 8);
	check_received(two, 0, 8, false);
	assert_int_equal(
		drv_qp_modify(drv, RNIC_CMD_RTS2RTS_QP, two->b.qpn, RNIC_QP_OPT_Q_KEY, &attr), 0);
	send_one(two, &av, 8);
	assert_int_equal(stats_of_b(two)->roce_qkey_errors, 1);
	av.qkey = rnic_cpu_to_be32(77);
	qw_recv(&two->b, two->in + ROOM, ROOM);
	send_one(two, &av, 8);
	check_received(two, 1, 8, false);
}

/* ---- Requests that fail ---- */

/* It may go on: what is received was never stopped. */
static void
recover(struct qw_two *two)
{
	const struct rnic_wqe_av av = av_to_b(two);

	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_SQER);
	qw_qp_to(&two->a, RNIC_CMD_SQERR2RTS_QP);
	qw_recv(&two->b, two->in, ROOM);
	send_one(two, &av, 8);
	assert_int_equal(
		rnic_be32_to_cpu(qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn)
					 ->byte_count),
		GRH + 8);
}

static void
without_extension(struct rnic_wqe_av *av)
{
	av->dqp = rnic_cpu_to_be32(rnic_be32_to_cpu(av->dqp) & ~RNIC_WQE_AV_EXTENDED);
}

static void
from_an_empty_entry(struct rnic_wqe_av *av)
{
	av->grh_gid_fl = rnic_cpu_to_be32(RNIC_WQE_AV_GRH | 1 << RNIC_WQE_AV_GID_SHIFT);
}

static void
from_beyond_the_table(struct rnic_wqe_av *av)
{
	av->grh_gid_fl = rnic_cpu_to_be32(RNIC_WQE_AV_GRH | 0xffu << RNIC_WQE_AV_GID_SHIFT);
}

static void
to_another_kind(struct rnic_wqe_av *av)
{
	av->rgid[0] = 0xfd;
}

static void
test_vectors_that_lead_nowhere(void **state)
{
	static void (*const faults[])(struct rnic_wqe_av *) = {
		without_extension,
		from_an_empty_entry,
		from_beyond_the_table,
		to_another_kind,
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct qw_two *two = open_datagrams(&(struct qw_conf){ .pair = true }, NULL);
		struct rnic_wqe_av av = av_to_b(two);

		faults[i](&av);
		send_one(two, &av, 8);
		qw_failed(two, 0, RNIC_SYND_LOCAL_QP_OPERATION);
		assert_int_equal(dp_stats(&two->a.end->dp).tx_packets, 0);
		recover(two);
		qw_two_close(two);
	}
}

/* RoCE's packets have the header anyhow: Linux' kernel asks for it, libmlx5 leaves that bit alone on Ethernet. */
static void
test_vectors_do_not_ask_for_a_header(void **state)
{
	struct qw_two *two = open_datagrams(&(struct qw_conf){ .pair = true }, NULL);
	struct rnic_wqe_av av = av_to_b(two);

	(void)state;
	av.grh_gid_fl = rnic_cpu_to_be32(0);
	qw_recv(&two->b, two->in, ROOM);
	send_one(two, &av, 8);
	qw_done(two, 0);
	assert_memory_equal(two->in + ROCE_GRH_BYTES, two->out, 8);
	qw_two_close(two);
}

/* A WQE too short for its vector, and opcodes that datagrams have not. */
static void
test_wqes_that_are_none(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_CS, RNIC_WQE_SEND_INVAL };

	(void)state;
	for (unsigned int i = 0; i <= sizeof(opcodes); i++) {
		struct qw_two *two = open_datagrams(&(struct qw_conf){ .pair = true }, NULL);
		const struct rnic_wqe_av av = av_to_b(two);

		if (i < sizeof(opcodes))
			qw_datagram(&two->a, opcodes[i], &av, two->out, 8);
		else
			dp_wqe(&two->a.sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
		qw_go(two);
		qw_failed(two, 0, RNIC_SYND_LOCAL_QP_OPERATION);
		recover(two);
		qw_two_close(two);
	}
}

/* By the queue pair's MTU, and by the port's as it is when the datagram goes. */
static void
test_longer_than_the_mtu(void **state)
{
	struct qw_attr attr = qw_attr();
	struct qw_two *two;
	struct rnic_wqe_av av;

	(void)state;
	two = open_datagrams(&(struct qw_conf){ .pair = true }, NULL);
	av = av_to_b(two);
	send_one(two, &av, MTU + 1);
	qw_failed(two, 0, RNIC_SYND_LOCAL_LENGTH);
	recover(two);
	qw_two_close(two);

	attr.mtu = RNIC_QP_MTU_4096;
	two = open_datagrams(&(struct qw_conf){ .pair = true }, &attr);
	av = av_to_b(two);
	qw_recv(&two->b, two->in, 8192);
	send_one(two, &av, 4096);
	qw_done(two, 0);
	assert_int_equal(
		rnic_be32_to_cpu(qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn)
					 ->byte_count),
		GRH + 4096);
	assert_int_equal(drv_mtu_set(&two->a.end->dp.drv, 1522), 0);
	send_one(two, &av, MTU + 1);
	qw_failed(two, 2, RNIC_SYND_LOCAL_LENGTH);
	qw_two_close(two);
}

/* Of a WQE that fails, those behind it are flushed; first-error completions begin anew behind SQERR2RTS. */
static void
test_the_rest_is_flushed(void **state)
{
	struct qw_two *two = *state;
	const struct rnic_wqe_av good = av_to_b(two);
	struct rnic_wqe_av bad = good;

	without_extension(&bad);
	qw_recv(&two->b, two->in, ROOM);
	for (unsigned int round = 0; round < 2; round++) {
		const uint16_t first = (uint16_t)(6 * round);

		qw_datagram(&two->a, RNIC_WQE_SEND, &bad, two->out, 8)->fm_ce_se =
			RNIC_WQE_CE_ON_FIRST_ERROR;
		qw_datagram(&two->a, RNIC_WQE_SEND, &good, two->out, 8)->fm_ce_se =
			RNIC_WQE_CE_ON_FIRST_ERROR;
		qw_datagram(&two->a, RNIC_WQE_SEND, &good, two->out, 8);
		qw_go(two);
		qw_failed(two, first, RNIC_SYND_LOCAL_QP_OPERATION);
		qw_failed(two, (uint16_t)(first + 4), RNIC_SYND_WR_FLUSHED);
		qw_expect_nothing(&two->a_send);
		assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_SQER);
		qw_qp_to(&two->a, RNIC_CMD_SQERR2RTS_QP);
	}
	qw_expect_nothing(&two->b_recv);
}

/* ---- Receives ---- */

/* By the MTUs that there are: the frame goes through the port, no MTU of the port's holds what is in it. */
static void
test_longer_than_the_receiving_mtu(void **state)
{
	struct qw_attr attr = qw_attr();
	const struct roce_counters *counters;
	struct qw_two *two;
	struct rnic_wqe_av av;

	(void)state;
	attr.mtu = RNIC_QP_MTU_4096;
	two = open_datagrams(&(struct qw_conf){ .pair = true }, &attr);
	counters = &two->b.end->dp.dev->roce_counters;
	av = av_to_b(two);
	assert_int_equal(drv_mtu_set(&two->b.end->dp.drv, 1522), 0);
	qw_recv(&two->b, two->in, 2 * ROOM);
	send_one(two, &av, MTU + 1);
	assert_int_equal(counters->resp_local_length_error, 1);
	qw_expect_nothing(&two->b_recv);
	send_one(two, &av, MTU);
	check_received(two, 0, MTU, false);
	assert_int_equal(counters->resp_local_length_error, 1);
	assert_int_equal(stats_of_b(two)->rx_errors, 0);
	qw_two_close(two);
}

static void
test_no_receive_and_a_short_one(void **state)
{
	struct qw_two *two = *state;
	const struct roce_counters *counters = &two->b.end->dp.dev->roce_counters;
	const struct rnic_wqe_av av = av_to_b(two);

	send_one(two, &av, 8);
	assert_int_equal(counters->out_of_buffer, 1);
	qw_recv(&two->b, two->in, GRH + 63);
	send_one(two, &av, 64);
	assert_int_equal(counters->resp_local_length_error, 1);
	qw_expect_nothing(&two->b_recv);
	/* It is still there. */
	send_one(two, &av, 63);
	check_received(two, 0, 63, false);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_RTS);
	assert_int_equal(qw_event(two->b.end, NULL), 0);
}

static void
test_shared_receives(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp other;
	struct qw_srq srq;
	struct rnic_wqe_av av;

	qw_srq_create(two->b.end, &srq, 4, 6, 0);
	for (uint16_t i = 0; i < 4; i++)
		qw_srq_write(&srq, i, (uint16_t)(i + 1), two->in + i * ROOM, i == 0 ? 50 : ROOM);
	qw_srq_post(&srq, 4);
	conf.st = RNIC_QP_ST_UD;
	conf.srq = &srq;
	assert_int_equal(qw_qp_create(two->b.end, &other, &conf), 0);
	qw_connect(&other, &other, &attr);
	av = qw_av(two->b.end, other.qpn, QW_QKEY);
	/* Too long for the first: it is kept, for the next datagram of this queue pair. */
	send_one(two, &av, 11);
	send_one(two, &av, 10);
	send_one(two, &av, 11);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, other.qpn);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 1, other.qpn);
	qw_expect_nothing(&two->b_recv);
}

/* A stranger who knows the keys takes no receive away from others. */
static void
test_too_long_for_a_shared_receive(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp qps[2];
	struct qw_srq srq;
	struct rnic_wqe_av av;

	qw_srq_create(two->b.end, &srq, 4, 6, 0);
	qw_srq_write(&srq, 0, 1, two->in, 50);
	qw_srq_post(&srq, 1);
	conf.st = RNIC_QP_ST_UD;
	conf.srq = &srq;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(qw_qp_create(two->b.end, &qps[i], &conf), 0);
		qw_connect(&qps[i], &qps[i], &attr);
		av = qw_av(two->b.end, qps[i].qpn, QW_QKEY);
		send_one(two, &av, 11);
	}
	qw_expect_nothing(&two->b_recv);
	for (uint16_t i = 0; i < 2; i++) {
		av = qw_av(two->b.end, qps[i].qpn, QW_QKEY);
		send_one(two, &av, 10);
		qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, i, qps[i].qpn);
		/* Behind the one that came back the list goes on. */
		qw_srq_write(&srq, 1, 2, two->in, 50);
		qw_srq_post(&srq, 1);
	}
	assert_int_equal(two->b.end->dp.dev->roce_counters.out_of_buffer, 0);
	assert_int_equal(two->b.end->dp.dev->roce_counters.resp_local_length_error, 2);
}

/* ---- For whom ---- */

/* Packets past the wire, as a stranger may send them. */
static void
arrive(struct qw_two *two, uint8_t opcode, uint32_t qpn, uint16_t pkey, uint32_t qkey)
{
	const struct roce_pkt pkt = { .opcode = opcode,
				      .dest_qpn = qpn,
				      .psn = qw_attr().psn,
				      .qkey = qkey,
				      .source_qpn = 0x777 };
	struct rocev2_frame head = { .pkey = pkey, .mig_req = true };
	struct softrnic_roce_frame frame = { .pkt = &pkt, .head = &head };

	memcpy(head.smac, two->a.end->mac, 6);
	memcpy(head.dmac, two->b.end->mac, 6);
	memcpy(head.sgid, two->a.end->gid, 16);
	memcpy(head.dgid, two->b.end->gid, 16);
	frame.bytes = rocev2_frame_bytes(&head, &pkt);
	softrnic_lock(two->qw.poller);
	softrnic_roce_receive(two->b.end->dp.dev, &frame);
	softrnic_unlock(two->qw.poller);
}

#define SEND_ONLY(transport) ROCE_OPCODE(ROCE_TRANSPORT_##transport, ROCE_SEND_ONLY)

/* Each of the checks, in their order: number, type and state, P_Key, Q_Key. */
static void
test_order_of_checks(void **state)
{
	struct qw_two *two = *state;
	const struct softrnic_stats *stats = stats_of_b(two);
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp rc, idle;

	assert_int_equal(qw_qp_create(two->b.end, &rc, &conf), 0);
	qw_connect(&rc, &rc, &attr);
	conf.st = RNIC_QP_ST_UD;
	assert_int_equal(qw_qp_create(two->b.end, &idle, &conf), 0);
	qw_recv(&two->b, two->in, ROOM);

	arrive(two, SEND_ONLY(UD), 0xabcde, 0x1234, 0);
	arrive(two, SEND_ONLY(UD), RNIC_QP1_QPN, 0x1234, 0);
	arrive(two, SEND_ONLY(UD), 0xffffff, 0x1234, 0);
	assert_int_equal(stats->roce_unknown_qp, 3);
	arrive(two, SEND_ONLY(UD), rc.qpn, 0x1234, 0);
	arrive(two, SEND_ONLY(RC), two->b.qpn, 0x1234, 0);
	arrive(two, SEND_ONLY(UC), two->b.qpn, 0x1234, 0);
	arrive(two, SEND_ONLY(UC), rc.qpn, 0x1234, 0);
	arrive(two, SEND_ONLY(UD), idle.qpn, 0x1234, 0);
	assert_int_equal(stats->roce_dropped, 5);
	arrive(two, SEND_ONLY(UD), two->b.qpn, 0x1234, 0);
	assert_int_equal(stats->roce_pkey_errors, 1);
	arrive(two, SEND_ONLY(UD), two->b.qpn, 0x7fff, 0);
	assert_int_equal(stats->roce_qkey_errors, 1);
	qw_expect_nothing(&two->b_recv);
	arrive(two, SEND_ONLY(UD), two->b.qpn, 0x7fff, QW_QKEY);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
	assert_int_equal(stats->roce_source_errors, 0);
}

/* In RTR it receives, in INIT it does not. */
static void
test_states_that_receive(void **state)
{
	struct qw_two *two = *state;
	const struct rnic_wqe_av av = av_to_b(two);

	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_RST2INIT_QP);
	send_one(two, &av, 8);
	assert_int_equal(stats_of_b(two)->roce_dropped, 1);
	qw_qp_to(&two->b, RNIC_CMD_INIT2RTR_QP);
	two->b.rq.producer = 0;
	qw_recv(&two->b, two->in, ROOM);
	send_one(two, &av, 8);
	check_received(two, 0, 8, false);
}

/* ---- QP1 ---- */

static void
qp1_open(struct qw_two *two, struct qw_qp *qp, bool b)
{
	struct qw_qp_conf conf = qw_two_qp_conf(two, b);
	struct qw_attr attr = qw_attr();

	conf.st = RNIC_QP_ST_QP1;
	/* As Linux says it. */
	attr.qkey = RNIC_QP1_QKEY;
	attr.mtu = RNIC_QP_MTU_256;
	assert_int_equal(qw_qp_create(two->qw.ends[b], qp, &conf), 0);
	qw_connect(qp, qp, &attr);
}

static void
test_qp1(void **state)
{
	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		struct qw_two *two = open_datagrams(
			&(struct qw_conf){ .pair = true, .bytes = bytes != 0 }, NULL);
		struct qw_qp a, b;
		struct rnic_wqe_av av = qw_av(two->b.end, RNIC_QP1_QPN, RNIC_QP1_QKEY);
		const struct rnic_cqe *cqe;

		qp1_open(two, &a, false);
		qp1_open(two, &b, true);
		qw_recv(&b, two->in, ROOM);
		qw_datagram(&a, RNIC_WQE_SEND, &av, two->out, 256);
		dp_sq_ring(&a.sq);
		qw_run(&two->qw);
		cqe = qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, b.qpn);
		assert_int_equal(rnic_be32_to_cpu(cqe->flags_rqpn) & RNIC_CQE_SOURCE_QP, 1);
		assert_int_equal(rnic_be32_to_cpu(cqe->immediate), 0xffff);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), GRH + 256);
		assert_memory_equal(two->in + GRH, two->out, 256);
		qw_two_close(two);
	}
}

/* By the number that CREATE_QP gave, nobody reaches it; by 1, whoever has the key. */
static void
test_number_of_qp1(void **state)
{
	struct qw_two *two = *state;
	const struct softrnic_stats *stats = stats_of_b(two);
	struct qw_qp b;

	qp1_open(two, &b, true);
	qw_recv(&b, two->in, ROOM);
	arrive(two, SEND_ONLY(UD), b.qpn, 0xffff, RNIC_QP1_QKEY);
	assert_int_equal(stats->roce_unknown_qp, 1);
	arrive(two, SEND_ONLY(UD), RNIC_QP1_QPN, 0xffff, RNIC_QP1_QKEY ^ 1);
	assert_int_equal(stats->roce_qkey_errors, 1);
	arrive(two, SEND_ONLY(RC), RNIC_QP1_QPN, 0xffff, RNIC_QP1_QKEY);
	assert_int_equal(stats->roce_dropped, 1);
	arrive(two, SEND_ONLY(UD), RNIC_QP1_QPN, 0xffff, RNIC_QP1_QKEY);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, b.qpn);
}

/* There is one of a port; when it has gone there may be another. */
static void
test_one_qp1(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);
	struct qw_qp first, second;

	conf.st = RNIC_QP_ST_QP1;
	assert_int_equal(qw_qp_create(two->b.end, &first, &conf), 0);
	assert_int_equal(qw_qp_create(two->b.end, &second, &conf), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(qw_qp_destroy(&first), 0);
	arrive(two, SEND_ONLY(UD), RNIC_QP1_QPN, 0xffff, RNIC_QP1_QKEY);
	assert_int_equal(stats_of_b(two)->roce_unknown_qp, 1);
	assert_int_equal(qw_qp_create(two->b.end, &second, &conf), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_wire),
		T(test_immediate),
		T(test_partition),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_headers_are_the_vectors),
		T(test_source_port),
		T(test_to_many),
		T(test_another_key),
		T(test_key_is_changed),
		cmocka_unit_test(test_vectors_that_lead_nowhere),
		cmocka_unit_test(test_vectors_do_not_ask_for_a_header),
		cmocka_unit_test(test_wqes_that_are_none),
		cmocka_unit_test(test_longer_than_the_mtu),
		T(test_the_rest_is_flushed),
		cmocka_unit_test(test_longer_than_the_receiving_mtu),
		T(test_no_receive_and_a_short_one),
		T(test_shared_receives),
		T(test_too_long_for_a_shared_receive),
		T(test_order_of_checks),
		T(test_states_that_receive),
		cmocka_unit_test(test_qp1),
		T(test_number_of_qp1),
		T(test_one_qp1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
