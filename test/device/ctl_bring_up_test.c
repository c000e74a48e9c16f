/* SPDX-License-Identifier: BSD-3-Clause */

/* Bring-up and teardown: registers, pages, capabilities, events, resets; the sequences of drivers that others wrote. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ctl_fixture.h"
#include "driver/cap.h"
#include "driver/reg.h"
#include "driver/vport.h"
#include "test_clock.h"

#define HEALTH_COUNTER RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER)

/* ---- Registers ---- */

static void
log_sizes_stand_whatever_was_written(void **state)
{
	struct hn *hn = *state;

	assert_int_equal(hn_read32(hn, 0x14) & 0xff,
			 RNIC_CMDQ_LOG_SIZE << 4 | RNIC_CMDQ_LOG_STRIDE);
	hn_write32(hn, 0x10, 0x12345678);
	hn_write32(hn, 0x14, 0x9abcd000);
	assert_int_equal(hn_read32(hn, 0x10), 0x12345678);
	assert_int_equal(hn_read32(hn, 0x14), 0x9abcd056);
	assert_int_equal(hn_read32(hn, 0x04) >> 16, RNIC_CMD_INTERFACE_REV);
	/* Not initializing; a reset by software is supported. */
	assert_int_equal(hn_read32(hn, 0x1fc), 1u << 30);
	assert_int_not_equal(hn_read32(hn, 0x230), 0xffffffff);
	assert_int_equal(hn_read32(hn, 0xffc), 0);
}

static void
registers_by_four_and_eight_bytes(void **state)
{
	struct hn *hn = *state;
	struct rnic_be64 wide = rnic_cpu_to_be64(UINT64_C(0x1122334455667000));
	uint8_t bytes[16];

	assert_int_equal(softrnic_bar_write(hn->dev, 0x10, &wide, 8), 0);
	assert_int_equal(hn_read32(hn, 0x10), 0x11223344);
	assert_int_equal(hn_read32(hn, 0x14), 0x55667056);
	assert_int_equal(softrnic_bar_read(hn->dev, 0x10, bytes, 8), 0);
	assert_int_equal(bytes[0], 0x11);
	assert_int_equal(bytes[7], 0x56);
	assert_int_equal(softrnic_bar_read(hn->dev, 0x12, bytes, 4), -EINVAL);
	assert_int_equal(softrnic_bar_read(hn->dev, 0x14, bytes, 8), -EINVAL);
	assert_int_equal(softrnic_bar_read(hn->dev, 0x10, bytes, 2), -EINVAL);
	assert_int_equal(softrnic_bar_read(hn->dev, 0x10, bytes, 16), -EINVAL);
	assert_int_equal(softrnic_bar_read(hn->dev, softrnic_bar_size(hn->dev), bytes, 4), -EINVAL);
	assert_int_equal(softrnic_bar_write(hn->dev, UINT64_MAX - 3, bytes, 4), -EINVAL);
	assert_int_equal(softrnic_bar_read(hn->dev, softrnic_bar_size(hn->dev) - 8, bytes, 8), 0);
}

static void
read_only_registers_stay(void **state)
{
	struct hn *hn = *state;
	uint32_t before = hn_read32(hn, 0);

	hn_write32(hn, 0, ~before);
	hn_write32(hn, 0x1fc, 0xffffffff);
	assert_int_equal(hn_read32(hn, 0), before);
	assert_int_equal(hn_read32(hn, 0x1fc), 1u << 30);
}

static void
health_counter_moves_unless_stopped(void **state)
{
	struct hn *hn = *state;
	uint32_t first = hn_read32(hn, HEALTH_COUNTER);

	test_clock_advance_us(25000);
	assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_HEALTH_STOPPED, 0), 0);
	first = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(25000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER), first);
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_NONE, 0), 0);
	test_clock_advance_us(25000);
	assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
}

/* Asked for when the device is made: after the bring-up, until a reset, and no second time. */
static void
health_counter_stops_once_after_the_first_bring_up(void **state)
{
	const struct softrnic_conf conf = { .name = "ill", .health_stop_ms = 60 };
	struct hn *hn = *state;
	uint32_t first;

	hn_stop(hn);
	hn_start(hn, NULL, &conf);
	first = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(100000);
	assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
	hn_bring_up(hn);
	first = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(100000);
	assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
	first = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(25000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER), first);
	assert_int_equal(softrnic_reset(hn->dev), 0);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
	test_clock_advance_us(100000);
	first = hn_read32(hn, HEALTH_COUNTER);
	test_clock_advance_us(25000);
	assert_int_not_equal(hn_read32(hn, HEALTH_COUNTER), first);
}

static void
fatal_fault_fills_the_health_buffer_and_stops_the_device(void **state)
{
	struct hn *hn = *state;
	struct rnic_function_in in = { 0 };
	struct rnic_cmd_out out;

	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_FATAL, 7), 0);
	assert_int_equal(hn_read32(hn, 0x23c) >> 16 & 0xff, 7);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER) >> 24, 7);
	/* What drivers look for: a syndrome and the request for a reset. */
	assert_int_equal(hn_read32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_RFR)) >> 31, 1);
	hn_head(&in, RNIC_CMD_ENABLE_HCA, 0);
	assert_int_equal(hn_cmd(hn, &in, sizeof(in), &out, sizeof(out)), HN_PENDING);
	assert_int_equal(softrnic_reset(hn->dev), 0);
	assert_int_equal(hn_read32(hn, 0x23c), 0);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
}

/* Asked for when the device is made: behind the bring-up, when somebody looks, until a reset, and no second time. */
static void
firmware_meets_its_end_once_after_the_first_bring_up(void **state)
{
	const struct softrnic_conf conf = { .name = "ill", .fatal_ms = 60 };
	struct rnic_function_in in = { 0 };
	struct rnic_cmd_out out;
	struct hn *hn = *state;

	hn_stop(hn);
	hn_start(hn, NULL, &conf);
	test_clock_advance_us(100000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER) >> 24, 0);
	hn_bring_up(hn);
	test_clock_advance_us(59000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER) >> 24, 0);
	test_clock_advance_us(1000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER) >> 24, 1);
	assert_int_equal(hn_read32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_RFR)) >> 31, 1);
	hn_head(&in, RNIC_CMD_QUERY_ISSI, 0);
	assert_int_equal(hn_cmd(hn, &in, sizeof(in), &out, sizeof(out)), HN_PENDING);
	/* As Linux resets it. */
	assert_int_equal(hn_read32(hn, 0x1fc) >> 30, 1);
	hn_write32(hn, 0x14, 7 << 8);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER) >> 24, 0);
	assert_int_equal(hn_read32(hn, RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_RFR)), 0);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
	test_clock_advance_us(100000);
	assert_int_equal(hn_read32(hn, HEALTH_COUNTER) >> 24, 0);
}

static void
initializing_bit_as_long_as_asked(void **state)
{
	struct hn *hn = *state;

	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_INITIALIZING, 0), 0);
	assert_int_equal(hn_read32(hn, 0x1fc) >> 31, 1);
	assert_int_equal(softrnic_reset(hn->dev), 0);
	assert_int_equal(hn_read32(hn, 0x1fc) >> 31, 0);
}

static void
software_reset_by_nic_interface(void **state)
{
	struct hn *hn = *state;

	hn_bring_up(hn);
	hn_write32(hn, 0x14, 7 << 8);
	/* Who has asked for it waits for that. */
	assert_int_equal(hn_read32(hn, 0x14) >> 8 & 7, RNIC_NIC_INTERFACE_DISABLED);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
}

static void
nic_interface_disabled_is_seen_until_the_next_load(void **state)
{
	struct hn *hn = *state;

	hn_write32(hn, 0x14, (uint32_t)hn->cmdq | 1 << 8);
	assert_int_equal(hn_read32(hn, 0x14) >> 8 & 7, RNIC_NIC_INTERFACE_DISABLED);
	hn_set_cmdq(hn);
	assert_int_equal(hn_read32(hn, 0x14) >> 8 & 7, RNIC_NIC_INTERFACE_FULL_DRIVER);
	hn_bring_up(hn);
}

/* The high half again behind the low one, which may have run over in between. */
static uint64_t
read_timer(struct hn *hn)
{
	uint32_t high, low;

	do {
		high = hn_read32(hn, 0x1000);
		low = hn_read32(hn, 0x1004);
	} while (hn_read32(hn, 0x1000) != high);
	return (uint64_t)high << 32 | low;
}

static void
timer_runs(void **state)
{
	struct hn *hn = *state;
	uint64_t first = read_timer(hn);

	test_clock_advance_us(1000);
	assert_true(read_timer(hn) > first);
}

static void
mappable_uars_leave_out_the_first(void **state)
{
	struct hn *hn = *state;
	uint64_t offset;
	size_t length;
	void *address;
	uint8_t *mapped;
	int fd;

	assert_int_equal(softrnic_bar_mmap(hn->dev, &offset, &length, &address, &fd), 0);
	assert_int_equal(offset, (RNIC_FIRST_UAR + 1) * 4096);
	assert_int_equal(length, (SOFTRNIC_UAR_PAGES - 1) * 4096);
	assert_true(offset + length <= softrnic_bar_size(hn->dev));
	assert_non_null(address);
	/* The file is the same memory, where the BAR has it, and nobody can shorten it. */
	mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	assert_true(mapped != MAP_FAILED);
	*mapped = 0x5a;
	assert_int_equal(*(uint8_t *)address, 0x5a);
	*mapped = 0;
	assert_int_not_equal(ftruncate(fd, 0), 0);
	assert_int_equal(munmap(mapped, length), 0);
	hn_bring_up(hn);
	assert_int_equal(hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), RNIC_FIRST_UAR);
	assert_int_equal(hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), RNIC_FIRST_UAR + 1);
}

/* For another driver: what somebody has mapped is the device's no more, and it has new ones at the same place. */
static void
mappable_uars_are_made_anew(void **state)
{
	struct rlimit files;
	struct hn *hn = *state;
	uint64_t offset;
	size_t length;
	void *address;
	uint8_t *first, *second, *page;
	int fd;

	assert_int_equal(softrnic_bar_mmap(hn->dev, &offset, &length, &address, &fd), 0);
	page = address;
	first = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	assert_true(first != MAP_FAILED);
	page[0] = page[length - 1] = 0x5a;
	assert_int_equal(softrnic_bar_renew(hn->dev, &fd), 0);
	assert_int_equal(page[0] | page[length - 1], 0);
	second = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	assert_true(second != MAP_FAILED);
	page[0] = 1;
	assert_int_equal(second[0], 1);
	assert_int_equal(first[0], 0x5a);
	assert_int_not_equal(ftruncate(fd, 0), 0);
	/* Without a file for it: there are pages, but nobody can map them. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, files.rlim_max }), 0);
	assert_int_equal(softrnic_bar_renew(hn->dev, &fd), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(page[0], 0);
	page[0] = 2;
	assert_int_equal(second[0], 1);
	assert_int_equal(softrnic_bar_mmap(hn->dev, &offset, &length, &address, &fd), 0);
	assert_int_equal(fd, -1);
	assert_ptr_equal(address, page);
	/* And then there is one again. */
	assert_int_equal(softrnic_bar_renew(hn->dev, &fd), 0);
	assert_true(fd >= 0);
	assert_int_equal(munmap(first, length) | munmap(second, length), 0);
	hn_bring_up(hn);
}

/* ---- Pages ---- */

static void
pages_are_asked_for_in_two_steps(void **state)
{
	struct hn *hn = *state;
	int32_t boot, init;

	assert_int_equal(hn_simple(hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_BOOT, &boot), 0);
	assert_int_equal(boot, 4);
	/* Without them the firmware does nothing. */
	assert_int_equal(hn_simple(hn, RNIC_CMD_QUERY_HCA_CAP, 1, 0, NULL), RNIC_STATUS_NO_RES);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), RNIC_STATUS_NO_RES);
	assert_int_equal(hn_give_pages(hn, boot), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_BOOT, &boot), 0);
	assert_int_equal(boot, 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_QUERY_HCA_CAP, 1, 0, NULL), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &init), 0);
	assert_int_equal(init, 32);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), RNIC_STATUS_NO_RES);
	/* In parts, an empty one among them. */
	assert_int_equal(hn_give_pages(hn, 0), 0);
	assert_int_equal(hn_give_pages(hn, 10), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &init), 0);
	assert_int_equal(init, 22);
	assert_int_equal(hn_give_pages(hn, 22), 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), 0);
	assert_int_equal(ctl_stats(hn).pages_held, 36);
	/* While it runs, it keeps them. */
	assert_int_equal(hn_take_pages(hn, 100), 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), 0);
	assert_int_equal(hn_take_pages(hn, 10), 10);
	assert_int_equal(hn_take_pages(hn, 100), 26);
	assert_int_equal(hn_take_pages(hn, 100), 0);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
}

static int
give_list(struct hn *hn, const uint64_t *pages, uint32_t count)
{
	uint8_t bytes[0x400] = { 0 };
	struct rnic_be64 *list = (struct rnic_be64 *)(void *)(bytes + 16);
	struct rnic_cmd_out out;

	hn_head(bytes, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE);
	rnic_manage_pages_in_set((void *)bytes, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	for (uint32_t i = 0; i < count; i++)
		list[i] = rnic_cpu_to_be64(pages[i]);
	return hn_cmd(hn, bytes, 16 + 8 * count, &out, sizeof(out));
}

static void
bad_pages_are_refused_as_a_whole(void **state)
{
	struct hn *hn = *state;
	uint64_t good = hn_alloc(hn, 3 * 4096, 4096), beyond = hn->iova + HN_MEMORY_BYTES;

	assert_int_equal(hn_simple(hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), 0);
	assert_int_equal(give_list(hn, (uint64_t[]){ good, 0 }, 2), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(give_list(hn, (uint64_t[]){ good, good + 0x800 }, 2),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(give_list(hn, (uint64_t[]){ good, good }, 2), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(give_list(hn, (uint64_t[]){ good, beyond }, 2), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
	assert_int_equal(give_list(hn, (uint64_t[]){ good }, 1), RNIC_STATUS_OK);
	assert_int_equal(give_list(hn, (uint64_t[]){ good + 4096, good }, 2),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(ctl_stats(hn).pages_held, 1);
	/* More than it has asked for. */
	assert_int_equal(hn_give_pages(hn, 1000), RNIC_STATUS_LIM);
}

static void
pages_at_run_time_by_event(void **state)
{
	struct hn *hn = *state;
	struct hn_eq eq;
	struct rnic_eqe eqe;
	int32_t count;

	hn_bring_up(hn);
	ctl_event_queue(hn, &eq, RNIC_EVENT_PAGE_REQUEST);
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 5), 0);
	assert_true(hn_eq_next(hn, &eq, &eqe));
	assert_int_equal(eqe.type, RNIC_EVENT_PAGE_REQUEST);
	assert_int_equal(rnic_be32_to_cpu(eqe.data[0]) & 0xffff, 0);
	assert_int_equal(rnic_be32_to_cpu(eqe.data[1]), 5);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_REGULAR, &count), 0);
	assert_int_equal(count, 5);
	assert_int_equal(hn_give_pages(hn, 5), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_REGULAR, &count), 0);
	assert_int_equal(count, 0);
	/* And some back. */
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, (uint32_t)-7), 0);
	assert_true(hn_eq_next(hn, &eq, &eqe));
	assert_int_equal((int32_t)rnic_be32_to_cpu(eqe.data[1]), -7);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_REGULAR, &count), 0);
	assert_int_equal(count, -7);
	assert_int_equal(hn_take_pages(hn, 100), 7);
	assert_int_equal(ctl_stats(hn).pages_held, 34);
	/* A driver that has none says so. */
	assert_int_equal(softrnic_fault(hn->dev, SOFTRNIC_FAULT_PAGE_REQUEST, 3), 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_CANT_GIVE, 0, NULL), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_REGULAR, &count), 0);
	assert_int_equal(count, 0);
	hn_tear_down(hn);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
	assert_int_equal(ctl_stats(hn).objects, 0);
}

/* ---- Capabilities ---- */

#define CAPS(hn, TYPE, current, cap)                                                               \
	assert_int_equal(drv_cap_query(&(hn)->drv, RNIC_CAP_##TYPE, current, cap, sizeof(*(cap))), \
			 0)

static int
set_cap(struct hn *hn, const struct rnic_general_cap *cap)
{
	return drv_cap_set(&hn->drv, RNIC_CAP_GENERAL, cap, sizeof(*cap));
}

static void
capabilities_follow_the_recipe(void **state)
{
	struct hn *hn = *state;
	struct rnic_general_cap cap;
	struct rnic_ethernet_cap eth;
	struct rnic_flow_table_cap ft;

	hn_enable(hn);
	CAPS(hn, GENERAL, 1, &cap);
#define GET(field) rnic_general_cap_get(&cap, RNIC_GENERAL_CAP_##field)
	assert_int_equal(GET(PORT_TYPE), 1);
	assert_int_equal(GET(NUM_PORTS), 1);
	assert_int_equal(GET(MAX_WQE_SZ_SQ), 0x400);
	assert_int_equal(GET(LOG_MAX_WQ_SZ), 15);
	assert_int_equal(GET(LOG_PG_SZ), 12);
	assert_int_equal(GET(CQE_VERSION), 1);
	assert_int_equal(GET(NIC_FLOW_TABLE), 1);
	assert_int_equal(GET(ETH_NET_OFFLOADS), 1);
	assert_true(GET(LOG_MAX_RQT_SIZE) >= 8);
	assert_int_equal(GET(BF), 0);
	assert_int_equal(GET(CMDIF_CHECKSUM), 0);
	assert_int_equal(GET(ESWITCH_MANAGER), 0);
	assert_int_equal(GET(VPORT_GROUP_MANAGER), 0);
	assert_int_equal(GET(CQE_COMPRESSION), 1);
	assert_int_equal(GET(ENHANCED_CQE_COMPRESSION), 0);
	assert_int_equal(GET(MINI_CQE_RESP_STRIDE_INDEX), 0);
	assert_int_equal(GET(STRIDING_RQ), 0);
	assert_int_equal(GET(FAST_TEARDOWN), 0);
#undef GET
	CAPS(hn, ETHERNET_OFFLOADS, 1, &eth);
	assert_int_equal(rnic_ethernet_cap_get(&eth, RNIC_ETHERNET_CAP_WQE_INLINE_MODE), 2);
	CAPS(hn, FLOW_TABLE, 1, &ft);
	assert_int_equal(rnic_flow_table_props_get(rnic_flow_table_cap_nic_receive(&ft),
						   RNIC_FLOW_TABLE_PROPS_FT_SUPPORT),
			 1);
	assert_int_equal(hn_simple(hn, RNIC_CMD_QUERY_HCA_CAP, 0x50, 0, NULL),
			 RNIC_STATUS_BAD_PARAM);
}

/* What drivers of RDMA look for, Linux's and ours. */
static void
capabilities_of_queue_pairs(void **state)
{
	struct hn *hn = *state;
	struct rnic_general_cap cap;
	struct rnic_atomic_cap atomic;
	struct rnic_roce_cap roce;

	hn_enable(hn);
	for (unsigned int current = 0; current < 2; current++) {
		CAPS(hn, GENERAL, current, &cap);
		CAPS(hn, ATOMIC, current, &atomic);
		CAPS(hn, ROCE, current, &roce);
#define GET(field) rnic_general_cap_get(&cap, RNIC_GENERAL_CAP_##field)
		assert_int_equal(GET(ROCE), 1);
		assert_int_equal(GET(RC), 1);
		assert_int_equal(GET(ATOMIC), 1);
		assert_int_equal(GET(UC), 1);
		assert_int_equal(GET(UD), 1);
		assert_int_equal(GET(SET_DETH_SQPN), 0);
		assert_int_equal(GET(LOG_MAX_MCG), 12);
		assert_int_equal(GET(MAX_QP_MCG), 240);
		assert_int_equal(GET(BLOCK_LB_MC), 1);
		assert_int_equal(GET(XRC), 1);
		assert_int_equal(GET(LOG_MAX_XRCD), 10);
		assert_int_equal(GET(LOG_MAX_QP), 13);
		assert_int_equal(GET(LOG_MAX_QP_SZ), 15);
		assert_int_equal(GET(LOG_MAX_SRQ), 12);
		assert_int_equal(GET(LOG_MAX_RMP), 12);
		assert_int_equal(GET(LOG_MAX_SRQ_SZ), 15);
		assert_int_equal(GET(LOG_MAX_RA_REQ_QP), 4);
		assert_int_equal(GET(LOG_MAX_RA_RES_QP), 4);
		assert_int_equal(GET(MAX_WQE_SZ_SQ), 0x400);
		assert_int_equal(GET(MAX_WQE_SZ_RQ), 0x200);
#undef GET
		/* Byte for byte: endianness and its support, operations, sizes. */
		assert_int_equal(hn_get32(&atomic, 0x08), 0x42000000);
		assert_int_equal(hn_get32(&atomic, 0x10), 0x3);
		assert_int_equal(hn_get32(&atomic, 0x14), 0x8);
		/* IPv4 and IPv6, version 2. */
		assert_int_equal(hn_get32(&roce, 0x10), 0x00060004);
		assert_int_equal(hn_get32(&roce, 0x14), 4791);
		assert_int_equal(hn_get32(&roce, 0x18), 0xffffc000);
		assert_int_equal(hn_get32(&roce, 0x1c), 128);
	}
}

/* As Linux does it: the order of bytes of results, in zeros. */
static void
atomics_in_the_order_of_the_host(void **state)
{
	struct hn *hn = *state;
	struct rnic_atomic_cap atomic = { 0 };

	hn_enable(hn);
	rnic_atomic_cap_set(&atomic, RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE,
			    RNIC_ATOMIC_HOST_ENDIAN);
	assert_int_equal(drv_cap_set(&hn->drv, RNIC_CAP_ATOMIC, &atomic, sizeof(atomic)), 0);
	rnic_atomic_cap_set(&atomic, RNIC_ATOMIC_CAP_ATOMIC_REQ_8B_ENDIANNESS_MODE,
			    RNIC_ATOMIC_BIG_ENDIAN);
	assert_int_equal(drv_cap_set(&hn->drv, RNIC_CAP_ATOMIC, &atomic, sizeof(atomic)),
			 RNIC_STATUS_BAD_PARAM);
}

static void
blueflame_is_offered_when_asked_for(void **state)
{
	struct softrnic_conf conf = { .name = "bf" };
	struct rnic_general_cap cap;
	struct hn hn;

	(void)state;
	for (int bf = 0; bf < 2; bf++) {
		conf.bf = bf != 0;
		hn_start(&hn, NULL, &conf);
		hn_enable(&hn);
		CAPS(&hn, GENERAL, 1, &cap);
		assert_int_equal(rnic_general_cap_get(&cap, RNIC_GENERAL_CAP_BF), bf);
		/* Registers have their places without it. */
		assert_int_equal(rnic_general_cap_get(&cap, RNIC_GENERAL_CAP_LOG_BF_REG_SIZE), 9);
		hn_stop(&hn);
	}
}

static void
set_hca_cap_within_the_maximum(void **state)
{
	struct hn *hn = *state;
	struct rnic_general_cap cap;

	hn_enable(hn);
	CAPS(hn, GENERAL, 1, &cap);
	assert_int_equal(set_cap(hn, &cap), RNIC_STATUS_OK);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_DCT, 1);
	assert_int_equal(set_cap(hn, &cap), RNIC_STATUS_BAD_PARAM);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_DCT, 0);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_LOG_UAR_PAGE_SZ, 1);
	assert_int_equal(set_cap(hn, &cap), RNIC_STATUS_BAD_PARAM);
}

/* ---- Whole sequences ---- */

/* As Linux's mlx5_core goes: commands in its order, its lengths. */
static void
linux_brings_up_and_unloads(void **state)
{
	struct hn *hn = *state;
	struct rnic_query_issi_out issi = { 0 };
	struct rnic_query_adapter_out adapter = { 0 };
	struct rnic_general_cap cap;
	struct rnic_cmd_in in = { 0 };
	uint8_t reg[0x10] = { 0 };
	struct hn_eq eqs[3];
	int32_t pages;
	uint32_t uar;

	assert_int_equal(hn_simple(hn, RNIC_CMD_ENABLE_HCA, 0, 0, NULL), 0);
	hn_head(&in, RNIC_CMD_QUERY_ISSI, 0);
	hn_cmd_ok(hn, &in, sizeof(in), &issi, sizeof(issi));
	assert_int_not_equal(
		rnic_query_issi_out_get(&issi, RNIC_QUERY_ISSI_OUT_SUPPORTED_ISSI_DW0) & 2, 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_SET_ISSI, 0, 1, NULL), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_BOOT, &pages), 0);
	assert_int_equal(hn_give_pages(hn, pages), 0);
	assert_int_equal(drv_reg_write(&hn->drv, RNIC_REG_HOST_ENDIANNESS, reg, sizeof(reg)), 0);
	CAPS(hn, GENERAL, true, &cap);
	CAPS(hn, GENERAL, false, &cap);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_CMDIF_CHECKSUM, 0);
	rnic_general_cap_set(&cap, RNIC_GENERAL_CAP_LOG_UAR_PAGE_SZ, 0);
	assert_int_equal(set_cap(hn, &cap), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &pages), 0);
	assert_int_equal(hn_give_pages(hn, pages), 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), 0);
	hn_head(&in, RNIC_CMD_QUERY_ADAPTER, 0);
	hn_cmd_ok(hn, &in, sizeof(in), &adapter, sizeof(adapter));
	assert_int_equal(
		rnic_query_adapter_out_get(&adapter, RNIC_QUERY_ADAPTER_OUT_IEEE_VENDOR_ID), 0x2c9);

	uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(hn, &eqs[0], uar, 7, UINT64_C(1) << RNIC_EVENT_COMMAND, 0);
	assert_int_equal(eqs[0].number, 0x10);
	hn_create_eq(hn, &eqs[1], uar, 12, 0x1f02be, 0);
	hn_create_eq(hn, &eqs[2], uar, 7, UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST, 0);
	for (unsigned int i = 3; i-- > 0;)
		assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_EQ, eqs[i].number), 0);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_UAR, uar), 0);
	assert_int_equal(ctl_stats(hn).objects, 0);
	hn_tear_down(hn);
	/* And again, without a reset. */
	hn_bring_up(hn);
	hn_tear_down(hn);
}

/* MTU and promiscuous mode: the register, then the vport. */
static void
snabb_sets_up_the_port(struct hn *hn)
{
	const struct drv_vport vport = { .select = RNIC_NIC_VPORT_MTU | RNIC_NIC_VPORT_PROMISC,
					 .mtu = 9000,
					 .promisc_all = true };
	struct rnic_pmtu_reg reg = { 0 };

	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_LOCAL_PORT, 1);
	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_ADMIN_MTU, 9000);
	assert_int_equal(drv_reg_write(&hn->drv, RNIC_REG_PMTU, &reg, sizeof(reg)), 0);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_OPER_MTU), 9000);
	assert_int_equal(drv_vport_modify(&hn->drv, &vport), 0);
}

/* As Snabb goes: no ISSI query, no SET_HCA_CAP, regular pages asked for, an EQ that is never armed. */
static void
snabb_brings_up(void **state)
{
	struct hn *hn = *state;
	struct rnic_query_special_contexts_out special = { 0 };
	uint8_t cap[0x458];
	struct rnic_function_in in = { 0 };
	struct hn_wq sq, rq;
	struct hn_eq eq;
	struct hn_cq cqs[2];
	uint32_t uar, pd, td, tis, rqt, tir;
	int32_t pages;

	hn_enable(hn);
	hn_head(&in, RNIC_CMD_QUERY_HCA_CAP, 0);
	hn_cmd_ok(hn, &in, sizeof(in), cap, sizeof(cap));
	hn_head(&in, RNIC_CMD_QUERY_HCA_CAP, 1);
	hn_cmd_ok(hn, &in, sizeof(in), cap, sizeof(cap));
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_INIT, &pages), 0);
	assert_int_equal(hn_give_pages(hn, pages), 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), 0);
	assert_int_equal(hn_query_pages(hn, RNIC_PAGES_REGULAR, &pages), 0);
	assert_int_equal(pages, 0);
	snabb_sets_up_the_port(hn);

	uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(hn, &eq, uar, 7, 1 << 4 | 1 << 9 | 1 << 11, 0);
	pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	td = hn_alloc_object(hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	hn_head(&in, RNIC_CMD_QUERY_SPECIAL_CONTEXTS, 0);
	hn_cmd_ok(hn, &in, sizeof(in), &special, sizeof(special));
	assert_int_not_equal(rnic_query_special_contexts_out_get(
				     &special, RNIC_QUERY_SPECIAL_CONTEXTS_OUT_RESD_LKEY),
			     0);
	hn_create_cq(hn, &cqs[0], uar, eq.number, 0);
	hn_create_cq(hn, &cqs[1], uar, eq.number, 10);
	tis = hn_create_tis(hn, td);
	hn_create_sq(hn, &sq, pd, uar, cqs[0].number, tis, 10);
	hn_create_rq(hn, &rq, pd, cqs[1].number, 4, 10);
	assert_int_equal(hn_modify_sq(hn, sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	assert_int_equal(hn_modify_rq(hn, rq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	rqt = hn_create_rqt(hn, &rq.number, 1);
	tir = hn_create_tir(hn, td, rq.number);
	assert_int_equal(ctl_stats(hn).objects, 11);
	/* It never takes anything down: a function reset does. */
	(void)rqt;
	(void)tir;
	assert_int_equal(softrnic_reset(hn->dev), 0);
	assert_int_equal(ctl_stats(hn).objects, 0);
	assert_int_equal(ctl_stats(hn).pages_held, 0);
	assert_int_equal(ctl_stats(hn).dma_maps, 1);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
}

static void
teardown_takes_all_objects(void **state)
{
	struct hn *hn = *state;
	uint32_t pd, uar;
	struct hn_eq eq;
	struct hn_cq cq;

	hn_bring_up(hn);
	pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(hn, &eq, uar, 4, 0, 0);
	hn_create_cq(hn, &cq, uar, eq.number, 4);
	hn_create_mkey(hn, pd, hn_alloc(hn, 8192, 4096), 8192, true);
	assert_int_equal(ctl_stats(hn).objects, 5);
	hn_tear_down(hn);
	assert_int_equal(ctl_stats(hn).objects, 0);
	hn_bring_up(hn);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, pd), RNIC_STATUS_BAD_RES);
}

static void
configurations_are_checked(void **state)
{
	static const struct softrnic_conf bad[] = {
		{ .name = NULL },
		{ .name = "" },
		{ .name = "this name is far too long for a device, sixty-four characters at least" },
		{ .name = "x", .wire = "carrier pigeon" },
		{ .name = "x", .mac = { 1 } },
		{ .name = "x", .max_mtu = 60 },
		{ .name = "x", .drop_ppm = 1000001 },
		{ .name = "x", .boot_pages = UINT32_MAX },
	};
	struct hn *hn = *state;
	struct softrnic_conf same = { .name = "test" };
	struct softrnic *dev;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(softrnic_create(hn->poller, &bad[i], &dev), -EINVAL);
	assert_int_equal(softrnic_create(hn->poller, &same, &dev), -EEXIST);
	assert_int_equal(softrnic_poller_destroy(hn->poller), -EBUSY);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, ctl_setup, ctl_teardown)
	const struct CMUnitTest tests[] = {
		T(log_sizes_stand_whatever_was_written),
		T(registers_by_four_and_eight_bytes),
		T(read_only_registers_stay),
		T(health_counter_moves_unless_stopped),
		T(health_counter_stops_once_after_the_first_bring_up),
		T(fatal_fault_fills_the_health_buffer_and_stops_the_device),
		T(initializing_bit_as_long_as_asked),
		T(firmware_meets_its_end_once_after_the_first_bring_up),
		T(software_reset_by_nic_interface),
		T(nic_interface_disabled_is_seen_until_the_next_load),
		T(timer_runs),
		T(mappable_uars_leave_out_the_first),
		T(mappable_uars_are_made_anew),
		T(pages_are_asked_for_in_two_steps),
		T(bad_pages_are_refused_as_a_whole),
		T(pages_at_run_time_by_event),
		T(capabilities_follow_the_recipe),
		T(capabilities_of_queue_pairs),
		T(atomics_in_the_order_of_the_host),
		T(blueflame_is_offered_when_asked_for),
		T(set_hca_cap_within_the_maximum),
		T(linux_brings_up_and_unloads),
		T(snabb_brings_up),
		T(teardown_takes_all_objects),
		T(configurations_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
