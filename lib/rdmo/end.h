/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One end of a connection: what it tells the other of its queue pair, and how both are connected. Workers and initiators have the
 * same, on port 1 of a device.
 */
#ifndef RDMO_END_H
#define RDMO_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdmo_wire.h"

struct rdmapmd_context;
struct rdmapmd_qp;

/* May an end be like that: with this index in the GID table, this many messages under way towards it, as long as that? */
bool rdmo_end_may_be(uint32_t gid_index, uint32_t credits, uint32_t receive_bytes);

/* Fill with what nobody can guess. Returns 0, -errno. */
int rdmo_random(void *buffer, size_t bytes);

/* A number that nobody can guess, not 0. Returns 0, -errno. */
int rdmo_random_number(uint64_t *number);

/*
 * The address of an end: its port's, of that index in the GID table, and a first PSN that is drawn.
 *
 * @param qpn           0: there is none
 * @param credits, receive_bytes  struct rdmo_addr's
 */
int rdmo_end_tell(struct rdmapmd_context *context, uint32_t gid_index, uint32_t qpn,
		  uint32_t credits, uint32_t receive_bytes, struct rdmo_addr *addr);

/* From RESET to INIT, so that receives can be posted. */
int rdmo_end_prepare(struct rdmapmd_qp *qp);

/*
 * Connect, to RTS; the path is that of rdmo_end_tell()'s `own`. Blocks for commands, for nothing else: the peer has told its MAC.
 *
 * @param access what the peer may do besides sending: enum rdmapmd_access_flags
 */
int rdmo_end_connect(struct rdmapmd_qp *qp, uint32_t gid_index, const struct rdmo_addr *own,
		     const struct rdmo_addr *peer, uint32_t access);

/* To ERR: nothing more comes or goes, and what is under way ends now. */
void rdmo_end_break(struct rdmapmd_qp *qp);

#endif
