/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A phase: messages of one size, as a warm-up or to be measured, from BEGIN to RESULT. What the workers of an end share, and how they
 * look at what is not a completion: the other end's messages, the clock, Ctrl-C. Worker 0 looks for all of them.
 */
#ifndef PERF_PHASE_H
#define PERF_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "end.h"
#include "exchange.h"
#include "result.h"

#define PERF_UNTIL_STOPPED UINT64_MAX
#define PERF_NO_MESSAGE	   UINT64_MAX

/** What one worker has done. */
struct perf_outcome {
	uint64_t sent, received, lost, wrong;
	uint64_t start, end;	 /* ticks: of what is measured */
	struct perf_times times; /* for the peak; n 0: not noted */
};

struct perf_phase {
	struct perf_end *end;
	struct perf_link *link;
	struct perf_layout layout;
	uint64_t number;   /**< of phases so far: what messages are made of */
	uint64_t iters;	   /**< messages of a queue pair; PERF_UNTIL_STOPPED */
	uint64_t deadline; /**< ticks; 0: none */
	uint64_t
		damaged; /**< the message that --damage is about, or one in its slot; PERF_NO_MESSAGE */
	bool warm_up;

	atomic_bool stop;	     /**< no more requests */
	atomic_int error;	     /**< -errno: everybody leaves */
	atomic_bool peer_sent_known; /**< release: peer_sent is there */
	atomic_uint sending;	     /**< workers that have not sent all */
	atomic_ullong done;	     /**< messages of worker 0 so far, for the progress */
	uint64_t *sent;		     /**< messages, by queue pair */
	uint64_t *peer_sent;	     /**< those of the other end */
	struct perf_outcome outcomes[PERF_LCORES_MAX];

	/* Worker 0's own. */
	bool told_sent;
	uint64_t next_look, next_watch, next_progress; /* ticks */
	uint64_t interrupted;			       /* ticks: when that was seen; 0: not */
	bool told_leaves;

	/* latency */
	uint64_t *samples; /**< ticks; NULL: only their sum */
	uint64_t nsamples, samples_room;
};

/** What a worker waits with: it polls, and lets others run when nothing comes for long. */
struct perf_wait {
	struct perf_worker *worker;
	uint64_t since;	 /* ticks: when something last came; 0: just now */
	uint64_t looked; /* ticks: when the thread was here last */
};

/** @return Messages that the other end has sent to a worker; once that is known. */
uint64_t perf_phase_peer_sent(const struct perf_phase *phase, const struct perf_worker *worker);

/** Begin a phase. @return 0; -ENOMEM: it was said. */
int perf_phase_open(struct perf_phase *phase, struct perf_end *end, struct perf_link *link,
		    const struct perf_layout *layout, uint64_t iters, bool warm_up);

/** Free its memory. */
void perf_phase_close(struct perf_phase *phase);

/** Something went wrong: all workers leave. @return `rc`. */
int perf_phase_fail(struct perf_phase *phase, int rc);

/** @return Whether something went wrong. */
static inline int
perf_phase_error(struct perf_phase *phase)
{
	return atomic_load_explicit(&phase->error, memory_order_relaxed);
}

/** Seconds in which something completes, unless it never will. */
unsigned int perf_phase_patience_s(const struct perf_phase *phase);

/** Seconds in which something comes of UC and UD, unless it never will. */
unsigned int perf_phase_silence_s(const struct perf_phase *phase);

/** Worker 0: look at the clock, at Ctrl-C, at the port, and at what the other end says; seldom enough not to matter. */
void perf_phase_look(struct perf_phase *phase);

/** Worker 0: wait for the other end to say that it has sent all, without polling. @return 0 or the phase's error. */
int perf_phase_wait_sent(struct perf_phase *phase);

/** A worker has sent all: when all have, worker 0 tells it the other end. */
void perf_phase_sent(struct perf_phase *phase);

/** Worker 0: tell it if that is so. */
void perf_phase_tell_sent(struct perf_phase *phase);

/**
 * Nothing has completed: sleep until something has (-e), or pause.
 *
 * @return 0; -ETIMEDOUT nothing has come for `limit_s` seconds.
 */
int perf_phase_idle(struct perf_phase *phase, struct perf_wait *wait, unsigned int limit_s);

/** A completion that is an error: say it and fail. */
void perf_phase_bad_completion(struct perf_phase *phase, const struct rdmapmd_wc *wc);

/** A post that was short: say it and fail. */
void perf_phase_bad_post(struct perf_phase *phase, const char *what, int rc);

#endif
