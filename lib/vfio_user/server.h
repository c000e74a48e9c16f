/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The server: one device on one socket for one client at a time.
 *
 * Source: QEMU's docs/interop/vfio-user.rst, "Client/server interactions", "Protocol Specification", and a section for each
 * command.
 *
 * The host describes the device (struct vfu_server_conf), implements the callbacks of struct vfu_server_ops, and calls
 * vfu_server_process() whenever vfu_server_fd() is readable. The server keeps the table of the client's memory, maps the
 * descriptors that come with it, keeps the eventfds of the interrupts, and cleans up when a client has gone.
 *
 * The server trusts nothing that a client sends: callbacks get only what lies within the host's description and the client's
 * maps, and no client maps more than 8192 pieces of files or 4 TiB of them. The contents of memory are not protected: the client
 * writes to it at any time, and can truncate its file under the mapping (an access then raises SIGBUS; the host has to guard its
 * accesses).
 *
 * Threads: one at a time per server, except for vfu_server_irq_trigger(), which any thread may call. Callbacks run inside
 * vfu_server_process() (and vfu_server_destroy()). They may call only vfu_server_irq_trigger(), vfu_server_spend() and
 * vfu_server_dma_find(); disconnected() may also call vfu_server_region_file().
 *
 * Blocks: as long as a callback does; and without vfu_server_start_threads() for what is done with descriptors and memory of clients.
 *
 * Errors: 0 or -errno.
 */
#ifndef VFU_SERVER_H
#define VFU_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"
#include "peer.h"
#include "proto.h"
#include "types.h"
#include "version.h"

#define VFU_MAX_REGIONS 16
#define VFU_MAX_AREAS	16 /**< mappable areas of a region */

struct vfu_server;

/** A region of the device. All zero: there is none with that index. */
struct vfu_region {
	uint64_t size;	/**< bytes */
	uint32_t flags; /**< VFU_REGION_FLAG_READ, VFU_REGION_FLAG_WRITE */
	/**
	 * The longest access that the callbacks get, a power of two: longer ones are cut at its multiples, and the pieces of one
	 * message may be spread over several looks. 0: accesses are not cut.
	 */
	uint32_t access_bytes;
	/** Writes whose offset or length is not a multiple of this power of two are refused (EINVAL). 0: none is. */
	uint32_t write_bytes;
	/**
	 * The client may map the areas (nareas of them, whole pages), or the whole region if there are none. Byte x of the region
	 * is at fd_offset + x in the file. Messages may access these areas as well.
	 */
	bool mappable;
	/** If mappable: the file. It stays the host's, which keeps it open until vfu_server_region_file() or the server's end. */
	int fd;
	uint64_t fd_offset;		      /**< the region's offset in the file; whole pages */
	unsigned int nareas;		      /**< of areas: 0 .. VFU_MAX_AREAS */
	struct vfu_area areas[VFU_MAX_AREAS]; /**< whole pages, of the region */
};

enum vfu_irq_event {
	VFU_IRQ_ASSIGNED,
	VFU_IRQ_CLEARED,
	VFU_IRQ_MASKED,
	VFU_IRQ_UNMASKED,
	VFU_IRQ_TRIGGERED, /**< by the client */
};

/** The host's callbacks. arg is struct vfu_server_conf's. A member that is NULL does nothing and succeeds. */
struct vfu_server_ops {
	/**
	 * Read from the region: within its size, in a permitted direction, length 1..max_data_xfer_bytes, any alignment unless
	 * struct vfu_region restricts it. Required if there are regions. The client gets a negative errno as the answer.
	 */
	int (*region_read)(void *arg, unsigned int region, uint64_t offset, void *data,
			   size_t length);
	/** Write to the region. As region_read. */
	int (*region_write)(void *arg, unsigned int region, uint64_t offset, const void *data,
			    size_t length);
	/** New memory: page-aligned, without overlaps. A negative errno refuses the region and is the client's answer. */
	int (*dma_map)(void *arg, const struct vfu_dma_region *region);
	/**
	 * When it returns, the device no longer touches the memory, which is then unmapped. Regions are removed last one first;
	 * those of one message, or of a client that has left, may be spread over several looks.
	 */
	void (*dma_unmap)(void *arg, const struct vfu_dma_region *region);
	/** For information only: the server has done the work. */
	void (*irq)(void *arg, unsigned int type, unsigned int vector, enum vfu_irq_event event);
	/** Reset the device; DMA maps and interrupts stay. NULL: the device reports that it has no reset. */
	int (*reset)(void *arg);
	/** A client has connected and negotiated. */
	void (*connected)(void *arg, const struct vfu_peer *client);
	/**
	 * The client and its interrupts are gone. Its memory is still there, and is unmapped in this and the next looks
	 * (dma_unmap is called for each region). From here on the device must not touch it.
	 */
	void (*leaving)(void *arg);
	/**
	 * Called after leaving(), when all of the client's memory is unmapped and the next client may come.
	 * reason: 0 it closed the connection, else -errno: -EPROTO it broke the protocol, -ETIMEDOUT it did not answer.
	 */
	void (*disconnected)(void *arg, int reason);
};

/** How to create a server. Only read during vfu_server_create(), except for what ops and arg point to. */
struct vfu_server_conf {
	const char *name; /**< of the device, in messages. Required; copied. */
	const char *path; /**< where to listen; NULL: nowhere, see vfu_server_adopt() */
	/**
	 * The path for system calls, if it differs: one that keeps naming the same folder while the server lives, such as
	 * /proc/self/fd/7/NAME with the folder's descriptor. `path` is then for messages only. NULL: path.
	 */
	const char *bind_path;
	const struct vfu_server_ops *ops; /**< the callbacks; must outlive the server */
	void *arg;			  /**< for the callbacks */
	vfu_log_fn *log;		  /**< may be NULL */
	void *log_arg;			  /**< for log */

	unsigned int nregions; /**< of regions: 0 .. VFU_MAX_REGIONS */
	/** by index; of a PCI function enum vfu_pci_region */
	struct vfu_region regions[VFU_MAX_REGIONS];
	unsigned int nirqs; /**< of irqs: 0 .. VFU_MAX_IRQ_TYPES */
	/** by type; of a PCI function enum vfu_pci_irq */
	struct vfu_irq_type irqs[VFU_MAX_IRQ_TYPES];

	struct vfu_capabilities caps; /**< all zero: vfu_capabilities_ours() */
	/** Accept memory in files of any file system, not only tmpfs and hugetlbfs: the client can then make the server wait. */
	bool any_file;
	unsigned int timeout_ms; /**< for a client's first message; default 5000 */
};

/**
 * Create a server and listen.
 *
 * @param conf   What to serve; read during the call.
 * @param server Out: the server.
 * @return 0; -EINVAL an invalid description (logged); -EADDRINUSE a living process serves the path (logged with its name);
 *         -EEXIST the file at the path is no socket; -ENOMEM.
 */
int vfu_server_create(const struct vfu_server_conf *conf, struct vfu_server **server);

/**
 * Start two threads. One closes descriptors that clients send and the server does not need: close() can wait for ever for the
 * program behind the descriptor, which may be the client itself, and closing the last descriptor of a large file frees all its
 * memory. The other maps and unmaps clients' memory, which can take as long as a client wishes; DMA_MAP is answered when that
 * is done. Without this call the thread of vfu_server_process() does all this. A host that gives up privileges calls it
 * afterwards, so that the threads have none, but before it gives up the right to create threads.
 *
 * @param server A server that is alive.
 * @return 0 or -errno, logged.
 */
int vfu_server_start_threads(struct vfu_server *server);

/**
 * Disconnect the client, unmap its memory, remove the socket.
 *
 * @param server The server; NULL is allowed.
 */
void vfu_server_destroy(struct vfu_server *server);

/**
 * A descriptor for poll() or epoll, readable when vfu_server_process() has something to do.
 *
 * @param server A server that is alive.
 * @return The descriptor, which belongs to the server and never changes.
 */
int vfu_server_fd(const struct vfu_server *server);

/**
 * Do some of the work that waits: a look, which is short, so that other servers get their turn. It ends between two units of work
 * (a message; a write of REGION_WRITE_MULTI; an access of a long REGION_READ or REGION_WRITE; the removal of a region) after some
 * thousands of accesses or some dozens of messages, or after VFU_LOOK_NS. Remaining work keeps the descriptor readable; an
 * unfinished message continues before the next one begins.
 *
 * @param server A server that is alive.
 * @return Messages handled, including unfinished ones.
 */
unsigned int vfu_server_process(struct vfu_server *server);

/**
 * As vfu_server_process(), for one of several servers that are processed in a row: together they do as much as one does in a
 * look.
 *
 * @param server  A server that is alive.
 * @param servers Their number: 1 or more.
 * @return As vfu_server_process().
 */
unsigned int vfu_server_process_share(struct vfu_server *server, unsigned int servers);

/**
 * Called by a callback that takes longer than a register write: count it as more steps, so that the look ends sooner.
 *
 * @param server A server that is alive.
 * @param steps  The additional time in register writes, about 50 ns each.
 */
void vfu_server_spend(struct vfu_server *server, uint32_t steps);

/**
 * Adopt a connected socket as if its peer had connected.
 *
 * @param server A server that is alive.
 * @param fd     A connected socket; the server owns it from here on, also on failure.
 * @return 0; -EBUSY another client is served, or the memory of the previous one is not unmapped yet.
 */
int vfu_server_adopt(struct vfu_server *server, int fd);

/**
 * Replace the file of a mappable region, by one of the same size, for the next client. Call it while no client is served: the
 * previous client keeps what it has mapped.
 *
 * @param server A server that is alive.
 * @param region The index of a mappable region.
 * @param fd     The file, which stays the host's; -1: none.
 */
void vfu_server_region_file(struct vfu_server *server, unsigned int region, int fd);

/**
 * The client that is served.
 *
 * @param server A server that is alive.
 * @return The client; valid until the server is processed again. NULL: none.
 */
const struct vfu_peer *vfu_server_client(const struct vfu_server *server);

/**
 * Close the connection to the client, if there is one, as if the client had closed it. disconnected() gets the reason, in this
 * call or, if there is much to unmap, in a later look.
 *
 * @param server A server that is alive.
 * @param reason For disconnected(): 0 or -errno.
 */
void vfu_server_disconnect(struct vfu_server *server, int reason);

/**
 * Raise an interrupt: signal the client's eventfd, or remember it while the vector is masked.
 *
 * Threads: any.
 *
 * @param server A server that is alive.
 * @param type   enum vfu_pci_irq.
 * @param vector Of that type, from 0.
 * @return 0; -ENOENT the client has given no eventfd; -EINVAL no such vector.
 */
int vfu_server_irq_trigger(struct vfu_server *server, unsigned int type, unsigned int vector);

/**
 * Find the client's memory at [iova, iova + length), in one region. For hosts that do not keep what dma_map() gave them;
 * softrnicd does.
 *
 * @param server A server that is alive.
 * @param iova   Address of the first byte.
 * @param length Bytes.
 * @return The region; valid until vfu_server_process() is called again. NULL: not mapped.
 */
const struct vfu_dma_region *vfu_server_dma_find(const struct vfu_server *server, uint64_t iova,
						 uint64_t length);

/** Counters since vfu_server_create(). */
struct vfu_server_stats {
	uint64_t clients;      /**< clients that negotiated */
	uint64_t refused;      /**< clients that came while another was served */
	uint64_t messages;     /**< commands received */
	uint64_t errors;       /**< commands answered with an error */
	uint64_t broken;       /**< connections ended for a breach of the protocol */
	uint32_t dma_regions;  /**< present regions */
	uint64_t dma_bytes;    /**< in the present regions */
	uint32_t dma_mappings; /**< present mappings of files or pieces of files */
};
/**
 * Read the counters. Only tests call it: it shows what a server did with a hostile client, and that it holds nothing afterwards.
 *
 * @param server A server that is alive.
 * @param stats  Out: all members.
 */
void vfu_server_stats_get(const struct vfu_server *server, struct vfu_server_stats *stats);

#endif
