/* SPDX-License-Identifier: BSD-3-Clause */

/* Every kind of packet that the device sends, between two ends. */
#ifndef WIRE_CAPTURE_KINDS_H
#define WIRE_CAPTURE_KINDS_H

#include "qp_world.h"

#define CAPTURE_MTU 256u

/*
 * One message after another, of a to b: by the reliable connection that there is, then by an unreliable one, then datagrams.
 * attr: of the connections. lose: set to n, the n-th frame from then on does not arrive.
 */
void capture_kinds(struct qw_two *two, const struct qw_attr *attr, uint32_t *lose);

#endif
