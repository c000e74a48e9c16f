/* SPDX-License-Identifier: BSD-3-Clause */

#include "attack.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "softrnic/base/random.h"

uint64_t
attack_roll(struct attack *a)
{
	return softrnic_splitmix64(&a->seed);
}

unsigned int
attack_below(struct attack *a, unsigned int n)
{
	return attack_roll(a) % n;
}

uint64_t
attack_number(struct attack *a)
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

	return attack_below(a, 8) == 0
		       ? attack_roll(a)
		       : numbers[attack_below(a, sizeof(numbers) / sizeof(numbers[0]))];
}

uint64_t
attack_mostly(struct attack *a, uint64_t right)
{
	return attack_below(a, 16) == 0 ? attack_number(a) : right;
}

void
attack_open(struct attack *a, uint64_t seed)
{
	memset(a, 0, sizeof(*a));
	a->peer = -1;
	a->seed = seed;
	assert_int_equal(pipe2(a->pipes, O_CLOEXEC), 0);
	a->pool[0] = memory_file(ATTACK_MEMORY_BYTES);
	a->pool[1] = memory_file(4096);
	a->pool[2] = eventfd(0, EFD_CLOEXEC);
	a->pool[3] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->pool[4] = a->pipes[1];
	a->pool[5] = open("/dev/null", O_RDWR | O_CLOEXEC);
	a->pool[6] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	a->pool[7] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a->pool[8] = open("/", O_PATH | O_CLOEXEC);
	a->pool[9] = epoll_create1(EPOLL_CLOEXEC);
	a->pool[10] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	a->pool[11] = inotify_init1(IN_CLOEXEC);
	a->pool[12] = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	a->pool[13] = dup(a->pipes[0]);
	a->pool[14] = memfd_create("vfu-test-sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	a->pool[15] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	a->pool[16] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Not permitted everywhere. */
	a->pool[17] = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (a->pool[17] < 0)
		a->pool[17] = dup(a->pool[2]);
}

void
attack_close(struct attack *a)
{
	vfu_close_fds(a->pool, ATTACK_POOL);
	close(a->pipes[0]);
}

/* The fixed parts of commands, mostly right. @return length of the payload. */
static size_t
payload_memory(struct attack *a, uint16_t command, uint8_t *p)
{
	if (command == VFU_DMA_MAP) {
		struct vfu_dma_map m = {
			attack_mostly(a, 32),
			attack_mostly(a, 1 + attack_below(a, 3)),
			attack_mostly(a, attack_below(a, 64) * 4096ull),
			attack_mostly(a, attack_below(a, 256) * 4096ull),
			attack_mostly(a, (1 + attack_below(a, 8)) * 4096ull),
		};

		memcpy(p, &m, sizeof(m));
		return sizeof(m);
	}
	struct vfu_dma_unmap u = { attack_mostly(a, 24),
				   attack_below(a, 40) == 0 ? 2 : attack_mostly(a, 0),
				   attack_mostly(a, attack_below(a, 256) * 4096ull),
				   attack_mostly(a, (1 + attack_below(a, 8)) * 4096ull) };

	if (u.flags == 2)
		u.iova = u.size = attack_mostly(a, 0);
	memcpy(p, &u, sizeof(u));
	return sizeof(u);
}

static size_t
payload_access(struct attack *a, uint16_t command, uint8_t *p)
{
	static const uint32_t regions[] = { 0, 2, 4, 7, 7, 7, 1, 8 };
	struct vfu_region_access access = { attack_mostly(a, attack_below(a, 0x10000)),
					    attack_mostly(a, regions[attack_below(a, 8)]),
					    attack_mostly(a, 1 + attack_below(a, 64)) };
	const struct attack_spot *spot;

	if (a->nspots > 0 && attack_below(a, 2) == 0) {
		spot = &a->spots[attack_below(a, a->nspots)];
		access.region = spot->region;
		access.offset = spot->offset + attack_below(a, spot->bytes);
		if (attack_below(a, 2) == 0) {
			access.offset &= ~3ull;
			access.count = attack_below(a, 2) ? 4 : 8;
		}
	}
	memcpy(p, &access, sizeof(access));
	if (command == VFU_REGION_READ)
		return sizeof(access);
	return sizeof(access) + (access.count < 2048 ? access.count : 2048);
}

static size_t
payload_multi(struct attack *a, uint8_t *p)
{
	unsigned int n = attack_below(a, 20), i;
	uint64_t count = attack_mostly(a, n);

	memcpy(p, &count, sizeof(count));
	for (i = 0; i < n; i++) {
		struct vfu_region_write w = { attack_mostly(a, attack_below(a, 4088)),
					      attack_mostly(a, 7),
					      attack_mostly(a, 1 + attack_below(a, 8)),
					      { 1 } };

		memcpy(p + 8 + i * sizeof(w), &w, sizeof(w));
	}
	return 8 + n * sizeof(struct vfu_region_write);
}

static size_t
payload_irqs(struct attack *a, uint8_t *p)
{
	static const uint32_t flags[] = { 0x24, 0x24, 0x24, 0x21, 0x22, 0x09, 0x11, 0x0a, 0x12 };
	struct vfu_irq_set set = {
		attack_mostly(a, 20), attack_mostly(a, flags[attack_below(a, 9)]),
		attack_mostly(a, attack_below(a, 4) != 0 ? 2 : attack_below(a, 5)),
		attack_mostly(a, attack_below(a, 64)), attack_mostly(a, attack_below(a, 10))
	};

	memcpy(p, &set, sizeof(set));
	return sizeof(set) + (set.flags & VFU_IRQ_SET_BOOL ? attack_below(a, 64) : 0);
}

static size_t
payload_info(struct attack *a, uint16_t command, uint8_t *p)
{
	uint32_t info[8] = { attack_mostly(a, 32 + attack_below(a, 512)), 0,
			     attack_mostly(a, attack_below(a, 9)) };

	memcpy(p, info, sizeof(info));
	return command == VFU_DEVICE_GET_REGION_INFO ? 32 : 16;
}

static size_t
make_payload(struct attack *a, uint16_t command, uint8_t *p)
{
	static const char version[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":3}}";
	size_t length = attack_below(a, 64), i;

	for (i = 0; i < length; i++)
		p[i] = attack_roll(a);
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
	case VFU_DEVICE_RESET: return attack_mostly(a, 0) == 0 ? 0 : 1;
	default: return length;
	}
}

/* How many descriptors a command would have. */
static unsigned int
usual_fds(struct attack *a, uint16_t command, const uint8_t *payload)
{
	struct vfu_irq_set set;

	if (attack_below(a, 20) == 0)
		return attack_below(a, 10);
	if (command == VFU_DMA_MAP)
		return attack_below(a, 2);
	if (command != VFU_DEVICE_SET_IRQS)
		return 0;
	memcpy(&set, payload, sizeof(set));
	return (set.flags & VFU_IRQ_SET_EVENTFD) && set.count < 10 ? set.count : 0;
}

void
attack_in_pieces(struct attack *a, size_t length, const int *fds, unsigned int nfds)
{
	size_t at = 0, n;

	while (at < length) {
		n = attack_below(a, 8) != 0 ? length - at : 1 + attack_below(a, length - at);
		/* Descriptors with the first piece, or with any other. */
		raw_send(a->peer, a->bytes + at, n, fds, nfds);
		nfds = 0;
		at += n;
		if (attack_below(a, 4) == 0 && a->between != NULL)
			a->between(a);
	}
}

void
attack_send(struct attack *a, uint16_t command)
{
	uint8_t *payload = a->bytes + sizeof(struct vfu_header);
	size_t length = make_payload(a, command, payload);
	struct vfu_header header = { .id = attack_roll(a), .command = command };
	unsigned int nfds = usual_fds(a, command, payload), i;
	int fds[10];

	for (i = 0; i < nfds; i++) {
		unsigned int kind = command == VFU_DMA_MAP	     ? attack_below(a, 2)
				    : command == VFU_DEVICE_SET_IRQS ? 2 + attack_below(a, 2)
								     : attack_below(a, ATTACK_POOL);

		fds[i] = a->pool[attack_below(a, 10) == 0 ? attack_below(a, ATTACK_POOL) : kind];
	}
	/* Cut, stretched, with bits turned over. */
	if (attack_below(a, 30) == 0)
		length = attack_below(a, length + 2);
	if (attack_below(a, 30) == 0 && length > 0)
		payload[attack_below(a, length)] ^= 1 << attack_below(a, 8);
	header.size = sizeof(header) + length;
	if (attack_below(a, 500) == 0)
		header.size = attack_number(a);
	if (attack_below(a, 20) == 0)
		header.flags = VFU_FLAG_NO_REPLY;
	if (attack_below(a, 300) == 0)
		header.flags = attack_roll(a);
	memcpy(a->bytes, &header, sizeof(header));
	attack_in_pieces(a, sizeof(header) + length, fds, nfds);
	a->messages++;
}

/* Of a server that had no CPU for a while many come at once. */
static unsigned int
messages_in(const uint8_t *bytes, size_t length)
{
	struct vfu_header header;
	unsigned int count = 0;
	size_t at;

	for (at = 0; at < length; at += header.size, count++) {
		if (length - at < sizeof(header))
			break;
		memcpy(&header, bytes + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > length - at)
			break;
	}
	return count > 0 ? count : 1;
}

void
attack_read(struct attack *a)
{
	static uint8_t bytes[1 << 17];
	int fds[16];
	unsigned int nfds = 0;
	long n;

	while ((n = raw_receive(a->peer, bytes, sizeof(bytes), fds, &nfds)) > 0) {
		vfu_close_fds(fds, nfds);
		nfds = 0;
		a->answers += messages_in(bytes, n);
	}
}

uint16_t
attack_command(struct attack *a)
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

	return attack_below(a, 40) == 0 ? attack_below(a, 22) : usual[attack_below(a, 13)];
}

void
attack_noise(struct attack *a)
{
	struct vfu_header header = { attack_roll(a), attack_below(a, 20), 16 + attack_below(a, 200),
				     0, 0 };
	size_t i, length = header.size;
	unsigned int nfds;

	if (attack_below(a, 16) == 0)
		header.size = attack_number(a);
	for (i = 0; i < length; i++)
		a->bytes[i] = attack_below(a, 3) ? attack_roll(a) : attack_number(a);
	if (attack_below(a, 8) != 0)
		memcpy(a->bytes, &header, sizeof(header));
	nfds = attack_below(a, 4) == 0 ? attack_below(a, 10) : 0;
	attack_in_pieces(a, length, a->pool + attack_below(a, ATTACK_POOL - 9), nfds);
	a->messages++;
}
