/* SPDX-License-Identifier: BSD-3-Clause */

/* The port: link state and its events, MTU, addresses, registers, counters. */
#include <errno.h>

#include "ctl_fixture.h"
#include "driver/counter.h"
#include "driver/reg.h"
#include "driver/vport.h"
/* Counters get values of the test's own; what the MTUs leave of a frame, and invented addresses, are looked at. */
#include "softrnic/port/port.h"

static const uint8_t mac[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 };

static int
setup(void **state)
{
	static struct hn hn;
	struct softrnic_conf conf = { .name = "port" };

	memcpy(conf.mac, mac, sizeof(mac));
	hn_start(&hn, NULL, &conf);
	hn_bring_up(&hn);
	*state = &hn;
	return 0;
}

#define READ(hn, REG, reg)  drv_reg_read(&(hn)->drv, RNIC_REG_##REG, reg, sizeof(*(reg)))
#define WRITE(hn, REG, reg) drv_reg_write(&(hn)->drv, RNIC_REG_##REG, reg, sizeof(*(reg)))

static void
set_paos(struct hn *hn, unsigned int admin)
{
	struct rnic_paos_reg reg = { 0 };

	rnic_paos_reg_set(&reg, RNIC_PAOS_REG_LOCAL_PORT, 1);
	rnic_paos_reg_set(&reg, RNIC_PAOS_REG_ADMIN_STATUS, admin);
	rnic_paos_reg_set(&reg, RNIC_PAOS_REG_ASE, 1);
	assert_int_equal(WRITE(hn, PAOS, &reg), 0);
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

	ctl_event_queue(hn, &eq, RNIC_EVENT_PORT_CHANGE);
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
	ctl_event_queue(&a, &eq, RNIC_EVENT_PORT_CHANGE);
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

/* The port's and the vport's: frames have to fit into both. */
static void
mtu_of_the_port(void **state)
{
	struct hn *hn = *state;
	struct rnic_pmtu_reg reg = { 0 };

	assert_int_equal(READ(hn, PMTU, &reg), 0);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_MAX_MTU), 9978 + 22);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_OPER_MTU), 1522);
	rnic_pmtu_reg_set(&reg, RNIC_PMTU_REG_ADMIN_MTU, 10000);
	assert_int_equal(WRITE(hn, PMTU, &reg), 0);
	assert_int_equal(rnic_pmtu_reg_get(&reg, RNIC_PMTU_REG_OPER_MTU), 10000);
	assert_int_equal(softrnic_eth_frame_max(hn->dev), 1518);
	assert_int_equal(drv_vport_mtu_set(&hn->drv, 10000), 0);
	assert_int_equal(softrnic_eth_frame_max(hn->dev), 9996);
	softrnic_reset(hn->dev);
	assert_int_equal(softrnic_eth_frame_max(hn->dev), 1518);
}

static uint64_t
query_vport(struct hn *hn, enum rnic_allowed_list_type list,
	    enum rnic_nic_vport_context_field field)
{
	struct rnic_nic_vport_context context;

	assert_int_equal(drv_vport_query(&hn->drv, list, &context, NULL), 0);
	return rnic_nic_vport_context_get(&context, field);
}

/* As long as a list may be; the others stay empty. */
static void
set_list(struct hn *hn, struct drv_vport *vport, const uint64_t entries[DRV_VPORT_LIST])
{
	struct rnic_nic_vport_context context;
	uint64_t told[DRV_VPORT_LIST];

	vport->select |= RNIC_NIC_VPORT_ADDRESSES_LIST;
	vport->count = DRV_VPORT_LIST;
	vport->entries = entries;
	assert_int_equal(drv_vport_modify(&hn->drv, vport), 0);
	for (unsigned int list = RNIC_ALLOWED_LIST_UC; list <= RNIC_ALLOWED_LIST_VLAN; list++)
		assert_int_equal(query_vport(hn, list, RNIC_NIC_VPORT_CONTEXT_ALLOWED_LIST_SIZE),
				 list == vport->list ? DRV_VPORT_LIST : 0);
	assert_int_equal(drv_vport_query(&hn->drv, vport->list, &context, told), 0);
	assert_memory_equal(told, entries, sizeof(told));
}

static void
addresses_of_the_vport(void **state)
{
	struct hn *hn = *state;
	struct drv_vport vport = { .select = RNIC_NIC_VPORT_PROMISC,
				   .promisc_mc = true,
				   .list = RNIC_ALLOWED_LIST_MC };
	struct rnic_nic_vport_context context;
	uint64_t addresses[DRV_VPORT_LIST];

	assert_int_equal(drv_vport_query(&hn->drv, RNIC_ALLOWED_LIST_UC, &context, NULL), 0);
	/* Where Linux looks for it. */
	assert_memory_equal((uint8_t *)&context + 0xf6, mac, sizeof(mac));
	for (unsigned int i = 0; i < DRV_VPORT_LIST; i++)
		addresses[i] = UINT64_C(0x333301000000) + i;
	set_list(hn, &vport, addresses);
	assert_int_equal(query_vport(hn, RNIC_ALLOWED_LIST_MC, RNIC_NIC_VPORT_CONTEXT_PROMISC_MC),
			 1);
	assert_int_equal(query_vport(hn, RNIC_ALLOWED_LIST_MC, RNIC_NIC_VPORT_CONTEXT_PROMISC_UC),
			 0);
}

/* 8 bytes each, the ID in the low bits of the first dword; no frame is kept out by the list. */
static void
vlans_of_the_vport(void **state)
{
	struct drv_vport vport = { .list = RNIC_ALLOWED_LIST_VLAN };
	uint64_t vlans[DRV_VPORT_LIST];

	for (unsigned int i = 0; i < DRV_VPORT_LIST; i++)
		vlans[i] = (UINT64_C(0xf00) + i) << 32;
	set_list(*state, &vport, vlans);
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
	struct rnic_vport_counters counters;

	assert_int_equal(drv_vport_counter_query(&hn->drv, clear, &counters), 0);
	return counters;
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
	assert_int_equal(READ(hn, PPCNT, &reg), 0);
	assert_int_equal(P(FRAMES_RECEIVED_OK), 7);
	assert_int_equal(P(OCTETS_RECEIVED_OK), 600 + 7 * 4);
	assert_int_equal(P(BROADCAST_FRAMES_RECEIVED_OK), 1);
	memset(&reg, 0, sizeof(reg));
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, 1);
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_CLR, 1);
	assert_int_equal(READ(hn, PPCNT, &reg), 0);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x08, 63, 0)), 628);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x38, 63, 0)), 10);
	memset(&reg, 0, sizeof(reg));
	assert_int_equal(READ(hn, PPCNT, &reg), 0);
	assert_int_equal(P(FRAMES_RECEIVED_OK), 0);
#undef P
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, 0x3f);
	assert_int_equal(READ(hn, PPCNT, &reg), RNIC_STATUS_BAD_PARAM);
}

/* 16 bits each, which do not go round. */
static void
infiniband_counters_stay_at_their_end(void **state)
{
	struct hn *hn = *state;
	struct rnic_ppcnt_reg reg = { 0 };

	hn->dev->port.counters =
		(struct softrnic_port_counters){ .rx_errors = 65534, .tx_errors = 65536 };
	rnic_ppcnt_reg_set(&reg, RNIC_PPCNT_REG_GRP, 0x20);
	assert_int_equal(READ(hn, PPCNT, &reg), 0);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x0c, 31, 16)), 65534);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x10, 15, 0)), 65535);
	assert_int_equal(rnic_field_get(reg.dw, RNIC_FIELD(0x08, 31, 0)), 0);
}

static void
other_registers(void **state)
{
	struct hn *hn = *state;
	uint8_t description[64] = "a description";
	struct rnic_ptys_reg ptys = { 0 };
	struct rnic_pfcc_reg pfcc = { 0 };

	rnic_ptys_reg_set(&ptys, RNIC_PTYS_REG_PROTO_MASK, RNIC_PTYS_PROTO_ETH);
	assert_int_equal(READ(hn, PTYS, &ptys), 0);
	assert_int_equal(rnic_ptys_reg_get(&ptys, RNIC_PTYS_REG_ETH_PROTO_OPER),
			 RNIC_PTYS_ETH_100GBASE_CR4);
	rnic_pfcc_reg_set(&pfcc, RNIC_PFCC_REG_PPTX, 1);
	assert_int_equal(WRITE(hn, PFCC, &pfcc), 0);
	memset(&pfcc, 0, sizeof(pfcc));
	assert_int_equal(READ(hn, PFCC, &pfcc), 0);
	assert_int_equal(rnic_pfcc_reg_get(&pfcc, RNIC_PFCC_REG_PPTX), 1);
	assert_int_equal(rnic_pfcc_reg_get(&pfcc, RNIC_PFCC_REG_PPRX), 0);
	assert_int_equal(WRITE(hn, NODE_DESC, &description), 0);
	memset(description, 0, sizeof(description));
	assert_int_equal(READ(hn, NODE_DESC, &description), 0);
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
	assert_int_equal(drv_reg_read(&hn->drv, id, good, bytes), 0);
	memcpy(bad, good, sizeof(bad));
	if (id == RNIC_REG_PAOS)
		rnic_paos_reg_set((void *)bad, RNIC_PAOS_REG_ASE, 1);
	rnic_field_set(bad, field, value);
	status = drv_reg_write(&hn->drv, id, bad, bytes);
	if (status != RNIC_STATUS_BAD_PARAM)
		fail_msg("register 0x%x: status 0x%x", id, status);
	assert_int_equal(drv_reg_write(&hn->drv, id, good, bytes), 0);
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
	assert_int_equal(WRITE(hn, PCMR, &reg), 0);
	assert_int_equal(rnic_pcmr_reg_get(&reg, RNIC_PCMR_REG_FCS_CAP), 0);
	assert_int_equal(rnic_pcmr_reg_get(&reg, RNIC_PCMR_REG_FCS_CHK), 0);
}

static void
roce_is_switched_by_the_vport(void **state)
{
	struct hn *hn = *state;

	for (unsigned int on = 2; on-- > 0;) {
		assert_int_equal(drv_vport_roce_set(&hn->drv, on), 0);
		assert_int_equal(
			query_vport(hn, RNIC_ALLOWED_LIST_UC, RNIC_NIC_VPORT_CONTEXT_ROCE_EN), on);
	}
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, ctl_teardown)
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
		T(infiniband_counters_stay_at_their_end),
		T(other_registers),
		T(writes_that_registers_refuse),
		T(fcs_checks_cannot_be_switched_on),
		T(roce_is_switched_by_the_vport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
