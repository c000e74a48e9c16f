/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The server: one device on one socket for one client at a time.
 *
 * The host describes the device (struct vfu_server_conf), answers the callbacks of struct vfu_server_ops, and calls
 * vfu_server_process() whenever vfu_server_fd() is readable. The server keeps the table of the client's memory, maps
 * the descriptors that come with it, keeps the eventfds of the interrupts, and cleans up after a client that is gone.
 *
 * Nothing that a client sends is believed: what reaches a callback lies within what the host described and the client
 * mapped, and no client maps more than 8192 pieces of files or 4 TiB of them. What memory holds is another matter: the
 * client writes to it all the time, and can truncate its file under the mapping (an access then raises SIGBUS; guarding
 * the accesses is the host's).
 *
 * Threads: one at a time per server, except for vfu_server_irq_trigger(), which any thread may call. Callbacks run
 * inside of vfu_server_process() (and vfu_server_destroy()), and may call only vfu_server_irq_trigger(),
 * vfu_server_spend() and vfu_server_dma_find(), and disconnected() vfu_server_region_file().
 *
 * Blocks: never, unless a callback does.
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
#define VFU_MAX_AREAS	16 /**< of a region, that can be mapped */

struct vfu_server;

/** A region of the device. All zero: there is none of that index. */
struct vfu_region {
	uint64_t size;	/**< bytes */
	uint32_t flags; /**< VFU_REGION_FLAG_READ, VFU_REGION_FLAG_WRITE */
	/**
	 * The longest access that the callbacks are given, a power of two: longer ones come in pieces, at its multiples, and
	 * those of one message may come in several looks. 0: each access comes whole.
	 */
	uint32_t access_bytes;
	/** Offset and length of a write are multiples of that, a power of two, or it is refused (EINVAL). 0: any. */
	uint32_t write_bytes;
	/**
	 * What the client may map: areas of the region (nareas of them, whole pages), or all of it if there are no areas.
	 * Byte x of the region stands at fd_offset + x in the file. Messages may access these areas as well.
	 */
	bool mappable;
	/** If mappable; stays the host's, and open as long as the server lives or until vfu_server_region_file(). */
	int fd;
	uint64_t fd_offset;		      /**< of the region in the file, bytes; whole pages */
	unsigned int nareas;		      /**< of areas: 0 .. VFU_MAX_AREAS */
	struct vfu_area areas[VFU_MAX_AREAS]; /**< whole pages, of the region */
};

enum vfu_irq_event {
	VFU_IRQ_ASSIGNED,
	VFU_IRQ_CLEARED,
	VFU_IRQ_MASKED,
	VFU_IRQ_UNMASKED,
	VFU_IRQ_TRIGGERED, /**< the client asked for it */
};

/** What the host does. arg is struct vfu_server_conf's. Members that are NULL: nothing to do, and that succeeds. */
struct vfu_server_ops {
	/**
	 * Access the region: within its size, in a permitted direction, length 1..max_data_xfer_bytes, any alignment, unless
	 * struct vfu_region restricts it. Required if there are regions. A negative errno is given to the client.
	 */
	int (*region_read)(void *arg, unsigned int region, uint64_t offset, void *data,
			   size_t length);
	/** Likewise. */
	int (*region_write)(void *arg, unsigned int region, uint64_t offset, const void *data,
			    size_t length);
	/** New memory: page-aligned, overlapping no other. A negative errno takes the region back and goes to the client. */
	int (*dma_map)(void *arg, const struct vfu_dma_region *region);
	/**
	 * When it returns the device no longer touches the memory, which is then unmapped. Of many the last comes first, and
	 * those of one message, or of a client that has left, may come in several looks.
	 */
	void (*dma_unmap)(void *arg, const struct vfu_dma_region *region);
	/** For information: the server has done it. */
	void (*irq)(void *arg, unsigned int type, unsigned int vector, enum vfu_irq_event event);
	/** NULL: the device reports that it has no reset. DMA maps and interrupts stay. */
	int (*reset)(void *arg);
	/** A client has negotiated. */
	void (*connected)(void *arg, const struct vfu_peer *client);
	/**
	 * That client is gone, and so are its interrupts; its memory is still there, and goes in this and the next looks
	 * (dma_unmap is called for each region). The device must not touch it from here on.
	 */
	void (*leaving)(void *arg);
	/**
	 * Thereafter: all of its memory is unmapped, and the next client may come.
	 * reason: 0 it closed the connection, else -errno: -EPROTO it broke the protocol, -ETIMEDOUT it did not answer.
	 */
	void (*disconnected)(void *arg, int reason);
};

/** What a server is made of. Read during vfu_server_create(), but for what ops and arg stand for. */
struct vfu_server_conf {
	const char *name; /**< of the device, in messages. Required; copied. */
	const char *path; /**< where to listen; NULL: nowhere, clients come by vfu_server_adopt() */
	/**
	 * The same by a way that stays what it is while the server lives, such as /proc/self/fd/7/NAME with the folder's
	 * descriptor; path is then for messages alone. NULL: path.
	 */
	const char *bind_path;
	const struct vfu_server_ops *ops; /**< the callbacks; must stay */
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
	/** Accept memory in files of any file system, not only tmpfs and hugetlbfs: the client can make the server wait. */
	bool any_file;
	unsigned int timeout_ms; /**< for a client's first message; default 5000 */
};

/**
 * Make a server and listen.
 *
 * @param conf   What to serve; read during the call.
 * @param server Out: the server.
 * @return 0; -EINVAL a description that cannot be (logged); -EADDRINUSE the path is served by a living process (logged
 *         with its name); -EEXIST what stands at the path is no socket; -ENOMEM.
 */
int vfu_server_create(const struct vfu_server_conf *conf, struct vfu_server **server);

/**
 * From here on what clients send and the server has no use for is closed in a thread: close() of a descriptor can wait for
 * ever for the program behind it, and that may be the client itself. Without this call it is closed in the thread of
 * vfu_server_process(). Files of much memory go with it, as who closes the last descriptor gives all of it back. A second
 * thread maps and unmaps clients' memory, which takes as long as the client has made it: DMA_MAP is answered then. A host
 * that gives up privileges calls it thereafter, so that the threads have none, and before it gives up making threads.
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
 * The descriptor that is readable when there is something to do for vfu_server_process(): for poll() or epoll.
 *
 * @param server A server that is alive.
 * @return It stays the same, and the server's.
 */
int vfu_server_fd(const struct vfu_server *server);

/**
 * Do some of what there is to do: a look, which is short, so that others get their turn. It ends between two units of
 * work (a message; a write of REGION_WRITE_MULTI; an access of a long REGION_READ or REGION_WRITE; a region that goes), after some
 * thousands of accesses or some dozens of messages, or when VFU_LOOK_NS are over. What is left keeps the descriptor
 * readable; a message that is not done goes on where it was, before the next one is looked at.
 *
 * @param server A server that is alive.
 * @return Messages handled, also those that are not done.
 */
unsigned int vfu_server_process(struct vfu_server *server);

/**
 * As vfu_server_process(), for one of so many servers that are looked at in a row: together they do what one does in a
 * look.
 *
 * @param server  A server that is alive.
 * @param servers How many: 1 or more.
 * @return As vfu_server_process().
 */
unsigned int vfu_server_process_share(struct vfu_server *server, unsigned int servers);

/**
 * From a callback that takes longer than to write a register: let it count for more, so that looks end sooner.
 *
 * @param server A server that is alive.
 * @param steps  By how many register writes, about 50 ns each.
 */
void vfu_server_spend(struct vfu_server *server, uint32_t steps);

/**
 * Take a connected socket as if its peer had connected. Owner: fd is the server's from here on, also on failure: -EBUSY one is
 * served, or the memory of the one before is not unmapped yet.
 *
 * @param server A server that is alive.
 * @param fd     A connected socket; the server's from here on, also on failure.
 * @return 0; -EBUSY one is served, or the memory of the one before is not unmapped yet.
 */
int vfu_server_adopt(struct vfu_server *server, int fd);

/**
 * The next client maps this file, of the same size, where the region can be mapped. While nobody is served: the client
 * before keeps what it has mapped.
 *
 * @param server A server that is alive.
 * @param region Its index; one that is mappable.
 * @param fd     The file, which stays the host's; -1: none.
 */
void vfu_server_region_file(struct vfu_server *server, unsigned int region, int fd);

/**
 * Who is served.
 *
 * @param server A server that is alive.
 * @return The client; lives until the server is processed again. NULL: nobody.
 */
const struct vfu_peer *vfu_server_client(const struct vfu_server *server);

/**
 * Close the connection to the client, if there is one, as if it had gone; disconnected() gets reason, here or, where there is
 * much to unmap, in a later look.
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
 * The client's memory at [iova, iova + length), in one region; NULL: not mapped. Valid until
 * vfu_server_process() is called again. For hosts that keep no table of what dma_map() gave them; softrnicd keeps one.
 *
 * @param server A server that is alive.
 * @param iova   Of the first byte.
 * @param length Bytes.
 * @return The region; valid until vfu_server_process() is called again. NULL: not mapped.
 */
const struct vfu_dma_region *vfu_server_dma_find(const struct vfu_server *server, uint64_t iova,
						 uint64_t length);

/** Since the server was made. For hosts that show it; softrnicd does not, and the tests count by it. */
struct vfu_server_stats {
	uint64_t clients;      /**< that negotiated */
	uint64_t refused;      /**< that came while another was served */
	uint64_t messages;     /**< commands received */
	uint64_t errors;       /**< commands answered with an error */
	uint64_t broken;       /**< connections ended for a breach of the protocol */
	uint32_t dma_regions;  /**< now */
	uint64_t dma_bytes;    /**< now */
	uint32_t dma_mappings; /**< files or pieces of files mapped, now */
};
/**
 * Read the counters.
 *
 * @param server A server that is alive.
 * @param stats  Out: all members.
 */
void vfu_server_stats_get(const struct vfu_server *server, struct vfu_server_stats *stats);

#endif
