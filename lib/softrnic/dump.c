/* SPDX-License-Identifier: BSD-3-Clause */

#include "dump.h"
#include "prm/dump.h"

static int softrnic_cmd_logtype, softrnic_queue_logtype;

RTE_INIT(softrnic_dump_init)
{
	softrnic_cmd_logtype = rte_log_register_type_and_pick_level("softrnic.cmd", RTE_LOG_NOTICE);
	softrnic_queue_logtype =
		rte_log_register_type_and_pick_level("softrnic.queue", RTE_LOG_NOTICE);
}

static void
cmd_line(void *arg, const char *text)
{
	(void)arg;
	rte_log(RTE_LOG_DEBUG, softrnic_cmd_logtype, "%s\n", text);
}

static void
queue_line(void *arg, const char *text)
{
	(void)arg;
	rte_log(RTE_LOG_DEBUG, softrnic_queue_logtype, "%s\n", text);
}

void
softrnic_dump_cmd(const struct softrnic *dev, const struct softrnic_cmd *cmd, bool output)
{
	if (!rte_log_can_log(softrnic_cmd_logtype, RTE_LOG_DEBUG))
		return;
	rte_log(RTE_LOG_DEBUG, softrnic_cmd_logtype, "softrnic: %s:\n", dev->name);
	rnic_dump_cmd_data(cmd->opcode, output ? cmd->out : cmd->in,
			   output ? cmd->out_bytes : cmd->in_bytes, output, cmd_line, NULL);
}

bool
softrnic_dump_queues_wanted(void)
{
	return rte_log_can_log(softrnic_queue_logtype, RTE_LOG_DEBUG);
}

void
softrnic_dump_wqe(const struct softrnic *dev, const struct softrnic_sq *sq, const void *wqe,
		  uint32_t length)
{
	rte_log(RTE_LOG_DEBUG, softrnic_queue_logtype,
		"softrnic: %s: SQ 0x%x executes WQE counter 0x%x\n", dev->name, sq->object.number,
		sq->consumer);
	rnic_dump_wqe((uint64_t)sq->consumer * RNIC_WQEBB_BYTES, wqe, length, queue_line, NULL);
	rnic_decode_wqe(wqe, length, true, queue_line, NULL);
}

void
softrnic_dump_cqe(const struct softrnic *dev, const struct softrnic_cq *cq,
		  const struct rnic_cqe *cqe)
{
	rte_log(RTE_LOG_DEBUG, softrnic_queue_logtype,
		"softrnic: %s: CQ 0x%x, entry of index 0x%x\n", dev->name, cq->object.number,
		cq->producer & RNIC_CQ_INDEX_MASK);
	rnic_dump_cqe(cq->object.number, cqe, sizeof(*cqe), queue_line, NULL);
	rnic_decode_cqe(cqe, sizeof(*cqe), queue_line, NULL);
}
