/* SPDX-License-Identifier: BSD-3-Clause */

/* Clients that are killed, take their memory away, or leave things behind; and a daemon that is killed. */

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "nic.h"
#include "../counts.h"

#define RW (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)

static const char *self;
static struct daemon d;
static const char *const devices[] = { "name=a,wire=pair:x", "name=b,wire=pair:x", "name=innocent",
				       NULL };

static int
start(void **state)
{
	(void)state;
	daemon_start(&d, devices);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	daemon_stop(&d);
	daemon_clean(&d);
	return 0;
}

static unsigned int
repeat(unsigned int usual, unsigned int full)
{
	if (full_run())
		return full;
	return sanitized_run() ? usual / 5 : usual;
}

/* A sanitizer's own memory comes and goes. */
static void
assert_maps(unsigned int before)
{
	if (sanitized_run())
		return;
	/* A session ends in the daemon's own time. */
	for (unsigned int i = 0; i < 6000 && daemon_maps(&d) > before + 2; i++)
		usleep(10000);
	assert_in_range(daemon_maps(&d), 1, before + 2);
}

/* ---- Killed clients ---- */

/* In a process of its own: traffic until it is killed. */
static int
client_main(const char *socket, int told)
{
	struct nic nic;
	char byte = 0;

	nic_open(&nic, socket);
	for (unsigned int i = 0;; i++) {
		nic_send(&nic);
		if (!nic_sent(&nic))
			return 1;
		if (i == 10 && write(told, &byte, 1) != 1)
			return 1;
	}
}

static pid_t
client_process(unsigned int device)
{
	char number[16], byte;
	int told[2];
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		snprintf(number, sizeof(number), "%d", told[1]);
		execl(self, self, "client", d.sockets[device], number, NULL);
		_exit(99);
	}
	close(told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	close(told[0]);
	return pid;
}

static void
killed_clients_leave_nothing(void **state)
{
	unsigned int i, fds, maps, times = repeat(20, 200);
	pid_t a, b;

	(void)state;
	/* The first of each brings the daemon's own buffers. */
	a = client_process(0);
	kill(a, SIGKILL);
	waitpid(a, NULL, 0);
	assert_true(daemon_logged(&d, "frames sent"));
	usleep(500000);
	fds = daemon_fds(&d);
	maps = daemon_maps(&d);
	for (i = 0; i < times; i++) {
		a = client_process(0);
		b = client_process(1);
		kill(i % 2 == 0 ? a : b, SIGKILL);
		usleep(1000 * (i % 5));
		kill(i % 2 == 0 ? b : a, SIGKILL);
		waitpid(a, NULL, 0);
		waitpid(b, NULL, 0);
		assert_true(daemon_has_fds(&d, fds));
	}
	assert_maps(maps);
}

/* ---- Memory that vanishes ---- */

enum loss {
	LOSS_OF_ALL,	     /* a command's entry is read */
	LOSS_OF_RINGS,	     /* a doorbell record and a WQE */
	LOSS_OF_FRAMES,	     /* payload, on its way to somebody else */
	LOSS_OF_BUFFERS,     /* for payload of somebody else's */
	LOSS_OF_RECEIVER_CQ, /* the word that it has come */
	LOSS_IN_A_RACE,	     /* any of this, while the device is at it */
	LOSSES,
};

static bool
receives(enum loss loss)
{
	return loss == LOSS_OF_BUFFERS || loss == LOSS_OF_RECEIVER_CQ || loss == LOSS_IN_A_RACE;
}

struct thief {
	int fd;
	off_t left; /* at first */
	atomic_bool done;
};

static void *
steal_memory(void *arg)
{
	struct thief *thief = arg;

	(void)!ftruncate(thief->fd, thief->left);
	usleep(50);
	(void)!ftruncate(thief->fd, 0);
	atomic_store(&thief->done, true);
	return NULL;
}

/* Both directions are busy all the while: the peer sends, and here doorbells are rung again and again. */
static void
lose_memory_in_a_race(struct nic *nic, unsigned int seed)
{
	const uint64_t places[] = { nic->sq.iova, nic->frame, nic->rq.iova, nic->buffers,
				    nic->rq_cq.iova };
	struct thief thief = { .fd = client_memory_fd(nic->hn.dev),
			       .left = (off_t)(places[seed % 5] - HN_IOVA_BASE) };
	pthread_t thread;

	nic_post(nic);
	for (unsigned int i = 0; i < 64; i++)
		nic_send(nic);
	assert_int_equal(pthread_create(&thread, NULL, steal_memory, &thief), 0);
	while (!atomic_load(&thief.done))
		nic_ring(nic);
	pthread_join(thread, NULL);
}

/* Take it away and have the device look. What the client itself would fault at is not touched any more. */
static void
lose_memory(struct nic *nic, enum loss loss, unsigned int seed)
{
	struct rnic_be32 bit = rnic_cpu_to_be32(1);
	uint64_t from = loss == LOSS_OF_RINGS	      ? nic->sq.iova
			: loss == LOSS_OF_FRAMES      ? nic->frame
			: loss == LOSS_OF_BUFFERS     ? nic->buffers
			: loss == LOSS_OF_RECEIVER_CQ ? nic->rq_cq.iova
						      : HN_IOVA_BASE;

	if (loss == LOSS_IN_A_RACE)
		lose_memory_in_a_race(nic, seed);
	assert_int_equal(ftruncate(client_memory_fd(nic->hn.dev), (off_t)(from - HN_IOVA_BASE)), 0);
	/* It may be disconnected already: then this fails. */
	if (loss == LOSS_OF_ALL || loss == LOSS_IN_A_RACE)
		vfu_client_region_write(client_of(nic->hn.dev), VFU_PCI_BAR0, 0x18, &bit,
					sizeof(bit));
	if (loss == LOSS_OF_RINGS) {
		nic->sq.producer++;
		nic_ring(nic);
	}
	if (loss == LOSS_OF_FRAMES)
		nic_send(nic);
	/* The rest is done by frames that come. */
	if (loss == LOSS_OF_BUFFERS || loss == LOSS_OF_RECEIVER_CQ)
		nic_post(nic);
}

static void
truncated_memory_costs_its_client_alone(void **state)
{
	unsigned int i, fds, times = repeat(1000, 1000);
	struct nic innocent, guilty;
	pid_t pair;

	(void)state;
	nic_open(&innocent, d.sockets[2]);
	/* The guilty one's frames go to a third one, and come from there. */
	pair = client_process(1);
	usleep(10000);
	fds = daemon_fds(&d);
	for (i = 0; i < times; i++) {
		nic_open(&guilty, d.sockets[0]);
		if (receives(i % LOSSES))
			nic_make_receiver(&guilty);
		for (unsigned int n = 0; n < i % 20; n++)
			nic_send(&guilty);
		nic_send(&innocent);
		lose_memory(&guilty, i % LOSSES, i / LOSSES);
		client_wait_for_end(client_of(guilty.hn.dev));
		assert_true(nic_sent(&innocent));
		nic_close(&guilty);
	}
	assert_true(daemon_has_fds(&d, fds));
	assert_true(daemon_logged(&d, "vanished"));
	/* Control plane too. */
	hn_tear_down(&innocent.hn);
	nic_close(&innocent);
	assert_int_equal(kill(pair, 0), 0);
	assert_int_equal(waitpid(pair, NULL, WNOHANG), 0);
	kill(pair, SIGKILL);
	waitpid(pair, NULL, 0);
}

/* Hugepages are replaced as a whole, also below a region that is not aligned to them. */
static void
truncated_hugepages(void **state)
{
	const size_t huge = 2ul << 20;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_HUGETLB | 21 << 26);
	struct rnic_be32 low = rnic_cpu_to_be32(0x10000), bit = rnic_cpu_to_be32(1);
	struct vfu_client *client;
	void *page;

	(void)state;
	page = fd < 0 || ftruncate(fd, (off_t)huge) != 0
		       ? MAP_FAILED
		       : mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		print_message("# no hugepage to be had\n");
		skip();
	}
	client = client_connect(d.sockets[0]);
	client_bus_master(client, true);
	assert_int_equal(vfu_client_dma_map(client, 0x10000, 0x2000, RW, fd, 0x1000), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(vfu_client_region_write(client, VFU_PCI_BAR0, 0x14, &low, sizeof(low)), 0);
	vfu_client_region_write(client, VFU_PCI_BAR0, 0x18, &bit, sizeof(bit));
	client_wait_for_end(client);
	vfu_client_close(client);
	munmap(page, huge);
	close(fd);
}

#ifndef SANITIZED /* its runtime wants address space as well */
/* As far as one process can see it: the limit on address space stands for that on memory of the whole machine. */
static void
truncated_with_room_for(size_t room)
{
	const size_t bytes = 256ul << 20;
	struct rnic_be32 low = rnic_cpu_to_be32(0x10000), bit = rnic_cpu_to_be32(1);
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct rlimit usual, scarce;
	struct vfu_client *client;
	struct nic innocent;

	nic_open(&innocent, d.sockets[2]);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	client = client_connect(d.sockets[0]);
	client_bus_master(client, true);
	assert_int_equal(vfu_client_dma_map(client, 0x10000, bytes, RW, fd, 0), 0);
	assert_int_equal(prlimit(d.pid, RLIMIT_AS, NULL, &usual), 0);
	scarce = (struct rlimit){ daemon_address_space(&d) + room, usual.rlim_max };
	assert_int_equal(prlimit(d.pid, RLIMIT_AS, &scarce, NULL), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(vfu_client_region_write(client, VFU_PCI_BAR0, 0x14, &low, sizeof(low)), 0);
	vfu_client_region_write(client, VFU_PCI_BAR0, 0x18, &bit, sizeof(bit));
	client_wait_for_end(client);
	vfu_client_close(client);
	close(fd);
	nic_send(&innocent);
	assert_true(nic_sent(&innocent));
	nic_close(&innocent);
	assert_int_equal(prlimit(d.pid, RLIMIT_AS, &usual, NULL), 0);
}

static void
truncated_memory_that_is_larger_than_what_can_be_had(void **state)
{
	(void)state;
	truncated_with_room_for(32ul << 20);
}

/* Not a page: whatever takes the place of the memory must do with what that was. */
static void
truncated_memory_where_none_can_be_had(void **state)
{
	(void)state;
	truncated_with_room_for(0);
}
#endif

/* ---- Sessions that end well ---- */

static void
many_maps_go_at_once(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	unsigned int i, maps = daemon_maps(&d), count = 4000;
	struct vfu_client *client;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)count * 4096), 0);
	for (unsigned int way = 0; way < 2; way++) {
		client = client_connect(d.sockets[0]);
		client_bus_master(client, true);
		for (i = 0; i < count; i++)
			assert_int_equal(vfu_client_dma_map(client, (uint64_t)i << 13, 4096, RW, fd,
							    (uint64_t)i << 12),
					 0);
		assert_int_equal(vfu_client_dma_map(client, 0, 4096, RW, fd, 0), -EEXIST);
		client_bus_master(client, false);
		client_bus_master(client, true);
		if (way == 0)
			assert_int_equal(vfu_client_dma_unmap(client, 0, (uint64_t)count << 13), 0);
		vfu_client_close(client);
	}
	close(fd);
	client = client_connect(d.sockets[0]);
	vfu_client_close(client);
	assert_maps(maps);
}

static void
twenty_sessions_leave_nothing(void **state)
{
	unsigned int i, n, fds = 0, maps = 0;
	int vectors[SOFTRNIC_MSIX_VECTORS];
	struct nic nic;

	(void)state;
	for (n = 0; n < SOFTRNIC_MSIX_VECTORS; n++)
		vectors[n] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (i = 0; i < 21; i++) {
		nic_open(&nic, d.sockets[i % 3]);
		for (n = 0; n < SOFTRNIC_MSIX_VECTORS; n += 8)
			assert_int_equal(vfu_client_irq_set(client_of(nic.hn.dev), VFU_PCI_MSIX, n,
							    8, vectors + n),
					 0);
		nic_send(&nic);
		assert_true(nic_sent(&nic));
		nic_close(&nic);
		if (i == 2) {
			usleep(500000);
			fds = daemon_fds(&d);
			maps = daemon_maps(&d);
		}
	}
	assert_true(daemon_has_fds(&d, fds));
	assert_maps(maps);
	for (n = 0; n < SOFTRNIC_MSIX_VECTORS; n++)
		close(vectors[n]);
}

/* ---- A killed daemon ---- */

static void
a_killed_daemon_is_noticed_and_replaced(void **state)
{
	uint32_t value;
	struct nic nic;

	(void)state;
	for (unsigned int i = 0; i < repeat(20, 200); i++) {
		nic_open(&nic, d.sockets[0]);
		nic_send(&nic);
		assert_true(nic_sent(&nic));
		daemon_kill(&d);
		assert_int_equal(vfu_client_process(client_of(nic.hn.dev)), -ENOTCONN);
		assert_int_equal(vfu_client_region_read(client_of(nic.hn.dev), 0, 0, &value, 4),
				 -ENOTCONN);
		/* What it shared is still there for the client to store to. */
		nic_send(&nic);
		nic_close(&nic);
		daemon_restart(&d, devices);
	}
	assert_true(daemon_logged(&d, "left behind by a dead server"));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_clients_leave_nothing),
		cmocka_unit_test(truncated_memory_costs_its_client_alone),
		cmocka_unit_test(truncated_hugepages),
#ifndef SANITIZED
		cmocka_unit_test(truncated_memory_that_is_larger_than_what_can_be_had),
		cmocka_unit_test(truncated_memory_where_none_can_be_had),
#endif
		cmocka_unit_test(many_maps_go_at_once),
		cmocka_unit_test(twenty_sessions_leave_nothing),
		cmocka_unit_test(a_killed_daemon_is_noticed_and_replaced),
	};

	self = argv[0];
	if (argc == 4 && strcmp(argv[1], "client") == 0)
		return client_main(argv[2], atoi(argv[3]));
	if (daemon_arguments(argc, argv) != 0)
		return 2;
	return cmocka_run_group_tests(tests, start, stop);
}
