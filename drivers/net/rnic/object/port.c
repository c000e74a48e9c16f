/* SPDX-License-Identifier: BSD-3-Clause */

/* The port and its vport: addresses, MTU, state and speed (PRM: "NIC Vport Context"). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "base/log.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/mpfs.h"
#include "object/port.h"
#include "object/protocol.h"
#include "object/reg.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/list.h"
#include "prm/reg.h"
#include "prm/vport.h"
#include "prm/wqe.h"

#define PORT 1

/* What the MTU register counts beyond the L3 MTU: RNIC_FRAME_OVERHEAD (Ethernet header, one VLAN tag) and the FCS. */
#define FRAME_OVERHEAD (14 + 4 + 4)
#define FRAME_MIN      (64 + FRAME_OVERHEAD) /* less is no MTU */
#define FRAME_MAX      10000		     /* of a port that will not say: what cards take */
#define MTU_UNKNOWN    UINT16_C(1500)	     /* which each port has, and Linux takes it for */

/* ---- What a function of few rights is refused ---- */

enum port_right {
	RIGHT_UNICAST,
	RIGHT_MULTICAST,
	RIGHT_GROUPS,
	RIGHT_PROMISCUOUS,
	RIGHT_MAX_MTU,
	RIGHT_MTU,
	RIGHT_VPORT_MTU,
	RIGHT_STATE,
	RIGHT_SPEED,
};

static const char *const rights[] = {
	[RIGHT_UNICAST] = "the vport's list of unicast addresses: frames to others than its "
			  "permanent one may not come",
	[RIGHT_MULTICAST] = "the vport's list of multicast addresses: such frames may not come",
	[RIGHT_GROUPS] =
		"more multicast addresses in the vport's list: groups are joined without them, and a "
		"switch between functions that goes by the list may not deliver their datagrams",
	[RIGHT_PROMISCUOUS] =
		"to take all frames, or all multicast: the vport goes on as it is; of "
		"a VF say `ip link set PF vf N trust on`",
	[RIGHT_MAX_MTU] =
		"to say how large an MTU the port can have: it is taken to be the vport's",
	[RIGHT_MTU] = "an MTU for the port, which keeps its own",
	[RIGHT_VPORT_MTU] = "an MTU for the vport, which keeps its own",
	[RIGHT_STATE] = "to change the port's state, which stays as it is",
	[RIGHT_SPEED] = "to say how fast the link is: its speed is unknown",
};

/*
 * Of a command that was tried: what restricted VFs, hosts of a DPU and functions of one card in several hosts are refused, and
 * go on without, as Linux's drivers do. Said once of each.
 */
static int
port_tolerate(struct rnic_dev *dev, enum port_right right, int rc)
{
	if (rc == 0)
		return 0;
	if (!rnic_cmd_refused(rc)) {
		RNIC_LOG(ERR, dev, "asked for %s: %s", rights[right], strerror(-rc));
		return rc;
	}
	if (!(atomic_fetch_or(&dev->port_refused, 1u << right) & 1u << right))
		RNIC_LOG(WARNING, dev, "the device refuses (%s) %s", strerror(-rc), rights[right]);
	return 0;
}

/* ---- MTU, state, speed ---- */

static int
query_pmtu(struct rnic_dev *dev, struct rnic_pmtu_reg *pmtu)
{
	*pmtu = (struct rnic_pmtu_reg){ 0 };
	rnic_pmtu_reg_set(pmtu, RNIC_PMTU_REG_LOCAL_PORT, PORT);
	return rnic_access_reg(dev, rnic_cmd_try, RNIC_REG_PMTU, false, pmtu, sizeof(*pmtu));
}

static int
learn_max_mtu(struct rnic_dev *dev, uint64_t vport_bytes)
{
	struct rnic_pmtu_reg pmtu;
	uint64_t bytes;
	int rc = port_tolerate(dev, RIGHT_MAX_MTU, query_pmtu(dev, &pmtu));

	if (rc != 0)
		return rc;
	bytes = rnic_pmtu_reg_get(&pmtu, RNIC_PMTU_REG_MAX_MTU);
	if (bytes < FRAME_MIN)
		bytes = vport_bytes >= FRAME_MIN ? vport_bytes : FRAME_MAX;
	dev->max_mtu = (uint16_t)(bytes - FRAME_OVERHEAD);
	dev->mtu_found = vport_bytes >= FRAME_MIN ? (uint16_t)(vport_bytes - FRAME_OVERHEAD)
						  : RTE_MIN(dev->max_mtu, MTU_UNKNOWN);
	return 0;
}

static int
set_admin(struct rnic_dev *dev, bool up, rnic_cmd_fn *command)
{
	const enum rnic_port_status status = up ? RNIC_PORT_UP : RNIC_PORT_DOWN;
	struct rnic_paos_reg paos = { 0 };
	int rc;

	rnic_paos_reg_set(&paos, RNIC_PAOS_REG_LOCAL_PORT, PORT);
	rnic_paos_reg_set(&paos, RNIC_PAOS_REG_ADMIN_STATUS, status);
	rnic_paos_reg_set(&paos, RNIC_PAOS_REG_ASE, 1);
	rc = rnic_access_reg(dev, command, RNIC_REG_PAOS, true, &paos, sizeof(paos));
	if (rc == 0)
		atomic_store(&dev->port_status, (unsigned int)status);
	return rc;
}

/* What the port was told to be; 0 if the device does not say. */
static uint64_t
query_status(struct rnic_dev *dev)
{
	struct rnic_paos_reg paos = { 0 };

	rnic_paos_reg_set(&paos, RNIC_PAOS_REG_LOCAL_PORT, PORT);
	return rnic_access_reg(dev, rnic_cmd_try, RNIC_REG_PAOS, false, &paos, sizeof(paos)) == 0
		       ? rnic_paos_reg_get(&paos, RNIC_PAOS_REG_ADMIN_STATUS)
		       : 0;
}

/* As the driver before or the firmware has left it. */
static void
learn_status(struct rnic_dev *dev)
{
	const uint64_t status = query_status(dev);

	/* There are others, which are not ours to set again. */
	if (status == RNIC_PORT_UP || status == RNIC_PORT_DOWN)
		dev->port_status_found = (uint8_t)status;
}

int
rnic_port_set_admin(struct rnic_dev *dev, bool up)
{
	return set_admin(dev, up, rnic_cmd_exec);
}

int
rnic_port_use(struct rnic_dev *dev)
{
	return port_tolerate(dev, RIGHT_STATE, set_admin(dev, true, rnic_cmd_try));
}

static int
query_ptys(struct rnic_dev *dev, struct rnic_ptys_reg *ptys)
{
	*ptys = (struct rnic_ptys_reg){ 0 };
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_LOCAL_PORT, PORT);
	rnic_ptys_reg_set(ptys, RNIC_PTYS_REG_PROTO_MASK, RNIC_PTYS_PROTO_ETH);
	return port_tolerate(
		dev, RIGHT_SPEED,
		rnic_access_reg(dev, rnic_cmd_try, RNIC_REG_PTYS, false, ptys, sizeof(*ptys)));
}

static int
query_vport_up(struct rnic_dev *dev, bool *up)
{
	struct rnic_vport_in in = { 0 };
	struct rnic_query_vport_state_out out;
	int rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_VPORT_STATE, 0, &in, sizeof(in), &out,
			       sizeof(out));

	if (rc == 0)
		*up = rnic_query_vport_state_out_get(&out, RNIC_QUERY_VPORT_STATE_OUT_STATE) ==
		      RNIC_VPORT_STATE_UP;
	return rc;
}

int
rnic_port_link(struct rnic_dev *dev, bool *up, uint32_t *speed)
{
	struct rnic_ptys_reg ptys;
	int rc = query_vport_up(dev, up);

	if (rc != 0)
		return rc;
	*speed = 0;
	if (!*up)
		return 0;
	rc = query_ptys(dev, &ptys);
	if (rc == 0)
		*speed = rnic_protocol_now(&ptys).speed;
	return rc;
}

int
rnic_port_speeds(struct rnic_dev *dev, uint32_t speeds[RNIC_PROTOCOLS])
{
	struct rnic_ptys_reg ptys;
	int rc = query_ptys(dev, &ptys);

	if (rc != 0)
		ptys = (struct rnic_ptys_reg){ 0 };
	rnic_protocol_speeds(&ptys, speeds);
	return rc;
}

/* ---- The vport's context ---- */

static int
query_context(struct rnic_dev *dev, struct rnic_nic_vport_context *context)
{
	struct rnic_query_nic_vport_context_in in = { 0 };
	struct rnic_query_nic_vport_context_out out;
	int rc;

	rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_NIC_VPORT_CONTEXT, 0, &in, sizeof(in), &out,
			   sizeof(out));
	if (rc == 0)
		*context = *rnic_query_nic_vport_context_out_nic_vport_context(&out);
	return rc;
}

static int
modify_context(struct rnic_dev *dev, struct rnic_modify_nic_vport_context_in *in, uint32_t bytes,
	       uint32_t select, rnic_cmd_fn *command)
{
	struct rnic_cmd_out out;

	rnic_modify_nic_vport_context_in_set(in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     select);
	return command(dev, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0, in, bytes, &out, sizeof(out));
}

/* ---- Its lists of addresses ---- */

struct rnic_port_mac {
	uint8_t mac[6];
	uint32_t users;	 /* who get no frames without it */
	uint32_t groups; /* memberships, which have room that users leave */
};

static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static bool
is_group(const uint8_t mac[6])
{
	return (mac[0] & 1) != 0;
}

/* No list has it: firmware may refuse the whole of such a list, and no frame is sent there. */
static bool
is_zero(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return memcmp(mac, zero, sizeof(zero)) == 0;
}

static void
set_address(struct rnic_mac_entry *entry, const uint8_t mac[6])
{
	rnic_mac_entry_set(entry, RNIC_MAC_ENTRY_ADDRESS_47_32, (uint32_t)mac[0] << 8 | mac[1]);
	rnic_mac_entry_set(entry, RNIC_MAC_ENTRY_ADDRESS_31_0,
			   (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 |
				   mac[5]);
}

struct mac_list {
	struct rnic_mac_entry *entries;
	uint32_t count;
};

/* Called with the lock held: to a list of that type the addresses that have users, or those that groups alone have. */
static void
list_addresses(const struct rnic_dev *dev, enum rnic_allowed_list_type type, bool used,
	       const uint8_t first[6], struct mac_list *list)
{
	uint32_t i;

	for (i = 0; i < dev->mac_count; i++)
		if (is_group(dev->macs[i].mac) == (type == RNIC_ALLOWED_LIST_MC) &&
		    (dev->macs[i].users > 0) == used &&
		    memcmp(dev->macs[i].mac, first, sizeof(dev->macs[i].mac)) != 0)
			set_address(&list->entries[list->count++], dev->macs[i].mac);
}

/*
 * Called with the lock held. The list of that type: `first`, which is the port's own or broadcast, then those that have users,
 * then those of groups, as far as there is room: Linux's netdev, too, lists as many as fit. Returns -ENOSPC if users do not fit.
 */
static int
fill_list(struct rnic_dev *dev, enum rnic_allowed_list_type type, const uint8_t first[6],
	  struct mac_list *list)
{
	const uint64_t max = UINT64_C(1) << rnic_general_cap(
				     dev, type == RNIC_ALLOWED_LIST_MC
						  ? RNIC_GENERAL_CAP_LOG_MAX_CURRENT_MC_LIST
						  : RNIC_GENERAL_CAP_LOG_MAX_CURRENT_UC_LIST);

	set_address(&list->entries[list->count++], first);
	list_addresses(dev, type, true, first, list);
	if (list->count > max)
		return -ENOSPC;
	list_addresses(dev, type, false, first, list);
	if (list->count <= max)
		return 0;
	list->count = (uint32_t)max;
	return port_tolerate(dev, RIGHT_GROUPS, -ENOSPC);
}

/*
 * Called with the lock held. No address is in a list twice. What the device says to it is said by nobody yet. The switch between
 * functions has what the list has, also where a vport keeps its own: not where one that is full is an error.
 */
static int
tell_addresses(struct rnic_dev *dev, enum rnic_allowed_list_type type, const uint8_t first[6],
	       bool full_is_error)
{
	struct rnic_modify_nic_vport_context_in *in =
		calloc(1, sizeof(*in) + (dev->mac_count + 1) * sizeof(struct rnic_mac_entry));
	struct mac_list list = { .entries = (struct rnic_mac_entry *)(in + 1) };
	struct rnic_nic_vport_context *context;
	int rc;

	if (in == NULL)
		return -ENOMEM;
	rc = fill_list(dev, type, first, &list);
	if (rc != 0) {
		free(in);
		return rc;
	}
	context = rnic_modify_nic_vport_context_in_nic_vport_context(in);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE, type);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE, list.count);
	rc = modify_context(dev, in, (uint32_t)(sizeof(*in) + list.count * sizeof(list.entries[0])),
			    RNIC_NIC_VPORT_ADDRESSES_LIST, rnic_cmd_try);
	if (type == RNIC_ALLOWED_LIST_UC && !(rc == -ENOSPC && full_is_error))
		rnic_mpfs_follow(dev, list.entries, list.count);
	free(in);
	return rc;
}

/* Called with the lock held: as above. A list that is full is an error, one that the function may not change is none. */
static int
set_addresses(struct rnic_dev *dev, enum rnic_allowed_list_type type, const uint8_t first[6])
{
	int rc = tell_addresses(dev, type, first, true);

	if (rc == -ENOSPC) {
		RNIC_LOG(ERR, dev, "the vport has no room for so many addresses (%s, %u added)",
			 type == RNIC_ALLOWED_LIST_MC ? "multicast" : "unicast", dev->mac_count);
		return rc;
	}
	return port_tolerate(dev, type == RNIC_ALLOWED_LIST_MC ? RIGHT_MULTICAST : RIGHT_UNICAST,
			     rc);
}

/* Called with the lock held: the list that an address of queue pairs is in. */
static int
set_addresses_of(struct rnic_dev *dev, const uint8_t mac[6])
{
	return is_group(mac) ? set_addresses(dev, RNIC_ALLOWED_LIST_MC, broadcast)
			     : set_addresses(dev, RNIC_ALLOWED_LIST_UC, dev->mac);
}

int
rnic_port_set_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	int rc;

	if (is_zero(mac))
		return -EINVAL;
	pthread_mutex_lock(&dev->port_lock);
	rc = set_addresses(dev, RNIC_ALLOWED_LIST_UC, mac);
	if (rc == 0)
		memmove(dev->mac, mac, sizeof(dev->mac));
	pthread_mutex_unlock(&dev->port_lock);
	return rc;
}

void
rnic_port_on_mac(struct rnic_dev *dev, int (*follow)(struct rnic_dev *dev))
{
	dev->follow_mac = follow;
}

int
rnic_port_follow_mac(struct rnic_dev *dev)
{
	return dev->follow_mac != NULL ? dev->follow_mac(dev) : 0;
}

/* Called with the lock held. */
static struct rnic_port_mac *
find_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	uint32_t i;

	for (i = 0; i < dev->mac_count; i++)
		if (memcmp(dev->macs[i].mac, mac, sizeof(dev->macs[i].mac)) == 0)
			return &dev->macs[i];
	return NULL;
}

/* Called with the lock held: as it is, or with nobody yet; NULL: no memory. */
static struct rnic_port_mac *
get_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	struct rnic_port_mac *known = find_mac(dev, mac), *macs;

	if (known != NULL)
		return known;
	macs = realloc(dev->macs, (dev->mac_count + 1) * sizeof(dev->macs[0]));
	if (macs == NULL)
		return NULL;
	dev->macs = macs;
	known = &macs[dev->mac_count++];
	*known = (struct rnic_port_mac){ 0 };
	memcpy(known->mac, mac, sizeof(known->mac));
	return known;
}

static uint32_t *
count_of(struct rnic_port_mac *known, bool group)
{
	return group ? &known->groups : &known->users;
}

/* Called with the lock held. Returns whether it was the last one. */
static bool
put_mac(struct rnic_dev *dev, struct rnic_port_mac *known, bool group)
{
	const bool last = --*count_of(known, group) == 0;

	if (known->users == 0 && known->groups == 0)
		*known = dev->macs[--dev->mac_count];
	return last;
}

static int
add_mac(struct rnic_dev *dev, const uint8_t mac[6], bool group)
{
	struct rnic_port_mac *known;
	int rc = 0;

	if (is_zero(mac))
		return -EINVAL;
	pthread_mutex_lock(&dev->port_lock);
	known = get_mac(dev, mac);
	if (known == NULL)
		rc = -ENOMEM;
	else if (++*count_of(known, group) == 1)
		rc = set_addresses_of(dev, mac);
	if (known != NULL && rc != 0)
		put_mac(dev, known, group);
	pthread_mutex_unlock(&dev->port_lock);
	return rc;
}

static int
del_mac(struct rnic_dev *dev, const uint8_t mac[6], bool group)
{
	struct rnic_port_mac *known;
	int rc = 0;

	pthread_mutex_lock(&dev->port_lock);
	known = find_mac(dev, mac);
	if (known != NULL && put_mac(dev, known, group))
		rc = set_addresses_of(dev, mac);
	pthread_mutex_unlock(&dev->port_lock);
	return rc;
}

int
rnic_port_add_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	return add_mac(dev, mac, false);
}

int
rnic_port_del_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	return del_mac(dev, mac, false);
}

int
rnic_port_add_group(struct rnic_dev *dev, const uint8_t mac[6])
{
	return add_mac(dev, mac, true);
}

int
rnic_port_del_group(struct rnic_dev *dev, const uint8_t mac[6])
{
	return del_mac(dev, mac, true);
}

uint32_t
rnic_port_macs_max(struct rnic_dev *dev)
{
	const uint64_t log = rnic_general_cap(dev, RNIC_GENERAL_CAP_LOG_MAX_CURRENT_UC_LIST);

	return UINT32_C(1) << RTE_MIN(log, UINT64_C(31));
}

/* ---- The rest of it ---- */

int
rnic_port_set_promiscuous(struct rnic_dev *dev, bool on, bool allmulticast)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };
	struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(&in);
	int rc;

	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_UC, on);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_MC, on || allmulticast);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_ALL, on);
	rc = modify_context(dev, &in, sizeof(in), RNIC_NIC_VPORT_PROMISC, rnic_cmd_try);
	/* Each start says what nobody has asked for: who may not change it has it off. */
	if (!on && !allmulticast && rnic_cmd_refused(rc))
		return 0;
	return port_tolerate(dev, RIGHT_PROMISCUOUS, rc);
}

static int
set_vport_mtu(struct rnic_dev *dev, uint16_t mtu)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };

	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_MTU, (uint64_t)mtu + FRAME_OVERHEAD);
	return port_tolerate(
		dev, RIGHT_VPORT_MTU,
		modify_context(dev, &in, sizeof(in), RNIC_NIC_VPORT_MTU, rnic_cmd_try));
}

static int
check_mtu(struct rnic_dev *dev, uint16_t mtu)
{
	if (mtu <= dev->max_mtu)
		return 0;
	RNIC_LOG(ERR, dev, "MTU %u: the port takes at most %u", mtu, dev->max_mtu);
	return -EINVAL;
}

/* The port's limit; the vport has one of its own, which counts the same bytes. */
static int
set_pmtu(struct rnic_dev *dev, uint16_t mtu)
{
	struct rnic_pmtu_reg pmtu = { 0 };

	rnic_pmtu_reg_set(&pmtu, RNIC_PMTU_REG_LOCAL_PORT, PORT);
	rnic_pmtu_reg_set(&pmtu, RNIC_PMTU_REG_ADMIN_MTU, (uint32_t)mtu + FRAME_OVERHEAD);
	return rnic_access_reg(dev, rnic_cmd_try, RNIC_REG_PMTU, true, &pmtu, sizeof(pmtu));
}

/* A function that may not change its MTU may have one that is large enough. `has`: what it is, or `mtu` where nothing tells. */
static int
try_mtu(struct rnic_dev *dev, uint16_t mtu, uint16_t *has)
{
	uint16_t now;
	int rc = check_mtu(dev, mtu);

	*has = mtu;
	if (rc == 0)
		rc = port_tolerate(dev, RIGHT_MTU, set_pmtu(dev, mtu));
	if (rc == 0)
		rc = set_vport_mtu(dev, mtu);
	if (rc == 0 &&
	    atomic_load(&dev->port_refused) & (1u << RIGHT_MTU | 1u << RIGHT_VPORT_MTU) &&
	    rnic_port_mtu(dev, &now) == 0)
		*has = now;
	return rc;
}

int
rnic_port_set_mtu(struct rnic_dev *dev, uint16_t mtu)
{
	uint16_t has;
	int rc = try_mtu(dev, mtu, &has);

	if (rc != 0 || has >= mtu)
		return rc;
	RNIC_LOG(ERR, dev, "MTU %u: the port has %u, which this function may not change", mtu, has);
	return -EPERM;
}

int
rnic_port_request_mtu(struct rnic_dev *dev, uint16_t mtu)
{
	uint16_t has;
	int rc = try_mtu(dev, mtu, &has);

	if (rc == 0 && has < mtu)
		RNIC_LOG(WARNING, dev,
			 "an MTU of %u is asked for, and the port has %u: longer "
			 "frames get lost",
			 mtu, has);
	return rc;
}

/* A port that does not say has what the function had before we came. */
static int
port_mtu(struct rnic_dev *dev, uint16_t *mtu)
{
	struct rnic_pmtu_reg pmtu;
	int rc = query_pmtu(dev, &pmtu);
	uint64_t bytes = rc == 0 ? rnic_pmtu_reg_get(&pmtu, RNIC_PMTU_REG_OPER_MTU) : 0;

	*mtu = bytes >= FRAME_MIN ? (uint16_t)(bytes - FRAME_OVERHEAD) : dev->mtu_found;
	return rnic_cmd_refused(rc) ? 0 : rc;
}

/*
 * The vport's is what holds for this function, if it says one; the port's else. A port that keeps its own has the last word:
 * the vport may have taken what the port has not.
 */
static int
effective_mtu(struct rnic_dev *dev, const struct rnic_nic_vport_context *context, uint16_t *mtu)
{
	const uint64_t bytes = rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_MTU);
	uint16_t of_port;
	int rc;

	*mtu = (uint16_t)(bytes - RTE_MIN(bytes, (uint64_t)FRAME_OVERHEAD));
	if (bytes != 0 && !(atomic_load(&dev->port_refused) & 1u << RIGHT_MTU))
		return 0;
	rc = port_mtu(dev, &of_port);
	if (bytes == 0 || of_port < *mtu)
		*mtu = of_port;
	return rc;
}

int
rnic_port_mtu(struct rnic_dev *dev, uint16_t *mtu)
{
	struct rnic_nic_vport_context context;
	int rc = query_context(dev, &context);

	return rc == 0 ? effective_mtu(dev, &context, mtu) : rc;
}

int
rnic_port_query(struct rnic_dev *dev, struct rnic_port_info *info)
{
	struct rnic_nic_vport_context context;
	struct rnic_ptys_reg ptys;
	int rc = query_vport_up(dev, &info->up);

	info->protocol = (struct rnic_protocol){ 0 };
	if (rc == 0 && info->up) {
		rc = query_ptys(dev, &ptys);
		info->protocol = rnic_protocol_now(&ptys);
	}
	info->off = rc == 0 && !info->up && query_status(dev) == RNIC_PORT_DOWN;
	if (rc == 0)
		rc = query_context(dev, &context);
	if (rc != 0)
		return rc;
	info->qkey_violations = (uint16_t)rnic_nic_vport_context_get(
		&context, RNIC_NIC_VPORT_CONTEXT_QKEY_VIOLATION_COUNTER);
	return effective_mtu(dev, &context, &info->mtu);
}

int
rnic_port_set_roce(struct rnic_dev *dev, bool on)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };

	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_ROCE_EN, on);
	return modify_context(dev, &in, sizeof(in), RNIC_NIC_VPORT_ROCE_EN, rnic_cmd_try);
}

/*
 * The permanent address. A VF has none until the host's administrator gives it one: then it is made up, as Linux's drivers do,
 * so that no two functions share addresses, their GIDs among them.
 */
static void
learn_mac(struct rnic_dev *dev, const struct rnic_nic_vport_context *context)
{
	const uint64_t mac =
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_47_32)
			<< 32 |
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PERMANENT_ADDRESS_31_0);
	unsigned int i;

	for (i = 0; i < sizeof(dev->mac); i++)
		dev->mac[i] = (uint8_t)(mac >> (40 - 8 * i));
	if (!is_zero(dev->mac) && !is_group(dev->mac))
		return;
	rte_eth_random_addr(dev->mac);
	RNIC_LOG(WARNING, dev,
		 "the function has no MAC address of its own: it has %02x:%02x:%02x:%02x:%02x:%02x "
		 "until it is closed; of a VF say `ip link set PF vf N mac ADDRESS` before",
		 dev->mac[0], dev->mac[1], dev->mac[2], dev->mac[3], dev->mac[4], dev->mac[5]);
}

/* A VF may have no node GUID either: an EUI-64 of the address is what PFs' drivers give to theirs. */
static void
learn_guids(struct rnic_dev *dev, const struct rnic_nic_vport_context *context)
{
	const uint8_t *mac = dev->mac;

	dev->node_guid = rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_NODE_GUID);
	dev->system_image_guid =
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_SYSTEM_IMAGE_GUID);
	if (dev->node_guid == 0)
		dev->node_guid = (uint64_t)mac[0] << 56 | (uint64_t)mac[1] << 48 |
				 (uint64_t)mac[2] << 40 | UINT64_C(0xfffe) << 24 |
				 (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];
}

/* What a port begins with. None of it is worth the port to who may not change it. */
static int
request_port(struct rnic_dev *dev)
{
	int rc = port_tolerate(dev, RIGHT_UNICAST,
			       tell_addresses(dev, RNIC_ALLOWED_LIST_UC, dev->mac, false));

	if (rc == 0)
		rc = port_tolerate(dev, RIGHT_MULTICAST,
				   tell_addresses(dev, RNIC_ALLOWED_LIST_MC, broadcast, false));
	if (rc == 0)
		rc = rnic_port_request_mtu(dev, RTE_MIN(dev->max_mtu, (uint16_t)1500));
	return rc == 0 ? rnic_port_use(dev) : rc;
}

int
rnic_port_setup(struct rnic_dev *dev)
{
	struct rnic_nic_vport_context context;
	uint64_t inline_mode;
	int rc;

	rc = query_context(dev, &context);
	if (rc == 0)
		rc = learn_max_mtu(
			dev, rnic_nic_vport_context_get(&context, RNIC_NIC_VPORT_CONTEXT_MTU));
	if (rc != 0)
		return rc;
	learn_mac(dev, &context);
	learn_guids(dev, &context);
	inline_mode = rnic_ethernet_cap_get(&dev->caps.ethernet, RNIC_ETHERNET_CAP_WQE_INLINE_MODE);
	if (inline_mode == RNIC_WQE_INLINE_CAP_L2)
		dev->min_inline_mode = RNIC_INLINE_MODE_L2;
	else if (inline_mode == RNIC_WQE_INLINE_CAP_VPORT)
		dev->min_inline_mode = (uint8_t)rnic_nic_vport_context_get(
			&context, RNIC_NIC_VPORT_CONTEXT_MIN_WQE_INLINE_MODE);
	learn_status(dev);
	rc = rnic_mpfs_create(dev);
	if (rc == 0)
		rc = request_port(dev);
	if (rc != 0)
		rnic_mpfs_destroy(dev);
	return rc;
}

/* The link of a card takes seconds to come, and others share the port: VFs, a management controller. */
void
rnic_port_down(struct rnic_dev *dev)
{
	rnic_mpfs_destroy(dev);
	if (dev->port_status_found != 0 && dev->port_status_found != atomic_load(&dev->port_status))
		(void)set_admin(dev, dev->port_status_found == RNIC_PORT_UP, rnic_cmd_try);
}
