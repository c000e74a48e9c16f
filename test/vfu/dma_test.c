/* SPDX-License-Identifier: BSD-3-Clause */

/* The client's memory: maps with and without descriptors, what is refused, what is left behind. */

#include "../cpu_time.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vfio_user/dma.h"

static struct answer answer;

#define RW (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)

static int
map(struct fixture *f, uint64_t iova, uint64_t size, uint32_t flags, int fd, uint64_t offset)
{
	struct vfu_dma_map m = { sizeof(m), flags, offset, iova, size };

	return ask(f, VFU_DMA_MAP, &m, sizeof(m), &fd, fd >= 0 ? 1 : 0, &answer);
}

static int
unmap(struct fixture *f, uint64_t iova, uint64_t size, uint32_t flags)
{
	struct vfu_dma_unmap u = { sizeof(u), flags, iova, size };
	int rc = ask(f, VFU_DMA_UNMAP, &u, sizeof(u), NULL, 0, &answer);

	if (rc == 0) {
		assert_int_equal(answer.length, sizeof(u));
		assert_memory_equal(answer.payload, &u, sizeof(u));
	}
	return rc;
}

static void
test_a_map_with_a_descriptor_is_memory(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(0x10000);
	const struct vfu_dma_region *region;
	unsigned int fds = count_fds();
	char text[8] = "hello";

	assert_int_equal(pwrite(fd, text, sizeof(text), 0x3000), sizeof(text));
	assert_int_equal(map(f, 0x100000, 0x2000, RW, fd, 0x3000), 0);
	assert_int_equal(f->maps, 1);
	assert_string_equal((char *)f->last_map.address, "hello");
	strcpy((char *)f->last_map.address + 0x1000, "world");
	assert_int_equal(pread(fd, text, sizeof(text), 0x4000), sizeof(text));
	assert_string_equal(text, "world");
	/* The descriptor is not kept. */
	assert_int_equal(count_fds(), fds);

	region = vfu_server_dma_find(f->server, 0x101fff, 1);
	assert_non_null(region);
	assert_int_equal(region->iova, 0x100000);
	assert_null(vfu_server_dma_find(f->server, 0x102000, 1));
	assert_null(vfu_server_dma_find(f->server, 0xfffff, 1));
	assert_null(vfu_server_dma_find(f->server, 0xfffff, 2));
	assert_null(vfu_server_dma_find(f->server, 0x101fff, 2));
	assert_null(vfu_server_dma_find(f->server, 0x100000, ~0ull));
	assert_null(vfu_server_dma_find(f->server, 0x100000, 0));

	assert_int_equal(unmap(f, 0x100000, 0x2000, 0), 0);
	assert_int_equal(f->unmaps, 1);
	assert_int_equal(count_maps(), 1); /* the fixture's own */
	close(fd);
}

static void
test_overlap_wrap_and_alignment(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint64_t iova, size;
		int expected;
	} cases[] = {
		{ 0x10000, 0x4000, 0 },
		{ 0x10000, 0x4000, -EEXIST },
		{ 0x11000, 0x1000, -EEXIST },
		{ 0xf000, 0x2000, -EEXIST },
		{ 0x13000, 0x2000, -EEXIST },
		{ 0x0, 0x100000, -EEXIST },
		{ 0xf000, 0x1000, 0 },
		{ 0x14000, 0x1000, 0 },
		{ 0x20000, 0, -EINVAL },
		{ 0x20001, 0x1000, -EINVAL },
		{ 0x20000, 0x1001, -EINVAL },
		{ ~0xfffull, 0x1000, 0 }, /* the last page */
		{ ~0xfffull, 0x2000, -EINVAL },
		{ 0x20000, ~0xfffull, -EINVAL },
		{ 0x8000000000000000, 0x8000000000000000, -EEXIST },
		{ 0x8000000000000000, 0x7000000000000000, 0 },
	};
	unsigned int i, good = 0;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(map(f, cases[i].iova, cases[i].size, RW, -1, 0),
				 cases[i].expected);
		good += cases[i].expected == 0;
		assert_int_equal(f->maps, good);
	}
	assert_int_equal(map(f, 0x30000, 0x1000, 0, -1, 0), -EINVAL);
	assert_int_equal(map(f, 0x30000, 0x1000, 4 | RW, -1, 0), -EINVAL);
	assert_int_equal(unmap(f, 0, 0, VFU_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(f->unmaps, good);
}

/* Newer clients say with the descriptor that it is to be mapped. */
static void
test_access_modes(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(0x1000);

	assert_int_equal(map(f, 0, 0x1000, RW | VFU_DMA_FLAG_MODE_MMAP, -1, 0), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, RW | VFU_DMA_FLAG_MODE_FILE, fd, 0), -ENOTSUP);
	assert_true(fixture_logged(f, "file I/O"));
	assert_int_equal(map(f, 0, 0x1000, RW | VFU_DMA_FLAG_MODE_MASK, fd, 0), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, RW | 0x10, fd, 0), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, VFU_DMA_FLAG_MODE_MMAP, fd, 0), -EINVAL);
	assert_int_equal(f->maps, 0);
	assert_int_equal(map(f, 0, 0x1000, RW | VFU_DMA_FLAG_MODE_MMAP, fd, 0), 0);
	assert_int_equal(f->last_map.flags, RW);
	assert_non_null(f->last_map.address);
	close(fd);
}

static void
test_requests_of_wrong_length(void **state)
{
	struct fixture *f = *state;
	struct vfu_dma_map m = { sizeof(m), RW, 0, 0x1000, 0x1000 };
	struct vfu_dma_unmap u = { sizeof(u), 0, 0x1000, 0x1000 };
	int two[2] = { f->memory_fd, f->memory_fd };

	assert_int_equal(ask_plain(f, VFU_DMA_MAP, &m, 31), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_DMA_UNMAP, &u, 23), -EINVAL);
	m.argsz = 31;
	u.argsz = 23;
	assert_int_equal(ask_plain(f, VFU_DMA_MAP, &m, sizeof(m)), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_DMA_UNMAP, &u, sizeof(u)), -EINVAL);
	m.argsz = sizeof(m);
	assert_int_equal(ask(f, VFU_DMA_MAP, &m, sizeof(m), two, 2, &answer), -EINVAL);
	assert_int_equal(f->maps, 0);
}

/* The range must lie within the file: an access behind its end is a signal, not an error. */
static void
test_a_file_that_is_too_short(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(0x3000);

	assert_int_equal(map(f, 0, 0x4000, RW, fd, 0), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, RW, fd, 0x3000), -EINVAL);
	assert_int_equal(map(f, 0, 0x2000, RW, fd, 0x2000), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, RW, fd, ~0xfffull), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, RW, fd, 1), -EINVAL);
	assert_int_equal(map(f, 0, 0x1000, RW, fd, 0x2000), 0);
	close(fd);
}

static void
test_descriptors_that_are_no_memory_file(void **state)
{
	struct fixture *f = *state;
	int fds[5], pipes[2], i, before;

	before = count_fds();
	assert_int_equal(pipe(pipes), 0);
	fds[0] = pipes[0];
	fds[1] = f->peer;
	fds[2] = open("/dev/zero", O_RDWR);
	fds[3] = open("/proc/self/exe", O_RDONLY);
	fds[4] = open("/", O_RDONLY | O_DIRECTORY);
	for (i = 0; i < 5; i++)
		assert_int_equal(map(f, 0, 0x1000, VFU_DMA_FLAG_READ, fds[i], 0), -ENOTSUP);
	close(pipes[0]);
	close(pipes[1]);
	for (i = 2; i < 5; i++)
		close(fds[i]);
	assert_fds_gone(before);
	assert_int_equal(f->maps, 0);
}

static void
test_rights_of_the_descriptor(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(0x2000), ro, wo, path;
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ro = open(name, O_RDONLY | O_CLOEXEC);
	wo = open(name, O_WRONLY | O_CLOEXEC);
	path = open(name, O_PATH | O_CLOEXEC);
	assert_int_equal(map(f, 0, 0x1000, RW, ro, 0), -EACCES);
	assert_int_equal(map(f, 0, 0x1000, VFU_DMA_FLAG_READ, wo, 0), -EACCES);
	assert_int_equal(map(f, 0, 0x1000, RW, wo, 0), -EACCES);
	assert_int_not_equal(map(f, 0, 0x1000, RW, path, 0), 0);
	assert_int_equal(map(f, 0, 0x1000, VFU_DMA_FLAG_READ, ro, 0), 0);
	close(fd);
	close(ro);
	close(wo);
	close(path);
}

/* What an IOMMU makes of a hugepage: many small maps. */
static void
test_pages_of_one_file_share_a_mapping(void **state)
{
	struct fixture *f = *state;
	struct vfu_server_stats stats;
	int fd = memory_file(512 * 4096);
	unsigned int i;

	for (i = 0; i < 512; i++)
		assert_int_equal(map(f, (1000 - i) * 4096ull, 4096, RW, fd, i * 4096ull), 0);
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.dma_regions, 512);
	assert_int_equal(stats.dma_bytes, 512 * 4096);
	assert_int_equal(stats.dma_mappings, 1);
	/* Read-only ones have a mapping of their own. */
	assert_int_equal(map(f, 0x10000000, 4096, VFU_DMA_FLAG_READ, fd, 0), 0);
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.dma_mappings, 2);
	/* A file that grew. */
	assert_int_equal(ftruncate(fd, 1024 * 4096), 0);
	assert_int_equal(map(f, 0x20000000, 4096, RW, fd, 1023 * 4096), 0);
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.dma_mappings, 3);
	for (i = 0; i < 512; i++)
		assert_int_equal(unmap(f, (1000 - i) * 4096ull, 4096, 0), 0);
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.dma_mappings, 2);
	assert_int_equal(unmap(f, 0, 0, VFU_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(count_maps(), 1);
	close(fd);
}

/* A file larger than any address space: only the piece is mapped. */
static void
test_a_huge_sparse_file(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(1ull << 45);

	assert_int_equal(map(f, 0, 0x5000, RW, fd, (1ull << 44) + 0x3000), 0);
	strcpy(f->last_map.address, "here");
	assert_int_equal(count_maps(), 2);
	assert_int_equal(unmap(f, 0, 0x5000, 0), 0);
	assert_int_equal(count_maps(), 1);
	close(fd);
}

/* One client does not use up the addresses of the process. */
static void
test_mapped_bytes_are_limited(void **state)
{
	struct fixture *f = *state;
	const char *sanitizer = getenv("RDMAPMD_SANITIZER");
	struct vfu_server_stats stats;
	int fds[6], i;

	/* ThreadSanitizer leaves a program no room for files of that size: proven by the other builds. */
	if (sanitizer != NULL && strcmp(sanitizer, "thread") == 0)
		return;
	for (i = 0; i < 6; i++) {
		fds[i] = memory_file(1ull << 40);
		assert_int_equal(map(f, i * 4096, 4096, RW, fds[i], 0), i < 4 ? 0 : -ENOSPC);
	}
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.dma_mappings, 4);
	assert_int_equal(unmap(f, 0, 4096, 0), 0);
	assert_int_equal(map(f, 0, 4096, RW, fds[4], 0), 0);
	assert_int_equal(unmap(f, 0, 0, VFU_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(count_maps(), 1);
	for (i = 0; i < 6; i++)
		close(fds[i]);
}

static void
test_unmap(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(map(f, 0x10000, 0x2000, RW, -1, 0), 0);
	assert_int_equal(map(f, 0x12000, 0x2000, RW, -1, 0), 0);
	assert_int_equal(map(f, 0x18000, 0x2000, RW, -1, 0), 0);
	/* Never mapped: no error. */
	assert_int_equal(unmap(f, 0x100000, 0x1000, 0), 0);
	assert_int_equal(f->unmaps, 0);
	/* Part of a map: an error, and nothing happens. */
	assert_int_equal(unmap(f, 0x10000, 0x1000, 0), -EINVAL);
	assert_int_equal(unmap(f, 0x11000, 0x1000, 0), -EINVAL);
	assert_int_equal(unmap(f, 0x11000, 0x3000, 0), -EINVAL);
	assert_int_equal(unmap(f, 0x10000, 0x3000, 0), -EINVAL);
	assert_int_equal(unmap(f, 0x10000, 0, 0), -EINVAL);
	assert_int_equal(unmap(f, 0x10000, ~0ull, 0), -EINVAL);
	assert_int_equal(unmap(f, 0x10000, 0x2000, 1), -ENOTSUP);
	assert_int_equal(unmap(f, 0x1000, 0, VFU_DMA_UNMAP_FLAG_ALL), -EINVAL);
	assert_int_equal(f->unmaps, 0);
	/* Two at once. */
	assert_int_equal(unmap(f, 0x10000, 0x8000, 0), 0);
	assert_int_equal(f->unmaps, 2);
	assert_int_equal(unmap(f, 0x18000, 0x2000, 0), 0);
	assert_int_equal(f->unmaps, 3);
}

static void
test_the_number_of_maps_is_limited(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "\0\0\0\0{\"capabilities\":{\"max_dma_maps\":100}}";
	unsigned int i;

	assert_int_equal(ask_plain(f, VFU_VERSION, text, sizeof(text)), 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(map(f, i * 8192ull, 4096, RW, -1, 0), 0);
	assert_int_equal(map(f, i * 8192ull, 4096, RW, -1, 0), -ENOSPC);
	assert_int_equal(unmap(f, 0, 4096, 0), 0);
	assert_int_equal(map(f, i * 8192ull, 4096, RW, -1, 0), 0);
}

static void
test_a_map_that_the_device_refuses_is_gone(void **state)
{
	struct fixture *f = *state;
	int fd = memory_file(4096);

	f->refuse = -ENOMEM;
	assert_int_equal(map(f, 0, 4096, RW, fd, 0), -ENOMEM);
	assert_null(vfu_server_dma_find(f->server, 0, 1));
	assert_int_equal(f->unmaps, 0);
	assert_int_equal(count_maps(), 1);
	f->refuse = 0;
	assert_int_equal(map(f, 0, 4096, RW, fd, 0), 0);
	close(fd);
}

static void
test_a_dead_client_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	unsigned int before = count_fds(), i;
	int fd = memory_file(0x10000);

	for (i = 0; i < 16; i++)
		assert_int_equal(map(f, i * 0x1000, 0x1000, RW, i % 2 ? fd : -1, i * 0x1000), 0);
	close(fd);
	close(f->peer);
	f->peer = -1;
	fixture_process(f);
	assert_int_equal(f->unmaps, 16);
	assert_int_equal(f->disconnected, 1);
	assert_int_equal(f->reason, 0);
	assert_int_equal(count_maps(), 1);
	assert_fds_gone(before - 2);
	assert_null(vfu_server_client(f->server));
}

/* Against a model of the table: the same answers in random order. */
#define PAGES 64
static void
test_random_maps_against_a_model(void **state)
{
	struct fixture *f = *state;
	unsigned int seed = 11, i, j, n = full_run() ? 200000 : 20000;
	unsigned int owner[PAGES] = { 0 }; /* number of the map, 0: none */
	int fd = memory_file(PAGES * 4096);

	for (i = 0; i < n; i++) {
		unsigned int first = rand_r(&seed) % PAGES;
		unsigned int count = 1 + rand_r(&seed) % 8, taken = 0;
		bool whole = true;

		if (count > PAGES - first)
			count = PAGES - first;
		for (j = first; j < first + count; j++)
			taken += owner[j] != 0;
		if (rand_r(&seed) % 2 == 0) {
			int rc = map(f, first * 4096ull, count * 4096ull, RW,
				     rand_r(&seed) % 2 ? fd : -1, first * 4096ull);

			assert_int_equal(rc, taken > 0 ? -EEXIST : 0);
			for (j = first; rc == 0 && j < first + count; j++)
				owner[j] = i + 1;
			continue;
		}
		if (first > 0 && owner[first] != 0 && owner[first] == owner[first - 1])
			whole = false;
		j = first + count;
		if (j < PAGES && owner[j] != 0 && owner[j] == owner[j - 1])
			whole = false;
		assert_int_equal(unmap(f, first * 4096ull, count * 4096ull, 0),
				 whole ? 0 : -EINVAL);
		if (whole)
			memset(&owner[first], 0, count * sizeof(owner[0]));
	}
	for (j = 0; j < PAGES; j++)
		assert_int_equal(vfu_server_dma_find(f->server, j * 4096ull, 4096) != NULL,
				 owner[j] != 0);
	close(fd);
}

/* ---- What takes long where there is much ---- */

/* Is there a mapping of a memory file of that length or a part of it? */
static bool
memory_is_mapped(size_t bytes)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	bool found = false;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && end - start <= bytes &&
		    end - start >= 1 << 20 && strstr(line, "memfd:") != NULL)
			found = true;
	}
	fclose(file);
	return found;
}

/* Our time to unmap memory of which each page was used. */
static double
seconds_to_unmap(struct fixture *f, int fd, size_t bytes)
{
	const volatile uint8_t *memory;
	double start;

	assert_int_equal(map(f, 0, bytes, RW, fd, 0), 0);
	memory = f->last_map.address;
	for (size_t i = 0; i < bytes; i += 4096)
		(void)memory[i];
	start = cpu_seconds();
	assert_int_equal(unmap(f, 0, bytes, 0), 0);
	return cpu_seconds() - start;
}

/* Our time for a message that brings the last descriptor of a file, of which all is there, and does nothing with it. */
static double
seconds_to_refuse(struct fixture *f, size_t bytes)
{
	const struct {
		struct vfu_header header;
		struct vfu_dma_map map;
	} message = {
		.header = { .command = VFU_DMA_MAP, .size = sizeof(message) },
		.map = { .argsz = sizeof(message.map), .size = bytes }, /* without a right */
	};
	int fd = memory_file(bytes);
	struct vfu_header header;
	double start;

	assert_int_equal(fallocate(fd, 0, 0, (off_t)bytes), 0);
	raw_send(f->peer, &message, sizeof(message), &fd, 1);
	close(fd);
	start = cpu_seconds();
	fixture_process(f);
	start = cpu_seconds() - start;
	assert_int_equal(raw_receive(f->peer, &header, sizeof(header), NULL, NULL), sizeof(header));
	assert_int_equal(header.error, EINVAL);
	return start;
}

/* ... to unmap a page of it, which is the last that holds it: it has grown since it was mapped. */
static double
seconds_to_let_go(struct fixture *f, size_t bytes)
{
	int fd = memory_file(4096);
	double start;

	assert_int_equal(map(f, 0, 4096, RW, fd, 0), 0);
	assert_int_equal(fallocate(fd, 0, 0, (off_t)bytes), 0);
	close(fd);
	start = cpu_seconds();
	assert_int_equal(unmap(f, 0, 4096, 0), 0);
	return cpu_seconds() - start;
}

/* A client need not keep what it sends. */
static void
large_file_is_given_back_by_another_thread(struct fixture *f,
					   double (*seconds)(struct fixture *f, size_t bytes))
{
	const size_t bytes = 256 << 20;
	double here, aside;

	assert_int_equal(ask_version(f), 0);
	here = seconds(f, bytes);
	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	aside = seconds(f, bytes);
	print_message("# %.0f us, and %.0f us with a thread for it\n", here * 1e6, aside * 1e6);
	assert_true(aside < here / 4);
}

static void
test_files_that_are_refused_are_given_back_by_another_thread(void **state)
{
	large_file_is_given_back_by_another_thread(*state, seconds_to_refuse);
}

static void
test_files_that_are_unmapped_are_given_back_by_another_thread(void **state)
{
	large_file_is_given_back_by_another_thread(*state, seconds_to_let_go);
}

static void
test_large_memory_is_unmapped_by_another_thread(void **state)
{
	const size_t bytes = 256 << 20;
	struct fixture *f = *state;
	int fd = memory_file(bytes);
	double here, aside;
	unsigned int i;
	void *page;

	/* All of it is there. */
	page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	munmap(page, bytes);
	assert_int_equal(ask_version(f), 0);
	here = seconds_to_unmap(f, fd, bytes);
	assert_int_equal(vfu_server_start_threads(f->server), 0);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	aside = seconds_to_unmap(f, fd, bytes);
	print_message("# %.0f us, and %.0f us with a thread for it\n", here * 1e6, aside * 1e6);
	assert_true(aside < here / 3);
	/* It goes all the same, and with the threads their stacks have come. */
	for (i = 0; i < 6000 && memory_is_mapped(bytes); i++)
		usleep(10000);
	assert_false(memory_is_mapped(bytes));
	close(fd);
}

/* Regions in one mapping, among thousands: our time for so many. */
static double
seconds_to_find(struct vfu_dma_table *table, int fd, uint64_t offset)
{
	struct vfu_dma_map request = {
		.argsz = sizeof(request), .flags = RW, .offset = offset, .size = 4096
	};
	const unsigned int count = table->count, more = 500, files = table->nfiles;
	double best = 1e9, start, seconds;

	for (unsigned int round = 0; round < 5; round++) {
		start = cpu_seconds();
		for (unsigned int i = 0; i < more; i++) {
			request.iova = (1ull << 40) + i * 4096ull;
			assert_int_equal(vfu_dma_table_map(table, &request, fd), count + i);
		}
		seconds = cpu_seconds() - start;
		vfu_dma_table_remove(table, count, more);
		best = seconds < best ? seconds : best;
	}
	assert_int_equal(table->nfiles, files);
	return best;
}

static void
test_a_mapping_is_found_among_thousands(void **state)
{
	const unsigned int pieces = 8000;
	int fd = memory_file(1ull << 45);
	struct vfu_dma_map request = { .argsz = sizeof(request), .flags = RW, .size = 4096 };
	struct vfu_dma_table table;
	double first, last;

	(void)state;
	vfu_dma_table_init(&table, 65536, 4096, false, NULL);
	/* Of a file that is too large to be mapped whole. */
	for (unsigned int i = 0; i < pieces; i++) {
		request.iova = i * 4096ull;
		request.offset = i * 8192ull;
		assert_int_equal(vfu_dma_table_map(&table, &request, fd), i);
	}
	assert_int_equal(table.nfiles, pieces);
	first = seconds_to_find(&table, fd, 0);
	last = seconds_to_find(&table, fd, (pieces - 1) * 8192ull);
	print_message("# the first: %.0f us, the last: %.0f us\n", first * 1e6, last * 1e6);
	assert_true(first < 4 * last && last < 4 * first);
	vfu_dma_table_fini(&table);
	assert_int_equal(table.nfiles, 0);
	close(fd);
}

/* Made when there was no room for the whole file. */
static void
test_a_piece_does_not_hide_the_whole_file(void **state)
{
	int fd = memory_file(1 << 20);
	struct vfu_dma_map request = {
		.argsz = sizeof(request), .flags = RW, .offset = 0x10000, .size = 4096
	};
	struct vfu_dma_table table;

	(void)state;
	vfu_dma_table_init(&table, 100, 4096, false, NULL);
	table.file_bytes = (1ull << 42) - 4096;
	assert_int_equal(vfu_dma_table_map(&table, &request, fd), 0);
	table.file_bytes = 4096;
	for (unsigned int i = 1; i < 4; i++) {
		request.iova = i * 4096;
		request.offset += 4096;
		assert_int_equal(vfu_dma_table_map(&table, &request, fd), i);
		assert_int_equal(table.nfiles, 2);
	}
	vfu_dma_table_fini(&table);
	assert_int_equal(table.nfiles, 0);
	assert_int_equal(table.file_bytes, 0);
	close(fd);
}

/* The host hears of it, and there is no way to it: what it does with that is its own affair. */
static void
test_a_map_without_a_descriptor_has_no_address(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(map(f, 0x10000, 0x10000, VFU_DMA_FLAG_READ, -1, 0), 0);
	assert_int_equal(f->maps, 1);
	assert_int_equal(f->last_map.iova, 0x10000);
	assert_null(f->last_map.address);
	assert_int_equal(unmap(f, 0x10000, 0x10000, 0), 0);
	assert_int_equal(f->unmaps, 1);
}

#define BEFORE(name) cmocka_unit_test_setup_teardown(name, fixture_setup_unversioned, fixture_end)
#define CASE(name)   cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BEFORE(test_large_memory_is_unmapped_by_another_thread),
		BEFORE(test_files_that_are_refused_are_given_back_by_another_thread),
		BEFORE(test_files_that_are_unmapped_are_given_back_by_another_thread),
		CASE(test_a_mapping_is_found_among_thousands),
		CASE(test_a_piece_does_not_hide_the_whole_file),
		CASE(test_a_map_with_a_descriptor_is_memory),
		CASE(test_overlap_wrap_and_alignment),
		CASE(test_access_modes),
		CASE(test_requests_of_wrong_length),
		CASE(test_a_file_that_is_too_short),
		CASE(test_descriptors_that_are_no_memory_file),
		CASE(test_rights_of_the_descriptor),
		CASE(test_pages_of_one_file_share_a_mapping),
		CASE(test_a_huge_sparse_file),
		CASE(test_mapped_bytes_are_limited),
		CASE(test_unmap),
		BEFORE(test_the_number_of_maps_is_limited),
		CASE(test_a_map_that_the_device_refuses_is_gone),
		CASE(test_a_dead_client_leaves_nothing),
		CASE(test_random_maps_against_a_model),
		CASE(test_a_map_without_a_descriptor_has_no_address),
	};

	return cmocka_run_group_tests_name("dma", tests, NULL, NULL);
}
