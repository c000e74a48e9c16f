/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * RDMA beside ethdev: the library that drivers and applications of one process meet in. One include for all of it.
 *
 * | header            | objects                                                        |
 * |-------------------|----------------------------------------------------------------|
 * | rdmapmd.h         | the list of devices                                            |
 * | rdmapmd_device.h  | context; what device, port, GID table and counters say         |
 * | rdmapmd_mr.h      | protection domain, memory region, mempool registration         |
 * | rdmapmd_cq.h      | completion queue, work completion, completion channel          |
 * | rdmapmd_wr.h      | work requests                                                  |
 * | rdmapmd_qp.h      | queue pair, its states, post bursts                            |
 * | rdmapmd_srq.h     | shared receive queue                                           |
 * | rdmapmd_td.h      | thread domain                                                  |
 * | rdmapmd_event.h   | asynchronous events                                            |
 *
 * What holds for every call of these headers:
 *
 * - **Errors.** 0 or -errno, objects through the last parameter, which is not touched on error; bursts return counts.
 *   Besides what each call lists: -EINVAL a pointer is NULL or stands for no object that is alive; -ENODEV the device was
 *   removed, or its context is being closed; -EBUSY from a destroying call: something depends on the object, one of its
 *   events is not acknowledged, or another thread is inside a call on it. Nothing has changed then.
 * - **Destruction.** Any other error of a destroying call comes from the device: the object is gone for the application
 *   all the same, and the device no longer reaches its memory.
 * - **Threads.** Control calls: any thread, also at once; calls on one object take turns, calls on different objects run
 *   side by side. Burst calls: one caller per queue at a time. They take no lock, but for sends of queue pairs that share a
 *   doorbell register, which take the register's for a moment (rdmapmd_td.h: which do not). An object must not be used
 *   by one thread while another destroys it.
 * - **Blocking.** Control calls may wait for a command of the device, for its time-out at most. Bursts never block.
 */
#ifndef RDMAPMD_H
#define RDMAPMD_H

#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd_cq.h"
#include "rdmapmd_device.h"
#include "rdmapmd_event.h"
#include "rdmapmd_mr.h"
#include "rdmapmd_qp.h"
#include "rdmapmd_srq.h"
#include "rdmapmd_td.h"
#include "rdmapmd_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the library, e.g. to print it: "MAJOR.MINOR.PATCH", as in the file VERSION.
 *
 * Threads: any. Blocks: never.
 *
 * @return A string that is never freed.
 */
__rte_experimental const char *rdmapmd_version(void);

/**
 * Find a device by its name, e.g. "net_rnic0", and take a reference.
 *
 * Threads: any. Blocks: never for long.
 * Owner:   the reference is the caller's; see rdmapmd_device_put().
 *
 * @param name As rdmapmd_device_name() has it; not NULL.
 * @return The device, or NULL if none has that name.
 */
__rte_experimental struct rdmapmd_device *rdmapmd_device_find(const char *name);

/**
 * Find the device that an ethdev port belongs to, and take a reference.
 *
 * Threads: any. Blocks: never for long.
 * Owner:   the reference is the caller's.
 *
 * @param port_id Number of an ethdev port.
 * @return The device, or NULL: no such port, or a port of another driver.
 */
__rte_experimental struct rdmapmd_device *rdmapmd_device_find_by_port(uint16_t port_id);

/**
 * Walk all devices, in the order of their registration.
 *
 * Threads: any; devices may come and go meanwhile. Blocks: never for long.
 * Owner:   the reference on `previous` is given back, one on the result is the caller's.
 *
 * @param previous Result of the last call; NULL to begin.
 * @return The next device, or NULL after the last.
 */
__rte_experimental struct rdmapmd_device *rdmapmd_device_next(struct rdmapmd_device *previous);

/**
 * Give a reference back.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param device What a find or next call has returned; NULL is allowed. It must not be used afterwards.
 */
__rte_experimental void rdmapmd_device_put(struct rdmapmd_device *device);

/**
 * The name of a device.
 *
 * Threads: any. Blocks: never.
 *
 * @param device A device of which the caller holds a reference.
 * @return E.g. "net_rnic0"; lives as long as the reference.
 */
__rte_experimental const char *rdmapmd_device_name(const struct rdmapmd_device *device);

/**
 * The name of a device's driver.
 *
 * Threads: any. Blocks: never.
 *
 * @param device A device of which the caller holds a reference.
 * @return E.g. "net_rnic"; lives as long as the reference.
 */
__rte_experimental const char *rdmapmd_device_driver(const struct rdmapmd_device *device);

#ifdef __cplusplus
}
#endif

#endif
