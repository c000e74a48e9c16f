/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How much a server does in a look, whatever it is sent: others wait for it. That it may do less, because the clock says
 * so, is true of each bound below.
 */

#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfio_user/look.h"
#include "vfio_user/message.h"

#define LONGEST	    (1u << 20)
#define MOST_WRITES ((LONGEST - 8) / sizeof(struct vfu_region_write))
#define PATIENCE_MS 5000

static uint8_t message[sizeof(struct vfu_header) + LONGEST + VFU_PAYLOAD_EXTRA_BYTES];
static uint8_t answer[sizeof(message)];

static int
setup(void **state)
{
	static const char text[] = "\0\0\1\0{\"capabilities\":{\"max_data_xfer_size\":1048576,"
				   "\"write_multiple\":true}}";

	fixture_setup_unversioned(state);
	return ask_plain(*state, VFU_VERSION, text, sizeof(text));
}

/* Work that is left wakes us by a timer whose time is over: its interrupt may come a moment after the look. */
static bool
wakes_us(struct fixture *f)
{
	return fixture_is_ready(f, PATIENCE_MS);
}

/* Until the server has all of it, or as much as it takes; the end of it is there, but nobody has looked. */
static void
send_message(struct fixture *f, uint16_t command, size_t length)
{
	const struct vfu_header header = { .id = 7,
					   .command = command,
					   .size = sizeof(header) + length };
	size_t sent = 0, rest;
	ssize_t n;

	memcpy(message, &header, sizeof(header));
	for (;;) {
		rest = header.size - sent;
		n = send(f->peer, message + sent, rest, MSG_DONTWAIT | MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		if (sent == header.size)
			return;
		vfu_server_process(f->server);
	}
}

/* @return bytes of the answer to it; 0: there is none. Its header and payload are in `answer`. */
static size_t
take_answer(struct fixture *f)
{
	const struct vfu_header *header = (const struct vfu_header *)(const void *)answer;
	size_t got = 0;
	long n;

	while (got < sizeof(*header) || got < header->size) {
		n = raw_receive(f->peer, answer + got, sizeof(answer) - got, NULL, NULL);
		if (n == -EAGAIN && got == 0)
			return 0;
		if (n == -EAGAIN)
			fixture_process(f);
		else
			assert_true(n > 0);
		got += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(header->id, 7);
	assert_int_equal(got, header->size);
	return got;
}

/* Write number i goes to the place of 8 bytes that it has in BAR0, over and over. */
static size_t
many_writes(unsigned int count)
{
	const struct vfu_write_multi multi = { count };
	struct vfu_region_write write = { .region = VFU_PCI_BAR0, .count = 8 };

	memcpy(message + sizeof(struct vfu_header), &multi, sizeof(multi));
	for (uint64_t i = 0; i < count; i++) {
		write.offset = i * 8 % BAR0_BYTES;
		memcpy(write.data, &i, sizeof(i));
		memcpy(message + sizeof(struct vfu_header) + sizeof(multi) + i * sizeof(write),
		       &write, sizeof(write));
	}
	return sizeof(multi) + count * sizeof(write);
}

static uint64_t
writes_done(void)
{
	struct vfu_write_multi multi;

	memcpy(&multi, answer + sizeof(struct vfu_header), sizeof(multi));
	return multi.wr_cnt;
}

/* All of BAR0, or part of it. */
static size_t
long_access(uint64_t offset, uint32_t count, bool write)
{
	const struct vfu_region_access access = { offset, VFU_PCI_BAR0, count };
	uint8_t *data = message + sizeof(struct vfu_header) + sizeof(access);

	memcpy(message + sizeof(struct vfu_header), &access, sizeof(access));
	for (uint32_t i = 0; write && i < count; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	return sizeof(access) + (write ? count : 0);
}

/* Look until so many accesses are made. @return looks in which some were, of which none had more than `most`. */
static unsigned int
looks(struct fixture *f, const unsigned int *accesses, unsigned int until, unsigned int servers,
      unsigned int most)
{
	unsigned int before, n = 0;

	while (*accesses < until) {
		before = *accesses;
		assert_true(wakes_us(f));
		vfu_server_process_share(f->server, servers);
		if (*accesses - before > most)
			fail_msg("%u accesses in a look, expected at most %u", *accesses - before,
				 most);
		n += *accesses > before;
	}
	assert_int_equal(*accesses, until);
	return n;
}

static void
test_writes_of_one_message_take_several_looks(void **state)
{
	struct fixture *f = *state;
	uint64_t last;

	send_message(f, VFU_REGION_WRITE_MULTI, many_writes(MOST_WRITES));
	assert_true(looks(f, &f->writes, MOST_WRITES, 1, VFU_LOOK_STEPS) >=
		    MOST_WRITES / VFU_LOOK_STEPS);
	assert_true(take_answer(f) > 0);
	assert_int_equal(writes_done(), MOST_WRITES);
	assert_int_equal(take_answer(f), 0);
	/* In order, each of them. */
	for (uint64_t slot = 0; slot < BAR0_BYTES / 8; slot++) {
		memcpy(&last, f->bar0 + slot * 8, sizeof(last));
		assert_int_equal(last % (BAR0_BYTES / 8), slot);
		assert_true(last + BAR0_BYTES / 8 >= MOST_WRITES);
	}
	fixture_process(f);
	assert_false(fixture_is_ready(f, 0));
}

static void
test_a_long_write_and_a_long_read_take_several_looks(void **state)
{
	const unsigned int accesses = BAR0_BYTES / BAR0_ACCESS_BYTES;
	struct fixture *f = *state;
	size_t length = long_access(0, BAR0_BYTES, true), skip;

	send_message(f, VFU_REGION_WRITE, length);
	assert_true(looks(f, &f->writes, accesses, 1, VFU_LOOK_STEPS) >= accesses / VFU_LOOK_STEPS);
	assert_true(take_answer(f) > 0);
	skip = sizeof(struct vfu_header) + sizeof(struct vfu_region_access);
	assert_memory_equal(f->bar0, message + skip, BAR0_BYTES);

	send_message(f, VFU_REGION_READ, long_access(0, BAR0_BYTES, false));
	assert_true(looks(f, &f->reads, accesses, 1, VFU_LOOK_STEPS) >= accesses / VFU_LOOK_STEPS);
	assert_int_equal(take_answer(f), skip + BAR0_BYTES);
	assert_memory_equal(f->bar0, answer + skip, BAR0_BYTES);
}

/* Up to the next multiple: as a device's registers lie. */
static void
test_pieces_of_any_access(void **state)
{
	const size_t skip = sizeof(struct vfu_header) + sizeof(struct vfu_region_access);
	struct fixture *f = *state;

	for (unsigned int offset = 0; offset < 17; offset++) {
		for (unsigned int count = 1; count < 34; count++) {
			unsigned int pieces = (offset + count - 1) / 8 - offset / 8 + 1;

			memset(f->bar0, 0, 64);
			f->writes = f->reads = 0;
			send_message(f, VFU_REGION_WRITE, long_access(offset, count, true));
			fixture_process(f);
			assert_true(take_answer(f) > 0);
			assert_int_equal(f->writes, pieces);
			assert_memory_equal(f->bar0 + offset, message + skip, count);
			assert_int_equal(f->bar0[offset + count], 0);
			send_message(f, VFU_REGION_READ, long_access(offset, count, false));
			fixture_process(f);
			assert_int_equal(take_answer(f), skip + count);
			assert_int_equal(f->reads, pieces);
			assert_memory_equal(f->bar0 + offset, answer + skip, count);
		}
	}
}

static void
test_many_messages_take_several_looks(void **state)
{
	const struct vfu_header reset = { .command = VFU_DEVICE_RESET,
					  .size = sizeof(reset),
					  .flags = VFU_FLAG_NO_REPLY };
	struct fixture *f = *state;
	unsigned int before;

	for (unsigned int i = 0; i < 200; i++)
		raw_send(f->peer, &reset, sizeof(reset), NULL, 0);
	while (f->resets < 200) {
		before = f->resets;
		assert_true(wakes_us(f));
		vfu_server_process(f->server);
		assert_in_range(f->resets - before, 1, VFU_LOOK_STEPS / VFU_MESSAGE_STEPS);
	}
}

/* Also when nothing comes behind it. */
static void
test_descriptors_of_the_last_message_of_a_look_are_closed(void **state)
{
	struct vfu_dma_map map = { .argsz = sizeof(map), .flags = VFU_DMA_FLAG_READ, .size = 4096 };
	const struct vfu_header header = { .id = 7,
					   .command = VFU_DMA_MAP,
					   .size = sizeof(header) + sizeof(map) };
	struct fixture *f = *state;
	int fd = memory_file(4096);
	unsigned int fds = count_fds();

	memcpy(message, &header, sizeof(header));
	memcpy(message + sizeof(header), &map, sizeof(map));
	raw_send(f->peer, message, header.size, &fd, 1);
	while (fixture_is_ready(f, 0))
		vfu_server_process_share(f->server, VFU_LOOK_STEPS);
	assert_true(take_answer(f) > 0);
	assert_int_equal(f->maps, 1);
	assert_int_equal(count_fds(), fds);
	close(fd);
}

static void
test_what_a_callback_charges_and_others_share_makes_looks_shorter(void **state)
{
	struct fixture *f = *state;

	f->charge = VFU_LOOK_STEPS / 4;
	send_message(f, VFU_REGION_WRITE_MULTI, many_writes(100));
	assert_true(looks(f, &f->writes, 100, 1, 4) >= 25);
	f->charge = VFU_LOOK_STEPS * 2;
	send_message(f, VFU_REGION_WRITE, long_access(0, 80, true));
	assert_int_equal(looks(f, &f->writes, 110, 1, 1), 10);
	f->charge = 0;
	send_message(f, VFU_REGION_READ, long_access(0, 8 * VFU_LOOK_STEPS, false));
	assert_true(looks(f, &f->reads, VFU_LOOK_STEPS, 16, VFU_LOOK_STEPS / 16) >= 16);
}

/* A message of many writes that is not done, in a server that has looked once. */
static void
begin(struct fixture *f)
{
	unsigned int before = f->writes;

	f->charge = VFU_LOOK_STEPS / 4;
	send_message(f, VFU_REGION_WRITE_MULTI, many_writes(1000));
	while (f->writes == before)
		vfu_server_process(f->server);
	assert_in_range(f->writes - before, 1, 4);
	assert_int_equal(take_answer(f), 0);
}

static void
test_what_comes_behind_waits(void **state)
{
	const struct vfu_header reset = { .command = VFU_DEVICE_RESET,
					  .size = sizeof(reset),
					  .flags = VFU_FLAG_NO_REPLY };
	struct fixture *f = *state;

	begin(f);
	raw_send(f->peer, &reset, sizeof(reset), NULL, 0);
	while (f->writes < 1000) {
		assert_int_equal(f->resets, 0);
		assert_true(wakes_us(f));
		vfu_server_process(f->server);
	}
	fixture_process(f);
	assert_int_equal(f->resets, 1);
	assert_true(take_answer(f) > 0);
	assert_int_equal(writes_done(), 1000);
}

static void
test_a_refusal_in_a_later_look_ends_the_series(void **state)
{
	struct fixture *f = *state;
	unsigned int done;

	begin(f);
	done = f->writes;
	f->refuse = -EIO;
	fixture_process(f);
	assert_int_equal(f->writes, done + 1);
	assert_true(take_answer(f) > 0);
	assert_int_equal(writes_done(), done);
	/* The next one begins where it begins. */
	f->refuse = 0;
	f->charge = 0;
	send_message(f, VFU_REGION_WRITE_MULTI, many_writes(50));
	fixture_process(f);
	assert_true(take_answer(f) > 0);
	assert_int_equal(writes_done(), 50);
}

static void
test_a_client_that_goes_in_the_midst_leaves_nothing(void **state)
{
	static const char text[] = "\0\0\1\0{\"capabilities\":{\"write_multiple\":true}}";
	struct fixture *f = *state;

	begin(f);
	vfu_server_disconnect(f->server, -EFAULT);
	assert_int_equal(f->disconnected, 1);
	f->charge = 0;
	f->writes = 0;
	fixture_connect(f);
	assert_int_equal(f->writes, 0);
	assert_int_equal(ask_plain(f, VFU_VERSION, text, sizeof(text)), 0);
	send_message(f, VFU_REGION_WRITE_MULTI, many_writes(50));
	fixture_process(f);
	assert_true(take_answer(f) > 0);
	assert_int_equal(writes_done(), 50);
	assert_int_equal(f->writes, 50);

	/* Its socket alone is closed: what it said is still done, and nobody is told. */
	begin(f);
	close(f->peer);
	f->peer = -1;
	f->charge = 0;
	fixture_process(f);
	assert_int_equal(f->disconnected, 2);
	assert_int_equal(f->writes, 1050);
}

#define MANY_REGIONS 2000u
#define MOST_REGIONS 512u /* in a look: some 200 us with a device behind it */

static void
map_regions(struct fixture *f)
{
	struct vfu_dma_map map = { .argsz = sizeof(map), .flags = VFU_DMA_FLAG_READ, .size = 4096 };

	for (unsigned int i = 0; i < MANY_REGIONS; i++) {
		map.iova = i * 8192ull;
		assert_int_equal(ask_plain(f, VFU_DMA_MAP, &map, sizeof(map)), 0);
	}
}

/* A look that takes some of the regions, and not many. */
static void
look_at_regions(struct fixture *f)
{
	const unsigned int before = f->unmaps;

	assert_true(wakes_us(f));
	vfu_server_process(f->server);
	if (f->unmaps - before > MOST_REGIONS)
		fail_msg("%u regions were unmapped in a look, expected at most %u",
			 f->unmaps - before, MOST_REGIONS);
}

static void
test_regions_of_one_message_go_in_several_looks(void **state)
{
	static const struct vfu_dma_unmap kinds[] = {
		{ .argsz = sizeof(*kinds), .flags = VFU_DMA_UNMAP_FLAG_ALL },
		{ .argsz = sizeof(*kinds), .size = MANY_REGIONS * 8192ull },
		{ .argsz = sizeof(*kinds), .iova = 8192, .size = (MANY_REGIONS - 2) * 8192ull },
	};
	const struct vfu_header reset = { .command = VFU_DEVICE_RESET,
					  .size = sizeof(reset),
					  .flags = VFU_FLAG_NO_REPLY };
	struct fixture *f = *state;
	struct vfu_server_stats stats;

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		map_regions(f);
		f->unmaps = f->resets = 0;
		memcpy(message + sizeof(struct vfu_header), &kinds[i], sizeof(kinds[i]));
		send_message(f, VFU_DMA_UNMAP, sizeof(kinds[i]));
		raw_send(f->peer, &reset, sizeof(reset), NULL, 0);
		while (f->unmaps < (i < 2 ? MANY_REGIONS : MANY_REGIONS - 2)) {
			assert_int_equal(raw_receive(f->peer, answer, 1, NULL, NULL), -EAGAIN);
			assert_int_equal(f->resets, 0);
			look_at_regions(f);
			vfu_server_stats_get(f->server, &stats);
			assert_int_equal(stats.dma_regions, MANY_REGIONS - f->unmaps);
		}
		fixture_process(f);
		assert_int_equal(f->resets, 1);
		assert_int_equal(take_answer(f), sizeof(struct vfu_header) + sizeof(kinds[i]));
		assert_int_equal(((struct vfu_header *)(void *)answer)->error, 0);
	}
	/* Those at both ends of the range have stayed. */
	assert_non_null(vfu_server_dma_find(f->server, 0, 4096));
	assert_non_null(vfu_server_dma_find(f->server, (MANY_REGIONS - 1) * 8192ull, 4096));
}

static void
test_regions_of_who_has_gone_go_in_several_looks(void **state)
{
	struct fixture *f = *state;
	int pair[2];

	map_regions(f);
	close(f->peer);
	f->peer = -1;
	do
		look_at_regions(f);
	while (f->unmaps == 0);
	while (f->unmaps < MANY_REGIONS) {
		/* Whose place it was has not left it yet. */
		assert_int_equal(f->disconnected, 0);
		assert_null(vfu_server_client(f->server));
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(vfu_server_adopt(f->server, pair[0]), -EBUSY);
		close(pair[1]);
		look_at_regions(f);
	}
	fixture_process(f);
	assert_int_equal(f->disconnected, 1);
	fixture_connect(f);
	assert_int_equal(ask_version(f), 0);
	map_regions(f);
	/* Whoever ends the server waits for all of it. */
	f->unmaps = 0;
	vfu_server_disconnect(f->server, -EFAULT);
	assert_in_range(f->unmaps, 1, MOST_REGIONS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_writes_of_one_message_take_several_looks),
		CASE(test_a_long_write_and_a_long_read_take_several_looks),
		CASE(test_pieces_of_any_access),
		CASE(test_many_messages_take_several_looks),
		CASE(test_descriptors_of_the_last_message_of_a_look_are_closed),
		CASE(test_what_a_callback_charges_and_others_share_makes_looks_shorter),
		CASE(test_what_comes_behind_waits),
		CASE(test_a_refusal_in_a_later_look_ends_the_series),
		CASE(test_a_client_that_goes_in_the_midst_leaves_nothing),
		CASE(test_regions_of_one_message_go_in_several_looks),
		CASE(test_regions_of_who_has_gone_go_in_several_looks),
	};

	return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
