/* SPDX-License-Identifier: BSD-3-Clause */

/* A queue that fails over and over must not fill the disk: its lines come once a second, with a count of the others. */

#include <rte_cycles.h>

#include "ethdev.h"

void
rnic_error_lines_flush(struct rnic_error_lines *lines, const struct rnic_dev *dev, const char *way,
		       uint16_t queue)
{
	if (lines->unsaid > 0)
		RNIC_LOG(ERR, dev, "%s queue %u: %u more error completions since the last one said",
			 way, queue, lines->unsaid);
	lines->unsaid = 0;
}

bool
rnic_error_lines_due(struct rnic_error_lines *lines, const struct rnic_dev *dev, const char *way,
		     uint16_t queue)
{
	uint64_t now = rte_get_timer_cycles();

	if (now < lines->quiet_until) {
		lines->unsaid++;
		return false;
	}
	lines->quiet_until = now + rte_get_timer_hz();
	rnic_error_lines_flush(lines, dev, way, queue);
	return true;
}
