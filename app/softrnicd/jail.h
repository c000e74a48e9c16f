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

/** Is this build one that has no jail? The runtime of a sanitizer, or of coverage, needs what the jail denies. */
bool jail_is_open(void);

/** Of the calling thread: all but those that are kept (bits by number, of the first 32), and all ways to more. */
int jail_drop_capabilities(uint32_t kept);

/**
 * Enter, for good: capabilities and files, the user, system calls. start_threads is called when capabilities and files are
 * given up, which is done per thread, and threads can still be made: what follows then holds for all of them. It logs why
 * it fails.
 *
 * @return 0 or -errno, logged: then the process must not go on.
 */
int jail_enter(const struct options *options, int (*start_threads)(void));

#endif
