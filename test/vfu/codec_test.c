/* SPDX-License-Identifier: BSD-3-Clause */

/* The codec alone: messages, pieces of messages, descriptors. */

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfio_user/message.h"

struct pair {
	struct vfu_channel channel;
	int peer;
	unsigned int fds;
};

static int
pair_setup(void **state)
{
	static struct pair pair;
	int s[2];

	pair.fds = count_fds();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
	assert_int_equal(vfu_channel_init(&pair.channel, s[0], NULL), 0);
	pair.peer = s[1];
	*state = &pair;
	return 0;
}

static int
pair_teardown(void **state)
{
	struct pair *p = *state;

	vfu_channel_close(&p->channel);
	if (p->peer >= 0)
		close(p->peer);
	assert_int_equal(count_fds(), p->fds);
	return 0;
}

static size_t
make(uint8_t *bytes, uint16_t id, size_t payload)
{
	struct vfu_header header = { .id = id, .command = 99, .size = sizeof(header) + payload };
	size_t i;

	memcpy(bytes, &header, sizeof(header));
	for (i = 0; i < payload; i++)
		bytes[sizeof(header) + i] = id + i;
	return header.size;
}

static void
check(const struct pair *p, uint16_t id, size_t payload)
{
	const struct vfu_message *m = &p->channel.message;
	size_t i;

	assert_int_equal(m->header.id, id);
	assert_int_equal(m->length, payload);
	for (i = 0; i < payload; i++)
		assert_int_equal(m->payload[i], (uint8_t)(id + i));
}

static void
test_byte_by_byte(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[128];
	size_t length, payload, i;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (payload = 0; payload < 64; payload++) {
		length = make(bytes, payload, payload);
		for (i = 0; i < length; i++) {
			assert_int_equal(vfu_channel_receive(&p->channel), 0);
			raw_send(p->peer, bytes + i, 1, &fd, i == payload % length ? 1 : 0);
		}
		assert_int_equal(vfu_channel_receive(&p->channel), 1);
		check(p, payload, payload);
		assert_int_equal(p->channel.message.nfds, 1);
	}
	close(fd);
}

static void
test_many_in_one_write(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[4096];
	size_t length = 0, i;

	for (i = 0; i < 50; i++)
		length += make(bytes + length, i, i);
	raw_send(p->peer, bytes, length, NULL, 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(vfu_channel_receive(&p->channel), 1);
		check(p, i, i);
	}
	assert_int_equal(vfu_channel_receive(&p->channel), 0);
}

static void
test_descriptors_stay_with_their_message(void **state)
{
	struct pair *p = *state;
	unsigned int i, n;
	uint8_t bytes[64];
	int fds[9];

	for (i = 0; i < 9; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (n = 0; n <= 9; n++)
		raw_send(p->peer, bytes, make(bytes, n, n), fds, n);
	for (n = 0; n <= 9; n++) {
		assert_int_equal(vfu_channel_receive(&p->channel), 1);
		check(p, n, n);
		assert_int_equal(p->channel.message.nfds, n);
		assert_false(p->channel.message.surplus_fds);
		for (i = 0; i < n; i++)
			assert_true(fcntl(p->channel.message.fds[i], F_GETFD) & FD_CLOEXEC);
	}
	vfu_close_fds(fds, 9);
}

static void
test_surplus_descriptors_are_closed(void **state)
{
	struct pair *p = *state;
	unsigned int i, before;
	uint8_t bytes[64];
	int fds[200];

	for (i = 0; i < 200; i++)
		fds[i] = p->peer;
	vfu_channel_limits(&p->channel, 64, 4);
	for (i = 5; i <= 200; i += 39) {
		before = count_fds();
		raw_send(p->peer, bytes, make(bytes, i, 8), fds, i);
		assert_int_equal(vfu_channel_receive(&p->channel), 1);
		assert_int_equal(p->channel.message.nfds, 4);
		assert_true(p->channel.message.surplus_fds);
		assert_int_equal(count_fds(), before + 4);
		assert_int_equal(vfu_channel_receive(&p->channel), 0);
		assert_int_equal(count_fds(), before);
	}
	raw_send(p->peer, bytes, make(bytes, 1, 8), NULL, 0);
	assert_int_equal(vfu_channel_receive(&p->channel), 1);
	assert_false(p->channel.message.surplus_fds);
}

static void
test_a_descriptor_that_was_taken_stays_open(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[64];
	int taken;

	raw_send(p->peer, bytes, make(bytes, 1, 0), &p->peer, 1);
	assert_int_equal(vfu_channel_receive(&p->channel), 1);
	taken = p->channel.message.fds[0];
	p->channel.message.fds[0] = -1;
	assert_int_equal(vfu_channel_receive(&p->channel), 0);
	assert_true(fcntl(taken, F_GETFD) >= 0);
	close(taken);
}

static void
test_sizes_at_the_boundaries(void **state)
{
	const uint32_t limit = 4096 + VFU_PAYLOAD_EXTRA_BYTES + sizeof(struct vfu_header);
	const struct {
		uint32_t size;
		int expected;
	} cases[] = {
		{ 0, -EPROTO },
		{ 1, -EPROTO },
		{ 15, -EPROTO },
		{ 16, 1 },
		{ 17, 0 },
		{ limit, 0 },
		{ limit + 1, -EPROTO },
		{ 1u << 31, -EPROTO },
		{ ~0u, -EPROTO },
		{ ~0u - 15, -EPROTO },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vfu_header header = { .size = cases[i].size };
		struct vfu_channel channel;
		int s[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
		assert_int_equal(vfu_channel_init(&channel, s[0], NULL), 0);
		vfu_channel_limits(&channel, 4096, 8);
		raw_send(s[1], &header, sizeof(header), &s[1], 1);
		assert_int_equal(vfu_channel_receive(&channel), cases[i].expected);
		vfu_channel_close(&channel);
		close(s[1]);
	}
}

static void
test_the_end_at_every_byte(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[64];
	size_t length = make(bytes, 7, 20), i;

	for (i = 0; i < length; i++) {
		struct vfu_channel channel;
		int s[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
		assert_int_equal(vfu_channel_init(&channel, s[0], NULL), 0);
		if (i > 0)
			raw_send(s[1], bytes, i, &p->peer, 1);
		close(s[1]);
		assert_int_equal(vfu_channel_receive(&channel), -ENOTCONN);
		vfu_channel_close(&channel);
	}
}

/* Both directions of a socket that takes little at a time. */
static void
test_a_full_socket_queues(void **state)
{
	struct pair *p = *state;
	static uint8_t data[200000], back[200000];
	struct vfu_header header = { .command = 1 };
	struct iovec payload[2] = { { data, 100000 }, { data + 100000, 100000 } };
	unsigned int messages, i;
	struct vfu_channel other;
	int fds[2] = { p->peer, p->peer };
	int flushed = 0, rc;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7;
	for (messages = 0; messages < 10; messages++) {
		header.id = messages;
		assert_int_equal(vfu_channel_send(&p->channel, header, payload, 2, fds, 2), 0);
	}
	assert_int_not_equal(p->channel.outgoing_count, 0);
	assert_int_equal(vfu_channel_init(&other, p->peer, NULL), 0);
	p->peer = -1;
	vfu_channel_limits(&other, sizeof(data), 4);
	for (messages = 0; messages < 10;) {
		flushed = vfu_channel_flush(&p->channel);
		assert_true(flushed >= 0);
		rc = vfu_channel_receive(&other);
		assert_true(rc >= 0);
		if (rc == 0)
			continue;
		assert_int_equal(other.message.header.id, messages);
		assert_int_equal(other.message.length, sizeof(data));
		assert_int_equal(other.message.nfds, 2);
		memcpy(back, other.message.payload, sizeof(back));
		assert_memory_equal(back, data, sizeof(data));
		messages++;
	}
	assert_int_equal(flushed, 1);
	assert_int_equal(p->channel.outgoing_count, 0);
	assert_int_equal(p->channel.outgoing_bytes, 0);
	vfu_channel_close(&other);
}

static void
test_closing_drops_what_is_queued(void **state)
{
	struct pair *p = *state;
	static uint8_t data[100000];
	struct iovec payload = { data, sizeof(data) };
	struct vfu_header header = { .command = 1 };
	unsigned int i;

	for (i = 0; i < 10; i++)
		assert_int_equal(vfu_channel_send(&p->channel, header, &payload, 1, &p->peer, 1),
				 0);
	assert_true(p->channel.outgoing_count > 0);
	/* The teardown counts descriptors. */
}

static void
test_a_dead_peer_is_no_signal(void **state)
{
	struct pair *p = *state;
	struct vfu_header header = { .command = 1 };

	close(p->peer);
	p->peer = -1;
	assert_int_equal(vfu_channel_send(&p->channel, header, NULL, 0, NULL, 0), -ENOTCONN);
	assert_int_equal(vfu_channel_receive(&p->channel), -ENOTCONN);
}

static void
test_a_bad_descriptor_of_ours_is_said(void **state)
{
	struct pair *p = *state;
	struct vfu_header header = { .command = 1 };
	int bad = 9999;

	assert_int_equal(vfu_channel_send(&p->channel, header, NULL, 0, &bad, 1), -EBADF);
	assert_int_equal(vfu_channel_send(&p->channel, header, NULL, 0, NULL, 0), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, pair_setup, pair_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_byte_by_byte),
		CASE(test_many_in_one_write),
		CASE(test_descriptors_stay_with_their_message),
		CASE(test_surplus_descriptors_are_closed),
		CASE(test_a_descriptor_that_was_taken_stays_open),
		CASE(test_sizes_at_the_boundaries),
		CASE(test_the_end_at_every_byte),
		CASE(test_a_full_socket_queues),
		CASE(test_closing_drops_what_is_queued),
		CASE(test_a_dead_peer_is_no_signal),
		CASE(test_a_bad_descriptor_of_ours_is_said),
	};

	return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
