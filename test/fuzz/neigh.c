/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fuzz target: frames that claim to be of neighbours, and the table that hears of them while it is asked.
 *
 *   u8   what comes next: 0 .. 3 a frame: bit 0, the length of IPv6 is made that of the frame; bit 1, the checksum is made right
 *           u8 bytes, the frame
 *        4 a look-up: u8 the address; bit 6, in a VLAN. 5 time: u8, in quarters of a second. 6 no way. 7 a frame of our own: u8 of which kind
 *   ... to the end
 */

#include <errno.h>
#include <stdbool.h>

#include "fuzz.h"

#include "neigh/packet.h"
#include "neigh/table.h"

#define LENGTH	 1
#define CHECKSUM 2
#define VLAN	 5

static struct rnic_neigh_table *table;
static uint64_t now_us;
static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 }, to_mac[6] = { 2, 0, 0, 0, 0, 2 };

/* A few, so that frames meet entries. */
static void
gid_of(uint8_t value, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if ((value & 1) != 0) {
		gid[10] = gid[11] = 0xff;
		gid[12] = 10;
	} else {
		gid[0] = 0xfe;
		gid[1] = 0x80;
	}
	gid[15] = value >> 1;
}

/* What a search would hardly find. */
static void
mend(uint8_t *bytes, uint32_t count, uint8_t flags)
{
	uint32_t sum, i, length;

	if (count < 58)
		return;
	if ((flags & LENGTH) != 0) {
		bytes[18] = (uint8_t)((count - 54) >> 8);
		bytes[19] = (uint8_t)(count - 54);
	}
	length = (uint32_t)bytes[18] << 8 | bytes[19];
	if ((flags & CHECKSUM) == 0 || length > count - 54)
		return;
	bytes[56] = bytes[57] = 0;
	sum = length + 58;
	for (i = 22; i < 54 + length; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	bytes[56] = (uint8_t)(~sum >> 8);
	bytes[57] = (uint8_t)~sum;
}

static void
message_check(const struct rnic_neigh_message *message)
{
	static const uint8_t no_gid[16];

	must(message->has_gid || !message->answers);
	must(!message->has_gid || memcmp(message->gid, no_gid, 16) != 0);
	must(!message->has_mac || (message->mac[0] & 1) == 0);
	must(message->gid[0] != 0xff);
}

/* What is answered is an answer, and no longer. */
static void
echo_check(const uint8_t *bytes, uint32_t count)
{
	uint8_t reply[RNIC_NEIGH_READ_BYTES], own[16], again[RNIC_NEIGH_READ_BYTES];
	const uint32_t length = rnic_neigh_build_echo(reply, mac, bytes, count, own);

	must(length + (rnic_neigh_vlan(bytes, count) != 0 ? 4 : 0) <= count);
	must(length == 0 || (memcmp(reply, bytes + 6, 6) == 0 && reply[54] == 129));
	must(length == 0 || rnic_neigh_build_echo(again, mac, reply, length, own) == 0);
}

static void
frame_hear(struct fuzz_input *input, uint8_t flags)
{
	const uint32_t before = rnic_neigh_table_count(table), count = fuzz_u8(input);
	/* Memory of just that size, so that the sanitizer sees what goes beyond. */
	uint8_t *bytes = malloc(count > 0 ? count : 1);
	struct rnic_neigh_message message;
	enum rnic_neigh_reason reason;
	unsigned int news;

	must(bytes != NULL);
	fuzz_bytes(input, bytes, count);
	mend(bytes, count, flags);
	reason = rnic_neigh_parse(bytes, count, &message);
	echo_check(bytes, count);
	free(bytes);
	must(rnic_neigh_reason_text(reason) != NULL);
	if (reason != RNIC_NEIGH_GOOD)
		return;
	message_check(&message);
	news = rnic_neigh_table_hear(table, &message, now_us);
	/* Nobody comes in by what others say. */
	must(rnic_neigh_table_count(table) == before);
	must(news == 0 || message.has_mac);
}

static void
ask_check(const struct rnic_neigh_ask *ask)
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES];
	struct rnic_neigh_message message;
	uint32_t count = rnic_neigh_build_request(frame, mac, ask->own, ask->target,
						  ask->alone ? ask->mac : NULL);

	count = rnic_neigh_tag(frame, count, ask->vlan);
	must(count <= sizeof(frame));
	must(rnic_neigh_parse(frame, count, &message) == RNIC_NEIGH_GOOD);
	must(!message.answers && memcmp(message.target, ask->target, 16) == 0);
	must(message.vlan == ask->vlan);
}

static void
look_up(uint8_t value)
{
	struct rnic_neigh_ask ask;
	uint8_t gid[16], own[16], found[6];
	bool asks;
	int rc;

	gid_of(value & 0xbf, gid);
	gid_of(value & 1, own);
	own[15] = 0x77;
	rc = rnic_neigh_table_find(table, gid, (value & 0x40) != 0 ? VLAN : 0, own, now_us,
				   (value & 0x80) != 0, found, &ask, &asks);
	must(rc == 0 || rc == -EINPROGRESS || rc == -EHOSTUNREACH);
	must(rc != 0 || (found[0] & 1) == 0);
	if (asks)
		ask_check(&ask);
	must(!asks || rnic_neigh_table_busy(table));
}

static void
time_pass(uint8_t value)
{
	struct rnic_neigh_ask ask;
	unsigned int news, count = 0;

	now_us += value * UINT64_C(250000);
	while (rnic_neigh_table_due(table, now_us, &ask, &news)) {
		ask_check(&ask);
		must(++count <= RNIC_NEIGH_ENTRIES);
	}
}

static void
own_frame(uint8_t value)
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES], own[16], other[16];
	struct rnic_neigh_message message;
	uint32_t count;

	gid_of(value & 1, own);
	own[15] = 0x77;
	gid_of(value, other);
	if ((value & 1) == 0 && (value & 0x80) != 0)
		memset(other, 0, sizeof(other));
	count = (value & 0x40) != 0 ? rnic_neigh_build_announcement(frame, mac, own)
				    : rnic_neigh_build_answer(frame, mac, own, other, to_mac);
	must(rnic_neigh_parse(frame, count, &message) == RNIC_NEIGH_GOOD);
	must(message.has_gid && memcmp(message.gid, own, 16) == 0);
	must(message.has_mac && memcmp(message.mac, mac, 6) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t what;

	table = rnic_neigh_table_new();
	must(table != NULL);
	now_us = 0;
	while (input.left > 0) {
		what = fuzz_u8(&input) & 7;
		switch (what) {
		case 4: look_up(fuzz_u8(&input)); break;
		case 5: time_pass(fuzz_u8(&input)); break;
		case 6: rnic_neigh_table_fail(table, now_us); break;
		case 7: own_frame(fuzz_u8(&input)); break;
		default: frame_hear(&input, what);
		}
	}
	rnic_neigh_table_free(table);
	return 0;
}

void
fuzz_begin(void)
{
}

/* ---- Seeds: look up, hear an answer, let time pass ---- */

static void
seed_frame(struct fuzz_seed *seed, const uint8_t *frame, uint32_t count)
{
	PUT(seed, 3, (uint8_t)count);
	fuzz_put(seed, frame, count);
}

static void
seed_write(uint8_t value, bool probe)
{
	uint8_t frame[RNIC_NEIGH_FRAME_BYTES], gid[16], own[16] = { 0 };
	struct fuzz_seed seed = { .used = 0 };

	gid_of(value, gid);
	if (!probe)
		gid_of(value ^ 2, own);
	PUT(&seed, 4, value);
	seed_frame(&seed, frame, rnic_neigh_build_request(frame, mac, own, gid, NULL));
	seed_frame(&seed, frame, rnic_neigh_build_answer(frame, mac, gid, own, to_mac));
	PUT(&seed, 4, value, 5, 255, 4, value, 5, 5, 5, 5, 5, 5, 5, 5);
	seed_frame(&seed, frame, rnic_neigh_build_announcement(frame, to_mac, gid));
	seed_frame(&seed, frame, rnic_neigh_build_request(frame, mac, own, gid, to_mac));
	frame[20] = 58;
	frame[54] = 128;
	seed_frame(&seed, frame, 86);
	PUT(&seed, 4, (uint8_t)(value | 0x40));
	seed_frame(
		&seed, frame,
		rnic_neigh_tag(frame, rnic_neigh_build_answer(frame, mac, gid, own, to_mac), VLAN));
	PUT(&seed, 6, 7, value);
	fuzz_seed_write(&seed, "%02x-%d", value, probe);
}

void
fuzz_seeds_write(void)
{
	for (unsigned int i = 2; i < 8; i++) {
		seed_write((uint8_t)i, false);
		seed_write((uint8_t)i, true);
	}
}
