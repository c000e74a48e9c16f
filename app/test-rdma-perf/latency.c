/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A round of the client: post, wait for what comes back, note how long it took. What is compared and written for --verify lies between
 * two rounds, and is not in their times; the other end does it once its answer is on the way. That answer was written before, into the
 * other one of two slots.
 */
#include <errno.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include "latency.h"
#include "pattern.h"
#include "request.h"
#include "say.h"
#include "verify.h"

#define SPINS \
	16 /* looks for what is waited for, between two for anything else: it is not to be seen late */
#define LOOK_EVERY 256u /* rounds */

struct turn {
	struct perf_phase *phase;
	struct perf_worker *worker;
	struct perf_queue *queue;
	struct perf_outcome *outcome;
	struct perf_wait wait;
	uint64_t posted, completed; /* requests */
	uint64_t receives, received;
	unsigned int limit_s; /* of silence */
	uint64_t sum;	      /* ticks of all rounds */
	/* The next request: made before its round, whose time is the way there and back alone. */
	struct rdmapmd_send_wr wr;
	struct rdmapmd_sge sge;
};

static bool
is_fetch(const struct turn *turn)
{
	return perf_op_fetches(turn->phase->end->options->op);
}

/* ---- Receives ---- */

static uint64_t
receives_left(const struct turn *turn)
{
	const uint64_t iters = turn->phase->iters;

	return iters == PERF_UNTIL_STOPPED ? UINT32_MAX : iters - turn->receives;
}

static void
post_receives(struct turn *turn, uint32_t n)
{
	n = (uint32_t)RTE_MIN((uint64_t)n, receives_left(turn));
	turn->receives +=
		perf_request_receive(turn->phase, turn->worker, turn->queue, turn->receives, n);
}

static void
turn_begin(struct turn *turn, struct perf_phase *phase)
{
	*turn = (struct turn){
		.phase = phase,
		.worker = &phase->end->workers[0],
		.queue = &phase->end->queues[0],
		.outcome = &phase->outcomes[0],
		.limit_s = perf_phase_patience_s(phase),
	};
	turn->wait.worker = turn->worker;
	/* As perf_latency_prepare() has posted them. */
	if (phase->end->receives)
		turn->receives = RTE_MIN((uint64_t)phase->end->options->rx_depth, phase->iters);
}

int
perf_latency_prepare(struct perf_phase *phase)
{
	struct turn turn;

	turn_begin(&turn, phase);
	turn.receives = 0;
	if (phase->end->receives)
		post_receives(&turn, phase->end->options->rx_depth);
	return perf_phase_error(phase);
}

/* ---- Waiting ---- */

/* One, as that is what is waited for: a look behind it would fetch the line that the device writes next, in the round's time. */
static void
reap(struct turn *turn)
{
	struct rdmapmd_wc wc;

	if (rdmapmd_poll_cq(turn->worker->cq, &wc, 1) == 0)
		return;
	if (wc.status != RDMAPMD_WC_SUCCESS)
		perf_phase_bad_completion(turn->phase, &wc);
	else if ((wc.opcode & RDMAPMD_WC_RECV) != 0)
		turn->received++;
	else
		turn->completed++;
}

/* Message n of the other end is here. */
static bool
has_come(const struct turn *turn, uint64_t n)
{
	const uint8_t *last =
		perf_request_in(turn->phase, turn->queue, n) + turn->phase->layout.size - 1;

	if (turn->phase->end->receives)
		return turn->received > n;
	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == perf_pattern_mark(n);
}

static bool
all_told(const struct turn *turn)
{
	return atomic_load_explicit(&turn->phase->peer_sent_known, memory_order_acquire);
}

enum waits_for {
	MESSAGE,   /* number n of the other end */
	COMPLETION /* of all requests but n */
};

static bool
is_there(const struct turn *turn, enum waits_for what, uint64_t n)
{
	return what == MESSAGE ? has_come(turn, n) : turn->posted - turn->completed <= n;
}

/* @return Whether it has come: not, if the phase has failed, or the other end says that it has sent all. */
static bool
wait_until(struct turn *turn, enum waits_for what, uint64_t n)
{
	const bool answers = !turn->phase->end->requests && what == MESSAGE;

	turn->wait.since = 0;
	for (;;) {
		if (perf_phase_error(turn->phase) != 0)
			return false;
		for (unsigned int spin = 0; spin < SPINS; spin++) {
			reap(turn);
			if (is_there(turn, what, n))
				return perf_phase_error(turn->phase) == 0;
			/* Who asks for the line again at once takes it from a device that is writing it. */
			rte_pause();
		}
		/* Messages arrive before the word that all were sent: without message n the run is at its end. */
		if (answers && all_told(turn) && turn->phase->peer_sent[0] <= n)
			return false;
		perf_phase_look(turn->phase);
		if (perf_phase_idle(turn->phase, &turn->wait,
				    answers && n == 0 ? UINT32_MAX : turn->limit_s) == 0)
			continue;
		perf_phase_fail(turn->phase,
				perf_fail(-ETIMEDOUT, "%s: %s for %u s%s", turn->phase->end->device,
					  what == MESSAGE ? "nothing has come" : "no completion",
					  turn->limit_s,
					  turn->phase->end->options->transport == RDMAPMD_QPT_RC
						  ? ""
						  : ": a message was lost"));
		return false;
	}
}

/* ---- Messages ---- */

static void
post(struct turn *turn)
{
	if (rdmapmd_post_send(turn->queue->qp, &turn->wr, 1) != 1)
		perf_phase_bad_post(turn->phase, "request", turn->queue->qp->post_send_error);
	turn->posted++;
}

/* Message n into its slot, which the one before the last one has left. Without --verify only what tells that it has come. */
static void
write_message(struct turn *turn, uint64_t n)
{
	const bool whole = turn->phase->end->options->verify;

	/* The device may still read the slot's last message, and has no more room than asked for. */
	if (!wait_until(turn, COMPLETION, turn->phase->end->options->tx_depth > 1))
		return;
	if (whole)
		perf_request_write(turn->phase, turn->queue, n);
	else
		perf_request_out(turn->phase, turn->queue, n)[turn->phase->layout.size - 1] =
			perf_pattern_mark(n);
}

static void
compare(struct turn *turn, uint64_t n)
{
	if (!turn->phase->end->options->verify)
		return;
	if (perf_op_atomic(turn->phase->end->options->op))
		turn->outcome->wrong += perf_verify_fetched(turn->phase, turn->queue, n);
	else if (turn->phase->end->options->op == PERF_READ)
		turn->outcome->wrong += perf_verify_message(turn->phase, turn->queue,
							    n % turn->phase->layout.slots);
	else
		turn->outcome->wrong += perf_verify_message(turn->phase, turn->queue, n);
}

/* The receive of message n is free: another one in its place. */
static void
receive_again(struct turn *turn)
{
	if (turn->phase->end->receives)
		post_receives(turn, 1);
}

static void
note(struct turn *turn, uint64_t n, uint64_t ticks)
{
	struct perf_phase *phase = turn->phase;

	turn->sum += ticks;
	if (phase->samples != NULL && phase->nsamples < phase->samples_room)
		phase->samples[phase->nsamples++] = ticks;
	atomic_store_explicit(&phase->done, n + 1, memory_order_relaxed);
	if ((n + 1) % LOOK_EVERY == 0)
		perf_phase_look(phase);
}

/* ---- Both ends ---- */

static bool
goes_on(const struct turn *turn, uint64_t n)
{
	return n < turn->phase->iters && perf_phase_error(turn->phase) == 0 &&
	       turn->outcome->wrong == 0 &&
	       !atomic_load_explicit(&turn->phase->stop, memory_order_relaxed);
}

/* What a READ brings was there before. */
static void
forget(struct turn *turn, uint64_t n)
{
	if (turn->phase->end->options->op == PERF_READ && turn->phase->end->options->verify)
		perf_request_in(turn->phase, turn->queue, n)[turn->phase->layout.size - 1] =
			(uint8_t)~perf_pattern_mark(n % turn->phase->layout.slots);
}

static void
prepare(struct turn *turn, uint64_t n)
{
	if (is_fetch(turn))
		forget(turn, n);
	else
		write_message(turn, n);
	perf_request_fill(turn->phase, turn->queue, &turn->wr, &turn->sge, n,
			  (uint32_t)(n % turn->phase->layout.slots), false);
	turn->wr.send_flags |= RDMAPMD_SEND_SIGNALED;
}

/* Of READs and atomics the completion alone tells, of all others the message that comes back. */
static bool
wait_answer(struct turn *turn, uint64_t n)
{
	return is_fetch(turn) ? wait_until(turn, COMPLETION, 0) : wait_until(turn, MESSAGE, n);
}

static uint64_t
run_client(struct turn *turn)
{
	uint64_t n, start;

	for (n = 0; goes_on(turn, n); n++) {
		if (n == 0 || !is_fetch(turn))
			prepare(turn, n);
		start = rte_get_timer_cycles();
		post(turn);
		/* While the device is at work: one round follows the other at once. */
		if (is_fetch(turn))
			prepare(turn, n + 1);
		if (!wait_answer(turn, n))
			break;
		note(turn, n, rte_get_timer_cycles() - start);
		compare(turn, n);
		receive_again(turn);
	}
	wait_until(turn, COMPLETION, 0);
	return n;
}

/* The client says when it was the last one. */
static uint64_t
run_server(struct turn *turn)
{
	const bool spare = turn->phase->end->options->rx_depth > 1;
	uint64_t n, start = 0;

	prepare(turn, 0);
	for (n = 0; wait_until(turn, MESSAGE, n); n++) {
		if (n > 0)
			note(turn, n, rte_get_timer_cycles() - start);
		if (!spare)
			receive_again(turn);
		start = rte_get_timer_cycles();
		post(turn);
		compare(turn, n);
		if (spare)
			receive_again(turn);
		prepare(turn, n + 1);
	}
	wait_until(turn, COMPLETION, 0);
	return n;
}

void
perf_latency_run(struct perf_phase *phase)
{
	struct turn turn;

	turn_begin(&turn, phase);
	turn.outcome->start = rte_get_timer_cycles();
	turn.outcome->sent = phase->end->requests ? run_client(&turn) : run_server(&turn);
	turn.outcome->end = rte_get_timer_cycles();
	/* What lies between rounds is not theirs. */
	turn.outcome->end = turn.outcome->start + turn.sum;
	phase->sent[0] = turn.outcome->sent;
	turn.outcome->received = turn.received;
	if (!phase->end->requests)
		return;
	perf_phase_sent(phase);
	perf_phase_tell_sent(phase);
}
