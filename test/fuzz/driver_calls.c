/* SPDX-License-Identifier: BSD-3-Clause */

#include "driver_calls.h"

#include <errno.h>

#include <rte_common.h>

#include "core/bfreg.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/event.h"
#include "core/uar.h"
#include "driver_world.h"
#include "object/cq.h"
#include "object/mempool.h"
#include "object/mkey.h"
#include "object/port.h"
#include "object/port_counters.h"
#include "object/q_counter.h"
#include "object/rq.h"
#include "object/sq.h"
#include "prm/queue.h"
#include "rdma/rdma.h"
#include "steering/qp_rules.h"
#include "steering/steer.h"

#define KEYS_MAX      8
#define REGISTERS_MAX 24

static uint32_t keys[KEYS_MAX];
static unsigned int key_count;
static struct rnic_bfreg *registers[REGISTERS_MAX];
static unsigned int register_count;
static bool port_used, steering_used, macs_used;
static uint8_t own_mac[6];

/* ---- The port ---- */

static void
ask_port(uint8_t what)
{
	struct rnic_port_errors errors;
	uint64_t counters[RNIC_PORT_COUNTERS];
	uint32_t speeds[RNIC_PROTOCOLS], value;
	struct rnic_port_info port;
	bool up;

	switch (what % 6) {
	case 0: rnic_port_link(world.dev, &up, &value); break;
	case 1: rnic_port_query(world.dev, &port); break;
	case 2: rnic_port_speeds(world.dev, speeds); break;
	case 3: rnic_q_counter_out_of_buffer(world.dev, &value); break;
	case 4: rnic_port_errors(world.dev, &errors); break;
	default: rnic_port_counters(world.dev, counters);
	}
}

void
calls_port(uint8_t what, uint8_t value)
{
	const uint8_t mac[6] = { what & 0x80 ? 1 : 2, 0, 0, 0, 0, value };

	if ((what & 0xf) < 6) {
		ask_port(what);
		return;
	}
	if (!port_used)
		memcpy(own_mac, world.dev->mac, sizeof(own_mac));
	port_used = true;
	switch (what & 0xf) {
	case 6: rnic_port_set_mtu(world.dev, (uint16_t)(value << 7)); break;
	case 7: rnic_port_set_admin(world.dev, (value & 1) != 0); break;
	case 8: rnic_port_set_mac(world.dev, mac); break;
	case 9: rnic_port_set_promiscuous(world.dev, (value & 1) != 0, (value & 2) != 0); break;
	case 10: rnic_port_use(world.dev); break;
	case 11:
		if (rnic_port_add_mac(world.dev, mac) == 0) {
			rnic_port_add_mac(world.dev, mac);
			rnic_port_del_mac(world.dev, mac);
			rnic_port_del_mac(world.dev, mac);
		}
		break;
	case 12: rnic_port_set_roce(world.dev, (value & 1) != 0); break;
	default: must(rnic_port_macs_max(world.dev) > 0);
	}
}

static bool
restore_port(void)
{
	const bool used = port_used;

	port_used = false;
	return !used || (rnic_port_set_mac(world.dev, own_mac) == 0 &&
			 rnic_port_set_mtu(world.dev, PORT_MTU) == 0 &&
			 rnic_port_set_admin(world.dev, true) == 0 &&
			 rnic_port_set_roce(world.dev, true) == 0 &&
			 rnic_port_set_promiscuous(world.dev, true, true) == 0);
}

/* ---- Steering ---- */

/* One more than there is room for, without the thousand commands that it takes to have so many. */
static void
set_macs_full(void)
{
	const struct rnic_mac more = { { 2, 0, 0, 2 } };
	struct rnic_mac before[RNIC_STEERING_MACS];
	uint32_t i;

	memcpy(before, port.steering.macs, sizeof(before));
	for (i = 0; i < RNIC_STEERING_MACS; i++)
		port.steering.macs[i] = (struct rnic_mac){ { 2, 0, 0, 1, 1 } };
	must(rnic_steering_set_macs(world.dev, &port.steering, &more, 1) == -ENOSPC);
	memcpy(port.steering.macs, before, sizeof(before));
}

static void
set_macs(uint8_t value)
{
	struct rnic_mac macs[8];
	uint32_t count = value % RTE_DIM(macs), i;

	if (value > 250) {
		set_macs_full();
		return;
	}

	for (i = 0; i < count; i++)
		macs[i] = (struct rnic_mac){ { value & 8 ? 1 : 2, 0, 0, 1, 0,
					       (uint8_t)(value + i) } };
	rnic_steering_set_macs(world.dev, &port.steering, macs, count);
}

void
calls_steering(uint8_t what, uint8_t value)
{
	uint64_t vlans[RNIC_VLAN_WORDS] = { [0] = value, [RNIC_VLAN_WORDS - 1] = value << 4 };
	const uint8_t mac[6] = { 2, 0, 0, 0, 1, value };
	struct rnic_steering steering = { 0 };

	steering_used = true;
	switch (what & 7) {
	case 0:
		rnic_steering_set(world.dev, &port.steering, mac, (what & 8) != 0,
				  (what & 16) != 0);
		break;
	case 1: set_macs(value); break;
	case 2: rnic_steering_set_vlans(world.dev, &port.steering, vlans); break;
	case 3: rnic_steering_set_vlans(world.dev, &port.steering, NULL); break;
	case 4:
		macs_used = true;
		rdmapmd_qp_attach_mac(world.qp[QP_RAW], mac, value & 1 ? RDMAPMD_VLAN_ANY : 5);
		break;
	case 5:
		rdmapmd_qp_detach_mac(world.qp[QP_RAW], mac, value & 1 ? RDMAPMD_VLAN_ANY : 5);
		break;
	case 6: rnic_steering_destroy(world.dev, &port.steering); break;
	default:
		if (!port.steering.up &&
		    rnic_steering_create(world.dev, &world.q[0].rxq->rq.rqn, NULL, &steering) == 0)
			port.steering = steering;
	}
}

/* Of no queue pair's frames. */
static bool
restore_macs(void)
{
	const struct rnic_rdma_qp *raw = (const struct rnic_rdma_qp *)world.qp[QP_RAW];
	const bool used = macs_used;

	macs_used = false;
	return !used || rnic_qp_steering_drop(world.dev, raw->tir) == 0;
}

static bool
restore_steering(void)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	const bool used = steering_used;

	steering_used = false;
	if (!used)
		return true;
	if (!port.steering.up) {
		memset(&port.steering, 0, sizeof(port.steering));
		if (rnic_steering_create(world.dev, &world.q[0].rxq->rq.rqn, NULL,
					 &port.steering) != 0)
			return false;
	}
	return rnic_steering_set_vlans(world.dev, &port.steering, NULL) == 0 &&
	       rnic_steering_set_macs(world.dev, &port.steering, NULL, 0) == 0 &&
	       rnic_steering_set(world.dev, &port.steering, mac, true, true) == 0;
}

/* ---- Keys, registers ---- */

void
calls_key(uint8_t what, uint8_t value)
{
	struct rnic_mkey_attr attr = {
		.memory = world.memory + value * 16u,
		.length = (what & 8) != 0 ? WORLD_MEMORY - 4096u : value * 64u,
		.address = (what & 16) != 0 ? value * 16u : (uintptr_t)world.memory + value * 16u,
		.pd = world.dev->pd,
		.access = value & 15,
	};
	uint32_t key;

	if ((what & 32) != 0)
		attr.address += 8;
	if ((what & 64) != 0)
		attr.length = SIZE_MAX;
	switch (what & 7) {
	case 0:
	case 1:
		if (key_count < KEYS_MAX &&
		    rnic_mkey_create(world.dev, &attr, &keys[key_count]) == 0)
			key_count++;
		break;
	case 2:
		if (key_count > 0 && rnic_mkey_destroy(world.dev, keys[key_count - 1]) == 0)
			key_count--;
		break;
	case 3: rnic_mkey_destroy(world.dev, (uint32_t)value << 8); break;
	case 4:
		if (key_count > 0)
			rnic_mkey_destroy(world.dev, keys[0] ^ 1);
		break;
	case 5:
		rnic_mkey_register_pool(world.dev, world.q[value & 1].pool);
		rnic_mkey_unregister_pool(world.dev, world.q[value & 1].pool);
		break;
	default:
		attr = rnic_mkey_attr_own(world.dev, (uintptr_t)world.memory, 4096,
					  RNIC_ACCESS_READ);
		if (rnic_mkey_create(world.dev, &attr, &key) == 0)
			rnic_mkey_destroy(world.dev, key);
	}
}

void
calls_register(uint8_t what)
{
	struct rnic_uars_usage usage;
	struct rnic_bfreg *reg = NULL;

	if ((what & 4) != 0 && register_count > 0) {
		rnic_bfreg_free(world.dev, registers[--register_count]);
	} else if (register_count < REGISTERS_MAX) {
		if ((what & 8) != 0 && register_count > 0)
			reg = rnic_bfreg_share(world.dev, registers[what % register_count]);
		else
			reg = rnic_bfreg_alloc(world.dev, what & 3);
		must(reg != NULL && reg->address != NULL);
		registers[register_count++] = reg;
	}
	rnic_uars_usage(world.dev, &usage);
}

/* ---- Queues of nobody ---- */

static void
queues_of_nobody(uint8_t what, uint8_t value)
{
	enum rnic_wq_state state;
	struct rnic_cq cq;
	struct rnic_sq sq;
	struct rnic_rq rq;

	if (rnic_cq_create(world.dev, value & 0x80 ? value % 32 : value % 8, world.eq, &cq) != 0)
		return;
	if ((what & 8) != 0)
		rnic_cq_resize(world.dev, &cq, value >> 4);
	if ((what & 16) == 0 && rnic_sq_create(world.dev, 3 + value % 4, &cq, &sq) == 0) {
		rnic_sq_state(world.dev, &sq, &state);
		rnic_sq_set_state(world.dev, &sq, RNIC_WQ_STATE_ERR);
		rnic_sq_recover(world.dev, &sq);
		rnic_sq_destroy(world.dev, &sq);
	}
	if ((what & 16) != 0 && rnic_rq_create(world.dev, 3 + value % 4, 4, &cq, &rq) == 0) {
		rnic_rq_state(world.dev, &rq, &state);
		rnic_rq_set_vlan_strip(world.dev, &rq, (value & 1) != 0);
		rnic_rq_set_state(world.dev, &rq, RNIC_WQ_STATE_ERR);
		rnic_rq_recover(world.dev, &rq);
		rnic_rq_reset(world.dev, &rq);
		rnic_rq_destroy(world.dev, &rq);
	}
	rnic_cq_drop(&cq);
	rnic_cq_destroy(world.dev, &cq);
}

static void
qps_of_nobody(uint8_t count)
{
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = RDMAPMD_QPT_RC,
		.send_cq = world.cq[CQ_PLAIN],
		.recv_cq = world.cq[CQ_PLAIN],
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct rdmapmd_qp *qps[16];
	unsigned int made = 0;

	for (count %= RTE_DIM(qps) + 1; made < count; made++)
		if (rdmapmd_qp_create(world.pd, &attr, &qps[made]) != 0)
			break;
	while (made > 0)
		rdmapmd_qp_destroy(qps[--made]);
}

void
calls_object(uint8_t what, uint8_t value)
{
	struct rnic_eq *eq;

	switch (what & 3) {
	case 0: queues_of_nobody(what, value); break;
	case 1: qps_of_nobody(value); break;
	case 2:
		if (rnic_eq_create(world.dev, 4, 0, 0, rnic_event_handle, &eq) != 0)
			break;
		rnic_eq_failed(world.dev, rnic_eq_number(eq));
		rnic_eq_remake(world.dev, eq);
		rnic_eq_destroy(world.dev, eq);
		break;
	default:
		if (!rnic_eq_failed(world.dev, rnic_eq_number(world.eq)))
			rnic_control_mend_eq(world.dev, world.eq);
	}
}

bool
calls_end(void)
{
	bool good = restore_macs() && restore_steering();

	while (key_count > 0)
		good &= rnic_mkey_destroy(world.dev, keys[--key_count]) == 0;
	while (register_count > 0)
		good &= rnic_bfreg_free(world.dev, registers[--register_count]) == 0;
	return restore_port() && good;
}
