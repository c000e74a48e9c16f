/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a vfio-user client and a server that is the input: the bytes that it sends from its first to its last.
 * Byte 0: how many descriptors come, bytes 1 and 2: before which byte. The client's ids count from 0, so answers to them
 * can be guessed.
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

static void
fuzz_calls(struct vfu_client *client)
{
	struct vfu_region_write w[2] = { { 0, 0, 4, { 0 } }, { 8, 0, 8, { 0 } } };
	struct vfu_client_region region;
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
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfu_client_conf conf = {
		.name = "fuzz0",
		.dma_read = fuzz_dma_read,
		.dma_write = fuzz_dma_write,
	};
	struct vfu_client *client;
	unsigned int nfds;
	size_t first;
	int pair[2];

	if (size < 3)
		return 0;
	/* The descriptors come with one of the bytes: the second half of the input starts with it. */
	nfds = data[0] % 9;
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
	shutdown(pair[1], SHUT_WR);
	conf.fd = pair[0];
	if (vfu_client_open(&conf, &client) == 0) {
		fuzz_calls(client);
		vfu_client_close(client);
	}
	close(pair[1]);
	return 0;
}
