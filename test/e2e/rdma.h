/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two queue pairs of one process that are connected with each other over the loop wire, and memory with a pattern: what
 * programs on the library's API share.
 */
#ifndef E2E_RDMA_H
#define E2E_RDMA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rdmapmd.h>

#define RDMA_HALF      (9u << 20) /* where the second half of the memory begins, which is written to */
#define RDMA_GUARD     64u	  /* bytes around what is written that must stay */
#define RDMA_UNTOUCHED 0xa5

struct rdma_pair {
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_comp_channel *channel;
	struct rdmapmd_cq *cq[2];
	struct rdmapmd_srq *srq; /* of the second one; may be NULL */
	struct rdmapmd_td *td;	 /* of the first one; may be NULL */
	struct rdmapmd_qp *qp[2];
	struct rdmapmd_mr *mr;
	uint8_t *memory;
};

/* How the two are made; members that are 0 have defaults. */
struct rdma_conf {
	uint32_t depth;		     /* requests of each queue; 64 */
	uint32_t sges;		     /* 4 */
	uint32_t inline_bytes;	     /* 64 */
	uint32_t sgid_index;	     /* 0: the link-local one */
	uint32_t access;	     /* of peers, through the queue pair; all that the device can */
	enum rdmapmd_mtu mtu;	     /* 1024 */
	uint8_t timeout;	     /* rdma_timeout(); RDMA_NONE: for ever */
	uint8_t retry_cnt;	     /* 7; RDMA_NONE: 0 */
	uint8_t rnr_retry;	     /* 7; RDMA_NONE: 0 */
	uint8_t min_rnr_timer;	     /* 1; RDMA_NONE: 0 */
	uint8_t traffic_class;	     /* 0 */
	uint8_t dmac[6];	     /* of the peer; 0: it follows from its address */
	uint8_t rd_atomic;	     /* 16; RDMA_NONE: 0 */
	uint32_t wc_flags;	     /* of the CQs */
	uint32_t psn;		     /* where both begin, more or less; next to the wrap */
	enum rdmapmd_qp_state up_to; /* how far to connect; RTS */
	bool srq, td, channel, sq_sig_all;
	enum rdmapmd_qp_type type; /* RC */
};
#define RDMA_NONE 0xff
#define RDMA_QKEY 0x11223344 /* of UD */

/* The device that has both. */
extern const char *rdma_device;

/* A ConnectX-4 Lx has none in the host's byte order. */
bool rdma_has_atomics(struct rdmapmd_context *context);

/* Half a second until a peer is given up; two with sanitizers, as a thread may be away for longer on a busy machine then. */
uint8_t rdma_timeout(void);

/* Open it and connect two queue pairs; fails the test if anything does. */
void rdma_open(struct rdma_pair *pair, const struct rdma_conf *conf);
/* All of it but the memory, which the next one uses; it must go without an error. */
void rdma_close(struct rdma_pair *pair);
/* The memory, which rdma_open() allocates if there is none. */
void rdma_alloc(struct rdma_pair *pair);
void rdma_free(struct rdma_pair *pair);
/* One way from RESET to RTS, to that queue pair. */
void rdma_connect(struct rdmapmd_qp *qp, const struct rdmapmd_qp *to, const struct rdma_conf *conf);
/* The same, to wherever it is. */
void rdma_connect_to(struct rdmapmd_qp *qp, uint32_t qpn, const union rdmapmd_gid *gid,
		     const struct rdma_conf *conf);
/* One that is connected with itself, for NOPs: 16 requests, none received. */
struct rdmapmd_qp *rdma_to_itself(struct rdmapmd_pd *pd, struct rdmapmd_cq *cq);
void rdma_to(struct rdmapmd_qp *qp, enum rdmapmd_qp_state state);

/* Until port 1's link is up: an ethdev that is not started does not tell of it. */
void rdma_wait_link(struct rdmapmd_context *context);

/* The next completion, or a test that fails after some seconds. */
struct rdmapmd_wc rdma_wait(struct rdmapmd_cq *cq);
/* The same within that time, or five times as much with sanitizers. */
struct rdmapmd_wc rdma_wait_ms(struct rdmapmd_cq *cq, uint64_t ms);
/* It must be this request's, and a good one. */
struct rdmapmd_wc rdma_expect(struct rdmapmd_cq *cq, uint64_t wr_id, enum rdmapmd_wc_opcode opcode);
void rdma_expect_status(struct rdmapmd_cq *cq, uint64_t wr_id, enum rdmapmd_wc_status status);
/* Nothing comes for a while. */
void rdma_expect_nothing(struct rdmapmd_cq *cq);

/* A piece of the region that both use. */
static inline struct rdmapmd_sge
rdma_sge(const struct rdma_pair *pair, uint32_t offset, uint32_t length)
{
	return (struct rdmapmd_sge){ (uintptr_t)pair->memory + offset, length, pair->mr->lkey };
}
/* A request of the first queue pair: signaled, from the first half, to the second one. */
struct rdmapmd_send_wr rdma_request(const struct rdma_pair *pair, enum rdmapmd_wr_opcode opcode,
				    uint64_t wr_id, const struct rdmapmd_sge *sge);
void rdma_post(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr);
/*
 * Post it at the first end, and wait until it is under way: the number of the next packet has moved. A device that is busy may take its
 * time.
 */
void rdma_post_under_way(struct rdma_pair *pair, const struct rdmapmd_send_wr *wr);
void rdma_post_recv(struct rdmapmd_qp *qp, uint64_t wr_id, const struct rdmapmd_sge *sge,
		    uint16_t count);

/* The event of the channel, taken and acknowledged, or NULL within the time. */
struct rdmapmd_cq *rdma_wait_channel(const struct rdma_pair *pair, int ms);
/* Messages at any time, to somebody who polls, arms, polls and sleeps. */
void rdma_sleep_for_each(struct rdma_pair *pair, uint32_t count);
/* Events wait for completions, or for a time. */
void rdma_moderate(struct rdma_pair *pair);
/* A child while a receive into memory that is not EAL's is posted. */
void rdma_fork_between(struct rdma_pair *pair, bool in_another_process);

/* A pattern in the first half, nothing in the second. */
void rdma_fill(struct rdma_pair *pair, uint32_t length);
/* The second half has `length` bytes of the first, from `from` on, at `to`; around it nothing. */
void rdma_check(const struct rdma_pair *pair, uint32_t from, uint32_t to, uint32_t length);

#endif
