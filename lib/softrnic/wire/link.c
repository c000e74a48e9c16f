/* SPDX-License-Identifier: BSD-3-Clause */

/* The link: what the wire says and what the port says, and what follows when it goes. */
#include "softrnic/port/port.h"
#include "softrnic/wire/held.h"
#include "softrnic/wire/link.h"
#include "softrnic/wire/ops.h"

void
softrnic_link_update(struct softrnic *dev)
{
	const bool up = dev->wire != NULL && dev->wire->is_up(dev);

	if (softrnic_port_update(dev, up))
		softrnic_faults_link_down(dev);
}

void
softrnic_wire_changed(struct softrnic *dev)
{
	struct softrnic *peer = dev->peer;

	softrnic_link_update(dev);
	if (peer != NULL && peer != dev)
		softrnic_link_update(peer);
	if (dev->wire != NULL && dev->wire->changed != NULL)
		dev->wire->changed(dev);
}
