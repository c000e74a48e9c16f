/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include <rte_log.h>

#include "base/log.h"
#include "core/dev.h"
#include "core/dump.h"
#include "prm/cmdq.h"
#include "prm/dump.h"

bool
rnic_dump_wanted(void)
{
	return rte_log_can_log(rnic_logtype_dump, RTE_LOG_DEBUG);
}

void
rnic_dump_put(const char *text)
{
	rte_log(RTE_LOG_DEBUG, rnic_logtype_dump, "%s", text);
}

void
rnic_dump_command(struct rnic_dev *dev, const struct rnic_cmdq_entry *entry,
		  const void *const *blocks, uint32_t block_count, bool output)
{
	struct rnic_dump_text text = { .put = rnic_dump_put };
	char title[128];

	snprintf(title, sizeof(title), "net_rnic: %s:", dev->name);
	rnic_dump_text_line(&text, title);
	rnic_dump_cmd(entry, blocks, block_count, output, rnic_dump_text_line, &text);
	rnic_dump_text_end(&text);
}
