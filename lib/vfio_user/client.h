/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The client: a driver uses it to reach a device that another process serves on a socket.
 *
 * Source: QEMU's docs/interop/vfio-user.rst, "Client/server interactions", "Protocol Specification", and a section for each
 * command.
 *
 * Threads: any, at any time (but vfu_client_close() must be the last call). Calls are serialised, each from its request to the
 * answer.
 *
 * Blocks: until all answers have arrived, at most for vfu_client_conf's timeout_ms, whatever else the server sends meanwhile;
 * before that for the calls of other threads, each as long; and no longer than vfu_client_end_by() allows. A thread that is
 * told to end waits at most for vfu_client_conf's patience_ms: its call then returns -ECANCELED. The server may still carry out
 * its request later; the client ignores the answer, and the connection goes on.
 *
 * Only tests use vfu_client_region_write_multi(), _irq_action() and _irq_disable(), to send what QEMU sends: our driver posts
 * each write and masks nothing. Only tests use vfu_client_capabilities(), to see what was negotiated: each call obeys it, so our
 * driver need not know. And only they use vfu_client_process(), for drivers without a thread that waits: ours watches
 * vfu_client_fd() for the server's hang-up.
 *
 * Errors: 0 or -errno. An error that the server answers is returned as that errno. When the server is gone, does not answer in
 * time, or breaks the protocol, the call returns -ENOTCONN, -ETIMEDOUT or -EPROTO, which is logged once, and each later call
 * returns -ENOTCONN at once: the only remedy is a new client.
 */
#ifndef VFU_CLIENT_H
#define VFU_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"
#include "peer.h"
#include "proto.h"
#include "version.h"

#define VFU_CLIENT_AREAS 16 /**< of a region, that can be mapped */

struct vfu_client;

/** How to reach a server. */
struct vfu_client_conf {
	const char *name; /**< of the device, in messages. Required; copied. */
	const char *path; /**< of the server's socket; NULL: use fd */
	/** Accept any user's server at path. Else it must be root's or our own user's, as it gets our memory. */
	bool any_peer;
	int fd; /**< a connected socket; the client owns it from here on, also on failure */
	unsigned int timeout_ms;      /**< for the answers to a call; default 5000 */
	uint16_t first_id;	      /**< the first message's ID: any; they count up and wrap */
	vfu_log_fn *log;	      /**< may be NULL */
	void *log_arg;		      /**< for log */
	struct vfu_capabilities caps; /**< to propose; all zero: vfu_capabilities_ours() */
	/**
	 * Called before each wait, in the calling thread: for how many ms may the thread wait, if it is told to end? -1: it is
	 * not told. To be woken when it is told during the wait, set *fd, which is -1 before, to a descriptor that gets readable
	 * then. NULL: no thread is ever told to end.
	 */
	int (*patience_ms)(void *arg, int *fd);
	void *arg; /**< for patience_ms */
};

/**
 * Connect and negotiate.
 *
 * @param conf   How to reach the server; read during the call.
 * @param client Out: the client.
 * @return 0; -ENOENT, -ECONNREFUSED no process serves the path; -EBUSY the server has another client (both logged, with
 *         what to do; a server of this library tells which process that is); -EPERM it is another user's (logged, with
 *         that user); -EPROTO, -EPROTONOSUPPORT, -ETIMEDOUT.
 */
int vfu_client_open(const struct vfu_client_conf *conf, struct vfu_client **client);

/**
 * Close the connection: the server forgets maps and interrupts.
 *
 * @param client The client; NULL is allowed.
 */
void vfu_client_close(struct vfu_client *client);

/**
 * Announce that the connection ends soon: from now on all calls of all threads together, including those that wait already, wait
 * at most that long. A call without an answer by then returns -ETIMEDOUT, as after timeout_ms, and each later call -ENOTCONN at
 * once.
 *
 * @param client An open client.
 * @param ms     Milliseconds from now on; 0: at once.
 */
void vfu_client_end_by(struct vfu_client *client, unsigned int ms);

/**
 * The negotiated capabilities: the longest transfer, the number of maps, write_multiple. All calls obey them.
 *
 * @param client An open client.
 * @param caps   Out: all members.
 */
void vfu_client_capabilities(const struct vfu_client *client, struct vfu_capabilities *caps);

/**
 * The process that serves.
 *
 * @param client An open client.
 * @return The server; lives as long as the client.
 */
const struct vfu_peer *vfu_client_server(const struct vfu_client *client);

/**
 * A descriptor for poll(), readable when vfu_client_process() has to be called.
 *
 * @param client An open client.
 * @return The descriptor, which belongs to the client: do not read or close it.
 */
int vfu_client_fd(const struct vfu_client *client);

/**
 * Refuse up to 64 requests that have arrived, and check whether the server is alive. For users that want to learn of a dead
 * server while they make no calls.
 *
 * Blocks: only for a call of another thread.
 *
 * @param client An open client.
 * @return 0 or -ENOTCONN.
 */
int vfu_client_process(struct vfu_client *client);

/**
 * Why the connection is lost, as far as a call has noticed.
 *
 * @param client An open client.
 * @return 0 it is not; -ENOTCONN the server has closed it or ended; -ETIMEDOUT, -EPROTO the client has closed it.
 */
int vfu_client_lost(struct vfu_client *client);

/**
 * Query the device.
 *
 * @param client   An open client.
 * @param flags    Out: VFU_DEVICE_FLAG_*.
 * @param nregions Out: number of region indices.
 * @param nirqs    Out: number of interrupt types.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_device_info(struct vfu_client *client, uint32_t *flags, uint32_t *nregions,
			   uint32_t *nirqs);

/** A region of the server's device. */
struct vfu_client_region {
	uint64_t size;	     /**< bytes; 0: there is none */
	uint32_t flags;	     /**< VFU_REGION_FLAG_* */
	int fd;		     /**< the file to map, or -1 */
	uint64_t fd_offset;  /**< the region's offset in the file, bytes */
	unsigned int nareas; /**< 1 for a region that can be mapped whole */
	/** the areas that can be mapped, relative to the region */
	struct vfu_area areas[VFU_CLIENT_AREAS];
};

/**
 * Query a region.
 *
 * Owner: the descriptor is the caller's; vfu_client_region_release() closes it.
 *
 * @param client An open client.
 * @param index  enum vfu_pci_region.
 * @param region Out: all members; its descriptor is the caller's, for vfu_client_region_release().
 * @return 0; -EPROTO the answer is invalid; as all calls.
 */
int vfu_client_region_info(struct vfu_client *client, unsigned int index,
			   struct vfu_client_region *region);
/**
 * Close the descriptor of a region. What is mapped stays.
 *
 * @param region As vfu_client_region_info() gave it.
 */
void vfu_client_region_release(struct vfu_client_region *region);

/**
 * Map one area, with the rights of the region. munmap() it with its size, also after the release.
 *
 * @param region  As vfu_client_region_info() gave it.
 * @param area    Its index, below nareas.
 * @param address Out: where it is mapped.
 * @return 0; -ENODEV it cannot be mapped; -EPROTO the file is shorter than the server announced; -EPERM the server could
 *         shorten it later (a memfd must have F_SEAL_SHRINK); or the error of mmap().
 */
int vfu_client_region_map(const struct vfu_client_region *region, unsigned int area,
			  void **address);

/**
 * Read, by one message for each max_data_xfer_bytes; so 4 and 8 bytes are one access.
 *
 * @param client An open client.
 * @param region Its index; enum vfu_pci_region.
 * @param offset In the region, bytes.
 * @param data   Out: room for `length` bytes.
 * @param length Bytes.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_region_read(struct vfu_client *client, unsigned int region, uint64_t offset,
			   void *data, size_t length);
/**
 * Write, and wait for the answer. As vfu_client_region_read().
 *
 * @param client An open client.
 * @param region Its index; enum vfu_pci_region.
 * @param offset In the region, bytes.
 * @param data   `length` bytes.
 * @param length Bytes.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_region_write(struct vfu_client *client, unsigned int region, uint64_t offset,
			    const void *data, size_t length);

/**
 * Write without waiting for an answer, like a posted write over PCIe. Ordering: calls made later are carried out later. The
 * caller does not learn of an error.
 *
 * @param client An open client.
 * @param region Its index; enum vfu_pci_region.
 * @param offset In the region, bytes.
 * @param data   `length` bytes.
 * @param length Bytes.
 * @return 0 or -errno of sending it; errors of the server are not reported.
 */
int vfu_client_region_post(struct vfu_client *client, unsigned int region, uint64_t offset,
			   const void *data, size_t length);

/**
 * Several writes of at most 8 bytes each, in order: in one message if the server supports that.
 *
 * @param client An open client.
 * @param writes In their order.
 * @param count  How many of them.
 * @return 0; -EIO the server did some and then refused one; as all calls.
 */
int vfu_client_region_write_multi(struct vfu_client *client, const struct vfu_region_write *writes,
				  unsigned int count);

/**
 * Give the device access to memory: `length` bytes of the file fd from `offset` on, which the server maps. With fd -1 the server
 * only learns that there is memory, and cannot reach it: the client refuses its requests (DMA_READ, DMA_WRITE).
 *
 * Owner: fd stays the caller's and may be closed afterwards.
 *
 * @param client An open client.
 * @param iova   The first byte's address for the device; whole pages.
 * @param length Bytes; whole pages.
 * @param rights VFU_DMA_FLAG_READ, VFU_DMA_FLAG_WRITE.
 * @param fd     The file; -1: none.
 * @param offset In the file, bytes; whole pages.
 * @return 0; -EEXIST overlap; -ENOSPC too many; -EINVAL, -EACCES, -ENOTSUP a file that the server does not accept; as all
 *         calls.
 */
int vfu_client_dma_map(struct vfu_client *client, uint64_t iova, uint64_t length,
		       unsigned int rights, int fd, uint64_t offset);

/**
 * Unmap all maps within the range. When it returns the device no longer touches the memory.
 *
 * @param client An open client.
 * @param iova   Of the first byte; whole pages.
 * @param length Bytes; whole pages.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_dma_unmap(struct vfu_client *client, uint64_t iova, uint64_t length);

/**
 * Query an interrupt type.
 *
 * @param client An open client.
 * @param type   enum vfu_pci_irq.
 * @param count  Out: number of vectors.
 * @param flags  Out: VFU_IRQ_FLAG_*.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_irq_info(struct vfu_client *client, unsigned int type, uint32_t *count,
			uint32_t *flags);

/**
 * Set the eventfds that the vectors [start, start + count) signal.
 *
 * Owner: the descriptors stay the caller's.
 *
 * @param client An open client.
 * @param type   enum vfu_pci_irq.
 * @param start  The first vector.
 * @param count  How many vectors.
 * @param fds    `count` eventfds; -1: that vector signals none. NULL: none of them does.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_irq_set(struct vfu_client *client, unsigned int type, unsigned int start,
		       unsigned int count, const int *fds);

/**
 * Remove the eventfds of all vectors of a type.
 *
 * @param client An open client.
 * @param type   enum vfu_pci_irq.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_irq_disable(struct vfu_client *client, unsigned int type);

/**
 * Mask, unmask or trigger vectors.
 *
 * @param client An open client.
 * @param type   enum vfu_pci_irq.
 * @param start  The first vector.
 * @param count  How many vectors.
 * @param action VFU_IRQ_SET_MASK, VFU_IRQ_SET_UNMASK or VFU_IRQ_SET_TRIGGER.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_irq_action(struct vfu_client *client, unsigned int type, unsigned int start,
			  unsigned int count, unsigned int action);

/**
 * Reset the device. DMA maps and eventfds stay.
 *
 * @param client An open client.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_reset(struct vfu_client *client);

#endif
