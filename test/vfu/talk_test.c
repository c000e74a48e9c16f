/* SPDX-License-Identifier: BSD-3-Clause */

/* The client against a server that never stops talking, or that says each thing late: every call has an end. */

#include "fixture.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS  200
#define PATIENCE_MS 60000 /* then the server gives up, and the test fails */

struct talk {
	struct vfu_client *client;
	int pair[2];
	pthread_t thread;
	atomic_bool stop, gave_up;
	unsigned int late_ms; /* of each answer */
};

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Each request costs the client two calls of the kernel's, and us less than a hundredth of one: there is always a next one. */
static void *
talk_on(void *arg)
{
	static const struct request {
		struct vfu_header header;
		struct vfu_dma_access access;
	} request = {
		{ 9, VFU_DMA_READ, sizeof(request), VFU_TYPE_COMMAND | VFU_FLAG_NO_REPLY, 0 },
		{ 0, 1 << 20 },
	};
	struct request batch[256];
	struct talk *t = arg;
	struct pollfd room = { .fd = t->pair[1], .events = POLLOUT };
	const uint64_t end = now_ms() + PATIENCE_MS;
	size_t at = 0, i;
	ssize_t n;

	for (i = 0; i < sizeof(batch) / sizeof(batch[0]); i++)
		batch[i] = request;
	while (!atomic_load(&t->stop)) {
		if (now_ms() > end) {
			atomic_store(&t->gave_up, true);
			break;
		}
		n = send(t->pair[1], (const char *)batch + at, sizeof(batch) - at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			at = (at + (size_t)n) % sizeof(batch);
		else if (n < 0 && errno != EAGAIN)
			break; /* the client has gone */
		else
			poll(&room, 1, 10);
	}
	return NULL;
}

static void
talk_open_patiently(struct talk *t, const char *version, size_t length, unsigned int timeout_ms,
		    int (*patience_ms)(void *arg, int *fd))
{
	struct {
		struct vfu_header header;
		char version[128];
	} m = { .header = { 0, VFU_VERSION, (uint32_t)(sizeof(m.header) + length), VFU_TYPE_REPLY,
			    0 } };
	struct vfu_client_conf conf = { .name = "talk0",
					.timeout_ms = timeout_ms,
					.patience_ms = patience_ms };
	char proposal[4096];

	memset(t, 0, sizeof(*t));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, t->pair), 0);
	memcpy(m.version, version, length);
	raw_send(t->pair[1], &m, m.header.size, NULL, 0);
	conf.fd = t->pair[0];
	assert_int_equal(vfu_client_open(&conf, &t->client), 0);
	/* What it proposed. */
	assert_true(recv(t->pair[1], &proposal, sizeof(proposal), 0) > 0);
}

static void
talk_open(struct talk *t, const char *version, size_t length)
{
	talk_open_patiently(t, version, length, TIMEOUT_MS, NULL);
}

static void
talk_start(struct talk *t, void *(*run)(void *))
{
	assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
}

/* It was still talking. */
static void
talk_end(struct talk *t)
{
	const bool gave_up = atomic_load(&t->gave_up);

	atomic_store(&t->stop, true);
	vfu_client_close(t->client);
	pthread_join(t->thread, NULL);
	close(t->pair[1]);
	assert_false(gave_up);
}

static int
ask_for_the_device(struct vfu_client *client)
{
	uint32_t flags, regions, irqs;

	return vfu_client_device_info(client, &flags, &regions, &irqs);
}

static int
read_a_register(struct vfu_client *client)
{
	uint32_t value;

	return vfu_client_region_read(client, 7, 0, &value, sizeof(value));
}

/* More than the socket takes: the server reads nothing. */
static int
write_a_lot(struct vfu_client *client)
{
	static uint8_t block[1 << 20];

	return vfu_client_region_post(client, 7, 0, block, sizeof(block));
}

static int
reset(struct vfu_client *client)
{
	return vfu_client_reset(client);
}

static void
test_calls_end_while_the_server_talks(void **state)
{
	int (*const calls[])(struct vfu_client *) = {
		ask_for_the_device,
		read_a_register,
		write_a_lot,
		reset,
	};
	int first, lost, second;
	struct talk t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		talk_open(&t, "\0\0\1\0{}", 7);
		talk_start(&t, talk_on);
		first = calls[i](t.client);
		lost = vfu_client_lost(t.client);
		second = calls[i](t.client);
		talk_end(&t);
		assert_int_equal(first, -ETIMEDOUT);
		/* And nobody is kept any more. */
		assert_int_equal(lost, -ETIMEDOUT);
		assert_int_equal(second, -ENOTCONN);
	}
}

/* It is only served: who polls comes again, as long as there is something. */
static void
test_serving_ends_while_the_server_talks(void **state)
{
	struct pollfd ready = { .events = POLLIN };
	unsigned int i, served = 0;
	struct talk t;

	(void)state;
	talk_open(&t, "\0\0\1\0{}", 7);
	talk_start(&t, talk_on);
	ready.fd = vfu_client_fd(t.client);
	for (i = 0; i < 3; i++)
		served += poll(&ready, 1, PATIENCE_MS) == 1 && vfu_client_process(t.client) == 0;
	talk_end(&t);
	assert_int_equal(served, 3);
}

/* Answers what it is asked, each time in time. */
static void *
answer_late(void *arg)
{
	struct {
		struct vfu_header header;
		struct vfu_region_access access;
		uint8_t data[16];
	} m;
	const size_t request = sizeof(m.header) + sizeof(m.access);
	struct talk *t = arg;

	while (recv(t->pair[1], &m, request, MSG_WAITALL) == (ssize_t)request) {
		poll(NULL, 0, (int)t->late_ms);
		m.header.size = (uint32_t)(request + m.access.count);
		m.header.flags = VFU_TYPE_REPLY;
		if (send(t->pair[1], &m, m.header.size, MSG_NOSIGNAL) < 0)
			break;
	}
	return NULL;
}

/* A call of many messages has one timeout, not one for each of them. */
static void
test_a_call_of_many_messages_has_one_timeout(void **state)
{
	const char version[] = "\0\0\1\0{\"capabilities\":{\"max_data_xfer_size\":16}}";
	uint8_t data[320];
	struct talk t;
	int rc;

	(void)state;
	talk_open(&t, version, sizeof(version));
	t.late_ms = TIMEOUT_MS / 4;
	talk_start(&t, answer_late);
	rc = vfu_client_region_read(t.client, 7, 0, data, sizeof(data));
	talk_end(&t);
	assert_int_equal(rc, -ETIMEDOUT);
}

/* ---- Who is told to end ---- */

static _Thread_local bool may_be_told;
static atomic_bool told;
static int told_fd;

static int
patience_ms(void *arg, int *fd)
{
	(void)arg;
	if (!may_be_told)
		return -1;
	*fd = told_fd;
	return atomic_load(&told) ? 0 : -1;
}

struct read_message {
	struct vfu_header header;
	struct vfu_region_access access;
	uint32_t value;
};
#define READ_REQUEST (sizeof(struct vfu_header) + sizeof(struct vfu_region_access))

static void
take_request(struct talk *t, struct read_message *m)
{
	assert_int_equal(recv(t->pair[1], m, READ_REQUEST, MSG_WAITALL), READ_REQUEST);
}

static void
answer(struct talk *t, struct read_message *m, uint32_t value)
{
	m->header.flags = VFU_TYPE_REPLY;
	m->header.size = sizeof(*m);
	m->value = value;
	raw_send(t->pair[1], m, sizeof(*m), NULL, 0);
}

static void *
read_until_told(void *arg)
{
	struct talk *t = arg;

	may_be_told = true;
	return (void *)(intptr_t)read_a_register(t->client);
}

static void *
read_to_the_end(void *arg)
{
	struct talk *t = arg;

	return (void *)(intptr_t)read_a_register(t->client);
}

static void
tell(void)
{
	const uint64_t one = 1;

	atomic_store(&told, true);
	assert_int_equal(write(told_fd, &one, sizeof(one)), sizeof(one));
}

static int
join(pthread_t thread)
{
	void *rc;

	assert_int_equal(pthread_join(thread, &rc), 0);
	return (int)(intptr_t)rc;
}

static void
patient_open(struct talk *t)
{
	atomic_store(&told, false);
	told_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(told_fd >= 0);
	talk_open_patiently(t, "\0\0\1\0{}", 7, PATIENCE_MS, patience_ms);
}

static void
patient_close(struct talk *t)
{
	vfu_client_close(t->client);
	close(t->pair[1]);
	close(told_fd);
}

/* Its answer comes before that to the next one, and is nobody's. */
static void
test_who_is_told_to_end_leaves_the_connection_as_it_is(void **state)
{
	struct read_message first, second;
	pthread_t ends, stays;
	uint32_t value = 0;
	struct talk t;

	(void)state;
	patient_open(&t);
	assert_int_equal(pthread_create(&ends, NULL, read_until_told, &t), 0);
	take_request(&t, &first);
	tell();
	assert_int_equal(join(ends), -ECANCELED);
	assert_int_equal(vfu_client_lost(t.client), 0);
	assert_int_equal(pthread_create(&stays, NULL, read_to_the_end, &t), 0);
	take_request(&t, &second);
	answer(&t, &first, 1);
	answer(&t, &second, 2);
	assert_int_equal(join(stays), 0);
	/* A thread that is told before it asks asks nothing. */
	may_be_told = true;
	assert_int_equal(read_a_register(t.client), -ECANCELED);
	may_be_told = false;
	answer(&t, &(struct read_message){ second.header, second.access, 0 }, 3);
	assert_int_equal(vfu_client_region_read(t.client, 7, 0, &value, sizeof(value)), -EPROTO);
	patient_close(&t);
}

static void
test_who_is_told_to_end_waits_for_no_turn(void **state)
{
	struct read_message m;
	pthread_t ends, stays;
	struct talk t;

	(void)state;
	patient_open(&t);
	assert_int_equal(pthread_create(&stays, NULL, read_to_the_end, &t), 0);
	take_request(&t, &m);
	assert_int_equal(pthread_create(&ends, NULL, read_until_told, &t), 0);
	tell();
	assert_int_equal(join(ends), -ECANCELED);
	answer(&t, &m, 1);
	assert_int_equal(join(stays), 0);
	patient_close(&t);
}

/* Who waits already, and who comes then. */
static void
test_a_connection_that_is_to_end_keeps_nobody(void **state)
{
	struct read_message m;
	pthread_t waits;
	struct talk t;

	(void)state;
	patient_open(&t);
	assert_int_equal(pthread_create(&waits, NULL, read_to_the_end, &t), 0);
	take_request(&t, &m);
	vfu_client_end_by(t.client, 50);
	assert_int_equal(join(waits), -ETIMEDOUT);
	assert_int_equal(read_a_register(t.client), -ENOTCONN);
	patient_close(&t);
}

/* A server that answers in time, and late enough: all calls have the one deadline. */
static void
test_all_calls_of_a_connection_that_is_to_end_have_one_deadline(void **state)
{
	unsigned int calls = 0;
	struct talk t;
	int rc = 0;

	(void)state;
	patient_open(&t);
	t.late_ms = 20;
	talk_start(&t, answer_late);
	vfu_client_end_by(t.client, 200);
	while (rc == 0 && calls++ < 100)
		rc = read_a_register(t.client);
	talk_end(&t);
	close(told_fd);
	assert_int_equal(rc, -ETIMEDOUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_end_while_the_server_talks),
		cmocka_unit_test(test_serving_ends_while_the_server_talks),
		cmocka_unit_test(test_a_call_of_many_messages_has_one_timeout),
		cmocka_unit_test(test_who_is_told_to_end_leaves_the_connection_as_it_is),
		cmocka_unit_test(test_who_is_told_to_end_waits_for_no_turn),
		cmocka_unit_test(test_a_connection_that_is_to_end_keeps_nobody),
		cmocka_unit_test(test_all_calls_of_a_connection_that_is_to_end_have_one_deadline),
	};

	return cmocka_run_group_tests_name("talk", tests, NULL, NULL);
}
