/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A message queue with back-pressure: several processes send by RDMA, one takes what comes, and sleeps while nothing does. A worker, on an
 * lcore beside, puts messages into the queue, and holds those up that have no room.
 *
 *   rdmo_queue -d librte_net_rnic.so --vdev net_rnic0 --lcores 0-1 -- take TICKET [ADDRESS [MILLISECONDS]]
 *   rdmo_queue -d librte_net_rnic.so --vdev net_rnic0 -- send TICKET SENDER [LINES]
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <rdmapmd.h>
#include <rdmo.h>

#define ID	 UINT64_C(0x96) /* what operations name the target by: any number */
#define CAPACITY (UINT64_C(64) << 10)
#define SENDERS	 64
#define BURST	 32
#define LINE	 1024
#define WAIT_US	 2000000 /* that a message waits for room before it is refused */
#define LOOK_MS	 100	 /* between two looks whether to end */
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

static struct rdmapmd_context *context;
static struct rdmapmd_pd *pd;
static volatile sig_atomic_t stopped;
static _Atomic bool is_unpolled;

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

/* `armed`: what arming it said. A signal that comes just before is seen a moment later. */
static void
sleep_until(int armed, int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	if (armed == 0)
		poll(&ready, 1, LOOK_MS);
}

/* ---- take: the worker, the queue, and who takes ---- */

static int
poll_worker(void *worker)
{
	while (!is_unpolled)
		rdmo_worker_poll(worker, 0);
	return 0;
}

/* All that a sender needs, with the secret that lets it in: nobody else may read it. */
static void
ticket_write(const char *path, struct rdmo_target *target, struct rdmo_log *queue,
	     const uint8_t *secret)
{
	struct rdmo_ticket ticket = { .bytes = rdmo_log_bytes(CAPACITY, SENDERS) };
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char line[RDMO_TICKET_BYTES];
	struct rdmo_log_info info;

	TRY(rdmo_log_query(queue, &info));
	ticket.key = info.key;
	ticket.at = info.addr;
	memcpy(ticket.secret, secret, sizeof(ticket.secret));
	TRY(rdmo_ticket_get(target, &ticket, line, sizeof(line)));
	if (fd < 0 || dprintf(fd, "%s\n", line) < 0 || close(fd) != 0)
		rte_exit(EXIT_FAILURE, "cannot write %s: %s\n", path, strerror(errno));
}

/* Each is done with before the next one has its room. */
static uint64_t
take_some(struct rdmo_log *queue, unsigned int ms)
{
	struct rdmo_log_record messages[BURST];
	const int n = rdmo_log_read(queue, messages, BURST);
	int i;

	if (n < 0)
		rte_exit(EXIT_FAILURE, "the queue is damaged at %" PRIu64 "\n",
			 messages[0].position);
	for (i = 0; i < n; i++) {
		if (!stopped)
			usleep(1000 * ms); /* the work that it makes */
		printf("sender %u, message %" PRIu64 ": %.*s\n", messages[i].producer,
		       messages[i].seq, (int)messages[i].length, (const char *)messages[i].payload);
		TRY(rdmo_log_release(queue, messages[i].next));
	}
	fflush(stdout);
	return (uint64_t)n;
}

static void
take(const char *ticket_path, const char *address, unsigned int ms)
{
	const struct rdmo_worker_attr attr = { .address = address, .wait_us = WAIT_US };
	const struct rdmo_log_attr sizes = { .capacity = CAPACITY, .producers = SENDERS };
	uint8_t secret[RDMO_SECRET_BYTES];
	struct rdmo_worker *worker;
	struct rdmo_target *target;
	struct rdmo_log *queue;
	uint64_t rq_id, count = 0, n;

	if (rte_lcore_count() < 2)
		rte_exit(EXIT_FAILURE, "the worker wants an lcore of its own: --lcores 0-1\n");
	TRY(rdmo_worker_create(pd, &attr, &worker));
	TRY(rte_eal_remote_launch(poll_worker, worker, rte_get_next_lcore(-1, 1, 0)));
	/* From here on somebody polls: these wait for the worker. */
	TRY(rdmo_target_open(worker, ID, &target));
	TRY(rdmo_log_create(target, &sizes, &queue));
	TRY(rdmo_rq_create(target, secret, &rq_id));
	ticket_write(ticket_path, target, queue, secret);
	printf("listening at %s\n", rdmo_worker_address(worker));
	fflush(stdout);
	while (!stopped) {
		n = take_some(queue, ms);
		count += n;
		if (n == 0)
			sleep_until(rdmo_log_arm(queue), rdmo_log_fd(queue));
	}
	/* Senders lose the worker first; what it had taken over is taken out. */
	TRY(rdmo_rq_destroy(target, rq_id));
	while ((n = take_some(queue, 0)) > 0)
		count += n;
	rdmo_log_destroy(queue);
	rdmo_target_close(target);
	is_unpolled = true;
	rte_eal_mp_wait_lcore();
	TRY(rdmo_worker_destroy(worker));
	printf("%" PRIu64 " messages\n", count);
}

/* ---- send ---- */

static struct {
	char text[BURST][LINE];
	struct rdmo_op ops[BURST];
	uint32_t count;
	uint64_t sent, refused;
} lines;

static void
read_lines(FILE *file, const struct rdmo_ticket *ticket)
{
	for (lines.count = 0; lines.count < BURST && !stopped; lines.count++) {
		char *line = lines.text[lines.count];

		if (fgets(line, LINE, file) == NULL)
			break;
		lines.ops[lines.count] = (struct rdmo_op){
			.id = ticket->id,
			.op_id = RDMO_OP_APPEND,
			.length = (uint32_t)strcspn(line, "\n"),
			.append = { .ptr_addr = ticket->at,
				    .ptr_key = ticket->key,
				    .data_key = ticket->key,
				    .payload = line },
		};
	}
}

/* Sends them all, and keeps those that were refused because the queue was full for too long. */
static void
send_all(struct rdmo_conn *conn)
{
	struct rdmo_completion done[BURST];
	uint32_t posted = 0, answered = 0, kept = 0, n, i;

	while (answered < lines.count && !stopped) {
		posted += rdmo_post(conn, lines.ops + posted, lines.count - posted);
		n = rdmo_poll(conn, done + answered, posted - answered);
		answered += n;
		if (rdmo_conn_error(conn) == -ENOTCONN)
			rte_exit(EXIT_FAILURE, "the worker has gone: %" PRIu64 " messages sent\n",
				 lines.sent);
		if (n == 0)
			sleep_until(rdmo_conn_arm(conn), rdmo_conn_fd(conn));
	}
	for (i = 0; i < answered; i++) {
		if (done[i].status == RDMO_STATUS_OK)
			lines.sent++;
		else if (done[i].status == RDMO_STATUS_FULL)
			lines.ops[kept++] = lines.ops[i];
		else
			rte_exit(EXIT_FAILURE, "a message was refused: %s\n",
				 rdmo_status_str(done[i].status));
	}
	lines.refused += kept;
	lines.count = stopped ? 0 : kept;
}

static void
ticket_read(const char *path, struct rdmo_ticket *ticket)
{
	char line[RDMO_TICKET_BYTES + 1];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		rte_exit(EXIT_FAILURE, "%s: %s\n", path, strerror(errno));
	if (fgets(line, sizeof(line), file) == NULL || rdmo_ticket_parse(line, ticket) != 0)
		rte_exit(EXIT_FAILURE, "%s is no ticket\n", path);
	fclose(file);
}

static void
send_lines(const char *ticket_path, const char *sender, const char *path)
{
	struct rdmo_ticket ticket;
	struct rdmo_connect_attr attr = { .address = ticket.address,
					  .secret = ticket.secret,
					  .is_producer = true,
					  .producer = (uint32_t)strtoul(sender, NULL, 10),
					  .sleeps = true };
	FILE *file = path != NULL ? fopen(path, "r") : stdin;
	struct rdmo_conn *conn;
	uint64_t start;

	if (file == NULL)
		rte_exit(EXIT_FAILURE, "%s: %s\n", path, strerror(errno));
	ticket_read(ticket_path, &ticket);
	TRY(rdmo_connect(pd, &attr, &conn));
	start = rte_get_timer_cycles();
	for (read_lines(file, &ticket); lines.count > 0; read_lines(file, &ticket))
		while (lines.count > 0)
			send_all(conn);
	rdmo_disconnect(conn);
	fclose(file);
	printf("%" PRIu64 " messages sent in %.2f s; refused %" PRIu64 " times\n", lines.sent,
	       (double)(rte_get_timer_cycles() - start) / (double)rte_get_timer_hz(),
	       lines.refused);
}

int
main(int argc, char **argv)
{
	const int used = rte_eal_init(argc, argv);
	char **args = argv + used + 1;
	const int count = argc - used - 1;
	const bool is_take = count > 1 && strcmp(args[0], "take") == 0;

	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	if (count > 4 || (!is_take && (count < 3 || strcmp(args[0], "send") != 0)))
		rte_exit(EXIT_FAILURE,
			 "usage: rdmo_queue EAL... -- take TICKET [ADDRESS [MILLISECONDS]]\n"
			 "       rdmo_queue EAL... -- send TICKET SENDER [LINES]\n");
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	TRY(rdmapmd_device_open_by_port(0, &context));
	TRY(rdmapmd_pd_alloc(context, &pd));
	if (is_take)
		take(args[1], count > 2 ? args[2] : NULL,
		     count > 3 ? (unsigned int)strtoul(args[3], NULL, 10) : 0);
	else
		send_lines(args[1], args[2], count > 3 ? args[3] : NULL);
	TRY(rdmapmd_pd_dealloc(pd));
	TRY(rdmapmd_context_close(context));
	TRY(rte_eal_cleanup());
	return EXIT_SUCCESS;
}
