/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RAW_PACKET queue pairs through the public API, beside the ethdevs of their ports: frames of every kind, whose frames they
 * are, what goes wrong under its name.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "port.h"
#include "raw.h"

#define A	 (&raw_ends[0])
#define B	 (&raw_ends[1])
#define ANY	 RDMAPMD_VLAN_ANY
#define SIGNALED RDMAPMD_SEND_SIGNALED

static const uint8_t group[6] = { 0x01, 0x00, 0x5e, 0x00, 0x00, 0x07 };
static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t stranger[6] = { 0x02, 0, 0, 0, 0xcc, 1 };

/* From A, to wherever that is. */
static void
send_frame(const uint8_t to[6], uint16_t vlan, uint32_t seed, uint32_t length)
{
	raw_frame(A, 0, to, vlan, seed, length);
	raw_send(A, seed, length, SIGNALED);
	rdma_expect(A->send_cq, seed, RDMAPMD_WC_SEND);
}

/* The ethdev of B's port gets one frame, or none. */
static void
expect_on_ethdev(uint32_t length)
{
	struct rte_mbuf *mbuf;

	if (length == 0) {
		assert_true(e2e_silent(B->port));
		return;
	}
	assert_int_equal(e2e_receive(B->port, &mbuf, 1), 1);
	assert_int_equal(mbuf->pkt_len, length);
	rte_pktmbuf_free(mbuf);
	assert_true(e2e_silent(B->port));
}

static void
attach(const uint8_t mac[6], uint16_t vlan)
{
	assert_int_equal(rdmapmd_qp_attach_mac(B->qp, mac, vlan), 0);
}

static void
detach(const uint8_t mac[6], uint16_t vlan)
{
	assert_int_equal(rdmapmd_qp_detach_mac(B->qp, mac, vlan), 0);
}

/* ---- Frames ---- */

/* From the shortest to the longest: the MTU and 18 bytes of header and tag. */
static const uint32_t lengths[] = { 14, 15, 17, 18, 19, 20, 32, 60, 64, 65, 127, 1000, 1514, 1518 };

static void
test_frames_of_every_length(void **unused)
{
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(lengths); i++) {
		raw_receive(B, 100 + i, 1);
		send_frame(B->mac, ANY, i, lengths[i]);
		raw_expect(B, 100 + i, 0, B->mac, ANY, i, lengths[i]);
	}
}

/* 1, 0, 12, 3 bytes and the rest, so that the header and what the device may want of it are in several. */
static void
test_several_segments(void **unused)
{
	const struct rdmapmd_sge from[] = {
		raw_sge(A, RAW_TX, 1),	      raw_sge(A, RAW_TX + 1, 0),
		raw_sge(A, RAW_TX + 1, 12),   raw_sge(A, RAW_TX + 13, 3),
		raw_sge(A, RAW_TX + 16, 984),
	};
	const struct rdmapmd_sge to[] = {
		raw_sge(B, RAW_RX, 2),
		raw_sge(B, RAW_RX + 2, 20),
		raw_sge(B, RAW_RX + 22, RAW_PIECE - 22),
	};
	const struct rdmapmd_send_wr wr = { .wr_id = 7,
					    .sg_list = from,
					    .num_sge = RTE_DIM(from),
					    .opcode = RDMAPMD_WR_SEND,
					    .send_flags = SIGNALED };

	(void)unused;
	memset(B->memory + RAW_RX, RDMA_UNTOUCHED, RAW_PIECE);
	rdma_post_recv(B->qp, 8, to, RTE_DIM(to));
	raw_frame(A, 0, B->mac, ANY, 1, 1000);
	rdma_post(A->qp, &wr);
	rdma_expect(A->send_cq, 7, RDMAPMD_WC_SEND);
	raw_expect(B, 8, 0, B->mac, ANY, 1, 1000);
}

/* The keys of inline requests are nobody's, and the memory is the application's again at once. */
static void
test_inline_frames(void **unused)
{
	struct rdmapmd_qp_sizing sizing;
	uint32_t length;

	(void)unused;
	assert_int_equal(rdmapmd_qp_sizing_query(A->qp, &sizing), 0);
	assert_true(sizing.sq.max_inline >= 100);
	for (length = RAW_HEADER; length <= sizing.sq.max_inline; length++) {
		struct rdmapmd_sge sge[2] = { raw_sge(A, RAW_TX, 9),
					      raw_sge(A, RAW_TX + 9, length - 9) };
		const struct rdmapmd_send_wr wr = { .wr_id = length,
						    .sg_list = sge,
						    .num_sge = 2,
						    .opcode = RDMAPMD_WR_SEND,
						    .send_flags = SIGNALED | RDMAPMD_SEND_INLINE };

		sge[0].lkey = sge[1].lkey = 0;
		raw_receive(B, 3000 + length, 1);
		raw_frame(A, 0, B->mac, ANY, length, length);
		rdma_post(A->qp, &wr);
		memset(A->memory + RAW_TX, 0, length);
		rdma_expect(A->send_cq, length, RDMAPMD_WC_SEND);
		raw_expect(B, 3000 + length, 0, B->mac, ANY, length, length);
	}
}

/*
 * All rings go around many times: WQEs of one and of several blocks, some signaled. At most as many frames are under way as B
 * has receives.
 */
static void
test_many_frames_in_order(void **unused)
{
	const uint32_t total = full_run() ? 1000000 : 20000;
	uint32_t sent = 0, received = 0;
	struct rdmapmd_wc wc[RAW_DEPTH];
	unsigned int n, i;

	(void)unused;
	raw_receive(B, 0, RAW_DEPTH);
	while (received < total) {
		for (; sent < total && sent - received < RAW_DEPTH; sent++) {
			const uint32_t slot = sent % RAW_DEPTH, at = slot * RAW_PIECE;
			const uint32_t length = 60 + sent % 1400, parts = sent % 5 + 1;
			struct rdmapmd_sge sge[5];
			struct rdmapmd_send_wr wr = {
				.wr_id = sent,
				.sg_list = sge,
				.num_sge = (uint16_t)parts,
				.opcode = RDMAPMD_WR_SEND,
				.send_flags = sent % 4 == 3 ? SIGNALED : 0,
			};

			for (i = 0; i < parts; i++)
				sge[i] = raw_sge(A, RAW_TX + at + 5 * i,
						 i + 1 < parts ? 5 : length - 5 * i);
			raw_frame(A, at, B->mac, ANY, sent, length);
			if (rdmapmd_post_send(A->qp, &wr, 1) != 1) {
				assert_int_equal(A->qp->post_send_error, -ENOMEM);
				break;
			}
		}
		n = rdmapmd_poll_cq(A->send_cq, wc, RTE_DIM(wc));
		for (i = 0; i < n; i++) {
			assert_int_equal(wc[i].status, RDMAPMD_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id % 4, 3);
		}
		for (; received < sent; received++) {
			const struct rdmapmd_sge to =
				raw_sge(B, RAW_RX + received % RAW_DEPTH * RAW_PIECE, RAW_PIECE);
			const uint32_t length = 60 + received % 1400;

			memset(B->memory + RAW_RX + received % RAW_DEPTH * RAW_PIECE + length,
			       RDMA_UNTOUCHED, 1);
			raw_expect(B, received, received % RAW_DEPTH, B->mac, ANY, received,
				   length);
			rdma_post_recv(B->qp, received + RAW_DEPTH, &to, 1);
		}
	}
}

static void
test_frames_that_cannot_be(void **unused)
{
	struct rdmapmd_sge sge[6] = { raw_sge(A, RAW_TX, 13), raw_sge(A, RAW_TX, 1) };
	struct rdmapmd_send_wr wr = { .sg_list = sge, .num_sge = 1, .opcode = RDMAPMD_WR_SEND };
	const struct {
		uint8_t opcode, flags;
		uint16_t segments;
	} bad[] = {
		{ RDMAPMD_WR_SEND, 0, 1 }, /* too short */
		{ RDMAPMD_WR_SEND, 0, 0 },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_INLINE, 1 },
		{ RDMAPMD_WR_SEND, 0, 6 }, /* too many */
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_FENCE, 2 },
		{ RDMAPMD_WR_SEND, RDMAPMD_SEND_SOLICITED, 2 },
		{ RDMAPMD_WR_SEND_WITH_IMM, 0, 2 },
		{ RDMAPMD_WR_RDMA_WRITE, 0, 2 },
		{ RDMAPMD_WR_RDMA_READ, 0, 2 },
		{ RDMAPMD_WR_ATOMIC_FETCH_AND_ADD, 0, 2 },
	};
	unsigned int i;

	(void)unused;
	raw_frame(A, 0, B->mac, ANY, 1, 60);
	for (i = 2; i < RTE_DIM(sge); i++)
		sge[i] = raw_sge(A, RAW_TX, 1);
	for (i = 0; i < RTE_DIM(bad); i++) {
		wr.opcode = bad[i].opcode;
		wr.send_flags = bad[i].flags;
		wr.num_sge = bad[i].segments;
		assert_int_equal(rdmapmd_post_send(A->qp, &wr, 1), 0);
		assert_int_equal(A->qp->post_send_error, -EINVAL);
	}
	/* The queue has not noticed. */
	raw_receive(B, 1, 1);
	send_frame(B->mac, ANY, 2, 60);
	raw_expect(B, 1, 0, B->mac, ANY, 2, 60);
}

/* ---- Whose frames they are ---- */

static void
test_frames_to_and_from_an_ethdev(void **unused)
{
	struct rte_mbuf *mbuf;

	(void)unused;
	send_frame(B->port_mac, ANY, 1, 100);
	expect_on_ethdev(100);
	raw_receive(B, 5, 1);
	mbuf = rte_pktmbuf_alloc(e2e_pool);
	assert_non_null(mbuf);
	raw_frame(A, 0, B->mac, ANY, 9, 333);
	memcpy(rte_pktmbuf_append(mbuf, 333), A->memory + RAW_TX, 333);
	assert_int_equal(e2e_send(A->port, 0, &mbuf, 1), 1);
	raw_expect(B, 5, 0, B->mac, ANY, 9, 333);
	assert_true(e2e_silent(B->port));
}

static void
test_no_frames_without_an_address(void **unused)
{
	(void)unused;
	raw_receive(B, 1, 2);
	detach(B->mac, ANY);
	send_frame(B->mac, ANY, 1, 60);
	rdma_expect_nothing(B->recv_cq);
	attach(B->mac, ANY);
	send_frame(stranger, ANY, 2, 60);
	send_frame(B->mac, ANY, 3, 60);
	raw_expect(B, 1, 0, B->mac, ANY, 3, 60);
	rdma_expect_nothing(B->recv_cq);
	expect_on_ethdev(0);
}

static void
test_the_ethdev_s_own_address(void **unused)
{
	(void)unused;
	raw_receive(B, 1, 1);
	attach(B->port_mac, ANY);
	send_frame(B->port_mac, ANY, 1, 70);
	raw_expect(B, 1, 0, B->port_mac, ANY, 1, 70);
	expect_on_ethdev(0);
	detach(B->port_mac, ANY);
	send_frame(B->port_mac, ANY, 2, 71);
	expect_on_ethdev(71);
}

static void
test_a_promiscuous_ethdev_sees_the_rest(void **unused)
{
	(void)unused;
	assert_int_equal(rte_eth_promiscuous_enable(B->port), 0);
	raw_receive(B, 1, 1);
	send_frame(B->mac, ANY, 1, 80);
	raw_expect(B, 1, 0, B->mac, ANY, 1, 80);
	expect_on_ethdev(0);
	send_frame(stranger, ANY, 2, 81);
	expect_on_ethdev(81);
	assert_int_equal(rte_eth_promiscuous_disable(B->port), 0);
	send_frame(stranger, ANY, 3, 82);
	expect_on_ethdev(0);
}

/* Broadcast is the ethdev's in any case, a group's while it asks for all. */
static void
test_group_addresses_are_copied(void **unused)
{
	(void)unused;
	attach(broadcast, ANY);
	attach(group, ANY);
	raw_receive(B, 1, 3);
	send_frame(broadcast, ANY, 1, 90);
	raw_expect(B, 1, 0, broadcast, ANY, 1, 90);
	expect_on_ethdev(90);
	send_frame(group, ANY, 2, 91);
	raw_expect(B, 2, 1, group, ANY, 2, 91);
	expect_on_ethdev(0);
	assert_int_equal(rte_eth_allmulticast_enable(B->port), 0);
	send_frame(group, ANY, 3, 92);
	raw_expect(B, 3, 2, group, ANY, 3, 92);
	expect_on_ethdev(92);
	assert_int_equal(rte_eth_allmulticast_disable(B->port), 0);
}

/* With that tag; the address alone is not attached, so the ethdev may have the rest. */
static void
test_addresses_of_a_vlan(void **unused)
{
	(void)unused;
	attach(B->port_mac, 5);
	raw_receive(B, 1, 4);
	send_frame(B->port_mac, 5, 1, 100);
	raw_expect(B, 1, 0, B->port_mac, 5, 1, 100);
	expect_on_ethdev(0);
	send_frame(B->port_mac, 6, 2, 101);
	expect_on_ethdev(101);
	send_frame(B->port_mac, ANY, 3, 102);
	expect_on_ethdev(102);
	/* Priority bits are no part of it. */
	send_frame(B->port_mac, 7 << 13 | 5, 4, 103);
	raw_expect(B, 2, 1, B->port_mac, 7 << 13 | 5, 4, 103);
	/* Of one address with whatever tag all come. */
	send_frame(B->mac, 77, 5, 104);
	raw_expect(B, 3, 2, B->mac, 77, 5, 104);
	detach(B->port_mac, 5);
	send_frame(B->port_mac, 5, 6, 105);
	expect_on_ethdev(105);
	rdma_expect_nothing(B->recv_cq);
}

static void
test_addresses_that_cannot_be_attached(void **unused)
{
	static const uint8_t nothing[6] = { 0 };
	struct raw_end other = *B;
	const struct raw_conf no_receive = { .no_receive = true };

	(void)unused;
	assert_int_equal(rdmapmd_qp_attach_mac(B->qp, B->mac, ANY), -EEXIST);
	assert_int_equal(rdmapmd_qp_attach_mac(B->qp, nothing, ANY), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(B->qp, NULL, ANY), -EINVAL);
	assert_int_equal(rdmapmd_qp_attach_mac(B->qp, stranger, 4095), -EINVAL);
	assert_int_equal(rdmapmd_qp_detach_mac(B->qp, B->mac, 4094), -ENOENT);
	assert_int_equal(rdmapmd_qp_detach_mac(B->qp, stranger, ANY), -ENOENT);
	raw_open_end(&other, &no_receive);
	assert_int_equal(rdmapmd_qp_attach_mac(other.qp, stranger, ANY), -EINVAL);
	/* Another one's is not this one's to give up. */
	assert_int_equal(rdmapmd_qp_detach_mac(other.qp, B->mac, ANY), -EINVAL);
	raw_close_end(&other);
}

/* More than the vport or the table takes; what was refused leaves nothing. */
static void
test_as_many_addresses_as_there_is_room_for(void **unused)
{
	uint8_t mac[6] = { 0x02, 0, 0, 0, 0xdd, 0 };
	unsigned int count, i;
	int rc = 0;

	(void)unused;
	for (count = 0; count < 255; count++) {
		mac[5] = (uint8_t)count;
		rc = rdmapmd_qp_attach_mac(B->qp, mac, ANY);
		if (rc != 0)
			break;
	}
	assert_int_equal(rc, -ENOSPC);
	assert_true(count >= 32);
	raw_receive(B, 1, 1);
	mac[5] = (uint8_t)(count - 1);
	send_frame(mac, ANY, 1, 60);
	raw_expect(B, 1, 0, mac, ANY, 1, 60);
	for (i = 0; i < count; i++) {
		mac[5] = (uint8_t)i;
		detach(mac, ANY);
	}
	attach(stranger, ANY);
}

/* The ethdev comes and goes; the queue pair does not notice, and both have what is theirs. */
static void
test_an_ethdev_that_stops_and_starts(void **unused)
{
	static const struct e2e_conf conf = { 0 };

	(void)unused;
	attach(broadcast, ANY);
	raw_receive(B, 1, 4);
	assert_int_equal(e2e_port_stop(B->port), 0);
	send_frame(B->mac, ANY, 1, 60);
	raw_expect(B, 1, 0, B->mac, ANY, 1, 60);
	send_frame(broadcast, ANY, 2, 61);
	raw_expect(B, 2, 1, broadcast, ANY, 2, 61);
	assert_int_equal(e2e_port_setup(B->port, &conf), 0);
	assert_true(e2e_wait_link(B->port, true));
	send_frame(B->mac, ANY, 3, 62);
	raw_expect(B, 3, 2, B->mac, ANY, 3, 62);
	send_frame(broadcast, ANY, 4, 63);
	raw_expect(B, 4, 3, broadcast, ANY, 4, 63);
	expect_on_ethdev(63);
	send_frame(B->port_mac, ANY, 5, 64);
	expect_on_ethdev(64);
}

/* Nobody has started the port. */
static void
test_without_an_ethdev(void **unused)
{
	static const struct e2e_conf conf = { 0 };
	static const struct raw_conf plain = { 0 };

	(void)unused;
	assert_int_equal(e2e_port_stop(B->port), 0);
	raw_open(&plain);
	raw_receive(B, 1, 1);
	send_frame(B->mac, ANY, 1, 60);
	raw_expect(B, 1, 0, B->mac, ANY, 1, 60);
	assert_int_equal(e2e_port_setup(B->port, &conf), 0);
	raw_close();
	assert_true(e2e_wait_link(B->port, true));
	expect_on_ethdev(0);
}

/* Closing is enough: the ethdev has its address back. */
static void
test_closing_detaches(void **unused)
{
	(void)unused;
	attach(B->port_mac, ANY);
	attach(group, 9);
	assert_int_equal(rdmapmd_cq_destroy(B->recv_cq), -EBUSY);
	assert_int_equal(rdmapmd_pd_dealloc(B->pd), -EBUSY);
	assert_int_equal(rdmapmd_context_close(B->context), 0);
	send_frame(B->port_mac, ANY, 1, 120);
	expect_on_ethdev(120);
	raw_open_end(B, &(struct raw_conf){ 0 });
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, raw_setup, raw_teardown)

int
main(int argc, char **argv)
{
	static const struct e2e_conf conf = { 0 };
	const char *const *vdevs = (const char *const[]){ "net_rnic0,wire=pair:cable",
							  "net_rnic1,wire=pair:cable", NULL };
	const struct CMUnitTest tests[] = {
		TEST(test_frames_of_every_length),
		TEST(test_several_segments),
		TEST(test_inline_frames),
		TEST(test_many_frames_in_order),
		TEST(test_frames_that_cannot_be),
		TEST(test_frames_to_and_from_an_ethdev),
		TEST(test_no_frames_without_an_address),
		TEST(test_the_ethdev_s_own_address),
		TEST(test_a_promiscuous_ethdev_sees_the_rest),
		TEST(test_group_addresses_are_copied),
		TEST(test_addresses_of_a_vlan),
		TEST(test_addresses_that_cannot_be_attached),
		TEST(test_as_many_addresses_as_there_is_room_for),
		TEST(test_an_ethdev_that_stops_and_starts),
		cmocka_unit_test(test_without_an_ethdev),
		TEST(test_closing_detaches),
	};
	int rc;

	if (argc > 1)
		vdevs = (const char *const *)&argv[1];
	if (e2e_init("raw", vdevs) != 0)
		return 1;
	raw_find_ports();
	if (e2e_port_setup(raw_ends[0].port, &conf) != 0 ||
	    (!raw_loop && e2e_port_setup(raw_ends[1].port, &conf) != 0))
		return 1;
	rc = cmocka_run_group_tests_name("raw", tests, NULL, NULL);
	raw_free();
	e2e_fini();
	return rc;
}
