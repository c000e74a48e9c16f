/* SPDX-License-Identifier: BSD-3-Clause */

/* What is sent has arrived, as far as the sender is concerned. To measure senders alone. */
#include <errno.h>

#include "softrnic/base/device.h"
#include "softrnic/base/log.h"
#include "softrnic/wire/null.h"

static int
null_open(struct softrnic *dev, const char *arg)
{
	if (arg == NULL)
		return 0;
	SOFTRNIC_LOG(ERR, dev, "wire \"null\" takes no \":%s\"", arg);
	return -EINVAL;
}

static bool
null_is_up(const struct softrnic *dev)
{
	(void)dev;
	return true;
}

const struct softrnic_wire_ops softrnic_wire_null = {
	.name = "null",
	.sink = true,
	.open = null_open,
	.is_up = null_is_up,
};
