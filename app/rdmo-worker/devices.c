/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "listen.h"
#include "say.h"

#define CREDITS 16 /* messages of an initiator under way: the library's default */

int
device_open(struct device *device, const char *name)
{
	int rc;

	snprintf(device->name, sizeof(device->name), "%s", name);
	rc = rdmapmd_device_open_by_name(name, &device->context);
	if (rc == 0)
		rc = rdmapmd_device_open_by_name(name, &device->events);
	if (rc == 0)
		rc = rdmapmd_pd_alloc(device->context, &device->pd);
	return rc == 0 ? 0 : say_failed(rc, "cannot open the device %s: %s", name, strerror(-rc));
}

void
device_close(struct device *device)
{
	if (device->pd != NULL)
		rdmapmd_pd_dealloc(device->pd);
	if (device->events != NULL)
		rdmapmd_context_close(device->events);
	if (device->context != NULL)
		rdmapmd_context_close(device->context);
	device->pd = NULL;
	device->context = device->events = NULL;
}

static int
worker_create(struct served *served, uint32_t i, const struct options *options, uint32_t lcores)
{
	char address[RDMO_ADDRESS_BYTES];
	const struct rdmo_worker_attr attr = {
		.address = address,
		.lcores = lcores,
		.receives = options->connections * CREDITS,
		.credits = CREDITS,
	};
	int rc;

	if (listen_address(options->listen, i, address, sizeof(address)) != 0)
		return say_failed(-ERANGE, "%s: there is no address %u behind --listen=%s",
				  served->device.name, i, options->listen);
	rc = rdmo_worker_create(served->device.pd, &attr, &served->worker);
	if (rc == -EINVAL || rc == -EADDRNOTAVAIL)
		say("%s cannot be served at %s: HOST must be a numeric address of this machine",
		    served->device.name, address);
	else if (rc == -EADDRINUSE)
		say("%s cannot be served at %s: it is in use; give another one by --listen",
		    served->device.name, address);
	else if (rc == -ENOMEM)
		say("%s cannot be served: no memory for %u connections of each lcore: give EAL "
		    "more (-m, hugepages), or fewer --connections",
		    served->device.name, options->connections);
	else if (rc != 0)
		say("%s cannot be served at %s: %s", served->device.name, address, strerror(-rc));
	return rc;
}

static int
serve(struct devices *devices, const char *name, const struct options *options, uint32_t lcores)
{
	struct served *served = &devices->served[devices->count];
	int rc;

	if (devices->count == DEVICES_MAX)
		return say_failed(-ENOSPC, "there are more than %u devices", DEVICES_MAX);
	rc = device_open(&served->device, name);
	devices->count++;
	return rc == 0 ? worker_create(served, devices->count - 1, options, lcores) : rc;
}

/* Those of initiators, or all but those. */
static int
serve_some(struct devices *devices, const struct options *options, uint32_t lcores, bool with_load)
{
	struct rdmapmd_device *device = NULL;
	int rc = 0;

	while ((device = rdmapmd_device_next(device)) != NULL) {
		const char *name = rdmapmd_device_name(device);

		if (options_load_on(options, name) == with_load)
			rc = serve(devices, name, options, lcores);
		if (rc != 0) {
			rdmapmd_device_put(device);
			break;
		}
	}
	return rc;
}

int
devices_open(struct devices *devices, const struct options *options, uint32_t lcores)
{
	int rc = serve_some(devices, options, lcores, false);

	if (rc == 0 && devices->count == 0)
		rc = serve_some(devices, options, lcores, true);
	if (rc == 0 && devices->count == 0)
		rc = say_failed(-ENODEV, "there is no device: give EAL one (--vdev=net_rnic0, "
					 "-a BDF), or read its messages");
	return rc;
}

struct served *
devices_find(struct devices *devices, const char *name)
{
	for (uint32_t i = 0; i < devices->count; i++)
		if (name[0] == '\0' || strcmp(devices->served[i].device.name, name) == 0)
			return &devices->served[i];
	return NULL;
}

void
devices_close(struct devices *devices)
{
	for (uint32_t i = devices->count; i-- > 0;) {
		struct served *served = &devices->served[i];

		if (rdmo_worker_destroy(served->worker) != 0)
			say("the worker of %s does not end", served->device.name);
		device_close(&served->device);
	}
	devices->count = 0;
}
