/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Elements of the lists that follow a command's fixed part: addresses, translation entries,
 * numbers, text.
 */
#ifndef RNIC_PRM_LIST_H
#define RNIC_PRM_LIST_H

#include "field.h"

/* Physical address of a page of a queue, or of a page given to the device. */
#define RNIC_PAGE_ENTRY_FIELDS(F) F(RNIC_PAGE_ENTRY_ADDRESS, 0x00, 63, 12)
RNIC_LAYOUT(page_entry, PAGE_ENTRY, 0x8)

/* Translation of one page of a memory key. */
#define RNIC_MTT_ENTRY_FIELDS(F)               \
	F(RNIC_MTT_ENTRY_ADDRESS, 0x00, 63, 3) \
	F(RNIC_MTT_ENTRY_WRITE, 0x04, 1, 1)    \
	F(RNIC_MTT_ENTRY_READ, 0x04, 0, 0)
RNIC_LAYOUT(mtt_entry, MTT_ENTRY, 0x8)

/* A stretch of another memory key. */
#define RNIC_KLM_ENTRY_FIELDS(F)                  \
	F(RNIC_KLM_ENTRY_BYTE_COUNT, 0x00, 31, 0) \
	F(RNIC_KLM_ENTRY_MKEY, 0x04, 31, 0)       \
	F(RNIC_KLM_ENTRY_ADDRESS, 0x08, 63, 0)
RNIC_LAYOUT(klm_entry, KLM_ENTRY, 0x10)

/* Number of a receive queue in an RQ table. */
#define RNIC_RQN_ENTRY_FIELDS(F) F(RNIC_RQN_ENTRY_RQN, 0x00, 23, 0)
RNIC_LAYOUT(rqn_entry, RQN_ENTRY, 0x4)

/* A MAC address of a vport's unicast or multicast list. */
#define RNIC_MAC_ENTRY_FIELDS(F)                     \
	F(RNIC_MAC_ENTRY_ADDRESS_47_32, 0x00, 15, 0) \
	F(RNIC_MAC_ENTRY_ADDRESS_31_0, 0x04, 31, 0)
RNIC_LAYOUT(mac_entry, MAC_ENTRY, 0x8)

/* A VLAN of a vport's list. */
#define RNIC_VLAN_ENTRY_FIELDS(F) F(RNIC_VLAN_ENTRY_VLAN, 0x00, 11, 0)
RNIC_LAYOUT(vlan_entry, VLAN_ENTRY, 0x4)

/* A partition key of a port's table. */
#define RNIC_PKEY_ENTRY_FIELDS(F) F(RNIC_PKEY_ENTRY_PKEY, 0x00, 15, 0)
RNIC_LAYOUT(pkey_entry, PKEY_ENTRY, 0x4)

/* Four bytes of text or of a format that is not the PRM's. */
#define RNIC_TEXT_ENTRY_FIELDS(F) F(RNIC_TEXT_ENTRY_BYTES, 0x00, 31, 0)
RNIC_LAYOUT(text_entry, TEXT_ENTRY, 0x4)

#endif
