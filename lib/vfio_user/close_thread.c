/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The queue is a pipe of descriptor numbers: the thread sleeps in read(), needs no lock, and works in a sandbox that permits read()
 * and close(). It may never return from a close(), so no thread ever waits for it, and the last of the object's two users frees it.
 *
 * Mappings to make or to unmap are in lists that the thread takes as a whole; the pipe only announces them, by a number that is no
 * descriptor. A user with both mappings and close() calls that may wait for ever needs two of these objects.
 *
 * An eventfd counts each mapping that was requested, wanted or not, so that the server knows how many are still to come.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "close_thread.h"
#include "fd.h"

#define VFU_CLOSE_THREAD_STACK_BYTES (256 << 10)
/* Unmapped at once: half a millisecond for pages that were used. */
#define VFU_UNMAP_PIECE_BYTES (UINT64_C(32) << 20)
/* Populated at once, before the thread checks whether the mapping is still wanted. */
#define VFU_POPULATE_PIECE_BYTES (UINT64_C(32) << 20)
/* Files of at most that much memory are closed by the caller. */
#define VFU_CLOSE_HERE_BYTES (UINT64_C(1) << 20)

#define VFU_CLOSE_THREAD_MAPPINGS (-1) /* instead of a descriptor */

struct vfu_close_thread {
	atomic_uint pending; /* given and not closed */
	atomic_uint users;   /* the thread, and who made it */
	atomic_bool running;
	_Atomic(struct vfu_mapping *) wanted; /* to be mapped */
	atomic_uint files;		      /* ... and not yet */
	/* to be unmapped, and how much that is, including what the thread is unmapping */
	_Atomic(struct vfu_mapping *) mappings;
	struct vfu_mappings unmapped; /* the thread's own: it has taken these */
	atomic_ullong mapped_bytes;
	atomic_uint mapped_count;
	unsigned int mapped_max;
	int in;
	int out;
	int done;	   /* counts what was mapped */
	uint64_t expected; /* mappings requested and not counted yet; the server's */
};

static void
vfu_close_thread_put(struct vfu_close_thread *close_thread)
{
	if (atomic_fetch_sub(&close_thread->users, 1) > 1)
		return;
	close(close_thread->out);
	close(close_thread->done);
	free(close_thread);
}

static void
vfu_populate(struct vfu_mapping *mapping)
{
	const int advice = mapping->prot & PROT_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uint64_t piece = VFU_POPULATE_PIECE_BYTES, at, left;

	if (piece < mapping->page_bytes)
		piece = mapping->page_bytes;
	for (at = 0; at < mapping->length && atomic_load(&mapping->state) != VFU_UNWANTED;
	     at += piece) {
		left = mapping->length - at;
		if (madvise(mapping->address + at, left < piece ? left : piece, advice) == 0)
			continue;
		mapping->error = -errno;
		return;
	}
}

static void
vfu_map(struct vfu_mapping *mapping)
{
	struct stat st;
	/* No reservation: hugepages are the client's to reserve. */
	void *address = mmap(NULL, mapping->length, mapping->prot, MAP_SHARED | MAP_NORESERVE,
			     mapping->fd, (off_t)mapping->offset);

	if (address == MAP_FAILED) {
		mapping->error = -ENOMEM;
		return;
	}
	mapping->address = address;
	/* Children of the host do not inherit a client's memory. */
	madvise(address, mapping->length, MADV_DONTFORK);
	/* Each page is zeroed at its first touch: a millisecond for 16 MiB. */
	if (mapping->populate && fstat(mapping->fd, &st) == 0 && vfu_is_hugepages(mapping->fd, &st))
		vfu_populate(mapping);
}

/* The server then continues with it, or has gone. */
static void
vfu_close_thread_map_one(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping)
{
	enum vfu_mapping_state state = VFU_MAPPING;
	const uint64_t one = 1;

	if (atomic_load(&mapping->state) != VFU_UNWANTED)
		vfu_map(mapping);
	close(mapping->fd);
	if (!atomic_compare_exchange_strong(&mapping->state, &state, VFU_MAPPED))
		SLIST_INSERT_HEAD(&close_thread->unmapped, mapping, next);
	atomic_fetch_sub(&close_thread->files, 1);
	/* The counter cannot overflow. */
	if (write(close_thread->done, &one, sizeof(one)) < 0)
		return;
}

static void
vfu_close_thread_map_all(struct vfu_close_thread *close_thread)
{
	/* Pairs with vfu_close_thread_push(). */
	struct vfu_mapping *mapping = atomic_exchange(&close_thread->wanted, NULL), *next;

	for (; mapping != NULL; mapping = next) {
		next = SLIST_NEXT(mapping, next);
		vfu_close_thread_map_one(close_thread, mapping);
	}
}

/* close_thread: the thread that runs this, or NULL. A request to map waits for one piece of this mapping at most. */
static void
vfu_unmap(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping)
{
	uint64_t piece = VFU_UNMAP_PIECE_BYTES, at;

	if (piece < mapping->page_bytes)
		piece = mapping->page_bytes;
	for (at = 0; mapping->address != NULL && mapping->length - at > piece; at += piece) {
		if (munmap(mapping->address + at, piece) != 0)
			break;
		if (close_thread != NULL)
			vfu_close_thread_map_all(close_thread);
	}
	if (mapping->address != NULL)
		munmap(mapping->address + at, mapping->length - at);
	free(mapping);
}

static void
vfu_close_thread_unmap_one(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping)
{
	uint64_t bytes = mapping->length;

	vfu_unmap(close_thread, mapping);
	atomic_fetch_sub(&close_thread->mapped_bytes, bytes);
	atomic_fetch_sub(&close_thread->mapped_count, 1);
}

static void
vfu_close_thread_do(struct vfu_close_thread *close_thread, int fd)
{
	struct vfu_mapping *mapping, *next;

	vfu_close_thread_map_all(close_thread);
	/* Pairs with vfu_close_thread_push(). */
	for (mapping = atomic_exchange(&close_thread->mappings, NULL); mapping != NULL;
	     mapping = next) {
		next = SLIST_NEXT(mapping, next);
		SLIST_INSERT_HEAD(&close_thread->unmapped, mapping, next);
	}
	while ((mapping = SLIST_FIRST(&close_thread->unmapped)) != NULL) {
		SLIST_REMOVE_HEAD(&close_thread->unmapped, next);
		vfu_close_thread_unmap_one(close_thread, mapping);
		vfu_close_thread_map_all(close_thread);
	}
	/* The server is done with it: pairs with vfu_close_thread_close(). The pipe orders it for all but tools. */
	if (fd != VFU_CLOSE_THREAD_MAPPINGS && atomic_load(&close_thread->pending) > 0) {
		close(fd);
		atomic_fetch_sub(&close_thread->pending, 1);
	}
}

static void *
vfu_close_thread_run(void *arg)
{
	struct vfu_close_thread *close_thread = arg;
	ssize_t n;
	int fd;

	atomic_store(&close_thread->running, true);
	do {
		n = read(close_thread->out, &fd, sizeof(fd));
		if (n == sizeof(fd))
			vfu_close_thread_do(close_thread, fd);
	} while (n == sizeof(fd) || (n < 0 && errno == EINTR));
	vfu_close_thread_put(close_thread);
	return NULL;
}

static int
vfu_close_thread_start(struct vfu_close_thread *close_thread)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, VFU_CLOSE_THREAD_STACK_BYTES);
	/* The host handles signals in threads of its own. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = -pthread_create(&thread, &attributes, vfu_close_thread_run, close_thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	/* A sandbox that the host enters next may deny system calls of a thread's start. */
	while (rc == 0 && !atomic_load(&close_thread->running))
		sched_yield();
	return rc;
}

static int
vfu_close_thread_open(struct vfu_close_thread *close_thread)
{
	int ends[2], rc;

	close_thread->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (close_thread->done < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		rc = -errno;
		close(close_thread->done);
		return rc;
	}
	close_thread->out = ends[0];
	close_thread->in = ends[1];
	rc = fcntl(close_thread->in, F_SETFL, O_NONBLOCK) != 0
		     ? -errno
		     : vfu_close_thread_start(close_thread);
	if (rc != 0) {
		close(close_thread->in);
		close(close_thread->out);
		close(close_thread->done);
	}
	return rc;
}

int
vfu_close_thread_create(struct vfu_close_thread **out, unsigned int regions)
{
	struct vfu_close_thread *close_thread = calloc(1, sizeof(*close_thread));
	int rc;

	if (close_thread == NULL)
		return -ENOMEM;
	atomic_init(&close_thread->users, 2);
	SLIST_INIT(&close_thread->unmapped);
	close_thread->mapped_max =
		regions < VFU_CLOSE_THREAD_MAPPED ? regions : VFU_CLOSE_THREAD_MAPPED;
	rc = vfu_close_thread_open(close_thread);
	if (rc != 0) {
		free(close_thread);
		return rc;
	}
	*out = close_thread;
	return 0;
}

void
vfu_close_thread_destroy(struct vfu_close_thread *close_thread)
{
	if (close_thread == NULL)
		return;
	close(close_thread->in);
	vfu_close_thread_put(close_thread);
}

/* Closing the last descriptor of a file frees its pages one by one. */
static bool
vfu_closes_soon(int fd)
{
	struct stat st;

	return vfu_is_memory_file(fd) && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_blocks * 512 <= VFU_CLOSE_HERE_BYTES;
}

bool
vfu_close_thread_close(struct vfu_close_thread *close_thread, int fd)
{
	if (close_thread == NULL || vfu_closes_soon(fd)) {
		close(fd);
		return false;
	}
	atomic_fetch_add(&close_thread->pending, 1);
	/* The pipe has room for more than the limit; a descriptor that does not fit would stay open and counted. */
	return write(close_thread->in, &fd, sizeof(fd)) != 0;
}

/* Hand mappings to the thread, to be mapped or unmapped. */
static void
vfu_close_thread_push(struct vfu_close_thread *close_thread, _Atomic(struct vfu_mapping *) *list,
		      struct vfu_mapping *first, struct vfu_mapping *last)
{
	struct vfu_mapping *before = atomic_load(list);
	const int some = VFU_CLOSE_THREAD_MAPPINGS;

	do
		SLIST_NEXT(last, next) = before;
	while (!atomic_compare_exchange_weak(list, &before, first));
	/* If the list was not empty, or the pipe is full, the thread still has something to read. */
	if (before == NULL && write(close_thread->in, &some, sizeof(some)) < 0)
		return;
}

int
vfu_close_thread_map(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping, int fd)
{
	mapping->fd = fd;
	if (close_thread == NULL) {
		vfu_map(mapping);
		return 0;
	}
	/* The client may leave meanwhile, which closes the message's descriptors. */
	mapping->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (mapping->fd < 0)
		return -ENOMEM;
	atomic_store(&mapping->state, VFU_MAPPING);
	atomic_fetch_add(&close_thread->files, 1);
	close_thread->expected++;
	vfu_close_thread_push(close_thread, &close_thread->wanted, mapping, mapping);
	return 0;
}

int
vfu_close_thread_fd(const struct vfu_close_thread *close_thread)
{
	return close_thread->done;
}

void
vfu_close_thread_look(struct vfu_close_thread *close_thread)
{
	uint64_t mapped;

	if (close_thread != NULL && close_thread->expected > 0 &&
	    read(close_thread->done, &mapped, sizeof(mapped)) == sizeof(mapped))
		close_thread->expected -= mapped;
}

void
vfu_close_thread_abandon(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping)
{
	enum vfu_mapping_state state = VFU_MAPPING;

	if (close_thread == NULL ||
	    (atomic_load(&mapping->state) == VFU_MAPPED && mapping->address == NULL)) {
		vfu_unmap(NULL, mapping);
		return;
	}
	atomic_fetch_add(&close_thread->mapped_bytes, mapping->length);
	atomic_fetch_add(&close_thread->mapped_count, 1);
	if (!atomic_compare_exchange_strong(&mapping->state, &state, VFU_UNWANTED))
		vfu_close_thread_push(close_thread, &close_thread->mappings, mapping, mapping);
}

void
vfu_close_thread_unmap(struct vfu_close_thread *close_thread, struct vfu_mappings *mappings)
{
	struct vfu_mapping *first = SLIST_FIRST(mappings), *last = NULL, *mapping;
	unsigned int count = 0;
	uint64_t bytes = 0;

	SLIST_FOREACH(mapping, mappings, next) {
		bytes += mapping->length;
		count++;
		last = mapping;
	}
	/* However short, it may be the last mapping of a long file. */
	if (close_thread == NULL || first == NULL) {
		while ((mapping = SLIST_FIRST(mappings)) != NULL) {
			SLIST_REMOVE_HEAD(mappings, next);
			vfu_unmap(NULL, mapping);
		}
		return;
	}
	SLIST_INIT(mappings);
	atomic_fetch_add(&close_thread->mapped_bytes, bytes);
	atomic_fetch_add(&close_thread->mapped_count, count);
	vfu_close_thread_push(close_thread, &close_thread->mappings, first, last);
}

bool
vfu_close_thread_behind(const struct vfu_close_thread *close_thread)
{
	return close_thread != NULL &&
	       (atomic_load(&close_thread->mapped_bytes) >= VFU_CLOSE_THREAD_MAPPED_BYTES ||
		atomic_load(&close_thread->mapped_count) >= close_thread->mapped_max ||
		atomic_load(&close_thread->files) >= VFU_CLOSE_THREAD_FILES);
}

bool
vfu_close_thread_full(const struct vfu_close_thread *close_thread)
{
	return close_thread != NULL &&
	       atomic_load(&close_thread->pending) >= VFU_CLOSE_THREAD_LIMIT;
}
