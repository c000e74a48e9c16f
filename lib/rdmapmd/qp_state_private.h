/* SPDX-License-Identifier: BSD-3-Clause */

/* Which changes of a queue pair are legal. */
#ifndef RDMAPMD_QP_STATE_PRIVATE_H
#define RDMAPMD_QP_STATE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "object_private.h"

/* Whether the table allows it; why not goes to the log. -EINVAL, -ENOTSUP. */
int rdmapmd_qp_check_change(struct rdmapmd_device *device, const struct rdmapmd_qp *qp,
			    enum rdmapmd_qp_state from, enum rdmapmd_qp_state to,
			    unsigned int mask);
/* Whether what the mask names is in range. */
int rdmapmd_qp_check_values(const struct rdmapmd_context_object *context,
			    const struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
			    unsigned int mask);
/* Names of a mask's bits, for messages. */
void rdmapmd_qp_mask_str(unsigned int mask, char *text, size_t size);

#endif
