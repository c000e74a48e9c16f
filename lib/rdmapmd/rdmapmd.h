/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The RDMA devices of this process. One library for the driver, which registers them, and for applications, which find
 * them: both see the same list only because both use the same shared object.
 */
#ifndef RDMAPMD_H
#define RDMAPMD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device; opaque. Valid as long as a reference is held, even when the device is gone. */
struct rdmapmd_device;

/** @return The library's version, "MAJOR.MINOR.PATCH". */
const char *rdmapmd_version(void);

/**
 * Find a device by its name, e.g. "net_rnic0", and take a reference.
 *
 * Threads: any. Blocks: never for long.
 * Owner:   the reference is the caller's; see rdmapmd_device_put().
 *
 * @return The device, or NULL if none has that name.
 */
struct rdmapmd_device *rdmapmd_device_find(const char *name);

/**
 * Walk all devices, in the order of their registration.
 *
 * Threads: any; devices may come and go meanwhile.
 * Owner:   the reference on `previous` is given back, one on the result is the caller's.
 *
 * @param previous Result of the last call; NULL to begin.
 * @return The next device, or NULL after the last.
 */
struct rdmapmd_device *rdmapmd_device_next(struct rdmapmd_device *previous);

/** Give a reference back. NULL is allowed. */
void rdmapmd_device_put(struct rdmapmd_device *device);

/** @return Its name; lives as long as the reference. */
const char *rdmapmd_device_name(const struct rdmapmd_device *device);

/** @return The name of its driver, e.g. "net_rnic"; lives as long as the reference. */
const char *rdmapmd_device_driver(const struct rdmapmd_device *device);

#ifdef __cplusplus
}
#endif

#endif
