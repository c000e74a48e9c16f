/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * RDMA beside ethdev: the library through which the applications and drivers of one process meet. This header includes the
 * others.
 *
 * | header            | objects                                                        |
 * |-------------------|----------------------------------------------------------------|
 * | rdmapmd.h         | the list of devices                                            |
 * | rdmapmd_device.h  | context; queries of device, port, GID table and counters       |
 * | rdmapmd_mr.h      | protection domain, memory region, mempool registration         |
 * | rdmapmd_mw.h      | memory window                                                  |
 * | rdmapmd_cq.h      | completion queue, work completion, completion channel          |
 * | rdmapmd_wr.h      | work requests                                                  |
 * | rdmapmd_ah.h      | paths, address handles                                         |
 * | rdmapmd_qp.h      | queue pair, its states, groups, post bursts                    |
 * | rdmapmd_srq.h     | shared receive queue                                           |
 * | rdmapmd_td.h      | thread domain                                                  |
 * | rdmapmd_event.h   | asynchronous events                                            |
 *
 * What holds for every call of these headers:
 *
 * - **Errors.** Calls return 0 or -errno, and objects through the last parameter, which is not touched on error; bursts
 *   return counts. Besides what each call lists: -EINVAL a pointer is NULL or is no live object; -ENODEV the device was
 *   removed, or its context is being closed; -EBUSY from a destroying call: something depends on the object, one of its
 *   events is not acknowledged, or another thread is inside a call on it. Nothing has changed then.
 * - **Destruction.** Any other error of a destroying call comes from the device. The object is gone all the same, and the
 *   device no longer reaches its memory.
 * - **Threads.** Control calls: any thread, concurrently; calls on one object are serialised, calls on different objects
 *   run in parallel. Burst calls: one caller per queue at a time. They take no lock, except for sends of queue pairs that
 *   share a doorbell register, which take that register's lock for a moment (rdmapmd_td.h: which do not share one). No
 *   thread may use an object while another destroys it.
 * - **Blocking.** Control calls may wait for a command of the device, at most for its timeout; those to which a peer's MAC is left to be
 *   found out, for its neighbours as well (rdmapmd_resolve(), RDMAPMD_RESOLVE_WAIT). Bursts never block.
 *
 * Source: IBTA vol. 1, chapter 10, "Managing HCA Resources", and chapter 11, verb by verb. Ports: DPDK Programmer's
 * Guide, "Poll Mode Driver", "Device Identification, Ownership and Configuration".
 */
#ifndef RDMAPMD_H
#define RDMAPMD_H

#include <stdint.h>

#include <rte_compat.h>

#include "rdmapmd_ah.h"
#include "rdmapmd_connect.h"
#include "rdmapmd_cq.h"
#include "rdmapmd_device.h"
#include "rdmapmd_event.h"
#include "rdmapmd_mr.h"
#include "rdmapmd_mw.h"
#include "rdmapmd_qp.h"
#include "rdmapmd_srq.h"
#include "rdmapmd_td.h"
#include "rdmapmd_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the library: "MAJOR.MINOR.PATCH", as in the file VERSION.
 *
 * Threads: any. Blocks: never.
 *
 * @return A static string.
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
 * Walk all devices in the order of registration.
 *
 * Threads: any; devices may come and go meanwhile. Blocks: never for long.
 * Owner:   the call drops the reference on `previous`; the one on the result is the caller's.
 *
 * @param previous Result of the last call; NULL to begin.
 * @return The next device, or NULL after the last.
 */
__rte_experimental struct rdmapmd_device *rdmapmd_device_next(struct rdmapmd_device *previous);

/**
 * Drop a reference.
 *
 * Threads: any. Blocks: never for long.
 *
 * @param device As a find or next call returned it; NULL is allowed. Do not use it afterwards.
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
