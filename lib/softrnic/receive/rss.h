/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive-side scaling. */
#ifndef SOFTRNIC_RSS_H
#define SOFTRNIC_RSS_H

#include <stdint.h>

/* Toeplitz hash of at most 36 bytes of input under a key of 40 bytes. */
#define SOFTRNIC_TOEPLITZ_INPUT 36
uint32_t softrnic_toeplitz(const uint8_t key[40], const uint8_t *input, uint32_t bytes);

#endif
