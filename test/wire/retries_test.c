/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How often a packet goes: as the kernel counts the frames at the other end of the cable, which is interface vb in the
 * network namespace of RDMA_PEER_NETNS; and what is answered, at our end, which is va. wire_retries OWN_DEVARGS PEER_DEVARGS.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "e2e/port.h"
#include "e2e/rdma_end.h"

#define ANY_FRAME  3 /* ETH_P_ALL */
#define IPV6_TYPE  0x86dd
#define UDP	   17
#define ROCE_PORT  4791
#define UDP_AT	   54 /* of Ethernet and IPv6 */
#define BTH_AT	   (UDP_AT + 8)
#define AETH_AT	   (BTH_AT + 12)
#define RC_ACK	   0x11 /* BTH's opcode */
#define RNR	   1	/* the three upper bits of AETH's syndrome; its code is behind them */
#define RNR_CODES  32
#define FRAMES_MAX 64
#define FRAME_MAX  2048
#define PACKETS	   3u /* of the message */
#define TIMEOUT	   8  /* 4.096 us << 8: 1 ms */
#define QUIET_US   2000

static struct rdma_end own;
static struct rdma_peer peer;
static const char *peer_devargs;
static int requests = -1, answers = -1; /* packets that come to the peer, and from it */

/* ---- The cable ---- */

/* -1: it cannot be had. */
static int
capture_open(const char *name)
{
	const struct sockaddr_ll interface = { .sll_family = AF_PACKET,
					       .sll_protocol = htons(ANY_FRAME),
					       .sll_ifindex = (int)if_nametoindex(name) };
	const int capture =
		socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ANY_FRAME));

	return bind(capture, (const struct sockaddr *)&interface, sizeof(interface)) == 0 ? capture
											  : -1;
}

/* A socket stays where it was made. */
static bool
captures_open(void)
{
	const int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	const int there = open(getenv("RDMA_PEER_NETNS"), O_RDONLY | O_CLOEXEC);

	if (here < 0 || there < 0 || setns(there, CLONE_NEWNET) != 0)
		return false;
	requests = capture_open("vb");
	if (setns(here, CLONE_NEWNET) != 0)
		return false;
	answers = capture_open("va");
	close(there);
	close(here);
	return requests >= 0 && answers >= 0;
}

/* The next packet that has come; false: there is none. */
static bool
capture_next(int capture, uint8_t bytes[FRAME_MAX])
{
	struct sockaddr_ll from;

	for (;;) {
		socklen_t room = sizeof(from);
		ssize_t length =
			recvfrom(capture, bytes, FRAME_MAX, 0, (struct sockaddr *)&from, &room);

		if (length < 0)
			return false;
		if (from.sll_pkttype != PACKET_OUTGOING && length > AETH_AT &&
		    (bytes[12] << 8 | bytes[13]) == IPV6_TYPE && bytes[20] == UDP &&
		    (bytes[UDP_AT + 2] << 8 | bytes[UDP_AT + 3]) == ROCE_PORT)
			return true;
	}
}

/* The requests since the last call, by their PSNs; how many. */
static uint32_t
captured(uint32_t psns[FRAMES_MAX])
{
	uint8_t bytes[FRAME_MAX];
	uint32_t count = 0;

	while (capture_next(requests, bytes)) {
		assert_true(count < FRAMES_MAX);
		psns[count++] = (uint32_t)(bytes[BTH_AT + 9] << 16 | bytes[BTH_AT + 10] << 8 |
					   bytes[BTH_AT + 11]);
	}
	return count;
}

/* The RNR NAKs since the last call, by their codes. */
static void
captured_rnr(uint32_t naks[RNR_CODES])
{
	uint8_t bytes[FRAME_MAX];

	memset(naks, 0, RNR_CODES * sizeof(naks[0]));
	while (capture_next(answers, bytes))
		if (bytes[BTH_AT] == RC_ACK && bytes[AETH_AT] >> 5 == RNR)
			naks[bytes[AETH_AT] & (RNR_CODES - 1)]++;
}

/* ---- Requests ---- */

static struct rdma_answer
ask(struct rdma_order order)
{
	return rdma_peer_do(&peer, &order);
}

static struct rdma_answer
begin(const struct rdma_conf *own_conf, const struct rdma_conf *peer_conf)
{
	uint32_t psns[FRAMES_MAX], naks[RNR_CODES];

	rdma_meet(&own, &peer, own_conf, peer_conf);
	captured(psns);
	captured_rnr(naks);
	return ask((struct rdma_order){ .kind = RDMA_ORDER_HELLO });
}

static void
post(enum rdmapmd_wr_opcode opcode, uint32_t length, const struct rdma_answer *there)
{
	struct rdmapmd_sge sge;
	struct rdmapmd_send_wr wr = { .wr_id = 1,
				      .opcode = opcode,
				      .send_flags = RDMAPMD_SEND_SIGNALED,
				      .sg_list = &sge,
				      .num_sge = 1 };

	rdma_end_pieces(&own, RDMA_FROM, length, 1, &sge);
	wr.wr.rdma.remote_addr = there->address + RDMA_TO;
	wr.wr.rdma.rkey = there->keys[RDMA_REGION_ALL];
	rdma_post(own.qp, &wr);
}

/* All that came, in rounds of `packets` each, which are the same packets; how many rounds. */
static uint32_t
rounds(uint32_t packets)
{
	uint32_t psns[FRAMES_MAX], count, i;

	/* Nothing comes behind. */
	rte_delay_us_sleep(QUIET_US);
	count = captured(psns);
	assert_int_equal(count % packets, 0);
	for (i = packets; i < count; i++)
		assert_int_equal(psns[i], psns[i - packets]);
	return count / packets;
}

/* ---- Tests ---- */

/* retry_cnt n: 1 + n transmissions of each packet, and as many timeouts are counted. */
static void
test_retry_cnt(void **unused)
{
	static const struct rdma_conf usual = { 0 };
	uint32_t retries;

	(void)unused;
	for (retries = 0; retries <= 7; retries++) {
		const struct rdma_conf conf = { .timeout = TIMEOUT,
						.retry_cnt = retries != 0 ? (uint8_t)retries
									  : RDMA_NONE };
		const struct rdma_answer there = begin(&conf, &usual);
		const uint64_t before = rdma_end_counter(&own, "local_ack_timeout_err");

		ask((struct rdma_order){ .kind = RDMA_ORDER_RESET });
		post(RDMAPMD_WR_RDMA_WRITE, PACKETS * 1024, &there);
		rdma_expect_status(own.cq, 1, RDMAPMD_WC_RETRY_EXC_ERR);
		assert_int_equal(rounds(PACKETS), 1 + retries);
		assert_int_equal(rdma_end_counter(&own, "local_ack_timeout_err") - before,
				 1 + retries);
	}
}

/* rnr_retry n: 1 + n transmissions of what finds no receive. A peer without a CPU must not add those of a timeout. */
static void
test_rnr_retry(void **unused)
{
	static const struct rdma_conf usual = { 0 };
	uint32_t retries;

	(void)unused;
	for (retries = 0; retries < 7; retries++) {
		const struct rdma_conf conf = { .timeout = RDMA_NONE,
						.rnr_retry = retries != 0 ? (uint8_t)retries
									  : RDMA_NONE };
		const struct rdma_answer there = begin(&conf, &usual);

		post(RDMAPMD_WR_SEND, 1, &there);
		rdma_expect_status(own.cq, 1, RDMAPMD_WC_RNR_RETRY_EXC_ERR);
		assert_int_equal(rounds(1), 1 + retries);
	}
}

/* Each code of the time to wait, in each NAK of the peer. How long that is, tests in virtual time say. */
static void
test_rnr_codes(void **unused)
{
	const struct rdma_conf conf = { .timeout = RDMA_NONE, .rnr_retry = 1 };
	uint32_t naks[RNR_CODES], code, other;

	(void)unused;
	for (code = 0; code < RNR_CODES; code++) {
		const struct rdma_conf waits = { .min_rnr_timer =
							 code != 0 ? (uint8_t)code : RDMA_NONE };
		const struct rdma_answer there = begin(&conf, &waits);

		post(RDMAPMD_WR_SEND, 1, &there);
		rdma_expect_status(own.cq, 1, RDMAPMD_WC_RNR_RETRY_EXC_ERR);
		assert_int_equal(rounds(1), 2);
		captured_rnr(naks);
		for (other = 0; other < RNR_CODES; other++)
			assert_int_equal(naks[other], other == code ? 2 : 0);
	}
}

static int
open_ends(void **unused)
{
	static const struct rdma_conf conf = { 0 };

	(void)unused;
	if (!captures_open())
		return -1;
	rdma_peer_start(&peer, peer_devargs);
	rdma_end_open(&own, e2e_port_name(0), &conf);
	return 0;
}

static int
close_ends(void **unused)
{
	(void)unused;
	rdma_end_close(&own);
	rdma_peer_stop(&peer);
	close(requests);
	close(answers);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_cnt),
		cmocka_unit_test(test_rnr_retry),
		cmocka_unit_test(test_rnr_codes),
	};
	char vdev[256];
	const char *const vdevs[] = { vdev, NULL };
	int rc;

	if (argc == 4 && strcmp(argv[1], RDMA_PEER_ARGUMENT) == 0)
		return rdma_peer_main(argv);
	if (argc != 3) {
		fprintf(stderr, "wire_retries OWN_DEVARGS PEER_DEVARGS\n");
		return 2;
	}
	e2e_port_spec(vdev, sizeof(vdev), 0, argv[1]);
	if (e2e_init("retries", vdevs) != 0)
		return 1;
	peer_devargs = argv[2];
	rc = cmocka_run_group_tests_name("retries", tests, open_ends, close_ends);
	e2e_fini();
	return rc;
}
