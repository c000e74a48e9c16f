/* SPDX-License-Identifier: BSD-3-Clause */

/* Windows' WQEs, byte by byte as libmlx5 (rdma-core 44) writes them; how they share a queue with others, and what polls say of them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "prm/caps.h"
#include "prm/cqe.h"
#include "rdma/flush.h"
#include "rdma/mw.h"
#include "rdma/post.h"
#include "rdma/post_recv.h"
#include "rdma_rings.h"

#define KEY  0x00ab4411u
#define ZERO "00000000 00000000 00000000 00000000"

struct windows {
	struct rings *rings;
	struct rnic_dev dev;
	struct rnic_rdma rdma;
	struct rdmapmd_context context;
	struct rdmapmd_pd pd;
	struct rnic_rdma_mw window;
	struct rdmapmd_mr mr;
};

static int
setup(void **state)
{
	struct windows *w = calloc(1, sizeof(*w));
	void *rings;

	assert_int_equal(rings_setup(&rings), 0);
	w->rings = rings;
	w->rings->qp.dev = &w->dev;
	w->dev.rdma = &w->rdma;
	w->dev.tunables = rnic_tunables_default;
	pthread_mutex_init(&w->rdma.lock, NULL);
	rnic_general_cap_set(&w->dev.caps.general, RNIC_GENERAL_CAP_IMAICL, 1);
	w->context.device_priv = &w->dev;
	w->window.mw = (struct rdmapmd_mw){ .context = &w->context,
					    .pd = &w->pd,
					    .type = RDMAPMD_MW_TYPE_2 };
	w->mr = (struct rdmapmd_mr){ .lkey = 0x99887766, .rkey = 0x99887766 };
	rings_window_key = KEY;
	rings_may_bind = true;
	assert_int_equal(rnic_rdma_mw_alloc(&w->window.mw), 0);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct windows *w = *state;
	void *rings = w->rings;

	assert_int_equal(rnic_rdma_mw_free(&w->window.mw), 0);
	assert_int_equal(rings_window_freed, w->window.mw.rkey);
	rnic_rdma_mws_free(&w->rdma);
	pthread_mutex_destroy(&w->rdma.lock);
	free(w);
	return rings_teardown(&rings);
}

static struct rdmapmd_send_wr
bind(struct windows *w, unsigned int flags, unsigned int access)
{
	return (struct rdmapmd_send_wr){ .wr_id = 7,
					 .opcode = RDMAPMD_WR_BIND_MW,
					 .send_flags = (uint8_t)flags,
					 .wr.bind_mw = { .mw = &w->window.mw,
							 .mr = &w->mr,
							 .addr = 0x1122334455667788,
							 .length = 0x1000,
							 .rkey = (KEY & ~0xffu) | 0x22,
							 .access = access } };
}

static struct rdmapmd_send_wr
invalidate(uint32_t key, unsigned int flags)
{
	return (struct rdmapmd_send_wr){ .wr_id = 8,
					 .opcode = RDMAPMD_WR_LOCAL_INV,
					 .send_flags = (uint8_t)flags,
					 .invalidate_rkey = key,
					 /* not its own: what an earlier request has left there */
					 .wr.bind_mw = { .length = 64, .rkey = 0x5a5a5a5a } };
}

/* ---- Bytes ---- */

static void
test_bind_of_type_2(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr =
		bind(w, RDMAPMD_SEND_SIGNALED,
		     RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_ATOMIC);

	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	/* inline, offset, must be free; 4 octwords; free, A, RW, RR, LW, QPN, key, start, length */
	rings_assert_bytes(w->rings->sq[0], "00000025 0001230c 00000000 00ab4411"
					    "b0000000 00040000 00000000 203c6041" ZERO ZERO);
	rings_assert_bytes(w->rings->sq[1], "00006000 00012322 00000000 00000000"
					    "11223344 55667788 00000000 00001000" ZERO ZERO);
	rings_assert_bytes(w->rings->sq[2], "00001000 99887766 11223344 55667788" ZERO ZERO ZERO);
	/* What is behind it waits for it, and tells of it. */
	rings_assert_bytes(w->rings->sq[3], "00000300 00012301 00000028 00000000 a5a5a5a5");
	rings_assert_bytes(&w->rings->dbrec, "00000000 00000004");
	assert_int_equal(w->window.mw.rkey, (KEY & ~0xffu) | 0x22);
	assert_ptr_equal(w->window.mw.mr, &w->mr);
}

static void
test_zero_based_bind(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr =
		bind(w, 0, RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_ZERO_BASED);

	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	rings_assert_bytes(w->rings->sq[1], "00001000 00012322 00000000 00000000"
					    "00000000 00000000 00000000 00001000");
	rings_assert_bytes(w->rings->sq[2], "00001000 99887766 11223344 55667788");
}

static void
test_longest_bind(void **state)
{
	struct windows *w = *state;
	struct rdmapmd_send_wr wr = bind(w, 0, 0);

	wr.wr.bind_mw.length = RDMAPMD_MW_MAX_LENGTH;
	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	rings_assert_bytes(w->rings->sq[1] + 24, "00000000 80000000");
	rings_assert_bytes(w->rings->sq[2], "00000000 99887766");
}

static void
test_invalidation_of_type_2(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr = invalidate(KEY, RDMAPMD_SEND_FENCE);

	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	/* inline, offset, must be this queue pair's; free, QPN, key */
	rings_assert_bytes(w->rings->sq[0], "00000025 00012308 00000040 00ab4411"
					    "98000000 00000000 00000000 20006000" ZERO ZERO);
	rings_assert_bytes(w->rings->sq[1], "40000000 ffffff00" ZERO ZERO ZERO "00000000 00000000");
	/* Not asked for, but the driver wants to know. */
	rings_assert_bytes(w->rings->sq[2], "00000200 00012301 00000028 00000000");
}

static void
test_bind_and_end_of_type_1(void **state)
{
	struct windows *w = *state;
	struct rdmapmd_send_wr wr = bind(w, 0, RDMAPMD_ACCESS_REMOTE_READ);

	w->window.mw.type = RDMAPMD_MW_TYPE_1;
	w->rings->qp.qp.post_send = rnic_rdma_post_send;
	assert_int_equal(rnic_rdma_mw_bind(&w->rings->qp.qp, &wr), 0);
	/* neither check; no QPN in the mask */
	rings_assert_bytes(w->rings->sq[0], "00000025 0001230c 00000000 00ab4411"
					    "90000000 00040000 00000000 203c2041");
	rings_assert_bytes(w->rings->sq[1], "00001000 ffffff22");
	wr.wr.bind_mw.length = 0;
	wr.wr.bind_mw.rkey = (KEY & ~0xffu) | 0x33;
	assert_int_equal(rnic_rdma_mw_bind(&w->rings->qp.qp, &wr), 0);
	rings_assert_bytes(w->rings->sq[4], "00000425 00012308 00000000 00ab4422"
					    "90000000 00000000 00000000 20002000");
	rings_assert_bytes(w->rings->sq[5], "40000000 ffffff33");
}

static void
test_send_with_invalidate(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_sge sge = { 0x1122334455667788, 0x100, 0xaabbccdd };
	const struct rdmapmd_send_wr wr = { .wr_id = 9,
					    .opcode = RDMAPMD_WR_SEND_WITH_INV,
					    .send_flags = RDMAPMD_SEND_SOLICITED,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .invalidate_rkey = 0xcafef00d };

	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	rings_assert_bytes(w->rings->sq[0], "00000001 00012302 00000002 cafef00d"
					    "00000100 aabbccdd 11223344 55667788 a5a5a5a5");
}

static void
test_it_goes_over_the_end_of_the_ring(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr = bind(w, 0, 0);

	rings_start_at(w->rings, 14, 0);
	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	rings_assert_bytes(w->rings->sq[14], "00000e25 0001230c");
	rings_assert_bytes(w->rings->sq[15], "00000000 00012322");
	rings_assert_bytes(w->rings->sq[0], "00001000 99887766");
	rings_assert_bytes(w->rings->sq[1], "00001100 00012301");
}

/* ---- Room ---- */

/* Of five numbers each takes two; others go before, between and behind. */
static void
test_among_others(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP };
	const struct rdmapmd_send_wr wr[] = { nop, invalidate(KEY, 0), nop, invalidate(KEY, 0) };

	assert_int_equal(rings_post(w->rings, wr, 4), 3);
	assert_int_equal(w->rings->qp.qp.post_send_error, -ENOMEM);
	rings_assert_bytes(w->rings->sq[0], "00000000");
	rings_assert_bytes(w->rings->sq[1], "00000125");
	rings_assert_bytes(w->rings->sq[3], "00000300");
	rings_assert_bytes(w->rings->sq[4], "00000400");
	rings_assert_bytes(w->rings->sq[5], "a5a5a5a5");
	rings_assert_bytes(&w->rings->dbrec, "00000000 00000005");
}

/* Four that ask for no completion are in its way: one that nobody sees brings their end. */
static void
test_a_queue_too_full_gets_empty(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP };
	const struct rdmapmd_send_wr wr[] = { nop, nop, nop, nop, bind(w, 0, 0) };
	struct rdmapmd_wc wc;

	assert_int_equal(rings_post(w->rings, wr, 5), 4);
	assert_int_equal(w->rings->qp.qp.post_send_error, -ENOMEM);
	assert_int_equal(w->window.mw.rkey, KEY);
	rings_assert_bytes(w->rings->sq[4], "00000400 00012301 00000008");
	rings_complete_send(w->rings, 4);
	assert_int_equal(rings_poll(w->rings, &wc), -1);
	assert_int_equal(rings_post(w->rings, &wr[4], 1), 1);
}

static void
test_refused(void **state)
{
	struct windows *w = *state;
	struct rdmapmd_send_wr wr = bind(w, 0, 0);
	struct rnic_rdma_qp *qp = &w->rings->qp;

#define REFUSED(error)                                     \
	assert_int_equal(rings_post(w->rings, &wr, 1), 0); \
	assert_int_equal(qp->qp.post_send_error, error);   \
	assert_int_equal(w->window.mw.rkey, KEY);          \
	rings_assert_bytes(&w->rings->dbrec, "00000000 00000000")

	rings_may_bind = false;
	REFUSED(-EINVAL);
	rings_may_bind = true;
	/* a window is no region */
	w->mr.rkey = KEY;
	REFUSED(-EINVAL);
	w->mr.rkey = 0x99887766;
	wr.send_flags = 16;
	REFUSED(-EINVAL);
	wr.send_flags = 0;
	qp->qp.qp_type = RDMAPMD_QPT_UD;
	REFUSED(-EINVAL);
	qp->qp.qp_type = RDMAPMD_QPT_RC;
	qp->sq.max_post = 1;
	REFUSED(-EINVAL);
	qp->sq.max_post = RINGS_MAX_POST;
	qp->sq.open = 0;
	REFUSED(-EPERM);
	qp->sq.open = 1;
	wr = invalidate(KEY, RDMAPMD_SEND_INLINE);
	REFUSED(-EINVAL);
	wr = invalidate(KEY, 0);
	wr.num_sge = 1;
	REFUSED(-EINVAL);
}

/* ---- What comes back ---- */

static void
test_completions(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr[] = { bind(w, RDMAPMD_SEND_SIGNALED, 0),
					      invalidate((KEY & ~0xffu) | 0x22, 0) };
	struct rdmapmd_wc wc;

	assert_int_equal(rings_post(w->rings, wr, 2), 2);
	assert_true(rnic_rdma_mw_bound(&w->window.mw));
	rings_complete_send(w->rings, 3);
	assert_int_equal(rings_poll(w->rings, &wc), 7);
	assert_int_equal(wc.opcode, RDMAPMD_WC_BIND_MW);
	assert_true(rnic_rdma_mw_bound(&w->window.mw));
	/* Nobody asked for this one. */
	rings_complete_send(w->rings, 6);
	assert_int_equal(rings_poll(w->rings, &wc), -1);
	assert_false(rnic_rdma_mw_bound(&w->window.mw));
	assert_int_equal(w->rings->qp.sq.tail, w->rings->qp.sq.head);
}

static void
test_a_peer_invalidates(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr = bind(w, 0, 0);
	const struct rdmapmd_sge sge = { 0x1000, 64, 1 };
	const struct rdmapmd_recv_wr recv = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct rdmapmd_wc wc;
	struct rnic_cqe *cqe;

	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	assert_int_equal(rnic_rdma_post_recv(&w->rings->qp.qp, &recv, 1), 1);
	cqe = rings_complete(w->rings, RNIC_CQE_RESPONDER_SEND_INVAL, RINGS_QPN, 0);
	cqe->immediate = rnic_cpu_to_be32((KEY & ~0xffu) | 0x22);
	cqe->byte_count = rnic_cpu_to_be32(48);
	assert_int_equal(rings_poll(w->rings, &wc), 5);
	assert_int_equal(wc.opcode, RDMAPMD_WC_RECV);
	assert_int_equal(wc.wc_flags, RDMAPMD_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, (KEY & ~0xffu) | 0x22);
	assert_int_equal(wc.byte_len, 48);
	assert_false(rnic_rdma_mw_bound(&w->window.mw));
}

/* Both of its WQEs fail, of which the first one tells. */
static void
test_failure(void **state)
{
	struct windows *w = *state;
	const struct rdmapmd_send_wr wr = invalidate(KEY, RDMAPMD_SEND_SIGNALED);
	struct rdmapmd_wc wc;

	w->window.mw.mr = &w->mr;
	assert_int_equal(rings_post(w->rings, &wr, 1), 1);
	rings_fail(w->rings, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_MW_BIND, 0);
	rings_fail(w->rings, RNIC_CQE_REQUESTER_ERROR, 2, RNIC_SYND_WR_FLUSHED, 0);
	assert_int_equal(rings_poll(w->rings, &wc), 8);
	assert_int_equal(wc.status, RDMAPMD_WC_MW_BIND_ERR);
	assert_int_equal(rings_poll(w->rings, &wc), -1);
	assert_int_equal(w->rings->cq.unmatched, 0);
	assert_int_equal(w->rings->qp.sq.tail, w->rings->qp.sq.head);
	assert_true(rnic_rdma_mw_bound(&w->window.mw));
}

/* A key that no window has, or had: nothing is believed. */
static void
test_keys_of_nobody(void **state)
{
	struct windows *w = *state;

	rnic_rdma_mw_invalidated(&w->rdma, 0xffffffff);
	rnic_rdma_mw_invalidated(&w->rdma, 0);
	rnic_rdma_mw_invalidated(&w->rdma, KEY ^ 1);
	rnic_rdma_mw_invalidated(&w->rdma, KEY ^ 0x100);
	assert_true(rnic_rdma_mw_bound(&w->window.mw));
	rnic_rdma_mw_invalidated(&w->rdma, KEY);
	assert_false(rnic_rdma_mw_bound(&w->window.mw));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bind_of_type_2),
		TEST(test_zero_based_bind),
		TEST(test_longest_bind),
		TEST(test_invalidation_of_type_2),
		TEST(test_bind_and_end_of_type_1),
		TEST(test_send_with_invalidate),
		TEST(test_it_goes_over_the_end_of_the_ring),
		TEST(test_among_others),
		TEST(test_a_queue_too_full_gets_empty),
		TEST(test_refused),
		TEST(test_completions),
		TEST(test_a_peer_invalidates),
		TEST(test_failure),
		TEST(test_keys_of_nobody),
	};

	return cmocka_run_group_tests_name("unit_rdma_mw", tests, NULL, NULL);
}
