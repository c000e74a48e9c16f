/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory that the device reaches: from EAL's heap (hugepages, or what --no-huge gives), in whole 4 KiB pages of its own,
 * so that nothing else lies on a page that is mapped for the device. Under AddressSanitizer, which knows nothing of
 * EAL's heap, a poisoned page stands before and after each allocation.
 *
 * What the device has for itself, and a card's firmware wants 50 MiB and more, is no matter of EAL's: that comes from the
 * system, page by page as the IOMMU takes it.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "base/owner.h"
#include "base/thread.h"
#include "core/dev.h"
#include "core/health.h"
#include "core/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define RNIC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RNIC_ASAN 1
#endif
#endif

#ifdef RNIC_ASAN
#include <sanitizer/asan_interface.h>
#define RED_ZONE_BYTES RNIC_PAGE_BYTES
#else
#define RED_ZONE_BYTES 0u
#endif

/* EAL's heap has a lock of its own, which ThreadSanitizer does not see: it sees this one. */
static void
heap_lock(bool on)
{
#ifdef RNIC_TSAN
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (on)
		pthread_mutex_lock(&lock);
	else
		pthread_mutex_unlock(&lock);
#else
	RTE_SET_USED(on);
#endif
}

static void *
heap_alloc(const char *what, size_t length, size_t align, int socket_id)
{
	void *memory;

	heap_lock(true);
	memory = rte_zmalloc_socket(what, length, (unsigned int)align, socket_id);
	heap_lock(false);
	return memory;
}

static void
heap_free(void *memory)
{
	heap_lock(true);
	rte_free(memory);
	heap_lock(false);
}

static void
red_zones(const struct rnic_mem *mem, bool on)
{
#ifdef RNIC_ASAN
	const char *start = mem->address;

	if (on) {
		__asan_poison_memory_region(start - RED_ZONE_BYTES, RED_ZONE_BYTES);
		__asan_poison_memory_region(start + mem->length, RED_ZONE_BYTES);
	} else {
		__asan_unpoison_memory_region(start - RED_ZONE_BYTES, RED_ZONE_BYTES);
		__asan_unpoison_memory_region(start + mem->length, RED_ZONE_BYTES);
	}
#else
	RTE_SET_USED(mem);
	RTE_SET_USED(on);
#endif
}

/* Memory that is the caller's alone, at start; *mem has the rest. On failure it is the caller's to give back, if true. */
static int
map_memory(struct rnic_dev *dev, const char *what, unsigned int rights, struct rnic_mem *mem,
	   bool *give_back)
{
	int rc = dev->access->ops->map(dev->access, mem->address, mem->length, rights, &mem->iova);

	if (rc == 0)
		return 0;
	RNIC_LOG_REPEATED(ERR, dev, "cannot map %s (%zu bytes) for the device: %s", what,
			  mem->length, strerror(-rc));
	/* Who did not wait for the answer does not know. */
	*give_back = rc != -ECANCELED || !rnic_thread_stopping(dev);
	return rc;
}

int
rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
	       unsigned int rights, struct rnic_mem *mem)
{
	bool give_back;
	char *start;
	int rc;

	length = RTE_ALIGN_CEIL(length, RNIC_PAGE_BYTES);
	align = RTE_MAX(align, (size_t)RNIC_PAGE_BYTES);
	if (RED_ZONE_BYTES != 0)
		align = RNIC_PAGE_BYTES; /* nothing of ours needs more than a page */
	start = heap_alloc(what, length + 2 * RED_ZONE_BYTES, align, dev->socket_id);
	if (start == NULL && dev->socket_id != SOCKET_ID_ANY)
		start = heap_alloc(what, length + 2 * RED_ZONE_BYTES, align, SOCKET_ID_ANY);
	if (start == NULL) {
		RNIC_LOG_REPEATED(
			ERR, dev,
			"no memory for %s (%zu bytes): give EAL more, e.g. more hugepages or a "
			"larger -m",
			what, length);
		return -ENOMEM;
	}
	*mem = (struct rnic_mem){ .address = start + RED_ZONE_BYTES, .length = length };
	rc = map_memory(dev, what, rights, mem, &give_back);
	if (rc != 0) {
		if (give_back)
			heap_free(start);
		*mem = (struct rnic_mem){ 0 };
		return rc;
	}
	red_zones(mem, true);
	return 0;
}

int
rnic_mem_alloc_apart(struct rnic_dev *dev, const char *what, size_t length, unsigned int rights,
		     struct rnic_mem *mem)
{
	bool give_back;
	void *start;
	int rc;

	/* Another process can be given EAL's alone. */
	if (!dev->access->any_memory)
		return rnic_mem_alloc(dev, what, length, RNIC_PAGE_BYTES, rights, mem);
	length = RTE_ALIGN_CEIL(length, RNIC_PAGE_BYTES);
	start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED) {
		rc = -errno;
		RNIC_LOG_REPEATED(ERR, dev, "no memory for %s (%zu bytes): %s", what, length,
				  strerror(-rc));
		return rc;
	}
	/* Nobody looks at it here: it is in no dump, and a child has no part in it. */
	madvise(start, length, MADV_DONTDUMP);
	madvise(start, length, MADV_DONTFORK);
	*mem = (struct rnic_mem){ .address = start, .length = length };
	rc = map_memory(dev, what, rights, mem, &give_back);
	if (rc != 0) {
		if (give_back)
			munmap(start, length);
		*mem = (struct rnic_mem){ 0 };
	}
	return rc;
}

/* False: the device may still reach it, so it must not be used for anything else. */
static bool
unmap_memory(struct rnic_dev *dev, const struct rnic_mem *mem)
{
	int rc;

	rnic_dev_quiesce(dev);
	rc = dev->access->ops->unmap(dev->access, mem->iova, mem->length);
	if (rc != 0)
		RNIC_LOG_REPEATED(ERR, dev,
				  "cannot unmap %zu bytes at IOVA 0x%" PRIx64 ": %s; they are lost",
				  mem->length, mem->iova, strerror(-rc));
	return rc == 0;
}

void
rnic_mem_free(struct rnic_dev *dev, struct rnic_mem *mem)
{
	if (mem->address == NULL)
		return;
	red_zones(mem, false);
	if (unmap_memory(dev, mem))
		heap_free((char *)mem->address - RED_ZONE_BYTES);
	*mem = (struct rnic_mem){ 0 };
}

void
rnic_mem_free_apart(struct rnic_dev *dev, struct rnic_mem *mem)
{
	if (!dev->access->any_memory) {
		rnic_mem_free(dev, mem);
		return;
	}
	if (mem->address != NULL && unmap_memory(dev, mem))
		munmap(mem->address, mem->length);
	*mem = (struct rnic_mem){ 0 };
}

void
rnic_mem_page_list(const struct rnic_mem *mem, void *list)
{
	struct rnic_be64 *entry = list;
	uint32_t i;

	for (i = 0; i < rnic_mem_page_count(mem); i++)
		entry[i] = rnic_cpu_to_be64(mem->iova + (uint64_t)i * RNIC_PAGE_BYTES);
}
