/* SPDX-License-Identifier: BSD-3-Clause */

/* A plug that returns every frame to its sender. */
#include <errno.h>

#include "softrnic/base/device.h"
#include "softrnic/base/log.h"
#include "softrnic/wire/loop.h"

static int
loop_open(struct softrnic *dev, const char *arg)
{
	if (arg == NULL) {
		dev->peer = dev;
		return 0;
	}
	SOFTRNIC_LOG(ERR, dev, "wire \"loop\" takes no \":%s\"", arg);
	return -EINVAL;
}

static void
loop_close(struct softrnic *dev)
{
	dev->peer = NULL;
}

static bool
loop_is_up(const struct softrnic *dev)
{
	(void)dev;
	return true;
}

const struct softrnic_wire_ops softrnic_wire_loop = {
	.name = "loop",
	.open = loop_open,
	.close = loop_close,
	.is_up = loop_is_up,
};
