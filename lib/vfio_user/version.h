/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Negotiation: the JSON text of VFU_VERSION.
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

struct vfu_capabilities {
	uint32_t max_msg_fds; /**< that the sender can receive in one message */
	uint32_t max_data_xfer_bytes;
	uint32_t max_dma_maps;
	uint64_t pgsizes; /**< or'ed together */
	bool write_multiple;
};

/** What this library can do; a server or client may offer less. */
void vfu_capabilities_ours(struct vfu_capabilities *caps);

/**
 * Read a peer's text: length bytes that end with NUL, or none at all. What is absent has the specification's default;
 * what we do not know (migration, twin_socket) is passed over, and so refused by not being answered.
 *
 * @return -EINVAL no such text, or a value out of range.
 */
int vfu_capabilities_parse(const char *text, size_t length, struct vfu_capabilities *caps);

/** What holds for the session: ours as far as theirs permit. @return -EINVAL no page size in common. */
int vfu_capabilities_agree(const struct vfu_capabilities *ours,
			   const struct vfu_capabilities *theirs, struct vfu_capabilities *agreed);

/** Write the text, with its NUL. @return its length with the NUL, or -ENOSPC, -ENOMEM. */
int vfu_capabilities_format(const struct vfu_capabilities *caps, char *text, size_t room);

#endif
