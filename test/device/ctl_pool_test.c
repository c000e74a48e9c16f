/* SPDX-License-Identifier: BSD-3-Clause */

/* What queue pairs lean on, by its commands: counter sets, receive memory pools, the table of GIDs. */
#include "ctl_world.h"
#include "driver/counter.h"
#include "driver/rmp.h"
#include "driver/roce_addr.h"
/* Counters get values of the test's own, each another one; pools and GIDs are looked at as the device took them. */
#include "softrnic/base/device.h"
#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/receive/rmp.h"
#include "softrnic/receive/roce.h"

/* Each counter at the place that has its name; then they are cleared. */
static void
counters_are_reported_by_name(void **state)
{
	struct world *w = *state;
	struct softrnic_q_counter *counter =
		softrnic_object_get(w->hn.dev, SOFTRNIC_Q_COUNTER, w->counter);
	struct rnic_query_q_counter_out out;
	uint64_t *values = (uint64_t *)&counter->roce;

	for (unsigned int i = 0; i < sizeof(counter->roce) / sizeof(*values); i++)
		values[i] = 1000 + i;
	assert_int_equal(drv_q_counter_query(&w->hn.drv, w->counter, true, &out), 0);
#define IS(name, offset)                         \
	assert_int_equal(hn_get32(&out, offset), \
			 1000 + offsetof(struct roce_counters, name) / sizeof(uint64_t))
	/* Offsets as Linux has them. */
	IS(rx_write_requests, 0x10);
	IS(rx_read_requests, 0x18);
	IS(rx_atomic_requests, 0x20);
	IS(out_of_buffer, 0x30);
	IS(out_of_sequence, 0x38);
	IS(duplicate_request, 0x40);
	IS(rnr_nak_retry_err, 0x48);
	IS(packet_seq_err, 0x50);
	IS(implied_nak_seq_err, 0x58);
	IS(local_ack_timeout_err, 0x60);
	IS(resp_local_length_error, 0x78);
	IS(resp_cqe_error, 0x90);
	IS(req_cqe_error, 0x94);
	IS(req_remote_invalid_request, 0xa0);
	IS(req_remote_access_errors, 0xa8);
	IS(resp_remote_access_errors, 0xac);
	IS(resp_cqe_flush_error, 0xbc);
	IS(req_cqe_flush_error, 0xc0);
#undef IS
	assert_int_equal(drv_q_counter_query(&w->hn.drv, w->counter, false, &out), 0);
	for (unsigned int at = 0x10; at < sizeof(out); at += 4)
		assert_int_equal(hn_get32(&out, at), 0);
}

/* ---- Receive memory pools ---- */

static struct rnic_rmpc
query_rmp(struct world *w, uint32_t rmpn)
{
	struct rnic_rmpc rmpc;

	assert_int_equal(drv_rmp_query(&w->hn.drv, rmpn, &rmpc), RNIC_STATUS_OK);
	return rmpc;
}

static uint64_t
limit_of(struct world *w, uint32_t rmpn)
{
	struct rnic_rmpc rmpc = query_rmp(w, rmpn);

	return rnic_wq_get(rnic_rmpc_wq(&rmpc), RNIC_WQ_LWM);
}

static void
pools_as_created(void **state)
{
	struct world *w = *state;
	struct rnic_create_rmp_in *in = world_good(w, RNIC_CMD_CREATE_RMP);
	struct rnic_rmpc given = *rnic_create_rmp_in_rmpc(in), told;
	struct softrnic_rmp *rmp;
	uint32_t rmpn;

	assert_int_equal(world_run(w, &rmpn), RNIC_STATUS_OK);
	told = query_rmp(w, rmpn);
	assert_memory_equal(&told, &given, sizeof(given));
	rmp = softrnic_object_get(w->hn.dev, SOFTRNIC_RMP, rmpn);
	assert_int_equal(rmp->log_size, 2);
	assert_int_equal(rmp->log_stride, 5);
	assert_int_equal(rmp->ring.bytes, 4 << 5);
	assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_RMP, rmpn), 0);
}

/* WQEs posted to the loose pool, as its record says. */
static void
post_to_pool(struct world *w, uint32_t count)
{
	struct rnic_be32 *dbrec = hn_va(&w->hn, w->memory + 8192);

	__atomic_store_n(&dbrec->raw, RNIC_SWAP32(count), __ATOMIC_RELEASE);
}

/* At once when fewer are left already; never for 0. */
static void
a_pool_tells_of_its_limit_once(void **state)
{
	struct world *w = *state;
	struct drv *drv = &w->hn.drv;
	struct rnic_eqe eqe;
	struct hn_eq eq;

	ctl_event_queue(&w->hn, &eq, RNIC_EVENT_SRQ_LIMIT);
	post_to_pool(w, 3);
	assert_int_equal(drv_rmp_limit_set(drv, w->loose_rmp, 3), 0);
	assert_int_equal(limit_of(w, w->loose_rmp), 3);
	assert_false(hn_eq_next(&w->hn, &eq, &eqe));
	assert_int_equal(drv_rmp_limit_set(drv, w->loose_rmp, 4), 0);
	assert_true(hn_eq_next(&w->hn, &eq, &eqe));
	assert_int_equal(eqe.type, RNIC_EVENT_SRQ_LIMIT);
	assert_int_equal(hn_get32(&eqe, 0x38) & 0xffffff, w->loose_rmp);
	assert_int_equal(limit_of(w, w->loose_rmp), 0);
	assert_int_equal(drv_rmp_limit_set(drv, w->loose_rmp, 0), 0);
	assert_false(hn_eq_next(&w->hn, &eq, &eqe));
}

static void
a_pool_in_error_stays_there(void **state)
{
	struct world *w = *state;
	struct drv *drv = &w->hn.drv;
	struct rnic_rmpc rmpc;

	assert_int_equal(drv_rmp_modify(drv, w->rmp, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	rmpc = query_rmp(w, w->rmp);
	assert_int_equal(rnic_rmpc_get(&rmpc, RNIC_RMPC_STATE), RNIC_WQ_STATE_ERR);
	assert_int_equal(drv_rmp_limit_set(drv, w->rmp, 2), RNIC_STATUS_BAD_RES_STATE);
	assert_int_equal(drv_rmp_modify(drv, w->rmp, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RDY),
			 RNIC_STATUS_BAD_RES_STATE);
	assert_int_equal(drv_rmp_modify(drv, w->rmp, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_ERR), 0);
}

/* ---- GIDs ---- */

static int
set_gid(struct world *w, uint32_t index, const uint8_t gid[16], unsigned int type)
{
	struct rnic_set_roce_address_in *in = world_good(w, RNIC_CMD_SET_ROCE_ADDRESS);
	struct rnic_roce_addr *address = rnic_set_roce_address_in_roce_address(in);

	rnic_set_roce_address_in_set(in, RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, index);
	memcpy(address, gid, 16);
	rnic_roce_addr_set(address, RNIC_ROCE_ADDR_ROCE_L3_TYPE, type);
	return world_run(w, NULL);
}

static const struct rnic_roce_addr *
get_gid(struct world *w, uint32_t index)
{
	static struct rnic_roce_addr entry;

	assert_int_equal(drv_roce_addr_query(&w->hn.drv, index, &entry), RNIC_STATUS_OK);
	return &entry;
}

static void
the_table_of_gids(void **state)
{
	static const uint8_t mac[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 };
	static const struct rnic_roce_addr empty;
	struct world *w = *state;
	uint8_t gid[16] = { 0xfe, 0x80 }, none[16] = { 0 };

	for (unsigned int i = 0; i < SOFTRNIC_ROCE_ADDRS; i++) {
		gid[15] = (uint8_t)i;
		assert_int_equal(set_gid(w, i, gid, RNIC_ROCE_L3_TYPE_IPV6), RNIC_STATUS_OK);
	}
	for (unsigned int i = 0; i < SOFTRNIC_ROCE_ADDRS; i++) {
		const struct softrnic_roce_addr *entry = &w->hn.dev->roce_addrs[i];

		gid[15] = (uint8_t)i;
		assert_true(entry->valid);
		assert_memory_equal(entry->gid, gid, 16);
		assert_memory_equal(entry->mac, mac, 6);
		assert_memory_equal(get_gid(w, i), gid, 16);
		assert_int_equal(rnic_roce_addr_get(get_gid(w, i), RNIC_ROCE_ADDR_SOURCE_MAC_31_0),
				 0x22334455);
	}
	/* Taken back as Linux does it: everything is zero, the version as well. */
	world_good(w, RNIC_CMD_SET_ROCE_ADDRESS);
	memset(w->in + 0x10, 0, 0x20);
	rnic_set_roce_address_in_set((void *)w->in, RNIC_SET_ROCE_ADDRESS_IN_ROCE_ADDRESS_INDEX, 5);
	assert_int_equal(world_run(w, NULL), RNIC_STATUS_OK);
	assert_false(w->hn.dev->roce_addrs[5].valid);
	assert_memory_equal(get_gid(w, 5), &empty, sizeof(empty));
	assert_int_equal(set_gid(w, 6, none, RNIC_ROCE_L3_TYPE_IPV4), RNIC_STATUS_OK);
	assert_memory_equal(get_gid(w, 6), &empty, sizeof(empty));
	assert_true(w->hn.dev->roce_addrs[7].valid);
	/* A refusal leaves the entry that is there. */
	assert_int_equal(set_gid(w, 7, world_gid, RNIC_ROCE_L3_TYPE_IPV6), RNIC_STATUS_BAD_PARAM);
	gid[15] = 7;
	assert_memory_equal(get_gid(w, 7), gid, 16);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, ctl_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counters_are_reported_by_name),
		TEST(pools_as_created),
		TEST(a_pool_tells_of_its_limit_once),
		TEST(a_pool_in_error_stays_there),
		TEST(the_table_of_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
