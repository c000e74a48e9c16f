/* SPDX-License-Identifier: BSD-3-Clause */

/* What is wrong with windows: with a bind, an invalidation, the use of one. */

#include <errno.h>

#include "rdma_matrix.h"

#define BYTES (2 * RDMA_HALF)

/* ---- A bind ---- */

void
rdma_window_outside(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.addr = (uintptr_t)attempt->own->memory + BYTES - 63;
	attempt->wr.wr.bind_mw.length = 64;
}

void
rdma_window_before(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.addr = (uintptr_t)attempt->own->memory - 1;
	attempt->wr.wr.bind_mw.length = 64;
}

void
rdma_window_too_long(struct rdma_attempt *attempt)
{
	/* As if there were a region of that size. */
	attempt->mr = *attempt->wr.wr.bind_mw.mr;
	attempt->mr.length = RDMAPMD_MW_MAX_LENGTH + 1;
	attempt->wr.wr.bind_mw.mr = &attempt->mr;
	attempt->wr.wr.bind_mw.addr = attempt->mr.iova;
	attempt->wr.wr.bind_mw.length = RDMAPMD_MW_MAX_LENGTH + 1;
}

void
rdma_window_empty(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.length = 0;
}

void
rdma_window_not_bindable(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.mr = attempt->own->mr[RDMA_REGION_WRITE];
}

void
rdma_window_read_only(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.mr = attempt->own->mr[RDMA_REGION_READ];
	attempt->wr.wr.bind_mw.access = RDMAPMD_ACCESS_REMOTE_WRITE;
}

void
rdma_window_local_right(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.access |= RDMAPMD_ACCESS_LOCAL_WRITE;
}

void
rdma_window_of_zero_based(struct rdma_attempt *attempt)
{
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_reg(attempt->own->pd, attempt->own->memory, 4096,
					RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_MW_BIND |
						RDMAPMD_ACCESS_ZERO_BASED,
					&mr),
			 0);
	attempt->mr = *mr;
	assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	attempt->wr.wr.bind_mw.mr = &attempt->mr;
	attempt->wr.wr.bind_mw.addr = 0;
	attempt->wr.wr.bind_mw.length = 64;
}

void
rdma_window_foreign_region(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.mr = attempt->own->mr[RDMA_REGION_FOREIGN];
}

/* Another one for the attempt. */
static void
replace_window(struct rdma_attempt *attempt, struct rdmapmd_pd *pd, enum rdmapmd_mw_type type)
{
	struct rdma_end *own = attempt->own;

	rdma_end_window_free(own);
	assert_int_equal(rdmapmd_mw_alloc(pd, type, &own->window), 0);
	attempt->wr.wr.bind_mw.mw = own->window;
	attempt->wr.wr.bind_mw.rkey = rdmapmd_mw_next_rkey(own->window);
}

void
rdma_window_foreign(struct rdma_attempt *attempt)
{
	replace_window(attempt, attempt->own->other_pd, RDMAPMD_MW_TYPE_2);
}

void
rdma_window_type_1(struct rdma_attempt *attempt)
{
	replace_window(attempt, attempt->own->pd, RDMAPMD_MW_TYPE_1);
}

/* A region there is not: what a window would look like as one. */
void
rdma_window_on_window(struct rdma_attempt *attempt)
{
	attempt->mr = *attempt->wr.wr.bind_mw.mr;
	attempt->mr.lkey = attempt->mr.rkey = attempt->own->window->rkey;
	attempt->wr.wr.bind_mw.mr = &attempt->mr;
}

void
rdma_window_present_key(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.rkey = attempt->own->window->rkey;
}

void
rdma_window_other_key(struct rdma_attempt *attempt)
{
	attempt->wr.wr.bind_mw.rkey ^= 0x100;
}

void
rdma_window_bound(struct rdma_attempt *attempt)
{
	rdma_end_window(attempt->own, RDMA_WINDOW_TYPE_2);
	attempt->wr.wr.bind_mw.mw = attempt->own->window;
	attempt->wr.wr.bind_mw.rkey = rdmapmd_mw_next_rkey(attempt->own->window);
}

/* ---- An invalidation by its own side ---- */

void
rdma_inval_region(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = attempt->own->keys[RDMA_REGION_ALL];
}

void
rdma_inval_foreign(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = attempt->own->keys[RDMA_REGION_FOREIGN];
}

void
rdma_inval_type_1(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = rdma_end_window(attempt->own, RDMA_WINDOW_TYPE_1);
}

void
rdma_inval_other_qp(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = rdma_end_window(attempt->own, RDMA_WINDOW_OTHER_QP);
}

void
rdma_inval_stale(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = rdma_end_window(attempt->own, RDMA_WINDOW_TYPE_2) ^ 1;
}

/* ---- The peer's windows ---- */

static uint32_t
peer_window(struct rdma_attempt *attempt, enum rdma_window kind)
{
	return rdma_peer_do(attempt->peer,
			    &(struct rdma_order){ .kind = RDMA_ORDER_WINDOW, .window = kind })
		.window;
}

void
rdma_inval_peer_region(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = attempt->there.keys[RDMA_REGION_ALL];
}

void
rdma_inval_peer_foreign(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = attempt->there.keys[RDMA_REGION_FOREIGN];
}

void
rdma_inval_peer_type_1(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = peer_window(attempt, RDMA_WINDOW_TYPE_1);
}

void
rdma_inval_peer_other_qp(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = peer_window(attempt, RDMA_WINDOW_OTHER_QP);
}

void
rdma_inval_peer_again(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = peer_window(attempt, RDMA_WINDOW_INVALIDATED);
}

void
rdma_inval_peer_free(struct rdma_attempt *attempt)
{
	attempt->wr.invalidate_rkey = peer_window(attempt, RDMA_WINDOW_FREE);
}

void
rdma_use_other_qp(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, peer_window(attempt, RDMA_WINDOW_OTHER_QP));
}

void
rdma_use_unbound(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, peer_window(attempt, RDMA_WINDOW_UNBOUND));
}

void
rdma_use_invalidated(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, peer_window(attempt, RDMA_WINDOW_INVALIDATED));
}

void
rdma_use_freed(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, peer_window(attempt, RDMA_WINDOW_FREED));
}

void
rdma_use_without_right(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, peer_window(attempt, RDMA_WINDOW_NO_RIGHTS));
}

/* The region has it, the window has not. */
void
rdma_use_outside(struct rdma_attempt *attempt)
{
	rdma_set_rkey(attempt, peer_window(attempt, RDMA_WINDOW_TYPE_2));
	attempt->wr.wr.rdma.remote_addr = attempt->there.address + RDMA_FROM - 8;
}

/* ---- Calls ---- */

static int
call(struct rdma_attempt *attempt, enum rdmapmd_mw_type type, unsigned int access, uint32_t at,
     unsigned int flags)
{
	struct rdma_end *own = attempt->own;
	const struct rdmapmd_mw_bind_attr attr = { .wr_id = 1,
						   .send_flags = flags,
						   .mr = own->mr[RDMA_REGION_ALL],
						   .addr = (uintptr_t)own->memory + at,
						   .length = 64,
						   .access = access };

	rdma_end_window_free(own);
	assert_int_equal(rdmapmd_mw_alloc(own->pd, type, &own->window), 0);
	return rdmapmd_mw_bind(own->qp, own->window, &attr);
}

int
rdma_call_type_2(struct rdma_attempt *attempt)
{
	return call(attempt, RDMAPMD_MW_TYPE_2, RDMAPMD_ACCESS_REMOTE_READ, 0, 0);
}

/* Behind those that fit a request's member. */
int
rdma_call_flag(struct rdma_attempt *attempt)
{
	return call(attempt, RDMAPMD_MW_TYPE_1, RDMAPMD_ACCESS_REMOTE_READ, 0, UINT8_MAX + 1);
}

int
rdma_call_zero_based(struct rdma_attempt *attempt)
{
	return call(attempt, RDMAPMD_MW_TYPE_1,
		    RDMAPMD_ACCESS_REMOTE_READ | RDMAPMD_ACCESS_ZERO_BASED, 0, 0);
}

int
rdma_call_outside(struct rdma_attempt *attempt)
{
	return call(attempt, RDMAPMD_MW_TYPE_1, RDMAPMD_ACCESS_REMOTE_READ, BYTES - 63, 0);
}

/* By either way, and also while the invalidation was not polled; then it goes. */
int
rdma_dereg_bound(struct rdma_attempt *attempt)
{
	struct rdma_end *own = attempt->own;
	struct rdmapmd_mr *mr = own->mr[RDMA_REGION_ALL], *region;
	struct rdmapmd_send_wr wr;
	int ret;

	rdma_end_window(own, RDMA_WINDOW_TYPE_1);
	ret = rdmapmd_mr_dereg(mr);
	rdma_end_window(own, RDMA_WINDOW_TYPE_2);
	assert_int_equal(rdmapmd_mr_dereg(mr), ret);
	assert_int_equal(rdmapmd_mr_rereg(mr, RDMAPMD_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 ret);
	/* One that can be spared. */
	assert_int_equal(
		rdmapmd_mr_reg(own->pd, own->memory, 4096, RDMAPMD_ACCESS_MW_BIND, &region), 0);
	rdma_end_window(own, RDMA_WINDOW_FREE);
	wr = rdma_end_bind(own);
	wr.wr.bind_mw.mr = region;
	wr.wr.bind_mw.addr = region->iova;
	wr.wr.bind_mw.length = 64;
	wr.wr.bind_mw.access = RDMAPMD_ACCESS_REMOTE_READ;
	rdma_post(own->qp, &wr);
	assert_int_equal(rdmapmd_mr_dereg(region), ret);
	rdma_expect(own->cq, 1, RDMAPMD_WC_BIND_MW);
	assert_int_equal(rdmapmd_mr_dereg(region), ret);
	wr = (struct rdmapmd_send_wr){ .wr_id = 2,
				       .opcode = RDMAPMD_WR_LOCAL_INV,
				       .send_flags = RDMAPMD_SEND_SIGNALED,
				       .invalidate_rkey = own->window->rkey };
	rdma_post(own->qp, &wr);
	assert_int_equal(rdmapmd_mr_dereg(region), ret);
	rdma_expect(own->cq, 2, RDMAPMD_WC_LOCAL_INV);
	assert_int_equal(rdmapmd_mr_dereg(region), 0);
	return ret;
}
