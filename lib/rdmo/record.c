/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_hash_crc.h>

#include "record.h"
#include "tail.h"

/* ---- The log as a whole ---- */

uint64_t
rdmo_log_bytes(uint64_t capacity, uint32_t producers)
{
	if (capacity < RDMO_LOG_CAPACITY_MIN || capacity > RDMO_LOG_CAPACITY_MAX ||
	    (capacity & (capacity - 1)) != 0 || producers == 0 ||
	    producers > RDMO_LOG_PRODUCERS_MAX)
		return 0;
	return rdmo_log_ring_offset(producers) + capacity;
}

void
rdmo_log_format(void *memory, uint64_t capacity, uint32_t producers)
{
	struct rdmo_log_header *header = memory;
	struct rdmo_log_slot *slots = (void *)((uint8_t *)memory + rdmo_log_slot_offset(0));

	*header = (struct rdmo_log_header){
		.version = RDMO_VERSION,
		.producers = rte_cpu_to_le_32(producers),
		.capacity = rte_cpu_to_le_64(capacity),
	};
	for (uint32_t i = 0; i < producers; i++) {
		memset(slots[i].position, 0xff, sizeof(slots[i].position));
		slots[i].next_seq = 0;
		memset(slots[i].reserved, 0, sizeof(slots[i].reserved));
	}
	__atomic_store_n(&header->magic, rte_cpu_to_le_32(RDMO_LOG_MAGIC), __ATOMIC_RELEASE);
}

int
rdmo_log_check(const struct rdmo_log_header *header, uint64_t bytes)
{
	uint64_t wanted;

	if (bytes < sizeof(*header) || header->magic != rte_cpu_to_le_32(RDMO_LOG_MAGIC) ||
	    header->version != RDMO_VERSION)
		return -EINVAL;
	wanted = rdmo_log_bytes(rte_le_to_cpu_64(header->capacity),
				rte_le_to_cpu_32(header->producers));
	return wanted != 0 && wanted <= bytes ? 0 : -EINVAL;
}

/* ---- Records ---- */

/* Of any bytes. */
typedef uint64_t word __attribute__((aligned(1), may_alias));

/* The library asks for each word what the CPU can; what it was compiled for is known. */
static inline uint32_t
sum_bytes(uint32_t sum, const void *from, uint32_t bytes)
{
	const uint8_t *at = from;

#if defined(__SSE4_2__) && defined(__x86_64__)
	uint64_t wide = sum;

	for (; bytes >= 4 * sizeof(word); bytes -= 4 * (uint32_t)sizeof(word)) {
		const word *words = (const word *)(const void *)at;

		wide = __builtin_ia32_crc32di(wide, words[0]);
		wide = __builtin_ia32_crc32di(wide, words[1]);
		wide = __builtin_ia32_crc32di(wide, words[2]);
		wide = __builtin_ia32_crc32di(wide, words[3]);
		at += 4 * sizeof(word);
	}
	sum = (uint32_t)wide;
#endif
	return bytes > 0 ? rte_hash_crc(at, bytes, sum) : sum;
}

static inline uint32_t
header_sum(const struct rdmo_record *record)
{
	/* The library reads whole words: these are some, whatever the compiler thinks of a struct's aliases. */
	uint64_t words[sizeof(*record) / sizeof(uint64_t)];

	memcpy(words, record, sizeof(words));
	memset((uint8_t *)words + offsetof(struct rdmo_record, crc32c), 0, sizeof(record->crc32c));
	return sum_bytes(UINT32_MAX, words, sizeof(words));
}

static inline struct rdmo_record
header_of(uint64_t position, uint32_t producer, uint64_t seq, uint32_t length)
{
	return (struct rdmo_record){
		.length = rte_cpu_to_le_32(length),
		.position = rte_cpu_to_le_64(position),
		.seq = rte_cpu_to_le_64(seq),
		.producer = rte_cpu_to_le_32(producer),
		.kind = rte_cpu_to_le_16(RDMO_RECORD_DATA),
	};
}

/* Of a header, and of the payload behind it. */
static inline rte_le32_t
record_crc(const struct rdmo_record *record, const void *payload, uint32_t length)
{
	return rte_cpu_to_le_32(~sum_bytes(header_sum(record), payload, length));
}

uint32_t
rdmo_record_sum(const struct rdmo_record *record)
{
	return header_sum(record);
}

uint32_t
rdmo_record_sum_more(uint32_t sum, const void *payload, uint32_t bytes)
{
	return sum_bytes(sum, payload, bytes);
}

struct rdmo_record
rdmo_record_header(uint64_t position, uint32_t producer, uint64_t seq, uint32_t length)
{
	return header_of(position, producer, seq, length);
}

void
rdmo_record_seal(struct rdmo_record *record, uint64_t position, uint32_t producer, uint64_t seq,
		 uint32_t length)
{
	struct rdmo_record header = header_of(position, producer, seq, length);

	header.crc32c = record_crc(&header, record + 1, length);
	*record = header;
}

void
rdmo_record_pad(struct rdmo_record *record, uint64_t position, uint64_t bytes)
{
	struct rdmo_record header = {
		.length = rte_cpu_to_le_32((uint32_t)(bytes - sizeof(header))),
		.position = rte_cpu_to_le_64(position),
		.kind = rte_cpu_to_le_16(RDMO_RECORD_PAD),
	};

	header.crc32c = record_crc(&header, NULL, 0);
	*record = header;
}

/* The record at found->position: 1 DATA, 0 PAD, -EILSEQ damaged. */
static int
record_read(const struct rdmo_log_view *log, struct rdmo_log_record *found)
{
	const uint64_t left = log->tail - found->position;
	const uint64_t offset = found->position & (log->capacity - 1);
	const uint8_t *at = (const uint8_t *)log->ring + offset;
	struct rdmo_record header;
	uint64_t bytes;
	bool data;

	/* Multiples of a header's size: a header that begins before the tail and the ring's end does not end behind them. */
	if (left > log->capacity || (found->position | log->tail) % RDMO_RECORD_ALIGN != 0)
		return -EILSEQ;
	memcpy(&header, at, sizeof(header));
	data = header.kind == rte_cpu_to_le_16(RDMO_RECORD_DATA);
	found->length = rte_le_to_cpu_32(header.length);
	bytes = rdmo_record_bytes(found->length);
	if (bytes > left || bytes > log->capacity - offset || header.reserved != 0 ||
	    header.position != rte_cpu_to_le_64(found->position) ||
	    (!data && header.kind != rte_cpu_to_le_16(RDMO_RECORD_PAD)))
		return -EILSEQ;
	if (header.crc32c != record_crc(&header, at + sizeof(header), data ? found->length : 0))
		return -EILSEQ;
	found->next = found->position + bytes;
	found->seq = rte_le_to_cpu_64(header.seq);
	found->producer = rte_le_to_cpu_32(header.producer);
	found->payload = at + sizeof(header);
	return data;
}

int
rdmo_record_find(const struct rdmo_log_view *log, uint64_t position, struct rdmo_log_record *found)
{
	int rc = 0;

	found->position = position;
	while (rc == 0 && found->position != log->tail) {
		rc = record_read(log, found);
		if (rc == 0)
			found->position = found->next;
	}
	return rc;
}

/* ---- Slots ---- */

uint64_t
rdmo_slot_put(struct rdmo_log_slot *slot, uint64_t seq, uint64_t position)
{
	uint64_t next_seq = rte_le_to_cpu_64(slot->next_seq), first;

	/* Words of those before it that have no record are still the ones of a window before. */
	if (seq > next_seq && seq - next_seq >= RDMO_LOG_WINDOW)
		next_seq = seq - RDMO_LOG_WINDOW + 1;
	first = RTE_MIN(next_seq, seq);
	for (; next_seq < seq; next_seq++)
		rdmo_slot_void(slot, next_seq);
	__atomic_store_n(&slot->position[rdmo_slot_index(seq)], rte_cpu_to_le_64(position),
			 __ATOMIC_RELAXED);
	/* Not before its word, wherever the worker is killed. */
	if (next_seq == seq)
		__atomic_store_n(&slot->next_seq, rte_cpu_to_le_64(seq + 1), __ATOMIC_RELEASE);
	return first;
}

void
rdmo_slot_void(struct rdmo_log_slot *slot, uint64_t seq)
{
	__atomic_store_n(&slot->position[rdmo_slot_index(seq)], rte_cpu_to_le_64(RDMO_NONE),
			 __ATOMIC_RELAXED);
}

void
rdmo_slot_recover(struct rdmo_log_slot *slot, uint64_t tail)
{
	uint64_t next_seq = rte_le_to_cpu_64(slot->next_seq);

	for (uint32_t i = 0; i < RDMO_LOG_WINDOW; i++)
		if (rte_le_to_cpu_64(slot->position[i]) >= tail)
			rdmo_slot_void(slot, i);
	for (uint32_t i = 0; i < RDMO_LOG_WINDOW && next_seq > 0; i++) {
		if (rte_le_to_cpu_64(slot->position[rdmo_slot_index(next_seq - 1)]) != RDMO_NONE)
			break;
		next_seq--;
	}
	__atomic_store_n(&slot->next_seq, rte_cpu_to_le_64(next_seq), __ATOMIC_RELAXED);
}

int
rdmo_slot_find(const struct rdmo_log_slot *slot, const struct rdmo_log_view *log, uint32_t producer,
	       uint64_t seq, uint64_t *position)
{
	const uint64_t next_seq = rte_le_to_cpu_64(slot->next_seq);
	struct rdmo_log_record found;

	if (seq >= next_seq)
		return 0;
	if (next_seq - seq > RDMO_LOG_WINDOW)
		return -ERANGE;
	found.position = rte_le_to_cpu_64(slot->position[rdmo_slot_index(seq)]);
	if (found.position >= log->tail)
		return 0;
	*position = found.position;
	/* What the reader has released may be others' by now, and another process's ring is not here; the word is still its own. */
	if (log->ring == NULL || found.position < log->head ||
	    log->tail - found.position > log->capacity)
		return 1;
	return record_read(log, &found) == 1 && found.producer == producer && found.seq == seq
		       ? 1
		       : -EILSEQ;
}
