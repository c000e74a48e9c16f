/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>

#include "record.h"
#include "writes.h"

static void
write_add(struct rdmo_writes *writes, uint64_t addr, uint32_t rkey, const void *from, uint32_t lkey,
	  uint32_t bytes)
{
	writes->all[writes->count++] = (struct rdmo_write){
		.addr = addr,
		.from = from,
		.rkey = rkey,
		.lkey = lkey,
		.bytes = bytes,
	};
}

void
rdmo_writes_add(struct rdmo_writes *writes, const struct rdmo_region *region, uint64_t addr,
		const uint8_t *from, uint32_t bytes)
{
	if (bytes > 0)
		write_add(writes, addr, region->rkey, from, writes->key, bytes);
}

/* ---- Records ---- */

/* Room for a header, which goes to this position. */
static struct rdmo_record *
head_add(struct rdmo_writes *writes, const struct rdmo_region *log, uint64_t position)
{
	struct rdmo_record *head = &writes->heads[writes->head_count++];

	write_add(writes, rdmo_region_ring_addr(log, position), log->rkey, head, writes->head_key,
		  sizeof(*head));
	return head;
}

void
rdmo_writes_pad(struct rdmo_writes *writes, const struct rdmo_region *log,
		const struct rdmo_place *place)
{
	if (place->pad_bytes > 0)
		rdmo_record_pad(head_add(writes, log, place->pad), place->pad, place->pad_bytes);
}

/* Bytes of the shadow, which belong at the same place of the log. */
static void
shadow_add(struct rdmo_writes *writes, const struct rdmo_region *log, const void *at,
	   uint32_t bytes)
{
	const uint64_t offset = (uint64_t)((const uint8_t *)at - (const uint8_t *)log->log.header);

	write_add(writes, log->va + offset, log->rkey, at, log->lkey, bytes);
}

/*
 * The words of a producer's slot that change, and then its next number: as it is now, not as it is in the shadow when it is written. Else the
 * first record's would tell of those behind it, whose words may never be written.
 */
static void
slot_add(struct rdmo_writes *writes, struct rdmo_region *log, const struct rdmo_origin *origin,
	 uint64_t position)
{
	struct rdmo_log_slot *slot = &log->log.slots[origin->producer];
	const uint64_t seq = origin->seq, first = rdmo_slot_put(slot, seq, position);
	const uint32_t from = rdmo_slot_index(first), to = rdmo_slot_index(seq);
	const uint32_t word = sizeof(slot->position[0]);
	rte_le64_t *const next_seq = (rte_le64_t *)&writes->heads[writes->head_count++];
	const uint8_t *const number = (const uint8_t *)&slot->next_seq;

	if (from <= to) {
		shadow_add(writes, log, &slot->position[from], (to - from + 1) * word);
	} else {
		shadow_add(writes, log, &slot->position[from], (RDMO_LOG_WINDOW - from) * word);
		shadow_add(writes, log, &slot->position[0], (to + 1) * word);
	}
	*next_seq = slot->next_seq;
	write_add(writes, log->va + (uint64_t)(number - (const uint8_t *)log->log.header),
		  log->rkey, next_seq, writes->head_key, sizeof(*next_seq));
}

static void
header_add(struct rdmo_writes *writes, const struct rdmo_region *log,
	   const struct rdmo_record *header)
{
	*head_add(writes, log, rte_le_to_cpu_64(header->position)) = *header;
}

void
rdmo_writes_record(struct rdmo_writes *writes, struct rdmo_region *log,
		   const struct rdmo_origin *origin, const struct rdmo_place *place,
		   const uint8_t *payload, uint32_t bytes)
{
	struct rdmo_record header =
		rdmo_record_header(place->position, origin->producer, origin->seq, bytes);

	rdmo_record_sum_end(&header,
			    rdmo_record_sum_more(rdmo_record_sum(&header), payload, bytes));
	rdmo_writes_pad(writes, log, place);
	header_add(writes, log, &header);
	rdmo_writes_add(writes, log, rdmo_region_ring_addr(log, place->position) + sizeof(header),
			payload, bytes);
	slot_add(writes, log, origin, place->position);
}

void
rdmo_writes_header(struct rdmo_writes *writes, struct rdmo_region *log,
		   const struct rdmo_origin *origin, uint64_t position, uint32_t bytes,
		   uint32_t sum)
{
	struct rdmo_record header =
		rdmo_record_header(position, origin->producer, origin->seq, bytes);

	rdmo_record_sum_end(&header, sum);
	header_add(writes, log, &header);
	slot_add(writes, log, origin, position);
}
