/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A queue pair, its CQ and an SRQ in plain memory, with the test in the place of the device. Rings are small, so that each
 * test can go around them.
 */
#ifndef RDMA_RINGS_H
#define RDMA_RINGS_H

#include <stdatomic.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/bfreg.h"
#include "prm/cqe.h"
#include "prm/dump.h"
#include "prm/wqe.h"
#include "rdma/rdma.h"
#include "main.h"

#define RINGS_LOG_SQ  4 /* WQEBBs */
#define RINGS_LOG_RQ  2
#define RINGS_LOG_CQ  3
#define RINGS_STRIDE  64 /* bytes of a receive WQE: 4 segments, or 3 behind an SRQ's link */
#define RINGS_QPN     0x000123u
#define RINGS_CQN     0x000456u
#define RINGS_BF_HALF 256
/* A WQE of 3 WQEBBs: 5 of them fit the ring. */
#define RINGS_MAX_POST	 5
#define RINGS_MAX_GS	 9
#define RINGS_MAX_INLINE 140

struct rings {
	struct rnic_rdma_qp qp;
	struct rnic_rdma_cq cq;
	struct rnic_rdma_srq srq;
	uint8_t sq[1 << RINGS_LOG_SQ][RNIC_WQEBB_BYTES] __attribute__((aligned(64)));
	uint8_t rq[1 << RINGS_LOG_RQ][RINGS_STRIDE];
	uint8_t srq_ring[1 << RINGS_LOG_RQ][RINGS_STRIDE];
	struct rnic_cqe cqes[1 << RINGS_LOG_CQ];
	struct rnic_rdma_wqe wqes[1 << RINGS_LOG_SQ];
	uint64_t rq_wr_ids[1 << RINGS_LOG_RQ], srq_wr_ids[1 << RINGS_LOG_RQ];
	_Atomic uint32_t srq_next[1 << RINGS_LOG_RQ];
	struct rnic_rdma_kind kinds[RNIC_RDMA_KINDS];
	struct rnic_wq_dbrec dbrec;
	struct rnic_cq_dbrec cq_dbrec;
	struct rnic_be32 srq_dbrec;
	uint8_t bf[2 * RINGS_BF_HALF] __attribute__((aligned(512)));
	struct rnic_bfreg bf_register;
	uint64_t arm_register;
	uint32_t produced; /* entries that the device has written, free running */
};

/* Setup and teardown of a test: *state is a struct rings, in a state that takes everything. */
#define RINGS_TEST(name) cmocka_unit_test_setup_teardown(name, rings_setup, rings_teardown)
int rings_setup(void **state);
int rings_teardown(void **state);
/* Queue and WQE counters at `wqe`, the CQ's index at `cqe`. Nothing is under way. */
void rings_start_at(struct rings *rings, uint32_t wqe, uint32_t cqe);

/* How often the library was told that the queue pair is in error. */
extern unsigned int rings_in_error, rings_sends_in_error;
/* The device is lost; events that it did not raise. */
extern atomic_bool rings_lost;
extern unsigned int rings_woken;

/* What the library says of a bind; the key that the next window gets, and the one that was freed last. */
extern bool rings_may_bind;
extern uint32_t rings_window_key, rings_window_freed;

/* WQEBBs of WQEs that were dumped, places of entries. */
#define RINGS_DUMPS 8
extern unsigned int rings_dumped[RINGS_DUMPS], rings_dump_count;
extern enum rnic_wqe_kind rings_dumped_kind; /* of the last WQE */
/* In the middle of a poll that dumps: once for each entry. */
extern void (*rings_in_poll)(void);

/* The device writes an entry. */
struct rnic_cqe *rings_complete(struct rings *rings, enum rnic_cqe_opcode opcode, uint32_t qpn,
				uint16_t counter);
/* ... of the request whose WQE starts at this WQEBB. */
void rings_complete_send(struct rings *rings, uint16_t counter);
void rings_fail(struct rings *rings, enum rnic_cqe_opcode opcode, uint16_t counter,
		uint8_t syndrome, uint8_t vendor);

uint16_t rings_post(struct rings *rings, const struct rdmapmd_send_wr *wr, uint16_t n);
/* Poll for at most one; the request's number, or -1. */
int rings_poll(struct rings *rings, struct rdmapmd_wc *wc);

/* `hex`: bytes with or without spaces. */
void rings_assert_bytes(const void *bytes, const char *hex);

#endif
