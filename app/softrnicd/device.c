/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device.h"

#define MSIX_TABLE_BYTES  (SOFTRNIC_MSIX_VECTORS * MSIX_ENTRY_BYTES)
#define MSIX_ENTRY_MASKED 12 /* byte of an entry; bit 0 */

#define REGISTER_BYTES 8   /* the longest; a store of part of a dword has no meaning for any */
#define RESET_STEPS    64  /* as many register writes take as long */
#define RENEW_STEPS    512 /* a file, and the pages of the one before go */

/* What cannot be done in pieces: to receive a message, to check its writes, to put its answer by. */
#define DATA_XFER_BYTES (128u << 10)

_Static_assert(MSIX_TABLE + MSIX_TABLE_BYTES <= MSIX_PBA, "MSI-X table and pending bits");

/* ---- What the device may reach ---- */

/* Read-only it is the ROMs of virtual machines, which no driver has a device read. */
static int
device_dma_map_without_file(struct device *device, const struct vfu_dma_region *given)
{
	bool refused = (given->flags & VFU_DMA_FLAG_WRITE) != 0;

	if (!refused && device->rom_said)
		return 0;
	device->rom_said = device->rom_said || !refused;
	log_say(&device->log, refused ? VFU_LOG_ERROR : VFU_LOG_INFO,
		"%s: the client's %smemory at IOVA 0x%" PRIx64 " (%" PRIu64
		" bytes) came without a file descriptor and %s: let the client use EAL's memory "
		"(hugepage files, --in-memory or --no-huge) and none of its own; a virtual machine: a "
		"memory backend with share=on%s",
		device->options->name, refused ? "" : "read-only ", given->iova, given->size,
		refused ? "cannot be shared" : "stays out of the device's reach",
		refused ? "" : "; ROMs of virtual machines need none");
	return refused ? -ENOTSUP : 0;
}

/*
 * Pages that the client has never touched are made when the device touches them, and then charged to this process: where it
 * may have only so much (a control group's limit), that is the memory of all clients.
 */
static int
device_check_holes(struct device *device, const struct vfu_dma_region *given)
{
	bool refused = device->guard.holes > device->options->holes_max;

	if (given->mapping_holes == 0 || (!refused && device->holes_said))
		return 0;
	device->holes_said = device->holes_said || !refused;
	log_say(&device->log, refused ? VFU_LOG_ERROR : VFU_LOG_WARNING,
		"%s: %" PRIu64 " bytes of the client's memory (the file at IOVA 0x%" PRIx64
		" included) are not there yet, and those that the device touches first are charged "
		"to this process%s",
		device->options->name, device->guard.holes, given->iova,
		refused ? ": refused by --client-memory" : "; --client-memory sets a limit");
	return refused ? -ENOSPC : 0;
}

/* The client's table of maps can be put together from these lines. */
static void
device_trace_dma(struct device *device, const char *what, const struct vfu_dma_region *given)
{
	log_say(&device->log, VFU_LOG_DEBUG, "%s: DMA %s 0x%" PRIx64 " 0x%" PRIx64 " %c%c%s",
		device->options->name, what, given->iova, given->size,
		given->flags & VFU_DMA_FLAG_READ ? 'r' : '-',
		given->flags & VFU_DMA_FLAG_WRITE ? 'w' : '-',
		given->address == NULL ? " out of reach" : "");
}

static int
device_dma_map(void *arg, const struct vfu_dma_region *given)
{
	struct device *device = arg;
	struct guard_region region = {
		.iova = given->iova,
		.address = given->address,
		.length = given->size,
		.prot = (given->flags & VFU_DMA_FLAG_READ ? SOFTRNIC_DMA_READ : 0) |
			(given->flags & VFU_DMA_FLAG_WRITE ? SOFTRNIC_DMA_WRITE : 0),
		.mapping = given->mapping,
		.mapping_length = given->mapping_bytes,
		.mapping_page = given->mapping_page_bytes,
		.mapping_holes = given->mapping_holes,
	};
	int rc;

	if (given->address == NULL) {
		rc = device_dma_map_without_file(device, given);
		if (rc == 0)
			device_trace_dma(device, "map", given);
		return rc;
	}
	rc = guard_add(&device->guard, &region);
	if (rc != 0)
		return rc;
	rc = device_check_holes(device, given);
	if (rc == 0)
		rc = softrnic_dma_map(device->rnic, region.iova, region.length, region.address,
				      region.prot);
	if (rc == 0)
		device_trace_dma(device, "map", given);
	else
		guard_remove(&device->guard, region.iova);
	return rc;
}

static void
device_dma_unmap(void *arg, const struct vfu_dma_region *given)
{
	struct device *device = arg;

	device_trace_dma(device, "unmap", given);
	if (given->address == NULL)
		return;
	softrnic_dma_unmap(device->rnic, given->iova, given->size);
	guard_remove(&device->guard, given->iova);
}

void
device_check_memory(struct device *device)
{
	const struct vfu_peer *client = vfu_server_client(device->server);
	uint64_t iova;

	/* Who has been sent away for that leaves with all that the guard knows. */
	if (client == NULL || !guard_fault(&device->guard, &iova))
		return;
	log_say(&device->log, VFU_LOG_ERROR,
		"%s: memory of client %d (%s) vanished at IOVA 0x%" PRIx64
		": its file was truncated, or there was no hugepage left for it",
		device->options->name, (int)client->pid, client->name, iova);
	vfu_server_disconnect(device->server, -EFAULT);
}

/* ---- Registers ---- */

/* Registers are read as dwords; of those that are asked for in part, the rest is thrown away. */
static int
device_bar0_read(struct device *device, uint64_t offset, uint8_t *data, size_t length)
{
	int rc = 0;

	while (length > 0 && rc == 0) {
		size_t skip = offset % 4;
		size_t bytes = 4 - skip < length ? 4 - skip : length;
		uint8_t dword[8];

		if (offset % 8 == 0 && length >= 8) {
			bytes = 8;
			rc = softrnic_bar_read(device->rnic, offset, dword, 8);
		} else {
			rc = softrnic_bar_read(device->rnic, offset - skip, dword, 4);
		}
		memcpy(data, dword + skip, bytes);
		offset += bytes;
		data += bytes;
		length -= bytes;
	}
	return rc;
}

static void
device_msix_reset(struct device *device)
{
	unsigned int i;

	memset(device->msix, 0, sizeof(device->msix));
	for (i = 0; i < SOFTRNIC_MSIX_VECTORS; i++)
		device->msix[i * MSIX_ENTRY_BYTES + MSIX_ENTRY_MASKED] = 1;
}

/*
 * The table keeps what is written, and that is all: as with VFIO, where an interrupt goes and whether it is masked is
 * said by VFU_DEVICE_SET_IRQS, and a virtual machine's monitor keeps its guest's table itself.
 */
static void
device_msix_write(struct device *device, uint64_t offset, const uint8_t *data, size_t length)
{
	size_t i;

	for (i = 0; i < length && offset + i < MSIX_TABLE_BYTES; i++) {
		unsigned int at = (offset + i) % MSIX_ENTRY_BYTES;
		uint8_t writable = at == 0		     ? 0xfc
				   : at < MSIX_ENTRY_MASKED  ? 0xff
				   : at == MSIX_ENTRY_MASKED ? 0x01
							     : 0;

		device->msix[offset + i] = data[i] & writable;
	}
}

/* A PCI function that is no bus master reaches no memory; drivers that forget to make it one shall notice here. */
static void
device_follow_bus_master(struct device *device)
{
	softrnic_bus_master(device->rnic, pci_config_bus_master(&device->config));
}

static int
device_reset(void *arg)
{
	struct device *device = arg;

	softrnic_reset(device->rnic);
	pci_config_reset(&device->config);
	device_msix_reset(device);
	device_follow_bus_master(device);
	vfu_server_spend(device->server, RESET_STEPS);
	return 0;
}

static int
device_config_write(struct device *device, uint64_t offset, const void *data, size_t length)
{
	if (pci_config_write(&device->config, offset, data, length)) {
		log_say(&device->log, VFU_LOG_INFO, "%s: function level reset",
			device->options->name);
		return device_reset(device);
	}
	device_follow_bus_master(device);
	return 0;
}

static int
device_region_read(void *arg, unsigned int region, uint64_t offset, void *data, size_t length)
{
	struct device *device = arg;

	switch (region) {
	case VFU_PCI_BAR0: return device_bar0_read(device, offset, data, length);
	case MSIX_BAR: memcpy(data, device->msix + offset, length); return 0;
	case VFU_PCI_CONFIG: pci_config_read(&device->config, offset, data, length); return 0;
	default: return -EINVAL;
	}
}

static int
device_region_write(void *arg, unsigned int region, uint64_t offset, const void *data,
		    size_t length)
{
	struct device *device = arg;

	switch (region) {
	case VFU_PCI_BAR0: return softrnic_bar_write(device->rnic, offset, data, length);
	case MSIX_BAR: device_msix_write(device, offset, data, length); return 0;
	case VFU_PCI_CONFIG: return device_config_write(device, offset, data, length);
	default: return -EINVAL;
	}
}

/* ---- Clients ---- */

/* The device raises it. That nobody wants to hear of a vector is no fault of the device's. */
static void
device_interrupt(void *arg, unsigned int vector)
{
	struct device *device = arg;

	vfu_server_irq_trigger(device->server, VFU_PCI_MSIX, vector);
}

/* Counters of a device, several to a line. */
struct counters {
	struct device *device;
	char line[256];
	size_t used;
};

static void
counters_say(struct counters *counters)
{
	if (counters->used > 0)
		log_say(&counters->device->log, VFU_LOG_INFO, "%s:%s",
			counters->device->options->name, counters->line);
	counters->used = 0;
}

/* Those that moved. */
static void
counters_add(void *arg, const char *name, uint64_t value)
{
	struct counters *counters = arg;

	if (value == 0)
		return;
	if (counters->used + strlen(name) + sizeof(" =18446744073709551615") >
	    sizeof(counters->line))
		counters_say(counters);
	counters->used += (size_t)snprintf(counters->line + counters->used,
					   sizeof(counters->line) - counters->used, " %s=%" PRIu64,
					   name, value);
}

/* What is left is a device as after power-on, for the next one, that is no bus master: before the memory goes bit by bit. */
static void
device_leaving(void *arg)
{
	struct device *device = arg;
	struct counters counters = { .device = device };
	struct softrnic_stats stats;

	softrnic_stats_get(device->rnic, &stats);
	log_say(&device->log, VFU_LOG_INFO,
		"%s: %" PRIu64 " commands, %" PRIu64 " frames sent, %" PRIu64 " received",
		device->options->name, stats.commands, stats.tx_packets, stats.rx_packets);
	softrnic_stats_each(&stats, counters_add, &counters);
	counters_say(&counters);
	device_reset(device);
}

/*
 * A client, or a child of its, may keep its mapping of the UAR pages, where doorbells and whole requests are stored: so the
 * next one has others.
 */
static void
device_renew_uars(struct device *device)
{
	int fd, rc = softrnic_bar_renew(device->rnic, &fd);

	if (rc != 0)
		log_say(&device->log, VFU_LOG_ERROR,
			"%s: no new UAR pages for the next client: %s; it has to write doorbells by "
			"messages",
			device->options->name, strerror(-rc));
	vfu_server_region_file(device->server, VFU_PCI_BAR0, fd);
	vfu_server_spend(device->server, RENEW_STEPS);
}

static void
device_disconnected(void *arg, int reason)
{
	struct device *device = arg;

	(void)reason;
	device_renew_uars(device);
	guard_clear(&device->guard);
	device->rom_said = device->holes_said = false;
}

static const struct vfu_server_ops device_ops = {
	.region_read = device_region_read,
	.region_write = device_region_write,
	.dma_map = device_dma_map,
	.dma_unmap = device_dma_unmap,
	.reset = device_reset,
	.leaving = device_leaving,
	.disconnected = device_disconnected,
};

bool
device_served(const struct device *device)
{
	return vfu_server_client(device->server) != NULL;
}

/* ---- Life ---- */

static uint64_t
power_of_two(uint64_t bytes)
{
	uint64_t size = 4096;

	while (size < bytes)
		size <<= 1;
	return size;
}

static void
device_describe(struct device *device, struct vfu_server_conf *conf, uint64_t bar0_bytes)
{
	struct vfu_region *bar0 = &conf->regions[VFU_PCI_BAR0];
	const uint32_t rw = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE;
	uint64_t offset;
	size_t length;
	void *address;

	*bar0 = (struct vfu_region){
		.size = bar0_bytes,
		.flags = rw,
		.access_bytes = REGISTER_BYTES,
		.write_bytes = 4,
	};
	if (softrnic_bar_mmap(device->rnic, &offset, &length, &address, &bar0->fd) == 0) {
		bar0->mappable = true;
		bar0->nareas = 1;
		bar0->areas[0] = (struct vfu_area){ .offset = offset, .size = length };
	}
	conf->regions[MSIX_BAR] = (struct vfu_region){ .size = MSIX_BAR_BYTES, .flags = rw };
	conf->regions[VFU_PCI_CONFIG] =
		(struct vfu_region){ .size = PCI_CONFIG_BYTES, .flags = rw };
	conf->irqs[VFU_PCI_MSIX] = (struct vfu_irq_type){
		.count = SOFTRNIC_MSIX_VECTORS,
		.flags = VFU_IRQ_FLAG_EVENTFD | VFU_IRQ_FLAG_MASKABLE,
	};
}

static int
device_serve(struct device *device, unsigned int max_maps)
{
	struct vfu_server_conf conf = {
		.name = device->options->name,
		.path = device->options->socket,
		.bind_path = device->options->bind_path,
		.ops = &device_ops,
		.arg = device,
		.log = log_vfu,
		.log_arg = &device->log,
		.nregions = VFU_PCI_REGIONS,
		.nirqs = VFU_PCI_IRQS,
	};
	uint64_t bar0_bytes = power_of_two(softrnic_bar_size(device->rnic));

	vfu_capabilities_ours(&conf.caps);
	conf.caps.max_data_xfer_bytes = DATA_XFER_BYTES;
	if (conf.caps.max_dma_maps > max_maps)
		conf.caps.max_dma_maps = max_maps;
	pci_config_init(&device->config, &device->options->id, bar0_bytes, SOFTRNIC_MSIX_VECTORS);
	device_msix_reset(device);
	device_follow_bus_master(device);
	device_describe(device, &conf, bar0_bytes);
	return vfu_server_create(&conf, &device->server);
}

int
device_create(struct device *device, const struct device_options *options,
	      struct softrnic_poller *poller, unsigned int max_maps)
{
	unsigned int vector;
	int rc;

	device->options = options;
	log_join(&device->log, options->name);
	/* It says itself what is wrong. */
	rc = softrnic_create(poller, &options->conf, &device->rnic);
	if (rc != 0) {
		log_leave(&device->log);
		return rc;
	}
	rc = device_serve(device, max_maps);
	if (rc != 0) {
		log_error("%s: cannot serve %s: %s", options->name, options->socket, strerror(-rc));
		softrnic_destroy(device->rnic);
		log_leave(&device->log);
		device->rnic = NULL;
		return rc;
	}
	for (vector = 0; vector < SOFTRNIC_MSIX_VECTORS; vector++)
		softrnic_set_interrupt(device->rnic, vector, device_interrupt, device);
	rc = guard_join(&device->guard, device->rnic, options->thread);
	if (rc != 0) {
		log_error("%s: cannot guard clients' memory: %s", options->name, strerror(-rc));
		device_destroy(device);
	}
	return rc;
}

void
device_destroy(struct device *device)
{
	if (device->rnic == NULL)
		return;
	vfu_server_destroy(device->server);
	softrnic_destroy(device->rnic);
	guard_leave(&device->guard);
	log_leave(&device->log);
	memset(device, 0, sizeof(*device));
}
