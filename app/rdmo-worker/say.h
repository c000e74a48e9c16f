/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Messages on stderr, a line each: "rdmo-worker: message".
 */
#ifndef RDMO_WORKER_SAY_H
#define RDMO_WORKER_SAY_H

#define PROGRAM "rdmo-worker"

/** Say something. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Say what has failed. @return `rc`. */
int say_failed(int rc, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Say what is wrong with the command line. @return -EINVAL. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
