/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion and event queue entries (PRM: "CQE Format", "EQE Format"). */
#ifndef RNIC_PRM_CQE_H
#define RNIC_PRM_CQE_H

#include "field.h"

struct rnic_cqe {
	uint8_t rsvd_00[2];
	struct rnic_be16 wqe_id;
	uint8_t rsvd_04[8];
	struct rnic_be32 rx_hash_result;
	uint8_t rx_hash_type;
	uint8_t ml_path;
	uint8_t rsvd_12[2];
	struct rnic_be16 checksum; /* of an IP packet: the sum of its words, not complemented */
	struct rnic_be16 slid;
	struct rnic_be32 flags_rqpn;
	uint8_t hds_ip_ext; /* 0x1 L2 ok, 0x2 L3 ok, 0x4 L4 ok */
	uint8_t l4_l3_hdr_type;
	struct rnic_be16 vlan_info;
	struct rnic_be32 srqn_user_index;
	struct rnic_be32 immediate;
	uint8_t rsvd_28[4];
	struct rnic_be32 byte_count;
	struct rnic_be64 timestamp;
	struct rnic_be32 sop_drop_qpn; /* send opcode[31:24] queue number[23:0] */
	struct rnic_be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own; /* opcode[7:4] format[3:2] solicited[1] owner[0] */
};
RNIC_SIZE(rnic_cqe, 64);
RNIC_AT(rnic_cqe, rx_hash_result, 0x0c);
RNIC_AT(rnic_cqe, flags_rqpn, 0x18);
RNIC_AT(rnic_cqe, hds_ip_ext, 0x1c);
RNIC_AT(rnic_cqe, vlan_info, 0x1e);
RNIC_AT(rnic_cqe, immediate, 0x24);
RNIC_AT(rnic_cqe, byte_count, 0x2c);
RNIC_AT(rnic_cqe, timestamp, 0x30);
RNIC_AT(rnic_cqe, sop_drop_qpn, 0x38);
RNIC_AT(rnic_cqe, wqe_counter, 0x3c);
RNIC_AT(rnic_cqe, op_own, 0x3f);

struct rnic_error_cqe {
	uint8_t rsvd_00[32];
	struct rnic_be32 srqn;
	uint8_t rsvd_24[18];
	uint8_t vendor_error_syndrome;
	uint8_t syndrome;
	struct rnic_be32 sop_qpn; /* send opcode[31:24] queue number[23:0] */
	struct rnic_be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};
RNIC_SIZE(rnic_error_cqe, 64);
RNIC_AT(rnic_error_cqe, vendor_error_syndrome, 0x36);
RNIC_AT(rnic_error_cqe, syndrome, 0x37);
RNIC_AT(rnic_error_cqe, sop_qpn, 0x38);
RNIC_AT(rnic_error_cqe, wqe_counter, 0x3c);

/*
 * Compressed (PRM: "CQE Compression"): a title, whose byte_count is the number of completions, takes as many slots as these. The list of the
 * first eight is in the slot behind it, each other one in an eighth slot from the title on. What is not in a list is the title's.
 */
struct rnic_mini_cqe {
	union {
		struct rnic_be32 rx_hash_result;
		struct {
			struct rnic_be16 checksum;
			struct rnic_be16 stride_index;
		};
	};
	struct rnic_be32 byte_count;
};
RNIC_SIZE(rnic_mini_cqe, 8);
RNIC_AT(rnic_mini_cqe, byte_count, 0x4);

#define RNIC_MINI_CQES 8 /* in a slot */

enum rnic_mini_cqe_format {
	RNIC_MINI_CQE_HASH = 0,
	RNIC_MINI_CQE_CHECKSUM = 1,
};

#define RNIC_CQE_OWNER		       0x01
#define RNIC_CQE_FORMAT		       0x0c
#define RNIC_CQE_COMPRESSED	       0x0c /* of RNIC_CQE_FORMAT */
#define RNIC_CQE_OPCODE(op_own)	       ((op_own) >> 4)
#define RNIC_CQE_OP_OWN(opcode, owner) ((uint8_t)((opcode) << 4 | (owner)))

enum rnic_cqe_opcode {
	RNIC_CQE_REQUESTER = 0x0,
	RNIC_CQE_RESPONDER_WRITE_IMM = 0x1,
	RNIC_CQE_RESPONDER_SEND = 0x2,
	RNIC_CQE_RESPONDER_SEND_IMM = 0x3,
	RNIC_CQE_RESPONDER_SEND_INVAL = 0x4,
	RNIC_CQE_RESIZE = 0x5,
	RNIC_CQE_REQUESTER_ERROR = 0xd,
	RNIC_CQE_RESPONDER_ERROR = 0xe,
	RNIC_CQE_INVALID = 0xf,
};

/* hds_ip_ext: which headers were found well, lengths and checksums included. */
#define RNIC_CQE_L2_OK 0x1
#define RNIC_CQE_L3_OK 0x2
#define RNIC_CQE_L4_OK 0x4

/* flags_rqpn of a datagram: the header in front of it, the kind of its packet, who sent it. */
#define RNIC_CQE_GRH	    0x10000000u
#define RNIC_CQE_ROCE_SHIFT 24 /* enum rnic_cqe_roce */
#define RNIC_CQE_ROCE_MASK  0x3
#define RNIC_CQE_SOURCE_QP  0xffffffu

enum rnic_cqe_roce {
	RNIC_CQE_ROCE_GRH = 0,
	RNIC_CQE_ROCE_IPV6 = 1,
	RNIC_CQE_ROCE_IPV4 = 2,
};

/* l4_l3_hdr_type: l4[6:4], l3[3:2], and what else is said of the headers. */
#define RNIC_CQE_VLAN_STRIPPED 0x01 /* vlan_info has the tag that was there */
#define RNIC_CQE_IP_OPTIONS    0x02
#define RNIC_CQE_IP_FRAGMENT   0x80
#define RNIC_CQE_L3_TYPE_MASK  0x0c
#define RNIC_CQE_L4_TYPE_MASK  0x70

enum rnic_cqe_hdr_type {
	RNIC_CQE_L3_IPV6 = 0x04,
	RNIC_CQE_L3_IPV4 = 0x08,
	RNIC_CQE_L4_TCP_NO_ACK = 0x10,
	RNIC_CQE_L4_UDP = 0x20,
	RNIC_CQE_L4_TCP_ACK_NO_DATA = 0x30,
	RNIC_CQE_L4_TCP_ACK_AND_DATA = 0x40,
};

/* rx_hash_type: what of the frame is in the hash; 0: there is none. Two bits each. */
enum rnic_cqe_hash_type {
	RNIC_CQE_HASH_SRC_IPV4 = 0x01,
	RNIC_CQE_HASH_SRC_IPV6 = 0x02,
	RNIC_CQE_HASH_DST_IPV4 = 0x04,
	RNIC_CQE_HASH_DST_IPV6 = 0x08,
	RNIC_CQE_HASH_TCP_SPORT = 0x10,
	RNIC_CQE_HASH_UDP_SPORT = 0x20,
	RNIC_CQE_HASH_TCP_DPORT = 0x40,
	RNIC_CQE_HASH_UDP_DPORT = 0x80,
};

enum rnic_cqe_syndrome {
	RNIC_SYND_LOCAL_LENGTH = 0x01,
	RNIC_SYND_LOCAL_QP_OPERATION = 0x02,
	RNIC_SYND_LOCAL_PROTECTION = 0x04,
	RNIC_SYND_WR_FLUSHED = 0x05,
	RNIC_SYND_MW_BIND = 0x06,
	RNIC_SYND_BAD_RESPONSE = 0x10,
	RNIC_SYND_LOCAL_ACCESS = 0x11,
	RNIC_SYND_REMOTE_INVALID_REQUEST = 0x12,
	RNIC_SYND_REMOTE_ACCESS = 0x13,
	RNIC_SYND_REMOTE_OPERATION = 0x14,
	RNIC_SYND_RETRY_EXCEEDED = 0x15,
	RNIC_SYND_RNR_RETRY_EXCEEDED = 0x16,
	RNIC_SYND_REMOTE_ABORTED = 0x22,
};

struct rnic_eqe {
	uint8_t rsvd_00;
	uint8_t type;
	uint8_t rsvd_02;
	uint8_t sub_type;
	uint8_t rsvd_04[28];
	struct rnic_be32 data[7];
	uint8_t rsvd_3c[2];
	uint8_t signature;
	uint8_t owner; /* valid when equal to (consumer index & entries) ? 1 : 0 */
};
RNIC_SIZE(rnic_eqe, 64);
RNIC_AT(rnic_eqe, type, 0x01);
RNIC_AT(rnic_eqe, sub_type, 0x03);
RNIC_AT(rnic_eqe, data, 0x20);
RNIC_AT(rnic_eqe, owner, 0x3f);

enum rnic_event {
	RNIC_EVENT_COMPLETION = 0x00, /* data[6][23:0] cqn */
	RNIC_EVENT_PATH_MIGRATED = 0x01,
	RNIC_EVENT_COMM_ESTABLISHED = 0x02,
	RNIC_EVENT_SQ_DRAINED = 0x03,
	RNIC_EVENT_CQ_ERROR = 0x04,	   /* data[0][23:0] cqn, data[2][7:0] syndrome */
	RNIC_EVENT_WQ_CATASTROPHIC = 0x05, /* data[5][31:24] queue type, data[6][23:0] number */
	RNIC_EVENT_PORT_CHANGE = 0x09,	   /* data[2][31:28] port */
	RNIC_EVENT_COMMAND = 0x0a,	   /* data[0] bitmap of completed slots */
	RNIC_EVENT_PAGE_REQUEST = 0x0b,	   /* data[0][15:0] function, data[1] pages, signed */
	RNIC_EVENT_PAGE_FAULT = 0x0c,
	RNIC_EVENT_NIC_VPORT_CHANGE = 0x0d,
	RNIC_EVENT_WQ_INVALID_REQUEST = 0x10,
	RNIC_EVENT_WQ_ACCESS_ERROR = 0x11,
	RNIC_EVENT_SRQ_CATASTROPHIC = 0x12,
	RNIC_EVENT_SRQ_LAST_WQE = 0x13,
	RNIC_EVENT_SRQ_LIMIT = 0x14,
	RNIC_EVENT_PORT_MODULE =
		0x16, /* data[0][23:16] module, [3:0] status, data[1][11:8] error */
	RNIC_EVENT_TEMP_WARN =
		0x17, /* data[0..1], data[2..3]: bits of sensors 127 to 64, 63 to 0 */
};

enum rnic_port_change {
	RNIC_PORT_CHANGE_DOWN = 1,
	RNIC_PORT_CHANGE_ACTIVE = 4,
	RNIC_PORT_CHANGE_INITIALIZED = 5,
};

enum rnic_module_status {
	RNIC_MODULE_PLUGGED = 1,
	RNIC_MODULE_UNPLUGGED = 2,
	RNIC_MODULE_ERROR = 3,
	RNIC_MODULE_DISABLED = 4,
};

/* Of RNIC_MODULE_ERROR. */
enum rnic_module_error {
	RNIC_MODULE_POWER_BUDGET_EXCEEDED = 0,
	RNIC_MODULE_LONG_RANGE = 1,
	RNIC_MODULE_BUS_STUCK = 2,
	RNIC_MODULE_NO_EEPROM = 3,
	RNIC_MODULE_NOT_PERMITTED = 4,
	RNIC_MODULE_UNKNOWN_IDENTIFIER = 5,
	RNIC_MODULE_HIGH_TEMPERATURE = 6,
	RNIC_MODULE_BAD_CABLE = 7,
};

/* Whose an error is. Events of an SRQ name no type. */
enum rnic_event_queue {
	RNIC_EVENT_QUEUE_QP = 0,
	RNIC_EVENT_QUEUE_RQ = 1,
	RNIC_EVENT_QUEUE_SQ = 2,
};

enum rnic_cq_error {
	RNIC_CQ_ERROR_OVERRUN = 1,
	RNIC_CQ_ERROR_ACCESS = 2,
};

#endif
