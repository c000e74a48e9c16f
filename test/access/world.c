/* SPDX-License-Identifier: BSD-3-Clause */

#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_log.h>
#include <rte_malloc.h>

#include "access/access.h"
#include "access/direct.h"
#include "access/vfio.h"
#include "access/vfio_user.h"
#include "base/clock.h"
#include "base/devargs.h"
#include "base/log.h"
#include "bringup.h"
#include "core/dev.h"
#include "fake_vfio.h"
#include "prm/cmd.h"
#include "prm/cmdq.h"
#include "prm/init_seg.h"

#define TOKEN	    0x77
#define QUERY_BYTES 112
#define PATIENCE_US 20000000

struct world world;
static struct unit_account account;

static const char *const devices[] = { "name=a,wire=loop,seed=1,mac=02:00:00:00:00:0a",
				       "name=b,id=8086:100e", NULL };

int
world_open(struct rnic_access **access)
{
	if (world.vfio)
		return rnic_access_vfio_open(UNIT_DEVICE, &world.args, access);
	return world.remote ? rnic_access_vfio_user_open(UNIT_DEVICE, &world.args, unit_tunables(),
							 access)
			    : rnic_access_direct_open(UNIT_DEVICE, &world.args, access);
}

int
world_setup(void **state)
{
	(void)state;
	snprintf(world.devargs, sizeof(world.devargs), "seed=1,mac=02:00:00:00:00:0a");
	if (world.remote) {
		daemon_start(&world.daemon, devices);
		snprintf(world.devargs, sizeof(world.devargs), "socket=%s",
			 world.daemon.sockets[0]);
	}
	if (world.vfio) {
		fake_vfio_start();
		snprintf(world.devargs, sizeof(world.devargs), "pci=%s", fake_vfio_bdfs[0]);
	}
	assert_int_equal(rnic_devargs_parse(UNIT_DEVICE, world.devargs, &world.args), 0);
	unit_account_take(&account);
	assert_int_equal(world_open(&world.access), 0);
	return 0;
}

int
world_teardown(void **state)
{
	if (world.access != NULL) {
		assert_int_equal(world.access->maps, 0);
		assert_int_equal(world.access->mapped_bytes, 0);
		world_close();
	}
	unit_account_assert_same(&account);
	if (world.vfio)
		fake_vfio_stop();
	if (world.remote && world.daemon.pid != 0)
		daemon_stop(&world.daemon);
	if (world.remote)
		daemon_clean(&world.daemon);
	return unit_restore(state);
}

FILE *
world_listen(void)
{
	FILE *stream = tmpfile();

	assert_non_null(stream);
	rte_log_set_level((uint32_t)rnic_logtype, RTE_LOG_INFO);
	rte_openlog_stream(stream);
	return stream;
}

void
world_expect_said(FILE *log, const char *text)
{
	static char said[16384];
	size_t n;

	rte_openlog_stream(NULL);
	rewind(log);
	n = fread(said, 1, sizeof(said) - 1, log);
	said[n] = '\0';
	fclose(log);
	if (strstr(said, text) == NULL || strstr(said, UNIT_DEVICE) == NULL)
		fail_msg("'%s' is not in: %s", text, said);
}

void
world_close(void)
{
	if (world.access != NULL)
		world.access->ops->close(world.access);
	world.access = NULL;
}

void
world_reopen(void)
{
	world_close();
	assert_int_equal(world_open(&world.access), 0);
}

struct rnic_dev *
world_open_driver(void)
{
	struct rnic_dev *dev = NULL;

	world_close();
	assert_int_equal(rnic_dev_open(UNIT_DEVICE, world.devargs, SOCKET_ID_ANY, &dev), 0);
	return dev;
}

uint64_t
world_map(void *memory, size_t bytes, unsigned int rights)
{
	uint64_t iova;

	assert_int_equal(world.access->ops->map(world.access, memory, bytes, rights, &iova), 0);
	return iova;
}

void
world_unmap(uint64_t iova, size_t bytes)
{
	assert_int_equal(world.access->ops->unmap(world.access, iova, bytes), 0);
}

void
world_kill_server(void)
{
	daemon_kill(&world.daemon);
}

void
world_restart_server(void)
{
	daemon_restart(&world.daemon, devices);
}

void *
world_alloc(size_t bytes)
{
	void *memory = rte_zmalloc("conformance", bytes, RNIC_PAGE_BYTES);

	assert_non_null(memory);
	return memory;
}

/* ---- Commands ---- */

void
sender_announce(struct sender *sender)
{
	const struct rnic_access_ops *ops = world.access->ops;

	ops->write32(world.access, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_HIGH),
		     rnic_cpu_to_be32((uint32_t)(sender->iova >> 32)));
	ops->write32(world.access, RNIC_FIELD_OFFSET(RNIC_ISEG_CMDQ_ADDR_LOW),
		     rnic_cpu_to_be32((uint32_t)sender->iova));
}

void
sender_open(struct sender *sender)
{
	sender->slot = world_alloc(RNIC_PAGE_BYTES);
	assert_int_equal(world.access->ops->map(world.access, sender->slot, RNIC_PAGE_BYTES,
						RNIC_ACCESS_READ | RNIC_ACCESS_WRITE,
						&sender->iova),
			 0);
	sender_announce(sender);
}

void
sender_close(struct sender *sender)
{
	assert_int_equal(world.access->ops->unmap(world.access, sender->iova, RNIC_PAGE_BYTES), 0);
	rte_free(sender->slot);
}

void
sender_block(void *block)
{
	struct rnic_cmdq_block *b = block;

	memset(b, 0, sizeof(*b));
	b->token = TOKEN;
}

/* The slot is filled but for its owner: hand it over, and wait. Returns the delivery status. */
static int
ring(struct sender *sender)
{
	const uint64_t deadline = rnic_now_us() + PATIENCE_US;
	const struct timespec nap = { .tv_nsec = 50000 };
	uint8_t status;

	sender->slot->type = RNIC_CMDQ_ENTRY_TYPE;
	sender->slot->token = TOKEN;
	__atomic_store_n(&sender->slot->status_own, RNIC_CMDQ_STATUS_OWN_HW, __ATOMIC_RELEASE);
	world.access->ops->write32(world.access, RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL),
				   rnic_cpu_to_be32(1));
	for (;;) {
		status = __atomic_load_n(&sender->slot->status_own, __ATOMIC_ACQUIRE);
		if (!(status & RNIC_CMDQ_STATUS_OWN_HW))
			return status >> 1;
		if (rnic_now_us() > deadline)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
}

int
sender_ask(struct sender *sender, uint64_t in, uint64_t out)
{
	struct rnic_cmd_in header = { 0 };

	memset(sender->slot, 0, sizeof(*sender->slot));
	rnic_cmd_in_set(&header, RNIC_CMD_IN_OPCODE, RNIC_CMD_QUERY_ISSI);
	memcpy(sender->slot->input, &header, 8);
	sender->slot->input_length = rnic_cpu_to_be32(in != 0 ? 32 : 8);
	sender->slot->input_mailbox = rnic_cpu_to_be64(in);
	sender->slot->output_length = rnic_cpu_to_be32(QUERY_BYTES);
	sender->slot->output_mailbox = rnic_cpu_to_be64(out);
	return ring(sender);
}

int
sender_enable(struct sender *sender)
{
	struct rnic_cmd_in header = { 0 };
	struct rnic_cmd_out out;

	memset(sender->slot, 0, sizeof(*sender->slot));
	rnic_cmd_in_set(&header, RNIC_CMD_IN_OPCODE, RNIC_CMD_ENABLE_HCA);
	memcpy(sender->slot->input, &header, 8);
	sender->slot->input_length = rnic_cpu_to_be32(16);
	sender->slot->output_length = rnic_cpu_to_be32(16);
	assert_int_equal(ring(sender), RNIC_DELIVERY_OK);
	memcpy(&out, sender->slot->output, sizeof(out));
	return (int)rnic_cmd_out_get(&out, RNIC_CMD_OUT_STATUS);
}
