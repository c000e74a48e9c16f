/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Negotiation: the JSON text of VFU_VERSION.
 *
 * Source: QEMU's docs/interop/vfio-user.rst, "VFIO_USER_VERSION".
 */
#ifndef VFU_VERSION_H
#define VFU_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VFU_MAX_FDS		    64	 /**< of one message, both ways */
#define VFU_VERSION_MAX_BYTES	    4096 /**< of the JSON text */
#define VFU_DEFAULT_DATA_XFER_BYTES (1u << 20)
#define VFU_DEFAULT_DMA_MAPS	    65535u
#define VFU_PAGE_BYTES		    4096u /**< smallest page of DMA maps */
#define VFU_PGSIZES		    (VFU_PAGE_BYTES | 1ull << 21 | 1ull << 30)

/** The capabilities of one side, or those that both agreed on. */
struct vfu_capabilities {
	uint32_t
		max_msg_fds; /**< descriptors that the sender can receive in one message: 0 .. VFU_MAX_FDS here */
	uint32_t max_data_xfer_bytes; /**< bytes in one read or write */
	uint32_t max_dma_maps;	      /**< simultaneous maps */
	uint64_t pgsizes;	      /**< page sizes of DMA maps in bytes, powers of two, or'ed */
	bool write_multiple;	      /**< VFU_REGION_WRITE_MULTI is supported */
};

/**
 * The capabilities of this library; a server or client may offer less.
 *
 * Threads: any. Blocks: never.
 *
 * @param caps Out: all members.
 */
void vfu_capabilities_ours(struct vfu_capabilities *caps);

/**
 * Parse a peer's text: `length` bytes that end with NUL, or none at all. An absent capability has the specification's default.
 * Unknown ones (migration, twin_socket) are ignored, which refuses them as the answer does not contain them.
 *
 * Threads: any. Blocks: never.
 *
 * @param text   JSON; may be NULL if length is 0.
 * @param length Bytes, including the NUL; 0: no text.
 * @param caps   Out: all members.
 * @return 0; -EINVAL a malformed text, or a value out of range.
 */
int vfu_capabilities_parse(const char *text, size_t length, struct vfu_capabilities *caps);

/**
 * The capabilities of the session: ours, as far as theirs permit.
 *
 * Threads: any. Blocks: never.
 *
 * @param ours   What this side offers.
 * @param theirs What the peer offers.
 * @param agreed Out: all members.
 * @return 0; -EINVAL no page size in common.
 */
int vfu_capabilities_agree(const struct vfu_capabilities *ours,
			   const struct vfu_capabilities *theirs, struct vfu_capabilities *agreed);

/**
 * Format the text, with its NUL.
 *
 * Threads: any. Blocks: never.
 *
 * @param caps The capabilities.
 * @param text Out: the JSON text.
 * @param room Bytes in `text`.
 * @return Its length including the NUL; -ENOSPC, -ENOMEM.
 */
int vfu_capabilities_format(const struct vfu_capabilities *caps, char *text, size_t room);

#endif
