/* SPDX-License-Identifier: BSD-3-Clause */

/* The client against our server in a thread, and against answers of a server that lies, stalls or dies. */

#include "fixture.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define RW (VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)

struct session {
	struct fixture f;
	struct vfu_client *client;
	unsigned int fds;
};

static int
session_setup(void **state)
{
	struct session *s = calloc(1, sizeof(*s));
	const struct vfu_client_conf conf = { 0 };

	assert_non_null(s);
	s->fds = count_fds();
	assert_int_equal(fixture_setup_at(&s->f, NULL), 0);
	assert_int_equal(client_open(&s->f, &conf, &s->client), 0);
	*state = s;
	return 0;
}

static int
session_teardown(void **state)
{
	struct session *s = *state;

	vfu_client_close(s->client);
	fixture_teardown(&s->f);
	assert_fds_gone(s->fds);
	free(s);
	return 0;
}

static void
test_what_the_device_is(void **state)
{
	struct session *s = *state;
	uint32_t flags, nregions, nirqs, count;
	struct vfu_capabilities caps;

	assert_int_equal(vfu_client_device_info(s->client, &flags, &nregions, &nirqs), 0);
	assert_int_equal(flags, VFU_DEVICE_FLAG_PCI | VFU_DEVICE_FLAG_RESET);
	assert_int_equal(nregions, VFU_PCI_REGIONS);
	assert_int_equal(nirqs, VFU_PCI_IRQS);
	assert_int_equal(vfu_client_irq_info(s->client, VFU_PCI_MSIX, &count, &flags), 0);
	assert_int_equal(count, MSIX_VECTORS);
	assert_int_equal(vfu_client_irq_info(s->client, VFU_PCI_IRQS, &count, &flags), -EINVAL);
	vfu_client_capabilities(s->client, &caps);
	assert_int_equal(caps.max_data_xfer_bytes, 1 << 20);
	assert_true(caps.write_multiple);
	assert_int_equal(vfu_client_server(s->client)->pid, getpid());
}

static void
test_regions_and_their_areas(void **state)
{
	struct session *s = *state;
	struct vfu_client_region region;
	volatile uint32_t *bar;
	void *address;
	uint32_t value = 0x12345678;

	assert_int_equal(vfu_client_region_info(s->client, VFU_PCI_BAR0, &region), 0);
	assert_int_equal(region.size, BAR0_BYTES);
	assert_int_equal(region.nareas, 1);
	assert_int_equal(region.areas[0].offset, BAR0_AREA);
	assert_int_equal(vfu_client_region_map(&region, 0, &address), 0);
	assert_int_equal(vfu_client_region_map(&region, 1, &address), -ENODEV);
	vfu_client_region_release(&region);
	bar = address;
	bar[3] = 77;
	assert_int_equal(vfu_client_region_read(s->client, 0, BAR0_AREA + 12, &value, 4), 0);
	assert_int_equal(value, 77);
	munmap(address, BAR0_AREA_SIZE);

	assert_int_equal(vfu_client_region_info(s->client, 4, &region), 0);
	assert_int_equal(region.nareas, 1);
	assert_int_equal(region.areas[0].size, BAR4_BYTES);
	assert_int_equal(vfu_client_region_map(&region, 0, &address), 0);
	vfu_client_region_release(&region);
	value = 99;
	assert_int_equal(vfu_client_region_write(s->client, 4, 8, &value, 4), 0);
	assert_int_equal(((volatile uint32_t *)address)[2], 99);
	munmap(address, BAR4_BYTES);

	assert_int_equal(vfu_client_region_info(s->client, 2, &region), 0);
	assert_int_equal(region.nareas, 0);
	assert_int_equal(vfu_client_region_map(&region, 0, &address), -ENODEV);
	assert_int_equal(vfu_client_region_info(s->client, 9, &region), -EINVAL);
}

static void
test_accesses(void **state)
{
	struct session *s = *state;
	uint64_t value = 0x1122334455667788, back = 0;

	assert_int_equal(vfu_client_region_write(s->client, 7, 8, &value, 8), 0);
	assert_int_equal(vfu_client_region_read(s->client, 7, 8, &back, 8), 0);
	assert_true(back == value);
	back = 0;
	assert_int_equal(vfu_client_region_read(s->client, 7, 8, &back, 4), 0);
	assert_int_equal(back, 0x55667788);
	assert_int_equal(vfu_client_region_write(s->client, 2, 0, &value, 8), -EPERM);
	assert_int_equal(vfu_client_region_read(s->client, 7, CONFIG_BYTES, &back, 1), -EINVAL);
	/* Posted: done before what comes later, its error unknown. */
	value = 5;
	assert_int_equal(vfu_client_region_post(s->client, 7, 16, &value, 8), 0);
	assert_int_equal(vfu_client_region_post(s->client, 2, 0, &value, 8), 0);
	assert_int_equal(vfu_client_region_read(s->client, 7, 16, &back, 8), 0);
	assert_int_equal(back, 5);
}

/* More than one message takes. */
static void
test_blocks(void **state)
{
	struct fixture f;
	struct vfu_client *client;
	struct vfu_client_conf conf = { .caps = { 1, 1000, 10, 4096, true } };
	static uint8_t out[BAR0_BYTES], in[BAR0_BYTES];
	unsigned int i;

	(void)state;
	assert_int_equal(fixture_setup_at(&f, NULL), 0);
	assert_int_equal(client_open(&f, &conf, &client), 0);
	for (i = 0; i < sizeof(out); i++)
		out[i] = i * 11 >> 2;
	assert_int_equal(vfu_client_region_write(client, 0, 0, out, sizeof(out)), 0);
	assert_int_equal(vfu_client_region_read(client, 0, 0, in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	vfu_client_close(client);
	fixture_teardown(&f);
}

static void
test_several_writes(void **state)
{
	struct session *s = *state;
	struct vfu_region_write w[100];
	uint8_t config[100];
	unsigned int i;

	for (i = 0; i < 100; i++)
		w[i] = (struct vfu_region_write){ i, 7, 1, { i + 1 } };
	assert_int_equal(vfu_client_region_write_multi(s->client, w, 100), 0);
	assert_int_equal(vfu_client_region_read(s->client, 7, 0, config, 100), 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(config[i], i + 1);
	assert_int_equal(vfu_client_region_write_multi(s->client, w, 1), 0);
	assert_int_equal(vfu_client_region_write_multi(s->client, w, 0), 0);
	w[50].count = 9;
	assert_int_equal(vfu_client_region_write_multi(s->client, w, 100), -EINVAL);
	w[50].count = 0;
	assert_int_equal(vfu_client_region_write_multi(s->client, w, 100), -EINVAL);
}

static void
test_memory_with_and_without_descriptor(void **state)
{
	struct session *s = *state;
	int fd = memory_file(0x4000);

	assert_int_equal(vfu_client_dma_map(s->client, 0, 0x4000, RW, fd, 0), 0);
	close(fd);
	assert_int_equal(vfu_client_dma_map(s->client, 0x3000, 0x2000, RW, -1, 0), -EEXIST);
	assert_int_equal(vfu_client_dma_map(s->client, 0x4000, 0x2000, RW, -1, 0), 0);
	assert_int_equal(s->f.maps, 2);
	assert_int_equal(vfu_client_dma_unmap(s->client, 0, 0x4000), 0);
	assert_int_equal(vfu_client_dma_unmap(s->client, 0, 0x4000), 0);
	assert_int_equal(s->f.unmaps, 1);
	assert_int_equal(vfu_client_dma_map(s->client, 0, 0x4000, RW, 9999, 0), -EBADF);
	assert_int_equal(vfu_client_dma_map(s->client, 0, 0x4000, RW, -1, 0), 0);
}

static void
test_interrupts(void **state)
{
	struct session *s = *state;
	int fds[MSIX_VECTORS], i;
	eventfd_t value;

	for (i = 0; i < MSIX_VECTORS; i++)
		fds[i] = i % 10 == 9 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(vfu_client_irq_set(s->client, VFU_PCI_MSIX, 0, MSIX_VECTORS, fds), 0);
	/* From a thread that is not the server's. */
	for (i = 0; i < MSIX_VECTORS; i++) {
		assert_int_equal(vfu_server_irq_trigger(s->f.server, VFU_PCI_MSIX, i),
				 fds[i] < 0 ? -ENOENT : 0);
		if (fds[i] >= 0)
			assert_int_equal(eventfd_read(fds[i], &value), 0);
	}
	assert_int_equal(vfu_client_irq_action(s->client, VFU_PCI_MSIX, 5, 1, VFU_IRQ_SET_MASK), 0);
	assert_int_equal(vfu_client_irq_action(s->client, VFU_PCI_MSIX, 4, 2, VFU_IRQ_SET_TRIGGER),
			 0);
	assert_int_equal(eventfd_read(fds[4], &value), 0);
	assert_int_equal(eventfd_read(fds[5], &value), -1);
	assert_int_equal(vfu_client_irq_action(s->client, VFU_PCI_MSIX, 5, 1, VFU_IRQ_SET_UNMASK),
			 0);
	assert_int_equal(eventfd_read(fds[5], &value), 0);
	assert_int_equal(vfu_client_irq_set(s->client, VFU_PCI_MSIX, 4, 1, NULL), 0);
	assert_int_equal(vfu_server_irq_trigger(s->f.server, VFU_PCI_MSIX, 4), -ENOENT);
	assert_int_equal(vfu_client_irq_disable(s->client, VFU_PCI_MSIX), 0);
	assert_int_equal(vfu_server_irq_trigger(s->f.server, VFU_PCI_MSIX, 6), -ENOENT);
	assert_int_equal(vfu_client_irq_set(s->client, VFU_PCI_MSIX, 63, 2, fds), -EINVAL);
	for (i = 0; i < MSIX_VECTORS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

static void
test_reset_reaches_the_device(void **state)
{
	struct session *s = *state;

	assert_int_equal(vfu_client_reset(s->client), 0);
	assert_int_equal(s->f.resets, 1);
}

static void
test_a_client_that_closes_is_forgotten(void **state)
{
	struct session *s = *state;
	int fd = memory_file(0x4000);

	assert_int_equal(vfu_client_dma_map(s->client, 0, 0x4000, RW, fd, 0), 0);
	close(fd);
	vfu_client_close(s->client);
	s->client = NULL;
	wait_for(&s->f.disconnected, 1);
	assert_int_equal(s->f.unmaps, 1);
	assert_int_equal(s->f.reason, 0);
	fixture_stop(&s->f);
	assert_int_equal(count_maps(), 1);
	/* The next one is served. */
	assert_int_equal(client_open(&s->f, NULL, &s->client), 0);
	assert_int_equal(vfu_client_reset(s->client), 0);
}

static void
test_a_dead_server_is_noticed(void **state)
{
	struct session *s = *state;
	struct pollfd ready = { .fd = vfu_client_fd(s->client), .events = POLLIN };
	uint32_t value = 0;

	assert_int_equal(vfu_client_process(s->client), 0);
	fixture_stop(&s->f);
	vfu_server_destroy(s->f.server);
	s->f.server = NULL;
	assert_int_equal(poll(&ready, 1, 60000), 1);
	assert_int_equal(vfu_client_process(s->client), -ENOTCONN);
	assert_int_equal(vfu_client_region_read(s->client, 7, 0, &value, 4), -ENOTCONN);
	assert_int_equal(vfu_client_reset(s->client), -ENOTCONN);
	assert_true(fixture_logged(&s->f, "is gone"));
}

#define HAMMER_THREADS 4

struct hammer {
	struct vfu_client *client;
	unsigned int index;
	unsigned int errors;
};

static void *
hammer_thread(void *arg)
{
	struct hammer *h = arg;
	uint64_t value, back;
	unsigned int i;

	for (i = 0; i < 500; i++) {
		value = (uint64_t)h->index << 32 | i;
		h->errors += vfu_client_region_write(h->client, 7, h->index * 8, &value, 8) != 0;
		h->errors += vfu_client_region_read(h->client, 7, h->index * 8, &back, 8) != 0;
		h->errors += back != value;
	}
	return NULL;
}

static void
test_threads_share_a_client(void **state)
{
	struct session *s = *state;
	struct hammer hammers[HAMMER_THREADS];
	pthread_t threads[HAMMER_THREADS];
	unsigned int i;

	for (i = 0; i < HAMMER_THREADS; i++) {
		hammers[i] = (struct hammer){ s->client, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, hammer_thread, &hammers[i]), 0);
	}
	for (i = 0; i < HAMMER_THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(hammers[i].errors, 0);
	}
}

/* ---- A server that is only a list of answers, lying in the socket before they are asked for ---- */

struct script {
	int pair[2];
	struct vfu_client *client;
	uint16_t id;
};

static void
script_answer(struct script *s, uint16_t command, uint32_t flags, const void *payload,
	      size_t length, int fd)
{
	uint8_t bytes[2048];
	struct vfu_header header = { s->id++, command, sizeof(header) + length, flags, 0 };

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), payload, length);
	raw_send(s->pair[1], bytes, header.size, &fd, fd >= 0 ? 1 : 0);
}

static int
script_open(struct script *s, const char *version, size_t length)
{
	struct vfu_client_conf conf = { .name = "script0", .timeout_ms = 100 };

	s->id = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->pair), 0);
	conf.fd = s->pair[0];
	if (version != NULL)
		script_answer(s, VFU_VERSION, VFU_TYPE_REPLY, version, length, -1);
	return vfu_client_open(&conf, &s->client);
}

static void
script_start(struct script *s)
{
	assert_int_equal(script_open(s, "\0\0\1\0{}", 7), 0);
}

static void
script_end(struct script *s)
{
	vfu_client_close(s->client);
	close(s->pair[1]);
}

static void
test_versions_that_the_client_refuses(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		int expected;
	} cases[] = {
		{ "\0\0\0\0", 4, 0 },
		{ "\1\0\0\0", 4, -EPROTO },
		{ "\0\0\2\0", 4, -EPROTO },
		{ "\0\0\1", 3, -EPROTO },
		{ "\0\0\1\0{}", 6, -EPROTO },
		{ "\0\0\1\0{\"capabilities\":{\"pgsizes\":8}}", 35, -EPROTO },
		{ NULL, 0, -ETIMEDOUT },
	};
	unsigned int i, fds = count_fds();
	struct script s;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s.client = NULL;
		assert_int_equal(script_open(&s, cases[i].text, cases[i].length),
				 cases[i].expected);
		script_end(&s);
	}
	assert_fds_gone(fds);
}

static void
test_region_descriptions_that_cannot_be(void **state)
{
	struct full {
		struct vfu_region_info info;
		struct vfu_cap_header cap;
		uint32_t nr, reserved;
		struct vfu_area areas[2];
	} good = {
		.info = { sizeof(good), 0xf, 3, 32, 0x4000, 0 },
		.cap = { VFU_CAP_SPARSE_MMAP, 1, 0 },
		.nr = 2,
		.areas = { { 0x1000, 0x1000 }, { 0x2000, 0x2000 } },
	};
	struct full bad[14];
	struct vfu_client_region region;
	struct script s;
	unsigned int i, fds = count_fds();
	int fd = region_file(0x3000);
	void *address;

	(void)state;
	for (i = 0; i < 14; i++)
		bad[i] = good;
	bad[0].info.index = 4;
	bad[1].info.offset = ~0xfffull;
	bad[2].info.cap_offset = 31;
	bad[3].info.cap_offset = sizeof(good);
	bad[4].info.cap_offset = ~0u;
	bad[5].nr = 3;
	bad[6].nr = ~0u;
	bad[7].areas[1].size = 0x3000;
	bad[8].areas[1].offset = ~0xfffull;
	bad[9].areas[0].offset = 1;
	bad[10].areas[0].size = 0;
	bad[11].cap.id = 7; /* a chain that goes back */
	bad[11].cap.next = 32;
	bad[12].cap.id = 7;
	bad[12].cap.next = ~0u;
	bad[13].info.cap_offset = sizeof(good) - 8;
	bad[13].areas[1] = (struct vfu_area){ 0, VFU_CAP_SPARSE_MMAP };
	for (i = 0; i < 14; i++) {
		script_start(&s);
		script_answer(&s, VFU_DEVICE_GET_REGION_INFO, VFU_TYPE_REPLY, &bad[i], sizeof(good),
			      fd);
		assert_int_equal(vfu_client_region_info(s.client, 3, &region), -EPROTO);
		assert_int_equal(region.fd, -1);
		script_end(&s);
	}
	/* No descriptor with it. */
	script_start(&s);
	script_answer(&s, VFU_DEVICE_GET_REGION_INFO, VFU_TYPE_REPLY, &good, sizeof(good), -1);
	assert_int_equal(vfu_client_region_info(s.client, 3, &region), -EPROTO);
	script_answer(&s, VFU_DEVICE_GET_REGION_INFO, VFU_TYPE_REPLY, &good, sizeof(good), fd);
	assert_int_equal(vfu_client_region_info(s.client, 3, &region), 0);
	/* The file ends before the second area does. */
	assert_int_equal(vfu_client_region_map(&region, 0, &address), 0);
	munmap(address, 0x1000);
	assert_int_equal(vfu_client_region_map(&region, 1, &address), -EPROTO);
	vfu_client_region_release(&region);
	script_end(&s);
	close(fd);
	assert_fds_gone(fds);
}

/* It would be a SIGBUS at the next doorbell. */
static void
test_a_region_that_the_server_could_shorten(void **state)
{
	struct vfu_client_region region = {
		.size = 0x1000,
		.flags = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE,
		.fd = memory_file(0x1000),
		.nareas = 1,
		.areas = { { 0, 0x1000 } },
	};
	void *address;

	(void)state;
	assert_int_equal(vfu_client_region_map(&region, 0, &address), -EPERM);
	vfu_client_region_release(&region);
}

static void
test_answers_that_cannot_be(void **state)
{
	struct vfu_region_access good = { 8, 7, 4 };
	struct {
		struct vfu_region_access access;
		uint8_t data[8];
	} m;
	struct script s;
	unsigned int i;
	uint32_t value;

	(void)state;
	for (i = 0; i < 9; i++) {
		uint16_t command = VFU_REGION_READ;
		uint32_t flags = VFU_TYPE_REPLY;
		size_t length = sizeof(good) + 4;

		script_start(&s);
		m.access = good;
		switch (i) {
		case 0: m.access.offset = 9; break;
		case 1: m.access.region = 6; break;
		case 2: m.access.count = 5; break;
		case 3: length--; break;
		case 4: length = 0; break;
		case 5: command = VFU_REGION_WRITE; break;
		case 6: flags = 2; break;
		case 7: s.id++; break;
		default: s.id--; break;
		}
		script_answer(&s, command, flags, &m, length, -1);
		assert_int_equal(vfu_client_region_read(s.client, 7, 8, &value, 4), -EPROTO);
		assert_int_equal(vfu_client_region_read(s.client, 7, 8, &value, 4), -ENOTCONN);
		script_end(&s);
	}
	/* An error without an errno is still one. */
	script_start(&s);
	script_answer(&s, VFU_REGION_READ, VFU_TYPE_REPLY | VFU_FLAG_ERROR, &m, 0, -1);
	assert_int_equal(vfu_client_region_read(s.client, 7, 8, &value, 4), -EIO);
	/* None at all. */
	assert_int_equal(vfu_client_region_read(s.client, 7, 8, &value, 4), -ETIMEDOUT);
	assert_int_equal(vfu_client_region_read(s.client, 7, 8, &value, 4), -ENOTCONN);
	script_end(&s);
}

/* A server that asks for memory without end and reads no answer. */
static void
test_requests_without_end(void **state)
{
	struct vfu_dma_access access = { 0, 1 << 20 };
	struct vfu_client_conf conf = { .name = "script0", .timeout_ms = 2000 };
	struct script s = { 0 };
	unsigned int i;
	int rc = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s.pair), 0);
	conf.fd = s.pair[0];
	script_answer(&s, VFU_VERSION, VFU_TYPE_REPLY, "\0\0\1\0{}", 7, -1);
	assert_int_equal(vfu_client_open(&conf, &s.client), 0);
	for (i = 0; i < 20000 && rc == 0; i++) {
		script_answer(&s, VFU_DMA_READ, VFU_TYPE_COMMAND, &access, sizeof(access), -1);
		rc = vfu_client_process(s.client);
	}
	assert_int_equal(rc, -ENOTCONN);
	script_end(&s);
}

/* Whatever it is, and whatever stands in it: the connection goes on. */
static void
test_requests_are_refused(void **state)
{
	static const struct {
		uint16_t command;
		struct vfu_dma_access access;
		size_t length;
	} cases[] = {
		{ VFU_DMA_READ, { 0, 8 }, 16 },
		{ VFU_DMA_WRITE, { 0, 1 }, 17 },
		{ VFU_DMA_READ, { 0, 8 }, 0 },
		{ VFU_DMA_READ, { ~0ull, ~0ull }, 16 },
		{ VFU_DMA_WRITE, { 0, ~0ull }, 17 },
		{ VFU_DEVICE_RESET, { 0, 0 }, 0 },
		{ 65535, { 0, 0 }, 0 },
	};
	uint8_t bytes[sizeof(struct vfu_dma_access) + 1] = { 0 };
	struct vfu_header header;
	struct script s;
	unsigned int i;

	(void)state;
	script_start(&s);
	while (raw_receive(s.pair[1], bytes, sizeof(bytes), NULL, NULL) > 0)
		continue;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(bytes, &cases[i].access, sizeof(cases[i].access));
		script_answer(&s, cases[i].command, VFU_TYPE_COMMAND, bytes, cases[i].length, -1);
		assert_int_equal(vfu_client_process(s.client), 0);
		assert_int_equal(raw_receive(s.pair[1], &header, sizeof(header), NULL, NULL), 16);
		assert_int_equal(header.flags, VFU_TYPE_REPLY | VFU_FLAG_ERROR);
		assert_int_equal(header.error, ENOTSUP);
		assert_int_equal(header.command, cases[i].command);
		assert_int_equal(header.id, i + 1);
	}
	script_end(&s);
}

/* The stream of answers ends at every byte: each time an error, at once. */
static void
test_a_server_that_dies_at_every_byte(void **state)
{
	struct __attribute__((packed)) {
		struct vfu_header version_header;
		uint8_t version[4];
		struct vfu_header read_header;
		struct vfu_region_access access;
		uint8_t data[8];
	} m = {
		{ 0, VFU_VERSION, 20, VFU_TYPE_REPLY, 0 },
		{ 0, 0, 1, 0 },
		{ 1, VFU_REGION_READ, 40, VFU_TYPE_REPLY, 0 },
		{ 0, 7, 8 },
		{ 1, 2, 3 },
	};
	struct vfu_client_conf conf = { .name = "script0" };
	unsigned int fds = count_fds();
	struct vfu_client *client;
	uint64_t value;
	size_t cut;
	int pair[2], rc;

	(void)state;
	for (cut = 0; cut <= sizeof(m); cut++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		raw_send(pair[1], &m, cut, NULL, 0);
		shutdown(pair[1], SHUT_WR);
		conf.fd = pair[0];
		client = NULL;
		rc = vfu_client_open(&conf, &client);
		assert_int_equal(rc, cut < 20 ? -ENOTCONN : 0);
		if (rc == 0) {
			rc = vfu_client_region_read(client, 7, 0, &value, 8);
			assert_int_equal(rc, cut < sizeof(m) ? -ENOTCONN : 0);
		}
		vfu_client_close(client);
		close(pair[1]);
	}
	assert_fds_gone(fds);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, session_setup, session_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_what_the_device_is),
		CASE(test_regions_and_their_areas),
		CASE(test_accesses),
		cmocka_unit_test(test_blocks),
		CASE(test_several_writes),
		CASE(test_memory_with_and_without_descriptor),
		CASE(test_interrupts),
		CASE(test_reset_reaches_the_device),
		CASE(test_a_client_that_closes_is_forgotten),
		CASE(test_a_dead_server_is_noticed),
		CASE(test_threads_share_a_client),
		cmocka_unit_test(test_versions_that_the_client_refuses),
		cmocka_unit_test(test_region_descriptions_that_cannot_be),
		cmocka_unit_test(test_a_region_that_the_server_could_shorten),
		cmocka_unit_test(test_answers_that_cannot_be),
		cmocka_unit_test(test_requests_without_end),
		cmocka_unit_test(test_requests_are_refused),
		cmocka_unit_test(test_a_server_that_dies_at_every_byte),
	};

	return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
