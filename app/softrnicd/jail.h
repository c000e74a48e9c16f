/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What the process gives up once it has all that it needs: capabilities, the gain of privileges, system calls, files.
 */
#ifndef SOFTRNICD_JAIL_H
#define SOFTRNICD_JAIL_H

#include "options.h"

/** Before the devices are made: descriptors enough for all of them, no core files with clients' data. */
void jail_limits(const struct options *options);

/**
 * Enter, for good. The paths of the devices' sockets are what it may still remove. start_threads is called when
 * capabilities and files are given up, which is done per thread, and threads can still be made: the list of calls then
 * holds for all of them. It logs why it fails.
 *
 * @return 0 or -errno, logged: then the process must not go on.
 */
int jail_enter(const struct options *options, int (*start_threads)(void));

/**
 * For the tests: try what is denied, say on stdout what came of it. precious is a file in another folder than the
 * sockets', which it tries to remove.
 *
 * @return how many calls were not denied.
 */
unsigned int jail_probe(const char *precious);

#endif
