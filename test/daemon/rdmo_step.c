/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker that kills itself at a step of an append, and those around it, which find the next one at its address by themselves:
 *
 *   rdmo_step worker DEVARGS ADDRESS STEP COUNT  "listening ADDRESS"
 *   rdmo_step log DEVARGS ADDRESS TICKET         a log that such a worker appends to: "ticket TICKET", "record POSITION WHO SEQ"
 *   rdmo_step keeper DEVARGS ADDRESS TICKET STEP COUNT FILE
 *                                                both in one process, the log in a file
 *   rdmo_step producer DEVARGS WHO TICKET        appends records: "appended N"
 *
 * It dies at the COUNTth time that it comes to that step, "-" is none, from the first operation that is executed on: "dies STEP". TICKET
 * is the log's last one, or "-". At the input's end each comes to an end.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "rdmo/peer.h"
#include "rdmo/record.h"
#include "rdmo/remote.h"
#include "rdmo/round.h"
#include "rdmo_parts.h"

#define ID	   UINT64_C(0x106)
#define AT	   0x550000000000 /* where a log in a file is mapped, each time */
#define CAPACITY   65536
#define PRODUCERS  4
#define BURST	   4
#define TIMEOUT_MS 60000
#define TURN_US	   5000	 /* between two bursts */
#define RETRY_US   20000 /* between two tries to connect again */
#define POLL_US	   500

struct payload {
	uint64_t who, seq; /* from 1 */
};

/* ---- Steps: what the library calls for an append, in the thread that polls ---- */

static const char *last_step = "-";
static uint32_t times_left;
static __thread bool is_armed, has_published;

static void
step_choose(const char *where, const char *count)
{
	last_step = where;
	times_left = (uint32_t)strtoul(count, NULL, 10);
}

static void
step(const char *where)
{
	if (!is_armed || strcmp(where, last_step) != 0 || --times_left > 0)
		return;
	printf("dies %s", where);
	rdmo_parts_tell();
	kill(getpid(), SIGKILL);
}

/* What there is of `call`, as it is; and where it is called. */
#define WRAP(result, call, ...)            \
	result __real_##call(__VA_ARGS__); \
	result __wrap_##call(__VA_ARGS__); \
	result __wrap_##call(__VA_ARGS__)

WRAP(bool, rdmo_round_execute, struct rdmo_round *round, const struct rdmo_map *regions,
     struct rdmo_flow *flow, const struct rdmo_request *request)
{
	bool was_done;

	is_armed = true;
	step("before an operation");
	was_done = __real_rdmo_round_execute(round, regions, flow, request);
	step("behind an operation");
	return was_done;
}

/* Here. */
WRAP(void, rdmo_record_seal, struct rdmo_record *record, uint64_t position, uint32_t producer,
     uint64_t seq, uint32_t length)
{
	step("with a payload");
	__real_rdmo_record_seal(record, position, producer, seq, length);
	step("with a header");
}

WRAP(uint64_t, rdmo_slot_put, struct rdmo_log_slot *slot, uint64_t seq, uint64_t position)
{
	const uint64_t first = __real_rdmo_slot_put(slot, seq, position);

	step("with a word in its slot");
	return first;
}

WRAP(bool, rdmo_tail_publish, struct rdmo_tail *tail, rte_le64_t *word)
{
	const bool is_moved = __real_rdmo_tail_publish(tail, word);

	has_published = true;
	step("with a tail");
	return is_moved;
}

/* Elsewhere: the device goes on with what was posted, and looks at nothing but that. */
WRAP(uint32_t, rdmo_remotes_run, struct rdmo_lane *lane)
{
	const uint32_t operations = __real_rdmo_remotes_run(lane);

	if (operations > 0)
		step("with requests under way");
	return operations;
}

WRAP(void, rdmo_round_moved, struct rdmo_round *round, uint32_t due,
     const struct rdmo_tail_move *move, uint64_t found)
{
	has_published = true;
	step("with a tail that was moved");
	__real_rdmo_round_moved(round, due, move, found);
}

WRAP(void, rdmo_peers_answer, struct rdmo_lane *lane)
{
	if (has_published)
		step("before an answer");
	__real_rdmo_peers_answer(lane);
	if (has_published)
		step("behind an answer");
	has_published = false;
}

/* ---- Worker ---- */

static void
run_worker(char **args)
{
	step_choose(args[1], args[2]);
	(void)rdmo_parts_worker(args[0], 64, 16);
	while (rdmo_parts_asked(-1) >= 0)
		;
	rdmo_parts_worker_end();
}

/* ---- A log ---- */

/* Who dies between the two has printed a record that is read again. */
static void
records_print(struct rdmo_log *log)
{
	struct rdmo_log_record records[BURST];
	const int n = rdmo_log_read(log, records, BURST);

	if (n == 0)
		return;
	if (n < 0)
		printf("damaged %" PRIu64 "\n", records[0].position);
	for (int i = 0; i < n; i++) {
		const struct payload *payload = records[i].payload;

		printf("record %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", records[i].position,
		       payload->who, payload->seq);
	}
	fflush(stdout);
	TRY(rdmo_log_release(log, records[n > 0 ? n - 1 : 0].next));
}

static void
ticket_print(struct rdmo_target *target, const struct rdmo_ticket *ticket)
{
	char line[RDMO_TICKET_BYTES];

	TRY(rdmo_ticket_get(target, ticket, line, sizeof(line)));
	printf("ticket %s", line);
	rdmo_parts_tell();
}

/* Its producers are let in by the secret of the ticket that there was. */
static struct rdmo_log *
log_open(struct rdmo_target *target, void *memory, struct rdmo_ticket *ticket, bool *is_known)
{
	const struct rdmo_log_attr attr = {
		.capacity = CAPACITY,
		.producers = PRODUCERS,
		.memory = memory,
	};
	struct rdmo_log_info info;
	struct rdmo_log *log;
	uint64_t rq_id;

	TRY(rdmo_log_create(target, &attr, &log));
	TRY(rdmo_log_query(log, &info));
	if (*is_known)
		TRY(rdmo_rq_restore(target, ticket->secret, &rq_id));
	else
		TRY(rdmo_rq_create(target, ticket->secret, &rq_id));
	*is_known = true;
	ticket->key = info.key;
	ticket->at = info.addr;
	ticket->bytes = rdmo_log_bytes(CAPACITY, PRODUCERS);
	ticket_print(target, ticket);
	return log;
}

/* Until the worker has gone (true), or this is to end. */
static bool
log_serve(struct rdmo_target *target, struct rdmo_log *log)
{
	struct rdmo_event event;

	while (rdmo_parts_asked(0) >= 0) {
		records_print(log);
		if (rdmo_target_poll(target, &event, 1) < 0)
			return true;
		usleep(POLL_US);
	}
	records_print(log);
	return false;
}

static void
run_log(char **args)
{
	const struct rdmo_target_attr attr = { .address = args[0], .id = ID };
	struct rdmo_ticket ticket = { 0 };
	bool is_known = rdmo_ticket_parse(args[1], &ticket) == 0, goes_on = true;
	void *memory = rte_zmalloc("log", rdmo_log_bytes(CAPACITY, PRODUCERS), 4096);
	struct rdmo_target *target;
	struct rdmo_log *log;

	if (memory == NULL)
		exit(1);
	while (goes_on) {
		if (rdmo_target_connect(rdmo_parts_pd, &attr, &target) != 0) {
			usleep(RETRY_US);
			goes_on = rdmo_parts_asked(0) >= 0;
			continue;
		}
		log = log_open(target, memory, &ticket, &is_known);
		goes_on = log_serve(target, log);
		rdmo_log_destroy(log);
		rdmo_target_close(target);
	}
	rte_free(memory);
}

static void *
file_map(const char *path)
{
	const uint64_t bytes = rdmo_log_bytes(CAPACITY, PRODUCERS);
	const int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		exit(1);
	at = mmap((void *)AT, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
		  0);
	if (at != (void *)AT)
		exit(1);
	close(fd);
	return at;
}

static void
run_keeper(char **args)
{
	struct rdmo_ticket ticket = { 0 };
	bool is_known = rdmo_ticket_parse(args[1], &ticket) == 0;
	struct rdmo_target *target;
	struct rdmo_log *log;

	step_choose(args[2], args[3]);
	TRY(rdmo_target_open(rdmo_parts_worker(args[0], 64, 16), ID, &target));
	log = log_open(target, file_map(args[4]), &ticket, &is_known);
	(void)log_serve(target, log);
	rdmo_log_destroy(log);
	rdmo_target_close(target);
	rdmo_parts_worker_end();
}

/* ---- Producer ---- */

static bool
connect_again(struct rdmo_conn *conn)
{
	while (rdmo_parts_asked(0) >= 0) {
		const int rc = rdmo_reconnect(conn, NULL);

		if (rc == 0)
			return true;
		/* A worker listens before it knows whom to let in, and dies at any time. */
		usleep(RETRY_US);
	}
	return false;
}

/* All of a burst, which is done once, whatever becomes of workers. False: it came to an end before that. */
static bool
burst(struct rdmo_conn *conn, const struct rdmo_op *ops)
{
	struct rdmo_completion done[BURST];
	uint32_t posted = 0, answered = 0;

	while (answered < BURST) {
		posted += rdmo_post(conn, ops + posted, BURST - posted);
		answered += rdmo_poll(conn, done + answered, posted - answered);
		if (rdmo_conn_error(conn) == -ENOTCONN && !connect_again(conn))
			return false;
		usleep(POLL_US);
	}
	for (uint32_t i = 0; i < BURST; i++)
		if (done[i].status != RDMO_STATUS_OK) {
			printf("refused: %s", rdmo_status_str(done[i].status));
			rdmo_parts_tell();
			exit(1);
		}
	return true;
}

static void
run_producer(char **args)
{
	const uint32_t who = (uint32_t)strtoul(args[0], NULL, 10);
	struct payload payloads[BURST];
	struct rdmo_op ops[BURST];
	struct rdmo_ticket ticket;
	struct rdmo_conn *conn;
	const struct rdmo_connect_attr attr = {
		.address = ticket.address,
		.secret = ticket.secret,
		.depth = BURST,
		.receives = 4,
		.timeout_ms = TIMEOUT_MS,
		.is_producer = true,
		.producer = who,
	};
	uint64_t count = 0;

	if (rdmo_ticket_parse(args[1], &ticket) != 0)
		exit(1);
	TRY(rdmo_connect(rdmo_parts_pd, &attr, &conn));
	printf("connected");
	rdmo_parts_tell();
	while (rdmo_parts_asked(0) >= 0) {
		for (uint32_t i = 0; i < BURST; i++) {
			payloads[i] = (struct payload){ .who = who, .seq = count + i + 1 };
			ops[i] = (struct rdmo_op){
				.id = ticket.id,
				.op_id = RDMO_OP_APPEND,
				.length = sizeof(payloads[i]),
				.append = { .ptr_addr = ticket.at,
					    .ptr_key = ticket.key,
					    .data_key = ticket.key,
					    .payload = &payloads[i] },
			};
		}
		if (!burst(conn, ops))
			break;
		count += BURST;
		printf("appended %" PRIu64, count);
		rdmo_parts_tell();
		usleep(TURN_US);
	}
	rdmo_disconnect(conn);
}

int
main(int argc, char **argv)
{
	static const struct rdmo_role roles[] = {
		{ "worker", 6, run_worker },
		{ "log", 5, run_log },
		{ "keeper", 8, run_keeper },
		{ "producer", 5, run_producer },
	};

	return rdmo_parts_main(argc, argv, roles, RTE_DIM(roles));
}
