/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Where the sockets lie.
 */
#ifndef SOFTRNICD_FOLDER_H
#define SOFTRNICD_FOLDER_H

#include "options.h"

/**
 * Give each device the path of its socket and the descriptor of its folder; make the folder of --dir if one of them lies
 * there. @return 0 or -errno, logged.
 */
int folder_prepare(struct options *options);

#endif
