/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands as data: one row per opcode, and the names of what commands and queues report. */
#ifndef RNIC_PRM_CMD_TABLE_H
#define RNIC_PRM_CMD_TABLE_H

#include "layouts.h"

/* Elements of one layout that follow the fixed part of an input or output. */
struct rnic_cmd_list {
	const char *name;
	const struct rnic_layout_desc *element; /* NULL: no list */
	uint32_t offset;
	uint32_t max; /* elements; 0: as many as the length has room for */
};

/* What else decides how a command's bytes read. */
enum rnic_cmd_variant {
	RNIC_CMD_PLAIN,
	RNIC_CMD_CAP,	   /* op_mod chooses the capability in the input or output */
	RNIC_CMD_REGISTER, /* register_id chooses what follows in input and output */
	RNIC_CMD_MKEY,	   /* the access mode chooses the translation entries */
	RNIC_CMD_VPORT,	   /* the list type chooses the list entries */
};

struct rnic_cmd_desc {
	uint16_t opcode;
	const char *name;
	const struct rnic_layout_desc *in;  /* NULL: the common header says all */
	const struct rnic_layout_desc *out; /* NULL: the common header says all */
	struct rnic_cmd_list in_list;
	struct rnic_cmd_list out_list;
	enum rnic_cmd_variant variant;
};

extern const struct rnic_cmd_desc rnic_cmds[];
extern const uint32_t rnic_cmd_count;

/* NULL for an opcode without a row. */
const struct rnic_cmd_desc *rnic_cmd_find(uint32_t opcode);

/* A layout somewhere in a command's input or output. */
struct rnic_cmd_part {
	const struct rnic_layout_desc *layout;
	uint32_t offset;		   /* from the first byte of the input or output */
	const char *name;		   /* the member's; "" for the command itself */
	int64_t index;			   /* in a list; -1 elsewhere */
	const struct rnic_cmd_part *outer; /* what it stands in, or NULL */
};

typedef void rnic_cmd_visit(void *arg, const struct rnic_cmd_part *part);

/*
 * Visit every layout of an input, outer ones first, then the list. How an output reads is said by
 * its input. An unknown opcode has only the common header. The bytes may be hostile: lengths bound
 * everything, and a visited layout may reach past the end (rnic_desc_get() then says so).
 */
void rnic_cmd_walk_in(const uint8_t *in, size_t in_length, rnic_cmd_visit *visit, void *arg);
void rnic_cmd_walk_out(const uint8_t *in, size_t in_length, size_t out_length,
		       rnic_cmd_visit *visit, void *arg);

/* Names; never NULL. A value without a name gives "unknown". */
const char *rnic_cmd_name(uint32_t opcode);
const char *rnic_cmd_status_name(uint32_t status);
const char *rnic_delivery_status_name(uint32_t status);
const char *rnic_cap_type_name(uint32_t type);
const char *rnic_reg_name(uint32_t register_id);
const char *rnic_event_name(uint32_t type);
const char *rnic_wqe_opcode_name(uint32_t opcode);
const char *rnic_cqe_opcode_name(uint32_t opcode);
const char *rnic_cqe_syndrome_name(uint32_t syndrome);

#endif
