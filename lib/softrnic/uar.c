/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * UAR pages: which queue rang?
 *
 * Drivers store doorbells to mapped memory: the device sees them by looking. It looks at the words of pages where
 * queues live; a word that changed names its queue in the second dword, and that queue joins the active list. There
 * an SQ is polled through its doorbell record, register unseen, until it has been idle for a while; a queue pair leaves at
 * once, and its record is watched for a while (qp/watch.c). Two drivers' threads
 * that share a page overwrite each other's words; a sweep of a few doorbell records per poll finds what got lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "prm/uar.h"
#include "qp/qp.h"
#include "softrnic_tunables.h"
#include "work.h"

#define UAR_BELLS      (RNIC_BF_REGS_PER_UAR * 2) /* halves of BlueFlame registers */
#define UAR_BYTES      ((size_t)SOFTRNIC_UAR_PAGES * RNIC_UAR_PAGE_BYTES)
#define UAR_SHARED     (UAR_BYTES - RNIC_UAR_PAGE_BYTES)
#define UAR_SEALS      (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define UAR_IDLE_POLLS 512 /* until an SQ leaves the active list */
#define UAR_LOOK_EVERY 8   /* polls, while some queue is active */
#define UAR_QUIET      32  /* polls without work, from when on each of them looks */
#define UAR_SWEEP      2   /* records per look */
#define UAR_PAGES      64  /* pages per look, of 9 lines each */

struct uar_page {
	uint64_t bells[UAR_BELLS]; /* as last seen */
	uint64_t arm;
	uint32_t users; /* queues that ring here */
};

struct uar_watch {
	struct uar_page pages[SOFTRNIC_UAR_PAGES];
	uint16_t used[SOFTRNIC_UAR_PAGES]; /* the pages with users */
	uint32_t used_count;
	uint32_t next; /* of those, where the next look begins */
	uint32_t tick;
};

static uint64_t *
uar_word(const struct softrnic *dev, uint32_t page, uint32_t offset)
{
	return (uint64_t *)(dev->uar_memory + (size_t)page * RNIC_UAR_PAGE_BYTES + offset);
}

static uint64_t
uar_load(const struct softrnic *dev, uint32_t page, uint32_t offset)
{
	/* Pairs with the driver's doorbell store: its record is visible then. */
	return RNIC_SWAP64(__atomic_load_n(uar_word(dev, page, offset), __ATOMIC_ACQUIRE));
}

/* Where those that can be mapped begin, in the file as in the BAR. */
static size_t
uar_shared_at(const struct softrnic *dev)
{
	return ((size_t)softrnic_first_uar(dev) + 1) * RNIC_UAR_PAGE_BYTES;
}

/* Its size is sealed: who shortened it would fault the device. @return -errno: none. */
static int
uar_file(const struct softrnic *dev)
{
	int fd = memfd_create("softrnic-uar", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;

	if (fd >= 0 && ftruncate(fd, (off_t)(uar_shared_at(dev) + UAR_SHARED)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, UAR_SEALS) == 0)
		return fd;
	ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Pages of dev->uar_fd, or without a file of our own, in place of those that stand there. */
static int
uar_map(struct softrnic *dev, uint8_t *memory)
{
	const int flags = MAP_FIXED | (dev->uar_fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
	const off_t at = dev->uar_fd >= 0 ? (off_t)uar_shared_at(dev) : 0;

	return mmap(memory + RNIC_UAR_PAGE_BYTES, UAR_SHARED, PROT_READ | PROT_WRITE, flags,
		    dev->uar_fd, at) == MAP_FAILED
		       ? -errno
		       : 0;
}

/*
 * The first page stays private to the device (its registers work through the BAR only); the others are a memfd that
 * can be handed to drivers. Both stand in one range of addresses. The file has the offsets of the BAR, as a host that
 * shows the BAR as one file with a hole needs it.
 */
int
softrnic_uar_init(struct softrnic *dev)
{
	struct uar_watch *watch = calloc(1, sizeof(*watch));
	void *memory = MAP_FAILED;
	int ret;

	dev->uar_watch = watch;
	if (watch == NULL)
		return -ENOMEM;
	watch->tick = softrnic_tunables.quiet_polls;
	ret = dev->uar_fd = uar_file(dev);
	if (ret < 0)
		goto fail;
	memory = mmap(NULL, UAR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ret = memory == MAP_FAILED ? -errno : uar_map(dev, memory);
	if (ret != 0)
		goto fail;
	dev->uar_memory = memory;
	return 0;
fail:
	SOFTRNIC_LOG(ERR, dev, "no memory for UAR pages: %s", strerror(-ret));
	if (memory != MAP_FAILED)
		munmap(memory, UAR_BYTES);
	if (dev->uar_fd >= 0)
		close(dev->uar_fd);
	free(dev->uar_watch);
	dev->uar_watch = NULL;
	return ret;
}

static void
uar_set_file(struct softrnic *dev, int fd)
{
	if (dev->uar_fd >= 0)
		close(dev->uar_fd);
	dev->uar_fd = fd;
}

/*
 * Who has the old ones mapped keeps them, and no store goes from there to the device, or the other way. They are never cleared
 * and used again: nobody can tell whether they are still mapped somewhere.
 */
int
softrnic_uar_renew(struct softrnic *dev)
{
	const int fd = uar_file(dev);
	int ret;

	uar_set_file(dev, fd < 0 ? -1 : fd);
	ret = uar_map(dev, dev->uar_memory);
	/* The old ones are still there then. */
	if (ret != 0)
		uar_set_file(dev, -1);
	return fd < 0 ? fd : ret;
}

void
softrnic_uar_fini(struct softrnic *dev)
{
	if (dev->uar_watch == NULL)
		return;
	munmap(dev->uar_memory, UAR_BYTES);
	uar_set_file(dev, -1);
	free(dev->uar_watch);
	dev->uar_watch = NULL;
	dev->uar_memory = NULL;
}

void
softrnic_uar_clear(struct softrnic *dev, uint32_t uar)
{
	struct uar_watch *watch = dev->uar_watch;
	uint32_t page = uar - softrnic_first_uar(dev);
	uint32_t at;

	if (page >= SOFTRNIC_UAR_PAGES)
		return;
	for (at = 0; at < RNIC_UAR_PAGE_BYTES; at += 8)
		__atomic_store_n(uar_word(dev, page, at), 0, __ATOMIC_RELAXED);
	memset(watch->pages[page].bells, 0, sizeof(watch->pages[page].bells));
	watch->pages[page].arm = 0;
}

void
softrnic_uar_user(struct softrnic *dev, uint32_t uar, int change)
{
	struct uar_watch *watch = dev->uar_watch;
	uint32_t page = uar - softrnic_first_uar(dev);
	uint32_t i;

	if (page >= SOFTRNIC_UAR_PAGES)
		return;
	watch->pages[page].users += (uint32_t)change;
	if (change > 0 && watch->pages[page].users == 1)
		watch->used[watch->used_count++] = (uint16_t)page;
	if (watch->pages[page].users > 0)
		return;
	for (i = 0; i < watch->used_count; i++) {
		if (watch->used[i] == page) {
			watch->used[i] = watch->used[--watch->used_count];
			return;
		}
	}
}

void
softrnic_uar_forget(struct softrnic *dev, uint32_t uar, uint32_t number)
{
	struct uar_watch *watch = dev->uar_watch;
	uint32_t page = uar - softrnic_first_uar(dev);
	uint64_t seen, *word;

	if (page >= SOFTRNIC_UAR_PAGES)
		return;
	for (uint32_t i = 0; i < UAR_BELLS; i++) {
		word = uar_word(dev, page, RNIC_UAR_BLUEFLAME + i * RNIC_BF_HALF_BYTES);
		seen = __atomic_load_n(word, __ATOMIC_RELAXED);
		/* Another queue's driver may store its own meanwhile. */
		if ((uint32_t)RNIC_SWAP64(seen) >> 8 == number &&
		    __atomic_compare_exchange_n(word, &seen, 0, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			watch->pages[page].bells[i] = 0;
	}
}

static void
uar_ring(struct softrnic *dev, uint64_t bell)
{
	dev->stats.doorbells++;
	/* Their numbers have ranges of their own. */
	softrnic_sq_doorbell(dev, (uint32_t)bell >> 8);
	softrnic_qp_doorbell(dev, (uint32_t)bell >> 8);
}

static void
uar_look(struct softrnic *dev, uint32_t index)
{
	struct uar_watch *watch = dev->uar_watch;
	struct uar_page *page = &watch->pages[index];
	uint64_t word;
	uint32_t i;

	for (i = 0; i < UAR_BELLS; i++) {
		word = uar_load(dev, index, RNIC_UAR_BLUEFLAME + i * RNIC_BF_HALF_BYTES);
		if (word != page->bells[i]) {
			page->bells[i] = word;
			uar_ring(dev, word);
		}
	}
	word = uar_load(dev, index, RNIC_UAR_CQ_ARM);
	if (word != page->arm) {
		page->arm = word;
		dev->stats.doorbells++;
		softrnic_cq_arm_doorbell(dev, (uint32_t)(word >> 32), (uint32_t)word);
	}
}

/* Of many pages some, and the others in the next looks. */
static void
uar_look_around(struct softrnic *dev)
{
	struct uar_watch *watch = dev->uar_watch;
	uint32_t count = watch->used_count < UAR_PAGES ? watch->used_count : UAR_PAGES;

	for (; count > 0; count--) {
		if (watch->next >= watch->used_count)
			watch->next = 0;
		uar_look(dev, watch->used[watch->next++]);
	}
}

/*
 * A record that is ahead of its queue at two visits in a row, without a doorbell in between, lost its doorbell: one
 * visit alone may have come between the driver's two stores.
 */
static void
uar_sweep_sq(struct softrnic *dev)
{
	struct softrnic_sq *sq = TAILQ_FIRST(&dev->swept_sqs);
	uint32_t producer;

	if (sq == NULL)
		return;
	if (TAILQ_NEXT(sq, sweep_link) != NULL) {
		TAILQ_REMOVE(&dev->swept_sqs, sq, sweep_link);
		TAILQ_INSERT_TAIL(&dev->swept_sqs, sq, sweep_link);
	}
	if (sq->active || !softrnic_dbrec_read(dev, &sq->dbrec, 1, &producer) ||
	    (uint16_t)producer == sq->consumer || (uint16_t)producer == sq->producer) {
		sq->suspect = false;
		return;
	}
	if (!sq->suspect) {
		sq->suspect = true;
		return;
	}
	sq->suspect = false;
	dev->stats.doorbells_missed++;
	softrnic_sq_doorbell(dev, sq->object.number);
}

/*
 * Each active SQ has its turn, as far as the device's budget for a poll goes: thousands of queues, each with large sends,
 * would have those who wait for the poller wait for seconds. Those that had their turn then go behind the others.
 */
static unsigned int
uar_poll_sqs(struct softrnic *dev)
{
	const uint64_t now = softrnic_now_ns();
	struct softrnic_sq *sq, *next, *first;
	unsigned int done = 0, looks = 0, n;

	dev->now = now - dev->power_on_ns;
	softrnic_share_begin(dev, now + SOFTRNIC_SHARE_NS);
	for (sq = TAILQ_FIRST(&dev->active_sqs);
	     sq != NULL && looks < SOFTRNIC_IDLE_LOOKS && !softrnic_share_is_over(dev); sq = next) {
		next = TAILQ_NEXT(sq, active_link);
		n = softrnic_sq_poll(dev, sq);
		done += n;
		looks += n == 0;
		if (n > 0) {
			sq->idle = 0;
		} else if (++sq->idle >= UAR_IDLE_POLLS) {
			sq->active = false;
			TAILQ_REMOVE(&dev->active_sqs, sq, active_link);
		}
	}
	while (sq != NULL && (first = TAILQ_FIRST(&dev->active_sqs)) != sq) {
		TAILQ_REMOVE(&dev->active_sqs, first, active_link);
		TAILQ_INSERT_TAIL(&dev->active_sqs, first, active_link);
	}
	return done;
}

unsigned int
softrnic_uar_poll(struct softrnic *dev)
{
	struct uar_watch *watch = dev->uar_watch;
	bool busy = !TAILQ_EMPTY(&dev->active_sqs) || !TAILQ_EMPTY(&dev->active_qps) ||
		    dev->qp_watch.count > 0;
	uint32_t i;

	/* Who polls a quiet device may be about to sleep between two polls. */
	if (!busy || dev->quiet_polls > UAR_QUIET || ++watch->tick % UAR_LOOK_EVERY == 0) {
		uar_look_around(dev);
		softrnic_share_begin(dev, 0);
		for (i = 0; i < UAR_SWEEP; i++)
			uar_sweep_sq(dev);
		softrnic_qp_sweep(dev, UAR_SWEEP);
		softrnic_rq_sweep(dev, UAR_SWEEP);
		softrnic_cq_sweep(dev);
		/* SQs have the next turn: there is no sweep then, as the device is busy. */
		if (softrnic_round_is_over(dev))
			return 1;
	}
	return TAILQ_EMPTY(&dev->active_sqs) ? 0 : uar_poll_sqs(dev);
}

/* What a store to [offset, offset + 8) of a page means, once its second half is there. */
static void
uar_written(struct softrnic *dev, uint32_t index, uint32_t offset, uint64_t word)
{
	struct uar_watch *watch = dev->uar_watch;
	struct uar_page *page = &watch->pages[index];

	if (offset == RNIC_UAR_CQ_ARM) {
		page->arm = word;
		dev->stats.doorbells++;
		softrnic_cq_arm_doorbell(dev, (uint32_t)(word >> 32), (uint32_t)word);
	} else if (offset >= RNIC_UAR_BLUEFLAME && offset % RNIC_BF_HALF_BYTES == 0) {
		page->bells[(offset - RNIC_UAR_BLUEFLAME) / RNIC_BF_HALF_BYTES] = word;
		uar_ring(dev, word);
	}
}

int
softrnic_uar_write(struct softrnic *dev, uint64_t offset, const void *data, size_t length)
{
	uint32_t page = (uint32_t)(offset / RNIC_UAR_PAGE_BYTES);
	uint32_t at = offset % RNIC_UAR_PAGE_BYTES;
	uint32_t half;
	uint64_t whole;

	if ((length != 4 && length != 8) || offset % length != 0 || offset >= UAR_BYTES)
		return -EINVAL;
	/* Queues that are being dropped hear nothing any more. */
	if (dev->leaving)
		return 0;
	if (length == 8) {
		memcpy(&whole, data, 8);
		__atomic_store_n(uar_word(dev, page, at), whole, __ATOMIC_RELEASE);
	} else {
		memcpy(&half, data, 4);
		__atomic_store_n((uint32_t *)uar_word(dev, page, at & ~7u) + (at >> 2 & 1), half,
				 __ATOMIC_RELEASE);
	}
	if (at == RNIC_UAR_EQ_ARM || at == RNIC_UAR_EQ_UPDATE) {
		memcpy(&half, data, 4);
		dev->stats.doorbells++;
		softrnic_eq_doorbell(dev, RNIC_SWAP32(half), at == RNIC_UAR_EQ_ARM);
	} else if (length == 8) {
		/* Not loaded again: a store to a mapping may have come in between, and is found by the next look. */
		uar_written(dev, page, at, RNIC_SWAP64(whole));
	} else if (at % 8 == 4) {
		uar_written(dev, page, at & ~7u, uar_load(dev, page, at & ~7u));
	}
	return 0;
}
