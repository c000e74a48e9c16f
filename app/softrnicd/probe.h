/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What a test learns of the jail from inside.
 */
#ifndef SOFTRNICD_PROBE_H
#define SOFTRNICD_PROBE_H

#include "options.h"

/**
 * For the tests, before jail_enter() and after it: say on stdout who this process is, try what is denied, and say what came
 * of it. It tries to remove the file options->probe_jail and the first device's socket, and to make something there.
 *
 * @return how many calls were not denied.
 */
void jail_probe_prepare(void);
unsigned int jail_probe(const struct options *options);

#endif
