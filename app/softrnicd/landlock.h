/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Landlock: which files a thread can get at, whatever else it may.
 */
#ifndef SOFTRNICD_LANDLOCK_H
#define SOFTRNICD_LANDLOCK_H

/** No file at all, yet. @return a descriptor, or -ENOSYS or -EOPNOTSUPP: this kernel has no Landlock; or -errno. */
int landlock_open(void);

/** Files below that folder may be removed. */
int landlock_permit_removal(int ruleset, int folder);

/** From here on, for the calling thread and those that it makes. It has no_new_privs. ruleset: int. */
int landlock_enter(void *ruleset);

#endif
