/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The access seam: how the driver reaches a function. One small table of operations, implemented by `direct` (the
 * embedded software RNIC), `vfio_user` (a socket) and `vfio` (a PCI function). The data path never goes through it:
 * UAR pages and rings are plain memory.
 *
 * A function can be lost: its server dies, the card is pulled out. From then on `gone` is set, registers read all ones,
 * writes do nothing, map() and reset() return -ENOTCONN at once, and unmap() succeeds once the memory can no longer be
 * reached.
 *
 * The control thread waits no longer for a function when it is to end (rnic_thread_patience_ms()): what it calls returns
 * -ECANCELED then, with the outcome unknown, and reads all ones; the function is not lost. While the device is closed all
 * calls have one deadline (end_by()), at which the function is.
 */
#ifndef RNIC_ACCESS_ACCESS_H
#define RNIC_ACCESS_ACCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prm/field.h"

/* Of memory that is mapped. */
#define RNIC_PAGE_BYTES 4096u

struct rnic_access;

#define RNIC_ACCESS_READ  0x1 /* the device may read */
#define RNIC_ACCESS_WRITE 0x2 /* the device may write */

/* Who made the function, what it is, and which issue of it: of its PCI configuration space. */
struct rnic_pci_ids {
	uint16_t vendor, device;
	uint8_t revision;
};

struct rnic_access_ops {
	const char *name;
	void (*close)(struct rnic_access *access);
	/* As it was at open: a lost function is still known. */
	struct rnic_pci_ids (*pci_ids)(const struct rnic_access *access);
	/* Registers of BAR0, in the bus's byte order. A read from a dead function gives all ones. */
	struct rnic_be32 (*read32)(struct rnic_access *access, uint64_t offset);
	void (*write32)(struct rnic_access *access, uint64_t offset, struct rnic_be32 value);
	void (*write64)(struct rnic_access *access, uint64_t offset, struct rnic_be64 value);
	/* Address of a UAR page as memory; NULL if this one must be written by write32/write64. */
	volatile void *(*uar)(struct rnic_access *access, uint32_t uar_index);
	/*
	 * Let the device reach [address, address + length), both multiples of 4 KiB, with RNIC_ACCESS_* rights.
	 * The iova is congruent to the address modulo the largest power of two that fits the length, so that big
	 * translation pages can be used. -ENOSPC: no range or no map entry left. -ENOTSUP: memory that cannot be shared
	 * with the device (logged).
	 */
	int (*map)(struct rnic_access *access, void *address, size_t length, unsigned int rights,
		   uint64_t *iova);
	/* What was mapped, whole. When it returns, the device no longer reaches the memory. */
	int (*unmap)(struct rnic_access *access, uint64_t iova, size_t length);
	/* Interrupts: an eventfd per MSI-X vector, all taken at open. */
	int (*irq_fd)(struct rnic_access *access, unsigned int vector);
	/* Function level reset. Maps and interrupts stay. */
	int (*reset)(struct rnic_access *access);
	/* No call waits longer than that from now on, all of them together. NULL: none waits for anybody. */
	void (*end_by)(struct rnic_access *access, unsigned int ms);
	/* A descriptor that poll() has `hangup_events` of when the function is lost, or about to be, or -1. */
	int (*hangup_fd)(struct rnic_access *access);
};

struct rnic_access {
	const struct rnic_access_ops *ops;
	const char *device; /* its name in messages */
	unsigned int irq_count;
	size_t bar_size;
	/* map() takes memory of any origin, not EAL's alone */
	bool any_memory;
	_Atomic uint32_t maps; /* alive */
	_Atomic uint64_t mapped_bytes;
	atomic_bool gone; /* for good */
	bool comes_back;  /* not quite: who resets its bus or its card takes it away for a while */
	short hangup_events;
	const char *hangup_reason; /* what that means, if the device itself looks well */
};

#endif
