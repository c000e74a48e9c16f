/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Interrupts and memory, as server and host describe them to each other and the server's tables keep them. Part of server.h.
 *
 * Source: QEMU's docs/interop/vfio-user.rst, "VFIO_USER_DEVICE_GET_IRQ_INFO", "VFIO_USER_DMA_MAP".
 */
#ifndef VFU_TYPES_H
#define VFU_TYPES_H

#include <stdint.h>

#define VFU_MAX_IRQ_TYPES 8
#define VFU_MAX_VECTORS	  4096 /**< of all types together */

/** The length of a look: vfu_server_process(). */
#define VFU_LOOK_NS 250000

/** Vectors of one type (INTx, MSI, MSI-X, ...). */
struct vfu_irq_type {
	uint32_t count; /**< vectors; 0: none of that type */
	uint32_t flags; /**< VFU_IRQ_FLAG_* */
};

/** Memory of the client that the device may reach. */
struct vfu_dma_region {
	uint64_t iova;	/**< address of its first byte */
	uint64_t size;	/**< bytes; whole pages */
	uint32_t flags; /**< VFU_DMA_FLAG_*: what the device may do */
	void *address; /**< where it is mapped; NULL: no descriptor came, and the device cannot reach it */
	/** With an address: the whole mapping that contains it, which other regions may share. */
	void *mapping;
	uint64_t mapping_bytes; /**< length of that mapping */
	uint64_t
		mapping_page_bytes; /**< page size of its file: hugepages can only be replaced as a whole */
	/** Upper bound of the bytes without memory when it was mapped: the process that first touches them is charged for them. */
	uint64_t mapping_holes;
};

#endif
