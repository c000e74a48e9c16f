/* SPDX-License-Identifier: BSD-3-Clause */

/* The ethdev of a port wire, without the poller's lock: port_private.h has the story. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "softrnic/base/log.h"
#include "softrnic/base/poller.h"
#include "softrnic/port/port.h"
#include "softrnic/wire/port.h"
#include "softrnic/wire/port_pool.h"
#include "softrnic/wire/port_private.h"

#define PORT_LOOK_US 100000
#define PORT_DESC    512
/* than descriptors: those in our hands, and some that the ethdev may keep */
#define PORT_MBUFS_MORE 127

static bool
port_is_up(const struct softrnic *dev)
{
	const struct port_wire *wire = dev->wire_data;

	return wire->stage == PORT_LIVE && wire->up;
}

/* What is returned is for softrnic_unlock(), behind which the wire may be gone. */
static struct softrnic_poller *
port_lock(struct port_wire *wire)
{
	struct softrnic_poller *poller = atomic_load_explicit(&wire->poller, memory_order_acquire);

	softrnic_lock(poller);
	return poller;
}

/* ---- The ethdev, without the lock ---- */

static enum port_stage
port_stage(struct port_wire *wire, uint16_t *id)
{
	struct softrnic_poller *poller = port_lock(wire);
	enum port_stage stage = wire->stage;

	*id = wire->id;
	softrnic_unlock(poller);
	return stage;
}

/*
 * Ours alone, so that applications that use whatever ports there are leave it alone. -EPERM: somebody else's.
 */
static int
port_own(struct port_wire *wire, uint16_t id)
{
	struct rte_eth_dev_owner owner = { .id = wire->owner };
	int rc;

	rc = rte_eth_dev_owner_get(id, &owner);
	if (rc == 0 && owner.id != RTE_ETH_DEV_NO_OWNER) {
		SOFTRNIC_LOG(ERR, wire->dev, "ethdev %s already belongs to %s", wire->name,
			     owner.name);
		return -EPERM;
	}
	owner.id = wire->owner;
	snprintf(owner.name, sizeof(owner.name), "softrnic %.54s", wire->dev->name);
	if (rc == 0)
		rc = rte_eth_dev_owner_set(id, &owner);
	if (rc != 0)
		SOFTRNIC_LOG(ERR, wire->dev, "cannot take ethdev %s: %s", wire->name,
			     strerror(-rc));
	return rc;
}

/* An id is a number that somebody else's ethdev may have by now. */
static bool
port_is_ours(const struct port_wire *wire, uint16_t id)
{
	struct rte_eth_dev_owner owner = { 0 };

	return rte_eth_dev_owner_get(id, &owner) == 0 && owner.id == wire->owner;
}

static void
port_pool_put(struct port_wire *wire, struct rte_mempool *pool)
{
	if (pool != NULL && !softrnic_port_pool_put(pool))
		SOFTRNIC_LOG(DEBUG, wire->dev,
			     "ethdev %s keeps mbufs, or takes them from their pool: it stays",
			     wire->name);
}

/* Buffers for the longest frame that the device could ever take; some ethdevs want larger ones. */
static int
port_setup_rx(struct port_wire *wire, uint16_t id, uint16_t rx_desc, uint16_t tx_desc,
	      struct rte_mempool **pool)
{
	const uint32_t sizes[] = {
		wire->dev->conf.max_mtu + SOFTRNIC_FRAME_OVERHEAD,
		1u << 14,
		1u << 15,
		UINT16_MAX - RTE_PKTMBUF_HEADROOM,
	};
	unsigned int i, socket = (unsigned int)rte_eth_dev_socket_id(id);
	int rc = -ENOMEM;

	for (i = 0; i < RTE_DIM(sizes) && (rc == -ENOMEM || rc == -EINVAL); i++) {
		*pool = softrnic_port_pool_get(wire->owner, id, sizes[i],
					       rx_desc + tx_desc + PORT_MBUFS_MORE,
					       rte_eth_dev_socket_id(id));
		if (*pool == NULL) {
			SOFTRNIC_LOG(ERR, wire->dev,
				     "no memory for %u mbufs of %u bytes: give EAL more, e.g. more "
				     "hugepages or a larger -m",
				     rx_desc + tx_desc + PORT_MBUFS_MORE, sizes[i]);
			return -ENOMEM;
		}
		rc = rte_eth_rx_queue_setup(id, 0, rx_desc, socket, NULL, *pool);
		if (rc == 0) {
			softrnic_port_pool_configured(*pool, id);
		} else {
			port_pool_put(wire, *pool);
			*pool = NULL;
		}
	}
	return rc;
}

static int
port_setup(struct port_wire *wire, uint16_t id, struct rte_mempool **pool)
{
	uint16_t rx_desc = PORT_DESC, tx_desc = PORT_DESC;
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = { 0 };
	int rc;

	rc = rte_eth_dev_info_get(id, &info);
	if (rc != 0)
		return rc;
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	rc = rte_eth_dev_configure(id, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx_desc, &tx_desc);
	if (rc == 0)
		rc = port_setup_rx(wire, id, rx_desc, tx_desc, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(id, 0, tx_desc, (unsigned int)rte_eth_dev_socket_id(id),
					    NULL);
	return rc != 0 ? rc : rte_eth_dev_start(id);
}

static int
port_start(struct port_wire *wire, uint16_t id, struct rte_mempool **pool)
{
	int rc;

	rc = port_own(wire, id);
	if (rc != 0)
		return rc;
	*pool = NULL;
	rc = port_setup(wire, id, pool);
	if (rc != 0) {
		SOFTRNIC_LOG(ERR, wire->dev, "cannot start ethdev %s: %s%s", wire->name,
			     strerror(-rc), rc == -EBUSY ? "; something else uses it" : "");
		port_pool_put(wire, *pool);
		rte_eth_dev_owner_unset(id, wire->owner);
		return rc;
	}
	rc = rte_eth_promiscuous_enable(id);
	if (rc != 0)
		SOFTRNIC_LOG(WARNING, wire->dev,
			     "ethdev %s has no promiscuous mode (%s): it may receive only "
			     "frames for its own MAC address; set that as mac=",
			     wire->name, strerror(-rc));
	return 0;
}

/* Give it back; one whose device has gone is closed by us, as its owner. */
static void
port_stop(struct port_wire *wire, uint16_t id, bool removed)
{
	if (!port_is_ours(wire, id))
		return;
	rte_eth_promiscuous_disable(id);
	rte_eth_dev_stop(id);
	if (removed)
		rte_eth_dev_close(id);
	else
		rte_eth_dev_owner_unset(id, wire->owner);
}

static int
port_any_bus(const struct rte_bus *bus, const void *data)
{
	(void)bus;
	(void)data;
	return 0;
}

/*
 * Has its driver's probe() returned? An ethdev has its name, and is told of, before: and what asks it then finds no driver.
 */
static bool
port_is_probed(uint16_t id)
{
	struct rte_dev_iterator it;
	struct rte_bus *bus = NULL;
	struct rte_device *dev;
	char name[64];
	uint16_t of;

	while ((bus = rte_bus_find(bus, port_any_bus, NULL)) != NULL) {
		snprintf(name, sizeof(name), "bus=%s", rte_bus_name(bus));
		RTE_DEV_FOREACH(dev, name, &it) {
			RTE_ETH_FOREACH_DEV_OF(of, dev) {
				if (of == id)
					return rte_dev_is_probed(dev);
			}
		}
	}
	return false;
}

/* Take the ethdev if it is there. 0 or -errno: -ENODEV there is none, others are logged. */
static int
port_find(struct port_wire *wire)
{
	struct softrnic_poller *poller;
	struct rte_mempool *pool = NULL;
	bool destroyed;
	uint16_t id;
	int rc;

	if (rte_eth_dev_get_port_by_name(wire->name, &id) != 0 || !port_is_probed(id))
		return -ENODEV;
	/* With all that port_new()'s thread did to it. */
	(void)atomic_load_explicit(&wire->news, memory_order_acquire);
	/* Of the ethdev that was there before; its mbufs have come home since. */
	port_pool_put(wire, wire->pool);
	wire->pool = NULL;
	poller = port_lock(wire);
	wire->id = id;
	wire->stage = PORT_STARTS;
	softrnic_unlock(poller);

	rc = port_start(wire, id, &pool);

	poller = port_lock(wire);
	destroyed = wire->stage == PORT_ABSENT;
	if (!destroyed && rc != 0) {
		wire->stage = PORT_UNFIT;
	} else if (!destroyed) {
		/* Removed meanwhile: the next look closes it, and the pool is its own until then. */
		wire->pool = pool;
		if (wire->stage != PORT_STARTS) {
			rc = -ENODEV;
		} else {
			wire->stage = PORT_LIVE;
			wire->idle = true;
			wire->mtu = 0;
			softrnic_wire_port_make_room(wire);
		}
	}
	softrnic_unlock(poller);
	if (destroyed)
		port_pool_put(wire, pool);
	return destroyed ? -ENODEV : rc;
}

/* No thread is in a burst until it runs again. False: it is gone, and not ours to stop. */
static bool
port_restarts(struct port_wire *wire)
{
	struct softrnic_poller *poller = port_lock(wire);
	bool live = wire->stage == PORT_LIVE;

	if (live) {
		softrnic_wire_port_let_go(wire, PORT_STARTS);
		wire->changed = true;
	}
	softrnic_unlock(poller);
	return live;
}

/* The next look tells of its link. False: it went meanwhile, and is still ours to be closed. */
static bool
port_restarted(struct port_wire *wire, bool runs)
{
	struct softrnic_poller *poller = port_lock(wire);
	bool stays = wire->stage == PORT_STARTS;

	if (stays) {
		wire->stage = runs ? PORT_LIVE : PORT_UNFIT;
		if (runs)
			softrnic_wire_port_make_room(wire);
	}
	softrnic_unlock(poller);
	return stays;
}

/* Most NICs take another MTU only while they are stopped. It has the mbufs for any from the beginning. */
static int
port_set_mtu_stopped(struct port_wire *wire, uint16_t id, uint16_t mtu)
{
	int rc, run;

	if (!port_restarts(wire))
		return -ENODEV;
	/* One that does not stop has no bursts from now on, and ethdev does not start it again. */
	run = rte_eth_dev_stop(id);
	rc = run != 0 ? run : rte_eth_dev_set_mtu(id, mtu);
	if (run == 0)
		run = rte_eth_dev_start(id);
	if (port_restarted(wire, run == 0) && run != 0) {
		SOFTRNIC_LOG(ERR, wire->dev,
			     "cannot restart ethdev %s for an MTU of %u: %s; detach and "
			     "attach it",
			     wire->name, mtu, strerror(-run));
		rte_eth_dev_owner_unset(id, wire->owner);
	}
	return rc;
}

/* Tell the ethdev what MTU its frames are of now. Many can have no other than they have, or it is set elsewhere. */
static void
port_tell_mtu(struct port_wire *wire, uint16_t id, uint16_t mtu)
{
	uint16_t has = 0;
	int rc;

	if (mtu == wire->mtu)
		return;
	wire->mtu = mtu;
	if (rte_eth_dev_get_mtu(id, &has) != 0 || has == mtu)
		return;
	rc = rte_eth_dev_set_mtu(id, mtu);
	if (rc == -EBUSY)
		rc = port_set_mtu_stopped(wire, id, mtu);
	if (rc != 0 && mtu > has)
		SOFTRNIC_LOG(WARNING, wire->dev,
			     "ethdev %s refuses an MTU of %u (%s): set it on the interface "
			     "behind the ethdev, or longer frames are lost there",
			     wire->name, mtu, strerror(-rc));
}

static void
port_follow(struct port_wire *wire, uint16_t id)
{
	struct softrnic_poller *poller;
	struct rte_eth_link link = { 0 };
	uint16_t mtu;
	bool up;
	int rc;

	rc = rte_eth_link_get_nowait(id, &link);
	up = rc == -ENOTSUP || (rc == 0 && link.link_status == RTE_ETH_LINK_UP);
	poller = port_lock(wire);
	if (wire->stage == PORT_LIVE && wire->up != up) {
		wire->up = up;
		wire->changed = true;
	}
	/* 0: the device is not there yet, and its port is being made */
	mtu = wire->dev->wire != NULL ? wire->dev->port.admin_mtu : 0;
	softrnic_unlock(poller);
	if (mtu > SOFTRNIC_FRAME_OVERHEAD)
		port_tell_mtu(wire, id, (uint16_t)(mtu - SOFTRNIC_FRAME_OVERHEAD));
}

/* Once around. @return as port_find() */
static int
port_look(struct port_wire *wire)
{
	uint16_t id;
	int rc = 0;

	pthread_mutex_lock(&wire->looking);
	atomic_store(&wire->looker, (uintptr_t)pthread_self());
	switch (port_stage(wire, &id)) {
	case PORT_ABSENT:
		rc = port_find(wire);
		if (rc == 0)
			port_follow(wire, wire->id);
		break;
	case PORT_LIVE:
		if (port_is_ours(wire, id))
			port_follow(wire, id);
		break;
	case PORT_REMOVED: port_stop(wire, id, true); break;
	case PORT_STARTS:
	case PORT_UNFIT: break;
	}
	atomic_store(&wire->looker, 0);
	pthread_mutex_unlock(&wire->looking);
	return rc;
}

static int
port_alarm_set(struct port_wire *wire, uint64_t us, rte_eal_alarm_callback fn)
{
	int rc;

	pthread_mutex_lock(&wire->alarming);
	rc = rte_eal_alarm_set(us, fn, wire);
	pthread_mutex_unlock(&wire->alarming);
	return rc;
}

/* Behind all that was done, to it and to the alarm, by who has set that. */
static struct port_wire *
port_of_alarm(void *arg)
{
	struct port_wire *wire = arg;

	pthread_mutex_lock(&wire->alarming);
	pthread_mutex_unlock(&wire->alarming);
	return wire;
}

static void
port_look_once(void *arg)
{
	struct port_wire *wire = port_of_alarm(arg);

	port_look(wire);
	atomic_fetch_add_explicit(&wire->looks, 1, memory_order_release);
}

static void
port_look_on(void *arg)
{
	struct port_wire *wire = port_of_alarm(arg);

	port_look(wire);
	if (port_alarm_set(wire, PORT_LOOK_US, port_look_on) != 0)
		SOFTRNIC_LOG(ERR, wire->dev,
			     "no alarm: the link of ethdev %s is no longer followed", wire->name);
	atomic_fetch_add_explicit(&wire->looks, 1, memory_order_release);
}

/* ---- Events, in whatever thread ---- */

static int
port_new(uint16_t id, enum rte_eth_event_type type, void *arg, void *rc)
{
	struct port_wire *wire = arg;

	(void)id;
	(void)type;
	(void)rc;
	/* Pairs with port_find(): ethdev's own flags, by which that sees it, order nothing. */
	atomic_fetch_add_explicit(&wire->news, 1, memory_order_release);
	/* It can be used, and has its name, when this event is over; the next look is due soon anyhow. */
	(void)port_alarm_set(wire, 1, port_look_once);
	return 0;
}

/* Once this has returned nothing here touches the ethdev. */
static int
port_gone(uint16_t id, enum rte_eth_event_type type, void *arg, void *rc)
{
	bool destroyed = type == RTE_ETH_EVENT_DESTROY, ours;
	struct port_wire *wire = arg;
	struct softrnic_poller *poller = port_lock(wire);

	(void)rc;
	ours = wire->id == id &&
	       (destroyed ? wire->stage != PORT_ABSENT
			  : wire->stage == PORT_LIVE || wire->stage == PORT_STARTS);
	if (ours) {
		SOFTRNIC_LOG(INFO, wire->dev, "ethdev %s was removed", wire->name);
		softrnic_wire_port_let_go(wire, destroyed ? PORT_ABSENT : PORT_REMOVED);
		wire->changed = true;
	}
	softrnic_unlock(poller);
	/* Who has begun to look before may still be in a call of the ethdev's. */
	if (ours && atomic_load(&wire->looker) != (uintptr_t)pthread_self()) {
		pthread_mutex_lock(&wire->looking);
		pthread_mutex_unlock(&wire->looking);
	}
	return 0;
}

static const struct {
	enum rte_eth_event_type type;
	rte_eth_dev_cb_fn fn;
} port_events[] = {
	{ RTE_ETH_EVENT_NEW, port_new },
	{ RTE_ETH_EVENT_DESTROY, port_gone },
	{ RTE_ETH_EVENT_INTR_RMV, port_gone },
};

static void
port_unlisten(struct port_wire *wire)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(port_events); i++) {
		while (rte_eth_dev_callback_unregister(RTE_ETH_ALL, port_events[i].type,
						       port_events[i].fn, wire) == -EAGAIN)
			rte_delay_us_sleep(100);
	}
	/* Waits for one that is at it. */
	rte_eal_alarm_cancel(port_look_on, wire);
	rte_eal_alarm_cancel(port_look_once, wire);
	(void)atomic_load_explicit(&wire->looks, memory_order_acquire);
}

static int
port_listen(struct port_wire *wire)
{
	unsigned int i;
	int rc = 0;

	wire->told = true;
	/* With all that was done so far. */
	atomic_store_explicit(&wire->poller, wire->dev->poller, memory_order_release);
	for (i = 0; i < RTE_DIM(port_events) && rc == 0; i++)
		rc = rte_eth_dev_callback_register(RTE_ETH_ALL, port_events[i].type,
						   port_events[i].fn, wire);
	return rc != 0 ? rc : port_alarm_set(wire, PORT_LOOK_US, port_look_on);
}

/* ---- The wire ---- */

static void
port_release(struct softrnic *dev)
{
	struct port_wire *wire = dev->wire_data;
	enum port_stage stage;
	uint16_t id;

	if (wire->told)
		port_unlisten(wire);
	stage = port_stage(wire, &id);
	softrnic_wire_port_let_go(wire, PORT_ABSENT);
	if (stage == PORT_LIVE || stage == PORT_REMOVED)
		port_stop(wire, id, stage == PORT_REMOVED);
	port_pool_put(wire, wire->pool);
	pthread_mutex_destroy(&wire->looking);
	pthread_mutex_destroy(&wire->alarming);
	free(wire);
	dev->wire_data = NULL;
}

/* The longest frames that the ethdev may ever take, if it says that, are the longest that the device offers. */
static void
port_limit_mtu(struct port_wire *wire)
{
	struct softrnic_conf *conf = &wire->dev->conf;
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(wire->id, &info) == 0 && info.max_mtu < conf->max_mtu)
		conf->max_mtu = info.max_mtu;
}

static int
port_prepare(struct softrnic *dev, const char *arg)
{
	struct port_wire *wire;
	int rc;

	if (arg == NULL || arg[0] == '\0' || strlen(arg) >= sizeof(wire->name)) {
		SOFTRNIC_LOG(ERR, dev, "wire \"port\" needs the name of an ethdev: port:net_tap0");
		return -EINVAL;
	}
	if (rte_lcore_count() == 0) {
		SOFTRNIC_LOG(ERR, dev, "wire \"port:%s\": this process has no ethdevs (no EAL)",
			     arg);
		return -ENOTSUP;
	}
	wire = calloc(1, sizeof(*wire));
	if (wire == NULL)
		return -ENOMEM;
	wire->dev = dev;
	memcpy(wire->name, arg, strlen(arg) + 1);
	atomic_init(&wire->poller, dev->poller);
	atomic_init(&wire->looks, 0);
	atomic_init(&wire->news, 0);
	pthread_mutex_init(&wire->looking, NULL);
	pthread_mutex_init(&wire->alarming, NULL);
	atomic_init(&wire->looker, 0);
	wire->idle = true;
	dev->wire_data = wire;
	rc = rte_eth_dev_owner_new(&wire->owner);
	if (rc == 0)
		rc = port_look(wire);
	if (rc == -ENODEV)
		SOFTRNIC_LOG(WARNING, dev, "no ethdev %s yet: the link is down until it appears",
			     arg);
	if (rc == 0)
		port_limit_mtu(wire);
	if (rc == 0 || rc == -ENODEV) {
		rc = port_listen(wire);
		if (rc != 0)
			SOFTRNIC_LOG(ERR, dev, "cannot follow ethdev %s: %s", arg, strerror(-rc));
	}
	if (rc != 0)
		port_release(dev);
	return rc;
}

/* The frames that did not get through are lost with the link. */
static void
port_close(struct softrnic *dev)
{
	dev->wire_full = false;
	dev->wire_waits_from = 0;
}

const struct softrnic_wire_ops softrnic_wire_port = {
	.name = "port",
	.prepare = port_prepare,
	.close = port_close,
	.release = port_release,
	.poll = softrnic_wire_port_poll,
	.is_up = port_is_up,
};
