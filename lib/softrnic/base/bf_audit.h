/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Test builds only: checks that a whole WQE arrived in its BlueFlame register. The device executes WQEs from the ring, whatever the
 * register contains, so a wrong copy would go unnoticed.
 *
 * A driver that advances its doorbell record has rung for the earlier WQEs. So a WQE that was posted alone and executed is compared
 * with the half that contains its head when the record advances, unless that half was written again meanwhile. Others are not
 * compared: a driver copies no WQE that is one of several, is longer than a half, wraps in its ring or is a NOP. A half that contains
 * only a head belongs to a register to which no WQEs are copied.
 */
#ifndef SOFTRNIC_BF_AUDIT_H
#define SOFTRNIC_BF_AUDIT_H

#ifdef SOFTRNIC_BF_AUDIT

#include <stdatomic.h>
#include <stdint.h>

#include "prm/uar.h"

struct softrnic;

/* Of a send queue. */
struct softrnic_bf_audit {
	uint16_t first, blocks; /* what the record counted last */
	uint32_t
		bytes; /* of the WQE that it counted alone, once it was executed; 0: there is none */
	uint64_t wqe[RNIC_BF_HALF_BYTES / 8];
};

/* The record, as it was read last, counts from here to there. */
void softrnic_bf_audit_counted(struct softrnic *dev, struct softrnic_bf_audit *audit, uint32_t uar,
			       uint16_t from, uint16_t to);
/* The WQE at this counter is executed, as it stands in the device's copy. */
void softrnic_bf_audit_executed(struct softrnic_bf_audit *audit, const void *wqe, uint32_t bytes,
				uint16_t counter, uint8_t log_size);

/* A program that loaded the plugin may ask for these by name. */
extern atomic_ullong softrnic_bf_compared __attribute__((visibility("default")));
extern atomic_ullong softrnic_bf_mismatches __attribute__((visibility("default")));

#define softrnic_bf_audit_reset(audit) (*(audit) = (struct softrnic_bf_audit){ 0 })
#else
#define softrnic_bf_audit_counted(dev, audit, uar, from, to)		 ((void)0)
#define softrnic_bf_audit_executed(audit, wqe, bytes, counter, log_size) ((void)0)
#define softrnic_bf_audit_reset(audit)					 ((void)0)
#endif

#endif
