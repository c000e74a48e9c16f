/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA between two processes, each with an end of a cable: every operation in sizes around each border, over IPv4 and IPv6, in a
 * VLAN and in none, with each path MTU that the cable has room for; and a stream of all of them over wires that lose, double, swap and damage frames.
 * All data is checked, at both ends.
 *
 *   wire_grid sizes|faults|lossy OWN_DEVARGS PEER_DEVARGS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "e2e/port.h"
#include "e2e/rdma_matrix.h"

#define SLOT	  (512u << 10) /* of a message, at either end */
#define SLOTS	  12u
#define IMMEDIATE RTE_BE32(0x0a0b0c0d)
#define IN_VLANS  3u /* link-local; IPv4, IPv6: of ip=; then those in VLANs */
#define ADDRESSES 5u

static struct rdma_end own;
static struct rdma_peer peer;
static const char *peer_devargs;
static uint64_t seed = 1, random_state = 0x9ee7;

struct message {
	uint8_t opcode;
	uint32_t length, slot;
	uint64_t seed, before; /* before: an atomic's word */
	bool posted, done;
};

struct path {
	unsigned int address;
	struct rdma_conf conf;
};

static struct rdma_answer
ask(struct rdma_order order)
{
	return rdma_peer_do(&peer, &order);
}

static uint32_t
below(uint32_t limit)
{
	return (uint32_t)(e2e_random(&random_state) >> 20) % limit;
}

/* From RESET to RTS, by those addresses of both. */
static struct rdma_answer
meet(const struct path *path)
{
	struct rdma_order order = { .kind = RDMA_ORDER_HELLO, .conf = path->conf };
	struct rdmapmd_gid_entry entry;
	struct rdma_answer there;
	struct rdma_conf conf = path->conf;

	conf.sgid_index = order.conf.sgid_index = path->address;
	there = ask(order);
	rdma_to(own.qp, RDMAPMD_QPS_RESET);
	ask((struct rdma_order){ .kind = RDMA_ORDER_RESET });
	assert_int_equal(rdmapmd_gid_query(own.context, 1, path->address, &entry), 0);
	order.kind = RDMA_ORDER_CONNECT;
	order.gid = entry.gid;
	order.qpn = own.qp->qp_num;
	/* In VLANs the drivers find each other. */
	if (path->address < IN_VLANS) {
		memcpy(order.conf.dmac, own.mac, sizeof(own.mac));
		memcpy(conf.dmac, there.mac, sizeof(there.mac));
	}
	ask(order);
	rdma_connect_to(own.qp, there.qpn, &there.gid, &conf);
	return there;
}

/* ---- Messages: several under way at a time ---- */

static bool
is_atomic(const struct message *m)
{
	return !rdma_operations[m->opcode].message;
}

static bool
takes_receive(const struct message *m)
{
	return rdma_operations[m->opcode].peer_as != RDMAPMD_WC_NOP;
}

static void
prepare(struct message *m)
{
	m->seed = seed;
	m->before = is_atomic(m) ? 0x1122334455667788 + seed : 0;
	m->posted = m->done = false;
	seed += 2;
	ask((struct rdma_order){ .kind = RDMA_ORDER_PREPARE,
				 .seed = m->seed + 1,
				 .value = m->before,
				 .length = m->length,
				 .slot = m->slot,
				 .pieces = 1,
				 .receives = takes_receive(m) });
	rdma_end_put(&own, RDMA_FROM + m->slot, m->length, 1, m->seed);
	rdma_end_blank(&own, RDMA_TO + m->slot, m->length, 1);
}

static void
post(struct message *m, uint64_t wr_id, const struct rdma_answer *there)
{
	const bool read = m->opcode == RDMAPMD_WR_RDMA_READ;
	struct rdmapmd_sge sge;
	struct rdmapmd_send_wr wr = { .wr_id = wr_id,
				      .opcode = m->opcode,
				      .send_flags = RDMAPMD_SEND_SIGNALED,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .imm_data = IMMEDIATE };

	rdma_end_pieces(&own, (read || is_atomic(m) ? RDMA_TO : RDMA_FROM) + m->slot, m->length, 1,
			&sge);
	if (is_atomic(m)) {
		wr.wr.atomic.remote_addr = there->address + RDMA_FROM + m->slot;
		wr.wr.atomic.rkey = there->keys[RDMA_REGION_ALL];
		wr.wr.atomic.compare_add =
			m->opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP ? m->before : m->seed;
		wr.wr.atomic.swap = m->seed;
	} else {
		wr.wr.rdma.remote_addr = there->address + (read ? RDMA_FROM : RDMA_TO) + m->slot;
		wr.wr.rdma.rkey = there->keys[RDMA_REGION_ALL];
	}
	rdma_post(own.qp, &wr);
	m->posted = true;
}

static void
check_receive(const struct message *m)
{
	const struct rdma_answer got = ask((struct rdma_order){ .kind = RDMA_ORDER_POLL });
	const bool immediate = m->opcode != RDMAPMD_WR_SEND;

	assert_int_equal(got.wc.status, RDMAPMD_WC_SUCCESS);
	assert_int_equal(got.wc.opcode, rdma_operations[m->opcode].peer_as);
	assert_int_equal(got.wc.byte_len, m->length);
	if (immediate)
		assert_int_equal(got.wc.imm_data, IMMEDIATE);
}

/* Its data is where it must be, and around it nothing. */
static void
check(const struct message *m)
{
	const bool read = m->opcode == RDMAPMD_WR_RDMA_READ;
	struct rdma_answer there;
	uint64_t found;
	bool right;

	if (takes_receive(m))
		check_receive(m);
	there = ask((struct rdma_order){ .kind = RDMA_ORDER_HAS,
					 .seed = m->seed,
					 .length = read || is_atomic(m) ? 0 : m->length,
					 .slot = m->slot,
					 .pieces = 1 });
	if (is_atomic(m)) {
		memcpy(&found, own.memory + RDMA_TO + m->slot, sizeof(found));
		right = found == m->before &&
			there.value == (m->opcode == RDMAPMD_WR_ATOMIC_CMP_AND_SWP
						? m->seed
						: m->before + m->seed);
	} else if (read) {
		right = rdma_end_has(&own, RDMA_TO + m->slot, m->length, 1, m->seed + 1);
	} else {
		right = there.yes;
	}
	if (!right)
		fail_msg("%s of %u bytes: its data is wrong", rdma_operations[m->opcode].name,
			 m->length);
}

/*
 * All of them at once. may_fail: one may fail because its packets got lost too often, and those behind it with it; what
 * completed well before that is right nevertheless. False: so it was.
 */
static bool
carry_out(struct message *messages, uint32_t count, const struct rdma_answer *there, bool may_fail)
{
	enum rdmapmd_wc_status expected = RDMAPMD_WC_RETRY_EXC_ERR;
	struct rdmapmd_wc wc;
	bool failed = false;
	uint32_t i;

	for (i = 0; i < count; i++)
		prepare(&messages[i]);
	for (i = 0; i < count; i++)
		post(&messages[i], i, there);
	for (i = 0; i < count; i++) {
		wc = rdma_wait(own.cq);
		assert_int_equal(wc.wr_id, i);
		messages[i].done = wc.status == RDMAPMD_WC_SUCCESS && !failed;
		if (messages[i].done) {
			assert_int_equal(wc.opcode,
					 rdma_operations[messages[i].opcode].completes_as);
			continue;
		}
		if (!may_fail || wc.status != expected)
			fail_msg("%s of %u bytes: %s", rdma_operations[messages[i].opcode].name,
				 messages[i].length, rdmapmd_wc_status_str(wc.status));
		failed = true;
		expected = RDMAPMD_WC_WR_FLUSH_ERR;
	}
	for (i = 0; i < count; i++)
		if (messages[i].done)
			check(&messages[i]);
	return !failed;
}

/* ---- Every size ---- */

static void
all_sizes(const struct path *path, uint32_t mtu)
{
	const uint32_t sizes[] = {
		0, 1, 63, 64, 65, mtu - 1, mtu, mtu + 1, 3 * mtu, 65537, 262144
	};
	struct message messages[SLOTS];
	struct rdma_answer there = meet(path);
	uint8_t opcode;
	uint32_t i;

	for (opcode = 0; opcode < RDMAPMD_WR_NOP; opcode++) {
		const uint32_t count = rdma_operations[opcode].message ? RTE_DIM(sizes) : 1;

		for (i = 0; i < count; i++)
			messages[i] = (struct message){ .opcode = opcode,
							.slot = i * SLOT,
							.length = count == 1 ? 8 : sizes[i] };
		carry_out(messages, count, &there, false);
	}
}

static void
test_sizes(void **state)
{
	static const enum rdmapmd_mtu mtus[] = { RDMAPMD_MTU_256, RDMAPMD_MTU_1024,
						 RDMAPMD_MTU_4096 };
	const unsigned int address = (unsigned int)(uintptr_t)*state;
	struct rdmapmd_port_attr port;
	unsigned int i, tried = 0;

	assert_int_equal(rdmapmd_port_query(own.context, 1, &port), 0);
	for (i = 0; i < RTE_DIM(mtus) && mtus[i] <= port.active_mtu; i++, tried++)
		all_sizes(&(struct path){ .address = address, .conf = { .mtu = mtus[i] } },
			  128u << mtus[i]);
	/* A cable for long frames takes the longest. */
	assert_int_equal(tried, getenv("E2E_MTU") != NULL ? 3 : 2);
}

/* ---- Bad wires ---- */

static uint32_t
any_length(void)
{
	const uint32_t kind = below(10);

	return kind < 5 ? below(600) : kind < 9 ? below(16384) : below(200000);
}

static void
any_messages(struct message *messages, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		messages[i] = (struct message){ .opcode = (uint8_t)below(RDMAPMD_WR_NOP),
						.slot = i * SLOT };
		messages[i].length = is_atomic(&messages[i]) ? 8 : any_length();
	}
}

static uint32_t
batches(void)
{
	return full_run() ? 4000 : default_run() ? 40 : 400;
}

/* What shows that the wire was bad: each fault leaves its traces at one end or the other. */
static uint64_t
traces(void)
{
	static const char *const names[] = { "packet_seq_err", "local_ack_timeout_err",
					     "implied_nak_seq_err", "duplicate_request",
					     "out_of_sequence" };
	struct rdma_order order = { .kind = RDMA_ORDER_COUNTER };
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(names); i++) {
		snprintf(order.counter, sizeof(order.counter), "%s", names[i]);
		sum += rdma_end_counter(&own, names[i]) + ask(order).value;
	}
	return sum;
}

/* All complete, all data is right. */
static void
test_everything_arrives(void **unused)
{
	const struct path path = { .conf = { .mtu = RDMAPMD_MTU_512, .timeout = 13 } };
	const struct rdma_answer there = meet(&path);
	struct message messages[SLOTS];
	uint32_t i;

	(void)unused;
	for (i = 0; i < batches(); i++) {
		any_messages(messages, 8);
		carry_out(messages, 8, &there, false);
	}
	printf("# %u messages, %llu traces of faults\n", 8 * i, (unsigned long long)traces());
	assert_true(traces() > 0);
}

/* On a wire that loses too much not all complete; what completes is right, and the rest fails, and is not waited for. */
static void
test_what_completes_is_right(void **unused)
{
	const struct path path = { .conf = {
					   .mtu = RDMAPMD_MTU_512, .timeout = 8, .retry_cnt = 3 } };
	struct rdma_answer there = meet(&path);
	struct message messages[SLOTS];
	uint32_t i, whole = 0;

	(void)unused;
	for (i = 0; i < batches() / 2; i++) {
		any_messages(messages, 4);
		if (carry_out(messages, 4, &there, true))
			whole++;
		else
			there = meet(&path);
	}
	printf("# %u of %u batches of 4 messages arrived whole\n", whole, i);
	assert_true(whole < i);
}

/* ---- Where it runs ---- */

static int
open_ends(void **unused)
{
	static const struct rdma_conf conf = { 0 };

	(void)unused;
	rdma_peer_start(&peer, peer_devargs);
	rdma_end_open(&own, e2e_port_name(0), &conf);
	return 0;
}

/* Both have more addresses: behind those of ip=, in this order. */
static int
open_ends_with_vlans(void **unused)
{
	static const struct {
		union rdmapmd_gid gid;
		uint16_t vlan;
	} addresses[] = {
		{ { { [10] = 0xff, [11] = 0xff, 10, 78, 0, 0 } }, 5 },
		{ { { 0xfd, 0x78 } }, 4094 },
	};
	struct rdma_order order = { .kind = RDMA_ORDER_ADDRESS };
	unsigned int i;

	open_ends(unused);
	for (i = 0; i < RTE_DIM(addresses); i++) {
		order.gid = addresses[i].gid;
		order.vlan = addresses[i].vlan;
		order.gid.raw[15] = 2;
		ask(order);
		order.gid.raw[15] = 1;
		rdma_end_address(&own, &order.gid, order.vlan);
	}
	return 0;
}

static int
close_ends(void **unused)
{
	(void)unused;
	rdma_end_close(&own);
	rdma_peer_stop(&peer);
	return 0;
}

static int
run(const char *what)
{
	const struct CMUnitTest sizes[ADDRESSES] = {
		{ "link-local", test_sizes, NULL, NULL, (void *)0 },
		{ "IPv4", test_sizes, NULL, NULL, (void *)1 },
		{ "IPv6", test_sizes, NULL, NULL, (void *)2 },
		{ "IPv4 in a VLAN", test_sizes, NULL, NULL, (void *)3 },
		{ "IPv6 in a VLAN", test_sizes, NULL, NULL, (void *)4 },
	};
	const struct CMUnitTest faults[] = { cmocka_unit_test(test_everything_arrives) };
	const struct CMUnitTest lossy[] = { cmocka_unit_test(test_what_completes_is_right) };

	if (strcmp(what, "sizes") == 0)
		return cmocka_run_group_tests(sizes, open_ends_with_vlans, close_ends);
	if (strcmp(what, "faults") == 0)
		return cmocka_run_group_tests(faults, open_ends, close_ends);
	return cmocka_run_group_tests(lossy, open_ends, close_ends);
}

int
main(int argc, char **argv)
{
	char vdev[256];
	const char *const vdevs[] = { vdev, NULL };
	int rc;

	if (argc == 4 && strcmp(argv[1], RDMA_PEER_ARGUMENT) == 0)
		return rdma_peer_main(argv);
	if (argc != 4) {
		fprintf(stderr, "wire_grid sizes|faults|lossy OWN_DEVARGS PEER_DEVARGS\n");
		return 2;
	}
	e2e_port_spec(vdev, sizeof(vdev), 0, argv[2]);
	if (e2e_init("grid", vdevs) != 0)
		return 1;
	peer_devargs = argv[3];
	rc = run(argv[1]);
	e2e_fini();
	return rc;
}
