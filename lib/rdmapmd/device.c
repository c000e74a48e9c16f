/* SPDX-License-Identifier: BSD-3-Clause */

/* The list of devices: who is in it, under what name, and who still uses one. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "device_private.h"
#include "log_private.h"

/* Of all below, and of next, serial, references, priv and ops of every device. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdmapmd_device *devices;
static uint64_t last_serial;

const char *
rdmapmd_version(void)
{
	return RDMAPMD_VERSION;
}

/* Called with the lock held. */
static void
device_release(struct rdmapmd_device *device)
{
	unsigned int type;

	if (--device->references > 0)
		return;
	for (type = 0; type < RDMAPMD_NUMBERED; type++)
		rdmapmd_table_destroy(device->numbers[type]);
	pthread_rwlock_destroy(&device->use);
	pthread_mutex_destroy(&device->lock);
	free(device->driver);
	free(device);
}

/* Called with the lock held. */
static struct rdmapmd_device *
device_find(const char *name)
{
	struct rdmapmd_device *device;

	for (device = devices; device != NULL; device = device->next)
		if (strcmp(device->name, name) == 0)
			return device;
	return NULL;
}

struct rdmapmd_device *
rdmapmd_device_find(const char *name)
{
	struct rdmapmd_device *device;

	pthread_mutex_lock(&lock);
	device = device_find(name);
	if (device != NULL)
		device->references++;
	pthread_mutex_unlock(&lock);
	return device;
}

struct rdmapmd_device *
rdmapmd_device_find_by_port(uint16_t port_id)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	return rte_eth_dev_get_name_by_port(port_id, name) == 0 ? rdmapmd_device_find(name) : NULL;
}

struct rdmapmd_device *
rdmapmd_device_next(struct rdmapmd_device *previous)
{
	struct rdmapmd_device *device;

	pthread_mutex_lock(&lock);
	/* By number, not by link: the previous one may have left the list. */
	for (device = devices; device != NULL; device = device->next)
		if (previous == NULL || device->serial > previous->serial)
			break;
	if (device != NULL)
		device->references++;
	if (previous != NULL)
		device_release(previous);
	pthread_mutex_unlock(&lock);
	return device;
}

void
rdmapmd_device_put(struct rdmapmd_device *device)
{
	if (device == NULL)
		return;
	pthread_mutex_lock(&lock);
	device_release(device);
	pthread_mutex_unlock(&lock);
}

const char *
rdmapmd_device_name(const struct rdmapmd_device *device)
{
	return device->name;
}

const char *
rdmapmd_device_driver(const struct rdmapmd_device *device)
{
	return device->driver;
}

void *
rdmapmd_device_priv(struct rdmapmd_device *device)
{
	void *priv;

	pthread_mutex_lock(&lock);
	priv = device->priv;
	pthread_mutex_unlock(&lock);
	return priv;
}

struct rdmapmd_device *
rdmapmd_device_new(const char *name, const char *driver, void *priv)
{
	struct rdmapmd_device *device = calloc(1, sizeof(*device) + strlen(name) + 1);

	if (device == NULL)
		return NULL;
	device->driver = strdup(driver);
	if (device->driver == NULL) {
		free(device);
		return NULL;
	}
	memcpy(device->name, name, strlen(name) + 1);
	device->priv = priv;
	device->references = 1;
	pthread_rwlock_init(&device->use, NULL);
	pthread_mutex_init(&device->lock, NULL);
	TAILQ_INIT(&device->contexts);
	return device;
}

int
rdmapmd_device_add(struct rdmapmd_device *device)
{
	struct rdmapmd_device **link;
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (device_find(device->name) != NULL) {
		rc = -EEXIST;
	} else {
		device->serial = ++last_serial;
		for (link = &devices; *link != NULL; link = &(*link)->next)
			;
		*link = device;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void
rdmapmd_device_remove(struct rdmapmd_device *device)
{
	struct rdmapmd_device **link;

	pthread_mutex_lock(&lock);
	for (link = &devices; *link != NULL; link = &(*link)->next)
		if (*link == device) {
			*link = device->next;
			break;
		}
	device->priv = NULL;
	device_release(device);
	pthread_mutex_unlock(&lock);
}

int
rdmapmd_device_set_ops(struct rdmapmd_device *device, const struct rdmapmd_driver_ops *ops,
		       struct rdmapmd_table *const numbers[RDMAPMD_NUMBERED])
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (device->ops != NULL) {
		rc = -EEXIST;
	} else {
		memcpy(device->numbers, numbers, sizeof(device->numbers));
		device->ops = ops;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int
rdmapmd_device_use(struct rdmapmd_device *device, const struct rdmapmd_driver_ops **ops,
		   void **priv)
{
	int rc = 0;

	pthread_rwlock_rdlock(&device->use);
	if (device->gone)
		rc = -ENODEV;
	pthread_rwlock_unlock(&device->use);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&lock);
	if (device->ops == NULL) {
		rc = -ENOTSUP;
	} else {
		*ops = device->ops;
		*priv = device->priv;
		device->references++;
	}
	pthread_mutex_unlock(&lock);
	if (rc != 0)
		RDMAPMD_LOG(ERR, device, "driver %s offers no RDMA on it", device->driver);
	return rc;
}

int
rdmapmd_device_enter(struct rdmapmd_device *device, struct rdmapmd_context *context)
{
	int rc = 0;

	pthread_rwlock_rdlock(&device->use);
	if (device->gone)
		rc = -ENODEV;
	pthread_mutex_lock(&lock);
	if (rc == 0 && device->ops == NULL)
		rc = -ENOTSUP;
	*context = (struct rdmapmd_context){ .device = device, .device_priv = device->priv };
	pthread_mutex_unlock(&lock);
	if (rc != 0)
		pthread_rwlock_unlock(&device->use);
	return rc;
}

void
rdmapmd_device_leave(struct rdmapmd_device *device)
{
	pthread_rwlock_unlock(&device->use);
}
