/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Access to a device in another process, by the vfio-user protocol: softrnicd, or any server of a PCI function of this
 * class. Registers are messages; UAR pages, our memory and our eventfds are shared, so that the data path needs none.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/pci_regs.h>

#include <rte_common.h>

#include "access/access.h"
#include "access/backing.h"
#include "access/class.h"
#include "access/iova.h"
#include "access/vfio_user.h"
#include "base/devargs.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/tunables.h"
#include "prm/uar.h"
#include "vfio_user/client.h"

#define VECTORS_MAX 64

/* A part of BAR0 that is memory. */
struct window {
	uint64_t offset, length;
	uint8_t *address;
};

struct rnic_vfio_user {
	struct rnic_access base;
	char name[RNIC_NAME_BYTES];
	struct rnic_pci_ids ids;
	struct vfu_client *client;
	struct window windows[VFU_CLIENT_AREAS];
	unsigned int window_count;
	int irq_fds[VECTORS_MAX];
	uint8_t command_found[2]; /* PCI command register, before us */
	bool enabled;
	pthread_mutex_t lock; /* of iova and the counts */
	struct rnic_iova_space iova;
};

static struct rnic_vfio_user *
to_vfio_user(struct rnic_access *access)
{
	return container_of(access, struct rnic_vfio_user, base);
}

static void
log_message(void *arg, enum vfu_log_level level, const char *message)
{
	static const uint32_t levels[] = {
		[VFU_LOG_ERROR] = RTE_LOG_ERR,
		[VFU_LOG_WARNING] = RTE_LOG_WARNING,
		[VFU_LOG_INFO] = RTE_LOG_INFO,
		[VFU_LOG_DEBUG] = RTE_LOG_DEBUG,
	};

	RTE_SET_USED(arg);
	rte_log(levels[level], (uint32_t)rnic_logtype, "net_rnic: %s\n", message);
}

/* Of all threads that call, only the control thread may be told to end. */
static int
patience_ms(void *arg, int *fd)
{
	RTE_SET_USED(arg);
	return rnic_thread_patience_ms(fd);
}

/* What a call returned: has the connection ended? The server may answer with any errno, and live. */
static int
vfu_watch(struct rnic_vfio_user *vfu, int rc)
{
	if (rc == 0 || vfu_client_lost(vfu->client) == 0)
		return rc;
	atomic_store(&vfu->base.gone, true);
	return -ENOTCONN;
}

static struct rnic_pci_ids
vfio_user_pci_ids(const struct rnic_access *access)
{
	return ((const struct rnic_vfio_user *)access)->ids;
}

/* ---- Registers ---- */

static struct rnic_be32
vfio_user_read32(struct rnic_access *access, uint64_t offset)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);
	struct rnic_be32 value;
	int rc = vfu_client_region_read(vfu->client, VFU_PCI_BAR0, offset, &value, sizeof(value));

	return vfu_watch(vfu, rc) == 0 ? value : RNIC_BE32(UINT32_MAX);
}

/* Writes are posted, as on a bus: who wants to know whether one has arrived reads. */
static void
vfio_user_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);

	vfu_watch(vfu,
		  vfu_client_region_post(vfu->client, VFU_PCI_BAR0, offset, &value, sizeof(value)));
}

static void
vfio_user_write64(struct rnic_access *access, uint64_t offset, struct rnic_be64 value)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);

	vfu_watch(vfu,
		  vfu_client_region_post(vfu->client, VFU_PCI_BAR0, offset, &value, sizeof(value)));
}

static volatile void *
vfio_user_uar(struct rnic_access *access, uint32_t uar_index)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);
	uint64_t offset = (uint64_t)uar_index * RNIC_UAR_PAGE_BYTES;
	unsigned int i;

	for (i = 0; i < vfu->window_count; i++) {
		const struct window *window = &vfu->windows[i];

		if (offset >= window->offset && window->length >= RNIC_UAR_PAGE_BYTES &&
		    offset - window->offset <= window->length - RNIC_UAR_PAGE_BYTES)
			return window->address + (offset - window->offset);
	}
	return NULL;
}

/* ---- Memory ---- */

static void
log_backing(const struct rnic_vfio_user *vfu, const void *address, size_t length, int rc)
{
	if (rc == -ENOENT)
		RNIC_LOG_NAMED(
			ERR, vfu->name,
			"the memory at %p (%zu bytes) is not EAL's, and cannot be shared with a device in "
			"another process: take it from rte_malloc() or an ordinary mempool",
			address, length);
	else
		RNIC_LOG_NAMED(
			ERR, vfu->name,
			"EAL has no file behind the memory at %p (%zu bytes), which so cannot be shared "
			"with a device in another process: start with --in-memory, "
			"--single-file-segments or --no-huge",
			address, length);
}

/* Piece after piece; if one fails, none is left. */
static int
map_pieces(struct rnic_vfio_user *vfu, const char *address, size_t length, unsigned int rights,
	   uint64_t iova)
{
	struct rnic_backing piece;
	size_t done;
	int rc = 0;

	for (done = 0; done < length; done += piece.length) {
		rc = rnic_backing_find(address + done, length - done, &piece);
		if (rc != 0) {
			log_backing(vfu, address + done, length - done, rc);
			rc = -ENOTSUP;
			break;
		}
		rc = vfu_watch(vfu, vfu_client_dma_map(vfu->client, iova + done, piece.length,
						       rights, piece.fd, piece.offset));
		if (rc != 0)
			break;
	}
	if (rc == -ENOSPC)
		RNIC_LOG_NAMED(ERR, vfu->name,
			       "the server accepts no further maps: use larger pages, or "
			       "--single-file-segments");
	if (rc != 0 && done > 0)
		vfu_watch(vfu, vfu_client_dma_unmap(vfu->client, iova, done));
	return rc;
}

static int
vfio_user_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	      uint64_t *iova)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);
	unsigned int flags = 0;
	int rc;

	if (atomic_load(&access->gone))
		return -ENOTCONN;
	if (rights & RNIC_ACCESS_READ)
		flags |= VFU_DMA_FLAG_READ;
	if (rights & RNIC_ACCESS_WRITE)
		flags |= VFU_DMA_FLAG_WRITE;
	if (!rnic_thread_lock(&vfu->lock))
		return -ECANCELED;
	rc = rnic_iova_alloc(&vfu->iova, (uintptr_t)address, length, iova);
	if (rc == 0) {
		rc = map_pieces(vfu, address, length, flags, *iova);
		/* What is given up may be mapped all the same. */
		if (rc != 0 && rc != -ECANCELED)
			rnic_iova_free(&vfu->iova, *iova, length);
	}
	if (rc == 0) {
		access->maps++;
		access->mapped_bytes += length;
	}
	pthread_mutex_unlock(&vfu->lock);
	return rc;
}

/*
 * With the connection gone nobody can be asked. A server that has hung up, or has ended, does not touch our memory any
 * more. One that stands still may, for all we know: what it has is not given back.
 */
static int
vfu_unreachable(struct rnic_vfio_user *vfu)
{
	pid_t pid = vfu_client_server(vfu->client)->pid;

	if (vfu_client_lost(vfu->client) == -ENOTCONN ||
	    (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH))
		return 0;
	return -ENOTCONN;
}

static int
vfio_user_unmap(struct rnic_access *access, uint64_t iova, size_t length)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);
	int rc = -ENOENT;

	if (!rnic_thread_lock(&vfu->lock))
		return -ECANCELED;
	/* The server would take any range, the driver's mistakes included. */
	if (rnic_iova_has(&vfu->iova, iova, length)) {
		rc = vfu_watch(vfu, vfu_client_dma_unmap(vfu->client, iova, length));
		if (atomic_load(&access->gone))
			rc = vfu_unreachable(vfu);
	}
	if (rc == 0) {
		rnic_iova_free(&vfu->iova, iova, length);
		access->maps--;
		access->mapped_bytes -= length;
	}
	pthread_mutex_unlock(&vfu->lock);
	return rc;
}

/* ---- Interrupts, reset, hang-up ---- */

static int
vfio_user_irq_fd(struct rnic_access *access, unsigned int vector)
{
	return vector < access->irq_count ? to_vfio_user(access)->irq_fds[vector] : -EINVAL;
}

/* Let the function decode its registers and reach memory. */
static int
enable_function(struct rnic_vfio_user *vfu)
{
	const uint16_t wanted = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	uint8_t command[2];
	int rc = vfu_client_region_read(vfu->client, VFU_PCI_CONFIG, PCI_COMMAND, command,
					sizeof(command));

	if (rc == 0) {
		memcpy(vfu->command_found, command, sizeof(command));
		vfu->enabled = true;
		command[0] |= wanted;
		rc = vfu_client_region_write(vfu->client, VFU_PCI_CONFIG, PCI_COMMAND, command,
					     sizeof(command));
	}
	if (rc == 0)
		rc = vfu_client_region_read(vfu->client, VFU_PCI_CONFIG, PCI_COMMAND, command,
					    sizeof(command));
	if (rc == 0 && (command[0] & wanted) != wanted)
		rc = -EIO;
	return vfu_watch(vfu, rc);
}

/* A reset function has lost its configuration: put back what we had set there. */
static int
vfio_user_reset(struct rnic_access *access)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);
	int rc;

	if (atomic_load(&access->gone))
		return -ENOTCONN;
	rc = vfu_watch(vfu, vfu_client_reset(vfu->client));
	return rc == 0 ? enable_function(vfu) : rc;
}

static void
vfio_user_end_by(struct rnic_access *access, unsigned int ms)
{
	vfu_client_end_by(to_vfio_user(access)->client, ms);
}

static int
vfio_user_hangup_fd(struct rnic_access *access)
{
	return vfu_client_fd(to_vfio_user(access)->client);
}

/* ---- Coming and going ---- */

static void
vfio_user_close(struct rnic_access *access)
{
	struct rnic_vfio_user *vfu = to_vfio_user(access);
	unsigned int i;

	/* Leave the function as it was found: out of reach of any memory. */
	if (vfu->enabled && !atomic_load(&access->gone))
		vfu_client_region_write(vfu->client, VFU_PCI_CONFIG, PCI_COMMAND,
					vfu->command_found, sizeof(vfu->command_found));
	vfu_client_close(vfu->client);
	for (i = 0; i < vfu->window_count; i++)
		munmap(vfu->windows[i].address, vfu->windows[i].length);
	for (i = 0; i < VECTORS_MAX; i++)
		if (vfu->irq_fds[i] >= 0)
			close(vfu->irq_fds[i]);
	rnic_iova_fini(&vfu->iova);
	pthread_mutex_destroy(&vfu->lock);
	free(vfu);
}

static const struct rnic_access_ops vfio_user_ops = {
	.name = "vfio_user",
	.close = vfio_user_close,
	.pci_ids = vfio_user_pci_ids,
	.read32 = vfio_user_read32,
	.write32 = vfio_user_write32,
	.write64 = vfio_user_write64,
	.uar = vfio_user_uar,
	.map = vfio_user_map,
	.unmap = vfio_user_unmap,
	.irq_fd = vfio_user_irq_fd,
	.reset = vfio_user_reset,
	.end_by = vfio_user_end_by,
	.hangup_fd = vfio_user_hangup_fd,
};

static int
check_function(struct rnic_vfio_user *vfu)
{
	uint32_t flags, regions, irqs;
	uint8_t header[PCI_REVISION_ID + 1];
	int rc = vfu_client_device_info(vfu->client, &flags, &regions, &irqs);

	if (rc == 0 &&
	    (!(flags & VFU_DEVICE_FLAG_PCI) || regions <= VFU_PCI_CONFIG || irqs <= VFU_PCI_MSIX)) {
		RNIC_LOG_NAMED(ERR, vfu->name, "the server's device is no PCI function");
		return -ENODEV;
	}
	if (rc == 0)
		rc = vfu_client_region_read(vfu->client, VFU_PCI_CONFIG, PCI_VENDOR_ID, header,
					    sizeof(header));
	if (rc != 0)
		return vfu_watch(vfu, rc);
	vfu->ids = (struct rnic_pci_ids){
		.vendor = (uint16_t)(header[PCI_VENDOR_ID] | header[PCI_VENDOR_ID + 1] << 8),
		.device = (uint16_t)(header[PCI_DEVICE_ID] | header[PCI_DEVICE_ID + 1] << 8),
		.revision = header[PCI_REVISION_ID],
	};
	if (!rnic_class_has(vfu->ids.vendor, vfu->ids.device)) {
		RNIC_LOG_NAMED(ERR, vfu->name,
			       "the server's device is %04x:%04x: not a function that this driver "
			       "knows",
			       vfu->ids.vendor, vfu->ids.device);
		return -ENODEV;
	}
	/* Nothing of a client before us: not every server resets by itself. */
	if (flags & VFU_DEVICE_FLAG_RESET)
		rc = vfu_watch(vfu, vfu_client_reset(vfu->client));
	return rc == 0 ? enable_function(vfu) : rc;
}

static int
map_windows(struct rnic_vfio_user *vfu, const struct vfu_client_region *bar)
{
	unsigned int i;
	void *address;
	int rc;

	for (i = 0; bar->fd >= 0 && i < bar->nareas; i++) {
		rc = vfu_client_region_map(bar, i, &address);
		if (rc != 0) {
			RNIC_LOG_NAMED(ERR, vfu->name, "cannot map UAR pages: %s",
				       rc == -EPERM ? "the server could shorten their file"
						    : strerror(-rc));
			return rc;
		}
		vfu->windows[vfu->window_count++] = (struct window){
			.offset = bar->areas[i].offset,
			.length = bar->areas[i].size,
			.address = address,
		};
	}
	return 0;
}

static int
map_bar(struct rnic_vfio_user *vfu)
{
	const uint32_t wanted = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE;
	struct vfu_client_region bar;
	int rc = vfu_watch(vfu, vfu_client_region_info(vfu->client, VFU_PCI_BAR0, &bar));

	if (rc != 0)
		return rc;
	if ((bar.flags & wanted) != wanted || bar.size < RNIC_BAR_BYTES_MIN) {
		RNIC_LOG_NAMED(ERR, vfu->name,
			       "BAR0 has %" PRIu64 " bytes (flags 0x%x): at least %" PRIu64
			       ", readable and writable, are needed",
			       bar.size, bar.flags, RNIC_BAR_BYTES_MIN);
		rc = -ENODEV;
	} else {
		vfu->base.bar_size = bar.size;
		rc = map_windows(vfu, &bar);
	}
	vfu_client_region_release(&bar);
	return rc;
}

/* All of them now: with some servers none can be added later. */
static int
take_interrupts(struct rnic_vfio_user *vfu)
{
	uint32_t count, flags;
	unsigned int i;
	int rc = vfu_watch(vfu, vfu_client_irq_info(vfu->client, VFU_PCI_MSIX, &count, &flags));

	if (rc != 0)
		return rc;
	if (count == 0 || !(flags & VFU_IRQ_FLAG_EVENTFD)) {
		RNIC_LOG_NAMED(ERR, vfu->name, "the server's device has no MSI-X vectors");
		return -ENODEV;
	}
	count = count < VECTORS_MAX ? count : VECTORS_MAX;
	for (i = 0; i < count; i++) {
		rc = rnic_eventfd_open(vfu->name, &vfu->irq_fds[i]);
		if (rc != 0)
			return rc;
	}
	rc = vfu_watch(vfu, vfu_client_irq_set(vfu->client, VFU_PCI_MSIX, 0, count, vfu->irq_fds));
	if (rc == 0)
		vfu->base.irq_count = count;
	else
		RNIC_LOG_NAMED(ERR, vfu->name, "the server takes no interrupts: %s", strerror(-rc));
	return rc;
}

int
rnic_access_vfio_user_open(const char *device, const struct rnic_devargs *args,
			   const struct rnic_tunables *tunables, struct rnic_access **access)
{
	struct rnic_vfio_user *vfu = calloc(1, sizeof(*vfu));
	struct vfu_client_conf conf = {
		.name = device,
		.path = args->socket,
		.any_peer = args->peer_any,
		.timeout_ms = tunables->vfio_user_timeout_ms,
		.patience_ms = patience_ms,
		.first_id = tunables->message,
		.log = log_message,
	};
	unsigned int i;
	int rc;

	if (vfu == NULL)
		return -ENOMEM;
	strncpy(vfu->name, device, sizeof(vfu->name) - 1);
	vfu->base.ops = &vfio_user_ops;
	vfu->base.device = vfu->name;
	vfu->base.hangup_events = POLLRDHUP;
	vfu->base.hangup_reason = "the connection to it is interrupted";
	for (i = 0; i < VECTORS_MAX; i++)
		vfu->irq_fds[i] = -1;
	pthread_mutex_init(&vfu->lock, NULL);
	rnic_iova_init_far(&vfu->iova);

	/* The client says what is wrong with the socket or the server. */
	rc = vfu_client_open(&conf, &vfu->client);
	if (rc == 0)
		rc = check_function(vfu);
	if (rc == 0)
		rc = map_bar(vfu);
	if (rc == 0)
		rc = take_interrupts(vfu);
	if (rc != 0) {
		vfio_user_close(&vfu->base);
		return rc;
	}
	*access = &vfu->base;
	return 0;
}
