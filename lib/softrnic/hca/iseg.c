/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The initialization segment. Registers are big-endian dwords; what does not follow from the device's state (command queue
 * address, timers, health) is kept in an image of the segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prm/init_seg.h"
#include "softrnic/base/clock.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/tunables.h"
#include "softrnic/hca/iseg.h"

#define FW_MAJOR    14
#define FW_MINOR    12
#define FW_SUBMINOR 1

/* Dwords that a driver writes. */
#define CMDQ_ADDR_HIGH 0x10
#define CMDQ_ADDR_LOW  0x14

#define NIC_INTERFACE_SHIFT 8
#define NIC_INTERFACE_MASK  0x7

#define HEALTH_PERIOD_NS 10000000 /* of the health counter */

/* Of the health buffer, as Linux names it: the firmware's internal error. */
#define SYNDROME_FW_INTERNAL 0x1

int
softrnic_iseg_init(struct softrnic *dev)
{
	dev->iseg = calloc(1, sizeof(*dev->iseg));
	if (dev->iseg == NULL)
		return -ENOMEM;
	softrnic_iseg_reset(dev);
	return 0;
}

void
softrnic_iseg_fini(struct softrnic *dev)
{
	free(dev->iseg);
	dev->iseg = NULL;
}

void
softrnic_iseg_reset(struct softrnic *dev)
{
	struct rnic_init_seg *iseg = dev->iseg;

	memset(iseg, 0, sizeof(*iseg));
	rnic_init_seg_set(iseg, RNIC_ISEG_FW_REV_MAJOR, FW_MAJOR);
	rnic_init_seg_set(iseg, RNIC_ISEG_FW_REV_MINOR, FW_MINOR);
	rnic_init_seg_set(iseg, RNIC_ISEG_FW_REV_SUBMINOR, FW_SUBMINOR);
	rnic_init_seg_set(iseg, RNIC_ISEG_CMD_INTERFACE_REV, RNIC_CMD_INTERFACE_REV);
	rnic_init_seg_set(iseg, RNIC_ISEG_FW_RESET_SUPPORTED, 1);
	rnic_init_seg_set(iseg, RNIC_ISEG_HEALTH_FW_VERSION,
			  FW_MAJOR << 24 | FW_MINOR << 16 | FW_SUBMINOR);
	rnic_init_seg_set(iseg, RNIC_ISEG_HEALTH_HW_ID, 0x50f7);
	dev->cmdq_iova = 0;
	dev->cmdq_iova_high = 0;
	dev->nic_interface = RNIC_NIC_INTERFACE_FULL_DRIVER;
	dev->power_on_ns = softrnic_now_ns() - softrnic_tunables.age_ns;
	atomic_store(&dev->cmd_doorbell, 0);
}

void
softrnic_iseg_disable(struct softrnic *dev)
{
	dev->nic_interface = RNIC_NIC_INTERFACE_DISABLED;
}

void
softrnic_iseg_complain(struct softrnic *dev, uint8_t syndrome)
{
	rnic_init_seg_set(dev->iseg, RNIC_ISEG_HEALTH_SYNDROME, syndrome);
}

/* Fill the health buffer as firmware that has met its end does. Nothing goes on. */
void
softrnic_iseg_fatal(struct softrnic *dev, uint8_t syndrome)
{
	struct rnic_init_seg *iseg = dev->iseg;

	rnic_init_seg_set(iseg, RNIC_ISEG_ASSERT_VAR_0, 0xdead);
	rnic_init_seg_set(iseg, RNIC_ISEG_ASSERT_EXIT_PTR, 0x1000);
	rnic_init_seg_set(iseg, RNIC_ISEG_ASSERT_CALLRA, 0x2000);
	rnic_init_seg_set(iseg, RNIC_ISEG_HEALTH_TIME,
			  (softrnic_now_ns() - dev->power_on_ns) / 1000000000);
	rnic_init_seg_set(iseg, RNIC_ISEG_HEALTH_SYNDROME, syndrome);
	/* Drivers take a syndrome for the end only if it comes with the request for a reset. */
	rnic_init_seg_set(iseg, RNIC_ISEG_HEALTH_RFR, 1);
	dev->dead = true;
}

/* What the configuration asks for, once. */
void
softrnic_iseg_plan_health(struct softrnic *dev)
{
	const uint64_t now = softrnic_now_ns();

	if (dev->conf.health_stop_ms != 0) {
		dev->health_stopped_ns = now + dev->conf.health_stop_ms * UINT64_C(1000000);
		dev->fault_health = true;
		dev->conf.health_stop_ms = 0;
	}
	if (dev->conf.fatal_ms != 0) {
		dev->fatal_at_ns = now + dev->conf.fatal_ms * UINT64_C(1000000);
		dev->conf.fatal_ms = 0;
	}
}

static uint32_t
iseg_health_counter(struct softrnic *dev)
{
	uint64_t now = softrnic_quirks_health_time(dev, softrnic_now_ns());
	uint32_t syndrome;

	/* Whoever looks is the first to know. */
	if (dev->fatal_at_ns != 0 && now >= dev->fatal_at_ns) {
		softrnic_iseg_fatal(dev, SYNDROME_FW_INTERNAL);
		dev->fatal_at_ns = 0;
	}
	syndrome = rnic_init_seg_get(dev->iseg, RNIC_ISEG_HEALTH_SYNDROME);
	if (dev->fault_health && dev->health_stopped_ns < now)
		now = dev->health_stopped_ns;
	return syndrome << 24 | ((now - dev->power_on_ns) / HEALTH_PERIOD_NS & 0xffffff);
}

uint32_t
softrnic_iseg_read(struct softrnic *dev, uint64_t offset)
{
	uint64_t timer = softrnic_now_ns() - dev->power_on_ns;

	switch (offset) {
	case CMDQ_ADDR_HIGH: return dev->cmdq_iova >> 32;
	case CMDQ_ADDR_LOW:
		/* The log sizes stand here whatever was written: a driver reads them at each load. */
		return (dev->cmdq_iova & 0xfffff000) |
		       (uint32_t)dev->nic_interface << NIC_INTERFACE_SHIFT |
		       RNIC_CMDQ_LOG_SIZE << 4 | RNIC_CMDQ_LOG_STRIDE;
	case SOFTRNIC_ISEG_DOORBELL: return (uint32_t)atomic_load(&dev->cmd_doorbell);
	case RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING):
		return (dev->fault_initializing || dev->leaving || softrnic_quirks_initializing(dev)
				? UINT32_C(1) << 31
				: 0) |
		       rnic_be32_to_cpu(dev->iseg->dw[offset / 4]);
	case RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_HIGH): return timer >> 32;
	case RNIC_FIELD_OFFSET(RNIC_ISEG_INTERNAL_TIMER_LOW): return timer;
	case RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER): return iseg_health_counter(dev);
	/* Seconds and nanoseconds, as Linux's drivers read them. */
	case RNIC_FIELD_OFFSET(RNIC_ISEG_REAL_TIME_HIGH):
		return (uint32_t)(softrnic_clock_utc_now() >> 32);
	case RNIC_FIELD_OFFSET(RNIC_ISEG_REAL_TIME_LOW): return (uint32_t)softrnic_clock_utc_now();
	default: return rnic_be32_to_cpu(dev->iseg->dw[offset / 4]);
	}
}

bool
softrnic_iseg_write(struct softrnic *dev, uint64_t offset, uint32_t value)
{
	unsigned int interface = value >> NIC_INTERFACE_SHIFT & NIC_INTERFACE_MASK;

	switch (offset) {
	case CMDQ_ADDR_HIGH: dev->cmdq_iova_high = value; break;
	case CMDQ_ADDR_LOW:
		if (interface == RNIC_NIC_INTERFACE_SW_RESET)
			return true;
		dev->nic_interface = interface;
		if (interface != RNIC_NIC_INTERFACE_FULL_DRIVER)
			break;
		dev->cmdq_iova = (uint64_t)dev->cmdq_iova_high << 32 | (value & 0xfffff000);
		softrnic_quirks_address_written(dev);
		break;
	default: break; /* read-only, or not there: a card ignores the write */
	}
	return false;
}

void
softrnic_iseg_ring(struct softrnic *dev, const void *data)
{
	struct rnic_be32 bits;

	if (softrnic_quirks_initializing(dev))
		return;
	memcpy(&bits, data, sizeof(bits));
	atomic_fetch_or_explicit(&dev->cmd_doorbell, rnic_be32_to_cpu(bits), memory_order_release);
}
