/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A driver whose aim it is to keep its device busy: what it makes is as long, as many or as far away as can be. Of each
 * kind there is one that builds it, which may take its time, and one that has the device work on it, which waits for nothing
 * that takes long, so that many of them work at a time.
 */
#ifndef TEST_DAEMON_ROGUE_H
#define TEST_DAEMON_ROGUE_H

#include "nic.h"

#define ROGUE_SEGMENTS 61 /* of data in a WQE */

/* Queue pairs, each connected to itself; one record is that of all, and so is a pool of receives. */
struct rogue_rdma {
	struct hn_cq send_cq, receive_cq;
	uint32_t count, log_ring, pool;
	uint64_t rings, dbrec, pool_dbrec, mac;
	uint16_t posted, pooled; /* WQEBBs, receives */
	uint32_t receives, completions,
		seen; /* to be posted and expected in a cycle, and those that came */
	uint32_t *qpns;
	unsigned int step, cycles;
};

struct rogue {
	const char *socket;
	bool open;
	bool many; /* it is one of many: what takes long to build is less then */
	bool done; /* what is to be done once */
	struct nic nic;
	uint32_t physical; /* key of all memory, by its address on the bus */
	uint32_t key;	   /* what its WQEs lead through */
	uint32_t cqn;	   /* of the longest ring, that comes and goes */
	uint32_t tis, tir;
	uint32_t under_way; /* WQEs */
	/* Memory of its own kind: a file without a page, at ROGUE_IOVA. */
	int fd;
	uint64_t bytes, at;
	/* Objects that it has made, and the next one to be used or replaced. */
	uint32_t *numbers, count, next;
	uint32_t table, group; /* of flow entries */
	unsigned int step;     /* what comes next, or how often it came */
	uint32_t slots;	       /* with commands under way */
	struct hn_wq sq;       /* beside the nic's */
	struct hn_wq *queues;  /* of receives, r->count */
	struct hn_eq ports;    /* events that nobody reads */
	struct rogue_rdma rdma;
};

void rogue_open(struct rogue *r, const char *socket, bool many);
void rogue_close(struct rogue *r);

/*
 * A WQE of 61 segments of a list of keys, which leads to others, as deep as it goes, all of them in no order; and the same
 * into buffers that lie behind such a list, many times.
 */
void rogue_build_lists(struct rogue *r);
void rogue_build_lists_both_ways(struct rogue *r);
void rogue_work_lists(struct rogue *r);
/* The longest key, made and used, and used again when the map has changed. */
void rogue_build_long_key(struct rogue *r);
void rogue_work_long_key(struct rogue *r);
/* A key of chunks, each of them of many neighbouring maps, used again and again when the map has changed. */
void rogue_build_small_maps(struct rogue *r);
void rogue_work_small_maps(struct rogue *r);
/* The longest ring, the same. */
void rogue_build_long_ring(struct rogue *r);
void rogue_work_long_ring(struct rogue *r);
/* A frame to many queues, whose completion queues have the longest rings, after each change of the map. */
void rogue_build_many_rings(struct rogue *r);
void rogue_work_many_rings(struct rogue *r);
/* A command that asks for the longest output. */
void rogue_build_long_output(struct rogue *r);
void rogue_work_long_output(struct rogue *r);
/* As many queues as there can be, all of them rung in vain. */
void rogue_build_queues(struct rogue *r);
void rogue_work_queues(struct rogue *r);
/* Nearly as many keys as there can be, some destroyed and made anew; and at each turn all are to be looked at anew. */
void rogue_build_keys(struct rogue *r);
void rogue_work_keys(struct rogue *r);
/* As many flow groups and entries as there can be, on the way of each frame, which goes to many queues in the end. */
void rogue_build_flows(struct rogue *r);
void rogue_work_flows(struct rogue *r);
/* The same with entries that are all alike, so that nothing but their order tells them apart. */
void rogue_build_alike(struct rogue *r);
void rogue_work_alike(struct rogue *r);
/* All of these, gone at once by a reset. */
void rogue_build_full(struct rogue *r);
void rogue_work_full(struct rogue *r);
/* A link that comes and goes. */
void rogue_build_flaps(struct rogue *r);
void rogue_work_flaps(struct rogue *r);
/* Memory that goes while the device reads and writes it: all, or the last page of much that was touched. */
void rogue_work_truncation(struct rogue *r);
void rogue_work_truncation_of_much(struct rogue *r);
/* Frames that touch pages for the first time, where they come from and where they go to. */
void rogue_build_first_touches(struct rogue *r);
void rogue_work_first_touches(struct rogue *r);
/* Much memory that was touched, unmapped or gone with its client. */
void rogue_build_much(struct rogue *r);
void rogue_work_unmap(struct rogue *r);
void rogue_work_leave(struct rogue *r);
/* Whoever takes what comes from outside. */
void rogue_build_flood(struct rogue *r);
void rogue_work_flood(struct rogue *r);
/* Queue pairs with all that can wait behind one request: it is refused again and again, then taken from all of them at once. */
void rogue_build_answers(struct rogue *r);
void rogue_work_answers(struct rogue *r);
/* As many queue pairs as take part in that, whose deadlines are all due at once. */
void rogue_build_deadlines(struct rogue *r);
void rogue_work_deadlines(struct rogue *r);
/* The same, while the map changes: their records are looked up anew. */
void rogue_work_watched(struct rogue *r);
/* SENDs, WRITEs and READs from lists of keys to lists of keys. */
void rogue_build_rdma_lists(struct rogue *r);
void rogue_work_rdma_lists(struct rogue *r);
/* What takes longest of commands, frames and queue pairs, all at once. */
void rogue_build_all_parts(struct rogue *r);
void rogue_work_all_parts(struct rogue *r);

#endif
