/* SPDX-License-Identifier: BSD-3-Clause */

/* A test build looks at each unmap, and when a session ends: whatever the lists say, does any object hold a host address? */
#ifndef SOFTRNIC_AUDIT_H
#define SOFTRNIC_AUDIT_H

#include <stdbool.h>

struct softrnic;

#ifdef SOFTRNIC_DMA_AUDIT
/* Counts among softrnic_audit_violations. */
void softrnic_audit_unresolved(struct softrnic *dev);
/* Who unmaps thousands of times a second does without that look. */
extern bool softrnic_audit_objects;
#else
#define softrnic_audit_unresolved(dev) ((void)0)
#endif

#endif
