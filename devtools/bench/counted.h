/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What burst_bench and mlx5_bench share: burst calls made through one function, so that callgrind
 * counts what happens inside them and nothing else, and so that both programs pay the same for being
 * measured.
 *
 * Under valgrind --tool=callgrind --toggle-collect=counted_call each row ends with a dump of the
 * counters that bears the row's name. Without valgrind the same rows give TSC cycles. Either way a
 * row is one line on stdout:
 *
 *	row NAME burst N bytes N calls N packets N cycles X
 *
 * NAME "call" is an empty function: the price of counting, once per call, which instr.sh takes off.
 * Cycles are per packet (per call where no packets move), that price taken off already: means of
 * batches of calls, as the TSC of some processors moves in steps that are longer than a call, and of
 * these the median, as interrupts strike some.
 */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdint.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#define COUNTED_BURST_MAX 64
#define COUNTED_LIST_MAX  16
#define COUNTED_BATCHES	  32

/* A PMD's Rx or Tx burst. */
typedef uint16_t (*burst_fn)(void *queue, struct rte_mbuf **pkts, uint16_t n);

struct counted {
	burst_fn fn;
	void *queue;
	uint64_t calls, packets;
	uint64_t batch_calls;
	struct counted_batch {
		uint64_t cycles, calls, packets;
	} batches[COUNTED_BATCHES];
	double overhead; /* cycles a call */
};

/* What to measure, from the command line: NAME[,NAME] BURST[,BURST] BYTES[,BYTES] CALLS */
struct counted_plan {
	char *names[COUNTED_LIST_MAX];
	unsigned int bursts[COUNTED_LIST_MAX], bytes[COUNTED_LIST_MAX];
	unsigned int n_names, n_bursts, n_bytes;
	uint64_t calls;
};

/* argv[1..] behind EAL's arguments. Cuts the strings in place. Says what is wrong; returns -EINVAL then. */
int counted_plan_parse(int argc, char **argv, struct counted_plan *plan);

/* Measures the price of counting, and prints the row "call". */
void counted_init(struct counted *counted);

/* Begin a row of about so many calls: forget what was counted. */
void counted_start(struct counted *counted, burst_fn fn, void *queue, uint64_t calls);
/* End it: print it, and have callgrind dump it. */
void counted_stop(struct counted *counted, const char *name, unsigned int burst,
		  unsigned int bytes);

/* The function to toggle callgrind on. */
uint16_t counted_call(burst_fn fn, void *queue, struct rte_mbuf **pkts, uint16_t n);

static inline uint16_t
counted_burst(struct counted *counted, struct rte_mbuf **pkts, uint16_t n)
{
	struct counted_batch *batch;
	uint64_t start, end;
	uint16_t done;

	start = rte_rdtsc();
	done = counted_call(counted->fn, counted->queue, pkts, n);
	end = rte_rdtsc();
	batch = &counted->batches[counted->calls / counted->batch_calls % COUNTED_BATCHES];
	batch->cycles += end - start;
	batch->calls++;
	batch->packets += done;
	counted->calls++;
	counted->packets += done;
	return done;
}

#endif
