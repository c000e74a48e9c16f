/* SPDX-License-Identifier: BSD-3-Clause */

/* Bursts of datagrams alone: bytes of WQEs with an address vector, what is refused, and what entries of received ones become. */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "prm/cqe.h"
#include "prm/wqe.h"
#include "rdma/ah.h"
#include "rdma/poll.h"
#include "rdma/post.h"
#include "rdma/post_build.h"
#include "rdma/post_recv.h"
#include "rdma/rdma.h"
#include "rdma_rings.h"

#define LAST	((1 << RINGS_LOG_SQ) - 1)
#define LONGEST 1024u

static struct rdmapmd_pd pd, other_pd;
static struct rnic_rdma_ah ah;
static const struct rdmapmd_sge some = { 0x1122334455667788, 0x100, 0xaabbccdd };

static int
setup(void **state)
{
	static const struct rnic_wqe_av vector = {
		.dqp = RNIC_BE32(RNIC_WQE_AV_EXTENDED),
		.stat_rate_sl = 0x0a,
		.udp_sport = RNIC_BE16(0xc123),
		.rmac = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 },
		.tclass = 0x68,
		.hop_limit = 0x40,
		.grh_gid_fl = RNIC_BE32(0x40312345),
		.rgid = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 },
	};
	struct rings *rings;

	assert_int_equal(rings_setup(state), 0);
	rings = *state;
	rings->qp.qp.qp_type = RDMAPMD_QPT_UD;
	rings->qp.qp.pd = &pd;
	rings->qp.qp.post_send = rnic_rdma_post_datagrams;
	rings->qp.sq.max_datagram = LONGEST;
	rnic_rdma_kinds_init(rings->kinds, RNIC_RDMA_QP_DATAGRAM);
	ah = (struct rnic_rdma_ah){ .ah.pd = &pd, .vector = vector };
	return 0;
}

static struct rdmapmd_send_wr
request(enum rdmapmd_wr_opcode opcode, unsigned int flags)
{
	return (struct rdmapmd_send_wr){ .wr_id = 7,
					 .sg_list = &some,
					 .num_sge = 1,
					 .opcode = (uint8_t)opcode,
					 .send_flags = (uint8_t)flags,
					 .imm_data = RTE_BE32(0xcafef00d),
					 .wr.ud = { &ah.ah, 0x00abcdef, 0x11223344 } };
}

/* ---- Posting ---- */

static void
test_a_datagram(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SIGNALED);

	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "0000000a 00012305 00000008 00000000"
					 "11223344 00000000 80abcdef 0a00c123"
					 "00000000 02112233 44556840 40312345"
					 "fe800000 00000000 01020304 05060708");
	rings_assert_bytes(rings->sq[1], "00000100 aabbccdd 11223344 55667788 a5a5a5a5");
	/* Two blocks. */
	rings_assert_bytes(&rings->dbrec, "00000000 00000002");
	rings_assert_bytes(rings->bf, "0000000a 00012305 00000000");
}

/* With an immediate; to a group; with the queue pair's own Q_Key: what the request says is what is sent. */
static void
test_to_whom(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND_WITH_IMM, RDMAPMD_SEND_SOLICITED),
					request(RDMAPMD_WR_SEND, 0) };

	wr[0].wr.ud.remote_qpn = RDMAPMD_MULTICAST_QPN;
	wr[0].wr.ud.remote_qkey = 0x80000000;
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, wr, 2), 2);
	rings_assert_bytes(rings->sq[0], "0000000b 00012305 00000002 cafef00d"
					 "80000000 00000000 80ffffff 0a00c123");
	rings_assert_bytes(rings->sq[2], "0000020a 00012305 00000000 00000000"
					 "11223344 00000000 80abcdef 0a00c123");
	/* The handle is as it was. */
	rings_assert_bytes(&ah.vector, "00000000 00000000 80000000 0a00c123");
}

static void
test_segments_behind_the_end_of_the_ring(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { 0x1000, 1, 1 }, { 0x2000, 0, 2 }, { 0x3000, 3, 3 } };
	struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0), request(RDMAPMD_WR_SEND, 0) };

	wr[0].sg_list = sges;
	wr[0].num_sge = RTE_DIM(sges);
	rings_start_at(rings, LAST, 0);
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, wr, 1), 1);
	rings_assert_bytes(rings->sq[LAST], "00000f0a 00012306");
	rings_assert_bytes(rings->sq[0], "00000001 00000001 00000000 00001000"
					 "00000003 00000003 00000000 00003000 a5a5a5a5");
	rings_start_at(rings, LAST, 0);
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, wr + 1, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000100 aabbccdd 11223344 55667788");
}

static void
test_inline_data_behind_the_end_of_the_ring(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_sge sges[] = { { (uintptr_t) "ABCDEFGH", 8, 0 },
					    { (uintptr_t) "ijklmnop", 5, 0 } };
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE);

	wr.sg_list = sges;
	wr.num_sge = 2;
	rings_start_at(rings, LAST, 0);
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
	rings_assert_bytes(rings->sq[LAST], "00000f0a 00012306 00000000 00000000"
					    "11223344 00000000 80abcdef 0a00c123");
	rings_assert_bytes(rings->sq[0], "8000000d 41424344 45464748 696a6b6c 6d");
	/* An empty one has no segment. */
	rings_start_at(rings, 0, 0);
	wr.num_sge = 0;
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "0000000a 00012304");
	rings_assert_bytes(&rings->dbrec, "00000000 00000001");
}

static void
refuse(struct rings *rings, const struct rdmapmd_send_wr *wr, const char *why)
{
	rings_start_at(rings, 0, 0);
	rings->qp.qp.post_send_error = 0;
	if (rdmapmd_post_send(&rings->qp.qp, wr, 1) != 0 || rings->qp.qp.post_send_error != -EINVAL)
		fail_msg("taken: %s", why);
	rings_assert_bytes(&rings->dbrec, "00000000 00000000");
}

static void
test_what_is_no_datagram(void **state)
{
	static const uint8_t foreign[] = { RDMAPMD_WR_RDMA_WRITE, RDMAPMD_WR_RDMA_WRITE_WITH_IMM,
					   RDMAPMD_WR_RDMA_READ, RDMAPMD_WR_ATOMIC_CMP_AND_SWP,
					   RDMAPMD_WR_ATOMIC_FETCH_AND_ADD };
	struct rdmapmd_sge sges[RINGS_MAX_GS + 1] = { 0 };
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr;
	unsigned int i;

	for (i = 0; i < RTE_DIM(foreign); i++) {
		wr = request((enum rdmapmd_wr_opcode)foreign[i], 0);
		refuse(rings, &wr, "an operation of connections");
	}
	wr = request(RDMAPMD_WR_SEND, 0);
	wr.wr.ud.ah = NULL;
	refuse(rings, &wr, "no address handle");
	wr = request(RDMAPMD_WR_SEND, 0);
	ah.ah.pd = &other_pd;
	refuse(rings, &wr, "an address handle of another protection domain");
	ah.ah.pd = &pd;
	wr.wr.ud.remote_qpn = 0x1000000;
	refuse(rings, &wr, "a number of 25 bits");
	wr = request(RDMAPMD_WR_SEND, 0);
	wr.sg_list = sges;
	wr.num_sge = RTE_DIM(sges);
	refuse(rings, &wr, "too many segments");
	wr = request(RDMAPMD_WR_NOP, 0);
	refuse(rings, &wr, "a NOP with a segment");
	wr.num_sge = 0;
	wr.wr.ud.ah = NULL;
	rings_start_at(rings, 0, 0);
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000000 00012301");
}

/* A packet's payload, and not a byte more, however it is made of. */
static void
test_a_message_is_a_packet(void **state)
{
	static uint8_t bytes[RINGS_MAX_INLINE + 1];
	struct rdmapmd_sge sges[2] = { { 0x1000, LONGEST, 1 }, { 0x2000, 0, 1 } };
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, 0);
	unsigned int count;

	wr.sg_list = sges;
	for (count = 1; count <= 2; count++) {
		wr.num_sge = (uint16_t)count;
		rings_start_at(rings, 0, 0);
		sges[0].length = LONGEST;
		assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
		sges[count - 1].length++;
		refuse(rings, &wr, "longer than a packet");
		sges[count - 1].length = UINT32_MAX;
		refuse(rings, &wr, "much longer than a packet");
		sges[1].length = 0;
	}
	sges[0] = (struct rdmapmd_sge){ (uintptr_t)bytes, 100, 0 };
	wr.num_sge = 1;
	wr.send_flags = RDMAPMD_SEND_INLINE;
	rings->qp.sq.max_datagram = 100;
	rings_start_at(rings, 0, 0);
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
	sges[0].length++;
	refuse(rings, &wr, "inline, longer than a packet");
	rings->qp.sq.max_datagram = LONGEST;
	sges[0].length = RINGS_MAX_INLINE + 1;
	refuse(rings, &wr, "more than max_inline_data");
}

static void
test_a_burst_ends_before_what_is_bad(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0), request(RDMAPMD_WR_SEND, 0),
					request(RDMAPMD_WR_RDMA_WRITE, 0) };
	struct rdmapmd_wc wc;

	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, wr, 3), 2);
	assert_int_equal(rings->qp.qp.post_send_error, -EINVAL);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 3);
	/* Of which nothing would come: a NOP that nobody sees tells. */
	rings_assert_bytes(rings->sq[4], "00000400 00012301 00000008");
	rings_complete_send(rings, 4);
	assert_int_equal(rings_poll(rings, &wc), -1);
	assert_int_equal(rnic_rdma_qp_outstanding(&rings->qp.qp), 0);
}

static void
test_dumps(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr[] = { request(RDMAPMD_WR_SEND, 0),
					      request(RDMAPMD_WR_SEND, 0) };

	assert_int_equal(rnic_rdma_post_datagrams_dump(&rings->qp.qp, wr, 2), 2);
	assert_int_equal(rings_dump_count, 2);
	assert_int_equal(rings_dumped_kind, RNIC_WQE_OF_DATAGRAMS);
	assert_int_equal(rings_dumped[1], 2);
}

/* ---- UC: what a connection without answers has ---- */

static void
test_a_connection_without_answers(void **state)
{
	struct rings *rings = *state;
	struct rdmapmd_send_wr wr = request(RDMAPMD_WR_RDMA_WRITE_WITH_IMM, 0);
	unsigned int opcode;

	rings->qp.qp.qp_type = RDMAPMD_QPT_UC;
	rings->qp.qp.post_send = rnic_rdma_post_send;
	rnic_rdma_kinds_init(rings->kinds, RNIC_RDMA_QP_ASKS_NONE);
	wr.wr.rdma.remote_addr = 0x0102030405060708;
	wr.wr.rdma.rkey = 0x99887766;
	assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
	rings_assert_bytes(rings->sq[0], "00000009 00012303 00000000 cafef00d"
					 "01020304 05060708 99887766 00000000"
					 "00000100 aabbccdd 11223344 55667788");
	for (opcode = RDMAPMD_WR_RDMA_READ; opcode < RDMAPMD_WR_NOP; opcode++) {
		wr = request((enum rdmapmd_wr_opcode)opcode, 0);
		refuse(rings, &wr, "a READ or an atomic");
	}
}

/* ---- What arrives ---- */

static void
post_receives(struct rings *rings, unsigned int count)
{
	struct rdmapmd_sge room = { 0x1000, 2000, 1 };
	struct rdmapmd_recv_wr wr = { .sg_list = &room, .num_sge = 1 };
	unsigned int i;

	for (i = 0; i < count; i++) {
		wr.wr_id = 200 + i;
		assert_int_equal(rnic_rdma_post_recv(&rings->qp.qp, &wr, 1), 1);
	}
}

static struct rnic_cqe *
arrive(struct rings *rings, enum rnic_cqe_opcode opcode, enum rnic_cqe_roce roce)
{
	struct rnic_cqe *cqe = rings_complete(rings, opcode, RINGS_QPN, 0);

	cqe->byte_count = rnic_cpu_to_be32(140);
	cqe->flags_rqpn =
		rnic_cpu_to_be32(RNIC_CQE_GRH | (uint32_t)roce << RNIC_CQE_ROCE_SHIFT | 0xabcdef);
	return cqe;
}

/* The kind of packet stands where other completions have their service level. */
static void
test_a_datagram_arrives(void **state)
{
	static const enum rnic_cqe_roce roce[] = { RNIC_CQE_ROCE_IPV4, RNIC_CQE_ROCE_IPV6 };
	struct rings *rings = *state;
	struct rdmapmd_wc wc;
	unsigned int i;

	post_receives(rings, 4);
	for (i = 0; i < 4; i++) {
		arrive(rings, i < 2 ? RNIC_CQE_RESPONDER_SEND : RNIC_CQE_RESPONDER_SEND_IMM,
		       roce[i % 2])
			->immediate = RNIC_BE32(0xcafef00d);
		assert_int_equal(rings_poll(rings, &wc), 200 + i);
		assert_int_equal(wc.status, RDMAPMD_WC_SUCCESS);
		assert_int_equal(wc.opcode, RDMAPMD_WC_RECV);
		assert_int_equal(wc.byte_len, 140);
		assert_int_equal(wc.src_qp, 0xabcdef);
		assert_int_equal(wc.qp_num, RINGS_QPN);
		assert_int_equal(wc.pkey_index, 0);
		assert_int_equal(wc.sl, 0);
		assert_int_equal(wc.wc_flags, RDMAPMD_WC_GRH | (i % 2 == 0 ? RDMAPMD_WC_IPV4 : 0) |
						      (i < 2 ? 0 : RDMAPMD_WC_WITH_IMM));
		if (i >= 2)
			assert_int_equal(wc.imm_data, RTE_BE32(0xcafef00d));
	}
}

/* One with a tag, between two without. */
static void
test_a_datagram_of_a_vlan_arrives(void **state)
{
	struct rings *rings = *state;
	struct rnic_cqe *cqe;
	struct rdmapmd_wc wc;
	unsigned int i;

	post_receives(rings, 3);
	for (i = 0; i < 3; i++) {
		cqe = arrive(rings, RNIC_CQE_RESPONDER_SEND, RNIC_CQE_ROCE_IPV4);
		cqe->vlan_info = RNIC_BE16(0xb123);
		cqe->l4_l3_hdr_type = i == 1 ? RNIC_CQE_VLAN_STRIPPED : 0;
		assert_int_equal(rings_poll(rings, &wc), 200 + i);
		assert_int_equal(wc.wc_flags, RDMAPMD_WC_GRH | RDMAPMD_WC_IPV4 |
						      (i == 1 ? RDMAPMD_WC_WITH_VLAN : 0));
		assert_int_equal(wc.sl, i == 1 ? 5 : 0);
		assert_int_equal(wc.vlan_id, i == 1 ? 0x123 : 0);
	}
}

/* A burst of both kinds; and never more than the request has room for. */
static void
test_datagrams_between_sends(void **state)
{
	struct rings *rings = *state;
	const struct rdmapmd_send_wr wr = request(RDMAPMD_WR_SEND, RDMAPMD_SEND_SIGNALED);
	struct rdmapmd_wc wc[6];
	unsigned int i;

	post_receives(rings, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rdmapmd_post_send(&rings->qp.qp, &wr, 1), 1);
		rings_complete_send(rings, (uint16_t)(2 * i));
		arrive(rings, RNIC_CQE_RESPONDER_SEND, RNIC_CQE_ROCE_IPV6)->byte_count =
			rnic_cpu_to_be32(i == 2 ? 2001 : 2000);
	}
	assert_int_equal(rdmapmd_poll_cq(&rings->cq.cq, wc, 6), 6);
	for (i = 0; i < 3; i++) {
		assert_int_equal(wc[2 * i].opcode, RDMAPMD_WC_SEND);
		assert_int_equal(wc[2 * i + 1].wr_id, 200 + i);
		assert_int_equal(wc[2 * i + 1].byte_len, 2000);
		assert_int_equal(wc[2 * i + 1].sl, 0);
	}
	assert_int_equal(rings->cq.unmatched, 0);
	/* As a WRITE, which there is none of; and one more than was posted. */
	post_receives(rings, 1);
	arrive(rings, RNIC_CQE_RESPONDER_WRITE_IMM, RNIC_CQE_ROCE_IPV6)->byte_count =
		rnic_cpu_to_be32(0x40000000);
	assert_int_equal(rings_poll(rings, wc), 200);
	assert_int_equal(wc[0].byte_len, 2000);
	arrive(rings, RNIC_CQE_RESPONDER_SEND, RNIC_CQE_ROCE_IPV6);
	assert_int_equal(rings_poll(rings, wc), -1);
	assert_int_equal(rings->cq.unmatched, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, rings_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_a_datagram),
	TEST(test_to_whom),
	TEST(test_segments_behind_the_end_of_the_ring),
	TEST(test_inline_data_behind_the_end_of_the_ring),
	TEST(test_what_is_no_datagram),
	TEST(test_a_message_is_a_packet),
	TEST(test_a_burst_ends_before_what_is_bad),
	TEST(test_dumps),
	TEST(test_a_connection_without_answers),
	TEST(test_a_datagram_arrives),
	TEST(test_a_datagram_of_a_vlan_arrives),
	TEST(test_datagrams_between_sends),
};

PLAIN_MAIN("rdma_ud", tests)
