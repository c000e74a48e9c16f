/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames of a WQE that go together (lib/softrnic/receive/burst.c) do what frames do that go one by one: two cables get the
 * same WQEs, and on one of them no frame finds company. Whatever drivers and operators can see is then the same at both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../counts.h"
#include "data_expect.h"
#include "driver/counter.h"
#include "driver/reg.h"
#include "driver/roce_addr.h"
#include "driver/vport.h"
#include "frame_spec.h"
#include "near_end.h"

#define SQ_LOG	    8
#define RQ_LOG	    7
#define QUEUES	    4u
#define BUFFER	    2048u
#define PATTERNS    64u /* frames to choose from */
#define SEGMENTS    40u
#define DS_MAX	    63u
#define INLINE	    64u
#define LONGEST	    1600u /* longer than any that is sent */
#define ROOTS	    3u	  /* that lead to all queues, to the first one twice, and nowhere */
#define IN_BYTES    (((size_t)BUFFER << RQ_LOG) * QUEUES)
#define PORT_GROUPS 3u /* of counters: IEEE 802.3, RFC 2863, RFC 2819 */
#define ROUNDS	    400u
#define ROUNDS_ALL  20000u

/* A cable. Behind it are queues that frames are spread to, or one that has them all. */
struct cable {
	struct softrnic_poller *poller;
	struct dp_side from, to;
	struct dp_cq other_cqs[QUEUES - 1];
	struct dp_rq other_rqs[QUEUES - 1];
	uint32_t roots[ROOTS];
};

/* What a test is about. */
struct variant {
	uint32_t queues, rx_cq_log;
	bool foreign; /* ends are of processes that need not trust each other */
	bool mixed;   /* every other queue's are not compressed */
	bool compressed,
		big; /* completions where frames go together; big: in entries of 128 bytes */
	enum rnic_mini_cqe_format format;
};

struct fixture {
	struct cable together, apart;
	uint64_t random;
	uint32_t queues;
	uint32_t posted[QUEUES]; /* buffers that wait for frames */
	bool alike;		 /* all frames are, and none fails */
	struct variant variant;
};

/* ---- Which way frames go. ---- */

static const struct softrnic *sender_apart;
static uint64_t frames_together;

uint32_t __real_softrnic_burst_send(struct softrnic *dev, uint32_t pd, const uint8_t *wqe,
				    uint32_t *at, uint32_t end);
uint32_t __wrap_softrnic_burst_send(struct softrnic *dev, uint32_t pd, const uint8_t *wqe,
				    uint32_t *at, uint32_t end);

uint32_t
__wrap_softrnic_burst_send(struct softrnic *dev, uint32_t pd, const uint8_t *wqe, uint32_t *at,
			   uint32_t end)
{
	return dev == sender_apart ? 0 : __real_softrnic_burst_send(dev, pd, wqe, at, end);
}

struct softrnic_burst_frame;
uint32_t __real_softrnic_eth_receive_burst(struct softrnic *dev,
					   const struct softrnic_burst_frame *frames,
					   uint32_t count);
uint32_t __wrap_softrnic_eth_receive_burst(struct softrnic *dev,
					   const struct softrnic_burst_frame *frames,
					   uint32_t count);

uint32_t
__wrap_softrnic_eth_receive_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
				  uint32_t count)
{
	const uint32_t taken = __real_softrnic_eth_receive_burst(dev, frames, count);

	frames_together += taken;
	return taken;
}

/* ---- Two cables. ---- */

static uint32_t
draw(struct fixture *f, uint32_t below)
{
	f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(f->random >> 33) % below;
}

static bool
one_in(struct fixture *f, uint32_t n)
{
	return draw(f, n) == 0;
}

static struct dp_rq *
queue_of(struct cable *cable, uint32_t i)
{
	return i == 0 ? &cable->to.rq : &cable->other_rqs[i - 1];
}

static void
open_side(struct dp_side *side, struct softrnic_poller *poller, const char *name, uint8_t number,
	  const struct variant *variant, const struct dp_cq_conf *rx_cq)
{
	const struct dp_side_conf conf = {
		.device = { .name = name,
			    .wire = "pair:burst",
			    .mac = { 2, 0, 0, 0, 0, number },
			    .foreign_memory = variant->foreign,
			    .seed = 7 },
		.counted = true,
		.tx_cq = { .log_size = SQ_LOG + 1, .uar = 1 },
		.rx_cq = *rx_cq,
		.sq_log_size = SQ_LOG,
		.sq_uar = 2,
		.sq_flags = DP_SQ_FLUSH,
		.rq_log_size = RQ_LOG,
		.rq_log_stride = 4,
		.out_bytes = (size_t)PATTERNS * BUFFER,
		.in_bytes = IN_BYTES,
	};

	assert_int_equal(dp_side_open(side, poller, &conf), 0);
}

/* More queues, and all frames are spread over them. */
static void
open_queues(struct cable *cable, const struct variant *variant, const struct dp_cq_conf *cq)
{
	static const uint8_t key[40] = {
		0x2c, 0xc6, 0x81, 0xd1, 0x5b, 0xdb, 0xf4, 0xf7, 0xfc, 0xa2,
		0x83, 0x19, 0xdb, 0x1a, 0x3e, 0x94, 0x6b, 0x9e, 0x38, 0xd9
	};
	struct dp *dp = &cable->to.dp;
	struct drv_tir tir = {
		.td = dp->td, .hash = RNIC_RX_HASH_TOEPLITZ, .fields = 0xf, .key = key
	};
	uint32_t rqns[QUEUES], tirn, i;

	for (i = 0; i < variant->queues; i++) {
		if (i > 0) {
			struct dp_cq_conf conf = *cq;

			conf.compressed &= !(variant->mixed && i % 2 == 1);
			assert_int_equal(dp_cq_create(dp, &cable->other_cqs[i - 1], &conf), 0);
			assert_int_equal(dp_rq_create(dp, &cable->other_rqs[i - 1],
						      &cable->other_cqs[i - 1], RQ_LOG, 4),
					 0);
		}
		rqns[i] = queue_of(cable, i)->rqn;
	}
	assert_int_equal(drv_rqt_create(&dp->drv, rqns, variant->queues, &tir.rqtn), 0);
	assert_int_equal(drv_tir_create(&dp->drv, &tir, &tirn), 0);
	assert_int_equal(drv_root_to_tirs(&dp->drv, &tirn, 1, &cable->roots[0]), 0);
}

/* Other ways for frames. */
static void
open_roots(struct cable *cable)
{
	struct dp *dp = &cable->to.dp;
	const uint32_t twice[] = { cable->to.rq.tirn, cable->to.rq.tirn };

	cable->roots[0] = dp->root;
	assert_int_equal(drv_root_to_tirs(&dp->drv, twice, 2, &cable->roots[1]), 0);
	assert_int_equal(drv_table_of(&dp->drv, 0, 0, NULL, 0, &cable->roots[2]), 0);
	assert_int_equal(drv_root_set(&dp->drv, cable->roots[0]), 0);
}

/* The receiver has an address for packets of queue pairs, which are no frames for its queue. */
static void
open_cable(struct cable *cable, const struct variant *variant, bool compressed)
{
	const struct dp_cq_conf rx_cq = { .log_size = variant->rx_cq_log,
					  .uar = 1,
					  .big = variant->big,
					  .compressed = compressed,
					  .format = variant->format };
	const struct drv_roce_addr address = { .gid = { [10] = 0xff, 0xff, 0x0a, 0x0b, 0x0c, 0x0d },
					       .mac = 0x020000000009 };

	assert_int_equal(softrnic_poller_create(&cable->poller), 0);
	open_side(&cable->from, cable->poller, "from", 8, variant, &rx_cq);
	open_side(&cable->to, cable->poller, "to", 9, variant, &rx_cq);
	assert_int_equal(drv_vport_roce_set(&cable->to.dp.drv, true), 0);
	assert_int_equal(drv_roce_addr_set(&cable->to.dp.drv, &address), 0);
	open_roots(cable);
	if (variant->queues > 1)
		open_queues(cable, variant, &rx_cq);
}

/* *state: the test's variant. */
static int
setup(void **state)
{
	const struct variant *variant = *state;
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->random = 1;
	f->queues = variant->queues;
	f->variant = *variant;
	open_cable(&f->together, variant, variant->compressed);
	open_cable(&f->apart, variant, false);
	sender_apart = f->apart.from.dp.dev;
	frames_together = 0;
	*state = f;
	return 0;
}

static int
close_cable(struct cable *cable)
{
	int rc = dp_side_close(&cable->from) | dp_side_close(&cable->to);

	return rc != 0 ? rc : softrnic_poller_destroy(cable->poller);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	int rc = close_cable(&f->together) | close_cable(&f->apart);

	sender_apart = NULL;
	free(f);
	return rc;
}

/* ---- The same frames on both. ---- */

static void
address(struct fixture *f, uint8_t *frame)
{
	static const uint8_t to[][6] = { { 2, 0, 0, 0, 0, 9 },
					 { 2, 0, 0, 0, 0, 8 },
					 { 1, 0, 0x5e, 0, 0, 1 },
					 { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };

	memcpy(frame, to[one_in(f, 8) ? draw(f, 4) : 0], 6);
}

/* One of the frames to choose from, of whatever kind, mostly right; its length. */
static uint32_t
make_frame(struct fixture *f, uint8_t *frame)
{
	static const uint8_t protos[] = { DF_UDP, DF_UDP, DF_TCP, DF_TCP, 1 };
	const struct df_spec spec = { .tags = one_in(f, 10),
				      .types = { 0x8100 },
				      .tcis = { 5 },
				      .version = one_in(f, 4)	? 6
						 : one_in(f, 6) ? 0
								: 4,
				      .proto = protos[draw(f, 5)],
				      .ip_options = one_in(f, 8) ? 8 : 0,
				      .tcp_options = one_in(f, 4) ? 12 : 0,
				      .fragment = one_in(f, 12) ? 0x2000 : 0,
				      .tcp_flags = (uint8_t)draw(f, 256),
				      .payload = one_in(f, 2) ? draw(f, 32) : draw(f, 1400),
				      .padding = one_in(f, 2) ? draw(f, 20) : 0 };
	static const struct df_spec plain = { DF_UDP4, .payload = 18 };
	uint32_t length, at;

	length = df_build(frame, f->alike ? &plain : &spec, draw(f, 256));
	if (f->alike) {
		memcpy(frame, (const uint8_t[]){ 2, 0, 0, 0, 0, 9 }, 6);
		return length;
	}
	address(f, frame);
	if (spec.version != 0 && spec.proto == DF_UDP && one_in(f, 20))
		memcpy(frame + df_l4(&spec) + 2, (const uint8_t[]){ 4791 >> 8, 4791 & 0xff }, 2);
	if (spec.version != 0 && spec.proto == DF_UDP && !spec.fragment && one_in(f, 2))
		memset(frame + df_l4_checksum_at(&spec), 0, 2);
	if (one_in(f, 6)) {
		at = draw(f, length);
		frame[at] = (uint8_t)(frame[at] ^ (1u << draw(f, 8)));
	}
	return length;
}

/* A segment of a frame that is right, or too short, too long, or of a key that is none. */
static uint32_t
write_segment(struct fixture *f, uint32_t ds, uint32_t pattern, uint32_t length, bool inlined,
	      uint32_t lkey)
{
	struct dp_side *sides[] = { &f->together.from, &f->apart.from };
	struct rnic_wqe_data *seg;
	uint32_t units = 1, i, at;
	const uint8_t *bytes;

	for (i = 0; i < 2; i++) {
		bytes = sides[i]->out + (size_t)pattern * BUFFER;
		if (!inlined) {
			dp_wqe_data(&sides[i]->sq, ds, bytes, length);
			seg = dp_wqe_at(&sides[i]->sq, ds);
			seg->lkey = rnic_cpu_to_be32(rnic_be32_to_cpu(seg->lkey) ^ lkey);
			continue;
		}
		units = (4 + length + RNIC_WQE_DS_BYTES - 1) / RNIC_WQE_DS_BYTES;
		seg = dp_wqe_at(&sides[i]->sq, ds);
		seg->byte_count = rnic_cpu_to_be32(length | RNIC_WQE_INLINE);
		for (at = 0; at < length; at++)
			((uint8_t *)dp_wqe_at(
				&sides[i]->sq,
				ds + (4 + at) / RNIC_WQE_DS_BYTES))[(4 + at) % RNIC_WQE_DS_BYTES] =
				bytes[at];
	}
	return units;
}

/* A WQE of up to so many frames, and often of one that fails it. */
static void
write_wqe(struct fixture *f, uint32_t most)
{
	struct dp_side *sides[] = { &f->together.from, &f->apart.from };
	const uint32_t frames = 1 + draw(f, most);
	uint32_t ds = 2, frame, pattern, length;
	bool inlined;

	for (uint32_t i = 0; i < 2; i++)
		dp_wqe(&sides[i]->sq, RNIC_WQE_ENHANCED_MPSW, DS_MAX, RNIC_WQE_CE_ALWAYS);
	for (frame = 0; frame < frames && ds + 1 + INLINE / RNIC_WQE_DS_BYTES < DS_MAX; frame++) {
		pattern = draw(f, PATTERNS);
		length = make_frame(f, sides[0]->out + (size_t)pattern * BUFFER);
		if (!f->alike && one_in(f, 40))
			length = draw(f, LONGEST);
		memcpy(sides[1]->out + (size_t)pattern * BUFFER,
		       sides[0]->out + (size_t)pattern * BUFFER, BUFFER);
		inlined = length <= INLINE && one_in(f, 3);
		ds += write_segment(f, ds, pattern, length, inlined,
				    !f->alike && one_in(f, 800) ? 0x100 : 0);
	}
	for (uint32_t i = 0; i < 2; i++)
		sides[i]->sq.last->qpn_ds = rnic_cpu_to_be32(sides[i]->sq.sqn << 8 | ds);
	/* dp_wqe() took the blocks of the longest one. */
	for (uint32_t i = 0; i < 2; i++)
		sides[i]->sq.producer =
			(uint16_t)(sides[i]->sq.producer - (DS_MAX + 3) / 4 + (ds + 3) / 4);
}

/* Up to all that the queue has room for. */
static void
post_buffers(struct fixture *f, uint32_t queue, uint32_t count)
{
	struct cable *cables[] = { &f->together, &f->apart };

	f->posted[queue] += count;
	for (; count > 0; count--) {
		const uint32_t slot = queue_of(cables[0], queue)->producer & ((1u << RQ_LOG) - 1);
		const uint32_t bytes = !f->alike && one_in(f, 300) ? 1 + draw(f, 100) : BUFFER;

		const uint32_t lkey = !f->alike && one_in(f, 300) ? 0x100 : 0;

		for (uint32_t i = 0; i < 2; i++) {
			struct dp_rq *rq = queue_of(cables[i], queue);
			struct rnic_wqe_data *seg = (struct rnic_wqe_data *)(rq->ring) + slot;

			dp_post(rq, cables[i]->to.in + (size_t)(queue << RQ_LOG | slot) * BUFFER,
				bytes);
			seg->lkey = rnic_cpu_to_be32(rnic_be32_to_cpu(seg->lkey) ^ lkey);
		}
	}
	for (uint32_t i = 0; i < 2; i++)
		dp_rq_record(queue_of(cables[i], queue));
}

/* ---- What they show. ---- */

/* What the lists of compressed completions do not tell, each has from its title. */
static void
forget_untold(struct rnic_cqe *cqe, const struct variant *variant)
{
	cqe->timestamp = rnic_cpu_to_be64(0);
	if (!variant->compressed)
		return;
	if (variant->format == RNIC_MINI_CQE_HASH) {
		cqe->checksum = rnic_cpu_to_be16(0);
		return;
	}
	cqe->rx_hash_result = rnic_cpu_to_be32(0);
	cqe->rx_hash_type = 0;
}

static uint32_t
same_completions(const struct variant *variant, struct dp_cq *a, struct dp_cq *b)
{
	const struct rnic_cqe *from_a, *from_b;
	struct rnic_cqe x, y;
	uint32_t count = 0;

	while ((from_a = dp_cq_next(a)) != NULL) {
		from_b = dp_cq_next(b);
		assert_non_null(from_b);
		x = *from_a;
		y = *from_b;
		forget_untold(&x, variant);
		forget_untold(&y, variant);
		assert_memory_equal(&x, &y, sizeof(x));
		count++;
	}
	assert_null(dp_cq_next(b));
	return count;
}

static void
same_events(struct dp *a, struct dp *b)
{
	const struct rnic_eqe *from_a, *from_b;

	while ((from_a = dp_eq_next(a)) != NULL) {
		from_b = dp_eq_next(b);
		assert_non_null(from_b);
		assert_memory_equal(from_a, from_b, sizeof(*from_a));
	}
	assert_null(dp_eq_next(b));
	dp_eq_seen(a);
	dp_eq_seen(b);
}

/* A group of the port's counters. */
static struct rnic_ppcnt_reg
port_counters(struct dp *dp, uint32_t group)
{
	struct rnic_ppcnt_reg reg = { 0 };

	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_LOCAL_PORT, 1);
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, group);
	assert_int_equal(drv_reg_read(&dp->drv, RNIC_REG_PPCNT, &reg, sizeof(reg)), 0);
	return reg;
}

static void
same_counters(struct dp *a, struct dp *b)
{
	struct softrnic_stats of_a = dp_stats(a), of_b = dp_stats(b);
	struct rnic_vport_counters vport_a, vport_b;
	struct rnic_ppcnt_reg port_a, port_b;

	assert_int_equal(of_b.cqe_titles, 0);
	of_a.cqe_titles = of_a.cqes_compressed = 0;
	assert_memory_equal(&of_a, &of_b, sizeof(of_a));
	assert_int_equal(drv_vport_counter_query(&a->drv, false, &vport_a), 0);
	assert_int_equal(drv_vport_counter_query(&b->drv, false, &vport_b), 0);
	assert_memory_equal(&vport_a, &vport_b, sizeof(vport_a));
	for (uint32_t group = 0; group < PORT_GROUPS; group++) {
		port_a = port_counters(a, group);
		port_b = port_counters(b, group);
		assert_memory_equal(&port_a, &port_b, sizeof(port_a));
	}
}

/* Run what was written; how many completions the receivers got. Buffers that were used wait no more. */
static uint32_t
run_both(struct fixture *f)
{
	struct cable *a = &f->together, *b = &f->apart;
	uint32_t received = 0, came, i;

	dp_sq_ring(&a->from.sq);
	dp_sq_ring(&b->from.sq);
	dp_run(&a->from.dp);
	dp_run(&b->from.dp);
	for (i = 0; i < f->queues; i++) {
		came = same_completions(&f->variant, queue_of(a, i)->cq, queue_of(b, i)->cq);
		f->posted[i] -= came < f->posted[i] ? came : f->posted[i];
		received += came;
	}
	same_completions(&f->variant, &a->from.tx_cq, &b->from.tx_cq);
	same_events(&a->from.dp, &b->from.dp);
	same_events(&a->to.dp, &b->to.dp);
	same_counters(&a->from.dp, &b->from.dp);
	same_counters(&a->to.dp, &b->to.dp);
	assert_memory_equal(a->to.in, b->to.in, IN_BYTES);
	return received;
}

static uint32_t
same_sq_state(struct fixture *f)
{
	const uint32_t state = dp_sq_state(&f->together.from.sq);

	assert_int_equal(dp_sq_state(&f->apart.from.sq), state);
	return state;
}

static uint32_t
same_rq_state(struct fixture *f, uint32_t queue)
{
	const uint32_t state = dp_rq_state(queue_of(&f->together, queue));

	assert_int_equal(dp_rq_state(queue_of(&f->apart, queue)), state);
	return state;
}

static void
restart_both(struct fixture *f)
{
	if (same_sq_state(f) == RNIC_WQ_STATE_ERR) {
		assert_int_equal(dp_sq_restart(&f->together.from.sq, RNIC_WQ_STATE_ERR), 0);
		assert_int_equal(dp_sq_restart(&f->apart.from.sq, RNIC_WQ_STATE_ERR), 0);
	}
	for (uint32_t i = 0; i < f->queues; i++) {
		if (same_rq_state(f, i) != RNIC_WQ_STATE_ERR)
			continue;
		assert_int_equal(dp_rq_restart(queue_of(&f->together, i), RNIC_WQ_STATE_ERR), 0);
		assert_int_equal(dp_rq_restart(queue_of(&f->apart, i), RNIC_WQ_STATE_ERR), 0);
		f->posted[i] = 0;
	}
}

/* The receiver's port: whom it takes frames for, how long ones, and where they go. Its queues: whether they take tags off. */
static void
change_port(struct fixture *f)
{
	struct drv *drv[] = { &f->together.to.dp.drv, &f->apart.to.dp.drv };
	struct rnic_rqc rqc = { 0 };
	const uint16_t mtu = one_in(f, 2) ? 1522 : 1022;
	const bool all = one_in(f, 2);

	const uint32_t root = one_in(f, 4) ? draw(f, ROOTS) : 0;

	rnic_rqc_set(&rqc, RNIC_RQC_VSD, one_in(f, 2));
	for (uint32_t i = 0; i < f->queues; i++) {
		const uint32_t rqn = queue_of(&f->together, i)->rqn;

		assert_int_equal(queue_of(&f->apart, i)->rqn, rqn);
		assert_int_equal(drv_rq_change(drv[0], rqn, RNIC_MODIFY_RQ_VSD, &rqc), 0);
		assert_int_equal(drv_rq_change(drv[1], rqn, RNIC_MODIFY_RQ_VSD, &rqc), 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct cable *cable = i == 0 ? &f->together : &f->apart;

		assert_int_equal(drv_root_set(drv[i], cable->roots[root]), 0);
		assert_int_equal(drv_vport_promisc_set(drv[i], all), 0);
		assert_int_equal(drv_mtu_set(drv[i], mtu), 0);
	}
}

static uint32_t
rounds(void)
{
	return default_run() || near_end() || sanitized_run() ? ROUNDS : ROUNDS_ALL;
}

/* ---- Tests. ---- */

static void
test_frames_of_all_kinds(void **state)
{
	struct fixture *f = *state;
	uint32_t received = 0, wqes, i;

	for (uint32_t round = 0; round < rounds(); round++) {
		if (one_in(f, 20))
			change_port(f);
		/* Some rounds find too few buffers. */
		for (i = 0; i < f->queues; i++)
			post_buffers(f, i, draw(f, (1u << RQ_LOG) - f->posted[i] + 1));
		for (wqes = 1 + draw(f, 3); wqes > 0; wqes--)
			write_wqe(f, SEGMENTS);
		received += run_both(f);
		restart_both(f);
	}
	assert_true(received > rounds());
	/* Else there would be nothing that the other cable could differ from. */
	assert_true(frames_together > received / 20);
	if (f->variant.compressed) {
		const struct softrnic_stats stats = dp_stats(&f->together.to.dp);

		assert_true(stats.cqe_titles > rounds() / 4);
		assert_true(stats.cqes_compressed >= 2 * stats.cqe_titles);
	}
}

/* From the first frame on: no verdict has named a queue yet. */
static void
test_frames_that_go_nowhere(void **state)
{
	struct fixture *f = *state;

	f->alike = true;
	assert_int_equal(drv_root_set(&f->together.to.dp.drv, f->together.roots[2]), 0);
	assert_int_equal(drv_root_set(&f->apart.to.dp.drv, f->apart.roots[2]), 0);
	post_buffers(f, 0, 1);
	write_wqe(f, SEGMENTS);
	write_wqe(f, SEGMENTS);
	assert_int_equal(run_both(f), 0);
	assert_true(dp_stats(&f->together.to.dp).rx_unmatched > 2);
}

/* The CQ overruns at the same frame, and takes none behind it. */
static void
test_frames_that_overrun_the_queue(void **state)
{
	struct fixture *f = *state;

	f->alike = true;
	while (same_rq_state(f, 0) == RNIC_WQ_STATE_RDY) {
		post_buffers(f, 0, (1u << RQ_LOG) - f->posted[0]);
		write_wqe(f, SEGMENTS);
		write_wqe(f, SEGMENTS);
		run_both(f);
	}
	assert_int_equal(dp_stats(&f->together.to.dp).cq_overruns, 1);
	assert_true(frames_together > 0);
	assert_int_equal(dp_stats(&f->together.to.dp).cqe_titles != 0, f->variant.compressed);
}

int
main(void)
{
#define TEST(name, test, ...)                                  \
	{                                                      \
		name, test, setup, teardown, &(struct variant) \
		{                                              \
			__VA_ARGS__                            \
		}                                              \
	}
#define ROOM .rx_cq_log = RQ_LOG + 1
	const struct CMUnitTest tests[] = {
		TEST("test_frames_of_all_kinds", test_frames_of_all_kinds, .queues = 1, ROOM),
		TEST("frames_that_are_spread", test_frames_of_all_kinds, .queues = QUEUES, ROOM),
		TEST("frames_of_other_processes", test_frames_of_all_kinds, .queues = 1, ROOM,
		     .foreign = true),
		TEST("frames_with_compressed_completions", test_frames_of_all_kinds,
		     .queues = QUEUES, ROOM, .compressed = true, .format = RNIC_MINI_CQE_HASH),
		TEST("frames_of_which_some_have_compressed_completions", test_frames_of_all_kinds,
		     .queues = QUEUES, ROOM, .mixed = true, .compressed = true,
		     .format = RNIC_MINI_CQE_HASH),
		TEST("frames_with_compressed_sums", test_frames_of_all_kinds, .queues = QUEUES,
		     ROOM, .foreign = true, .compressed = true, .big = true,
		     .format = RNIC_MINI_CQE_CHECKSUM),
		TEST("test_frames_that_go_nowhere", test_frames_that_go_nowhere, .queues = 1, ROOM),
		/* Of a CQ that takes fewer entries than its queue has WQEs. */
		TEST("test_frames_that_overrun_the_queue", test_frames_that_overrun_the_queue,
		     .queues = 1, .rx_cq_log = 5),
		TEST("compressed_frames_that_overrun_the_queue", test_frames_that_overrun_the_queue,
		     .queues = 1, .rx_cq_log = 4, .compressed = true, .format = RNIC_MINI_CQE_HASH),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
