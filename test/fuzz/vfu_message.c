/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a vfio-user server and a client that is the input.
 *
 *   byte 0   bit 0: negotiate first
 *   then messages, each
 *     u8     bits 4..0 command, bit 5 no reply, bit 6 the header is the input's own 16 bytes, bit 7 descriptors come
 *     u16    bytes that follow (header of its own, payload), as far as there are any
 *     u8     only with bit 7: bits 3..0 how many descriptors, bits 7..4 which
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfio_user/server.h"

#define REGION_BYTES 0x4000
#define ACCESS_BYTES 8
#define MAX_FDS	     9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t region[REGION_BYTES];
static struct vfu_server *fuzzed;
static long maps;

/* What the server promises to prevent. A fuzzer finds by crashes. */
static void
must(int condition)
{
	if (!condition)
		abort();
}

static int
fuzz_read(void *arg, unsigned int index, uint64_t offset, void *data, size_t length)
{
	(void)arg;
	must(index == 0 || index == 7);
	memcpy(data, region + offset, length);
	return length == 13 ? -EIO : 0;
}

static int
fuzz_write(void *arg, unsigned int index, uint64_t offset, const void *data, size_t length)
{
	(void)arg;
	must(index == 0 || index == 7);
	must(index == 7 || offset / ACCESS_BYTES == (offset + length - 1) / ACCESS_BYTES);
	memcpy(region + offset, data, length);
	/* Some writes take long, and end the look. */
	if (offset >= REGION_BYTES / 2)
		vfu_server_charge(fuzzed, 2000);
	return length == 13 ? -EIO : 0;
}

static int
fuzz_map(void *arg, const struct vfu_dma_region *r)
{
	(void)arg;
	must(r->size > 0 && r->iova + (r->size - 1) >= r->iova);
	if (r->address != NULL) {
		volatile uint8_t *last = (uint8_t *)r->address + r->size - 1;

		(void)*last;
		if (r->flags & VFU_DMA_FLAG_WRITE)
			*last = 1;
	}
	if (r->size == 0x3000)
		return -ENOMEM;
	maps++;
	return 0;
}

static void
fuzz_unmap(void *arg, const struct vfu_dma_region *r)
{
	(void)arg;
	if (r->address != NULL)
		(void)*(volatile uint8_t *)r->address;
	maps--;
}

static int
fuzz_reset(void *arg)
{
	(void)arg;
	return 0;
}

static const struct vfu_server_ops ops = {
	.region_read = fuzz_read,
	.region_write = fuzz_write,
	.dma_map = fuzz_map,
	.dma_unmap = fuzz_unmap,
	.reset = fuzz_reset,
};

static void
fuzz_done(void *arg, int error)
{
	(void)arg;
	(void)error;
}

static void
fuzz_log(void *arg, enum vfu_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	must(strlen(message) < 512);
}

/* Made once: descriptors of all kinds. */
static const int *
fuzz_fds(void)
{
	static int fds[16];
	int pair[2], i;

	if (fds[0] > 0)
		return fds;
	for (i = 0; i < 5; i++) {
		fds[i] = memfd_create("fuzz", MFD_CLOEXEC);
		must(ftruncate(fds[i], 0x4000) == 0);
	}
	for (; i < 12; i++)
		fds[i] = eventfd(0, EFD_CLOEXEC);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	fds[12] = pair[0];
	fds[13] = pair[1];
	fds[14] = open("/dev/null", O_RDWR | O_CLOEXEC);
	fds[15] = open("/", O_RDONLY | O_CLOEXEC);
	return fds;
}

static void
fuzz_send(int fd, const void *bytes, size_t length, unsigned int nfds, unsigned int kind)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	unsigned int i;
	int fds[MAX_FDS];

	if (nfds > 0) {
		for (i = 0; i < nfds; i++)
			fds[i] = fuzz_fds()[(kind + i) % 16];
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nfds);
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
fuzz_drain(struct vfu_server *server, int peer)
{
	static uint8_t bytes[1 << 16];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		vfu_server_process(server);
		/* Descriptors of answers are not asked for: the kernel closes them. */
		while (recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			continue;
	}
}

/* @return bytes of the input used. */
static size_t
fuzz_message(const uint8_t *data, size_t size, int peer)
{
	static uint8_t bytes[sizeof(struct vfu_header) + 65536];
	struct vfu_header header = { .id = 1 };
	unsigned int nfds = 0, kind = 0;
	size_t at = 3, length;

	if (size < 4)
		return size;
	length = data[1] | data[2] << 8;
	if (data[0] & 0x80) {
		nfds = (data[3] & 0xf) % (MAX_FDS + 1);
		kind = data[3] >> 4;
		at++;
	}
	if (length > size - at)
		length = size - at;
	if (data[0] & 0x40) {
		if (length > 0)
			fuzz_send(peer, data + at, length, nfds, kind);
		return at + length;
	}
	header.command = data[0] & 0x1f;
	header.flags = data[0] & 0x20 ? VFU_FLAG_NO_REPLY : 0;
	header.size = sizeof(header) + length;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), data + at, length);
	fuzz_send(peer, bytes, header.size, nfds, kind);
	return at + length;
}

static void
fuzz_device_acts(struct vfu_server *server)
{
	static uint8_t data[64];

	vfu_server_irq_trigger(server, 2, 1);
	vfu_server_dma_read(server, 0x1000, data, 16, fuzz_done, NULL);
	vfu_server_dma_write(server, 0x2000, data, 16, fuzz_done, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t version[] = "\1\0\1\0\27\0\0\0\0\0\0\0\0\0\0\0"
					 "\0\0\1\0{}";
	struct vfu_server_conf conf = {
		.name = "fuzz0",
		.ops = &ops,
		.log = fuzz_log,
		.nregions = 9,
		.nirqs = 5,
		.caps = { 8, 4096, 64, VFU_PGSIZES, true },
	};
	struct vfu_server *server;
	size_t at = 1;
	int pair[2];

	if (size < 1)
		return 0;
	conf.regions[0] = (struct vfu_region){
		.size = REGION_BYTES,
		.flags = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE,
		.access_bytes = ACCESS_BYTES,
		.mappable = true,
		.fd = fuzz_fds()[0],
		.nareas = 1,
		.areas = { { 0x1000, 0x1000 } },
	};
	conf.regions[7] =
		(struct vfu_region){ .size = 256,
				     .flags = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE };
	conf.irqs[0] = (struct vfu_irq_type){ 1, VFU_IRQ_FLAG_MASKABLE };
	conf.irqs[2] = (struct vfu_irq_type){ 8, VFU_IRQ_FLAG_MASKABLE };
	must(vfu_server_create(&conf, &server) == 0);
	fuzzed = server;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	must(vfu_server_adopt(server, pair[0]) == 0);
	if (data[0] & 1) {
		fuzz_send(pair[1], version, 23, 0, 0);
		fuzz_drain(server, pair[1]);
	}
	while (at < size) {
		at += fuzz_message(data + at, size - at, pair[1]);
		fuzz_drain(server, pair[1]);
		fuzz_device_acts(server);
	}
	close(pair[1]);
	vfu_server_process(server);
	vfu_server_destroy(server);
	must(maps == 0);
	return 0;
}
