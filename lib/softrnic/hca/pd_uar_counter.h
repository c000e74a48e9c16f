/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection, transport and XRC domains, UAR pages, counter sets. */
#ifndef SOFTRNIC_PD_UAR_COUNTER_H
#define SOFTRNIC_PD_UAR_COUNTER_H

#include "softrnic/base/command.h"

/* See softrnic_object_drop(). */
void softrnic_uar_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(alloc_pd);
SOFTRNIC_CMD(dealloc_pd);
SOFTRNIC_CMD(alloc_uar);
SOFTRNIC_CMD(dealloc_uar);
SOFTRNIC_CMD(alloc_transport_domain);
SOFTRNIC_CMD(dealloc_transport_domain);
SOFTRNIC_CMD(alloc_xrcd);
SOFTRNIC_CMD(dealloc_xrcd);
SOFTRNIC_CMD(alloc_q_counter);
SOFTRNIC_CMD(dealloc_q_counter);
SOFTRNIC_CMD(query_q_counter);

#endif
