/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers at random: cheap ones, and secret ones. */
#include <sys/random.h>

#include "softrnic/base/device.h"
#include "softrnic/base/log.h"
#include "softrnic/base/random.h"

uint64_t
softrnic_random(struct softrnic *dev)
{
	return softrnic_splitmix64(&dev->random);
}

/*
 * Numbers that cannot be worked out from those that came before: SipHash-2-4 (Aumasson and Bernstein, 2012) of a counter,
 * under a key that the system gave when the device was made. A daemon in its sandbox cannot ask for more.
 */
static void
sip_round(uint64_t v[4])
{
#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))
	v[0] += v[1];
	v[2] += v[3];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] = ROTATE(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[2] = ROTATE(v[2], 32);
#undef ROTATE
}

uint64_t
softrnic_siphash(const uint64_t key[2], uint64_t message)
{
	/* The message's only word, and the last one, which holds its length. */
	const uint64_t words[] = { message, UINT64_C(8) << 56 };
	uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575),
			  key[1] ^ UINT64_C(0x646f72616e646f6d),
			  key[0] ^ UINT64_C(0x6c7967656e657261),
			  key[1] ^ UINT64_C(0x7465646279746573) };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		v[3] ^= words[i];
		sip_round(v);
		sip_round(v);
		v[0] ^= words[i];
	}
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void
softrnic_secret_init(struct softrnic *dev)
{
	uint64_t *key = dev->secret.key;

	dev->secret.count = 0;
	key[0] = dev->conf.seed;
	key[1] = 0;
	if (dev->conf.seed != 0)
		return;
	if (getrandom(key, sizeof(dev->secret.key), GRND_NONBLOCK) != sizeof(dev->secret.key)) {
		SOFTRNIC_LOG(WARNING, dev,
			     "the system has no random numbers yet: memory keys "
			     "can be guessed; start it later");
		key[0] = softrnic_random(dev);
		key[1] = softrnic_random(dev);
	}
}

uint64_t
softrnic_secret(struct softrnic *dev)
{
	return softrnic_siphash(dev->secret.key, dev->secret.count++);
}
