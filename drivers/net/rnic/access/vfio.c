/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Access to a PCI function on vfio-pci. BAR0 is mapped, so that registers are plain loads and stores; where the kernel
 * keeps a part of it for itself, that part is read and written by calls. Memory is mapped for the function's group
 * (vfio_group.c): what the driver asks for with the rights that it asks for, no matter whose memory it is.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <rte_common.h>
#include <rte_io.h>

#include "access/access.h"
#include "access/class.h"
#include "access/vfio.h"
#include "access/vfio_group.h"
#include "access/vfio_info.h"
#include "access/vfio_sys.h"
#include "base/devargs.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "prm/init_seg.h"
#include "prm/uar.h"

#define VECTORS_MAX 64
#define WINDOWS_MAX 16

/* A part of BAR0 that is memory. */
struct window {
	uint64_t offset, length;
	uint8_t *address;
};

struct rnic_vfio {
	struct rnic_access base;
	char name[RNIC_NAME_BYTES];
	char bdf[RNIC_PCI_NAME_BYTES];
	struct rnic_pci_ids ids;
	struct rnic_vfio_group *group;
	int fd;
	bool can_reset;
	uint64_t bar_offset, config_offset; /* of the descriptor */
	struct window windows[WINDOWS_MAX];
	unsigned int window_count;
	int irq_fds[VECTORS_MAX];
	int notice_fd; /* the kernel asks for the function, or tells of an error of its bus */
	uint16_t command_found; /* PCI command register, before us */
	bool enabled;
};

static struct rnic_vfio *
to_vfio(struct rnic_access *access)
{
	return container_of(access, struct rnic_vfio, base);
}

static int
device_ioctl(const struct rnic_vfio *vfio, unsigned long request, void *argument)
{
	return rnic_vfio_sys->ioctl(vfio->fd, request, argument) < 0 ? -errno : 0;
}

/* ---- Configuration space: little-endian ---- */

static int
config_read16(const struct rnic_vfio *vfio, uint32_t offset, uint16_t *value)
{
	uint8_t bytes[2];

	if (rnic_vfio_sys->pread(vfio->fd, bytes, sizeof(bytes), vfio->config_offset + offset) !=
	    sizeof(bytes))
		return -EIO;
	*value = (uint16_t)(bytes[0] | bytes[1] << 8);
	return 0;
}

static int
config_write16(const struct rnic_vfio *vfio, uint32_t offset, uint16_t value)
{
	const uint8_t bytes[2] = { (uint8_t)value, (uint8_t)(value >> 8) };

	return rnic_vfio_sys->pwrite(vfio->fd, bytes, sizeof(bytes),
				     vfio->config_offset + offset) == sizeof(bytes)
		       ? 0
		       : -EIO;
}

/* Let the function decode its registers and reach memory. */
static int
enable_function(struct rnic_vfio *vfio)
{
	const uint16_t wanted = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	uint16_t command;
	int rc = config_read16(vfio, PCI_COMMAND, &command);

	if (rc == 0) {
		if (!vfio->enabled)
			vfio->command_found = command;
		vfio->enabled = true;
		rc = config_write16(vfio, PCI_COMMAND, command | wanted);
	}
	if (rc == 0)
		rc = config_read16(vfio, PCI_COMMAND, &command);
	if (rc == 0 && (command & wanted) != wanted)
		rc = -EIO;
	if (rc != 0)
		RNIC_LOG_NAMED(ERR, vfio->name, "%s: the function cannot be enabled: %s", vfio->bdf,
			       strerror(-rc));
	return rc;
}

static struct rnic_pci_ids
vfio_pci_ids(const struct rnic_access *access)
{
	return ((const struct rnic_vfio *)access)->ids;
}

/* ---- Registers ---- */

static const struct window *
find_window(const struct rnic_vfio *vfio, uint64_t offset, size_t length)
{
	unsigned int i;

	for (i = 0; i < vfio->window_count; i++) {
		const struct window *window = &vfio->windows[i];

		if (offset >= window->offset && window->length >= length &&
		    offset - window->offset <= window->length - length)
			return window;
	}
	return NULL;
}

static volatile void *
find_register(const struct rnic_vfio *vfio, uint64_t offset, size_t length)
{
	const struct window *window = find_window(vfio, offset, length);

	return window != NULL ? window->address + (offset - window->offset) : NULL;
}

static bool
is_in_bar(const struct rnic_vfio *vfio, uint64_t offset, size_t length)
{
	return offset <= vfio->base.bar_size && vfio->base.bar_size - offset >= length;
}

/*
 * All ones may be what the register has; a function that is there tells what it is. Not who: vendor and device are answered
 * by the kernel, from a copy that stays.
 */
static void
check_presence(struct rnic_vfio *vfio)
{
	uint16_t class;

	if (config_read16(vfio, PCI_CLASS_DEVICE, &class) != 0 || class == UINT16_MAX)
		atomic_store(&vfio->base.gone, true);
}

static struct rnic_be32
vfio_read32(struct rnic_access *access, uint64_t offset)
{
	struct rnic_vfio *vfio = to_vfio(access);
	volatile const uint32_t *mapped;
	struct rnic_be32 value = RNIC_BE32(UINT32_MAX);

	if (atomic_load(&access->gone) || !is_in_bar(vfio, offset, sizeof(value)))
		return value;
	mapped = find_register(vfio, offset, sizeof(value));
	if (mapped != NULL) {
		value.raw = *mapped;
		rte_io_rmb();
	} else if (rnic_vfio_sys->pread(vfio->fd, &value, sizeof(value),
					vfio->bar_offset + offset) != sizeof(value)) {
		value.raw = UINT32_MAX;
	}
	if (value.raw == UINT32_MAX)
		check_presence(vfio);
	return value;
}

/* Where the caller is to store the value, in one piece; NULL: nowhere, it is written by a call, or there is no function. */
static volatile void *
begin_write(struct rnic_access *access, uint64_t offset, const void *value, size_t length)
{
	struct rnic_vfio *vfio = to_vfio(access);
	volatile void *mapped = find_register(vfio, offset, length);

	if (atomic_load(&access->gone))
		return NULL;
	/* What is in memory by now is what the register tells of. */
	rte_io_wmb();
	if (mapped == NULL && is_in_bar(vfio, offset, length) &&
	    rnic_vfio_sys->pwrite(vfio->fd, value, length, vfio->bar_offset + offset) !=
		    (ssize_t)length)
		check_presence(vfio);
	return mapped;
}

static void
vfio_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	volatile uint32_t *mapped = begin_write(access, offset, &value, sizeof(value));

	if (mapped != NULL)
		*mapped = value.raw;
}

static void
vfio_write64(struct rnic_access *access, uint64_t offset, struct rnic_be64 value)
{
	volatile uint64_t *mapped = begin_write(access, offset, &value, sizeof(value));

	if (mapped != NULL)
		*mapped = value.raw;
}

static volatile void *
vfio_uar(struct rnic_access *access, uint32_t uar_index)
{
	/* The first pages of the BAR are no UAR's, mapped though they may be. */
	if (uar_index < RNIC_INIT_SEG_PAGES)
		return NULL;
	return find_register(to_vfio(access), (uint64_t)uar_index * RNIC_UAR_PAGE_BYTES,
			     RNIC_UAR_PAGE_BYTES);
}

/* ---- Memory ---- */

static int
vfio_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	 uint64_t *iova)
{
	struct rnic_vfio *vfio = to_vfio(access);
	int rc;

	if (atomic_load(&access->gone))
		return -ENOTCONN;
	rc = rnic_vfio_group_map(vfio->group, vfio->name, address, length, rights, iova);
	if (rc == 0) {
		atomic_fetch_add_explicit(&access->maps, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&access->mapped_bytes, length, memory_order_relaxed);
	}
	return rc;
}

/* The IOMMU's matter: a function that is gone needs not be asked. */
static int
vfio_unmap(struct rnic_access *access, uint64_t iova, size_t length)
{
	struct rnic_vfio *vfio = to_vfio(access);
	int rc = rnic_vfio_group_unmap(vfio->group, vfio->name, iova, length);

	if (rc == 0) {
		atomic_fetch_sub_explicit(&access->maps, 1, memory_order_relaxed);
		atomic_fetch_sub_explicit(&access->mapped_bytes, length, memory_order_relaxed);
	}
	return rc;
}

/* ---- Interrupts, reset, notices ---- */

static int
vfio_irq_fd(struct rnic_access *access, unsigned int vector)
{
	return vector < access->irq_count ? to_vfio(access)->irq_fds[vector] : -EINVAL;
}

/* What cannot be reset is at least kept from memory: its rings are about to be taken away. */
static void
disable_dma(const struct rnic_vfio *vfio)
{
	uint16_t command;

	if (config_read16(vfio, PCI_COMMAND, &command) == 0)
		(void)config_write16(vfio, PCI_COMMAND, command & ~PCI_COMMAND_MASTER);
}

/* The kernel puts back most of what the function had in its configuration. */
static int
vfio_reset(struct rnic_access *access)
{
	struct rnic_vfio *vfio = to_vfio(access);
	int rc;

	if (atomic_load(&access->gone))
		return -ENOTCONN;
	rc = vfio->can_reset ? device_ioctl(vfio, VFIO_DEVICE_RESET, NULL) : -ENOTSUP;
	if (rc != 0) {
		check_presence(vfio);
		disable_dma(vfio);
		RNIC_LOG_NAMED(ERR, vfio->name, "%s: reset failed: %s", vfio->bdf, strerror(-rc));
		return atomic_load(&access->gone) ? -ENOTCONN : rc;
	}
	return enable_function(vfio);
}

static int
vfio_hangup_fd(struct rnic_access *access)
{
	return to_vfio(access)->notice_fd;
}

/* Which of an index' interrupts signal which eventfds. >0: only so many are left. */
static int
set_irqs(const struct rnic_vfio *vfio, unsigned int index, const int *fds, unsigned int count)
{
	char buffer[sizeof(struct vfio_irq_set) + VECTORS_MAX * sizeof(int)]
		__attribute__((aligned(8))) = { 0 };
	struct vfio_irq_set *set = (struct vfio_irq_set *)buffer;
	int rc;

	set->argsz = (uint32_t)(sizeof(*set) + count * sizeof(fds[0]));
	set->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
	set->index = index;
	set->count = count;
	memcpy(set->data, fds, count * sizeof(fds[0]));
	rc = rnic_vfio_sys->ioctl(vfio->fd, VFIO_DEVICE_SET_IRQS, set);
	return rc < 0 ? -errno : rc;
}

/* All of them now: some kernels cannot add any later. */
static int
take_vectors(struct rnic_vfio *vfio)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = VFIO_PCI_MSIX_IRQ_INDEX };
	unsigned int i, count;
	int rc = device_ioctl(vfio, VFIO_DEVICE_GET_IRQ_INFO, &info);

	if (rc != 0 || info.count == 0 || !(info.flags & VFIO_IRQ_INFO_EVENTFD)) {
		RNIC_LOG_NAMED(ERR, vfio->name, "%s has no MSI-X vectors: %s", vfio->bdf,
			       rc != 0 ? strerror(-rc) : "the kernel offers none");
		return -ENODEV;
	}
	count = RTE_MIN(info.count, (uint32_t)VECTORS_MAX);
	for (i = 0; i < count; i++) {
		rc = rnic_eventfd_open(vfio->name, &vfio->irq_fds[i]);
		if (rc != 0)
			return rc;
	}
	rc = set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, vfio->irq_fds, count);
	/* The host is short of vectors. */
	if (rc > 0 && (unsigned int)rc < count) {
		count = (unsigned int)rc;
		rc = set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, vfio->irq_fds, count);
	}
	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, vfio->name, "%s: cannot get any of %u MSI-X vectors: %s",
			       vfio->bdf, count, rc < 0 ? strerror(-rc) : "fewer are left");
		return rc < 0 ? rc : -ENOSPC;
	}
	vfio->base.irq_count = count;
	return 0;
}

/* One descriptor for both. A kernel, or a function, that has neither is as good. */
static int
take_notices(struct rnic_vfio *vfio)
{
	static const unsigned int indices[] = { VFIO_PCI_REQ_IRQ_INDEX, VFIO_PCI_ERR_IRQ_INDEX };
	struct vfio_irq_info info;
	unsigned int i;
	int rc = rnic_eventfd_open(vfio->name, &vfio->notice_fd), set;

	for (i = 0; rc == 0 && i < RTE_DIM(indices); i++) {
		info = (struct vfio_irq_info){ .argsz = sizeof(info), .index = indices[i] };
		if (device_ioctl(vfio, VFIO_DEVICE_GET_IRQ_INFO, &info) != 0 || info.count == 0)
			continue;
		set = set_irqs(vfio, indices[i], &vfio->notice_fd, 1);
		if (set != 0)
			RNIC_LOG_NAMED(WARNING, vfio->name,
				       "%s: the kernel does not tell when %s: %s", vfio->bdf,
				       indices[i] == VFIO_PCI_REQ_IRQ_INDEX
					       ? "it wants the function back"
					       : "the bus has an error",
				       set < 0 ? strerror(-set) : "no vector is left");
	}
	return rc;
}

/* ---- BAR0 ---- */

static int
read_region(const struct rnic_vfio *vfio, unsigned int index, struct vfio_region_info **result)
{
	const struct vfio_region_info question = { .index = index };
	void *answer;
	int rc = rnic_vfio_info_read(vfio->name, vfio->fd, VFIO_DEVICE_GET_REGION_INFO, &question,
				     sizeof(question), &answer);

	if (rc == 0)
		*result = answer;
	return rc;
}

/* The areas that may be mapped, where that is not all of the region: how many, where the first one is; or 0. */
static uint32_t
find_areas(const struct vfio_region_info *info, uint32_t *count)
{
	const uint32_t first = info->flags & VFIO_REGION_INFO_FLAG_CAPS ? info->cap_offset : 0;
	struct vfio_region_info_cap_sparse_mmap cap;
	uint32_t offset = rnic_vfio_info_find(info, first, VFIO_REGION_INFO_CAP_SPARSE_MMAP, &cap,
					      sizeof(cap));

	if (offset == 0)
		return 0;
	offset += sizeof(cap);
	*count = cap.nr_areas;
	return cap.nr_areas <= (info->argsz - offset) / sizeof(cap.areas[0]) ? offset : 0;
}

static int
map_window(struct rnic_vfio *vfio, uint64_t offset, uint64_t length)
{
	void *address;
	int rc;

	if (length == 0 || vfio->window_count == WINDOWS_MAX ||
	    !is_in_bar(vfio, offset, (size_t)length))
		return 0;
	address = rnic_vfio_sys->mmap((size_t)length, vfio->fd, vfio->bar_offset + offset);
	if (address == (void *)-1) {
		rc = -errno;
		RNIC_LOG_NAMED(ERR, vfio->name, "%s: cannot map BAR0: %s", vfio->bdf,
			       strerror(-rc));
		return rc;
	}
	vfio->windows[vfio->window_count++] = (struct window){
		.offset = offset,
		.length = length,
		.address = address,
	};
	return 0;
}

static int
map_windows(struct rnic_vfio *vfio, const struct vfio_region_info *info)
{
	struct vfio_region_sparse_mmap_area area;
	uint32_t i, count = 0, at = find_areas(info, &count);
	int rc = 0;

	if (at == 0)
		return map_window(vfio, 0, info->size);
	for (i = 0; rc == 0 && i < count; i++) {
		memcpy(&area, (const char *)info + at + i * sizeof(area), sizeof(area));
		rc = map_window(vfio, area.offset, area.size);
	}
	return rc;
}

static int
map_bar(struct rnic_vfio *vfio)
{
	const uint32_t wanted = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE |
				VFIO_REGION_INFO_FLAG_MMAP;
	struct vfio_region_info *bar;
	int rc = read_region(vfio, VFIO_PCI_BAR0_REGION_INDEX, &bar);

	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, vfio->name, "%s: no BAR0: %s", vfio->bdf, strerror(-rc));
		return rc;
	}
	if ((bar->flags & wanted) != wanted || bar->size < RNIC_BAR_BYTES_MIN) {
		RNIC_LOG_NAMED(ERR, vfio->name,
			       "%s: BAR0 has %" PRIu64 " bytes (flags 0x%x): at least %" PRIu64
			       ", readable, writable and for mmap(), are needed",
			       vfio->bdf, (uint64_t)bar->size, bar->flags, RNIC_BAR_BYTES_MIN);
		rc = -ENODEV;
	} else {
		vfio->base.bar_size = (size_t)bar->size;
		vfio->bar_offset = bar->offset;
		rc = map_windows(vfio, bar);
	}
	free(bar);
	return rc;
}

/* ---- Coming and going ---- */

static int
check_function(struct rnic_vfio *vfio)
{
	struct vfio_device_info info = { .argsz = sizeof(info) };
	struct vfio_region_info *config;
	struct rnic_pci_ids *ids = &vfio->ids;
	uint16_t revision = 0; /* [7:0]; above it the programming interface */
	int rc = device_ioctl(vfio, VFIO_DEVICE_GET_INFO, &info);

	if (rc == 0)
		rc = read_region(vfio, VFIO_PCI_CONFIG_REGION_INDEX, &config);
	if (rc == 0) {
		vfio->config_offset = config->offset;
		free(config);
		rc = config_read16(vfio, PCI_VENDOR_ID, &ids->vendor);
	}
	if (rc == 0)
		rc = config_read16(vfio, PCI_DEVICE_ID, &ids->device);
	if (rc == 0)
		rc = config_read16(vfio, PCI_REVISION_ID, &revision);
	if (rc != 0) {
		RNIC_LOG_NAMED(ERR, vfio->name, "%s: cannot query the function: %s", vfio->bdf,
			       strerror(-rc));
		return rc;
	}
	ids->revision = (uint8_t)revision;
	if (!(info.flags & VFIO_DEVICE_FLAGS_PCI) || !rnic_class_has(ids->vendor, ids->device)) {
		RNIC_LOG_NAMED(ERR, vfio->name,
			       "%s is %04x:%04x: not a function that this driver knows", vfio->bdf,
			       ids->vendor, ids->device);
		return -ENODEV;
	}
	check_presence(vfio);
	if (atomic_load(&vfio->base.gone)) {
		RNIC_LOG_NAMED(ERR, vfio->name, "%s does not answer: removed, or without power",
			       vfio->bdf);
		return -ENODEV;
	}
	vfio->can_reset = info.flags & VFIO_DEVICE_FLAGS_RESET;
	return 0;
}

/* A closed descriptor disables the function, and takes its interrupts away. */
static void
vfio_close(struct rnic_access *access)
{
	struct rnic_vfio *vfio = to_vfio(access);
	unsigned int i;

	/* Out of reach of any memory, as it was found. */
	if (vfio->enabled && !atomic_load(&access->gone))
		(void)config_write16(vfio, PCI_COMMAND, vfio->command_found);
	for (i = 0; i < vfio->window_count; i++)
		rnic_vfio_sys->munmap(vfio->windows[i].address, (size_t)vfio->windows[i].length);
	if (vfio->group != NULL)
		rnic_vfio_group_put(vfio->group, vfio->bdf, vfio->fd);
	for (i = 0; i < VECTORS_MAX; i++)
		if (vfio->irq_fds[i] >= 0)
			close(vfio->irq_fds[i]);
	if (vfio->notice_fd >= 0)
		close(vfio->notice_fd);
	free(vfio);
}

static const struct rnic_access_ops vfio_ops = {
	.name = "vfio",
	.close = vfio_close,
	.pci_ids = vfio_pci_ids,
	.read32 = vfio_read32,
	.write32 = vfio_write32,
	.write64 = vfio_write64,
	.uar = vfio_uar,
	.map = vfio_map,
	.unmap = vfio_unmap,
	.irq_fd = vfio_irq_fd,
	.reset = vfio_reset,
	.hangup_fd = vfio_hangup_fd,
};

/* The kernel has reset the function when it gave out the descriptor. */
static int
set_up(struct rnic_vfio *vfio)
{
	int rc = rnic_vfio_group_get(vfio->name, vfio->bdf, &vfio->group, &vfio->fd);

	if (rc == 0)
		rc = check_function(vfio);
	if (rc == 0)
		rc = map_bar(vfio);
	if (rc == 0)
		rc = take_vectors(vfio);
	if (rc == 0)
		rc = take_notices(vfio);
	if (rc == 0)
		rc = enable_function(vfio);
	return rc;
}

int
rnic_access_vfio_open(const char *device, const struct rnic_devargs *args,
		      struct rnic_access **access)
{
	struct rnic_vfio *vfio = calloc(1, sizeof(*vfio));
	unsigned int i;
	int rc;

	if (vfio == NULL)
		return -ENOMEM;
	strncpy(vfio->name, device, sizeof(vfio->name) - 1);
	memcpy(vfio->bdf, args->pci, sizeof(vfio->bdf));
	vfio->base.ops = &vfio_ops;
	vfio->base.device = vfio->name;
	vfio->base.any_memory = true;
	vfio->base.comes_back = true;
	vfio->base.hangup_events = POLLIN;
	vfio->base.hangup_reason = "the kernel wants the function back, or its bus has an error";
	for (i = 0; i < VECTORS_MAX; i++)
		vfio->irq_fds[i] = -1;
	vfio->notice_fd = -1;
	rc = set_up(vfio);
	if (rc != 0) {
		vfio_close(&vfio->base);
		return rc;
	}
	*access = &vfio->base;
	return 0;
}
