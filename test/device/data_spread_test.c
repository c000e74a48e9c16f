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

#include "data_world.h"
#include "prm/list.h"
#include "softrnic/base/device.h"
#include "softrnic/memory/tpt.h"

#define QUEUES DW_QUEUES

#define SRC_IP 0x1
#define DST_IP 0x2
#define SPORT  0x4
#define DPORT  0x8

/* The key and hashes that the vendors of RSS publish to check implementations by. */
static const uint8_t toeplitz_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};
static const struct vector {
	uint32_t bytes; /* of an address */
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	uint32_t with_ports, without;
} vectors[] = {
	{ 4, { 66, 9, 149, 187 }, { 161, 142, 100, 80 }, 2794, 1766, 0x51ccc178, 0x323e8fc2 },
	{ 4, { 199, 92, 111, 2 }, { 65, 69, 140, 83 }, 14230, 4739, 0xc626b0ea, 0xd718262a },
	{ 4, { 24, 19, 198, 95 }, { 12, 22, 207, 184 }, 12898, 38024, 0x5c2b394a, 0xd2d0a5de },
	{ 4, { 38, 27, 205, 30 }, { 209, 142, 163, 6 }, 48228, 2217, 0xafc7327f, 0x82989176 },
	{ 4, { 153, 39, 163, 191 }, { 202, 188, 127, 2 }, 44251, 1303, 0x10e828a2, 0x5d1809c5 },
}, vectors6[] = {
	{ 16, "\x3f\xfe\x25\x01\x02\0\x1f\xff\0\0\0\0\0\0\0\x07",
	  "\x3f\xfe\x25\x01\x02\0\0\x03\0\0\0\0\0\0\0\x01", 2794, 1766, 0x40207d3d, 0x2cc18cd5 },
	{ 16, "\x3f\xfe\x05\x01\0\x08\0\0\x02\x60\x97\xff\xfe\x40\xef\xab",
	  "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 14230, 4739, 0xdde51bbf, 0x0f0c461c },
	{ 16, "\x3f\xfe\x19\0\x45\x45\0\x03\x02\0\xf8\xff\xfe\x21\x67\xcf",
	  "\xfe\x80\0\0\0\0\0\0\x02\0\xf8\xff\xfe\x21\x67\xcf", 44251, 38024, 0x02d1feef,
	  0x4b61e985 },
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

/* The one queue that a frame came to, -1: none; *cqe is its completion. */
static int
arrived(struct dw *w, struct rnic_cqe *cqe)
{
	const unsigned int queues = dw_arrived(w, cqe);

	assert_int_equal(queues & (queues - 1), 0);
	return __builtin_ffs((int)queues) - 1;
}

static int
send_tcp(struct dw *w, const struct vector *v, struct rnic_cqe *cqe)
{
	const uint32_t tcp = v->bytes == 16 ? 54 : 34;
	uint8_t *p = w->out;

	memset(p, 0, 74);
	memcpy(p, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 12);
	if (v->bytes == 16)
		memcpy(p + 12, "\x86\xdd\x60\0\0\0\0\x14\6\x40", 10);
	else
		memcpy(p + 12, "\x08\0\x45\0\0\x32\0\0\0\0\x40\6", 12);
	memcpy(p + tcp - 2 * v->bytes, v->src, v->bytes);
	memcpy(p + tcp - v->bytes, v->dst, v->bytes);
	p[tcp] = (uint8_t)(v->sport >> 8);
	p[tcp + 1] = (uint8_t)v->sport;
	p[tcp + 2] = (uint8_t)(v->dport >> 8);
	p[tcp + 3] = (uint8_t)v->dport;
	dw_send(w, tcp + 20 < 64 ? 64 : tcp + 20);
	return arrived(w, cqe);
}

/* ---- Indirect TIRs ---- */

/* The queues' numbers. */
static const uint32_t *
numbers(struct dw *w, const int *queues, uint32_t count, uint32_t rqns[QUEUES])
{
	for (uint32_t i = 0; i < count; i++)
		rqns[i] = w->rq[queues[i]].rqn;
	return rqns;
}

static uint32_t
create_rqt(struct dw *w, const int queues[QUEUES])
{
	uint32_t rqns[QUEUES], rqt;

	assert_int_equal(drv_rqt_create(&w->dp.drv, numbers(w, queues, QUEUES, rqns), QUEUES, &rqt),
			 0);
	return rqt;
}

static int
modify_rqt(struct dw *w, uint32_t rqt, const int *queues, uint32_t count)
{
	uint32_t rqns[QUEUES];

	return drv_rqt_modify(&w->dp.drv, rqt, numbers(w, queues, count, rqns), count);
}

static uint32_t
create_tir(struct dw *w, uint32_t rqt, uint32_t fields)
{
	uint32_t tirn;

	assert_int_equal(drv_tir_create(&w->dp.drv,
					&(struct drv_tir){ .td = w->dp.td,
							   .rqtn = rqt,
							   .hash = RNIC_RX_HASH_TOEPLITZ,
							   .fields = fields,
							   .key = toeplitz_key },
					&tirn),
			 0);
	return tirn;
}

static int
modify_hash(struct dw *w, uint32_t tirn, uint32_t fields, bool symmetric)
{
	return drv_tir_modify(&w->dp.drv, tirn, DRV_TIR_HASH,
			      &(struct drv_tir){ .hash = RNIC_RX_HASH_TOEPLITZ,
						 .fields = fields,
						 .symmetric = symmetric,
						 .key = toeplitz_key });
}

static int
modify_table(struct dw *w, uint32_t tirn, uint32_t rqtn)
{
	return drv_tir_modify(&w->dp.drv, tirn, DRV_TIR_TABLE, &(struct drv_tir){ .rqtn = rqtn });
}

static void
all_to(struct dw *w, uint32_t tirn)
{
	assert_int_equal(drv_root_to_tirs(&w->dp.drv, &tirn, 1, NULL), 0);
}

/* Published hashes; the low bits choose the queue, wherever the table's list says that it is. */
static void
test_hashes_choose_the_queue(void **state)
{
	static const int order[QUEUES] = { 2, 0, 3, 1 }, last[1] = { 3 };
	struct dw *w = *state;
	uint32_t rqt = create_rqt(w, order),
		 tir = create_tir(w, rqt, SRC_IP | DST_IP | SPORT | DPORT);
	struct rnic_cqe cqe;
	unsigned int i;

	all_to(w, tir);
	for (i = 0; i < VECTORS; i++) {
		assert_int_equal(send_tcp(w, &vectors[i], &cqe), order[vectors[i].with_ports % 4]);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), vectors[i].with_ports);
		/* Both addresses of IPv4, both ports of TCP. */
		assert_int_equal(cqe.rx_hash_type, 0x55);
	}
	assert_int_equal(modify_hash(w, tir, SRC_IP | DST_IP, false), 0);
	for (i = 0; i < VECTORS; i++) {
		assert_int_equal(send_tcp(w, &vectors[i], &cqe), order[vectors[i].without % 4]);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), vectors[i].without);
		assert_int_equal(cqe.rx_hash_type, 0x05);
	}
	/* A table of one: all there, as drivers do before and after their queues run. */
	assert_int_equal(modify_rqt(w, rqt, last, 1), 0);
	for (i = 0; i < VECTORS; i++)
		assert_int_equal(send_tcp(w, &vectors[i], &cqe), 3);
	/* What the table names no more may go; what it names may not. */
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_TIR, w->rq[0].tirn), 0);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_RQ, w->rq[0].rqn), 0);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_TIR, w->rq[3].tirn), 0);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_RQ, w->rq[3].rqn),
			 RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_RQT, rqt), RNIC_STATUS_RES_BUSY);
}

/* The published ones of IPv6, and what the completion says of the headers. */
static void
test_hashes_of_ipv6(void **state)
{
	static const int order[QUEUES] = { 1, 3, 0, 2 };
	struct dw *w = *state;
	uint32_t rqt = create_rqt(w, order), tir;
	struct rnic_cqe cqe;
	unsigned int i;

	for (unsigned int ports = 0; ports < 2; ports++) {
		tir = create_tir(w, rqt, SRC_IP | DST_IP | (ports ? SPORT | DPORT : 0));
		all_to(w, tir);
		for (i = 0; i < sizeof(vectors6) / sizeof(vectors6[0]); i++) {
			const struct vector *v = &vectors6[i];
			uint32_t hash = ports ? v->with_ports : v->without;

			assert_int_equal(send_tcp(w, v, &cqe), order[hash % QUEUES]);
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
	struct dw *w = *state;
	uint32_t tir = create_tir(w, create_rqt(w, order), SRC_IP | DST_IP | SPORT | DPORT);
	const struct vector *v = &vectors[2];
	struct rnic_cqe cqe;
	uint32_t i, hash;

	all_to(w, tir);
	send_tcp(w, v, &cqe);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		w->out[23] = rows[i].proto;
		memcpy(w->out + 20, rows[i].fragment, 2);
		dw_send(w, 64);
		hash = rows[i].ports ? v->with_ports : v->without;
		assert_int_equal(arrived(w, &cqe), hash % QUEUES);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hash);
		assert_int_equal(cqe.rx_hash_type, rows[i].type);
	}
	/* No IP: no hash, the first queue. */
	w->out[13] = 0x06;
	dw_send(w, 64);
	assert_int_equal(arrived(w, &cqe), 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), 0);
	assert_int_equal(cqe.rx_hash_type, 0);
}

/* A TIR goes over to another table while frames come. */
static void
test_tir_changes_its_table(void **state)
{
	static const int one[QUEUES] = { 1, 1, 1, 1 }, other[QUEUES] = { 2, 2, 2, 2 };
	struct dw *w = *state;
	uint32_t from = create_rqt(w, one), to = create_rqt(w, other);
	uint32_t tir = create_tir(w, from, SRC_IP | DST_IP);
	struct rnic_cqe cqe;

	all_to(w, tir);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 1);
	assert_int_equal(modify_table(w, tir, to), 0);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 2);
	/* The hash is as it was; the first table is free, the second is in use. */
	assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), vectors[0].without);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_RQT, to), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_RQT, from), 0);
}

/* With the symmetric bit, as Linux sets it, both directions of a flow come to one queue. */
static void
test_symmetric_hashes_join_both_directions(void **state)
{
	static const int order[QUEUES] = { 0, 1, 2, 3 };
	struct dw *w = *state;
	uint32_t tir = create_tir(w, create_rqt(w, order), SRC_IP | DST_IP | SPORT | DPORT);
	uint32_t hashes[VECTORS];
	struct rnic_cqe cqe;
	struct vector back;
	unsigned int i;
	int queue;

	all_to(w, tir);
	assert_int_equal(modify_hash(w, tir, SRC_IP | DST_IP | SPORT | DPORT, true), 0);
	for (i = 0; i < VECTORS; i++) {
		queue = send_tcp(w, &vectors[i], &cqe);
		hashes[i] = rnic_be32_to_cpu(cqe.rx_hash_result);
		assert_int_equal(queue, hashes[i] % QUEUES);
		back = vectors[i];
		memcpy(back.src, vectors[i].dst, sizeof(back.src));
		memcpy(back.dst, vectors[i].src, sizeof(back.dst));
		back.sport = vectors[i].dport;
		back.dport = vectors[i].sport;
		assert_int_equal(send_tcp(w, &back, &cqe), queue);
		assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hashes[i]);
		assert_true(i == 0 || hashes[i] != hashes[i - 1]);
	}
	/* Half of a pair has no other direction: hashed as it is. */
	assert_int_equal(modify_hash(w, tir, SRC_IP, true), 0);
	send_tcp(w, &vectors[0], &cqe);
	back = vectors[0];
	back.dst[0]++;
	hashes[0] = rnic_be32_to_cpu(cqe.rx_hash_result);
	send_tcp(w, &back, &cqe);
	assert_int_equal(rnic_be32_to_cpu(cqe.rx_hash_result), hashes[0]);
}

/* XOR8 is not computed: good for a table of one queue, which it may stay, and refused for every other. */
static void
test_xor8_does_not_spread(void **state)
{
	static const int order[QUEUES] = { 2, 0, 3, 1 };
	struct dw *w = *state;
	struct drv *drv = &w->dp.drv;
	uint32_t one = create_rqt(w, order), four = create_rqt(w, order);
	uint32_t tir = create_tir(w, one, SRC_IP | DST_IP);
	const struct drv_tir xor8 = { .td = w->dp.td,
				      .rqtn = four,
				      .hash = RNIC_RX_HASH_INVERTED_XOR8 };
	struct rnic_cqe cqe;

	assert_int_equal(drv_tir_create(drv, &xor8, NULL), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(drv_tir_modify(drv, tir, DRV_TIR_HASH, &xor8), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(modify_rqt(w, one, order, 1), 0);
	assert_int_equal(drv_tir_modify(drv, tir, DRV_TIR_HASH, &xor8), 0);
	assert_int_equal(modify_rqt(w, one, order, 2), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(modify_table(w, tir, four), RNIC_STATUS_BAD_PARAM);
	all_to(w, tir);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 2);
	/* The other table is nobody's of XOR8. */
	assert_int_equal(modify_rqt(w, four, order, 2), 0);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_RQT, four), 0);
}

static void
test_queries_of_tables_and_tirs(void **state)
{
	static const int order[QUEUES] = { 3, 3, 1, 0 };
	struct dw *w = *state;
	uint32_t rqt = create_rqt(w, order), tir = create_tir(w, rqt, SRC_IP | DST_IP);
	struct {
		struct rnic_query_rqt_out out;
		struct rnic_rqn_entry list[QUEUES];
	} table;
	struct rnic_query_tir_out out;
	struct rnic_tirc *tirc = rnic_query_tir_out_tirc(&out);

	assert_int_equal(drv_query(&w->dp.drv, RNIC_CMD_QUERY_RQT, rqt, &table, sizeof(table)), 0);
	assert_int_equal(
		rnic_rqtc_get(rnic_query_rqt_out_rqtc(&table.out), RNIC_RQTC_RQT_ACTUAL_SIZE),
		QUEUES);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(rnic_rqn_entry_get(&table.list[i], RNIC_RQN_ENTRY_RQN),
				 w->rq[order[i]].rqn);
	assert_int_equal(drv_query(&w->dp.drv, RNIC_CMD_QUERY_TIR, tir, &out, sizeof(out)), 0);
	assert_int_equal(rnic_tirc_get(tirc, RNIC_TIRC_INDIRECT_TABLE), rqt);
	assert_int_equal(rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS),
			 SRC_IP | DST_IP);
	assert_memory_equal((uint8_t *)tirc + 0x28, toeplitz_key, sizeof(toeplitz_key));
}

/* ---- Entries changed in place ---- */

/* `fte` knows its place. */
static int
modify_entry(struct dw *w, struct drv_fte fte, uint32_t mask, uint32_t action, uint32_t tag,
	     int queue)
{
	fte.modify = mask;
	fte.action = action;
	fte.tag = tag;
	fte.to = queue >= 0 ? &w->to[queue] : NULL;
	fte.count = queue >= 0;
	return drv_fte_set(&w->dp.drv, &fte);
}

static void
assert_entry(struct dw *w, const struct drv_fte *fte, uint32_t action, uint32_t tag, int queue)
{
	struct {
		struct rnic_query_fte_out out;
		struct rnic_flow_destination to;
	} out;
	struct rnic_flow_context *context = rnic_query_fte_out_flow_context(&out.out);

	assert_int_equal(drv_fte_query(&w->dp.drv, fte->table, fte->index, &out, sizeof(out)), 0);
	assert_int_equal(rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_ACTION), action);
	assert_int_equal(rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_FLOW_TAG), tag);
	assert_int_equal(rnic_flow_context_get(context, RNIC_FLOW_CONTEXT_DESTINATION_LIST_SIZE),
			 queue >= 0);
	assert_int_equal(rnic_flow_destination_get(&out.to, RNIC_FLOW_DESTINATION_ID),
			 queue >= 0 ? w->rq[queue].tirn : 0);
}

static void
test_entries_change_in_place(void **state)
{
	const uint32_t forward = RNIC_FLOW_ACTION_FWD_DEST, drop = RNIC_FLOW_ACTION_DROP;
	const uint32_t tag = RNIC_SET_FTE_MODIFY_FLOW_TAG,
		       list = RNIC_SET_FTE_MODIFY_DESTINATION_LIST;
	const uint32_t all = RNIC_SET_FTE_MODIFY_ACTION | tag | list;
	struct dw *w = *state;
	struct drv_fte entry = { .to = &w->to[0], .count = 1 };
	struct rnic_cqe cqe;
	uint32_t table;

	assert_int_equal(drv_table_of(&w->dp.drv, 0, 0, &entry, 1, &table), 0);
	dw_root(w, table);
	assert_int_equal(modify_entry(w, entry, all, forward, 1, 0), RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_fte_set(&w->dp.drv, &entry), 0);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 0);
	/* Only what the mask names. */
	assert_int_equal(modify_entry(w, entry, tag, drop, 0x77, 1), 0);
	assert_entry(w, &entry, forward, 0x77, 0);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.sop_drop_qpn) & 0xffffff, 0x77);
	assert_int_equal(modify_entry(w, entry, list, drop, 0, 1), 0);
	assert_entry(w, &entry, forward, 0x77, 1);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 1);
	/* The old destination is free, the new one is in use. */
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_TIR, w->rq[1].tirn),
			 RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_TIR, w->rq[0].tirn), 0);
	/* Refused: all stays as it is. */
	assert_int_equal(modify_entry(w, entry, all, forward, 5, 0), RNIC_STATUS_BAD_RES);
	assert_int_equal(modify_entry(w, entry, 0x80, forward, 5, 2), RNIC_STATUS_BAD_PARAM);
	assert_entry(w, &entry, forward, 0x77, 1);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), 1);
	assert_int_equal(modify_entry(w, entry, all, drop, 0, -1), 0);
	assert_entry(w, &entry, drop, 0, -1);
	assert_int_equal(send_tcp(w, &vectors[0], &cqe), -1);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_TIR, w->rq[1].tirn), 0);
}

/* ---- Keys other than lists of pages ---- */

static uint32_t
create_key(struct dw *w, struct drv_mkey mkey)
{
	uint32_t key;

	mkey.access = DRV_LR | DRV_LW;
	mkey.pd = w->dp.pd;
	mkey.variant = 0xa5;
	assert_int_equal(drv_mkey_create(&w->dp.drv, &mkey, &key), 0);
	return key;
}

static int
create_long_key(struct dw *w, enum rnic_mkey_access_mode mode, uint32_t octwords, uint64_t bytes)
{
	struct rnic_klm *klms = calloc(octwords, sizeof(*klms));
	uint32_t key;
	int status;

	assert_non_null(klms);
	status = drv_mkey_create(&w->dp.drv,
				 &(struct drv_mkey){ .mode = mode,
						     .log_page_size = 12,
						     .pd = w->dp.pd,
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
	struct dw *w = *state;
	const uint64_t *bytes = &w->dp.dev->translation_bytes, before = *bytes;
	uint64_t held, key;

	assert_int_equal(create_long_key(w, RNIC_MKEY_KLM, SOFTRNIC_MAX_KLMS, 4096), 0);
	held = *bytes;
	key = held - before;
	/* With what finds a place in it, which is to fit into a cache. */
	assert_in_range(key, SOFTRNIC_MAX_KLMS * sizeof(struct rnic_klm),
			SOFTRNIC_MAX_KLMS * sizeof(struct rnic_klm) / 4 * 5);
	assert_int_equal(create_long_key(w, RNIC_MKEY_KLM, SOFTRNIC_MAX_KLMS + 1, 4096),
			 RNIC_STATUS_LIM);
	/* What failed holds nothing. */
	assert_int_equal(*bytes, held);
	assert_int_equal(create_long_key(w, RNIC_MKEY_KSM, 2, 8192), 0);
	assert_true(*bytes > held);
	held = *bytes;
	assert_int_equal(create_long_key(w, RNIC_MKEY_KSM, 2, 8193), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(*bytes, held);
	while (SOFTRNIC_TRANSLATION_MEMORY - *bytes >= key)
		assert_int_equal(create_long_key(w, RNIC_MKEY_KLM, SOFTRNIC_MAX_KLMS, 4096), 0);
	held = *bytes;
	assert_int_equal(create_long_key(w, RNIC_MKEY_KLM, SOFTRNIC_MAX_KLMS, 4096),
			 RNIC_STATUS_LIM);
	assert_int_equal(*bytes, held);
	assert_int_equal(create_long_key(w, RNIC_MKEY_KSM, 2, 8192), 0);
}

/* Receive by one key what was sent by another. */
static void
exchange(struct dw *w, uint32_t send_key, uint64_t from, uint32_t receive_key, uint64_t to,
	 uint32_t bytes)
{
	struct rnic_wqe_data *data;
	struct rnic_cqe cqe;

	/* The queue's WQEs are all posted; the next one used is at the slot of its consumer. */
	data = (struct rnic_wqe_data *)w->rq[0].ring;
	data->byte_count = rnic_cpu_to_be32(bytes);
	data->lkey = rnic_cpu_to_be32(receive_key);
	data->address = rnic_cpu_to_be64(to);
	dp_wqe(&w->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	data = dp_wqe_at(&w->sq, 2);
	data->byte_count = rnic_cpu_to_be32(bytes);
	data->lkey = rnic_cpu_to_be32(send_key);
	data->address = rnic_cpu_to_be64(from);
	dp_sq_ring(&w->sq);
	assert_int_equal(arrived(w, &cqe), 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), bytes);
}

static void
test_physical_addresses_to_a_list_of_keys(void **state)
{
	struct dw *w = *state;
	struct rnic_klm list[2];
	uint32_t pa, klm, i;
	uint8_t expected[1000];

	for (i = 0; i < sizeof(expected); i++)
		w->out[i] = expected[i] = (uint8_t)(i * 7 + (i >> 8)) & 0xfe;
	all_to(w, w->rq[0].tirn);
	pa = create_key(w, (struct drv_mkey){ .mode = RNIC_MKEY_PA, .length64 = true });
	/* 300 bytes from the middle of the page, then 700 from its start, by the key of all memory. */
	list[0] = drv_klm(300, w->dp.lkey, (uintptr_t)w->in + 2000);
	list[1] = drv_klm(700, w->dp.lkey, (uintptr_t)w->in);
	klm = create_key(w, (struct drv_mkey){ .mode = RNIC_MKEY_KLM,
					       .start = 0x1000,
					       .length = 1000,
					       .klms = list,
					       .count = 2 });

	exchange(w, pa, dp_iova(&w->dp, w->out), klm, 0x1000, 1000);
	assert_memory_equal(w->in + 2000, expected, 300);
	assert_memory_equal(w->in, expected + 300, 700);
}

static void
test_a_list_of_keys_to_physical_addresses(void **state)
{
	struct dw *w = *state;
	struct rnic_klm list[2];
	uint32_t pa, klm, i;
	uint8_t expected[1000];

	for (i = 0; i < 4096; i++)
		w->out[i] = (uint8_t)(i * 13 + (i >> 8)) & 0xfe;
	memcpy(expected, w->out + 2000, 300);
	memcpy(expected + 300, w->out, 700);
	all_to(w, w->rq[0].tirn);
	pa = create_key(w, (struct drv_mkey){ .mode = RNIC_MKEY_PA, .length64 = true });
	list[0] = drv_klm(300, w->dp.lkey, (uintptr_t)w->out + 2000);
	list[1] = drv_klm(700, pa, dp_iova(&w->dp, w->out));
	klm = create_key(w,
			 (struct drv_mkey){
				 .mode = RNIC_MKEY_KLM, .length = 1000, .klms = list, .count = 2 });

	exchange(w, klm, 0, pa, dp_iova(&w->dp, w->in), 1000);
	assert_memory_equal(w->in, expected, 1000);
	/* A byte beyond the list: the queue's error, and nothing is sent. */
	dp_wqe(&w->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&w->sq, 2, NULL, 1001);
	((struct rnic_wqe_data *)dp_wqe_at(&w->sq, 2))->lkey = rnic_cpu_to_be32(klm);
	dp_sq_ring(&w->sq);
	dp_run(&w->dp);
	assert_int_equal(dp_sq_state(&w->sq), RNIC_WQ_STATE_ERR);
	assert_int_equal(dp_stats(&w->dp).rx_packets, 1);
}

/* cqe_version 1 promises that completions name their queue by the index that its owner chose. */
static void
test_completions_carry_the_user_index(void **state)
{
	struct dw *w = *state;
	const struct rnic_cqe *cqe;

	all_to(w, w->rq[0].tirn);
	dp_send(&w->sq, w->out, 64);
	dp_run(&w->dp);
	cqe = dp_cq_next(&w->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), DP_SQ_USER_INDEX);
	dp_wqe(&w->sq, 0x3f, 3, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&w->sq);
	dp_run(&w->dp);
	cqe = dp_cq_next(&w->tx_cq);
	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_REQUESTER_ERROR);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), DP_SQ_USER_INDEX);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, dw_setup, dp_teardown)
	const struct CMUnitTest tests[] = {
		T(hashes_choose_the_queue),
		T(hashes_of_ipv6),
		T(hashes_of_what_there_is),
		T(tir_changes_its_table),
		T(symmetric_hashes_join_both_directions),
		T(xor8_does_not_spread),
		T(queries_of_tables_and_tirs),
		T(entries_change_in_place),
		T(physical_addresses_to_a_list_of_keys),
		T(a_list_of_keys_to_physical_addresses),
		T(limits_of_keys),
		T(completions_carry_the_user_index),
	};
#undef T

	return cmocka_run_group_tests_name("data_spread", tests, NULL, NULL);
}
