/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dbrec.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/mem.h"
#include "core/uar.h"
#include "neigh/neigh.h"
#include "object/port.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "rdma/event.h"
#include "rdma/gid.h"
#include "rdma/qp.h"
#include "rdma/qps.h"
#include "rdma/vector.h"
#include "rdma_commands.h"

struct command commands[64];
unsigned int commands_count, commands_refused_at, commands_gid_changes, commands_neighbours;
uint8_t commands_answer[0x200];
void (*commands_during)(const struct command *command);
void *commands_memory;
uint64_t commands_record;
static unsigned int memories, records, registers;

unsigned int
commands_resources(void)
{
	return memories + records + registers;
}

/* ---- The rest of the driver ---- */

int
rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes,
	      void *out, uint32_t out_bytes)
{
	struct command *command = &commands[commands_count++];

	(void)dev;
	assert_true(commands_count <= RTE_DIM(commands) && in_bytes <= sizeof(command->in));
	command->opcode = opcode;
	command->op_mod = op_mod;
	command->bytes = in_bytes;
	memcpy(command->in, in, in_bytes);
	memset(out, 0, out_bytes);
	memcpy(out, commands_answer, RTE_MIN(out_bytes, (uint32_t)sizeof(commands_answer)));
	if (commands_count == commands_refused_at)
		return -EINVAL;
	if (commands_during != NULL)
		commands_during(command);
	return 0;
}

int
rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in, uint32_t in_bytes,
	     void *out, uint32_t out_bytes)
{
	return rnic_cmd_exec(dev, opcode, op_mod, in, in_bytes, out, out_bytes);
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
rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_object_out out;
	int rc = rnic_cmd_exec(dev, opcode, 0, &in, sizeof(in), &out, sizeof(out));

	*number = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return rc;
}

int
rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
	       unsigned int rights, struct rnic_mem *mem)
{
	(void)dev;
	assert_int_equal(align, 4096);
	/* The device writes completions, and reads requests. */
	assert_int_equal(rights, strcmp(what, "a completion queue") == 0
					 ? RNIC_ACCESS_READ | RNIC_ACCESS_WRITE
					 : RNIC_ACCESS_READ);
	mem->length = RTE_ALIGN_CEIL(length, (size_t)4096);
	mem->address = commands_memory = aligned_alloc(4096, mem->length);
	mem->iova = COMMANDS_MEMORY_IOVA;
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
	*result = &commands_record;
	*iova = COMMANDS_RECORD_IOVA;
	records++;
	return 0;
}

void
rnic_dbrec_free(struct rnic_dev *dev, void *freed)
{
	(void)dev;
	records -= freed != NULL;
}

struct rnic_bfreg *
rnic_bfreg_alloc(struct rnic_dev *dev, unsigned int kinds)
{
	static uint64_t room[64] __attribute__((aligned(512)));
	static struct rnic_bfreg reg;

	(void)dev;
	assert_int_equal(kinds, RNIC_BFREG_LOW_LATENCY);
	reg = (struct rnic_bfreg){
		.uar = COMMANDS_UAR, .address = room, .half = 256, .kind = RNIC_BFREG_LOW_LATENCY
	};
	registers++;
	return &reg;
}

struct rnic_bfreg *
rnic_bfreg_share(struct rnic_dev *dev, struct rnic_bfreg *reg)
{
	(void)dev;
	registers++;
	return reg;
}

int
rnic_bfreg_free(struct rnic_dev *dev, struct rnic_bfreg *reg)
{
	(void)dev;
	registers -= reg != NULL;
	return 0;
}

uint32_t
rnic_uars_cq_page(struct rnic_dev *dev)
{
	(void)dev;
	return COMMANDS_UAR;
}

volatile void *
rnic_uars_cq_register(struct rnic_dev *dev)
{
	static uint64_t reg;

	(void)dev;
	return &reg;
}

uint32_t
rnic_eq_number(const struct rnic_eq *eq)
{
	assert_null(eq);
	return COMMANDS_EQN;
}

int
rnic_rdma_vector_eq(struct rnic_dev *dev, uint32_t vector, struct rnic_eq **eq)
{
	(void)dev;
	assert_int_equal(vector, 0);
	*eq = NULL;
	return 0;
}

void
rnic_eq_suspect(struct rnic_eq *eq)
{
	(void)eq;
}

void
rnic_control_sync(struct rnic_dev *dev)
{
	(void)dev;
}

/* Addresses that are let in: their number, and the one that came or went last. */
unsigned int commands_macs;
uint8_t commands_mac[6];

int
rnic_port_add_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	(void)dev;
	memcpy(commands_mac, mac, sizeof(commands_mac));
	commands_macs++;
	return 0;
}

int
rnic_port_del_mac(struct rnic_dev *dev, const uint8_t mac[6])
{
	(void)dev;
	memcpy(commands_mac, mac, sizeof(commands_mac));
	commands_macs--;
	return 0;
}

int
rnic_port_add_group(struct rnic_dev *dev, const uint8_t mac[6])
{
	return rnic_port_add_mac(dev, mac);
}

int
rnic_port_del_group(struct rnic_dev *dev, const uint8_t mac[6])
{
	return rnic_port_del_mac(dev, mac);
}

uint16_t commands_mtu;

int
rnic_port_mtu(struct rnic_dev *dev, uint16_t *mtu)
{
	(void)dev;
	*mtu = commands_mtu;
	return 0;
}

int
rnic_port_set_roce(struct rnic_dev *dev, bool on)
{
	(void)dev;
	(void)on;
	return 0;
}

void
rnic_port_on_mac(struct rnic_dev *dev, int (*follow)(struct rnic_dev *dev))
{
	dev->follow_mac = follow;
}

void
rnic_rdma_port_event(struct rnic_dev *dev, enum rdmapmd_event_type type)
{
	(void)dev;
	assert_int_equal(type, RDMAPMD_EVENT_GID_CHANGE);
	commands_gid_changes++;
}

/* Neighbours have tests of their own. */
int
rnic_neigh_setup(struct rnic_dev *dev, uint32_t addresses, const struct rnic_neigh_above *above)
{
	(void)dev;
	(void)addresses;
	(void)above;
	return 0;
}

void
rnic_neigh_down(struct rnic_dev *dev)
{
	(void)dev;
}

uint8_t commands_own[16], commands_not_own[16];
unsigned int commands_mac_changes;

/* No other thread changes the table meanwhile: else an address may be answered for that is not there. */
static void
assert_table_is_locked(struct rnic_dev *dev)
{
	assert_int_equal(pthread_mutex_trylock(&dev->rdma->gids_lock), EBUSY);
}

void
rnic_neigh_add(struct rnic_dev *dev, const uint8_t gid[16], uint16_t vlan, bool lazy)
{
	(void)vlan;
	assert_table_is_locked(dev);
	memcpy(commands_own, gid, sizeof(commands_own));
	commands_neighbours += !lazy;
}

void
rnic_neigh_del(struct rnic_dev *dev, const uint8_t gid[16], uint16_t vlan)
{
	(void)vlan;
	assert_table_is_locked(dev);
	memcpy(commands_not_own, gid, sizeof(commands_not_own));
}

void
rnic_neigh_follow_mac(struct rnic_dev *dev)
{
	assert_table_is_locked(dev);
	commands_mac_changes++;
}

int
rnic_neigh_resolve(struct rnic_dev *dev, const uint8_t gid[16], const uint8_t own[16],
		   uint16_t vlan, uint32_t timeout_ms, uint8_t mac[6])
{
	(void)dev;
	(void)vlan;
	(void)gid;
	(void)own;
	(void)timeout_ms;
	(void)mac;
	return -EHOSTUNREACH;
}

/* Of the library: no CQ here has a channel. */
int
rdmapmd_table_insert(struct rdmapmd_table *table, uint64_t number, struct rdmapmd_handle *handle)
{
	(void)table;
	(void)number;
	(void)handle;
	fail();
	return 0;
}

int
rdmapmd_table_remove(struct rdmapmd_table *table, uint64_t number, struct rdmapmd_handle **handle)
{
	(void)table;
	(void)number;
	(void)handle;
	fail();
	return 0;
}

/* ---- A device, a PD, a CQ ---- */

const struct rdmapmd_qp_sizing commands_sizing = {
	.sq = { .wqe_size = 64, .wqe_count = 64, .max_post = 64, .max_gs = 2, .max_inline = 12 },
	.rq = { .wqe_size = 32, .wqe_count = 128, .max_post = 128, .max_gs = 2 },
};

static void
forget_commands(void)
{
	memset(commands, 0, sizeof(commands));
	commands_count = commands_refused_at = commands_gid_changes = commands_neighbours = 0;
	commands_mac_changes = 0;
	commands_during = NULL;
}

int
commands_setup_bare(void **state)
{
	static const uint8_t mac[6] = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 };
	struct world *world = calloc(1, sizeof(*world));
	unsigned int i;
	void *rings;

	assert_non_null(world);
	assert_int_equal(rings_setup(&rings), 0);
	world->rings = rings;
	rnic_rdma_qps_remove(&world->rings->cq, &world->rings->qp);
	world->rings->cq.cq.cqn = RINGS_CQN;
	for (i = 0; i < RTE_DIM(world->rdma.kinds); i++)
		world->rdma.kinds[i] = world->rings->kinds;
	world->counters.number = 0x5a;
	world->dev.qp_counters = &world->counters;
	world->dev.rdma = &world->rdma;
	memcpy(world->dev.mac, mac, sizeof(mac));
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_LOG_MAX_MSG, 30);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_LOG_MAX_CQ_SZ, 10);
	rnic_general_cap_set(&world->dev.caps.general, RNIC_GENERAL_CAP_MAX_QP_CNT, 1);
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
	memset(commands_answer, 0, sizeof(commands_answer));
	commands_answer[0x0a] = COMMANDS_NUMBER >> 8;
	commands_answer[0x0b] = COMMANDS_NUMBER & 0xff;
	memories = records = registers = 0;
	forget_commands();
	*state = world;
	return 0;
}

int
commands_setup(void **state)
{
	union rdmapmd_gid gid = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 0 } };
	struct world *world;
	uint32_t i, index;

	assert_int_equal(commands_setup_bare(state), 0);
	world = *state;
	assert_int_equal(rnic_gids_setup(&world->dev), 0);
	for (i = 1; i < 4; i++) {
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(rnic_gid_add(&world->dev, &gid, &index), 0);
		assert_int_equal(index, i);
	}
	forget_commands();
	return 0;
}

int
commands_teardown(void **state)
{
	struct world *world = *state;
	void *rings = world->rings;

	forget_commands();
	rnic_gids_down(&world->dev);
	assert_int_equal(commands_resources(), 0);
	assert_int_equal(rings_teardown(&rings), 0);
	free(world);
	return 0;
}

void
commands_create_qp(struct world *world)
{
	const struct rdmapmd_qp_init_attr attr = { 0 };

	assert_int_equal(rnic_rdma_qp_create(&world->qp.qp, &attr, &commands_sizing), 0);
}

const uint8_t *
commands_expect(unsigned int index, enum rnic_cmd_opcode opcode, uint32_t bytes)
{
	assert_true(index < commands_count);
	assert_int_equal(commands[index].opcode, opcode);
	assert_int_equal(commands[index].bytes, bytes);
	return commands[index].in;
}
