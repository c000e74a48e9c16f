/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A host: memory, a device that may reach it, and the driver that brings the device up. Everything runs in the calling
 * thread: a command is rung, then the device polled.
 *
 * Its memory is plain memory of the process; the device reaches it at IOVAs that are unlike its addresses. The device is
 * known by softrnic.h alone, so whoever offers the functions of that header is driven as well.
 */
#ifndef TEST_DRIVER_HOST_H
#define TEST_DRIVER_HOST_H

#include "cq.h"
#include "driver.h"
#include "eq.h"
#include "prm/cmdq.h"
#include "rq.h"
#include "softrnic/softrnic.h"
#include "sq.h"

#define HN_SLOTS 32

/* What hn_cmd() returns beside a command status. */
#define HN_DELIVERY(status) (0x100 | (status)) /* not delivered, for this reason */
#define HN_PENDING	    (-1)	       /* not completed */

struct hn {
	struct drv drv; /* by mailboxes, see hn_cmd(); or hn_quick() */
	struct softrnic_poller *poller;
	bool own_poller;
	struct softrnic *dev;
	uint8_t *memory; /* aligned to its size, so that one translation covers it */
	uint64_t iova;	 /* of memory */
	size_t bytes;
	size_t used;	/* bytes handed out; a test may set it back */
	size_t touched; /* the most that it ever was: what lies behind is zeros */
	bool islands;
	uint8_t *reserved; /* memory, and around it what nobody may touch */
	uint64_t cmdq;	   /* iova */
	uint8_t token;	   /* of the last command */
	/* On whose behalf a command is sent; NULL: the kernel's, always. */
	uint16_t (*uid)(uint16_t opcode);
	struct {
		uint64_t in,
			out; /* iovas of the chains' first blocks, 1024 bytes each, neighbours */
		uint32_t in_blocks, out_blocks;
		uint32_t out_bytes;
	} slots[HN_SLOTS];
};

struct hn_conf {
	struct softrnic_poller *poller;	    /* NULL: one of its own */
	const struct softrnic_conf *device; /* may be NULL, and so may its name and its seed */
	size_t bytes;			    /* of memory, a power of two */
	uint64_t iova;
	/*
	 * Strict memory: each hn_memory() is a map of its own, exactly as long as was asked for, and what lies between is
	 * mapped for nobody and poisoned for AddressSanitizer.
	 */
	bool islands;
};

/* The device is off, and has no command queue yet. Returns 0 or -errno. */
int hn_open(struct hn *hn, const struct hn_conf *conf);
/* After hn_open(), even if that failed. Returns 0 or -errno. */
int hn_close(struct hn *hn);

/* Memory that the device reaches; zeroed. NULL: there is no more. */
void *hn_memory(struct hn *hn, size_t bytes, size_t align);
/* The same; ends the program where there is no more. */
void *hn_need(struct hn *hn, size_t bytes, size_t align);
uint64_t hn_iova(const struct hn *hn, const void *memory);

/* ---- Commands by mailboxes ---- */

/* A command queue in memory; write its address, which is done again after a reset. Returns 0 or -errno. */
int hn_open_cmdq(struct hn *hn);
int hn_tell_cmdq(struct hn *hn);

/* Fill slot and mailboxes and give the slot to the device, without ringing. */
void hn_cmd_post(struct hn *hn, unsigned int slot, const void *in, uint32_t in_bytes,
		 uint32_t out_bytes);
int hn_ring(struct hn *hn, uint32_t slots);
struct rnic_cmdq_entry *hn_slot(struct hn *hn, unsigned int slot);
/* Command status, HN_DELIVERY() or HN_PENDING; copies the output. */
int hn_cmd_result(struct hn *hn, unsigned int slot, void *out, uint32_t out_bytes);
/* All of it on slot 0: post, ring, poll, result. */
int hn_cmd(struct hn *hn, const void *in, uint32_t in_bytes, void *out, uint32_t out_bytes);

/*
 * Commands of `drv` go straight to the device's table of commands from now on, without a command queue and without a poll:
 * for tests that count polls or accesses to memory, and where there are thousands of commands a second.
 */
void hn_quick(struct hn *hn);

/* ---- Bring-up; statuses of commands ---- */

int hn_query_pages(struct hn *hn, uint16_t op_mod, int32_t *count);
int hn_give_pages(struct hn *hn, uint32_t count);
/* ENABLE_HCA, ISSI, boot pages; and the rest: init pages, INIT_HCA. */
int hn_try_enable(struct hn *hn);
int hn_try_init(struct hn *hn);

/* ---- Queues with memory of the host's: the ring, all of it the device's, and the record; the rest is as `conf` says ---- */

int hn_eq_open(struct hn *hn, struct drv_eq *conf, uint32_t *eqn);
int hn_cq_open(struct hn *hn, struct drv_cq *conf, uint32_t *cqn);
int hn_sq_open(struct hn *hn, struct drv_sq *conf, uint32_t *sqn);
int hn_rq_open(struct hn *hn, struct drv_rq *conf, uint32_t *rqn);
/* What stands at an IOVA. */
void *hn_at(const struct hn *hn, uint64_t iova);

#endif
