/* SPDX-License-Identifier: BSD-3-Clause */

/* Each command of the protocol, right and wrong, as raw bytes against a server. */

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct answer answer;

static void
test_nothing_works_before_the_version(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask_plain(f, VFU_DEVICE_RESET, NULL, 0), -EPROTO);
	assert_int_equal(f->resets, 0);
	assert_int_equal(f->connected, 0);
	fixture_process(f);
	assert_int_equal(ask_version(f), -ENOTCONN);
	assert_int_equal(f->disconnected, 0);
}

static void
test_versions(void **state)
{
	struct fixture *f = *state;
	static const struct {
		struct vfu_version version;
		int expected, minor;
	} cases[] = {
		{ { 0, 0 }, 0, 0 },
		{ { 0, 1 }, 0, 1 },
		{ { 0, 65535 }, 0, 1 },
		{ { 1, 0 }, -EPROTONOSUPPORT, 0 },
		{ { 65535, 0 }, -EPROTONOSUPPORT, 0 },
	};
	struct vfu_version version;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_connect(f);
		assert_int_equal(
			ask(f, VFU_VERSION, &cases[i].version, sizeof(version), NULL, 0, &answer),
			cases[i].expected);
		if (cases[i].expected != 0)
			continue;
		memcpy(&version, answer.payload, sizeof(version));
		assert_int_equal(version.major, 0);
		assert_int_equal(version.minor, cases[i].minor);
		assert_int_equal(answer.payload[answer.length - 1], 0);
	}
	fixture_connect(f);
	assert_int_equal(ask_plain(f, VFU_VERSION, "\0\0\1", 3), -EINVAL);
}

static void
test_a_second_version_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask_version(f), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_DEVICE_RESET, NULL, 0), 0);
}

static void
test_a_version_without_reply_is_a_breach(void **state)
{
	struct fixture *f = *state;
	struct vfu_header header = { .command = VFU_VERSION,
				     .size = sizeof(header) + 4,
				     .flags = VFU_FLAG_NO_REPLY };
	uint8_t bytes[20] = { 0 };

	memcpy(bytes, &header, sizeof(header));
	raw_send(f->peer, bytes, sizeof(bytes), NULL, 0);
	fixture_process(f);
	assert_int_equal(raw_receive(f->peer, bytes, sizeof(bytes), NULL, NULL), 0);
	assert_int_equal(f->connected, 0);
}

static void
test_device_info(void **state)
{
	struct fixture *f = *state;
	struct vfu_device_info info = { .argsz = sizeof(info) };

	assert_int_equal(ask(f, VFU_DEVICE_GET_INFO, &info, sizeof(info), NULL, 0, &answer), 0);
	assert_int_equal(answer.length, sizeof(info));
	memcpy(&info, answer.payload, sizeof(info));
	assert_int_equal(info.flags, VFU_DEVICE_FLAG_PCI | VFU_DEVICE_FLAG_RESET);
	assert_int_equal(info.num_regions, 9);
	assert_int_equal(info.num_irqs, 5);
	info.argsz = sizeof(info) - 1;
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_INFO, &info, sizeof(info)), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_INFO, &info, sizeof(info) - 1), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_INFO, NULL, 0), -EINVAL);
}

static void
test_region_info_with_areas(void **state)
{
	struct fixture *f = *state;
	struct vfu_region_info info = { .argsz = sizeof(info) };
	struct {
		struct vfu_region_info info;
		struct vfu_cap_header cap;
		uint32_t nr_areas, reserved;
		struct vfu_area area;
	} full;
	struct stat ours, theirs;

	/* Too little room: how much it takes, and no descriptor. */
	assert_int_equal(ask(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL, 0, &answer),
			 0);
	assert_int_equal(answer.length, sizeof(info));
	assert_int_equal(answer.nfds, 0);
	memcpy(&info, answer.payload, sizeof(info));
	assert_int_equal(info.argsz, sizeof(full));
	assert_int_equal(info.cap_offset, 0);
	assert_true(info.flags & VFU_REGION_FLAG_MMAP);
	/* With it QEMU refuses the answer before it asks again. */
	assert_false(info.flags & VFU_REGION_FLAG_CAPS);

	info = (struct vfu_region_info){ .argsz = sizeof(full) };
	assert_int_equal(ask(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL, 0, &answer),
			 0);
	assert_int_equal(answer.length, sizeof(full));
	assert_int_equal(answer.nfds, 1);
	memcpy(&full, answer.payload, sizeof(full));
	assert_int_equal(full.info.flags, VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE |
						  VFU_REGION_FLAG_MMAP | VFU_REGION_FLAG_CAPS);
	assert_int_equal(full.info.size, BAR0_BYTES);
	assert_int_equal(full.info.cap_offset, sizeof(full.info));
	assert_int_equal(full.cap.id, VFU_CAP_SPARSE_MMAP);
	assert_int_equal(full.cap.version, 1);
	assert_int_equal(full.cap.next, 0);
	assert_int_equal(full.nr_areas, 1);
	assert_int_equal(full.area.offset, BAR0_AREA);
	assert_int_equal(full.area.size, BAR0_AREA_SIZE);
	assert_int_equal(fstat(answer.fds[0], &theirs), 0);
	assert_int_equal(fstat(f->memory_fd, &ours), 0);
	assert_int_equal(ours.st_ino, theirs.st_ino);
	close(answer.fds[0]);
}

/* What the client before has mapped is not what the next one maps. */
static void
test_the_next_client_maps_another_file(void **state)
{
	const int files[] = { region_file(BAR4_BYTES), -1, region_file(BAR4_BYTES) };
	struct fixture *f = *state;
	struct vfu_region_info info;
	struct stat ours, theirs;

	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		shutdown(f->peer, SHUT_RDWR);
		fixture_process(f);
		vfu_server_region_file(f->server, 4, files[i]);
		fixture_connect(f);
		assert_int_equal(ask_version(f), 0);
		info = (struct vfu_region_info){ .argsz = 1024, .index = 4 };
		assert_int_equal(
			ask(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL, 0, &answer),
			0);
		memcpy(&info, answer.payload, sizeof(info));
		assert_int_equal(info.size, BAR4_BYTES);
		assert_int_equal((info.flags & VFU_REGION_FLAG_MMAP) != 0, files[i] >= 0);
		assert_int_equal(answer.nfds, files[i] >= 0);
		if (files[i] < 0)
			continue;
		assert_int_equal(fstat(files[i], &ours), 0);
		assert_int_equal(fstat(answer.fds[0], &theirs), 0);
		assert_int_equal(ours.st_ino, theirs.st_ino);
		close(answer.fds[0]);
	}
	close(files[0]);
	close(files[2]);
}

static void
test_region_info_of_all(void **state)
{
	struct fixture *f = *state;
	struct vfu_region_info info;
	unsigned int i;

	for (i = 0; i < REGIONS; i++) {
		info = (struct vfu_region_info){ .argsz = 1024, .index = i };
		assert_int_equal(
			ask(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL, 0, &answer),
			0);
		memcpy(&info, answer.payload, sizeof(info));
		assert_int_equal(info.index, i);
		assert_int_equal(info.size, f->conf.regions[i].size);
		assert_int_equal(answer.nfds, f->conf.regions[i].mappable);
		vfu_client_region_release(
			&(struct vfu_client_region){ .fd = answer.nfds == 1 ? answer.fds[0] : -1 });
	}
	info = (struct vfu_region_info){ .argsz = 1024, .index = REGIONS };
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info)), -EINVAL);
	info = (struct vfu_region_info){ .argsz = sizeof(info) - 1 };
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info)), -EINVAL);
	info.argsz = sizeof(info);
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info) - 1),
			 -EINVAL);
}

static int
access_region(struct fixture *f, uint16_t command, uint32_t region, uint64_t offset, uint32_t count,
	      size_t data)
{
	static uint8_t bytes[sizeof(struct vfu_region_access) + (1 << 16)];
	struct vfu_region_access access = { offset, region, count };
	size_t i;

	memcpy(bytes, &access, sizeof(access));
	for (i = 0; i < data; i++)
		bytes[sizeof(access) + i] = i + 1;
	return ask(f, command, bytes, sizeof(access) + data, NULL, 0, &answer);
}

static void
test_region_read_and_write(void **state)
{
	struct fixture *f = *state;
	unsigned int length;

	for (length = 1; length <= 4096; length = length * 2 + length % 3) {
		assert_int_equal(
			access_region(f, VFU_REGION_WRITE, 7, 4096 - length, length, length), 0);
		assert_int_equal(answer.length, sizeof(struct vfu_region_access));
		assert_int_equal(f->config[4096 - length], 1);
		assert_int_equal(f->config[4095], (uint8_t)length);
		assert_int_equal(access_region(f, VFU_REGION_READ, 7, 4096 - length, length, 0), 0);
		assert_int_equal(answer.length, sizeof(struct vfu_region_access) + length);
		assert_memory_equal(answer.payload + sizeof(struct vfu_region_access),
				    f->config + 4096 - length, length);
	}
}

static void
test_mappable_areas_are_served_by_message_too(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(access_region(f, VFU_REGION_WRITE, 0, BAR0_AREA, 8, 8), 0);
	assert_int_equal(f->bar0[BAR0_AREA + 7], 8);
}

static void
test_region_access_boundaries(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t region;
		uint64_t offset;
		uint32_t count;
		int read, write;
	} cases[] = {
		{ 7, 4095, 1, 0, 0 },
		{ 7, 4096, 1, -EINVAL, -EINVAL },
		{ 7, 4095, 2, -EINVAL, -EINVAL },
		{ 7, 0, 4097, -EINVAL, -EINVAL },
		{ 7, 0, 0, -EINVAL, -EINVAL },
		{ 7, ~0ull, 1, -EINVAL, -EINVAL },
		{ 7, ~0ull - 3, 8, -EINVAL, -EINVAL },
		{ 2, 0, 8, 0, -EPERM },	       /* read-only */
		{ 1, 0, 1, -EINVAL, -EINVAL }, /* not there */
		{ 8, 0, 1, -EINVAL, -EINVAL },
		{ 9, 0, 1, -EINVAL, -EINVAL },
		{ ~0u, 0, 1, -EINVAL, -EINVAL },
		{ 0, 0, 32768, 0, 0 }, /* max_data_xfer_size */
		{ 0, 0, 32769, -EINVAL, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(access_region(f, VFU_REGION_READ, cases[i].region, cases[i].offset,
					       cases[i].count, 0),
				 cases[i].read);
		assert_int_equal(access_region(f, VFU_REGION_WRITE, cases[i].region,
					       cases[i].offset, cases[i].count, cases[i].count),
				 cases[i].write);
	}
	assert_int_equal(access_region(f, VFU_REGION_READ, 0, 0, ~0u, 0), -EINVAL);
	/* Data that is not as long as said. */
	assert_int_equal(access_region(f, VFU_REGION_WRITE, 7, 0, 8, 7), -EINVAL);
	assert_int_equal(access_region(f, VFU_REGION_WRITE, 7, 0, 8, 9), -EINVAL);
	assert_int_equal(access_region(f, VFU_REGION_WRITE, 7, 0, ~0u, 8), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_REGION_READ, answer.payload, 15), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_REGION_WRITE, answer.payload, 15), -EINVAL);
}

static void
test_what_the_device_refuses_the_client_hears(void **state)
{
	struct fixture *f = *state;

	f->refuse = -EDOM;
	assert_int_equal(access_region(f, VFU_REGION_READ, 7, 0, 8, 0), -EDOM);
	assert_int_equal(access_region(f, VFU_REGION_WRITE, 7, 0, 8, 8), -EDOM);
	assert_int_equal(ask_plain(f, VFU_DEVICE_RESET, NULL, 0), -EDOM);
}

static void
test_no_reply_is_kept(void **state)
{
	struct fixture *f = *state;
	struct {
		struct vfu_header header;
		struct vfu_region_access access;
		uint8_t data[4];
	} m = {
		.header = { .command = VFU_REGION_WRITE,
			    .size = sizeof(struct vfu_header) + 20,
			    .flags = VFU_FLAG_NO_REPLY },
		.access = { .region = 7, .count = 4 },
		.data = { 9, 8, 7, 6 },
	};
	char byte;

	raw_send(f->peer, &m, m.header.size, NULL, 0);
	m.access.region = 99;
	raw_send(f->peer, &m, m.header.size, NULL, 0);
	fixture_process(f);
	assert_int_equal(raw_receive(f->peer, &byte, 1, NULL, NULL), -EAGAIN);
	assert_memory_equal(f->config, m.data, 4);
	assert_int_equal(ask_plain(f, VFU_DEVICE_RESET, NULL, 0), 0);
}

static int
write_multi(struct fixture *f, uint64_t count, unsigned int writes, struct vfu_region_write *w,
	    uint64_t *done)
{
	static uint8_t bytes[8 + 64 * sizeof(struct vfu_region_write)];
	int rc;

	memcpy(bytes, &count, sizeof(count));
	memcpy(bytes + 8, w, writes * sizeof(*w));
	rc = ask(f, VFU_REGION_WRITE_MULTI, bytes, 8 + writes * sizeof(*w), NULL, 0, &answer);
	if (rc == 0) {
		assert_int_equal(answer.length, 8);
		memcpy(done, answer.payload, sizeof(*done));
	}
	return rc;
}

static void
test_write_multi(void **state)
{
	struct fixture *f = *state;
	struct vfu_region_write w[3] = { { 0, 7, 4, { 1, 2, 3, 4 } },
					 { 8, 7, 8, { 5, 6 } },
					 { 16, 7, 1, { 9 } } };
	uint64_t done = 0;

	assert_int_equal(write_multi(f, 3, 3, w, &done), 0);
	assert_int_equal(done, 3);
	assert_int_equal(f->config[3], 4);
	assert_int_equal(f->config[9], 6);
	assert_int_equal(f->config[16], 9);

	/* One bad one: none is done. */
	w[0].data[0] = 77;
	w[2].count = 9;
	assert_int_equal(write_multi(f, 3, 3, w, &done), -EINVAL);
	w[2].count = 0;
	assert_int_equal(write_multi(f, 3, 3, w, &done), -EINVAL);
	w[2].count = 8;
	w[2].offset = ~0ull;
	assert_int_equal(write_multi(f, 3, 3, w, &done), -EINVAL);
	w[2].region = 2;
	w[2].offset = 0;
	assert_int_equal(write_multi(f, 3, 3, w, &done), -EPERM);
	assert_int_equal(f->config[0], 1);
	assert_int_equal(write_multi(f, 2, 3, w, &done), -EINVAL);
	assert_int_equal(write_multi(f, 4, 3, w, &done), -EINVAL);
	assert_int_equal(write_multi(f, 0, 0, w, &done), -EINVAL);
	assert_int_equal(write_multi(f, ~0ull, 1, w, &done), -EINVAL);
	/* 2^61 * 24 + 8 wraps to 8. */
	assert_int_equal(write_multi(f, 1ull << 61, 0, w, &done), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_REGION_WRITE_MULTI, w, 7), -EINVAL);
}

static void
test_irq_info(void **state)
{
	struct fixture *f = *state;
	struct vfu_irq_info info = { .argsz = sizeof(info), .index = VFU_PCI_MSIX };

	assert_int_equal(ask(f, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info), NULL, 0, &answer), 0);
	memcpy(&info, answer.payload, sizeof(info));
	assert_int_equal(info.count, MSIX_VECTORS);
	info.index = VFU_PCI_IRQS;
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info)), -EINVAL);
	info.index = 0;
	info.argsz = 15;
	assert_int_equal(ask_plain(f, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info)), -EINVAL);
}

static int
set_irqs(struct fixture *f, uint32_t flags, uint32_t index, uint32_t start, uint32_t count,
	 const void *data, size_t length, const int *fds, unsigned int nfds)
{
	uint8_t bytes[256];
	struct vfu_irq_set set = { sizeof(set), flags, index, start, count };

	memcpy(bytes, &set, sizeof(set));
	if (length > 0)
		memcpy(bytes + sizeof(set), data, length);
	return ask(f, VFU_DEVICE_SET_IRQS, bytes, sizeof(set) + length, fds, nfds, &answer);
}

#define ASSIGN (VFU_IRQ_SET_EVENTFD | VFU_IRQ_SET_TRIGGER)

static void
test_interrupts_reach_their_eventfds(void **state)
{
	struct fixture *f = *state;
	eventfd_t value;
	int fds[16], i;

	for (i = 0; i < 16; i++)
		fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 3), -ENOENT);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 48, 16, NULL, 0, fds, 16), 0);
	assert_int_equal(f->irqs, 16);
	for (i = 0; i < 16; i++) {
		assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 48 + i), 0);
		assert_int_equal(eventfd_read(fds[i], &value), 0);
		assert_int_equal(eventfd_read(fds[(i + 1) % 16], &value), -1);
	}
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 64), -EINVAL);
	assert_int_equal(vfu_server_irq_trigger(f->server, 99, 0), -EINVAL);

	/* Taken back: one, then all. */
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 48, 1, NULL, 0, NULL, 0), 0);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 48), -ENOENT);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 49), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_TRIGGER, VFU_PCI_MSIX, 0, 0,
				  NULL, 0, NULL, 0),
			 0);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 49), -ENOENT);
	for (i = 0; i < 16; i++)
		close(fds[i]);
}

static void
test_a_masked_interrupt_comes_when_unmasked(void **state)
{
	struct fixture *f = *state;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	eventfd_t value;

	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_INTX, 0, 1, NULL, 0, &fd, 1), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_MASK, VFU_PCI_INTX, 0, 1, NULL,
				  0, NULL, 0),
			 0);
	assert_int_equal(f->irq_event, VFU_IRQ_MASKED);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_INTX, 0), 0);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_INTX, 0), 0);
	assert_int_equal(eventfd_read(fd, &value), -1);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_UNMASK, VFU_PCI_INTX, 0, 1,
				  NULL, 0, NULL, 0),
			 0);
	assert_int_equal(eventfd_read(fd, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_MASK, VFU_PCI_ERR, 0, 1, NULL,
				  0, NULL, 0),
			 -EINVAL);
	close(fd);
}

static void
test_a_client_triggers_by_booleans(void **state)
{
	struct fixture *f = *state;
	int fds[3] = { eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK),
		       eventfd(0, EFD_NONBLOCK) };
	const uint8_t which[3] = { 1, 0, 2 };
	eventfd_t value;

	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 0, 3, NULL, 0, fds, 3), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_BOOL | VFU_IRQ_SET_TRIGGER, VFU_PCI_MSIX, 0, 3,
				  which, 3, NULL, 0),
			 0);
	assert_int_equal(eventfd_read(fds[0], &value), 0);
	assert_int_equal(eventfd_read(fds[1], &value), -1);
	assert_int_equal(eventfd_read(fds[2], &value), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_BOOL | VFU_IRQ_SET_TRIGGER, VFU_PCI_MSIX, 0, 3,
				  which, 2, NULL, 0),
			 -EINVAL);
	close(fds[0]);
	close(fds[1]);
	close(fds[2]);
}

static void
test_set_irqs_boundaries(void **state)
{
	struct fixture *f = *state;
	int fd = eventfd(0, EFD_CLOEXEC);
	const int two[2] = { fd, fd };

	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 63, 2, NULL, 0, two, 2), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 64, 1, NULL, 0, &fd, 1), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, ~0u, 2, NULL, 0, two, 2), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 1, ~0u, NULL, 0, &fd, 1), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_IRQS, 0, 1, NULL, 0, &fd, 1), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 0, 2, NULL, 0, &fd, 1), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 0, 1, NULL, 0, two, 2), -EINVAL);
	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 0, 0, NULL, 0, NULL, 0), -EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_EVENTFD | VFU_IRQ_SET_MASK, VFU_PCI_MSIX, 0, 1,
				  NULL, 0, &fd, 1),
			 -ENOTSUP);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_TRIGGER, VFU_PCI_MSIX, 0, 1,
				  NULL, 0, &fd, 1),
			 -EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_BOOL | VFU_IRQ_SET_TRIGGER,
				  VFU_PCI_MSIX, 0, 1, "x", 1, NULL, 0),
			 -EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE | VFU_IRQ_SET_MASK | VFU_IRQ_SET_UNMASK,
				  VFU_PCI_MSIX, 0, 1, NULL, 0, NULL, 0),
			 -EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_SET_NONE, VFU_PCI_MSIX, 0, 1, NULL, 0, NULL, 0),
			 -EINVAL);
	assert_int_equal(set_irqs(f, 0, VFU_PCI_MSIX, 0, 1, NULL, 0, NULL, 0), -EINVAL);
	assert_int_equal(set_irqs(f, 0x40 | ASSIGN, VFU_PCI_MSIX, 0, 1, NULL, 0, &fd, 1), -EINVAL);
	assert_int_equal(ask_plain(f, VFU_DEVICE_SET_IRQS, answer.payload, 19), -EINVAL);
	assert_int_equal(f->irqs, 0);
	close(fd);
}

/* Whatever else a client could send: a write to it might block, or do harm. */
static void
test_only_eventfds_are_signalled(void **state)
{
	struct fixture *f = *state;
	int fds[5], pipes[2], i, before = count_fds();

	assert_int_equal(pipe(pipes), 0);
	fds[0] = pipes[0];
	fds[1] = pipes[1];
	fds[2] = f->peer;
	fds[3] = f->memory_fd;
	fds[4] = open("/dev/null", O_RDWR);
	for (i = 0; i < 5; i++)
		assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 0, 1, NULL, 0, &fds[i], 1),
				 -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	close(fds[4]);
	assert_fds_gone(before);
}

static void
test_a_full_eventfd_does_not_block(void **state)
{
	struct fixture *f = *state;
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(set_irqs(f, ASSIGN, VFU_PCI_MSIX, 0, 1, NULL, 0, &fd, 1), 0);
	assert_int_equal(eventfd_write(fd, ~0ull - 1), 0);
	/* The client makes it blocking again. */
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(vfu_server_irq_trigger(f->server, VFU_PCI_MSIX, 0), 0);
	close(fd);
}

static void
test_descriptors_that_nobody_asked_for_are_closed(void **state)
{
	struct fixture *f = *state;
	unsigned int before = count_fds(), n;
	uint16_t command;
	int fds[9];

	for (n = 0; n < 9; n++)
		fds[n] = f->peer;
	for (command = 0; command < 20; command++) {
		if (command == VFU_VERSION)
			continue;
		for (n = 1; n <= 9; n++)
			assert_int_equal(ask(f, command, NULL, 0, fds, n, &answer), -EINVAL);
	}
	assert_fds_gone(before);
}

static void
test_what_is_not_offered_is_refused(void **state)
{
	static const uint16_t commands[] = {
		0,
		VFU_DEVICE_GET_REGION_IO_FDS,
		VFU_DMA_READ,
		VFU_DMA_WRITE,
		VFU_DIRTY_PAGES,
		VFU_DEVICE_FEATURE,
		VFU_MIG_DATA_READ,
		VFU_MIG_DATA_WRITE,
		19,
		65535,
	};
	struct fixture *f = *state;
	unsigned int i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		assert_int_equal(ask_plain(f, commands[i], "0123456789abcdef", 16), -ENOTSUP);
}

static void
test_reset(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask_plain(f, VFU_DEVICE_RESET, NULL, 0), 0);
	assert_int_equal(f->resets, 1);
	assert_int_equal(ask_plain(f, VFU_DEVICE_RESET, "x", 1), -EINVAL);
	assert_int_equal(f->resets, 1);
}

static void
test_replies_and_types_that_cannot_be_end_the_connection(void **state)
{
	struct fixture *f = *state;
	struct vfu_header header = { .size = sizeof(header) };
	uint32_t type;

	for (type = 1; type < 16; type++) {
		fixture_connect(f);
		assert_int_equal(ask_version(f), 0);
		header.flags = type;
		raw_send(f->peer, &header, sizeof(header), NULL, 0);
		fixture_process(f);
		assert_int_equal(raw_receive(f->peer, answer.payload, 1, NULL, NULL), 0);
		assert_int_equal(f->reason, -EPROTO);
		assert_int_equal(f->disconnected, type);
	}
}

/* A client that asks and does not read: the server keeps one answer, and asks for no more. */
static void
test_answers_that_nobody_reads_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct {
		struct vfu_header header;
		struct vfu_region_access access;
	} m = {
		.header = { .command = VFU_REGION_READ, .size = sizeof(m) },
		.access = { .region = 0, .count = 32768 },
	};
	struct vfu_server_stats stats;
	uint64_t before;
	unsigned int i, bytes = 0;
	long n;

	for (i = 0; i < 2000; i++)
		raw_send(f->peer, &m, sizeof(m), NULL, 0);
	fixture_process(f);
	vfu_server_stats_get(f->server, &stats);
	before = stats.messages;
	assert_true(before < 100);
	fixture_process(f);
	vfu_server_stats_get(f->server, &stats);
	assert_int_equal(stats.messages, before);
	/* It goes on when they are read. */
	while ((n = raw_receive(f->peer, answer.payload, sizeof(answer.payload), NULL, NULL)) > 0) {
		bytes += n;
		fixture_process(f);
	}
	assert_int_equal(bytes % (sizeof(m) + 32768), 0);
	assert_true(bytes / (sizeof(m) + 32768) > before);
}

static void
test_the_silent_are_disconnected(void **state)
{
	struct fixture *f = *state;
	struct pollfd ready;
	unsigned int ms;
	char byte;

	vfu_server_destroy(f->server);
	f->conf.timeout_ms = 50;
	assert_int_equal(vfu_server_create(&f->conf, &f->server), 0);
	fixture_connect(f);
	ready = (struct pollfd){ .fd = vfu_server_fd(f->server), .events = POLLIN };
	/* Nobody but the server's own timer wakes it. */
	for (ms = 0; ms < 60000 && raw_receive(f->peer, &byte, 1, NULL, NULL) != 0; ms++) {
		poll(&ready, 1, 1);
		fixture_process(f);
	}
	assert_int_equal(raw_receive(f->peer, &byte, 1, NULL, NULL), 0);
	assert_int_equal(f->connected, 0);
	assert_int_equal(poll(&ready, 1, 100), 0);
}

static void
test_descriptions_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	struct vfu_server_conf conf = f->conf;
	struct vfu_server *server;
	struct vfu_region *bar0 = &conf.regions[0];

	bar0->areas[0].offset = 1;
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
	bar0->areas[0] = (struct vfu_area){ BAR0_BYTES, 4096 };
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
	bar0->areas[0] = (struct vfu_area){ 0, 0 };
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
	bar0->nareas = 0;
	bar0->fd_offset = ~0ull & ~4095ull;
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
	bar0->fd_offset = 0;
	conf.nregions = VFU_MAX_REGIONS + 1;
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
	conf.nregions = REGIONS;
	conf.irqs[1].count = ~0u;
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
	conf.irqs[1].count = 0;
	conf.caps = (struct vfu_capabilities){ .max_data_xfer_bytes = 4 };
	assert_int_equal(vfu_server_create(&conf, &server), -EINVAL);
}

#define BEFORE(name) cmocka_unit_test_setup_teardown(name, fixture_setup_unversioned, fixture_end)
#define CASE(name)   cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BEFORE(test_nothing_works_before_the_version),
		BEFORE(test_versions),
		CASE(test_a_second_version_is_refused),
		BEFORE(test_a_version_without_reply_is_a_breach),
		CASE(test_device_info),
		CASE(test_region_info_with_areas),
		CASE(test_region_info_of_all),
		CASE(test_the_next_client_maps_another_file),
		CASE(test_region_read_and_write),
		CASE(test_mappable_areas_are_served_by_message_too),
		CASE(test_region_access_boundaries),
		CASE(test_what_the_device_refuses_the_client_hears),
		CASE(test_no_reply_is_kept),
		CASE(test_write_multi),
		CASE(test_irq_info),
		CASE(test_interrupts_reach_their_eventfds),
		CASE(test_a_masked_interrupt_comes_when_unmasked),
		CASE(test_a_client_triggers_by_booleans),
		CASE(test_set_irqs_boundaries),
		CASE(test_only_eventfds_are_signalled),
		CASE(test_a_full_eventfd_does_not_block),
		CASE(test_descriptors_that_nobody_asked_for_are_closed),
		CASE(test_what_is_not_offered_is_refused),
		CASE(test_reset),
		BEFORE(test_replies_and_types_that_cannot_be_end_the_connection),
		CASE(test_answers_that_nobody_reads_are_bounded),
		BEFORE(test_the_silent_are_disconnected),
		CASE(test_descriptions_that_cannot_be),
	};

	return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
