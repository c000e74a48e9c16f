/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Neighbours of a port. The control thread serves the queues: it hears of completions by the event queue of completion vector 0,
 * and, while somebody is asked, looks every few milliseconds, whatever events come or not, since then there are tries to be
 * repeated. Two locks: `setup_lock`, held for commands, of what there is; `lock`, for moments, of what it does. The control
 * thread never waits for the first.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "neigh/neigh.h"
#include "neigh/packet.h"
#include "neigh/queues.h"
#include "neigh/table.h"
#include "object/port.h"
#include "prm/qp.h"
#include "rdmapmd_ah.h"
#include "steering/neigh_rules.h"

/* From a recovery of its queues to the next one, if they break at once again; or if it failed. */
#define RECOVERED_US 50000
#define REFUSED_US   1000000

enum condition {
	CONDITION_NONE, /* nobody has needed it yet */
	CONDITION_UP,
	CONDITION_REFUSED, /* the device does not let us */
	CONDITION_DOWN,
};

struct own {
	uint8_t gid[16];
	uint16_t vlan;
	bool has_group; /* the port lets its group in */
};

struct rnic_neigh {
	const struct rnic_neigh_above *above;
	pthread_mutex_t setup_lock;

	pthread_mutex_t lock; /* of all below; no command is executed with it */
	pthread_cond_t changed;
	_Atomic uint8_t condition; /* enum condition; changes under both locks */
	struct rnic_neigh_table *table;
	struct rnic_neigh_queues queues;
	const struct rnic_eq *eq;
	uint32_t eqn;	      /* that the CQ names */
	uint64_t recovery_us; /* its queues are not recovered before that, by rnic_now_us() */
	uint8_t mac[6];
	uint32_t own_count, own_max;
	struct own own[];
};

static const uint8_t no_gid[16];

static bool
same_gid(const uint8_t a[16], const uint8_t b[16])
{
	return memcmp(a, b, 16) == 0;
}

static bool
is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

static bool
is_up(struct rnic_neigh *neigh)
{
	return atomic_load(&neigh->condition) == CONDITION_UP;
}

/* ---- Frames. Called with the lock held ---- */

/* What there is no room for is lost, as it may be on the wire. */
static void
frame_send(struct rnic_neigh *neigh, uint8_t *frame, uint32_t bytes, uint16_t vlan)
{
	bytes = rnic_neigh_tag(frame, bytes, vlan);
	(void)rnic_neigh_queues_send(&neigh->queues, frame, bytes);
}

static void
send_ask(struct rnic_neigh *neigh, const struct rnic_neigh_ask *ask)
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];
	const uint32_t bytes = rnic_neigh_build_request(frame, neigh->mac, ask->own, ask->target,
							ask->alone ? ask->mac : NULL);

	frame_send(neigh, frame, bytes, ask->vlan);
}

static void
send_announcement(struct rnic_neigh *neigh, const uint8_t gid[16], uint16_t vlan)
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];
	const uint32_t bytes = rnic_neigh_build_announcement(frame, neigh->mac, gid);

	frame_send(neigh, frame, bytes, vlan);
}

static struct own *
own_find(struct rnic_neigh *neigh, const uint8_t gid[16], uint16_t vlan)
{
	uint32_t i;

	for (i = 0; i < neigh->own_count; i++)
		if (neigh->own[i].vlan == vlan && same_gid(neigh->own[i].gid, gid))
			return &neigh->own[i];
	return NULL;
}

static void
send_answer(struct rnic_neigh *neigh, const struct rnic_neigh_message *message,
	    const uint8_t from[6])
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];
	uint8_t nobody[16] = { 0 };
	uint32_t bytes;

	if (rnic_gid_is_ipv4(message->target))
		rnic_gid_set_ipv4(nobody, no_gid);
	bytes = rnic_neigh_build_answer(frame, neigh->mac, message->target,
					message->has_gid ? message->gid : nobody,
					message->has_mac ? message->mac : from);
	frame_send(neigh, frame, bytes, message->vlan);
}

/* Of one received frame, and what came of it: enum rnic_neigh_news. */
struct hearing {
	struct rnic_neigh *neigh;
	unsigned int news;
};

/* An echo that is longer than what is read of a frame has no answer. */
static void
send_echo(struct rnic_neigh *neigh, const uint8_t *frame, uint32_t bytes)
{
	const uint16_t vlan = rnic_neigh_vlan(frame, bytes);
	uint8_t reply[RNIC_NEIGH_READ_BYTES], own[16];

	/* With its tag it has as many bytes as the request. */
	bytes = rnic_neigh_build_echo(reply, neigh->mac, frame, bytes, own);
	if (bytes > 0 && own_find(neigh, own, vlan) != NULL)
		frame_send(neigh, reply, bytes, vlan);
}

static void
frame_hear(void *arg, const uint8_t *frame, uint32_t bytes)
{
	struct hearing *hearing = arg;
	struct rnic_neigh *neigh = hearing->neigh;
	struct rnic_neigh_message message;
	enum rnic_neigh_reason reason;

	/* A promiscuous port sees what is others', and some wires bring back what we have sent. */
	if (((frame[0] & 1) == 0 && memcmp(frame, neigh->mac, 6) != 0) ||
	    memcmp(frame + 6, neigh->mac, 6) == 0)
		return;
	reason = rnic_neigh_parse(frame, bytes, &message);
	if (reason == RNIC_NEIGH_OTHER)
		send_echo(neigh, frame, bytes);
	if (reason != RNIC_NEIGH_GOOD)
		return;
	if (!message.answers && own_find(neigh, message.target, message.vlan) != NULL)
		send_answer(neigh, &message, frame + 6);
	if (message.has_gid && own_find(neigh, message.gid, message.vlan) == NULL)
		hearing->news |= rnic_neigh_table_hear(neigh->table, &message, rnic_now_us());
}

/* Handle all that has come and all that is due. Returns what to tell once the lock is released. */
static unsigned int
neigh_serve(struct rnic_neigh *neigh)
{
	struct hearing hearing = { .neigh = neigh };
	struct rnic_neigh_ask ask;
	unsigned int news;
	bool due;

	if (!is_up(neigh))
		return 0;
	rnic_neigh_queues_poll(&neigh->queues, frame_hear, &hearing);
	do {
		due = rnic_neigh_table_due(neigh->table, rnic_now_us(), &ask, &news);
		hearing.news |= news;
		if (due)
			send_ask(neigh, &ask);
	} while (due);
	if (hearing.news != 0)
		pthread_cond_broadcast(&neigh->changed);
	return hearing.news;
}

/* ---- The control thread ---- */

bool
rnic_neigh_on_completion(struct rnic_dev *dev, uint32_t cqn)
{
	struct rnic_neigh *neigh = dev->neigh;
	unsigned int news = 0;
	bool is_ours;

	if (neigh == NULL || !is_up(neigh))
		return false;
	pthread_mutex_lock(&neigh->lock);
	is_ours = is_up(neigh) && neigh->queues.cq.cqn == cqn;
	if (is_ours) {
		neigh->queues.sequence++;
		news = neigh_serve(neigh);
	}
	pthread_mutex_unlock(&neigh->lock);
	if (news & RNIC_NEIGH_EVENT)
		neigh->above->news(dev);
	return is_ours;
}

static bool
may_recover(const struct rnic_neigh *neigh)
{
	return neigh->queues.broken && rnic_now_us() >= neigh->recovery_us;
}

/* Somebody is asked, the queues wait to be recovered, or their events go to a queue that takes no more. */
static bool
wants_look(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;
	bool wants;

	if (neigh == NULL || !is_up(neigh))
		return false;
	pthread_mutex_lock(&neigh->lock);
	wants = is_up(neigh) && (rnic_neigh_table_busy(neigh->table) || neigh->queues.broken ||
				 neigh->eqn != rnic_eq_number(neigh->eq));
	pthread_mutex_unlock(&neigh->lock);
	return wants;
}

/* Nobody else touches queues that are broken. They stay as long as the lock is held. */
static void
neigh_recover(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;
	bool broken;
	int rc;

	if (pthread_mutex_trylock(&neigh->setup_lock) != 0)
		return;
	pthread_mutex_lock(&neigh->lock);
	broken = is_up(neigh) && may_recover(neigh);
	pthread_mutex_unlock(&neigh->lock);
	if (broken) {
		rc = rnic_neigh_queues_recover(dev, &neigh->queues);
		if (rc != 0)
			RNIC_LOG_REPEATED(
				ERR, dev,
				"neighbours are not resolved, nor answered: their queues "
				"failed, and are not recovered (%s); tried again each second",
				strerror(-rc));
		pthread_mutex_lock(&neigh->lock);
		neigh->recovery_us = rnic_now_us() + (rc == 0 ? RECOVERED_US : REFUSED_US);
		if (rc == 0)
			rnic_neigh_queues_restart(&neigh->queues);
		pthread_mutex_unlock(&neigh->lock);
	}
	pthread_mutex_unlock(&neigh->setup_lock);
}

static void
neigh_look(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;
	unsigned int news;
	bool broken;

	pthread_mutex_lock(&neigh->lock);
	news = neigh_serve(neigh);
	broken = is_up(neigh) && may_recover(neigh);
	pthread_mutex_unlock(&neigh->lock);
	if (news & RNIC_NEIGH_EVENT)
		neigh->above->news(dev);
	if (broken)
		neigh_recover(dev);
}

static const struct rnic_control_source source = {
	.is_deaf = wants_look,
	.look = neigh_look,
};

void
rnic_neigh_lost_link(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;
	unsigned int news = 0;

	if (neigh == NULL)
		return;
	pthread_mutex_lock(&neigh->lock);
	if (is_up(neigh))
		news = rnic_neigh_table_fail(neigh->table, rnic_now_us());
	pthread_cond_broadcast(&neigh->changed);
	pthread_mutex_unlock(&neigh->lock);
	if (news & RNIC_NEIGH_EVENT)
		neigh->above->news(dev);
}

/* ---- Life. Called with the setup lock held ---- */

static int
queues_start(struct rnic_dev *dev, struct rnic_neigh *neigh)
{
	int rc;

	neigh->eq = neigh->above->eq(dev);
	if (neigh->eq == NULL)
		return -ENOTSUP;
	neigh->eqn = rnic_eq_number(neigh->eq);
	rc = rnic_neigh_queues_create(dev, neigh->eq, &neigh->queues);
	if (rc != 0)
		return rc;
	rc = rnic_neigh_rules_up(dev, neigh->queues.tir);
	if (rc != 0)
		rnic_neigh_queues_destroy(dev, &neigh->queues);
	return rc;
}

/* The group that an address is asked for in. A port that lets none in says so, and goes on without. */
static void
group_join(struct rnic_dev *dev, struct own *own)
{
	uint8_t mac[6];

	if (rnic_gid_is_ipv4(own->gid) || own->has_group)
		return;
	rnic_neigh_solicited_mac(own->gid, mac);
	own->has_group = rnic_port_add_mac(dev, mac) == 0;
}

static void
group_leave(struct rnic_dev *dev, struct own *own)
{
	uint8_t mac[6];

	if (!own->has_group)
		return;
	rnic_neigh_solicited_mac(own->gid, mac);
	(void)rnic_port_del_mac(dev, mac);
	own->has_group = false;
}

static void
set_condition(struct rnic_neigh *neigh, enum condition condition)
{
	pthread_mutex_lock(&neigh->lock);
	atomic_store(&neigh->condition, condition);
	pthread_cond_broadcast(&neigh->changed);
	pthread_mutex_unlock(&neigh->lock);
}

static void
neigh_start(struct rnic_dev *dev, struct rnic_neigh *neigh)
{
	uint32_t i;
	int rc = 0;

	if (atomic_load(&neigh->condition) != CONDITION_NONE)
		return;
	if (neigh->table == NULL)
		neigh->table = rnic_neigh_table_new();
	if (neigh->table == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = queues_start(dev, neigh);
	if (rc != 0) {
		if (rc != -ENOTSUP)
			RNIC_LOG(WARNING, dev,
				 "neighbours are not resolved: cannot create queues for them (%s). "
				 "Give paths the peer's MAC",
				 strerror(-rc));
		set_condition(neigh, CONDITION_REFUSED);
		return;
	}
	for (i = 0; i < neigh->own_count; i++)
		group_join(dev, &neigh->own[i]);
	rnic_control_add(dev, RNIC_CONTROL_NEIGH, &source);
	set_condition(neigh, CONDITION_UP);
	pthread_mutex_lock(&neigh->lock);
	for (i = 0; i < neigh->own_count; i++)
		send_announcement(neigh, neigh->own[i].gid, neigh->own[i].vlan);
	pthread_mutex_unlock(&neigh->lock);
}

int
rnic_neigh_setup(struct rnic_dev *dev, uint32_t addresses, const struct rnic_neigh_above *above)
{
	struct rnic_neigh *neigh = calloc(1, sizeof(*neigh) + addresses * sizeof(neigh->own[0]));
	pthread_condattr_t attr;

	if (neigh == NULL)
		return -ENOMEM;
	neigh->above = above;
	neigh->own_max = addresses;
	memcpy(neigh->mac, dev->mac, sizeof(neigh->mac));
	pthread_mutex_init(&neigh->setup_lock, NULL);
	pthread_mutex_init(&neigh->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&neigh->changed, &attr);
	pthread_condattr_destroy(&attr);
	dev->neigh = neigh;
	return 0;
}

void
rnic_neigh_down(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;
	bool was_up;
	uint32_t i;

	if (neigh == NULL)
		return;
	pthread_mutex_lock(&neigh->setup_lock);
	was_up = is_up(neigh);
	set_condition(neigh, CONDITION_DOWN);
	if (was_up) {
		(void)rnic_neigh_rules_down(dev);
		for (i = 0; i < neigh->own_count; i++)
			group_leave(dev, &neigh->own[i]);
		rnic_neigh_queues_destroy(dev, &neigh->queues);
	}
	pthread_mutex_unlock(&neigh->setup_lock);
}

void
rnic_neigh_free(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;

	if (neigh == NULL)
		return;
	rnic_control_remove(dev, RNIC_CONTROL_NEIGH);
	dev->neigh = NULL;
	rnic_neigh_table_free(neigh->table);
	pthread_cond_destroy(&neigh->changed);
	pthread_mutex_destroy(&neigh->lock);
	pthread_mutex_destroy(&neigh->setup_lock);
	free(neigh);
}

/* ---- Own addresses ---- */

static struct own *
own_append(struct rnic_neigh *neigh, const uint8_t gid[16], uint16_t vlan)
{
	struct own *own = NULL;

	pthread_mutex_lock(&neigh->lock);
	if (neigh->own_count < neigh->own_max) {
		own = &neigh->own[neigh->own_count++];
		memset(own, 0, sizeof(*own));
		memcpy(own->gid, gid, sizeof(own->gid));
		own->vlan = vlan;
	}
	pthread_mutex_unlock(&neigh->lock);
	return own;
}

void
rnic_neigh_add(struct rnic_dev *dev, const uint8_t gid[16], uint16_t vlan, bool lazy)
{
	struct rnic_neigh *neigh = dev->neigh;
	struct own *own;

	if (neigh == NULL)
		return;
	pthread_mutex_lock(&neigh->setup_lock);
	own = own_append(neigh, gid, vlan);
	if (own != NULL && is_up(neigh)) {
		group_join(dev, own);
		pthread_mutex_lock(&neigh->lock);
		send_announcement(neigh, gid, vlan);
		pthread_mutex_unlock(&neigh->lock);
	} else if (!lazy) {
		neigh_start(dev, neigh);
	}
	pthread_mutex_unlock(&neigh->setup_lock);
}

void
rnic_neigh_del(struct rnic_dev *dev, const uint8_t gid[16], uint16_t vlan)
{
	struct rnic_neigh *neigh = dev->neigh;
	struct own *own;

	if (neigh == NULL)
		return;
	pthread_mutex_lock(&neigh->setup_lock);
	own = own_find(neigh, gid, vlan);
	if (own != NULL) {
		group_leave(dev, own);
		pthread_mutex_lock(&neigh->lock);
		*own = neigh->own[--neigh->own_count];
		pthread_mutex_unlock(&neigh->lock);
	}
	pthread_mutex_unlock(&neigh->setup_lock);
}

/* The link-local address is another one then: who changes it says so by add and del. */
void
rnic_neigh_follow_mac(struct rnic_dev *dev)
{
	struct rnic_neigh *neigh = dev->neigh;
	uint32_t i;

	if (neigh == NULL)
		return;
	pthread_mutex_lock(&neigh->lock);
	memcpy(neigh->mac, dev->mac, sizeof(neigh->mac));
	for (i = 0; i < neigh->own_count && is_up(neigh); i++)
		send_announcement(neigh, neigh->own[i].gid, neigh->own[i].vlan);
	pthread_mutex_unlock(&neigh->lock);
}

/* ---- Look-ups ---- */

static bool
group_mac(const uint8_t gid[16], uint8_t mac[6])
{
	union rdmapmd_gid group;

	memcpy(group.raw, gid, sizeof(group.raw));
	if (!rdmapmd_gid_is_multicast(&group))
		return false;
	rdmapmd_gid_multicast_mac(&group, mac);
	return true;
}

/* An address to resolve, and our address that asks for it. */
struct wanted {
	const uint8_t *gid, *own; /* own: zeros: any of the port's */
	uint16_t vlan;
};

/* Of a family without a gateway all are on the link; so are all in a VLAN, of which the devargs know nothing. */
static const uint8_t *
next_hop(const struct rnic_devargs *args, const uint8_t gid[16], uint16_t vlan)
{
	const bool ipv4 = rnic_gid_is_ipv4(gid);
	unsigned int i;

	if (!args->has_gw[ipv4] || vlan != 0 || is_link_local(gid))
		return gid;
	for (i = 0; i < args->ip_count; i++)
		if (rnic_gid_is_ipv4(args->ip[i]) == ipv4 &&
		    rnic_gid_shares(args->ip[i], gid, args->ip_prefix[i]))
			return gid;
	return args->gw[ipv4];
}

/* Called with the lock held. Who asks: the address that a path begins with; else the first one of that family in that VLAN. */
static void
asking_address(const struct rnic_neigh *neigh, const struct wanted *wanted, uint8_t from[16])
{
	const bool ipv4 = rnic_gid_is_ipv4(wanted->gid);
	uint32_t i;

	memset(from, 0, 16);
	if (!same_gid(wanted->own, no_gid) && rnic_gid_is_ipv4(wanted->own) == ipv4) {
		memcpy(from, wanted->own, 16);
		return;
	}
	for (i = 0; i < neigh->own_count; i++)
		if (neigh->own[i].vlan == wanted->vlan &&
		    rnic_gid_is_ipv4(neigh->own[i].gid) == ipv4) {
			memcpy(from, neigh->own[i].gid, 16);
			return;
		}
}

/* Called with the lock held. */
static int
neigh_find(struct rnic_neigh *neigh, const struct wanted *wanted, bool tell, uint8_t mac[6],
	   bool *asks)
{
	struct rnic_neigh_ask ask;
	uint8_t from[16];
	int rc;

	*asks = false;
	if (!is_up(neigh))
		return -EHOSTUNREACH;
	asking_address(neigh, wanted, from);
	rc = rnic_neigh_table_find(neigh->table, wanted->gid, wanted->vlan, from, rnic_now_us(),
				   tell, mac, &ask, asks);
	if (*asks)
		send_ask(neigh, &ask);
	return rc;
}

/* Called with the lock held. */
static int
wait_for(struct rnic_dev *dev, const struct wanted *wanted, uint64_t end_us, uint8_t mac[6])
{
	struct rnic_neigh *neigh = dev->neigh;
	const struct timespec end = { .tv_sec = (time_t)(end_us / 1000000),
				      .tv_nsec = (long)(end_us % 1000000) * 1000 };
	bool asks;
	int rc, waited = 0;

	do {
		rc = atomic_load(&dev->dead) ? -EIO : neigh_find(neigh, wanted, false, mac, &asks);
		if (rc != -EINPROGRESS)
			return rc;
		if (waited == 0)
			waited = pthread_cond_timedwait(&neigh->changed, &neigh->lock, &end);
		else
			return -ETIMEDOUT;
	} while (true);
}

static bool
has_link(struct rnic_dev *dev)
{
	uint32_t speed;
	bool up;

	return rnic_port_link(dev, &up, &speed) == 0 && up;
}

int
rnic_neigh_resolve(struct rnic_dev *dev, const uint8_t gid[16], const uint8_t own[16],
		   uint16_t vlan, uint32_t timeout_ms, uint8_t mac[6])
{
	const uint32_t patience = RTE_MIN(timeout_ms, RNIC_NEIGH_PATIENCE_MS);
	const uint64_t end_us = rnic_now_us() + (uint64_t)patience * 1000;
	struct rnic_neigh *neigh = dev->neigh;
	const struct wanted wanted = { next_hop(&dev->args, gid, vlan), own, vlan };
	bool asks;
	int rc;

	if (group_mac(gid, mac))
		return 0;
	if (neigh == NULL)
		return -EHOSTUNREACH;
	pthread_mutex_lock(&neigh->setup_lock);
	neigh_start(dev, neigh);
	pthread_mutex_unlock(&neigh->setup_lock);
	pthread_mutex_lock(&neigh->lock);
	rc = neigh_find(neigh, &wanted, timeout_ms == 0, mac, &asks);
	pthread_mutex_unlock(&neigh->lock);
	/* From now on it looks whether a try is due. */
	if (asks)
		rnic_control_wake(dev);
	if (rc != -EINPROGRESS)
		return rc;
	if (!has_link(dev)) {
		rnic_neigh_lost_link(dev);
		return atomic_load(&dev->dead) ? -EIO : -EHOSTUNREACH;
	}
	if (timeout_ms == 0)
		return rc;
	pthread_mutex_lock(&neigh->lock);
	rc = wait_for(dev, &wanted, end_us, mac);
	pthread_mutex_unlock(&neigh->lock);
	/* As long as anybody would. */
	return rc == -ETIMEDOUT && timeout_ms >= RNIC_NEIGH_PATIENCE_MS ? -EHOSTUNREACH : rc;
}
