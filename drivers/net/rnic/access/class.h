/* SPDX-License-Identifier: BSD-3-Clause */

/* The class: PCI functions whose registers and commands are those of the manual. PFs and VFs alike. */
#ifndef RNIC_CLASS_H
#define RNIC_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "prm/init_seg.h"
#include "prm/uar.h"

#define RNIC_PCI_VENDOR 0x15b3

/* ROW(device id, what the data sheets call it) */
#define RNIC_PCI_DEVICES(ROW)                         \
	ROW(0x1013, "ConnectX-4")                     \
	ROW(0x1014, "ConnectX-4 VF")                  \
	ROW(0x1015, "ConnectX-4 Lx")                  \
	ROW(0x1016, "ConnectX-4 Lx VF")               \
	ROW(0x1017, "ConnectX-5")                     \
	ROW(0x1018, "ConnectX-5 VF")                  \
	ROW(0x1019, "ConnectX-5 Ex")                  \
	ROW(0x101a, "ConnectX-5 Ex VF")               \
	ROW(0x101b, "ConnectX-6")                     \
	ROW(0x101c, "ConnectX-6 VF")                  \
	ROW(0x101d, "ConnectX-6 Dx")                  \
	ROW(0x101e, "ConnectX family VF")             \
	ROW(0x101f, "ConnectX-6 Lx")                  \
	ROW(0x1021, "ConnectX-7")                     \
	ROW(0x1023, "ConnectX-8")                     \
	ROW(0xa2d2, "BlueField network controller")   \
	ROW(0xa2d3, "BlueField VF")                   \
	ROW(0xa2d6, "BlueField-2 network controller") \
	ROW(0xa2dc, "BlueField-3 network controller")

bool rnic_class_has(uint16_t vendor, uint16_t device);

/* The initialization segment, the page of the event queues, one page of queues. */
#define RNIC_BAR_BYTES_MIN ((uint64_t)(RNIC_FIRST_UAR + 2) * RNIC_UAR_PAGE_BYTES)

#endif
