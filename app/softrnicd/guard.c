/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Why the handler may do what it does. SIGBUS comes synchronously, out of a load or store to client memory, and all
 * such accesses are made by the thread that polls the client's device, in the device's code: never while a guard of that thread's is
 * being changed, as that touches no client memory, and never while malloc() or stdio hold a lock, as those are not
 * given client memory. Guards of other threads are passed by. So what the handler reads is whole. It calls mmap() and mremap() as bare system
 * calls, which keep no state in the process, tfind(), which only reads, and sets plain members that are read after the
 * access is over.
 *
 * It returns: the kernel then repeats the access, which finds memory. That is simpler and safer than to jump out of
 * the device with siglongjmp(), which would leave its lock held and its objects half changed. The device is told to find
 * no more of the client's memory: what it goes on to touch is what it had found for the frame that it is at.
 *
 * It replaces a piece, as what goes with it is unmapped then and there: of all that the device ever touched in gigabytes
 * that would take a tenth of a second and more. The device comes to no more pieces than the frame has that it is at.
 *
 * No client can make it fail. The memory to replace a piece may be refused (vm.overcommit_memory=2, for which MAP_NORESERVE
 * means nothing; RLIMIT_AS; the number of mappings): then the whole mapping becomes one of a file of ours, which is as long
 * as a client's may be, and empty. That takes neither address space nor memory nor a mapping more than there was. A page
 * that even such a file cannot have when it is touched becomes the one page of the file that it has had from the start; of
 * these there are no more than a frame has pieces.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard.h"
#include "log.h"
#include "softrnic/softrnic.h"

#define GUARD_FIRST_ROOM  64
#define GUARD_FILE_BYTES  (1ll << 42) /* as much of a client's as lib/vfio_user maps */
#define GUARD_STACK_BYTES (128 << 10)
#define GUARD_PIECE_BYTES ((size_t)64 << 10)

/* What mmap() made of a client's file; regions lie in it. */
struct guard_mapping {
	uint8_t *address;
	size_t length;
	size_t piece; /* that is replaced at a time: a hugepage is not cut */
	uint64_t holes;
	unsigned int regions;
	bool is_file; /* ... of ours by now */
};

static LIST_HEAD(, guard) guards = LIST_HEAD_INITIALIZER(guards);
static uintptr_t guard_page = 4096;
static _Thread_local unsigned int guard_thread;

/* ---- In the handler: nothing but what is said above ---- */

/* key is an address alone, node is a mapping, and they are never alike but where the one lies in the other. */
static int
guard_order(const void *key, const void *node)
{
	const struct guard_mapping *wanted = key, *mapping = node;

	if (wanted->address < mapping->address)
		return -1;
	return (size_t)(wanted->address - mapping->address) >= mapping->length;
}

static struct guard_mapping *
guard_mapping_of(const struct guard *guard, uint8_t *address)
{
	const struct guard_mapping wanted = { .address = address };
	struct guard_mapping *const *found = tfind(&wanted, &guard->mappings, guard_order);

	return found == NULL ? NULL : *found;
}

/*
 * Made elsewhere and moved there: mmap() with MAP_FIXED would first remove what is there and then ask whether it may have
 * the memory, and if it may not, nothing would be left there to fault on.
 */
static bool
guard_put_memory(uint8_t *address, size_t length)
{
	long made = syscall(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (made == -1)
		return false;
	if (syscall(SYS_mremap, made, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, address) ==
	    (long)address)
		return true;
	syscall(SYS_munmap, made, length);
	return false;
}

/* The piece around that address. */
static bool
guard_put_piece(const struct guard_mapping *mapping, uintptr_t fault)
{
	size_t at = (fault - (uintptr_t)mapping->address) & ~(mapping->piece - 1);
	size_t left = mapping->length - at;

	return guard_put_memory(mapping->address + at,
				left < mapping->piece ? left : mapping->piece);
}

/* The file holds a page at its start, so one that is put there is never missing. */
static bool
guard_put_file(const struct guard *guard, uintptr_t address, size_t length)
{
	return syscall(SYS_mmap, address, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		       guard->fd, 0) == (long)address;
}

static bool
guard_replace(struct guard *guard, struct guard_mapping *mapping, uintptr_t fault)
{
	if (mapping->is_file)
		return guard_put_file(guard, fault & ~(guard_page - 1), guard_page);
	if (guard_put_piece(mapping, fault))
		return true;
	guard->file_used = true;
	mapping->is_file = true;
	return guard_put_file(guard, (uintptr_t)mapping->address, mapping->length);
}

static void
guard_handler(int signal, siginfo_t *info, void *context)
{
	static const char lost[] = "softrnicd: SIGBUS outside of any client's memory: end\n";
	int saved = errno;
	struct guard_mapping *mapping;
	struct guard *guard;

	(void)signal;
	(void)context;
	LIST_FOREACH(guard, &guards, next) {
		if (guard->thread != guard_thread)
			continue;
		mapping = guard_mapping_of(guard, info->si_addr);
		if (mapping == NULL)
			continue;
		if (!guard_replace(guard, mapping, (uintptr_t)info->si_addr))
			break;
		if (!guard->faulted)
			guard->fault = info->si_addr;
		guard->faulted = 1;
		softrnic_dma_vanished(guard->rnic);
		errno = saved;
		return;
	}
	/* To return would be to fault again, for ever. */
	log_last_words(lost, sizeof(lost) - 1);
	_exit(1);
}

/* ---- Outside of it ---- */

/* The stack grows when it is touched, and what it grows by may be refused, too. */
static void __attribute__((noinline)) guard_touch_stack(void)
{
	volatile char stack[GUARD_STACK_BYTES];
	size_t i;

	for (i = 0; i < sizeof(stack); i += 1024)
		stack[i] = 0;
}

int
guard_install(void)
{
	struct sigaction action = { .sa_sigaction = guard_handler, .sa_flags = SA_SIGINFO };

	guard_page = sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) != 0 ? -errno : 0;
}

void
guard_enter_thread(unsigned int thread)
{
	guard_thread = thread;
	guard_touch_stack();
}

/* The file as it was made: the first page, of zeroes, and nothing else. */
static int
guard_empty_file(struct guard *guard)
{
	static const char zeroes[4096];
	size_t at;

	if (ftruncate(guard->fd, (off_t)guard_page) != 0)
		return -errno;
	for (at = 0; at < guard_page; at += sizeof(zeroes)) {
		if (pwrite(guard->fd, zeroes, sizeof(zeroes), (off_t)at) != sizeof(zeroes))
			return errno != 0 ? -errno : -ENOSPC;
	}
	return ftruncate(guard->fd, GUARD_FILE_BYTES) != 0 ? -errno : 0;
}

int
guard_join(struct guard *guard, struct softrnic *rnic, unsigned int thread)
{
	int rc;

	guard_page = sysconf(_SC_PAGESIZE);
	guard->fd = memfd_create("softrnicd-vanished", MFD_CLOEXEC);
	rc = guard->fd < 0 ? -errno : guard_empty_file(guard);
	if (rc != 0) {
		if (guard->fd >= 0)
			close(guard->fd);
		return rc;
	}
	guard->rnic = rnic;
	guard->thread = thread;
	LIST_INSERT_HEAD(&guards, guard, next);
	return 0;
}

void
guard_leave(struct guard *guard)
{
	if (guard->rnic == NULL)
		return;
	LIST_REMOVE(guard, next);
	guard_clear(guard);
	close(guard->fd);
	guard->rnic = NULL;
}

/* A region more in its mapping. */
static int
guard_mapping_get(struct guard *guard, const struct guard_region *region)
{
	struct guard_mapping *mapping = guard_mapping_of(guard, region->mapping);

	if (mapping == NULL) {
		mapping = malloc(sizeof(*mapping));
		if (mapping == NULL)
			return -ENOMEM;
		*mapping = (struct guard_mapping){
			.address = region->mapping,
			.length = region->mapping_length,
			.piece = region->mapping_page > GUARD_PIECE_BYTES ? region->mapping_page
									  : GUARD_PIECE_BYTES,
			.holes = region->mapping_holes,
		};
		if (tsearch(mapping, &guard->mappings, guard_order) == NULL) {
			free(mapping);
			return -ENOMEM;
		}
		guard->holes += mapping->holes;
	}
	mapping->regions++;
	return 0;
}

static void
guard_mapping_put(struct guard *guard, const struct guard_region *region)
{
	struct guard_mapping *mapping = guard_mapping_of(guard, region->mapping);

	if (mapping == NULL || --mapping->regions > 0)
		return;
	guard->holes -= mapping->holes;
	tdelete(mapping, &guard->mappings, guard_order);
	free(mapping);
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
	int rc;

	if (guard->count == guard->room) {
		unsigned int room = guard->room == 0 ? GUARD_FIRST_ROOM : guard->room * 2;
		struct guard_region *regions =
			realloc(guard->regions, room * sizeof(*guard->regions));

		if (regions == NULL)
			return -ENOMEM;
		guard->regions = regions;
		guard->room = room;
	}
	rc = guard_mapping_get(guard, region);
	if (rc != 0)
		return rc;
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
	guard_mapping_put(guard, &guard->regions[at]);
	guard->regions[at].length = 0;
	if (++guard->removed > guard->count / 2)
		guard_pack(guard);
}

void
guard_clear(struct guard *guard)
{
	tdestroy(guard->mappings, free);
	guard->mappings = NULL;
	guard->holes = 0;
	free(guard->regions);
	guard->regions = NULL;
	guard->count = 0;
	guard->removed = 0;
	guard->room = 0;
	guard->faulted = 0;
	/* What it was given to keep is nothing for the next client. */
	if (guard->file_used && guard_empty_file(guard) == 0)
		guard->file_used = false;
}

bool
guard_fault(const struct guard *guard, uint64_t *iova)
{
	unsigned int i;

	if (!guard->faulted)
		return false;
	*iova = 0;
	for (i = 0; i < guard->count; i++) {
		const struct guard_region *region = &guard->regions[i];

		if (guard->fault >= region->address &&
		    (size_t)(guard->fault - region->address) < region->length)
			*iova = region->iova + (uint64_t)(guard->fault - region->address);
	}
	return true;
}
