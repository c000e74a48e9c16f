/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>

#include <rte_malloc.h>

#include <rdmapmd.h>

#include "record.h"
#include "shadow.h"

static enum rdmo_status
memory_open(struct rdmo_shadow *shadow, struct rdmapmd_pd *pd, uint64_t bytes)
{
	shadow->memory = rte_zmalloc("rdmo_shadow", bytes, 4096);
	return shadow->memory != NULL &&
			       rdmapmd_mr_reg(pd, shadow->memory, bytes, RDMAPMD_ACCESS_LOCAL_WRITE,
					      &shadow->mr) == 0
		       ? RDMO_STATUS_OK
		       : RDMO_STATUS_FULL;
}

void
rdmo_shadow_close(struct rdmo_shadow *shadow)
{
	if (shadow->mr != NULL)
		rdmapmd_mr_dereg(shadow->mr);
	rte_free(shadow->memory);
	*shadow = (struct rdmo_shadow){ 0 };
}

/* Bytes at this offset, of the log to the shadow or back. */
static enum rdmo_status
shadow_move(const struct rdmo_shadow *shadow, struct rdmo_crew *crew,
	    const struct rdmo_region *region, uint64_t offset, uint64_t bytes, bool is_write)
{
	struct rdmo_remote_io io = {
		.remote = region->remote,
		.is_write = is_write,
		.at = (uint8_t *)shadow->memory + offset,
		.lkey = shadow->mr->lkey,
		.addr = region->va + offset,
		.rkey = region->rkey,
		.bytes = (uint32_t)bytes,
	};

	rdmo_crew_ask_lane(crew, region->remote->lane, RDMO_TASK_BEGIN_IO, &io);
	return rdmo_crew_ask_lane(crew, region->remote->lane, RDMO_TASK_END_IO, &io) == 0
		       ? RDMO_STATUS_OK
		       : RDMO_STATUS_TARGET_LOST;
}

/* Its header alone tells how long it is. */
static enum rdmo_status
producers_read(struct rdmo_crew *crew, struct rdmapmd_pd *pd, const struct rdmo_region *region,
	       uint32_t *producers)
{
	struct rdmo_shadow header = { 0 };
	enum rdmo_status status = RDMO_STATUS_BOUNDS;

	if (region->len >= sizeof(struct rdmo_log_header))
		status = memory_open(&header, pd, sizeof(struct rdmo_log_header));
	if (status == RDMO_STATUS_OK)
		status = shadow_move(&header, crew, region, 0, sizeof(struct rdmo_log_header),
				     false);
	if (status == RDMO_STATUS_OK && rdmo_log_check(header.memory, region->len) != 0)
		status = RDMO_STATUS_BOUNDS;
	if (status == RDMO_STATUS_OK)
		*producers = rte_le_to_cpu_32(
			((const struct rdmo_log_header *)header.memory)->producers);
	rdmo_shadow_close(&header);
	return status;
}

/* All in front of the ring. */
static enum rdmo_status
all_read(struct rdmo_shadow *shadow, struct rdmo_crew *crew, struct rdmapmd_pd *pd,
	 const struct rdmo_region *region)
{
	const struct rdmo_log_header *header;
	enum rdmo_status status;
	uint32_t producers;
	uint64_t bytes;

	status = producers_read(crew, pd, region, &producers);
	if (status != RDMO_STATUS_OK)
		return status;
	bytes = rdmo_log_ring_offset(producers);
	status = memory_open(shadow, pd, bytes);
	if (status == RDMO_STATUS_OK)
		status = shadow_move(shadow, crew, region, 0, bytes, false);
	/* Who changes it meanwhile has none. */
	header = shadow->memory;
	if (status == RDMO_STATUS_OK && header->producers != rte_cpu_to_le_32(producers))
		status = RDMO_STATUS_BOUNDS;
	return status;
}

enum rdmo_status
rdmo_shadow_open(struct rdmo_shadow *shadow, struct rdmo_crew *crew, struct rdmapmd_pd *pd,
		 struct rdmo_region *region)
{
	const uint64_t epoch = offsetof(struct rdmo_log_header, epoch);
	const uint64_t key_end = offsetof(struct rdmo_log_header, pad);
	enum rdmo_status status = all_read(shadow, crew, pd, region);

	if (status == RDMO_STATUS_OK)
		status = rdmo_region_begin_log(region, shadow->memory);
	if (status != RDMO_STATUS_OK)
		return status;
	region->lkey = shadow->mr->lkey;
	status = shadow_move(shadow, crew, region, epoch, key_end - epoch, true);
	if (status == RDMO_STATUS_OK)
		status = shadow_move(shadow, crew, region, rdmo_log_slot_offset(0),
				     rdmo_log_slot_offset(region->log.producers) -
					     rdmo_log_slot_offset(0),
				     true);
	return status;
}
