/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The address of each device, of one --listen.
 */
#ifndef RDMO_WORKER_LISTEN_H
#define RDMO_WORKER_LISTEN_H

#include <stddef.h>
#include <stdint.h>

/**
 * Where device `i` listens: HOST:PORT + i, or HOST:0, or unix:PATH.i, the first one without its number.
 *
 * @return 0; -EINVAL it is no address, or too long; -ERANGE there is no such port.
 */
int listen_address(const char *listen, uint32_t i, char *address, size_t size);

#endif
