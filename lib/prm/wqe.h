/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Work queue entries: the segments of send and receive WQEs (PRM: "Work Queue Structure", "WQE
 * Formats").
 */
#ifndef RNIC_PRM_WQE_H
#define RNIC_PRM_WQE_H

#include "field.h"

#define RNIC_WQEBB_BYTES  64 /* a send WQE is a whole number of basic blocks */
#define RNIC_WQE_DS_BYTES 16 /* ds counts units of 16 bytes */
#define RNIC_WQE_DS_MAX	  63

enum rnic_wqe_opcode {
	RNIC_WQE_NOP = 0x00,
	RNIC_WQE_SEND_INVAL = 0x01,
	RNIC_WQE_RDMA_WRITE = 0x08,
	RNIC_WQE_RDMA_WRITE_IMM = 0x09,
	RNIC_WQE_SEND = 0x0a,
	RNIC_WQE_SEND_IMM = 0x0b,
	RNIC_WQE_LSO = 0x0e,
	RNIC_WQE_RDMA_READ = 0x10,
	RNIC_WQE_ATOMIC_CS = 0x11,
	RNIC_WQE_ATOMIC_FA = 0x12,
	RNIC_WQE_UMR = 0x25,
	RNIC_WQE_ENHANCED_MPSW = 0x29, /* enhanced multi-packet send */
};

/* The control segment opens every send WQE. */
struct rnic_wqe_ctrl {
	struct rnic_be32 opmod_idx_opcode; /* opmod[31:24] wqe index[23:8] opcode[7:0] */
	struct rnic_be32 qpn_ds;	   /* queue number[31:8] ds[5:0] */
	uint8_t signature;
	uint8_t rsvd_09[2];
	uint8_t fm_ce_se; /* fm[7:5] ce[3:2] solicited[1] */
	struct rnic_be32 immediate;
};
RNIC_SIZE(rnic_wqe_ctrl, 16);
RNIC_AT(rnic_wqe_ctrl, fm_ce_se, 0x0b);

#define RNIC_WQE_CTRL_DW0(opmod, index, opcode) \
	((uint32_t)(opmod) << 24 | (uint32_t)(uint16_t)(index) << 8 | (uint32_t)(opcode))
#define RNIC_WQE_CTRL_DW1(qpn, ds) ((uint32_t)(qpn) << 8 | (uint32_t)(ds))

enum rnic_wqe_ce {
	RNIC_WQE_CE_ON_ERROR = 0x00, /* a CQE only if the WQE fails */
	RNIC_WQE_CE_ON_FIRST_ERROR = 0x04,
	RNIC_WQE_CE_ALWAYS = 0x08,	 /* a CQE */
	RNIC_WQE_CE_ALWAYS_EVENT = 0x0c, /* a CQE and an event */
};
#define RNIC_WQE_CE_MASK 0x0c

#define RNIC_WQE_FM_LOCAL 0x20 /* begin after earlier changes of memory keys */
#define RNIC_WQE_FM_FENCE 0x40 /* begin after earlier READs and atomics */
#define RNIC_WQE_SE	  0x02 /* the peer's completion is a solicited one */

/* The Ethernet segment of a SEND on an SQ; inline header bytes may follow inline_header_start. */
struct rnic_wqe_eth {
	struct rnic_be32 rsvd_00;
	uint8_t cs_flags;
	uint8_t rsvd_05;
	struct rnic_be16 mss;
	struct rnic_be32 flow_table_metadata;
	/* [9:0]; with bit 15 there is no inline header: a VLAN tag is inserted, its TCI follows */
	struct rnic_be16 inline_header_size;
	uint8_t inline_header_start[2];
};
RNIC_SIZE(rnic_wqe_eth, 16);
RNIC_AT(rnic_wqe_eth, cs_flags, 0x04);
RNIC_AT(rnic_wqe_eth, inline_header_size, 0x0c);

/* min_wqe_inline_mode of SQs and vports: how much of a packet's start a send WQE must carry. */
enum rnic_inline_mode {
	RNIC_INLINE_MODE_NONE = 0,
	RNIC_INLINE_MODE_L2 = 1,
	RNIC_INLINE_MODE_IP = 2,
	RNIC_INLINE_MODE_TCP_UDP = 3,
};

/* wqe_inline_mode of the Ethernet capabilities: where the demand is found. */
enum rnic_wqe_inline_cap {
	RNIC_WQE_INLINE_CAP_L2 = 0,
	RNIC_WQE_INLINE_CAP_VPORT = 1,
	RNIC_WQE_INLINE_CAP_NOT_REQUIRED = 2,
};

#define RNIC_WQE_ETH_L3_INNER_CSUM    0x10
#define RNIC_WQE_ETH_L4_INNER_CSUM    0x20
#define RNIC_WQE_ETH_L3_CSUM	      0x40
#define RNIC_WQE_ETH_L4_CSUM	      0x80
#define RNIC_WQE_ETH_INLINE_SIZE_MASK 0x03ff
#define RNIC_WQE_ETH_INSERT_VLAN      0x8000
#define RNIC_WQE_ETH_SVLAN	      0x0001 /* with INSERT_VLAN: type 0x88a8 instead of 0x8100 */

/* The address vector of a datagram: where it goes; follows the control segment. */
struct rnic_wqe_av {
	struct rnic_be32 qkey; /* bit 31: the queue pair's own is sent */
	struct rnic_be32 rsvd_04;
	struct rnic_be32 dqp; /* queue pair[23:0], with RNIC_WQE_AV_EXTENDED */
	uint8_t stat_rate_sl; /* rate[7:4] sl[3:0]; of a RoCE packet with a VLAN tag bits [3:1] are its priority */
	uint8_t fl_mlid;
	struct rnic_be16 udp_sport; /* InfiniBand: the LID */
	struct rnic_be32 rsvd_10;
	uint8_t rmac[6];
	uint8_t tclass;
	uint8_t hop_limit;
	struct rnic_be32 grh_gid_fl; /* grh[30] source address index[27:20] flow label[19:0] */
	uint8_t rgid[16];
};
RNIC_SIZE(rnic_wqe_av, 48);
RNIC_AT(rnic_wqe_av, dqp, 0x08);
RNIC_AT(rnic_wqe_av, udp_sport, 0x0e);
RNIC_AT(rnic_wqe_av, rmac, 0x14);
RNIC_AT(rnic_wqe_av, grh_gid_fl, 0x1c);
RNIC_AT(rnic_wqe_av, rgid, 0x20);

#define RNIC_WQE_AV_EXTENDED   0x80000000u /* of dqp: all 48 bytes are there, as RoCE needs them */
#define RNIC_WQE_AV_GRH	       0x40000000u /* of grh_gid_fl */
#define RNIC_WQE_AV_GID_SHIFT  20
#define RNIC_WQE_AV_FLOW_LABEL 0xfffffu
#define RNIC_WQE_AV_OWN_QKEY   0x80000000u /* of qkey */

/*
 * Changes a memory key in the order of the queue (UMR); follows the control segment, whose last word names the key as it is now.
 * Then come 64 bytes of its new context (struct rnic_mkc) and, with INLINE, translation entries.
 */
struct rnic_wqe_umr {
	uint8_t flags; /* RNIC_WQE_UMR_... */
	uint8_t rsvd_01[3];
	struct rnic_be16 translations_octwords;
	struct rnic_be16 translations_offset;
	struct rnic_be64 mkey_mask; /* RNIC_UMR_MASK_...: what of the context is taken */
	struct rnic_be32 translations_offset_47_16;
	uint8_t rsvd_14[28];
};
RNIC_SIZE(rnic_wqe_umr, 48);
RNIC_AT(rnic_wqe_umr, translations_octwords, 0x04);
RNIC_AT(rnic_wqe_umr, translations_offset, 0x06);
RNIC_AT(rnic_wqe_umr, mkey_mask, 0x08);
RNIC_AT(rnic_wqe_umr, translations_offset_47_16, 0x10);

enum rnic_wqe_umr_flags {
	RNIC_WQE_UMR_CHECK_QPN = 0x08, /* fails unless the key is bound to this queue pair */
	RNIC_WQE_UMR_TRANSLATION_OFFSET = 0x10, /* the translations replace a part of the list */
	RNIC_WQE_UMR_CHECK_FREE = 0x20,		/* fails unless the key is free */
	RNIC_WQE_UMR_CHECK_NOT_FREE = 0x40,	/* fails if it is */
	RNIC_WQE_UMR_INLINE = 0x80,
};

#define RNIC_UMR_MASK_LEN	  (UINT64_C(1) << 0)
#define RNIC_UMR_MASK_PAGE_SIZE	  (UINT64_C(1) << 1)
#define RNIC_UMR_MASK_START_ADDR  (UINT64_C(1) << 6)
#define RNIC_UMR_MASK_PD	  (UINT64_C(1) << 7)
#define RNIC_UMR_MASK_EN_RINVAL	  (UINT64_C(1) << 8)
#define RNIC_UMR_MASK_MKEY	  (UINT64_C(1) << 13)
#define RNIC_UMR_MASK_QPN	  (UINT64_C(1) << 14)
#define RNIC_UMR_MASK_LR	  (UINT64_C(1) << 17)
#define RNIC_UMR_MASK_LW	  (UINT64_C(1) << 18)
#define RNIC_UMR_MASK_RR	  (UINT64_C(1) << 19)
#define RNIC_UMR_MASK_RW	  (UINT64_C(1) << 20)
#define RNIC_UMR_MASK_A		  (UINT64_C(1) << 21)
#define RNIC_UMR_MASK_SMALL_FENCE (UINT64_C(1) << 23)
#define RNIC_UMR_MASK_FREE	  (UINT64_C(1) << 29)

/* Of XRC: whose receive WQEs and keys a request means at the peer; follows the control segment. */
struct rnic_wqe_xrc {
	struct rnic_be32 srqn; /* 24 bits */
	uint8_t rsvd_04[12];
};
RNIC_SIZE(rnic_wqe_xrc, 16);
#define RNIC_WQE_XRC_SRQN_MASK 0xffffffu

/* What a WRITE, a READ or an atomic means at the peer; follows the control segment, or that of XRC. */
struct rnic_wqe_raddr {
	struct rnic_be64 address;
	struct rnic_be32 rkey;
	struct rnic_be32 rsvd_0c;
};
RNIC_SIZE(rnic_wqe_raddr, 16);
RNIC_AT(rnic_wqe_raddr, rkey, 0x08);

/* The operands of an atomic; follows the remote address. */
struct rnic_wqe_atomic {
	struct rnic_be64 swap_add; /* of a compare-and-swap the new value, else what is added */
	struct rnic_be64 compare;
};
RNIC_SIZE(rnic_wqe_atomic, 16);
RNIC_AT(rnic_wqe_atomic, compare, 0x08);

/* Opens a receive WQE of a linked list: which one comes after it. */
struct rnic_wqe_next {
	uint8_t rsvd_00[2];
	struct rnic_be16 next_wqe_index;
	uint8_t signature;
	uint8_t rsvd_05[11];
};
RNIC_SIZE(rnic_wqe_next, 16);
RNIC_AT(rnic_wqe_next, next_wqe_index, 0x02);
RNIC_AT(rnic_wqe_next, signature, 0x04);

/* Memory, in send and receive WQEs. */
struct rnic_wqe_data {
	struct rnic_be32 byte_count; /* [30:0], 0 means 2 GiB */
	struct rnic_be32 lkey;
	struct rnic_be64 address;
};
RNIC_SIZE(rnic_wqe_data, 16);
RNIC_AT(rnic_wqe_data, lkey, 0x04);
RNIC_AT(rnic_wqe_data, address, 0x08);

#define RNIC_WQE_INLINE 0x80000000u /* byte_count of an inline data segment: bytes follow */
/* The same bit in a receive WQE: bytes in front of the address may be written, as far as its line of the cache goes. */
#define RNIC_WQE_START_PADDING RNIC_WQE_INLINE
#define RNIC_WQE_INVALID_LKEY  0x00000100u /* ends a receive WQE early, with byte_count 0 */

/* Inline data: the header, then the bytes, padded to 16. */
struct rnic_wqe_inline {
	struct rnic_be32 byte_count; /* RNIC_WQE_INLINE | length */
	uint8_t data[12];
};
RNIC_SIZE(rnic_wqe_inline, 16);

/* Doorbell records (PRM: "Doorbell Record"): of a QP, SQ or RQ, and of a CQ. */
struct rnic_wq_dbrec {
	struct rnic_be32 receive_counter; /* [15:0] WQEs */
	struct rnic_be32 send_counter;	  /* [15:0] WQEBBs */
};
RNIC_SIZE(rnic_wq_dbrec, 8);

struct rnic_cq_dbrec {
	struct rnic_be32 consumer_index; /* [23:0] */
	struct rnic_be32 arm; /* sequence[29:28] solicited only[24] consumer index[23:0] */
};
RNIC_SIZE(rnic_cq_dbrec, 8);

#define RNIC_CQ_INDEX_MASK	   0xffffffu
#define RNIC_CQ_ARM_SEQUENCE_SHIFT 28
#define RNIC_CQ_ARM_SOLICITED	   (1u << 24)

#endif
