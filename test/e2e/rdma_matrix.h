/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What may be asked of connections and of datagrams and what may not, as a list: the test goes through it, and the document
 * doc/features/rdma_operations.md is printed from it.
 */
#ifndef E2E_RDMA_MATRIX_H
#define E2E_RDMA_MATRIX_H

#include "rdma_end.h"

#define RDMA_SGES_MAX 64
#define RDMA_MAD      256u /* the longest message of queue pair 1 */
/* What is no send request, behind enum rdmapmd_wr_opcode. */
#define RDMA_RECV    (RDMAPMD_WR_SEND_WITH_INV + 1)
#define RDMA_MW_BIND (RDMA_RECV + 1)
#define RDMA_DEREG   (RDMA_RECV + 2)
#define RDMA_OPS     (RDMA_RECV + 3)

struct rdma_operation {
	const char *name;
	enum rdmapmd_wc_opcode completes_as;
	enum rdmapmd_wc_opcode peer_as; /* NOP: nothing of the peer's completes */
	bool message;			/* data of any length */
	bool may_inline;
	const char *bytes, *segments;
};
extern const struct rdma_operation rdma_operations[RDMA_OPS];

/* A request that is about to be posted. */
struct rdma_attempt {
	struct rdma_end *own;
	struct rdma_peer *peer;
	struct rdma_answer there; /* who the peer is */
	struct rdmapmd_mr mr;	  /* what passes for a region */
	struct rdmapmd_send_wr wr;
	struct rdmapmd_sge sges[RDMA_SGES_MAX];
	struct rdmapmd_ah *foreign_ah; /* made for it */
};

/* Types of queue pairs, as bits. */
#define RDMA_RC	 (1u << RDMAPMD_QPT_RC)
#define RDMA_UC	 (1u << RDMAPMD_QPT_UC)
#define RDMA_UD	 (1u << RDMAPMD_QPT_UD)
#define RDMA_GSI (1u << RDMAPMD_QPT_GSI)

/* As of RC; and what of the others. */
struct rdma_illegal {
	const char *what;
	uint32_t operations; /* bits of opcodes */
	int refused;	     /* when it is posted: -errno; 0: it is taken, and */
	enum rdmapmd_wc_status status;
	/* At the peer: its receive's, SUCCESS: it is not used; an event, SUCCESS: none. */
	enum rdmapmd_wc_status peer_status;
	enum rdmapmd_event_type peer_event;
	/* The same of RDMA_WRITE_WITH_IMM, if that uses a receive while others do not. */
	enum rdmapmd_wc_status peer_imm_status;
	/* How it is made: what the queue pairs are like, how long, which receive, and the rest. */
	struct rdma_conf own_conf, peer_conf;
	uint32_t length;
	enum rdma_receive receive;
	bool no_receive;
	void (*spoil)(struct rdma_attempt *attempt);
	int (*post)(struct rdma_attempt *attempt); /* of what is no send request: -errno */
	unsigned int same;  /* the same: refused so, or completed so and in SQE */
	unsigned int lost;  /* it completes well, and nothing comes of it */
	unsigned int there; /* it completes well, and the receive there as said */
	unsigned int
		only; /* there is no such row of RC; of these alone, whatever operations they have */
};
#define RDMA_NO_EVENT RDMAPMD_EVENT_CQ_ERR /* none that a queue pair has */

/* What is wrong with a window (rdma_matrix_mw.c). */
void rdma_window_outside(struct rdma_attempt *attempt);
void rdma_window_before(struct rdma_attempt *attempt);
void rdma_window_too_long(struct rdma_attempt *attempt);
void rdma_window_empty(struct rdma_attempt *attempt);
void rdma_window_not_bindable(struct rdma_attempt *attempt);
void rdma_window_read_only(struct rdma_attempt *attempt);
void rdma_window_local_right(struct rdma_attempt *attempt);
void rdma_window_of_zero_based(struct rdma_attempt *attempt);
void rdma_window_foreign_region(struct rdma_attempt *attempt);
void rdma_window_foreign(struct rdma_attempt *attempt);
void rdma_window_on_window(struct rdma_attempt *attempt);
void rdma_window_type_1(struct rdma_attempt *attempt);
void rdma_window_present_key(struct rdma_attempt *attempt);
void rdma_window_other_key(struct rdma_attempt *attempt);
void rdma_window_bound(struct rdma_attempt *attempt);
void rdma_inval_region(struct rdma_attempt *attempt);
void rdma_inval_type_1(struct rdma_attempt *attempt);
void rdma_inval_other_qp(struct rdma_attempt *attempt);
void rdma_inval_stale(struct rdma_attempt *attempt);
void rdma_inval_foreign(struct rdma_attempt *attempt);
void rdma_inval_peer_region(struct rdma_attempt *attempt);
void rdma_inval_peer_foreign(struct rdma_attempt *attempt);
void rdma_inval_peer_type_1(struct rdma_attempt *attempt);
void rdma_inval_peer_other_qp(struct rdma_attempt *attempt);
void rdma_inval_peer_again(struct rdma_attempt *attempt);
void rdma_inval_peer_free(struct rdma_attempt *attempt);
void rdma_use_other_qp(struct rdma_attempt *attempt);
void rdma_use_unbound(struct rdma_attempt *attempt);
void rdma_use_invalidated(struct rdma_attempt *attempt);
void rdma_use_freed(struct rdma_attempt *attempt);
void rdma_use_without_right(struct rdma_attempt *attempt);
void rdma_use_outside(struct rdma_attempt *attempt);
int rdma_call_type_2(struct rdma_attempt *attempt);
int rdma_call_flag(struct rdma_attempt *attempt);
int rdma_call_zero_based(struct rdma_attempt *attempt);
int rdma_call_outside(struct rdma_attempt *attempt);
int rdma_dereg_bound(struct rdma_attempt *attempt);
/* A key of the peer's, in a request of any opcode. */
void rdma_set_rkey(struct rdma_attempt *attempt, uint32_t rkey);

extern const struct rdma_illegal rdma_illegal[];
extern const unsigned int rdma_illegal_count;

/* The operations that a type of queue pair has, as bits of opcodes. */
uint32_t rdma_operations_of(enum rdmapmd_qp_type type);
const char *rdma_type_name(enum rdmapmd_qp_type type);
bool rdma_is_datagram(enum rdmapmd_qp_type type);
/* Those of a row; 0: it is none of that type's. */
uint32_t rdma_illegal_operations(const struct rdma_illegal *row, enum rdmapmd_qp_type type);

/* The tables of the document. */
void rdma_matrix_print(void);

#endif
