/* SPDX-License-Identifier: BSD-3-Clause */

/* Event queues. */
#ifndef SOFTRNIC_EQ_H
#define SOFTRNIC_EQ_H

#include "softrnic/base/command.h"
#include "softrnic/base/ring.h"

/* Write an event to one EQ, raise its vector if armed. */
void softrnic_eq_post(struct softrnic *dev, uint32_t eqn, uint8_t type, uint8_t sub_type,
		      const uint32_t data[7]);
/* Write an asynchronous event to the EQs whose mask has the type. */
void softrnic_event(struct softrnic *dev, uint8_t type, uint8_t sub_type, const uint32_t data[7]);
bool softrnic_event_wanted(const struct softrnic *dev, uint8_t type);
/* A write to RNIC_UAR_EQ_ARM or RNIC_UAR_EQ_UPDATE of any UAR page. */
void softrnic_eq_doorbell(struct softrnic *dev, uint32_t value, bool arm);

/* See softrnic_object_drop(). */
void softrnic_eq_drop(struct softrnic *dev, struct softrnic_object *object);
#ifdef SOFTRNIC_DMA_AUDIT
const struct softrnic_ring *softrnic_eq_ring(const struct softrnic_object *eq);
#endif

SOFTRNIC_CMD(create_eq);
SOFTRNIC_CMD(destroy_eq);
SOFTRNIC_CMD(query_eq);

#endif
