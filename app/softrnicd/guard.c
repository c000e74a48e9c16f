/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Why the handler may do what it does. SIGBUS comes synchronously, out of a load or store to client memory, and all
 * such accesses are made by the one thread of this process, in the device's code: never while this file's lists are
 * being changed, as that touches no client memory, and never while malloc() or stdio hold a lock, as those are not
 * given client memory. So the lists are whole when the handler reads them. It calls mmap() and mremap() as bare system
 * calls, which keep no state in the process, and sets two plain members that are read after the access is over.
 *
 * It returns: the kernel then repeats the access, which finds memory. That is simpler and safer than to jump out of
 * the device with siglongjmp(), which would leave its lock held and its objects half changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard.h"
#include "log.h"

#define GUARD_FIRST_ROOM 64

static LIST_HEAD(, guard) guards = LIST_HEAD_INITIALIZER(guards);
static uintptr_t guard_page = 4096;

/* ---- In the handler: nothing but what is said above ---- */

static struct guard_region *
guard_region_of(struct guard *guard, const uint8_t *address)
{
	unsigned int i;

	for (i = 0; i < guard->count; i++) {
		struct guard_region *region = &guard->regions[i];

		if (address >= region->address &&
		    (size_t)(address - region->address) < region->length)
			return region;
	}
	return NULL;
}

/*
 * Made elsewhere and moved there: mmap() with MAP_FIXED would first remove what is there and then ask whether it may have
 * the memory, and if it may not, nothing would be left there to fault on. @return 0 or an errno.
 */
static int
guard_put(uintptr_t start, uintptr_t end)
{
	size_t length = end - start;
	long made = syscall(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int error;

	if (made == -1)
		return errno;
	if (syscall(SYS_mremap, made, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, start) ==
	    (long)start)
		return 0;
	error = errno;
	syscall(SYS_munmap, made, length);
	return error;
}

/*
 * Hugepages can be replaced only as a whole: the kernel says EINVAL, and the file's mapping reaches as far as the rounded
 * range does. Other errors end the attempt, as a rounded range around small pages would be somebody else's.
 */
static bool
guard_put_pages(uintptr_t start, uintptr_t end)
{
	const uintptr_t sizes[] = { guard_page, 2ul << 20, 1ul << 30 };
	unsigned int i;
	int error;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uintptr_t mask = sizes[i] - 1;

		error = guard_put(start & ~mask, (end + mask) & ~mask);
		if (error != EINVAL)
			return error == 0;
	}
	return false;
}

/*
 * The whole region, so that it faults but once. Where memory is limited (vm.overcommit_memory=2, for which MAP_NORESERVE
 * means nothing; RLIMIT_AS) a region may be too large to be had: then the page alone, and others as they fault.
 */
static bool
guard_replace(const struct guard_region *region, const uint8_t *fault)
{
	uintptr_t start = (uintptr_t)region->address;

	return guard_put_pages(start, start + region->length) ||
	       guard_put_pages((uintptr_t)fault, (uintptr_t)fault + 1);
}

static void
guard_handler(int signal, siginfo_t *info, void *context)
{
	static const char lost[] = "softrnicd: SIGBUS outside of any client's memory: end\n";
	int saved = errno;
	struct guard *guard;

	(void)signal;
	(void)context;
	LIST_FOREACH(guard, &guards, next) {
		struct guard_region *region = guard_region_of(guard, info->si_addr);

		if (region == NULL)
			continue;
		if (!guard_replace(region, info->si_addr))
			break;
		guard->fault_iova =
			region->iova + ((const uint8_t *)info->si_addr - region->address);
		guard->faulted = 1;
		errno = saved;
		return;
	}
	/* To return would be to fault again, for ever. */
	log_last_words(lost, sizeof(lost) - 1);
	_exit(1);
}

/* ---- Outside of it ---- */

int
guard_install(void)
{
	struct sigaction action = { .sa_sigaction = guard_handler, .sa_flags = SA_SIGINFO };

	guard_page = sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) != 0 ? -errno : 0;
}

void
guard_join(struct guard *guard)
{
	LIST_INSERT_HEAD(&guards, guard, next);
}

void
guard_leave(struct guard *guard)
{
	LIST_REMOVE(guard, next);
	free(guard->regions);
	guard->regions = NULL;
}

/* Index of the first entry at or behind iova. */
static unsigned int
guard_lower(const struct guard *guard, uint64_t iova)
{
	unsigned int low = 0, high = guard->count;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (guard->regions[middle].iova < iova)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
guard_pack(struct guard *guard)
{
	unsigned int i, kept = 0;

	for (i = 0; i < guard->count; i++) {
		if (guard->regions[i].length > 0)
			guard->regions[kept++] = guard->regions[i];
	}
	guard->count = kept;
	guard->removed = 0;
}

int
guard_add(struct guard *guard, const struct guard_region *region)
{
	unsigned int at;

	if (guard->count == guard->room) {
		unsigned int room = guard->room == 0 ? GUARD_FIRST_ROOM : guard->room * 2;
		struct guard_region *regions =
			realloc(guard->regions, room * sizeof(*guard->regions));

		if (regions == NULL)
			return -ENOMEM;
		guard->regions = regions;
		guard->room = room;
	}
	at = guard_lower(guard, region->iova);
	memmove(&guard->regions[at + 1], &guard->regions[at],
		(guard->count - at) * sizeof(*region));
	guard->regions[at] = *region;
	guard->count++;
	return 0;
}

/* Clients unmap thousands of regions in one go, in rising order: each must not move all that follow. */
void
guard_remove(struct guard *guard, uint64_t iova)
{
	unsigned int at = guard_lower(guard, iova);

	while (at < guard->count && guard->regions[at].iova == iova &&
	       guard->regions[at].length == 0)
		at++;
	if (at == guard->count || guard->regions[at].iova != iova)
		return;
	guard->regions[at].length = 0;
	if (++guard->removed > guard->count / 2)
		guard_pack(guard);
}

void
guard_clear(struct guard *guard)
{
	free(guard->regions);
	guard->regions = NULL;
	guard->count = 0;
	guard->removed = 0;
	guard->room = 0;
	guard->faulted = 0;
}

bool
guard_fault(const struct guard *guard, uint64_t *iova)
{
	if (!guard->faulted)
		return false;
	*iova = guard->fault_iova;
	return true;
}
