/* SPDX-License-Identifier: BSD-3-Clause */

/* The stream between the two ends of dpdk-test-rdma-perf: what is said when the other one has gone. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "interrupt.h"
#include "link.h"
#include "main.h"
#include "tcp.h"

static struct perf_link link_;
static int other_fd;
static FILE *said;
static int stderr_fd;

static int
set_up(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(perf_link_open(&link_, fds[0]), 0);
	other_fd = fds[1];
	said = tmpfile();
	assert_non_null(said);
	fflush(stderr);
	stderr_fd = dup(STDERR_FILENO);
	assert_true(stderr_fd >= 0);
	assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	fflush(stderr);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	fclose(said);
	perf_link_close(&link_);
	return 0;
}

/* All that was said so far. */
static void
expect_said(const char *expected)
{
	char text[500] = "";

	fflush(stderr);
	rewind(said);
	text[fread(text, 1, sizeof(text) - 1, said)] = '\0';
	assert_string_equal(text, expected);
}

/* Read first, then write, or the other way round: both may notice. */
static void
that_the_other_end_has_gone_is_said_once(void **state)
{
	static const char once[] = "dpdk-test-rdma-perf: the other end has gone\n";
	struct perf_message message;

	(void)state;
	close(other_fd);
	assert_int_equal(perf_link_poll(&link_, &message), -EPIPE);
	expect_said(once);
	assert_int_equal(perf_link_send(&link_, PERF_MESSAGE_SENT, "1\n"), -EPIPE);
	assert_int_equal(perf_link_poll(&link_, &message), -EPIPE);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_RESULT, -1, &message), -EPIPE);
	expect_said(once);
}

static void
a_message_that_came_before_the_end_is_had(void **state)
{
	static const char whole[] = "RDMAPERF 004 SENT     00000002\n1\n";
	struct perf_message message;

	(void)state;
	assert_int_equal(write(other_fd, whole, sizeof(whole) - 1), sizeof(whole) - 1);
	close(other_fd);
	assert_int_equal(perf_link_poll(&link_, &message), 1);
	assert_int_equal(message.type, PERF_MESSAGE_SENT);
	assert_string_equal(message.body, "1\n");
	expect_said("");
}

/* It says so, whatever else it was to say; and then it has gone, which is no news. */
static void
an_end_that_was_interrupted_says_so(void **state)
{
	static const char leaves[] = "RDMAPERF 004 LEAVES   00000000\n";
	struct perf_message message;

	(void)state;
	assert_int_equal(write(other_fd, leaves, sizeof(leaves) - 1), sizeof(leaves) - 1);
	close(other_fd);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_RESULT, -1, &message), -ECONNABORTED);
	assert_int_equal(perf_link_poll(&link_, &message), -EPIPE);
	expect_said("dpdk-test-rdma-perf: the other end was interrupted\n");
}

/* It has left while this end was about to ask for its result. */
static void
the_result_of_an_end_that_was_interrupted_is_had(void **state)
{
	static const char both[] =
		"RDMAPERF 004 LEAVES   00000000\nRDMAPERF 004 RESULT   00000002\n1\n";
	struct perf_message message;

	(void)state;
	assert_int_equal(write(other_fd, both, sizeof(both) - 1), sizeof(both) - 1);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_RESULT, 1000, &message), 0);
	assert_string_equal(message.body, "1\n");
	close(other_fd);
	expect_said("dpdk-test-rdma-perf: the other end was interrupted\n");
}

static void
that_the_other_end_is_silent_is_said_once(void **state)
{
	static const char half[] = "RDMAPERF 004 HE";
	struct perf_message message;

	(void)state;
	assert_int_equal(write(other_fd, half, sizeof(half) - 1), sizeof(half) - 1);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_HELLO, 1, &message), -ETIMEDOUT);
	close(other_fd);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_HELLO, 1, &message), -EPIPE);
	expect_said("dpdk-test-rdma-perf: the other end does not answer\n");
}

/* A byte now and then is no message. */
static void *
drip(void *unused)
{
	static const char head[] = "RDMAPERF 004 HELLO    00000002";

	for (uint32_t i = 0; i < 20; i++) {
		if (write(other_fd, &head[i], 1) != 1)
			break;
		usleep(50000);
	}
	return unused;
}

static void
a_message_that_drips_in_has_an_end(void **state)
{
	const uint64_t start = perf_tcp_now_ms();
	struct perf_message message;
	pthread_t dripping;

	(void)state;
	assert_int_equal(pthread_create(&dripping, NULL, drip, NULL), 0);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_HELLO, 300, &message), -ETIMEDOUT);
	assert_true(perf_tcp_now_ms() - start < 900);
	assert_int_equal(pthread_join(dripping, NULL), 0);
	close(other_fd);
	expect_said("dpdk-test-rdma-perf: the other end does not answer\n");
}

/* Ctrl-C that both ends had is no news; from here on this one has had it. */
static void
who_was_interrupted_itself_says_nothing(void **state)
{
	static const char both[] =
		"RDMAPERF 004 LEAVES   00000000\nRDMAPERF 004 RESULT   00000002\n1\n";
	struct perf_message message;

	(void)state;
	perf_interrupt_install();
	raise(SIGINT);
	assert_true(perf_interrupted());
	assert_int_equal(write(other_fd, both, sizeof(both) - 1), sizeof(both) - 1);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_RESULT, 1000, &message), 0);
	assert_int_equal(write(other_fd, both, sizeof(both) - 1), sizeof(both) - 1);
	assert_int_equal(perf_link_wait(&link_, PERF_MESSAGE_BEGIN, 1000, &message), -EINTR);
	close(other_fd);
	expect_said("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	TEST(that_the_other_end_has_gone_is_said_once),
	TEST(a_message_that_came_before_the_end_is_had),
	TEST(an_end_that_was_interrupted_says_so),
	TEST(the_result_of_an_end_that_was_interrupted_is_had),
	TEST(that_the_other_end_is_silent_is_said_once),
	TEST(a_message_that_drips_in_has_an_end),
	TEST(who_was_interrupted_itself_says_nothing),
};

PLAIN_MAIN("perf-link", tests)
