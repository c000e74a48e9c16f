/* SPDX-License-Identifier: BSD-3-Clause */

/* Access to the embedded software RNIC: a device in this process, served by the process's one device thread. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "access/access.h"
#include "access/class.h"
#include "access/direct.h"
#include "access/iova.h"
#include "base/devargs.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "prm/uar.h"

#ifdef RNIC_WITH_SOFTRNIC

#include "access/iova.h"
#include "softrnic/softrnic.h"

#define DIRECT_VECTORS 8

struct rnic_direct {
	struct rnic_access base;
	char name[RNIC_NAME_BYTES];
	bool hosted; /* a reference on the device thread is held */
	struct rnic_pci_ids ids;
	struct softrnic *device;
	uint64_t uar_offset;
	size_t uar_length;
	uint8_t *uar_pages;
	int irq_fds[DIRECT_VECTORS];
	pthread_mutex_t lock; /* of iova and the counts */
	struct rnic_iova_space iova;
};

static struct rnic_direct *
to_direct(struct rnic_access *access)
{
	return container_of(access, struct rnic_direct, base);
}

/* In the device thread: must not block nor call the device. */
static void
direct_interrupt(void *arg, unsigned int vector)
{
	struct rnic_direct *direct = arg;

	rnic_eventfd_signal(direct->irq_fds[vector]);
}

static void
direct_close(struct rnic_access *access)
{
	struct rnic_direct *direct = to_direct(access);
	unsigned int vector;

	if (direct->device != NULL)
		softrnic_destroy(direct->device);
	if (direct->hosted)
		softrnic_host_put();
	for (vector = 0; vector < DIRECT_VECTORS; vector++)
		if (direct->irq_fds[vector] >= 0)
			close(direct->irq_fds[vector]);
	rnic_iova_fini(&direct->iova);
	pthread_mutex_destroy(&direct->lock);
	free(direct);
}

/* It is on no bus: those of the card that it is like, in its first issue. */
static struct rnic_pci_ids
direct_pci_ids(const struct rnic_access *access)
{
	return ((const struct rnic_direct *)access)->ids;
}

static struct rnic_be32
direct_read32(struct rnic_access *access, uint64_t offset)
{
	struct rnic_be32 value;

	if (softrnic_bar_read(to_direct(access)->device, offset, &value, sizeof(value)) != 0)
		return RNIC_BE32(UINT32_MAX);
	return value;
}

static void
direct_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	(void)softrnic_bar_write(to_direct(access)->device, offset, &value, sizeof(value));
}

static void
direct_write64(struct rnic_access *access, uint64_t offset, struct rnic_be64 value)
{
	(void)softrnic_bar_write(to_direct(access)->device, offset, &value, sizeof(value));
}

static volatile void *
direct_uar(struct rnic_access *access, uint32_t uar_index)
{
	struct rnic_direct *direct = to_direct(access);
	uint64_t offset = (uint64_t)uar_index * RNIC_UAR_PAGE_BYTES;

	if (offset < direct->uar_offset ||
	    offset + RNIC_UAR_PAGE_BYTES > direct->uar_offset + direct->uar_length)
		return NULL;
	return direct->uar_pages + (offset - direct->uar_offset);
}

static int
direct_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	   uint64_t *iova)
{
	struct rnic_direct *direct = to_direct(access);
	unsigned int prot = 0;
	int rc;

	if (rights & RNIC_ACCESS_READ)
		prot |= SOFTRNIC_DMA_READ;
	if (rights & RNIC_ACCESS_WRITE)
		prot |= SOFTRNIC_DMA_WRITE;
	pthread_mutex_lock(&direct->lock);
	rc = rnic_iova_alloc(&direct->iova, (uintptr_t)address, length, iova);
	if (rc == 0) {
		rc = softrnic_dma_map(direct->device, *iova, length, address, prot);
		if (rc != 0)
			rnic_iova_free(&direct->iova, *iova, length);
	}
	if (rc == 0) {
		access->maps++;
		access->mapped_bytes += length;
	}
	pthread_mutex_unlock(&direct->lock);
	return rc;
}

static int
direct_unmap(struct rnic_access *access, uint64_t iova, size_t length)
{
	struct rnic_direct *direct = to_direct(access);
	int rc;

	pthread_mutex_lock(&direct->lock);
	rc = softrnic_dma_unmap(direct->device, iova, length);
	if (rc == 0) {
		rnic_iova_free(&direct->iova, iova, length);
		access->maps--;
		access->mapped_bytes -= length;
	}
	pthread_mutex_unlock(&direct->lock);
	return rc;
}

static int
direct_irq_fd(struct rnic_access *access, unsigned int vector)
{
	return vector < DIRECT_VECTORS ? to_direct(access)->irq_fds[vector] : -EINVAL;
}

static int
direct_reset(struct rnic_access *access)
{
	return softrnic_reset(to_direct(access)->device);
}

/* It lives as long as we do. */
static int
direct_hangup_fd(struct rnic_access *access)
{
	RTE_SET_USED(access);
	return -1;
}

static const struct rnic_access_ops direct_ops = {
	.name = "direct",
	.close = direct_close,
	.pci_ids = direct_pci_ids,
	.read32 = direct_read32,
	.write32 = direct_write32,
	.write64 = direct_write64,
	.uar = direct_uar,
	.map = direct_map,
	.unmap = direct_unmap,
	.irq_fd = direct_irq_fd,
	.reset = direct_reset,
	.hangup_fd = direct_hangup_fd,
};

static const char *
unless_empty(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static int
create_device(struct rnic_direct *direct, const struct rnic_devargs *args)
{
	struct softrnic_conf conf = {
		.name = direct->name,
		.wire = unless_empty(args->wire),
		.rx_pcap = unless_empty(args->rx_pcap),
		.tx_pcap = unless_empty(args->tx_pcap),
		.iface = unless_empty(args->iface),
		.seed = args->seed,
		.drop_ppm = args->drop,
		.dup_ppm = args->dup,
		.reorder_ppm = args->reorder,
		.corrupt_ppm = args->corrupt,
		.delay_us = args->delay,
		.rules = unless_empty(args->rule),
		.bytes = args->bytes,
		.bf = args->bf,
		.inline_l2 = args->inline_l2,
		.like = unless_empty(args->like),
		.quirks = unless_empty(args->quirks),
	};
	struct softrnic_poller *poller;
	void *pages;
	int rc;

	memcpy(conf.mac, args->mac, sizeof(conf.mac));
	rc = softrnic_host_get(args->poll_core, &poller);
	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, direct->name,
			       "no device thread (poll=%d): %s; give poll= a CPU of this machine, "
			       "or leave it out",
			       args->poll_core, strerror(-rc));
		return rc;
	}
	direct->hosted = true;
	rc = softrnic_create(poller, &conf, &direct->device);
	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, direct->name, "cannot make the software RNIC (wire=%s): %s",
			       args->wire[0] != '\0' ? args->wire : "loop", strerror(-rc));
		return rc;
	}
	rc = softrnic_bar_mmap(direct->device, &direct->uar_offset, &direct->uar_length, &pages,
			       NULL);
	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, direct->name, "cannot map the UAR pages: %s", strerror(-rc));
		return rc;
	}
	direct->uar_pages = pages;
	direct->base.bar_size = softrnic_bar_size(direct->device);
	direct->ids = (struct rnic_pci_ids){
		.vendor = RNIC_PCI_VENDOR,
		.device = softrnic_like_pci_device(conf.like),
	};
	return 0;
}

static int
create_interrupts(struct rnic_direct *direct)
{
	unsigned int vector;
	int rc;

	for (vector = 0; vector < DIRECT_VECTORS; vector++) {
		rc = rnic_eventfd_open(direct->name, &direct->irq_fds[vector]);
		if (rc != 0)
			return rc;
		rc = softrnic_set_interrupt(direct->device, vector, direct_interrupt, direct);
		if (rc != 0) {
			RNIC_LOG_NAMED(ERR, direct->name, "vector %u: %s", vector, strerror(-rc));
			return rc;
		}
	}
	direct->base.irq_count = DIRECT_VECTORS;
	return 0;
}

int
rnic_access_direct_open(const char *device, const struct rnic_devargs *args,
			struct rnic_access **access)
{
	struct rnic_direct *direct = calloc(1, sizeof(*direct));
	unsigned int vector;
	int rc;

	if (direct == NULL)
		return -ENOMEM;
	strncpy(direct->name, device, sizeof(direct->name) - 1);
	direct->base.ops = &direct_ops;
	direct->base.device = direct->name;
	direct->base.any_memory = true;
	for (vector = 0; vector < DIRECT_VECTORS; vector++)
		direct->irq_fds[vector] = -1;
	pthread_mutex_init(&direct->lock, NULL);
	rnic_iova_init_far(&direct->iova);

	rc = create_device(direct, args);
	if (rc == 0)
		rc = create_interrupts(direct);
	if (rc != 0) {
		direct_close(&direct->base);
		return rc;
	}
	*access = &direct->base;
	return 0;
}

struct softrnic *
rnic_access_direct_device(struct rnic_access *access)
{
	return to_direct(access)->device;
}

int
rnic_access_direct_stats(struct rnic_access *access,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	struct softrnic_stats stats;

	if (access->ops != &direct_ops)
		return -ENOTSUP;
	softrnic_stats_get(to_direct(access)->device, &stats);
	softrnic_stats_each(&stats, fn, arg);
	return 0;
}

#else /* a build for metal alone */

int
rnic_access_direct_open(const char *device, const struct rnic_devargs *args,
			struct rnic_access **access)
{
	RTE_SET_USED(args);
	RTE_SET_USED(access);
	RNIC_LOG_NAMED(
		ERR, device,
		"this build has no software RNIC (-Dsoftrnic=false); name a softrnicd's with "
		"socket=PATH");
	return -ENOTSUP;
}

struct softrnic *
rnic_access_direct_device(struct rnic_access *access)
{
	RTE_SET_USED(access);
	return NULL;
}

int
rnic_access_direct_stats(struct rnic_access *access,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	RTE_SET_USED(access);
	RTE_SET_USED(fn);
	RTE_SET_USED(arg);
	return -ENOTSUP;
}

#endif
