/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A process that waits for the end of the daemon and can remove its sockets and lock files, which the daemon itself, jailed,
 * cannot.
 */
#ifndef SOFTRNICD_SWEEPER_H
#define SOFTRNICD_SWEEPER_H

#include "options.h"

/**
 * Start it: as who we are, when the folders of the sockets are known, and before there are threads or anything of a
 * client's. It ends with this process. @return 0 or -errno, logged.
 */
int sweeper_start(const struct options *options);

/** Have all devices' sockets and lock files removed, and wait for it. The locks are held: nobody else has made these. */
void sweeper_sweep(void);

#endif
