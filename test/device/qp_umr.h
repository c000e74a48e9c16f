/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory windows, by WQEs as libmlx5 (rdma-core 44) writes them: bound and invalidated by b, used by its peer a. What the tests of
 * them do.
 */
#ifndef QP_UMR_H
#define QP_UMR_H

#include <stdlib.h>

#include "driver/mkey.h"
#include "qp_world.h"

#define ENTRIES	  4u /* libmlx5 rounds its one up to 64 bytes */
#define ALL_RR_RW (DRV_RR | DRV_RW | DRV_A)
#define RIGHTS	  (RNIC_UMR_MASK_LW | RNIC_UMR_MASK_RR | RNIC_UMR_MASK_RW | RNIC_UMR_MASK_A)
#define BIND                                                                                      \
	(RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY | RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR | \
	 RIGHTS)
#define INVALIDATE (RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY)

/* Where the windows of these tests are: in the middle of b's buffer. */
#define AT     4096u
#define LENGTH 512u

/* ---- Windows ---- */

static inline uint32_t
window_of(struct qw_two *two, bool type2, uint32_t pd)
{
	const struct drv_mkey mkey = { .mode = RNIC_MKEY_KLM,
				       .access = DRV_LR,
				       .pd = pd != 0 ? pd : two->b.end->dp.pd,
				       .free = true,
				       .umr = true,
				       .rinval = type2,
				       .room = ENTRIES,
				       .variant = 0x31 };
	uint32_t key;

	assert_int_equal(drv_mkey_create(&two->b.end->dp.drv, &mkey, &key), 0);
	return key;
}

static inline uint32_t
window(struct qw_two *two, bool type2)
{
	return window_of(two, type2, 0);
}

/* The memory region: its own side may read and write, peers nothing. */
static inline uint32_t
region(struct qw_two *two, uint32_t access)
{
	const struct qw_key_conf conf = { .start = two->in, .length = QW_BUFFER, .access = access };
	const uint32_t key = qw_key(two->b.end, &conf);

	assert_int_not_equal(key, 0);
	return key;
}

static inline uint32_t
next_of(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* What a test changes in a WQE before it is handed over. */
struct umr {
	uint8_t flags;
	uint64_t mask;
	uint32_t key, entries, offset, units; /* units 0: as many as it takes */
	struct rnic_mkc mkc;
	struct rnic_klm klm;
	const void *list; /* in place of klm, if not NULL */
	uint32_t list_bytes;
};

/* Its bytes behind the control segment, RNIC_WQE_DS_MAX units at most; @return units of all. */
static inline uint32_t
umr_fill(const struct umr *umr, uint8_t *bytes)
{
	const uint32_t list = umr->list != NULL ? umr->list_bytes / 16 : umr->entries;
	struct rnic_wqe_umr *control = (struct rnic_wqe_umr *)bytes;

	control->flags = umr->flags;
	control->translations_octwords = rnic_cpu_to_be16((uint16_t)umr->entries);
	control->translations_offset = rnic_cpu_to_be16((uint16_t)umr->offset);
	control->translations_offset_47_16 = rnic_cpu_to_be32(umr->offset >> 16);
	control->mkey_mask = rnic_cpu_to_be64(umr->mask);
	memcpy(bytes + 48, &umr->mkc, sizeof(umr->mkc));
	if (umr->list != NULL)
		memcpy(bytes + 112, umr->list, umr->list_bytes);
	else
		memcpy(bytes + 112, &umr->klm, sizeof(umr->klm));
	return umr->units != 0 ? umr->units : 8 + list;
}

static inline void
put_bytes(struct qw_qp *qp, uint32_t key, const uint8_t *bytes, uint32_t units, uint8_t ce)
{
	struct rnic_wqe_ctrl *ctrl = dp_wqe(&qp->sq, RNIC_WQE_UMR, units, ce);

	ctrl->immediate = rnic_cpu_to_be32(key);
	for (uint32_t i = 1; i < units; i++)
		memcpy(dp_wqe_at(&qp->sq, i), bytes + (i - 1) * 16ul, 16);
}

static inline void
put(struct qw_qp *qp, const struct umr *umr, uint8_t ce)
{
	uint8_t bytes[RNIC_WQE_DS_MAX * 16] = { 0 };
	const uint32_t units = umr_fill(umr, bytes);

	put_bytes(qp, umr->key, bytes, units, ce);
}

/* Type 2 is bound to qp, type 1 to none. */
static inline struct umr
bind(const struct qw_qp *qp, bool type2, uint32_t key, uint32_t mr, uint64_t address,
     uint32_t bytes, uint32_t access)
{
	struct umr umr = { .flags = RNIC_WQE_UMR_INLINE | RNIC_WQE_UMR_TRANSLATION_OFFSET,
			   .mask = BIND,
			   .key = key,
			   .entries = ENTRIES,
			   .klm = qw_entry(mr, address, bytes) };

	/* What is in no mask is not looked at. */
	memset(&umr.mkc, 0xff, sizeof(umr.mkc));
	rnic_mkc_set(&umr.mkc, RNIC_MKC_FREE, 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_MKEY_7_0, next_of(key) & 0xff);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_START_ADDR, address);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LEN, bytes);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LW, (access & DRV_LW) != 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RR, (access & DRV_RR) != 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RW, (access & DRV_RW) != 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_A, (access & DRV_A) != 0);
	if (type2) {
		umr.flags |= RNIC_WQE_UMR_CHECK_FREE;
		umr.mask |= RNIC_UMR_MASK_QPN;
		rnic_mkc_set(&umr.mkc, RNIC_MKC_QPN, qp->qpn);
	}
	return umr;
}

/* Type 2: LOCAL_INV, which sets the key's byte to 0; type 1: a bind of length 0. */
static inline struct umr
unbind(bool type2, uint32_t key)
{
	struct umr umr = { .flags = RNIC_WQE_UMR_INLINE | RNIC_WQE_UMR_TRANSLATION_OFFSET,
			   .mask = INVALIDATE,
			   .key = key };

	rnic_mkc_set(&umr.mkc, RNIC_MKC_FREE, 1);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_QPN, RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_MKEY_7_0, type2 ? 0 : next_of(key) & 0xff);
	if (type2) {
		umr.flags |= RNIC_WQE_UMR_CHECK_QPN;
		umr.mask |= RNIC_UMR_MASK_QPN;
	}
	return umr;
}

/* ---- The two ends ---- */

static inline void
forget(struct qw_two *two)
{
	while (dp_cq_next(&two->a_send) != NULL || dp_cq_next(&two->a_recv) != NULL ||
	       dp_cq_next(&two->b_send) != NULL || dp_cq_next(&two->b_recv) != NULL)
		;
	while (qw_event(two->a.end, NULL) != 0 || qw_event(two->b.end, NULL) != 0)
		;
}

/* Both queue pairs from the start; what is bound to them stays so. */
static inline void
again(struct qw_two *two)
{
	const struct qw_attr attr = qw_attr();

	qw_run(&two->qw);
	forget(two);
	qw_qp_to(&two->a, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	two->a.sq.producer = two->b.sq.producer = two->a.rq.producer = two->b.rq.producer = 0;
	dp_sq_record(&two->a.sq);
	dp_sq_record(&two->b.sq);
	dp_rq_record(&two->a.rq);
	dp_rq_record(&two->b.rq);
	qw_connect(&two->a, &two->b, &attr);
}

/* b's WQE is executed, and says so. */
static inline void
done(struct qw_two *two, const struct umr *umr)
{
	const uint16_t counter = two->b.sq.producer;
	const struct rnic_cqe *cqe;

	put(&two->b, umr, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->b.sq);
	qw_run(&two->qw);
	cqe = qw_expect(&two->b_send, RNIC_CQE_REQUESTER, counter, two->b.qpn);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) >> 24, RNIC_WQE_UMR);
	qw_expect_nothing(&two->b_send);
}

/* It is not, and nothing else happens than that b is in ERR. */
static inline void
fails(struct qw_two *two, const struct umr *umr, uint8_t syndrome)
{
	const uint16_t counter = two->b.sq.producer;

	put(&two->b, umr, RNIC_WQE_CE_ON_ERROR);
	dp_sq_ring(&two->b.sq);
	qw_run(&two->qw);
	qw_expect_error(&two->b_send, RNIC_CQE_REQUESTER_ERROR, counter, syndrome, two->b.qpn);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_event(two->b.end, NULL), 0);
	again(two);
}

/* A bound window, its key as it is now. */
static inline uint32_t
bound(struct qw_two *two, bool type2, uint32_t mr, uint32_t access)
{
	const uint32_t key = window(two, type2);
	const struct umr umr =
		bind(&two->b, type2, key, mr, (uintptr_t)two->in + AT, LENGTH, access);

	done(two, &umr);
	return next_of(key);
}

/* a's operation by that key: it is allowed. */
static inline void
works_at(struct qw_two *two, uint8_t opcode, uint32_t key, uint64_t at, uint32_t bytes)
{
	const uint16_t counter = two->a.sq.producer;

	qw_wqe(&two->a, opcode, two->out, bytes, (void *)(uintptr_t)at, key, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_done(two, counter);
}

static inline void
works(struct qw_two *two, uint8_t opcode, uint32_t key)
{
	works_at(two, opcode, key, (uintptr_t)two->in + AT, opcode >= RNIC_WQE_ATOMIC_CS ? 8 : 64);
}

/* It is refused, and b's memory is as it was. */
static inline void
refused_at(struct qw_two *two, uint8_t opcode, uint32_t key, uint64_t at, uint32_t bytes)
{
	const uint16_t counter = two->a.sq.producer;
	uint8_t before[2 * LENGTH];

	memcpy(before, two->in + AT - LENGTH / 2, sizeof(before));
	qw_wqe(&two->a, opcode, two->out, bytes, (void *)(uintptr_t)at, key, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_failed(two, counter, RNIC_SYND_REMOTE_ACCESS);
	qw_expect_event(two->b.end, RNIC_EVENT_WQ_ACCESS_ERROR, two->b.qpn);
	assert_memory_equal(two->in + AT - LENGTH / 2, before, sizeof(before));
	again(two);
}

static inline void
refused(struct qw_two *two, uint8_t opcode, uint32_t key)
{
	refused_at(two, opcode, key, (uintptr_t)two->in + AT,
		   opcode >= RNIC_WQE_ATOMIC_CS ? 8 : 64);
}

/* ---- A world of two queue pairs ---- */

static inline int
setup_lossy(void **state)
{
	struct qw_attr attr = qw_attr();

	attr.timeout = 6;
	return qw_setup(
		state,
		&(struct qw_conf){ .pair = true, .seed = 7, .drop_ppm = 50000, .dup_ppm = 50000 },
		&attr);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, qw_setup_pair, qw_teardown)
#define LOSSY(name) cmocka_unit_test_setup_teardown(name, setup_lossy, qw_teardown)

#endif
