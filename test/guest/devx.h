/* SPDX-License-Identifier: BSD-3-Clause */

/* What the two halves of a user of DevX share: the door to the device (devx.c), its queues, and what is tried with them. */
#ifndef GUEST_DEVX_H
#define GUEST_DEVX_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "driver/driver.h"
#include "prm/wqe.h"

#define PAGE	 4096u
#define BYTES	 (96u * PAGE)
#define OBJECTS	 64
#define LOG_SIZE 4
#define ENTRIES	 (1u << LOG_SIZE)
#define REFUSED	 0x1000 /* by Linux or by libmlx5, with an errno and no status of the device's */

struct user {
	struct drv drv; /* first */
	struct ibv_context *context;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	uint8_t *memory; /* the umem's */
	uint32_t used;	 /* of it */
	uint32_t eqn, pd, td, key;
	struct object {
		uint16_t destroys;	/* with which command it goes */
		uint32_t number, count; /* so many neighbours: counters of a bulk */
		struct mlx5dv_devx_obj *of;
	} objects[OBJECTS];
};

struct cq {
	struct user *user;
	uint32_t cqn, at, log_size, consumer;
	uint32_t user_index; /* of the last completion's queue */
	struct rnic_cq_dbrec *dbrec;
};

/* An SQ, an RQ, an RMP, or the receives of a queue pair. */
struct wq {
	struct user *user;
	uint32_t number, ring;
	uint16_t posted;
	bool linked;
	struct rnic_wq_dbrec *dbrec;
};

struct qp {
	struct user *user;
	uint32_t qpn, sends;
	uint16_t sent;
	struct rnic_wq_dbrec *dbrec;
	struct wq own, *receives; /* its own ones, or a pool's */
};

extern struct user owner, third, other; /* two of the device, one of its peer */
extern struct cq send_cq, receive_cq;
extern struct wq pool; /* an RMP */
extern struct qp qps[2];

/* What frames go through. `rq` is direct_tirn's and, with a ring of its own, the RQT's at first; then that is pooled_rq. */
struct ethernet {
	uint32_t tisn, rqtn, tirn, direct_tirn;
	struct wq sq, rq, pooled_rq;
};
extern struct ethernet ethernet;
#define FRAME_TYPE 0x88b5u /* of Ethernet: a local one */

/* ---- devx.c ---- */

/* A line of what was tried; if it is not good, the last one. */
void must(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct object *object_find(struct user *user, uint16_t destroys, uint32_t number);
/* Memory of the umem: where it is there. */
uint32_t take(struct user *user, uint32_t bytes);
int cq_create(struct user *user, struct cq *cq);
/* The next completion: its opcode; -1: none comes. */
int cq_next(struct cq *cq);
int sq_create(struct user *user, struct wq *sq, const struct cq *cq, uint32_t tisn);
/* With a ring of its own, or with the receives of a pool. */
int rq_create(struct user *user, struct wq *rq, const struct cq *cq, const struct wq *of,
	      uint32_t user_index);
int pool_create(struct user *user, struct wq *rmp);
int qp_create(struct user *user, struct qp *qp, const struct cq *send, const struct cq *receive,
	      uint32_t pd, struct wq *of);
/* So many frames has that counter counted. */
void counted(uint32_t counter, uint64_t frames);

/* ---- devx_more.c ---- */

/* Something else leans on it: it does not go. */
void stays(uint16_t opcode, uint32_t number, const char *what);
void goes(uint16_t opcode, uint32_t number, const char *what);
/* Another ring for a CQ, which has no completion that was not polled. */
void cq_resize(struct cq *cq, uint32_t log_size);
/* A flow table with an entry that counts and leads to direct_tirn: its number. */
uint32_t table_open(void);
/* Through it, so many frames have come. */
void table_counted(uint64_t frames);
/* All that is in it goes. */
void table_empty(void);
void table_close(void);
void domain_of_xrc(void);
/* What is another user's, or the kernel's, is not there. */
void refusals(void);
/* Commands of cards that this one does not know, as Linux hands its answer on. doc/design/foreign_drivers.md has each. */
void not_there(void);
/* Each pair in the wrong order first. */
void destroys_in_order(void);

#endif
