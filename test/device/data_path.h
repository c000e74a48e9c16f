/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A host of test/driver with the objects that tests of the data path need, and a driver of queues: rings, records, doorbells
 * and payload are memory as every driver has it.
 */
#ifndef TEST_DATA_PATH_H
#define TEST_DATA_PATH_H

#include "driver/flow.h"
#include "driver/host.h"
#include "driver/mkey.h"
#include "driver/port.h"
#include "driver/rqt.h"
#include "driver/session.h"
#include "driver/tir.h"
#include "driver/tis.h"
#include "prm/cmd.h"
#include "prm/flow.h"
#include "prm/queue.h"
#include "prm/uar.h"
#include "prm/wqe.h"

#define DP_IOVA UINT64_C(0x40000000)
#ifndef DP_LOG_BYTES
#define DP_LOG_BYTES 26
#endif
#define DP_BYTES       (1u << DP_LOG_BYTES)
#define DP_UARS	       3
#define DP_EQ_LOG_SIZE 9

struct dp {
	struct drv drv; /* the host's, which keeps the last syndrome */
	struct hn hn;
	struct softrnic_poller *poller;
	struct softrnic *dev;
	uint8_t *memory; /* DP_BYTES, mapped at DP_IOVA */
	uint8_t *bar;	 /* the UAR pages that can be mapped, which begin there in BAR0: */
	uint64_t bar_offset;
	uint32_t pd, td, tis, lkey, eqn, q_counter;
	uint32_t uars[DP_UARS]; /* the first one is the EQ's */
	uint32_t ts_format;	/* of SQs, RQs and QPs that are made: enum rnic_ts_format */
	struct rnic_eqe *eqes;
	uint32_t eq_entries, eq_consumer;
	uint32_t root;	   /* table */
	uint32_t syndrome; /* of the last command */
};

struct dp_cq {
	struct dp *dp;
	uint32_t cqn, uar, log_size, bytes, consumer;
	uint8_t *ring;
	struct rnic_cq_dbrec *dbrec;
	struct drv_session session; /* of a CQ with compressed completions */
};

struct dp_cq_conf {
	uint32_t log_size, uar;
	bool big, collapsed, ignore_overrun; /* big: 128-byte entries */
	uint16_t max_count, period_us;	     /* moderation */
	bool compressed;		     /* each completion is told of all the same */
	enum rnic_mini_cqe_format format;
};

struct dp_sq {
	struct dp *dp;
	struct dp_cq *cq;
	uint32_t sqn, uar, log_size, half;
	uint16_t producer; /* WQEBBs */
	uint8_t *ring;
	struct rnic_wq_dbrec *dbrec;
	struct rnic_wqe_ctrl *last; /* of the last WQE written */
};

struct dp_rq {
	struct dp *dp;
	struct dp_cq *cq;
	uint32_t rqn, tirn, log_size, log_stride;
	uint16_t producer;
	uint8_t *ring;
	struct rnic_wq_dbrec *dbrec;
};

/*
 * Make a device in READY state on a poller (NULL: one of its own). Returns 0 or -errno, or a command status. quick: commands
 * by hn_quick(). Its vport lets all through, so that flow tables decide alone.
 */
int dp_open_quick(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf);
int dp_open(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf);
/* The same on islands of memory (struct hn_conf), with quick commands. ready false: the device is left off. */
int dp_open_islands(struct dp *dp, struct softrnic_poller *poller, const struct softrnic_conf *conf,
		    bool ready);
/* The next session on a device of islands that was reset and has no maps: its memory is given out from the start. */
int dp_restart(struct dp *dp);
int dp_close(struct dp *dp);
/* Teardown of a test whose state begins with a poller (struct softrnic_poller *) and its only device (struct dp). */
int dp_teardown(void **state);

/* A device with one queue each way, which is what most tests need. */
struct dp_side {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;   /* all frames go to it */
	uint8_t *out, *in; /* where frames are sent from and where they are received */
	uint32_t taken;	   /* of those received */
};

struct dp_side_conf {
	struct softrnic_conf device;
	bool islands; /* dp_open_islands() */
	uint16_t mtu; /* drv_mtu_set(); 0: as it is */
	bool counted; /* the receive queue has a counter set */
	uint32_t ts_format;
	struct dp_cq_conf tx_cq, rx_cq;
	uint32_t sq_log_size, sq_uar, rq_log_size, rq_log_stride;
	unsigned int sq_flags;
	size_t out_bytes, in_bytes;
};

/* On a poller, or one of its own (NULL). Returns as dp_open(). */
int dp_side_open(struct dp_side *side, struct softrnic_poller *poller,
		 const struct dp_side_conf *conf);
int dp_side_close(struct dp_side *side);
/* cmocka's: *state becomes a side, and is one. */
int dp_side_setup(void **state, const struct dp_side_conf *conf);
int dp_side_teardown(void **state);

/* Memory that the device reaches; zeroed. NULL: there is no more. */
void *dp_alloc(struct dp *dp, size_t bytes, size_t align);
uint64_t dp_iova(const struct dp *dp, const void *memory);

/* Run a command; returns its status. The opcode need not be in the input yet. */
int dp_command(struct dp *dp, uint16_t opcode, uint16_t op_mod, void *in, size_t in_bytes,
	       void *out, size_t out_bytes);
/* Commands that take or give just a number. */
int dp_destroy(struct dp *dp, uint16_t opcode, uint32_t number);
uint32_t dp_create_simple(struct dp *dp, uint16_t opcode);

int dp_cq_create(struct dp *dp, struct dp_cq *cq, const struct dp_cq_conf *conf);
/* flags of the SQ context, e.g. dp_sq_create(dp, sq, cq, 6, 1, flags) */
#define DP_SQ_MULTI_PACKET 0x1
#define DP_SQ_FLUSH	   0x2
#define DP_SQ_RLKY	   0x4
#define DP_SQ_USER_INDEX   0xabcdef
int dp_sq_create(struct dp *dp, struct dp_sq *sq, struct dp_cq *cq, uint32_t log_size, uint32_t uar,
		 unsigned int flags);
int dp_rq_create(struct dp *dp, struct dp_rq *rq, struct dp_cq *cq, uint32_t log_size,
		 uint32_t log_stride);
int dp_sq_modify(struct dp_sq *sq, uint32_t from, uint32_t to);
int dp_rq_modify(struct dp_rq *rq, uint32_t from, uint32_t to);
/* Through RST to RDY, with indices that begin again. */
int dp_sq_restart(struct dp_sq *sq, uint32_t from);
int dp_rq_restart(struct dp_rq *rq, uint32_t from);
uint32_t dp_sq_state(struct dp_sq *sq);
uint32_t dp_rq_state(struct dp_rq *rq);
/* A direct TIR for the queue, once. */
int dp_tir_create(struct dp_rq *rq);

/* A key to be read, of so many pages of 2^log_page bytes: the first at iova, each `step` behind the one before. */
int dp_key_create(struct dp *dp, uint32_t pages, uint32_t log_page, uint64_t iova, uint64_t step,
		  uint32_t *number);

/* Everything that arrives goes to this queue: a root table with one group that matches all. */
int dp_steer_all(struct dp_rq *rq);

/* The queue's next WQE, of `ds` units, zeroed but for its control segment; wraps per WQEBB with dp_wqe_at(). */
struct rnic_wqe_ctrl *dp_wqe(struct dp_sq *sq, uint8_t opcode, uint32_t ds, uint8_t ce);
/* Unit `ds` of the WQE that dp_wqe() began. */
void *dp_wqe_at(struct dp_sq *sq, uint32_t ds);
void dp_wqe_data(struct dp_sq *sq, uint32_t ds, const void *data, uint32_t bytes);
/* Record and doorbell: hand over what was written. */
void dp_sq_record(struct dp_sq *sq);
void dp_sq_ring(struct dp_sq *sq);
/* SEND of one buffer with a completion, rung. */
void dp_send(struct dp_sq *sq, const void *data, uint32_t bytes);

/* Post one buffer of `bytes` to the RQ (one data segment, then the list's end). */
void dp_post(struct dp_rq *rq, void *data, uint32_t bytes);
void dp_rq_record(struct dp_rq *rq);

/* Poll the device until it is idle; returns the work done. */
unsigned int dp_run(struct dp *dp);
/* The next completion, or NULL; taken with its consumer index written back. */
const struct rnic_cqe *dp_cq_next(struct dp_cq *cq);
/* The entry as it is. */
const struct rnic_cqe *dp_cq_peek(struct dp_cq *cq);
void dp_cq_arm(struct dp_cq *cq, uint32_t sequence, bool solicited);
/* The next event, or NULL. */
const struct rnic_eqe *dp_eq_next(struct dp *dp);
/* The device learns of those that were taken. */
void dp_eq_seen(struct dp *dp);

/*
 * What the device's clock says now, in ns: the internal timer, or UTC; and what a completion says, whose queue has that one
 * (UINT64_MAX: no time).
 */
uint64_t dp_clock(const struct dp *dp, bool utc);
uint64_t dp_cqe_time(const struct rnic_cqe *cqe, bool utc);

struct softrnic_stats dp_stats(struct dp *dp);

#endif
