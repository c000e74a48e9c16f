/* SPDX-License-Identifier: BSD-3-Clause */

/* Log types, and dumps of commands. */

#include <rte_log.h>

#include "internal.h"
#include "prm/dump.h"

RTE_LOG_REGISTER(rnic_logtype, pmd.net.rnic.driver, NOTICE);
RTE_LOG_REGISTER(rnic_logtype_dump, pmd.net.rnic.dump, NOTICE);

bool
rnic_dump_enabled(void)
{
	return rte_log_can_log((uint32_t)rnic_logtype_dump, RTE_LOG_DEBUG);
}

static void
dump_line(void *arg, const char *text)
{
	(void)arg;
	rte_log(RTE_LOG_DEBUG, (uint32_t)rnic_logtype_dump, "%s\n", text);
}

void
rnic_dump_command(struct rnic_dev *dev, const struct rnic_cmdq_entry *entry,
		  const void *const *blocks, uint32_t block_count, bool output)
{
	rte_log(RTE_LOG_DEBUG, (uint32_t)rnic_logtype_dump, "net_rnic: %s:\n", dev->name);
	rnic_dump_cmd(entry, blocks, block_count, output, dump_line, dev);
}
