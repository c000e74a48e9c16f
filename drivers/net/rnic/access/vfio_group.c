/* SPDX-License-Identifier: BSD-3-Clause */

#include "access/vfio_group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bus_pci_driver.h>
#include <linux/vfio.h>
#include <rte_eal.h>
#include <rte_uuid.h>

#include "access/access.h"
#include "access/iova.h"
#include "access/vfio_info.h"
#include "access/vfio_sys.h"
#include "base/devargs.h"
#include "base/log.h"

#define CONTAINER_NODE	"/dev/vfio/vfio"
#define FUNCTIONS_MAX	64
#define NODE_BYTES	32
#define VF_TOKEN	" vf_token="
#define LINK_NAME_BYTES 64

struct rnic_vfio_group {
	LIST_ENTRY(rnic_vfio_group) next;
	unsigned int number;
	int container_fd, fd;
	unsigned int function_count;
	char functions[FUNCTIONS_MAX][RNIC_PCI_NAME_BYTES];

	pthread_mutex_t lock; /* of what follows */
	struct rnic_iova_space iova;
	uint64_t mapped_bytes;
};

static LIST_HEAD(, rnic_vfio_group) groups = LIST_HEAD_INITIALIZER(groups);
static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;

/* For requests whose argument is a number. */
static int
ioctl_number(int fd, unsigned long request, uintptr_t number)
{
	return rnic_vfio_sys->ioctl(fd, request, (void *)number);
}

/* ---- What sysfs says ---- */

/* The last part of what a link of the function's points to. -errno. */
static int
read_link(const char *bdf, const char *link, char name[LINK_NAME_BYTES])
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *last;
	ssize_t length;

	if (snprintf(path, sizeof(path), "%s/%s/%s", rte_pci_get_sysfs_path(), bdf, link) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = '\0';
	last = strrchr(target, '/');
	snprintf(name, LINK_NAME_BYTES, "%.*s", LINK_NAME_BYTES - 1,
		 last != NULL ? last + 1 : target);
	return 0;
}

static int
check_bound(const char *name, const char *bdf)
{
	char path[PATH_MAX], driver[LINK_NAME_BYTES];
	int rc = read_link(bdf, "driver", driver);

	if (rc == 0 && strstr(driver, "vfio") != NULL)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", rte_pci_get_sysfs_path(), bdf);
	if (access(path, F_OK) != 0)
		RNIC_LOG_NAMED(ERR, name, "there is no PCI function %s: no %s", bdf, path);
	else
		RNIC_LOG_NAMED(
			ERR, name,
			"%s is bound to %s, not to vfio-pci: run rdmapmd-setup bind %s --apply",
			bdf, rc == 0 ? driver : "no driver", bdf);
	return -ENODEV;
}

static int
find_number(const char *name, const char *bdf, unsigned int *number)
{
	char text[LINK_NAME_BYTES], *end;
	int rc = read_link(bdf, "iommu_group", text);

	if (rc == 0) {
		*number = (unsigned int)strtoul(text, &end, 10);
		if (text[0] >= '0' && text[0] <= '9' && *end == '\0')
			return 0;
	}
	RNIC_LOG_NAMED(
		ERR, name,
		"%s is in no IOMMU group: switch the IOMMU on in the firmware's setup, and on "
		"Intel with intel_iommu=on on the kernel's command line; rdmapmd-setup doctor "
		"shows more",
		bdf);
	return -ENODEV;
}

/* ---- Opening ---- */

static int
open_container(const char *name, int *fd)
{
	int rc;

	*fd = rnic_vfio_sys->open(CONTAINER_NODE, O_RDWR | O_CLOEXEC);
	if (*fd < 0) {
		rc = -errno;
		RNIC_LOG_NAMED(ERR, name, CONTAINER_NODE ": %s: %s", strerror(-rc),
			       rc == -EACCES || rc == -EPERM ? "run chmod 666 " CONTAINER_NODE
							     : "run modprobe vfio-pci");
		return rc;
	}
	if (ioctl_number(*fd, VFIO_GET_API_VERSION, 0) == VFIO_API_VERSION &&
	    ioctl_number(*fd, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) > 0)
		return 0;
	RNIC_LOG_NAMED(ERR, name,
		       "the kernel's vfio has no IOMMU of type 1: run modprobe vfio_iommu_type1");
	return -ENOTSUP;
}

static void
log_node(const char *name, const char *bdf, const char *node, int rc)
{
	switch (rc) {
	case -EACCES:
	case -EPERM:
		RNIC_LOG_NAMED(ERR, name,
			       "%s: permission denied: run rdmapmd-setup bind %s --owner USER "
			       "--apply as root, or chown USER %s",
			       node, bdf, node);
		break;
	case -EBUSY:
		RNIC_LOG_NAMED(
			ERR, name,
			"%s: busy: another process, or another driver of this one, has a "
			"function of the group of %s; rdmapmd-setup doctor shows which process",
			node, bdf);
		break;
	default:
		RNIC_LOG_NAMED(ERR, name,
			       "%s, the node of the group of %s: %s: rdmapmd-setup doctor shows "
			       "what is wrong",
			       node, bdf, strerror(-rc));
	}
}

static int
open_node(const char *name, const char *bdf, struct rnic_vfio_group *group)
{
	char node[NODE_BYTES];
	int rc;

	snprintf(node, sizeof(node), "/dev/vfio/%u", group->number);
	group->fd = rnic_vfio_sys->open(node, O_RDWR | O_CLOEXEC);
	if (group->fd >= 0)
		return 0;
	rc = -errno;
	log_node(name, bdf, node, rc);
	return rc;
}

static int
check_viable(const char *name, const char *bdf, const struct rnic_vfio_group *group)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };

	if (rnic_vfio_sys->ioctl(group->fd, VFIO_GROUP_GET_STATUS, &status) != 0) {
		RNIC_LOG_NAMED(ERR, name, "/dev/vfio/%u: no status: %s", group->number,
			       strerror(errno));
		return -EIO;
	}
	if (status.flags & VFIO_GROUP_FLAGS_VIABLE)
		return 0;
	RNIC_LOG_NAMED(
		ERR, name,
		"/dev/vfio/%u: the group of %s is not viable: each function in "
		"/sys/kernel/iommu_groups/%u/devices must be bound to vfio-pci or to no driver; "
		"rdmapmd-setup doctor names those that are not",
		group->number, bdf, group->number);
	return -EPERM;
}

static int
group_attach(const char *name, const struct rnic_vfio_group *group)
{
	int container_fd = group->container_fd, rc;

	if (rnic_vfio_sys->ioctl(group->fd, VFIO_GROUP_SET_CONTAINER, &container_fd) != 0) {
		rc = -errno;
		RNIC_LOG_NAMED(ERR, name, "/dev/vfio/%u: the group gets no container: %s",
			       group->number, strerror(-rc));
		return rc;
	}
	if (ioctl_number(container_fd, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) == 0)
		return 0;
	rc = -errno;
	RNIC_LOG_NAMED(ERR, name, "/dev/vfio/%u: the group gets no IOMMU: %s%s", group->number,
		       strerror(-rc),
		       rc == -EPERM ? ": it does not remap interrupts; where that is acceptable, "
				      "load vfio_iommu_type1 with allow_unsafe_interrupts=1"
				    : "");
	return rc;
}

/* ---- The type 1 IOMMU: which addresses it takes ---- */

static int
read_info(const char *name, int fd, struct vfio_iommu_type1_info **result)
{
	const struct vfio_iommu_type1_info question = { 0 };
	void *answer;
	int rc = rnic_vfio_info_read(name, fd, VFIO_IOMMU_GET_INFO, &question, sizeof(question),
				     &answer);

	if (rc == 0)
		*result = answer;
	return rc;
}

static uint32_t
find_cap(const struct vfio_iommu_type1_info *info, uint16_t id, void *cap, size_t bytes)
{
	const uint32_t first = info->flags & VFIO_IOMMU_INFO_CAPS ? info->cap_offset : 0;

	return rnic_vfio_info_find(info, first, id, cap, bytes);
}

/* Of a kernel that does not tell: what the narrowest of today's take, without interrupts. */
static const struct rnic_iova_window narrow[] = { { 0, 0xfedfffff }, { 0xfef00000, 0x7fffffffff } };

static int
init_space(const struct vfio_iommu_type1_info *info, struct rnic_iova_space *space)
{
	struct vfio_iommu_type1_info_cap_iova_range cap = { .nr_iovas = RTE_DIM(narrow) };
	const uint32_t at = find_cap(info, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, &cap, sizeof(cap));
	struct rnic_iova_window *windows;
	struct vfio_iova_range range;
	uint32_t i;
	int rc;

	if (at != 0 && cap.nr_iovas > (info->argsz - at - sizeof(cap)) / sizeof(range))
		return -EIO;
	windows = calloc(cap.nr_iovas + 1, sizeof(*windows));
	if (windows == NULL)
		return -ENOMEM;
	for (i = 0; i < cap.nr_iovas; i++) {
		windows[i] = narrow[i % RTE_DIM(narrow)];
		if (at == 0)
			continue;
		memcpy(&range, (const char *)info + at + sizeof(cap) + i * sizeof(range),
		       sizeof(range));
		windows[i] = (struct rnic_iova_window){ range.start, range.end };
	}
	rc = rnic_iova_init_windows(space, windows, cap.nr_iovas);
	free(windows);
	return rc;
}

static int
learn_iommu(const char *name, struct rnic_vfio_group *group)
{
	struct vfio_iommu_type1_info_dma_avail avail = { 0 };
	struct vfio_iommu_type1_info *info;
	int rc = read_info(name, group->container_fd, &info);

	if (rc == 0) {
		if (info->flags & VFIO_IOMMU_INFO_PGSIZES &&
		    !(info->iova_pgsizes & RNIC_PAGE_BYTES)) {
			RNIC_LOG_NAMED(ERR, name,
				       "the IOMMU has no pages of 4 KiB (sizes 0x%" PRIx64 ")",
				       (uint64_t)info->iova_pgsizes);
			rc = -ENOTSUP;
		} else {
			rc = init_space(info, &group->iova);
		}
		find_cap(info, VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL, &avail, sizeof(avail));
		RNIC_LOG_NAMED(DEBUG, name,
			       "IOMMU group %u: addresses from 0x%" PRIx64 " to 0x%" PRIx64
			       ", %u maps",
			       group->number, group->iova.start, group->iova.end, avail.avail);
		free(info);
	}
	if (rc != 0 && rc != -ENOTSUP)
		RNIC_LOG_NAMED(ERR, name, "cannot query the IOMMU's address range: %s",
			       strerror(-rc));
	return rc;
}

/* ---- Groups ---- */

static void
close_group(struct rnic_vfio_group *group)
{
	if (group->fd >= 0) {
		ioctl_number(group->fd, VFIO_GROUP_UNSET_CONTAINER, 0);
		rnic_vfio_sys->close(group->fd);
	}
	if (group->container_fd >= 0)
		rnic_vfio_sys->close(group->container_fd);
	rnic_iova_fini(&group->iova);
	pthread_mutex_destroy(&group->lock);
	free(group);
}

static int
open_group(const char *name, const char *bdf, unsigned int number, struct rnic_vfio_group **result)
{
	struct rnic_vfio_group *group = calloc(1, sizeof(*group));
	int rc;

	if (group == NULL)
		return -ENOMEM;
	group->number = number;
	group->fd = -1;
	pthread_mutex_init(&group->lock, NULL);
	rc = open_container(name, &group->container_fd);
	if (rc == 0)
		rc = open_node(name, bdf, group);
	if (rc == 0)
		rc = check_viable(name, bdf, group);
	if (rc == 0)
		rc = group_attach(name, group);
	if (rc == 0)
		rc = learn_iommu(name, group);
	if (rc != 0) {
		close_group(group);
		return rc;
	}
	LIST_INSERT_HEAD(&groups, group, next);
	*result = group;
	return 0;
}

static struct rnic_vfio_group *
find_group(unsigned int number)
{
	struct rnic_vfio_group *group;

	LIST_FOREACH(group, &groups, next)
		if (group->number == number)
			return group;
	return NULL;
}

/* The name of a VF whose PF is in somebody's hands has the token behind it that they agreed on (--vfio-vf-token). */
static int
open_function(const char *name, const char *bdf, const struct rnic_vfio_group *group)
{
	char text[RNIC_PCI_NAME_BYTES + sizeof(VF_TOKEN) + RTE_UUID_STRLEN];
	rte_uuid_t token;
	int fd = -1, rc;

	rte_eal_vfio_get_vf_token(token);
	if (!rte_uuid_is_null(token)) {
		snprintf(text, sizeof(text), "%s" VF_TOKEN, bdf);
		rte_uuid_unparse(token, text + strlen(text), RTE_UUID_STRLEN);
		fd = rnic_vfio_sys->ioctl(group->fd, VFIO_GROUP_GET_DEVICE_FD, text);
	}
	if (fd < 0) {
		snprintf(text, sizeof(text), "%s", bdf);
		fd = rnic_vfio_sys->ioctl(group->fd, VFIO_GROUP_GET_DEVICE_FD, text);
	}
	if (fd >= 0)
		return fd;
	rc = -errno;
	RNIC_LOG_NAMED(ERR, name, "/dev/vfio/%u: no descriptor of %s: %s%s", group->number, bdf,
		       strerror(-rc),
		       rc == -EACCES ? ": a VF, whose PF's user has set a token: give it with "
				       "--vfio-vf-token"
				     : "");
	return rc;
}

static int
add_function(const char *name, const char *bdf, struct rnic_vfio_group *group)
{
	unsigned int i;
	int fd;

	for (i = 0; i < group->function_count; i++)
		if (strcmp(group->functions[i], bdf) == 0) {
			RNIC_LOG_NAMED(ERR, name, "%s is another port's of this process already",
				       bdf);
			return -EBUSY;
		}
	if (group->function_count == FUNCTIONS_MAX)
		return -ENOSPC;
	fd = open_function(name, bdf, group);
	if (fd >= 0)
		snprintf(group->functions[group->function_count++], RNIC_PCI_NAME_BYTES, "%s", bdf);
	return fd;
}

int
rnic_vfio_group_get(const char *name, const char *bdf, struct rnic_vfio_group **result, int *fd)
{
	struct rnic_vfio_group *group;
	unsigned int number;
	int rc = check_bound(name, bdf);

	if (rc == 0)
		rc = find_number(name, bdf, &number);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&groups_lock);
	group = find_group(number);
	if (group == NULL)
		rc = open_group(name, bdf, number, &group);
	if (rc == 0) {
		*fd = add_function(name, bdf, group);
		rc = *fd < 0 ? *fd : 0;
		if (group->function_count == 0) {
			LIST_REMOVE(group, next);
			close_group(group);
		}
	}
	pthread_mutex_unlock(&groups_lock);
	if (rc == 0)
		*result = group;
	return rc;
}

void
rnic_vfio_group_put(struct rnic_vfio_group *group, const char *bdf, int fd)
{
	unsigned int i;

	pthread_mutex_lock(&groups_lock);
	rnic_vfio_sys->close(fd);
	for (i = 0; i < group->function_count; i++)
		if (strcmp(group->functions[i], bdf) == 0) {
			group->function_count--;
			memmove(group->functions[i], group->functions[group->function_count],
				RNIC_PCI_NAME_BYTES);
			break;
		}
	if (group->function_count == 0) {
		LIST_REMOVE(group, next);
		close_group(group);
	}
	pthread_mutex_unlock(&groups_lock);
}

/* ---- Memory ---- */

static void
log_map(const struct rnic_vfio_group *group, const char *name, const void *address, size_t length,
	int rc)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (rc == -ENOSPC)
		RNIC_LOG_NAMED(ERR, name,
			       "IOMMU group %u has all its %u maps in use: use larger "
			       "pages, or load vfio_iommu_type1 with a higher dma_entry_limit",
			       group->number, group->iova.count - 1);
	else if (rc == -ENOMEM)
		RNIC_LOG_NAMED(ERR, name,
			       "the kernel does not lock %zu bytes beside the %" PRIu64
			       " that it has locked: the limit is %" PRIu64
			       " bytes; raise it (ulimit -l, LimitMEMLOCK= of systemd)",
			       length, group->mapped_bytes, (uint64_t)limit.rlim_cur);
	else
		RNIC_LOG_NAMED(ERR, name, "the memory at %p (%zu bytes) cannot be mapped: %s",
			       address, length, strerror(-rc));
}

/*
 * What the device only reads the kernel pins as it is, which may be the page of zeros that stands for memory nobody has
 * written to, or one that is shared with a child until somebody writes: the process would write to another page then, and
 * the device never see it (Linux before 6.2). So each page becomes the process's own before. Memory that may not be written
 * stays as it is: -EFAULT. Linux before 5.14 knows no such request.
 */
static void
make_own(void *address, size_t length)
{
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
	(void)madvise(address, length, MADV_POPULATE_WRITE);
}

int
rnic_vfio_group_map(struct rnic_vfio_group *group, const char *name, void *address, size_t length,
		    unsigned int rights, uint64_t *iova)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = (rights & RNIC_ACCESS_READ ? VFIO_DMA_MAP_FLAG_READ : 0) |
			 (rights & RNIC_ACCESS_WRITE ? VFIO_DMA_MAP_FLAG_WRITE : 0),
		.vaddr = (uintptr_t)address,
		.size = length,
	};
	int rc;

	pthread_mutex_lock(&group->lock);
	rc = rnic_iova_alloc(&group->iova, (uintptr_t)address, length, iova);
	if (rc == 0) {
		map.iova = *iova;
		if (!(rights & RNIC_ACCESS_WRITE))
			make_own(address, length);
		if (rnic_vfio_sys->ioctl(group->container_fd, VFIO_IOMMU_MAP_DMA, &map) != 0) {
			rc = -errno;
			log_map(group, name, address, length, rc);
			rnic_iova_free(&group->iova, *iova, length);
		} else {
			group->mapped_bytes += length;
		}
	} else if (rc == -ENOSPC) {
		RNIC_LOG_NAMED(ERR, name, "IOMMU group %u has no addresses left for %zu bytes",
			       group->number, length);
	}
	pthread_mutex_unlock(&group->lock);
	return rc;
}

int
rnic_vfio_group_unmap(struct rnic_vfio_group *group, const char *name, uint64_t iova, size_t length)
{
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap),
		.iova = iova,
		.size = length,
	};
	int rc = -ENOENT;

	pthread_mutex_lock(&group->lock);
	/* The kernel takes any range, the driver's mistakes included. */
	if (rnic_iova_has(&group->iova, iova, length)) {
		rc = rnic_vfio_sys->ioctl(group->container_fd, VFIO_IOMMU_UNMAP_DMA, &unmap) == 0
			     ? 0
			     : -errno;
		if (rc == 0 && unmap.size != length)
			rc = -EIO;
		if (rc != 0)
			RNIC_LOG_NAMED(ERR, name,
				       "0x%" PRIx64 " (%zu bytes) cannot be unmapped: %s", iova,
				       length, strerror(-rc));
	}
	if (rc == 0) {
		rnic_iova_free(&group->iova, iova, length);
		group->mapped_bytes -= length;
	}
	pthread_mutex_unlock(&group->lock);
	return rc;
}
