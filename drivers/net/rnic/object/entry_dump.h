/* SPDX-License-Identifier: BSD-3-Clause */

/* Dumps of queue entries (dump.h), by the burst instances that are chosen at start when somebody wants them. */
#ifndef RNIC_ENTRY_DUMP_H
#define RNIC_ENTRY_DUMP_H

#include <stdint.h>

#include "prm/dump.h"

struct rnic_cq;
struct rnic_cqe;
struct rnic_sq;

/* The WQE that starts at this WQEBB. */
void rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index, enum rnic_wqe_kind kind);
void rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe);

#endif
