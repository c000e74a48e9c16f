/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What a driver uses: the list of devices from its side, and tables from numbers to objects.
 */
#ifndef RDMAPMD_DRIVER_H
#define RDMAPMD_DRIVER_H

#include <stdint.h>

#include "rdmapmd.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Take a device into the list. Both strings are copied.
 *
 * Threads: any.
 *
 * @param priv The driver's own.
 * @return 0; -EEXIST the name is taken, or the process has a second copy of this library, which is logged with the file
 *         names of both; -ENOMEM.
 */
int rdmapmd_device_register(const char *name, const char *driver, void *priv,
			    struct rdmapmd_device **device);

/**
 * Take a device out of the list: nobody finds it any more. Those who hold a reference keep the name, and get NULL from
 * rdmapmd_device_priv(). NULL is allowed.
 *
 * Threads: any.
 */
void rdmapmd_device_unregister(struct rdmapmd_device *device);

/** @return What was given at registration, or NULL once the device is unregistered. */
void *rdmapmd_device_priv(struct rdmapmd_device *device);

/**
 * A table from numbers, as a device hands them out, to objects with a reference count. The handle is a member of the
 * object.
 *
 * Threads: any, all calls; the table has a lock. Not for the data path.
 */
struct rdmapmd_table;

/** A member of each object that is in a table. The library's; set by rdmapmd_table_insert(). */
struct rdmapmd_handle {
	uint32_t number;
	uint32_t references; /**< of rdmapmd_table_get(), not yet put */
	struct rdmapmd_handle *next;
};

/** @return -ENOMEM. */
int rdmapmd_table_create(struct rdmapmd_table **table);

/** @return -EBUSY while objects are in it. NULL is allowed. */
int rdmapmd_table_destroy(struct rdmapmd_table *table);

/** @return -EEXIST the number is in use, -ENOMEM. */
int rdmapmd_table_insert(struct rdmapmd_table *table, uint32_t number,
			 struct rdmapmd_handle *handle);

/** @return The object of a number, with a reference; NULL if there is none. */
struct rdmapmd_handle *rdmapmd_table_get(struct rdmapmd_table *table, uint32_t number);

/** Give a reference back. */
void rdmapmd_table_put(struct rdmapmd_table *table, struct rdmapmd_handle *handle);

/**
 * Take an object out.
 *
 * @param handle May be NULL; else what was removed, to be freed by the caller.
 * @return -ENOENT no such number, -EBUSY while references are held.
 */
int rdmapmd_table_remove(struct rdmapmd_table *table, uint32_t number,
			 struct rdmapmd_handle **handle);

/** @return How many objects are in it. */
uint32_t rdmapmd_table_count(struct rdmapmd_table *table);

#ifdef __cplusplus
}
#endif

#endif
