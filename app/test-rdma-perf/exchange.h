/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --exchange=native: what the two ends of a run tell each other. Each of these is sent by both ends, but SENT, which those send that
 * post requests.
 *
 *     HELLO      options that must be the same at both ends
 *     ADDRESS    of queue pairs and memory
 *     BEGIN      ready for a phase: a warm-up, or what is measured
 *     SENT       all requests of the phase have completed: how many there were, for each queue pair
 *     RESULT     what came out of it
 */
#ifndef PERF_EXCHANGE_H
#define PERF_EXCHANGE_H

#include "end.h"
#include "link.h"

/** What an end tells of a phase. */
struct perf_verdict {
	uint64_t iters;	   /**< messages that it has sent */
	uint64_t received; /**< receives that have completed; UC's WRITEs: slots that any came to */
	uint64_t lost;	   /**< messages that should have come, and have not */
	uint64_t wrong;	   /**< messages, slots or counters that are not what they should be */
	double seconds;	   /**< that sending took */
	double peak_bytes; /**< bytes a second */
	uint32_t interrupted; /**< 1: Ctrl-C was pressed there */
};

/** Whether both ends run the same. `timeout_ms` as perf_link_wait()'s. @return 0; -EINVAL they do not, or as perf_link_wait(): it was said. */
int perf_exchange_hello(struct perf_link *link, const struct perf_options *options, int timeout_ms);

/** Tell the end's addresses, and learn the other end's. `timeout_ms` as perf_link_wait()'s. @return As perf_link_wait(). */
int perf_exchange_addresses(struct perf_link *link, struct perf_end *end, int timeout_ms);

/** Wait until both are there. @return As perf_link_wait(). */
int perf_exchange_begin(struct perf_link *link);

/** Tell how many messages each queue pair has sent. @return As perf_link_send(); -ENOMEM. */
int perf_exchange_sent(struct perf_link *link, const uint64_t *sent, uint32_t qps);

/**
 * What such a message says.
 *
 * @param message It.
 * @param sent    Out: of each queue pair.
 * @param qps     How many there are.
 * @param most    What each may have sent.
 * @return 0; -EPROTO: it was said.
 */
int perf_exchange_parse_sent(const struct perf_message *message, uint64_t *sent, uint32_t qps,
			     uint64_t most);

/** Tell an end's verdict, and learn the other end's. @return As perf_link_wait(). */
int perf_exchange_verdict(struct perf_link *link, const struct perf_verdict *own,
			  struct perf_verdict *other);

/** Addresses as 32 hexadecimal digits. `text` has room for 33 bytes. */
void perf_exchange_gid_text(const union rdmapmd_gid *gid, char *text);

/** @return 0; -EINVAL it is not 32 hexadecimal digits. */
int perf_exchange_gid_parse(const char *text, union rdmapmd_gid *gid);

#endif
