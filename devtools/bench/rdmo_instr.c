/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What remote operations cost: an initiator and a worker in one thread, which polls the device between them by hand. Only the calls
 * of librdmo are counted, and what they call, as an application makes them.
 *
 *	rdmo_instr [EAL OPTIONS] -- NAME,... BURST,... BYTES,... CALLS
 *
 * NAME:
 *	queue-post	rdmo_post() of APPENDs to a queue with an exclusive tail
 *	queue-serve	rdmo_worker_poll(), which executes and answers them
 *	queue-poll	rdmo_poll(), which completes them
 *	log-post, log-serve, log-poll	the same of APPENDs to a log, with their checksums; by a run of their own
 *
 * EAL's options name the devices: --vdev=net_rnic0,wire=pair:b --vdev=net_rnic1,wire=pair:b.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "by_hand.h"
#include "counted.h"
#include "rdmo_pair.h"

#define QUEUE_BYTES (1ul << 24)
#define LOG_BYTES   (1ul << 22)
#define BYTES_MAX   2000

static struct rdmo_pair pair;
static struct rdmo_op ops[COUNTED_BURST_MAX];
static struct rdmo_completion done[COUNTED_BURST_MAX];
static uint8_t payload[BYTES_MAX];

static uint16_t
post(void *conn, struct rte_mbuf **pkts, uint16_t n)
{
	(void)pkts;
	return (uint16_t)rdmo_post(conn, ops, n);
}

static uint16_t
serve(void *worker, struct rte_mbuf **pkts, uint16_t n)
{
	(void)pkts;
	(void)n;
	return (uint16_t)rdmo_worker_poll(worker, 0);
}

static uint16_t
poll_done(void *conn, struct rte_mbuf **pkts, uint16_t n)
{
	(void)pkts;
	return (uint16_t)rdmo_poll(conn, done, n);
}

enum step { POST, SERVE, POLL, STEPS };

static const struct {
	const char *name; /* behind "queue-" or "log-" */
	burst_fn fn;
} steps[STEPS] = {
	[POST] = { "post", post },
	[SERVE] = { "serve", serve },
	[POLL] = { "poll", poll_done },
};

/* What is appended to. */
static bool to_log;

/* So many operations there, executed and back: one of the three calls is counted. */
static int
round_trip(struct counted *counted, enum step counted_step, uint16_t burst)
{
	void *const objects[STEPS] = { pair.conns[0], pair.worker, pair.conns[0] };

	for (enum step step = 0; step < STEPS; step++) {
		const uint16_t n = step == counted_step
					   ? counted_burst(counted, NULL, burst)
					   : steps[step].fn(objects[step], NULL, burst);

		if (n != burst) {
			fprintf(stderr, "%s: %u of %u operations\n", steps[step].name, n, burst);
			return -EIO;
		}
		by_hand_settle();
	}
	for (uint16_t i = 0; i < burst; i++)
		if (done[i].status != RDMO_STATUS_OK) {
			fprintf(stderr, "append: %s\n", rdmo_status_str(done[i].status));
			return -EIO;
		}
	return 0;
}

/* An empty queue, whose keys are new: another thread asks for it, which needs a device that runs. */
static int
renew(unsigned int bytes)
{
	int rc = by_hand_end();

	if (rc == 0)
		rc = rdmo_pair_renew(&pair);
	by_hand_begin();
	for (unsigned int i = 0; i < COUNTED_BURST_MAX; i++)
		ops[i] = rdmo_pair_append(&pair, payload, bytes);
	return rc;
}

/* Room for the next rounds: an empty queue now and then, a log whose records are released. */
static int
make_room(uint64_t call, unsigned int burst, unsigned int bytes)
{
	if (to_log)
		return rdmo_pair_release(&pair);
	return call % (QUEUE_BYTES / ((uint64_t)burst * bytes)) == 0 ? renew(bytes) : 0;
}

static int
round_trips(struct counted *counted, enum step step, unsigned int burst, unsigned int bytes,
	    uint64_t calls)
{
	void *const objects[STEPS] = { pair.conns[0], pair.worker, pair.conns[0] };
	int rc = 0;

	for (unsigned int i = 0; i < COUNTED_BURST_MAX && to_log; i++)
		ops[i] = rdmo_pair_record(&pair, payload, bytes);
	counted_start(counted, steps[step].fn, objects[step], calls);
	for (uint64_t call = 0; call < calls && rc == 0; call++) {
		rc = make_room(call, burst, bytes);
		if (rc != 0)
			fprintf(stderr, "no room for more: %s\n", strerror(-rc));
		if (rc == 0)
			rc = round_trip(counted, step, (uint16_t)burst);
	}
	return rc;
}

static int
measure(struct counted *counted, const char *name, const struct counted_plan *plan)
{
	const char *const dash = strchr(name, '-');
	enum step step = 0;
	int rc = 0;

	to_log = pair.log != NULL;
	while (step < STEPS && dash != NULL && strcmp(dash + 1, steps[step].name) != 0)
		step++;
	if (step == STEPS || dash == NULL ||
	    strncmp(name, to_log ? "log-" : "queue-", (size_t)(dash - name) + 1) != 0) {
		fprintf(stderr, "unknown name %s\n", name);
		return -EINVAL;
	}
	for (unsigned int b = 0; b < plan->n_bytes && rc == 0; b++)
		for (unsigned int n = 0; n < plan->n_bursts && rc == 0; n++) {
			const unsigned int burst = plan->bursts[n], bytes = plan->bytes[b];

			rc = round_trips(counted, step, burst, bytes, 512);
			if (rc == 0)
				rc = round_trips(counted, step, burst, bytes, plan->calls);
			if (rc == 0)
				counted_stop(counted, name, burst, bytes);
		}
	return rc;
}

int
main(int argc, char **argv)
{
	const char *const names[] = { "net_rnic0", "net_rnic1" };
	struct rdmo_pair_attr attr = { .connections = 1, .queue_bytes = QUEUE_BYTES };
	struct counted_plan plan;
	struct counted counted;
	int skip, rc;

	skip = rte_eal_init(argc, argv);
	if (skip < 0)
		return EXIT_FAILURE;
	if (counted_plan_parse(argc - skip, argv + skip, &plan) < 0)
		return 2;
	/* A producer's connection is another one: a run is of queues or of logs. */
	if (strncmp(plan.names[0], "log-", 4) == 0)
		attr.log_bytes = LOG_BYTES;
	rc = rdmo_pair_open(&pair, names, &attr);
	if (rc == 0) {
		by_hand_begin();
		counted_init(&counted);
		for (unsigned int i = 0; i < plan.n_names && rc == 0; i++)
			rc = measure(&counted, plan.names[i], &plan);
		if (by_hand_end() != 0 || rdmo_pair_close(&pair) != 0)
			rc = -EIO;
	}
	rte_eal_cleanup();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
