/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hugepages that a client has never touched: who touches them first has to zero them, and that is not the thread that serves
 * the others. There need not be any for that: the tests say of usual memory that it is made of them, unless it is asked for.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RW	       (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)
#define BYTES	       (16u << 20)
#define MUCH	       ((size_t)256 << 20)
#define PAGE	       4096u
#define HUGEPAGE_BYTES ((size_t)2 << 20)
#define PAGES	       (BYTES / PAGE)
/* Of its own memory, which may be new to it, too. */
#define OTHER_FAULTS 256

bool __wrap_vfu_is_hugepages(int fd, const struct stat *st);

static atomic_bool usual; /* who unmaps asks, too */

/* A library of before has no such question. */
bool
__wrap_vfu_is_hugepages(int fd, const struct stat *st)
{
	(void)fd;
	(void)st;
	return !usual;
}

/* Who unmaps what clients have had may take as long as they like: then no more goes than is permitted. */
static atomic_bool stuck;
static atomic_int permitted;

int __real_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes);

int
__wrap_munmap(void *address, size_t bytes)
{
	int one = 1;

	while (atomic_load(&stuck) && !atomic_compare_exchange_strong(&permitted, &one, 0)) {
		usleep(1000);
		one = 1;
	}
	return __real_munmap(address, bytes);
}

static long
faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_minflt + usage.ru_majflt;
}

/* At the IOVA that is the offset in the file. */
static void
send_map_of(struct fixture *f, uint64_t offset, size_t bytes, uint32_t flags, int fd)
{
	struct {
		struct vfu_header header;
		struct vfu_dma_map map;
	} message = {
		.header = { .command = VFU_DMA_MAP, .size = sizeof(message) },
		.map = { .argsz = sizeof(message.map),
			 .flags = flags,
			 .offset = offset,
			 .iova = offset,
			 .size = bytes },
	};

	raw_send(f->peer, &message, sizeof(message), &fd, 1);
}

static void
send_map(struct fixture *f, size_t bytes, uint32_t flags, int fd)
{
	send_map_of(f, 0, bytes, flags, fd);
}

/* It is for the thread to say when. @return the errno of the answer, negative. */
static int
wait_for_answer(struct fixture *f)
{
	struct vfu_header header;
	long n = -EAGAIN;

	for (unsigned int i = 0; i < 60000 && n == -EAGAIN; i++) {
		vfu_server_process(f->server);
		/* On a busy machine the server may put a message by, and a piece that was permitted meanwhile went without it. */
		if (i % 1000 == 999)
			atomic_store(&permitted, 1);
		n = raw_receive(f->peer, &header, sizeof(header), NULL, NULL);
		if (n == -EAGAIN)
			usleep(1000);
	}
	assert_int_equal(n, sizeof(header));
	assert_int_equal(header.command, VFU_DMA_MAP);
	return header.flags & VFU_FLAG_ERROR ? -(int)header.error : 0;
}

/* As a device does. A sanitizer would touch its own memory for it, which is as much again. */
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) static unsigned int
touch_each_page(volatile uint8_t *memory, bool write)
{
	unsigned int sum = 0;

	for (size_t at = 0; at < BYTES; at += PAGE) {
		if (write)
			memory[at] = 1;
		sum += memory[at];
	}
	return sum;
}

static void
touch_all_of(struct fixture *f, uint32_t flags)
{
	int fd = memory_file(BYTES);
	const bool write = (flags & VFU_DMA_FLAG_WRITE) != 0;
	long before;

	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	before = faults();
	send_map(f, BYTES, flags, fd);
	assert_int_equal(wait_for_answer(f), 0);
	assert_int_equal(f->maps, 1);
	assert_int_equal(touch_each_page(f->last_map.address, write), write ? PAGES : 0);
	assert_in_range(faults() - before, 0, OTHER_FAULTS);
	close(fd);
}

static void
test_pages_are_made_elsewhere(void **state)
{
	touch_all_of(*state, RW);
}

static void
test_pages_that_are_only_read_are_made_elsewhere(void **state)
{
	touch_all_of(*state, VFU_DMA_FLAG_READ);
}

/* Nobody else does it; and what is there already is mapped as ever. */
static void
test_pages_are_made_here_without_a_thread(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(BYTES);
	struct stat st;

	send_map(f, BYTES, RW, fd);
	assert_int_equal(wait_for_answer(f), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks * 512, BYTES);
	close(fd);
}

static bool
memory_is_mapped(size_t bytes)
{
	unsigned long from, to;
	bool found = false;
	char line[512];
	FILE *maps;

	maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		found = found || (strstr(line, "vfu-test") != NULL &&
				  sscanf(line, "%lx-%lx", &from, &to) == 2 &&
				  to - from >= 1 << 20 && to - from <= bytes);
	fclose(maps);
	return found;
}

/* Whatever there is of it then, it goes, and the next one is served meanwhile. */
static void
test_a_client_that_leaves_meanwhile(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(MUCH);

	assert_int_equal(vfu_server_start_threads(f->server), 0);
	for (unsigned int looks = 0; looks < 4; looks++) {
		fixture_connect(f);
		assert_int_equal(ask_version(f), 0);
		send_map(f, MUCH, RW, fd);
		for (unsigned int i = 0; i < looks; i++)
			vfu_server_process(f->server);
		/* Its room in the table has gone with it. */
		fixture_connect(f);
		assert_int_equal(ask_version(f), 0);
		assert_int_equal(f->unmaps, f->maps);
		close(f->peer);
		f->peer = -1;
		vfu_server_process(f->server);
	}
	for (unsigned int i = 0; i < 6000 && memory_is_mapped(MUCH); i++)
		usleep(10000);
	assert_false(memory_is_mapped(MUCH));
	close(fd);
}

/*
 * A piece of the file stands between its start and the range, so that nothing that is there is found, and the whole of it is
 * mapped, which is another one when it is another size.
 */
static void
test_a_file_that_changes_meanwhile(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(((size_t)1 << 40) + PAGE);

	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	/* Too long to be mapped whole. */
	send_map_of(f, PAGE, PAGE, RW, fd);
	assert_int_equal(wait_for_answer(f), 0);
	assert_int_equal(ftruncate(fd, MUCH), 0);
	send_map_of(f, 4 * PAGE, PAGE, RW, fd);
	vfu_server_process(f->server);
	for (unsigned int i = 1; i <= 4; i++) {
		assert_int_equal(ftruncate(fd, (off_t)(MUCH + i * PAGE)), 0);
		vfu_server_process(f->server);
	}
	assert_int_equal(wait_for_answer(f), 0);
	assert_int_equal(f->maps, 2);
	close(f->peer);
	f->peer = -1;
	vfu_server_process(f->server);
	for (unsigned int i = 0; i < 6000 && memory_is_mapped(2 * MUCH); i++)
		usleep(10000);
	assert_false(memory_is_mapped(2 * MUCH));
	close(fd);
}

/* Two pages on a file system that may have one: as root, where the machine has pages of each size. */
static int
file_of_one_hugepage(size_t *bytes)
{
	char folder[] = "/tmp/vfu-test-XXXXXX", path[sizeof(folder) + 8];
	int fd = -1;

	/* What is mounted is this process's alone. */
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mkdtemp(folder) == NULL)
		return -1;
	*bytes = 2 * HUGEPAGE_BYTES;
	if (mount("none", folder, "hugetlbfs", 0, "pagesize=2M,size=2M") == 0) {
		snprintf(path, sizeof(path), "%s/file", folder);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		umount2(folder, MNT_DETACH);
	}
	rmdir(folder);
	if (fd >= 0 && ftruncate(fd, (off_t)*bytes) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Pages of that size of which there are none to be had: who touched them would be killed. */
static int
file_of_no_hugepage(size_t *bytes)
{
	const struct {
		const char *free;
		unsigned int log;
	} sizes[] = {
		{ "/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", 30 },
		{ "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", 21 },
	};
	unsigned long pages;
	FILE *file;
	int fd;

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		file = fopen(sizes[i].free, "r");
		pages = 1;
		if (file != NULL && fscanf(file, "%lu", &pages) != 1)
			pages = 1;
		if (file != NULL)
			fclose(file);
		if (pages > 0)
			continue;
		*bytes = (size_t)1 << sizes[i].log;
		fd = memfd_create("vfu-test", MFD_CLOEXEC | MFD_HUGETLB | sizes[i].log << 26);
		if (fd >= 0 && ftruncate(fd, (off_t)*bytes) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return file_of_one_hugepage(bytes);
}

static void
test_hugepages_that_are_not_to_be_had_are_refused(void **state)
{
	struct fixture *f = *state;
	size_t bytes = 0;
	int fd = file_of_no_hugepage(&bytes);

	if (fd < 0) {
		print_message("# there are hugepages of each size, or none can be asked for\n");
		skip();
	}
	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	send_map(f, bytes, RW, fd);
	assert_int_equal(wait_for_answer(f), -ENOMEM);
	assert_int_equal(f->maps, 0);
	/* It may map something else. */
	close(fd);
	fd = memory_file(BYTES);
	send_map(f, BYTES, RW, fd);
	assert_int_equal(wait_for_answer(f), 0);
	close(fd);
}

/* To be unmapped in so many pieces, each of which lets a map go ahead. */
#define PIECES	     4
#define PIECES_BYTES ((size_t)PIECES * 32 << 20)

static int
map_and_unmap(struct fixture *f, uint64_t offset, int fd)
{
	const struct vfu_dma_unmap unmap = { sizeof(unmap), 0, offset, PIECES_BYTES };
	int rc;

	send_map_of(f, offset, PIECES_BYTES, RW, fd);
	/* It is wanted before the next piece goes. */
	fixture_process(f);
	atomic_store(&permitted, 1);
	rc = wait_for_answer(f);
	if (rc == 0)
		assert_int_equal(ask_plain(f, VFU_DMA_UNMAP, &unmap, sizeof(unmap)), 0);
	return rc;
}

/* Many servers of a process have to do with the mappings that it may have: each client's regions say how many are its share. */
static void
test_mappings_that_are_late_are_no_more_than_a_client_may_have(void **state)
{
	enum { MOST = 50 };
	struct fixture *f = *state;
	int fd = memory_file(1ull << 42), rc = 0; /* too large to be mapped whole */
	unsigned int made, tries;

	vfu_server_destroy(f->server);
	vfu_capabilities_ours(&f->conf.caps);
	f->conf.caps.max_dma_maps = MOST;
	assert_int_equal(vfu_server_create(&f->conf, &f->server), 0);
	assert_int_equal(vfu_server_start_threads(f->server), 0);
	usual = true;
	atomic_store(&stuck, true);
	for (made = 0; rc == 0 && made < 10 * MOST; made += rc == 0) {
		/* Also those of clients that have gone. */
		if (made % 20 == 0) {
			fixture_connect(f);
			assert_int_equal(ask_version(f), 0);
		}
		rc = map_and_unmap(f, made * 2ull * PIECES_BYTES, fd);
	}
	atomic_store(&stuck, false);
	assert_int_equal(rc, -EAGAIN);
	assert_in_range(made, MOST, 2 * MOST);
	for (tries = 0; tries < 60000 && rc == -EAGAIN; tries++) {
		usleep(1000);
		rc = map_and_unmap(f, 0, fd);
	}
	assert_int_equal(rc, 0);
	usual = false;
	close(fd);
}

/* A test that failed may have left the thread there. */
static int
end(void **state)
{
	atomic_store(&stuck, false);
	usual = false;
	return fixture_end(state);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_pages_are_made_elsewhere),
		T(test_pages_that_are_only_read_are_made_elsewhere),
		T(test_pages_are_made_here_without_a_thread),
		T(test_a_client_that_leaves_meanwhile),
		T(test_a_file_that_changes_meanwhile),
		T(test_hugepages_that_are_not_to_be_had_are_refused),
		T(test_mappings_that_are_late_are_no_more_than_a_client_may_have),
	};

	return cmocka_run_group_tests_name("populate", tests, NULL, NULL);
}
