/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What queue pairs, SRQs and the GID table ask of a device: the bytes of their commands, at the offsets that the PRM has
 * for them, with the test in the place of the command interface. And what they do when it refuses.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma_rings.h"
#include "internal.h"

#define MEMORY_IOVA 0x123456000
#define RECORD_IOVA 0x654321040
#define NUMBER	    0x000123 /* of whatever is created: RINGS_QPN */

/* ---- The rest of the driver ---- */

struct command {
	uint16_t opcode;
	uint8_t in[0x200];
	uint32_t bytes;
};
static struct command commands[16];
static unsigned int count, refused_at; /* 0: none is */
static uint8_t answer[0x200];
static unsigned int memories, records, registers;
static uint64_t record;

int
rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes,
	      void *out, uint32_t out_bytes)
{
	struct command *command = &commands[count++];

	(void)dev;
	assert_int_equal(op_mod, 0);
	assert_true(count <= RTE_DIM(commands) && in_bytes <= sizeof(command->in));
	command->opcode = opcode;
	command->bytes = in_bytes;
	memcpy(command->in, in, in_bytes);
	memset(out, 0, out_bytes);
	memcpy(out, answer, RTE_MIN(out_bytes, (uint32_t)sizeof(answer)));
	return count == refused_at ? -EINVAL : 0;
}

int
rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number)
{
	struct rnic_object_in in = { 0 };
	struct rnic_cmd_out out;

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, number);
	return rnic_cmd_exec(dev, opcode, 0, &in, sizeof(in), &out, sizeof(out));
}

int
rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
	       unsigned int rights, struct rnic_mem *mem)
{
	(void)dev;
	(void)what;
	assert_int_equal(align, 4096);
	assert_int_equal(rights, RNIC_ACCESS_READ);
	mem->length = RTE_ALIGN_CEIL(length, (size_t)4096);
	mem->address = aligned_alloc(4096, mem->length);
	mem->iova = MEMORY_IOVA;
	memories++;
	return 0;
}

void
rnic_mem_free(struct rnic_dev *dev, struct rnic_mem *mem)
{
	(void)dev;
	if (mem->address == NULL)
		return;
	free(mem->address);
	memories--;
}

void
rnic_mem_page_list(const struct rnic_mem *mem, void *list)
{
	struct rnic_be64 *entry = list;
	uint32_t i;

	for (i = 0; i < rnic_mem_page_count(mem); i++)
		entry[i] = rnic_cpu_to_be64(mem->iova + i * UINT64_C(4096));
}

int
rnic_dbrec_alloc(struct rnic_dev *dev, void **result, uint64_t *iova)
{
	(void)dev;
	*result = &record;
	*iova = RECORD_IOVA;
	records++;
	return 0;
}

void
rnic_dbrec_free(struct rnic_dev *dev, void *freed)
{
	(void)dev;
	records -= freed != NULL;
}

int
rnic_bfreg_alloc(struct rnic_dev *dev, bool low_latency, struct rnic_bfreg *reg)
{
	static uint64_t room[128];

	(void)dev;
	assert_true(low_latency);
	*reg = (struct rnic_bfreg){ .uar = 0x77, .address = room, .half = 256, .owned = true };
	registers++;
	return 0;
}

void
rnic_bfreg_free(struct rnic_dev *dev, struct rnic_bfreg *reg)
{
	(void)dev;
	registers -= reg->address != NULL;
}

int
rnic_port_set_roce(struct rnic_dev *dev, bool on)
{
	(void)dev;
	(void)on;
	return 0;
}

/* ---- A device, a PD, a CQ ---- */

struct world {
	struct rnic_dev dev;
	struct rnic_rdma rdma;
	struct rdmapmd_context context;
	struct rdmapmd_pd pd;
	struct rings *rings; /* whose CQ it is */
	struct rnic_rdma_qp qp;
	struct rnic_rdma_srq srq;
};

static const struct rdmapmd_qp_sizing sizing = {
	.sq = { .wqe_size = 64, .wqe_count = 64, .max_post = 64, .max_gs = 2, .max_inline = 12 },
	.rq = { .wqe_size = 32, .wqe_count = 128, .max_post = 128, .max_gs = 2 },
};

static int
make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	void *rings;

	assert_non_null(world);
	assert_int_equal(rings_setup(&rings), 0);
	world->rings = rings;
	rnic_rdma_qps_remove(&world->rings->cq, &world->rings->qp);
	world->rings->cq.cq.cqn = RINGS_CQN;
	world->rdma.kinds[0] = world->rings->kinds;
	world->rdma.kinds[1] = world->rings->kinds;
	world->dev.rdma = &world->rdma;
	world->dev.q_counter = 0x5a;
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_LOG_MAX_MSG, 30);
	rnic_roce_cap_set(&world->dev.caps.roce, RNIC_ROCE_CAP_ROCE_ADDRESS_TABLE_SIZE, 4);
	rnic_roce_cap_set(&world->dev.caps.roce, RNIC_ROCE_CAP_R_ROCE_MIN_SRC_UDP_PORT, 0xc000);
	rnic_roce_cap_set(&world->dev.caps.roce, RNIC_ROCE_CAP_R_ROCE_MAX_SRC_UDP_PORT, 0xffff);
	world->context.device_priv = &world->dev;
	world->pd.pdn = 0x111;
	world->qp.qp = (struct rdmapmd_qp){ .context = &world->context,
					    .pd = &world->pd,
					    .send_cq = &world->rings->cq.cq,
					    .recv_cq = &world->rings->cq.cq };
	world->srq.srq = (struct rdmapmd_srq){ .context = &world->context, .pd = &world->pd };
	memset(commands, 0, sizeof(commands));
	memset(answer, 0, sizeof(answer));
	answer[0x0a] = NUMBER >> 8;
	answer[0x0b] = NUMBER & 0xff;
	count = refused_at = 0;
	memories = records = registers = 0;
	*state = world;
	return 0;
}

static int
free_world(void **state)
{
	struct world *world = *state;
	void *rings = world->rings;

	assert_int_equal(memories + records + registers, 0);
	assert_int_equal(rings_teardown(&rings), 0);
	free(world);
	return 0;
}

static void
create(struct world *world)
{
	const struct rdmapmd_qp_init_attr attr = { 0 };

	assert_int_equal(rnic_rdma_qp_create(&world->qp.qp, &attr, &sizing), 0);
}

static const uint8_t *
expect(unsigned int index, enum rnic_cmd_opcode opcode, uint32_t bytes)
{
	assert_true(index < count);
	assert_int_equal(commands[index].opcode, opcode);
	assert_int_equal(commands[index].bytes, bytes);
	return commands[index].in;
}

/* ---- Queue pairs ---- */

static void
test_create(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	create(world);
	/* 4 KiB of receive ring, then 4 KiB of send ring: two pages. */
	in = expect(0, RNIC_CMD_CREATE_QP, 0x110 + 2 * 8);
	rings_assert_bytes(in + 0x18, "00001800 00000111 00393000 5a000077 00ffffff 00000000");
	rings_assert_bytes(in + 0x18 + 0x7c, "00000456");
	rings_assert_bytes(in + 0x18 + 0x9c, "00000456 00000006 54321040 00000000 00000000");
	rings_assert_bytes(in + 0x110, "00000001 23456000 00000001 23457000");
	assert_int_equal(world->qp.qp.qp_num, NUMBER);
	assert_ptr_equal(world->qp.sq.wq.ring, (uint8_t *)world->qp.mem.address + 4096);
	assert_ptr_equal(world->qp.rq.wq.ring, world->qp.mem.address);
	assert_ptr_equal(rnic_rdma_qps_find(&world->rings->cq, NUMBER), &world->qp);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	rings_assert_bytes(expect(1, RNIC_CMD_DESTROY_QP, 0x10) + 8, "00000123");
	assert_null(rnic_rdma_qps_find(&world->rings->cq, NUMBER));
}

static void
test_a_queue_pair_of_an_srq(void **state)
{
	const struct rdmapmd_qp_sizing sends = { .sq = sizing.sq };
	struct world *world = *state;
	const uint8_t *in;

	world->srq.srq.srqn = 0x999;
	world->qp.qp.srq = &world->srq.srq;
	assert_int_equal(
		rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 }, &sends), 0);
	in = expect(0, RNIC_CMD_CREATE_QP, 0x110 + 8);
	rings_assert_bytes(in + 0x18 + 8, "00003000");
	rings_assert_bytes(in + 0x18 + 0xac, "01000999");
	assert_null(world->qp.qp.post_recv);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_a_queue_pair_without_queues(void **state)
{
	const struct rdmapmd_qp_sizing none = { 0 };
	struct world *world = *state;
	const uint8_t *in;

	assert_int_equal(
		rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 }, &none), 0);
	in = expect(0, RNIC_CMD_CREATE_QP, 0x110);
	rings_assert_bytes(in + 0x18 + 8, "00008000");
	rings_assert_bytes(in + 0x18 + 0xac, "03000000");
	/* What a device says of requests that it cannot have is not believed. */
	rings_complete_send(world->rings, 0);
	assert_int_equal(rings_poll(world->rings, &(struct rdmapmd_wc){ 0 }), -1);
	assert_int_equal(world->rings->cq.strange, 1);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_a_refused_create_leaves_nothing(void **state)
{
	struct world *world = *state;

	refused_at = 1;
	assert_int_equal(
		rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 }, &sizing),
		-EINVAL);
	assert_int_equal(count, 1);
	assert_int_equal(memories + records + registers, 0);
}

static void
test_a_number_that_is_taken_is_given_back(void **state)
{
	struct world *world = *state;

	assert_int_equal(rnic_rdma_qps_add(&world->rings->cq, &world->rings->qp), 0);
	assert_int_equal(
		rnic_rdma_qp_create(&world->qp.qp, &(struct rdmapmd_qp_init_attr){ 0 }, &sizing),
		-EEXIST);
	expect(1, RNIC_CMD_DESTROY_QP, 0x10);
	assert_int_equal(memories + records + registers, 0);
}

/* ---- States ---- */

static const struct rdmapmd_qp_attr attributes = {
	.path_mtu = RDMAPMD_MTU_1024,
	.rq_psn = 0xaaaaaa,
	.sq_psn = 0xbbbbbb,
	.dest_qp_num = 0xcccccc,
	.qp_access_flags = RDMAPMD_ACCESS_REMOTE_WRITE | RDMAPMD_ACCESS_REMOTE_READ |
			   RDMAPMD_ACCESS_REMOTE_ATOMIC,
	.ah_attr = { .dgid = { { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 } },
		     .dmac = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 },
		     .flow_label = 0x12345,
		     .sgid_index = 3,
		     .hop_limit = 64,
		     .traffic_class = 0x68,
		     .sl = 5,
		     .port_num = 1 },
	.max_rd_atomic = 16,
	.max_dest_rd_atomic = 5,
	.min_rnr_timer = 12,
	.port_num = 1,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 6,
};

#define NEEDS_INIT \
	(RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT | RDMAPMD_QP_ACCESS_FLAGS)
#define NEEDS_RTR                                                                       \
	(RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_PATH_MTU | RDMAPMD_QP_DEST_QPN | \
	 RDMAPMD_QP_RQ_PSN | RDMAPMD_QP_MAX_DEST_RD_ATOMIC | RDMAPMD_QP_MIN_RNR_TIMER)
#define NEEDS_RTS                                                                              \
	(RDMAPMD_QP_STATE | RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT | RDMAPMD_QP_RNR_RETRY | \
	 RDMAPMD_QP_SQ_PSN | RDMAPMD_QP_MAX_QP_RD_ATOMIC)

static void
modify(struct world *world, unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, mask, from, to), 0);
}

static void
test_to_rts(void **state)
{
	struct world *world = *state;
	const uint8_t *in;

	create(world);
	assert_false(world->qp.rq.open);
	modify(world, NEEDS_INIT, RDMAPMD_QPS_RESET, RDMAPMD_QPS_INIT);
	in = expect(1, RNIC_CMD_RST2INIT_QP, 0x110);
	rings_assert_bytes(in + 8, "00000123 00000000 00000000");
	rings_assert_bytes(in + 0x18, "00001800");
	/* Nothing to answer READs with yet: writes alone. */
	rings_assert_bytes(in + 0x18 + 0x90, "00004000");
	rings_assert_bytes(in + 0x18 + 0x18 + 0x24, "00010000");
	assert_true(world->qp.rq.open && !world->qp.sq.open);

	modify(world, NEEDS_RTR, RDMAPMD_QPS_INIT, RDMAPMD_QPS_RTR);
	in = expect(2, RNIC_CMD_INIT2RTR_QP, 0x110);
	/* READs and atomics, now that there is room for 5 of them: 2^3. */
	rings_assert_bytes(in + 0x10, "00000006");
	rings_assert_bytes(in + 0x18 + 8, "7e000000");
	rings_assert_bytes(in + 0x18 + 0x14, "00cccccc");
	rings_assert_bytes(in + 0x18 + 0x18, "00000000 00000000 00030040 06812345"
					     "fe800000 00000000 01020304 05060708"
					     "001a");
	assert_true(in[0x18 + 0x18 + 0x22] >= 0xc0);
	rings_assert_bytes(in + 0x18 + 0x18 + 0x24, "50010211 22334455");
	rings_assert_bytes(in + 0x18 + 0x90, "0061e000 0caaaaaa");
	assert_true(world->qp.rq.open && !world->qp.sq.open);

	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	in = expect(3, RNIC_CMD_RTR2RTS_QP, 0x110);
	rings_assert_bytes(in + 0x10, "00000000");
	rings_assert_bytes(in + 0x18 + 0x18 + 8, "70000000");
	rings_assert_bytes(in + 0x18 + 0x70, "0087c000");
	rings_assert_bytes(in + 0x18 + 0x78, "00bbbbbb");
	assert_true(world->qp.rq.open && world->qp.sq.open);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	expect(4, RNIC_CMD_2RST_QP, 0x10);
	expect(5, RNIC_CMD_DESTROY_QP, 0x10);
}

static void
test_each_change_has_its_command(void **state)
{
	static const struct {
		enum rdmapmd_qp_state from, to;
		unsigned int mask;
		enum rnic_cmd_opcode opcode;
		uint32_t optional;
	} kinds[] = {
		{ RDMAPMD_QPS_INIT, RDMAPMD_QPS_INIT, NEEDS_INIT, RNIC_CMD_INIT2INIT_QP, 0x1001e },
		{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_RTS, RDMAPMD_QP_STATE | RDMAPMD_QP_MIN_RNR_TIMER,
		  RNIC_CMD_RTS2RTS_QP, 0x40 },
		{ RDMAPMD_QPS_RTS, RDMAPMD_QPS_SQD, RDMAPMD_QP_STATE, RNIC_CMD_RTS2SQD_QP, 0 },
		{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_SQD,
		  RDMAPMD_QP_STATE | RDMAPMD_QP_AV | RDMAPMD_QP_TIMEOUT | RDMAPMD_QP_RETRY_CNT |
			  RDMAPMD_QP_RNR_RETRY | RDMAPMD_QP_MAX_QP_RD_ATOMIC |
			  RDMAPMD_QP_MAX_DEST_RD_ATOMIC,
		  RNIC_CMD_SQD2SQD_QP, 0x17386 },
		{ RDMAPMD_QPS_SQD, RDMAPMD_QPS_RTS, RDMAPMD_QP_STATE | RDMAPMD_QP_ACCESS_FLAGS,
		  RNIC_CMD_SQD_RTS_QP, 0xe },
	};
	struct world *world = *state;
	unsigned int i;
	uint8_t in[4];

	create(world);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		modify(world, kinds[i].mask, kinds[i].from, kinds[i].to);
		memcpy(in, expect(1 + i, kinds[i].opcode, 0x110) + 0x10, sizeof(in));
		assert_int_equal(in[0] << 24 | in[1] << 16 | in[2] << 8 | in[3], kinds[i].optional);
	}
	modify(world, RDMAPMD_QP_STATE, RDMAPMD_QPS_RTS, RDMAPMD_QPS_ERR);
	expect(count - 1, RNIC_CMD_2ERR_QP, 0x10);
	assert_true(world->qp.sq.open && world->qp.rq.open);
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, RDMAPMD_QP_STATE,
					     RDMAPMD_QPS_RTR, RDMAPMD_QPS_SQD),
			 -EINVAL);
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

static void
test_to_reset_forgets_everything(void **state)
{
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };
	struct world *world = *state;
	struct rdmapmd_wc wc;

	create(world);
	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 1);
	rings_complete_send(world->rings, 0);
	modify(world, RDMAPMD_QP_STATE, RDMAPMD_QPS_RTS, RDMAPMD_QPS_RESET);
	expect(2, RNIC_CMD_2RST_QP, 0x10);
	assert_int_equal(rings_poll(world->rings, &wc), -1);
	assert_int_equal(rnic_rdma_qp_outstanding(&world->qp.qp), 0);
	assert_int_equal(record, 0);
	assert_int_equal(rdmapmd_post_send(&world->qp.qp, &nop, 1), 0);
	assert_int_equal(world->qp.qp.post_send_error, -EPERM);
	/* In RESET already: one command is enough. */
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
	assert_int_equal(count, 4);
}

static void
test_a_refused_change_changes_nothing(void **state)
{
	struct world *world = *state;

	create(world);
	modify(world, NEEDS_RTS, RDMAPMD_QPS_RTR, RDMAPMD_QPS_RTS);
	refused_at = count + 1;
	assert_int_equal(rnic_rdma_qp_modify(&world->qp.qp, &attributes, RDMAPMD_QP_STATE,
					     RDMAPMD_QPS_RTS, RDMAPMD_QPS_RESET),
			 -EINVAL);
	assert_true(world->qp.sq.open);
	/* Gone all the same, whatever the device says. */
	refused_at = count + 2;
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), -EINVAL);
}

static void
test_query(void **state)
{
	static const struct {
		uint8_t device;
		enum rdmapmd_qp_state state;
		bool draining;
	} kinds[] = {
		{ 0, RDMAPMD_QPS_RESET, false }, { 1, RDMAPMD_QPS_INIT, false },
		{ 2, RDMAPMD_QPS_RTR, false },	 { 3, RDMAPMD_QPS_RTS, false },
		{ 5, RDMAPMD_QPS_SQD, false },	 { 7, RDMAPMD_QPS_SQD, true },
		{ 6, RDMAPMD_QPS_ERR, false },
	};
	struct world *world = *state;
	struct rdmapmd_qp_attr attr;
	unsigned int i;

	create(world);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		attr = attributes;
		answer[0x18] = (uint8_t)(kinds[i].device << 4);
		answer[0x18 + 0x7b] = 0x11;
		answer[0x18 + 0x97] = 0x22;
		assert_int_equal(rnic_rdma_qp_query(&world->qp.qp, &attr), 0);
		rings_assert_bytes(expect(1 + i, RNIC_CMD_QUERY_QP, 0x10) + 8, "00000123");
		assert_int_equal(attr.qp_state, kinds[i].state);
		assert_int_equal(attr.sq_draining, kinds[i].draining);
		assert_int_equal(attr.sq_psn, kinds[i].device > 1 ? 0x11 : 0xbbbbbb);
		assert_int_equal(attr.rq_psn, kinds[i].device > 1 ? 0x22 : 0xaaaaaa);
	}
	assert_int_equal(rnic_rdma_qp_destroy(&world->qp.qp), 0);
}

/* ---- SRQs, GIDs ---- */

static void
test_srq_commands(void **state)
{
	const struct rdmapmd_srq_sizing srq_sizing = {
		.wqe_size = 64, .wqe_count = 128, .max_post = 127, .max_gs = 3
	};
	struct world *world = *state;
	const uint8_t *in;
	uint32_t limit;

	assert_int_equal(rnic_rdma_srq_create(&world->srq.srq, &srq_sizing), 0);
	in = expect(0, RNIC_CMD_CREATE_RMP, 0x110 + 2 * 8);
	rings_assert_bytes(in + 0x20, "00100000 00000000");
	rings_assert_bytes(in + 0x50, "00000000 00000000 00000111 00000000 00000006 54321040"
				      "00000000 00000000 00060007");
	rings_assert_bytes(in + 0x110, "00000001 23456000 00000001 23457000");
	assert_int_equal(world->srq.srq.srqn, NUMBER);
	assert_int_equal(rnic_rdma_srq_arm(&world->srq.srq, 17), 0);
	in = expect(1, RNIC_CMD_MODIFY_RMP, 0x110);
	rings_assert_bytes(in + 8, "10000123 00000000 00000000 00000001");
	rings_assert_bytes(in + 0x20, "00100000");
	rings_assert_bytes(in + 0x54, "00000011");
	answer[0x57] = 9;
	assert_int_equal(rnic_rdma_srq_query(&world->srq.srq, &limit), 0);
	assert_int_equal(limit, 9);
	assert_int_equal(rnic_rdma_srq_destroy(&world->srq.srq), 0);
	rings_assert_bytes(expect(3, RNIC_CMD_DESTROY_RMP, 0x10) + 8, "00000123");
	refused_at = 5;
	assert_int_equal(rnic_rdma_srq_create(&world->srq.srq, &srq_sizing), -EINVAL);
}

static void
test_gids(void **state)
{
	static const struct rdmapmd_gid_entry ipv4 = {
		.gid = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } },
		.gid_type = RDMAPMD_GID_TYPE_ROCE_V2,
		.mac = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 },
	};
	static const struct rdmapmd_gid_entry none;
	struct world *world = *state;
	struct rdmapmd_gid_entry entry;

	assert_int_equal(rnic_gid_set(&world->dev, 3, &ipv4), 0);
	rings_assert_bytes(expect(0, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00030000 00000000 00000000 00000000 0000ffff c0000201"
			   "00000211 22334455 00000002 00000000");
	assert_int_equal(rnic_gid_set(&world->dev, 3, &none), 0);
	rings_assert_bytes(expect(1, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00030000 00000000 00000000 00000000 00000000 00000000"
			   "00000000 00000000 00000000 00000000");
	memcpy(answer + 0x10, commands[0].in + 0x10, 0x20);
	assert_int_equal(rnic_gid_query(&world->dev, 2, &entry), 0);
	rings_assert_bytes(expect(2, RNIC_CMD_QUERY_ROCE_ADDRESS, 0x10) + 8, "00020000 00000000");
	assert_memory_equal(&entry.gid, &ipv4.gid, sizeof(entry.gid));
	assert_memory_equal(entry.mac, ipv4.mac, sizeof(entry.mac));
	assert_int_equal(entry.gid_type, RDMAPMD_GID_TYPE_ROCE_V2);
	assert_int_equal(rnic_gid_set(&world->dev, 4, &ipv4), -EINVAL);
	assert_int_equal(rnic_gid_query(&world->dev, 4, &entry), -EINVAL);
	assert_int_equal(count, 3);
}

static void
test_a_port_has_its_link_local_address(void **state)
{
	struct world *world = *state;

	memcpy(world->dev.mac, (uint8_t[6]){ 2, 0x11, 0x22, 0x33, 0x44, 0x55 }, 6);
	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	rings_assert_bytes(expect(0, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 8,
			   "00000000 00000000 fe800000 00000000 001122ff fe334455"
			   "00000211 22334455 00000102 00000000");
	rnic_gids_down(&world->dev);
	rings_assert_bytes(expect(1, RNIC_CMD_SET_ROCE_ADDRESS, 0x30) + 0x10, "00000000");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, free_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create),
		TEST(test_a_queue_pair_of_an_srq),
		TEST(test_a_queue_pair_without_queues),
		TEST(test_a_refused_create_leaves_nothing),
		TEST(test_a_number_that_is_taken_is_given_back),
		TEST(test_to_rts),
		TEST(test_each_change_has_its_command),
		TEST(test_to_reset_forgets_everything),
		TEST(test_a_refused_change_changes_nothing),
		TEST(test_query),
		TEST(test_srq_commands),
		TEST(test_gids),
		TEST(test_a_port_has_its_link_local_address),
	};

	return cmocka_run_group_tests_name("rdma_commands", tests, NULL, NULL);
}
