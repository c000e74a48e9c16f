/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker's loop: post to each queue pair that has room, in turn, and poll. Of --cq-mod requests the last one is signaled, and tells
 * of all before it. A worker that is to stop goes on to the end of such a group: then all has a completion to wait for. Before that it
 * posts a last lap, whose messages --verify can tell from those before (layout.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "bandwidth.h"
#include "request.h"
#include "say.h"

#define POLL_BURST   32
#define REPOST_BURST 16u
#define LOOK_EVERY   64u /* rounds */
#define LOST_MS	     500 /* what has not come then, of UC or UD, is lost */

struct perf_flow {
	struct perf_queue *queue;
	uint64_t posted, completed; /* requests */
	uint64_t grouped;	    /* requests since the last one that was signaled */
	uint32_t slot;		    /* of the next request */
	uint64_t last_lap, end;	    /* the requests with which the last lap begins, and all end */
	uint64_t receives;	    /* posted */
	uint64_t received;
	uint32_t consumed; /* receives that are to be posted again */
};

struct perf_flows {
	struct perf_phase *phase;
	struct perf_worker *worker;
	struct perf_outcome *outcome;
	struct rdmapmd_send_wr *wrs; /* a list */
	struct rdmapmd_sge *sges;
	uint64_t noted_posts, noted_completions; /* of outcome->times */
	bool sending, stopped;
	unsigned int patience_s, silence_s;
	uint64_t heard; /* ticks: when the last message came, or all began */
	uint64_t
		quiet_since; /* ticks: of UC and UD, when the last one came after the other end had sent all */
	struct perf_flow flow[];
};

/* ---- Receives ---- */

static uint64_t
receives_wanted(const struct perf_flows *flows)
{
	const uint64_t iters = flows->phase->iters;

	return iters == PERF_UNTIL_STOPPED  ? iters
	       : flows->worker->srq != NULL ? iters * flows->worker->nqueues
					    : iters;
}

/* Not more than messages will come: what is left over would be there for the next size. */
static void
post_receives(struct perf_flows *flows, struct perf_flow *flow, uint32_t n)
{
	const uint64_t left = receives_wanted(flows) - flow->receives;

	n = (uint32_t)RTE_MIN((uint64_t)n, left);
	flow->receives +=
		perf_request_receive(flows->phase, flows->worker, flow->queue, flow->receives, n);
}

static void
first_receives(struct perf_flows *flows)
{
	const uint32_t depth = flows->phase->end->options->rx_depth;
	uint32_t i;

	/* Those of an SRQ are counted with its first queue pair. */
	for (i = 0; i < (flows->worker->srq != NULL ? 1 : flows->worker->nqueues); i++)
		post_receives(flows, &flows->flow[i], depth);
}

static void
received(struct perf_flows *flows, const struct rdmapmd_wc *wc)
{
	struct perf_flow *flow = &flows->flow[wc->wr_id];

	flow->received++;
	flows->outcome->received++;
	if (++flow->consumed >= REPOST_BURST || flow->received + REPOST_BURST >= flow->receives) {
		post_receives(flows, flow, flow->consumed);
		flow->consumed = 0;
	}
}

/* Whether everything has come that will. */
static bool
all_received(struct perf_flows *flows)
{
	struct perf_phase *phase = flows->phase;
	const uint64_t now = rte_get_timer_cycles();
	uint64_t sent;

	if (!phase->end->receives)
		return true;
	if (!atomic_load_explicit(&phase->peer_sent_known, memory_order_acquire))
		return false;
	sent = perf_phase_peer_sent(phase, flows->worker);
	if (flows->outcome->received >= sent)
		return true;
	if (phase->end->options->transport == RDMAPMD_QPT_RC)
		return false;
	if (flows->quiet_since == 0)
		flows->quiet_since = now;
	if (now - flows->quiet_since < LOST_MS * rte_get_timer_hz() / 1000)
		return false;
	flows->outcome->lost = sent - flows->outcome->received;
	return true;
}

/* Nothing comes of what the other end sends: UC and UD have no other sign of it, and may themselves send into nothing. */
static bool
is_deaf(const struct perf_flows *flows)
{
	struct perf_phase *phase = flows->phase;
	const uint64_t iters = phase->iters;

	if (!phase->end->receives || phase->end->options->transport == RDMAPMD_QPT_RC ||
	    atomic_load_explicit(&phase->peer_sent_known, memory_order_relaxed))
		return false;
	if (iters != PERF_UNTIL_STOPPED &&
	    flows->outcome->received >= iters * flows->worker->nqueues)
		return false;
	return rte_get_timer_cycles() - flows->heard > flows->silence_s * rte_get_timer_hz();
}

/* ---- Requests ---- */

/* A list for a queue pair. */
static void
post_list(struct perf_flows *flows, struct perf_flow *flow)
{
	const struct perf_options *o = flows->phase->end->options;
	struct perf_times *times = &flows->outcome->times;
	uint32_t i;

	for (i = 0; i < o->post_list; i++) {
		const uint64_t n = flow->posted + i;

		perf_request_fill(flows->phase, flow->queue, &flows->wrs[i], &flows->sges[i], n,
				  flow->slot, n >= flow->last_lap);
		flows->wrs[i].wr_id = flow->queue->index - flows->worker->queues->index;
		if (++flow->grouped == o->cq_mod || n + 1 == flows->phase->iters) {
			flows->wrs[i].send_flags |= RDMAPMD_SEND_SIGNALED;
			flow->grouped = 0;
		}
		if (++flow->slot == flows->phase->layout.slots)
			flow->slot = 0;
	}
	if (flows->noted_posts < times->n) {
		const uint64_t now = rte_get_timer_cycles();

		for (i = 0; i < o->post_list && flows->noted_posts < times->n; i++)
			times->posted[flows->noted_posts++] = now;
	}
	if (rdmapmd_post_send(flow->queue->qp, flows->wrs, (uint16_t)o->post_list) != o->post_list)
		perf_phase_bad_post(flows->phase, "request", flow->queue->qp->post_send_error);
	flow->posted += o->post_list;
}

/* Whether it has, or will have, something to post. */
static bool
wants_to_post(const struct perf_flows *flows, const struct perf_flow *flow)
{
	if (flow->posted == flows->phase->iters)
		return false;
	return flow->posted < flow->end || flow->grouped != 0;
}

static void
set_end(const struct perf_phase *phase, struct perf_flow *flow, uint64_t end)
{
	flow->end = end;
	flow->last_lap = !phase->layout.has_last ? UINT64_MAX
			 : end == PERF_UNTIL_STOPPED
				 ? end
				 : end - RTE_MIN(end, (uint64_t)phase->layout.slots);
}

/* No more, but a last lap, where there is one and it has not begun. */
static void
stop(struct perf_flows *flows)
{
	const struct perf_layout *layout = &flows->phase->layout;
	uint32_t i;

	flows->stopped = true;
	for (i = 0; i < flows->worker->nqueues; i++) {
		struct perf_flow *flow = &flows->flow[i];

		if (!layout->has_last)
			set_end(flows->phase, flow, flow->posted);
		else if (flow->posted < flow->last_lap)
			set_end(flows->phase, flow, flow->posted + layout->slots);
	}
}

/* @return Whether all is posted. */
static bool
post_where_room(struct perf_flows *flows)
{
	const struct perf_options *o = flows->phase->end->options;
	bool all = true;
	uint32_t i;

	if (!flows->stopped && atomic_load_explicit(&flows->phase->stop, memory_order_relaxed))
		stop(flows);
	for (i = 0; i < flows->worker->nqueues; i++) {
		struct perf_flow *flow = &flows->flow[i];

		while (wants_to_post(flows, flow) &&
		       flow->posted - flow->completed + o->post_list <= o->tx_depth &&
		       perf_phase_error(flows->phase) == 0)
			post_list(flows, flow);
		if (wants_to_post(flows, flow))
			all = false;
	}
	return all;
}

static bool
all_completed(const struct perf_flows *flows)
{
	uint32_t i;

	for (i = 0; i < flows->worker->nqueues; i++)
		if (flows->flow[i].completed != flows->flow[i].posted)
			return false;
	return true;
}

/* Of the last group there may be fewer. */
static void
sent(struct perf_flows *flows, const struct rdmapmd_wc *wc, uint64_t now)
{
	const struct perf_options *o = flows->phase->end->options;
	struct perf_times *times = &flows->outcome->times;
	struct perf_flow *flow = &flows->flow[wc->wr_id];
	const uint64_t n = RTE_MIN((uint64_t)o->cq_mod, flow->posted - flow->completed);

	flow->completed += n;
	flows->noted_completions += n;
	if (flows->noted_completions <= times->n)
		times->completed[flows->noted_completions - 1] = now;
	flows->outcome->sent += n;
	flows->phase->sent[flow->queue->index] = flow->completed;
	flows->outcome->end = now;
}

/* ---- The loop ---- */

static bool
is_receive(const struct rdmapmd_wc *wc)
{
	return (wc->opcode & RDMAPMD_WC_RECV) != 0;
}

/* @return How many completions there were. */
static uint16_t
reap(struct perf_flows *flows)
{
	struct rdmapmd_wc wcs[POLL_BURST];
	const uint16_t n = rdmapmd_poll_cq(flows->worker->cq, wcs, RTE_DIM(wcs));
	uint64_t now;
	uint16_t i;

	if (n == 0)
		return 0;
	now = rte_get_timer_cycles();
	for (i = 0; i < n; i++) {
		if (wcs[i].status != RDMAPMD_WC_SUCCESS) {
			perf_phase_bad_completion(flows->phase, &wcs[i]);
		} else if (is_receive(&wcs[i])) {
			received(flows, &wcs[i]);
			flows->heard = now;
			flows->quiet_since = 0;
			if (!flows->phase->end->requests)
				flows->outcome->end = now;
		} else {
			sent(flows, &wcs[i], now);
		}
	}
	if (flows->worker->index == 0)
		atomic_store_explicit(&flows->phase->done,
				      flows->phase->end->requests ? flows->outcome->sent
								  : flows->outcome->received,
				      memory_order_relaxed);
	return n;
}

/* Whether the worker may leave. Worker 0 stays until the ends have told each other how much they have sent. */
static bool
finished(struct perf_flows *flows)
{
	struct perf_phase *phase = flows->phase;

	if (flows->sending && post_where_room(flows) && all_completed(flows)) {
		flows->sending = false;
		perf_phase_sent(phase);
	}
	if (flows->worker->index == 0)
		perf_phase_tell_sent(phase);
	if (flows->sending || !all_received(flows))
		return false;
	return flows->worker->index != 0 || !phase->end->requests || phase->told_sent;
}

/* At what is not a completion. */
static void
look(struct perf_flows *flows)
{
	struct perf_phase *phase = flows->phase;

	if (flows->worker->index == 0)
		perf_phase_look(phase);
	if (perf_phase_error(phase) == 0 && is_deaf(flows))
		perf_phase_fail(phase,
				perf_fail(-ETIMEDOUT,
					  "%s: nothing has come for %u s: the way from the other "
					  "end is cut, or it stands still",
					  phase->end->device, flows->silence_s));
}

void
perf_bandwidth_run(struct perf_phase *phase, struct perf_worker *worker, struct perf_flows *flows)
{
	struct perf_wait wait = { .worker = worker };
	uint32_t round = 0;

	flows->outcome->start = flows->outcome->end = flows->heard = rte_get_timer_cycles();
	while (perf_phase_error(phase) == 0 && !finished(flows)) {
		const uint16_t n = reap(flows);

		if (n > 0)
			wait.since = 0;
		if (n == 0 || ++round % LOOK_EVERY == 0)
			look(flows);
		if (n > 0)
			continue;
		/* An RC end that only receives waits as long as the other end is there. */
		if (perf_phase_idle(phase, &wait,
				    flows->sending ? flows->patience_s : UINT32_MAX) != 0)
			perf_phase_fail(phase, perf_fail(-ETIMEDOUT, "%s: no completion for %u s",
							 phase->end->device, flows->patience_s));
	}
}

static int
note_times(struct perf_phase *phase, struct perf_worker *worker, struct perf_outcome *outcome)
{
	const uint64_t n = phase->iters * worker->nqueues;

	if (phase->warm_up || phase->iters > PERF_PEAK_ITERS || !phase->end->requests)
		return 0;
	outcome->times.posted = calloc(n, sizeof(uint64_t));
	outcome->times.completed = calloc(n, sizeof(uint64_t));
	outcome->times.n = n;
	return outcome->times.posted == NULL || outcome->times.completed == NULL ? -ENOMEM : 0;
}

int
perf_bandwidth_prepare(struct perf_phase *phase, struct perf_worker *worker,
		       struct perf_flows **made)
{
	const struct perf_options *o = phase->end->options;
	const size_t list =
		o->post_list * (sizeof(struct rdmapmd_send_wr) + sizeof(struct rdmapmd_sge));
	struct perf_flows *flows =
		calloc(1, sizeof(*flows) + worker->nqueues * sizeof(flows->flow[0]) + list);
	uint32_t i;

	*made = NULL;
	if (flows == NULL || note_times(phase, worker, &phase->outcomes[worker->index]) != 0) {
		free(flows);
		return perf_fail(-ENOMEM, "no memory");
	}
	flows->phase = phase;
	flows->worker = worker;
	flows->outcome = &phase->outcomes[worker->index];
	flows->wrs = (struct rdmapmd_send_wr *)&flows->flow[worker->nqueues];
	flows->sges = (struct rdmapmd_sge *)&flows->wrs[o->post_list];
	flows->sending = phase->end->requests;
	flows->patience_s = perf_phase_patience_s(phase);
	flows->silence_s = perf_phase_silence_s(phase);
	for (i = 0; i < worker->nqueues; i++) {
		flows->flow[i].queue = &worker->queues[i];
		set_end(phase, &flows->flow[i], phase->iters);
	}
	if (phase->end->receives)
		first_receives(flows);
	*made = flows;
	return perf_phase_error(phase);
}
