/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Protection domains, memory regions, and mempools registered as a whole. A device reaches registered memory only.
 *
 * Source: IBTA vol. 1, chapter 11, "Allocate Protection Domain", "Register Memory Region", "Reregister Memory Region", "Deregister
 * Memory Region". PRM: "Memory Key Context".
 */
#ifndef RDMAPMD_MR_H
#define RDMAPMD_MR_H

#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_compat.h>
#include <rte_mbuf.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_context;

/** What registered memory may be used for. */
enum rdmapmd_access_flags {
	RDMAPMD_ACCESS_LOCAL_WRITE = 1 << 0,   /**< receive into it, READ into it */
	RDMAPMD_ACCESS_REMOTE_WRITE = 1 << 1,  /**< answer WRITEs to it; needs LOCAL_WRITE */
	RDMAPMD_ACCESS_REMOTE_READ = 1 << 2,   /**< answer READs from it */
	RDMAPMD_ACCESS_REMOTE_ATOMIC = 1 << 3, /**< answer atomics on it; needs LOCAL_WRITE */
	RDMAPMD_ACCESS_MW_BIND = 1 << 4,       /**< memory windows may be bound to it */
	/**
	 * Work requests address the region by offsets from its first byte, so that the peer learns no address of this
	 * process. That byte must be aligned to 4 KiB.
	 */
	RDMAPMD_ACCESS_ZERO_BASED = 1 << 5,
	/**
	 * The device may read and write in any order that PCI lets it, which some hosts are much faster with. What a completion tells
	 * of is there nevertheless; who looks for data without one may see its end before its beginning. Optional: nothing of a
	 * device that cannot.
	 */
	RDMAPMD_ACCESS_RELAXED_ORDERING = 1 << 20,
};

/** Flags that a device need not know, of this version or a later one: they may be given to any. */
#define RDMAPMD_ACCESS_OPTIONAL_RANGE 0x3ff00000u

/** What rdmapmd_mr_rereg() changes. */
enum rdmapmd_rereg_flags {
	RDMAPMD_REREG_MR_CHANGE_TRANSLATION = 1 << 0, /**< address and length */
	RDMAPMD_REREG_MR_CHANGE_PD = 1 << 1,
	RDMAPMD_REREG_MR_CHANGE_ACCESS = 1 << 2,
};

/** No memory has this key. */
#define RDMAPMD_INVALID_LKEY UINT32_C(0xffffffff)

/** A range of addresses and its key. */
struct rdmapmd_key_range {
	/** Addresses in this process: of its first byte, and of the one behind its last; start < end. */
	uintptr_t start, end;
	uint32_t lkey; /**< local key for every byte of the range; never RDMAPMD_INVALID_LKEY */
};

/** The keys of a PD's mempools, sorted by address. Never changed once it is published. */
struct rdmapmd_key_table {
	uint32_t count;			   /**< how many ranges follow, from 0 up */
	struct rdmapmd_key_range ranges[]; /**< disjoint, in ascending order of start */
};

/** A protection domain: queue pairs reach only the memory regions of their own domain. */
struct rdmapmd_pd {
	struct rdmapmd_context *context; /**< it was created in */
	/** For rdmapmd_lkey_lookup(); replaced as a whole, by a store-release. */
	const struct rdmapmd_key_table *keys;
	uint32_t pdn; /**< the device's number; 24 bits */
};

/** A memory region. Read it, do not write it. */
struct rdmapmd_mr {
	struct rdmapmd_context *context; /**< it was created in */
	struct rdmapmd_pd *pd;		 /**< its protection domain */
	void *addr;			 /**< its first byte, in this process */
	size_t length;			 /**< bytes */
	uint64_t iova;			 /**< the first byte's address in work requests */
	uint32_t lkey;			 /**< for scatter/gather entries */
	uint32_t rkey;			 /**< for the peer; allows what `access` allows */
	uint32_t access;		 /**< enum rdmapmd_access_flags, or'ed */
};

/**
 * Create a protection domain.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context An open device.
 * @param pd      Out: the protection domain.
 * @return 0; -ENOSPC the device has none left; -ENOMEM.
 */
__rte_experimental int rdmapmd_pd_alloc(struct rdmapmd_context *context, struct rdmapmd_pd **pd);

/**
 * Free a protection domain.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd A protection domain that is alive.
 * @return 0; -EBUSY memory regions, mempools, queue pairs or SRQs are still in it.
 */
__rte_experimental int rdmapmd_pd_dealloc(struct rdmapmd_pd *pd);

/**
 * Register memory: from now on the device may reach [addr, addr + length), and nothing beyond it, as `access` allows. Work
 * requests use the addresses of the process, or offsets with RDMAPMD_ACCESS_ZERO_BASED.
 *
 * Forked children do not inherit the pages of a region that EAL did not allocate (madvise(MADV_DONTFORK)) until it is
 * deregistered: after a copy on write, process and device would see different pages.
 *
 * Threads: any. Blocks: for commands; grows with the number of pages.
 * Owner:   the memory stays the caller's, and must stay where it is until rdmapmd_mr_dereg() has returned.
 *
 * @param pd     A protection domain that is alive.
 * @param addr   The first byte, of this process.
 * @param length Bytes: 1 .. max_mr_size.
 * @param access enum rdmapmd_access_flags.
 * @param mr     Out: the region, with its keys.
 * @return 0; -EINVAL length 0, a range that wraps or is larger than max_mr_size, unknown flags, remote write or atomic
 *         access without local write, a zero-based region that is not aligned to a page; -EFAULT no memory there, or
 *         memory that the process itself may not read, or not write to with local write access; -ENOSPC no keys are
 *         left, or the system's limit of mapped memory is reached; -ENOMEM.
 */
__rte_experimental int rdmapmd_mr_reg(struct rdmapmd_pd *pd, void *addr, size_t length,
				      unsigned int access, struct rdmapmd_mr **mr);

/**
 * As rdmapmd_mr_reg(), but the caller chooses the first byte's address in work requests.
 *
 * Threads: any. Blocks: for commands; grows with the number of pages.
 *
 * @param pd     A protection domain that is alive.
 * @param addr   The first byte, of this process.
 * @param length Bytes: 1 .. max_mr_size.
 * @param iova   The first byte's address in work requests; its offset in a page of 4 KiB must be that of `addr`.
 * @param access enum rdmapmd_access_flags, or'ed.
 * @param mr     Out: the region, with its keys.
 * @return As rdmapmd_mr_reg(); -EINVAL also: iova + length wraps, the offsets differ, or RDMAPMD_ACCESS_ZERO_BASED is given.
 */
__rte_experimental int rdmapmd_mr_reg_iova(struct rdmapmd_pd *pd, void *addr, size_t length,
					   uint64_t iova, unsigned int access,
					   struct rdmapmd_mr **mr);

/**
 * Change the range, domain or access of a region. Its old keys are invalid afterwards, the new ones are in `mr`.
 *
 * Threads: any. Blocks: for commands.
 * Order:   work requests that use the old keys must have completed.
 *
 * @param mr     The region; its members are the new ones afterwards.
 * @param flags  enum rdmapmd_rereg_flags, or'ed; the rest stays as it is.
 * @param pd     With RDMAPMD_REREG_MR_CHANGE_PD: another domain of the context.
 * @param addr   With RDMAPMD_REREG_MR_CHANGE_TRANSLATION: the new first byte.
 * @param length With RDMAPMD_REREG_MR_CHANGE_TRANSLATION: bytes, 1 .. max_mr_size.
 * @param access With RDMAPMD_REREG_MR_CHANGE_ACCESS: enum rdmapmd_access_flags, or'ed.
 * @return 0; -EBUSY windows are bound to it, as rdmapmd_mr_dereg(); as rdmapmd_mr_reg(). On error the region and its keys are as
 *         they were.
 */
__rte_experimental int rdmapmd_mr_rereg(struct rdmapmd_mr *mr, unsigned int flags,
					struct rdmapmd_pd *pd, void *addr, size_t length,
					unsigned int access);

/**
 * Deregister. When it returns, the keys no longer reach the memory, neither locally nor from a peer.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param mr A memory region that is alive.
 * @return 0; -EBUSY memory windows are bound to it: no completion of an invalidation of theirs was polled; the errors of every
 *         call.
 */
__rte_experimental int rdmapmd_mr_dereg(struct rdmapmd_mr *mr);

/**
 * Register all memory of a mempool, so that rdmapmd_mbuf_lkey() finds the keys of its mbufs. Registrations are counted: as
 * many calls of rdmapmd_mempool_unregister() undo them. Freeing the mempool invalidates its keys.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd      A protection domain that is alive.
 * @param mempool A mempool that has its memory (rte_mempool_populate_*()).
 * @param access  As in rdmapmd_mr_reg(), without ZERO_BASED; further registrations with this PD must give the same.
 * @return 0; -EEXIST registered with other access; -EINVAL the mempool has no memory yet; as rdmapmd_mr_reg().
 */
__rte_experimental int rdmapmd_mempool_register(struct rdmapmd_pd *pd, struct rte_mempool *mempool,
						unsigned int access);

/**
 * Undo one registration of a mempool. The last one deregisters its memory, and the keys are invalid.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param pd      A protection domain that is alive.
 * @param mempool As given to rdmapmd_mempool_register().
 * @return 0; -ENOENT it is not registered.
 */
__rte_experimental int rdmapmd_mempool_unregister(struct rdmapmd_pd *pd,
						  struct rte_mempool *mempool);

/**
 * Look up the key of an address in a registered mempool.
 *
 * Threads: any, also while mempools are registered. Blocks: never; takes no lock, calls nothing.
 * Order:   the key is valid as long as its mempool is registered.
 *
 * @param pd      A protection domain that is alive.
 * @param address Of any byte, in this process.
 * @return The key, or RDMAPMD_INVALID_LKEY.
 */
static inline uint32_t
rdmapmd_lkey_lookup(const struct rdmapmd_pd *pd, uintptr_t address)
{
	/* Partner: the store-release in the library's publication of a table. */
	const struct rdmapmd_key_table *table = __atomic_load_n(&pd->keys, __ATOMIC_ACQUIRE);
	uint32_t low = 0, high = table->count;

	while (low < high) {
		const uint32_t middle = low + ((high - low) >> 1);

		if (address < table->ranges[middle].start)
			high = middle;
		else if (address >= table->ranges[middle].end)
			low = middle + 1;
		else
			return table->ranges[middle].lkey;
	}
	return RDMAPMD_INVALID_LKEY;
}

/**
 * As rdmapmd_lkey_lookup(), for the first byte of an mbuf's data.
 *
 * Threads: any, also while mempools are registered. Blocks: never; takes no lock, calls nothing.
 *
 * @param pd   A protection domain that is alive.
 * @param mbuf An mbuf; its buffer belongs to a registered mempool.
 * @return The key, or RDMAPMD_INVALID_LKEY.
 */
static inline uint32_t
rdmapmd_mbuf_lkey(const struct rdmapmd_pd *pd, const struct rte_mbuf *mbuf)
{
	return rdmapmd_lkey_lookup(pd, (uintptr_t)mbuf->buf_addr + mbuf->data_off);
}

#ifdef __cplusplus
}
#endif

#endif
