/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The host of test/driver for tests by cmocka: what must succeed fails the test if it does not. Memory is named by IOVAs.
 */
#ifndef TEST_DEVICE_HARNESS_H
#define TEST_DEVICE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "driver/flow.h"
#include "driver/host.h"
#include "driver/mkey.h"
#include "driver/port.h"
#include "driver/rqt.h"
#include "driver/tir.h"
#include "driver/tis.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "prm/list.h"
#include "prm/reg.h"
#include "prm/uar.h"
#include "prm/wqe.h"

#define HN_MEMORY_BYTES (64u << 20)
#define HN_IOVA_BASE	UINT64_C(0x4000000000)

/* Device, memory, map, command queue address; a poller of its own if `poller` is NULL. conf may be NULL. */
void hn_start(struct hn *hn, struct softrnic_poller *poller, const struct softrnic_conf *conf);
void hn_stop(struct hn *hn);

/* Zeroed host memory, as an IOVA; it comes back with hn_stop(). */
uint64_t hn_alloc(struct hn *hn, size_t bytes, size_t align);
void *hn_va(const struct hn *hn, uint64_t iova);

uint32_t hn_read32(struct hn *hn, uint64_t offset);
void hn_write32(struct hn *hn, uint64_t offset, uint32_t value);
void hn_write64(struct hn *hn, uint64_t offset, uint64_t value);

/* Write address of the command queue; done by hn_start(), again after a reset. */
void hn_set_cmdq(struct hn *hn);

/* hn_cmd(); fails the test unless the status is OK. */
#define hn_cmd_ok(hn, in, in_bytes, out, out_bytes) \
	assert_int_equal(hn_cmd(hn, in, in_bytes, out, out_bytes), RNIC_STATUS_OK)

/* Header of an input. */
void hn_head(void *in, uint16_t opcode, uint16_t op_mod);
/* Commands of 16 bytes both ways: `number` stands at 0x8. */
int hn_simple(struct hn *hn, uint16_t opcode, uint16_t op_mod, uint32_t number, uint32_t *result);
int hn_destroy(struct hn *hn, uint16_t opcode, uint32_t number);
/* ALLOC_x; fails the test if refused. */
uint32_t hn_alloc_object(struct hn *hn, uint16_t opcode);

/* Bring-up: ENABLE_HCA, ISSI, boot pages, init pages, INIT_HCA; and back with all pages taken. */
void hn_bring_up(struct hn *hn);
void hn_enable(struct hn *hn); /* up to the boot pages */
uint32_t hn_take_pages(struct hn *hn, uint32_t count);
void hn_tear_down(struct hn *hn);

/* ---- Queues ---- */

struct hn_eq {
	uint32_t number, uar, log_size;
	uint64_t iova;
	uint32_t consumer;
};
/* mask: bit n for events of type n. Fails the test if refused. */
void hn_create_eq(struct hn *hn, struct hn_eq *eq, uint32_t uar, unsigned int log_size,
		  uint64_t mask, unsigned int vector);
bool hn_eq_next(struct hn *hn, struct hn_eq *eq, struct rnic_eqe *eqe);
void hn_eq_arm(struct hn *hn, const struct hn_eq *eq);

struct hn_cq {
	uint32_t number, log_size;
	uint64_t iova, dbrec;
	uint32_t consumer;
};
void hn_create_cq(struct hn *hn, struct hn_cq *cq, uint32_t uar, uint32_t eqn,
		  unsigned int log_size);
/* The next valid entry; does not write the consumer index. */
bool hn_cq_next(struct hn *hn, struct hn_cq *cq, struct rnic_cqe *cqe);

struct hn_wq {
	uint32_t number, log_size, log_stride;
	uint64_t iova, dbrec;
	uint16_t producer;
	uint32_t uar;
};
/* In state RST; rlky is off. */
void hn_create_sq(struct hn *hn, struct hn_wq *sq, uint32_t pd, uint32_t uar, uint32_t cqn,
		  uint32_t tisn, unsigned int log_size);
void hn_create_rq(struct hn *hn, struct hn_wq *rq, uint32_t pd, uint32_t cqn,
		  unsigned int log_stride, unsigned int log_size);
int hn_modify_sq(struct hn *hn, uint32_t sqn, unsigned int from, unsigned int to);
int hn_modify_rq(struct hn *hn, uint32_t rqn, unsigned int from, unsigned int to);

uint32_t hn_create_tis(struct hn *hn, uint32_t td);
uint32_t hn_create_rqt(struct hn *hn, const uint32_t *rqns, uint32_t count);
uint32_t hn_create_tir(struct hn *hn, uint32_t td, uint32_t rqn); /* direct */
/* A memory key over one piece of the harness's memory: MTT mode, 4 KiB pages, start address = iova. */
uint32_t hn_create_mkey(struct hn *hn, uint32_t pd, uint64_t iova, uint64_t length, bool write);

#define hn_get32(bytes, offset) \
	rnic_be32_to_cpu(((const struct rnic_be32 *)(const void *)(bytes))[(offset) / 4])

#endif
