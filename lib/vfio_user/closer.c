/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The queue is a pipe of descriptor numbers: its thread sleeps in read(), needs no lock, and a sandbox that permits
 * read() and close() can hold it. It may never come back from a close(), so nobody ever waits for it, and the last of the
 * two who use the object frees it.
 *
 * Mappings, to be made or unmapped, are lists that are taken as a whole; of them the pipe says only that there are
 * some, by a number that is no descriptor's. Who has a close() that may wait for ever and mappings uses two of these objects.
 *
 * For each mapping that was to be made, wanted or not, an eventfd counts one: who looks knows how many have yet to come.
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

#include "closer.h"
#include "fd.h"

#define VFU_CLOSER_STACK_BYTES (256 << 10)
/* So much is unmapped at once: of pages that were used, half a millisecond. */
#define VFU_UNMAP_PIECE_BYTES (UINT64_C(32) << 20)
/* So much is populated at once, before it is asked whether it is still wanted. */
#define VFU_POPULATE_PIECE_BYTES (UINT64_C(32) << 20)
/* No more than this is given back with a file by who asks for it. */
#define VFU_CLOSE_HERE_BYTES (UINT64_C(1) << 20)

#define VFU_CLOSER_MAPPINGS (-1) /* instead of a descriptor */

struct vfu_closer {
	atomic_uint pending; /* given and not closed */
	atomic_uint users;   /* the thread, and who made it */
	atomic_bool running;
	_Atomic(struct vfu_mapping *) wanted; /* to be mapped */
	atomic_uint files;		      /* ... and not yet */
	/* to be unmapped, and how much that is together with what the thread is at */
	_Atomic(struct vfu_mapping *) mappings;
	struct vfu_mappings unmapped; /* the thread's own: it has taken these */
	atomic_ullong mapped_bytes;
	atomic_uint mapped_count;
	unsigned int mapped_max;
	int in;
	int out;
	int done;	   /* counts what was mapped */
	uint64_t expected; /* ... and was not counted when the server last looked: its own */
};

static void
vfu_closer_put(struct vfu_closer *closer)
{
	if (atomic_fetch_sub(&closer->users, 1) > 1)
		return;
	close(closer->out);
	close(closer->done);
	free(closer);
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
	/* A child of the host has no business in a client's memory. */
	madvise(address, mapping->length, MADV_DONTFORK);
	/* Each is zeroed when it is touched first: a millisecond for 16 MiB. */
	if (mapping->populate && fstat(mapping->fd, &st) == 0 && vfu_is_hugepages(mapping->fd, &st))
		vfu_populate(mapping);
}

/* The server looks at it again, or has gone. */
static void
vfu_closer_map_one(struct vfu_closer *closer, struct vfu_mapping *mapping)
{
	enum vfu_mapping_state state = VFU_MAPPING;
	const uint64_t one = 1;

	if (atomic_load(&mapping->state) != VFU_UNWANTED)
		vfu_map(mapping);
	close(mapping->fd);
	if (!atomic_compare_exchange_strong(&mapping->state, &state, VFU_MAPPED))
		SLIST_INSERT_HEAD(&closer->unmapped, mapping, next);
	atomic_fetch_sub(&closer->files, 1);
	/* It has room for more than anybody waits for. */
	if (write(closer->done, &one, sizeof(one)) < 0)
		return;
}

static void
vfu_closer_map_all(struct vfu_closer *closer)
{
	/* Pairs with vfu_closer_push(). */
	struct vfu_mapping *mapping = atomic_exchange(&closer->wanted, NULL), *next;

	for (; mapping != NULL; mapping = next) {
		next = SLIST_NEXT(mapping, next);
		vfu_closer_map_one(closer, mapping);
	}
}

/* closer: whose thread this is, or NULL. Who waits for a mapping to be made waits for a piece of this one at most. */
static void
vfu_unmap(struct vfu_closer *closer, struct vfu_mapping *mapping)
{
	uint64_t piece = VFU_UNMAP_PIECE_BYTES, at;

	if (piece < mapping->page_bytes)
		piece = mapping->page_bytes;
	for (at = 0; mapping->address != NULL && mapping->length - at > piece; at += piece) {
		if (munmap(mapping->address + at, piece) != 0)
			break;
		if (closer != NULL)
			vfu_closer_map_all(closer);
	}
	if (mapping->address != NULL)
		munmap(mapping->address + at, mapping->length - at);
	free(mapping);
}

static void
vfu_closer_unmap_one(struct vfu_closer *closer, struct vfu_mapping *mapping)
{
	uint64_t bytes = mapping->length;

	vfu_unmap(closer, mapping);
	atomic_fetch_sub(&closer->mapped_bytes, bytes);
	atomic_fetch_sub(&closer->mapped_count, 1);
}

static void
vfu_closer_do(struct vfu_closer *closer, int fd)
{
	struct vfu_mapping *mapping, *next;

	vfu_closer_map_all(closer);
	/* Pairs with vfu_closer_push(). */
	for (mapping = atomic_exchange(&closer->mappings, NULL); mapping != NULL; mapping = next) {
		next = SLIST_NEXT(mapping, next);
		SLIST_INSERT_HEAD(&closer->unmapped, mapping, next);
	}
	while ((mapping = SLIST_FIRST(&closer->unmapped)) != NULL) {
		SLIST_REMOVE_HEAD(&closer->unmapped, next);
		vfu_closer_unmap_one(closer, mapping);
		vfu_closer_map_all(closer);
	}
	/* The server is done with it: pairs with vfu_closer_close(). The pipe orders it for all but tools. */
	if (fd != VFU_CLOSER_MAPPINGS && atomic_load(&closer->pending) > 0) {
		close(fd);
		atomic_fetch_sub(&closer->pending, 1);
	}
}

static void *
vfu_closer_run(void *arg)
{
	struct vfu_closer *closer = arg;
	ssize_t n;
	int fd;

	atomic_store(&closer->running, true);
	do {
		n = read(closer->out, &fd, sizeof(fd));
		if (n == sizeof(fd))
			vfu_closer_do(closer, fd);
	} while (n == sizeof(fd) || (n < 0 && errno == EINTR));
	vfu_closer_put(closer);
	return NULL;
}

static int
vfu_closer_start(struct vfu_closer *closer)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, VFU_CLOSER_STACK_BYTES);
	/* Signals are the host's, in threads of its own. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = -pthread_create(&thread, &attributes, vfu_closer_run, closer);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	/* What a thread does at its start, a sandbox that the host enters next may deny. */
	while (rc == 0 && !atomic_load(&closer->running))
		sched_yield();
	return rc;
}

static int
vfu_closer_open(struct vfu_closer *closer)
{
	int ends[2], rc;

	closer->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (closer->done < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		rc = -errno;
		close(closer->done);
		return rc;
	}
	closer->out = ends[0];
	closer->in = ends[1];
	rc = fcntl(closer->in, F_SETFL, O_NONBLOCK) != 0 ? -errno : vfu_closer_start(closer);
	if (rc != 0) {
		close(closer->in);
		close(closer->out);
		close(closer->done);
	}
	return rc;
}

int
vfu_closer_create(struct vfu_closer **out, unsigned int regions)
{
	struct vfu_closer *closer = calloc(1, sizeof(*closer));
	int rc;

	if (closer == NULL)
		return -ENOMEM;
	atomic_init(&closer->users, 2);
	SLIST_INIT(&closer->unmapped);
	closer->mapped_max = regions < VFU_CLOSER_MAPPED ? regions : VFU_CLOSER_MAPPED;
	rc = vfu_closer_open(closer);
	if (rc != 0) {
		free(closer);
		return rc;
	}
	*out = closer;
	return 0;
}

void
vfu_closer_destroy(struct vfu_closer *closer)
{
	if (closer == NULL)
		return;
	close(closer->in);
	vfu_closer_put(closer);
}

/* Whoever closes the last descriptor of a file gives its pages back, one by one. */
static bool
vfu_closes_soon(int fd)
{
	struct stat st;

	return vfu_is_memory_file(fd) && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_blocks * 512 <= VFU_CLOSE_HERE_BYTES;
}

bool
vfu_closer_close(struct vfu_closer *closer, int fd)
{
	if (closer == NULL || vfu_closes_soon(fd)) {
		close(fd);
		return false;
	}
	atomic_fetch_add(&closer->pending, 1);
	/* The pipe has room for more than the limit; what it would not take stays open and counted. */
	return write(closer->in, &fd, sizeof(fd)) != 0;
}

/* These are the thread's now, to be mapped or unmapped. */
static void
vfu_closer_push(struct vfu_closer *closer, _Atomic(struct vfu_mapping *) *list,
		struct vfu_mapping *first, struct vfu_mapping *last)
{
	struct vfu_mapping *before = atomic_load(list);
	const int some = VFU_CLOSER_MAPPINGS;

	do
		SLIST_NEXT(last, next) = before;
	while (!atomic_compare_exchange_weak(list, &before, first));
	/* If the thread has not come for those before, or the pipe is full, there is something that it has yet to read. */
	if (before == NULL && write(closer->in, &some, sizeof(some)) < 0)
		return;
}

int
vfu_closer_map(struct vfu_closer *closer, struct vfu_mapping *mapping, int fd)
{
	mapping->fd = fd;
	if (closer == NULL) {
		vfu_map(mapping);
		return 0;
	}
	/* The client may leave meanwhile, and its message with the descriptor goes. */
	mapping->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (mapping->fd < 0)
		return -ENOMEM;
	atomic_store(&mapping->state, VFU_MAPPING);
	atomic_fetch_add(&closer->files, 1);
	closer->expected++;
	vfu_closer_push(closer, &closer->wanted, mapping, mapping);
	return 0;
}

int
vfu_closer_fd(const struct vfu_closer *closer)
{
	return closer->done;
}

void
vfu_closer_look(struct vfu_closer *closer)
{
	uint64_t mapped;

	if (closer != NULL && closer->expected > 0 &&
	    read(closer->done, &mapped, sizeof(mapped)) == sizeof(mapped))
		closer->expected -= mapped;
}

void
vfu_closer_abandon(struct vfu_closer *closer, struct vfu_mapping *mapping)
{
	enum vfu_mapping_state state = VFU_MAPPING;

	if (closer == NULL ||
	    (atomic_load(&mapping->state) == VFU_MAPPED && mapping->address == NULL)) {
		vfu_unmap(NULL, mapping);
		return;
	}
	atomic_fetch_add(&closer->mapped_bytes, mapping->length);
	atomic_fetch_add(&closer->mapped_count, 1);
	if (!atomic_compare_exchange_strong(&mapping->state, &state, VFU_UNWANTED))
		vfu_closer_push(closer, &closer->mappings, mapping, mapping);
}

void
vfu_closer_unmap(struct vfu_closer *closer, struct vfu_mappings *mappings)
{
	struct vfu_mapping *first = SLIST_FIRST(mappings), *last = NULL, *mapping;
	unsigned int count = 0;
	uint64_t bytes = 0;

	SLIST_FOREACH(mapping, mappings, next) {
		bytes += mapping->length;
		count++;
		last = mapping;
	}
	/* However short, it may be the last that holds a long file. */
	if (closer == NULL || first == NULL) {
		while ((mapping = SLIST_FIRST(mappings)) != NULL) {
			SLIST_REMOVE_HEAD(mappings, next);
			vfu_unmap(NULL, mapping);
		}
		return;
	}
	SLIST_INIT(mappings);
	atomic_fetch_add(&closer->mapped_bytes, bytes);
	atomic_fetch_add(&closer->mapped_count, count);
	vfu_closer_push(closer, &closer->mappings, first, last);
}

bool
vfu_closer_behind(const struct vfu_closer *closer)
{
	return closer != NULL && (atomic_load(&closer->mapped_bytes) >= VFU_CLOSER_MAPPED_BYTES ||
				  atomic_load(&closer->mapped_count) >= closer->mapped_max ||
				  atomic_load(&closer->files) >= VFU_CLOSER_FILES);
}

bool
vfu_closer_full(const struct vfu_closer *closer)
{
	return closer != NULL && atomic_load(&closer->pending) >= VFU_CLOSER_LIMIT;
}
