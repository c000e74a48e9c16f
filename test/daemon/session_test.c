/* SPDX-License-Identifier: BSD-3-Clause */

/* What a client of softrnicd sees and may do: the PCI function, registers, memory, interrupts, resets. */

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "nic.h"

#define BAR0_BYTES (2ul << 20)
#define MSIX_BAR   2

static struct daemon d;

static int
start(void **state)
{
	const char *const devices[] = { "name=loop,seed=1", "name=vf,id=15b3:1018,wire=pair:x",
					"name=other,wire=pair:x", NULL };

	(void)state;
	daemon_start(&d, devices);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	daemon_stop(&d);
	daemon_clean(&d);
	return 0;
}

/* A test's state: a client of the first device, or a driver on it. */
static int
connect_client(void **state)
{
	*state = client_connect(d.sockets[0]);
	return 0;
}

static int
close_client(void **state)
{
	vfu_client_close(*state);
	return 0;
}

static int
open_nic(void **state)
{
	static struct nic nic;

	*state = &nic;
	nic_open(&nic, d.sockets[0]);
	return 0;
}

static int
close_nic(void **state)
{
	nic_close(*state);
	return 0;
}

static uint32_t
config_read(struct vfu_client *client, uint64_t offset, size_t length)
{
	uint32_t value = 0;

	assert_int_equal(vfu_client_region_read(client, PCI_REGION, offset, &value, length), 0);
	return value;
}

static void
config_write(struct vfu_client *client, uint64_t offset, uint32_t value, size_t length)
{
	assert_int_equal(vfu_client_region_write(client, PCI_REGION, offset, &value, length), 0);
}

static unsigned int
find_capability(struct vfu_client *client, uint8_t id)
{
	unsigned int at = config_read(client, PCI_CAPABILITY_LIST, 1), seen = 0;

	while (at != 0 && seen++ < 48) {
		if (config_read(client, at, 1) == id)
			return at;
		at = config_read(client, at + PCI_CAP_LIST_NEXT, 1);
	}
	return 0;
}

/* ---- The PCI function ---- */

static void
the_function_says_who_it_is(void **state)
{
	struct vfu_client *client = *state, *vf = client_connect(d.sockets[1]);
	uint32_t flags, regions, irqs;

	assert_int_equal(vfu_client_device_info(client, &flags, &regions, &irqs), 0);
	assert_int_equal(flags, VFU_DEVICE_FLAG_PCI | VFU_DEVICE_FLAG_RESET);
	assert_int_equal(regions, VFU_PCI_REGIONS);
	assert_int_equal(irqs, VFU_PCI_IRQS);
	assert_int_equal(config_read(client, PCI_VENDOR_ID, 4), 0x101715b3);
	assert_int_equal(config_read(vf, PCI_VENDOR_ID, 4), 0x101815b3);
	assert_int_equal(config_read(client, PCI_CLASS_REVISION, 4) >> 8, 0x020000);
	assert_int_equal(config_read(client, PCI_HEADER_TYPE, 1), 0);
	assert_int_equal(config_read(client, PCI_INTERRUPT_PIN, 1), 0);
	assert_true(config_read(client, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST);
	vfu_client_close(vf);
}

static void
bars_have_sizes(void **state)
{
	struct vfu_client *client = *state;
	struct vfu_client_region region;
	unsigned int i;

	config_write(client, PCI_BASE_ADDRESS_0, 0xffffffff, 4);
	config_write(client, PCI_BASE_ADDRESS_1, 0xffffffff, 4);
	config_write(client, PCI_BASE_ADDRESS_2, 0xffffffff, 4);
	config_write(client, PCI_ROM_ADDRESS, 0xffffffff, 4);
	assert_int_equal(config_read(client, PCI_BASE_ADDRESS_0, 4),
			 (uint32_t) ~(BAR0_BYTES - 1) | PCI_BASE_ADDRESS_MEM_TYPE_64 |
				 PCI_BASE_ADDRESS_MEM_PREFETCH);
	assert_int_equal(config_read(client, PCI_BASE_ADDRESS_1, 4), 0xffffffff);
	assert_int_equal(config_read(client, PCI_BASE_ADDRESS_2, 4), 0xfffff000);
	assert_int_equal(config_read(client, PCI_BASE_ADDRESS_3, 4), 0);
	assert_int_equal(config_read(client, PCI_ROM_ADDRESS, 4), 0);

	for (i = 0; i < VFU_PCI_REGIONS; i++) {
		assert_int_equal(vfu_client_region_info(client, i, &region), 0);
		assert_int_equal(region.size, i == VFU_PCI_BAR0	    ? BAR0_BYTES
					      : i == MSIX_BAR	    ? 4096
					      : i == VFU_PCI_CONFIG ? 4096
								    : 0);
		assert_int_equal(region.nareas, i == VFU_PCI_BAR0 ? 1 : 0);
		vfu_client_region_release(&region);
	}
}

static void
capabilities_are_in_the_list(void **state)
{
	struct vfu_client *client = *state;
	unsigned int msix = find_capability(client, PCI_CAP_ID_MSIX);
	unsigned int express = find_capability(client, PCI_CAP_ID_EXP);

	assert_int_not_equal(find_capability(client, PCI_CAP_ID_PM), 0);
	assert_int_not_equal(msix, 0);
	assert_int_equal(config_read(client, msix + PCI_MSIX_FLAGS, 2), SOFTRNIC_MSIX_VECTORS - 1);
	assert_int_equal(config_read(client, msix + PCI_MSIX_TABLE, 4) & PCI_MSIX_TABLE_BIR,
			 MSIX_BAR);
	assert_int_not_equal(express, 0);
	assert_true(config_read(client, express + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR);
	assert_int_equal(config_read(client, express + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_VERS, 2);
	assert_int_equal(find_capability(client, PCI_CAP_ID_MSI), 0);
	/* No extended ones. */
	assert_int_equal(config_read(client, 0x100, 4), 0);
}

/* The vendor's gateway: its semaphore can be taken and given back, and it has no space. */
static void
vendor_gateway_is_empty(void **state)
{
	struct vfu_client *client = *state;
	unsigned int vendor = find_capability(client, PCI_CAP_ID_VNDR);
	uint32_t space = 7, counter;

	assert_int_not_equal(vendor, 0);
	assert_int_equal(config_read(client, vendor + 2, 1), 0x18);
	counter = config_read(client, vendor + 8, 4);
	assert_int_not_equal(counter, 0);
	assert_int_equal(config_read(client, vendor + 0xc, 4), 0);
	assert_int_equal(vfu_client_region_write(client, PCI_REGION, vendor + 0xc, &counter, 4), 0);
	assert_int_equal(config_read(client, vendor + 0xc, 4), counter);
	assert_int_equal(vfu_client_region_write(client, PCI_REGION, vendor + 4, &space, 4), 0);
	/* Status 0: no such space. */
	assert_int_equal(config_read(client, vendor + 4, 4), space);
	counter = 0;
	assert_int_equal(vfu_client_region_write(client, PCI_REGION, vendor + 0xc, &counter, 4), 0);
	assert_int_equal(config_read(client, vendor + 0xc, 4), 0);
}

/* Everything written with ones, and with zeros: what is not writable has not moved. */
static void
read_only_bits_stay(void **state)
{
	struct vfu_client *client = *state;
	unsigned int express = find_capability(client, PCI_CAP_ID_EXP);
	uint8_t before[256], after[256], ones[256];

	memset(ones, 0xff, sizeof(ones));
	/* That bit would reset it all. */
	ones[express + PCI_EXP_DEVCTL + 1] = 0x7f;
	assert_int_equal(vfu_client_region_read(client, PCI_REGION, 0, before, 256), 0);
	assert_int_equal(vfu_client_region_write(client, PCI_REGION, 0, ones, 256), 0);
	assert_int_equal(vfu_client_region_read(client, PCI_REGION, 0, after, 256), 0);
	assert_memory_equal(before, after, 4);
	assert_int_equal(after[PCI_COMMAND] | after[PCI_COMMAND + 1] << 8, 0x0546);
	assert_memory_equal(before + PCI_CLASS_REVISION, after + PCI_CLASS_REVISION, 4);
	assert_memory_equal(before + PCI_SUBSYSTEM_VENDOR_ID, after + PCI_SUBSYSTEM_VENDOR_ID, 4);
	assert_int_equal(after[PCI_CAPABILITY_LIST], before[PCI_CAPABILITY_LIST]);
	memset(ones, 0, sizeof(ones));
	assert_int_equal(vfu_client_region_write(client, PCI_REGION, 0, ones, 256), 0);
	assert_int_equal(vfu_client_region_read(client, PCI_REGION, 0, after, 256), 0);
	assert_memory_equal(before, after, 4);
	assert_int_equal(config_read(client, PCI_COMMAND, 2), 0);
	/* Outside of it. */
	assert_int_equal(vfu_client_region_read(client, PCI_REGION, 4095, after, 2), -EINVAL);
}

static void
the_msix_table_keeps_what_is_written(void **state)
{
	struct vfu_client *client = *state;
	const uint32_t entry[4] = { 0xfee00003, 1, 0x4021, 0xfffffffe };
	uint32_t got[4], pending = ~0u;

	assert_int_equal(vfu_client_region_read(client, MSIX_BAR, 16, got, 16), 0);
	assert_int_equal(got[3], 1); /* masked */
	assert_int_equal(vfu_client_region_write(client, MSIX_BAR, 16, entry, 16), 0);
	assert_int_equal(vfu_client_region_read(client, MSIX_BAR, 16, got, 16), 0);
	assert_int_equal(got[0], 0xfee00000);
	assert_int_equal(got[2], 0x4021);
	assert_int_equal(got[3], 0);
	assert_int_equal(vfu_client_region_write(client, MSIX_BAR, 0x800, &pending, 4), 0);
	assert_int_equal(vfu_client_region_read(client, MSIX_BAR, 0x800, &pending, 4), 0);
	assert_int_equal(pending, 0);
}

/* ---- Registers and memory ---- */

static void
registers_are_read_in_any_size(void **state)
{
	struct vfu_client *client = *state;
	uint8_t all[64], part[64];
	uint32_t value = 0;

	assert_int_equal(vfu_client_region_read(client, 0, 0, all, 16), 0);
	assert_int_not_equal(all[0] | all[1] | all[2] | all[3], 0); /* a version of firmware */
	for (unsigned int at = 0; at < 8; at++) {
		for (unsigned int length = 1; length <= 8; length++) {
			assert_int_equal(vfu_client_region_read(client, 0, at, part, length), 0);
			assert_memory_equal(part, all + at, length);
		}
	}
	assert_int_equal(vfu_client_region_read(client, 0, BAR0_BYTES - 3, part, 3), 0);
	assert_int_equal(vfu_client_region_read(client, 0, BAR0_BYTES - 3, part, 4), -EINVAL);
	assert_int_equal(vfu_client_region_write(client, 0, 0x12, &value, 2), -EINVAL);
	assert_int_equal(vfu_client_region_write(client, 0, 0x10, &value, 3), -EINVAL);
	assert_int_equal(vfu_client_region_write(client, 0, 0x10, &value, 4), 0);
}

static void
the_mapped_area_is_the_bar(void **state)
{
	struct vfu_client *client = *state;
	struct vfu_client_region region;
	uint64_t value = 0;
	uint8_t *area;
	void *address;

	assert_int_equal(vfu_client_region_info(client, VFU_PCI_BAR0, &region), 0);
	assert_int_equal(vfu_client_region_map(&region, 0, &address), 0);
	area = address;
	memcpy(area + 0xff8, "doorbell", 8);
	assert_int_equal(
		vfu_client_region_read(client, 0, region.areas[0].offset + 0xff8, &value, 8), 0);
	assert_memory_equal(&value, "doorbell", 8);
	memset(area + 0xff8, 0, 8);
	/* Its size is the device's. */
	assert_int_not_equal(ftruncate(region.fd, 0), 0);
	munmap(address, region.areas[0].size);
	vfu_client_region_release(&region);
}

static void
memory_without_a_file_is_refused(void **state)
{
	struct vfu_client *client = *state;
	const unsigned int rw = VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE;
	char path[] = "/var/tmp/softrnicd-test-XXXXXX";
	int fd = mkstemp(path), zero = open("/dev/zero", O_RDWR | O_CLOEXEC);

	assert_int_equal(vfu_client_dma_map(client, 0x10000, 0x1000, rw, -1, 0), -ENOTSUP);
	assert_true(daemon_logged(&d, "--in-memory"));
	/* What a virtual machine does with its ROMs. */
	assert_int_equal(vfu_client_dma_map(client, 0x10000, 0x1000, VFU_DMA_FLAG_READ, -1, 0), 0);
	assert_int_equal(vfu_client_dma_unmap(client, 0x10000, 0x1000), 0);
	assert_true(daemon_logged(&d, "read-only memory at IOVA 0x10000"));
	assert_int_equal(vfu_client_dma_map(client, 0x10000, 0x1000, rw, zero, 0), -ENOTSUP);
	assert_true(fd >= 0);
	unlink(path);
	assert_int_not_equal(vfu_client_dma_map(client, 0x10000, 0x1000, rw, fd, 0), 0);
	close(fd);
	close(zero);
}

/* ---- Commands ---- */

static void
commands_are_executed(void **state)
{
	struct softrnic_conf conf = { .name = d.sockets[0] };
	struct rnic_function_in in = { 0 };
	uint8_t out[0x70] = { 0 };
	struct hn hn;

	(void)state;
	hn_start(&hn, NULL, &conf);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), RNIC_STATUS_BAD_SYS_STATE);
	assert_int_equal(hn_simple(&hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), 0);
	hn_head(&in, RNIC_CMD_QUERY_ISSI, 0);
	hn_cmd_ok(&hn, &in, sizeof(in), out, sizeof(out));
	assert_int_equal(out[0x6f] & 2, 2); /* ISSI 1 is supported */
	assert_int_equal(hn_simple(&hn, RNIC_CMD_DISABLE_HCA, 0, 0, NULL), 0);
	hn_bring_up(&hn);
	assert_int_equal(
		hn_destroy(&hn, RNIC_CMD_DEALLOC_PD, hn_alloc_object(&hn, RNIC_CMD_ALLOC_PD)), 0);
	hn_tear_down(&hn);
	hn_stop(&hn);
}

/* Each of them is worth a message to people, by way of rte_log(). */
static void
refused_commands_do_not_fill_the_log(void **state)
{
	struct softrnic_conf conf = { .name = d.sockets[2] };
	const time_t begin = time(NULL);
	struct stat before, after;
	struct hn hn;

	(void)state;
	hn_start(&hn, NULL, &conf);
	assert_int_equal(stat(d.log, &before), 0);
	for (unsigned int i = 0; i < 2000; i++)
		assert_int_not_equal(hn_simple(&hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), 0);
	assert_true(daemon_logged(&d, "other: more messages are left out"));
	assert_int_equal(stat(d.log, &after), 0);
	/* Some 200 lines, and 10 with each second that it took. */
	assert_in_range(after.st_size - before.st_size, 1000, 60000 + 3000 * (time(NULL) - begin));
	hn_stop(&hn);
}

static void
without_bus_master_nothing_happens(void **state)
{
	struct softrnic_conf conf = { .name = d.sockets[0] };
	struct rnic_object_in in = { 0 };
	struct rnic_object_out out;
	struct hn hn;

	(void)state;
	hn_start(&hn, NULL, &conf);
	client_bus_master(client_of(hn.dev), false);
	hn_head(&in, RNIC_CMD_ENABLE_HCA, 0);
	hn_cmd_post(&hn, 0, &in, sizeof(in), sizeof(out));
	hn_ring(&hn, 1);
	usleep(20000);
	assert_int_equal(hn_cmd_result(&hn, 0, &out, sizeof(out)), HN_PENDING);
	client_bus_master(client_of(hn.dev), true);
	hn_bring_up(&hn);
	hn_stop(&hn);
}

static void
frames_are_sent_by_mapped_doorbells(void **state)
{
	struct nic *nic = *state;

	for (unsigned int i = 0; i < 1000; i++) {
		nic_send(nic);
		assert_true(nic_sent(nic));
	}
}

/* ---- Interrupts ---- */

static bool
told(int fd, int wait_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	eventfd_t count;

	return poll(&ready, 1, wait_ms) == 1 && eventfd_read(fd, &count) == 0;
}

static void
interrupts_come_by_eventfd(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct vfu_client *client;
	struct rnic_eqe eqe;
	uint32_t count, flags;
	struct nic *nic = *state;

	client = client_of(nic->hn.dev);
	assert_int_equal(vfu_client_irq_info(client, VFU_PCI_INTX, &count, &flags), 0);
	assert_int_equal(count, 0);
	assert_int_equal(vfu_client_irq_info(client, VFU_PCI_MSIX, &count, &flags), 0);
	assert_int_equal(count, SOFTRNIC_MSIX_VECTORS);
	assert_int_equal(vfu_client_irq_set(client, VFU_PCI_MSIX, NIC_VECTOR, 1, &fd), 0);
	hn_eq_arm(&nic->hn, &nic->eq);
	nic_arm(nic);
	nic_send(nic);
	assert_true(nic_sent(nic));
	assert_true(told(fd, 20000));
	assert_true(hn_eq_next(&nic->hn, &nic->eq, &eqe));
	/* Not armed: not again. */
	nic_send(nic);
	assert_true(nic_sent(nic));
	assert_false(told(fd, 20));

	/* Masked it waits for the unmasking. */
	assert_int_equal(
		vfu_client_irq_action(client, VFU_PCI_MSIX, NIC_VECTOR, 1, VFU_IRQ_SET_MASK), 0);
	nic_arm(nic);
	hn_eq_arm(&nic->hn, &nic->eq);
	assert_false(told(fd, 20));
	nic_send(nic);
	assert_true(nic_sent(nic));
	assert_false(told(fd, 20));
	assert_int_equal(
		vfu_client_irq_action(client, VFU_PCI_MSIX, NIC_VECTOR, 1, VFU_IRQ_SET_UNMASK), 0);
	assert_true(told(fd, 20000));

	assert_int_equal(
		vfu_client_irq_action(client, VFU_PCI_MSIX, NIC_VECTOR, 1, VFU_IRQ_SET_TRIGGER), 0);
	assert_true(told(fd, 20000));
	assert_int_equal(vfu_client_irq_disable(client, VFU_PCI_MSIX), 0);
	vfu_client_irq_action(client, VFU_PCI_MSIX, NIC_VECTOR, 1, VFU_IRQ_SET_TRIGGER);
	assert_false(told(fd, 20));
	close(fd);
}

/* ---- Resets and sessions ---- */

/* No command queue, no bus master: and from there everything works. */
static void
assert_power_on(struct hn *hn)
{
	struct vfu_client *client = client_of(hn->dev);
	int32_t pages;

	assert_int_equal(hn_read32(hn, 0x10), 0);
	assert_int_equal(hn_read32(hn, 0x14) & 0xfffff000, 0);
	client_bus_master(client, true);
	hn_set_cmdq(hn);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_BOOT, &pages), RNIC_STATUS_BAD_SYS_STATE);
	hn_bring_up(hn);
}

static void
function_level_reset(void **state)
{
	struct vfu_client *client;
	unsigned int express;
	struct nic *nic = *state;

	client = client_of(nic->hn.dev);
	express = find_capability(client, PCI_CAP_ID_EXP);
	config_write(client, PCI_BASE_ADDRESS_0, 0x80000000, 4);
	config_write(client, express + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(config_read(client, express + PCI_EXP_DEVCTL, 2) & PCI_EXP_DEVCTL_BCR_FLR,
			 0);
	assert_int_equal(config_read(client, PCI_COMMAND, 2), 0);
	assert_int_equal(config_read(client, PCI_BASE_ADDRESS_0, 4) & ~0xfu, 0);
	assert_power_on(&nic->hn);
}

static void
device_reset_keeps_memory_and_vectors(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct vfu_client *client;
	struct nic *nic = *state;

	client = client_of(nic->hn.dev);
	assert_int_equal(vfu_client_irq_set(client, VFU_PCI_MSIX, 0, 1, &fd), 0);
	assert_int_equal(vfu_client_reset(client), 0);
	assert_int_equal(config_read(client, PCI_COMMAND, 2), 0);
	assert_power_on(&nic->hn);
	assert_int_equal(vfu_client_irq_action(client, VFU_PCI_MSIX, 0, 1, VFU_IRQ_SET_TRIGGER), 0);
	assert_true(told(fd, 20000));
	close(fd);
}

static void
the_next_client_finds_power_on(void **state)
{
	struct softrnic_conf conf = { .name = d.sockets[0] };
	struct vfu_client *client;
	struct nic nic;
	struct hn hn;

	(void)state;
	nic_open(&nic, d.sockets[0]);
	nic_close(&nic); /* as it is */
	client = client_connect(d.sockets[0]);
	assert_int_equal(config_read(client, PCI_COMMAND, 2), 0);
	vfu_client_close(client);
	hn_start(&hn, NULL, &conf);
	/* hn_start() has given it a queue already. */
	assert_int_equal(hn_simple(&hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), RNIC_STATUS_BAD_SYS_STATE);
	hn_bring_up(&hn);
	hn_stop(&hn);
}

#define PATTERN 0x5a
#define PATTERN_AT            \
	(RNIC_UAR_BLUEFLAME + \
	 RNIC_BF_HALF_BYTES) /* room for a WQE; no queue has the number in it */

/* A driver, and one before it that has the device no more, but a mapping of its pages: each one's view of the driver's page. */
struct shade {
	struct nic nic;
	uint8_t *uars;
	size_t uars_bytes;
	uint8_t *page, *page_before;
};

static int
open_behind_a_shade(void **state)
{
	static struct shade s;
	size_t page;

	*state = &s;
	nic_open(&s.nic, d.sockets[0]);
	s.uars = s.nic.uars;
	s.uars_bytes = s.nic.uars_bytes;
	hn_stop(&s.nic.hn);
	nic_open(&s.nic, d.sockets[0]);
	page = s.nic.sq.uar * (size_t)RNIC_UAR_PAGE_BYTES - s.nic.uars_offset;
	s.page = s.nic.uars + page;
	s.page_before = s.uars + page;
	return 0;
}

static int
close_shade(void **state)
{
	struct shade *s = *state;

	munmap(s->uars, s->uars_bytes);
	nic_close(&s->nic);
	return 0;
}

static unsigned int
bytes_other_than(const uint8_t *page, uint8_t value)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < RNIC_UAR_PAGE_BYTES; i++)
		count += page[i] != value;
	return count;
}

/* A page where doorbells are stored, with requests in them, is for one client alone: whoever had it before sees nothing there. */
static void
who_was_served_before_sees_no_stores(void **state)
{
	struct shade *s = *state;

	memset(s->page + PATTERN_AT, PATTERN, 64);
	nic_send(&s->nic);
	assert_true(nic_sent(&s->nic));
	assert_int_equal(bytes_other_than(s->page_before, 0), 0);
	/* The other way round. */
	memset(s->page, 0, RNIC_UAR_PAGE_BYTES);
	memset(s->page_before + PATTERN_AT, PATTERN, 64);
	assert_int_equal(bytes_other_than(s->page, 0), 0);
}

/* Nor has it the next one's queues do anything. */
static void
who_was_served_before_arms_nothing(void **state)
{
	struct shade *s = *state;
	uint64_t arm, *word = (uint64_t *)(void *)(s->page_before + RNIC_UAR_CQ_ARM);
	struct nic *nic = &s->nic;
	struct rnic_eqe eqe;
	bool asked = false;

	for (unsigned int i = 0; i < 100; i++) {
		arm = i % 4 << 28 | (nic->cq.consumer & RNIC_CQ_INDEX_MASK);
		__atomic_store_n(word, rnic_cpu_to_be64(arm << 32 | nic->cq.number).raw,
				 __ATOMIC_RELEASE);
		/* The device looks at all words of a page at a time. */
		nic_send(nic);
		assert_true(nic_sent(nic));
		assert_false(hn_eq_next(&nic->hn, &nic->eq, &eqe));
	}
	/* As soon as the client asks for one itself it has it. */
	nic_arm(nic);
	nic_send(nic);
	assert_true(nic_sent(nic));
	for (unsigned int i = 0; !asked && i < 6000; i++) {
		asked = hn_eq_next(&nic->hn, &nic->eq, &eqe);
		usleep(asked ? 0 : 10000);
	}
	assert_true(asked);
}

static char client_log[1024];

static void
take_log(void *arg, enum vfu_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	snprintf(client_log, sizeof(client_log), "%s", message);
}

static void
a_second_client_is_told_who_is_served(void **state)
{
	const struct vfu_client_conf conf = { .name = "second",
					      .path = d.sockets[0],
					      .fd = -1,
					      .log = take_log,
					      .timeout_ms = 30000 };
	struct vfu_client *first = client_connect(d.sockets[0]), *second,
			  *neighbour = client_connect(d.sockets[2]);
	char pid[16];

	(void)state;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_int_equal(vfu_client_open(&conf, &second), -EBUSY);
	assert_non_null(strstr(client_log, pid));
	assert_true(daemon_logged(&d, "refused: process"));
	/* The first did not notice. */
	assert_int_equal(config_read(first, PCI_VENDOR_ID, 4), 0x101715b3);
	vfu_client_close(first);
	vfu_client_close(neighbour);
	first = client_connect(d.sockets[0]);
	vfu_client_close(first);
}

static void
two_devices_serve_at_a_time(void **state)
{
	struct nic a, b;

	(void)state;
	nic_open(&a, d.sockets[1]);
	nic_open(&b, d.sockets[2]);
	for (unsigned int i = 0; i < 100; i++) {
		nic_send(&a);
		nic_send(&b);
		assert_true(nic_sent(&a));
		assert_true(nic_sent(&b));
	}
	nic_close(&a);
	nic_send(&b);
	assert_true(nic_sent(&b));
	nic_close(&b);
}

int
main(int argc, char **argv)
{
#define CLIENT(name) cmocka_unit_test_setup_teardown(name, connect_client, close_client)
#define NIC(name)    cmocka_unit_test_setup_teardown(name, open_nic, close_nic)
#define SHADE(name)  cmocka_unit_test_setup_teardown(name, open_behind_a_shade, close_shade)
	const struct CMUnitTest tests[] = {
		CLIENT(the_function_says_who_it_is),
		CLIENT(bars_have_sizes),
		CLIENT(capabilities_are_in_the_list),
		CLIENT(vendor_gateway_is_empty),
		CLIENT(read_only_bits_stay),
		CLIENT(the_msix_table_keeps_what_is_written),
		CLIENT(registers_are_read_in_any_size),
		CLIENT(the_mapped_area_is_the_bar),
		CLIENT(memory_without_a_file_is_refused),
		cmocka_unit_test(commands_are_executed),
		cmocka_unit_test(refused_commands_do_not_fill_the_log),
		cmocka_unit_test(without_bus_master_nothing_happens),
		NIC(frames_are_sent_by_mapped_doorbells),
		NIC(interrupts_come_by_eventfd),
		NIC(function_level_reset),
		NIC(device_reset_keeps_memory_and_vectors),
		cmocka_unit_test(the_next_client_finds_power_on),
		SHADE(who_was_served_before_sees_no_stores),
		SHADE(who_was_served_before_arms_nothing),
		cmocka_unit_test(a_second_client_is_told_who_is_served),
		cmocka_unit_test(two_devices_serve_at_a_time),
	};

	if (daemon_arguments(argc, argv) != 0)
		return 2;
	return cmocka_run_group_tests(tests, start, stop);
}
