/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Appends by UCX, the peer of rdmo_bench: a client and a server, two processes with one thread each. The server has the queue and its
 * tail. UCX_TLS says over what they talk.
 *
 *	rdmo_ucx TEST BYTES RECORDS SECONDS SERVER-CPU
 *
 * TEST:
 *	put		a fetch-and-add that reserves, then a put to where it says: 16 such pairs under way
 *	put-lat		one such pair after the other, and a flush: a put that has completed may not have arrived
 *	am		an active message, which the server's handler appends and answers with where: 256 appends under way
 *	am-lat		one such message after the other
 *
 * A pair, or a message, is for RECORDS appends of BYTES, which lie side by side.
 *
 * Prints `result TEST bytes N records N rate X`, appends a second, or `... lat MEDIAN P99`, microseconds.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ucp/api/ucp.h>

#include <rte_common.h>

#include "timed.h"

#define QUEUE_BYTES (1ul << 24)
#define TAIL_ROOM   4096 /* before the queue: the tail alone */
#define PAIRS	    16u
#define APPENDS	    256u
#define BURST	    32u
#define BYTES_MAX   4096u /* of a message */
#define IDLE_POLLS  1024  /* until the server looks whether the client is still there */

enum { AM_APPEND, AM_ANSWER };

struct side {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_mem_h mem;
	uint8_t *memory;
	size_t bytes;
	ucp_ep_h ep;
	ucp_rkey_h rkey; /* of the other side's memory, which begins there */
	uint64_t there;
	int fd; /* to the other process */
};

struct client;

/* A reservation, then what is put there. */
struct pair {
	struct client *client;
	uint64_t at;
	bool is_put;
};

struct client {
	struct side side;
	const char *test;
	bool is_am, is_latency;
	uint32_t bytes, records;
	uint64_t size; /* of both */
	double seconds;
	struct pair pairs[PAIRS], *ready[PAIRS];
	uint32_t ready_count;
	uint64_t sent, done; /* messages, or pairs */
	bool has_failed;
};

static int
check(ucs_status_t status, const char *what)
{
	if (status == UCS_OK)
		return 0;
	fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
	return -1;
}
#define TRY(call)                            \
	do {                                 \
		if (check(call, #call) != 0) \
			return -1;           \
	} while (0)

/* ---- Both sides ---- */

static int
side_open(struct side *side, size_t bytes)
{
	const ucp_params_t context = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64,
	};
	const ucp_worker_params_t worker = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	const ucp_mem_map_params_t map = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
		.length = bytes,
		.flags = UCP_MEM_MAP_ALLOCATE,
	};
	ucp_mem_attr_t attr = { .field_mask = UCP_MEM_ATTR_FIELD_ADDRESS };

	TRY(ucp_init(&context, NULL, &side->context));
	TRY(ucp_worker_create(side->context, &worker, &side->worker));
	TRY(ucp_mem_map(side->context, &map, &side->mem));
	TRY(ucp_mem_query(side->mem, &attr));
	side->memory = attr.address;
	side->bytes = bytes;
	memset(side->memory, 0, bytes);
	return 0;
}

/* A blob, behind its length. */
static int
tell(int fd, const void *blob, size_t bytes)
{
	return write(fd, &bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) &&
			       write(fd, blob, bytes) == (ssize_t)bytes
		       ? 0
		       : -1;
}

static void *
hear(int fd)
{
	size_t bytes;
	void *blob;

	if (recv(fd, &bytes, sizeof(bytes), MSG_WAITALL) != (ssize_t)sizeof(bytes))
		return NULL;
	blob = malloc(bytes);
	if (blob != NULL && recv(fd, blob, bytes, MSG_WAITALL) == (ssize_t)bytes)
		return blob;
	free(blob);
	return NULL;
}

/* Each tells the other how it and its memory are reached. */
static int
side_join(struct side *side)
{
	const uint64_t here = (uintptr_t)side->memory;
	ucp_ep_params_t ep = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS };
	ucp_address_t *address;
	size_t address_bytes, rkey_bytes;
	uint64_t *there;
	void *rkey, *name;
	int rc = -1;

	TRY(ucp_worker_get_address(side->worker, &address, &address_bytes));
	TRY(ucp_rkey_pack(side->context, side->mem, &rkey, &rkey_bytes));
	if (tell(side->fd, address, address_bytes) == 0 && tell(side->fd, rkey, rkey_bytes) == 0)
		rc = tell(side->fd, &here, sizeof(here));
	ucp_worker_release_address(side->worker, address);
	ucp_rkey_buffer_release(rkey);
	name = hear(side->fd);
	rkey = hear(side->fd);
	there = hear(side->fd);
	if (rc == 0 && name != NULL && rkey != NULL && there != NULL) {
		ep.address = name;
		side->there = *there;
		rc = check(ucp_ep_create(side->worker, &ep, &side->ep), "ucp_ep_create");
		if (rc == 0)
			rc = check(ucp_ep_rkey_unpack(side->ep, rkey, &side->rkey), "rkey");
	} else {
		fprintf(stderr, "the other process has ended\n");
		rc = -1;
	}
	free(name);
	free(rkey);
	free(there);
	return rc;
}

static void
side_close(struct side *side)
{
	ucp_rkey_destroy(side->rkey);
	ucp_mem_unmap(side->context, side->mem);
	ucp_worker_destroy(side->worker);
	ucp_cleanup(side->context);
}

static int
handle(struct side *side, unsigned int id, ucp_am_recv_callback_t handler, void *of)
{
	const ucp_am_handler_param_t param = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
			      UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = id,
		.cb = handler,
		.arg = of,
	};

	return check(ucp_worker_set_am_recv_handler(side->worker, &param), "handler");
}

static void
free_request(void *request, ucs_status_t status, void *of)
{
	(void)status;
	(void)of;
	ucp_request_free(request);
}

/* Header and data must stay as they are for as long as it is under way. */
static ucs_status_t
send_message(struct side *side, unsigned int id, const void *header, size_t header_bytes,
	     const void *data, size_t bytes)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_AM_SEND_FLAG_EAGER,
		.cb.send = free_request,
	};
	/* The macro evaluates it twice. */
	const ucs_status_ptr_t request =
		ucp_am_send_nbx(side->ep, id, header, header_bytes, data, bytes, &param);

	return UCS_PTR_STATUS(request);
}

/* ---- The server ---- */

struct server {
	struct side side;
	uint64_t answers[APPENDS]; /* where messages went; so many may be under way */
	uint32_t next;
};

static ucs_status_t
append(void *of, const void *header, size_t header_bytes, void *data, size_t bytes,
       const ucp_am_recv_param_t *param)
{
	struct server *server = of;
	uint64_t *tail = (uint64_t *)server->side.memory;
	uint64_t *answer = &server->answers[server->next++ % APPENDS];

	(void)header;
	(void)header_bytes;
	(void)param;
	*answer = *tail;
	memcpy(server->side.memory + TAIL_ROOM + *tail % QUEUE_BYTES, data, bytes);
	__atomic_store_n(tail, *tail + bytes, __ATOMIC_RELEASE);
	if (UCS_STATUS_IS_ERR(
		    send_message(&server->side, AM_ANSWER, answer, sizeof(*answer), NULL, 0)))
		fprintf(stderr, "no answer goes\n");
	return UCS_OK;
}

static int
serve(int fd, int cpu)
{
	struct server server = { .side.fd = fd };
	cpu_set_t cpus;
	char byte;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {
		perror("CPU of the server");
		return -1;
	}
	if (side_open(&server.side, TAIL_ROOM + QUEUE_BYTES) != 0 ||
	    handle(&server.side, AM_APPEND, append, &server) != 0 || side_join(&server.side) != 0)
		return -1;
	do
		for (unsigned int i = 0; i < IDLE_POLLS; i++)
			ucp_worker_progress(server.side.worker);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) != 0);
	side_close(&server.side);
	return 0;
}

/* ---- The client: active messages ---- */

static ucs_status_t
answered(void *of, const void *header, size_t header_bytes, void *data, size_t bytes,
	 const ucp_am_recv_param_t *param)
{
	struct client *client = of;
	uint64_t at = UINT64_MAX;

	(void)data;
	(void)bytes;
	(void)param;
	memcpy(&at, header, RTE_MIN(header_bytes, sizeof(at)));
	if (!client->has_failed && at != client->done * client->size) {
		fprintf(stderr, "an append does not lie behind the one before\n");
		client->has_failed = true;
	}
	client->done++;
	return UCS_OK;
}

/* ---- The client: reservations and puts ---- */

static void
pair_done(void *request, ucs_status_t status, void *of)
{
	struct pair *pair = of;
	struct client *client = pair->client;

	ucp_request_free(request);
	client->has_failed |= check(status, "pair") != 0;
	client->done += pair->is_put;
	pair->is_put = !pair->is_put;
	client->ready[client->ready_count++] = pair;
}

static ucs_status_ptr_t
pair_request(struct client *client, struct pair *pair)
{
	ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = pair_done,
		.user_data = pair,
	};
	const struct side *side = &client->side;

	if (pair->is_put)
		return ucp_put_nbx(side->ep, side->memory, client->size,
				   side->there + TAIL_ROOM + pair->at % QUEUE_BYTES, side->rkey,
				   &param);
	param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE;
	param.reply_buffer = &pair->at;
	param.datatype = ucp_dt_make_contig(sizeof(pair->at));
	return ucp_atomic_op_nbx(side->ep, UCP_ATOMIC_OP_ADD, &client->size, 1, side->there,
				 side->rkey, &param);
}

/* As far as it goes at once, but not beyond its put. */
static void
pair_go(struct client *client, struct pair *pair)
{
	ucs_status_ptr_t request;

	do {
		request = pair_request(client, pair);
		if (UCS_PTR_IS_ERR(request)) {
			client->has_failed = check(UCS_PTR_STATUS(request), "pair") != 0;
			return;
		}
		if (request != NULL)
			return;
		client->done += pair->is_put;
		pair->is_put = !pair->is_put;
	} while (pair->is_put);
	client->ready[client->ready_count++] = pair;
}

/* ---- The client ---- */

/* Send what may be under way: `max` at most. */
static void
client_send(struct client *client, uint32_t max)
{
	struct side *side = &client->side;
	struct pair *ready[PAIRS];
	const uint32_t n = client->ready_count;

	if (client->is_am) {
		const uint64_t room = APPENDS / client->records - (client->sent - client->done);

		for (uint32_t i = 0; i < RTE_MIN(room, max); i++) {
			client->has_failed |= UCS_STATUS_IS_ERR(
				send_message(side, AM_APPEND, NULL, 0, side->memory, client->size));
			client->sent++;
		}
		return;
	}
	memcpy(ready, client->ready, sizeof(ready));
	client->ready_count = 0;
	for (uint32_t i = 0; i < n; i++)
		pair_go(client, ready[i]);
}

static int64_t
step(void *of)
{
	struct client *client = of;
	const uint64_t done = client->done;

	client_send(client, BURST);
	ucp_worker_progress(client->side.worker);
	return client->has_failed ? -1 : (int64_t)(client->done - done) * client->records;
}

static int
flush(struct side *side)
{
	const ucp_request_param_t param = { 0 };
	ucs_status_ptr_t request = ucp_ep_flush_nbx(side->ep, &param);

	if (!UCS_PTR_IS_PTR(request))
		return check(UCS_PTR_STATUS(request), "flush");
	while (ucp_request_check_status(request) == UCS_INPROGRESS)
		ucp_worker_progress(side->worker);
	ucp_request_free(request);
	return 0;
}

static int
one(void *of)
{
	struct client *client = of;
	const uint64_t done = client->done;

	while (client->done == done && !client->has_failed) {
		if (!client->is_am || client->sent == done)
			client_send(client, 1);
		ucp_worker_progress(client->side.worker);
	}
	if (client->has_failed)
		return -1;
	return client->is_am ? 0 : flush(&client->side);
}

/* All that is under way; the server has it then. */
static int
client_end(struct client *client)
{
	const uint32_t pairs = client->is_latency ? 1 : PAIRS;

	while (!client->has_failed &&
	       (client->is_am ? client->done < client->sent : client->ready_count < pairs))
		ucp_worker_progress(client->side.worker);
	return client->has_failed ? -1 : flush(&client->side);
}

static int
measure(struct client *client)
{
	struct timed timed = { .of = client, .seconds = client->seconds };
	struct timed_latency latency = { 0 };
	struct timed_rate rate = { 0 };
	int rc;

	for (uint32_t i = 0; i < (client->is_latency ? 1 : PAIRS); i++) {
		client->pairs[i].client = client;
		client->ready[client->ready_count++] = &client->pairs[i];
	}
	rc = client->is_latency ? timed_latency(&timed, one, &latency)
				: timed_rate(&timed, step, &rate);
	if (rc != 0 || client_end(client) != 0)
		return -1;
	printf("result %s bytes %u records %u ", client->test, client->bytes, client->records);
	if (client->is_latency)
		printf("lat %.3f %.3f\n", latency.median_us, latency.p99_us);
	else
		printf("rate %.1f\n", (double)rate.done / rate.seconds);
	return 0;
}

static int
ask(struct client *client, int fd)
{
	int rc;

	client->side.fd = fd;
	if (side_open(&client->side, BYTES_MAX) != 0 ||
	    handle(&client->side, AM_ANSWER, answered, client) != 0 ||
	    side_join(&client->side) != 0)
		return -1;
	rc = measure(client);
	side_close(&client->side);
	return rc;
}

/* What the command line asks for makes sense. */
static bool
read_arguments(struct client *client, int argc, char **argv)
{
	static const char *const tests[] = { "put", "put-lat", "am", "am-lat" };
	bool is_test = false;

	if (argc != 6)
		return false;
	client->test = argv[1];
	for (uint32_t i = 0; i < RTE_DIM(tests); i++)
		is_test |= strcmp(client->test, tests[i]) == 0;
	client->is_am = strncmp(client->test, "am", 2) == 0;
	client->is_latency = strstr(client->test, "-lat") != NULL;
	client->bytes = (uint32_t)strtoul(argv[2], NULL, 10);
	client->records = (uint32_t)strtoul(argv[3], NULL, 10);
	client->size = (uint64_t)client->bytes * client->records;
	client->seconds = strtod(argv[4], NULL);
	/* The queue's end is the end of an append. */
	return is_test && client->records > 0 && client->records <= APPENDS && client->size >= 8 &&
	       client->size <= BYTES_MAX && rte_is_power_of_2((uint32_t)client->size) &&
	       client->seconds > 0;
}

int
main(int argc, char **argv)
{
	static struct client client;
	int fds[2], status, rc;
	pid_t server;

	if (!read_arguments(&client, argc, argv)) {
		fprintf(stderr, "usage: rdmo_ucx put|put-lat|am|am-lat BYTES RECORDS SECONDS "
				"SERVER-CPU\n"
				"BYTES times RECORDS: 8 to 4,096, a power of two\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
		perror("socketpair");
		return EXIT_FAILURE;
	}
	/* Before there is anything of UCX, which does not outlive it. */
	server = fork();
	if (server == 0) {
		close(fds[0]);
		return serve(fds[1], atoi(argv[5])) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	close(fds[1]);
	rc = server < 0 ? -1 : ask(&client, fds[0]);
	close(fds[0]); /* so it ends, if it has not */
	if (server < 0 || waitpid(server, &status, 0) != server || status != 0)
		rc = -1;
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
