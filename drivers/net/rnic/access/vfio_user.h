/* SPDX-License-Identifier: BSD-3-Clause */

/* A device behind a vfio-user socket. */
#ifndef RNIC_ACCESS_VFIO_USER_H
#define RNIC_ACCESS_VFIO_USER_H

struct rnic_access;
struct rnic_devargs;
struct rnic_tunables;

int rnic_access_vfio_user_open(const char *device, const struct rnic_devargs *args,
			       const struct rnic_tunables *tunables, struct rnic_access **access);

#endif
