/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What one client does must not make another one wait. A table of the worst that a client can send, each from one device
 * and from all but one at once, beside a victim that reads registers, sends frames and waits for their events. Asserted is
 * that the victim misses nothing, and the processor time of the daemon's longest look at the sockets, of the longest thing in
 * it that cannot be cut, and of a device's longest round: the machine may be as busy as it likes.
 *
 * Whatever is new in what a client can send belongs into the table.
 */

#include "harness.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "hostile.h"
#include "nic.h"
#include "times.h"

#define HOSTILES     (DAEMON_DEVICES - 1)
#define USUAL_US     1000
#define TRIES	     5 /* the processor's time has its outliers, too */
#define TURNS	     20
#define BURST	     50 /* of small messages in a turn */
#define PATIENCE_S   60
#define EXPRESS	     0x60 /* where that capability stands */
#define UARS_OFFSET  0x10000
#define REGIONS	     1000
#define REGION_BYTES 4096

/*
 * A row: what a client says, again and again. prepare() may be NULL; what it says is answered before. say() is called when
 * all that was said is sent, and says one thing more.
 */
struct row {
	const char *name;
	void (*prepare)(struct hostile *h);
	void (*say)(struct hostile *h);
	unsigned int answers; /* that many at least; 0: TURNS of the victim */
	bool deaf;	      /* takes no answers */
	/* Where USUAL_US do not do, and why. */
	unsigned int round_us, look_us, unit_us;
};

static struct daemon d;
static struct nic victim;
static struct times *times;
static struct hostile hostiles[HOSTILES];
static unsigned int opened;
static uint8_t data[HOSTILE_LONGEST];

/* ---- What is said ---- */

/* As many writes of two bytes as a message holds, of these values in turn. */
static void
say_writes(struct hostile *h, uint64_t offset, uint16_t even, uint16_t odd)
{
	const size_t most =
		(h->longest - sizeof(struct vfu_write_multi)) / sizeof(struct vfu_region_write);
	const struct vfu_write_multi multi = { most };
	struct vfu_region_write write = { offset, VFU_PCI_CONFIG, sizeof(even), { 0 } };

	for (unsigned int i = 0; i < multi.wr_cnt; i++) {
		memcpy(write.data, i % 2 == 0 ? &even : &odd, sizeof(even));
		memcpy(data + i * sizeof(write), &write, sizeof(write));
	}
	hostile_say(h, VFU_REGION_WRITE_MULTI, true, &multi, sizeof(multi), data,
		    multi.wr_cnt * sizeof(write));
}

static void
map_much(struct hostile *h)
{
	for (uint64_t i = 0; i < REGIONS; i++) {
		hostile_map(h, i * 2 * REGION_BYTES, REGION_BYTES, i * REGION_BYTES);
		hostile_finish(h, 0);
	}
	hostile_finish(h, REGIONS);
}

static void
say_bus_master(struct hostile *h)
{
	say_writes(h, PCI_COMMAND, PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY, PCI_COMMAND_MEMORY);
}

static void
say_resets(struct hostile *h)
{
	say_writes(h, EXPRESS + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, PCI_EXP_DEVCTL_BCR_FLR);
}

static void
say_long_write(struct hostile *h)
{
	const struct vfu_region_access access = { UARS_OFFSET, VFU_PCI_BAR0, (uint32_t)h->longest };

	hostile_say(h, VFU_REGION_WRITE, true, &access, sizeof(access), NULL, access.count);
}

static void
say_long_read(struct hostile *h)
{
	const struct vfu_region_access access = { 0, VFU_PCI_BAR0, (uint32_t)h->longest };

	hostile_say(h, VFU_REGION_READ, true, &access, sizeof(access), NULL, 0);
}

/* A socket that is never empty; the vendor's number takes no writes. */
static void
say_small(struct hostile *h)
{
	const struct vfu_region_access access = { PCI_VENDOR_ID, VFU_PCI_CONFIG, 1 };

	for (unsigned int i = 0; i < 1000; i++)
		hostile_say(h, VFU_REGION_WRITE, false, &access, sizeof(access), NULL, 1);
}

/* A file that is mapped, and goes with its only region. */
static void
say_map_or_unmap(struct hostile *h)
{
	const struct vfu_dma_unmap unmap = { .argsz = sizeof(unmap), .size = REGION_BYTES };

	if (h->turn++ % 2 == 0)
		hostile_map(h, 0, REGION_BYTES, 0);
	else
		hostile_say(h, VFU_DMA_UNMAP, true, &unmap, sizeof(unmap), NULL, 0);
}

/* clang-format off */
static const struct row rows[] = {
	{ "bus master, by one message", map_much, say_bus_master, .answers = 2 },
	{ "function level resets, by one message", NULL, say_resets, .answers = 1 },
	{ "long register write", NULL, say_long_write, .answers = 3 },
	{ "long register read", NULL, say_long_read, .answers = 3 },
	{ "slow reader of long answers", NULL, say_long_read, .deaf = true },
	{ "full socket", NULL, say_small },
	{ "mapping storm", NULL, say_map_or_unmap, .answers = 500 },
};
/* clang-format on */

/* ---- The victim ---- */

static bool
victim_heard(struct rnic_eqe *eqe)
{
	for (unsigned int i = 0; i < 6000; i++) {
		if (hn_eq_next(&victim.hn, &victim.eq, eqe))
			return true;
		usleep(i < 200 ? 20 : 10000);
	}
	return false;
}

/* One of everything; each frame's event comes. */
static void
victim_works(void)
{
	struct rnic_eqe eqe;
	uint32_t id = 0;

	assert_int_equal(vfu_client_region_read(client_of(victim.hn.dev), PCI_REGION, PCI_VENDOR_ID,
						&id, sizeof(id)),
			 0);
	assert_int_equal(id, 0x101715b3);
	nic_arm(&victim);
	nic_send(&victim);
	assert_true(nic_sent(&victim));
	assert_true(victim_heard(&eqe));
	hn_eq_arm(&victim.hn, &victim.eq);
}

/* ---- The runs ---- */

static void
times_forget(void)
{
	for (unsigned int i = 0; i < TIMES_KINDS; i++) {
		atomic_store(&times->of[i].count, 0);
		atomic_store(&times->of[i].longest_ns, 0);
	}
}

static unsigned int
longest_us(enum times_of kind)
{
	return (unsigned int)(atomic_load(&times->of[kind].longest_ns) / 1000);
}

static bool
sanitized(void)
{
	const char *sanitizer = getenv("RDMAPMD_SANITIZER");

	return sanitizer != NULL && strcmp(sanitizer, "none") != 0;
}

static unsigned int
limit_us(const struct row *row, enum times_of kind)
{
	unsigned int own = kind == TIMES_ROUND	? row->round_us
			   : kind == TIMES_LOOK ? row->look_us
						: row->unit_us;

	return (own != 0 ? own : USUAL_US) * (sanitized() ? 20 : 1);
}

static bool
enough(const struct row *row, unsigned int turns)
{
	if (row->answers == 0)
		return turns >= TURNS;
	for (unsigned int i = 0; i < opened; i++) {
		if (hostiles[i].answers < row->answers)
			return false;
	}
	return true;
}

/* As much as the socket takes. */
static void
go_on(const struct row *row, struct hostile *h)
{
	for (unsigned int i = 0; i < BURST && hostile_push(h); i++)
		row->say(h);
	if (!row->deaf)
		hostile_take(h);
	assert_int_equal(h->refusals, 0);
}

static void
run_once(const struct row *row, unsigned int n)
{
	const time_t end = time(NULL) + PATIENCE_S;
	unsigned int turns = 0;

	for (opened = 0; opened < n; opened++) {
		struct hostile *h = &hostiles[opened];

		hostile_open(h, d.sockets[opened]);
		if (row->prepare != NULL)
			row->prepare(h);
		assert_int_equal(h->refusals, 0);
		h->answers = 0;
	}
	victim_works();
	times_forget();
	while (!enough(row, turns++)) {
		assert_true(time(NULL) < end);
		for (unsigned int i = 0; i < n; i++)
			go_on(row, &hostiles[i]);
		victim_works();
	}
	printf("# %2u x %s: round %u us, look %u us, unit %u us\n", n, row->name,
	       longest_us(TIMES_ROUND), longest_us(TIMES_LOOK), longest_us(TIMES_UNIT));
}

static void
hang_up(void)
{
	while (opened > 0)
		hostile_close(&hostiles[--opened]);
}

/* @return which kind took longer than it may, or TIMES_KINDS. */
static enum times_of
beyond_limit(const struct row *row)
{
	enum times_of kind = 0;

	while (kind < TIMES_KINDS && longest_us(kind) <= limit_us(row, kind))
		kind++;
	return kind;
}

static void
run(const struct row *row, unsigned int n)
{
	static const char *const names[] = { "round of a device", "look at the sockets",
					     "unit of a look" };
	enum times_of kind = 0;

	for (unsigned int i = 0; i < TRIES && kind < TIMES_KINDS; i++) {
		run_once(row, n);
		kind = beyond_limit(row);
		hang_up();
	}
	if (kind < TIMES_KINDS)
		fail_msg("%s, from %u: the longest %s took %u us of the processor, at most %u",
			 row->name, n, names[kind], longest_us(kind), limit_us(row, kind));
	/* A daemon in which nothing is timed would do so well. */
	for (kind = 0; kind < TIMES_KINDS; kind++)
		assert_true(atomic_load(&times->of[kind].count) > 0);
}

static void
row_test(void **state)
{
	run(*state, 1);
	/* A sanitizer looks for mistakes, and takes its time. */
	run(*state, sanitized() ? HOSTILES / 4 : HOSTILES);
}

static int
row_end(void **state)
{
	(void)state;
	hang_up();
	return 0;
}

static int
start(void **state)
{
	static char names[DAEMON_DEVICES][8];
	const char *devices[DAEMON_DEVICES + 1] = { NULL };
	int fd = memfd_create("times", 0);
	char number[16];

	(void)state;
	if (fd < 0 || ftruncate(fd, sizeof(*times)) != 0)
		return -1;
	times = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (times == MAP_FAILED)
		return -1;
	snprintf(number, sizeof(number), "%d", fd);
	setenv(TIMES_ENV, number, 1);
	for (unsigned int i = 0; i < DAEMON_DEVICES; i++) {
		snprintf(names[i], sizeof(names[i]), "name=%u", i);
		devices[i] = names[i];
	}
	daemon_start(&d, devices);
	close(fd);
	nic_open(&victim, d.sockets[HOSTILES]);
	hn_eq_arm(&victim.hn, &victim.eq);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	nic_close(&victim);
	daemon_stop(&d);
	daemon_clean(&d);
	return 0;
}

int
main(int argc, char **argv)
{
	struct CMUnitTest tests[sizeof(rows) / sizeof(rows[0])] = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: %s SOFTRNICD\n", argv[0]);
		return 2;
	}
	daemon_program = argv[1];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tests[i] = (struct CMUnitTest){
			.name = rows[i].name,
			.test_func = row_test,
			.teardown_func = row_end,
			.initial_state = (void *)(uintptr_t)&rows[i],
		};
	return cmocka_run_group_tests_name("neighbour", tests, start, stop);
}
