/* SPDX-License-Identifier: BSD-3-Clause */

/* What the device executes and writes, as text: log types "softrnic.cmd" and "softrnic.queue" at debug level. */
#ifndef SOFTRNIC_DUMP_H
#define SOFTRNIC_DUMP_H

#include "prm/dump.h"
#include "softrnic/base/command.h"

/* A command's input or output, in one piece, laid out as mlx5_core prints its own. */
void softrnic_dump_cmd(const struct softrnic *dev, const struct softrnic_cmd *cmd, bool output);

/*
 * Entries of queues, hex and decoded. dev->dump_queues says whether somebody wants them: it is looked at when a queue
 * is created, so that the data path tests one flag.
 */
bool softrnic_dump_queues_wanted(void);
/*
 * A send WQE of the queue of that name, "SQ" or "QP", and number, with its WQEBB counter.
 */
void softrnic_dump_wqe(const struct softrnic *dev, const char *name, uint32_t number,
		       uint16_t counter, const void *wqe, uint32_t length, enum rnic_wqe_kind kind);
/* An entry of the CQ of that number, with its index, which runs free. */
void softrnic_dump_cqe(const struct softrnic *dev, uint32_t number, uint32_t index,
		       const struct rnic_cqe *cqe);

#endif
