/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --exchange=perftest: the other end is ib_write_bw, ib_send_lat or another program of perftest, from version 5.33 on.
 *
 * Over TCP the client says each word first, and the server answers with one of the same kind:
 *
 *     version      16 bytes of text, filled up with NULs
 *     buffer       bytes that small messages wander through: 4 bytes, the network's order
 *     cache line   the same
 *     MTU          2 bytes of text with the NUL: 1 is 256 bytes, 5 is 4096
 *     keys         108 bytes of text with the NUL, a word for each queue pair
 *     report       five numbers, a word each: size, messages (integers of 8 bytes), peak, average, million messages a second (doubles)
 *
 *     LLLL:OOOO:QQQQQQ:PPPPPP:KKKKKKKK:AAAAAAAAAAAAAAAA:GG:GG: ... :GG:SSSSSSSS:
 *
 * All of a key is hexadecimal: LID, READs under way, queue pair, first PSN, rkey, address, the 16 bytes of a GID, SRQ. Keys are said before
 * and after queue pairs are connected; the first one's says after that that an end has come to its next step. The last of them has "done"
 * and a NUL behind it. Reports are of bw alone, but not of SEND.
 *
 * Those programs send what is in their memory by chance, so nothing is compared.
 */
#ifndef PERF_PERFTEST_EXCHANGE_H
#define PERF_PERFTEST_EXCHANGE_H

#include "end.h"
#include "result.h"

#define PERF_PERFTEST_KEYS 108 /* bytes, with the NUL */

/** Write the keys of a queue pair. */
void perf_perftest_format(char text[PERF_PERFTEST_KEYS], const struct perf_address *address);

/**
 * Read such a text.
 *
 * @param text    What the other end has sent.
 * @param address Out.
 * @return 0; -EINVAL it is no such text.
 */
int perf_perftest_parse(const char text[PERF_PERFTEST_KEYS], struct perf_address *address);

/** Meet the other end, and connect. @return 0; an error: it was said. */
int perf_perftest_meet(struct perf_end *end, int fd);

/** Both ends are at the same step. `timeout_ms` as perf_tcp_receive()'s. @return 0; -EINTR; an error: it was said. */
int perf_perftest_step(const struct perf_end *end, int fd, int timeout_ms);

/**
 * Tell what was measured, and learn it.
 *
 * @param end    The end.
 * @param fd     The connection.
 * @param result The client's; out: what the server has to show.
 * @return 0; an error: it was said.
 */
int perf_perftest_report(const struct perf_end *end, int fd, struct perf_result *result);

/** Take leave: the other end may have something to do before. @return 0; -EINTR; an error: it was said. */
int perf_perftest_close(const struct perf_end *end, int fd);

#endif
