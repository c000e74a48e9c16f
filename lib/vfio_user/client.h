/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The client: a driver's way to a device that another process serves on a socket.
 *
 * Threads: any, at any time (but vfu_client_close(), which is the last call). From its request to the answer it is a
 * call's turn; others wait.
 *
 * Blocks: until all answers have come, at most vfu_client_conf's timeout_ms, whatever else the server sends meanwhile;
 * before that for the calls of other threads, each as long; and no longer than vfu_client_end_by() allows. A thread that
 * is told to end waits no longer than vfu_client_conf's patience_ms: its call returns -ECANCELED then. What it had asked
 * for may be carried out, later; the answer is passed over, and the connection goes on.
 *
 * vfu_client_region_write_multi(), _irq_action() and _irq_disable() are here because a server answers them and QEMU asks
 * them: our driver posts each write and masks nothing. By these calls the tests ask what QEMU does.
 *
 * Errors: 0 or -errno. What the server answers with an error is that errno. When the server is gone, does not answer
 * in time, or breaks the protocol, the call returns -ENOTCONN, -ETIMEDOUT or -EPROTO, this is logged once, and each
 * later call returns -ENOTCONN at once: there is no way back but a new client.
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
	/** Any user's server at path will do. Else it is to be root's or our own user's, as it will have our memory. */
	bool any_peer;
	int fd; /**< a connected socket, the client's from here on, also on failure */
	unsigned int timeout_ms;      /**< for the answers to a call; default 5000 */
	uint16_t first_id;	      /**< of its messages: any; they are counted, and come round */
	vfu_log_fn *log;	      /**< may be NULL */
	void *log_arg;		      /**< for log */
	struct vfu_capabilities caps; /**< to propose; all zero: vfu_capabilities_ours() */
	/**
	 * Asked in each wait, of the thread that calls: for how many ms may it wait, if it is told to end? -1: it is not. It
	 * may be while it waits if *fd, which is -1 before, is set: to what gets readable then. NULL: never.
	 */
	int (*patience_ms)(void *arg, int *fd);
	void *arg; /**< for patience_ms */
};

/**
 * Connect and negotiate.
 *
 * @param conf   How to reach the server; read during the call.
 * @param client Out: the client.
 * @return 0; -ENOENT, -ECONNREFUSED nobody serves the path; -EBUSY the server has another client (both logged, with
 *         what to do; a server of this library tells which process it is); -EPERM it is another user's (logged, with
 *         whose); -EPROTO, -EPROTONOSUPPORT, -ETIMEDOUT.
 */
int vfu_client_open(const struct vfu_client_conf *conf, struct vfu_client **client);

/**
 * Close the connection: the server forgets maps and interrupts.
 *
 * @param client The client; NULL is allowed.
 */
void vfu_client_close(struct vfu_client *client);

/**
 * The connection is to end soon: from now on all calls together, of all threads, wait that long at most, those too that wait
 * already. One that has no answer then returns -ETIMEDOUT, as after timeout_ms, and each later call -ENOTCONN at once.
 *
 * @param client An open client.
 * @param ms     Milliseconds from now on; 0: at once.
 */
void vfu_client_end_by(struct vfu_client *client, unsigned int ms);

/**
 * What was agreed on: the longest transfer, how many maps, write_multiple. The calls keep to it by themselves.
 *
 * @param client An open client.
 * @param caps   Out: all members.
 */
void vfu_client_capabilities(const struct vfu_client *client, struct vfu_capabilities *caps);

/**
 * Who serves.
 *
 * @param client An open client.
 * @return The server; lives as long as the client.
 */
const struct vfu_peer *vfu_client_server(const struct vfu_client *client);

/**
 * The descriptor that is readable when vfu_client_process() has to be called: for poll().
 *
 * @param client An open client.
 * @return The client's; not to be read or closed.
 */
int vfu_client_fd(const struct vfu_client *client);

/**
 * Refuse the requests that have come, up to 64 of them, and find out whether the server lives. For those who want to hear
 * of a dead server when they make no calls.
 *
 * Blocks: only for a call of another thread.
 *
 * @param client An open client.
 * @return 0 or -ENOTCONN.
 */
int vfu_client_process(struct vfu_client *client);

/**
 * Why the server is lost, as far as a call has noticed.
 *
 * @param client An open client.
 * @return 0 it is not; -ENOTCONN the server has closed the connection or ended; -ETIMEDOUT, -EPROTO we have left
 *         it.
 */
int vfu_client_lost(struct vfu_client *client);

/**
 * Ask what the device has.
 *
 * @param client   An open client.
 * @param flags    Out: VFU_DEVICE_FLAG_*.
 * @param nregions Out: how many region indices there are.
 * @param nirqs    Out: how many interrupt types there are.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_device_info(struct vfu_client *client, uint32_t *flags, uint32_t *nregions,
			   uint32_t *nirqs);

/** A region of the server's device. */
struct vfu_client_region {
	uint64_t size;	     /**< bytes; 0: there is none */
	uint32_t flags;	     /**< VFU_REGION_FLAG_* */
	int fd;		     /**< of what can be mapped, or -1 */
	uint64_t fd_offset;  /**< of the region in the file, bytes */
	unsigned int nareas; /**< 1 for a region that can be mapped whole */
	/** that can be mapped, relative to the region */
	struct vfu_area areas[VFU_CLIENT_AREAS];
};

/**
 * Ask what a region is.
 *
 * Owner: the descriptor is the caller's; vfu_client_region_release() closes it.
 *
 * @param client An open client.
 * @param index  enum vfu_pci_region.
 * @param region Out: all members; its descriptor is the caller's, for vfu_client_region_release().
 * @return 0; -EPROTO nonsense came; as all calls.
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
 * Map one area, readable and writable as the region is. munmap() it with its size; that may be after the release.
 *
 * @param region  As vfu_client_region_info() gave it.
 * @param area    Below nareas.
 * @param address Out: where it is mapped.
 * @return 0; -ENODEV it cannot be mapped; -EPROTO the file is shorter than the server said; -EPERM the server could
 *         shorten it later (a memfd is to have F_SEAL_SHRINK); or what mmap() said.
 */
int vfu_client_region_map(const struct vfu_client_region *region, unsigned int area,
			  void **address);

/**
 * Read. One message for up to max_data_xfer_bytes, so 4 and 8 bytes are one access; more bytes are several.
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
 * Write without waiting for the answer, as a write over PCIe is posted. Ordering: calls made later are carried out
 * later. An error stays unknown.
 *
 * @param client An open client.
 * @param region Its index; enum vfu_pci_region.
 * @param offset In the region, bytes.
 * @param data   `length` bytes.
 * @param length Bytes.
 * @return 0 or -errno of sending it; an error of the server stays unknown.
 */
int vfu_client_region_post(struct vfu_client *client, unsigned int region, uint64_t offset,
			   const void *data, size_t length);

/**
 * Several writes of at most 8 bytes in order: in one message where the server offers that.
 *
 * @param client An open client.
 * @param writes In their order.
 * @param count  How many of them.
 * @return 0; -EIO some were done and then one was refused; as all calls.
 */
int vfu_client_region_write_multi(struct vfu_client *client, const struct vfu_region_write *writes,
				  unsigned int count);

/**
 * Let the device reach memory: length bytes of the file fd from offset on, which the server maps. With fd -1 it is told that
 * there is memory, and no way to it: its requests (DMA_READ, DMA_WRITE) are refused. rights are VFU_DMA_FLAG_*.
 *
 * Owner: fd stays the caller's and may be closed afterwards.
 *
 * @param client An open client.
 * @param iova   Of the first byte, as the device calls it; whole pages.
 * @param length Bytes; whole pages.
 * @param rights VFU_DMA_FLAG_READ, VFU_DMA_FLAG_WRITE.
 * @param fd     The file; it stays the caller's and may be closed afterwards. -1: none.
 * @param offset In the file, bytes; whole pages.
 * @return 0; -EEXIST overlap; -ENOSPC too many; -EINVAL, -EACCES, -ENOTSUP a file that the server does not like; as
 *         all calls.
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
 * Ask how many vectors an interrupt type has.
 *
 * @param client An open client.
 * @param type   enum vfu_pci_irq.
 * @param count  Out: vectors.
 * @param flags  Out: VFU_IRQ_FLAG_*.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_irq_info(struct vfu_client *client, unsigned int type, uint32_t *count,
			uint32_t *flags);

/**
 * Say which eventfds the vectors [start, start + count) signal.
 *
 * Owner: the descriptors stay the caller's.
 *
 * @param client An open client.
 * @param type   enum vfu_pci_irq.
 * @param start  The first vector.
 * @param count  How many vectors.
 * @param fds    `count` of them, which stay the caller's; -1: that vector signals none. NULL: none does.
 * @return 0 or -errno, as all calls.
 */
int vfu_client_irq_set(struct vfu_client *client, unsigned int type, unsigned int start,
		       unsigned int count, const int *fds);

/**
 * Take back the eventfds of all vectors of a type.
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
