/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "dma.h"
#include "fd.h"
#include "version.h"

/*
 * Mappings and addresses of a process are not endless, and other clients of the process need some too: files up to the
 * first size are mapped whole, and no client has more than so many mappings and bytes.
 */
#define VFU_DMA_WHOLE_FILE_BYTES (1ull << 40)
#define VFU_DMA_MAX_FILE_BYTES	 VFU_CLOSE_THREAD_MAPPED_BYTES
#define VFU_DMA_MAX_FILES	 VFU_CLOSE_THREAD_MAPPED
#define VFU_DMA_FIRST_ROOM	 16

void
vfu_dma_table_init(struct vfu_dma_table *table, unsigned int max, uint64_t page_bytes,
		   bool any_file, struct vfu_close_thread *close_thread)
{
	memset(table, 0, sizeof(*table));
	table->max = max;
	table->page_bytes = page_bytes;
	table->any_file = any_file;
	table->close_thread = close_thread;
}

void
vfu_dma_table_fini(struct vfu_dma_table *table)
{
	vfu_dma_table_remove(table, 0, table->count);
	vfu_dma_table_give_up(table);
	free(table->entries);
	table->entries = NULL;
	table->room = 0;
}

/* Index of the first entry that ends behind iova. */
static unsigned int
vfu_dma_table_lower(const struct vfu_dma_table *table, uint64_t iova)
{
	unsigned int low = 0, high = table->count;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		const struct vfu_dma_region *region = &table->entries[middle].region;

		if (region->iova + (region->size - 1) < iova)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct vfu_dma_entry *
vfu_dma_table_find(const struct vfu_dma_table *table, uint64_t iova, uint64_t size)
{
	unsigned int i = vfu_dma_table_lower(table, iova);
	const struct vfu_dma_region *region;

	if (i == table->count || size == 0)
		return NULL;
	region = &table->entries[i].region;
	if (iova < region->iova || size > region->size || iova - region->iova > region->size - size)
		return NULL;
	return &table->entries[i];
}

int
vfu_dma_table_range(const struct vfu_dma_table *table, uint64_t iova, uint64_t size,
		    unsigned int *first)
{
	uint64_t last = iova + (size - 1);
	const struct vfu_dma_region *region;
	unsigned int end;

	if (size == 0 || last < iova)
		return -EINVAL;
	*first = vfu_dma_table_lower(table, iova);
	end = vfu_dma_table_lower(table, last);
	/* Only the outermost two can lie in there partly. */
	if (end < table->count) {
		region = &table->entries[end].region;
		if (region->iova <= last && region->iova + (region->size - 1) > last)
			return -EINVAL;
		end += region->iova <= last;
	}
	if (*first < end && table->entries[*first].region.iova < iova)
		return -EINVAL;
	return end - *first;
}

/* ---- Mappings: a client may have thousands, also of one file, and each new region asks for the one that it lies in. ---- */

#define VFU_ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int
vfu_dma_file_order(const void *a, const void *b)
{
	const struct vfu_dma_file *one = a, *other = b;
	int order = VFU_ORDER(one->dev, other->dev);

	if (order == 0)
		order = VFU_ORDER(one->ino, other->ino);
	if (order == 0)
		order = VFU_ORDER(one->mapping.prot, other->mapping.prot);
	if (order == 0)
		order = VFU_ORDER(one->mapping.offset, other->mapping.offset);
	if (order == 0)
		order = VFU_ORDER(one->mapping.length, other->mapping.length);
	return order;
}

/* What is looked for, and the last one before it that the search came past. */
struct vfu_dma_file_search {
	struct vfu_dma_file file;
	struct vfu_dma_file *before;
};

static int
vfu_dma_file_search(const void *key, const void *node)
{
	struct vfu_dma_file_search *search = (struct vfu_dma_file_search *)(uintptr_t)key;
	int order = vfu_dma_file_order(&search->file, node);

	if (order > 0)
		search->before = (struct vfu_dma_file *)(uintptr_t)node;
	return order;
}

/*
 * The mapping that holds the range, or NULL. Only the last one that begins at or before it is asked, of several the longest:
 * where pieces of a file that is too large to be mapped whole overlap, the range may be mapped once more.
 */
static struct vfu_dma_file *
vfu_dma_file_find(const struct vfu_dma_table *table, const struct stat *st, int prot,
		  const struct vfu_dma_map *request)
{
	struct vfu_dma_file_search search = {
		.file = {
			.mapping.length = UINT64_MAX,
			.mapping.offset = request->offset,
			.mapping.prot = prot,
			.dev = st->st_dev,
			.ino = st->st_ino,
		},
	};
	const struct vfu_dma_file *file;

	tfind(&search, &table->files, vfu_dma_file_search);
	file = search.before;
	if (file == NULL || file->dev != st->st_dev || file->ino != st->st_ino ||
	    file->mapping.prot != prot || request->size > file->mapping.length ||
	    request->offset - file->mapping.offset > file->mapping.length - request->size)
		return NULL;
	return search.before;
}

/* One region less; without any its mapping joins those that are to go. */
static void
vfu_dma_file_put(struct vfu_dma_table *table, struct vfu_dma_file *file, struct vfu_mappings *gone)
{
	if (--file->regions > 0)
		return;
	table->nfiles--;
	table->file_bytes -= file->mapping.length;
	tdelete(file, &table->files, vfu_dma_file_order);
	SLIST_INSERT_HEAD(gone, &file->mapping, next);
}

void
vfu_dma_table_remove(struct vfu_dma_table *table, unsigned int first, unsigned int count)
{
	struct vfu_mappings gone = SLIST_HEAD_INITIALIZER(gone);
	unsigned int i;

	for (i = first; i < first + count; i++) {
		if (table->entries[i].file != NULL)
			vfu_dma_file_put(table, table->entries[i].file, &gone);
	}
	vfu_close_thread_unmap(table->close_thread, &gone);
	if (count > 0)
		memmove(&table->entries[first], &table->entries[first + count],
			(table->count - first - count) * sizeof(table->entries[0]));
	table->count -= count;
}

/*
 * Only files of memory are welcome. On a disk, and more so on a file system that a program serves, an access can
 * take forever, and so can already the question what file it is: nothing else is asked of it first. What is no regular
 * file has no size that could be checked.
 */
static int
vfu_dma_file_check(const struct vfu_dma_table *table, int fd, const struct vfu_dma_map *request,
		   struct stat *st)
{
	int mode = fcntl(fd, F_GETFL);

	if (mode < 0)
		return -EINVAL;
	if (mode & O_PATH)
		return -EACCES;
	if (!table->any_file && !vfu_is_memory_file(fd))
		return -ENOTSUP;
	if (fstat(fd, st) != 0)
		return -EINVAL;
	if (!S_ISREG(st->st_mode))
		return -ENOTSUP;
	if ((mode & O_ACCMODE) == O_WRONLY ||
	    ((mode & O_ACCMODE) == O_RDONLY && (request->flags & VFU_DMA_FLAG_WRITE)))
		return -EACCES;
	if (st->st_size < 0 || request->offset > (uint64_t)st->st_size ||
	    request->size > (uint64_t)st->st_size - request->offset)
		return -EINVAL;
	return 0;
}

/* hugetlbfs says here how big its pages are. */
static uint64_t
vfu_dma_file_page(const struct stat *st)
{
	uint64_t page = st->st_blksize;

	if (page < VFU_PAGE_BYTES || page > 1u << 30 || (page & (page - 1)) != 0)
		page = VFU_PAGE_BYTES;
	return page;
}

static uint64_t
vfu_dma_file_holes(const struct stat *st, uint64_t length)
{
	uint64_t there = (uint64_t)st->st_blocks * 512;
	uint64_t holes = there < (uint64_t)st->st_size ? (uint64_t)st->st_size - there : 0;

	return holes < length ? holes : length;
}

/* The mapping comes at once, or is table->coming. */
static int
vfu_dma_file_map(struct vfu_dma_table *table, int fd, const struct stat *st,
		 const struct vfu_dma_file *wanted, struct vfu_dma_file **out)
{
	struct vfu_dma_file *const *same = tfind(wanted, &table->files, vfu_dma_file_order);
	const uint64_t length = wanted->mapping.length;
	struct vfu_dma_file *file;

	/* Where a piece of the file stands between it and the range, a search for that did not come past it. */
	if (same != NULL) {
		*out = *same;
		return 0;
	}
	if (table->nfiles >= VFU_DMA_MAX_FILES ||
	    length > VFU_DMA_MAX_FILE_BYTES - table->file_bytes)
		return -ENOSPC;
	/* Those of earlier sessions count, too: who comes and goes all the time would have any number. */
	if (vfu_close_thread_behind(table->close_thread))
		return -EAGAIN;
	file = malloc(sizeof(*file));
	if (file == NULL)
		return -ENOMEM;
	*file = *wanted;
	file->holes = vfu_dma_file_holes(st, length);
	file->mapping.page_bytes = vfu_dma_file_page(st);
	file->mapping.populate = file->holes > 0;
	if (tsearch(file, &table->files, vfu_dma_file_order) == NULL) {
		free(file);
		return -ENOMEM;
	}
	if (vfu_close_thread_map(table->close_thread, &file->mapping, fd) != 0) {
		tdelete(file, &table->files, vfu_dma_file_order);
		free(file);
		return -ENOMEM;
	}
	table->nfiles++;
	table->file_bytes += length;
	table->coming = file;
	*out = file;
	return 0;
}

void
vfu_dma_table_give_up(struct vfu_dma_table *table)
{
	struct vfu_dma_file *file = table->coming;

	table->coming = NULL;
	if (file == NULL)
		return;
	table->nfiles--;
	table->file_bytes -= file->mapping.length;
	tdelete(file, &table->files, vfu_dma_file_order);
	vfu_close_thread_abandon(table->close_thread, &file->mapping);
}

/* One that is there, the whole file, or, where there is no room for that, just the pages around the range. */
static int
vfu_dma_file_choose(struct vfu_dma_table *table, int fd, const struct stat *st,
		    const struct vfu_dma_map *request, bool whole, struct vfu_dma_file **out)
{
	struct vfu_dma_file wanted = {
		.mapping.length = (uint64_t)st->st_size,
		.mapping.prot = PROT_READ | (request->flags & VFU_DMA_FLAG_WRITE ? PROT_WRITE : 0),
		.dev = st->st_dev,
		.ino = st->st_ino,
		.whole = true,
	};
	const uint64_t page = vfu_dma_file_page(st);
	uint64_t end;

	*out = vfu_dma_file_find(table, st, wanted.mapping.prot, request);
	if (*out != NULL)
		return 0;
	if (whole && wanted.mapping.length <= VFU_DMA_WHOLE_FILE_BYTES &&
	    vfu_dma_file_map(table, fd, st, &wanted, out) == 0)
		return 0;
	end = (request->offset + request->size + page - 1) & ~(page - 1);
	wanted.whole = false;
	wanted.mapping.offset = request->offset & ~(page - 1);
	wanted.mapping.length = end - wanted.mapping.offset;
	return vfu_dma_file_map(table, fd, st, &wanted, out);
}

/* There may be no addresses for all of a file. */
static bool
vfu_dma_whole_failed(const struct vfu_dma_table *table)
{
	const struct vfu_dma_file *file = table->coming;

	return file != NULL && file->whole && atomic_load(&file->mapping.state) == VFU_MAPPED &&
	       file->mapping.address == NULL;
}

/* Is it mapped, with the pages that the device would otherwise be the first to touch? */
static int
vfu_dma_file_came(struct vfu_dma_table *table)
{
	int rc;

	if (table->coming == NULL)
		return 0;
	if (atomic_load(&table->coming->mapping.state) != VFU_MAPPED)
		return -EINPROGRESS;
	rc = table->coming->mapping.error;
	if (rc != 0)
		vfu_dma_table_give_up(table);
	table->coming = NULL;
	/* Of a page that cannot be allocated, and of a kernel without this advice. */
	return rc == -EFAULT || rc == -EINVAL ? -ENOMEM : rc;
}

/*
 * A mapping that holds the range. Who is asked again while it is made has one, and would lose it to another: meanwhile
 * the client can change the size of its file, and with it what would be chosen.
 */
static int
vfu_dma_file_get(struct vfu_dma_table *table, int fd, const struct vfu_dma_map *request,
		 struct vfu_dma_file **out)
{
	struct vfu_dma_file *file = table->coming;
	struct stat st;
	int rc = vfu_dma_file_check(table, fd, request, &st);

	if (rc == 0 && file == NULL)
		rc = vfu_dma_file_choose(table, fd, &st, request, true, &file);
	if (rc == 0 && vfu_dma_whole_failed(table)) {
		vfu_dma_table_give_up(table);
		rc = vfu_dma_file_choose(table, fd, &st, request, false, &file);
	}
	if (rc == 0)
		rc = vfu_dma_file_came(table);
	if (rc != 0)
		return rc;
	file->regions++;
	*out = file;
	return 0;
}

static int
vfu_dma_table_grow(struct vfu_dma_table *table)
{
	unsigned int room = table->room == 0 ? VFU_DMA_FIRST_ROOM : table->room * 2;
	struct vfu_dma_entry *entries;

	if (table->count < table->room)
		return 0;
	entries = realloc(table->entries, room * sizeof(*entries));
	if (entries == NULL)
		return -ENOMEM;
	table->entries = entries;
	table->room = room;
	return 0;
}

static int
vfu_dma_request_check(const struct vfu_dma_table *table, const struct vfu_dma_map *request)
{
	uint64_t mask = table->page_bytes - 1;

	if (request->flags == 0 || (request->flags & ~(VFU_DMA_FLAG_READ | VFU_DMA_FLAG_WRITE)))
		return -EINVAL;
	if (request->size == 0 || ((request->iova | request->size | request->offset) & mask) != 0)
		return -EINVAL;
	if (request->iova + (request->size - 1) < request->iova ||
	    request->offset + request->size < request->offset)
		return -EINVAL;
	return 0;
}

int
vfu_dma_table_map(struct vfu_dma_table *table, const struct vfu_dma_map *request, int fd)
{
	struct vfu_dma_file *file = NULL;
	struct vfu_dma_entry *entry;
	unsigned int at;
	int rc = vfu_dma_request_check(table, request);

	if (rc != 0)
		return rc;
	at = vfu_dma_table_lower(table, request->iova);
	if (at < table->count &&
	    table->entries[at].region.iova <= request->iova + (request->size - 1))
		return -EEXIST;
	if (table->count >= table->max)
		return -ENOSPC;
	rc = vfu_dma_table_grow(table);
	if (rc == 0 && fd >= 0)
		rc = vfu_dma_file_get(table, fd, request, &file);
	/* What is asked for again may have changed. */
	if (rc != 0 && rc != -EINPROGRESS)
		vfu_dma_table_give_up(table);
	if (rc != 0)
		return rc;
	entry = &table->entries[at];
	memmove(entry + 1, entry, (table->count - at) * sizeof(*entry));
	*entry = (struct vfu_dma_entry){
		.region = {
			.iova = request->iova,
			.size = request->size,
			.flags = request->flags,
		},
		.file = file,
	};
	if (file != NULL) {
		entry->region.address =
			file->mapping.address + (request->offset - file->mapping.offset);
		entry->region.mapping = file->mapping.address;
		entry->region.mapping_bytes = file->mapping.length;
		entry->region.mapping_page_bytes = file->mapping.page_bytes;
		entry->region.mapping_holes = file->holes;
	}
	table->count++;
	return at;
}
