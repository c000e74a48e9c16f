/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SOFTRNIC_ROUTE_H
#define SOFTRNIC_ROUTE_H

/* Where a packet goes. */
enum softrnic_roce_route {
	SOFTRNIC_ROCE_NOWHERE, /* its source address has gone, or RoCE is off */
	SOFTRNIC_ROCE_SELF,    /* an address of the device itself */
	SOFTRNIC_ROCE_PEER,    /* a device in this process, which takes descriptors */
	SOFTRNIC_ROCE_BYTES,   /* into the wire, as any frame */
	SOFTRNIC_ROCE_ENDS, /* and behind it: as PEER, to the end of a switch that has this number */
};

#endif
