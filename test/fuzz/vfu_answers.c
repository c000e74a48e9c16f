/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a vfio-user client and a server that is the input: the bytes that it sends from its first to its last.
 * Byte 0: bits 3..0 how many descriptors come, bit 6: what the client sends waits for the server, which does not read, bit 7:
 * the server is silent in the end, and does not go; bytes 1 and 2: before which byte the descriptors come. The client's ids
 * count from 0, so answers to them can be guessed.
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfio_user/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int condition)
{
	if (!condition)
		abort();
}

static int
fuzz_dma_read(void *arg, uint64_t iova, void *data, size_t length)
{
	(void)arg;
	must(length > 0 && iova + (length - 1) >= iova);
	memset(data, 1, length);
	return 0;
}

static int
fuzz_dma_write(void *arg, uint64_t iova, const void *data, size_t length)
{
	static volatile uint8_t last;

	(void)arg;
	must(length > 0 && iova + (length - 1) >= iova);
	last = ((const uint8_t *)data)[length - 1];
	(void)last;
	return 0;
}

static void
fuzz_log(void *arg, enum vfu_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	must(strlen(message) < 512);
}

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
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	unsigned int i;
	int memory = fuzz_memory();

	if (nfds > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		for (i = 0; i < nfds; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &memory, sizeof(int));
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
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
		.dma_read = fuzz_dma_read,
		.dma_write = fuzz_dma_write,
	};
	struct vfu_client *client;
	unsigned int nfds, flags;
	size_t first;
	int pair[2];

	if (size < 3)
		return 0;
	/* The descriptors come with one of the bytes: the second half of the input starts with it. */
	flags = data[0];
	nfds = (flags & 0xf) % 9;
	first = data[1] | data[2] << 8;
	data += 3;
	size -= 3;
	if (first > size)
		first = size;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	if (first > 0)
		fuzz_send(pair[1], data, first, 0);
	if (first < size)
		fuzz_send(pair[1], data + first, size - first, nfds);
	/* It says no more, and never takes forever. */
	if ((flags & 0x80) != 0)
		conf.timeout_ms = 1;
	else
		shutdown(pair[1], SHUT_WR);
	if ((flags & 0x40) != 0)
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int));
	conf.fd = pair[0];
	if (vfu_client_open(&conf, &client) == 0) {
		fuzz_calls(client);
		vfu_client_close(client);
	}
	close(pair[1]);
	return 0;
}
