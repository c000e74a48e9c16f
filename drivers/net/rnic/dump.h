/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps of queue entries behind the log type pmd.net.rnic.dump, called only by the burst instances that are chosen at
 * start when that type is at level debug.
 */
#ifndef RNIC_DUMP_H
#define RNIC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_cqe;
struct rnic_sq;
struct rnic_cq;

/* Does the log level ask for dumps? */
bool rnic_dump_wanted(void);
/* The WQE that starts at this WQEBB. */
void rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index);
void rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe);

#endif
