/* SPDX-License-Identifier: BSD-3-Clause */

/* The embedded software RNIC. */
#ifndef RNIC_ACCESS_DIRECT_H
#define RNIC_ACCESS_DIRECT_H

#include <stdint.h>

struct rnic_access;
struct rnic_devargs;
struct softrnic;

struct softrnic *rnic_access_direct_device(struct rnic_access *access); /* for tests */
/* What the embedded device counts of itself. -ENOTSUP: the device is elsewhere. */
int rnic_access_direct_stats(struct rnic_access *access,
			     void (*fn)(void *arg, const char *name, uint64_t value), void *arg);
int rnic_access_direct_open(const char *device, const struct rnic_devargs *args,
			    struct rnic_access **access);

#endif
