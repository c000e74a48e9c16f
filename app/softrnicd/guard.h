/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The memory of a client, which can vanish at any time: who truncates the file behind it makes each access to it a
 * SIGBUS, and only that client is to suffer from it.
 *
 * A guard keeps the list of the regions that one client has mapped. The handler of SIGBUS finds the mapping of the
 * faulting address in it, and puts zeroed memory of our own over a piece of it, so that the access that faulted, wherever in
 * the device it was, goes on and ends; the device finds none of that client's memory, and then the loop disconnects the
 * client (guard_fault()). What was read in between is zeros, as good as anything else that a client could have put there;
 * what was written is lost.
 *
 * Threads: a guard is one thread's, that of the device. See guard.c for why this is safe in a signal handler.
 */
#ifndef SOFTRNICD_GUARD_H
#define SOFTRNICD_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct softrnic;

struct guard_region {
	uint64_t iova;
	uint8_t *address;
	size_t length; /* 0: removed, kept for the order until the list is packed */
	unsigned int prot;
	/* what mmap() made, in which it lies, perhaps beside others */
	uint8_t *mapping;
	size_t mapping_length, mapping_page;
	uint64_t mapping_holes; /* bytes in there that had no memory yet */
};

struct guard {
	LIST_ENTRY(guard) next;
	unsigned int thread;	      /* that polls the device */
	struct guard_region *regions; /* by iova */
	unsigned int count;	      /* of entries, removed ones too */
	unsigned int removed;
	unsigned int room;
	void *mappings; /* a tree, by address */
	uint64_t holes; /* of all of them */
	struct softrnic *rnic;
	int fd;		/* mapped instead, where private memory cannot be had */
	bool file_used; /* that was so */
	volatile sig_atomic_t faulted;
	const uint8_t *fault; /* where it was at first */
};

/** Watch SIGBUS. @return 0 or -errno. */
int guard_install(void);
/** The calling thread is that one of the process from here on; at first it is 0. */
void guard_enter_thread(unsigned int thread);

/**
 * All zero is an empty guard; between these two its regions are looked at. Before the jail, as it makes a file, and while no other
 * thread polls devices, as is guard_leave().
 *
 * @return 0 or -errno.
 */
int guard_join(struct guard *guard, struct softrnic *rnic, unsigned int thread);
/** All zero is fine. */
void guard_leave(struct guard *guard);

/** The caller knows that the regions do not overlap. @return 0 or -ENOMEM. */
int guard_add(struct guard *guard, const struct guard_region *region);
void guard_remove(struct guard *guard, uint64_t iova);
/** Forget all regions and that something has happened. */
void guard_clear(struct guard *guard);

/** Has memory vanished since guard_clear()? Then at which IOVA, about. */
bool guard_fault(const struct guard *guard, uint64_t *iova);

#endif
