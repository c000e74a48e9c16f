/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pages of ours that the firmware works in (PRM: "Page Management"): given at boot, before INIT_HCA and whenever it asks
 * later, taken back at the end. They come in chunks that are mapped whole, so that tens of thousands of pages cost
 * hundreds of map entries; and from the system, not from the hugepages that packets are for.
 *
 * Requests at run time come as events. They are answered by the control thread after its walk of the event queue.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/mem.h"
#include "core/pages.h"
#include "prm/cmd.h"

#define CHUNK_PAGES 64
#define GIVE_MAX    4096 /* pages in one command */
#define TAKE_MAX    4096
/* 1 GiB, twenty times what a ConnectX-4 Lx asks for: beyond it the device is out of its mind, not short of memory. */
#define HELD_MAX (1u << 18)

struct chunk {
	struct chunk *next;
	struct rnic_mem mem;
	uint64_t given; /* bitmap of pages that the device has */
};

struct rnic_pages {
	struct rnic_dev *dev;
	pthread_mutex_t work; /* one give or take at a time */
	pthread_mutex_t lock; /* of all below */
	struct chunk *chunks;
	uint32_t held;
	int64_t wanted;	   /* asked for by events, not answered yet */
	uint16_t function; /* ours, as the device says at boot */
};

/* Called with the lock held. */
static int
get_page(struct rnic_pages *pages, uint64_t *iova)
{
	struct chunk *chunk;
	unsigned int bit;
	int rc;

	for (chunk = pages->chunks; chunk != NULL; chunk = chunk->next)
		if (~chunk->given != 0)
			break;
	if (chunk == NULL) {
		chunk = calloc(1, sizeof(*chunk));
		if (chunk == NULL)
			return -ENOMEM;
		rc = rnic_mem_alloc_apart(pages->dev, "firmware pages",
					  (size_t)CHUNK_PAGES * RNIC_PAGE_BYTES,
					  RNIC_ACCESS_READ | RNIC_ACCESS_WRITE, &chunk->mem);
		if (rc != 0) {
			free(chunk);
			return rc;
		}
		chunk->next = pages->chunks;
		pages->chunks = chunk;
	}
	bit = (unsigned int)__builtin_ctzll(~chunk->given);
	chunk->given |= UINT64_C(1) << bit;
	pages->held++;
	*iova = chunk->mem.iova + (uint64_t)bit * RNIC_PAGE_BYTES;
	return 0;
}

/* Called with the lock held. False: never given, or twice taken. */
static bool
put_page(struct rnic_pages *pages, uint64_t iova)
{
	struct chunk **link, *chunk;

	for (link = &pages->chunks; (chunk = *link) != NULL; link = &chunk->next) {
		uint64_t page;

		if (iova < chunk->mem.iova || iova - chunk->mem.iova >= chunk->mem.length)
			continue;
		page = UINT64_C(1) << (iova - chunk->mem.iova) / RNIC_PAGE_BYTES;
		if (!(chunk->given & page))
			return false;
		chunk->given &= ~page;
		pages->held--;
		if (chunk->given == 0) {
			*link = chunk->next;
			rnic_mem_free_apart(pages->dev, &chunk->mem);
			free(chunk);
		}
		return true;
	}
	return false;
}

/* Undo: pages that never reached the device. */
static void
put_pages(struct rnic_pages *pages, const struct rnic_be64 *list, uint32_t count)
{
	uint32_t i;

	pthread_mutex_lock(&pages->lock);
	for (i = 0; i < count; i++)
		put_page(pages, rnic_be64_to_cpu(list[i]));
	pthread_mutex_unlock(&pages->lock);
}

static void
pages_refuse(struct rnic_dev *dev, uint16_t function)
{
	struct rnic_manage_pages_in in = { 0 };
	struct rnic_manage_pages_out out;

	rnic_manage_pages_in_set(&in, RNIC_MANAGE_PAGES_IN_FUNCTION_ID, function);
	rnic_cmd_try(dev, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_CANT_GIVE, &in, sizeof(in), &out,
		     sizeof(out));
}

/* `got` of them are in the list, all or those before one that could not be had. */
static int
get_pages(struct rnic_pages *pages, struct rnic_be64 *list, uint32_t count, uint32_t *got)
{
	uint64_t iova;
	int rc = 0;

	pthread_mutex_lock(&pages->lock);
	for (*got = 0; *got < count && rc == 0; *got += rc == 0) {
		rc = get_page(pages, &iova);
		if (rc == 0)
			list[*got] = rnic_cpu_to_be64(iova);
	}
	pthread_mutex_unlock(&pages->lock);
	return rc;
}

/* Give count pages in one command; 0 is a legal number. */
static int
pages_give(struct rnic_dev *dev, uint16_t function, uint32_t count)
{
	const uint32_t bytes = (uint32_t)sizeof(struct rnic_manage_pages_in) + count * 8;
	struct rnic_manage_pages_in *in = calloc(1, bytes);
	struct rnic_manage_pages_out out;
	struct rnic_be64 *list;
	uint32_t got;
	int rc;

	if (in == NULL)
		return -ENOMEM;
	list = (struct rnic_be64 *)(in + 1);
	rnic_manage_pages_in_set(in, RNIC_MANAGE_PAGES_IN_FUNCTION_ID, function);
	rnic_manage_pages_in_set(in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	rc = get_pages(dev->pages, list, count, &got);
	if (rc == 0)
		rc = rnic_cmd_exec(dev, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_GIVE, in, bytes, &out,
				   sizeof(out));
	/* After a timeout the device may have them: they stay held until the end. */
	if (rc != 0 && rc != -ETIMEDOUT)
		put_pages(dev->pages, list, got);
	free(in);
	return rc;
}

static int
pages_give_all(struct rnic_dev *dev, uint16_t function, uint32_t count)
{
	uint32_t held = rnic_pages_held(dev);
	int rc;

	if (held > HELD_MAX || count > HELD_MAX - held) {
		RNIC_LOG_REPEATED(
			ERR, dev,
			"the device holds %u pages and requests %u: refused, the limit is %u", held,
			count, HELD_MAX);
		pages_refuse(dev, function);
		return -ENOSPC;
	}
	do {
		uint32_t n = RTE_MIN(count, (uint32_t)GIVE_MAX);

		rc = pages_give(dev, function, n);
		count -= n;
	} while (rc == 0 && count > 0);
	if (rc != 0)
		pages_refuse(dev, function);
	return rc;
}

/* *named: how many addresses of pages follow *out, of `count` that there is room for. */
static int
pages_take_command(struct rnic_dev *dev, uint16_t function, uint32_t count,
		   struct rnic_manage_pages_out *out, uint32_t *named)
{
	struct rnic_manage_pages_in in = { 0 };
	int rc;

	rnic_manage_pages_in_set(&in, RNIC_MANAGE_PAGES_IN_FUNCTION_ID, function);
	rnic_manage_pages_in_set(&in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, count);
	rc = rnic_cmd_exec(dev, RNIC_CMD_MANAGE_PAGES, RNIC_PAGES_TAKE, &in, sizeof(in), out,
			   (uint32_t)sizeof(*out) + count * 8);
	if (rc != 0)
		return rc;
	*named = (uint32_t)rnic_manage_pages_out_get(out, RNIC_MANAGE_PAGES_OUT_OUTPUT_NUM_ENTRIES);
	if (*named <= count)
		return 0;
	RNIC_LOG_REPEATED(ERR, dev, "requested %u pages back, the device returned %u", count,
			  *named);
	return -EIO;
}

/* Returns how many of them the device really had. */
static uint32_t
pages_taken(struct rnic_dev *dev, const struct rnic_be64 *list, uint32_t count)
{
	uint32_t i, taken = 0;

	pthread_mutex_lock(&dev->pages->lock);
	for (i = 0; i < count; i++) {
		if (put_page(dev->pages, rnic_be64_to_cpu(list[i])))
			taken++;
		else
			RNIC_LOG_REPEATED(
				ERR, dev,
				"the device gives back a page that it never had: 0x%" PRIx64,
				rnic_be64_to_cpu(list[i]));
	}
	pthread_mutex_unlock(&dev->pages->lock);
	return taken;
}

/* Take up to count pages back in one command; *taken are those that the device really had. */
static int
pages_take(struct rnic_dev *dev, uint16_t function, uint32_t count, uint32_t *taken)
{
	struct rnic_manage_pages_out *out = calloc(1, sizeof(*out) + (size_t)count * 8);
	uint32_t named;
	int rc;

	if (out == NULL)
		return -ENOMEM;
	rc = pages_take_command(dev, function, count, out, &named);
	*taken = rc == 0 ? pages_taken(dev, (const struct rnic_be64 *)(out + 1), named) : 0;
	free(out);
	return rc;
}

/* How many the device asks for, for which function: ours. */
static int
pages_query(struct rnic_dev *dev, unsigned int stage, int32_t *count, uint16_t *function)
{
	struct rnic_function_in in = { 0 };
	struct rnic_query_pages_out out = { 0 };
	int rc = rnic_cmd_exec(dev, RNIC_CMD_QUERY_PAGES, (uint16_t)stage, &in, sizeof(in), &out,
			       sizeof(out));

	*count = (int32_t)rnic_query_pages_out_get(&out, RNIC_QUERY_PAGES_OUT_NUM_PAGES);
	*function = (uint16_t)rnic_query_pages_out_get(&out, RNIC_QUERY_PAGES_OUT_FUNCTION_ID);
	return rc;
}

int
rnic_pages_give(struct rnic_dev *dev, unsigned int stage)
{
	int32_t count;
	uint16_t function;
	int rc = pages_query(dev, stage, &count, &function);

	if (rc != 0)
		return rc;
	if (count < 0) {
		RNIC_LOG(ERR, dev, "the device requests %d pages at start", count);
		return -EIO;
	}
	RNIC_LOG(DEBUG, dev, "%d pages at stage %u", count, stage);
	pthread_mutex_lock(&dev->pages->work);
	pthread_mutex_lock(&dev->pages->lock);
	dev->pages->function = function;
	pthread_mutex_unlock(&dev->pages->lock);
	rc = pages_give_all(dev, function, (uint32_t)count);
	pthread_mutex_unlock(&dev->pages->work);
	return rc;
}

int
rnic_pages_reclaim(struct rnic_dev *dev)
{
	const uint64_t patience_us = (uint64_t)dev->tunables.pages_patience_ms * 1000;
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t since = rnic_now_us();
	uint32_t held, taken;
	int rc = 0;

	pthread_mutex_lock(&dev->pages->work);
	while (rc == 0 && (held = rnic_pages_held(dev)) > 0) {
		rc = pages_take(dev, dev->pages->function, RTE_MIN(held, (uint32_t)TAKE_MAX),
				&taken);
		if (rc != 0)
			break;
		/* The firmware may need a moment to free some, but not for ever. */
		if (taken > 0) {
			since = rnic_now_us();
		} else {
			if (rnic_now_us() - since >= patience_us)
				rc = -EIO;
			nanosleep(&nap, NULL);
		}
	}
	pthread_mutex_unlock(&dev->pages->work);
	return rc;
}

void
rnic_pages_answer(struct rnic_dev *dev)
{
	struct rnic_pages *pages = dev->pages;
	uint16_t function;
	uint32_t taken;
	int64_t wanted;

	pthread_mutex_lock(&pages->work);
	pthread_mutex_lock(&pages->lock);
	wanted = pages->wanted;
	function = pages->function;
	pages->wanted = 0;
	pthread_mutex_unlock(&pages->lock);
	if (wanted != 0)
		RNIC_LOG(DEBUG, dev, "page request: %" PRId64, wanted);
	if (wanted > 0)
		(void)pages_give_all(dev, function, (uint32_t)RTE_MIN(wanted, (int64_t)INT32_MAX));
	for (; wanted < 0; wanted += (int64_t)taken)
		if (pages_take(dev, function, (uint32_t)RTE_MIN(-wanted, (int64_t)TAKE_MAX),
			       &taken) != 0 ||
		    taken == 0)
			break;
	pthread_mutex_unlock(&pages->work);
}

void
rnic_pages_request(struct rnic_dev *dev, uint16_t function, int32_t count)
{
	struct rnic_pages *pages = dev->pages;
	uint16_t ours;

	pthread_mutex_lock(&pages->lock);
	ours = pages->function;
	if (function == ours)
		pages->wanted += count;
	pthread_mutex_unlock(&pages->lock);
	if (function != ours)
		RNIC_LOG_REPEATED(
			ERR, dev,
			"%d pages requested by function 0x%x: refused, ours is 0x%x and has no others",
			count, function, ours);
}

void
rnic_pages_query(struct rnic_dev *dev)
{
	int32_t count;
	uint16_t function;

	if (pages_query(dev, RNIC_PAGES_REGULAR, &count, &function) == 0 && count != 0)
		rnic_pages_request(dev, function, count);
}

uint32_t
rnic_pages_held(struct rnic_dev *dev)
{
	uint32_t held;

	pthread_mutex_lock(&dev->pages->lock);
	held = dev->pages->held;
	pthread_mutex_unlock(&dev->pages->lock);
	return held;
}

int
rnic_pages_create(struct rnic_dev *dev)
{
	struct rnic_pages *pages = calloc(1, sizeof(*pages));

	if (pages == NULL)
		return -ENOMEM;
	pages->dev = dev;
	pthread_mutex_init(&pages->work, NULL);
	pthread_mutex_init(&pages->lock, NULL);
	dev->pages = pages;
	return 0;
}

void
rnic_pages_destroy(struct rnic_dev *dev)
{
	struct rnic_pages *pages = dev->pages;
	struct chunk *chunk;

	if (pages == NULL)
		return;
	if (pages->held > 0)
		RNIC_LOG(WARNING, dev, "%u pages were not given back: the reset took them",
			 pages->held);
	/* Unmapped before they are freed: the device can no longer reach them. */
	while ((chunk = pages->chunks) != NULL) {
		pages->chunks = chunk->next;
		rnic_mem_free_apart(dev, &chunk->mem);
		free(chunk);
	}
	dev->pages = NULL;
	pthread_mutex_destroy(&pages->lock);
	pthread_mutex_destroy(&pages->work);
	free(pages);
}
