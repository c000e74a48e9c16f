/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The messages of the vfio-user protocol, version 0.x, as QEMU's docs/interop/vfio-user.rst has them. Layouts only.
 *
 * All numbers are in host byte order, as both sides run on one host. A message is a struct vfu_header and a payload; the structs
 * below are the payloads, or their fixed first parts. Many are those of the VFIO ioctls.
 *
 * Source: there, "Commands" and "Header", and a section for each command; linux/vfio.h for the VFIO ioctls.
 */
#ifndef VFU_PROTO_H
#define VFU_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define VFU_VERSION_MAJOR 0
#define VFU_VERSION_MINOR 1

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_DEVICE_GET_INFO = 4,
	VFU_DEVICE_GET_REGION_INFO = 5,
	VFU_DEVICE_GET_REGION_IO_FDS = 6, /* refused */
	VFU_DEVICE_GET_IRQ_INFO = 7,
	VFU_DEVICE_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_DMA_READ = 11,  /* server to client */
	VFU_DMA_WRITE = 12, /* server to client */
	VFU_DEVICE_RESET = 13,
	VFU_DIRTY_PAGES = 14, /* of older versions; refused */
	VFU_REGION_WRITE_MULTI = 15,
	VFU_DEVICE_FEATURE = 16, /* migration; refused, as are the next two */
	VFU_MIG_DATA_READ = 17,
	VFU_MIG_DATA_WRITE = 18,
};

/* Sizes and offsets of the structs below must not depend on the compiler. */
#define VFU_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
#define VFU_OFFSET(type, member, bytes) \
	_Static_assert(offsetof(struct type, member) == (bytes), #type "." #member)

/** The header of every message. */
struct vfu_header {
	uint16_t id;	  /**< the sender's; echoed in the reply */
	uint16_t command; /**< enum vfu_command */
	uint32_t size;	  /**< of the whole message, header included */
	uint32_t flags;	  /**< VFU_TYPE_*, VFU_FLAG_* */
	uint32_t error;	  /**< errno of a reply with VFU_FLAG_ERROR */
};
VFU_SIZE(vfu_header, 16);
VFU_OFFSET(vfu_header, size, 4);
VFU_OFFSET(vfu_header, error, 12);

#define VFU_TYPE_MASK	  0xfu
#define VFU_TYPE_COMMAND  0x0u
#define VFU_TYPE_REPLY	  0x1u
#define VFU_FLAG_NO_REPLY 0x10u
#define VFU_FLAG_ERROR	  0x20u

/** Followed by a NUL-terminated JSON text, or by nothing. */
struct vfu_version {
	uint16_t major; /**< VFU_VERSION_MAJOR, or there is no session */
	uint16_t minor; /**< the smaller one holds */
};
VFU_SIZE(vfu_version, 4);

/**
 * The descriptor of the memory comes with the message; without one only VFU_DMA_READ and VFU_DMA_WRITE would reach it, which
 * this library does not send.
 */
struct vfu_dma_map {
	uint32_t argsz;	 /**< bytes of this struct */
	uint32_t flags;	 /**< VFU_DMA_FLAG_* */
	uint64_t offset; /**< in the file */
	uint64_t iova;	 /**< of the first byte */
	uint64_t size;	 /**< bytes; whole pages */
};
VFU_SIZE(vfu_dma_map, 32);
VFU_OFFSET(vfu_dma_map, iova, 16);

#define VFU_DMA_FLAG_READ  0x1u /**< the device may read */
#define VFU_DMA_FLAG_WRITE 0x2u /**< the device may write */
/* The access mode; newer clients set it with each descriptor. */
#define VFU_DMA_FLAG_MODE_MASK 0xcu
#define VFU_DMA_FLAG_MODE_MMAP 0x4u
#define VFU_DMA_FLAG_MODE_FILE 0x8u /**< read and write of the descriptor */

/** Revokes the device's access to a range. */
struct vfu_dma_unmap {
	uint32_t argsz; /**< bytes of this struct */
	uint32_t flags; /**< 0 or VFU_DMA_UNMAP_FLAG_ALL */
	uint64_t iova;	/**< of the first byte */
	uint64_t size;	/**< bytes; all maps in there */
};
VFU_SIZE(vfu_dma_unmap, 24);
VFU_OFFSET(vfu_dma_unmap, iova, 8);

#define VFU_DMA_UNMAP_FLAG_ALL 0x2u /**< with iova and size 0: everything */

/** Describes the device. */
struct vfu_device_info {
	uint32_t argsz;	      /**< bytes of this struct */
	uint32_t flags;	      /**< VFU_DEVICE_FLAG_* */
	uint32_t num_regions; /**< indices, also of empty ones */
	uint32_t num_irqs;    /**< types, also of empty ones */
};
VFU_SIZE(vfu_device_info, 16);

#define VFU_DEVICE_FLAG_RESET 0x1u
#define VFU_DEVICE_FLAG_PCI   0x2u

/** Describes a region; capabilities follow. */
struct vfu_region_info {
	uint32_t argsz;	     /**< bytes with all capabilities; in a request, the client's room */
	uint32_t flags;	     /**< VFU_REGION_FLAG_* */
	uint32_t index;	     /**< enum vfu_pci_region */
	uint32_t cap_offset; /**< from the start of this struct; 0: none */
	uint64_t size;	     /**< bytes; 0: there is none */
	uint64_t offset;     /**< of the region in the file that comes with the reply */
};
VFU_SIZE(vfu_region_info, 32);
VFU_OFFSET(vfu_region_info, size, 16);

#define VFU_REGION_FLAG_READ  0x1u
#define VFU_REGION_FLAG_WRITE 0x2u
#define VFU_REGION_FLAG_MMAP  0x4u
#define VFU_REGION_FLAG_CAPS  0x8u

/** The header of a region's capability. */
struct vfu_cap_header {
	uint16_t id;	  /**< VFU_CAP_* */
	uint16_t version; /**< 1 */
	uint32_t next;	  /**< from the start of struct vfu_region_info; 0: the last one */
};
VFU_SIZE(vfu_cap_header, 8);

#define VFU_CAP_SPARSE_MMAP 1

/** Part of a region, relative to its start. */
struct vfu_area {
	uint64_t offset; /**< bytes; whole pages */
	uint64_t size;	 /**< bytes; whole pages */
};
VFU_SIZE(vfu_area, 16);

/** Capability: only these areas of the region can be mapped. */
struct vfu_cap_sparse_mmap {
	struct vfu_cap_header header; /**< id VFU_CAP_SPARSE_MMAP */
	uint32_t nr_areas;	      /**< how many follow */
	uint32_t reserved;	      /**< 0 */
	struct vfu_area areas[];      /**< disjoint */
};
VFU_SIZE(vfu_cap_sparse_mmap, 16);
VFU_OFFSET(vfu_cap_sparse_mmap, areas, 16);

/** Regions of a PCI function. */
enum vfu_pci_region {
	VFU_PCI_BAR0 = 0,
	VFU_PCI_BAR5 = 5,
	VFU_PCI_ROM = 6,
	VFU_PCI_CONFIG = 7,
	VFU_PCI_VGA = 8,
	VFU_PCI_REGIONS = 9,
};

/** Interrupt types of a PCI function. */
enum vfu_pci_irq {
	VFU_PCI_INTX = 0,
	VFU_PCI_MSI = 1,
	VFU_PCI_MSIX = 2,
	VFU_PCI_ERR = 3,
	VFU_PCI_REQ = 4,
	VFU_PCI_IRQS = 5,
};

/** Describes an interrupt type. */
struct vfu_irq_info {
	uint32_t argsz; /**< bytes of this struct */
	uint32_t flags; /**< VFU_IRQ_FLAG_* */
	uint32_t index; /**< enum vfu_pci_irq */
	uint32_t count; /**< vectors of it */
};
VFU_SIZE(vfu_irq_info, 16);

#define VFU_IRQ_FLAG_EVENTFD	0x1u
#define VFU_IRQ_FLAG_MASKABLE	0x2u
#define VFU_IRQ_FLAG_AUTOMASKED 0x4u
#define VFU_IRQ_FLAG_NORESIZE	0x8u

/** Followed by count bytes for VFU_IRQ_SET_BOOL. Eventfds come with the message. */
struct vfu_irq_set {
	uint32_t argsz; /**< bytes of this struct and the data behind it */
	uint32_t flags; /**< VFU_IRQ_SET_*: one kind of data, one action */
	uint32_t index; /**< enum vfu_pci_irq */
	uint32_t start; /**< the first vector */
	uint32_t count; /**< vectors; 0 with no data: all of the type */
};
VFU_SIZE(vfu_irq_set, 20);

#define VFU_IRQ_SET_NONE	0x01u
#define VFU_IRQ_SET_BOOL	0x02u
#define VFU_IRQ_SET_EVENTFD	0x04u
#define VFU_IRQ_SET_DATA_MASK	0x07u
#define VFU_IRQ_SET_MASK	0x08u
#define VFU_IRQ_SET_UNMASK	0x10u
#define VFU_IRQ_SET_TRIGGER	0x20u
#define VFU_IRQ_SET_ACTION_MASK 0x38u

/** Followed by count bytes in a write and in the reply to a read. */
struct vfu_region_access {
	uint64_t offset; /**< in the region, bytes */
	uint32_t region; /**< enum vfu_pci_region */
	uint32_t count;	 /**< bytes of data */
};
VFU_SIZE(vfu_region_access, 16);
VFU_OFFSET(vfu_region_access, count, 12);

/** Followed by count bytes in a write and in the reply to a read. */
struct vfu_dma_access {
	uint64_t iova;	/**< of the first byte */
	uint64_t count; /**< bytes of data */
};
VFU_SIZE(vfu_dma_access, 16);

/** One write of at most eight bytes. */
struct vfu_region_write {
	uint64_t offset; /**< in the region, bytes */
	uint32_t region; /**< enum vfu_pci_region */
	uint32_t count;	 /**< bytes: 1 .. 8 */
	uint8_t data[8]; /**< the first `count` of them */
};
VFU_SIZE(vfu_region_write, 24);
VFU_OFFSET(vfu_region_write, data, 16);

/** Followed by that many struct vfu_region_write in the request. */
struct vfu_write_multi {
	uint64_t wr_cnt; /**< how many */
};
VFU_SIZE(vfu_write_multi, 8);

#endif
