/* SPDX-License-Identifier: BSD-3-Clause */

#include "card.h"

#include <string.h>

#include <rte_log.h>
#include <rte_memory.h>

#include "bringup.h"
#include "core/dev.h"
#include "prm/cmd.h"

struct card card;

static const struct rnic_access_ops *real;
static struct rnic_access_ops ops;
static struct rnic_dev *left_open;

/* ---- Commands ---- */

typedef int command_fn(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		       uint32_t in_bytes, void *out, uint32_t out_bytes);
command_fn __real_rnic_cmd_exec, __wrap_rnic_cmd_exec, __real_rnic_cmd_try, __wrap_rnic_cmd_try;
int __real_rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number);
int __wrap_rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number);

static int
ask_card(const struct card_command *c, uint32_t out_bytes)
{
	int (*before)(const struct card_command *c) = card.before;

	if (before == NULL)
		return CARD_SENDS;
	memset(c->out, 0, out_bytes);
	return before(c);
}

static int
command(command_fn *send, struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
	uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	const struct card_command c = { opcode, op_mod, in, out };
	void (*after)(const struct card_command *c);
	int rc = ask_card(&c, out_bytes);

	if (rc != CARD_SENDS)
		return rc == CARD_DONE ? 0 : rc;
	rc = send(dev, opcode, op_mod, in, in_bytes, out, out_bytes);
	after = card.after;
	if (rc == 0 && after != NULL)
		after(&c);
	return rc;
}

int
__wrap_rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		     uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	return command(__real_rnic_cmd_exec, dev, opcode, op_mod, in, in_bytes, out, out_bytes);
}

int
__wrap_rnic_cmd_try(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		    uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	return command(__real_rnic_cmd_try, dev, opcode, op_mod, in, in_bytes, out, out_bytes);
}

int
__wrap_rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number)
{
	struct rnic_cmd_in in = { 0 };
	struct rnic_object_out out;
	const struct card_command c = { opcode, 0, &in, &out };
	int rc = ask_card(&c, sizeof(out));

	if (rc == CARD_SENDS)
		return __real_rnic_cmd_alloc(dev, opcode, number);
	if (rc != CARD_DONE)
		return rc;
	*number = (uint32_t)rnic_object_out_get(&out, RNIC_OBJECT_OUT_NUMBER);
	return 0;
}

/* ---- The access ---- */

static struct rnic_be32
card_read32(struct rnic_access *access, uint64_t offset)
{
	const struct rnic_be32 value = real->read32(access, offset);

	if (card.read == NULL)
		return value;
	return rnic_cpu_to_be32(card.read(offset, rnic_be32_to_cpu(value)));
}

static void
card_write32(struct rnic_access *access, uint64_t offset, struct rnic_be32 value)
{
	if (card.write == NULL || card.write(access, offset, rnic_be32_to_cpu(value)))
		real->write32(access, offset, value);
}

static int
card_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	 uint64_t *iova)
{
	int rc = real->map(access, address, length, rights, iova);

	if (rc == 0 && card.mapped != NULL)
		card.mapped(address, *iova, length);
	return rc;
}

static int
card_unmap(struct rnic_access *access, uint64_t iova, size_t length)
{
	if (card.unmaps != NULL)
		card.unmaps(iova, length);
	return real->unmap(access, iova, length);
}

static int
card_was_reset(struct rnic_access *access)
{
	int rc = real->reset(access);

	if (card.was_reset != NULL)
		card.was_reset();
	return rc;
}

static void
stand_in_front(struct rnic_dev *dev)
{
	card.device = unit_softrnic(dev);
	real = dev->access->ops;
	ops = *real;
	ops.read32 = card_read32;
	ops.write32 = card_write32;
	ops.map = card_map;
	ops.unmap = card_unmap;
	ops.reset = card_was_reset;
	dev->access->ops = &ops;
}

static int
hook(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up && strcmp(stage, "wait until initialized") == 0)
		stand_in_front(dev);
	if (up && strcmp(stage, "init pages") == 0 && card.caps != NULL)
		card.caps(&dev->caps);
	if (card.stage != NULL)
		card.stage(dev, stage, up);
	return 0;
}

/* ---- Coming and going ---- */

void
card_begin(void)
{
	card = (struct card){ .stage = NULL };
	rnic_bringup_hook = hook;
	unit_listen(RTE_LOG_INFO);
}

void
card_end(void)
{
	card = (struct card){ .stage = NULL };
	card_close(left_open);
	unit_listen_no_more();
	unit_restore(NULL);
}

void
card_reset(void)
{
	card_end();
	card_begin();
}

int
card_setup(void **state)
{
	(void)state;
	card_begin();
	return 0;
}

int
card_teardown(void **state)
{
	(void)state;
	card_end();
	return 0;
}

int
card_open(const char *devargs, struct rnic_dev **dev)
{
	int rc = rnic_dev_open(UNIT_DEVICE, devargs, SOCKET_ID_ANY, dev);

	left_open = rc == 0 ? *dev : NULL;
	return rc;
}

void
card_close(struct rnic_dev *dev)
{
	left_open = NULL;
	rnic_dev_close(dev);
}

struct rnic_dev *
card_opened(void)
{
	struct rnic_dev *dev;

	assert_int_equal(card_open("", &dev), 0);
	return dev;
}

void
card_open_in_vain(int rc, const char *says)
{
	struct rnic_dev *dev;

	assert_int_equal(card_open("", &dev), rc);
	if (unit_said(says) == 0)
		fail_msg("'%s' was not said", says);
}

uint16_t
card_register(const struct card_command *c)
{
	return c->opcode == RNIC_CMD_ACCESS_REG
		       ? (uint16_t)rnic_access_reg_in_get(c->in, RNIC_ACCESS_REG_IN_REGISTER_ID)
		       : 0;
}

uint32_t
card_vport_select(const struct card_command *c)
{
	return c->opcode == RNIC_CMD_MODIFY_NIC_VPORT_CONTEXT
		       ? (uint32_t)rnic_modify_nic_vport_context_in_get(
				 c->in, RNIC_MODIFY_NIC_VPORT_CONTEXT_IN_FIELD_SELECT)
		       : 0;
}
