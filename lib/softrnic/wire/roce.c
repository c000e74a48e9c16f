/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs on wires: descriptors, as frames are. */
#include "softrnic/wire/roce.h"
#include "softrnic/wire/send.h"

void
softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	struct softrnic *peer = softrnic_wire_end(dev);

	if (peer != NULL)
		softrnic_roce_receive(peer, frame);
}
