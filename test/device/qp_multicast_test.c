/* SPDX-License-Identifier: BSD-3-Clause */

/* Groups: who is in them has a copy of each datagram, wherever it was sent, and nobody else has. */
#include "driver/qp.h"
#include "qp_world.h"
/* Counters and the frame are of the inside. */
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/receive.h"
#include "softrnic/rocev2/encode.h"

#define GRH   ROCEV2_GRH_BYTES
#define ROOM  2048u
#define GROUP 0xffffffu

/* 239.129.2.3, the highest bit of whose second byte no MAC address has; ff15::1:2:3:4 */
static const uint8_t gid_v4[16] = { [10] = 0xff, [11] = 0xff, 239, 129, 2, 3 };
static const uint8_t mac_v4[6] = { 0x01, 0x00, 0x5e, 0x01, 0x02, 0x03 };
static const uint8_t gid_v6[16] = { 0xff, 0x15, [12] = 0xa1, 2, 3, 4 };
static const uint8_t mac_v6[6] = { 0x33, 0x33, 0xa1, 2, 3, 4 };

/* Two queue pairs of datagrams at either end: a is the sender, each has receive WQEs. */
struct many {
	struct qw_two *two;
	struct qw_qp more[2]; /* beside two->a, beside two->b */
	bool ipv6;
};

static struct qw_qp *
member(struct many *m, unsigned int i)
{
	return i == 0 ? &m->two->a : i == 1 ? &m->more[0] : i == 2 ? &m->two->b : &m->more[1];
}

/* A receive WQE of a member: its place. */
static uint8_t *
room_of(struct many *m, unsigned int i, unsigned int wqe)
{
	return (i < 2 ? m->two->out : m->two->in) + 65536 + (i * 8 + wqe) * ROOM;
}

static struct dp_cq *
cq_of(struct many *m, unsigned int i)
{
	return i < 2 ? &m->two->a_recv : &m->two->b_recv;
}

static const uint8_t *
gid_of(const struct many *m)
{
	return m->ipv6 ? gid_v6 : gid_v4;
}

static int
attach(struct many *m, unsigned int i, uint16_t opcode)
{
	const struct qw_qp *qp = member(m, i);

	return drv_mcg(&qp->end->dp.drv, opcode, qp->qpn, gid_of(m));
}

static void
open_many(struct many *m, const struct qw_conf *conf, bool block)
{
	struct qw_qp_conf qp;
	const struct qw_attr attr = qw_attr();

	m->two = qw_two_open(conf);
	m->ipv6 = conf->ipv6;
	for (unsigned int i = 0; i < 4; i++) {
		qp = qw_two_qp_conf(m->two, i >= 2);
		qp.st = RNIC_QP_ST_UD;
		qp.block_lb_mc = block && i == 0;
		assert_int_equal(qw_qp_create(m->two->qw.ends[i >= 2], member(m, i), &qp), 0);
		qw_connect(member(m, i), member(m, i), &attr);
		for (unsigned int n = 0; n < 8; n++)
			qw_recv(member(m, i), room_of(m, i, n), ROOM);
	}
	qw_fill(m->two->out, 8192, 1);
}

/* The vector that leads to the group. */
static struct rnic_wqe_av
av_to_group(const struct many *m)
{
	struct rnic_wqe_av av = qw_av(m->two->b.end, GROUP, QW_QKEY);

	memcpy(av.rgid, gid_of(m), sizeof(av.rgid));
	memcpy(av.rmac, m->ipv6 ? mac_v6 : mac_v4, sizeof(av.rmac));
	return av;
}

static void
send_to_group(struct many *m)
{
	const struct rnic_wqe_av av = av_to_group(m);

	qw_datagram(&m->two->a, RNIC_WQE_SEND, &av, m->two->out, 64);
	qw_go(m->two);
}

/* How many copies each has now; those of one CQ come in any order. */
static void
count_copies(struct many *m, unsigned int copies[4])
{
	const struct rnic_cqe *cqe;
	uint32_t qpn;

	memset(copies, 0, 4 * sizeof(copies[0]));
	for (unsigned int side = 0; side < 2; side++) {
		while ((cqe = dp_cq_next(cq_of(m, 2 * side))) != NULL) {
			assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND);
			assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), GRH + 64);
			assert_int_equal(rnic_be32_to_cpu(cqe->flags_rqpn) & RNIC_CQE_SOURCE_QP,
					 m->two->a.qpn);
			qpn = rnic_be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff;
			for (unsigned int i = 2 * side; i < 2 * side + 2; i++) {
				if (member(m, i)->qpn != qpn)
					continue;
				copies[i]++;
				assert_memory_equal(
					room_of(m, i, rnic_be16_to_cpu(cqe->wqe_counter)) + GRH,
					m->two->out, 64);
			}
		}
	}
}

#define COPIES(m, a, b, c, d)                   \
	do {                                    \
		unsigned int copies[4];         \
                                                \
		count_copies(m, copies);        \
		assert_int_equal(copies[0], a); \
		assert_int_equal(copies[1], b); \
		assert_int_equal(copies[2], c); \
		assert_int_equal(copies[3], d); \
	} while (0)

static void
close_many(struct many *m)
{
	qw_two_close(m->two);
}

/* ---- Copies ---- */

/* Over each wire, elided or as bytes: each member has one, the sender too; who is not in it has none. */
static void
test_each_member_has_one(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		const struct qw_conf conf = { .pair = (i & 1) != 0,
					      .bytes = (i & 2) != 0,
					      .ipv6 = (i & 4) != 0 };
		struct many m;

		open_many(&m, &conf, false);
		for (unsigned int n = 0; n < 4; n++)
			assert_int_equal(attach(&m, n, RNIC_CMD_ATTACH_TO_MCG), 0);
		send_to_group(&m);
		qw_done(m.two, 0);
		/* On a loop both sides are one device, and their CQs two. */
		COPIES(&m, 1, 1, 1, 1);
		assert_int_equal(attach(&m, 0, RNIC_CMD_DETACH_FROM_MCG), 0);
		assert_int_equal(attach(&m, 3, RNIC_CMD_DETACH_FROM_MCG), 0);
		send_to_group(&m);
		qw_done(m.two, 2);
		COPIES(&m, 0, 1, 1, 0);
		close_many(&m);
	}
}

/* Who does not want its own has those of others. */
static void
test_blocked(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const struct qw_conf conf = { .pair = (i & 1) != 0, .bytes = (i & 2) != 0 };
		struct many m;

		open_many(&m, &conf, true);
		for (unsigned int n = 0; n < 4; n++)
			assert_int_equal(attach(&m, n, RNIC_CMD_ATTACH_TO_MCG), 0);
		send_to_group(&m);
		COPIES(&m, 0, 1, 1, 1);
		close_many(&m);
	}
}

static void
test_attached_twice(void **state)
{
	struct many m;

	(void)state;
	open_many(&m, &(struct qw_conf){ .pair = true }, false);
	assert_int_equal(attach(&m, 2, RNIC_CMD_ATTACH_TO_MCG), 0);
	assert_int_equal(attach(&m, 2, RNIC_CMD_ATTACH_TO_MCG), 0);
	send_to_group(&m);
	COPIES(&m, 0, 0, 1, 0);
	assert_int_equal(attach(&m, 2, RNIC_CMD_DETACH_FROM_MCG), 0);
	assert_int_equal(attach(&m, 2, RNIC_CMD_DETACH_FROM_MCG), RNIC_STATUS_BAD_RES);
	send_to_group(&m);
	COPIES(&m, 0, 0, 0, 0);
	close_many(&m);
}

/* Where nobody is in the group it is an Ethernet frame like any other. */
static void
test_nobody_is_in_it(void **state)
{
	struct many m;

	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		open_many(&m, &(struct qw_conf){ .pair = true, .bytes = bytes != 0 }, false);
		send_to_group(&m);
		qw_done(m.two, 0);
		COPIES(&m, 0, 0, 0, 0);
		assert_int_equal(dp_stats(&m.two->a.end->dp).tx_packets, 1);
		assert_int_equal(dp_stats(&m.two->b.end->dp).roce_unknown_qp, 0);
		assert_int_equal(m.two->b.end->dp.dev->port.counters.rx_rdma_packets[1], 0);
		close_many(&m);
	}
}

/* ---- Keys, numbers and addresses ---- */

/* Each member's Q_Key is its own. */
static void
test_keys(void **state)
{
	const struct drv_qp_attr attr = { .qkey = 77 };
	struct many m;

	(void)state;
	open_many(&m, &(struct qw_conf){ .pair = true }, false);
	assert_int_equal(attach(&m, 2, RNIC_CMD_ATTACH_TO_MCG), 0);
	assert_int_equal(attach(&m, 3, RNIC_CMD_ATTACH_TO_MCG), 0);
	assert_int_equal(drv_qp_modify(&m.two->b.end->dp.drv, RNIC_CMD_RTS2RTS_QP,
				       member(&m, 3)->qpn, RNIC_QP_OPT_Q_KEY, &attr),
			 0);
	send_to_group(&m);
	COPIES(&m, 0, 0, 1, 0);
	assert_int_equal(dp_stats(&m.two->b.end->dp).roce_qkey_errors, 1);
	/* One that does not receive at all. */
	qw_qp_to(member(&m, 3), RNIC_CMD_2ERR_QP);
	qw_run(&m.two->qw);
	while (dp_cq_next(cq_of(&m, 2)) != NULL)
		;
	send_to_group(&m);
	COPIES(&m, 0, 0, 1, 0);
	assert_int_equal(dp_stats(&m.two->b.end->dp).roce_dropped, 1);
	close_many(&m);
}

/* As a stranger may send them, past the wire: as a descriptor and as a frame. */
static void
arrive(struct many *m, uint8_t opcode, uint32_t qpn, const uint8_t gid[16], const uint8_t mac[6],
       uint16_t vlan)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	const struct roce_pkt pkt = {
		.opcode = opcode, .dest_qpn = qpn, .qkey = QW_QKEY, .source_qpn = m->two->a.qpn
	};
	struct rocev2_frame head = {
		.pkey = 0xffff, .mig_req = true, .tagged = vlan != 0, .tci = vlan
	};
	struct softrnic_frame frame = { .count = 1 };
	struct softrnic *dev = m->two->b.end->dp.dev;

	memcpy(head.smac, m->two->a.end->mac, 6);
	memcpy(head.dmac, mac, 6);
	memcpy(head.sgid, m->two->a.end->gid, 16);
	memcpy(head.dgid, gid, 16);
	frame.length = rocev2_encode(&head, &pkt, bytes);
	frame.pieces[0] = (struct iovec){ bytes, frame.length };
	softrnic_lock(m->two->qw.poller);
	softrnic_eth_receive(dev, &frame);
	softrnic_unlock(m->two->qw.poller);
}

#define UD_SEND ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY)

static void
test_numbers_and_addresses(void **state)
{
	const struct softrnic_stats *stats;
	const uint64_t *rdma;
	const struct qw_attr attr = qw_attr();
	uint8_t other[16], wrong[6];
	struct qw_qp_conf conf;
	struct qw_qp rc;
	struct many m;

	(void)state;
	open_many(&m, &(struct qw_conf){ .pair = true }, false);
	assert_int_equal(attach(&m, 2, RNIC_CMD_ATTACH_TO_MCG), 0);
	stats = &m.two->b.end->dp.dev->stats;
	rdma = m.two->b.end->dp.dev->port.counters.rx_rdma_packets;
	/* A group's address, and not the number of groups; and the other way round. */
	arrive(&m, UD_SEND, m.two->b.qpn, gid_v4, mac_v4, 0);
	arrive(&m, UD_SEND, 1, gid_v4, mac_v4, 0);
	assert_int_equal(stats->roce_unknown_qp, 2);
	conf = qw_two_qp_conf(m.two, true);
	assert_int_equal(qw_qp_create(m.two->b.end, &rc, &conf), 0);
	qw_connect(&rc, &rc, &attr);
	arrive(&m, ROCE_SEND_ONLY, rc.qpn, gid_v4, mac_v4, 0);
	assert_int_equal(stats->roce_unknown_qp, 3);
	assert_int_equal(stats->roce_source_errors, 0);
	arrive(&m, UD_SEND, GROUP, m.two->b.end->gid, m.two->b.end->mac, 0);
	assert_int_equal(stats->roce_unknown_qp, 4);
	/* Connections have no groups. */
	arrive(&m, ROCE_SEND_ONLY, GROUP, gid_v4, mac_v4, 0);
	assert_int_equal(stats->roce_dropped, 1);
	assert_int_equal(rdma[0] + rdma[1], 5);
	/* Not the group's MAC address; not one that we are in; not a VLAN of ours: Ethernet's. */
	memcpy(wrong, mac_v4, 6);
	wrong[3] |= 0x80;
	arrive(&m, UD_SEND, GROUP, gid_v4, wrong, 0);
	memcpy(other, gid_v4, 16);
	other[15] ^= 1;
	memcpy(wrong, mac_v4, 6);
	wrong[5] ^= 1;
	arrive(&m, UD_SEND, GROUP, other, wrong, 0);
	arrive(&m, UD_SEND, GROUP, gid_v4, mac_v4, 5);
	assert_int_equal(rdma[0] + rdma[1], 5);
	qw_expect_nothing(&m.two->b_recv);
	/* With all of it right. */
	arrive(&m, UD_SEND, GROUP, gid_v4, mac_v4, 0);
	qw_expect(&m.two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, m.two->b.qpn);
	qw_set_vlan(m.two->b.end, 5);
	arrive(&m, UD_SEND, GROUP, gid_v4, mac_v4, 5);
	qw_expect(&m.two->b_recv, RNIC_CQE_RESPONDER_SEND, 1, m.two->b.qpn);
	close_many(&m);
}

/* ---- How many: numbers of ours, so that those of the device cannot go unseen ---- */

#define GROUPS	4096u
#define MEMBERS 240u

static void
numbered_gid(uint8_t gid[16], uint32_t n)
{
	memcpy(gid, gid_v6, 16);
	gid[14] = (uint8_t)(n >> 8);
	gid[15] = (uint8_t)n;
}

static void
test_so_many_groups(void **state)
{
	struct qw_two *two = qw_two_open(&(struct qw_conf){ .pair = true });
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct drv *drv = &two->qw.ends[0]->dp.drv;
	uint8_t gid[16];
	struct qw_qp qp;

	(void)state;
	conf.st = RNIC_QP_ST_UD;
	assert_int_equal(qw_qp_create(two->qw.ends[0], &qp, &conf), 0);
	for (uint32_t n = 0; n < GROUPS; n++) {
		numbered_gid(gid, n);
		assert_int_equal(drv_mcg(drv, RNIC_CMD_ATTACH_TO_MCG, qp.qpn, gid), 0);
	}
	numbered_gid(gid, GROUPS);
	assert_int_equal(drv_mcg(drv, RNIC_CMD_ATTACH_TO_MCG, qp.qpn, gid), RNIC_STATUS_LIM);
	numbered_gid(gid, 0);
	assert_int_equal(drv_mcg(drv, RNIC_CMD_DETACH_FROM_MCG, qp.qpn, gid), 0);
	numbered_gid(gid, GROUPS);
	assert_int_equal(drv_mcg(drv, RNIC_CMD_ATTACH_TO_MCG, qp.qpn, gid), 0);
	/* With all of them it goes, when its driver does. */
	assert_int_equal(qw_qp_destroy(&qp), RNIC_STATUS_RES_BUSY);
	qw_two_close(two);
}

static void
test_so_many_members(void **state)
{
	struct qw_two *two = qw_two_open(&(struct qw_conf){ .pair = true });
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct drv *drv = &two->qw.ends[0]->dp.drv;
	struct qw_qp qp, first;

	(void)state;
	conf.st = RNIC_QP_ST_UD;
	conf.log_sq = conf.log_rq = 2;
	for (uint32_t n = 0; n <= MEMBERS; n++) {
		assert_int_equal(qw_qp_create(two->qw.ends[0], &qp, &conf), 0);
		if (n == 0)
			first = qp;
		assert_int_equal(drv_mcg(drv, RNIC_CMD_ATTACH_TO_MCG, qp.qpn, gid_v4),
				 n < MEMBERS ? 0 : RNIC_STATUS_LIM);
	}
	/* One goes, one comes. */
	assert_int_equal(drv_mcg(drv, RNIC_CMD_DETACH_FROM_MCG, first.qpn, gid_v4), 0);
	assert_int_equal(qw_qp_destroy(&first), 0);
	assert_int_equal(drv_mcg(drv, RNIC_CMD_ATTACH_TO_MCG, qp.qpn, gid_v4), 0);
	qw_two_close(two);
}

/* ---- When drivers go ---- */

/* A reset empties the groups. */
static void
test_reset(void **state)
{
	struct softrnic *dev;
	struct many m;

	(void)state;
	open_many(&m, &(struct qw_conf){ .pair = true, .islands = true }, false);
	assert_int_equal(attach(&m, 2, RNIC_CMD_ATTACH_TO_MCG), 0);
	assert_int_equal(attach(&m, 3, RNIC_CMD_ATTACH_TO_MCG), 0);
	dev = m.two->b.end->dp.dev;
	assert_int_equal(dev->mcg_count, 1);
	softrnic_reset(dev);
	qw_run(&m.two->qw);
	assert_int_equal(dev->mcg_count, 0);
	send_to_group(&m);
	qw_done(m.two, 0);
	assert_int_equal(dev->stats.roce_unknown_qp, 0);
	close_many(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_member_has_one),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_attached_twice),
		cmocka_unit_test(test_nobody_is_in_it),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_numbers_and_addresses),
		cmocka_unit_test(test_so_many_groups),
		cmocka_unit_test(test_so_many_members),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
