/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "exchange.h"
#include "perftest_exchange.h"
#include "say.h"
#include "tcp.h"

#define VERSION	      "6.06" /* of Debian 12's programs */
#define VERSION_TEXT  16
#define VERSION_MIN   5.33 /* from which on the words are these */
#define BUFFER_BYTES  4096
#define LINE_BYTES    64
#define MTU_TEXT      2
#define MTU_MIN_SHIFT 7	 /* "1" is 256 */
#define KEYS_HEAD     50 /* up to the GID */
#define DONE	      "done"
#define MIB	      1048576.0
#define GBIT	      125000000.0

/* They make their memory and queue pairs only when they are connected. */
#define PATIENCE_MS 10000

/* ---- Words ---- */

static int
gone(int rc)
{
	if (rc == -EINTR)
		return rc;
	return perf_fail(
		rc, "the other end %s: see what it has printed, and give both the same options",
		rc == -ETIMEDOUT ? "sends nothing" : "has gone");
}

/* The client first. */
static int
exchange(const struct perf_end *end, int fd, const void *own, void *other, size_t bytes,
	 int timeout_ms)
{
	int rc = end->client ? perf_tcp_send(fd, own, bytes) : 0;

	if (rc == 0)
		rc = perf_tcp_receive(fd, other, bytes, timeout_ms);
	if (rc == 0 && !end->client)
		rc = perf_tcp_send(fd, own, bytes);
	return rc == 0 ? 0 : gone(rc);
}

static int
exchange_versions(const struct perf_end *end, int fd)
{
	const char own[VERSION_TEXT] = VERSION;
	char other[VERSION_TEXT], *behind;
	double version;
	int rc = exchange(end, fd, own, other, sizeof(own), PATIENCE_MS);

	if (rc != 0)
		return rc;
	if (other[VERSION_TEXT - 1] == '\0') {
		version = strtod(other, &behind);
		if (behind != other && version >= VERSION_MIN)
			return 0;
		if (behind != other)
			return perf_fail(-EPROTO, "the other end is perftest %s: %.2f is needed",
					 other, VERSION_MIN);
	}
	return perf_fail(-EPROTO, "the other end is no program of perftest: without "
				  "--exchange=perftest it may be " PERF_PROGRAM);
}

/* Small messages wander through their own buffers; how far they come in ours is the larger number. */
static int
exchange_sizes(const struct perf_end *end, int fd)
{
	const rte_be32_t buffer = rte_cpu_to_be_32(BUFFER_BYTES),
			 line = rte_cpu_to_be_32(LINE_BYTES);
	rte_be32_t other_buffer, other_line;
	int rc = exchange(end, fd, &buffer, &other_buffer, sizeof(buffer), PATIENCE_MS);

	if (rc == 0)
		rc = exchange(end, fd, &line, &other_line, sizeof(line), PATIENCE_MS);
	if (rc == 0 && rte_be_to_cpu_32(other_buffer) > end->part)
		return perf_fail(-EINVAL,
				 "the other end has a cycle buffer of %u bytes, more than the %zu "
				 "of this one's messages: give both a larger -s",
				 rte_be_to_cpu_32(other_buffer), end->part);
	return rc;
}

static int
exchange_mtu(struct perf_end *end, int fd)
{
	const char own[MTU_TEXT] = { (char)('0' + __builtin_ctz(end->mtu) - MTU_MIN_SHIFT), '\0' };
	char other[MTU_TEXT];
	int rc = exchange(end, fd, own, other, sizeof(own), PATIENCE_MS);

	if (rc != 0)
		return rc;
	if (other[0] < '1' || other[0] > '5' || other[1] != '\0')
		return perf_fail(-EPROTO, "the other end sends no MTU");
	end->peer.mtu = 1u << (other[0] - '0' + MTU_MIN_SHIFT);
	return 0;
}

/* ---- Keys ---- */

void
perf_perftest_format(char text[PERF_PERFTEST_KEYS], const struct perf_address *address)
{
	size_t at = (size_t)snprintf(text, PERF_PERFTEST_KEYS,
				     "%04x:%04x:%06x:%06x:%08x:%016" PRIx64 ":", 0,
				     address->out_reads & 0xffff, address->qp_num & 0xffffff,
				     address->psn & 0xffffff, address->rkey, address->vaddr);
	unsigned int i;

	for (i = 0; i < sizeof(address->gid.raw); i++)
		at += (size_t)snprintf(text + at, PERF_PERFTEST_KEYS - at,
				       "%02x:", address->gid.raw[i]);
	snprintf(text + at, PERF_PERFTEST_KEYS - at, "%08x:", 0);
}

int
perf_perftest_parse(const char text[PERF_PERFTEST_KEYS], struct perf_address *address)
{
	unsigned int lid, i;
	int used = 0;

	if (text[PERF_PERFTEST_KEYS - 1] != '\0' ||
	    strspn(text, "0123456789abcdefABCDEF:") != PERF_PERFTEST_KEYS - 1)
		return -EINVAL;
	if (sscanf(text, "%4x:%4x:%6x:%6x:%8x:%16" SCNx64 ":%n", &lid, &address->out_reads,
		   &address->qp_num, &address->psn, &address->rkey, &address->vaddr, &used) != 6 ||
	    used != KEYS_HEAD)
		return -EINVAL;
	for (i = 0; i < sizeof(address->gid.raw); i++) {
		char *behind;
		const unsigned long byte = strtoul(text + used, &behind, 16);

		if (behind != text + used + 2 || *behind != ':')
			return -EINVAL;
		address->gid.raw[i] = (uint8_t)byte;
		used += 3;
	}
	return 0;
}

/* The parts of memory are where messages come to, and are fetched from. */
static struct perf_address
own_address(const struct perf_end *end, const struct perf_queue *queue)
{
	struct perf_address address = perf_end_address(end, queue);

	address.vaddr += (uint64_t)(queue->in - queue->out);
	return address;
}

static int
exchange_keys(const struct perf_end *end, int fd, uint32_t q, struct perf_address *other,
	      int timeout_ms)
{
	const struct perf_address own = own_address(end, &end->queues[q]);
	char said[PERF_PERFTEST_KEYS], heard[PERF_PERFTEST_KEYS];
	int rc;

	perf_perftest_format(said, &own);
	rc = exchange(end, fd, said, heard, sizeof(said), timeout_ms);
	if (rc != 0)
		return rc;
	if (perf_perftest_parse(heard, other) != 0)
		return perf_fail(-EPROTO, "the other end sends no keys with an address: start it "
					  "with -x INDEX of a RoCE v2 one");
	return 0;
}

int
perf_perftest_step(const struct perf_end *end, int fd, int timeout_ms)
{
	struct perf_address other;

	return exchange_keys(end, fd, 0, &other, timeout_ms);
}

/* ---- Meeting ---- */

static int
learn_queue(struct perf_end *end, int fd, uint32_t q, uint64_t *vaddr)
{
	struct perf_address other;
	int rc = exchange_keys(end, fd, q, &other, PATIENCE_MS);

	if (rc != 0)
		return rc;
	if (q == 0) {
		end->peer.gid = other.gid;
		end->peer.rkey = other.rkey;
		end->peer.out_reads = other.out_reads;
	}
	if (end->peer.rkey != other.rkey)
		return perf_fail(-EINVAL, "the other end has a region for each queue pair: start "
					  "it without --mr_per_qp");
	end->queues[q].peer_qp_num = other.qp_num;
	end->queues[q].peer_psn = other.psn;
	*vaddr = other.vaddr;
	return 0;
}

/* Unlike ours, theirs says the address of each queue pair's memory. */
static int
connect_to(struct perf_end *end, const uint64_t *vaddrs)
{
	int rc = perf_end_connect(end);
	uint32_t q;

	for (q = 0; q < end->options->qps; q++) {
		struct perf_queue *queue = &end->queues[q];

		queue->peer_out = queue->peer_in = queue->peer_last = vaddrs[q];
	}
	return rc;
}

static int
meet_queues(struct perf_end *end, int fd, uint64_t *vaddrs)
{
	const struct perf_options *o = end->options;
	uint32_t q;
	int rc = 0;

	if (o->mode == PERF_LAT && o->op != PERF_SEND)
		rc = perf_perftest_step(end, fd, PATIENCE_MS);
	for (q = 0; rc == 0 && q < o->qps; q++)
		rc = learn_queue(end, fd, q, &vaddrs[q]);
	if (rc == 0)
		rc = connect_to(end, vaddrs);
	/* SEND's begin with the one that stands for all, others end with it. */
	for (q = 0; rc == 0 && q < o->qps + 1; q++)
		rc = perf_perftest_step(end, fd, PATIENCE_MS);
	return rc;
}

int
perf_perftest_meet(struct perf_end *end, int fd)
{
	uint64_t *vaddrs;
	int rc = perf_end_wait_link(end);

	if (rc == 0)
		rc = exchange_versions(end, fd);
	if (rc == 0)
		rc = exchange_sizes(end, fd);
	if (rc == 0)
		rc = exchange_mtu(end, fd);
	if (rc != 0)
		return rc;
	vaddrs = calloc(end->options->qps, sizeof(*vaddrs));
	if (vaddrs == NULL)
		return perf_fail(-ENOMEM, "no memory");
	rc = meet_queues(end, fd, vaddrs);
	free(vaddrs);
	return rc;
}

/* ---- The end ---- */

static int
exchange_number(const struct perf_end *end, int fd, uint64_t own, uint64_t *other)
{
	rte_be64_t said = rte_cpu_to_be_64(own), heard;
	int rc = exchange(end, fd, &said, &heard, sizeof(said), PATIENCE_MS);

	*other = rc == 0 ? rte_be_to_cpu_64(heard) : 0;
	return rc;
}

static int
exchange_rate(const struct perf_end *end, int fd, double own, double *other)
{
	uint64_t said, heard;
	int rc;

	memcpy(&said, &own, sizeof(said));
	rc = exchange_number(end, fd, said, &heard);
	memcpy(other, &heard, sizeof(heard));
	if (rc == 0 && (!isfinite(*other) || *other < 0))
		return perf_fail(-EPROTO, "the other end sends an invalid result");
	return rc;
}

int
perf_perftest_report(const struct perf_end *end, int fd, struct perf_result *result)
{
	const double unit = end->options->gbits ? GBIT : MIB;
	double peak, average, rate;
	uint64_t size, iters;
	int rc = exchange_number(end, fd, result->size, &size);

	if (rc == 0)
		rc = exchange_number(end, fd, result->iters, &iters);
	if (rc == 0)
		rc = exchange_rate(end, fd, result->peak_bytes / unit, &peak);
	if (rc == 0)
		rc = exchange_rate(end, fd, result->average_bytes / unit, &average);
	if (rc == 0)
		rc = exchange_rate(end, fd, result->rate / 1e6, &rate);
	if (rc == 0 && !end->client)
		*result = (struct perf_result){
			.size = (uint32_t)size,
			.iters = iters,
			.peak_bytes = peak * unit,
			.average_bytes = average * unit,
			.rate = rate * 1e6,
		};
	return rc;
}

int
perf_perftest_close(const struct perf_end *end, int fd)
{
	char done[sizeof(DONE)];
	int rc = perf_perftest_step(end, fd, -1);

	if (rc != 0)
		return rc;
	rc = perf_tcp_send(fd, DONE, sizeof(DONE));
	/* It may have gone; what it has said is taken, so that what was sent to it is not thrown away. */
	if (rc == 0)
		perf_tcp_receive(fd, done, sizeof(done), PERF_TCP_PATIENCE_MS);
	return 0;
}
