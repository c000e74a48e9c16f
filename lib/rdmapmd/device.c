/* SPDX-License-Identifier: BSD-3-Clause */

/* The list of devices. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "rdmapmd_driver.h"

struct rdmapmd_device {
	struct rdmapmd_device *next;
	uint64_t serial; /* grows with each registration: the order of the list */
	uint32_t references;
	void *priv; /* NULL once unregistered */
	char *driver;
	char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below and of every device */
static struct rdmapmd_device *devices;
static uint64_t last_serial;

const char *
rdmapmd_version(void)
{
	return RDMAPMD_VERSION;
}

/* Called with the lock held. */
static void
release(struct rdmapmd_device *device)
{
	if (--device->references > 0)
		return;
	free(device->driver);
	free(device);
}

/* Called with the lock held. */
static struct rdmapmd_device *
find(const char *name)
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
	device = find(name);
	if (device != NULL)
		device->references++;
	pthread_mutex_unlock(&lock);
	return device;
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
		release(previous);
	pthread_mutex_unlock(&lock);
	return device;
}

void
rdmapmd_device_put(struct rdmapmd_device *device)
{
	if (device == NULL)
		return;
	pthread_mutex_lock(&lock);
	release(device);
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

int
rdmapmd_device_register(const char *name, const char *driver, void *priv,
			struct rdmapmd_device **result)
{
	struct rdmapmd_device *device, **link;
	int rc = rdmapmd_check_copies();

	if (rc != 0)
		return rc;
	device = calloc(1, sizeof(*device) + strlen(name) + 1);
	if (device == NULL)
		return -ENOMEM;
	device->driver = strdup(driver);
	if (device->driver == NULL) {
		free(device);
		return -ENOMEM;
	}
	memcpy(device->name, name, strlen(name) + 1);
	device->priv = priv;
	device->references = 1;

	pthread_mutex_lock(&lock);
	if (find(name) != NULL) {
		rc = -EEXIST;
		release(device);
	} else {
		device->serial = ++last_serial;
		for (link = &devices; *link != NULL; link = &(*link)->next)
			;
		*link = device;
		*result = device;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void
rdmapmd_device_unregister(struct rdmapmd_device *device)
{
	struct rdmapmd_device **link;

	if (device == NULL)
		return;
	pthread_mutex_lock(&lock);
	for (link = &devices; *link != NULL; link = &(*link)->next)
		if (*link == device) {
			*link = device->next;
			break;
		}
	device->priv = NULL;
	release(device);
	pthread_mutex_unlock(&lock);
}
