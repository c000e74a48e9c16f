/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of commands. */
#ifndef SOFTRNIC_CMD_TABLE_H
#define SOFTRNIC_CMD_TABLE_H

#include "softrnic/base/command.h"

/* One row per command that the device knows, in the order of opcodes. */
struct softrnic_cmd_desc {
	uint16_t opcode;
	uint16_t in_bytes; /* a shorter input is BAD_INP_LEN */
	uint8_t state;	   /* enum softrnic_hca_state */
	bool needs_boot_pages;
	bool of_function; /* it is about the function: the kernel's alone */
	const char *name;
	int (*fn)(struct softrnic *dev, struct softrnic_cmd *cmd);
};
extern const struct softrnic_cmd_desc softrnic_cmd_table[];
extern const unsigned int softrnic_cmd_table_size;
/* Look it up, check state and length, run it; the output's header is written in every case. */
int softrnic_cmd_execute(struct softrnic *dev, struct softrnic_cmd *cmd);

#endif
