/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host.h"
#include "prm/cqe.h"
#include "prm/list.h"
#include "prm/wqe.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HN_POISON
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HN_POISON)
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(at, bytes)	 ((void)0)
#define __asan_unpoison_memory_region(at, bytes) ((void)0)
#endif

#define PAGE	    4096u
#define GUARD_BYTES (2u << 20)
#define ISLAND_GAP  64u /* between islands, at least */

/* ---- Memory ---- */

static size_t
reserved_bytes(const struct hn *hn)
{
	return 2 * hn->bytes + 2 * (size_t)GUARD_BYTES;
}

/* Pages that nobody touches cost nothing; an access beside them ends the test. */
static int
make_memory(struct hn *hn)
{
	uint8_t *reserved = mmap(NULL, reserved_bytes(hn), PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (reserved == MAP_FAILED)
		return -errno;
	hn->reserved = reserved;
	reserved += GUARD_BYTES;
	hn->memory = reserved + (-(uintptr_t)reserved & (hn->bytes - 1));
	return mprotect(hn->memory, hn->bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : -errno;
}

void *
hn_memory(struct hn *hn, size_t bytes, size_t align)
{
	size_t at = (hn->used + align - 1) / align * align;

	if (bytes > hn->bytes || at > hn->bytes - bytes)
		return NULL;
	hn->used = at + bytes;
	if (hn->islands) {
		hn->used += ISLAND_GAP;
		__asan_unpoison_memory_region(hn->memory + at, bytes);
		if (softrnic_dma_map(hn->dev, hn->iova + at, bytes, hn->memory + at,
				     SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE) != 0)
			return NULL;
	}
	if (at < hn->touched)
		memset(hn->memory + at, 0, bytes);
	if (hn->touched < at + bytes)
		hn->touched = at + bytes;
	return hn->memory + at;
}

void *
hn_need(struct hn *hn, size_t bytes, size_t align)
{
	void *memory = hn_memory(hn, bytes, align);

	if (memory == NULL) {
		fprintf(stderr, "test/driver: out of memory\n");
		abort();
	}
	return memory;
}

uint64_t
hn_iova(const struct hn *hn, const void *memory)
{
	return hn->iova + (uint64_t)((const uint8_t *)memory - hn->memory);
}

void *
hn_at(const struct hn *hn, uint64_t iova)
{
	return hn->memory + (iova - hn->iova);
}

/* ---- The device ---- */

/* Numbers of objects are the same each time: a key that is made up is nobody's, now and always. */
static int
make_device(struct hn *hn, const struct softrnic_conf *conf)
{
	struct softrnic_conf given = { 0 };

	if (conf != NULL)
		given = *conf;
	if (given.name == NULL)
		given.name = "test";
	if (given.seed == 0)
		given.seed = 1;
	return softrnic_create(hn->poller, &given, &hn->dev);
}

/* The door of test/driver. */
static int
execute(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	return hn_cmd((struct hn *)(void *)((uint8_t *)drv - offsetof(struct hn, drv)), in,
		      in_bytes, out, out_bytes);
}

int
hn_open(struct hn *hn, const struct hn_conf *conf)
{
	int rc = 0;

	memset(hn, 0, sizeof(*hn));
	hn->drv.execute = execute;
	hn->poller = conf->poller;
	hn->own_poller = conf->poller == NULL;
	hn->bytes = conf->bytes;
	hn->iova = conf->iova;
	hn->islands = conf->islands;
	if (hn->own_poller)
		rc = softrnic_poller_create(&hn->poller);
	if (rc == 0)
		rc = make_memory(hn);
	if (rc == 0)
		rc = make_device(hn, conf->device);
	if (rc == 0 && hn->islands)
		__asan_poison_memory_region(hn->memory, hn->bytes);
	else if (rc == 0)
		rc = softrnic_dma_map(hn->dev, hn->iova, hn->bytes, hn->memory,
				      SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE);
	return rc;
}

int
hn_close(struct hn *hn)
{
	int rc = 0;

	if (hn->dev != NULL)
		softrnic_destroy(hn->dev);
	if (hn->reserved != NULL) {
		/* Whoever gets these addresses next knows nothing of islands. */
		__asan_unpoison_memory_region(hn->memory, hn->bytes);
		munmap(hn->reserved, reserved_bytes(hn));
	}
	if (hn->own_poller && hn->poller != NULL)
		rc = softrnic_poller_destroy(hn->poller);
	memset(hn, 0, sizeof(*hn));
	return rc;
}

/* ---- Bring-up ---- */

int
hn_query_pages(struct hn *hn, uint16_t op_mod, int32_t *count)
{
	struct rnic_function_in in = { 0 };
	struct rnic_query_pages_out out = { 0 };
	int status;

	drv_head(&in, RNIC_CMD_QUERY_PAGES, op_mod);
	status = hn->drv.execute(&hn->drv, &in, sizeof(in), &out, sizeof(out));
	*count = (int32_t)rnic_query_pages_out_get(&out, RNIC_QUERY_PAGES_OUT_NUM_PAGES);
	return status;
}

int
hn_give_pages(struct hn *hn, uint32_t count)
{
	const size_t bytes = (size_t)count * PAGE;
	struct rnic_manage_pages_in *in = drv_in(sizeof(*in) + count * sizeof(struct rnic_be64));
	struct drv_pages pages = { 0 };

	if (count > 0)
		pages = drv_pages_of(hn_iova(hn, hn_need(hn, bytes, PAGE)), bytes);
	drv_head(in, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE);
	rnic_manage_pages_in_set(in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	return drv_create(&hn->drv, in, drv_pages_put(in, sizeof(*in), &pages), NULL);
}

/* All that the device asks for. */
static int
give_pages(struct hn *hn, uint16_t which)
{
	int32_t count;
	int status = hn_query_pages(hn, which, &count);

	return status == 0 && count > 0 ? hn_give_pages(hn, (uint32_t)count) : status;
}

int
hn_try_enable(struct hn *hn)
{
	int status = drv_simple(&hn->drv, RNIC_CMD_ENABLE_HCA, 0, NULL);

	if (status == 0)
		status = drv_simple(&hn->drv, RNIC_CMD_SET_ISSI, 1, NULL);
	return status == 0 ? give_pages(hn, RNIC_PAGES_BOOT) : status;
}

int
hn_try_init(struct hn *hn)
{
	int status = give_pages(hn, RNIC_PAGES_INIT);

	return status == 0 ? drv_simple(&hn->drv, RNIC_CMD_INIT_HCA, 0, NULL) : status;
}

/* ---- Queues ---- */

/* A ring full of one byte. */
static struct drv_pages
ring_open(struct hn *hn, size_t bytes, int byte)
{
	void *ring = hn_need(hn, bytes, PAGE);

	memset(ring, byte, bytes);
	return drv_pages_of(hn_iova(hn, ring), bytes);
}

static uint64_t
record_open(struct hn *hn)
{
	return hn_iova(hn, hn_need(hn, sizeof(struct rnic_wq_dbrec), 64));
}

int
hn_eq_open(struct hn *hn, struct drv_eq *conf, uint32_t *eqn)
{
	struct rnic_eqe *entries;

	conf->ring = ring_open(hn, sizeof(*entries) << conf->log_size, 0);
	entries = hn_at(hn, conf->ring.iova);
	for (uint32_t i = 0; i < 1u << conf->log_size; i++)
		entries[i].owner = 1;
	return drv_eq_create(&hn->drv, conf, eqn);
}

int
hn_cq_open(struct hn *hn, struct drv_cq *conf, uint32_t *cqn)
{
	conf->ring = ring_open(hn, (size_t)(conf->big ? 128 : 64) << conf->log_size, 0xff);
	conf->dbrec = record_open(hn);
	return drv_cq_create(&hn->drv, conf, cqn);
}

int
hn_sq_open(struct hn *hn, struct drv_sq *conf, uint32_t *sqn)
{
	conf->ring = ring_open(hn, (size_t)RNIC_WQEBB_BYTES << conf->log_size, 0);
	conf->dbrec = record_open(hn);
	return drv_sq_create(&hn->drv, conf, sqn);
}

int
hn_rq_open(struct hn *hn, struct drv_rq *conf, uint32_t *rqn)
{
	conf->ring = ring_open(hn, (size_t)1 << (conf->log_stride + conf->log_size), 0);
	conf->dbrec = record_open(hn);
	return drv_rq_create(&hn->drv, conf, rqn);
}
