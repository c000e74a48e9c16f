/* SPDX-License-Identifier: BSD-3-Clause */

#include "fake_vfio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/pci_regs.h>

#include "access/vfio_sys.h"
#include "unit.h"

#define FDS_MAX	     1024
#define MAPS_MAX     8192
#define REGION_SHIFT 40
#define CONFIG_BYTES 256
#define VECTORS	     16
#define MSI_FIRST    UINT64_C(0xfee00000)
#define MSI_LAST     UINT64_C(0xfeefffff)
#define ADDRESS_LAST ((UINT64_C(1) << 48) - 1)

struct fake_vfio fake_vfio;
const char *const fake_vfio_bdfs[FAKE_FUNCTIONS] = { "0000:01:00.0", "0000:01:00.1" };

enum kind {
	NOTHING,
	CONTAINER,
	GROUP,
	DEVICE, /* and so on, one for each function */
};

static struct function {
	struct softrnic *softrnic;
	uint8_t config[CONFIG_BYTES];
	int irq_fds[VECTORS];
	int notice_fds[VFIO_PCI_NUM_IRQS];
} functions[FAKE_FUNCTIONS];

static struct map {
	uint64_t iova, length;
} maps[MAPS_MAX];

static unsigned char kinds[FDS_MAX];
static bool attached, has_iommu;
static struct softrnic_poller *poller;
static char sysfs[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int
failed(int error)
{
	errno = error;
	return -1;
}

/* ---- Descriptors ---- */

static int
new_fd(unsigned int kind)
{
	int fd = memfd_create("fake_vfio", MFD_CLOEXEC);

	assert_true(fd >= 0 && fd < FDS_MAX);
	kinds[fd] = (unsigned char)kind;
	return fd;
}

static unsigned int
kind_of(int fd)
{
	assert_true(fd >= 0 && fd < FDS_MAX && kinds[fd] != NOTHING);
	return kinds[fd];
}

static struct function *
function_of(int fd)
{
	assert_true(kind_of(fd) >= DEVICE);
	return &functions[kind_of(fd) - DEVICE];
}

static int
fake_open(const char *path, int flags)
{
	char node[32];

	snprintf(node, sizeof(node), "/dev/vfio/%u", FAKE_GROUP);
	assert_int_equal(flags & O_ACCMODE, O_RDWR);
	if (strcmp(path, "/dev/vfio/vfio") == 0) {
		if (fake_vfio.faults.container_errno != 0)
			return failed(fake_vfio.faults.container_errno);
		fake_vfio.containers++;
		return new_fd(CONTAINER);
	}
	if (strcmp(path, node) != 0)
		return failed(ENOENT);
	if (fake_vfio.faults.node_errno != 0)
		return failed(fake_vfio.faults.node_errno);
	/* One user alone. */
	if (fake_vfio.groups > 0)
		return failed(EBUSY);
	fake_vfio.groups++;
	return new_fd(GROUP);
}

static void
drop_maps(void)
{
	unsigned int i;

	fake_vfio.maps_left += fake_vfio.maps;
	while (fake_vfio.maps > 0) {
		const struct map *map = &maps[--fake_vfio.maps];

		for (i = 0; i < FAKE_FUNCTIONS; i++)
			softrnic_dma_unmap(functions[i].softrnic, map->iova, map->length);
	}
	fake_vfio.mapped_bytes = 0;
}

static void
drop_interrupts(struct function *function)
{
	unsigned int i;

	for (i = 0; i < VECTORS; i++) {
		softrnic_set_interrupt(function->softrnic, i, NULL, NULL);
		if (function->irq_fds[i] >= 0)
			close(function->irq_fds[i]);
		function->irq_fds[i] = -1;
	}
	for (i = 0; i < VFIO_PCI_NUM_IRQS; i++) {
		if (function->notice_fds[i] >= 0)
			close(function->notice_fds[i]);
		function->notice_fds[i] = -1;
	}
}

static int
fake_close(int fd)
{
	switch (kind_of(fd)) {
	case CONTAINER:
		drop_maps();
		has_iommu = false;
		fake_vfio.containers--;
		break;
	case GROUP:
		/* The real one is as unforgiving: the group stays taken. */
		assert_int_equal(fake_vfio.devices, 0);
		attached = false;
		fake_vfio.groups--;
		break;
	default:
		drop_interrupts(function_of(fd));
		softrnic_reset(function_of(fd)->softrnic);
		fake_vfio.devices--;
	}
	kinds[fd] = NOTHING;
	return close(fd);
}

/*
 * Is there room for an answer of that length? If not, how much it takes is all that there is; and it may become longer, when
 * somebody asks again.
 */
static bool
has_room(uint32_t *argsz, uint32_t bytes, unsigned int *growths)
{
	const uint32_t room = *argsz;

	if (room >= bytes && *growths > 0) {
		*growths -= 1;
		bytes = room + 8;
	}
	*argsz = bytes;
	return room >= bytes;
}

/* ---- Container ---- */

static bool
is_taken(uint64_t iova, uint64_t length)
{
	uint32_t i;

	for (i = 0; i < fake_vfio.maps; i++)
		if (iova < maps[i].iova + maps[i].length && maps[i].iova < iova + length)
			return true;
	return false;
}

static bool
in_ranges(uint64_t iova, uint64_t length)
{
	const struct fake_vfio_faults *faults = &fake_vfio.faults;
	const uint64_t last = iova + length - 1;
	uint32_t i;

	if (faults->iova_range_count == 0)
		return last <= ADDRESS_LAST && (last < MSI_FIRST || iova > MSI_LAST);
	for (i = 0; i < faults->iova_range_count; i++)
		if (iova >= faults->iova_ranges[i].start && last <= faults->iova_ranges[i].end)
			return true;
	return false;
}

/* Pages that the process will not leave when it writes: there, and nobody else's, as pagemap says. */
static bool
are_own(uint64_t address, uint64_t length)
{
	const uint64_t there = UINT64_C(1) << 63, shared = UINT64_C(1) << 61,
		       exclusive = UINT64_C(1) << 56;
	uint64_t entry, at;
	bool own = true;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (at = address; own && at < address + length; at += 4096) {
		assert_int_equal(pread(fd, &entry, sizeof(entry), (off_t)(at / 4096 * 8)), 8);
		own = (entry & there) && (entry & (shared | exclusive));
	}
	close(fd);
	return own;
}

static int
map_dma(const struct vfio_iommu_type1_dma_map *map)
{
	const uint32_t rights = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
	const uint32_t limit =
		fake_vfio.faults.map_limit != 0 ? fake_vfio.faults.map_limit : MAPS_MAX;
	unsigned int prot = 0;
	size_t i;

	assert_int_equal(map->argsz, sizeof(*map));
	if (!has_iommu || (map->flags & ~rights) != 0 || map->flags == 0 || map->size == 0 ||
	    ((map->iova | map->vaddr | map->size) & 0xfff) != 0 || !in_ranges(map->iova, map->size))
		return failed(EINVAL);
	if (fake_vfio.faults.map_errno != 0)
		return failed(fake_vfio.faults.map_errno);
	if (is_taken(map->iova, map->size))
		return failed(EEXIST);
	if (fake_vfio.maps == limit)
		return failed(ENOSPC);
	/* What is pinned for reading stays in the page that it is in. */
	if (!(map->flags & VFIO_DMA_MAP_FLAG_WRITE) && !are_own(map->vaddr, map->size))
		fake_vfio.strayed++;
	if (map->flags & VFIO_DMA_MAP_FLAG_READ)
		prot |= SOFTRNIC_DMA_READ;
	if (map->flags & VFIO_DMA_MAP_FLAG_WRITE)
		prot |= SOFTRNIC_DMA_WRITE;
	for (i = 0; i < FAKE_FUNCTIONS; i++)
		assert_int_equal(softrnic_dma_map(functions[i].softrnic, map->iova, map->size,
						  (void *)(uintptr_t)map->vaddr, prot),
				 0);
	maps[fake_vfio.maps++] = (struct map){ map->iova, map->size };
	fake_vfio.mapped_bytes += map->size;
	fake_vfio.last_rights = map->flags;
	return 0;
}

static int
unmap_dma(struct vfio_iommu_type1_dma_unmap *unmap)
{
	uint32_t i;
	size_t k;

	assert_int_equal(unmap->argsz, sizeof(*unmap));
	for (i = 0; i < fake_vfio.maps; i++)
		if (maps[i].iova == unmap->iova && maps[i].length == unmap->size)
			break;
	/* None is cut in pieces; what is not there is 0 bytes. */
	if (i == fake_vfio.maps && is_taken(unmap->iova, unmap->size))
		return failed(EINVAL);
	if (i == fake_vfio.maps) {
		unmap->size = 0;
		return 0;
	}
	for (k = 0; k < FAKE_FUNCTIONS; k++)
		softrnic_dma_unmap(functions[k].softrnic, unmap->iova, unmap->size);
	maps[i] = maps[--fake_vfio.maps];
	fake_vfio.mapped_bytes -= unmap->size;
	return 0;
}

/*
 * What the IOMMU can do: two capabilities behind the info, if there is room for them. The second one is where the first one,
 * of 12 bytes, ends, as in kernels up to 6.5.
 */
static int
iommu_info(struct vfio_iommu_type1_info *info)
{
	static const struct vfio_iova_range usual[] = { { 0, MSI_FIRST - 1 },
							{ MSI_LAST + 1, ADDRESS_LAST } };
	const struct fake_vfio_faults *faults = &fake_vfio.faults;
	const struct vfio_iova_range *ranges =
		faults->iova_range_count ? faults->iova_ranges : usual;
	struct vfio_iommu_type1_info_dma_avail avail = {
		.header = { VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL, 1, 0 },
		.avail = faults->map_limit != 0 ? faults->map_limit : MAPS_MAX,
	};
	struct vfio_iommu_type1_info_cap_iova_range range = {
		.header = { VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, 1, 0 },
		.nr_iovas = faults->iova_range_count != 0 ? faults->iova_range_count : 2,
	};
	const uint32_t first = sizeof(*info), second = first + (uint32_t)sizeof(avail),
		       bytes = second +
			       (uint32_t)(sizeof(range) + range.nr_iovas * sizeof(ranges[0]));
	char *caps = (char *)info;

	assert_true(info->argsz >= sizeof(*info) && second % 8 != 0);
	info->flags = VFIO_IOMMU_INFO_PGSIZES | VFIO_IOMMU_INFO_CAPS;
	info->iova_pgsizes = faults->big_pages ? UINT64_C(1) << 21 : UINT64_MAX << 12;
	info->cap_offset = 0;
	if (!has_room(&info->argsz, bytes, &fake_vfio.faults.iommu_growths))
		return 0;
	info->cap_offset = first;
	avail.header.next = faults->no_iova_ranges ? 0 : second;
	memcpy(caps + first, &avail, sizeof(avail));
	memcpy(caps + second, &range, sizeof(range));
	memcpy(caps + second + sizeof(range), ranges, range.nr_iovas * sizeof(ranges[0]));
	return 0;
}

static int
container_ioctl(unsigned long request, void *argument)
{
	switch (request) {
	case VFIO_GET_API_VERSION: return VFIO_API_VERSION;
	case VFIO_CHECK_EXTENSION:
		return !fake_vfio.faults.no_type1 && (uintptr_t)argument == VFIO_TYPE1v2_IOMMU;
	case VFIO_SET_IOMMU:
		if (fake_vfio.faults.iommu_errno != 0)
			return failed(fake_vfio.faults.iommu_errno);
		if (!attached || has_iommu || (uintptr_t)argument != VFIO_TYPE1v2_IOMMU)
			return failed(EINVAL);
		has_iommu = true;
		return 0;
	case VFIO_IOMMU_GET_INFO: return has_iommu ? iommu_info(argument) : failed(EINVAL);
	case VFIO_IOMMU_MAP_DMA: return map_dma(argument);
	case VFIO_IOMMU_UNMAP_DMA: return unmap_dma(argument);
	default: return failed(ENOTTY);
	}
}

/* ---- Group ---- */

static int
get_device(const char *name)
{
	unsigned int i;

	if (fake_vfio.faults.device_errno != 0)
		return failed(fake_vfio.faults.device_errno);
	if (!has_iommu)
		return failed(EINVAL);
	for (i = 0; i < FAKE_FUNCTIONS; i++)
		if (strcmp(name, fake_vfio_bdfs[i]) == 0) {
			softrnic_reset(functions[i].softrnic);
			fake_vfio.devices++;
			return new_fd(DEVICE + i);
		}
	return failed(ENODEV);
}

static int
group_ioctl(unsigned long request, void *argument)
{
	struct vfio_group_status *status;

	switch (request) {
	case VFIO_GROUP_GET_STATUS:
		status = argument;
		status->flags = (fake_vfio.faults.not_viable ? 0 : VFIO_GROUP_FLAGS_VIABLE) |
				(attached ? VFIO_GROUP_FLAGS_CONTAINER_SET : 0);
		return 0;
	case VFIO_GROUP_SET_CONTAINER:
		if (attached || kind_of(*(int *)argument) != CONTAINER)
			return failed(EINVAL);
		attached = true;
		return 0;
	case VFIO_GROUP_UNSET_CONTAINER: attached = false; return 0;
	case VFIO_GROUP_GET_DEVICE_FD: return get_device(argument);
	default: return failed(ENOTTY);
	}
}

/* ---- Device ---- */

static void
interrupt(void *arg, unsigned int vector)
{
	const struct function *function = arg;
	const uint64_t one = 1;
	ssize_t n = write(function->irq_fds[vector], &one, sizeof(one));

	(void)n;
}

static int
region_info(struct function *function, struct vfio_region_info *info)
{
	struct vfio_region_info_cap_sparse_mmap *cap = (void *)((char *)info + sizeof(*info));
	const uint32_t bytes = (uint32_t)(sizeof(*info) + sizeof(*cap) + sizeof(cap->areas[0]));
	uint64_t offset;
	size_t length;
	void *address;

	info->offset = (uint64_t)info->index << REGION_SHIFT;
	info->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	info->size = CONFIG_BYTES;
	if (info->index == VFIO_PCI_CONFIG_REGION_INDEX)
		return 0;
	if (info->index != VFIO_PCI_BAR0_REGION_INDEX)
		return failed(EINVAL);
	info->size = fake_vfio.faults.bar_bytes != 0 ? fake_vfio.faults.bar_bytes
						     : softrnic_bar_size(function->softrnic);
	info->flags |= VFIO_REGION_INFO_FLAG_MMAP;
	if (fake_vfio.faults.maps_all)
		return 0;
	info->flags |= VFIO_REGION_INFO_FLAG_CAPS;
	if (!has_room(&info->argsz, bytes, &fake_vfio.faults.bar_growths))
		return 0;
	softrnic_bar_mmap(function->softrnic, &offset, &length, &address, NULL);
	info->cap_offset = sizeof(*info);
	cap->header = (struct vfio_info_cap_header){ VFIO_REGION_INFO_CAP_SPARSE_MMAP, 1, 0 };
	cap->nr_areas = 1;
	cap->areas[0] = (struct vfio_region_sparse_mmap_area){ .offset = offset, .size = length };
	return 0;
}

static int
irq_info(struct vfio_irq_info *info)
{
	const struct fake_vfio_faults *faults = &fake_vfio.faults;

	if (info->index >= VFIO_PCI_NUM_IRQS ||
	    (info->index >= VFIO_PCI_ERR_IRQ_INDEX && faults->no_notices))
		return failed(EINVAL);
	info->flags = VFIO_IRQ_INFO_EVENTFD;
	info->count = info->index != VFIO_PCI_MSIX_IRQ_INDEX ? 1 : faults->no_msix ? 0 : VECTORS;
	return 0;
}

static int
set_irqs(struct function *function, const struct vfio_irq_set *set)
{
	const struct fake_vfio_faults *faults = &fake_vfio.faults;
	const int *fds = (const int *)(const void *)set->data;
	uint32_t i;

	assert_int_equal(set->argsz, sizeof(*set) + set->count * sizeof(int));
	if (set->index >= VFIO_PCI_NUM_IRQS || set->start != 0 ||
	    set->flags != (VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER))
		return failed(EINVAL);
	if (set->index != VFIO_PCI_MSIX_IRQ_INDEX) {
		function->notice_fds[set->index] = dup(fds[0]);
		return 0;
	}
	if (set->count > VECTORS)
		return failed(EINVAL);
	if (faults->vectors_left != 0 && set->count > faults->vectors_left)
		return (int)faults->vectors_left;
	for (i = 0; i < set->count; i++) {
		function->irq_fds[i] = dup(fds[i]);
		softrnic_set_interrupt(function->softrnic, i, interrupt, function);
	}
	return 0;
}

static int
reset_device(struct function *function)
{
	if (fake_vfio.faults.reset_errno != 0)
		return failed(fake_vfio.faults.reset_errno);
	softrnic_reset(function->softrnic);
	/* Worse than a kernel that puts it back by itself. */
	memset(function->config + PCI_COMMAND, 0, 2);
	fake_vfio.resets++;
	return 0;
}

static int
device_ioctl(struct function *function, unsigned long request, void *argument)
{
	struct vfio_device_info *info;

	switch (request) {
	case VFIO_DEVICE_GET_INFO:
		info = argument;
		info->flags = VFIO_DEVICE_FLAGS_PCI |
			      (fake_vfio.faults.no_reset ? 0 : VFIO_DEVICE_FLAGS_RESET);
		info->num_regions = VFIO_PCI_NUM_REGIONS;
		info->num_irqs = VFIO_PCI_NUM_IRQS;
		return 0;
	case VFIO_DEVICE_GET_REGION_INFO: return region_info(function, argument);
	case VFIO_DEVICE_GET_IRQ_INFO: return irq_info(argument);
	case VFIO_DEVICE_SET_IRQS: return set_irqs(function, argument);
	case VFIO_DEVICE_RESET: return reset_device(function);
	default: return failed(ENOTTY);
	}
}

static int
fake_ioctl(int fd, unsigned long request, void *argument)
{
	int rc;

	pthread_mutex_lock(&lock);
	switch (kind_of(fd)) {
	case CONTAINER: rc = container_ioctl(request, argument); break;
	case GROUP: rc = group_ioctl(request, argument); break;
	default: rc = device_ioctl(function_of(fd), request, argument);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static void *
fake_mmap(size_t length, int fd, uint64_t offset)
{
	uint64_t area_offset;
	size_t area_length;
	void *address;
	int area_fd;

	if (fake_vfio.faults.maps_all)
		return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	softrnic_bar_mmap(function_of(fd)->softrnic, &area_offset, &area_length, &address,
			  &area_fd);
	/* That area of BAR0 and nothing else. */
	if (offset < area_offset || offset - area_offset + length > area_length)
		return (void *)(intptr_t)failed(EINVAL);
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, area_fd, (off_t)offset);
}

static ssize_t
fake_pread(int fd, void *data, size_t length, uint64_t offset)
{
	const struct function *function = function_of(fd);
	const uint64_t inside = offset & ((UINT64_C(1) << REGION_SHIFT) - 1);

	if (fake_vfio.faults.removed || fake_vfio.faults.removed_for > 0) {
		fake_vfio.faults.removed_for -= fake_vfio.faults.removed_for > 0;
		memset(data, 0xff, length);
		/* The kernel has a copy of who it was, and never asks the function. */
		if (offset >> REGION_SHIFT == VFIO_PCI_CONFIG_REGION_INDEX && inside < PCI_COMMAND)
			memcpy(data, function->config + inside, length);
		return (ssize_t)length;
	}
	if (offset >> REGION_SHIFT == VFIO_PCI_CONFIG_REGION_INDEX) {
		assert_true(inside + length <= CONFIG_BYTES);
		memcpy(data, function->config + inside, length);
		return (ssize_t)length;
	}
	if (softrnic_bar_read(function->softrnic, inside, data, length) != 0)
		return failed(EINVAL);
	return (ssize_t)length;
}

static ssize_t
fake_pwrite(int fd, const void *data, size_t length, uint64_t offset)
{
	struct function *function = function_of(fd);
	const uint64_t inside = offset & ((UINT64_C(1) << REGION_SHIFT) - 1);

	if (fake_vfio.faults.removed)
		return (ssize_t)length;
	if (offset >> REGION_SHIFT == VFIO_PCI_CONFIG_REGION_INDEX) {
		/* Nothing else of it is the driver's to write. */
		assert_int_equal(inside, PCI_COMMAND);
		assert_int_equal(length, 2);
		if (!fake_vfio.faults.writes_lost)
			memcpy(function->config + inside, data, length);
		return (ssize_t)length;
	}
	if (softrnic_bar_write(function->softrnic, inside, data, length) != 0)
		return failed(EINVAL);
	return (ssize_t)length;
}

static const struct rnic_vfio_sys fake = {
	.open = fake_open,
	.close = fake_close,
	.ioctl = fake_ioctl,
	.mmap = fake_mmap,
	.munmap = munmap,
	.pread = fake_pread,
	.pwrite = fake_pwrite,
};

/* ---- sysfs ---- */

static void
set_link(unsigned int function, const char *name, const char *target)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", sysfs, fake_vfio_bdfs[function], name);
	unlink(path);
	if (target != NULL)
		assert_int_equal(symlink(target, path), 0);
}

void
fake_vfio_bind(unsigned int function, const char *driver)
{
	char target[PATH_MAX];

	snprintf(target, sizeof(target), "../../bus/pci/drivers/%s", driver);
	set_link(function, "driver", driver != NULL ? target : NULL);
}

void
fake_vfio_leave_group(unsigned int function)
{
	set_link(function, "iommu_group", NULL);
}

static void
make_sysfs(void)
{
	char path[PATH_MAX], group[PATH_MAX];
	unsigned int i;

	snprintf(sysfs, sizeof(sysfs), "/tmp/fake-vfio-XXXXXX");
	assert_non_null(mkdtemp(sysfs));
	snprintf(group, sizeof(group), "../../kernel/iommu_groups/%u", FAKE_GROUP);
	for (i = 0; i < FAKE_FUNCTIONS; i++) {
		snprintf(path, sizeof(path), "%s/%s", sysfs, fake_vfio_bdfs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		fake_vfio_bind(i, "vfio-pci");
		set_link(i, "iommu_group", group);
	}
	assert_int_equal(setenv("SYSFS_PCI_DEVICES", sysfs, 1), 0);
}

static void
remove_sysfs(void)
{
	char path[PATH_MAX];
	unsigned int i;

	unsetenv("SYSFS_PCI_DEVICES");
	for (i = 0; i < FAKE_FUNCTIONS; i++) {
		set_link(i, "driver", NULL);
		set_link(i, "iommu_group", NULL);
		snprintf(path, sizeof(path), "%s/%s", sysfs, fake_vfio_bdfs[i]);
		rmdir(path);
	}
	assert_int_equal(rmdir(sysfs), 0);
}

/* ---- The world ---- */

void
fake_vfio_start(void)
{
	const uint8_t id[] = { 0xb3, 0x15, 0x17, 0x10 };
	unsigned int i, k;

	fake_vfio = (struct fake_vfio){ 0 };
	make_sysfs();
	assert_int_equal(softrnic_host_get(-1, &poller), 0);
	for (i = 0; i < FAKE_FUNCTIONS; i++) {
		struct softrnic_conf conf = { .name = fake_vfio_bdfs[i],
					      .seed = 1,
					      .mac = { 2, 0, 0, 0, 0, (uint8_t)(0xa + i) } };
		struct function *function = &functions[i];

		*function = (struct function){ 0 };
		memcpy(function->config, id, sizeof(id));
		for (k = 0; k < VECTORS; k++)
			function->irq_fds[k] = -1;
		for (k = 0; k < VFIO_PCI_NUM_IRQS; k++)
			function->notice_fds[k] = -1;
		assert_int_equal(softrnic_create(poller, &conf, &function->softrnic), 0);
	}
	rnic_vfio_sys = &fake;
}

void
fake_vfio_stop(void)
{
	unsigned int i;

	for (i = 0; i < FAKE_FUNCTIONS; i++)
		softrnic_destroy(functions[i].softrnic);
	softrnic_host_put();
	remove_sysfs();
	/* All was given back, and nothing was left to the kernel to take away. */
	assert_int_equal(fake_vfio.containers, 0);
	assert_int_equal(fake_vfio.groups, 0);
	assert_int_equal(fake_vfio.devices, 0);
	assert_int_equal(fake_vfio.maps_left, 0);
}

void
fake_vfio_set_id(unsigned int function, uint16_t vendor, uint16_t device)
{
	const uint8_t id[] = { (uint8_t)vendor, (uint8_t)(vendor >> 8), (uint8_t)device,
			       (uint8_t)(device >> 8) };

	memcpy(functions[function].config, id, sizeof(id));
}

void
fake_vfio_set_revision(unsigned int function, uint8_t revision)
{
	functions[function].config[PCI_REVISION_ID] = revision;
}

uint16_t
fake_vfio_command(unsigned int function)
{
	const uint8_t *config = functions[function].config;

	return (uint16_t)(config[PCI_COMMAND] | config[PCI_COMMAND + 1] << 8);
}

void
fake_vfio_notice(unsigned int function, unsigned int index)
{
	const uint64_t one = 1;

	assert_int_equal(write(functions[function].notice_fds[index], &one, sizeof(one)),
			 sizeof(one));
}
