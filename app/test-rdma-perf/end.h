/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * One end of a run: a device, memory, queue pairs, and the workers that they are divided among.
 */
#ifndef PERF_END_H
#define PERF_END_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "options.h"
#include "report.h"

#define PERF_QKEY 0x11111111 /* of datagrams: as perftest and ibv_ud_pingpong have it */

struct perf_end;

/** A queue pair with its memory, and the other end's. */
struct perf_queue {
	struct rdmapmd_qp *qp;
	uint8_t *out, *in, *last;	       /**< parts of memory; not each run has `last` */
	uint64_t peer_out, peer_in, peer_last; /**< those of the other end, as requests name them */
	uint32_t psn;			       /**< of its first packet */
	uint32_t peer_qp_num, peer_psn;
	uint32_t index; /**< among all of the end */
};

/** What one lcore runs: some queue pairs, and a CQ. */
struct perf_worker {
	struct perf_end *end;
	struct rdmapmd_comp_channel *channel; /**< with -e */
	struct rdmapmd_cq *cq;
	struct rdmapmd_srq *srq; /**< with --use-srq */
	struct perf_queue *queues;
	uint32_t nqueues;
	uint32_t index;
};

/** What the other end tells. */
struct perf_peer {
	union rdmapmd_gid gid;
	uint32_t mtu;	    /**< bytes */
	uint32_t out_reads; /**< READs and atomics that it answers */
	uint32_t rkey;
	uint64_t vaddr; /**< of its memory's first byte */
};

struct perf_end {
	const struct perf_options *options;
	bool client;
	bool requests; /**< it posts requests of its own accord */
	bool receives; /**< it has receive requests */
	const char *device;

	struct rdmapmd_context *context;
	struct rdmapmd_device_attr attr;
	struct rdmapmd_port_attr port;
	struct rdmapmd_gid_entry gid;
	uint32_t mtu;	      /**< bytes; of both ends once they are connected */
	uint32_t inline_size; /**< bytes up to which payload is inline */
	uint32_t out_reads;   /**< READs and atomics under way */
	uint32_t size_max;    /**< what a run's sizes end at: a datagram is at most an MTU */

	struct rdmapmd_pd *pd;
	struct rdmapmd_mr *mr;
	struct rdmapmd_ah *ah; /**< UD: the way to the other end */
	uint8_t *memory;
	size_t part;		     /**< bytes of a part of a queue pair's memory */
	struct perf_queue *queues;   /**< options->qps */
	struct perf_worker *workers; /**< options->lcores */
	struct perf_peer peer;
	uint64_t link_lost; /**< ticks: since when there is no link, as events tell; 0: there is */
};

/**
 * Open the device, see whether it can do what is asked for, and make everything but the connection.
 *
 * @param end     Out: to be closed in any case.
 * @param options The command line.
 * @param client  Whether it is the client's end.
 * @param device  A name or a port's number; NULL: the first device.
 * @return 0; an error: it was said.
 */
int perf_end_open(struct perf_end *end, const struct perf_options *options, bool client,
		  const char *device);

/** Destroy all of it. @return 0; the first error: it was said. */
int perf_end_close(struct perf_end *end);

/**
 * Wait until the port has a link, for seconds. A wire between two processes has one once both are there.
 *
 * @return 0; -EINTR: Ctrl-C; an error: it was said.
 */
int perf_end_wait_link(struct perf_end *end);

/**
 * Connect all queue pairs: `peer` and the queue pairs' peer_qp_num and peer_psn are set.
 *
 * @return 0; an error: it was said.
 */
int perf_end_connect(struct perf_end *end);

/** Queue pairs lose all that they have, receives included, and are connected anew. @return 0; an error: it was said. */
int perf_end_reconnect(struct perf_end *end);

/**
 * Queue pairs and shared receive queues are made anew: an SRQ keeps its receives whatever becomes of its queue pairs. The other end is to be
 * told of them, and all are to be connected. @return 0; an error: it was said.
 */
int perf_end_renew(struct perf_end *end);

/** @return Whether the end has nothing to do while messages go but to wait, and shows what the other end has measured. */
bool perf_end_is_passive(const struct perf_end *end);

/** A queue pair as it is told to the other end. */
struct perf_address perf_end_address(const struct perf_end *end, const struct perf_queue *queue);

/** The other end's. */
struct perf_address perf_end_peer_address(const struct perf_end *end,
					  const struct perf_queue *queue);

#endif
