/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The hostile client of test/vfu against a softrnicd in its jail, so that what stands behind the protocol is meant too:
 * registers in pieces, the MSI-X table, configuration space with resets, bus mastering, memory that vanishes. All the
 * time an innocent client of another device asks for something, and is answered within a second, but for a few times: a
 * busy machine may stand still.
 */

#include "../vfu/attack.h"

#include <linux/pci_regs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "prm/field.h"

#define ANSWER_MS   1000
#define PATIENCE_MS 60000
#define EXPRESS	    0x60 /* where that capability stands */
#define ASK_EVERY   16	 /* messages */
#define QUIET_US    2500000

static struct daemon d;
static struct vfu_client *innocent;
static unsigned int asked, late;
static uint8_t *memory; /* of the hostile one */

static const struct attack_spot spots[] = {
	{ VFU_PCI_CONFIG, 0, 256 },
	{ VFU_PCI_CONFIG, PCI_COMMAND, 2 },
	{ VFU_PCI_CONFIG, EXPRESS + PCI_EXP_DEVCTL, 2 },
	{ VFU_PCI_CONFIG, 4096 - 8, 16 },
	{ VFU_PCI_BAR0, 0, 64 },
	{ VFU_PCI_BAR0, 0x10, 12 }, /* command queue and its doorbell */
	{ VFU_PCI_BAR0, 0x1000, 0x2000 },
	{ VFU_PCI_BAR0, (2 << 20) - 16, 32 },
	{ VFU_PCI_BAR0 + 2, 0, 0x420 },
	{ VFU_PCI_BAR0 + 2, 4096 - 8, 16 },
};

static unsigned int
how_many(void)
{
	return full_run() ? 1000000 : sanitized_run() ? 2000 : 10000;
}

static int
start(void **state)
{
	const char *const devices[] = { "name=hostile,wire=pair:x", "name=innocent,wire=pair:x",
					NULL };
	struct vfu_client_conf conf = { .name = "innocent", .fd = -1, .timeout_ms = PATIENCE_MS };

	(void)state;
	daemon_start(&d, devices);
	conf.path = d.sockets[1];
	return vfu_client_open(&conf, &innocent);
}

static int
stop(void **state)
{
	(void)state;
	vfu_client_close(innocent);
	daemon_stop(&d);
	daemon_clean(&d);
	return 0;
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
ask_the_innocent_one(const struct attack *a)
{
	const uint64_t begin = now_ms();
	uint32_t id = 0;
	int rc = vfu_client_region_read(innocent, PCI_REGION, PCI_VENDOR_ID, &id, sizeof(id));

	asked++;
	late += now_ms() - begin > ANSWER_MS * (sanitized_run() ? 5 : 1);
	if (rc != 0 || id != 0x101715b3)
		fail_msg("after %u messages the innocent client gets %d (0x%x)", a->messages, rc,
			 id);
}

static void
hang_up(struct attack *a)
{
	if (a->peer >= 0)
		close(a->peer);
	a->peer = -1;
}

static void
call(struct attack *a)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	hang_up(a);
	a->peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(a->peer >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", d.sockets[0]);
	assert_int_equal(connect(a->peer, (struct sockaddr *)&address, sizeof(address)), 0);
}

/* Rings and mailboxes that nobody has made; and none at all, for a while. */
static void
change_memory(struct attack *a)
{
	unsigned int i;

	if (attack_below(a, 4) == 0) {
		assert_int_equal(ftruncate(a->pool[0], attack_below(a, 64) * 4096l), 0);
		return;
	}
	assert_int_equal(ftruncate(a->pool[0], ATTACK_MEMORY_BYTES), 0);
	for (i = 0; i < 64; i++)
		memory[attack_below(a, ATTACK_MEMORY_BYTES)] = attack_roll(a);
}

/* Mostly there is one. */
static void
take_answer(struct attack *a)
{
	struct pollfd ready = { .fd = a->peer, .events = POLLIN };

	poll(&ready, 1, 1);
	attack_read(a);
}

static bool
hung_up(const struct attack *a)
{
	char byte;

	return recv(a->peer, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* A message that is right. */
static void
say(struct attack *a, uint16_t command, const void *payload, size_t length, const int *fd)
{
	const struct vfu_header header = {
		.id = attack_roll(a),
		.command = command,
		.size = sizeof(header) + length,
	};

	memcpy(a->bytes, &header, sizeof(header));
	memcpy(a->bytes + sizeof(header), payload, length);
	attack_in_pieces(a, header.size, fd, fd != NULL);
	a->messages++;
}

static void
put32(struct attack *a, unsigned int region, uint64_t offset, uint32_t value)
{
	const struct {
		struct vfu_region_access access;
		uint32_t value;
	} write = { { offset, region, sizeof(value) }, value };

	say(a, VFU_REGION_WRITE, &write, sizeof(write.access) + sizeof(value), NULL);
}

/* The device looks for commands in memory that was there a moment ago, and holds whatever it holds. */
static void
have_memory_read(struct attack *a)
{
	const struct vfu_dma_map map = { 32, 3, 0, attack_below(a, 256) * 4096ul, 4096 };

	assert_int_equal(ftruncate(a->pool[0], ATTACK_MEMORY_BYTES), 0);
	say(a, VFU_DMA_MAP, &map, sizeof(map), &a->pool[0]);
	put32(a, VFU_PCI_CONFIG, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	put32(a, VFU_PCI_BAR0, 0x10, 0);
	put32(a, VFU_PCI_BAR0, 0x14, rnic_cpu_to_be32((uint32_t)map.iova).raw);
	take_answer(a);
	if (attack_below(a, 8) == 0)
		assert_int_equal(ftruncate(a->pool[0], 0), 0);
	put32(a, VFU_PCI_BAR0, 0x18, rnic_cpu_to_be32(1u << attack_below(a, 32)).raw);
	if (attack_below(a, 8) == 0)
		put32(a, VFU_PCI_CONFIG, EXPRESS + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
}

static void
stateful(struct attack *a)
{
	unsigned int n = 1 + attack_below(a, 400), i;

	call(a);
	if (attack_below(a, 20) != 0)
		attack_send(a, VFU_VERSION);
	for (i = 0; i < n && !hung_up(a); i++) {
		attack_send(a, attack_command(a));
		if (attack_below(a, 4) != 0)
			take_answer(a);
		if (attack_below(a, 8) == 0)
			change_memory(a);
		if (attack_below(a, 8) == 0)
			have_memory_read(a);
		if (a->messages % ASK_EVERY == 0)
			ask_the_innocent_one(a);
	}
}

static void
stateless(struct attack *a)
{
	unsigned int n = 1 + attack_below(a, 20), i;

	call(a);
	if (attack_below(a, 2) != 0)
		attack_send(a, VFU_VERSION);
	for (i = 0; i < n; i++)
		attack_noise(a);
	ask_the_innocent_one(a);
	attack_read(a);
}

/* Everything that it did is undone, and a client with manners finds a device as after power-on. */
static void
assert_as_before(unsigned int fds)
{
	struct vfu_client *next;
	uint16_t command = 1;

	assert_true(daemon_has_fds(&d, fds));
	next = client_connect(d.sockets[0]);
	assert_int_equal(
		vfu_client_region_read(next, PCI_REGION, PCI_COMMAND, &command, sizeof(command)),
		0);
	assert_int_equal(command, 0);
	vfu_client_close(next);
	assert_true(daemon_has_fds(&d, fds));
}

/* The log hears a chatty device again when it has been silent for two seconds: then this, which one of its lines is about soon. */
static void
be_heard(struct attack *a)
{
	call(a);
	attack_send(a, VFU_VERSION);
	usleep(QUIET_US);
	for (unsigned int i = 0; i < 40 && !hung_up(a); i++)
		have_memory_read(a);
}

/* It would prove little if all had been refused. Which of a chatty device's lines are logged, is chance. */
static bool
said_enough(const struct attack *a)
{
	return a->messages >= how_many();
}

static bool
did_enough(const struct attack *a)
{
	return said_enough(a) && daemon_has_logged(&d, "function level reset") &&
	       daemon_has_logged(&d, "vanished");
}

static void
run(uint64_t seed, void (*session)(struct attack *a), bool (*enough)(const struct attack *a),
    struct attack *a)
{
	unsigned int fds = daemon_fds(&d), ours = count_fds();

	attack_open(a, seed);
	a->spots = spots;
	a->nspots = sizeof(spots) / sizeof(spots[0]);
	memory = mmap(NULL, ATTACK_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, a->pool[0], 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	asked = late = 0;
	while (!enough(a)) {
		if (said_enough(a))
			be_heard(a);
		session(a);
	}
	assert_in_range(late, 0, 2 + asked / 100);
	hang_up(a);
	munmap(memory, ATTACK_MEMORY_BYTES);
	attack_close(a);
	assert_as_before(fds);
	assert_int_equal(count_fds(), ours);
}

static void
random_sessions_cost_no_other_client(void **state)
{
	static struct attack a;

	(void)state;
	run(1, stateful, did_enough, &a);
	assert_true(a.answers > a.messages / 4);
}

static void
noise_costs_no_other_client(void **state)
{
	static struct attack a;

	(void)state;
	run(2, stateless, said_enough, &a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sessions_cost_no_other_client),
		cmocka_unit_test(noise_costs_no_other_client),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s SOFTRNICD\n", argv[0]);
		return 2;
	}
	daemon_program = argv[1];
	return cmocka_run_group_tests(tests, start, stop);
}
