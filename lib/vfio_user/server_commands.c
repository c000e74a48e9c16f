/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The commands: each checks all of its request before anything is done, and leaves its answer in server->reply. Those of
 * many accesses or regions end with the look, and are called again at the next one (server->unfinished).
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "server_private.h"

/* The fixed part of the request; nothing if the message is shorter than that. */
static bool
vfu_request(const struct vfu_server *server, void *fixed, size_t length)
{
	const struct vfu_message *message = &server->channel.message;

	if (message->length < length)
		return false;
	memcpy(fixed, message->payload, length);
	return true;
}

static void
vfu_answer(struct vfu_server *server, struct vfu_reply *reply, const void *bytes, size_t length)
{
	memcpy(server->reply + reply->length, bytes, length);
	reply->length += length;
}

/* A descriptor of the message becomes the caller's. */
static int
vfu_take_fd(struct vfu_message *message, unsigned int i)
{
	int fd = message->fds[i];

	message->fds[i] = -1;
	return fd;
}

static int
vfu_command_version(struct vfu_server *server, struct vfu_reply *reply)
{
	const struct vfu_message *message = &server->channel.message;
	struct vfu_capabilities theirs;
	struct vfu_version version;
	int rc;

	if (server->state == VFU_CLIENT_SERVED)
		return -EINVAL;
	if (!vfu_request(server, &version, sizeof(version)) || message->nfds > 0)
		return -EINVAL;
	if (version.major != VFU_VERSION_MAJOR) {
		vfu_log(&server->log, VFU_LOG_ERROR,
			"client %d (%s) speaks version %u.%u of the protocol, this is %u.%u",
			(int)server->client.pid, server->client.name, version.major, version.minor,
			VFU_VERSION_MAJOR, VFU_VERSION_MINOR);
		return -EPROTONOSUPPORT;
	}
	rc = vfu_capabilities_parse((const char *)message->payload + sizeof(version),
				    message->length - sizeof(version), &theirs);
	if (rc == 0)
		rc = vfu_capabilities_agree(&server->conf.caps, &theirs, &server->agreed);
	if (rc != 0)
		return rc;
	server->client_max_fds = theirs.max_msg_fds;
	if (version.minor > VFU_VERSION_MINOR)
		version.minor = VFU_VERSION_MINOR;
	vfu_answer(server, reply, &version, sizeof(version));
	rc = vfu_capabilities_format(&server->agreed, (char *)server->reply + reply->length,
				     server->reply_room - reply->length);
	if (rc < 0)
		return rc;
	reply->length += rc;
	return 0;
}

/* How the client wants its memory to be reached: without a word as the descriptor permits, mapped, or by read and write. */
static int
vfu_dma_map_mode(struct vfu_server *server, struct vfu_dma_map *request)
{
	uint32_t mode = request->flags & VFU_DMA_FLAG_MODE_MASK;

	request->flags &= ~VFU_DMA_FLAG_MODE_MASK;
	switch (mode) {
	case 0: return 0;
	case VFU_DMA_FLAG_MODE_MMAP: return server->channel.message.nfds == 1 ? 0 : -EINVAL;
	case VFU_DMA_FLAG_MODE_FILE:
		if (server->logged < VFU_LOGGED_REFUSALS)
			vfu_log(&server->log, VFU_LOG_WARNING,
				"the client wants its memory at IOVA 0x%" PRIx64
				" to be reached by file I/O: only mapped memory is supported",
				request->iova);
		return -ENOTSUP;
	default: return -EINVAL;
	}
}

static bool
vfu_client_has_left(const struct vfu_server *server)
{
	struct pollfd fd = { .fd = server->channel.fd, .events = POLLRDHUP };
	const struct timespec at_once = { 0 };

	return ppoll(&fd, 1, &at_once, NULL) > 0;
}

/* To map a file takes as long as clients make it, and so do its hugepages: the look ends, and the client may leave meanwhile. */
static int
vfu_dma_map_waits(struct vfu_server *server)
{
	if (vfu_client_has_left(server)) {
		vfu_dma_table_give_up(&server->dma);
		return -ENOTCONN;
	}
	server->unfinished = true;
	server->waits = true;
	vfu_look_spend(&server->look, VFU_LOOK_STEPS);
	return 0;
}

static int
vfu_command_dma_map(struct vfu_server *server)
{
	const struct vfu_message *message = &server->channel.message;
	struct vfu_dma_map request;
	int at, rc = 0;

	if (!vfu_request(server, &request, sizeof(request)) || request.argsz < sizeof(request) ||
	    message->nfds > 1)
		return -EINVAL;
	rc = vfu_dma_map_mode(server, &request);
	if (rc != 0)
		return rc;
	at = vfu_dma_table_map(&server->dma, &request, message->nfds == 1 ? message->fds[0] : -1);
	if (at == -EINPROGRESS)
		return vfu_dma_map_waits(server);
	if (at < 0)
		return at;
	if (server->conf.ops->dma_map != NULL)
		rc = server->conf.ops->dma_map(server->conf.arg, &server->dma.entries[at].region);
	if (rc < 0)
		vfu_dma_table_remove(&server->dma, at, 1);
	/* Nothing goes with it: what it is about is mapped. */
	else if (message->nfds == 1)
		close(vfu_take_fd(&server->channel.message, 0));
	return rc;
}

bool
vfu_server_dma_drop(struct vfu_server *server, unsigned int first, unsigned int count)
{
	unsigned int left = count;

	/* The last first: the host keeps them in order as we do, and has none to move. */
	while (left > 0 && (left == count || !vfu_look_is_over(&server->look))) {
		left--;
		if (server->conf.ops->dma_unmap != NULL)
			server->conf.ops->dma_unmap(server->conf.arg,
						    &server->dma.entries[first + left].region);
		vfu_look_spend(&server->look, VFU_UNMAP_STEPS);
	}
	vfu_dma_table_remove(&server->dma, first + left, count - left);
	return left == 0;
}

/*
 * A range in which nothing is mapped is no error: QEMU unmaps what it never mapped. What goes in a later look is what is left in
 * the range: nobody maps anything there meanwhile.
 */
static int
vfu_command_dma_unmap(struct vfu_server *server, struct vfu_reply *reply)
{
	struct vfu_dma_unmap request;
	unsigned int first = 0;
	int count;

	if (!vfu_request(server, &request, sizeof(request)) || request.argsz < sizeof(request) ||
	    server->channel.message.nfds > 0)
		return -EINVAL;
	if (request.flags & ~VFU_DMA_UNMAP_FLAG_ALL)
		return -ENOTSUP; /* dirty pages */
	if (request.flags & VFU_DMA_UNMAP_FLAG_ALL) {
		if (request.iova != 0 || request.size != 0)
			return -EINVAL;
		count = server->dma.count;
	} else {
		count = vfu_dma_table_range(&server->dma, request.iova, request.size, &first);
	}
	if (count < 0)
		return count;
	server->unfinished = !vfu_server_dma_drop(server, first, count);
	vfu_answer(server, reply, &request, sizeof(request));
	return 0;
}

static int
vfu_command_device_info(struct vfu_server *server, struct vfu_reply *reply)
{
	struct vfu_device_info info;

	if (!vfu_request(server, &info, sizeof(info)) || info.argsz < sizeof(info))
		return -EINVAL;
	info = (struct vfu_device_info){
		.argsz = sizeof(info),
		.flags = VFU_DEVICE_FLAG_PCI,
		.num_regions = server->conf.nregions,
		.num_irqs = server->conf.nirqs,
	};
	if (server->conf.ops->reset != NULL)
		info.flags |= VFU_DEVICE_FLAG_RESET;
	vfu_answer(server, reply, &info, sizeof(info));
	return 0;
}

/*
 * Who offers too little room for the capabilities is told how much they take, and asks again. The flag says that they
 * are here, not that there are some: QEMU refuses an answer that has it and no capabilities.
 */
static int
vfu_command_region_info(struct vfu_server *server, struct vfu_reply *reply)
{
	const struct vfu_region *region;
	struct vfu_region_info info;
	struct vfu_cap_sparse_mmap sparse = {
		.header = { .id = VFU_CAP_SPARSE_MMAP, .version = 1 },
	};
	uint32_t room;

	if (!vfu_request(server, &info, sizeof(info)) || info.argsz < sizeof(info) ||
	    info.index >= server->conf.nregions)
		return -EINVAL;
	room = info.argsz;
	region = &server->conf.regions[info.index];
	info = (struct vfu_region_info){
		.argsz = sizeof(info),
		.flags = region->flags,
		.index = info.index,
		.size = region->size,
		.offset = region->fd_offset,
	};
	if (region->mappable && server->client_max_fds > 0) {
		info.flags |= VFU_REGION_FLAG_MMAP;
		if (region->nareas > 0)
			info.argsz += sizeof(sparse) + region->nareas * sizeof(region->areas[0]);
		if (room >= info.argsz)
			reply->fd = region->fd;
		if (room >= info.argsz && region->nareas > 0) {
			info.flags |= VFU_REGION_FLAG_CAPS;
			info.cap_offset = sizeof(info);
		}
	}
	vfu_answer(server, reply, &info, sizeof(info));
	if (info.cap_offset != 0) {
		sparse.nr_areas = region->nareas;
		vfu_answer(server, reply, &sparse, sizeof(sparse));
		vfu_answer(server, reply, region->areas, region->nareas * sizeof(region->areas[0]));
	}
	return 0;
}

static int
vfu_command_irq_info(struct vfu_server *server, struct vfu_reply *reply)
{
	struct vfu_irq_info info;

	if (!vfu_request(server, &info, sizeof(info)) || info.argsz < sizeof(info) ||
	    info.index >= server->conf.nirqs)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.flags = server->conf.irqs[info.index].flags;
	info.count = server->conf.irqs[info.index].count;
	vfu_answer(server, reply, &info, sizeof(info));
	return 0;
}

static void
vfu_irq_tell(struct vfu_server *server, const struct vfu_irq_set *set, unsigned int vector,
	     enum vfu_irq_event event)
{
	if (server->conf.ops->irq != NULL)
		server->conf.ops->irq(server->conf.arg, set->index, vector, event);
}

/* Eventfds of the vectors, or none at all to take back those that there are. */
static int
vfu_irq_set_eventfds(struct vfu_server *server, const struct vfu_irq_set *set)
{
	struct vfu_message *message = &server->channel.message;
	unsigned int i;
	int rc;

	/* Masking by eventfd would mean to watch descriptors of the client's; no client needs it. */
	if ((set->flags & VFU_IRQ_SET_ACTION_MASK) != VFU_IRQ_SET_TRIGGER)
		return -ENOTSUP;
	if (message->nfds != 0 && message->nfds != set->count)
		return -EINVAL;
	for (i = 0; i < message->nfds; i++) {
		rc = vfu_eventfd_check(&server->irqs.signaller, message->fds[i]);
		if (rc != 0)
			return rc;
	}
	for (i = 0; i < set->count; i++) {
		int fd = message->nfds == 0 ? -1 : vfu_take_fd(message, i);

		vfu_irq_assign(&server->irqs, set->index, set->start + i, fd);
		vfu_irq_tell(server, set, set->start + i,
			     fd < 0 ? VFU_IRQ_CLEARED : VFU_IRQ_ASSIGNED);
	}
	return 0;
}

/* May the next unit be done now? What is left of the command otherwise waits for the next look. */
static bool
vfu_go_on(struct vfu_server *server)
{
	server->unfinished = vfu_look_is_over(&server->look);
	return !server->unfinished;
}

static int
vfu_irq_set_action(struct vfu_server *server, const struct vfu_irq_set *set, unsigned int vector)
{
	switch (set->flags & VFU_IRQ_SET_ACTION_MASK) {
	case VFU_IRQ_SET_MASK:
	case VFU_IRQ_SET_UNMASK:
		if (!(server->conf.irqs[set->index].flags & VFU_IRQ_FLAG_MASKABLE))
			return -EINVAL;
		if (set->flags & VFU_IRQ_SET_MASK) {
			vfu_irq_mask(&server->irqs, set->index, vector, true);
			vfu_irq_tell(server, set, vector, VFU_IRQ_MASKED);
		} else {
			vfu_irq_mask(&server->irqs, set->index, vector, false);
			vfu_irq_tell(server, set, vector, VFU_IRQ_UNMASKED);
		}
		return 0;
	case VFU_IRQ_SET_TRIGGER:
		vfu_irq_trigger(&server->irqs, set->index, vector);
		vfu_irq_tell(server, set, vector, VFU_IRQ_TRIGGERED);
		return 0;
	default: return -EINVAL;
	}
}

/* count 0 without data: all vectors of the type are taken back. */
static int
vfu_irq_disable(struct vfu_server *server, const struct vfu_irq_set *set)
{
	unsigned int i;

	if (set->start != 0 || (set->flags & VFU_IRQ_SET_ACTION_MASK) != VFU_IRQ_SET_TRIGGER)
		return -EINVAL;
	for (i = 0; i < server->conf.irqs[set->index].count; i++) {
		vfu_irq_assign(&server->irqs, set->index, i, -1);
		vfu_irq_tell(server, set, i, VFU_IRQ_CLEARED);
	}
	return 0;
}

static int
vfu_command_set_irqs(struct vfu_server *server)
{
	const struct vfu_message *message = &server->channel.message;
	struct vfu_irq_set set;
	unsigned int data, count, i;
	int rc = 0;

	if (!vfu_request(server, &set, sizeof(set)) || set.argsz < sizeof(set) ||
	    set.index >= server->conf.nirqs ||
	    (set.flags & ~(VFU_IRQ_SET_DATA_MASK | VFU_IRQ_SET_ACTION_MASK)))
		return -EINVAL;
	data = set.flags & VFU_IRQ_SET_DATA_MASK;
	count = server->conf.irqs[set.index].count;
	if (set.start > count || set.count > count - set.start)
		return -EINVAL;
	if (data != VFU_IRQ_SET_EVENTFD && message->nfds > 0)
		return -EINVAL;
	if (data == VFU_IRQ_SET_NONE && set.count == 0)
		return vfu_irq_disable(server, &set);
	if (set.count == 0)
		return -EINVAL;
	if (data == VFU_IRQ_SET_EVENTFD)
		return vfu_irq_set_eventfds(server, &set);
	if (data != VFU_IRQ_SET_NONE && data != VFU_IRQ_SET_BOOL)
		return -EINVAL;
	if (data == VFU_IRQ_SET_BOOL && message->length - sizeof(set) < set.count)
		return -EINVAL;
	for (; rc == 0 && server->done < set.count && vfu_go_on(server); server->done++) {
		i = (unsigned int)server->done;
		if (data == VFU_IRQ_SET_NONE || message->payload[sizeof(set) + i] != 0)
			rc = vfu_irq_set_action(server, &set, set.start + i);
		vfu_look_spend(&server->look, VFU_SIGNAL_STEPS);
	}
	return rc;
}

static int
vfu_access_check(const struct vfu_server *server, uint32_t index, uint64_t offset, uint64_t count,
		 uint32_t direction)
{
	const struct vfu_region *region;

	if (index >= server->conf.nregions || count == 0 ||
	    count > server->agreed.max_data_xfer_bytes)
		return -EINVAL;
	region = &server->conf.regions[index];
	if (count > region->size || offset > region->size - count)
		return -EINVAL;
	if (direction == VFU_REGION_FLAG_WRITE && region->write_bytes != 0 &&
	    ((offset | count) & (region->write_bytes - 1)) != 0)
		return -EINVAL;
	return region->flags & direction ? 0 : -EPERM;
}

/* The next piece of an access: up to a multiple of the longest that the callbacks are given. */
static uint64_t
vfu_access_piece(const struct vfu_server *server, uint32_t index, uint64_t offset, uint64_t count)
{
	uint64_t most = server->conf.regions[index].access_bytes;
	uint64_t room = most - (offset & (most - 1));

	return most == 0 || count < room ? count : room;
}

static int
vfu_command_region_read(struct vfu_server *server, struct vfu_reply *reply)
{
	struct vfu_region_access access;
	uint64_t bytes;
	uint8_t *data;
	int rc;

	if (!vfu_request(server, &access, sizeof(access)))
		return -EINVAL;
	rc = vfu_access_check(server, access.region, access.offset, access.count,
			      VFU_REGION_FLAG_READ);
	if (rc != 0)
		return rc;
	vfu_answer(server, reply, &access, sizeof(access));
	data = server->reply + reply->length;
	reply->length += access.count;
	/* Whatever the device leaves out, the client does not get to see somebody else's answer. */
	if (server->done == 0)
		memset(data, 0, access.count);
	for (; rc == 0 && server->done < access.count && vfu_go_on(server); server->done += bytes) {
		uint64_t at = access.offset + server->done;

		bytes = vfu_access_piece(server, access.region, at, access.count - server->done);
		rc = server->conf.ops->region_read(server->conf.arg, access.region, at,
						   data + server->done, bytes);
		vfu_look_spend(&server->look, 1);
	}
	return rc;
}

static int
vfu_command_region_write(struct vfu_server *server, struct vfu_reply *reply)
{
	const struct vfu_message *message = &server->channel.message;
	struct vfu_region_access access;
	uint64_t bytes;
	int rc;

	if (!vfu_request(server, &access, sizeof(access)) ||
	    message->length - sizeof(access) != access.count)
		return -EINVAL;
	rc = vfu_access_check(server, access.region, access.offset, access.count,
			      VFU_REGION_FLAG_WRITE);
	if (rc != 0)
		return rc;
	vfu_answer(server, reply, &access, sizeof(access));
	for (; rc == 0 && server->done < access.count && vfu_go_on(server); server->done += bytes) {
		uint64_t at = access.offset + server->done;

		bytes = vfu_access_piece(server, access.region, at, access.count - server->done);
		rc = server->conf.ops->region_write(
			server->conf.arg, access.region, at,
			message->payload + sizeof(access) + server->done, bytes);
		vfu_look_spend(&server->look, 1);
	}
	return rc;
}

static void
vfu_write_of(const struct vfu_message *message, uint64_t i, struct vfu_region_write *write)
{
	memcpy(write, message->payload + sizeof(struct vfu_write_multi) + i * sizeof(*write),
	       sizeof(*write));
}

/* A write of several: of 8 bytes at most, so that it is not cut. */
static int
vfu_write(struct vfu_server *server, const struct vfu_region_write *write)
{
	uint64_t at, bytes;
	int rc = 0;

	for (at = 0; at < write->count && rc == 0; at += bytes) {
		bytes = vfu_access_piece(server, write->region, write->offset + at,
					 write->count - at);
		rc = server->conf.ops->region_write(server->conf.arg, write->region,
						    write->offset + at, write->data + at, bytes);
	}
	vfu_look_spend(&server->look, 1);
	return rc;
}

/* All writes are checked before the first is done; one that the device refuses ends the series. */
static int
vfu_command_write_multi(struct vfu_server *server, struct vfu_reply *reply)
{
	const struct vfu_message *message = &server->channel.message;
	struct vfu_write_multi multi;
	struct vfu_region_write write;
	uint64_t i;
	int rc = 0;

	if (!server->agreed.write_multiple)
		return -ENOTSUP;
	if (!vfu_request(server, &multi, sizeof(multi)) || multi.wr_cnt == 0 ||
	    (message->length - sizeof(multi)) % sizeof(write) != 0 ||
	    (message->length - sizeof(multi)) / sizeof(write) != multi.wr_cnt)
		return -EINVAL;
	for (i = 0; i < multi.wr_cnt && server->done == 0; i++) {
		vfu_write_of(message, i, &write);
		if (write.count > sizeof(write.data))
			return -EINVAL;
		rc = vfu_access_check(server, write.region, write.offset, write.count,
				      VFU_REGION_FLAG_WRITE);
		if (rc != 0)
			return rc;
	}
	while (server->done < multi.wr_cnt && vfu_go_on(server)) {
		vfu_write_of(message, server->done, &write);
		rc = vfu_write(server, &write);
		if (rc != 0 && server->done == 0)
			return rc;
		if (rc != 0)
			break;
		server->done++;
	}
	multi.wr_cnt = server->done;
	vfu_answer(server, reply, &multi, sizeof(multi));
	return 0;
}

int
vfu_server_command(struct vfu_server *server, struct vfu_reply *reply)
{
	const struct vfu_message *message = &server->channel.message;

	reply->length = 0;
	reply->fd = -1;
	if (message->surplus_fds)
		return -EINVAL;
	if (server->state != VFU_CLIENT_SERVED && message->header.command != VFU_VERSION)
		return -EPROTO;
	switch (message->header.command) {
	case VFU_DMA_MAP:
	case VFU_DEVICE_SET_IRQS: break; /* may carry descriptors */
	default:
		if (message->nfds > 0)
			return -EINVAL;
	}
	switch (message->header.command) {
	case VFU_VERSION: return vfu_command_version(server, reply);
	case VFU_DMA_MAP: return vfu_command_dma_map(server);
	case VFU_DMA_UNMAP: return vfu_command_dma_unmap(server, reply);
	case VFU_DEVICE_GET_INFO: return vfu_command_device_info(server, reply);
	case VFU_DEVICE_GET_REGION_INFO: return vfu_command_region_info(server, reply);
	case VFU_DEVICE_GET_IRQ_INFO: return vfu_command_irq_info(server, reply);
	case VFU_DEVICE_SET_IRQS: return vfu_command_set_irqs(server);
	case VFU_REGION_READ: return vfu_command_region_read(server, reply);
	case VFU_REGION_WRITE: return vfu_command_region_write(server, reply);
	case VFU_REGION_WRITE_MULTI: return vfu_command_write_multi(server, reply);
	case VFU_DEVICE_RESET:
		if (message->length != 0)
			return -EINVAL;
		return server->conf.ops->reset == NULL ? -ENOTSUP
						       : server->conf.ops->reset(server->conf.arg);
	default: return -ENOTSUP;
	}
}
