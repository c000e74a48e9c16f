/* SPDX-License-Identifier: BSD-3-Clause */

#include "core/health.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/log.h"
#include "base/thread.h"
#include "core/dev.h"
#include "prm/init_seg.h"

static const char *
look_dead(struct rnic_dev *dev)
{
	/* A removed or reset function answers all ones; no firmware has that version. */
	if (rnic_register_read(dev, RNIC_ISEG_HEALTH_FW_VERSION) == UINT32_MAX)
		return "the device does not answer (registers read all ones): removed or dead";
	/* A syndrome alone is a complaint; with the request for a reset it is the end. */
	if (rnic_register_read(dev, RNIC_ISEG_HEALTH_RFR) != 0 &&
	    rnic_register_read(dev, RNIC_ISEG_HEALTH_SYNDROME) != 0)
		return "the device reports a fatal health syndrome and asks for a reset";
	/* "Full driver" is what we asked for with the address of the command queue. */
	if (dev->cmdq == NULL)
		return NULL;
	switch (rnic_register_read(dev, RNIC_ISEG_NIC_INTERFACE)) {
	case RNIC_NIC_INTERFACE_DISABLED: return "somebody else has disabled its interface";
	case RNIC_NIC_INTERFACE_SW_RESET: return "somebody else resets it";
	default: break;
	}
	/* A function level reset leaves nothing in the registers but this: all looks as if no driver had come yet. */
	if (dev->cmdq_address_low != 0 &&
	    rnic_register_read(dev, RNIC_ISEG_CMDQ_ADDR_LOW) != dev->cmdq_address_low)
		return "somebody else has reset it";
	return NULL;
}

const char *
rnic_device_dead(struct rnic_dev *dev)
{
	const char *why = look_dead(dev);

	/* Who does not wait for answers reads all ones of the best device. */
	return rnic_thread_stopping(dev) ? NULL : why;
}

void
rnic_on_lost(struct rnic_dev *dev, enum rnic_lost slot, void (*fn)(void *arg), void *arg)
{
	struct rnic_lost_listener *listener = &dev->on_lost[slot];

	/* Its argument first: the function publishes it. Who empties the slot leaves it to a call that has begun. */
	if (fn != NULL)
		listener->arg = arg;
	atomic_store(&listener->fn, fn);
}

static void
tell_lost(struct rnic_dev *dev)
{
	void (*fn)(void *arg);
	unsigned int i;

	for (i = 0; i < RNIC_LOST_SLOTS; i++) {
		fn = atomic_load(&dev->on_lost[i].fn);
		if (fn != NULL)
			fn(dev->on_lost[i].arg);
	}
}

bool
rnic_dev_fatal_syndrome(struct rnic_dev *dev, char text[RNIC_SYNDROME_TEXT])
{
	uint32_t syndrome;

	if (dev->access == NULL || atomic_load(&dev->access->gone) ||
	    rnic_register_read(dev, RNIC_ISEG_HEALTH_FW_VERSION) == UINT32_MAX ||
	    rnic_register_read(dev, RNIC_ISEG_HEALTH_RFR) == 0)
		return false;
	syndrome = rnic_register_read(dev, RNIC_ISEG_HEALTH_SYNDROME);
	snprintf(text, RNIC_SYNDROME_TEXT, "(syndrome 0x%02x, extended 0x%04x)", syndrome,
		 rnic_register_read(dev, RNIC_ISEG_HEALTH_EXT_SYNDROME));
	return syndrome != 0;
}

static void
report_lost(struct rnic_dev *dev, const char *why)
{
	char syndrome[RNIC_SYNDROME_TEXT];

	if (rnic_dev_fatal_syndrome(dev, syndrome))
		RNIC_LOG(ERR, dev,
			 "device lost: %s %s. Close the port and start it again; where a function "
			 "level reset does not clear it: " RNIC_WAY_OUT,
			 why, syndrome);
	else
		RNIC_LOG(ERR, dev, "device lost: %s. Close the port and start it again", why);
}

void
rnic_dev_fatal(struct rnic_dev *dev, const char *why)
{
	if (atomic_exchange(&dev->dead, true))
		return;
	/* The reset would clear it, or hide it. */
	report_lost(dev, why);
	/* The listeners take buffers back, so the device must no longer reach them. */
	rnic_dev_quiesce(dev);
	tell_lost(dev);
}

void
rnic_dev_quiesce(struct rnic_dev *dev)
{
	int rc = 0;

	if (!atomic_load(&dev->dead) || dev->access == NULL)
		return;
	/* A second caller waits, too. */
	if (!rnic_thread_lock(&dev->quiesce_lock))
		return;
	if (!atomic_load(&dev->quiesced))
		rc = dev->access->ops->reset(dev->access);
	/* A thread that is to end may not wait for it: the next one does. */
	if (rc != -ECANCELED || !rnic_thread_stopping(dev))
		atomic_store(&dev->quiesced, true);
	pthread_mutex_unlock(&dev->quiesce_lock);
}

void
rnic_dev_give_up(struct rnic_dev *dev, const char *why)
{
	if (!atomic_exchange(&dev->dead, true))
		RNIC_LOG(WARNING, dev, "%s: the function is reset before its memory is taken away",
			 why);
	rnic_dev_quiesce(dev);
}
