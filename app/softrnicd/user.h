/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Who the process is while it serves: a daemon that root started needs root for its start alone.
 */
#ifndef SOFTRNICD_USER_H
#define SOFTRNICD_USER_H

#include "options.h"

/** Look up --user, before anything is made. @return 0 or -errno, logged. */
int user_find(struct options *options);

/**
 * Become that user for good, in all threads: they need CAP_SETUID and CAP_SETGID, which go with it. Nothing to do unless
 * root started us. @return 0 or -errno, logged.
 */
int user_become(const struct options *options);

#endif
