/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What has not happened, told by the software RNIC itself: in the entry that is its next one, with the owner bit that the
 * driver looks for, so that the two go on together.
 */
#ifndef TEST_FUZZ_FORGE_H
#define TEST_FUZZ_FORGE_H

#include <stdbool.h>
#include <stdint.h>

#include "prm/cqe.h"

struct softrnic;

/* An entry with these bytes; of the last one the opcode and whether it is solicited. False: the CQ takes none. */
bool forge_completion(struct softrnic *dev, uint32_t cqn, const struct rnic_cqe *cqe);
void forge_event(struct softrnic *dev, uint32_t eqn, uint8_t type, uint8_t sub_type,
		 const uint32_t data[7]);
/* So many at once that the driver can read none meanwhile. */
void forge_events(struct softrnic *dev, uint32_t eqn, uint8_t type, unsigned int count);
/* A syndrome of its health that is not the end; 0: none any more. */
void forge_complaint(struct softrnic *dev, uint8_t syndrome);
/* The driver has read so much that it takes another one. */
bool forge_eq_has_room(struct softrnic *dev, uint32_t eqn, uint32_t entries);
bool forge_cq_has_room(struct softrnic *dev, uint32_t cqn);
/* It is not in error. */
bool forge_cq_works(struct softrnic *dev, uint32_t cqn);
/* The same, and it has no entry at this index yet. */
bool forge_cq_is_at(struct softrnic *dev, uint32_t cqn, uint32_t index);
/* Whether there is room or not it writes on. */
void forge_cq_never_full(struct softrnic *dev, uint32_t cqn);

#endif
