/* SPDX-License-Identifier: BSD-3-Clause */

/* The port: link state and its events, MTU, addresses, registers, counters. */
#include <errno.h>

#include "harness.h"
#include "softrnic/port/port.h"

static int
setup(void **state)
{
	static struct hn hn;
	struct softrnic_conf conf = { .name = "port",
				      .mac = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 } };

	hn_start(&hn, NULL, &conf);
	hn_bring_up(&hn);
	*state = &hn;
	return 0;
}

static int
teardown(void **state)
{
	hn_stop(*state);
	return 0;
}

/* Read or write a register of the given size in place; the command's status. */
static int
access_reg(struct hn *hn, uint16_t id, uint16_t op_mod, void *reg, uint32_t bytes)
{
	uint8_t in[0x200] = { 0 }, out[0x200];
	int status;

	hn_head(in, RNIC_CMD_ACCESS_REG, op_mod);
	rnic_access_reg_in_set((void *)in, RNIC_ACCESS_REG_IN_REGISTER_ID, id);
	memcpy(in + 16, reg, bytes);
	status = hn_cmd(hn, in, 16 + bytes, out, 16 + bytes);
	memcpy(reg, out + 16, bytes);
	return status;
}

static void
set_paos(struct hn *hn, unsigned int admin)
{
	struct rnic_paos_reg reg = { 0 };

	rnic_paos_reg_set(&reg, RNIC_PAOS_REG_LOCAL_PORT, 1);
	rnic_paos_reg_set(&reg, RNIC_PAOS_REG_ADMIN_STATUS, admin);
	rnic_paos_reg_set(&reg, RNIC_PAOS_REG_ASE, 1);
	assert_int_equal(access_reg(hn, RNIC_REG_PAOS, RNIC_ACCESS_REG_WRITE, &reg, sizeof(reg)),
			 0);
	assert_int_equal(rnic_paos_reg_get(&reg, RNIC_PAOS_REG_OPER_STATUS), admin);
}

static unsigned int
vport_state(struct hn *hn)
{
	struct rnic_vport_in in = { 0 };
	struct rnic_query_vport_state_out out = { 0 };

	hn_head(&in, RNIC_CMD_QUERY_VPORT_STATE, 0);
	hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
	return rnic_query_vport_state_out_get(&out, RNIC_QUERY_VPORT_STATE_OUT_STATE);
}

static void
expect_change(struct hn *hn, struct hn_eq *eq, unsigned int sub_type)
{
	struct rnic_eqe eqe;

	assert_true(hn_eq_next(hn, eq, &eqe));
	assert_int_equal(eqe.type, RNIC_EVENT_PORT_CHANGE);
	assert_int_equal(eqe.sub_type, sub_type);
	/* The port's number, in the high half of byte 8. */
	assert_int_equal(((uint8_t *)&eqe)[0x28], 0x10);
	assert_false(hn_eq_next(hn, eq, &eqe));
	hn_eq_arm(hn, eq);
}

static void
link_changes_are_told(void **state)
{
	struct hn *hn = *state;
	struct rnic_eqe eqe;
	struct hn_eq eq;

	hn_create_eq(hn, &eq, hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), 4,
		     UINT64_C(1) << RNIC_EVENT_PORT_CHANGE, 0);
	assert_int_equal(vport_state(hn), RNIC_VPORT_STATE_UP);
	set_paos(hn, RNIC_PORT_DOWN);
	expect_change(hn, &eq, RNIC_PORT_CHANGE_DOWN);
	assert_int_equal(vport_state(hn), RNIC_VPORT_STATE_DOWN);
	set_paos(hn, RNIC_PORT_DOWN);
	assert_false(hn_eq_next(hn, &eq, &eqe));
	set_paos(hn, RNIC_PORT_UP);
	expect_change(hn, &eq, RNIC_PORT_CHANGE_ACTIVE);
	assert_int_equal(vport_state(hn), RNIC_VPORT_STATE_UP);
}

static void
the_vport_can_be_switched_too(void **state)
{
	struct hn *hn = *state;
	struct rnic_modify_vport_state_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_VPORT_STATE, 0);
	for (unsigned int admin = 0; admin < 3; admin++) {
		rnic_modify_vport_state_in_set(&in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE, admin);
		hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
		assert_int_equal(vport_state(hn), admin != RNIC_VPORT_STATE_DOWN);
	}
}

static void
the_other_end_of_a_pair_sees_it(void **state)
{
	struct softrnic_conf conf = { .name = "a", .wire = "pair:cable" };
	struct hn *hn = *state, a, b;
	struct softrnic *third;
	struct hn_eq eq;

	hn_start(&a, hn->poller, &conf);
	hn_bring_up(&a);
	hn_create_eq(&a, &eq, hn_alloc_object(&a, RNIC_CMD_ALLOC_UAR), 4,
		     UINT64_C(1) << RNIC_EVENT_PORT_CHANGE, 0);
	assert_int_equal(vport_state(&a), RNIC_VPORT_STATE_DOWN);
	conf.name = "b";
	hn_start(&b, hn->poller, &conf);
	assert_int_equal(vport_state(&a), RNIC_VPORT_STATE_DOWN);
	hn_bring_up(&b);
	expect_change(&a, &eq, RNIC_PORT_CHANGE_ACTIVE);
	conf.name = "c";
	assert_int_equal(softrnic_create(hn->poller, &conf, &third), -EEXIST);
	set_paos(&b, RNIC_PORT_DOWN);
	expect_change(&a, &eq, RNIC_PORT_CHANGE_DOWN);
	set_paos(&b, RNIC_PORT_UP);
	expect_change(&a, &eq, RNIC_PORT_CHANGE_ACTIVE);
	/* Surprise removal. */
	hn_stop(&b);
	expect_change(&a, &eq, RNIC_PORT_CHANGE_DOWN);
	hn_stop(&a);
}

/*
 * While a driver sleeps its neighbour may do so as often as it likes: neither is the queue full for the events that the driver
 * lives by, nor is the last state not told.
 */
static void
a_neighbour_that_flaps_leaves_the_queue_alive(void **state)
{
	struct softrnic_conf conf = { .name = "a", .wire = "pair:cable" };
	struct hn *hn = *state, a, b;
	struct rnic_eqe eqe;
	struct hn_eq eq;

	hn_start(&a, hn->poller, &conf);
	hn_bring_up(&a);
	conf.name = "b";
	hn_start(&b, hn->poller, &conf);
	hn_bring_up(&b);
	hn_create_eq(&a, &eq, hn_alloc_object(&a, RNIC_CMD_ALLOC_UAR), 4,
		     UINT64_C(1) << RNIC_EVENT_PORT_CHANGE | UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST,
		     0);
	/* The last change leads to what was told first, then to the contrary. */
	for (unsigned int last = 0; last < 2; last++) {
		for (unsigned int i = 0; i < 5000; i++) {
			set_paos(&b, RNIC_PORT_DOWN);
			set_paos(&b, RNIC_PORT_UP);
		}
		if (last == 0)
			set_paos(&b, RNIC_PORT_DOWN);
		assert_int_equal(softrnic_fault(a.dev, SOFTRNIC_FAULT_PAGE_REQUEST, 1), 0);
		assert_true(hn_eq_next(&a, &eq, &eqe));
		assert_int_equal(eqe.type, RNIC_EVENT_PORT_CHANGE);
		assert_true(hn_eq_next(&a, &eq, &eqe));
		assert_int_equal(eqe.type, RNIC_EVENT_PAGE_REQUEST);
		assert_false(hn_eq_next(&a, &eq, &eqe));
		hn_eq_arm(&a, &eq);
		expect_change(&a, &eq, last == 0 ? RNIC_PORT_CHANGE_DOWN : RNIC_PORT_CHANGE_ACTIVE);
		assert_false(hn_eq_next(&a, &eq, &eqe));
		/* And all is as ever. */
		set_paos(&b, last == 0 ? RNIC_PORT_UP : RNIC_PORT_DOWN);
		expect_change(&a, &eq, last == 0 ? RNIC_PORT_CHANGE_ACTIVE : RNIC_PORT_CHANGE_DOWN);
		set_paos(&b, RNIC_PORT_UP);
		if (last != 0)
			expect_change(&a, &eq, RNIC_PORT_CHANGE_ACTIVE);
	}
	hn_stop(&b);
	hn_stop(&a);
}

static void
set_vport_mtu(struct hn *hn, unsigned int mtu)
{
	struct rnic_modify_nic_vport_context_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(&in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_MTU);
	rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
				   RNIC_NIC_VPORT_CONTEXT_MTU, mtu);
	hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
}

/* The port's and the vport's: frames have to fit into both. */
static void
mtu_of_the_port(void **state)
{
	struct hn *hn = *state;
	struct rnic_pmtu_reg reg = { 0 };

	assert_int_equal(access_reg(hn, RNIC_REG_PMTU, RNIC_ACCESS_REG_READ, &reg, sizeof(reg)), 0);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_MAX_MTU), 9978 + 22);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_OPER_MTU), 1522);
	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_ADMIN_MTU, 10000);
	assert_int_equal(access_reg(hn, RNIC_REG_PMTU, RNIC_ACCESS_REG_WRITE, &reg, sizeof(reg)),
			 0);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_OPER_MTU), 10000);
	assert_int_equal(softrnic_eth_frame_max(hn->dev), 1518);
	set_vport_mtu(hn, 10000);
	assert_int_equal(softrnic_eth_frame_max(hn->dev), 9996);
	softrnic_reset(hn->dev);
	assert_int_equal(softrnic_eth_frame_max(hn->dev), 1518);
}

static struct rnic_query_nic_vport_context_out *
query_vport(struct hn *hn, unsigned int list)
{
	static uint8_t out[sizeof(struct rnic_query_nic_vport_context_out) + 8 * 128];
	struct rnic_query_nic_vport_context_in in = { 0 };

	hn_head(&in, RNIC_CMD_QUERY_NIC_VPORT_CONTEXT, 0);
	rnic_query_nic_vport_context_in_set(&in, RNIC_QUERY_NIC_VPORT_CONTEXT_IN_ALLOWED_LIST_TYPE,
					    list);
	hn_cmd_ok(hn, &in, sizeof(in), out, sizeof(out));
	return (void *)out;
}

static void
addresses_of_the_vport(void **state)
{
	struct hn *hn = *state;
	struct rnic_query_nic_vport_context_out *out = query_vport(hn, RNIC_ALLOWED_LIST_UC);
	uint8_t in[0x200 + 8 * 128] = { 0 };
	struct rnic_modify_nic_vport_context_in *modify = (void *)in;
	struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(modify);
	struct rnic_mac_entry *list = (void *)(in + 0x200);
	struct rnic_cmd_out done;

	/* Where Linux looks for it. */
	assert_memory_equal((uint8_t *)out + 0x10 + 0xf6, hn->dev->port.mac, 6);
	hn_head(in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(modify, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_ADDRESSES_LIST |
						     RNIC_NIC_VPORT_PROMISC);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE,
				   RNIC_ALLOWED_LIST_MC);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE, 128);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_MC, 1);
	for (unsigned int i = 0; i < 128; i++) {
		rnic_mac_entry_set(&list[i], RNIC_MAC_ENTRY_ADDRESS_47_32, 0x3333);
		rnic_mac_entry_set(&list[i], RNIC_MAC_ENTRY_ADDRESS_31_0, 0x1000000 + i);
	}
	hn_cmd_ok(hn, in, sizeof(in), &done, sizeof(done));
	out = query_vport(hn, RNIC_ALLOWED_LIST_MC);
	context = rnic_query_nic_vport_context_out_nic_vport_context(out);
	assert_int_equal(
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE), 128);
	assert_int_equal(rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_MC), 1);
	assert_int_equal(rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_PROMISC_UC), 0);
	assert_memory_equal(out + 1, list, 8 * 128);
	out = query_vport(hn, RNIC_ALLOWED_LIST_UC);
	context = rnic_query_nic_vport_context_out_nic_vport_context(out);
	assert_int_equal(
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE), 0);
}

/* 8 bytes each, the ID in the low bits of the first dword; no frame is kept out by the list. */
static void
vlans_of_the_vport(void **state)
{
	struct hn *hn = *state;
	uint8_t in[0x200 + 8 * 128] = { 0 };
	struct rnic_modify_nic_vport_context_in *modify = (void *)in;
	struct rnic_nic_vport_context *context =
		rnic_modify_nic_vport_context_in_nic_vport_context(modify);
	struct rnic_query_nic_vport_context_out *out;
	struct rnic_cmd_out done;

	hn_head(in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(modify, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_ADDRESSES_LIST);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_TYPE,
				   RNIC_ALLOWED_LIST_VLAN);
	rnic_nic_vport_context_set(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE, 128);
	for (unsigned int i = 0; i < 128; i++) {
		in[0x200 + 8 * i + 2] = 0xf;
		in[0x200 + 8 * i + 3] = (uint8_t)i;
	}
	hn_cmd_ok(hn, in, sizeof(in), &done, sizeof(done));
	out = query_vport(hn, RNIC_ALLOWED_LIST_VLAN);
	context = rnic_query_nic_vport_context_out_nic_vport_context(out);
	assert_int_equal(
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE), 128);
	assert_memory_equal(out + 1, in + 0x200, 8 * 128);
	out = query_vport(hn, RNIC_ALLOWED_LIST_MC);
	context = rnic_query_nic_vport_context_out_nic_vport_context(out);
	assert_int_equal(
		rnic_nic_vport_context_get(context, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE), 0);
}

static void
invented_addresses_differ(void **state)
{
	struct softrnic_conf conf = { .name = "net_rnic0" };
	struct hn *hn = *state, a, b;

	hn_start(&a, hn->poller, &conf);
	conf.name = "net_rnic1";
	hn_start(&b, hn->poller, &conf);
	assert_int_equal(a.dev->port.mac[0] & 3, 2);
	assert_memory_not_equal(a.dev->port.mac, b.dev->port.mac, 6);
	hn_stop(&a);
	hn_stop(&b);
}

static struct rnic_vport_counters
vport_counters(struct hn *hn, bool clear)
{
	struct rnic_query_vport_counter_in in = { 0 };
	static struct rnic_query_vport_counter_out out;

	hn_head(&in, RNIC_CMD_QUERY_VPORT_COUNTER, 0);
	rnic_query_vport_counter_in_set(&in, RNIC_QUERY_VPORT_COUNTER_IN_CLEAR, clear);
	hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
	return *rnic_query_vport_counter_out_vport_counters(&out);
}

static void
counters_clear_apart(void **state)
{
	struct hn *hn = *state;
	struct softrnic_port_counters *port = &hn->dev->port.counters;
	struct rnic_ppcnt_reg reg = { 0 };
	struct rnic_vport_counters vport;

	*port = (struct softrnic_port_counters){ .rx_packets = { 3, 2, 1 },
						 .rx_bytes = { 300, 200, 100 },
						 .tx_packets = { 10, 0, 0 },
						 .tx_bytes = { 640, 0, 0 } };
	vport = vport_counters(hn, true);
#define V(field) rnic_vport_counters_get(&vport, RNIC_VPORT_COUNTERS_##field)
	assert_int_equal(V(RECEIVED_ETH_UNICAST_PACKETS), 3);
	assert_int_equal(V(RECEIVED_ETH_BROADCAST_OCTETS), 100);
	assert_int_equal(V(TRANSMITTED_ETH_UNICAST_OCTETS), 640);
	vport = vport_counters(hn, false);
	assert_int_equal(V(RECEIVED_ETH_UNICAST_PACKETS), 0);
	port->rx_packets[0]++;
	vport = vport_counters(hn, false);
	assert_int_equal(V(RECEIVED_ETH_UNICAST_PACKETS), 1);
#undef V
	/* The port's are its own, with the FCS of each frame. */
#define P(field) rnic_ppcnt_reg_get(&reg, RNIC_PPCNT_REG_A_##field)
	assert_int_equal(access_reg(hn, RNIC_REG_PPCNT, RNIC_ACCESS_REG_READ, &reg, sizeof(reg)),
			 0);
	assert_int_equal(P(FRAMES_RECEIVED_OK), 7);
	assert_int_equal(P(OCTETS_RECEIVED_OK), 600 + 7 * 4);
	assert_int_equal(P(BROADCAST_FRAMES_RECEIVED_OK), 1);
	memset(&reg, 0, sizeof(reg));
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, 1);
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_CLR, 1);
	assert_int_equal(access_reg(hn, RNIC_REG_PPCNT, RNIC_ACCESS_REG_READ, &reg, sizeof(reg)),
			 0);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x08, 63, 0)), 628);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x38, 63, 0)), 10);
	memset(&reg, 0, sizeof(reg));
	assert_int_equal(access_reg(hn, RNIC_REG_PPCNT, RNIC_ACCESS_REG_READ, &reg, sizeof(reg)),
			 0);
	assert_int_equal(P(FRAMES_RECEIVED_OK), 0);
#undef P
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, 0x3f);
	assert_int_equal(access_reg(hn, RNIC_REG_PPCNT, RNIC_ACCESS_REG_READ, &reg, sizeof(reg)),
			 RNIC_STATUS_BAD_PARAM);
}

static void
other_registers(void **state)
{
	struct hn *hn = *state;
	uint8_t description[64] = "a description";
	struct rnic_ptys_reg ptys = { 0 };
	struct rnic_pfcc_reg pfcc = { 0 };

	rnic_ptys_reg_set(&ptys, RNIC_PTYS_REG_PROTO_MASK, RNIC_PTYS_PROTO_ETH);
	assert_int_equal(access_reg(hn, RNIC_REG_PTYS, RNIC_ACCESS_REG_READ, &ptys, sizeof(ptys)),
			 0);
	assert_int_equal(rnic_ptys_reg_get(&ptys, RNIC_PTYS_REG_ETH_PROTO_OPER),
			 RNIC_PTYS_ETH_100GBASE_CR4);
	rnic_pfcc_reg_set(&pfcc, RNIC_PFCC_REG_PPTX, 1);
	assert_int_equal(access_reg(hn, RNIC_REG_PFCC, RNIC_ACCESS_REG_WRITE, &pfcc, sizeof(pfcc)),
			 0);
	memset(&pfcc, 0, sizeof(pfcc));
	assert_int_equal(access_reg(hn, RNIC_REG_PFCC, RNIC_ACCESS_REG_READ, &pfcc, sizeof(pfcc)),
			 0);
	assert_int_equal(rnic_pfcc_reg_get(&pfcc, RNIC_PFCC_REG_PPTX), 1);
	assert_int_equal(rnic_pfcc_reg_get(&pfcc, RNIC_PFCC_REG_PPRX), 0);
	assert_int_equal(access_reg(hn, RNIC_REG_NODE_DESC, RNIC_ACCESS_REG_WRITE, description, 64),
			 0);
	memset(description, 0, sizeof(description));
	assert_int_equal(access_reg(hn, RNIC_REG_NODE_DESC, RNIC_ACCESS_REG_READ, description, 64),
			 0);
	assert_string_equal((char *)description, "a description");
}

/* A write of one field that is refused; then the register as it was read can be written. */
static void
refuse_register(struct hn *hn, uint16_t id, uint32_t bytes, uint32_t field, uint64_t value)
{
	struct rnic_be32 good[0x40] = { { 0 } }, bad[0x40];
	int status;

	if (id == RNIC_REG_PTYS)
		rnic_ptys_reg_set((void *)good, RNIC_PTYS_REG_PROTO_MASK, RNIC_PTYS_PROTO_ETH);
	assert_int_equal(access_reg(hn, id, RNIC_ACCESS_REG_READ, good, bytes), 0);
	memcpy(bad, good, sizeof(bad));
	if (id == RNIC_REG_PAOS)
		rnic_paos_reg_set((void *)bad, RNIC_PAOS_REG_ASE, 1);
	rnic_field_set(bad, field, value);
	status = access_reg(hn, id, RNIC_ACCESS_REG_WRITE, bad, bytes);
	if (status != RNIC_STATUS_BAD_PARAM)
		fail_msg("register 0x%x: status 0x%x", id, status);
	assert_int_equal(access_reg(hn, id, RNIC_ACCESS_REG_WRITE, good, bytes), 0);
}

static void
writes_that_registers_refuse(void **state)
{
	struct hn *hn = *state;

#define REFUSE(reg, REG, field, value)                                       \
	refuse_register(hn, RNIC_REG_##REG, sizeof(struct rnic_##reg##_reg), \
			(uint32_t)RNIC_##REG##_REG_##field, value)
	REFUSE(host_endianness, HOST_ENDIANNESS, HE, 1);
	REFUSE(pmtu, PMTU, LOCAL_PORT, 2);
	REFUSE(pmtu, PMTU, ADMIN_MTU, 22);
	REFUSE(ptys, PTYS, LOCAL_PORT, 2);
	REFUSE(ptys, PTYS, PROTO_MASK, 1);
	REFUSE(ptys, PTYS, ETH_PROTO_ADMIN, 1);
	REFUSE(paos, PAOS, LOCAL_PORT, 2);
	REFUSE(paos, PAOS, ADMIN_STATUS, 3);
	REFUSE(pfcc, PFCC, LOCAL_PORT, 2);
	REFUSE(pfcc, PFCC, PFCTX, 1);
	REFUSE(pfcc, PFCC, PFCRX, 1);
	REFUSE(pcmr, PCMR, LOCAL_PORT, 2);
	REFUSE(ppcnt, PPCNT, LOCAL_PORT, 2);
#undef REFUSE
}

/* There is no FCS to check: what a driver asks for does not come true, and it is told so. */
static void
fcs_checks_cannot_be_switched_on(void **state)
{
	struct hn *hn = *state;
	struct rnic_pcmr_reg reg = { 0 };

	rnic_pcmr_reg_set(&reg, RNIC_PCMR_REG_LOCAL_PORT, 1);
	rnic_pcmr_reg_set(&reg, RNIC_PCMR_REG_FCS_CHK, 1);
	assert_int_equal(access_reg(hn, RNIC_REG_PCMR, RNIC_ACCESS_REG_WRITE, &reg, sizeof(reg)),
			 0);
	assert_int_equal(rnic_pcmr_reg_get(&reg, RNIC_PCMR_REG_FCS_CAP), 0);
	assert_int_equal(rnic_pcmr_reg_get(&reg, RNIC_PCMR_REG_FCS_CHK), 0);
}

static void
roce_is_switched_by_the_vport(void **state)
{
	struct hn *hn = *state;
	struct rnic_modify_nic_vport_context_in in = { 0 };
	struct rnic_cmd_out out;

	hn_head(&in, RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	rnic_modify_nic_vport_context_in_set(&in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT,
					     RNIC_NIC_VPORT_ROCE_EN);
	for (unsigned int on = 2; on-- > 0;) {
		rnic_nic_vport_context_set(rnic_modify_nic_vport_context_in_nic_vport_context(&in),
					   RNIC_NIC_VPORT_CONTEXT_ROCE_EN, on);
		hn_cmd_ok(hn, &in, sizeof(in), &out, sizeof(out));
		assert_int_equal(rnic_nic_vport_context_get(
					 rnic_query_nic_vport_context_out_nic_vport_context(
						 query_vport(hn, RNIC_ALLOWED_LIST_UC)),
					 RNIC_NIC_VPORT_CONTEXT_ROCE_EN),
				 on);
	}
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(link_changes_are_told),
		T(the_vport_can_be_switched_too),
		T(the_other_end_of_a_pair_sees_it),
		T(a_neighbour_that_flaps_leaves_the_queue_alive),
		T(mtu_of_the_port),
		T(addresses_of_the_vport),
		T(vlans_of_the_vport),
		T(invented_addresses_differ),
		T(counters_clear_apart),
		T(other_registers),
		T(writes_that_registers_refuse),
		T(fcs_checks_cannot_be_switched_on),
		T(roce_is_switched_by_the_vport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
