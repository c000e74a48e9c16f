/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames of a receive queue whose completions differ in length, WQE, and hash or checksum alone are told of together. Each takes a slot of
 * the ring as ever, but only some are written: in the first one a title, which is the first frame's completion with the number of frames
 * for its length; in the next one a list of eight, of the first eight frames; and one more in each eighth slot from the title on. In between
 * stays what there was, which the driver knows, and marks as its own.
 *
 * A driver that finds a title finds its lists: that is written last. So is the first title of all, as a batch's first entry is (latch.h).
 */
#include <string.h>

#include "softrnic/base/dma.h"
#include "softrnic/base/ring.h"
#include "softrnic/event/compress.h"
#include "softrnic/event/latch.h"

#define WORDS (sizeof(struct rnic_cqe) / sizeof(uint64_t))

/* Bits of an entry, as a driver finds them in memory, that may differ from its title's. */
static struct rnic_cqe
compress_free_bits(enum rnic_mini_cqe_format format)
{
	struct rnic_cqe may = { .op_own = RNIC_CQE_OWNER };

	may.byte_count.raw = UINT32_MAX;
	may.wqe_counter.raw = UINT16_MAX; /* looked at by itself */
	may.timestamp.raw = UINT64_MAX;	  /* the title's stands for all of them */
	may.checksum.raw = UINT16_MAX;
	may.rx_hash_result.raw = UINT32_MAX;
	/* Where sums are told of, no hash is. */
	if (format == RNIC_MINI_CQE_CHECKSUM)
		may.rx_hash_type = UINT8_MAX;
	return may;
}

static bool
compress_is_frame(const struct rnic_cqe *entry)
{
	return RNIC_CQE_OPCODE(entry->op_own) == RNIC_CQE_RESPONDER_SEND &&
	       (entry->hds_ip_ext & RNIC_CQE_L2_OK) != 0;
}

static bool
compress_alike(const struct rnic_cqe *title, const struct rnic_cqe *entry, const uint64_t *mask,
	       uint32_t at)
{
	uint64_t a[WORDS], b[WORDS], differ = 0;

	memcpy(a, title, sizeof(a));
	memcpy(b, entry, sizeof(b));
	for (unsigned int i = 0; i < WORDS; i++)
		differ |= (a[i] ^ b[i]) & mask[i];
	return differ == 0 && rnic_be16_to_cpu(entry->wqe_counter) ==
				      (uint16_t)(rnic_be16_to_cpu(title->wqe_counter) + at);
}

/* How many from this index on, up to `left`, are told of together. */
static uint32_t
compress_run(struct softrnic_cq_compress *compress, uint32_t first, uint32_t left,
	     const uint64_t *mask)
{
	const struct rnic_cqe *title = softrnic_cq_compress_at(compress, first);
	uint32_t at;

	if (!compress_is_frame(title))
		return 1;
	for (at = 1; at < left; at++)
		if (!compress_alike(title, softrnic_cq_compress_at(compress, first + at), mask, at))
			break;
	return at;
}

/* The entry of this index in the ring. */
static struct rnic_cqe *
compress_ring_at(const struct softrnic_cq *cq, uint32_t index)
{
	const uint32_t slot = index & ((1u << cq->log_size) - 1);
	uint8_t *entry = softrnic_ring_at(&cq->ring, softrnic_cq_offset(cq, slot));

	softrnic_audit(cq->compress->dev, entry, sizeof(struct rnic_cqe), SOFTRNIC_DMA_WRITE);
	return (struct rnic_cqe *)entry;
}

static uint64_t
compress_mini(const struct rnic_cqe *entry, enum rnic_mini_cqe_format format)
{
	struct rnic_mini_cqe mini = { .byte_count = entry->byte_count };
	uint64_t word;

	if (format == RNIC_MINI_CQE_CHECKSUM)
		mini.checksum = entry->checksum;
	else
		mini.rx_hash_result = entry->rx_hash_result;
	memcpy(&word, &mini, sizeof(word));
	return word;
}

static void
compress_lists(const struct softrnic_cq *cq, uint32_t first, uint32_t count)
{
	struct softrnic_cq_compress *compress = cq->compress;
	uint64_t *list = NULL;

	for (uint32_t at = 0; at < count; at++) {
		if (at % RNIC_MINI_CQES == 0)
			list = (uint64_t *)compress_ring_at(cq, first + (at == 0 ? 1 : at));
		/* A driver that has polled this slot too early reads what it then does not believe. */
		__atomic_store_n(&list[at % RNIC_MINI_CQES],
				 compress_mini(softrnic_cq_compress_at(compress, first + at),
					       compress->format),
				 __ATOMIC_RELAXED);
	}
}

void
softrnic_cq_compress_show(struct softrnic_cq *cq)
{
	struct softrnic_cq_compress *compress = cq->compress;
	const struct rnic_cqe may = compress_free_bits(compress->format);
	const uint32_t end = cq->producer, begin = end - compress->count;
	uint64_t mask[WORDS];
	uint32_t first, count, i;

	if (compress->count == 0)
		return;
	memcpy(mask, &may, sizeof(mask));
	for (i = 0; i < WORDS; i++)
		mask[i] = ~mask[i];
	for (first = begin; first != end; first += count) {
		struct rnic_cqe *entry = softrnic_cq_compress_at(compress, first);

		count = compress_run(compress, first, end - first, mask);
		if (count > 1) {
			compress_lists(cq, first, count);
			compress->dev->stats.cqes_compressed += count;
			compress->dev->stats.cqe_titles++;
			entry->byte_count = rnic_cpu_to_be32(count);
			entry->op_own |= RNIC_CQE_COMPRESSED;
		}
		if (first != begin)
			softrnic_cq_place(compress_ring_at(cq, first), entry);
	}
	softrnic_cq_place(compress_ring_at(cq, begin), softrnic_cq_compress_at(compress, begin));
	compress->count = 0;
	LIST_REMOVE(cq, latch_link);
}
