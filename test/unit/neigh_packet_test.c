/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Neighbour discovery as bytes, alone: frames as others build them (those of this file are from a program of a few lines in
 * another language), each cut anywhere, and each forgery.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "neigh/packet.h"

#define MAC1 "020000000001"
#define MAC2 "020000000002"

static const char arp_request[] =
	"ffffffffffff" MAC1 "08060001080006040001" MAC1 "c0000201000000000000c0000202"
	"000000000000000000000000000000000000";
static const char arp_reply[] = MAC1 MAC2 "08060001080006040002" MAC2 "c0000202" MAC1 "c0000201"
					  "000000000000000000000000000000000000";
static const char solicitation[] =
	"3333ff12345602000000000186dd6000000000203aff20010db8000000000000"
	"000000000001ff0200000000000000000001ff1234568700b35a000000002001"
	"0db80000000000000000001234560101020000000001";
static const char probe[] = "3333ff12345602000000000186dd6000000000183aff00000000000000000000"
			    "000000000000ff0200000000000000000001ff1234568700e41e000000002001"
			    "0db8000000000000000000123456";
static const char advertisement[] =
	"02000000000102000000000286dd6000000000203aff20010db8000000000000"
	"00000012345620010db8000000000000000000000001880021a5600000002001"
	"0db80000000000000000001234560201020000000002";
static const char announcement[] =
	"33330000000102000000000286dd6000000000203aff20010db8000000000000"
	"000000123456ff0200000000000000000000000000018800905b200000002001"
	"0db80000000000000000001234560201020000000002";

static const uint8_t mac1[6] = { 2, 0, 0, 0, 0, 1 }, mac2[6] = { 2, 0, 0, 0, 0, 2 };
static const uint8_t none[16];
static const uint8_t four1[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
static const uint8_t four2[16] = { [10] = 0xff, 0xff, 192, 0, 2, 2 };
static const uint8_t six1[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };
static const uint8_t six2[16] = { 0x20, 1, 0xd, 0xb8, [13] = 0x12, 0x34, 0x56 };

static uint32_t
bytes_of(const char *hex, uint8_t *bytes)
{
	uint32_t count = 0;
	unsigned int byte;
	char two[3] = { 0 };

	for (; *hex != '\0'; hex += 2) {
		memcpy(two, hex, 2);
		byte = (unsigned int)strtoul(two, NULL, 16);
		bytes[count++] = (uint8_t)byte;
	}
	return count;
}

/* From memory of just that size: what reads beyond is found by valgrind and the sanitizer. */
static enum rnic_neigh_reason
parse(const uint8_t *bytes, uint32_t count, struct rnic_neigh_message *message)
{
	uint8_t *copy = malloc(count > 0 ? count : 1);
	enum rnic_neigh_reason reason;

	assert_non_null(copy);
	memcpy(copy, bytes, count);
	reason = rnic_neigh_parse(copy, count, message);
	free(copy);
	return reason;
}

static struct rnic_neigh_message
good(const char *hex)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];

	assert_int_equal(parse(bytes, bytes_of(hex, bytes), &message), RNIC_NEIGH_GOOD);
	return message;
}

static void
assert_frame(const uint8_t *frame, uint32_t count, const char *hex)
{
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];

	assert_int_equal(count, bytes_of(hex, bytes));
	assert_memory_equal(frame, bytes, count);
}

/* ---- What good ones say ---- */

static void
test_an_arp_request_asks(void **state)
{
	const struct rnic_neigh_message message = good(arp_request);

	(void)state;
	assert_false(message.answers);
	assert_true(message.has_gid && message.has_mac);
	assert_memory_equal(message.gid, four1, 16);
	assert_memory_equal(message.mac, mac1, 6);
	assert_memory_equal(message.target, four2, 16);
}

static void
test_an_arp_reply_answers(void **state)
{
	const struct rnic_neigh_message message = good(arp_reply);

	(void)state;
	assert_true(message.answers && message.solicited && message.override);
	assert_memory_equal(message.gid, four2, 16);
	assert_memory_equal(message.mac, mac2, 6);
}

static void
test_an_arp_probe_has_no_address(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	const uint32_t count = bytes_of(arp_request, bytes);

	(void)state;
	memset(bytes + 28, 0, 4);
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_GOOD);
	assert_false(message.has_gid);
	assert_memory_equal(message.target, four2, 16);
	/* Nobody answers so. */
	bytes[21] = 2;
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_ADDRESS);
}

static void
test_a_solicitation_asks(void **state)
{
	const struct rnic_neigh_message message = good(solicitation);

	(void)state;
	assert_false(message.answers);
	assert_true(message.has_gid && message.has_mac);
	assert_memory_equal(message.gid, six1, 16);
	assert_memory_equal(message.mac, mac1, 6);
	assert_memory_equal(message.target, six2, 16);
}

static void
test_a_solicitation_of_who_has_no_address(void **state)
{
	const struct rnic_neigh_message message = good(probe);

	(void)state;
	assert_false(message.answers || message.has_gid || message.has_mac);
	assert_memory_equal(message.target, six2, 16);
}

static void
test_an_advertisement_answers(void **state)
{
	struct rnic_neigh_message message = good(advertisement);

	(void)state;
	assert_true(message.answers && message.solicited && message.override && message.has_mac);
	assert_memory_equal(message.gid, six2, 16);
	assert_memory_equal(message.mac, mac2, 6);
	message = good(announcement);
	assert_true(message.answers && !message.solicited && message.override);
}

static void
test_padding_is_no_part_of_it(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	const uint32_t count = bytes_of(probe, bytes);

	(void)state;
	memset(bytes + count, 0xee, 9);
	assert_int_equal(parse(bytes, count + 9, &message), RNIC_NEIGH_GOOD);
	assert_false(message.has_mac);
}

/* ---- Frames of our own ---- */

static void
test_frames_are_those_of_others(void **state)
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];

	(void)state;
	assert_frame(frame, rnic_neigh_build_request(frame, mac1, four1, four2, NULL), arp_request);
	assert_frame(frame, rnic_neigh_build_answer(frame, mac2, four2, four1, mac1), arp_reply);
	assert_frame(frame, rnic_neigh_build_request(frame, mac1, six1, six2, NULL), solicitation);
	assert_frame(frame, rnic_neigh_build_request(frame, mac1, none, six2, NULL), probe);
	assert_frame(frame, rnic_neigh_build_answer(frame, mac2, six2, six1, mac1), advertisement);
	assert_frame(frame, rnic_neigh_build_answer(frame, mac2, six2, none, mac1), announcement);
	assert_frame(frame, rnic_neigh_build_announcement(frame, mac2, six2), announcement);
}

static void
test_an_arp_announcement_asks_for_its_own_address(void **state)
{
	struct rnic_neigh_message message;
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];
	const uint32_t count = rnic_neigh_build_announcement(frame, mac1, four1);

	(void)state;
	assert_int_equal(parse(frame, count, &message), RNIC_NEIGH_GOOD);
	assert_false(message.answers);
	assert_memory_equal(message.gid, four1, 16);
	assert_memory_equal(message.target, four1, 16);
}

static void
test_who_is_known_is_asked_alone(void **state)
{
	struct rnic_neigh_message message;
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];
	uint32_t count = rnic_neigh_build_request(frame, mac1, six1, six2, mac2);

	(void)state;
	assert_memory_equal(frame, mac2, 6);
	assert_memory_equal(frame + 14 + 24, six2, 16);
	assert_int_equal(parse(frame, count, &message), RNIC_NEIGH_GOOD);
	count = rnic_neigh_build_request(frame, mac1, four1, four2, mac2);
	assert_memory_equal(frame, mac2, 6);
	assert_int_equal(parse(frame, count, &message), RNIC_NEIGH_GOOD);
}

static void
test_the_group_of_an_address(void **state)
{
	static const uint8_t expected[6] = { 0x33, 0x33, 0xff, 0x12, 0x34, 0x56 };
	uint8_t mac[6];

	(void)state;
	rnic_neigh_solicited_mac(six2, mac);
	assert_memory_equal(mac, expected, 6);
}

/* 16 bytes of what an echo carries, behind its number. */
static uint32_t
echo_request(uint8_t *bytes)
{
	uint32_t i;

	bytes_of(advertisement, bytes);
	bytes[19] = 8 + 16;
	bytes[21] = 7;
	bytes[54] = 128;
	for (i = 58; i < 78; i++)
		bytes[i] = (uint8_t)i;
	return 78;
}

static void mend_checksum(uint8_t *bytes);

static void
test_an_echo_is_answered(void **state)
{
	uint8_t bytes[RNIC_NEIGH_READ_BYTES], reply[RNIC_NEIGH_READ_BYTES], own[16];
	const uint32_t count = echo_request(bytes);

	(void)state;
	mend_checksum(bytes);
	assert_int_equal(rnic_neigh_build_echo(reply, mac1, bytes, count, own), count);
	assert_memory_equal(own, six1, 16);
	assert_memory_equal(reply, mac2, 6);
	assert_memory_equal(reply + 6, mac1, 6);
	assert_memory_equal(reply + 22, six1, 16);
	assert_memory_equal(reply + 38, six2, 16);
	assert_int_equal(reply[54], 129);
	assert_memory_equal(reply + 58, bytes + 58, 20);
	/* Its checksum is the one that anybody would make. */
	memcpy(bytes, reply, count);
	mend_checksum(bytes);
	assert_memory_equal(bytes, reply, count);
}

static void
test_what_is_no_echo_has_no_answer(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		bool mended;
	} wrong[] = {
		{ 13, 0, false },   { 14, 0x40, false }, { 20, 17, false },  { 54, 129, true },
		{ 55, 1, true },    { 56, 0, false },	 { 19, 25, false },  { 19, 7, true },
		{ 22, 0xff, true }, { 38, 0xff, true },	 { 6, 0x33, false },
	};
	uint8_t bytes[RNIC_NEIGH_READ_BYTES], reply[RNIC_NEIGH_READ_BYTES], own[16];
	uint32_t i, count;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		count = echo_request(bytes);
		mend_checksum(bytes);
		bytes[wrong[i].at] = wrong[i].value;
		if (wrong[i].mended)
			mend_checksum(bytes);
		assert_int_equal(rnic_neigh_build_echo(reply, mac1, bytes, count, own), 0);
	}
	count = echo_request(bytes);
	mend_checksum(bytes);
	for (i = 0; i < count; i++)
		assert_int_equal(rnic_neigh_build_echo(reply, mac1, bytes, i, own), 0);
}

/* ---- Forgeries ---- */

/* As the sender would make it, so that nothing else is wrong. */
static void
mend_checksum(uint8_t *bytes)
{
	const uint32_t length = (uint32_t)bytes[18] << 8 | bytes[19];
	uint32_t sum = length + 58, i;

	bytes[56] = bytes[57] = 0;
	for (i = 22; i < 54 + length; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	bytes[56] = (uint8_t)(~sum >> 8);
	bytes[57] = (uint8_t)~sum;
}

/* One field of a good frame, and why it is dropped then. */
static const struct forgery {
	const char *frame;
	uint32_t at;
	uint8_t value;
	bool mended; /* the checksum is right again */
	enum rnic_neigh_reason reason;
} forgeries[] = {
	{ arp_request, 12, 0x09, false, RNIC_NEIGH_OTHER },
	{ arp_request, 15, 6, false, RNIC_NEIGH_HARDWARE },
	{ arp_request, 14, 1, false, RNIC_NEIGH_HARDWARE },
	{ arp_request, 17, 6, false, RNIC_NEIGH_PROTOCOL },
	{ arp_request, 18, 8, false, RNIC_NEIGH_SIZES },
	{ arp_request, 19, 16, false, RNIC_NEIGH_SIZES },
	{ arp_request, 21, 0, false, RNIC_NEIGH_OPERATION },
	{ arp_request, 21, 3, false, RNIC_NEIGH_OPERATION },
	{ arp_request, 20, 1, false, RNIC_NEIGH_OPERATION },
	{ arp_request, 6, 3, false, RNIC_NEIGH_ADDRESS }, /* sent by a group */
	{ solicitation, 6, 0x33, false, RNIC_NEIGH_ADDRESS },
	{ advertisement, 6, 0xff, false, RNIC_NEIGH_ADDRESS },
	{ arp_reply, 22, 3, false, RNIC_NEIGH_ADDRESS },   /* a group's MAC */
	{ arp_reply, 28, 224, false, RNIC_NEIGH_ADDRESS }, /* a group's address */
	{ arp_reply, 28, 127, false, RNIC_NEIGH_ADDRESS },
	{ arp_reply, 28, 0, false, RNIC_NEIGH_ADDRESS },
	{ arp_request, 28, 255, false, RNIC_NEIGH_ADDRESS },
	{ solicitation, 14, 0x40, false, RNIC_NEIGH_OTHER }, /* IP version 4 */
	{ solicitation, 20, 17, false, RNIC_NEIGH_OTHER },
	{ solicitation, 54, 128, true, RNIC_NEIGH_OTHER }, /* an echo request */
	{ solicitation, 21, 254, true, RNIC_NEIGH_HOP_LIMIT },
	{ solicitation, 21, 0, true, RNIC_NEIGH_HOP_LIMIT },
	{ advertisement, 21, 64, true, RNIC_NEIGH_HOP_LIMIT },
	{ solicitation, 56, 0, false, RNIC_NEIGH_CHECKSUM },
	{ advertisement, 57, 0xa4, false, RNIC_NEIGH_CHECKSUM },
	{ advertisement, 85, 3, false, RNIC_NEIGH_CHECKSUM },
	{ solicitation, 55, 1, true, RNIC_NEIGH_OPERATION },
	{ solicitation, 62, 0xff, true, RNIC_NEIGH_ADDRESS }, /* asks for a group */
	{ advertisement, 62, 0xff, true, RNIC_NEIGH_ADDRESS },
	{ solicitation, 79, 0, true, RNIC_NEIGH_OPTION },
	{ solicitation, 79, 2, true, RNIC_NEIGH_OPTION },      /* beyond the packet */
	{ solicitation, 80, 1, true, RNIC_NEIGH_ADDRESS },     /* a group's MAC */
	{ solicitation, 22, 0xff, true, RNIC_NEIGH_ADDRESS },  /* from a group */
	{ advertisement, 38, 0xff, true, RNIC_NEIGH_ADDRESS }, /* solicited by all */
	{ advertisement, 19, 0x21, false, RNIC_NEIGH_LENGTH },
	{ advertisement, 18, 1, false, RNIC_NEIGH_LENGTH },
};

static void
test_forged_frames_are_dropped(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	uint32_t i, count;

	(void)state;
	for (i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		count = bytes_of(forgeries[i].frame, bytes);
		bytes[forgeries[i].at] = forgeries[i].value;
		if (forgeries[i].mended)
			mend_checksum(bytes);
		if (parse(bytes, count, &message) != forgeries[i].reason)
			fail_msg("forgery %u: %s, not %s", i,
				 rnic_neigh_reason_text(parse(bytes, count, &message)),
				 rnic_neigh_reason_text(forgeries[i].reason));
	}
}

/* The table has IPv4's addresses in the form that IPv6 has for them. */
static void
test_ipv6_says_nothing_of_ipv4(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	uint32_t count = bytes_of(advertisement, bytes);

	(void)state;
	memcpy(bytes + 62, four2, 16);
	mend_checksum(bytes);
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_ADDRESS);
	count = bytes_of(solicitation, bytes);
	memcpy(bytes + 22, four2, 16);
	mend_checksum(bytes);
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_ADDRESS);
	count = bytes_of(advertisement, bytes);
	memset(bytes + 62, 0, 16);
	mend_checksum(bytes);
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_ADDRESS);
}

static void
test_who_has_no_address_says_no_mac_and_asks_the_group(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	uint32_t count = bytes_of(solicitation, bytes);

	(void)state;
	memset(bytes + 22, 0, 16);
	mend_checksum(bytes);
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_ADDRESS);
	count = bytes_of(probe, bytes);
	bytes[53] ^= 1;
	mend_checksum(bytes);
	assert_int_equal(parse(bytes, count, &message), RNIC_NEIGH_ADDRESS);
}

/* All ends of all frames, each with all lengths that IPv6 may say: nothing is taken that is not there. */
static void
test_every_cut(void **state)
{
	static const char *const frames[] = { arp_request, arp_reply,	  solicitation,
					      probe,	   advertisement, announcement };
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	enum rnic_neigh_reason reason;
	uint32_t i, cut, count, least, length;

	(void)state;
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		count = bytes_of(frames[i], bytes);
		least = i < 2 ? 14 + 28 : count;
		for (cut = 0; cut <= count; cut++) {
			reason = parse(bytes, cut, &message);
			assert_int_equal(reason == RNIC_NEIGH_GOOD, cut >= least);
			if (cut < 14 || (i < 2 && cut < least) || (i >= 2 && cut < 55))
				assert_int_equal(reason, RNIC_NEIGH_SHORT);
		}
		for (length = 0; i >= 2 && length <= 0x120; length++) {
			bytes_of(frames[i], bytes);
			bytes[18] = (uint8_t)(length >> 8);
			bytes[19] = (uint8_t)length;
			if (length <= count - 54)
				mend_checksum(bytes);
			/* A frame that ends with the packet. */
			reason = parse(bytes, length < count - 54 ? 54 + length : count, &message);
			if (length > count - 54)
				assert_int_equal(reason, RNIC_NEIGH_LENGTH);
			else if (length < 24)
				assert_int_equal(reason, RNIC_NEIGH_SHORT);
			else if (length % 8 != 0)
				assert_int_equal(reason, RNIC_NEIGH_OPTION);
			else
				assert_int_equal(reason, RNIC_NEIGH_GOOD);
		}
	}
}

/* Options of all kinds and lengths, one after the other. */
static void
test_every_option(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	uint32_t kind, units, count, i;

	(void)state;
	for (kind = 0; kind < 256; kind++)
		for (units = 0; units < 8; units++) {
			count = bytes_of(solicitation, bytes);
			/* Behind the first one, 32 bytes. */
			bytes[19] = 24 + 8 + 32;
			memset(bytes + count, 2, 32);
			for (i = 0; i < 32; i += 8)
				bytes[count + i + 1] = 1;
			bytes[count] = (uint8_t)kind;
			bytes[count + 1] = (uint8_t)units;
			mend_checksum(bytes);
			assert_int_equal(parse(bytes, count + 32, &message),
					 units >= 1 && units <= 4 ? RNIC_NEIGH_GOOD
								  : RNIC_NEIGH_OPTION);
			/* The first one counts. */
			if (units >= 1 && units <= 4)
				assert_memory_equal(message.mac, mac1, 6);
		}
}

/* Of Ethernet a MAC fills eight bytes; one that says more is of another kind of link. */
static void
test_a_mac_of_another_size(void **state)
{
	struct rnic_neigh_message message;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	const uint32_t count = bytes_of(solicitation, bytes);

	(void)state;
	memset(bytes + count, 0, 8);
	bytes[19] = 24 + 16;
	bytes[79] = 2;
	mend_checksum(bytes);
	assert_int_equal(parse(bytes, count + 8, &message), RNIC_NEIGH_OPTION);
}

/* With a tag a frame says the same, of that VLAN; one for its priority alone is of none. */
static void
test_frames_in_a_vlan(void **state)
{
	static const char *const frames[] = { arp_request, solicitation, advertisement };
	struct rnic_neigh_message plain, tagged;
	uint8_t bytes[RNIC_NEIGH_READ_BYTES];
	uint32_t count, i;

	(void)state;
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		plain = good(frames[i]);
		assert_int_equal(plain.vlan, 0);
		count = bytes_of(frames[i], bytes);
		assert_int_equal(rnic_neigh_tag(bytes, count, 0), count);
		assert_int_equal(rnic_neigh_tag(bytes, count, 0xabc), count + 4);
		assert_memory_equal(bytes + 12, "\x81\x00\x0a\xbc", 4);
		assert_int_equal(parse(bytes, count + 4, &tagged), RNIC_NEIGH_GOOD);
		assert_int_equal(tagged.vlan, 0xabc);
		tagged.vlan = 0;
		assert_memory_equal(&tagged, &plain, sizeof(plain));
		/* Priority 7, drop eligible. */
		bytes[14] = 0xf0;
		bytes[15] = 0;
		assert_int_equal(parse(bytes, count + 4, &tagged), RNIC_NEIGH_GOOD);
		assert_int_equal(tagged.vlan, 0);
	}
	/* Not two of them. */
	count = rnic_neigh_tag(bytes, count + 4, 5);
	assert_int_equal(parse(bytes, count, &tagged), RNIC_NEIGH_OTHER);
	assert_int_equal(parse(bytes, 16, &tagged), RNIC_NEIGH_OTHER);
}

static void
test_an_echo_in_a_vlan(void **state)
{
	uint8_t bytes[RNIC_NEIGH_READ_BYTES], plain[RNIC_NEIGH_READ_BYTES],
		reply[RNIC_NEIGH_READ_BYTES], own[16];
	uint32_t count = echo_request(bytes), i;

	(void)state;
	mend_checksum(bytes);
	assert_int_equal(rnic_neigh_build_echo(plain, mac1, bytes, count, own), count);
	rnic_neigh_tag(bytes, count, 5);
	/* The answer to the whole frame, without its tag. */
	assert_int_equal(rnic_neigh_build_echo(reply, mac1, bytes, count + 4, own), count);
	assert_memory_equal(reply, plain, count);
	assert_memory_equal(own, six1, 16);
	for (i = 0; i < count + 4; i++)
		assert_int_equal(rnic_neigh_build_echo(reply, mac1, bytes, i, own), 0);
}

static void
test_every_reason_has_words(void **state)
{
	unsigned int reason;

	(void)state;
	for (reason = 0; reason < RNIC_NEIGH_REASONS; reason++)
		assert_non_null(rnic_neigh_reason_text((enum rnic_neigh_reason)reason));
	assert_string_equal(rnic_neigh_reason_text(RNIC_NEIGH_REASONS), "unknown");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_an_arp_request_asks),
	cmocka_unit_test(test_an_arp_reply_answers),
	cmocka_unit_test(test_an_arp_probe_has_no_address),
	cmocka_unit_test(test_a_solicitation_asks),
	cmocka_unit_test(test_a_solicitation_of_who_has_no_address),
	cmocka_unit_test(test_an_advertisement_answers),
	cmocka_unit_test(test_padding_is_no_part_of_it),
	cmocka_unit_test(test_frames_are_those_of_others),
	cmocka_unit_test(test_an_arp_announcement_asks_for_its_own_address),
	cmocka_unit_test(test_who_is_known_is_asked_alone),
	cmocka_unit_test(test_the_group_of_an_address),
	cmocka_unit_test(test_an_echo_is_answered),
	cmocka_unit_test(test_what_is_no_echo_has_no_answer),
	cmocka_unit_test(test_forged_frames_are_dropped),
	cmocka_unit_test(test_ipv6_says_nothing_of_ipv4),
	cmocka_unit_test(test_who_has_no_address_says_no_mac_and_asks_the_group),
	cmocka_unit_test(test_every_cut),
	cmocka_unit_test(test_every_option),
	cmocka_unit_test(test_a_mac_of_another_size),
	cmocka_unit_test(test_frames_in_a_vlan),
	cmocka_unit_test(test_an_echo_in_a_vlan),
	cmocka_unit_test(test_every_reason_has_words),
};

PLAIN_MAIN("neigh-packet", tests)
