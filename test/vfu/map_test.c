/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * mmap() of a client's file waits for who cuts or punches that file meanwhile, and that takes as long as the client has made
 * it. So it is not the thread that serves the others who calls it, if there is another one for that.
 */
#include "fixture.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vfio_user/close_thread.h"

#define RW   (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)
#define PAGE 4096u
#define MUCH ((size_t)256 << 20)

/* The C library has it by either name. */
void *__real_mmap(void *address, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *address, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes);

static pthread_t serving;
static atomic_uint here, elsewhere; /* files mapped, by who serves and by others */
static atomic_bool held;	    /* who is not the one who serves waits to map a file */
static atomic_ullong longest;	    /* that can be mapped; 0: any */
static atomic_bool held_unmap;	    /* ... waits to unmap something, */
static atomic_uint unmaps, permitted;

void *
__wrap_mmap(void *address, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	if (fd >= 0 && pthread_equal(pthread_self(), serving)) {
		here++;
	} else if (fd >= 0) {
		elsewhere++;
		while (atomic_load(&held))
			usleep(1000);
	}
	if (fd >= 0 && longest > 0 && bytes > longest) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(address, bytes, prot, flags, fd, offset);
}

void *
__wrap_mmap64(void *address, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return __wrap_mmap(address, bytes, prot, flags, fd, offset);
}

int
__wrap_munmap(void *address, size_t bytes)
{
	if (!pthread_equal(pthread_self(), serving)) {
		unmaps++;
		while (atomic_load(&held_unmap) && unmaps > permitted)
			usleep(1000);
	}
	return __real_munmap(address, bytes);
}

static int
setup(void **state)
{
	longest = 0;
	if (fixture_setup_unversioned(state) != 0)
		return -1;
	here = elsewhere = unmaps = permitted = 0;
	return 0;
}

/* ... but so much. */
static void
nothing_is_mapped(unsigned int but)
{
	for (unsigned int i = 0; i < 60000 && count_maps() > but; i++)
		usleep(1000);
	assert_int_equal(count_maps(), but);
}

static int
end(void **state)
{
	int rc;

	held = false;
	held_unmap = false;
	rc = fixture_end(state);
	/* What the thread has yet to do is not the next test's. */
	nothing_is_mapped(0);
	return rc;
}

/* With the thread, and a client. */
static void
start(struct fixture *f)
{
	assert_int_equal(vfu_server_start_threads(f->server), 0);
	assert_int_equal(ask_version(f), 0);
}

static void
connect_again(struct fixture *f)
{
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
}

/* At the IOVA that is the offset in the file. */
static void
send_map(struct fixture *f, uint64_t offset, size_t bytes, uint32_t flags, int fd)
{
	struct {
		struct vfu_header header;
		struct vfu_dma_map map;
	} message = {
		.header = { .command = VFU_DMA_MAP, .size = sizeof(message) },
		.map = { sizeof(message.map), flags, offset, offset, bytes },
	};

	raw_send(f->peer, &message, sizeof(message), &fd, 1);
}

/* Whoever serves looks only when the server says that there is something to do. @return the errno of the answer, negative. */
static int
wait_for_answer(struct fixture *f, uint16_t command)
{
	struct pollfd ready = { .fd = vfu_server_fd(f->server), .events = POLLIN };
	struct vfu_header header;
	long n;

	while ((n = raw_receive(f->peer, &header, sizeof(header), NULL, NULL)) == -EAGAIN) {
		assert_int_equal(poll(&ready, 1, 60000), 1);
		vfu_server_process(f->server);
	}
	assert_int_equal(n, sizeof(header));
	assert_int_equal(header.command, command);
	return header.flags & VFU_FLAG_ERROR ? -(int)header.error : 0;
}

static int
map(struct fixture *f, uint64_t offset, size_t bytes, uint32_t flags, int fd)
{
	send_map(f, offset, bytes, flags, fd);
	return wait_for_answer(f, VFU_DMA_MAP);
}

static void
unmap(struct fixture *f, uint64_t iova, size_t bytes)
{
	const struct vfu_dma_unmap unmap = { sizeof(unmap), 0, iova, bytes };

	assert_int_equal(ask_plain(f, VFU_DMA_UNMAP, &unmap, sizeof(unmap)), 0);
}

static void
is_mapped_elsewhere(struct fixture *f, int fd, uint64_t offset, size_t bytes, uint32_t flags)
{
	elsewhere = 0;
	connect_again(f);
	/* Of hugepages there may be none. */
	assert_in_range(-map(f, offset, bytes, flags, fd), 0, ENOMEM);
	assert_int_equal(here, 0);
	assert_int_not_equal(elsewhere, 0);
	close(fd);
}

static void
test_who_serves_maps_no_file(void **state)
{
	const size_t hugepage = 2 << 20;
	struct fixture *f = *state;
	int fd = memfd_create("vfu-test", MFD_CLOEXEC | MFD_HUGETLB | 21u << 26);

	start(f);
	is_mapped_elsewhere(f, memory_file(PAGE), 0, PAGE, RW);
	is_mapped_elsewhere(f, memory_file(MUCH), PAGE, PAGE, VFU_DMA_FLAG_READ);
	/* Too long to be mapped whole. */
	is_mapped_elsewhere(f, memory_file((size_t)1 << 42), (size_t)1 << 41, PAGE, RW);
	if (fd >= 0 && ftruncate(fd, (off_t)hugepage) == 0)
		is_mapped_elsewhere(f, fd, 0, hugepage, RW);
}

/* There is nobody else. */
static void
test_without_a_thread_it_is_done_here(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(PAGE);

	assert_int_equal(ask_version(f), 0);
	assert_int_equal(map(f, 0, PAGE, RW, fd), 0);
	assert_int_equal(here, 1);
	assert_int_equal(elsewhere, 0);
	close(fd);
}

/* Until its file is mapped a client's messages wait in their order, and wake nobody; others are served. */
static void
test_others_are_served_meanwhile(void **state)
{
	const struct vfu_header reset = { .command = VFU_DEVICE_RESET, .size = sizeof(reset) };
	struct fixture *f = *state, other;
	int fd = memory_file(PAGE);
	struct pollfd ready;

	assert_int_equal(fixture_setup_at(&other, NULL), 0);
	here = 0;
	start(f);
	ready = (struct pollfd){ .fd = vfu_server_fd(f->server), .events = POLLIN };
	held = true;
	send_map(f, 0, PAGE, RW, fd);
	raw_send(f->peer, &reset, sizeof(reset), NULL, 0);
	fixture_process(f);
	assert_int_equal(poll(&ready, 1, 0), 0);
	connect_again(&other);
	assert_int_equal(f->maps + f->resets, 0);
	held = false;
	assert_int_equal(wait_for_answer(f, VFU_DMA_MAP), 0);
	assert_int_equal(wait_for_answer(f, VFU_DEVICE_RESET), 0);
	assert_int_equal(f->maps, 1);
	assert_int_equal(here, 0);
	/* All that was to be heard was heard. */
	fixture_process(f);
	fixture_teardown(&other);
	close(fd);
}

/* Their files are mapped no more, and they keep as many of our descriptors as is permitted. */
static void
test_who_leaves_meanwhile_keeps_little(void **state)
{
	struct fixture *f = *state;
	unsigned int before, made, tries;
	int fd = memory_file(PAGE), rc = 0;

	start(f);
	before = count_fds();
	held = true;
	for (made = 0; rc == 0 && made < 10 * VFU_CLOSE_THREAD_FILES; made += rc == 0) {
		connect_again(f);
		send_map(f, 0, PAGE, RW, fd);
		fixture_process(f);
		/* The thread is at the first one: what is wanted no more when it comes to it is not counted. */
		if (made == 0)
			wait_for(&elsewhere, 1);
		if (made >= VFU_CLOSE_THREAD_FILES)
			rc = wait_for_answer(f, VFU_DMA_MAP);
		close(f->peer);
		f->peer = -1;
		fixture_process(f);
	}
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(made, VFU_CLOSE_THREAD_FILES);
	assert_int_equal(f->maps, 0);
	held = false;
	connect_again(f);
	for (tries = 0; tries < 60000 && rc == -EAGAIN; tries++) {
		usleep(1000);
		rc = map(f, 0, PAGE, RW, fd);
	}
	assert_int_equal(rc, 0);
	/* That of the last, and of the first. */
	assert_int_equal(elsewhere, 2);
	unmap(f, 0, PAGE);
	assert_fds_gone(before);
	nothing_is_mapped(1);
	close(fd);
}

static void
map_in_part(struct fixture *f)
{
	int fd = memory_file(4 * PAGE);
	struct vfu_server_stats stats;

	longest = 2 * PAGE;
	assert_int_equal(map(f, PAGE, PAGE, RW, fd), 0);
	assert_int_equal(f->last_map.mapping_bytes, PAGE);
	unmap(f, PAGE, PAGE);
	assert_int_equal(map(f, 0, 3 * PAGE, RW, fd), -ENOMEM);
	assert_int_equal(map(f, 0, PAGE, RW, fd), 0);
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.dma_mappings, 1);
	unmap(f, 0, PAGE);
	close(fd);
}

static void
test_what_is_too_long_for_the_addresses_is_mapped_in_part(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask_version(f), 0);
	map_in_part(f);
	assert_int_equal(elsewhere, 0);
	assert_int_equal(vfu_server_start_threads(f->server), 0);
	connect_again(f);
	here = 0;
	map_in_part(f);
	assert_int_equal(here, 0);
}

/* Who comes again, with much to be unmapped from before, waits for a piece of it. */
static void
test_what_is_to_be_unmapped_waits(void **state)
{
	struct fixture *f = *state;
	int much = memory_file(MUCH), fd = memory_file(PAGE);

	start(f);
	assert_int_equal(map(f, 0, MUCH, RW, much), 0);
	held_unmap = true;
	unmap(f, 0, MUCH);
	wait_for(&unmaps, 1);
	send_map(f, 0, PAGE, RW, fd);
	fixture_process(f);
	permitted = 1;
	assert_int_equal(wait_for_answer(f, VFU_DMA_MAP), 0);
	assert_in_range(unmaps, 1, 2);
	close(much);
	close(fd);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_who_serves_maps_no_file),
		T(test_without_a_thread_it_is_done_here),
		T(test_others_are_served_meanwhile),
		T(test_who_leaves_meanwhile_keeps_little),
		T(test_what_is_too_long_for_the_addresses_is_mapped_in_part),
		T(test_what_is_to_be_unmapped_waits),
	};

	serving = pthread_self();
	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
