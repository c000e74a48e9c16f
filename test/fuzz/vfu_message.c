/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: a vfio-user server and a client that is the input.
 *
 *   byte 0   bit 0: negotiate first; 1: its answers are read at the end alone, and wait; 2: it comes by a socket that is
 *            listened at, and is not the only one; 3: descriptors are closed by a thread; 4: memory in any file
 *   then messages, each
 *     u8     bits 4..0 command, bit 5 no reply, bit 6 the header is the input's own 16 bytes, bit 7 descriptors come
 *     u16    bytes that follow (header of its own, payload), as far as there are any
 *     u8     only with bit 7: bits 3..0 how many descriptors, bits 7..4 which
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vfio_user/server.h"
#include "vfu.h"

#define REGION_BYTES 0x4000
#define ACCESS_BYTES 8
#define MAX_FDS	     9

static uint8_t region[REGION_BYTES];
static struct vfu_server *fuzzed;
static long maps;

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
		vfu_server_spend(fuzzed, 2000);
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

static void
fuzz_irq(void *arg, unsigned int type, unsigned int vector, enum vfu_irq_event event)
{
	(void)arg;
	must(type < 5 && vector < 8 && event <= VFU_IRQ_TRIGGERED);
}

static void
fuzz_connected(void *arg, const struct vfu_peer *client)
{
	(void)arg;
	must(client->pid == getpid());
}

static void
fuzz_disconnected(void *arg, int reason)
{
	(void)arg;
	must(reason <= 0);
}

static const struct vfu_server_ops ops = {
	.region_read = fuzz_read,
	.region_write = fuzz_write,
	.dma_map = fuzz_map,
	.dma_unmap = fuzz_unmap,
	.irq = fuzz_irq,
	.reset = fuzz_reset,
	.connected = fuzz_connected,
	.disconnected = fuzz_disconnected,
};

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
	int fds[MAX_FDS];

	for (unsigned int i = 0; i < nfds; i++)
		fds[i] = fuzz_fds()[(kind + i) % 16];
	fuzz_vfu_send(fd, bytes, length, fds, nfds);
}

static bool slow; /* the client reads nothing */

static void
fuzz_drain(struct vfu_server *server, int peer)
{
	static uint8_t bytes[1 << 16];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (i % 2 == 0)
			vfu_server_process(server);
		else
			vfu_server_process_share(server, 3);
		/* Descriptors of answers are not asked for: the kernel closes them. */
		while (!slow && recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
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
	struct vfu_server_stats stats;

	vfu_server_irq_trigger(server, 2, 1);
	vfu_server_stats_get(server, &stats);
	must(vfu_server_client(server) == NULL || stats.clients > 0);
	must(vfu_server_fd(server) >= 0);
}

/* ---- By a socket in the file system ---- */

static char place[64];

static void
fuzz_place(void)
{
	static char folder[] = "/tmp/fuzz-vfu-XXXXXX";

	if (place[0] != '\0')
		return;
	must(mkdtemp(folder) != NULL);
	snprintf(place, sizeof(place), "%s/s", folder);
}

static int
fuzz_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0);
	memcpy(address.sun_path, place, strlen(place));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

#define OTHERS 10 /* more than may wait */

/* Whoever comes while one is served is told so, whatever it says. */
static void
fuzz_others(struct vfu_server *server, const uint8_t *data, size_t size)
{
	int others[OTHERS];
	unsigned int i;

	for (i = 0; i < OTHERS; i++)
		others[i] = fuzz_connect();
	vfu_server_process(server);
	for (i = 0; i < OTHERS; i++)
		if (others[i] >= 0 && i % 3 != 0)
			fuzz_send(others[i], data, size < 64 ? size : 64, 0, 0);
	vfu_server_process(server);
	for (i = 0; i < OTHERS; i++)
		if (others[i] >= 0)
			close(others[i]);
	vfu_server_process(server);
}

static void
regions(struct vfu_server_conf *conf)
{
	const uint32_t flags = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE;

	conf->regions[0] = (struct vfu_region){
		.size = REGION_BYTES,
		.flags = flags,
		.access_bytes = ACCESS_BYTES,
		.mappable = true,
		.fd = fuzz_fds()[0],
		.nareas = 1,
		.areas = { { 0x1000, 0x1000 } },
	};
	conf->regions[7] = (struct vfu_region){ .size = 256, .flags = flags };
	conf->irqs[0] = (struct vfu_irq_type){ 1, VFU_IRQ_FLAG_MASKABLE };
	conf->irqs[2] = (struct vfu_irq_type){ 8, VFU_IRQ_FLAG_MASKABLE };
}

/* The client's socket. */
static int
client_come(struct vfu_server *server, bool listens)
{
	int pair[2];

	if (listens) {
		pair[1] = fuzz_connect();
		must(pair[1] >= 0);
		vfu_server_process(server);
		return pair[1];
	}
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	if (slow)
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int));
	must(vfu_server_adopt(server, pair[0]) == 0);
	return pair[1];
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
	int client;

	if (size < 1)
		return 0;
	regions(&conf);
	conf.any_file = (data[0] & 0x10) != 0;
	slow = (data[0] & 2) != 0;
	if (data[0] & 4) {
		fuzz_place();
		conf.path = place;
	}
	must(vfu_server_create(&conf, &server) == 0);
	fuzzed = server;
	if (data[0] & 8)
		must(vfu_server_start_threads(server) == 0);
	client = client_come(server, conf.path != NULL);
	if (data[0] & 1) {
		fuzz_send(client, version, 23, 0, 0);
		fuzz_drain(server, client);
	}
	while (at < size) {
		at += fuzz_message(data + at, size - at, client);
		fuzz_drain(server, client);
		fuzz_device_acts(server);
	}
	if (conf.path != NULL)
		fuzz_others(server, data, size);
	if (slow) {
		slow = false;
		fuzz_drain(server, client);
	}
	close(client);
	vfu_server_process(server);
	vfu_server_destroy(server);
	if (conf.path != NULL)
		unlink(place);
	must(maps == 0);
	return 0;
}

/* ---- Seeds ---- */

/* kind: of the descriptors; no_reply and how many of them as byte 0 of a message has it. */
static void
put_message(struct fuzz_seed *seed, uint8_t command, unsigned int nfds, unsigned int kind,
	    const void *payload, uint16_t bytes)
{
	const uint8_t head[4] = { (uint8_t)(command | (nfds > 0 ? 0x80 : 0)), (uint8_t)bytes,
				  (uint8_t)(bytes >> 8), (uint8_t)(nfds | kind << 4) };

	fuzz_put(seed, head, nfds > 0 ? 4 : 3);
	fuzz_put(seed, payload, bytes);
}

static void
put_map(struct fuzz_seed *seed, unsigned int nfds, unsigned int kind, uint32_t flags,
	uint64_t offset, uint64_t iova, uint64_t size)
{
	const struct vfu_dma_map map = { sizeof(map), flags, offset, iova, size };

	put_message(seed, VFU_DMA_MAP, nfds, kind, &map, sizeof(map));
}

void
fuzz_seeds_write(void)
{
	static const uint32_t flags[] = { 1, 2, 3, 0, 4, 7, 8, 0xb, 0x13, 0x23, 0x40 };
	static struct fuzz_seed seed;
	unsigned int how, i, kind;

	for (how = 0; how < 32; how++) {
		const uint8_t first = (uint8_t)(how | 1);

		/* Answers that do not fit the socket, with descriptors and without. */
		seed.used = 0;
		fuzz_put_u8(&seed, first);
		for (i = 0; i < 12; i++) {
			const struct vfu_region_access read = { 0, 0, 0x3000 };
			const struct vfu_region_info info = { .argsz = 256 };

			put_message(&seed, VFU_REGION_READ, 0, 0, &read, sizeof(read));
			put_message(&seed, VFU_DEVICE_GET_REGION_INFO, 0, 0, &info, sizeof(info));
		}
		fuzz_seed_write(&seed, "slow-%u", how);
	}
	for (kind = 0; kind < 16; kind++) {
		const uint8_t first = (uint8_t)(kind & 1 ? 0x11 : 1);

		seed.used = 0;
		fuzz_put_u8(&seed, first);
		for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			put_map(&seed, 1, kind, flags[i], 0, i << 16, 0x2000);
		/* The same pages of one file again, others, beyond its end, and not at all. */
		put_map(&seed, 1, kind, 3, 0, 0x100000, 0x2000);
		put_map(&seed, 1, kind, 3, 0x1000, 0x110000, 0x1000);
		put_map(&seed, 1, kind, 3, 0x10000, 0x120000, 0x1000);
		put_map(&seed, 1, kind, 3, 0x800, 0x130000, 0x1000);
		put_map(&seed, 2, kind, 3, 0, 0x140000, 0x1000);
		put_map(&seed, 0, kind, 3, 0, 0x150000, 0x1000);
		put_map(&seed, 0, kind, 3, 0, 0x150800, 0x1000);
		for (i = 0; i < 20; i++)
			put_map(&seed, 1, kind, 3, 0, 0x200000 + (i << 16), 0x1000);
		fuzz_seed_write(&seed, "map-%u", kind);
	}
}
