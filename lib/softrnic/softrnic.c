/* SPDX-License-Identifier: BSD-3-Clause */

/* The life of a device: create, reset, destroy; faults and statistics. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/random.h"
#include "softrnic/base/resolved.h"
#include "softrnic/base/tunables.h"
#include "softrnic/base/uar.h"
#include "softrnic/engine/qp_watch.h"
#include "softrnic/hca/audit.h"
#include "softrnic/hca/caps.h"
#include "softrnic/hca/cmdq.h"
#include "softrnic/hca/hca.h"
#include "softrnic/hca/iseg.h"
#include "softrnic/hca/like.h"
#include "softrnic/hca/pages.h"
#include "softrnic/hca/roce_addr.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/flow.h"
#include "softrnic/receive/mcg.h"
#include "softrnic/softrnic_private.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/ops.h"
#include "softrnic/wire/wire.h"

#define DEFAULT_MTU	   9978
#define DEFAULT_BOOT_PAGES 4
#define DEFAULT_INIT_PAGES 32
#define MAX_START_PAGES	   (1u << 19)
#define MIN_MTU		   68 /* what IPv4 needs */

/* What holds host addresses. The map calls these, and knows none of them by name. */
static void (*const holders[])(struct softrnic *dev) = {
	softrnic_mkeys_forget,
	softrnic_rings_forget,
	softrnic_dbrecs_forget,
	softrnic_qp_watch_forget,
#ifdef SOFTRNIC_DMA_AUDIT
	softrnic_audit_unresolved,
#endif
	NULL,
};

static int
device_conf_check(struct softrnic *dev, const struct softrnic_conf *conf)
{
	if (conf->name == NULL || conf->name[0] == '\0' ||
	    strlen(conf->name) >= SOFTRNIC_NAME_BYTES) {
		rte_log(RTE_LOG_ERR, softrnic_logtype,
			"softrnic: a device needs a name of 1 to %d characters\n",
			SOFTRNIC_NAME_BYTES - 1);
		return -EINVAL;
	}
	memcpy(dev->name, conf->name, strlen(conf->name) + 1);
	dev->conf = *conf;
	dev->conf.name = dev->name;
	dev->like = softrnic_like_find(conf->like);
	if (dev->like == NULL) {
		SOFTRNIC_LOG(ERR, dev, "like=%s: expected " SOFTRNIC_LIKE_NAMES, conf->like);
		return -EINVAL;
	}
	softrnic_like_apply(dev);
	if (dev->conf.wire == NULL)
		dev->conf.wire = "loop";
	if (dev->conf.max_mtu == 0)
		dev->conf.max_mtu = DEFAULT_MTU;
	if (dev->conf.boot_pages == 0)
		dev->conf.boot_pages = DEFAULT_BOOT_PAGES;
	if (dev->conf.init_pages == 0)
		dev->conf.init_pages = DEFAULT_INIT_PAGES;
	if (dev->conf.max_mtu < MIN_MTU || dev->conf.max_mtu > DEFAULT_MTU) {
		SOFTRNIC_LOG(ERR, dev, "max_mtu %u: expected %u to %u bytes", dev->conf.max_mtu,
			     MIN_MTU, DEFAULT_MTU);
		return -EINVAL;
	}
	if (dev->conf.boot_pages > MAX_START_PAGES || dev->conf.init_pages > MAX_START_PAGES) {
		SOFTRNIC_LOG(ERR, dev, "boot or init pages: at most %u", MAX_START_PAGES);
		return -EINVAL;
	}
	if (conf->drop_ppm > 1000000 || conf->dup_ppm > 1000000 || conf->reorder_ppm > 1000000 ||
	    conf->corrupt_ppm > 1000000) {
		SOFTRNIC_LOG(ERR, dev, "a fault rate is above 1000000 parts per million");
		return -EINVAL;
	}
	if ((conf->mac[0] & 1) != 0) {
		SOFTRNIC_LOG(ERR, dev, "its own MAC address is a group address");
		return -EINVAL;
	}
	return softrnic_quirks_init(dev);
}

static void
device_seed_random(struct softrnic *dev)
{
	dev->random = dev->conf.seed;
	if (dev->random == 0 && getrandom(&dev->random, sizeof(dev->random), GRND_NONBLOCK) < 0)
		dev->random = softrnic_now_ns();
}

static void
device_lists_init(struct softrnic *dev)
{
	TAILQ_INIT(&dev->active_sqs);
	TAILQ_INIT(&dev->swept_sqs);
	TAILQ_INIT(&dev->flushing_rqs);
	TAILQ_INIT(&dev->swept_cqs);
	STAILQ_INIT(&dev->pending_cqs);
	LIST_INIT(&dev->latched_cqs);
	TAILQ_INIT(&dev->held_cqs);
	TAILQ_INIT(&dev->active_qps);
	TAILQ_INIT(&dev->swept_qps);
	TAILQ_INIT(&dev->timed_qps);
	dev->qps_deadline = UINT64_MAX;
}

/* All memory; free()s it as far as it got with device_free(). */
static int
device_alloc(struct softrnic *dev)
{
	int rc;

	if ((rc = softrnic_objects_init(dev)) != 0 || (rc = softrnic_dma_init(dev)) != 0 ||
	    (rc = softrnic_resolved_init(dev)) != 0 || (rc = softrnic_pages_init(dev)) != 0 ||
	    (rc = softrnic_cmdq_init(dev)) != 0 || (rc = softrnic_iseg_init(dev)) != 0)
		return rc;
	if ((rc = softrnic_uar_init(dev)) != 0)
		return rc;
	if ((rc = softrnic_steering_init(dev)) != 0 || (rc = softrnic_port_init(dev)) != 0 ||
	    (rc = softrnic_roce_addrs_init(dev)) != 0 || (rc = softrnic_mcgs_init(dev)) != 0)
		return rc;
	softrnic_caps_init(dev);
	return 0;
}

static void
device_free(struct softrnic *dev)
{
	softrnic_mcgs_fini(dev);
	softrnic_roce_addrs_fini(dev);
	softrnic_steering_fini(dev);
	softrnic_uar_fini(dev);
	softrnic_iseg_fini(dev);
	softrnic_cmdq_fini(dev);
	softrnic_pages_fini(dev);
	softrnic_resolved_fini(dev);
	softrnic_dma_fini(dev);
	softrnic_objects_fini(dev);
	free(dev);
}

/* Under the lock: the name, then the wire, whose other end may be a device of the same poller. */
static int
device_join(struct softrnic_poller *poller, struct softrnic *dev)
{
	int rc = softrnic_poller_add(poller, dev);

	if (rc != 0) {
		SOFTRNIC_LOG(ERR, dev, "a device of this name exists");
		return rc;
	}
	rc = softrnic_wire_open(dev, dev->conf.wire);
	if (rc != 0) {
		softrnic_poller_remove(poller, dev);
		return rc;
	}
	softrnic_wire_changed(dev);
	return 0;
}

int
softrnic_create(struct softrnic_poller *poller, const struct softrnic_conf *conf,
		struct softrnic **out)
{
	struct softrnic *dev;
	int rc;

	dev = calloc(1, sizeof(*dev));
	if (dev == NULL)
		return -ENOMEM;
	dev->poller = poller;
	dev->budget = softrnic_poller_budget(poller);
	dev->uar_fd = -1;
	dev->holders = holders;
	dev->quiet_polls = softrnic_tunables.quiet_polls;
	device_lists_init(dev);
	rc = device_conf_check(dev, conf);
	if (rc != 0) {
		free(dev);
		return rc;
	}
	device_seed_random(dev);
	softrnic_secret_init(dev);
	/* The wire may have something to say about the device's MTU. */
	rc = softrnic_wire_prepare(dev, dev->conf.wire);
	if (rc != 0) {
		free(dev);
		return rc;
	}
	rc = device_alloc(dev);
	if (rc == 0) {
		softrnic_lock(poller);
		rc = device_join(poller, dev);
		softrnic_unlock(poller);
	} else {
		SOFTRNIC_LOG(ERR, dev, "no memory for the device: %s", strerror(-rc));
	}
	if (rc != 0) {
		softrnic_wire_release(dev);
		device_free(dev);
		return rc;
	}
	/* The caller's strings end with the call. */
	dev->conf.wire = dev->conf.rx_pcap = dev->conf.tx_pcap = dev->conf.iface = NULL;
	dev->conf.rules = NULL;
	dev->conf.like = dev->like->name;
	dev->conf.quirks = NULL;
	*out = dev;
	return 0;
}

void
softrnic_destroy(struct softrnic *dev)
{
	bool gone;

	if (dev == NULL)
		return;
	softrnic_lock(dev->poller);
	/* The state first: what the wire does on its way out must not reach this device. */
	dev->state = SOFTRNIC_HCA_OFF;
	dev->dead = true;
	softrnic_wire_close(dev);
	gone = softrnic_hca_leave(dev);
	/* Others have their rounds in between. */
	while (!gone) {
		softrnic_unlock(dev->poller);
		softrnic_lock(dev->poller);
		gone = softrnic_hca_gone(dev);
	}
	softrnic_poller_remove(dev->poller, dev);
	softrnic_unlock(dev->poller);
	softrnic_wire_release(dev);
	device_free(dev);
}

void
softrnic_device_reset(struct softrnic *dev)
{
	dev->state = SOFTRNIC_HCA_OFF;
	softrnic_cmdq_reset(dev);
	softrnic_hca_leave(dev);
	dev->dead = false;
	dev->issi = 0;
	dev->fault_command = 0;
	dev->fault_stuck = 0;
	dev->fault_health = false;
	dev->fatal_at_ns = 0;
	dev->fault_initializing = false;
	softrnic_pages_reset(dev);
	softrnic_quirks_reset(dev);
	softrnic_caps_init(dev);
	softrnic_iseg_reset(dev);
	softrnic_port_reset(dev);
	if (dev->wire->reset != NULL)
		dev->wire->reset(dev);
	softrnic_wire_changed(dev);
	softrnic_roce_changed(dev);
	/* Last: the link that goes down may lose a frame, which is of the time before. */
	memset(&dev->stats, 0, sizeof(dev->stats));
	memset(&dev->roce_counters, 0, sizeof(dev->roce_counters));
}

int
softrnic_reset(struct softrnic *dev)
{
	softrnic_lock(dev->poller);
	softrnic_device_reset(dev);
	softrnic_unlock(dev->poller);
	return 0;
}

int
softrnic_set_interrupt(struct softrnic *dev, unsigned int vector,
		       void (*fn)(void *arg, unsigned int vector), void *arg)
{
	if (vector >= SOFTRNIC_MSIX_VECTORS)
		return -EINVAL;
	softrnic_lock(dev->poller);
	dev->irqs[vector].fn = fn;
	dev->irqs[vector].arg = arg;
	softrnic_unlock(dev->poller);
	return 0;
}

static int
device_fault_set(struct softrnic *dev, enum softrnic_fault fault, uint64_t value)
{
	switch (fault) {
	case SOFTRNIC_FAULT_NONE:
		dev->fault_command = 0;
		dev->fault_stuck = 0;
		dev->fault_health = false;
		dev->fault_initializing = false;
		return 0;
	case SOFTRNIC_FAULT_COMMAND_STATUS: dev->fault_command = value; return 0;
	case SOFTRNIC_FAULT_COMMAND_STUCK: dev->fault_stuck = (uint32_t)value; return 0;
	case SOFTRNIC_FAULT_HEALTH_STOPPED:
		dev->health_stopped_ns = softrnic_now_ns();
		dev->fault_health = true;
		return 0;
	case SOFTRNIC_FAULT_FATAL: softrnic_iseg_fatal(dev, (uint8_t)value); return 0;
	case SOFTRNIC_FAULT_INITIALIZING: dev->fault_initializing = true; return 0;
	case SOFTRNIC_FAULT_PAGE_REQUEST: return softrnic_pages_request(dev, (int32_t)value);
	default: return -EINVAL;
	}
}

int
softrnic_fault(struct softrnic *dev, enum softrnic_fault fault, uint64_t value)
{
	int rc;

	softrnic_lock(dev->poller);
	rc = device_fault_set(dev, fault, value);
	softrnic_unlock(dev->poller);
	return rc;
}

void
softrnic_stats_get(struct softrnic *dev, struct softrnic_stats *stats)
{
	softrnic_lock(dev->poller);
	*stats = dev->stats;
	stats->objects = 0;
	for (unsigned int type = 0; type < SOFTRNIC_OBJECT_TYPES; type++)
		stats->objects += dev->tables[type].used;
	stats->dma_maps = softrnic_dma_count(dev);
	softrnic_unlock(dev->poller);
}
