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

/** The PCI device number (of vendor 15b3) of what has that name; 0: there is none of that name. */
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
	/** Behaviour of cards to try drivers with, as softrnic_quirks_wanted() says. NULL: none. */
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

/** What conf's quirks may be, for messages: a sentence that ends in their names. */
const char *softrnic_quirks_wanted(void);

/** Is that text such quirks? */
bool softrnic_quirks_valid(const char *text);

/** Make a poller. Its devices may exchange frames with each other. */
int softrnic_poller_create(struct softrnic_poller **poller);

/** @return -EBUSY while it has devices. */
int softrnic_poller_destroy(struct softrnic_poller *poller);

/**
 * Do what there is to do on all devices of the poller, once around. Never blocks, except for the poller's lock.
 *
 * @return Number of work items done (WQEs, frames, commands); 0: idle.
 */
unsigned int softrnic_poll(struct softrnic_poller *poller);

/**
 * The poller of this process, served by one device thread named "softrnic" that starts with the first user and ends
 * with the last. The thread polls while there is work, and backs off when idle: yields, then sleeps.
 *
 * @param core CPU to pin the thread to, or -1. Only the first caller's choice counts; a different later one is -EEXIST.
 */
int softrnic_host_get(int core, struct softrnic_poller **poller);
void softrnic_host_put(void);

/**
 * Make a device, in power-on state.
 *
 * @return -EINVAL a bad configuration (logged), -EEXIST the name is taken or the pair already has two ends.
 */
int softrnic_create(struct softrnic_poller *poller, const struct softrnic_conf *conf,
		    struct softrnic **dev);

/** Remove a device as surprise removal would: the other end of a pair loses its link. Maps and callbacks end here. */
void softrnic_destroy(struct softrnic *dev);

/** PCI function level reset: back to power-on state; DMA maps and interrupt callbacks stay, they are the host's. */
int softrnic_reset(struct softrnic *dev);

/** Bytes of BAR0. */
size_t softrnic_bar_size(const struct softrnic *dev);

/**
 * Read or write registers of BAR0: 4- or 8-byte accesses, naturally aligned, values in the bus's byte order (as the
 * bytes would stand in memory). Any register may be accessed so, UAR pages included.
 *
 * @return -EINVAL for an access outside the BAR or of another size.
 */
int softrnic_bar_read(struct softrnic *dev, uint64_t offset, void *data, size_t length);
int softrnic_bar_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length);

/**
 * The part of BAR0 that may be mapped as memory: all UAR pages but the first one handed out, whose writes must come
 * through softrnic_bar_write() (that is where drivers put event queues, whose doorbells have no record in memory).
 *
 * @param fd May be NULL; else a file descriptor (the device's own, do not close) that has that memory at *offset, as
 *           the BAR has it. Its size is sealed.
 */
int softrnic_bar_mmap(struct softrnic *dev, uint64_t *offset, size_t *length, void **address,
		      int *fd);

/**
 * Put new pages in their place, at the same address: zeroed, in a file that nobody has seen. For a host whose next driver is
 * another one, after a reset: who keeps a mapping of the old ones shares them with nobody. The old descriptor is closed.
 *
 * @param fd The new descriptor; -1: there is none to be had, and the pages can be mapped by nobody (until the next call).
 * @return -errno with fd -1. -ENOMEM: there may not even be pages of our own, and those that were there stay.
 */
int softrnic_bar_renew(struct softrnic *dev, int *fd);

#define SOFTRNIC_DMA_READ  0x1 /**< the device may read */
#define SOFTRNIC_DMA_WRITE 0x2 /**< the device may write */

/**
 * Let the device reach [iova, iova + length) as host memory at address, until unmapped. Outside all maps it has no access.
 *
 * @return -EEXIST overlap with another map, -EINVAL wrap or zero length.
 */
int softrnic_dma_map(struct softrnic *dev, uint64_t iova, size_t length, void *address,
		     unsigned int prot);

/** Unmap exactly what was mapped. When it returns, the device no longer touches the memory. @return -ENOENT no such map. */
int softrnic_dma_unmap(struct softrnic *dev, uint64_t iova, size_t length);

/**
 * What is mapped has vanished: until all maps are gone the device finds no memory any more. What it has found already it may
 * touch for as long as one frame takes.
 *
 * Threads: that of softrnic_poll(), also in a signal handler that an access of the device has raised.
 */
void softrnic_dma_vanished(struct softrnic *dev);

/**
 * PCI's Bus Master Enable: while it is off the device reaches no memory, whatever is mapped. On when a device is made; the
 * host's, so a reset leaves it alone. Takes the same time however much is mapped.
 */
void softrnic_bus_master(struct softrnic *dev, bool on);

/** Who is told of an MSI-X message: fn(arg, vector), NULL for nobody. */
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
int softrnic_fault(struct softrnic *dev, enum softrnic_fault fault, uint64_t value);

/** What tests and tools may know of the inside. Counters since power-on. */
struct softrnic_stats {
	uint64_t commands, commands_failed;
	uint64_t doorbells;	   /**< UAR words found changed */
	uint64_t doorbells_missed; /**< work that only the sweep of doorbell records found */
	uint64_t wqes, cqes, eqes, interrupts;
	uint64_t tx_packets, tx_bytes, tx_errors;
	uint64_t rx_packets, rx_bytes, rx_errors, rx_no_buffer, rx_unmatched;
	/** Frames whose checksums were inserted, frames that got a VLAN tag. */
	uint64_t tx_checksums, tx_vlans;
	/** WQEs that asked for segmentation, and the frames that they became. */
	uint64_t tx_lso, tx_lso_frames;
	/** IP packets whose checksums were looked at and right, or wrong; frames whose VLAN tag was taken out. */
	uint64_t rx_checksums_good, rx_checksums_bad, rx_vlans;
	uint64_t wire_dropped, wire_duplicated, wire_reordered, wire_corrupted, wire_no_peer;
	/**
	 * RoCE packets that no queue pair took: not for us, not as its path says, or in a state that receives nothing; no
	 * such number; damaged
	 */
	uint64_t roce_dropped, roce_unknown_qp, roce_icrc_errors;
	uint64_t tpt_faults; /**< accesses refused by keys or by the DMA map */
	uint64_t cq_overruns, eq_overruns;
	uint64_t
		shares_cut; /**< rounds that had more to do than their share, of commands, SQs, QPs or the wire */
	uint64_t memory_refused; /**< allocations beyond memory_max */
	uint32_t pages_held;	 /**< given by the driver and not yet taken back */
	uint32_t objects;	 /**< of all kinds, alive */
	uint32_t dma_maps;	 /**< alive */
};
void softrnic_stats_get(struct softrnic *dev, struct softrnic_stats *stats);

/** Call fn for each of them, in the order above, with the member's name. */
void softrnic_stats_each(const struct softrnic_stats *stats,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg);

#endif
