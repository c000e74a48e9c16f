/* SPDX-License-Identifier: BSD-3-Clause */

/* UAR pages: their memory, and who rings on which. What is rung there is doorbell.c's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softrnic/base/log.h"
#include "softrnic/base/tunables.h"
#include "softrnic/base/uar.h"

#define UAR_SHARED (SOFTRNIC_UAR_BYTES - RNIC_UAR_PAGE_BYTES)
#define UAR_SEALS  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

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
	int fd = memfd_create("softrnic-uar", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd >= 0 && ftruncate(fd, (off_t)(uar_shared_at(dev) + UAR_SHARED)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, UAR_SEALS) == 0)
		return fd;
	rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
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
	struct softrnic_uar_watch *watch = calloc(1, sizeof(*watch));
	void *memory = MAP_FAILED;
	int rc;

	dev->uar_watch = watch;
	if (watch == NULL)
		return -ENOMEM;
	watch->tick = softrnic_tunables.quiet_polls;
	rc = dev->uar_fd = uar_file(dev);
	if (rc < 0)
		goto fail;
	memory = mmap(NULL, SOFTRNIC_UAR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	rc = memory == MAP_FAILED ? -errno : uar_map(dev, memory);
	if (rc != 0)
		goto fail;
	dev->uar_memory = memory;
	return 0;
fail:
	SOFTRNIC_LOG(ERR, dev, "no memory for UAR pages: %s", strerror(-rc));
	if (memory != MAP_FAILED)
		munmap(memory, SOFTRNIC_UAR_BYTES);
	if (dev->uar_fd >= 0)
		close(dev->uar_fd);
	free(dev->uar_watch);
	dev->uar_watch = NULL;
	return rc;
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
 * and used again: they may still be mapped somewhere.
 */
int
softrnic_uar_renew(struct softrnic *dev)
{
	const int fd = uar_file(dev);
	int rc;

	uar_set_file(dev, fd < 0 ? -1 : fd);
	rc = uar_map(dev, dev->uar_memory);
	/* The old ones are still there then. */
	if (rc != 0)
		uar_set_file(dev, -1);
	return fd < 0 ? fd : rc;
}

void
softrnic_uar_fini(struct softrnic *dev)
{
	if (dev->uar_watch == NULL)
		return;
	munmap(dev->uar_memory, SOFTRNIC_UAR_BYTES);
	uar_set_file(dev, -1);
	free(dev->uar_watch);
	dev->uar_watch = NULL;
	dev->uar_memory = NULL;
}

void
softrnic_uar_clear(struct softrnic *dev, uint32_t uar)
{
	struct softrnic_uar_watch *watch = dev->uar_watch;
	uint32_t page = uar - softrnic_first_uar(dev);
	uint32_t at;

	if (page >= SOFTRNIC_UAR_PAGES)
		return;
	for (at = 0; at < RNIC_UAR_PAGE_BYTES; at += 8)
		__atomic_store_n(softrnic_uar_word(dev, page, at), 0, __ATOMIC_RELAXED);
	memset(watch->pages[page].bells, 0, sizeof(watch->pages[page].bells));
	watch->pages[page].arm = 0;
}

uint32_t
softrnic_uar_arms(const struct softrnic *dev, uint32_t uar)
{
	const uint32_t page = uar - softrnic_first_uar(dev);

	return page < SOFTRNIC_UAR_PAGES ? dev->uar_watch->pages[page].arms : 0;
}

void
softrnic_uar_user(struct softrnic *dev, uint32_t uar, int change)
{
	struct softrnic_uar_watch *watch = dev->uar_watch;
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
	struct softrnic_uar_watch *watch = dev->uar_watch;
	uint32_t page = uar - softrnic_first_uar(dev);
	uint64_t seen, *word;

	if (page >= SOFTRNIC_UAR_PAGES)
		return;
	for (uint32_t i = 0; i < SOFTRNIC_UAR_BELLS; i++) {
		word = softrnic_uar_word(dev, page, RNIC_UAR_BLUEFLAME + i * RNIC_BF_HALF_BYTES);
		seen = __atomic_load_n(word, __ATOMIC_RELAXED);
		/* Another queue's driver may store its own meanwhile. */
		if ((uint32_t)RNIC_SWAP64(seen) >> 8 == number &&
		    __atomic_compare_exchange_n(word, &seen, 0, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			watch->pages[page].bells[i] = 0;
	}
}
