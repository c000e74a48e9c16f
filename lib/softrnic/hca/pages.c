/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pages: memory that the host gives to the firmware, for good, before anything else works. This firmware does not store
 * anything in them, but asks for them, keeps count and gives them back like one that does, so that drivers' code for it
 * is run. Some quirks have it write to those that it keeps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/quirks.h"
#include "softrnic/event/eq.h"
#include "softrnic/hca/iseg.h"
#include "softrnic/hca/pages.h"

#define PAGE_BYTES 4096
#define MAX_PAGES  (1u << 20) /* that can be held */
#define USE_PAGES  64	      /* written to at a time */
/* Of the health buffer, as Linux names it: the firmware's own memory could not be reached. */
#define SYNDROME_ICM_FETCH_PCI 0xa

struct softrnic_pages {
	uint64_t *held; /* sorted */
	uint32_t count, room;
	int64_t extra; /* asked for (or offered back) at run time: what is due beside boot and init pages */
	uint32_t used; /* the next one to be written to, mod count */
	bool lost;     /* one is no longer reachable */
};

int
softrnic_pages_init(struct softrnic *dev)
{
	dev->pages = calloc(1, sizeof(*dev->pages));
	return dev->pages == NULL ? -ENOMEM : 0;
}

void
softrnic_pages_reset(struct softrnic *dev)
{
	dev->pages->count = 0;
	dev->pages->extra = 0;
	dev->pages->lost = false;
	dev->stats.pages_held = 0;
}

void
softrnic_pages_fini(struct softrnic *dev)
{
	if (dev->pages != NULL)
		free(dev->pages->held);
	free(dev->pages);
	dev->pages = NULL;
}

static uint32_t
pages_start_pages(const struct softrnic *dev)
{
	return dev->conf.boot_pages + dev->conf.init_pages;
}

bool
softrnic_pages_booted(const struct softrnic *dev)
{
	/* Once the function runs, pages that it has offered back are not missed. */
	return dev->state == SOFTRNIC_HCA_READY || dev->pages->count >= dev->conf.boot_pages;
}

bool
softrnic_pages_initialized(const struct softrnic *dev)
{
	return dev->pages->count >= pages_start_pages(dev);
}

/* How many pages the device wants to hold, all phases up to now together. */
static int64_t
pages_wanted(const struct softrnic *dev)
{
	int64_t wanted = (int64_t)pages_start_pages(dev) + dev->pages->extra;

	return wanted < 0 ? 0 : wanted;
}

bool
softrnic_pages_missing(const struct softrnic *dev)
{
	return dev->state == SOFTRNIC_HCA_READY && pages_wanted(dev) > dev->pages->count;
}

SOFTRNIC_CMD(query_pages)
{
	const struct rnic_function_in *in = cmd->in;
	struct rnic_query_pages_out *out = cmd->out;
	int64_t held = dev->pages->count, wanted;

	if (rnic_function_in_get(in, RNIC_FUNCTION_IN_FUNCTION_ID) != 0)
		return RNIC_STATUS_BAD_PARAM;
	switch (cmd->op_mod) {
	case RNIC_PAGES_BOOT: wanted = dev->conf.boot_pages; break;
	case RNIC_PAGES_INIT: wanted = pages_start_pages(dev); break;
	case RNIC_PAGES_REGULAR:
		if (dev->state != SOFTRNIC_HCA_READY)
			return RNIC_STATUS_BAD_SYS_STATE;
		wanted = pages_wanted(dev);
		break;
	default: return RNIC_STATUS_BAD_PARAM;
	}
	wanted -= held;
	if (wanted < 0 && cmd->op_mod != RNIC_PAGES_REGULAR)
		wanted = 0;
	rnic_query_pages_out_set(out, RNIC_QUERY_PAGES_OUT_FUNCTION_ID, 0);
	rnic_query_pages_out_set(out, RNIC_QUERY_PAGES_OUT_NUM_PAGES, (uint32_t)(int32_t)wanted);
	return RNIC_STATUS_OK;
}

static int
compare_pages(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* All or none of them. */
static int
pages_give(struct softrnic *dev, const struct rnic_be64 *list, uint32_t count)
{
	struct softrnic_pages *pages = dev->pages;
	uint32_t total = pages->count + count;
	uint64_t *all;

	if (total > pages_wanted(dev) || total > MAX_PAGES)
		return RNIC_STATUS_LIM;
	if (count == 0)
		return RNIC_STATUS_OK;
	all = malloc(total * sizeof(*all));
	if (all == NULL)
		return RNIC_STATUS_NO_RES;
	if (pages->count > 0)
		memcpy(all, pages->held, pages->count * sizeof(*all));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = rnic_be64_to_cpu(list[i]);

		if (page == 0 || page % PAGE_BYTES != 0 ||
		    softrnic_dma_ptr(dev, page, PAGE_BYTES,
				     SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE) == NULL) {
			SOFTRNIC_LOG(NOTICE, dev,
				     "page 0x%" PRIx64
				     " given: not aligned, or not mapped for the device",
				     page);
			goto refuse;
		}
		all[pages->count + i] = page;
	}
	qsort(all, total, sizeof(*all), compare_pages);
	for (uint32_t i = 1; i < total; i++) {
		if (all[i] == all[i - 1]) {
			SOFTRNIC_LOG(NOTICE, dev, "page 0x%" PRIx64 " given twice", all[i]);
			goto refuse;
		}
	}
	free(pages->held);
	pages->held = all;
	pages->count = total;
	dev->stats.pages_held = total;
	return RNIC_STATUS_OK;

refuse:
	free(all);
	return RNIC_STATUS_BAD_PARAM;
}

/* As many as are not needed, at most count and what the output has room for. */
static uint32_t
pages_take(struct softrnic *dev, struct rnic_be64 *list, uint32_t count)
{
	struct softrnic_pages *pages = dev->pages;
	int64_t needed = dev->state == SOFTRNIC_HCA_READY ? pages_wanted(dev) : 0;
	int64_t spare = pages->count > needed ? pages->count - needed : 0;

	if (count > spare)
		count = spare;
	count = softrnic_quirks_pages_back(dev, count, (uint32_t)spare);
	for (uint32_t i = 0; i < count; i++)
		list[i] = rnic_cpu_to_be64(pages->held[--pages->count]);
	if (dev->state != SOFTRNIC_HCA_READY)
		pages->extra = 0;
	dev->stats.pages_held = pages->count;
	return count;
}

SOFTRNIC_CMD(manage_pages)
{
	const struct rnic_manage_pages_in *in = cmd->in;
	struct rnic_manage_pages_out *out = cmd->out;
	uint32_t count = rnic_manage_pages_in_get(in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES);
	uint32_t room = 0;

	if (rnic_manage_pages_in_get(in, RNIC_MANAGE_PAGES_IN_FUNCTION_ID) != 0)
		return RNIC_STATUS_BAD_PARAM;
	switch (cmd->op_mod) {
	case RNIC_PAGES_GIVE:
		if ((cmd->in_bytes - sizeof(*in)) / sizeof(struct rnic_be64) < count)
			return RNIC_STATUS_BAD_INP_LEN;
		return pages_give(dev, (const struct rnic_be64 *)(in + 1), count);
	case RNIC_PAGES_TAKE:
		if (cmd->out_bytes > sizeof(*out))
			room = (cmd->out_bytes - sizeof(*out)) / sizeof(struct rnic_be64);
		count = pages_take(dev, (struct rnic_be64 *)(out + 1), count < room ? count : room);
		rnic_manage_pages_out_set(out, RNIC_MANAGE_PAGES_OUT_OUTPUT_NUM_ENTRIES, count);
		return RNIC_STATUS_OK;
	case RNIC_PAGES_CANT_GIVE:
		SOFTRNIC_LOG(NOTICE, dev, "the driver cannot give the pages it was asked for");
		if (pages_wanted(dev) > dev->pages->count)
			dev->pages->extra -= pages_wanted(dev) - dev->pages->count;
		return RNIC_STATUS_OK;
	default: return RNIC_STATUS_BAD_PARAM;
	}
}

void
softrnic_pages_use(struct softrnic *dev)
{
	struct softrnic_pages *pages = dev->pages;
	const uint64_t now = softrnic_now_ns();

	if (!softrnic_dma_on(dev))
		return;
	for (uint32_t i = 0; i < USE_PAGES && i < pages->count && !pages->lost; i++) {
		const uint64_t page = pages->held[pages->used++ % pages->count];

		if (softrnic_dma_write(dev, page, &now, sizeof(now)) == 0)
			continue;
		pages->lost = true;
		softrnic_iseg_complain(dev, SYNDROME_ICM_FETCH_PCI);
		SOFTRNIC_LOG(ERR, dev,
			     "page 0x%" PRIx64 " is unmapped, and the device still owns it", page);
	}
}

int
softrnic_pages_request(struct softrnic *dev, int32_t n)
{
	uint32_t data[7] = { 0, (uint32_t)n };
	int64_t wanted = pages_wanted(dev) + n;

	if (dev->state != SOFTRNIC_HCA_READY || wanted < 0 || wanted > MAX_PAGES)
		return -EINVAL;
	dev->pages->extra += n;
	softrnic_event(dev, RNIC_EVENT_PAGE_REQUEST, 0, data);
	return 0;
}
