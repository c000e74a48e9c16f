/* SPDX-License-Identifier: BSD-3-Clause */

#include "liar.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>

#include <rte_alarm.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "access/class.h"
#include "access/direct.h"
#include "access/vfio.h"
#include "access/vfio_user.h"
#include "core/dev.h"
#include "core/eq.h"
#include "prm/cmd.h"
#include "prm/cmd_table.h"
#include "prm/cmdq.h"
#include "prm/cqe.h"
#include "prm/init_seg.h"
#include "prm/uar.h"
#include "rdma/vector.h"

#define IRQS 8

struct fake fake;
struct softrnic_poller *fake_poller;
bool fake_interrupts, fake_lets_go, fake_stays;
void (*fake_before_close)(void);
bool (*fake_read_hook)(uint64_t offset);
void (*fake_rung_hook)(uint16_t opcode);
unsigned int fake_irqs = IRQS;
uint64_t fake_hz = 2000000;
static pthread_t main_thread;

void
fake_init(void)
{
	main_thread = pthread_self();
	fake.irq = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	must(fake.irq >= 0);
	must(softrnic_poller_create(&fake_poller) == 0);
}

void
fake_reset_lies(void)
{
	struct softrnic *device = fake_stays ? fake.device : NULL;
	int irq = fake.irq;

	memset(&fake, 0, sizeof(fake));
	fake.device = device;
	fake.irq = irq;
}

void
fake_be_honest(void)
{
	fake.change_count = 0;
	fake.read_count = 0;
	fake.commands = 0;
	fake.read = 0;
	fake.all_registers = 0;
	fake.unanswered = 0;
}

/* ---- What threads of the driver's own or of DPDK would do, or would wait for. ---- */

/* The control thread sleeps: who waits for it walks the queue (the linker's --wrap). */
void __wrap_rnic_control_sync(struct rnic_dev *dev);

void
__wrap_rnic_control_sync(struct rnic_dev *dev)
{
	rnic_eq_poll(dev, dev->async_eq);
	rnic_rdma_poll(dev);
}

struct rnic_dev *fake_driver;
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *end);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *end);

/* Who waits for an event finds it. */
int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *end)
{
	if (fake_driver == NULL || !pthread_equal(pthread_self(), main_thread))
		return __real_pthread_cond_timedwait(cond, mutex, end);
	pthread_mutex_unlock(mutex);
	softrnic_poll(fake_poller);
	/* Which goes before the device does. */
	if (fake_driver->async_eq != NULL)
		rnic_eq_poll(fake_driver, fake_driver->async_eq);
	pthread_mutex_lock(mutex);
	return ETIMEDOUT;
}

static struct {
	rte_eal_alarm_callback fn;
	void *arg;
} alarms[8];

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback fn, void *arg)
{
	unsigned int i;

	(void)us;
	for (i = 0; i < RTE_DIM(alarms); i++) {
		if (alarms[i].fn != NULL)
			continue;
		alarms[i].fn = fn;
		alarms[i].arg = arg;
		return 0;
	}
	return -ENOMEM;
}

int
rte_eal_alarm_cancel(rte_eal_alarm_callback fn, void *arg)
{
	unsigned int i;
	int count = 0;

	for (i = 0; i < RTE_DIM(alarms); i++) {
		if (alarms[i].fn != fn || alarms[i].arg != arg)
			continue;
		alarms[i].fn = NULL;
		count++;
	}
	return count;
}

void
fake_alarms_run(void)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(alarms); i++) {
		rte_eal_alarm_callback fn = alarms[i].fn;

		alarms[i].fn = NULL;
		if (fn != NULL)
			fn(alarms[i].arg);
	}
}

/* Who waits for the device lets it work. */
void
rte_delay_us_sleep(unsigned int us)
{
	(void)us;
	if (fake_poller != NULL)
		softrnic_poll(fake_poller);
}

/* Time flies: a wait of 200 ms is over in less than one. */
uint64_t
rte_get_tsc_hz(void)
{
	return fake_hz;
}

/* ---- The access ---- */

static struct rnic_be32
fake_read32(struct rnic_access *access, uint64_t offset)
{
	/* The control thread looks once: that must not move the count. */
	const bool other = !pthread_equal(pthread_self(), main_thread);
	struct rnic_be32 value;
	unsigned int i;

	(void)access;
	if (other && fake_read_hook != NULL && !fake_read_hook(offset))
		return RNIC_BE32(UINT32_MAX);
	if (softrnic_bar_read(fake.device, offset, &value, sizeof(value)) != 0)
		return RNIC_BE32(UINT32_MAX);
	if (other)
		return value;
	if (fake.all_registers != 0)
		return rnic_cpu_to_be32(fake.all_registers);
	for (i = 0; i < fake.read_count; i++)
		if (fake.reads[i].which == fake.read)
			value = rnic_cpu_to_be32(fake.reads[i].value);
	fake.read++;
	return value;
}

/* Bytes of an output, which begin in the entry and go on in blocks of the driver's own memory. */
static void
change_output(struct rnic_cmdq_entry *entry, const struct change *change)
{
	uint64_t next = rnic_be64_to_cpu(entry->output_mailbox);
	uint32_t at = change->offset, i, block, length = rnic_be32_to_cpu(entry->output_length);
	uint8_t *to;

	for (i = 0; i < change->bytes; i++, at++) {
		if (at >= length)
			return;
		if (at < RNIC_CMDQ_INLINE_BYTES) {
			entry->output[at] = change->data[i];
			continue;
		}
		to = (uint8_t *)(uintptr_t)next;
		for (block = (at - RNIC_CMDQ_INLINE_BYTES) / RNIC_CMDQ_BLOCK_BYTES; block > 0;
		     block--)
			to = (uint8_t *)(uintptr_t)rnic_be64_to_cpu(
				((struct rnic_cmdq_block *)to)->next);
		to[(at - RNIC_CMDQ_INLINE_BYTES) % RNIC_CMDQ_BLOCK_BYTES] = change->data[i];
	}
}

/* Where the driver's asynchronous event queue is: its command says so. */
static void
watch_command(const struct rnic_cmdq_entry *entry, uint16_t opcode)
{
	const struct rnic_cmdq_block *block =
		(const struct rnic_cmdq_block *)(uintptr_t)rnic_be64_to_cpu(entry->input_mailbox);
	struct rnic_be64 page;

	/* The asynchronous one is the first. */
	if (opcode == RNIC_CMD_CREATE_EQ && fake.eq == NULL) {
		memcpy(&page,
		       block->data + sizeof(struct rnic_create_eq_in) - RNIC_CMDQ_INLINE_BYTES,
		       sizeof(page));
		fake.eq = (struct rnic_eqe *)(uintptr_t)rnic_be64_to_cpu(page);
	} else if (opcode == RNIC_CMD_DESTROY_EQ) {
		fake.eq = NULL;
	}
}

static void
execute(const struct rnic_cmdq_entry *entry, uint32_t bits)
{
	unsigned int i;

	bits = RNIC_SWAP32(bits);
	softrnic_bar_write(fake.device, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &bits, 4);
	for (i = 0; i < 4 && (entry->status_own & RNIC_CMDQ_STATUS_OWN_HW); i++)
		softrnic_poll(fake_poller);
}

/* DESTROY_x, DEALLOC_x, DELETE_x */
static bool
lets_go(uint16_t opcode)
{
	return fake_lets_go && strncmp(rnic_cmd_name(opcode), "DE", 2) == 0;
}

static void
answer(struct rnic_cmdq_entry *entry, uint16_t opcode, uint32_t bits)
{
	const struct change *change = NULL;
	struct rnic_cmd_out *out = (struct rnic_cmd_out *)entry->output;
	uint8_t number = fake.commands++;
	unsigned int i;

	for (i = 0; i < fake.change_count; i++)
		if (fake.changes[i].command == number)
			change = &fake.changes[i];
	if (change == NULL || change->lie < LIE_REFUSED ||
	    (change->lie == LIE_REFUSED && lets_go(opcode)))
		execute(entry, bits);
	if (change == NULL ||
	    (entry->status_own & RNIC_CMDQ_STATUS_OWN_HW && change->lie < LIE_REFUSED))
		return;
	switch (change->lie) {
	case LIE_OUTPUT: change_output(entry, change); break;
	case LIE_REFUSED:
	case LIE_STATUS: rnic_cmd_out_set(out, RNIC_CMD_OUT_STATUS, change->offset & 0xff); break;
	case LIE_DELIVERY: entry->status_own = (uint8_t)(change->offset << 1); return;
	case LIE_NEVER:
		if (fake.unanswered++ < 3)
			return;
		break;
	case LIE_DONE: change_output(entry, change); break;
	default: break;
	}
	entry->status_own = 0;
}

static void
fake_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	uint32_t bits = rnic_be32_to_cpu(value);
	struct rnic_cmdq_entry *entry;
	uint16_t opcode;

	(void)access;
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL) && bits != 0 &&
	    fake.cmdq != 0) {
		entry = (struct rnic_cmdq_entry *)(uintptr_t)fake.cmdq + __builtin_ctz(bits);
		/* A driver that was told of longer slots has its entries elsewhere. */
		if (entry->type != RNIC_CMDQ_ENTRY_TYPE)
			return;
		opcode = (uint16_t)rnic_cmd_in_get((struct rnic_cmd_in *)entry->input,
						   RNIC_CMD_IN_OPCODE);
		watch_command(entry, opcode);
		answer(entry, opcode, bits);
		if (fake_rung_hook != NULL && !pthread_equal(pthread_self(), main_thread))
			fake_rung_hook(opcode);
		return;
	}
	if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH))
		fake.cmdq = (uint64_t)bits << 32;
	else if (offset == RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW))
		fake.cmdq |= bits & 0xfffff000;
	(void)softrnic_bar_write(fake.device, offset, &value, sizeof(value));
}

static void
fake_write64(struct rnic_access *access, uint64_t offset, struct rnic_be64 value)
{
	(void)access;
	(void)softrnic_bar_write(fake.device, offset, &value, sizeof(value));
}

static volatile void *
fake_uar(struct rnic_access *access, uint32_t uar_index)
{
	uint64_t offset = (uint64_t)uar_index * RNIC_UAR_PAGE_BYTES;

	(void)access;
	if (offset < fake.uar_offset ||
	    offset + RNIC_UAR_PAGE_BYTES > fake.uar_offset + fake.uar_length)
		return NULL;
	return fake.uar_pages + (offset - fake.uar_offset);
}

static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER; /* the control thread maps, too */

/* IOVAs are addresses: lies about memory can be told without a table. */
static int
fake_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	 uint64_t *iova)
{
	unsigned int prot = (rights & RNIC_ACCESS_READ ? SOFTRNIC_DMA_READ : 0) |
			    (rights & RNIC_ACCESS_WRITE ? SOFTRNIC_DMA_WRITE : 0);
	int rc = -ENOSPC;

	*iova = (uintptr_t)address;
	pthread_mutex_lock(&maps_lock);
	if (fake.map_count < MAPS_MAX)
		rc = softrnic_dma_map(fake.device, *iova, length, address, prot);
	if (rc == 0) {
		fake.maps[fake.map_count++] = (struct map){ *iova, length };
		access->maps++;
		access->mapped_bytes += length;
	}
	pthread_mutex_unlock(&maps_lock);
	return rc;
}

static int
fake_unmap(struct rnic_access *access, uint64_t iova, size_t length)
{
	uint32_t i = 0;

	pthread_mutex_lock(&maps_lock);
	while (i < fake.map_count && fake.maps[i].iova != iova)
		i++;
	/* What is unmapped was mapped. */
	must(i < fake.map_count && fake.maps[i].length == length);
	must(softrnic_dma_unmap(fake.device, iova, length) == 0);
	fake.maps[i] = fake.maps[--fake.map_count];
	access->maps--;
	access->mapped_bytes -= length;
	pthread_mutex_unlock(&maps_lock);
	return 0;
}

/* With the device's lock held. */
static void
interrupt(void *arg, unsigned int vector)
{
	(void)arg;
	(void)vector;
	(void)!eventfd_write(fake.irq, 1);
}

/* Without interrupts never readable: the control thread sleeps. */
static int
fake_irq_fd(struct rnic_access *access, unsigned int vector)
{
	(void)access;
	(void)vector;
	return fake.irq;
}

static int
fake_reset(struct rnic_access *access)
{
	(void)access;
	return softrnic_reset(fake.device);
}

static struct rnic_pci_ids
fake_pci_ids(const struct rnic_access *access)
{
	(void)access;
	return (struct rnic_pci_ids){ .vendor = RNIC_PCI_VENDOR, .device = 0x1017 };
}

static int
fake_hangup_fd(struct rnic_access *access)
{
	(void)access;
	return -1;
}

static void
fake_close(struct rnic_access *access)
{
	must(access->maps == 0 && fake.map_count == 0);
	if (fake_before_close != NULL)
		fake_before_close();
	if (fake_stays)
		return;
	softrnic_destroy(fake.device);
	fake.device = NULL;
}

static const struct rnic_access_ops fake_ops = {
	.name = "fake",
	.close = fake_close,
	.pci_ids = fake_pci_ids,
	.read32 = fake_read32,
	.write32 = fake_write32,
	.write64 = fake_write64,
	.uar = fake_uar,
	.map = fake_map,
	.unmap = fake_unmap,
	.irq_fd = fake_irq_fd,
	.reset = fake_reset,
	.hangup_fd = fake_hangup_fd,
};

/* In the place of the driver's accesses, which are not linked. */
int
rnic_access_direct_open(const char *device, const struct rnic_devargs *args,
			struct rnic_access **access)
{
	struct softrnic_conf conf = {
		.name = device,
		.seed = 1,
		.drop_ppm = args->drop,
		.corrupt_ppm = args->corrupt,
		.bf = true,
	};
	unsigned int vector;
	void *pages;

	if (fake.device != NULL)
		must(softrnic_reset(fake.device) == 0);
	else
		must(softrnic_create(fake_poller, &conf, &fake.device) == 0);
	for (vector = 0; fake_interrupts && vector < fake_irqs; vector++)
		softrnic_set_interrupt(fake.device, vector, interrupt, NULL);
	softrnic_bar_mmap(fake.device, &fake.uar_offset, &fake.uar_length, &pages, NULL);
	fake.uar_pages = pages;
	fake.base.ops = &fake_ops;
	fake.base.device = device;
	fake.base.irq_count = fake_irqs;
	fake.base.bar_size = softrnic_bar_size(fake.device);
	fake.base.any_memory = true;
	*access = &fake.base;
	return 0;
}

int
rnic_access_vfio_user_open(const char *device, const struct rnic_devargs *args,
			   const struct rnic_tunables *tunables, struct rnic_access **access)
{
	(void)device;
	(void)args;
	(void)tunables;
	(void)access;
	return -ENOTSUP;
}

int
rnic_access_vfio_open(const char *device, const struct rnic_devargs *args,
		      struct rnic_access **access)
{
	(void)device;
	(void)args;
	(void)access;
	return -ENOTSUP;
}

struct softrnic *
rnic_access_direct_device(struct rnic_access *access)
{
	(void)access;
	return fake.device;
}

int
rnic_access_direct_stats(struct rnic_access *access,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	(void)access;
	(void)fn;
	(void)arg;
	return -ENOTSUP;
}
