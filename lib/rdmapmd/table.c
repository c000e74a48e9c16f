/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers to objects: a hash table, since devices hand out numbers from wide ranges, and addresses are numbers too. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "rdmapmd_driver.h"

#define FIRST_LOG_BUCKETS 4

struct rdmapmd_table {
	pthread_mutex_t lock;
	struct rdmapmd_handle **buckets;
	uint32_t log_buckets;
	uint32_t count;
};

static uint32_t
bucket_of(uint64_t number, uint32_t log_buckets)
{
	return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - log_buckets));
}

int
rdmapmd_table_create(struct rdmapmd_table **result)
{
	struct rdmapmd_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	table->log_buckets = FIRST_LOG_BUCKETS;
	table->buckets = calloc((size_t)1 << table->log_buckets, sizeof(table->buckets[0]));
	if (table->buckets == NULL) {
		free(table);
		return -ENOMEM;
	}
	pthread_mutex_init(&table->lock, NULL);
	*result = table;
	return 0;
}

int
rdmapmd_table_destroy(struct rdmapmd_table *table)
{
	if (table == NULL)
		return 0;
	if (rdmapmd_table_count(table) > 0)
		return -EBUSY;
	pthread_mutex_destroy(&table->lock);
	free(table->buckets);
	free(table);
	return 0;
}

/* Called with the lock held: where the link to a number is, or would be. */
static struct rdmapmd_handle **
table_find(struct rdmapmd_table *table, uint64_t number)
{
	struct rdmapmd_handle **link = &table->buckets[bucket_of(number, table->log_buckets)];

	while (*link != NULL && (*link)->number != number)
		link = &(*link)->next;
	return link;
}

/* Called with the lock held. Without memory the table stays as it is, only slower. */
static void
table_grow(struct rdmapmd_table *table)
{
	const uint32_t log = table->log_buckets + 1;
	struct rdmapmd_handle **buckets = calloc((size_t)1 << log, sizeof(buckets[0]));
	uint32_t i;

	if (buckets == NULL)
		return;
	for (i = 0; i < UINT32_C(1) << table->log_buckets; i++) {
		struct rdmapmd_handle *handle = table->buckets[i];

		while (handle != NULL) {
			struct rdmapmd_handle *next = handle->next;
			uint32_t to = bucket_of(handle->number, log);

			handle->next = buckets[to];
			buckets[to] = handle;
			handle = next;
		}
	}
	free(table->buckets);
	table->buckets = buckets;
	table->log_buckets = log;
}

int
rdmapmd_table_insert(struct rdmapmd_table *table, uint64_t number, struct rdmapmd_handle *handle)
{
	struct rdmapmd_handle **link;
	int rc = 0;

	pthread_mutex_lock(&table->lock);
	if (table->count >> table->log_buckets != 0 && table->log_buckets < 24)
		table_grow(table);
	link = table_find(table, number);
	if (*link != NULL) {
		rc = -EEXIST;
	} else {
		*handle = (struct rdmapmd_handle){ .number = number };
		*link = handle;
		table->count++;
	}
	pthread_mutex_unlock(&table->lock);
	return rc;
}

struct rdmapmd_handle *
rdmapmd_table_get(struct rdmapmd_table *table, uint64_t number)
{
	struct rdmapmd_handle *handle;

	pthread_mutex_lock(&table->lock);
	handle = *table_find(table, number);
	if (handle != NULL)
		handle->references++;
	pthread_mutex_unlock(&table->lock);
	return handle;
}

void
rdmapmd_table_put(struct rdmapmd_table *table, struct rdmapmd_handle *handle)
{
	pthread_mutex_lock(&table->lock);
	handle->references--;
	pthread_mutex_unlock(&table->lock);
}

int
rdmapmd_table_remove(struct rdmapmd_table *table, uint64_t number, struct rdmapmd_handle **handle)
{
	struct rdmapmd_handle **link, *found;
	int rc = 0;

	pthread_mutex_lock(&table->lock);
	link = table_find(table, number);
	found = *link;
	if (found == NULL) {
		rc = -ENOENT;
	} else if (found->references > 0) {
		rc = -EBUSY;
	} else {
		*link = found->next;
		table->count--;
		if (handle != NULL)
			*handle = found;
	}
	pthread_mutex_unlock(&table->lock);
	return rc;
}

uint32_t
rdmapmd_table_count(struct rdmapmd_table *table)
{
	uint32_t count;

	pthread_mutex_lock(&table->lock);
	count = table->count;
	pthread_mutex_unlock(&table->lock);
	return count;
}
