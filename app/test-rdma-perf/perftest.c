/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "interrupt.h"
#include "lcores.h"
#include "perftest.h"
#include "perftest_exchange.h"
#include "say.h"
#include "tcp.h"

#define POLL_BURST  32
#define SILENCE_MS  10000 /* an emulated machine may be slow */
#define PROGRESS_MS 250
#define LOOK_MS	    100 /* between two looks at the stream, while nothing comes */

/* Of a queue pair. */
struct count {
	uint64_t posted, completed;  /* requests */
	uint64_t receives, received; /* posted ones, messages */
};

struct traffic {
	struct perf_end *end;
	struct perf_result *result;
	uint32_t size;
	uint64_t completed, received; /* of all queue pairs */
	uint64_t *samples, nsamples;  /* in lat: ticks of rounds */
	uint64_t last, next_progress; /* ticks: when something came; when to say how far it is */
	uint64_t next_look;	      /* likewise, at the stream, */
	int fd;			      /* this one, */
	bool is_over; /* which was closed, when it was looked at last, and nothing has come since */
	int rc;	      /* of the worker */
	struct count counts[]; /* by queue pair */
};

/* ---- Posting ---- */

static int
post_receive(struct traffic *traffic, uint32_t q)
{
	const struct perf_end *end = traffic->end;
	const struct perf_queue *queue = &end->queues[q];
	const uint32_t head = perf_layout_of(end->options, traffic->size).head;
	const struct rdmapmd_sge sge = { (uintptr_t)queue->in, traffic->size + head,
					 end->mr->lkey };
	const struct rdmapmd_recv_wr wr = { .wr_id = q, .sg_list = &sge, .num_sge = 1 };

	if (rdmapmd_post_recv(queue->qp, &wr, 1) != 1)
		return perf_fail(-ENOMEM, "%s: cannot post a receive", end->device);
	traffic->counts[q].receives++;
	return 0;
}

static int
post_receives(struct traffic *traffic)
{
	const struct perf_options *o = traffic->end->options;
	const uint64_t n = RTE_MIN((uint64_t)o->rx_depth, o->iters);
	uint32_t q;
	int rc = 0;

	for (q = 0; q < o->qps; q++)
		while (rc == 0 && traffic->counts[q].receives < n)
			rc = post_receive(traffic, q);
	return rc;
}

static void
fill_in(const struct traffic *traffic, uint32_t q, struct rdmapmd_send_wr *wr)
{
	const struct perf_end *end = traffic->end;
	const struct perf_queue *queue = &end->queues[q];

	switch (end->options->op) {
	case PERF_SEND:
		wr->opcode = RDMAPMD_WR_SEND;
		if (end->options->transport == RDMAPMD_QPT_UD) {
			wr->wr.ud.ah = end->ah;
			wr->wr.ud.remote_qpn = queue->peer_qp_num;
			wr->wr.ud.remote_qkey = PERF_QKEY;
		}
		break;
	case PERF_FETCH_ADD:
	case PERF_CMP_SWAP:
		wr->opcode = end->options->op == PERF_FETCH_ADD ? RDMAPMD_WR_ATOMIC_FETCH_AND_ADD
								: RDMAPMD_WR_ATOMIC_CMP_AND_SWP;
		wr->wr.atomic.remote_addr = queue->peer_in;
		wr->wr.atomic.rkey = end->peer.rkey;
		wr->wr.atomic.compare_add = 1;
		break;
	default:
		wr->opcode = end->options->op == PERF_READ ? RDMAPMD_WR_RDMA_READ
							   : RDMAPMD_WR_RDMA_WRITE;
		wr->wr.rdma.remote_addr = queue->peer_in;
		wr->wr.rdma.rkey = end->peer.rkey;
	}
}

/* Of a group the last one completes, and the very last one. */
static int
post(struct traffic *traffic, uint32_t q)
{
	struct perf_end *end = traffic->end;
	struct count *count = &traffic->counts[q];
	const struct perf_queue *queue = &end->queues[q];
	const struct rdmapmd_sge sge = { (uintptr_t)queue->out, traffic->size, end->mr->lkey };
	struct rdmapmd_send_wr wr = { .wr_id = q, .sg_list = &sge, .num_sge = 1 };

	fill_in(traffic, q, &wr);
	count->posted++;
	if (count->posted % end->options->cq_mod == 0 || count->posted == end->options->iters)
		wr.send_flags = RDMAPMD_SEND_SIGNALED;
	if (!perf_op_fetches(end->options->op) && traffic->size <= end->inline_size)
		wr.send_flags |= RDMAPMD_SEND_INLINE;
	if (rdmapmd_post_send(queue->qp, &wr, 1) == 1)
		return 0;
	return perf_fail(queue->qp->post_send_error, "%s: cannot post a request: %s", end->device,
			 strerror(-queue->qp->post_send_error));
}

/* ---- Completions ---- */

static int
take(struct traffic *traffic, const struct rdmapmd_wc *wc)
{
	const struct perf_options *o = traffic->end->options;
	struct count *count = &traffic->counts[wc->wr_id];
	uint64_t n;

	if (wc->status != RDMAPMD_WC_SUCCESS)
		return perf_fail(-EIO, "%s: queue pair 0x%06x: %s (0x%x)", traffic->end->device,
				 wc->qp_num, rdmapmd_wc_status_str(wc->status), wc->vendor_err);
	if ((wc->opcode & RDMAPMD_WC_RECV) != 0) {
		count->received++;
		traffic->received++;
		return count->receives < o->iters ? post_receive(traffic, (uint32_t)wc->wr_id) : 0;
	}
	n = RTE_MIN((uint64_t)o->cq_mod, count->posted - count->completed);
	count->completed += n;
	traffic->completed += n;
	return 0;
}

static void
show_progress(struct traffic *traffic, uint64_t now)
{
	const struct perf_options *o = traffic->end->options;
	char text[100];

	if (now < traffic->next_progress)
		return;
	traffic->next_progress = now + PROGRESS_MS * rte_get_timer_hz() / 1000;
	snprintf(text, sizeof(text), " %u bytes: %" PRIu64 " of %" PRIu64 " messages",
		 traffic->size, RTE_MAX(traffic->completed, traffic->received), o->iters * o->qps);
	perf_progress(text);
}

/* An end closes its stream when it is done, or has ended in between: what it had sent has come by the next look. */
static int
look_at_stream(struct traffic *traffic, uint64_t now)
{
	const bool was_over = traffic->is_over;

	if (now < traffic->next_look)
		return 0;
	traffic->next_look = now + LOOK_MS * rte_get_timer_hz() / 1000;
	traffic->is_over = perf_tcp_is_over(traffic->fd);
	if (!was_over || !traffic->is_over)
		return 0;
	return perf_fail(-EPIPE, "%s: the other end has gone", traffic->end->device);
}

/* Nothing has come in a burst. */
static int
idle(struct traffic *traffic)
{
	const uint64_t now = rte_get_timer_cycles();
	int rc;

	if (perf_interrupted())
		return -EINTR;
	if (traffic->last == 0)
		traffic->last = now;
	rc = look_at_stream(traffic, now);
	if (rc != 0)
		return rc;
	if (now - traffic->last > SILENCE_MS * rte_get_timer_hz() / 1000)
		return perf_fail(-ETIMEDOUT,
				 "%s: nothing has come for %d s: the other end has other "
				 "options (-n, -q, -s), or a message was lost",
				 traffic->end->device, SILENCE_MS / 1000);
	show_progress(traffic, now);
	return 0;
}

static int
reap(struct traffic *traffic)
{
	struct rdmapmd_wc wcs[POLL_BURST];
	const uint16_t n = rdmapmd_poll_cq(traffic->end->workers[0].cq, wcs, RTE_DIM(wcs));
	uint16_t i;
	int rc = 0;

	if (n == 0)
		return idle(traffic);
	traffic->last = 0;
	traffic->is_over = false;
	for (i = 0; rc == 0 && i < n; i++)
		rc = take(traffic, &wcs[i]);
	return rc;
}

/* ---- Bandwidth ---- */

static int
post_where_room(struct traffic *traffic)
{
	const struct perf_options *o = traffic->end->options;
	uint32_t q;
	int rc = 0;

	for (q = 0; q < o->qps; q++) {
		const struct count *count = &traffic->counts[q];

		while (rc == 0 && count->posted < o->iters &&
		       count->posted - count->completed < o->tx_depth)
			rc = post(traffic, q);
	}
	return rc;
}

static int
run_bandwidth(struct traffic *traffic)
{
	const struct perf_options *o = traffic->end->options;
	const bool sends = traffic->end->client;
	const uint64_t all = o->iters * o->qps, start = rte_get_timer_cycles();
	const uint64_t *done = sends ? &traffic->completed : &traffic->received;
	int rc = 0;

	while (rc == 0 && *done < all) {
		if (sends)
			rc = post_where_room(traffic);
		if (rc == 0)
			rc = reap(traffic);
	}
	traffic->result->iters = *done;
	traffic->result->seconds =
		(double)(rte_get_timer_cycles() - start) / (double)rte_get_timer_hz();
	perf_result_bandwidth(traffic->result);
	return rc;
}

/* ---- Latency ---- */

/* Of a WRITE its last byte tells, which counts from one on. */
static bool
has_come(const struct traffic *traffic, uint64_t n)
{
	const uint8_t *last = traffic->end->queues[0].in + traffic->size - 1;

	if (traffic->end->options->op == PERF_SEND)
		return traffic->received > n;
	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == (uint8_t)(n + 1);
}

static int
wait_message(struct traffic *traffic, uint64_t n)
{
	int rc = 0;

	while (rc == 0 && !has_come(traffic, n))
		rc = reap(traffic);
	traffic->last = 0;
	return rc;
}

static int
wait_completion(struct traffic *traffic)
{
	int rc = 0;

	while (rc == 0 && traffic->completed < traffic->counts[0].posted)
		rc = reap(traffic);
	return rc;
}

static void
note(struct traffic *traffic, uint64_t start)
{
	traffic->samples[traffic->nsamples++] = rte_get_timer_cycles() - start;
}

/* The device has read what was sent before. */
static int
send_message(struct traffic *traffic, uint64_t n)
{
	int rc = wait_completion(traffic);

	if (rc != 0)
		return rc;
	traffic->end->queues[0].out[traffic->size - 1] = (uint8_t)(n + 1);
	return post(traffic, 0);
}

static int
ask(struct traffic *traffic)
{
	const bool fetches = perf_op_fetches(traffic->end->options->op);
	uint64_t n, start;
	int rc = 0;

	for (n = 0; rc == 0 && n < traffic->end->options->iters; n++) {
		start = rte_get_timer_cycles();
		rc = fetches ? post(traffic, 0) : send_message(traffic, n);
		if (rc == 0)
			rc = fetches ? wait_completion(traffic) : wait_message(traffic, n);
		if (rc == 0)
			note(traffic, start);
	}
	return rc;
}

static int
answer(struct traffic *traffic)
{
	uint64_t n, start = 0;
	int rc = 0;

	for (n = 0; rc == 0 && n < traffic->end->options->iters; n++) {
		rc = wait_message(traffic, n);
		if (rc == 0 && n > 0)
			note(traffic, start);
		start = rte_get_timer_cycles();
		if (rc == 0)
			rc = send_message(traffic, n);
	}
	return rc;
}

static int
run_latency(struct traffic *traffic)
{
	struct perf_result *result = traffic->result;
	const bool fetches = perf_op_fetches(traffic->end->options->op);
	/* ib_write_lat's server begins, all others' clients. */
	const bool begins = traffic->end->client == (traffic->end->options->op != PERF_WRITE);
	const uint64_t start = rte_get_timer_cycles();
	const double hz = (double)rte_get_timer_hz();
	int rc = begins ? ask(traffic) : answer(traffic);

	if (rc == 0)
		rc = wait_completion(traffic);
	/* Who answers knows no time of the first one. */
	result->iters = traffic->completed;
	result->seconds = (double)(rte_get_timer_cycles() - start) / hz;
	perf_result_latency(result, traffic->samples, traffic->nsamples,
			    1e6 / hz / (fetches ? 1 : 2));
	return rc;
}

/* ---- A run ---- */

static void
run_worker(void *arg, uint32_t worker)
{
	struct traffic *traffic = arg;

	(void)worker;
	traffic->rc = traffic->end->options->mode == PERF_LAT ? run_latency(traffic)
							      : run_bandwidth(traffic);
}

static int
run_traffic(struct traffic *traffic)
{
	struct perf_cpu cpu;
	int rc = perf_lcores_run(0, 1, run_worker, traffic, &cpu);

	perf_lcores_say_if_busy(traffic->end->device, &cpu, 1);
	return rc == 0 ? traffic->rc : rc;
}

/* What each program does behind its last keys. */
static int
run(struct traffic *traffic, int fd)
{
	struct perf_end *end = traffic->end;
	const struct perf_options *o = end->options;
	const bool lat = o->mode == PERF_LAT, sends = o->op == PERF_SEND;
	int rc = 0;

	if (sends && end->receives)
		rc = post_receives(traffic);
	if (rc == 0 && sends)
		rc = perf_perftest_step(end, fd, SILENCE_MS);
	if (rc == 0 && !perf_end_is_passive(end))
		rc = run_traffic(traffic);
	perf_progress(NULL);
	if (rc == 0 && !lat && !sends) {
		rc = perf_perftest_step(end, fd, -1);
		if (rc == 0)
			rc = perf_perftest_report(end, fd, traffic->result);
	}
	/* Of ib_write_lat both ends know that they are done. */
	if (rc == 0 && !(lat && o->op == PERF_WRITE))
		rc = perf_perftest_close(end, fd);
	return rc;
}

int
perf_perftest_run(struct perf_end *end, int fd, struct perf_result *result)
{
	const struct perf_options *o = end->options;
	struct traffic *traffic = calloc(1, sizeof(*traffic) + o->qps * sizeof(traffic->counts[0]));
	int rc;

	if (traffic != NULL && o->mode == PERF_LAT)
		traffic->samples = calloc(o->iters, sizeof(*traffic->samples));
	if (traffic == NULL || (o->mode == PERF_LAT && traffic->samples == NULL)) {
		free(traffic);
		return perf_fail(-ENOMEM, "no memory");
	}
	*result = (struct perf_result){ .size = end->size_max };
	traffic->end = end;
	traffic->fd = fd;
	traffic->result = result;
	traffic->size = end->size_max;
	rc = run(traffic, fd);
	free(traffic->samples);
	free(traffic);
	return rc;
}
