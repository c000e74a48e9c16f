/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory keys and their translation entries (PRM: "Memory Key Context", "MTT Entry", "KLM Entry").
 */
#ifndef RNIC_PRM_MKEY_H
#define RNIC_PRM_MKEY_H

#include "field.h"

/* Memory key context. */
#define RNIC_MKC_FIELDS(F)                                          \
	F(RNIC_MKC_FREE, 0x00, 30, 30)                              \
	F(RNIC_MKC_ACCESS_MODE_4_2, 0x00, 28, 26)                   \
	F(RNIC_MKC_RELAXED_ORDERING_WRITE, 0x00, 18, 18)            \
	F(RNIC_MKC_SMALL_FENCE_ON_RDMA_READ_RESPONSE, 0x00, 16, 16) \
	F(RNIC_MKC_UMR_EN, 0x00, 15, 15)                            \
	F(RNIC_MKC_A, 0x00, 14, 14)                                 \
	F(RNIC_MKC_RW, 0x00, 13, 13)                                \
	F(RNIC_MKC_RR, 0x00, 12, 12)                                \
	F(RNIC_MKC_LW, 0x00, 11, 11)                                \
	F(RNIC_MKC_LR, 0x00, 10, 10)                                \
	F(RNIC_MKC_ACCESS_MODE_1_0, 0x00, 9, 8)                     \
	F(RNIC_MKC_QPN, 0x04, 31, 8)                                \
	F(RNIC_MKC_MKEY_7_0, 0x04, 7, 0)                            \
	F(RNIC_MKC_LENGTH64, 0x0c, 31, 31)                          \
	F(RNIC_MKC_BSF_EN, 0x0c, 30, 30)                            \
	F(RNIC_MKC_SYNC_UMR, 0x0c, 29, 29)                          \
	F(RNIC_MKC_EXPECTED_SIGERR_COUNT, 0x0c, 26, 26)             \
	F(RNIC_MKC_EN_RINVAL, 0x0c, 24, 24)                         \
	F(RNIC_MKC_PD, 0x0c, 23, 0)                                 \
	F(RNIC_MKC_START_ADDR, 0x10, 63, 0)                         \
	F(RNIC_MKC_LEN, 0x18, 63, 0)                                \
	F(RNIC_MKC_BSF_OCTWORD_SIZE, 0x20, 31, 0)                   \
	F(RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE, 0x34, 31, 0)          \
	F(RNIC_MKC_RELAXED_ORDERING_READ, 0x38, 6, 6)               \
	F(RNIC_MKC_LOG_PAGE_SIZE, 0x38, 4, 0)
RNIC_LAYOUT(mkc, MKC, 0x40)

enum rnic_mkey_access_mode {
	RNIC_MKEY_PA = 0,
	RNIC_MKEY_MTT = 1,
	RNIC_MKEY_KLM = 2,
	RNIC_MKEY_KSM = 3,
};

#define RNIC_MKEY_ANY_QPN 0xffffffu

/* An MTT entry is a page address whose low bits are permissions. */
#define RNIC_MTT_READ	      0x1u
#define RNIC_MTT_WRITE	      0x2u
#define RNIC_MTT_ADDRESS_MASK (~UINT64_C(7))

/* A KLM entry chains another key. */
struct rnic_klm {
	struct rnic_be32 byte_count;
	struct rnic_be32 mkey;
	struct rnic_be64 address;
};
RNIC_SIZE(rnic_klm, 16);
RNIC_AT(rnic_klm, mkey, 0x04);
RNIC_AT(rnic_klm, address, 0x08);

#endif
