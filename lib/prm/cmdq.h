/* SPDX-License-Identifier: BSD-3-Clause */

/* The command queue: its entries and mailbox blocks (PRM: "Command Interface"). */
#ifndef RNIC_PRM_CMDQ_H
#define RNIC_PRM_CMDQ_H

#include "field.h"

#define RNIC_CMDQ_ENTRY_TYPE	7 /* PCIe command interface transport */
#define RNIC_CMDQ_INLINE_BYTES	16
#define RNIC_CMDQ_BLOCK_BYTES	512
#define RNIC_CMDQ_STATUS_OWN_HW 0x01

/* One slot. The first 16 bytes of input and output live here, the rest in mailbox chains. */
struct rnic_cmdq_entry {
	uint8_t type;
	uint8_t rsvd_01[3];
	struct rnic_be32 input_length; /* bytes, the inline ones included */
	struct rnic_be64 input_mailbox;
	uint8_t input[RNIC_CMDQ_INLINE_BYTES];
	uint8_t output[RNIC_CMDQ_INLINE_BYTES];
	struct rnic_be64 output_mailbox;
	struct rnic_be32 output_length;
	uint8_t token; /* the same in every block of the command */
	uint8_t signature;
	uint8_t rsvd_3e;
	uint8_t status_own; /* [7:1] delivery status, [0] 1 = the hardware's */
};
RNIC_SIZE(rnic_cmdq_entry, 64);
RNIC_AT(rnic_cmdq_entry, input_length, 0x04);
RNIC_AT(rnic_cmdq_entry, input_mailbox, 0x08);
RNIC_AT(rnic_cmdq_entry, input, 0x10);
RNIC_AT(rnic_cmdq_entry, output, 0x20);
RNIC_AT(rnic_cmdq_entry, output_mailbox, 0x30);
RNIC_AT(rnic_cmdq_entry, output_length, 0x38);
RNIC_AT(rnic_cmdq_entry, token, 0x3c);
RNIC_AT(rnic_cmdq_entry, status_own, 0x3f);

/* One mailbox block; blocks start at 1 KiB boundaries. */
struct rnic_cmdq_block {
	uint8_t data[RNIC_CMDQ_BLOCK_BYTES];
	uint8_t rsvd_200[48];
	struct rnic_be64 next;
	struct rnic_be32 block_number;
	uint8_t rsvd_23c;
	uint8_t token;
	uint8_t ctrl_signature;
	uint8_t signature;
};
RNIC_SIZE(rnic_cmdq_block, 0x240);
RNIC_AT(rnic_cmdq_block, next, 0x230);
RNIC_AT(rnic_cmdq_block, block_number, 0x238);
RNIC_AT(rnic_cmdq_block, token, 0x23d);
RNIC_AT(rnic_cmdq_block, signature, 0x23f);

#define RNIC_CMDQ_BLOCK_ALIGN 1024

enum rnic_cmdq_delivery_status {
	RNIC_DELIVERY_OK = 0x00,
	RNIC_DELIVERY_SIGNATURE_ERR = 0x01,
	RNIC_DELIVERY_TOKEN_ERR = 0x02,
	RNIC_DELIVERY_BLOCK_NUMBER_ERR = 0x03,
	RNIC_DELIVERY_OUTPUT_POINTER_ERR = 0x04,
	RNIC_DELIVERY_INPUT_POINTER_ERR = 0x05,
	RNIC_DELIVERY_INTERNAL_ERR = 0x06,
	RNIC_DELIVERY_INPUT_LENGTH_ERR = 0x07,
	RNIC_DELIVERY_OUTPUT_LENGTH_ERR = 0x08,
	RNIC_DELIVERY_RESERVED_NOT_ZERO = 0x09,
	RNIC_DELIVERY_TYPE_ERR = 0x10,
};

#endif
