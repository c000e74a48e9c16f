/* SPDX-License-Identifier: BSD-3-Clause */

/* The client of dpdk-test-rdma-perf and hosts that do not answer: how long it tries. Time is what poll() was to wait. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "main.h"
#include "tcp.h"

#define HOSTS_MAX    50
#define LOOK_MS	     2 /* what is behind the loopback answers at once */
#define ENOUGH_MS    4900
#define TIME_FOR_TWO 1500 /* the first SYN that was lost is sent again after a second */

static int listener, first; /* a queue for one connection, and that one */
static struct sockaddr_in silent, answering;
static struct sockaddr_in hosts[HOSTS_MAX];
static struct addrinfo list[HOSTS_MAX];
static int waited_ms;

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *found);

int
__wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	const int rc = __real_poll(fds, n, LOOK_MS);

	if (rc == 0)
		waited_ms += timeout_ms;
	return rc;
}

int
__wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		   struct addrinfo **found)
{
	(void)node;
	(void)service;
	(void)hints;
	*found = list;
	return 0;
}

void
__wrap_freeaddrinfo(struct addrinfo *found)
{
	assert_ptr_equal(found, list);
}

static int
listen_to(struct sockaddr_in *address, int backlog)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length), 0);
	return fd;
}

static int
set_up(void **state)
{
	(void)state;
	listener = listen_to(&silent, 0);
	first = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(first, (struct sockaddr *)&silent, sizeof(silent)), 0);
	waited_ms = 0;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(first);
	close(listener);
	return 0;
}

/* The host has `n` addresses. */
static void
host_of(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		hosts[i] = silent;
		list[i] = (struct addrinfo){ .ai_family = AF_INET,
					     .ai_addr = (struct sockaddr *)&hosts[i],
					     .ai_addrlen = sizeof(hosts[i]),
					     .ai_next = i + 1 < n ? &list[i + 1] : NULL };
	}
}

static void
many_addresses_take_no_longer_than_one(void **state)
{
	unsigned int n;
	int fd;

	(void)state;
	for (n = 1; n <= HOSTS_MAX; n = 2 * n + 1) {
		host_of(n);
		waited_ms = 0;
		assert_int_equal(perf_tcp_connect("host", 1, &fd), -ETIMEDOUT);
		assert_in_range(waited_ms, PERF_TCP_PATIENCE_MS - 500, ENOUGH_MS);
	}
}

/* As of a host with IPv6 that has no way, and IPv4. */
static void
an_address_that_answers_is_found_behind_one_that_does_not(void **state)
{
	int fd, other = listen_to(&answering, 5);

	(void)state;
	host_of(2);
	hosts[1] = answering;
	assert_int_equal(perf_tcp_connect("host", 1, &fd), 0);
	assert_in_range(waited_ms, TIME_FOR_TWO, ENOUGH_MS);
	close(fd);
	close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	TEST(many_addresses_take_no_longer_than_one),
	TEST(an_address_that_answers_is_found_behind_one_that_does_not),
};

PLAIN_MAIN("perf-tcp", tests)
