/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How two processes tell each other of their queue pairs: over TCP, by the texts of rdma-core's ibv_rc_pingpong.
 *
 *     client                                          server
 *     exchange_open("host", ...)                      exchange_open(NULL, ...)
 *     exchange_tell()    LID:QPN:PSN:GID  -------->   exchange_hear(), and connects its queue pair
 *     exchange_hear()    <--------  LID:QPN:PSN:GID   exchange_tell()
 *     connects its queue pair
 *     exchange_done()    done  -------->              exchange_wait()
 *
 * The client may send as soon as it has heard the server, which is ready by then. All functions end the program when something
 * fails.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <signal.h>
#include <stdint.h>

#include <rdmapmd.h>

/* What one side tells. */
struct exchange_end {
	union rdmapmd_gid gid;
	uint32_t qp_num, psn;
};

/*
 * host: the server to connect to; NULL: wait for a client. Returns the connection's descriptor, or -1: `stopped` was set before
 * a client came.
 */
int exchange_open(const char *host, const char *port, volatile sig_atomic_t *stopped);
void exchange_tell(int connection, const struct exchange_end *own);
void exchange_hear(int connection, struct exchange_end *peer);
void exchange_done(int connection);
void exchange_wait(int connection);

#endif
