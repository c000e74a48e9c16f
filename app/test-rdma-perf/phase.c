/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include "interrupt.h"
#include "phase.h"
#include "say.h"
#include "tcp.h"
#include "watch.h"

#define LOOK_US	 200
#define WATCH_MS 100
#define LINK_MS \
	2000 /* that a link may be away: RC sends again for so long, or says that it was in vain */
#define PROGRESS_MS 250
#define YIELD_US \
	50 /* after polling in vain for so long, a thread lets others run: it may wait for them */
#define SLEEP_MS 20
#define AWAY_US	 1000000 /* longer than a thread that waits is ever without a CPU */

#define PATIENCE_S	     3
#define PATIENCE_FOR_EVER_S  30		/* for a queue pair that never gives up */
#define PATIENCE_BYTES_S     (1u << 24) /* that the slowest device sends in a second */
#define PATIENCE_TIMEOUTS_US 131 /* 4.096 us, four times as a timeout may last, for eight times */

static uint64_t
ticks(uint64_t us)
{
	return us * rte_get_timer_hz() / 1000000;
}

/* In bw that is one of the last lap; of a WRITE in lat the last byte tells that it has come, and stays right. */
static uint64_t
damaged_message(const struct perf_phase *phase)
{
	const struct perf_options *o = phase->end->options;
	const int64_t size = phase->layout.size;
	const bool lat = o->mode == PERF_LAT;

	if (phase->warm_up || o->damage < 0 || o->damage >= size - (lat && o->op == PERF_WRITE))
		return PERF_NO_MESSAGE;
	return lat || perf_op_atomic(o->op) || phase->iters == PERF_UNTIL_STOPPED
		       ? 0
		       : phase->iters - 1;
}

int
perf_phase_open(struct perf_phase *phase, struct perf_end *end, struct perf_link *link,
		const struct perf_layout *layout, uint64_t iters, bool warm_up)
{
	const struct perf_options *o = end->options;
	const uint64_t number = phase->number + 1;

	memset(phase, 0, sizeof(*phase));
	phase->end = end;
	phase->link = link;
	phase->layout = *layout;
	phase->number = number;
	phase->iters = iters;
	phase->warm_up = warm_up;
	phase->damaged = damaged_message(phase);
	atomic_init(&phase->sending, end->requests ? o->lcores : 0);
	phase->sent = calloc(2 * o->qps, sizeof(*phase->sent));
	if (phase->sent == NULL)
		return perf_fail(-ENOMEM, "no memory");
	phase->peer_sent = phase->sent + o->qps;
	if (o->mode == PERF_LAT && iters != PERF_UNTIL_STOPPED && !warm_up) {
		phase->samples_room = iters;
		phase->samples = malloc(iters * sizeof(*phase->samples));
		if (phase->samples == NULL)
			return perf_fail(-ENOMEM, "no memory for %" PRIu64 " samples", iters);
	}
	return 0;
}

void
perf_phase_close(struct perf_phase *phase)
{
	uint32_t i;

	free(phase->samples);
	free(phase->sent);
	phase->samples = phase->sent = phase->peer_sent = NULL;
	for (i = 0; i < PERF_LCORES_MAX; i++) {
		free(phase->outcomes[i].times.posted);
		free(phase->outcomes[i].times.completed);
		phase->outcomes[i].times = (struct perf_times){ 0 };
	}
}

int
perf_phase_fail(struct perf_phase *phase, int rc)
{
	int none = 0;

	atomic_compare_exchange_strong(&phase->error, &none, rc);
	return rc;
}

/* ---- What is not a completion ---- */

static void
look_at_link(struct perf_phase *phase)
{
	struct perf_message message;
	int rc = perf_link_poll(phase->link, &message);

	if (rc == 0)
		return;
	/* It waits for what was measured so far. */
	if (rc == -ECONNABORTED || rc == -EINTR) {
		atomic_store_explicit(&phase->stop, true, memory_order_relaxed);
		return;
	}
	if (rc > 0 && message.type != PERF_MESSAGE_SENT)
		rc = perf_fail(-EPROTO, "the other end speaks out of turn");
	if (rc > 0)
		rc = perf_exchange_parse_sent(&message, phase->peer_sent, phase->end->options->qps,
					      phase->iters);
	if (rc == 0)
		atomic_store_explicit(&phase->peer_sent_known, true, memory_order_release);
	else
		perf_phase_fail(phase, rc);
}

static void
look_at_progress(struct perf_phase *phase, uint64_t now)
{
	const unsigned long long done = atomic_load_explicit(&phase->done, memory_order_relaxed);
	char text[100];

	if (now < phase->next_progress)
		return;
	phase->next_progress = now + ticks(1000 * PROGRESS_MS);
	if (!phase->end->requests && !phase->end->receives)
		snprintf(text, sizeof(text), " %u bytes: the other end is at work",
			 phase->layout.size);
	else if (phase->iters == PERF_UNTIL_STOPPED)
		snprintf(text, sizeof(text), " %u bytes: %llu messages", phase->layout.size, done);
	else
		snprintf(text, sizeof(text), " %u bytes: %llu of %" PRIu64 " messages%s",
			 phase->layout.size, done, phase->iters * phase->end->workers[0].nqueues,
			 phase->warm_up ? " of the warm-up" : "");
	perf_progress(text);
}

/* No more requests; a worker that comes to no end leaves all the same. */
static void
look_at_interrupt(struct perf_phase *phase, uint64_t now)
{
	if (!perf_interrupted())
		return;
	atomic_store_explicit(&phase->stop, true, memory_order_relaxed);
	if (phase->interrupted == 0)
		phase->interrupted = now;
	if (now - phase->interrupted > ticks(1000 * PERF_INTERRUPT_MS))
		perf_phase_fail(phase, -EINTR);
}

static void
look_at_port(struct perf_phase *phase, uint64_t now)
{
	int rc;

	if (now < phase->next_watch || perf_phase_error(phase) != 0)
		return;
	phase->next_watch = now + ticks(1000 * WATCH_MS);
	rc = perf_watch_look(phase->end, LINK_MS);
	if (rc != 0)
		perf_phase_fail(phase, rc);
}

/* A reliable queue pair gives up by itself; all that completes at once has to be sent before. */
unsigned int
perf_phase_patience_s(const struct perf_phase *phase)
{
	const struct perf_options *o = phase->end->options;
	const uint64_t bytes = (uint64_t)phase->layout.size * o->cq_mod * o->qps;
	uint64_t seconds = PATIENCE_S;

	if (o->transport == RDMAPMD_QPT_RC && o->timeout == 0)
		seconds = PATIENCE_FOR_EVER_S;
	else if (o->transport == RDMAPMD_QPT_RC)
		seconds = RTE_MAX(seconds,
				  1 + ((uint64_t)PATIENCE_TIMEOUTS_US << o->timeout) / 1000000);
	return (unsigned int)(seconds + bytes / PATIENCE_BYTES_S);
}

unsigned int
perf_phase_silence_s(const struct perf_phase *phase)
{
	const uint64_t bytes = (uint64_t)phase->layout.size * phase->end->options->qps;

	return (unsigned int)(PATIENCE_S + bytes / PATIENCE_BYTES_S);
}

void
perf_phase_look(struct perf_phase *phase)
{
	const uint64_t now = rte_get_timer_cycles();

	if (now < phase->next_look)
		return;
	phase->next_look = now + ticks(LOOK_US);
	look_at_interrupt(phase, now);
	look_at_port(phase, now);
	if (phase->deadline != 0 && now >= phase->deadline)
		atomic_store_explicit(&phase->stop, true, memory_order_relaxed);
	/* What comes behind SENT is RESULT, which is not the workers'. */
	if (!atomic_load_explicit(&phase->peer_sent_known, memory_order_relaxed) &&
	    !(phase->told_sent && !phase->end->receives && !phase->end->options->bidirectional))
		look_at_link(phase);
	look_at_progress(phase, now);
}

/* Who only waits has the other end come to its result. */
static void
tell_leaves(struct perf_phase *phase)
{
	if (phase->interrupted == 0 || phase->told_leaves || !perf_end_is_passive(phase->end))
		return;
	phase->told_leaves = true;
	if (perf_link_send(phase->link, PERF_MESSAGE_LEAVES, "") != 0)
		perf_phase_fail(phase, -EINTR);
}

int
perf_phase_wait_sent(struct perf_phase *phase)
{
	struct pollfd ready = { .fd = phase->link->fd, .events = POLLIN };

	while (!atomic_load_explicit(&phase->peer_sent_known, memory_order_relaxed) &&
	       perf_phase_error(phase) == 0) {
		const uint64_t now = rte_get_timer_cycles();

		look_at_interrupt(phase, now);
		tell_leaves(phase);
		look_at_port(phase, now);
		look_at_progress(phase, now);
		poll(&ready, 1, PERF_TCP_TICK_MS);
		look_at_link(phase);
	}
	return perf_phase_error(phase);
}

void
perf_phase_sent(struct perf_phase *phase)
{
	atomic_fetch_sub_explicit(&phase->sending, 1, memory_order_release);
}

void
perf_phase_tell_sent(struct perf_phase *phase)
{
	int rc;

	if (phase->told_sent || !phase->end->requests ||
	    atomic_load_explicit(&phase->sending, memory_order_acquire) != 0)
		return;
	rc = perf_exchange_sent(phase->link, phase->sent, phase->end->options->qps);
	if (rc != 0)
		perf_phase_fail(phase, rc);
	phase->told_sent = true;
}

uint64_t
perf_phase_peer_sent(const struct perf_phase *phase, const struct perf_worker *worker)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < worker->nqueues; i++)
		sum += phase->peer_sent[worker->queues[i].index];
	return sum;
}

/* ---- Waiting ---- */

/* Arm, so that the channel tells; a completion that came before that tells at once. */
static void
sleep_until_event(struct perf_phase *phase, struct perf_worker *worker)
{
	struct pollfd ready[2] = { { .fd = worker->channel->fd, .events = POLLIN },
				   { .fd = phase->link->fd, .events = POLLIN } };
	struct rdmapmd_cq *cq;

	rdmapmd_req_notify_cq(worker->cq, false);
	poll(ready, worker->index == 0 && !phase->told_sent ? 2 : 1, SLEEP_MS);
	while (rdmapmd_cq_event_get(worker->channel, &cq) == 0)
		rdmapmd_cq_events_ack(cq, 1);
}

int
perf_phase_idle(struct perf_phase *phase, struct perf_wait *wait, unsigned int limit_s)
{
	const uint64_t now = rte_get_timer_cycles();

	/* Who was stopped for a while has not looked meanwhile: what came then comes now. */
	if (wait->since == 0 || now - wait->looked > ticks(AWAY_US))
		wait->since = now;
	wait->looked = now;
	if (now - wait->since > limit_s * rte_get_timer_hz())
		return -ETIMEDOUT;
	if (wait->worker->channel != NULL)
		sleep_until_event(phase, wait->worker);
	else if (now - wait->since > ticks(YIELD_US))
		sched_yield();
	else
		rte_pause();
	return 0;
}

/* ---- What went wrong ---- */

void
perf_phase_bad_completion(struct perf_phase *phase, const struct rdmapmd_wc *wc)
{
	const char *hint = "";

	/* What follows the first error is its consequence. */
	if (perf_phase_error(phase) != 0)
		return;
	if (wc->status == RDMAPMD_WC_RETRY_EXC_ERR)
		hint = ": the other end, or the way to it, has gone";
	if (wc->status == RDMAPMD_WC_WR_FLUSH_ERR)
		hint = ": the queue pair has failed, or its device has gone";
	perf_fail(-EIO, "%s: queue pair 0x%06x: %s (0x%x)%s", phase->end->device, wc->qp_num,
		  rdmapmd_wc_status_str(wc->status), wc->vendor_err, hint);
	perf_phase_fail(phase, -EIO);
}

void
perf_phase_bad_post(struct perf_phase *phase, const char *what, int rc)
{
	if (perf_phase_error(phase) == 0)
		perf_fail(rc, "%s: cannot post a %s: %s", phase->end->device, what, strerror(-rc));
	perf_phase_fail(phase, rc);
}
