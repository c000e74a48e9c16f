/* SPDX-License-Identifier: BSD-3-Clause */

#include "harness.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"

struct softrnic_poller {
	unsigned int polls; /* since the last access to a register */
};

struct softrnic {
	struct softrnic_poller *poller;
	struct vfu_client *client;
	int fd;
};

int
softrnic_poller_create(struct softrnic_poller **out)
{
	*out = calloc(1, sizeof(**out));
	return *out == NULL ? -ENOMEM : 0;
}

int
softrnic_poller_destroy(struct softrnic_poller *poller)
{
	free(poller);
	return 0;
}

/* The daemon polls: wait for it, shortly at first. The harness gives up after 1,000 polls, which are a minute. */
unsigned int
softrnic_poll(struct softrnic_poller *poller)
{
	usleep(++poller->polls < 100 ? 50 : poller->polls < 500 ? 10000 : 100000);
	return 0;
}

struct vfu_client *
client_connect(const char *socket)
{
	const struct vfu_client_conf conf = {
		.name = "test", .path = socket, .fd = -1, .timeout_ms = 30000
	};
	struct vfu_client *client = NULL;

	assert_int_equal(vfu_client_open(&conf, &client), 0);
	return client;
}

void
client_bus_master(struct vfu_client *client, bool on)
{
	uint16_t command = PCI_COMMAND_MEMORY | (on ? PCI_COMMAND_MASTER : 0);

	if (vfu_client_region_write(client, PCI_REGION, PCI_COMMAND, &command, sizeof(command)) !=
	    0)
		fprintf(stderr, "cannot write the command register\n");
}

int
softrnic_create(struct softrnic_poller *poller, const struct softrnic_conf *conf,
		struct softrnic **out)
{
	const struct vfu_client_conf vfu = {
		.name = "test",
		.path = conf->name,
		.fd = -1,
		.timeout_ms = 30000,
	};
	struct softrnic *dev = calloc(1, sizeof(*dev));
	int rc;

	if (dev == NULL)
		return -ENOMEM;
	dev->poller = poller;
	dev->fd = -1;
	rc = vfu_client_open(&vfu, &dev->client);
	if (rc != 0) {
		free(dev);
		return rc;
	}
	client_bus_master(dev->client, true);
	*out = dev;
	return 0;
}

void
softrnic_destroy(struct softrnic *dev)
{
	vfu_client_close(dev->client);
	if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

int
softrnic_bar_read(struct softrnic *dev, uint64_t offset, void *data, size_t length)
{
	return vfu_client_region_read(dev->client, VFU_PCI_BAR0, offset, data, length);
}

int
softrnic_bar_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length)
{
	dev->poller->polls = 0;
	return vfu_client_region_write(dev->client, VFU_PCI_BAR0, offset, data, length);
}

/* The harness has its memory from the heap: put a file under it that can be shared. free() unmaps it with the rest. */
int
softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
		 unsigned int prot)
{
	_Static_assert(SOFTRNIC_DMA_READ == VFU_DMA_FLAG_READ, "rights have the same bits");
	_Static_assert(SOFTRNIC_DMA_WRITE == VFU_DMA_FLAG_WRITE, "rights have the same bits");

	dev->fd = memfd_create("test", MFD_CLOEXEC);
	if (dev->fd < 0 || ftruncate(dev->fd, (off_t)length) != 0 ||
	    mmap(address, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, dev->fd, 0) !=
		    address)
		return -errno;
	return vfu_client_dma_map(dev->client, iova, length, prot, dev->fd, 0);
}

struct vfu_client *
client_of(struct softrnic *dev)
{
	return dev->client;
}

int
client_memory_fd(struct softrnic *dev)
{
	return dev->fd;
}

void
client_wait_for_end(struct vfu_client *client)
{
	for (unsigned int i = 0; i < 6000; i++) {
		if (vfu_client_process(client) == -ENOTCONN)
			return;
		usleep(i < 500 ? 100 : 10000);
	}
	fail_msg("a client whose memory has vanished is still served");
}
