/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What server and host tell each other of interrupts and memory, and the server's tables keep. Part of server.h.
 */
#ifndef VFU_TYPES_H
#define VFU_TYPES_H

#include <stdint.h>

#define VFU_MAX_IRQ_TYPES 8
#define VFU_MAX_VECTORS	  4096 /**< of all types together */

/** How long a look is: vfu_server_process(). */
#define VFU_LOOK_NS 250000

/** Vectors of one type (INTx, MSI, MSI-X, ...). */
struct vfu_irq_type {
	uint32_t count; /**< vectors; 0: none of that type */
	uint32_t flags; /**< VFU_IRQ_FLAG_* */
};

/** Memory of the client that the device may reach. */
struct vfu_dma_region {
	uint64_t iova;	/**< of its first byte */
	uint64_t size;	/**< bytes; whole pages */
	uint32_t flags; /**< VFU_DMA_FLAG_*: what the device may do */
	void *address; /**< where it is mapped; NULL: no descriptor came, and the device has no way to it */
	/** With an address: all of the mapping that it lies in, which other regions may share. */
	void *mapping;
	uint64_t mapping_bytes; /**< of that mapping */
	uint64_t
		mapping_page_bytes; /**< of its file: a mapping of hugepages can only be replaced by so much */
	/** At most so many bytes of it had no memory yet when it was made: who touches them first makes them, and is charged. */
	uint64_t mapping_holes;
};

#endif
