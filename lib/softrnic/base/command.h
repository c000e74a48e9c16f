/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands: hca/cmdq.c runs them, hca/cmd_table.c lists them, and each handler is in the file of its object. */
#ifndef SOFTRNIC_COMMANDS_H
#define SOFTRNIC_COMMANDS_H

#include "prm/cmd_table.h"
#include "softrnic/base/device.h"
#include "softrnic/base/log.h"

struct softrnic_cmd {
	uint16_t opcode, op_mod;
	const void *in; /* one private copy of the whole input; at least the table's in_bytes */
	uint32_t in_bytes;
	void *out; /* zeroed; room for at least 0x2000 bytes or out_bytes, whichever is more */
	uint32_t out_bytes; /* what the driver asked for: the output is cut to it */
	uint32_t syndrome; /* set by a handler that fails: any number that tells the places apart */
	/*
	 * `in` is too long to be copied then and there: a handler may keep it, sets in_kept, counts it (softrnic_memory_take()),
	 * and gives it back by softrnic_free().
	 */
	bool in_keepable, in_kept;
};

/* BAD_PARAM, and why. */
static inline int
softrnic_refuse(const struct softrnic *dev, const struct softrnic_cmd *cmd, const char *why)
{
	SOFTRNIC_LOG(NOTICE, dev, "%s: %s", rnic_cmd_name(cmd->opcode), why);
	return RNIC_STATUS_BAD_PARAM;
}

/* A handler returns an enum rnic_cmd_status; the engine writes status and syndrome. */
#define SOFTRNIC_CMD(name) int softrnic_cmd_##name(struct softrnic *dev, struct softrnic_cmd *cmd)

#endif
