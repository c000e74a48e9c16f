/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * DPDK's environment, for devices whose wire is another ethdev; no other daemon has it.
 */
#ifndef SOFTRNICD_EAL_H
#define SOFTRNICD_EAL_H

#include "options.h"

/** Does the command line ask for it? */
bool eal_wanted(const struct options *options);

/**
 * Start EAL with the options of the command line if it asks for it, and see that the ethdevs of all wires are there: none
 * can come once the process is jailed. Signals that end the process must be blocked already, for all threads.
 *
 * @return 0 or -errno, logged.
 */
int eal_start(const struct options *options);

/**
 * What the kernel gives up for one thread at a time: run fn in this one and in EAL's. @return the first error.
 */
int eal_in_threads(const struct options *options, int (*fn)(void *arg), void *arg);

/** The driver of a device's ethdev, or NULL: it has none. */
const char *eal_driver(const struct device_options *device);

#endif
