/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The messages of a hostile client, for whatever serves vfio-user at the other end of its socket. Stateless: random bytes
 * behind headers that look right. Stateful: commands that are right, nearly right and wrong, with any descriptors, in any
 * pieces, from a client that answers, lies, or does neither. The same seed gives the same messages.
 */
#ifndef VFU_TEST_ATTACK_H
#define VFU_TEST_ATTACK_H

#include "fixture.h"
#include "vfio_user/message.h"

#define ATTACK_POOL	    18 /* kinds of descriptors */
#define ATTACK_MAX_PAYLOAD  4096
#define ATTACK_MEMORY_BYTES (64 * 4096)

/* Part of a region to which it pays to go. */
struct attack_spot {
	unsigned int region;
	unsigned int offset;
	unsigned int bytes;
};

struct attack {
	int peer; /* the socket; the caller's */
	uint64_t seed;
	int pool[ATTACK_POOL]; /* first, memory of ATTACK_MEMORY_BYTES */
	int pipes[2];
	unsigned int messages;
	unsigned int answers; /* pieces of them that came */
	uint8_t bytes[sizeof(struct vfu_header) + ATTACK_MAX_PAYLOAD];
	const struct attack_spot *spots; /* may be NULL */
	unsigned int nspots;
	/* Between two pieces of a message; may be NULL. */
	void (*between)(struct attack *a);
};

void attack_open(struct attack *a, uint64_t seed);
void attack_close(struct attack *a);

uint64_t attack_roll(struct attack *a);
unsigned int attack_below(struct attack *a, unsigned int n);
/* One at which arithmetic goes wrong. */
uint64_t attack_number(struct attack *a);
/* Mostly the number that is right, else one of those. */
uint64_t attack_mostly(struct attack *a, uint64_t right);

/* The kind of the next message of a session, and the message. */
uint16_t attack_command(struct attack *a);
void attack_send(struct attack *a, uint16_t command);
/* A message of noise. */
void attack_noise(struct attack *a);
/* Send these bytes of a->bytes. */
void attack_in_pieces(struct attack *a, size_t length, const int *fds, unsigned int nfds);
/* Read what the server has sent. */
void attack_read(struct attack *a);

#endif
