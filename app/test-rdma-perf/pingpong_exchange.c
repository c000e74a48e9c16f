/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "pingpong.h"
#include "say.h"
#include "tcp.h"

#define SRQ_TEXTS 256
#define DONE	  "done"

void
perf_pingpong_format(char text[PERF_PINGPONG_TEXT], const union rdmapmd_gid *gid, uint32_t qp_num,
		     uint32_t psn)
{
	char digits[2 * sizeof(gid->raw) + 1];

	perf_exchange_gid_text(gid, digits);
	snprintf(text, PERF_PINGPONG_TEXT, "%04x:%06x:%06x:%s", 0, qp_num & 0xffffff,
		 psn & 0xffffff, digits);
}

int
perf_pingpong_parse(const char text[PERF_PINGPONG_TEXT], union rdmapmd_gid *gid, uint32_t *qp_num,
		    uint32_t *psn)
{
	unsigned int lid;
	int used = 0;

	if (text[PERF_PINGPONG_TEXT - 1] != '\0' || strlen(text) != PERF_PINGPONG_TEXT - 1)
		return -EINVAL;
	if (sscanf(text, "%4x:%6x:%6x:%n", &lid, qp_num, psn, &used) != 3 || used != 19)
		return -EINVAL;
	return perf_exchange_gid_parse(text + used, gid);
}

static uint32_t
texts(const struct perf_end *end)
{
	return end->options->use_srq ? SRQ_TEXTS : 1;
}

static int
gone(int rc)
{
	if (rc == -EINTR)
		return rc;
	return perf_fail(rc, "the other end %s while addresses were exchanged",
			 rc == -ETIMEDOUT ? "said nothing" : "has gone");
}

/* Those of queue pairs that are not there are all zeros. */
static int
tell(const struct perf_end *end, int fd)
{
	const uint32_t n = texts(end);
	char *text = calloc(n, PERF_PINGPONG_TEXT);
	uint32_t i;
	int rc;

	if (text == NULL)
		return perf_fail(-ENOMEM, "no memory");
	for (i = 0; i < n; i++) {
		const union rdmapmd_gid none = { { 0 } };
		const bool there = i < end->options->qps;

		perf_pingpong_format(text + i * PERF_PINGPONG_TEXT, there ? &end->gid.gid : &none,
				     there ? end->queues[i].qp->qp_num : 0,
				     there ? end->queues[i].psn : 0);
	}
	/* In one piece: they read it by one call. */
	rc = perf_tcp_send(fd, text, (size_t)n * PERF_PINGPONG_TEXT);
	free(text);
	return rc == 0 ? 0 : gone(rc);
}

static int
check_peer(const struct perf_end *end, uint32_t queues)
{
	static const union rdmapmd_gid none;

	if (queues < end->options->qps)
		return perf_fail(-EINVAL,
				 "the other end has %u queue pairs, this one %u: give both the "
				 "same -q",
				 queues, end->options->qps);
	if (memcmp(&end->peer.gid, &none, sizeof(none)) == 0)
		return perf_fail(-EINVAL,
				 "the other end tells no address: start it with -g INDEX of a "
				 "RoCE v2 one");
	return 0;
}

static int
learn(struct perf_end *end, int fd)
{
	const uint64_t start = perf_tcp_now_ms();
	char text[PERF_PINGPONG_TEXT];
	uint32_t i, queues = 0, qp_num, psn;
	union rdmapmd_gid gid;
	int rc;

	for (i = 0; i < texts(end); i++) {
		/* All of them in that time, however slowly they come. */
		const uint64_t gone_ms =
			RTE_MIN(perf_tcp_now_ms() - start, (uint64_t)PERF_TCP_PATIENCE_MS);

		rc = perf_tcp_receive(fd, text, sizeof(text),
				      (int)(PERF_TCP_PATIENCE_MS - gone_ms));
		if (rc != 0)
			return gone(rc);
		if (perf_pingpong_parse(text, &gid, &qp_num, &psn) != 0)
			return perf_fail(-EPROTO, "the other end is not ibv_*_pingpong: without "
						  "--exchange=pingpong it may be " PERF_PROGRAM);
		if (i == 0)
			end->peer.gid = gid;
		if (qp_num != 0)
			queues++;
		if (i < end->options->qps) {
			end->queues[i].peer_qp_num = qp_num;
			end->queues[i].peer_psn = psn;
		}
	}
	/* What they do not tell: their sizes are to be ours. */
	end->peer.mtu = end->mtu;
	end->peer.out_reads = 1;
	return check_peer(end, queues);
}

static int
ready(struct perf_end *end)
{
	int rc = perf_end_connect(end);

	return rc == 0 ? perf_pingpong_receive(end) : rc;
}

static int
meet_as_client(struct perf_end *end, int fd)
{
	int rc = perf_end_wait_link(end);

	/* Their server asks for the MAC of the address as soon as it hears it, for a second. */
	if (rc == 0)
		rc = tell(end, fd);
	if (rc == 0)
		rc = learn(end, fd);
	if (rc != 0)
		return rc;
	rc = perf_tcp_send(fd, DONE, sizeof(DONE));
	return rc == 0 ? ready(end) : gone(rc);
}

static int
meet_as_server(struct perf_end *end, int fd)
{
	char done[sizeof(DONE)];
	int rc = learn(end, fd);

	if (rc == 0)
		rc = ready(end);
	if (rc == 0)
		rc = tell(end, fd);
	if (rc != 0)
		return rc;
	rc = perf_tcp_receive(fd, done, sizeof(done), PERF_TCP_PATIENCE_MS);
	return rc == 0 ? 0 : gone(rc);
}

int
perf_pingpong_meet(struct perf_end *end, int fd)
{
	return end->client ? meet_as_client(end, fd) : meet_as_server(end, fd);
}
