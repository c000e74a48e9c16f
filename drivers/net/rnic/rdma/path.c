/* SPDX-License-Identifier: BSD-3-Clause */

#include "core/dev.h"
#include "prm/caps.h"
#include "prm/qp.h"
#include "rdma/path.h"

enum rdmapmd_mtu
rnic_path_mtu(uint32_t port_mtu)
{
	enum rdmapmd_mtu mtu = RDMAPMD_MTU_4096;

	while (mtu > RDMAPMD_MTU_256 && rdmapmd_mtu_bytes(mtu) + RNIC_ROCE_MTU_OVERHEAD > port_mtu)
		mtu--;
	return mtu;
}

uint16_t
rnic_path_source_port(const struct rnic_dev *dev, uint32_t flow)
{
	const struct rnic_roce_cap *roce = &dev->caps.roce;
	const uint32_t low =
		(uint32_t)rnic_roce_cap_get(roce, RNIC_ROCE_CAP_R_ROCE_MIN_SRC_UDP_PORT);
	const uint32_t high =
		(uint32_t)rnic_roce_cap_get(roce, RNIC_ROCE_CAP_R_ROCE_MAX_SRC_UDP_PORT);

	return (uint16_t)(low + (flow ^ flow >> 14) % (high > low ? high - low + 1 : 1));
}
