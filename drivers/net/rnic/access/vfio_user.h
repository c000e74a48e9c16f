/* SPDX-License-Identifier: BSD-3-Clause */

/* A device behind a vfio-user socket. */
#ifndef RNIC_ACCESS_VFIO_USER_H
#define RNIC_ACCESS_VFIO_USER_H

struct rnic_access;
struct rnic_devargs;

extern unsigned int rnic_vfio_user_timeout_ms; /* for an answer of the server; tests shorten it */
int rnic_access_vfio_user_open(const char *device, const struct rnic_devargs *args,
			       struct rnic_access **access);

#endif
