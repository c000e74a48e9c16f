/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Neighbours over a cable of Linux (over_veth.sh): the driver's port is at va, the kernel at vb. What the kernel says is what
 * the driver must find out, and the other way round; a packet socket at vb sees and forges frames.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdmapmd.h>

#include "e2e/port.h"
#include "stalls.h"

#define OWN4	       "192.0.2.1"
#define OWN6	       "2001:db8::1"
#define KERNEL4	       "192.0.2.2"
#define KERNEL6	       "2001:db8::2"
#define OTHER4	       "192.0.2.3"
#define NOBODY4	       "192.0.2.77"
#define NOBODY6	       "2001:db8::77"
#define GATEWAY4       "192.0.2.254"
#define VLAN	       5
#define VLAN_OWN4      "198.18.5.1"
#define VLAN_PEER4     "198.18.5.2"
#define GATEWAY6       "2001:db8::fe"
#define PATIENCE_MS    60000
#define UNREACHABLE_MS 3500
#define FORGED	       100000u
#define AT_ONCE \
	32u /* frames that are sent before an answer is awaited: the driver has room for 64 */

static struct rdmapmd_context *context;
static uint8_t kernel_mac[6], own_mac[6];
static int packets; /* all frames at vb */

static void
run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static union rdmapmd_gid
gid_of(const char *text)
{
	union rdmapmd_gid gid = { { [10] = 0xff, [11] = 0xff } };

	if (inet_pton(AF_INET, text, gid.raw + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static int
resolve(const char *address, uint32_t timeout_ms, uint8_t mac[6])
{
	struct rdmapmd_ah_attr ah = { .dgid = gid_of(address), .port_num = 1 };
	int rc;

	/* What ip= has given stands behind the link-local one. */
	ah.sgid_index = rdmapmd_gid_is_ipv4(&ah.dgid) ? 1 : 2;
	rc = rdmapmd_resolve(context, &ah, timeout_ms);
	memcpy(mac, ah.dmac, 6);
	return rc;
}

static void
assert_resolved(const char *address, const uint8_t expected[6])
{
	uint8_t mac[6];
	int rc = resolve(address, RDMAPMD_RESOLVE_WAIT, mac);

	if (rc != 0)
		fail_msg("%s: %s", address, strerror(-rc));
	assert_memory_equal(mac, expected, 6);
}

/* ---- Frames at vb ---- */

/* All that has come so far is forgotten. */
static void
frames_forget(void)
{
	uint8_t frame[256];

	while (recv(packets, frame, sizeof(frame), MSG_DONTWAIT) > 0)
		;
}

/* The next one that the driver has sent; 0: nothing comes for a minute. */
static uint32_t
frame_next(uint8_t frame[256])
{
	struct pollfd fd = { .fd = packets, .events = POLLIN };
	ssize_t bytes;

	while (poll(&fd, 1, PATIENCE_MS) == 1) {
		bytes = recv(packets, frame, 256, 0);
		if (bytes >= 14 && memcmp(frame + 6, own_mac, 6) == 0)
			return (uint32_t)bytes;
	}
	return 0;
}

static void
frame_send(const uint8_t *frame, size_t bytes)
{
	assert_int_equal(send(packets, frame, bytes, 0), bytes);
}

static void
arp_make(uint8_t frame[42], uint8_t operation, const uint8_t from[6], const char *sender,
	 const char *target)
{
	static const uint8_t fixed[] = { 8, 6, 0, 1, 8, 0, 6, 4, 0 };

	memset(frame, 0, 42);
	memcpy(frame, own_mac, 6);
	memcpy(frame + 6, from, 6);
	memcpy(frame + 12, fixed, sizeof(fixed));
	frame[21] = operation;
	memcpy(frame + 22, from, 6);
	inet_pton(AF_INET, sender, frame + 28);
	memcpy(frame + 32, own_mac, 6);
	inet_pton(AF_INET, target, frame + 38);
}

/* Is `target` the driver's? It is asked by that address of the kernel's; the answer comes behind all that was sent before. */
static void
assert_answered_to(const char *asker, const char *target)
{
	uint8_t frame[256], request[42];

	arp_make(request, 1, kernel_mac, asker, target);
	frame_send(request, sizeof(request));
	do {
		assert_true(frame_next(frame) > 0);
	} while (frame[12] != 8 || frame[13] != 6 || frame[21] != 2 ||
		 memcmp(frame + 28, request + 38, 4) != 0);
	assert_memory_equal(frame, kernel_mac, 6);
	assert_memory_equal(frame + 22, own_mac, 6);
}

static void
assert_answered(const char *target)
{
	assert_answered_to(KERNEL4, target);
}

/* Is it a request of the driver's, for that address? Of IPv6: a solicitation. */
static bool
is_request(const uint8_t frame[256], const char *target)
{
	uint8_t address[16];

	if (memcmp(frame + 6, own_mac, 6) != 0)
		return false;
	if (inet_pton(AF_INET, target, address) == 1)
		return frame[13] == 6 && frame[21] == 1 && memcmp(frame + 38, address, 4) == 0;
	assert_int_equal(inet_pton(AF_INET6, target, address), 1);
	return frame[12] == 0x86 && frame[13] == 0xdd && frame[54] == 135 &&
	       memcmp(frame + 62, address, 16) == 0;
}

/* How many have come for either? */
static void
count_requests(const char *const targets[2], unsigned int counts[2])
{
	uint8_t frame[256];

	counts[0] = counts[1] = 0;
	while (recv(packets, frame, sizeof(frame), MSG_DONTWAIT) > 0) {
		counts[0] += is_request(frame, targets[0]);
		counts[1] += is_request(frame, targets[1]);
	}
}

static unsigned int
requests_for(const char *target)
{
	const char *const targets[] = { target, target };
	unsigned int counts[2];

	count_requests(targets, counts);
	return counts[0];
}

/* ---- What the driver finds out. No ethdev is started ---- */

static void
test_the_kernels_addresses(void **state)
{
	(void)state;
	assert_resolved(KERNEL4, kernel_mac);
	assert_resolved(KERNEL6, kernel_mac);
}

static void
test_own_addresses_need_nobody(void **state)
{
	(void)state;
	assert_resolved(OWN4, own_mac);
	assert_resolved(OWN6, own_mac);
}

static void
test_a_gateway_for_what_is_not_on_the_link(void **state)
{
	(void)state;
	frames_forget();
	assert_resolved("198.51.100.7", kernel_mac);
	assert_resolved("2001:db8:1::1", kernel_mac);
	assert_int_equal(requests_for("198.51.100.7"), 0);
}

static void
test_groups_without_asking(void **state)
{
	static const uint8_t four[6] = { 1, 0, 0x5e, 0x7f, 2, 3 },
			     six[6] = { 0x33, 0x33, 0, 1, 0, 3 };

	(void)state;
	assert_resolved("239.255.2.3", four);
	assert_resolved("ff0e::1:3", six);
}

static void
test_an_event_tells_who_does_not_wait(void **state)
{
	struct pollfd fd = { .fd = rdmapmd_async_event_fd(context), .events = POLLIN };
	struct rdmapmd_async_event event;
	uint8_t mac[6];

	(void)state;
	while (rdmapmd_async_event_get(context, &event) == 0)
		rdmapmd_async_event_ack(context, &event);
	assert_int_equal(resolve(OTHER4, 0, mac), -EINPROGRESS);
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_int_equal(rdmapmd_async_event_get(context, &event), 0);
	assert_int_equal(event.event_type, RDMAPMD_EVENT_RESOLVED);
	assert_int_equal(event.element.port_num, 1);
	assert_int_equal(rdmapmd_async_event_ack(context, &event), 0);
	assert_int_equal(resolve(OTHER4, 0, mac), 0);
	assert_memory_equal(mac, kernel_mac, 6);
}

/*
 * Three requests, a second for each, and half a second; a thread that could not run meanwhile has that time, too. unit-neigh-table
 * says it exactly, by its own clock.
 */
static void
test_nobody_is_there(void **state)
{
	static const char *const nobody[] = { NOBODY4, NOBODY6 };
	static struct stalls stalls;
	uint64_t start, stalled_ms, ms[2];
	unsigned int requests[2], i;
	uint8_t mac[6];

	(void)state;
	frames_forget();
	assert_int_equal(stalls_begin(&stalls), 0);
	start = stalls_now_us();
	/* Both are asked for at the same time. */
	for (i = 0; i < 2; i++)
		assert_int_equal(resolve(nobody[i], 1, mac), -ETIMEDOUT);
	for (i = 0; i < 2; i++) {
		assert_int_equal(resolve(nobody[i], RDMAPMD_RESOLVE_WAIT, mac), -EHOSTUNREACH);
		ms[i] = (stalls_now_us() - start) / 1000;
		/* Remembered. */
		assert_int_equal(resolve(nobody[i], RDMAPMD_RESOLVE_WAIT, mac), -EHOSTUNREACH);
	}
	stalled_ms = stalls_end(&stalls);
	printf("# given up after %u ms; meanwhile a thread could not run for %u ms\n",
	       (unsigned int)ms[1], (unsigned int)stalled_ms);
	for (i = 0; i < 2; i++)
		assert_in_range(ms[i], 2900, UNREACHABLE_MS + stalled_ms);
	count_requests(nobody, requests);
	assert_int_equal(requests[0], 3);
	assert_int_equal(requests[1], 3);
}

/* ---- What the kernel finds out ---- */

/* It has something to send. */
static void
assert_kernel_finds(const char *address)
{
	const bool ipv6 = strchr(address, ':') != NULL;
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons(9) };
	const int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	char command[256];
	unsigned int ms;

	inet_pton(AF_INET6, address, &to6.sin6_addr);
	inet_pton(AF_INET, address, &to4.sin_addr);
	snprintf(command, sizeof(command),
		 "ip neigh show to %s dev vb | grep -q 'lladdr %02x:%02x:%02x:%02x:%02x:%02x'",
		 address, own_mac[0], own_mac[1], own_mac[2], own_mac[3], own_mac[4], own_mac[5]);
	run("ip neigh flush dev vb");
	for (ms = 0; ms < PATIENCE_MS && system(command) != 0; ms += 10) {
		assert_int_equal(sendto(fd, "", 1, 0, ipv6 ? (void *)&to6 : (void *)&to4,
					ipv6 ? sizeof(to6) : sizeof(to4)),
				 1);
		usleep(10000);
	}
	close(fd);
	assert_true(ms < PATIENCE_MS);
}

static void
test_the_kernel_finds_ours(void **state)
{
	(void)state;
	assert_kernel_finds(OWN4);
	assert_kernel_finds(OWN6);
}

static void
test_the_kernel_is_answered_as_arping_is(void **state)
{
	(void)state;
	assert_answered(OWN4);
}

/* As `ping -6` does. */
static void
assert_echo(void)
{
	const int fd = socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
	struct {
		struct icmp6_hdr header;
		uint8_t data[56];
	} sent = { .header = { .icmp6_type = ICMP6_ECHO_REQUEST } }, got;
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	inet_pton(AF_INET6, OWN6, &to.sin6_addr);
	memset(sent.data, 0x5a, sizeof(sent.data));
	sent.header.icmp6_id = htons(0x4711);
	assert_int_equal(sendto(fd, &sent, sizeof(sent), 0, (void *)&to, sizeof(to)), sizeof(sent));
	do {
		assert_int_equal(poll(&pollfd, 1, PATIENCE_MS), 1);
		memset(&got, 0, sizeof(got));
		assert_true(recv(fd, &got, sizeof(got), 0) > 0);
	} while (got.header.icmp6_type != ICMP6_ECHO_REPLY);
	close(fd);
	assert_int_equal(got.header.icmp6_id, sent.header.icmp6_id);
	assert_memory_equal(got.data, sent.data, sizeof(got.data));
}

static void
test_the_kernels_echo_is_answered(void **state)
{
	(void)state;
	assert_echo();
}

static void
test_an_address_is_announced_answered_and_taken_away(void **state)
{
	const union rdmapmd_gid gid = gid_of("192.0.2.9");
	uint8_t frame[256], request[42];
	uint32_t index;

	(void)state;
	frames_forget();
	assert_int_equal(rdmapmd_gid_add(context, 1, &gid, &index), 0);
	do {
		assert_true(frame_next(frame) > 0);
	} while (frame[13] != 6 || memcmp(frame + 28, gid.raw + 12, 4) != 0);
	assert_int_equal(frame[0], 0xff);
	assert_memory_equal(frame + 38, gid.raw + 12, 4);
	assert_answered("192.0.2.9");
	assert_int_equal(rdmapmd_gid_del(context, 1, index), 0);
	frames_forget();
	arp_make(request, 1, kernel_mac, KERNEL4, "192.0.2.9");
	frame_send(request, sizeof(request));
	assert_answered(OWN4);
}

/* ---- In a VLAN, of which this kernel need know nothing: the test is the neighbour ---- */

/* The next ARP frame of the driver's that is in the VLAN; the kernel takes the tag out, and tells of it. */
static void
vlan_arp_next(uint8_t frame[256])
{
	struct pollfd fd = { .fd = packets, .events = POLLIN };
	struct tpacket_auxdata aux;

	do {
		union {
			struct cmsghdr header;
			uint8_t room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		} control;
		struct iovec iov = { frame, 256 };
		struct msghdr message = { .msg_iov = &iov,
					  .msg_iovlen = 1,
					  .msg_control = &control,
					  .msg_controllen = sizeof(control) };

		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		assert_true(recvmsg(packets, &message, 0) >= 42);
		assert_non_null(CMSG_FIRSTHDR(&message));
		memcpy(&aux, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(aux));
	} while (!(aux.tp_status & TP_STATUS_VLAN_VALID) || (aux.tp_vlan_tci & 0xfff) != VLAN ||
		 frame[12] != 8 || frame[13] != 6 || memcmp(frame + 6, own_mac, 6) != 0);
}

static void
vlan_frame_send(const uint8_t *frame, size_t bytes)
{
	static const uint8_t tag[4] = { 0x81, 0, 0, VLAN };
	uint8_t tagged[256];

	memcpy(tagged, frame, 12);
	memcpy(tagged + 12, tag, 4);
	memcpy(tagged + 16, frame + 12, bytes - 12);
	frame_send(tagged, bytes + 4);
}

static uint32_t
vlan_address_add(const char *address)
{
	const union rdmapmd_gid gid = gid_of(address);
	uint32_t index;

	assert_int_equal(rdmapmd_gid_add_vlan(context, 1, &gid, VLAN, &index), 0);
	return index;
}

static void
test_an_address_in_a_vlan_is_announced_and_answered_there(void **state)
{
	uint8_t frame[256], request[42], other[42];
	uint32_t index;

	(void)state;
	frames_forget();
	index = vlan_address_add(VLAN_OWN4);
	vlan_arp_next(frame);
	assert_int_equal(frame[21], 1);
	assert_memory_equal(frame + 28, frame + 38, 4);
	/* Without the tag nobody is there: what comes next is the answer to another. */
	arp_make(other, 1, kernel_mac, KERNEL4, OWN4);
	arp_make(request, 1, kernel_mac, VLAN_PEER4, VLAN_OWN4);
	frame_send(request, sizeof(request));
	frame_send(other, sizeof(other));
	do {
		assert_true(frame_next(frame) > 0);
	} while (frame[13] != 6 || frame[21] != 2);
	assert_memory_equal(frame + 28, other + 38, 4);
	vlan_frame_send(request, sizeof(request));
	vlan_arp_next(frame);
	assert_int_equal(frame[21], 2);
	assert_memory_equal(frame + 28, request + 38, 4);
	assert_memory_equal(frame + 22, own_mac, 6);
	assert_int_equal(rdmapmd_gid_del(context, 1, index), 0);
}

/* An answer without the tag is another neighbour's. */
static void
test_a_neighbour_in_a_vlan_is_asked_there(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 5, 5 }, other[6] = { 2, 0, 0, 0, 6, 6 };
	struct rdmapmd_ah_attr ah = { .port_num = 1, .dgid = gid_of(VLAN_PEER4) };
	uint8_t frame[256], answer[42];

	(void)state;
	frames_forget();
	ah.sgid_index = (uint8_t)vlan_address_add(VLAN_OWN4);
	assert_int_equal(rdmapmd_resolve(context, &ah, 0), -EINPROGRESS);
	do {
		vlan_arp_next(frame);
	} while (memcmp(frame + 28, frame + 38, 4) == 0);
	arp_make(answer, 1, kernel_mac, VLAN_OWN4, VLAN_PEER4);
	assert_memory_equal(frame + 38, answer + 38, 4);
	arp_make(answer, 2, other, VLAN_PEER4, VLAN_OWN4);
	frame_send(answer, sizeof(answer));
	assert_answered(OWN4);
	assert_int_equal(rdmapmd_resolve(context, &ah, 0), -EINPROGRESS);
	arp_make(answer, 2, mac, VLAN_PEER4, VLAN_OWN4);
	vlan_frame_send(answer, sizeof(answer));
	assert_int_equal(rdmapmd_resolve(context, &ah, RDMAPMD_RESOLVE_WAIT), 0);
	assert_memory_equal(ah.dmac, mac, 6);
	assert_int_equal(rdmapmd_gid_del(context, 1, ah.sgid_index), 0);
}

/* ---- Forgeries ---- */

/* A good answer with another MAC for the kernel's address, and one thing wrong; or for an address that nobody has asked for. */
static void
forge(uint8_t frame[42], uint32_t number)
{
	static const uint8_t liar[6] = { 2, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb };
	static const struct {
		uint8_t at, value;
	} wrong[] = { { 15, 6 }, { 14, 1 }, { 17, 1 },	 { 18, 8 }, { 19, 16 }, { 21, 3 },
		      { 20, 2 }, { 22, 3 }, { 28, 224 }, { 28, 0 }, { 12, 9 } };
	const uint32_t kinds = sizeof(wrong) / sizeof(wrong[0]) + 1, kind = number % kinds;
	char unasked[32];

	arp_make(frame, 2, liar, KERNEL4, OWN4);
	if (kind < sizeof(wrong) / sizeof(wrong[0])) {
		frame[wrong[kind].at] = wrong[kind].value;
		return;
	}
	snprintf(unasked, sizeof(unasked), "192.0.2.%u", number / kinds % 100 + 100);
	arp_make(frame, 2, liar, unasked, OWN4);
}

/* Of ICMPv6, with what its sum takes of the addresses. */
static uint16_t
icmp6_sum(const uint8_t frame[86])
{
	uint32_t sum = 32 + 58, i;

	for (i = 22; i < 86; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

/* The same of IPv6: one that would change the entry, and one thing wrong. */
static void
forge6(uint8_t frame[86], uint32_t number)
{
	static const struct {
		uint8_t at, value;
		bool summed; /* it is in the sum, which is right */
	} wrong[] = {
		{ 21, 254, true },  /* hop limit */
		{ 21, 64, true },   /* hop limit */
		{ 19, 200, true },  /* length of IPv6 */
		{ 19, 20, true },   /* too short for what it says */
		{ 20, 17, true },   /* next header */
		{ 55, 1, true },    /* code */
		{ 62, 0xff, true }, /* target: a group */
		{ 79, 0, true },    /* length of the option */
		{ 79, 9, true },    /* which ends behind the frame */
		{ 80, 3, true },    /* a group's MAC */
		{ 57, 0x5a, false },
	};
	const uint32_t kind = number % (sizeof(wrong) / sizeof(wrong[0]));
	uint16_t sum;

	memset(frame, 0, 86);
	memcpy(frame, own_mac, 6);
	frame[6] = 2;
	frame[12] = 0x86;
	frame[13] = 0xdd;
	frame[14] = 0x60;
	frame[19] = 32;
	frame[20] = 58;
	frame[21] = 255;
	inet_pton(AF_INET6, KERNEL6, frame + 22);
	inet_pton(AF_INET6, OWN6, frame + 38);
	frame[54] = 136;
	frame[58] = 0x60;
	inet_pton(AF_INET6, KERNEL6, frame + 62);
	frame[78] = 2;
	frame[79] = 1;
	frame[80] = 2;
	frame[85] = 0xbb;
	if (wrong[kind].summed)
		frame[wrong[kind].at] = wrong[kind].value;
	sum = icmp6_sum(frame);
	frame[56] = (uint8_t)(sum >> 8);
	frame[57] = (uint8_t)sum;
	if (!wrong[kind].summed)
		frame[wrong[kind].at] ^= wrong[kind].value;
}

static void
test_forged_frames_change_no_entry(void **state)
{
	uint32_t arps = 0, i;
	uint8_t frame[86], mac[6];

	(void)state;
	assert_resolved(KERNEL4, kernel_mac);
	assert_resolved(KERNEL6, kernel_mac);
	for (i = 0; i < FORGED; i++) {
		if (i % 4 == 3)
			forge6(frame, i / 4);
		else
			forge(frame, arps++);
		frame_send(frame, i % 4 == 3 ? 86 : 42);
		/* Not by the address that is forged: its request would set right what a forgery has changed. */
		if (i % AT_ONCE == AT_ONCE - 1)
			assert_answered_to(OTHER4, OWN4);
	}
	frames_forget();
	assert_resolved(KERNEL4, kernel_mac);
	assert_resolved(KERNEL6, kernel_mac);
	/* Nobody was asked, nobody has come in. */
	assert_int_equal(requests_for(KERNEL4), 0);
	assert_int_equal(resolve("192.0.2.111", 0, mac), -EINPROGRESS);
}

/* ---- Beside an application ---- */

static void
test_an_application_sees_every_frame(void **state)
{
	const struct e2e_conf conf = { 0 };
	struct rte_mbuf *mbuf;
	unsigned int seen = 0, i;
	uint8_t request[42];

	(void)state;
	assert_int_equal(e2e_port_setup(0, &conf), 0);
	assert_true(e2e_wait_link(0, true));
	arp_make(request, 1, kernel_mac, KERNEL4, OWN4);
	for (i = 0; i < 100; i++)
		assert_answered(OWN4);
	while (seen < 100) {
		assert_int_equal(e2e_receive(0, &mbuf, 1), 1);
		seen += memcmp(rte_pktmbuf_mtod(mbuf, void *), request, sizeof(request)) == 0;
		rte_pktmbuf_free(mbuf);
	}
	assert_echo();
	assert_int_equal(e2e_port_stop(0), 0);
	/* And without it. */
	assert_answered(OWN4);
	assert_echo();
}

/* A promiscuous port sees it; nobody has asked the driver. */
static void
test_what_is_for_another_mac_is_not_answered(void **state)
{
	static const uint8_t other[6] = { 2, 0, 0, 0, 5, 5 };
	const struct e2e_conf conf = { .promiscuous = true };
	uint8_t request[42], frame[256];
	struct rte_mbuf *mbuf;

	(void)state;
	assert_int_equal(e2e_port_setup(0, &conf), 0);
	assert_true(e2e_wait_link(0, true));
	frames_forget();
	arp_make(request, 1, other, NOBODY4, OWN4);
	request[0] ^= 4;
	frame_send(request, sizeof(request));
	do {
		assert_int_equal(e2e_receive(0, &mbuf, 1), 1);
		memcpy(frame, rte_pktmbuf_mtod(mbuf, void *), sizeof(request));
		rte_pktmbuf_free(mbuf);
	} while (memcmp(frame, request, sizeof(request)) != 0);
	arp_make(request, 1, kernel_mac, KERNEL4, OWN4);
	frame_send(request, sizeof(request));
	do {
		assert_true(frame_next(frame) > 0);
		assert_memory_not_equal(frame, other, 6);
	} while (frame[13] != 6 || frame[21] != 2);
	assert_int_equal(e2e_port_stop(0), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_the_kernels_addresses),
	cmocka_unit_test(test_own_addresses_need_nobody),
	cmocka_unit_test(test_a_gateway_for_what_is_not_on_the_link),
	cmocka_unit_test(test_groups_without_asking),
	cmocka_unit_test(test_an_event_tells_who_does_not_wait),
	cmocka_unit_test(test_nobody_is_there),
	cmocka_unit_test(test_the_kernel_finds_ours),
	cmocka_unit_test(test_the_kernel_is_answered_as_arping_is),
	cmocka_unit_test(test_the_kernels_echo_is_answered),
	cmocka_unit_test(test_an_address_is_announced_answered_and_taken_away),
	cmocka_unit_test(test_an_address_in_a_vlan_is_announced_and_answered_there),
	cmocka_unit_test(test_a_neighbour_in_a_vlan_is_asked_there),
	cmocka_unit_test(test_forged_frames_change_no_entry),
	cmocka_unit_test(test_an_application_sees_every_frame),
	cmocka_unit_test(test_what_is_for_another_mac_is_not_answered),
};

static void
kernel_prepare(void)
{
	struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	unsigned int m[6] = { 0 }, i;
	const int yes = 1;
	FILE *f = popen("ip -o link show vb | sed 's/.*link.ether //; s/ .*//'", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]),
			 6);
	pclose(f);
	for (i = 0; i < 6; i++)
		kernel_mac[i] = (uint8_t)m[i];
	run("echo 0 >/proc/sys/net/ipv6/conf/vb/disable_ipv6");
	run("ip addr add " KERNEL4 "/24 dev vb && ip addr add " OTHER4 "/24 dev vb && "
	    "ip addr add " GATEWAY4 "/24 dev vb && ip -6 addr add " KERNEL6 "/64 dev vb nodad && "
	    "ip -6 addr add " GATEWAY6 "/64 dev vb nodad");
	packets = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	all.sll_ifindex = (int)if_nametoindex("vb");
	assert_int_equal(setsockopt(packets, SOL_PACKET, PACKET_AUXDATA, &yes, sizeof(yes)), 0);
	assert_int_equal(bind(packets, (struct sockaddr *)&all, sizeof(all)), 0);
}

static int
group_setup(void **state)
{
	struct rdmapmd_port_attr port;

	(void)state;
	kernel_prepare();
	assert_int_equal(rdmapmd_device_open_by_name(e2e_port_name(0), &context), 0);
	assert_int_equal(rdmapmd_port_query(context, 1, &port), 0);
	memcpy(own_mac, port.mac, sizeof(own_mac));
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	close(packets);
	return rdmapmd_context_close(context);
}

int
main(void)
{
	/* It is cut at the bar. */
	static char vdev[] = "net_rnic0,wire=port:net_af_packet0,ip=" OWN4 "/24+" OWN6
			     "/64,gw=" GATEWAY4 "+" GATEWAY6 "|net_af_packet0,iface=va";
	const char *const vdevs[] = { vdev, NULL };
	int rc;

	if (e2e_init("wire-neigh", vdevs) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("wire-neigh", tests, group_setup, group_teardown);
	e2e_fini();
	return rc;
}
