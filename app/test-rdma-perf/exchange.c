/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "say.h"

#define MTU_MIN	    256u
#define QUEUE_TEXT  16 /* "qqqqqq pppppp\n", and more */
#define HEADER_TEXT 200
#define COUNT_TEXT  21 /* digits of 64 bits, and an end of line */

/* ---- HELLO ---- */

static void
hello_text(const struct perf_options *o, char *text, size_t room)
{
	snprintf(
		text, room,
		"--op %s\n--mode %s\n--connection %s\n--size %u\n--all %d\n--iters %" PRIu64
		"\n--duration %u\n--qp %u\n--bidirectional %d\n--use-srq %d\n--rx-depth %u\n--post_list %u\n"
		"--lcores %u\n--verify %d\n",
		perf_op_name(o->op), o->mode == PERF_LAT ? "lat" : "bw",
		perf_transport_name(o->transport), o->size, o->all, o->iters, o->duration, o->qps,
		o->bidirectional, o->use_srq, o->rx_depth, o->post_list, o->lcores, o->verify);
}

/* The first line that differs. */
static int
differ(const char *ours, const char *theirs)
{
	size_t n, m;

	for (;;) {
		n = strcspn(ours, "\n");
		m = strcspn(theirs, "\n");
		if (n != m || strncmp(ours, theirs, n) != 0)
			break;
		if (ours[n] == '\0')
			return 0;
		ours += n + 1;
		theirs += m + 1;
	}
	return perf_fail(
		-EINVAL,
		"the other end has \"%.*s\" and this one \"%.*s\": give both ends the same "
		"options",
		(int)m, theirs, (int)n, ours);
}

int
perf_exchange_hello(struct perf_link *link, const struct perf_options *options, int timeout_ms)
{
	struct perf_message message;
	char text[400];
	int rc;

	hello_text(options, text, sizeof(text));
	rc = perf_link_send(link, PERF_MESSAGE_HELLO, text);
	if (rc == 0)
		rc = perf_link_wait(link, PERF_MESSAGE_HELLO, timeout_ms, &message);
	return rc == 0 ? differ(text, message.body) : rc;
}

/* ---- ADDRESS ---- */

void
perf_exchange_gid_text(const union rdmapmd_gid *gid, char *text)
{
	unsigned int i;

	for (i = 0; i < sizeof(gid->raw); i++)
		snprintf(text + 2 * i, 3, "%02x", gid->raw[i]);
}

int
perf_exchange_gid_parse(const char *text, union rdmapmd_gid *gid)
{
	unsigned int i;

	for (i = 0; i < sizeof(gid->raw); i++) {
		if (!isxdigit((unsigned char)text[2 * i]) ||
		    !isxdigit((unsigned char)text[2 * i + 1]) ||
		    sscanf(text + 2 * i, "%2hhx", &gid->raw[i]) != 1)
			return -EINVAL;
	}
	return 0;
}

static char *
addresses_text(const struct perf_end *end)
{
	const size_t room = HEADER_TEXT + (size_t)QUEUE_TEXT * end->options->qps;
	char gid[2 * sizeof(end->gid.gid.raw) + 1], *text = malloc(room);
	size_t at;
	uint32_t i;

	if (text == NULL)
		return NULL;
	perf_exchange_gid_text(&end->gid.gid, gid);
	at = (size_t)snprintf(text, room, "%s mtu %u reads %u rkey %x vaddr %" PRIx64 "\n", gid,
			      end->mtu, end->out_reads, end->mr->rkey, end->mr->iova);
	for (i = 0; i < end->options->qps; i++)
		at += (size_t)snprintf(text + at, room - at, "%06x %06x\n",
				       end->queues[i].qp->qp_num, end->queues[i].psn);
	return text;
}

static int
parse_addresses(const char *text, struct perf_end *end)
{
	struct perf_peer *peer = &end->peer;
	uint32_t i;
	int used;

	if (strlen(text) < 32 || perf_exchange_gid_parse(text, &peer->gid) != 0)
		return -EINVAL;
	text += 32;
	if (sscanf(text, " mtu %u reads %u rkey %x vaddr %" SCNx64 "\n%n", &peer->mtu,
		   &peer->out_reads, &peer->rkey, &peer->vaddr, &used) != 4 ||
	    peer->mtu < MTU_MIN)
		return -EINVAL;
	for (i = 0; i < end->options->qps; i++) {
		text += used;
		if (sscanf(text, "%6x %6x\n%n", &end->queues[i].peer_qp_num,
			   &end->queues[i].peer_psn, &used) != 2)
			return -EINVAL;
	}
	return 0;
}

int
perf_exchange_addresses(struct perf_link *link, struct perf_end *end, int timeout_ms)
{
	char *text = addresses_text(end);
	struct perf_message message;
	int rc;

	if (text == NULL)
		return perf_fail(-ENOMEM, "no memory");
	rc = perf_link_send(link, PERF_MESSAGE_ADDRESSES, text);
	free(text);
	if (rc == 0)
		rc = perf_link_wait(link, PERF_MESSAGE_ADDRESSES, timeout_ms, &message);
	if (rc == 0 && parse_addresses(message.body, end) != 0)
		rc = perf_fail(-EPROTO, "the other end sends invalid addresses");
	return rc;
}

/* ---- A phase ---- */

int
perf_exchange_begin(struct perf_link *link)
{
	struct perf_message message;
	int rc = perf_link_send(link, PERF_MESSAGE_BEGIN, "");

	return rc == 0 ? perf_link_wait(link, PERF_MESSAGE_BEGIN, -1, &message) : rc;
}

int
perf_exchange_sent(struct perf_link *link, const uint64_t *sent, uint32_t qps)
{
	const size_t room = COUNT_TEXT * qps + 1;
	char *text = malloc(room);
	size_t at = 0;
	uint32_t i;
	int rc;

	if (text == NULL)
		return perf_fail(-ENOMEM, "no memory");
	for (i = 0; i < qps; i++)
		at += (size_t)snprintf(text + at, room - at, "%" PRIu64 "\n", sent[i]);
	rc = perf_link_send(link, PERF_MESSAGE_SENT, text);
	free(text);
	return rc;
}

int
perf_exchange_parse_sent(const struct perf_message *message, uint64_t *sent, uint32_t qps,
			 uint64_t most)
{
	const char *text = message->body;
	uint32_t i;
	int used;

	for (i = 0; i < qps; i++) {
		if (sscanf(text, "%" SCNu64 "\n%n", &sent[i], &used) != 1)
			return perf_fail(-EPROTO,
					 "the other end does not say how much it has sent");
		if (sent[i] > most)
			return perf_fail(-EPROTO,
					 "the other end claims to have sent %" PRIu64
					 " messages, more than %" PRIu64,
					 sent[i], most);
		text += used;
	}
	return 0;
}

int
perf_exchange_verdict(struct perf_link *link, const struct perf_verdict *own,
		      struct perf_verdict *other)
{
	struct perf_message message;
	char text[300];
	int rc;

	snprintf(text, sizeof(text),
		 "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %.9f %.3f %u\n", own->iters,
		 own->received, own->lost, own->wrong, own->seconds, own->peak_bytes,
		 own->interrupted);
	rc = perf_link_send(link, PERF_MESSAGE_RESULT, text);
	if (rc == 0)
		rc = perf_link_wait(link, PERF_MESSAGE_RESULT, -1, &message);
	if (rc != 0)
		return rc;
	if (sscanf(message.body, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %lf %lf %u",
		   &other->iters, &other->received, &other->lost, &other->wrong, &other->seconds,
		   &other->peak_bytes, &other->interrupted) != 7 ||
	    !isfinite(other->seconds) || other->seconds < 0 || !isfinite(other->peak_bytes) ||
	    other->peak_bytes < 0)
		return perf_fail(-EPROTO, "the other end sends an invalid result");
	return 0;
}
