/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "interrupt.h"
#include "pattern.h"
#include "pingpong.h"
#include "say.h"

#define PAGE	    4096 /* at whose beginnings their -c wants zeros */
#define POLL_BURST  16
#define SILENCE_MS  4000
#define PROGRESS_MS 250

enum wr_id {
	RECEIVE = 1,
	SEND = 2,
};

struct rally {
	struct perf_end *end;
	uint32_t size;
	uint32_t receives;	 /* that are posted */
	uint64_t sent, received; /* messages of all queue pairs */
	uint64_t rounds;	 /* whose time is noted */
	uint64_t start;		 /* ticks: of the round of the first queue pair */
	uint64_t next_progress;	 /* ticks */
	uint64_t *samples;
	uint8_t pending[]; /* by queue pair: enum wr_id, or'ed, that it waits for */
};

/* ---- Posting ---- */

static uint32_t
head_of(const struct perf_end *end)
{
	return perf_layout_of(end->options, end->size_max).head;
}

static int
post_receive(struct perf_end *end)
{
	const struct perf_queue *queue = &end->queues[0];
	const struct rdmapmd_sge sge = { (uintptr_t)queue->in, end->size_max + head_of(end),
					 end->mr->lkey };
	const struct rdmapmd_recv_wr wr = { .wr_id = RECEIVE, .sg_list = &sge, .num_sge = 1 };

	if (end->workers[0].srq != NULL ? rdmapmd_post_srq_recv(end->workers[0].srq, &wr, 1) == 1
					: rdmapmd_post_recv(queue->qp, &wr, 1) == 1)
		return 0;
	return perf_fail(-ENOMEM, "%s: cannot post a receive", end->device);
}

int
perf_pingpong_receive(struct perf_end *end)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < end->options->rx_depth; i++)
		rc = post_receive(end);
	return rc;
}

/* The client writes, the server gives back. */
static int
post_send(struct rally *rally, uint32_t q)
{
	struct perf_end *end = rally->end;
	const struct perf_queue *queue = &end->queues[q];
	const uint8_t *from = end->client ? end->queues[0].out : end->queues[0].in + head_of(end);
	const struct rdmapmd_sge sge = { (uintptr_t)from, rally->size, end->mr->lkey };
	struct rdmapmd_send_wr wr = { .wr_id = SEND,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .opcode = RDMAPMD_WR_SEND,
				      .send_flags = RDMAPMD_SEND_SIGNALED };

	if (rally->size <= end->inline_size)
		wr.send_flags |= RDMAPMD_SEND_INLINE;
	if (end->options->transport == RDMAPMD_QPT_UD) {
		wr.wr.ud.ah = end->ah;
		wr.wr.ud.remote_qpn = queue->peer_qp_num;
		wr.wr.ud.remote_qkey = PERF_QKEY;
	}
	rally->pending[q] = RECEIVE | SEND;
	if (q == 0)
		rally->start = rte_get_timer_cycles();
	if (rdmapmd_post_send(queue->qp, &wr, 1) == 1)
		return 0;
	return perf_fail(queue->qp->post_send_error, "%s: cannot post a request: %s", end->device,
			 strerror(-queue->qp->post_send_error));
}

/* ---- What is compared ---- */

/* Messages of several queue pairs meet in the same memory: they are all the same. */
static void
write_message(struct rally *rally)
{
	uint8_t *out = rally->end->queues[0].out;
	uint32_t i;

	if (!rally->end->client || (rally->end->options->use_srq && rally->sent > 0))
		return;
	perf_pattern_fill(out, rally->size, 0, rally->received);
	for (i = 0; i < rally->size; i += PAGE)
		out[i] = 0;
}

static int
compare(struct rally *rally)
{
	struct perf_end *end = rally->end;
	const struct perf_queue *queue = &end->queues[0];
	uint8_t *in = queue->in + head_of(end);

	if (!end->client || !end->options->verify)
		return 0;
	if (end->options->damage >= 0 && end->options->damage < rally->size)
		in[end->options->damage] ^= 1;
	if (memcmp(in, queue->out, rally->size) == 0)
		return 0;
	return perf_fail(-EBADMSG,
			 "%s: --verify has found wrong data: message %" PRIu64
			 " has come back as another one",
			 end->device, rally->received);
}

/* ---- The rally ---- */

static uint32_t
find_queue(const struct perf_end *end, uint32_t qp_num)
{
	uint32_t i;

	for (i = 0; i + 1 < end->options->qps && end->queues[i].qp->qp_num != qp_num; i++)
		;
	return i;
}

static int
take_receive(struct rally *rally, uint32_t q)
{
	const struct perf_options *o = rally->end->options;
	int rc = compare(rally);

	/* The other end decides how many come. */
	if (q == 0 && rally->start != 0 && rally->rounds < o->iters + o->qps)
		rally->samples[rally->rounds++] = rte_get_timer_cycles() - rally->start;
	rally->received++;
	rally->receives--;
	while (rc == 0 && rally->receives <= o->qps && rally->receives < o->rx_depth) {
		rc = post_receive(rally->end);
		rally->receives++;
	}
	return rc;
}

static int
take(struct rally *rally, const struct rdmapmd_wc *wc)
{
	const uint64_t iters = rally->end->options->iters;
	const uint32_t q = find_queue(rally->end, wc->qp_num);
	int rc = 0;

	if (wc->status != RDMAPMD_WC_SUCCESS)
		return perf_fail(-EIO, "%s: queue pair 0x%06x: %s (0x%x)", rally->end->device,
				 wc->qp_num, rdmapmd_wc_status_str(wc->status), wc->vendor_err);
	if (wc->wr_id == RECEIVE)
		rc = take_receive(rally, q);
	else
		rally->sent++;
	rally->pending[q] &= (uint8_t)~wc->wr_id;
	if (rc != 0 || rally->sent >= iters || rally->pending[q] != 0)
		return rc;
	write_message(rally);
	return post_send(rally, q);
}

static int
serve(struct rally *rally)
{
	uint32_t q;
	int rc = 0;

	write_message(rally);
	for (q = 0; q < rally->end->options->qps; q++) {
		rally->pending[q] = RECEIVE;
		if (rally->end->client && rc == 0)
			rc = post_send(rally, q);
	}
	return rc;
}

static void
show_progress(struct rally *rally, uint64_t now)
{
	char text[100];

	if (now < rally->next_progress)
		return;
	rally->next_progress = now + PROGRESS_MS * rte_get_timer_hz() / 1000;
	snprintf(text, sizeof(text), " %u bytes: %" PRIu64 " of %" PRIu64 " messages", rally->size,
		 rally->received, rally->end->options->iters);
	perf_progress(text);
}

static int
play(struct rally *rally)
{
	const uint64_t iters = rally->end->options->iters;
	const uint64_t patience = SILENCE_MS * rte_get_timer_hz() / 1000;
	uint64_t last = rte_get_timer_cycles(), now;
	struct rdmapmd_wc wcs[POLL_BURST];
	uint16_t i, n;
	int rc = serve(rally);

	while (rc == 0 && (rally->received < iters || rally->sent < iters)) {
		n = rdmapmd_poll_cq(rally->end->workers[0].cq, wcs, RTE_DIM(wcs));
		for (i = 0; i < n && rc == 0; i++)
			rc = take(rally, &wcs[i]);
		now = rte_get_timer_cycles();
		if (n > 0) {
			last = now;
			continue;
		}
		if (perf_interrupted())
			return -EINTR;
		if (now - last > patience)
			return perf_fail(
				-ETIMEDOUT,
				"%s: nothing has come for %d s: the other end has gone, or a "
				"message was lost",
				rally->end->device, SILENCE_MS / 1000);
		show_progress(rally, now);
	}
	return rc;
}

int
perf_pingpong_run(struct perf_end *end, struct perf_result *result)
{
	const struct perf_options *o = end->options;
	struct rally *rally = calloc(1, sizeof(*rally) + o->qps);
	uint64_t start;
	int rc;

	/* Queue pairs that answer faster than others may have more rounds than their share. */
	if (rally != NULL)
		rally->samples = calloc(o->iters + o->qps, sizeof(*rally->samples));
	if (rally == NULL || rally->samples == NULL) {
		free(rally);
		return perf_fail(-ENOMEM, "no memory");
	}
	rally->end = end;
	rally->size = end->size_max;
	rally->receives = o->rx_depth;
	start = rte_get_timer_cycles();
	rc = play(rally);
	perf_progress(NULL);
	*result = (struct perf_result){
		.size = rally->size,
		.iters = RTE_MIN(rally->sent, rally->received),
		.seconds = (double)(rte_get_timer_cycles() - start) / (double)rte_get_timer_hz(),
	};
	perf_result_latency(result, rally->samples, rally->rounds,
			    1e6 / (double)rte_get_timer_hz() / 2);
	free(rally->samples);
	free(rally);
	return rc;
}

void
perf_pingpong_report(FILE *out, const struct perf_result *result)
{
	const uint64_t bytes = 2 * result->size * result->iters;
	const double us = result->seconds * 1e6;

	if (result->iters == 0 || us <= 0)
		return;
	fprintf(out, "%" PRIu64 " bytes in %.2f seconds = %.2f Mbit/sec\n", bytes, result->seconds,
		(double)bytes * 8 / us);
	fprintf(out, "%" PRIu64 " iters in %.2f seconds = %.2f usec/iter\n", result->iters,
		result->seconds, us / (double)result->iters);
}
