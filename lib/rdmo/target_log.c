/* SPDX-License-Identifier: BSD-3-Clause */

/* A log as its target has it: made, offered to initiators, read where it lies, released; and its reader, who sleeps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "log.h"
#include "rdmo.h"
#include "record.h"
#include "target.h"
#include "telemetry.h"

struct rdmo_log {
	struct rdmo_target *target;
	struct rdmo_kept kept; /* if the worker does not let go of it */
	struct rdmo_log_header *header;
	void *own; /* memory that was allocated here */
	uint64_t key;
	struct rdmo_log_view view;
	struct rdmo_shown_log shown;
	uint64_t next; /* to be read */
	/* An eventfd: the worker, of this process, has appended something since the reader went to sleep. */
	int fd;
};

/* A log that is there is taken up. */
static int
log_format(void *memory, const struct rdmo_log_attr *attr)
{
	const struct rdmo_log_header *header = memory;

	if (header->magic != rte_cpu_to_le_32(RDMO_LOG_MAGIC))
		rdmo_log_format(memory, attr->capacity, attr->producers);
	else if (header->version != RDMO_VERSION ||
		 header->capacity != rte_cpu_to_le_64(attr->capacity) ||
		 header->producers != rte_cpu_to_le_32(attr->producers))
		return -EEXIST;
	return 0;
}

static void
log_free(struct rdmo_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	rte_free(log->own);
	free(log);
}

static void
kept_free(struct rdmo_kept *kept)
{
	log_free(container_of(kept, struct rdmo_log, kept));
}

/* The worker may still append to it: it is freed with its target. */
static void
log_keep(struct rdmo_log *log, int rc)
{
	RDMO_LOG(NOTICE, "a log stays until its target is closed: the worker does not answer: %s",
		 strerror(-rc));
	log->kept.free = kept_free;
	rdmo_target_keep(log->target, &log->kept);
}

static int
log_open(struct rdmo_log *log, const struct rdmo_log_attr *attr)
{
	const uint64_t bytes = rdmo_log_bytes(attr->capacity, attr->producers);
	struct rdmo_mr_attr region = {
		.addr = attr->memory,
		.length = bytes,
		.rq_id = attr->rq_id,
		.rights = RDMO_RIGHT_APPEND,
		.tail_mode = RDMO_TAIL_LOG,
	};
	int rc;

	if (region.addr == NULL)
		region.addr = log->own = rte_zmalloc("rdmo_log", bytes, 4096);
	if (region.addr == NULL)
		return -ENOMEM;
	log->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (log->fd < 0)
		return -errno;
	rc = log_format(region.addr, attr);
	if (rc == 0)
		rc = rdmo_target_offer(log->target, &region, (uint32_t)log->fd + 1, &log->key);
	log->header = region.addr;
	log->view.ring = (uint8_t *)region.addr + rdmo_log_ring_offset(attr->producers);
	log->view.capacity = attr->capacity;
	log->view.tail = log->next = rte_le_to_cpu_64(log->header->head);
	return rc;
}

int
rdmo_log_create(struct rdmo_target *target, const struct rdmo_log_attr *attr, struct rdmo_log **log)
{
	struct rdmo_log *made;
	int rc;

	if (target == NULL || attr == NULL || log == NULL ||
	    rdmo_log_bytes(attr->capacity, attr->producers) == 0 ||
	    (uintptr_t)attr->memory % 64 != 0)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->target = target;
	made->fd = -1;
	rc = log_open(made, attr);
	if (rc == -ETIMEDOUT) {
		log_keep(made, rc);
		return rc;
	}
	if (rc != 0) {
		log_free(made);
		return rc;
	}
	made->shown = (struct rdmo_shown_log){
		.log = made,
		.query = rdmo_log_query,
		.capacity = attr->capacity,
		.producers = attr->producers,
	};
	rdmo_telemetry_add_log(&made->shown);
	*log = made;
	return 0;
}

void
rdmo_log_destroy(struct rdmo_log *log)
{
	int rc;

	if (log == NULL)
		return;
	rdmo_telemetry_remove_log(&log->shown);
	rc = rdmo_mr_dereg(log->target, log->key);
	if (rc == 0)
		log_free(log);
	else
		log_keep(log, rc);
}

int
rdmo_log_query(const struct rdmo_log *log, struct rdmo_log_info *info)
{
	const struct rdmo_log_header *header;

	if (log == NULL || info == NULL)
		return -EINVAL;
	header = log->header;
	*info = (struct rdmo_log_info){
		.addr = (uintptr_t)header,
		.key = log->key,
		.epoch = rte_le_to_cpu_64(header->epoch),
		.head = rte_le_to_cpu_64(__atomic_load_n(&header->head, __ATOMIC_RELAXED)),
		.tail = rte_le_to_cpu_64(__atomic_load_n(&header->tail, __ATOMIC_RELAXED)),
	};
	return 0;
}

int
rdmo_log_read(struct rdmo_log *log, struct rdmo_log_record *records, uint32_t n)
{
	uint32_t count;

	/* Partner: the worker's publication, behind the records. */
	log->view.tail = rte_le_to_cpu_64(__atomic_load_n(&log->header->tail, __ATOMIC_ACQUIRE));
	for (count = 0; count < n; count++) {
		const int rc = rdmo_record_find(&log->view, log->next, &records[count]);

		if (rc < 0 && count == 0) {
			records[0].next = log->view.tail;
			return rc;
		}
		if (rc != 1)
			break;
		log->next = records[count].next;
	}
	return (int)count;
}

int
rdmo_log_release(struct rdmo_log *log, uint64_t next)
{
	const uint64_t head = rte_le_to_cpu_64(log->header->head);

	if (next < head || next > log->view.tail || next % RDMO_RECORD_ALIGN != 0)
		return -EINVAL;
	/* Partner: the worker, when it finds no room. */
	__atomic_store_n(&log->header->head, rte_cpu_to_le_64(next), __ATOMIC_RELEASE);
	if (log->next < next)
		log->next = next;
	return 0;
}

int
rdmo_log_fd(const struct rdmo_log *log)
{
	if (log == NULL)
		return -EINVAL;
	return rdmo_target_is_remote(log->target) ? -ENOTSUP : log->fd;
}

int
rdmo_log_arm(struct rdmo_log *log)
{
	uint64_t woken;

	if (log == NULL)
		return -EINVAL;
	if (rdmo_target_is_remote(log->target))
		return -ENOTSUP;
	/* What woke the reader before. */
	if (read(log->fd, &woken, sizeof(woken)) < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	/* Partner: rdmo_region_must_wake(), behind the tail that was moved. One of both sees what the other has stored. */
	__atomic_store_n(&log->header->is_asleep, RTE_LE32(1), __ATOMIC_SEQ_CST);
	if (rte_le_to_cpu_64(__atomic_load_n(&log->header->tail, __ATOMIC_SEQ_CST)) == log->next)
		return 0;
	__atomic_store_n(&log->header->is_asleep, 0, __ATOMIC_RELAXED);
	return 1;
}
