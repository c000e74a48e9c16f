/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "irq.h"

int
vfu_irq_table_init(struct vfu_irq_table *table, const struct vfu_irq_type *types,
		   unsigned int ntypes, struct vfu_pace *pace)
{
	unsigned int i, total = 0;

	table->ntypes = ntypes;
	table->pace = pace;
	for (i = 0; i < ntypes; i++) {
		table->first[i] = total;
		if (types[i].count > VFU_MAX_VECTORS - total)
			return -EINVAL;
		total += types[i].count;
	}
	table->first[ntypes] = total;
	table->vectors = calloc(total > 0 ? total : 1, sizeof(table->vectors[0]));
	if (table->vectors == NULL)
		return -ENOMEM;
	for (i = 0; i < total; i++)
		table->vectors[i].fd = -1;
	pthread_mutex_init(&table->lock, NULL);
	table->unsignalled = vfu_eventfd_signaller_init(&table->signaller);
	return 0;
}

void
vfu_irq_table_fini(struct vfu_irq_table *table)
{
	vfu_irq_table_clear(table);
	vfu_eventfd_signaller_fini(&table->signaller);
	pthread_mutex_destroy(&table->lock);
	free(table->vectors);
	table->vectors = NULL;
}

static void
vfu_irq_vector_set(struct vfu_irq_vector *vector, int fd)
{
	if (vector->fd >= 0)
		close(vector->fd);
	vector->fd = fd;
}

void
vfu_irq_table_clear(struct vfu_irq_table *table)
{
	unsigned int i;

	pthread_mutex_lock(&table->lock);
	for (i = 0; i < table->first[table->ntypes]; i++) {
		vfu_irq_vector_set(&table->vectors[i], -1);
		table->vectors[i].masked = false;
		table->vectors[i].pending = false;
	}
	pthread_mutex_unlock(&table->lock);
}

/* How many vectors a type has. */
static unsigned int
vfu_irq_table_count(const struct vfu_irq_table *table, unsigned int type)
{
	return type < table->ntypes ? table->first[type + 1] - table->first[type] : 0;
}

static struct vfu_irq_vector *
vfu_irq_vector(struct vfu_irq_table *table, unsigned int type, unsigned int vector)
{
	if (vector >= vfu_irq_table_count(table, type))
		return NULL;
	return &table->vectors[table->first[type] + vector];
}

void
vfu_irq_assign(struct vfu_irq_table *table, unsigned int type, unsigned int vector, int fd)
{
	struct vfu_irq_vector *v;

	pthread_mutex_lock(&table->lock);
	v = vfu_irq_vector(table, type, vector);
	if (v != NULL)
		vfu_irq_vector_set(v, fd);
	else if (fd >= 0)
		close(fd);
	pthread_mutex_unlock(&table->lock);
}

/* A client that hangs much on its eventfd makes this long, and pays for it. */
static void
vfu_irq_signal(struct vfu_irq_table *table, struct vfu_irq_vector *vector)
{
	struct vfu_pace_unit unit;

	vector->pending = vfu_pace_is_paused(table->pace);
	if (vector->pending || vector->fd < 0)
		return;
	vfu_pace_begin(table->pace, &unit);
	vfu_eventfd_signal(&table->signaller, vector->fd);
	vfu_pace_end(table->pace, &unit);
}

void
vfu_irq_table_go_on(struct vfu_irq_table *table)
{
	unsigned int i;

	pthread_mutex_lock(&table->lock);
	for (i = 0; i < table->first[table->ntypes]; i++) {
		if (table->vectors[i].pending && !table->vectors[i].masked)
			vfu_irq_signal(table, &table->vectors[i]);
	}
	pthread_mutex_unlock(&table->lock);
}

void
vfu_irq_mask(struct vfu_irq_table *table, unsigned int type, unsigned int vector, bool mask)
{
	struct vfu_irq_vector *v;

	pthread_mutex_lock(&table->lock);
	v = vfu_irq_vector(table, type, vector);
	if (v != NULL) {
		v->masked = mask;
		if (!mask && v->pending)
			vfu_irq_signal(table, v);
	}
	pthread_mutex_unlock(&table->lock);
}

int
vfu_irq_trigger(struct vfu_irq_table *table, unsigned int type, unsigned int vector)
{
	struct vfu_irq_vector *v;
	int rc = 0;

	pthread_mutex_lock(&table->lock);
	v = vfu_irq_vector(table, type, vector);
	if (v == NULL)
		rc = -EINVAL;
	else if (v->masked)
		v->pending = true;
	else if (v->fd >= 0)
		vfu_irq_signal(table, v);
	else
		rc = -ENOENT;
	pthread_mutex_unlock(&table->lock);
	return rc;
}
