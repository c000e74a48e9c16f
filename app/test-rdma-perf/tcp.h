/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The TCP connection beside the queue pairs.
 */
#ifndef PERF_TCP_H
#define PERF_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** All that may happen between two looks at whether Ctrl-C was pressed, in milliseconds. */
#define PERF_TCP_TICK_MS 100
/** How long the other end may take to say what it has to, or to acknowledge what it is sent, in milliseconds. */
#define PERF_TCP_PATIENCE_MS 4000

/** @return The time, of a clock that goes on evenly, in milliseconds. */
uint64_t perf_tcp_now_ms(void);

/**
 * Listen: from now on a client can connect.
 *
 * @param port     TCP's.
 * @param listener Out: to be given to perf_tcp_accept(), which closes it.
 * @return 0; an error: it was said.
 */
int perf_tcp_listen(uint16_t port, int *listener);

/**
 * Wait for one client, however long it takes.
 *
 * @param listener As perf_tcp_listen() gave it; closed afterwards.
 * @param fd       Out: the connection, which does not block.
 * @return 0; -EINTR (Ctrl-C); another error: it was said.
 */
int perf_tcp_accept(int listener, int *fd);

/**
 * Connect to a server. A host with several addresses that do not answer has PERF_TCP_PATIENCE_MS for all of them together.
 *
 * @param host A name or an address.
 * @param port TCP's.
 * @param fd   Out: the connection, which does not block.
 * @return 0; -EINTR (Ctrl-C); another error: it was said.
 */
int perf_tcp_connect(const char *host, uint16_t port, int *fd);

/**
 * Send all of it.
 *
 * @return 0; -EPIPE the other end has gone; -ETIMEDOUT it does not read. Nothing was said.
 */
int perf_tcp_send(int fd, const void *data, size_t bytes);

/** Whether the other end has closed it, or it is broken; what has come before that was received. Does not wait. */
bool perf_tcp_is_over(int fd);

/**
 * Receive all of it.
 *
 * @param fd         The connection.
 * @param data       Out.
 * @param bytes      How many.
 * @param timeout_ms For all of it; -1: for ever.
 * @return 0; -EPIPE the other end has gone; -ETIMEDOUT; -EINTR (Ctrl-C). Nothing was said.
 */
int perf_tcp_receive(int fd, void *data, size_t bytes, int timeout_ms);

#endif
