/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The software RNIC: a device of the mlx5 class in memory. This is its only public door, for every kind of host: the
 * driver's `direct` access in the same process, and a daemon that serves the device over a socket.
 *
 * A host creates a poller, creates devices on it, and has somebody call softrnic_poll(): its own loop, or the device
 * thread of the process (softrnic_host_get()). A device then executes what a driver asks by register writes, doorbells
 * and queues in the memory that the host has mapped for it.
 *
 * Threads: all calls on the devices of one poller may come from any thread; they take the poller's lock, which
 * softrnic_poll() holds while it works. Interrupt callbacks run in the polling thread, with the lock held: they must
 * not call back through this door.
 *
 * Blocks: for that lock. softrnic_host_put() also until the device thread has ended, if it was the last user.
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
/** UAR pages that can be allocated; they stand behind the initialization segment. */
#define SOFTRNIC_UAR_PAGES 256

/** What a device may be like; all of them and where each is known from: doc/design/metal.md. */
#define SOFTRNIC_LIKE_NAMES                                                                   \
	"default, cx4lx, cx4lx-vf, cx4lx-vf-trusted, cx5, cx5-vf, cx5-vf-trusted, cx6dx, "    \
	"cx6dx-vf, cx6dx-vf-trusted, cx7, cx7-vf, cx7-vf-trusted, bluefield-host, realtime, " \
	"oldfw, busyfw"

/**
 * The PCI device number (of vendor 15b3) of what a device may be like.
 *
 * @param name One of SOFTRNIC_LIKE_NAMES.
 * @return The number; 0: there is none of that name.
 */
uint16_t softrnic_like_pci_device(const char *name);

/** What a device is made as. Zero means default in every member. */
struct softrnic_conf {
	/** In messages, e.g. the driver's "net_rnic0". Required. */
	const char *name;
	/**
	 * "loop" (default): frames come back; "pair:NAME": to the other device of that name; "port:ETHDEV": through that
	 * ethdev of the process, which must have EAL; "pcap": by libpcap, as the next ones say.
	 */
	const char *wire;
	/**
	 * Of wire "pcap": the capture whose frames are received; the one that is written of those sent; or the network
	 * interface of the host that they go through. NULL: none.
	 */
	const char *rx_pcap, *tx_pcap, *iface;
	/** All zero: a locally administered address made from the name and process. */
	uint8_t mac[6];
	/** Largest frame payload in bytes; default 9978. */
	uint16_t max_mtu;
	/** 4 KiB pages that the device asks for at boot; default 4. */
	uint32_t boot_pages;
	/** ... and before INIT_HCA; default 32. */
	uint32_t init_pages;
	/** Of all random choices; 0: from the system. */
	uint64_t seed;
	/** Faults of frames sent to the wire, in parts per million. */
	uint32_t drop_ppm, dup_ppm, reorder_ppm, corrupt_ppm;
	/**
	 * The health counter stands still so many milliseconds after the device's first INIT_HCA, until a reset; it happens
	 * once in its life, so that a driver that resets it has a healthy one. 0: never.
	 */
	uint32_t health_stop_ms;
	/** Offer BlueFlame. */
	bool bf;
	/** Demand L2 headers inline in send WQEs, and offer no multi-packet WQEs, as a ConnectX-4 Lx does. */
	bool inline_l2;
	/** Behaviour of cards to try drivers with, see softrnic_quirks_wanted(). NULL: none. */
	const char *quirks;
	/**
	 * Host memory is another process's, which other devices' drivers need not trust: it may change a frame while that is
	 * on its way. What frames are judged by is copied first.
	 */
	bool foreign_memory;
	/** One of SOFTRNIC_LIKE_NAMES: what card, or function of one, the device is like. NULL: default. */
	const char *like;
	/** Bytes of our memory that the driver's objects, rings and lists may take all together. 0: as their own limits say. */
	uint64_t memory_max;
};

/**
 * What conf's quirks may be, for messages.
 *
 * @return A sentence that ends in their names; never freed.
 */
const char *softrnic_quirks_wanted(void);

/**
 * Whether a text is such quirks.
 *
 * @param text As for conf's quirks.
 * @return Whether it is.
 */
bool softrnic_quirks_valid(const char *text);

/**
 * Make a poller. Its devices may exchange frames with each other.
 *
 * @param poller Out: the poller.
 * @return 0; -ENOMEM.
 */
int softrnic_poller_create(struct softrnic_poller **poller);

/**
 * Free a poller that has no devices.
 *
 * @param poller A poller that is alive.
 * @return 0; -EBUSY while it has devices.
 */
int softrnic_poller_destroy(struct softrnic_poller *poller);

/**
 * Do what there is to do on all devices of the poller, once around. Never blocks, except for the poller's lock.
 *
 * @param poller A poller that is alive.
 * @return Number of work items done (WQEs, frames, commands); 0: idle.
 */
unsigned int softrnic_poll(struct softrnic_poller *poller);

/**
 * The poller of this process, served by one device thread named "softrnic" that starts with the first user and ends
 * with the last. The thread polls while there is work, and backs off when idle: yields, then sleeps.
 *
 * @param core   CPU to pin the thread to, or -1. Only the first caller's choice counts; a different later one is
 *               -EEXIST.
 * @param poller Out: the poller; softrnic_host_put() gives it back.
 * @return 0; -EEXIST a different core; -errno of making the thread.
 */
int softrnic_host_get(int core, struct softrnic_poller **poller);
/**
 * Give the poller of the process back. With the last user its thread ends.
 */
void softrnic_host_put(void);

/**
 * Make a device, in power-on state.
 *
 * @param poller A poller that is alive.
 * @param conf   What it is made as; read during the call.
 * @param dev    Out: the device.
 * @return 0; -EINVAL a bad configuration (logged); -EEXIST the name is taken or the pair already has two ends;
 *         -ENOMEM.
 */
int softrnic_create(struct softrnic_poller *poller, const struct softrnic_conf *conf,
		    struct softrnic **dev);

/**
 * Remove a device as surprise removal would: the other end of a pair loses its link. Maps and callbacks end here.
 *
 * @param dev A device that is alive.
 */
void softrnic_destroy(struct softrnic *dev);

/**
 * PCI function level reset: back to power-on state; DMA maps and interrupt callbacks stay, they are the host's.
 *
 * @param dev A device that is alive.
 * @return 0.
 */
int softrnic_reset(struct softrnic *dev);

/**
 * How large BAR0 is.
 *
 * @param dev A device that is alive.
 * @return Bytes.
 */
size_t softrnic_bar_size(const struct softrnic *dev);

/**
 * Read or write registers of BAR0: 4- or 8-byte accesses, naturally aligned, values in the bus's byte order (as the
 * bytes would stand in memory). Any register may be accessed so, UAR pages included.
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
 * The part of BAR0 that may be mapped as memory: all UAR pages but the first one handed out, whose writes must come
 * through softrnic_bar_write() (that is where drivers put event queues, whose doorbells have no record in memory).
 *
 * @param dev     A device that is alive.
 * @param offset  Out: in BAR0, and in the file; bytes.
 * @param length  Out: bytes.
 * @param address Out: where this process has it.
 * @param fd      May be NULL; else a file descriptor (the device's own, do not close) that has that memory at *offset,
 *                as the BAR has it. Its size is sealed.
 * @return 0 or -errno.
 */
int softrnic_bar_mmap(struct softrnic *dev, uint64_t *offset, size_t *length, void **address,
		      int *fd);

/**
 * Put new pages in their place, at the same address: zeroed, in a file never shared before. For a host whose next driver is
 * another one, after a reset: old pages that are still mapped somewhere are shared with nothing. The old descriptor is closed.
 *
 * @param dev A device that is alive.
 * @param fd  Out: the new descriptor; -1: none could be made, and the pages cannot be mapped until the next call.
 * @return 0; -errno with fd -1. -ENOMEM: not even pages of our own can be made, and those that were there stay.
 */
int softrnic_bar_renew(struct softrnic *dev, int *fd);

#define SOFTRNIC_DMA_READ  0x1 /**< the device may read */
#define SOFTRNIC_DMA_WRITE 0x2 /**< the device may write */

/**
 * Let the device reach [iova, iova + length) as host memory at address, until unmapped. Outside all maps it has no access.
 *
 * @param dev     A device that is alive.
 * @param iova    Of the first byte, as the device calls it.
 * @param length  Bytes, at least 1.
 * @param address Of the first byte, in this process.
 * @param prot    SOFTRNIC_DMA_READ, SOFTRNIC_DMA_WRITE, or both.
 * @return 0; -EEXIST overlap with another map; -EINVAL wrap or zero length; -ENOMEM.
 */
int softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
		     unsigned int prot);

/**
 * Unmap exactly what was mapped. When it returns, the device no longer touches the memory.
 *
 * @param dev    A device that is alive.
 * @param iova   As it was mapped.
 * @param length As it was mapped.
 * @return 0; -ENOENT no such map.
 */
int softrnic_dma_unmap(struct softrnic *dev, uint64_t iova, size_t length);

/**
 * What is mapped has vanished: until all maps are gone the device finds no memory. What it has found already it may
 * touch for as long as one frame takes.
 *
 * Threads: that of softrnic_poll(), also in a signal handler that an access of the device has raised. Blocks: never.
 *
 * @param dev A device that is alive.
 */
void softrnic_dma_vanished(struct softrnic *dev);

/**
 * PCI's Bus Master Enable: while it is off the device reaches no memory, whatever is mapped. On when a device is made; the
 * host's, so a reset leaves it alone. Takes the same time however much is mapped.
 *
 * @param dev A device that is alive.
 * @param on  Whether it may reach memory.
 */
void softrnic_bus_master(struct softrnic *dev, bool on);

/**
 * Set who is told of an MSI-X message.
 *
 * @param dev    A device that is alive.
 * @param vector 0 .. SOFTRNIC_MSIX_VECTORS - 1.
 * @param fn     Called with `arg` and the vector; NULL for nobody.
 * @param arg    For fn.
 * @return 0; -EINVAL no such vector.
 */
int softrnic_set_interrupt(struct softrnic *dev, unsigned int vector,
			   void (*fn)(void *arg, unsigned int vector), void *arg);

/** Faults to test drivers with. They end with softrnic_reset(). */
enum softrnic_fault {
	/** All faults off. */
	SOFTRNIC_FAULT_NONE,
	/** opcode << 8 | status: commands of that opcode fail; op_mod + 1 in bits [39:24], or 0 for any. */
	SOFTRNIC_FAULT_COMMAND_STATUS,
	/** opcode: never completes. */
	SOFTRNIC_FAULT_COMMAND_STUCK,
	/** The health counter stands still. */
	SOFTRNIC_FAULT_HEALTH_STOPPED,
	/** Syndrome: health buffer filled, device stops. */
	SOFTRNIC_FAULT_FATAL,
	/** The initializing bit stays set. */
	SOFTRNIC_FAULT_INITIALIZING,
	/** Not a fault: ask the driver for that many pages, or offer them back (int32_t). */
	SOFTRNIC_FAULT_PAGE_REQUEST,
};
/**
 * Make a fault, or end all of them.
 *
 * @param dev   A device that is alive.
 * @param fault Which.
 * @param value As the fault's comment has it.
 * @return 0; -EINVAL no such fault, or value.
 */
int softrnic_fault(struct softrnic *dev, enum softrnic_fault fault, uint64_t value);

/** What tests and tools may know of the inside. Counters since power-on. */
struct softrnic_stats {
	uint64_t commands, commands_failed; /**< executed; of them failed */
	uint64_t doorbells;		    /**< UAR words found changed */
	uint64_t doorbells_missed; /**< work that only the sweep of doorbell records found */
	uint64_t wqes, cqes, eqes, interrupts; /**< executed; written; written; raised */
	/** of the Ethernet side: frames sent, their bytes; WQEs that failed */
	uint64_t tx_packets, tx_bytes, tx_errors;
	/**
	 * of the Ethernet side: frames delivered, their bytes; that failed; that found no buffer; that matched no rule
	 */
	uint64_t rx_packets, rx_bytes, rx_errors, rx_no_buffer, rx_unmatched;
	/** Frames whose checksums were inserted, frames that got a VLAN tag. */
	uint64_t tx_checksums, tx_vlans;
	/** WQEs that asked for segmentation, and the frames that they became. */
	uint64_t tx_lso, tx_lso_frames;
	/** IP packets whose checksums were looked at and right, or wrong; frames whose VLAN tag was taken out. */
	uint64_t rx_checksums_good, rx_checksums_bad, rx_vlans;
	/** by faults: dropped, sent twice, sent late, changed; and with nobody at the other end */
	uint64_t wire_dropped, wire_duplicated, wire_reordered, wire_corrupted, wire_no_peer;
	/**
	 * RoCE packets that no queue pair took: not for us, not as its path demands, or in a state that receives nothing; no
	 * such number; damaged
	 */
	uint64_t roce_dropped, roce_unknown_qp, roce_icrc_errors;
	uint64_t tpt_faults;		   /**< accesses refused by keys or by the DMA map */
	uint64_t cq_overruns, eq_overruns; /**< queues that ran over */
	uint64_t
		shares_cut; /**< rounds that had more to do than their share, of commands, SQs, QPs or the wire */
	uint64_t memory_refused; /**< allocations beyond memory_max */
	uint32_t pages_held;	 /**< given by the driver and not yet taken back */
	uint32_t objects;	 /**< of all kinds, alive */
	uint32_t dma_maps;	 /**< alive */
};
/**
 * Read the counters.
 *
 * @param dev   A device that is alive.
 * @param stats Out: all members.
 */
void softrnic_stats_get(struct softrnic *dev, struct softrnic_stats *stats);

/**
 * Call fn for each of them, in the order above, with the member's name.
 *
 * @param stats The counters.
 * @param fn    Called for each, with its name and value.
 * @param arg   For fn.
 */
void softrnic_stats_each(const struct softrnic_stats *stats,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg);

#endif
