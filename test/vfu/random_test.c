/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hostile client (see attack.h) of the server in lib/vfio_user. It must neither crash, hang, nor keep anything, and
 * nothing that it promised to stop may reach the device.
 */

#include "attack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	struct attack a; /* first: run_between() finds the rest by it */
	struct fixture f;
};

static void
run_between(struct attack *a)
{
	struct run *run = (struct run *)a;

	vfu_server_process(run->f.server);
}

static struct run *
run_begin(uint64_t seed)
{
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	assert_int_equal(fixture_setup_at(&run->f, NULL), 0);
	attack_open(&run->a, seed);
	run->a.between = run_between;
	return run;
}

static void
run_connect(struct run *run)
{
	fixture_connect(&run->f);
	run->a.peer = run->f.peer;
}

static void
run_end(struct run *run)
{
	vfu_server_disconnect(run->f.server, 0);
	/* On a busy machine it takes more than one look. */
	fixture_leave(&run->f);
	assert_int_equal(run->f.maps, run->f.unmaps);
	assert_int_equal(run->f.connected, run->f.disconnected);
	attack_close(&run->a);
	fixture_teardown(&run->f);
	free(run);
}

/* The device does something of its own. */
static void
device_acts(struct run *run)
{
	struct attack *a = &run->a;
	uint64_t iova = attack_mostly(a, attack_below(a, 256) * 4096ull + attack_below(a, 4096));
	size_t length = attack_mostly(a, 1 + attack_below(a, 64));
	const struct vfu_dma_region *region;

	vfu_server_irq_trigger(run->f.server, attack_below(a, 6), attack_below(a, 70));
	region = vfu_server_dma_find(run->f.server, iova, length);
	if (region != NULL && region->address != NULL && (region->flags & VFU_DMA_FLAG_WRITE))
		memset((uint8_t *)region->address + (iova - region->iova), 1, length);
}

static void
session(struct run *run)
{
	struct attack *a = &run->a;
	unsigned int n = 1 + attack_below(a, 400), i;

	run_connect(run);
	if (attack_below(a, 20) != 0)
		attack_send(a, VFU_VERSION);
	for (i = 0; i < n; i++) {
		run->f.refuse = attack_below(a, 50) == 0 ? -EIO : 0;
		attack_send(a, attack_command(a));
		fixture_process(&run->f);
		if (attack_below(a, 8) == 0)
			device_acts(run);
		if (attack_below(a, 4) != 0)
			attack_read(a);
		/* It was hung up on. */
		if (run->f.connected == run->f.disconnected && attack_below(a, 4) == 0)
			break;
	}
	fixture_process(&run->f);
}

static unsigned int
how_many(unsigned int by_default)
{
	return full_run() ? by_default * 100 : by_default;
}

static void
test_stateful_sessions(void **state)
{
	struct run *run;
	struct attack *a;
	unsigned int fds = count_fds(), want = how_many(50000), taken = 0;

	(void)state;
	run = run_begin(1);
	a = &run->a;
	while (a->messages < want) {
		session(run);
		taken = run->f.maps > taken ? run->f.maps : taken;
	}
	/* It would prove little if all had been refused. */
	assert_true(run->f.connected > want / 4000);
	assert_true(run->f.maps > want / 50);
	assert_true(run->f.irqs > want / 50);
	run_end(run);
	assert_fds_gone(fds);
	assert_int_equal(count_maps(), 0);
}

static void
test_stateless_noise(void **state)
{
	struct run *run;
	struct attack *a;
	unsigned int fds = count_fds(), want = how_many(50000), i, n;
	uint8_t byte[64];

	(void)state;
	run = run_begin(2);
	a = &run->a;
	while (a->messages < want) {
		run_connect(run);
		if (attack_below(a, 2) != 0)
			assert_int_equal(ask_version(&run->f), 0);
		n = 1 + attack_below(a, 20);
		for (i = 0; i < n; i++) {
			attack_noise(a);
			fixture_process(&run->f);
		}
		while (raw_receive(run->f.peer, byte, sizeof(byte), NULL, NULL) > 0)
			fixture_process(&run->f);
	}
	run_end(run);
	assert_fds_gone(fds);
}

/* A whole session, ended at every byte of it. */
static void
test_death_at_every_byte(void **state)
{
	struct run *run;
	struct attack *a;
	unsigned int fds = count_fds(), cut, at, length = 0, ends[8], nends = 0, i;
	static const uint16_t commands[] = { VFU_VERSION,      VFU_DMA_MAP,
					     VFU_DMA_MAP,      VFU_DEVICE_SET_IRQS,
					     VFU_REGION_WRITE, VFU_DEVICE_GET_REGION_INFO };
	static const char version[] = "\0\0\1\0{}";
	struct vfu_dma_map map = { 32, 3, 0, 0, 4096 };
	struct vfu_irq_set set = { 20, 0x24, 2, 0, 1 };
	struct vfu_region_access access = { 0, 7, 8 };
	struct vfu_region_info info = { .argsz = 1000 };
	const struct {
		const void *bytes;
		size_t length;
	} parts[] = { { version, 7 }, { &map, 32 },    { &map, 32 },
		      { &set, 20 },   { &access, 24 }, { &info, 32 } };

	(void)state;
	run = run_begin(3);
	a = &run->a;
	for (i = 0; i < 6; i++) {
		struct vfu_header header = { i, commands[i], 16 + parts[i].length, 0, 0 };

		map.iova = i * 4096; /* of the next one */
		memcpy(a->bytes + length, &header, sizeof(header));
		memcpy(a->bytes + length + 16, parts[i].bytes,
		       commands[i] == VFU_REGION_WRITE ? 16 : parts[i].length);
		length += header.size;
		ends[nends++] = length;
	}
	for (cut = 0; cut <= length; cut++) {
		run_connect(run);
		for (at = 0, i = 0; at < cut; i++) {
			unsigned int n = (ends[i] < cut ? ends[i] : cut) - at;
			int fd = i == 1 ? a->pool[0] : a->pool[2];

			raw_send(run->f.peer, a->bytes + at, n, &fd, i == 1 || i == 3);
			at += n;
			if (cut % 2)
				fixture_process(&run->f);
		}
		close(run->f.peer);
		run->f.peer = -1;
		fixture_process(&run->f);
		assert_int_equal(run->f.connected, run->f.disconnected);
		assert_int_equal(run->f.maps, run->f.unmaps);
		/* Who dies before the answer to its version was never served. */
		assert_true(run->f.connected <= (cut < ends[0] ? 0 : cut - ends[0] + 1));
	}
	assert_true(run->f.connected >= (length - ends[0]) / 2);
	assert_int_not_equal(run->f.maps, 0);
	assert_int_not_equal(run->f.irqs, 0);
	run_end(run);
	assert_fds_gone(fds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stateful_sessions),
		cmocka_unit_test(test_stateless_noise),
		cmocka_unit_test(test_death_at_every_byte),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
