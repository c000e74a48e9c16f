/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A log of lines that several processes append to. Whose it is prints what comes, in one order for all; the others append by RDMA, and
 * its application has no part in that: a worker does it, on an lcore beside.
 *
 *   rdmo_log -d librte_net_rnic.so --vdev net_rnic0 --lcores 0-1 -- tail TICKET LOG [ADDRESS]
 *   rdmo_log -d librte_net_rnic.so --vdev net_rnic0 -- produce TICKET PRODUCER [LINES]
 *
 * The log lies in the file LOG, and all that a producer needs stands in TICKET. `tail` may end and be started again: producers connect again, and
 * each line is in the log once.
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
#include <sys/mman.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <rdmapmd.h>
#include <rdmo.h>

#define ID UINT64_C(0x106) /* what operations name the target by: any number */
#define AT \
	0x550000000000 /* where the log is mapped, each time: operations name it by its address */
#define CAPACITY  (UINT64_C(64) << 20)
#define PRODUCERS 64
#define BURST	  32
#define LINE	  1024
#define RETRY_US  100000 /* between two tries to connect again */
#define STRANGERS 50	 /* how many of them may be refused */
#define IDLE_US	  1000	 /* between two tries to append to a log that is full */
#define LOOK_MS	  100	 /* between two looks whether to end */
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

/* ---- The ticket ---- */

static bool
ticket_read(const char *path, struct rdmo_ticket *ticket)
{
	char line[RDMO_TICKET_BYTES + 1];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) == NULL || rdmo_ticket_parse(line, ticket) != 0)
		rte_exit(EXIT_FAILURE, "%s is no ticket\n", path);
	fclose(file);
	return true;
}

/* It has the secret that lets producers in: nobody else may read it. */
static void
ticket_write(const char *path, struct rdmo_target *target, const struct rdmo_ticket *ticket)
{
	char line[RDMO_TICKET_BYTES];
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	TRY(rdmo_ticket_get(target, ticket, line, sizeof(line)));
	if (fd < 0 || dprintf(fd, "%s\n", line) < 0 || close(fd) != 0)
		rte_exit(EXIT_FAILURE, "cannot write %s: %s\n", path, strerror(errno));
}

/* ---- tail: the worker, the log, and who reads it ---- */

static int
poll_worker(void *worker)
{
	while (!is_unpolled)
		rdmo_worker_poll(worker, 0);
	return 0;
}

static void *
map_log(const char *path)
{
	const uint64_t bytes = rdmo_log_bytes(CAPACITY, PRODUCERS);
	const int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		rte_exit(EXIT_FAILURE, "%s: %s\n", path, strerror(errno));
	at = mmap((void *)AT, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
		  0);
	if (at != (void *)AT)
		rte_exit(EXIT_FAILURE, "cannot map %s: %s\n", path, strerror(errno));
	close(fd);
	return at;
}

/* A log that was served before has its key, its lines, and what its producers have done; the ticket has the secret that they know. */
static struct rdmo_log *
open_log(struct rdmo_target *target, const char *path, const char *ticket_path, uint64_t *rq_id)
{
	struct rdmo_log_attr attr = { .capacity = CAPACITY, .producers = PRODUCERS };
	struct rdmo_ticket ticket;
	struct rdmo_log_info info;
	struct rdmo_log *log;

	attr.memory = map_log(path);
	TRY(rdmo_log_create(target, &attr, &log));
	TRY(rdmo_log_query(log, &info));
	/* Now that it is there, producers are let in. */
	if (ticket_read(ticket_path, &ticket))
		TRY(rdmo_rq_restore(target, ticket.secret, rq_id));
	else
		TRY(rdmo_rq_create(target, ticket.secret, rq_id));
	ticket.key = info.key;
	ticket.at = info.addr;
	ticket.bytes = rdmo_log_bytes(CAPACITY, PRODUCERS);
	ticket.tail = ticket.tail_key = 0;
	ticket_write(ticket_path, target, &ticket);
	return log;
}

/* What has come, in order. The lines are printed from where they lie, and then make room. */
static uint64_t
print_lines(struct rdmo_log *log)
{
	struct rdmo_log_record records[BURST];
	const int n = rdmo_log_read(log, records, BURST);
	int i;

	if (n == 0)
		return 0;
	if (n == -EILSEQ)
		printf("damaged at %" PRIu64 "\n", records[0].position);
	for (i = 0; i < n; i++)
		printf("producer %u, record %" PRIu64 ": %.*s\n", records[i].producer,
		       records[i].seq, (int)records[i].length, (const char *)records[i].payload);
	/* Not before they are printed: who ends here prints them again rather than never. */
	fflush(stdout);
	TRY(rdmo_log_release(log, records[n > 0 ? n - 1 : 0].next));
	return n > 0 ? (uint64_t)n : 0;
}

/* Until somebody appends; a signal that comes just before is seen a moment later. */
static void
wait_for_lines(struct rdmo_log *log)
{
	struct pollfd ready = { .fd = rdmo_log_fd(log), .events = POLLIN };

	if (rdmo_log_arm(log) == 0)
		poll(&ready, 1, LOOK_MS);
}

static void
tail(const char *ticket_path, const char *log_path, const char *address)
{
	const struct rdmo_worker_attr attr = { .address = address };
	struct rdmo_worker *worker;
	struct rdmo_target *target;
	struct rdmo_log *log;
	uint64_t rq_id, count = 0, n;

	if (rte_lcore_count() < 2)
		rte_exit(EXIT_FAILURE, "the worker wants an lcore of its own: --lcores 0-1\n");
	TRY(rdmo_worker_create(pd, &attr, &worker));
	TRY(rte_eal_remote_launch(poll_worker, worker, rte_get_next_lcore(-1, 1, 0)));
	/* From here on somebody polls: these wait for the worker. */
	TRY(rdmo_target_open(worker, ID, &target));
	log = open_log(target, log_path, ticket_path, &rq_id);
	printf("listening at %s\n", rdmo_worker_address(worker));
	fflush(stdout);
	while (!stopped) {
		n = print_lines(log);
		count += n;
		if (n == 0)
			wait_for_lines(log);
	}
	/* Log and ticket stay, for the next one. Producers lose the worker first: what they append goes there, too. */
	TRY(rdmo_rq_destroy(target, rq_id));
	rdmo_log_destroy(log);
	rdmo_target_close(target);
	is_unpolled = true;
	rte_eal_mp_wait_lcore();
	TRY(rdmo_worker_destroy(worker));
	printf("%" PRIu64 " lines\n", count);
}

/* ---- produce ---- */

static struct {
	char text[BURST][LINE];
	struct rdmo_op ops[BURST];
	uint32_t count;
	uint64_t appended, waited, again; /* lines; bursts that the log was full for; connections */
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

/* The worker is not there any more: until it is again. What was not answered is looked up in the log then, and done if it is not there. */
static void
connect_again(struct rdmo_conn *conn)
{
	uint32_t strangers = 0;
	int rc = -ENOTCONN;

	while (rc != 0 && !stopped) {
		usleep(RETRY_US);
		rc = rdmo_reconnect(conn, NULL);
		/* It listens before it knows whom to let in. */
		if (rc == -EACCES && ++strangers == STRANGERS)
			rte_exit(EXIT_FAILURE, "another log is there now\n");
	}
	lines.again++;
}

/* Appends them all, and keeps those that the log had no room for. */
static void
append(struct rdmo_conn *conn)
{
	struct rdmo_completion done[BURST];
	uint32_t posted = 0, answered = 0, kept = 0, i;

	while (answered < lines.count && !stopped) {
		posted += rdmo_post(conn, lines.ops + posted, lines.count - posted);
		answered += rdmo_poll(conn, done + answered, posted - answered);
		if (rdmo_conn_error(conn) == -ENOTCONN)
			connect_again(conn);
	}
	for (i = 0; i < answered; i++) {
		if (done[i].status == RDMO_STATUS_OK)
			lines.appended++;
		else if (done[i].status == RDMO_STATUS_FULL)
			lines.ops[kept++] = lines.ops[i];
		else
			rte_exit(EXIT_FAILURE, "a line was refused: %s\n",
				 rdmo_status_str(done[i].status));
	}
	lines.count = stopped ? 0 : kept;
}

static void
produce(const char *ticket_path, const char *producer, const char *path)
{
	struct rdmo_ticket ticket;
	struct rdmo_connect_attr attr = { .address = ticket.address,
					  .secret = ticket.secret,
					  .is_producer = true,
					  .producer = (uint32_t)strtoul(producer, NULL, 10) };
	FILE *file = path != NULL ? fopen(path, "r") : stdin;
	struct rdmo_conn *conn;

	if (file == NULL)
		rte_exit(EXIT_FAILURE, "%s: %s\n", path, strerror(errno));
	if (!ticket_read(ticket_path, &ticket))
		rte_exit(EXIT_FAILURE, "there is no %s\n", ticket_path);
	TRY(rdmo_connect(pd, &attr, &conn));
	for (read_lines(file, &ticket); lines.count > 0; read_lines(file, &ticket))
		for (append(conn); lines.count > 0; append(conn)) {
			lines.waited++;
			usleep(IDLE_US);
		}
	rdmo_disconnect(conn);
	fclose(file);
	printf("%" PRIu64 " lines appended; waited %" PRIu64 " times; connected again %" PRIu64
	       " times\n",
	       lines.appended, lines.waited, lines.again);
}

int
main(int argc, char **argv)
{
	const int used = rte_eal_init(argc, argv);
	char **args = argv + used + 1;
	const int count = argc - used - 1;
	const bool is_tail = count > 0 && strcmp(args[0], "tail") == 0;

	if (used < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	if (count < 3 || count > 4 || (!is_tail && strcmp(args[0], "produce") != 0))
		rte_exit(EXIT_FAILURE,
			 "usage: rdmo_log EAL... -- tail TICKET LOG [ADDRESS]\n"
			 "       rdmo_log EAL... -- produce TICKET PRODUCER [LINES]\n");
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	TRY(rdmapmd_device_open_by_port(0, &context));
	TRY(rdmapmd_pd_alloc(context, &pd));
	if (is_tail)
		tail(args[1], args[2], args[3]);
	else
		produce(args[1], args[2], args[3]);
	TRY(rdmapmd_pd_dealloc(pd));
	TRY(rdmapmd_context_close(context));
	TRY(rte_eal_cleanup());
	return EXIT_SUCCESS;
}
