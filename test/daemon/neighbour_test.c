/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What one client does must not make another one wait. A table of the worst that a client can send, beside a victim that
 * reads registers, sends frames and waits for their events: each from one device, and from all but one at once. What a driver
 * builds first takes its time, so by default those rows are from one device only. Asserted is that the victim misses nothing,
 * and the processor time of the daemon's longest look at the sockets, of the longest thing in it that cannot be cut, and of a
 * device's longest round: the machine may be as busy as it likes.
 *
 * Whatever is new in what a client can send belongs into the table.
 */

#include "harness.h"

#include <errno.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "hostile.h"
#include "latency.h"
#include "nic.h"
#include "rogue.h"
#include "times.h"
#include "worlds.h"
#include "../counts.h"

#define USUAL_US     1000
#define UNIT_US	     5000 /* with what cannot be cut: doc/design/neighbours.md has a list of it */
#define TRIES	     5	  /* the processor's time has its outliers, too */
#define TURNS	     20
#define TURNS_TIMED  2000 /* where the victim's time is taken, too */
#define TURNS_SLOW   200
#define TURNS_MANY   4 /* ... from fifteen of whom each keeps the others waiting */
#define LATE_TIMES   10u
#define BURST	     50 /* of small messages in a turn */
#define PATIENCE_S   60
#define EXPRESS	     0x60 /* where that capability stands */
#define UARS_OFFSET  0x10000
#define REGIONS	     1000
#define REGION_BYTES 4096
#define PUNCHED_MANY 60 /* mappings, with --full */
#define PUNCHED_MUCH (64u << 20)
#define PUNCHED_MAPS 4
#define PUNCHED	     (1u << 20)
#define PUNCHES	     8

/*
 * A row: what a client says, again and again, or what a driver has its device do. prepare() may be NULL; what it says is
 * answered before. say() is called when all that was said is sent, and says one thing more.
 */
struct row {
	const char *name;
	void (*prepare)(struct hostile *h);
	void (*say)(struct hostile *h);
	unsigned int answers; /* that many at least; 0: TURNS of the victim */
	bool deaf;	      /* takes no answers */
	bool refused;	      /* may be, when the daemon is behind */
	/* Instead of the two: build() may be NULL, and then work() is given one that has no session. */
	void (*build)(struct rogue *r);
	void (*work)(struct rogue *r);
	bool once; /* until each is done */
	enum world world;
	unsigned int turns; /* of the victim, at least; 0: TURNS */
	bool slow;	    /* a turn takes many milliseconds: fewer of them are timed */
	/* Where USUAL_US do not do, and why. */
	unsigned int round_us, look_us, unit_us;
};

static struct daemon d;
static enum world world;
static struct nic victim;
static struct hn_eq victim_ports;
static bool victim_link;
static struct times *times;
static struct hostile hostiles[NEIGHBOURS];
static struct rogue rogues[NEIGHBOURS];
static unsigned int opened, opened_rogues;
static unsigned int built_us[TIMES_KINDS]; /* the longest while they were opened */
static struct latencies quiet, seen; /* of the victim, beside idle neighbours and in this run */
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

/* Whoever maps or unmaps the file waits for the one who punches it. One of fifteen does: that takes a processor. */
static void
punch(struct hostile *h)
{
	if (opened == 0)
		hostile_punch(h, full_run() ? PUNCHED_MUCH : PUNCHED,
			      full_run() ? PUNCHED_MANY : PUNCHED_MAPS);
}

static void
say_next_map_or_unmap(struct hostile *h)
{
	if (h->answers == h->turn)
		say_map_or_unmap(h);
}

/* clang-format off */
static const struct row rows[] = {
	{ "bus master, by one message", map_much, say_bus_master, .answers = 2 },
	{ "function level resets, by one message", NULL, say_resets, .answers = 1 },
	{ "long register write", NULL, say_long_write, .answers = 3 },
	{ "long register read", NULL, say_long_read, .answers = 3 },
	{ "slow reader of long answers", NULL, say_long_read, .deaf = true },
	{ "full socket", NULL, say_small },
	{ "mapping storm", NULL, say_map_or_unmap, .answers = 500, .refused = true, .turns = 10 },
	{ "punched while it is mapped", punch, say_next_map_or_unmap, .answers = 20 },
	{ "lists of keys", .build = rogue_build_lists, .work = rogue_work_lists, .round_us = UNIT_US },
	{ "lists of keys, both ways", .build = rogue_build_lists_both_ways, .work = rogue_work_lists, .round_us = UNIT_US },
	{ "longest key", .build = rogue_build_long_key, .work = rogue_work_long_key, .round_us = UNIT_US },
	{ "key of many small maps", .build = rogue_build_small_maps, .work = rogue_work_small_maps },
	{ "longest ring", .build = rogue_build_long_ring, .work = rogue_work_long_ring, .round_us = UNIT_US },
	{ "many long rings", .build = rogue_build_many_rings, .work = rogue_work_many_rings, .round_us = UNIT_US },
	{ "longest output", .build = rogue_build_long_output, .work = rogue_work_long_output },
	{ "rung queues", .build = rogue_build_queues, .work = rogue_work_queues },
	{ "key storm in a full table", .build = rogue_build_keys, .work = rogue_work_keys, .look_us = UNIT_US, .unit_us = UNIT_US },
	{ "flow tables", .build = rogue_build_flows, .work = rogue_work_flows },
	{ "flow entries that are alike", .build = rogue_build_alike, .work = rogue_work_alike, .round_us = UNIT_US },
	{ "reset of a full device", .build = rogue_build_full, .work = rogue_work_full, .once = true },
	{ "first touches", .build = rogue_build_first_touches, .work = rogue_work_first_touches, .round_us = UNIT_US },
	{ "unmap of much that was touched", .build = rogue_build_much, .work = rogue_work_unmap, .once = true },
	{ "end of who touched much", .build = rogue_build_much, .work = rogue_work_leave, .once = true },
	{ "truncation", .work = rogue_work_truncation, .turns = 3, .round_us = UNIT_US },
	{ "truncation of much that was touched", .work = rogue_work_truncation_of_much, .turns = 1, .round_us = UNIT_US },
	{ "link flaps", .build = rogue_build_flaps, .work = rogue_work_flaps, .world = WORLD_PAIRS },
	{ "answers that end many requests", .build = rogue_build_answers, .work = rogue_work_answers, .once = true, .round_us = UNIT_US },
	{ "deadlines of many queue pairs", .build = rogue_build_deadlines, .work = rogue_work_deadlines, .once = true, .round_us = UNIT_US },
	{ "watched queue pairs and maps", .build = rogue_build_deadlines, .work = rogue_work_watched, .once = true, .slow = true, .round_us = UNIT_US, .look_us = UNIT_US, .unit_us = UNIT_US },
	{ "queue pairs and lists of keys", .build = rogue_build_rdma_lists, .work = rogue_work_rdma_lists, .once = true, .slow = true, .round_us = UNIT_US },
	{ "all parts of a round", .build = rogue_build_all_parts, .work = rogue_work_all_parts, .slow = true, .round_us = UNIT_US },
	{ "broadcasts from ethdevs", .build = rogue_build_flood, .work = rogue_work_flood, .once = true, .world = WORLD_PORTS },
	{ "broadcasts from captures", .build = rogue_build_flood, .work = rogue_work_flood, .once = true, .world = WORLD_CAPTURES },
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

/* What it was told last; each that is told makes room for the next one. */
static void
victim_looks_at_its_link(void)
{
	struct rnic_eqe eqe;

	while (hn_eq_next(&victim.hn, &victim_ports, &eqe)) {
		victim_link = eqe.sub_type == RNIC_PORT_CHANGE_ACTIVE;
		hn_eq_arm(&victim.hn, &victim_ports);
	}
}

/* One of everything; each frame's event comes. */
static void
victim_works(void)
{
	struct rnic_eqe eqe;
	struct latency_start start;
	uint32_t id = 0;

	start = latency_begin();
	assert_int_equal(vfu_client_region_read(client_of(victim.hn.dev), PCI_REGION, PCI_VENDOR_ID,
						&id, sizeof(id)),
			 0);
	latency_end(&seen, LATENCY_READ, start);
	assert_int_equal(id, 0x101715b3);
	nic_arm(&victim);
	start = latency_begin();
	nic_send(&victim);
	assert_true(nic_sent(&victim));
	latency_end(&seen, LATENCY_FRAME, start);
	assert_true(victim_heard(&eqe));
	hn_eq_arm(&victim.hn, &victim.eq);
	victim_looks_at_its_link();
}

/* However often it went, and whoever did not listen: the last state comes. */
static void
victim_hears_that_the_link_is_down(void)
{
	for (unsigned int i = 0; victim_link; i++) {
		assert_true(i < 6000);
		usleep(i < 200 ? 20 : 10000);
		victim_looks_at_its_link();
	}
}

/* ---- The runs ---- */

static void
begin_world(enum world wanted)
{
	world = wanted;
	world_start(&d, world);
	latency_of_daemon(d.pid);
	nic_open(&victim, d.sockets[NEIGHBOURS]);
	hn_eq_arm(&victim.hn, &victim.eq);
	hn_create_eq(&victim.hn, &victim_ports, victim.eq.uar, 6,
		     UINT64_C(1) << RNIC_EVENT_PORT_CHANGE, NIC_VECTOR);
	victim_link = false;
}

static void
end_world(void)
{
	nic_close(&victim);
	world_stop(&d);
}

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

static unsigned int
patience(void)
{
	if (sanitized_run())
		return 20;
	/* Where faults are slow, all that changes page tables is: maps, unmaps, signals of pages that vanish. */
	return times->fault_ns > 0 ? 4 : 1;
}

static unsigned int
limit_us(const struct row *row, enum times_of kind)
{
	unsigned int own = kind == TIMES_ROUND	? row->round_us
			   : kind == TIMES_LOOK ? row->look_us
						: row->unit_us;

	return (own != 0 ? own : USUAL_US) * patience();
}

static bool
is_timed(unsigned int n)
{
	return full_run() && !sanitized_run() && n == 1;
}

static unsigned int
turns_of(const struct row *row, unsigned int n)
{
	if (row->turns > 0)
		return row->turns;
	if (is_timed(n))
		return row->slow ? TURNS_SLOW : TURNS_TIMED;
	if (row->slow && n > 1)
		return TURNS_MANY;
	return row->answers > 0 ? 0 : TURNS;
}

static bool
enough(const struct row *row, unsigned int n, unsigned int turns)
{
	if (turns < turns_of(row, n))
		return false;
	for (unsigned int i = 0; i < opened; i++) {
		if (hostiles[i].answers < row->answers ||
		    (hostiles[i].puncher > 0 && atomic_load(hostiles[i].punches) < PUNCHES))
			return false;
	}
	for (unsigned int i = 0; row->once && i < opened_rogues; i++) {
		if (!rogues[i].done)
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
	assert_true(h->refusals == 0 || row->refused);
}

static void
open_hostiles(const struct row *row, unsigned int n)
{
	for (opened = 0; opened < n; opened++) {
		struct hostile *h = &hostiles[opened];

		hostile_open(h, d.sockets[opened]);
		if (row->prepare != NULL)
			row->prepare(h);
		assert_int_equal(h->refusals, 0);
		h->answers = 0;
	}
}

static void
open_rogues(const struct row *row, unsigned int n)
{
	while (opened_rogues < n) {
		struct rogue *r = &rogues[opened_rogues];

		*r = (struct rogue){ .socket = d.sockets[opened_rogues++],
				     .many = n > 1 || sanitized_run(),
				     .fd = -1 };
		if (row->build == NULL)
			continue;
		rogue_open(r, r->socket, r->many);
		row->build(r);
	}
}

static void
run_once(const struct row *row, unsigned int n)
{
	unsigned int turns = 0;
	time_t end;

	times_forget();
	if (row->work == NULL)
		open_hostiles(row, n);
	else
		open_rogues(row, n);
	victim_works();
	for (unsigned int i = 0; i < TIMES_KINDS; i++)
		built_us[i] = longest_us(i);
	times_forget();
	latencies_forget(&seen);
	end = time(NULL) + PATIENCE_S;
	while (!enough(row, n, turns++)) {
		assert_true(time(NULL) < end);
		for (unsigned int i = 0; i < opened; i++)
			go_on(row, &hostiles[i]);
		for (unsigned int i = 0; i < opened_rogues; i++)
			row->work(&rogues[i]);
		victim_works();
	}
	printf("# %2u x %s: round %u us, look %u us, unit %u us; before: %u, %u, %u us\n", n,
	       row->name, longest_us(TIMES_ROUND), longest_us(TIMES_LOOK), longest_us(TIMES_UNIT),
	       built_us[TIMES_ROUND], built_us[TIMES_LOOK], built_us[TIMES_UNIT]);
}

static void
hang_up(void)
{
	while (opened > 0)
		hostile_close(&hostiles[--opened]);
	while (opened_rogues > 0)
		rogue_close(&rogues[--opened_rogues]);
}

/* @return what took longer than it may, a bit for each kind at work, and behind them one for each before it. */
static unsigned int
beyond_limit(const struct row *row)
{
	unsigned int beyond = 0;

	for (enum times_of kind = 0; kind < TIMES_KINDS; kind++) {
		if (longest_us(kind) > limit_us(row, kind))
			beyond |= 1u << kind;
		if (built_us[kind] > UNIT_US * patience())
			beyond |= 1u << (TIMES_KINDS + kind);
	}
	return beyond;
}

/* By the clock on the wall: beside one neighbour that does nothing. */
static void
measure_quiet(void)
{
	rogue_open(&rogues[0], d.sockets[0], false);
	opened_rogues = 1;
	latencies_forget(&seen);
	for (unsigned int i = 0; i < TURNS_TIMED; i++)
		victim_works();
	hang_up();
	quiet = seen;
}

/*
 * For what the victim waited many times as long as beside an idle neighbour, a bit each. A unit that cannot be cut it may
 * have waited for, besides.
 */
static unsigned int
what_is_late(const struct row *row)
{
	static const char *const names[] = { "register read", "frame" };
	static const unsigned int parts[] = { 999, 1000 };
	const uint64_t unit_ns = UINT64_C(1000) * row->round_us;
	unsigned int late = 0;

	for (unsigned int kind = 0; kind < LATENCY_KINDS; kind++) {
		for (unsigned int i = 0; i < 2; i++) {
			uint64_t usual = latency_of(&quiet, kind, parts[i]);
			uint64_t now = latency_of(&seen, kind, parts[i]);

			printf("#    %s, %s: %u us, beside an idle neighbour %u us\n", names[kind],
			       i == 0 ? "99.9 %" : "worst", (unsigned int)(now / 1000),
			       (unsigned int)(usual / 1000));
			if (now > LATE_TIMES * usual + unit_ns)
				late |= 1u << (kind * 2 + i);
		}
	}
	return late;
}

static void
run(const struct row *row, unsigned int n)
{
	static const char *const names[] = { "round of a device", "look at the sockets",
					     "unit of a look" };
	const bool timed = is_timed(n);
	unsigned int beyond = UINT_MAX, late = timed ? UINT_MAX : 0;
	enum times_of kind;

	/* What is late once may have waited for something else of this machine; what is late each time has not. */
	for (unsigned int i = 0; i < TRIES && (beyond != 0 || late != 0); i++) {
		if (timed)
			measure_quiet();
		run_once(row, n);
		beyond &= beyond_limit(row);
		if (timed)
			late &= what_is_late(row);
		hang_up();
		victim_hears_that_the_link_is_down();
	}
	if (beyond != 0) {
		kind = (enum times_of)(__builtin_ctz(beyond) % TIMES_KINDS);
		fail_msg("%s, from %u: the longest %s took %u us of the processor, at most %u; "
			 "before, %u us, at most %u",
			 row->name, n, names[kind], longest_us(kind), limit_us(row, kind),
			 built_us[kind], UNIT_US * patience());
	}
	if (late != 0)
		fail_msg("%s: the victim waited more than %u times as long as usually", row->name,
			 LATE_TIMES);
	/* A daemon in which nothing is timed would do so well. */
	for (kind = 0; kind < TIMES_KINDS; kind++)
		assert_true(atomic_load(&times->of[kind].count) > 0);
}

static void
row_test(void **state)
{
	const struct row *row = *state;

	if (row->world != world) {
		end_world();
		begin_world(row->world);
	}
	run(row, 1);
	/* What is built is as long from one; what fifteen of it do together is left to --all. */
	if (default_run() && row->build != NULL)
		return;
	/* A sanitizer looks for mistakes, and takes its time. */
	run(row, sanitized_run() ? NEIGHBOURS / 4 : NEIGHBOURS);
}

static int
row_end(void **state)
{
	(void)state;
	hang_up();
	return 0;
}

/* What a page takes that is touched first: the least of some times, as others may have the processor in between. */
static uint64_t
fault_ns(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 512;
	uint64_t took, least = UINT64_MAX;
	struct timespec from, to;

	for (unsigned int i = 0; i < 8; i++) {
		uint8_t *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return 0;
		madvise(memory, pages * page, MADV_NOHUGEPAGE);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (size_t at = 0; at < pages * page; at += page)
			memory[at] = 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		munmap(memory, pages * page);
		took = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (uint64_t)to.tv_nsec -
		       (uint64_t)from.tv_nsec;
		if (took / pages < least)
			least = took / pages;
	}
	return least;
}

static int
start(void **state)
{
	uint64_t fault;
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
	/* meson has malloc() fill what it gives, which is most of the time that 8 MiB of a key take. */
	unsetenv("MALLOC_PERTURB_");
	fault = fault_ns();
	times->fault_ns = fault > TIMES_FAULT_NS ? fault - TIMES_FAULT_NS : 0;
	printf("# a page that is touched first takes %u ns here\n", (unsigned int)fault);
	begin_world(WORLD_LOOPS);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	end_world();
	return 0;
}

int
main(int argc, char **argv)
{
	struct CMUnitTest tests[sizeof(rows) / sizeof(rows[0])] = { 0 };

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: %s SOFTRNICD [ROW, with * and ?]\n", argv[0]);
		return 2;
	}
	cmocka_set_test_filter(argv[2]);
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
