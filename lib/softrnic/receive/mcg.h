/* SPDX-License-Identifier: BSD-3-Clause */

/* Groups of queue pairs of datagrams (PRM: "Multicast Group"). */
#ifndef SOFTRNIC_MCG_H
#define SOFTRNIC_MCG_H

#include "softrnic/base/command.h"
#include "softrnic/base/device.h"
#include "softrnic/rocev2/frame.h"

#define SOFTRNIC_LOG_MAX_MCG 12
#define SOFTRNIC_MAX_QP_MCG  240
#define SOFTRNIC_MCG_QPN     0xffffffu /* who a packet to a group is for */

struct softrnic_qp;

/* A queue pair in a group. */
struct softrnic_mcg_member {
	struct softrnic_mcg *group;
	struct softrnic_qp *qp;
	LIST_ENTRY(softrnic_mcg_member) group_link, qp_link;
};

struct softrnic_mcg {
	uint8_t gid[16];
	uint32_t count;
	LIST_HEAD(, softrnic_mcg_member) members;
	LIST_ENTRY(softrnic_mcg) link; /* of those whose addresses have the same hash */
};

/* The group of that address; NULL: nobody is in it. */
const struct softrnic_mcg *softrnic_mcg_find(const struct softrnic *dev, const uint8_t gid[16]);
/* Is a frame with these addresses for a group that somebody is in, by the MAC address that belongs to it? */
bool softrnic_mcg_takes(const struct softrnic *dev, const struct rocev2_frame *head);
/* It is destroyed: remove it from all groups. */
void softrnic_mcg_leave(struct softrnic *dev, struct softrnic_qp *qp);

SOFTRNIC_CMD(attach_to_mcg);
SOFTRNIC_CMD(detach_from_mcg);

int softrnic_mcgs_init(struct softrnic *dev);
/* All queue pairs have gone. */
void softrnic_mcgs_fini(struct softrnic *dev);

#endif
