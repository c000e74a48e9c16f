/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hostile client. Stateless: random bytes behind headers that look right. Stateful: sessions of commands that are
 * right, nearly right and wrong, with any descriptors, in any pieces, from a client that answers, lies, or dies. The
 * server must neither crash, hang, nor keep anything, and nothing that it promised to stop may reach the device.
 */

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfio_user/message.h"

#define POOL	    8 /* kinds of descriptors */
#define MAX_PAYLOAD 4096

struct attack {
	struct fixture f;
	uint64_t seed;
	int pool[POOL];
	int pipes[2];
	unsigned int messages;
	uint8_t bytes[sizeof(struct vfu_header) + MAX_PAYLOAD];
	uint8_t data[64];
	unsigned int transfers, transfers_done;
};

static uint64_t
roll(struct attack *a)
{
	/* splitmix64: any seed gives a good sequence, the same everywhere */
	uint64_t z = a->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int
below(struct attack *a, unsigned int n)
{
	return roll(a) % n;
}

/* Numbers at which arithmetic goes wrong. */
static uint64_t
odd_number(struct attack *a)
{
	static const uint64_t numbers[] = {
		0,	    1,		 2,	     3,
		4,	    7,		 8,	     15,
		16,	    20,		 31,	     32,
		63,	    64,		 65,	     4095,
		4096,	    4097,	 8192,	     32767,
		32768,	    32769,	 0x4000,     0xc000,
		0x10000,    1 << 20,	 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, 1ull << 63, ~0ull - 4095,
		~0ull - 1,  ~0ull,
	};

	return below(a, 8) == 0 ? roll(a) : numbers[below(a, sizeof(numbers) / sizeof(numbers[0]))];
}

/* Mostly a number that is right, else an odd one. */
static uint64_t
mostly(struct attack *a, uint64_t right)
{
	return below(a, 16) == 0 ? odd_number(a) : right;
}

static void
attack_setup(struct attack *a, uint64_t seed)
{
	assert_int_equal(fixture_setup_at(&a->f, NULL), 0);
	a->seed = seed;
	assert_int_equal(pipe2(a->pipes, O_CLOEXEC), 0);
	a->pool[0] = memory_file(64 * 4096);
	a->pool[1] = memory_file(4096);
	a->pool[2] = eventfd(0, EFD_CLOEXEC);
	a->pool[3] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->pool[4] = a->pipes[1];
	a->pool[5] = open("/dev/null", O_RDWR | O_CLOEXEC);
	a->pool[6] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	a->pool[7] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void
attack_end(struct attack *a)
{
	vfu_server_disconnect(a->f.server, 0);
	assert_int_equal(a->transfers, a->transfers_done);
	assert_int_equal(a->f.maps, a->f.unmaps);
	assert_int_equal(a->f.connected, a->f.disconnected);
	vfu_close_fds(a->pool, POOL);
	close(a->pipes[0]);
	fixture_teardown(&a->f);
}

static void
transfer_done(void *arg, int error)
{
	struct attack *a = arg;

	(void)error;
	a->transfers_done++;
}

/* The fixed parts of commands, mostly right. @return length of the payload. */
static size_t
payload_memory(struct attack *a, uint16_t command, uint8_t *p)
{
	if (command == VFU_DMA_MAP) {
		struct vfu_dma_map m = {
			mostly(a, 32),
			mostly(a, 1 + below(a, 3)),
			mostly(a, below(a, 64) * 4096ull),
			mostly(a, below(a, 256) * 4096ull),
			mostly(a, (1 + below(a, 8)) * 4096ull),
		};

		memcpy(p, &m, sizeof(m));
		return sizeof(m);
	}
	struct vfu_dma_unmap u = { mostly(a, 24), below(a, 40) == 0 ? 2 : mostly(a, 0),
				   mostly(a, below(a, 256) * 4096ull),
				   mostly(a, (1 + below(a, 8)) * 4096ull) };

	if (u.flags == 2)
		u.iova = u.size = mostly(a, 0);
	memcpy(p, &u, sizeof(u));
	return sizeof(u);
}

static size_t
payload_access(struct attack *a, uint16_t command, uint8_t *p)
{
	static const uint32_t regions[] = { 0, 2, 4, 7, 7, 7, 1, 8 };
	struct vfu_region_access access = { mostly(a, below(a, 0x10000)),
					    mostly(a, regions[below(a, 8)]),
					    mostly(a, 1 + below(a, 64)) };

	memcpy(p, &access, sizeof(access));
	if (command == VFU_REGION_READ)
		return sizeof(access);
	return sizeof(access) + (access.count < 2048 ? access.count : 2048);
}

static size_t
payload_multi(struct attack *a, uint8_t *p)
{
	unsigned int n = below(a, 20), i;
	uint64_t count = mostly(a, n);

	memcpy(p, &count, sizeof(count));
	for (i = 0; i < n; i++) {
		struct vfu_region_write w = {
			mostly(a, below(a, 4088)), mostly(a, 7), mostly(a, 1 + below(a, 8)), { 1 }
		};

		memcpy(p + 8 + i * sizeof(w), &w, sizeof(w));
	}
	return 8 + n * sizeof(struct vfu_region_write);
}

static size_t
payload_irqs(struct attack *a, uint8_t *p)
{
	static const uint32_t flags[] = { 0x24, 0x24, 0x24, 0x21, 0x22, 0x09, 0x11, 0x0a, 0x12 };
	struct vfu_irq_set set = { mostly(a, 20), mostly(a, flags[below(a, 9)]),
				   mostly(a, below(a, 4) != 0 ? 2 : below(a, 5)),
				   mostly(a, below(a, 64)), mostly(a, below(a, 10)) };

	memcpy(p, &set, sizeof(set));
	return sizeof(set) + (set.flags & VFU_IRQ_SET_BOOL ? below(a, 64) : 0);
}

static size_t
payload_info(struct attack *a, uint16_t command, uint8_t *p)
{
	uint32_t info[8] = { mostly(a, 32 + below(a, 512)), 0, mostly(a, below(a, 9)) };

	memcpy(p, info, sizeof(info));
	return command == VFU_DEVICE_GET_REGION_INFO ? 32 : 16;
}

static size_t
make_payload(struct attack *a, uint16_t command, uint8_t *p)
{
	static const char version[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":3}}";
	size_t length = below(a, 64), i;

	for (i = 0; i < length; i++)
		p[i] = roll(a);
	switch (command) {
	case VFU_VERSION: memcpy(p, version, sizeof(version)); return sizeof(version);
	case VFU_DMA_MAP:
	case VFU_DMA_UNMAP: return payload_memory(a, command, p);
	case VFU_DEVICE_GET_INFO:
	case VFU_DEVICE_GET_REGION_INFO:
	case VFU_DEVICE_GET_IRQ_INFO: return payload_info(a, command, p);
	case VFU_DEVICE_SET_IRQS: return payload_irqs(a, p);
	case VFU_REGION_READ:
	case VFU_REGION_WRITE: return payload_access(a, command, p);
	case VFU_REGION_WRITE_MULTI: return payload_multi(a, p);
	case VFU_DEVICE_RESET: return mostly(a, 0) == 0 ? 0 : 1;
	default: return length;
	}
}

/* How many descriptors a command would have. */
static unsigned int
usual_fds(struct attack *a, uint16_t command, const uint8_t *payload)
{
	struct vfu_irq_set set;

	if (below(a, 20) == 0)
		return below(a, 10);
	if (command == VFU_DMA_MAP)
		return below(a, 2);
	if (command != VFU_DEVICE_SET_IRQS)
		return 0;
	memcpy(&set, payload, sizeof(set));
	return (set.flags & VFU_IRQ_SET_EVENTFD) && set.count < 10 ? set.count : 0;
}

static void
send_in_pieces(struct attack *a, size_t length, const int *fds, unsigned int nfds)
{
	size_t at = 0, n;

	while (at < length) {
		n = below(a, 8) != 0 ? length - at : 1 + below(a, length - at);
		/* Descriptors with the first piece, or with any other. */
		raw_send(a->f.peer, a->bytes + at, n, fds, nfds);
		nfds = 0;
		at += n;
		if (below(a, 4) == 0)
			vfu_server_process(a->f.server);
	}
}

/* One message of a session. */
static void
send_message(struct attack *a, uint16_t command)
{
	uint8_t *payload = a->bytes + sizeof(struct vfu_header);
	size_t length = make_payload(a, command, payload);
	struct vfu_header header = { .id = roll(a), .command = command };
	unsigned int nfds = usual_fds(a, command, payload), i;
	int fds[10];

	for (i = 0; i < nfds; i++) {
		unsigned int kind = command == VFU_DMA_MAP	     ? below(a, 2)
				    : command == VFU_DEVICE_SET_IRQS ? 2 + below(a, 2)
								     : below(a, POOL);

		fds[i] = a->pool[below(a, 10) == 0 ? below(a, POOL) : kind];
	}
	/* Cut, stretched, with bits turned over. */
	if (below(a, 30) == 0)
		length = below(a, length + 2);
	if (below(a, 30) == 0 && length > 0)
		payload[below(a, length)] ^= 1 << below(a, 8);
	header.size = sizeof(header) + length;
	if (below(a, 500) == 0)
		header.size = odd_number(a);
	if (below(a, 20) == 0)
		header.flags = VFU_FLAG_NO_REPLY;
	if (below(a, 300) == 0)
		header.flags = roll(a);
	memcpy(a->bytes, &header, sizeof(header));
	send_in_pieces(a, sizeof(header) + length, fds, nfds);
	a->messages++;
}

/* What the server asked of the client: answered, wrongly answered, left alone. Everything else is just read. */
static void
read_answers(struct attack *a)
{
	static uint8_t bytes[1 << 17];
	int fds[16];
	unsigned int nfds = 0;
	struct vfu_header header;
	struct vfu_dma_access access;
	long n;

	while ((n = raw_receive(a->f.peer, bytes, sizeof(bytes), fds, &nfds)) > 0) {
		vfu_close_fds(fds, nfds);
		nfds = 0;
		if (n < 32)
			continue;
		memcpy(&header, bytes + n - 32, sizeof(header));
		memcpy(&access, bytes + n - 16, sizeof(access));
		if (header.command != VFU_DMA_READ || header.flags != 0 || access.count > 64)
			continue;
		header.flags = VFU_TYPE_REPLY | (below(a, 4) == 0 ? VFU_FLAG_ERROR : 0);
		header.error = below(a, 200);
		header.size = sizeof(header);
		if (!(header.flags & VFU_FLAG_ERROR))
			header.size += sizeof(access) + access.count;
		if (below(a, 50) == 0)
			header.size++;
		memcpy(a->bytes, &header, sizeof(header));
		memcpy(a->bytes + 16, &access, sizeof(access));
		send_in_pieces(a, header.size, NULL, 0);
		a->messages++;
	}
}

/* The device does something of its own. */
static void
device_acts(struct attack *a)
{
	uint64_t iova = mostly(a, below(a, 256) * 4096ull + below(a, 4096));
	size_t length = mostly(a, 1 + below(a, 64));
	const struct vfu_dma_region *region;
	int rc;

	vfu_server_irq_trigger(a->f.server, below(a, 6), below(a, 70));
	region = vfu_server_dma_find(a->f.server, iova, length);
	if (region != NULL && region->address != NULL && (region->flags & VFU_DMA_FLAG_WRITE))
		memset((uint8_t *)region->address + (iova - region->iova), 1, length);
	if (region == NULL || length > 64)
		return;
	rc = below(a, 2)
		     ? vfu_server_dma_read(a->f.server, iova, a->data, length, transfer_done, a)
		     : vfu_server_dma_write(a->f.server, iova, a->data, length, transfer_done, a);
	a->transfers += rc == 0;
}

static void
session(struct attack *a)
{
	static const uint16_t usual[] = {
		VFU_DMA_MAP,
		VFU_DMA_MAP,
		VFU_DMA_MAP,
		VFU_DMA_UNMAP,
		VFU_REGION_READ,
		VFU_REGION_WRITE,
		VFU_REGION_WRITE_MULTI,
		VFU_DEVICE_SET_IRQS,
		VFU_DEVICE_SET_IRQS,
		VFU_DEVICE_GET_REGION_INFO,
		VFU_DEVICE_GET_INFO,
		VFU_DEVICE_GET_IRQ_INFO,
		VFU_DEVICE_RESET,
	};
	unsigned int n = 1 + below(a, 400), i;

	fixture_connect(&a->f);
	if (below(a, 20) != 0)
		send_message(a, VFU_VERSION);
	for (i = 0; i < n; i++) {
		a->f.refuse = below(a, 50) == 0 ? -EIO : 0;
		send_message(a, below(a, 40) == 0 ? below(a, 22) : usual[below(a, 13)]);
		fixture_process(&a->f);
		if (below(a, 8) == 0)
			device_acts(a);
		if (below(a, 4) != 0)
			read_answers(a);
		/* It was hung up on. */
		if (a->f.connected == a->f.disconnected && below(a, 4) == 0)
			break;
	}
	fixture_process(&a->f);
}

static unsigned int
how_many(unsigned int by_default)
{
	return full_run() ? by_default * 100 : by_default;
}

static void
test_stateful_sessions(void **state)
{
	unsigned int fds = count_fds(), want = how_many(50000), taken = 0;
	struct attack *a = calloc(1, sizeof(*a));

	(void)state;
	assert_non_null(a);
	attack_setup(a, 1);
	while (a->messages < want) {
		session(a);
		taken = a->f.maps > taken ? a->f.maps : taken;
	}
	/* It would prove little if all had been refused. */
	assert_true(a->f.connected > want / 4000);
	assert_true(a->f.maps > want / 50);
	assert_true(a->f.irqs > want / 50);
	assert_true(a->transfers_done > want / 1000);
	attack_end(a);
	free(a);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(count_maps(), 0);
}

static void
test_stateless_noise(void **state)
{
	unsigned int fds = count_fds(), want = how_many(50000), i, n, nfds;
	struct attack *a = calloc(1, sizeof(*a));
	uint8_t byte[64];

	(void)state;
	assert_non_null(a);
	attack_setup(a, 2);
	while (a->messages < want) {
		fixture_connect(&a->f);
		if (below(a, 2) != 0)
			assert_int_equal(ask_version(&a->f), 0);
		n = 1 + below(a, 20);
		for (i = 0; i < n; i++) {
			struct vfu_header header = { roll(a), below(a, 20), 16 + below(a, 200), 0,
						     0 };
			size_t j, length = header.size;

			if (below(a, 16) == 0)
				header.size = odd_number(a);
			for (j = 0; j < length; j++)
				a->bytes[j] = below(a, 3) ? roll(a) : odd_number(a);
			if (below(a, 8) != 0)
				memcpy(a->bytes, &header, sizeof(header));
			nfds = below(a, 4) == 0 ? below(a, 10) : 0;
			send_in_pieces(a, length, a->pool, nfds < POOL ? nfds : POOL);
			a->messages++;
			fixture_process(&a->f);
		}
		while (raw_receive(a->f.peer, byte, sizeof(byte), NULL, NULL) > 0)
			fixture_process(&a->f);
	}
	attack_end(a);
	free(a);
	assert_int_equal(count_fds(), fds);
}

/* A whole session, ended at every byte of it. */
static void
test_death_at_every_byte(void **state)
{
	unsigned int fds = count_fds(), cut, at, length = 0, ends[8], nends = 0, i;
	struct attack *a = calloc(1, sizeof(*a));
	static const uint16_t commands[] = { VFU_VERSION,      VFU_DMA_MAP,
					     VFU_DMA_MAP,      VFU_DEVICE_SET_IRQS,
					     VFU_REGION_WRITE, VFU_DEVICE_GET_REGION_INFO };
	static const char version[] = "\0\0\1\0{}";
	struct vfu_dma_map map = { 32, 3, 0, 0, 4096 };
	struct vfu_irq_set set = { 20, 0x24, 2, 0, 1 };
	struct vfu_region_access access = { 0, 7, 8 };
	struct vfu_region_info info = { .argsz = 1000 };
	const struct {
		const void *bytes;
		size_t length;
	} parts[] = { { version, 7 }, { &map, 32 },    { &map, 32 },
		      { &set, 20 },   { &access, 24 }, { &info, 32 } };

	(void)state;
	assert_non_null(a);
	attack_setup(a, 3);
	for (i = 0; i < 6; i++) {
		struct vfu_header header = { i, commands[i], 16 + parts[i].length, 0, 0 };

		map.iova = i * 4096; /* of the next one */
		memcpy(a->bytes + length, &header, sizeof(header));
		memcpy(a->bytes + length + 16, parts[i].bytes,
		       commands[i] == VFU_REGION_WRITE ? 16 : parts[i].length);
		length += header.size;
		ends[nends++] = length;
	}
	for (cut = 0; cut <= length; cut++) {
		fixture_connect(&a->f);
		for (at = 0, i = 0; at < cut; i++) {
			unsigned int n = (ends[i] < cut ? ends[i] : cut) - at;
			int fd = i == 1 ? a->pool[0] : a->pool[2];

			raw_send(a->f.peer, a->bytes + at, n, &fd, i == 1 || i == 3);
			at += n;
			if (cut % 2)
				fixture_process(&a->f);
		}
		close(a->f.peer);
		a->f.peer = -1;
		fixture_process(&a->f);
		assert_int_equal(a->f.connected, a->f.disconnected);
		assert_int_equal(a->f.maps, a->f.unmaps);
		/* Who dies before the answer to its version was never served. */
		assert_true(a->f.connected <= (cut < ends[0] ? 0 : cut - ends[0] + 1));
	}
	assert_true(a->f.connected >= (length - ends[0]) / 2);
	assert_int_not_equal(a->f.maps, 0);
	assert_int_not_equal(a->f.irqs, 0);
	attack_end(a);
	free(a);
	assert_int_equal(count_fds(), fds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stateful_sessions),
		cmocka_unit_test(test_stateless_noise),
		cmocka_unit_test(test_death_at_every_byte),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
