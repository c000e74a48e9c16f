/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "bandwidth.h"
#include "exchange.h"
#include "interrupt.h"
#include "json.h"
#include "latency.h"
#include "lcores.h"
#include "perftest.h"
#include "perftest_exchange.h"
#include "phase.h"
#include "pingpong.h"
#include "plot.h"
#include "request.h"
#include "say.h"
#include "side.h"
#include "tcp.h"
#include "verify.h"
#include "watch.h"

#define WARM_UP_TELLS 8 /* messages: if so many and all are lost, there is no way */

/* ---- What an end has to do, and to print ---- */

/* perftest's servers of READs and atomics have no table of latencies. */
static bool
has_table(const struct perf_end *end)
{
	return end->options->mode == PERF_BW || !perf_end_is_passive(end);
}

/* perftest's words. */
static void
print_choices(const struct perf_side *side)
{
	const struct perf_options *o = side->options;

	if (side->out == NULL)
		return;
	if (o->groups_large) {
		perf_report_line(side->out);
		fputs("Warning: Large message requested and CQ moderation enabled\n"
		      "Warning: It can lead to inaccurate results\n",
		      side->out);
	}
	if (o->post_list > 1 && !o->has_cq_mod) {
		perf_report_line(side->out);
		fputs("Post List requested - CQ moderation will be the size of the post list\n",
		      side->out);
	}
}

/* ---- Meeting the other end ---- */

static int
wait_for_client(const struct perf_side *side, int *fd)
{
	int listener, rc = perf_tcp_listen((uint16_t)side->options->port, &listener);

	if (rc != 0)
		return rc;
	fputs("\n************************************\n"
	      "* Waiting for client to connect... *\n"
	      "************************************\n",
	      side->out);
	fflush(side->out);
	return perf_tcp_accept(listener, fd);
}

/*
 * Over a stream that is there. Who comes by TCP has all to say that is asked here, and holds nobody who says nothing; the
 * loopback run's other end may still be opening its device.
 */
static int
meet_native(struct perf_side *side, int fd)
{
	const int timeout_ms = side->fd < 0 ? PERF_TCP_PATIENCE_MS : -1;
	int rc = perf_link_open(&side->link, fd);

	if (rc != 0) {
		close(fd);
		return perf_fail(rc, "no memory");
	}
	rc = perf_exchange_hello(&side->link, side->options, timeout_ms);
	if (rc == 0)
		rc = perf_exchange_addresses(&side->link, &side->end, timeout_ms);
	return rc == 0 ? perf_end_connect(&side->end) : rc;
}

static int
meet(struct perf_side *side)
{
	int rc = 0, fd = side->fd;

	if (fd < 0 && side->client)
		rc = perf_tcp_connect(side->options->host, (uint16_t)side->options->port, &fd);
	else if (fd < 0)
		rc = wait_for_client(side, &fd);
	if (rc != 0)
		return rc;
	if (side->options->exchange == PERF_NATIVE)
		return meet_native(side, fd);
	if (side->options->exchange == PERF_PERFTEST) {
		side->perftest = fd;
		return perf_perftest_meet(&side->end, fd);
	}
	rc = perf_pingpong_meet(&side->end, fd);
	close(fd);
	return rc;
}

static void
print_head(struct perf_side *side)
{
	uint32_t i;

	side->info = (struct perf_test_info){
		.device = side->end.device,
		.requester = side->end.requests,
		/* Of latency perftest's client tells what it sends with alone. */
		.responder =
			side->end.receives && (!side->end.requests || side->options->bidirectional),
		.mtu = side->end.mtu,
		.inline_size = side->end.inline_size,
		.out_reads = side->end.out_reads,
	};
	if (side->out == NULL)
		return;
	perf_report_head(side->out, side->options, &side->info);
	for (i = 0; i < 2 * side->options->qps; i++) {
		const struct perf_queue *queue = &side->end.queues[i % side->options->qps];
		const bool local = i < side->options->qps;
		const struct perf_address address =
			local ? perf_end_address(&side->end, queue)
			      : perf_end_peer_address(&side->end, queue);

		perf_report_address(side->out, side->options, local ? "local" : "remote", &address);
	}
	perf_report_line(side->out);
	if (has_table(&side->end))
		perf_report_titles(side->out, side->options);
	fflush(side->out);
}

/* ---- A phase ---- */

struct bandwidth_run {
	struct perf_phase *phase;
	struct perf_flows *flows[PERF_LCORES_MAX];
};

static void
run_worker(void *arg, uint32_t worker)
{
	struct bandwidth_run *run = arg;
	struct perf_phase *phase = run->phase;

	if (phase->end->options->mode == PERF_LAT)
		perf_latency_run(phase);
	else
		perf_bandwidth_run(phase, &phase->end->workers[worker], run->flows[worker]);
}

/* Begin, run, and know what the other end has sent. */
static int
run_phase(struct perf_side *side, struct perf_phase *phase, struct bandwidth_run *run)
{
	struct perf_cpu cpus[PERF_LCORES_MAX];
	int rc = perf_exchange_begin(&side->link);

	if (rc != 0)
		return rc;
	if (side->options->duration > 0 && !phase->warm_up)
		phase->deadline =
			rte_get_timer_cycles() + side->options->duration * rte_get_timer_hz();
	if (perf_end_is_passive(phase->end))
		return perf_phase_wait_sent(phase);
	rc = perf_lcores_run(side->first_lcore, side->options->lcores, run_worker, run, cpus);
	if (rc == 0)
		rc = perf_phase_error(phase);
	if (!phase->warm_up && !side->options->events)
		perf_lcores_say_if_busy(side->end.device, cpus, side->options->lcores);
	if (rc == 0 && (!phase->end->requests || side->options->bidirectional))
		rc = perf_phase_wait_sent(phase);
	return rc;
}

static int
prepare_phase(struct perf_phase *phase, struct bandwidth_run *run)
{
	uint32_t i;
	int rc = 0;

	perf_request_prepare(phase);
	if (phase->end->options->mode == PERF_LAT)
		return perf_latency_prepare(phase);
	for (i = 0; rc == 0 && i < phase->end->options->lcores; i++)
		rc = perf_bandwidth_prepare(phase, &phase->end->workers[i], &run->flows[i]);
	return rc;
}

/* What the workers have done, together: from the first one's start to the last one's end. */
static struct perf_verdict
sum_up(const struct perf_phase *phase)
{
	struct perf_verdict verdict = { .interrupted = perf_interrupted() };
	const double hz = (double)rte_get_timer_hz();
	uint64_t start = UINT64_MAX, end = 0;
	uint32_t i;

	for (i = 0; i < phase->end->options->lcores; i++) {
		const struct perf_outcome *outcome = &phase->outcomes[i];

		verdict.iters += outcome->sent;
		verdict.received += outcome->received;
		verdict.lost += outcome->lost;
		verdict.wrong += outcome->wrong;
		verdict.peak_bytes += perf_result_peak(&outcome->times, hz) * phase->layout.size;
		start = RTE_MIN(start, outcome->start);
		end = RTE_MAX(end, outcome->end);
	}
	verdict.seconds = end > start ? (double)(end - start) / hz : 0;
	return verdict;
}

/* ---- What comes of it ---- */

static void
bandwidth_result(const struct perf_end *end, const struct perf_verdict *own,
		 const struct perf_verdict *other, struct perf_result *result)
{
	/* An end that has nothing to do tells what the other one has measured, as perftest's does. */
	const struct perf_verdict *measured = perf_end_is_passive(end) ? other : own;
	struct perf_result back = { .size = result->size,
				    .iters = other->iters,
				    .seconds = other->seconds };

	/* An end that only receives measures what comes. */
	result->iters = end->receives && !end->requests ? own->received : measured->iters;
	result->seconds = measured->seconds;
	result->peak_bytes = measured->peak_bytes;
	perf_result_bandwidth(result);
	if (!end->options->bidirectional)
		return;
	perf_result_bandwidth(&back);
	result->peak_bytes += other->peak_bytes;
	result->average_bytes += back.average_bytes;
	result->rate += back.rate;
}

static void
latency_result(struct perf_phase *phase, const struct perf_verdict *own, struct perf_result *result)
{
	const bool fetch = perf_op_fetches(phase->end->options->op);
	const double tick_us = 1e6 / (double)rte_get_timer_hz() / (fetch ? 1 : 2);

	result->iters = own->iters;
	result->seconds = own->seconds;
	perf_result_latency(result, phase->samples, phase->nsamples, tick_us);
	if (own->iters > 0 && own->seconds > 0) {
		result->average_us = own->seconds * 1e6 / (double)own->iters / (fetch ? 1 : 2);
		result->tps = (double)own->iters / own->seconds;
	}
}

/* Of WRITEs without immediate data nobody knows but at the end of a size, of the last lap. */
static void
say_lost(const struct perf_side *side, const struct perf_verdict *own,
	 const struct perf_verdict *other)
{
	const bool counted = perf_op_receives(side->options->op);

	if (own->lost > 0 && counted)
		perf_say("%s: %" PRIu64 " of %" PRIu64
			 " messages were lost, and what came was not compared",
			 side->end.device, own->lost, own->lost + own->received);
	else if (own->lost > 0)
		perf_say("%s: %" PRIu64 " of the last messages were lost", side->end.device,
			 own->lost);
	if (other->lost > 0 && side->out != NULL && counted)
		perf_say("%s: %" PRIu64 " of %" PRIu64 " messages did not arrive", side->end.device,
			 other->lost, other->lost + other->received);
	else if (other->lost > 0 && side->out != NULL)
		perf_say("%s: %" PRIu64 " of the last messages did not arrive", side->end.device,
			 other->lost);
}

/* Of a warm-up's messages, where there are few, all may be lost by chance. */
static bool
nothing_came(const struct perf_verdict *verdict, bool warm_up)
{
	return verdict->lost >= (warm_up ? WARM_UP_TELLS : 1) && verdict->received == 0;
}

static int
judge(struct perf_side *side, const struct perf_verdict *own, const struct perf_verdict *other,
      bool warm_up)
{
	say_lost(side, own, other);
	if (nothing_came(own, warm_up) || nothing_came(other, warm_up))
		return perf_fail(-ENOLINK, "%s: no message has come through%s", side->end.device,
				 perf_op_receives(side->options->op) ? "" : " at the end");
	if (own->wrong > 0 || other->wrong > 0)
		return perf_fail(-EBADMSG, "%s: --verify has found wrong data at %s end",
				 side->end.device, own->wrong > 0 ? "this" : "the other");
	if (perf_interrupted())
		return -EINTR;
	if (other->interrupted)
		return perf_link_left(&side->link);
	return 0;
}

static void
take_result(struct perf_side *side, struct perf_phase *phase, const struct perf_verdict *own,
	    const struct perf_verdict *other)
{
	struct perf_result *result = &side->results[side->nresults];

	*result =
		(struct perf_result){ .size = phase->layout.size, .lost = own->lost + other->lost };
	if (side->options->mode == PERF_BW)
		bandwidth_result(&side->end, own, other, result);
	else
		latency_result(phase, own, result);
	if (!has_table(&side->end) || result->iters == 0)
		return;
	side->nresults++;
	perf_progress(NULL);
	if (side->out != NULL) {
		perf_report_row(side->out, side->options, result);
		fflush(side->out);
	}
}

/* ---- Sizes ---- */

/* Receives of what was lost are still there. Both ends know of it, and do the same. */
static int
recover(struct perf_side *side)
{
	int rc;

	if (!side->options->use_srq)
		return perf_end_reconnect(&side->end);
	rc = perf_end_renew(&side->end);
	if (rc == 0)
		rc = perf_exchange_addresses(&side->link, &side->end, PERF_TCP_PATIENCE_MS);
	return rc == 0 ? perf_end_connect(&side->end) : rc;
}

static int
phase_of(struct perf_side *side, struct perf_phase *phase, const struct perf_layout *layout,
	 uint64_t iters, bool warm_up)
{
	struct bandwidth_run run = { .phase = phase };
	struct perf_verdict own, other;
	uint64_t wrong = 0;
	uint32_t i;
	int rc = perf_phase_open(phase, &side->end, &side->link, layout, iters, warm_up);

	if (rc == 0)
		rc = prepare_phase(phase, &run);
	if (rc == 0)
		rc = run_phase(side, phase, &run);
	for (i = 0; i < PERF_LCORES_MAX; i++)
		free(run.flows[i]);
	if (rc == 0 && side->options->verify && side->options->mode == PERF_BW)
		wrong = perf_verify_phase(phase);
	own = sum_up(phase);
	own.wrong += wrong;
	/* UC and UD have sent all, wherever to. */
	if (rc == 0 && side->options->transport != RDMAPMD_QPT_RC)
		rc = perf_watch_look(&side->end, 0);
	if (rc == 0)
		rc = perf_exchange_verdict(&side->link, &own, &other);
	if (rc != 0)
		memset(&other, 0, sizeof(other));
	/* However it has ended: what was measured is shown. */
	if (!warm_up)
		take_result(side, phase, &own, &other);
	if (rc == 0)
		rc = judge(side, &own, &other, warm_up);
	if (rc == 0 && (own.lost > 0 || other.lost > 0))
		rc = recover(side);
	perf_phase_close(phase);
	return rc;
}

/* Who asked for a wrong byte, and has come to the end, has not met it. */
static int
check_damage(const struct perf_side *side)
{
	if (side->options->damage < 0)
		return 0;
	return perf_fail(-EBADMSG,
			 "%s: --damage=%" PRId64 ": no wrong byte was found: was it given to the "
			 "end that sends, and has a message so many?",
			 side->end.device, side->options->damage);
}

static int
run_sizes(struct perf_side *side)
{
	const struct perf_options *o = side->options;
	struct perf_phase phase = { 0 };
	uint64_t size;
	int rc = 0;

	for (size = RTE_MIN(perf_layout_first(o), side->end.size_max);
	     rc == 0 && size <= side->end.size_max; size *= 2) {
		const struct perf_layout layout = perf_layout_of(o, (uint32_t)size);

		rc = phase_of(side, &phase, &layout, perf_warm_up_iters(o, layout.size), true);
		if (rc == 0)
			rc = phase_of(side, &phase, &layout,
				      o->duration > 0 ? PERF_UNTIL_STOPPED : o->iters, false);
	}
	perf_progress(NULL);
	return rc == 0 ? check_damage(side) : rc;
}

struct rally_run {
	struct perf_side *side;
	int rc;
};

static void
run_rally(void *arg, uint32_t worker)
{
	struct rally_run *run = arg;

	(void)worker;
	run->rc = perf_pingpong_run(&run->side->end, &run->side->results[0]);
}

/* The traffic of ibv_*_pingpong. */
static int
run_pingpong(struct perf_side *side)
{
	struct perf_result *result = &side->results[0];
	struct rally_run run = { .side = side };
	struct perf_cpu cpu;
	int rc = perf_lcores_run(side->first_lcore, 1, run_rally, &run, &cpu);

	if (rc == 0)
		rc = run.rc;
	perf_lcores_say_if_busy(side->end.device, &cpu, 1);
	if (result->iters == 0)
		return rc;
	side->nresults = 1;
	perf_report_row(side->out, side->options, result);
	perf_pingpong_report(side->out, result);
	return rc == 0 ? check_damage(side) : rc;
}

/* The traffic of perftest's programs. */
static int
run_perftest(struct perf_side *side)
{
	struct perf_result *result = &side->results[0];
	int rc = perf_perftest_run(&side->end, side->perftest, result);

	if (result->iters == 0 || !has_table(&side->end))
		return rc;
	side->nresults = 1;
	perf_report_row(side->out, side->options, result);
	return rc;
}

static int
run_all(struct perf_side *side)
{
	switch (side->options->exchange) {
	case PERF_PINGPONG: return run_pingpong(side);
	case PERF_PERFTEST: return run_perftest(side);
	default: return run_sizes(side);
	}
}

/* ---- Files ---- */

typedef void (*write_report_t)(FILE *out, const struct perf_options *options,
			       const struct perf_test_info *info, const struct perf_result *results,
			       uint32_t n);

static int
write_file(const struct perf_side *side, const char *path, write_report_t write_report)
{
	FILE *file = fopen(path, "w");
	int rc;

	if (file == NULL)
		return perf_fail(-errno, "cannot write %s: %s", path, strerror(errno));
	write_report(file, side->options, &side->info, side->results, side->nresults);
	rc = ferror(file) ? -EIO : 0;
	if (fclose(file) != 0 || rc != 0)
		return perf_fail(-EIO, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

/* What was measured so far, however it ended. */
static int
write_files(const struct perf_side *side)
{
	int rc = 0;

	if (side->out == NULL)
		return 0;
	if (side->options->json_file != NULL)
		rc = write_file(side, side->options->json_file, perf_json_write);
	if (side->options->plot_file != NULL && rc == 0)
		rc = write_file(side, side->options->plot_file, perf_plot_write);
	return rc;
}

static int
run_and_report(struct perf_side *side)
{
	int rc, rc_files;

	print_head(side);
	rc = run_all(side);
	if (side->out != NULL && has_table(&side->end))
		perf_report_line(side->out);
	rc_files = write_files(side);
	if (side->out != NULL && (fflush(side->out) != 0 || ferror(side->out)) && rc_files == 0)
		rc_files = perf_fail(-EIO, "cannot write the table: %s", strerror(errno));
	return rc == 0 ? rc_files : rc;
}

int
perf_side_run(struct perf_side *side)
{
	int rc = perf_end_open(&side->end, side->options, side->client, side->device), rc_close;

	if (rc == 0) {
		print_choices(side);
		rc = meet(side);
	} else if (side->fd >= 0) {
		close(side->fd);
	}
	if (rc == 0)
		rc = run_and_report(side);
	/* The other end learns at once that this one has gone, and why; it may have gone itself, and nothing is said of that. */
	if (rc == -EINTR && side->link.buffer != NULL) {
		side->link.is_over = true;
		perf_link_send(&side->link, PERF_MESSAGE_LEAVES, "");
	}
	perf_link_close(&side->link);
	if (side->perftest > 0)
		close(side->perftest);
	rc_close = perf_end_close(&side->end);
	return rc == 0 ? rc_close : rc;
}
