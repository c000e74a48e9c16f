/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Datagrams between queue pairs that were never introduced to each other: answers to who has sent one, groups, queue pair 1.
 * Over one device, or two.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "port.h"
#include "rdma.h"

#define PORT	1
#define MEMBERS 3
#define DEPTH	8
#define MESSAGE 100u
#define MAD	256u
#define ROOM	(RDMAPMD_GRH_BYTES + MAD) /* of a receive */
#define BYTES	4096u

/* Who has queue pairs: of one device, or of either of two. */
struct node {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;
	union rdmapmd_gid link_local, ipv4;
	uint32_t ipv4_index;
	uint8_t mac[6];
};
static struct node nodes[2];
static bool two_devices;
static uint8_t *memory;

/* One of them, with CQs of its own; what it receives is at `room`, what it sends behind that. */
struct member {
	const struct node *node;
	struct rdmapmd_cq *sent, *cq; /* of sends; of receives */
	struct rdmapmd_qp *qp;
	uint8_t *room;
};

/* ---- Queue pairs ---- */

static int
try_member(struct member *member, unsigned int place, const struct node *node,
	   enum rdmapmd_qp_type type, uint32_t flags)
{
	struct rdmapmd_cq_init_attr cq_attr = { .cqe = 4 * DEPTH };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = type,
		.create_flags = flags,
		.port_num = PORT,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int rc;

	*member = (struct member){ .node = node, .room = memory + place * 2 * ROOM };
	assert_true((place + 1) * 2 * ROOM <= BYTES);
	assert_int_equal(rdmapmd_cq_create(node->context, &cq_attr, &member->sent), 0);
	assert_int_equal(rdmapmd_cq_create(node->context, &cq_attr, &member->cq), 0);
	attr.send_cq = member->sent;
	attr.recv_cq = member->cq;
	rc = rdmapmd_qp_create(node->pd, &attr, &member->qp);
	if (rc != 0) {
		assert_int_equal(rdmapmd_cq_destroy(member->cq), 0);
		assert_int_equal(rdmapmd_cq_destroy(member->sent), 0);
	}
	return rc;
}

static struct rdmapmd_sge
receives_at(const struct member *member)
{
	return (struct rdmapmd_sge){ (uintptr_t)member->room, ROOM, member->node->mr->lkey };
}

static void
receive(const struct member *member)
{
	const struct rdmapmd_sge sge = receives_at(member);

	rdma_post_recv(member->qp, 2, &sge, 1);
}

/* In RTS, with a receive. */
static void
make(struct member *member, unsigned int place, const struct node *node, enum rdmapmd_qp_type type,
     uint32_t flags)
{
	static const struct rdma_conf conf = { 0 };

	assert_int_equal(try_member(member, place, node, type, flags), 0);
	rdma_connect_to(member->qp, 0, &node->link_local, &conf);
	receive(member);
}

static void
destroy(const struct member *member)
{
	assert_int_equal(rdmapmd_qp_destroy(member->qp), 0);
	assert_int_equal(rdmapmd_cq_destroy(member->cq), 0);
	assert_int_equal(rdmapmd_cq_destroy(member->sent), 0);
}

/* ---- Messages ---- */

static struct rdmapmd_ah *
handle(const struct node *from, const struct node *to, bool ipv4)
{
	struct rdmapmd_ah_attr attr = { .dgid = ipv4 ? to->ipv4 : to->link_local,
					.sgid_index = ipv4 ? (uint8_t)from->ipv4_index : 0,
					.hop_limit = 64,
					.traffic_class = 0x6a,
					.port_num = PORT };
	struct rdmapmd_ah *ah;

	/* Nobody has to be asked. */
	memcpy(attr.dmac, to->mac, sizeof(attr.dmac));
	assert_int_equal(rdmapmd_ah_create(from->pd, &attr, &ah), 0);
	return ah;
}

static struct rdmapmd_send_wr
message(const struct member *from, struct rdmapmd_sge *sge, uint32_t length, uint8_t byte,
	struct rdmapmd_ah *ah, uint32_t qpn, uint32_t qkey)
{
	uint8_t *bytes = from->room + ROOM;

	memset(bytes, byte, length);
	*sge = (struct rdmapmd_sge){ (uintptr_t)bytes, length, from->node->mr->lkey };
	return (struct rdmapmd_send_wr){ .wr_id = 1,
					 .opcode = RDMAPMD_WR_SEND,
					 .send_flags = RDMAPMD_SEND_SIGNALED,
					 .sg_list = sge,
					 .num_sge = 1,
					 .wr.ud = { ah, qpn, qkey } };
}

static void
send_to(const struct member *from, uint32_t length, uint8_t byte, struct rdmapmd_ah *ah,
	uint32_t qpn, uint32_t qkey)
{
	struct rdmapmd_sge sge;
	const struct rdmapmd_send_wr wr = message(from, &sge, length, byte, ah, qpn, qkey);

	memset(from->room, RDMA_UNTOUCHED, ROOM);
	rdma_post(from->qp, &wr);
}

/* The next one that has come, of so many such bytes; there is another receive then. */
static struct rdmapmd_wc
expect(const struct member *member, uint32_t length, uint8_t byte, uint32_t source)
{
	const struct rdmapmd_wc wc = rdma_expect(member->cq, 2, RDMAPMD_WC_RECV);
	uint32_t i;

	assert_int_equal(wc.byte_len, RDMAPMD_GRH_BYTES + length);
	assert_int_equal(wc.wc_flags & ~RDMAPMD_WC_IPV4, RDMAPMD_WC_GRH);
	assert_int_equal(wc.src_qp, source);
	for (i = 0; i < length; i++)
		assert_int_equal(member->room[RDMAPMD_GRH_BYTES + i], byte);
	receive(member);
	return wc;
}

/* ---- Answers ---- */

/* A question to whom its address is known, and an answer to whoever has asked. */
static void
ask_and_answer(bool ipv4)
{
	struct member here, there;
	struct rdmapmd_ah *to, *back;
	struct rdmapmd_wc wc;

	make(&here, 0, &nodes[0], RDMAPMD_QPT_UD, 0);
	make(&there, 1, &nodes[1], RDMAPMD_QPT_UD, 0);
	to = handle(&nodes[0], &nodes[1], ipv4);
	memset(there.room, 0, ROOM);
	send_to(&here, MESSAGE, 0x11, to, there.qp->qp_num, RDMA_QKEY);
	rdma_expect(here.sent, 1, RDMAPMD_WC_SEND);
	wc = expect(&there, MESSAGE, 0x11, here.qp->qp_num);
	assert_int_equal(rdmapmd_ah_from_wc(nodes[1].pd, PORT, &wc, there.room, &back), 0);
	/* The queue pair's own Q_Key is as good. */
	send_to(&there, MESSAGE, 0x22, back, wc.src_qp, 0x80000000);
	rdma_expect(there.sent, 1, RDMAPMD_WC_SEND);
	expect(&here, MESSAGE, 0x22, there.qp->qp_num);
	assert_int_equal(rdmapmd_ah_destroy(back), 0);
	assert_int_equal(rdmapmd_ah_destroy(to), 0);
	destroy(&there);
	destroy(&here);
}

static void
test_an_answer_by_ipv6(void **unused)
{
	(void)unused;
	ask_and_answer(false);
}

/* The header stands in the last 20 bytes, with zeros before it; its sum is right, and its length the packet's. */
static void
test_the_header_of_ipv4(void **unused)
{
	static const uint8_t zeros[20];
	const uint16_t length = 20 + 8 + 12 + 8 + MESSAGE + 4;
	struct member here, there;
	struct rdmapmd_ah *to;
	struct rdmapmd_wc wc;
	const uint8_t *header;
	uint32_t sum = 0, i;

	(void)unused;
	make(&here, 0, &nodes[0], RDMAPMD_QPT_UD, 0);
	make(&there, 1, &nodes[1], RDMAPMD_QPT_UD, 0);
	to = handle(&nodes[0], &nodes[1], true);
	memset(there.room, 0xff, ROOM);
	send_to(&here, MESSAGE, 0x11, to, there.qp->qp_num, RDMA_QKEY);
	wc = expect(&there, MESSAGE, 0x11, here.qp->qp_num);
	assert_true(wc.wc_flags & RDMAPMD_WC_IPV4);
	assert_memory_equal(there.room, zeros, sizeof(zeros));
	header = there.room + 20;
	for (i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	assert_int_equal(header[0], 0x45);
	assert_int_equal(header[1], 0x6a);
	assert_int_equal(header[2] << 8 | header[3], length);
	assert_int_equal(header[8], 64);
	assert_int_equal(header[9], 17);
	assert_memory_equal(header + 12, nodes[0].ipv4.raw + 12, 4);
	assert_memory_equal(header + 16, nodes[1].ipv4.raw + 12, 4);
	assert_int_equal(rdmapmd_ah_destroy(to), 0);
	destroy(&there);
	destroy(&here);
}

static void
test_the_header_of_ipv6(void **unused)
{
	const uint16_t length = 8 + 12 + 8 + MESSAGE + 4;
	struct member here, there;
	struct rdmapmd_ah *to;
	struct rdmapmd_wc wc;
	const uint8_t *header;

	(void)unused;
	make(&here, 0, &nodes[0], RDMAPMD_QPT_UD, 0);
	make(&there, 1, &nodes[1], RDMAPMD_QPT_UD, 0);
	to = handle(&nodes[0], &nodes[1], false);
	send_to(&here, MESSAGE, 0x11, to, there.qp->qp_num, RDMA_QKEY);
	wc = expect(&there, MESSAGE, 0x11, here.qp->qp_num);
	assert_false(wc.wc_flags & RDMAPMD_WC_IPV4);
	header = there.room;
	assert_int_equal(header[0], 0x66);
	assert_int_equal(header[1], 0xa0);
	assert_int_equal(header[4] << 8 | header[5], length);
	assert_int_equal(header[6], 17);
	assert_int_equal(header[7], 64);
	assert_memory_equal(header + 8, &nodes[0].link_local, 16);
	assert_memory_equal(header + 24, &nodes[1].link_local, 16);
	assert_int_equal(rdmapmd_ah_destroy(to), 0);
	destroy(&there);
	destroy(&here);
}

/* Where the own addresses are all that there is to know. */
static void
test_an_answer_by_ipv4(void **unused)
{
	(void)unused;
	if (!two_devices)
		ask_and_answer(true);
}

/* An address stays as long as a handle begins there. */
static void
test_an_address_that_is_in_use(void **unused)
{
	struct rdmapmd_ah *ah = handle(&nodes[0], &nodes[1], true);

	(void)unused;
	assert_int_equal(rdmapmd_gid_del(nodes[0].context, PORT, nodes[0].ipv4_index), -EBUSY);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
}

/* ---- A shared receive queue ---- */

static void
test_receives_of_many(void **unused)
{
	static const struct rdma_conf conf = { 0 };
	struct rdmapmd_srq_init_attr srq_attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct rdmapmd_qp_init_attr attr = { .qp_type = RDMAPMD_QPT_UD };
	struct member here, there;
	struct rdmapmd_recv_wr wr = { .wr_id = 2, .num_sge = 1 };
	struct rdmapmd_sge sge;
	struct rdmapmd_qp *qp;
	struct rdmapmd_ah *to;
	struct rdmapmd_wc wc;

	(void)unused;
	make(&here, 0, &nodes[0], RDMAPMD_QPT_UD, 0);
	make(&there, 1, &nodes[1], RDMAPMD_QPT_UD, 0);
	attr.send_cq = attr.recv_cq = there.cq;
	assert_int_equal(rdmapmd_srq_create(nodes[1].pd, &srq_attr, &attr.srq), 0);
	assert_int_equal(rdmapmd_qp_create(nodes[1].pd, &attr, &qp), 0);
	rdma_connect_to(qp, 0, &nodes[1].link_local, &conf);
	sge = receives_at(&there);
	wr.sg_list = &sge;
	assert_int_equal(rdmapmd_post_srq_recv(attr.srq, &wr, 1), 1);
	to = handle(&nodes[0], &nodes[1], false);
	send_to(&here, MESSAGE, 0x33, to, qp->qp_num, RDMA_QKEY);
	wc = rdma_expect(there.cq, 2, RDMAPMD_WC_RECV);
	assert_int_equal(wc.qp_num, qp->qp_num);
	assert_int_equal(wc.byte_len, RDMAPMD_GRH_BYTES + MESSAGE);
	assert_int_equal(wc.src_qp, here.qp->qp_num);
	assert_int_equal(there.room[RDMAPMD_GRH_BYTES], 0x33);
	assert_int_equal(rdmapmd_ah_destroy(to), 0);
	assert_int_equal(rdmapmd_qp_destroy(qp), 0);
	assert_int_equal(rdmapmd_srq_destroy(attr.srq), 0);
	destroy(&there);
	destroy(&here);
}

/* ---- Groups ---- */

static union rdmapmd_gid
group(uint8_t number)
{
	return (union rdmapmd_gid){ .raw = { 0xff, 0x0e, [15] = number } };
}

static struct rdmapmd_ah *
handle_of_group(const struct node *node, const union rdmapmd_gid *gid)
{
	const struct rdmapmd_ah_attr attr = { .dgid = *gid,
					      .sgid_index = rdmapmd_gid_is_ipv4(gid)
								    ? (uint8_t)node->ipv4_index
								    : 0,
					      .hop_limit = 1,
					      .port_num = PORT };
	struct rdmapmd_ah *ah;

	assert_int_equal(rdmapmd_ah_create(node->pd, &attr, &ah), 0);
	return ah;
}

/* The first one sends; the second one is on the same device, the third one on the other. Who is in the group gets a copy. */
static void
send_to_group(const union rdmapmd_gid *gid, uint32_t flags)
{
	struct member members[MEMBERS];
	struct rdmapmd_ah *ah = handle_of_group(&nodes[0], gid);
	const union rdmapmd_gid other = group(99);
	unsigned int i, round;

	for (i = 0; i < MEMBERS; i++)
		make(&members[i], i, &nodes[i == 2], RDMAPMD_QPT_UD, i == 0 ? flags : 0);
	/* Twice is once. */
	for (i = 0; i < MEMBERS; i++) {
		assert_int_equal(rdmapmd_mcast_attach(members[i].qp, gid), 0);
		assert_int_equal(rdmapmd_mcast_attach(members[i].qp, gid), 0);
	}
	for (round = 0; round < 3; round++) {
		send_to(&members[0], MESSAGE, (uint8_t)round, ah, RDMAPMD_MULTICAST_QPN, RDMA_QKEY);
		rdma_expect(members[0].sent, 1, RDMAPMD_WC_SEND);
		for (i = 0; i < MEMBERS; i++) {
			const bool leaves = round == 1 && i == 1;

			if (round < 2 && (i > 0 || flags == 0))
				expect(&members[i], MESSAGE, (uint8_t)round, members[0].qp->qp_num);
			/* After this one the second leaves; the rest goes to another group. */
			if (leaves)
				assert_int_equal(rdmapmd_mcast_detach(members[i].qp, gid), 0);
		}
		for (i = 0; round == 1 && i < MEMBERS; i++)
			if (i != 1) {
				assert_int_equal(rdmapmd_mcast_attach(members[i].qp, &other), 0);
				assert_int_equal(rdmapmd_mcast_detach(members[i].qp, gid), 0);
			}
	}
	assert_int_equal(rdmapmd_mcast_detach(members[1].qp, gid), -EINVAL);
	for (i = 0; i < MEMBERS; i++)
		rdma_expect_nothing(members[i].cq);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
	for (i = 0; i < MEMBERS; i++)
		destroy(&members[i]);
}

static void
test_a_group(void **unused)
{
	const union rdmapmd_gid gid = group(1);

	(void)unused;
	send_to_group(&gid, 0);
}

static void
test_a_group_of_ipv4(void **unused)
{
	const union rdmapmd_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 129, 2, 3 } };

	(void)unused;
	send_to_group(&gid, 0);
}

static void
test_who_does_not_hear_itself(void **unused)
{
	const union rdmapmd_gid gid = group(2);

	(void)unused;
	send_to_group(&gid, RDMAPMD_QP_BLOCK_SELF_MCAST_LB);
}

/* They are more than any list of a vport's addresses has room for. */
static void
test_as_many_groups_as_the_device_has(void **unused)
{
	union rdmapmd_gid gid = { .raw = { 0xff, 0x0e } }, last;
	struct rdmapmd_device_attr device;
	struct member here, there;
	struct rdmapmd_ah *ah;
	uint32_t i;

	(void)unused;
	assert_int_equal(rdmapmd_device_query(nodes[1].context, &device), 0);
	assert_int_equal(device.max_mcast_grp, 4096);
	make(&here, 0, &nodes[0], RDMAPMD_QPT_UD, 0);
	make(&there, 1, &nodes[1], RDMAPMD_QPT_UD, 0);
	for (i = 0; i <= device.max_mcast_grp; i++) {
		last = gid;
		gid.raw[14] = (uint8_t)(i >> 8);
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(rdmapmd_mcast_attach(there.qp, &gid),
				 i < device.max_mcast_grp ? 0 : -ENOSPC);
	}
	ah = handle_of_group(&nodes[0], &last);
	send_to(&here, MESSAGE, 0x44, ah, RDMAPMD_MULTICAST_QPN, RDMA_QKEY);
	rdma_expect(here.sent, 1, RDMAPMD_WC_SEND);
	expect(&there, MESSAGE, 0x44, here.qp->qp_num);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
	destroy(&there);
	destroy(&here);
}

/* 0 of a device that does not count them. */
static uint16_t
violations(const struct node *node)
{
	struct rdmapmd_port_attr port;

	assert_int_equal(rdmapmd_port_query(node->context, PORT, &port), 0);
	return port.qkey_viol_cntr;
}

/* Another Q_Key is another conversation, and counted; and the answer to a group's datagram goes to who has sent it. */
static void
test_who_is_meant(void **unused)
{
	const union rdmapmd_gid gid = group(3);
	const uint16_t before = violations(&nodes[1]);
	struct member here, there;
	struct rdmapmd_ah *ah = handle_of_group(&nodes[0], &gid), *back;
	struct rdmapmd_device_attr device;
	struct rdmapmd_wc wc;

	(void)unused;
	make(&here, 0, &nodes[0], RDMAPMD_QPT_UD, 0);
	make(&there, 1, &nodes[1], RDMAPMD_QPT_UD, 0);
	assert_int_equal(rdmapmd_mcast_attach(there.qp, &gid), 0);
	send_to(&here, MESSAGE, 0x11, ah, RDMAPMD_MULTICAST_QPN, RDMA_QKEY + 1);
	rdma_expect(here.sent, 1, RDMAPMD_WC_SEND);
	send_to(&here, MESSAGE, 0x22, ah, RDMAPMD_MULTICAST_QPN, RDMA_QKEY);
	rdma_expect(here.sent, 1, RDMAPMD_WC_SEND);
	wc = expect(&there, MESSAGE, 0x22, here.qp->qp_num);
	assert_int_equal(rdmapmd_device_query(nodes[1].context, &device), 0);
	assert_int_equal(violations(&nodes[1]),
			 before + !!(device.device_cap_flags & RDMAPMD_DEVICE_BAD_QKEY_CNTR));
	assert_int_equal(rdmapmd_ah_from_wc(nodes[1].pd, PORT, &wc, there.room, &back), 0);
	send_to(&there, MESSAGE, 0x33, back, wc.src_qp, RDMA_QKEY);
	expect(&here, MESSAGE, 0x33, there.qp->qp_num);
	assert_int_equal(rdmapmd_ah_destroy(back), 0);
	assert_int_equal(rdmapmd_ah_destroy(ah), 0);
	destroy(&there);
	destroy(&here);
}

/* ---- Queue pair 1 ---- */

static void
test_queue_pair_1(void **unused)
{
	struct rdmapmd_ah *to = handle(&nodes[0], &nodes[1], false), *back;
	struct rdmapmd_send_wr wr;
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr;
	struct member one, other, ud;
	struct rdmapmd_sge sge;
	struct rdmapmd_wc wc;

	(void)unused;
	make(&one, 0, &nodes[0], RDMAPMD_QPT_GSI, 0);
	assert_int_equal(rdmapmd_qp_query(one.qp, &attr, &init), 0);
	assert_int_equal(init.port_num, PORT);
	/* A port has one. */
	assert_int_equal(try_member(&other, 1, &nodes[0], RDMAPMD_QPT_GSI, 0), -EBUSY);
	if (two_devices)
		make(&other, 1, &nodes[1], RDMAPMD_QPT_GSI, 0);
	else
		other = one;
	/* Whatever its own number is, it is 1 to all others. */
	assert_int_not_equal(one.qp->qp_num, 1);
	send_to(&one, MAD, 0x55, to, 1, RDMAPMD_QP1_QKEY);
	rdma_expect(one.sent, 1, RDMAPMD_WC_SEND);
	wc = expect(&other, MAD, 0x55, 1);
	assert_int_equal(rdmapmd_ah_from_wc(other.node->pd, PORT, &wc, other.room, &back), 0);
	send_to(&other, MAD, 0x66, back, wc.src_qp, RDMAPMD_QP1_QKEY);
	rdma_expect(other.sent, 1, RDMAPMD_WC_SEND);
	expect(&one, MAD, 0x66, 1);
	/* Not from who does not have its Q_Key, which no request can name but by having it. */
	make(&ud, 2, &nodes[0], RDMAPMD_QPT_UD, 0);
	send_to(&ud, MAD, 0x77, to, 1, RDMAPMD_QP1_QKEY & 0x7fffffff);
	rdma_expect(ud.sent, 1, RDMAPMD_WC_SEND);
	rdma_expect_nothing(other.cq);
	wr = message(&one, &sge, MAD + 1, 0, to, 1, RDMAPMD_QP1_QKEY);
	assert_int_equal(rdmapmd_post_send(one.qp, &wr, 1), 0);
	assert_int_equal(one.qp->post_send_error, -EINVAL);
	assert_int_equal(rdmapmd_ah_destroy(back), 0);
	assert_int_equal(rdmapmd_ah_destroy(to), 0);
	destroy(&ud);
	if (two_devices)
		destroy(&other);
	destroy(&one);
}

/* ---- Where it runs ---- */

static void
open_node(struct node *node, unsigned int port, uint8_t number)
{
	struct rdmapmd_gid_entry own;

	assert_int_equal(rdmapmd_device_open_by_name(e2e_port_name(port), &node->context), 0);
	assert_int_equal(rdmapmd_pd_alloc(node->context, &node->pd), 0);
	assert_int_equal(
		rdmapmd_mr_reg(node->pd, memory, BYTES, RDMAPMD_ACCESS_LOCAL_WRITE, &node->mr), 0);
	assert_int_equal(rdmapmd_gid_query(node->context, PORT, 0, &own), 0);
	node->link_local = own.gid;
	memcpy(node->mac, own.mac, sizeof(node->mac));
	node->ipv4 = (union rdmapmd_gid){ .raw = { [10] = 0xff, 0xff, 192, 0, 2, number } };
	assert_int_equal(rdmapmd_gid_add(node->context, PORT, &node->ipv4, &node->ipv4_index), 0);
}

static int
open_nodes(void **unused)
{
	(void)unused;
	memory = rte_zmalloc(NULL, BYTES, 4096);
	assert_non_null(memory);
	open_node(&nodes[0], 0, 1);
	open_node(&nodes[1], two_devices ? 1 : 0, 2);
	/* Nobody sends a datagram again. */
	rdma_wait_link(nodes[0].context);
	rdma_wait_link(nodes[1].context);
	return 0;
}

static int
close_nodes(void **unused)
{
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(nodes); i++) {
		assert_int_equal(rdmapmd_gid_del(nodes[i].context, PORT, nodes[i].ipv4_index), 0);
		assert_int_equal(rdmapmd_context_close(nodes[i].context), 0);
	}
	rte_free(memory);
	return 0;
}

/* Devargs of one device, or of two. */
int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_by_ipv6),
		cmocka_unit_test(test_an_answer_by_ipv4),
		cmocka_unit_test(test_the_header_of_ipv6),
		cmocka_unit_test(test_the_header_of_ipv4),
		cmocka_unit_test(test_an_address_that_is_in_use),
		cmocka_unit_test(test_receives_of_many),
		cmocka_unit_test(test_a_group),
		cmocka_unit_test(test_a_group_of_ipv4),
		cmocka_unit_test(test_who_does_not_hear_itself),
		cmocka_unit_test(test_as_many_groups_as_the_device_has),
		cmocka_unit_test(test_who_is_meant),
		cmocka_unit_test(test_queue_pair_1),
	};
	char vdev[2][256];
	const char *vdevs[] = { vdev[0], NULL, NULL };
	int rc;

	two_devices = argc > 2;
	e2e_port_spec(vdev[0], sizeof(vdev[0]), 0, argc > 1 ? argv[1] : "wire=loop");
	if (two_devices) {
		e2e_port_spec(vdev[1], sizeof(vdev[1]), 1, argv[2]);
		vdevs[1] = vdev[1];
	}
	if (e2e_init("rdma-datagram", vdevs) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdma_datagram", tests, open_nodes, close_nodes);
	e2e_fini();
	return rc;
}
