/* SPDX-License-Identifier: BSD-3-Clause */

/* A client that wants the server to sleep: in a signal to its eventfd, or with descriptors of its own making. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "vfio_user/eventfd.h"

#define LINGER_SECONDS 60		     /* half of it is more than a machine stands still */
#define FULL_COUNT     0xfffffffffffffffeull /* as far as write() goes */
#define WATCHERS       6000 /* of the eventfd: whoever signals it holds its lock for longer */

static void
set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	assert_int_equal(fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK),
			 0);
}

static void
test_a_signal_to_a_full_and_blocking_eventfd_returns(void **state)
{
	struct vfu_eventfd_signaller signaller;
	int fd = eventfd(0, EFD_CLOEXEC);
	eventfd_t value;
	unsigned int i;

	(void)state;
	assert_int_equal(vfu_eventfd_signaller_init(&signaller), 0);
	assert_int_equal(eventfd_write(fd, FULL_COUNT), 0);
	/* More often than any ring of completions has places. */
	for (i = 0; i < 10000; i++)
		vfu_eventfd_signal(&signaller, fd);
	assert_int_equal(eventfd_read(fd, &value), 0);
	assert_true(value >= FULL_COUNT);
	for (i = 0; i < 10000; i++)
		vfu_eventfd_signal(&signaller, fd);
	assert_int_equal(eventfd_read(fd, &value), 0);
	assert_int_equal(value, 10000);
	vfu_eventfd_signaller_fini(&signaller);
	close(fd);
}

static void
test_an_eventfd_is_known_and_not_signalled(void **state)
{
	struct vfu_eventfd_signaller signaller;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int others[4], pair[2], i;
	eventfd_t value;

	(void)state;
	assert_int_equal(vfu_eventfd_signaller_init(&signaller), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	others[0] = pair[0];
	others[1] = memory_file(4096);
	others[2] = epoll_create1(EPOLL_CLOEXEC); /* without a type of file, like an eventfd */
	others[3] = open("/", O_PATH | O_CLOEXEC);
	for (i = 0; i < 4; i++)
		assert_int_equal(vfu_eventfd_check(&signaller, others[i]), -EINVAL);
	for (i = 0; i < 1000; i++)
		assert_int_equal(vfu_eventfd_check(&signaller, fd), 0);
	assert_int_equal(eventfd_read(fd, &value), -1);
	vfu_eventfd_signaller_fini(&signaller);
	/* Where there is no asynchronous I/O nobody is told, and nobody waits. */
	assert_int_equal(vfu_eventfd_check(&signaller, fd), -ENOTSUP);
	vfu_eventfd_signal(&signaller, fd);
	assert_int_equal(eventfd_read(fd, &value), -1);
	for (i = 0; i < 4; i++)
		close(others[i]);
	close(pair[1]);
	close(fd);
}

static atomic_uint writes;

/* The library's, too: what it would do to an eventfd by write() is seen here. */
ssize_t
write(int fd, const void *bytes, size_t length)
{
	writes++;
	return syscall(SYS_write, fd, bytes, length);
}

/* However well it looks before, a write can sleep: the client needs luck, but not much. */
static void
test_interrupts_are_not_written(void **state)
{
	struct fixture *f = *state;
	struct vfu_irq_set set = { sizeof(set), VFU_IRQ_SET_EVENTFD | VFU_IRQ_SET_TRIGGER,
				   VFU_PCI_MSIX, 0, 1 };
	int fd = eventfd(0, EFD_CLOEXEC);
	static struct answer answer;
	eventfd_t value;

	assert_int_equal(ask(f, VFU_DEVICE_SET_IRQS, &set, sizeof(set), &fd, 1, &answer), 0);
	writes = 0;
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 0), 0);
	assert_int_equal(writes, 0);
	assert_int_equal(eventfd_read(fd, &value), 0);
	close(fd);
}

struct toggler {
	int fd;
	atomic_uint answered, stop;
};

/* In turn: full and blocking, with room. The time between the two halves of the first is what decides. */
static void *
toggle(void *arg)
{
	struct toggler *toggler = arg;
	int blocking = fcntl(toggler->fd, F_GETFL) & ~O_NONBLOCK;
	unsigned int answered;
	eventfd_t value;

	while (!toggler->stop) {
		fcntl(toggler->fd, F_SETFL, blocking | O_NONBLOCK);
		value = FULL_COUNT;
		while (value > FULL_COUNT - 16 && write(toggler->fd, &value, sizeof(value)) < 0)
			value--;
		fcntl(toggler->fd, F_SETFL, blocking);
		answered = toggler->answered;
		while (toggler->answered < answered + 2 && !toggler->stop)
			;
		fcntl(toggler->fd, F_SETFL, blocking | O_NONBLOCK);
		(void)!read(toggler->fd, &value, sizeof(value));
		fcntl(toggler->fd, F_SETFL, blocking);
	}
	return NULL;
}

static void
trigger(struct fixture *f)
{
	struct {
		struct vfu_header header;
		struct vfu_irq_set set;
	} request = {
		.header = { .command = VFU_DEVICE_SET_IRQS, .size = sizeof(request) },
		.set = { .argsz = sizeof(request.set),
			 .flags = VFU_IRQ_SET_NONE | VFU_IRQ_SET_TRIGGER,
			 .index = VFU_PCI_MSIX,
			 .count = 1 },
	};

	raw_send(f->peer, &request, sizeof(request), NULL, 0);
}

/* It filled its counter and made it blocking between the server's look and its write, and the server slept for ever. */
static void
test_an_eventfd_that_is_toggled_does_not_stop_the_server(void **state)
{
	struct fixture *f = *state;
	struct toggler toggler = { .fd = eventfd(0, EFD_CLOEXEC) };
	struct vfu_irq_set set = { sizeof(set), VFU_IRQ_SET_EVENTFD | VFU_IRQ_SET_TRIGGER,
				   VFU_PCI_MSIX, 0, 1 };
	struct pollfd ready = { .fd = f->peer, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	static struct answer answer;
	struct vfu_header reply;
	static int fds[WATCHERS];
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	unsigned int i, watchers, n = full_run() ? 200000 : 2000;
	struct rlimit limit, more;
	bool answered = true;
	pthread_t thread;
	eventfd_t value;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	more = limit;
	more.rlim_cur = limit.rlim_max < WATCHERS + 256 ? limit.rlim_max : WATCHERS + 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &more), 0);
	for (i = 0; i < WATCHERS && i + 256 < more.rlim_cur; i++) {
		fds[i] = dup(toggler.fd);
		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event), 0);
	}
	watchers = i;
	assert_int_equal(ask(f, VFU_DEVICE_SET_IRQS, &set, sizeof(set), &toggler.fd, 1, &answer),
			 0);
	fixture_start(f);
	assert_int_equal(pthread_create(&thread, NULL, toggle, &toggler), 0);
	for (i = 0; i < n && answered; i++) {
		trigger(f);
		answered = poll(&ready, 1, 60000) == 1 &&
			   raw_receive(f->peer, &reply, sizeof(reply), NULL, NULL) == sizeof(reply);
		toggler.answered++;
	}
	toggler.stop = 1;
	pthread_join(thread, NULL);
	/* Lets a server go that sleeps. */
	set_blocking(toggler.fd, false);
	(void)!eventfd_read(toggler.fd, &value);
	fixture_stop(f);
	assert_true(answered);
	for (i = 0; i < watchers; i++)
		close(fds[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	close(epoll);
	close(toggler.fd);
}

/* A TCP socket whose close() waits for a reader that does not read; *reader is to be closed by the caller. */
static int
lingering_socket(int *reader)
{
	static const uint8_t bytes[1 << 16];
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { .l_onoff = 1, .l_linger = LINGER_SECONDS };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(address);
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	*reader = accept(listener, NULL, NULL);
	close(listener);
	/* Full for good: what the network still had under way, the reader's side may take later. */
	do {
		while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	} while (poll(&room, 1, 50) == 1);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The server closed what it had no use for, and waited. */
static void
test_a_descriptor_whose_closing_waits(void **state)
{
	struct fixture *f = *state;
	struct vfu_device_info info = { .argsz = sizeof(info) };
	static struct answer answer;
	double start = seconds();
	int reader, fd;

	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fd = lingering_socket(&reader);
	raw_send(f->peer, "", 1, &fd, 1);
	close(fd);
	fixture_process(f);
	/* The last reference goes with the connection, and the next client is there at once. */
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	assert_int_equal(ask(f, VFU_DEVICE_GET_INFO, &info, sizeof(info), NULL, 0, &answer), 0);
	assert_true(seconds() - start < LINGER_SECONDS / 2.);
	close(reader);
}

/* It was still in the socket when the server closed that. */
static void
test_a_descriptor_that_was_not_received(void **state)
{
	struct fixture *f = *state;
	struct vfu_header impossible = { .size = 1 };
	double start = seconds();
	int reader, fd;

	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fd = lingering_socket(&reader);
	raw_send(f->peer, &impossible, sizeof(impossible), NULL, 0);
	raw_send(f->peer, "", 1, &fd, 1);
	close(fd);
	fixture_process(f);
	assert_int_equal(f->disconnected, 1);
	assert_true(seconds() - start < LINGER_SECONDS / 2.);
	close(reader);
}

/* Nor are all our descriptors spent on it. */
static void
test_descriptors_that_cannot_be_closed_are_counted(void **state)
{
	struct fixture *f = *state;
	struct {
		struct vfu_header header;
		struct vfu_device_info info;
	} request = {
		.header = { .command = VFU_DEVICE_GET_INFO, .size = sizeof(request) },
		.info = { .argsz = sizeof(request.info) },
	};
	struct vfu_device_info info = request.info;
	static struct answer answer;
	int reader, fd, fds[8], i, before, rc = 0;

	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fd = lingering_socket(&reader);
	before = count_fds();
	/* Ours goes first: whoever has the last reference waits, and that is to be the server. */
	raw_send(f->peer, &request, sizeof(request), &fd, 1);
	close(fd);
	fixture_process(f);
	assert_int_equal(raw_receive(f->peer, &answer.header, sizeof(answer.header), NULL, NULL),
			 sizeof(answer.header));
	assert_int_equal(answer.header.command, VFU_DEVICE_GET_INFO);
	assert_int_equal(answer.header.flags, VFU_TYPE_REPLY | VFU_FLAG_ERROR);
	assert_int_equal(answer.header.size, sizeof(answer.header));
	assert_int_equal(answer.header.error, EINVAL);
	for (i = 0; i < 8; i++)
		fds[i] = f->peer;
	for (i = 0; i < 100 && rc != -ENOTCONN; i++)
		rc = ask(f, VFU_DEVICE_GET_INFO, &info, sizeof(info), fds, 8, &answer);
	assert_true(i < 100);
	assert_int_equal(f->reason, -EMFILE);
	assert_true((int)count_fds() < before + 100);
	/* What was behind the one that waits is closed after it. */
	close(reader);
	for (i = 0; i < 12000 && (int)count_fds() >= before; i++)
		poll(NULL, 0, 5);
	assert_true((int)count_fds() < before);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_signal_to_a_full_and_blocking_eventfd_returns),
		cmocka_unit_test(test_an_eventfd_is_known_and_not_signalled),
		cmocka_unit_test_setup_teardown(test_interrupts_are_not_written, fixture_setup,
						fixture_end),
		cmocka_unit_test_setup_teardown(
			test_an_eventfd_that_is_toggled_does_not_stop_the_server, fixture_setup,
			fixture_end),
		cmocka_unit_test_setup_teardown(test_a_descriptor_whose_closing_waits,
						fixture_setup, fixture_end),
		cmocka_unit_test_setup_teardown(test_descriptors_that_cannot_be_closed_are_counted,
						fixture_setup, fixture_end),
		cmocka_unit_test_setup_teardown(test_a_descriptor_that_was_not_received,
						fixture_setup, fixture_end),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
