/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>

#include "prm/dump.h"
#include "softrnic/base/dump.h"

static int softrnic_cmd_logtype, softrnic_queue_logtype;

RTE_INIT(softrnic_dump_init)
{
	softrnic_cmd_logtype = rte_log_register_type_and_pick_level("softrnic.cmd", RTE_LOG_NOTICE);
	softrnic_queue_logtype =
		rte_log_register_type_and_pick_level("softrnic.queue", RTE_LOG_NOTICE);
}

static void
cmd_put(const char *text)
{
	rte_log(RTE_LOG_DEBUG, softrnic_cmd_logtype, "%s", text);
}

static void
queue_put(const char *text)
{
	rte_log(RTE_LOG_DEBUG, softrnic_queue_logtype, "%s", text);
}

__attribute__((format(printf, 2, 3))) static void
title(struct rnic_dump_text *text, const char *format, ...)
{
	char line[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	rnic_dump_text_line(text, line);
}

void
softrnic_dump_cmd(const struct softrnic *dev, const struct softrnic_cmd *cmd, bool output)
{
	struct rnic_dump_text text = { .put = cmd_put };

	if (!rte_log_can_log(softrnic_cmd_logtype, RTE_LOG_DEBUG))
		return;
	title(&text, "softrnic: %s:", dev->name);
	rnic_dump_cmd_data(cmd->opcode, output ? cmd->out : cmd->in,
			   output ? cmd->out_bytes : cmd->in_bytes, output, rnic_dump_text_line,
			   &text);
	rnic_dump_text_end(&text);
}

bool
softrnic_dump_queues_wanted(void)
{
	return rte_log_can_log(softrnic_queue_logtype, RTE_LOG_DEBUG);
}

void
softrnic_dump_wqe(const struct softrnic *dev, const char *name, uint32_t number, uint16_t counter,
		  const void *wqe, uint32_t length, enum rnic_wqe_kind kind)
{
	struct rnic_dump_text text = { .put = queue_put };

	title(&text, "softrnic: %s: %s 0x%x executes WQE counter 0x%x", dev->name, name, number,
	      counter);
	rnic_dump_wqe((uint64_t)counter * RNIC_WQEBB_BYTES, wqe, length, rnic_dump_text_line,
		      &text);
	rnic_decode_wqe(wqe, length, kind, rnic_dump_text_line, &text);
	rnic_dump_text_end(&text);
}

void
softrnic_dump_cqe(const struct softrnic *dev, uint32_t number, uint32_t index,
		  const struct rnic_cqe *cqe)
{
	struct rnic_dump_text text = { .put = queue_put };

	title(&text, "softrnic: %s: CQ 0x%x, entry of index 0x%x", dev->name, number,
	      index & RNIC_CQ_INDEX_MASK);
	rnic_dump_cqe(number, cqe, sizeof(*cqe), rnic_dump_text_line, &text);
	rnic_decode_cqe(cqe, sizeof(*cqe), rnic_dump_text_line, &text);
	rnic_dump_text_end(&text);
}
