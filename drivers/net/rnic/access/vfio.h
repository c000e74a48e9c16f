/* SPDX-License-Identifier: BSD-3-Clause */

/* A PCI function on vfio-pci. */
#ifndef RNIC_ACCESS_VFIO_H
#define RNIC_ACCESS_VFIO_H

struct rnic_access;
struct rnic_devargs;

int rnic_access_vfio_open(const char *device, const struct rnic_devargs *args,
			  struct rnic_access **access);

#endif
