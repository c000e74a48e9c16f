/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_log.h>
#include <rte_malloc.h>

#include "access/direct.h"
#include "base/log.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "core/health.h"
#include "core/pages.h"
#include "object/port.h"

struct unit_watch unit_watch;

/* What devices are opened with, and what all tests begin with. */
static struct rnic_tunables tunables, usual;

struct rnic_tunables *
unit_tunables(void)
{
	static bool in_use;

	if (!in_use) {
		tunables = *rnic_tunables_in_use();
		/* Threads that have no CPU for a while are no fault. */
		tunables.sync_patience_s = 60;
		tunables.close_ms = 60000;
		rnic_tunables_use(&tunables);
		in_use = true;
	}
	return &tunables;
}

int
unit_restore(void **state)
{
	(void)state;
	tunables = usual;
	rnic_bringup_hook = NULL;
	return 0;
}

static unsigned int
free_hugepages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned int pages = 0;

	if (f != NULL) {
		if (fscanf(f, "%u", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages;
}

static bool
hugetlbfs_mounted(void)
{
	FILE *f = fopen("/proc/mounts", "r");
	char line[512];
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = strstr(line, " hugetlbfs ") != NULL;
	if (f != NULL)
		fclose(f);
	return found;
}

int
unit_main(int argc, char **argv, int (*run)(void))
{
	char *no_huge[] = { argv[0], (char *)"--no-huge", (char *)"-m", (char *)"128",
			    (char *)"--no-shconf" };
	char *common[] = { (char *)"--no-pci", (char *)"--no-telemetry", (char *)"--lcores=0@(0-1)",
			   (char *)"--log-level=*:critical" };
	char *args[32];
	int n = 0, i, rc;

	if (argc > 1) {
		if (free_hugepages() < 64) {
			printf("1..0 # SKIP 64 free hugepages of 2 MiB are needed: "
			       "sysctl vm.nr_hugepages=256\n");
			return 0;
		}
		if (strcmp(argv[1], "--in-memory") != 0 && !hugetlbfs_mounted()) {
			printf("1..0 # SKIP no hugetlbfs is mounted: mount -t hugetlbfs none "
			       "/dev/hugepages\n");
			return 0;
		}
		for (i = 0; i < argc && n < 16; i++)
			args[n++] = argv[i];
	} else {
		for (i = 0; i < (int)RTE_DIM(no_huge); i++)
			args[n++] = no_huge[i];
	}
	for (i = 0; i < (int)RTE_DIM(common); i++)
		args[n++] = common[i];
	/* RNIC_TEST_LOG=1 shows what the driver says. */
	if (getenv("RNIC_TEST_LOG") != NULL)
		args[n - 1] = (char *)"--log-level=pmd.net.rnic.driver:debug";
	args[n] = NULL;
	if (rte_eal_init(n, args) < 0) {
		fprintf(stderr, "EAL does not start\n");
		return 1;
	}
	usual = *unit_tunables();
	rc = run();
	rte_eal_cleanup();
	return rc;
}

static unsigned int
open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

void
unit_account_take(struct unit_account *account)
{
	struct rte_malloc_socket_stats stats;
	int socket;

	*account = (struct unit_account){ .fds = open_fds() };
	for (socket = 0; socket < RTE_MAX_NUMA_NODES; socket++) {
		if (rte_malloc_get_socket_stats(socket, &stats) != 0)
			continue;
		account->heap_bytes += stats.heap_allocsz_bytes;
		account->heap_blocks += stats.alloc_count;
	}
}

void
unit_account_assert_same(const struct unit_account *before)
{
	struct unit_account after;

	unit_account_take(&after);
	assert_int_equal(after.heap_blocks, before->heap_blocks);
	assert_int_equal(after.heap_bytes, before->heap_bytes);
	assert_int_equal(after.fds, before->fds);
}

int
unit_open(void **state)
{
	struct rnic_dev *dev = NULL;
	int rc = rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, &dev);

	*state = dev;
	return rc;
}

int
unit_close(void **state)
{
	rnic_dev_close(*state);
	return unit_restore(state);
}

struct softrnic *
unit_softrnic(struct rnic_dev *dev)
{
	return rnic_access_direct_device(dev->access);
}

uint32_t
unit_objects(struct rnic_dev *dev)
{
	struct softrnic_stats stats;

	softrnic_stats_get(unit_softrnic(dev), &stats);
	return stats.objects;
}

void
unit_refuse(struct rnic_dev *dev, uint16_t opcode, uint8_t status)
{
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_COMMAND_STATUS,
		       (uint64_t)opcode << 8 | status);
}

void
unit_refuse_nothing(struct rnic_dev *dev)
{
	softrnic_fault(unit_softrnic(dev), SOFTRNIC_FAULT_NONE, 0);
}

static bool
link_is(struct rnic_dev *dev, bool wanted)
{
	uint32_t speed;
	bool up;

	assert_int_equal(rnic_port_link(dev, &up, &speed), 0);
	return up == wanted;
}

void
unit_wait_for_link(struct rnic_dev *dev, bool up)
{
	if (!UNIT_COMES(link_is(dev, up)))
		fail_msg("the link does not go %s", up ? "up" : "down");
}

atomic_uint unit_losses;

static void
count_loss(void *arg)
{
	(void)arg;
	atomic_fetch_add(&unit_losses, 1);
}

void
unit_watch_for_loss(struct rnic_dev *dev)
{
	atomic_store(&unit_losses, 0);
	rnic_on_lost(dev, RNIC_LOST_ETHDEV, count_loss, NULL);
}

/* ---- What the driver says ---- */

static struct {
	FILE *stream;
	char *text;
	size_t size;
} heard;

void
unit_listen(uint32_t level)
{
	heard.stream = open_memstream(&heard.text, &heard.size);
	assert_non_null(heard.stream);
	assert_int_equal(rte_log_set_level((uint32_t)rnic_logtype, level), 0);
	rte_openlog_stream(heard.stream);
}

/* The driver's threads write while we read, and the text may move then: not without the lock. */
unsigned int
unit_said(const char *what)
{
	unsigned int times = 0;
	const char *at;

	flockfile(heard.stream);
	fflush(heard.stream);
	for (at = heard.text; (at = strstr(at, what)) != NULL; at++)
		times++;
	funlockfile(heard.stream);
	return times;
}

void
unit_listen_no_more(void)
{
	rte_openlog_stream(NULL);
	assert_int_equal(rte_log_set_level((uint32_t)rnic_logtype, RTE_LOG_CRIT), 0);
	fclose(heard.stream);
	if (getenv("RNIC_TEST_LOG") != NULL)
		fputs(heard.text, stderr);
	free(heard.text);
}

/* ---- Watched devices ---- */

static int
watch_hook(struct rnic_dev *dev, const char *stage, bool up)
{
	if (up && strcmp(stage, "wait until initialized") == 0 && unit_watch.prepare != NULL)
		unit_watch.prepare(unit_softrnic(dev));
	if (!up && strcmp(stage, "access") == 0) {
		softrnic_stats_get(unit_softrnic(dev), &unit_watch.stats);
		unit_watch.maps = dev->access->maps;
		unit_watch.ended = true;
	}
	if (up && unit_watch.fail_at != NULL && strcmp(stage, unit_watch.fail_at) == 0)
		return -ENOEXEC;
	return 0;
}

void
unit_watch_begin(void)
{
	unit_watch.ended = false;
	unit_watch.maps = UINT32_MAX;
	unit_watch.stats = (struct softrnic_stats){ 0 };
	rnic_bringup_hook = watch_hook;
}

int
unit_watched_open(struct rnic_dev **dev)
{
	unit_watch_begin();
	return rnic_dev_open(UNIT_DEVICE, "", SOCKET_ID_ANY, dev);
}

void
unit_watch_assert_clean(void)
{
	assert_true(unit_watch.ended);
	assert_int_equal(unit_watch.stats.pages_held, 0);
	assert_int_equal(unit_watch.stats.objects, 0);
	assert_int_equal(unit_watch.stats.dma_maps, 0);
	assert_int_equal(unit_watch.maps, 0);
}

int
unit_watched_setup(void **state)
{
	struct rnic_dev *dev = NULL;
	int rc;

	unit_watch = (struct unit_watch){ 0 };
	rc = unit_watched_open(&dev);
	*state = dev;
	return rc;
}

int
unit_watched_close(void **state)
{
	rnic_dev_close(*state);
	unit_watch_assert_clean();
	return unit_restore(state);
}

void
unit_wait_for_pages(struct rnic_dev *dev, uint32_t expected)
{
	struct softrnic_stats stats;

	if (!UNIT_COMES((softrnic_stats_get(unit_softrnic(dev), &stats),
			 rnic_pages_held(dev) == expected && stats.pages_held == expected)))
		fail_msg("%u pages expected, driver %u, device %u", expected, rnic_pages_held(dev),
			 stats.pages_held);
}

/* ---- Planted registers ---- */

const struct rnic_access_ops *unit_registers;
static struct rnic_access_ops planted, with;

static int
plant_hook(struct rnic_dev *dev, const char *stage, bool up)
{
	if (!up || strcmp(stage, "command queue") != 0)
		return 0;
	unit_registers = dev->access->ops;
	with = *unit_registers;
	if (planted.read32 != NULL)
		with.read32 = planted.read32;
	if (planted.write32 != NULL)
		with.write32 = planted.write32;
	dev->access->ops = &with;
	return 0;
}

void
unit_plant(struct rnic_be32 (*read32)(struct rnic_access *access, uint64_t offset),
	   void (*write32)(struct rnic_access *access, uint64_t offset, struct rnic_be32 value))
{
	planted.read32 = read32;
	planted.write32 = write32;
	rnic_bringup_hook = plant_hook;
}
