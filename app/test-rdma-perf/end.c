/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_random.h>

#include "end_private.h"
#include "say.h"

#define ACCESS                                                                                   \
	(RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ | \
	 RDMAPMD_ACCESS_REMOTE_ATOMIC)
#define PORT 1

int
perf_end_cannot(const struct perf_end *end, int rc, const char *what)
{
	return perf_fail(rc, "%s: cannot %s: %s", end->device, what, strerror(abs(rc)));
}

/* ---- The device ---- */

static int
open_first(struct perf_end *end)
{
	struct rdmapmd_device *device = rdmapmd_device_next(NULL);
	int rc;

	if (device == NULL)
		return perf_fail(-ENODEV,
				 "no device: give EAL one, by --vdev=net_rnic0 or "
				 "-a BDF, and the plugin by -d if DPDK does not load it itself");
	rc = rdmapmd_device_open(device, &end->context);
	rdmapmd_device_put(device);
	return rc;
}

static bool
is_number(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int
open_port(struct perf_end *end, const char *number)
{
	const unsigned long port = strtoul(number, NULL, 10);

	return port > UINT16_MAX ? -ENODEV
				 : rdmapmd_device_open_by_port((uint16_t)port, &end->context);
}

static int
open_device(struct perf_end *end, const char *name)
{
	int rc;

	end->device = name != NULL ? name : "the first device";
	if (name == NULL)
		rc = open_first(end);
	else if (is_number(name))
		rc = open_port(end, name);
	else
		rc = rdmapmd_device_open_by_name(name, &end->context);
	if (rc == -ENODEV && name != NULL)
		return perf_fail(rc, "%s: no device and no port has this name", name);
	if (rc == -ENODEV)
		return rc;
	if (rc != 0)
		return perf_end_cannot(end, rc, "open it");
	end->device = rdmapmd_device_name(rdmapmd_context_device(end->context));
	rc = rdmapmd_device_query(end->context, &end->attr);
	return rc == 0 ? 0 : perf_end_cannot(end, rc, "query it");
}

static int
query_port(struct perf_end *end)
{
	int rc = rdmapmd_port_query(end->context, PORT, &end->port);

	return rc == 0 ? 0 : perf_end_cannot(end, rc, "query its port");
}

static int
find_gid(struct perf_end *end)
{
	int rc = rdmapmd_gid_query(end->context, PORT, end->options->gid_index, &end->gid);

	if (rc == -ENODATA || rc == -EINVAL)
		return perf_fail(rc, "%s: --gid-index=%u: the port has no such address",
				 end->device, end->options->gid_index);
	return rc == 0 ? 0 : perf_end_cannot(end, rc, "query its address");
}

/* ---- Memory ---- */

static int
make_memory(struct perf_end *end)
{
	const struct perf_options *o = end->options;
	size_t bytes;
	uint32_t i;
	int rc;

	end->part = perf_layout_part(o);
	bytes = perf_layout_parts(o) * end->part * o->qps;
	end->memory = rte_zmalloc("perf", bytes, 4096);
	if (end->memory == NULL)
		return perf_fail(-ENOMEM,
				 "%s: no %zu bytes of memory: give EAL more (-m MB), or take "
				 "smaller or fewer messages (-s, -q)",
				 end->device, bytes);
	rc = rdmapmd_mr_reg(end->pd, end->memory, bytes, ACCESS, &end->mr);
	if (rc != 0)
		return perf_end_cannot(end, rc, "register memory");
	end->queues = calloc(o->qps, sizeof(*end->queues));
	if (end->queues == NULL)
		return perf_end_cannot(end, -ENOMEM, "make queue pairs");
	for (i = 0; i < o->qps; i++) {
		end->queues[i].index = i;
		end->queues[i].out = end->memory + perf_layout_parts(o) * end->part * i;
		end->queues[i].in = end->queues[i].out + end->part;
		end->queues[i].last = end->queues[i].in + end->part;
	}
	return 0;
}

/* ---- Workers ---- */

static int
make_completions(struct perf_worker *worker)
{
	struct perf_end *end = worker->end;
	struct rdmapmd_cq_init_attr attr = { .cqe = (uint32_t)perf_end_cqe(end->options) };
	int rc = 0;

	if (end->options->events)
		rc = rdmapmd_comp_channel_create(end->context, &worker->channel);
	attr.channel = worker->channel;
	if (rc == 0)
		rc = rdmapmd_cq_create(end->context, &attr, &worker->cq);
	return rc == 0 ? 0 : perf_end_cannot(end, rc, "make a completion queue");
}

static int
make_srq(struct perf_worker *worker)
{
	struct perf_end *end = worker->end;
	struct rdmapmd_srq_init_attr attr = { .attr = { .max_wr = end->options->rx_depth,
							.max_sge = 1 } };
	int rc = 0;

	if (end->options->use_srq && end->receives)
		rc = rdmapmd_srq_create(end->pd, &attr, &worker->srq);
	return rc == 0 ? 0 : perf_end_cannot(end, rc, "make a shared receive queue");
}

static int
make_qp(struct perf_worker *worker, struct perf_queue *queue)
{
	struct rdmapmd_qp_init_attr attr = {
		.send_cq = worker->cq,
		.recv_cq = worker->cq,
		.srq = worker->srq,
		.cap = perf_end_cap(worker->end),
		.qp_type = worker->end->options->transport,
	};
	int rc = rdmapmd_qp_create(worker->end->pd, &attr, &queue->qp);

	if (rc != 0)
		return perf_end_cannot(worker->end, rc, "make a queue pair");
	queue->psn = (uint32_t)rte_rand() & 0xffffff;
	return 0;
}

static int
make_queues(struct perf_worker *worker)
{
	uint32_t q;
	int rc = make_srq(worker);

	for (q = 0; rc == 0 && q < worker->nqueues; q++)
		rc = make_qp(worker, &worker->queues[q]);
	return rc;
}

static int
make_workers(struct perf_end *end)
{
	const struct perf_options *o = end->options;
	uint32_t w;
	int rc;

	end->workers = calloc(o->lcores, sizeof(*end->workers));
	if (end->workers == NULL)
		return perf_end_cannot(end, -ENOMEM, "make completion queues");
	for (w = 0; w < o->lcores; w++) {
		struct perf_worker *worker = &end->workers[w];

		*worker = (struct perf_worker){
			.end = end,
			.index = w,
			.nqueues = o->qps / o->lcores,
			.queues = &end->queues[w * (o->qps / o->lcores)],
		};
		rc = make_completions(worker);
		if (rc == 0)
			rc = make_queues(worker);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
perf_end_renew(struct perf_end *end)
{
	struct rdmapmd_wc wc[16];
	uint32_t w, q;
	int rc = 0;

	for (w = 0; w < end->options->lcores && rc == 0; w++) {
		struct perf_worker *worker = &end->workers[w];

		for (q = 0; q < worker->nqueues && rc == 0; q++)
			rc = rdmapmd_qp_destroy(worker->queues[q].qp);
		if (rc == 0 && worker->srq != NULL)
			rc = rdmapmd_srq_destroy(worker->srq);
		worker->srq = NULL;
		if (rc != 0)
			return perf_end_cannot(end, rc, "destroy a queue pair");
		while (rdmapmd_poll_cq(worker->cq, wc, RTE_DIM(wc)) > 0)
			;
		rc = make_queues(worker);
	}
	return rc;
}

int
perf_end_open(struct perf_end *end, const struct perf_options *options, bool client,
	      const char *device)
{
	int rc;

	*end = (struct perf_end){
		.options = options,
		.client = client,
		.requests = client || options->bidirectional,
		.receives = perf_op_receives(options->op) &&
			    (!client || options->bidirectional || options->mode == PERF_LAT),
	};
	rc = open_device(end, device);
	if (rc == 0)
		rc = query_port(end);
	if (rc == 0)
		rc = find_gid(end);
	if (rc == 0)
		rc = perf_end_check_limits(end);
	if (rc != 0)
		return rc;
	rc = rdmapmd_pd_alloc(end->context, &end->pd);
	if (rc != 0)
		return perf_end_cannot(end, rc, "make a protection domain");
	rc = make_memory(end);
	return rc == 0 ? make_workers(end) : rc;
}

int
perf_end_close(struct perf_end *end)
{
	int rc = 0;

	/* With all that is in it. */
	if (end->context != NULL)
		rc = rdmapmd_context_close(end->context);
	if (rc != 0)
		perf_fail(rc, "%s: cannot close the device: %s", end->device, strerror(-rc));
	rte_free(end->memory);
	free(end->queues);
	free(end->workers);
	*end = (struct perf_end){ 0 };
	return rc;
}

bool
perf_end_is_passive(const struct perf_end *end)
{
	if (end->requests || end->receives)
		return false;
	return end->options->mode == PERF_BW || perf_op_fetches(end->options->op);
}

/* ---- Addresses ---- */

struct perf_address
perf_end_address(const struct perf_end *end, const struct perf_queue *queue)
{
	return (struct perf_address){
		.gid = end->gid.gid,
		.qp_num = queue->qp->qp_num,
		.psn = queue->psn,
		.out_reads = end->out_reads,
		.rkey = end->mr->rkey,
		.vaddr = end->mr->iova + (uint64_t)(queue->out - end->memory),
	};
}

struct perf_address
perf_end_peer_address(const struct perf_end *end, const struct perf_queue *queue)
{
	return (struct perf_address){
		.gid = end->peer.gid,
		.qp_num = queue->peer_qp_num,
		.psn = queue->peer_psn,
		.out_reads = end->peer.out_reads,
		.rkey = end->peer.rkey,
		.vaddr = queue->peer_out,
	};
}
