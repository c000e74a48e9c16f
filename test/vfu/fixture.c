/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#define PATIENCE_S 60

static uint8_t *
region_memory(struct fixture *f, unsigned int region)
{
	switch (region) {
	case VFU_PCI_BAR0: return f->bar0;
	case 2: return f->bar2;
	case 4: return f->bar4;
	case VFU_PCI_CONFIG: return f->config;
	default: return NULL;
	}
}

/* The server promises that nothing else reaches the device. */
static bool
in_region(struct fixture *f, unsigned int region, uint64_t offset, size_t length, uint32_t flag)
{
	if (region < REGIONS && length > 0 && length <= f->conf.regions[region].size &&
	    offset <= f->conf.regions[region].size - length &&
	    (f->conf.regions[region].flags & flag))
		return true;
	f->violations++;
	return false;
}

static int
fake_read(void *arg, unsigned int region, uint64_t offset, void *data, size_t length)
{
	struct fixture *f = arg;

	f->reads++;
	vfu_server_spend(f->server, f->charge);
	if (f->refuse != 0)
		return f->refuse;
	if (!in_region(f, region, offset, length, VFU_REGION_FLAG_READ))
		return -EFAULT;
	memcpy(data, region_memory(f, region) + offset, length);
	return 0;
}

static int
fake_write(void *arg, unsigned int region, uint64_t offset, const void *data, size_t length)
{
	struct fixture *f = arg;

	f->writes++;
	vfu_server_spend(f->server, f->charge);
	if (f->refuse != 0)
		return f->refuse;
	if (!in_region(f, region, offset, length, VFU_REGION_FLAG_WRITE))
		return -EFAULT;
	memcpy(region_memory(f, region) + offset, data, length);
	return 0;
}

static int
fake_map(void *arg, const struct vfu_dma_region *region)
{
	struct fixture *f = arg;

	if (f->refuse != 0)
		return f->refuse;
	f->last_map = *region;
	f->maps++;
	return 0;
}

static void
fake_unmap(void *arg, const struct vfu_dma_region *region)
{
	struct fixture *f = arg;

	/* Still there. */
	if (region->address != NULL && region->size > 0)
		(void)*(volatile uint8_t *)region->address;
	f->unmaps++;
}

static void
fake_irq(void *arg, unsigned int type, unsigned int vector, enum vfu_irq_event event)
{
	struct fixture *f = arg;

	(void)type;
	f->irq_event = event;
	f->irq_vector = vector;
	f->irqs++;
}

static int
fake_reset(void *arg)
{
	struct fixture *f = arg;

	f->resets++;
	return f->refuse;
}

static void
fake_connected(void *arg, const struct vfu_peer *peer)
{
	struct fixture *f = arg;

	(void)peer;
	f->connected++;
}

static void
fake_disconnected(void *arg, int reason)
{
	struct fixture *f = arg;

	f->reason = reason;
	f->disconnected++;
}

static const struct vfu_server_ops fake_ops = {
	.region_read = fake_read,
	.region_write = fake_write,
	.dma_map = fake_map,
	.dma_unmap = fake_unmap,
	.irq = fake_irq,
	.reset = fake_reset,
	.connected = fake_connected,
	.disconnected = fake_disconnected,
};

static void
fake_log(void *arg, enum vfu_log_level level, const char *message)
{
	struct fixture *f = arg;
	size_t used;

	(void)level;
	pthread_mutex_lock(&f->log_lock);
	used = strlen(f->log);
	if (used + strlen(message) + 2 > sizeof(f->log))
		used = 0;
	snprintf(f->log + used, sizeof(f->log) - used, "%s\n", message);
	pthread_mutex_unlock(&f->log_lock);
}

bool
fixture_logged(struct fixture *f, const char *text)
{
	bool found;

	pthread_mutex_lock(&f->log_lock);
	found = strstr(f->log, text) != NULL;
	pthread_mutex_unlock(&f->log_lock);
	return found;
}

void
fixture_forget_log(struct fixture *f)
{
	pthread_mutex_lock(&f->log_lock);
	f->log[0] = '\0';
	pthread_mutex_unlock(&f->log_lock);
}

int
memory_file(size_t bytes)
{
	int fd = memfd_create("vfu-test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	return fd;
}

int
region_file(size_t bytes)
{
	int fd = memfd_create("vfu-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

int
fixture_setup_at(struct fixture *f, const char *path)
{
	const uint32_t rw = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE;
	struct vfu_server_conf *conf = &f->conf;

	memset(f, 0, sizeof(*f));
	pthread_mutex_init(&f->log_lock, NULL);
	f->peer = -1;
	f->stop_fd = -1;
	f->memory_fd = region_file(BAR0_BYTES + BAR4_BYTES);
	f->bar0 = mmap(NULL, BAR0_BYTES + BAR4_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		       f->memory_fd, 0);
	assert_ptr_not_equal(f->bar0, MAP_FAILED);
	f->bar4 = f->bar0 + BAR0_BYTES;
	conf->name = "fake0";
	conf->path = path;
	conf->ops = &fake_ops;
	conf->arg = f;
	conf->log = fake_log;
	conf->log_arg = f;
	conf->nregions = REGIONS;
	conf->regions[VFU_PCI_BAR0] = (struct vfu_region){
		.size = BAR0_BYTES,
		.flags = rw,
		.access_bytes = BAR0_ACCESS_BYTES,
		.mappable = true,
		.fd = f->memory_fd,
		.nareas = 1,
		.areas = { { BAR0_AREA, BAR0_AREA_SIZE } },
	};
	conf->regions[2] = (struct vfu_region){ .size = BAR2_BYTES, .flags = VFU_REGION_FLAG_READ };
	conf->regions[4] = (struct vfu_region){
		.size = BAR4_BYTES,
		.flags = rw,
		.mappable = true,
		.fd = f->memory_fd,
		.fd_offset = BAR0_BYTES,
	};
	conf->regions[VFU_PCI_CONFIG] = (struct vfu_region){ .size = CONFIG_BYTES, .flags = rw };
	conf->nirqs = VFU_PCI_IRQS;
	conf->irqs[VFU_PCI_INTX] =
		(struct vfu_irq_type){ 1, VFU_IRQ_FLAG_EVENTFD | VFU_IRQ_FLAG_MASKABLE |
						  VFU_IRQ_FLAG_AUTOMASKED };
	conf->irqs[VFU_PCI_MSIX] =
		(struct vfu_irq_type){ MSIX_VECTORS, VFU_IRQ_FLAG_EVENTFD | VFU_IRQ_FLAG_MASKABLE };
	conf->irqs[VFU_PCI_ERR] = (struct vfu_irq_type){ 1, VFU_IRQ_FLAG_EVENTFD };
	return vfu_server_create(conf, &f->server);
}

void
fixture_teardown(struct fixture *f)
{
	fixture_stop(f);
	vfu_server_destroy(f->server);
	f->server = NULL;
	if (f->peer >= 0)
		close(f->peer);
	f->peer = -1;
	munmap(f->bar0, BAR0_BYTES + BAR4_BYTES);
	close(f->memory_fd);
	pthread_mutex_destroy(&f->log_lock);
	assert_int_equal(f->violations, 0);
}

int
fixture_setup_unversioned(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(fixture_setup_at(f, NULL), 0);
	fixture_connect(f);
	*state = f;
	return 0;
}

int
fixture_setup(void **state)
{
	fixture_setup_unversioned(state);
	assert_int_equal(ask_version(*state), 0);
	return 0;
}

int
fixture_end(void **state)
{
	fixture_teardown(*state);
	free(*state);
	return 0;
}

static void *
server_thread(void *arg)
{
	struct fixture *f = arg;
	struct pollfd ready[2] = {
		{ .fd = vfu_server_fd(f->server), .events = POLLIN },
		{ .fd = f->stop_fd, .events = POLLIN },
	};

	while (!(ready[1].revents & POLLIN)) {
		if (ready[0].revents & POLLIN)
			vfu_server_process(f->server);
		poll(ready, 2, -1);
	}
	return NULL;
}

void
fixture_start(struct fixture *f)
{
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(f->stop_fd >= 0);
	assert_int_equal(pthread_create(&f->thread, NULL, server_thread, f), 0);
	f->running = true;
}

void
fixture_stop(struct fixture *f)
{
	if (!f->running)
		return;
	eventfd_write(f->stop_fd, 1);
	pthread_join(f->thread, NULL);
	close(f->stop_fd);
	f->running = false;
}

void
fixture_connect(struct fixture *f)
{
	int pair[2];

	if (f->peer >= 0)
		close(f->peer);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	fixture_leave(f);
	assert_int_equal(vfu_server_adopt(f->server, pair[0]), 0);
	f->peer = pair[1];
}

void
fixture_leave(struct fixture *f)
{
	const time_t end = time(NULL) + PATIENCE_S;

	fixture_process(f);
	while (f->connected > f->disconnected && time(NULL) < end) {
		(void)fixture_is_ready(f, 1);
		fixture_process(f);
	}
}

bool
fixture_is_ready(struct fixture *f, int patience_ms)
{
	struct pollfd ready = { .fd = vfu_server_fd(f->server), .events = POLLIN };

	return poll(&ready, 1, patience_ms) == 1;
}

void
fixture_process(struct fixture *f)
{
	const time_t end = time(NULL) + PATIENCE_S;

	/* How much a look does is for the machine's clock to say, so how many it takes is not known. */
	for (unsigned int n = 0; fixture_is_ready(f, 0); n++) {
		vfu_server_process(f->server);
		assert_true(n % 1000 != 0 || time(NULL) < end);
	}
}

void
raw_send(int fd, const void *bytes, size_t length, const int *fds, unsigned int nfds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 253)];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds > 0) {
		struct cmsghdr *cmsg;

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

long
raw_receive(int fd, void *bytes, size_t room, int *fds, unsigned int *nfds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 16)];
	} control;
	struct iovec iov = { bytes, room };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	long n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg != NULL) {
		unsigned int count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;
		int got[16];

		memcpy(got, CMSG_DATA(cmsg), count * sizeof(int));
		if (nfds != NULL) {
			*nfds = count;
			memcpy(fds, got, count * sizeof(int));
		}
		/* Who does not want them shall not collect them. */
		for (i = 0; i < count && nfds == NULL; i++)
			close(got[i]);
	}
	return n;
}

int
ask(struct fixture *f, uint16_t command, const void *payload, size_t length, const int *fds,
    unsigned int nfds, struct answer *answer)
{
	static uint8_t bytes[1 << 17];
	struct vfu_header header = {
		.id = f->next_id++,
		.command = command,
		.size = sizeof(header) + length,
	};
	unsigned int i;
	long n;

	assert_true(sizeof(header) + length <= sizeof(bytes));
	memcpy(bytes, &header, sizeof(header));
	if (length > 0)
		memcpy(bytes + sizeof(header), payload, length);
	raw_send(f->peer, bytes, sizeof(header) + length, fds, nfds);
	fixture_process(f);
	answer->nfds = 0;
	n = raw_receive(f->peer, &answer->header, sizeof(answer->header), answer->fds,
			&answer->nfds);
	/* A thread of the server's has something to do first. */
	for (i = 0; i < 60000 && n == -EAGAIN; i++) {
		(void)fixture_is_ready(f, 1);
		fixture_process(f);
		n = raw_receive(f->peer, &answer->header, sizeof(answer->header), answer->fds,
				&answer->nfds);
	}
	if (n == 0)
		return -ENOTCONN;
	assert_int_equal(n, sizeof(answer->header));
	assert_int_equal(answer->header.id, header.id);
	assert_int_equal(answer->header.command, command);
	assert_int_equal(answer->header.flags & VFU_TYPE_MASK, VFU_TYPE_REPLY);
	answer->length = answer->header.size - sizeof(answer->header);
	assert_true(answer->length <= sizeof(answer->payload));
	if (answer->length > 0)
		assert_int_equal(raw_receive(f->peer, answer->payload, answer->length, NULL, NULL),
				 answer->length);
	if (answer->header.flags & VFU_FLAG_ERROR) {
		assert_int_equal(answer->length, 0);
		assert_int_not_equal(answer->header.error, 0);
		return -(int)answer->header.error;
	}
	return 0;
}

int
ask_plain(struct fixture *f, uint16_t command, const void *payload, size_t length)
{
	static struct answer answer;
	int rc = ask(f, command, payload, length, NULL, 0, &answer);

	while (answer.nfds > 0)
		close(answer.fds[--answer.nfds]);
	return rc;
}

int
ask_version(struct fixture *f)
{
	static const char text[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":16,\"pgsizes\":4096,"
				   "\"max_data_xfer_size\":32768,\"write_multiple\":true,"
				   "\"migration\":{\"pgsize\":4096}}}";

	return ask_plain(f, VFU_VERSION, text, sizeof(text));
}

int
client_open(struct fixture *f, const struct vfu_client_conf *conf, struct vfu_client **client)
{
	struct vfu_client_conf c = { 0 };
	int pair[2];

	if (conf != NULL)
		c = *conf;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vfu_server_adopt(f->server, pair[0]), 0);
	c.name = "fake0";
	c.fd = pair[1];
	c.log = fake_log;
	c.log_arg = f;
	fixture_start(f);
	return vfu_client_open(&c, client);
}

unsigned int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* What is open, for a look at why. */
static void
print_fds(void)
{
	char path[32], target[128];
	ssize_t n;
	int fd;

	for (fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 0)
			print_message("# %d: %.*s\n", fd, (int)n, target);
	}
}

void
assert_fds_gone(unsigned int most)
{
	unsigned int naps;

	for (naps = 0; naps < 60000 && count_fds() > most; naps++)
		usleep(1000);
	if (count_fds() > most)
		print_fds();
	assert_in_range(count_fds(), 0, most);
}

unsigned int
count_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		n += strstr(line, "memfd:vfu-test") != NULL;
	fclose(file);
	return n;
}

void
wait_for(atomic_uint *what, unsigned int value)
{
	unsigned int i;

	for (i = 0; i < 60000 && *what < value; i++)
		poll(NULL, 0, 1);
	assert_true(*what >= value);
}
