/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The software RNIC: a device of the mlx5 class in memory. This is its only public header, for every kind of host: the
 * driver's `direct` access in the same process, and a daemon that serves the device over a socket.
 *
 * A host creates a poller, creates devices on it, and calls softrnic_poll() in a loop, or uses the device thread of the process
 * (softrnic_host_get()). A device then executes a driver's requests: register writes, doorbells, and queues in the memory that
 * the host has mapped for it.
 *
 * Source: PRM: "Initialization Segment", "UAR Page Format", "Command Interface".
 *
 * Threads: any thread may call any function on the devices of a poller. Each call takes the poller's lock, which softrnic_poll()
 * holds while it works. Interrupt callbacks run in the polling thread with the lock held: they must not call these functions.
 *
 * Blocks: for that lock. softrnic_host_put() by the last user also waits until the device thread has ended.
 *
 * Errors: 0 or -errno.
 */
#ifndef SOFTRNIC_H
#define SOFTRNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softrnic;
struct softrnic_poller;

#define SOFTRNIC_NAME_BYTES   64
#define SOFTRNIC_MSIX_VECTORS 64
/** Pollers beside each other. */
#define SOFTRNIC_POLLERS 64
/** UAR pages that can be allocated; they follow the initialization segment. */
#define SOFTRNIC_UAR_PAGES 256

/** The cards and functions that a device can imitate; doc/design/metal.md lists them and their sources. */
#define SOFTRNIC_LIKE_NAMES                                                                   \
	"default, cx4lx, cx4lx-vf, cx4lx-vf-trusted, cx5, cx5-vf, cx5-vf-trusted, cx6dx, "    \
	"cx6dx-vf, cx6dx-vf-trusted, cx7, cx7-vf, cx7-vf-trusted, bluefield-host, realtime, " \
	"oldfw, busyfw"

/**
 * The PCI device ID (vendor 15b3) of a card or function that a device can imitate.
 *
 * @param name One of SOFTRNIC_LIKE_NAMES.
 * @return The device ID; 0: there is none of that name.
 */
uint16_t softrnic_like_pci_device(const char *name);

/** How to create a device. Zero means default in every member. */
struct softrnic_conf {
	/** The device's name, for messages, e.g. the driver's "net_rnic0". Required. */
	const char *name;
	/**
	 * "loop" (default): frames come back; "pair:NAME": to the other device of that name; "switch:NAME": to up to 63
	 * others of that name; "port:ETHDEV": through that ethdev of the process, which must have EAL; "pcap": by libpcap, as the
	 * next ones say; "null": what is sent has arrived; "source:BYTES": the same, and frames of that length come as fast as there
	 * are buffers.
	 */
	const char *wire;
	/**
	 * For wire "pcap": the capture to receive frames from; the capture to write sent frames to; or the host's network
	 * interface to use. NULL: none.
	 */
	const char *rx_pcap, *tx_pcap, *iface;
	/** Its MAC address; all zero: a locally administered one, derived from name and process. */
	uint8_t mac[6];
	/** Largest frame payload in bytes; default 9978. */
	uint16_t max_mtu;
	/** 4 KiB pages that the device requests at boot; default 4. */
	uint32_t boot_pages;
	/** ... and before INIT_HCA; default 32. */
	uint32_t init_pages;
	/** Seed of all random choices; 0: from the system. */
	uint64_t seed;
	/** Faults of frames sent to the wire, in parts per million. */
	uint32_t drop_ppm, dup_ppm, reorder_ppm, corrupt_ppm;
	/** ... and a fixed time on their way, in microseconds: at most 10 s. What 4 MiB cannot hold of them is dropped. */
	uint32_t delay_us;
	/** Faults of RoCE packets that are named, see softrnic_rules_wanted(). NULL: none. */
	const char *rules;
	/** RoCE packets go as bytes into wires within the process, too, where they would go as descriptors. */
	bool bytes;
	/**
	 * Stop the health counter that many milliseconds after the device's first INIT_HCA, until a reset. It happens once in the
	 * device's life, so that a driver that resets it gets a healthy one. 0: never.
	 */
	uint32_t health_stop_ms;
	/**
	 * Have the firmware meet its end that many milliseconds after the device's first INIT_HCA, as SOFTRNIC_FAULT_FATAL with
	 * syndrome 1, with the next look at the health counter. A reset ends it, and it happens once in the device's life. 0: never.
	 */
	uint32_t fatal_ms;
	/** Offer BlueFlame. */
	bool bf;
	/** Require L2 headers inline in send WQEs, and offer no multi-packet WQEs, as a ConnectX-4 Lx does. */
	bool inline_l2;
	/** Behaviour of cards to test drivers with, see softrnic_quirks_wanted(). NULL: none. */
	const char *quirks;
	/**
	 * Host memory belongs to another process, which the drivers of other devices need not trust: it may change a frame in
	 * flight. The device copies the bytes that it checks before it checks them.
	 */
	bool foreign_memory;
	/** One of SOFTRNIC_LIKE_NAMES: the card, or function of one, to imitate. NULL: default. */
	const char *like;
	/** Limit of our memory for all of the driver's objects, rings and lists, in bytes. 0: only their own limits. */
	uint64_t memory_max;
};

/**
 * The valid quirks, for messages.
 *
 * @return A static string: a sentence that ends in their names.
 */
const char *softrnic_quirks_wanted(void);

/**
 * Check a text for conf's quirks.
 *
 * @param text As conf's quirks.
 * @return Whether it is valid.
 */
bool softrnic_quirks_valid(const char *text);

/**
 * The valid rules, for messages.
 *
 * @return A static string: how they are written, as a sentence.
 */
const char *softrnic_rules_wanted(void);

/**
 * Check a text for conf's rules.
 *
 * @param text As conf's rules.
 * @return Whether it is valid.
 */
bool softrnic_rules_valid(const char *text);

/**
 * Create a poller. Its devices may exchange frames with each other.
 *
 * @param poller Out: the poller.
 * @return 0; -ENOMEM.
 */
int softrnic_poller_create(struct softrnic_poller **poller);

/**
 * Create a poller beside another one, to be polled by another thread. Wires "pair" and "switch" join devices of both: between
 * pollers frames are copied into a ring by the sender's thread, and from there into receive buffers by the receiver's; those of
 * queue pairs go as bytes. Names of devices are unique among all pollers that stand beside each other.
 *
 * @param other  A poller that is alive.
 * @param poller Out: the poller.
 * @return 0; -ENOMEM; -ENOSPC: there are SOFTRNIC_POLLERS of them.
 */
int softrnic_poller_create_beside(struct softrnic_poller *other, struct softrnic_poller **poller);

/**
 * Have a function called whenever there may be work for the poller: after each call through this header, and when another poller
 * beside it has sent something. Set it before the poller's first device is created, and clear it after the last one of all
 * pollers beside it is destroyed.
 *
 * @param poller A poller that is alive.
 * @param wake   Called by any thread, often, with or without locks; wakes the polling thread if that sleeps. NULL: nothing.
 * @param arg    For wake.
 */
void softrnic_poller_set_wake(struct softrnic_poller *poller, void (*wake)(void *arg), void *arg);

/**
 * Destroy a poller. It, and those beside it, have no devices.
 *
 * @param poller A poller that is alive.
 * @return 0; -EBUSY while it, or one beside it, has devices.
 */
int softrnic_poller_destroy(struct softrnic_poller *poller);

/**
 * Poll all devices of the poller once. Never blocks, except for the poller's lock.
 *
 * @param poller A poller that is alive.
 * @return Number of work items executed (WQEs, frames, commands); 0: idle.
 */
unsigned int softrnic_poll(struct softrnic_poller *poller);

/**
 * Use a poller of this process. A device thread, named "softrnic", polls it. For each CPU that is asked for there is one, and the
 * pollers stand beside each other; each starts with its first user, and all end with the last user of any. A thread polls while
 * there is work; when idle it yields, then sleeps.
 *
 * @param core   CPU to pin the thread to; -1: the thread that started first, or, if there is none, one that is not pinned.
 * @param poller Out: the poller; softrnic_host_put() releases it.
 * @return 0; -EINVAL no such CPU; -ENOSPC too many threads; -errno of creating the thread.
 */
int softrnic_host_get(int core, struct softrnic_poller **poller);
/**
 * Release a poller of the process: one call for each of softrnic_host_get(). The threads end with the last user.
 */
void softrnic_host_put(void);

/**
 * Create a device, in power-on state.
 *
 * @param poller A poller that is alive.
 * @param conf   Its configuration; read during the call.
 * @param dev    Out: the device.
 * @return 0; -EINVAL an invalid configuration (logged); -EEXIST the name is taken, or the pair or switch has no end left;
 *         -ENOMEM.
 */
int softrnic_create(struct softrnic_poller *poller, const struct softrnic_conf *conf,
		    struct softrnic **dev);

/**
 * Destroy a device, as by surprise removal: the other end of a pair loses its link. Its maps and callbacks end.
 *
 * @param dev A device that is alive.
 */
void softrnic_destroy(struct softrnic *dev);

/**
 * PCI function level reset: back to power-on state. DMA maps and interrupt callbacks belong to the host and stay.
 *
 * @param dev A device that is alive.
 * @return 0.
 */
int softrnic_reset(struct softrnic *dev);

/**
 * The size of BAR0.
 *
 * @param dev A device that is alive.
 * @return Bytes.
 */
size_t softrnic_bar_size(const struct softrnic *dev);

/**
 * Read a register of BAR0 by a naturally aligned access of 4 or 8 bytes, in the byte order of the bus (as the bytes would be in
 * memory). Works for all registers, including UAR pages.
 *
 * @param dev    A device that is alive.
 * @param offset In BAR0, bytes; a multiple of `length`.
 * @param data   Out: `length` bytes.
 * @param length 4 or 8.
 * @return 0; -EINVAL for an access outside the BAR or of another size.
 */
int softrnic_bar_read(struct softrnic *dev, uint64_t offset, void *data, size_t length);
/**
 * Write a register. As softrnic_bar_read().
 *
 * @param dev    A device that is alive.
 * @param offset In BAR0, bytes; a multiple of `length`.
 * @param data   `length` bytes.
 * @param length 4 or 8.
 * @return 0; -EINVAL as softrnic_bar_read().
 */
int softrnic_bar_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length);

/**
 * The part of BAR0 that may be mapped as memory: all UAR pages but the first one allocated. Writes to that one must use
 * softrnic_bar_write(): drivers put event queues there, whose doorbells have no record in memory.
 *
 * @param dev     A device that is alive.
 * @param offset  Out: its offset in BAR0, and in the file; bytes.
 * @param length  Out: bytes.
 * @param address Out: its address in this process.
 * @param fd      Out: a file descriptor with that memory at *offset, as in the BAR. It is the device's own: do not close
 *                it. Its size is sealed. May be NULL.
 * @return 0 or -errno.
 */
int softrnic_bar_mmap(struct softrnic *dev, uint64_t *offset, size_t *length, void **address,
		      int *fd);

/**
 * Replace these pages, at the same address, by zeroed ones in a file that was never shared. Call it after a reset, before another
 * driver uses the device: pages that the previous driver still maps are then shared with nothing. The old descriptor is closed.
 *
 * @param dev A device that is alive.
 * @param fd  Out: the new descriptor; -1: there is none, and the pages cannot be mapped until the next call.
 * @return 0; -errno with fd -1. -ENOMEM: not even private pages could be allocated, and the old ones stay.
 */
int softrnic_bar_renew(struct softrnic *dev, int *fd);

#define SOFTRNIC_DMA_READ  0x1 /**< the device may read */
#define SOFTRNIC_DMA_WRITE 0x2 /**< the device may write */

/**
 * Map [iova, iova + length) to host memory at address for the device, until unmapped. Outside all maps it has no access.
 *
 * @param dev     A device that is alive.
 * @param iova    The first byte's address for the device.
 * @param length  Bytes, at least 1.
 * @param address The first byte's address in this process.
 * @param prot    SOFTRNIC_DMA_READ, SOFTRNIC_DMA_WRITE, or both.
 * @return 0; -EEXIST overlap with another map; -EINVAL wrap or zero length; -ENOMEM.
 */
int softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
		     unsigned int prot);

/**
 * Unmap a range exactly as it was mapped. When it returns, the device no longer touches the memory.
 *
 * @param dev    A device that is alive.
 * @param iova   As it was mapped.
 * @param length As it was mapped.
 * @return 0; -ENOENT no such map.
 */
int softrnic_dma_unmap(struct softrnic *dev, uint64_t iova, size_t length);

/**
 * The mapped memory has vanished: until all maps are removed, the device finds no memory. It may go on touching what it has
 * already looked up for as long as one frame takes.
 *
 * Threads: that of softrnic_poll(), also in the handler of a signal that an access of the device has raised. Blocks: never.
 *
 * @param dev A device that is alive.
 */
void softrnic_dma_vanished(struct softrnic *dev);

/**
 * Set PCI's Bus Master Enable: while it is off, the device reaches no memory, whatever is mapped. It is on in a new device; it
 * belongs to the host, so a reset leaves it alone. The call takes the same time however much is mapped.
 *
 * @param dev A device that is alive.
 * @param on  Whether it may reach memory.
 */
void softrnic_bus_master(struct softrnic *dev, bool on);

/**
 * Set the callback for an MSI-X vector.
 *
 * @param dev    A device that is alive.
 * @param vector 0 .. SOFTRNIC_MSIX_VECTORS - 1.
 * @param fn     Called with `arg` and the vector; NULL: none.
 * @param arg    For fn.
 * @return 0; -EINVAL no such vector.
 */
int softrnic_set_interrupt(struct softrnic *dev, unsigned int vector,
			   void (*fn)(void *arg, unsigned int vector), void *arg);

/** Faults to test drivers with. softrnic_reset() ends them. */
enum softrnic_fault {
	/** All faults off. */
	SOFTRNIC_FAULT_NONE,
	/** opcode << 8 | status: commands with that opcode fail; op_mod + 1 in bits [39:24], or 0 for any. */
	SOFTRNIC_FAULT_COMMAND_STATUS,
	/** opcode: commands with that opcode never complete. */
	SOFTRNIC_FAULT_COMMAND_STUCK,
	/** The health counter stops. */
	SOFTRNIC_FAULT_HEALTH_STOPPED,
	/** A syndrome: the health buffer is filled, the device stops. */
	SOFTRNIC_FAULT_FATAL,
	/** The initializing bit stays set. */
	SOFTRNIC_FAULT_INITIALIZING,
	/** Not a fault: request that many pages from the driver, or offer them back (int32_t). */
	SOFTRNIC_FAULT_PAGE_REQUEST,
};
/**
 * Inject a fault, or end all of them.
 *
 * @param dev   A device that is alive.
 * @param fault Which one.
 * @param value See the fault's comment.
 * @return 0; -EINVAL no such fault, or value.
 */
int softrnic_fault(struct softrnic *dev, enum softrnic_fault fault, uint64_t value);

/** Counters since power-on, for tests and tools. */
struct softrnic_stats {
	uint64_t commands, commands_failed; /**< executed; failed ones among them */
	uint64_t doorbells;		    /**< UAR words found changed */
	uint64_t doorbells_missed; /**< work that only the sweep of doorbell records found */
	uint64_t wqes, cqes, eqes, interrupts; /**< executed; completed; written; raised */
	uint64_t cqes_compressed,
		cqe_titles; /**< of cqes, those told of in lists; entries that such lists belong to */
	/** Ethernet: frames sent, their bytes; WQEs that failed */
	uint64_t tx_packets, tx_bytes, tx_errors;
	/**
	 * Ethernet: frames delivered, their bytes; frames that failed; that found no buffer; that matched no rule
	 */
	uint64_t rx_packets, rx_bytes, rx_errors, rx_no_buffer, rx_unmatched;
	/** Frames with inserted checksums; with an inserted VLAN tag. */
	uint64_t tx_checksums, tx_vlans;
	/** WQEs with segmentation, and the frames made of them. */
	uint64_t tx_lso, tx_lso_frames;
	/** IP packets with good checksums; with bad ones; frames with a stripped VLAN tag. */
	uint64_t rx_checksums_good, rx_checksums_bad, rx_vlans;
	/** Frames that faults dropped, also for want of room for delayed ones; sent twice, late, changed; without a peer. */
	uint64_t wire_dropped, wire_duplicated, wire_reordered, wire_corrupted, wire_no_peer;
	/**
	 * RoCE packets that no queue pair took: of another transport, or it is in a state that receives nothing; no such
	 * number; damaged
	 */
	uint64_t roce_dropped, roce_unknown_qp, roce_icrc_errors;
	/**
	 * ... not a packet; from another address than its path names; of another partition; a datagram with another Q_Key.
	 * Congestion notifications.
	 */
	uint64_t roce_malformed, roce_source_errors, roce_pkey_errors, roce_qkey_errors, roce_cnps;
	/** Packets that met congestion on their way (ECN), as Linux calls them; they are taken like others. */
	uint64_t np_ecn_marked_roce_packets;
	uint64_t tpt_faults;		   /**< accesses refused by keys or by the DMA map */
	uint64_t cq_overruns, eq_overruns; /**< queues that overran */
	uint64_t
		shares_cut; /**< rounds in which commands, SQs, QPs or the wire had more work than their share */
	uint64_t memory_refused; /**< allocations beyond memory_max */
	uint32_t pages_held;	 /**< pages given by the driver and not returned yet */
	uint32_t objects;	 /**< present objects of all kinds */
	uint32_t dma_maps;	 /**< present maps */
};
/**
 * Read the counters.
 *
 * @param dev   A device that is alive.
 * @param stats Out: all members.
 */
void softrnic_stats_get(struct softrnic *dev, struct softrnic_stats *stats);

/**
 * Call fn for each counter, in the order above.
 *
 * @param stats The counters.
 * @param fn    Called with each member's name and value.
 * @param arg   For fn.
 */
void softrnic_stats_each(const struct softrnic_stats *stats,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg);

#endif
