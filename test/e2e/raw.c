/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "port.h"
#include "raw.h"

#define PORT		     1
#define ETHERTYPE	     0x88b5 /* local experimental */
#define OR(value, otherwise) ((value) != 0 ? (value) : (otherwise))

struct raw_end raw_ends[2];
bool raw_loop;

void
raw_find_ports(void)
{
	unsigned int i;

	raw_loop = rte_eth_dev_count_avail() == 1;
	for (i = 0; i < RTE_DIM(raw_ends); i++) {
		struct raw_end *end = &raw_ends[i];
		const struct rte_ether_addr own = { { 0x02, 0, 0, 0, 0xaa, (uint8_t)(i + 1) } };

		end->port = raw_loop ? 0 : (uint16_t)i;
		memcpy(end->mac, own.addr_bytes, sizeof(end->mac));
		assert_int_equal(
			rte_eth_macaddr_get(end->port, (struct rte_ether_addr *)end->port_mac), 0);
	}
}

/* ---- Open, close ---- */

void
raw_to(struct raw_end *end, enum rdmapmd_qp_state state)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = state, .port_num = PORT };

	assert_int_equal(
		rdmapmd_qp_modify(end->qp, &attr,
				  RDMAPMD_QP_STATE |
					  (state == RDMAPMD_QPS_INIT ? RDMAPMD_QP_PORT : 0)),
		0);
}

static void
make_queue_pair(struct raw_end *end, const struct raw_conf *conf)
{
	const struct rdmapmd_cq_init_attr cq_attr = { .cqe = 256 };
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RAW_PACKET,
		.cap = { .max_send_wr = OR(conf->cap.max_send_wr, RAW_DEPTH),
			 .max_recv_wr = OR(conf->cap.max_recv_wr, RAW_DEPTH),
			 .max_send_sge = OR(conf->cap.max_send_sge, 5),
			 .max_recv_sge = OR(conf->cap.max_recv_sge, 3),
			 .max_inline_data = OR(conf->cap.max_inline_data, 100) },
	};

	if (conf->no_send)
		attr.cap.max_send_wr = 0;
	if (conf->no_receive)
		attr.cap.max_recv_wr = 0;
	assert_int_equal(rdmapmd_cq_create(end->context, &cq_attr, &end->send_cq), 0);
	end->recv_cq = end->send_cq;
	if (!conf->one_cq)
		assert_int_equal(rdmapmd_cq_create(end->context, &cq_attr, &end->recv_cq), 0);
	attr.send_cq = end->send_cq;
	attr.recv_cq = end->recv_cq;
	assert_int_equal(rdmapmd_qp_create(end->pd, &attr, &end->qp), 0);
}

void
raw_open_end(struct raw_end *end, const struct raw_conf *conf)
{
	static const enum rdmapmd_qp_state states[] = { RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR,
							RDMAPMD_QPS_RTS };
	const enum rdmapmd_qp_state up_to = OR(conf->up_to, RDMAPMD_QPS_RTS);
	unsigned int i;

	if (end->memory == NULL)
		end->memory = rte_zmalloc(NULL, RAW_BYTES, 4096);
	assert_non_null(end->memory);
	assert_int_equal(rdmapmd_device_open_by_port(end->port, &end->context), 0);
	assert_int_equal(rdmapmd_pd_alloc(end->context, &end->pd), 0);
	assert_int_equal(rdmapmd_mr_reg(end->pd, end->memory, RAW_BYTES, RDMAPMD_ACCESS_LOCAL_WRITE,
					&end->mr),
			 0);
	make_queue_pair(end, conf);
	for (i = 0; i < RTE_DIM(states) && states[i] <= up_to; i++)
		raw_to(end, states[i]);
	if (!conf->not_attached && !conf->no_receive)
		assert_int_equal(rdmapmd_qp_attach_mac(end->qp, end->mac, RDMAPMD_VLAN_ANY), 0);
}

void
raw_close_end(struct raw_end *end)
{
	assert_int_equal(rdmapmd_qp_destroy(end->qp), 0);
	assert_int_equal(rdmapmd_cq_destroy(end->send_cq), 0);
	if (end->recv_cq != end->send_cq)
		assert_int_equal(rdmapmd_cq_destroy(end->recv_cq), 0);
	assert_int_equal(rdmapmd_mr_dereg(end->mr), 0);
	assert_int_equal(rdmapmd_pd_dealloc(end->pd), 0);
	assert_int_equal(rdmapmd_context_close(end->context), 0);
}

void
raw_open(const struct raw_conf *conf)
{
	raw_open_end(&raw_ends[0], conf);
	raw_open_end(&raw_ends[1], conf);
	rdma_wait_link(raw_ends[0].context);
	rdma_wait_link(raw_ends[1].context);
}

void
raw_close(void)
{
	raw_close_end(&raw_ends[0]);
	raw_close_end(&raw_ends[1]);
}

int
raw_setup(void **unused)
{
	static const struct raw_conf plain = { 0 };

	(void)unused;
	raw_open(&plain);
	return 0;
}

int
raw_teardown(void **unused)
{
	(void)unused;
	raw_close();
	return 0;
}

void
raw_free(void)
{
	rte_free(raw_ends[0].memory);
	rte_free(raw_ends[1].memory);
}

/* ---- Frames ---- */

static void
fill(uint8_t *bytes, const uint8_t to[6], uint16_t vlan, uint32_t seed, uint32_t length)
{
	const uint8_t header[18] = { to[0],
				     to[1],
				     to[2],
				     to[3],
				     to[4],
				     to[5],
				     0x02,
				     0,
				     0,
				     0,
				     0xbb,
				     1,
				     0x81,
				     0x00,
				     (uint8_t)(vlan >> 8),
				     (uint8_t)vlan,
				     ETHERTYPE >> 8,
				     ETHERTYPE & 0xff };
	const uint32_t header_bytes = vlan == RDMAPMD_VLAN_ANY ? RAW_HEADER : sizeof(header);
	uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + length;
	uint32_t i;

	for (i = 0; i < length; i++)
		bytes[i] = i < header_bytes ? header[i] : (uint8_t)e2e_random(&state);
	if (vlan == RDMAPMD_VLAN_ANY)
		memcpy(bytes + 12, header + 16, 2);
}

void
raw_frame(struct raw_end *end, uint32_t at, const uint8_t to[6], uint16_t vlan, uint32_t seed,
	  uint32_t length)
{
	fill(end->memory + RAW_TX + at, to, vlan, seed, length);
}

struct rdmapmd_sge
raw_sge(const struct raw_end *end, uint32_t offset, uint32_t length)
{
	return (struct rdmapmd_sge){ (uintptr_t)end->memory + offset, length, end->mr->lkey };
}

void
raw_send(struct raw_end *end, uint64_t wr_id, uint32_t length, uint8_t flags)
{
	const struct rdmapmd_sge sge = raw_sge(end, RAW_TX, length);
	const struct rdmapmd_send_wr wr = { .wr_id = wr_id,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .opcode = RDMAPMD_WR_SEND,
					    .send_flags = flags };

	rdma_post(end->qp, &wr);
}

void
raw_receive(struct raw_end *end, uint64_t first, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct rdmapmd_sge sge = raw_sge(end, RAW_RX + i * RAW_PIECE, RAW_PIECE);

		memset(end->memory + RAW_RX + i * RAW_PIECE, RDMA_UNTOUCHED, RAW_PIECE);
		rdma_post_recv(end->qp, first + i, &sge, 1);
	}
}

void
raw_expect(struct raw_end *end, uint64_t wr_id, unsigned int piece, const uint8_t to[6],
	   uint16_t vlan, uint32_t seed, uint32_t length)
{
	const struct rdmapmd_wc wc = rdma_expect(end->recv_cq, wr_id, RDMAPMD_WC_RECV);
	const uint8_t *got = end->memory + RAW_RX + piece * RAW_PIECE;
	static uint8_t bytes[16384];

	assert_int_equal(wc.byte_len, length);
	assert_int_equal(wc.qp_num, end->qp->qp_num);
	fill(bytes, to, vlan, seed, length);
	assert_memory_equal(got, bytes, length);
	if (length < RAW_PIECE)
		assert_int_equal(got[length], RDMA_UNTOUCHED);
}
