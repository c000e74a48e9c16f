/* SPDX-License-Identifier: BSD-3-Clause */

/* The calls: each builds its request under the lock, and checks all of the answer before any of it is believed. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client_private.h"

/* Call with one fixed struct, and get one back, if answer is given. */
static int
vfu_client_simple(struct vfu_client *client, uint16_t command, void *request, size_t length,
		  void *answer, size_t answer_length)
{
	struct vfu_call call = {
		.command = command,
		.npayload = 1,
		.payload = { { request, length } },
		.min_reply = answer_length,
	};
	int rc;

	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	rc = vfu_client_call(client, &call);
	if (rc == 0 && answer_length > 0)
		memcpy(answer, client->channel.message.payload, answer_length);
	vfu_client_leave(client);
	return rc;
}

int
vfu_client_device_info(struct vfu_client *client, uint32_t *flags, uint32_t *nregions,
		       uint32_t *nirqs)
{
	struct vfu_device_info info = { .argsz = sizeof(info) };
	int rc = vfu_client_simple(client, VFU_DEVICE_GET_INFO, &info, sizeof(info), &info,
				   sizeof(info));

	if (rc != 0)
		return rc;
	*flags = info.flags;
	*nregions = info.num_regions;
	*nirqs = info.num_irqs;
	return 0;
}

/* ---- Regions ---- */

/* Room for all areas that we take. */
#define VFU_REGION_REPLY_BYTES                                                 \
	(sizeof(struct vfu_region_info) + sizeof(struct vfu_cap_sparse_mmap) + \
	 VFU_CLIENT_AREAS * sizeof(struct vfu_area))

static bool
vfu_area_is_sound(const struct vfu_client_region *region, const struct vfu_area *area)
{
	uint64_t page = sysconf(_SC_PAGESIZE) - 1;

	return area->size > 0 && area->size <= region->size &&
	       area->offset <= region->size - area->size && (area->offset & page) == 0 &&
	       ((region->fd_offset + area->offset) & page) == 0;
}

static int
vfu_region_take_sparse(struct vfu_client_region *region, const uint8_t *reply, size_t length,
		       size_t at)
{
	struct vfu_cap_sparse_mmap sparse;
	unsigned int i;

	if (length - at < sizeof(sparse))
		return -EPROTO;
	memcpy(&sparse, reply + at, sizeof(sparse));
	if (sparse.nr_areas > VFU_CLIENT_AREAS ||
	    sparse.nr_areas > (length - at - sizeof(sparse)) / sizeof(struct vfu_area))
		return -EPROTO;
	memcpy(region->areas, reply + at + sizeof(sparse),
	       sparse.nr_areas * sizeof(struct vfu_area));
	region->nareas = sparse.nr_areas;
	for (i = 0; i < region->nareas; i++) {
		if (!vfu_area_is_sound(region, &region->areas[i]))
			return -EPROTO;
	}
	return 0;
}

/* The chain of capabilities goes forward only, so it ends. */
static int
vfu_region_take_caps(struct vfu_client_region *region, const uint8_t *reply, size_t length,
		     uint32_t first)
{
	struct vfu_cap_header cap;
	size_t at = first, least = sizeof(struct vfu_region_info);

	while (at != 0) {
		if (at < least || at > length || length - at < sizeof(cap))
			return -EPROTO;
		memcpy(&cap, reply + at, sizeof(cap));
		if (cap.id == VFU_CAP_SPARSE_MMAP)
			return vfu_region_take_sparse(region, reply, length, at);
		least = at + sizeof(cap);
		at = cap.next;
	}
	return 0;
}

static int
vfu_region_take(struct vfu_client *client, unsigned int index, struct vfu_client_region *region)
{
	struct vfu_message *message = &client->channel.message;
	struct vfu_region_info info;
	int rc = 0;

	memcpy(&info, message->payload, sizeof(info));
	if (info.index != index || info.offset + info.size < info.offset)
		return -EPROTO;
	region->size = info.size;
	region->flags = info.flags;
	region->fd_offset = info.offset;
	if (!(info.flags & VFU_REGION_FLAG_MMAP))
		return 0;
	if (message->nfds != 1)
		return -EPROTO;
	if (info.flags & VFU_REGION_FLAG_CAPS)
		rc = vfu_region_take_caps(region, message->payload, message->length,
					  info.cap_offset);
	if (rc == 0 && region->nareas == 0) {
		region->areas[0] = (struct vfu_area){ .offset = 0, .size = info.size };
		region->nareas = 1;
		if (!vfu_area_is_sound(region, &region->areas[0]))
			rc = -EPROTO;
	}
	if (rc != 0)
		return rc;
	region->fd = message->fds[0];
	message->fds[0] = -1;
	return 0;
}

int
vfu_client_region_info(struct vfu_client *client, unsigned int index,
		       struct vfu_client_region *region)
{
	struct vfu_region_info info = { .argsz = VFU_REGION_REPLY_BYTES, .index = index };
	struct vfu_call call = {
		.command = VFU_DEVICE_GET_REGION_INFO,
		.npayload = 1,
		.payload = { { &info, sizeof(info) } },
		.min_reply = sizeof(info),
	};
	int rc;

	memset(region, 0, sizeof(*region));
	region->fd = -1;
	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	rc = vfu_client_call(client, &call);
	if (rc == 0) {
		rc = vfu_region_take(client, index, region);
		if (rc != 0)
			vfu_log(&client->log, VFU_LOG_ERROR,
				"the server's description of region %u is invalid", index);
	}
	vfu_client_leave(client);
	return rc;
}

void
vfu_client_region_release(struct vfu_client_region *region)
{
	if (region->fd >= 0)
		close(region->fd);
	region->fd = -1;
}

/* An access behind the end of a file would be a SIGBUS, now or when the server has shortened it. */
static int
vfu_region_check_file(int fd, uint64_t offset, uint64_t size)
{
	struct stat st;
	int seals;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (st.st_size < 0 || size > (uint64_t)st.st_size || offset > st.st_size - size)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 ? 0 : -EPERM;
}

int
vfu_client_region_map(const struct vfu_client_region *region, unsigned int area, void **address)
{
	const struct vfu_area *a;
	uint64_t offset;
	int prot = 0;
	void *p;
	int rc;

	if (region->fd < 0 || area >= region->nareas)
		return -ENODEV;
	a = &region->areas[area];
	offset = region->fd_offset + a->offset;
	rc = vfu_region_check_file(region->fd, offset, a->size);
	if (rc != 0)
		return rc;
	if (region->flags & VFU_REGION_FLAG_READ)
		prot |= PROT_READ;
	if (region->flags & VFU_REGION_FLAG_WRITE)
		prot |= PROT_WRITE;
	p = mmap(NULL, a->size, prot, MAP_SHARED, region->fd, offset);
	if (p == MAP_FAILED)
		return -errno;
	*address = p;
	return 0;
}

static int
vfu_client_read_once(struct vfu_client *client, unsigned int region, uint64_t offset, void *data,
		     size_t length)
{
	const struct vfu_message *message = &client->channel.message;
	struct vfu_region_access access = { .offset = offset, .region = region, .count = length };
	struct vfu_call call = {
		.command = VFU_REGION_READ,
		.npayload = 1,
		.payload = { { &access, sizeof(access) } },
		.min_reply = sizeof(access) + length,
	};
	int rc = vfu_client_call(client, &call);

	if (rc != 0)
		return rc;
	memcpy(&access, message->payload, sizeof(access));
	if (access.offset != offset || access.region != region || access.count != length)
		return vfu_client_give_up(client, -EPROTO);
	memcpy(data, message->payload + sizeof(access), length);
	return 0;
}

static int
vfu_client_write_once(struct vfu_client *client, unsigned int region, uint64_t offset, void *data,
		      size_t length, bool posted)
{
	struct vfu_region_access access = { .offset = offset, .region = region, .count = length };
	struct vfu_call call = {
		.command = VFU_REGION_WRITE,
		.posted = posted,
		.npayload = 2,
		.payload = { { &access, sizeof(access) }, { data, length } },
		.min_reply = sizeof(access),
	};

	return vfu_client_call(client, &call);
}

static size_t
vfu_client_chunk(const struct vfu_client *client, size_t length)
{
	return length < client->agreed.max_data_xfer_bytes ? length
							   : client->agreed.max_data_xfer_bytes;
}

int
vfu_client_region_read(struct vfu_client *client, unsigned int region, uint64_t offset, void *data,
		       size_t length)
{
	size_t done, n;
	int rc;

	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	for (done = 0; done < length && rc == 0; done += n) {
		n = vfu_client_chunk(client, length - done);
		rc = vfu_client_read_once(client, region, offset + done, (uint8_t *)data + done, n);
	}
	vfu_client_leave(client);
	return rc;
}

static int
vfu_client_write(struct vfu_client *client, unsigned int region, uint64_t offset, const void *data,
		 size_t length, bool posted)
{
	/* Only read from: an iovec knows no const. */
	uint8_t *from = (uint8_t *)(uintptr_t)data;
	size_t done, n;
	int rc;

	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	for (done = 0; done < length && rc == 0; done += n) {
		n = vfu_client_chunk(client, length - done);
		rc = vfu_client_write_once(client, region, offset + done, from + done, n, posted);
	}
	vfu_client_leave(client);
	return rc;
}

int
vfu_client_region_write(struct vfu_client *client, unsigned int region, uint64_t offset,
			const void *data, size_t length)
{
	return vfu_client_write(client, region, offset, data, length, false);
}

int
vfu_client_region_post(struct vfu_client *client, unsigned int region, uint64_t offset,
		       const void *data, size_t length)
{
	return vfu_client_write(client, region, offset, data, length, true);
}

static int
vfu_client_multi_once(struct vfu_client *client, const struct vfu_region_write *writes,
		      unsigned int count)
{
	struct vfu_write_multi multi = { .wr_cnt = count };
	struct vfu_call call = {
		.command = VFU_REGION_WRITE_MULTI,
		.npayload = 2,
		.payload = { { &multi, sizeof(multi) },
			     { (void *)(uintptr_t)writes, count * sizeof(*writes) } },
		.min_reply = sizeof(multi),
	};
	int rc = vfu_client_call(client, &call);

	if (rc != 0)
		return rc;
	memcpy(&multi, client->channel.message.payload, sizeof(multi));
	return multi.wr_cnt == count ? 0 : -EIO;
}

int
vfu_client_region_write_multi(struct vfu_client *client, const struct vfu_region_write *writes,
			      unsigned int count)
{
	unsigned int most = client->agreed.max_data_xfer_bytes / sizeof(*writes);
	unsigned int i, n;
	int rc;

	for (i = 0; i < count; i++) {
		if (writes[i].count == 0 || writes[i].count > sizeof(writes[i].data))
			return -EINVAL;
	}
	if (!client->agreed.write_multiple || most == 0)
		most = 1;
	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	for (i = 0; i < count && rc == 0; i += n) {
		n = count - i < most ? count - i : most;
		if (n > 1)
			rc = vfu_client_multi_once(client, &writes[i], n);
		else
			rc = vfu_client_write_once(client, writes[i].region, writes[i].offset,
						   (void *)(uintptr_t)writes[i].data,
						   writes[i].count, false);
	}
	vfu_client_leave(client);
	return rc;
}

/* ---- Memory ---- */

int
vfu_client_dma_map(struct vfu_client *client, uint64_t iova, uint64_t length, unsigned int rights,
		   int fd, uint64_t offset)
{
	struct vfu_dma_map map = {
		.argsz = sizeof(map),
		.flags = rights,
		.offset = fd >= 0 ? offset : 0,
		.iova = iova,
		.size = length,
	};
	struct vfu_call call = {
		.command = VFU_DMA_MAP,
		.npayload = 1,
		.payload = { { &map, sizeof(map) } },
		.fds = &fd,
		.nfds = fd >= 0 ? 1 : 0,
	};
	int rc;

	if (fd >= 0 && client->server_max_fds == 0)
		return -ENOTSUP;
	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	rc = vfu_client_call(client, &call);
	vfu_client_leave(client);
	return rc;
}

int
vfu_client_dma_unmap(struct vfu_client *client, uint64_t iova, uint64_t length)
{
	struct vfu_dma_unmap unmap = { .argsz = sizeof(unmap), .iova = iova, .size = length };

	return vfu_client_simple(client, VFU_DMA_UNMAP, &unmap, sizeof(unmap), &unmap,
				 sizeof(unmap));
}

/* ---- Interrupts ---- */

int
vfu_client_irq_info(struct vfu_client *client, unsigned int type, uint32_t *count, uint32_t *flags)
{
	struct vfu_irq_info info = { .argsz = sizeof(info), .index = type };
	int rc = vfu_client_simple(client, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info), &info,
				   sizeof(info));

	if (rc != 0)
		return rc;
	*count = info.count;
	*flags = info.flags;
	return 0;
}

/* How many of the descriptors go into one message: a run of the same kind, as many as the server takes. */
static unsigned int
vfu_irq_run(const struct vfu_client *client, const int *fds, unsigned int count)
{
	unsigned int n = 1;

	if (fds == NULL)
		return count;
	while (n < count && (fds[n] < 0) == (fds[0] < 0) &&
	       (fds[0] < 0 || n < client->server_max_fds))
		n++;
	return n;
}

int
vfu_client_irq_set(struct vfu_client *client, unsigned int type, unsigned int start,
		   unsigned int count, const int *fds)
{
	struct vfu_irq_set set = {
		.argsz = sizeof(set),
		.flags = VFU_IRQ_SET_EVENTFD | VFU_IRQ_SET_TRIGGER,
		.index = type,
	};
	struct vfu_call call = {
		.command = VFU_DEVICE_SET_IRQS,
		.npayload = 1,
		.payload = { { &set, sizeof(set) } },
	};
	unsigned int i, n;
	int rc;

	rc = vfu_client_enter(client);
	if (rc != 0)
		return rc;
	for (i = 0; i < count && rc == 0; i += n) {
		const int *run = fds == NULL ? NULL : fds + i;

		n = vfu_irq_run(client, run, count - i);
		set.start = start + i;
		set.count = n;
		call.fds = run;
		call.nfds = run != NULL && run[0] >= 0 ? n : 0;
		if (call.nfds > client->server_max_fds)
			rc = -ENOTSUP;
		else
			rc = vfu_client_call(client, &call);
	}
	vfu_client_leave(client);
	return rc;
}

static int
vfu_client_irq_plain(struct vfu_client *client, unsigned int type, unsigned int start,
		     unsigned int count, unsigned int action)
{
	struct vfu_irq_set set = {
		.argsz = sizeof(set),
		.flags = VFU_IRQ_SET_NONE | action,
		.index = type,
		.start = start,
		.count = count,
	};

	return vfu_client_simple(client, VFU_DEVICE_SET_IRQS, &set, sizeof(set), NULL, 0);
}

int
vfu_client_irq_disable(struct vfu_client *client, unsigned int type)
{
	return vfu_client_irq_plain(client, type, 0, 0, VFU_IRQ_SET_TRIGGER);
}

int
vfu_client_irq_action(struct vfu_client *client, unsigned int type, unsigned int start,
		      unsigned int count, unsigned int action)
{
	if (count == 0)
		return -EINVAL;
	return vfu_client_irq_plain(client, type, start, count, action);
}

int
vfu_client_reset(struct vfu_client *client)
{
	return vfu_client_simple(client, VFU_DEVICE_RESET, NULL, 0, NULL, 0);
}
