/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The devices of the process that are served, each by a worker.
 */
#ifndef RDMO_WORKER_DEVICES_H
#define RDMO_WORKER_DEVICES_H

#include <stdint.h>

#include <rdmapmd.h>
#include <rdmo.h>

#include "options.h"

#define DEVICES_MAX 64

/** A device that is open. */
struct device {
	char name[NAME_BYTES];
	struct rdmapmd_context *context;
	struct rdmapmd_pd *pd;
	struct rdmapmd_context *
		events; /* the device once more, for its events: without objects, which those would keep */
};

struct served {
	struct device device;
	struct rdmo_worker *worker;
};

struct devices {
	uint32_t count;
	struct served served[DEVICES_MAX];
};

/** Open a device. @return 0; -errno, which is said. */
int device_open(struct device *device, const char *name);

/** Close it: nothing of it may be left. One that is not open is allowed. */
void device_close(struct device *device);

/**
 * Open all devices but those of initiators, and create their workers, which listen from then on.
 *
 * @param devices Out; devices_close() on error, too.
 * @param options What the command line says.
 * @param lcores  How many will poll each worker.
 * @return 0; -errno, which is said.
 */
int devices_open(struct devices *devices, const struct options *options, uint32_t lcores);

/** The one with that name, or with "" the first; NULL: it is not served. */
struct served *devices_find(struct devices *devices, const char *name);

/** End the workers, which nobody polls any longer, and close the devices. */
void devices_close(struct devices *devices);

#endif
