/* SPDX-License-Identifier: BSD-3-Clause */

/* The vfio access and its kernel: what is asked of it, and what becomes of all that it may refuse or lack. */

#include "fake_vfio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include <linux/pci_regs.h>

#include "access/access.h"
#include "access/vfio.h"
#include "base/clock.h"
#include "bringup.h"
#include "core/dev.h"
#include "core/health.h"
#include "core/mem.h"
#include "prm/cmd.h"
#include "prm/cmdq.h"
#include "prm/init_seg.h"
#include "prm/uar.h"
#include "world.h"

#define OPS	 (world.access->ops)
#define FAULTS	 (fake_vfio.faults)
#define READ	 RNIC_ACCESS_READ
#define WRITE	 RNIC_ACCESS_WRITE
#define PATIENCE 60000

/* Nothing stays open after it, and with the fault mended it works. */
static void
expect_refused(const struct fake_vfio_faults *faults, int rc, const char *text)
{
	struct rnic_access *access = NULL;
	FILE *log;

	world_close();
	FAULTS = *faults;
	log = world_listen();
	assert_int_equal(world_open(&access), rc);
	world_expect_said(log, text);
	assert_int_equal(fake_vfio.containers + fake_vfio.groups + fake_vfio.devices, 0);
	FAULTS = (struct fake_vfio_faults){ 0 };
	world_reopen();
}

/* ---- Opening ---- */

static void
refusals_name_the_node_and_the_remedy(void **state)
{
	const char *const mine =
		"/dev/vfio/12: permission denied: run rdmapmd-setup bind "
		"0000:01:00.0 --owner USER --apply as root, or chown USER /dev/vfio/12";
	const struct {
		struct fake_vfio_faults faults;
		int rc;
		const char *text;
	} refusals[] = {
		{ { .node_errno = EACCES }, -EACCES, mine },
		{ { .node_errno = EPERM }, -EPERM, mine },
		{ { .node_errno = EBUSY }, -EBUSY, "/dev/vfio/12: busy: another process" },
		{ { .node_errno = ENOENT }, -ENOENT, "/dev/vfio/12" },
		{ { .container_errno = ENOENT }, -ENOENT, "modprobe vfio-pci" },
		{ { .container_errno = EACCES }, -EACCES, "chmod 666 /dev/vfio/vfio" },
		{ { .no_type1 = true }, -ENOTSUP, "modprobe vfio_iommu_type1" },
		{ { .not_viable = true }, -EPERM, "/sys/kernel/iommu_groups/12/devices" },
		{ { .iommu_errno = EPERM }, -EPERM, "allow_unsafe_interrupts=1" },
		{ { .iommu_errno = EIO }, -EIO, "gets no IOMMU" },
		{ { .big_pages = true }, -ENOTSUP, "no pages of 4 KiB" },
		{ { .device_errno = EACCES }, -EACCES, "--vfio-vf-token" },
		{ { .device_errno = EIO }, -EIO, "0000:01:00.0" },
		{ { .removed = true }, -ENODEV, "does not answer" },
		{ { .bar_bytes = 0x11000 }, -ENODEV, "BAR0 has 69632 bytes" },
		{ { .no_msix = true }, -ENODEV, "no MSI-X vectors" },
		{ { .writes_lost = true }, -EIO, "cannot be enabled" },
		{ { .iova_range_count = 1, .iova_ranges = { { 0, 0xfffff } } },
		  -ENOSPC,
		  "cannot query the IOMMU's address range" },
		{ { .iommu_growths = UINT_MAX }, -EOVERFLOW, "vfio's answer has no end" },
		{ { .bar_growths = UINT_MAX }, -EOVERFLOW, "vfio's answer has no end" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(refusals); i++)
		expect_refused(&refusals[i].faults, refusals[i].rc, refusals[i].text);
}

static void
functions_of_others_are_refused(void **state)
{
	struct rnic_access *access = NULL;
	FILE *log;

	(void)state;
	world_close();
	fake_vfio_set_id(0, 0x15b3, 0x1003);
	log = world_listen();
	assert_int_equal(world_open(&access), -ENODEV);
	world_expect_said(log, "15b3:1003");
	fake_vfio_set_id(0, 0x8086, 0x1017);
	assert_int_equal(world_open(&access), -ENODEV);

	fake_vfio_bind(0, "mlx5_core");
	log = world_listen();
	assert_int_equal(world_open(&access), -ENODEV);
	world_expect_said(
		log,
		"bound to mlx5_core, not to vfio-pci: run rdmapmd-setup bind 0000:01:00.0 --apply");
	fake_vfio_bind(0, NULL);
	log = world_listen();
	assert_int_equal(world_open(&access), -ENODEV);
	world_expect_said(log, "bound to no driver");
	fake_vfio_bind(0, "vfio-pci");
	fake_vfio_leave_group(0);
	log = world_listen();
	assert_int_equal(world_open(&access), -ENODEV);
	world_expect_said(log, "intel_iommu=on");
	strcpy(world.args.pci, "0000:09:00.0");
	log = world_listen();
	assert_int_equal(world_open(&access), -ENODEV);
	world_expect_said(log, "there is no PCI function 0000:09:00.0");
}

static void
pfs_and_vfs_are_of_the_class(void **state)
{
	const uint16_t ids[] = { 0x1013, 0x1015, 0x1017, 0x1018, 0x101b,
				 0x101d, 0x101e, 0x1021, 0xa2dc };
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(ids); i++) {
		fake_vfio_set_id(0, 0x15b3, ids[i]);
		world_reopen();
	}
}

/* A host has not always as many as the function. */
static void
fewer_vectors_are_taken_as_they_are(void **state)
{
	(void)state;
	assert_int_equal(world.access->irq_count, 16);
	FAULTS.vectors_left = 3;
	world_reopen();
	assert_int_equal(world.access->irq_count, 3);
	assert_int_equal(OPS->irq_fd(world.access, 3), -EINVAL);
	assert_true(OPS->irq_fd(world.access, 2) >= 0);
}

/* ---- Groups ---- */

static int
open_other(struct rnic_access **access)
{
	struct rnic_devargs args = world.args;

	strcpy(args.pci, fake_vfio_bdfs[1]);
	return rnic_access_vfio_open("net_rnic1", &args, access);
}

/* One container for both: it lives as long as one of them. */
static void
functions_of_a_group_come_and_go_in_any_order(void **state)
{
	struct rnic_access *other, *last;
	void *memory = world_alloc(RNIC_PAGE_BYTES);
	uint64_t iova, more;
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		assert_int_equal(open_other(&other), 0);
		assert_int_equal(fake_vfio.containers, 1);
		assert_int_equal(fake_vfio.groups, 1);
		assert_int_equal(fake_vfio.devices, 2);
		iova = world_map(memory, RNIC_PAGE_BYTES, READ);
		assert_int_equal(OPS->map(other, memory, RNIC_PAGE_BYTES, READ, &more), 0);
		assert_int_equal(fake_vfio.maps, 2);
		world_unmap(iova, RNIC_PAGE_BYTES);
		last = round & 1 ? other : world.access;
		if (round & 1) {
			world_close();
			assert_int_equal(fake_vfio.maps, 1);
		}
		assert_int_equal(last->ops->unmap(other, more, RNIC_PAGE_BYTES), 0);
		if (!(round & 1))
			other->ops->close(other);
		assert_int_equal(fake_vfio.groups, 1);
		assert_int_not_equal(last->ops->read32(last, 0).raw, UINT32_MAX);
		if (round & 1)
			other->ops->close(other);
		world_reopen();
	}
	rte_free(memory);
}

static void
a_function_has_one_port(void **state)
{
	struct rnic_access *again = NULL;
	FILE *log = world_listen();

	(void)state;
	assert_int_equal(world_open(&again), -EBUSY);
	world_expect_said(log, "another port's of this process");
	assert_int_not_equal(OPS->read32(world.access, 0).raw, UINT32_MAX);
}

/* ---- Memory ---- */

/* Maps of all sizes lie where the IOMMU takes them: the kernel refuses others. */
static void
expect_maps_within(uint64_t first, uint64_t end)
{
	const size_t lengths[] = { 4096, 3 * 4096, 1u << 20, 5u << 20, 64u << 20 };
	uint64_t iovas[4 * RTE_DIM(lengths)];
	const size_t bytes = 64u << 20;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t i;

	assert_true(memory != MAP_FAILED);
	for (i = 0; i < RTE_DIM(iovas); i++) {
		const size_t length = lengths[i % RTE_DIM(lengths)];

		iovas[i] = world_map(memory, length, READ | WRITE);
		assert_true(iovas[i] + length <= end);
		assert_true(iovas[i] >= first);
	}
	for (i = 0; i < RTE_DIM(iovas); i++)
		world_unmap(iovas[i], lengths[i % RTE_DIM(lengths)]);
	munmap(memory, bytes);
}

static void
addresses_are_those_that_the_iommu_takes(void **state)
{
	const uint64_t end39 = UINT64_C(1) << 39;
	const struct {
		struct fake_vfio_faults faults;
		uint64_t first, end;
	} iommus[] = {
		{ { .iova_range_count = 0 }, UINT64_C(1) << 44, UINT64_C(1) << 46 },
		{ { .iova_range_count = 2,
		    .iova_ranges = { { 0, 0xfedfffff }, { 0xfef00000, end39 - 1 } } },
		  UINT64_C(1) << 36,
		  end39 },
		/* in disorder, one over the other, one next to the other */
		{ { .iova_range_count = 5,
		    .iova_ranges = { { 0xfef00000, 0x1ffffffff },
				     { 0x180000000, end39 - 1 },
				     { 0, 0x7fffffff },
				     { 0x80000000, 0xfedfffff },
				     { 0x200000000, 0x2ffffffff } } },
		  UINT64_C(1) << 36,
		  end39 },
		{ { .iova_range_count = 1, .iova_ranges = { { 0, 0xfedfffff } } },
		  1 << 20,
		  0xfee00000 },
		{ { .iova_range_count = 2,
		    .iova_ranges = { { 0, 0xfedfffff }, { UINT64_C(1) << 60, UINT64_MAX } } },
		  1 << 20,
		  0xfee00000 },
		{ { .iova_range_count = 1, .iova_ranges = { { 0, UINT64_MAX } } },
		  UINT64_C(1) << 44,
		  UINT64_C(1) << 46 },
		{ { .no_iova_ranges = true }, UINT64_C(1) << 36, end39 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(iommus); i++) {
		FAULTS = iommus[i].faults;
		world_reopen();
		expect_maps_within(iommus[i].first, iommus[i].end);
	}
}

/* Said again, it is longer than the kernel said that it is: nothing of it is passed over. */
static void
what_the_kernel_says_may_grow_while_it_is_asked(void **state)
{
	unsigned int growths;

	(void)state;
	for (growths = 1; growths <= 3; growths++) {
		FAULTS = (struct fake_vfio_faults){
			.iova_range_count = 1,
			.iova_ranges = { { 0, 0xfedfffff } },
			.iommu_growths = growths,
			.bar_growths = growths,
		};
		world_reopen();
		assert_int_equal(FAULTS.iommu_growths, 0);
		assert_int_equal(FAULTS.bar_growths, 0);
		expect_maps_within(1 << 20, 0xfee00000);
		assert_non_null(OPS->uar(world.access, RNIC_FIRST_UAR + 1));
	}
}

/* A card's UAR pages may begin right behind its initialization segment of 16 KiB, whatever another card's do. */
static void
uar_pages_begin_behind_the_initialization_segment(void **state)
{
	const uint32_t last = (uint32_t)(world.access->bar_size / RNIC_UAR_PAGE_BYTES) - 1;
	uint32_t index;

	(void)state;
	FAULTS.maps_all = true;
	world_reopen();
	for (index = 0; index <= last + 1; index++)
		if ((OPS->uar(world.access, index) != NULL) != (index >= 4 && index <= last))
			fail_msg("page 0x%x", index);
}

static void
rights_are_those_asked_for(void **state)
{
	const unsigned int rights[] = { READ, WRITE, READ | WRITE };
	const uint32_t flags[] = { VFIO_DMA_MAP_FLAG_READ, VFIO_DMA_MAP_FLAG_WRITE,
				   VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE };
	void *memory = world_alloc(RNIC_PAGE_BYTES);
	uint64_t iova;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(rights); i++) {
		iova = world_map(memory, RNIC_PAGE_BYTES, rights[i]);
		assert_int_equal(fake_vfio.last_rights, flags[i]);
		assert_int_equal(fake_vfio.mapped_bytes, RNIC_PAGE_BYTES);
		world_unmap(iova, RNIC_PAGE_BYTES);
	}
	rte_free(memory);
}

/* The C library's, and the same again over it. */
static void
memory_of_anybody_can_be_mapped(void **state)
{
	char *memory = aligned_alloc(RNIC_PAGE_BYTES, 8 * RNIC_PAGE_BYTES);
	uint64_t all, part;
	struct sender sender;

	(void)state;
	assert_non_null(memory);
	sender_open(&sender);
	assert_int_equal(sender_enable(&sender), RNIC_STATUS_OK);
	all = world_map(memory, 8 * RNIC_PAGE_BYTES, READ | WRITE);
	part = world_map(memory + RNIC_PAGE_BYTES, RNIC_PAGE_BYTES, READ | WRITE);
	memset(memory, 0, 8 * RNIC_PAGE_BYTES);
	sender_block(memory + RNIC_PAGE_BYTES);
	assert_int_equal(sender_ask(&sender, 0, part), RNIC_DELIVERY_OK);
	sender_block(memory + RNIC_PAGE_BYTES);
	assert_int_equal(sender_ask(&sender, 0, all + RNIC_PAGE_BYTES), RNIC_DELIVERY_OK);
	world_unmap(all, 8 * RNIC_PAGE_BYTES);
	sender_block(memory + RNIC_PAGE_BYTES);
	assert_int_equal(sender_ask(&sender, 0, part), RNIC_DELIVERY_OK);
	world_unmap(part, RNIC_PAGE_BYTES);
	sender_close(&sender);
	free(memory);
}

/* Written to after it was mapped: not to another page than the one that the device has. */
static void
memory_that_nobody_has_written_to_is_no_others(void **state)
{
	const size_t bytes = 16 * RNIC_PAGE_BYTES;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t iova;
	pid_t child;
	int round;

	(void)state;
	assert_true(memory != MAP_FAILED);
	/* The first time it is not there, the second time read, the third time shared with a child. */
	for (round = 0; round < 3; round++) {
		child = round == 2 ? fork() : 0;
		if (round == 2 && child == 0) {
			pause();
			_exit(0);
		}
		iova = world_map(memory, bytes, READ);
		assert_int_equal(fake_vfio.strayed, 0);
		world_unmap(iova, bytes);
		if (round == 2) {
			assert_int_equal(kill(child, SIGKILL), 0);
			assert_int_equal(waitpid(child, NULL, 0), child);
		}
		assert_int_equal(madvise(memory, bytes, round == 0 ? MADV_DONTNEED : MADV_NORMAL),
				 0);
		assert_int_equal(memory[5 * RNIC_PAGE_BYTES], 0);
	}
	/* Constants, say. */
	assert_int_equal(mprotect(memory, bytes, PROT_READ), 0);
	iova = world_map(memory, bytes, READ);
	world_unmap(iova, bytes);
	munmap(memory, bytes);
}

static void
limits_of_maps_and_of_locked_memory_are_told(void **state)
{
	enum { LIMIT = 5 };
	char *memory = world_alloc((LIMIT + 1) * RNIC_PAGE_BYTES);
	uint64_t iovas[LIMIT], iova;
	unsigned int i;
	FILE *log;

	(void)state;
	FAULTS.map_limit = LIMIT;
	for (i = 0; i < LIMIT; i++)
		iovas[i] = world_map(memory + i * RNIC_PAGE_BYTES, RNIC_PAGE_BYTES, READ);
	log = world_listen();
	assert_int_equal(OPS->map(world.access, memory + LIMIT * RNIC_PAGE_BYTES, RNIC_PAGE_BYTES,
				  READ, &iova),
			 -ENOSPC);
	world_expect_said(log,
			  "has all its 5 maps in use: use larger pages, or load vfio_iommu_type1");
	assert_int_equal(world.access->maps, LIMIT);
	assert_int_equal(world.access->mapped_bytes, LIMIT * RNIC_PAGE_BYTES);
	FAULTS.map_errno = ENOMEM;
	FAULTS.map_limit = 0;
	log = world_listen();
	assert_int_equal(OPS->map(world.access, memory, RNIC_PAGE_BYTES, READ, &iova), -ENOMEM);
	world_expect_said(log, "does not lock 4096 bytes beside the 20480 that it has locked");
	FAULTS.map_errno = EFAULT;
	assert_int_equal(OPS->map(world.access, memory, RNIC_PAGE_BYTES, READ, &iova), -EFAULT);
	for (i = 0; i < LIMIT; i++)
		world_unmap(iovas[i], RNIC_PAGE_BYTES);
	rte_free(memory);
}

/* ---- Reset and loss ---- */

static void
the_function_is_left_as_it_was_found(void **state)
{
	const uint16_t wanted = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;

	(void)state;
	assert_int_equal(fake_vfio_command(0) & wanted, wanted);
	assert_int_equal(OPS->reset(world.access), 0);
	assert_int_equal(fake_vfio.resets, 1);
	assert_int_equal(fake_vfio_command(0) & wanted, wanted);
	world_close();
	assert_int_equal(fake_vfio_command(0), 0);
}

static void
a_function_that_cannot_be_reset_is_kept_from_memory(void **state)
{
	const uint16_t wanted = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;

	(void)state;
	FAULTS.no_reset = true;
	world_reopen();
	assert_int_equal(fake_vfio_command(0) & wanted, wanted);
	assert_int_equal(OPS->reset(world.access), -ENOTSUP);
	assert_int_equal(fake_vfio_command(0) & wanted, PCI_COMMAND_MEMORY);
	FAULTS = (struct fake_vfio_faults){ .reset_errno = EIO };
	world_reopen();
	assert_int_equal(OPS->reset(world.access), -EIO);
	assert_int_equal(fake_vfio_command(0) & wanted, PCI_COMMAND_MEMORY);
	assert_false(atomic_load(&world.access->gone));
}

static void
a_card_that_is_pulled_out_is_gone(void **state)
{
	void *memory = world_alloc(RNIC_PAGE_BYTES);
	uint64_t iova, more;

	(void)state;
	iova = world_map(memory, RNIC_PAGE_BYTES, READ);
	FAULTS.removed = true;
	assert_int_equal(OPS->read32(world.access, 0).raw, UINT32_MAX);
	assert_true(atomic_load(&world.access->gone));
	OPS->write32(world.access, 0, RNIC_BE32(1));
	OPS->write64(world.access, 0x10000, rnic_cpu_to_be64(1));
	assert_int_equal(OPS->map(world.access, memory, RNIC_PAGE_BYTES, READ, &more), -ENOTCONN);
	assert_int_equal(OPS->reset(world.access), -ENOTCONN);
	/* The IOMMU is still there. */
	world_unmap(iova, RNIC_PAGE_BYTES);
	rte_free(memory);
}

/* Its bus, or another function of its card, is reset by somebody else: it is not there for a while. */
static int
take_away(struct rnic_dev *dev, const char *stage, bool up)
{
	(void)dev;
	if (up && strcmp(stage, "wait until initialized") == 0)
		FAULTS.removed_for = 100;
	return 0;
}

static void
a_card_that_comes_back_soon_is_not_gone(void **state)
{
	struct rnic_dev *dev;

	(void)state;
	rnic_bringup_hook = take_away;
	dev = world_open_driver();
	rnic_bringup_hook = NULL;
	assert_int_equal(FAULTS.removed_for, 0);
	rnic_dev_close(dev);
}

static atomic_int fatal_calls;
static atomic_uint resets_when_told;

static void
note_fatal(void *arg)
{
	(void)arg;
	atomic_store(&resets_when_told, fake_vfio.resets);
	atomic_fetch_add(&fatal_calls, 1);
}

/* Who unbinds the function, or an error of its bus: the driver is told, and gives it back in good order. */
static void
the_kernel_can_ask_for_the_function(void **state)
{
	const unsigned int indices[] = { VFIO_PCI_REQ_IRQ_INDEX, VFIO_PCI_ERR_IRQ_INDEX };
	const uint64_t deadline = rnic_now_us() + PATIENCE * UINT64_C(1000);
	struct rnic_dev *dev;
	struct rnic_mem mem;
	unsigned int resets;
	size_t i;
	FILE *log;

	(void)state;
	for (i = 0; i < RTE_DIM(indices); i++) {
		dev = world_open_driver();
		atomic_store(&fatal_calls, 0);
		rnic_on_lost(dev, RNIC_LOST_ETHDEV, note_fatal, dev);
		assert_int_equal(rnic_mem_alloc(dev, "a queue", RNIC_PAGE_BYTES, RNIC_PAGE_BYTES,
						RNIC_ACCESS_WRITE, &mem),
				 0);
		log = world_listen();
		resets = fake_vfio.resets;
		fake_vfio_notice(0, indices[i]);
		while (atomic_load(&fatal_calls) == 0 && rnic_now_us() < deadline)
			usleep(1000);
		assert_int_equal(atomic_load(&fatal_calls), 1);
		/* Before anybody gives back what it may write to; and once. */
		assert_int_equal(atomic_load(&resets_when_told), resets + 1);
		rnic_mem_free(dev, &mem);
		assert_int_equal(fake_vfio.resets, resets + 1);
		rnic_dev_close(dev);
		world_expect_said(log, "the kernel wants the function back");
		assert_int_equal(fake_vfio.resets, resets + 1);
	}
	FAULTS.no_notices = true;
	dev = world_open_driver();
	rnic_dev_close(dev);
}

static int
run(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		CASE(refusals_name_the_node_and_the_remedy),
		CASE(functions_of_others_are_refused),
		CASE(pfs_and_vfs_are_of_the_class),
		CASE(fewer_vectors_are_taken_as_they_are),
		CASE(functions_of_a_group_come_and_go_in_any_order),
		CASE(a_function_has_one_port),
		CASE(addresses_are_those_that_the_iommu_takes),
		CASE(what_the_kernel_says_may_grow_while_it_is_asked),
		CASE(uar_pages_begin_behind_the_initialization_segment),
		CASE(rights_are_those_asked_for),
		CASE(memory_of_anybody_can_be_mapped),
		CASE(memory_that_nobody_has_written_to_is_no_others),
		CASE(limits_of_maps_and_of_locked_memory_are_told),
		CASE(the_function_is_left_as_it_was_found),
		CASE(a_function_that_cannot_be_reset_is_kept_from_memory),
		CASE(a_card_that_is_pulled_out_is_gone),
		CASE(a_card_that_comes_back_soon_is_not_gone),
		CASE(the_kernel_can_ask_for_the_function),
	};

	return cmocka_run_group_tests_name("vfio", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	(void)argc;
	world.vfio = true;
	return unit_main(1, argv, run);
}
