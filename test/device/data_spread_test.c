/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Traffic through what is more than one hop: indirect TIRs and the tables behind them, entries changed in place, keys
 * of physical addresses and of other keys. And what queries then tell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"
#include "prm/list.h"
#include "softrnic/memory/tpt.h"

#define QUEUES	     4
#define MODIFY_TABLE 0x2
#define MODIFY_HASH  0x4

#define SRC_IP 0x1
#define DST_IP 0x2
#define SPORT  0x4
#define DPORT  0x8

struct fixture {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq[QUEUES];
	struct dp_sq sq;
	struct dp_rq rq[QUEUES];
	uint8_t *out, *in;
	uint32_t table, group;
};

/* The key and hashes that the vendors of RSS publish to check implementations by. */
static const uint8_t toeplitz_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};
static const struct vector {
	uint8_t src[4], dst[4];
	uint16_t sport, dport;
	uint32_t with_ports, without;
} vectors[] = {
	{ { 66, 9, 149, 187 }, { 161, 142, 100, 80 }, 2794, 1766, 0x51ccc178, 0x323e8fc2 },
	{ { 199, 92, 111, 2 }, { 65, 69, 140, 83 }, 14230, 4739, 0xc626b0ea, 0xd718262a },
	{ { 24, 19, 198, 95 }, { 12, 22, 207, 184 }, 12898, 38024, 0x5c2b394a, 0xd2d0a5de },
	{ { 38, 27, 205, 30 }, { 209, 142, 163, 6 }, 48228, 2217, 0xafc7327f, 0x82989176 },
	{ { 153, 39, 163, 191 }, { 202, 188, 127, 2 }, 44251, 1303, 0x10e828a2, 0x5d1809c5 },
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static int
setup(void **state)
{
	struct softrnic_conf conf = { .name = "spread", .wire = "loop" };
	struct dp_cq_conf cq = { .log_size = 6, .uar = 1, .ignore_overrun = true };
	struct fixture *f = calloc(1, sizeof(*f));
	int i, k, status;

	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	assert_int_equal(dp_open(&f->dp, f->poller, &conf), 0);
	assert_int_equal(dp_cq_create(&f->dp, &f->tx_cq, &cq), 0);
	assert_int_equal(dp_sq_create(&f->dp, &f->sq, &f->tx_cq, 6, 2, 0), 0);
	f->out = dp_alloc(&f->dp, 4096, 4096);
	f->in = dp_alloc(&f->dp, 4096, 4096);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_cq_create(&f->dp, &f->rx_cq[i], &cq), 0);
		assert_int_equal(dp_rq_create(&f->dp, &f->rq[i], &f->rx_cq[i], 6, 4), 0);
		assert_int_equal(dp_tir_create(&f->rq[i]), 0);
		for (k = 0; k < 64; k++)
			dp_post(&f->rq[i], f->in, 2048);
		dp_rq_record(&f->rq[i]);
	}
	f->table = dp_table_create(&f->dp, 0, 2, 0);
	f->group = dp_group_create(&f->dp, f->table, 0, 3, NULL, &status);
	assert_int_equal(status, 0);
	assert_int_equal(drv_root_set(&f->dp.drv, f->table), 0);
	*state = f;
	return 0;
}

/* The one queue that the frame sent last came to; *cqe is its completion. */
static int
arrived(struct fixture *f, struct rnic_cqe *cqe)
{
	const struct rnic_cqe *next;
	int i, queue = -1;

	memset(cqe, 0, sizeof(*cqe));
	dp_run(&f->dp);
	for (i = 0; i < QUEUES; i++)
		while ((next = dp_cq_next(&f->rx_cq[i])) != NULL) {
			assert_int_equal(queue, -1);
			*cqe = *next;
			queue = i;
		}
	return queue;
}

static int
send_tcp(struct fixture *f, const struct vector *v, struct rnic_cqe *cqe)
{
	uint8_t *p = f->out;

	memset(p, 0, 64);
	memcpy(p, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0", 14);
	memcpy(p + 14, "\x45\0\0\x32\0\0\0\0\x40\6\0\0", 12);
	memcpy(p + 26, v->src, 4);
	memcpy(p + 30, v->dst, 4);
	p[34] = (uint8_t)(v->sport >> 8);
	p[35] = (uint8_t)v->sport;
	p[36] = (uint8_t)(v->dport >> 8);
	p[37] = (uint8_t)v->dport;
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&f->sq, 2, p, 64);
	dp_sq_ring(&f->sq);
	return arrived(f, cqe);
}

/* ---- Indirect TIRs ---- */

/* The queues' numbers. */
static const uint32_t *
numbers(struct fixture *f, const int *queues, uint32_t count, uint32_t rqns[QUEUES])
{
	for (uint32_t i = 0; i < count; i++)
		rqns[i] = f->rq[queues[i]].rqn;
	return rqns;
}

static uint32_t
create_rqt(struct fixture *f, const int queues[QUEUES])
{
	uint32_t rqns[QUEUES], rqt;

	assert_int_equal(drv_rqt_create(&f->dp.drv, numbers(f, queues, QUEUES, rqns), QUEUES, &rqt),
			 0);
	return rqt;
}

static int
modify_rqt(struct fixture *f, uint32_t rqt, const int *queues, uint32_t count)
{
	uint32_t rqns[QUEUES];

	return drv_rqt_modify(&f->dp.drv, rqt, numbers(f, queues, count, rqns), count);
}

static void
set_hash(struct rnic_tirc *tirc, uint32_t fields)
{
	uint32_t i;
	uint64_t part;

	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, RNIC_RX_HASH_TOEPLITZ);
	for (i = 0; i < 5; i++) {
		memcpy(&part, toeplitz_key + 8 * i, 8);
		memcpy((uint8_t *)tirc + 0x28 + 8 * i, &part, 8);
	}
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS, fields);
}

static uint32_t
create_tir(struct fixture *f, uint32_t rqt, uint32_t fields)
{
	uint32_t tirn;

	assert_int_equal(drv_tir_create(&f->dp.drv,
					&(struct drv_tir){ .td = f->dp.td,
							   .rqtn = rqt,
							   .hash = RNIC_RX_HASH_TOEPLITZ,
							   .fields = fields,
							   .key = toeplitz_key },
					&tirn),
			 0);
	return tirn;
}

static void
entry_to_tir(struct fixture *f, uint32_t tir)
{
	struct rnic_flow_destination to = { 0 };

	to = drv_to_tir(tir);
	assert_int_equal(dp_flow_set(&f->dp, f->table, f->group, 0, NULL, RNIC_FLOW_ACTION_FWD_DEST,
				     0, &to, 1),
			 0);
}

/* Published hashes; the low bits choose the queue, wherever the table's list says that it is. */
static void
test_hashes_choose_the_queue(void **state)
{
	static const int order[QUEUES] = { 2, 0, 3, 1 }, last[1] = { 3 };
	struct fixture *f = *state;
	uint32_t rqt = create_rqt(f, order),
		 tir = create_tir(f, rqt, SRC_IP | DST_IP | SPORT | DPORT);
	struct rnic_modify_tir_in modify = { 0 };
	struct rnic_cqe cqe;
	unsigned int i;

	entry_to_tir(f, tir);
	for (i = 0; i < VECTORS; i++) {
		assert_int_equal(send_tcp(f, &vectors[i], &cqe), order[vectors[i].with_ports % 4]);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), vectors[i].with_ports);
		/* Both addresses of IPv4, both ports of TCP. */
		assert_int_equal(cqe.rx_hash_type, 0x55);
	}
	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_TIRN, tir);
	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_BITMASK, MODIFY_HASH);
	set_hash(rnic_modify_tir_in_tirc(&modify), SRC_IP | DST_IP);
	assert_int_equal(
		dp_command(&f->dp, RNIC_CMD_MODIFY_TIR, 0, &modify, sizeof(modify), NULL, 0), 0);
	for (i = 0; i < VECTORS; i++) {
		assert_int_equal(send_tcp(f, &vectors[i], &cqe), order[vectors[i].without % 4]);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), vectors[i].without);
		assert_int_equal(cqe.rx_hash_type, 0x05);
	}
	/* A table of one: all there, as drivers do before and after their queues run. */
	assert_int_equal(modify_rqt(f, rqt, last, 1), 0);
	for (i = 0; i < VECTORS; i++)
		assert_int_equal(send_tcp(f, &vectors[i], &cqe), 3);
	/* What the table names no more may go; what it names may not. */
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_TIR, f->rq[0].tirn), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQ, f->rq[0].rqn), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_TIR, f->rq[3].tirn), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQ, f->rq[3].rqn),
			 RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQT, rqt), RNIC_STATUS_RES_BUSY);
}

static const struct vector6 {
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	uint32_t with_ports, without;
} vectors6[] = {
	{ "\x3f\xfe\x25\x01\x02\0\x1f\xff\0\0\0\0\0\0\0\x07",
	  "\x3f\xfe\x25\x01\x02\0\0\x03\0\0\0\0\0\0\0\x01", 2794, 1766, 0x40207d3d, 0x2cc18cd5 },
	{ "\x3f\xfe\x05\x01\0\x08\0\0\x02\x60\x97\xff\xfe\x40\xef\xab",
	  "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 14230, 4739, 0xdde51bbf, 0x0f0c461c },
	{ "\x3f\xfe\x19\0\x45\x45\0\x03\x02\0\xf8\xff\xfe\x21\x67\xcf",
	  "\xfe\x80\0\0\0\0\0\0\x02\0\xf8\xff\xfe\x21\x67\xcf", 44251, 38024, 0x02d1feef,
	  0x4b61e985 },
};

static int
send_tcp6(struct fixture *f, const struct vector6 *v, struct rnic_cqe *cqe)
{
	uint8_t *p = f->out;

	memset(p, 0, 74);
	memcpy(p, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x86\xdd\x60\0\0\0\0\x14\6\x40", 22);
	memcpy(p + 22, v->src, 16);
	memcpy(p + 38, v->dst, 16);
	p[54] = (uint8_t)(v->sport >> 8);
	p[55] = (uint8_t)v->sport;
	p[56] = (uint8_t)(v->dport >> 8);
	p[57] = (uint8_t)v->dport;
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&f->sq, 2, p, 74);
	dp_sq_ring(&f->sq);
	return arrived(f, cqe);
}

/* The published ones of IPv6, and what the completion says of the headers. */
static void
test_hashes_of_ipv6(void **state)
{
	static const int order[QUEUES] = { 1, 3, 0, 2 };
	struct fixture *f = *state;
	uint32_t rqt = create_rqt(f, order), tir;
	struct rnic_cqe cqe;
	unsigned int i;

	for (unsigned int ports = 0; ports < 2; ports++) {
		tir = create_tir(f, rqt, SRC_IP | DST_IP | (ports ? SPORT | DPORT : 0));
		if (ports)
			assert_int_equal(drv_fte_delete(&f->dp.drv, f->table, 0), 0);
		entry_to_tir(f, tir);
		for (i = 0; i < sizeof(vectors6) / sizeof(vectors6[0]); i++) {
			const struct vector6 *v = &vectors6[i];
			uint32_t hash = ports ? v->with_ports : v->without;

			assert_int_equal(send_tcp6(f, v, &cqe), order[hash % QUEUES]);
			assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hash);
			/* L4 TCP, L3 IPv6 */
			assert_int_equal(cqe.l4_l3_hdr_type, 1 << 4 | 1 << 2);
			assert_int_equal(cqe.rx_hash_type, ports ? 0x5a : 0x0a);
		}
	}
}

/* What of its fields a frame has not is not in the hash, and the completion says so. */
static void
test_hashes_of_what_there_is(void **state)
{
	static const int order[QUEUES] = { 0, 1, 2, 3 };
	static const struct {
		uint8_t proto;
		uint8_t fragment[2];
		bool ports;
		uint8_t type;
	} rows[] = {
		{ 6, { 0, 0 }, true, 0x55 },	     /* TCP */
		{ 17, { 0, 0 }, true, 0xa5 },	     /* UDP */
		{ 6, { 0x40, 0 }, true, 0x55 },	     /* not to be fragmented */
		{ 6, { 0x20, 0 }, false, 0x05 },     /* a first fragment */
		{ 17, { 0x00, 0x10 }, false, 0x05 }, /* one behind it */
		{ 1, { 0, 0 }, false, 0x05 },	     /* ICMP */
	};
	struct fixture *f = *state;
	uint32_t tir = create_tir(f, create_rqt(f, order), SRC_IP | DST_IP | SPORT | DPORT);
	const struct vector *v = &vectors[2];
	struct rnic_cqe cqe;
	uint32_t i, hash;

	entry_to_tir(f, tir);
	send_tcp(f, v, &cqe);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->out[23] = rows[i].proto;
		memcpy(f->out + 20, rows[i].fragment, 2);
		dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
		dp_wqe_data(&f->sq, 2, f->out, 64);
		dp_sq_ring(&f->sq);
		hash = rows[i].ports ? v->with_ports : v->without;
		assert_int_equal(arrived(f, &cqe), hash % QUEUES);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hash);
		assert_int_equal(cqe.rx_hash_type, rows[i].type);
	}
	/* No IP: no hash, the first queue. */
	f->out[13] = 0x06;
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&f->sq, 2, f->out, 64);
	dp_sq_ring(&f->sq);
	assert_int_equal(arrived(f, &cqe), 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), 0);
	assert_int_equal(cqe.rx_hash_type, 0);
}

/* A TIR goes over to another table while frames come. */
static void
test_tir_changes_its_table(void **state)
{
	static const int one[QUEUES] = { 1, 1, 1, 1 }, other[QUEUES] = { 2, 2, 2, 2 };
	struct fixture *f = *state;
	uint32_t from = create_rqt(f, one), to = create_rqt(f, other);
	uint32_t tir = create_tir(f, from, SRC_IP | DST_IP);
	struct rnic_modify_tir_in in = { 0 };
	struct rnic_cqe cqe;

	entry_to_tir(f, tir);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 1);
	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_TIRN, tir);
	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_BITMASK, MODIFY_TABLE);
	rnic_tirc_set(rnic_modify_tir_in_tirc(&in), RNIC_TIRC_INDIRECT_TABLE, to);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_MODIFY_TIR, 0, &in, sizeof(in), NULL, 0), 0);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 2);
	/* The hash is as it was; the first table is free, the second is in use. */
	assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), vectors[0].without);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQT, to), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQT, from), 0);
}

/* With the symmetric bit, as Linux sets it, both directions of a flow come to one queue. */
static void
test_symmetric_hashes_join_both_directions(void **state)
{
	static const int order[QUEUES] = { 0, 1, 2, 3 };
	struct fixture *f = *state;
	uint32_t tir = create_tir(f, create_rqt(f, order), SRC_IP | DST_IP | SPORT | DPORT);
	struct rnic_modify_tir_in modify = { 0 };
	uint32_t hashes[VECTORS];
	struct rnic_cqe cqe;
	struct vector back;
	unsigned int i;
	int queue;

	entry_to_tir(f, tir);
	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_TIRN, tir);
	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_BITMASK, MODIFY_HASH);
	set_hash(rnic_modify_tir_in_tirc(&modify), SRC_IP | DST_IP | SPORT | DPORT);
	rnic_tirc_set(rnic_modify_tir_in_tirc(&modify), RNIC_TIRC_RX_HASH_SYMMETRIC, 1);
	assert_int_equal(
		dp_command(&f->dp, RNIC_CMD_MODIFY_TIR, 0, &modify, sizeof(modify), NULL, 0), 0);
	for (i = 0; i < VECTORS; i++) {
		queue = send_tcp(f, &vectors[i], &cqe);
		hashes[i] = rnic_be32_to_cpu(cqe.rx_hash_result);
		assert_int_equal(queue, hashes[i] % QUEUES);
		back = vectors[i];
		memcpy(back.src, vectors[i].dst, sizeof(back.src));
		memcpy(back.dst, vectors[i].src, sizeof(back.dst));
		back.sport = vectors[i].dport;
		back.dport = vectors[i].sport;
		assert_int_equal(send_tcp(f, &back, &cqe), queue);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hashes[i]);
		assert_true(i == 0 || hashes[i] != hashes[i - 1]);
	}
	/* Half of a pair has no other direction: hashed as it is. */
	set_hash(rnic_modify_tir_in_tirc(&modify), SRC_IP);
	assert_int_equal(
		dp_command(&f->dp, RNIC_CMD_MODIFY_TIR, 0, &modify, sizeof(modify), NULL, 0), 0);
	send_tcp(f, &vectors[0], &cqe);
	back = vectors[0];
	back.dst[0]++;
	hashes[0] = rnic_be32_to_cpu(cqe.rx_hash_result);
	send_tcp(f, &back, &cqe);
	assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hashes[0]);
}

static int
set_xor8(struct fixture *f, uint32_t tir)
{
	struct rnic_modify_tir_in modify = { 0 };

	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_TIRN, tir);
	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_BITMASK, MODIFY_HASH);
	rnic_tirc_set(rnic_modify_tir_in_tirc(&modify), RNIC_TIRC_RX_HASH_FN,
		      RNIC_RX_HASH_INVERTED_XOR8);
	return dp_command(&f->dp, RNIC_CMD_MODIFY_TIR, 0, &modify, sizeof(modify), NULL, 0);
}

static int
set_table(struct fixture *f, uint32_t tir, uint32_t rqt)
{
	struct rnic_modify_tir_in modify = { 0 };

	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_TIRN, tir);
	rnic_modify_tir_in_set(&modify, RNIC_MODIFY_TIR_IN_BITMASK, MODIFY_TABLE);
	rnic_tirc_set(rnic_modify_tir_in_tirc(&modify), RNIC_TIRC_INDIRECT_TABLE, rqt);
	return dp_command(&f->dp, RNIC_CMD_MODIFY_TIR, 0, &modify, sizeof(modify), NULL, 0);
}

/* XOR8 is not computed: good for a table of one queue, which it may stay, and refused for every other. */
static void
test_xor8_does_not_spread(void **state)
{
	static const int order[QUEUES] = { 2, 0, 3, 1 };
	struct fixture *f = *state;
	uint32_t one = create_rqt(f, order), four = create_rqt(f, order);
	uint32_t tir = create_tir(f, one, SRC_IP | DST_IP);
	const struct drv_tir xor8 = { .td = f->dp.td,
				      .rqtn = four,
				      .hash = RNIC_RX_HASH_INVERTED_XOR8 };
	struct rnic_cqe cqe;

	assert_int_equal(drv_tir_create(&f->dp.drv, &xor8, NULL), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(set_xor8(f, tir), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(modify_rqt(f, one, order, 1), 0);
	assert_int_equal(set_xor8(f, tir), 0);
	assert_int_equal(modify_rqt(f, one, order, 2), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(set_table(f, tir, four), RNIC_STATUS_BAD_PARAM);
	entry_to_tir(f, tir);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 2);
	/* The other table is nobody's of XOR8. */
	assert_int_equal(modify_rqt(f, four, order, 2), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQT, four), 0);
}

static void
test_queries_of_tables_and_tirs(void **state)
{
	static const int order[QUEUES] = { 3, 3, 1, 0 };
	struct fixture *f = *state;
	uint32_t rqt = create_rqt(f, order), tir = create_tir(f, rqt, SRC_IP | DST_IP), i;
	struct rnic_object_in in = { 0 };
	struct {
		struct rnic_query_rqt_out out;
		struct rnic_rqn_entry list[QUEUES];
	} table;
	struct rnic_query_tir_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, rqt);
	assert_int_equal(
		dp_command(&f->dp, RNIC_CMD_QUERY_RQT, 0, &in, sizeof(in), &table, sizeof(table)),
		0);
	assert_int_equal(
		rnic_rqtc_get(rnic_query_rqt_out_rqtc(&table.out), RNIC_RQTC_RQT_ACTUAL_SIZE),
		QUEUES);
	for (i = 0; i < QUEUES; i++)
		assert_int_equal(rnic_rqn_entry_get(&table.list[i], RNIC_RQN_ENTRY_RQN),
				 f->rq[order[i]].rqn);
	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, tir);
	assert_int_equal(
		dp_command(&f->dp, RNIC_CMD_QUERY_TIR, 0, &in, sizeof(in), &out, sizeof(out)), 0);
	assert_int_equal(rnic_tirc_get(rnic_query_tir_out_tirc(&out), RNIC_TIRC_INDIRECT_TABLE),
			 rqt);
	assert_int_equal(rnic_tirc_get(rnic_query_tir_out_tirc(&out),
				       RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS),
			 SRC_IP | DST_IP);
	assert_memory_equal((uint8_t *)rnic_query_tir_out_tirc(&out) + 0x28, toeplitz_key,
			    sizeof(toeplitz_key));
}

/* ---- Entries changed in place ---- */

static int
modify_entry(struct fixture *f, uint32_t mask, uint32_t action, uint32_t tag, uint32_t tir)
{
	struct {
		struct rnic_set_fte_in in;
		struct rnic_flow_destination to;
	} in = { 0 };
	struct rnic_flow_context *context = rnic_set_fte_in_flow_context(&in.in);

	rnic_set_fte_in_set(&in.in, RNIC_SET_FTE_IN_TABLE_ID, f->table);
	rnic_set_fte_in_set(&in.in, RNIC_SET_FTE_IN_FLOW_INDEX, 0);
	rnic_set_fte_in_set(&in.in, RNIC_SET_FTE_IN_MODIFY_ENABLE_MASK, mask);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_GROUP_ID, f->group);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_ACTION, action);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_FLOW_TAG, tag);
	rnic_flow_context_set(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE, tir != 0);
	rnic_flow_destination_set(&in.to, RNIC_FLOW_DESTINATION_TYPE, RNIC_FLOW_DESTINATION_TIR);
	rnic_flow_destination_set(&in.to, RNIC_FLOW_DESTINATION_ID, tir);
	return dp_command(&f->dp, RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_SET_FTE_MODIFY, &in,
			  sizeof(in), NULL, 0);
}

static void
assert_entry(struct fixture *f, uint32_t action, uint32_t tag, uint32_t tir)
{
	struct rnic_fte_in in = { 0 };
	struct {
		struct rnic_query_fte_out out;
		struct rnic_flow_destination to[8];
	} out;
	struct rnic_flow_context *context = rnic_query_fte_out_flow_context(&out.out);

	rnic_fte_in_set(&in, RNIC_FTE_IN_TABLE_ID, f->table);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_QUERY_FLOW_TABLE_ENTRY, 0, &in, sizeof(in),
				    &out, sizeof(out)),
			 0);
	assert_int_equal(rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_ACTION), action);
	assert_int_equal(rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_FLOW_TAG), tag);
	assert_int_equal(rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE),
			 tir != 0);
	assert_int_equal(rnic_flow_destination_get(&out.to[0], RNIC_FLOW_DESTINATION_ID), tir);
}

static void
test_entries_change_in_place(void **state)
{
	const uint32_t forward = RNIC_FLOW_ACTION_FWD_DEST, drop = RNIC_FLOW_ACTION_DROP;
	const uint32_t all = RNIC_SET_FTE_MODIFY_ACTION | RNIC_SET_FTE_MODIFY_FLOW_TAG |
			     RNIC_SET_FTE_MODIFY_DESTINATION_LIST;
	struct fixture *f = *state;
	struct rnic_cqe cqe;

	assert_int_equal(modify_entry(f, all, forward, 1, f->rq[0].tirn), RNIC_STATUS_BAD_RES);
	entry_to_tir(f, f->rq[0].tirn);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 0);
	/* Only what the mask names. */
	assert_int_equal(modify_entry(f, RNIC_SET_FTE_MODIFY_FLOW_TAG, drop, 0x77, f->rq[1].tirn),
			 0);
	assert_entry(f, forward, 0x77, f->rq[0].tirn);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.sop_drop_qpn) & 0xffffff, 0x77);
	assert_int_equal(modify_entry(f, RNIC_SET_FTE_MODIFY_DESTINATION_LIST, 0, 0, f->rq[1].tirn),
			 0);
	assert_entry(f, forward, 0x77, f->rq[1].tirn);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 1);
	/* The old destination is free, the new one is in use. */
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_TIR, f->rq[1].tirn),
			 RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_TIR, f->rq[0].tirn), 0);
	/* Refused: all stays as it is. */
	assert_int_equal(modify_entry(f, all, forward, 5, f->rq[0].tirn), RNIC_STATUS_BAD_RES);
	assert_int_equal(modify_entry(f, 0x80, forward, 5, f->rq[2].tirn), RNIC_STATUS_BAD_PARAM);
	assert_entry(f, forward, 0x77, f->rq[1].tirn);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), 1);
	assert_int_equal(modify_entry(f, all, drop, 0, 0), 0);
	assert_entry(f, drop, 0, 0);
	assert_int_equal(send_tcp(f, &vectors[0], &cqe), -1);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_TIR, f->rq[1].tirn), 0);
}

/* ---- Keys other than lists of pages ---- */

static uint32_t
create_key(struct fixture *f, struct drv_mkey mkey)
{
	uint32_t key;

	mkey.access = DRV_LR | DRV_LW;
	mkey.pd = f->dp.pd;
	mkey.variant = 0xa5;
	assert_int_equal(drv_mkey_create(&f->dp.drv, &mkey, &key), 0);
	return key;
}

static struct rnic_klm
key_entry(uint32_t bytes, uint32_t key, uint64_t address)
{
	return (struct rnic_klm){ rnic_cpu_to_be32(bytes), rnic_cpu_to_be32(key),
				  rnic_cpu_to_be64(address) };
}

static int
create_long_key(struct fixture *f, enum rnic_mkey_access_mode mode, uint32_t octwords,
		uint64_t bytes)
{
	struct rnic_klm *klms = calloc(octwords, sizeof(*klms));
	uint32_t key;
	int status;

	assert_non_null(klms);
	status = drv_mkey_create(&f->dp.drv,
				 &(struct drv_mkey){ .mode = mode,
						     .log_page_size = 12,
						     .pd = f->dp.pd,
						     .length = bytes,
						     .klms = klms,
						     .count = octwords },
				 &key);
	free(klms);
	return status;
}

/* As long as log_max_klm_list_size says, pages for all bytes, and no more than the device has memory for. */
static void
test_limits_of_keys(void **state)
{
	struct fixture *f = *state;
	uint64_t *bytes = &f->dp.dev->translation_bytes, before = *bytes, held;

	assert_int_equal(create_long_key(f, RNIC_MKEY_KLM, SOFTRNIC_MAX_KLMS, 4096), 0);
	held = *bytes;
	/* With what finds a place in it, which is to fit into a cache. */
	assert_in_range(held - before, SOFTRNIC_MAX_KLMS * sizeof(struct rnic_klm),
			SOFTRNIC_MAX_KLMS * sizeof(struct rnic_klm) / 4 * 5);
	assert_int_equal(create_long_key(f, RNIC_MKEY_KLM, SOFTRNIC_MAX_KLMS + 1, 4096),
			 RNIC_STATUS_LIM);
	/* What failed holds nothing. */
	assert_int_equal(*bytes, held);
	assert_int_equal(create_long_key(f, RNIC_MKEY_KSM, 2, 8192), 0);
	assert_true(*bytes > held);
	held = *bytes;
	assert_int_equal(create_long_key(f, RNIC_MKEY_KSM, 2, 8193), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(*bytes, held);
	*bytes = UINT64_C(1) << 40;
	assert_int_equal(create_long_key(f, RNIC_MKEY_KSM, 2, 8192), RNIC_STATUS_LIM);
	*bytes = held;
	assert_int_equal(create_long_key(f, RNIC_MKEY_KSM, 2, 8192), 0);
}

/* Receive by one key what was sent by another. */
static void
exchange(struct fixture *f, uint32_t send_key, uint64_t from, uint32_t receive_key, uint64_t to,
	 uint32_t bytes)
{
	struct rnic_wqe_data *data;
	struct rnic_cqe cqe;

	/* The queue's WQEs are all posted; the next one used is at the slot of its consumer. */
	data = (struct rnic_wqe_data *)f->rq[0].ring;
	data->byte_count = rnic_cpu_to_be32(bytes);
	data->lkey = rnic_cpu_to_be32(receive_key);
	data->address = rnic_cpu_to_be64(to);
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	data = dp_wqe_at(&f->sq, 2);
	data->byte_count = rnic_cpu_to_be32(bytes);
	data->lkey = rnic_cpu_to_be32(send_key);
	data->address = rnic_cpu_to_be64(from);
	dp_sq_ring(&f->sq);
	assert_int_equal(arrived(f, &cqe), 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), bytes);
}

static void
test_physical_addresses_to_a_list_of_keys(void **state)
{
	struct fixture *f = *state;
	struct rnic_klm list[2];
	uint32_t pa, klm, i;
	uint8_t expected[1000];

	for (i = 0; i < sizeof(expected); i++)
		f->out[i] = expected[i] = (uint8_t)(i * 7 + (i >> 8)) & 0xfe;
	entry_to_tir(f, f->rq[0].tirn);
	pa = create_key(f, (struct drv_mkey){ .mode = RNIC_MKEY_PA, .length64 = true });
	/* 300 bytes from the middle of the page, then 700 from its start, by the key of all memory. */
	list[0] = key_entry(300, f->dp.lkey, (uintptr_t)f->in + 2000);
	list[1] = key_entry(700, f->dp.lkey, (uintptr_t)f->in);
	klm = create_key(f, (struct drv_mkey){ .mode = RNIC_MKEY_KLM,
					       .start = 0x1000,
					       .length = 1000,
					       .klms = list,
					       .count = 2 });

	exchange(f, pa, dp_iova(&f->dp, f->out), klm, 0x1000, 1000);
	assert_memory_equal(f->in + 2000, expected, 300);
	assert_memory_equal(f->in, expected + 300, 700);
}

static void
test_a_list_of_keys_to_physical_addresses(void **state)
{
	struct fixture *f = *state;
	struct rnic_klm list[2];
	uint32_t pa, klm, i;
	uint8_t expected[1000];

	for (i = 0; i < 4096; i++)
		f->out[i] = (uint8_t)(i * 13 + (i >> 8)) & 0xfe;
	memcpy(expected, f->out + 2000, 300);
	memcpy(expected + 300, f->out, 700);
	entry_to_tir(f, f->rq[0].tirn);
	pa = create_key(f, (struct drv_mkey){ .mode = RNIC_MKEY_PA, .length64 = true });
	list[0] = key_entry(300, f->dp.lkey, (uintptr_t)f->out + 2000);
	list[1] = key_entry(700, pa, dp_iova(&f->dp, f->out));
	klm = create_key(f,
			 (struct drv_mkey){
				 .mode = RNIC_MKEY_KLM, .length = 1000, .klms = list, .count = 2 });

	exchange(f, klm, 0, pa, dp_iova(&f->dp, f->in), 1000);
	assert_memory_equal(f->in, expected, 1000);
	/* A byte beyond the list: the queue's error, and nothing is sent. */
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&f->sq, 2, NULL, 1001);
	((struct rnic_wqe_data *)dp_wqe_at(&f->sq, 2))->lkey = rnic_cpu_to_be32(klm);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
	assert_int_equal(dp_stats(&f->dp).rx_packets, 1);
}

/* cqe_version 1 promises that completions name their queue by the index that its owner chose. */
static void
test_completions_carry_the_user_index(void **state)
{
	struct fixture *f = *state;
	const struct rnic_cqe *cqe;

	entry_to_tir(f, f->rq[0].tirn);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	cqe = dp_cq_next(&f->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), DP_SQ_USER_INDEX);
	dp_wqe(&f->sq, 0x3f, 3, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	cqe = dp_cq_next(&f->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_REQUESTER_ERROR);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), DP_SQ_USER_INDEX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hashes_choose_the_queue, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_hashes_of_ipv6, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_hashes_of_what_there_is, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_tir_changes_its_table, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_symmetric_hashes_join_both_directions, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(test_xor8_does_not_spread, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_queries_of_tables_and_tirs, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(test_entries_change_in_place, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_physical_addresses_to_a_list_of_keys, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(test_a_list_of_keys_to_physical_addresses, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(test_limits_of_keys, setup, dp_teardown),
		cmocka_unit_test_setup_teardown(test_completions_carry_the_user_index, setup,
						dp_teardown),
	};

	return cmocka_run_group_tests_name("data_spread", tests, NULL, NULL);
}
