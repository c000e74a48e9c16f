/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers at random. */
#ifndef SOFTRNIC_RANDOM_H
#define SOFTRNIC_RANDOM_H

#include <stdint.h>

struct softrnic;

/* splitmix64: any seed will do, 0 included. */
static inline uint64_t
softrnic_splitmix64(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Of the device's own stream. */
uint64_t softrnic_random(struct softrnic *dev);
/* For what a peer must not guess. */
uint64_t softrnic_secret(struct softrnic *dev);
void softrnic_secret_init(struct softrnic *dev);
uint64_t softrnic_siphash(const uint64_t key[2], uint64_t message);

#endif
