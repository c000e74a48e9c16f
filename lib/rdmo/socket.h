/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sockets of the bootstrap: "HOST:PORT", "[HOST]:PORT", "unix:PATH". Hosts are numbers, so that nobody waits for a name. All
 * descriptors are closed on exec and do not block.
 */
#ifndef RDMO_SOCKET_H
#define RDMO_SOCKET_H

#include <stddef.h>
#include <stdint.h>

struct rdmo_stream;
struct rdmo_notification;

/* Now, in milliseconds: of the clock that deadlines of the bootstrap are counted by. */
uint64_t rdmo_now_ms(void);

/*
 * Listen. `bound`: the address with the port that was found, for rdmo_socket_forget().
 *
 * @return a descriptor; -EINVAL no such address; -EADDRINUSE; -errno
 */
int rdmo_socket_listen(const char *address, char *bound, size_t room);

/* Remove what listening has left behind. */
void rdmo_socket_forget(const char *bound);

/* Connect. Returns a descriptor; -EINVAL no such address; -ETIMEDOUT; -errno. */
int rdmo_socket_connect(const char *address, uint32_t timeout_ms);

/*
 * Of a connection over TCP: that its peer's machine has gone, which says nothing any more, is noticed within RDMO_GONE_MS. Both ends ask
 * for it: neither may say anything for hours.
 */
#define RDMO_GONE_MS 10000
void rdmo_socket_watch_peer(int fd);

/* Send all of it, within that time. Returns 0; -ETIMEDOUT; -ECONNRESET; -errno. */
int rdmo_socket_send(int fd, const void *bytes, uint32_t count, uint32_t timeout_ms);

/*
 * The next notification, which `stream` has until the next call; it has begun. What has come of one that is not whole within the time
 * stays there.
 *
 * @param timeout_ms 0: do not wait
 * @return 0; -ETIMEDOUT; -ECONNRESET the stream has ended; -EPROTO what came is none; -errno
 */
int rdmo_socket_receive(int fd, struct rdmo_stream *stream, struct rdmo_notification *notification,
			uint32_t timeout_ms);

/* The same, until that time of rdmo_now_ms(). */
int rdmo_socket_receive_until(int fd, struct rdmo_stream *stream,
			      struct rdmo_notification *notification, uint64_t end_ms);

/*
 * Send a command and wait for its notification, which `stream` has then: of a stream by which nothing else comes.
 *
 * @return 0, whatever its status; -ETIMEDOUT; -ECONNRESET the stream has ended; -EPROTO what came is none, or another one's; -errno
 */
int rdmo_socket_ask(int fd, const void *cmd, uint32_t bytes, struct rdmo_stream *stream,
		    struct rdmo_notification *notification, uint32_t timeout_ms);

/* Say that nothing more will be asked, and wait until the other end is closed. -1: for ever. Returns 0, -ETIMEDOUT, -errno. */
int rdmo_socket_finish(int fd, int timeout_ms);

#endif
