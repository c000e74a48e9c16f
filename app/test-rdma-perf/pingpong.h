/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --exchange=pingpong: the other end is ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong or ibv_srq_pingpong of rdma-core.
 *
 * Over TCP each end tells a text of 52 bytes, the NUL behind it included, for each queue pair (256 of them with an SRQ, whatever
 * the number of queue pairs): LID, queue pair, first PSN, address, all hexadecimal. The client begins, and ends with "done" and a
 * NUL; the connection is closed then.
 *
 *     0000:QQQQQQ:PPPPPP:GGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGG
 *
 * Then messages go back and forth, the client's first: each end has one under way for each queue pair. Those programs send from the
 * memory that they receive into, so the server's messages are the client's.
 */
#ifndef PERF_PINGPONG_H
#define PERF_PINGPONG_H

#include <stdio.h>

#include "end.h"
#include "result.h"

#define PERF_PINGPONG_TEXT 52 /* bytes, with the NUL */

/** Write the text of a queue pair. */
void perf_pingpong_format(char text[PERF_PINGPONG_TEXT], const union rdmapmd_gid *gid,
			  uint32_t qp_num, uint32_t psn);

/**
 * Read one.
 *
 * @param text   What the other end has sent.
 * @param gid    Out: its address.
 * @param qp_num Out.
 * @param psn    Out.
 * @return 0; -EINVAL it is no such text.
 */
int perf_pingpong_parse(const char text[PERF_PINGPONG_TEXT], union rdmapmd_gid *gid,
			uint32_t *qp_num, uint32_t *psn);

/** Meet the other end, and connect. @return 0; an error: it was said. */
int perf_pingpong_meet(struct perf_end *end, int fd);

/** Post the first receives: before the other end may send. @return 0; an error: it was said. */
int perf_pingpong_receive(struct perf_end *end);

/**
 * Exchange all messages.
 *
 * @param end    The end, connected.
 * @param result Out: rounds and their times, as far as they went.
 * @return 0; -EINTR; -EBADMSG what came back is not what was sent; another error: it was said.
 */
int perf_pingpong_run(struct perf_end *end, struct perf_result *result);

/** The two lines that those programs end with. */
void perf_pingpong_report(FILE *out, const struct perf_result *result);

#endif
