/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a vfio-user client and a server that is the input: the bytes that it sends from its first to its last.
 * Byte 0: bits 3..0 how many descriptors come, from 9 on by fives; bit 5: they come late, when the caller, which is to end,
 * has waited for some answers in vain; bit 6: what the client sends waits for the server, which does not read, or not before
 * that; bit 7: the server is silent in the end, and does not go, and what would come late does not.
 * Bytes 1 and 2: bits 11..0: before which byte the descriptors come; bit 12: the driver has no memory without a descriptor;
 * bit 13: halfway it says that all is to end now; bit 14: in the end the server neither reads nor writes any more.
 * The client's ids count from 0, so answers to them can be guessed.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfio_user/client.h"
#include "vfu.h"

#define LARGE_READS 3
#define LATE_CALLS  3 /* that have waited in vain */
#define CALL_LOOKS  4 /* at its patience: before the request, and in two short waits */

enum flag {
	FLAG_LATE = 0x20,
	FLAG_FULL = 0x40,
	FLAG_SILENT = 0x80,
};

enum place {
	PLACE_MASK = 0x0fff,
	PLACE_END = 0x2000,
	PLACE_GONE = 0x4000,
};

static struct server {
	int fd;
	unsigned int flags, place, nfds, looks;
	const uint8_t *rest;
	size_t bytes;
	bool late;
} server;

static int
fuzz_memory(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		must(ftruncate(fd, 0x4000) == 0);
		must(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	}
	return fd;
}

static void
fuzz_send(int fd, const uint8_t *bytes, size_t length, unsigned int nfds)
{
	int fds[FUZZ_VFU_FDS];

	for (unsigned int i = 0; i < nfds; i++)
		fds[i] = fuzz_memory();
	fuzz_vfu_send(fd, bytes, length, fds, nfds);
}

/* What it has not said yet; then no more. */
static void
fuzz_say_rest(void)
{
	if (server.bytes > 0)
		fuzz_send(server.fd, server.rest, server.bytes, server.nfds);
	if ((server.flags & FLAG_SILENT) == 0)
		shutdown(server.fd, (server.place & PLACE_GONE) != 0 ? SHUT_RDWR : SHUT_WR);
}

/* Of a caller that is to end: it gives each answer a moment. What was asked for is read, and answered, when it has gone. */
static int
fuzz_patience(void *arg, int *fd)
{
	uint8_t bytes[4096];

	(void)arg;
	(void)fd;
	if (!server.late)
		return -1;
	server.looks++;
	if (server.looks > LATE_CALLS * CALL_LOOKS && (server.flags & FLAG_SILENT) == 0) {
		while (recv(server.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			continue;
		fuzz_say_rest();
		server.late = false;
		return -1;
	}
	return server.looks % CALL_LOOKS != 0;
}

/* Interrupts with descriptors, without, and both in turn. */
static void
fuzz_irqs(struct vfu_client *client)
{
	const int fds[5] = { fuzz_memory(), fuzz_memory(), -1, -1, fuzz_memory() };

	vfu_client_irq_set(client, 2, 0, 5, fds);
	vfu_client_irq_set(client, 2, 0, 5, NULL);
	vfu_client_irq_disable(client, 2);
	vfu_client_irq_action(client, 2, 0, 1, VFU_IRQ_SET_MASK);
	vfu_client_irq_action(client, 2, 0, 0, VFU_IRQ_SET_MASK);
}

static void
fuzz_calls(struct vfu_client *client)
{
	struct vfu_region_write w[2] = { { 0, 0, 4, { 0 } }, { 8, 0, 8, { 0 } } };
	static const uint8_t large[1 << 16];
	struct vfu_client_region region;
	struct vfu_capabilities caps;
	uint32_t a, b, c;
	uint64_t value;
	void *address;
	unsigned int i;

	if (vfu_client_region_info(client, 0, &region) == 0) {
		for (i = 0; i < region.nareas; i++) {
			if (vfu_client_region_map(&region, i, &address) != 0)
				continue;
			if (region.flags & VFU_REGION_FLAG_READ)
				(void)*(volatile uint8_t *)address;
			munmap(address, region.areas[i].size);
		}
		vfu_client_region_release(&region);
	}
	vfu_client_device_info(client, &a, &b, &c);
	vfu_client_irq_info(client, 2, &a, &b);
	vfu_client_region_read(client, 0, 0, &value, 8);
	vfu_client_region_write(client, 0, 0, &value, 4);
	vfu_client_region_write_multi(client, w, 2);
	vfu_client_dma_map(client, 0, 0x1000, 3, fuzz_memory(), 0);
	vfu_client_dma_unmap(client, 0, 0x1000);
	if ((server.place & PLACE_END) != 0)
		vfu_client_end_by(client, 0);
	vfu_client_reset(client);
	vfu_client_process(client);
	fuzz_irqs(client);
	vfu_client_region_post(client, 0, 0, &value, 4);
	vfu_client_region_write(client, 0, 0, large, sizeof(large));
	vfu_client_capabilities(client, &caps);
	must(vfu_client_fd(client) >= 0 && vfu_client_server(client) != NULL);
	must(vfu_client_lost(client) <= 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfu_client_conf conf = {
		.name = "fuzz0",
		.log = fuzz_log,
		.patience_ms = fuzz_patience,
	};
	struct vfu_client *client;
	size_t first;
	int pair[2];

	if (size < 3)
		return 0;
	/* The descriptors come with one of the bytes: the second half of the input starts with it. */
	server = (struct server){ .flags = data[0],
				  .place = data[1] | (unsigned int)data[2] << 8,
				  .nfds = data[0] & 0xf };
	if (server.nfds > 8)
		server.nfds *= 5;
	first = server.place & PLACE_MASK;
	data += 3;
	size -= 3;
	if (first > size)
		first = size;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	server.fd = pair[1];
	server.rest = data + first;
	server.bytes = size - first;
	server.late = (server.flags & FLAG_LATE) != 0;
	if (first > 0)
		fuzz_send(pair[1], data, first, 0);
	if (!server.late)
		fuzz_say_rest();
	/* It says no more, and never takes forever. */
	if ((server.flags & FLAG_SILENT) != 0 && !server.late)
		conf.timeout_ms = 1;
	if ((server.flags & FLAG_FULL) != 0)
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int));
	conf.fd = pair[0];
	if (vfu_client_open(&conf, &client) == 0) {
		fuzz_calls(client);
		vfu_client_close(client);
	}
	close(pair[1]);
	return 0;
}

/* ---- Seeds: a server that takes the client, and refuses what is asked for, at once or late ---- */

static void
put_message(struct fuzz_seed *seed, uint16_t id, uint16_t command, uint32_t flags, uint32_t error,
	    const void *payload, size_t bytes)
{
	const struct vfu_header header = {
		.id = id,
		.command = command,
		.size = (uint32_t)(sizeof(header) + bytes),
		.flags = flags,
		.error = error,
	};

	fuzz_put(seed, &header, sizeof(header));
	if (bytes > 0)
		fuzz_put(seed, payload, bytes);
}

/* taken: the answer to VERSION is not an error; reads: requests of its own come between the answers. */
static void
seed_write(const char *name, uint8_t flags, uint16_t place, bool taken, bool reads)
{
	static const uint16_t asked[] = { VFU_DEVICE_GET_REGION_INFO,
					  VFU_DEVICE_GET_INFO,
					  VFU_DEVICE_GET_IRQ_INFO,
					  VFU_REGION_READ,
					  VFU_REGION_WRITE,
					  VFU_REGION_WRITE,
					  VFU_DMA_MAP,
					  VFU_DMA_UNMAP,
					  VFU_DEVICE_RESET,
					  VFU_DEVICE_SET_IRQS };
	const struct vfu_version version = { VFU_VERSION_MAJOR, VFU_VERSION_MINOR };
	const struct vfu_dma_access access = { .iova = 0x1000, .count = 8 },
				    large = { .iova = 0x1000, .count = 0x4000 };
	static struct fuzz_seed seed;
	uint16_t i;

	seed.used = 0;
	fuzz_put_u8(&seed, flags);
	fuzz_put_u16(&seed, place);
	if (taken)
		put_message(&seed, 0, VFU_VERSION, VFU_TYPE_REPLY, 0, &version, sizeof(version));
	else
		put_message(&seed, 0, VFU_VERSION, VFU_TYPE_REPLY | VFU_FLAG_ERROR, EBUSY, NULL, 0);
	/* More than the socket takes. */
	for (i = 0; i < LARGE_READS && (flags & FLAG_FULL) != 0; i++)
		put_message(&seed, i, VFU_DMA_READ, VFU_TYPE_COMMAND, 0, &large, sizeof(large));
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		if (reads)
			put_message(&seed, i, VFU_DMA_READ, VFU_TYPE_COMMAND, 0, &access,
				    sizeof(access));
		put_message(&seed, (uint16_t)(i + 1), asked[i], VFU_TYPE_REPLY | VFU_FLAG_ERROR,
			    EIO, NULL, 0);
	}
	fuzz_seed_write(&seed, "%s", name);
}

void
fuzz_seeds_write(void)
{
	const uint16_t taken = sizeof(struct vfu_header) + sizeof(struct vfu_version),
		       large = LARGE_READS *
			       (sizeof(struct vfu_header) + sizeof(struct vfu_dma_access));

	seed_write("refused", 0, 0, false, false);
	seed_write("refuses-all", 15, 0, true, true);
	seed_write("gone", 0, taken | PLACE_GONE, true, false);
	seed_write("end", 0, PLACE_END, true, true);
	seed_write("late", FLAG_LATE, taken, true, true);
	seed_write("late-and-gone", FLAG_LATE, taken | PLACE_GONE, true, false);
	seed_write("late-and-full", FLAG_LATE | FLAG_FULL, taken + large, true, true);
	seed_write("late-full-and-gone", FLAG_LATE | FLAG_FULL, (taken + large) | PLACE_GONE, true,
		   false);
	seed_write("never", FLAG_LATE | FLAG_SILENT, taken, true, false);
}
